"""Sample points of a gluing zone at which the motions of both parts are compared."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.sparse import coo_array, csr_array, eye_array, kron

from arlequin.junctions.base import depth
from arlequin.junctions.coupling import Shapes
from arlequin.junctions.junction import Junction
from arlequin.models.part import MeshedPart
from arlequin.models.types import Array, Indices

POINTS = 500  # at most: relative standard error of an energy share about 1/20


@dataclass(frozen=True, eq=False)
class ZoneSample:
    """Points p of a gluing zone, a subset of the quadrature points of the coupling form.

    coarse, fine (p i, nodal): interpolation of the displacements of each part at the points, component by component;
    share (p,): s, from 0 to 1 in the direction in which the weight of the fine part rises; masses (p,), kg: mass
    represented by each point; their sum is the mass of the zone.
    """

    coarse: csr_array
    fine: csr_array
    share: Array
    masses: Array

    @classmethod
    def of(cls, junction: Junction) -> Self:
        pieces = junction.glued
        indices = np.flatnonzero(pieces.dx > 0.0)
        if indices.size > POINTS:
            indices = np.sort(np.random.default_rng(0).choice(indices, POINTS, replace=False))
        piece, q = np.unravel_index(indices, pieces.dx.shape)
        points = pieces.points[:, piece, q]
        volumes = pieces.dx[piece, q] * np.broadcast_to(depth(junction.coarse, points), piece.size)
        total = float((pieces.dx * depth(junction.coarse, pieces.points)).sum())
        s, _ = junction.zone_coordinate.on_pieces(pieces)
        density = float(junction.fine.model.material.density)  # type: ignore[attr-defined]
        return cls(
            _values(junction.coarse, pieces.coarse_cells[piece], points),
            _values(junction.fine, pieces.fine_cells[piece], points),
            np.clip(s[piece, q], 0.0, 1.0),
            volumes * (density * total / volumes.sum()),
        )


def _values(part: MeshedPart, cells: Indices, points: Array) -> csr_array:
    """Displacements (p i, nodal) at points (axis, p) in cells (p,) of a part."""
    shapes = Shapes.at(part.basis, cells, points[:, :, None])
    count = points.shape[1]
    rows = np.broadcast_to(np.arange(count), shapes.nodes.shape)
    entries = shapes.values[:, :, 0].ravel(), (rows.ravel(), shapes.nodes.ravel())
    scalar = csr_array(coo_array(entries, shape=(count, shapes.size)))
    return csr_array(kron(scalar, eye_array(part.components), format="csr"))
