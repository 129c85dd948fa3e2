"""What is read off a rod in its grids: forces, impacts, time in contact, work rates and motion."""

import numpy as np
import xarray
from numpy.typing import NDArray

from arlequin.signals import contact_ratio, impact_peaks

Array = NDArray[np.float64]

PLACES = {
    "springs": ("spring +x", "spring +y"),
    "dimples": ("dimple −x, low", "dimple −x, high", "dimple −y, low", "dimple −y, high"),
}


def supports(result: xarray.DataTree, wear: float = 0.0) -> xarray.Dataset:
    """Of each support of each grid, over the run:

    mean_force and peak_force, N; contact_ratio, share of the time; impacts, how many spells of contact; work_rate,
    mean of F_n ‖v_t‖, W; worn_volume, m³, by Archard's coefficient `wear`, m³/J; rms_motion, m, of the point across
    the rod, about its mean. Dimensions: grid, support.
    """
    time = result.dataset["time"].values
    names = [name for name in result["interface"].children if name.endswith(tuple(f"_{kind}" for kind in PLACES))]
    numbers = sorted({int(name.split("_")[0].removeprefix("grid")) for name in names})
    places = [place for kind in PLACES.values() for place in kind]
    table: dict[str, Array] = {
        key: np.zeros((len(numbers), len(places)))
        for key in ("mean_force", "peak_force", "contact_ratio", "impacts", "work_rate", "rms_motion")
    }
    for row, number in enumerate(numbers):
        column = 0
        for kind, own in PLACES.items():
            group = result[f"interface/grid{number}_{kind}"].dataset
            force = group["point_force"].values
            motion = group["point_displacement"].values[..., :2]
            power = group["point_wear_power"].values if "point_wear_power" in group else np.zeros_like(force)
            for k in range(len(own)):
                table["mean_force"][row, column] = force[1:, k].mean()
                table["peak_force"][row, column] = force[1:, k].max()
                table["contact_ratio"][row, column] = contact_ratio(time, force[:, k])
                table["impacts"][row, column] = impact_peaks(time, force[:, k]).force.size
                table["work_rate"][row, column] = power[1:, k].mean()
                table["rms_motion"][row, column] = np.sqrt(motion[:, k].var(axis=0).sum())
                column += 1
    table["worn_volume"] = wear * table["work_rate"] * (time[-1] - time[0])
    units = {
        "mean_force": "N", "peak_force": "N", "contact_ratio": "1", "impacts": "1", "work_rate": "W",
        "worn_volume": "m3", "rms_motion": "m",
    }  # fmt: skip
    return xarray.Dataset(
        {key: (("grid", "support"), values, {"units": units[key]}) for key, values in table.items()},
        coords={"grid": numbers, "support": places},
    )


def rms_along(result: xarray.DataTree, part: str = "rod") -> tuple[Array, Array]:
    """Heights of the rod's nodes (n,), m, and the rms of their motion across it about its mean (n, 2), m, by frames."""
    group = result[f"part/{part}"].dataset
    moved = group["displacement"].values[..., :2]
    height = group["position"].values[:, 2]
    order = np.argsort(height)
    return height[order], moved.std(axis=0)[order]


def hardest(table: xarray.Dataset, key: str = "work_rate") -> tuple[int, str]:
    """The grid and the support with the largest value."""
    values = table[key].values
    row, column = np.unravel_index(int(values.argmax()), values.shape)
    return int(table["grid"].values[row]), str(table["support"].values[column])
