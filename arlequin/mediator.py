"""Mediator of a junction: the space of the multipliers that glue two parts."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.spatial import cKDTree
from skfem import CellBasis

from arlequin.coupling import Shapes
from models.errors import UserError

Array = NDArray[np.float64]

# share of ∫ψ² inside the overlap below which a function is handed to its neighbour
# (first order: a cell of which the overlap holds 27 % of the width)
NEGLIGIBLE = 1e-2


@dataclass(frozen=True)
class Mediator:
    """Trace of a scalar finite-element space on an overlap: ψ_m = Σ_n selection[m, n] φ_n.

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
    def trace(cls, basis: CellBasis, shapes: Shapes, dx: Array, negligible: float = NEGLIGIBLE) -> "Mediator":
        """The trace of `basis` on the pieces on which `shapes` are given, with their weights dx (p, q)."""
        inside = np.bincount(
            shapes.nodes.ravel(),
            np.einsum("apq,apq,pq->ap", shapes.values, shapes.values, dx).ravel(),
            shapes.size,
        )
        whole = np.zeros(shapes.size)
        for nodes, field in zip(basis.element_dofs, basis.basis, strict=True):
            whole += np.bincount(nodes, (field[0] ** 2 * basis.dx).sum(axis=1), shapes.size)
        share = inside / whole
        kept = np.flatnonzero(share > negligible)
        slivers = np.flatnonzero((share > 0) & (share <= negligible))
        if kept.size == 0:
            raise UserError("junction: the mediator has no degrees of freedom, the overlap is too thin")
        positions = basis.doflocs.T
        _, nearest = cKDTree(positions[kept]).query(positions[slivers])
        rows = np.concatenate((np.arange(kept.size), nearest))
        columns = np.concatenate((kept, slivers))
        selection = coo_array((np.ones(rows.size), (rows, columns)), shape=(kept.size, shapes.size))
        return cls(csr_array(selection), positions[kept])
