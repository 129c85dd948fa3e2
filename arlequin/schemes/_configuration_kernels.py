"""Contact with configuration-dependent rows in compiled loops: impulses on the rows of the midpoint configuration, and
the velocity projection at the end of the step.

The rows are those of corners of plane rigid bodies on flat obstacles, in closed form, or of the pairing of surfaces, a
Python callback. The equations are those of `arlequin.solvers.contact_step` and `arlequin.solvers.velocity_projection`.
"""

from collections import namedtuple

import numpy as np

from arlequin.models.kernel_cache import called_njit, njit
from arlequin.models.linalg._bordered_kernels import backward_pass
from arlequin.multilevel.laws._layer_gap_kernels import carry_gaps
from arlequin.multilevel.solvers._dense_kernels import solve_envelope_transposed
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
# (3, r); delassus (r,): the diagonal of H W Hᵀ on active rows; active, closed (k,): masks of points. layer_history:
# history of the layers at the start; layer_gap_excess (k,): gaps of the layers minus those of the points, m.
_Configuration = namedtuple(
    "_Configuration", "rows middle closing persistent delassus active closed layer_history layer_gap_excess"
)  # fmt: skip


# Work space of a step: the rows at its end, displacement … moves (q,) on the rows of the basis, ahead … response (r,)
# on those of H, gaps_at_start (k,), change, inertia and pulls (d,), φ (m,). initial, offset (q,): the velocity before
# the impulses, and the difference between the end velocity and the mean one.
_Buffers = namedtuple(
    "_Buffers",
    "end_rows displacement velocity basis_change end rate lead initial offset following moves ahead rates before start "
    "mean direction response gaps_at_start change inertia pulls multipliers",
)


# Active points, their rows and rows of the regular laws, their laws, contact problem and solution.
_Active = namedtuple("_Active", "points rows regular laws problem solution")

# The system (`CompiledSystem`); coefficients Δt, λ and θ; W (q, q) of the rows of the basis; compliance (r,) of
# springs.
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
def _evaluate_corners(corners, first, gap, displacement, rows):
    """Rows of corners at a displacement (q,) of the basis, and their gaps; gap (k,): at u = 0, m.

    On a body at (x, y, θ) the row e of a corner of arm a moves by e·(x, y) + c (cos θ − 1) + s sin θ, c = e·a the arm
    along it and s = e × a across.
    """
    columns, width, directions, arms, _, _ = corners
    values = rows.values
    for k in range(gap.size):
        for r in range(first[k], first[k + 1]):
            at = rows.starts[r]
            if width[r] == 1:
                values[at], row_displacement = 1.0, displacement[columns[r]]
            else:
                x, y, angle = displacement[columns[r]], displacement[columns[r] + 1], displacement[columns[r] + 2]
                along, across, sin, cos = arms[r, 0], arms[r, 1], np.sin(angle), np.cos(angle)
                row_displacement = directions[r, 0] * x + directions[r, 1] * y
                row_displacement += across * sin - 2.0 * along * np.sin(0.5 * angle) ** 2
                values[at], values[at + 1] = directions[r, 0], directions[r, 1]
                values[at + 2] = across * cos - along * sin
            if r == first[k]:
                rows.gap[k] = gap[k] + row_displacement


@called_njit()
def _find(corners, call, first, gap, mode, displacement, rows):
    """As `_evaluate`, by the corners or the callback, of which one is None."""
    if corners is not None:
        _evaluate_corners(corners, first, gap, displacement, rows)
    if call is not None:
        address, pairing_displacement = call
        copy_vector(displacement, pairing_displacement)
        return call_address(address, mode) == 0
    return True


@called_njit()
def _evaluate(system, moving, mode, displacement, rows):
    """Evaluates the rows and gaps at a displacement (q,) of the basis; returns False on failure. mode: PAIR_ANEW,
    KEEP_PARTNERS or AT_END, see `MovingContact`, whose arrays the rows are."""
    return _find(moving.corners, moving.call, system.laws.first, system.gap, mode, displacement, rows)


@called_njit()
def _delassus_between(matrix, delassus, rows, product, out):
    """out = H W Hᵀ (a, a) for a selection of rows of H; product (q,): work space."""
    starts, columns, values = matrix.starts, matrix.columns, matrix.values
    for i in range(rows.size):
        product[:] = 0.0
        for e in range(starts[rows[i]], starts[rows[i] + 1]):
            delassus_row, value = delassus[columns[e]], values[e]
            for q in range(product.size):
                product[q] += value * delassus_row[q]
        for j in range(i + 1):
            total = 0.0
            for e in range(starts[rows[j]], starts[rows[j] + 1]):
                total += values[e] * product[columns[e]]
            out[i, j] = out[j, i] = total


@called_njit()
def _spans_of(mask, starts):
    """The indices starts[k] … starts[k + 1] of the points k in the mask, concatenated, and their start per point."""
    rows, starts_of_points = np.empty(starts[-1], dtype=np.int64), np.zeros(mask.size + 1, dtype=np.int64)
    count = points = 0
    for k in range(mask.size):
        if mask[k]:
            for r in range(starts[k], starts[k + 1]):
                rows[count] = r
                count += 1
            points += 1
            starts_of_points[points] = count
    return rows[:count].copy(), starts_of_points[: points + 1].copy()


@called_njit()
def chosen_points(mask, laws, history):
    """The points in the mask (k,) as `_Active`; see `PointLaws.chosen`."""
    points = np.flatnonzero(mask)
    rows, first = _spans_of(mask, laws.first)
    regular, active_law_rows = _spans_of(mask, laws.rows)
    table = np.empty((regular.size, laws.coefficients.shape[1]))
    for i in range(regular.size):
        table[i] = laws.coefficients[regular[i]]
    active_laws = LawTables(
        laws.kernels, laws.solve, first, laws.area[points], laws.level[points], laws.compliance[points],
        laws.friction[points],
        laws.tangential_compliance[points], laws.tangential_stiffness[points], laws.tangential_damping[points],
        active_law_rows, laws.kind[regular], table,
    )  # fmt: skip
    r, k, history_size = rows.size, points.size, history.shape[1]
    problem = _ContactProblem(
        np.empty((r, r)), np.empty(k), np.empty(r), np.empty(k, dtype=np.bool_), np.empty((3, r)),
        np.empty((regular.size, history_size)),
    )  # fmt: skip
    solution = ContactSolution(
        np.empty(r), np.zeros((3, k)), np.zeros(k, dtype=np.int8), np.empty((regular.size, history_size))
    )  # fmt: skip
    return _Active(points, rows, regular, active_laws, problem, solution)


@called_njit()
def named_moving(moving):
    """`MovingContact` and `ConfigurationSteps` from their arrays. Optional fields of the first are named where they are
    used: numba removes the branches of None only where None is an argument."""
    arrays, steps = moving
    corners, call, rows, end_rows, settled, points, mass_delassus, by_impulse, mass, proximal, lasting = arrays
    contact = MovingContact(
        corners, call, ContactRows(*rows), ContactRows(*end_rows), settled, points, mass_delassus, by_impulse, mass,
        proximal, lasting,
    )  # fmt: skip
    return contact, ConfigurationSteps(*steps)


@called_njit()
def configuration_buffers(basis_rows, rows, size, constraints, history, points):
    """Arrays of `_Configuration` and of `_Buffers`, without the contact rows."""
    q, r, d = basis_rows, rows, size
    contact = (
        np.empty(q), np.zeros((3, r)), np.zeros(r, dtype=np.bool_), np.zeros(r), np.zeros(points, dtype=np.bool_),
        np.empty(points, dtype=np.bool_), history.copy(), np.zeros(points),
    )  # fmt: skip
    buffers = (
        np.empty(q), np.empty(q), np.empty(q), np.empty(q), np.empty(q), np.zeros(q), np.empty(q), np.empty(q),
        np.empty(q), np.empty(q), np.empty(r), np.empty(r), np.empty(r), np.empty(r), np.empty(r), np.empty(r),
        np.empty(r), np.empty(points), np.empty(d), np.empty(d), np.empty(d), np.zeros(constraints),
    )  # fmt: skip
    return contact, buffers


@called_njit()
def named_configuration(moving, arrays):
    """`_Configuration` and `_Buffers` from the arrays of `configuration_buffers`."""
    contact, buffers = arrays
    return _Configuration(moving.rows, *contact), _Buffers(moving.end_rows, *buffers)


@called_njit()
def _sagitta(corners, k, increment):
    """Upper bound of the rise of corner k over its tangent, m, in a step with the increment (q,) of the basis."""
    rise = 0.0
    if corners is not None:
        _, _, _, _, sagitta, angle_row = corners
        rise = sagitta[k] * increment[angle_row[k]] ** 2
    return rise


@called_njit(forceinline=True)
def _mark_closed(data, moving, state, contact, buffers):
    """Marks the closed points of a step, in the midpoint configuration predicted by the velocities at its start;
    returns False if the pairing failed."""
    system, displacement, velocity, increment = data.system, buffers.displacement, buffers.velocity, buffers.moves
    step, weight, _ = data.coefficients
    displacement[:] = 0.0
    velocity[:] = 0.0
    add_product(system.basis, state.u, displacement)
    add_product(system.basis, state.v, velocity)
    if state.lead.size:
        buffers.lead[:] = 0.0
        add_product(system.basis, state.lead, buffers.lead)
        for q in range(displacement.size):
            buffers.lead[q] *= step
    if state.half.size:
        buffers.initial[:] = 0.0
        add_product(system.basis, state.half, buffers.initial)
    for q in range(displacement.size):
        increment[q] = step * velocity[q]
        contact.middle[q] = displacement[q] + 0.5 * increment[q]
        if state.half.size:
            buffers.offset[q] = buffers.initial[q]
        else:
            buffers.initial[q] = velocity[q]
            buffers.offset[q] = (1.0 / weight - 1.0) * velocity[q] + buffers.lead[q] / weight
    if not _evaluate(system, moving, PAIR_ANEW, contact.middle, contact.rows):
        return False
    for k in range(system.gap.size):
        persists = moving.points[k] and (state.persistence[k] & ACTS) > 0
        limit = (moving.lasting if persists else system.touching) + _sagitta(moving.corners, k, increment)
        gap = contact.rows.gap[k]
        if system.wear_rate.size:
            gap += state.worn[0, k] - 0.5 * state.worn[1, k]
        contact.closed[k] = gap <= limit
    return True


@called_njit(forceinline=True)
def _mark_active(laws, contact):
    """Marks the active points in the configuration; returns whether they have changed."""
    changed = False
    for k in range(contact.active.size):
        acts = contact.closed[k] or laws.level[k] == GAP_LEVEL or laws.rows[k + 1] > laws.rows[k]
        acts = acts and np.isfinite(contact.rows.gap[k])
        changed = changed or acts != contact.active[k]
        contact.active[k] = acts
    return changed


@njit(cache=True)
def _close(laws, springs, moving, explicit, persistence, start, mean, gaps, contact):
    """The fields (r,) of `arlequin.multilevel.solvers.closing.Closing`, in closing (3, r) and `persistent`; explicit:
    explicit schemes, where on fixed normals the law acts on the rate at the end of the step."""
    first, level, closing, persistent = laws.first, laws.level, contact.closing, contact.persistent
    onset_closing(first, level, start, closing)
    for k in range(level.size):
        n = first[k]
        for r in range(n, first[k + 1]):
            persists = moving[k] and (persistence[k] & (ACTS if r == n else STICKS)) > 0 and springs[r] == 0.0
            persistent[r] = persists and (r > n or level[k] == VELOCITY_LEVEL)
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
            closes = moving[k] and laws.compliance[k] == 0.0 and np.isfinite(gaps[k])
            closing[0, n] = max(-gaps[k], 0.0) if closes else 0.0


@called_njit()
def _solve_chosen(problem, laws, coefficients, options, solution):
    """Impulses of a step on the active points, from an initial guess; iterations, residual, and whether the multipliers
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
    """Whether the velocities at the end are projected: some rows persist, and the law does not act there (θ < 1)."""
    _, _, theta = data.coefficients
    persists = False
    for r in range(contact.persistent.size):
        persists = persists or contact.persistent[r]
    return persists and (theta < 1.0 or state.lead.size > 0)


@called_njit(forceinline=True)
def solve_in_configuration(data, moving, options, state, free, contact, chosen, solution, on_basis, buffers):
    """Contact impulses of a step on the rows of its midpoint configuration; returns the active points, whether there
    are any, iterations, residual (inf if the pairing failed), and whether the multipliers are not unique.

    free (q,): y of the rows of the basis without impulses; chosen: the active points of the last step. `contact`
    receives the midpoint configuration, `buffers` the rows at the end for the velocity projection; on_basis (q,): the
    impulses on the basis. The state is not changed.
    """
    system, matrix, coefficients = data.system, contact.rows, data.coefficients
    (step, weight, _), laws = coefficients, system.laws
    first, middle, closing = laws.first, contact.middle, contact.closing
    springs, history, trial = data.springs, state.history, solution.trial
    gap_per_velocity, layered = weight * step, laws.kind.size > 0
    displacement, velocity, end, rate, following = (
        buffers.displacement, buffers.velocity, buffers.end, buffers.rate, buffers.following,
    )  # fmt: skip
    explicit = state.half.size > 0
    ahead, rates, before, start = buffers.ahead, buffers.rates, buffers.before, buffers.start
    mean, gaps_at_start, moves = buffers.mean, buffers.gaps_at_start, buffers.moves
    if not _mark_closed(data, moving, state, contact, buffers):
        return chosen, True, 0, np.inf, False
    for q in range(middle.size):
        end[q] = displacement[q] + step * (free[q] + buffers.lead[q])
        rate[q] = (1.0 - 1.0 / weight) * velocity[q] + free[q] / weight
    unique = options[0], options[1], moving.proximal
    iterations, residual, singular = 0, 0.0, False
    least_change, stagnant, keep = np.inf, 0, False
    for attempt in range(PASSES):
        if _mark_active(laws, contact):
            chosen = chosen_points(contact.active, laws, history)
        points, rows, regular, own_laws = chosen.points, chosen.rows, chosen.regular, chosen.laws
        problem, active_solution = chosen.problem, chosen.solution
        # free motion in terms of the rows of this configuration
        times_rows(matrix, rate, rates)
        for q in range(middle.size):
            moves[q] = end[q] - middle[q]
        times_rows(matrix, moves, ahead)
        for q in range(middle.size):
            moves[q] = displacement[q] - middle[q]
        times_rows(matrix, moves, before)
        times_rows(matrix, buffers.initial, start)
        times_rows(matrix, buffers.offset, mean)
        for k in range(gaps_at_start.size):
            gaps_at_start[k] = matrix.gap[k] + before[first[k]]
        for k in range(system.wear_rate.size):
            depth, opening, n = state.worn[0, k], state.worn[1, k], first[k]
            gaps_at_start[k] += depth - opening
            ahead[n] += depth
            rates[n] += opening / step
            start[n] += opening / step
            mean[n] += opening * (1.0 / gap_per_velocity - 1.0 / step)
        _close(laws, springs, moving.points, explicit, state.persistence, start, mean, gaps_at_start, contact)
        if layered:
            copy_table(history, contact.layer_history)
        if layered and explicit:
            for k in range(gaps_at_start.size):
                for row in range(laws.rows[k], laws.rows[k + 1]):
                    contact.layer_history[row, 0] = gaps_at_start[k]
        elif layered:
            carry_gaps(
                contact.layer_history, gaps_at_start, laws.rows, laws.area, laws.kernels, laws.kind, laws.coefficients,
                contact.layer_gap_excess,
            )  # fmt: skip
            for k in range(gaps_at_start.size):
                if laws.level[k] == GAP_LEVEL:
                    closing[0, first[k]] -= contact.layer_gap_excess[k]
        for i in range(regular.size):
            for j in range(history.shape[1]):
                problem.history[i, j] = active_solution.trial[i, j] = contact.layer_history[regular[i], j]
        for i in range(points.size):
            k = points[i]
            problem.closed[i] = contact.closed[k]
            problem.gap_free[i] = matrix.gap[k] + ahead[first[k]] + contact.layer_gap_excess[k]
        for i in range(rows.size):
            r = rows[i]
            active_solution.impulse[i] = solution.impulse[r]
            for j in range(3):
                problem.closing[j, i] = closing[j, r]
            if springs[r] > 0.0:
                problem.rate_free[i] = (ahead[r] - before[r]) / gap_per_velocity
                problem.rate_free[i] -= springs[r] * state.spring_traction[r]
            else:
                problem.rate_free[i] = rates[r]
        _delassus_between(matrix, data.delassus, rows, moves, problem.delassus)
        used_now, degenerate = 0, False
        if points.size:
            used_now, residual, degenerate = _solve_chosen(problem, own_laws, coefficients, options, active_solution)
            if degenerate:
                used_now, residual, degenerate = _solve_chosen(problem, own_laws, coefficients, unique, active_solution)
            if used_now < 0:
                return chosen, True, used_now, residual, degenerate
        else:
            residual = 0.0
        iterations += used_now
        # a pass that accepts its initial guess solves no system and does not detect it
        singular = degenerate if used_now else singular
        solution.impulse[:] = 0.0
        for i in range(rows.size):
            solution.impulse[rows[i]] = active_solution.impulse[i]
        times_transposed_rows(matrix, solution.impulse, on_basis)
        change = 0.0
        for q in range(middle.size):
            end_displacement = end[q]
            for s in range(middle.size):
                end_displacement += gap_per_velocity * data.delassus[q, s] * on_basis[s]
            following[q] = 0.5 * (displacement[q] + end_displacement)
            change = max(change, abs(following[q] - middle[q]) / moving.settled[q])
        if change <= 1.0 or attempt == PASSES - 1:
            break
        if change <= 0.5 * least_change:
            least_change, stagnant = change, 0
        else:
            stagnant += 1
        keep = keep or stagnant == STUCK or attempt == PASSES // 2
        copy_vector(following, middle)
        if not _evaluate(system, moving, KEEP_PARTNERS if keep else PAIR_ANEW, middle, matrix):
            return chosen, True, 0, np.inf, False
    if not explicit and _projects(data, state, contact):
        for q in range(middle.size):
            moves[q] = 2.0 * following[q] - displacement[q]
        if not _evaluate(system, moving, AT_END, moves, buffers.end_rows):
            return chosen, True, 0, np.inf, False
    contact.delassus[:] = 0.0
    for i in range(rows.size):
        contact.delassus[rows[i]] = problem.delassus[i, i]
    solution.normal[:] = 0.0
    solution.status[:] = 0
    for i in range(points.size):
        for j in range(3):
            solution.normal[j, points[i]] = active_solution.normal[j, i]
        solution.status[points[i]] = active_solution.status[i]
    if not layered:
        copy_table(history, contact.layer_history)
    copy_table(contact.layer_history, trial)
    for i in range(regular.size):
        for j in range(trial.shape[1]):
            trial[regular[i], j] = active_solution.trial[i, j]
    return chosen, points.size > 0, iterations, residual, singular


@called_njit()
def keep_configuration(contact, steps, n):
    """Stores the configuration of step n in `steps` (`ConfigurationSteps`)."""
    copy_vector(contact.rows.starts, steps.starts[n])
    copy_vector(contact.rows.columns, steps.columns[n])
    copy_vector(contact.rows.values, steps.values[n])
    copy_vector(contact.rows.gap, steps.gap[n])
    copy_vector(contact.rows.tangents, steps.tangents[n])
    copy_vector(contact.middle, steps.contact_displacement[n])
    copy_vector(contact.persistent, steps.persistent[n])


@called_njit(forceinline=True)
def end_in_configuration(data, moving, contact, solution, state, steps, n, reactions, buffers):
    """Completes step n, whose end is the state: stores the configuration in `steps` (`ConfigurationSteps`), updates
    wear, projects the velocities, with impulses and works in `steps` and the impulses of imposed motions added to
    reactions (p,), N·s, and sets the persistence flags."""
    system, normal, status = data.system, solution.normal, solution.status
    laws = system.laws
    if system.wear_rate.size:
        _wear_off(data, contact, solution.impulse, state, buffers)
    keep_configuration(contact, steps, n)
    for k in range(laws.level.size):
        layered = laws.rows[k + 1] > laws.rows[k]
        steps.layer_gap[n, k] = solution.trial[laws.rows[k], 0] if layered else 0.0
    copy_vector(state.v, steps.unprojected[n])
    if _projects(data, state, contact):
        velocity = buffers.velocity
        velocity[:] = 0.0
        add_product(system.basis, state.v, velocity)
        for stage in range(2):
            steps.work[n, stage] = _project_stage(stage, laws, moving, contact, solution, steps.impulse[n], buffers)
        copy_vector(buffers.end_rows.tangents, steps.end_tangents[n])
        times_transposed_rows(buffers.end_rows, steps.impulse[n], steps.on_basis[n])
        steps.work[n, 2] = _push_at_end(
            system, moving.velocity_by_impulse, moving.mass, steps.on_basis[n], state, reactions, buffers
        )  # fmt: skip
    for r in range(state.impulse.size):
        state.impulse[r] += steps.impulse[n, r]
    largest = 0.0
    for k in range(laws.level.size):
        largest = max(largest, abs(normal[0, k] + normal[1, k] + normal[2, k]))
    for k in range(laws.level.size):
        sticks = status[k] == STICK and normal[0, k] + normal[1, k] + normal[2, k] > LEAST * largest
        state.persistence[k] = (ACTS if normal[2, k] > LEAST * largest else 0) + (STICKS if sticks else 0)


@called_njit()
def _wear_off(data, contact, impulse, state, buffers):
    """As `wear_off`, by the slip of the rows in the step that ends in `state`, on persistent rows by the displacements;
    `buffers` has the displacements and velocities of the basis at the start."""
    system, (step, _, _) = data.system, data.coefficients
    moves, change, slip, along = buffers.moves, buffers.basis_change, buffers.ahead, buffers.before
    change[:] = 0.0
    mean_path(system.basis, state.v, step, buffers.velocity, moves)
    add_product(system.basis, state.u, change)
    for q in range(moves.size):
        change[q] -= buffers.displacement[q]
    times_rows(contact.rows, moves, slip)
    times_rows(contact.rows, change, along)
    for r in range(slip.size):
        if contact.persistent[r]:
            slip[r] = along[r]
    wear_off(system.laws.first, system.wear_rate, step, impulse, slip, state.worn)


@called_njit()
def _project_stage(stage, laws, moving, contact, solution, impulse, buffers):
    """Projection of the velocity on the normal (stage 0) or the tangential persistent rows at the end of a step, see
    `arlequin.solvers.velocity_projection`: updates the impulses (r,) and the velocity of the basis in `buffers`;
    returns the energy lost, J. The rows of `buffers` are those at the end of the step."""
    first, level, matrix = laws.first, laws.level, buffers.end_rows
    velocity, rates, response = buffers.velocity, buffers.rates, buffers.response
    direction, on_basis, change, count = buffers.direction, buffers.basis_change, buffers.moves, first[-1]
    times_rows(matrix, velocity, rates)
    direction[:] = 0.0
    moving_rows, bound = False, np.inf
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
            moving_rows = moving_rows or abs(rates[r]) > 1e-14 * scale
            if contact.delassus[r] > 0.0:
                direction[r] = rates[r] / contact.delassus[r]
                if stage == 0 and direction[r] > 0.0:
                    bound = min(bound, solution.normal[2, k] / direction[r])
    if not moving_rows:
        return 0.0
    times_transposed_rows(matrix, direction, on_basis)
    np.dot(moving.mass_delassus, on_basis, change)
    times_rows(matrix, change, response)
    gain, curvature = 0.0, 0.0
    for r in range(count):
        gain += direction[r] * rates[r]
        curvature += direction[r] * response[r]
    if not (gain > 0.0 and curvature > 0.0):
        return 0.0
    factor = min(gain / curvature, bound)
    for r in range(count):
        impulse[r] -= factor * direction[r]
    for q in range(velocity.size):
        velocity[q] -= factor * change[q]
    return factor * (gain - 0.5 * factor * curvature)


@called_njit()
def _push_at_end(system, velocity_by_impulse, mass, on_basis, state, reactions, buffers):
    """Applies impulses P (q,) on the basis at the end of a step, M Δv = Bᵀ P + Cᵀ φ, C Δv = 0, to velocities and
    momenta; returns the work of the imposed motions, J, whose impulses are added to reactions (p,)."""
    acts = False
    for q in range(on_basis.size):
        acts = acts or on_basis[q] != 0.0
    if not acts:
        return 0.0
    change, multipliers, inertia = buffers.change, buffers.multipliers, buffers.inertia
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
    imposed_work = 0.0
    if system.imposed.size:
        pulls = buffers.pulls
        pulls[:] = 0.0
        add_transposed(system.basis, on_basis, pulls)
        add_transposed(system.constraints, multipliers, pulls)
        for g in range(system.imposed.size):
            d = system.imposed[g]
            reactions[g] += inertia[d] - pulls[d]
            imposed_work += (inertia[d] - pulls[d]) * state.v[d]
    return imposed_work


@called_njit()
def _respond(mass, free, on_basis, multipliers, change):
    """Δv (d,) and φ (m,) of `_push_at_end` by the bordered factor of the mass, in a single backward pass."""
    m, independent_count = multipliers.size, mass.kept.size
    push, halved, right = np.zeros(m + on_basis.size), np.zeros(independent_count), np.empty(free.size)
    for i in range(independent_count):
        for q in range(on_basis.size):
            halved[i] -= mass.root[i, q] * on_basis[q]
    solve_envelope_transposed(mass.lower, mass.first, halved)
    for i in range(independent_count):
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
    """H x (b, r) from basis · x (b, q), with separate rows H for each step."""
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
