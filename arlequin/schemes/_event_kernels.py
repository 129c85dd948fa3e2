"""Steps of small linear systems with the events of contact and friction located inside them."""

import numpy as np
from numba import njit

from multilevel._kernels import solve_contact

OPEN, SLIP, STICK = 0, 1, 2
# Suzuki–Yoshida: three steps of order 2 make one of order 4
_OUTER = 1.0 / (2.0 - 2.0 ** (1.0 / 3.0))
_INNER = 1.0 - 2.0 * _OUTER
MOST_EVENTS = 100  # in a step
_HALVINGS = 52
_SMALL = 1e-11  # of the largest velocity or force at the contact: none


@njit(cache=True)
def _force(loads, n, s, out):
    """Load (d,) at the share s of the step n: the cubic through its values at 0, 1/3, 2/3 and 1."""
    a, b, c, e = s, s - 1.0 / 3.0, s - 2.0 / 3.0, s - 1.0
    weights = -4.5 * b * c * e, 13.5 * a * c * e, -13.5 * a * b * e, 4.5 * a * b * c
    for d in range(out.size):
        out[d] = 0.0
        for i in range(4):
            out[d] += weights[i] * loads[n, i, d]


@njit(cache=True)
def _dot(x, y):
    total = 0.0
    for i in range(x.size):
        total += x[i] * y[i]
    return total


@njit(cache=True)
def _solve(matrix, right):
    """right ← matrix⁻¹ right (a, c), with pivots by rows; both are overwritten."""
    size = matrix.shape[0]
    for i in range(size):
        best = i
        for j in range(i + 1, size):
            if abs(matrix[j, i]) > abs(matrix[best, i]):
                best = j
        if best != i:
            for j in range(size):
                matrix[i, j], matrix[best, j] = matrix[best, j], matrix[i, j]
            for j in range(right.shape[1]):
                right[i, j], right[best, j] = right[best, j], right[i, j]
        for j in range(i + 1, size):
            share = matrix[j, i] / matrix[i, i]
            if share != 0.0:
                for c in range(i, size):
                    matrix[j, c] -= share * matrix[i, c]
                for c in range(right.shape[1]):
                    right[j, c] -= share * right[i, c]
    for i in range(size - 1, -1, -1):
        for c in range(right.shape[1]):
            for j in range(i + 1, size):
                right[i, c] -= matrix[i, j] * right[j, c]
            right[i, c] /= matrix[i, i]


@njit(cache=True)
def _inverse(squares, damping, diagonal, tau):
    """A⁻¹ of A = 1 + τ/2 D + τ²/4 Ω: its diagonal (1, d) where D is diagonal, else all of it (d, d)."""
    size = squares.size
    if diagonal:
        out = np.empty((1, size))
        for d in range(size):
            out[0, d] = 1.0 / (1.0 + 0.5 * tau * damping[d, d] + 0.25 * tau**2 * squares[d])
        return out
    matrix, out = 0.5 * tau * damping, np.zeros((size, size))
    for d in range(size):
        matrix[d, d] += 1.0 + 0.25 * tau**2 * squares[d]
        out[d, d] = 1.0
    _solve(matrix, out)
    return out


@njit(cache=True)
def staged(squares, damping, diagonal, step):
    """A⁻¹ of the outer and of the inner stages of a whole step."""
    return _inverse(squares, damping, diagonal, _OUTER * step), _inverse(squares, damping, diagonal, _INNER * step)


@njit(cache=True)
def _times(inverse, x, out):
    """out = A⁻¹ x."""
    if inverse.shape[0] == 1:
        for d in range(x.size):
            out[d] = inverse[0, d] * x[d]
    else:
        for d in range(x.size):
            out[d] = _dot(inverse[d], x)


@njit(cache=True)
def _damped(damping, diagonal, v, out):
    """out = D v."""
    if diagonal:
        for d in range(v.size):
            out[d] = damping[d, d] * v[d]
    else:
        for d in range(v.size):
            out[d] = _dot(damping[d], v)


@njit(cache=True)
def _active(mode, sign, first, friction, rows):
    """Rows G (a, d) that do not move, and columns E (a, d) along which their multipliers push.

    A closed point's normal; its tangent too where it sticks; where it slips, the push of its normal takes −μ s of the
    tangent with it.
    """
    count = 0
    for k in range(mode.size):
        if mode[k] != OPEN:
            count += 2 if mode[k] == STICK and first[k + 1] - first[k] > 1 else 1
    held, pushed = np.empty((count, rows.shape[1])), np.empty((count, rows.shape[1]))
    a = 0
    for k in range(mode.size):
        if mode[k] == OPEN:
            continue
        n, rough = first[k], first[k + 1] - first[k] > 1
        held[a] = rows[n]
        pushed[a] = rows[n]
        if rough and mode[k] == SLIP:
            pushed[a] -= friction[k] * sign[k] * rows[n + 1]
        a += 1
        if rough and mode[k] == STICK:
            held[a] = rows[n + 1]
            pushed[a] = rows[n + 1]
            a += 1
    return held, pushed


@njit(cache=True)
def _spread(multipliers, mode, sign, first, friction, out):
    """Impulses (r,) on all rows from those of the active ones."""
    out[:] = 0.0
    a = 0
    for k in range(mode.size):
        if mode[k] == OPEN:
            continue
        n, rough = first[k], first[k + 1] - first[k] > 1
        out[n] = multipliers[a, 0]
        if rough and mode[k] == SLIP:
            out[n + 1] = -friction[k] * sign[k] * multipliers[a, 0]
        a += 1
        if rough and mode[k] == STICK:
            out[n + 1] = multipliers[a, 0]
            a += 1


@njit(cache=True)
def _stage(squares, held, pushed, tau, inverse, load, u, v, work, y, multipliers):
    """One midpoint step of length τ (θ = ½) with the rows G held: its mean velocity y and multipliers."""
    for d in range(u.size):
        work[d] = v[d] + 0.5 * tau * (load[d] - squares[d] * u[d])
    _times(inverse, work, y)
    count = held.shape[0]
    if count:
        columns, matrix = np.empty((count, u.size)), np.empty((count, count))
        for a in range(count):
            _times(inverse, pushed[a], columns[a])
            multipliers[a, 0] = 0.5 * _dot(held[a], v) - _dot(held[a], y)
        for a in range(count):
            for b in range(count):
                matrix[a, b] = 0.5 * _dot(held[a], columns[b])
        _solve(matrix, multipliers)
        for a in range(count):
            for d in range(u.size):
                y[d] += 0.5 * columns[a, d] * multipliers[a, 0]


@njit(cache=True)
def _advance(system, contact, loads, n, begin, tau, step, cached, mode, sign, u, v, sums, impulse, slip, wear):
    """Moves u, v (d,) by τ from the share `begin` of the step, in three stages, and adds up the works.

    sums: works of the load, damping, friction and normal impulses, and of the internal forces. impulse (r,), slip (k,),
    wear (k,): of all stages.
    """
    squares, damping, diagonal = system
    first, friction, rows = contact[0], contact[1], contact[2]
    held, pushed = _active(mode, sign, first, friction, rows)
    load, work, y = np.empty(u.size), np.empty(u.size), np.empty(u.size)
    own, multipliers = np.empty(rows.shape[0]), np.empty((held.shape[0], 1))
    place = begin
    for stage in range(3):
        part = (_INNER if stage == 1 else _OUTER) * tau
        if tau == step:
            inverse = cached[1 if stage == 1 else 0]
        else:
            inverse = _inverse(squares, damping, diagonal, part)
        _force(loads, n, place + 0.5 * part / step, load)
        place += part / step
        _stage(squares, held, pushed, part, inverse, load, u, v, work, y, multipliers)
        _damped(damping, diagonal, y, work)
        for d in range(u.size):
            sums[0] += part * load[d] * y[d]
            sums[1] += part * work[d] * y[d]
            sums[4] += part * squares[d] * (u[d] + 0.5 * part * y[d]) * y[d]
            u[d] += part * y[d]
            v[d] = 2.0 * y[d] - v[d]
        if not held.shape[0]:
            continue
        _spread(multipliers, mode, sign, first, friction, own)
        for r in range(own.size):
            impulse[r] += own[r]
        for k in range(mode.size):
            r = first[k]
            if mode[k] == OPEN:
                continue
            sums[3] -= own[r] * _dot(rows[r], y)
            if first[k + 1] - r > 1:
                moved = _dot(rows[r + 1], y)
                sums[2] -= own[r + 1] * moved
                if mode[k] == SLIP:
                    slip[k] += part * sign[k] * moved
                    wear[k] += own[r] * sign[k] * moved


@njit(cache=True)
def _forces(system, contact, load, mode, sign, u, v, out):
    """Contact forces (r,) at an instant: those that keep the held rows at rest."""
    squares, damping, diagonal = system
    first, friction, rows = contact[0], contact[1], contact[2]
    out[:] = 0.0
    held, pushed = _active(mode, sign, first, friction, rows)
    count = held.shape[0]
    if not count:
        return
    free = np.empty(u.size)
    _damped(damping, diagonal, v, free)
    for d in range(u.size):
        free[d] = load[d] - squares[d] * u[d] - free[d]
    multipliers, matrix = np.empty((count, 1)), np.empty((count, count))
    for a in range(count):
        multipliers[a, 0] = -_dot(held[a], free)
        for b in range(count):
            matrix[a, b] = _dot(held[a], pushed[b])
    _solve(matrix, multipliers)
    _spread(multipliers, mode, sign, first, friction, out)


@njit(cache=True)
def _broken(system, contact, load, mode, sign, u, v, which):
    """Marks the points (k,) whose mode no longer holds; returns whether there are any.

    1 an open point meets its partner, 2 the force of a closed one has fallen to zero, 3 a sticking one has reached its
    threshold, 4 a slipping one has come to rest.
    """
    first, friction, rows, gap = contact[0], contact[1], contact[2], contact[3]
    forces, scale = np.empty(rows.shape[0]), 0.0
    _forces(system, contact, load, mode, sign, u, v, forces)
    for r in range(forces.size):
        scale = max(scale, 1e-2 * _SMALL * abs(forces[r]))
    any_broken = False
    for k in range(mode.size):
        r, rough = first[k], first[k + 1] - first[k] > 1
        which[k] = 0
        if mode[k] == OPEN:
            if gap[k] + _dot(rows[r], u) < 0.0 and _dot(rows[r], v) < 0.0:
                which[k] = 1
        elif forces[r] < -scale:
            which[k] = 2
        elif rough and mode[k] == STICK and abs(forces[r + 1]) > friction[k] * forces[r] + scale:
            which[k] = 3
        elif rough and mode[k] == SLIP and sign[k] * _dot(rows[r + 1], v) < 0.0:
            which[k] = 4
        any_broken = any_broken or which[k] != 0
    return any_broken


@njit(cache=True)
def _settle(system, contact, load, closed, size, which, mode, sign, u, v):
    """Modes of the closed points (k,) from the accelerations that Coulomb's law allows them (Gauss–Seidel).

    A closed point that parts, ġ > 0, is open; one that slips keeps its direction, and one that has reached its
    threshold starts in that of `sign`; one at rest sticks, or starts in the direction in which the load wins. size:
    largest velocity of the rows so far. Returns the rest of the iteration.
    """
    squares, damping, diagonal = system
    first, friction, rows = contact[0], contact[1], contact[2]
    delassus = contact[4]
    drag = np.empty(u.size)
    _damped(damping, diagonal, v, drag)
    free = rows @ (load - squares * u - drag)
    speed = rows @ v
    forces = np.zeros(free.size)
    slips = np.zeros(mode.size)
    for k in range(mode.size):
        r = first[k]
        if closed[k] and speed[r] > _SMALL * size:
            closed[k] = False
        if which[k] == 3:
            slips[k] = sign[k]
        elif first[k + 1] - r > 1 and abs(speed[r + 1]) > _SMALL * size:
            slips[k] = np.sign(speed[r + 1])
    scale = max(np.abs(free).max(), 1e-300) if free.size else 1.0
    rest = 0.0
    for _ in range(20000):
        rest = 0.0
        for k in range(mode.size):
            if not closed[k]:
                continue
            r, rough = first[k], first[k + 1] - first[k] > 1
            own = free[r] + delassus[r] @ forces
            stiff = delassus[r, r]
            if rough and slips[k] != 0.0:
                stiff -= friction[k] * slips[k] * delassus[r, r + 1]
            new = max(forces[r] - own / stiff, 0.0)
            rest = max(rest, abs(new - forces[r]) * stiff)
            forces[r] = new
            if rough:
                if slips[k] != 0.0:
                    forces[r + 1] = -friction[k] * slips[k] * new
                else:
                    own = free[r + 1] + delassus[r + 1] @ forces
                    edge = friction[k] * new
                    new = min(max(forces[r + 1] - own / delassus[r + 1, r + 1], -edge), edge)
                    rest = max(rest, abs(new - forces[r + 1]) * delassus[r + 1, r + 1])
                    forces[r + 1] = new
        if rest <= 1e-15 * scale:
            break
    moved = free + delassus @ forces
    for k in range(mode.size):
        r, rough = first[k], first[k + 1] - first[k] > 1
        mode[k] = OPEN
        if not closed[k] or (forces[r] == 0.0 and moved[r] > _SMALL * scale):
            continue
        mode[k] = SLIP
        if rough and slips[k] != 0.0:
            sign[k] = slips[k]
        elif rough:
            if abs(forces[r + 1]) < friction[k] * forces[r] or abs(moved[r + 1]) <= _SMALL * scale:
                mode[k] = STICK
            else:
                sign[k] = np.sign(moved[r + 1])
    return rest / scale


@njit(cache=True)
def _impact(contact, laws, closed, v, impulse, sums):
    """Velocities after an impact without rebound, with Coulomb's law between the impulses; returns its residual."""
    first, friction, rows, delassus = contact[0], contact[1], contact[2], contact[4]
    area, level, soft, kernels, starts, kind, table, history = laws
    before = rows @ v
    count, points = before.size, closed.size
    own, trial = np.zeros(count), history.copy()
    normal, status = np.zeros((3, points)), np.zeros(points, dtype=np.int8)
    none = np.ones(points)
    _, residual, _ = solve_contact(
        delassus, 1.0, none, before, closed, first, area, level, soft, friction, soft, kernels, starts, kind, table,
        history, 1.0, 0.5, 1.0, own, trial, normal, status, 0, 1.0, 0.0, 20000,
    )  # fmt: skip
    v += rows.T @ own
    after = rows @ v
    impulse += own
    for k in range(points):
        r = first[k]
        sums[3] -= 0.5 * own[r] * (before[r] + after[r])
        if first[k + 1] - r > 1:
            sums[2] -= 0.5 * own[r + 1] * (before[r + 1] + after[r + 1])
    return residual


@njit(cache=True)
def located_block(
    count, step, system, contact, laws, touching, loads, cached, u, v,
    all_u, all_v, all_sums, all_impulse, all_slip, all_wear, all_status, events, last, residuals,
):  # fmt: skip
    """Up to `count` steps; returns how many were taken (fewer: more than MOST_EVENTS events in the next one).

    In modal coordinates, M = 1: system = (ω² (d,), damping (d, d), whether it is diagonal); contact = (first, friction,
    rows H (r, d), gap at u = 0 (k,), H Hᵀ (r, r)); loads (count, 4, d) at 0, 1/3, 2/3 and 1 of each step. Outputs by
    step: sums of works (see `_advance`), events (b,) and the share of the step of the last one.
    """
    first, rows, gap = contact[0], contact[2], contact[3]
    points, size = gap.size, u.size
    mode, sign = np.zeros(points, dtype=np.int64), np.ones(points)
    which, closed = np.zeros(points, dtype=np.int64), np.zeros(points, dtype=np.bool_)
    load = np.empty(size)
    trial_u, trial_v = np.empty(size), np.empty(size)
    trial = np.zeros(5), np.zeros(rows.shape[0]), np.zeros(points), np.zeros(points)
    fastest = 0.0
    for n in range(count):
        start_u, start_v = u.copy(), v.copy()
        begin, found, worst = 0.0, 0, 0.0
        all_sums[n], all_impulse[n], all_slip[n], all_wear[n] = 0.0, 0.0, 0.0, 0.0
        fresh = n == 0
        while True:
            for r in range(rows.shape[0]):
                fastest = max(fastest, abs(_dot(rows[r], v)))
            if fresh and points:  # what starts, and what an event has left
                _force(loads, n, begin, load)
                hits = False
                for k in range(points):
                    at_start = n == 0 and found == 0 and gap[k] + _dot(rows[first[k]], u) <= touching
                    closed[k] = mode[k] != OPEN or which[k] == 1 or at_start
                    hits = hits or (closed[k] and _dot(rows[first[k]], v) < -_SMALL * fastest)
                if hits:
                    worst = max(worst, _impact(contact, laws, closed, v, all_impulse[n], all_sums[n]))
                reach = max(fastest, step * np.abs(rows @ load).max())
                worst = max(worst, _settle(system, contact, load, closed, reach, which, mode, sign, u, v))
            rest = (1.0 - begin) * step
            trial_u[:], trial_v[:] = u, v
            for part in trial:
                part[:] = 0.0
            tau = step if begin == 0.0 else rest
            _advance(system, contact, loads, n, begin, tau, step, cached, mode, sign, trial_u, trial_v, *trial)
            _force(loads, n, 1.0, load)
            if not points or not _broken(system, contact, load, mode, sign, trial_u, trial_v, which):
                u[:], v[:] = trial_u, trial_v
                all_sums[n] += trial[0]
                all_impulse[n] += trial[1]
                all_slip[n] += trial[2]
                all_wear[n] += trial[3]
                break
            # halve [low, high]: no mode is broken at low, one is at high
            low, high = 0.0, rest
            for _ in range(_HALVINGS):
                tau = 0.5 * (low + high)
                trial_u[:], trial_v[:] = u, v
                _advance(system, contact, loads, n, begin, tau, step, cached, mode, sign, trial_u, trial_v, *trial)
                _force(loads, n, begin + tau / step, load)
                if _broken(system, contact, load, mode, sign, trial_u, trial_v, which):
                    high = tau
                else:
                    low = tau
            for part in trial:
                part[:] = 0.0
            trial_u[:], trial_v[:] = u, v
            _advance(system, contact, loads, n, begin, high, step, cached, mode, sign, trial_u, trial_v, *trial)
            begin += high / step
            _force(loads, n, begin, load)
            _broken(system, contact, load, mode, sign, trial_u, trial_v, which)
            u[:], v[:] = trial_u, trial_v
            all_sums[n] += trial[0]
            all_impulse[n] += trial[1]
            all_slip[n] += trial[2]
            all_wear[n] += trial[3]
            forces = np.empty(rows.shape[0])
            _forces(system, contact, load, mode, sign, u, v, forces)
            for k in range(points):
                if which[k] == 2:
                    mode[k] = OPEN
                elif which[k] == 3:
                    sign[k] = -np.sign(forces[first[k] + 1])
            found += 1
            fresh = True
            if found > MOST_EVENTS:
                u[:], v[:] = start_u, start_v
                return n
        all_u[n], all_v[n] = u, v
        for k in range(points):
            all_status[n, k] = mode[k]
        events[n], last[n], residuals[n] = found, begin, worst
    return count
