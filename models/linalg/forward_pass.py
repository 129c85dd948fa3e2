"""The first half of a solution with a factored matrix and its border."""

from dataclasses import dataclass

from arlequin.models.types import Array


@dataclass(frozen=True)
class ForwardPass:
    """What a right-hand side b (u,) or (u, n) is after the first half of its solution y, and R y of the border's rows:
    (r,) or (r, n)."""

    half: Array
    border: Array
