"""Levels: alternative models of one piece of a body, of which one is active at a time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from arlequin.junctions.base import JunctionProtocol
from arlequin.models import checks
from arlequin.models.errors import UserError, UserTypeError, short_repr
from arlequin.models.lumped.relations import Relation
from arlequin.models.lumped.springs import Spring
from arlequin.models.part import Part
from arlequin.models.signatures import checked_call
from arlequin.multilevel.interface import Interface

ITEMS = "parts", "junctions", "interfaces", "springs", "relations"


@runtime_checkable
class LevelIndicator(Protocol):
    """What decides which level is active.

    every: steps between two decisions. A decision depends on the state alone, so that a resumed run takes the same.
    """

    @property
    def every(self) -> int: ...

    def indicate(self, state: Any) -> tuple[int, float]:
        """The level wanted at a `LevelView`, and the value that is recorded of the decision."""
        ...


@checked_call
@dataclass(frozen=True, eq=False)
class Level:
    """One model of a piece of a body: its parts, and what joins them with each other and with the rest of the system.

    reference: displacements (node, component) of parts, m, by their names, in a state that the levels have in common (a
    preload): what is transferred is the difference to it. Parts that both levels share may be among them. Parts
    without a counterpart in the other level (supports) begin there, at rest.
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

    choose: decides at any step, see `SwitchTimes`, `ContactIndicator`, `ErrorIndicator`, `StateIndicator`. hold, s: how
    long a coarser level must have been wanted before it comes; start: the level at t = 0.

    At a switch the motion is transferred (`arlequin.levels.transfer`): momenta are kept, and the energy that the other
    level cannot keep is the column `switch` of the energies.

    >>> import arlequin as aq
    >>> steel = aq.LinearElastic(young=2e11, poisson=0.3, density=7800)  # Pa, -, kg/m³
    >>> coarse, fine = (aq.Bar(name, aq.mesh.interval(0.0, 1.0, n), steel) for name, n in (("coarse", 4), ("fine", 8)))
    >>> bar = aq.Levels("bar", [aq.Level([coarse]), aq.Level([fine])], aq.SwitchTimes({5e-5: 1}))  # s: level
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
        for what in ITEMS:
            names = [item.name for level in self.levels for item in getattr(level, what)]
            twice = {name for name in names if names.count(name) > 1}
            if twice:
                raise UserError(
                    f"levels '{self.name}': {what} named '{sorted(twice)[0]}' stand in several levels: names must differ"
                )
