"""Linear quadrilaterals in plane elasticity, integrated by twelve moments per cell.

The gradients of the four shape functions are, at any point of any quadrilateral,

    ∂φ_n/∂x_j = b_jn + γ_n h_j,   h = ∇(ξη),   γ_n = ¼ s_n − c_n,   s = (1, −1, 1, −1),

with b the gradients at the centre and c_n = ¼ s_m x_jm b_jn; b and c change their signs from a node to the one across.
(c is stored, not its factors ¼ s_m x_jm, which lose digits in thin skewed cells.) With G_ij = b_jn u_in and
g_i = γ_n u_in the displacement gradient is G_ij + g_i h_j, and the quadrature of forces and energy is exactly that of
its moments:

    W = Σ_q w_q,   W_j = Σ_q w_q h_j,   W_ij = Σ_q w_q h_i h_j.

Source of the form: Flanagan & Belytschko, International Journal for Numerical Methods in Engineering 17, 1981.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from arlequin.models.fem.cell_forces import CellForces, NodeRange, node_ranges
from arlequin.models.fem.cells import CellArrays
from arlequin.models.types import Array, Indices

_SIDES = np.array([1.0, -1.0, 1.0, -1.0])  # s, that is ξη at the nodes
_EQUAL = 1e-12  # relative difference of equal cells, by the round-off of their nodes' positions
_OVERLAP = 1.25  # largest number of cells of all pieces together, relative to the number of cells


@dataclass(frozen=True, eq=False)
class Quads(CellForces):
    """Cells (c, 4) with their moments (12, c), or (12, 1) of congruent cells: b_x0, b_x1, b_y0, b_y1, c_0, c_1, W, W_j,
    W_ij.
    """

    nodes: Indices
    moments: Array
    lame: tuple[float, float]
    pieces: tuple[NodeRange, ...]

    @classmethod
    def of(cls, cells: CellArrays, weight: Array, lame: tuple[float, float], node_count: int) -> "Quads":
        """weight (c, q): the weighted measure."""
        order = np.argsort(cells.nodes.min(axis=1), kind="stable")  # consecutive cells share nodes
        nodes = np.ascontiguousarray(cells.nodes[order])
        return cls(nodes, _moments(cells.gradients[order], weight[order]), lame, _pieces(nodes, node_count))

    def force(self, piece: NodeRange, u: Array, out: Array) -> float:
        from arlequin.models.fem import _quad_kernels

        cells = self.nodes, self.moments, *self.lame, piece.first, piece.last
        return float(_quad_kernels.internal_quads(piece.cells, *cells, u, out))


def are_quads(cells: CellArrays, components: int) -> bool:
    """Whether these are linear quadrilaterals of plane problems, with more than one quadrature point."""
    _, points, axes, size = cells.gradients.shape
    return components == axes == 2 and size == 4 and cells.hoop is None and points > 1


def _moments(gradients: Array, weight: Array) -> Array:
    """The moments (12, c), or (12, 1) where all cells are equal."""
    h = gradients @ _SIDES  # (c, q, j): s_n b_jn = 0, s_n γ_n = 1
    mean, central = gradients.mean(axis=1), h.mean(axis=1)
    spread = h - central[:, None]
    gamma = np.einsum("cqjn,cqj->cn", gradients - mean[:, None], spread)
    gamma /= np.einsum("cqj,cqj->c", spread, spread)[:, None]
    b = mean - central[:, :, None] * gamma[:, None]
    shift = 0.5 * (gamma[:, 2:] - gamma[:, :2])
    first, second = np.einsum("cq,cqj->cj", weight, h), np.einsum("cq,cqi,cqj->cij", weight, h, h)
    rows = b[:, 0, :2], b[:, 1, :2], shift, weight.sum(axis=1)[:, None], first, second[:, 0], second[:, 1, 1:]
    moments = np.ascontiguousarray(np.concatenate(rows, axis=1).T)
    # the size of each row, whatever the cells' shape: b sets that of lengths
    size, total = np.abs(moments[:4]).max(), moments[6].max(initial=0.0)
    sizes = np.array([size] * 4 + [1.0] * 2 + [total] + [total * size] * 2 + [total * size**2] * 3)
    first_cell = moments[:, :1]
    if (np.abs(moments - first_cell) <= _EQUAL * sizes[:, None]).all():
        return moments.mean(axis=1, keepdims=True)
    return moments


def _pieces(nodes: Indices, node_count: int) -> tuple[NodeRange, ...]:
    """Ranges of the nodes, with the runs of their cells."""
    breaks = np.flatnonzero((np.diff(nodes, axis=0) != 1).any(axis=1)) + 1
    start = np.concatenate([[0], breaks]).astype(np.int64)
    return node_ranges(nodes, node_count, partial(_runs, start), _OVERLAP)


def _runs(start: Indices, cells: Indices) -> tuple[Indices, int]:
    """Runs (r, 2) of cells, cut at `start`, and the number of these cells."""
    run = np.searchsorted(start, cells, side="right") - 1
    new = np.append(True, (np.diff(cells) != 1) | (np.diff(run) != 0)) if cells.size else np.zeros(0, dtype=bool)
    counts = np.diff(np.append(np.flatnonzero(new), cells.size))
    return np.stack([cells[new], counts], axis=1).astype(np.int64), cells.size
