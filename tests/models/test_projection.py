"""The projection of residuals on constraints, against dense matrices."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from arlequin.models.linalg.projection import ConstraintProjection, equal_fields

NODES, ROWS = 40, 7


def constraints(fields: int = 3, seed: int = 0) -> Any:
    """C₁ ⊗ 1 on the fields of some of the nodes."""
    rng = np.random.default_rng(seed)
    one = sp.random_array((ROWS, NODES), density=0.15, rng=rng) + sp.eye_array(ROWS, NODES)
    return sp.csr_array(sp.kron(one, sp.eye_array(fields), format="csr"))


def exact(C: Any, inverse: Any, r: Any) -> tuple[Any, Any]:
    C = C.toarray()
    v = np.linalg.lstsq((C * inverse) @ C.T, C @ (inverse * r), rcond=1e-13)[0]
    return r - C.T @ v, v


@pytest.mark.parametrize("fields", [1, 2, 3])
def test_equal_fields(fields: int) -> None:
    """Rows of all fields at once are those of each; the diagonal is the mean of the fields where these are bound."""
    C = constraints(fields)
    rng = np.random.default_rng(1)
    diagonal, r = rng.uniform(1.0, 3.0, C.shape[1]), rng.standard_normal(C.shape[1])
    found = ConstraintProjection(C, diagonal)
    assert (equal_fields(C) is not None) == (fields > 1)
    means = diagonal.copy()
    bound = np.unique(C.indices)
    means.reshape(NODES, fields)[:] = np.where(
        np.isin(np.arange(C.shape[1]), bound).reshape(NODES, fields),
        diagonal.reshape(NODES, fields).mean(axis=1, keepdims=True),
        diagonal.reshape(NODES, fields),
    )
    assert found.inverse == pytest.approx(1.0 / means, rel=1e-15)
    left, s = r.copy(), found.inverse * r
    v = found.project(left, s)
    wanted, multipliers = exact(C, found.inverse, r)
    assert left == pytest.approx(wanted, abs=1e-13)
    assert s == pytest.approx(found.inverse * wanted, abs=1e-13)
    assert v == pytest.approx(multipliers, abs=1e-12)


def test_fields_of_other_units() -> None:
    """Bound alike, as translations and rotations may be: each keeps its own diagonal."""
    C, rng = constraints(2), np.random.default_rng(5)
    diagonal = rng.uniform(1.0, 2.0, C.shape[1]) * np.where(np.arange(C.shape[1]) % 2, 1e6, 1.0)
    found = ConstraintProjection(C, diagonal)
    assert np.array_equal(found.inverse, 1.0 / diagonal)
    r = rng.standard_normal(C.shape[1])
    left, s = r.copy(), found.inverse * r
    found.project(left, s)
    for field in range(2):
        wanted, _ = exact(C[field::2][:, field::2], found.inverse[field::2], r[field::2])
        assert left[field::2] == pytest.approx(wanted, abs=1e-12)


def test_unlike_fields_and_dependent_rows() -> None:
    """A field with another entry, and a row that others imply: all rows at once, and v = 0 of that row."""
    other = constraints()
    other.data[0] *= 2.0
    assert equal_fields(other) is None
    dependent = sp.csr_array(sp.vstack([constraints(), constraints()[:1] - constraints()[3:4]]))
    twice = sp.csr_array(sp.kron(sp.vstack([constraints(1), constraints(1)[2:3]]), sp.eye_array(3), format="csr"))
    assert equal_fields(twice) is not None
    for C in (other, dependent, twice):
        rng = np.random.default_rng(2)
        found = ConstraintProjection(C, rng.uniform(1.0, 3.0, C.shape[1]))
        r = rng.standard_normal(C.shape[1])
        left, s = r.copy(), found.inverse * r
        v = found.multipliers(found.project(left, s))
        wanted, _ = exact(C, found.inverse, r)
        assert left == pytest.approx(wanted, abs=1e-12)
        assert (v == 0.0).sum() == C.shape[0] - np.linalg.matrix_rank(C.toarray())


@pytest.mark.parametrize("fields", [1, 3])
def test_constrain(fields: int) -> None:
    C = constraints(fields)
    rng = np.random.default_rng(3)
    found = ConstraintProjection(C, rng.uniform(1.0, 3.0, C.shape[1]))
    y, c = rng.standard_normal(C.shape[1]), rng.standard_normal(C.shape[0])
    tangential = found.tangential(y)
    assert np.abs(C @ tangential).max() < 1e-13
    found.constrain(y, c)
    assert C @ y == pytest.approx(c, abs=1e-13)
    found.constrain(y)
    assert np.abs(C @ y).max() < 1e-13


def test_without_rows() -> None:
    found = ConstraintProjection(sp.csr_array((0, 5)), np.full(5, 2.0))
    r = np.arange(5.0)
    assert found.project(r, 0.5 * r).size == 0
    assert np.array_equal(found.tangential(r), r)
