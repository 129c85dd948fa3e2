"""Products of vectors that lie in a row each, of which none depends on how many there are."""

from typing import Any

import numpy as np

from arlequin.models.types import Array


def row_products(fields: Any, matrix: Any) -> Array:
    """x A (…, r) of each x of fields (…, d); A (d, r), dense.

    A BLAS sums in another order where there are more rows: a run would differ in its last digits with the size of
    the blocks in which steps are taken.
    """
    from arlequin.models.linalg._row_kernels import row_products as kernel

    rows = np.ascontiguousarray(fields, dtype=float).reshape(-1, fields.shape[-1])
    return np.asarray(kernel(rows, np.ascontiguousarray(matrix, dtype=float))).reshape(*fields.shape[:-1], -1)
