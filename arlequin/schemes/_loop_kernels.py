"""Steps of small linear systems by the θ-scheme or the generalised-α family in one compiled loop, by the row of
coefficients of `arlequin.step.coefficients`.

The loop is compiled separately for each kind of pairing: its argument `moving` is None on fixed normals, where numba
removes the code of rotating plane rigid bodies on flat obstacles.
"""

from collections import namedtuple

import numpy as np

from arlequin.models.kernel_cache import called_njit, njit
from arlequin.multilevel.solvers._borrow_kernels import borrow, hold
from arlequin.multilevel.solvers._kernels import allocate_factor
from arlequin.multilevel.solvers._sliding_kernels import SlidingPoints
from arlequin.multilevel.solvers._spring_kernels import stretch_springs
from arlequin.schemes._configuration_kernels import (
    ContactSolution,
    StepData,
    chosen_points,
    configuration_buffers,
    end_in_configuration,
    named_configuration,
    named_moving,
    solve_in_configuration,
)  # fmt: skip
from arlequin.schemes._row_kernels import (
    ContactPoints,
    RowsFree,
    advance_sliding,
    free_rows,
    mean_path,
    row_buffers,
    solve_rows,
    solve_single,
    wear_off,
)  # fmt: skip
from arlequin.schemes._step_kernels import ALLOWED, FreeMotion, Prediction, constraint_rates, right_hand_side
from arlequin.schemes._system_kernels import (
    add_product,
    add_transposed,
    copy_table,
    copy_vector,
    internal_forces,
    named_system,
)  # fmt: skip
from arlequin.schemes.loop_data import LoopState, StepOperators, StepRow

# Only the fields that a function needs: each call counts the references to each array argument twice, some nanoseconds
# in steps of a microsecond. The counts cancel in functions that create no arrays, so that the work space of a step is
# allocated beforehand.
_BulkState = namedtuple(
    "_BulkState", "u v momentum internal constraint_sum lead internal_average damping_average pulled"
)
_Bulk = namedtuple("_Bulk", "row mass strains viscous constraints basis inertial")


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
    free, y, right, constraint_sum = motion.free, prediction.y, prediction.right, state.constraint_sum
    right_hand_side(motion, None, push, imposed, state, prediction)
    _solve_factored(motion.factor, right)
    for i in range(free.size):
        y[free[i]] = right[i]
    if constraint_sum.size:
        _constrain(motion, state.v, constraint_sum, y, prediction.multipliers)


@called_njit()
def _constrain(motion, v, constraint_sum, y, multipliers):
    """Adds the constraint response to y (d,), and sets λμ φ (m,); separate from `_predict`, where new arrays would
    prevent numba from removing the reference counts of arguments."""
    residual, rates = np.zeros(multipliers.size), np.empty(multipliers.size)
    add_product(motion.constraints, y, residual)
    constraint_rates(motion, v, constraint_sum, rates)
    residual = rates - residual
    multipliers[:] = motion.multiplier @ residual
    y += motion.velocity @ residual


@called_njit(forceinline=True)
def _advance(bulk, external, on_basis, prediction, state):
    """The state at the end of a step from y, φ and the impulses (q,) on the contact's basis; whether it is finite:

    u₁ = u₀ + Δt y + Δt² l₀,   v₁ = v₀ + (y − v₀)/λ;   momenta as sums of impulses where `inertial`, M v₁ elsewhere.

    external (d,): mean external forces, N. y becomes (u₁ − u₀)/Δt.
    """
    force, v, momentum, constraint_sum = prediction.force, state.v, state.momentum, state.constraint_sum
    if constraint_sum.size:
        add_product(bulk.constraints, prediction.y, constraint_sum)
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
    """As `_move`, for the generalised-α family: with the lead, the averages of the forces and the constraint forces
    Q."""
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


@njit(cache=True, nogil=True)
def linear_steps(count, system, kernels, solvers, operators, loads, state, steps, moving, sliding):
    """Up to `count` steps of a scheme with a row of coefficients; returns how many were accepted.

    Arguments are plain tuples: system: `CompiledSystem`; operators: `StepOperators`; loads: terms of the external
    forces in the b-equation (count, d), N·s, their means over the steps (count, d), N, and values of the imposed
    degrees of freedom at the ends of the steps; state: `LoopState`, which becomes that of the last step; steps:
    `LoopSteps`. kernels: of the regular laws; solvers: of the contact problem, with −1 iterations in the step after the
    accepted ones if it failed. moving: None on fixed normals, else `MovingContact` and `ConfigurationSteps`, of the
    θ-scheme alone: each step then alternates between impulses and configuration as
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
        friction_states, all_worn,
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
    bulk_state = _BulkState(
        u, v, state.momentum, state.internal, state.constraint_sum, state.lead, state.internal_average,
        state.damping_average, state.pulled,
    )  # fmt: skip
    impulse, traction, history = state.impulse, state.spring_traction, state.history
    own_solution = history.copy(), np.zeros((3, points)), np.zeros(points, dtype=np.int8), np.empty(size)
    trial, normal, status, velocity_change = borrow(own_solution)
    own_factor = allocate_factor(count_rows if moving is None else 0)
    factor = borrow(own_factor)
    options, wears = (operators.method, operators.rho, operators.proximal), system.wear_rate.size > 0
    coefficients = step, weight, theta
    if moving is None:
        on_basis = impulse
        own_problem = row_buffers(basis_rows, count_rows, points)
        rows_free = RowsFree(*borrow(own_problem))
        displacement, velocity, end, ahead, gaps, rate, closed, closing, slip = rows_free
        contact_points = ContactPoints(gap, system.touching, laws, springs, state.worn)
        point_solution = impulse, trial, normal, status
        single = count_rows == 1 and law_rows[1] == 0 and operators.method == 0 and operators.proximal == 0.0
        single = single and delassus[0, 0] > 0.0
    else:
        on_basis, free, reactions = np.empty(basis_rows), np.empty(basis_rows), np.zeros(system.imposed.size)
        paired, configurations = named_moving(borrow(moving))
        data = StepData(system, coefficients, delassus, springs)
        solution = ContactSolution(impulse, normal, status, trial)
        own_configuration = configuration_buffers(basis_rows, count_rows, size, 0, history, points)
        contact, buffers = named_configuration(paired, borrow(own_configuration))
        chosen = chosen_points(contact.active, laws, history)
    if sliding is None:
        slide_buffers = None
    else:
        slide = np.empty(count_rows)
        slide_buffers = np.empty(count_rows), slide, np.empty((2, points)), np.empty(points)
        sliding_points = SlidingPoints(*sliding[2])
    for n in range(count):
        _predict(motion, push[n], imposed[n], bulk_state, prediction)
        solver_iterations, residual, singular = 0, 0.0, False
        if moving is None:
            any_active = False
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
                any_active = free_rows(coefficients, contact_points, traction, rows_free.velocity, rows_free)
            if any_active and single:
                solver_iterations = 1
                solve_single(
                    delassus, gap_per_velocity, step, gaps, rate[0] + closing[0, 0], closed, area, level, compliance,
                    impulse, normal, status,
                )  # fmt: skip
            elif any_active:
                solver_iterations, residual, singular = solve_rows(
                    delassus, coefficients, laws, options, rows_free, history, point_solution, factor, sliding,
                    slide_buffers,
                )  # fmt: skip
            else:
                impulse[:] = 0.0
                normal[:] = 0.0
                status[:] = 0
        else:
            free[:] = 0.0
            add_product(basis, y, free)
            chosen, any_active, solver_iterations, residual, singular = solve_in_configuration(
                data, paired, options, state, free, contact, chosen, solution, on_basis, buffers
            )  # fmt: skip
        iterations[n], residuals[n] = solver_iterations, residual
        if singular or not residual <= ALLOWED:
            return n
        if any_active:
            stretch_springs(first, area, laws.friction, operators.spring_gain, impulse, step, traction)
            np.dot(by_impulse, on_basis, velocity_change)
            for d in range(size):
                y[d] += weight * velocity_change[d]
            if constraints:
                multipliers -= weight * (released @ on_basis)
        else:
            traction[:] = 0.0
        if sliding is not None:
            if not any_active:
                copy_table(history, trial)
            copy_vector(ahead, slide)
            add_product(basis, y, slide)
            advance_sliding(laws, step, sliding, slide_buffers, impulse, status, trial)
        multipliers /= weight * row.inertia
        if not _advance(bulk, external[n], on_basis, prediction, bulk_state):
            return n
        if wears:
            copy_table(state.worn, all_worn[n])
            if moving is None:
                mean_path(basis, v, step, velocity, slip)
                wear_off(first, system.wear_rate, step, impulse, slip, state.worn)
        if moving is not None:
            end_in_configuration(data, paired, contact, solution, state, configurations, n, reactions, buffers)
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
    if moving is None:
        hold(own_problem)
    if moving is not None:
        hold(own_configuration)
    return count
