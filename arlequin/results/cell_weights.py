"""Cells that count: those whose weight in the energy of the system is not negligible.

Where parts overlap, each has a share of the energy of its cells. What a cell of negligible weight does changes nothing:
its stress is not a stress of the body, and its nodes may move as they like. One definition, `NEGLIGIBLE`, for what is
recorded, exported, drawn and viewed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from arlequin.models.types import Array, Indices

if TYPE_CHECKING:
    import xarray

# Mean weight of a cell below which it does not count. Measured on waves through zones that cut triangles,
# quadrilaterals and cells of the fine part: above 1e-3 the stress of such a cell is at most that of its neighbours,
# below up to 1.7 times as much.
NEGLIGIBLE = 1e-3
WEIGHT_TEXT = (
    f"share of the energy of the cell that the part has, mean; cells below {NEGLIGIBLE:g} are left out of figures"
)


def counting(weights: Array) -> NDArray[np.bool_]:
    """Mask (c,) of the cells that count, by their weights (c,)."""
    return np.asarray(weights >= NEGLIGIBLE)


def counting_cells(group: xarray.Dataset) -> NDArray[np.bool_]:
    """Mask (c,) of the cells of a part that count, from its group of a result."""
    if "weight" in group and group["weight"].dims == ("cell",):
        return counting(group["weight"].values)
    count = group.sizes.get("cell", 0)
    if "left_out" not in group:  # of a result of an earlier version
        return np.ones(count, dtype=bool)
    return np.asarray(~(group["left_out"].values > 0)[_nodes(group)].any(axis=1))


def counting_nodes(group: xarray.Dataset) -> NDArray[np.bool_]:
    """Mask (n,) of the nodes with a cell that counts; all of a part without cells."""
    count = group.sizes["node"]
    cells = counting_cells(group)
    if cells.all():
        return np.ones(count, dtype=bool)
    mask = np.zeros(count, dtype=bool)
    mask[_nodes(group)[cells]] = True
    return mask


def _nodes(group: xarray.Dataset) -> Indices:
    """All nodes (c, n) of the cells, as far as the result has them."""
    name = next(name for name in ("cell_lattice", "cell_nodes", "connectivity") if name in group)
    return np.asarray(group[name].values, dtype=np.int64)
