"""The recursion of adjoints over the steps of a small system, backwards."""

import numpy as np
from numba import boolean, float64, int64, types

from arlequin.models.kernel_cache import njit
from arlequin.sensitivity._row_sum_kernels import coupling, scattered

_M1, _M2, _M3 = float64[::1], float64[:, ::1], float64[:, :, ::1]


@njit(
    types.void(
        types.Tuple((_M2, _M3, _M2, _M2, _M3)), int64[:, ::1], types.UniTuple(_M3, 15), types.UniTuple(_M2, 2),
        types.UniTuple(_M2, 9), types.Tuple((_M2, _M1, _M1, _M1)), types.UniTuple(_M2, 5), boolean,
        types.Tuple((int64[::1], _M3)),
    ),
    cache=True,
)  # fmt: skip
def adjoint_steps(operators, rows, tables, opening_tables, sources, state, out, springs, memory):
    """Adjoints of b steps, from the last to the first: the transpose of `tangent_steps`, whose arguments these are
    (see `arlequin.sensitivity._tangent_kernels`).

    sources: derivatives of the quantity by u, v (b, d) after each step, P (b, r), s (b, r + m) after each step, depth
    after each step, u and v of the rows, depth and opening at the start of each step (b, r). state: adjoints of x
    (f, d), s (r + m,), depth, opening (r,) after the last step, replaced by those before the first. out: adjoints of y
    (b, d), E (b, r), s₁ (b, r + m), w (b, r) and F₁ (b, d), or (0, d), factors of the terms by parameters at fixed
    motion.
    """
    updates, from_state, y_by_impulse, basis, forces = operators
    by_p, by_y, by_u, by_v, by_s, s_p, s_y, s_u, s_v, s_s, by_l, s_l, w_p, w_y, w_v = tables
    by_depth, by_opening = opening_tables
    source_u, source_v, source_p, source_s, source_depth, source_ru, source_rv, source_d0, source_o0 = sources
    x, s, depth, opening = state
    out_y, out_e, out_s, out_w, out_f = out
    count, r = source_u.shape[0], rows.shape[0]
    fields, lead = x.shape[0], x.shape[0] > 2
    scaled = fields - 1 if lead else fields
    memory_rows, of_memory = memory
    m = memory_rows.size
    response = np.dot(basis, y_by_impulse)
    matrix = np.empty((r, r))
    column = np.zeros((r, 1))
    before = np.empty_like(x)
    for j in range(count - 1, -1, -1):
        x[0] += source_u[j]
        x[1] += source_v[j]
        s += source_s[j]
        depth += source_depth[j]
        impulse = source_p[j].copy()
        rows_u, rows_v, rows_l, rows_y = source_ru[j].copy(), source_rv[j].copy(), np.zeros(r), np.zeros(r)
        if r > 0:
            column[:, 0] = opening + depth
            out_w[j] = column[:, 0]
            scattered(rows, j, w_p, column, 0, impulse)
            scattered(rows, j, w_y, column, 0, rows_y)
            scattered(rows, j, w_v, column, 0, rows_v)
        before[:] = 0.0
        if lead:
            out_f[j] = x[3]
            x[0] += np.dot(x[3], forces[0])
            x[1] += np.dot(x[3], forces[1])
            before[0] = np.dot(x[3], forces[2])
            before[1] = np.dot(x[3], forces[3])
            before[3] = updates[3, 3] * x[3]
        y = np.zeros(x.shape[1])
        for f in range(scaled):
            y += updates[f, fields] * x[f]
            for g in range(scaled):
                if updates[f, g] != 0.0:
                    before[g] += updates[f, g] * x[f]
        before_s, before_opening = np.zeros(s.size), np.zeros(r)
        if r > 0:
            out_s[j] = s
            if springs:
                column[:, 0] = s
                scattered(rows, j, s_p, column, 0, impulse)
                scattered(rows, j, s_y, column, 0, rows_y)
                scattered(rows, j, s_u, column, 0, rows_u)
                scattered(rows, j, s_v, column, 0, rows_v)
                if lead:
                    scattered(rows, j, s_l, column, 0, rows_l)
                scattered(rows, j, s_s, column, 0, before_s)
            for i in range(m):
                at, adjoint = memory_rows[i], s[r + i]
                rows_y[at] += of_memory[j, 1, i] * adjoint
                rows_u[at] += of_memory[j, 2, i] * adjoint
                rows_l[at] += of_memory[j, 3, i] * adjoint
                before_s[r + i] += of_memory[j, 4, i] * adjoint
            y += np.dot(rows_y, basis)
            impulse += np.dot(y, y_by_impulse)
            coupling(rows, j, by_p, by_y, response, matrix)
            solution = np.linalg.solve(np.ascontiguousarray(matrix.T), impulse)
            column[:, 0] = -solution
            out_e[j] = -solution
            rows_y[:] = 0.0
            scattered(rows, j, by_y, column, 0, rows_y)
            scattered(rows, j, by_u, column, 0, rows_u)
            scattered(rows, j, by_v, column, 0, rows_v)
            if lead:
                scattered(rows, j, by_l, column, 0, rows_l)
            if springs:
                scattered(rows, j, by_s, column, 0, before_s)
            for i in range(m):
                before_s[r + i] += of_memory[j, 0, i] * column[memory_rows[i], 0]
            depth += source_d0[j] - by_depth[j] * solution
            before_opening = source_o0[j] - by_opening[j] * solution
            y += np.dot(rows_y, basis)
        out_y[j] = y
        for f in range(fields):
            before[f] += np.dot(y, from_state[f])
        if r > 0:
            before[0] += np.dot(rows_u, basis)
            before[1] += np.dot(rows_v, basis)
            if lead:
                before[2] += np.dot(rows_l, basis)
            s[:] = before_s
            opening[:] = before_opening
        x[:] = before
