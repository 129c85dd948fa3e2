"""Public names of `arlequin.levels`, each on a line; `__init__.py` imports them on first use."""

from arlequin.levels.indicators import ContactIndicator as ContactIndicator
from arlequin.levels.indicators import ErrorIndicator as ErrorIndicator
from arlequin.levels.indicators import StateIndicator as StateIndicator
from arlequin.levels.indicators import SwitchTimes as SwitchTimes
from arlequin.system.levels import Level as Level
from arlequin.system.levels import MovingPatch as MovingPatch

__all__: list[str]

def __dir__() -> list[str]: ...
