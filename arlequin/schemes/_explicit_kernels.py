"""Explicit steps of small systems under regular laws in compiled loops; equations in the schemes' own files.

A system is the tuple (inverse (d,), dense (d, d), strains, viscous, rows, gap (k,), first, area, friction, stiffness
(k,), laws (k + 1,), coefficients, damping (k,)): M⁻¹ is `inverse` where `dense` is empty. Contact forces (r,) are in N,
what friction's springs pull, held (r,), in Pa; damping that of the dashpots beside them.
"""

import numpy as np
from numba import njit

from arlequin.schemes._block_kernels import _add, _pull, _resist
from multilevel._kernels import layer
from multilevel._problem import OPEN, SLIP, STICK

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
def _meet(system, span, before, place, rate, held, radius, forces, status, rubbing):
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
    power = _meet(system, 0.0, before, before[0].copy(), rate, held, radius, forces, status, rubbing)
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
        power = _meet(system, step, before, place, rate, held, radius, forces, status, rubbing)
        all_rubbed[n] += rubbing[1]
        if not np.isfinite(_dot(u, u) + _dot(v, v)):
            return n
        all_u[n], all_v[n], all_held[n], all_status[n] = u, v, held, status
    return count


@njit(cache=True)
def _half(
    system, span, load, u, v, before, place, rate, held, radius, forces, status, relative, drag, force, a, rubbing,
    work, rubbed, weight,
):  # fmt: skip
    """Forces and accelerations at u, v, a time `span` after `before`; works, and what friction takes (see `_meet`),
    with the weight of their instant."""
    _place(system, u, v, place, rate)
    power = _meet(system, span, before, place, rate, held, radius, forces, status, rubbing)
    rubbed[0] += weight * rubbing[0]
    rubbed[1] += rubbing[1]
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
    rubbing, last_rubbed, rubbed = np.empty((2, status.size)), np.zeros((2, status.size)), np.zeros((2, status.size))
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
              status.copy(), relative, drag, half, middle, rubbing, work, rubbed, 0.0)  # fmt: skip
        for d in range(size):
            past[0, d], past[1, d] = 3.0 * a[d] - 2.0 * middle[d], 2.0 * a[d] - middle[d]
    for n in range(count):
        work = all_work[n]
        work[:] = h / 6.0 * powers
        rubbed[0], rubbed[1] = h / 6.0 * last_rubbed[0], 0.0
        all_impulse[n] = h / 6.0 * forces
        for d in range(size):
            trial[d] = u[d] + 0.5 * h * v[d] + h * h / 24.0 * (4.0 * a[d] - past[1, d])
            speed[d] = v[d] + h / 24.0 * (23.0 * a[d] - 16.0 * past[1, d] + 5.0 * past[0, d])
        _half(system, 0.5 * h, loads[2 * n + 1], trial, speed, before, place, rate, held, radius, at_half, status,
              relative, drag, half, middle, rubbing, work, rubbed, 4.0 * h / 6.0)  # fmt: skip
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
        rubbed[0] += h / 6.0 * last_rubbed[0]
        rubbed[1] += last_rubbed[1]
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
            rubbed[1] += last_rubbed[1]
        all_rubbed[n] = rubbed[0] + rubbed[1]
        if not np.isfinite(_dot(u, u) + _dot(v, v)):
            return n
        all_u[n], all_v[n], all_held[n], all_status[n] = u, v, held, status
    return count
