"""Time schemes: θ, generalised-α and its members, midpoint, central difference, statics, small explicit systems."""

from arlequin.schemes.alpha import HHT, GeneralisedAlpha, ModifiedMeanAcceleration, Newmark
from arlequin.schemes.central import CentralDifference
from arlequin.schemes.de_vogelaere import DeVogelaere
from arlequin.schemes.midpoint import Midpoint
from arlequin.schemes.multirate import Multirate
from arlequin.schemes.runge_kutta import RungeKutta
from arlequin.schemes.static import Static
from arlequin.schemes.symplectic_euler import SymplecticEuler
from arlequin.schemes.theta import Theta
from arlequin.step.batch import StepBatch
from arlequin.step.scheme import Scheme, Stepper
from arlequin.step.state import State

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
    "StepBatch",
    "Stepper",
    "SymplecticEuler",
    "Theta",
]
