"""Steps of small systems with turning bodies of the plane on flat obstacles, in one compiled loop.

Steps of small linear systems in one compiled loop.
"""

import numpy as np
from numba import njit

from arlequin.multilevel.laws._layer_gap_kernels import carry_gaps
from arlequin.multilevel.solvers._kernels import STICK, onset_closing, solve_contact
from arlequin.multilevel.solvers.closing import ACTS, LEAST, STICKS


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
    """out = Bᵀ diag(w) B u; see `arlequin.system.strains` (relative is work space)."""
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
    """What friction's springs pull (r,) at the end of a step; see `arlequin.multilevel.solvers.elastic_stick`."""
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
    gap_per_velocity = theta * step
    for d in range(y.size):
        force[d] = momentum[d] + gap_per_velocity * (external[d] - internal[d])
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
def _single(delassus, gap_per_velocity, step, gaps, rate, closed, area, level, compliance, impulse, normal, status):
    """The contact problem of one point without regular law and friction; see `arlequin.multilevel.solvers.contact`."""
    slack, only = compliance[0] / (step * area[0]), 0.0
    if level[0] == 1:
        only = max(-gaps[0], 0.0) / (gap_per_velocity * delassus[0, 0] + slack)
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
    """Up to `count` steps of the θ-scheme (see `arlequin.schemes.theta_sparse`); returns how many were accepted.

    Vectors u, v, momentum, internal (d,), rest (m,), history and impulse (r,) hold the state and receive the last one.
    external (count, d): mean external forces; driven (count, p): values of the dofs `given` at the ends of the steps,
    displacements where `displaced`, else velocities. by_constraint (d, m), schur (m, m): y and φ by C y = c;
    by_impulse (d, r), released (m, r): y and φ by impulses; delassus (r, r). gap (k,): at u = 0. summed (d,): dofs
    whose momentum is the sum of its impulses. springs (r,): compliance of friction's springs, 0 on other rows; gain
    (k,) and held (r,): see `arlequin.multilevel.solvers.elastic_stick`. touching: largest gap, m, that counts as none.
    kept: as of `_put`.
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
    gap_per_velocity = theta * step
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
            onset_closing(first, level, speed, closing)
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
                _single(
                    delassus,
                    gap_per_velocity,
                    step,
                    gaps,
                    rate,
                    closed,
                    area,
                    level,
                    compliance,
                    impulse,
                    normal,
                    status,
                )
            else:
                used, residual, singular = solve_contact(
                    (delassus, gap_per_velocity, gaps, rate, closed, step, theta, step),
                    (first, area, level, compliance, friction, soft, laws, kind, coefficients),
                    kernels, history, closing, (method, rho, proximal, 20000), (impulse, trial, normal, status),
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


PASSES = 25  # pairings of a step at most, as in `arlequin.solvers.contact_step`


@njit(cache=True)
def turned(shares, at, width, moves):
    """Rows of H (b, r) from those of the basis (b, q): shares (b, r, 3) of the `width` columns from `at` (r,) on."""
    out = np.zeros(shares.shape[:2])
    for b in range(out.shape[0]):
        _turn(shares[b], at, width, moves[b], out[b])
    return out


@njit(cache=True)
def spread(shares, at, width, impulse, count):
    """Impulses (b, r) on the rows of H as those on the basis (b, count)."""
    out = np.zeros((impulse.shape[0], count))
    for b in range(out.shape[0]):
        _spread(shares[b], at, width, impulse[b], out[b])
    return out


@njit(cache=True)
def _turn(shares, at, width, x, out):
    for r in range(out.size):
        total = 0.0
        for a in range(width[r]):
            total += shares[r, a] * x[at[r] + a]
        out[r] = total


@njit(cache=True)
def _spread(shares, at, width, x, out):
    out[:] = 0.0
    for r in range(x.size):
        for a in range(width[r]):
            out[at[r] + a] += shares[r, a] * x[r]


@njit(cache=True)
def _look(corners, place, shares, moved):
    """Shares (r, 3) of the rows at a place (q,) of the basis, and how far they have moved (r,), m.

    On a body at (x, y, θ) the row e of a corner of arm a moves by e·(x, y) + c (cos θ − 1) + s sin θ, c = e·a the arm
    along it and s = e × a across.
    """
    at, width, ways, arms = corners
    for r in range(at.size):
        if width[r] == 1:
            shares[r, 0], moved[r] = 1.0, place[at[r]]
            continue
        x, y, angle = place[at[r]], place[at[r] + 1], place[at[r] + 2]
        along, across, sin, cos = arms[r, 0], arms[r, 1], np.sin(angle), np.cos(angle)
        moved[r] = ways[r, 0] * x + ways[r, 1] * y + across * sin - 2.0 * along * np.sin(0.5 * angle) ** 2
        shares[r, 0], shares[r, 1], shares[r, 2] = ways[r, 0], ways[r, 1], across * cos - along * sin


@njit(cache=True)
def _between(shares, at, width, compliance, rows, out):
    """out = H W Hᵀ (a, a) between some rows of H."""
    for i in range(rows.size):
        for j in range(i + 1):
            r, s = rows[i], rows[j]
            total = 0.0
            for a in range(width[r]):
                for b in range(width[s]):
                    total += shares[r, a] * compliance[at[r] + a, at[s] + b] * shares[s, b]
            out[i, j] = out[j, i] = total


@njit(cache=True)
def _within(some, starts):
    """starts[k] … starts[k + 1] of the points k that are in, one after the other; where those of each begin."""
    rows, begins = np.empty(starts[-1], dtype=np.int64), np.zeros(some.size + 1, dtype=np.int64)
    count = points = 0
    for k in range(some.size):
        if some[k]:
            for r in range(starts[k], starts[k + 1]):
                rows[count] = r
                count += 1
            points += 1
            begins[points] = count
    return rows[:count].copy(), begins[: points + 1].copy()


@njit(cache=True)
def _chosen(some, first, laws, area, level, compliance, friction, soft, kind, coefficients):
    """Some points and their rows, rows of regular laws, and the tables of their laws; see `PointLaws.chosen`."""
    points = np.flatnonzero(some)
    rows, own_first = _within(some, first)
    regular, own_laws = _within(some, laws)
    table = np.empty((regular.size, coefficients.shape[1]))
    for i in range(regular.size):
        table[i] = coefficients[regular[i]]
    tables = (
        own_first, area[points], level[points], compliance[points], friction[points], soft[points], own_laws,
        kind[regular], table,
    )  # fmt: skip
    return points, rows, regular, tables


@njit(cache=True)
def _push(
    delassus, gap_per_velocity, gaps, rate, closed, tables, kernels, history, step, theta, closing, impulse, trial,
    normal,
    status, method, rho, proximal, stable,
):  # fmt: skip
    """The contact problem of the chosen points, from the impulses as a guess: iterations, residual, singular; `stable`
    is the proximal term where multipliers are not unique."""
    _, area, level, compliance, _, _, _, kind, _ = tables
    if not area.size:
        return 0, 0.0, False
    if impulse.size == 1 and not kind.size and method == 0 and proximal == 0.0 and delassus[0, 0] > 0.0:
        _single(
            delassus,
            gap_per_velocity,
            step,
            gaps,
            rate + closing[0],
            closed,
            area,
            level,
            compliance,
            impulse,
            normal,
            status,
        )
        return 1, 0.0, False
    motion = delassus, gap_per_velocity, gaps, rate, closed, step, theta, step
    solution = impulse, trial, normal, status
    used, residual, singular = solve_contact(
        motion, tables, kernels, history, closing, (method, rho, proximal, 20000), solution
    )
    if singular:
        used, residual, singular = solve_contact(
            motion, tables, kernels, history, closing, (method, rho, stable, 20000), solution
        )
    return used, residual, singular


@njit(cache=True)
def _close(first, level, compliance, springs, rotating, lasts, start, mean, gaps, closing, persistent):
    """As `arlequin.multilevel.solvers.closing.Closing`: its fields (r,) into closing (3, r) and `persistent`."""
    for k in range(level.size):
        n = first[k]
        for r in range(n, first[k + 1]):
            held = springs[r] > 0.0
            bit = ACTS if r == n else STICKS
            persistent[r] = rotating[k] and (lasts[k] & bit) > 0 and not held and (r > n or level[k] == 2)
            closing[1, r] = 0.0 if held else start[r]
            closing[2, r] = mean[r] if rotating[k] and not held else 0.0
            closing[0, r] = mean[r] if persistent[r] else 0.0
        if level[k] == 2 and not persistent[n]:
            closing[0, n] = max(start[n], 0.0)
        elif level[k] == 1:
            persistent[n] = True
            closing[0, n] = max(-gaps[k], 0.0) if rotating[k] and compliance[k] == 0.0 else 0.0


@njit(cache=True)
def _project(
    first, level, shares, at, width, rows, answers, by_mass, mass, given, persistent, normal, status, v, momentum, push,
    lost,
):  # fmt: skip
    """As `arlequin.solvers.velocity_projection`: the impulses into push (r,), what they take and what imposed motions
    give into lost (3,)."""
    count, moves = shares.shape[0], by_mass.shape[1]
    push[:], lost[:] = 0.0, 0.0
    if not persistent.any():
        return
    speed, rates, spread_out, answer = np.empty(moves), np.empty(count), np.empty(moves), np.empty(count)
    for stage in range(2):
        speed[:] = 0.0
        _add(rows, v, speed)
        _turn(shares, at, width, speed, rates)
        own, moving, bound = np.zeros(count), False, np.inf
        for k in range(first.size - 1):
            for r in range(first[k], first[k + 1]):
                acts = level[k] == 2 and normal[2, k] > 0.0 if stage == 0 else status[k] == STICK
                if not persistent[r] or not acts or (r == first[k]) != (stage == 0):
                    continue
                size = 0.0
                for a in range(width[r]):
                    size += abs(shares[r, a] * speed[at[r] + a])
                moving = moving or abs(rates[r]) > 1e-14 * size
                if answers[r] > 0.0:
                    own[r] = rates[r] / answers[r]
                    if stage == 0 and own[r] > 0.0:
                        bound = min(bound, normal[2, k] / own[r])
        if not moving:
            continue
        _spread(shares, at, width, own, spread_out)
        change = by_mass @ spread_out
        speed[:] = 0.0
        _add(rows, change, speed)
        _turn(shares, at, width, speed, answer)
        gain, curvature = 0.0, 0.0
        for r in range(count):
            gain += own[r] * rates[r]
            curvature += own[r] * answer[r]
        if not curvature > 0.0:
            continue
        share = min(gain / curvature, bound)
        v -= share * change
        inertia = np.zeros(v.size)
        _add(mass, change, inertia)
        momentum -= share * inertia
        push -= share * own
        lost[stage] = share * (gain - 0.5 * share * curvature)
        # what moves imposed dofs: external
        _pull(rows, -spread_out, inertia)
        for d in given:
            lost[2] -= share * inertia[d] * v[d]


@njit(cache=True)
def rotating_block(
    count, step, theta, factor, free, given, to_given, mass, strains, viscous, constraints, by_constraint,
    schur, rows, by_impulse, released, across, corners, gap, reach, turn, summed, touching, settled,
    rotating, by_mass, external, driven, displaced,
    first, area, level, compliance, friction, soft, kernels, laws, kind, coefficients, springs, gain, method, rho,
    proximal, stable,
    u, v, momentum, rest, internal, history, impulse, held, lasts, kept, iterations, residuals, all_shares, all_gap,
    all_place, all_ends, all_pushes, all_spread, all_lost, all_layers, all_persistent,
):  # fmt: skip
    """Up to `count` steps of the θ-scheme with pairings as `arlequin.solvers.contact_step.solve_contact_step`
    alternates them;
    returns how many were accepted. Arguments as those of `theta_block`, but for the contact on rows of the basis (q,):

    rows (q, d); by_impulse (d, q), released (m, q), across (q, q): y, φ and velocities by impulses on them. corners:
    columns, width, ways and arms of the rows of H, see `_look`. gap (k,): at u = 0. reach (k,), m: what a corner rises
    over its tangent by the square of the turn in the step, whose row of the basis is turn (k,). settled (q,): change of
    the positions, m or rad, below which the pairing stands. turning (k,): points on bodies that turn; by_mass (d, q):
    velocities by impulses on the rows at once; lasts (k,), see `arlequin.multilevel.solvers.closing`.
    all_shares (b, r, 3), all_gap (b, k), all_place (b, q): the kinematics on which the impulses act; all_ends (b, d),
    all_pushes (b, r), all_spread (b, q), all_lost (b, 3): velocities before the projection, its impulses on the rows
    and on the basis, what they take and what imposed motions give; all_layers (b, k): gaps that the layers carry, m;
    all_persistent (b, r).
    """
    at, width, points, size, moves = corners[0], corners[1], gap.size, u.size, rows[0].size - 1
    y, free_b = np.empty(size), np.empty(free.size)
    force, drag, relative, multipliers = np.empty(size), np.empty(size), np.empty(size), np.zeros(rest.size)
    place, speed, end, rate = np.empty(moves), np.empty(moves), np.empty(moves), np.empty(moves)
    middle, following, pushed = np.empty(moves), np.empty(moves), np.empty(moves)
    shares, moved, ends = np.zeros((at.size, 3)), np.empty(at.size), np.zeros((at.size, 3))
    ahead, rates, before = np.empty(at.size), np.empty(at.size), np.empty(at.size)
    begins, gaps, closed = np.empty(points), np.empty(points), np.empty(points, dtype=np.bool_)
    some = np.zeros(points, dtype=np.bool_)
    carried, beyond, layered = history.copy(), np.zeros(points), kind.size > 0
    trial, normal, status = history.copy(), np.zeros((3, points)), np.zeros(points, dtype=np.int8)
    push, gap_per_velocity = impulse.copy(), theta * step
    answers = np.zeros(at.size)
    start, mean, closing = np.empty(at.size), np.empty(at.size), np.zeros((3, at.size))
    persistent, extra, lost = np.zeros(at.size, dtype=np.bool_), np.zeros(at.size), np.zeros(3)
    at_points, at_rows, at_laws, tables = _chosen(
        some, first, laws, area, level, compliance, friction, soft, kind, coefficients
    )
    bulk = mass, strains, viscous, constraints, rows, summed
    state, room = (u, v, momentum, rest, internal), (force, drag, relative)
    for n in range(count):
        _free_motion(
            step, theta, factor, free, given, to_given, constraints, by_constraint, schur,
            external[n], driven[n], displaced, u, v, momentum, rest, internal, force, free_b, y, multipliers,
        )  # fmt: skip
        place[:] = 0.0
        speed[:] = 0.0
        pushed[:] = 0.0
        _add(rows, u, place)
        _add(rows, v, speed)
        _add(rows, y, pushed)
        for q in range(moves):
            end[q] = place[q] + step * pushed[q]
            rate[q] = (1.0 - 1.0 / theta) * speed[q] + pushed[q] / theta
            middle[q] = place[q] + 0.5 * step * speed[q]
        _look(corners, middle, shares, moved)
        changed = False
        for k in range(points):
            limit = touching + reach[k] * (step * speed[turn[k]]) ** 2
            closed[k] = gap[k] + moved[first[k]] <= limit
            acts = closed[k] or level[k] == 1 or laws[k + 1] > laws[k]
            changed = changed or acts != some[k]
            some[k] = acts
        if changed:
            at_points, at_rows, at_laws, tables = _chosen(
                some, first, laws, area, level, compliance, friction, soft, kind, coefficients
            )
        delassus = np.empty((at_rows.size, at_rows.size))
        own_gaps, own_rates, own_closed = np.empty(at_points.size), np.empty(at_rows.size), closed[at_points]
        own_normal, own_status = np.zeros((3, at_points.size)), np.zeros(at_points.size, dtype=np.int8)
        own_history = np.empty((at_laws.size, history.shape[1]))
        own_trial, own_push = own_history.copy(), impulse[at_rows]
        used, residual, singular = 0, 0.0, False
        for turn_pass in range(PASSES):
            # the motion without contact, as the rows see it from here
            _turn(shares, at, width, rate, rates)
            for q in range(moves):
                pushed[q] = end[q] - middle[q]
            _turn(shares, at, width, pushed, ahead)
            for q in range(moves):
                pushed[q] = place[q] - middle[q]
            _turn(shares, at, width, pushed, before)
            _turn(shares, at, width, speed, start)
            for r in range(at.size):
                mean[r] = (1.0 / theta - 1.0) * start[r]
            for k in range(points):
                begins[k] = gap[k] + moved[first[k]] + before[first[k]]
            _close(first, level, compliance, springs, rotating, lasts, start, mean, begins, closing, persistent)
            if layered:
                carried[:] = history
                carry_gaps(carried, begins, laws, area, kernels, kind, coefficients, beyond)
                for k in range(points):
                    if level[k] == 1:
                        closing[0, first[k]] -= beyond[k]
            for i in range(at_laws.size):
                own_history[i] = carried[at_laws[i]]
            own_closing = np.empty((3, at_rows.size))
            for i in range(at_rows.size):
                own_closing[:, i] = closing[:, at_rows[i]]
            for i in range(at_points.size):
                k = at_points[i]
                gaps[k] = gap[k] + moved[first[k]]
                own_gaps[i] = gaps[k] + ahead[first[k]] + beyond[k]
            for i in range(at_rows.size):
                r = at_rows[i]
                if springs[r] > 0.0:
                    own_rates[i] = (ahead[r] - before[r]) / gap_per_velocity - springs[r] * held[r]
                else:
                    own_rates[i] = rates[r]
            _between(shares, at, width, across, at_rows, delassus)
            own_trial[:] = own_history
            steps, residual, degenerate = _push(
                delassus, gap_per_velocity, own_gaps, own_rates, own_closed, tables, kernels, own_history, step, theta,
                own_closing, own_push, own_trial, own_normal, own_status, method, rho, proximal, stable,
            )  # fmt: skip
            used += steps
            # a pass that finds its guess right solves no system and cannot tell
            singular = degenerate if steps else singular
            push[:] = 0.0
            for i in range(at_rows.size):
                push[at_rows[i]] = own_push[i]
            _spread(shares, at, width, push, pushed)
            change = 0.0
            for q in range(moves):
                reached = end[q]
                for s in range(moves):
                    reached += gap_per_velocity * across[q, s] * pushed[s]
                following[q] = 0.5 * (place[q] + reached)
                change = max(change, abs(following[q] - middle[q]) / settled[q])
            if change <= 1.0 or turn_pass == PASSES - 1:
                break
            middle[:] = following
            _look(corners, middle, shares, moved)
        if singular or not residual <= 1e-10:
            return n
        answers[:] = 0.0
        for i in range(at_rows.size):
            answers[at_rows[i]] = delassus[i, i]
        impulse[:] = push
        normal[:] = 0.0
        status[:] = 0
        for i in range(at_points.size):
            k = at_points[i]
            normal[:, k] = own_normal[:, i]
            status[k] = own_status[i]
        trial[:] = carried
        for i in range(at_laws.size):
            trial[at_laws[i]] = own_trial[i]
        iterations[n], residuals[n] = used, residual
        _stretch(first, area, friction, springs, gain, impulse, step, held)
        for d in range(size):
            for q in range(moves):
                y[d] += theta * by_impulse[d, q] * pushed[q]
        for m in range(rest.size):
            for q in range(moves):
                multipliers[m] -= theta * released[m, q] * pushed[q]
            multipliers[m] /= theta

        if not _onward(step, theta, bulk, external[n], y, multipliers, pushed, state, room):
            return n
        all_shares[n], all_place[n] = shares, middle
        for k in range(points):
            all_gap[n, k] = gap[k] + moved[first[k]]
            all_layers[n, k] = trial[laws[k], 0] if laws[k + 1] > laws[k] else 0.0
        all_ends[n], all_persistent[n] = v, persistent
        if theta < 1.0:  # at θ = 1 the end itself closes
            place[:] = 0.0
            _add(rows, u, place)
            _look(corners, place, ends, moved)
            _project(
                first, level, ends, at, width, rows, answers, by_mass, mass, given, persistent, normal, status, v,
                momentum, extra, lost,
            )  # fmt: skip
        impulse += extra
        all_pushes[n], all_lost[n] = extra, lost
        _spread(ends, at, width, extra, all_spread[n])
        most = 0.0
        for k in range(points):
            most = max(most, abs(normal[:, k].sum()))
        for k in range(points):
            sticks = status[k] == STICK and normal[:, k].sum() > LEAST * most
            lasts[k] = (ACTS if normal[2, k] > LEAST * most else 0) + (STICKS if sticks else 0)
        history[:] = trial
        _put(n, (u, v, y, impulse, normal, status, multipliers, held), kept)
    return count
