"""Where a slider turns, from the steps of a run."""

import numpy as np
from scipy.interpolate import KroghInterpolator

from arlequin.models.types import Array
from arlequin.results.scalar import Scalar

REST = 1e-9  # of the largest velocity


def stepped_turns(time: Array, u: Array, v: Array) -> tuple[Array, Array]:
    """Instants (n,), s, and displacements (n,), m, at which u, v (t,) turn or come to rest inside a step.

    A mass that friction would stop in a step may turn in it and rest within the next three: that is one event.
    """
    moving = np.abs(v) > REST * np.abs(v).max()
    sense = np.where(moving, np.sign(v), 0.0)
    changes = np.flatnonzero((sense[:-1] != 0) & (sense[1:] != sense[:-1]))
    stops = changes[~moving[changes + 1]]
    steps = changes[~np.isin(changes[:, None] + np.arange(1, 4), stops).any(axis=1)]
    found = [
        (time[n + 1], u[n + 1]) if not moving[n + 1] else _turn(time[n : n + 2], u[n : n + 2], v[n : n + 2])
        for n in steps
    ]
    instants, places = np.array(found).reshape(-1, 2).T
    return instants, places


def located_turns(time: Array, u: Array, events: Array) -> tuple[Array, Array]:
    """At each event, from the last three steps before it that follow the event before."""
    ends = np.flatnonzero(np.isfinite(events))
    instants, places, start = events[ends], np.empty(ends.size), 0
    for i, end in enumerate(ends.tolist()):
        nodes = slice(max(start, end - 3), end)
        places[i] = KroghInterpolator(-((time[nodes] - instants[i]) ** 2), u[nodes])(0.0)
        start = end
    return instants, places


def _turn(time: Array, u: Array, v: Array) -> tuple[float, float]:
    """The extremum between two steps of opposite velocities, of the cubic through both."""
    curve = KroghInterpolator(np.repeat(time - time[0], 2), np.array([u[0], v[0], u[1], v[1]]))
    share = v[0] / (v[0] - v[1])
    instant = share * (time[1] - time[0])
    return float(time[0] + instant), float(curve(instant))


def turn_scalars(instants: Array, places: Array, shown: int) -> dict[str, Scalar]:
    """How many turns (n,) there are, and the first few; nan where there are fewer."""
    out = {"turning_points": Scalar(len(places), "1", "turning points")}
    for n in range(shown):
        place, instant = (places[n], instants[n]) if n < len(places) else (np.nan, np.nan)
        out[f"turning_point_{n + 1}"] = Scalar(place, "m", f"turning point {n + 1}")
        out[f"turning_time_{n + 1}"] = Scalar(instant, "s", f"time of turning point {n + 1}")
    return out
