"""A factor for many right-hand sides against dense LAPACK."""

import numpy as np
import pytest
import scipy.sparse as sp

from arlequin.models.linalg.batched_factor import BatchedFactor
from arlequin.models.linalg.factor import factorise


def grid(n, dimension):
    """Finite differences on a grid of nᵈⁱᵐ points between fixed walls."""
    line = sp.diags_array([-np.ones(n - 1), 2.0 * np.ones(n), -np.ones(n - 1)], offsets=[-1, 0, 1])
    A = line
    for _ in range(dimension - 1):
        A = sp.kron(A, sp.eye_array(n)) + sp.kron(sp.eye_array(A.shape[0]), line)
    return sp.csr_array(A)


def dense(n):
    """One supernode, wider than those that are taken whole."""
    half = np.random.default_rng(1).normal(size=(n, n))
    return sp.csr_array(half @ half.T + n * np.eye(n))


MATRICES = {
    "chain": grid(40, 1),
    "plane": grid(14, 2),
    "space": grid(7, 3),
    "dense": dense(150),
    "one": sp.csr_array(np.array([[4.0]])),
    "lumped": sp.diags_array(np.arange(1.0, 9.0), format="csr"),
}


def solved(factor: BatchedFactor, b):
    """A⁻¹ of each row of b by a forward and a backward pass."""
    half, out = np.empty(b.shape), np.empty(b.shape)
    factor.forward(b, half)
    factor.backward(half, out)
    return out


@pytest.mark.sampled(7)
@pytest.mark.kernels
@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("count", [1, 5, 70])
def test_solutions_are_those_of_the_dense_matrix(name, count):
    A = sp.csr_array(MATRICES[name])
    b = np.random.default_rng(0).normal(size=(count, A.shape[0]))
    found, exact = solved(BatchedFactor.of(factorise(A)), b), np.linalg.solve(A.toarray(), b.T).T
    assert np.abs(found - exact).max() <= 1e-12 * np.abs(exact).max()


@pytest.mark.parametrize("name", MATRICES)
def test_the_lower_factor_makes_the_matrix(name):
    A = sp.csr_array(MATRICES[name])
    order, lower = factorise(A).lower()
    again = (lower @ lower.T).toarray() - A.toarray()[np.ix_(order, order)]
    assert np.abs(again).max() <= 1e-13 * np.abs(A.toarray()).max()


def test_a_solution_does_not_depend_on_what_stands_beside_it():
    A, rng = MATRICES["plane"], np.random.default_rng(0)
    factor, b = BatchedFactor.of(factorise(A)), rng.normal(size=(40, A.shape[0]))
    whole, other = solved(factor, b), b.copy()
    other[3:] = rng.normal(size=other[3:].shape)
    assert (solved(factor, other)[:3] == whole[:3]).all()
    assert np.abs(solved(factor, b[:3]) - whole[:3]).max() <= 1e-14 * np.abs(whole).max()  # blocks of another width
