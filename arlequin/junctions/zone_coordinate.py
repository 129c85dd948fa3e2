"""Tapers: the coordinate s of a zone, 0 where the fine part's weight starts to rise and 1 where it is whole."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from skfem import CellBasis

from arlequin.models import checks
from arlequin.models.types import Array, Indices
from arlequin.overlap.clipping import Region
from arlequin.overlap.geometry import to_reference
from arlequin.overlap.intersect import Overlap


class ZoneCoordinate(Protocol):
    """s over the overlap: s ≤ 0 outside the zone, 0 < s < 1 where the parts are glued (S_g), s ≥ 1 in S_f."""

    @property
    def regions(self) -> tuple[Region, ...]:
        """Convex regions that tile space and in each of which s is linear; empty where there are none."""
        ...

    def on_pieces(self, pieces: Overlap) -> tuple[Array, Indices]:
        """s (p, q) on the pieces of the overlap, and their state (p, q): 0 outside the zone, 1 glued, 2 free.

        A piece that lies in one region has the state and the linear s of the region at all its points, also at
        those of a rule that lie outside the piece.
        """
        ...

    def on_coarse(self, points: Array, cells: Indices) -> Array:
        """s (n, q) at points (axis, n, q) in cells (n,) of the coarse part."""
        ...

    def on_fine(self, points: Array, cells: Indices, pieces: Overlap) -> Array:
        """s (n, q) at points (axis, n, q) in cells (n,) of the fine part."""
        ...


@dataclass(frozen=True, eq=False)
class PlanarZoneCoordinate:
    """s(x) = min_k (n_k·x − start_k) / width_k: the distance to the nearest of some planes, each with its width.

    normals (k, axis) of unit length towards the fine part's free zone; starts, widths (k,) m.
    """

    normals: Array
    starts: Array
    widths: Array

    @classmethod
    def along(cls, axis: int, axes: int, start: float, end: float) -> "PlanarZoneCoordinate":
        """From 0 at the coordinate `start` to 1 at `end`, on either side of it."""
        sign = 1.0 if end > start else -1.0
        return cls(sign * np.eye(axes)[[axis]], np.array([sign * start]), np.array([abs(end - start)]))

    def coordinate(self, points: Array) -> Array:
        """s at points (axis, …), unbounded."""
        result: Array = np.full(points.shape[1:], np.inf)
        for normal, start, width in zip(self.normals, self.starts, self.widths, strict=True):
            np.minimum(result, (np.tensordot(normal, points, axes=1) - start) / width, out=result)
        return result

    @property
    def regions(self) -> tuple[Region, ...]:
        """For each plane where it is the nearest: outside the zone and in S_g; then S_f."""
        found = []
        slopes, levels = self.normals / self.widths[:, None], self.starts / self.widths
        for k in range(len(levels)):
            others = [j for j in range(len(levels)) if j != k]
            nearest = slopes[others] - slopes[k], levels[others] - levels[k]
            outside = -slopes[[k]], -levels[[k]]
            rising = slopes[[k]], levels[[k]]
            below_one = -slopes[[k]], -levels[[k]] - 1
            found.append(_region((nearest, outside), glued=False))
            found.append(_region((nearest, rising, below_one), glued=True))
        found.append(_region(((slopes, levels + 1),), glued=False))
        return tuple(found)

    def on_pieces(self, pieces: Overlap) -> tuple[Array, Indices]:
        """See `ZoneCoordinate.on_pieces`."""
        plane, state = pieces.region // 2, np.where(pieces.region % 2, 1, 0)
        state[plane == len(self.starts)] = 2
        plane = np.minimum(plane, len(self.starts) - 1)
        distance = np.einsum("pi,ipq->pq", self.normals[plane], pieces.points) - self.starts[plane, None]
        return distance / self.widths[plane, None], np.broadcast_to(state[:, None], pieces.dx.shape)

    def on_coarse(self, points: Array, cells: Indices) -> Array:
        """See `ZoneCoordinate.on_coarse`."""
        return self.coordinate(points)

    def on_fine(self, points: Array, cells: Indices, pieces: Overlap) -> Array:
        """See `ZoneCoordinate.on_fine`."""
        return self.coordinate(points)


@dataclass(frozen=True, eq=False)
class LevelZoneCoordinate(PlanarZoneCoordinate):
    """s(x) = level(x) / width of any function: the pieces are not cut at its level lines, S_g is taken point by point.

    level: function of points (axis, n) that gives metres (n,), 0 where the zone starts and growing into S_f.
    """

    level: object = None

    def coordinate(self, points: Array) -> Array:
        """s at points (axis, …)."""
        assert callable(self.level)
        x = points.reshape(points.shape[0], -1)
        return checks.one_each("level", self.level(x), x.shape[1]).reshape(points.shape[1:]) / self.widths[0]

    @property
    def regions(self) -> tuple[Region, ...]:
        """None: what the function is linear in is not known."""
        return ()

    def on_pieces(self, pieces: Overlap) -> tuple[Array, Indices]:
        """See `ZoneCoordinate.on_pieces`."""
        return _clipped(self.coordinate(pieces.points))


@dataclass(frozen=True, eq=False)
class CellZoneCoordinate:
    """s from values at the vertices of the coarse mesh, first order in each cell: nothing to cut.

    basis: first-order scalar basis of the coarse mesh; values (c, vertex): s at the vertices of each cell.
    """

    basis: CellBasis
    values: Array

    @property
    def regions(self) -> tuple[Region, ...]:
        """None: s is smooth in each coarse cell."""
        return ()

    def _at(self, cells: Indices, X: Array) -> Array:
        """s (p, q) at reference points X (axis, p, q) of cells (p,)."""
        total = np.zeros(X.shape[1:])
        for a in range(self.basis.Nbfun):
            total += self.values[cells, a][:, None] * self.basis.elem.lbasis(X, a)[0]
        return total

    def on_pieces(self, pieces: Overlap) -> tuple[Array, Indices]:
        """See `ZoneCoordinate.on_pieces`."""
        cells = pieces.coarse_cells
        s = self._at(cells, to_reference(self.basis.mesh, cells, pieces.points)[0])
        kind = np.where(self.values[cells, 0] == -1.0, 0, np.where(self.values[cells, 0] == 2.0, 2, 1))
        return s, np.broadcast_to(kind[:, None], s.shape)

    def on_coarse(self, points: Array, cells: Indices) -> Array:
        """See `ZoneCoordinate.on_coarse`."""
        return self._at(cells, to_reference(self.basis.mesh, cells, points)[0])

    def on_fine(self, points: Array, cells: Indices, pieces: Overlap) -> Array:
        """See `ZoneCoordinate.on_fine`: each point in the coarse cell, of those that meet its cell, that holds it best.

        A cell that meets none takes those of the nearest one that does.
        """
        fine, coarse = np.unique(np.stack((pieces.fine_cells, pieces.coarse_cells)), axis=1)
        met = np.flatnonzero(np.diff(fine, prepend=-1))
        alone = ~np.isin(cells, fine)
        own = cells.copy()
        if alone.any():
            from scipy.spatial import cKDTree

            middle = np.zeros((fine[-1] + 1, points.shape[0]))
            np.add.at(middle, pieces.fine_cells, pieces.points.mean(axis=2).T)
            middle = middle[fine[met]] / np.bincount(pieces.fine_cells)[fine[met], None]
            own[alone] = fine[met][cKDTree(middle).query(points[:, alone].mean(axis=2).T)[1]]
        # of each given cell the coarse ones that it meets
        first, count = np.searchsorted(fine, own), np.searchsorted(fine, own, side="right")
        count -= first
        given = np.repeat(np.arange(own.size), count)
        coarse = coarse[np.arange(given.size) + np.repeat(first - np.cumsum(count) + count, count)]
        X, _ = to_reference(self.basis.mesh, coarse, points[:, given])
        beyond = np.maximum(-X, X - 1).max(axis=0)
        if self.basis.Nbfun == X.shape[0] + 1:
            beyond = np.maximum(beyond, X.sum(axis=0) - 1)
        result = np.zeros(points.shape[1:])
        values = self._at(coarse, X)
        # the best candidate is written last
        for q in range(points.shape[2]):
            order = np.argsort(-beyond[:, q], kind="stable")
            result[given[order], q] = values[order, q]
        return result


def _clipped(s: Array) -> tuple[Array, Indices]:
    """s cut to [0, 1] and its state."""
    return np.clip(s, 0.0, 1.0), np.where(s <= 0, 0, np.where(s >= 1, 2, 1))


def _region(bounds: tuple[tuple[Array, Array], ...], glued: bool) -> Region:
    """The region of all bounds (gradients @ x >= levels), with unit normals."""
    gradients = np.concatenate([gradient for gradient, _ in bounds])
    levels = np.concatenate([level for _, level in bounds])
    length = np.linalg.norm(gradients, axis=1)
    kept = length > 0
    return Region(gradients[kept] / length[kept, None], levels[kept] / length[kept], glued)
