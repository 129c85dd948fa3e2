"""The contact problem of some hundred points, most of them sticking: products with a stored inverse, and few unknowns.

Where all closed points stick, or slide without friction, impulses x and velocities W x of their rows obey

    F x = q,    F = W + diag(γ),

γ the compliances of the laws, which do not change from step to step: the inverse of F is stored with W. Points that
slip, open, close or are on another branch of their law obey other equations: these determine q on their rows, as a
system of that size (Woodbury), in each iteration of Newton's method. F depends only on the points closed at the end of
the last step and on their compliances, rounded to single precision, so that results do not depend on the cache of its
inverse; iterations are repeated until the certificate is that of Newton's method.

Source: Hager, SIAM Review 31 (1989) 221–239 (updates of an inverse).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arlequin.models.types import Array
from arlequin.multilevel.solvers.large_contact import TARGET, Newton, mutable_problem
from arlequin.multilevel.solvers.matrix_cache import MatrixCache
from arlequin.multilevel.solvers.problem import ON_BORDER, FreeMotion, LawTable

STANDING_FROM = 300  # rows from which the method pays despite its overhead of a millisecond
MAX_ROWS = 1500  # rows of a stored inverse
MAX_SLIPPING = 0.5  # share of the closed points that may slip
MAX_CHANGED = 0.4  # largest share of the rows of F with other equations
MAX_ITERATIONS = 25
STALLED = 10  # iterations that do not halve the certificate
NEAR = 0.1  # relative difference of a compliance from that of F up to which it is treated by iterative refinement
REFINED, ROUNDED = 6, 1e-6  # largest number of refinements, and the relative residual at which they end
SINGULAR = 1e-12  # share of a row's compliance that is independent of the others, below which F counts as singular
OPEN = 0

_Index = NDArray[np.int64]


class TooMany(Exception):
    """Too many rows obey other equations for a small system to pay."""


class _Sticking:
    """Rows (n,) of closed points, their compliances γ (n,), rounded, and the inverse (n, n) of F on these rows;
    LinAlgError where F is singular."""

    def __init__(self, delassus: Array, rows: _Index, compliance: Array) -> None:
        self.rows, self.compliance = rows, compliance
        matrix = delassus[np.ix_(rows, rows)]
        matrix[range(rows.size), range(rows.size)] += compliance
        self.inverse: Array = np.linalg.inv(matrix).astype(float, copy=False)
        if not (SINGULAR * np.diag(self.inverse) * np.diag(matrix) < 1.0).all():
            raise np.linalg.LinAlgError
        self.place = np.full(delassus.shape[0] + 1, -1)  # of a row of W among these
        self.place[rows] = np.arange(rows.size)

    def belongs_to(self, rows: _Index, compliance: Array) -> bool:
        """Whether these are its rows and compliances."""
        return np.array_equal(self.rows, rows) and np.array_equal(self.compliance, compliance)


class _NewtonSystem:
    """Newton's equations by the inverse of F; TooMany or LinAlgError where this is not possible.

    With S the rows of F that obey another equation, or none, and N the rows outside F,

        x = F⁻¹ (q − W_RN x_N),    W x = q − γ x    on the rows R of F;

    q is known except for q_S, and the equations of S and N determine q_S and x_N: those of a point have all its rows.
    Compliances that are only near those of F leave a residual, for which the solution is refined.
    """

    def __init__(self, sticking: _Sticking, delassus: Array, newton: Newton) -> None:
        self._sticking, self._delassus, self._newton = sticking, delassus, newton
        equations = self._equations = newton.equations()
        unknown, on_velocity, on_impulse = equations.unknown, equations.on_velocity, equations.on_impulse
        axis, self._place = newton.axis[unknown, None], sticking.place[unknown]
        rate = np.take_along_axis(on_velocity, axis, axis=1)[:, 0]
        diagonal = np.take_along_axis(on_impulse, axis, axis=1)[:, 0]
        decoupled = (rate != 0.0) & (self._place >= 0)
        decoupled &= (np.count_nonzero(on_velocity, axis=1) == 1) & (
            np.count_nonzero(on_impulse, axis=1) == (diagonal != 0.0)
        )
        gamma = sticking.compliance[self._place[decoupled]]
        deviation = np.abs(_rounded(diagonal[decoupled], rate[decoupled]) - gamma)
        near = deviation <= NEAR * np.abs(gamma)
        self._refines = bool(deviation[near].any())
        decoupled[decoupled] = near
        sticks = np.zeros(newton.point.size, dtype=bool)
        sticks[unknown[decoupled]] = True
        affected_points = np.zeros(newton.statuses[0].size, dtype=bool)
        affected_points[newton.point[unknown[~decoupled]]] = True
        affected_points[newton.point[sticking.rows[~sticks[sticking.rows]]]] = True
        affected_rows = affected_points[newton.point]
        changed, inside = affected_rows & ~sticks, sticking.place[:-1] >= 0
        if np.count_nonzero(changed) > MAX_CHANGED * sticking.rows.size:
            raise TooMany
        self._decoupled, self._coupled = np.flatnonzero(decoupled), np.flatnonzero(~decoupled)
        self._rate = rate[decoupled]
        self._around, self._s, self._n = (
            sticking.place[np.flatnonzero(affected_rows & inside)],
            sticking.place[np.flatnonzero(changed & inside)],
            np.flatnonzero(changed & ~inside),
        )
        if affected_points.any():
            self._make()

    def _make(self) -> None:
        """The system of q_S and x_N, by the impulses and velocities due to them at their points; last row 0."""
        sticking, around, s, n = self._sticking, self._around, self._s, self._n
        self._columns, self._coupling = sticking.inverse[s], self._delassus[np.ix_(n, sticking.rows)]
        self._across = self._coupling @ sticking.inverse
        impulse, velocity = np.zeros((2, around.size + n.size + 1, s.size + n.size))
        impulse[: around.size] = np.hstack([self._columns[:, around].T, -self._across[:, around].T])
        impulse[around.size : -1, s.size :] = np.eye(n.size)
        velocity[: around.size] = -sticking.compliance[around, None] * impulse[: around.size]
        velocity[np.searchsorted(around, s), range(s.size)] += 1.0
        velocity[around.size : -1] = np.hstack(
            [self._across[:, s], self._delassus[np.ix_(n, n)] - self._across @ self._coupling.T]
        )
        where, number = np.full((2, self._newton.point.size + 1), around.size + n.size)
        t = np.concatenate([sticking.rows[s], n])
        where[np.concatenate([sticking.rows[around], n])] = np.arange(around.size + n.size)
        number[t] = np.arange(t.size)
        e = self._equations
        self._at, self._near_rows, self._rows = (
            where[t],
            where[e.beside[self._coupled]],
            number[e.unknown[self._coupled]],
        )
        system = impulse[self._at]  # known rows: zero impulse increment
        system[self._rows] = self._combined(velocity, impulse)
        self._unit = 1.0 / np.abs(system).max(axis=1)
        self._system = system * self._unit[:, None]

    def _combined(self, velocity: Array, impulse: Array) -> Array:
        """D_v v + D_P x of the equations of S and N, of velocities and impulses at their points."""
        e, near = self._equations, self._near_rows
        out = np.einsum("ub,ub...->u...", e.on_velocity[self._coupled], velocity[near])
        return np.asarray(out + np.einsum("ub,ub...->u...", e.on_impulse[self._coupled], impulse[near]))

    def _solve(self, rhs: Array) -> Array:
        """Impulses (r,) for a right-hand side (u,)."""
        sticking, around, s, n = self._sticking, self._around, self._s, self._n
        q, out = np.zeros(sticking.rows.size), np.zeros(self._newton.point.size)
        q[self._place[self._decoupled]] = rhs[self._decoupled] / self._rate
        x = sticking.inverse @ q
        if around.size or n.size:
            impulse, velocity = np.zeros((2, around.size + n.size + 1))
            impulse[: around.size] = x[around]
            velocity[: around.size], velocity[around.size : -1] = (
                q[around] - sticking.compliance[around] * x[around],
                self._coupling @ x,
            )
            remainder = -impulse[self._at]
            remainder[self._rows] = rhs[self._coupled] - self._combined(velocity, impulse)
            solution = np.linalg.solve(self._system, remainder * self._unit)
            x += solution[: s.size] @ self._columns - solution[s.size :] @ self._across
            out[n] = solution[s.size :]
        out[sticking.rows] = x
        return out

    def increment(self) -> Array:
        """Increment (r,) of the impulses."""
        e = self._equations
        x, size = self._solve(e.rhs), np.abs(e.rhs).max(initial=0.0)
        for _ in range(REFINED if self._refines else 0):
            residual = e.rhs - self._newton.applied(e, x)
            if np.abs(residual).max(initial=0.0) <= ROUNDED * size:
                break
            x += self._solve(residual)
        return e.known[:-1] + x


INVERSE: MatrixCache[_Sticking] = MatrixCache()


def _rounded(impulse: Array, velocity: Array) -> Array:
    """Compliances γ of rows with the derivatives of their equations by impulse and velocity."""
    return np.asarray((impulse / velocity).astype(np.float32))


def _sticking(newton: Newton, motion: FreeMotion, laws: LawTable) -> _Sticking | None:
    """The inverse for the points that the statuses close; None for none or too many points, or a singular F."""
    first, sizes = laws.first[:-1], np.diff(laws.first)
    _, on_velocity, on_impulse = newton.system
    closed = newton.statuses[1] != OPEN
    rate = np.ones(laws.first[-1])
    compliances = np.repeat(laws.tangential_compliance / (motion.impulse_factor * laws.area), sizes)
    holding = np.repeat(closed & (laws.friction > 0.0), sizes) & (np.diag(motion.delassus) + compliances > 0.0)
    rate[first], compliances[first] = on_velocity[:, 0, 0], on_impulse[:, 0, 0]
    holding[first] = rate[first] != 0.0
    rows = np.flatnonzero(holding)
    if not 0 < rows.size <= MAX_ROWS:
        return None
    compliance = _rounded(compliances[rows], rate[rows])
    try:
        return INVERSE.of(
            motion.delassus,
            lambda: _Sticking(motion.delassus, rows, compliance),
            lambda cached: cached.belongs_to(rows, compliance),
        )
    except np.linalg.LinAlgError:
        return None


def solve_standing(
    motion: tuple[Any, ...],
    laws: tuple[Any, ...],
    kernels: Any,
    history: Array,
    closing: Array,
    rho: float,
    solution: tuple[Any, ...],
) -> tuple[int, float, bool]:
    """Solve the contact problem of a step from the statuses of the last one; arguments as of `solve_large`.

    Returns the iterations, the certificate and whether it converged; if not, the guess in `solution` is unchanged.
    """
    from arlequin.multilevel.solvers._large_kernels import update_friction_closing

    impulse, trial, _, _ = solution
    free, table = FreeMotion(*motion), LawTable(*laws)
    if not impulse.any() or _slipping(impulse, table) > MAX_SLIPPING:
        return 0, np.inf, False
    guess = impulse.copy()
    problem = mutable_problem(motion, laws, history, closing)
    newton = Newton(problem, kernels, rho, impulse, trial)
    best, stalled = newton.linearise(True), 0
    sticking = _sticking(newton, free, table)
    for used in range(1, MAX_ITERATIONS + 1):
        if sticking is None:
            break
        try:
            impulse += _NewtonSystem(sticking, free.delassus, newton).increment()
        except (TooMany, np.linalg.LinAlgError):
            break
        error = newton.linearise(False)
        if error <= TARGET:
            error = newton.finish(solution)
            if not update_friction_closing(problem, kernels, closing, table.friction, impulse, newton.response[0]):
                return used, error, True
            break
        stalled = 0 if error <= 0.5 * best else stalled + 1
        best = min(best, error)
        if stalled >= STALLED or not error < np.inf:
            break
    impulse[:] = guess
    return 0, np.inf, False


def _slipping(impulse: Array, laws: LawTable) -> float:
    """Share of the closed points with friction that slip under these impulses (r,), on the border of the friction
    disk."""
    first = laws.first[:-1]
    square = np.add.reduceat(impulse**2, first) - impulse[first] ** 2
    radius = laws.friction * np.maximum(impulse[first], 0.0) * (1.0 - ON_BORDER)
    frictional = radius > 0.0
    return float((frictional & (square >= radius**2)).sum()) / max(float(frictional.sum()), 1.0)
