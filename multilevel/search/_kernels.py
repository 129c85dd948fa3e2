"""Numba kernels of contact search: shape functions of facets, a box tree, projections, and the rows of the kinematics.

All vectors have three components; plane problems are in z = 0, where a facet is a curve with the body on its left.
Reference facets: s in [0, 1]; the triangle s, t ≥ 0, s + t ≤ 1; the square [0, 1]². Nodes: corners, mid-edges, centre
(as `arlequin.models.part.Surface`). A *feature* of a facet is 0 its inside, 1 … E its edges, E + 1 … its corners (E = 0
on curves).
"""

import numpy as np

from arlequin.models.kernel_cache import called_njit, njit

LINE2, LINE3, TRI3, TRI6, QUAD4, QUAD9 = 0, 1, 2, 3, 4, 5
ON_EDGE = 1e-9  # in s and t: nearer to an edge than this counts as inside (matching meshes, round-off)
COINCIDENT = 1e-8  # in facet sizes: distance to an edge or corner below which the direction to it is round-off
BESIDE = 0.1  # in s and t: distance of the foot on the plane of the corners from the facet beyond which p is beside it
GRAZING = 0.05  # smallest cosine between a line and the normal of a facet that it intersects
ACROSS = 0.42  # sine of the largest angle between a normal at an edge and the plane across it, 25°
LEAF = 4  # facets in a leaf of the tree


@njit(cache=True)
def node_count(kind):
    """Nodes of a facet."""
    if kind == LINE2:
        return 2
    if kind in (LINE3, TRI3):
        return 3
    if kind == TRI6:
        return 6
    return 4 if kind == QUAD4 else 9


@called_njit()
def corner_count(kind):
    """Corners of a facet; a face has as many edges."""
    if kind <= LINE3:
        return 2
    return 3 if kind <= TRI6 else 4


@called_njit()
def corner(kind, c):
    """Reference coordinates of corner c."""
    if kind <= LINE3:
        return float(c), 0.0
    if kind <= TRI6:
        return (1.0 if c == 1 else 0.0), (1.0 if c == 2 else 0.0)
    return (1.0 if c == 1 or c == 2 else 0.0), (1.0 if c >= 2 else 0.0)


@njit(cache=True)
def quadratic(s):
    """Values, first and second derivatives of the quadratic functions of [0, 1]: ends 0 and 1, then the middle."""
    return (
        ((1.0 - s) * (1.0 - 2.0 * s), s * (2.0 * s - 1.0), 4.0 * s * (1.0 - s)),
        (4.0 * s - 3.0, 4.0 * s - 1.0, 4.0 - 8.0 * s),
        (4.0, 4.0, -8.0),
    )


@njit(cache=True)
def shape(kind, s, t, value, first, second):
    """Shape functions (m,), their derivatives (2, m) by s, t and second ones (3, m) by ss, st, tt."""
    first[:] = 0.0
    second[:] = 0.0
    if kind == LINE2:
        value[0], value[1] = 1.0 - s, s
        first[0, 0], first[0, 1] = -1.0, 1.0
    elif kind == LINE3:
        f, d, h = quadratic(s)
        for a in range(3):
            value[a], first[0, a], second[0, a] = f[a], d[a], h[a]
    elif kind == TRI3:
        value[0], value[1], value[2] = 1.0 - s - t, s, t
        first[0, 0], first[0, 1] = -1.0, 1.0
        first[1, 0], first[1, 2] = -1.0, 1.0
    elif kind == TRI6:
        u = 1.0 - s - t
        value[0], value[1], value[2] = u * (2.0 * u - 1.0), s * (2.0 * s - 1.0), t * (2.0 * t - 1.0)
        value[3], value[4], value[5] = 4.0 * u * s, 4.0 * s * t, 4.0 * t * u
        first[0, 0], first[0, 1] = 1.0 - 4.0 * u, 4.0 * s - 1.0
        first[0, 3], first[0, 4], first[0, 5] = 4.0 * (u - s), 4.0 * t, -4.0 * t
        first[1, 0], first[1, 2] = 1.0 - 4.0 * u, 4.0 * t - 1.0
        first[1, 3], first[1, 4], first[1, 5] = -4.0 * s, 4.0 * s, 4.0 * (u - t)
        second[0, 0], second[0, 1], second[0, 3] = 4.0, 4.0, -8.0
        second[1, 0], second[1, 3], second[1, 4], second[1, 5] = 4.0, -4.0, 4.0, -4.0
        second[2, 0], second[2, 2], second[2, 5] = 4.0, 4.0, -8.0
    elif kind == QUAD4:
        value[0], value[1], value[2], value[3] = (1.0 - s) * (1.0 - t), s * (1.0 - t), s * t, (1.0 - s) * t
        first[0, 0], first[0, 1], first[0, 2], first[0, 3] = t - 1.0, 1.0 - t, t, -t
        first[1, 0], first[1, 1], first[1, 2], first[1, 3] = s - 1.0, -s, s, 1.0 - s
        second[1, 0], second[1, 1], second[1, 2], second[1, 3] = 1.0, -1.0, 1.0, -1.0
    else:
        f, d, h = quadratic(s)
        g, e, k = quadratic(t)
        along = (0, 1, 1, 0, 2, 1, 2, 0, 2)
        across = (0, 0, 1, 1, 0, 2, 1, 2, 2)
        for a in range(9):
            i, j = along[a], across[a]
            value[a] = f[i] * g[j]
            first[0, a], first[1, a] = d[i] * g[j], f[i] * e[j]
            second[0, a], second[1, a], second[2, a] = h[i] * g[j], d[i] * e[j], f[i] * k[j]


@njit(cache=True)
def geometry(kind, x, s, t, value, first, second, out):
    """Point and derivatives of a facet of nodes x (m, 3): out (6, 3) = x, x_s, x_t, x_ss, x_st, x_tt."""
    shape(kind, s, t, value, first, second)
    out[:] = 0.0
    for a in range(node_count(kind)):
        for i in range(3):
            out[0, i] += value[a] * x[a, i]
            out[1, i] += first[0, a] * x[a, i]
            out[2, i] += first[1, a] * x[a, i]
            out[3, i] += second[0, a] * x[a, i]
            out[4, i] += second[1, a] * x[a, i]
            out[5, i] += second[2, a] * x[a, i]


@called_njit()
def dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@njit(cache=True)
def outward(kind, g):
    """Unit outward normal from the tangents in g; in the plane t × e_z (the body on the left)."""
    if kind <= LINE3:
        n = (g[1, 1], -g[1, 0], 0.0)
    else:
        n = (
            g[1, 1] * g[2, 2] - g[1, 2] * g[2, 1],
            g[1, 2] * g[2, 0] - g[1, 0] * g[2, 2],
            g[1, 0] * g[2, 1] - g[1, 1] * g[2, 0],
        )
    length = max(np.sqrt(dot(n, n)), 1e-300)
    return n[0] / length, n[1] / length, n[2] / length


@njit(cache=True)
def gather(facets, positions, f, x):
    """Copies the node positions of facet f into x."""
    for a in range(facets.shape[1]):
        for i in range(3):
            x[a, i] = positions[facets[f, a], i]


@called_njit()
def distance2_on_curve(b, q, r0, s):
    """|r0 − s b − s² q|²."""
    total = 0.0
    for i in range(3):
        r = r0[i] - s * (b[i] + s * q[i])
        total += r * r
    return total


@called_njit()
def nearest_on_curve(x, i, j, k, p):
    """Closest point s in [0, 1] and squared distance, on the curve of nodes i, j (ends) and k (middle, −1: straight).

    x(s) = x_i + b s + q s²; Newton on d/ds ½|p − x|², from the best of five samples and never uphill.
    """
    if k < 0:
        b = (x[j, 0] - x[i, 0], x[j, 1] - x[i, 1], x[j, 2] - x[i, 2])
        q = (0.0, 0.0, 0.0)
    else:
        b = (
            4.0 * x[k, 0] - 3.0 * x[i, 0] - x[j, 0],
            4.0 * x[k, 1] - 3.0 * x[i, 1] - x[j, 1],
            4.0 * x[k, 2] - 3.0 * x[i, 2] - x[j, 2],
        )
        q = (
            2.0 * (x[i, 0] + x[j, 0] - 2.0 * x[k, 0]),
            2.0 * (x[i, 1] + x[j, 1] - 2.0 * x[k, 1]),
            2.0 * (x[i, 2] + x[j, 2] - 2.0 * x[k, 2]),
        )
    r0 = (p[0] - x[i, 0], p[1] - x[i, 1], p[2] - x[i, 2])
    if k < 0:
        s = min(max(dot(r0, b) / max(dot(b, b), 1e-300), 0.0), 1.0)
        return s, distance2_on_curve(b, q, r0, s)
    s, best = 0.0, distance2_on_curve(b, q, r0, 0.0)
    for sample in range(1, 5):
        d = distance2_on_curve(b, q, r0, 0.25 * sample)
        if d < best:
            s, best = 0.25 * sample, d
    for _ in range(30):
        slope, curvature, tangent = 0.0, 0.0, 0.0
        for c in range(3):
            r = r0[c] - s * (b[c] + s * q[c])
            v = b[c] + 2.0 * s * q[c]
            slope -= r * v
            tangent += v * v
            curvature += v * v - 2.0 * r * q[c]
        step = -slope / (curvature if curvature > 0.0 else max(tangent, 1e-300))
        trial = min(max(s + step, 0.0), 1.0)
        d = distance2_on_curve(b, q, r0, trial)
        while d > best * (1.0 + 1e-14) and abs(trial - s) > 1e-14:
            trial = 0.5 * (s + trial)
            d = distance2_on_curve(b, q, r0, trial)
        change = abs(trial - s)
        s, best = trial, d
        if change < 1e-14:
            break
    return s, best


@njit(cache=True)
def inside(kind, s, t, slack):
    """Whether (s, t) lies in the reference facet (t = 0 on curves), or no more than `slack` of it past the edges."""
    if kind in (TRI3, TRI6):
        return s >= -slack and t >= -slack and s + t <= 1.0 + slack
    return s >= -slack and t >= -slack and s <= 1.0 + slack and t <= 1.0 + slack


@called_njit()
def start_on_face(kind, x, p):
    """Foot of p on the plane through corners 0, 1 and the last one, as (s, t)."""
    last = 2 if kind <= TRI6 else 3
    u = (x[1, 0] - x[0, 0], x[1, 1] - x[0, 1], x[1, 2] - x[0, 2])
    v = (x[last, 0] - x[0, 0], x[last, 1] - x[0, 1], x[last, 2] - x[0, 2])
    r = (p[0] - x[0, 0], p[1] - x[0, 1], p[2] - x[0, 2])
    uu, uv, vv, ru, rv = dot(u, u), dot(u, v), dot(v, v), dot(r, u), dot(r, v)
    det = uu * vv - uv * uv
    if det <= 0.0:
        return 0.25, 0.25
    return (vv * ru - uv * rv) / det, (uu * rv - uv * ru) / det


@called_njit()
def clamped(kind, s, t):
    """(s, t) projected into the reference face."""
    s, t = min(max(s, 0.0), 1.0), min(max(t, 0.0), 1.0)
    if kind <= TRI6 and s + t > 1.0:
        s, t = s / (s + t), t / (s + t)
    return s, t


@called_njit()
def newton_step(g, p, full):
    """Step of the minimisation of ½|p − x(s, t)|², its downhill slope, and whether the Hessian used is the full one."""
    r = (p[0] - g[0, 0], p[1] - g[0, 1], p[2] - g[0, 2])
    a, b = dot(r, g[1]), dot(r, g[2])
    ss, st, tt = dot(g[1], g[1]), dot(g[1], g[2]), dot(g[2], g[2])
    hss, hst, htt = ss - dot(r, g[3]), st - dot(r, g[4]), tt - dot(r, g[5])
    det = hss * htt - hst * hst
    exact = full and hss > 0.0 and det > 1e-8 * ss * tt
    if not exact:
        hss, hst, htt = ss, st, tt
        det = max(hss * htt - hst * hst, 1e-300)
    ds, dt = (htt * a - hst * b) / det, (hss * b - hst * a) / det
    return ds, dt, a * ds + b * dt, exact, dot(r, r)


@called_njit()
def descend(kind, x, p, s, t, value, first, second, g):
    """Newton inside the face from an edge's best point: never uphill, never past an edge. Returns (s, t, done)."""
    geometry(kind, x, s, t, value, first, second, g)
    for _ in range(60):
        ds, dt, slope, _, now = newton_step(g, p, True)
        share = 1.0
        while share > 1e-4 and not inside(kind, s + share * ds, t + share * dt, 0.0):
            share *= 0.5
        while share > 1e-4:
            geometry(kind, x, s + share * ds, t + share * dt, value, first, second, g)
            r = (p[0] - g[0, 0], p[1] - g[0, 1], p[2] - g[0, 2])
            if dot(r, r) <= now - 1e-4 * share * slope:
                break
            share *= 0.5
        if abs(ds) + abs(dt) < 1e-10:
            return s + ds, t + dt, True
        if share <= 1e-4:  # stopped at another edge
            return s, t, False
        s, t = s + share * ds, t + share * dt
    return s, t, False


@called_njit()
def distance2_to_edge_box(x, i, j, k, p):
    """Squared distance to the box of the edge's Bézier points, a lower bound of that to the edge."""
    total = 0.0
    for c in range(3):
        low, high = min(x[i, c], x[j, c]), max(x[i, c], x[j, c])
        if k >= 0:
            bezier = 2.0 * x[k, c] - 0.5 * (x[i, c] + x[j, c])
            low, high = min(low, bezier), max(high, bezier)
        d = max(low - p[c], p[c] - high)
        if d > 0.0:
            total += d * d
    return total


@called_njit()
def nearest_on_facet(kind, x, p, s, t, beside, bound, value, first, second, g):
    """Closest point of one facet: squared distance, s, t, feature; anything ≥ `bound` where it is farther than that.

    (s, t) is the foot of p on the plane of the corners. Newton from there; if it leaves the facet, the best of the
    edges, and Newton inwards from its point where a curved facet approaches p. Where the foot lies outside (`beside`),
    edges out of bound are skipped.
    """
    if kind <= LINE3:
        s, d = nearest_on_curve(x, 0, 1, 2 if kind == LINE3 else -1, p)
        if s > 0.0 and s < 1.0:
            return d, s, 0.0, 0
        geometry(kind, x, s, 0.0, value, first, second, g)
        past = 0.0
        for i in range(3):
            past += (p[i] - g[0, i]) * g[1, i]
        end = 1 if s > 0.5 else 0
        if abs(past) <= ON_EDGE * dot(g[1], g[1]):
            return d, s, 0.0, 0
        return d, s, 0.0, 1 + end

    if kind == TRI3:
        if inside(kind, s, t, ON_EDGE):
            d = 0.0
            for i in range(3):
                r = p[i] - ((1.0 - s - t) * x[0, i] + s * x[1, i] + t * x[2, i])
                d += r * r
            return d, s, t, 0
        beside = True
    else:
        s, t = clamped(kind, s, t)
        for _ in range(15):
            geometry(kind, x, s, t, value, first, second, g)
            ds, dt, _, exact, _ = newton_step(g, p, True)
            longest = max(abs(ds), abs(dt))
            if longest > 0.5:
                ds, dt = 0.5 * ds / longest, 0.5 * dt / longest
            s, t = s + ds, t + dt
            if not inside(kind, s, t, 0.4):
                break
            if longest < 1e-8:  # the error after this step is of the order of its square
                if exact and inside(kind, s, t, ON_EDGE):
                    geometry(kind, x, s, t, value, first, second, g)
                    r = (p[0] - g[0, 0], p[1] - g[0, 1], p[2] - g[0, 2])
                    return dot(r, r), s, t, 0
                break

    corners = corner_count(kind)
    curved = kind in (TRI6, QUAD9)
    best, edge, along = np.inf, 0, 0.0
    for e in range(corners):
        following, middle = (e + 1) % corners, corners + e if curved else -1
        if beside and distance2_to_edge_box(x, e, following, middle, p) > min(best, bound):
            continue
        w, d = nearest_on_curve(x, e, following, middle, p)
        if d < best:
            best, edge, along = d, e, w
    if best == np.inf:
        return best, s, t, 0
    s0, t0 = corner(kind, edge)
    s1, t1 = corner(kind, (edge + 1) % corners)
    s, t = s0 + along * (s1 - s0), t0 + along * (t1 - t0)
    if along < ON_EDGE:
        return best, s0, t0, 1 + corners + edge
    if along > 1.0 - ON_EDGE:
        return best, s1, t1, 1 + corners + (edge + 1) % corners
    if kind != TRI3:  # a warped or curved face may approach p inside of the edge
        geometry(kind, x, s, t, value, first, second, g)
        r = (p[0] - g[0, 0], p[1] - g[0, 1], p[2] - g[0, 2])
        a, b = dot(r, g[1]), dot(r, g[2])
        if edge == 0:
            inward = b
        elif kind > TRI6 and edge == 2:
            inward = -b
        else:
            inward = -a if edge == 1 else a
        if inward > ON_EDGE * max(dot(g[1], g[1]), dot(g[2], g[2])):
            si, ti, done = descend(kind, x, p, s, t, value, first, second, g)
            if done:
                geometry(kind, x, si, ti, value, first, second, g)
                r = (p[0] - g[0, 0], p[1] - g[0, 1], p[2] - g[0, 2])
                return dot(r, r), si, ti, 0
    return best, s, t, 1 + edge


@called_njit()
def foot_on_continuation(kind, x, p, s, t, most, value, first, second, g):
    """Foot of p on the smooth continuation of a facet, at most `most` of it past its edge, by Newton from (s, t):
    (s, t, converged)."""
    for _ in range(20):
        geometry(kind, x, s, t, value, first, second, g)
        if kind <= LINE3:
            r = (p[0] - g[0, 0], p[1] - g[0, 1], p[2] - g[0, 2])
            square = dot(g[1], g[1])
            curvature = square - dot(r, g[3])
            ds, dt = dot(r, g[1]) / max(curvature if curvature > 0.0 else square, 1e-300), 0.0
        else:
            ds, dt, _, _, _ = newton_step(g, p, True)
        s, t = s + ds, t + dt
        if not inside(kind, s, t, most):
            break
        if abs(ds) + abs(dt) < 1e-10:
            geometry(kind, x, s, t, value, first, second, g)
            return s, t, True
    return s, t, False


@njit(cache=True)
def edge_normals(kind, facets, positions, normals):
    """Unit outward normals (f, e, 3) of facets at the middles of their edges, in the plane at both ends (f, 2, 3)."""
    x, g = np.empty((9, 3)), np.empty((6, 3))
    value, first, second = np.empty(9), np.empty((2, 9)), np.empty((3, 9))
    corners = corner_count(kind)
    for f in range(facets.shape[0]):
        gather(facets, positions, f, x)
        for e in range(corners):
            s, t = corner(kind, e)
            if kind > LINE3:
                s1, t1 = corner(kind, (e + 1) % corners)
                s, t = 0.5 * (s + s1), 0.5 * (t + t1)
            geometry(kind, x, s, t, value, first, second, g)
            normals[f, e] = outward(kind, g)


@njit(cache=True)
def facet_boxes(kind, facets, positions, boxes):
    """Boxes (f, 6) = low, high of the facets: of their Bézier points, within whose hull a quadratic facet lies."""
    x = np.empty((9, 3))
    corners = corner_count(kind)
    curved = kind in (LINE3, TRI6, QUAD9)
    for f in range(facets.shape[0]):
        gather(facets, positions, f, x)
        for i in range(3):
            low, high = x[0, i], x[0, i]
            for a in range(1, corners):
                low, high = min(low, x[a, i]), max(high, x[a, i])
            if curved:
                for e in range(1 if kind == LINE3 else corners):
                    bezier = 2.0 * x[corners + e, i] - 0.5 * (x[e, i] + x[(e + 1) % corners, i])
                    low, high = min(low, bezier), max(high, bezier)
            if kind == QUAD9:
                bezier = 4.0 * x[8, i]
                for a in range(4):
                    bezier += 0.25 * x[a, i] - x[4 + a, i]
                low, high = min(low, bezier), max(high, bezier)
            boxes[f, i], boxes[f, 3 + i] = low, high


@njit(cache=True)
def morton_codes(boxes, codes):
    """Codes (f,) that sort the centres of the boxes along a space-filling curve (16 bits an axis)."""
    low, high = np.full(3, np.inf), np.full(3, -np.inf)
    for f in range(boxes.shape[0]):
        for i in range(3):
            centre = 0.5 * (boxes[f, i] + boxes[f, 3 + i])
            low[i], high[i] = min(low[i], centre), max(high[i], centre)
    width = 1e-300
    for i in range(3):
        width = max(width, high[i] - low[i])
    for f in range(boxes.shape[0]):
        code = 0
        for i in range(3):
            cell = int((0.5 * (boxes[f, i] + boxes[f, 3 + i]) - low[i]) / width * 65535.0)
            for bit in range(16):
                code |= ((cell >> bit) & 1) << (3 * bit + i)
        codes[f] = code


@njit(cache=True)
def tree_boxes(boxes, order, tree):
    """Boxes of a complete binary tree (2 L, 6): node i has children 2 i and 2 i + 1, leaf j is node L + j."""
    leaves = tree.shape[0] // 2
    count = order.size
    for j in range(leaves):
        for i in range(3):
            tree[leaves + j, i], tree[leaves + j, 3 + i] = np.inf, -np.inf
        for at in range(j * count // leaves, (j + 1) * count // leaves):
            for i in range(3):
                tree[leaves + j, i] = min(tree[leaves + j, i], boxes[order[at], i])
                tree[leaves + j, 3 + i] = max(tree[leaves + j, 3 + i], boxes[order[at], 3 + i])
    for node in range(leaves - 1, 0, -1):
        for i in range(3):
            tree[node, i] = min(tree[2 * node, i], tree[2 * node + 1, i])
            tree[node, 3 + i] = max(tree[2 * node, 3 + i], tree[2 * node + 1, 3 + i])


@called_njit()
def distance2_to_box(box, p):
    total = 0.0
    for i in range(3):
        d = max(box[i] - p[i], p[i] - box[3 + i])
        if d > 0.0:
            total += d * d
    return total


@called_njit()
def faces(cone, n):
    """Whether a point with outward normals in a cone (7,) can be in contact with a facet of the normal n."""
    along = cone[4] * n[0] + cone[5] * n[1] + cone[6] * n[2]
    return -(cone[0] * n[0] + cone[1] * n[1] + cone[2] * n[2]) >= cone[3] and abs(along) <= ACROSS


@njit(cache=True)
def normal_cones(kind, facets, positions, starts, star, nodes, ends, wider, cones):
    """Cones (k, 7) of the outward normals of the facets at corner nodes (k,), wider by `wider`, rad; ends (k, 2): nodes
    before and after it on an edge, −1 where it is on none. See `nearest`."""
    x, g = np.empty((9, 3)), np.empty((6, 3))
    value, first, second = np.empty(9), np.empty((2, 9)), np.empty((3, 9))
    for k in range(nodes.size):
        mean = np.zeros(3)
        for at in range(starts[nodes[k]], starts[nodes[k] + 1]):
            n, angle = corner_normal(kind, facets, positions, star, at, x, value, first, second, g)
            for i in range(3):
                mean[i] += angle * n[i]
        mean /= max(np.sqrt(dot(mean, mean)), 1e-300)
        least = 1.0
        for at in range(starts[nodes[k]], starts[nodes[k] + 1]):
            n, _ = corner_normal(kind, facets, positions, star, at, x, value, first, second, g)
            least = min(least, dot(n, mean))
        cones[k, :3] = mean
        cones[k, 3] = np.cos(min(np.arccos(max(least, -1.0)) + wider, np.pi))
        cones[k, 4:] = 0.0
        if ends[k, 0] >= 0:
            along = positions[ends[k, 1]] - positions[ends[k, 0]]
            cones[k, 4:] = along / max(np.sqrt(dot(along, along)), 1e-300)


@njit(cache=True)
def nearest(kind, facets, positions, boxes, order, tree, points, reach, cones, facet, reference, feature):
    """Nearest facet (k,) of the points (−1: none within reach), its point (k, 2) and feature (k,): branch and bound.

    cones (k, 7): of the outward normals of each point, which then meets only facets whose −n lies in it: axis, cosine
    of the half-angle, and, where it lies on an edge, the direction of that, across which −n is; (0, 7): any facets.
    """
    leaves, count = tree.shape[0] // 2, order.size
    x, g = np.empty((9, 3)), np.empty((6, 3))
    value, first, second = np.empty(9), np.empty((2, 9)), np.empty((3, 9))
    stack, bounds = np.empty(128, np.int64), np.empty(128)
    for k in range(points.shape[0]):
        p = (points[k, 0], points[k, 1], points[k, 2])
        best = reach * reach
        facet[k] = -1
        # first the facets that p is before, then those that it is beside, of which few are still within the bound
        for sweep in range(1 if kind <= LINE3 else 2):
            stack[0], bounds[0], top = 1, distance2_to_box(tree[1], p), 1
            while top > 0:
                top -= 1
                if bounds[top] > best:
                    continue
                node = stack[top]
                if node < leaves:
                    near, far = 2 * node, 2 * node + 1
                    d_near, d_far = distance2_to_box(tree[near], p), distance2_to_box(tree[far], p)
                    if d_far < d_near:
                        near, far, d_near, d_far = far, near, d_far, d_near
                    if d_far <= best:
                        stack[top], bounds[top] = far, d_far
                        top += 1
                    if d_near <= best:
                        stack[top], bounds[top] = near, d_near
                        top += 1
                    continue
                leaf = node - leaves
                for at in range(leaf * count // leaves, (leaf + 1) * count // leaves):
                    f = order[at]
                    if distance2_to_box(boxes[f], p) > best:
                        continue
                    gather(facets, positions, f, x)
                    s, t = (0.5, 0.0) if kind <= LINE3 else start_on_face(kind, x, p)
                    beside = not inside(kind, s, t, BESIDE)
                    if beside != (sweep == 1):
                        continue
                    d, s, t, kind_of = nearest_on_facet(kind, x, p, s, t, beside, best, value, first, second, g)
                    if cones.shape[0] > 0 and d <= best:
                        geometry(kind, x, s, t, value, first, second, g)
                        if not faces(cones[k], outward(kind, g)):
                            continue
                    if d < best or (facet[k] < 0 and d <= best):
                        best = d
                        facet[k], reference[k, 0], reference[k, 1], feature[k] = f, s, t, kind_of


@called_njit()
def corner_normal(kind, facets, positions, star, at, x, value, first, second, g):
    """Normal, weighted by the angle at the corner, of entry `at` of the star (facet, corner)."""
    f, c = star[at, 0], star[at, 1]
    gather(facets, positions, f, x)
    s, t = corner(kind, c)
    geometry(kind, x, s, t, value, first, second, g)
    n = outward(kind, g)
    if kind <= LINE3:
        return n, 1.0
    # tangents of the two edges at the corner: towards the next one and the one before
    corners = corner_count(kind)
    ahead, back = corner(kind, (c + 1) % corners), corner(kind, (c + corners - 1) % corners)
    uu, uv, vv = 0.0, 0.0, 0.0
    for i in range(3):
        u = (ahead[0] - s) * g[1, i] + (ahead[1] - t) * g[2, i]
        v = (back[0] - s) * g[1, i] + (back[1] - t) * g[2, i]
        uu += u * u
        uv += u * v
        vv += v * v
    return n, np.arccos(min(max(uv / max(np.sqrt(uu * vv), 1e-300), -1.0), 1.0))


@njit(cache=True)
def resolve(mesh, topology, points, limits, cones, feature, projections):
    """Normals (k, 3) and gaps (k,) of the nearest points; a point past a free end or too deep has no facet (−1).

    mesh: kind, facets, node positions (n, 3); topology: neighbours, starts, star, free and size of `FacetMesh`;
    limits: overhang and depth, in facet sizes; cones and feature (k,) of `nearest`; projections: fields of
    `FacetProjections`. Where −n is not in the cone of the point, n is the normal of the facet, up to a distance past
    its edge equal to that of the point from its plane.

    Inside a facet n is its normal. At an edge or corner within the surface n = ± (p − x)/|p − x|, the sign that of the
    angle-weighted normal of the facets there (itself n where p lies on the feature). Past a free end by no more than
    overhang × size: the closest point of the smooth continuation of the facet.
    """
    kind, facets, positions = mesh
    neighbours, starts, star, free, size = topology
    overhang, depth = limits
    facet, reference, normal, gap = projections
    x, g = np.empty((9, 3)), np.empty((6, 3))
    value, first, second = np.empty(9), np.empty((2, 9)), np.empty((3, 9))
    corners = corner_count(kind)
    edges = 0 if kind <= LINE3 else corners
    for k in range(points.shape[0]):
        gap[k] = np.inf
        normal[k] = 0.0
        f = facet[k]
        if f < 0:
            continue
        gather(facets, positions, f, x)
        geometry(kind, x, reference[k, 0], reference[k, 1], value, first, second, g)
        n = outward(kind, g)
        r = (points[k, 0] - g[0, 0], points[k, 1] - g[0, 1], points[k, 2] - g[0, 2])
        what, node, end = feature[k], 0, False
        if what > edges:
            node = facets[f, what - 1 - edges]
            end = free[node]
        elif what > 0:
            end = neighbours[f, what - 1, 0] < 0
        if what == 0:
            distance = dot(n, r)
        elif end:
            if what > edges:  # of the facets at this corner, the one whose end is passed least
                least = np.inf
                for at in range(starts[node], starts[node + 1]):
                    other, _ = corner_normal(kind, facets, positions, star, at, x, value, first, second, g)
                    along = dot(other, r)
                    if dot(r, r) - along * along < least - 1e-14 * dot(r, r):
                        least = dot(r, r) - along * along
                        n, f = other, star[at, 0]
                        reference[k, 0], reference[k, 1] = corner(kind, star[at, 1])
                facet[k] = f
            distance = dot(n, r)
            past = 0.0
            for i in range(3):
                past += (r[i] - distance * n[i]) ** 2
            gather(facets, positions, f, x)
            s, t, converged = foot_on_continuation(
                kind, x, points[k], reference[k, 0], reference[k, 1], max(0.5, overhang), value, first, second, g
            )
            if past > (overhang * size[f]) ** 2 or not converged:
                facet[k] = -1
                continue
            reference[k, 0], reference[k, 1] = s, t
            n = outward(kind, g)
            distance = dot(n, (points[k, 0] - g[0, 0], points[k, 1] - g[0, 1], points[k, 2] - g[0, 2]))
        else:
            if what <= edges:
                other, edge = neighbours[f, what - 1, 0], neighbours[f, what - 1, 1]
                s0, t0 = corner(kind, what - 1)
                s1, t1 = corner(kind, what % corners)
                along = ((reference[k, 0] - s0) * (s1 - s0) + (reference[k, 1] - t0) * (t1 - t0)) / (
                    (s1 - s0) ** 2 + (t1 - t0) ** 2
                )
                s0, t0 = corner(kind, (edge + 1) % corners)  # the neighbour runs the other way
                s1, t1 = corner(kind, edge)
                gather(facets, positions, other, x)
                geometry(kind, x, s0 + along * (s1 - s0), t0 + along * (t1 - t0), value, first, second, g)
                m = outward(kind, g)
                mean = (n[0] + m[0], n[1] + m[1], n[2] + m[2])
            else:
                mean = (0.0, 0.0, 0.0)
                for at in range(starts[node], starts[node + 1]):
                    m, angle = corner_normal(kind, facets, positions, star, at, x, value, first, second, g)
                    mean = (mean[0] + angle * m[0], mean[1] + angle * m[1], mean[2] + angle * m[2])
            length = np.sqrt(dot(r, r))
            if length > COINCIDENT * size[f]:
                distance = length if dot(mean, r) >= 0.0 else -length
                n = (r[0] / distance, r[1] / distance, r[2] / distance)
            else:
                length = max(np.sqrt(dot(mean, mean)), 1e-300)
                n = (mean[0] / length, mean[1] / length, mean[2] / length)
                distance = dot(n, r)
            if cones.shape[0] > 0 and not faces(cones[k], n):
                gather(facets, positions, f, x)
                geometry(kind, x, reference[k, 0], reference[k, 1], value, first, second, g)
                n = outward(kind, g)
                distance = dot(n, r)
                if dot(r, r) - distance * distance > distance * distance + (ON_EDGE * size[f]) ** 2:  # beside it
                    facet[k] = -1
                    continue
        if distance < -depth * size[f]:
            facet[k] = -1
            continue
        gap[k] = distance
        normal[k, 0], normal[k, 1], normal[k, 2] = n


@called_njit()
def box_near_line(box, p, d, reach):
    """Smallest |distance| along the line p + w d at which it intersects the box (inf: not within reach)."""
    start, end = -reach, reach
    for i in range(3):
        if abs(d[i]) < 1e-14:
            if p[i] < box[i] - 1e-9 * reach or p[i] > box[3 + i] + 1e-9 * reach:
                return np.inf
        else:
            a, b = (box[i] - p[i]) / d[i], (box[3 + i] - p[i]) / d[i]
            start, end = max(start, min(a, b)), min(end, max(a, b))
    if start > end + 1e-9 * reach:
        return np.inf
    if start > 0.0:
        return start
    return -end if end < 0.0 else 0.0


@called_njit()
def widen(box, share, out):
    """The box, wider on each side by a share of its longest side."""
    longest = max(box[3] - box[0], max(box[4] - box[1], box[5] - box[2]))
    for i in range(3):
        out[i], out[3 + i] = box[i] - share * longest, box[3 + i] + share * longest


@called_njit()
def within_facet(kind, s, t, f, neighbours, free, facets, overhang):
    """Whether (s, t) lies in the facet, up to `overhang` past its free ends."""
    tight = ON_EDGE
    if kind <= LINE3:
        low = overhang if free[facets[f, 0]] else tight
        high = overhang if free[facets[f, 1]] else tight
        return s >= -low and s <= 1.0 + high
    if kind <= TRI6:
        past = (-t, s + t - 1.0, -s, -1.0)
    else:
        past = (-t, s - 1.0, t - 1.0, -s)
    inside_facet = True
    for e in range(corner_count(kind)):
        inside_facet = inside_facet and past[e] <= (overhang if neighbours[f, e, 0] < 0 else tight)
    return inside_facet


@called_njit()
def intersect_line(kind, x, p, d, value, first, second, g):
    """Intersection of the line p + w d with a facet or its continuation: (s, t, found), by Newton across the line."""
    if kind <= LINE3:
        u, v = (-d[1], d[0], 0.0), (0.0, 0.0, 1.0)
        s, t = 0.5, 0.0
    else:
        i = 0
        for c in range(1, 3):
            if abs(d[c]) < abs(d[i]):
                i = c
        e = (1.0 if i == 0 else 0.0, 1.0 if i == 1 else 0.0, 1.0 if i == 2 else 0.0)
        u = (d[1] * e[2] - d[2] * e[1], d[2] * e[0] - d[0] * e[2], d[0] * e[1] - d[1] * e[0])
        v = (d[1] * u[2] - d[2] * u[1], d[2] * u[0] - d[0] * u[2], d[0] * u[1] - d[1] * u[0])
        s, t = (1.0 / 3.0, 1.0 / 3.0) if kind <= TRI6 else (0.5, 0.5)
    for _ in range(20):
        geometry(kind, x, s, t, value, first, second, g)
        r = (p[0] - g[0, 0], p[1] - g[0, 1], p[2] - g[0, 2])
        if kind <= LINE3:
            slope = dot(u, g[1])
            if slope == 0.0:
                return s, t, False
            ds, dt = dot(u, r) / slope, 0.0
        else:
            us, ut, vs, vt = dot(u, g[1]), dot(u, g[2]), dot(v, g[1]), dot(v, g[2])
            det = us * vt - ut * vs
            if det == 0.0:
                return s, t, False
            a, b = dot(u, r), dot(v, r)
            ds, dt = (vt * a - ut * b) / det, (us * b - vs * a) / det
        longest = max(abs(ds), abs(dt))
        if longest > 4.0:
            return s, t, False
        s, t = s + ds, t + dt
        if longest < 1e-11:
            geometry(kind, x, s, t, value, first, second, g)
            return s, t, True
        if kind in (LINE2, TRI3):
            continue
        if longest > 1.0:  # curved: the step is limited to the size of the facet
            s, t = s - ds + ds / longest, t - dt + dt / longest
    return s, t, False


@njit(cache=True)
def along_direction(mesh, topology, boxes, points, directions, limits, projections):
    """Facets first intersected by the lines through the points along the directions d (k, 3), in either sense.

    Only facets with n·d < 0 count (d points from the slave to the master); the gap is (p − x)·n.

    mesh: kind, facets, node positions (n, 3); topology: neighbours, free and size of `FacetMesh`; boxes: those of the
    facets, their order and the tree of `FacetTree`; limits: reach, m, overhang and depth, in facet sizes; found: fields
    of `FacetProjections`.
    """
    kind, facets, positions = mesh
    neighbours, free, size = topology
    facet_boxes, order, tree = boxes
    reach, overhang, depth = limits
    facet, reference, normal, gap = projections
    leaves, count = tree.shape[0] // 2, order.size
    x, g = np.empty((9, 3)), np.empty((6, 3))
    value, first, second = np.empty(9), np.empty((2, 9)), np.empty((3, 9))
    stack = np.empty(128, np.int64)
    box = np.empty(6)
    for k in range(points.shape[0]):
        p = (points[k, 0], points[k, 1], points[k, 2])
        d = (directions[k, 0], directions[k, 1], directions[k, 2])
        best = reach
        facet[k], gap[k] = -1, np.inf
        normal[k] = 0.0
        stack[0], top = 1, 1
        while top > 0:
            top -= 1
            node = stack[top]
            if node < leaves:
                for child in range(2 * node, 2 * node + 2):
                    if tree[child, 0] <= tree[child, 3]:
                        widen(tree[child], overhang, box)
                        if box_near_line(box, p, d, reach) <= best:
                            stack[top] = child
                            top += 1
                continue
            leaf = node - leaves
            for at in range(leaf * count // leaves, (leaf + 1) * count // leaves):
                f = order[at]
                widen(facet_boxes[f], overhang, box)
                if box_near_line(box, p, d, reach) > best:
                    continue
                gather(facets, positions, f, x)
                s, t, intersected = intersect_line(kind, x, p, d, value, first, second, g)
                if not intersected or not within_facet(kind, s, t, f, neighbours, free, facets, overhang):
                    continue
                n = outward(kind, g)
                r = (p[0] - g[0, 0], p[1] - g[0, 1], p[2] - g[0, 2])
                far = np.sqrt(dot(r, r))
                distance = dot(n, r)
                if dot(n, d) > -GRAZING or far >= best or distance < -depth * size[f]:
                    continue
                best = far
                facet[k], gap[k] = f, distance
                reference[k, 0], reference[k, 1] = s, t
                normal[k, 0], normal[k, 1], normal[k, 2] = n


@called_njit()
def rate_of_rotation(kind, g, first, a, spin):
    """Share (3, 3) of node a in the angular rate W of the facet: W = Σ_a spin_a v_a; a rigid motion has W = ω.

    On faces W = n × ṅ + w n with ṅ = −Σ_α a^α (n·v_,α) and w = ½ Σ_α n·(a^α × v_,α) (a^α the dual tangents);
    in the plane W = −(n·v_,s)/|x_s| e_z.
    """
    n = outward(kind, g)
    if kind <= LINE3:
        scale = -first[0, a] / max(np.sqrt(dot(g[1], g[1])), 1e-300)
        for j in range(3):
            spin[0, j] = spin[1, j] = 0.0
            spin[2, j] = scale * n[j]
        return
    ss, st, tt = dot(g[1], g[1]), dot(g[1], g[2]), dot(g[2], g[2])
    det = max(ss * tt - st * st, 1e-300)
    # Σ_α N_,α a^α
    c1, c2 = (tt * first[0, a] - st * first[1, a]) / det, (ss * first[1, a] - st * first[0, a]) / det
    dual = (c1 * g[1, 0] + c2 * g[2, 0], c1 * g[1, 1] + c2 * g[2, 1], c1 * g[1, 2] + c2 * g[2, 2])
    n_cross_dual = (
        n[1] * dual[2] - n[2] * dual[1],
        n[2] * dual[0] - n[0] * dual[2],
        n[0] * dual[1] - n[1] * dual[0],
    )
    for i in range(3):
        for j in range(3):
            spin[i, j] = 0.5 * n[i] * n_cross_dual[j] - n_cross_dual[i] * n[j]


@njit(cache=True)
def positions_on_facets(kind, facets, positions, facet, reference, out):
    """Positions (k, 3) of the reference coordinates (k, 2) on the facet of each point; none where it is −1."""
    x, g = np.empty((9, 3)), np.empty((6, 3))
    value, first, second = np.empty(9), np.empty((2, 9)), np.empty((3, 9))
    for k in range(facet.shape[0]):
        if facet[k] >= 0:
            gather(facets, positions, facet[k], x)
            geometry(kind, x, reference[k, 0], reference[k, 1], value, first, second, g)
            out[k] = g[0]


@njit(cache=True)
def fill_rows(mesh, points, partners, frames, slave, offset, matrix):
    """Rows e·(v_s − v_m − W × r), r = p − x_m, for the vectors e of each point's frame (k, a, a); facet −1: none.

    mesh: kind, facets, node positions (n, 3); partners: facet (k,) and its reference coordinates (k, 2); slave: nodes
    and weights (k, w) of the points; matrix: pointers, indices and data of CSR, slave columns first, those of the
    master from `offset`.
    """
    kind, facets, positions = mesh
    facet, reference = partners
    slave_nodes, slave_weights = slave
    pointers, indices, data = matrix
    axes = frames.shape[1]
    x, g, spin = np.empty((9, 3)), np.empty((6, 3)), np.empty((3, 3))
    value, first, second = np.empty(9), np.empty((2, 9)), np.empty((3, 9))
    lever = np.empty((3, 3))
    for k in range(points.shape[0]):
        if facet[k] < 0:
            continue
        width = slave_nodes.shape[1] * axes
        for c in range(axes):
            at = pointers[k * axes + c]
            for a in range(slave_nodes.shape[1]):
                for j in range(axes):
                    indices[at] = slave_nodes[k, a] * axes + j
                    data[at] = slave_weights[k, a] * frames[k, c, j]
                    at += 1
        gather(facets, positions, facet[k], x)
        geometry(kind, x, reference[k, 0], reference[k, 1], value, first, second, g)
        r = (points[k, 0] - g[0, 0], points[k, 1] - g[0, 1], points[k, 2] - g[0, 2])
        for c in range(axes):  # e·(W × r) = W·(r × e)
            e = (frames[k, c, 0], frames[k, c, 1], frames[k, c, 2] if axes == 3 else 0.0)
            lever[c, 0] = r[1] * e[2] - r[2] * e[1]
            lever[c, 1] = r[2] * e[0] - r[0] * e[2]
            lever[c, 2] = r[0] * e[1] - r[1] * e[0]
        for a in range(facets.shape[1]):
            rate_of_rotation(kind, g, first, a, spin)
            for c in range(axes):
                at = pointers[k * axes + c] + width + a * axes
                for j in range(axes):
                    rotation = lever[c, 0] * spin[0, j] + lever[c, 1] * spin[1, j] + lever[c, 2] * spin[2, j]
                    indices[at + j] = offset + facets[facet[k], a] * axes + j
                    data[at + j] = -value[a] * frames[k, c, j] - rotation
