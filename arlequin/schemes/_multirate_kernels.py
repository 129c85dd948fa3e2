"""Large steps of multirate integration in one compiled loop, of linear parts without contact and absorbers; equations
in `arlequin.schemes.multirate.Multirate`.

A large step is two passes over the steps of both sides: one under the multipliers φ of the step before, of the paths
alone, whose mismatch it gives, and one under φ corrected by the linear response; more where round-off of the correction
shows. The loop is compiled once for all pairs of schemes.
"""

from collections import namedtuple

import numpy as np

from arlequin.models.kernel_cache import called_njit, njit
from arlequin.models.linalg._bordered_kernels import backward_pass, forward_pass
from arlequin.multilevel.solvers._borrow_kernels import borrow, hold
from arlequin.multilevel.solvers._dense_kernels import solve_envelope, solve_envelope_transposed
from arlequin.schemes._central_loop_kernels import (
    accelerate,
    end_velocity,
    imposed_accelerations,
    push_on,
    take_works,
)  # fmt: skip
from arlequin.schemes._factored_loop_kernels import EndBuffers, end_step
from arlequin.schemes._sparse_step_kernels import move
from arlequin.schemes._step_kernels import FreeMotion, Prediction, right_hand_side
from arlequin.schemes._system_kernels import add_product, add_transposed, copy_vector, forces_of_parts
from arlequin.schemes.compiled_system import SparseRows, StrainRows
from arlequin.schemes.loop_data import StepRow
from arlequin.schemes.multirate_data import SideState, SideSteps

_NOTHING = 1e-300  # size of the terms of a mismatch that is zero

# `SolidTables`, and fields of `SideArguments`.
_Side = namedtuple(
    "_Side",
    "solids implicit ratio row by_imposed bordered supernodes push inverse mass no_lift external imposed",
)

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
def _named_side(arguments, solids):
    """Of a side, from plain tuples `SideArguments` and `SolidTables`: `_Side`, `_Bulk`, the states at the start and for
    trial, and the steps."""
    (
        implicit, ratio, bulk_arrays, row, by_imposed, bordered, supernodes, push, inverse, mass, no_lift,
        external, imposed, start, trial, steps,
    ) = arguments  # fmt: skip
    side = _Side(
        solids, implicit, ratio, StepRow(*row), SparseRows(*by_imposed), bordered, supernodes, push, inverse, mass,
        no_lift, external, imposed,
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
def _at(rows, n):
    """Row n, or the only one of quantities that are steady."""
    return rows[min(n, len(rows) - 1)]


@called_njit()
def _add_path(step, before, after, room):
    """Adds the path Δt (v₀ + v₁)/2 of a step."""
    for d in range(before.size):
        room.path[d] += 0.5 * step * (before[d] + after[d])
        room.size[d] += 0.5 * step * (abs(before[d]) + abs(after[d]))


@called_njit()
def _pull(bulk, share, room):
    """Writes share Cᵀφ (d,) of the impulses φ of the constraints to `room.pull`."""
    room.pull[:] = 0.0
    add_transposed(bulk.constraints, room.impulses, room.pull)
    for d in range(room.pull.size):
        room.pull[d] *= share


@called_njit()
def _theta_state(trial, room):
    """The state as `right_hand_side` and `end_step` read it."""
    nothing = room.nothing
    return _ThetaState(
        trial.u, trial.v, trial.momentum, room.constraint_sum, trial.internal, nothing, nothing, nothing, nothing
    )


@called_njit()
def _solve_theta(side, bulk, trial, room, n):
    """Writes the mean velocity (d,) in step n of the θ-scheme to `room.y`."""
    row, y, nothing = side.row, room.y, room.nothing
    motion = FreeMotion(
        row, bulk.free, bulk.imposed, bulk.imposes_displacement, bulk.inertial, bulk.strains, bulk.viscous, None,
        side.by_imposed, bulk.constraints, None, None,
    )  # fmt: skip
    prediction = Prediction(y, nothing, room.right, room.moving, room.relative, room.relative, nothing, nothing)
    load, factor = _at(side.push, n), row.weight * row.inertia
    for d in range(y.size):
        room.term[d] = load[d] + factor * room.pull[d]
    right_hand_side(motion, side.solids, room.term, side.imposed[n], _theta_state(trial, room), prediction)
    forward_pass(side.bordered, side.supernodes, room.right, room.half, nothing)
    backward_pass(side.bordered, side.supernodes, nothing, room.half, room.right)
    for i in range(bulk.free.size):
        y[bulk.free[i]] = room.right[i]


@called_njit()
def _theta_path(side, bulk, trial, room, first):
    """Adds the paths Δt y of the steps of a large step from `trial`, which becomes the state before the last of them,
    under the impulses `room.impulses`; first: number of the first step."""
    step, internal, drag, y = side.row.step, room.internal, room.damping, room.y
    _pull(bulk, 1.0, room)
    for n in range(first, first + side.ratio):
        _solve_theta(side, bulk, trial, room, n)
        for d in range(y.size):
            room.path[d] += step * y[d]
        if n == first + side.ratio - 1:
            break
        u, v = trial.u.reshape(1, -1), trial.v.reshape(1, -1)
        move(step, side.row.weight, y.reshape(1, -1), y.reshape(1, -1), u, v, u, v)
        forces_of_parts(bulk.strains, side.solids, trial.u, room.relative, internal)
        external = _at(side.external, n)
        for d in range(y.size):
            if bulk.inertial[d]:
                mean = 0.5 * (trial.internal[d] + internal[d])
                trial.momentum[d] += room.pull[d] - step * (mean - external[d])
        if drag.size:
            drag[:] = 0.0
            add_product(bulk.viscous, y, drag)
            for d in range(y.size):
                if bulk.inertial[d]:
                    trial.momentum[d] -= step * drag[d]
        copy_vector(internal, trial.internal)


@called_njit()
def _theta_steps(side, bulk, trial, steps, room, first):
    """As `_theta_path` with the works of the steps; `trial` becomes the state at the end of the last one; whether the
    motion is finite."""
    row, nothing, internal, drag = side.row, room.nothing, room.internal, room.damping
    ends = EndBuffers(
        internal.reshape(1, -1), room.average, room.moving.reshape(1, -1), drag.reshape(1, -1), room.average, room.pull,
        room.relative, room.imposed_momentum,
    )  # fmt: skip
    whole = row, bulk.mass, bulk.viscous, bulk.strains, bulk.constraints, bulk.basis, bulk.inertial, bulk.imposed
    _pull(bulk, 1.0, room)  # as `end_step` writes it
    for n in range(first, first + side.ratio):
        _solve_theta(side, bulk, trial, room, n)
        copy_vector(trial.v, room.before)
        after = steps.flow[n : n + 1], steps.u[n : n + 1], steps.v[n : n + 1], steps.reactions[n]
        steps.strain[n] = end_step(
            whole, side.solids, _at(side.external, n), (room.y, room.impulses, nothing), _theta_state(trial, room),
            after, ends, steps.sums[n : n + 1],
        )  # fmt: skip
        if not np.isfinite(steps.strain[n] + steps.sums[n, 0]):
            return False
        _add_path(row.step, room.before, trial.v, room)
    return True


@called_njit()
def _push_central(side, bulk, trial, steps, room, n):
    """Velocity and displacements of step n by central differences, `room.moving`: that with the impulses at the end of
    the step, and the forces there; returns the strain energy, J."""
    half, u = steps.flow[n], steps.u[n]
    push_on(side.row.step, side.inverse, room.pull, trial.a, trial.half, trial.u, half, u)
    energy = forces_of_parts(bulk.strains, side.solids, u, room.relative, room.internal)
    if room.damping.size:
        room.damping[:] = 0.0
        add_product(bulk.viscous, half, room.damping)
    for d in range(half.size):
        room.moving[d] = half[d] + side.inverse[d] * room.pull[d]
    return energy


@called_njit()
def _end_central(side, bulk, trial, steps, room, n):
    """Completes step n by central differences, adds its path, and makes `trial` the state at its end."""
    step, half, u, v = side.row.step, steps.flow[n], steps.u[n], steps.v[n]
    accelerate(side.inverse, room.internal, _at(side.external, n + 1), room.damping, trial.a)
    imposed_accelerations(bulk, step, side.imposed[n + 1], side.imposed[n + 2], u, half, room.acceleration)
    for g in range(bulk.imposed.size):
        trial.a[bulk.imposed[g]] = room.acceleration[g]
    end_velocity(step, room.moving, trial.a, side.no_lift, v)
    _add_path(step, trial.v, v, room)
    copy_vector(u, trial.u)
    copy_vector(room.moving, trial.half)
    copy_vector(v, trial.v)
    copy_vector(room.internal, trial.internal)
    copy_vector(room.damping, trial.damping)


@called_njit()
def _central_path(side, bulk, trial, steps, room, first):
    """Adds the paths of the steps of a large step from `trial`, which becomes the state at their end, under the
    impulses `room.impulses`, half of which acts at the start of a step and half at its end; first: number of the first
    step."""
    _pull(bulk, 0.5, room)
    for n in range(first, first + side.ratio):
        _push_central(side, bulk, trial, steps, room, n)
        _end_central(side, bulk, trial, steps, room, n)


@called_njit()
def _central_steps(side, bulk, trial, steps, room, first):
    """As `_central_path` with the works of the steps; whether the motion is finite."""
    step, damping, pull = side.row.step, room.damping, room.pull
    _pull(bulk, 0.5, room)
    for n in range(first, first + side.ratio):
        half, sums, load = steps.flow[n], steps.sums[n], _at(side.external, n)
        steps.strain[n] = _push_central(side, bulk, trial, steps, room, n)
        take_works(
            step, side.mass, half, room.moving, trial.internal, room.internal, load, _at(side.external, n + 1),
            trial.damping, damping, sums,
        )  # fmt: skip
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
        _end_central(side, bulk, trial, steps, room, n)
    return True


@called_njit()
def _begin(named, room, multipliers):
    """The state before a large step under constant multipliers (m,), N."""
    side, _, start, trial, _ = named
    _copy_state(start, trial)
    room.path[:] = 0.0
    room.size[:] = 0.0
    for r in range(multipliers.size):
        room.impulses[r] = side.row.step * multipliers[r]


@called_njit()
def _path(named, room, multipliers, n):
    """Writes the path of a side in the large step n under constant multipliers (m,), N, to `room.path`."""
    side, bulk, _, trial, steps = named
    _begin(named, room, multipliers)
    if side.implicit:
        _theta_path(side, bulk, trial, room, n * side.ratio)
    else:
        _central_path(side, bulk, trial, steps, room, n * side.ratio)


@called_njit()
def _large_step(named, room, multipliers, n):
    """As `_path` with the works of the steps and the state at their end; whether the motion is finite."""
    side, bulk, _, trial, steps = named
    _begin(named, room, multipliers)
    if side.implicit:
        return _theta_steps(side, bulk, trial, steps, room, n * side.ratio)
    return _central_steps(side, bulk, trial, steps, room, n * side.ratio)


@called_njit()
def _correct(mismatch, coupling, correction, phi):
    """Changes the multipliers φ (m,) by the response to the mismatch (m,) of the paths."""
    independent, lower, first = coupling
    for i in range(independent.size):
        correction[i] = mismatch[independent[i]]
    solve_envelope(lower, first, correction)
    solve_envelope_transposed(lower, first, correction)
    for i in range(independent.size):
        phi[independent[i]] -= correction[i]


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
def multirate_steps(count, coarse, fine, solids, coupling, multipliers, mismatch, limits):
    """Up to `count` large steps; returns how many were accepted.

    coarse, fine: `SideArguments`; solids: `SolidTables` of both; coupling: independent constraints (k,), L (k, k), L Lᵀ
    the response of their mismatch to the multipliers, and the first column of each of its rows (k,); multipliers
    (count + 1, m), N: those of the step before, then of the steps; mismatch (m,), m: of all steps so far; limits:
    greatest number of passes, the relative mismatch that is accepted, and that where it no longer halves.
    """
    coarse, fine = _named_side(borrow(coarse), borrow(solids[0])), _named_side(borrow(fine), borrow(solids[1]))
    coarse_bulk, fine_bulk, coupling = coarse[1], fine[1], borrow(coupling)
    independent = coupling[0]
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
        _path(coarse, coarse_room, phi, n)
        _path(fine, fine_room, phi, n)
        copy_vector(mismatch, total)
        add_product(coarse_bulk.constraints, coarse_room.path, total)
        add_product(fine_bulk.constraints, fine_room.path, total)
        _correct(total, coupling, correction, phi)
        largest, before, accepted = _NOTHING, np.inf, False
        for _ in range(1, most):
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
                error = max(error, abs(total[independent[i]]))
            error /= largest
            accepted = error <= tolerance or (error <= stagnation_tolerance and error > 0.5 * before)
            if accepted:
                break
            before = error
            _correct(total, coupling, correction, phi)
        if not accepted:
            break
        copy_vector(total, mismatch)
        _copy_state(coarse[3], coarse[2])
        _copy_state(fine[3], fine[2])
        taken = n + 1
    hold(own_rooms)
    return taken
