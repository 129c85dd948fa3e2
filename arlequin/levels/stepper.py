"""Time stepping with levels of resolution that are switched during the run."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, cast

import numpy as np

from arlequin.levels.indicators import LevelView
from arlequin.levels.patch import PatchTransfer, common_places
from arlequin.levels.transfer import LevelTransfer
from arlequin.models.errors import ModelWarning, UserError, warn_user
from arlequin.models.part import Surface
from arlequin.models.types import Array, Indices
from arlequin.multilevel.laws.wear import WearState
from arlequin.solvers.condensed import Checkpointable
from arlequin.step.batch import StepBatch
from arlequin.step.scheme import Restartable, Scheme, Stepper, time_errors
from arlequin.step.state import State
from arlequin.system.assembly import Assembly, assemble
from arlequin.system.levels import Levels, MovingPatch
from arlequin.system.same_data import same_data
from arlequin.system.system import System

LevelChoice = tuple[int, ...]  # the active level of each `Levels`

_FREQUENT_SWITCHES, _FREQUENT_STEPS = 8, 40  # switches within that many steps are warned of


@dataclass(frozen=True)
class SwitchedState:
    """State of a run with levels between two steps.

    scheme_state: of the scheme; chosen (l,): active levels; wanted (l,): steps at which a level at least as fine as the
    active one was last required; indicators (l,): last values; switches (l,): steps of the last switches of each; worn:
    wear depths, m, of interfaces that are not active, by name.
    """

    scheme_state: Any
    chosen: LevelChoice
    wanted: tuple[int, ...]
    indicators: tuple[float, ...]
    switches: tuple[tuple[int, ...], ...]
    worn: tuple[tuple[str, Array], ...] = ()


class Configurations:
    """Assemblies, steppers and transfers by choice of levels, created at first use."""

    def __init__(self, system: System, scheme: Scheme, step: float) -> None:
        self.system, self.step = system, step
        self._scheme = scheme
        self._assemblies: dict[LevelChoice, Assembly] = {}
        self._steppers: dict[LevelChoice, Restartable] = {}
        self._transfers: dict[tuple[LevelChoice, LevelChoice], LevelTransfer] = {}

    @property
    def first(self) -> LevelChoice:
        """The levels at t = 0."""
        return tuple(levels.start for levels in self.system.levels)

    @cached_property
    def singles(self) -> tuple[LevelChoice, ...]:
        """The initial choice and those that differ from it in one level: together they have all parts."""
        others = [
            (*self.first[:i], level, *self.first[i + 1 :])
            for i, levels in enumerate(self.system.levels)
            if isinstance(levels, Levels)
            for level in range(len(levels.levels))
            if level != levels.start
        ]
        return (self.first, *others)

    def assembly(self, choice: LevelChoice) -> Assembly:
        """The assembled system for a choice of levels."""
        if choice not in self._assemblies:
            names = [levels.name for levels in self.system.levels]
            system = self.system.at(dict(zip(names, choice, strict=True)))
            errors = time_errors(self._scheme, system, self.step)
            self._assemblies[choice] = assemble(system, errors)
        return self._assemblies[choice]

    def stepper(self, choice: LevelChoice) -> Restartable:
        """The stepper for a choice of levels; UserError if the scheme cannot restart."""
        if choice not in self._steppers:
            stepper = self._scheme.prepare(self.assembly(choice), self.step)
            if not stepper.restarts:
                raise UserError.parameter(
                    "scheme",
                    self._scheme,
                    "does not switch levels: take Theta without located events, Newmark, CentralDifference, Static, …",
                )
            self._steppers[choice] = cast(Restartable, stepper)
        return self._steppers[choice]

    @property
    def steppers(self) -> dict[LevelChoice, Restartable]:
        """Steppers created so far, by choice of levels."""
        return self._steppers

    def transfer(self, before: LevelChoice, after: LevelChoice) -> tuple[LevelTransfer | PatchTransfer, bool]:
        """The transfer between two choices that differ in one level, and whether it goes to the finer one."""
        (i,) = [i for i, (a, b) in enumerate(zip(before, after, strict=True)) if a != b]
        if isinstance(self.system.levels[i], MovingPatch):
            return PatchTransfer(self.assembly(before), self.assembly(after), self.system.levels[i].name), True
        upwards = after[i] > before[i]
        pair = (before, after) if upwards else (after, before)
        if pair not in self._transfers:
            levels = self.system.levels[i]
            coarse, fine = (self.assembly(choice) for choice in pair)
            self._transfers[pair] = LevelTransfer(coarse, fine, levels.name, self._references(pair, i))
        return self._transfers[pair], upwards

    def forget(self, but: set[LevelChoice]) -> None:
        """Drop all choices except some and the initial ones: earlier positions of a moving patch."""
        retained = but | set(self.singles)
        for cache in (self._assemblies, self._steppers):
            for outdated in [choice for choice in cache if choice not in retained]:
                del cache[outdated]
        for pair in [pair for pair in self._transfers if not retained.issuperset(pair)]:
            del self._transfers[pair]

    def _references(self, pair: tuple[LevelChoice, LevelChoice], index: int) -> tuple[Array, Array]:
        """Reference displacements (d,) of both choices; a part in both has that of the finer level."""
        levels = self.system.levels[index].samples
        coarse, fine = (dict(levels[choice[index]].reference) for choice in pair)
        out = []
        for choice in pair:
            assembly = self.assembly(choice)
            displacement = {name: u for name, u in (coarse | fine).items() if name in assembly.system.names}
            system = replace(assembly.system, displacement=displacement)
            free = [
                np.full(sum(imposed.dofs.size for imposed in assembled.imposed), np.nan) for assembled in assembly.parts
            ]
            initial_parts = zip(assembly.system.parts, assembly.parts, free, strict=True)
            pieces = [
                assembled.coordinates(system.initial("displacement", part), values)
                for part, assembled, values in initial_parts
            ]
            out.append(np.concatenate(pieces))
        return out[0], out[1]


class LevelStepper(Stepper):
    """Stepper of the active levels, with the switches between them.

    Each indicator is evaluated at the start of a step. A switch to a finer level is immediate; to a coarser one it
    requires that the indicator has chosen it throughout `hold` and chooses no finer one for the transferred state. The
    works of the step include `switch`, the energy lost by the transfer (kinetic and stored energy before less that
    after it), and the work of the external forces on the change of the displacements (`external_work`).
    """

    def __init__(self, configurations: Configurations) -> None:
        self.step = configurations.step
        self._configurations = configurations
        self._levels = configurations.system.levels
        self._warned: set[int] = set()  # of which frequent switches were warned
        for choice in configurations.singles:
            configurations.stepper(choice)
            if choice != configurations.first:
                configurations.transfer(configurations.first, choice)
        self.linear_solver = configurations.stepper(configurations.first).linear_solver
        self.fields_at_end = any(stepper.fields_at_end for stepper in configurations.steppers.values())

    def start(self, u: Array, v: Array) -> State:
        """The state at t = 0, at the initial levels."""
        first = self._configurations.first
        state = self._configurations.stepper(first).start(u, v)
        count = len(self._levels)
        return replace(
            state, scheme_state=SwitchedState(state.scheme_state, first, (0,) * count, (np.nan,) * count, ((),) * count)
        )

    def rest_state_like(self, state: State) -> State:
        """A state at rest with the shapes of another state."""
        choice = state.scheme_state.chosen
        zeros = np.zeros(self._configurations.assembly(choice).dof_count)
        return replace(self._configurations.stepper(choice).start(zeros, zeros), scheme_state=state.scheme_state)

    def state_dict(self) -> Any:
        """State of the steppers, by choice of levels."""
        steppers = self._configurations.steppers.items()
        return {choice: stepper.state_dict() for choice, stepper in steppers if isinstance(stepper, Checkpointable)}

    def load_state_dict(self, state: Any) -> None:
        """Restore from `state_dict()`."""
        for choice, stepper_state in state.items():
            stepper = self._configurations.stepper(tuple(choice))
            assert isinstance(stepper, Checkpointable)
            stepper.load_state_dict(stepper_state)

    def advance(self, state: State, count: int = 1) -> tuple[State, StepBatch]:
        """Up to `count` steps at the same levels, chosen before the first step."""
        switch_loss, external_work, n = 0.0, 0.0, state.n
        for i, levels in enumerate(self._levels):
            if n == 0 or levels.choose.next_look(n - 1, self.step) == n:
                state, loss, work = self._choose(state, i)
                switch_loss, external_work = switch_loss + loss, external_work + work
        level_state = state.scheme_state
        count = min([count, *(levels.choose.next_look(n, self.step) - n for levels in self._levels)])
        end, batch = self._configurations.stepper(level_state.chosen).advance(
            replace(state, scheme_state=level_state.scheme_state), count
        )
        batch.work["switch"][0] += switch_loss
        batch.work["external_work"][0] += external_work
        shape = (len(batch), 1)
        batch = replace(
            batch,
            levels=np.tile(np.array(level_state.chosen, dtype=np.int64), shape),
            indicators=np.tile(np.array(level_state.indicators), shape),
        )
        return replace(end, scheme_state=replace(level_state, scheme_state=end.scheme_state)), batch

    def _choose(self, state: State, i: int) -> tuple[State, float, float]:
        """Evaluate one indicator: the state, after a switch if one is due, and the energy lost and work done, J."""
        level_state, levels = state.scheme_state, self._levels[i]
        active = level_state.chosen[i]
        chosen_level, value = levels.choose.indicate(self._view(state, i))
        latest = state.n if chosen_level >= active else level_state.wanted[i]
        level_state = replace(
            level_state,
            wanted=_with(level_state.wanted, i, latest),
            indicators=_with(level_state.indicators, i, float(value)),
        )
        due = chosen_level > active or (
            chosen_level < active and (state.n - latest) * self.step >= levels.hold - 1e-9 * self.step
        )
        state = replace(state, scheme_state=level_state)
        if not due:
            return state, 0.0, 0.0
        switched, loss, work = self._switched(state, i, chosen_level)
        if isinstance(levels, MovingPatch):
            self._configurations.forget({level_state.chosen, switched.scheme_state.chosen})
            return switched, loss, work
        if chosen_level < active and levels.choose.indicate(self._view(switched, i))[0] > chosen_level:
            return state, 0.0, 0.0  # the coarser level would be switched off again at once
        self._warn_of_frequent_switches(switched, i)
        return switched, loss, work

    def _warn_of_frequent_switches(self, state: State, i: int) -> None:
        """Issue one `ModelWarning` where levels are switched too often."""
        recent = state.scheme_state.switches[i]
        if (
            len(recent) < _FREQUENT_SWITCHES
            or recent[-1] - recent[0] >= _FREQUENT_STEPS * self._levels[i].choose.every
            or i in self._warned
        ):
            return
        self._warned.add(i)
        warn_user(
            f"levels '{self._levels[i].name}': {_FREQUENT_SWITCHES} switches in {recent[-1] - recent[0]} steps until "
            f"t = {state.n * self.step:.4g} s: raise hold, or widen the range between the values at which levels are "
            "switched on and off",
            ModelWarning,
        )

    def _view(self, state: State, i: int) -> LevelView:
        level_state = state.scheme_state
        return LevelView(
            time=state.n * self.step,
            step=self.step,
            level=level_state.chosen[i],
            count=len(self._levels[i].samples),
            state=state,
            assembly=self._configurations.assembly(level_state.chosen),
            lost=partial(self._lost, state, i),
        )

    def _lost(self, state: State, i: int, level: int) -> float:
        """Energy that a switch would lose, J; 0 for the active level."""
        if level == state.scheme_state.chosen[i]:
            return 0.0
        return self._switched(state, i, level)[1]

    def _switched(self, state: State, i: int, level: int) -> tuple[State, float, float]:
        """The state at another level, the energy lost by the transfer and the work of external forces, J."""
        level_state, configurations, t = state.scheme_state, self._configurations, state.n * self.step
        before, after = level_state.chosen, _with(level_state.chosen, i, level)
        transfer, upwards = configurations.transfer(before, after)
        u, v = transfer.move(state.u, state.v, t, upwards)
        source, target = configurations.assembly(before), configurations.assembly(after)
        stepper = configurations.stepper(after)
        started = stepper.start(u, v, state.n, _memory(source, target, state))
        switched, worn = _transfer_contact(source, target, state, started)
        switched = stepper.continued(switched)
        loss = (
            float(state.kinetic + state.strain + state.asperity)
            - switched.kinetic
            - switched.strain
            - switched.asperity
        )
        work = float(target.load(t) @ switched.u - source.load(t) @ state.u)
        switched_levels = replace(
            level_state,
            scheme_state=switched.scheme_state,
            chosen=after,
            wanted=_with(level_state.wanted, i, state.n),
            switches=_with(level_state.switches, i, (*level_state.switches[i], state.n)[-_FREQUENT_SWITCHES:]),
            worn=worn,
        )
        return replace(switched, scheme_state=switched_levels), loss + work, work


def _with(values: tuple[Any, ...], i: int, value: Any) -> tuple[Any, ...]:
    return (*values[:i], value, *values[i + 1 :])


def _memory(source: Assembly, target: Assembly, state: State) -> Any:
    """Internal variables of the target's parts: those of the source where it has the part."""
    if not target.path_dependent:
        return None
    former = {id(part): variables for part, variables in zip(source.system.parts, state.memory, strict=True)}
    return tuple(
        former.get(id(part), variables) for part, variables in zip(target.system.parts, target.fresh(), strict=True)
    )


def _transfer_contact(
    source: Assembly, target: Assembly, state: State, started: State
) -> tuple[State, tuple[tuple[str, Array], ...]]:
    """The started state with impulses, internal variables, statuses and wear of the corresponding interfaces of the
    source (`_former_interface`).

    Also the wear depths of interfaces that the target does not have, by name.
    """
    laws = target.laws
    impulse, history = started.impulse.copy(), started.history.copy()
    persistent = np.zeros(laws.count, dtype=np.int8)
    depths, depth, opening = dict(state.scheme_state.worn), np.zeros(laws.count), np.zeros(laws.count)
    old, new = _points(source), _points(target)
    if state.worn is not None:
        depths |= {name: state.worn.depth[points] for name, points in old.items()}
    for name, points in new.items():
        if name in depths:
            depth[points] = depths.pop(name)
        former_name = _former_interface(source, target, name)
        if former_name is not None:
            same, at = _common_points(source, target, former_name, name)
            before = np.arange(old[former_name].start, old[former_name].stop)[same]
            after = np.arange(points.start, points.stop)[at]
            if state.worn is not None:
                depth[after], opening[after] = state.worn.depth[before], state.worn.opening[before]
            impulse[laws.rows_of(after)] = state.impulse[source.laws.rows_of(before)]
            history[laws.histories_of(after)] = state.history[source.laws.histories_of(before)]
            if state.contact_flags is not None:
                persistent[after] = state.contact_flags[before]
    worn = WearState(depth, opening) if target.contact.wear_rate is not None else None
    displacement = target.contact.basis_product(started.u)
    kinematics = target.contact.kinematics(displacement, worn=None if worn is None else worn.at_start())
    gaps = kinematics.gaps(displacement)
    if not target.contact.fixed:
        gaps = laws.layer_gaps(history, gaps)
    springs = laws.spring_traction(history, kinematics.tangents) if laws.has_elastic_stick else None
    asperity = float(laws.stored_energy(gaps, springs, history if laws.memory else None))
    transferred = replace(
        started, impulse=impulse, history=history, contact_flags=persistent, worn=worn, asperity=asperity
    )
    return transferred, tuple(depths.items())


def _former_interface(source: Assembly, target: Assembly, name: str) -> str | None:
    """Name of the source's interface that an interface of the target continues: the same name, or one only in the
    source with the same laws, the same obstacle and common points."""
    before, after = ({item.name: item for item in assembly.contact.items} for assembly in (source, target))
    if name in before:
        return name
    item = after[name]
    for other in before.values():
        obstacles = not isinstance(item.master, Surface) and same_data(item.master, other.master)
        equal = other.name not in after and obstacles and same_data(item.acting, other.acting)
        if equal and _common_points(source, target, other.name, name)[0].size:
            return other.name
    return None


def _common_points(source: Assembly, target: Assembly, former: str, name: str) -> tuple[Indices, Indices]:
    """Indices of common points of an interface before and after a switch: all if the slave part or all positions are
    the same (a spring has several points in one place), else those at equal positions."""
    sides = []
    for assembly, interface in ((source, former), (target, name)):
        items = assembly.contact.items
        i = next(i for i, item in enumerate(items) if item.name == interface)
        sides.append((items[i].slave.part, assembly.contact.reference[i].positions))
    (part, before), (other, after) = sides
    every = np.arange(len(before))
    return (every, every) if part is other or np.array_equal(before, after) else common_places(before, after)


def _points(assembly: Assembly) -> dict[str, slice]:
    """Range of points of each interface, by name."""
    bounds: Sequence[tuple[int, int]] = list(pairwise(assembly.contact.start.tolist()))
    each = zip(assembly.contact.items, bounds, strict=True)
    return {item.name: slice(a, b) for item, (a, b) in each}
