"""Public names of `arlequin.frequency`, each on a line; `__init__.py` imports them on first use."""

from arlequin.frequency.excitation import BaseAcceleration as BaseAcceleration
from arlequin.frequency.excitation import Force as Force
from arlequin.frequency.excitation import SupportMotion as SupportMotion
from arlequin.frequency.outputs import Acceleration as Acceleration
from arlequin.frequency.outputs import ContactForce as ContactForce
from arlequin.frequency.outputs import Displacement as Displacement
from arlequin.frequency.outputs import SectionForce as SectionForce
from arlequin.frequency.outputs import SpringForce as SpringForce
from arlequin.frequency.outputs import Stress as Stress
from arlequin.frequency.outputs import SupportForce as SupportForce
from arlequin.frequency.outputs import Velocity as Velocity
from arlequin.frequency.random_loads import CorrelatedForce as CorrelatedForce
from arlequin.frequency.random_loads import CrossSpectrum as CrossSpectrum
from arlequin.frequency.random_loads import RainOnTheRoof as RainOnTheRoof
from arlequin.frequency.random_loads import Spectrum as Spectrum
from arlequin.frequency.random_loads import TurbulentFlow as TurbulentFlow

__all__: list[str]

def __dir__() -> list[str]: ...
