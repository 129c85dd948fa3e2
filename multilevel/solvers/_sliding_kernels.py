"""Numba kernels of a contact problem whose coefficients of friction depend on the state; method in
`arlequin.multilevel.solvers.sliding`."""

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.typed import List

from arlequin.models.kernel_cache import called_njit, njit
from arlequin.multilevel.laws.signature import FRICTION_KERNEL
from arlequin.multilevel.solvers._kernels import (
    OPEN,
    SLIP,
    STICK,
    LinearSystem,
    Statuses,
    allocate_response,
    contact_problem,
    diagonal_scaling,
    linearise,
    multiply,
    natural_residual,
    newton_increment,
    update_statuses,
)
from arlequin.multilevel.solvers._krylov_kernels import round_operator

SETTLED = 1e-13  # difference of a coefficient from its law, relative to it, that is round-off
ACCEPTED = 1e-11  # difference above which a step is not accepted
PASSES = 200  # largest number of problems with given coefficients
STALLED = 6  # number of passes that do not halve the difference, from which on `ACCEPTED` suffices
_ROUND_OFF = 2.0**-50
_RELATIVE = 1e-6  # change of a slip rate by which slopes are taken
_TOLERANCE = 1e-4  # of the linearised problem where it is solved iteratively
_MAX_LOG_CHANGE = 8.0  # largest change of the logarithm of a slip rate in a pass


class SlidingTable(NamedTuple):
    """Compiled friction laws of k points: kind (k,), index into the kernels or −1 for a constant coefficient;
    coefficients (k, m)."""

    kind: Any
    coefficients: Any


class SlidingPoints(NamedTuple):
    """State at the start of a step: slip (k,), m; variables (k, v); stuck (k,): points that stick."""

    slip: Any
    variables: Any
    stuck: Any


@njit(types.ListType(FRICTION_KERNEL)(), cache=True)
def no_friction_kernels():
    """An empty typed list of kernels."""
    return List.empty_list(FRICTION_KERNEL)


@njit(types.void(types.ListType(FRICTION_KERNEL), FRICTION_KERNEL), cache=True)
def add_friction_kernel(kernels, kernel):
    """Append a kernel."""
    kernels.append(kernel)


@njit(cache=True)
def mean_rates(first, slip_free, per_velocity, step, velocity_change, out, rate, noise):
    """Mean slip rates of a step as vectors `out` (r,) and their sizes `rate` (k,): (slip_free + τ W P)/Δt; noise (k,):
    their round-off."""
    for k in range(rate.size):
        total, size = 0.0, 0.0
        for t in range(first[k] + 1, first[k + 1]):
            out[t] = (slip_free[t] + per_velocity * velocity_change[t]) / step
            total += out[t] * out[t]
            size += (abs(slip_free[t]) + abs(per_velocity * velocity_change[t])) / step
        rate[k] = np.sqrt(total)
        noise[k] = _ROUND_OFF * size


@njit(cache=True)
def friction_error(friction, low, high, threshold, status):
    """Largest difference of the coefficients (k,) from those of their laws, relative to them: where a point slips,
    from the range of `low` and `high`, the law at its slip rate but for the round-off of that; where it sticks the
    coefficient may be anything up to the threshold of stick."""
    largest = 0.0
    for k in range(friction.size):
        mu = friction[k]
        if status[k] == SLIP:
            below, above = min(low[k], high[k]), max(low[k], high[k])
            largest = max(largest, max(below - mu, mu - above, 0.0) / max(mu, below, 1e-300))
        elif status[k] == STICK and mu > threshold[k]:
            largest = max(largest, (mu - threshold[k]) / mu)
    return largest


@njit(cache=True)
def revise_rates(
    motion, laws, kernels, history, closing, impulse, trial, status, rate, mean, at, slope, threshold, factor, rounded
):  # fmt: skip
    """The slip rates `at` (k,) at which the coefficients are taken next, by Newton's method on the statuses.

    The arguments up to `history` are those of `solve_contact`, whose solution impulse, trial and status are at the
    coefficients of `laws`, which are those at the rates `at` with the slopes `slope` = dμ/dv (k,). rate (k,), mean
    (r,): the resulting slip rates; threshold (k,): that of stick; factor: change of a mean slip rate by a velocity. A
    point that sticks only because its coefficient is above the threshold is treated as slipping. In the linearised
    problem

        P_t = −(μ + μ′ dV) P_n d,    V + dV = v̄ + factor d·(W dP)

    closed normals, sticking rows and directions as in Newton's method of the contact problem. rounded: None, or a work
    array (r, r) in single precision, with which the linearised problem of many rows is solved iteratively.
    """
    p = contact_problem(motion, laws, kernels, history, closing)
    points, count = p.area.size, impulse.size
    response, statuses = allocate_response(points, count), Statuses(
        np.zeros(points, dtype=np.bool_), np.zeros(points, dtype=np.int8), np.empty(count)
    )  # fmt: skip
    diagonal = diagonal_scaling(p)
    natural_residual(p, diagonal, trial, impulse, response)
    update_statuses(p, diagonal, 1.0, impulse, response, statuses)
    for k in range(points):
        statuses.status[k] = status[k]
    system = LinearSystem(np.zeros(count), np.empty((points, 3, 3)), np.empty((points, 3, 3)))
    linearise(p, diagonal, 1.0, impulse, response, statuses, system)
    along = np.zeros(count)
    slips = np.zeros(points, dtype=np.bool_)
    for k in range(points):
        n, end = p.first[k], p.first[k + 1]
        for i in range(n, end):
            system.residual[i] = 0.0  # of a solution
        released = status[k] == SLIP and p.friction[k] > 0.0 and impulse[n] > 0.0
        for t in range(n + 1, end):
            released = released and impulse[t] == 0.0
        if released:  # at a reversal, see `release_or_close_on_mean`
            for a in range(1, end - n):
                system.on_velocity[k, a, :] = 0.0
                system.on_impulse[k, a, :] = 0.0
                system.on_impulse[k, a, a] = 1.0
            continue
        stuck = status[k] == STICK
        if end == n + 1 or status[k] == OPEN or (stuck and p.friction[k] <= threshold[k]):
            continue
        size = 0.0
        for t in range(n + 1, end):
            size += impulse[t] ** 2 if stuck else mean[t] ** 2
        size = np.sqrt(size)
        if size == 0.0 or impulse[n] <= 0.0:
            continue
        slips[k] = True
        for t in range(n + 1, end):
            along[t] = -impulse[t] / size if stuck else mean[t] / size
        rate[k], traction = 0.0, 0.0  # along the slip and against it
        for t in range(n + 1, end):
            rate[k] += mean[t] * along[t]
            traction -= impulse[t] * along[t]
        defect = slope[k] * (rate[k] - at[k])
        if stuck:
            defect += p.friction[k] - traction / impulse[n]
        for t in range(n + 1, end):
            a = t - n
            system.residual[t] = along[t] * impulse[n] * defect
            if stuck:
                system.on_velocity[k, a, :] = 0.0
                system.on_impulse[k, a, :] = 0.0
                system.on_impulse[k, a, a] = 1.0
                system.on_impulse[k, a, 0] = p.friction[k] * along[t]
            for s in range(n + 1, end):
                system.on_velocity[k, a, s - n] += along[t] * impulse[n] * slope[k] * factor * along[s]
    increment, change = np.zeros(count), np.zeros(count)
    matrix = np.empty((count, count))
    if rounded is None:
        solved = newton_increment(p, system, increment, matrix, None, 0.0, False)
    else:
        weight = round_operator(p.delassus, rounded)
        solved = newton_increment(p, system, increment, matrix, (rounded, weight, _TOLERANCE, False), 0.0, False)
    if solved:
        multiply(p.delassus, increment, change)
    for k in range(points):
        if not slips[k]:
            at[k] = rate[k] if status[k] == SLIP else at[k]
            continue
        next_rate = plain = rate[k]
        for t in range(p.first[k] + 1, p.first[k + 1]):
            next_rate += factor * along[t] * change[t]
        if slope[k] > 0.0:
            # where μ grows as a logarithm the equation is nearly linear in ln v
            if at[k] > 0.0 and not 0.2 * at[k] < next_rate < 5.0 * at[k]:
                next_rate = at[k] * np.exp(min(max((next_rate - at[k]) / at[k], -_MAX_LOG_CHANGE), _MAX_LOG_CHANGE))
            at[k] = max(next_rate, 0.0)
        else:
            # where μ falls plain iterates converge monotonically to the next solution: Newton's must go the same way
            towards = (next_rate - at[k]) * (plain - at[k]) >= 0.0 and next_rate > 0.0
            at[k] = next_rate if towards else plain


@njit(cache=True)
def relax(attempt, before, at):
    """Shorten the changes of the slip rates `at` (k,) from those `before` where many passes have not settled them."""
    share = 1.0 if attempt < 20 else 0.5 if attempt < 60 else 0.2
    for k in range(at.size):
        at[k] = before[k] + share * (at[k] - before[k])


@njit(cache=True)
def keep_sticking(status, threshold, value, friction):
    """The next coefficients `friction` (k,): those of the laws (k,), but unchanged where a point sticks below its
    threshold."""
    for k in range(friction.size):
        if status[k] != STICK or friction[k] > threshold[k]:
            friction[k] = value[k]


@called_njit()
def evaluate_points(kernels, table, points, pressure, rate, elapsed, stuck, variables, out):
    """μ (k,) of the points into `out` after the time elapsed at the rates (k,); where `stuck` (k,), of points that
    stick; points with a constant coefficient keep that of `out`. variables (v,): work space."""
    for k in range(out.size):
        if table.kind[k] >= 0:
            increment = rate[k] * elapsed
            out[k] = kernels[table.kind[k]](
                table.coefficients[k], rate[k], pressure[k], points.slip[k] + increment, increment, elapsed, stuck[k],
                points.variables[k], variables,
            )  # fmt: skip


@njit(cache=True)
def solve_sliding(
    motion, laws, kernels, solver, history, closing, options, solution, symmetric, sliding, slip_free, start
):
    """Solve the contact problem of a step whose coefficients depend on the state; see `solve_contact` for the
    arguments and results, and `arlequin.multilevel.solvers.sliding` for the method.

    symmetric: `SymmetricFactor` of this W. sliding: kernels of the friction laws, `SlidingTable`, `SlidingPoints`,
    creep (k,): points whose friction acts on the mean slip rate; slip_free (r,): slips of the step without
    impulses, m; start (2, k): slip rates at the start and pressures of the last step. laws.friction receives the
    coefficients.
    """
    functions, table, points, creeps = sliding
    table, points = SlidingTable(*table), SlidingPoints(*points)
    per_velocity, step, factor = motion[1], motion[5], motion[7]
    first, area, friction = laws[0], laws[1], laws[4]
    impulse, trial, _, status = solution
    count = area.size
    at, pressure = start[0].copy(), start[1].copy()
    rate, mean, variables = np.zeros(count), np.zeros(impulse.size), np.empty(points.variables.shape[1])
    value, threshold, slope, shifted = friction.copy(), friction.copy(), np.zeros(count), friction.copy()
    velocity_change, no_stick, noise = np.empty(impulse.size), np.zeros(count, dtype=np.bool_), np.empty(count)
    elapsed, used, best, stalled = 0.5 * step, 0, np.inf, 0
    evaluate_points(functions, table, points, pressure, np.zeros(count), 0.0, points.stuck, variables, threshold)
    evaluate_points(functions, table, points, pressure, at, elapsed, no_stick, variables, value)
    for k in range(count):
        if table.kind[k] >= 0:
            friction[k] = threshold[k] if points.stuck[k] else value[k]
            at[k] = 0.0 if points.stuck[k] else at[k]
        if creeps[k]:
            for t in range(first[k] + 1, first[k + 1]):
                closing[0, t] = closing[2, t] = slip_free[t] / per_velocity - motion[3][t]
    for attempt in range(PASSES):
        steps, residual, singular = solver(motion, laws, kernels, history, closing, options, solution, symmetric)
        if steps < 0 or singular or not residual < np.inf:
            return steps, residual, singular
        used += steps
        multiply(motion[0], impulse, velocity_change)
        mean_rates(first, slip_free, per_velocity, step, velocity_change, mean, rate, noise)
        for k in range(count):
            pressure[k] = max(impulse[first[k]], 0.0) / (factor * area[k])
        evaluate_points(
            functions, table, points, pressure, np.maximum(rate - noise, 0.0), elapsed, no_stick, variables, value
        )
        evaluate_points(functions, table, points, pressure, rate + noise, elapsed, no_stick, variables, shifted)
        evaluate_points(functions, table, points, pressure, np.zeros(count), 0.0, points.stuck, variables, threshold)
        for k in range(count):
            threshold[k] = max(threshold[k], value[k], shifted[k])  # where it came to a stop in the step
        error = friction_error(friction, value, shifted, threshold, status)
        stalled = 0 if error < 0.5 * best else stalled + 1
        best = min(best, error)
        if error <= SETTLED or (error <= ACCEPTED and stalled >= STALLED):
            return used, residual, singular
        evaluate_points(
            functions, table, points, pressure, at * (1.0 + _RELATIVE), elapsed, no_stick, variables, shifted
        )
        evaluate_points(functions, table, points, pressure, at, elapsed, no_stick, variables, value)
        for k in range(count):
            slope[k] = (shifted[k] - value[k]) / (_RELATIVE * at[k]) if table.kind[k] >= 0 and at[k] > 0.0 else 0.0
        shifted[:] = at
        revise_rates(
            motion, laws, kernels, history, closing, impulse, trial, status, rate, mean, at, slope, threshold,
            per_velocity / step, None,
        )  # fmt: skip
        relax(attempt, shifted, at)
        evaluate_points(functions, table, points, pressure, at, elapsed, no_stick, variables, value)
        keep_sticking(status, threshold, value, friction)
    return used, max(residual, best), False


@called_njit()
def advance_points(kernels, table, points, impulse, status, first, area, rate, step, history, sliding_row):
    """The state after an accepted step, at the mean slip rates (k,), into the rows of the history (see
    `PointLaws.advance_sliding`) and into `points`. sliding_row (k,): row of a point, −1 without."""
    out = np.empty(points.variables.shape[1])
    for k in range(rate.size):
        if table.kind[k] < 0:
            continue
        pressure = max(impulse[first[k]], 0.0) / (step * area[k])
        increment = rate[k] * step if pressure > 0.0 else 0.0
        row = history[sliding_row[k]]
        kernels[table.kind[k]](
            table.coefficients[k], increment / step, pressure, points.slip[k] + increment, increment, step,
            status[k] == STICK, points.variables[k], out,
        )  # fmt: skip
        points.slip[k] += increment
        points.stuck[k] = status[k] == STICK
        row[0], row[1] = points.slip[k], pressure
        for i in range(out.size):
            points.variables[k, i] = out[i]
            row[2 + i] = out[i]
