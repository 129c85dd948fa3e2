"""Products of a sparse matrix with one vector or with many."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from multilevel.law import Array


def applied(matrix: Any, fields: Array) -> Array:
    """A x (r,) for x (d,), or (b, r) for each x of fields (b, d); A sparse (r, d), by rows or by columns."""
    if not all(matrix.shape):  # systems without contact or constraints; SciPy takes its time over nothing
        return np.zeros((*fields.shape[:-1], matrix.shape[0]))
    if fields.ndim == 1:
        return np.asarray(matrix @ fields)
    from arlequin._product_kernels import by_columns, by_rows

    fields = np.ascontiguousarray(fields, dtype=float)
    entries = matrix.indptr, matrix.indices, matrix.data
    if sp.issparse(matrix) and matrix.format == "csc":
        return np.asarray(by_columns(*entries, fields, matrix.shape[0]))
    return np.asarray(by_rows(*entries, fields))
