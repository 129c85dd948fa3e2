"""Operators of a system as bare arrays, for compiled loops."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from arlequin.strains import Strains
from models.types import Array

Rows = tuple[NDArray[np.int64], NDArray[np.int64], Array]


def sparse_rows(matrix: sp.csr_array) -> Rows:
    """A sparse matrix by rows: starts, columns, values."""
    matrix = sp.csr_array(matrix)
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), matrix.data.astype(float)


def strain_arrays(strains: Strains) -> Any:
    """Strains by rows: starts, columns, values, weights, anchor, rows of parts."""
    return (*sparse_rows(strains.rows), strains.weights, strains.anchor, strains.own)
