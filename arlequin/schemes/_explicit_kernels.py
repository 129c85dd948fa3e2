"""Explicit steps of small systems under regular laws in compiled loops; equations in the modules of the schemes.

Contact forces (r,) are in N, tractions of friction's springs (r,) in Pa; the dashpots beside them have
`tangential_damping`. `adaptive_steps` serves `arlequin.schemes.runge_kutta`.
"""

from collections import namedtuple

import numpy as np

from arlequin.models.kernel_cache import called_njit, njit
from arlequin.multilevel._interrupts import check_interrupts
from arlequin.multilevel.laws._kernels import layer
from arlequin.multilevel.laws.signature import HISTORY
from arlequin.multilevel.solvers._kernels import OPEN, SLIP, STICK
from arlequin.schemes._system_kernels import add_product, add_transposed, dot, internal_forces, named_system
from arlequin.schemes.loop_data import ExplicitSteps, InverseMass

EXTERNAL, VISCOUS, LAYERS = 0, 1, 2  # works of a step


# Tractions of friction's springs (r,), Pa, radii of their disks (k,), Pa, contact forces (r,), N, status (k,).
_ContactState = namedtuple("_ContactState", "traction radius forces status")


# Displacements and velocities (r,) along the rows of the contact; before (2, r): previous displacements and tractions
# of the springs; dissipation (2, k) by friction: power at this instant, W, and loss since the previous one, J; buffers:
# work space, two of (d,).
_ContactMotion = namedtuple("_ContactMotion", "displacement velocity before dissipation buffers")


# Sums over a step: work (3,): external, dashpots, layers, J; friction (2, k), see `_ContactMotion`.
_Works = namedtuple("_Works", "work friction")


@called_njit()
def _contact_motion(system, size):
    """Arrays of `_ContactMotion` for a system of `size` degrees of freedom."""
    rows, points, buffers = system.laws.first[-1], system.gap.size, (np.empty(size), np.empty(size))
    return _ContactMotion(np.empty(rows), np.empty(rows), np.zeros((2, rows)), np.empty((2, points)), buffers)


@called_njit()
def _move_rows(system, u, v, displacement, velocity):
    """Displacements and velocities (r,) along the rows of the contact."""
    displacement[:] = 0.0
    velocity[:] = 0.0
    add_product(system.basis, u, displacement)
    add_product(system.basis, v, velocity)


@njit(cache=True)
def _pressure(system, k, gap, rate):
    """Pressure of the laws of a point, its dissipative part, and its derivatives by gap and rate."""
    rows, kind, coefficients = system.laws.rows, system.laws.kind, system.laws.coefficients
    total, lossy, by_gap, by_rate = 0.0, 0.0, 0.0, 0.0
    for row in range(rows[k], rows[k + 1]):
        if kind[row] < 0:
            stored, lost, slope, slope_rate = layer(coefficients[row], gap, rate)
        else:  # of an elastic spring, at the end of a step that rests
            history, lost, slope_rate = np.full(HISTORY, gap), 0.0, 0.0
            stored, slope, _, _ = system.laws.kernels[kind[row]](coefficients[row], history, gap, 1.0, 1.0, history)
        total += stored + lost
        lossy += lost
        by_gap += slope
        by_rate += slope_rate
    return total, lossy, by_gap, by_rate


@njit(cache=True)
def _contact(system, span, motion, state):
    """Contact forces after a time `span`, s, with the springs stretched and returned to their disk; `motion.before` is
    updated. Returns the power dissipated by the layers, W.

    The friction loss in between is the mean radius of the disk times the slip.
    """
    gap, laws = system.gap, system.laws
    first, area, friction = laws.first, laws.area, laws.friction
    stiffness, damping = laws.tangential_stiffness, laws.tangential_damping
    displacement, velocity, before, dissipation = (
        motion.displacement,
        motion.velocity,
        motion.before,
        motion.dissipation,
    )
    traction, radius, forces, status = state.traction, state.radius, state.forces, state.status
    power = 0.0
    dissipation[:] = 0.0
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
            tangents = slice(n + 1, end)
            _creep(
                stiffness[k], damping[k], limit, span, before[0, tangents], before[1, tangents], displacement[tangents],
                velocity[tangents], traction[tangents],
            )  # fmt: skip
            excess, loss = damped_pull(damping[k], limit, velocity[tangents], traction[tangents], before[1, tangents])
            dissipation[0, k] = area[k] * loss
            for t in range(n + 1, end):
                forces[t] = area[k] * before[1, t]
            if excess <= 0.0:
                status[k] = STICK
            continue
        for t in range(n + 1, end):
            traction[t] -= stiffness[k] * (displacement[t] - before[0, t])
            size += traction[t] * traction[t]
        size = np.sqrt(size)
        if size > limit:
            dissipation[1, k] = 0.5 * area[k] * (min(radius[k], size) + limit) * (size - limit) / stiffness[k]
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
def _creep(stiffness, damping, limit, span, before, start_traction, displacement, velocity, traction):
    """Traction (t,) of a spring beside a dashpot after `span`, s, from s₀ and the total traction t₀, Pa.

    C ṡ = −K (s − t): with t linear in time s₁ = a + w₁ t₁, a = e⁻ᶻ s₀ + w₀ t₀, z = K Δt/C. In a slip t₁ = R d has the
    direction of s₁ − C v, and so of a − C v, which is longer than (1 − w₁) R; else it sticks and the spring stretches.
    """
    z = stiffness * span / damping
    decay, first, last = 1.0, 0.0, 0.0
    if z > 0.0:
        decay, mean = np.exp(-z), -np.expm1(-z) / z
        first, last = mean - decay, 1.0 - mean
    size = 0.0
    for t in range(traction.size):
        size += (decay * traction[t] + first * start_traction[t] - damping * velocity[t]) ** 2
    size = np.sqrt(size)
    for t in range(traction.size):
        if size <= (1.0 - last) * limit:
            traction[t] -= stiffness * (displacement[t] - before[t])
        else:
            rest = decay * traction[t] + first * start_traction[t]
            traction[t] = rest + last * limit / size * (rest - damping * velocity[t])


@called_njit()
def damped_pull(damping, limit, velocity, traction, tangential):
    """tangential (t,): projection of s − C v onto the disk, Pa. Returns the distance outside the disk, and the
    dissipation ‖s − t‖²/C of the dashpot and −t·w of the slip, w = v − (s − t)/C: W/m²."""
    size = 0.0
    for t in range(traction.size):
        tangential[t] = traction[t] - damping * velocity[t]
        size += tangential[t] * tangential[t]
    size = np.sqrt(size)
    loss = 0.0
    for t in range(traction.size):
        if size > limit:
            tangential[t] *= limit / size
        loss += (traction[t] - tangential[t]) ** 2 / damping
    return size - limit, loss + limit * max(size - limit, 0.0) / damping


@njit(cache=True)
def _total(system, load, u, v, forces, force, buffers):
    """All forces (d,), N, and the power of the dashpots, W; buffers: work space, two of (d,)."""
    relative, drag = buffers
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
    """Stores the state at the end of step n in the fields of the steps."""
    steps.u[n], steps.v[n], steps.traction[n], steps.status[n] = u, v, contact.traction, contact.status
    steps.tries[n] = 1


@called_njit()
def _named(system, kernels, inverse, state, steps):
    """Named tuples from their arrays; state: u, v, tractions and radii of the springs."""
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
        work[VISCOUS] = step * _total(system, loads[n], u, v, contact.forces, force, motion.buffers)
        work[LAYERS] = step * power
        steps.friction_loss[n] = step * motion.dissipation[0]
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
        steps.friction_loss[n] += motion.dissipation[1]
        if not np.isfinite(dot(u, u) + dot(v, v)):
            return n
        _record(steps, n, u, v, contact)
    return count


@called_njit()
def _evaluate_instant(system, span, load, u, v, motion, contact, force, works, weight):
    """Forces (d,) at u, v, a time `span` after `motion.before`; adds works and friction losses with the weight of the
    instant."""
    _move_rows(system, u, v, motion.displacement, motion.velocity)
    power = _contact(system, span, motion, contact)
    works.friction[0] += weight * motion.dissipation[0]
    works.friction[1] += motion.dissipation[1]
    works.work[LAYERS] += weight * power
    works.work[VISCOUS] += weight * _total(system, load, u, v, contact.forces, force, motion.buffers)
    works.work[EXTERNAL] += weight * dot(load, v)


@njit(cache=True)
def vogelaere_steps(count, step, system, kernels, inverse, loads, start, state, steps):
    """`count` steps of De Vogelaere's scheme; returns how many are finite.

    As `euler_steps`, but for loads (2 count + 1, d): at halves of steps; start: whether the past is known, whether
    forces depend on velocities, and past (2, d): accelerations one step and half a step ago.
    """
    system, inverse, u, v, contact, steps = _named(system, kernels, inverse, state, steps)
    has_past, damped, past = start
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
    if not has_past:  # past accelerations by the line through a₀ and a prediction of the first half step
        for d in range(size):
            trial[d] = u[d] + 0.5 * h * v[d] + 0.125 * h * h * a[d]
            velocity[d] = v[d] + 0.5 * h * a[d]
        predicted_contact = _ContactState(
            contact.traction.copy(), contact.radius.copy(), at_half.forces, contact.status.copy()
        )
        predicted_motion = _ContactMotion(
            motion.displacement, motion.velocity, motion.before.copy(), motion.dissipation, motion.buffers
        )
        ignored_works = _Works(np.zeros(3), np.zeros((2, points)))
        _evaluate_instant(
            system, 0.5 * h, loads[1], trial, velocity, predicted_motion, predicted_contact, half, ignored_works, 0.0
        )
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
        if damped:  # forces at the corrected velocity
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


MAX_SUB_STEPS = 100_000  # per step
EVENT_TOLERANCE = 1e-12  # of the location of changes of state, relative to the step
FRICTION_TOLERANCE = 1e-12  # relative to the friction limit: a spring slips above, one with a dashpot sticks below it


@njit(cache=True)
def _load(polynomial, x, load):
    """The load (d,) at x in [−1, 1] of a step, from its polynomial's coefficients (p, d), highest first."""
    load[:] = polynomial[0]
    for i in range(1, polynomial.shape[0]):
        for d in range(load.size):
            load[d] = load[d] * x + polynomial[i, d]


# At an instant: contact forces (r,) and all forces (d,), N, powers (3,) of the works and dissipation by friction (k,),
# W; opening (k,): event function, negative where a point has left its mode.
_Rates = namedtuple("_Rates", "forces force powers dissipation opening")


@called_njit()
def _evaluate(system, inverse, load, y, mode, out, rates, buffers):
    """out = ẏ of y = (u, v, tractions of the springs, loss of the layers), and the `_Rates` there.

    mode (k,): of the points with springs; buffers: work space, three of (r,) and two of (d,).
    """
    gap, laws = system.gap, system.laws
    first, area, friction = laws.first, laws.area, laws.friction
    stiffness, damping = laws.tangential_stiffness, laws.tangential_damping
    forces, force, powers, dissipation, opening = rates
    (displacement, velocity, along), of_bulk = buffers
    size = load.size
    u, v, traction = y[:size], y[size : 2 * size], y[2 * size : y.size - 1]
    _move_rows(system, u, v, displacement, velocity)
    powers[:] = 0.0
    dissipation[:] = 0.0
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
            tangents = slice(n + 1, end)
            excess, loss = damped_pull(damping[k], limit, velocity[tangents], traction[tangents], forces[tangents])
            dissipation[k] = area[k] * loss
            opening[k] = limit * FRICTION_TOLERANCE + (excess if mode[k] == SLIP else -excess)
            if not pressure > 0.0:
                opening[k] = -1.0
            for t in range(n + 1, end):
                forces[t] *= area[k]
            continue
        traction_norm = 0.0
        for t in range(n + 1, end):
            traction_norm += traction[t] * traction[t]
        traction_norm, limit = np.sqrt(traction_norm), friction[k] * pressure
        if mode[k] == OPEN:
            opening[k] = -pressure
        elif mode[k] == STICK:
            opening[k] = limit * (1.0 + FRICTION_TOLERANCE) - traction_norm if pressure > 0.0 else -1.0
        scale = 1.0
        if mode[k] == OPEN:
            scale = 0.0
        elif mode[k] == SLIP:
            scale = limit / traction_norm if traction_norm > 0.0 else 0.0
        for t in range(n + 1, end):
            forces[t] = area[k] * scale * traction[t]
    powers[VISCOUS] = _total(system, load, u, v, forces, force, of_bulk)
    powers[EXTERNAL] = dot(load, v)
    out[:size] = v
    _accelerate(inverse, force, out[size : 2 * size])
    out[2 * size :] = 0.0
    out[y.size - 1] = powers[LAYERS]  # its kinks are resolved too, also where the motion is smooth
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
        traction_norm, across = 0.0, 0.0
        for t in range(n + 1, end):
            traction_norm += traction[t] * traction[t]
            across += traction[t] * velocity[t]
        traction_norm = np.sqrt(traction_norm)
        if not (pressure > 0.0 and traction_norm > 0.0):
            opening[k] = -1.0
            continue
        slipping = -across / traction_norm - friction[k] * (by_gap * velocity[n] + by_rate * along[n]) / stiffness[k]
        opening[k] = slipping
        dissipation[k] = area[k] * friction[k] * pressure * slipping
        for t in range(n + 1, end):
            out[2 * size + t] -= stiffness[k] * slipping * traction[t] / traction_norm


@njit(cache=True)
def _update_modes(system, y, mode, opening, friction_loss):
    """Updates the modes (k,) that have ended; adds the energy of released springs to `friction_loss` (k,), J."""
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
        traction_norm = 0.0
        for t in range(n + 1, end):
            traction_norm += traction[t] * traction[t]
        traction_norm, limit = np.sqrt(traction_norm), friction[k] * max(pressure, 0.0)
        if pressure <= 0.0:
            mode[k] = OPEN
        elif mode[k] == STICK:
            mode[k] = SLIP
        else:
            mode[k] = STICK
        if traction_norm > limit and (damping[k] == 0.0 or mode[k] == OPEN):
            for t in range(n + 1, end):
                traction[t] *= limit / traction_norm
            friction_loss[k] += 0.5 * area[k] * (traction_norm * traction_norm - limit * limit) / stiffness[k]


@njit(cache=True)
def adaptive_steps(count, step, control, system, kernels, inverse, polynomials, state, steps, ends):
    """Up to `count` steps; returns the number of accepted steps, and the size of the next sub-step, s.

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
    buffers = (np.empty(rows), np.empty(rows), np.empty(rows)), (np.empty(size), np.empty(size))
    forces, opening = rates.forces, rates.opening
    push, impulse, work, friction_loss = np.empty(size), np.empty(rows), np.empty(3), np.empty(points)
    sub_step = h = first_step
    for n in range(count):
        polynomial = polynomials[n]
        t, limit, sub_steps = 0.0, step, 0
        while t < step:
            check_interrupts()
            h = min(h, limit)
            last = t + h >= step * (1.0 - 1e-14)
            if last:
                h = step - t
            sub_steps += 1
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
                _evaluate(system, inverse, load, new, mode, k[s], rates, buffers)
                for d in range(size):
                    push[d] += h * b[s] * rates.force[d]
                for r in range(rows):
                    impulse[r] += h * b[s] * forces[r]
                work += h * b[s] * rates.powers
                friction_loss += h * b[s] * rates.dissipation
            for i in range(y.size):
                total = 0.0
                for j in range(stages):
                    total += b[j] * k[j, i]
                new[i] = y[i] + h * total
            _load(polynomial, 2.0 * (t + h) / step - 1.0, load)
            _evaluate(system, inverse, load, new, mode, k[stages], rates, buffers)
            error = _error(k, e3, e5, h, new, largest, tolerance, size, step)
            if not np.isfinite(dot(new, new)) or sub_steps > MAX_SUB_STEPS:
                return n, sub_step
            changes = False
            for p in range(points):
                changes = changes or opening[p] < 0.0
            if error > 1.0:
                h *= max(0.2, 0.9 * error**-0.125)
                limit = step
                continue
            if changes and h > EVENT_TOLERANCE * step:  # event within h: bisection
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
                _update_modes(system, y, mode, opening, steps.friction_loss[n])
                h, limit = sub_step, step
            elif limit < step:  # an event lies ahead, within `limit` − h
                limit -= h
                h = 0.5 * limit if limit > EVENT_TOLERANCE * step else limit
                if limit <= 2.0 * EVENT_TOLERANCE * step:
                    limit = step
            else:
                h *= min(10.0, 0.9 * max(error, 1e-10) ** -0.125)
                if last:  # a sub-step cut off at the end of the step is no measure
                    h = max(h, sub_step)
                sub_step = h
        ends[n] = y
        steps.tries[n] = sub_steps
        for p in range(points):
            steps.status[n, p] = OPEN
            if forces[first[p]] > 0.0:
                steps.status[n, p] = mode[p] if first[p + 1] > first[p] + 1 else SLIP
    return count, sub_step


@called_njit()
def _error(k, e3, e5, h, y_new, largest, tolerance, size, step):
    """Norm of the error estimate of DOP853 relative to the tolerance.

    Entries are scaled by their largest value so far, at least by 1e-4 of that of their kind.
    """
    floors = np.zeros(4)
    for i in range(y_new.size):
        kind = min(i // size, 2) if i < y_new.size - 1 else 3
        floors[kind] = max(floors[kind], 1e-4 * largest[i], 1e-4 * abs(y_new[i]), 1e-4 * step * abs(k[-1, i]))
    five, three = 0.0, 0.0
    for i in range(y_new.size):
        error3, error5 = 0.0, 0.0
        for j in range(k.shape[0]):
            error5 += e5[j] * k[j, i]
            error3 += e3[j] * k[j, i]
        scale = tolerance * max(largest[i], abs(y_new[i]), floors[min(i // size, 2) if i < y_new.size - 1 else 3])
        if scale > 0.0:
            five += (error5 / scale) ** 2
            three += (error3 / scale) ** 2
    if five == 0.0:
        return 0.0
    return abs(h) * five / np.sqrt((five + 0.01 * three) * y_new.size)
