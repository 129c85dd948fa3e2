"""Adjoints: derivatives of one number of a run by many parameters, carried backwards through its steps."""

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
from arlequin.sensitivity.step_equations import BulkEquations, ByParameter
from arlequin.sensitivity.supported import derived
from arlequin.sensitivity.tangent import impulse_matrix
from arlequin.sensitivity.windows import Checkpoint, Finder, windows


@dataclass(frozen=True, eq=False)
class Multipliers:
    """Adjoints of the equations of b steps: of the b- and the c-equation (b, d), (b, m), of y on the imposed dofs
    (b, p), of F₁ (b, d), or (0, d), of E, s₁ and w (b, r)."""

    motion: Array
    constraints: Array
    imposed: Array
    bulk: Array
    contact: Array
    springs: Array
    worn: Array


_Passes = tuple[Callable[[slice], None], Callable[[], Multipliers]]  # of some steps, backwards, and what they found


class Adjoint:
    """The adjoints of a run's steps; delays: of the delays of events, by step and order; passed: the events with these,
    once they are complete."""

    def __init__(self, equations: BulkEquations, operators: StepOperators) -> None:
        """operators: shared by the adjoints of all responses."""
        self.model, self.equations, self.operators = equations.model, equations, operators
        assembly = equations.model.bulk
        none = np.zeros(assembly.laws.row_count)
        # of the fields (f, d), springs, depth and opening (r,) at the end of the steps still to be passed
        fields = np.zeros((equations.form.fields, assembly.dof_count))
        self.state = (fields, *(none.copy() for _ in range(3)))
        self.delays: dict[tuple[int, int], float] = {}
        self.passed: list[tuple[Event, float]] = []

    def steps(self, linear: LinearSteps, sources: Sources, events: Sequence[Event] = ()) -> Multipliers:
        """Passes the steps of a block backwards; events: those of the block and of the step before it, in their
        order."""
        block, count = linear.block, len(linear.block)
        small = self.model.bulk.dof_count <= DENSE
        pass_steps, finish = (self._small if small else self._large)(linear, sources)
        inside = {own for event in events for own in (event.n - block.n, event.due - block.n)}
        for first, last in reversed(list(pairwise(sorted({0, count} | {at for at in inside if 0 < at < count})))):
            self._meet(block.n, last, events, sources)
            pass_steps(slice(first, last))
        self._begin(block.n, events)
        fields, springs, *_ = self.state
        fields[0] += sources.u[0]
        fields[1] += sources.v[0]
        springs += sources.springs[0]
        return finish()

    def _meet(self, n: int, at: int, events: Sequence[Event], sources: Sources) -> None:
        """The events of the state before step `at` of a block from step n on, `Tangent` backwards: those of this step,
        unless it is of the next block, and those whose jump it has."""
        if at < len(sources.impulse):
            self._begin(n + at, events)
        fields, springs, depth, opening = (own.copy() for own in self.state)
        fields[0] += sources.u[at]
        fields[1] += sources.v[at]
        springs += sources.springs[at]
        depth += sources.depth[at - 1]
        passed = StepState(fields, springs, depth, opening)
        for event in events:
            if event.due == n + at:
                self.add_delay(event, -sum(float(np.vdot(a, b)) for a, b in zip(event.moved, passed, strict=True)))

    def _begin(self, n: int, events: Sequence[Event]) -> None:
        """The margins of the events of step n, which see the state before it and what those of the step before still
        change of it."""
        for event in events:
            if event.n == n:
                delay = self.delays.get((n, event.order), 0.0)
                self.passed.append((event, delay))
                for own, by in zip(self.state, event.by_state, strict=True):
                    own += delay * by
                for other in events:
                    if other.n < n < other.due:
                        seen = sum(float(np.vdot(a, b)) for a, b in zip(event.by_state, other.moved, strict=True))
                        self.add_delay(other, -seen * delay)

    def add_delay(self, event: Event, change: float) -> None:
        """To the adjoint of the delay of an event."""
        at = event.n, event.order
        self.delays[at] = self.delays.get(at, 0.0) + change

    def _small(self, linear: LinearSteps, sources: Sources) -> _Passes:
        """By dense operators, in a compiled loop."""
        from arlequin.sensitivity._adjoint_kernels import adjoint_steps

        count, d, r, form = len(linear.block), self.operators.count, self.operators.rows, self.equations.form
        forces = np.zeros((count if form.carries else 0, d))
        out = (np.zeros((count, d)), *(np.zeros((count, r)) for _ in range(3)), forces)
        tables = linear.tables
        given = (
            np.ascontiguousarray(sources.u[1:]), np.ascontiguousarray(sources.v[1:]), sources.impulse,
            np.ascontiguousarray(sources.springs[1:]), sources.depth, sources.rows_u, sources.rows_v,
            sources.depth_before, sources.opening_before,
        )  # fmt: skip

        def pass_steps(at: slice) -> None:
            adjoint_steps(
                (form.updates, *self.operators.dense), linear.rows_of_points, tuple(own[at] for own in tables.each),
                (tables.by_depth[at], tables.by_opening[at]), tuple(own[at] for own in given), self.state,
                tuple(own[at] for own in out), linear.contact.laws.has_elastic_stick,
            )  # fmt: skip

        def finish() -> Multipliers:
            y, contact, springs, worn, bulk = out
            motion, multipliers = self.operators.solve(y)
            imposed = self._imposed(y, motion, -multipliers)
            return Multipliers(motion, -multipliers, imposed, bulk, contact, springs, worn)

        return pass_steps, finish

    def _imposed(self, y: Array, motion: Array, constraints: Array) -> Array:
        """Of y on the imposed dofs (…, p), from those of y (…, d) and of the equations: with y = g there the other
        equations have −A g and −C g on their right-hand sides."""
        dofs, assembly = self.operators.imposed, self.model.bulk
        if not dofs.size:
            return np.zeros((*y.shape[:-1], 0))
        pulled = applied(self.equations.matrix, motion) + applied(sp.csr_array(assembly.constraints.T), constraints)
        return np.asarray((y - pulled)[..., dofs])

    def _large(self, linear: LinearSteps, sources: Sources) -> _Passes:
        """By solves with the factor."""
        equations, assembly, rows = self.equations, self.model.bulk, linear.rows_of_points
        condensed, form, dofs = equations.condensed, equations.form, self.operators.imposed
        basis, tables, r = assembly.contact.basis_product, linear.tables, self.operators.rows
        count, m, updates = len(linear.block), self.operators.multipliers, form.updates
        scaled, given = min(form.fields, 3), np.zeros(dofs.size) if dofs.size else None
        bulk = np.zeros((count if form.carries else 0, self.operators.count))
        out = Multipliers(
            np.zeros((count, self.operators.count)), np.zeros((count, m)), np.zeros((count, dofs.size)), bulk,
            *(np.zeros((count, r)) for _ in range(3)),
        )  # fmt: skip

        def pass_steps(part: slice) -> None:
            x, s, depth, opening = self.state
            for j in range(part.stop - 1, part.start - 1, -1):
                own = [table[j] for table in tables.each]
                x[0] += sources.u[j + 1]
                x[1] += sources.v[j + 1]
                s += sources.springs[j + 1]
                depth += sources.depth[j]
                worn = opening + depth
                impulse = sources.impulse[j] + _scattered(rows, own[12], worn)
                before = np.zeros_like(x)
                if form.carries:
                    bulk[j] = x[3]
                    for weight, at in ((1.0 - form.alpha_f, x), (form.alpha_f, before)):
                        pushed = -weight / form.inertia * x[3]
                        at[0] += assembly.stiffness @ pushed
                        if assembly.viscous is not None:
                            at[1] += assembly.viscous @ pushed
                    before[3] = updates[3, 3] * x[3]
                before[:scaled] += updates[:scaled, :scaled].T @ x[:scaled]
                rows_u = sources.rows_u[j] + _scattered(rows, own[7], s)
                rows_v = sources.rows_v[j] + _scattered(rows, own[8], s) + _scattered(rows, own[14], worn)
                impulse += _scattered(rows, own[5], s)
                by_rows = _scattered(rows, own[6], s) + _scattered(rows, own[13], worn)
                y = updates[:scaled, -1] @ x[:scaled] + basis.transposed(by_rows)
                free = condensed.predict(y, np.zeros(m), given)
                turned = self._turned(rows, own[0], own[1], impulse + form.impulse * free.contact)
                out.worn[j], out.springs[j], out.contact[j] = worn, s, -turned
                push = _scattered(rows, own[1], -turned)
                motion, multipliers = condensed.correct(free, push)
                y = y + basis.transposed(push)
                out.motion[j], out.constraints[j] = motion, -multipliers
                out.imposed[j] = self._imposed(y, motion, -multipliers)
                rows_u += _scattered(rows, own[2], -turned)
                rows_v += _scattered(rows, own[3], -turned)
                stiff = assembly.stiffness @ motion
                before[0] += basis.transposed(rows_u) - form.displacement * stiff
                rates = form.inertia * (assembly.mass @ motion)
                rates -= (1.0 - form.weight) * (assembly.constraints.T @ multipliers)
                if assembly.viscous is not None and form.velocity:
                    rates -= form.velocity * (assembly.viscous @ motion)
                before[1] += basis.transposed(rows_v) + rates
                if form.carries:
                    rows_l = _scattered(rows, own[11], s) + _scattered(rows, own[10], -turned)
                    before[2] += basis.transposed(rows_l) - form.lead * stiff
                    before[3] += form.on_force * motion
                before[:, dofs] += equations.imposed_by_state * out.imposed[j]
                x[:] = before
                s[:] = _scattered(rows, own[9], s) + _scattered(rows, own[4], -turned)
                depth += sources.depth_before[j] - tables.by_depth[j] * turned
                opening[:] = sources.opening_before[j] - tables.by_opening[j] * turned

        return pass_steps, lambda: out

    def _turned(self, rows: Indices, by_impulse: Array, by_y: Array, right: Array) -> Array:
        """(∂E/∂P + λμ ∂E/∂y W)⁻ᵀ of a right-hand side (r,)."""
        coupled, matrix = impulse_matrix(
            rows, by_impulse, by_y, self.operators.compliance, self.equations.form.impulse, right != 0.0
        )
        out = np.zeros_like(right)
        if coupled.size:
            out[coupled] = np.linalg.solve(matrix.T, right[coupled])
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
    """Values of responses of study(**at), their derivatives (response, parameter), the events that were passed, and the
    growth of small changes; find_events: see `arlequin.sensitivity.tangent_run.run_with_tangents`."""
    model, derivatives = derived(study, at, scales, wrt)
    equations = BulkEquations(model)
    operators = StepOperators(equations)
    adjoints = {name: Adjoint(equations, operators) for name in responses}
    steps, every = model.study.steps, model.study.fields_every
    kept: list[Checkpoint] = []
    passed_events: list[Event] = []
    growth = None if find_events is None else Growth(equations, operators)
    pieces: dict[str, list[Array]] = {name: [] for name in responses}
    # solves have few right-hand sides: more BLAS threads would only wait for each other
    with reporting(progress, "adjoint") as told, threadpool_limits(1, user_api="blas"):
        for window in windows(equations, operators, steps, find_events is not None):
            linear = window.own
            kept.append(window.checkpoint)
            events = [] if find_events is None else window.events(find_events, derivatives)
            passed_events += events
            if growth is not None:
                growth.add(linear, events)
            for name, response in responses.items():
                pieces[name].append(BlockResponse(response, linear).values())
            if told is not None:
                told((linear.block.n + len(linear.block)) // 2, steps)
        grown = 1.0 if growth is None else growth.checked()
        weighted = {name: SeriesWeights(own, steps, every) for name, own in responses.items()}
        series = {name: np.concatenate(own) for name, own in pieces.items()}
        values = [own.value(series[name]) for name, own in weighted.items()]
        gradient = np.zeros((len(responses), len(wrt)))
        for checkpoint in reversed(kept):
            linear = checkpoint.window(equations, operators).own
            block = linear.block
            end = block.n + len(block)
            numbers = np.arange(block.n + 1, end + 1)
            at_once = [equations.by_parameter(block, own) for own in derivatives]
            by_contact = [linear.by_parameter(own) for own in derivatives]
            events = [event for event in passed_events if event.n < end and event.due > block.n]
            for i, (name, response) in enumerate(responses.items()):
                here, adjoint = BlockResponse(response, linear), adjoints[name]
                for event in events:
                    if event.n >= block.n:
                        adjoint.add_delay(event, -event_loss(event, weighted[name], series[name]))
                local = weighted[name].of(numbers, here.values())
                passed = adjoint.steps(linear, here.sources(local), events)
                for k, own in enumerate(derivatives):
                    gradient[i, k] += here.by_parameter(local, own) + product(passed, at_once[k], by_contact[k])
            if told is not None:
                told(steps - block.n // 2, steps)
    for i, adjoint in enumerate(adjoints.values()):
        for k, own in enumerate(derivatives):
            gradient[i, k] += np.vdot(adjoint.state[0], own.start)
        for event, delay in adjoint.passed:
            gradient[i] += delay * event.by_parameter
    return values, gradient, [event for event in passed_events if event.bend is not None], grown


def product(passed: Multipliers, given: ByParameter, by_contact: tuple[Array, Array, Array]) -> float:
    """Σ of the adjoints times what a parameter alone changes."""
    pairs = [
        (passed.motion, given.right), (passed.constraints, given.missing), (passed.imposed, given.imposed),
        (passed.contact, by_contact[0]), (passed.springs, by_contact[1]), (passed.worn, by_contact[2]),
    ]  # fmt: skip
    if given.bulk is not None:
        pairs.append((passed.bulk, given.bulk))
    return float(sum(np.vdot(a, b) for a, b in pairs))


def _scattered(rows: Indices, table: Array, field: Array) -> Array:
    """The transpose of the coupling of the rows of each point: out[rows[i, b]] += table[i, b] field[i]."""
    out = np.zeros(field.size + 1)
    np.add.at(out, rows, table * field[:, None])
    return out[:-1]
