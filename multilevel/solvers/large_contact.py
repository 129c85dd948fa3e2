"""The contact problem of many points: semismooth Newton, with increments by GMRES and a two-level preconditioner.

The equations, statuses and the certificate are those of `arlequin.multilevel.solvers._kernels`, in double precision.
Increments are computed with W in single precision. Where r is large, most of the time is spent reading W: an iteration
reads half of it. The preconditioner makes the number of iterations small and independent of r:

    clusters of neighbouring points, whose diagonal blocks are inverted (block Jacobi), and
    a coarse space: one increment of the normal impulses of a cluster, and one of each tangential impulse of its
    sticking points; friction that slips follows the normal impulse of its point

in turn, as W maps smooth impulses to large velocities, and those that vary from point to point to small ones. The
distance of points is measured by W_ij; no coordinates are needed. Newton starts with the statuses of the step whose
impulses are the guess: those of the natural map change at many points where slip rates are small.

Source: McLean & Tran, Math. Models Methods Appl. Sci. 7 (1997) 391–412 (additive Schwarz methods for weakly singular
operators).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from arlequin.models.types import Array
from arlequin.multilevel.solvers.matrix_cache import MatrixCache
from arlequin.multilevel.solvers.problem import LawTable

LARGE_FROM = 2000  # rows from which `solve_large` is quicker than the compiled solver
CONVERGED = 3e-11  # certificate below which no fallback is tried, as in the kernels
TARGET = 1e-13  # certificate at which Newton stops
STALLED = 10  # steps of Newton that do not halve the certificate
DAMPED_FROM = 2  # number of these steps after which steps are halved: oscillating statuses settle
KRYLOV = 80  # largest number of GMRES iterations of an increment
# relative residual of an increment: this share of the certificate, within bounds, but neither below the one needed for
# `TARGET` nor below the share of the points whose statuses have just changed
TOLERANCE_SHARE, MIN_TOLERANCE, MAX_TOLERANCE, TARGET_SHARE = 0.1, 1e-5, 1e-2, 0.3
VERIFIED = 1e-3  # certificate below which the system is verified to be regular, and the residual of the verification
CLUSTER = 32  # largest number of points of a cluster
REBUILT = 0.01  # share of the points with statuses other than those of the preconditioner above which it is rebuilt
COMPACT = 0.7  # share of the rows of W needed by an increment below which these are copied

_Rounded = NDArray[np.float32]
_Index = NDArray[np.int64]


class _RoundedMatrix:
    """W/size (r, r) in single precision, size the largest W_ii."""

    def __init__(self, matrix: Array) -> None:
        from arlequin.multilevel.solvers._large_kernels import round_matrix

        self.size = float(np.diag(matrix).max())
        self.entries: _Rounded = np.empty(matrix.shape, dtype=np.float32)
        round_matrix(matrix, self.size, self.entries)


ROUNDED: MatrixCache[_RoundedMatrix] = MatrixCache()


class _Rows:
    """The rows of W (s, s) that the increments of one solution need, in single precision."""

    def __init__(self, rounded: _RoundedMatrix, needed: NDArray[np.bool_]) -> None:
        share, count = needed.mean(), needed.size
        self.needed = needed if share <= COMPACT else np.ones(count, dtype=bool)
        self.rows = np.flatnonzero(self.needed)
        self.entries = rounded.entries if share > COMPACT else rounded.entries[np.ix_(self.rows, self.rows)]
        self.place = np.full(count + 1, self.rows.size)  # of absent rows: that of a zero
        self.place[self.rows] = np.arange(self.rows.size)

    def cover(self, needed: NDArray[np.bool_]) -> bool:
        """Whether the rows include those needed, and not many others."""
        return bool(self.needed[needed].all() and np.count_nonzero(needed) >= 0.5 * self.rows.size)


class _NewtonMatrix:
    """The scaled Newton matrix (n, n) of the unknown rows, D_v W + D_P with blocks of the points.

    place (n,): of the unknowns among the rows of W; on_velocity, on_impulse (n, 3): scaled derivatives by the rows of
    the unknown's point, at neighbours (n, 3); root (n,): impulse of a unit of the unknown, times the size of W.
    """

    def __init__(
        self, rows: _Rows, unknown: _Index, on_velocity: Array, on_impulse: Array, neighbours: _Index, root: Array
    ) -> None:
        self.rows, self.place, self.neighbours = rows, rows.place[unknown], rows.place[neighbours]
        self.on_velocity, self.on_impulse = on_velocity.astype(np.float32), on_impulse.astype(np.float32)
        self.root = root.astype(np.float32)
        self._impulse = np.zeros(rows.rows.size + 1, dtype=np.float32)
        self._velocity = np.zeros_like(self._impulse)

    def scatter(self, place: _Index, values: _Rounded) -> _Rounded:
        """Impulses (s + 1,), 0 elsewhere."""
        self._impulse[:] = 0.0
        self._impulse[place] = values
        return self._impulse

    def combine(self, velocity: _Rounded, impulse: _Rounded) -> _Rounded:
        """D_v v + D_P P (n,) of velocities and impulses (s + 1,) whose last entries are 0."""
        out = np.einsum("nb,nb->n", self.on_velocity, velocity[self.neighbours])
        out += np.einsum("nb,nb->n", self.on_impulse, impulse[self.neighbours])
        return out

    def __matmul__(self, x: _Rounded) -> _Rounded:
        from arlequin.multilevel.solvers._large_kernels import multiply_symmetric

        impulse = self.scatter(self.place, self.root * x)
        multiply_symmetric(self.rows.entries, impulse[:-1], self._velocity[:-1])
        return self.combine(self._velocity, impulse)


class _Preconditioner:
    """Coarse correction, then the inverses of the clusters' blocks; see the module.

    point (n,): of the unknowns; axis (n,): 0 normal, 1 and 2 tangential; closing (n,): whether the equation closes a
    gap, a rate or a slip (otherwise friction slips or a law gives the impulse), whose sums test the coarse equations;
    slope (n,): of slipping friction by the normal impulse.
    """

    def __init__(self, matrix: _NewtonMatrix, first: _Index, point: _Index, axis: _Index,
                 closing: NDArray[np.bool_], slope: Array) -> None:  # fmt: skip
        self._matrix = matrix
        parts = _clusters(np.unique(point), matrix.rows.place[first[:-1]], matrix.rows.entries)
        of_point = np.zeros(first.size - 1, dtype=np.int64)
        for c, members in enumerate(parts):
            of_point[members] = c
        cluster = of_point[point]
        self._invert_blocks(cluster, len(parts))
        self._make_coarse(cluster, axis, closing, slope)

    def _invert_blocks(self, cluster: _Index, count: int) -> None:
        m, entries = self._matrix, self._matrix.rows.entries
        self._order = np.argsort(cluster, kind="stable")
        sizes = np.bincount(cluster, minlength=count)
        ends, largest = np.cumsum(sizes), int(sizes.max())
        self._slot = np.arange(cluster.size) + np.repeat(np.arange(count) * largest - (ends - sizes), sizes)
        blocks = np.zeros((count, largest, largest), dtype=np.float32)
        blocks[:, range(largest), range(largest)] = 1.0
        local = np.full(m.rows.rows.size + 1, -1)
        for c in range(count):
            members = self._order[ends[c] - sizes[c] : ends[c]]
            place, block = m.place[members], np.zeros((members.size, members.size), dtype=np.float32)
            local[place] = np.arange(members.size)
            for b in range(m.neighbours.shape[1]):
                factor, columns = m.on_velocity[members, b], m.neighbours[members, b]
                acting = np.flatnonzero(factor)
                block[acting] += factor[acting, None] * entries[np.ix_(columns[acting], place)]
                acting = np.flatnonzero((m.on_impulse[members, b] != 0.0) & (local[columns] >= 0))
                block[acting, local[columns[acting]]] += m.on_impulse[members[acting], b]
            blocks[c, : members.size, : members.size] = block * m.root[members]
            local[place] = -1
        self._inverses = np.linalg.inv(blocks)

    def _make_coarse(self, cluster: _Index, axis: _Index, closing: NDArray[np.bool_], slope: Array) -> None:
        from arlequin.multilevel.solvers._large_kernels import sum_columns, sum_rows

        m, axes = self._matrix, self._matrix.neighbours.shape[1]
        used = np.unique(axes * cluster[closing] + axis[closing])
        number = np.full(axes * (int(cluster.max()) + 1), -1)
        number[used] = np.arange(used.size)
        follows = ~closing & (slope != 0.0)
        column = np.where(follows, number[axes * cluster], number[axes * cluster + axis])
        acting = np.flatnonzero((closing | follows) & (column >= 0))
        acting = acting[np.argsort(column[acting], kind="stable")]
        weight = np.where(follows, slope, 1.0).astype(np.float32)
        self._acting, self._weight, self._column = m.place[acting], weight[acting], column[acting]
        self._sums: _Rounded = np.empty((used.size, m.rows.rows.size), dtype=np.float32)
        sum_rows(m.rows.entries, self._acting, self._column, self._weight, self._sums)
        self._tests = np.flatnonzero(closing)
        self._test_column = column[self._tests]
        coarse = np.zeros((used.size, used.size))
        at = self._tests, axis[self._tests]
        sum_columns(self._sums, m.place[self._tests], self._test_column, m.on_velocity[at].astype(float), coarse)
        np.add.at(coarse, (self._test_column, self._test_column), m.on_impulse[at])
        self._coarse: _Rounded = np.linalg.inv(coarse).astype(np.float32)

    def apply(self, matrix: _NewtonMatrix, residual: _Rounded) -> _Rounded:
        """An approximate solution (n,) of a system whose statuses may differ slightly."""
        if matrix is self._matrix:
            return self._solve(residual)
        by_row = np.zeros(matrix.rows.rows.size + 1, dtype=np.float32)
        by_row[matrix.place] = residual
        common = np.zeros(by_row.size, dtype=bool)
        common[self._matrix.place] = True
        solution = self._solve(by_row[self._matrix.place])
        by_row[self._matrix.place] = solution
        return np.where(common[matrix.place], by_row[matrix.place], residual)

    def _solve(self, residual: _Rounded) -> _Rounded:
        m = self._matrix
        tests = np.bincount(self._test_column, residual[self._tests], minlength=len(self._coarse))
        coarse_solution = self._coarse @ tests.astype(np.float32)
        impulse = m.scatter(self._acting, coarse_solution[self._column] * self._weight)
        smooth = impulse[m.place] / m.root
        remainder = residual - m.combine(np.append(coarse_solution @ self._sums, np.float32(0.0)), impulse)
        count, largest, _ = self._inverses.shape
        padded = np.zeros(count * largest, dtype=np.float32)
        padded[self._slot] = remainder[self._order]
        solved = np.matmul(self._inverses, padded.reshape(count, largest, 1)).ravel()
        smooth[self._order] += solved[self._slot]
        return np.asarray(smooth)


def _clusters(points: _Index, first: _Index, entries: _Rounded) -> list[_Index]:
    """Clusters of at most `CLUSTER` points by bisection: by the larger W_ij to one of two distant points.

    first (k,): normal rows of the points in entries (s, s).
    """
    parts = [points]
    while max(part.size for part in parts) > CLUSTER:
        halves = []
        for part in parts:
            rows = first[part]
            end = int(np.argmin(entries[rows[0], rows]))
            opposite_end = int(np.argmin(entries[rows[end], rows]))
            order = np.argsort(entries[rows[end], rows] - entries[rows[opposite_end], rows], kind="stable")
            halves += [part[order[: part.size // 2]], part[order[part.size // 2 :]]]
        parts = halves
    return parts


def _gmres(matrix: _NewtonMatrix, preconditioner: _Preconditioner, rhs: Array, tolerance: float) -> Array | None:
    """Solution (n,) of the system by GMRES, preconditioned from the right; None where two cycles of `KRYLOV` iterations
    do not suffice for the tolerance, relative to the right-hand side."""
    from scipy.sparse.linalg import LinearOperator, gmres

    def preconditioned(x: Array) -> _Rounded:
        return preconditioner.apply(matrix, x.astype(np.float32))

    def product(x: Array) -> Array:
        return (matrix @ preconditioned(x)).astype(float)

    operator = LinearOperator((rhs.size, rhs.size), product, dtype=float)
    with np.errstate(all="ignore"):  # of a preconditioner beside a singular one nothing converges
        y, failed = gmres(operator, rhs, rtol=tolerance, restart=KRYLOV, maxiter=2)
    return None if failed else preconditioned(y).astype(float)


class NewtonEquations(NamedTuple):
    """D_v W x + D_P x = rhs (n,) of the unknown rows (n,); known (r + 1,): increments of the other rows, and a zero.

    on_velocity, on_impulse (n, axes): D_v and D_P, by the rows `beside` (n, axes) of the unknown's point; r: no row.
    """

    known: Array
    unknown: _Index
    on_velocity: Array
    on_impulse: Array
    beside: _Index
    rhs: Array


def mutable_problem(motion: tuple[Any, ...], laws: tuple[Any, ...], history: Array, closing: Array) -> tuple[Any, ...]:
    """The arguments of the kernels, with copies of the coefficients of friction and of the shift, which may change."""
    table = LawTable(*laws)
    return motion, tuple(table._replace(friction=table.friction.copy())), history, closing[0].copy()


class Newton:
    """Newton's method on one contact problem; `problem`, `kernels`: the arguments of the kernels."""

    def __init__(self, problem: tuple[Any, ...], kernels: Any, rho: float, impulse: Array, trial: Array) -> None:
        from arlequin.multilevel.solvers._large_kernels import scales

        self._problem, self._kernels, self._rho, self.impulse, self._trial = problem, kernels, rho, impulse, trial
        self._delassus, self._first = problem[0][0], problem[1][0]
        self._diagonal = scales(problem, kernels)
        rows, points = impulse.size, self._first.size - 1
        sizes = np.diff(self._first)
        self.point = np.repeat(np.arange(points), sizes)
        self.axis = np.arange(rows) - self._first[self.point]
        axes = int(sizes.max())
        beside = self._first[:-1, None] + np.arange(axes)
        self._beside = np.where(np.arange(axes) < sizes[:, None], beside, rows)  # (k, axes), r where there is none
        self.response = np.empty(rows), np.empty((points, 4)), np.empty(points), np.empty(points), np.empty(rows)
        self.statuses = np.zeros(points, dtype=bool), np.zeros(points, dtype=np.int8), np.empty(rows)
        self.system = np.empty(rows), np.empty((points, 3, 3)), np.empty((points, 3, 3))
        self._rows: _Rows | None = None
        self._preconditioner: _Preconditioner | None = None
        self._built_for = self._last = np.zeros(points, dtype=np.int8)

    @property
    def _rounded(self) -> _RoundedMatrix:
        """W in single precision."""
        return ROUNDED.of(self._delassus, lambda: _RoundedMatrix(self._delassus))

    def run(self, max_iterations: int) -> tuple[int, float, bool]:
        """Iterate from and to `impulse` (the best iterate), whose response is evaluated: steps, certificate, and
        whether GMRES solved all systems."""
        best, best_impulse, stalled, unverified = np.inf, self.impulse.copy(), 0, True
        used, solved, at_best, warm = 0, True, False, bool(self.impulse.any())
        for used in range(max_iterations + 1):
            error = self.linearise(used == 0 and warm)
            at_best = error < best
            stalled = 0 if error <= 0.5 * best else stalled + 1
            if at_best:
                best, best_impulse[:] = error, self.impulse
            if best <= TARGET or used == max_iterations or stalled >= STALLED or not error < np.inf:
                break
            if stalled >= 4 and best <= CONVERGED:
                break
            increment = self._increment(error, unverified and error <= VERIFIED)
            solved = increment is not None
            if increment is None:
                break
            unverified = unverified and error > VERIFIED
            self.impulse += increment if stalled < DAMPED_FROM else 0.5 * increment
        if not at_best:
            self.impulse[:] = best_impulse
            self.multiply()
        return used, best, solved

    def linearise(self, by_impulses: bool) -> float:
        """Response, statuses and system at the impulses; the certificate. by_impulses: see the kernel."""
        from arlequin.multilevel.solvers._large_kernels import linearised

        self.multiply()
        error, scale = linearised(
            self._problem, self._kernels, self._diagonal, self._rho, self.impulse, self._trial, self.response,
            self.statuses, self.system, by_impulses,
        )  # fmt: skip
        return float(error / scale)

    def multiply(self) -> None:
        """W P in double precision."""
        from arlequin.multilevel.solvers._large_kernels import multiply_symmetric

        multiply_symmetric(self._delassus, self.impulse, self.response[0])

    def finish(self, solution: tuple[Any, ...]) -> float:
        """Project the impulses onto the laws and split their normal parts; return the certificate."""
        from arlequin.multilevel.solvers._large_kernels import completed, linearised, projected

        impulse, trial, normal, status = solution
        statuses = self.statuses[0], status, self.statuses[2]
        linearised(
            self._problem,
            self._kernels,
            self._diagonal,
            self._rho,
            impulse,
            trial,
            self.response,
            self.statuses,
            self.system,
            False,
        )
        projected(self._problem, self._kernels, self._diagonal, impulse, self.response, statuses)
        self.multiply()
        return float(
            completed(self._problem, self._kernels, self._diagonal, impulse, trial, self.response, statuses, normal)
        )

    def equations(self) -> "NewtonEquations":
        """The system of an increment, without the rows whose equations determine their impulses directly."""
        residual, on_velocity, on_impulse = self.system
        point, axis, width = self.point, self.axis, self._beside.shape[1]
        on_velocity, on_impulse = on_velocity[point, axis, :width], on_impulse[point, axis, :width]  # (r, axes)
        diagonal = np.take_along_axis(on_impulse, axis[:, None], axis=1)[:, 0]
        coupled = (on_velocity != 0.0).any(axis=1) | ((on_impulse != 0.0).sum(axis=1) > (diagonal != 0.0))
        known = np.zeros(residual.size + 1)
        known[:-1][~coupled] = -residual[~coupled] / diagonal[~coupled]
        unknown = np.flatnonzero(coupled)
        on_velocity, on_impulse, beside = on_velocity[unknown], on_impulse[unknown], self._beside[point[unknown]]
        equations = NewtonEquations(known, unknown, on_velocity, on_impulse, beside, -residual[unknown])
        return equations._replace(rhs=equations.rhs - self.applied(equations, known[:-1]))

    def applied(self, equations: "NewtonEquations", x: Array) -> Array:
        """D_v W x + D_P x (n,) of impulses x (r,)."""
        impulse = np.append(x, 0.0)
        out = np.einsum("nb,nb->n", equations.on_velocity, self._velocity_of(impulse)[equations.beside])
        return np.asarray(out + np.einsum("nb,nb->n", equations.on_impulse, impulse[equations.beside]))

    def _increment(self, error: float, verified: bool) -> Array | None:
        """Increment (r,) of the impulses; None where GMRES fails, or, if verified, fails for a right-hand side without
        structure: a singular system has solutions for some right-hand sides only."""
        point, axis = self.point, self.axis
        known, unknown, on_velocity, on_impulse, beside, rhs = self.equations()
        if unknown.size == 0:
            return known[:-1]
        size, point, axis = self._rounded.size, point[unknown], axis[unknown]
        norms = np.sqrt(np.append(np.maximum(np.diag(self._delassus), 0.0), 0.0) / size)
        root = np.divide(1.0, norms[unknown], out=np.ones(unknown.size), where=norms[unknown] > 0.0)
        bound = np.einsum("nb,nb->n", np.abs(on_velocity), norms[beside]) * size
        bound += np.abs(on_impulse).sum(axis=1) * root
        unit = np.divide(1.0, bound, out=np.ones(unknown.size), where=bound > 0.0)
        needed = np.zeros(known.size, dtype=bool)
        needed[beside] = True
        if self._rows is None or not self._rows.cover(needed[:-1]):
            self._rows, self._preconditioner = None, None
            self._rows = _Rows(self._rounded, needed[:-1])
        # unknown x: impulse increment root x/size
        matrix = _NewtonMatrix(
            self._rows, unknown, on_velocity * (unit * size)[:, None], on_impulse * unit[:, None], beside, root
        )
        status = self.statuses[0] * np.int8(4) + self.statuses[1]
        changed = np.count_nonzero(status != self._built_for)
        try:
            if self._preconditioner is None or changed > REBUILT * status.size:
                closing = (axis == 0) | (self.statuses[1][point] == 2)
                slope = np.where(axis == 0, 0.0, -on_impulse[:, 0])
                self._preconditioner = _Preconditioner(matrix, self._first, point, axis, closing, slope)
                self._built_for = status
        except np.linalg.LinAlgError:  # a block is singular
            return None
        unsettled = np.count_nonzero(status != self._last) / status.size
        self._last = status
        tolerance = min(
            max(TOLERANCE_SHARE * error, MIN_TOLERANCE, TARGET_SHARE * TARGET / error, unsettled), MAX_TOLERANCE
        )
        solution = _gmres(matrix, self._preconditioner, rhs * (unit * size), tolerance)
        if solution is None:
            return None
        if verified:
            probe = np.cos(1.0 + np.arange(unknown.size, dtype=float) ** 2)
            if _gmres(matrix, self._preconditioner, probe, VERIFIED) is None:
                return None
        known[unknown] = solution * root / size
        return known[:-1]

    def _velocity_of(self, impulse: Array) -> Array:
        """W P (r + 1,) of the impulses (r + 1,), the last ones 0."""
        from arlequin.multilevel.solvers._large_kernels import multiply_symmetric

        out, acting = np.zeros(impulse.size), np.flatnonzero(impulse)
        if acting.size > impulse.size // 8:
            multiply_symmetric(self._delassus, impulse[:-1], out[:-1])
        elif acting.size:
            out[:-1] = impulse[acting] @ self._delassus[acting]
        return out


def solve_large(
    motion: tuple[Any, ...],
    laws: tuple[Any, ...],
    kernels: Any,
    history: Array,
    closing: Array,
    options: tuple[float, int],
    solution: tuple[Any, ...],
) -> tuple[int, float, bool]:
    """Solve the contact problem of a step; arguments as of the kernel `_solve_kernels.solve_contact`; options: ρ and
    the maximum number of iterations.

    Returns the iterations, the certificate and whether it converged; where it did not, `solution` holds the best
    impulses, from which a more robust method may start.
    """
    from arlequin.multilevel.solvers._large_kernels import update_friction_closing

    impulse, trial, _, _ = solution
    rho, max_iterations = options
    problem = mutable_problem(motion, laws, history, closing)
    newton = Newton(problem, kernels, rho, impulse, trial)
    used = 0
    while True:  # each pass changes the closing of friction at further points
        steps, error, solved = newton.run(max_iterations - used)
        used += steps
        if not solved or not error <= CONVERGED:
            ROUNDED.forget()  # the fallback needs the memory
            return used, error, False
        error = newton.finish(solution)
        if impulse.size == laws[0].size - 1 or not update_friction_closing(
            problem, kernels, closing, LawTable(*laws).friction, impulse, newton.response[0]
        ):
            return used, error, True
