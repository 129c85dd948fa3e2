"""Saddle points by one quasi-definite factor: against dense solutions."""

import numpy as np
import pytest
import scipy.sparse as sp

from arlequin.models.linalg.saddle import SaddlePoint


def chain(count: int) -> sp.csr_array:
    """Diagonally dominant, tridiagonal."""
    rng = np.random.default_rng(count)
    off = rng.uniform(-1.0, 0.0, count - 1)
    return sp.csr_array(sp.diags_array([off, 2.5 + rng.uniform(size=count), off], offsets=[-1, 0, 1]))


def rows(m: int, n: int) -> sp.csr_array:
    return sp.csr_array(sp.random_array((m, n), density=0.2, rng=np.random.default_rng(m)))


@pytest.mark.parametrize("scale", [1.0, 1e-12])
@pytest.mark.parametrize("components", [1, 2, 3])
def test_it_solves_the_saddle_point(components: int, scale: float) -> None:
    """Components that are coupled alike share a factor; A may be as small as masses in other units."""
    A, C = (sp.csr_array(sp.kron(own, sp.eye_array(components))) for own in (scale * chain(40), rows(9, 40)))
    rng = np.random.default_rng(0)
    b, c = scale * rng.normal(size=A.shape[0]), rng.normal(size=C.shape[0])
    y, multipliers = SaddlePoint(A, C).solve(b, c)
    inverse = np.linalg.inv(A.toarray())
    schur = C @ inverse @ C.T
    expected = np.linalg.solve(schur, c - C @ (inverse @ b))
    np.testing.assert_allclose(multipliers, expected, rtol=0.0, atol=1e-11 * np.abs(expected).max())
    np.testing.assert_allclose(y, inverse @ (b + C.T @ expected), rtol=0.0, atol=1e-12 * np.abs(y).max())
    assert np.abs(C @ y - c).max() <= 1e-14 * (abs(C) @ np.abs(y)).max()


def test_rows_that_others_imply_are_left_out() -> None:
    A, C = chain(30), rows(5, 30)
    doubled = sp.csr_array(sp.vstack([C, 2.0 * C[[1]], C[[0]] + C[[3]], 0.0 * C[[2]]]))
    b = np.random.default_rng(1).normal(size=30)
    y, multipliers = SaddlePoint(A, doubled).solve(b, np.zeros(8))
    expected, _ = SaddlePoint(A, C).solve(b, np.zeros(5))
    np.testing.assert_allclose(y, expected, rtol=0.0, atol=1e-13)
    np.testing.assert_allclose(A @ y, b + doubled.T @ multipliers, rtol=0.0, atol=1e-13)


def test_without_rows_it_solves_a() -> None:
    A, b = chain(20), np.arange(20.0)
    y, multipliers = SaddlePoint(A, sp.csr_array((0, 20))).solve(b, np.zeros(0))
    np.testing.assert_allclose(A @ y, b, rtol=0.0, atol=1e-13)
    assert multipliers.shape == (0,)
