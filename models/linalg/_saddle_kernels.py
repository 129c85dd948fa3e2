"""The numeric factorisation of `arlequin.models.linalg.saddle_factor`: L by supernodes, each of one sign.

A supernode of w columns and m rows is stored as `Supernodes` says: column after column, each with all m rows, its own
first. Entries above the diagonal of its own block are not used.
"""

from typing import Any

import numpy as np
from numba import config, types

from arlequin.models.kernel_cache import called_njit, njit

FAST = {"reassoc", "contract", "nsz"}
_WIDE, _WIDER = 32, 256  # columns of a supernode per elimination block, and per update of the other columns
_TALL = 256  # rows per elimination block: they stay in the processor's cache
_SQUARE = 96  # columns per block of a product of which only a triangle is needed

_REALS = types.CPointer(types.float64)
_INT, _CHAR = types.intp, types.char
_dgemm: Any = types.ExternalFunction(
    "numba_xxgemm",
    types.intc(_CHAR, _CHAR, _CHAR, _INT, _INT, _INT, _REALS, _REALS, _INT, _REALS, _INT, _REALS, _REALS, _INT),
)
_dpotrf: Any = types.ExternalFunction("numba_xxpotrf", types.intc(_CHAR, _CHAR, _INT, _REALS, _INT))


def _product_by_blas(factor, a, b, lda, rows, columns, inner, share, out, at, ldc, signs):
    """out[at …] (rows, columns) ← share · out + signs[0] X Yᵀ; X (rows, inner) from factor[a] on, Y from factor[b] on,
    each of columns that lie lda apart."""
    x, y, z = factor[a:], factor[b:], out[at:]
    _dgemm(
        ord("d"), ord("n"), ord("t"), rows, columns, inner, signs[:1].ctypes, x.ctypes, lda, y.ctypes, lda,
        share.ctypes, z.ctypes, ldc,
    )  # fmt: skip
    return x.size + y.size + z.size + signs.size + share.size  # keeps the arrays alive until here


def _product_by_numpy(factor, a, b, lda, rows, columns, inner, share, out, at, ldc, signs):
    """`_product_by_blas` where kernels run as Python."""
    columns_of = np.arange(inner) * lda
    x, y = factor[a + np.arange(rows)[:, None] + columns_of], factor[b + np.arange(columns)[:, None] + columns_of]
    places = at + np.arange(rows)[:, None] + np.arange(columns) * ldc
    out[places] = share[0] * out[places] + signs[0] * (x @ y.T) if share[0] else signs[0] * (x @ y.T)
    return 0


def _cholesky_by_lapack(values, at, n, ld):
    """The lower triangle of n columns that lie ld apart from values[at] on ← its Cholesky factor; how many of these
    columns there are before one that is not positive, n if there is none."""
    block = values[at:]
    info = _dpotrf(ord("d"), ord("L"), n, block.ctypes, ld)
    return n if info == 0 and block.size > 0 else info - 1


def _cholesky_by_numpy(values, at, n, ld):
    """`_cholesky_by_lapack` where kernels run as Python."""
    places = at + np.arange(n)[:, None] + np.arange(n) * ld
    lower = np.tril(values[places])
    try:
        lower = np.linalg.cholesky(lower + np.tril(lower, -1).T)
    except np.linalg.LinAlgError:
        return 0
    values[places] = lower
    return n


_PYTHON = config.DISABLE_JIT  # type: ignore[attr-defined]
_product: Any = _product_by_numpy if _PYTHON else called_njit()(_product_by_blas)
_cholesky: Any = _cholesky_by_numpy if _PYTHON else called_njit()(_cholesky_by_lapack)


@called_njit(fastmath=FAST)
def _solve_below(values, at, first, last, block, ld):
    """X Lᵀ = A, in place: L the block of `block` columns from values[at] on, A its rows first … last − 1."""
    for start in range(first, last, _TALL):
        end = min(start + _TALL, last)
        for c in range(block):
            column = at + c * ld
            target = values[column + start : column + end]
            unrolled = c - c % 4
            for k in range(0, unrolled, 4):
                p = at + k * ld
                x0, x1 = values[p + start : p + end], values[p + ld + start : p + ld + end]
                x2, x3 = values[p + 2 * ld + start : p + 2 * ld + end], values[p + 3 * ld + start : p + 3 * ld + end]
                l0, l1, l2, l3 = values[p + c], values[p + ld + c], values[p + 2 * ld + c], values[p + 3 * ld + c]
                for r in range(target.size):
                    target[r] -= x0[r] * l0 + x1[r] * l1 + x2[r] * l2 + x3[r] * l3
            for k in range(unrolled, c):
                p = at + k * ld
                x0, l0 = values[p + start : p + end], values[p + c]
                for r in range(target.size):
                    target[r] -= x0[r] * l0
            inverse = 1.0 / values[column + c]
            for r in range(target.size):
                target[r] *= inverse


@called_njit()
def _eliminate(values, at, first, last, width, height, units):
    """The columns first … last − 1 of a supernode from values[at] on ← those of L, and its columns up to `width`
    updated; returns the first column whose pivot is not positive, `last` if there is none."""
    for begin in range(first, last, _WIDER):
        end = min(begin + _WIDER, last)
        for c in range(begin, end, _WIDE):
            block = min(_WIDE, end - c)
            corner = at + c * height + c
            positive = _cholesky(values, corner, block, height)
            if positive < block:
                return c + positive
            _solve_below(values, corner, block, height - c, block, height)
            _push(values, at, c, block, c + block, end, height, units)
        _push(values, at, begin, end - begin, end, width, height, units)
    return last


@called_njit()
def _push(values, at, c, block, first, last, height, units):
    """Subtracts the update by the columns c … c + block − 1 of a supernode from its columns first … last − 1."""
    plus, minus = units[:1], units[1:]
    for j in range(first, last, _SQUARE):
        place, columns, target = at + c * height + j, min(_SQUARE, last - j), at + j * height + j
        _product(values, place, place, height, height - j, columns, block, plus, values, target, height, minus)


@called_njit(fastmath=FAST)
def _extend(values, at, height, width, front, below, pushed, start, tall, places, runs):
    """Adds the update matrix of a supernode, the lower triangle of (tall, tall) by columns in `pushed` from `start` on,
    to its parent, in whose rows `places` it stands: to its columns up to `width` and its front (below, below).

    runs: work array for the starts of runs of consecutive `places`.
    """
    count = 0
    for i in range(tall):
        if i == 0 or places[i] != places[i - 1] + 1:
            runs[count] = i
            count += 1
    runs[count] = tall
    run = 0
    for j in range(tall):
        if runs[run + 1] == j:
            run += 1
        column = places[j]
        if column < width:
            target, skipped = values[at + column * height : at + (column + 1) * height], 0
        else:
            target, skipped = front[(column - width) * below : (column - width + 1) * below], width
        source = pushed[start : start + tall - j]
        for r in range(run, count):
            first, last = max(runs[r], j), runs[r + 1]
            segment, add = target[places[first] - skipped :], source[first - j : last - j]
            for i in range(add.size):
                segment[i] += add[i]
        start += tall - j


@njit(cache=True, nogil=True)
def factorise(
    order, dofs, children, number, first, row_start, value_start, rows, pointer, indices, data, values, stack, front,
    compliance,
):  # fmt: skip
    """P K Pᵀ = L D Lᵀ on the supernodes `order`, in postorder, into values, and W into its lower triangle.

    dofs, children (s,): numbers of a supernode's columns that are dofs, and of its children; number (n,): of the rows
    of B, −1 elsewhere; pointer, indices, data: the lower triangle of P K Pᵀ by columns; stack, front: work arrays for
    update matrices and a front. Returns the first column whose pivot has the wrong sign, −1 if there is none.

    Each supernode assembles the update matrices of its children, eliminates its columns, and updates the rows below.

    Source: Duff & Reid, ACM Transactions on Mathematical Software 9 (1983) 302–325 (multifrontal method).
    """
    size = first[-1]
    place, places, runs = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size + 1, np.int64)
    pending, depth, top = np.empty(first.size, np.int64), 0, 0
    units = np.array([1.0, -1.0])
    plus, minus = units[:1], units[1:]
    for s in order:
        begin, rows_begin = first[s], row_start[s]
        width, height, at = first[s + 1] - begin, row_start[s + 1] - rows_begin, value_start[s]
        below = height - width
        values[at : at + width * height] = 0.0
        for j in range(below):
            front[j * below + j : (j + 1) * below] = 0.0
        for i in range(height):
            place[rows[rows_begin + i]] = i
        for c in range(width):
            for p in range(pointer[begin + c], pointer[begin + c + 1]):
                values[at + c * height + place[indices[p]]] = data[p]
        for _ in range(children[s]):
            depth -= 1
            child = pending[depth]
            pushes = row_start[child] + first[child + 1] - first[child]
            tall = row_start[child + 1] - pushes
            top -= tall * (tall + 1) // 2
            for i in range(tall):
                places[i] = place[rows[pushes + i]]
            _extend(values, at, height, width, front, below, stack, top, tall, places, runs)
        n = dofs[s]
        eliminated = _eliminate(values, at, 0, n, width, height, units)
        if eliminated == n:
            for c in range(n, width):
                values[at + c * height : at + (c + 1) * height] *= -1.0
            eliminated = _eliminate(values, at, n, width, width, height, units)
        if eliminated < width:
            return begin + eliminated
        panel = min(max(_SQUARE, below // 8), 4 * _SQUARE)
        for j in range(0, below, panel):
            columns, remaining, target = min(panel, below - j), below - j, j * below + j
            if n > 0:
                a = at + width + j
                _product(values, a, a, height, remaining, columns, n, plus, front, target, below, minus)
            if n < width:
                a = at + n * height + width + j
                _product(values, a, a, height, remaining, columns, width - n, plus, front, target, below, plus)
        if below == 0:
            continue
        if number[rows[rows_begin + width]] < 0:
            for j in range(below):
                source = front[j * below + j : (j + 1) * below]
                target = stack[top : top + below - j]
                for i in range(target.size):
                    target[i] = source[i]
                top += below - j
            pending[depth] = s
            depth += 1
            continue
        for j in range(below):
            column = number[rows[rows_begin + width + j]]
            for i in range(j, below):
                compliance[number[rows[rows_begin + width + i]], column] -= front[j * below + i]
    return -1
