"""Which points lie inside a mesh."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arlequin.geometry import candidate_pairs, to_reference
from models.errors import UserError
from models.part import Surface
from models.types import Array

_MARGIN = 1e-3  # of a cell: points nearer to its sides count as outside


def inside(mesh: Any, points: Array) -> NDArray[np.bool_]:
    """Points (k, axis) strictly inside the straight-edged cells of a mesh (k,); none where cells cannot be mapped."""
    found = np.zeros(len(points), dtype=bool)
    cells, chosen = candidate_pairs(mesh.p[:, mesh.t], np.ascontiguousarray(points.T[:, None, :]))
    if not cells.size:
        return found
    try:
        X = to_reference(mesh, cells, points[chosen].T[:, :, None])[0][:, :, 0]
    except UserError:
        return found
    low, high = X.min(axis=0), X.max(axis=0)
    if mesh.t.shape[0] == mesh.dim() + 1:
        high = X.sum(axis=0)
    # points on a common side of two cells are missed: their neighbours on the surface are not
    found[chosen[(low > _MARGIN) & (high < 1.0 - _MARGIN)]] = True
    return found


def inside_outline(surface: Surface, points: Array) -> NDArray[np.bool_]:
    """Points (k, 2) inside the closed outline of a part without cells: rays along x cross it an odd number of times."""
    edges = surface.part.positions[surface.part.connectivity]
    if edges.shape[1] != 2 or points.shape[1] != 2:
        return np.zeros(len(points), dtype=bool)
    (x0, y0), (x1, y1) = edges[:, 0].T, edges[:, 1].T
    x, y = points[:, :1], points[:, 1:]
    crosses = (y0 > y) != (y1 > y)
    slope = np.divide(x1 - x0, y1 - y0, out=np.zeros_like(x0), where=y1 != y0)
    return np.asarray((crosses & (x < x0 + (y - y0) * slope)).sum(axis=1) % 2 == 1)
