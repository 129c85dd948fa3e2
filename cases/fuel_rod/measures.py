"""Measures of a rod in its grids: forces, impacts, contact ratio, work rates and motion."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray

from arlequin.models.types import Array
from arlequin.results.signals import contact_ratio, impact_peaks

PLACES = {
    "springs": ("spring +x", "spring +y"),
    "dimples": ("dimple −x, low", "dimple −x, high", "dimple −y, low", "dimple −y, high"),
}
ALL = tuple(place for places in PLACES.values() for place in places)
PADS = ("spring_x", "spring_y", "dimple_x_low", "dimple_x_high", "dimple_y_low", "dimple_y_high")  # of a zoomed grid


class SupportSignal(NamedTuple):
    """Time series of a support: normal force (t,), N, and work rate (t,), W, means over steps; transverse motion (t, 2)
    of the rod surface, m (None for a pad on a solid; nan while there is one)."""

    force: Array
    power: Array
    motion: Array | None


def numbers(result: xarray.DataTree) -> list[int]:
    """Numbers of the grids without a zoom, and of the zoomed one."""
    names = [name for name in result["interface"].children if name.startswith("grid")]
    grids = {int(name.split("_")[0].removeprefix("grid")) for name in names}
    if PADS[0] in result["interface"].children:
        grids.add(zoomed(result))
    return sorted(grids)


def zoomed(result: xarray.DataTree) -> int:
    """Number of the zoomed grid: the one with levels, or the number missing in the interfaces."""
    if "levels" in result.children:
        return next(int(name.removeprefix("grid")) for name in result["levels"].children)
    names = [name for name in result["interface"].children if name.startswith("grid")]
    unzoomed = {int(name.split("_")[0].removeprefix("grid")) for name in names}
    return min(set(range(1, 2 + max(unzoomed, default=0))) - unzoomed)


def signal(result: xarray.DataTree, grid: int, place: str) -> SupportSignal:
    """Time series of one support, on the active level at each time."""
    kind = next(kind for kind, places in PLACES.items() if place in places)
    name = f"grid{grid}_{kind}"
    pad = None
    if PADS[0] in result["interface"].children and grid == zoomed(result):
        group = result[f"interface/{PADS[ALL.index(place)]}"].dataset
        steps = np.diff(result.dataset["time"].values, prepend=-1.0)  # no initial force
        power = group["wear_power"].values if "wear_power" in group else np.zeros(steps.size)
        pad = SupportSignal(group["impulse"].values / steps, power, None)
        if name not in result["interface"].children:
            return pad
    group, k = result[f"interface/{name}"].dataset, PLACES[kind].index(place)
    force = group["point_force"].values[:, k]
    power = group["point_wear_power"].values[:, k] if "point_wear_power" in group else np.zeros(force.size)
    if pad is not None:
        inactive = np.isnan(pad.force)
        force, power = np.where(inactive, force, pad.force), np.where(inactive, power, pad.power)
    return SupportSignal(force, power, group["point_displacement"].values[:, k, :2])


def supports(result: xarray.DataTree, wear: float = 0.0) -> xarray.Dataset:
    """Measures of each support of each grid over the run.

    mean_force, least_force and peak_force, N; contact_ratio, fraction of the time; impacts, number of contact phases;
    work_rate, mean of F_n ‖v_t‖, W; worn_volume, m³, by Archard's coefficient `wear`, m³/J; rms_motion, m, of the
    transverse motion about its mean. Dimensions: grid, support.
    """
    time, grids = result.dataset["time"].values, numbers(result)
    forces = dict.fromkeys(("mean_force", "least_force", "peak_force"), "N")
    units = forces | {"contact_ratio": "1", "impacts": "1", "work_rate": "W", "rms_motion": "m"}
    table = {key: np.full((len(grids), len(ALL)), np.nan) for key in units}
    for row, grid in enumerate(grids):
        for column, place in enumerate(ALL):
            support_signal, at = signal(result, grid, place), (row, column)
            table["mean_force"][at] = support_signal.force[1:].mean()
            table["least_force"][at] = support_signal.force[1:].min()
            table["peak_force"][at] = support_signal.force[1:].max()
            table["contact_ratio"][at] = contact_ratio(time, support_signal.force)
            table["impacts"][at] = impact_peaks(time, support_signal.force).force.size
            table["work_rate"][at] = support_signal.power[1:].mean()
            if support_signal.motion is not None:
                hidden = np.isnan(support_signal.motion).any(axis=1)
                visible = support_signal.motion[~hidden] if hidden.any() else support_signal.motion
                table["rms_motion"][at] = np.sqrt(visible.var(axis=0).sum())
    table["worn_volume"] = wear * table["work_rate"] * (time[-1] - time[0])
    units["worn_volume"] = "m^3"
    return xarray.Dataset(
        {key: (("grid", "support"), values, {"units": units[key]}) for key, values in table.items()},
        coords={"grid": grids, "support": list(ALL)},
    )


def deviations(result: xarray.DataTree, reference: xarray.DataTree) -> xarray.Dataset:
    """Relative deviations of a run from another one of the same rod, steps and frames.

    Of the totals over the supports of each grid (grid): mean_force (also that of the impulses) and work_rate, and of
    the largest peak_force among them: |value − reference|/reference, 0 where both are 0. motion (height): rms of the
    difference of the transverse displacements over the frames, over the largest rms of the reference's motion about its
    mean; heights, m, of the nodes of the beams that both have.
    """
    measures: dict[str, Any] = {}
    tables = supports(result), supports(reference)
    for key, over in (("mean_force", np.sum), ("peak_force", np.max), ("work_rate", np.sum)):
        value, expected = (over(table[key].values, axis=1) for table in tables)
        change = np.abs(value - expected)
        measures[key] = "grid", np.divide(change, expected, out=change.copy(), where=expected > 0.0), {"units": "1"}
    names = [name for name in beams(reference) if name in result["part"].children]
    height, largest = rms_along(reference, names)
    groups = [[run[f"part/{name}"].dataset["displacement"].values for name in names] for run in (result, reference)]
    difference = np.concatenate([u - u_reference for u, u_reference in zip(*groups, strict=True)], axis=1)[..., :2]
    order = np.argsort(np.concatenate([reference[f"part/{name}"].dataset["position"].values[:, 2] for name in names]))
    rms = np.sqrt((difference[:, order] ** 2).sum(axis=2).mean(axis=0)) / np.sqrt((largest**2).sum(axis=1)).max()
    measures["motion"] = "height", rms, {"units": "1"}
    return xarray.Dataset(measures, coords={"grid": tables[0]["grid"], "height": ("height", height, {"units": "m"})})


def rms_along(result: xarray.DataTree, parts: Sequence[str] = ()) -> tuple[Array, Array]:
    """Heights of the nodes (n,), m, and rms of their transverse motion about its mean (n, 2), m, over the frames.

    parts: names of the beams, by default `rod`, or `lower` and `upper` of a zoom.
    """
    groups = [result[f"part/{name}"].dataset for name in parts or beams(result)]
    height = np.concatenate([group["position"].values[:, 2] for group in groups])
    rms = np.concatenate([group["displacement"].values[..., :2].std(axis=0) for group in groups])
    order = np.argsort(height)
    return height[order], rms[order]


def beams(result: xarray.DataTree) -> list[str]:
    """Names of the beams of the rod."""
    return ["rod"] if "rod" in result["part"].children else ["lower", "upper"]


def hardest(table: xarray.Dataset, key: str = "work_rate") -> tuple[int, str]:
    """The grid and the support with the largest value."""
    values = table[key].values
    row, column = np.unravel_index(int(np.nanargmax(values)), values.shape)
    return int(table["grid"].values[row]), str(table["support"].values[column])
