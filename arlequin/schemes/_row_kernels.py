"""Contact on fixed normals in compiled loops: free motion of the rows in a step, and their impulses."""

from collections import namedtuple

import numpy as np

from arlequin.models.kernel_cache import called_njit, njit
from arlequin.multilevel.solvers._kernels import GAP_LEVEL, VELOCITY_LEVEL, onset_closing
from arlequin.multilevel.solvers._sliding_kernels import (
    SlidingPoints,
    SlidingTable,
    advance_points,
    solve_sliding,
)  # fmt: skip
from arlequin.schemes._system_kernels import add_product, law_table

MAX_ITERATIONS = 20000  # of a contact problem

# Gaps (k,) at u = 0, m, the largest gap of closed contact, laws, compliance (r,) of friction's springs, wear depth and
# its increment that opens the gaps in the step (2, k), m, or (2, 0) without wear.
ContactPoints = namedtuple("ContactPoints", "gap touching laws springs worn")

# Of the rows (r,): displacement, velocity at the start of a step, y and then the displacement at its end without
# impulses, Δt l₀; gaps (k,) and rates (r,) without impulses, closed points (k,), closing (3, r) (see
# `arlequin.multilevel.solvers.closing`), and rates at the start (r,), including those by wear.
RowsFree = namedtuple("RowsFree", "displacement velocity end ahead gaps rate closed closing start")


@called_njit()
def row_buffers(basis_rows, rows, points):
    """Arrays of `RowsFree`."""
    return (
        np.empty(basis_rows), np.empty(basis_rows), np.empty(basis_rows), np.zeros(basis_rows), np.empty(points),
        np.empty(rows), np.empty(points, dtype=np.bool_), np.zeros((3, rows)), np.empty(rows),
    )  # fmt: skip


@called_njit(forceinline=True)
def free_rows(coefficients, contact, traction, before, free):
    """Gaps, rates and closed points of a step without impulses, from the displacement, the velocity, y and Δt l₀ of the
    rows; returns whether any point may be active. coefficients: Δt, λ, θ; traction (r,): of friction's springs at the
    start, Pa; before (r,): velocity before the impulses, in implicit schemes that at the start."""
    step, weight, _ = coefficients
    gap, touching, laws, springs, worn = contact
    displacement, velocity, end, ahead, gaps, rate, closed, closing, start = free
    first, level, law_rows = laws.first, laws.level, laws.rows
    for r in range(start.size):
        start[r] = before[r]
    for k in range(worn.shape[1]):
        start[first[k]] += worn[1, k] / step
    onset_closing(first, level, start, closing)
    for r in range(end.size):
        if springs[r] > 0.0:
            rate[r] = (end[r] + ahead[r]) / weight - springs[r] * traction[r]
            closing[1, r] = closing[2, r] = 0.0
        else:
            rate[r] = (1.0 - 1.0 / weight) * velocity[r] + end[r] / weight
        end[r] = displacement[r] + step * (end[r] + ahead[r])
    for k in range(worn.shape[1]):
        rate[first[k]] += worn[1, k] / step
    acts = False
    for k in range(gap.size):
        i = first[k]
        mid_gap = gap[k] + displacement[i] + 0.5 * step * velocity[i]
        gaps[k] = gap[k] + end[i]
        if worn.shape[1]:
            mid_gap += worn[0, k] - 0.5 * worn[1, k]
            gaps[k] += worn[0, k]
        closed[k] = mid_gap <= touching
        acts = acts or closed[k] or level[k] == GAP_LEVEL or law_rows[k + 1] > law_rows[k]
    return acts


@called_njit()
def solve_rows(delassus, coefficients, laws, options, free, history, solution, factor, sliding, buffers):
    """Impulses of a step from an initial guess; iterations, residual, and whether the multipliers are not unique.

    delassus (r, r): μ W; options: method, ρ and the proximal term, see `ContactMethod.numbers`; history: of the laws;
    solution: impulses, trial history, parts of the normal impulses, status; factor: `SymmetricFactor` of this W, as of
    `allocate_factor`; sliding: None, or laws of friction whose
    coefficients depend on the state: kernels, table, points, points whose friction acts on the mean slip rate (k,),
    and rows of the history with their pressures (k,); buffers: their slips without impulses and with them (r,), their
    rates and pressures at the start (2, k), and mean rates (k,).
    """
    step, weight, theta = coefficients
    method, rho, proximal = options
    motion = delassus, weight * step, free.gaps, free.rate, free.closed, step, theta, step
    limits = method, rho, proximal, MAX_ITERATIONS
    if sliding is None:
        return laws.solve(motion, law_table(laws), laws.kernels, history, free.closing, limits, solution, factor)
    functions, table, points_arrays, creeps, sliding_rows = sliding
    points = SlidingPoints(*points_arrays)
    slip_free, _, at_start, _ = buffers
    first, start = laws.first, free.start
    for r in range(slip_free.size):
        slip_free[r] = free.end[r] - free.displacement[r]
    for k in range(laws.area.size):
        size_squared = 0.0
        for t in range(first[k] + 1, first[k + 1]):
            size_squared += start[t] * start[t]
        at_start[0, k] = np.sqrt(size_squared)
        at_start[1, k] = history[sliding_rows[k], 1] if sliding_rows[k] >= 0 else 0.0
        points.stuck[k] = points.stuck[k] or at_start[0, k] == 0.0
    return solve_sliding(
        motion, law_table(laws), laws.kernels, laws.solve, history, free.closing, limits, solution, factor,
        (functions, table, points_arrays, creeps), slip_free, at_start,
    )  # fmt: skip


@njit(inline="always")
def solve_single(
    delassus, gap_per_velocity, step, gaps, rate, closed, area, level, compliance, impulse, normal, status
):  # fmt: skip
    """The contact problem of one point without regular law and friction, in closed form."""
    compliance_term, normal_impulse = compliance[0] / (step * area[0]), 0.0
    if level[0] == GAP_LEVEL:
        normal_impulse = max(-gaps[0], 0.0) / (gap_per_velocity * delassus[0, 0] + compliance_term)
    elif level[0] == VELOCITY_LEVEL and closed[0]:
        normal_impulse = max(-rate, 0.0) / (delassus[0, 0] + compliance_term)
    impulse[0] = normal_impulse
    normal[:] = 0.0
    normal[2, 0] = normal_impulse
    status[0] = 1 if normal_impulse > 0.0 else 0


@called_njit()
def mean_path(basis, v, step, before, out):
    """½ Δt (B v + before) (q,), m, of velocities v (d,) at the end of a step and those of the basis' rows, `before`, at
    its start."""
    out[:] = 0.0
    add_product(basis, v, out)
    for q in range(out.size):
        out[q] = 0.5 * step * (before[q] + out[q])


@called_njit()
def wear_off(first, wear_rate, step, impulse, slip, worn):
    """Updates worn (2, k), m, wear depth and its increment that opens the gaps in the next step, after a step with
    impulses (r,), N·s, and slip (r,) of the rows, m; wear_rate (k,): worn depth per work, m/J."""
    for k in range(wear_rate.size):
        length = 0.0
        for t in range(first[k] + 1, first[k + 1]):
            length += slip[t] * slip[t]
        worn[1, k] = wear_rate[k] * (max(impulse[first[k]], 0.0) * np.sqrt(length) / step)
        worn[0, k] += worn[1, k]


@called_njit()
def advance_sliding(laws, step, sliding, buffers, impulse, status, trial):
    """Updates the state of the friction laws at the end of a step; buffers: see `solve_rows`, with mean velocities
    (r,)."""
    functions, table, points_arrays, _, sliding_rows = sliding
    _, slide, _, rates = buffers
    first = laws.first
    for k in range(rates.size):
        size_squared = 0.0
        for t in range(first[k] + 1, first[k + 1]):
            size_squared += slide[t] * slide[t]
        rates[k] = np.sqrt(size_squared)
    advance_points(
        functions, SlidingTable(*table), SlidingPoints(*points_arrays), impulse, status, first, laws.area, rates, step,
        trial, sliding_rows,
    )  # fmt: skip
