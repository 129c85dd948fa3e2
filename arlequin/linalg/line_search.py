"""When Newton's iterations lead nowhere, and how far to go along their changes then."""

from collections.abc import Callable

import numpy as np

_GROWN = 20.0  # times the smallest change so far, beyond which they lead nowhere
_PATIENT = 5  # passes that do not halve the smallest change, after which they lead nowhere
_HALVES = 6  # halvings at most


class Watch:
    """Looks at the changes of Newton's iterations: slender parts need whole ones that at first grow tenfold."""

    def __init__(self) -> None:
        self._least, self._since = np.inf, 0

    def least(self, size: float) -> bool:
        """Whether a change of this size is the smallest so far; to be asked once a pass."""
        self._since = 0 if size <= 0.5 * self._least else self._since + 1
        if size >= self._least:
            return False
        self._least = size
        return True

    def lost(self, size: float) -> bool:
        """Whether a change of this size, or those so far, show that they lead nowhere."""
        return not size <= _GROWN * self._least or self._since >= _PATIENT


def search(left: Callable[[float], float], size: float, share: float = 1.0) -> float:
    """The share of a change to take: the first of `share`, its half, its quarter, … that does not leave more than size.

    left(s): ‖A⁻¹R(s)‖, the size of what A would still change at the share s, inf where there is no answer; size: that
    of the change. R(s) is what is missing at s under the forces of contact and constraints of the pass, with the share
    1 − s of the motions still to be imposed: R(s) = (1 − s) R(0), A⁻¹R(0) the change, as far as A is the derivative
    and whatever contacts open and close. Only what A does not know raises it. Measured by A⁻¹, stiff directions weigh
    no more than soft ones.

    Where all leave more, the search knows nothing: then the whole of the share is taken.

    Source: P. Deuflhard, Newton Methods for Nonlinear Problems, Springer (2004), section 3.3 (natural monotonicity).
    """
    for halves in range(_HALVES + 1):
        if left(share / 2**halves) <= size:
            return share / 2**halves
    return share
