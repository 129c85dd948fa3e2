"""Bordered factors against dense solutions."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from arlequin.models.errors import UserError
from arlequin.models.linalg import bordered
from arlequin.models.linalg.bordered import border
from arlequin.models.linalg.factor import CholeskyFactor, factorise


def grid(n: int, mass: float, axes: int = 3) -> sp.csc_array:
    """Differences of second order on a grid of nᵃ points, plus mass."""
    line = sp.diags_array([-np.ones(n - 1), 2.0 * np.ones(n), -np.ones(n - 1)], offsets=[-1, 0, 1])
    out: Any = line
    for axis in range(1, axes):
        out = sp.kron(out, sp.eye_array(n)) + sp.kron(sp.eye_array(n**axis), line)
    return sp.csc_array(out + mass * sp.eye_array(n**axes))


def cases() -> dict[str, tuple[Any, Any]]:
    rng = np.random.default_rng(0)
    two = sp.block_diag([grid(6, 1e-3), 1e9 * grid(6, 1e-3)], format="csc")
    ends = np.arange(36), 216 + 36 + np.arange(36)
    glue = sp.csr_array(
        (np.repeat([1.0, -1.0], 36), (np.tile(np.arange(36), 2), np.concatenate(ends))), shape=(36, 432)
    )
    apart = sp.csr_array((np.ones(20), (np.arange(20), np.r_[:10, 300:310])), shape=(20, 432))
    dense = rng.standard_normal((30, 30))
    return {
        "glued, of two stiffnesses": (two, glue),
        "rows that share nothing": (two, apart),
        "rows of units 1e6 apart": (
            grid(7, 1.0),
            sp.diags_array(10.0 ** rng.integers(-3, 3, 49)) @ sp.csr_array(sp.eye_array(343))[:49],
        ),
        "of rows that share many columns": (grid(10, 0.1), sp.csr_array(rng.standard_normal((150, 1000)))),
        "of rows with few columns": (grid(600, 0.1, axes=1), sp.csr_array(sp.eye_array(600))[::4]),
        "soft": (grid(40, 1e-9, axes=1), sp.csr_array(np.ones((1, 40)))),
        "zero row": (grid(5, 1.0), sp.csr_array(np.vstack([np.eye(125)[3], np.zeros(125)]))),
        "no rows": (grid(5, 1.0), sp.csr_array((0, 125))),
        "full": (sp.csc_array(dense @ dense.T + np.eye(30)), sp.csr_array(rng.standard_normal((30, 30)))),
        "diagonal": (sp.diags_array(rng.random(50) + 0.1, format="csc"), sp.csr_array(sp.eye_array(50))[::3]),
    }


@pytest.mark.sampled(7)
@pytest.mark.parametrize("name", cases())
def test_against_dense_solutions(name: str) -> None:
    A, rows = cases()[name]
    rng = np.random.default_rng(1)
    full, R = A.toarray(), rows.toarray()
    columns = np.linalg.solve(full, R.T)
    exact = R @ columns
    bordered = border(A, rows)
    schur = bordered.schur()
    schur = schur.toarray() if sp.issparse(schur) else schur
    sizes = np.sqrt(np.where(np.diag(exact) > 0.0, np.diag(exact), 1.0))
    assert (schur == schur.T).all()
    assert np.abs((schur - exact) / sizes / sizes[:, None]).max(initial=0.0) < 1e-11

    b, push = rng.standard_normal(len(full)), rng.standard_normal(len(R)) / sizes
    forward = bordered.forward(b)
    free = np.linalg.solve(full, b)
    for found, p in (
        (bordered.backward(forward, push), push),
        (bordered.backward(forward), 0.0 * push),
        (bordered.backward(forward, push), push),
    ):
        y = free + columns @ p
        assert found == pytest.approx(y, abs=1e-9 * np.abs(y).max())
    assert forward.border == pytest.approx(R @ free, abs=1e-9 * np.abs(R @ free).max(initial=1e-300))

    # fields together, as alone
    fields, pushes = rng.standard_normal((5, len(full))), rng.standard_normal((5, len(R))) / sizes
    half = np.empty((5, sum(reversed(rows.shape))))
    moved = bordered.forward_each(fields, half)
    found = bordered.backward_each(half, pushes)
    both = bordered.forward(fields.T)
    assert moved == pytest.approx(both.border.T, abs=1e-9 * np.abs(moved).max(initial=1e-300))
    alone = bordered.backward(both, pushes.T).T
    assert found == pytest.approx(alone, abs=1e-10 * np.abs(alone).max())


def test_another_matrix_of_the_same_pattern() -> None:
    A, rows = cases()["glued, of two stiffnesses"]
    bordered = border(A, rows).refactorise(A + 2.0 * sp.diags_array(A.diagonal()))
    full, R = (A + 2.0 * sp.diags_array(A.diagonal())).toarray(), rows.toarray()
    assert bordered.schur() == pytest.approx(R @ np.linalg.solve(full, R.T), rel=1e-10, abs=1e-14)
    assert bordered.factor.analyses == 1


@pytest.mark.parametrize("stiff", [1.0, 1e5])
@pytest.mark.parametrize("soft", [1e-4, 1e-10])
def test_no_digits_lost_by_rows_that_are_much_softer_than_the_diagonal(soft: float, stiff: float) -> None:
    """A chain of springs between fixed ends, with springs of stiffness `soft` to the ground: points in its middle move
    by sinh(q l) sinh(q r) / (sinh q sinh q(n + 1)), l and r the distances to the ends, 4 sinh²(q/2) = soft."""
    n = 3001
    rows = sp.csr_array((np.full(2, 1e3), (np.arange(2), [n // 2, n // 2 + 1])), shape=(2, n))
    A = stiff * grid(n, soft, axes=1)
    q = 2.0 * np.arcsinh(0.5 * np.sqrt(soft))
    place = np.arange(1, n + 1)[[n // 2, n // 2 + 1]]
    left, right = place[0], n + 1 - place[1]
    exact = np.array(
        [
            [np.sinh(q * left) * np.sinh(q * (n + 1 - left)), np.sinh(q * left) * np.sinh(q * right)],
            [np.sinh(q * left) * np.sinh(q * right), np.sinh(q * right) * np.sinh(q * (n + 1 - right))],
        ]
    ) / (np.sinh(q) * np.sinh(q * (n + 1)))
    assert border(A, rows).schur() * stiff / 1e6 == pytest.approx(exact, rel=1e-8)


def test_one_order_and_one_factor_however_soft(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is estimated, and nothing factored twice."""
    orders, factors = [], []
    for name, calls in (("fill_reducing_order", orders), ("CholeskyFactor", factors)):
        whole = getattr(bordered, name)

        def counted(*given: Any, whole: Any = whole, calls: list[int] = calls) -> Any:
            calls.append(1)
            return whole(*given)

        monkeypatch.setattr(bordered, name, counted)
    border(grid(12, 1e-9), sp.csr_array(np.ones((3, 12**3))))
    assert len(orders) == len(factors) == 1


def test_not_definite() -> None:
    A, rows = cases()["full"]
    for worse in (A - 50.0 * sp.eye_array(30), A - 1.1 * np.linalg.eigvalsh(A.toarray())[0] * sp.eye_array(30)):
        with pytest.raises(UserError, match="not positive definite"):
            border(sp.csc_array(worse), rows)


def test_products_of_rows_of_both_kinds_of_factors() -> None:
    """A supernodal factor is read in place, a simplicial one copied; both are L of P A Pᵀ."""
    for n in (3, 12):
        A = grid(n, 1.0)
        factor = factorise(A)
        assert isinstance(factor, CholeskyFactor)
        places = np.arange(A.shape[0] - 5, A.shape[0])
        order, lower = factor.lower()
        rows = lower.toarray()[places, : places[0]]
        assert factor.row_products(places) == pytest.approx(rows @ rows.T, rel=1e-12, abs=1e-14)
        b = np.random.default_rng(0).standard_normal(A.shape[0])
        assert factor.backward(factor.forward(b)) == pytest.approx(factor.solve(b), rel=1e-12)
        assert factor.forward(b) == pytest.approx(np.linalg.solve(lower.toarray(), b[order]), rel=1e-9)
