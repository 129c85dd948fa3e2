"""What is read off the run of a slider on a floor that shakes: its slip, when its state changes, how long it sticks."""

import numpy as np
import xarray
from numpy.typing import NDArray

from models.types import Array

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
    """Steps (t,) at whose end the mass sticks; it does so at the start."""
    stuck = result["interface/contact"].dataset["status"].values[:, 0] == STICKS
    stuck[0] = True
    return np.asarray(stuck)


def stuck_share(result: xarray.DataTree, start: float, end: float) -> float:
    """Share of the steps of the interval at whose end the mass sticks."""
    time = result.dataset["time"].values
    return float(np.mean(sticking(result)[(time > start) & (time <= end)]))
