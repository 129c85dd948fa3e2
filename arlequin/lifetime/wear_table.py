"""Wear lives as tables, with units in their headings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray

from arlequin.models.checks import integer
from arlequin.models.errors import UserTypeError
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array
from arlequin.results.wear import MONTH

if TYPE_CHECKING:
    import pandas

KINDS = ("wear_life", "wear_life_distribution")


@checked_call
def wear_table(life: Any, rows: int = 7) -> pandas.DataFrame:
    """The table of a wear life for a report: a pandas DataFrame, a row for each of `rows` equidistant times.

    life: the Dataset of `wear_life`: the depth of each support, µm, and its share of the wall, %; or that of
    `wear_life_distribution`: mean, median and band of the depth, its tolerance limit, and the probability that the
    limit is exceeded, with its interval. Times are months of 30.44 days.

    >>> import arlequin as aq
    >>> found = aq.wear_life(1e-3, coefficient=1e-14, area=5e-6, duration=3.15576e7, limit=4e-5)
    >>> print(aq.wear_table(found, rows=3).to_string(index=False))
     time (months)  depth (µm)
               0.0        0.00
               6.0       31.56
              12.0       63.12
    """
    kind = life.attrs.get("kind") if isinstance(life, xarray.Dataset) else None
    if kind not in KINDS:
        raise UserTypeError.parameter("life", life, "must be the Dataset of wear_life or wear_life_distribution")
    count = integer("rows", rows, 2, 1000)
    wanted = np.linspace(0.0, float(life["time"][-1]), count)
    if kind == KINDS[0]:
        at = life.interp(time=wanted)
        columns = _of_life(at)
    else:  # at the nearest times of the samples
        at = life.drop_dims("sample").sel(time=wanted, method="nearest")
        columns = _of_distribution(at)
    import pandas

    rounded = {label: np.round(values, 2) for label, values in columns.items()}
    return pandas.DataFrame({"time (months)": np.round(at["time"].values / MONTH, 2), **rounded})


def _of_life(life: xarray.Dataset) -> dict[str, Array]:
    """Depth, µm, and share of the wall, %, of each support."""
    columns: dict[str, Array] = {}
    for name in life["support"].values.tolist():
        label = "" if life.sizes["support"] == 1 else f" {name}"
        one = life.sel(support=name)
        columns[f"depth{label} (µm)"] = 1e6 * one["depth"].values
        if "wall_share" in one:
            columns[f"share of the wall{label} (%)"] = 100.0 * one["wall_share"].values
    return columns


def _of_distribution(life: xarray.Dataset) -> dict[str, Array]:
    """Depths, µm, and the probability that the limit is exceeded, %, with their bands."""
    percent = f"{100.0 * float(life.attrs['confidence']):g} %"
    band, interval = life["depth_band"], life["exceedance_interval"]
    return {
        "mean depth (µm)": 1e6 * life["depth_mean"].values,
        "median depth (µm)": 1e6 * life["depth_median"].values,
        f"{percent} band from (µm)": 1e6 * band.sel(bound="lower").values,
        f"{percent} band to (µm)": 1e6 * band.sel(bound="upper").values,
        "95/95 limit (µm)": 1e6 * life["depth_tolerance"].values,
        "P(limit exceeded) (%)": 100.0 * life["exceedance"].values,
        f"{percent} interval from (%)": 100.0 * interval.sel(bound="lower").values,
        f"{percent} interval to (%)": 100.0 * interval.sel(bound="upper").values,
    }
