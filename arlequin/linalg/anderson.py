"""Anderson acceleration: a fixed-point iteration with few slow modes converges in about as many steps."""

import numpy as np

from arlequin.models.types import Array

_EQUAL = 1e-8  # difference of two steps, relative to the last, below which they are equal
_DEPTH = 8  # number of former steps: more than the rigid motions of one body


class AndersonAcceleration:
    """The next point from the steps x → x + f so far: x + f − Σ γ_i Δ(x + f)_i, where f − Σ γ_i Δf_i is least.

    weights (d,): scale coordinates of different units. The points satisfy every linear equation that the points x + f
    satisfy. A step of a larger measure than the one before discards the history: a contact changed.

    Source: H. F. Walker and P. Ni, SIAM J. Numer. Anal. 49 (2011) 1715–1735.
    """

    def __init__(self, weights: Array) -> None:
        self._weights = weights[:, None]
        self._last = np.inf
        self.reset()

    def reset(self) -> None:
        """Discards the history of steps."""
        self._steps: list[tuple[Array, Array]] = []

    def next(self, end: Array, change: Array, measure: float) -> Array:
        """The next point after a step to end = x + f by the change f of this measure."""
        if measure > self._last:
            self.reset()
        self._last = measure
        self._steps = [*self._steps[-_DEPTH:], (end, change)]
        if len(self._steps) == 1:
            return end
        ends, step_changes = (np.diff(np.stack(fields, axis=1), axis=1) for fields in zip(*self._steps, strict=True))
        changes = self._weights * step_changes
        size = np.linalg.norm(changes, axis=0)
        last_change = self._weights[:, 0] * change
        size[size <= _EQUAL * np.linalg.norm(last_change)] = np.inf  # equal steps, to round-off, carry no information
        weights = np.linalg.lstsq(changes / size, last_change, rcond=1e-10)[0] / size
        return np.asarray(end - ends @ weights)
