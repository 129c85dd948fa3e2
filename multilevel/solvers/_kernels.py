"""Numba kernels of the contact problem of a step: regular laws, friction and the methods that solve it.

Only kernels called from Python declare their types: the others are compiled into them, and declaring their types would
compile and load each of them separately.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import boolean, float64, int64, types

from arlequin.models.kernel_cache import njit
from arlequin.multilevel._interrupts import check_interrupts
from arlequin.multilevel.laws.signature import REGULAR_KERNEL
from arlequin.multilevel.solvers._borrow_kernels import borrow
from arlequin.multilevel.solvers.problem import FreeMotion, LawTable

OPEN, SLIP, STICK = 0, 1, 2
GAP_LEVEL, VELOCITY_LEVEL = 1, 2
GAUSS_SEIDEL, PROJECTED_GRADIENT = 2, 3
MAX_STALLED = 10  # Newton steps that do not halve the certificate
CONVERGED = 3e-11  # certificate below which no fallback is tried: stiff laws amplify the round-off of the gaps
MIN_PROXIMAL_TERM = 1e-9  # the smaller, the fewer iterations where multipliers are not unique
LAPACK_FROM = 96  # unknowns
KRYLOV_FROM, KRYLOV = 300, 80  # unknowns from which increments are found iteratively, and the iterations of one at most
# relative residual of such an increment: this share of the certificate, within bounds
KRYLOV_SHARE, KRYLOV_LEAST, KRYLOV_MOST = 0.1, 1e-5, 1e-2
KRYLOV_VERIFIED = 1e-3  # certificate below which the system is shown to be regular, and the residual that shows it
# the number of Newton steps, of r³/3 multiplications each, is limited to some minutes
MAX_OPERATIONS, MIN_BUDGET = 3e11, 500


class ContactProblem(NamedTuple):
    """`FreeMotion` and `LawTable` of one step, scaled to impulses.

    area: area × impulse factor; compliance and tangential_compliance: over that area; shift (r,): added to the slack
    of the multipliers and to the slip rates (see `arlequin.multilevel.solvers.closing`; with a compliance, a proximal
    term).
    """

    delassus: Any
    gap_per_velocity: Any
    gap_free: Any
    rate_free: Any
    closed: Any
    first: Any
    area: Any
    level: Any
    compliance: Any
    friction: Any
    tangential_compliance: Any
    shift: Any
    kernels: Any
    rows: Any
    kind: Any
    coefficients: Any
    history: Any
    step: Any
    theta: Any


class ContactResponse(NamedTuple):
    """What impulses cause: velocity_change (r,) = W P, tractions (k, 4) as of `_tractions`, slack and multiplier (k,)
    of the set-valued laws, slip rates (r,)."""

    velocity_change: Any
    tractions: Any
    slack: Any
    multiplier: Any
    slip: Any


class Statuses(NamedTuple):
    """active (k,): multipliers whose slack is zero; status (k,): OPEN, SLIP or STICK; direction (r,): P_t − ρ w."""

    active: Any
    status: Any
    direction: Any


class LinearSystem(NamedTuple):
    """residual (r,) of the equations and their derivatives (k, 3, 3) by the rows of W P and by P at the same point."""

    residual: Any
    on_velocity: Any
    on_impulse: Any


_VECTOR, _INDEX, _TABLE = float64[::1], int64[::1], float64[:, ::1]
# the arguments of `solve_contact`
ARGUMENTS = (
    types.Tuple((_TABLE, float64, _VECTOR, _VECTOR, boolean[::1], float64, float64, float64)),
    types.Tuple((_INDEX, _VECTOR, _INDEX, _VECTOR, _VECTOR, _VECTOR, _INDEX, _INDEX, _TABLE)),
    types.ListType(REGULAR_KERNEL),
    _TABLE,
    _TABLE,
    types.Tuple((int64, float64, float64, int64)),
    types.Tuple((_VECTOR, _TABLE, _TABLE, types.int8[::1])),
)


@njit(cache=True)
def allocate_response(points, count):
    """An empty `ContactResponse` of k points and r rows."""
    return ContactResponse(np.empty(count), np.empty((points, 4)), np.empty(points), np.empty(points), np.empty(count))


@njit(cache=True)
def _copy(x, out):
    """out (n,) ← x: unlike an assignment to a slice, without code for shapes and memory that do not fit."""
    for i in range(out.size):
        out[i] = x[i]


@njit(cache=True)
def _tractions(p, k, gap, trial, out):
    """Sums the regular laws of point k at a gap: stored, its slope, dissipated, its slope (per area)."""
    out[:] = 0.0
    for row in range(p.rows[k], p.rows[k + 1]):
        stored, stored_slope, dissipated, dissipated_slope = p.kernels[p.kind[row]](
            p.coefficients[row], p.history[row], gap, p.step, p.theta, trial[row]
        )
        out[0] += stored
        out[1] += stored_slope
        out[2] += dissipated
        out[3] += dissipated_slope


@njit(cache=True)
def _eliminate(matrix, right, n):
    """Solves the leading n × n system in place by Gauss elimination with row pivoting; False where it is singular.

    The rows are of unit size: a pivot of the size of round-off tells that they depend on each other.
    """
    floor = 1e-14 * max(n, 10)
    for i in range(n):
        best, size = i, abs(matrix[i, i])
        for r in range(i + 1, n):
            if abs(matrix[r, i]) > size:
                best, size = r, abs(matrix[r, i])
        if not size > floor:
            return False
        if best != i:
            for j in range(i, n):
                matrix[i, j], matrix[best, j] = matrix[best, j], matrix[i, j]
            right[i], right[best] = right[best], right[i]
        pivot = matrix[i, i + 1 : n]  # slices, whose indices need no check, make the loop vectorise
        inverse = 1.0 / matrix[i, i]
        for r in range(i + 1, n):
            factor = matrix[r, i] * inverse
            if factor != 0.0:
                row = matrix[r, i + 1 : n]
                for j in range(pivot.size):
                    row[j] -= factor * pivot[j]
                right[r] -= factor * right[i]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            right[i] -= matrix[i, j] * right[j]
        right[i] /= matrix[i, i]
    return True


@njit(cache=True)
def _solve(matrix, right, n):
    """Solves the leading n × n system into `right`; False where it is singular (rows of unit size).

    LAPACK tells only of pivots that are exactly zero, so a second right-hand side without structure measures how
    much the inverse enlarges.
    """
    if n <= LAPACK_FROM:
        return _eliminate(matrix, right, n)
    both = np.empty((n, 2))
    both[:, 0] = right[:n]
    for i in range(n):
        both[i, 1] = np.cos(1.0 + i * i)
    regular = True
    try:
        both = np.linalg.solve(matrix[:n, :n].copy(), both)
    except Exception:  # numba knows no narrower one
        regular = False
    if not regular or not np.abs(both[:, 1]).max() < 1e13:
        return False
    right[:n] = both[:, 0]
    return True


@njit(cache=True)
def _multiply(delassus, impulse, out):
    """out = W P (r,), by the rows of the symmetric W whose impulse is not zero."""
    out[:] = 0.0
    for j in range(impulse.size):
        amount, row = impulse[j], delassus[j]
        if amount != 0.0:
            for i in range(out.size):
                out[i] += amount * row[i]


@njit(cache=True)
def diagonal_scaling(p):
    """Slack per unit of a row's own impulse (r,), by which the natural map is scaled.

    The rows of a friction disk share one value, so that the disk stays round.
    """
    diagonal = np.empty(p.rate_free.size)
    for k in range(p.area.size):
        n, end = p.first[k], p.first[k + 1]
        diagonal[n] = p.delassus[n, n] * (p.gap_per_velocity if p.level[k] == GAP_LEVEL else 1.0) + p.compliance[k]
        mean = 0.0
        for t in range(n + 1, end):
            mean += p.delassus[t, t] / (end - n - 1)
        for t in range(n + 1, end):
            diagonal[t] = mean + p.tangential_compliance[k]
    largest = 0.0
    for i in range(diagonal.size):
        largest = max(largest, p.delassus[i, i])
    for k in range(p.area.size):  # rows on which no impulse has an effect
        for i in range(p.first[k], p.first[k + 1]):
            if diagonal[i] <= 0.0:
                at_gap = p.level[k] == GAP_LEVEL and i == p.first[k]
                diagonal[i] = (p.gap_per_velocity if at_gap else 1.0) * largest if largest > 0.0 else 1.0
    return diagonal


@njit(cache=True)
def _natural_residual(p, diagonal, trial, impulse, response):
    """`evaluate_response` with its velocity change W P."""
    _multiply(p.delassus, impulse, response.velocity_change)
    return evaluate_response(p, diagonal, trial, impulse, response)


@njit(cache=True)
def evaluate_response(p, diagonal, trial, impulse, response):
    """Evaluate `response` at the impulses (r,) and its velocity change W P; return the certificate and the size of
    the impulses.

    The certificate is the largest residual of the natural map with the scales `diagonal`, P − project(P − slack /
    diagonal) onto multipliers ≥ 0 and disks of radius μ ⟨P_n⟩₊.
    """
    velocity_change = response.velocity_change
    error, scale, total = 0.0, 1e-300, 0.0
    for k in range(p.area.size):
        n, end = p.first[k], p.first[k + 1]
        gap = p.gap_free[k] + p.gap_per_velocity * velocity_change[n]
        law = response.tractions[k]
        if p.rows[k] < p.rows[k + 1]:
            _tractions(p, k, gap, trial, law)
        else:
            law[:] = 0.0
        regular = p.area[k] * (law[0] + law[2])
        multiplier = impulse[n] - regular
        slack = gap if p.level[k] == GAP_LEVEL else p.rate_free[n] + velocity_change[n]
        slack += p.compliance[k] * multiplier + p.shift[n]
        response.multiplier[k] = multiplier
        response.slack[k] = slack
        allowed = p.level[k] == GAP_LEVEL or (p.level[k] == VELOCITY_LEVEL and p.closed[k])
        scaled_slack = slack / diagonal[n]
        total += scaled_slack + multiplier
        if allowed and multiplier - scaled_slack > 0.0:
            error = max(error, abs(scaled_slack))
            scale = max(scale, abs(p.gap_free[k] if p.level[k] == GAP_LEVEL else p.rate_free[n]) / diagonal[n])
        else:
            error = max(error, abs(multiplier))
        scale = max(scale, abs(impulse[n]), abs(regular))

        radius = p.friction[k] * max(impulse[n], 0.0)
        size = 0.0
        slip = response.slip
        for t in range(n + 1, end):
            slip[t] = p.rate_free[t] + velocity_change[t] + p.tangential_compliance[k] * impulse[t] + p.shift[t]
            size += (impulse[t] - slip[t] / diagonal[t]) ** 2
        size = np.sqrt(size)
        for t in range(n + 1, end):
            projected = impulse[t] - slip[t] / diagonal[t]
            total += projected
            if size > radius:
                projected *= radius / size
            error = max(error, abs(impulse[t] - projected))
            scale = max(scale, abs(impulse[t]))
            if size <= radius:
                scale = max(scale, abs(p.rate_free[t]) / diagonal[t])
    if not np.isfinite(total):  # comparisons with nan are false
        return np.inf, 1.0
    return error, scale


@njit(cache=True)
def update_statuses(p, diagonal, rho, impulse, response, statuses):
    """Statuses (k,) by the natural map with the scales diagonal/ρ, and direction = P_t − ρ w/diagonal (r,).

    The radius of the friction disk is that of the normal impulse of the map.
    """
    status, direction = statuses.status, statuses.direction
    for k in range(p.area.size):
        n, end = p.first[k], p.first[k + 1]
        law = response.tractions[k]
        allowed = p.level[k] == GAP_LEVEL or (p.level[k] == VELOCITY_LEVEL and p.closed[k])
        tentative = response.multiplier[k] - rho * response.slack[k] / diagonal[n]
        active = allowed and tentative > 0.0
        statuses.active[k] = active
        normal = p.area[k] * (law[0] + law[2]) + (tentative if active else 0.0)
        status[k] = SLIP if normal > 0.0 else OPEN
        radius = p.friction[k] * max(normal, 0.0)
        size = 0.0
        for t in range(n + 1, end):
            direction[t] = impulse[t] - rho * response.slip[t] / diagonal[t]
            size += direction[t] ** 2
        if end > n + 1 and radius > 0.0 and np.sqrt(size) <= radius:
            status[k] = STICK


@njit(cache=True)
def linearise(p, diagonal, rho, impulse, response, statuses, system):
    """Equations of the statuses, residual (r,), and their derivatives by the rows of W P and by P, into `system`.

        multiplier: slack = 0 or Λ = 0;   stick: w = 0;   slip: P_t − μ P_n y/‖y‖ = 0;   open: P_t = 0

    with y the `direction` of the statuses (stick at a row on which no impulse has an effect: P_t = 0). The derivative
    of y/‖y‖ carries the factor μ P_n/‖y‖ limited to 1, as for a large slip velocity.
    """
    residual, on_velocity, on_impulse = system.residual, system.on_velocity, system.on_impulse
    status, direction = statuses.status, statuses.direction
    on_velocity[:] = 0.0
    on_impulse[:] = 0.0
    for k in range(p.area.size):
        n, end = p.first[k], p.first[k + 1]
        law = response.tractions[k]
        slope = p.area[k] * (law[1] + law[3]) * p.gap_per_velocity
        if statuses.active[k]:
            residual[n] = response.slack[k]
            on_velocity[k, 0, 0] = (p.gap_per_velocity if p.level[k] == GAP_LEVEL else 1.0) - p.compliance[k] * slope
            on_impulse[k, 0, 0] = p.compliance[k]
        else:
            residual[n] = response.multiplier[k]
            on_velocity[k, 0, 0] = -slope
            on_impulse[k, 0, 0] = 1.0
        if end == n + 1:
            continue
        size = 0.0
        for t in range(n + 1, end):
            size += direction[t] ** 2
        size = np.sqrt(size)
        radius = p.friction[k] * impulse[n]
        for t in range(n + 1, end):
            a = t - n
            if status[k] == STICK and p.delassus[t, t] + p.tangential_compliance[k] == 0.0:
                # a constraint fixes this row: friction on it has no effect
                residual[t] = impulse[t]
                on_impulse[k, a, a] = 1.0
                continue
            if status[k] == STICK:
                residual[t] = response.slip[t]
                on_velocity[k, a, a] = 1.0
                on_impulse[k, a, a] = p.tangential_compliance[k]
                continue
            residual[t] = impulse[t]
            on_impulse[k, a, a] = 1.0
            if status[k] == OPEN or p.friction[k] == 0.0 or size == 0.0:
                continue
            along = direction[t] / size
            residual[t] -= radius * along
            on_impulse[k, a, 0] = -p.friction[k] * along
            limited = min(max(radius, 0.0) / size, 1.0)
            for s in range(n + 1, end):
                b = s - n
                if end - n > 2:
                    across = limited * ((1.0 if a == b else 0.0) - along * direction[s] / size)
                    on_velocity[k, a, b] = across * rho / diagonal[s]
                    on_impulse[k, a, b] -= across * (1.0 - rho * p.tangential_compliance[k] / diagonal[s])


@njit(cache=True)
def _blocks(p, system, unknown, point, root, unit):
    """Inverses (k, 3, 3) of the diagonal blocks of the points in the scaled system of `_newton_increment`; where one is
    singular, the identity."""
    out, block, right = np.zeros((p.area.size, 3, 3)), np.empty((3, 3)), np.empty(3)
    first = 0
    while first < unknown.size:
        k, last = point[first], first
        while last < unknown.size and point[last] == k:
            last += 1
        n, size = p.first[k], last - first
        for column in range(size):
            for r in range(size):
                i = unknown[first + r]
                a = i - n
                for c in range(size):
                    j = unknown[first + c]
                    value = system.on_impulse[k, a, j - n]
                    for b in range(p.first[k + 1] - n):
                        value += system.on_velocity[k, a, b] * p.delassus[n + b, j]
                    block[r, c] = value * root[first + c] * unit[first + r]
                right[r] = 1.0 if r == column else 0.0
            regular = _eliminate(block, right, size)
            for r in range(size):
                out[k, r, column] = right[r] if regular else (1.0 if r == column else 0.0)
        first = last
    return out


@njit(cache=True)
def _round(delassus, rounded):
    """The lower triangle of W/size in single precision, into rounded (r, r); returns size, the largest W_ii."""
    size = 0.0
    for i in range(delassus.shape[0]):
        size = max(size, delassus[i, i])
    for i in range(delassus.shape[0]):
        source, row = delassus[i], rounded[i]
        for j in range(i + 1):
            row[j] = source[j] / size
    return size


@njit(cache=True, fastmath={"contract", "reassoc"})
def _multiply_rounded(rounded, x, out):
    """out (r,) = W x in single precision, by the lower triangle: half the memory is read."""
    out[:] = 0.0
    for i in range(x.size):
        row, own, total = rounded[i], x[i], np.float32(0.0)
        for j in range(i):
            total += row[j] * x[j]
            out[j] += row[j] * own
        out[i] += total + row[i] * own


@njit(cache=True)
def _apply_rows(p, system, unknown, point, root, unit, blocks, x, rounded, size, full, moved, out):
    """out (n,): the preconditioned scaled system of `_newton_increment` times x (n,), W in single precision.

    full, moved (r,) are room.
    """
    full[:] = 0.0
    for j in range(unknown.size):
        full[unknown[j]] = root[j] * size * x[j]
    _multiply_rounded(rounded, full, moved)
    rows = np.empty(3)
    first = 0
    while first < unknown.size:
        k, last = point[first], first
        while last < unknown.size and point[last] == k:
            last += 1
        n = p.first[k]
        for j in range(first, last):
            a = unknown[j] - n
            value = 0.0
            for b in range(p.first[k + 1] - n):
                value += system.on_velocity[k, a, b] * moved[n + b] + system.on_impulse[k, a, b] * full[n + b] / size
            rows[j - first] = value * unit[j]
        for r in range(last - first):
            value = 0.0
            for c in range(last - first):
                value += blocks[k, r, c] * rows[c]
            out[first + r] = value
        first = last


@njit(cache=True)
def _solve_iteratively(p, system, unknown, point, root, unit, krylov, right):
    """Solves the scaled system of `_newton_increment` into `right` (n,) by GMRES; False where `KRYLOV` iterations do
    not suffice for the tolerance.

    krylov: W in single precision, its size (see `_round`) and the tolerance, relative to the right-hand side. Newton's
    next residual is of double precision: rounding W costs it digits of one increment, not of the solution. An iteration
    is a product with W; preconditioned by the blocks of the points. Source: Saad & Schultz, SIAM J. Sci.
    Stat. Comput. 7 (1986) 856–869.
    """
    n, most = unknown.size, KRYLOV
    blocks = _blocks(p, system, unknown, point, root, unit)
    rounded, weight, tolerance = krylov
    full = np.empty(p.delassus.shape[0], dtype=np.float32)
    moved = np.empty_like(full)
    basis, upper = np.empty((most + 1, n)), np.zeros((most, most))
    cosines, sines, target = np.empty(most), np.empty(most), np.zeros(most + 1)
    first = 0
    while first < n:  # the right-hand side, preconditioned
        k, last = point[first], first
        while last < n and point[last] == k:
            last += 1
        for r in range(last - first):
            value = 0.0
            for c in range(last - first):
                value += blocks[k, r, c] * right[first + c]
            basis[0, first + r] = value
        first = last
    size = np.sqrt(np.dot(basis[0], basis[0]))
    if size == 0.0:
        right[:n] = 0.0
        return True
    basis[0] /= size
    target[0] = size
    used = 0
    converged = False
    for step in range(most):
        new = basis[step + 1]
        _apply_rows(p, system, unknown, point, root, unit, blocks, basis[step], rounded, weight, full, moved, new)
        for _ in range(2):  # orthogonalised twice
            for i in range(step + 1):
                share = np.dot(basis[i], new)
                upper[i, step] += share
                for j in range(n):
                    new[j] -= share * basis[i, j]
        length = np.sqrt(np.dot(new, new))
        for i in range(step):
            above, below = upper[i, step], upper[i + 1, step]
            upper[i, step] = cosines[i] * above + sines[i] * below
            upper[i + 1, step] = cosines[i] * below - sines[i] * above
        above = upper[step, step]
        both = np.hypot(above, length)
        if not both > 0.0:
            break
        cosines[step], sines[step] = above / both, length / both
        upper[step, step] = both
        target[step + 1] = -sines[step] * target[step]
        target[step] *= cosines[step]
        used = step + 1
        converged = abs(target[used]) <= tolerance * size
        if converged or not length > 0.0:
            break
        new /= length
    if not converged:
        return False
    for i in range(used - 1, -1, -1):
        for j in range(i + 1, used):
            target[i] -= upper[i, j] * target[j]
        target[i] /= upper[i, i]
    right[:n] = 0.0
    for i in range(used):
        for j in range(n):
            right[j] += target[i] * basis[i, j]
    return True


@njit(cache=True)
def _newton_increment(p, system, increment, matrix, krylov, verified, mass):
    """Newton increment (r,) of the impulses; False where the system is singular.

    Equations of a single impulse are eliminated. The others are solved for increments scaled by √W_jj, with rows
    scaled to unit size; `mass` is added to the diagonal of those that depend on a velocity. Systems of more than
    `KRYLOV_FROM` unknowns are solved iteratively first, see `_solve_iteratively`; verified: whether these are shown to
    be regular, by a right-hand side without structure.
    """
    residual, on_velocity, on_impulse = system.residual, system.on_velocity, system.on_impulse
    count = residual.size
    unknown = np.empty(count, dtype=np.int64)
    point = np.empty(count, dtype=np.int64)
    unknowns = 0
    any_known = False
    for k in range(p.area.size):
        n, end = p.first[k], p.first[k + 1]
        for i in range(n, end):
            a = i - n
            decoupled = True
            for b in range(end - n):
                decoupled = decoupled and on_velocity[k, a, b] == 0.0 and (a == b or on_impulse[k, a, b] == 0.0)
            increment[i] = 0.0
            if decoupled:
                increment[i] = -residual[i] / on_impulse[k, a, a]
                any_known = any_known or increment[i] != 0.0
            else:
                unknown[unknowns] = i
                point[unknowns] = k
                unknowns += 1
    velocity_change = np.zeros(count)
    if any_known:
        _multiply(p.delassus, increment, velocity_change)
    root = np.empty(unknowns)
    for j in range(unknowns):
        diagonal = p.delassus[unknown[j], unknown[j]]
        root[j] = 1.0 / np.sqrt(diagonal) if diagonal > 0.0 else 1.0
    right, unit = np.empty(unknowns), np.empty(unknowns)
    depends = np.zeros(unknowns, dtype=np.bool_)
    for row in range(unknowns):
        i, k = unknown[row], point[row]
        n, end = p.first[k], p.first[k + 1]
        a = i - n
        bound = 0.0  # of the entries of the row, as |W_ij| ≤ √W_ii √W_jj
        right[row] = -residual[i]
        for b in range(end - n):
            bound += (
                abs(on_velocity[k, a, b]) * np.sqrt(p.delassus[n + b, n + b]) + abs(on_impulse[k, a, b]) * root[row]
            )
            right[row] -= on_velocity[k, a, b] * velocity_change[n + b] + on_impulse[k, a, b] * increment[n + b]
            depends[row] = depends[row] or on_velocity[k, a, b] != 0.0
        unit[row] = 1.0 / bound if bound > 0.0 else 1.0
        right[row] *= unit[row]
    if unknowns > KRYLOV_FROM and mass == 0.0:
        found = right.copy()
        solved = _solve_iteratively(p, system, unknown[:unknowns], point[:unknowns], root, unit, krylov, found)
        if solved and verified:  # a singular system has solutions for some right-hand sides only
            other = np.empty(unknowns)
            for j in range(unknowns):
                other[j] = np.cos(1.0 + j * j)
            weak = krylov[0], krylov[1], KRYLOV_VERIFIED
            solved = _solve_iteratively(p, system, unknown[:unknowns], point[:unknowns], root, unit, weak, other)
        if solved:
            for j in range(unknowns):
                increment[unknown[j]] = found[j] * root[j]
            return True
    for row in range(unknowns):
        i, k = unknown[row], point[row]
        n, end = p.first[k], p.first[k + 1]
        a = i - n
        line = matrix[row, :unknowns]
        line[:] = 0.0
        for b in range(end - n):
            factor = on_velocity[k, a, b]
            if factor == 0.0:
                continue
            factor *= unit[row]
            source = p.delassus[n + b]
            if unknowns == count:
                for j in range(line.size):
                    line[j] += factor * source[j] * root[j]
            else:
                for j in range(line.size):
                    line[j] += factor * source[unknown[j]] * root[j]
        for j in range(max(row - 2, 0), min(row + 3, unknowns)):
            if point[j] == k:
                line[j] += on_impulse[k, a, unknown[j] - n] * root[j] * unit[row]
        if depends[row]:
            line[row] += mass
    if not _solve(matrix, right, unknowns):
        return False
    for j in range(unknowns):
        increment[unknown[j]] = right[j] * root[j]
    return True


@njit(cache=True)
def _newton(p, diagonal, rho, impulse, trial, max_iterations):
    """Semismooth Newton on all statuses at once, with the scales diagonal/ρ, from and to `impulse` (the best iterate).

    Without friction, statuses that cycle change one at a time: with a positive definite operator, changing only the
    last wrong one never cycles (least-index rule; Murty, Linear Complementarity, Linear and Nonlinear Programming,
    1988, §4.3). With friction the method stops after MAX_STALLED steps that do not halve the error. Where the system
    is singular the step is computed with a proximal term of 1e-3. Returns steps, certificate, whether the last system
    was singular.
    """
    points, count = p.area.size, impulse.size
    response = allocate_response(points, count)
    increment = np.empty(count)
    active, status = np.zeros(points, dtype=np.bool_), np.zeros(points, dtype=np.int8)
    proposed = Statuses(np.zeros(points, dtype=np.bool_), status, np.empty(count))
    statuses = Statuses(active, status, proposed.direction)
    system = LinearSystem(np.empty(count), np.empty((points, 3, 3)), np.empty((points, 3, 3)))
    matrix = np.empty((count, count))
    many = count > KRYLOV_FROM
    rounded = np.empty((count, count) if many else (0, 0), dtype=np.float32)
    size = _round(p.delassus, rounded) if many else 1.0
    best = np.inf
    best_impulse = impulse.copy()
    stalled, used = 0, 0
    one_by_one, singular, unverified = False, False, True
    for iteration in range(max_iterations + 1):
        check_interrupts()
        used = iteration
        error, scale = _natural_residual(p, diagonal, trial, impulse, response)
        error /= scale
        if error < best:
            stalled = stalled + 1 if error > 0.5 * best else 0
            best = error
            _copy(impulse, best_impulse)
        else:
            stalled += 1
        if best <= 3e-15 or (best <= 1e-13 and stalled >= 1) or iteration == max_iterations or not error < np.inf:
            break
        if stalled >= 4 and best <= CONVERGED:
            break
        if stalled >= MAX_STALLED and count > points:
            break
        update_statuses(p, diagonal, rho, impulse, response, proposed)
        one_by_one = one_by_one or (stalled >= 8 and count == points)
        if not one_by_one:
            _copy(proposed.active, active)
        else:
            violation = 0.0
            for k in range(points):
                own = abs(response.slack[k] / diagonal[k]) if active[k] else abs(response.multiplier[k])
                violation = max(violation, own)
            if violation <= 1e-12 * scale:  # otherwise Newton first converges with the present statuses
                for k in range(points - 1, -1, -1):
                    if active[k] != proposed.active[k]:
                        active[k] = proposed.active[k]
                        break
        linearise(p, diagonal, rho, impulse, response, statuses, system)
        krylov = rounded, size, min(max(KRYLOV_SHARE * error, KRYLOV_LEAST), KRYLOV_MOST)
        verified = unverified and error <= KRYLOV_VERIFIED
        singular = not _newton_increment(p, system, increment, matrix, krylov, verified, 0.0)
        unverified = unverified and (singular or not verified)
        if singular and not _newton_increment(p, system, increment, matrix, krylov, False, 1e-3):
            break
        for i in range(count):
            impulse[i] += increment[i]
    _copy(best_impulse, impulse)
    return used, best, singular


@njit(cache=True)
def _minimise_on_disk(block, linear, size, radius, out):
    """Minimum of ½ x·A x + b·x on ‖x‖ ≤ radius, A = block[1:size, 1:size], b = linear[1:size] into out[1:size]."""
    if size == 2:
        x = -linear[1] / block[1, 1] if block[1, 1] > 0.0 else -np.sign(linear[1]) * radius
        out[1] = min(max(x, -radius), radius)
        return
    a, b, c = block[1, 1], block[1, 2], block[2, 2]
    # eigenvectors (cos, sin), (−sin, cos)
    half, mean = np.hypot(0.5 * (a - c), b), 0.5 * (a + c)
    angle = 0.5 * np.arctan2(2.0 * b, a - c)
    cosine, sine = np.cos(angle), np.sin(angle)
    large, small = mean + half, max(mean - half, 0.0)
    first, second = cosine * linear[1] + sine * linear[2], cosine * linear[2] - sine * linear[1]
    force = np.hypot(first, second)
    if force == 0.0 or radius == 0.0:
        out[1] = out[2] = 0.0
        return
    shift = 0.0
    if small == 0.0 or np.hypot(first / large, second / small) > radius:
        # ‖(A + shift)⁻¹ b‖ = radius: Newton on 1/radius − 1/‖x‖, concave, from its lower bound
        shift = max(force / radius - large, 1e-16 * large)
        for _ in range(60):
            x, y = first / (large + shift), second / (small + shift)
            square = x * x + y * y
            slope = x * x / (large + shift) + y * y / (small + shift)
            change = (np.sqrt(square) / radius - 1.0) * square / slope
            shift += change
            if abs(change) <= 1e-16 * (shift + large):
                break
    x, y = first / (large + shift), second / (small + shift)
    if shift > 0.0:  # on the circle, to the last digit
        length = radius / np.hypot(x, y)
        x, y = x * length, y * length
    out[1], out[2] = sine * y - cosine * x, -sine * x - cosine * y


@njit(cache=True)
def _normal_residual(p, k, block, velocity_change, normal, radius, out, trial, law, linear):
    """Residual of the normal law of one point at a normal impulse, its friction solved for; `out` (3,): the impulses.

    radius < 0: friction disk of that normal impulse, otherwise of the given radius.
    """
    size = p.first[k + 1] - p.first[k]
    n = p.first[k]
    out[0] = normal
    moved = velocity_change[0] + block[0, 0] * normal
    if size > 1:
        for a in range(1, size):
            linear[a] = p.rate_free[n + a] + p.shift[n + a] + velocity_change[a] + block[a, 0] * normal
        _minimise_on_disk(block, linear, size, p.friction[k] * normal if radius < 0.0 else radius, out)
        for a in range(1, size):
            moved += block[0, a] * out[a]
    gap = p.gap_free[k] + p.gap_per_velocity * moved
    if p.rows[k] < p.rows[k + 1]:
        _tractions(p, k, gap, trial, law)
    else:
        law[:] = 0.0
    multiplier = normal - p.area[k] * (law[0] + law[2])
    if not (p.level[k] == GAP_LEVEL or (p.level[k] == VELOCITY_LEVEL and p.closed[k])):
        return multiplier
    slack = gap if p.level[k] == GAP_LEVEL else p.rate_free[n] + moved
    slack += p.compliance[k] * multiplier + p.shift[n]
    own = max(block[0, 0] * (p.gap_per_velocity if p.level[k] == GAP_LEVEL else 1.0) + p.compliance[k], 1e-300)
    return multiplier - max(multiplier - slack / own, 0.0)


@njit(cache=True)
def _solve_point(p, k, block, velocity_change, radius, impulse, trial):
    """Exact solution at one point whose rows have the velocity change `velocity_change` + block P.

    `impulse` (3,) holds the guess and receives the solution; radius as in `_normal_residual`. The residual is ≤ 0 at
    P_n = 0 and positive for large P_n, as the block's Schur complement is: bracketed false position with halved
    weights (Illinois method).
    """
    law, linear = np.empty(4), np.empty(3)
    start = impulse[0]
    below = _normal_residual(p, k, block, velocity_change, 0.0, radius, impulse, trial, law, linear)
    if below >= 0.0:
        return
    low, high = 0.0, max(start, -below)
    above = _normal_residual(p, k, block, velocity_change, high, radius, impulse, trial, law, linear)
    for _ in range(200):
        if above >= 0.0 or not high < 1e300:  # it stays negative where impulses have no effect
            break
        low, below = high, above
        high *= 4.0
        above = _normal_residual(p, k, block, velocity_change, high, radius, impulse, trial, law, linear)
    side = 0
    for i in range(200):
        if not above > 0.0 or high - low <= 2e-16 * high:
            break
        middle = high - above * (high - low) / (above - below)
        if i % 8 == 7 or not (low < middle < high):
            middle = 0.5 * (low + high)
            if middle in (low, high):
                break
        value = _normal_residual(p, k, block, velocity_change, middle, radius, impulse, trial, law, linear)
        if value >= 0.0:
            high, above = middle, value
            if side == 1:
                below *= 0.5
            side = 1
        else:
            low, below = middle, value
            if side == -1:
                above *= 0.5
            side = -1
    _normal_residual(p, k, block, velocity_change, high, radius, impulse, trial, law, linear)


@njit(cache=True)
def _gauss_seidel(p, diagonal, impulse, trial, max_iterations):
    """Nonlinear Gauss–Seidel: exact solution point by point, in sweeps. Returns sweeps and certificate.

    Source: Jean, Comput. Methods Appl. Mech. Eng. 177 (1999) 235–257.
    """
    points, count = p.area.size, impulse.size
    response = allocate_response(points, count)
    velocity_change = response.velocity_change
    block, other, local = np.zeros((3, 3)), np.empty(3), np.empty(3)
    best = np.inf
    best_impulse = impulse.copy()
    used = 0
    for sweep in range(max_iterations + 1):
        check_interrupts()
        used = sweep
        error, scale = _natural_residual(p, diagonal, trial, impulse, response)
        error /= scale
        if error < best:
            best = error
            best_impulse[:] = impulse
        if best <= 1e-13 or sweep == max_iterations or not error < np.inf:
            break
        for k in range(points):
            n, end = p.first[k], p.first[k + 1]
            for a in range(end - n):
                local[a] = impulse[n + a]
                other[a] = velocity_change[n + a]
                for b in range(end - n):
                    block[a, b] = p.delassus[n + a, n + b]
                    other[a] -= block[a, b] * impulse[n + b]
            _solve_point(p, k, block, other, -1.0, local, trial)
            for a in range(end - n):
                change = local[a] - impulse[n + a]
                if change != 0.0:
                    impulse[n + a] = local[a]
                    for i in range(count):
                        velocity_change[i] += change * p.delassus[n + a, i]
    impulse[:] = best_impulse
    return used, best


@njit(cache=True)
def _projected_gradient(p, diagonal, impulse, trial, max_iterations):
    """Fixed point on the friction threshold; each problem with a given one by accelerated projected gradient.

    With given thresholds the problem is convex. The metric is L W_kk, L the largest row sum of |W_ij|/√(W_ii W_jj);
    the momentum restarts where it points uphill. Returns gradient steps and certificate.

    Source: Nesterov, Soviet Math. Doklady 27 (1983) 372–376; O'Donoghue & Candès, Found. Comput. Math. 15 (2015)
    715–732.
    """
    points, count = p.area.size, impulse.size
    response = allocate_response(points, count)
    velocity_change = response.velocity_change
    following = np.empty(count)
    local, other = np.empty(3), np.empty(3)
    metric = np.empty(count)
    for k in range(points):
        n, end = p.first[k], p.first[k + 1]
        metric[n] = max(p.delassus[n, n], 1e-300)
        for t in range(n + 1, end):
            metric[t] = max(diagonal[t] - p.tangential_compliance[k], 1e-300)
    largest = 1.0
    for i in range(count):
        total = 0.0
        for j in range(count):
            total += abs(p.delassus[i, j]) / np.sqrt(metric[i] * metric[j])
        largest = max(largest, total)
    metric *= largest
    best, best_impulse = np.inf, impulse.copy()
    radius = np.zeros(points)
    used = 0
    while True:
        error, scale = _natural_residual(p, diagonal, trial, impulse, response)
        error /= scale
        if error < best:
            best = error
            best_impulse[:] = impulse
        if best <= 1e-13 or used >= max_iterations or not error < np.inf:
            break
        for k in range(points):
            radius[k] = p.friction[k] * max(impulse[p.first[k]], 0.0)
        ahead = impulse.copy()
        weight = 1.0
        for _ in range(1000):
            check_interrupts()
            used += 1
            _multiply(p.delassus, ahead, velocity_change)
            uphill, change, size = 0.0, 0.0, 1e-300
            for k in range(points):
                n, end = p.first[k], p.first[k + 1]
                block = np.zeros((3, 3))
                for a in range(end - n):
                    block[a, a] = metric[n + a]
                    other[a] = velocity_change[n + a] - metric[n + a] * ahead[n + a]
                    local[a] = ahead[n + a]
                _solve_point(p, k, block, other, radius[k], local, trial)
                for a in range(end - n):
                    i = n + a
                    uphill += metric[i] * (ahead[i] - local[a]) * (local[a] - impulse[i])
                    change = max(change, abs(local[a] - ahead[i]))
                    size = max(size, abs(local[a]))
                    following[i] = local[a]
            next_weight = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * weight * weight))
            momentum = (weight - 1.0) / next_weight
            weight = next_weight
            if uphill > 0.0:
                momentum, weight = 0.0, 1.0
            for i in range(count):
                ahead[i] = following[i] + momentum * (following[i] - impulse[i])
                impulse[i] = following[i]
            if change * largest <= max(0.02 * best, 1e-15) * size or used >= max_iterations:
                break
    impulse[:] = best_impulse
    return used, best


@njit(cache=True)
def _newton_from_gauss_seidel(p, diagonal, rho, impulse, trial, max_iterations):
    """Newton; with friction, where it does not converge, again from the result of 20 and 100 Gauss–Seidel sweeps.

    Returns steps, certificate, singular.
    """
    used, best, singular = _newton(p, diagonal, rho, impulse, trial, max_iterations)
    if impulse.size == p.area.size or best <= CONVERGED or not best < np.inf:
        return used, best, singular
    start = impulse.copy()
    for sweeps in (20, 100):
        if best <= CONVERGED or used >= max_iterations:
            break
        steps, _ = _gauss_seidel(p, diagonal, start, trial, min(max_iterations - used, sweeps))
        candidate = start.copy()
        more, error, degenerate = _newton(p, diagonal, rho, candidate, trial, max_iterations)
        used += steps + more
        if error < best:
            best, singular = error, degenerate
            impulse[:] = candidate
    return used, best, singular


@njit(cache=True)
def _proximal_point(p, diagonal, rho, impulse, trial, max_iterations, mass):
    """Proximal point algorithm (method of multipliers): slack + ε W_kk (Λ − Λ_last) = 0, friction likewise, until
    Λ converges; ε ≤ `mass`, reduced where the certificate falls by less than a factor of ten in an iteration.

    The problems of the iteration are regular where W is singular. Source: Rockafellar, Math. Oper. Res. 1 (1976)
    97–116.
    """
    points, count = p.area.size, impulse.size
    response = allocate_response(points, count)
    compliance, tangential_compliance, shift = np.empty(points), np.empty(points), np.empty(count)
    best, best_impulse, last = np.inf, impulse.copy(), np.inf
    used, stalled = 0, 0
    singular = False
    while True:
        error, scale = _natural_residual(p, diagonal, trial, impulse, response)
        error /= scale
        stalled = 0 if error < 0.5 * best else stalled + 1
        if error < best:
            best = error
            best_impulse[:] = impulse
        converged = best <= 1e-13 or (stalled >= 4 and mass <= MIN_PROXIMAL_TERM) or stalled >= 20
        if converged or used >= max_iterations or not error < np.inf:
            break
        if error > 0.1 * last:
            mass = max(0.1 * mass, MIN_PROXIMAL_TERM)
        last = error
        for k in range(points):
            n, end = p.first[k], p.first[k + 1]
            base = diagonal[n] - p.compliance[k]
            compliance[k] = p.compliance[k] + mass * base
            shift[n] = p.shift[n] - mass * base * max(response.multiplier[k], 0.0)
            tangential_compliance[k] = p.tangential_compliance[k]
            if end > n + 1:
                base = diagonal[n + 1] - p.tangential_compliance[k]
                tangential_compliance[k] += mass * base
            for t in range(n + 1, end):
                shift[t] = p.shift[t] - mass * base * impulse[t]
        regularised = ContactProblem(
            p.delassus, p.gap_per_velocity, p.gap_free, p.rate_free, p.closed, p.first, p.area, p.level, compliance,
            p.friction, tangential_compliance, shift, p.kernels, p.rows, p.kind, p.coefficients, p.history, p.step,
            p.theta,
        )  # fmt: skip
        steps, _, singular = _newton_from_gauss_seidel(
            regularised, diagonal_scaling(regularised), rho, impulse, trial, max_iterations - used
        )
        used += max(steps, 1)
    impulse[:] = best_impulse
    return used, best, singular


@njit(cache=True)
def _newton_with_fallbacks(p, diagonal, rho, impulse, trial, max_iterations):
    """Newton with Gauss–Seidel starts; where it fails, fallbacks in turn with growing budgets until one converges.

    The fallbacks: proximal point algorithm, Gauss–Seidel, projected gradient, and Newton from another start. For large
    coefficients of friction no method is known that always converges (a solution exists but need not be unique); the
    fallbacks cycle on different problems.
    """
    used, best, singular = _newton_from_gauss_seidel(p, diagonal, rho, impulse, trial, min(max_iterations, 500))
    if best <= CONVERGED or impulse.size == p.area.size or not best < np.inf:
        return used, best, singular
    swept, projected, other = impulse.copy(), impulse.copy(), impulse.copy()
    budget = 100
    attempt = 0
    while best > CONVERGED and used < max_iterations:
        left = max_iterations - used
        if attempt % 4 == 0:
            start = other.copy()
            steps, error, degenerate = _proximal_point(p, diagonal, rho, start, trial, min(left, budget), 1.0)
        elif attempt % 4 == 1:
            steps, _ = _gauss_seidel(p, diagonal, swept, trial, min(left, 3 * budget))
            start = swept.copy()
        elif attempt % 4 == 2:
            steps, _ = _projected_gradient(p, diagonal, projected, trial, min(left, 3 * budget))
            start = projected.copy()
        else:
            size = np.abs(impulse).max()
            for i in range(other.size):
                other[i] = size * np.cos(1.0 + i * i + 0.7 * attempt)
            start = other.copy()
            steps = 0
            budget *= 2
        if attempt % 4 != 0:
            more, error, degenerate = _newton(p, diagonal, rho, start, trial, min(left, 50))
            steps += more
        used += max(steps, 1)
        if error < best:
            best, singular = error, degenerate
            impulse[:] = start
        attempt += 1
    return used, best, singular


@njit(cache=True)
def project(p, diagonal, impulse, response, statuses):
    """Project the impulses of `response` onto the laws: inactive multipliers vanish, friction lies in its disk."""
    update_statuses(p, diagonal, 1.0, impulse, response, statuses)
    for k in range(p.area.size):
        n, end = p.first[k], p.first[k + 1]
        law = response.tractions[k]
        regular = p.area[k] * (law[0] + law[2])
        if statuses.active[k]:
            impulse[n] = max(impulse[n], regular)
        elif regular == 0.0:  # otherwise a stiff law would amplify the round-off of the new gap
            impulse[n] = 0.0
        radius = p.friction[k] * impulse[n]
        size = 0.0
        for t in range(n + 1, end):
            size += impulse[t] ** 2
        size = np.sqrt(size)
        if size > radius or (statuses.status[k] == SLIP and size > 0.0):
            for t in range(n + 1, end):
                impulse[t] *= radius / size


@njit(cache=True)
def split_normal(p, impulse, response, statuses, normal):
    """The stored, dissipated and multiplier parts of the normal impulses into normal (3, k)."""
    for k in range(p.area.size):
        normal[0, k] = p.area[k] * response.tractions[k, 0]
        normal[1, k] = p.area[k] * response.tractions[k, 2]
        if not statuses.active[k]:
            normal[0, k] = impulse[p.first[k]] - normal[1, k]
        normal[2, k] = impulse[p.first[k]] - (normal[0, k] + normal[1, k])


@njit(cache=True)
def _solve_and_project(p, options, solution):
    """Solves the problem from the guess in `solution`, projects onto the laws and splits the normal impulses.

    Returns iterations, certificate, singular.
    """
    method, rho, mass, max_iterations = options
    impulse, trial, normal, status = solution
    diagonal = diagonal_scaling(p)
    points, count = p.area.size, impulse.size
    max_iterations = min(max_iterations, max(MIN_BUDGET, int(3.0 * MAX_OPERATIONS / float(count) ** 3)))
    singular = False
    if method == GAUSS_SEIDEL:
        used, _ = _gauss_seidel(p, diagonal, impulse, trial, max_iterations)
    elif method == PROJECTED_GRADIENT:
        used, _ = _projected_gradient(p, diagonal, impulse, trial, max_iterations)
    elif mass > 0.0:
        used, _, singular = _proximal_point(p, diagonal, rho, impulse, trial, max_iterations, mass)
    else:
        used, _, singular = _newton_with_fallbacks(p, diagonal, rho, impulse, trial, max_iterations)

    response = allocate_response(points, count)
    statuses = Statuses(np.empty(points, dtype=np.bool_), status, np.empty(count))
    _natural_residual(p, diagonal, trial, impulse, response)
    project(p, diagonal, impulse, response, statuses)
    error, scale = _natural_residual(p, diagonal, trial, impulse, response)
    split_normal(p, impulse, response, statuses, normal)
    return used, error / scale, singular


@njit(cache=True)
def close_on_mean_slip(p, start, mean, impulse, velocity_change):
    """Close friction on the mean slip rate of the step where its work would be positive, P_t·(v_t⁰ + v_t¹) > 0.

    start, mean (r,): second and third row of `closing`; velocity_change (r,) = W P. Returns whether any point changed.
    """
    found = False
    for k in range(p.area.size):
        work, size, other = 0.0, 0.0, False
        for t in range(p.first[k] + 1, p.first[k + 1]):
            end = p.rate_free[t] + velocity_change[t]
            work += impulse[t] * (start[t] + end)
            size += abs(impulse[t]) * (abs(start[t]) + abs(end))
            other = other or p.shift[t] != mean[t]
        if other and work > 1e-14 * size:
            for t in range(p.first[k] + 1, p.first[k + 1]):
                p.shift[t] = mean[t]
            found = True
    return found


@njit(cache=True)
def onset_closing(first, level, start, closing):
    """`closing` (3, r) of points on fixed normals by the rates v₀ at the start (r,); see
    `arlequin.multilevel.solvers.closing`."""
    closing[:] = 0.0
    closing[1] = start
    for k in range(level.size):
        n = first[k]
        if level[k] == VELOCITY_LEVEL:
            closing[0, n] = max(start[n], 0.0)


@njit(types.Tuple((int64, float64, boolean))(*ARGUMENTS), cache=True)
def solve_contact(motion, laws, kernels, history, closing, options, solution):
    """Solve the contact problem of a step; return iterations, certificate and whether the last system was singular.

    motion: `FreeMotion`; laws: `LawTable`; kernels: those of the regular laws; history (l, h) at the start of the
    step; options: `Options`; solution: `Solution`, whose impulses hold the guess. closing (3, r), see
    `arlequin.multilevel.solvers.closing`: what is added to the rates, the rates at the start, and what is added to the
    rates of friction where its work would be positive.

    The arguments are plain tuples in the order of the fields: Numba identifies a plain tuple of arrays in 0.2 µs, a
    named one, or one with a list of kernels, in 0.1 ms.
    """
    m, t = FreeMotion(*borrow(motion)), LawTable(*borrow(laws))
    history, closing, solution = borrow(history), borrow(closing), borrow(solution)
    area = m.impulse_factor * t.area
    p = ContactProblem(
        m.delassus, m.gap_per_velocity, m.gap_free, m.rate_free, m.closed, t.first, area, t.level,
        t.compliance / area, t.friction, t.tangential_compliance / area, closing[0].copy(), kernels, t.rows, t.kind,
        t.coefficients, history, m.step, m.theta,
    )  # fmt: skip
    impulse = solution[0]
    used, error, singular = _solve_and_project(p, options, solution)
    if impulse.size > area.size:
        velocity_change = np.empty(impulse.size)
        for _ in range(area.size):  # each pass closes more points on the mean
            if singular or not error < np.inf:
                break
            _multiply(m.delassus, impulse, velocity_change)
            if not close_on_mean_slip(p, closing[1], closing[2], impulse, velocity_change):
                break
            more, error, singular = _solve_and_project(p, options, solution)
            used += more
    return used, error, singular


@njit(cache=True, nogil=True)
def solve_members(members, motion, laws, kernels, history, start, options, solution, report):
    """`solve_contact` for the members (s,) of an ensemble on fixed normals, one after another.

    gap_free, rate_free and closed of `motion`, history, and the fields of `solution` have the member (n,) as first
    axis; start (n, r): rates at the start. report: iterations, certificate and singular, (n,) each.
    """
    m = FreeMotion(*motion)
    impulse, trial, normal, status = solution
    iterations, residual, singular = report
    closing = np.empty((3, impulse.shape[1]))
    for i in members:
        onset_closing(laws[0], laws[2], start[i], closing)
        own = (
            m.delassus, m.gap_per_velocity, m.gap_free[i], m.rate_free[i], m.closed[i], m.step, m.theta,
            m.impulse_factor,
        )  # fmt: skip
        iterations[i], residual[i], singular[i] = solve_contact(
            own, laws, kernels, history[i], closing, options, (impulse[i], trial[i], normal[i], status[i])
        )
