"""Constraints C eliminated from a linear system: which rows are independent, and the factor of C A⁻¹ Cᵀ."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from arlequin.models.errors import UserError
from arlequin.models.linalg.components import factorise_components
from arlequin.models.types import Array

_DEPENDENT = 1e-12  # share of a constraint that is not implied by others, below which it is left out
_FULL = 1500  # constraints up to which a sparse C A⁻¹ Cᵀ is factored as a full matrix


def constraint_factor(schur: Any) -> tuple[NDArray[np.int64], Callable[[Array], Array]]:
    """The constraints that are independent, and x ↦ S_CC⁻¹ x on these; S_CC (m, m) is sparse where A is diagonal."""
    if sp.issparse(schur):
        if schur.shape[0] > _FULL:
            try:
                return np.arange(schur.shape[0]), factorise_components(schur).solve
            except UserError:
                pass  # dependent constraints
        schur = schur.toarray()
    kept = independent(schur)
    if not kept.size:
        return kept, lambda x: x
    own = np.asfortranarray(schur[np.ix_(kept, kept)])
    factor = scipy.linalg.cho_factor(0.5 * (own + own.T), overwrite_a=True)[0]  # upper, as `dpotrs` below
    return kept, lambda x: scipy.linalg.lapack.dpotrs(factor, x, lower=0)[0]


def independent(schur: Array, size: Array | None = None) -> NDArray[np.int64]:
    """Rows of C that are independent, by pivoted Cholesky of C A⁻¹ Cᵀ with unit diagonal.

    size (m,): that of the rows, about C A⁻¹ Cᵀ before other constraints took their share; by default the largest.
    """
    if not schur.size:
        return np.zeros(0, dtype=np.int64)
    diagonal = schur.diagonal().copy()
    rows = np.flatnonzero(diagonal > _DEPENDENT * (diagonal.max() if size is None else size))
    if not rows.size:
        return rows.astype(np.int64)
    scale = 1.0 / np.sqrt(diagonal[rows])
    scaled = schur[np.ix_(rows, rows)] * scale * scale[:, None]
    _, pivots, rank, _ = scipy.linalg.lapack.dpstrf(0.5 * (scaled + scaled.T), tol=_DEPENDENT)
    return np.sort(rows[pivots[:rank] - 1]).astype(np.int64)
