"""Weights of both parts of a junction at their quadrature points."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from arlequin.junctions.base import depth
from arlequin.junctions.curved_border import ROUND_OFF, covered_but_for_curvature
from arlequin.junctions.weights import Weight, cell_weights, share
from arlequin.junctions.zone_coordinate import ZoneCoordinate
from arlequin.models.errors import UserError
from arlequin.models.part import MeshedPart
from arlequin.models.types import Array, Indices
from arlequin.overlap.intersect import Overlap

Mask = NDArray[np.bool_]

# tolerance on ∫ of both weights, relative to the overlap: the quadrature error of smooth weights
SUM_TOLERANCE = 1e-2


@dataclass(frozen=True, eq=False)
class Cover:
    """Coverage of each cell (c,) of a part by the overlap.

    share: covered share of the measure; filled: covered up to the approximation of a curved border; plain: covered and
    outside the gluing zone, so that the weight is uniform.
    """

    share: Array
    filled: Mask
    plain: Mask

    @property
    def overlapped(self) -> Mask:
        """Cells that the overlap covers at least in part."""
        return self.share > ROUND_OFF


class Sharing:
    """Weights (c, q) of the parts on the pieces of their overlap.

    The weight is 1 at a point covered by one part only, except between the two approximations of a common curved
    border, where it is that of the zone, α(s) or 1 − α(s). Hence

        ∫_coarse (1 − α) + ∫_fine α → ∫_body

    with the geometric error of each mesh times its weight.
    """

    def __init__(
        self, name: str, coarse: MeshedPart, fine: MeshedPart, zone_coordinate: ZoneCoordinate, pieces: Overlap
    ) -> None:
        self._name, self._coordinate, self._pieces = name, zone_coordinate, pieces
        self._parts = coarse, fine
        self._cells = pieces.coarse_cells, pieces.fine_cells
        self._covered = covered_but_for_curvature(coarse.basis, fine.basis, self._cells, pieces.dx)
        self._dx = pieces.dx * depth(coarse, pieces.points)
        self._s, self._state = zone_coordinate.on_pieces(pieces)

    def weights(self, weights: Weight, floor: float, moments: bool = True) -> dict[str, tuple[Array, Array]]:
        """Weights and their errors by name, for one kind of energy; floor: of the coarse part in S_f; moments: see
        `cell_weights`."""
        pieces, dx = self._pieces, self._dx
        alpha = share(weights, self._s, pieces.points, floor, self._state)
        kinds = 3 * pieces.region[:, None] + self._state
        result, total, union, thin = {}, 0.0, -dx.sum(), 0.0
        for part, cells, filled in zip(self._parts, self._cells, self._covered, strict=True):
            points = part.quadrature_points()
            at_points = self.at(part, points, np.arange(points.shape[1]), weights, floor)
            at_pieces = alpha if part is self._parts[1] else 1 - alpha
            if not (np.isfinite(at_points).all() and at_points.min() >= 0 and at_points.max() <= 1):
                raise UserError(f"junction '{self._name}': weights must lie between 0 and 1")
            cell_dx = part.basis.dx * depth(part, points)
            values, error = cell_weights(
                part.basis, cell_dx, cells, pieces.points, dx, at_pieces, at_points, kinds, moments, filled
            )
            result[part.name] = values, error
            measure = cell_dx.sum(axis=1)
            total += float((values * cell_dx).sum())
            union += float(measure.sum())
            thin += float(np.abs(measure - np.bincount(cells, dx.sum(axis=1), measure.size))[filled].sum())
        if abs(total - union) > SUM_TOLERANCE * abs(dx.sum()) + thin:
            raise UserError(f"junction '{self._name}': the weights of both parts do not sum to one", code=1)
        return result

    def cover(self, part: MeshedPart) -> Cover:
        """Coverage of the part's cells by the overlap."""
        index, pieces = self._index(part), self._pieces
        cells, filled = self._cells[index], self._covered[index]
        measure = part.basis.dx.sum(axis=1)
        covered = np.bincount(cells, pieces.dx.sum(axis=1), measure.size) / measure
        states = self._state.min(axis=1), self._state.max(axis=1)
        smallest, largest = np.full(measure.size, 3), np.full(measure.size, -1)
        np.minimum.at(smallest, cells, states[0])
        np.maximum.at(largest, cells, states[1])
        fully = filled | (np.abs(1 - covered) <= ROUND_OFF)
        return Cover(covered, filled, fully & (smallest == largest) & (largest != 1))

    def reduction(self, part: MeshedPart, chosen: Mask, weights: Weight, floor: float) -> tuple[Indices, Array, Array]:
        """Pieces in the `chosen` cells (c,) of the part: cells (p,), points (axis, p, q) and (w − 1) dx (p, q)."""
        index, pieces = self._index(part), self._pieces
        indices = np.flatnonzero(chosen[self._cells[index]])
        points = pieces.points[:, indices]
        alpha = share(weights, self._s[indices], points, floor, self._state[indices])
        return self._cells[index][indices], points, (alpha - 1 if index == 1 else -alpha) * self._dx[indices]

    def at(self, part: MeshedPart, points: Array, cells: Indices, weights: Weight, floor: float) -> Array:
        """The part's weight (n, q) at points (axis, n, q) in its cells (n,), as a function of the position."""
        if part is self._parts[1]:
            return share(weights, self._coordinate.on_fine(points, cells, self._pieces), points, floor)
        return 1 - share(weights, self._coordinate.on_coarse(points, cells), points, floor)

    def _index(self, part: MeshedPart) -> int:
        return self._parts.index(part)
