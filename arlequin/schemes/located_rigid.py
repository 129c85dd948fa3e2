"""Located events of rigid bodies of the plane: Runge–Kutta steps of order 4 between them."""

import numpy as np

from arlequin.models.errors import UserError
from arlequin.models.linalg.rows import row_products
from arlequin.models.part import Surface
from arlequin.models.types import Array
from arlequin.schemes.compiled_loop import MAX_FULL
from arlequin.schemes.events import LocatedThetaStepper, check_laws
from arlequin.schemes.loop_pairing import rows_of_corners
from arlequin.system.assembly import Assembly

_MAX_PHASE = 1.0  # ω Δt of the springs up to which the phase error is of order 4


class LocatedRigidStepper(LocatedThetaStepper):
    """The events of `LocatedThetaStepper` where corners of bodies turn about their centres, on flat obstacles:

        g = g₀ + B q + c (cos θ − 1) + s sin θ,   H = ∂g/∂q,   q̈ = f(t) − Ω q − D q̇ + Hᵀλ,   H q̈ + Ḣ q̇ = 0

    on the active rows (c, s: the arm along the row and across it). The motion between two events is smooth and not
    stiff: one Runge–Kutta step of order 4, with all works and impulses by the same rule, then an M-orthogonal
    projection of displacements and velocities onto the active rows (the works differ at order 4: `scheme`). Where more
    points stick than the body has degrees of freedom, friction is distributed as the pressure. Penetration and release
    of a corner within one step is not detected: use steps with small rotations.

    Source: Hairer, Nørsett & Wanner, Solving Ordinary Differential Equations I, Springer (1993), II.1; Hairer & Wanner,
    II (1996), VII.2 (projection).
    """

    def _check(self, assembly: Assembly) -> None:
        _plane(assembly)
        check_laws(assembly)

    def __init__(self, assembly: Assembly, step: float) -> None:
        super().__init__(assembly, step)
        fastest = float(np.sqrt(max(self._squares.max(initial=0.0), 0.0)))
        if fastest * step > _MAX_PHASE:
            raise UserError.parameter(
                "step", step, f'must be at most {_MAX_PHASE / fastest:.3g} s with events="locate": 1/ω of the springs'
            )

    def _row_operators(self) -> tuple[Array, Array, Array]:
        """Rows B (r, d), angles T (r, d) and arms (r, 2) of the contact rows."""
        basis, corners = self._assembly.contact.basis, rows_of_corners(self._assembly.contact)
        each, body = np.arange(corners.columns.size), corners.width > 1
        # on the basis: rows without rotation, and angles of those on bodies
        self._resting_rows, self._angles = np.zeros((2, each.size, basis.shape[0]))
        self._resting_rows[each, corners.columns] = np.where(body, corners.directions[:, 0], 1.0)
        self._resting_rows[each[body], corners.columns[body] + 1] = corners.directions[body, 1]
        self._angles[each[body], corners.columns[body] + 2] = 1.0
        free = basis[:, self._free].toarray()
        rows, angles = (
            np.ascontiguousarray(matrix @ free @ self._shapes) for matrix in (self._resting_rows, self._angles)
        )
        return rows, angles, corners.arms

    def _spread(self, impulse: Array, moment: Array) -> Array:
        """Impulses (b, q) on the basis: on rows of fixed points, and resultants and moments on bodies."""
        return row_products(impulse, self._resting_rows) + row_products(moment, self._angles)


def _plane(assembly: Assembly) -> None:
    """UserError where the system has more than plane rigid bodies, masses and springs on flat obstacles."""
    contact, where = assembly.contact, 'events="locate" with rigid bodies'
    for part, assembled in zip(assembly.system.parts, assembly.parts, strict=True):
        if not assembled.rotating and (not assembly.linear or assembled.stiffness.nnz or assembled.damping is not None):
            raise UserError(f"{where}: part '{part.name}' deforms: bodies, point masses and springs are supported")
    for interface, pairing in zip(contact.interfaces, contact.pairings, strict=False):
        if isinstance(interface.master, Surface):
            raise UserError(f"{where}: interface '{interface.name}' has a part as master: take flat obstacles")
        if not pairing.fixed:
            raise UserError(f"{where}: the obstacle of interface '{interface.name}' is curved: take flat ones")
    if assembly.dof_count > MAX_FULL or contact.laws.row_count > MAX_FULL:
        raise UserError(f"{where}: at most {MAX_FULL} degrees of freedom and {MAX_FULL} rows of contact are supported")
