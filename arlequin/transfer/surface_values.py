"""Interpolation along a surface between two sets of contact points."""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import scipy.sparse as sp
from scipy.spatial import cKDTree

from arlequin.models.errors import UserError
from arlequin.models.types import Array

_NEIGHBOURS = {1: 1, 2: 4, 3: 8}  # of the former points around a new one, by the number of axes
_FLAT = 1e-9  # of the spacing: distances of simplices closer to each other than this count as equal


@dataclass(frozen=True, eq=False)
class SurfaceTransfer:
    """Interpolation W (k, k') of values at former points (k', a) to new ones (k, a); rows are ≥ 0 and sum to one.

    A new point takes the linear interpolation on the smallest segment (in the plane) or triangle (in space) of
    neighbouring former points that is closest to it: order 2 in the spacing, exact for linear values between the
    former points; beyond the last ones the value at the closest place on the segment or triangle.
    """

    weights: sp.csr_array

    @classmethod
    def of(cls, former: Array, positions: Array, name: str) -> "SurfaceTransfer":
        """The transfer; UserError where new points are farther from the former surface than its points are apart."""
        count, axes = positions.shape
        neighbours = min(_NEIGHBOURS[axes], len(former))
        tree = cKDTree(former)
        near = tree.query(positions, np.arange(1, neighbours + 1))[1]
        spacing = tree.query(former, [min(2, len(former))])[0][:, 0] if len(former) > 1 else np.full(1, np.inf)
        corners = min(axes, neighbours)
        best = np.full(count, np.inf), np.full(count, np.inf)
        points, shares = np.zeros((count, corners), dtype=np.int64), np.zeros((count, corners))
        unit = float(np.median(spacing)) if np.isfinite(spacing).all() else 1.0
        for chosen in combinations(range(neighbours), corners):
            simplex = near[:, list(chosen)]
            share = _closest_in(former[simplex], positions)
            place = np.einsum("kc,kca->ka", share, former[simplex])
            distance = np.round(np.linalg.norm(place - positions, axis=1) / (_FLAT * unit)) * _FLAT * unit
            ends = [former[simplex[:, [i, j]]] for i, j in _pairs(corners)]
            size = sum(np.linalg.norm(pair[:, 0] - pair[:, 1], axis=1) for pair in ends)
            better = (distance < best[0]) | ((distance == best[0]) & (size < best[1] * (1.0 - _FLAT)))
            best[0][better], best[1][better] = distance[better], np.broadcast_to(size, distance.shape)[better]
            points[better], shares[better] = simplex[better], share[better]
        reach = spacing[near].max(axis=1) if near.ndim > 1 else spacing[near]
        if (best[0] > reach).any():
            raise UserError(
                f"from_result: interface '{name}' has contact points up to {best[0].max():.3g} m from those there: "
                "give it the same surfaces"
            )
        rows = np.repeat(np.arange(count), corners)
        return cls(sp.csr_array((shares.ravel(), (rows, points.ravel())), shape=(count, len(former))))

    def interpolate(self, values: Array) -> Array:
        """Values (k, …) at the new points."""
        return np.asarray(self.weights @ values.reshape(len(values), -1)).reshape(-1, *values.shape[1:])


def distribute(positions: Array, former: Array, name: str, values: Array, areas: tuple[Array, Array]) -> Array:
    """Values (k,) at positions (k, a) with the integral of `values` (k',) at former points (k', a).

    areas: of the former and of the new points, m². From few to many points the values are interpolated; from many to
    few a new point takes the mean of the former points around it, by their areas and their shares of it. Both are ≥ 0
    where the values are; then all are multiplied by one factor, which is one up to second order in the spacing.
    """
    total = float(areas[0] @ values)
    out = SurfaceTransfer.of(former, positions, name).interpolate(values)
    if len(former) > len(positions):
        shares = SurfaceTransfer.of(positions, former, name).weights.T
        sums, area = shares @ (areas[0] * values), shares @ areas[0]
        np.divide(sums, area, out=out, where=area > 0.0)
    sum_ = float(areas[1] @ out)
    return np.asarray(out * (total / sum_)) if sum_ else out


def _pairs(corners: int) -> list[tuple[int, int]]:
    return list(combinations(range(corners), 2))


def _closest_in(simplices: Array, positions: Array) -> Array:
    """Barycentric coordinates (k, c), ≥ 0, of the point of each simplex (k, c, a) closest to each position (k, a)."""
    corners = simplices.shape[1]
    if corners == 1:
        return np.ones((len(positions), 1))
    if corners == 2:
        along = simplices[:, 1] - simplices[:, 0]
        length = (along**2).sum(axis=1)
        t = ((positions - simplices[:, 0]) * along).sum(axis=1) / np.where(length > 0.0, length, 1.0)
        t = np.clip(t, 0.0, 1.0)
        return np.stack([1.0 - t, t], axis=1)
    edges = simplices[:, 1:] - simplices[:, :1]
    gram = np.einsum("kia,kja->kij", edges, edges)
    rhs = np.einsum("kia,ka->ki", edges, positions - simplices[:, 0])
    det = gram[:, 0, 0] * gram[:, 1, 1] - gram[:, 0, 1] ** 2
    flat = det <= 1e-12 * gram[:, 0, 0] * gram[:, 1, 1]
    safe = np.where(flat, 1.0, det)
    first = (rhs[:, 0] * gram[:, 1, 1] - rhs[:, 1] * gram[:, 0, 1]) / safe
    second = (rhs[:, 1] * gram[:, 0, 0] - rhs[:, 0] * gram[:, 0, 1]) / safe
    inner = np.stack([1.0 - first - second, first, second], axis=1)
    outside = flat | (inner < 0.0).any(axis=1)
    best, out = np.full(len(positions), np.inf), np.zeros_like(inner)
    for pair in _pairs(3):  # the closest point on an edge
        share = np.zeros_like(inner)
        share[:, list(pair)] = _closest_in(simplices[:, list(pair)], positions)
        distance = np.linalg.norm(np.einsum("kc,kca->ka", share, simplices) - positions, axis=1)
        nearer = distance < best
        best[nearer], out[nearer] = distance[nearer], share[nearer]
    return np.where(outside[:, None], out, inner)
