"""Projected conjugate gradients against dense saddle-point solutions."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from arlequin.models.errors import UserError
from arlequin.models.linalg import threads
from arlequin.models.linalg.projected_cg import ProjectedConjugateGradients

SIZE, ROWS = 60, 9


def system(seed: int = 0) -> tuple[Any, Any]:
    """A positive definite matrix with units that differ by 1e6, and constraints."""
    rng = np.random.default_rng(seed)
    scale = 10.0 ** rng.uniform(-3, 3, SIZE)
    half = sp.random_array((SIZE, SIZE), density=0.05, rng=rng) + sp.eye_array(SIZE)
    A = sp.csr_array(sp.diags_array(scale) @ (half @ half.T) @ sp.diags_array(scale))
    return A, sp.csr_array(rng.standard_normal((ROWS, SIZE)) * (rng.random((ROWS, SIZE)) < 0.2) * scale)


def dense(A: Any, C: Any, b: Any, c: Any) -> tuple[Any, Any]:
    """In units in which the diagonal of A is 1, and so are the rows of C."""
    unit = 1.0 / np.sqrt(A.diagonal())
    matrix, rows = A.toarray() * unit * unit[:, None], C.toarray() * unit
    size = np.linalg.norm(rows, axis=1)
    rows /= size[:, None]
    whole = np.block([[matrix, -rows.T], [rows, np.zeros((ROWS, ROWS))]])
    out = np.linalg.solve(whole, np.concatenate([unit * b, c / size]))
    return unit * out[:SIZE], out[SIZE:] / size


def error(A: Any, y: Any, exact: Any) -> float:
    """In the norm of A."""
    difference = y - exact
    return float(np.sqrt(difference @ (A @ difference) / (exact @ (A @ exact))))


@pytest.mark.parametrize("moved", [False, True])
def test_dense(moved: bool) -> None:
    A, C = system()
    rng = np.random.default_rng(1)
    b, c = A @ rng.standard_normal(SIZE), moved * (C @ rng.standard_normal(SIZE))
    y, multipliers = dense(A, C, b, c)
    found = ProjectedConjugateGradients(A, C).solve(b, c)
    assert error(A, found.y, y) < 1e-9
    assert np.abs(A @ found.y - b - C.T @ found.multipliers).max() < 1e-9 * np.abs(b).max()
    assert np.abs(C @ found.y - c).max() < 1e-12 * (abs(C) @ np.abs(found.y)).max()
    assert found.multipliers == pytest.approx(multipliers, rel=1e-6, abs=1e-6 * np.abs(multipliers).max())


def test_dependent_constraints() -> None:
    """A row that others imply changes no y, and its multiplier is 0."""
    A, C = system(2)
    twice = sp.csr_array(sp.vstack([C, 2.0 * C[:1] - C[1:2]]))
    b = A @ np.random.default_rng(3).standard_normal(SIZE)
    one, other = (ProjectedConjugateGradients(A, rows).solve(b) for rows in (C, twice))
    assert error(A, other.y, one.y) < 1e-10
    assert (other.multipliers == 0.0).sum() == 1


def test_holding_more_rows() -> None:
    """Rows that share no columns with the others, at given values, as all rows at once; None if dependent."""
    A, C = system(2)
    free = np.arange(6)
    C = sp.csr_array(C * (np.arange(SIZE) >= 6))
    rng = np.random.default_rng(8)
    more = np.zeros((4, SIZE))
    more[:, free] = rng.standard_normal((4, 6)) * A.diagonal()[free] ** 0.5
    held = ProjectedConjugateGradients(A, C).holding(sp.csr_array(more))
    assert held is not None
    both = sp.csr_array(sp.vstack([C, sp.csr_array(more)]))
    b, c = A @ rng.standard_normal(SIZE), both @ rng.standard_normal(SIZE)
    found, wanted = held.solve(b, c), ProjectedConjugateGradients(A, both).solve(b, c)
    assert error(A, found.y, wanted.y) < 1e-9
    assert found.multipliers == pytest.approx(wanted.multipliers, rel=1e-6, abs=1e-6 * np.abs(wanted.multipliers).max())
    assert np.abs(both @ found.y - c).max() < 1e-12 * (abs(both) @ np.abs(found.y)).max()
    assert ProjectedConjugateGradients(A, C).holding(sp.csr_array(more[[0, 1, 0]])) is None


def test_without_constraints() -> None:
    A, C = system(4)
    b = A @ np.ones(SIZE)
    assert error(A, ProjectedConjugateGradients(A, C[:0]).solve(b).y, np.ones(SIZE)) < 1e-11


def test_rows_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Products of pieces on threads are those of the whole matrix, to the bit."""
    A, C = system(5)
    monkeypatch.setattr(threads, "_MIN_CELLS", 10)
    x = np.random.default_rng(6).standard_normal(SIZE)
    assert np.array_equal(ProjectedConjugateGradients(A, C).product(x), A @ x)


def test_nothing_and_failures() -> None:
    A, C = system(7)
    found = ProjectedConjugateGradients(A, C).solve(np.zeros(SIZE))
    assert not found.y.any() and found.iterations == 0
    with pytest.raises(UserError, match=r"residual of conjugate gradients is .* after 3 iterations, 1e-13 is needed"):
        ProjectedConjugateGradients(A, C, max_iterations=3).solve(A @ np.ones(SIZE))
    with pytest.raises(UserError, match="not positive definite"):
        ProjectedConjugateGradients(A - 2.0 * sp.diags_array(A.diagonal()), C)
    indefinite = sp.csr_array(np.array([[1.0, 2.0], [2.0, 1.0]]))
    with pytest.raises(UserError, match="not positive definite"):
        ProjectedConjugateGradients(indefinite, sp.csr_array((0, 2))).solve(np.array([1.0, -1.0]))
