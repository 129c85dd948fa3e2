"""The linear equations of a step and their derivatives: θ-scheme, generalised-α family, statics, central differences.

The steps of a linear bulk obey the b-equation and the c-equation of `arlequin.step.coefficients`, whose state has two
fields, u and v, or four, with the lead l and the averaged bulk forces F. In statics v is the displacement of the step,
in central differences the velocity half a step before.

Derivatives by a parameter obey the same equations: with A = μM + aK + bD, y = Π b + Γ c + λμ Π BᵀP, where
Π = A⁻¹ − A⁻¹Cᵀ(CA⁻¹Cᵀ)⁻¹CA⁻¹ and Γ = A⁻¹Cᵀ(CA⁻¹Cᵀ)⁻¹, b is that of the derivatives of the state, less the derivative
of the b-equation by the parameter at the solved step.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from arlequin.linalg.products import applied
from arlequin.models.types import Array
from arlequin.schemes.central import CentralDifference
from arlequin.schemes.linear_audit import BulkEnds
from arlequin.schemes.one_step import OneStep
from arlequin.schemes.sparse_steps import OneStepStepper
from arlequin.schemes.static import Static
from arlequin.schemes.theta import Theta
from arlequin.sensitivity.models_at import ModelDerivative, StudyModel
from arlequin.sensitivity.trajectory import Block
from arlequin.solvers.linear_step import LinearStep
from arlequin.solvers.solver_choice import FactoredSystem
from arlequin.step.coefficients import StepCoefficients
from arlequin.step.scheme import Scheme


def coefficients_of(scheme: Scheme, step: float) -> StepCoefficients | None:
    """The coefficients of a scheme; None of those whose steps have other equations."""
    if isinstance(scheme, Static):
        return StepCoefficients.of_statics()
    if isinstance(scheme, CentralDifference):
        return StepCoefficients.of_central_differences(step)
    located = isinstance(scheme, Theta) and scheme.events == "locate"
    return scheme.coefficients(step) if isinstance(scheme, OneStep) and not located else None


@dataclass(frozen=True, eq=False)
class BulkEquations:
    """The linear equations of the steps of a model."""

    model: StudyModel
    _ends: list[tuple[Block, BulkEnds]] = field(default_factory=list, init=False, repr=False)
    _kept: list[tuple[Block, dict[str, Array]]] = field(default_factory=list, init=False, repr=False)

    @cached_property
    def form(self) -> StepCoefficients:
        """Their coefficients."""
        found = coefficients_of(self.model.study.scheme, self.model.study.step)
        assert found is not None
        return found

    @property
    def step(self) -> float:
        """Δt, s; 1 in statics, whose impulses are forces."""
        return self.form.step

    @cached_property
    def condensed(self) -> FactoredSystem:
        """The factor of a step: that of the run; one of its own where the run is static or solved iteratively."""
        stepper = self.model.stepper
        own: Any = stepper.linear_system if isinstance(stepper, OneStepStepper) else None
        if not isinstance(own, FactoredSystem):
            own = LinearStep(self.model.bulk, self.form, "direct").condensed
        assert isinstance(own, FactoredSystem)
        return own

    @cached_property
    def matrix(self) -> sp.csr_array:
        """A = μM + aK + bD (d, d)."""
        return self.form.matrix(self.model.bulk)

    def y(self, block: Block) -> Array:
        """y (b, d) of solved steps."""
        return (1.0 - self.form.weight) * block.v[:-1] + self.form.weight * block.v[1:]

    def flow(self, block: Block) -> Array:
        """(u₁ − u₀)/Δt (b, d) of solved steps, on which viscous losses are taken."""
        return np.diff(block.u, axis=0) / self.step

    def leads(self, block: Block) -> Array:
        """l (b + 1, d) at the ends of solved steps."""
        return self.form.leads(block.v, block.start.own.lead)

    def ends(self, block: Block) -> BulkEnds:
        """Forces and momenta at the ends of solved steps; those of the last block are kept."""
        if not (self._ends and self._ends[0][0] is block):
            self._ends[:] = [(block, BulkEnds.of(self.model.bulk, block.u, block.v))]
        return self._ends[0][1]

    def mean_loads(self, block: Block, loads: Array) -> Array:
        """Means (b, d) over the steps of loads (b + 1, d) of the run."""
        start = block.start.own.external if self.form.carries else loads[0]
        return self.form.mean(self.form.averaged(loads, start))

    def fields(self, block: Block) -> Array:
        """The fields of the state (f, b + 1, d) at the ends of solved steps."""
        if not self.form.carries:
            return np.stack([block.u, block.v])
        carried = self._carried(block)
        bulk = carried["external"] - carried["internal"] - carried["damping"]
        return np.stack([block.u, block.v, carried["lead"], bulk])

    def _carried(self, block: Block) -> dict[str, Array]:
        """What the generalised-α family carries along (b + 1, d), see `OneStepState`, at the ends of solved steps; that
        of the last block is kept."""
        if not (self._kept and self._kept[0][0] is block):
            own, ends, averaged = block.start.own, self.ends(block), self.form.averaged
            found = {
                "lead": self.leads(block),
                "internal": averaged(ends.internal, own.internal),
                "damping": averaged(ends.damping, own.damping),
                "external": averaged(self.model.loads(block.n, len(block)), own.external),
            }
            self._kept[:] = [(block, found)]
        return self._kept[0][1]

    def cut(self, block: Block, first: int, last: int) -> Block:
        """The steps first ≤ j < last of a block."""
        out = block.cut(first, last)
        if not self.form.carries or first == 0:
            return out
        carried = {name: own[first] for name, own in self._carried(block).items()}
        return replace(out, start=replace(block.start, own=replace(block.start.own, **carried)))

    def by_fields(self, change: Array) -> tuple[Array, Array, Array | None]:
        """Changes of the right-hand sides of the b- and the c-equation, (d, …) and (m, …), and of y on the imposed dofs
        (p, …), None without, with those of the fields (f, d, …) before the step."""
        assembly, form, dofs = self.model.bulk, self.form, self.model.bulk.imposed_dofs
        displaced = form.displacement * change[0] + (form.lead * change[2] if form.carries else 0.0)
        right = form.inertia * (assembly.mass @ change[1]) - assembly.stiffness @ displaced
        if form.carries:
            right += form.on_force * change[3]
        if form.velocity and assembly.viscous is not None:
            right -= form.velocity * (assembly.viscous @ change[1])
        given = np.einsum("fp,fp...->p...", self.imposed_by_state, change[:, dofs]) if dofs.size else None
        return right, (1.0 - form.weight) * (assembly.constraints @ change[1]), given

    def fields_after(self, change: Array, y: Array) -> Array:
        """Changes of the fields (f, d, …) after a step by those before it and by that of y (d, …)."""
        form, scaled = self.form, min(self.form.fields, 3)  # fields whose updates are numbers
        out = np.zeros_like(change)
        out[:scaled] = np.tensordot(form.updates[:scaled, :scaled], change[:scaled], 1)
        out[:scaled] += np.multiply.outer(form.updates[:scaled, -1], y)
        if form.carries:
            out[3] = form.average(-self._resisting(out), -self._resisting(change), change[3])
        return out

    def _resisting(self, fields: Array) -> Array:
        """K u + D v (d, …)."""
        assembly = self.model.bulk
        found = np.asarray(assembly.stiffness @ fields[0])
        return found if assembly.viscous is None else found + assembly.viscous @ fields[1]

    @cached_property
    def imposed_by_state(self) -> Array:
        """Derivatives of y on the imposed dofs (f, p) by the fields of the state there."""
        form, by_displacement = self.form, self.model.bulk.imposes_displacement
        rows = [(-1.0 / form.step, 0.0), (0.0, 1.0 - form.weight), (-form.step, 0.0), (0.0, 0.0)][: form.fields]
        return np.array([np.where(by_displacement, own, other) for own, other in rows])

    def imposed_by_parameter(self, values: Array) -> Array:
        """Derivatives (b, p) of y on the imposed dofs by those of the given motions at the ends of the steps."""
        by_displacement = self.model.bulk.imposes_displacement
        by_velocity = self.model.study.step if self.form.static else self.form.weight
        return np.where(by_displacement, values / self.step, by_velocity * values)

    def residual(self, block: Block) -> tuple[Array, Array, Array]:
        """What is left of the b-equation (b, d) of solved steps on free unknowns, of the c-equation (b, m), and of u₁
        (b, d)."""
        assembly, form, y, ends = self.model.bulk, self.form, self.y(block), self.ends(block)
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
            out -= form.on_force * bulk[:-1]
        out -= form.impulse * applied(sp.csr_array(assembly.constraints.T), block.multipliers)
        out -= form.impulse * applied(sp.csr_array(assembly.contact.basis.T), block.impulse)
        out[:, ~assembly.free] = 0.0
        return out, applied(assembly.constraints, y - (1.0 - form.weight) * block.v[:-1]), moved

    def by_parameter(self, block: Block, derivative: ModelDerivative) -> "ByParameter":
        """What a parameter alone changes in the equations of solved steps."""
        form, y = self.form, self.y(block)
        u0, v0 = block.u[:-1], block.v[:-1]
        right, missing = np.zeros_like(y), np.zeros_like(block.multipliers)
        bulk: Array | None = None
        times = self.model.study.step * np.arange(block.n, block.n + len(block) + 1.0)
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
        if form.carries:
            change = np.zeros_like(block.u) if loads is None else loads.copy()
            if stiffness is not None:
                change -= applied(stiffness, block.u)
            if viscous is not None:
                change -= applied(viscous, block.v)
            bulk = form.average(change[1:], change[:-1], 0.0)
        constraints, basis = derivative.matrix("constraints"), derivative.matrix("basis")
        if constraints is not None:
            right += form.impulse * applied(sp.csr_array(constraints.T), block.multipliers)
            missing -= applied(constraints, y - (1.0 - form.weight) * v0)
        if basis is not None:
            right += form.impulse * applied(sp.csr_array(basis.T), block.impulse)
        right[:, ~self.model.bulk.free] = 0.0
        return ByParameter(right, missing, self.imposed_by_parameter(derivative.imposed(times[1:])), bulk)


@dataclass(frozen=True, eq=False)
class ByParameter:
    """What a parameter alone changes in b steps: right (b, d) and missing (b, m), right-hand sides of the b- and the
    c-equation; imposed (b, p), of y on the imposed dofs; bulk (b, d), of F₁, None where the scheme carries none."""

    right: Array
    missing: Array
    imposed: Array
    bulk: Array | None
