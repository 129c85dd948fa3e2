"""Period map: state of the free coordinates after N steps of the scheme as a function of the initial one; Jacobian.

The state is x = (q, q̇), u = u_g + Z q with the imposed motions u_g and a basis Z (d, n) of the null space of the
constraints; with elastic stick also the tractions of the friction springs, with laws of springs that have a memory
their internal variables (the force of each slider; z of Bouc and Wen), and the other state variables of the scheme:
in the generalised-α family (`arlequin.step.coefficients`) the lead l = Z l̂ and the averaged forces Zᵀ F, in De
Vogelaere's scheme the last accelerations Z â; with central differences q̇ is the velocity half a step before. The steps
are those of the transient, so that a fixed point x = Φ(x) is a periodic motion of `simulate` with the same step to
round-off. The loads are stretched in time to the actual period, f(t T₀/T), so that one system covers all frequencies.

∂Φ/∂x, at a fixed point the monodromy matrix, is the tangent of the steps with respect to their initial state
(`arlequin.sensitivity.tangent.by_start`) where the step equations are differentiable: linear parts, contact on fixed
normals, friction without internal variables. For other systems and schemes, and with located events, whose instants
depend on the state, it is computed by central differences of Φ.

Source: Leine & Nijmeijer, Dynamics and Bifurcations of Non-Smooth Mechanical Systems, Springer (2004).
"""

from collections import OrderedDict
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.linalg

from arlequin.linalg.products import applied
from arlequin.models.errors import FAILURE, UserError
from arlequin.models.part import Constrained, Nonlinear, PathDependent
from arlequin.models.types import Array
from arlequin.multilevel.laws.base import SetValuedLaw
from arlequin.multilevel.solvers.contact import OPEN
from arlequin.run.simulate import Study
from arlequin.schemes.central import CentralDifference
from arlequin.schemes.central_bulk import BulkCentralStepper
from arlequin.schemes.compiled_loop import is_small
from arlequin.schemes.explicit import ExplicitStepper
from arlequin.schemes.loop_data import LoopSteps
from arlequin.schemes.theta import Theta
from arlequin.sensitivity.linear_steps import LinearSteps
from arlequin.sensitivity.models_at import StudyModel
from arlequin.sensitivity.operators import StepOperators
from arlequin.sensitivity.sliding_friction import is_derived
from arlequin.sensitivity.step_equations import BulkEquations, coefficients_of
from arlequin.sensitivity.tangent import by_start
from arlequin.sensitivity.trajectory import Block
from arlequin.step.coefficients import StepCoefficients
from arlequin.step.scheme import Scheme
from arlequin.step.state import State
from arlequin.system.assembly import Assembly

MAX_COORDINATES = 300  # free coordinates; Jacobians are dense
_DIFFERENCE = 1e-6  # increment of central differences, relative to the size of the state
_MAX_STEPPERS = 6  # cached steppers for different steps
_IMPACTS = (
    "impacts of a rigid contact fall on whole steps, and the motion jumps with them: take "
    'Theta(0.5, events="locate"), Unilateral(level="gap") or a layer'
)
_SAMPLES = np.linspace(0.0, 1.0, 23)[:-1]  # phases at which loads are compared


@dataclass(frozen=True)
class Orbit:
    """Motion over one period: x (s,) at start and end; u, v (N + 1, d) and gaps (N + 1, k) over time; steps of the
    compiled loop, None where the Jacobian is computed by differences; first: state at the start; memory (N + 1, m):
    internal variables of springs."""

    start: Array
    end: Array
    period: float
    u: Array
    v: Array
    gaps: Array
    steps: LoopSteps | None
    first: State
    memory: Array


class PeriodMap:
    """Φ of a system for periods T and amplitudes of the loads: x (s,) → x after `periods` periods of the loads.

    base: period T₀ of the loads of the system, s, None if they are constant; steps: total number N.
    """

    def __init__(self, assembly: Assembly, scheme: Scheme, steps: int, base: float | None, periods: int = 1) -> None:
        _check(assembly, scheme)
        self.assembly, self.steps, self.periods, self._base = assembly, steps, periods, base
        self._scheme = scheme
        free = np.flatnonzero(assembly.free)
        constraints = assembly.constraints[:, free].toarray()
        null_space = scipy.linalg.null_space(constraints) if constraints.size else np.eye(free.size)
        self.basis = np.zeros((assembly.dof_count, null_space.shape[1]))
        self.basis[free] = null_space
        if self.size > MAX_COORDINATES:
            raise UserError(
                f"the system has {self.size} free coordinates; at most {MAX_COORDINATES} are taken here: reduce its "
                "parts, arlequin.Modal"
            )
        coefficients = _scheme_coefficients(scheme, 1.0)
        self._staggered = isinstance(scheme, CentralDifference)
        # whether the tangent of the steps is available
        self._exact_jacobian = coefficients is not None and is_small(assembly) and is_derived(assembly.laws)
        self._springs = assembly.laws.elastic_stick_rows
        n = self.size
        sizes = {
            "displacement": n,
            "velocity": n,
            "traction": int(self._springs.size),
            "memory": int(assembly.laws.memory_rows.size),
            "lead": n if coefficients is not None and coefficients.shift else 0,
            "force": n if coefficients is not None and coefficients.averages else 0,
            "acceleration": n * getattr(scheme, "past", 0),
        }
        ends = np.cumsum([0, *sizes.values()]).tolist()
        self.at = dict(zip(sizes, (slice(a, b) for a, b in pairwise(ends)), strict=True))  # of each field in x
        self._kinematics = assembly.contact.kinematics(np.zeros(assembly.contact.basis.shape[0]))
        self._steppers: OrderedDict[tuple[float, float | None], Any] = OrderedDict()
        self._load_cache: dict[tuple[int, int, int], Array] = {}
        self._mean: Array | None = None

    @property
    def size(self) -> int:
        """Free coordinates n."""
        return int(self.basis.shape[1])

    @property
    def state_size(self) -> int:
        """Size s of x: 2n, friction springs, internal variables of springs, and the scheme's other state variables."""
        return int(self.at["acceleration"].stop)

    @cached_property
    def mass(self) -> Array:
        """Zᵀ M Z (n, n)."""
        return np.asarray(self.basis.T @ (self.assembly.mass @ self.basis))

    @cached_property
    def stiffness(self) -> Array:
        """Zᵀ K Z (n, n), with the stiffness at rest of the laws of springs."""
        assembly, rows = self.assembly, self._kinematics.rates(self.basis.T)[:, self._kinematics.first]
        laws = rows @ (assembly.laws.stiffness_at_rest()[:, None] * rows.T)
        return np.asarray(self.basis.T @ (assembly.stiffness @ self.basis)) + laws

    @cached_property
    def damping(self) -> Array:
        """Zᵀ D Z (n, n)."""
        viscous = self.assembly.viscous
        return np.zeros_like(self.mass) if viscous is None else np.asarray(self.basis.T @ (viscous @ self.basis))

    @cached_property
    def driven(self) -> bool:
        """Whether loads or imposed motions change in time."""
        if self._base is None:
            return False
        times = self._base * _SAMPLES
        loads = self.assembly.loads(times)
        imposed = np.array([self.assembly.imposed(t) for t in times])
        return bool(np.ptp(loads, axis=0).any() or np.ptp(imposed, axis=0).any())

    def check_period(self, name: str, period: Any) -> None:
        """UserError if loads and imposed motions do not have the period."""
        base = self._base
        assert base is not None
        times = base * (_SAMPLES + 0.011)
        for function in (self.assembly.loads, lambda at: np.array([self.assembly.imposed(t) for t in at])):
            values, shifted = function(times), function(times + base)
            size = np.abs(values).max(initial=0.0)
            if size > 0.0 and np.abs(shifted - values).max() > 1e-6 * size:
                raise UserError.parameter(name, period, "is not a period of the loads and given motions")

    def run(self, x: Array, period: float, amplitude: float = 1.0) -> Orbit:
        """The motion from x over the period T, s, under loads with deviations from the mean scaled by `amplitude`."""
        stepper, state = self._start(x, period, amplitude)
        with np.errstate(over="ignore", invalid="ignore"):
            if not self._exact_jacobian:
                return self._run_by_batches(stepper, state, x, period)
            steps = stepper.bare_steps(state, self.steps)
        if len(steps.u) < self.steps:
            raise UserError(f"the step after {len(steps.u)} of {self.steps} of the period failed", FAILURE)
        u, v = np.concatenate([state.u[None], steps.u]), np.concatenate([state.v[None], steps.v])
        _refuse_infinite(u)
        gaps = self._kinematics.gaps(u @ self.assembly.contact.basis.T)
        memory = self._memory_along(state, gaps[1:])
        state_parts = [self._inner @ u[-1], self._inner @ v[-1], steps.spring_traction[-1][self._springs], memory[-1]]
        state_parts += self._scheme_state(state, period, amplitude, u, v)
        self._refuse_impacts(steps.status)
        return Orbit(x, np.concatenate(state_parts), period, u, v, gaps, steps, state, memory)

    def _memory_along(self, first: State, gaps: Array) -> Array:
        """Internal variables (N + 1, m) of springs from a state along gaps (N, k), whose path alone they depend on."""
        laws = self.assembly.laws
        histories = laws.histories(first.history, gaps, 1.0, 0.5)
        start = first.history[None, laws.memory_rows, 1]
        return start if histories is None else np.concatenate([start, histories[:, laws.memory_rows, 1]])

    def _run_by_batches(self, stepper: Any, first: State, x: Array, period: float) -> Orbit:
        """The motion from a state, by batches of the stepper as in `simulate`."""
        state, batches, last = first, [], first.n + self.steps
        while state.n < last:
            state, batch = stepper.advance(state, last - state.n)
            batches.append(batch)
        u, v = (np.concatenate([getattr(first, name)[None], *(getattr(b, name) for b in batches)]) for name in "uv")
        _refuse_infinite(u)
        laws, coefficients = self.assembly.laws, _scheme_coefficients(self._scheme, stepper.step)
        traction = (
            laws.spring_traction(state.history, self._kinematics.tangents) if laws.has_elastic_stick else np.zeros(0)
        )
        velocity = stepper.half_velocity(state) if self._staggered else v[-1]
        gaps = np.concatenate([self.assembly.contact.gaps(first.u)[None], *(batch.gaps for batch in batches)])
        memory = self._memory_along(first, gaps[1:])
        state_parts = [self._inner @ u[-1], self._inner @ velocity, traction[self._springs], memory[-1]]
        if not locates(self._scheme):
            self._refuse_impacts(np.concatenate([batch.contact.status for batch in batches]))
        if coefficients is not None and coefficients.shift:
            state_parts.append(self._inner @ state.scheme_state.lead)
        if coefficients is not None and coefficients.averages:
            state_parts.append(self.basis.T @ state.scheme_state.bulk)
        if self.at["acceleration"].stop > self.at["acceleration"].start:
            state_parts.append((state.scheme_state.past @ self._inner.T).ravel())
        if laws.state_dependent and (laws.friction_state(state.history) != laws.friction_state(first.history)).any():
            raise UserError("periodic motions take no friction with variables that evolve: take a law of the slip rate")
        return Orbit(x, np.concatenate(state_parts), period, u, v, gaps, None, first, memory)

    def _scheme_state(self, first: State, period: float, amplitude: float, u: Array, v: Array) -> list[Array]:
        """Lead and averaged forces in x at the end of the steps u, v (N + 1, d) from a state."""
        coefficients, fields = self._coefficients(period), []
        if coefficients.shift:
            fields.append(self._inner @ coefficients.leads(v, first.scheme_state.lead)[-1])
        if coefficients.averages:
            times = period / self.steps * np.arange(self.steps + 1.0)
            net_force = _stretched_assembly(self, period, amplitude).loads(times) - applied(self.assembly.stiffness, u)
            if self.assembly.viscous is not None:
                net_force -= applied(self.assembly.viscous, v)
            fields.append(self.basis.T @ coefficients.averaged(net_force, first.scheme_state.bulk)[-1])
        return fields

    def _coefficients(self, period: float) -> StepCoefficients:
        """Coefficients of the scheme for a period, s."""
        coefficients = _scheme_coefficients(self._scheme, period / self.steps)
        assert coefficients is not None
        return coefficients

    def sizes(self, orbit: Orbit) -> Array:
        """Sizes (s,) of the entries of x: the maximum of each field over the motion, 1 at rest."""
        u, v = (np.abs(field @ self._inner.T).max(initial=0.0) for field in (orbit.u, orbit.v))
        u = u if u > 0.0 else 1.0
        v = v if v > 0.0 else 2.0 * np.pi * u / orbit.period
        sizes = np.ones(self.state_size)
        sizes[self.at["displacement"]], sizes[self.at["velocity"]] = u, v
        # accelerations from differences of the velocities over a step
        acceleration = np.abs(np.diff(orbit.v, axis=0)).max() * self.steps / orbit.period
        acceleration = acceleration if acceleration > 0.0 else 2.0 * np.pi * v / orbit.period
        if orbit.steps is not None:
            sizes[self.at["traction"]] = np.abs(orbit.steps.spring_traction).max(initial=1e-30)
        elif self._springs.size:
            sizes[self.at["traction"]] = (
                u * self.assembly.laws.tangential_stiffness[self.assembly.laws.elastic_stick].max()
            )
        memory = np.abs(orbit.memory).max(axis=0)
        sizes[self.at["memory"]] = np.where(memory > 0.0, memory, 1.0)
        sizes[self.at["lead"]] = sizes[self.at["acceleration"]] = acceleration
        sizes[self.at["force"]] = acceleration * np.abs(self.mass).max()
        return sizes

    def jacobian(self, orbit: Orbit, amplitude: float = 1.0) -> Array:
        """∂Φ/∂x (s, s) along an orbit."""
        if orbit.steps is None:
            sizes = _DIFFERENCE * self.sizes(orbit)
            columns = [
                (
                    self.run(orbit.start + e, orbit.period, amplitude).end
                    - self.run(orbit.start - e, orbit.period, amplitude).end
                )
                / (2.0 * size)
                for e, size in zip(np.diag(sizes), sizes, strict=True)
            ]
            return np.array(columns).T
        equations, at, laws = self._equations(orbit.period), self.at, self.assembly.laws
        operators, form, basis, rows = StepOperators(equations), equations.form, self.basis, laws.row_count
        start = np.concatenate([self._first_traction(orbit.start), orbit.memory[0]])
        linear = LinearSteps.of(equations, _block_of(orbit), start, operators.diagonal)
        fields, springs = (np.zeros((*n, self.state_size)) for n in ((form.fields, len(basis)), (operators.internal,)))
        fields[0][:, at["displacement"]] = fields[1][:, at["velocity"]] = basis
        springs[self._springs, np.arange(at["traction"].start, at["traction"].stop)] = 1.0
        springs[rows:, at["memory"]] = np.eye(operators.internal - rows)
        if form.shift:
            fields[2][:, at["lead"]] = basis
        if form.averages:
            fields[3][:, at["force"]] = self._inner.T
        elif form.carries:  # the forces at the start
            fields[3] = -(self.assembly.stiffness @ fields[0])
            if self.assembly.viscous is not None:
                fields[3] -= self.assembly.viscous @ fields[1]
        fields, springs = by_start(linear, operators, fields, springs)
        derivatives = [self._inner @ fields[0], self._inner @ fields[1], springs[self._springs], springs[rows:]]
        if form.shift:
            derivatives.append(self._inner @ fields[2])
        if form.averages:
            derivatives.append(basis.T @ fields[3])
        return np.concatenate(derivatives)

    def _equations(self, period: float) -> BulkEquations:
        """Linear equations of the steps of a period."""
        step = period / self.steps
        model = StudyModel(Study(self.assembly.system, self._scheme, duration=period, step=step), self.assembly)
        vars(model)["stepper"] = self._stepper(period)
        return BulkEquations(model)

    def _first_traction(self, x: Array) -> Array:
        """Tractions of the friction springs (r,) in a state x, Pa."""
        traction = np.zeros(self.assembly.laws.row_count)
        traction[self._springs] = x[self.at["traction"]]
        return traction

    def project(self, u: Array, v: Array) -> Array:
        """The state x (s,) of fields u, v (d,), with zeros for its other entries."""
        x = np.concatenate([self._inner @ u, self._inner @ v])
        return np.append(x, np.zeros(self.state_size - x.size))

    def energy(self, orbit: Orbit) -> float:
        """Kinetic and stored energy at the start of an orbit, J."""
        laws, u = self.assembly.laws, orbit.u[0]
        stored = laws.stored_energy(orbit.gaps[0], None, laws.histories_of_memory(orbit.memory[0]))
        return float(self.assembly.kinetic(orbit.v[0]) + self.assembly.internal(u)[1] + stored)

    def smallest_gaps(self, orbit: Orbit) -> Array:
        """The smallest gap (k,) over the period, m; on fixed normals from the cubic interpolation of gaps and rates in
        each step."""
        if not self.assembly.contact.fixed:
            return orbit.gaps.min(axis=0)
        step = orbit.period / self.steps
        rate = step * (orbit.v @ self.assembly.contact.basis.T)[:, self._kinematics.first]
        g0, g1, r0, r1 = orbit.gaps[:-1], orbit.gaps[1:], rate[:-1], rate[1:]
        # g = g₀ + r₀ s + b s² + a s³
        b, a = 3.0 * (g1 - g0) - 2.0 * r0 - r1, r0 + r1 - 2.0 * (g1 - g0)
        with np.errstate(invalid="ignore", divide="ignore"):
            root = np.sqrt(np.maximum(b * b - 3.0 * a * r0, 0.0))
            s = np.clip(np.where(np.abs(b + root) > 0.0, -r0 / (b + root), 0.0), 0.0, 1.0)
        s = np.where(np.isfinite(s), s, 0.0)
        inner = g0 + s * (r0 + s * (b + s * a))
        return np.minimum(orbit.gaps.min(axis=0), inner.min(axis=0))

    @cached_property
    def _inner(self) -> Array:
        """(ZᵀZ)⁻¹Zᵀ (n, d): from fields to coordinates."""
        return np.asarray(np.linalg.pinv(self.basis)) if self.assembly.constraints.shape[0] else self.basis.T

    def _stepper(self, period: float, amplitude: float | None = None) -> Any:
        """The stepper for a period, s, under the loads of the system, or with `amplitude` under loads stretched to the
        period and scaled about their mean; the last `_MAX_STEPPERS` are cached."""
        key = period, amplitude
        if key not in self._steppers:
            assembly = self.assembly if amplitude is None else _stretched_assembly(self, period, amplitude)
            stepper = self._scheme.prepare(assembly, period / self.steps)
            self._steppers[key] = stepper.of_each_step() if isinstance(stepper, BulkCentralStepper) else stepper
            while len(self._steppers) > _MAX_STEPPERS:
                self._steppers.popitem(last=False)
        return self._steppers[key]

    def _start(self, x: Array, period: float, amplitude: float) -> tuple[Any, State]:
        """The stepper under the stretched loads, and the initial state from x."""
        n, step = self.size, period / self.steps
        assembly = _stretched_assembly(self, period, amplitude)
        # the operators of a small system do not depend on its loads
        stepper = (
            self._stepper(period).driven_as(assembly) if self._exact_jacobian else self._stepper(period, amplitude)
        )
        u, v = self.basis @ x[:n], self.basis @ x[n : 2 * n]
        dofs = assembly.imposed_dofs
        if dofs.size:
            now, after, before = (assembly.imposed(t) for t in (0.0, step, period - step))
            by_displacement = assembly.imposes_displacement
            u[dofs] = np.where(by_displacement, now, 0.0)
            v[dofs] = np.where(by_displacement, (after - before) / (2.0 * step), now)
        memory = x[self.at["memory"]]
        state = stepper.start_at_half(u, v, self.steps, memory) if self._staggered else stepper.start(u, v)
        state.history[assembly.laws.memory_rows, 1] = memory
        if self._springs.size:
            assembly.laws.store_spring_traction(state.history, self._first_traction(x), self._kinematics.tangents)
        scheme_state, (lead, force, past) = (
            state.scheme_state,
            (x[self.at[name]] for name in ("lead", "force", "acceleration")),
        )
        if isinstance(stepper, ExplicitStepper):
            scheme_state = stepper.begin(u, v, self._first_traction(x))
        if past.size:
            scheme_state = replace(scheme_state, past=past.reshape(-1, n) @ self.basis.T, begun=True)
        if lead.size:
            scheme_state = replace(scheme_state, lead=self.basis @ lead)
        if force.size:
            scheme_state = replace(
                scheme_state, internal=scheme_state.external - scheme_state.damping - self._inner.T @ force
            )
        return stepper, replace(state, scheme_state=scheme_state)

    def _refuse_impacts(self, status: Array) -> None:
        """UserError if a velocity-level multiplier acts in some steps only: impacts at whole steps are not smooth."""
        laws = self.assembly.laws
        rigid = (laws.level == 2) & (laws.compliance == 0.0)
        acts = status[:, rigid] != OPEN
        if rigid.any() and (acts.any(axis=0) & ~acts.all(axis=0)).any():
            raise UserError(_IMPACTS)

    def stretched(self, numbers: Array, substeps: int, amplitude: float) -> Array:
        """Loads (t, d), N, at the instants number/(N substeps) of the period."""
        key = round(float(numbers[0])), numbers.size, substeps
        if key not in self._load_cache:
            self._load_cache[key] = self.loads_at(numbers / (self.steps * substeps))
        loads = self._load_cache[key]
        return loads if amplitude == 1.0 else self.mean_load + amplitude * (loads - self.mean_load)

    def loads_at(self, phases: Array, amplitude: float = 1.0) -> Array:
        """Loads (t, d), N, at phases of the period."""
        base = 1.0 if self._base is None else self._base
        loads = self.assembly.loads(phases * base * self.periods)
        return loads if amplitude == 1.0 else self.mean_load + amplitude * (loads - self.mean_load)

    @property
    def mean_load(self) -> Array:
        """Mean of the loads over the period (d,), N."""
        if self._mean is None:
            base = 1.0 if self._base is None else self._base
            self._mean = self.assembly.loads(base * np.arange(self.steps) / self.steps).mean(axis=0)
        return self._mean

    def imposed_at(self, phase: float, amplitude: float) -> Array:
        """Imposed motions (p,) at a phase of the period in [0, 1]."""
        base = 1.0 if self._base is None else self._base
        values = self.assembly.imposed(phase * base * self.periods)
        if amplitude == 1.0:
            return values
        mean = np.mean([self.assembly.imposed(base * s) for s in np.arange(64) / 64.0], axis=0)
        return np.asarray(mean + amplitude * (values - mean))


def _refuse_infinite(u: Array) -> None:
    if not np.isfinite(u[-1]).all():
        raise UserError("the motion does not stay finite", FAILURE)


def _stretched_assembly(period_map: PeriodMap, period: float, amplitude: float) -> Assembly:
    """Copy of the assembly with the stretched loads and imposed motions of a period map."""
    assembly, steps = copy(period_map.assembly), period_map.steps

    def loads(times: Array) -> Array:
        numbers = times / period * steps
        for substeps in (1, 2, 3):  # whole steps, De Vogelaere's scheme, Simpson's rule
            near = np.round(substeps * numbers)
            if np.abs(near - substeps * numbers).max() < 1e-6:
                return period_map.stretched(near, substeps, amplitude)
        return period_map.loads_at(numbers / steps, amplitude)

    vars(assembly)["loads"] = loads
    vars(assembly)["load"] = lambda t: loads(np.array([t]))[0]
    vars(assembly)["imposed"] = lambda t: period_map.imposed_at(t / period, amplitude)
    return assembly


def _block_of(orbit: Orbit) -> Block:
    """The steps of an orbit as a `Block` for `LinearSteps`."""
    steps = orbit.steps
    assert steps is not None
    worn = np.zeros(steps.status.shape)
    return Block(
        n=0, u=orbit.u, v=orbit.v, multipliers=steps.multipliers, impulse=steps.impulse, status=steps.status,
        depth=worn, opening=worn, start=orbit.first,
    )  # fmt: skip


def _scheme_coefficients(scheme: Scheme, step: float) -> StepCoefficients | None:
    """Coefficients of a scheme with exact Jacobians; None for others and for central differences."""
    return None if isinstance(scheme, CentralDifference) else coefficients_of(scheme, step)


def locates(scheme: Scheme) -> bool:
    """Whether the scheme locates impacts in time."""
    return isinstance(scheme, Theta) and scheme.events == "locate"


def _check(assembly: Assembly, scheme: Scheme) -> None:
    """UserError if the system or the scheme has no period map."""
    coefficients = _scheme_coefficients(scheme, 1.0)
    if coefficients is not None and coefficients.shift and coefficients.gamma == 0.5:
        raise UserError.parameter(
            "scheme", scheme, "has accelerations that alternate without decay: take gamma > 1/2, or beta = gamma/2"
        )
    if coefficients is not None and (coefficients.shift or coefficients.averages) and assembly.imposed_dofs.size:
        raise UserError.parameter(
            "scheme", scheme, "carries forces or accelerations: given motions take Theta or Newmark()"
        )
    for part, assembled in zip(assembly.system.parts, assembly.parts, strict=True):
        if isinstance(assembled, PathDependent | Constrained) or (
            isinstance(assembled, Nonlinear) and not assembled.rotating
        ):
            raise UserError(f"part '{part.name}': periodic motions are of linear parts and of rigid ones of the plane")
    contact, laws = assembly.contact, assembly.laws
    for interface in contact.interfaces:
        if interface.wear is not None:
            raise UserError(f"interface '{interface.name}' wears: its motion does not repeat")
        bounces = any(isinstance(law, SetValuedLaw) and law.restitution > 0.0 for law in interface.laws)
        if bounces and not locates(scheme):
            raise UserError(
                f"interface '{interface.name}' has a restitution, and its motion jumps at impacts, which fall on whole "
                'steps: take Unilateral(level="gap"), a layer, or Theta(0.5, events="locate") with restitution=0'
            )
    if laws.has_elastic_stick and not (is_small(assembly) and contact.fixed):
        raise UserError("periodic motions take friction with a stiffness in small linear systems on fixed normals")
    if assembly.massless.any():
        raise UserError('periodic motions: a part has nodes without mass: take mass="consistent"')
