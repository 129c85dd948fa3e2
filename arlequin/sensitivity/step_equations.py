"""The linear equations of a step and their derivatives, of the θ-scheme and of the generalised-α family.

With the unknown y = (1 − λ) v₀ + λ v₁, the external forces f, R = f − K u − D v and multipliers φ, P:

    b-equation   (μM + aK + bD) y = μM v₀ − K (k u₀ + kₗ l₀) − d D v₀ + c F₀ + w₀ f₀ + w₁ f₁ + λμ (Cᵀφ + BᵀP)
    c-equation   C y = (1 − λ) C v₀
    u₁ = u₀ + Δt y + Δt² l₀,     v₁ = v₀ + (y − v₀)/λ
    l₁ = [(½ − λ)(v₁ − v₀)/Δt − (1 − γ) l₀]/γ,     F₁ = [(1 − α_f) R₁ + α_f R₀ − α_m F₀]/(1 − α_m)

                  λ     μ         a        b    k             kₗ     d                    c              w₀         w₁
    θ             θ     1         θ²Δt²    θΔt  θΔt           0      0                    0              θ(1 − θ)Δt θ²Δt
    generalised α β/γ   1 − α_m   hΔt      h/λ  h + α_f βΔt   hΔt²   α_f βΔt + h(1 − 1/λ) λΔt(1 − α_m − γ)  α_f βΔt  h

with h = (1 − α_f) βΔt. The lead l = (½ − λ) a and the averaged bulk forces F are carried from step to step by the
generalised-α family alone (`arlequin.schemes.alpha.AlphaState`), so that its state has four fields, that of the
θ-scheme two. Mean forces of a step, on which its works are taken, are (1 − γ) F₀ + γ F₁, of each kind, with γ = θ and
F = R for the θ-scheme.

Derivatives by a parameter obey the same equations: with A = μM + aK + bD, y = Π b + Γ c + λμ Π BᵀP, where
Π = A⁻¹ − A⁻¹Cᵀ(CA⁻¹Cᵀ)⁻¹CA⁻¹ and Γ = A⁻¹Cᵀ(CA⁻¹Cᵀ)⁻¹, b is that of the derivatives of the state, less the derivative
of the b-equation by the parameter at the solved step.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from scipy.signal import lfilter

from arlequin.linalg.products import applied
from arlequin.models.types import Array
from arlequin.schemes.alpha import AlphaStepper, GeneralisedAlpha, LinearAlpha
from arlequin.schemes.theta import Theta
from arlequin.schemes.theta_sparse import ThetaStepper
from arlequin.sensitivity.models_at import ModelDerivative, StudyModel
from arlequin.sensitivity.trajectory import Block
from arlequin.solvers.condensed import Condensed
from arlequin.solvers.linear_step import LinearStep
from arlequin.step.scheme import Scheme
from arlequin.system.assembly import Assembly


@dataclass(frozen=True)
class StepForm:
    """Coefficients of the equations of a step: see the module.

    weight: λ; inertia: μ; theta: of the contact laws; stiffness, viscous: a, b; displacement, lead, velocity, carried:
    k, kₗ, d, c; loads: w₀, w₁; shift: ½ − λ, 0 without lead; fields: of the state, u, v (and l, F).
    """

    step: float
    weight: float
    inertia: float
    theta: float
    gamma: float
    alpha_m: float
    alpha_f: float
    stiffness: float
    viscous: float
    displacement: float
    lead: float
    velocity: float
    carried: float
    loads: tuple[float, float]
    shift: float
    fields: int

    @classmethod
    def of(cls, scheme: Scheme, step: float) -> Self | None:
        """Of a scheme; None of those whose steps have other equations."""
        if isinstance(scheme, Theta) and scheme.events == "step":
            theta = scheme.theta
            h = theta * step
            loads = (1.0 - theta) * h, theta * h
            return cls(step, theta, 1.0, theta, theta, 0.0, 0.0, h * h, h, h, 0.0, 0.0, 0.0, loads, 0.0, 2)
        if isinstance(scheme, GeneralisedAlpha):
            am, af, beta, gamma = scheme.alpha_m, scheme.alpha_f, scheme.beta, scheme.gamma
            weight, h, before = beta / gamma, (1.0 - af) * beta * step, af * beta * step
            return cls(
                step, weight, 1.0 - am, min(gamma, 1.0), gamma, am, af, h * step, h / weight, h + before, h * step**2,
                before + h * (1.0 - 1.0 / weight), weight * step * (1.0 - am - gamma), (before, h), 0.5 - weight, 4,
            )  # fmt: skip
        return None

    @property
    def impulse(self) -> float:
        """λμ, the factor of the impulses."""
        return self.weight * self.inertia

    @property
    def carries(self) -> bool:
        """Whether the state has a lead and averaged forces."""
        return self.fields > 2

    @property
    def averages(self) -> bool:
        """Whether forces are averaged with those of earlier steps."""
        return bool(self.alpha_m or self.alpha_f)

    @cached_property
    def updates(self) -> Array:
        """Each field of the state (f,) after a step by those before it and by y (f, f + 1), but for F by K and D."""
        one, turned = 1.0 / self.weight, self.shift / (self.gamma * self.step * self.weight)
        if not self.carries:
            return np.array([[1.0, 0.0, self.step], [0.0, 1.0 - one, one]])
        before = -(1.0 - self.gamma) / self.gamma
        return np.array(
            [
                [1.0, 0.0, self.step**2, 0.0, self.step],
                [0.0, 1.0 - one, 0.0, 0.0, one],
                [0.0, -turned, before, 0.0, turned],
                [0.0, 0.0, 0.0, -self.alpha_m / self.inertia, 0.0],
            ]
        )

    def averaged(self, ends: Array, start: Array) -> Array:
        """The averages Xᶜ (b + 1, …) that the scheme carries of a force whose values are X (b + 1, …):

        Xᶜ₁ = [(1 − α_f) X₁ + α_f X₀ − α_m Xᶜ₀]/(1 − α_m), from Xᶜ₀ = `start`.
        """
        if not self.averages:
            return np.concatenate([start[None], ends[1:]])
        given = ((1.0 - self.alpha_f) * ends[1:] + self.alpha_f * ends[:-1]) / self.inertia
        return _recursion(-self.alpha_m / self.inertia, given, start)

    def mean(self, averages: Array) -> Array:
        """Means (b, …) over the steps of averages (b + 1, …)."""
        return (1.0 - self.gamma) * averages[:-1] + self.gamma * averages[1:]

    def leads(self, v: Array, start: Array) -> Array:
        """l (b + 1, d) at the ends of steps with the velocities v (b + 1, d)."""
        given = self.shift / (self.gamma * self.step) * np.diff(v, axis=0)
        return _recursion(-(1.0 - self.gamma) / self.gamma, given, start)


def _recursion(factor: float, given: Array, start: Array) -> Array:
    """x (b + 1, d) of xₙ₊₁ = factor xₙ + given (b, d), from the start (d,)."""
    found, _ = lfilter([1.0], [1.0, -factor], given, axis=0, zi=factor * start[None])
    return np.concatenate([start[None], found])


@dataclass(frozen=True, eq=False)
class BulkEquations:
    """The linear equations of the steps of a model."""

    model: StudyModel
    _ends: list[tuple[Block, "EndForces"]] = field(default_factory=list, init=False, repr=False)

    @cached_property
    def form(self) -> StepForm:
        """Their coefficients."""
        found = StepForm.of(self.model.study.scheme, self.model.study.step)
        assert found is not None
        return found

    @property
    def step(self) -> float:
        """Δt, s."""
        return self.form.step

    @cached_property
    def condensed(self) -> Condensed:
        """The factor of a step: that of the run, or one of its own where the run is solved iteratively."""
        stepper, scheme, assembly = self.model.stepper, self.model.study.scheme, self.model.assembly
        assert isinstance(stepper, ThetaStepper | AlphaStepper)
        own: Any = stepper.linear_system
        if not isinstance(own, Condensed) and isinstance(scheme, GeneralisedAlpha):
            own = LinearAlpha(assembly, self.step, replace(scheme, solver="direct")).condensed
        elif not isinstance(own, Condensed):
            own = LinearStep(assembly, self.form.weight, self.step, "direct").condensed
        assert isinstance(own, Condensed)
        return own

    @cached_property
    def matrix(self) -> sp.csr_array:
        """A = μM + aK + bD (d, d)."""
        form, assembly = self.form, self.model.assembly
        found = form.inertia * assembly.mass + form.stiffness * assembly.stiffness
        return sp.csr_array(found if assembly.viscous is None else found + form.viscous * assembly.viscous)

    def y(self, block: Block) -> Array:
        """y (b, d) of solved steps."""
        return (1.0 - self.form.weight) * block.v[:-1] + self.form.weight * block.v[1:]

    def flow(self, block: Block) -> Array:
        """(u₁ − u₀)/Δt (b, d) of solved steps, on which viscous losses are taken."""
        return np.diff(block.u, axis=0) / self.step

    def leads(self, block: Block) -> Array:
        """l (b + 1, d) at the ends of solved steps."""
        return self.form.leads(block.v, block.start.own.lead)

    def ends(self, block: Block) -> "EndForces":
        """Forces and momenta at the ends of solved steps; those of the last block are kept."""
        if not (self._ends and self._ends[0][0] is block):
            self._ends[:] = [(block, EndForces.of(self.model.assembly, block.u, block.v))]
        return self._ends[0][1]

    def mean_loads(self, block: Block, loads: Array) -> Array:
        """Means (b, d) over the steps of loads (b + 1, d) of the run."""
        start = block.start.own.external if self.form.carries else loads[0]
        return self.form.mean(self.form.averaged(loads, start))

    @cached_property
    def imposed_by_state(self) -> Array:
        """Derivatives of y on the imposed dofs (f, p) by the fields of the state there."""
        form, by_displacement = self.form, self.model.assembly.imposes_displacement
        rows = [(-1.0 / form.step, 0.0), (0.0, 1.0 - form.weight), (-form.step, 0.0), (0.0, 0.0)][: form.fields]
        return np.array([np.where(by_displacement, own, other) for own, other in rows])

    def imposed_by_parameter(self, values: Array) -> Array:
        """Derivatives (b, p) of y on the imposed dofs by those of the given motions at the ends of the steps."""
        by_displacement = self.model.assembly.imposes_displacement
        return np.where(by_displacement, values / self.step, self.form.weight * values)

    def residual(self, block: Block) -> tuple[Array, Array, Array]:
        """What is left of the b-equation (b, d) of solved steps on free unknowns, of the c-equation (b, m), and of u₁
        (b, d)."""
        assembly, form, y, ends = self.model.assembly, self.form, self.y(block), self.ends(block)
        loads = self.model.loads(block.n, len(block))
        out = form.impulse * np.diff(ends.momentum, axis=0)  # μ M (y − v₀)
        out -= form.loads[0] * loads[:-1] + form.loads[1] * loads[1:]
        by_end = form.stiffness / form.step  # K (k u₀ + kₗ l₀ + a y), as kₗ = a Δt
        out += (form.displacement - by_end) * ends.internal[:-1] + by_end * ends.internal[1:]
        by_end = form.viscous * form.weight
        out += (form.velocity + form.viscous - by_end) * ends.damping[:-1] + by_end * ends.damping[1:]
        moved = np.diff(block.u, axis=0) - form.step * y
        if form.carries:
            moved -= form.step**2 * self.leads(block)[:-1]
            bulk = form.averaged(loads - ends.internal - ends.damping, block.start.own.bulk)
            out -= form.carried * bulk[:-1]
        out -= form.impulse * applied(sp.csr_array(assembly.constraints.T), block.multipliers)
        out -= form.impulse * applied(sp.csr_array(assembly.contact.basis.T), block.impulse)
        out[:, ~assembly.free] = 0.0
        return out, applied(assembly.constraints, y - (1.0 - form.weight) * block.v[:-1]), moved

    def by_parameter(self, block: Block, derivative: ModelDerivative) -> "ByParameter":
        """What a parameter alone changes in the equations of solved steps."""
        form, y = self.form, self.y(block)
        u0, v0 = block.u[:-1], block.v[:-1]
        right, missing = np.zeros_like(y), np.zeros_like(block.multipliers)
        bulk = np.zeros_like(y) if form.carries else None
        times = form.step * np.arange(block.n, block.n + len(block) + 1.0)
        mass, viscous, stiffness = (derivative.matrix(name) for name in ("mass", "viscous", "stiffness"))
        loads = derivative.loads(block.n, len(block))
        if loads is not None:
            right += form.loads[0] * loads[:-1] + form.loads[1] * loads[1:]
        if mass is not None:
            right -= form.inertia * applied(mass, y - v0)
        if viscous is not None:
            right -= applied(viscous, form.viscous * y + form.velocity * v0)
        if stiffness is not None:
            displaced = form.displacement * u0 + form.stiffness * y
            right -= applied(stiffness, displaced + form.lead * self.leads(block)[:-1] if form.carries else displaced)
        if bulk is not None:
            change = np.zeros_like(block.u) if loads is None else loads.copy()
            if stiffness is not None:
                change -= applied(stiffness, block.u)
            if viscous is not None:
                change -= applied(viscous, block.v)
            bulk += ((1.0 - form.alpha_f) * change[1:] + form.alpha_f * change[:-1]) / form.inertia
        constraints, basis = derivative.matrix("constraints"), derivative.matrix("basis")
        if constraints is not None:
            right += form.impulse * applied(sp.csr_array(constraints.T), block.multipliers)
            missing -= applied(constraints, y - (1.0 - form.weight) * v0)
        if basis is not None:
            right += form.impulse * applied(sp.csr_array(basis.T), block.impulse)
        right[:, ~self.model.assembly.free] = 0.0
        return ByParameter(right, missing, self.imposed_by_parameter(derivative.imposed(times[1:])), bulk)


@dataclass(frozen=True, eq=False)
class ByParameter:
    """What a parameter alone changes in b steps: right (b, d) and missing (b, m), right-hand sides of the b- and the
    c-equation; imposed (b, p), of y on the imposed dofs; bulk (b, d), of F₁, None where the scheme carries none."""

    right: Array
    missing: Array
    imposed: Array
    bulk: Array | None


@dataclass(frozen=True, eq=False)
class EndForces:
    """M v, N·s, K u and D v, N, (b + 1, d) at the ends of steps."""

    momentum: Array
    internal: Array
    damping: Array

    @classmethod
    def of(cls, assembly: Assembly, u: Array, v: Array) -> Self:
        """Of displacements and velocities (b + 1, d)."""
        damping = np.zeros_like(v) if assembly.viscous is None else applied(assembly.viscous, v)
        return cls(applied(assembly.mass, v), applied(assembly.stiffness, u), damping)
