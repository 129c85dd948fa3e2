"""Adjoints: derivatives of one number of a run by many parameters, backwards in time."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from arlequin.linalg.products import applied
from arlequin.models.types import Array, Indices
from arlequin.run.progress import Progress, reporting
from arlequin.run.simulate import Study
from arlequin.sensitivity.event import Event, StepState
from arlequin.sensitivity.growth import Growth
from arlequin.sensitivity.linear_steps import LinearSteps
from arlequin.sensitivity.operators import DENSE, StepOperators
from arlequin.sensitivity.responses import BlockResponse, Response, SeriesWeights, Sources, event_loss
from arlequin.sensitivity.step_equations import BulkEquations, ParameterRhs
from arlequin.sensitivity.supported import derived
from arlequin.sensitivity.tangent import impulse_matrix
from arlequin.sensitivity.windows import Checkpoint, Finder, windows


@dataclass(frozen=True, eq=False)
class Multipliers:
    """Adjoints of the equations of b steps: of the b- and the c-equation (b, d), (b, m), of y on the imposed dofs
    (b, p), of F₁ (b, d), or (0, d), of E (b, r), s₁ (b, r + m) and w (b, r)."""

    motion: Array
    constraints: Array
    imposed: Array
    bulk: Array
    contact: Array
    springs: Array
    worn: Array


# passes a slice of steps backwards; returns the adjoints of all
_BackwardPass = tuple[Callable[[slice], None], Callable[[], Multipliers]]


class Adjoint:
    """Adjoints of the steps of a run; delays: adjoints of the delays of events, by step and order; passed: the events
    whose adjoints are complete, with these."""

    def __init__(self, equations: BulkEquations, operators: StepOperators) -> None:
        """operators: shared by the adjoints of all responses."""
        self.model, self.equations, self.operators = equations.model, equations, operators
        assembly = equations.model.bulk
        none = np.zeros(assembly.laws.row_count)
        # adjoints of the fields (f, d), springs (r + m,), depth and opening (r,) at the end of the remaining steps
        fields = np.zeros((equations.form.fields, assembly.dof_count))
        self.state = (fields, np.zeros(operators.internal), none, none.copy())
        self.delays: dict[tuple[int, int], float] = {}
        self.passed: list[tuple[Event, float]] = []

    def steps(self, linear: LinearSteps, sources: Sources, events: Sequence[Event] = ()) -> Multipliers:
        """Pass the steps of a block backwards; events: those of the block and of the step before it, in order."""
        block, count = linear.block, len(linear.block)
        small = self.model.bulk.dof_count <= DENSE
        pass_steps, finish = (self._dense_pass if small else self._factored_pass)(linear, sources)
        inside = {at for event in events for at in (event.n - block.n, event.due - block.n)}
        for first, last in reversed(list(pairwise(sorted({0, count} | {at for at in inside if 0 < at < count})))):
            self._apply_events(block.n, last, events, sources)
            pass_steps(slice(first, last))
        self._add_margins(block.n, events)
        fields, springs, *_ = self.state
        fields[0] += sources.u[0]
        fields[1] += sources.v[0]
        springs += sources.springs[0]
        return finish()

    def _apply_events(self, n: int, at: int, events: Sequence[Event], sources: Sources) -> None:
        """Transpose of `Tangent._apply_events` for the state before step `at` of a block from step n on: margins of the
        events of this step, unless it is of the next block, and jumps due before it."""
        if at < len(sources.impulse):
            self._add_margins(n + at, events)
        fields, springs, depth, opening = (field.copy() for field in self.state)
        fields[0] += sources.u[at]
        fields[1] += sources.v[at]
        springs += sources.springs[at]
        depth += sources.depth[at - 1]
        adjoint_state = StepState(fields, springs, depth, opening)
        for event in events:
            if event.due == n + at:
                self.add_delay(
                    event, -sum(float(np.vdot(a, b)) for a, b in zip(event.state_loss, adjoint_state, strict=True))
                )

    def _add_margins(self, n: int, events: Sequence[Event]) -> None:
        """Add the margins of the events of step n, functions of the state before it after the jumps that are still due
        of events of the step before."""
        for event in events:
            if event.n == n:
                delay = self.delays.get((n, event.order), 0.0)
                self.passed.append((event, delay))
                for field, gradient in zip(self.state, event.by_state, strict=True):
                    field += delay * gradient
                for other in events:
                    if other.n < n < other.due:
                        share = sum(float(np.vdot(a, b)) for a, b in zip(event.by_state, other.state_loss, strict=True))
                        self.add_delay(other, -share * delay)

    def add_delay(self, event: Event, change: float) -> None:
        """Add to the adjoint of the delay of an event."""
        at = event.n, event.order
        self.delays[at] = self.delays.get(at, 0.0) + change

    def _dense_pass(self, linear: LinearSteps, sources: Sources) -> _BackwardPass:
        """Backward pass by dense operators, in a compiled loop."""
        from arlequin.sensitivity._adjoint_kernels import adjoint_steps

        count, d, r, form = len(linear.block), self.operators.count, self.operators.rows, self.equations.form
        forces = np.zeros((count if form.carries else 0, d))
        out = (np.zeros((count, d)), *(np.zeros((count, n)) for n in (r, self.operators.internal, r)), forces)
        tables = linear.tables
        source_arrays = (
            np.ascontiguousarray(sources.u[1:]), np.ascontiguousarray(sources.v[1:]), sources.impulse,
            np.ascontiguousarray(sources.springs[1:]), sources.depth, sources.rows_u, sources.rows_v,
            sources.depth_before, sources.opening_before,
        )  # fmt: skip

        def pass_steps(at: slice) -> None:
            adjoint_steps(
                (form.updates, *self.operators.dense), linear.rows_of_points, tuple(array[at] for array in tables.each),
                (tables.by_depth[at], tables.by_opening[at]), tuple(array[at] for array in source_arrays), self.state,
                tuple(array[at] for array in out), linear.contact.laws.has_elastic_stick,
                (linear.memory_rows, tables.memory[at]),
            )  # fmt: skip

        def finish() -> Multipliers:
            y, contact, springs, worn, bulk = out
            motion, multipliers = self.operators.solve(y)
            imposed = self._imposed(y, motion, -multipliers)
            return Multipliers(motion, -multipliers, imposed, bulk, contact, springs, worn)

        return pass_steps, finish

    def _imposed(self, y: Array, motion: Array, constraints: Array) -> Array:
        """Adjoints of y on the imposed dofs (…, p), from those of y (…, d) and of the equations: with y = g there the
        other equations have −A g and −C g on their right-hand sides."""
        dofs, assembly = self.operators.imposed, self.model.bulk
        if not dofs.size:
            return np.zeros((*y.shape[:-1], 0))
        products = applied(self.equations.matrix, motion) + applied(sp.csr_array(assembly.constraints.T), constraints)
        return np.asarray((y - products)[..., dofs])

    def _factored_pass(self, linear: LinearSteps, sources: Sources) -> _BackwardPass:
        """Backward pass by solves with the factor."""
        equations, assembly, rows = self.equations, self.model.bulk, linear.rows_of_points
        condensed, form, dofs = equations.condensed, equations.form, self.operators.imposed
        basis, tables, r = assembly.contact.basis_product, linear.tables, self.operators.rows
        count, m, updates = len(linear.block), self.operators.multipliers, form.updates
        scaled, y_imposed = min(form.fields, 3), np.zeros(dofs.size) if dofs.size else None
        bulk = np.zeros((count if form.carries else 0, self.operators.count))
        out = Multipliers(
            np.zeros((count, self.operators.count)), np.zeros((count, m)), np.zeros((count, dofs.size)), bulk,
            *(np.zeros((count, n)) for n in (r, self.operators.internal, r)),
        )  # fmt: skip
        memory_rows = linear.memory_rows

        def pass_steps(at: slice) -> None:
            x, internal, depth, opening = self.state
            s, memory = internal[:r], internal[r:]
            for j in range(at.stop - 1, at.start - 1, -1):
                at_j = tables.of_step(j)
                x[0] += sources.u[j + 1]
                x[1] += sources.v[j + 1]
                internal += sources.springs[j + 1]
                depth += sources.depth[j]
                wear = opening + depth
                impulse = sources.impulse[j] + _scattered(rows, at_j.worn_by_impulse, wear)
                before = np.zeros_like(x)
                if form.carries:
                    bulk[j] = x[3]
                    for share, target in ((1.0 - form.alpha_f, x), (form.alpha_f, before)):
                        force = -share / form.inertia * x[3]
                        target[0] += assembly.stiffness @ force
                        if assembly.viscous is not None:
                            target[1] += assembly.viscous @ force
                    before[3] = updates[3, 3] * x[3]
                before[:scaled] += updates[:scaled, :scaled].T @ x[:scaled]
                rows_u = sources.rows_u[j] + _scattered(rows, at_j.spring_by_u, s)
                rows_v = (
                    sources.rows_v[j] + _scattered(rows, at_j.spring_by_v, s) + _scattered(rows, at_j.worn_by_v, wear)
                )
                impulse += _scattered(rows, at_j.spring_by_impulse, s)
                by_rows = _scattered(rows, at_j.spring_by_y, s) + _scattered(rows, at_j.worn_by_y, wear)
                rows_l, of_memory = _scattered(rows, at_j.spring_by_lead, s), at_j.memory
                for table, target in zip(of_memory[1:4], (by_rows, rows_u, rows_l), strict=True):
                    np.add.at(target, memory_rows, table * memory)
                y = updates[:scaled, -1] @ x[:scaled] + basis.transposed(by_rows)
                predictor = condensed.predict(y, np.zeros(m), y_imposed)
                solution = self._solve_impulses_transposed(
                    rows, at_j.by_impulse, at_j.by_y, impulse + form.impulse * predictor.contact
                )
                out.worn[j], out.springs[j], out.contact[j] = wear, internal, -solution
                reaction = _scattered(rows, at_j.by_y, -solution)
                motion, multipliers = condensed.correct(predictor, reaction)
                y = y + basis.transposed(reaction)
                out.motion[j], out.constraints[j] = motion, -multipliers
                out.imposed[j] = self._imposed(y, motion, -multipliers)
                rows_u += _scattered(rows, at_j.by_u, -solution)
                rows_v += _scattered(rows, at_j.by_v, -solution)
                stiff = assembly.stiffness @ motion
                before[0] += basis.transposed(rows_u) - form.displacement * stiff
                rates = form.inertia * (assembly.mass @ motion)
                rates -= (1.0 - form.weight) * (assembly.constraints.T @ multipliers)
                if assembly.viscous is not None and form.velocity:
                    rates -= form.velocity * (assembly.viscous @ motion)
                before[1] += basis.transposed(rows_v) + rates
                if form.carries:
                    rows_l += _scattered(rows, at_j.by_lead, -solution)
                    before[2] += basis.transposed(rows_l) - form.lead * stiff
                    before[3] += form.on_force * motion
                before[:, dofs] += equations.imposed_by_state * out.imposed[j]
                x[:] = before
                s[:] = _scattered(rows, at_j.spring_by_spring, s) + _scattered(rows, at_j.by_spring, -solution)
                memory[:] = of_memory[4] * memory - of_memory[0] * solution[memory_rows]
                depth += sources.depth_before[j] - at_j.by_depth * solution
                opening[:] = sources.opening_before[j] - at_j.by_opening * solution

        return pass_steps, lambda: out

    def _solve_impulses_transposed(self, rows: Indices, by_impulse: Array, by_y: Array, rhs: Array) -> Array:
        """(∂E/∂P + λμ ∂E/∂y W)⁻ᵀ of a right-hand side (r,)."""
        coupled, matrix = impulse_matrix(
            rows, by_impulse, by_y, self.operators.compliance, self.equations.form.impulse, rhs != 0.0
        )
        out = np.zeros_like(rhs)
        if coupled.size:
            out[coupled] = np.linalg.solve(matrix.T, rhs[coupled])
        return out


def run_with_adjoint(
    study: Callable[..., Study],
    at: Mapping[str, float],
    scales: Mapping[str, float],
    wrt: Sequence[str],
    responses: Mapping[str, Response],
    progress: Progress | bool | None = None,
    find_events: Finder | None = None,
) -> tuple[list[float], Array, list[Event], float]:
    """Values of responses of study(**at), their derivatives (response, parameter), the events of the run, and the
    growth of small changes; find_events: see `arlequin.sensitivity.tangent_run.run_with_tangents`."""
    model, derivatives = derived(study, at, scales, wrt)
    equations = BulkEquations(model)
    operators = StepOperators(equations)
    adjoints = {name: Adjoint(equations, operators) for name in responses}
    steps, every = model.study.steps, model.study.fields_every
    checkpoints: list[Checkpoint] = []
    passed_events: list[Event] = []
    growth = None if find_events is None else Growth(equations, operators)
    pieces: dict[str, list[Array]] = {name: [] for name in responses}
    # solves have few right-hand sides: more BLAS threads would only wait for each other
    with reporting(progress, "adjoint") as report, threadpool_limits(1, user_api="blas"):
        for window in windows(equations, operators, steps, find_events is not None):
            linear = window.steps
            checkpoints.append(window.checkpoint)
            events = [] if find_events is None else window.events(find_events, derivatives)
            passed_events += events
            if growth is not None:
                growth.add(linear, events)
            for name, response in responses.items():
                pieces[name].append(BlockResponse(response, linear).values())
            if report is not None:
                report((linear.block.n + len(linear.block)) // 2, steps)
        measured_growth = 1.0 if growth is None else growth.checked()
        weighted = {name: SeriesWeights(response, steps, every) for name, response in responses.items()}
        series = {name: np.concatenate(blocks) for name, blocks in pieces.items()}
        values = [weights.value(series[name]) for name, weights in weighted.items()]
        gradient = np.zeros((len(responses), len(wrt)))
        for checkpoint in reversed(checkpoints):
            linear = checkpoint.window(equations, operators).steps
            block = linear.block
            end = block.n + len(block)
            numbers = np.arange(block.n + 1, end + 1)
            rhs = [equations.by_parameter(block, derivative) for derivative in derivatives]
            by_contact = [linear.by_parameter(derivative) for derivative in derivatives]
            events = [event for event in passed_events if event.n < end and event.due > block.n]
            for i, (name, response) in enumerate(responses.items()):
                block_response, adjoint = BlockResponse(response, linear), adjoints[name]
                for event in events:
                    if event.n >= block.n:
                        adjoint.add_delay(event, -event_loss(event, weighted[name], series[name]))
                local = weighted[name].of(numbers, block_response.values())
                multipliers = adjoint.steps(linear, block_response.sources(local), events)
                for k, derivative in enumerate(derivatives):
                    gradient[i, k] += block_response.by_parameter(local, derivative) + product(
                        multipliers, rhs[k], by_contact[k]
                    )
            if report is not None:
                report(steps - block.n // 2, steps)
    for i, adjoint in enumerate(adjoints.values()):
        for k, derivative in enumerate(derivatives):
            gradient[i, k] += np.vdot(adjoint.state[0], derivative.start)
        for event, delay in adjoint.passed:
            gradient[i] += delay * event.by_parameter
    return values, gradient, [event for event in passed_events if event.bend is not None], measured_growth


def product(multipliers: Multipliers, rhs: ParameterRhs, by_contact: tuple[Array, Array, Array]) -> float:
    """Σ of the adjoints times the derivatives of the equations by a parameter at fixed motion."""
    pairs = [
        (multipliers.motion, rhs.b), (multipliers.constraints, rhs.c), (multipliers.imposed, rhs.imposed),
        (multipliers.contact, by_contact[0]), (multipliers.springs, by_contact[1]), (multipliers.worn, by_contact[2]),
    ]  # fmt: skip
    if rhs.bulk is not None:
        pairs.append((multipliers.bulk, rhs.bulk))
    return float(sum(np.vdot(a, b) for a, b in pairs))


def _scattered(rows: Indices, table: Array, field: Array) -> Array:
    """The transpose of the coupling of the rows of each point: out[rows[i, b]] += table[i, b] field[i]."""
    out = np.zeros(field.size + 1)
    np.add.at(out, rows, table * field[:, None])
    return out[:-1]
