"""Numba kernels of the overlap: candidate pairs of cells, clipping of polygons and of tetrahedra, moments."""

import numpy as np

from arlequin.models.kernel_cache import called_njit, njit


@called_njit()
def _bin_of(x, origin, inverse_step, count):
    """Index of the bin that contains x, in [0, count)."""
    return min(max(int(np.floor((x - origin) * inverse_step)), 0), count - 1)


@called_njit()
def _bin_range(low, high, origin, inverse_step, shape, out):
    """First and last bin (axis, 2) along each axis that a box overlaps."""
    for i in range(3):
        out[i, 0] = _bin_of(low[i], origin[i], inverse_step[i], shape[i])
        out[i, 1] = _bin_of(high[i], origin[i], inverse_step[i], shape[i])


@njit(cache=True)
def box_pairs(coarse_low, coarse_high, fine_low, fine_high, origin, inverse_step, shape):
    """Pairs of boxes whose interiors intersect, by bins of a regular grid: (2, p), sorted by fine box.

    `*_low`, `*_high` (box, 3): corners; the grid starts at `origin` (3,) and has `shape` (3,) bins. A pair is counted
    once: in the bin that contains the lowest corner of the intersection.
    """
    bins = shape[0] * shape[1] * shape[2]
    span = np.empty((3, 2), dtype=np.int64)
    first = np.zeros(bins + 1, dtype=np.int64)
    members = np.empty(0, dtype=np.int64)
    for counting in (True, False):
        for c in range(coarse_low.shape[0]):
            _bin_range(coarse_low[c], coarse_high[c], origin, inverse_step, shape, span)
            for i in range(span[0, 0], span[0, 1] + 1):
                for j in range(span[1, 0], span[1, 1] + 1):
                    for k in range(span[2, 0], span[2, 1] + 1):
                        b = (i * shape[1] + j) * shape[2] + k
                        if counting:
                            first[b + 1] += 1
                        else:
                            members[first[b]] = c
                            first[b] += 1
        if counting:
            for b in range(bins):
                first[b + 1] += first[b]
            members = np.empty(first[bins], dtype=np.int64)
    for b in range(bins, 0, -1):
        first[b] = first[b - 1]
    first[0] = 0

    pairs = np.empty((2, 0), dtype=np.int64)
    for counting in (True, False):
        pair_count = 0
        for f in range(fine_low.shape[0]):
            _bin_range(fine_low[f], fine_high[f], origin, inverse_step, shape, span)
            for i in range(span[0, 0], span[0, 1] + 1):
                for j in range(span[1, 0], span[1, 1] + 1):
                    for k in range(span[2, 0], span[2, 1] + 1):
                        b = (i * shape[1] + j) * shape[2] + k
                        for m in range(first[b], first[b + 1]):
                            c = members[m]
                            accepted = True
                            for a in range(3):
                                if coarse_high[c, a] <= fine_low[f, a] or coarse_low[c, a] >= fine_high[f, a]:
                                    accepted = False
                                    break
                                bin_index = i if a == 0 else (j if a == 1 else k)
                                corner = max(coarse_low[c, a], fine_low[f, a])
                                if _bin_of(corner, origin[a], inverse_step[a], shape[a]) != bin_index:
                                    accepted = False
                                    break
                            if accepted:
                                if not counting:
                                    pairs[0, pair_count] = c
                                    pairs[1, pair_count] = f
                                pair_count += 1
        if counting:
            pairs = np.empty((2, pair_count), dtype=np.int64)
    return pairs


@called_njit()
def _clip_polygon(old, n, nx, ny, offset, new):
    """Part of a polygon (n vertices in `old`) where nx x + ny y >= offset, into `new`: number of vertices."""
    count = 0
    for a in range(n):
        b = (a + 1) % n
        inside_a = nx * old[a, 0] + ny * old[a, 1] - offset
        inside_b = nx * old[b, 0] + ny * old[b, 1] - offset
        if inside_a >= 0.0 and count < new.shape[0]:
            new[count, 0] = old[a, 0]
            new[count, 1] = old[a, 1]
            count += 1
        if ((inside_a > 0.0 and inside_b < 0.0) or (inside_a < 0.0 and inside_b > 0.0)) and count < new.shape[0]:
            s = inside_a / (inside_a - inside_b)
            new[count, 0] = old[a, 0] + s * (old[b, 0] - old[a, 0])
            new[count, 1] = old[a, 1] + s * (old[b, 1] - old[a, 1])
            count += 1
    return count


@njit(cache=True)
def clip_pairs(subject, window, region, normals, offsets, round_off):
    """Intersections of pairs of convex counter-clockwise polygons and a region, by Sutherland–Hodgman clipping.

    `subject` (p, k, 2), `window` (p, l, 2): vertices; `region` (p,): row of `normals` (r, h, 2), `offsets` (r, h) of
    the half-planes n·x >= offset to clip with too, −1 for none. Pieces whose area is below `round_off` × their
    perimeter (a mean width below the round-off of the coordinates) are empty. Returns vertices (p, k + l + h, 2) and
    their number (p,), 0 where the polygons do not intersect.
    """
    pairs, sides = subject.shape[0], window.shape[1]
    max_vertices = subject.shape[1] + sides + normals.shape[1]
    pieces = np.zeros((pairs, max_vertices, 2))
    counts = np.zeros(pairs, dtype=np.int64)
    old = np.empty((max_vertices + 1, 2))
    new = np.empty((max_vertices + 1, 2))
    for p in range(pairs):
        # coordinates relative to a vertex of the pair: less cancellation in cross products
        x0, y0 = window[p, 0, 0], window[p, 0, 1]
        n = subject.shape[1]
        for a in range(n):
            old[a, 0] = subject[p, a, 0] - x0
            old[a, 1] = subject[p, a, 1] - y0
        for side in range(sides):
            ax, ay = window[p, side, 0] - x0, window[p, side, 1] - y0
            after = (side + 1) % sides
            ex, ey = window[p, after, 0] - x0 - ax, window[p, after, 1] - y0 - ay
            n = _clip_polygon(old, n, -ey, ex, ex * ay - ey * ax, new)
            old, new = new, old
            if n < 3:
                break
        if n >= 3 and region[p] >= 0:
            r = region[p]
            for h in range(normals.shape[1]):
                nx, ny = normals[r, h, 0], normals[r, h, 1]
                n = _clip_polygon(old, n, nx, ny, offsets[r, h] - nx * x0 - ny * y0, new)
                old, new = new, old
                if n < 3:
                    break
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


@called_njit()
def _six_volumes(t):
    """Six times the signed volume of a tetrahedron (4, 3)."""
    ax, ay, az = t[1, 0] - t[0, 0], t[1, 1] - t[0, 1], t[1, 2] - t[0, 2]
    bx, by, bz = t[2, 0] - t[0, 0], t[2, 1] - t[0, 1], t[2, 2] - t[0, 2]
    cx, cy, cz = t[3, 0] - t[0, 0], t[3, 1] - t[0, 1], t[3, 2] - t[0, 2]
    return ax * (by * cz - bz * cy) - ay * (bx * cz - bz * cx) + az * (bx * cy - by * cx)


@called_njit()
def _put(out, count, prism, a, b, c, d):
    """Append the tetrahedron of four rows of `prism` unless its volume is zero; returns the new count."""
    t = out[count]
    for i in range(3):
        t[0, i] = prism[a, i]
        t[1, i] = prism[b, i]
        t[2, i] = prism[c, i]
        t[3, i] = prism[d, i]
    return count + 1 if _six_volumes(t) != 0.0 else count


@called_njit()
def _clip_tetrahedra(old, n, nx, ny, nz, offset, tolerance, new, prism):
    """Parts of n tetrahedra where n·x >= offset, as tetrahedra in `new` (size 3 n); returns their number.

    A vertex within `tolerance` of the plane is treated as lying on it.
    """
    count = 0
    inside = np.empty(4, dtype=np.int64)
    outside = np.empty(4, dtype=np.int64)
    d = np.empty(4)
    for m in range(n):
        t = old[m]
        ins = outs = strictly = 0
        for a in range(4):
            d[a] = nx * t[a, 0] + ny * t[a, 1] + nz * t[a, 2] - offset
            if d[a] < -tolerance:
                outside[outs] = a
                outs += 1
            else:
                inside[ins] = a
                ins += 1
                if d[a] > tolerance:
                    strictly += 1
                else:
                    d[a] = 0.0
        if strictly == 0:
            continue
        if outs == 0:
            new[count] = t
            count += 1
            continue
        # the piece is a tetrahedron (one vertex inside) or a prism with triangles at rows 0-2 and 3-5
        row = 0
        if ins == 1:
            prism[0] = t[inside[0]]
            row = 1
        for first in range(ins):
            a = inside[first]
            if ins == 2:
                row = 3 * first
                prism[row] = t[a]
                row += 1
            elif ins == 3:
                prism[first] = t[a]
                row = 3 + first
            for last in range(outs):
                b = outside[last]
                s = d[a] / (d[a] - d[b])
                for i in range(3):
                    prism[row, i] = t[a, i] + s * (t[b, i] - t[a, i])
                row += 1
        count = _put(new, count, prism, 0, 1, 2, 3)
        if ins > 1:
            count = _put(new, count, prism, 1, 2, 3, 4)
            count = _put(new, count, prism, 2, 3, 4, 5)
    return count


@called_njit()
def _face_planes(t, planes):
    """Inward unit normals and offsets (4, 4) of the faces of a tetrahedron (4, 3)."""
    for f in range(4):
        a, b, c = t[(f + 1) % 4], t[(f + 2) % 4], t[(f + 3) % 4]
        ux, uy, uz = b[0] - a[0], b[1] - a[1], b[2] - a[2]
        vx, vy, vz = c[0] - a[0], c[1] - a[1], c[2] - a[2]
        nx, ny, nz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
        length = np.sqrt(nx * nx + ny * ny + nz * nz)
        if nx * (t[f, 0] - a[0]) + ny * (t[f, 1] - a[1]) + nz * (t[f, 2] - a[2]) < 0.0:
            length = -length
        nx, ny, nz = nx / length, ny / length, nz / length
        planes[f, 0], planes[f, 1], planes[f, 2] = nx, ny, nz
        planes[f, 3] = nx * a[0] + ny * a[1] + nz * a[2]


@njit(cache=True)
def tetrahedron_pairs(coarse, fine, pairs, region, normals, offsets, round_off):
    """Intersections of pairs of cells made of tetrahedra, with a region, as tetrahedra.

    `coarse` (c, k, 4, 3), `fine` (f, l, 4, 3): the tetrahedra of each cell; `pairs` (2, p); `region` (p,): row of
    `normals` (r, h, 3), `offsets` (r, h) of the half-spaces n·x >= offset to clip with too, −1 for none (normals of
    zero length are left out). Returns vertices (n, 4, 3) and the pair (n,) of each, sorted. Pairs whose piece is
    thinner than `round_off` are left out.
    """
    tets = np.empty((4096, 4, 3))
    owner = np.empty(4096, dtype=np.int64)
    total = 0
    old = np.empty((64, 4, 3))
    new = np.empty((64, 4, 3))
    prism = np.empty((6, 3))
    planes = np.empty((4, 4))
    window = np.empty((4, 3))
    origin = np.empty(3)
    sub = coarse.shape[1] * fine.shape[1] > 1
    for p in range(pairs.shape[1]):
        c, f, start = pairs[0, p], pairs[1, p], total
        for i in range(3):
            origin[i] = coarse[c, 0, 0, i]
        for k in range(coarse.shape[1]):
            for a in range(4):
                for i in range(3):
                    window[a, i] = coarse[c, k, a, i] - origin[i]
            _face_planes(window, planes)
            for m in range(fine.shape[1]):
                disjoint = False
                for a in range(4):
                    for i in range(3):
                        old[0, a, i] = fine[f, m, a, i] - origin[i]
                if sub:
                    for i in range(3):
                        disjoint = disjoint or old[0, :, i].max() <= window[:, i].min()
                        disjoint = disjoint or old[0, :, i].min() >= window[:, i].max()
                if disjoint:
                    continue
                n = 1
                extra = normals.shape[1] if region[p] >= 0 else 0
                for side in range(4 + extra):
                    if n == 0:
                        break
                    if side < 4:
                        nx, ny, nz, offset = planes[side, 0], planes[side, 1], planes[side, 2], planes[side, 3]
                    else:
                        r, h = region[p], side - 4
                        nx, ny, nz = normals[r, h, 0], normals[r, h, 1], normals[r, h, 2]
                        if nx == 0.0 and ny == 0.0 and nz == 0.0:
                            continue
                        offset = offsets[r, h] - nx * origin[0] - ny * origin[1] - nz * origin[2]
                    if 3 * n > new.shape[0]:
                        new = np.empty((6 * n, 4, 3))
                    n = _clip_tetrahedra(old, n, nx, ny, nz, offset, round_off, new, prism)
                    old, new = new, old
                while total + n > tets.shape[0]:
                    larger = np.empty((2 * tets.shape[0], 4, 3))
                    larger[:total] = tets[:total]
                    tets = larger
                    larger_owner = np.empty(2 * owner.shape[0], dtype=np.int64)
                    larger_owner[:total] = owner[:total]
                    owner = larger_owner
                for q in range(n):
                    for a in range(4):
                        for i in range(3):
                            tets[total, a, i] = old[q, a, i] + origin[i]
                    owner[total] = p
                    total += 1
        if total > start:
            volume = 0.0
            area = 0.0
            for q in range(start, total):
                volume += abs(_six_volumes(tets[q])) / 6.0
            x = tets[start:total]
            lx = x[:, :, 0].max() - x[:, :, 0].min()
            ly = x[:, :, 1].max() - x[:, :, 1].min()
            lz = x[:, :, 2].max() - x[:, :, 2].min()
            area = 2.0 * (lx * ly + ly * lz + lz * lx)
            if volume <= round_off * area:
                total = start
    return tets[:total].copy(), owner[:total].copy()


@njit(cache=True)
def moments(tets, first, low, high, barycentric, weights, powers):
    """Moments (g, m) of products of Legendre polynomials over groups of tetrahedra.

    `tets` (n, 4, 3), of group g those from first[g] to first[g + 1]; the polynomials are defined on the box `low`,
    `high` (g, 3) mapped to [-1, 1]³, `powers` (m, 3) their degrees; `barycentric` (q, 4), `weights` (q,) (sum 1): a
    rule on the tetrahedron.
    """
    degree = powers.max()
    out = np.zeros((first.shape[0] - 1, powers.shape[0]))
    values = np.empty((3, degree + 1))
    for g in range(first.shape[0] - 1):
        for n in range(first[g], first[g + 1]):
            volume = abs(_six_volumes(tets[n])) / 6.0
            for q in range(weights.shape[0]):
                for i in range(3):
                    x = 0.0
                    for a in range(4):
                        x += barycentric[q, a] * (tets[n, a, i] - low[g, i])
                    x = 2.0 * x / (high[g, i] - low[g, i]) - 1.0
                    values[i, 0] = 1.0
                    if degree > 0:
                        values[i, 1] = x
                    for d in range(1, degree):
                        values[i, d + 1] = ((2 * d + 1) * x * values[i, d] - d * values[i, d - 1]) / (d + 1)
                for m in range(powers.shape[0]):
                    product = values[0, powers[m, 0]] * values[1, powers[m, 1]] * values[2, powers[m, 2]]
                    out[g, m] += weights[q] * volume * product
    return out
