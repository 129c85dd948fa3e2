"""Rows of matrices: products bitwise independent of their number; combinations that vanish in some columns."""

from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
import scipy.sparse.csgraph
from numpy.typing import NDArray

from arlequin.models.types import Array, Indices

_ROUND_OFF = 1e-13


def row_products(fields: Any, matrix: Any) -> Array:
    """x A (…, r) of each x of fields (…, d); A (d, r), dense.

    A BLAS sums in another order for more rows, so that results would depend on the number of steps in a batch.
    """
    from arlequin.models.linalg._row_kernels import row_products as kernel

    rows = np.ascontiguousarray(fields, dtype=float).reshape(-1, fields.shape[-1])
    return np.asarray(kernel(rows, np.ascontiguousarray(matrix, dtype=float))).reshape(*fields.shape[:-1], -1)


def rows_without(rows: sp.csr_array, left_out: NDArray[np.bool_]) -> tuple[Indices, sp.csr_array | None]:
    """Numbers (k,) of rows of C (m, d) and T (k, m) with T C = 0 in the columns `left_out` (d,); None where T is 1.

    Of C v = 0 with otherwise undetermined values of these columns, rows p, one for each independent column, determine
    the values; elimination from a row r gives r − G_r G_p⁻¹ p, G the columns. Rows are grouped by the columns that
    they share; the rows p are those of largest pivots in a QR factorisation of each group.
    """
    columns = sp.csr_array(rows[:, np.flatnonzero(left_out)])
    columns.data[np.abs(columns.data) <= _ROUND_OFF * np.abs(rows.data).max(initial=0.0)] = 0.0
    columns.eliminate_zeros()
    every = np.arange(rows.shape[0])
    if not columns.nnz:
        return every, None
    links = sp.csr_array(columns.astype(bool))
    graph = sp.block_array([[None, links], [links.T, None]], format="csr")
    _, group = scipy.sparse.csgraph.connected_components(graph, directed=False)
    touched = np.flatnonzero(np.diff(columns.indptr))
    combination, eliminated = sp.lil_array(sp.eye_array(rows.shape[0])), np.zeros(rows.shape[0], dtype=bool)
    for number in np.unique(group[touched]):
        group_rows = touched[group[touched] == number]
        through = np.flatnonzero(group[rows.shape[0] :] == number)
        upper, order = scipy.linalg.qr(columns[group_rows][:, through].toarray().T, mode="r", pivoting=True)
        pivots = np.abs(np.diag(upper))
        rank = int((pivots > _ROUND_OFF * group_rows.size * pivots[0]).sum())
        shares = scipy.linalg.solve_triangular(upper[:rank, :rank], upper[:rank, rank:])
        shares[np.abs(shares) <= _ROUND_OFF * group_rows.size] = 0.0
        eliminated[group_rows[order[:rank]]] = True
        for place, row in enumerate(group_rows[order[rank:]]):
            nonzero = np.flatnonzero(shares[:, place])
            combination[row, group_rows[order[nonzero]]] = -shares[nonzero, place]
    remaining = np.flatnonzero(~eliminated)
    return remaining, sp.csr_array(combination[remaining])
