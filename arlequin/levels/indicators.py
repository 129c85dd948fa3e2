"""Indicators: which level of a piece of a body is active, by the time, contact, energy, or a function of the state."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from arlequin.models import checks
from arlequin.models.errors import UserError, short_repr
from arlequin.models.signatures import checked_call, takes
from arlequin.models.types import Array
from arlequin.step.state import State
from arlequin.system.assembly import Assembly
from arlequin.system.contact_kinematics import ContactKinematics
from arlequin.system.levels import LevelIndicator

_AT = 1e-9  # of a step, by which a time may be missed
_NEVER = 2**62


@dataclass(frozen=True)
class LevelView:
    """What an indicator sees: the state at the end of a step, while one level of several is active.

    time, s; step, s; level: the active one; lost: what the other levels would lose, see `lost_energy`.
    """

    time: float
    step: float
    level: int
    count: int
    state: State
    assembly: Assembly
    lost: Callable[[int], float]

    def displacement(self, part: str) -> Array:
        """Displacements (node, component) of a part, m, and rotations; UserError where it is not active."""
        return self._nodal(part)[0]

    def velocity(self, part: str) -> Array:
        """Velocities (node, component) of a part, m/s."""
        return self._nodal(part)[1]

    def _nodal(self, part: str) -> tuple[Array, Array]:
        names = self.assembly.system.names
        if part not in names:
            raise UserError.parameter("part", part, f"is not active; the active ones are {', '.join(names)}")
        i = names.index(part)
        at, own = self.assembly.places[i], self.assembly.system.parts[i]
        moved = self.assembly.parts[i].nodal_motion(self.state.u[None, at], self.state.v[None, at])
        u, v = (field.reshape(own.node_count, own.components) for field in moved)
        return u, v

    def has(self, interface: str) -> bool:
        """Whether an interface is active."""
        return interface in [item.name for item in self.assembly.contact.interfaces]

    def gap(self, interface: str) -> Array:
        """Gaps (k,) of an interface, m."""
        kinematics = self._kinematics
        return kinematics.gaps(kinematics.basis_product(self.state.u))[self._points(interface)]

    def rate(self, interface: str) -> Array:
        """Rates of the gaps (k,) of an interface, m/s."""
        kinematics = self._kinematics
        return np.asarray(kinematics.rates(self.state.v)[kinematics.first][self._points(interface)])

    def force(self, interface: str) -> Array:
        """Normal contact forces (k,) of an interface, N, means over the last step."""
        return self.state.impulse[self._kinematics.first][self._points(interface)] / self.step

    def energy(self) -> float:
        """Kinetic and stored energy of the system, J."""
        return float(self.state.kinetic + self.state.strain + self.state.asperity)

    def lost_energy(self, level: int) -> float:
        """Energy that the system would lose by a switch to another level now, J."""
        return self.lost(level)

    def _points(self, interface: str) -> slice:
        names = [item.name for item in self.assembly.contact.interfaces]
        if interface not in names:
            raise UserError.parameter("interface", interface, f"is not active; the active ones are {', '.join(names)}")
        i = names.index(interface)
        return slice(*self.assembly.contact.start[i : i + 2])

    @cached_property
    def _kinematics(self) -> ContactKinematics:
        contact = self.assembly.contact
        return contact.kinematics(contact.basis_product(self.state.u), worn=self.state.worn)


@checked_call
@dataclass(frozen=True)
class SwitchTimes(LevelIndicator):
    """Levels by the time: {s: level}, each from its time on; before the first the level stays. Recorded: the level.

    >>> import arlequin as aq
    >>> aq.levels.SwitchTimes({2.0: 1, 3.0: 0})  # fine from 2 s to 3 s
    SwitchTimes({2.0: 1, 3.0: 0})
    """

    times: Mapping[float, int]

    every = 1
    units = "1"  # of the recorded value

    def __post_init__(self) -> None:
        checks.instance("times", self.times, Mapping, "must map times, s, to levels, as {1.0: 1}")
        for time, level in self.times.items():
            checks.finite("time of a switch", time)
            checks.integer("level", level, 0)

    def __repr__(self) -> str:
        return f"SwitchTimes({dict(self.times)})"

    def indicate(self, state: LevelView) -> tuple[int, float]:
        """The level whose time came last."""
        past = [time for time in self.times if time <= state.time + _AT * state.step]
        level = self.times[max(past)] if past else state.level
        return level, float(level)

    def next_look(self, n: int, step: float) -> int:
        """The step at whose start the next time has come."""
        ahead = [int(np.ceil(time / step - _AT)) for time in self.times if time > (n + _AT) * step]
        return max(min(ahead, default=_NEVER), n + 1)


@checked_call
@dataclass(frozen=True)
class ContactIndicator(LevelIndicator):
    """The finest level while points of interfaces are in contact or come near it, else the coarsest.

    interfaces: of any level, those that are active count; gap, m: distance from which on they are near; look_ahead, s:
    time in which they would get there at their present rate; force, N: where it is given, points under more than this
    force count instead of near ones. Recorded: the least gap that is expected within look_ahead, m. The hysteresis is
    `hold` of `Levels`.

    >>> import arlequin as aq
    >>> aq.levels.ContactIndicator(["grid4_springs"], gap=2e-6, look_ahead=2e-4)  # m, s
    ContactIndicator(interfaces=['grid4_springs'], gap=2e-06, look_ahead=0.0002, force=0.0, every=1)
    """

    interfaces: Sequence[str]
    gap: float = 0.0
    look_ahead: float = 0.0
    force: float = 0.0
    every: int = 1

    units = "m"  # of the recorded value

    def __post_init__(self) -> None:
        checks.items("interfaces", self.interfaces, str, "must be a list of names of interfaces")
        if not self.interfaces:
            raise UserError("interfaces: needs at least one name of an interface")
        for name in ("gap", "look_ahead", "force"):
            checks.non_negative(name, getattr(self, name))
        checks.positive_integer("every", self.every)

    def indicate(self, state: LevelView) -> tuple[int, float]:
        """See the class."""
        least, pressed = np.inf, False
        for name in self.interfaces:
            if state.has(name):
                gap = state.gap(name)
                expected = gap + self.look_ahead * np.minimum(state.rate(name), 0.0)
                least = min(least, float(expected.min(initial=np.inf)))
                pressed = pressed or bool((state.force(name) > self.force).any())
        fine = pressed if self.force else least <= self.gap
        return (state.count - 1 if fine else 0), (least if np.isfinite(least) else np.nan)


@checked_call
@dataclass(frozen=True)
class ErrorIndicator(LevelIndicator):
    """By the energy that the levels differ by, over all kinetic and stored energy.

    One level finer where the next finer one would differ by more than `above`; one coarser where the next coarser one
    would lose less than `below`. Each decision costs a transfer: every so many steps. Recorded: that share.

    >>> import arlequin as aq
    >>> aq.levels.ErrorIndicator(above=1e-3, below=1e-4)
    ErrorIndicator(above=0.001, below=0.0001, every=10)
    """

    above: float
    below: float
    every: int = 10

    units = "1"  # of the recorded value

    def __post_init__(self) -> None:
        checks.positive("above", self.above)
        checks.positive("below", self.below)
        checks.positive_integer("every", self.every)
        if not self.below < self.above:
            raise UserError.parameter("below", self.below, f"must be less than above = {self.above:g}")

    def indicate(self, state: LevelView) -> tuple[int, float]:
        """See the class."""
        whole, level = max(state.energy(), 1e-300), state.level
        if level:
            down = abs(state.lost_energy(level - 1)) / whole
            if down < self.below:
                return level - 1, down
            if level == state.count - 1:
                return level, down
        up = abs(state.lost_energy(level + 1)) / whole
        return (level + 1 if up > self.above else level), up


@checked_call
@dataclass(frozen=True, repr=False)
class StateIndicator(LevelIndicator):
    """By a function of the state: function(state) gives the level, or (level, value that is recorded).

    state is a `LevelView`: time, level, displacement(part), velocity(part), gap(interface), rate(interface),
    force(interface), energy(). It must depend on the state alone.

    >>> import arlequin as aq
    >>> late = aq.levels.StateIndicator(lambda state: int(state.time > 0.5))
    """

    function: Callable[[Any], Any]
    every: int = 1

    units = "1"  # of the recorded value

    __repr__ = short_repr

    def __post_init__(self) -> None:
        takes("function", self.function, state="the state")
        checks.positive_integer("every", self.every)

    def indicate(self, state: LevelView) -> tuple[int, float]:
        """See the class."""
        found = self.function(state)
        level, value = found if isinstance(found, tuple) and len(found) == 2 else (found, found)
        plain = int(level) if isinstance(level, bool | np.bool_) else level
        return checks.integer("level from the function", plain, 0, state.count - 1), checks.finite(
            "value from the function", value
        )
