"""Worn profile of a plane contact."""

import numpy as np
import xarray

from arlequin.models.types import Array
from arlequin.results.scalar import Scalar


def worn_profile(result: xarray.DataTree) -> tuple[Array, Array]:
    """Sorted coordinates x (k,), m, of the contact points, and final worn depths (k,), m."""
    group = result["interface/contact"].dataset
    x = group["point_position"].values[:, 0]
    order = np.argsort(x)
    return x[order], group["worn_depth"].values[-1][order]


def scar_width(result: xarray.DataTree) -> Scalar:
    """Scalar: distance from the first to the last worn point."""
    x, depth = worn_profile(result)
    worn = x[depth > 0.0]
    return Scalar(np.ptp(worn) if worn.size else 0.0, "m", "width of the worn zone")
