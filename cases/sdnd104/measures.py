"""Measures of the shaken slider: slip velocity, changes of state, stick; exact means of the shock element (SDND104)."""

from dataclasses import dataclass

import numpy as np
import xarray
from numpy.typing import NDArray

from arlequin.cases.reference.damped_shock import DampedElement
from arlequin.cases.reference.shaken_shock import ShakenElement
from arlequin.cases.reference.shaken_slider import ShakenSlider
from arlequin.cases.sdnd104.parameters import Parameters
from arlequin.models.types import Array


@dataclass(frozen=True)
class ElementMeans:
    """Mean work rate and friction power, W, fraction of the time in stick, number of changes of state."""

    rate: float
    friction: float
    stick_fraction: float
    changes: int

    @classmethod
    def of(cls, parameters: Parameters, exact: ShakenSlider) -> "ElementMeans":
        """Exact means over the interval of the parameters, with or without a dashpot."""
        p = parameters
        time = p.end - p.start
        if p.dashpot > 0.0:
            threshold = exact.friction * exact.normal_force
            element = DampedElement(
                p.mass, 0.0, p.tangential_stiffness, p.dashpot, threshold, p.acceleration, exact.pulsation
            )
            motion = element.motion(0.0, p.end)
            path, dissipated, stick_time = motion.travel(p.start, p.end)
            changes = int(np.count_nonzero((motion.starts > p.start) & (motion.starts < p.end)))
            return cls(exact.normal_force * path / time, dissipated / time, stick_time / time, changes)
        free = ShakenElement(exact, p.tangential_stiffness, p.end)
        stuck, slipping, stick_time = free.travel(p.start, p.end)
        changes = sum(p.start < phase.start < p.end for phase in free.phases)
        rate = exact.normal_force * (stuck + slipping) / time
        return cls(rate, free.threshold * slipping / time, stick_time / time, changes)


STICKS = 2  # the status of a point that sticks


def slip_rate(result: xarray.DataTree) -> Array:
    """Velocity of the mass relative to the floor (t,), m/s."""
    return np.asarray(result["part/slider"].dataset["velocity"].values[:, 0, 0])


def changes(result: xarray.DataTree) -> Array:
    """Instants (n,), s, at which the mass starts to slip, reverses or sticks; without location ends of steps."""
    if "event_time" in result.dataset:
        events = result.dataset["event_time"].values
        return np.asarray(events[np.isfinite(events)])
    state = np.where(sticking(result), 0.0, np.sign(slip_rate(result)))
    return np.asarray(result.dataset["time"].values[1:][state[1:] != state[:-1]])


def sticking(result: xarray.DataTree) -> NDArray[np.bool_]:
    """Steps (t,) at whose end the mass sticks; it sticks initially."""
    stuck = result["interface/contact"].dataset["status"].values[:, 0] == STICKS
    stuck[0] = True
    return np.asarray(stuck)


def stuck_share(result: xarray.DataTree, start: float, end: float) -> float:
    """Fraction of the steps of the interval at whose end the mass sticks."""
    time = result.dataset["time"].values
    return float(np.mean(sticking(result)[(time > start) & (time <= end)]))
