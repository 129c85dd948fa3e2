"""Sparse Cholesky factors of plane elasticity on Q4 grids, held at the left edge."""

import numpy as np
import scipy.sparse as sp
from timing import POISSON, Report, best, stream

from arlequin.models.linalg.factor import CholeskyFactor, factorise


def q4_stiffness() -> np.ndarray:
    """Plane-strain stiffness (8, 8) of the unit square, unit Young's modulus, 2 × 2 Gauss points."""
    nodes = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], dtype=float)
    lame = POISSON / ((1 + POISSON) * (1 - 2 * POISSON))
    shear = 0.5 / (1 + POISSON)
    D = np.diag([2 * shear, 2 * shear, shear])
    D[:2, :2] += lame
    K = np.zeros((8, 8))
    for x in 0.5 + np.array([-0.5, 0.5]) / np.sqrt(3):
        for y in 0.5 + np.array([-0.5, 0.5]) / np.sqrt(3):
            dx = np.where(nodes[:, 0] == 1, 1, -1) * np.where(nodes[:, 1] == 1, y, 1 - y)
            dy = np.where(nodes[:, 1] == 1, 1, -1) * np.where(nodes[:, 0] == 1, x, 1 - x)
            B = np.zeros((3, 8))
            B[0, 0::2] = B[2, 1::2] = dx
            B[1, 1::2] = B[2, 0::2] = dy
            K += B.T @ D @ B / 4
    return K


def elasticity(n: int) -> sp.csr_array:
    """Stiffness of n × n Q4 cells, node-major, the left edge held: d = 2 n (n + 1)."""
    node = np.arange((n + 1) ** 2).reshape(n + 1, n + 1)  # [column, row]
    cells = np.stack([node[:-1, :-1], node[1:, :-1], node[1:, 1:], node[:-1, 1:]], axis=-1).reshape(-1, 4)
    dofs = (2 * cells[:, :, None] + np.arange(2)).reshape(-1, 8)
    rows, columns = np.repeat(dofs, 8, axis=1).ravel(), np.tile(dofs, 8).ravel()
    K = sp.csr_array((np.tile(q4_stiffness().ravel(), len(cells)), (rows, columns)))
    return K[2 * (n + 1) :, 2 * (n + 1) :]


def factor_and_solve(n: int, bandwidth: float) -> dict[str, float]:
    """Times of the factor of an n × n grid, as multiples of K x and of reading L twice."""
    K = elasticity(n)
    b = np.random.default_rng(0).normal(size=K.shape[0])
    many = np.random.default_rng(0).normal(size=(K.shape[0], 32))
    first = best(lambda: factorise(K), 0.0)
    factor = factorise(K)
    assert isinstance(factor, CholeskyFactor)
    again = best(lambda: factor.refactorise(K), 0.0)
    product, solve = best(lambda: K @ b), best(lambda: factor.solve(b))
    block = best(lambda: factor.solve(many)) / many.shape[1]
    return {
        "dofs": K.shape[0],
        "entries of L": factor.nnz,
        "solve (s)": solve,
        "solve / K x": solve / product,
        "solve / reading L twice": solve * bandwidth / (2 * 8 * factor.nnz),
        "solve, one of 32 / solve": block / solve,
        "factorise / solve": first / solve,
        "refactorise / factorise": again / first,
        "relative residual": float(np.linalg.norm(K @ factor.solve(b) - b) / np.linalg.norm(b)),
    }


def factors() -> Report:
    """50², 100² and 200² cells."""
    bandwidth = stream()
    grids = {f"{n} × {n}": factor_and_solve(n, bandwidth) for n in (50, 100, 200)}
    return {"bandwidth (GB/s)": bandwidth / 1e9, **grids}
