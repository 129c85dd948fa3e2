"""Blocks of structured points: transfinite interpolation, and one conforming mesh of any kind and order from them.

A block holds its points at half-steps, (axis, 2n₁ + 1, 2n₂ + 1 …): cells of order 1 take the even ones, cells of
order 2 all. Simplices are Kuhn's: the corners of a cell reached by adding its directions in every order, so that every
face is cut from its lowest to its highest index, and two blocks that number a common face alike conform.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import Any

import numpy as np
import skfem
from scipy.optimize import brentq
from scipy.spatial import cKDTree

from models import checks, limits
from models.types import Array, Indices

_KINDS: dict[str, tuple[tuple[type, type], tuple[type, type]]] = {
    "quad": ((skfem.MeshQuad1, skfem.ElementQuad1), (skfem.MeshQuad2, skfem.ElementQuad2)),
    "tri": ((skfem.MeshTri1, skfem.ElementTriP1), (skfem.MeshTri2, skfem.ElementTriP2)),
    "hex": ((skfem.MeshHex1, skfem.ElementHex1), (skfem.MeshHex2, skfem.ElementHex2)),
    "tet": ((skfem.MeshTet1, skfem.ElementTetP1), (skfem.MeshTet2, skfem.ElementTetP2)),
}


def halved(points: Array) -> Array:
    """Values at cell ends (n + 1,) → ends and middles (2n + 1,)."""
    return np.interp(np.arange(2 * points.size - 1) / 2, np.arange(points.size), points)


def graded(cells: int, first: float, total: float) -> Array:
    """Fractions 0 … 1 (2·cells + 1,) of ends and middles of cells that grow geometrically from the size `first`.

    Cells never shrink: where equal cells are smaller than `first`, they are equal.

    >>> graded(2, 1.0, 3.0)
    array([0.        , 0.16666667, 0.33333333, 0.66666667, 1.        ])
    """
    share = min(first / total, 1.0 / cells)

    def excess(ratio: float) -> float:
        return share * float(np.sum(ratio ** np.arange(cells))) - 1.0

    # Σ rᵏ = 1/share: its last term is the largest, and no more than all
    most = share ** (-1.0 / max(cells - 1, 1))
    ratio = brentq(excess, 1.0, most, xtol=1e-14) if share * cells < 1.0 else 1.0
    ends = np.concatenate([[0.0], np.cumsum(ratio ** np.arange(cells))])
    return halved(ends / ends[-1])


def transfinite(sides: Sequence[tuple[Array, Array]], fractions: Sequence[Array]) -> Array:
    """Points (axis, …) of a block from its sides (low, high) across each direction, which must meet at their borders.

    The Boolean sum of the linear blends: along each direction in turn, what the sides still miss is added.
    Source: Gordon & Hall, IJNME 7, 1973.
    """
    shape = tuple(f.size for f in fractions)
    points = np.zeros((sides[0][0].shape[0], *shape))
    for k, ((low, high), fraction) in enumerate(zip(sides, fractions, strict=True)):
        weight = fraction.reshape([-1 if j == k else 1 for j in range(len(shape))])
        missing = [np.expand_dims(side - points.take(end, axis=k + 1), k + 1) for side, end in ((low, 0), (high, -1))]
        points = points + (1 - weight) * missing[0] + weight * missing[1]
    return points


def mesh_of(blocks: Sequence[Array], kind: str, order: int) -> Any:
    """The mesh of the blocks, points in common merged; cells right-handed (scikit-fem re-sorts linear triangles)."""
    dimension = blocks[0].shape[0]
    checks.one_of("kind", kind, ("quad", "tri") if dimension == 2 else ("hex", "tet"))
    checks.one_of("order", order, (1, 2))
    mesh_class, element = _KINDS[kind][order - 1]
    locations = np.asarray(element().doflocs)
    limits.check_cells("blocks", len(blocks), sum(block[0].size / 2**dimension for block in blocks), dimension)
    points = np.concatenate([block.reshape(dimension, -1).T for block in blocks])
    cells, start = [], 0
    for block in blocks:
        numbers = start + np.arange(block[0].size).reshape(block.shape[1:])
        start += block[0].size
        for offsets in _offsets(locations, dimension, kind, _handed(block)):
            cells.append(np.stack([_shifted(numbers, tuple(row)) for row in offsets], axis=1))
    return _merged(points, np.concatenate(cells), mesh_class)


def _shifted(numbers: Indices, offset: tuple[int, ...]) -> Indices:
    """The numbers of the points at one place of every cell, (c,)."""
    window = tuple([slice(o, o + n - 2, 2) for o, n in zip(offset, numbers.shape, strict=True)])
    return numbers[window].ravel()


def _handed(block: Array) -> bool:
    """Whether the block's first cell is right-handed."""
    corner = block[(slice(None), *[slice(0, 3, 2)] * (block.ndim - 1))]
    origin = corner.reshape(len(block), -1)[:, 0]
    steps = [corner.take(1, axis=k + 1).reshape(len(block), -1)[:, 0] - origin for k in range(len(block))]
    return bool(np.linalg.det(np.stack(steps)) > 0)


def _offsets(locations: Array, dimension: int, kind: str, handed: bool) -> list[Indices]:
    """Half-steps (nodes, direction) from a cell's first corner to the nodes of its elements."""
    if kind in ("quad", "hex"):
        places = locations.copy()
        if not handed:
            places[:, 0] = 1 - places[:, 0]
        return [np.rint(2 * places).astype(np.int64)]
    found = []
    for path in permutations(range(dimension)):
        corners = np.vstack([np.zeros(dimension), np.cumsum(np.eye(dimension)[list(path)], axis=0)])
        if (np.linalg.det(corners[1:]) > 0) != handed:
            corners[[1, 2]] = corners[[2, 1]]
        found.append(np.rint(2 * (locations @ corners[1:])).astype(np.int64))
    return found


def _merged(points: Array, cells: Indices, mesh_class: Any) -> Any:
    """One number for points at one place, unused points left out."""
    tolerance = 1e-9 * float(np.ptp(points, axis=0).max())
    same = np.arange(len(points))
    pairs = cKDTree(points).query_pairs(tolerance, output_type="ndarray")
    np.minimum.at(same, pairs.max(axis=1), pairs.min(axis=1))
    used, compact = np.unique(same[cells], return_inverse=True)
    numbers = compact.reshape(cells.shape).T.astype(np.int32)
    return mesh_class(np.ascontiguousarray(points[used].T), np.ascontiguousarray(numbers))
