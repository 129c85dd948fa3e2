"""Transfer of internal variables between the quadrature points of two meshes: means over the common pieces."""

import numpy as np
from scipy.spatial import cKDTree

from arlequin.models.fem.continuum import Continuum
from arlequin.models.types import Array, Indices
from arlequin.overlap.intersect import Overlap


def transfer_points(former: Continuum, model: Continuum, pieces: Overlap, values: Array) -> Array:
    """Values (c, q, m) of the new mesh from those (c', q', m) of the former one.

    Each point stands for that part of its cell which is closer to it than to the other points of the cell. A new point
    takes the mean of the former values over its part (a convex combination: bounds are kept, and linear conditions such
    as a zero trace), in second order kept in the integral over cells that are parallelograms; one without a common
    piece (outside a curved border) the value of the closest former point.
    """
    first = _closest(former, pieces.coarse_cells, pieces.points)
    second = _closest(model, pieces.fine_cells, pieces.points)
    flat, size = values.reshape(-1, values.shape[2]), model.basis.dx.size
    weights = np.maximum(pieces.dx, 0.0).ravel()  # rules of solids may have negative weights
    total = np.bincount(second, weights, size)
    out = (
        np.stack([np.bincount(second, weights * column[first], size) for column in flat.T], axis=1)
        / np.where(total > 0.0, total, 1.0)[:, None]
    )
    lone = np.flatnonzero(total == 0.0)
    if lone.size:
        places, points = (_points(part).reshape(former.mesh.dim(), -1).T for part in (former, model))
        out[lone] = flat[cKDTree(places).query(points[lone])[1]]
    return np.asarray(out.reshape(*model.basis.dx.shape, -1))


def _points(model: Continuum) -> Array:
    return np.asarray(model.quadrature_points())


def _closest(model: Continuum, cells: Indices, points: Array) -> Indices:
    """Number c·Q + q of the quadrature point of the cells (p,) closest to each point (axis, p, k), flat (p k,)."""
    own = _points(model)
    best, closest = np.full(points.shape[1:], np.inf), np.zeros(points.shape[1:], dtype=np.int64)
    for q in range(own.shape[2]):
        distance = ((points - own[:, cells, q][:, :, None]) ** 2).sum(axis=0)
        nearer = distance < best
        best[nearer], closest[nearer] = distance[nearer], q
    return np.asarray(cells[:, None] * own.shape[2] + closest).ravel()
