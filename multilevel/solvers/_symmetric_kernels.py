"""Increments of Newton's method by a Cholesky factor that is reused while the same rows act with the same compliances.

On the rows that act, impulses x and velocities W x of Newton's linear system obey

    F x = q,    F = W + diag(γ),

with γ the compliance of the row's law: of a regular law, a multiplier, or a friction spring. Rows of points that slip
obey other equations. These determine q on their rows, as a system of that size (Woodbury), so that F is the same
whether points stick or slip. The tangential rows are factorised first, as their compliances are constants of a step:
slopes of regular laws that change leave that part of the factor as it is.

Reused or recomputed, the factor is bitwise the same: it is a function of W, the rows and γ only, and results do not
depend on the steps before. `arlequin.multilevel.solvers.standing_contact` does the same for some hundred rows, in
NumPy. Source: Hager, SIAM Review 31 (1989) 221–239 (updates of an inverse).
"""

from typing import Any

import numpy as np
from numba import config, types

from arlequin.models.kernel_cache import called_njit
from arlequin.multilevel.solvers._borrow_kernels import hold
from arlequin.multilevel.solvers._dense_kernels import eliminate, full_dot, solve_lower, solve_lower_transposed

SYMMETRIC_FROM = 24  # rows
SLIPPING = 0.5  # share of the unknowns in points that slip, above which the whole system is eliminated
INDEPENDENT = 1e-10  # share of a row of F that is independent of those before it, below which F counts as singular

_REALS = types.CPointer(types.float64)
_DPOTRF: Any = types.intc(types.char, types.char, types.intp, _REALS, types.intp)
_dpotrf: Any = types.ExternalFunction("numba_xxpotrf", _DPOTRF)


def _factorise_by_lapack(lower, first, n):
    """The lower triangle of the rows and columns first … n − 1 ← its Cholesky factor; False where that matrix is not
    positive definite."""
    block = lower[first:, first:]
    info = _dpotrf(ord("d"), ord("U"), n - first, block.ctypes, lower.shape[1])  # LAPACK sees the transpose
    hold((lower, block))
    return info == 0


def _factorise_by_numpy(lower, first, n):
    """`_factorise_by_lapack` where kernels run as Python."""
    try:
        lower[first:n, first:n] = np.linalg.cholesky(lower[first:n, first:n])
    except np.linalg.LinAlgError:
        return False
    return True


_factorise: Any = (
    _factorise_by_numpy if config.DISABLE_JIT else called_njit()(_factorise_by_lapack)  # type: ignore[attr-defined]
)


@called_njit()
def _reduce(p, compliance, rows, tangential, factor):
    """The factor of F on the tangential rows and its rows below, into `factor.lower`, and W on the normal rows less its
    part by the tangential ones, into `factor.normal`; False where F is singular on the tangential rows."""
    lower, normal, n = factor.lower, factor.normal, rows.size
    largest = 0.0
    for i in range(n):
        source, line = p.delassus[rows[i]], lower[i]
        for j in range(i + 1):
            line[j] = source[rows[j]]
        largest = max(largest, line[i])
    for i in range(tangential, n):
        for j in range(tangential, i + 1):
            normal[i - tangential, j - tangential] = lower[i, j]
        lower[i, i] += largest  # any positive definite matrix will do: the factor of the normal rows is not used
    if tangential == 0:
        return True
    diagonal = np.empty(tangential)
    for i in range(tangential):
        lower[i, i] += compliance[rows[i]]
        diagonal[i] = lower[i, i]
    if not _factorise(lower, 0, n):
        return False
    for i in range(tangential):
        if not lower[i, i] * lower[i, i] > INDEPENDENT * diagonal[i]:
            return False
    for i in range(tangential, n):
        for j in range(tangential, i + 1):
            normal[i - tangential, j - tangential] -= full_dot(lower[i, :tangential], lower[j, :tangential])
    return True


@called_njit()
def _factor_of(p, compliance, rows, tangential, factor):
    """The factor of F with the compliances (r,), negative on the rows that do not act, into `factor`, unless it is
    there; rows (n,): those that act, first the tangential ones, so many. False where F is singular.

    Compliances of friction change seldom, those of regular laws often: the latter leave the tangential part as it is.
    """
    stored, lower, normal, has_column, _ = factor
    count, n = compliance.size, rows.size
    same, reduced = True, stored[count + 1] > 0.0
    for k in range(p.area.size):
        i = p.first[k]
        same = same and stored[i] == compliance[i]
        reduced = reduced and (stored[i] >= 0.0) == (compliance[i] >= 0.0)
        for t in range(i + 1, p.first[k + 1]):
            reduced = reduced and stored[t] == compliance[t]
            same = same and stored[t] == compliance[t]
    if same:
        return stored[count] > 0.0
    has_column[:] = False
    for i in range(count):
        stored[i] = compliance[i]
    regular = reduced or _reduce(p, compliance, rows, tangential, factor)
    stored[count + 1] = 1.0 if regular else 0.0
    if regular:
        for i in range(tangential, n):
            line, source = lower[i], normal[i - tangential]
            for j in range(tangential, i + 1):
                line[j] = source[j - tangential]
            line[i] += compliance[rows[i]]
        regular = _factorise(lower, tangential, n)
        for i in range(tangential, n):
            diagonal = p.delassus[rows[i], rows[i]] + compliance[rows[i]]
            regular = regular and lower[i, i] * lower[i, i] > INDEPENDENT * diagonal
    stored[count] = 1.0 if regular else 0.0
    return regular


@called_njit()
def symmetric_increment(p, system, increment, factor):
    """Newton increment (r,) of the impulses, see `newton_increment`; False where F or the system is singular, or
    another equation is not symmetric or holds on too many rows.

    factor: of `arlequin.multilevel.solvers._kernels.allocate_factor`, on the same W.
    """
    residual, on_velocity, on_impulse = system.residual, system.on_velocity, system.on_impulse
    count = residual.size
    compliance, rows, point = np.empty(count), np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
    place = np.empty(count, dtype=np.int64)  # of a row among those that act
    sliding = np.empty(count, dtype=np.int64)  # places of the rows of the points that slip
    is_coupled, slips = np.zeros(count, dtype=np.bool_), np.zeros(p.area.size, dtype=np.bool_)
    n, slides, coupled_rows = 0, 0, 0
    any_known = False
    for k in range(p.area.size):
        first, end = p.first[k], p.first[k + 1]
        for i in range(first, end):
            a = i - first
            decoupled = True
            for b in range(end - first):
                decoupled = decoupled and (a == b or (on_velocity[k, a, b] == 0.0 and on_impulse[k, a, b] == 0.0))
            rate, increment[i], place[i] = on_velocity[k, a, a], 0.0, -1
            if decoupled and rate == 0.0:
                increment[i] = -residual[i] / on_impulse[k, a, a]
                any_known = any_known or increment[i] != 0.0
                compliance[i] = -1.0
            elif decoupled:
                compliance[i] = on_impulse[k, a, a] / rate
                if not (rate > 0.0 and compliance[i] >= 0.0):
                    return False
            elif a == 0:
                return False
            else:
                compliance[i], is_coupled[i], slips[k] = p.tangential_compliance[k], True, True
                coupled_rows += 1
    tangential = 0
    for normal in range(2):  # the tangential rows before the normal ones
        for k in range(p.area.size):
            first = p.first[k]
            for i in range(first if normal else first + 1, first + 1 if normal else p.first[k + 1]):
                if compliance[i] < 0.0:
                    continue
                if slips[k]:
                    sliding[slides] = n
                    slides += 1
                rows[n], point[n], place[i] = i, k, n
                n += 1
        tangential = n if normal == 0 else tangential
    if slides > SLIPPING * n or not _factor_of(p, compliance, rows[:n], tangential, factor):
        return False
    lower = factor.lower
    change = np.zeros(count)
    if any_known:
        for j in range(count):
            amount, line = increment[j], p.delassus[j]
            if amount != 0.0:
                for i in range(count):
                    change[i] += amount * line[i]
    rhs, x = np.empty(n), np.empty(n)  # of the equations, and q on the rows that obey F
    for i in range(n):
        r, k = rows[i], point[i]
        first = p.first[k]
        a = r - first
        value = -residual[r]
        if any_known:
            for b in range(p.first[k + 1] - first):
                value -= on_velocity[k, a, b] * change[first + b] + on_impulse[k, a, b] * increment[first + b]
        rhs[i] = value
        x[i] = 0.0 if is_coupled[r] else value / on_velocity[k, a, a]
    if coupled_rows == 0:
        solve_lower(lower, 0, x)
        solve_lower_transposed(lower, x)
    elif not _solve_sliding_rows(
        p, system, compliance, (rows[:n], point, place, is_coupled), sliding[:slides], factor, rhs, x
    ):
        return False
    for i in range(n):
        increment[rows[i]] = x[i]
    return True


@called_njit()
def _solve_sliding_rows(p, system, compliance, equations, sliding, factor, rhs, x):
    """x (n,) ← the solution, from q with zeros on the rows that obey another equation; False where it is singular.

    equations: rows (n,) that act, their points, places of the rows (r,), and whether they obey another equation;
    sliding (s,): places of the rows of the points that do; right (n,): of all equations.
    """
    rows, point, place, other = equations
    on_velocity, on_impulse = system.on_velocity, system.on_impulse
    n, s = x.size, sliding.size
    lower, has_column, columns = factor.lower, factor.has_column, factor.columns
    sliding_index = np.empty(n, dtype=np.int64)  # of a place among `sliding`
    for j in range(s):
        i = sliding[j]
        sliding_index[i] = j
        if not has_column[i]:
            column = columns[i, :n]
            column[:] = 0.0
            column[i] = 1.0
            solve_lower(lower, i, column)
            has_column[i] = True
    inverse = np.empty((s, s))  # of F, on these rows
    for i in range(s):
        start = sliding[i]
        column = columns[start, start:n]
        for j in range(i + 1):
            inverse[i, j] = inverse[j, i] = full_dot(column, columns[sliding[j], start:n])
    q_sliding = np.empty(s)  # q there
    for i in range(s):
        q_sliding[i] = x[sliding[i]]
    solve_lower(lower, 0, x)
    free_impulse = np.empty(s)  # impulses without the q that is sought
    for i in range(s):
        start = sliding[i]
        free_impulse[i] = full_dot(columns[start, start:n], x[start:])
    matrix, q_unknown, unknown = np.empty((s, s)), np.empty(s), np.empty(s, dtype=np.int64)
    size = 0
    for i in range(s):
        if other[rows[sliding[i]]]:
            unknown[size] = i
            size += 1
    for e in range(size):
        r = rows[sliding[unknown[e]]]
        k = point[sliding[unknown[e]]]
        first = p.first[k]
        a, line = r - first, matrix[e, :size]
        line[:] = 0.0
        value = rhs[sliding[unknown[e]]]
        for b in range(p.first[k + 1] - first):
            velocity, impulse = on_velocity[k, a, b], on_impulse[k, a, b]
            if place[first + b] < 0:
                if velocity != 0.0:
                    return False
                continue
            i = sliding_index[place[first + b]]
            factor_on_impulse = impulse - velocity * compliance[first + b]  # W x = q − γ x
            value -= velocity * q_sliding[i] + factor_on_impulse * free_impulse[i]
            for j in range(size):
                line[j] += factor_on_impulse * inverse[i, unknown[j]] / inverse[unknown[j], unknown[j]]
                if unknown[j] == i:
                    line[j] += velocity / inverse[i, i]
        largest = 0.0
        for j in range(size):
            largest = max(largest, abs(line[j]))
        if not largest > 0.0:
            return False
        for j in range(size):
            line[j] /= largest
        q_unknown[e] = value / largest
    if not eliminate(matrix, q_unknown, size):
        return False
    for e in range(size):
        j, start = unknown[e], sliding[unknown[e]]
        amount, column, end = q_unknown[e] / inverse[j, j], columns[start, start:n], x[start:]
        for i in range(end.size):
            end[i] += amount * column[i]
    solve_lower_transposed(lower, x)
    return True
