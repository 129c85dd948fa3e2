"""Symmetric positive definite matrices A with constraints C and further rows B, in one sparse factor of all."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from arlequin.models.errors import FAILURE, UserError
from arlequin.models.linalg.factor import fill_reducing_order, symbolic_supernodes
from arlequin.models.linalg.forward_pass import ForwardPass
from arlequin.models.linalg.matrix import canonical, not_definite, symmetric_of_lower
from arlequin.models.linalg.supernodes import MAX_ENTRIES, Supernodes, postorder, sorted_within, stack_sizes
from arlequin.models.types import Array

_PIVOT = 1e-12  # smallest pivot of a dof, as a share of the diagonal of A, and of a multiplier, of C diag(A)⁻¹ Cᵀ


class SaddleFactor:
    """A y = b + Cᵀφ + Bᵀp, C y = c of a sparse positive definite A (u, u), independent rows C (m, u) and rows B (q, u).

        K x = f + [Bᵀ; 0] p,    K = [A  Cᵀ; C  0] = L D Lᵀ,    x = [y; −φ],    f = [b; c],    Y = [B  0] L⁻ᵀ D,
        w = D L⁻¹ f,    B y = Y D w  for p = 0,    x = L⁻ᵀ (w + Yᵀ p),    W = [B  0] K⁻¹ [B  0]ᵀ = Y D Yᵀ.

    Each multiplier comes after the last of its dofs: the pivots of dofs are then positive and those of multipliers
    negative, whatever C is, so that D = ±1 is known in advance, without shifts or pivoting. The number of entries of L
    grows like that of a factor of A alone, whereas a dense C A⁻¹ Cᵀ grows with m².

    The dofs and the multipliers together are put in a fill-reducing order (nested dissection); each multiplier is then
    moved to the first admissible place. In each of the supernodes dofs come first.

    Source: Bridson, An ordering method for the direct solution of saddle-point matrices, preprint (2007).
    """

    def __init__(
        self, A: Any, constraints: sp.csr_array, rows: sp.csr_array, nodes: NDArray[np.int64] | None = None
    ) -> None:
        """UserError where A is not positive definite, or the rows of C are not independent.

        nodes (u,): number of the node of each dof; the fill-reducing order keeps the dofs of a node together.
        """
        self._nodes = np.arange(A.shape[0]) if nodes is None else nodes
        self._constraints, self._rows = sp.csr_array(constraints), sp.csr_array(rows)
        self._sizes = A.shape[0], constraints.shape[0], rows.shape[0]
        u, m, q = self._sizes
        kkt = self._kkt(canonical(A))
        self._order, supernodes = self._ordered(kkt)
        kind = self._kinds(self._order)
        split = _cut_at_border(supernodes, kind == 2)
        self._multipliers, self._border = np.flatnonzero(kind == 1), np.flatnonzero(kind == 2)
        self._border_rows = self._order[self._border] - u - m
        self._border_number = np.full(kind.size, -1)
        self._border_number[self._border] = np.arange(q)
        self._supernode_order = np.flatnonzero(kind[split.first[:-1]] < 2)
        entries = np.zeros(split.first.size - 1, dtype=np.int64)
        entries[self._supernode_order] = (np.diff(split.first).astype(np.int64) * np.diff(split.row_start))[
            self._supernode_order
        ]
        self._entries = int(entries.sum())
        if self._entries > MAX_ENTRIES:
            raise UserError(f"the factor has {self._entries} entries: too many for 32-bit indices", code=FAILURE)
        self._supernodes = split._replace(value_start=(np.cumsum(entries) - entries).astype(np.int32))
        self._dofs = np.add.reduceat((kind == 0).astype(np.int64), split.first[:-1])
        self._children, self._work_sizes = stack_sizes(split, self._supernode_order, self._border_number)
        self._factorise(kkt, A.diagonal())

    @property
    def size(self) -> int:
        """Rows of K, u + m + q."""
        return sum(self._sizes)

    def forward(self, b: Array, c: Array) -> ForwardPass:
        """w in the order of the factor (u + m + q,), and B y (q,) for p = 0, of b (u,) and c (m,); or n columns."""
        from arlequin.models.linalg._supernodal_kernels import forward

        q = self._sizes[2]
        rhs = np.concatenate([b, c, np.zeros((q, *b.shape[1:]))])[self._order]
        half = np.ascontiguousarray(rhs.reshape(rhs.shape[0], -1).T)
        forward(self._supernode_order, *self._supernodes, half, None, None)
        half[:, self._multipliers] *= -1.0
        border = np.empty((q, len(half)))
        border[self._border_rows] = -half[:, self._border].T
        return ForwardPass(half.T, border.reshape(q, *b.shape[1:]))

    def backward(self, forward: ForwardPass, push: Array | None = None) -> tuple[Array, Array]:
        """y (u,) and φ (m,) under p (q,), None: 0; or n columns of each."""
        from arlequin.models.linalg._supernodal_kernels import backward

        u, m, _ = self._sizes
        columns = forward.border.shape[1:]
        x = np.array(forward.half.T)
        x[:, self._border] = 0.0 if push is None else -push.reshape(push.shape[0], len(x))[self._border_rows].T
        backward(self._supernode_order, *self._supernodes, x)
        out = np.empty((x.shape[1], len(x)))
        out[self._order] = x.T
        return out[:u].reshape(u, *columns), -out[u : u + m].reshape(m, *columns)

    def _kkt(self, A: Any) -> Any:
        """K, with entries on all of the diagonal."""
        C, B = sp.csc_array(self._constraints), sp.csc_array(self._rows)
        _, m, q = self._sizes
        zero = [sp.csc_array((n, n)) for n in (m, q)]
        blocks = [[A, C.T, B.T], [C, zero[0], None], [B, None, zero[1]]]
        return sp.block_array(blocks, format="csc")

    def _ordered(self, kkt: Any) -> tuple[NDArray[np.int64], Supernodes]:
        """The order (n,) of K, and the supernodes of L, without values."""
        u, m, q = self._sizes
        n = u + m
        pattern = _pattern(kkt)
        place = _places(pattern[:n][:, :n], self._nodes)
        last_dof = np.zeros(m)
        filled = np.diff(self._constraints.indptr) > 0
        if not filled.all():
            raise UserError("a constraint has no unknowns", code=FAILURE)
        if m:
            last_dof = np.maximum.reduceat(place[self._constraints.indices], self._constraints.indptr[:-1])
        place[u:] = np.maximum(place[u:], last_dof + 0.5)
        order = np.concatenate([np.argsort(place, kind="stable"), np.arange(n, n + q)])
        order = order[postorder(pattern[order][:, order])]
        symbolic = symbolic_supernodes(pattern[order][:, order])
        order, supernodes = order[symbolic[0]], symbolic[1]
        # in each supernode dofs come first, rows of B last: L has the same entries
        sort, supernodes = sorted_within(supernodes, self._kinds(order))
        return order[sort], supernodes

    def _kinds(self, order: NDArray[np.int64]) -> NDArray[np.int64]:
        """0 for dofs, 1 for multipliers, 2 for rows of B."""
        u, m, _ = self._sizes
        return (order >= u).astype(np.int64) + (order >= u + m)

    def _factorise(self, kkt: Any, diagonal: Array) -> None:
        from arlequin.models.linalg._saddle_kernels import factorise

        self._values = np.zeros(0)  # released before the new ones are allocated
        lower = sp.csc_array(sp.tril(kkt[self._order][:, self._order], format="csc"))
        lower.sort_indices()
        values, compliance = np.empty(self._entries), np.zeros((self._sizes[2],) * 2)
        stack, front = np.empty(self._work_sizes[0]), np.empty(self._work_sizes[1])
        supernodes = self._supernodes
        failed = factorise(
            self._supernode_order, self._dofs, self._children, self._border_number, supernodes.first,
            supernodes.row_start, supernodes.value_start, supernodes.rows, lower.indptr, lower.indices, lower.data,
            values, stack, front, compliance,
        )  # fmt: skip
        self._values, self._supernodes = values, supernodes._replace(values=values)
        if failed >= 0:
            raise not_definite(int(self._order[failed]))
        self._check_pivots(diagonal)
        compliance = symmetric_of_lower(compliance)
        inverse_order = np.argsort(self._border_rows)
        self.compliance = (
            compliance
            if (inverse_order[1:] > inverse_order[:-1]).all()
            else compliance[np.ix_(inverse_order, inverse_order)]
        )

    def _check_pivots(self, diagonal: Array) -> None:
        """UserError where a pivot is mere round-off."""
        supernodes = self._supernodes
        widths, heights = np.diff(supernodes.first), np.diff(supernodes.row_start).astype(np.int64)
        supernode_of = np.repeat(np.arange(widths.size), widths)
        columns = np.flatnonzero(self._border_number < 0)
        of_column = supernode_of[columns]
        pivots = (
            self._values[
                supernodes.value_start[of_column] + (columns - supernodes.first[of_column]) * (heights[of_column] + 1)
            ]
            ** 2
        )
        squares = self._constraints.multiply(self._constraints) @ (1.0 / diagonal)
        sizes = np.concatenate([diagonal, squares])[self._order[columns]]
        failed = ~(pivots > _PIVOT * sizes)
        if failed.any():
            raise not_definite(int(self._order[columns][np.argmax(failed)]))


def _pattern(matrix: Any) -> Any:
    """A matrix of the same pattern with a diagonal."""
    ones = sp.csc_array((np.ones(matrix.nnz), matrix.indices, matrix.indptr), shape=matrix.shape)
    return canonical(ones + sp.eye_array(matrix.shape[0], format="csc"))


def _places(pattern: Any, nodes: NDArray[np.int64]) -> Array:
    """Places of rows (n,) in a fill-reducing order of blocks: those of the dofs (u,) of each node, which come first,
    and of the multipliers of the same nodes."""
    u = nodes.size
    _, node = np.unique(nodes, return_inverse=True)
    weights = np.random.default_rng(0).random(u)
    across = sp.csr_array(pattern[u:][:, :u])
    joined = sp.csr_array((np.ones(across.nnz), node[across.indices], across.indptr), shape=(across.shape[0], u))
    joined.sum_duplicates()
    joined.data[:] = 1.0
    _, group = np.unique(joined @ weights, return_inverse=True)
    block = np.concatenate([node, node.max(initial=-1) + 1 + group])
    members = sp.csr_array((np.ones(block.size), (np.arange(block.size), block)))
    order = fill_reducing_order(_pattern(canonical(members.T @ pattern @ members)), "nesdis")
    return np.argsort(order)[block].astype(float)


def _cut_at_border(supernodes: Supernodes, border: NDArray[np.bool_]) -> Supernodes:
    """Supernodes cut before the first of their columns of the border (n,) of flags; value_start is not updated."""
    size = int(supernodes.first[-1])
    starts = np.zeros(size, dtype=bool)
    starts[supernodes.first[:-1]] = True
    starts[1:] |= border[1:] != border[:-1]
    first = np.append(np.flatnonzero(starts), size)
    origin = np.searchsorted(supernodes.first, first[:-1], side="right") - 1
    skipped = first[:-1] - supernodes.first[origin]  # columns of the uncut supernode before those of this one
    heights = np.diff(supernodes.row_start)[origin] - skipped
    row_start = np.concatenate([[0], np.cumsum(heights)])
    places = np.arange(int(row_start[-1])) - np.repeat(row_start[:-1] - supernodes.row_start[origin] - skipped, heights)
    return supernodes._replace(
        first=first.astype(np.int32), row_start=row_start.astype(np.int32), rows=supernodes.rows[places]
    )
