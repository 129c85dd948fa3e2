"""Local polynomial fits of nodal fields: high-order interpolation, and the short-wave content of a field."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array, eye_array

from arlequin.models.fem.cells import CellArrays
from arlequin.models.types import Array, Indices

# By the number of axes: nodes of a cubic fit at a point of a cell, and more if these do not determine it; nodes of the
# fit around a node, its degree, and the largest distance of these nodes, in spacings.
CUBIC = {1: (4, 6), 2: (12, 24), 3: (32, 96)}
AROUND = {1: (7,), 2: (29,), 3: (123,)}
DEGREE = {1: 5, 2: 4, 3: 4}
REACH = {1: np.inf, 2: 3.1, 3: 3.1}
# Decades by which the weights of a cubic fit decay over a node spacing: the nodes next to the cell, four in a row,
# determine it, and others only contribute where these do not suffice, next to borders.
WEIGHT_DECAY = 4.0
# Next to borders in three dimensions: weight of a node in a cubic fit below which it is left out, and the fit repeated.
NEGLIGIBLE = 2e-3
# factor by which the high-pass of waves along an axis of a regular mesh is that of a line
SCALE = {1: 1.0, 2: 1.2177, 3: 1.3982}

# distances, in node spacings, that count as equal
_TIE = 1e-6
# most nodes of a regular mesh at the distance of the last one of a fit, and most cells equally near to a point
_EQUAL_NODES = {1: 2, 2: 8, 3: 24}
_EQUAL_CELLS = {1: 2, 2: 8, 3: 32}

# a monomial is left out of a fit if less than this fraction is independent of those of lower degree
_RANK = 1e-6
_CHUNK = 2_000  # fits per solve


@dataclass(frozen=True, eq=False)
class NodeCloud:
    """Nodes on which polynomials are fitted.

    positions (n, axis), m; numbers (n,): of the nodes in their part; total: number of nodes of the part; scale (axis,):
    mean extents of the cells, m, by which distances are measured.
    """

    positions: Array
    numbers: Indices
    total: int
    scale: Array

    def interpolation(self, points: Array, centres: Array, moment: Array) -> csr_array:
        """E (points, total): the value at each point of the cubic polynomial fitted to the nodes around its cell.

        points (p, axis), m; centres (c, axis) of the cells, m; moment (axis, axis), m²: T of nodal values
        v_i = (v + T:∇∇v)(x_i), as those of an L² projection are (`projection_moment`). E reproduces cubic polynomials v
        with such values where the nodes determine them.
        """

        def near_first(distance: Array) -> Array:
            return np.asarray(10.0 ** (WEIGHT_DECAY * (distance.min(axis=1, keepdims=True) - distance)))

        cell = _first_nearest(centres / self.scale, points / self.scale)
        rows, columns, values = [], [], []
        counts = CUBIC[points.shape[1]]
        negligible = NEGLIGIBLE if points.shape[1] == 3 else 0.0
        for chunk, nodes, weights in self._fits(points, centres[cell], 3, counts, near_first, moment, negligible):
            row, column = np.nonzero((weights != 0.0) | (negligible == 0.0))
            rows.append(chunk[row])
            columns.append(self.numbers[nodes[row, column]])
            values.append(weights[row, column])
        entries = np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))
        return csr_array(coo_array(entries, shape=(len(points), self.total)))

    def high_pass(self, subset: Indices) -> csr_array:
        """F (subset, total): the values at some of the nodes less those of the polynomials fitted around each.

        F annihilates polynomials of degree 4 where the nodes determine them, and linear ones on every mesh; in the
        middle of regular nodes also those of degree 5, and on a regular line it is −20 δ⁶/924, δ⁶ the sixth
        difference: 1.39 for the shortest wave (2 H), 4e-3 at 8 H. At a border in two and three dimensions the missing
        nodes are not replaced by nodes beyond `REACH`: over a longer distance along the border a polynomial would fit
        waves of 8 H less well.
        """
        points = self.positions[subset]
        axes = points.shape[1]

        def within(distance: Array) -> Array:
            return np.asarray(distance <= REACH[axes], dtype=float)

        entries: list[tuple[Array, Indices, Indices]] = []
        for chunk, near, weights in self._fits(
            points, points, DEGREE[axes], AROUND[axes], within, np.zeros((axes, axes))
        ):
            entries.append((-weights.ravel(), np.repeat(chunk, near.shape[1]), self.numbers[near].ravel()))
        values, rows, columns = (np.concatenate(each) for each in zip(*entries, strict=True))
        shape = (subset.size, self.total)
        fitted = csr_array(coo_array((values, (rows, columns)), shape=shape))
        identity = csr_array(eye_array(self.total, format="csr")[self.numbers[subset]])
        return csr_array(SCALE[axes] * (identity + fitted))

    def _fits(
        self,
        points: Array,
        centres: Array,
        degree: int,
        counts: tuple[int, ...],
        weight: Callable[[Array], Array],
        moment: Array,
        negligible: float = 0.0,
    ) -> Iterator[tuple[Indices, Indices, Array]]:
        """Chunks of points: their numbers (p,), the nodes (p, k) next to the centres, their weights (p, k).

        k is the least of the counts with which all monomials of the degree are determined, or the last one. weight: of
        the squares in the fit, by the distance (p, k) of a node in spacings. Where more nodes than the first count are
        needed, those with weights below `negligible` are left out, and the fit is repeated with the others.
        """
        from scipy.spatial import cKDTree

        tree = cKDTree(self.positions / self.scale)
        powers = _powers(points.shape[1], degree)
        curvature = moment / np.outer(self.scale, self.scale)
        for start in range(0, len(points), _CHUNK):
            pending = np.arange(start, min(start + _CHUNK, len(points)))
            for count in counts:
                last_neighbour = min(count, len(self.positions)) - 1
                neighbours = [*range(1, min(count + _EQUAL_NODES[powers.shape[1]], len(self.positions)) + 1)]
                distance, nodes = tree.query(centres[pending] / self.scale, k=neighbours)
                # all nodes at the distance of the last one: their order depends on round-off
                within = distance <= distance[:, last_neighbour : last_neighbour + 1] + _TIE
                root = np.sqrt(weight(distance) * within)
                offset = (self.positions[nodes] - points[pending, None, :]) / self.scale
                matrix = _monomials(offset, powers) + _second_derivatives(offset, powers, curvature)
                values, determined = _value_weights(matrix * root[:, :, None])
                if negligible and count > counts[0]:
                    nodes, root, values = _drop_negligible_nodes(nodes, root, matrix, values, determined, negligible)
                complete = determined | (count == counts[-1])
                yield pending[complete], nodes[complete].astype(np.int64), (root * values)[complete]
                pending = pending[~complete]


def _first_nearest(centres: Array, points: Array) -> Indices:
    """The number of the nearest of the centres (c, axis) to each point (p, axis), the lowest of equally near ones."""
    from scipy.spatial import cKDTree

    count = min(len(centres), _EQUAL_CELLS[points.shape[1]])
    distance, neighbours = cKDTree(centres).query(points, k=[*range(1, count + 1)])
    nearest = distance <= distance[:, :1] + _TIE
    return np.asarray(np.where(nearest, neighbours, len(centres)).min(axis=1), dtype=np.int64)


def _value_weights(columns: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Weights (p, k) of the nodal values in the constant term of the least-squares fits with the columns (p, k, m), and
    whether (p,) the nodes determine all columns.

    The columns are orthonormalised in their order, by degree; linearly dependent ones are left out, so that lower
    degrees are reproduced exactly where the nodes do not determine the higher ones. The same operations are applied to
    the values of the columns at the point, `ends`.
    """
    count, nodes, size = columns.shape
    basis, ends = np.zeros((count, size, nodes)), np.zeros((count, size))
    for j in range(size):
        column, end = columns[:, :, j].copy(), np.full(count, float(j == 0))
        length = np.linalg.norm(column, axis=1)
        for _ in range(2):  # twice: orthogonal to round-off
            projections = (basis[:, :j] @ column[:, :, None])[:, :, 0]
            column -= (projections[:, None, :] @ basis[:, :j])[:, 0]
            end -= (projections * ends[:, :j]).sum(axis=1)
        remainder = np.linalg.norm(column, axis=1)
        scale = np.divide(1.0, remainder, out=np.zeros_like(remainder), where=remainder > _RANK * length)
        basis[:, j], ends[:, j] = column * scale[:, None], end * scale
    independent: NDArray[np.bool_] = np.asarray(basis.any(axis=2).sum(axis=1) == size)
    return np.asarray((ends[:, None, :] @ basis)[:, 0]), independent


def _drop_negligible_nodes(
    nodes: Array, root: Array, matrix: Array, values: Array, determined: NDArray[np.bool_], negligible: float
) -> tuple[Array, Array, Array]:
    """The nodes (p, k), roots (p, k) and weights (p, k) of the fits without the nodes of weights below `negligible`, k
    as small as possible; with all nodes where the others do not determine the fit and all of them do."""
    weights = np.abs(root * values)
    important = weights >= negligible
    order = np.argsort(~important, axis=1, kind="stable")[:, : int(important.sum(axis=1).max(initial=0))]

    def ordered(x: Array) -> Array:
        return np.asarray(np.take_along_axis(x, order, axis=1))

    reduced_root = ordered(root * important)
    new_values, still_determined = _value_weights(
        np.take_along_axis(matrix, order[:, :, None], axis=1) * reduced_root[:, :, None]
    )
    undetermined = np.flatnonzero(determined & ~still_determined)
    reduced = ordered(nodes), reduced_root, new_values
    if not undetermined.size:
        return reduced
    restored = nodes.copy(), np.zeros_like(root), np.zeros_like(values)
    for padded, full, short in zip(restored, (nodes, root, values), reduced, strict=True):
        padded[:, : order.shape[1]] = short
        padded[undetermined] = full[undetermined]
    return restored


def interpolation_moment(cells: CellArrays, vertices: Array) -> Array:
    """T (axis, axis), m², of first-order functions: interpolants of v are v + T:∇∇v + O(h³) in the mean over a cell.

    2T is the mean of Σ_i φ_i r_i r_iᵀ over the cells, r_i = x − x_i: T = diag(h²)/12 for lines, rectangles and boxes.
    vertices (c, n, axis): nodes of the cells, m.
    """
    points = np.einsum("qn,cni->cqi", cells.values, vertices)
    dx = np.abs(cells.dx)
    r = points[:, :, None, :] - vertices[:, None, :, :]
    return np.asarray(0.5 * np.einsum("cq,qn,cqni,cqnj->ij", dx, cells.values, r, r, optimize=True) / dx.sum())


def projection_moment(cells: CellArrays, vertices: Array) -> Array:
    """T (axis, axis), m², of first-order functions: nodal values of the L² projection of v are v + T:∇∇v + O(H⁴).

    Row i of the projection is Σ_j M_ij p(x_j) = ∫φ_i v, so that 2T is the difference of the second moments of φ_i and
    of the row of M; the mean over the cells is taken, in which each cell's share is Σ_i ∫φ_i r_i r_iᵀ − Σ_ij M_ij e_ij
    e_ijᵀ, e_ij = x_j − x_i. T = −diag(h²)/12 for lines, rectangles and boxes of extents h, −h²/16 1 for equilateral
    triangles. vertices (c, n, axis): nodes of the cells, m.
    """
    dx = np.abs(cells.dx)
    e = vertices[:, None, :, :] - vertices[:, :, None, :]
    mass = np.einsum("cq,qn,qm->cnm", dx, cells.values, cells.values)
    rows = 0.5 * np.einsum("cnm,cnmi,cnmj->ij", mass, e, e, optimize=True) / dx.sum()
    return np.asarray(interpolation_moment(cells, vertices) - rows)


def _powers(axes: int, degree: int) -> Indices:
    """Exponents (m, axis) of the monomials up to a total degree, the constant first."""
    exponents = []
    for total in range(degree + 1):
        for factors in combinations_with_replacement(range(axes), total):
            exponents.append([factors.count(axis) for axis in range(axes)])
    return np.array(exponents, dtype=np.int64)


def _monomials(x: Array, powers: Indices) -> Array:
    """x^α/α! (…, m) at x (…, axis)."""
    scale = np.array([math.prod(math.factorial(int(p)) for p in power) for power in powers], dtype=float)
    # powers by products: a general power costs ten times as much
    tables = [np.ones_like(x)]
    for _ in range(int(powers.max(initial=0))):
        tables.append(tables[-1] * x)
    out = np.empty((*x.shape[:-1], len(powers)))
    for m, power in enumerate(powers):
        out[..., m] = math.prod(tables[p][..., axis] for axis, p in enumerate(power)) / scale[m]
    return out


def _second_derivatives(x: Array, powers: Indices, curvature: Array) -> Array:
    """T:∇∇ (…, m) of the monomials x^α/α!."""
    result = np.zeros((*x.shape[:-1], len(powers)))
    for i in range(x.shape[-1]):
        for j in range(x.shape[-1]):
            if curvature[i, j] == 0.0:
                continue
            lower = powers.copy()
            lower[:, i] -= 1
            lower[:, j] -= 1
            present = (lower >= 0).all(axis=1)
            result[..., present] += curvature[i, j] * _monomials(x, lower[present])
    return result
