"""The contact of a step whose rows depend on the configuration, in compiled loops: impulses on the rows of the middle
of the step that they lead to, and the projection of the velocities at its end.

The rows come from a formula, of the corners of rigid bodies of the plane on flat obstacles, or from the pairing of the
surfaces, which is a function of Python (`evaluate`). Steps are those of `arlequin.solvers.contact_step` and
`arlequin.solvers.velocity_projection`.
"""

from collections import namedtuple

import numpy as np

from arlequin.models.kernel_cache import called_njit, njit
from arlequin.models.linalg._bordered_kernels import backward_pass
from arlequin.multilevel.laws._layer_gap_kernels import carry_gaps
from arlequin.multilevel.solvers._dense_kernels import solve_lower_transposed
from arlequin.multilevel.solvers._kernels import GAP_LEVEL, STICK, VELOCITY_LEVEL, allocate_factor, onset_closing
from arlequin.multilevel.solvers.closing import LEAST
from arlequin.multilevel.solvers.problem import ACTS, STICKS
from arlequin.schemes._callback_kernels import call_address
from arlequin.schemes._row_kernels import MAX_ITERATIONS, mean_path, solve_single, wear_off
from arlequin.schemes._system_kernels import add_product, add_transposed, copy_table, copy_vector, law_table
from arlequin.schemes.compiled_system import LawTables
from arlequin.schemes.loop_data import (
    AT_END,
    KEEP_PARTNERS,
    PAIR_ANEW,
    ConfigurationSteps,
    ContactRows,
    MovingContact,
)  # fmt: skip
from arlequin.solvers.contact_step import PASSES, STUCK
from arlequin.solvers.passes import CondensedPasses

# Delassus operator (r, r), gaps (k,) and rates (r,) without impulses, closed points (k,), closing (3, r) (see
# `arlequin.multilevel.solvers.closing`), and the history of the regular laws.
_ContactProblem = namedtuple("_ContactProblem", "delassus gap_free rate_free closed closing history")


# Impulses (r,), N·s; their stored, dissipated and multiplier parts (3, k); status (k,); trial history.
ContactSolution = namedtuple("ContactSolution", "impulse normal status trial")


# Configuration of a step: the rows at the displacement `middle` (q,) of the basis; persistent rows (r,); closing
# (3, r); delassus (r,): the diagonal of H W Hᵀ on the rows that act. active (k,): points that act. carried: the history
# that layers start from, beyond (k,): what their gaps are beyond those of the points, m.
_Configuration = namedtuple(
    "_Configuration", "rows middle closing persistent delassus active closed carried beyond"
)  # fmt: skip


# Work space of a step: the rows at its end, displacement … moves (q,) on the rows of the basis, ahead … response (r,)
# on those of H, begins (k,), change, inertia and pulls (d,), φ (m,). initial, offset (q,): the velocity before the
# impulses, and what makes that at the end the mean one.
_Room = namedtuple(
    "_Room",
    "end_rows displacement velocity basis_change end rate lead initial offset following moves ahead rates before start "
    "mean own response begins change inertia pulls multipliers",
)


# The points that act, their rows and rows of the regular laws, and their laws, problem and solution.
_Active = namedtuple("_Active", "points rows regular laws problem solution")

# What is read of the system (`CompiledSystem`) and the operators: coefficients Δt, λ and θ; W (q, q) of the basis'
# rows; springs (r,).
StepData = namedtuple("StepData", "system coefficients delassus springs")


@called_njit()
def times_rows(rows, x, out):
    """out (r,) = H x, from x (q,) on the basis."""
    for r in range(out.size):
        total = 0.0
        for e in range(rows.starts[r], rows.starts[r + 1]):
            total += rows.values[e] * x[rows.columns[e]]
        out[r] = total


@called_njit()
def times_transposed_rows(rows, x, out):
    """out (q,) = Hᵀ x, from x (r,)."""
    out[:] = 0.0
    for r in range(x.size):
        if x[r] != 0.0:
            for e in range(rows.starts[r], rows.starts[r + 1]):
                out[rows.columns[e]] += rows.values[e] * x[r]


@called_njit()
def _evaluate_corners(corners, first, gap, place, rows):
    """Rows of corners at a displacement `place` (q,) of the basis, and their gaps; gap (k,): those at 0, m.

    On a body at (x, y, θ) the row e of a corner of arm a moves by e·(x, y) + c (cos θ − 1) + s sin θ, c = e·a the arm
    along it and s = e × a across.
    """
    columns, width, directions, arms, _, _ = corners
    values = rows.values
    for k in range(gap.size):
        for r in range(first[k], first[k + 1]):
            at = rows.starts[r]
            if width[r] == 1:
                values[at], moved = 1.0, place[columns[r]]
            else:
                x, y, angle = place[columns[r]], place[columns[r] + 1], place[columns[r] + 2]
                along, across, sin, cos = arms[r, 0], arms[r, 1], np.sin(angle), np.cos(angle)
                moved = directions[r, 0] * x + directions[r, 1] * y
                moved += across * sin - 2.0 * along * np.sin(0.5 * angle) ** 2
                values[at], values[at + 1] = directions[r, 0], directions[r, 1]
                values[at + 2] = across * cos - along * sin
            if r == first[k]:
                rows.gap[k] = gap[k] + moved


@called_njit()
def _find(corners, call, first, gap, how, place, rows):
    """`_evaluate` by the corners or the call, of which one is None."""
    if corners is not None:
        _evaluate_corners(corners, first, gap, place, rows)
    if call is not None:
        address, seen = call
        copy_vector(place, seen)
        return call_address(address, how) == 0
    return True


@called_njit()
def _evaluate(system, moving, how, place, rows):
    """The rows and gaps at a displacement `place` (q,) of the basis; whether they could be found. how: PAIR_ANEW,
    KEEP_PARTNERS or AT_END, see `MovingContact`, whose arrays the rows are."""
    return _find(moving.corners, moving.call, system.laws.first, system.gap, how, place, rows)


@called_njit()
def _delassus_between(matrix, delassus, rows, seen, out):
    """out = H W Hᵀ (a, a) between some rows of H; seen (q,): work space."""
    starts, columns, values = matrix.starts, matrix.columns, matrix.values
    for i in range(rows.size):
        seen[:] = 0.0
        for e in range(starts[rows[i]], starts[rows[i] + 1]):
            own, value = delassus[columns[e]], values[e]
            for q in range(seen.size):
                seen[q] += value * own[q]
        for j in range(i + 1):
            total = 0.0
            for e in range(starts[rows[j]], starts[rows[j] + 1]):
                total += values[e] * seen[columns[e]]
            out[i, j] = out[j, i] = total


@called_njit()
def _spans_of(some, starts):
    """starts[k] … starts[k + 1] of the marked points k, one after the other; where those of each begin."""
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


@called_njit()
def chosen_points(some, laws, history):
    """The marked points as `_Active`; see `PointLaws.chosen`."""
    points = np.flatnonzero(some)
    rows, first = _spans_of(some, laws.first)
    regular, own_rows = _spans_of(some, laws.rows)
    table = np.empty((regular.size, laws.coefficients.shape[1]))
    for i in range(regular.size):
        table[i] = laws.coefficients[regular[i]]
    own = LawTables(
        laws.kernels, laws.solve, first, laws.area[points], laws.level[points], laws.compliance[points],
        laws.friction[points],
        laws.tangential_compliance[points], laws.tangential_stiffness[points], laws.tangential_damping[points],
        own_rows, laws.kind[regular], table,
    )  # fmt: skip
    r, k, h = rows.size, points.size, history.shape[1]
    problem = _ContactProblem(
        np.empty((r, r)), np.empty(k), np.empty(r), np.empty(k, dtype=np.bool_), np.empty((3, r)),
        np.empty((regular.size, h)),
    )  # fmt: skip
    solution = ContactSolution(
        np.empty(r), np.zeros((3, k)), np.zeros(k, dtype=np.int8), np.empty((regular.size, h))
    )  # fmt: skip
    return _Active(points, rows, regular, own, problem, solution)


@called_njit()
def named_moving(moving):
    """`MovingContact` and `ConfigurationSteps` of their arrays. What of the first may be None is named where it is
    used: numba leaves out code that None does not reach only where None is an argument."""
    arrays, steps = moving
    corners, call, rows, end_rows, settled, points, mass_delassus, by_impulse, mass, proximal, lasting = arrays
    own = MovingContact(
        corners, call, ContactRows(*rows), ContactRows(*end_rows), settled, points, mass_delassus, by_impulse, mass,
        proximal, lasting,
    )  # fmt: skip
    return own, ConfigurationSteps(*steps)


@called_njit()
def room_of_configurations(basis_rows, rows, size, constraints, history, points):
    """Arrays of `_Configuration` and of the work space, without the rows of the contact."""
    q, r, d = basis_rows, rows, size
    contact = (
        np.empty(q), np.zeros((3, r)), np.zeros(r, dtype=np.bool_), np.zeros(r), np.zeros(points, dtype=np.bool_),
        np.empty(points, dtype=np.bool_), history.copy(), np.zeros(points),
    )  # fmt: skip
    room = (
        np.empty(q), np.empty(q), np.empty(q), np.empty(q), np.empty(q), np.zeros(q), np.empty(q), np.empty(q),
        np.empty(q), np.empty(q), np.empty(r), np.empty(r), np.empty(r), np.empty(r), np.empty(r), np.empty(r),
        np.empty(r), np.empty(points), np.empty(d), np.empty(d), np.empty(d), np.zeros(constraints),
    )  # fmt: skip
    return contact, room


@called_njit()
def named_configuration(moving, arrays):
    """`_Configuration` and `_Room` of `room_of_configurations`."""
    contact, room = arrays
    return _Configuration(moving.rows, *contact), _Room(moving.end_rows, *room)


@called_njit()
def _sagitta(corners, k, turn):
    """What the corner of point k may rise over its tangent in a step that turns its body by turn (q,), m."""
    rise = 0.0
    if corners is not None:
        _, _, _, _, sagitta, angle_row = corners
        rise = sagitta[k] * turn[angle_row[k]] ** 2
    return rise


@called_njit(forceinline=True)
def _mark_closed(data, moving, state, contact, room):
    """Marks the points that are closed in a step, in the configuration half a step on by the velocities at the start;
    whether its rows could be found."""
    system, displacement, velocity, turn = data.system, room.displacement, room.velocity, room.moves
    step, weight, _ = data.coefficients
    displacement[:] = 0.0
    velocity[:] = 0.0
    add_product(system.basis, state.u, displacement)
    add_product(system.basis, state.v, velocity)
    if state.lead.size:
        room.lead[:] = 0.0
        add_product(system.basis, state.lead, room.lead)
        for q in range(displacement.size):
            room.lead[q] *= step
    if state.half.size:
        room.initial[:] = 0.0
        add_product(system.basis, state.half, room.initial)
    for q in range(displacement.size):
        turn[q] = step * velocity[q]
        contact.middle[q] = displacement[q] + 0.5 * turn[q]
        if state.half.size:
            room.offset[q] = room.initial[q]
        else:
            room.initial[q] = velocity[q]
            room.offset[q] = (1.0 / weight - 1.0) * velocity[q] + room.lead[q] / weight
    if not _evaluate(system, moving, PAIR_ANEW, contact.middle, contact.rows):
        return False
    for k in range(system.gap.size):
        lasts = moving.points[k] and (state.persistence[k] & ACTS) > 0
        limit = (moving.lasting if lasts else system.touching) + _sagitta(moving.corners, k, turn)
        seen = contact.rows.gap[k]
        if system.wear_rate.size:
            seen += state.worn[0, k] - 0.5 * state.worn[1, k]
        contact.closed[k] = seen <= limit
    return True


@called_njit(forceinline=True)
def _mark_active(laws, contact):
    """Marks the points that act in the configuration: whether they are others than before."""
    changed = False
    for k in range(contact.active.size):
        acts = contact.closed[k] or laws.level[k] == GAP_LEVEL or laws.rows[k + 1] > laws.rows[k]
        acts = acts and np.isfinite(contact.rows.gap[k])
        changed = changed or acts != contact.active[k]
        contact.active[k] = acts
    return changed


@njit(cache=True)
def _close(laws, springs, moving, explicit, persistence, start, mean, gaps, contact):
    """As `arlequin.multilevel.solvers.closing.Closing`: its fields (r,) into closing (3, r) and `persistent`; explicit:
    whether the bulk accelerates between both velocities, so that fixed normals close the rate at the end."""
    first, level, closing, persistent = laws.first, laws.level, contact.closing, contact.persistent
    onset_closing(first, level, start, closing)
    for k in range(level.size):
        n = first[k]
        for r in range(n, first[k + 1]):
            lasts = moving[k] and (persistence[k] & (ACTS if r == n else STICKS)) > 0 and springs[r] == 0.0
            persistent[r] = lasts and (r > n or level[k] == VELOCITY_LEVEL)
            if persistent[r]:
                closing[0, r] = mean[r]
            if springs[r] > 0.0:
                closing[1, r] = closing[2, r] = 0.0
            elif moving[k]:
                closing[2, r] = mean[r]
            elif explicit:
                closing[0, r] = closing[2, r] = 0.0
        if level[k] == GAP_LEVEL:
            persistent[n] = True
            shuts = moving[k] and laws.compliance[k] == 0.0 and np.isfinite(gaps[k])
            closing[0, n] = max(-gaps[k], 0.0) if shuts else 0.0


@called_njit()
def _solve_chosen(problem, laws, coefficients, options, solution):
    """Impulses of a step on the points that act, from a first guess; iterations, residual, and whether the multipliers
    are not unique. coefficients: Δt, λ, θ; options: method, ρ and the proximal term, see `ContactMethod.numbers`."""
    delassus, impulse = problem.delassus, solution.impulse
    step, weight, theta = coefficients
    method, rho, proximal = options
    single = impulse.size == 1 and not laws.kind.size and method == 0 and proximal == 0.0
    if single and delassus[0, 0] > 0.0:
        solve_single(
            delassus, weight * step, step, problem.gap_free, problem.rate_free[0] + problem.closing[0, 0],
            problem.closed, laws.area, laws.level, laws.compliance, impulse, solution.normal, solution.status,
        )  # fmt: skip
        return 1, 0.0, False
    return laws.solve(
        (delassus, weight * step, problem.gap_free, problem.rate_free, problem.closed, step, theta, step),
        law_table(laws), laws.kernels, problem.history, problem.closing, (method, rho, proximal, MAX_ITERATIONS),
        (impulse, solution.trial, solution.normal, solution.status), allocate_factor(0),
    )  # fmt: skip


@called_njit(forceinline=True)
def _projects(data, state, contact):
    """Whether the velocities at the end are projected: some rows persist, and, unlike at θ = 1, do not close there."""
    _, _, theta = data.coefficients
    persists = False
    for r in range(contact.persistent.size):
        persists = persists or contact.persistent[r]
    return persists and (theta < 1.0 or state.lead.size > 0)


@called_njit(forceinline=True)
def solve_in_configuration(data, moving, options, state, free, contact, chosen, solution, on_basis, room):
    """Contact impulses of a step on the rows of the middle of the step that they lead to: the points that act, whether
    there are some, iterations, residual (inf where the pairing failed), and whether the multipliers are not unique.

    free (q,): y of the basis' rows without impulses; chosen: the points that acted last. `contact` receives the
    configuration of the impulses, `room` the rows at the end where the velocities are projected there; on_basis (q,):
    the impulses on the basis. The state stays that of the start.
    """
    system, matrix, coefficients = data.system, contact.rows, data.coefficients
    (step, weight, _), laws = coefficients, system.laws
    first, middle, closing = laws.first, contact.middle, contact.closing
    springs, history, trial = data.springs, state.history, solution.trial
    gap_per_velocity, layered = weight * step, laws.kind.size > 0
    displacement, velocity, end, rate, following = (
        room.displacement, room.velocity, room.end, room.rate, room.following,
    )  # fmt: skip
    explicit = state.half.size > 0
    ahead, rates, before, start = room.ahead, room.rates, room.before, room.start
    mean, begins, moves = room.mean, room.begins, room.moves
    if not _mark_closed(data, moving, state, contact, room):
        return chosen, True, 0, np.inf, False
    for q in range(middle.size):
        end[q] = displacement[q] + step * (free[q] + room.lead[q])
        rate[q] = (1.0 - 1.0 / weight) * velocity[q] + free[q] / weight
    unique = options[0], options[1], moving.proximal
    used, residual, singular = 0, 0.0, False
    least, stuck, keep = np.inf, 0, False
    for attempt in range(PASSES):
        if _mark_active(laws, contact):
            chosen = chosen_points(contact.active, laws, history)
        points, rows, regular, own_laws = chosen.points, chosen.rows, chosen.regular, chosen.laws
        problem, own = chosen.problem, chosen.solution
        # the motion without contact, as the rows see it from here
        times_rows(matrix, rate, rates)
        for q in range(middle.size):
            moves[q] = end[q] - middle[q]
        times_rows(matrix, moves, ahead)
        for q in range(middle.size):
            moves[q] = displacement[q] - middle[q]
        times_rows(matrix, moves, before)
        times_rows(matrix, room.initial, start)
        times_rows(matrix, room.offset, mean)
        for k in range(begins.size):
            begins[k] = matrix.gap[k] + before[first[k]]
        for k in range(system.wear_rate.size):
            depth, opening, n = state.worn[0, k], state.worn[1, k], first[k]
            begins[k] += depth - opening
            ahead[n] += depth
            rates[n] += opening / step
            start[n] += opening / step
            mean[n] += opening * (1.0 / gap_per_velocity - 1.0 / step)
        _close(laws, springs, moving.points, explicit, state.persistence, start, mean, begins, contact)
        if layered:
            copy_table(history, contact.carried)
        if layered and explicit:
            for k in range(begins.size):
                for row in range(laws.rows[k], laws.rows[k + 1]):
                    contact.carried[row, 0] = begins[k]
        elif layered:
            carry_gaps(
                contact.carried, begins, laws.rows, laws.area, laws.kernels, laws.kind, laws.coefficients,
                contact.beyond,
            )  # fmt: skip
            for k in range(begins.size):
                if laws.level[k] == GAP_LEVEL:
                    closing[0, first[k]] -= contact.beyond[k]
        for i in range(regular.size):
            for j in range(history.shape[1]):
                problem.history[i, j] = own.trial[i, j] = contact.carried[regular[i], j]
        for i in range(points.size):
            k = points[i]
            problem.closed[i] = contact.closed[k]
            problem.gap_free[i] = matrix.gap[k] + ahead[first[k]] + contact.beyond[k]
        for i in range(rows.size):
            r = rows[i]
            own.impulse[i] = solution.impulse[r]
            for j in range(3):
                problem.closing[j, i] = closing[j, r]
            if springs[r] > 0.0:
                problem.rate_free[i] = (ahead[r] - before[r]) / gap_per_velocity
                problem.rate_free[i] -= springs[r] * state.spring_traction[r]
            else:
                problem.rate_free[i] = rates[r]
        _delassus_between(matrix, data.delassus, rows, moves, problem.delassus)
        more, degenerate = 0, False
        if points.size:
            more, residual, degenerate = _solve_chosen(problem, own_laws, coefficients, options, own)
            if degenerate:
                more, residual, degenerate = _solve_chosen(problem, own_laws, coefficients, unique, own)
            if more < 0:
                return chosen, True, more, residual, degenerate
        else:
            residual = 0.0
        used += more
        # a pass that finds its guess right solves no system and cannot tell
        singular = degenerate if more else singular
        solution.impulse[:] = 0.0
        for i in range(rows.size):
            solution.impulse[rows[i]] = own.impulse[i]
        times_transposed_rows(matrix, solution.impulse, on_basis)
        change = 0.0
        for q in range(middle.size):
            reached = end[q]
            for s in range(middle.size):
                reached += gap_per_velocity * data.delassus[q, s] * on_basis[s]
            following[q] = 0.5 * (displacement[q] + reached)
            change = max(change, abs(following[q] - middle[q]) / moving.settled[q])
        if change <= 1.0 or attempt == PASSES - 1:
            break
        if change <= 0.5 * least:
            least, stuck = change, 0
        else:
            stuck += 1
        keep = keep or stuck == STUCK or attempt == PASSES // 2
        copy_vector(following, middle)
        if not _evaluate(system, moving, KEEP_PARTNERS if keep else PAIR_ANEW, middle, matrix):
            return chosen, True, 0, np.inf, False
    if not explicit and _projects(data, state, contact):
        for q in range(middle.size):
            moves[q] = 2.0 * following[q] - displacement[q]
        if not _evaluate(system, moving, AT_END, moves, room.end_rows):
            return chosen, True, 0, np.inf, False
    contact.delassus[:] = 0.0
    for i in range(rows.size):
        contact.delassus[rows[i]] = problem.delassus[i, i]
    solution.normal[:] = 0.0
    solution.status[:] = 0
    for i in range(points.size):
        for j in range(3):
            solution.normal[j, points[i]] = own.normal[j, i]
        solution.status[points[i]] = own.status[i]
    if not layered:
        copy_table(history, contact.carried)
    copy_table(contact.carried, trial)
    for i in range(regular.size):
        for j in range(trial.shape[1]):
            trial[regular[i], j] = own.trial[i, j]
    return chosen, points.size > 0, used, residual, singular


@called_njit()
def keep_configuration(contact, steps, n):
    """The configuration of step n into `steps` (`ConfigurationSteps`)."""
    copy_vector(contact.rows.starts, steps.starts[n])
    copy_vector(contact.rows.columns, steps.columns[n])
    copy_vector(contact.rows.values, steps.values[n])
    copy_vector(contact.rows.gap, steps.gap[n])
    copy_vector(contact.rows.tangents, steps.tangents[n])
    copy_vector(contact.middle, steps.contact_displacement[n])
    copy_vector(contact.persistent, steps.persistent[n])


@called_njit(forceinline=True)
def end_in_configuration(data, moving, contact, solution, state, steps, n, reactions, room):
    """The end of step n, which the state has reached: the configuration into `steps` (`ConfigurationSteps`), wear, the
    projection of the velocities, with its impulses and works in `steps` and the impulses of imposed motions added to
    reactions (p,), N·s, and what of the contact may last."""
    system, normal, status = data.system, solution.normal, solution.status
    laws = system.laws
    if system.wear_rate.size:
        _wear_off(data, contact, solution.impulse, state, room)
    keep_configuration(contact, steps, n)
    for k in range(laws.level.size):
        layered = laws.rows[k + 1] > laws.rows[k]
        steps.layer_gap[n, k] = solution.trial[laws.rows[k], 0] if layered else 0.0
    copy_vector(state.v, steps.unprojected[n])
    if _projects(data, state, contact):
        velocity = room.velocity
        velocity[:] = 0.0
        add_product(system.basis, state.v, velocity)
        for stage in range(2):
            steps.work[n, stage] = _project_stage(stage, laws, moving, contact, solution, steps.impulse[n], room)
        copy_vector(room.end_rows.tangents, steps.end_tangents[n])
        times_transposed_rows(room.end_rows, steps.impulse[n], steps.on_basis[n])
        steps.work[n, 2] = _push_at_end(
            system, moving.velocity_by_impulse, moving.mass, steps.on_basis[n], state, reactions, room
        )  # fmt: skip
    for r in range(state.impulse.size):
        state.impulse[r] += steps.impulse[n, r]
    most = 0.0
    for k in range(laws.level.size):
        most = max(most, abs(normal[0, k] + normal[1, k] + normal[2, k]))
    for k in range(laws.level.size):
        sticks = status[k] == STICK and normal[0, k] + normal[1, k] + normal[2, k] > LEAST * most
        state.persistence[k] = (ACTS if normal[2, k] > LEAST * most else 0) + (STICKS if sticks else 0)


@called_njit()
def _wear_off(data, contact, impulse, state, room):
    """As `wear_off`, by the slip of the rows in the step that has led to `state`, on persistent rows that of the
    displacements; `room` has what the basis moved at its start."""
    system, (step, _, _) = data.system, data.coefficients
    moves, change, slip, along = room.moves, room.basis_change, room.ahead, room.before
    change[:] = 0.0
    mean_path(system.basis, state.v, step, room.velocity, moves)
    add_product(system.basis, state.u, change)
    for q in range(moves.size):
        change[q] -= room.displacement[q]
    times_rows(contact.rows, moves, slip)
    times_rows(contact.rows, change, along)
    for r in range(slip.size):
        if contact.persistent[r]:
            slip[r] = along[r]
    wear_off(system.laws.first, system.wear_rate, step, impulse, slip, state.worn)


@called_njit()
def _project_stage(stage, laws, moving, contact, solution, impulse, room):
    """The normal (stage 0) or the tangential persistent rows at the end of a step, as
    `arlequin.solvers.velocity_projection`: adds to the impulses (r,), and takes the rates that they change off those of
    the basis in `room`; what the impulses take, J. The rows of `room` are those at the end of the step."""
    first, level, matrix = laws.first, laws.level, room.end_rows
    velocity, rates, response = room.velocity, room.rates, room.response
    own, on_basis, change, count = room.own, room.basis_change, room.moves, first[-1]
    times_rows(matrix, velocity, rates)
    own[:] = 0.0
    moves, bound = False, np.inf
    for k in range(level.size):
        for r in range(first[k], first[k + 1]):
            acts = solution.status[k] == STICK
            if stage == 0:
                acts = level[k] == VELOCITY_LEVEL and solution.normal[2, k] > 0.0
            if not contact.persistent[r] or not acts or (r == first[k]) != (stage == 0):
                continue
            scale = 0.0
            for e in range(matrix.starts[r], matrix.starts[r + 1]):
                scale += abs(matrix.values[e] * velocity[matrix.columns[e]])
            moves = moves or abs(rates[r]) > 1e-14 * scale
            if contact.delassus[r] > 0.0:
                own[r] = rates[r] / contact.delassus[r]
                if stage == 0 and own[r] > 0.0:
                    bound = min(bound, solution.normal[2, k] / own[r])
    if not moves:
        return 0.0
    times_transposed_rows(matrix, own, on_basis)
    np.dot(moving.mass_delassus, on_basis, change)
    times_rows(matrix, change, response)
    gain, curvature = 0.0, 0.0
    for r in range(count):
        gain += own[r] * rates[r]
        curvature += own[r] * response[r]
    if not (gain > 0.0 and curvature > 0.0):
        return 0.0
    share = min(gain / curvature, bound)
    for r in range(count):
        impulse[r] -= share * own[r]
    for q in range(velocity.size):
        velocity[q] -= share * change[q]
    return share * (gain - 0.5 * share * curvature)


@called_njit()
def _push_at_end(system, velocity_by_impulse, mass, on_basis, state, reactions, room):
    """Velocities and momenta after impulses P (q,) on the basis at the end of a step, M Δv = Bᵀ P + Cᵀ φ, C Δv = 0, and
    what imposed motions give, J, whose impulses are added to reactions (p,)."""
    acts = False
    for q in range(on_basis.size):
        acts = acts or on_basis[q] != 0.0
    if not acts:
        return 0.0
    change, multipliers, inertia = room.change, room.multipliers, room.inertia
    multipliers[:] = 0.0
    if velocity_by_impulse is not None:
        np.dot(velocity_by_impulse, on_basis, change)
    if mass is not None:
        _respond(CondensedPasses(*mass), system.free, on_basis, multipliers, change)
    inertia[:] = 0.0
    add_product(system.mass, change, inertia)
    for d in range(change.size):
        state.v[d] += change[d]
        state.momentum[d] += inertia[d]
    given = 0.0
    if system.imposed.size:
        pulls = room.pulls
        pulls[:] = 0.0
        add_transposed(system.basis, on_basis, pulls)
        add_transposed(system.constraints, multipliers, pulls)
        for g in range(system.imposed.size):
            d = system.imposed[g]
            reactions[g] += inertia[d] - pulls[d]
            given += (inertia[d] - pulls[d]) * state.v[d]
    return given


@called_njit()
def _respond(mass, free, on_basis, multipliers, change):
    """Δv (d,) and φ (m,) of `_push_at_end` by the factor of the mass and its border: a backward pass alone."""
    m, kept = multipliers.size, mass.kept.size
    push, halved, right = np.zeros(m + on_basis.size), np.zeros(kept), np.empty(free.size)
    for i in range(kept):
        for q in range(on_basis.size):
            halved[i] -= mass.root[i, q] * on_basis[q]
    solve_lower_transposed(mass.lower, halved)
    for i in range(kept):
        push[mass.kept[i]] = multipliers[mass.kept[i]] = halved[i]
    for q in range(on_basis.size):
        push[m + q] = on_basis[q]
    chosen, half = np.arange(len(mass.bordered[1]) - 1), np.zeros((1, len(mass.bordered[0])))
    backward_pass(mass.bordered, chosen, push, half, right)
    change[:] = 0.0
    for i in range(free.size):
        change[free[i]] = right[i]


@njit(cache=True)
def rows_of_steps(starts, columns, values, moves, count):
    """H x (b, r) from basis · x (b, q) of steps with rows of their own."""
    out = np.zeros((len(moves), count))
    for b in range(out.shape[0]):
        times_rows(ContactRows(starts[b], columns[b], values[b], out[b], out[b]), moves[b], out[b])
    return out


@njit(cache=True)
def transposed_rows_of_steps(starts, columns, values, impulse, count):
    """Impulses (b, r) on the rows of H as those on the basis (b, count)."""
    out = np.zeros((len(impulse), count))
    for b in range(out.shape[0]):
        times_transposed_rows(ContactRows(starts[b], columns[b], values[b], out[b], out[b]), impulse[b], out[b])
    return out
