"""Steps of small linear systems by the θ-scheme or the generalised-α family in one compiled loop, by the row of
coefficients of `arlequin.step.coefficients`.

The loop is compiled for each kind of pairing by itself: its argument `rotation` is None on fixed normals, where numba
leaves out what rotating bodies of the plane on flat obstacles need.
"""

from collections import namedtuple

import numpy as np

from arlequin.models.kernel_cache import called_njit, njit
from arlequin.multilevel.laws._layer_gap_kernels import carry_gaps
from arlequin.multilevel.solvers._borrow_kernels import borrow, hold
from arlequin.multilevel.solvers._kernels import GAP_LEVEL, STICK, VELOCITY_LEVEL, allocate_factor, onset_closing
from arlequin.multilevel.solvers._sliding_kernels import SlidingPoints
from arlequin.multilevel.solvers._spring_kernels import stretch_springs
from arlequin.multilevel.solvers.closing import LEAST
from arlequin.multilevel.solvers.problem import ACTS, STICKS
from arlequin.schemes._row_kernels import (
    MAX_ITERATIONS,
    ContactPoints,
    RowsFree,
    advance_sliding,
    free_rows,
    room_of_rows,
    solve_rows,
)  # fmt: skip
from arlequin.schemes._step_kernels import ALLOWED, FreeMotion, Prediction, constraint_rates, right_hand_side
from arlequin.schemes._system_kernels import (
    add_product,
    add_transposed,
    copy_table,
    copy_vector,
    internal_forces,
    law_table,
    named_system,
)  # fmt: skip
from arlequin.schemes.compiled_system import LawTables
from arlequin.schemes.loop_data import CornerRows, LoopState, RotatingSteps, Rotation, StepOperators, StepRow

PASSES = 25  # configurations of a step at most, as in `arlequin.solvers.contact_step`


# Delassus operator (r, r), gaps (k,) and rates (r,) without impulses, closed points (k,), closing (3, r) (see
# `arlequin.multilevel.solvers.closing`), and the history of the regular laws.
_ContactProblem = namedtuple("_ContactProblem", "delassus gap_free rate_free closed closing history")


# Impulses (r,), N·s; their stored, dissipated and multiplier parts (3, k); status (k,); trial history.
_ContactSolution = namedtuple("_ContactSolution", "impulse normal status trial")


# Configuration of a step of rotating bodies: shares (r, 3) of the basis in the rows of H, how far these have moved
# (r,), m, at the displacement `middle` (q,) of the basis; gap (k,) there; persistent rows (r,); closing (3, r);
# delassus (r,): the diagonal of H W Hᵀ on the rows that act. active (k,): points that act. carried: the history that
# layers start from, beyond (k,): what their gaps are beyond these, m.
_RotatingContact = namedtuple(
    "_RotatingContact", "shares moved middle closing persistent delassus active closed carried beyond"
)


# Work space of a step of rotating bodies: displacement … following (q,) on the rows of the basis, ahead … response (r,)
# on those of H, begins (k,), shares (r, 3), change and inertia (d,).
_RotatingRoom = namedtuple(
    "_RotatingRoom",
    "displacement velocity basis_change end rate following ahead rates before start mean own response begins shares "
    "change inertia",
)


# The points that act, their rows and rows of the regular laws, and their laws, problem and solution.
_Active = namedtuple("_Active", "points rows regular laws problem solution")


# What a function reads of the system and the operators, and no more: each array of an argument is counted by each call,
# twice, which takes some nanoseconds of steps that take a microsecond.
# A function that makes no arrays costs none of that: the counts cancel. So the work space of a step is made beforehand.
_BulkState = namedtuple(
    "_BulkState", "u v momentum internal constraint_sum lead internal_average damping_average pulled"
)
_Bulk = namedtuple("_Bulk", "row mass strains viscous constraints basis inertial")
_Rows = namedtuple("_Rows", "step theta basis gap touching laws delassus springs")


@called_njit()
def _solve_factored(factor, b):
    """b ← A⁻¹ b by the factor of `arlequin.models.linalg.small_factor`: order, starts, rows, values."""
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


@called_njit(forceinline=True)
def _predict(motion, push, imposed, state, prediction):
    """y (d,) and λμ φ (m,) of a step without contact, of the b- and the c-equation of `arlequin.step.coefficients`."""
    free, y, right, rest = motion.free, prediction.y, prediction.right, state.constraint_sum
    right_hand_side(motion, None, push, imposed, state, prediction)
    _solve_factored(motion.factor, right)
    for i in range(free.size):
        y[free[i]] = right[i]
    if rest.size:
        _constrain(motion, state.v, rest, y, prediction.multipliers)


@called_njit()
def _constrain(motion, v, constraint_sum, y, multipliers):
    """Adds to y (d,) what the constraints ask for, and sets λμ φ (m,); apart from `_predict`, in which arrays of its
    own would keep numba from leaving out the counts of its arguments."""
    missing, wanted = np.zeros(multipliers.size), np.empty(multipliers.size)
    add_product(motion.constraints, y, missing)
    constraint_rates(motion, v, constraint_sum, wanted)
    missing = wanted - missing
    multipliers[:] = motion.multiplier @ missing
    y += motion.velocity @ missing


@called_njit(forceinline=True)
def _advance(bulk, external, on_basis, prediction, state):
    """The state at the end of a step from y, φ and the impulses (q,) on the contact's basis; whether it is finite:

    u₁ = u₀ + Δt y + Δt² l₀,   v₁ = v₀ + (y − v₀)/λ;   momenta as sums of impulses where `inertial`, M v₁ elsewhere.

    external (d,): mean external forces, N. y becomes (u₁ − u₀)/Δt.
    """
    force, v, momentum, rest = prediction.force, state.v, state.momentum, state.constraint_sum
    if rest.size:
        add_product(bulk.constraints, prediction.y, rest)
    if state.lead.size:
        finite = _move_with_lead(bulk, external, on_basis, prediction, state)
    else:
        finite = _move(bulk, external, on_basis, prediction, state)
    if not finite:
        return False
    momentum[:] = 0.0
    add_product(bulk.mass, v, momentum)
    for d in range(v.size):
        if bulk.inertial[d]:
            momentum[d] = force[d]
    return True


@called_njit(forceinline=True)
def _move(bulk, external, on_basis, prediction, state):
    """u, v, the internal forces and, in `force`, the momentum at the end of a step of the θ-scheme."""
    row, y, multipliers = bulk.row, prediction.y, prediction.multipliers
    force, drag, relative = prediction.force, prediction.drag, prediction.relative
    u, v, internal, theta, step = state.u, state.v, state.internal, row.weight, row.step
    finite = True
    drag[:] = 0.0
    if bulk.viscous.starts.size > 1:
        add_product(bulk.viscous, y, drag)
    for d in range(u.size):
        force[d] = state.momentum[d] + step * (external[d] - (1.0 - theta) * internal[d] - drag[d])
        u[d] += step * y[d]
        v[d] += (y[d] - v[d]) / theta
        finite = finite and np.isfinite(u[d])
    if not finite:
        return False
    internal_forces(bulk.strains, u, relative, internal)
    for d in range(u.size):
        force[d] -= step * theta * internal[d]
    add_transposed(bulk.constraints, multipliers, force)
    add_transposed(bulk.basis, on_basis, force)
    return True


@called_njit()
def _move_with_lead(bulk, external, on_basis, prediction, state):
    """The same of the generalised-α family, with the lead, the averages of the forces and the constraint forces Q."""
    row, y = bulk.row, prediction.y
    force, drag, relative, before = prediction.force, prediction.drag, prediction.relative, prediction.before
    u, v, internal, lead, pulled = state.u, state.v, state.internal, state.lead, state.pulled
    internal_average, damping_average, drag_before = (
        state.internal_average,
        state.damping_average,
        prediction.drag_before,
    )
    step, gamma, now, then, past = row.step, row.gamma, 1.0 - row.alpha_f, row.alpha_f, -row.alpha_m / row.inertia
    finite, viscous = True, bulk.viscous.starts.size > 1
    drag_before[:] = 0.0
    if viscous:
        add_product(bulk.viscous, v, drag_before)
    for d in range(u.size):
        before[d] = internal[d]
        resisting = internal_average[d] + damping_average[d]
        force[d] = state.momentum[d] + step * (external[d] - (1.0 - gamma) * resisting)
        y[d], change = y[d] + step * lead[d], (y[d] - v[d]) / row.weight
        u[d] += step * y[d]
        v[d] += change
        lead[d] = (row.shift * change / step - (1.0 - gamma) * lead[d]) / gamma
        finite = finite and np.isfinite(u[d])
    if not finite:
        return False
    internal_forces(bulk.strains, u, relative, internal)
    drag[:] = 0.0
    if viscous:
        add_product(bulk.viscous, v, drag)
    for d in range(u.size):
        internal_average[d] = (now * internal[d] + then * before[d]) / row.inertia + past * internal_average[d]
        damping_average[d] = (now * drag[d] + then * drag_before[d]) / row.inertia + past * damping_average[d]
        force[d] -= step * gamma * (internal_average[d] + damping_average[d])
    drag[:] = 0.0
    add_transposed(bulk.constraints, prediction.multipliers, drag)
    add_transposed(bulk.basis, on_basis, drag)
    for d in range(u.size):
        force[d] += drag[d]
        pulled[d] = (drag[d] / step - (1.0 - gamma) * pulled[d]) / gamma
    return True


@njit(inline="always")
def _solve_single(
    delassus, gap_per_velocity, step, gaps, rate, closed, area, level, compliance, impulse, normal, status
):  # fmt: skip
    """The contact problem of one point without regular law and friction, in closed form."""
    slack, only = compliance[0] / (step * area[0]), 0.0
    if level[0] == GAP_LEVEL:
        only = max(-gaps[0], 0.0) / (gap_per_velocity * delassus[0, 0] + slack)
    elif level[0] == VELOCITY_LEVEL and closed[0]:
        only = max(-rate, 0.0) / (delassus[0, 0] + slack)
    impulse[0] = only
    normal[:] = 0.0
    normal[2, 0] = only
    status[0] = 1 if only > 0.0 else 0


@called_njit()
def _solve_chosen(problem, laws, step, theta, options, solution):
    """Impulses of a step on the points that act, from a first guess; iterations, residual, and whether the multipliers
    are not unique. options: method, ρ and the proximal term, see `ContactMethod.numbers`."""
    delassus, impulse = problem.delassus, solution.impulse
    method, rho, proximal = options
    single = impulse.size == 1 and not laws.kind.size and method == 0 and proximal == 0.0
    if single and delassus[0, 0] > 0.0:
        _solve_single(
            delassus, theta * step, step, problem.gap_free, problem.rate_free[0] + problem.closing[0, 0],
            problem.closed, laws.area, laws.level, laws.compliance, impulse, solution.normal, solution.status,
        )  # fmt: skip
        return 1, 0.0, False
    return laws.solve(
        (delassus, theta * step, problem.gap_free, problem.rate_free, problem.closed, step, theta, step),
        law_table(laws), laws.kernels, problem.history, problem.closing, (method, rho, proximal, MAX_ITERATIONS),
        (impulse, solution.trial, solution.normal, solution.status), allocate_factor(0),
    )  # fmt: skip


@njit(cache=True, nogil=True)
def linear_steps(count, system, kernels, solvers, operators, loads, state, steps, rotation, sliding):
    """Up to `count` steps of a scheme with a row of coefficients; returns how many were accepted.

    Plain tuples of what has these names: system: `CompiledSystem`; operators: `StepOperators`; loads: what the external
    forces give to the b-equation (count, d), N·s, their means over the steps (count, d), N, and values of the imposed
    degrees of freedom at the ends of the steps; state: `LoopState`, which becomes that of the last step; steps:
    `LoopSteps`. kernels: of the regular laws; solvers: that of the contact problem, whose −1 iterations in the step
    after those accepted say that it failed. rotation: None on fixed normals, else `Rotation` and `RotatingSteps`, of
    the θ-scheme alone: each step then alternates between impulses and configuration as
    `arlequin.solvers.contact_step.solve_contact_step` does. sliding: None, or friction laws whose coefficients depend
    on the state, on fixed normals (`arlequin.schemes.compiled_loop.SmallStepper`).
    """
    system, operators = named_system(borrow(system), kernels, solvers[0]), StepOperators(*borrow(operators))
    push, external, imposed = borrow(loads)
    state, steps, row = LoopState(*borrow(state)), borrow(steps), StepRow(*operators.row)
    step, weight, theta, laws, springs = row.step, row.weight, row.theta, system.laws, operators.spring_compliance
    gap_per_velocity = weight * step
    delassus, basis, gap = operators.delassus, system.basis, system.gap
    first, area, level, compliance, law_rows = laws.first, laws.area, laws.level, laws.compliance, laws.rows
    by_impulse, released, u, v = operators.velocity_by_impulse, operators.multiplier_by_impulse, state.u, state.v
    (
        all_u, all_v, all_y, all_impulse, all_normal, all_status, all_multipliers, all_traction, iterations, residuals,
        friction_states,
    ) = steps  # fmt: skip
    size, points, count_rows = state.u.size, gap.size, state.impulse.size
    basis_rows, constraints = basis.starts.size - 1, state.constraint_sum.size
    motion = FreeMotion(
        row, system.free, system.imposed, system.imposes_displacement, system.inertial, system.strains, system.viscous,
        operators.factor, operators.by_imposed, system.constraints, operators.velocity_by_constraint,
        operators.multiplier_by_constraint,
    )  # fmt: skip
    bulk = _Bulk(
        row, system.mass, system.strains, system.viscous, system.constraints, basis, system.inertial
    )  # fmt: skip
    own_prediction = Prediction(
        np.empty(size), np.zeros(constraints), np.empty(system.free.size), np.empty(size), np.empty(size),
        np.empty(size), np.empty(state.lead.size), np.empty(state.lead.size),
    )  # fmt: skip
    prediction = borrow(own_prediction)
    y, multipliers = prediction.y, prediction.multipliers
    moving = _BulkState(
        u, v, state.momentum, state.internal, state.constraint_sum, state.lead, state.internal_average,
        state.damping_average, state.pulled,
    )  # fmt: skip
    impulse, traction, history = state.impulse, state.spring_traction, state.history
    own_solution = history.copy(), np.zeros((3, points)), np.zeros(points, dtype=np.int8), np.empty(size)
    trial, normal, status, velocity_change = borrow(own_solution)
    own_factor = allocate_factor(count_rows if rotation is None else 0)
    factor = borrow(own_factor)
    options = operators.method, operators.rho, operators.proximal
    if rotation is None:
        on_basis = impulse
        own_problem = room_of_rows(basis_rows, count_rows, points)
        rows_free = RowsFree(*borrow(own_problem))
        displacement, velocity, end, ahead, gaps, rate, closed, closing = rows_free
        coefficients = step, weight, theta
        contact_points = ContactPoints(gap, system.touching, laws, springs)
        point_solution = impulse, trial, normal, status
        single = count_rows == 1 and law_rows[1] == 0 and operators.method == 0 and operators.proximal == 0.0
        single = single and delassus[0, 0] > 0.0
    else:
        on_basis = np.empty(basis_rows)
        rotating, configurations = _named_rotation(borrow(rotation))
        rows = _Rows(step, theta, basis, gap, system.touching, laws, delassus, springs)
        solution = _ContactSolution(impulse, normal, status, trial)
        work_space = _room(basis_rows, count_rows, size, history, points)
        contact, room = borrow(work_space)
        of_active = _chosen(contact.active, laws, history)
        chosen = borrow(of_active)
    if sliding is None:
        slide_room = None
    else:
        slide = np.empty(count_rows)
        slide_room = np.empty(count_rows), slide, np.empty((2, points)), np.empty(points)
        sliding_points = SlidingPoints(*sliding[2])
    for n in range(count):
        _predict(motion, push[n], imposed[n], moving, prediction)
        used, residual, singular = 0, 0.0, False
        if rotation is None:
            acts = False
            if points:
                displacement[:] = 0.0
                velocity[:] = 0.0
                end[:] = 0.0
                add_product(basis, u, displacement)
                add_product(basis, v, velocity)
                add_product(basis, y, end)
                if state.lead.size:
                    ahead[:] = 0.0
                    add_product(basis, state.lead, ahead)
                    for r in range(ahead.size):
                        ahead[r] *= step
                acts = free_rows(coefficients, contact_points, traction, rows_free)
            if acts and single:
                used = 1
                _solve_single(
                    delassus, gap_per_velocity, step, gaps, rate[0] + closing[0, 0], closed, area, level, compliance,
                    impulse, normal, status,
                )  # fmt: skip
            elif acts:
                used, residual, singular = solve_rows(
                    delassus, coefficients, laws, options, rows_free, history, point_solution, factor, sliding,
                    slide_room,
                )  # fmt: skip
            else:
                impulse[:] = 0.0
                normal[:] = 0.0
                status[:] = 0
        else:
            if _mark_active(rows, rotating, u, v, state.persistence, contact, room):
                of_active = _chosen(contact.active, laws, history)
                chosen = borrow(of_active)
            acts, used, residual, singular = _solve_in_configuration(
                rows, rotating, options, state, y, contact, chosen, solution, on_basis, room
            )  # fmt: skip
        iterations[n], residuals[n] = used, residual
        if singular or not residual <= ALLOWED:
            return n
        if acts:
            stretch_springs(first, area, laws.friction, operators.spring_gain, impulse, step, traction)
            np.dot(by_impulse, on_basis, velocity_change)
            for d in range(size):
                y[d] += weight * velocity_change[d]
            if constraints:
                multipliers -= weight * (released @ on_basis)
        else:
            traction[:] = 0.0
        if sliding is not None:
            if not acts:
                copy_table(history, trial)
            copy_vector(ahead, slide)
            add_product(basis, y, slide)
            advance_sliding(laws, step, sliding, slide_room, impulse, status, trial)
        multipliers /= weight * row.inertia
        if not _advance(bulk, external[n], on_basis, prediction, moving):
            return n
        if rotation is not None:
            _project(rows, system.mass, system.imposed, rotating, contact, solution, state, configurations, n, room)
        copy_table(trial, history)
        for d in range(size):
            all_u[n, d], all_v[n, d], all_y[n, d] = u[d], v[d], y[d]
        for r in range(count_rows):
            all_impulse[n, r], all_traction[n, r] = impulse[r], traction[r]
        for k in range(points):
            all_status[n, k] = status[k]
        if sliding is not None:
            for k in range(points):
                friction_states[n, k] = sliding_points.variables[k, 0]
        copy_table(normal, all_normal[n])
        for m in range(constraints):
            all_multipliers[n, m] = multipliers[m]
    hold(own_prediction)
    hold(own_solution)
    hold(own_factor)
    if rotation is None:
        hold(own_problem)
    if rotation is not None:
        hold(work_space)
        hold(of_active)
    return count


@njit(cache=True)
def stepped_rows(shares, columns, width, moves):
    """H x (b, r) from basis · x (b, q): shares (b, r, 3) of the `width` columns from `columns` (r,) on."""
    out = np.zeros(shares.shape[:2])
    for b in range(out.shape[0]):
        _times_rows(shares[b], columns, width, moves[b], out[b])
    return out


@njit(cache=True)
def stepped_rows_transposed(shares, columns, width, impulse, count):
    """Impulses (b, r) on the rows of H as those on the basis (b, count)."""
    out = np.zeros((impulse.shape[0], count))
    for b in range(out.shape[0]):
        _times_transposed_rows(shares[b], columns, width, impulse[b], out[b])
    return out


@called_njit()
def _times_rows(shares, columns, width, x, out):
    """out (r,) = H x, from x (q,) on the basis."""
    for r in range(out.size):
        total = 0.0
        for a in range(width[r]):
            total += shares[r, a] * x[columns[r] + a]
        out[r] = total


@called_njit()
def _times_transposed_rows(shares, columns, width, x, out):
    """out (q,) = Hᵀ x, from x (r,)."""
    out[:] = 0.0
    for r in range(x.size):
        for a in range(width[r]):
            out[columns[r] + a] += shares[r, a] * x[r]


@called_njit()
def _evaluate_rows(corners, displacement, shares, moved):
    """Shares (r, 3) of the rows at a displacement (q,) of the basis, and how far they have moved (r,), m.

    On a body at (x, y, θ) the row e of a corner of arm a moves by e·(x, y) + c (cos θ − 1) + s sin θ, c = e·a the arm
    along it and s = e × a across.
    """
    columns, directions, arms = corners.columns, corners.directions, corners.arms
    for r in range(columns.size):
        if corners.width[r] == 1:
            shares[r, 0], moved[r] = 1.0, displacement[columns[r]]
            continue
        x, y, angle = displacement[columns[r]], displacement[columns[r] + 1], displacement[columns[r] + 2]
        along, across, sin, cos = arms[r, 0], arms[r, 1], np.sin(angle), np.cos(angle)
        moved[r] = directions[r, 0] * x + directions[r, 1] * y + across * sin - 2.0 * along * np.sin(0.5 * angle) ** 2
        shares[r, 0], shares[r, 1], shares[r, 2] = directions[r, 0], directions[r, 1], across * cos - along * sin


@called_njit()
def _delassus_between(shares, corners, delassus, rows, out):
    """out = H W Hᵀ (a, a) between some rows of H."""
    columns, width = corners.columns, corners.width
    for i in range(rows.size):
        for j in range(i + 1):
            r, s = rows[i], rows[j]
            total = 0.0
            for a in range(width[r]):
                for b in range(width[s]):
                    total += shares[r, a] * delassus[columns[r] + a, columns[s] + b] * shares[s, b]
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
def _chosen(some, laws, history):
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
    solution = _ContactSolution(
        np.empty(r), np.zeros((3, k)), np.zeros(k, dtype=np.int8), np.empty((regular.size, h))
    )  # fmt: skip
    return _Active(points, rows, regular, own, problem, solution)


@called_njit()
def _named_rotation(rotation):
    """`Rotation` and `RotatingSteps` of their arrays."""
    (corners, settled, points, velocity_by_impulse, proximal, lasting), steps = rotation
    columns, width, directions, arms, sagitta, angle_row = corners
    named = CornerRows(columns, width, directions, arms, sagitta, angle_row)
    return Rotation(named, settled, points, velocity_by_impulse, proximal, lasting), RotatingSteps(*steps)


@called_njit()
def _room(basis_rows, rows, size, history, points):
    """`_RotatingContact` and work space of the steps of rotating bodies."""
    q, r, d = basis_rows, rows, size
    contact = _RotatingContact(
        np.zeros((rows, 3)), np.empty(rows), np.empty(basis_rows), np.zeros((3, rows)),
        np.zeros(rows, dtype=np.bool_), np.zeros(rows), np.zeros(points, dtype=np.bool_),
        np.empty(points, dtype=np.bool_), history.copy(), np.zeros(points),
    )  # fmt: skip
    return contact, _RotatingRoom(
        np.empty(q), np.empty(q), np.empty(q), np.empty(q), np.empty(q), np.empty(q), np.empty(r), np.empty(r),
        np.empty(r), np.empty(r), np.empty(r), np.empty(r), np.empty(r), np.empty(points), np.zeros((r, 3)),
        np.empty(d), np.empty(d),
    )  # fmt: skip


@called_njit(forceinline=True)
def _mark_active(rows, rotation, u, v, persistence, contact, room):
    """Marks the points that act in a step, in the configuration half a step on by the velocities at the start; whether
    they are others than in the step before."""
    corners = rotation.corners
    step, laws, displacement, velocity = rows.step, rows.laws, room.displacement, room.velocity
    displacement[:] = 0.0
    velocity[:] = 0.0
    add_product(rows.basis, u, displacement)
    add_product(rows.basis, v, velocity)
    for q in range(displacement.size):
        contact.middle[q] = displacement[q] + 0.5 * step * velocity[q]
    _evaluate_rows(corners, contact.middle, contact.shares, contact.moved)
    changed = False
    for k in range(rows.gap.size):
        lasts = rotation.points[k] and (persistence[k] & ACTS) > 0
        limit = rotation.lasting if lasts else rows.touching
        limit += corners.sagitta[k] * (step * velocity[corners.angle_row[k]]) ** 2
        contact.closed[k] = rows.gap[k] + contact.moved[laws.first[k]] <= limit
        acts = contact.closed[k] or laws.level[k] == GAP_LEVEL or laws.rows[k + 1] > laws.rows[k]
        changed = changed or acts != contact.active[k]
        contact.active[k] = acts
    return changed


@njit(cache=True)
def _close(laws, springs, rotating, persistence, start, mean, gaps, contact):
    """As `arlequin.multilevel.solvers.closing.Closing`: its fields (r,) into closing (3, r) and `persistent`."""
    first, level, closing, persistent = laws.first, laws.level, contact.closing, contact.persistent
    onset_closing(first, level, start, closing)
    for k in range(level.size):
        n = first[k]
        for r in range(n, first[k + 1]):
            lasts = rotating[k] and (persistence[k] & (ACTS if r == n else STICKS)) > 0 and springs[r] == 0.0
            persistent[r] = lasts and (r > n or level[k] == VELOCITY_LEVEL)
            if persistent[r]:
                closing[0, r] = mean[r]
            if springs[r] > 0.0:
                closing[1, r] = closing[2, r] = 0.0
            elif rotating[k]:
                closing[2, r] = mean[r]
        if level[k] == GAP_LEVEL:
            persistent[n] = True
            closing[0, n] = max(-gaps[k], 0.0) if rotating[k] and laws.compliance[k] == 0.0 else 0.0


@called_njit(forceinline=True)
def _solve_in_configuration(own_rows, rotation, options, state, y, contact, chosen, solution, on_basis, room):
    """Contact impulses of a step of rotating bodies, on the rows of the middle of the step that they lead to: whether
    any point acts, iterations, residual, whether the multipliers are not unique.

    `contact` and `room` are as `_mark_active` leaves them; `contact` receives the configuration of the impulses;
    on_basis (q,): these on the basis.
    """
    step, theta, laws, corners = own_rows.step, own_rows.theta, own_rows.laws, rotation.corners
    columns, width, first, gap = corners.columns, corners.width, laws.first, own_rows.gap
    shares, moved, middle, closing = contact.shares, contact.moved, contact.middle, contact.closing
    springs, history, trial = own_rows.springs, state.history, solution.trial
    points, rows, regular, own_laws = chosen.points, chosen.rows, chosen.regular, chosen.laws
    problem, own = chosen.problem, chosen.solution
    gap_per_velocity, count, layered = theta * step, first[-1], laws.kind.size > 0
    displacement, velocity, change = room.displacement, room.velocity, room.basis_change
    end, rate, following = room.end, room.rate, room.following
    ahead, rates, before, start = room.ahead, room.rates, room.before, room.start
    mean, begins = room.mean, room.begins
    change[:] = 0.0
    add_product(own_rows.basis, y, change)
    for q in range(middle.size):
        end[q] = displacement[q] + step * change[q]
        rate[q] = (1.0 - 1.0 / theta) * velocity[q] + change[q] / theta
    for i in range(points.size):
        problem.closed[i] = contact.closed[points[i]]
    for i in range(rows.size):
        own.impulse[i] = state.impulse[rows[i]]
    unique = options[0], options[1], rotation.proximal
    used, residual, singular = 0, 0.0, False
    for attempt in range(PASSES):
        # the motion without contact, as the rows see it from here
        for r in range(count):
            rates[r] = ahead[r] = before[r] = start[r] = 0.0
            for a in range(width[r]):
                share, q = shares[r, a], columns[r] + a
                rates[r] += share * rate[q]
                ahead[r] += share * (end[q] - middle[q])
                before[r] += share * (displacement[q] - middle[q])
                start[r] += share * velocity[q]
            mean[r] = (1.0 / theta - 1.0) * start[r]
        for k in range(gap.size):
            begins[k] = gap[k] + moved[first[k]] + before[first[k]]
        _close(laws, springs, rotation.points, state.persistence, start, mean, begins, contact)
        if layered:
            copy_table(history, contact.carried)
            carry_gaps(
                contact.carried, begins, laws.rows, laws.area, laws.kernels, laws.kind, laws.coefficients,
                contact.beyond,
            )  # fmt: skip
            for k in range(gap.size):
                if laws.level[k] == GAP_LEVEL:
                    closing[0, first[k]] -= contact.beyond[k]
        for i in range(regular.size):
            for j in range(history.shape[1]):
                problem.history[i, j] = own.trial[i, j] = contact.carried[regular[i], j]
        for i in range(points.size):
            k = points[i]
            problem.gap_free[i] = gap[k] + moved[first[k]] + ahead[first[k]] + contact.beyond[k]
        for i in range(rows.size):
            r = rows[i]
            for j in range(3):
                problem.closing[j, i] = closing[j, r]
            if springs[r] > 0.0:
                problem.rate_free[i] = (ahead[r] - before[r]) / gap_per_velocity
                problem.rate_free[i] -= springs[r] * state.spring_traction[r]
            else:
                problem.rate_free[i] = rates[r]
        _delassus_between(shares, corners, own_rows.delassus, rows, problem.delassus)
        more, degenerate = 0, False
        if points.size:
            more, residual, degenerate = _solve_chosen(problem, own_laws, step, theta, options, own)
            if degenerate:
                more, residual, degenerate = _solve_chosen(problem, own_laws, step, theta, unique, own)
            if more < 0:
                return True, more, residual, degenerate
        used += more
        # a pass that finds its guess right solves no system and cannot tell
        singular = degenerate if more else singular
        solution.impulse[:] = 0.0
        for i in range(rows.size):
            solution.impulse[rows[i]] = own.impulse[i]
        _times_transposed_rows(shares, columns, width, solution.impulse, on_basis)
        moves = 0.0
        for q in range(middle.size):
            reached = end[q]
            for s in range(middle.size):
                reached += gap_per_velocity * own_rows.delassus[q, s] * on_basis[s]
            following[q] = 0.5 * (displacement[q] + reached)
            moves = max(moves, abs(following[q] - middle[q]) / rotation.settled[q])
        if moves <= 1.0 or attempt == PASSES - 1:
            break
        copy_vector(following, middle)
        _evaluate_rows(corners, middle, shares, moved)
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
    return points.size > 0, used, residual, singular


@called_njit(forceinline=True)
def _project(rows, mass, imposed, rotation, contact, solution, state, steps, n, room):
    """Keeps the configuration of step n, and takes out of its velocities what moves along persistent rows at its end:
    impulses and works into `steps` (`RotatingSteps`); what of the contact may last into the state."""
    laws, normal, status = rows.laws, solution.normal, solution.status
    copy_table(contact.shares, steps.shares[n])
    copy_vector(contact.middle, steps.contact_displacement[n])
    for k in range(laws.level.size):
        steps.gap[n, k] = rows.gap[k] + contact.moved[laws.first[k]]
        layered = laws.rows[k + 1] > laws.rows[k]
        steps.layer_gap[n, k] = solution.trial[laws.rows[k], 0] if layered else 0.0
    copy_vector(state.v, steps.unprojected[n])
    copy_vector(contact.persistent, steps.persistent[n])
    if rows.theta < 1.0:  # at θ = 1 the end itself closes
        displacement, shares = room.displacement, room.shares
        displacement[:] = 0.0
        add_product(rows.basis, state.u, displacement)
        _evaluate_rows(rotation.corners, displacement, shares, contact.moved)
        persists = False
        for r in range(contact.persistent.size):
            persists = persists or contact.persistent[r]
        if persists:
            for stage in range(2):
                steps.work[n, stage] = _project_stage(
                    stage, rows, mass, imposed, rotation, contact, solution, state, steps.impulse[n], steps.work[n],
                    room,
                )  # fmt: skip
        columns, width = rotation.corners.columns, rotation.corners.width
        _times_transposed_rows(shares, columns, width, steps.impulse[n], steps.on_basis[n])
    for r in range(state.impulse.size):
        state.impulse[r] += steps.impulse[n, r]
    most = 0.0
    for k in range(laws.level.size):
        most = max(most, abs(normal[0, k] + normal[1, k] + normal[2, k]))
    for k in range(laws.level.size):
        sticks = status[k] == STICK and normal[0, k] + normal[1, k] + normal[2, k] > LEAST * most
        state.persistence[k] = (ACTS if normal[2, k] > LEAST * most else 0) + (STICKS if sticks else 0)


@called_njit(forceinline=True)
def _project_stage(stage, rows, mass, imposed, rotation, contact, solution, state, impulse, work, room):
    """The normal (stage 0) or the tangential persistent rows of `_project`, as
    `arlequin.solvers.velocity_projection`: adds to the impulses (r,) and to what imposed motions give, work[2], J;
    returns what the impulses take, J. The shares of `room` are of the rows at the end of the step."""
    columns, width, first, level = rotation.corners.columns, rotation.corners.width, rows.laws.first, rows.laws.level
    v, shares, velocity, rates, response = state.v, room.shares, room.velocity, room.rates, room.response
    own, on_basis, change, inertia, count = room.own, room.basis_change, room.change, room.inertia, first[-1]
    velocity[:] = 0.0
    add_product(rows.basis, v, velocity)
    _times_rows(shares, columns, width, velocity, rates)
    own[:] = 0.0
    moving, bound = False, np.inf
    for k in range(level.size):
        for r in range(first[k], first[k + 1]):
            acts = solution.status[k] == STICK
            if stage == 0:
                acts = level[k] == VELOCITY_LEVEL and solution.normal[2, k] > 0.0
            if not contact.persistent[r] or not acts or (r == first[k]) != (stage == 0):
                continue
            scale = 0.0
            for a in range(width[r]):
                scale += abs(shares[r, a] * velocity[columns[r] + a])
            moving = moving or abs(rates[r]) > 1e-14 * scale
            if contact.delassus[r] > 0.0:
                own[r] = rates[r] / contact.delassus[r]
                if stage == 0 and own[r] > 0.0:
                    bound = min(bound, solution.normal[2, k] / own[r])
    if not moving:
        return 0.0
    _times_transposed_rows(shares, columns, width, own, on_basis)
    np.dot(rotation.velocity_by_impulse, on_basis, change)
    velocity[:] = 0.0
    add_product(rows.basis, change, velocity)
    _times_rows(shares, columns, width, velocity, response)
    gain, curvature = 0.0, 0.0
    for r in range(count):
        gain += own[r] * rates[r]
        curvature += own[r] * response[r]
    if not curvature > 0.0:
        return 0.0
    share = min(gain / curvature, bound)
    inertia[:] = 0.0
    add_product(mass, change, inertia)
    for d in range(v.size):
        v[d] -= share * change[d]
        state.momentum[d] -= share * inertia[d]
    for r in range(count):
        impulse[r] -= share * own[r]
    # what moves imposed degrees of freedom: external
    for q in range(on_basis.size):
        on_basis[q] = -on_basis[q]
    add_transposed(rows.basis, on_basis, inertia)
    for d in imposed:
        work[2] -= share * inertia[d] * v[d]
    return share * (gain - 0.5 * share * curvature)
