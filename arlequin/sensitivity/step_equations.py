"""The linear equations of a θ-step and their derivatives; see `arlequin.schemes.theta_sparse`.

Of the step from (u₀, v₀) to u₁ = u₀ + Δt y, v₁ = (y − (1 − θ) v₀)/θ

    b-equation   M (y − v₀) + θΔt D y + θΔt K (u₀ + θΔt y) − θΔt f_θ − θ (Cᵀφ + BᵀP) = 0
    c-equation   C y − (1 − θ) C v₀ = 0

so that with y = Π b + Γ c + θ Π BᵀP, where Π = A⁻¹ − A⁻¹Cᵀ(CA⁻¹Cᵀ)⁻¹CA⁻¹ and Γ = A⁻¹Cᵀ(CA⁻¹Cᵀ)⁻¹, derivatives by a
parameter obey the same equations with b' = M v₀' − θΔt K u₀' − ∂(b-equation)/∂p and c' = (1 − θ) C v₀' −
∂(c-equation)/∂p.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from arlequin.linalg.products import applied
from arlequin.models.types import Array
from arlequin.schemes.alpha import AlphaStepper, GeneralisedAlpha
from arlequin.schemes.theta import Theta
from arlequin.schemes.theta_sparse import ThetaStepper
from arlequin.sensitivity.models_at import ModelDerivative, StudyModel
from arlequin.sensitivity.trajectory import Block
from arlequin.solvers.condensed import Condensed
from arlequin.solvers.linear_step import LinearStep
from arlequin.step.scheme import Scheme


def theta_of(scheme: Scheme) -> float | None:
    """θ of a scheme whose steps are those of the θ-scheme: of `Theta`, and 1/2 of `Newmark()`; None of others.

    With β = 1/4 and γ = 1/2 the forces at both ends enter with weights of 1/4, as K u does through u₀ + Δt y/2: the
    trapezoidal rule and the midpoint rule are the same on linear parts.
    """
    if isinstance(scheme, Theta):
        return scheme.theta if scheme.events == "step" else None
    trapezoidal = GeneralisedAlpha(0.0, 0.0, 0.25, 0.5)
    if isinstance(scheme, GeneralisedAlpha) and replace(scheme, solver=trapezoidal.solver) == trapezoidal:
        return 0.5
    return None


@dataclass(frozen=True, eq=False)
class ThetaEquations:
    """The equations of the θ-steps of a model."""

    model: StudyModel

    @property
    def theta(self) -> float:
        """θ."""
        found = theta_of(self.model.study.scheme)
        assert found is not None
        return found

    @property
    def step(self) -> float:
        """Δt, s."""
        return self.model.study.step

    @cached_property
    def condensed(self) -> Condensed:
        """The factor of a step: that of the run, or one of its own where the run is solved iteratively."""
        stepper = self.model.stepper
        assert isinstance(stepper, ThetaStepper | AlphaStepper)
        own = stepper.linear_system
        if not isinstance(own, Condensed):
            own = LinearStep(self.model.assembly, self.theta, self.step, "direct").condensed
        assert isinstance(own, Condensed)
        return own

    def y(self, block: Block) -> Array:
        """y (b, d) of solved steps."""
        return np.diff(block.u, axis=0) / self.step

    def mean_loads(self, loads: Array) -> Array:
        """f_θ (b, d) from loads (b + 1, d)."""
        return (1.0 - self.theta) * loads[:-1] + self.theta * loads[1:]

    @cached_property
    def imposed_by_state(self) -> tuple[Array, Array]:
        """Derivatives of y on the imposed dofs (p,) by u₀, 1/s, and by v₀ there."""
        by_displacement = self.model.assembly.imposes_displacement
        return np.where(by_displacement, -1.0 / self.step, 0.0), np.where(by_displacement, 0.0, 1.0 - self.theta)

    def imposed_by_parameter(self, block: Block, values: Array) -> Array:
        """Derivatives (b, p) of y on the imposed dofs by those of the given motions at the ends of the steps."""
        return np.where(self.model.assembly.imposes_displacement, values / self.step, self.theta * values)

    def residual(self, block: Block) -> tuple[Array, Array]:
        """The b- and the c-equation of solved steps (b, d) on free unknowns, (b, m)."""
        assembly, theta, step = self.model.assembly, self.theta, self.step
        y, force = self.y(block), self.mean_loads(self.model.loads(block.n, len(block)))
        out = applied(assembly.mass, y - block.v[:-1]) - theta * step * force
        out += theta * step * applied(assembly.stiffness, block.u[:-1] + theta * step * y)
        if assembly.viscous is not None:
            out += theta * step * applied(assembly.viscous, y)
        out -= theta * applied(sp.csr_array(assembly.constraints.T), block.multipliers)
        out -= theta * applied(sp.csr_array(assembly.contact.basis.T), block.impulse)
        out[:, ~assembly.free] = 0.0
        missing = applied(assembly.constraints, y - (1.0 - theta) * block.v[:-1])
        return out, missing

    def by_parameter(self, block: Block, derivative: ModelDerivative) -> tuple[Array, Array, Array]:
        """−∂/∂p of both equations (b, d), (b, m) at the solved steps, and ∂y/∂p on the imposed dofs (b, p)."""
        theta, step, y = self.theta, self.step, self.y(block)
        u0, v0 = block.u[:-1], block.v[:-1]
        count, d = y.shape
        right, missing = np.zeros((count, d)), np.zeros_like(block.multipliers)
        times = step * np.arange(block.n, block.n + len(block) + 1.0)
        force = derivative.loads(block.n, len(block))
        if force is not None:
            right += theta * step * self.mean_loads(force)
        for matrix, of, factor in (
            (derivative.matrix("mass"), y - v0, 1.0),
            (derivative.matrix("viscous"), y, theta * step),
            (derivative.matrix("stiffness"), u0 + theta * step * y, theta * step),
        ):
            if matrix is not None:
                right -= factor * applied(matrix, of)
        constraints, basis = derivative.matrix("constraints"), derivative.matrix("basis")
        if constraints is not None:
            right += theta * applied(sp.csr_array(constraints.T), block.multipliers)
            missing -= applied(constraints, y - (1.0 - theta) * v0)
        if basis is not None:
            right += theta * applied(sp.csr_array(basis.T), block.impulse)
        right[:, ~self.model.assembly.free] = 0.0
        return right, missing, self.imposed_by_parameter(block, derivative.imposed(times[1:]))
