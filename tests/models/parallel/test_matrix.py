"""Matrices that are sums over ranks, on one rank and on a few that are played by threads."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
import scipy.sparse as sp

from arlequin.models.parallel.matrix import DistributedMatrix, block_diagonal, scaled
from arlequin.models.parallel.ranks import OneRank


class Threads(OneRank):
    """Ranks that are threads of this process, with a board on which each writes its value."""

    def __init__(self, index, board, barrier):
        self.index, self.count, self.root = index, len(board), index == 0
        self._board, self._barrier = board, barrier

    def gathered(self, value):
        self._board[self.index] = value
        self._barrier.wait(10)
        out = list(self._board)
        self._barrier.wait(10)
        return out

    def summed(self, values):
        return sum(self.gathered(values))


def on_ranks(count, work):
    """work(ranks) on so many ranks, and their answers."""
    board, barrier = [None] * count, Barrier(count)
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(lambda i: work(Threads(i, board, barrier)), range(count)))


@pytest.mark.parametrize("count", (1, 3))
def test_operations_are_those_of_the_sum(count):
    rng = np.random.default_rng(2)
    pieces = [sp.random_array((6, 6), density=0.4, rng=rng, format="csr") for _ in range(2 * count)]
    a, b = (sum(pieces[i::2]).toarray() for i in (0, 1))
    same, x, fields = sp.csr_array(np.diag(np.arange(6.0))), rng.standard_normal(6), rng.standard_normal((6, 2))

    def work(among):
        one, other = (DistributedMatrix(pieces[2 * among.index + i], among) for i in (0, 1))
        return {
            "product": one @ x,
            "fields": one @ fields,
            "from the left": x @ one,
            "sum": (2.0 * one + other * 0.5) @ x,
            "with one that all have": (one + same) @ x,
            "and from the left": (same + one) @ x,
            "rows": one[np.array([1, 4])] @ x,
            "columns": one[:, np.array([1, 4])] @ x[[1, 4]],
            "diagonal": one.diagonal(),
            "row sums": one.sum(axis=1),
            "collected": one.collected().toarray(),
            "scaled": scaled(one, x) @ x,
            "of a sparse one": (one @ same) @ x,
        }

    expected = {
        "product": a @ x,
        "fields": a @ fields,
        "from the left": x @ a,
        "sum": 2.0 * a @ x + 0.5 * b @ x,
        "with one that all have": a @ x + same @ x,
        "and from the left": a @ x + same @ x,
        "rows": a[[1, 4]] @ x,
        "columns": a[:, [1, 4]] @ x[[1, 4]],
        "diagonal": np.diag(a),
        "row sums": a.sum(axis=1),
        "collected": a,
        "scaled": x * (a @ (x * x)),
        "of a sparse one": a @ (same @ x),
    }
    for found in on_ranks(count, work):
        for name, value in found.items():
            np.testing.assert_allclose(value, expected[name], atol=1e-14, err_msg=name)


def test_blocks():
    """Blocks on the diagonal: those that are spread and those that are not."""
    block, x = sp.csr_array(np.array([[2.0, 1.0], [1.0, 3.0]])), np.arange(1.0, 5.0)
    found = block_diagonal([DistributedMatrix(block, OneRank()), block])
    assert isinstance(found, DistributedMatrix)
    np.testing.assert_array_equal(found @ x, np.concatenate([block @ x[:2], block @ x[2:]]))
    assert block_diagonal([block]) is block
