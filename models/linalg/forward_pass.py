"""The forward substitution of a solution with a factored matrix and its border."""

from dataclasses import dataclass

from arlequin.models.types import Array


@dataclass(frozen=True)
class ForwardPass:
    """A right-hand side b (u,) or (u, n) after forward substitution, and R y of the border's rows: (r,) or (r, n)."""

    half: Array
    border: Array
