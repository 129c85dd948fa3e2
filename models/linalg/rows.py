"""Products of a dense matrix with the rows of an array, bitwise independent of the number of rows."""

from typing import Any

import numpy as np

from arlequin.models.types import Array


def row_products(fields: Any, matrix: Any) -> Array:
    """x A (…, r) of each x of fields (…, d); A (d, r), dense.

    A BLAS sums in another order for more rows, so that results would depend on the number of steps in a batch.
    """
    from arlequin.models.linalg._row_kernels import row_products as kernel

    rows = np.ascontiguousarray(fields, dtype=float).reshape(-1, fields.shape[-1])
    return np.asarray(kernel(rows, np.ascontiguousarray(matrix, dtype=float))).reshape(*fields.shape[:-1], -1)
