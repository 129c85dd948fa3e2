"""Condition number of the dual operator G⁻¹ C M⁻¹ Cᵀ of a junction.

Measured on a bar of linear elements with a zone of 4 H, at the mesh ratios 2 and 10 (H1 with the length H):

    weights     L2 coarse   fine        own         H1 coarse   fine        own
    linear      6.7, 12     40, 300     4.3, 6.8    41, 640     120, 1e4    19, 230
    constant    1.5, 1.5    3.5, 5.3    1.2, 1.2    12, 38      26, 630     4.8, 14
    cubic       56, 390     380, 1e4    28, 150     230, 9e3    750, 4e5    110, 2e3

The default (linear, L2, coarse) grows like 2.2 × zone/H and like the logarithm of the ratio; 25 is exceeded by cut ends
(33 at ratio 50), second-order triangles at ratio 50 (25.6) and zones with edges and corners (`Box`: 50 to 95).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse import csr_array, diags_array
from scipy.sparse.linalg import cg

from arlequin.junctions.base import JunctionOperator
from arlequin.models.linalg.factor import factorise
from arlequin.models.parallel.matrix import DistributedMatrix
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array

# multipliers up to which the eigenvalues are computed densely, and steps of Lanczos' method beyond
DENSE = 400
STEPS = 40
# relative residual of the solves inside them
TOLERANCE = 1e-5
# layers of dofs around the coupled ones that represent the whole mass: its inverse decays by e per layer
RINGS = 3


@checked_call
def dual_condition(operator: JunctionOperator, mass_coarse: csr_array, mass_fine: csr_array) -> float:
    """Estimated condition number of G⁻¹ C M⁻¹ Cᵀ, with the weighted masses M (kg) of both parts.

    Dofs without mass are left out, and those more than `RINGS` layers away from the glued ones. Up to `DENSE`
    multipliers the eigenvalues are exact, beyond they are Ritz values of `STEPS` steps of Lanczos' method with full
    orthogonalisation (a lower bound, within a few percent below 1e3). inf where the constraints are dependent.
    """
    blocks = (csr_array(operator.coarse), csr_array(operator.fine))
    pairs = zip(blocks, (mass_coarse, mass_fine), strict=True)
    gram, masses = csr_array(operator.gram), tuple(_mass_near(block, mass) for block, mass in pairs)
    n = operator.components
    if n > 1 and not _couples_components((*blocks, *masses, gram), n):
        blocks = tuple(csr_array(block[::n, ::n]) for block in blocks)
        masses = tuple(csr_array(mass[::n, ::n]) for mass in masses)
        gram = csr_array(gram[::n, ::n])
    pieces = [_near(block, mass) for block, mass in zip(blocks, masses, strict=True)]
    if gram.shape[0] <= DENSE:
        schur = np.zeros(gram.shape)
        for block, mass in pieces:
            schur += block @ factorise(mass).solve(np.asfortranarray(block.T.toarray()))
        values = eigh(0.5 * (schur + schur.T), gram.toarray(), eigvals_only=True)
    else:
        values = _lanczos(pieces, gram)
    return float(values[-1] / values[0]) if values[0] > 1e-14 * values[-1] else float("inf")


def _couples_components(matrices: tuple[csr_array, ...], components: int) -> bool:
    """Whether an entry of a matrix couples two components."""
    for matrix in matrices:
        entries = matrix.tocoo()
        if np.any((entries.row - entries.col) % components != 0):
            return True
    return False


def _mass_near(block: csr_array, mass: Any) -> csr_array:
    """The mass matrix in CSR format; of a distributed one the entries near the dofs that C couples."""
    if not isinstance(mass, DistributedMatrix):
        return csr_array(mass)
    near = diags_array(_close(block, mass).astype(float))
    return DistributedMatrix(near @ mass.local @ near, mass.ranks).collected()


def _close(block: csr_array, mass: Any) -> NDArray[np.bool_]:
    """Mask (d,) of the dofs within some layers of cells of those that C couples."""
    near = np.asarray(abs(block).sum(axis=0)).ravel() > 0
    pattern = abs(mass)
    for _ in range(RINGS):
        near |= (pattern @ near.astype(float)) > 0
    return near


def _near(block: csr_array, mass: csr_array) -> tuple[csr_array, csr_array]:
    """Columns of C and mass matrix of the dofs with mass near the coupled ones."""
    near = _close(block, mass)
    dofs = np.flatnonzero(near & (mass.diagonal() > 0))
    return csr_array(block[:, dofs]), csr_array(mass[dofs][:, dofs])


def _lanczos(pieces: list[tuple[csr_array, csr_array]], gram: csr_array) -> Array:
    """Ritz values of G⁻¹ C M⁻¹ Cᵀ in the inner product of G, ascending."""
    q = np.random.default_rng(0).normal(size=gram.shape[0])
    steps = min(STEPS, gram.shape[0])
    basis, images, projected = np.zeros((steps, q.size)), np.zeros((steps, q.size)), np.zeros((steps, steps))
    for k in range(steps):
        for _ in range(2):
            q -= basis[:k].T @ (images[:k] @ q)
        image = gram @ q
        length = np.sqrt(q @ image)
        basis[k], images[k] = q / length, image / length
        applied = sum(block @ _solve(mass, block.T @ basis[k]) for block, mass in pieces)
        projected[: k + 1, k] = projected[k, : k + 1] = basis[: k + 1] @ applied
        q = _solve(gram, applied)
    return np.linalg.eigvalsh(projected)


def _solve(matrix: csr_array, rhs: Array) -> Array:
    """Conjugate gradients with diagonal scaling: mass matrices need some twenty iterations on any mesh."""
    scale = diags_array(1 / matrix.diagonal())
    return cg(matrix, rhs, rtol=TOLERANCE, maxiter=200, M=scale)[0]
