"""Means of the exact motion of a shock element on a support that shakes (SDND104, penalised model)."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cases.reference.damped_shock import DampedElement
from cases.reference.shaken_shock import ShakenElement
from cases.reference.shaken_slider import ShakenSlider

if TYPE_CHECKING:
    from cases.sdnd104 import Parameters


@dataclass(frozen=True)
class ElementMeans:
    """Means of the work rate and of what friction takes, W, share of the time stuck, and how often that changes."""

    rate: float
    friction: float
    held: float
    changes: int

    @classmethod
    def of(cls, parameters: "Parameters", exact: ShakenSlider) -> "ElementMeans":
        """Over the interval of the parameters, with and without a dashpot."""
        p = parameters
        time = p.end - p.start
        if p.dashpot > 0.0:
            threshold = exact.friction * exact.normal_force
            element = DampedElement(
                p.mass, 0.0, p.tangential_stiffness, p.dashpot, threshold, p.acceleration, exact.pulsation
            )
            motion = element.motion(0.0, p.end)
            way, taken, held = motion.travel(p.start, p.end)
            changes = int(np.count_nonzero((motion.starts > p.start) & (motion.starts < p.end)))
            return cls(exact.normal_force * way / time, taken / time, held / time, changes)
        free = ShakenElement(exact, p.tangential_stiffness, p.end)
        stuck, slipping, held = free.travel(p.start, p.end)
        changes = sum(p.start < spell.start < p.end for spell in free.spells)
        rate = exact.normal_force * (stuck + slipping) / time
        return cls(rate, free.threshold * slipping / time, held / time, changes)
