"""Numba kernels: the tractions of the regular laws and the solvers of contact with friction.

Only what Python calls declares its types: the others are part of it, and would each be loaded by itself.

The contact problem of one step as the kernels read it.

The contact problems of many members side by side.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import boolean, float64, int64, types

from arlequin.models.kernel_cache import njit
from arlequin.multilevel._interrupts import hear
from arlequin.multilevel.laws._signature import REGULAR_KERNEL

OPEN, SLIP, STICK = 0, 1, 2


class Problem(NamedTuple):
    """See `arlequin.multilevel.solvers.contact.solve_contact`: k points, r rows; the rows of point k start at first[k],
    the normal one.

    area (k,) × impulse factor; compliance (k,) and soft (k,): of the normal multiplier and of friction, over that
    area; shift (r,): added to the slack of the multiplier and to the slip rate (which rate closes, see
    `arlequin.multilevel.solvers.closing`; with a compliance, a proximal term); the regular laws of point k are the rows
    rows[k] … rows[k+1] of kind, coefficients and history.
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
    soft: Any
    shift: Any
    kernels: Any
    rows: Any
    kind: Any
    coefficients: Any
    history: Any
    step: Any
    theta: Any


_VECTOR, _INDEX, _TABLE = float64[::1], int64[::1], float64[:, ::1]
PROBLEM = types.NamedTuple(
    (
        _TABLE, float64, _VECTOR, _VECTOR, boolean[::1], _INDEX, _VECTOR, _INDEX, _VECTOR, _VECTOR, _VECTOR, _VECTOR,
        types.ListType(REGULAR_KERNEL), _INDEX, _INDEX, _TABLE, _TABLE, float64, float64,
    ),
    Problem,
)  # fmt: skip


GAP_LEVEL, VELOCITY_LEVEL = 1, 2
GAUSS_SEIDEL, PROJECTED_GRADIENT = 2, 3
PATIENCE = 10  # Newton steps that do not halve the certificate
GOOD = 3e-11  # certificate with which a method hands over no more: stiff laws feel the round-off of the gaps
LEAST = 1e-9  # proximal term: the smaller, the fewer turns where multipliers are not unique
LAPACK_FROM = 96  # unknowns
# steps of Newton's method: what they cost, r³/3 multiplications each, stays within some minutes
MOST_WORK, FEWEST = 3e11, 500


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
def _pushes(delassus, impulse, push):
    """push = W P, by the rows of the symmetric W whose impulse is not zero."""
    push[:] = 0.0
    for j in range(impulse.size):
        amount, row = impulse[j], delassus[j]
        if amount != 0.0:
            for i in range(push.size):
                push[i] += amount * row[i]


@njit(cache=True)
def _scales(p):
    """Slack that a unit of a row's own impulse makes (r,): the natural map divides by it.

    The rows of a friction disk share one, so that the disk stays round.
    """
    own = np.empty(p.rate_free.size)
    for k in range(p.area.size):
        n, end = p.first[k], p.first[k + 1]
        own[n] = p.delassus[n, n] * (p.gap_per_velocity if p.level[k] == GAP_LEVEL else 1.0) + p.compliance[k]
        mean = 0.0
        for t in range(n + 1, end):
            mean += p.delassus[t, t] / (end - n - 1)
        for t in range(n + 1, end):
            own[t] = mean + p.soft[k]
    largest = 0.0
    for i in range(own.size):
        largest = max(largest, p.delassus[i, i])
    for k in range(p.area.size):  # a row that nothing moves
        for i in range(p.first[k], p.first[k + 1]):
            if own[i] <= 0.0:
                at_gap = p.level[k] == GAP_LEVEL and i == p.first[k]
                own[i] = (p.gap_per_velocity if at_gap else 1.0) * largest if largest > 0.0 else 1.0
    return own


@njit(cache=True)
def _measure(p, own, trial, impulse, push, law, slack, idle, slip):
    """What the impulses make: push = W P, laws (k, 4), slack and impulse (k,) of the multipliers, slip rates (r,).

    Returns the certificate: the largest residual of the natural map with the scales `own`, P − project(P − slack /
    own) onto multipliers ≥ 0 and disks of radius μ ⟨P_n⟩₊, and the size of the impulses to compare it with.
    """
    _pushes(p.delassus, impulse, push)
    error, scale, total = 0.0, 1e-300, 0.0
    for k in range(p.area.size):
        n, end = p.first[k], p.first[k + 1]
        gap = p.gap_free[k] + p.gap_per_velocity * push[n]
        if p.rows[k] < p.rows[k + 1]:
            _tractions(p, k, gap, trial, law[k])
        else:
            law[k] = 0.0
        regular = p.area[k] * (law[k, 0] + law[k, 2])
        multiplier = impulse[n] - regular
        idle[k] = multiplier
        slack[k] = gap if p.level[k] == GAP_LEVEL else p.rate_free[n] + push[n]
        slack[k] += p.compliance[k] * multiplier + p.shift[n]
        allowed = p.level[k] == GAP_LEVEL or (p.level[k] == VELOCITY_LEVEL and p.closed[k])
        own_slack = slack[k] / own[n]
        total += own_slack + multiplier
        if allowed and multiplier - own_slack > 0.0:
            error = max(error, abs(own_slack))
            scale = max(scale, abs(p.gap_free[k] if p.level[k] == GAP_LEVEL else p.rate_free[n]) / own[n])
        else:
            error = max(error, abs(multiplier))
        scale = max(scale, abs(impulse[n]), abs(regular))

        radius = p.friction[k] * max(impulse[n], 0.0)
        size = 0.0
        for t in range(n + 1, end):
            slip[t] = p.rate_free[t] + push[t] + p.soft[k] * impulse[t] + p.shift[t]
            size += (impulse[t] - slip[t] / own[t]) ** 2
        size = np.sqrt(size)
        for t in range(n + 1, end):
            wanted = impulse[t] - slip[t] / own[t]
            total += wanted
            if size > radius:
                wanted *= radius / size
            error = max(error, abs(impulse[t] - wanted))
            scale = max(scale, abs(impulse[t]))
            if size <= radius:
                scale = max(scale, abs(p.rate_free[t]) / own[t])
    if not np.isfinite(total):  # comparisons pass over nan
        return np.inf, 1.0
    return error, scale


@njit(cache=True)
def _statuses(p, own, rho, law, impulse, slack, idle, slip, wanted, status, direction):
    """What the natural map with the scales own/ρ asks for: multipliers, statuses, and y = P_t − ρ w/own (r,).

    The disk is that of the normal impulse which the map asks for.
    """
    for k in range(p.area.size):
        n, end = p.first[k], p.first[k + 1]
        allowed = p.level[k] == GAP_LEVEL or (p.level[k] == VELOCITY_LEVEL and p.closed[k])
        tentative = idle[k] - rho * slack[k] / own[n]
        wanted[k] = allowed and tentative > 0.0
        normal = p.area[k] * (law[k, 0] + law[k, 2]) + (tentative if wanted[k] else 0.0)
        status[k] = SLIP if normal > 0.0 else OPEN
        radius = p.friction[k] * max(normal, 0.0)
        size = 0.0
        for t in range(n + 1, end):
            direction[t] = impulse[t] - rho * slip[t] / own[t]
            size += direction[t] ** 2
        if end > n + 1 and radius > 0.0 and np.sqrt(size) <= radius:
            status[k] = STICK


@njit(cache=True)
def _linearise(
    p, own, rho, law, impulse, slack, idle, slip, wanted, status, direction, residual, on_push, on_impulse
):  # fmt: skip
    """Equations of the statuses (r,) and their derivatives: on_push[k] by the rows of W P, on_impulse[k] by P.

        multiplier: slack = 0 or Λ = 0;   stick: w = 0;   slip: P_t − μ P_n y/‖y‖ = 0;   open: P_t = 0

    (stick where no force moves anything: P_t = 0).

    Where the slip is large ‖y‖ turns little: the turning term carries the factor μ P_n/‖y‖ ≤ 1.
    """
    on_push[:] = 0.0
    on_impulse[:] = 0.0
    for k in range(p.area.size):
        n, end = p.first[k], p.first[k + 1]
        slope = p.area[k] * (law[k, 1] + law[k, 3]) * p.gap_per_velocity
        if wanted[k]:
            residual[n] = slack[k]
            on_push[k, 0, 0] = (p.gap_per_velocity if p.level[k] == GAP_LEVEL else 1.0) - p.compliance[k] * slope
            on_impulse[k, 0, 0] = p.compliance[k]
        else:
            residual[n] = idle[k]
            on_push[k, 0, 0] = -slope
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
            if status[k] == STICK and p.delassus[t, t] + p.soft[k] == 0.0:
                # held by something else: what friction adds is not felt
                residual[t] = impulse[t]
                on_impulse[k, a, a] = 1.0
                continue
            if status[k] == STICK:
                residual[t] = slip[t]
                on_push[k, a, a] = 1.0
                on_impulse[k, a, a] = p.soft[k]
                continue
            residual[t] = impulse[t]
            on_impulse[k, a, a] = 1.0
            if status[k] == OPEN or p.friction[k] == 0.0 or size == 0.0:
                continue
            along = direction[t] / size
            residual[t] -= radius * along
            on_impulse[k, a, 0] = -p.friction[k] * along
            turn = min(max(radius, 0.0) / size, 1.0)
            for s in range(n + 1, end):
                b = s - n
                if end - n > 2:
                    across = turn * ((1.0 if a == b else 0.0) - along * direction[s] / size)
                    on_push[k, a, b] = across * rho / own[s]
                    on_impulse[k, a, b] -= across * (1.0 - rho * p.soft[k] / own[s])


@njit(cache=True)
def _step(p, residual, on_push, on_impulse, increment, matrix, mass):
    """Newton increment (r,) of the impulses; False where the system is singular.

    Rows that state an impulse alone are not unknowns. The others are solved for increments scaled by √W_jj, in rows
    of unit size; `mass` is added to the diagonal of those that move.
    """
    count = residual.size
    live = np.empty(count, dtype=np.int64)
    point = np.empty(count, dtype=np.int64)
    alive = 0
    any_known = False
    for k in range(p.area.size):
        n, end = p.first[k], p.first[k + 1]
        for i in range(n, end):
            a = i - n
            idle = True
            for b in range(end - n):
                idle = idle and on_push[k, a, b] == 0.0 and (a == b or on_impulse[k, a, b] == 0.0)
            increment[i] = 0.0
            if idle:
                increment[i] = -residual[i] / on_impulse[k, a, a]
                any_known = any_known or increment[i] != 0.0
            else:
                live[alive] = i
                point[alive] = k
                alive += 1
    moved = np.zeros(count)
    if any_known:
        _pushes(p.delassus, increment, moved)
    root = np.empty(alive)
    for j in range(alive):
        own = p.delassus[live[j], live[j]]
        root[j] = 1.0 / np.sqrt(own) if own > 0.0 else 1.0
    right = np.empty(alive)
    for row in range(alive):
        i, k = live[row], point[row]
        n, end = p.first[k], p.first[k + 1]
        a = i - n
        bound = 0.0  # of the entries of the row, as |W_ij| ≤ √W_ii √W_jj
        for b in range(end - n):
            bound += abs(on_push[k, a, b]) * np.sqrt(p.delassus[n + b, n + b]) + abs(on_impulse[k, a, b]) * root[row]
        unit = 1.0 / bound if bound > 0.0 else 1.0
        line = matrix[row, :alive]
        line[:] = 0.0
        right[row] = -residual[i]
        moves = False
        for b in range(end - n):
            factor = on_push[k, a, b]
            right[row] -= factor * moved[n + b] + on_impulse[k, a, b] * increment[n + b]
            if factor == 0.0:
                continue
            moves = True
            factor *= unit
            source = p.delassus[n + b]
            if alive == count:
                for j in range(line.size):
                    line[j] += factor * source[j] * root[j]
            else:
                for j in range(line.size):
                    line[j] += factor * source[live[j]] * root[j]
        right[row] *= unit
        for j in range(max(row - 2, 0), min(row + 3, alive)):
            if point[j] == k:
                line[j] += on_impulse[k, a, live[j] - n] * root[j] * unit
        if moves:
            line[row] += mass
    if not _solve(matrix, right, alive):
        return False
    for j in range(alive):
        increment[live[j]] = right[j] * root[j]
    return True


@njit(cache=True)
def _newton(p, own, rho, impulse, trial, most, patience):
    """Semismooth Newton on all statuses at once, with the scales own/ρ, from and to `impulse` (the best ones seen).

    Without friction, statuses that cycle change one at a time: with a positive definite operator to change the last
    wrong one alone never cycles (least-index rule; Murty, Linear Complementarity, Linear and Nonlinear Programming,
    1988, §4.3). With friction it gives up after `patience` steps that do not halve the error. Where the system is
    singular a proximal term of 1e-3 takes part in the step. Returns steps, certificate, whether the last system was
    singular.
    """
    points, count = p.area.size, impulse.size
    push, slip, direction = np.empty(count), np.empty(count), np.empty(count)
    residual, increment = np.empty(count), np.empty(count)
    law, slack, idle = np.empty((points, 4)), np.empty(points), np.empty(points)
    asked, active = np.zeros(points, dtype=np.bool_), np.zeros(points, dtype=np.bool_)
    status = np.zeros(points, dtype=np.int8)
    on_push, on_impulse = np.empty((points, 3, 3)), np.empty((points, 3, 3))
    matrix = np.empty((count, count))
    best = np.inf
    best_impulse = impulse.copy()
    stalled, used = 0, 0
    one_by_one, singular = False, False
    for iteration in range(most + 1):
        hear()
        used = iteration
        error, scale = _measure(p, own, trial, impulse, push, law, slack, idle, slip)
        error /= scale
        if error < best:
            stalled = stalled + 1 if error > 0.5 * best else 0
            best = error
            best_impulse[:] = impulse
        else:
            stalled += 1
        if best <= 3e-15 or (best <= 1e-13 and stalled >= 1) or iteration == most or not error < np.inf:
            break
        if stalled >= 4 and best <= GOOD:
            break
        if stalled >= patience and count > points:
            break
        _statuses(p, own, rho, law, impulse, slack, idle, slip, asked, status, direction)
        one_by_one = one_by_one or (stalled >= 8 and count == points)
        if not one_by_one:
            active[:] = asked
        else:
            held = 0.0
            for k in range(points):
                held = max(held, abs(slack[k] / own[k]) if active[k] else abs(idle[k]))
            if held <= 1e-12 * scale:  # else Newton goes on with the statuses held
                for k in range(points - 1, -1, -1):
                    if active[k] != asked[k]:
                        active[k] = asked[k]
                        break
        _linearise(
            p, own, rho, law, impulse, slack, idle, slip, active, status, direction, residual, on_push, on_impulse
        )
        singular = not _step(p, residual, on_push, on_impulse, increment, matrix, 0.0)
        if singular and not _step(p, residual, on_push, on_impulse, increment, matrix, 1e-3):
            break
        for i in range(count):
            impulse[i] += increment[i]
    impulse[:] = best_impulse
    return used, best, singular


@njit(cache=True)
def _disk(block, pull, size, radius, out):
    """Minimum of ½ x·A x + b·x on ‖x‖ ≤ radius, A = block[1:size, 1:size], b = pull[1:size] into out[1:size]."""
    if size == 2:
        x = -pull[1] / block[1, 1] if block[1, 1] > 0.0 else -np.sign(pull[1]) * radius
        out[1] = min(max(x, -radius), radius)
        return
    a, b, c = block[1, 1], block[1, 2], block[2, 2]
    # eigenvectors (cos, sin), (−sin, cos)
    half, mean = np.hypot(0.5 * (a - c), b), 0.5 * (a + c)
    angle = 0.5 * np.arctan2(2.0 * b, a - c)
    cosine, sine = np.cos(angle), np.sin(angle)
    large, small = mean + half, max(mean - half, 0.0)
    first, second = cosine * pull[1] + sine * pull[2], cosine * pull[2] - sine * pull[1]
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
def _normal_map(p, k, block, push, normal, radius, out, trial, law, pull):
    """Natural map of the normal law of a point at a normal impulse, with its own friction; `out` gets the impulses."""
    size = p.first[k + 1] - p.first[k]
    n = p.first[k]
    out[0] = normal
    moved = push[0] + block[0, 0] * normal
    if size > 1:
        for a in range(1, size):
            pull[a] = p.rate_free[n + a] + p.shift[n + a] + push[a] + block[a, 0] * normal
        _disk(block, pull, size, p.friction[k] * normal if radius < 0.0 else radius, out)
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
def _local(p, k, block, push, radius, impulse, trial):
    """Exact solution at one point, `impulse` in and out, where its rows move by push + block P.

    radius < 0: that of the normal impulse sought, else given. The map is ≤ 0 at P_n = 0 and positive for large P_n,
    as the block's Schur complement is: bracketed false position with halved weights.
    """
    law, pull = np.empty(4), np.empty(3)
    start = impulse[0]
    below = _normal_map(p, k, block, push, 0.0, radius, impulse, trial, law, pull)
    if below >= 0.0:
        return
    low, high = 0.0, max(start, -below)
    above = _normal_map(p, k, block, push, high, radius, impulse, trial, law, pull)
    for _ in range(200):
        if above >= 0.0 or not high < 1e300:  # nothing moves the point where it stays negative
            break
        low, below = high, above
        high *= 4.0
        above = _normal_map(p, k, block, push, high, radius, impulse, trial, law, pull)
    side = 0
    for i in range(200):
        if not above > 0.0 or high - low <= 2e-16 * high:
            break
        middle = high - above * (high - low) / (above - below)
        if i % 8 == 7 or not (low < middle < high):
            middle = 0.5 * (low + high)
            if middle in (low, high):
                break
        value = _normal_map(p, k, block, push, middle, radius, impulse, trial, law, pull)
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
    _normal_map(p, k, block, push, high, radius, impulse, trial, law, pull)


@njit(cache=True)
def _gauss_seidel(p, own, impulse, trial, most):
    """Nonlinear Gauss–Seidel: exact solution point by point, in sweeps. Returns sweeps and certificate.

    Source: Jean, Comput. Methods Appl. Mech. Eng. 177 (1999) 235–257.
    """
    points, count = p.area.size, impulse.size
    push, slip = np.empty(count), np.empty(count)
    law, slack, idle = np.empty((points, 4)), np.empty(points), np.empty(points)
    block, other, local = np.zeros((3, 3)), np.empty(3), np.empty(3)
    best = np.inf
    best_impulse = impulse.copy()
    used = 0
    for sweep in range(most + 1):
        hear()
        used = sweep
        error, scale = _measure(p, own, trial, impulse, push, law, slack, idle, slip)
        error /= scale
        if error < best:
            best = error
            best_impulse[:] = impulse
        if best <= 1e-13 or sweep == most or not error < np.inf:
            break
        for k in range(points):
            n, end = p.first[k], p.first[k + 1]
            for a in range(end - n):
                local[a] = impulse[n + a]
                other[a] = push[n + a]
                for b in range(end - n):
                    block[a, b] = p.delassus[n + a, n + b]
                    other[a] -= block[a, b] * impulse[n + b]
            _local(p, k, block, other, -1.0, local, trial)
            for a in range(end - n):
                change = local[a] - impulse[n + a]
                if change != 0.0:
                    impulse[n + a] = local[a]
                    for i in range(count):
                        push[i] += change * p.delassus[n + a, i]
    impulse[:] = best_impulse
    return used, best


@njit(cache=True)
def _projected_gradient(p, own, impulse, trial, most):
    """Fixed point on the friction threshold; each problem with a given one by accelerated projected gradient.

    With thresholds given the problem is convex. The metric is L W_kk, L the largest row sum of |W_ij|/√(W_ii W_jj);
    the momentum starts again where it points uphill. Returns gradient steps and certificate.

    Source: Nesterov, Soviet Math. Doklady 27 (1983) 372–376; O'Donoghue & Candès, Found. Comput. Math. 15 (2015)
    715–732.
    """
    points, count = p.area.size, impulse.size
    push, slip = np.empty(count), np.empty(count)
    law, slack, idle = np.empty((points, 4)), np.empty(points), np.empty(points)
    local, other = np.empty(3), np.empty(3)
    metric = np.empty(count)
    for k in range(points):
        n, end = p.first[k], p.first[k + 1]
        metric[n] = max(p.delassus[n, n], 1e-300)
        for t in range(n + 1, end):
            metric[t] = max(own[t] - p.soft[k], 1e-300)
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
        error, scale = _measure(p, own, trial, impulse, push, law, slack, idle, slip)
        error /= scale
        if error < best:
            best = error
            best_impulse[:] = impulse
        if best <= 1e-13 or used >= most or not error < np.inf:
            break
        for k in range(points):
            radius[k] = p.friction[k] * max(impulse[p.first[k]], 0.0)
        ahead = impulse.copy()
        weight = 1.0
        for _ in range(1000):
            hear()
            used += 1
            _pushes(p.delassus, ahead, push)
            uphill, change, size = 0.0, 0.0, 1e-300
            for k in range(points):
                n, end = p.first[k], p.first[k + 1]
                block = np.zeros((3, 3))
                for a in range(end - n):
                    block[a, a] = metric[n + a]
                    other[a] = push[n + a] - metric[n + a] * ahead[n + a]
                    local[a] = ahead[n + a]
                _local(p, k, block, other, radius[k], local, trial)
                for a in range(end - n):
                    i = n + a
                    uphill += metric[i] * (ahead[i] - local[a]) * (local[a] - impulse[i])
                    change = max(change, abs(local[a] - ahead[i]))
                    size = max(size, abs(local[a]))
                    slip[i] = local[a]
            following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * weight * weight))
            momentum = (weight - 1.0) / following
            weight = following
            if uphill > 0.0:
                momentum, weight = 0.0, 1.0
            for i in range(count):
                ahead[i] = slip[i] + momentum * (slip[i] - impulse[i])
                impulse[i] = slip[i]
            if change * largest <= max(0.02 * best, 1e-15) * size or used >= most:
                break
    impulse[:] = best_impulse
    return used, best


@njit(cache=True)
def _assisted(p, own, rho, impulse, trial, most):
    """Newton; where it gives up, from Gauss–Seidel's better starts. Returns steps, certificate, singular."""
    used, best, singular = _newton(p, own, rho, impulse, trial, most, PATIENCE)
    if impulse.size == p.area.size or not best < np.inf:
        return used, best, singular
    start = impulse.copy()
    for sweeps in (20, 100):
        if best <= GOOD or used >= most:
            break
        steps, _ = _gauss_seidel(p, own, start, trial, min(most - used, sweeps))
        candidate = start.copy()
        more, error, degenerate = _newton(p, own, rho, candidate, trial, most, PATIENCE)
        used += steps + more
        if error < best:
            best, singular = error, degenerate
            impulse[:] = candidate
    return used, best, singular


@njit(cache=True)
def _proximal(p, own, rho, impulse, trial, most, mass):
    """Method of multipliers: slack + ε W_kk (Λ − Λ_last) = 0 in each problem, and on friction likewise, until
    Λ stands still; ε ≤ `mass`, and less where the certificate falls by less than ten in a turn.

    Where W is singular the problems are not. Source: Rockafellar, Math. Oper. Res. 1 (1976) 97–116.
    """
    points, count = p.area.size, impulse.size
    push, slip = np.empty(count), np.empty(count)
    law, slack, idle = np.empty((points, 4)), np.empty(points), np.empty(points)
    compliance, soft, shift = np.empty(points), np.empty(points), np.empty(count)
    best, best_impulse, last = np.inf, impulse.copy(), np.inf
    used, stalled = 0, 0
    singular = False
    while True:
        error, scale = _measure(p, own, trial, impulse, push, law, slack, idle, slip)
        error /= scale
        stalled = 0 if error < 0.5 * best else stalled + 1
        if error < best:
            best = error
            best_impulse[:] = impulse
        if best <= 1e-13 or used >= most or not error < np.inf or (stalled >= 4 and mass <= LEAST) or stalled >= 20:
            break
        if error > 0.1 * last:
            mass = max(0.1 * mass, LEAST)
        last = error
        for k in range(points):
            n, end = p.first[k], p.first[k + 1]
            base = own[n] - p.compliance[k]
            compliance[k] = p.compliance[k] + mass * base
            shift[n] = p.shift[n] - mass * base * max(idle[k], 0.0)
            soft[k] = p.soft[k]
            if end > n + 1:
                base = own[n + 1] - p.soft[k]
                soft[k] += mass * base
            for t in range(n + 1, end):
                shift[t] = p.shift[t] - mass * base * impulse[t]
        inner = Problem(
            p.delassus, p.gap_per_velocity, p.gap_free, p.rate_free, p.closed, p.first, p.area, p.level, compliance,
            p.friction,
            soft, shift, p.kernels, p.rows, p.kind, p.coefficients, p.history, p.step, p.theta,
        )  # fmt: skip
        steps, _, singular = _assisted(inner, _scales(inner), rho, impulse, trial, most - used)
        used += max(steps, 1)
    impulse[:] = best_impulse
    return used, best, singular


@njit(cache=True)
def _robust(p, own, rho, impulse, trial, most):
    """Newton with the help of Gauss–Seidel; then rounds of other helps, each longer than the last, until one leads on.

    They are: proximal problems, more sweeps, the fixed point on the threshold, and a start from elsewhere. For large
    coefficients no method is known that always converges (the solution is there, but need not be unique), yet what
    makes one cycle leaves another alone.
    """
    used, best, singular = _assisted(p, own, rho, impulse, trial, min(most, 500))
    if best <= GOOD or impulse.size == p.area.size or not best < np.inf:
        return used, best, singular
    sweep, slide, other = impulse.copy(), impulse.copy(), impulse.copy()
    length = 100
    turn = 0
    while best > GOOD and used < most:
        left = most - used
        if turn % 4 == 0:
            start = other.copy()
            steps, error, degenerate = _proximal(p, own, rho, start, trial, min(left, length), 1.0)
        elif turn % 4 == 1:
            steps, _ = _gauss_seidel(p, own, sweep, trial, min(left, 3 * length))
            start = sweep.copy()
        elif turn % 4 == 2:
            steps, _ = _projected_gradient(p, own, slide, trial, min(left, 3 * length))
            start = slide.copy()
        else:
            size = np.abs(impulse).max()
            for i in range(other.size):
                other[i] = size * np.cos(1.0 + i * i + 0.7 * turn)
            start = other.copy()
            steps = 0
            length *= 2
        if turn % 4 != 0:
            more, error, degenerate = _newton(p, own, rho, start, trial, min(left, 50), PATIENCE)
            steps += more
        used += max(steps, 1)
        if error < best:
            best, singular = error, degenerate
            impulse[:] = start
        turn += 1
    return used, best, singular


@njit(cache=True)
def _solved(p, rho, impulse, trial, normal, status, method, mass, most):
    """Solves the problem from the guess `impulse` and splits the normal impulses; see `solve_contact`."""
    own = _scales(p)
    points, count = p.area.size, impulse.size
    most = min(most, max(FEWEST, int(3.0 * MOST_WORK / float(count) ** 3)))
    singular = False
    if method == GAUSS_SEIDEL:
        used, _ = _gauss_seidel(p, own, impulse, trial, most)
    elif method == PROJECTED_GRADIENT:
        used, _ = _projected_gradient(p, own, impulse, trial, most)
    elif mass > 0.0:
        used, _, singular = _proximal(p, own, rho, impulse, trial, most, mass)
    else:
        used, _, singular = _robust(p, own, rho, impulse, trial, most)

    # onto the laws: idle multipliers vanish, friction lies in its disk
    push, slip, direction = np.empty(count), np.empty(count), np.empty(count)
    law, slack, idle = np.empty((points, 4)), np.empty(points), np.empty(points)
    active = np.empty(points, dtype=np.bool_)
    _measure(p, own, trial, impulse, push, law, slack, idle, slip)
    _statuses(p, own, 1.0, law, impulse, slack, idle, slip, active, status, direction)
    for k in range(points):
        n, end = p.first[k], p.first[k + 1]
        regular = p.area[k] * (law[k, 0] + law[k, 2])
        if active[k]:
            impulse[n] = max(impulse[n], regular)
        elif regular == 0.0:  # else a stiff law would make much of the round-off of a new gap
            impulse[n] = 0.0
        radius = p.friction[k] * impulse[n]
        size = 0.0
        for t in range(n + 1, end):
            size += impulse[t] ** 2
        size = np.sqrt(size)
        if size > radius or (status[k] == SLIP and size > 0.0):
            for t in range(n + 1, end):
                impulse[t] *= radius / size
    error, scale = _measure(p, own, trial, impulse, push, law, slack, idle, slip)
    for k in range(points):
        normal[0, k] = p.area[k] * law[k, 0]
        normal[1, k] = p.area[k] * law[k, 2]
        if not active[k]:
            normal[0, k] = impulse[p.first[k]] - normal[1, k]
        normal[2, k] = impulse[p.first[k]] - (normal[0, k] + normal[1, k])
    return used, error / scale, singular


@njit(cache=True)
def _reverses(p, start, mean, impulse):
    """Closes friction on the mean of the step where it would give energy, P_t·(v_t⁰ + v_t¹) > 0; whether it does so."""
    push, found = np.empty(impulse.size), False
    _pushes(p.delassus, impulse, push)
    for k in range(p.area.size):
        work, size, other = 0.0, 0.0, False
        for t in range(p.first[k] + 1, p.first[k + 1]):
            end = p.rate_free[t] + push[t]
            work += impulse[t] * (start[t] + end)
            size += abs(impulse[t]) * (abs(start[t]) + abs(end))
            other = other or p.shift[t] != mean[t]
        if other and work > 1e-14 * size:
            for t in range(p.first[k] + 1, p.first[k + 1]):
                p.shift[t] = mean[t]
            found = True
    return found


@njit(cache=True)
def close_onset(first, level, start, closing):
    """The closing (3, r) of points on fixed normals from the rates v₀ at the start (r,); see
    `arlequin.multilevel.solvers.closing`."""
    closing[:] = 0.0
    closing[1] = start
    for k in range(level.size):
        n = first[k]
        if level[k] == VELOCITY_LEVEL:
            closing[0, n] = max(start[n], 0.0)


@njit(
    types.Tuple((int64, float64, boolean))(
        *PROBLEM.types[:11], *PROBLEM.types[12:], float64, float64[:, ::1], float64[::1], float64[:, ::1],
        float64[:, ::1], types.int8[::1], int64, float64, float64, int64,
    ),
    cache=True,
)  # fmt: skip
def solve_contact(
    delassus, gap_per_velocity, gap_free, rate_free, closed, first, area, level, compliance, friction, soft,
    kernels, rows,
    kind, coefficients, history, step, theta, factor, closing, impulse, trial, normal, status, method, rho, mass, most,
):  # fmt: skip
    """See `arlequin.multilevel.solvers.contact.solve_contact`; `impulse` holds the first guess and receives the
    solution.

    closing (3, r), see `arlequin.multilevel.solvers.closing`: what is added to the rates, the rates at the start, and
    what is added to those of friction that would give energy. normal (3, k): stored, dissipated, multiplier. A named
    tuple as an argument from Python would cost 0.1 ms.
    """
    area = factor * area
    p = Problem(
        delassus, gap_per_velocity, gap_free, rate_free, closed, first, area, level, compliance / area, friction,
        soft / area,
        closing[0].copy(), kernels, rows, kind, coefficients, history, step, theta,
    )  # fmt: skip
    used, error, singular = _solved(p, rho, impulse, trial, normal, status, method, mass, most)
    if impulse.size > area.size:
        for _ in range(area.size):  # each pass closes more points on the mean
            if singular or not error < np.inf or not _reverses(p, closing[1], closing[2], impulse):
                break
            more, error, singular = _solved(p, rho, impulse, trial, normal, status, method, mass, most)
            used += more
    return used, error, singular


@njit(cache=True, nogil=True)
def solve_members(
    some, delassus, gap_per_velocity, gap_free, rate_free, closed, first, area, level, compliance, friction, soft,
    kernels, rows,
    kind, coefficients, history, step, theta, factor, start, impulse, trial, normal, status, method, rho, mass,
    most, iterations, residual, singular,
):  # fmt: skip
    """`arlequin.multilevel.solvers._kernels.solve_contact` for the members `some` (s,) of fields with the member n as
    first axis, on fixed normals; start (n, r): rates at the start."""
    closing = np.empty((3, impulse.shape[1]))
    for m in some:
        close_onset(first, level, start[m], closing)
        iterations[m], residual[m], singular[m] = solve_contact(
            delassus, gap_per_velocity, gap_free[m], rate_free[m], closed[m], first, area, level, compliance,
            friction, soft,
            kernels, rows, kind, coefficients, history[m], step, theta, factor, closing, impulse[m], trial[m],
            normal[m], status[m], method, rho, mass, most,
        )  # fmt: skip
