"""Cholesky factors of small systems as plain arrays, for kernels that solve inside a time loop."""

from typing import NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array
from scipy.sparse.csgraph import reverse_cuthill_mckee

from arlequin.models.errors import UserError
from arlequin.models.types import Array

_FILL = 1e-15  # entries of the factor below this share of their row's diagonal are dropped


class SmallFactor(NamedTuple):
    """P A Pᵀ = L Lᵀ of a symmetric positive definite A (d, d) with a narrow band: A x = b by two sweeps over L.

    order (d,): row i of P A Pᵀ is row order[i] of A. L by columns: starts (d + 1,), rows and values (l,), first in each
    column the reciprocal of the diagonal.
    """

    order: NDArray[np.uint32]
    starts: NDArray[np.uint32]
    rows: NDArray[np.uint32]
    values: Array

    @classmethod
    def of(cls, matrix: csr_array) -> "SmallFactor":
        """The factor of a matrix of at most some hundred rows (reverse Cuthill–McKee order, dense Cholesky)."""
        if not matrix.shape[0]:
            none = np.zeros(0, dtype=np.uint32)
            return cls(none, np.zeros(1, dtype=np.uint32), none, np.zeros(0))
        order = np.asarray(reverse_cuthill_mckee(csr_array(matrix), symmetric_mode=True)).astype(np.uint32)
        dense = matrix.toarray()[np.ix_(order, order)]
        try:
            lower = scipy.linalg.cholesky(dense, lower=True)
        except scipy.linalg.LinAlgError:
            raise UserError("the matrix of a step is not positive definite", code=1) from None
        lower[np.abs(lower) <= _FILL * lower.diagonal()[:, None]] = 0.0
        columns = csc_array(lower)
        columns.sort_indices()
        starts, rows = columns.indptr.astype(np.uint32), columns.indices.astype(np.uint32)
        values = columns.data.copy()
        values[starts[:-1]] = 1.0 / values[starts[:-1]]
        return cls(order, starts, rows, values)
