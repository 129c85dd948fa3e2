"""What a run records of steps that are given: of solved ones, and of neighbouring ones."""

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
    """The series that a run of a model records of given steps; blocks one after the other."""

    def __init__(self, equations: BulkEquations, record: Record) -> None:
        model, study = equations.model, equations.model.study
        self._equations = equations
        self._history = TimeSeries(model.assembly, study.step, study.steps, record, study.scheme.static, False, None)
        state = model.first
        self.carried = Carried.first(model)
        self._audit = Audit(state.kinetic, *state.stored, ())
        start = StepBatch.initial(model.assembly, state, self._audit.start)
        self._history.add(start, self._audit.start[None], np.zeros(start.works.shape[:-1]))

    @property
    def history(self) -> TimeSeries:
        """The series, for their variables."""
        return self._history

    def solved(self, block: Block, springs: Array, normal: Array) -> tuple[StepBatch, "Carried"]:
        """What a run records of the steps of a block that follow, in the coordinates of the assembly, and what it
        carries along; springs (b + 1, r), Pa; normal (b, 3, k): normal impulses of the laws, stored, dissipated and of
        multipliers, N·s."""
        if self._equations.form.static:
            return recorded_load_steps(self._equations, block, springs, self.carried)
        if self._equations.form.staggered:
            return recorded_central_differences(self._equations, block, normal, self.carried)
        return recorded(self._equations, block, springs, normal, self.carried)

    def add(self, batch: StepBatch, carried: "Carried") -> None:
        """Records solved steps."""
        self.carried = carried
        table, _ = self._audit.add(batch.works)
        self._history.add(batch, table, np.zeros(len(batch)))

    def take(self) -> tuple[tuple[Array, dict[Key, Array]], tuple[Array, dict[Key, Array]]]:
        """See `TimeSeries.take`."""
        return self._history.take()


@dataclass(frozen=True, eq=False)
class Carried:
    """What the record of a step needs of those before: energy of the laws, J; what a scheme carries of the internal,
    damping and external forces (d,), N, see `StepCoefficients.averaged`; in statics forces of contact (r,) and of the
    imposed motions (d,), N."""

    asperity: float
    internal: Array
    damping: Array
    external: Array
    contact: Array | None = None
    reaction: Array | None = None

    @classmethod
    def before(cls, equations: BulkEquations, block: Block) -> "Carried":
        """Before the first step of a block of dynamics, but for the energy of the laws."""
        if equations.form.carries:
            own = block.start.own
            return cls(0.0, own.internal, own.damping, own.external)
        ends, loads = equations.ends(block), equations.model.loads(block.n, len(block))
        return cls(0.0, ends.internal[0], ends.damping[0], loads[0])

    @classmethod
    def first(cls, model: StudyModel) -> "Carried":
        """At t = 0."""
        assembly, state = model.assembly, model.first
        damping = np.zeros_like(state.v) if assembly.viscous is None else assembly.viscous @ state.v
        given = (state.impulse, state.own.reaction) if model.study.scheme.static else (None, None)
        return cls(state.asperity, assembly.stiffness @ state.u, damping, assembly.load(0.0), *given)


def recorded(
    equations: BulkEquations, block: Block, springs: Array, normal: Array, before: Carried
) -> tuple[StepBatch, Carried]:
    """See `RecordedSteps.solved`."""
    model, form, step = equations.model, equations.form, equations.step
    assembly, contact = model.assembly, model.assembly.contact
    u, v, du = block.u, block.v, np.diff(block.u, axis=0)
    ends = equations.ends(block)
    loads = form.averaged(model.loads(block.n, len(block)), before.external)
    paths = WorkPaths.mean(du, 0.5 * step * (v[:-1] + v[1:]))
    start, pulls = (before.internal, before.damping), (block.multipliers, block.impulse)
    bulk, given, averages = bulk_of(assembly, form, ends, start, form.mean(loads), paths, pulls)
    kinematics = _kinematics(contact, block)
    none = np.zeros(len(block), dtype=np.int64)
    solved = SolvedSteps(
        u=u[1:], v=v[1:], gaps=kinematics.gaps(applied(contact.basis, u[1:])), multipliers=block.multipliers,
        impulse=block.impulse, normal=normal, status=block.status, iterations=none, residual=np.zeros(len(block)),
        newton=none, springs=(springs[:-1], springs[1:]) if assembly.laws.has_elastic_stick else None,
    )  # fmt: skip
    strain = 0.5 * np.vecdot(u, ends.internal)
    energies = StepEnergies(0.5 * np.vecdot(v[1:], ends.momentum[1:]), strain, before.asperity)
    rows = WorkPaths.mean(applied(contact.basis, paths.du), applied(contact.basis, paths.path))
    scheme = block.n + 1, step, form.theta
    batch = audited(assembly, solved, bulk, energies, kinematics, rows, assembly.laws.gap_rows, scheme)
    batch = _with_wear(contact, block, batch)
    if assembly.imposed_dofs.size:
        batch = replace(batch, reactions=step * given[:, assembly.imposed_dofs])
    return batch, Carried(float(batch.works[-1, 2]), *averages, loads[-1])


def recorded_load_steps(
    equations: BulkEquations, block: Block, springs: Array, before: Carried
) -> tuple[StepBatch, Carried]:
    """See `RecordedSteps.solved`: works by the trapezoidal rule of the forces at both ends, as `Static` takes them."""
    model, assembly, contact = equations.model, equations.model.bulk, equations.model.bulk.contact
    laws, du, none = assembly.laws, np.diff(block.u, axis=0), np.zeros_like(block.u[1:])
    internal, loads = equations.ends(block).internal, model.loads(block.n, len(block))
    assert before.contact is not None and before.reaction is not None
    given = reaction(assembly, lambda: (internal - loads)[1:], (block.multipliers, block.impulse))
    forces = Forces(*map(_trapezoid, (internal, 0.0 * internal, loads, np.concatenate([before.reaction[None], given]))))
    bulk = BulkWork.of(assembly, 1.0, forces, block.multipliers, WorkPaths.mean(du, du), none)
    kinematics = _kinematics(contact, block)
    mean = _trapezoid(np.concatenate([before.contact[None], block.impulse]))
    still, rows = np.zeros((len(block), laws.count)), applied(contact.basis, du)
    acting = NormalImpulseSplit(mean, mean[:, kinematics.first], still, still)
    held, loss = None, None
    if laws.has_elastic_stick:
        held = springs[:-1], springs[1:]
        loss = ElasticStick(laws, *held, gain(laws, 1.0, np.inf)).loss(mean, rows, 1.0, 0.5)
    count = np.zeros(len(block), dtype=np.int64)
    solved = SolvedSteps(
        u=block.u[1:], v=none, gaps=kinematics.gaps(applied(contact.basis, block.u[1:])),
        multipliers=block.multipliers, impulse=block.impulse, normal=np.stack([still] * 3, axis=1), status=block.status,
        iterations=count, residual=np.zeros(len(block)), newton=count, springs=held,
    )  # fmt: skip
    energies = StepEnergies(np.zeros(len(block)), 0.5 * np.vecdot(block.u, internal), before.asperity)
    batch = audited(
        assembly, solved, bulk, energies, kinematics, WorkPaths.mean(rows, rows), laws.gap_rows,
        (block.n + 1, 1.0, 1.0),
        acting=(acting, loss),
    )  # fmt: skip
    batch = replace(_with_wear(contact, block, batch), reactions=given[:, assembly.imposed_dofs])
    last = Carried(float(batch.works[-1, 2]), internal[-1], none[0], loads[-1], block.impulse[-1], given[-1])
    return batch, last


def recorded_central_differences(
    equations: BulkEquations, block: Block, normal: Array, before: Carried
) -> tuple[StepBatch, Carried]:
    """See `RecordedSteps.solved`: with the velocities v̄ₙ = v_{n−½} + ½ Δt aₙ, and works as `CentralStepper` takes
    them."""
    model, step = equations.model, equations.step
    assembly, contact = model.assembly, model.assembly.contact
    u, half, laws, ends = block.u, block.v, assembly.laws, equations.ends(block)
    kinematics = _kinematics(contact, block)
    gaps = kinematics.gaps(applied(contact.basis, u[1:]))
    stored = laws.area * laws.pressure(gaps)
    external = model.loads(block.n, len(block))
    rows = np.zeros_like(block.impulse)
    rows[:, kinematics.first] = stored
    force = (external - ends.internal - ends.damping)[1:] + applied(sp.csr_array(contact.basis.T), rows)
    v = half[1:] + 0.5 * step * _accelerations(equations, block, force)
    du, driven = step * half[1:], 0.5 * step * (half[:-1] + half[1:])
    paths = WorkPaths(du, path=du, impulse=driven, stored=du, slip=driven)

    def balance() -> Array:
        return np.diff(ends.momentum, axis=0) / step + (ends.internal + ends.damping - external)[:-1]

    given = reaction(assembly, balance, (block.multipliers / step, block.impulse / step))
    internal, damping, loads = map(_trapezoid, (ends.internal, ends.damping, external))
    mean = Forces(internal, damping, loads, np.zeros_like(loads))
    bulk = BulkWork.of(assembly, step, mean, block.multipliers, paths, half[1:])
    none = np.zeros(len(block), dtype=np.int64)
    solved = SolvedSteps(
        u=u[1:], v=v, gaps=gaps, multipliers=block.multipliers, impulse=block.impulse, normal=normal,
        status=block.status, iterations=none, residual=np.zeros(len(block)), newton=none,
    )  # fmt: skip
    acting = NormalImpulseSplit(block.impulse, 0.5 * (normal[:, 0] + step * stored), normal[:, 1], normal[:, 2])
    energies = StepEnergies(
        0.5 * np.vecdot(half[1:], ends.momentum[1:] + step * force), 0.5 * np.vecdot(u, ends.internal), before.asperity
    )
    batch = audited(
        assembly, solved, bulk, energies, kinematics, paths.on(kinematics), laws.gap_rows, (block.n + 1, step, 0.0),
        acting=(acting, None),
    )  # fmt: skip
    batch.work["external_work"] += np.vecdot(given, driven)
    batch = replace(_with_wear(contact, block, batch), reactions=step * given[:, assembly.imposed_dofs])
    return batch, replace(before, asperity=float(batch.works[-1, 2]))


def _accelerations(equations: BulkEquations, block: Block, force: Array) -> Array:
    """M⁻¹ F (b, d), m/s², at the ends of the steps of central differences, with which velocities half a step later keep
    the constraints and the given motions."""
    model, step, half = equations.model, equations.step, block.v[1:]
    assembly, given = model.assembly, None
    if assembly.imposed_dofs.size:
        times = step * (block.n + 2.0 + np.arange(len(block)))
        after = np.array([assembly.imposed(t) for t in times.tolist()])
        given = (equations.form.imposed(assembly, after, block.u[1:], half) - half[:, assembly.imposed_dofs]) / step
    operators = StepOperators(equations)
    return operators.solve(force, -applied(assembly.constraints, half) / step, given)[0]


def _kinematics(contact: Contact, block: Block) -> ContactKinematics:
    """Of all steps of a block, with the wear before each."""
    found = contact.kinematics(np.zeros(contact.basis.shape[0]))
    return found if contact.wear_rate is None else found.worn(WearState(block.depth, block.opening))


def _with_wear(contact: Contact, block: Block, batch: StepBatch) -> StepBatch:
    """With the depth that is worn off at the ends of the steps."""
    if contact.wear_rate is None:
        return batch
    return replace(batch, worn=block.depth + contact.wear_rate * batch.contact.friction_work_per_mu)


def _trapezoid(ends: Array) -> Array:
    """Means (b, …) of the values at both ends (b + 1, …)."""
    return 0.5 * (ends[:-1] + ends[1:])


class RecordedChanges:
    """Derivatives of the series that a run records by a parameter, by differences of what two neighbouring runs
    record, which are given to first order.

    Amounts, as the length of a slip or a loss, have kinks that may lie between them: their derivatives, and so those of
    the works of contact, are those of `ContactEquations.works`, at the statuses of the run.
    """

    def __init__(self, base: StudyModel, derivative: ModelDerivative, record: Record) -> None:
        self._derivative, self._contact = derivative, base.assembly.contact
        self._pair = [RecordedSteps(BulkEquations(derivative.models[sign]), record) for sign in (1, -1)]

    def add(
        self, own: StepBatch, linear: LinearSteps, normal: Array, moved: TangentBlock, losses: "Losses", i: int
    ) -> None:
        """own: what the run records of the steps; normal (b, 3, k), see `RecordedSteps.solved`; moved: with the
        derivatives by the parameter, the i-th; losses: by events."""
        derivative, contact, statuses = self._derivative, linear.contact, linear.statuses
        data, along = linear.motion_by(derivative, moved, i)
        parts = contact.normal_parts_along(linear.motion, data, along)
        works = contact.works_along(linear.motion, data, along, statuses)
        rubbed = contact.step * works["wear_power"]
        worn = None
        if own.worn is not None:
            worn = along.depth + data.wear * own.contact.friction_work_per_mu + contact.data.wear * rubbed
        for sign, recorder in zip((1, -1), self._pair, strict=True):
            by, model = sign * derivative.pace, derivative.models[sign]
            near = _moved(linear.block, moved, self._contact.laws.first[:-1], i, by)
            springs = linear.springs + by * moved.springs[..., i]
            near = replace(near, u=model.own(near.u), v=model.own(near.v))
            batch, carried = recorder.solved(near, springs, normal + by * parts)
            amounts = replace(
                batch.contact,
                slip=own.contact.slip + by * works["slip"],
                friction_work_per_mu=own.contact.friction_work_per_mu + by * rubbed,
            )
            work = Work(batch.works)
            kinds: tuple[str, ...] = ()  # in statics losses are of both ends of a step, and smooth
            if not linear.equations.form.static:
                kinds = "friction", "impact"
                amounts = replace(amounts, friction_loss=own.contact.friction_loss + by * works["friction"])
            for kind in kinds:  # what the balance lacks by them is in `scheme`
                work["scheme"] += work[kind]
                work[kind] = own.work[kind] + by * works[kind].sum(axis=1)
                work["scheme"] -= work[kind]
            if worn is not None and own.worn is not None:
                batch = replace(batch, worn=own.worn + by * worn)
            recorder.add(losses.taken_from(replace(batch, contact=amounts), i, by), carried)

    def fixed(self) -> dict[Key, Array]:
        """Derivatives of the variables without time that depend on the parameter: positions, masses, areas."""
        high, low = (
            {(one.group, one.name): one.data for one in recorder.history.variables() if one.static}
            for recorder in self._pair
        )
        found = {}
        for key in high.keys() & low.keys():
            one, other = np.asarray(high[key]), np.asarray(low[key])
            if one.dtype.kind == "f" and one.shape == other.shape and not np.array_equal(one, other, equal_nan=True):
                found[key] = (one - other) / (2.0 * self._derivative.pace)
        return found

    def take(self) -> Any:
        """See `TimeSeries.take`."""
        (one, other), apart = [own.take() for own in self._pair], 2.0 * self._derivative.pace

        def change(place: int) -> tuple[Array, dict[Key, Array]]:
            """Of the values of all steps, or of the frames."""
            time, high = one[place]
            return time, {key: (high[key] - other[place][1][key]) / apart for key in high}

        return change(0), change(1)


def _moved(block: Block, moved: TangentBlock, normal: Indices, i: int, by: float) -> Block:
    """The steps at the change `by` of the parameter i, to first order; normal (k,): the normal row of each point."""
    return replace(
        block,
        u=block.u + by * moved.u[..., i],
        v=block.v + by * moved.v[..., i],
        multipliers=block.multipliers + by * moved.multipliers[..., i],
        impulse=block.impulse + by * moved.impulse[..., i],
        depth=block.depth + by * moved.depth[:-1, normal, i],
        opening=block.opening + by * moved.opening[:-1, normal, i],
    )


def _before_jump(moved: TangentBlock, event: Event, delay: Array) -> TangentBlock:
    """Without what an event with a delay (p,) changes of the state after the last step."""
    lost = event.moved
    ends = {
        "u": lost.fields[0], "v": lost.fields[1], "springs": lost.springs, "depth": lost.depth, "opening": lost.opening
    }  # fmt: skip
    found = {name: getattr(moved, name).copy() for name in ends}
    for name, own in ends.items():
        found[name][-1] += np.multiply.outer(own, delay)
    return replace(moved, **found)


def _fields(batch: StepBatch) -> dict[str, Array]:
    """What is recorded of steps and may change, by its name; that of contact with a point before it."""
    names = "u", "v", "works", "multipliers", "gaps", "worn", "spring_traction", "reactions"
    found = {name: getattr(batch, name) for name in names if getattr(batch, name) is not None}
    return found | {f".{name}": own for name, own in vars(batch.contact).items() if name != "status"}


@dataclass(frozen=True, eq=False)
class Losses:
    """What is recorded of the steps around events loses by their delays: of the step that ends at n the fields of
    `StepBatch`, with the derivatives (p,) of the delay."""

    of: dict[int, list[tuple[dict[str, Array], Array]]]

    def add(self, event: Event, delay: Array, first: int) -> None:
        """first: the first step that is not recorded yet, which takes what falls to those before."""
        for share, n, run, shifted in event.shifts:
            one, other = (_fields(_recorded(linear)) for linear in (run, shifted))
            for j in range(len(run.block)):
                change = {name: share * (other[name][j] - one[name][j]) for name in one}
                self.of.setdefault(max(n + j + 1, first), []).append((change, delay))

    def taken_from(self, batch: StepBatch, i: int, by: float) -> StepBatch:
        """Recorded steps at the change `by` of the parameter i, to first order."""
        here = [(at, self.of[n]) for at, n in enumerate(batch.n.tolist()) if n in self.of]
        if not here:
            return batch
        fields = {name: own.copy() for name, own in _fields(batch).items()}
        for at, losses in here:
            for change, delay in losses:
                for name, own in change.items():
                    fields[name][at] -= by * delay[i] * own
        amounts: Any = {name[1:]: own for name, own in fields.items() if name.startswith(".")}
        others: Any = {name: own for name, own in fields.items() if not name.startswith(".")}
        return replace(batch, contact=replace(batch.contact, **amounts), **others)

    def forget(self, n: int) -> None:
        """Those of the steps up to step n."""
        for at in [at for at in self.of if at <= n]:
            del self.of[at]


def _recorded(linear: LinearSteps) -> StepBatch:
    """What a run records of some steps, but for the energy of the laws at their start."""
    normal = linear.contact.normal_parts(linear.motion)
    before = Carried.before(linear.equations, linear.block)
    return recorded(linear.equations, linear.block, linear.springs, normal, before)[0]


@dataclass(frozen=True, eq=False)
class RecordWithDerivatives:
    """What a run records, and the derivatives of its variables by the name of each parameter."""

    result: xarray.DataTree
    derivatives: dict[str, xarray.DataTree]


class Recording:
    """The record of a run with its derivatives by some parameters, in the making."""

    def __init__(self, equations: BulkEquations, derivatives: Sequence[ModelDerivative], names: Sequence[str]) -> None:
        """equations: of the run."""
        base = equations.model
        study, record = base.study, Record(None, fields_every=base.study.fields_every)
        self._own, self._names = RecordedSteps(equations, record), names
        self._changes = [RecordedChanges(base, own, record) for own in derivatives]
        self._losses = Losses({})
        history = self._own.history

        def recorder(attributes: dict[str, Any]) -> Recorder:
            variables = history.variables()
            return Recorder(record, variables, steps=study.steps, frames=history.frame_count, attributes=attributes)

        self._recorder = recorder({})
        self._each = [recorder({"derivative_by": name}) for name in names]
        self._append()

    def add(self, linear: LinearSteps, moved: TangentBlock, passed: PassedEvents) -> None:
        """The steps of a block."""
        n, count = linear.block.n, len(linear.block)
        for event, delay in passed.delays:
            self._losses.add(event, delay, first=n + 1)
        cuts = sorted({0, count} | {event.due - n for event, _ in passed.jumps if event.due > n})
        for a, b in pairwise(cuts):
            here, there = (linear, moved) if b - a == count else (linear.cut(a, b), moved.cut(a, b))
            for event, delay in passed.jumps:
                if event.due == n + b:
                    there = _before_jump(there, event, delay)
            self._add(here, there)

    def _add(self, linear: LinearSteps, moved: TangentBlock) -> None:
        """Steps between two jumps of the derivatives."""
        normal = linear.contact.normal_parts(linear.motion)
        batch, carried = self._own.solved(linear.block, linear.springs, normal)
        self._own.add(batch, carried)
        for i, changes in enumerate(self._changes):
            changes.add(batch, linear, normal, moved, self._losses, i)
        self._losses.forget(linear.block.n + len(linear.block))
        self._append()

    def _append(self) -> None:
        for recorder, taken in zip(
            (self._recorder, *self._each), (self._own.take(), *(own.take() for own in self._changes)), strict=True
        ):
            (time, values), (frame_time, frames) = taken
            recorder.append(time, values)
            if frame_time.size:
                recorder.append_frames(frame_time, frames)

    def close(self) -> RecordWithDerivatives:
        """The record of all steps."""
        found = {
            name: _with_derivatives(recorder.close(), changes.fixed())
            for name, recorder, changes in zip(self._names, self._each, self._changes, strict=True)
        }
        return RecordWithDerivatives(self._recorder.close(), found)


def _with_derivatives(result: xarray.DataTree, fixed: dict[Key, Array]) -> xarray.DataTree:
    """The derivatives of the variables over time, as they were recorded, and of those without time; others left out."""
    out = result.copy()
    for group in out.subtree:
        data, path = group.to_dataset(inherit=False), group.path.strip("/")
        kept: dict[Any, Any] = {
            key: own for key, own in data.data_vars.items() if own.dims[:1] in (("time",), ("frame",))
        }
        for key, own in data.variables.items():  # positions are coordinates
            if (path, str(key)) in fixed:
                kept[key] = own.copy(data=fixed[path, str(key)])
        left_out = [key for key in data.variables if key in data.data_vars or key in kept]
        group.dataset = data.drop_vars(left_out).assign(kept)
    return out
