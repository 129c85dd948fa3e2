"""Determinants of many small matrices."""

import numpy as np

from arlequin.models.types import Array


def determinants(matrices: Array) -> Array:
    """Determinants (…,) of matrices (…, n, n), n ≤ 3, by products.

    Exact to some ε, and in any units; NumPy's are exponentials of sums of logarithms, with errors of 40 ε.
    """
    if matrices.shape[-1] == 1:
        return matrices[..., 0, 0]
    if matrices.shape[-1] == 2:
        return np.asarray(matrices[..., 0, 0] * matrices[..., 1, 1] - matrices[..., 0, 1] * matrices[..., 1, 0])
    return np.vecdot(matrices[..., 0, :], np.cross(matrices[..., 1, :], matrices[..., 2, :]))
