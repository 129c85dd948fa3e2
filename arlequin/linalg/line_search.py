"""Convergence of Newton's iterations: stagnation, divergence, and the line search that then damps their changes."""

from collections.abc import Callable

import numpy as np

_GROWN = 20.0  # growth relative to the smallest change so far, above which the iterations diverge
_PATIENCE = 5  # passes that do not halve the smallest change, after which they diverge
_HALVES = 6  # halvings at most


class Stagnation:
    """Counts the passes since a measure was last halved; lowest: its value then."""

    def __init__(self) -> None:
        self.lowest, self._since = np.inf, 0

    def passes(self, measure: float) -> int:
        """The count after a pass with this measure."""
        self.lowest, self._since = (measure, 0) if measure <= 0.5 * self.lowest else (self.lowest, self._since + 1)
        return self._since


class DivergenceMonitor:
    """Detects divergence from the sizes of Newton's changes: in slender parts they first grow tenfold."""

    def __init__(self) -> None:
        self._least, self._since = np.inf, 0

    def smallest(self, size: float) -> bool:
        """Whether a change of this size is the smallest so far; to be called once a pass."""
        self._since = 0 if size <= 0.5 * self._least else self._since + 1
        if size >= self._least:
            return False
        self._least = size
        return True

    def diverging(self, size: float) -> bool:
        """Whether a change of this size, or those so far, show divergence."""
        return not size <= _GROWN * self._least or self._since >= _PATIENCE


def search(remaining: Callable[[float], float], size: float, share: float = 1.0) -> float:
    """Step length of a line search: the first s of `share`, its half, its quarter, … with remaining(s) ≤ size.

    remaining(s): ‖A⁻¹R(s)‖, the size of the next change at the step length s, inf with inverted cells; size: that of
    the change. R(s) is the residual at s under the forces of contact and constraints of the pass, with the share
    1 − s of the motions still to be imposed: R(s) = (1 − s) R(0), A⁻¹R(0) the change, as far as A is the derivative,
    for all contacts that open and close. Only nonlinearity increases it. In the norm of A⁻¹, stiff directions weigh no
    more than soft ones.

    If no step length satisfies the condition, it is `share`.

    Source: P. Deuflhard, Newton Methods for Nonlinear Problems, Springer (2004), section 3.3 (natural monotonicity).
    """
    for halves in range(_HALVES + 1):
        if remaining(share / 2**halves) <= size:
            return share / 2**halves
    return share
