"""Time schemes: θ, generalised-α and its members, midpoint, central difference, statics, small explicit systems."""

from arlequin.schemes.adaptive import RungeKutta
from arlequin.schemes.alpha import HHT, GeneralisedAlpha, ModifiedMeanAcceleration, Newmark
from arlequin.schemes.central import CentralDifference
from arlequin.schemes.midpoint import Midpoint
from arlequin.schemes.multirate import Multirate
from arlequin.schemes.scheme import Scheme, State, Stepper, StepReport
from arlequin.schemes.static import Static
from arlequin.schemes.symplectic import SymplecticEuler
from arlequin.schemes.theta import Theta
from arlequin.schemes.vogelaere import DeVogelaere

__all__ = [
    "HHT",
    "CentralDifference",
    "DeVogelaere",
    "GeneralisedAlpha",
    "Midpoint",
    "ModifiedMeanAcceleration",
    "Multirate",
    "Newmark",
    "RungeKutta",
    "Scheme",
    "State",
    "Static",
    "StepReport",
    "Stepper",
    "SymplecticEuler",
    "Theta",
]
