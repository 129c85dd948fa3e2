"""The linear system of an explicit step whose matrix is diagonal outside the gluing zones."""

from functools import cached_property

import numpy as np
import scipy.sparse as sp

from arlequin.linalg.compliance import Compliance
from arlequin.models.linalg.factor import Factor, factorise
from arlequin.models.phases import phase
from arlequin.models.types import Array
from arlequin.solvers.braking import Brake, Braked, FactoredBrake, PolynomialBrake
from arlequin.solvers.unknowns import Unknowns
from arlequin.system.assembly import Assembly

# Unknowns of a zone in three dimensions above which the damping is applied by products: from there on a factor, which
# a coarse node joins with those at up to three cells, takes longer in a step, and many times as long to make.
_LARGE = 3_000


class Zoned:
    """Solves A y = b + Cᵀφ + BᵀP, C y = c as `Condensed` does, for A = M + h D that is diagonal but for a zone:

        A = diag(M) ⊕ A_z,

    the zone z the unknowns on which A is not the diagonal of the mass or on which constraints C act; D the damping of
    the absorbing junctions, h half a time step. Outside it y = M⁻¹(b + BᵀP); inside, y and φ follow from a
    `FactoredBrake`, or from a `PolynomialBrake` in large zones. zone (z,): its degrees of freedom, ascending;
    resisting (r,): these and the dofs with imposed motions on which D acts.
    """

    def __init__(self, assembly: Assembly, half: float) -> None:
        """half: h, s; with y given on the imposed dofs."""
        assert assembly.absorption is not None
        self._unknowns = unknowns = Unknowns(assembly)
        self._absorption, self._half = assembly.absorption, half
        mass, self._inertia_given = unknowns.split(assembly.mass)
        rows = assembly.constraints
        self._product, self._basis = assembly.contact.basis_product, assembly.contact.basis
        self._rows_given = rows[:, unknowns.given] if unknowns.given.size else None
        own = sp.csr_array(rows[:, unknowns.at])
        self._mass, diagonal = mass, mass.diagonal()
        touched = np.zeros(assembly.dof_count, dtype=bool)
        touched[self._absorption.dofs] = True
        joined = touched[unknowns.at]
        dense = abs(mass - sp.diags_array(diagonal)) @ np.ones(diagonal.size) > 0.0
        joined |= dense
        joined[own.indices] = True
        self._zone = np.flatnonzero(joined)
        self.zone = np.arange(assembly.dof_count)[unknowns.at][self._zone]
        self._inverse = np.where(joined, 0.0, 1.0 / diagonal)
        self._held = np.flatnonzero(touched[unknowns.given])
        held = unknowns.given[self._held]
        self.resisting = np.union1d(self.zone, held)
        self._inside, self._on_held = (np.searchsorted(self.resisting, each) for each in (self.zone, held))
        self._resist = self._absorption.among(self.resisting) if held.size else None
        across = sp.csr_array(own[:, self._zone])
        axes = max((part.positions.shape[1] for part in assembly.system.parts), default=0)
        large = axes == 3 and self._zone.size > _LARGE and not dense.any()
        with phase(f"damping of {self._zone.size:,} unknowns with {rows.shape[0]:,} constraints"):
            self.brake: Brake = (
                PolynomialBrake(diagonal[self._zone], self._absorption.among(self.zone), across, half)
                if large
                else FactoredBrake(
                    sp.csr_array(mass[self._zone][:, self._zone]),
                    sp.csr_array(self._absorption.matrix[self.zone][:, self.zone]),
                    across,
                    half,
                )
            )
        self._no_rates = np.zeros(rows.shape[0])

    @cached_property
    def compliance(self) -> Compliance:
        """W (q, q), constraints eliminated: full among the rows of the contact's basis B that reach the zone."""
        own = sp.csr_array(self._basis[:, self._unknowns.at])
        outside = own @ sp.diags_array(self._inverse) @ own.T
        inner = sp.csr_array(own[:, self._zone])
        reaching = np.flatnonzero(np.diff(inner.indptr))
        if not reaching.size:
            return Compliance(sp.csr_array(outside))
        few = sp.csr_array(inner[reaching])
        among = np.array([few @ self._pressed(row.toarray().ravel()).y for row in few])
        among = 0.5 * (among + among.T)
        places = np.repeat(reaching, reaching.size), np.tile(reaching, reaching.size)
        return Compliance(sp.csr_array(outside + sp.csr_array((among.ravel(), places), shape=outside.shape)))

    def braked(self, force: Array, v: Array, c: Array, given: Array | None = None) -> tuple[Array, Array, Array]:
        """M a = f − D v̄ + Cᵀφ, C a = c, v̄ = v + h a: a (d,), φ (m,), and the drag D v̄ (d,), N.

        force f (d,), v (d,), c (m,), given (p,): a on the imposed dofs.
        """
        self._unknowns.check_given(given)
        right, at = force[self._unknowns.at], self._unknowns.given
        imposed = None
        if given is not None and at.size:
            if self._rows_given is not None:
                c = c - self._rows_given @ given
            if self._inertia_given is not None:
                right = right - self._inertia_given @ given
            imposed = (v[at] + self._half * given)[self._held]
        a = self._inverse * right
        inside = right[self._zone]
        if imposed is not None and self._resist is not None:
            inside -= self._resist(self._moving(None, imposed))[self._inside]
        inner = self.brake.solve(inside, c, v[self.zone], 1.0)
        a[self._zone] = inner.y
        drag = np.zeros_like(force)
        drag[self.resisting] = self.drag(inner, imposed)
        return self._unknowns.scattered(a, given), inner.multipliers, drag

    def drag(self, braked: Braked, imposed: Array | None = None) -> Array:
        """D v̄ (r,), N, with the imposed velocities of those of these dofs that are not unknowns, 0 by default."""
        return braked.drag if self._resist is None else self._resist(self._moving(braked.moving, imposed))

    def _moving(self, inside: Array | None, imposed: Array | None) -> Array:
        out = np.zeros(self.resisting.size)
        for at, own in ((self._inside, inside), (self._on_held, imposed)):
            if own is not None:
                out[at] = own
        return out

    def response(self, impulse: Array) -> Array:
        """Change of y (d,) under the contact impulses P (q,), constraints kept."""
        return self._pushed(impulse)[0]

    def constraint_response(self, impulse: Array) -> Array:
        """The decrease of the multipliers φ (m,) by the contact impulses P (q,)."""
        return -self._pushed(impulse)[1]

    def drag_response(self, impulse: Array) -> Array:
        """The drag ½ D y (d,), N, of the change y of the velocities, m/s, by contact impulses P (q,), N·s."""
        return self._pushed(impulse)[2]

    def _pushed(self, impulse: Array) -> tuple[Array, Array, Array]:
        """Changes of y (d,) and φ (m,) under the contact impulses P (q,), and their drag (d,)."""
        right = self._product.transposed(impulse)[self._unknowns.at]
        y, inside = self._inverse * right, right[self._zone]
        multipliers, drag = self._no_rates, np.zeros(self._basis.shape[1])
        if inside.any():
            inner = self._pressed(inside)
            y[self._zone], multipliers = inner.y, inner.multipliers
            drag[self.resisting] = self.drag(inner)
        return self._unknowns.scattered(y), multipliers, drag

    def _pressed(self, impulse: Array) -> Braked:
        """A y = P + Cᵀφ, C y = 0 of impulses (z,): M y = P − 2h D y/2 + Cᵀφ."""
        return self.brake.solve(impulse, self._no_rates, np.zeros_like(impulse), 2.0 * self._half)

    def spread(self, b: Array) -> Array:
        """A⁻¹ b (d,) on the unknowns, without constraints and contact; 0 on the other dofs."""
        return self._unknowns.scattered(self._bare.solve(b[self._unknowns.at]))

    @cached_property
    def _bare(self) -> Factor:
        damping = self._unknowns.split(self._absorption.matrix)[0]
        return factorise(sp.csr_array(self._mass + self._half * damping))
