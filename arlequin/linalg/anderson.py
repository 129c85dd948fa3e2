"""Anderson's mixing: a fixed-point iteration whose slow modes are few converges in about as many steps."""

import numpy as np

from arlequin.models.types import Array

_ALIKE = 1e-8  # difference of two steps, relative to the last, below which they are
_KEPT = 8  # steps looked back on: more than one body's rigid motions


class Mixing:
    """The next point from the steps x → x + f so far: x + f − Σ γ_i Δ(x + f)_i, where f − Σ γ_i Δf_i is least.

    weights (d,): make the coordinates comparable, whose units may differ. Points so mixed keep every linear equation
    that the points x + f fulfil.

    Source: H. F. Walker and P. Ni, SIAM J. Numer. Anal. 49 (2011) 1715–1735.
    """

    def __init__(self, weights: Array) -> None:
        self._weights = weights[:, None]
        self._reached: list[Array] = []
        self._changes: list[Array] = []

    def next(self, reached: Array, change: Array) -> Array:
        """The point to go on from, after a step that reached x + f by the change f."""
        self._reached = [*self._reached[-_KEPT:], reached]
        self._changes = [*self._changes[-_KEPT:], change]
        if len(self._changes) == 1:
            return reached
        changes = self._weights * np.diff(np.stack(self._changes, axis=1), axis=1)
        size = np.linalg.norm(changes, axis=0)
        latest = self._weights[:, 0] * change
        size[size <= _ALIKE * np.linalg.norm(latest)] = np.inf  # steps alike, to round-off, say nothing
        weights = np.linalg.lstsq(changes / size, latest, rcond=1e-10)[0] / size
        return np.asarray(reached - np.diff(np.stack(self._reached, axis=1), axis=1) @ weights)
