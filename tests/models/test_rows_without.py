"""Constraints through columns that nothing else determines, against the null space of the whole."""

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from arlequin.models.linalg.rows import rows_without


def test_rows_keep_all_that_they_say_of_the_other_columns():
    """{v: C v + G g = 0 for some g} is the null space of T C, and T G = 0; two groups, one of dependent columns."""
    rng = np.random.default_rng(3)
    matrix = np.zeros((9, 14))
    matrix[:, :8] = rng.normal(size=(9, 8))
    matrix[:4, 8:10] = rng.normal(size=(4, 2))
    matrix[4:7, 10:13] = np.outer(rng.normal(size=3), [1.0, 2.0, -1.0])  # rank 1
    left_out = np.arange(14) >= 8
    kept, combination = rows_without(sp.csr_array(matrix), left_out)
    assert kept.size == 9 - 2 - 1
    combined = combination @ sp.csr_array(matrix)
    assert abs(combined[:, 8:]).max() < 1e-13
    whole = scipy.linalg.null_space(matrix)[:8]
    np.testing.assert_allclose(combined[:, :8] @ whole, 0.0, atol=1e-12)
    assert np.linalg.matrix_rank(combined[:, :8].toarray()) == 8 - np.linalg.matrix_rank(whole)


def test_rows_without_such_columns_stay_as_they_are():
    rows = sp.csr_array(np.eye(3, 5))
    kept, combination = rows_without(rows, np.array([False, False, False, True, True]))
    assert combination is None and kept.tolist() == [0, 1, 2]
