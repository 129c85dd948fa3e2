"""Steps of small linear systems with located events of contact and friction."""

import math
from collections import namedtuple

import numpy as np

from arlequin.models.kernel_cache import called_njit, njit
from arlequin.multilevel._interrupts import check_interrupts
from arlequin.multilevel.laws.signature import HISTORY
from arlequin.multilevel.solvers._borrow_kernels import borrow
from arlequin.multilevel.solvers._kernels import OPEN, SLIP, STICK, allocate_factor
from arlequin.schemes._system_kernels import dot, law_table, named_system
from arlequin.schemes.loop_data import LocatedState, LocatedSteps, ModalSystem

# Suzuki–Yoshida: three steps of order 2 make one of order 4
_OUTER = 1.0 / (2.0 - 2.0 ** (1.0 / 3.0))
_INNER = 1.0 - 2.0 * _OUTER
MAX_EVENTS = 1000  # per step
_BISECTIONS = 52
_DEPENDENT = 1e-10  # pivot, relative to the largest, of a row that depends on others
_PROXIMAL = 1e-6  # proximal term, relative to the largest diagonal entry
_SIMULTANEOUS = 1e-6  # relative distance to a threshold at which it counts as reached together with another
_PENETRATION = 1e3  # in units of the touching gap: deeper points close also while they separate
_FLIGHT_HEIGHT = 1e-2  # relative to the touching gap: lower flights count as contact
_NEGLIGIBLE = 1e-11  # relative to the largest velocity or force at the contact
_APPROACH = 1e-6  # approach velocity for the shock of a jamming point, relative to its slip rate


# Rows (r,) of the points k start at first (k + 1,), the normal first; dynamic (friction) and static coefficients (k,);
# rows B (r, d), and angles T (r, d) and arms (r, 2) of those on rotating bodies, see `_evaluate_rows`, both empty
# without; gap (k,) at u = 0 and touching, the largest gap of closed contact, m.
_Contact = namedtuple("_Contact", "first friction static rows angles arms gap touching")


# mode (k,): OPEN, SLIP or STICK; sign (k,) of the slip; anchor (r,): displacement of closed gaps and sticking points,
# m.
_Modes = namedtuple("_Modes", "mode sign anchor")


# Works of the load, damping, friction and normal impulses, and of the internal forces (5,); impulses (r,), slip and
# wear (k,), and the impulses times the levers of their rows (r,).
_Sums = namedtuple("_Sums", "works impulse slip wear moment")


# At an instant: rows H (r, d), displacements along them, Ḣ v and levers (r,), see `_evaluate_rows`.
_Rows = namedtuple("_Rows", "rows displacement bias levers")


# Interval of length tau, s, in step n of length `step`, from the fraction `begin` of the step on.
_Span = namedtuple("_Span", "n begin tau step")


@njit(cache=True)
def _force(loads, n, s, out):
    """Load (d,) at the fraction s of step n: the cubic through its values at 0, 1/3, 2/3 and 1."""
    a, b, c, e = s, s - 1.0 / 3.0, s - 2.0 / 3.0, s - 1.0
    weights = -4.5 * b * c * e, 13.5 * a * c * e, -13.5 * a * b * e, 4.5 * a * b * c
    for d in range(out.size):
        out[d] = 0.0
        for i in range(4):
            out[d] += weights[i] * loads[n, i, d]


@njit(cache=True)
def _solve(matrix, right, least):
    """right ← matrix⁻¹ right (a, c), with pivots by rows; both are overwritten.

    Returns False if a pivot is not above `least` times the largest: linearly dependent rows.
    """
    size, largest = matrix.shape[0], 0.0
    for i in range(size):
        best = i
        for j in range(i + 1, size):
            if abs(matrix[j, i]) > abs(matrix[best, i]):
                best = j
        largest = max(largest, abs(matrix[best, i]))
        if abs(matrix[best, i]) <= least * largest:
            return False
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
    return True


@njit(cache=True)
def _solve_least_norm(matrix, weights, right, out):
    """out = x (a, c) of matrix x = right with the least Σ x²/w, for dependent rows (proximal iterations)."""
    count, columns = right.shape
    roots = np.sqrt(weights)
    regularised, residual, size = np.empty((count, count)), np.empty((count, columns)), np.zeros(columns)
    out[:] = 0.0
    proximal = 0.0
    for a in range(count):
        proximal = max(proximal, _PROXIMAL * weights[a] * matrix[a, a])
        for c in range(columns):
            size[c] = max(size[c], abs(right[a, c]))
    for _ in range(50):
        done = True
        for a in range(count):
            for c in range(columns):
                residual[a, c] = right[a, c]
                for b in range(count):
                    residual[a, c] -= matrix[a, b] * out[b, c]
                done = done and abs(residual[a, c]) <= 1e-14 * size[c]
                residual[a, c] *= roots[a]
        if done:
            return
        for a in range(count):
            for b in range(count):
                regularised[a, b] = roots[a] * matrix[a, b] * roots[b]
            regularised[a, a] += proximal
        _solve(regularised, residual, 0.0)
        for a in range(count):
            for c in range(columns):
                out[a, c] += roots[a] * residual[a, c]


@called_njit()
def _solve_multipliers(matrix, right, sticks):
    """right ← λ (a, c) of matrix λ = right, also for dependent rows (two corners that stick on a plane).

    sticks (a,): tangential rows, each after its normal. If λ is not unique, that of the least Σ λ_n² + Σ λ_t²/λ_n:
    friction of points on a plane is distributed as the pressure, so that they slip simultaneously.
    """
    count, columns = right.shape
    if count == 0:
        return
    if count == 1:
        for c in range(columns):
            right[0, c] /= matrix[0, 0]
        return
    size = np.empty(count)
    scaled, work, x = np.empty((count, count)), np.empty((count, count)), np.empty((count, columns))
    for a in range(count):
        # about the root of the diagonal entry relative to the first one; a power of two, exact in divisions
        size[a] = math.ldexp(1.0, (math.frexp(matrix[a, a])[1] - math.frexp(matrix[0, 0])[1]) // 2)
    for a in range(count):
        for b in range(count):
            scaled[a, b] = matrix[a, b] / (size[a] * size[b])
            work[a, b] = scaled[a, b]
        for c in range(columns):
            right[a, c] /= size[a]
            x[a, c] = right[a, c]
    if not _solve(work, x, _DEPENDENT):
        weights = size**2
        _solve_least_norm(scaled, weights, right, x)
        largest = 0.0
        for a in range(count):
            if sticks[a]:
                largest = max(largest, x[a - 1, 0] / size[a - 1])
        if largest > 0.0:
            for a in range(count):
                if sticks[a]:
                    weights[a] *= max(x[a - 1, 0] / size[a - 1] / largest, 1e-12)
            _solve_least_norm(scaled, weights, right, x)
    for a in range(count):
        for c in range(columns):
            right[a, c] = x[a, c] / size[a]


@njit(cache=True)
def _inverse(squares, damping, tau):
    """A⁻¹ of A = 1 + τ/2 D + τ²/4 Ω: its diagonal (1, d) where D is a diagonal (1, d), else (d, d)."""
    size = squares.size
    if damping.shape[0] == 1:
        out = np.empty((1, size))
        for d in range(size):
            out[0, d] = 1.0 / (1.0 + 0.5 * tau * damping[0, d] + 0.25 * tau**2 * squares[d])
        return out
    matrix, out = 0.5 * tau * damping, np.zeros((size, size))
    for d in range(size):
        matrix[d, d] += 1.0 + 0.25 * tau**2 * squares[d]
        out[d, d] = 1.0
    _solve(matrix, out, 0.0)
    return out


@njit(cache=True)
def inverse_stages(squares, damping, step):
    """A⁻¹ of the outer and of the inner stages of a whole step."""
    return _inverse(squares, damping, _OUTER * step), _inverse(squares, damping, _INNER * step)


@njit(cache=True)
def _multiply(matrix, x, out):
    """out = A x, A (d, d) or its diagonal (1, d)."""
    if matrix.shape[0] == 1:
        for d in range(x.size):
            out[d] = matrix[0, d] * x[d]
    else:
        for d in range(x.size):
            out[d] = dot(matrix[d], x)


@njit(cache=True)
def _active(contact, modes):
    """Active rows (a,) of the contact, mask (a,) of the tangents among them, and friction factors (a,) on the next row.

    Active are the normals of closed points and the tangents of sticking ones; at slipping points the tangential force
    is −μ s times the normal force.
    """
    first, friction, mode, sign = contact.first, contact.friction, modes.mode, modes.sign
    index, sticks = np.empty(2 * mode.size, dtype=np.int64), np.zeros(2 * mode.size, dtype=np.bool_)
    shares, count = np.zeros(2 * mode.size), 0
    for k in range(mode.size):
        if mode[k] == OPEN:
            continue
        n, rough = first[k], first[k + 1] - first[k] > 1
        index[count] = n
        if rough and mode[k] == SLIP:
            shares[count] = -friction[k] * sign[k]
        count += 1
        if rough and mode[k] == STICK:
            index[count], sticks[count] = n + 1, True
            count += 1
    return index[:count], sticks[:count], shares[:count]


@called_njit()
def _push_columns(rows, index, shares):
    """Force directions E (a, d) of the multipliers of the rows G = rows[index], with friction."""
    pushed = rows[index]
    for a in range(index.size):
        if shares[a] != 0.0:
            pushed[a] += shares[a] * rows[index[a] + 1]
    return pushed


@njit(cache=True)
def _spread(multipliers, index, shares, out):
    """Impulses (r,) on all rows from the multipliers (a, 1) of the active rows."""
    out[:] = 0.0
    for a in range(index.size):
        out[index[a]] = multipliers[a, 0]
        if shares[a] != 0.0:
            out[index[a] + 1] = shares[a] * multipliers[a, 0]


@called_njit()
def _stage(squares, held_rows, pushed, sticks, tau, inverse, load, u, v, work, y, multipliers):
    """One midpoint step (θ = ½) of length τ under the constraints G v = 0: mean velocity y and multipliers."""
    for d in range(u.size):
        work[d] = v[d] + 0.5 * tau * (load[d] - squares[d] * u[d])
    _multiply(inverse, work, y)
    count = held_rows.shape[0]
    if count:
        columns, matrix = np.empty((count, u.size)), np.empty((count, count))
        for a in range(count):
            _multiply(inverse, pushed[a], columns[a])
            multipliers[a, 0] = 0.5 * dot(held_rows[a], v) - dot(held_rows[a], y)
        for a in range(count):
            for b in range(count):
                matrix[a, b] = 0.5 * dot(held_rows[a], columns[b])
        _solve_multipliers(matrix, multipliers, sticks)
        for a in range(count):
            for d in range(u.size):
                y[d] += 0.5 * columns[a, d] * multipliers[a, 0]


@njit(cache=True)
def _advance(modal, contact, loads, span, modes, u, v, sums):
    """Advances u, v (d,) over an interval in three stages; adds works, impulses, slips and wear to `sums`."""
    first, rows, mode, sign = contact.first, contact.rows, modes.mode, modes.sign
    works, squares, step = sums.works, modal.squares, span.step
    index, sticks, shares = _active(contact, modes)
    held_rows, pushed = rows[index], _push_columns(rows, index, shares)
    load, work, y = np.empty(u.size), np.empty(u.size), np.empty(u.size)
    impulses, multipliers = np.empty(rows.shape[0]), np.empty((held_rows.shape[0], 1))
    share = span.begin
    for stage in range(3):
        duration = (_INNER if stage == 1 else _OUTER) * span.tau
        if span.tau == step:
            inverse = modal.inner if stage == 1 else modal.outer
        else:
            inverse = _inverse(squares, modal.damping, duration)
        _force(loads, span.n, share + 0.5 * duration / step, load)
        share += duration / step
        _stage(squares, held_rows, pushed, sticks, duration, inverse, load, u, v, work, y, multipliers)
        _multiply(modal.damping, y, work)
        for d in range(u.size):
            works[0] += duration * load[d] * y[d]
            works[1] += duration * work[d] * y[d]
            works[4] += duration * squares[d] * (u[d] + 0.5 * duration * y[d]) * y[d]
            u[d] += duration * y[d]
            v[d] = 2.0 * y[d] - v[d]
        if not held_rows.shape[0]:
            continue
        _spread(multipliers, index, shares, impulses)
        for r in range(impulses.size):
            sums.impulse[r] += impulses[r]
        for k in range(mode.size):
            r = first[k]
            if mode[k] == OPEN:
                continue
            works[3] -= impulses[r] * dot(rows[r], y)
            if first[k + 1] - r > 1:
                slip_velocity = dot(rows[r + 1], y)
                works[2] -= impulses[r + 1] * slip_velocity
                if mode[k] == SLIP:
                    sums.slip[k] += duration * sign[k] * slip_velocity
                    sums.wear[k] += impulses[r] * sign[k] * slip_velocity


@called_njit()
def _evaluate_rows(contact, u, v, at):
    """Rows H (r, d), displacements (r,) along them, Ḣ v (r,) and the levers (r,) of the angles at u, v.

    w = B u + c (cos θ − 1) + s sin θ,   H = B + h T,   h = s cos θ − c sin θ,   Ḣ v = −(c cos θ + s sin θ) θ̇²,

    θ = T u the angle of the point's part, (c, s) its arm along the row and across. Without angles H is B.
    """
    fixed, turns, arms = contact.rows, contact.angles, contact.arms
    rows, displacement, bias, levers = at
    for r in range(displacement.size):
        displacement[r] = dot(fixed[r], u)
    for r in range(turns.shape[0]):
        angle, rate, along, across = dot(turns[r], u), dot(turns[r], v), arms[r, 0], arms[r, 1]
        sin, cos = np.sin(angle), np.cos(angle)
        displacement[r] += across * sin - 2.0 * along * np.sin(0.5 * angle) ** 2
        levers[r] = across * cos - along * sin
        bias[r] = -(along * cos + across * sin) * rate**2
        for d in range(u.size):
            rows[r, d] = fixed[r, d] + levers[r] * turns[r, d]


@njit(cache=True)
def _free(modal, load, u, v, out):
    """Accelerations (d,) without contact: out = f − Ω u − D v."""
    _multiply(modal.damping, v, out)
    for d in range(u.size):
        out[d] = load[d] - modal.squares[d] * u[d] - out[d]


@njit(cache=True)
def _forces(contact, rows, bias, free, modes, out):
    """Contact forces (r,), N, at an instant, by which the active rows have no acceleration: H v̇ + Ḣ v = 0."""
    index, sticks, shares = _active(contact, modes)
    held_rows, pushed, count = rows[index], _push_columns(rows, index, shares), index.size
    multipliers, matrix = np.empty((count, 1)), np.empty((count, count))
    for a in range(count):
        multipliers[a, 0] = -bias[index[a]] - dot(held_rows[a], free)
        for b in range(count):
            matrix[a, b] = dot(held_rows[a], pushed[b])
    _solve_multipliers(matrix, multipliers, sticks)
    _spread(multipliers, index, shares, out)


@called_njit()
def _project(contact, rows, modes, missing, v):
    """M-orthogonal projection of v (d,) onto the active rows, v ← v − Gᵀ(G Gᵀ)⁻¹ G v; returns the change of u (d,) that
    removes the drift `missing` (r,), m, and the work on v."""
    index, _, _ = _active(contact, modes)
    held_rows, count, change, work = rows[index], index.size, np.zeros(v.size), 0.0
    right, matrix, sticks = np.empty((count, 2)), np.empty((count, count)), np.zeros(count, dtype=np.bool_)
    for a in range(count):
        right[a, 0], right[a, 1] = missing[index[a]], dot(held_rows[a], v)
        for b in range(count):
            matrix[a, b] = dot(held_rows[a], held_rows[b])
    _solve_multipliers(matrix, right, sticks)
    for d in range(v.size):
        removed = 0.0
        for a in range(count):
            change[d] -= held_rows[a, d] * right[a, 0]
            removed += held_rows[a, d] * right[a, 1]
        work -= removed * (v[d] - 0.5 * removed)
        v[d] -= removed
    return change, work


@njit(cache=True)
def _advance_rotating(modal, contact, loads, span, modes, u, v, sums):
    """As `_advance`, with rotating bodies: one Runge–Kutta step of order 4, then a projection.

    The works and impulses are integrated by the same rule. The drift of the active rows from their anchor is removed;
    `works[4]` is the difference between the physical works and the work of the impulses on the mean velocity.
    """
    first, mode, sign = contact.first, modes.mode, modes.sign
    works, tau = sums.works, span.tau
    count, size = modes.anchor.size, u.size
    at = _Rows(contact.rows.copy(), np.empty(count), np.zeros(count), np.zeros(count))
    rows, forces = at.rows, np.empty(count)
    load, rate, drag = np.empty(size), np.empty(size), np.empty(size)
    now_u, now_v, sum_u, sum_v = u.copy(), v.copy(), np.zeros(size), np.zeros(size)
    physical = 0.0
    for stage in range(4):
        share = 0.0 if stage == 0 else (1.0 if stage == 3 else 0.5)
        weight = tau * (1.0 / 6.0 if stage == 0 or stage == 3 else 1.0 / 3.0)
        if stage:
            for d in range(size):
                now_u[d] = u[d] + share * tau * now_v[d]
                now_v[d] = v[d] + share * tau * rate[d]
        _force(loads, span.n, span.begin + share * tau / span.step, load)
        _evaluate_rows(contact, now_u, now_v, at)
        _free(modal, load, now_u, now_v, rate)
        _forces(contact, rows, at.bias, rate, modes, forces)
        _multiply(modal.damping, now_v, drag)
        load_power, damping_power = dot(load, now_v), dot(drag, now_v)
        works[0] += weight * load_power
        works[1] += weight * damping_power
        physical += weight * (load_power - damping_power)
        for r in range(count):
            if forces[r] != 0.0:
                sums.impulse[r] += weight * forces[r]
                sums.moment[r] += weight * forces[r] * at.levers[r]
                for d in range(size):
                    rate[d] += rows[r, d] * forces[r]
        for k in range(mode.size):
            r = first[k]
            if mode[k] == SLIP and first[k + 1] - r > 1:
                slip_velocity = dot(rows[r + 1], now_v)
                works[2] -= weight * forces[r + 1] * slip_velocity
                physical += weight * forces[r + 1] * slip_velocity
                sums.slip[k] += weight * sign[k] * slip_velocity
                sums.wear[k] += weight * forces[r] * sign[k] * slip_velocity
        for d in range(size):
            sum_u[d] += weight * now_v[d]
            sum_v[d] += weight * rate[d]
    work = 0.0
    for d in range(size):
        work += (v[d] + 0.5 * sum_v[d]) * sum_v[d]
        u[d] += sum_u[d]
        v[d] += sum_v[d]
    _evaluate_rows(contact, u, v, at)
    change, projection_work = _project(contact, rows, modes, at.displacement - modes.anchor, v)
    for d in range(size):
        u[d] += change[d]
    works[4] += physical - work - projection_work


@njit(cache=True)
def _move(modal, contact, loads, span, modes, u, v, sums):
    """Advances u, v (d,) over an interval without events; see `_advance` and `_advance_rotating`."""
    if contact.angles.shape[0]:
        _advance_rotating(modal, contact, loads, span, modes, u, v, sums)
    else:
        _advance(modal, contact, loads, span, modes, u, v, sums)


@called_njit()
def _mark_ended_modes(modal, contact, load, modes, u, v, at, free, forces, which):
    """Marks the points (k,) whose mode has ended; returns whether there are any. at, free (d,), forces (r,): receive
    the results of `_evaluate_rows`, `_free` and `_forces` at u, v.

    1: an open point closes; 2: the force of a closed one vanishes; 3: a sticking one reaches its threshold; 4: a
    slipping one comes to rest.
    """
    first, static, gap, touching = contact.first, contact.static, contact.gap, contact.touching
    mode, sign, rows = modes.mode, modes.sign, at.rows
    _evaluate_rows(contact, u, v, at)
    _free(modal, load, u, v, free)
    _forces(contact, rows, at.bias, free, modes, forces)
    scale = 0.0
    for r in range(forces.size):
        scale = max(scale, 1e-2 * _NEGLIGIBLE * abs(forces[r]))
    any_broken, any_slips = False, False
    for k in range(mode.size):
        r, rough = first[k], first[k + 1] - first[k] > 1
        which[k] = 0
        if mode[k] == OPEN:
            opening = gap[k] + at.displacement[r]
            if opening < -_PENETRATION * touching or (opening < 0.0 and dot(rows[r], v) < 0.0):
                which[k] = 1
        elif forces[r] < -scale:
            which[k] = 2
        elif rough and mode[k] == STICK and abs(forces[r + 1]) > static[k] * forces[r] + scale:
            which[k] = 3
            any_slips = True
        elif rough and mode[k] == SLIP and sign[k] * dot(rows[r + 1], v) < 0.0:
            which[k] = 4
        any_broken = any_broken or which[k] != 0
    if any_slips:  # points that share a force reach their thresholds together
        for k in range(mode.size):
            r = first[k]
            near = (1.0 - _SIMULTANEOUS) * static[k] * forces[r]
            if which[k] == 0 and mode[k] == STICK and first[k + 1] - r > 1 and abs(forces[r + 1]) > near:
                which[k] = 3
    return any_broken


@called_njit()
def _normal_response(contact, delassus, k, sense):
    """Normal acceleration of point k by its unit normal force, with friction of sense s: H_nn − μ s H_nt.

    In Painlevé's range, where it is not positive, no force prevents penetration of the obstacle.
    """
    r = contact.first[k]
    return delassus[r, r] - contact.friction[k] * sense * delassus[r, r + 1]


@called_njit()
def _rest_force(h_nn, h_nt, h_tt, edges, normal, tangent):
    """Contact forces (n, t) of a point at rest from its free accelerations (normal, tangent).

    edges: μ_s, μ_d. The point separates, sticks with |t| ≤ μ_s n, or starts to slip against the friction μ_d n.
    """
    static, edge = edges
    if normal >= 0.0:
        return 0.0, 0.0
    det = h_nn * h_tt - h_nt * h_nt
    if det > _DEPENDENT * h_nn * h_tt:
        normal_force, tangential_force = (h_nt * tangent - h_tt * normal) / det, (h_nt * normal - h_nn * tangent) / det
        if abs(tangential_force) <= static * normal_force:
            return normal_force, tangential_force
    for sense in (-1.0, 1.0):
        response = h_nn - edge * sense * h_nt
        if response > _DEPENDENT * h_nn:
            normal_force = -normal / response
            if sense * (tangent + (h_nt - edge * sense * h_tt) * normal_force) >= 0.0:
                return normal_force, -edge * sense * normal_force
    return -normal / h_nn, 0.0


@called_njit()
def _accelerate(contact, free, delassus, closed, slipping, forces, jams):
    """Forces (r,) of the closed points by Gauss–Seidel sweeps from an initial guess; returns the residual.

    slipping: senses (k,), 0 at rest, where the static coefficient applies, and the scale of accelerations. Marks jams.
    """
    first, friction, static = contact.first, contact.friction, contact.static
    senses, scale = slipping
    rest = 0.0
    for _ in range(20000):
        rest = 0.0
        for k in range(closed.size):
            if not closed[k]:
                continue
            r, rough = first[k], first[k + 1] - first[k] > 1
            response, cross = delassus[r, r], 0.0
            acceleration = free[r] + delassus[r] @ forces
            if rough:
                cross = delassus[r, r + 1]
            if rough and senses[k] != 0.0:
                response = _normal_response(contact, delassus, k, senses[k])
                jams[k] = (
                    response <= _DEPENDENT * delassus[r, r]
                    and acceleration - response * forces[r] < -_NEGLIGIBLE * scale
                )
            elif rough and static[k] * abs(cross) >= (1.0 - _SIMULTANEOUS) * response:
                other = delassus[r + 1, r + 1]
                normal_force, tangential_force = forces[r], forces[r + 1]
                forces[r], forces[r + 1] = _rest_force(
                    response, cross, other, (static[k], friction[k]),
                    acceleration - response * normal_force - cross * tangential_force,
                    free[r + 1] + delassus[r + 1] @ forces - cross * normal_force - other * tangential_force,
                )  # fmt: skip
                rest = max(
                    rest, max(abs(forces[r] - normal_force) * response, abs(forces[r + 1] - tangential_force) * other)
                )
                continue
            new_force = max(forces[r] - acceleration / response, 0.0) if response > _DEPENDENT * delassus[r, r] else 0.0
            rest = max(rest, abs(new_force - forces[r]) * abs(response))
            forces[r] = new_force
            if rough:
                if senses[k] != 0.0:
                    forces[r + 1] = -friction[k] * senses[k] * new_force
                else:
                    acceleration = free[r + 1] + delassus[r + 1] @ forces
                    limit = static[k] * new_force
                    new_force = min(max(forces[r + 1] - acceleration / delassus[r + 1, r + 1], -limit), limit)
                    rest = max(rest, abs(new_force - forces[r + 1]) * delassus[r + 1, r + 1])
                    forces[r + 1] = new_force
        if rest <= 1e-15 * scale:
            break
    return rest


@called_njit()
def _determine_modes(contact, free, velocity, delassus, closed, limits, which, modes, jams):
    """Modes of the closed points (k,) from their accelerations under dry friction (Gauss–Seidel).

    A closed point with ġ > 0 opens; a slipping one keeps its direction, and one that has reached its threshold starts
    in that of `sign`; one at rest sticks, or starts to slip in the direction of its acceleration. Where the static
    coefficient is above the dynamic one, points at rest first have the static one; those that slip then get the dynamic
    one, until no further point starts to slip. free, velocity (r,): accelerations without contact forces and velocities
    of the rows; limits: negligible velocities along the normals and the tangents. jams (k,): marks points in Painlevé's
    range that would penetrate under any force. Returns the residual of the iteration.
    """
    first, friction, static, mode, sign = contact.first, contact.friction, contact.static, modes.mode, modes.sign
    forces = np.zeros(free.size)
    senses = np.zeros(mode.size)
    jams[:] = False
    for k in range(mode.size):
        r = first[k]
        if closed[k] and velocity[r] > limits[0]:
            closed[k] = False
        if which[k] == 3:
            senses[k] = sign[k]
        elif first[k + 1] - r > 1 and abs(velocity[r + 1]) > limits[1]:
            senses[k] = np.sign(velocity[r + 1])
    scale = max(np.abs(free).max(), 1e-300) if free.size else 1.0
    rest = 0.0
    acceleration = free.copy()
    for _ in range(1 + mode.size):
        rest = _accelerate(contact, free, delassus, closed, (senses, scale), forces, jams)
        acceleration[:] = free + delassus @ forces
        drops = False
        for k in range(mode.size):
            r = first[k]
            if (
                senses[k] == 0.0
                and static[k] > friction[k]
                and forces[r] > 0.0
                and abs(acceleration[r + 1]) > _NEGLIGIBLE * scale
            ):
                senses[k] = np.sign(acceleration[r + 1])
                drops = True
        if not drops:
            break
    for k in range(mode.size):
        r, rough = first[k], first[k + 1] - first[k] > 1
        mode[k] = OPEN
        if not closed[k] or (forces[r] == 0.0 and acceleration[r] > _NEGLIGIBLE * scale):
            continue
        mode[k] = SLIP
        if rough and senses[k] != 0.0:
            sign[k] = senses[k]
        elif rough:
            if abs(forces[r + 1]) < static[k] * forces[r] or abs(acceleration[r + 1]) <= _NEGLIGIBLE * scale:
                mode[k] = STICK
            else:
                sign[k] = np.sign(acceleration[r + 1])
    return rest / scale


@called_njit()
def _impulses(laws, delassus, closed, before):
    """Impulses (r,) without rebound on rows of the velocities `before` (r,), with Coulomb's law of the dynamic
    coefficient between them; the residual."""
    count, points = before.size, closed.size
    impulses, history = np.zeros(count), np.zeros((0, HISTORY))
    normal, status = np.zeros((3, points)), np.zeros(points, dtype=np.int8)
    _, residual, _ = laws.solve(
        (delassus, 1.0, np.ones(points), before, closed, 1.0, 0.5, 1.0), law_table(laws), laws.kernels, history,
        np.zeros((3, count)), (0, 1.0, 0.0, 20000), (impulses, history.copy(), normal, status),
        allocate_factor(0),
    )  # fmt: skip
    return impulses, residual


@called_njit()
def _apply_impulses(contact, rows, impulses, v, sums):
    """Applies impulses (r,) to the velocities v (d,); adds the impulses and their works to `sums`."""
    first, works = contact.first, sums.works
    before = rows @ v
    v += rows.T @ impulses
    after = rows @ v
    sums.impulse[:] += impulses
    for k in range(first.size - 1):
        r = first[k]
        works[3] -= 0.5 * impulses[r] * (before[r] + after[r])
        if first[k + 1] - r > 1:
            works[2] -= 0.5 * impulses[r + 1] * (before[r + 1] + after[r + 1])


@called_njit()
def _shock(contact, laws, rows, delassus, closed, jams, v):
    """Impulses (r,) of jamming points: a shock without approach velocity, after which they stick or reverse; residual.

    It is the limit of the impact without rebound for a vanishing approach velocity. The modes are determined with a
    small approach velocity, the impulses then without.
    """
    first, friction = contact.first, contact.friction
    before = rows @ v
    for k in range(closed.size):
        if jams[k]:
            before[first[k]] = min(before[first[k]], -_APPROACH * abs(before[first[k] + 1]))
    impulses, residual = _impulses(laws, delassus, closed, before)
    modes = _Modes(np.zeros(closed.size, dtype=np.int64), np.ones(closed.size), np.zeros(impulses.size))
    mode, sign = modes.mode, modes.sign
    for k in range(closed.size):
        r = first[k]
        mode[k] = SLIP if impulses[r] > 0.0 else OPEN
        if mode[k] == SLIP and first[k + 1] - r > 1:
            if abs(impulses[r + 1]) < (1.0 - _SIMULTANEOUS) * friction[k] * impulses[r]:
                mode[k] = STICK
            else:
                sign[k] = -np.sign(impulses[r + 1])
    _forces(contact, rows, np.zeros(impulses.size), v, modes, impulses)
    return impulses, residual


@called_njit()
def _start_modes(modal, contact, laws, at, load, limits, closed, which, modes, u, v, sums):
    """Impact of the closed points (k,), their modes after it, and anchors of new sticking points; returns the residual.

    limits: the length of the step, s, and the fastest velocity of the contact so far, m/s.
    """
    step, fastest = limits
    first, mode, rows = contact.first, modes.mode, at.rows
    delassus, worst, free = rows @ rows.T, 0.0, np.empty(v.size)
    hits, jams = False, np.zeros(mode.size, dtype=np.bool_)
    for k in range(mode.size):
        hits = hits or (closed[k] and dot(rows[first[k]], v) < -_NEGLIGIBLE * fastest)
    before = mode.copy()
    for attempt in range(1 + mode.size):
        if hits or attempt:
            if attempt:
                impulses, residual = _shock(contact, laws, rows, delassus, closed, jams, v)
            else:
                impulses, residual = _impulses(laws, delassus, closed, rows @ v)
            worst = max(worst, residual)
            _apply_impulses(contact, rows, impulses, v, sums)
            sums.moment[:] += at.levers * impulses
            if contact.angles.shape[0]:
                _evaluate_rows(contact, u, v, at)
        _free(modal, load, u, v, free)
        accelerations = rows @ free + at.bias
        least = step * np.abs(accelerations).max() * _NEGLIGIBLE
        along = max(_NEGLIGIBLE * fastest, least)
        normal = along
        if contact.angles.shape[0]:  # a flight as low as the round-off of the gaps is none
            normal = max(normal, np.sqrt(2.0 * np.abs(accelerations).max() * _FLIGHT_HEIGHT * contact.touching))
        rest = _determine_modes(contact, accelerations, rows @ v, delassus, closed, (normal, along), which, modes, jams)
        if not jams.any():
            break
    worst = max(worst, 1.0 if jams.any() else rest)
    for k in range(mode.size):
        if mode[k] == STICK and before[k] != STICK and first[k + 1] - first[k] > 1:
            modes.anchor[first[k] + 1] = at.displacement[first[k] + 1]
    if contact.angles.shape[0]:
        _, work = _project(contact, rows, modes, np.zeros(at.displacement.size), v)
        sums.works[3] -= work
    return worst


@njit(cache=True)
def located_steps(count, step, system, kernels, solvers, modal, rows, loads, begins, state, steps):
    """Up to `count` steps; returns the number of accepted steps (fewer: more than MAX_EVENTS events in the next one, or
    a contact problem that was not solved, residual ∞).

    Plain tuples of `CompiledSystem`, whose laws and gaps these are, `ModalSystem`, `LocatedState`, which becomes that
    of the last step, and `LocatedSteps`. rows: B (r, d), angles (r, d) and arms (r, 2), see `_evaluate_rows`, and the
    static coefficients (k,); loads (count, 4, d) at 0, 1/3, 2/3 and 1 of each step; begins: whether the run starts
    here.
    """
    system, modal, loads = named_system(borrow(system), kernels, solvers[0]), ModalSystem(*borrow(modal)), borrow(loads)
    state, steps, laws = LocatedState(*borrow(state)), LocatedSteps(*borrow(steps)), system.laws
    by_rows, angles, arms, static = borrow(rows)
    contact = _Contact(laws.first, laws.friction, static, by_rows, angles, arms, system.gap, system.touching)
    modes = _Modes(state.mode, state.sign, state.anchor)
    u, v, mode, sign, fastest = state.u, state.v, state.mode, state.sign, state.fastest
    first, gap, touching = contact.first, contact.gap, contact.touching
    points, size, count_rows = gap.size, u.size, contact.rows.shape[0]
    which, closed = np.zeros(points, dtype=np.int64), np.zeros(points, dtype=np.bool_)
    was_slipping = np.zeros(points, dtype=np.bool_)
    load, free, forces = np.empty(size), np.empty(size), np.zeros(count_rows)
    at = _Rows(contact.rows.copy(), np.zeros(count_rows), np.zeros(count_rows), np.zeros(count_rows))
    start = LocatedState(u.copy(), v.copy(), mode.copy(), sign.copy(), state.anchor.copy(), fastest.copy())
    trial_u, trial_v = np.empty(size), np.empty(size)
    trial = _Sums(np.zeros(5), np.zeros(count_rows), np.zeros(points), np.zeros(points), np.zeros(count_rows))
    for n in range(count):
        start.u[:], start.v[:], start.mode[:], start.sign[:], start.anchor[:] = u, v, mode, sign, state.anchor
        begin, event_count, worst = 0.0, 0, 0.0
        total = _Sums(steps.works[n], steps.impulse[n], steps.slip[n], steps.wear[n], steps.moment[n])
        modes_changed = begins and n == 0
        while True:  # at most MAX_EVENTS times
            check_interrupts()
            _evaluate_rows(contact, u, v, at)
            for r in range(count_rows):
                fastest[0] = max(fastest[0], abs(dot(at.rows[r], v)))
            if modes_changed and points:  # at the start of the run, and after an event
                _force(loads, n, begin, load)
                for k in range(points):
                    at_start = begins and n == 0 and event_count == 0 and gap[k] + at.displacement[first[k]] <= touching
                    closed[k] = mode[k] != OPEN or which[k] == 1 or at_start
                    if which[k] == 2 and first[k + 1] - first[k] > 1 and was_slipping[k]:
                        closed[k] = _normal_response(contact, at.rows @ at.rows.T, k, sign[k]) <= 0.0
                residual = _start_modes(
                    modal, contact, laws, at, load, (step, fastest[0]), closed, which, modes, u, v, total
                )
                worst = max(worst, residual)
                if not residual < np.inf:
                    steps.residual[n] = np.inf
                    return n
            # the rest of the step; if a mode ends in it, bisection of [low, high]: none has ended at low, one at high
            remaining = (1.0 - begin) * step
            low, high, tau, broken = 0.0, remaining, step if begin == 0.0 else remaining, False
            for attempt in range(_BISECTIONS + 2):
                trial_u[:], trial_v[:] = u, v
                for sums in trial:
                    sums[:] = 0.0
                _move(modal, contact, loads, _Span(n, begin, tau, step), modes, trial_u, trial_v, trial)
                _force(loads, n, 1.0 if attempt == 0 else begin + tau / step, load)
                broken = points > 0 and _mark_ended_modes(
                    modal, contact, load, modes, trial_u, trial_v, at, free, forces, which
                )  # fmt: skip
                if attempt == 0 and not broken:
                    break
                if attempt > 0 and not broken:
                    low = tau
                else:
                    high = min(tau, remaining)
                tau = 0.5 * (low + high) if attempt < _BISECTIONS else high
            u[:], v[:] = trial_u, trial_v
            _add_sums(trial, total)
            if not broken:
                break
            begin += high / step
            for k in range(points):
                if which[k] == 2:
                    was_slipping[k] = mode[k] == SLIP
                    mode[k] = OPEN
                elif which[k] == 3:
                    sign[k] = -np.sign(forces[first[k] + 1])
            event_count += 1
            modes_changed = True
            if event_count > MAX_EVENTS:
                u[:], v[:], mode[:], sign[:], state.anchor[:] = start.u, start.v, start.mode, start.sign, start.anchor
                return n
        _evaluate_rows(contact, u, v, at)
        steps.u[n], steps.v[n] = u, v
        for k in range(points):
            steps.status[n, k] = mode[k]
            steps.gaps[n, k] = gap[k] + at.displacement[first[k]]
        steps.events[n], steps.last[n], steps.residual[n] = event_count, begin, worst
    return count


@called_njit()
def _add_sums(more, total):
    """total += more."""
    total.works[:] += more.works
    total.impulse[:] += more.impulse
    total.slip[:] += more.slip
    total.wear[:] += more.wear
    total.moment[:] += more.moment
