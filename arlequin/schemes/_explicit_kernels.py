"""Explicit steps of small systems under regular laws in compiled loops; equations in the schemes' own files.

Contact forces (r,) are in N, tractions of friction's springs (r,) in Pa; the dashpots beside them have
`tangential_damping`. `adaptive_steps` serves `arlequin.schemes.runge_kutta`.
"""

from collections import namedtuple

import numpy as np

from arlequin.models.kernel_cache import called_njit, njit
from arlequin.multilevel._interrupts import check_interrupts
from arlequin.multilevel.laws._kernels import layer
from arlequin.multilevel.solvers._kernels import OPEN, SLIP, STICK
from arlequin.schemes._system_kernels import add_product, add_transposed, dot, internal_forces, named_system
from arlequin.schemes.loop_data import ExplicitSteps, InverseMass

EXTERNAL, VISCOUS, LAYERS = 0, 1, 2  # works of a step


# Tractions of friction's springs (r,), Pa, radii of their disks (k,), Pa, contact forces (r,), N, status (k,).
_ContactState = namedtuple("_ContactState", "traction radius forces status")


# Displacements and velocities (r,) along the rows of the contact; before (2, r): displacements and tractions that the
# springs come from; rubbing (2, k): what friction takes at this instant, W, and what it took since, J; room: work
# space, two of (d,).
_ContactMotion = namedtuple("_ContactMotion", "displacement velocity before rubbing room")


# Sums over a step: work (3,): external, dashpots, layers, J; friction (2, k), see `_ContactMotion`.
_Works = namedtuple("_Works", "work friction")


@called_njit()
def _contact_motion(system, size):
    """Room for that of a system of `size` degrees of freedom."""
    rows, points, room = system.laws.first[-1], system.gap.size, (np.empty(size), np.empty(size))
    return _ContactMotion(np.empty(rows), np.empty(rows), np.zeros((2, rows)), np.empty((2, points)), room)


@called_njit()
def _move_rows(system, u, v, displacement, velocity):
    """Displacements and velocities (r,) along the rows of the contact."""
    displacement[:] = 0.0
    velocity[:] = 0.0
    add_product(system.basis, u, displacement)
    add_product(system.basis, v, velocity)


@njit(cache=True)
def _pressure(system, k, gap, rate):
    """Pressure of the laws of a point, its share that dissipates, and its slopes by gap and rate."""
    rows, coefficients = system.laws.rows, system.laws.coefficients
    total, lossy, by_gap, by_rate = 0.0, 0.0, 0.0, 0.0
    for row in range(rows[k], rows[k + 1]):
        stored, lost, slope, slope_rate = layer(coefficients[row], gap, rate)
        total += stored + lost
        lossy += lost
        by_gap += slope
        by_rate += slope_rate
    return total, lossy, by_gap, by_rate


@njit(cache=True)
def _contact(system, span, motion, state):
    """Contact forces at a displacement, the springs stretched from one a time `span` ago and returned to their disk;
    `motion.before` becomes that of now. Returns the power that the layers take, W.

    What friction took on the way is the mean of the radii that a spring has met times what slipped.
    """
    gap, laws = system.gap, system.laws
    first, area, friction = laws.first, laws.area, laws.friction
    stiffness, damping = laws.tangential_stiffness, laws.tangential_damping
    displacement, velocity, before, rubbing = motion.displacement, motion.velocity, motion.before, motion.rubbing
    traction, radius, forces, status = state.traction, state.radius, state.forces, state.status
    power = 0.0
    rubbing[:] = 0.0
    for k in range(gap.size):
        n, end = first[k], first[k + 1]
        pressure, lossy, _, _ = _pressure(system, k, gap[k] + displacement[n], velocity[n])
        power -= area[k] * lossy * velocity[n]
        forces[n] = area[k] * pressure
        status[k] = SLIP if pressure > 0.0 else OPEN
        if end == n + 1:
            continue
        limit, size = friction[k] * pressure, 0.0
        if damping[k] > 0.0 and pressure > 0.0:
            own = slice(n + 1, end)
            _creep(
                stiffness[k], damping[k], limit, span, before[0, own], before[1, own], displacement[own],
                velocity[own], traction[own],
            )  # fmt: skip
            over, taken = damped_pull(damping[k], limit, velocity[own], traction[own], before[1, own])
            rubbing[0, k] = area[k] * taken
            for t in range(n + 1, end):
                forces[t] = area[k] * before[1, t]
            if over <= 0.0:
                status[k] = STICK
            continue
        for t in range(n + 1, end):
            traction[t] -= stiffness[k] * (displacement[t] - before[0, t])
            size += traction[t] * traction[t]
        size = np.sqrt(size)
        if size > limit:
            rubbing[1, k] = 0.5 * area[k] * (min(radius[k], size) + limit) * (size - limit) / stiffness[k]
            for t in range(n + 1, end):
                traction[t] *= limit / size
        elif pressure > 0.0:
            status[k] = STICK
        radius[k] = limit
        for t in range(n + 1, end):
            forces[t], before[1, t] = area[k] * traction[t], traction[t]
    before[0] = displacement
    return power


@called_njit()
def _creep(stiffness, damping, limit, span, before, pulled, displacement, velocity, traction):
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
    for t in range(traction.size):
        size += (kept * traction[t] + first * pulled[t] - damping * velocity[t]) ** 2
    size = np.sqrt(size)
    for t in range(traction.size):
        if size <= (1.0 - last) * limit:
            traction[t] -= stiffness * (displacement[t] - before[t])
        else:
            rest = kept * traction[t] + first * pulled[t]
            traction[t] = rest + last * limit / size * (rest - damping * velocity[t])


@called_njit()
def damped_pull(damping, limit, velocity, traction, pull):
    """pull (t,): the point of the disk next to s − C v, Pa. Returns how far beyond the edge this is, and what is taken,
    ‖s − t‖²/C on the dashpot and −t·w on what slips, w = v − (s − t)/C: W/m²."""
    size = 0.0
    for t in range(traction.size):
        pull[t] = traction[t] - damping * velocity[t]
        size += pull[t] * pull[t]
    size = np.sqrt(size)
    taken = 0.0
    for t in range(traction.size):
        if size > limit:
            pull[t] *= limit / size
        taken += (traction[t] - pull[t]) ** 2 / damping
    return size - limit, taken + limit * max(size - limit, 0.0) / damping


@njit(cache=True)
def _total(system, load, u, v, forces, force, room):
    """All forces (d,), N, and the power of the dashpots, W; room: work space, two of (d,)."""
    relative, drag = room
    power = 0.0
    drag[:] = 0.0
    internal_forces(system.strains, u, relative, force)
    if system.viscous.starts.size > 1:
        add_product(system.viscous, v, drag)
        for d in range(u.size):
            power += v[d] * drag[d]
    for d in range(u.size):
        force[d] = load[d] - force[d] - drag[d]
    add_transposed(system.basis, forces, force)
    return max(power, 0.0)


@called_njit()
def _accelerate(inverse, force, out):
    """out = M⁻¹ force, constraints kept."""
    if inverse.dense.size:
        out[:] = inverse.dense @ force
    else:
        for d in range(out.size):
            out[d] = inverse.diagonal[d] * force[d]


@njit(cache=True)
def _record(steps, n, u, v, contact):
    """Puts the state at the end of step n into the fields of all steps."""
    steps.u[n], steps.v[n], steps.traction[n], steps.status[n] = u, v, contact.traction, contact.status
    steps.tries[n] = 1


@called_njit()
def _named(system, kernels, inverse, state, steps):
    """The structures of their arrays; state: u, v, tractions and radii of the springs."""
    u, v, traction, radius = state
    contact = _ContactState(traction, radius, np.zeros(traction.size), np.zeros(radius.size, dtype=np.int8))
    return named_system(system, kernels, None), InverseMass(*inverse), u, v, contact, ExplicitSteps(*steps)


@njit(cache=True)
def euler_steps(count, step, system, kernels, inverse, loads, state, steps):
    """`count` steps of symplectic Euler; returns how many are finite.

    Plain tuples of `CompiledSystem`, `InverseMass` and `ExplicitSteps`; loads (count + 1, d), N; state: u, v (d,),
    tractions (r,) and radii (k,) of friction's springs, Pa, which become those of the last step.
    """
    system, inverse, u, v, contact, steps = _named(system, kernels, inverse, state, steps)
    size, motion = u.size, _contact_motion(system, u.size)
    force, a = np.empty(size), np.empty(size)
    _move_rows(system, u, v, motion.displacement, motion.velocity)
    motion.before[0] = motion.displacement
    power = _contact(system, 0.0, motion, contact)
    for n in range(count):
        work = steps.works[n]
        work[VISCOUS] = step * _total(system, loads[n], u, v, contact.forces, force, motion.room)
        work[LAYERS] = step * power
        steps.friction_loss[n] = step * motion.rubbing[0]
        _accelerate(inverse, force, a)
        for d in range(size):
            v[d] += step * a[d]
            u[d] += step * v[d]
            steps.push[n, d] = step * force[d]
        work[EXTERNAL] = step * dot(loads[n], v)
        for r in range(contact.forces.size):
            steps.impulse[n, r] = step * contact.forces[r]
        _move_rows(system, u, v, motion.displacement, motion.velocity)
        power = _contact(system, step, motion, contact)
        steps.friction_loss[n] += motion.rubbing[1]
        if not np.isfinite(dot(u, u) + dot(v, v)):
            return n
        _record(steps, n, u, v, contact)
    return count


@called_njit()
def _evaluate_instant(system, span, load, u, v, motion, contact, force, works, weight):
    """Forces (d,) at u, v, a time `span` after `motion.before`; works, and what friction takes, with the weight of
    their instant."""
    _move_rows(system, u, v, motion.displacement, motion.velocity)
    power = _contact(system, span, motion, contact)
    works.friction[0] += weight * motion.rubbing[0]
    works.friction[1] += motion.rubbing[1]
    works.work[LAYERS] += weight * power
    works.work[VISCOUS] += weight * _total(system, load, u, v, contact.forces, force, motion.room)
    works.work[EXTERNAL] += weight * dot(load, v)


@njit(cache=True)
def vogelaere_steps(count, step, system, kernels, inverse, loads, start, state, steps):
    """`count` steps of De Vogelaere's scheme; returns how many are finite.

    As `euler_steps`, but for loads (2 count + 1, d): at halves of steps; start: whether the past is known, whether
    forces depend on velocities, and past (2, d): accelerations one step and half a step ago.
    """
    system, inverse, u, v, contact, steps = _named(system, kernels, inverse, state, steps)
    begun, damped, past = start
    size, h, points = u.size, step, system.gap.size
    motion = _contact_motion(system, size)
    now, half, end = np.empty(size), np.empty(size), np.empty(size)  # forces
    a, middle, last = np.empty(size), np.empty(size), np.empty(size)  # accelerations
    trial, velocity, mean = np.empty(size), np.empty(size), np.empty(size)
    _move_rows(system, u, v, motion.displacement, motion.velocity)
    motion.before[0] = motion.displacement
    at_half = _ContactState(contact.traction, contact.radius, np.empty(contact.forces.size), contact.status)
    at_end = _Works(np.zeros(3), np.zeros((2, points)))
    _evaluate_instant(system, 0.0, loads[0], u, v, motion, contact, now, at_end, 1.0)
    _accelerate(inverse, now, a)
    friction_loss = np.zeros((2, points))
    if not begun:  # past accelerations by the line through a₀ and a prediction of the first half step
        for d in range(size):
            trial[d] = u[d] + 0.5 * h * v[d] + 0.125 * h * h * a[d]
            velocity[d] = v[d] + 0.5 * h * a[d]
        tried = _ContactState(contact.traction.copy(), contact.radius.copy(), at_half.forces, contact.status.copy())
        moved = _ContactMotion(motion.displacement, motion.velocity, motion.before.copy(), motion.rubbing, motion.room)
        unused = _Works(np.zeros(3), np.zeros((2, points)))
        _evaluate_instant(system, 0.5 * h, loads[1], trial, velocity, moved, tried, half, unused, 0.0)
        _accelerate(inverse, half, middle)
        for d in range(size):
            past[0, d], past[1, d] = 3.0 * a[d] - 2.0 * middle[d], 2.0 * a[d] - middle[d]
    for n in range(count):
        works = _Works(steps.works[n], friction_loss)
        works.work[:] = h / 6.0 * at_end.work
        friction_loss[0], friction_loss[1] = h / 6.0 * at_end.friction[0], 0.0
        steps.impulse[n] = h / 6.0 * contact.forces
        for d in range(size):
            trial[d] = u[d] + 0.5 * h * v[d] + h * h / 24.0 * (4.0 * a[d] - past[1, d])
            velocity[d] = v[d] + h / 24.0 * (23.0 * a[d] - 16.0 * past[1, d] + 5.0 * past[0, d])
        load = loads[2 * n + 1]
        _evaluate_instant(system, 0.5 * h, load, trial, velocity, motion, at_half, half, works, 4.0 * h / 6.0)
        _accelerate(inverse, half, middle)
        for r in range(contact.forces.size):
            steps.impulse[n, r] += 4.0 * h / 6.0 * at_half.forces[r]
        for d in range(size):
            trial[d] = u[d] + h * v[d] + h * h / 6.0 * (a[d] + 2.0 * middle[d])
            velocity[d] = v[d] + h / 6.0 * (past[1, d] - 2.0 * a[d] + 7.0 * middle[d])
        at_end.work[:] = 0.0
        at_end.friction[:] = 0.0
        load = loads[2 * n + 2]
        _evaluate_instant(system, 0.5 * h, load, trial, velocity, motion, contact, end, at_end, 1.0)
        _accelerate(inverse, end, last)
        works.work[:] += h / 6.0 * at_end.work
        friction_loss[0] += h / 6.0 * at_end.friction[0]
        friction_loss[1] += at_end.friction[1]
        for r in range(contact.forces.size):
            steps.impulse[n, r] += h / 6.0 * contact.forces[r]
        for d in range(size):
            steps.push[n, d] = h / 6.0 * (now[d] + 4.0 * half[d] + end[d])
        _accelerate(inverse, steps.push[n], mean)
        for d in range(size):
            past[0, d], past[1, d] = a[d], middle[d]
            u[d] = trial[d]
            v[d] += mean[d]
            a[d], now[d] = last[d], end[d]
        if damped:  # the forces once more, at the velocity that they have led to
            at_end.work[:] = 0.0
            at_end.friction[:] = 0.0
            _evaluate_instant(system, 0.0, load, u, v, motion, contact, now, at_end, 1.0)
            _accelerate(inverse, now, a)
            friction_loss[1] += at_end.friction[1]
        steps.friction_loss[n] = friction_loss[0] + friction_loss[1]
        if not np.isfinite(dot(u, u) + dot(v, v)):
            return n
        _record(steps, n, u, v, contact)
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


# At an instant: contact forces (r,) and all forces (d,), N, powers (3,) of the works and what friction takes (k,), W;
# opening (k,): what falls below zero when a point leaves its mode.
_Rates = namedtuple("_Rates", "forces force powers rubbing opening")


@called_njit()
def _evaluate(system, inverse, load, y, mode, out, rates, room):
    """out = ẏ of y = (u, v, tractions of the springs, loss of the layers), and the `_Rates` there.

    mode (k,): of the points with springs; room: work space, three of (r,) and two of (d,).
    """
    gap, laws = system.gap, system.laws
    first, area, friction = laws.first, laws.area, laws.friction
    stiffness, damping = laws.tangential_stiffness, laws.tangential_damping
    forces, force, powers, rubbing, opening = rates
    (displacement, velocity, along), of_bulk = room
    size = load.size
    u, v, traction = y[:size], y[size : 2 * size], y[2 * size : y.size - 1]
    _move_rows(system, u, v, displacement, velocity)
    powers[:] = 0.0
    rubbing[:] = 0.0
    for k in range(gap.size):
        n, end = first[k], first[k + 1]
        pressure, lossy, _, _ = _pressure(system, k, gap[k] + displacement[n], velocity[n])
        forces[n] = area[k] * pressure
        powers[LAYERS] -= area[k] * lossy * velocity[n]
        opening[k] = 1.0
        if end == n + 1 or friction[k] == 0.0:
            for t in range(n + 1, end):
                forces[t] = 0.0
            continue
        if damping[k] > 0.0 and mode[k] != OPEN:
            limit = friction[k] * max(pressure, 0.0)
            own = slice(n + 1, end)
            over, taken = damped_pull(damping[k], limit, velocity[own], traction[own], forces[own])
            rubbing[k] = area[k] * taken
            opening[k] = limit * EDGE + (over if mode[k] == SLIP else -over)
            if not pressure > 0.0:
                opening[k] = -1.0
            for t in range(n + 1, end):
                forces[t] *= area[k]
            continue
        stretched = 0.0
        for t in range(n + 1, end):
            stretched += traction[t] * traction[t]
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
            forces[t] = area[k] * scale * traction[t]
    powers[VISCOUS] = _total(system, load, u, v, forces, force, of_bulk)
    powers[EXTERNAL] = dot(load, v)
    out[:size] = v
    _accelerate(inverse, force, out[size : 2 * size])
    out[2 * size :] = 0.0
    out[y.size - 1] = powers[LAYERS]  # so that its kinks, which the motion may not feel, are resolved too
    moving = False
    for k in range(gap.size):
        moving = moving or (mode[k] == SLIP and damping[k] == 0.0)
    if moving:
        along[:] = 0.0
        add_product(system.basis, out[size : 2 * size], along)
    for k in range(gap.size):
        n, end = first[k], first[k + 1]
        if end == n + 1 or mode[k] == OPEN:
            continue
        for t in range(n + 1, end):
            if damping[k] > 0.0:
                out[2 * size + t] = -stiffness[k] / damping[k] * (traction[t] - forces[t] / area[k])
            else:
                out[2 * size + t] = -stiffness[k] * velocity[t]
        if mode[k] != SLIP or damping[k] > 0.0:
            continue
        pressure, _, by_gap, by_rate = _pressure(system, k, gap[k] + displacement[n], velocity[n])
        stretched, across = 0.0, 0.0
        for t in range(n + 1, end):
            stretched += traction[t] * traction[t]
            across += traction[t] * velocity[t]
        stretched = np.sqrt(stretched)
        if not (pressure > 0.0 and stretched > 0.0):
            opening[k] = -1.0
            continue
        slipping = -across / stretched - friction[k] * (by_gap * velocity[n] + by_rate * along[n]) / stiffness[k]
        opening[k] = slipping
        rubbing[k] = area[k] * friction[k] * pressure * slipping
        for t in range(n + 1, end):
            out[2 * size + t] -= stiffness[k] * slipping * traction[t] / stretched


@njit(cache=True)
def _change(system, y, mode, opening, friction_loss):
    """The modes after those that have ended; adds what the springs that let go had stored to `friction_loss` (k,),
    J."""
    gap, laws = system.gap, system.laws
    first, area, friction = laws.first, laws.area, laws.friction
    stiffness, damping = laws.tangential_stiffness, laws.tangential_damping
    count = gap.size
    rows = first[count]
    size = (y.size - rows - 1) // 2
    traction = y[2 * size : y.size - 1]
    displacement, velocity = np.empty(rows), np.empty(rows)
    _move_rows(system, y[:size], y[size : 2 * size], displacement, velocity)
    for k in range(count):
        n, end = first[k], first[k + 1]
        if opening[k] >= 0.0 or end == n + 1:
            continue
        pressure, _, _, _ = _pressure(system, k, gap[k] + displacement[n], velocity[n])
        stretched = 0.0
        for t in range(n + 1, end):
            stretched += traction[t] * traction[t]
        stretched, limit = np.sqrt(stretched), friction[k] * max(pressure, 0.0)
        if pressure <= 0.0:
            mode[k] = OPEN
        elif mode[k] == STICK:
            mode[k] = SLIP
        else:
            mode[k] = STICK
        if stretched > limit and (damping[k] == 0.0 or mode[k] == OPEN):
            for t in range(n + 1, end):
                traction[t] *= limit / stretched
            friction_loss[k] += 0.5 * area[k] * (stretched * stretched - limit * limit) / stiffness[k]


@njit(cache=True)
def adaptive_steps(count, step, control, system, kernels, inverse, polynomials, state, steps, ends):
    """`count` steps; returns how many were accepted, and the size of the next sub-step, s.

    control: tolerance, size of the first sub-step, tableau (A, B, C, E3, E5) of DOP853. system, inverse, steps: as of
    `euler_steps`; polynomials (count, p, d): see `_load`. state: y, mode (k,), and the largest size of each entry of y
    so far, which become those of the end; ends (count, y): y at the ends of the steps.
    """
    tolerance, first_step, (big_a, b, c, e3, e5) = control
    system, inverse, steps = named_system(system, kernels, None), InverseMass(*inverse), ExplicitSteps(*steps)
    y, mode, largest = state
    first, points, stages = system.laws.first, system.gap.size, b.size
    rows = first[points]
    size = (y.size - rows - 1) // 2
    k, new, load = np.empty((stages + 1, y.size)), np.empty(y.size), np.empty(size)
    rates = _Rates(np.empty(rows), np.empty(size), np.empty(3), np.empty(points), np.empty(points))
    room = (np.empty(rows), np.empty(rows), np.empty(rows)), (np.empty(size), np.empty(size))
    forces, opening = rates.forces, rates.opening
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
                _evaluate(system, inverse, load, new, mode, k[s], rates, room)
                for d in range(size):
                    push[d] += h * b[s] * rates.force[d]
                for r in range(rows):
                    impulse[r] += h * b[s] * forces[r]
                work += h * b[s] * rates.powers
                friction_loss += h * b[s] * rates.rubbing
            for i in range(y.size):
                total = 0.0
                for j in range(stages):
                    total += b[j] * k[j, i]
                new[i] = y[i] + h * total
            _load(polynomial, 2.0 * (t + h) / step - 1.0, load)
            _evaluate(system, inverse, load, new, mode, k[stages], rates, room)
            error = _error(k, e3, e5, h, new, largest, tolerance, size, step)
            if not np.isfinite(dot(new, new)) or used > MOST:
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
            steps.push[n] += push
            steps.impulse[n] += impulse
            steps.works[n] += work
            steps.friction_loss[n] += np.maximum(friction_loss, 0.0)  # some weights are negative
            if changes:
                _change(system, y, mode, opening, steps.friction_loss[n])
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
        ends[n] = y
        steps.tries[n] = used
        for p in range(points):
            steps.status[n, p] = OPEN
            if forces[first[p]] > 0.0:
                steps.status[n, p] = mode[p] if first[p + 1] > first[p] + 1 else SLIP
    return count, usual


@called_njit()
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
