"""Size and work of the sparse Cholesky factor of a box of nodes, predicted without a matrix."""

import math
from functools import cache
from typing import NamedTuple

_LEAF = 60  # unknowns of a box whose factor counts as full


class FactorSize(NamedTuple):
    """Entries of a Cholesky factor, the multiplications that make it, and the unknowns of the largest separator."""

    entries: float
    multiplications: float
    separator: float


def predicted_factor(shape: tuple[int, ...], components: int) -> FactorSize:
    """The factor of a box of nodes (n₁, …) with so many components each, ordered by nested dissection.

    A box is cut across its longest side by a layer of s unknowns; b unknowns of earlier layers surround it. The columns
    of that layer then hold s²/2 + s b entries and take s³/3 + s² b + s b² multiplications, and both halves follow.
    Factors of CHOLMOD have 0.9 to 1.15 times as many entries (cubes, bars, plates, 2D); those of thin plates, of two
    layers of cells, 1.5 times.

    Source: George, SIAM J. Numer. Anal. 10 (1973) 345–363.

    >>> round(predicted_factor((41, 41, 41), 3).entries / 1e8, 1)  # CHOLMOD: 2.5e8
    2.2
    """
    sizes = tuple(sorted(max(1, n) for n in shape))

    @cache
    def count(shape: tuple[int, ...], cut: tuple[tuple[int, ...], ...]) -> tuple[float, float]:
        """cut: of each axis, how many of its two sides are cuts, as two sorted flags."""
        nodes, last = math.prod(shape), len(shape) - 1
        surrounding = components * sum(nodes // n * sum(sides) for n, sides in zip(shape, cut, strict=True))
        is_leaf = nodes * components <= _LEAF or shape[last] == 1
        separator = components * (nodes if is_leaf else nodes // shape[last])
        entries = separator**2 / 2 + separator * surrounding
        work = separator**3 / 3 + separator**2 * surrounding + separator * surrounding**2
        if is_leaf:
            return entries, work
        lower = (shape[last] - 1) // 2
        for part, side in ((lower, cut[last][0]), (shape[last] - 1 - lower, cut[last][1])):
            if part:
                halves = [*zip(shape[:last], cut[:last], strict=True), (part, (side, 1))]
                axes = sorted((n, tuple(sorted(sides))) for n, sides in halves)
                subtotal = count(tuple(n for n, _ in axes), tuple(sides for _, sides in axes))
                entries, work = entries + subtotal[0], work + subtotal[1]
        return entries, work

    entries, work = count(sizes, ((0, 0),) * len(sizes))
    return FactorSize(entries, work, components * math.prod(sizes[:-1]))
