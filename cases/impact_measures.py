"""What impacts of solids on contact are measured by: force, release, vibration after it."""

import numpy as np
import xarray
from numpy.typing import NDArray

from cases.comparison import Check
from cases.rebound import contact_ends

LATER = 1.25  # of the time of release: forces are compared so far, the flight is looked at from there on
PERIODS = 20  # that the frequency of a flight needs


def force_means(result: xarray.DataTree, steps: int = 1) -> NDArray[np.float64]:
    """Normal contact force (n,), N/m, as means over so many steps each."""
    force = result["interface/contact"].dataset["force"].sel(component="y").values[1:]
    padded = np.pad(force, (0, -force.size % steps))
    return np.asarray(padded.reshape(-1, steps).mean(axis=1))


def released(result: xarray.DataTree) -> float:
    """End of the last step under contact, s; 0 where there was none."""
    end = contact_ends(result.dataset["time"].values, force_means(result))[1]
    return 0.0 if np.isnan(end) else end


def height_change(result: xarray.DataTree) -> NDArray[np.float64]:
    """Vertical displacement of the highest node of all less that of the lowest (frame,), m."""
    ends = []
    for sign in (1.0, -1.0):
        parts = [part.dataset for part in result["part"].children.values()]
        part = max(parts, key=lambda group: float((sign * group["position"].values[:, 1]).max()))
        place = part["position"].values
        node = int((sign * place[:, 1] - 1e-6 * np.abs(place[:, 0])).argmax())
        ends.append(part["displacement"].values[:, node, 1])
    return np.asarray(ends[0] - ends[1])


def frequency(time: NDArray[np.float64], values: NDArray[np.float64], near: float) -> float:
    """The frequency (Hz) within 5 % of `near` whose sine and cosine take most of the values, in the mean of squares."""
    angle = 2 * np.pi * np.multiply.outer(np.linspace(0.95, 1.05, 1001) * near, time - time.mean())
    taper = np.hanning(time.size)
    power = np.abs(np.exp(1j * angle) @ (taper * (values - values.mean())))
    return float(np.linspace(0.95, 1.05, 1001)[int(power.argmax())] * near)


def vibration(result: xarray.DataTree, exact: float) -> list[Check]:
    """The flight after the contact, if long and well recorded: the disc ovals at its frequency `exact`, Hz."""
    time = result.dataset["frame_time"].values
    start = LATER * released(result)
    flight = time > start
    if (time[-1] - start) * exact < PERIODS or (time[1] - time[0]) * exact > 0.25:
        return []
    found = frequency(time[flight], height_change(result)[flight], exact)
    return [Check("frequency of the ovalling disc in flight", found, exact, 0.005, "Hz")]
