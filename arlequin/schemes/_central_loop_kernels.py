"""Steps of central differences of linear systems with a diagonal mass in one compiled loop; equations in
`arlequin.schemes.central.CentralDifference`.

The loop is compiled separately for each kind of pairing: its argument `moving` is None on fixed normals.
"""

from collections import namedtuple

import numpy as np

from arlequin.models.kernel_cache import called_njit, njit
from arlequin.multilevel.laws._sum_kernels import sum_laws
from arlequin.multilevel.solvers._borrow_kernels import borrow, hold
from arlequin.multilevel.solvers._dense_kernels import full_dot, solve_envelope, solve_envelope_transposed
from arlequin.multilevel.solvers._kernels import allocate_factor
from arlequin.multilevel.solvers._sliding_kernels import SlidingPoints
from arlequin.schemes._configuration_kernels import (
    ContactSolution,
    StepData,
    chosen_points,
    configuration_buffers,
    keep_configuration,
    named_configuration,
    named_moving,
    solve_in_configuration,
    times_rows,
    times_transposed_rows,
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
from arlequin.schemes._step_kernels import ALLOWED
from arlequin.schemes._system_kernels import (
    add_product,
    add_transposed,
    copy_table,
    copy_vector,
    dot,
    forces_of_parts,
    named_system,
)  # fmt: skip
from arlequin.schemes.loop_data import CentralLoopState, CentralOperators, CentralWorks, LoopSteps

FAST = {"reassoc", "contract", "nsz"}

# Work space: forces of constraints and contact, and of the layers (d,), internal and dashpot forces at the end of a
# step (d,), relative displacements (d,), rates of the constraints (m,), of the independent ones (k,), two arrays of
# multipliers (m,), accelerations of the imposed motions and constraint forces on them (p,), a history.
_Buffers = namedtuple(
    "_Buffers",
    "constraint_force layer_force internal damping relative rates halved multipliers layer_multipliers "
    "imposed_acceleration force_on_imposed scratch",
)  # fmt: skip


@called_njit()
def _change_rates(operators, constraints, rates, buffers, multipliers, pull):
    """Adds φ = S⁻¹ `rates` (m,), S = C M⁻¹Cᵀ, to `multipliers`, and Cᵀφ to `pull` (d,)."""
    for i in range(operators.independent.size):
        buffers.halved[i] = rates[operators.independent[i]]
    solve_envelope(operators.lower, operators.first, buffers.halved)
    _add_multipliers(operators, constraints, buffers, multipliers, pull)


@called_njit()
def _hold_constraints(operators, constraints, impulse, buffers, multipliers, pull):
    """As `_change_rates` for φ = −S⁻¹ C M⁻¹Bᵀ P: impulses P (q,) on the contact's basis then do not change C v."""
    for i in range(operators.independent.size):
        buffers.halved[i] = -full_dot(operators.root[i], impulse)
    _add_multipliers(operators, constraints, buffers, multipliers, pull)


@called_njit()
def _add_multipliers(operators, constraints, buffers, multipliers, pull):
    """As `_change_rates`, from L⁻¹ S φ (k,), S = L Lᵀ, in `buffers.halved`."""
    solve_envelope_transposed(operators.lower, operators.first, buffers.halved)
    buffers.multipliers[:] = 0.0
    for i in range(operators.independent.size):
        buffers.multipliers[operators.independent[i]] = buffers.halved[i]
    for r in range(multipliers.size):
        multipliers[r] += buffers.multipliers[r]
    add_transposed(constraints, buffers.multipliers, pull)


@called_njit()
def _rate_defect(constraints, step, half, a, buffers):
    """Writes −C (v_{n−½}/Δt + a) (m,) to `buffers.rates`."""
    for d in range(a.size):
        buffers.relative[d] = -half[d] / step - a[d]
    buffers.rates[:] = 0.0
    add_product(constraints, buffers.relative, buffers.rates)


@njit(cache=True, nogil=True, fastmath={"contract"})
def push_on(step, inverse, pull, a, half, u, half_after, u_after):
    """v_{n+½} = v_{n−½} + Δt a + M⁻¹ Q, Q (d,) of constraints and contact, N·s, and u_{n+1} = u_n + Δt v_{n+½}."""
    for d in range(u.size):
        half_after[d] = half[d] + step * a[d] + inverse[d] * pull[d]
        u_after[d] = u[d] + step * half_after[d]


@njit(cache=True, nogil=True, fastmath={"contract"})
def accelerate(inverse, internal, load, drag, a):
    """The acceleration a (d,) = M⁻¹F; drag (d,): of dashpots, or none, (0,)."""
    for d in range(a.size):
        a[d] = inverse[d] * (load[d] - internal[d])
    for d in range(drag.size):
        a[d] -= inverse[d] * drag[d]


@njit(cache=True, nogil=True, fastmath={"contract"})
def end_velocity(step, half, a, lift, v):
    """v_{n+1} = v_{n+½} + ½ Δt (a + a_layers)."""
    for d in range(v.size):
        v[d] = half[d] + 0.5 * step * (a[d] + lift[d])


@njit(cache=True, nogil=True, fastmath=FAST)
def take_works(step, mass, half, moving, before, after, load, next_load, drag, next_drag, sums):
    """The works of a step, see `CentralWorks`; half (d,): v_{n+½}; moving (d,): the same with the impulses that act at
    the end of the step; drag, next_drag (d,): of dashpots, or none, (0,).

    The loops write to no array: otherwise the order of summation would depend on the distance of arrays in memory.
    """
    kinetic, end_force_work, external, internal, damping, loss = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for d in range(half.size):
        du = step * half[d]
        kinetic += mass[d] * moving[d] * moving[d]
        end_force_work += step * moving[d] * (next_load[d] - after[d])
        external += (load[d] + next_load[d]) * du
        internal += (before[d] + after[d]) * du
    for d in range(next_drag.size):
        du = step * half[d]
        end_force_work -= step * moving[d] * next_drag[d]
        damping += (drag[d] + next_drag[d]) * du
        loss += next_drag[d] * du
    sums[0], sums[1], sums[2] = 0.5 * (kinetic + end_force_work), 0.5 * external, 0.5 * internal
    sums[3], sums[4] = 0.5 * damping, loss


@called_njit()
def _stored_forces(laws, step, history, scratch, stored):
    """Forces (k,), N, of the layers at the gaps of the history, as in the laws with θ = 0; whether there are layers."""
    acts = False
    for k in range(stored.size):
        first, last = laws.rows[k], laws.rows[k + 1]
        if last > first:
            acts = True
            sums = sum_laws(
                first, last, laws.kernels, laws.kind, laws.coefficients, history, history[first, 0], step, 0.0, scratch
            )
            # of laws with a memory the sum of both parts; others lose nothing at rest
            stored[k] = laws.area[k] * (sums[0] + sums[2])
    return acts


@called_njit()
def _turning_work(laws, step, rows, normal, before, pushed, pressing, pushed_now):
    """−½ Δt v_{n−½}·(c'_n − c_n), J: work of the layers' forces by the rotation of their normals between two steps;
    before (q,): v_{n−½} of the rows, pushed (q,): c_n; pressing (r,), pushed_now (q,): work space for c'_n."""
    acts = False
    for k in range(normal.shape[1]):
        pressing[laws.first[k]] = normal[0, k] / step
        acts = acts or normal[0, k] != 0.0
    if not acts:
        return 0.0
    times_transposed_rows(rows, pressing, pushed_now)
    work = 0.0
    for q in range(pushed_now.size):
        work += before[q] * (pushed_now[q] - pushed[q])
    return -0.5 * step * work


@called_njit()
def imposed_accelerations(system, step, start_values, end_values, u, half, accelerations):
    """Accelerations (p,) for the imposed motions of the next step: displacements at its end, or the mean velocity of
    both ends; start_values, end_values (p,): imposed values at its ends."""
    for g in range(accelerations.size):
        d = system.imposed[g]
        if system.imposes_displacement[g]:
            velocity = (end_values[g] - u[d]) / step
        else:
            velocity = 0.5 * (start_values[g] + end_values[g])
        accelerations[g] = (velocity - half[d]) / step


@njit(cache=True, nogil=True)
def central_steps(
    count, system, kernels, solvers, operators, solids, loads, mass, state, steps, works, moving, sliding
):  # fmt: skip
    """Up to `count` steps; returns the number of accepted steps, at whose end `state` is.

    Arguments as of `arlequin.schemes._loop_kernels.linear_steps`. operators: `CentralOperators`; solids: `SolidTables`;
    loads: external forces (count + 1, d) at the ends of the steps, or (1, d), and values (count + 2, p) of imposed
    motions there; mass (d,), kg; state: `CentralLoopState`; works: `CentralWorks`; moving: of surfaces that are paired
    in each step.
    """
    system = named_system(borrow(system), kernels, solvers[0])
    operators, solids = CentralOperators(*borrow(operators)), borrow(solids)
    external, imposed = borrow(loads)
    state, steps, works = CentralLoopState(*borrow(state)), LoopSteps(*borrow(steps)), CentralWorks(*borrow(works))
    laws, step, inverse = system.laws, operators.step, operators.inverse
    basis, constraints, viscous = system.basis, system.constraints, system.viscous
    size, points, rows, basis_rows = state.u.size, system.gap.size, state.impulse.size, basis.starts.size - 1
    m, damped = state.constraint.size, viscous.starts.size > 1
    own_buffers = _Buffers(
        np.zeros(size), np.zeros(size), np.empty(size), np.empty(size if damped else 0), np.empty(size),
        np.empty(m), np.empty(operators.independent.size), np.empty(m), np.empty(m), np.empty(system.imposed.size),
        np.zeros(system.imposed.size), state.history.copy(),
    )  # fmt: skip
    buffers = borrow(own_buffers)
    own_solution = state.history.copy(), np.zeros((3, points)), np.zeros(points, dtype=np.int8)
    trial, normal, status = borrow(own_solution)
    own_problem, own_factor = row_buffers(basis_rows, rows, points), allocate_factor(rows)
    free, factor = RowsFree(*borrow(own_problem)), borrow(own_factor)
    own_rows = np.zeros(rows), np.empty(basis_rows), np.zeros(rows), np.empty(basis_rows)
    no_springs, before, pressing, layer_force = borrow(own_rows)
    coefficients, options = (step, 1.0, 0.0), (operators.method, operators.rho, operators.proximal)
    contact = ContactPoints(system.gap, system.touching, laws, no_springs, state.worn)
    impulse, history = state.impulse, state.history
    solution = impulse, trial, normal, status
    if moving is None:
        on_basis = impulse
    else:
        on_basis = np.empty(basis_rows)
        paired, configurations = named_moving(borrow(moving))
        data = StepData(system, coefficients, operators.delassus, no_springs)
        in_configuration = ContactSolution(impulse, normal, status, trial)
        own_configuration = configuration_buffers(basis_rows, rows, size, m, history, points)
        configuration, contact_buffers = named_configuration(paired, borrow(own_configuration))
        active = chosen_points(configuration.active, laws, history)
    if sliding is None:
        slide_buffers = None
    else:
        slide = np.empty(rows)
        slide_buffers = np.empty(rows), slide, np.empty((2, points)), np.empty(points)
        sliding_points = SlidingPoints(*sliding[2])
    if m:
        add_transposed(constraints, state.constraint, buffers.constraint_force)
        for g in range(system.imposed.size):
            buffers.force_on_imposed[g] = buffers.constraint_force[system.imposed[g]]
    for n in range(count):
        load, next_load = external[min(n, len(external) - 1)], external[min(n + 1, len(external) - 1)]
        pull, press, multipliers = buffers.constraint_force, buffers.layer_force, steps.multipliers[n]
        for r in range(m):
            multipliers[r] = step * state.constraint[r]
        iterations, residual, singular, any_active = 0, 0.0, False, False
        if points:
            free.end[:] = 0.0
            before[:] = 0.0
            add_product(basis, state.a, free.end)
            add_product(basis, state.half, before)
            for q in range(basis_rows):
                free.end[q] = before[q] + step * free.end[q]
        if points and moving is None:
            free.displacement[:] = 0.0
            free.velocity[:] = 0.0
            add_product(basis, state.u, free.displacement)
            add_product(basis, state.v, free.velocity)
            any_active = free_rows(coefficients, contact, no_springs, before, free)
            # Moreau's law at the end of the step: the bulk accelerates between both velocities
            free.closing[0] = 0.0
            free.closing[2] = 0.0
        if moving is not None:
            active, any_active, iterations, residual, singular = solve_in_configuration(
                data,
                paired,
                options,
                state,
                free.end,
                configuration,
                active,
                in_configuration,
                on_basis,
                contact_buffers,
            )
        elif any_active:
            iterations, residual, singular = solve_rows(
                operators.delassus, coefficients, laws, options, free, history, solution, factor, sliding, slide_buffers
            )
        else:
            impulse[:] = 0.0
            normal[:] = 0.0
            status[:] = 0
            copy_table(history, trial)
        steps.iterations[n], steps.residual[n] = iterations, residual
        if singular or not residual <= ALLOWED:
            return n
        pull[:] = 0.0
        if any_active:
            add_transposed(basis, on_basis, pull)
            _hold_constraints(operators, constraints, on_basis, buffers, multipliers, pull)
        half, u, v = steps.flow[n], steps.u[n], steps.v[n]
        push_on(step, inverse, pull, state.a, state.half, state.u, half, u)
        works.strain[n] = forces_of_parts(system.strains, solids, u, buffers.relative, buffers.internal)
        if damped:
            buffers.damping[:] = 0.0
            add_product(viscous, half, buffers.damping)
        for g in range(system.imposed.size):
            d = system.imposed[g]
            mean = state.internal[d] - load[d]
            if damped:
                mean += state.damping[d]
            works.reactions[n, g] = mass[d] * (half[d] - state.half[d]) + step * mean
        sums = works.sums[n]
        take_works(
            step, mass, half, half, state.internal, buffers.internal, load, next_load, state.damping, buffers.damping,
            sums,
        )  # fmt: skip
        if not np.isfinite(works.strain[n] + sums[0]):
            return n
        accelerate(inverse, buffers.internal, next_load, buffers.damping, state.a)
        for g in range(system.imposed.size):  # reactions exclude the forces of constraints and contact on these dofs
            d = system.imposed[g]
            reaction_impulse = works.reactions[n, g] - pull[d] - step * buffers.force_on_imposed[g]
            works.reactions[n, g] = reaction_impulse
            sums[1] += reaction_impulse * 0.5 * (state.half[d] + half[d])
        # constrained acceleration of the next step
        pull[:] = 0.0
        state.constraint[:] = 0.0
        imposed_accelerations(system, step, imposed[n + 1], imposed[n + 2], u, half, buffers.imposed_acceleration)
        for g in range(system.imposed.size):
            state.a[system.imposed[g]] = buffers.imposed_acceleration[g]
        if m:
            _rate_defect(constraints, step, half, state.a, buffers)
            _change_rates(operators, constraints, buffers.rates, buffers, state.constraint, pull)
            for d in range(size):
                state.a[d] += inverse[d] * pull[d]
            for g in range(system.imposed.size):
                buffers.force_on_imposed[g] = pull[system.imposed[g]]
        if moving is not None:
            keep_configuration(configuration, configurations, n)
            sums[5] = _turning_work(laws, step, configuration.rows, normal, before, state.pushed, pressing, layer_force)
        if _stored_forces(laws, step, trial, buffers.scratch, works.stored[n]):
            press[:] = 0.0
            for k in range(points):
                pressing[laws.first[k]] = works.stored[n, k]
            if moving is None:
                copy_vector(pressing, state.pushed)
            else:
                times_transposed_rows(configuration.rows, pressing, state.pushed)
            add_transposed(basis, state.pushed, press)
            sums[0] += 0.5 * step * dot(half, press)
            buffers.layer_multipliers[:] = 0.0
            _hold_constraints(operators, constraints, state.pushed, buffers, buffers.layer_multipliers, press)
            for d in range(size):
                state.lift[d] = inverse[d] * press[d]
        end_velocity(step, half, state.a, state.lift, v)
        if system.wear_rate.size:
            copy_table(state.worn, steps.worn[n])
            mean_path(basis, half, step, before, free.end)
            if moving is None:
                copy_vector(free.end, free.start)
            else:
                times_rows(configuration.rows, free.end, free.start)
            wear_off(laws.first, system.wear_rate, step, impulse, free.start, state.worn)
        if sliding is not None:
            slide[:] = 0.0
            add_product(basis, half, slide)
            advance_sliding(laws, step, sliding, slide_buffers, impulse, status, trial)
            for k in range(points):
                steps.friction_state[n, k] = sliding_points.variables[k, 0]
        copy_table(trial, history)
        copy_vector(u, state.u)
        copy_vector(half, state.half)
        copy_vector(v, state.v)
        copy_vector(buffers.internal, state.internal)
        copy_vector(buffers.damping, state.damping)
        copy_vector(impulse, steps.impulse[n])
        for k in range(points):
            steps.status[n, k] = status[k]
        copy_table(normal, steps.normal[n])
    hold(own_buffers)
    hold(own_solution)
    hold(own_problem)
    hold(own_factor)
    hold(own_rows)
    if moving is not None:
        hold(own_configuration)
    return count
