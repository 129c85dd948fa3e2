"""Convex regions that cut the overlap of two meshes where the weights have a kink."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.types import Array, Indices


@dataclass(frozen=True, eq=False)
class Region:
    """The points x with normals @ x >= offsets: normals (h, axis) of unit length, offsets (h,) m.

    glued: whether the parts are glued there (else only the weights act).
    """

    normals: Array
    offsets: Array
    glued: bool = True


def split_pairs(
    regions: Sequence[Region], pairs: Indices, coarse: Array, fine: Array, tolerance: float
) -> tuple[Indices, Indices, NDArray[np.bool_]]:
    """Pairs (2, n) with their region (n,), and whether the region still has to cut the piece (n,).

    A pair appears once per region that both cells reach; cells are convex, so that their vertices (axis, vertex,
    cell) tell. No regions: every pair in region 0.
    """
    if not regions:
        return pairs, np.zeros(pairs.shape[1], dtype=np.int64), np.zeros(pairs.shape[1], dtype=bool)
    found = []
    for r, region in enumerate(regions):
        within = np.zeros(pairs.shape[1], dtype=bool)
        reached = np.ones(pairs.shape[1], dtype=bool)
        for vertices, cells in ((coarse, pairs[0]), (fine, pairs[1])):
            inside = np.ones(vertices.shape[2], dtype=bool)
            outside = np.zeros(vertices.shape[2], dtype=bool)
            for normal, offset in zip(region.normals, region.offsets, strict=True):
                distance = np.einsum("i,ivc->vc", normal, vertices) - offset
                inside &= distance.min(axis=0) >= -tolerance
                outside |= distance.max(axis=0) <= tolerance
            within |= inside[cells]
            reached &= ~outside[cells]
        kept = np.flatnonzero(reached)
        found.append((kept, np.full(kept.size, r), ~within[kept]))
    pair, region_of, cut = (np.concatenate(part) for part in zip(*found, strict=True))
    order = np.lexsort((region_of, pair))
    return pairs[:, pair[order]], region_of[order], cut[order]


def stacked(regions: Sequence[Region], axes: int) -> tuple[Array, Array]:
    """Normals (r, h, axis) and offsets (r, h) of all regions, padded with zeros."""
    most = max((len(region.offsets) for region in regions), default=0)
    normals, offsets = np.zeros((max(len(regions), 1), most, axes)), np.zeros((max(len(regions), 1), most))
    for r, region in enumerate(regions):
        normals[r, : len(region.offsets)] = region.normals
        offsets[r, : len(region.offsets)] = region.offsets
    return normals, offsets
