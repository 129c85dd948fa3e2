"""Turning points of a slider, from the steps of a run."""

import numpy as np
from scipy.interpolate import KroghInterpolator

from arlequin.models.types import Array
from arlequin.results.scalar import Scalar

REST = 1e-9  # velocity over the largest one below which the mass is at rest


def stepped_turns(time: Array, u: Array, v: Array) -> tuple[Array, Array]:
    """Instants (n,), s, and displacements (n,), m, at which u, v (t,) turn or come to rest inside a step.

    A mass that friction stops in a step may reverse in it and come to rest within the next three: one event.
    """
    moving = np.abs(v) > REST * np.abs(v).max()
    sense = np.where(moving, np.sign(v), 0.0)
    changes = np.flatnonzero((sense[:-1] != 0) & (sense[1:] != sense[:-1]))
    stops = changes[~moving[changes + 1]]
    steps = changes[~np.isin(changes[:, None] + np.arange(1, 4), stops).any(axis=1)]
    turns = [
        (time[n + 1], u[n + 1]) if not moving[n + 1] else _extremum(time[n : n + 2], u[n : n + 2], v[n : n + 2])
        for n in steps
    ]
    instants, displacements = np.array(turns).reshape(-1, 2).T
    return instants, displacements


def located_turns(time: Array, u: Array, events: Array) -> tuple[Array, Array]:
    """Instants and displacements at events, interpolated from the last three steps since the previous event."""
    ends = np.flatnonzero(np.isfinite(events))
    instants, displacements, start = events[ends], np.empty(ends.size), 0
    for i, end in enumerate(ends.tolist()):
        nodes = slice(max(start, end - 3), end)
        displacements[i] = KroghInterpolator(-((time[nodes] - instants[i]) ** 2), u[nodes])(0.0)
        start = end
    return instants, displacements


def _extremum(time: Array, u: Array, v: Array) -> tuple[float, float]:
    """Extremum of the cubic through two steps of opposite velocities."""
    cubic = KroghInterpolator(np.repeat(time - time[0], 2), np.array([u[0], v[0], u[1], v[1]]))
    share = v[0] / (v[0] - v[1])
    instant = share * (time[1] - time[0])
    return float(time[0] + instant), float(cubic(instant))


def turn_scalars(instants: Array, displacements: Array, count: int) -> dict[str, Scalar]:
    """Number of turns (n,), and the first `count` of them; nan if there are fewer."""
    scalars = {"turning_points": Scalar(len(displacements), "1", "turning points")}
    for n in range(count):
        displacement, instant = (displacements[n], instants[n]) if n < len(displacements) else (np.nan, np.nan)
        scalars[f"turning_point_{n + 1}"] = Scalar(displacement, "m", f"turning point {n + 1}")
        scalars[f"turning_time_{n + 1}"] = Scalar(instant, "s", f"time of turning point {n + 1}")
    return scalars
