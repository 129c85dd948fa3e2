"""Located events of rigid bodies of the plane: Runge–Kutta steps of order 4 between them."""

from itertools import pairwise

import numpy as np

from arlequin.assembly import Assembly
from arlequin.schemes.located_theta import LocatedThetaStepper, check_laws
from arlequin.schemes.small_theta import FEW
from arlequin.schemes.turning_rows import corner_rows
from models.errors import UserError
from models.part import Surface
from models.rows import row_products
from models.types import Array

_FASTEST = 1.0  # ω Δt up to which the springs' phase is of order 4


class LocatedRigidStepper(LocatedThetaStepper):
    """The events of `LocatedThetaStepper` where corners of bodies turn about their centres, on flat obstacles:

        g = g₀ + B q + c (cos θ − 1) + s sin θ,   H = ∂g/∂q,   q̈ = f(t) − Ω q − D q̇ + Hᵀλ,   H q̈ + Ḣ q̇ = 0

    on the held rows (c, s: the arm along the row and across it). The motion between two events is smooth and not
    stiff: one Runge–Kutta step of order 4, with all works and impulses by the same rule; then the held rows are put
    back in place and at rest, M-orthogonally (the works differ at order 4: `scheme`). Where more points stick than the
    body has freedoms, they share the friction as they share the pressure. A corner that dips below its obstacle and
    rises again within one step is not seen: take steps in which bodies turn by little.

    Source: Hairer, Nørsett & Wanner, Solving Ordinary Differential Equations I, Springer (1993), II.1; Hairer & Wanner,
    II (1996), VII.2 (projection).
    """

    def _check(self, assembly: Assembly) -> None:
        _plane(assembly)
        check_laws(assembly)

    def __init__(self, assembly: Assembly, step: float) -> None:
        super().__init__(assembly, step)
        fastest = float(np.sqrt(max(self._squares.max(initial=0.0), 0.0)))
        if fastest * step > _FASTEST:
            raise UserError.parameter(
                "step", step, f'must be at most {_FASTEST / fastest:.3g} s with events="locate": 1/ω of the springs'
            )

    def _places(self) -> tuple[Array, Array, Array]:
        """Rows B (r, d), angles T (r, d) and arms (r, 2) of the contact's rows."""
        assembly, contact = self._assembly, self._assembly.contact
        count = assembly.dof_count
        rows, turns, arms = [np.zeros((0, count))], [np.zeros((0, count))], [np.zeros((0, 2))]
        # rows (r, 3) of each interface over the coordinates of its body; None where it does not turn
        self._along: list[Array | None] = []
        for i, (a, b) in enumerate(pairwise(contact.span)):
            interface, slave = contact.interfaces[i], contact.sides[i][0]
            if contact.steady[i]:
                rows.append(contact.basis[a:b].toarray())
                turns.append(np.zeros((b - a, count)))
                arms.append(np.zeros((b - a, 2)))
                self._along.append(None)
                continue
            own = slave.rows.toarray()
            ways, own_arms = corner_rows(interface, contact.reference[i])
            along = np.zeros((len(ways), 3))
            along[:, :2] = ways
            rows.append(along @ own)
            turns.append(np.broadcast_to(own[2], (len(ways), count)))
            arms.append(own_arms)
            self._along.append(along)
        modal = [np.ascontiguousarray(np.concatenate(each)[:, self._free] @ self._shapes) for each in (rows, turns)]
        return modal[0], modal[1], np.concatenate(arms)

    def _spread(self, impulse: Array, moment: Array) -> Array:
        """Impulses (b, q) on the basis: those on steady rows, and the resultants and moments on bodies."""
        contact = self._assembly.contact
        ends = np.append(contact.laws.first[:-1], contact.laws.row_count)[contact.start]
        pieces = [np.zeros((len(impulse), 0))]
        for (a, b), along in zip(pairwise(ends), self._along, strict=True):
            if along is None:
                pieces.append(impulse[:, a:b])
            else:
                own = row_products(impulse[:, a:b], along)
                own[:, 2] = moment[:, a:b].sum(axis=1)
                pieces.append(own)
        return np.concatenate(pieces, axis=1)


def _plane(assembly: Assembly) -> None:
    """UserError where the system is more than rigid bodies, masses and springs on flat obstacles."""
    contact, where = assembly.contact, 'events="locate" with rigid bodies'
    for part, own in zip(assembly.system.parts, assembly.parts, strict=True):
        if not own.turning and (not assembly.linear or own.stiffness.nnz or own.damping is not None):
            raise UserError(f"{where}: part '{part.name}' deforms: bodies, point masses and springs are supported")
    for interface, pairing in zip(contact.interfaces, contact.pairings, strict=True):
        if isinstance(interface.master, Surface):
            raise UserError(f"{where}: interface '{interface.name}' has a part as master: take flat obstacles")
        if not pairing.fixed:
            raise UserError(f"{where}: the obstacle of interface '{interface.name}' is curved: take flat ones")
    if assembly.dof_count > FEW or contact.laws.row_count > FEW:
        raise UserError(f"{where}: at most {FEW} degrees of freedom and {FEW} rows of contact are supported")
