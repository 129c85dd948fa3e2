"""Measures and checks of impacts: contact pressure, duration, rebound, energy and momentum."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray
from numpy.typing import ArrayLike

from arlequin.cases.case.checks import Check
from arlequin.cases.reference.measures import l1_error, total_variation
from arlequin.models.types import Array
from arlequin.results.scalar import Scalar

BALANCE_LIMIT = 1e-12
MOMENTUM_LIMIT = 1e-12


def mean_pressures(result: xarray.DataTree, interface: str = "contact") -> tuple[Array, Array]:
    """Edges (t + 1,) of the steps, s, and mean contact pressures (t,) over them, Pa: force over area."""
    group = result[f"interface/{interface}"].dataset
    area = float(group["area"].sum())
    force = group["force"].values
    return result.dataset["time"].values, np.linalg.norm(force[1:], axis=1) / area


def plateaus(result: xarray.DataTree, intervals: Array) -> Array:
    """Mean pressure, Pa, over the inner 80 % of each contact interval (k, 2), s, covered by the run."""
    edges, pressure = mean_pressures(result)
    trim = 0.1 * np.diff(intervals, axis=1) * np.array([1.0, -1.0])
    inner = (intervals + trim)[intervals[:, 1] <= edges[-1]]
    impulse = np.concatenate([[0.0], np.cumsum(np.diff(edges) * pressure)])
    return np.asarray(np.diff(np.interp(inner, edges, impulse), axis=1)[:, 0] / np.diff(inner, axis=1)[:, 0])


def stored_energy(result: xarray.DataTree) -> Array:
    """Sum of kinetic, strain and asperity energy (t,), J."""
    energy = result.dataset["energy"]
    kinds = [kind for kind in ("kinetic", "strain", "asperity") if kind in energy["kind"].values]
    return np.asarray(energy.sel(kind=kinds).sum("kind").values)


def end_time(result: xarray.DataTree) -> float:
    """Last recorded instant, s."""
    return float(result.dataset["time"][-1])


def rigid_velocity(result: xarray.DataTree, part: str, axis: str = "x") -> float:
    """Velocity of the part's centre of mass at the end, m/s: momentum over mass."""
    group = result[f"part/{part}"].dataset
    return float(group["momentum"].sel(component=axis)[-1] / group["mass"])


def worst_balance(result: xarray.DataTree) -> float:
    """Largest relative energy imbalance of the run."""
    return float(np.abs(result.dataset["balance"]).max())


def worst(result: xarray.DataTree, kind: str) -> float:
    """Largest value of an energy column over the largest energy; 0 without that column."""
    energy = result.dataset["energy"]
    if kind not in energy["kind"].values:
        return 0.0
    return float(np.abs(energy.sel(kind=kind)).max() / np.abs(energy).max())


def momentum_check(
    result: xarray.DataTree, parts: Sequence[str], axes: Sequence[str], interface: str | None = None
) -> Check:
    """Check of the linear momentum of the parts: largest |Σ p(t) − Σ p(0) − ∫ F dt| over the largest of a part.

    interface: name of the interface whose force F is external; None without external forces.
    """
    momenta = [result[f"part/{name}"].dataset["momentum"].sel(component=list(axes)).values for name in parts]
    impulse = np.zeros(momenta[0].shape)
    if interface is not None:
        force = result[f"interface/{interface}"].dataset["force"].sel(component=list(axes)).values
        impulse[1:] = np.cumsum(force[1:], axis=0) * result.attrs["step"]
    total = np.sum(np.stack(momenta), axis=0)
    drift = float(np.abs(total - total[0] - impulse).max() / np.abs(np.stack(momenta)).max())
    return Check("linear momentum, worst step", drift, 0.0, MOMENTUM_LIMIT, "1", "absolute")


def energy_checks(result: xarray.DataTree) -> list[Check]:
    """Checks of the energy balance and of the work of junctions."""
    checks = [Check("energy balance, worst step", worst_balance(result), 0.0, BALANCE_LIMIT, "1", "absolute")]
    if "junction" in result.dataset["energy"]["kind"].values:
        checks.append(Check("work of the junctions", worst(result, "junction"), 0.0, 1e-12, "1", "absolute"))
    return checks


def stored_checks(result: xarray.DataTree, conserving: bool) -> list[Check]:
    """Checks that the mechanical energy does not exceed its initial value, or is conserved."""
    ratio = stored_energy(result) / stored_energy(result)[0]
    checks = [
        Check("energy over its initial value, largest less 1", float(ratio.max()) - 1.0, 0.0, 1e-12, "1", "at most")
    ]
    if conserving:
        worst_step = float(np.abs(ratio - 1.0).max())
        checks.append(Check("energy conservation, worst step", worst_step, 0.0, 1e-9, "1", "absolute"))
    return checks


def conserving(parameters: Any) -> bool:
    """Whether contact conserves energy: midpoint scheme with massless contact nodes."""
    p = parameters
    return bool(p.scheme == "midpoint" and p.mass == "redistributed" and p.law == "unilateral")


def pressure_checks(result: xarray.DataTree, reference: Any, tolerance: float) -> list[Check]:
    """L1 error, impulse and total variation of the contact pressure against the reference."""
    edges, pressure = mean_pressures(result)
    impulse = float(np.sum(np.diff(edges) * pressure))
    exact = float(np.diff(reference.impulse(edges[[0, -1]]))[0])
    if exact == 0.0:
        return [Check("contact impulse (no contact in the run)", impulse, 0.0, 0.0, "N s", "absolute")]
    scale = float(np.max(reference.mean_pressure(edges)))
    variation = total_variation(reference.mean_pressure(edges), scale)
    return [
        Check("contact pressure, L1 error", l1_error(edges, pressure, reference), 0.0, tolerance, "1", "at most"),
        Check("contact impulse", impulse, exact, tolerance, "N s"),
        Check(
            "contact pressure, total variation",
            total_variation(pressure, scale),
            1.3 * variation,
            0.0,
            "1",
            "at most",
        ),
    ]


def contact_ends(edges: Array, force: ArrayLike, level: float = 0.0) -> tuple[float, float]:
    """Start of the first and end of the last step whose force (t,) exceeds the level, s; nan without contact.

    edges (t + 1,): limits of the steps, s.

    >>> contact_ends(np.array([0.0, 1.0, 2.0, 3.0]), [0.0, 5.0, 0.0])
    (1.0, 2.0)
    """
    pressed = np.flatnonzero(np.asarray(force) > level)
    return (float(edges[pressed[0]]), float(edges[pressed[-1] + 1])) if pressed.size else (np.nan, np.nan)


def roughness(force: Array) -> float:
    """Total variation of a force over that of one rise and fall (2 × peak): 1 without oscillation."""
    peak = float(force.max(initial=0.0))
    return total_variation(np.append(force, 0.0), 2.0 * peak) if peak > 0.0 else 1.0


def centre_velocity(result: xarray.DataTree, axis: str) -> float:
    """Final velocity of the centre of mass of all parts, m/s."""
    groups = [part.dataset for part in result["part"].children.values()]
    momentum = sum(float(group["momentum"].sel(component=axis)[-1]) for group in groups)
    return momentum / sum(float(group["mass"]) for group in groups)


def impact_scalars(
    result: xarray.DataTree, before: float, after: float, axis: str = "x", interface: str = "contact"
) -> dict[str, Scalar]:
    """Scalars of an impact along an axis: approach velocity `before`, final rebound velocity `after`, m/s.

    nan during contact and without contact.
    """
    force = np.abs(result[f"interface/{interface}"].dataset["force"].sel(component=axis).values[1:])
    time = result.dataset["time"].values
    start, end = contact_ends(time, force)
    rebound = after if end < time[-1] else np.nan
    return {
        "rebound_velocity": Scalar(rebound, "m/s", "rebound velocity"),
        "restitution": Scalar(rebound / before, "1", "rebound velocity over approach velocity"),
        "contact_span": Scalar(end - start, "s", "from the first contact to the end of the last"),
        "force_variation": Scalar(roughness(force), "1", "total variation of the contact force / 2 peak"),
        "energy_loss": energy_loss(result),
    }


def bar_scalars(result: xarray.DataTree, before: float, after: float) -> dict[str, Scalar]:
    """Scalars of the impact of a bar with a uniform contact pressure."""
    return impact_scalars(result, before, after) | {"contact_pressure": contact_pressure(result)}


def contact_pressure(result: xarray.DataTree) -> Scalar:
    """Mean pressure over the steps in contact, Pa."""
    edges, pressure = mean_pressures(result)
    inside, steps = pressure > 0.0, np.diff(edges)
    mean = float(steps[inside] @ pressure[inside] / steps[inside].sum()) if inside.any() else np.nan
    return Scalar(mean, "Pa", "mean pressure during contact")


def energy_loss(result: xarray.DataTree) -> Scalar:
    """Lost fraction of the initial kinetic, strain and asperity energy."""
    energy: Any = stored_energy(result)
    fraction = 1.0 - energy[-1] / energy[0] if energy[0] else np.nan
    return Scalar(fraction, "1", "lost fraction of the energy")
