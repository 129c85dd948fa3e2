"""Numba kernels of the mortar pairing: candidates, clipping, moments, contact rows.

Positions have three axes here (z = 0 in 2D); parent coordinates are two numbers (the second one unused on lines).
"""

import math

import numpy as np
from numba import boolean, float64, int32, int64, types

from arlequin.models.kernel_cache import njit
from arlequin.multilevel.pairing._facet_kernels import (
    COVERED,
    MAX_NODES,
    Cube,
    Matrix,
    Vector,
    cross_product,
    is_line,
    make_tangents,
    shapes,
)

MAX_CORNERS = 24  # of a clipped polygon: convex quadrilaterals give at most 8, folded ones at most 4 · 1.5⁴
FACING = -0.1  # ν_s·ν_m of facets that can be partners: within 84° of opposite, which excludes side walls
TOUCHED = 1e-15  # clipped areas below this share of the slave facet are round-off

Numbers, Table = int64[::1], int64[:, ::1]


@njit(types.void(int64, int64, Matrix, float64, float64, Vector, Matrix, Vector), cache=True)
def invert(kind, count, local, x, y, value, slope, inverse):
    """The inverse map linearised at the parent point (x, y), as (x₀, ∂x/∂u, ∂x/∂v, y₀, ∂y/∂u, ∂y/∂v): exact where
    the facet is affine."""
    shapes(kind, x, y, value, slope)
    u, v, a, b, c, d = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for j in range(count):
        u += value[j] * local[j, 0]
        v += value[j] * local[j, 1]
        a += slope[j, 0] * local[j, 0]
        b += slope[j, 1] * local[j, 0]
        c += slope[j, 0] * local[j, 1]
        d += slope[j, 1] * local[j, 1]
    if is_line(kind):
        b, c, d = 0.0, 0.0, 1.0
    determinant = a * d - b * c
    if determinant == 0.0:
        determinant = np.inf
    inverse[1], inverse[2] = d / determinant, -b / determinant
    inverse[4], inverse[5] = -c / determinant, a / determinant
    inverse[0] = x - inverse[1] * u - inverse[2] * v
    inverse[3] = y - inverse[4] * u - inverse[5] * v


@njit(boolean(int64, int64, Matrix, float64, float64, float64, Vector, Vector, Vector, Matrix), cache=True)
def locate(kind, count, local, u, v, size, inverse, point, value, slope):
    """Newton from the linearised inverse for the parent `point` where Σ φ_j local_j[:2] = (u, v).

    `value` receives its shape functions; False far outside the facet.
    """
    point[0] = inverse[0] + inverse[1] * u + inverse[2] * v
    point[1] = inverse[3] + inverse[4] * u + inverse[5] * v
    line = is_line(kind)
    for _ in range(20):
        shapes(kind, point[0], point[1], value, slope)
        ru, rv = u, v
        a, b, c, d = 0.0, 0.0, 0.0, 0.0
        for j in range(count):
            ru -= value[j] * local[j, 0]
            a += slope[j, 0] * local[j, 0]
        if line:
            if abs(ru) <= 1e-14 * size:
                return abs(point[0]) < 2.0
            if a == 0.0:
                return False
            point[0] += ru / a
            continue
        for j in range(count):
            rv -= value[j] * local[j, 1]
            b += slope[j, 1] * local[j, 0]
            c += slope[j, 0] * local[j, 1]
            d += slope[j, 1] * local[j, 1]
        if abs(ru) + abs(rv) <= 1e-14 * size:
            return abs(point[0]) < 2.0 and abs(point[1]) < 2.0
        determinant = a * d - b * c
        if determinant == 0.0:
            return False
        point[0] += (d * ru - b * rv) / determinant
        point[1] += (a * rv - c * ru) / determinant
    return False


@njit(types.void(Matrix, Numbers, Vector, Vector), cache=True)
def _spans(x, corners, first, second):
    """The vectors whose product d1 × d2 is along the normal: an edge and ẑ, two edges, or two diagonals (½ d1 × d2
    is the vector area of any quadrilateral, plane or not)."""
    for i in range(3):
        if corners.size == 2:
            first[i], second[i] = x[corners[1], i] - x[corners[0], i], 1.0 if i == 2 else 0.0
        elif corners.size == 3:
            first[i], second[i] = x[corners[1], i] - x[corners[0], i], x[corners[2], i] - x[corners[0], i]
        else:
            first[i], second[i] = x[corners[2], i] - x[corners[0], i], x[corners[3], i] - x[corners[1], i]


@njit(types.Tuple((Matrix, Matrix, Vector, Vector))(Matrix, Table), cache=True)
def piece_frames(x, pieces):
    """Unit outward normals (p, 3), centres (p, 3), |d1 × d2| (p,) and diameters (p,) of linear pieces."""
    count = pieces.shape[0]
    normal, centre = np.zeros((count, 3)), np.zeros((count, 3))
    length, size = np.zeros(count), np.zeros(count)
    first, second = np.zeros(3), np.zeros(3)
    for p in range(count):
        corners = pieces[p]
        _spans(x, corners, first, second)
        cross_product(first, second, normal[p])
        for c in corners:
            for i in range(3):
                centre[p, i] += x[c, i] / corners.size
        for i in range(3):
            length[p] += normal[p, i] ** 2
        length[p] = math.sqrt(length[p])
        for i in range(3):
            normal[p, i] /= max(length[p], 1e-300)
        for c in corners:
            reach = 0.0
            for i in range(3):
                reach += (x[c, i] - centre[p, i]) ** 2
            size[p] = max(size[p], 2.0 * math.sqrt(reach))
    return normal, centre, length, size


@njit(int64(Vector, Vector, Numbers, Matrix, Numbers), cache=True)
def near_pieces(low, high, order, tree, pieces):
    """Write the pieces in the leaves of a tree (`search.box_tree`) that intersect a box to `pieces`, and count them."""
    stack = np.empty(64, dtype=np.int64)
    leaves = tree.shape[0] // 2
    stack[0], depth, count = 1, 1, 0
    while depth > 0:
        depth -= 1
        node = stack[depth]
        separated = False
        for i in range(3):
            separated = separated or tree[node, i] > high[i] or tree[node, 3 + i] < low[i]
        if separated:
            continue
        if node < leaves:
            stack[depth], stack[depth + 1] = 2 * node, 2 * node + 1
            depth += 2
            continue
        leaf = node - leaves
        for entry in range(order.size * leaf // leaves, order.size * (leaf + 1) // leaves):
            pieces[count] = order[entry]
            count += 1
    return count


@njit(int64(Matrix, int64, Matrix, int64, Matrix), cache=True)
def clip(window, sides, polygon, corners, spare):
    """Clip the polygon in place by the convex counter-clockwise window (Sutherland–Hodgman); return its corner count.

    With two sides both are intervals of the first coordinate. Source: Communications of the ACM 17, 1974, 32–42.
    """
    if sides == 2:
        start = max(window[0, 0], polygon[0, 0])
        end = min(window[1, 0], polygon[1, 0])
        polygon[0, 0], polygon[1, 0] = start, end
        return 2 if end > start else 0
    for s in range(sides):
        ax, ay = window[s, 0], window[s, 1]
        ex, ey = window[(s + 1) % sides, 0] - ax, window[(s + 1) % sides, 1] - ay
        written = 0
        for c in range(corners):
            px, py = polygon[c, 0], polygon[c, 1]
            qx, qy = polygon[(c + 1) % corners, 0], polygon[(c + 1) % corners, 1]
            side_p = ex * (py - ay) - ey * (px - ax)
            side_q = ex * (qy - ay) - ey * (qx - ax)
            if side_p >= 0.0:
                spare[written, 0], spare[written, 1] = px, py
                written += 1
            if (side_p > 0.0 and side_q < 0.0) or (side_p < 0.0 and side_q > 0.0):
                share = side_p / (side_p - side_q)
                spare[written, 0], spare[written, 1] = px + share * (qx - px), py + share * (qy - py)
                written += 1
        corners = written
        for c in range(corners):
            polygon[c, 0], polygon[c, 1] = spare[c, 0], spare[c, 1]
        if corners < 3:
            return 0
    return corners


@njit(float64(Matrix, int64, Vector), cache=True)
def _content(polygon, corners, centroid):
    """Length or area of a polygon, and its centroid."""
    if corners == 2:
        centroid[0], centroid[1] = 0.5 * (polygon[0, 0] + polygon[1, 0]), 0.0
        return polygon[1, 0] - polygon[0, 0]
    total, cu, cv = 0.0, 0.0, 0.0
    for c in range(1, corners - 1):
        au, av = polygon[c, 0] - polygon[0, 0], polygon[c, 1] - polygon[0, 1]
        bu, bv = polygon[c + 1, 0] - polygon[0, 0], polygon[c + 1, 1] - polygon[0, 1]
        area = 0.5 * (au * bv - av * bu)
        total += area
        cu += area * (au + bu) / 3.0
        cv += area * (av + bv) / 3.0
    if total > 0.0:
        centroid[0], centroid[1] = polygon[0, 0] + cu / total, polygon[0, 1] + cv / total
    return total


@njit(boolean(Matrix, int64, float64, float64), cache=True)
def _contains(polygon, corners, u, v):
    """Whether a point lies in a convex counter-clockwise polygon."""
    if corners == 2:
        return polygon[0, 0] <= u <= polygon[1, 0]
    for c in range(corners):
        ax, ay = polygon[c, 0], polygon[c, 1]
        bx, by = polygon[(c + 1) % corners, 0], polygon[(c + 1) % corners, 1]
        if (bx - ax) * (v - ay) - (by - ay) * (u - ax) < 0.0:
            return False
    return True


@njit(float64(Matrix, Numbers, Vector, Matrix, Matrix), cache=True)
def _localise(x, nodes, origin, axes, local):
    """Coordinates (j, 3) of nodes along the axes of a frame; returns the largest one in its plane."""
    size = 0.0
    for j in range(nodes.size):
        for i in range(3):
            local[j, i] = 0.0
            for c in range(3):
                local[j, i] += (x[nodes[j], c] - origin[c]) * axes[i, c]
        size = max(size, abs(local[j, 0]), abs(local[j, 1]))
    return size


# node positions (n, 3); kind, nodes and pieces of the facets; facet of each piece; starts of Newton's method on it
FACETS = types.Tuple((Matrix, int64, Table, Table, Numbers, Matrix))
MOMENTS = types.Tuple((Cube, Matrix, Matrix, Matrix, Numbers, Numbers, Cube))


@njit(
    MOMENTS(
        FACETS, FACETS, types.Tuple((Matrix, Matrix, Vector)), types.Tuple((Matrix, Vector)),
        types.Tuple((Numbers, Matrix)), types.UniTuple(int64, 2), Vector,
        types.Tuple((Matrix, Vector)), types.Tuple((float64, boolean)),
    ),
    cache=True,
)  # fmt: skip
def moments(slave, master, frames, other_frames, boxes, multiplier, reach, rule, measure):
    """Integrals over the covered part of each slave piece p, of ψ_i, slave φ_j, master φ_m and gap g:

    Σ w ψ_i φ_j (p, i, j); Σ w ψ_i, Σ w |ψ_i|, Σ w ψ_i g (p, i); and for the pairs first[p] … first[p + 1] of a piece
    with a master facet partner[r]: Σ w ψ_i φ_m (r, i, m).

    slave, master: see FACETS. frames: normals, centres and sizes of the slave pieces; other_frames: normals and sizes
    of the master's. boxes: order of the master pieces and their tree of boxes. multiplier: code and count
    of the functions on a facet. reach (4,): largest gap and penetration, each as a length plus a multiple of the
    larger diameter of the two pieces. rule: points and weights on a simplex. measure: thickness, m, and whether the
    model is axisymmetric.
    """
    x, kind, facets, pieces, parents, starts = slave
    y, other_kind, other_facets, other_pieces, other_parents, other_starts = master
    normal, centre, size = frames
    other_normal, other_size = other_frames
    order, tree = boxes
    code, functions = multiplier
    points, rule_weights = rule
    depth, radial = measure
    count = pieces.shape[0]
    corners, other_corners = pieces.shape[1], other_pieces.shape[1]
    nodes, other_nodes = facets.shape[1], other_facets.shape[1]
    slave_integrals = np.zeros((count, functions, nodes))
    weight, absolute_weight, weighted_gap = (
        np.zeros((count, functions)),
        np.zeros((count, functions)),
        np.zeros((count, functions)),
    )
    first = np.zeros(count + 1, dtype=np.int64)
    partner = np.empty(4 * count + 16, dtype=np.int64)
    master_integrals = np.zeros((4 * count + 16, functions, other_nodes))
    pairs = 0

    largest = other_size.max()
    candidates = np.empty(order.size, dtype=np.int64)
    axes = np.zeros((3, 3))
    low, high, point = np.zeros(3), np.zeros(3), np.zeros(2)
    centroid, inverse, other_inverse = np.zeros(2), np.zeros(6), np.zeros(6)
    local, other_local, window = np.zeros((MAX_NODES, 3)), np.zeros((MAX_NODES, 3)), np.zeros((4, 3))
    spare = np.zeros((MAX_CORNERS, 2))
    value, other_value, psi = np.zeros(MAX_NODES), np.zeros(MAX_NODES), np.zeros(MAX_NODES)
    slope = np.zeros((MAX_NODES, 2))
    for p in range(count):
        first[p] = pairs
        outward = normal[p]
        for i in range(3):
            low[i], high[i] = np.inf, -np.inf
        diameter = max(size[p], largest)
        for c in pieces[p]:
            for i in range(3):
                for along in (reach[0] + reach[1] * diameter, -(reach[2] + reach[3] * diameter)):
                    low[i] = min(low[i], x[c, i] + along * outward[i])
                    high[i] = max(high[i], x[c, i] + along * outward[i])
        candidate_count = near_pieces(low, high, order, tree, candidates)
        if candidate_count == 0:
            continue

        # the frame of the piece: its first edge made orthogonal to ν, ν × that, ν
        axes[2] = outward
        edge, length = 0.0, 0.0
        for i in range(3):
            edge += (x[pieces[p, 1], i] - x[pieces[p, 0], i]) * outward[i]
        for i in range(3):
            axes[0, i] = x[pieces[p, 1], i] - x[pieces[p, 0], i] - edge * outward[i]
            length += axes[0, i] ** 2
        axes[0] /= math.sqrt(length)
        cross_product(outward, axes[0], axes[1])
        parent = parents[p]
        scale = _localise(x, facets[parent], centre[p], axes, local)
        _localise(x, pieces[p], centre[p], axes, window)
        invert(kind, nodes, local, starts[p, 0], starts[p, 1], value, slope, inverse)
        piece_content = _content(window[:, :2].copy(), corners, centroid)

        polygons = np.empty((candidate_count, MAX_CORNERS, 2))
        sides = np.zeros(candidate_count, dtype=np.int64)
        gaps = np.zeros(candidate_count)
        partners, covered = 0, 0.0
        for entry in range(candidate_count):
            t = candidates[entry]
            facing = 0.0
            for i in range(3):
                facing += outward[i] * other_normal[t, i]
            if facing >= FACING:
                continue
            _localise(y, other_pieces[t], centre[p], axes, other_local)
            polygon = polygons[partners]
            for c in range(other_corners):  # seen from the slave the master is clockwise
                reversed_corner = other_corners - 1 - c
                polygon[c, 0], polygon[c, 1] = other_local[reversed_corner, 0], other_local[reversed_corner, 1]
            sides[partners] = clip(window, corners, polygon, other_corners, spare)
            if sides[partners] == 0:
                continue
            content = _content(polygon, sides[partners], centroid)
            if content <= TOUCHED * piece_content:
                continue
            other_scale = _localise(y, other_facets[other_parents[t]], centre[p], axes, other_local)
            invert(
                other_kind, other_nodes, other_local, other_starts[t, 0], other_starts[t, 1], other_value, slope,
                other_inverse,
            )  # fmt: skip
            inside = locate(kind, nodes, local, centroid[0], centroid[1], scale, inverse, point, value, slope)
            inside = inside and locate(
                other_kind, other_nodes, other_local, centroid[0], centroid[1], max(scale, other_scale),
                other_inverse, point, other_value, slope,
            )  # fmt: skip
            gap = 0.0
            for j in range(nodes):
                gap -= value[j] * local[j, 2]
            for j in range(other_nodes):
                gap += other_value[j] * other_local[j, 2]
            diameter = max(size[p], other_size[t])
            if not inside or gap > reach[0] + reach[1] * diameter or -gap > reach[2] + reach[3] * diameter:
                continue
            candidates[partners], gaps[partners] = t, gap
            covered += content
            partners += 1
        layers = covered > (1.0 + 1e-6) * piece_content  # a folded master: only the nearest layer counts at a point

        for entry in range(partners):
            t = candidates[entry]
            if pairs == partner.size:
                partner = np.append(partner, np.empty(pairs, dtype=np.int64))
                longer = np.zeros((2 * pairs, functions, other_nodes))
                longer[:pairs] = master_integrals
                master_integrals = longer
            partner[pairs] = other_parents[t]
            polygon = polygons[entry]
            other_scale = max(scale, _localise(y, other_facets[other_parents[t]], centre[p], axes, other_local))
            invert(
                other_kind, other_nodes, other_local, other_starts[t, 0], other_starts[t, 1], other_value, slope,
                other_inverse,
            )  # fmt: skip
            for simplex in range(1, max(2, sides[entry] - 1)):
                bu, bv = polygon[simplex, 0] - polygon[0, 0], polygon[simplex, 1] - polygon[0, 1]
                cu, cv, content = 0.0, 0.0, bu
                if corners > 2:
                    cu, cv = polygon[simplex + 1, 0] - polygon[0, 0], polygon[simplex + 1, 1] - polygon[0, 1]
                    content = 0.5 * (bu * cv - bv * cu)
                for q in range(rule_weights.size):
                    u = polygon[0, 0] + points[q, 0] * bu + points[q, 1] * cu
                    v = polygon[0, 1] + points[q, 0] * bv + points[q, 1] * cv
                    if layers:
                        hidden = False
                        for rival in range(partners):
                            nearer = abs(gaps[rival]) < abs(gaps[entry])
                            if nearer or (abs(gaps[rival]) == abs(gaps[entry]) and rival < entry):
                                hidden = hidden or _contains(polygons[rival], sides[rival], u, v)
                        if hidden:
                            continue
                    if not locate(
                        other_kind, other_nodes, other_local, u, v, other_scale, other_inverse, point, other_value,
                        slope,
                    ):  # fmt: skip
                        continue
                    if not locate(kind, nodes, local, u, v, scale, inverse, point, value, slope):
                        continue
                    shapes(code, point[0], point[1], psi, slope)
                    w = rule_weights[q] * content * depth
                    gap, radius = 0.0, 0.0
                    for j in range(nodes):
                        gap -= value[j] * local[j, 2]
                        radius += value[j] * x[facets[parent, j], 0]
                    for j in range(other_nodes):
                        gap += other_value[j] * other_local[j, 2]
                    if radial:
                        w *= 2.0 * math.pi * radius
                    for i in range(functions):
                        share = w * psi[i]
                        weight[p, i] += share
                        absolute_weight[p, i] += abs(share)
                        weighted_gap[p, i] += share * gap
                        for j in range(nodes):
                            slave_integrals[p, i, j] += share * value[j]
                        for j in range(other_nodes):
                            master_integrals[pairs, i, j] += share * other_value[j]
            pairs += 1
    first[count] = pairs
    return (
        slave_integrals,
        weight,
        absolute_weight,
        weighted_gap,
        first,
        partner[:pairs].copy(),
        master_integrals[:pairs].copy(),
    )


@njit(
    types.Tuple((Vector, Matrix, Cube, int32[::1], int32[::1], Vector))(
        int64, types.Tuple((Matrix, Table, Table, Numbers, Matrix, Vector)), MOMENTS,
        types.Tuple((Table, int64)), types.Tuple((Numbers, Numbers, Numbers, Vector)),
    ),
    cache=True,
)  # fmt: skip
def contact_rows(axes, slave, integrals, master, points):
    """Gaps, normals n_k, tangents and the rows of `Kinematics` as CSR (starts, columns, values), from the moments.

    slave: node positions (n, 3), facets, their pieces, the facet of each piece, normals and lengths (areas) of the
    pieces. integrals: what `moments` returns. master: facets and number of nodes. points: start, piece, function and
    areas (k,): point k is the sum of function[e] of piece[e], e = start[k] … start[k + 1].

    With n = −ν, ν = d1 × d2/|d1 × d2|, the slip rate needs τ·ṅ = −[ḋ1·(d2 × τ_p) + ḋ2·(τ_p × d1)]/|d1 × d2|,
    τ_p = τ − (τ·ν) ν.
    """
    x, facets, pieces, parents, normal, length = slave
    slave_integrals, weight, absolute_weight, weighted_gap, first, partner, master_integrals = integrals
    other_facets, other_count = master
    start, piece, function, areas = points
    count, nodes, other_nodes = start.size - 1, facets.shape[1], other_facets.shape[1]
    shift = x.shape[0]
    corners = pieces.shape[1]
    gap = np.full(count, np.inf)
    mean, tangent = np.zeros((count, axes)), np.zeros((count, axes - 1, axes))
    for k in range(count):
        total, absolute, sum_gap = 0.0, 0.0, 0.0
        for e in range(start[k], start[k + 1]):
            total += weight[piece[e], function[e]]
            absolute += absolute_weight[piece[e], function[e]]
            sum_gap += weighted_gap[piece[e], function[e]]
        # ψ ≥ 0 makes the two sums equal; a P2 end function covered only where it is negative carries no pressure
        paired = total > COVERED * areas[k] and total > 0.1 * absolute
        if paired:
            gap[k] = sum_gap / total
        norm = 0.0
        for e in range(start[k], start[k + 1]):
            for i in range(axes):
                mean[k, i] -= (weight[piece[e], function[e]] if paired else length[piece[e]]) * normal[piece[e], i]
        for i in range(axes):
            norm += mean[k, i] ** 2
        for i in range(axes):
            mean[k, i] /= max(math.sqrt(norm), 1e-300)
    make_tangents(mean, axes, tangent)

    slot = np.full(shift + other_count, -1, dtype=np.int64)
    used_nodes = np.empty(shift + other_count, dtype=np.int64)
    normal_row = np.zeros((shift + other_count, 3))
    slip_rows = np.zeros((shift + other_count, 3, 3))  # row 0 unused
    starts = np.zeros(axes * count + 1, dtype=np.int32)
    columns = np.empty(1024, dtype=np.int32)
    values = np.empty(1024)
    d1, d2, in_plane, lever1, lever2 = np.zeros(3), np.zeros(3), np.zeros(3), np.zeros(3), np.zeros(3)
    filled = 0
    for k in range(count):
        node_count, total = 0, 0.0
        if gap[k] < np.inf:
            for e in range(start[k], start[k + 1]):
                total += weight[piece[e], function[e]]
            for e in range(start[k], start[k + 1]):
                p, i = piece[e], function[e]
                if first[p] == first[p + 1]:
                    continue
                for r in range(first[p] - 1, first[p + 1]):  # first the slave's nodes, then each partner's
                    is_slave = r < first[p]
                    for j in range(nodes if is_slave else other_nodes):
                        node = facets[parents[p], j] if is_slave else shift + other_facets[partner[r], j]
                        share = slave_integrals[p, i, j] / total if is_slave else -master_integrals[r, i, j] / total
                        if slot[node] < 0:
                            slot[node] = node_count
                            used_nodes[node_count] = node
                            normal_row[node_count] = 0.0
                            slip_rows[node_count] = 0.0
                            node_count += 1
                        for c in range(axes):
                            normal_row[slot[node], c] -= share * normal[p, c]
                            for t in range(1, axes):
                                slip_rows[slot[node], t, c] += share * tangent[k, t - 1, c]
                _spans(x, pieces[p], d1, d2)
                rotation = weighted_gap[p, i] / (total * length[p])
                for t in range(1, axes):
                    tilt = 0.0
                    for c in range(axes):
                        tilt += tangent[k, t - 1, c] * normal[p, c]
                    for c in range(3):
                        in_plane[c] = (tangent[k, t - 1, c] if c < axes else 0.0) - tilt * normal[p, c]
                    cross_product(d2, in_plane, lever1)
                    cross_product(in_plane, d1, lever2)
                    if corners == 2:
                        lever2[:] = 0.0  # ẑ is constant
                    for c in range(axes):
                        if corners == 4:
                            slip_rows[slot[pieces[p, 2]], t, c] += rotation * lever1[c]
                            slip_rows[slot[pieces[p, 0]], t, c] -= rotation * lever1[c]
                            slip_rows[slot[pieces[p, 3]], t, c] += rotation * lever2[c]
                            slip_rows[slot[pieces[p, 1]], t, c] -= rotation * lever2[c]
                        else:
                            slip_rows[slot[pieces[p, 1]], t, c] += rotation * lever1[c]
                            slip_rows[slot[pieces[p, 0]], t, c] -= rotation * (lever1[c] + lever2[c])
                            if corners == 3:
                                slip_rows[slot[pieces[p, 2]], t, c] += rotation * lever2[c]
        used_nodes[:node_count].sort()
        while filled + node_count * axes * axes > columns.size:
            columns = np.append(columns, np.empty(columns.size, dtype=np.int32))
            values = np.append(values, np.empty(values.size))
        for row in range(axes):
            for m in range(node_count):
                node = used_nodes[m]
                for c in range(axes):
                    columns[filled] = axes * node + c
                    values[filled] = normal_row[slot[node], c] if row == 0 else slip_rows[slot[node], row, c]
                    filled += 1
            starts[axes * k + row + 1] = filled
        for m in range(node_count):
            slot[used_nodes[m]] = -1
    return gap, mean, tangent, starts, columns[:filled].copy(), values[:filled].copy()
