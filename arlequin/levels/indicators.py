"""Indicators that choose the active level of a body: by time, contact, energy, or a function of the state."""

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

_AT = 1e-9  # tolerance of times, relative to the step
_NEVER = 2**62


@dataclass(frozen=True)
class LevelView:
    """State at the end of a step, as passed to an indicator.

    time, s; step, s; level: the active one of `count`; lost: energy lost by a switch, see `lost_energy`.
    """

    time: float
    step: float
    level: int
    count: int
    state: State
    assembly: Assembly
    lost: Callable[[int], float]

    def displacement(self, part: str) -> Array:
        """Displacements (node, component) of a part, m, and rotations; UserError if it is not active."""
        return self._nodal(part)[0]

    def velocity(self, part: str) -> Array:
        """Velocities (node, component) of a part, m/s."""
        return self._nodal(part)[1]

    def _nodal(self, name: str) -> tuple[Array, Array]:
        names = self.assembly.system.names
        if name not in names:
            raise UserError.parameter("part", name, f"is not active; the active ones are {', '.join(names)}")
        i = names.index(name)
        at, part = self.assembly.places[i], self.assembly.system.parts[i]
        motion = self.assembly.parts[i].nodal_motion(self.state.u[None, at], self.state.v[None, at])
        u, v = (field.reshape(part.node_count, part.components) for field in motion)
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
    """Levels by time: {s: level}, each active from its time on. Recorded value: the level.

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
        """The level of the latest time that is reached."""
        past = [time for time in self.times if time <= state.time + _AT * state.step]
        level = self.times[max(past)] if past else state.level
        return level, float(level)

    def next_look(self, n: int, step: float) -> int:
        """The step at the start of which the next time is reached."""
        ahead = [int(np.ceil(time / step - _AT)) for time in self.times if time > (n + _AT) * step]
        return max(min(ahead, default=_NEVER), n + 1)


@checked_call
@dataclass(frozen=True)
class ContactIndicator(LevelIndicator):
    """The finest level while points of interfaces are in contact or close to it, else the coarsest.

    interfaces: names, of any level; inactive ones are ignored; gap, m: largest gap of close points; look_ahead, s: time
    over which gaps are extrapolated at their present rate; force, N: if positive, the criterion is a contact force
    above this value instead of the gap. Recorded value: the smallest gap expected within look_ahead, m. The hysteresis
    is `hold` of `Levels`.

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
        """The finest level in or close to contact, else 0, and the smallest expected gap, m."""
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
    """Levels by the energy lost in a switch, relative to the kinetic and stored energy.

    One level finer where the energy in the next finer one differs by more than `above`; one coarser where the next
    coarser one loses less than `below`. Each evaluation costs a transfer, hence every `every` steps. Recorded value:
    the relative energy.

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
        """The active level or the next finer or coarser one, and the relative energy."""
        total, level = max(state.energy(), 1e-300), state.level
        if level:
            down = abs(state.lost_energy(level - 1)) / total
            if down < self.below:
                return level - 1, down
            if level == state.count - 1:
                return level, down
        up = abs(state.lost_energy(level + 1)) / total
        return (level + 1 if up > self.above else level), up


@checked_call
@dataclass(frozen=True, repr=False)
class StateIndicator(LevelIndicator):
    """Levels by a function of the state: function(state) returns the level, or (level, recorded value).

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
        """The level and the recorded value that the function returns."""
        output = self.function(state)
        level, value = output if isinstance(output, tuple) and len(output) == 2 else (output, output)
        number = int(level) if isinstance(level, bool | np.bool_) else level
        return checks.integer("level from the function", number, 0, state.count - 1), checks.finite(
            "value from the function", value
        )
