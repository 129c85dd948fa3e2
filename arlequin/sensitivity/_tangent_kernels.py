"""The recursion of tangents over the steps of a small system, forwards."""

import numpy as np
from numba import boolean, float64, int64, types

from arlequin.models.kernel_cache import njit
from arlequin.sensitivity._row_sum_kernels import coupling, gathered

_M2, _M3 = float64[:, ::1], float64[:, :, ::1]
_MEMORY = types.Tuple((int64[::1], _M3))


@njit(
    types.void(
        types.Tuple((_M2, _M3, _M2, _M2, _M3)), int64[:, ::1], types.UniTuple(_M3, 15), types.UniTuple(_M2, 2),
        types.UniTuple(_M3, 5), types.Tuple((_M3, _M2, _M2, _M2)), types.UniTuple(_M3, 5), boolean, _MEMORY,
    ),
    cache=True,
)  # fmt: skip
def tangent_steps(operators, rows, tables, opening_tables, parameter_terms, state, out, springs, memory):
    """Derivatives of b steps by p parameters, of dense operators.

    operators: updates (f, f + 1) of the f fields x of the state by those before and y, see `StepCoefficients`; y by x
    (f, d, d) and by P (d, r), rows of the basis (r, d), F₁ by u₁, v₁, u₀ and v₀ (4, d, d), or (0, d, d). rows (r, 3):
    the rows of the point of each row. tables (b, r, 3): ∂E by P, y, u₀, v₀, s; ∂s₁ by the same; both by the lead; ∂w by
    P, y and v₀, of which the first row of each point counts; opening_tables (b, r): ∂E by depth and opening.
    parameter_terms: y (b, d, p), E (b, r, p), s₁ (b, r + m, p), w (b, r, p) and F₁ (b, d, p), or (0, d, p), by the
    parameters at fixed motion. state: x (f, d, p), s (r + m, p), depth, opening (r, p), replaced by those at the end.
    s: spring tractions of friction, then internal variables of springs. out: u, v (b, d, p), P (b, r, p), s (b, r + m,
    p), depth (b, r, p) after each step. springs: whether there are tractions; memory: rows (m,) and table (b, 5, m) of
    the internal variables, see `RowTables`.
    """
    updates, from_state, y_by_impulse, basis, forces = operators
    by_p, by_y, by_u, by_v, by_s, s_p, s_y, s_u, s_v, s_s, by_l, s_l, w_p, w_y, w_v = tables
    by_depth, by_opening = opening_tables
    term_y, term_e, term_s, term_w, term_f = parameter_terms
    x, s, depth, opening = state
    out_u, out_v, out_p, out_s, out_depth = out
    count, p, r = term_y.shape[0], x.shape[2], rows.shape[0]
    fields, lead = x.shape[0], x.shape[0] > 2
    scaled = fields - 1 if lead else fields  # fields whose updates are numbers
    memory_rows, of_memory = memory
    m = memory_rows.size
    response = np.dot(basis, y_by_impulse)
    matrix = np.empty((r, r))
    new = np.empty_like(x)
    for j in range(count):
        y = term_y[j].copy()
        for f in range(fields):
            y += np.dot(from_state[f], x[f])
        impulse = np.zeros((r, p))
        rows_u, rows_v, rows_l = np.dot(basis, x[0]), np.dot(basis, x[1]), np.zeros((r, p))
        if lead:
            rows_l = np.dot(basis, x[2])
        worn = np.zeros((r, p))
        line = np.empty(r)
        if r > 0:
            rows_y = np.dot(basis, y)
            rhs = np.zeros((r, p))
            for q in range(p):
                line[:] = 0.0
                gathered(rows, j, by_y, rows_y, q, line)
                gathered(rows, j, by_u, rows_u, q, line)
                gathered(rows, j, by_v, rows_v, q, line)
                if lead:
                    gathered(rows, j, by_l, rows_l, q, line)
                if springs:
                    gathered(rows, j, by_s, s, q, line)
                for i in range(m):
                    line[memory_rows[i]] += of_memory[j, 0, i] * s[r + i, q]
                for i in range(r):
                    rhs[i, q] = -(
                        line[i] + term_e[j, i, q] + by_depth[j, i] * depth[i, q] + by_opening[j, i] * opening[i, q]
                    )
            coupling(rows, j, by_p, by_y, response, matrix)
            for i in range(r):  # rows of gaps, rates and impulses have units of their own
                largest = np.abs(matrix[i]).max()
                matrix[i] /= largest
                rhs[i] /= largest
            impulse = np.linalg.solve(matrix, rhs)
            y += np.dot(y_by_impulse, impulse)
            rows_y = np.dot(basis, y)
            for q in range(p):
                line[:] = 0.0
                gathered(rows, j, w_p, impulse, q, line)
                gathered(rows, j, w_y, rows_y, q, line)
                gathered(rows, j, w_v, rows_v, q, line)
                for i in range(r):
                    worn[i, q] = line[i] + term_w[j, i, q]
            for i in range(m):
                at = memory_rows[i]
                for q in range(p):
                    s[r + i, q] = (
                        of_memory[j, 1, i] * rows_y[at, q] + of_memory[j, 2, i] * rows_u[at, q]
                        + of_memory[j, 3, i] * rows_l[at, q] + of_memory[j, 4, i] * s[r + i, q] + term_s[j, r + i, q]
                    )  # fmt: skip
            if springs:
                new_springs = np.zeros((r, p))
                for q in range(p):
                    line[:] = 0.0
                    gathered(rows, j, s_p, impulse, q, line)
                    gathered(rows, j, s_y, rows_y, q, line)
                    gathered(rows, j, s_u, rows_u, q, line)
                    gathered(rows, j, s_v, rows_v, q, line)
                    if lead:
                        gathered(rows, j, s_l, rows_l, q, line)
                    gathered(rows, j, s_s, s, q, line)
                    for i in range(r):
                        new_springs[i, q] = line[i] + term_s[j, i, q]
                s[:r] = new_springs
        for f in range(scaled):
            new[f] = updates[f, fields] * y
            for g in range(scaled):
                if updates[f, g] != 0.0:
                    new[f] += updates[f, g] * x[g]
        if lead:
            new[3] = updates[3, 3] * x[3] + term_f[j]
            new[3] += np.dot(forces[0], new[0]) + np.dot(forces[1], new[1])
            new[3] += np.dot(forces[2], x[0]) + np.dot(forces[3], x[1])
        x[:] = new
        opening[:] = worn
        depth += worn
        out_u[j], out_v[j], out_p[j], out_s[j], out_depth[j] = x[0], x[1], impulse, s, depth
