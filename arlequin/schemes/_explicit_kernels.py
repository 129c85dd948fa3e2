"""Explicit steps of small systems under regular laws in compiled loops; equations in the schemes' own files.

A system is the tuple (inverse (d,), dense (d, d), strains, viscous, rows, gap (k,), first, area, friction, stiffness
(k,), laws (k + 1,), coefficients, damping (k,)): M⁻¹ is `inverse` where `dense` is empty. Contact forces (r,) are in N,
what friction's springs pull, held (r,), in Pa; damping that of the dashpots beside them.

Adaptive explicit steps of small systems under regular laws in one compiled loop (see `arlequin.schemes.runge_kutta`).

The system is the tuple of `arlequin.schemes._explicit_kernels`.
"""

import numpy as np

from arlequin.models.kernel_cache import njit
from arlequin.multilevel._interrupts import check_interrupts
from arlequin.multilevel.laws._kernels import layer
from arlequin.multilevel.solvers._kernels import OPEN, SLIP, STICK
from arlequin.schemes._theta_kernels import _add, _pull, _resist

EXTERNAL, VISCOUS, LAYERS = 0, 1, 2  # works of a step


@njit(cache=True)
def _place(system, u, v, place, rate):
    """Displacements and velocities (r,) along the rows of the contact."""
    rows = system[4]
    place[:] = 0.0
    rate[:] = 0.0
    _add(rows, u, place)
    _add(rows, v, rate)


@njit(cache=True)
def _pressure(system, k, gap, rate):
    """Pressure of the laws of a point, its share that dissipates, and its slopes by gap and rate."""
    laws, coefficients = system[10], system[11]
    total, lossy, by_gap, by_rate = 0.0, 0.0, 0.0, 0.0
    for row in range(laws[k], laws[k + 1]):
        stored, lost, slope, slope_rate = layer(coefficients[row], gap, rate)
        total += stored + lost
        lossy += lost
        by_gap += slope
        by_rate += slope_rate
    return total, lossy, by_gap, by_rate


@njit(cache=True)
def _contact(system, span, before, place, rate, held, radius, forces, status, rubbing):
    """Contact forces at a place, the springs stretched from one a time `span` ago and returned to their disk, radius
    (k,), Pa. before (2, r): that place and the tractions there, which it turns into those of now.

    rubbing (2, k): what friction takes at this instant, W, and what it took on the way, J: there the mean of the radii
    that the spring has met times what slipped. Returns the power that the layers take.
    """
    gap, first, area, friction, stiffness, damping = system[5], system[6], system[7], system[8], system[9], system[12]
    power = 0.0
    rubbing[:] = 0.0
    for k in range(gap.size):
        n, end = first[k], first[k + 1]
        pressure, lossy, _, _ = _pressure(system, k, gap[k] + place[n], rate[n])
        power -= area[k] * lossy * rate[n]
        forces[n] = area[k] * pressure
        status[k] = SLIP if pressure > 0.0 else OPEN
        if end == n + 1:
            continue
        limit, size = friction[k] * pressure, 0.0
        if damping[k] > 0.0 and pressure > 0.0:
            own = slice(n + 1, end)
            _creep(
                stiffness[k], damping[k], limit, span, before[0, own], before[1, own], place[own], rate[own], held[own]
            )
            over, taken = damped_pull(damping[k], limit, rate[own], held[own], before[1, own])
            rubbing[0, k] = area[k] * taken
            for t in range(n + 1, end):
                forces[t] = area[k] * before[1, t]
            if over <= 0.0:
                status[k] = STICK
            continue
        for t in range(n + 1, end):
            held[t] -= stiffness[k] * (place[t] - before[0, t])
            size += held[t] * held[t]
        size = np.sqrt(size)
        if size > limit:
            rubbing[1, k] = 0.5 * area[k] * (min(radius[k], size) + limit) * (size - limit) / stiffness[k]
            for t in range(n + 1, end):
                held[t] *= limit / size
        elif pressure > 0.0:
            status[k] = STICK
        radius[k] = limit
        for t in range(n + 1, end):
            forces[t], before[1, t] = area[k] * held[t], held[t]
    before[0] = place
    return power


@njit(cache=True)
def _creep(stiffness, damping, limit, span, before, pulled, place, rate, held):
    """What a spring beside a dashpot pulls (t,) after `span`, s, from s₀ and the traction t₀, pulled (t,), Pa.

    C ṡ = −K (s − t): with t linear in time s₁ = a + w₁ t₁, a = e⁻ᶻ s₀ + w₀ t₀, z = K Δt/C. In a slip t₁ = R d has the
    direction of s₁ − C v, and so of a − C v, which is longer than (1 − w₁) R; else it sticks and the spring stretches.
    """
    z = stiffness * span / damping
    kept, first, last = 1.0, 0.0, 0.0
    if z > 0.0:
        kept, mean = np.exp(-z), -np.expm1(-z) / z
        first, last = mean - kept, 1.0 - mean
    size = 0.0
    for t in range(held.size):
        size += (kept * held[t] + first * pulled[t] - damping * rate[t]) ** 2
    size = np.sqrt(size)
    for t in range(held.size):
        if size <= (1.0 - last) * limit:
            held[t] -= stiffness * (place[t] - before[t])
        else:
            rest = kept * held[t] + first * pulled[t]
            held[t] = rest + last * limit / size * (rest - damping * rate[t])


@njit(cache=True)
def damped_pull(damping, limit, rate, held, pull):
    """pull (t,): the point of the disk next to s − C v, Pa. Returns how far beyond the edge this is, and what is taken,
    ‖s − t‖²/C on the dashpot and −t·w on what slips, w = v − (s − t)/C: W/m²."""
    size = 0.0
    for t in range(held.size):
        pull[t] = held[t] - damping * rate[t]
        size += pull[t] * pull[t]
    size = np.sqrt(size)
    taken = 0.0
    for t in range(held.size):
        if size > limit:
            pull[t] *= limit / size
        taken += (held[t] - pull[t]) ** 2 / damping
    return size - limit, taken + limit * max(size - limit, 0.0) / damping


@njit(cache=True)
def _total(system, load, u, v, forces, relative, drag, force):
    """All forces (d,), and the power of the dashpots."""
    _resist(system[2], u, relative, force)
    power = 0.0
    drag[:] = 0.0
    if system[3][0].size > 1:
        _add(system[3], v, drag)
        for d in range(u.size):
            power += v[d] * drag[d]
    for d in range(u.size):
        force[d] = load[d] - force[d] - drag[d]
    _pull(system[4], forces, force)
    return max(power, 0.0)


@njit(cache=True)
def _accelerate(system, force, out):
    """out = M⁻¹ force, constraints kept."""
    inverse, dense = system[0], system[1]
    if dense.size:
        out[:] = dense @ force
    else:
        for d in range(out.size):
            out[d] = inverse[d] * force[d]


@njit(cache=True)
def _dot(a, b):
    total = 0.0
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@njit(cache=True)
def euler_block(
    count, step, system, loads, u, v, held, radius, forces, status, all_u, all_v, all_push, all_impulse, all_status,
    all_held, all_work, all_rubbed,
):  # fmt: skip
    """`count` steps of symplectic Euler; loads (count + 1, d). Returns how many are finite."""
    size, rows = u.size, forces.size
    force, drag, relative, a = np.empty(size), np.empty(size), np.empty(size), np.empty(size)
    place, rate, before = np.empty(rows), np.empty(rows), np.zeros((2, rows))
    rubbing = np.empty((2, status.size))
    _place(system, u, v, before[0], rate)
    power = _contact(system, 0.0, before, before[0].copy(), rate, held, radius, forces, status, rubbing)
    for n in range(count):
        load = loads[n]
        work = all_work[n]
        work[VISCOUS] = step * _total(system, load, u, v, forces, relative, drag, force)
        work[LAYERS] = step * power
        all_rubbed[n] = step * rubbing[0]
        _accelerate(system, force, a)
        for d in range(size):
            v[d] += step * a[d]
            u[d] += step * v[d]
            all_push[n, d] = step * force[d]
        work[EXTERNAL] = step * _dot(load, v)
        for r in range(rows):
            all_impulse[n, r] = step * forces[r]
        _place(system, u, v, place, rate)
        power = _contact(system, step, before, place, rate, held, radius, forces, status, rubbing)
        all_rubbed[n] += rubbing[1]
        if not np.isfinite(_dot(u, u) + _dot(v, v)):
            return n
        all_u[n], all_v[n], all_held[n], all_status[n] = u, v, held, status
    return count


@njit(cache=True)
def _half(
    system, span, load, u, v, before, place, rate, held, radius, forces, status, relative, drag, force, a, rubbing,
    work, friction_loss, weight,
):  # fmt: skip
    """Forces and accelerations at u, v, a time `span` after `before`; works, and what friction takes (see `_contact`),
    with the weight of their instant."""
    _place(system, u, v, place, rate)
    power = _contact(system, span, before, place, rate, held, radius, forces, status, rubbing)
    friction_loss[0] += weight * rubbing[0]
    friction_loss[1] += rubbing[1]
    work[LAYERS] += weight * power
    work[VISCOUS] += weight * _total(system, load, u, v, forces, relative, drag, force)
    work[EXTERNAL] += weight * _dot(load, v)
    _accelerate(system, force, a)


@njit(cache=True)
def vogelaere_block(
    count, step, system, loads, begun, damped, u, v, held, radius, forces, status, past, all_u, all_v, all_push,
    all_impulse, all_status, all_held, all_work, all_rubbed,
):  # fmt: skip
    """`count` steps of De Vogelaere; loads (2 count + 1, d) at the half steps; past (2, d): a at n − 1 and n − ½,
    known where it has `begun`; damped: whether forces depend on velocities. Returns how many are finite.
    """
    size, rows = u.size, forces.size
    drag, relative = np.empty(size), np.empty(size)
    place, rate, before = np.empty(rows), np.empty(rows), np.zeros((2, rows))
    now, half, end = np.empty(size), np.empty(size), np.empty(size)  # forces
    a, middle, last = np.empty(size), np.empty(size), np.empty(size)  # accelerations
    trial, speed, mean = np.empty(size), np.empty(size), np.empty(size)
    _place(system, u, v, before[0], rate)
    rubbing, last_rubbed, friction_loss = (
        np.empty((2, status.size)),
        np.zeros((2, status.size)),
        np.zeros((2, status.size)),
    )
    powers, work = np.zeros(3), np.zeros(3)
    _half(system, 0.0, loads[0], u, v, before, place, rate, held, radius, forces, status, relative, drag, now, a,
          rubbing, powers, last_rubbed, 1.0)  # fmt: skip
    at_half = np.empty(rows)
    h = step
    if not begun:  # past accelerations by the line through a₀ and a prediction of the first half step
        for d in range(size):
            trial[d] = u[d] + 0.5 * h * v[d] + 0.125 * h * h * a[d]
            speed[d] = v[d] + 0.5 * h * a[d]
        _half(system, 0.5 * h, loads[1], trial, speed, before.copy(), place, rate, held.copy(), radius.copy(), at_half,
              status.copy(), relative, drag, half, middle, rubbing, work, friction_loss, 0.0)  # fmt: skip
        for d in range(size):
            past[0, d], past[1, d] = 3.0 * a[d] - 2.0 * middle[d], 2.0 * a[d] - middle[d]
    for n in range(count):
        work = all_work[n]
        work[:] = h / 6.0 * powers
        friction_loss[0], friction_loss[1] = h / 6.0 * last_rubbed[0], 0.0
        all_impulse[n] = h / 6.0 * forces
        for d in range(size):
            trial[d] = u[d] + 0.5 * h * v[d] + h * h / 24.0 * (4.0 * a[d] - past[1, d])
            speed[d] = v[d] + h / 24.0 * (23.0 * a[d] - 16.0 * past[1, d] + 5.0 * past[0, d])
        _half(system, 0.5 * h, loads[2 * n + 1], trial, speed, before, place, rate, held, radius, at_half, status,
              relative, drag, half, middle, rubbing, work, friction_loss, 4.0 * h / 6.0)  # fmt: skip
        for r in range(rows):
            all_impulse[n, r] += 4.0 * h / 6.0 * at_half[r]
        for d in range(size):
            trial[d] = u[d] + h * v[d] + h * h / 6.0 * (a[d] + 2.0 * middle[d])
            speed[d] = v[d] + h / 6.0 * (past[1, d] - 2.0 * a[d] + 7.0 * middle[d])
        powers[:] = 0.0
        last_rubbed[:] = 0.0
        _half(system, 0.5 * h, loads[2 * n + 2], trial, speed, before, place, rate, held, radius, forces, status,
              relative, drag, end, last, rubbing, powers, last_rubbed, 1.0)  # fmt: skip
        work += h / 6.0 * powers
        friction_loss[0] += h / 6.0 * last_rubbed[0]
        friction_loss[1] += last_rubbed[1]
        for r in range(rows):
            all_impulse[n, r] += h / 6.0 * forces[r]
        for d in range(size):
            all_push[n, d] = h / 6.0 * (now[d] + 4.0 * half[d] + end[d])
        _accelerate(system, all_push[n], mean)
        for d in range(size):
            past[0, d], past[1, d] = a[d], middle[d]
            u[d] = trial[d]
            v[d] += mean[d]
            a[d], now[d] = last[d], end[d]
        if damped:  # the forces once more, at the velocity that they have led to
            powers[:] = 0.0
            last_rubbed[:] = 0.0
            _half(system, 0.0, loads[2 * n + 2], u, v, before, place, rate, held, radius, forces, status, relative,
                  drag, now, a, rubbing, powers, last_rubbed, 1.0)  # fmt: skip
            friction_loss[1] += last_rubbed[1]
        all_rubbed[n] = friction_loss[0] + friction_loss[1]
        if not np.isfinite(_dot(u, u) + _dot(v, v)):
            return n
        all_u[n], all_v[n], all_held[n], all_status[n] = u, v, held, status
    return count


MOST = 100_000  # sub-steps of a step
SOON = 1e-12  # share of a step to which changes of state are located
EDGE = 1e-12  # share of the threshold beyond which a spring slips, and below which one with a dashpot sticks


@njit(cache=True)
def _load(polynomial, x, load):
    """The load (d,) at x in [−1, 1] of a step, from its polynomial's coefficients (p, d), highest first."""
    load[:] = polynomial[0]
    for i in range(1, polynomial.shape[0]):
        for d in range(load.size):
            load[d] = load[d] * x + polynomial[i, d]


@njit(cache=True)
def _evaluate(system, load, y, mode, out, forces, force, space, powers, rubbing, opening):
    """out = ẏ of y = (u, v, held, loss of the layers); contact forces (r,), all forces (d,), powers (3,) of the works.

    mode (k,): of the points with springs. rubbing (k,): what friction takes, W. opening (k,): what
    falls below zero when a point leaves its mode.
    """
    gap, first, area, friction, stiffness, damping = system[5], system[6], system[7], system[8], system[9], system[12]
    place, rate, drag, relative, along = space
    size = load.size
    u, v, held = y[:size], y[size : 2 * size], y[2 * size : y.size - 1]
    _place(system, u, v, place, rate)
    powers[:] = 0.0
    rubbing[:] = 0.0
    for k in range(gap.size):
        n, end = first[k], first[k + 1]
        pressure, lossy, _, _ = _pressure(system, k, gap[k] + place[n], rate[n])
        forces[n] = area[k] * pressure
        powers[LAYERS] -= area[k] * lossy * rate[n]
        opening[k] = 1.0
        if end == n + 1 or friction[k] == 0.0:
            for t in range(n + 1, end):
                forces[t] = 0.0
            continue
        if damping[k] > 0.0 and mode[k] != OPEN:
            limit = friction[k] * max(pressure, 0.0)
            over, taken = damped_pull(damping[k], limit, rate[n + 1 : end], held[n + 1 : end], forces[n + 1 : end])
            rubbing[k] = area[k] * taken
            opening[k] = limit * EDGE + (over if mode[k] == SLIP else -over)
            if not pressure > 0.0:
                opening[k] = -1.0
            for t in range(n + 1, end):
                forces[t] *= area[k]
            continue
        stretched = 0.0
        for t in range(n + 1, end):
            stretched += held[t] * held[t]
        stretched, limit = np.sqrt(stretched), friction[k] * pressure
        if mode[k] == OPEN:
            opening[k] = -pressure
        elif mode[k] == STICK:
            opening[k] = limit * (1.0 + EDGE) - stretched if pressure > 0.0 else -1.0
        scale = 1.0
        if mode[k] == OPEN:
            scale = 0.0
        elif mode[k] == SLIP:
            scale = limit / stretched if stretched > 0.0 else 0.0
        for t in range(n + 1, end):
            forces[t] = area[k] * scale * held[t]
    powers[VISCOUS] = _total(system, load, u, v, forces, relative, drag, force)
    powers[EXTERNAL] = _dot(load, v)
    out[:size] = v
    _accelerate(system, force, out[size : 2 * size])
    out[2 * size :] = 0.0
    out[y.size - 1] = powers[LAYERS]  # so that its kinks, which the motion may not feel, are resolved too
    moving = False
    for k in range(gap.size):
        moving = moving or (mode[k] == SLIP and damping[k] == 0.0)
    if moving:
        along[:] = 0.0
        _add(system[4], out[size : 2 * size], along)
    for k in range(gap.size):
        n, end = first[k], first[k + 1]
        if end == n + 1 or mode[k] == OPEN:
            continue
        for t in range(n + 1, end):
            if damping[k] > 0.0:
                out[2 * size + t] = -stiffness[k] / damping[k] * (held[t] - forces[t] / area[k])
            else:
                out[2 * size + t] = -stiffness[k] * rate[t]
        if mode[k] != SLIP or damping[k] > 0.0:
            continue
        pressure, _, by_gap, by_rate = _pressure(system, k, gap[k] + place[n], rate[n])
        stretched, across = 0.0, 0.0
        for t in range(n + 1, end):
            stretched += held[t] * held[t]
            across += held[t] * rate[t]
        stretched = np.sqrt(stretched)
        if not (pressure > 0.0 and stretched > 0.0):
            opening[k] = -1.0
            continue
        slipping = -across / stretched - friction[k] * (by_gap * rate[n] + by_rate * along[n]) / stiffness[k]
        opening[k] = slipping
        rubbing[k] = area[k] * friction[k] * pressure * slipping
        for t in range(n + 1, end):
            out[2 * size + t] -= stiffness[k] * slipping * held[t] / stretched


@njit(cache=True)
def _change(system, y, mode, opening, friction_loss):
    """The modes after those that have ended; adds what the springs that let go had stored to `friction_loss` (k,),
    J."""
    first, area, friction, stiffness, gap = system[6], system[7], system[8], system[9], system[5]
    damping = system[12]
    count = gap.size
    rows = first[count]
    size = (y.size - rows - 1) // 2
    held = y[2 * size : y.size - 1]
    place, rate = np.empty(rows), np.empty(rows)
    _place(system, y[:size], y[size : 2 * size], place, rate)
    for k in range(count):
        n, end = first[k], first[k + 1]
        if opening[k] >= 0.0 or end == n + 1:
            continue
        pressure, _, _, _ = _pressure(system, k, gap[k] + place[n], rate[n])
        stretched = 0.0
        for t in range(n + 1, end):
            stretched += held[t] * held[t]
        stretched, limit = np.sqrt(stretched), friction[k] * max(pressure, 0.0)
        if pressure <= 0.0:
            mode[k] = OPEN
        elif mode[k] == STICK:
            mode[k] = SLIP
        else:
            mode[k] = STICK
        if stretched > limit and (damping[k] == 0.0 or mode[k] == OPEN):
            for t in range(n + 1, end):
                held[t] *= limit / stretched
            friction_loss[k] += 0.5 * area[k] * (stretched * stretched - limit * limit) / stiffness[k]


@njit(cache=True)
def adaptive_block(
    count, step, tolerance, tableau, system, polynomials, first_step, y, mode, largest, all_y, all_push, all_impulse,
    all_status, all_work, all_rubbed, tried,
):  # fmt: skip
    """`count` steps; tableau (A, B, C, E3, E5) of DOP853. y: state and end; largest: sizes of its entries so far.

    Returns how many were accepted, and the size of the next sub-step.
    """
    big_a, b, c, e3, e5 = tableau
    stages, rows = b.size, system[6][system[5].size]
    size = (y.size - rows - 1) // 2
    points = system[5].size
    k = np.empty((stages + 1, y.size))
    new, forces, force = np.empty(y.size), np.empty(rows), np.empty(size)
    space = (np.empty(rows), np.empty(rows), np.empty(size), np.empty(size), np.empty(rows))
    opening, powers, load, rubbing = np.empty(points), np.empty(3), np.empty(size), np.empty(points)
    push, impulse, work, friction_loss = np.empty(size), np.empty(rows), np.empty(3), np.empty(points)
    usual = h = first_step
    for n in range(count):
        polynomial = polynomials[n]
        t, limit, used = 0.0, step, 0
        while t < step:
            check_interrupts()
            h = min(h, limit)
            last = t + h >= step * (1.0 - 1e-14)
            if last:
                h = step - t
            used += 1
            push[:] = 0.0
            impulse[:] = 0.0
            work[:] = 0.0
            friction_loss[:] = 0.0
            for s in range(stages):
                for i in range(y.size):
                    total = 0.0
                    for j in range(s):
                        total += big_a[s, j] * k[j, i]
                    new[i] = y[i] + h * total
                _load(polynomial, 2.0 * (t + c[s] * h) / step - 1.0, load)
                _evaluate(system, load, new, mode, k[s], forces, force, space, powers, rubbing, opening)
                for d in range(size):
                    push[d] += h * b[s] * force[d]
                for r in range(rows):
                    impulse[r] += h * b[s] * forces[r]
                work += h * b[s] * powers
                friction_loss += h * b[s] * rubbing
            for i in range(y.size):
                total = 0.0
                for j in range(stages):
                    total += b[j] * k[j, i]
                new[i] = y[i] + h * total
            _load(polynomial, 2.0 * (t + h) / step - 1.0, load)
            _evaluate(system, load, new, mode, k[stages], forces, force, space, powers, rubbing, opening)
            error = _error(k, e3, e5, h, new, largest, tolerance, size, step)
            if not np.isfinite(_dot(new, new)) or used > MOST:
                return n, usual
            changes = False
            for p in range(points):
                changes = changes or opening[p] < 0.0
            if error > 1.0:
                h *= max(0.2, 0.9 * error**-0.125)
                limit = step
                continue
            if changes and h > SOON * step:  # between here and h: halve, until it is located
                limit = h
                h *= 0.5
                continue
            t += h
            if last:
                t = step
            y[:] = new
            for i in range(y.size):
                largest[i] = max(largest[i], abs(y[i]))
            all_push[n] += push
            all_impulse[n] += impulse
            all_work[n] += work
            all_rubbed[n] += np.maximum(friction_loss, 0.0)  # some weights are negative
            if changes:
                _change(system, y, mode, opening, all_rubbed[n])
                h, limit = usual, step
            elif limit < step:  # a change is ahead, within `limit` − h
                limit -= h
                h = 0.5 * limit if limit > SOON * step else limit
                if limit <= 2.0 * SOON * step:
                    limit = step
            else:
                h *= min(10.0, 0.9 * max(error, 1e-10) ** -0.125)
                if last:  # what was cut off at its end tells nothing
                    h = max(h, usual)
                usual = h
        all_y[n] = y
        tried[n] = used
        for p in range(points):
            n0 = system[6][p]
            all_status[n, p] = OPEN
            if forces[n0] > 0.0:
                all_status[n, p] = mode[p] if system[6][p + 1] > n0 + 1 else SLIP
    return count, usual


@njit(cache=True)
def _error(k, e3, e5, h, new, largest, tolerance, size, step):
    """Norm of the error estimate of DOP853 relative to what is allowed.

    Entries are measured by their largest size so far, at least by 1e-4 of that of their kind.
    """
    floors = np.zeros(4)
    for i in range(new.size):
        kind = min(i // size, 2) if i < new.size - 1 else 3
        floors[kind] = max(floors[kind], 1e-4 * largest[i], 1e-4 * abs(new[i]), 1e-4 * step * abs(k[-1, i]))
    five, three = 0.0, 0.0
    for i in range(new.size):
        low, high = 0.0, 0.0
        for j in range(k.shape[0]):
            high += e5[j] * k[j, i]
            low += e3[j] * k[j, i]
        scale = tolerance * max(largest[i], abs(new[i]), floors[min(i // size, 2) if i < new.size - 1 else 3])
        if scale > 0.0:
            five += (high / scale) ** 2
            three += (low / scale) ** 2
    if five == 0.0:
        return 0.0
    return abs(h) * five / np.sqrt((five + 0.01 * three) * new.size)
