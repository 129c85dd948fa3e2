"""Steps of small linear systems in one compiled loop."""

import numpy as np
from numba import njit

from multilevel._kernels import close_onset, solve_contact


@njit(cache=True)
def _add(matrix, x, out):
    """out += A x of A by rows (starts, columns, values)."""
    starts, columns, values = matrix
    for i in range(starts.size - 1):
        total = 0.0
        for e in range(starts[i], starts[i + 1]):
            total += values[e] * x[columns[e]]
        out[i] += total


@njit(cache=True)
def _pull(matrix, x, out):
    """out += Aᵀ x."""
    starts, columns, values = matrix
    for i in range(starts.size - 1):
        if x[i] != 0.0:
            for e in range(starts[i], starts[i + 1]):
                out[columns[e]] += values[e] * x[i]


@njit(cache=True)
def _resist(strains, u, relative, out):
    """out = Bᵀ diag(w) B u; see `arlequin.strains` (relative is work space)."""
    starts, columns, values, weights, anchor, own = strains
    for d in range(u.size):
        relative[d] = u[d] - u[anchor[d]] if anchor[d] >= 0 else u[d]
    out[:] = 0.0
    for i in range(starts.size - 1):
        seen = relative if i < own else u
        total = 0.0
        for e in range(starts[i], starts[i + 1]):
            total += values[e] * seen[columns[e]]
        total *= weights[i]
        for e in range(starts[i], starts[i + 1]):
            out[columns[e]] += values[e] * total


@njit(cache=True)
def _solve(factor, b):
    """b ← A⁻¹ b by the factor (order, starts, rows, values)."""
    order, starts, rows, values = factor
    count = order.size
    x = np.empty(count)
    for i in range(count):
        x[i] = b[order[i]]
    for i in range(count):
        first = starts[i]
        x[i] *= values[first]
        for e in range(first + 1, starts[i + 1]):
            x[rows[e]] -= values[e] * x[i]
    for i in range(count - 1, -1, -1):
        first = starts[i]
        total = x[i]
        for e in range(first + 1, starts[i + 1]):
            total -= values[e] * x[rows[e]]
        x[i] = total * values[first]
    for i in range(count):
        b[order[i]] = x[i]


@njit(cache=True)
def _stretch(first, area, friction, springs, gain, impulse, step, held):
    """What friction's springs pull (r,) at the end of a step; see `multilevel.stick`."""
    for k in range(area.size):
        n, end = first[k], first[k + 1]
        if end == n + 1 or springs[n + 1] == 0.0:
            continue
        scale, size, start = step * area[k], 0.0, 0.0
        for t in range(n + 1, end):
            start += held[t] * held[t]
            held[t] += gain[k] * (impulse[t] / scale - held[t])
            size += held[t] * held[t]
        size, radius = np.sqrt(size), friction[k] * impulse[n] / scale
        radius += max(1.0 - gain[k], 0.0) * max(np.sqrt(start) - radius, 0.0)
        if not impulse[n] > 0.0:
            radius = 0.0
        if size > radius:
            for t in range(n + 1, end):
                held[t] *= radius / size


@njit(cache=True)
def _free_motion(
    step, theta, factor, free, given, to_given, constraints, by_constraint, schur, external, driven, displaced,
    u, v, momentum, rest, internal, force, free_b, y, multipliers,
):  # fmt: skip
    """y (d,) and θ φ (m,) of a step without contact; force (d,) and free_b (f,) are work space. See `theta_block`."""
    lever = theta * step
    for d in range(y.size):
        force[d] = momentum[d] + lever * (external[d] - internal[d])
        y[d] = 0.0
    for g in range(given.size):
        d = given[g]
        if displaced[g]:
            y[d] = (driven[g] - u[d]) / step
        else:
            y[d] = theta * driven[g] + (1.0 - theta) * v[d]
    for i in range(free.size):
        free_b[i] = force[free[i]]
    if given.size:
        for i in range(free.size):
            for e in range(to_given[0][i], to_given[0][i + 1]):
                free_b[i] -= to_given[2][e] * y[given[to_given[1][e]]]
    _solve(factor, free_b)
    for i in range(free.size):
        y[free[i]] = free_b[i]
    if rest.size:
        missing = np.zeros(rest.size)
        _add(constraints, y, missing)
        wanted = np.zeros(rest.size)
        if theta == 0.5:
            wanted -= rest
        else:
            _add(constraints, v, wanted)
            wanted *= 1.0 - theta
        missing = wanted - missing
        multipliers[:] = schur @ missing
        y += by_constraint @ missing


@njit(cache=True)
def _onward(step, theta, bulk, external, y, multipliers, impulse, state, room):
    """The state at the end of a step by y, φ and the impulses (q,) on the rows; whether it is finite. bulk: mass,
    strains, viscous, constraints, rows and summed; state: u, v, momentum, rest and internal; room: work space, three
    of (d,). See `theta_block`."""
    mass, strains, viscous, constraints, rows, summed = bulk
    u, v, momentum, rest, internal = state
    force, drag, relative = room
    finite = True
    drag[:] = 0.0
    if viscous[0].size > 1:
        _add(viscous, y, drag)
    for d in range(u.size):
        force[d] = momentum[d] + step * (external[d] - (1.0 - theta) * internal[d] - drag[d])
        u[d] += step * y[d]
        v[d] += (y[d] - v[d]) / theta
        finite = finite and np.isfinite(u[d])
    if not finite:
        return False
    _resist(strains, u, relative, internal)
    if rest.size:
        _add(constraints, y, rest)
    for d in range(u.size):
        force[d] -= step * theta * internal[d]
    _pull(constraints, multipliers, force)
    _pull(rows, impulse, force)
    momentum[:] = 0.0
    _add(mass, v, momentum)
    for d in range(u.size):
        if summed[d]:
            momentum[d] = force[d]
    return True


# both inlined: calls that count the references of so many arrays take a tenth of the shortest steps
@njit(inline="always")
def _put(n, found, kept):
    """Puts what step n found into the fields of all steps: u, v, y, impulse, normal, status, multipliers, held."""
    u, v, y, impulse, normal, status, multipliers, held = found
    all_u, all_v, all_y, all_impulse, all_normal, all_status, all_multipliers, all_held = kept
    all_u[n], all_v[n], all_y[n] = u, v, y
    all_impulse[n], all_normal[n], all_status[n] = impulse, normal, status
    all_multipliers[n], all_held[n] = multipliers, held


@njit(inline="always")
def _single(delassus, lever, step, gaps, rate, closed, area, level, compliance, impulse, normal, status):
    """The contact problem of one point without regular law and friction; see `multilevel.solver`."""
    slack, only = compliance[0] / (step * area[0]), 0.0
    if level[0] == 1:
        only = max(-gaps[0], 0.0) / (lever * delassus[0, 0] + slack)
    elif level[0] == 2 and closed[0]:
        only = max(-rate[0], 0.0) / (delassus[0, 0] + slack)
    impulse[0] = only
    normal[:] = 0.0
    normal[2, 0] = only
    status[0] = 1 if only > 0.0 else 0


@njit(cache=True, nogil=True)
def theta_block(
    count, step, theta, factor, free, given, to_given, mass, strains, viscous, constraints, by_constraint,
    schur, rows, by_impulse, released, delassus, gap, summed, touching,
    external, driven, displaced,
    first, area, level, compliance, friction, soft, kernels, laws, kind, coefficients, springs, gain, method, rho,
    proximal,
    u, v, momentum, rest, internal, history, impulse, held, kept, iterations, residuals,
):  # fmt: skip
    """Up to `count` steps of the θ-scheme (see `arlequin.schemes.theta`); returns how many were accepted.

    Vectors u, v, momentum, internal (d,), rest (m,), history and impulse (r,) hold the state and receive the last one.
    external (count, d): mean external forces; driven (count, p): values of the dofs `given` at the ends of the steps,
    displacements where `displaced`, else velocities. by_constraint (d, m), schur (m, m): y and φ by C y = c;
    by_impulse (d, r), released (m, r): y and φ by impulses; delassus (r, r). gap (k,): at u = 0. summed (d,): dofs
    whose momentum is the sum of its impulses. springs (r,): compliance of friction's springs, 0 on other rows; gain
    (k,) and held (r,): see `multilevel.stick`. touching: largest gap, m, that counts as none. kept: as of `_put`.
    """
    points, size = gap.size, u.size
    y, free_b = np.empty(size), np.empty(free.size)
    force, drag, relative, multipliers = np.empty(size), np.empty(size), np.empty(size), np.zeros(rest.size)
    moves = rows[0].size - 1
    place, speed, end, rate = np.empty(moves), np.empty(moves), np.empty(moves), np.empty(moves)
    closed = np.empty(points, dtype=np.bool_)
    gaps, closing = np.empty(points), np.zeros((3, moves))
    trial, normal = history.copy(), np.zeros((3, points))
    status = np.zeros(points, dtype=np.int8)
    lever = theta * step
    bulk = mass, strains, viscous, constraints, rows, summed
    state, room = (u, v, momentum, rest, internal), (force, drag, relative)
    for n in range(count):
        _free_motion(
            step, theta, factor, free, given, to_given, constraints, by_constraint, schur,
            external[n], driven[n], displaced, u, v, momentum, rest, internal, force, free_b, y, multipliers,
        )  # fmt: skip

        # the contact
        acts = False
        if points:
            place[:] = 0.0
            speed[:] = 0.0
            end[:] = 0.0
            _add(rows, u, place)
            _add(rows, v, speed)
            _add(rows, y, end)
            close_onset(first, level, speed, closing)
            for r in range(place.size):
                if springs[r] > 0.0:
                    rate[r] = end[r] / theta - springs[r] * held[r]
                    closing[1, r] = 0.0
                else:
                    rate[r] = (1.0 - 1.0 / theta) * speed[r] + end[r] / theta
                end[r] = place[r] + step * end[r]
            for k in range(points):
                closed[k] = gap[k] + place[first[k]] + 0.5 * step * speed[first[k]] <= touching
                gaps[k] = gap[k] + end[first[k]]
                acts = acts or closed[k] or level[k] == 1 or laws[k + 1] > laws[k]
        if acts:
            used, residual, singular = 1, 0.0, False
            if rate.size == 1 and laws[1] == 0 and method == 0 and proximal == 0.0 and delassus[0, 0] > 0.0:
                rate[0] += closing[0, 0]
                _single(delassus, lever, step, gaps, rate, closed, area, level, compliance, impulse, normal, status)
            else:
                used, residual, singular = solve_contact(
                    delassus, lever, gaps, rate, closed, first, area, level, compliance, friction, soft, kernels, laws,
                    kind, coefficients, history, step, theta, step, closing, impulse, trial, normal, status, method,
                    rho, proximal, 20000,
                )  # fmt: skip
            if singular or not residual <= 1e-10:
                return n
            iterations[n], residuals[n] = used, residual
            _stretch(first, area, friction, springs, gain, impulse, step, held)
            y += theta * (by_impulse @ impulse)
            if rest.size:
                multipliers -= theta * (released @ impulse)
        else:
            impulse[:] = 0.0
            held[:] = 0.0
            normal[:] = 0.0
            status[:] = 0
            iterations[n], residuals[n] = 0, 0.0
        multipliers /= theta

        if not _onward(step, theta, bulk, external[n], y, multipliers, impulse, state, room):
            return n
        history[:] = trial
        _put(n, (u, v, y, impulse, normal, status, multipliers, held), kept)
    return count
