"""Recorded series of solved steps, and their derivatives by differences of neighbouring steps."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
import xarray

from arlequin.energy import BulkWork, Forces, NormalImpulseSplit, Work, WorkPaths
from arlequin.linalg.products import applied
from arlequin.models.types import Array, Indices
from arlequin.multilevel.laws.wear import WearState
from arlequin.multilevel.solvers.elastic_stick import ElasticStick, gain
from arlequin.multilevel.solvers.law_tables import PointLaws
from arlequin.results.history import TimeSeries
from arlequin.results.recorder import Record, Recorder
from arlequin.results.variables import Key
from arlequin.run.audit import Audit
from arlequin.schemes.linear_audit import SolvedSteps, StepEnergies, audited, bulk_of
from arlequin.sensitivity.event import Event, PassedEvents
from arlequin.sensitivity.linear_steps import LinearSteps, TangentBlock
from arlequin.sensitivity.models_at import ModelDerivative, StudyModel
from arlequin.sensitivity.operators import StepOperators
from arlequin.sensitivity.step_equations import BulkEquations
from arlequin.sensitivity.trajectory import Block
from arlequin.step.batch import StepBatch
from arlequin.step.imposed import reaction
from arlequin.system.contact import Contact
from arlequin.system.contact_kinematics import ContactKinematics


class RecordedSteps:
    """Recorder of the solved steps of a model, block after block, as a run records them."""

    def __init__(self, equations: BulkEquations, record: Record) -> None:
        model, study = equations.model, equations.model.study
        self._equations = equations
        self._history = TimeSeries(model.assembly, study.step, study.steps, record, study.scheme.static, False, None)
        state = model.first
        self.previous = PreviousStep.first(model)
        self._audit = Audit(state.kinetic, *state.stored, ())
        start = StepBatch.initial(model.assembly, state, self._audit.start)
        self._history.add(start, self._audit.start[None], np.zeros(start.works.shape[:-1]))

    @property
    def history(self) -> TimeSeries:
        """The recorded time series."""
        return self._history

    def batch_of(self, block: Block, springs: Array, normal: Array) -> tuple[StepBatch, "PreviousStep"]:
        """The recorded batch of the next block, in the coordinates of the assembly, and the energies and forces of its
        last step; springs (b + 1, r + m), see `LinearSteps`; normal (b, 3, k): normal impulses of the laws, stored,
        dissipated and of multipliers, N·s."""
        if self._equations.form.static:
            return recorded_load_steps(self._equations, block, springs, normal, self.previous)
        if self._equations.form.staggered:
            return recorded_central_differences(self._equations, block, springs, normal, self.previous)
        return recorded_dynamics(self._equations, block, springs, normal, self.previous)

    def add(self, batch: StepBatch, last: "PreviousStep") -> None:
        """Append a batch to the series; last: see `batch_of`."""
        self.previous = last
        table, _ = self._audit.add(batch.works)
        self._history.add(batch, table, np.zeros(len(batch)))

    def take(self) -> tuple[tuple[Array, dict[Key, Array]], tuple[Array, dict[Key, Array]]]:
        """See `TimeSeries.take`."""
        return self._history.take()


@dataclass(frozen=True, eq=False)
class PreviousStep:
    """Energies and forces at the end of the last recorded step, from which works of the next follow: energy of the
    laws, J; averaged internal, damping and external forces (d,), N, see `StepCoefficients.averaged`; in statics forces
    of contact (r,) and of the imposed motions (d,), N."""

    asperity: float
    internal: Array
    damping: Array
    external: Array
    contact: Array | None = None
    reaction: Array | None = None

    @classmethod
    def before(cls, equations: BulkEquations, block: Block) -> "PreviousStep":
        """Energies and forces before the first step of a block of dynamics, with 0 for the energy of the laws."""
        if equations.form.carries:
            scheme_state = block.start.scheme_state
            return cls(0.0, scheme_state.internal, scheme_state.damping, scheme_state.external)
        ends, loads = equations.ends(block), equations.model.loads(block.n, len(block))
        return cls(0.0, ends.internal[0], ends.damping[0], loads[0])

    @classmethod
    def first(cls, model: StudyModel) -> "PreviousStep":
        """Energies and forces at t = 0."""
        assembly, state = model.assembly, model.first
        damping = np.zeros_like(state.v) if assembly.viscous is None else assembly.viscous @ state.v
        forces = (state.impulse, state.scheme_state.reaction) if model.study.scheme.static else (None, None)
        return cls(state.asperity, assembly.stiffness @ state.u, damping, assembly.load(0.0), *forces)


def recorded_dynamics(
    equations: BulkEquations, block: Block, springs: Array, normal: Array, previous: PreviousStep
) -> tuple[StepBatch, PreviousStep]:
    """See `RecordedSteps.batch_of`."""
    model, form, step = equations.model, equations.form, equations.step
    assembly, contact = model.assembly, model.assembly.contact
    u, v, du = block.u, block.v, np.diff(block.u, axis=0)
    ends = equations.ends(block)
    loads = form.averaged(model.loads(block.n, len(block)), previous.external)
    paths = WorkPaths.mean(du, 0.5 * step * (v[:-1] + v[1:]))
    start, impulses = (previous.internal, previous.damping), (block.multipliers, block.impulse)
    bulk, reactions, averages = bulk_of(assembly, form, ends, start, form.mean(loads), paths, impulses)
    kinematics = _kinematics(contact, block)
    zeros = np.zeros(len(block), dtype=np.int64)
    solved = SolvedSteps(
        u=u[1:], v=v[1:], gaps=kinematics.gaps(applied(contact.basis, u[1:])), multipliers=block.multipliers,
        impulse=block.impulse, normal=normal, status=block.status, iterations=zeros, residual=np.zeros(len(block)),
        newton=zeros, springs=_friction_springs(assembly.laws, springs),
    )  # fmt: skip
    strain = 0.5 * np.vecdot(u, ends.internal)
    histories = _histories(assembly.laws, springs)
    energies = StepEnergies(0.5 * np.vecdot(v[1:], ends.momentum[1:]), strain, previous.asperity, histories=histories)
    rows = WorkPaths.mean(applied(contact.basis, paths.du), applied(contact.basis, paths.path))
    scheme = block.n + 1, step, form.theta
    batch = audited(assembly, solved, bulk, energies, kinematics, rows, assembly.laws.gap_rows, scheme)
    batch = _with_wear(contact, block, batch)
    if assembly.imposed_dofs.size:
        batch = replace(batch, reactions=step * reactions[:, assembly.imposed_dofs])
    return batch, PreviousStep(float(batch.works[-1, 2]), *averages, loads[-1])


def recorded_load_steps(
    equations: BulkEquations, block: Block, springs: Array, normal: Array, previous: PreviousStep
) -> tuple[StepBatch, PreviousStep]:
    """See `RecordedSteps.batch_of`: works by the trapezoidal rule of the forces at both ends, as in `Static`."""
    model, assembly, contact = equations.model, equations.model.bulk, equations.model.bulk.contact
    laws, du, still = assembly.laws, np.diff(block.u, axis=0), np.zeros_like(block.u[1:])
    internal, loads = equations.ends(block).internal, model.loads(block.n, len(block))
    assert previous.contact is not None and previous.reaction is not None
    reactions = reaction(assembly, lambda: (internal - loads)[1:], (block.multipliers, block.impulse))
    forces = Forces(
        *map(_trapezoid, (internal, 0.0 * internal, loads, np.concatenate([previous.reaction[None], reactions])))
    )
    bulk = BulkWork.of(assembly, 1.0, forces, block.multipliers, WorkPaths.mean(du, du), still)
    kinematics = _kinematics(contact, block)
    mean = _trapezoid(np.concatenate([previous.contact[None], block.impulse]))
    zeros, rows = np.zeros((len(block), laws.count)), applied(contact.basis, du)
    lost = np.where(laws.with_memory, normal[:, 1], 0.0)  # by the path of the step, see `StaticStepper`
    normal_impulses = NormalImpulseSplit(mean, mean[:, kinematics.first], lost, zeros)
    spring_ends, loss = _friction_springs(laws, springs), None
    if spring_ends is not None:
        loss = ElasticStick(laws, *spring_ends, gain(laws, 1.0, np.inf)).loss(mean, rows, 1.0, 0.5)
    count = np.zeros(len(block), dtype=np.int64)
    solved = SolvedSteps(
        u=block.u[1:], v=still, gaps=kinematics.gaps(applied(contact.basis, block.u[1:])),
        multipliers=block.multipliers, impulse=block.impulse, normal=np.stack([zeros] * 3, axis=1), status=block.status,
        iterations=count, residual=np.zeros(len(block)), newton=count, springs=spring_ends,
    )  # fmt: skip
    strain, histories = 0.5 * np.vecdot(block.u, internal), _histories(laws, springs)
    energies = StepEnergies(np.zeros(len(block)), strain, previous.asperity, histories=histories)
    batch = audited(
        assembly, solved, bulk, energies, kinematics, WorkPaths.mean(rows, rows), laws.gap_rows,
        (block.n + 1, 1.0, 1.0),
        acting=(normal_impulses, loss),
    )  # fmt: skip
    batch = replace(_with_wear(contact, block, batch), reactions=reactions[:, assembly.imposed_dofs])
    last = PreviousStep(float(batch.works[-1, 2]), internal[-1], still[0], loads[-1], block.impulse[-1], reactions[-1])
    return batch, last


def recorded_central_differences(
    equations: BulkEquations, block: Block, springs: Array, normal: Array, previous: PreviousStep
) -> tuple[StepBatch, PreviousStep]:
    """See `RecordedSteps.batch_of`: with the velocities v̄ₙ = v_{n−½} + ½ Δt aₙ, and works as in `CentralStepper`."""
    model, step = equations.model, equations.step
    assembly, contact = model.assembly, model.assembly.contact
    u, half, laws, ends = block.u, block.v, assembly.laws, equations.ends(block)
    kinematics = _kinematics(contact, block)
    gaps = kinematics.gaps(applied(contact.basis, u[1:]))
    stored, histories = laws.area * laws.pressure(gaps), _histories(laws, springs)
    by_path = np.where(laws.with_memory, normal[:, 1], 0.0)
    if histories is not None:
        stored += laws.area * laws.memory_pressure(histories)
    external = model.loads(block.n, len(block))
    rows = np.zeros_like(block.impulse)
    rows[:, kinematics.first] = stored
    force = (external - ends.internal - ends.damping)[1:] + applied(sp.csr_array(contact.basis.T), rows)
    v = half[1:] + 0.5 * step * _accelerations(equations, block, force)
    du, centred_path = step * half[1:], 0.5 * step * (half[:-1] + half[1:])
    paths = WorkPaths(du, path=du, impulse=centred_path, stored=du, slip=centred_path)

    def balance() -> Array:
        return np.diff(ends.momentum, axis=0) / step + (ends.internal + ends.damping - external)[:-1]

    reactions = reaction(assembly, balance, (block.multipliers / step, block.impulse / step))
    internal, damping, loads = map(_trapezoid, (ends.internal, ends.damping, external))
    mean = Forces(internal, damping, loads, np.zeros_like(loads))
    bulk = BulkWork.of(assembly, step, mean, block.multipliers, paths, half[1:])
    zeros = np.zeros(len(block), dtype=np.int64)
    solved = SolvedSteps(
        u=u[1:], v=v, gaps=gaps, multipliers=block.multipliers, impulse=block.impulse, normal=normal,
        status=block.status, iterations=zeros, residual=np.zeros(len(block)), newton=zeros,
    )  # fmt: skip
    normal_impulses = NormalImpulseSplit(
        block.impulse, 0.5 * (normal[:, 0] - by_path + step * stored), normal[:, 1], normal[:, 2]
    )
    energies = StepEnergies(
        0.5 * np.vecdot(half[1:], ends.momentum[1:] + step * force),
        0.5 * np.vecdot(u, ends.internal),
        previous.asperity,
        histories=histories,
    )
    row_paths = paths.on(kinematics).with_potential(laws.rows_of_memory)
    batch = audited(
        assembly, solved, bulk, energies, kinematics, row_paths, laws.gap_rows, (block.n + 1, step, 0.0),
        acting=(normal_impulses, None),
    )  # fmt: skip
    batch.work["external_work"] += np.vecdot(reactions, centred_path)
    batch = replace(_with_wear(contact, block, batch), reactions=step * reactions[:, assembly.imposed_dofs])
    return batch, replace(previous, asperity=float(batch.works[-1, 2]))


def _friction_springs(laws: PointLaws, springs: Array) -> tuple[Array, Array] | None:
    """Spring tractions (b, r) of friction at both ends of steps, of `LinearSteps.springs`; None without."""
    ends = springs[:, : laws.row_count]
    return (ends[:-1], ends[1:]) if laws.has_elastic_stick else None


def _histories(laws: PointLaws, springs: Array) -> Array | None:
    """Histories (b, l, h) of the laws with a memory at the ends of steps; None without."""
    return laws.histories_of_memory(springs[1:, laws.row_count :]) if laws.memory else None


def _accelerations(equations: BulkEquations, block: Block, force: Array) -> Array:
    """Accelerations M⁻¹ F (b, d), m/s², at the ends of the steps of central differences, such that the velocities half
    a step later satisfy the constraints and the imposed motions."""
    model, step, half = equations.model, equations.step, block.v[1:]
    assembly, imposed = model.assembly, None
    if assembly.imposed_dofs.size:
        times = step * (block.n + 2.0 + np.arange(len(block)))
        motions = np.array([assembly.imposed(t) for t in times.tolist()])
        imposed = (equations.form.imposed(assembly, motions, block.u[1:], half) - half[:, assembly.imposed_dofs]) / step
    operators = StepOperators(equations)
    return operators.solve(force, -applied(assembly.constraints, half) / step, imposed)[0]


def _kinematics(contact: Contact, block: Block) -> ContactKinematics:
    """Contact kinematics of all steps of a block, with the wear before each."""
    kinematics = contact.kinematics(np.zeros(contact.basis.shape[0]))
    return kinematics if contact.wear_rate is None else kinematics.worn(WearState(block.depth, block.opening))


def _with_wear(contact: Contact, block: Block, batch: StepBatch) -> StepBatch:
    """The batch with the worn depth at the ends of the steps."""
    if contact.wear_rate is None:
        return batch
    return replace(batch, worn=block.depth + contact.wear_rate * batch.contact.friction_work_per_mu)


def _trapezoid(ends: Array) -> Array:
    """Means (b, …) of the values at both ends (b + 1, …)."""
    return 0.5 * (ends[:-1] + ends[1:])


class RecordedChanges:
    """Derivatives of the recorded series by a parameter p, by differences of the records of two runs at p ± δ, whose
    motions are extrapolated to first order.

    Slip lengths and losses have kinks that may lie between p − δ and p + δ: their derivatives, and those of the works
    of contact, are those of `ContactEquations.works` at the statuses of the run.
    """

    def __init__(self, base: StudyModel, derivative: ModelDerivative, record: Record) -> None:
        self._derivative, self._contact = derivative, base.assembly.contact
        self._pair = [RecordedSteps(BulkEquations(derivative.models[sign]), record) for sign in (1, -1)]

    def add(
        self, run_batch: StepBatch, linear: LinearSteps, normal: Array, tangents: TangentBlock, losses: "Losses", i: int
    ) -> None:
        """Append a block; run_batch: the record of the run; normal (b, 3, k): see `RecordedSteps.batch_of`; tangents:
        derivatives of the steps, of which i is this parameter; losses: by events."""
        derivative, contact, statuses = self._derivative, linear.contact, linear.statuses
        data, point_tangents = linear.point_tangents(derivative, tangents, i)
        normal_rates = contact.normal_parts_along(linear.motion, data, point_tangents)
        works = contact.works_along(linear.motion, data, point_tangents, statuses)
        friction_work_per_mu = contact.step * works["wear_power"]
        depth_rate = None
        if run_batch.worn is not None:
            depth_rate = (
                point_tangents.depth
                + data.wear * run_batch.contact.friction_work_per_mu
                + contact.data.wear * friction_work_per_mu
            )
        for sign, recorder in zip((1, -1), self._pair, strict=True):
            delta, model = sign * derivative.delta, derivative.models[sign]
            neighbour = _perturbed(linear.block, tangents, self._contact.laws.first[:-1], i, delta)
            springs = linear.springs + delta * tangents.springs[..., i]
            neighbour = replace(neighbour, u=model.to_assembly(neighbour.u), v=model.to_assembly(neighbour.v))
            batch, last = recorder.batch_of(neighbour, springs, normal + delta * normal_rates)
            amounts = replace(
                batch.contact,
                slip=run_batch.contact.slip + delta * works["slip"],
                friction_work_per_mu=run_batch.contact.friction_work_per_mu + delta * friction_work_per_mu,
            )
            work = Work(batch.works)
            kinds: tuple[str, ...] = ()  # in statics losses follow from both ends of a step, and are smooth
            if not linear.equations.form.static:
                kinds = "friction", "impact"
                amounts = replace(amounts, friction_loss=run_batch.contact.friction_loss + delta * works["friction"])
            for kind in kinds:  # their error in the energy balance goes to `scheme`
                work["scheme"] += work[kind]
                work[kind] = run_batch.work[kind] + delta * works[kind].sum(axis=1)
                work["scheme"] -= work[kind]
            if depth_rate is not None and run_batch.worn is not None:
                batch = replace(batch, worn=run_batch.worn + delta * depth_rate)
            recorder.add(losses.subtracted_from(replace(batch, contact=amounts), i, delta), last)

    def fixed(self) -> dict[Key, Array]:
        """Derivatives of the time-independent variables that depend on the parameter: positions, masses, areas."""
        high, low = (
            {
                (variable.group, variable.name): variable.data
                for variable in recorder.history.variables()
                if variable.static
            }
            for recorder in self._pair
        )
        derivatives = {}
        for key in high.keys() & low.keys():
            above, below = np.asarray(high[key]), np.asarray(low[key])
            if (
                above.dtype.kind == "f"
                and above.shape == below.shape
                and not np.array_equal(above, below, equal_nan=True)
            ):
                derivatives[key] = (above - below) / (2.0 * self._derivative.delta)
        return derivatives

    def take(self) -> Any:
        """See `TimeSeries.take`."""
        (high, low), width = [recorder.take() for recorder in self._pair], 2.0 * self._derivative.delta

        def change(i: int) -> tuple[Array, dict[Key, Array]]:
            """Derivatives of the values of all steps (0), or of the frames (1)."""
            time, values = high[i]
            return time, {key: (values[key] - low[i][1][key]) / width for key in values}

        return change(0), change(1)


def _perturbed(block: Block, tangents: TangentBlock, normal: Indices, i: int, delta: float) -> Block:
    """The steps after a change delta of parameter i, to first order; normal (k,): the normal row of each point."""
    return replace(
        block,
        u=block.u + delta * tangents.u[..., i],
        v=block.v + delta * tangents.v[..., i],
        multipliers=block.multipliers + delta * tangents.multipliers[..., i],
        impulse=block.impulse + delta * tangents.impulse[..., i],
        depth=block.depth + delta * tangents.depth[:-1, normal, i],
        opening=block.opening + delta * tangents.opening[:-1, normal, i],
    )


def _before_jump(tangents: TangentBlock, event: Event, delay: Array) -> TangentBlock:
    """Derivatives of the steps before the jump that an event with a delay (p,) makes in the state after the last
    step."""
    loss = event.state_loss
    ends = {
        "u": loss.fields[0], "v": loss.fields[1], "springs": loss.springs, "depth": loss.depth, "opening": loss.opening
    }  # fmt: skip
    fields = {name: getattr(tangents, name).copy() for name in ends}
    for name, change in ends.items():
        fields[name][-1] += np.multiply.outer(change, delay)
    return replace(tangents, **fields)


def _fields(batch: StepBatch) -> dict[str, Array]:
    """Recorded fields that depend on parameters, by name; those of contact are prefixed by a dot."""
    names = "u", "v", "works", "multipliers", "gaps", "worn", "spring_traction", "reactions"
    fields = {name: getattr(batch, name) for name in names if getattr(batch, name) is not None}
    return fields | {f".{name}": array for name, array in vars(batch.contact).items() if name != "status"}


@dataclass(frozen=True, eq=False)
class Losses:
    """Changes of the recorded fields around events per step of delay, with the derivatives (p,) of the delay, by the
    number n of the step end."""

    by_step: dict[int, list[tuple[dict[str, Array], Array]]]

    def add(self, event: Event, delay: Array, first: int) -> None:
        """first: the first step that is not recorded yet, to which losses of earlier steps are moved."""
        for share, n, run, shifted in event.shifts:
            run_fields, shifted_fields = (_fields(_recorded(linear)) for linear in (run, shifted))
            for j in range(len(run.block)):
                change = {name: share * (shifted_fields[name][j] - run_fields[name][j]) for name in run_fields}
                self.by_step.setdefault(max(n + j + 1, first), []).append((change, delay))

    def subtracted_from(self, batch: StepBatch, i: int, delta: float) -> StepBatch:
        """Recorded steps less the losses for a change delta of parameter i, to first order."""
        affected = [(at, self.by_step[n]) for at, n in enumerate(batch.n.tolist()) if n in self.by_step]
        if not affected:
            return batch
        fields = {name: array.copy() for name, array in _fields(batch).items()}
        for at, changes in affected:
            for change, delay in changes:
                for name, loss in change.items():
                    fields[name][at] -= delta * delay[i] * loss
        amounts: Any = {name[1:]: array for name, array in fields.items() if name.startswith(".")}
        others: Any = {name: array for name, array in fields.items() if not name.startswith(".")}
        return replace(batch, contact=replace(batch.contact, **amounts), **others)

    def forget(self, n: int) -> None:
        """Remove the losses of the steps up to n."""
        for at in [at for at in self.by_step if at <= n]:
            del self.by_step[at]


def _recorded(linear: LinearSteps) -> StepBatch:
    """The record of some steps, with 0 for the energy of the laws at their start."""
    normal = linear.contact.normal_parts(linear.motion)
    before = PreviousStep.before(linear.equations, linear.block)
    return recorded_dynamics(linear.equations, linear.block, linear.springs, normal, before)[0]


@dataclass(frozen=True, eq=False)
class RecordWithDerivatives:
    """The result of a run, and the derivatives of its variables by the name of each parameter."""

    result: xarray.DataTree
    derivatives: dict[str, xarray.DataTree]


class Recording:
    """Recorder of a run and its derivatives by several parameters."""

    def __init__(self, equations: BulkEquations, derivatives: Sequence[ModelDerivative], names: Sequence[str]) -> None:
        """equations: those of the run; names: of the parameters."""
        base = equations.model
        study, record = base.study, Record(None, fields_every=base.study.fields_every)
        self._run, self._names = RecordedSteps(equations, record), names
        self._changes = [RecordedChanges(base, derivative, record) for derivative in derivatives]
        self._losses = Losses({})
        history = self._run.history

        def recorder(attributes: dict[str, Any]) -> Recorder:
            variables = history.variables()
            return Recorder(record, variables, steps=study.steps, frames=history.frame_count, attributes=attributes)

        self._recorder = recorder({})
        self._derivative_recorders = [recorder({"derivative_by": name}) for name in names]
        self._append()

    def add(self, linear: LinearSteps, tangents: TangentBlock, passed: PassedEvents) -> None:
        """Append the steps of a block."""
        n, count = linear.block.n, len(linear.block)
        for event, delay in passed.delays:
            self._losses.add(event, delay, first=n + 1)
        cuts = sorted({0, count} | {event.due - n for event, _ in passed.jumps if event.due > n})
        for a, b in pairwise(cuts):
            part, part_tangents = (linear, tangents) if b - a == count else (linear.cut(a, b), tangents.cut(a, b))
            for event, delay in passed.jumps:
                if event.due == n + b:
                    part_tangents = _before_jump(part_tangents, event, delay)
            self._add(part, part_tangents)

    def _add(self, linear: LinearSteps, tangents: TangentBlock) -> None:
        """Append steps between two jumps of the derivatives."""
        normal = linear.contact.normal_parts(linear.motion)
        batch, last = self._run.batch_of(linear.block, linear.springs, normal)
        self._run.add(batch, last)
        for i, changes in enumerate(self._changes):
            changes.add(batch, linear, normal, tangents, self._losses, i)
        self._losses.forget(linear.block.n + len(linear.block))
        self._append()

    def _append(self) -> None:
        for recorder, series in zip(
            (self._recorder, *self._derivative_recorders),
            (self._run.take(), *(changes.take() for changes in self._changes)),
            strict=True,
        ):
            (time, values), (frame_time, frames) = series
            recorder.append(time, values)
            if frame_time.size:
                recorder.append_frames(frame_time, frames)

    def close(self) -> RecordWithDerivatives:
        """Close the recorders; the record of all steps."""
        derivatives = {
            name: _with_derivatives(recorder.close(), changes.fixed())
            for name, recorder, changes in zip(self._names, self._derivative_recorders, self._changes, strict=True)
        }
        return RecordWithDerivatives(self._recorder.close(), derivatives)


def _with_derivatives(result: xarray.DataTree, fixed: dict[Key, Array]) -> xarray.DataTree:
    """The recorded derivatives of variables over time, and those of time-independent variables; others are left out."""
    out = result.copy()
    for group in out.subtree:
        data, path = group.to_dataset(inherit=False), group.path.strip("/")
        variables: dict[Any, Any] = {
            key: variable for key, variable in data.data_vars.items() if variable.dims[:1] in (("time",), ("frame",))
        }
        for key, variable in data.variables.items():  # positions are coordinates
            if (path, str(key)) in fixed:
                variables[key] = variable.copy(data=fixed[path, str(key)])
        left_out = [key for key in data.variables if key in data.data_vars or key in variables]
        group.dataset = data.drop_vars(left_out).assign(variables)
    return out
