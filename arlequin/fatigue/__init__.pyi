"""Public names of `arlequin.fatigue`, each on a line; `__init__.py` imports them on first use."""

from arlequin.fatigue.cycles import rainflow as rainflow
from arlequin.fatigue.mean_stress import Gerber as Gerber
from arlequin.fatigue.mean_stress import Goodman as Goodman
from arlequin.fatigue.mean_stress import MeanStress as MeanStress
from arlequin.fatigue.mean_stress import Morrow as Morrow
from arlequin.fatigue.mean_stress import SmithWatsonTopper as SmithWatsonTopper
from arlequin.fatigue.mean_stress import Soderberg as Soderberg
from arlequin.fatigue.mean_stress import Walker as Walker
from arlequin.fatigue.miner import damage as damage
from arlequin.fatigue.sn_curve import SNCurve as SNCurve
from arlequin.fatigue.spectral import spectral_damage as spectral_damage

__all__: list[str]

def __dir__() -> list[str]: ...
