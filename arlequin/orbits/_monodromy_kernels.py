"""Product of the Jacobians of the θ-steps of a period; equations in `arlequin.orbits.period_map`."""

import numpy as np

from arlequin.models.kernel_cache import njit
from arlequin.multilevel.solvers._kernels import GAP_LEVEL, OPEN, STICK

_DIFFERENCE = 1e-6  # of central differences of a law, relative to its gaps
_LEAST = 1e-10  # share of an impulse that a multiplier has beyond round-off


@njit(cache=True)
def _slopes(kernels, kind, coefficients, rows, k, start, end, step, theta, history, trial):
    """∂p/∂g₀, ∂p/∂g₁ of the mean pressure of the regular laws of point k between two gaps."""
    by_start, by_end = 0.0, 0.0
    width = _DIFFERENCE * max(abs(start), abs(end), abs(end - start), 1e-30)
    for row in range(rows[k], rows[k + 1]):
        kernel, own = kernels[kind[row]], coefficients[row]
        history[:] = 0.0
        history[0] = start
        found = kernel(own, history, end, step, theta, trial)
        by_end += found[1] + found[3]
        history[0] = start + width
        above = kernel(own, history, end, step, theta, trial)
        history[0] = start - width
        below = kernel(own, history, end, step, theta, trial)
        by_start += (above[0] + above[2] - below[0] - below[2]) / (2.0 * width)
    return by_start, by_end


@njit(cache=True, nogil=True)
def monodromy(step, theta, by_state, by_impulse, gaps_by_u, laws, kernels, gaps, rates, impulse, normal, status):
    """∂(u, v)/∂(u₀, v₀) (2n, 2n) at the end of the steps (b,).

    by_state (n, 2n): y by (u, v); by_impulse (n, r): y/θ by impulses; gaps_by_u (r, n); gaps (b + 1, k), rates
    (b + 1, r) at the instants; impulse (b, r), normal (b, 3, k), status (b, k) of the steps; laws: first, area, level,
    compliance, friction, tangential compliance, rows, kind, coefficients (`LawTable`).
    """
    first, area, level, compliance, friction, tangential, rows, kind, coefficients = laws
    size, count = by_state.shape[0], impulse.shape[1]
    found = np.eye(2 * size)
    delassus = np.dot(gaps_by_u, by_impulse)
    history, trial = np.zeros(4), np.zeros(4)
    active = np.empty(count, dtype=np.int64)
    slopes = np.zeros((area.size, 2))
    for n in range(impulse.shape[0]):
        y = np.dot(by_state, found)
        acting = 0
        for k in range(area.size):
            slopes[k, 0], slopes[k, 1] = _slopes(
                kernels, kind, coefficients, rows, k, gaps[n, k], gaps[n + 1, k], step, theta, history, trial
            )
            a = first[k]
            if impulse[n, a] == 0.0 and slopes[k, 0] == 0.0 and slopes[k, 1] == 0.0:
                continue
            active[acting] = a
            acting += 1
            if status[n, k] == OPEN or friction[k] == 0.0:
                continue
            for t in range(a + 1, first[k + 1]):
                active[acting] = t
                acting += 1
        if acting:
            system, right = np.zeros((acting, acting)), np.zeros((acting, 2 * size))
            at = np.full(count, -1)
            own = np.empty((acting, size))
            for i in range(acting):
                at[active[i]] = i
                own[i] = gaps_by_u[active[i]]
            moved = np.dot(own, np.ascontiguousarray(found[:size]))
            before = np.dot(own, np.ascontiguousarray(found[size:]))
            mean = np.dot(own, y)
            after = (1.0 - 1.0 / theta) * before + mean / theta
            for k in range(area.size):
                i, scale = at[first[k]], step * area[k]
                if i < 0:
                    continue
                on_start, on_end = scale * slopes[k, 0], scale * slopes[k, 1]
                regular = (on_start + on_end) * moved[i] + on_end * step * mean[i]
                factor = 1.0  # of the impulse beyond the regular one
                if level[k] > 0 and normal[n, 2, k] > _LEAST * abs(impulse[n, first[k]]):
                    factor = compliance[k] / scale
                    gap = level[k] == GAP_LEVEL
                    if gap:
                        right[i] = moved[i] + step * mean[i]
                    else:
                        right[i] = after[i]
                        if rates[n, first[k]] > 0.0:
                            right[i] += before[i]
                    for j in range(acting):
                        w = delassus[active[i], active[j]]
                        system[i, j] += step * theta * w if gap else w
                right[i] -= factor * regular
                system[i, i] += factor
                for j in range(acting):
                    system[i, j] -= factor * on_end * step * theta * delassus[active[i], active[j]]
                if friction[k] == 0.0 or status[n, k] == OPEN:
                    continue
                speed = 0.0
                slack = tangential[k] / scale
                for t in range(first[k] + 1, first[k + 1]):
                    speed += (rates[n + 1, t] + slack * impulse[n, t]) ** 2
                speed = np.sqrt(speed)
                radius = friction[k] * impulse[n, first[k]]
                for t in range(first[k] + 1, first[k + 1]):
                    m = at[t]
                    if status[n, k] == STICK:
                        right[m] = after[m]
                        system[m, m] += slack
                        for j in range(acting):
                            system[m, j] += delassus[t, active[j]]
                        continue
                    system[m, m] += 1.0
                    system[m, i] -= impulse[n, t] / impulse[n, first[k]]
                    if first[k + 1] - first[k] < 3 or speed == 0.0:
                        continue
                    for s in range(first[k] + 1, first[k + 1]):
                        along = impulse[n, t] * impulse[n, s] / radius**2
                        across = radius / speed * ((1.0 if s == t else 0.0) - along)
                        right[m] += across * after[at[s]]
                        system[m, at[s]] += across * slack
                        for j in range(acting):
                            system[m, j] += across * delassus[s, active[j]]
            change = np.linalg.solve(system, right)
            pushed = np.empty((size, acting))
            for i in range(acting):
                pushed[:, i] = by_impulse[:, active[i]]
            y -= theta * np.dot(pushed, change)
        for d in range(size):
            for c in range(2 * size):
                found[d, c] += step * y[d, c]
                found[size + d, c] += (y[d, c] - found[size + d, c]) / theta
    return found
