"""The row of coefficients of a one-step scheme: θ, the generalised-α family, statics, central differences.

With the unknown y = (1 − λ) v₀ + λ v₁, the external forces f, R = f − K u − D v and multipliers φ, P, a step of a
linear bulk is

    b-equation   (μM + aK + bD) y = μM v₀ − K (k u₀ + kₗ l₀) − d D v₀ + c F₀ + w₀ f₀ + w₁ f₁ + λμ (Cᵀφ + BᵀP)
    c-equation   C y = (1 − λ) C v₀
    u₁ = u₀ + Δt y + Δt² l₀,     v₁ = v₀ + (y − v₀)/λ
    l₁ = [(½ − λ)(v₁ − v₀)/Δt − (1 − γ) l₀]/γ,     F₁ = [(1 − α_f) R₁ + α_f R₀ − α_m F₀]/(1 − α_m)

                  λ     μ         a        b    k             kₗ     d                    c              w₀         w₁
    θ             θ     1         θ²Δt²    θΔt  θΔt           0      0                    0              θ(1 − θ)Δt θ²Δt
    generalised α β/γ   1 − α_m   hΔt      h/λ  h + α_f βΔt   hΔt²   α_f βΔt + h(1 − 1/λ) λΔt(1 − α_m − γ)  α_f βΔt  h

with h = (1 − α_f) βΔt. The lead l = (½ − λ) a and the averaged bulk forces F are state variables of the generalised-α
family only, so that its state has four fields, that of the θ-scheme two. The works of a step are those of the mean
forces (1 − γ) F₀ + γ F₁, of each kind, with γ = θ and F = R for the θ-scheme.

A step of a nonlinear bulk is μ M y + h f = p + h f_ext + λμ (Cᵀφ + GᵀΛ + BᵀP), with the resisting forces f of the
scheme (`arlequin.solvers.step_forces`), h = θΔt for θ. Statics have no inertia term, and Δt = λ = μ = h = 1 in them: y
is Δu, impulses are forces.

Central differences have λ = μ = 1, a = b = 0, k = d = w₀ = Δt, w₁ = 0 and θ = 0 of the laws, where v are the velocities
half a step before.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from arlequin.models.parallel.matrix import compressed
from arlequin.models.types import Array
from arlequin.system.assembly import Assembly


@dataclass(frozen=True)
class StepCoefficients:
    """Coefficients of the equations of a step, see the module docstring.

    weight: λ; inertia: μ; force: h; theta: of the contact laws; stiffness, viscous: a, b; displacement, lead, velocity,
    on_force: k, kₗ, d, c; loads: w₀, w₁; shift: ½ − λ, 0 without lead; fields: of the state, u, v (and l, F);
    staggered: whether v are velocities half a step before.
    """

    step: float
    weight: float
    inertia: float
    force: float
    theta: float
    gamma: float
    stiffness: float
    viscous: float
    displacement: float
    loads: tuple[float, float]
    alpha_m: float = 0.0
    alpha_f: float = 0.0
    lead: float = 0.0
    velocity: float = 0.0
    on_force: float = 0.0
    shift: float = 0.0
    fields: int = 2
    static: bool = False
    staggered: bool = False

    @classmethod
    def of_theta(cls, theta: float, step: float) -> Self:
        """Coefficients of the θ-scheme: y = v_θ."""
        h = theta * step
        loads = (1.0 - theta) * h, theta * h
        return cls(step, theta, 1.0, h, theta, theta, h * h, h, h, loads)

    @classmethod
    def of_alpha(cls, alpha_m: float, alpha_f: float, beta: float, gamma: float, step: float) -> Self:
        """Coefficients of the generalised-α family; contact laws have θ = γ."""
        weight, h, before = beta / gamma, (1.0 - alpha_f) * beta * step, alpha_f * beta * step
        return cls(
            step=step, weight=weight, inertia=1.0 - alpha_m, force=h, theta=min(gamma, 1.0), gamma=gamma,
            stiffness=h * step, viscous=h / weight, displacement=h + before, loads=(before, h), alpha_m=alpha_m,
            alpha_f=alpha_f, lead=h * step**2, velocity=before + h * (1.0 - 1.0 / weight),
            on_force=weight * step * (1.0 - alpha_m - gamma), shift=0.5 - weight, fields=4,
        )  # fmt: skip

    @classmethod
    def of_statics(cls) -> Self:
        """Coefficients of a load step."""
        return cls(1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 1.0, (0.0, 1.0), static=True)

    @classmethod
    def of_central_differences(cls, step: float) -> Self:
        """Coefficients of central differences: y = v_{n+½}."""
        loads = step, 0.0
        return cls(step, 1.0, 1.0, step, 0.0, 0.5, 0.0, 0.0, step, loads, velocity=step, staggered=True)

    def with_step(self, step: float) -> Self:
        """Coefficients of the scheme for another step Δt, s."""
        beta = self.weight * self.gamma
        if self.carries:
            return self.of_alpha(self.alpha_m, self.alpha_f, beta, self.gamma, step)
        return self.of_theta(self.theta, step)

    @property
    def order(self) -> int:
        """Order of accuracy in Δt: 2 where γ = 1/2 + α_f − α_m, else 1."""
        return 2 if abs(self.gamma - 0.5 - self.alpha_f + self.alpha_m) < 1e-12 else 1

    @property
    def frequency_error(self) -> float:
        """e of Ω² = ω²(1 + e ω²Δt²) + O(Δt⁴), see `Scheme`. For θ, from tan(ωΔt/2) = ½ΩΔt / (1 − i(θ − ½)ΩΔt),

            e = 1/6 + 2(θ − ½)²,

        for the generalised-α family, with s = γ − 1/2 + α_m − α_f, which is 0 at order 2,

            e = β − 1/12 + α_f(α_m − α_f) + s(s/4 + α_m − α_f − 1/2).
        """
        if not self.carries:
            return 1.0 / 6.0 + 2.0 * (self.theta - 0.5) ** 2
        shift = self.alpha_m - self.alpha_f
        excess = self.gamma - 0.5 + shift
        beta = self.weight * self.gamma
        return beta - 1.0 / 12.0 + self.alpha_f * shift + excess * (0.25 * excess + shift - 0.5)

    @property
    def impulse(self) -> float:
        """λμ, the factor of the impulses."""
        return self.weight * self.inertia

    @property
    def gap_per_velocity(self) -> float:
        """λΔt, s: derivative of the displacement at the end of the step by the velocity there."""
        return self.weight * self.step

    @property
    def carries(self) -> bool:
        """Whether the state has a lead and averaged forces."""
        return self.fields > 2

    @property
    def sums_constraints(self) -> bool:
        """Whether C v₁ = 0 is imposed as C y = −Σ C y of the steps so far: at θ = 1/2, where C y may alternate in sign,
        and in the generalised-α family."""
        return self.carries or self.weight == 0.5

    @property
    def conserves(self) -> bool:
        """Whether a linear bulk conserves energy: all mean forces work on Δu = Δt (v₀ + v₁)/2."""
        return self.weight == self.gamma == 0.5 and not (self.averages or self.static)

    @property
    def averages(self) -> bool:
        """Whether forces are averaged with those of earlier steps."""
        return bool(self.alpha_m or self.alpha_f)

    def matrix(self, assembly: Assembly) -> sp.csr_array:
        """A = μM + aK + bD (d, d), assembled in each call (memory as for the stiffness)."""
        return compressed(self.matrix_at_rest(assembly) + self.stiffness * assembly.stiffness)

    def matrix_at_rest(self, assembly: Assembly) -> sp.csr_array:
        """μM + bD (d, d): the matrix of a step without the stiffness."""
        matrix = assembly.mass if self.inertia == 1.0 else self.inertia * assembly.mass
        return compressed(matrix if assembly.viscous is None else matrix + self.viscous * assembly.viscous)

    def imposed(self, assembly: Assembly, values: Array, u: Array, v: Array, lead: Array | None = None) -> Array:
        """y (p,) on the imposed dofs from the imposed values (p,) at the end of the step and u, v, l (d,) at its
        start."""
        dofs = assembly.imposed_dofs
        by_displacement = (values - u[..., dofs]) / self.step
        if lead is not None:
            by_displacement = by_displacement - self.step * lead[..., dofs]
        by_velocity = self.weight * values + (1.0 - self.weight) * v[..., dofs]
        return np.where(assembly.imposes_displacement, by_displacement, by_velocity)

    @cached_property
    def updates(self) -> Array:
        """Derivatives (f, f + 1) of the fields (f,) of the state after a step by those before it and by y, except those
        of F by K and D."""
        by_y, lead_by_y = 1.0 / self.weight, self.shift / (self.gamma * self.step * self.weight)
        if not self.carries:
            return np.array([[1.0, 0.0, self.step], [0.0, 1.0 - by_y, by_y]])
        before = -(1.0 - self.gamma) / self.gamma
        return np.array(
            [
                [1.0, 0.0, self.step**2, 0.0, self.step],
                [0.0, 1.0 - by_y, 0.0, 0.0, by_y],
                [0.0, -lead_by_y, before, 0.0, lead_by_y],
                [0.0, 0.0, 0.0, -self.alpha_m / self.inertia, 0.0],
            ]
        )

    def average(self, end: Any, start: Any, before: Any) -> Any:
        """The average Xᶜ₁ after one step, see `averaged`, from X₁, X₀ and Xᶜ₀."""
        if not self.averages:
            return end
        return ((1.0 - self.alpha_f) * end + self.alpha_f * start - self.alpha_m * before) / self.inertia

    def averaged(self, ends: Array, start: Array) -> Array:
        """Recursive averages Xᶜ (b + 1, …) of a force with values X (b + 1, …):

        Xᶜ₁ = [(1 − α_f) X₁ + α_f X₀ − α_m Xᶜ₀]/(1 − α_m), from Xᶜ₀ = `start`.
        """
        if not self.averages:
            return np.concatenate([start[None], ends[1:]])
        forcing = self.average(ends[1:], ends[:-1], 0.0)
        return _recursion(-self.alpha_m / self.inertia, forcing, start)

    def mean(self, averages: Array) -> Array:
        """Mean forces (b, …) of the steps from averages (b + 1, …)."""
        return (1.0 - self.gamma) * averages[:-1] + self.gamma * averages[1:]

    def leads(self, v: Array, start: Array) -> Array:
        """l (b + 1, d) at the ends of steps with the velocities v (b + 1, d)."""
        forcing = self.shift / (self.gamma * self.step) * np.diff(v, axis=0)
        return _recursion(-(1.0 - self.gamma) / self.gamma, forcing, start)


def _recursion(factor: float, forcing: Array, start: Array) -> Array:
    """x (b + 1, d) of xₙ₊₁ = factor xₙ + forcing (b, d), from the start (d,)."""
    from scipy.signal import lfilter  # slow to import, and unused by most schemes

    values, _ = lfilter([1.0], [1.0, -factor], forcing, axis=0, zi=factor * start[None])
    return np.concatenate([start[None], values])
