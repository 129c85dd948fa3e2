"""Numba kernels of the overlap: candidate pairs of cells and clipping of convex polygons."""

import numba
import numpy as np


@numba.njit(cache=True)
def box_pairs(coarse_low, coarse_high, fine_low, fine_high, first, last):
    """Pairs of cells whose bounding boxes overlap.

    `*_low`, `*_high` (cell, axis): corners of the boxes, the coarse ones sorted by `coarse_low[:, 0]`;
    `first`, `last` (fine cell): range of sorted coarse cells that can meet it along axis 0. Returns (2, p).
    """
    axes = fine_low.shape[1]
    pairs = np.empty((2, 0), dtype=np.int64)
    for counting in (True, False):
        found = 0
        for f in range(fine_low.shape[0]):
            for c in range(first[f], last[f]):
                meets = True
                for i in range(axes):
                    if coarse_high[c, i] <= fine_low[f, i] or coarse_low[c, i] >= fine_high[f, i]:
                        meets = False
                        break
                if meets:
                    if not counting:
                        pairs[0, found] = c
                        pairs[1, found] = f
                    found += 1
        if counting:
            pairs = np.empty((2, found), dtype=np.int64)
    return pairs


@numba.njit(cache=True)
def clip_pairs(subject, window, round_off):
    """Intersections of pairs of convex counter-clockwise polygons, by Sutherland–Hodgman clipping.

    `subject` (p, k, 2), `window` (p, l, 2): vertices; pieces whose area is below `round_off` × their
    perimeter (a mean width below the round-off of the coordinates) are empty. Returns vertices (p, k + l, 2)
    and their number (p,), 0 where the polygons do not meet.
    """
    pairs, sides = subject.shape[0], window.shape[1]
    most = subject.shape[1] + sides
    pieces = np.zeros((pairs, most, 2))
    counts = np.zeros(pairs, dtype=np.int64)
    old = np.empty((most + 1, 2))
    new = np.empty((most + 1, 2))
    for p in range(pairs):
        # coordinates from a vertex of the pair: cross products of small numbers lose nothing
        x0, y0 = window[p, 0, 0], window[p, 0, 1]
        n = subject.shape[1]
        for a in range(n):
            old[a, 0] = subject[p, a, 0] - x0
            old[a, 1] = subject[p, a, 1] - y0
        for side in range(sides):
            ax, ay = window[p, side, 0] - x0, window[p, side, 1] - y0
            after = (side + 1) % sides
            ex, ey = window[p, after, 0] - x0 - ax, window[p, after, 1] - y0 - ay
            kept = 0
            for a in range(n):
                b = (a + 1) % n
                inside_a = ex * (old[a, 1] - ay) - ey * (old[a, 0] - ax)
                inside_b = ex * (old[b, 1] - ay) - ey * (old[b, 0] - ax)
                if inside_a >= 0.0 and kept < most:
                    new[kept, 0] = old[a, 0]
                    new[kept, 1] = old[a, 1]
                    kept += 1
                if (inside_a > 0.0 and inside_b < 0.0) or (inside_a < 0.0 and inside_b > 0.0):
                    s = inside_a / (inside_a - inside_b)
                    if kept < most:
                        new[kept, 0] = old[a, 0] + s * (old[b, 0] - old[a, 0])
                        new[kept, 1] = old[a, 1] + s * (old[b, 1] - old[a, 1])
                        kept += 1
            n = kept
            if n < 3:
                break
            for a in range(n):
                old[a, 0] = new[a, 0]
                old[a, 1] = new[a, 1]
        if n < 3:
            continue
        area = 0.0
        perimeter = 0.0
        for a in range(n):
            b = (a + 1) % n
            area += 0.5 * (old[a, 0] * old[b, 1] - old[a, 1] * old[b, 0])
            perimeter += np.hypot(old[b, 0] - old[a, 0], old[b, 1] - old[a, 1])
        if area <= round_off * perimeter:
            continue
        counts[p] = n
        for a in range(n):
            pieces[p, a, 0] = old[a, 0] + x0
            pieces[p, a, 1] = old[a, 1] + y0
    return pieces, counts
