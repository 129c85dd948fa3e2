"""Time schemes: θ, generalised-α and its members, midpoint, central difference, statics."""

from arlequin.schemes.alpha import HHT, GeneralisedAlpha, ModifiedMeanAcceleration, Newmark
from arlequin.schemes.central import CentralDifference
from arlequin.schemes.midpoint import Midpoint
from arlequin.schemes.multirate import Multirate
from arlequin.schemes.scheme import Scheme, State, Stepper, StepReport
from arlequin.schemes.static import Static
from arlequin.schemes.theta import Theta

__all__ = [
    "HHT",
    "CentralDifference",
    "GeneralisedAlpha",
    "Midpoint",
    "ModifiedMeanAcceleration",
    "Multirate",
    "Newmark",
    "Scheme",
    "State",
    "Static",
    "StepReport",
    "Stepper",
    "Theta",
]
