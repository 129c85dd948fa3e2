"""Numba kernels of the contact problem of many points, called by `arlequin.multilevel.solvers.large_contact`.

Their matrices W are symmetric (r, r). The compiled loops of small systems do not contain these kernels.
"""

import numpy as np
from numba import boolean, float32, float64, int64, types, void

from arlequin.models.kernel_cache import called_njit, njit
from arlequin.multilevel.laws.signature import REGULAR_KERNEL
from arlequin.multilevel.solvers._kernels import (
    OPEN,
    SLIP,
    STICK,
    ContactResponse,
    LinearSystem,
    Statuses,
    diagonal_scaling,
    evaluate_response,
    linearise,
    may_act,
    packed,
    project,
    release_or_close_on_mean,
    split_normal,
    update_statuses,
)
from arlequin.multilevel.solvers.problem import ON_BORDER, LawTable

_VECTOR, _INDEX, _TABLE, _BLOCKS = float64[::1], int64[::1], float64[:, ::1], float64[:, :, ::1]
_ROUNDED, _ROUNDED_VECTOR = float32[:, ::1], float32[::1]
_FLAGS, _STATUS = boolean[::1], types.int8[::1]
# `FreeMotion`, `LawTable`, history (l, h) at the start of the step, shift (r,); the kernels of the regular laws stand
# beside them, as numba takes 0.1 ms to find the type of a tuple with a list
_PROBLEM = types.Tuple(
    (
        types.Tuple((_TABLE, float64, _VECTOR, _VECTOR, _FLAGS, float64, float64, float64)),
        types.Tuple((_INDEX, _VECTOR, _INDEX, _VECTOR, _VECTOR, _VECTOR, _INDEX, _INDEX, _TABLE)),
        _TABLE,
        _VECTOR,
    )
)
_KERNELS = types.ListType(REGULAR_KERNEL)
_RESPONSE = types.Tuple((_VECTOR, _TABLE, _VECTOR, _VECTOR, _VECTOR))
_STATUSES = types.Tuple((_FLAGS, _STATUS, _VECTOR))
_SYSTEM = types.Tuple((_VECTOR, _BLOCKS, _BLOCKS))


@called_njit()
def _contact_problem(problem, kernels):
    """The `ContactProblem` of the arguments `_PROBLEM`."""
    motion, laws, history, shift = problem
    return packed(motion, laws, kernels, history, LawTable(*laws).friction, shift)


@njit(_VECTOR(_PROBLEM, _KERNELS), cache=True)
def scales(problem, kernels):
    """Scales (r,) of the natural map."""
    return diagonal_scaling(_contact_problem(problem, kernels))


@njit(
    types.UniTuple(float64, 2)(
        _PROBLEM, _KERNELS, _VECTOR, float64, _VECTOR, _TABLE, _RESPONSE, _STATUSES, _SYSTEM, boolean
    ),
    cache=True,
)
def linearised(problem, kernels, diagonal, rho, impulse, trial, response, statuses, system, by_impulses):
    """Statuses and linear system at the impulses (r,), whose W P is in the response; the certificate and the size of
    the impulses are returned.

    by_impulses: whether multipliers and friction keep the statuses of the step whose impulses these are: active where
    positive, friction slips on the border of its disk and sticks within it.
    """
    p = _contact_problem(problem, kernels)
    r, s, linear = ContactResponse(*response), Statuses(*statuses), LinearSystem(*system)
    error, scale = evaluate_response(p, diagonal, trial, impulse, r)
    update_statuses(p, diagonal, rho, impulse, r, s)
    if by_impulses:
        for k in range(p.area.size):
            n, end = p.first[k], p.first[k + 1]
            s.active[k] = may_act(p.level[k], p.closed[k]) and r.multiplier[k] > 0.0
            s.status[k] = SLIP if impulse[n] > 0.0 else OPEN
            size = 0.0
            for t in range(n + 1, end):
                size += impulse[t] ** 2
            if end > n + 1 and np.sqrt(size) < p.friction[k] * impulse[n] * (1.0 - ON_BORDER):
                s.status[k] = STICK
    linearise(p, diagonal, rho, impulse, r, s, linear)
    return error, scale


@njit(void(_PROBLEM, _KERNELS, _VECTOR, _VECTOR, _RESPONSE, _STATUSES), cache=True)
def projected(problem, kernels, diagonal, impulse, response, statuses):
    """Project the impulses of the response onto the laws, in place; their statuses with ρ = 1."""
    project(_contact_problem(problem, kernels), diagonal, impulse, ContactResponse(*response), Statuses(*statuses))


@njit(float64(_PROBLEM, _KERNELS, _VECTOR, _VECTOR, _TABLE, _RESPONSE, _STATUSES, _TABLE), cache=True)
def completed(problem, kernels, diagonal, impulse, trial, response, statuses, normal):
    """The certificate of projected impulses, whose W P is in the response; their normal parts into normal (3, k)."""
    p, r = _contact_problem(problem, kernels), ContactResponse(*response)
    error, scale = evaluate_response(p, diagonal, trial, impulse, r)
    split_normal(p, impulse, r, Statuses(*statuses), normal)
    return error / scale


@njit(boolean(_PROBLEM, _KERNELS, _TABLE, _VECTOR, _VECTOR, _VECTOR), cache=True)
def update_friction_closing(problem, kernels, closing, friction, impulse, velocity_change):
    """See `arlequin.multilevel.solvers._kernels.release_or_close_on_mean`; the shift and the coefficients of friction
    of the problem change in place."""
    p = _contact_problem(problem, kernels)
    return release_or_close_on_mean(p, closing[1], closing[2], friction, impulse, velocity_change)


@njit(void(_TABLE, float64, _ROUNDED), cache=True)
def round_matrix(matrix, size, rounded):
    """rounded (r, r) = W/size in single precision."""
    factor = 1.0 / size
    for i in range(matrix.shape[0]):
        source, row = matrix[i], rounded[i]
        for j in range(row.size):
            row[j] = source[j] * factor


@njit(
    [void(_TABLE, _VECTOR, _VECTOR), void(_ROUNDED, _ROUNDED_VECTOR, _ROUNDED_VECTOR)],
    cache=True,
    fastmath={"contract", "reassoc"},
)
def multiply_symmetric(matrix, x, out):
    """out (r,) = W x by the lower triangle of W: half the memory is read. Four rows at a time, so that out is read and
    written once for the four."""
    n = x.size
    out[:] = 0.0
    zero = x[0] - x[0]
    blocked = n - n % 4
    for i in range(0, blocked, 4):
        a, b, c, d = matrix[i, :i], matrix[i + 1, :i], matrix[i + 2, :i], matrix[i + 3, :i]
        xa, xb, xc, xd = x[i], x[i + 1], x[i + 2], x[i + 3]
        sum_a, sum_b, sum_c, sum_d = zero, zero, zero, zero
        before, above = x[:i], out[:i]
        for j in range(i):
            amount = before[j]
            sum_a += a[j] * amount
            sum_b += b[j] * amount
            sum_c += c[j] * amount
            sum_d += d[j] * amount
            above[j] += a[j] * xa + b[j] * xb + c[j] * xc + d[j] * xd
        out[i] += sum_a
        out[i + 1] += sum_b
        out[i + 2] += sum_c
        out[i + 3] += sum_d
        for r in range(i, i + 4):
            out[r] += matrix[r, r] * x[r]
            for j in range(i, r):
                out[r] += matrix[r, j] * x[j]
                out[j] += matrix[r, j] * x[r]
    for r in range(blocked, n):
        total = zero
        for j in range(r):
            total += matrix[r, j] * x[j]
            out[j] += matrix[r, j] * x[r]
        out[r] += total + matrix[r, r] * x[r]


@njit(void(_ROUNDED, _INDEX, _INDEX, _ROUNDED_VECTOR, _ROUNDED), cache=True)
def sum_rows(matrix, rows, column, weight, out):
    """out (q, r): weighted sums of the rows (s,) of W by their column (s,) in 0 … q − 1."""
    out[:] = 0.0
    for i in range(rows.size):
        source, row, factor = matrix[rows[i]], out[column[i]], weight[i]
        for j in range(row.size):
            row[j] += factor * source[j]


@njit(void(_ROUNDED, _INDEX, _INDEX, _VECTOR, _TABLE), cache=True)
def sum_columns(sums, rows, column, weight, out):
    """Add to out (q, q), transposed, the weighted sums of the entries `rows` (s,) of each row of sums (q, r)."""
    for c in range(sums.shape[0]):
        source = sums[c]
        for i in range(rows.size):
            out[column[i], c] += weight[i] * source[rows[i]]
