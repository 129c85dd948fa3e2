"""Static shapes of forces, added to modes and M-orthonormalised; linearly dependent ones are left out."""

from typing import NamedTuple

import numpy as np
import scipy.linalg
from scipy.sparse import csc_array

from arlequin.models.part import Assembled
from arlequin.models.reduction.rigid_modes import Flexibility
from arlequin.models.types import Array

_SPANNED = 1e-12  # share of the energy of a static shape below which its complement to the others is round-off
_MASSLESS = 1e-14  # λ of a shape relative to the largest, below which it moves no mass
_COLUMNS = 64  # right-hand sides solved together, columns multiplied by M together: a block stays in cache
_ROWS = 4096  # rows of the shapes turned together


class Enriched(NamedTuple):
    """Shapes (nodal, w + s) and their stiffness ΦᵀKΦ (w + s, w + s); M-orthonormal but for round-off."""

    shapes: Array
    stiffness: Array


def enriched(flexibility: Flexibility, own: Array, stiffness: Array, forces: csc_array) -> Enriched:
    """The M-orthonormal shapes W (nodal, w) of stiffness S = WᵀKW, and what the static shapes G F (nodal, k) add.

    W begins with the rigid motions R. What is new is X = G F − W C, C = WᵀM G F. As K G = Pᵀ, P = 1 − R RᵀM, its
    stiffness needs no product with K, whose round-off is that of the stiffest cells:

        WᵀKX = WᵀF − S C = H (0 on R),    XᵀKX = FᵀX − CᵀH,

    small where W are modes (H = 0). Pivoted Cholesky of XᵀKX, each shape relative to its own energy fᵀG f, leaves out
    dependent shapes; the error of a compliance is the energy that is left out, so that statics is exact to `_SPANNED`.
    Of the rest, orthonormal in energy, A = ZᵀMZ = V λ Vᵀ gives Z V λ^−½: M-orthonormal, of squares 1/λ. There are no
    more shapes than free dofs: what is over, of the least λ, is round-off.

    Memory: one array (nodal, w + k), transformed in place, blocks of it, and a copy where shapes are left out.
    Source: Craig & Bampton, AIAA J. 6, 1968 (attachment modes); Stewart, Matrix Algorithms I, 1998, §5.2.1 (pivoting).
    """
    count, given = forces.shape[1], own.shape[1]
    shapes = np.empty((own.shape[0], given + count))
    shapes[:, :given] = own
    new = shapes[:, given:]
    heavy = flexibility.own.mass @ own
    rigid = flexibility.rigid.shape[1]
    held, energies, products = np.empty((given, count)), np.empty(count), np.empty((count, count))
    for first in range(0, count, _COLUMNS):
        some = slice(first, min(first + _COLUMNS, count))
        pull = forces[:, some].toarray()
        block = flexibility.solve(pull)
        energies[some] = np.einsum("dk,dk->k", pull, block)
        held[:, some] = 0.0
        for _ in range(2):  # classical Gram–Schmidt twice
            share = heavy.T @ block
            block -= own @ share
            held[:, some] += share
        new[:, some] = block
        products[:, some] = forces.T @ block
    held[:rigid] = 0.0
    cross = (forces.T @ own).T - stiffness @ held
    cross[:rigid] = 0.0
    pivots, upper = _independent(products - held.T @ cross, energies)
    rank = pivots.size
    scale = 1.0 / np.sqrt(energies[pivots])
    for rows in _chunks(shapes):
        unit = np.asfortranarray(new[rows][:, pivots] * scale)
        new[rows, :rank] = scipy.linalg.blas.dtrsm(1.0, upper, unit, side=1)
    cross = scipy.linalg.solve_triangular(upper, (cross[:, pivots] * scale).T, trans="T").T
    values, vectors = np.linalg.eigh(_gram(flexibility.own, new[:, :rank]))
    moving = values > _MASSLESS * values.max(initial=0.0)
    moving[: max(0, given + rank - flexibility.free.size)] = False
    values, vectors = values[moving], vectors[:, moving] / np.sqrt(values[moving])
    kept = values.size
    for rows in _chunks(shapes):
        new[rows, :kept] = new[rows, :rank] @ vectors
    cross = cross @ vectors
    whole = np.block([[stiffness, cross], [cross.T, np.diag(1.0 / values)]])
    return Enriched(np.ascontiguousarray(shapes[:, : given + kept]), whole)


def diagonalised(assembled: Assembled, rigid: int, given: Enriched) -> tuple[Array, Array]:
    """Shapes Φ turned in place to ΦᵀMΦ = 1, ΦᵀKΦ = diag(ω²), and ω² (r,) increasing; the first `rigid` stay.

    The round-off that remains in the Gram matrix is removed by its Cholesky factor.
    """
    shapes, stiffness = given
    lower = np.linalg.cholesky(_gram(assembled, shapes))
    inverse = scipy.linalg.solve_triangular(lower, np.eye(lower.shape[0]), lower=True)
    stiffness = (inverse @ stiffness @ inverse.T)[rigid:, rigid:]
    values, vectors = np.linalg.eigh(0.5 * (stiffness + stiffness.T))
    turn = inverse.T[:, rigid:] @ vectors
    largest = np.zeros(values.size)
    for rows in _chunks(shapes):
        turned = shapes[rows] @ turn
        shapes[rows, rigid:] = turned
        np.maximum(largest, np.abs(turned).max(axis=0), out=largest)
    sign = np.zeros(values.size)  # the first large value is positive
    for rows in _chunks(shapes):
        if sign.all():
            break
        block = shapes[rows, rigid:]
        large = np.abs(block) > 0.5 * largest
        found = np.sign(block[large.argmax(axis=0), np.arange(values.size)])
        sign = np.where((sign == 0.0) & large.any(axis=0), found, sign)
    shapes[:, rigid:] *= sign
    return shapes, np.concatenate([np.zeros(rigid), np.maximum(values, 0.0)])


def _independent(products: Array, energies: Array) -> tuple[np.ndarray, Array]:
    """Pivots (r,) and Uᵀ U (r, r) = the products of these shapes, each scaled to the energy 1."""
    scale = np.divide(1.0, np.sqrt(np.maximum(energies, 0.0)), out=np.zeros_like(energies), where=energies > 0.0)
    scaled = 0.5 * (products + products.T) * scale * scale[:, None]
    if not scaled.size:
        return np.zeros(0, dtype=np.int64), scaled
    upper, pivots, rank, _ = scipy.linalg.lapack.dpstrf(scaled, tol=_SPANNED)
    rank = int(rank) if scaled.diagonal().max() > _SPANNED else 0
    return pivots[:rank] - 1, np.asfortranarray(np.triu(upper[:rank, :rank]))


def _gram(own: Assembled, shapes: Array) -> Array:
    """ΦᵀMΦ (r, r), one half computed."""
    count = shapes.shape[1]
    gram = np.empty((count, count))
    for first in range(0, count, _COLUMNS):
        last = min(first + _COLUMNS, count)
        gram[:last, first:last] = shapes[:, :last].T @ (own.mass @ np.ascontiguousarray(shapes[:, first:last]))
    upper = np.triu(gram, 1)
    return upper + upper.T + np.diag(gram.diagonal())


def _chunks(shapes: Array) -> list[slice]:
    return [slice(first, first + _ROWS) for first in range(0, shapes.shape[0], _ROWS)]
