"""Large steps of multirate integration in one compiled loop, of linear parts without contact and absorbers; equations
in `arlequin.schemes.multirate.Multirate`.

A large step is two passes over the steps of both sides: one under the multipliers φ of the step before, which gives
the mismatch of the paths, and one under φ corrected by the linear response; more where round-off of the correction
shows. The loop is compiled once for all pairs of schemes.
"""

from collections import namedtuple

import numpy as np

from arlequin.models.kernel_cache import called_njit, njit
from arlequin.models.linalg._bordered_kernels import backward_pass, forward_pass
from arlequin.multilevel.solvers._borrow_kernels import borrow, hold
from arlequin.multilevel.solvers._dense_kernels import solve_lower, solve_lower_transposed
from arlequin.schemes._central_loop_kernels import (
    accelerate,
    end_velocity,
    imposed_accelerations,
    push_on,
    take_works,
)  # fmt: skip
from arlequin.schemes._factored_loop_kernels import EndBuffers, end_step
from arlequin.schemes._step_kernels import FreeMotion, Prediction, right_hand_side
from arlequin.schemes._system_kernels import add_product, add_transposed, copy_vector, forces_of_parts
from arlequin.schemes.compiled_system import SparseRows, StrainRows
from arlequin.schemes.loop_data import StepRow
from arlequin.schemes.multirate_data import SideArguments, SideState, SideSteps

_NOTHING = 1e-300  # size of the terms of a mismatch that is zero

# Parts without contact, the first fields of `CompiledSystem`.
_Bulk = namedtuple("_Bulk", "free imposed imposes_displacement inertial mass viscous strains constraints basis")

# What `right_hand_side` and `end_step` read of a state; the empty fields are those of the generalised-α family.
_ThetaState = namedtuple(
    "_ThetaState", "u v momentum constraint_sum internal lead internal_average damping_average pulled"
)

# Of a side: path, size (d,): displacement in a large step on which the constraints' forces work, m, and the sum of the
# absolute values of its terms; pull (d,): impulses of these forces in a step, or by central differences half of them,
# and impulses (m,) of the constraints, N·s; constraint_sum (m,): not used. The rest is work space.
_Room = namedtuple(
    "_Room",
    "path size pull impulses constraint_sum y right term before moving internal relative damping acceleration "
    "imposed_momentum half average nothing",
)


@called_njit()
def _named_side(arguments):
    """`SideArguments` and their bulk from plain tuples."""
    (
        implicit, ratio, bulk_arrays, solids, row, by_imposed, bordered, supernodes, push, inverse, mass, no_lift,
        external, imposed, start, trial, steps,
    ) = arguments  # fmt: skip
    side = SideArguments(
        implicit, ratio, bulk_arrays, solids, StepRow(*row), SparseRows(*by_imposed), bordered, supernodes, push,
        inverse, mass, no_lift, external, imposed, start, trial, steps,
    )  # fmt: skip
    free, imposed_dofs, displaced, inertial, masses, viscous, strains, constraints, basis = bulk_arrays
    bulk = _Bulk(
        free, imposed_dofs, displaced, inertial, SparseRows(*masses), SparseRows(*viscous), StrainRows(*strains),
        SparseRows(*constraints), SparseRows(*basis),
    )  # fmt: skip
    return side, bulk, SideState(*start), SideState(*trial), SideSteps(*steps)


@called_njit()
def _room(bulk, size, lines):
    """Work space of a side."""
    m, imposed, damped = bulk.constraints.starts.size - 1, bulk.imposed.size, bulk.viscous.starts.size > 1
    return _Room(
        np.zeros(size), np.zeros(size), np.zeros(size), np.zeros(m), np.zeros(m), np.zeros(size),
        np.zeros(bulk.free.size), np.zeros(size), np.zeros(size), np.zeros(size), np.zeros(size), np.zeros(size),
        np.zeros(size if damped else 0), np.zeros(imposed), np.zeros(imposed), np.zeros((1, lines)),
        np.zeros((1, 0)), np.zeros(0),
    )  # fmt: skip


@called_njit()
def _copy_state(source, target):
    """A state of a side; fields of the other scheme are empty."""
    copy_vector(source.u, target.u)
    copy_vector(source.v, target.v)
    copy_vector(source.internal, target.internal)
    copy_vector(source.momentum, target.momentum)
    copy_vector(source.half, target.half)
    copy_vector(source.a, target.a)
    copy_vector(source.damping, target.damping)


@called_njit()
def _add_path(step, before, after, room):
    """Adds the path Δt (v₀ + v₁)/2 of a step."""
    for d in range(before.size):
        room.path[d] += 0.5 * step * (before[d] + after[d])
        room.size[d] += 0.5 * step * (abs(before[d]) + abs(after[d]))


@called_njit()
def _theta_steps(side, bulk, trial, steps, room, first):
    """The steps of a large step from `trial`, which becomes the state at their end, under the impulses
    `room.impulses`; first: number of the first one; whether their motion is finite."""
    row, y, nothing, internal, drag = side.row, room.y, room.nothing, room.internal, room.damping
    motion = FreeMotion(
        row, bulk.free, bulk.imposed, bulk.imposes_displacement, bulk.inertial, bulk.strains, bulk.viscous, None,
        side.by_imposed, bulk.constraints, None, None,
    )  # fmt: skip
    prediction = Prediction(y, nothing, room.right, room.moving, room.relative, room.relative, nothing, nothing)
    ends = EndBuffers(
        internal.reshape(1, -1), room.average, room.moving.reshape(1, -1), drag.reshape(1, -1), room.average, room.pull,
        room.relative, room.imposed_momentum,
    )  # fmt: skip
    whole = row, bulk.mass, bulk.viscous, bulk.strains, bulk.constraints, bulk.basis, bulk.inertial, bulk.imposed
    state = _ThetaState(
        trial.u, trial.v, trial.momentum, room.constraint_sum, trial.internal, nothing, nothing, nothing, nothing
    )
    factor = row.weight * row.inertia
    room.pull[:] = 0.0
    add_transposed(bulk.constraints, room.impulses, room.pull)  # as `end_step` writes it
    for n in range(first, first + side.ratio):
        load = side.push[min(n, len(side.push) - 1)]
        for d in range(y.size):
            room.term[d] = load[d] + factor * room.pull[d]
        right_hand_side(motion, side.solids, room.term, side.imposed[n], state, prediction)
        forward_pass(side.bordered, side.supernodes, room.right, room.half, nothing)
        backward_pass(side.bordered, side.supernodes, nothing, room.half, room.right)
        for i in range(bulk.free.size):
            y[bulk.free[i]] = room.right[i]
        copy_vector(trial.v, room.before)
        after = steps.flow[n : n + 1], steps.u[n : n + 1], steps.v[n : n + 1], steps.reactions[n]
        steps.strain[n] = end_step(
            whole, side.solids, side.external[min(n, len(side.external) - 1)], (y, room.impulses, nothing), state,
            after, ends, steps.sums[n : n + 1],
        )  # fmt: skip
        if not np.isfinite(steps.strain[n] + steps.sums[n, 0]):
            return False
        _add_path(row.step, room.before, trial.v, room)
    return True


@called_njit()
def _central_steps(side, bulk, trial, steps, room, first):
    """As `_theta_steps`: half of the impulse of the constraints acts at the start of a step, half at its end."""
    step, internal, damping, moving, pull = side.row.step, room.internal, room.damping, room.moving, room.pull
    pull[:] = 0.0
    add_transposed(bulk.constraints, room.impulses, pull)
    for d in range(pull.size):
        pull[d] *= 0.5
    for n in range(first, first + side.ratio):
        load, next_load = (
            side.external[min(n, len(side.external) - 1)], side.external[min(n + 1, len(side.external) - 1)],
        )  # fmt: skip
        half, u, v, sums = steps.flow[n], steps.u[n], steps.v[n], steps.sums[n]
        push_on(step, side.inverse, pull, trial.a, trial.half, trial.u, half, u)
        steps.strain[n] = forces_of_parts(bulk.strains, side.solids, u, room.relative, internal)
        if damping.size:
            damping[:] = 0.0
            add_product(bulk.viscous, half, damping)
        for d in range(half.size):
            moving[d] = half[d] + side.inverse[d] * pull[d]
        take_works(
            step, side.mass, half, moving, trial.internal, internal, load, next_load, trial.damping, damping, sums
        )
        if not np.isfinite(steps.strain[n] + sums[0]):
            return False
        for g in range(bulk.imposed.size):
            d = bulk.imposed[g]
            mean = trial.internal[d] - load[d]
            if damping.size:
                mean += trial.damping[d]
            impulse = side.mass[d] * (half[d] - trial.half[d]) + step * mean
            sums[1] += impulse * 0.5 * (trial.half[d] + half[d])
            steps.reactions[n, g] = impulse - 2.0 * pull[d]
        accelerate(side.inverse, internal, next_load, damping, trial.a)
        imposed_accelerations(bulk, step, side.imposed[n + 1], side.imposed[n + 2], u, half, room.acceleration)
        for g in range(bulk.imposed.size):
            trial.a[bulk.imposed[g]] = room.acceleration[g]
        end_velocity(step, moving, trial.a, side.no_lift, v)
        _add_path(step, trial.v, v, room)
        copy_vector(u, trial.u)
        copy_vector(moving, trial.half)
        copy_vector(v, trial.v)
        copy_vector(internal, trial.internal)
        copy_vector(damping, trial.damping)
    return True


@called_njit()
def _large_step(named, room, multipliers, n):
    """The steps of a side in the large step n under constant multipliers (m,), N; whether their motion is finite."""
    side, bulk, start, trial, steps = named
    _copy_state(start, trial)
    room.path[:] = 0.0
    room.size[:] = 0.0
    for r in range(multipliers.size):
        room.impulses[r] = side.row.step * multipliers[r]
    if side.implicit:
        return _theta_steps(side, bulk, trial, steps, room, n * side.ratio)
    return _central_steps(side, bulk, trial, steps, room, n * side.ratio)


@called_njit()
def _largest_terms(matrix, size):
    """The largest |A| x of a sparse A by rows and an x ≥ 0."""
    largest = 0.0
    for i in range(matrix.starts.size - 1):
        total = 0.0
        for e in range(matrix.starts[i], matrix.starts[i + 1]):
            total += abs(matrix.values[e]) * size[matrix.columns[e]]
        largest = max(largest, total)
    return largest


@njit(cache=True, nogil=True)
def multirate_steps(count, coarse, fine, coupling, multipliers, mismatch, limits):
    """Up to `count` large steps; returns how many were accepted.

    coarse, fine: `SideArguments`; coupling: independent constraints (k,) and L (k, k), L Lᵀ the response of their
    mismatch to the multipliers; multipliers (count + 1, m), N: those of the step before, then of the steps; mismatch
    (m,), m: of all steps so far; limits: greatest number of passes, the relative mismatch that is accepted, and that
    where it no longer halves.
    """
    coarse, fine = _named_side(borrow(coarse)), _named_side(borrow(fine))
    coarse_bulk, fine_bulk, (independent, lower) = coarse[1], fine[1], borrow(coupling)
    own_rooms = (
        _room(coarse_bulk, coarse[2].u.size, coarse[0].bordered[0].size),
        _room(fine_bulk, fine[2].u.size, fine[0].bordered[0].size),
    )
    coarse_room, fine_room = borrow(own_rooms)
    most, tolerance, stagnation_tolerance = limits
    total, correction = np.empty(mismatch.size), np.empty(independent.size)
    taken = 0
    for n in range(count):
        phi = multipliers[n + 1]
        copy_vector(multipliers[n], phi)
        largest, before, accepted = _NOTHING, np.inf, False
        for _ in range(most):
            if not (_large_step(coarse, coarse_room, phi, n) and _large_step(fine, fine_room, phi, n)):
                break
            copy_vector(mismatch, total)
            add_product(coarse_bulk.constraints, coarse_room.path, total)
            add_product(fine_bulk.constraints, fine_room.path, total)
            largest = max(
                largest, _largest_terms(coarse_bulk.constraints, coarse_room.size),
                _largest_terms(fine_bulk.constraints, fine_room.size),
            )  # fmt: skip
            error = 0.0
            for i in range(independent.size):
                correction[i] = total[independent[i]]
                error = max(error, abs(correction[i]))
            error /= largest
            accepted = error <= tolerance or (error <= stagnation_tolerance and error > 0.5 * before)
            if accepted:
                break
            before = error
            solve_lower(lower, 0, correction)
            solve_lower_transposed(lower, correction)
            for i in range(independent.size):
                phi[independent[i]] -= correction[i]
        if not accepted:
            break
        copy_vector(total, mismatch)
        _copy_state(coarse[3], coarse[2])
        _copy_state(fine[3], fine[2])
        taken = n + 1
    hold(own_rooms)
    return taken
