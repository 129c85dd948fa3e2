"""Numba kernels of the recursions over the steps of small systems: tangents forwards, adjoints backwards."""

import numpy as np
from numba import boolean, float64, int64, types

from arlequin.models.kernel_cache import njit

_M1, _M2, _M3 = float64[::1], float64[:, ::1], float64[:, :, ::1]


@njit(cache=True)
def gathered(rows, j, table, field, column, out):
    """out (r,) += Σ_b table[j, i, b] field[rows[i, b], column]: a matrix that couples the rows of each point."""
    for i in range(rows.shape[0]):
        for b in range(3):
            at = rows[i, b]
            if at >= 0:
                out[i] += table[j, i, b] * field[at, column]


@njit(cache=True)
def scattered(rows, j, table, field, column, out):
    """The transpose: out[rows[i, b]] += table[j, i, b] field[i, column]."""
    for i in range(rows.shape[0]):
        value = field[i, column]
        if value != 0.0:
            for b in range(3):
                at = rows[i, b]
                if at >= 0:
                    out[at] += table[j, i, b] * value


@njit(cache=True)
def coupling(rows, j, by_impulse, by_y, response, matrix):
    """∂E/∂P + ∂E/∂y W of a step (r, r); rows without an equation get 1 on the diagonal."""
    count = rows.shape[0]
    matrix[:] = 0.0
    for i in range(count):
        for b in range(3):
            at = rows[i, b]
            if at < 0:
                continue
            matrix[i, at] += by_impulse[j, i, b]
            own = by_y[j, i, b]
            if own != 0.0:
                for c in range(count):
                    matrix[i, c] += own * response[at, c]


@njit(
    types.void(
        types.Tuple((_M2, _M3, _M2, _M2, _M3)), int64[:, ::1], types.UniTuple(_M3, 15), types.UniTuple(_M2, 2),
        types.UniTuple(_M3, 5), types.Tuple((_M3, _M2, _M2, _M2)), types.UniTuple(_M3, 5), boolean,
    ),
    cache=True,
)  # fmt: skip
def tangent_steps(operators, rows, tables, opening_tables, given, state, out, springs):
    """Derivatives of b steps by p parameters, of dense operators.

    operators: updates (f, f + 1) of the f fields x of the state by those before and y, see `StepCoefficients`; y by x
    (f, d, d) and by P (d, r), rows of the basis (r, d), F₁ by u₁, v₁, u₀ and v₀ (4, d, d), or (0, d, d). rows (r, 3):
    the rows of the point of each row. tables (b, r, 3): ∂E by P, y, u₀, v₀, s; ∂s₁ by the same; both by the lead; ∂w by
    P, y and v₀, of which the first row of each point counts; opening_tables (b, r): ∂E by depth and
    opening. given: y (b, d, p), E, s₁ (b, r, p) and w by the parameters alone, and F₁ (b, d, p), or (0, d, p). state:
    x (f, d, p), s (r, p), depth, opening (r, p), replaced by those at the end. out: u, v (b, d, p), P, s (b, r, p),
    depth (b, r, p) after each step. springs: whether there is s.
    """
    updates, from_state, push, basis, forces = operators
    by_p, by_y, by_u, by_v, by_s, s_p, s_y, s_u, s_v, s_s, by_l, s_l, w_p, w_y, w_v = tables
    by_depth, by_opening = opening_tables
    given_y, given_e, given_s, given_w, given_f = given
    x, s, depth, opening = state
    out_u, out_v, out_p, out_s, out_depth = out
    count, p, r = given_y.shape[0], x.shape[2], rows.shape[0]
    fields, lead = x.shape[0], x.shape[0] > 2
    scaled = fields - 1 if lead else fields  # fields whose updates are numbers
    response = np.dot(basis, push)
    matrix = np.empty((r, r))
    new = np.empty_like(x)
    for j in range(count):
        y = given_y[j].copy()
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
            right = np.zeros((r, p))
            for q in range(p):
                line[:] = 0.0
                gathered(rows, j, by_y, rows_y, q, line)
                gathered(rows, j, by_u, rows_u, q, line)
                gathered(rows, j, by_v, rows_v, q, line)
                if lead:
                    gathered(rows, j, by_l, rows_l, q, line)
                if springs:
                    gathered(rows, j, by_s, s, q, line)
                for i in range(r):
                    right[i, q] = -(
                        line[i] + given_e[j, i, q] + by_depth[j, i] * depth[i, q] + by_opening[j, i] * opening[i, q]
                    )
            coupling(rows, j, by_p, by_y, response, matrix)
            for i in range(r):  # rows of gaps, rates and impulses have units of their own
                largest = np.abs(matrix[i]).max()
                matrix[i] /= largest
                right[i] /= largest
            impulse = np.linalg.solve(matrix, right)
            y += np.dot(push, impulse)
            rows_y = np.dot(basis, y)
            for q in range(p):
                line[:] = 0.0
                gathered(rows, j, w_p, impulse, q, line)
                gathered(rows, j, w_y, rows_y, q, line)
                gathered(rows, j, w_v, rows_v, q, line)
                for i in range(r):
                    worn[i, q] = line[i] + given_w[j, i, q]
            if springs:
                fresh = np.zeros((r, p))
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
                        fresh[i, q] = line[i] + given_s[j, i, q]
                s[:] = fresh
        for f in range(scaled):
            new[f] = updates[f, fields] * y
            for g in range(scaled):
                if updates[f, g] != 0.0:
                    new[f] += updates[f, g] * x[g]
        if lead:
            new[3] = updates[3, 3] * x[3] + given_f[j]
            new[3] += np.dot(forces[0], new[0]) + np.dot(forces[1], new[1])
            new[3] += np.dot(forces[2], x[0]) + np.dot(forces[3], x[1])
        x[:] = new
        opening[:] = worn
        depth += worn
        out_u[j], out_v[j], out_p[j], out_s[j], out_depth[j] = x[0], x[1], impulse, s, depth


@njit(
    types.void(
        types.Tuple((_M2, _M3, _M2, _M2, _M3)), int64[:, ::1], types.UniTuple(_M3, 15), types.UniTuple(_M2, 2),
        types.UniTuple(_M2, 9), types.Tuple((_M2, _M1, _M1, _M1)), types.UniTuple(_M2, 5), boolean,
    ),
    cache=True,
)  # fmt: skip
def adjoint_steps(operators, rows, tables, opening_tables, sources, state, out, springs):
    """Adjoints of b steps, from the last to the first: the transpose of `tangent_steps`, whose arguments these are.

    sources: derivatives of the quantity by u, v (b, d) after each step, P, s after each step, depth after each step, u
    and v of the rows, depth and opening at the start of each step (b, r). state: adjoints of x (f, d), s, depth,
    opening (r,) after the last step, replaced by those before the first. out: adjoints of y (b, d), E, s₁ and w (b, r)
    and F₁ (b, d), or (0, d), of what parameters alone give.
    """
    updates, from_state, push, basis, forces = operators
    by_p, by_y, by_u, by_v, by_s, s_p, s_y, s_u, s_v, s_s, by_l, s_l, w_p, w_y, w_v = tables
    by_depth, by_opening = opening_tables
    source_u, source_v, source_p, source_s, source_depth, source_ru, source_rv, source_d0, source_o0 = sources
    x, s, depth, opening = state
    out_y, out_e, out_s, out_w, out_f = out
    count, r = source_u.shape[0], rows.shape[0]
    fields, lead = x.shape[0], x.shape[0] > 2
    scaled = fields - 1 if lead else fields
    response = np.dot(basis, push)
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
        before_s, before_opening = np.zeros(r), np.zeros(r)
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
            y += np.dot(rows_y, basis)
            impulse += np.dot(y, push)
            coupling(rows, j, by_p, by_y, response, matrix)
            turned = np.linalg.solve(np.ascontiguousarray(matrix.T), impulse)
            column[:, 0] = -turned
            out_e[j] = -turned
            rows_y[:] = 0.0
            scattered(rows, j, by_y, column, 0, rows_y)
            scattered(rows, j, by_u, column, 0, rows_u)
            scattered(rows, j, by_v, column, 0, rows_v)
            if lead:
                scattered(rows, j, by_l, column, 0, rows_l)
            if springs:
                scattered(rows, j, by_s, column, 0, before_s)
            depth += source_d0[j] - by_depth[j] * turned
            before_opening = source_o0[j] - by_opening[j] * turned
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
