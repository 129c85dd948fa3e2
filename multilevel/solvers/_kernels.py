"""Numba kernels of the contact problem of a step: regular laws, friction, and Newton's method.

They are compiled into the solvers that call them (`_solve_kernels`, `_robust_kernels`): declaring their types would
compile and load each of them separately.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import boolean, float64, int64, types

from arlequin.models.kernel_cache import called_njit, njit
from arlequin.multilevel._interrupts import check_interrupts
from arlequin.multilevel.laws.signature import REGULAR_KERNEL
from arlequin.multilevel.solvers._borrow_kernels import borrow
from arlequin.multilevel.solvers._dense_kernels import LEAST_NORM_MAX, solve_dense, solve_least_norm
from arlequin.multilevel.solvers._krylov_kernels import (
    KRYLOV_MAX,
    KRYLOV_MIN,
    KRYLOV_SHARE,
    KRYLOV_VERIFIED,
    round_operator,
    solve_iteratively,
)
from arlequin.multilevel.solvers._symmetric_kernels import SYMMETRIC_FROM, symmetric_increment
from arlequin.multilevel.solvers.problem import AT_REST, FreeMotion, LawTable

OPEN, SLIP, STICK = 0, 1, 2
GAP_LEVEL, VELOCITY_LEVEL = 1, 2
NEWTON = 0  # methods, see `arlequin.multilevel.solvers.options.METHODS`
NEWTON_STEPS = 500  # before other methods are tried
PROXIMAL = 1e-3  # proximal term of large singular systems, relative to the compliance of a row
MAX_STALLED = 10  # Newton steps that do not halve the certificate
# increments by a symmetric factor are abandoned where they do not halve the certificate: below this certificate at
# once, above it after `SLOW` of them
SETTLING, SLOW = 1e-6, 3
CONVERGED = 3e-11  # certificate below which no fallback is tried: stiff laws amplify the round-off of the gaps
KRYLOV_FROM = 300  # unknowns from which increments are computed iteratively
# the number of Newton steps, of r³/3 multiplications each, is limited to some minutes
MAX_OPERATIONS, MIN_BUDGET = 3e11, 500


class ContactProblem(NamedTuple):
    """`FreeMotion` and `LawTable` of one step, scaled to impulses.

    area: area × impulse factor; compliance and tangential_compliance: over that area; shift (r,): added to the slack
    of the multipliers and to the slip rates (see `arlequin.multilevel.solvers.closing`; with a compliance, a proximal
    term).
    """

    delassus: Any
    gap_per_velocity: Any
    gap_free: Any
    rate_free: Any
    closed: Any
    first: Any
    area: Any
    level: Any
    compliance: Any
    friction: Any
    tangential_compliance: Any
    shift: Any
    kernels: Any
    rows: Any
    kind: Any
    coefficients: Any
    history: Any
    step: Any
    theta: Any


class ContactResponse(NamedTuple):
    """Response to impulses: velocity_change (r,) = W P, tractions (k, 4) as of `sum_laws`, slack and multiplier (k,) of
    the set-valued laws, slip rates (r,)."""

    velocity_change: Any
    tractions: Any
    slack: Any
    multiplier: Any
    slip: Any


class Statuses(NamedTuple):
    """active (k,): multipliers whose slack is zero; status (k,): OPEN, SLIP or STICK; direction (r,): P_t − ρ w."""

    active: Any
    status: Any
    direction: Any


class LinearSystem(NamedTuple):
    """residual (r,) of the equations and their derivatives (k, 3, 3) by the rows of W P and by P at the same point."""

    residual: Any
    on_velocity: Any
    on_impulse: Any


_VECTOR, _INDEX, _TABLE = float64[::1], int64[::1], float64[:, ::1]
# the arguments of `solve_contact` and `solve_contact_robustly`
ARGUMENTS = (
    types.Tuple((_TABLE, float64, _VECTOR, _VECTOR, boolean[::1], float64, float64, float64)),
    types.Tuple((_INDEX, _VECTOR, _INDEX, _VECTOR, _VECTOR, _VECTOR, _INDEX, _INDEX, _TABLE)),
    types.ListType(REGULAR_KERNEL),
    _TABLE,
    _TABLE,
    types.Tuple((int64, float64, float64, int64)),
    types.Tuple((_VECTOR, _TABLE, _TABLE, types.int8[::1])),
    types.Tuple((_VECTOR, _TABLE, _TABLE, boolean[::1], _TABLE)),
)
RESULT = types.Tuple((int64, float64, boolean))
SOLVER = types.FunctionType(RESULT(*ARGUMENTS))


@called_njit()
def allocate_response(points, count):
    """An empty `ContactResponse` of k points and r rows."""
    return ContactResponse(np.empty(count), np.empty((points, 4)), np.empty(points), np.empty(points), np.empty(count))


@called_njit()
def allocate_factor(count):
    """An empty `SymmetricFactor` of r rows, as a plain tuple for solvers; without memory where it would not be used."""
    size = count if SYMMETRIC_FROM <= count <= KRYLOV_FROM else 0
    return (
        np.full(size + 2, np.nan), np.empty((size, size)), np.empty((size, size)), np.zeros(size, dtype=np.bool_),
        np.empty((size, size)),
    )  # fmt: skip


@njit(cache=True)
def copy(x, out):
    """out (n,) ← x: unlike an assignment to a slice, without code for mismatching shapes and overlapping memory."""
    for i in range(out.size):
        out[i] = x[i]


@called_njit(forceinline=True)
def may_act(level, closed):
    """Whether the multiplier of a point may act."""
    return level == GAP_LEVEL or (level == VELOCITY_LEVEL and closed)


@njit(inline="always")
def normal_law(p, k, normal, velocity_change, gap, law):
    """Impulse of the regular laws of point k, multiplier and slack at a normal impulse, velocity change and gap; law
    (4,): as of `sum_laws`."""
    regular = p.area[k] * (law[0] + law[2])
    slack = gap if p.level[k] == GAP_LEVEL else p.rate_free[p.first[k]] + velocity_change
    return regular, normal - regular, slack + (p.compliance[k] * (normal - regular) + p.shift[p.first[k]])


@njit(cache=True)
def multiply(delassus, impulse, out):
    """out = W P (r,), by the rows of the symmetric W whose impulse is not zero."""
    out[:] = 0.0
    for j in range(impulse.size):
        amount, row = impulse[j], delassus[j]
        if amount != 0.0:
            for i in range(out.size):
                out[i] += amount * row[i]


@called_njit()
def diagonal_scaling(p):
    """Slack per unit of the impulse of the same row (r,), by which the natural map is scaled.

    The rows of a friction disk share one value, so that the disk remains circular.
    """
    diagonal = np.empty(p.rate_free.size)
    for k in range(p.area.size):
        n, end = p.first[k], p.first[k + 1]
        diagonal[n] = p.delassus[n, n] * (p.gap_per_velocity if p.level[k] == GAP_LEVEL else 1.0) + p.compliance[k]
        mean = 0.0
        for t in range(n + 1, end):
            mean += p.delassus[t, t] / (end - n - 1)
        for t in range(n + 1, end):
            diagonal[t] = mean + p.tangential_compliance[k]
    largest = 0.0
    for i in range(diagonal.size):
        largest = max(largest, p.delassus[i, i])
    for k in range(p.area.size):  # rows on which no impulse has an effect
        for i in range(p.first[k], p.first[k + 1]):
            if diagonal[i] <= 0.0:
                at_gap = p.level[k] == GAP_LEVEL and i == p.first[k]
                diagonal[i] = (p.gap_per_velocity if at_gap else 1.0) * largest if largest > 0.0 else 1.0
    return diagonal


@called_njit()
def natural_residual(p, diagonal, trial, impulse, response):
    """`evaluate_response` with its velocity change W P."""
    multiply(p.delassus, impulse, response.velocity_change)
    return evaluate_response(p, diagonal, trial, impulse, response)


@called_njit()
def evaluate_response(p, diagonal, trial, impulse, response):
    """Evaluate `response` at the impulses (r,) and its velocity change W P; return the certificate and the size of
    the impulses.

    The certificate is the largest residual of the natural map with the scales `diagonal`, P − project(P − slack /
    diagonal) onto multipliers ≥ 0 and disks of radius μ ⟨P_n⟩₊.
    """
    p, response = borrow(p), borrow(response)
    velocity_change = response.velocity_change
    error, scale, total = 0.0, 1e-300, 0.0
    kind = -1
    for k in range(p.area.size):
        n, end = p.first[k], p.first[k + 1]
        gap = p.gap_free[k] + p.gap_per_velocity * velocity_change[n]
        law = response.tractions[k]
        law[:] = 0.0
        for row in range(p.rows[k], p.rows[k + 1]):
            if p.kind[row] != kind:  # reading a typed list takes longer than most laws
                kind = p.kind[row]
                kernel = p.kernels[kind]
            tractions = kernel(p.coefficients[row], p.history[row], gap, p.step, p.theta, trial[row])
            for i in range(4):
                law[i] += tractions[i]
        regular, multiplier, slack = normal_law(p, k, impulse[n], velocity_change[n], gap, law)
        response.multiplier[k] = multiplier
        response.slack[k] = slack
        scaled_slack = slack / diagonal[n]
        total += scaled_slack + multiplier
        if may_act(p.level[k], p.closed[k]) and multiplier - scaled_slack > 0.0:
            error = max(error, abs(scaled_slack))
            scale = max(scale, abs(p.gap_free[k] if p.level[k] == GAP_LEVEL else p.rate_free[n]) / diagonal[n])
        else:
            error = max(error, abs(multiplier))
        scale = max(scale, abs(impulse[n]), abs(regular))

        radius = p.friction[k] * max(impulse[n], 0.0)
        size = 0.0
        slip = response.slip
        for t in range(n + 1, end):
            slip[t] = p.rate_free[t] + velocity_change[t] + p.tangential_compliance[k] * impulse[t] + p.shift[t]
            size += (impulse[t] - slip[t] / diagonal[t]) ** 2
        size = np.sqrt(size)
        for t in range(n + 1, end):
            projected = impulse[t] - slip[t] / diagonal[t]
            total += projected
            if size > radius:
                projected *= radius / size
            error = max(error, abs(impulse[t] - projected))
            scale = max(scale, abs(impulse[t]))
            if size <= radius:
                scale = max(scale, abs(p.rate_free[t]) / diagonal[t])
    if not np.isfinite(total):  # comparisons with nan are false
        return np.inf, 1.0
    return error, scale


@called_njit()
def update_statuses(p, diagonal, rho, impulse, response, statuses):
    """Statuses (k,) by the natural map with the scales diagonal/ρ, and direction = P_t − ρ w/diagonal (r,).

    The radius of the friction disk is that of the normal impulse of the map.
    """
    status, direction = statuses.status, statuses.direction
    for k in range(p.area.size):
        n, end = p.first[k], p.first[k + 1]
        law = response.tractions[k]
        tentative = response.multiplier[k] - rho * response.slack[k] / diagonal[n]
        active = may_act(p.level[k], p.closed[k]) and tentative > 0.0
        statuses.active[k] = active
        normal = p.area[k] * (law[0] + law[2]) + (tentative if active else 0.0)
        status[k] = SLIP if normal > 0.0 else OPEN
        radius = p.friction[k] * max(normal, 0.0)
        size = 0.0
        for t in range(n + 1, end):
            direction[t] = impulse[t] - rho * response.slip[t] / diagonal[t]
            size += direction[t] ** 2
        if end > n + 1 and radius > 0.0 and np.sqrt(size) <= radius:
            status[k] = STICK


@njit(cache=True)
def linearise(p, diagonal, rho, impulse, response, statuses, system):
    """Equations of the statuses, residual (r,), and their derivatives by the rows of W P and by P, into `system`.

        multiplier: slack = 0 or Λ = 0;   stick: w = 0;   slip: P_t − μ P_n y/‖y‖ = 0;   open: P_t = 0

    with y the `direction` of the statuses (stick at a row on which no impulse has an effect: P_t = 0). The derivative
    of y/‖y‖ carries the factor μ P_n/‖y‖ limited to 1, as for a large slip velocity.
    """
    residual, on_velocity, on_impulse = system.residual, system.on_velocity, system.on_impulse
    status, direction = statuses.status, statuses.direction
    on_velocity[:] = 0.0
    on_impulse[:] = 0.0
    for k in range(p.area.size):
        n, end = p.first[k], p.first[k + 1]
        law = response.tractions[k]
        slope = p.area[k] * (law[1] + law[3]) * p.gap_per_velocity
        if statuses.active[k]:
            residual[n] = response.slack[k]
            on_velocity[k, 0, 0] = (p.gap_per_velocity if p.level[k] == GAP_LEVEL else 1.0) - p.compliance[k] * slope
            on_impulse[k, 0, 0] = p.compliance[k]
        else:
            residual[n] = response.multiplier[k]
            on_velocity[k, 0, 0] = -slope
            on_impulse[k, 0, 0] = 1.0
        if end == n + 1:
            continue
        size = 0.0
        for t in range(n + 1, end):
            size += direction[t] ** 2
        size = np.sqrt(size)
        radius = p.friction[k] * impulse[n]
        for t in range(n + 1, end):
            a = t - n
            if status[k] == STICK and p.delassus[t, t] + p.tangential_compliance[k] == 0.0:
                # a constraint fixes this row: friction on it has no effect
                residual[t] = impulse[t]
                on_impulse[k, a, a] = 1.0
                continue
            if status[k] == STICK:
                residual[t] = response.slip[t]
                on_velocity[k, a, a] = 1.0
                on_impulse[k, a, a] = p.tangential_compliance[k]
                continue
            residual[t] = impulse[t]
            on_impulse[k, a, a] = 1.0
            if status[k] == OPEN or p.friction[k] == 0.0 or size == 0.0:
                continue
            along = direction[t] / size
            residual[t] -= radius * along
            on_impulse[k, a, 0] = -p.friction[k] * along
            limited = min(max(radius, 0.0) / size, 1.0)
            for s in range(n + 1, end):
                b = s - n
                if end - n > 2:
                    across = limited * ((1.0 if a == b else 0.0) - along * direction[s] / size)
                    on_velocity[k, a, b] = across * rho / diagonal[s]
                    on_impulse[k, a, b] -= across * (1.0 - rho * p.tangential_compliance[k] / diagonal[s])


@called_njit()
def newton_increment(p, system, increment, matrix, krylov, mass, least_norm):
    """Newton increment (r,) of the impulses; False where the system is singular.

    Equations of a single impulse are eliminated. The others are solved for increments scaled by √W_jj, with rows scaled
    to unit size; `mass` is added to the diagonal of those that depend on a velocity. least_norm: whether the scaled
    increments are the smallest of a singular system, with the least squares of the residuals, of up to
    `LEAST_NORM_MAX` unknowns. krylov: None, or W in single precision, its size, the tolerance of `solve_iteratively`,
    by which systems of more than `KRYLOV_FROM` unknowns are solved first, and whether these are shown to be regular, by
    a right-hand side without structure.
    """
    residual, on_velocity, on_impulse = system.residual, system.on_velocity, system.on_impulse
    count = residual.size
    unknown = np.empty(count, dtype=np.int64)
    point = np.empty(count, dtype=np.int64)
    unknowns = 0
    any_known = False
    for k in range(p.area.size):
        n, end = p.first[k], p.first[k + 1]
        for i in range(n, end):
            a = i - n
            decoupled = True
            for b in range(end - n):
                decoupled = decoupled and on_velocity[k, a, b] == 0.0 and (a == b or on_impulse[k, a, b] == 0.0)
            increment[i] = 0.0
            if decoupled:
                increment[i] = -residual[i] / on_impulse[k, a, a]
                any_known = any_known or increment[i] != 0.0
            else:
                unknown[unknowns] = i
                point[unknowns] = k
                unknowns += 1
    velocity_change = np.zeros(count)
    if any_known:
        multiply(p.delassus, increment, velocity_change)
    root = np.empty(unknowns)
    for j in range(unknowns):
        diagonal = p.delassus[unknown[j], unknown[j]]
        root[j] = 1.0 / np.sqrt(diagonal) if diagonal > 0.0 else 1.0
    rhs, unit = np.empty(unknowns), np.empty(unknowns)
    depends = np.zeros(unknowns, dtype=np.bool_)
    for row in range(unknowns):
        i, k = unknown[row], point[row]
        n, end = p.first[k], p.first[k + 1]
        a = i - n
        bound = 0.0  # of the entries of the row, as |W_ij| ≤ √W_ii √W_jj
        rhs[row] = -residual[i]
        for b in range(end - n):
            bound += (
                abs(on_velocity[k, a, b]) * np.sqrt(p.delassus[n + b, n + b]) + abs(on_impulse[k, a, b]) * root[row]
            )
            rhs[row] -= on_velocity[k, a, b] * velocity_change[n + b] + on_impulse[k, a, b] * increment[n + b]
            depends[row] = depends[row] or on_velocity[k, a, b] != 0.0
        unit[row] = 1.0 / bound if bound > 0.0 else 1.0
        rhs[row] *= unit[row]
    if krylov is not None and unknowns > KRYLOV_FROM and mass == 0.0 and not least_norm:
        rounded, size, tolerance, verified = krylov
        solution = rhs.copy()
        iterative = unknown[:unknowns], point[:unknowns], root, unit
        solved = solve_iteratively(p, system, iterative, (rounded, size, tolerance), solution)
        if solved and verified:  # a singular system has solutions for some right-hand sides only
            probe = np.empty(unknowns)
            for j in range(unknowns):
                probe[j] = np.cos(1.0 + j * j)
            solved = solve_iteratively(p, system, iterative, (rounded, size, KRYLOV_VERIFIED), probe)
        if solved:
            for j in range(unknowns):
                increment[unknown[j]] = solution[j] * root[j]
            return True
    for row in range(unknowns):
        i, k = unknown[row], point[row]
        n, end = p.first[k], p.first[k + 1]
        a = i - n
        line = matrix[row, :unknowns]
        line[:] = 0.0
        for b in range(end - n):
            factor = on_velocity[k, a, b]
            if factor == 0.0:
                continue
            factor *= unit[row]
            source = p.delassus[n + b]
            if unknowns == count:
                for j in range(line.size):
                    line[j] += factor * source[j] * root[j]
            else:
                for j in range(line.size):
                    line[j] += factor * source[unknown[j]] * root[j]
        for j in range(max(row - 2, 0), min(row + 3, unknowns)):
            if point[j] == k:
                line[j] += on_impulse[k, a, unknown[j] - n] * root[j] * unit[row]
        if depends[row]:
            line[row] += mass
    if least_norm:
        if rhs.size > LEAST_NORM_MAX or not solve_least_norm(matrix, rhs, rhs.size):
            return False
    elif not solve_dense(matrix, rhs, rhs.size):
        return False
    for j in range(unknowns):
        increment[unknown[j]] = rhs[j] * root[j]
    return True


@njit(cache=True)
def newton(p, diagonal, rho, impulse, trial, max_iterations, rounded, factor, response):
    """Semismooth Newton on all statuses at once, with the scales diagonal/ρ, from and to `impulse` (the best iterate),
    whose `response` and trial history it leaves.

    Without friction, statuses that cycle change one at a time: with a positive definite operator, changing only the
    last wrong one never cycles (least-index rule; Murty, Linear Complementarity, Linear and Nonlinear Programming,
    1988, §4.3). With friction the method stops after MAX_STALLED steps that do not halve the error. Where the system
    is singular the increment is that of least norm, with many unknowns that of a proximal term, which slows convergence
    for bodies on much lighter ones. rounded: None, or a work array in single precision for the increments of more than
    `KRYLOV_FROM` unknowns, (r, r) or empty where r is smaller. factor: `SymmetricFactor` on the same W, one without
    memory, or None; its increments, less exact where W is nearly singular, are abandoned where they do not converge.

    Returns steps, certificate, whether the last system was singular.
    """
    points, count = p.area.size, impulse.size
    increment = np.empty(count)
    active, status = np.zeros(points, dtype=np.bool_), np.zeros(points, dtype=np.int8)
    proposed = Statuses(np.zeros(points, dtype=np.bool_), status, np.empty(count))
    statuses = Statuses(active, status, proposed.direction)
    system = LinearSystem(np.empty(count), np.empty((points, 3, 3)), np.empty((points, 3, 3)))
    matrix = np.empty((count, count))
    weight = 1.0
    if rounded is not None and rounded.size > 0:
        weight = round_operator(p.delassus, rounded)
    best = np.inf
    best_impulse = impulse.copy()
    stalled, used = 0, 0
    one_by_one, singular, unverified = False, False, True
    symmetric, latest = factor is not None, True
    if factor is not None:
        symmetric = factor.lower.size > 0
    for iteration in range(max_iterations + 1):
        check_interrupts()
        used = iteration
        error, scale = natural_residual(p, diagonal, trial, impulse, response)
        error /= scale
        latest = error < best
        if latest:
            stalled = stalled + 1 if error > 0.5 * best else 0
            best = error
            copy(impulse, best_impulse)
        else:
            stalled += 1
        if best <= 3e-15 or (best <= 1e-13 and stalled >= 1) or iteration == max_iterations or not error < np.inf:
            break
        if stalled >= 4 and best <= CONVERGED:
            break
        if stalled >= MAX_STALLED and count > points:
            break
        update_statuses(p, diagonal, rho, impulse, response, proposed)
        one_by_one = one_by_one or (stalled >= 8 and count == points)
        if not one_by_one:
            copy(proposed.active, active)
        else:
            violation = 0.0
            for k in range(points):
                point_violation = abs(response.slack[k] / diagonal[k]) if active[k] else abs(response.multiplier[k])
                violation = max(violation, point_violation)
            if violation <= 1e-12 * scale:  # otherwise Newton first converges with the present statuses
                for k in range(points - 1, -1, -1):
                    if active[k] != proposed.active[k]:
                        active[k] = proposed.active[k]
                        break
        linearise(p, diagonal, rho, impulse, response, statuses, system)
        mass, solved = 0.0, False
        symmetric = symmetric and (stalled == 0 or (best > SETTLING and stalled < SLOW))
        if factor is not None and symmetric:
            symmetric = solved = symmetric_increment(p, system, increment, factor)
            singular = False
        for attempt in range(3):
            if solved:
                break
            least_norm = attempt == 1
            if rounded is None:
                solved = newton_increment(p, system, increment, matrix, None, mass, least_norm)
            else:
                verified = unverified and error <= KRYLOV_VERIFIED
                tolerance = min(max(KRYLOV_SHARE * error, KRYLOV_MIN), KRYLOV_MAX)
                krylov = rounded, weight, tolerance, verified
                solved = newton_increment(p, system, increment, matrix, krylov, mass, least_norm)
                unverified = unverified and not (solved and verified and attempt == 0)
            singular = attempt > 0
            mass = PROXIMAL if attempt == 1 else 0.0
        if not solved:
            break
        for i in range(count):
            impulse[i] += increment[i]
    if not latest:
        copy(best_impulse, impulse)
        natural_residual(p, diagonal, trial, impulse, response)
    return used, best, singular


@called_njit()
def project(p, diagonal, impulse, response, statuses):
    """Project the impulses of `response` onto the laws: inactive multipliers vanish, friction lies in its disk; whether
    any changed."""
    update_statuses(p, diagonal, 1.0, impulse, response, statuses)
    changed = False
    for k in range(p.area.size):
        n, end = p.first[k], p.first[k + 1]
        law = response.tractions[k]
        regular, before = p.area[k] * (law[0] + law[2]), impulse[n]
        if statuses.active[k]:
            impulse[n] = max(impulse[n], regular)
        elif regular == 0.0:  # otherwise a stiff law would amplify the round-off of the new gap
            impulse[n] = 0.0
        changed = changed or impulse[n] != before
        radius = p.friction[k] * impulse[n]
        size = 0.0
        for t in range(n + 1, end):
            size += impulse[t] ** 2
        size = np.sqrt(size)
        if size > radius or (statuses.status[k] == SLIP and size > 0.0):
            for t in range(n + 1, end):
                before = impulse[t]
                impulse[t] *= radius / size
                changed = changed or impulse[t] != before
    return changed


@called_njit()
def split_normal(p, impulse, response, statuses, normal):
    """The stored, dissipated and multiplier parts of the normal impulses into normal (3, k)."""
    for k in range(p.area.size):
        normal[0, k] = p.area[k] * response.tractions[k, 0]
        normal[1, k] = p.area[k] * response.tractions[k, 2]
        if not statuses.active[k]:
            normal[0, k] = impulse[p.first[k]] - normal[1, k]
        normal[2, k] = impulse[p.first[k]] - (normal[0, k] + normal[1, k])


@called_njit()
def project_and_split(p, diagonal, solution, error, response):
    """Project the impulses of a `Solution`, of this certificate and `response`, onto the laws, with their trial
    history, response, normal parts and statuses; the certificate."""
    impulse, trial, normal, status = solution
    statuses = Statuses(np.empty(p.area.size, dtype=np.bool_), status, np.empty(impulse.size))
    if project(p, diagonal, impulse, response, statuses):
        error, scale = natural_residual(p, diagonal, trial, impulse, response)
        error /= scale
    split_normal(p, impulse, response, statuses, normal)
    return error


@called_njit()
def release_or_close_on_mean(p, start, mean, friction, impulse, velocity_change):
    """Remove friction in this step where its work would be positive, P_t·(v_t⁰ + v_t¹) > 0; where the slip rate then
    leaves the range between 0 and −v_t⁰, friction is restored and closes the mean slip rate of the step.

    start, mean (r,): second and third row of `closing`; friction (k,): coefficients of the laws; velocity_change (r,) =
    W P. Returns whether any point changed: each does so twice at most. Slip rates v_t⁰ that are round-off, of points
    that stuck, are ignored.
    """
    changed, round_off = False, 0.0
    for r in range(start.size):
        round_off = max(round_off, AT_REST * (abs(p.rate_free[r]) + abs(velocity_change[r])))
    for k in range(p.area.size):
        work, size, along, before, after, differs = 0.0, 0.0, 0.0, 0.0, 0.0, False
        for t in range(p.first[k] + 1, p.first[k + 1]):
            end = p.rate_free[t] + velocity_change[t]
            work += impulse[t] * (start[t] + end)
            size += abs(impulse[t]) * (abs(start[t]) + abs(end))
            along += start[t] * end
            before += start[t] * start[t]
            after += end * end
            differs = differs or p.shift[t] != mean[t]
        if not differs or friction[k] == 0.0 or not before > round_off * round_off:
            continue
        if p.friction[k] == 0.0:  # released before
            if along > 0.0 or after > before:
                p.friction[k] = friction[k]
                for t in range(p.first[k] + 1, p.first[k + 1]):
                    p.shift[t] = mean[t]
                changed = True
        elif work > 1e-14 * size:
            p.friction[k] = 0.0
            changed = True
    return changed


@called_njit()
def onset_closing(first, level, start, closing):
    """`closing` (3, r) of points on fixed normals by the rates v₀ at the start (r,); see
    `arlequin.multilevel.solvers.closing`."""
    closing[:] = 0.0
    for r in range(start.size):
        closing[1, r] = start[r]
    for k in range(level.size):
        n = first[k]
        if level[k] == VELOCITY_LEVEL:
            closing[0, n] = max(start[n], 0.0)
        for t in range(n + 1, first[k + 1]):
            closing[2, t] = start[t]


@called_njit()
def packed(motion, laws, kernels, history, friction, shift):
    """The `ContactProblem` of a step, with these coefficients of friction (k,) and this shift (r,)."""
    m, t = FreeMotion(*motion), LawTable(*laws)
    area = m.impulse_factor * t.area
    return ContactProblem(
        m.delassus, m.gap_per_velocity, m.gap_free, m.rate_free, m.closed, t.first, area, t.level,
        t.compliance / area, friction, t.tangential_compliance / area, shift, kernels, t.rows, t.kind,
        t.coefficients, history, m.step, m.theta,
    )  # fmt: skip


@called_njit()
def contact_problem(motion, laws, kernels, history, closing):
    """The `ContactProblem` of arguments of `solve_contact`."""
    return packed(motion, laws, kernels, history, LawTable(*laws).friction.copy(), closing[0].copy())


@njit(cache=True)
def most_iterations(count, max_iterations):
    """Largest number of iterations of Newton's method on `count` rows: `max_iterations`, limited by the time."""
    return min(max_iterations, max(MIN_BUDGET, int(3.0 * MAX_OPERATIONS / float(count) ** 3)))


@called_njit()
def friction_closing_changes(p, closing, friction, impulse, velocity_change, error, singular):
    """Whether the closing of friction changes at some points of a solution, so that the problem is to be solved again;
    velocity_change (r,) = W P."""
    if impulse.size == p.area.size or singular or not error < np.inf:
        return False
    return release_or_close_on_mean(p, closing[1], closing[2], friction, impulse, velocity_change)


@njit(cache=True, nogil=True)
def solve_members(members, motion, laws, kernels, solvers, history, start, options, solution, report):
    """The contact problem of the members (s,) of an ensemble on fixed normals, one after another, by the first of the
    `solvers`.

    gap_free, rate_free and closed of `motion`, history, and the fields of `solution` have the member (n,) as first
    axis; start (n, r): rates at the start. report: iterations, certificate and singular, (n,) each.
    """
    m = FreeMotion(*motion)
    impulse, trial, normal, status = solution
    iterations, residual, singular = report
    closing, factor = np.empty((3, impulse.shape[1])), allocate_factor(impulse.shape[1])
    for i in members:
        onset_closing(laws[0], laws[2], start[i], closing)
        member_motion = (
            m.delassus, m.gap_per_velocity, m.gap_free[i], m.rate_free[i], m.closed[i], m.step, m.theta,
            m.impulse_factor,
        )  # fmt: skip
        iterations[i], residual[i], singular[i] = solvers[0](
            member_motion,
            laws,
            kernels,
            history[i],
            closing,
            options,
            (impulse[i], trial[i], normal[i], status[i]),
            factor,
        )
