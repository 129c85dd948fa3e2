"""Symmetric positive semidefinite matrices that users give: checks, and their squares K = Bᵀ diag(w) B."""

from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse import csr_array

from arlequin.models.errors import UserError, UserTypeError
from arlequin.models.linalg.factor import factorise
from arlequin.models.linalg.lowest import lowest_modes
from arlequin.models.types import Array, Indices

DENSE = 2000  # rows up to which eigenvalues are computed
SYMMETRIC = 1e-8  # largest |A_ij − A_ji| of a symmetric matrix, relative to √(A_ii A_jj) or the largest entry
_LANCZOS = 1e-9  # relative error of an eigenvalue by Lanczos' method, more than it has
_DEFINITE = 1e-7  # least eigenvalue below 0 of a semidefinite matrix of unit diagonal: that of single precision


class Squares(NamedTuple):
    """Rows B (s, d) and weights w (s,) > 0 of A = Bᵀ diag(w) B."""

    rows: csr_array
    weights: Array


@dataclass(frozen=True, eq=False)
class Semidefinite:
    """A symmetric matrix (d, d) whose eigenvalues were found not to be below 0.

    squares: its rows and weights where they were asked for; None of large matrices.
    """

    matrix: csr_array
    squares: Squares | None = None

    @classmethod
    def of(cls, label: str, matrix: csr_array, *, with_squares: bool = False) -> "Semidefinite":
        """The checked matrix: of equal matrices, as `dataclasses.replace` passes them on, the one that is in use.

        UserError for an eigenvalue below 0 beyond the precision of files in single precision.
        """
        key = _digest(matrix, with_squares)
        known = _CHECKED.get(key)
        if known is None:
            if with_squares:
                known = cls(matrix, squares(label, matrix))
            else:
                check_semidefinite(label, matrix)
                known = cls(matrix)
            _CHECKED[key] = known
        return known

    @cached_property
    def least(self) -> float:
        """The least eigenvalue of D^−½ A D^−½, D the diagonal; 0 where A has a row of zeros."""
        return least_eigenvalue("matrix", self.matrix)


# by their digest, as long as a part has them
_CHECKED: WeakValueDictionary[bytes, Semidefinite] = WeakValueDictionary()


def _digest(matrix: csr_array, with_squares: bool) -> bytes:
    digest = blake2b(repr((matrix.shape, with_squares)).encode(), digest_size=16)
    for array in (matrix.data, matrix.indices, matrix.indptr):
        digest.update(array.tobytes())
    return digest.digest()


def symmetric_matrix(label: str, value: Any, size: int | None = None) -> csr_array:
    """A symmetric matrix (d, d), full or sparse, as a sparse one that is symmetric to the bit.

    UserError where it is not square, of another size, not finite, or not symmetric to single precision's storage.
    """
    rule = "must be a square matrix of numbers, full or sparse"
    if sp.issparse(value):
        entries, shape = value.data, value.shape
    else:
        try:
            value = np.asarray(value)
        except (TypeError, ValueError):  # rows of different lengths
            raise UserTypeError.parameter(label, value, rule) from None
        entries, shape = value, value.shape
    if entries.dtype.kind not in "iuf":
        raise UserTypeError(f"{label}: {rule}, it holds values of type {entries.dtype}")
    if len(shape) != 2 or shape[0] != shape[1] or not shape[0]:
        raise UserError(f"{label}: {rule}, not of shape {shape}")
    if size is not None and shape[0] != size:
        raise UserError(f"{label}: has shape {shape}, but the stiffness has {size} coordinates")
    if not np.isfinite(entries).all():
        raise UserError(f"{label}: has entries that are not finite")
    matrix = csr_array(value, dtype=float)
    matrix.sum_duplicates()
    skew = sp.coo_array(abs(matrix - matrix.T))
    if skew.nnz and skew.data.max() > 0.0:
        diagonal = np.sqrt(np.abs(matrix.diagonal()))
        sizes = diagonal[skew.row] * diagonal[skew.col]
        largest = float(np.abs(matrix.data).max())
        share = skew.data / np.where(sizes > 0.0, np.minimum(sizes, largest), largest)
        worst = int(np.argmax(share))
        if share[worst] > SYMMETRIC:
            i, j = int(skew.row[worst]), int(skew.col[worst])
            raise UserError(
                f"{label}: is not symmetric: its entries ({i}, {j}) and ({j}, {i}) are {matrix[i, j]:.6g} and "
                f"{matrix[j, i]:.6g}"
            )
        matrix = csr_array(0.5 * (matrix + matrix.T))
    matrix.eliminate_zeros()
    matrix.sort_indices()
    return matrix


def squares(label: str, matrix: csr_array) -> Squares | None:
    """The squares of a symmetric positive semidefinite matrix (d, d); None where it has more than `DENSE` rows.

    Eigenvalues of the matrix with unit diagonal D^−½ A D^−½, block by block of its pattern, so that displacements and
    rotations, and decoupled generalised coordinates, are of like size: A = Σ λ b bᵀ, b = D^½ v.
    UserError for an eigenvalue below 0 beyond the precision of files in single precision.
    """
    root = unit_diagonal(label, matrix)
    scaled = _scaled(matrix, root)
    if matrix.shape[0] > DENSE:
        check_large(label, scaled)
        return None
    rows, weights = [], []
    for members in _blocks(scaled):
        block = scaled[members][:, members].toarray()
        values, vectors = scipy.linalg.eigh(block)
        _check_least(label, float(values[0]))
        chosen = values > members.size * np.finfo(float).eps * max(float(values[-1]), 0.0)
        entries = (vectors[:, chosen] * root[members][:, None]).T
        local = sp.coo_array(entries)
        shape = (entries.shape[0], matrix.shape[0])
        rows.append(csr_array((local.data, (local.row, members[local.col])), shape=shape))
        weights.append(values[chosen])
    if not rows:
        return Squares(csr_array((0, matrix.shape[0])), np.zeros(0))
    return Squares(csr_array(sp.vstack(rows, format="csr")), np.concatenate(weights))


def check_semidefinite(label: str, matrix: csr_array) -> None:
    """UserError where a symmetric matrix has an eigenvalue below 0."""
    scaled = _scaled(matrix, unit_diagonal(label, matrix))
    if matrix.shape[0] > DENSE:
        check_large(label, scaled)
    else:
        _check_least(label, _least(scaled))


def least_eigenvalue(label: str, matrix: csr_array) -> float:
    """The least eigenvalue of D^−½ A D^−½, D the diagonal of a semidefinite A; 0 where A has a row of zeros."""
    root = unit_diagonal(label, matrix)
    if not root.all():
        return 0.0
    scaled = _scaled(matrix, root)
    if matrix.shape[0] <= DENSE:
        return max(_least(scaled), 0.0)
    try:
        factor = factorise(scaled)
    except UserError:
        return 0.0
    values, _ = lowest_modes(scaled, sp.eye_array(matrix.shape[0], format="csr"), 1, factor.solve, unit=1.0)
    return max(float(values[0]), 0.0) * (1.0 - _LANCZOS)


def _least(scaled: csr_array) -> float:
    """The least eigenvalue of a matrix (d, d), block by block; rows of zeros are left out."""
    blocks = [scaled[members][:, members].toarray() for members in _blocks(scaled)]
    return min((float(scipy.linalg.eigvalsh(block, subset_by_index=(0, 0))[0]) for block in blocks), default=0.0)


def unit_diagonal(label: str, matrix: csr_array) -> Array:
    """√A_ii (d,); UserError where a diagonal entry is negative, or 0 in a row that is not."""
    diagonal = matrix.diagonal()
    sums = np.asarray(abs(matrix).sum(axis=1)).ravel()
    wrong = np.flatnonzero((diagonal < 0.0) | ((diagonal == 0.0) & (sums > 0.0)))
    if wrong.size:
        i = int(wrong[0])
        raise UserError(
            f"{label}: is not positive semidefinite: its diagonal entry ({i}, {i}) is {diagonal[i]:.6g}"
            + (", and others of this row are not" if diagonal[i] == 0.0 else "")
        )
    return np.asarray(np.sqrt(diagonal))


def _scaled(matrix: csr_array, root: Array) -> csr_array:
    inverse = sp.diags_array(np.divide(1.0, root, out=np.zeros_like(root), where=root > 0.0))
    return csr_array(inverse @ matrix @ inverse)


def _blocks(matrix: csr_array) -> list[Indices]:
    """Rows (k,) of each block of the pattern; rows without entries are left out."""
    count, label = sp.csgraph.connected_components(matrix, directed=False)
    order = np.argsort(label, kind="stable")
    members = np.split(order, np.cumsum(np.bincount(label, minlength=count))[:-1])
    filled = np.diff(matrix.indptr) > 0
    return [each for each in members if filled[each[0]]]


def check_large(label: str, scaled: csr_array) -> None:
    """UserError where a sparse matrix of unit diagonal has an eigenvalue below 0, by a factor of the shifted matrix."""
    filled = np.flatnonzero(scaled.diagonal() > 0.0)
    shifted = scaled[filled][:, filled] + _DEFINITE * sp.eye_array(filled.size)
    try:
        factorise(csr_array(shifted))
    except UserError:
        raise UserError(f"{label}: is not positive semidefinite") from None


def _check_least(label: str, least: float) -> None:
    if least < -_DEFINITE:
        raise UserError(
            f"{label}: is not positive semidefinite: with its diagonal scaled to 1 the least eigenvalue is {least:.3g}"
        )
