"""The two passes of a step over the factor of its matrix, as arrays and sparse matrices."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from arlequin.models.types import Array


class CondensedPasses(NamedTuple):
    """Of `arlequin.solvers.condensed.Condensed`: unknowns u, imposed dofs p, constraints m, rows q of the contact.

    bordered: `BorderedPasses` of A and its border; to_given: A (u, p); rows_given: [C; B] (m + q, p); penalty: CᵀD
    (u, m), which is 0 where A alone was factored: sparse matrices, by rows in compiled loops; kept (k,), lower (k, k),
    root (k, q): see `FullElimination.arrays`.
    """

    bordered: Any
    to_given: Any
    rows_given: Any
    penalty: Any
    kept: NDArray[np.int64]
    lower: Array
    root: Array
