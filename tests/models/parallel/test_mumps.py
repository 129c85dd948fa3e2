"""Bordered factors of MUMPS on one rank against dense algebra; on several ranks see tests/arlequin/parallel."""

import numpy as np
import pytest
import scipy.sparse as sp

from arlequin.models.errors import UserError
from arlequin.models.parallel.matrix import DistributedMatrix
from arlequin.models.parallel.ranks import OneRank

pytest.importorskip("mumps", reason="PyMUMPS is not installed", exc_type=ImportError)
pytest.importorskip("mpi4py.MPI", reason="mpi4py is not installed", exc_type=ImportError)

from arlequin.models.parallel.mumps import MumpsBorder, dissection_order


def grid(n: int, components: int = 2, shift: float = 0.1) -> sp.csr_array:
    """The Laplacian of n × n nodes with coupled components, positive definite for a positive shift."""
    line = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n))
    eye = sp.eye_array(n)
    plane = sp.kron(line, eye) + sp.kron(eye, line)
    block = np.full((components, components), 0.2) + np.eye(components)
    return sp.csr_array(sp.kron(plane, block) + shift * sp.eye_array(n * n * components))


def spread(matrix: sp.csr_array) -> DistributedMatrix:
    return DistributedMatrix(matrix, OneRank())


@pytest.mark.sampled(1)
@pytest.mark.parametrize("border", (0, 1, 7))
def test_solutions_and_schur_complement(border):
    """A⁻¹ b, R A⁻¹ b, A⁻¹(b + Rᵀp) and R A⁻¹ Rᵀ, whatever the order in which the halves are asked for."""
    rng, A = np.random.default_rng(3), grid(7)
    rows = sp.random_array((border, A.shape[0]), density=0.2, rng=rng, format="csr")
    factor, dense, full = MumpsBorder(spread(A), rows), A.toarray(), rows.toarray()
    np.testing.assert_allclose(factor.schur(), full @ np.linalg.solve(dense, full.T), atol=1e-13)
    b, other, push = rng.standard_normal(A.shape[0]), rng.standard_normal((A.shape[0], 2)), rng.standard_normal(border)
    first, second = factor.forward(b), factor.forward(other)
    np.testing.assert_allclose(first.border, full @ np.linalg.solve(dense, b), atol=1e-12)
    np.testing.assert_allclose(second.border, full @ np.linalg.solve(dense, other), atol=1e-12)
    for _ in range(2):
        np.testing.assert_allclose(
            factor.backward(first, push), np.linalg.solve(dense, b + full.T @ push), rtol=1e-11, atol=1e-12
        )
        np.testing.assert_allclose(factor.backward(second), np.linalg.solve(dense, other), rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(factor.solve(other), np.linalg.solve(dense, other), rtol=1e-11, atol=1e-12)
    factor.refactorise(spread(sp.csr_array(2.0 * A)))
    np.testing.assert_allclose(factor.schur(), 0.5 * full @ np.linalg.solve(dense, full.T), atol=1e-13)
    np.testing.assert_allclose(factor.solve(b), 0.5 * np.linalg.solve(dense, b), rtol=1e-11, atol=1e-12)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("matrix", (grid(5, shift=-1.0), grid(5) @ sp.diags_array(np.sign(np.arange(50.0))), None))
def test_not_definite(matrix):
    """Negative pivots, zeros on the diagonal, and a free motion that round-off hides."""
    if matrix is None:
        line = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(40, 40)).tolil()
        line[0, 0] = line[39, 39] = 1.0
        matrix = sp.csr_array(line / 3.0)
    with pytest.raises(UserError, match="not positive definite"):
        MumpsBorder(spread(sp.csr_array(matrix)), sp.csr_array((0, matrix.shape[0])))


def test_order_keeps_components_together_and_fills_little():
    """Nested dissection on the nodes: fill as that of an order of the whole, far below that of the rows as they are."""
    from arlequin.models.linalg.factor import CholeskyFactor

    A = grid(24, components=3)
    order = dissection_order(spread(A))
    assert np.array_equal(np.sort(order), np.arange(A.shape[0]))
    assert (order.reshape(-1, 3) // 3 == order.reshape(-1, 3)[:, :1] // 3).all()
    found = CholeskyFactor(sp.csc_array(A[order][:, order]), "natural").nnz
    assert found < 1.2 * CholeskyFactor(sp.csc_array(A), "metis").nnz
    assert found < 0.6 * CholeskyFactor(sp.csc_array(A), "natural").nnz
