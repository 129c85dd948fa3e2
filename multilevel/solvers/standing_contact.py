"""The contact problem of some hundred points of which most stick: products with a stored inverse, and few unknowns.

Where all points that are closed stick, or slide without friction, impulses x and velocities W x of their rows obey

    F x = q,    F = W + diag(γ),

γ the compliances of the laws, which do not change from step to step: the inverse of F is stored with W. Points that
slip, open, close or are on another branch of their law obey other equations: these determine q on their rows, as a
system of that size (Woodbury), in each iteration of Newton's method. F depends on the points that the last step has
left closed and on their compliances, rounded to single precision, so that results do not depend on whether its inverse
was stored already; iterations are repeated until the certificate is that of Newton's method.

Source: Hager, SIAM Review 31 (1989) 221–239 (updates of an inverse).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arlequin.models.types import Array
from arlequin.multilevel.solvers.kept import KeptWith
from arlequin.multilevel.solvers.large_contact import TARGET, Newton, own_problem
from arlequin.multilevel.solvers.problem import ON_BORDER, FreeMotion, LawTable

STANDING_FROM = 300  # rows from which it is worth its overhead of a millisecond
MOST = 1500  # rows of a stored inverse
SLIPPING = 0.5  # share of the closed points that may slip
CHANGED = 0.4  # share of its rows whose equations are others, at most
ITERATIONS = 25  # at most
STALLED = 10  # of them that do not halve the certificate
NEAR = 0.1  # relative difference of a compliance from that of F that leaves a residual, no row for the small system
REFINED, ROUNDED = 6, 1e-6  # solutions for this residual at most, down to this relative one
SINGULAR = 1e-12  # share of a row's compliance that is independent of the others, below which F counts as singular
OPEN = 0

_Index = NDArray[np.int64]


class TooMany(Exception):
    """More rows obey other equations than a small system is worth."""


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
    """Newton's equations by the inverse of F; TooMany or LinAlgError where it does not help.

    With S the rows of F that obey another equation, or none, and N those that F has not,

        x = F⁻¹ (q − W_RN x_N),    W x = q − γ x    on the rows R of F;

    q is known but for q_S, and the equations of S and N determine q_S and x_N: those of a point contain all its rows.
    Compliances that are only near those of F leave a residual, which is solved for again.
    """

    def __init__(self, sticking: _Sticking, delassus: Array, newton: Newton) -> None:
        self._sticking, self._delassus, self._newton = sticking, delassus, newton
        equations = self._equations = newton.equations()
        unknown, on_velocity, on_impulse = equations.unknown, equations.on_velocity, equations.on_impulse
        axis, self._place = newton.axis[unknown, None], sticking.place[unknown]
        rate = np.take_along_axis(on_velocity, axis, axis=1)[:, 0]
        own = np.take_along_axis(on_impulse, axis, axis=1)[:, 0]
        alone = (rate != 0.0) & (self._place >= 0)
        alone &= (np.count_nonzero(on_velocity, axis=1) == 1) & (np.count_nonzero(on_impulse, axis=1) == (own != 0.0))
        gamma = sticking.compliance[self._place[alone]]
        off = np.abs(_rounded(own[alone], rate[alone]) - gamma)
        near = off <= NEAR * np.abs(gamma)
        self._refines = bool(off[near].any())
        alone[alone] = near
        sticks = np.zeros(newton.point.size, dtype=bool)
        sticks[unknown[alone]] = True
        other = np.zeros(newton.statuses[0].size, dtype=bool)
        other[newton.point[unknown[~alone]]] = True
        other[newton.point[sticking.rows[~sticks[sticking.rows]]]] = True
        others = other[newton.point]
        changed, inside = others & ~sticks, sticking.place[:-1] >= 0
        if np.count_nonzero(changed) > CHANGED * sticking.rows.size:
            raise TooMany
        self._alone, self._some = np.flatnonzero(alone), np.flatnonzero(~alone)
        self._rate = rate[alone]
        self._around, self._s, self._n = (
            sticking.place[np.flatnonzero(others & inside)],
            sticking.place[np.flatnonzero(changed & inside)],
            np.flatnonzero(changed & ~inside),
        )
        if other.any():
            self._make()

    def _make(self) -> None:
        """The system of q_S and x_N, by the impulses and velocities that they cause at their points; last row 0."""
        own, around, s, n = self._sticking, self._around, self._s, self._n
        self._columns, self._coupling = own.inverse[s], self._delassus[np.ix_(n, own.rows)]
        self._across = self._coupling @ own.inverse
        impulse, velocity = np.zeros((2, around.size + n.size + 1, s.size + n.size))
        impulse[: around.size] = np.hstack([self._columns[:, around].T, -self._across[:, around].T])
        impulse[around.size : -1, s.size :] = np.eye(n.size)
        velocity[: around.size] = -own.compliance[around, None] * impulse[: around.size]
        velocity[np.searchsorted(around, s), range(s.size)] += 1.0
        velocity[around.size : -1] = np.hstack(
            [self._across[:, s], self._delassus[np.ix_(n, n)] - self._across @ self._coupling.T]
        )
        where, number = np.full((2, self._newton.point.size + 1), around.size + n.size)
        t = np.concatenate([own.rows[s], n])
        where[np.concatenate([own.rows[around], n])] = np.arange(around.size + n.size)
        number[t] = np.arange(t.size)
        e = self._equations
        self._at, self._near_rows, self._rows = where[t], where[e.beside[self._some]], number[e.unknown[self._some]]
        system = impulse[self._at]  # rows that are known: no more impulse
        system[self._rows] = self._combined(velocity, impulse)
        self._unit = 1.0 / np.abs(system).max(axis=1)
        self._system = system * self._unit[:, None]

    def _combined(self, velocity: Array, impulse: Array) -> Array:
        """D_v v + D_P x of the equations of S and N, of velocities and impulses at their points."""
        e, near = self._equations, self._near_rows
        out = np.einsum("ub,ub...->u...", e.on_velocity[self._some], velocity[near])
        return np.asarray(out + np.einsum("ub,ub...->u...", e.on_impulse[self._some], impulse[near]))

    def _solve(self, right: Array) -> Array:
        """Impulses (r,) for a right-hand side (u,)."""
        own, around, s, n = self._sticking, self._around, self._s, self._n
        q, out = np.zeros(own.rows.size), np.zeros(self._newton.point.size)
        q[self._place[self._alone]] = right[self._alone] / self._rate
        x = own.inverse @ q
        if around.size or n.size:
            impulse, velocity = np.zeros((2, around.size + n.size + 1))
            impulse[: around.size] = x[around]
            velocity[: around.size], velocity[around.size : -1] = (
                q[around] - own.compliance[around] * x[around],
                self._coupling @ x,
            )
            rest = -impulse[self._at]
            rest[self._rows] = right[self._some] - self._combined(velocity, impulse)
            found = np.linalg.solve(self._system, rest * self._unit)
            x += found[: s.size] @ self._columns - found[s.size :] @ self._across
            out[n] = found[s.size :]
        out[own.rows] = x
        return out

    def increment(self) -> Array:
        """Increment (r,) of the impulses."""
        e = self._equations
        x, size = self._solve(e.right), np.abs(e.right).max(initial=0.0)
        for _ in range(REFINED if self._refines else 0):
            rest = e.right - self._newton.applied(e, x)
            if np.abs(rest).max(initial=0.0) <= ROUNDED * size:
                break
            x += self._solve(rest)
        return e.known[:-1] + x


INVERSE: KeptWith[_Sticking] = KeptWith()


def _rounded(impulse: Array, velocity: Array) -> Array:
    """Compliances γ of rows with the derivatives of their equations by impulse and velocity."""
    return np.asarray((impulse / velocity).astype(np.float32))


def _sticking(newton: Newton, motion: FreeMotion, laws: LawTable) -> _Sticking | None:
    """Of the points that the statuses close; None where there are no or too many, or F is singular."""
    first, sizes = laws.first[:-1], np.diff(laws.first)
    _, on_velocity, on_impulse = newton.system
    closed = newton.statuses[1] != OPEN
    rate = np.ones(laws.first[-1])
    own = np.repeat(laws.tangential_compliance / (motion.impulse_factor * laws.area), sizes)
    holds = np.repeat(closed & (laws.friction > 0.0), sizes) & (np.diag(motion.delassus) + own > 0.0)
    rate[first], own[first] = on_velocity[:, 0, 0], on_impulse[:, 0, 0]
    holds[first] = rate[first] != 0.0
    rows = np.flatnonzero(holds)
    if not 0 < rows.size <= MOST:
        return None
    compliance = _rounded(own[rows], rate[rows])
    try:
        return INVERSE.of(
            motion.delassus,
            lambda: _Sticking(motion.delassus, rows, compliance),
            lambda kept: kept.belongs_to(rows, compliance),
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

    Returns the iterations, the certificate and whether it converged; where it did not, the guess in `solution` is as it
    was.
    """
    from arlequin.multilevel.solvers._large_kernels import friction_closes_otherwise

    impulse, trial, _, _ = solution
    free, table = FreeMotion(*motion), LawTable(*laws)
    if not impulse.any() or _slipping(impulse, table) > SLIPPING:
        return 0, np.inf, False
    guess = impulse.copy()
    problem = own_problem(motion, laws, history, closing)
    newton = Newton(problem, kernels, rho, impulse, trial)
    best, stalled = newton.linearise(True), 0
    sticking = _sticking(newton, free, table)
    for used in range(1, ITERATIONS + 1):
        if sticking is None:
            break
        try:
            impulse += _NewtonSystem(sticking, free.delassus, newton).increment()
        except (TooMany, np.linalg.LinAlgError):
            break
        error = newton.linearise(False)
        if error <= TARGET:
            error = newton.finish(solution)
            if not friction_closes_otherwise(problem, kernels, closing, table.friction, impulse, newton.response[0]):
                return used, error, True
            break
        stalled = 0 if error <= 0.5 * best else stalled + 1
        best = min(best, error)
        if stalled >= STALLED or not error < np.inf:
            break
    impulse[:] = guess
    return 0, np.inf, False


def _slipping(impulse: Array, laws: LawTable) -> float:
    """Share of the closed points with friction that have slipped under these impulses (r,): they lie on the border of
    the friction disk."""
    first = laws.first[:-1]
    square = np.add.reduceat(impulse**2, first) - impulse[first] ** 2
    radius = laws.friction * np.maximum(impulse[first], 0.0) * (1.0 - ON_BORDER)
    rubs = radius > 0.0
    return float((rubs & (square >= radius**2)).sum()) / max(float(rubs.sum()), 1.0)
