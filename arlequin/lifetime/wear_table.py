"""Wear lives as tables, with units in their headings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray

from arlequin.models.checks import integer
from arlequin.models.errors import UserTypeError
from arlequin.models.signatures import checked_call
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
    duration = float(life["time"][-1])
    at = life.interp(time=np.linspace(0.0, duration, count)) if kind == KINDS[0] else _interpolated(life, count)
    columns: dict[str, Any] = {"time (months)": np.round(at["time"].values / MONTH, 2)}
    if kind == KINDS[0]:
        for name in life["support"].values.tolist():
            label = "" if life.sizes["support"] == 1 else f" {name}"
            columns[f"depth{label} (µm)"] = np.round(1e6 * at["depth"].sel(support=name).values, 2)
            if "wall_share" in at:
                columns[f"share of the wall{label} (%)"] = np.round(
                    100.0 * at["wall_share"].sel(support=name).values, 2
                )
    else:
        percent = f"{100.0 * float(life.attrs['confidence']):g} %"
        for label, values in (
            ("mean depth (µm)", at["depth_mean"]),
            ("median depth (µm)", at["depth_median"]),
            (f"{percent} band from (µm)", at["depth_band"].sel(bound="lower")),
            (f"{percent} band to (µm)", at["depth_band"].sel(bound="upper")),
            ("95/95 limit (µm)", at["depth_tolerance"]),
        ):
            columns[label] = np.round(1e6 * values.values, 2)
        for label, values in (
            ("P(limit exceeded) (%)", at["exceedance"]),
            (f"{percent} interval from (%)", at["exceedance_interval"].sel(bound="lower")),
            (f"{percent} interval to (%)", at["exceedance_interval"].sel(bound="upper")),
        ):
            columns[label] = np.round(100.0 * values.values, 2)
    import pandas

    return pandas.DataFrame(columns)


def _interpolated(life: xarray.Dataset, count: int) -> xarray.Dataset:
    """The distribution at equidistant times: those of samples, and of probabilities, that are the nearest."""
    wanted = np.linspace(0.0, float(life["time"][-1]), count)
    return life.drop_dims("sample").sel(time=wanted, method="nearest")
