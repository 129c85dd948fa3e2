"""Steps of small linear systems with the events of contact and friction located inside them."""

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
MOST_EVENTS = 1000  # in a step
_HALVINGS = 52
_DEPENDENT = 1e-10  # pivot, relative to the largest, of a row that depends on others
_PROXIMAL = 1e-6  # of the largest diagonal entry
_TOGETHER = 1e-6  # of a threshold, below which it counts as reached with another
_DEEP = 1e3  # touching gaps below which a point that opens has met its partner all the same
_LOW = 1e-2  # of the gap that counts as none: a flight up to this height is none
_SMALL = 1e-11  # of the largest velocity or force at the contact: none
_PUSH = 1e-6  # of the slip rate of a point that jams: the approach under which its shock is found


# Rows (r,) of the points k start at first (k + 1,), the normal first; coefficients (k,) of points that slip, friction,
# and of those that stick, static; rows B (r, d), and angles T (r, d) and arms (r, 2) of those on rotating bodies, see
# `_look`, both empty without; gap (k,) at u = 0 and the largest that counts as none, m.
_Contact = namedtuple("_Contact", "first friction static rows angles arms gap touching")


# mode (k,): OPEN, SLIP or STICK; sign (k,) of the slip; anchor (r,): where sticking points and closed gaps stand, m.
_Modes = namedtuple("_Modes", "mode sign anchor")


# Works of the load, damping, friction and normal impulses, and of the internal forces (5,); impulses (r,), slip and
# wear (k,), and the impulses times the levers of their rows (r,).
_Sums = namedtuple("_Sums", "works impulse slip wear moment")


# At an instant: rows H (r, d), displacements along them, Ḣ v and levers (r,), see `_look`.
_Rows = namedtuple("_Rows", "rows displacement bias levers")


# `tau` seconds of step n, of the length `step`, from the share `begin` of it on.
_Span = namedtuple("_Span", "n begin tau step")


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
def _solve(matrix, right, least):
    """right ← matrix⁻¹ right (a, c), with pivots by rows; both are overwritten.

    False where a pivot is not more than `least` times the largest: rows depend on each other.
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
def _least(matrix, weights, right, out):
    """out = x (a, c) of matrix x = right with the least Σ x²/w, where rows depend on each other (proximal steps)."""
    count, columns = right.shape
    roots = np.sqrt(weights)
    softened, rest, size = np.empty((count, count)), np.empty((count, columns)), np.zeros(columns)
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
                rest[a, c] = right[a, c]
                for b in range(count):
                    rest[a, c] -= matrix[a, b] * out[b, c]
                done = done and abs(rest[a, c]) <= 1e-14 * size[c]
                rest[a, c] *= roots[a]
        if done:
            return
        for a in range(count):
            for b in range(count):
                softened[a, b] = roots[a] * matrix[a, b] * roots[b]
            softened[a, a] += proximal
        _solve(softened, rest, 0.0)
        for a in range(count):
            for c in range(columns):
                out[a, c] += roots[a] * rest[a, c]


@called_njit()
def _hold(matrix, right, sticks):
    """right ← λ (a, c) of matrix λ = right, also where rows depend on each other (two corners that stick on a plane).

    sticks (a,): rows of tangents, each after its normal. Of all λ that with the least Σ λ_n² + Σ λ_t²/λ_n: on a plane
    the points then share the friction as they share the pressure, and slip together.
    """
    count, columns = right.shape
    if count == 0:
        return
    if count == 1:
        for c in range(columns):
            right[0, c] /= matrix[0, 0]
        return
    size = np.empty(count)
    scaled, other, x = np.empty((count, count)), np.empty((count, count)), np.empty((count, columns))
    for a in range(count):
        # about the root of its entry over the first one's, and exact to divide by
        size[a] = math.ldexp(1.0, (math.frexp(matrix[a, a])[1] - math.frexp(matrix[0, 0])[1]) // 2)
    for a in range(count):
        for b in range(count):
            scaled[a, b] = matrix[a, b] / (size[a] * size[b])
            other[a, b] = scaled[a, b]
        for c in range(columns):
            right[a, c] /= size[a]
            x[a, c] = right[a, c]
    if not _solve(other, x, _DEPENDENT):
        weights = size**2
        _least(scaled, weights, right, x)
        most = 0.0
        for a in range(count):
            if sticks[a]:
                most = max(most, x[a - 1, 0] / size[a - 1])
        if most > 0.0:
            for a in range(count):
                if sticks[a]:
                    weights[a] *= max(x[a - 1, 0] / size[a - 1] / most, 1e-12)
            _least(scaled, weights, right, x)
    for a in range(count):
        for c in range(columns):
            right[a, c] = x[a, c] / size[a]


@njit(cache=True)
def _inverse(squares, damping, tau):
    """A⁻¹ of A = 1 + τ/2 D + τ²/4 Ω: its diagonal (1, d) where D is given by its own, else all of it (d, d)."""
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
def _times(matrix, x, out):
    """out = A x, A (d, d) or its diagonal (1, d)."""
    if matrix.shape[0] == 1:
        for d in range(x.size):
            out[d] = matrix[0, d] * x[d]
    else:
        for d in range(x.size):
            out[d] = dot(matrix[d], x)


@njit(cache=True)
def _active(contact, modes):
    """Rows (a,) of the contact that do not move, which of them are tangents (a,), and shares (a,) of the next row.

    A closed point's normal; its tangent too where it sticks; where it slips, the push of its normal takes the share
    −μ s of the tangent with it.
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
def _pushed(rows, index, shares):
    """Columns E (a, d) along which the multipliers of the rows G = rows[index] push."""
    pushed = rows[index]
    for a in range(index.size):
        if shares[a] != 0.0:
            pushed[a] += shares[a] * rows[index[a] + 1]
    return pushed


@njit(cache=True)
def _spread(multipliers, index, shares, out):
    """Impulses (r,) on all rows from those (a, 0) of the active ones."""
    out[:] = 0.0
    for a in range(index.size):
        out[index[a]] = multipliers[a, 0]
        if shares[a] != 0.0:
            out[index[a] + 1] = shares[a] * multipliers[a, 0]


@called_njit()
def _stage(squares, held, pushed, sticks, tau, inverse, load, u, v, work, y, multipliers):
    """One midpoint step of length τ (θ = ½) with the rows G held: its mean velocity y and multipliers."""
    for d in range(u.size):
        work[d] = v[d] + 0.5 * tau * (load[d] - squares[d] * u[d])
    _times(inverse, work, y)
    count = held.shape[0]
    if count:
        columns, matrix = np.empty((count, u.size)), np.empty((count, count))
        for a in range(count):
            _times(inverse, pushed[a], columns[a])
            multipliers[a, 0] = 0.5 * dot(held[a], v) - dot(held[a], y)
        for a in range(count):
            for b in range(count):
                matrix[a, b] = 0.5 * dot(held[a], columns[b])
        _hold(matrix, multipliers, sticks)
        for a in range(count):
            for d in range(u.size):
                y[d] += 0.5 * columns[a, d] * multipliers[a, 0]


@njit(cache=True)
def _advance(modal, contact, loads, span, modes, u, v, sums):
    """Moves u, v (d,) over a span in three stages, and adds up the works, impulses, slips and wear."""
    first, rows, mode, sign = contact.first, contact.rows, modes.mode, modes.sign
    works, squares, step = sums.works, modal.squares, span.step
    index, sticks, shares = _active(contact, modes)
    held, pushed = rows[index], _pushed(rows, index, shares)
    load, work, y = np.empty(u.size), np.empty(u.size), np.empty(u.size)
    own, multipliers = np.empty(rows.shape[0]), np.empty((held.shape[0], 1))
    share = span.begin
    for stage in range(3):
        part = (_INNER if stage == 1 else _OUTER) * span.tau
        if span.tau == step:
            inverse = modal.inner if stage == 1 else modal.outer
        else:
            inverse = _inverse(squares, modal.damping, part)
        _force(loads, span.n, share + 0.5 * part / step, load)
        share += part / step
        _stage(squares, held, pushed, sticks, part, inverse, load, u, v, work, y, multipliers)
        _times(modal.damping, y, work)
        for d in range(u.size):
            works[0] += part * load[d] * y[d]
            works[1] += part * work[d] * y[d]
            works[4] += part * squares[d] * (u[d] + 0.5 * part * y[d]) * y[d]
            u[d] += part * y[d]
            v[d] = 2.0 * y[d] - v[d]
        if not held.shape[0]:
            continue
        _spread(multipliers, index, shares, own)
        for r in range(own.size):
            sums.impulse[r] += own[r]
        for k in range(mode.size):
            r = first[k]
            if mode[k] == OPEN:
                continue
            works[3] -= own[r] * dot(rows[r], y)
            if first[k + 1] - r > 1:
                moved = dot(rows[r + 1], y)
                works[2] -= own[r + 1] * moved
                if mode[k] == SLIP:
                    sums.slip[k] += part * sign[k] * moved
                    sums.wear[k] += own[r] * sign[k] * moved


@called_njit()
def _look(contact, u, v, at):
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
    _times(modal.damping, v, out)
    for d in range(u.size):
        out[d] = load[d] - modal.squares[d] * u[d] - out[d]


@njit(cache=True)
def _forces(contact, rows, bias, free, modes, out):
    """Contact forces (r,) at an instant: those that keep the held rows at rest, H v̇ + Ḣ v = 0."""
    index, sticks, shares = _active(contact, modes)
    held, pushed, count = rows[index], _pushed(rows, index, shares), index.size
    multipliers, matrix = np.empty((count, 1)), np.empty((count, count))
    for a in range(count):
        multipliers[a, 0] = -bias[index[a]] - dot(held[a], free)
        for b in range(count):
            matrix[a, b] = dot(held[a], pushed[b])
    _hold(matrix, multipliers, sticks)
    _spread(multipliers, index, shares, out)


@called_njit()
def _project(contact, rows, modes, missing, v):
    """Takes from v (d,) what moves along the held rows; returns the change of u (d,) that undoes `missing` (r,), m, and
    the work on v (M-orthogonal: v ← v − Gᵀ(G Gᵀ)⁻¹ G v)."""
    index, _, _ = _active(contact, modes)
    held, count, change, work = rows[index], index.size, np.zeros(v.size), 0.0
    right, matrix, sticks = np.empty((count, 2)), np.empty((count, count)), np.zeros(count, dtype=np.bool_)
    for a in range(count):
        right[a, 0], right[a, 1] = missing[index[a]], dot(held[a], v)
        for b in range(count):
            matrix[a, b] = dot(held[a], held[b])
    _hold(matrix, right, sticks)
    for d in range(v.size):
        taken = 0.0
        for a in range(count):
            change[d] -= held[a, d] * right[a, 0]
            taken += held[a, d] * right[a, 1]
        work -= taken * (v[d] - 0.5 * taken)
        v[d] -= taken
    return change, work


@njit(cache=True)
def _swing(modal, contact, loads, span, modes, u, v, sums):
    """Moves u, v (d,) over a span as `_advance` does, where bodies rotate: one Runge–Kutta step of order 4, then a
    projection.

    The works and impulses are integrated by the same rule. What the held rows have drifted from their anchor is undone;
    `works[4]` is what the physical works differ by from the impulses' on the mean velocity.
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
        part = tau * (1.0 / 6.0 if stage == 0 or stage == 3 else 1.0 / 3.0)
        if stage:
            for d in range(size):
                now_u[d] = u[d] + share * tau * now_v[d]
                now_v[d] = v[d] + share * tau * rate[d]
        _force(loads, span.n, span.begin + share * tau / span.step, load)
        _look(contact, now_u, now_v, at)
        _free(modal, load, now_u, now_v, rate)
        _forces(contact, rows, at.bias, rate, modes, forces)
        _times(modal.damping, now_v, drag)
        pushed, lost = dot(load, now_v), dot(drag, now_v)
        works[0] += part * pushed
        works[1] += part * lost
        physical += part * (pushed - lost)
        for r in range(count):
            if forces[r] != 0.0:
                sums.impulse[r] += part * forces[r]
                sums.moment[r] += part * forces[r] * at.levers[r]
                for d in range(size):
                    rate[d] += rows[r, d] * forces[r]
        for k in range(mode.size):
            r = first[k]
            if mode[k] == SLIP and first[k + 1] - r > 1:
                moved = dot(rows[r + 1], now_v)
                works[2] -= part * forces[r + 1] * moved
                physical += part * forces[r + 1] * moved
                sums.slip[k] += part * sign[k] * moved
                sums.wear[k] += part * forces[r] * sign[k] * moved
        for d in range(size):
            sum_u[d] += part * now_v[d]
            sum_v[d] += part * rate[d]
    work = 0.0
    for d in range(size):
        work += (v[d] + 0.5 * sum_v[d]) * sum_v[d]
        u[d] += sum_u[d]
        v[d] += sum_v[d]
    _look(contact, u, v, at)
    change, taken = _project(contact, rows, modes, at.displacement - modes.anchor, v)
    for d in range(size):
        u[d] += change[d]
    works[4] += physical - work - taken


@njit(cache=True)
def _move(modal, contact, loads, span, modes, u, v, sums):
    """Moves u, v (d,) over a span without events; see `_advance` and `_swing`."""
    if contact.angles.shape[0]:
        _swing(modal, contact, loads, span, modes, u, v, sums)
    else:
        _advance(modal, contact, loads, span, modes, u, v, sums)


@called_njit()
def _broken(modal, contact, load, modes, u, v, at, free, forces, which):
    """Marks the points (k,) whose mode no longer holds; returns whether there are any. at, free (d,), forces (r,):
    receive what `_look`, `_free` and `_forces` give at u, v.

    1 an open point meets its partner, 2 the force of a closed one has fallen to zero, 3 a sticking one has reached its
    threshold, 4 a slipping one has come to rest.
    """
    first, static, gap, touching = contact.first, contact.static, contact.gap, contact.touching
    mode, sign, rows = modes.mode, modes.sign, at.rows
    _look(contact, u, v, at)
    _free(modal, load, u, v, free)
    _forces(contact, rows, at.bias, free, modes, forces)
    scale = 0.0
    for r in range(forces.size):
        scale = max(scale, 1e-2 * _SMALL * abs(forces[r]))
    any_broken, any_slips = False, False
    for k in range(mode.size):
        r, rough = first[k], first[k + 1] - first[k] > 1
        which[k] = 0
        if mode[k] == OPEN:
            opening = gap[k] + at.displacement[r]
            if opening < -_DEEP * touching or (opening < 0.0 and dot(rows[r], v) < 0.0):
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
            near = (1.0 - _TOGETHER) * static[k] * forces[r]
            if which[k] == 0 and mode[k] == STICK and first[k + 1] - r > 1 and abs(forces[r + 1]) > near:
                which[k] = 3
    return any_broken


@called_njit()
def _push(contact, delassus, k, sense):
    """What a unit force of the point k, which slips in a sense, adds to its normal acceleration: H_nn − μ s H_nt.

    In Painlevé's range, where it is not positive, no force can stop the point from dipping below its obstacle.
    """
    r = contact.first[k]
    return delassus[r, r] - contact.friction[k] * sense * delassus[r, r + 1]


@called_njit()
def _rest_force(own, cross, other, edges, normal, tangent):
    """Forces (n, t) of one point at rest from its accelerations (normal, tangent) without them.

    own, cross, other: H_nn, H_nt, H_tt; edges: μ_s, μ_d. It stays apart, sticks with |t| ≤ μ_s n, or starts to slip
    against the friction μ_d n.
    """
    static, edge = edges
    if normal >= 0.0:
        return 0.0, 0.0
    det = own * other - cross * cross
    if det > _DEPENDENT * own * other:
        push, pull = (cross * tangent - other * normal) / det, (cross * normal - own * tangent) / det
        if abs(pull) <= static * push:
            return push, pull
    for sense in (-1.0, 1.0):
        stiff = own - edge * sense * cross
        if stiff > _DEPENDENT * own:
            push = -normal / stiff
            if sense * (tangent + (cross - edge * sense * other) * push) >= 0.0:
                return push, -edge * sense * push
    return -normal / own, 0.0


@called_njit()
def _accelerate(contact, free, delassus, closed, slipping, forces, jams):
    """Forces (r,) of the closed points, improved from those given by Gauss–Seidel sweeps; returns the rest.

    slipping: senses (k,), 0 at rest, where the static coefficient holds, and the size of an acceleration. Marks jams.
    """
    first, friction, static = contact.first, contact.friction, contact.static
    slips, scale = slipping
    rest = 0.0
    for _ in range(20000):
        rest = 0.0
        for k in range(closed.size):
            if not closed[k]:
                continue
            r, rough = first[k], first[k + 1] - first[k] > 1
            stiff, cross = delassus[r, r], 0.0
            own = free[r] + delassus[r] @ forces
            if rough:
                cross = delassus[r, r + 1]
            if rough and slips[k] != 0.0:
                stiff = _push(contact, delassus, k, slips[k])
                jams[k] = stiff <= _DEPENDENT * delassus[r, r] and own - stiff * forces[r] < -_SMALL * scale
            elif rough and static[k] * abs(cross) >= (1.0 - _TOGETHER) * stiff:
                other = delassus[r + 1, r + 1]
                push, pull = forces[r], forces[r + 1]
                forces[r], forces[r + 1] = _rest_force(
                    stiff, cross, other, (static[k], friction[k]), own - stiff * push - cross * pull,
                    free[r + 1] + delassus[r + 1] @ forces - cross * push - other * pull,
                )  # fmt: skip
                rest = max(rest, max(abs(forces[r] - push) * stiff, abs(forces[r + 1] - pull) * other))
                continue
            new = max(forces[r] - own / stiff, 0.0) if stiff > _DEPENDENT * delassus[r, r] else 0.0
            rest = max(rest, abs(new - forces[r]) * abs(stiff))
            forces[r] = new
            if rough:
                if slips[k] != 0.0:
                    forces[r + 1] = -friction[k] * slips[k] * new
                else:
                    own = free[r + 1] + delassus[r + 1] @ forces
                    edge = static[k] * new
                    new = min(max(forces[r + 1] - own / delassus[r + 1, r + 1], -edge), edge)
                    rest = max(rest, abs(new - forces[r + 1]) * delassus[r + 1, r + 1])
                    forces[r + 1] = new
        if rest <= 1e-15 * scale:
            break
    return rest


@called_njit()
def _settle(contact, free, velocity, delassus, closed, limits, which, modes, jams):
    """Modes of the closed points (k,) from the accelerations that dry friction allows them (Gauss–Seidel).

    A closed point that parts, ġ > 0, is open; one that slips keeps its direction, and one that has reached its
    threshold starts in that of `sign`; one at rest sticks, or starts in the direction in which the load wins. Where the
    static coefficient is above the dynamic one, all that is at rest is first held by the static one; what slips then
    falls to the dynamic one, until no other point is set free by that. free, velocity (r,): accelerations without
    contact forces and velocities of the rows; limits: what is no velocity along the normals and the tangents. jams
    (k,): marks those in Painlevé's range that would dip below their obstacle whatever their force. Returns the rest of
    the iteration.
    """
    first, friction, static, mode, sign = contact.first, contact.friction, contact.static, modes.mode, modes.sign
    forces = np.zeros(free.size)
    slips = np.zeros(mode.size)
    jams[:] = False
    for k in range(mode.size):
        r = first[k]
        if closed[k] and velocity[r] > limits[0]:
            closed[k] = False
        if which[k] == 3:
            slips[k] = sign[k]
        elif first[k + 1] - r > 1 and abs(velocity[r + 1]) > limits[1]:
            slips[k] = np.sign(velocity[r + 1])
    scale = max(np.abs(free).max(), 1e-300) if free.size else 1.0
    rest = 0.0
    moved = free.copy()
    for _ in range(1 + mode.size):
        rest = _accelerate(contact, free, delassus, closed, (slips, scale), forces, jams)
        moved[:] = free + delassus @ forces
        falls = False
        for k in range(mode.size):
            r = first[k]
            if slips[k] == 0.0 and static[k] > friction[k] and forces[r] > 0.0 and abs(moved[r + 1]) > _SMALL * scale:
                slips[k] = np.sign(moved[r + 1])
                falls = True
        if not falls:
            break
    for k in range(mode.size):
        r, rough = first[k], first[k + 1] - first[k] > 1
        mode[k] = OPEN
        if not closed[k] or (forces[r] == 0.0 and moved[r] > _SMALL * scale):
            continue
        mode[k] = SLIP
        if rough and slips[k] != 0.0:
            sign[k] = slips[k]
        elif rough:
            if abs(forces[r + 1]) < static[k] * forces[r] or abs(moved[r + 1]) <= _SMALL * scale:
                mode[k] = STICK
            else:
                sign[k] = np.sign(moved[r + 1])
    return rest / scale


@called_njit()
def _impulses(laws, delassus, closed, before):
    """Impulses (r,) without rebound on rows of the velocities `before` (r,), with Coulomb's law of the dynamic
    coefficient between them; the residual."""
    count, points = before.size, closed.size
    own, history = np.zeros(count), np.zeros((0, HISTORY))
    normal, status = np.zeros((3, points)), np.zeros(points, dtype=np.int8)
    _, residual, _ = laws.solve(
        (delassus, 1.0, np.ones(points), before, closed, 1.0, 0.5, 1.0), law_table(laws), laws.kernels, history,
        np.zeros((3, count)), (0, 1.0, 0.0, 20000), (own, history.copy(), normal, status),
        allocate_factor(0),
    )  # fmt: skip
    return own, residual


@called_njit()
def _strike(contact, rows, own, v, sums):
    """Takes the impulses `own` (r,) to the velocities v (d,), and adds them and their works up."""
    first, works = contact.first, sums.works
    before = rows @ v
    v += rows.T @ own
    after = rows @ v
    sums.impulse[:] += own
    for k in range(first.size - 1):
        r = first[k]
        works[3] -= 0.5 * own[r] * (before[r] + after[r])
        if first[k + 1] - r > 1:
            works[2] -= 0.5 * own[r + 1] * (before[r + 1] + after[r + 1])


@called_njit()
def _shock(contact, laws, rows, delassus, closed, jams, v):
    """Impulses (r,) of points that jam: a shock without approach, by which they stick or turn back; the residual.

    It is the limit of the impact without rebound for an approach that vanishes: its small impulses are ruled out where
    points jam. What the points do in it is found with an approach, its impulses then without.
    """
    first, friction = contact.first, contact.friction
    before = rows @ v
    for k in range(closed.size):
        if jams[k]:
            before[first[k]] = min(before[first[k]], -_PUSH * abs(before[first[k] + 1]))
    own, residual = _impulses(laws, delassus, closed, before)
    modes = _Modes(np.zeros(closed.size, dtype=np.int64), np.ones(closed.size), np.zeros(own.size))
    mode, sign = modes.mode, modes.sign
    for k in range(closed.size):
        r = first[k]
        mode[k] = SLIP if own[r] > 0.0 else OPEN
        if mode[k] == SLIP and first[k + 1] - r > 1:
            if abs(own[r + 1]) < (1.0 - _TOGETHER) * friction[k] * own[r]:
                mode[k] = STICK
            else:
                sign[k] = -np.sign(own[r + 1])
    _forces(contact, rows, np.zeros(own.size), v, modes, own)
    return own, residual


@called_njit()
def _enter(modal, contact, laws, at, load, limits, closed, which, modes, u, v, sums):
    """Impact of the closed points (k,), their modes after it, and where those that now stick do; returns the rest.

    limits: the length of the step, s, and the fastest velocity of the contact so far, m/s.
    """
    step, fastest = limits
    first, mode, rows = contact.first, modes.mode, at.rows
    delassus, worst, free = rows @ rows.T, 0.0, np.empty(v.size)
    hits, jams = False, np.zeros(mode.size, dtype=np.bool_)
    for k in range(mode.size):
        hits = hits or (closed[k] and dot(rows[first[k]], v) < -_SMALL * fastest)
    before = mode.copy()
    for attempt in range(1 + mode.size):
        if hits or attempt:
            if attempt:
                own, residual = _shock(contact, laws, rows, delassus, closed, jams, v)
            else:
                own, residual = _impulses(laws, delassus, closed, rows @ v)
            worst = max(worst, residual)
            _strike(contact, rows, own, v, sums)
            sums.moment[:] += at.levers * own
            if contact.angles.shape[0]:
                _look(contact, u, v, at)
        _free(modal, load, u, v, free)
        pulled = rows @ free + at.bias
        least = step * np.abs(pulled).max() * _SMALL
        along = max(_SMALL * fastest, least)
        normal = along
        if contact.angles.shape[0]:  # a flight as low as the round-off of the gaps is none
            normal = max(normal, np.sqrt(2.0 * np.abs(pulled).max() * _LOW * contact.touching))
        rest = _settle(contact, pulled, rows @ v, delassus, closed, (normal, along), which, modes, jams)
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
    """Up to `count` steps; returns how many were taken (fewer: more than MOST_EVENTS events in the next one, or
    a contact problem that was not solved, residual ∞).

    Plain tuples of `CompiledSystem`, whose laws and gaps these are, `ModalSystem`, `LocatedState`, which becomes that
    of the last step, and `LocatedSteps`. rows: B (r, d), angles (r, d) and arms (r, 2), see `_look`, and the static
    coefficients (k,); loads (count, 4, d) at 0, 1/3, 2/3 and 1 of each step; begins: there are no steps before.
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
    slid = np.zeros(points, dtype=np.bool_)
    load, free, forces = np.empty(size), np.empty(size), np.zeros(count_rows)
    at = _Rows(contact.rows.copy(), np.zeros(count_rows), np.zeros(count_rows), np.zeros(count_rows))
    start = LocatedState(u.copy(), v.copy(), mode.copy(), sign.copy(), state.anchor.copy(), fastest.copy())
    trial_u, trial_v = np.empty(size), np.empty(size)
    trial = _Sums(np.zeros(5), np.zeros(count_rows), np.zeros(points), np.zeros(points), np.zeros(count_rows))
    for n in range(count):
        start.u[:], start.v[:], start.mode[:], start.sign[:], start.anchor[:] = u, v, mode, sign, state.anchor
        begin, found, worst = 0.0, 0, 0.0
        total = _Sums(steps.works[n], steps.impulse[n], steps.slip[n], steps.wear[n], steps.moment[n])
        fresh = begins and n == 0
        while True:  # at most MOST_EVENTS times
            check_interrupts()
            _look(contact, u, v, at)
            for r in range(count_rows):
                fastest[0] = max(fastest[0], abs(dot(at.rows[r], v)))
            if fresh and points:  # what starts, and what an event has left
                _force(loads, n, begin, load)
                for k in range(points):
                    at_start = begins and n == 0 and found == 0 and gap[k] + at.displacement[first[k]] <= touching
                    closed[k] = mode[k] != OPEN or which[k] == 1 or at_start
                    if which[k] == 2 and first[k + 1] - first[k] > 1 and slid[k]:
                        closed[k] = _push(contact, at.rows @ at.rows.T, k, sign[k]) <= 0.0
                rest = _enter(modal, contact, laws, at, load, (step, fastest[0]), closed, which, modes, u, v, total)
                worst = max(worst, rest)
                if not rest < np.inf:
                    steps.residual[n] = np.inf
                    return n
            # the rest of the step; if it breaks a mode, halve [low, high]: none is broken at low, one is at high
            rest = (1.0 - begin) * step
            low, high, tau, broken = 0.0, rest, step if begin == 0.0 else rest, False
            for attempt in range(_HALVINGS + 2):
                trial_u[:], trial_v[:] = u, v
                for part in trial:
                    part[:] = 0.0
                _move(modal, contact, loads, _Span(n, begin, tau, step), modes, trial_u, trial_v, trial)
                _force(loads, n, 1.0 if attempt == 0 else begin + tau / step, load)
                broken = points > 0 and _broken(
                    modal, contact, load, modes, trial_u, trial_v, at, free, forces, which
                )  # fmt: skip
                if attempt == 0 and not broken:
                    break
                if attempt > 0 and not broken:
                    low = tau
                else:
                    high = min(tau, rest)
                tau = 0.5 * (low + high) if attempt < _HALVINGS else high
            u[:], v[:] = trial_u, trial_v
            _add_sums(trial, total)
            if not broken:
                break
            begin += high / step
            for k in range(points):
                if which[k] == 2:
                    slid[k] = mode[k] == SLIP
                    mode[k] = OPEN
                elif which[k] == 3:
                    sign[k] = -np.sign(forces[first[k] + 1])
            found += 1
            fresh = True
            if found > MOST_EVENTS:
                u[:], v[:], mode[:], sign[:], state.anchor[:] = start.u, start.v, start.mode, start.sign, start.anchor
                return n
        _look(contact, u, v, at)
        steps.u[n], steps.v[n] = u, v
        for k in range(points):
            steps.status[n, k] = mode[k]
            steps.gaps[n, k] = gap[k] + at.displacement[first[k]]
        steps.events[n], steps.last[n], steps.residual[n] = found, begin, worst
    return count


@called_njit()
def _add_sums(more, total):
    """total += more."""
    total.works[:] += more.works
    total.impulse[:] += more.impulse
    total.slip[:] += more.slip
    total.wear[:] += more.wear
    total.moment[:] += more.moment
