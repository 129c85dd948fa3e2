"""Compiled solutions with a supernodal factor, against dense ones."""

import numpy as np
import pytest
import scipy.sparse as sp

from arlequin.models.linalg._supernodal_kernels import backward, forward
from arlequin.models.linalg.components import RepeatedFactor, factorise_components
from arlequin.models.linalg.factor import factorise
from arlequin.models.linalg.supernodal import SupernodalSolver
from arlequin.models.linalg.supernodes import supernodes_from_columns

pytestmark = pytest.mark.kernels


def grid(*sizes):
    """−Δ + 1 of a box of nodes, with diagonals at random."""
    rng = np.random.default_rng(5)
    lines = [sp.diags_array([-np.ones(n - 1), 2.0 + rng.random(n), -np.ones(n - 1)], offsets=[-1, 0, 1]) for n in sizes]
    out = sp.csr_array([[1.0]])
    for line in lines:
        out = sp.kron(out, sp.eye_array(line.shape[0])) + sp.kron(sp.eye_array(out.shape[0]), line)
    return sp.csr_array(out)


def dense(size):
    root = np.random.default_rng(size).normal(size=(size, size))
    return root @ root.T + size * np.eye(size)


def solver_of(A):
    factor = factorise(A)
    found = SupernodalSolver.of(factor)
    if found is None and factor.supernodes() is None:
        pytest.skip("this scikit-sparse does not show supernodes")
    assert found is not None
    return found


SHAPES = {
    "cube": lambda: grid(13, 14, 15),
    "rod": lambda: grid(32, 10, 10),
    "many apart": lambda: sp.csr_array(sp.block_diag([dense(150 + i % 3) for i in range(9)], format="csr")),
    "apart": lambda: sp.csr_array(sp.block_diag([grid(11, 12, 10), grid(12, 11, 11)], format="csr")),
}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("sides", [1, 3, 5])
def test_solution_is_the_dense_one(shape, sides, monkeypatch):
    monkeypatch.setattr("arlequin.models.linalg.supernodal._MIN_ENTRIES", 100_000)
    A = SHAPES[shape]()
    solver, dense = solver_of(A), A.toarray()
    assert len(solver._groups) >= 2 and (solver._top.size > 0) == (shape != "many apart")
    covered = np.sort(np.concatenate([*solver._groups, solver._top]))
    np.testing.assert_array_equal(covered, np.arange(covered.size))
    b = np.random.default_rng(3).normal(size=(sides, len(dense)))
    exact = np.linalg.solve(dense, b.T).T
    x = np.ascontiguousarray(b[:, solver.order])
    solver.solve(x)
    np.testing.assert_allclose(x, exact[:, solver.order], rtol=0.0, atol=1e-13 * np.abs(exact).max())
    np.testing.assert_allclose(solver.squares(b), np.vecdot(b, exact), rtol=1e-12)


@pytest.mark.kernels(slow=True)
def test_equal_bits_on_any_number_of_threads_and_for_any_batch(monkeypatch):
    A = grid(13, 14, 15)
    solver = solver_of(A)
    b = np.random.default_rng(4).normal(size=(29, A.shape[0]))
    found, squares = b[:3].copy(), solver.squares(b)
    solver.solve(found)
    for threads in (1, 3):
        monkeypatch.setattr("os.sched_getaffinity", lambda _, threads=threads: set(range(threads)), raising=False)
        again = b[:3].copy()
        solver.solve(again)
        assert again.tobytes() == found.tobytes()
        assert solver.squares(b).tobytes() == squares.tobytes()
    assert b"".join(solver.squares(one[None]).tobytes() for one in b) == squares.tobytes()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("coupled", [False, True])
def test_factor_of_components_solves_by_it(coupled):
    A, eye = grid(13, 14, 15), np.eye(3)
    whole = sp.csr_array(sp.kron(A, eye + 0.25 * coupled * (1.0 - eye), format="csr"))
    factor = factorise_components(whole)
    assert isinstance(factor, RepeatedFactor) != coupled
    b = np.random.default_rng(3).normal(size=(4, whole.shape[0]))
    exact = np.linalg.solve(A.toarray(), b.T.reshape(A.shape[0], -1)).reshape(A.shape[0], 3, 4)
    for each, mine in zip(b, np.moveaxis(exact, -1, 0), strict=True):
        if not coupled:
            np.testing.assert_allclose(factor.solve(each), mine.reshape(-1), rtol=0.0, atol=1e-13 * np.abs(mine).max())
        np.testing.assert_allclose(whole @ factor.solve(each), each, rtol=0.0, atol=1e-13)
    by_solutions = [each @ factor.solve(each) for each in b]
    np.testing.assert_allclose(factor.squares(b), by_solutions, rtol=1e-12)


def test_small_factors_stay_with_cholmod():
    assert SupernodalSolver.of(factorise(grid(4, 4, 4))) is None
    assert SupernodalSolver.of(factorise(sp.eye_array(5))) is None
    whole = sp.csr_array(sp.kron(grid(4, 4, 4), np.eye(3), format="csr"))
    b = np.random.default_rng(3).normal(size=(2, whole.shape[0]))
    exact = np.vecdot(b, np.linalg.solve(whole.toarray(), b.T).T)
    np.testing.assert_allclose(factorise_components(whole).squares(b), exact, rtol=1e-12)


@pytest.mark.sampled(7)
@pytest.mark.parametrize("shape", [(3,), (40,), (9, 14), (30, 30), (6, 7, 8)])
@pytest.mark.parametrize("border", [0, 3])
def test_columns_are_gathered_to_supernodes(shape, border):
    """Whatever way L is stored; zeros that are stored with it stay few."""
    A = grid(*shape)
    size = A.shape[0] + border
    rng = np.random.default_rng(1)
    if border:
        rows = sp.random_array((border, A.shape[0]), density=0.2, rng=rng)
        A = sp.csr_array(sp.block_array([[A, rows.T], [rows, 100.0 * sp.eye_array(border)]]))
    order, lower = factorise(A).lower()
    found = supernodes_from_columns(lower.indptr.astype(np.int64), lower.indices, lower.data)
    assert found.first[0] == 0 and found.first[-1] == size and (np.diff(found.first) > 0).all()
    assert found.values.size <= 6 * lower.nnz + 10
    dense = np.zeros((size, size))
    for s in range(found.first.size - 1):
        rows = found.rows[found.row_start[s] : found.row_start[s + 1]]
        block = found.values[found.value_start[s] : found.value_start[s + 1]].reshape(-1, rows.size)
        dense[rows[:, None], np.arange(found.first[s], found.first[s + 1])] = block.T
    np.testing.assert_array_equal(dense, lower.toarray())
    b = rng.normal(size=(1, size))
    x = np.ascontiguousarray(b[:, order])
    every, none = np.arange(found.first.size - 1), np.zeros((0, 0))
    forward(every, *found, x, np.full(size, -1), none)
    backward(every, *found, x)
    np.testing.assert_allclose(A @ x[0][np.argsort(order)], b[0], atol=1e-12 * np.abs(b).max())
