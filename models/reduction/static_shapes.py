"""Static shapes of forces, added to modes and M-orthonormalised; linearly dependent ones are left out."""

from typing import NamedTuple

import numpy as np
import scipy.linalg
from scipy.sparse import csc_array

from arlequin.models.part import Assembled
from arlequin.models.reduction.rigid_modes import Flexibility
from arlequin.models.types import Array

_SPANNED = 1e-12  # share of the energy of a static shape below which its complement to the others is round-off
_MASSLESS = 1e-14  # λ of a shape relative to the largest, below which it counts as massless
_COLUMNS = 64  # right-hand sides per solve, columns per product with M: a block stays in cache
_ROWS = 4096  # rows of the shapes transformed together


class Enriched(NamedTuple):
    """Shapes (nodal, w + s) and their stiffness ΦᵀKΦ (w + s, w + s); M-orthonormal but for round-off."""

    shapes: Array
    stiffness: Array


def enriched(flexibility: Flexibility, basis: Array, stiffness: Array, forces: csc_array) -> Enriched:
    """The M-orthonormal shapes W (nodal, w), S = WᵀKW, extended by the static shapes G F (nodal, k).

    W begins with the rigid motions R. The new part is X = G F − W C, C = WᵀM G F. As K G = Pᵀ, P = 1 − R RᵀM, its
    stiffness is computed without products with K, whose round-off is that of the stiffest cells:

        WᵀKX = WᵀF − S C = H (0 on R),    XᵀKX = FᵀX − CᵀH,

    small where W are modes (H = 0). Pivoted Cholesky of XᵀKX, each shape relative to its own energy fᵀG f, leaves out
    dependent shapes; the error of a compliance is the energy that is left out, so that statics is exact to `_SPANNED`.
    Of the rest, orthonormal in energy, A = ZᵀMZ = V λ Vᵀ gives Z V λ^−½: M-orthonormal, of squares 1/λ. There are no
    more shapes than free dofs: surplus ones, of the least λ, are round-off.

    Memory: one array (nodal, w + k), transformed in place, blocks of it, and a copy where shapes are left out.
    Source: Craig & Bampton, AIAA J. 6, 1968 (attachment modes); Stewart, Matrix Algorithms I, 1998, §5.2.1 (pivoting).
    """
    count, basis_count = forces.shape[1], basis.shape[1]
    shapes = np.empty((basis.shape[0], basis_count + count))
    shapes[:, :basis_count] = basis
    added = shapes[:, basis_count:]
    mass_basis = flexibility.assembled.mass @ basis
    rigid = flexibility.rigid.shape[1]
    coefficients, energies, products = np.empty((basis_count, count)), np.empty(count), np.empty((count, count))
    for first in range(0, count, _COLUMNS):
        columns = slice(first, min(first + _COLUMNS, count))
        loads = forces[:, columns].toarray()
        block = flexibility.solve(loads)
        energies[columns] = np.einsum("dk,dk->k", loads, block)
        coefficients[:, columns] = 0.0
        for _ in range(2):  # classical Gram–Schmidt twice
            projection = mass_basis.T @ block
            block -= basis @ projection
            coefficients[:, columns] += projection
        added[:, columns] = block
        products[:, columns] = forces.T @ block
    coefficients[:rigid] = 0.0
    cross = (forces.T @ basis).T - stiffness @ coefficients
    cross[:rigid] = 0.0
    pivots, upper = _independent(products - coefficients.T @ cross, energies)
    rank = pivots.size
    scale = 1.0 / np.sqrt(energies[pivots])
    for rows in _chunks(shapes):
        unit = np.asfortranarray(added[rows][:, pivots] * scale)
        added[rows, :rank] = scipy.linalg.blas.dtrsm(1.0, upper, unit, side=1)
    cross = scipy.linalg.solve_triangular(upper, (cross[:, pivots] * scale).T, trans="T").T
    values, vectors = np.linalg.eigh(_gram(flexibility.assembled, added[:, :rank]))
    with_mass = values > _MASSLESS * values.max(initial=0.0)
    with_mass[: max(0, basis_count + rank - flexibility.free.size)] = False
    values, vectors = values[with_mass], vectors[:, with_mass] / np.sqrt(values[with_mass])
    added_count = values.size
    for rows in _chunks(shapes):
        added[rows, :added_count] = added[rows, :rank] @ vectors
    cross = cross @ vectors
    enriched_stiffness = np.block([[stiffness, cross], [cross.T, np.diag(1.0 / values)]])
    return Enriched(np.ascontiguousarray(shapes[:, : basis_count + added_count]), enriched_stiffness)


def diagonalised(assembled: Assembled, rigid: int, enriched_basis: Enriched) -> tuple[Array, Array]:
    """Shapes Φ rotated in place so that ΦᵀMΦ = 1, ΦᵀKΦ = diag(ω²), and ω² (r,) increasing; the first `rigid` ones stay.

    The remaining round-off of the Gram matrix is removed by its Cholesky factor.
    """
    shapes, stiffness = enriched_basis
    lower = np.linalg.cholesky(_gram(assembled, shapes))
    inverse = scipy.linalg.solve_triangular(lower, np.eye(lower.shape[0]), lower=True)
    stiffness = (inverse @ stiffness @ inverse.T)[rigid:, rigid:]
    values, vectors = np.linalg.eigh(0.5 * (stiffness + stiffness.T))
    rotation = inverse.T[:, rigid:] @ vectors
    largest = np.zeros(values.size)
    for rows in _chunks(shapes):
        rotated = shapes[rows] @ rotation
        shapes[rows, rigid:] = rotated
        np.maximum(largest, np.abs(rotated).max(axis=0), out=largest)
    shapes[:, rigid:] *= signs(shapes[:, rigid:], largest)
    return shapes, np.concatenate([np.zeros(rigid), np.maximum(values, 0.0)])


def signs(shapes: Array, largest: Array) -> Array:
    """±1 (k,) by which shapes (nodal, k) are multiplied so that the first large value of each is positive; largest
    (k,): their largest absolute values.

    Eigenvectors of nearly equal matrices, as of a parameter and its changes, then have the same sign.
    """
    out = np.zeros(largest.size)
    for rows in _chunks(shapes):
        if out.all():
            break
        block = shapes[rows]
        large = np.abs(block) > 0.5 * largest
        block_sign = np.sign(block[large.argmax(axis=0), np.arange(largest.size)])
        out = np.where((out == 0.0) & large.any(axis=0), block_sign, out)
    return out


def _independent(products: Array, energies: Array) -> tuple[np.ndarray, Array]:
    """Pivots (r,) and U (r, r), UᵀU the energy products of these shapes, each scaled to the energy 1."""
    scale = np.divide(1.0, np.sqrt(np.maximum(energies, 0.0)), out=np.zeros_like(energies), where=energies > 0.0)
    scaled = 0.5 * (products + products.T) * scale * scale[:, None]
    if not scaled.size:
        return np.zeros(0, dtype=np.int64), scaled
    upper, pivots, rank, _ = scipy.linalg.lapack.dpstrf(scaled, tol=_SPANNED)
    rank = int(rank) if scaled.diagonal().max() > _SPANNED else 0
    return pivots[:rank] - 1, np.asfortranarray(np.triu(upper[:rank, :rank]))


def _gram(assembled: Assembled, shapes: Array) -> Array:
    """ΦᵀMΦ (r, r), of which one triangle is computed."""
    count = shapes.shape[1]
    gram = np.empty((count, count))
    for first in range(0, count, _COLUMNS):
        last = min(first + _COLUMNS, count)
        gram[:last, first:last] = shapes[:, :last].T @ (assembled.mass @ np.ascontiguousarray(shapes[:, first:last]))
    upper = np.triu(gram, 1)
    return upper + upper.T + np.diag(gram.diagonal())


def _chunks(shapes: Array) -> list[slice]:
    return [slice(first, first + _ROWS) for first in range(0, shapes.shape[0], _ROWS)]
