"""Numba kernels of the contact problem of a step where Newton's method alone does not solve it, and of other methods.

`solve_contact_robustly` is `arlequin.multilevel.solvers._solve_kernels.solve_contact` with GMRES for the increments of
some hundred rows and with other methods where Newton's fails. It takes minutes to compile, and is compiled when it is
first needed.
"""

import numpy as np

from arlequin.models.kernel_cache import called_njit, njit
from arlequin.multilevel._interrupts import check_interrupts
from arlequin.multilevel.laws._sum_kernels import sum_laws
from arlequin.multilevel.solvers._borrow_kernels import borrow
from arlequin.multilevel.solvers._kernels import (
    ARGUMENTS,
    CONVERGED,
    GAP_LEVEL,
    KRYLOV_FROM,
    NEWTON_STEPS,
    RESULT,
    ContactProblem,
    allocate_response,
    contact_problem,
    diagonal_scaling,
    friction_closing_changes,
    may_act,
    most_iterations,
    multiply,
    natural_residual,
    newton,
    normal_law,
    project_and_split,
)
from arlequin.multilevel.solvers.problem import LawTable

GAUSS_SEIDEL, PROJECTED_GRADIENT = 2, 3
MIN_PROXIMAL_TERM = 1e-9  # the smaller, the fewer iterations where multipliers are not unique


@called_njit()
def _minimise_on_disk(block, linear, size, radius, out):
    """Minimum of ½ x·A x + b·x on ‖x‖ ≤ radius, A = block[1:size, 1:size], b = linear[1:size] into out[1:size]."""
    if size == 2:
        x = -linear[1] / block[1, 1] if block[1, 1] > 0.0 else -np.sign(linear[1]) * radius
        out[1] = min(max(x, -radius), radius)
        return
    a, b, c = block[1, 1], block[1, 2], block[2, 2]
    # eigenvectors (cos, sin), (−sin, cos)
    half, mean = np.hypot(0.5 * (a - c), b), 0.5 * (a + c)
    angle = 0.5 * np.arctan2(2.0 * b, a - c)
    cosine, sine = np.cos(angle), np.sin(angle)
    large, small = mean + half, max(mean - half, 0.0)
    first, second = cosine * linear[1] + sine * linear[2], cosine * linear[2] - sine * linear[1]
    force = np.hypot(first, second)
    if force == 0.0 or radius == 0.0:
        out[1] = out[2] = 0.0
        return
    shift = 0.0
    if small == 0.0 or np.hypot(first / large, second / small) > radius:
        # ‖(A + shift)⁻¹ b‖ = radius: Newton on 1/radius − 1/‖x‖, concave, from its lower bound
        shift = max(force / radius - large, 1e-16 * large)
        for _ in range(60):
            x, y = first / (large + shift), second / (small + shift)
            square = x * x + y * y
            slope = x * x / (large + shift) + y * y / (small + shift)
            change = (np.sqrt(square) / radius - 1.0) * square / slope
            shift += change
            if abs(change) <= 1e-16 * (shift + large):
                break
    x, y = first / (large + shift), second / (small + shift)
    if shift > 0.0:  # on the circle, to the last digit
        length = radius / np.hypot(x, y)
        x, y = x * length, y * length
    out[1], out[2] = sine * y - cosine * x, -sine * x - cosine * y


@called_njit()
def _normal_residual(p, k, block, velocity_change, normal, radius, out, trial, law, linear):
    """Residual of the normal law of one point at a normal impulse, its friction solved for; `out` (3,): the impulses.

    radius < 0: friction disk of that normal impulse, otherwise of the given radius.
    """
    p, law = borrow(p), borrow(law)
    size = p.first[k + 1] - p.first[k]
    n = p.first[k]
    out[0] = normal
    change = velocity_change[0] + block[0, 0] * normal
    if size > 1:
        for a in range(1, size):
            linear[a] = p.rate_free[n + a] + p.shift[n + a] + velocity_change[a] + block[a, 0] * normal
        _minimise_on_disk(block, linear, size, p.friction[k] * normal if radius < 0.0 else radius, out)
        for a in range(1, size):
            change += block[0, a] * out[a]
    gap = p.gap_free[k] + p.gap_per_velocity * change
    law[:] = 0.0
    if p.rows[k] < p.rows[k + 1]:
        law[0], law[1], law[2], law[3] = sum_laws(
            p.rows[k], p.rows[k + 1], p.kernels, p.kind, p.coefficients, p.history, gap, p.step, p.theta, trial
        )
    _, multiplier, slack = normal_law(p, k, normal, change, gap, law)
    if not may_act(p.level[k], p.closed[k]):
        return multiplier
    compliance = max(block[0, 0] * (p.gap_per_velocity if p.level[k] == GAP_LEVEL else 1.0) + p.compliance[k], 1e-300)
    return multiplier - max(multiplier - slack / compliance, 0.0)


@called_njit()
def _solve_point(p, k, block, velocity_change, radius, impulse, trial):
    """Exact solution at one point whose rows have the velocity change `velocity_change` + block P.

    `impulse` (3,) holds the guess and receives the solution; radius as in `_normal_residual`. The residual is ≤ 0 at
    P_n = 0 and positive for large P_n, as the block's Schur complement is: bracketed false position with halved
    weights (Illinois method).
    """
    law, linear = np.empty(4), np.empty(3)
    start = impulse[0]
    below = _normal_residual(p, k, block, velocity_change, 0.0, radius, impulse, trial, law, linear)
    if below >= 0.0:
        return
    low, high = 0.0, max(start, -below)
    above = _normal_residual(p, k, block, velocity_change, high, radius, impulse, trial, law, linear)
    for _ in range(200):
        if above >= 0.0 or not high < 1e300:  # it stays negative where impulses have no effect
            break
        low, below = high, above
        high *= 4.0
        above = _normal_residual(p, k, block, velocity_change, high, radius, impulse, trial, law, linear)
    side = 0
    for i in range(200):
        if not above > 0.0 or high - low <= 2e-16 * high:
            break
        middle = high - above * (high - low) / (above - below)
        if i % 8 == 7 or not (low < middle < high):
            middle = 0.5 * (low + high)
            if middle in (low, high):
                break
        value = _normal_residual(p, k, block, velocity_change, middle, radius, impulse, trial, law, linear)
        if value >= 0.0:
            high, above = middle, value
            if side == 1:
                below *= 0.5
            side = 1
        else:
            low, below = middle, value
            if side == -1:
                above *= 0.5
            side = -1
    _normal_residual(p, k, block, velocity_change, high, radius, impulse, trial, law, linear)


@called_njit()
def _gauss_seidel(p, diagonal, impulse, trial, max_iterations):
    """Nonlinear Gauss–Seidel: exact solution point by point, in sweeps. Returns sweeps and certificate.

    Source: Jean, Comput. Methods Appl. Mech. Eng. 177 (1999) 235–257.
    """
    points, count = p.area.size, impulse.size
    response = allocate_response(points, count)
    velocity_change = response.velocity_change
    block, free_velocity, local = np.zeros((3, 3)), np.empty(3), np.empty(3)
    best = np.inf
    best_impulse = impulse.copy()
    used = 0
    for sweep in range(max_iterations + 1):
        check_interrupts()
        used = sweep
        error, scale = natural_residual(p, diagonal, trial, impulse, response)
        error /= scale
        if error < best:
            best = error
            best_impulse[:] = impulse
        if best <= 1e-13 or sweep == max_iterations or not error < np.inf:
            break
        for k in range(points):
            n, end = p.first[k], p.first[k + 1]
            for a in range(end - n):
                local[a] = impulse[n + a]
                free_velocity[a] = velocity_change[n + a]
                for b in range(end - n):
                    block[a, b] = p.delassus[n + a, n + b]
                    free_velocity[a] -= block[a, b] * impulse[n + b]
            _solve_point(p, k, block, free_velocity, -1.0, local, trial)
            for a in range(end - n):
                change = local[a] - impulse[n + a]
                if change != 0.0:
                    impulse[n + a] = local[a]
                    for i in range(count):
                        velocity_change[i] += change * p.delassus[n + a, i]
    impulse[:] = best_impulse
    return used, best


@called_njit()
def _projected_gradient(p, diagonal, impulse, trial, max_iterations):
    """Fixed point on the friction threshold; each problem with a given one by accelerated projected gradient.

    With given thresholds the problem is convex. The metric is L W_kk, L the largest row sum of |W_ij|/√(W_ii W_jj);
    the momentum restarts where it points uphill. Returns gradient steps and certificate.

    Source: Nesterov, Soviet Math. Doklady 27 (1983) 372–376; O'Donoghue & Candès, Found. Comput. Math. 15 (2015)
    715–732.
    """
    points, count = p.area.size, impulse.size
    response = allocate_response(points, count)
    velocity_change = response.velocity_change
    following = np.empty(count)
    local, free_velocity = np.empty(3), np.empty(3)
    metric = np.empty(count)
    for k in range(points):
        n, end = p.first[k], p.first[k + 1]
        metric[n] = max(p.delassus[n, n], 1e-300)
        for t in range(n + 1, end):
            metric[t] = max(diagonal[t] - p.tangential_compliance[k], 1e-300)
    largest = 1.0
    for i in range(count):
        total = 0.0
        for j in range(count):
            total += abs(p.delassus[i, j]) / np.sqrt(metric[i] * metric[j])
        largest = max(largest, total)
    metric *= largest
    best, best_impulse = np.inf, impulse.copy()
    radius = np.zeros(points)
    used = 0
    while True:
        error, scale = natural_residual(p, diagonal, trial, impulse, response)
        error /= scale
        if error < best:
            best = error
            best_impulse[:] = impulse
        if best <= 1e-13 or used >= max_iterations or not error < np.inf:
            break
        for k in range(points):
            radius[k] = p.friction[k] * max(impulse[p.first[k]], 0.0)
        extrapolated = impulse.copy()
        weight = 1.0
        for _ in range(1000):
            check_interrupts()
            used += 1
            multiply(p.delassus, extrapolated, velocity_change)
            uphill, change, size = 0.0, 0.0, 1e-300
            for k in range(points):
                n, end = p.first[k], p.first[k + 1]
                block = np.zeros((3, 3))
                for a in range(end - n):
                    block[a, a] = metric[n + a]
                    free_velocity[a] = velocity_change[n + a] - metric[n + a] * extrapolated[n + a]
                    local[a] = extrapolated[n + a]
                _solve_point(p, k, block, free_velocity, radius[k], local, trial)
                for a in range(end - n):
                    i = n + a
                    uphill += metric[i] * (extrapolated[i] - local[a]) * (local[a] - impulse[i])
                    change = max(change, abs(local[a] - extrapolated[i]))
                    size = max(size, abs(local[a]))
                    following[i] = local[a]
            next_weight = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * weight * weight))
            momentum = (weight - 1.0) / next_weight
            weight = next_weight
            if uphill > 0.0:
                momentum, weight = 0.0, 1.0
            for i in range(count):
                extrapolated[i] = following[i] + momentum * (following[i] - impulse[i])
                impulse[i] = following[i]
            if change * largest <= max(0.02 * best, 1e-15) * size or used >= max_iterations:
                break
    impulse[:] = best_impulse
    return used, best


@called_njit()
def _newton(p, diagonal, rho, impulse, trial, max_iterations, rounded):
    """`newton` by systems of all unknowns."""
    response = allocate_response(p.area.size, impulse.size)
    return newton(p, diagonal, rho, impulse, trial, max_iterations, rounded, None, response)


@called_njit()
def _newton_from_gauss_seidel(p, diagonal, rho, impulse, trial, max_iterations, rounded):
    """Newton; with friction, where it does not converge, again from the result of 20 and 100 Gauss–Seidel sweeps.

    Returns steps, certificate, singular.
    """
    used, best, singular = _newton(p, diagonal, rho, impulse, trial, max_iterations, rounded)
    if impulse.size == p.area.size or best <= CONVERGED or not best < np.inf:
        return used, best, singular
    start = impulse.copy()
    for sweeps in (20, 100):
        if best <= CONVERGED or used >= max_iterations:
            break
        steps, _ = _gauss_seidel(p, diagonal, start, trial, min(max_iterations - used, sweeps))
        candidate = start.copy()
        newton_steps, error, degenerate = _newton(p, diagonal, rho, candidate, trial, max_iterations, rounded)
        used += steps + newton_steps
        if error < best:
            best, singular = error, degenerate
            impulse[:] = candidate
    return used, best, singular


@called_njit()
def _proximal_point(p, diagonal, rho, impulse, trial, max_iterations, mass, rounded):
    """Proximal point algorithm (method of multipliers): slack + ε W_kk (Λ − Λ_last) = 0, friction likewise, until
    Λ converges; ε ≤ `mass`, reduced where the certificate falls by less than a factor of ten in an iteration.

    The problems of the iteration are regular where W is singular. Source: Rockafellar, Math. Oper. Res. 1 (1976)
    97–116.
    """
    points, count = p.area.size, impulse.size
    response = allocate_response(points, count)
    compliance, tangential_compliance, shift = np.empty(points), np.empty(points), np.empty(count)
    best, best_impulse, last = np.inf, impulse.copy(), np.inf
    used, stalled = 0, 0
    singular = False
    while True:
        error, scale = natural_residual(p, diagonal, trial, impulse, response)
        error /= scale
        stalled = 0 if error < 0.5 * best else stalled + 1
        if error < best:
            best = error
            best_impulse[:] = impulse
        converged = best <= 1e-13 or (stalled >= 4 and mass <= MIN_PROXIMAL_TERM) or stalled >= 20
        if converged or used >= max_iterations or not error < np.inf:
            break
        if error > 0.1 * last:
            mass = max(0.1 * mass, MIN_PROXIMAL_TERM)
        last = error
        for k in range(points):
            n, end = p.first[k], p.first[k + 1]
            base = diagonal[n] - p.compliance[k]
            compliance[k] = p.compliance[k] + mass * base
            shift[n] = p.shift[n] - mass * base * max(response.multiplier[k], 0.0)
            tangential_compliance[k] = p.tangential_compliance[k]
            if end > n + 1:
                base = diagonal[n + 1] - p.tangential_compliance[k]
                tangential_compliance[k] += mass * base
            for t in range(n + 1, end):
                shift[t] = p.shift[t] - mass * base * impulse[t]
        regularised = ContactProblem(
            p.delassus, p.gap_per_velocity, p.gap_free, p.rate_free, p.closed, p.first, p.area, p.level, compliance,
            p.friction, tangential_compliance, shift, p.kernels, p.rows, p.kind, p.coefficients, p.history, p.step,
            p.theta,
        )  # fmt: skip
        steps, _, singular = _newton_from_gauss_seidel(
            regularised, diagonal_scaling(regularised), rho, impulse, trial, max_iterations - used, rounded
        )
        used += max(steps, 1)
    impulse[:] = best_impulse
    return used, best, singular


@called_njit()
def _newton_with_fallbacks(p, diagonal, rho, impulse, trial, max_iterations, rounded):
    """Newton with Gauss–Seidel starts; where it fails, fallbacks in turn with growing budgets until one converges.

    The fallbacks: proximal point algorithm, Gauss–Seidel, projected gradient, and Newton from another start. For large
    coefficients of friction no method is known that always converges (a solution exists but need not be unique); the
    fallbacks cycle on different problems.
    """
    newton_limit = min(max_iterations, NEWTON_STEPS)
    used, best, singular = _newton_from_gauss_seidel(p, diagonal, rho, impulse, trial, newton_limit, rounded)
    if best <= CONVERGED or impulse.size == p.area.size or not best < np.inf:
        return used, best, singular
    swept, projected, random_start = impulse.copy(), impulse.copy(), impulse.copy()
    budget = 100
    attempt = 0
    while best > CONVERGED and used < max_iterations:
        remaining = max_iterations - used
        if attempt % 4 == 0:
            start = random_start.copy()
            steps, error, degenerate = _proximal_point(
                p, diagonal, rho, start, trial, min(remaining, budget), 1.0, rounded
            )
        elif attempt % 4 == 1:
            steps, _ = _gauss_seidel(p, diagonal, swept, trial, min(remaining, 3 * budget))
            start = swept.copy()
        elif attempt % 4 == 2:
            steps, _ = _projected_gradient(p, diagonal, projected, trial, min(remaining, 3 * budget))
            start = projected.copy()
        else:
            size = np.abs(impulse).max()
            for i in range(random_start.size):
                random_start[i] = size * np.cos(1.0 + i * i + 0.7 * attempt)
            start = random_start.copy()
            steps = 0
            budget *= 2
        if attempt % 4 != 0:
            newton_steps, error, degenerate = _newton(p, diagonal, rho, start, trial, min(remaining, 50), rounded)
            steps += newton_steps
        used += max(steps, 1)
        if error < best:
            best, singular = error, degenerate
            impulse[:] = start
        attempt += 1
    return used, best, singular


@njit(RESULT(*ARGUMENTS), cache=True)
def solve_contact_robustly(motion, laws, kernels, history, closing, options, solution, factor):
    """Solve the contact problem of a step as `solve_contact`, by the requested method, and by others where it fails."""
    motion, laws, solution = borrow(motion), borrow(laws), borrow(solution)
    history, closing = borrow(history), borrow(closing)
    p = contact_problem(motion, laws, kernels, history, closing)
    method, rho, mass, max_iterations = options
    impulse, trial, used, singular = solution[0], solution[1], 0, False
    max_iterations = most_iterations(impulse.size, max_iterations)
    size = impulse.size if impulse.size > KRYLOV_FROM else 0
    rounded = np.empty((size, size), dtype=np.float32)
    response = allocate_response(p.area.size, impulse.size)
    while True:
        diagonal = diagonal_scaling(p)
        if method == GAUSS_SEIDEL:
            steps, _ = _gauss_seidel(p, diagonal, impulse, trial, max_iterations)
        elif method == PROJECTED_GRADIENT:
            steps, _ = _projected_gradient(p, diagonal, impulse, trial, max_iterations)
        elif mass > 0.0:
            steps, _, singular = _proximal_point(p, diagonal, rho, impulse, trial, max_iterations, mass, rounded)
        else:
            steps, _, singular = _newton_with_fallbacks(p, diagonal, rho, impulse, trial, max_iterations, rounded)
        used += steps
        error, scale = natural_residual(p, diagonal, trial, impulse, response)
        error = project_and_split(p, diagonal, solution, error / scale, response)
        friction = LawTable(*laws).friction
        if not friction_closing_changes(p, closing, friction, impulse, response.velocity_change, error, singular):
            return used, error, singular
