"""The largest eigenvalue of a sparse matrix relative to a diagonal one."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, eigsh

from arlequin.models.linalg.matrix import binade
from arlequin.models.types import Array


def largest_ratio(matrix: sp.csr_array, inverse: Array, tolerance: float = 1e-6) -> float:
    """Largest eigenvalue of M⁻¹D, D ≥ 0 (d, d), by Lanczos, or Gershgorin's bound where that is less; inverse (d,):
    the diagonal M⁻¹."""
    bound = float((inverse * (abs(matrix) @ np.ones(inverse.size))).max())
    root = np.sqrt(inverse)
    unit = binade(bound)  # ARPACK's threshold for an eigenvalue of zero is absolute
    if inverse.size < 3 or bound == 0.0:
        return bound
    scaled = sp.csr_array(matrix.multiply(root[:, None]).multiply(root / unit))
    return min(bound, unit * _largest(scaled, tolerance))


def largest_of_product(product: Callable[[Array], Array], inverse: Array, tolerance: float) -> float:
    """Largest eigenvalue of M⁻¹D, of the order 1, by Lanczos with products v ↦ D v; inverse (d,), d > 2: M⁻¹."""
    root = np.sqrt(inverse)
    size = inverse.size
    scaled = LinearOperator((size, size), matvec=lambda x: root * product(root * x.ravel()), dtype=np.float64)
    return _largest(scaled, tolerance)


def _largest(matrix: Any, tolerance: float) -> float:
    start = np.cos(1.0 + np.arange(matrix.shape[0]))
    eigenvalues = eigsh(matrix, k=1, which="LA", v0=start, tol=tolerance, return_eigenvectors=False)
    return float(eigenvalues[0]) * (1.0 + tolerance)
