"""A sample of points of a gluing zone, at which the motions of both parts are compared."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.sparse import coo_array, csr_array, eye_array, kron

from arlequin.junctions.base import depth
from arlequin.junctions.coupling import Shapes
from arlequin.junctions.junction import Junction
from arlequin.models.part import MeshedPart
from arlequin.models.types import Array, Indices

POINTS = 500  # at most: the share of an energy is then known to about a twentieth of itself


@dataclass(frozen=True, eq=False)
class ZoneSample:
    """Points p of a gluing zone, some of those at which the coupling form is integrated.

    coarse, fine: values (p i, nodal) of the displacement of each part at the points, component by component; share
    (p,): s, which rises from 0 to 1 as the weight of the fine part does; masses (p,): of the matter that each point
    stands for, kg, those of all points together that of the zone.
    """

    coarse: csr_array
    fine: csr_array
    share: Array
    masses: Array

    @classmethod
    def of(cls, junction: Junction) -> Self:
        pieces = junction.glued
        chosen = np.flatnonzero(pieces.dx > 0.0)
        if chosen.size > POINTS:
            chosen = np.sort(np.random.default_rng(0).choice(chosen, POINTS, replace=False))
        piece, q = np.unravel_index(chosen, pieces.dx.shape)
        points = pieces.points[:, piece, q]
        volumes = pieces.dx[piece, q] * np.broadcast_to(depth(junction.coarse, points), piece.size)
        whole = float((pieces.dx * depth(junction.coarse, pieces.points)).sum())
        s, _ = junction.zone_coordinate.on_pieces(pieces)
        density = float(junction.fine.model.material.density)  # type: ignore[attr-defined]
        return cls(
            _values(junction.coarse, pieces.coarse_cells[piece], points),
            _values(junction.fine, pieces.fine_cells[piece], points),
            np.clip(s[piece, q], 0.0, 1.0),
            volumes * (density * whole / volumes.sum()),
        )


def _values(part: MeshedPart, cells: Indices, points: Array) -> csr_array:
    """Displacements (p i, nodal) at points (axis, p) in cells (p,) of a part."""
    shapes = Shapes.at(part.basis, cells, points[:, :, None])
    count = points.shape[1]
    rows = np.broadcast_to(np.arange(count), shapes.nodes.shape)
    entries = shapes.values[:, :, 0].ravel(), (rows.ravel(), shapes.nodes.ravel())
    scalar = csr_array(coo_array(entries, shape=(count, shapes.size)))
    return csr_array(kron(scalar, eye_array(part.components), format="csr"))
