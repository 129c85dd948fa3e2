"""Anderson acceleration: a fixed-point iteration with few slow modes converges in about as many steps."""

import numpy as np

from arlequin.models.types import Array

_ALIKE = 1e-8  # difference of two steps, relative to the last, below which they are equal
_DEPTH = 8  # steps looked back on: more than one body's rigid motions


class AndersonAcceleration:
    """The next point from the steps x → x + f so far: x + f − Σ γ_i Δ(x + f)_i, where f − Σ γ_i Δf_i is least.

    weights (d,): make the coordinates comparable, whose units may differ. The points keep every linear equation that
    the points x + f fulfil. A step of a larger measure than the one before discards the history: a contact changed.

    Source: H. F. Walker and P. Ni, SIAM J. Numer. Anal. 49 (2011) 1715–1735.
    """

    def __init__(self, weights: Array) -> None:
        self._weights = weights[:, None]
        self._last = np.inf
        self.reset()

    def reset(self) -> None:
        """Discards the history of steps."""
        self._steps: list[tuple[Array, Array]] = []

    def next(self, reached: Array, change: Array, measure: float) -> Array:
        """The point to continue from, after a step that reached x + f by the change f of this measure."""
        if measure > self._last:
            self.reset()
        self._last = measure
        self._steps = [*self._steps[-_DEPTH:], (reached, change)]
        if len(self._steps) == 1:
            return reached
        ends, made = (np.diff(np.stack(fields, axis=1), axis=1) for fields in zip(*self._steps, strict=True))
        changes = self._weights * made
        size = np.linalg.norm(changes, axis=0)
        latest = self._weights[:, 0] * change
        size[size <= _ALIKE * np.linalg.norm(latest)] = np.inf  # equal steps, to round-off, carry no information
        weights = np.linalg.lstsq(changes / size, latest, rcond=1e-10)[0] / size
        return np.asarray(reached - ends @ weights)
