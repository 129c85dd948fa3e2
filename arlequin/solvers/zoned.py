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

# Unknowns of a zone in three dimensions above which the damping is applied by products: above it a factor, with fill
# from couplings over up to three coarse cells, takes longer in a step, and many times as long to compute.
_MAX_FACTORED = 3_000


class Zoned:
    """Solves A y = b + Cᵀφ + BᵀP, C y = c as `Condensed` does, for A = M + h D that is diagonal but for a zone:

        A = diag(M) ⊕ A_z,

    the zone z the unknowns on which A is not the diagonal of the mass or on which constraints C act; D the damping of
    the absorbing junctions, h half a time step. Outside it y = M⁻¹(b + BᵀP); inside, y and φ follow from a
    `FactoredBrake`, or from a `PolynomialBrake` in large zones. zone (z,): its degrees of freedom, ascending;
    resisting (r,): these and the dofs with imposed motions on which D acts.
    """

    def __init__(self, assembly: Assembly, half: float) -> None:
        """half: h, s; y is known on the imposed dofs."""
        assert assembly.absorption is not None
        self._unknowns = unknowns = Unknowns(assembly)
        self._absorption, self._half = assembly.absorption, half
        mass, self._mass_imposed = unknowns.split(assembly.mass)
        rows = assembly.constraints
        self._product, self._basis = assembly.contact.basis_product, assembly.contact.basis
        self._rows_imposed = rows[:, unknowns.imposed_dofs] if unknowns.imposed_dofs.size else None
        constraint_rows = sp.csr_array(rows[:, unknowns.at])
        self._mass, diagonal = mass, mass.diagonal()
        damped = np.zeros(assembly.dof_count, dtype=bool)
        damped[self._absorption.dofs] = True
        in_zone = damped[unknowns.at]
        dense = abs(mass - sp.diags_array(diagonal)) @ np.ones(diagonal.size) > 0.0
        in_zone |= dense
        in_zone[constraint_rows.indices] = True
        self._zone = np.flatnonzero(in_zone)
        self.zone = np.arange(assembly.dof_count)[unknowns.at][self._zone]
        self._inverse = np.where(in_zone, 0.0, 1.0 / diagonal)
        self._damped_imposed = np.flatnonzero(damped[unknowns.imposed_dofs])
        damped_imposed = unknowns.imposed_dofs[self._damped_imposed]
        self.resisting = np.union1d(self.zone, damped_imposed)
        self._inside, self._at_imposed = (np.searchsorted(self.resisting, dofs) for dofs in (self.zone, damped_imposed))
        self._resist = self._absorption.among(self.resisting) if damped_imposed.size else None
        across = sp.csr_array(constraint_rows[:, self._zone])
        axes = max((part.positions.shape[1] for part in assembly.system.parts), default=0)
        large = axes == 3 and self._zone.size > _MAX_FACTORED and not dense.any()
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
        self._zero_rates = np.zeros(rows.shape[0])

    @cached_property
    def compliance(self) -> Compliance:
        """W (q, q), constraints eliminated: full among the rows of the contact's basis B that reach the zone."""
        basis = sp.csr_array(self._basis[:, self._unknowns.at])
        outside = basis @ sp.diags_array(self._inverse) @ basis.T
        inner = sp.csr_array(basis[:, self._zone])
        reaching = np.flatnonzero(np.diff(inner.indptr))
        if not reaching.size:
            return Compliance(sp.csr_array(outside))
        reaching_rows = sp.csr_array(inner[reaching])
        zone_compliance = np.array(
            [reaching_rows @ self._zone_response(row.toarray().ravel()).y for row in reaching_rows]
        )
        zone_compliance = 0.5 * (zone_compliance + zone_compliance.T)
        places = np.repeat(reaching, reaching.size), np.tile(reaching, reaching.size)
        return Compliance(sp.csr_array(outside + sp.csr_array((zone_compliance.ravel(), places), shape=outside.shape)))

    def braked(self, force: Array, v: Array, c: Array, imposed: Array | None = None) -> tuple[Array, Array, Array]:
        """M a = f − D v̄ + Cᵀφ, C a = c, v̄ = v + h a: a (d,), φ (m,), and the drag D v̄ (d,), N.

        force f (d,), v (d,), c (m,), imposed (p,): a on the imposed dofs.
        """
        self._unknowns.check_imposed(imposed)
        rhs, at = force[self._unknowns.at], self._unknowns.imposed_dofs
        imposed_velocity = None
        if imposed is not None and at.size:
            if self._rows_imposed is not None:
                c = c - self._rows_imposed @ imposed
            if self._mass_imposed is not None:
                rhs = rhs - self._mass_imposed @ imposed
            imposed_velocity = (v[at] + self._half * imposed)[self._damped_imposed]
        a = self._inverse * rhs
        zone_rhs = rhs[self._zone]
        if imposed_velocity is not None and self._resist is not None:
            zone_rhs -= self._resist(self._velocities(None, imposed_velocity))[self._inside]
        braked = self.brake.solve(zone_rhs, c, v[self.zone], 1.0)
        a[self._zone] = braked.y
        drag = np.zeros_like(force)
        drag[self.resisting] = self.drag(braked, imposed_velocity)
        return self._unknowns.scattered(a, imposed), braked.multipliers, drag

    def drag(self, braked: Braked, imposed_velocity: Array | None = None) -> Array:
        """D v̄ (r,), N, with the imposed velocities on the resisting dofs that are not unknowns, 0 by default."""
        return braked.drag if self._resist is None else self._resist(self._velocities(braked.moving, imposed_velocity))

    def _velocities(self, inside: Array | None, imposed_velocity: Array | None) -> Array:
        velocities = np.zeros(self.resisting.size)
        for at, velocity in ((self._inside, inside), (self._at_imposed, imposed_velocity)):
            if velocity is not None:
                velocities[at] = velocity
        return velocities

    def response(self, impulse: Array) -> Array:
        """Change of y (d,) under the contact impulses P (q,), constraints kept."""
        return self._impulse_response(impulse)[0]

    def constraint_response(self, impulse: Array) -> Array:
        """The decrease of the multipliers φ (m,) by the contact impulses P (q,)."""
        return -self._impulse_response(impulse)[1]

    def drag_response(self, impulse: Array) -> Array:
        """The drag ½ D y (d,), N, of the change y of the velocities, m/s, by contact impulses P (q,), N·s."""
        return self._impulse_response(impulse)[2]

    def _impulse_response(self, impulse: Array) -> tuple[Array, Array, Array]:
        """Changes of y (d,) and φ (m,) under the contact impulses P (q,), and their drag (d,)."""
        rhs = self._product.transposed(impulse)[self._unknowns.at]
        y, zone_rhs = self._inverse * rhs, rhs[self._zone]
        multipliers, drag = self._zero_rates, np.zeros(self._basis.shape[1])
        if zone_rhs.any():
            braked = self._zone_response(zone_rhs)
            y[self._zone], multipliers = braked.y, braked.multipliers
            drag[self.resisting] = self.drag(braked)
        return self._unknowns.scattered(y), multipliers, drag

    def _zone_response(self, impulse: Array) -> Braked:
        """A y = P + Cᵀφ, C y = 0 of impulses (z,): M y = P − 2h D y/2 + Cᵀφ."""
        return self.brake.solve(impulse, self._zero_rates, np.zeros_like(impulse), 2.0 * self._half)

    def spread(self, b: Array) -> Array:
        """A⁻¹ b (d,) on the unknowns, without constraints and contact; 0 on the other dofs."""
        return self._unknowns.scattered(self._factor.solve(b[self._unknowns.at]))

    @cached_property
    def _factor(self) -> Factor:
        damping = self._unknowns.split(self._absorption.matrix)[0]
        return factorise(sp.csr_array(self._mass + self._half * damping))
