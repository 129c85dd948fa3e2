"""The linear equations of a step and their derivatives: θ-scheme, generalised-α family, statics, central differences.

The steps of a linear bulk obey the b-equation and the c-equation of `arlequin.step.coefficients`, whose state has two
fields, u and v, or four, with the lead l and the averaged bulk forces F. In statics v is the displacement of the step,
in central differences the velocity half a step before.

Derivatives by a parameter obey the same equations: with A = μM + aK + bD, y = Π b + Γ c + λμ Π BᵀP, where
Π = A⁻¹ − A⁻¹Cᵀ(CA⁻¹Cᵀ)⁻¹CA⁻¹ and Γ = A⁻¹Cᵀ(CA⁻¹Cᵀ)⁻¹, b follows from the derivatives of the state, less the derivative
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
    """The coefficients of a scheme; None where its steps have other equations."""
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
    _scheme_states: list[tuple[Block, dict[str, Array]]] = field(default_factory=list, init=False, repr=False)

    @cached_property
    def form(self) -> StepCoefficients:
        """Coefficients of the scheme."""
        coefficients = coefficients_of(self.model.study.scheme, self.model.study.step)
        assert coefficients is not None
        return coefficients

    @property
    def step(self) -> float:
        """Δt, s; 1 in statics, whose impulses are forces."""
        return self.form.step

    @cached_property
    def condensed(self) -> FactoredSystem:
        """The factor of a step: that of the run, or a new one where the run is static or solved iteratively."""
        stepper = self.model.stepper
        system: Any = stepper.linear_system if isinstance(stepper, OneStepStepper) else None
        if not isinstance(system, FactoredSystem):
            system = LinearStep(self.model.bulk, self.form, "direct").condensed
        assert isinstance(system, FactoredSystem)
        return system

    @cached_property
    def matrix(self) -> sp.csr_array:
        """A = μM + aK + bD (d, d)."""
        return self.form.matrix(self.model.bulk)

    def y(self, block: Block) -> Array:
        """y (b, d) of solved steps."""
        return (1.0 - self.form.weight) * block.v[:-1] + self.form.weight * block.v[1:]

    def flow(self, block: Block) -> Array:
        """(u₁ − u₀)/Δt (b, d) of solved steps, the rate of viscous losses."""
        return np.diff(block.u, axis=0) / self.step

    def leads(self, block: Block) -> Array:
        """l (b + 1, d) at the ends of solved steps."""
        return self.form.leads(block.v, block.start.scheme_state.lead)

    def ends(self, block: Block) -> BulkEnds:
        """Forces and momenta at the ends of solved steps, cached for the last block."""
        if not (self._ends and self._ends[0][0] is block):
            self._ends[:] = [(block, BulkEnds.of(self.model.bulk, block.u, block.v))]
        return self._ends[0][1]

    def mean_loads(self, block: Block, loads: Array) -> Array:
        """Means (b, d) over the steps of loads (b + 1, d) of the run."""
        start = block.start.scheme_state.external if self.form.carries else loads[0]
        return self.form.mean(self.form.averaged(loads, start))

    def fields(self, block: Block) -> Array:
        """The fields of the state (f, b + 1, d) at the ends of solved steps."""
        if not self.form.carries:
            return np.stack([block.u, block.v])
        scheme_state = self._scheme_state(block)
        bulk = scheme_state["external"] - scheme_state["internal"] - scheme_state["damping"]
        return np.stack([block.u, block.v, scheme_state["lead"], bulk])

    def _scheme_state(self, block: Block) -> dict[str, Array]:
        """Leads and averaged forces (b + 1, d) of the generalised-α family at the ends of solved steps, see
        `OneStepState`, cached for the last block."""
        if not (self._scheme_states and self._scheme_states[0][0] is block):
            start, ends, averaged = block.start.scheme_state, self.ends(block), self.form.averaged
            fields = {
                "lead": self.leads(block),
                "internal": averaged(ends.internal, start.internal),
                "damping": averaged(ends.damping, start.damping),
                "external": averaged(self.model.loads(block.n, len(block)), start.external),
            }
            self._scheme_states[:] = [(block, fields)]
        return self._scheme_states[0][1]

    def cut(self, block: Block, first: int, last: int) -> Block:
        """The steps first ≤ j < last of a block."""
        out = block.cut(first, last)
        if not self.form.carries or first == 0:
            return out
        scheme_state = {name: field[first] for name, field in self._scheme_state(block).items()}
        return replace(out, start=replace(block.start, scheme_state=replace(block.start.scheme_state, **scheme_state)))

    def by_fields(self, change: Array) -> tuple[Array, Array, Array | None]:
        """Changes of the right-hand sides of the b- and the c-equation, (d, …) and (m, …), and of y on the imposed dofs
        (p, …), None without any, by changes of the fields (f, d, …) before the step."""
        assembly, form, dofs = self.model.bulk, self.form, self.model.bulk.imposed_dofs
        displaced = form.displacement * change[0] + (form.lead * change[2] if form.carries else 0.0)
        b = form.inertia * (assembly.mass @ change[1]) - assembly.stiffness @ displaced
        if form.carries:
            b += form.on_force * change[3]
        if form.velocity and assembly.viscous is not None:
            b -= form.velocity * (assembly.viscous @ change[1])
        imposed = np.einsum("fp,fp...->p...", self.imposed_by_state, change[:, dofs]) if dofs.size else None
        return b, (1.0 - form.weight) * (assembly.constraints @ change[1]), imposed

    def fields_after(self, change: Array, y: Array) -> Array:
        """Changes of the fields (f, d, …) after a step by changes of the fields before it and of y (d, …)."""
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
        forces = np.asarray(assembly.stiffness @ fields[0])
        return forces if assembly.viscous is None else forces + assembly.viscous @ fields[1]

    @cached_property
    def imposed_by_state(self) -> Array:
        """Derivatives of y on the imposed dofs (f, p) by the fields of the state on these dofs."""
        form, by_displacement = self.form, self.model.bulk.imposes_displacement
        rows = [(-1.0 / form.step, 0.0), (0.0, 1.0 - form.weight), (-form.step, 0.0), (0.0, 0.0)][: form.fields]
        return np.array(
            [np.where(by_displacement, of_displacement, of_velocity) for of_displacement, of_velocity in rows]
        )

    def imposed_by_parameter(self, values: Array) -> Array:
        """Derivatives (b, p) of y on the imposed dofs, from those of the imposed motions at the ends of the steps."""
        by_displacement = self.model.bulk.imposes_displacement
        by_velocity = self.model.study.step if self.form.static else self.form.weight
        return np.where(by_displacement, values / self.step, by_velocity * values)

    def residual(self, block: Block) -> tuple[Array, Array, Array]:
        """Residuals of solved steps: of the b-equation on free unknowns (b, d), the c-equation (b, m) and u₁ (b, d)."""
        assembly, form, y, ends = self.model.bulk, self.form, self.y(block), self.ends(block)
        loads = self.model.loads(block.n, len(block))
        b_residual = form.impulse * np.diff(ends.momentum, axis=0)  # μ M (y − v₀)
        b_residual -= form.loads[0] * loads[:-1] + form.loads[1] * loads[1:]
        by_end = form.stiffness / form.step  # K (k u₀ + kₗ l₀ + a y), as kₗ = a Δt
        b_residual += (form.displacement - by_end) * ends.internal[:-1] + by_end * ends.internal[1:]
        by_end = form.viscous * form.weight
        b_residual += (form.velocity + form.viscous - by_end) * ends.damping[:-1] + by_end * ends.damping[1:]
        du_residual = np.diff(block.u, axis=0) - form.step * y
        if form.carries:
            du_residual -= form.step**2 * self.leads(block)[:-1]
            bulk = form.averaged(loads - ends.internal - ends.damping, block.start.scheme_state.bulk)
            b_residual -= form.on_force * bulk[:-1]
        b_residual -= form.impulse * applied(sp.csr_array(assembly.constraints.T), block.multipliers)
        b_residual -= form.impulse * applied(sp.csr_array(assembly.contact.basis.T), block.impulse)
        b_residual[:, ~assembly.free] = 0.0
        return b_residual, applied(assembly.constraints, y - (1.0 - form.weight) * block.v[:-1]), du_residual

    def by_parameter(self, block: Block, derivative: ModelDerivative) -> "ParameterRhs":
        """Derivatives of the equations of solved steps by a parameter at fixed motion."""
        form, y = self.form, self.y(block)
        u0, v0 = block.u[:-1], block.v[:-1]
        b, c = np.zeros_like(y), np.zeros_like(block.multipliers)
        bulk: Array | None = None
        times = self.model.study.step * np.arange(block.n, block.n + len(block) + 1.0)
        mass, viscous, stiffness = (derivative.matrix(name) for name in ("mass", "viscous", "stiffness"))
        loads = derivative.loads(block.n, len(block))
        if loads is not None:
            b += form.loads[0] * loads[:-1] + form.loads[1] * loads[1:]
        if mass is not None:
            b -= form.inertia * applied(mass, y - v0)
        if viscous is not None:
            b -= applied(viscous, form.viscous * y + form.velocity * v0)
        if stiffness is not None:
            displaced = form.displacement * u0 + form.stiffness * y
            b -= applied(stiffness, displaced + form.lead * self.leads(block)[:-1] if form.carries else displaced)
        if form.carries:
            change = np.zeros_like(block.u) if loads is None else loads.copy()
            if stiffness is not None:
                change -= applied(stiffness, block.u)
            if viscous is not None:
                change -= applied(viscous, block.v)
            bulk = form.average(change[1:], change[:-1], 0.0)
        constraints, basis = derivative.matrix("constraints"), derivative.matrix("basis")
        if constraints is not None:
            b += form.impulse * applied(sp.csr_array(constraints.T), block.multipliers)
            c -= applied(constraints, y - (1.0 - form.weight) * v0)
        if basis is not None:
            b += form.impulse * applied(sp.csr_array(basis.T), block.impulse)
        b[:, ~self.model.bulk.free] = 0.0
        return ParameterRhs(b, c, self.imposed_by_parameter(derivative.imposed(times[1:])), bulk)


@dataclass(frozen=True, eq=False)
class ParameterRhs:
    """Derivatives by a parameter at fixed motion, of n steps: b (n, d) and c (n, m), right-hand sides of the b- and the
    c-equation; imposed (n, p), of y on the imposed dofs; bulk (n, d), of F₁, None where the scheme has none."""

    b: Array
    c: Array
    imposed: Array
    bulk: Array | None
