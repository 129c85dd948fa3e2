"""Determinants of small matrices against exact rational arithmetic, and in other units."""

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

from arlequin.models.linalg.determinants import determinants


def exact(matrix):
    """The determinant by Leibniz' formula, without round-off, and the sum of the sizes of its terms."""
    total = size = Fraction(0)
    for order in permutations(range(len(matrix))):
        turns = sum(order[i] > order[j] for j in range(len(order)) for i in range(j))
        term = Fraction((-1) ** turns)
        for row, column in enumerate(order):
            term *= Fraction(float(matrix[row, column]))
        total, size = total + term, size + abs(term)
    return total, size


@pytest.mark.parametrize("n", [1, 2, 3])
def test_against_rational_arithmetic(n):
    """The error is at most 4 ε of the sum of the sizes of the terms."""
    matrices = np.random.default_rng(n).standard_normal((5, 8, n, n))
    found = determinants(matrices)
    assert found.shape == (5, 8)
    for matrix, value in zip(matrices.reshape(-1, n, n), found.ravel(), strict=True):
        true, size = exact(matrix)
        assert abs(Fraction(float(value)) - true) <= 4 * Fraction(float(np.finfo(float).eps)) * size


@pytest.mark.parametrize("n", [1, 2, 3])
def test_in_other_units(n):
    """Lengths in units of a power of two scale determinants without a change of a bit."""
    matrices = np.random.default_rng(n).standard_normal((1000, n, n))
    assert np.array_equal(determinants(matrices * 2.0**-10), determinants(matrices) * 2.0 ** (-10 * n))
