"""Levels: alternative models of one piece of a body, of which one is active at a time."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

from arlequin.junctions.base import JunctionProtocol
from arlequin.models import checks
from arlequin.models.errors import UserError, UserTypeError, short_repr
from arlequin.models.lumped.relations import Relation
from arlequin.models.lumped.springs import Spring
from arlequin.models.part import Part
from arlequin.models.signatures import checked_call, takes
from arlequin.multilevel.interface import Interface

_AWAY = 0.6  # distance in pitches, above which the patch moves
ITEMS = "parts", "junctions", "interfaces", "springs", "relations"


@runtime_checkable
class LevelIndicator(Protocol):
    """Indicator of the active level.

    every: steps between two decisions; subclasses may decide at other steps (`next_look`). A decision depends on the
    state alone, so that a resumed run makes the same decisions. units: of the recorded value.
    """

    @property
    def every(self) -> int: ...

    @property
    def units(self) -> str: ...

    def indicate(self, state: Any) -> tuple[int, float]:
        """The level for a `LevelView` of the state, and the value recorded with the decision."""
        ...

    def next_look(self, n: int, step: float) -> int:
        """The next step of size `step`, s, after the step n, at whose start a decision is made."""
        return n + self.every - n % self.every


@checked_call
@dataclass(frozen=True, eq=False)
class Level:
    """One model of a piece of a body: its parts, and their connections with each other and with the other parts.

    reference: displacements (node, component) of parts, m, by their names, in a state common to the levels (a
    preload): the difference from it is transferred. Parts common to both levels may be named too. Parts without a
    counterpart in the other level (supports) start from it, at rest.
    """

    parts: Sequence[Part]
    junctions: Sequence[JunctionProtocol] = field(default=(), kw_only=True)
    interfaces: Sequence[Interface] = field(default=(), kw_only=True)
    springs: Sequence[Spring] = field(default=(), kw_only=True)
    relations: Sequence[Relation] = field(default=(), kw_only=True)
    reference: Mapping[str, Any] = field(default_factory=dict, kw_only=True)

    __repr__ = short_repr

    def __post_init__(self) -> None:
        for what in ITEMS:
            for item in checks.items(what, getattr(self, what), object, f"must be a list of {what}"):
                if not isinstance(getattr(item, "name", None), str):
                    raise UserTypeError.parameter(what, item, f"must be a list of {what}")
        checks.mapping("reference", self.reference, "must map names of parts to displacements")


@checked_call
@dataclass(frozen=True, eq=False)
class Levels:
    """Alternative models of one piece of a body, the coarse ones first, of which one is active at a time.

    choose: indicator of the level, see `SwitchTimes`, `ContactIndicator`, `ErrorIndicator`, `StateIndicator`. hold, s:
    time for which a coarser level must be indicated before the switch, which is made if the indicator does not require
    a finer level for the transferred state. start: the level at t = 0.

    At a switch the motion is transferred (`arlequin.levels.transfer`) with conserved momenta; the change of the energy
    is the column `switch` of the energies.

    >>> import arlequin as aq
    >>> steel = aq.LinearElastic(young=2e11, poisson=0.3, density=7800)  # Pa, -, kg/m³
    >>> coarse, fine = (aq.Bar(name, aq.mesh.interval(0.0, 1.0, n), steel) for name, n in (("coarse", 4), ("fine", 8)))
    >>> switch = aq.levels.SwitchTimes({5e-5: 1})  # s: level
    >>> bar = aq.Levels("bar", [aq.levels.Level([coarse]), aq.levels.Level([fine])], switch)
    >>> system = aq.System([], levels=[bar], velocity=3.0)  # m/s
    >>> result = aq.simulate(system, aq.Theta(0.5), duration=1e-4, step=1e-5)
    >>> result["levels/bar"]["level"].values.astype(int).tolist()
    [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1]
    >>> round(float(result["part/fine"]["momentum"][-1, 0]))  # ρ A L v, kg m/s
    23400
    """

    name: str
    levels: Sequence[Level]
    choose: LevelIndicator
    start: int = 0
    hold: float = 0.0

    __repr__ = short_repr

    def __post_init__(self) -> None:
        checks.valid_name(self.name, "name of levels")
        checks.items("levels", self.levels, Level, "must be a list of Level([part, …])")
        if len(self.levels) < 2:
            raise UserError(f"levels '{self.name}': needs at least two levels")
        checks.integer("start", self.start, 0, len(self.levels) - 1)
        checks.non_negative("hold", self.hold)
        if isinstance(self.choose, type) or not isinstance(self.choose, LevelIndicator):
            raise UserTypeError.parameter("choose", self.choose, "must be an indicator, as SwitchTimes({1.0: 1})")
        for level in getattr(self.choose, "times", {}).values():
            checks.integer("level of SwitchTimes", level, 0, len(self.levels) - 1)
        for kind in ITEMS:
            names = [item.name for level in self.levels for item in getattr(level, kind)]
            duplicates = {name for name in names if names.count(name) > 1}
            if duplicates:
                raise UserError(
                    f"levels '{self.name}': {kind} named '{sorted(duplicates)[0]}' stand in several levels: names must "
                    "differ"
                )

    @property
    def samples(self) -> Sequence[Level]:
        """Levels that together contain all parts."""
        return self.levels

    def level(self, number: int) -> Level:
        """The level of a number; UserError where it does not exist."""
        return self.levels[checks.integer(f"level of '{self.name}'", number, 0, len(self.levels) - 1)]


@checked_call
@dataclass(frozen=True, eq=False)
class MovingPatch(LevelIndicator):
    """A fine patch that follows a point through a coarse mesh, in jumps of a pitch.

    at: function of the integer k that returns the patch at k · pitch: a `Level` with its fine part and junction, on
    the same mesh and under the same names at every k. Nodes common to the meshes at k and k ± 1 (the pitch a multiple
    of the fine cells) keep their motion. follow: function of the state (`LevelView`) that returns the position to
    follow, m, relative to k = 0; the patch moves if it is more than 0.6 pitches away. every: steps between two checks.

    Interfaces keep statuses, friction and wear; those with the patch as slave keep them at common points. The change of
    energy by a move is the column `switch`.
    """

    name: str
    at: Callable[[int], Level]
    follow: Callable[[Any], float]
    pitch: float
    start: int = 0
    every: int = 1

    __repr__ = short_repr
    hold = 0.0
    units = "m"

    def __post_init__(self) -> None:
        checks.valid_name(self.name, "name of a moving patch")
        takes("at", self.at, k="the number of pitches")
        takes("follow", self.follow, state="the state")
        checks.positive("pitch", self.pitch)
        checks.positive_integer("every", self.every)
        checks.integer("start", self.start)

    @cached_property
    def samples(self) -> Sequence[Level]:
        """Levels that together contain all parts: the level at the start."""
        return (self._level_at(self.start),)

    def level(self, number: int) -> Level:
        """The patch at `number` pitches."""
        return self.samples[0] if number == self.start else self._level_at(number)

    def _level_at(self, number: int) -> Level:
        try:
            patch = self.at(number)
        except UserError as error:
            raise UserError(f"patch '{self.name}' at {number} pitches: {error}", error.code) from None
        level: Level = checks.instance("at", patch, Level, "must give a Level([part], junctions=[…])")
        for interface in level.interfaces:
            if interface.wear is not None and interface.slave.part in level.parts:
                raise UserError(
                    f"interface '{interface.name}': wears points of patch '{self.name}', which moves on: give the wear "
                    "to the other body, as its slave"
                )
        return level

    @property
    def choose(self) -> "MovingPatch":
        """The indicator of the level: the patch itself."""
        return self

    def indicate(self, state: Any) -> tuple[int, float]:
        """The number of pitches for the state, and the followed position, m."""
        at = checks.finite("position from follow", float(self.follow(state)))
        away = at / self.pitch - state.level
        return (state.level + round(away) if abs(away) > _AWAY else state.level), at
