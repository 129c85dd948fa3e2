"""A scheme over levels that are switched during the run."""

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
from arlequin.multilevel.interface import Interface
from arlequin.multilevel.laws.wear import WearState
from arlequin.solvers.condensed import Checkpointable
from arlequin.step.batch import StepBatch
from arlequin.step.scheme import Restartable, Scheme, Stepper, time_errors
from arlequin.step.state import State
from arlequin.system.assembly import Assembly, assemble
from arlequin.system.levels import Levels, MovingPatch
from arlequin.system.same_data import same_data
from arlequin.system.system import System

Chosen = tuple[int, ...]  # the active level of each `Levels`

_RECENT, _RESTLESS = 8, 40  # so many switches within so many steps are told of


@dataclass(frozen=True)
class SwitchedState:
    """What a run with levels carries from step to step.

    own: what the scheme carries; chosen (l,): active levels; wanted (l,): steps at which a level as fine as the active
    one was last wanted; indicators (l,): last values; switches (l,): steps of the last switches of each; worn: depths,
    m, of the interfaces that wear and are not active, by their names.
    """

    own: Any
    chosen: Chosen
    wanted: tuple[int, ...]
    indicators: tuple[float, ...]
    switches: tuple[tuple[int, ...], ...]
    worn: tuple[tuple[str, Array], ...] = ()


class Configurations:
    """The systems of all choices of levels, each assembled and made ready once, when it is first asked for."""

    def __init__(self, system: System, scheme: Scheme, step: float) -> None:
        self.system, self.step = system, step
        self._scheme = scheme
        self._assemblies: dict[Chosen, Assembly] = {}
        self._steppers: dict[Chosen, Restartable] = {}
        self._transfers: dict[tuple[Chosen, Chosen], LevelTransfer] = {}

    @property
    def first(self) -> Chosen:
        """The levels at t = 0."""
        return tuple(own.start for own in self.system.levels)

    @cached_property
    def singles(self) -> tuple[Chosen, ...]:
        """The first choice, and those that differ from it in one level: between them all parts occur."""
        others = [
            (*self.first[:i], level, *self.first[i + 1 :])
            for i, own in enumerate(self.system.levels)
            if isinstance(own, Levels)
            for level in range(len(own.levels))
            if level != own.start
        ]
        return (self.first, *others)

    def assembly(self, chosen: Chosen) -> Assembly:
        """The assembled system of a choice."""
        if chosen not in self._assemblies:
            names = [own.name for own in self.system.levels]
            system = self.system.at(dict(zip(names, chosen, strict=True)))
            errors = time_errors(self._scheme, system, self.step)
            self._assemblies[chosen] = assemble(system, errors)
        return self._assemblies[chosen]

    def stepper(self, chosen: Chosen) -> Restartable:
        """The stepper of a choice; UserError where the scheme does not restart."""
        if chosen not in self._steppers:
            found = self._scheme.prepare(self.assembly(chosen), self.step)
            if not found.restarts:
                raise UserError.parameter(
                    "scheme",
                    self._scheme,
                    "does not switch levels: take Theta without located events, Newmark, CentralDifference, Static, …",
                )
            self._steppers[chosen] = cast(Restartable, found)
        return self._steppers[chosen]

    @property
    def steppers(self) -> dict[Chosen, Restartable]:
        """Those made so far."""
        return self._steppers

    def transfer(self, one: Chosen, other: Chosen) -> tuple[LevelTransfer | PatchTransfer, bool]:
        """The transfer from one choice to another that differs in one level, and whether it goes up."""
        (i,) = [i for i, (a, b) in enumerate(zip(one, other, strict=True)) if a != b]
        if isinstance(self.system.levels[i], MovingPatch):
            return PatchTransfer(self.assembly(one), self.assembly(other), self.system.levels[i].name), True
        upwards = other[i] > one[i]
        pair = (one, other) if upwards else (other, one)
        if pair not in self._transfers:
            levels = self.system.levels[i]
            coarse, fine = (self.assembly(chosen) for chosen in pair)
            self._transfers[pair] = LevelTransfer(coarse, fine, levels.name, self._references(pair, i))
        return self._transfers[pair], upwards

    def forget(self, but: set[Chosen]) -> None:
        """Drop all choices but some, and those at the start: of a patch that moves on."""
        kept = but | set(self.singles)
        for known in (self._assemblies, self._steppers):
            for chosen in [one for one in known if one not in kept]:
                del known[chosen]
        for pair in [one for one in self._transfers if not kept.issuperset(one)]:
            del self._transfers[pair]

    def _references(self, pair: tuple[Chosen, Chosen], index: int) -> tuple[Array, Array]:
        """Reference displacements (d,) of both choices; of a part that both have, that of the finer level."""
        levels = self.system.levels[index].samples
        coarse, fine = (dict(levels[chosen[index]].reference) for chosen in pair)
        out = []
        for chosen in pair:
            assembly = self.assembly(chosen)
            given = {name: u for name, u in (coarse | fine).items() if name in assembly.system.names}
            system = replace(assembly.system, displacement=given)
            free = [np.full(sum(item.dofs.size for item in own.imposed), np.nan) for own in assembly.parts]
            each = zip(assembly.system.parts, assembly.parts, free, strict=True)
            pieces = [own.coordinates(system.initial("displacement", part), values) for part, own, values in each]
            out.append(np.concatenate(pieces))
        return out[0], out[1]


class LevelStepper(Stepper):
    """Steps of the active levels, with the switches between them.

    At the start of a step each indicator is asked; a level that is finer comes at once, one that is coarser once it has
    been wanted throughout `hold`, and only where the indicator, asked there about the state as transferred, wants no
    finer one: otherwise the run stays where it is and nothing is changed. The works of the step include `switch`, the
    energy lost by the transfer: kinetic and stored energy before less that after it, and the work of the external
    forces on the change of the displacements (`external_work`).
    """

    def __init__(self, configurations: Configurations) -> None:
        self.step = configurations.step
        self._configurations = configurations
        self._levels = configurations.system.levels
        self._told: set[int] = set()  # of which frequent switches were warned
        for chosen in configurations.singles:
            configurations.stepper(chosen)
            if chosen != configurations.first:
                configurations.transfer(configurations.first, chosen)
        self.linear_solver = configurations.stepper(configurations.first).linear_solver
        self.fields_at_end = any(own.fields_at_end for own in configurations.steppers.values())

    def start(self, u: Array, v: Array) -> State:
        """The state at t = 0, at the first levels."""
        first = self._configurations.first
        state = self._configurations.stepper(first).start(u, v)
        count = len(self._levels)
        return replace(state, own=SwitchedState(state.own, first, (0,) * count, (np.nan,) * count, ((),) * count))

    def alike(self, state: State) -> State:
        """A state at rest of the form of another one's."""
        chosen = state.own.chosen
        none = np.zeros(self._configurations.assembly(chosen).dof_count)
        return replace(self._configurations.stepper(chosen).start(none, none), own=state.own)

    def state_dict(self) -> Any:
        """What the steppers of the levels keep."""
        each = self._configurations.steppers.items()
        return {chosen: own.state_dict() for chosen, own in each if isinstance(own, Checkpointable)}

    def load_state_dict(self, state: Any) -> None:
        """Restore from `state_dict()`."""
        for chosen, own in state.items():
            stepper = self._configurations.stepper(tuple(chosen))
            assert isinstance(stepper, Checkpointable)
            stepper.load_state_dict(own)

    def advance(self, state: State, count: int = 1) -> tuple[State, StepBatch]:
        """Up to `count` steps at the same levels, which are chosen before the first."""
        lost, pushed, n = 0.0, 0.0, state.n
        for i, own in enumerate(self._levels):
            if n == 0 or own.choose.next_look(n - 1, self.step) == n:
                state, more, work = self._choose(state, i)
                lost, pushed = lost + more, pushed + work
        carried = state.own
        count = min([count, *(own.choose.next_look(n, self.step) - n for own in self._levels)])
        end, batch = self._configurations.stepper(carried.chosen).advance(replace(state, own=carried.own), count)
        batch.work["switch"][0] += lost
        batch.work["external_work"][0] += pushed
        shape = (len(batch), 1)
        batch = replace(
            batch,
            levels=np.tile(np.array(carried.chosen, dtype=np.int64), shape),
            indicators=np.tile(np.array(carried.indicators), shape),
        )
        return replace(end, own=replace(carried, own=end.own)), batch

    def _choose(self, state: State, i: int) -> tuple[State, float, float]:
        """Ask one indicator; the state, at another level where it is due, and energy lost and work done by that."""
        carried, levels = state.own, self._levels[i]
        active = carried.chosen[i]
        wanted, value = levels.choose.indicate(self._view(state, i))
        latest = state.n if wanted >= active else carried.wanted[i]
        carried = replace(
            carried,
            wanted=_with(carried.wanted, i, latest),
            indicators=_with(carried.indicators, i, float(value)),
        )
        due = wanted > active or (wanted < active and (state.n - latest) * self.step >= levels.hold - 1e-9 * self.step)
        state = replace(state, own=carried)
        if not due:
            return state, 0.0, 0.0
        moved, lost, work = self._switched(state, i, wanted)
        if isinstance(levels, MovingPatch):
            self._configurations.forget({carried.chosen, moved.own.chosen})
            return moved, lost, work
        if wanted < active and levels.choose.indicate(self._view(moved, i))[0] > wanted:
            return state, 0.0, 0.0  # the coarser level would be left at once
        self._warn_of_restlessness(moved, i)
        return moved, lost, work

    def _warn_of_restlessness(self, state: State, i: int) -> None:
        """A `ModelWarning`, once, where levels come and go too often."""
        recent = state.own.switches[i]
        if (
            len(recent) < _RECENT
            or recent[-1] - recent[0] >= _RESTLESS * self._levels[i].choose.every
            or i in self._told
        ):
            return
        self._told.add(i)
        warn_user(
            f"levels '{self._levels[i].name}': {_RECENT} switches in {recent[-1] - recent[0]} steps until t = "
            f"{state.n * self.step:.4g} s: raise hold, or widen the range between the values at which levels come and "
            "go",
            ModelWarning,
        )

    def _view(self, state: State, i: int) -> LevelView:
        carried = state.own
        return LevelView(
            time=state.n * self.step,
            step=self.step,
            level=carried.chosen[i],
            count=len(self._levels[i].samples),
            state=state,
            assembly=self._configurations.assembly(carried.chosen),
            lost=partial(self._lost, state, i),
        )

    def _lost(self, state: State, i: int, level: int) -> float:
        """Energy that a switch would lose, J."""
        if level == state.own.chosen[i]:
            return 0.0
        return self._switched(state, i, level)[1]

    def _switched(self, state: State, i: int, level: int) -> tuple[State, float, float]:
        """The state at another level, the energy lost by the transfer and the work done by external forces, J."""
        carried, configurations, t = state.own, self._configurations, state.n * self.step
        before, after = carried.chosen, _with(carried.chosen, i, level)
        transfer, upwards = configurations.transfer(before, after)
        u, v = transfer.move(state.u, state.v, t, upwards)
        here, there = configurations.assembly(before), configurations.assembly(after)
        stepper = configurations.stepper(after)
        fresh = stepper.start(u, v, state.n, _memory(here, there, state))
        moved, worn = _carried(here, there, state, fresh)
        moved = stepper.continued(moved)
        lost = float(state.kinetic + state.strain + state.asperity) - moved.kinetic - moved.strain - moved.asperity
        work = float(there.load(t) @ moved.u - here.load(t) @ state.u)
        own = replace(
            carried,
            own=moved.own,
            chosen=after,
            wanted=_with(carried.wanted, i, state.n),
            switches=_with(carried.switches, i, (*carried.switches[i], state.n)[-_RECENT:]),
            worn=worn,
        )
        return replace(moved, own=own), lost + work, work


def _with(values: tuple[Any, ...], i: int, value: Any) -> tuple[Any, ...]:
    return (*values[:i], value, *values[i + 1 :])


def _memory(here: Assembly, there: Assembly, state: State) -> Any:
    """Internal variables of the parts that both have."""
    if not there.path_dependent:
        return None
    known = {id(part): own for part, own in zip(here.system.parts, state.memory, strict=True)}
    return tuple(known.get(id(part), own) for part, own in zip(there.system.parts, there.fresh(), strict=True))


def _carried(
    here: Assembly, there: Assembly, state: State, fresh: State
) -> tuple[State, tuple[tuple[str, Array], ...]]:
    """A fresh state with impulses, internal variables, statuses and wear of the interfaces that were there before,
    under their names or, on another model of the body, at the same places (`_former`).

    Also the depths that are worn off interfaces that are no longer there, by name.
    """
    laws = there.laws
    impulse, history = fresh.impulse.copy(), fresh.history.copy()
    lasts = np.zeros(laws.count, dtype=np.int8)
    depths, depth, opening = dict(state.own.worn), np.zeros(laws.count), np.zeros(laws.count)
    old, new = _points(here), _points(there)
    if state.worn is not None:
        depths |= {name: state.worn.depth[points] for name, points in old.items()}
    for name, points in new.items():
        if name in depths:
            depth[points] = depths.pop(name)
        former = _former(here, there, name)
        if former is not None:
            same, at = _common(here, there, former, name)
            before = np.arange(old[former].start, old[former].stop)[same]
            after = np.arange(points.start, points.stop)[at]
            if state.worn is not None:
                depth[after], opening[after] = state.worn.depth[before], state.worn.opening[before]
            impulse[laws.rows_of(after)] = state.impulse[here.laws.rows_of(before)]
            history[laws.histories_of(after)] = state.history[here.laws.histories_of(before)]
            if state.lasts is not None:
                lasts[after] = state.lasts[before]
    worn = WearState(depth, opening) if there.contact.wear_rate is not None else None
    place = there.contact.basis_product(fresh.u)
    kinematics = there.contact.kinematics(place, worn=None if worn is None else worn.reached)
    gaps = kinematics.gaps(place)
    if not there.contact.fixed:
        gaps = laws.layer_gaps(history, gaps)
    springs = laws.spring_traction(history, kinematics.tangents) if laws.has_elastic_stick else None
    asperity = float(laws.stored_energy(gaps, springs))
    moved = replace(fresh, impulse=impulse, history=history, lasts=lasts, worn=worn, asperity=asperity)
    return moved, tuple(depths.items())


def _former(here: Assembly, there: Assembly, name: str) -> str | None:
    """The interface before a switch that goes on as the one of this name after it: that of the name, or one that is
    gone, with the same laws against the same obstacle and points at the same places."""
    before, after = ({item.name: item for item in own.contact.interfaces} for own in (here, there))
    if name in before:
        return name

    def acting(item: Interface) -> Any:
        return item.normal, item.friction, item.wear, item.multiplier, item.sliding, item.direction

    own = after[name]
    for other in before.values():
        obstacles = not isinstance(own.master, Surface) and same_data(own.master, other.master)
        alike = other.name not in after and obstacles and same_data(acting(own), acting(other))
        if alike and _common(here, there, other.name, name)[0].size:
            return other.name
    return None


def _common(here: Assembly, there: Assembly, former: str, name: str) -> tuple[Indices, Indices]:
    """Points of an interface that both have, numbers in each: all on the same slave, those at the same place on another
    one, or on a patch that has moved."""
    sides = []
    for assembly, own in ((here, former), (there, name)):
        items = assembly.contact.interfaces
        i = next(i for i, item in enumerate(items) if item.name == own)
        sides.append((items[i].slave.part, assembly.contact.reference[i].positions))
    (part, before), (other, after) = sides
    every = np.arange(len(before))
    return (every, every) if part is other else common_places(before, after)


def _points(assembly: Assembly) -> dict[str, slice]:
    """Points of each interface, by its name."""
    bounds: Sequence[tuple[int, int]] = list(pairwise(assembly.contact.start.tolist()))
    each = zip(assembly.contact.interfaces, bounds, strict=True)
    return {item.name: slice(a, b) for item, (a, b) in each}
