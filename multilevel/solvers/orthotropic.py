"""Orthotropic friction as isotropic friction on scaled tangential rows.

With the axes of a point, P = T P̂ and v̂ = Tᵀ v, T = (e₁ e₂) diag(ν₁, ν₂), a slip against the normal of the ellipse of
the semi-axes ν₁, ν₂ is one against P̂: v_i = −λ P_i/ν_i² ⇔ v̂ = −λ P̂. The work P·v = P̂·v̂, the Delassus operator TᵀWT is
symmetric, and the friction ellipse of the semi-axes μ₁ P_n, μ₂ P_n has in the direction φ of P̂ the radius

    μ̂(φ) P_n,    μ̂ = [(ν₁ cos φ/μ₁)² + (ν₂ sin φ/μ₂)²]^(−1/2),

which is 1 where the slip is normal to the friction ellipse (ν = μ). Elsewhere the radius is that of the direction of
the last iterate, until it is that of the solution.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from arlequin.models.errors import UserError
from arlequin.models.types import Array
from arlequin.multilevel.laws.friction_laws import Orthotropic
from arlequin.multilevel.solvers.contact import ContactSolution
from arlequin.multilevel.solvers.law_tables import PointLaws
from arlequin.multilevel.solvers.problem import FreeMotion

_PASSES = 200
_SETTLED = 1e-14
_ACCEPTED = 1e-11


@dataclass(frozen=True)
class OrthotropicRows:
    """Scaling of the tangential rows (r,) of k points. matrices (k, t, t): T, the identity without orthotropic
    friction; ratios (k, t): ν_i/μ_i, 0 there."""

    laws: PointLaws
    matrices: Array
    ratios: Array

    @classmethod
    def of(cls, laws: PointLaws, tangents: Array) -> "OrthotropicRows | None":
        """The scaling for points with the tangents (k, t, a); None where no law is orthotropic."""
        at = [k for k, law in enumerate(laws.friction_laws) if isinstance(law, Orthotropic)]
        if not at:
            return None
        t = tangents.shape[1]
        matrices, ratios = np.tile(np.eye(t), (laws.count, 1, 1)), np.zeros((laws.count, t))
        for k in at:
            law = laws.friction_laws[k]
            assert isinstance(law, Orthotropic)
            along = tangents[k] @ np.asarray(law.direction, dtype=float)[: tangents.shape[2]]
            size = np.linalg.norm(along)
            if not size > 1e-8 * np.linalg.norm(law.direction):
                raise UserError.parameter(
                    "direction", law.direction, "must have a part along the surface at each point of the contact"
                )
            first = along / size
            axes = first[None] if t == 1 else np.stack([first, [-first[1], first[0]]])
            slips, edges = np.array(law.slip_axes)[:t], np.array([law.first, law.second])[:t]
            matrices[k], ratios[k] = axes.T * slips, slips / edges
        return cls(laws, matrices, ratios)

    def rates(self, rates: Array) -> Array:
        """Tᵀ of rates (…, r)."""
        return self._times(np.swapaxes(self.matrices, 1, 2), rates)

    def impulses(self, scaled: Array) -> Array:
        """T of scaled impulses (…, r)."""
        return self._times(self.matrices, scaled)

    def _times(self, matrices: Array, values: Array) -> Array:
        out, first = values.copy(), self.laws.first
        frictional = np.flatnonzero(np.diff(first) > 1)
        rows = first[frictional, None] + 1 + np.arange(matrices.shape[1])
        out[..., rows] = np.einsum("kab,...kb->...ka", matrices[frictional], values[..., rows])
        return out

    def motion(self, motion: FreeMotion) -> FreeMotion:
        """The motion without impulses on the scaled rows."""
        half = self.rates(motion.delassus)
        return motion._replace(delassus=self.rates(half.T), rate_free=self.rates(motion.rate_free))

    def solve(
        self, solve: Callable[[PointLaws, Array], ContactSolution], laws: PointLaws, guess: Array
    ) -> ContactSolution:
        """The solution on the unscaled rows; solve(laws, guess): on the scaled rows."""
        inverse: Array = np.linalg.inv(self.matrices).astype(float)
        scaled_guess, iterations, is_orthotropic = self._times(inverse, guess), 0, (self.ratios > 0.0).any(axis=1)
        friction = np.where(is_orthotropic, self._radius(scaled_guess), laws.friction)
        for _ in range(_PASSES):
            solution = solve(laws.with_friction(friction), scaled_guess)
            iterations += solution.iterations
            scaled_guess = solution.impulse
            radius = np.where(
                is_orthotropic & (solution.impulse[laws.first[:-1]] > 0.0), self._radius(scaled_guess), friction
            )
            change = (np.abs(radius - friction) / np.maximum(friction, 1e-300)).max(initial=0.0)
            if change <= _SETTLED or solution.singular or not solution.residual < np.inf:
                break
            friction = radius
        residual = solution.residual if change <= _ACCEPTED else max(solution.residual, change)
        return replace(solution, impulse=self.impulses(scaled_guess), iterations=iterations, residual=residual)

    def _radius(self, impulse: Array) -> Array:
        """μ̂ (k,) in the directions of scaled impulses (r,); where these are 0, in that of the first axis."""
        t = self.ratios.shape[1]
        out = np.zeros(self.laws.count)
        frictional = np.flatnonzero(np.diff(self.laws.first) > 1)
        vectors = impulse[self.laws.first[frictional, None] + 1 + np.arange(t)]
        size = np.linalg.norm(vectors, axis=1, keepdims=True)
        start = np.zeros((1, t))
        start[0, 0] = 1.0
        directions = np.divide(vectors, size, out=np.repeat(start, frictional.size, axis=0), where=size > 0.0)
        scaled = np.linalg.norm(self.ratios[frictional] * directions, axis=1)
        out[frictional] = np.divide(1.0, scaled, out=np.zeros_like(scaled), where=scaled > 0.0)
        return out
