"""The largest eigenvalue of a sparse matrix beside a diagonal one."""

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import eigsh

from arlequin.models.linalg.matrix import binade
from arlequin.models.types import Array


def largest_ratio(matrix: sp.csr_array, inverse: Array, tolerance: float = 1e-6) -> float:
    """Largest eigenvalue of M⁻¹D, D ≥ 0 (d, d), by Lanczos, or Gershgorin's bound where that is less; inverse (d,):
    the diagonal M⁻¹."""
    bound = float((inverse * (abs(matrix) @ np.ones(inverse.size))).max())
    root = np.sqrt(inverse)
    unit = binade(bound)  # for ARPACK, whose smallest eigenvalue that counts is absolute
    if inverse.size < 3 or bound == 0.0:
        return bound
    scaled = sp.csr_array(matrix.multiply(root[:, None]).multiply(root / unit))
    start = np.cos(1.0 + np.arange(inverse.size))
    found = eigsh(scaled, k=1, which="LA", v0=start, tol=tolerance, return_eigenvectors=False)
    return min(bound, unit * float(found[0]) * (1.0 + tolerance))
