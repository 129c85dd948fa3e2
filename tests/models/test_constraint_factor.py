"""Elimination of constraints by a full factor whose rows are short: against dense solutions."""

import numpy as np
import pytest

from arlequin.models.linalg.constraints import FullElimination, first_columns, narrow_order
from arlequin.multilevel.solvers._dense_kernels import solve_envelope, solve_envelope_transposed


def shuffled_band(rng, m, width=3, components=3):
    """Rows of `components` chains in random order, which only their neighbours in the chain are coupled with."""
    size = m // components
    chain = np.eye(size) * (2.0 * width + 1.0)
    for k in range(1, width + 1):
        chain -= np.eye(size, k=k) + np.eye(size, k=-k)
    order = rng.permutation(size * components)
    return np.kron(np.eye(components), chain)[np.ix_(order, order)]


def test_rows_of_chains_in_any_order_are_short():
    matrix = shuffled_band(np.random.default_rng(1), 120)
    order = narrow_order(matrix)
    assert np.array_equal(np.sort(order), np.arange(120))
    lower = np.linalg.cholesky(matrix[np.ix_(order, order)])
    assert (np.arange(120) - first_columns(lower)).max() <= 6  # a chain alone: 3
    assert (np.arange(120) - first_columns(np.linalg.cholesky(matrix))).mean() > 30


@pytest.mark.parametrize("dependent", [False, True])
def test_elimination_is_the_dense_solution(dependent):
    """Multipliers, compliance and the passes of compiled loops; a repeated constraint has no multiplier."""
    rng = np.random.default_rng(2)
    m, q = 60, 5
    full = shuffled_band(rng, m)
    across = 0.1 * rng.normal(size=(m, q))
    below = np.eye(q) * 3.0
    matrix = np.block([[full, across], [across.T, below]])
    rows = np.arange(m + q)
    if dependent:
        rows = np.concatenate([np.arange(m), [7], np.arange(m, m + q)])
    given = matrix[np.ix_(rows, rows)]
    count = m + dependent
    eliminated = FullElimination(given.copy(), count)
    rates = given[:count, :count] @ rng.normal(size=count)
    phi, pushed = eliminated.resolved(rates)
    np.testing.assert_allclose(given[:count, :count] @ phi, rates, rtol=0, atol=1e-12 * np.abs(rates).max())
    np.testing.assert_allclose(pushed, given[count:, :count] @ phi, rtol=0, atol=1e-12)
    expected = below - across.T @ np.linalg.solve(full, across)
    np.testing.assert_allclose(eliminated.compliance, expected, rtol=0, atol=1e-12)
    independent, lower, first, root = eliminated.arrays()
    assert independent.size == m
    x = rates[independent]
    both_passes(lower, first, x)
    np.testing.assert_allclose(x, phi[independent], rtol=0, atol=1e-12)
    impulse = rng.normal(size=q)
    response = eliminated.response(impulse)[independent]
    np.testing.assert_allclose(
        response, np.linalg.solve(given[np.ix_(independent, independent)], given[independent, count:] @ impulse),
        rtol=0, atol=1e-12,
    )  # fmt: skip
    assert root.shape == (m, q)


def both_passes(lower, first, x):
    """Both passes of the compiled loops."""
    from arlequin.models.kernel_cache import njit

    @njit
    def both(lower, first, x):
        solve_envelope(lower, first, x)
        solve_envelope_transposed(lower, first, x)

    both(lower, first, x)
