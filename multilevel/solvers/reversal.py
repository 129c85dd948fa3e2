"""Points without friction because they reverse within the step, preserved from pass to pass of Newton's method.

Which points reverse (`arlequin.multilevel.solvers.closing`) depends on the forces. On a rigid body with more supports
than its motion determines, the forces of successive passes differ if each starts with full friction, and the passes do
not converge. A pass that starts from the result of the last one preserves both.
"""

from collections.abc import Callable

import numpy as np

from arlequin.models.types import Array
from arlequin.multilevel.solvers.contact import ContactSolution
from arlequin.multilevel.solvers.law_tables import PointLaws
from arlequin.multilevel.solvers.problem import AT_REST, FreeMotion


def solve_released(
    solve: Callable[[PointLaws], ContactSolution], laws: PointLaws, guess: Array, motion: FreeMotion, closing: Array
) -> ContactSolution | None:
    """The solution in which those points slide without friction that do so in the guess (r,); None without such points,
    or where one of them does not reverse: its slip rate must end between 0 and −v_t⁰.

    solve(laws): the solution with other coefficients of friction; closing (3, r): see `solve_contact`.
    """
    shift, start, mean = closing
    first, slides = laws.first[:-1], laws.slip_size(shift - mean) > 0.0
    free = (laws.friction > 0.0) & slides & (guess[first] > 0.0) & (laws.slip_size(guess) == 0.0)
    if not free.any():
        return None
    solution = solve(laws.with_friction(np.where(free, 0.0, laws.friction)))
    change = motion.delassus @ solution.impulse
    end, before = motion.rate_free + change, laws.slip_size(start)
    products = start * end
    products[first] = 0.0
    along = np.add.reduceat(products, first)
    least = AT_REST * (np.abs(motion.rate_free) + np.abs(change)).max()
    reverses = (before > least) & (along <= 0.0) & (laws.slip_size(end) <= before)
    return solution if reverses[free].all() else None
