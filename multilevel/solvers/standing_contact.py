"""The contact problem of some hundred points that keep their statuses: one product with a stored inverse.

Where the points that are closed stick, or slide without friction, Newton's matrix does not change from step to step:
its inverse is stored with W, and a step is a product with it. The matrix depends on the statuses of the last step
alone, rounded to single precision, so that results do not depend on whether its inverse was stored already; products
are repeated until the certificate is that of Newton's method.
"""

from typing import Any

import numpy as np

from arlequin.models.types import Array
from arlequin.multilevel.solvers.kept import KeptWith
from arlequin.multilevel.solvers.large_contact import TARGET, Newton, NewtonEquations
from arlequin.multilevel.solvers.problem import ON_BORDER, LawTable

STANDING_FROM = 300  # rows from which it is worth its overhead of a millisecond
MOST = 1500  # unknowns of a stored inverse
REFINED = 4  # products at most: each leaves the single precision's share
SLIP = 1  # status of friction


class _Inverse:
    """The inverse (n, n) of a Newton matrix, and the equations that it belongs to; LinAlgError where there is none."""

    def __init__(self, delassus: Array, equations: NewtonEquations) -> None:
        self._equations = equations
        n, unknown = equations.unknown.size, equations.unknown
        matrix, place = np.zeros((n, n)), np.full(delassus.shape[0] + 1, -1)
        place[unknown] = np.arange(n)
        for factor, act, beside in zip(
            equations.on_velocity.T, equations.on_impulse.T, equations.beside.T, strict=True
        ):
            rows = np.flatnonzero(factor)
            matrix[rows] += factor[rows, None] * delassus[np.ix_(beside[rows], unknown)]
            rows = np.flatnonzero((act != 0.0) & (place[beside] >= 0))
            matrix[rows, place[beside[rows]]] += act[rows]
        self.matrix: Array = np.linalg.inv(matrix).astype(float, copy=False)

    def belongs_to(self, equations: NewtonEquations) -> bool:
        """Whether these are its equations, whatever their right-hand side."""
        names = "unknown", "on_velocity", "on_impulse"
        return all(np.array_equal(getattr(self._equations, name), getattr(equations, name)) for name in names)


INVERSE: KeptWith[_Inverse] = KeptWith()


def _inverse(delassus: Array, equations: NewtonEquations) -> Array | None:
    """The inverse of these equations; None where they are singular."""
    try:
        made = INVERSE.of(delassus, lambda: _Inverse(delassus, equations), lambda own: own.belongs_to(equations))
    except np.linalg.LinAlgError:
        return None
    return made.matrix


def _slips(impulse: Array, laws: LawTable) -> bool:
    """Whether a point has slipped under these impulses (r,): they lie on the border of its friction disk."""
    first = laws.first[:-1]
    square = np.add.reduceat(impulse**2, first) - impulse[first] ** 2
    radius = laws.friction * np.maximum(impulse[first], 0.0) * (1.0 - ON_BORDER)
    return bool(((radius > 0.0) & (square >= radius**2)).any())


def solve_standing(
    motion: tuple[Any, ...],
    laws: tuple[Any, ...],
    kernels: Any,
    history: Array,
    closing: Array,
    rho: float,
    solution: tuple[Any, ...],
) -> tuple[int, float, bool]:
    """Solve the contact problem of a step with the statuses of the last one; arguments as of `solve_large`.

    Returns the iterations, the certificate and whether the statuses stand; where they do not, the guess in `solution`
    is as it was.
    """
    from arlequin.multilevel.solvers._large_kernels import closed_on_mean

    impulse, trial, _, _ = solution
    if not impulse.any() or _slips(impulse, LawTable(*laws)):
        return 0, np.inf, False
    guess = impulse.copy()
    problem = motion, laws, kernels, history, closing[0].copy()
    newton = Newton(problem, rho, impulse, trial)
    error = newton.linearise(True)
    for used in range(REFINED):
        if (newton.statuses[1] == SLIP).any() and impulse.size > laws[0].size - 1:
            break
        equations = newton.equations()
        rounded = equations._replace(
            on_velocity=equations.on_velocity.astype(np.float32), on_impulse=equations.on_impulse.astype(np.float32)
        )
        if not 0 < equations.unknown.size <= MOST:
            break
        inverse = _inverse(motion[0], rounded)
        if inverse is None:
            break
        increment = equations.known[:-1]
        increment[equations.unknown] = inverse @ equations.right
        impulse += increment
        before, error = error, newton.linearise(False)
        if error <= TARGET:
            error = newton.finish(solution)
            if not closed_on_mean(problem, closing, impulse, newton.response[0]):
                return used + 1, error, True
            break
        if not error < 0.5 * before:
            break
    impulse[:] = guess
    return 0, np.inf, False
