"""Adaptive explicit steps of small systems under regular laws in one compiled loop (see `arlequin.schemes.adaptive`).

The system is the tuple of `arlequin.schemes._explicit_kernels`.
"""

import numpy as np
from numba import njit

from arlequin.schemes._explicit_kernels import (
    EXTERNAL,
    LAYERS,
    OPEN,
    SLIP,
    STICK,
    VISCOUS,
    _accelerate,
    _add,
    _dot,
    _place,
    _pressure,
    _total,
    damped_pull,
)  # fmt: skip
from multilevel._interrupts import hear

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
def _change(system, y, mode, opening, rubbed):
    """The modes after those that have ended; adds what the springs that let go had stored to `rubbed` (k,), J."""
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
            rubbed[k] += 0.5 * area[k] * (stretched * stretched - limit * limit) / stiffness[k]


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
    push, impulse, work, rubbed = np.empty(size), np.empty(rows), np.empty(3), np.empty(points)
    usual = h = first_step
    for n in range(count):
        polynomial = polynomials[n]
        t, limit, used = 0.0, step, 0
        while t < step:
            hear()
            h = min(h, limit)
            last = t + h >= step * (1.0 - 1e-14)
            if last:
                h = step - t
            used += 1
            push[:] = 0.0
            impulse[:] = 0.0
            work[:] = 0.0
            rubbed[:] = 0.0
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
                rubbed += h * b[s] * rubbing
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
            all_rubbed[n] += np.maximum(rubbed, 0.0)  # some weights are negative
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
