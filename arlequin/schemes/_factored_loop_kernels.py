"""Steps of linear systems by the θ-scheme or the generalised-α family in one compiled loop, with the sparse factor of
the step's matrix and its border: a forward pass, the contact on its rows, and a backward pass.

The loop is compiled separately for each kind of pairing: its argument `moving` is None on fixed normals. The works of
the bulk are those of `arlequin.schemes._sparse_step_kernels.settle`.
"""

from collections import namedtuple

import numpy as np

from arlequin.models.kernel_cache import called_njit, njit
from arlequin.models.linalg._bordered_kernels import backward_pass, forward_pass
from arlequin.multilevel.solvers._borrow_kernels import borrow, hold
from arlequin.multilevel.solvers._dense_kernels import full_dot, solve_envelope, solve_envelope_transposed
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
    wear_off,
)  # fmt: skip
from arlequin.schemes._sparse_step_kernels import move, settle
from arlequin.schemes._step_kernels import ALLOWED, FreeMotion, Prediction, constraint_rates, right_hand_side
from arlequin.schemes._system_kernels import (
    add_product,
    add_transposed,
    copy_table,
    copy_vector,
    dot,
    forces_of_parts,
    named_system,
)  # fmt: skip
from arlequin.schemes.compiled_system import SparseRows
from arlequin.schemes.loop_data import FactoredOperators, LoopState, LoopSteps, StepRow, StepWorks
from arlequin.solvers.passes import CondensedPasses

# Work space of `end_step`: internal forces, averages of these and M v at the end of a step, damping forces at the
# start, then their mean, and at the end (1, d); impulses of constraints and contact (d,), relative displacements
# (d,), momenta of imposed dofs at the start (p,).
EndBuffers = namedtuple("EndBuffers", "internal average inertia drag end_drag pulls relative imposed_momentum")


@called_njit()
def end_step(bulk, solids, external, solved, state, after, buffers, sums):
    """Completes a step from y (d,), φ (m,) and the impulses P (q,) on the contact's basis; returns the strain energy at
    its end, J. If the motion is not finite, it returns nan and does not change `state`.

    bulk: row, mass, viscous, strains, constraints, basis, inertial, imposed; state: `LoopState` at the start, which
    becomes that at the end; after: flow, u₁, v₁ (1, d), reactions (p,); sums (1, 5): see `settle`.
    """
    row, mass, viscous, strains, constraints, basis, inertial, imposed = bulk
    y, multipliers, on_basis = solved
    flow, u, v, reactions = after
    internal, average, inertia, drag, end_drag, pulls, relative, imposed_momentum = buffers
    u0, v0, momentum = state.u.reshape(1, -1), state.v.reshape(1, -1), state.momentum.reshape(1, -1)
    step, gamma, carries, damped = row.step, row.gamma, state.lead.size > 0, viscous.starts.size > 1
    for d in range(y.size):
        flow[0, d] = y[d] + step * state.lead[d] if carries else y[d]
    move(step, row.weight, y.reshape(1, -1), flow, u0, v0, u, v)
    energy = forces_of_parts(strains, solids, u[0], relative, internal[0])
    if not np.isfinite(energy + full_dot(u[0], v[0])):
        return np.nan
    inertia[0] = 0.0
    add_product(mass, v[0], inertia[0])
    for g in range(imposed.size):
        imposed_momentum[g] = state.momentum[imposed[g]]
    first, last = state.internal.reshape(1, -1), internal
    if damped:
        drag[0] = 0.0
        add_product(viscous, v0[0] if carries else y, drag[0])
    if carries:
        now, then, past = 1.0 - row.alpha_f, row.alpha_f, -row.alpha_m / row.inertia
        for d in range(y.size):
            weighted = (now * internal[0, d] + then * state.internal[d]) / row.inertia
            average[0, d] = weighted + past * state.internal_average[d]
        if damped:
            end_drag[0] = 0.0
            add_product(viscous, v[0], end_drag[0])
            for d in range(y.size):
                end = (now * end_drag[0, d] + then * drag[0, d]) / row.inertia + past * state.damping_average[d]
                drag[0, d] = (1.0 - gamma) * state.damping_average[d] + gamma * end
                state.damping_average[d] = end
        first, last = state.internal_average.reshape(1, -1), average
    load, damping = external.reshape(1, -1), drag if damped else drag[:0]
    settle(step, gamma, flow, v0, v, first, last, load, damping, momentum, inertia, inertial, momentum, sums)
    pulls[:] = 0.0
    add_transposed(constraints, multipliers, pulls)
    add_transposed(basis, on_basis, pulls)
    for g in range(imposed.size):
        d = imposed[g]
        mean = (1.0 - gamma) * first[0, d] + gamma * last[0, d] - external[d]
        if damped:
            mean += drag[0, d]
        impulse = inertia[0, d] - imposed_momentum[g] + step * mean - pulls[d]
        reactions[g] = impulse
        sums[0, 1] += impulse * flow[0, d]
        sums[0, 2] += impulse * 0.5 * (v0[0, d] + v[0, d])
    for d in range(y.size):
        if inertial[d]:
            momentum[0, d] += pulls[d]
    if carries:
        for d in range(y.size):
            state.lead[d] = (row.shift * (v[0, d] - v0[0, d]) / step - (1.0 - gamma) * state.lead[d]) / gamma
            state.pulled[d] = (pulls[d] / step - (1.0 - gamma) * state.pulled[d]) / gamma
        copy_vector(average[0], state.internal_average)
    add_product(constraints, y, state.constraint_sum)
    copy_vector(internal[0], state.internal)
    copy_vector(u[0], state.u)
    copy_vector(v[0], state.v)
    return energy


@njit(cache=True, nogil=True)
def factored_steps(count, system, kernels, solvers, operators, solids, loads, state, steps, works, moving, sliding):
    """Up to `count` steps of a scheme with a row of coefficients; returns how many were accepted.

    Arguments as of `arlequin.schemes._loop_kernels.linear_steps`. operators: `FactoredOperators`; solids:
    `SolidTables`; loads: of one row, where they are the same in all steps; works: `StepWorks`; moving: of surfaces that
    are paired in each step, of any scheme.
    """
    system = named_system(borrow(system), kernels, solvers[0])
    operators, solids = FactoredOperators(*borrow(operators)), borrow(solids)
    push, external, imposed = borrow(loads)
    state, steps, works = LoopState(*borrow(state)), LoopSteps(*borrow(steps)), StepWorks(*borrow(works))
    row, passes = StepRow(*operators.row), CondensedPasses(*operators.passes)
    to_given, rows_given, penalty = (
        SparseRows(*passes.to_given), SparseRows(*passes.rows_given), SparseRows(*passes.penalty),
    )  # fmt: skip
    laws, springs = system.laws, operators.springs
    step, weight, impulse_weight = row.step, row.weight, row.weight * row.inertia
    basis, constraints, viscous, imposed_dofs = system.basis, system.constraints, system.viscous, system.imposed
    size, points, count_rows = state.u.size, system.gap.size, state.impulse.size
    m, independent_count, basis_rows = state.constraint_sum.size, passes.kept.size, basis.starts.size - 1
    motion = FreeMotion(
        row, system.free, imposed_dofs, system.imposes_displacement, system.inertial, system.strains, viscous, None,
        to_given, constraints, None, None,
    )  # fmt: skip
    bulk = row, system.mass, viscous, system.strains, constraints, basis, system.inertial, imposed_dofs
    own_prediction = Prediction(
        np.empty(size), np.zeros(m), np.empty(system.free.size), np.empty(size), np.empty(size),
        np.empty(size), np.empty(state.lead.size), np.empty(state.lead.size),
    )  # fmt: skip
    prediction = borrow(own_prediction)
    y, multipliers, right = prediction.y, prediction.multipliers, prediction.right
    lines = len(passes.bordered[0])
    own_passes = (
        np.arange(len(passes.bordered[1]) - 1), np.empty((1, lines)), np.empty(m + basis_rows), np.empty(m),
        np.empty(independent_count), np.empty(imposed_dofs.size), np.empty(m + basis_rows),
    )  # fmt: skip
    chosen, half, border, constraint_residual, halved, imposed_y, imposed_rates = borrow(own_passes)
    own_buffers = EndBuffers(
        np.empty((1, size)), np.empty((1, state.lead.size)), np.empty((1, size)), np.empty((1, size)),
        np.empty((1, state.lead.size)), np.empty(size), np.empty(size), np.empty(imposed_dofs.size),
    )  # fmt: skip
    buffers = borrow(own_buffers)
    own_solution = state.history.copy(), np.zeros((3, points)), np.zeros(points, dtype=np.int8)
    trial, normal, status = borrow(own_solution)
    own_problem, own_factor = row_buffers(basis_rows, count_rows, points), allocate_factor(count_rows)
    rows_free, factor = RowsFree(*borrow(own_problem)), borrow(own_factor)
    coefficients, options = (step, weight, row.theta), (operators.method, operators.rho, operators.proximal)
    contact = ContactPoints(system.gap, system.touching, laws, springs, state.worn)
    impulse, traction, history = state.impulse, state.spring_traction, state.history
    solution = impulse, trial, normal, status
    if moving is None:
        on_basis = impulse
    else:
        on_basis = np.empty(basis_rows)
        paired, configurations = named_moving(borrow(moving))
        data = StepData(system, coefficients, operators.delassus, springs)
        in_configuration = ContactSolution(impulse, normal, status, trial)
        own_configuration = configuration_buffers(basis_rows, count_rows, size, m, history, points)
        configuration, contact_buffers = named_configuration(paired, borrow(own_configuration))
        active = chosen_points(configuration.active, laws, history)
    if sliding is None:
        slide_buffers = None
    else:
        slide = np.empty(count_rows)
        slide_buffers = np.empty(count_rows), slide, np.empty((2, points)), np.empty(points)
        sliding_points = SlidingPoints(*sliding[2])
    for n in range(count):
        right_hand_side(motion, solids, push[min(n, len(push) - 1)], imposed[n], state, prediction)
        for g in range(imposed_dofs.size):
            imposed_y[g] = y[imposed_dofs[g]]
        imposed_rates[:] = 0.0
        add_product(rows_given, imposed_y, imposed_rates)
        constraint_rates(motion, state.v, state.constraint_sum, constraint_residual)
        for r in range(m):
            constraint_residual[r] -= imposed_rates[r]
        if penalty.values.size:
            add_product(penalty, constraint_residual, right)
        forward_pass(passes.bordered, chosen, right, half, border)
        for i in range(independent_count):
            halved[i] = constraint_residual[passes.kept[i]] - border[passes.kept[i]]
        solve_envelope(passes.lower, passes.first, halved)
        iterations, residual, singular, any_active = 0, 0.0, False, False
        if points:
            displacement, velocity, end, ahead = (
                rows_free.displacement, rows_free.velocity, rows_free.end, rows_free.ahead,
            )  # fmt: skip
            displacement[:] = 0.0
            velocity[:] = 0.0
            add_product(basis, state.u, displacement)
            add_product(basis, state.v, velocity)
            for q in range(basis_rows):
                end[q] = border[m + q] + imposed_rates[m + q]
            for i in range(independent_count):
                for q in range(basis_rows):
                    end[q] += passes.root[i, q] * halved[i]
        if points and moving is None:
            if state.lead.size:
                ahead[:] = 0.0
                add_product(basis, state.lead, ahead)
                for r in range(count_rows):
                    ahead[r] *= step
            any_active = free_rows(coefficients, contact, traction, rows_free.velocity, rows_free)
        if moving is not None:
            active, any_active, iterations, residual, singular = solve_in_configuration(
                data, paired, options, state, rows_free.end, configuration, active, in_configuration, on_basis,
                contact_buffers,
            )  # fmt: skip
        elif any_active:
            iterations, residual, singular = solve_rows(
                operators.delassus, coefficients, laws, options, rows_free, history, solution, factor, sliding,
                slide_buffers,
            )  # fmt: skip
        else:
            impulse[:] = 0.0
            normal[:] = 0.0
            status[:] = 0
        steps.iterations[n], steps.residual[n] = iterations, residual
        if singular or not residual <= ALLOWED:
            return n
        for q in range(basis_rows):
            border[m + q] = impulse_weight * on_basis[q]
        if any_active:
            stretch_springs(laws.first, laws.area, laws.friction, operators.gain, impulse, step, traction)
            for i in range(independent_count):
                for q in range(basis_rows):
                    halved[i] -= passes.root[i, q] * border[m + q]
        else:
            traction[:] = 0.0
        solve_envelope_transposed(passes.lower, passes.first, halved)
        for r in range(m):
            border[r] = multipliers[r] = 0.0
        for i in range(independent_count):
            border[passes.kept[i]] = halved[i]
            multipliers[passes.kept[i]] = halved[i] / impulse_weight
        backward_pass(passes.bordered, chosen, border, half, right)
        for i in range(system.free.size):
            y[system.free[i]] = right[i]
        if sliding is not None:
            if not any_active:
                copy_table(history, trial)
            copy_vector(rows_free.ahead, slide)
            add_product(basis, y, slide)
            advance_sliding(laws, step, sliding, slide_buffers, impulse, status, trial)
        after = steps.flow[n : n + 1], steps.u[n : n + 1], steps.v[n : n + 1], works.reactions[n]
        works.strain[n] = end_step(
            bulk, solids, external[min(n, len(external) - 1)], (y, multipliers, on_basis), state, after, buffers,
            works.sums[n : n + 1],
        )  # fmt: skip
        if not np.isfinite(works.strain[n] + works.sums[n, 0]):
            return n
        if system.wear_rate.size:
            copy_table(state.worn, steps.worn[n])
            if moving is None:
                mean_path(basis, state.v, step, rows_free.velocity, rows_free.start)
                wear_off(laws.first, system.wear_rate, step, impulse, rows_free.start, state.worn)
        if moving is not None:
            end_in_configuration(
                data, paired, configuration, in_configuration, state, configurations, n, works.reactions[n],
                contact_buffers,
            )  # fmt: skip
            if (configurations.impulse[n] != 0.0).any():
                copy_vector(state.v, steps.v[n])
                inertia = buffers.inertia[0]
                inertia[:] = 0.0
                add_product(system.mass, state.v, inertia)
                works.sums[n, 0] = 0.5 * dot(state.v, inertia)
        copy_table(trial, history)
        for r in range(count_rows):
            steps.impulse[n, r], steps.spring_traction[n, r] = impulse[r], traction[r]
        for k in range(points):
            steps.status[n, k] = status[k]
        if sliding is not None:
            for k in range(points):
                steps.friction_state[n, k] = sliding_points.variables[k, 0]
        copy_table(normal, steps.normal[n])
        for r in range(m):
            steps.multipliers[n, r] = multipliers[r]
    hold(own_prediction)
    hold(own_passes)
    hold(own_buffers)
    hold(own_solution)
    hold(own_problem)
    hold(own_factor)
    if moving is not None:
        hold(own_configuration)
    return count
