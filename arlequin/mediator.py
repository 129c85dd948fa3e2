"""Mediator of a junction: the space of the multipliers that glue two parts."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.spatial import cKDTree
from skfem import CellBasis

from arlequin.coupling import Shapes
from arlequin.overlap import Overlap
from models.errors import UserError

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

# share of ∫ψ² inside the overlap below which a function is handed to its neighbour
# (first order: a cell of which the overlap holds 27 % of the width)
NEGLIGIBLE = 1e-2
# the same where the functions are cut apart at edges of the zone, which leaves more and larger slivers
NEGLIGIBLE_BROKEN = 1e-1


@dataclass(frozen=True)
class Mediator:
    """Trace of a scalar finite-element space on a gluing zone: ψ_m = Σ_n selection[m, n] φ_n.

    selection (m, n): 0 or 1; positions (m, axis): nodes that carry the functions, m.

    Rule: functions that vanish on the overlap are dropped; a function with less than `NEGLIGIBLE` of its own
    ∫ψ² inside it (its cells are cut down to slivers) is added to the nearest kept one. Such a function alone
    gives a row of C that is nearly zero, a multiplier without bound and a badly conditioned dual operator;
    dropped without being handed on, it would leave the constants out of the mediator in the slivers, and with
    them the constant-strain patch test.
    Source of the aggregation: Badia, Verdugo & Martín, CMAME 336, 2018.
    """

    selection: csr_array
    positions: Array

    @property
    def size(self) -> int:
        """Number of scalar functions."""
        return int(self.selection.shape[0])

    @classmethod
    def trace(
        cls,
        basis: CellBasis,
        pieces: Overlap,
        cells: Indices,
        group: Indices,
        groups: int,
        chunk: int,
    ) -> "Mediator":
        """The trace of `basis` on the pieces, which lie in its `cells` (p,), cut apart between `groups` of them.

        group (p,): the group of each piece; function n of group g has the number g × size + n. chunk: pieces whose
        shape functions are held at a time.
        """
        size = int(basis.N)
        inside, whole = np.zeros(groups * size), np.zeros(size)
        for start in range(0, cells.size, chunk):
            part = slice(start, start + chunk)
            shapes = Shapes.at(basis, cells[part], pieces.points[:, part]).broken(group[part], groups)
            squares = np.einsum("apq,apq,pq->ap", shapes.values, shapes.values, pieces.dx[part])
            inside += np.bincount(shapes.nodes.ravel(), squares.ravel(), shapes.size)
        for nodes, field in zip(basis.element_dofs, basis.basis, strict=True):
            whole += np.bincount(nodes, (field[0] ** 2 * basis.dx).sum(axis=1), size)
        share = inside / np.tile(whole, groups)
        negligible = NEGLIGIBLE if groups == 1 else NEGLIGIBLE_BROKEN
        kept = np.flatnonzero(share > negligible)
        slivers = np.flatnonzero((share > 0) & (share <= negligible))
        if kept.size == 0:
            raise UserError("junction: the mediator has no degrees of freedom, the overlap is too thin")
        # a further axis keeps groups apart: no function of another group is near
        positions = np.tile(basis.doflocs.T, (groups, 1))
        apart = np.repeat(np.arange(groups), size) * 10 * (1 + np.ptp(positions))
        places = np.column_stack((positions, apart))
        _, nearest = cKDTree(places[kept]).query(places[slivers])
        rows = np.concatenate((np.arange(kept.size), nearest))
        columns = np.concatenate((kept, slivers))
        selection = coo_array((np.ones(rows.size), (rows, columns)), shape=(kept.size, groups * size))
        return cls(csr_array(selection), positions[kept])
