"""What is read off an impact: how long it lasts, how the body leaves, what it has lost."""

from typing import Any

import numpy as np
import xarray
from numpy.typing import ArrayLike

from arlequin.scalar import Scalar
from cases.impact import mean_pressures, stored_energy
from cases.reference.measures import total_variation
from models.types import Array


def contact_ends(edges: Array, force: ArrayLike, level: float = 0.0) -> tuple[float, float]:
    """Start of the first and end of the last step with more force (t,) than the level, s; nan where there is none.

    edges (t + 1,): of the steps, s.

    >>> contact_ends(np.array([0.0, 1.0, 2.0, 3.0]), [0.0, 5.0, 0.0])
    (1.0, 2.0)
    """
    pressed = np.flatnonzero(np.asarray(force) > level)
    return (float(edges[pressed[0]]), float(edges[pressed[-1] + 1])) if pressed.size else (np.nan, np.nan)


def roughness(force: Array) -> float:
    """Total variation of a force over that of one rise to its peak and one fall: 1 without oscillation."""
    peak = float(force.max(initial=0.0))
    return total_variation(np.append(force, 0.0), 2.0 * peak) if peak > 0.0 else 1.0


def centre_velocity(result: xarray.DataTree, axis: str) -> float:
    """Of the centre of mass of all parts together at the end, m/s."""
    groups = [part.dataset for part in result["part"].children.values()]
    momentum = sum(float(group["momentum"].sel(component=axis)[-1]) for group in groups)
    return momentum / sum(float(group["mass"]) for group in groups)


def impact_scalars(
    result: xarray.DataTree, before: float, after: float, axis: str = "x", interface: str = "contact"
) -> dict[str, Scalar]:
    """Of one impact along an axis: the body came with `before` and has `after` at the end, away from what it hit, m/s.

    While the contact goes on, and where there was none, nothing has rebounded: nan.
    """
    force = np.abs(result[f"interface/{interface}"].dataset["force"].sel(component=axis).values[1:])
    time = result.dataset["time"].values
    start, end = contact_ends(time, force)
    rebound = after if end < time[-1] else np.nan
    return {
        "rebound_velocity": Scalar(rebound, "m/s", "velocity of the rebound"),
        "restitution": Scalar(rebound / before, "1", "velocity of the rebound over that of the approach"),
        "contact_span": Scalar(end - start, "s", "from the first contact to the end of the last"),
        "force_variation": Scalar(roughness(force), "1", "total variation of the contact force / 2 peak"),
        "energy_loss": energy_loss(result),
    }


def bar_scalars(result: xarray.DataTree, before: float, after: float) -> dict[str, Scalar]:
    """Of the impact of a bar, whose end is under one pressure."""
    return impact_scalars(result, before, after) | {"contact_pressure": contact_pressure(result)}


def contact_pressure(result: xarray.DataTree) -> Scalar:
    """Mean over the steps in contact, Pa."""
    edges, pressure = mean_pressures(result)
    inside, steps = pressure > 0.0, np.diff(edges)
    mean = float(steps[inside] @ pressure[inside] / steps[inside].sum()) if inside.any() else np.nan
    return Scalar(mean, "Pa", "mean contact pressure while in contact")


def energy_loss(result: xarray.DataTree) -> Scalar:
    """Share of the kinetic, strain and asperity energy that is lost between start and end."""
    energy: Any = stored_energy(result)
    lost = 1.0 - energy[-1] / energy[0] if energy[0] else np.nan
    return Scalar(lost, "1", "share of the energy that is lost")
