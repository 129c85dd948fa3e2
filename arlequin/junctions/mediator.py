"""Mediator of a junction: the space of the multipliers that glue two parts."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array, eye_array, kron
from skfem import CellBasis

from arlequin.junctions.coupling import Shapes
from arlequin.models.errors import UserError
from arlequin.models.fem.elements import scalar_basis
from arlequin.models.types import Array, Indices
from arlequin.overlap.intersect import Overlap

# share of ∫ψ² inside the overlap below which a function is handed to its neighbour
# (first order: a cell of which the overlap holds 27 % of the width)
NEGLIGIBLE = 1e-2
# the same where the functions are cut apart at edges of the zone, which leaves more and larger slivers
NEGLIGIBLE_BROKEN = 1e-1


@dataclass(frozen=True)
class Mediator:
    """Trace of a scalar finite-element space on a gluing zone: ψ_m = Σ_n selection[m, n] φ_n.

    selection (m, n): of sums 1 over m; positions (m, axis): nodes that carry the functions, m.

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
        reduction: csr_array,
        pieces: Overlap,
        cells: Indices,
        group: Indices,
        groups: int,
        chunk: int,
    ) -> "Mediator":
        """The trace of reduction @ `basis` on the pieces, in its `cells` (p,), cut apart between `groups` of them.

        reduction (r, n): see `reduced`; group (p,): the group of each piece; function n of group g has the number
        g × size + n. chunk: pieces whose shape functions are held at a time.
        """
        size = int(basis.N)
        inside, full = np.zeros(groups * size), np.zeros(size)
        for start in range(0, cells.size, chunk):
            part = slice(start, start + chunk)
            shapes = Shapes.at(basis, cells[part], pieces.points[:, part]).broken(group[part], groups)
            squares = np.einsum("apq,apq,pq->ap", shapes.values, shapes.values, pieces.dx[part])
            inside += np.bincount(shapes.nodes.ravel(), squares.ravel(), shapes.size)
        for nodes, field in zip(basis.element_dofs, basis.basis, strict=True):
            full += np.bincount(nodes, (field[0] ** 2 * basis.dx).sum(axis=1), size)
        rows = csr_array(kron(eye_array(groups), reduction))
        share = (rows**2 @ inside) / (rows**2 @ np.tile(full, groups))
        negligible = NEGLIGIBLE if groups == 1 else NEGLIGIBLE_BROKEN
        kept = np.flatnonzero(share > negligible)
        slivers = np.flatnonzero((share > 0) & (share <= negligible))
        if kept.size == 0:
            raise UserError("junction: the mediator has no degrees of freedom, the overlap is too thin")
        from scipy.spatial import cKDTree

        # a further axis keeps groups apart: no function of another group is near
        nodes = reduction.argmax(axis=1)
        positions = np.tile(basis.doflocs.T[nodes], (groups, 1))
        apart = np.repeat(np.arange(groups), nodes.size) * 10 * (1 + np.ptp(positions))
        places = np.column_stack((positions, apart))
        _, nearest = cKDTree(places[kept]).query(places[slivers])
        entries = np.concatenate((np.arange(kept.size), nearest)), np.concatenate((kept, slivers))
        handed = coo_array((np.ones(entries[0].size), entries), shape=(kept.size, share.size))
        return cls(csr_array(handed @ rows), positions[kept])


def whole(basis: CellBasis) -> csr_array:
    """The reduction that leaves every function as it is."""
    return csr_array(eye_array(int(basis.N)))


def reduced(basis: CellBasis, inner: NDArray[np.bool_]) -> csr_array:
    """The functions of a basis, of first order in the cells that are not `inner` (c,), as rows (r, n) of its own.

    The nodes between vertices go where one of their cells is not inner, and the vertices' functions become
    φ_v + Σ_n N_v(x_n) φ_n over them, with N_v of first order: all sum to one, and hold the linear fields.
    """
    first = scalar_basis(basis.mesh, 1)
    corners = first.Nbfun
    gone = np.zeros(basis.N, dtype=bool)
    gone[basis.element_dofs[corners:, ~inner]] = True
    at_nodes = np.stack([first.elem.lbasis(basis.elem.doflocs[corners:].T, a)[0] for a in range(corners)])
    vertices, between = basis.element_dofs[:corners, None, ~inner], basis.element_dofs[None, corners:, ~inner]
    pairs = np.stack([np.broadcast_to(dofs, (*at_nodes.shape, dofs.shape[2])).ravel() for dofs in (vertices, between)])
    # the same in every cell that shares the two nodes
    pairs, once = np.unique(pairs, axis=1, return_index=True)
    values = np.broadcast_to(at_nodes[:, :, None], (*at_nodes.shape, vertices.shape[2])).ravel()[once]
    rows = eye_array(int(basis.N)) + coo_array((values, pairs), shape=(int(basis.N), int(basis.N)))
    return csr_array(csr_array(rows)[np.flatnonzero(~gone)])
