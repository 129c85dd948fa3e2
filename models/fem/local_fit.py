"""Local polynomial fits of nodal fields: interpolation of high order, and what a field has of waves that are too short
for it."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array, eye_array

from arlequin.models.fem.cells import CellArrays
from arlequin.models.types import Array, Indices

# By the number of axes: nodes of a cubic fit at a point of a cell, more where the first do not determine it; nodes of
# the fit around a node, its degree, and how far these nodes are taken, in spacings.
CUBIC = {1: (4, 6), 2: (12, 24), 3: (32, 96)}
AROUND = {1: (7,), 2: (29,), 3: (123,)}
DEGREE = {1: 5, 2: 4, 3: 4}
REACH = {1: np.inf, 2: 3.1, 3: 3.1}
# The weights of a cubic fit fall by this power of ten over a node spacing: the nodes next to the cell, four in a row,
# determine it, and others only what these leave open, next to borders.
FALL = 4.0
# Next to borders in three dimensions: weights of a cubic fit below which a node is left out, and the rest fitted again.
NEGLIGIBLE = 2e-3
# makes the high-pass of waves along an axis of a regular mesh that of a line
SCALE = {1: 1.0, 2: 1.2177, 3: 1.3982}

# distances, in node spacings, that are equal
_TIE = 1e-6
# nodes of a regular mesh that are as far away as the last one of a fit, and cells as near to a point, at most
_EQUAL_NODES = {1: 2, 2: 8, 3: 24}
_EQUAL_CELLS = {1: 2, 2: 8, 3: 32}

# a monomial of which less than this fraction is independent of those of lower degree is left out of a fit
_RANK = 1e-6
_CHUNK = 2_000  # fits that are solved at a time


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
            return np.asarray(10.0 ** (FALL * (distance.min(axis=1, keepdims=True) - distance)))

        cell = _first_nearest(centres / self.scale, points / self.scale)
        rows, columns, values = [], [], []
        counts = CUBIC[points.shape[1]]
        least = NEGLIGIBLE if points.shape[1] == 3 else 0.0
        for chunk, near, weights in self._fits(points, centres[cell], 3, counts, near_first, moment, least):
            row, column = np.nonzero((weights != 0.0) | (least == 0.0))
            rows.append(chunk[row])
            columns.append(self.numbers[near[row, column]])
            values.append(weights[row, column])
        entries = np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))
        return csr_array(coo_array(entries, shape=(len(points), self.total)))

    def high_pass(self, chosen: Indices) -> csr_array:
        """F (chosen, total): the values at some of the nodes less those of the polynomials fitted around each.

        F annihilates polynomials of degree 4 where the nodes determine them, and linear ones on every mesh; in the
        middle of regular nodes also those of degree 5, and on a regular line it is −20 δ⁶/924, δ⁶ the sixth
        difference: 1.39 for the shortest wave (2 H), 4e-3 at 8 H. At a border in two and three dimensions the nodes
        beyond `REACH` do not take the place of those that are missing: over a longer distance along the border a
        polynomial would follow waves of 8 H less well.
        """
        points = self.positions[chosen]
        axes = points.shape[1]

        def within(distance: Array) -> Array:
            return np.asarray(distance <= REACH[axes], dtype=float)

        entries: list[tuple[Array, Indices, Indices]] = []
        for chunk, near, weights in self._fits(
            points, points, DEGREE[axes], AROUND[axes], within, np.zeros((axes, axes))
        ):
            entries.append((-weights.ravel(), np.repeat(chunk, near.shape[1]), self.numbers[near].ravel()))
        values, rows, columns = (np.concatenate(each) for each in zip(*entries, strict=True))
        shape = (chosen.size, self.total)
        fitted = csr_array(coo_array((values, (rows, columns)), shape=shape))
        own = csr_array(eye_array(self.total, format="csr")[self.numbers[chosen]])
        return csr_array(SCALE[axes] * (own + fitted))

    def _fits(
        self,
        points: Array,
        centres: Array,
        degree: int,
        counts: tuple[int, ...],
        weight: Callable[[Array], Array],
        moment: Array,
        least: float = 0.0,
    ) -> Iterator[tuple[Indices, Indices, Array]]:
        """Of some points at a time: their numbers (p,), the nodes (p, k) next to the centres, their weights (p, k).

        k is the least of the counts with which all monomials of the degree are determined, or the last one. weight: of
        the squares in the fit, by the distance (p, k) of a node in spacings. Where more nodes than the first count are
        taken, those whose weights are less than `least` are left out, and the fit made with the others.
        """
        from scipy.spatial import cKDTree

        tree = cKDTree(self.positions / self.scale)
        powers = _powers(points.shape[1], degree)
        curvature = moment / np.outer(self.scale, self.scale)
        for start in range(0, len(points), _CHUNK):
            pending = np.arange(start, min(start + _CHUNK, len(points)))
            for count in counts:
                last = min(count, len(self.positions)) - 1
                wanted = [*range(1, min(count + _EQUAL_NODES[powers.shape[1]], len(self.positions)) + 1)]
                distance, near = tree.query(centres[pending] / self.scale, k=wanted)
                # all nodes as far away as the last one: which of them come first is a matter of round-off
                taken = distance <= distance[:, last : last + 1] + _TIE
                root = np.sqrt(weight(distance) * taken)
                offset = (self.positions[near] - points[pending, None, :]) / self.scale
                matrix = _monomials(offset, powers) + _second_derivatives(offset, powers, curvature)
                values, determined = _value_weights(matrix * root[:, :, None])
                if least and count > counts[0]:
                    near, root, values = _with_fewer_nodes(near, root, matrix, values, determined, least)
                done = determined | (count == counts[-1])
                yield pending[done], near[done].astype(np.int64), (root * values)[done]
                pending = pending[~done]


def _first_nearest(centres: Array, points: Array) -> Indices:
    """The number of the nearest of the centres (c, axis) to each point (p, axis), the lowest of equally near ones."""
    from scipy.spatial import cKDTree

    count = min(len(centres), _EQUAL_CELLS[points.shape[1]])
    distance, found = cKDTree(centres).query(points, k=[*range(1, count + 1)])
    near = distance <= distance[:, :1] + _TIE
    return np.asarray(np.where(near, found, len(centres)).min(axis=1), dtype=np.int64)


def _value_weights(columns: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Weights (p, k) of the nodal values in the constant term of the least-squares fits with the columns (p, k, m), and
    whether (p,) the nodes determine all columns.

    The columns are made orthonormal in their order, by degree; those that depend on the ones before are left out, so
    that lower degrees are reproduced exactly where the nodes do not determine the higher ones. Each carries its value
    at the point, `ends`, through the same operations.
    """
    count, nodes, size = columns.shape
    basis, ends = np.zeros((count, size, nodes)), np.zeros((count, size))
    for j in range(size):
        column, end = columns[:, :, j].copy(), np.full(count, float(j == 0))
        length = np.linalg.norm(column, axis=1)
        for _ in range(2):  # twice is enough for orthogonality to round-off
            shares = (basis[:, :j] @ column[:, :, None])[:, :, 0]
            column -= (shares[:, None, :] @ basis[:, :j])[:, 0]
            end -= (shares * ends[:, :j]).sum(axis=1)
        rest = np.linalg.norm(column, axis=1)
        scale = np.divide(1.0, rest, out=np.zeros_like(rest), where=rest > _RANK * length)
        basis[:, j], ends[:, j] = column * scale[:, None], end * scale
    independent: NDArray[np.bool_] = np.asarray(basis.any(axis=2).sum(axis=1) == size)
    return np.asarray((ends[:, None, :] @ basis)[:, 0]), independent


def _with_fewer_nodes(
    near: Array, root: Array, matrix: Array, values: Array, determined: NDArray[np.bool_], least: float
) -> tuple[Array, Array, Array]:
    """The nodes (p, k), roots (p, k) and weights (p, k) of the fits without the nodes whose weights are below `least`,
    k as few as they need; with all nodes where the others do not determine what all together do."""
    weights = np.abs(root * values)
    kept = weights >= least
    order = np.argsort(~kept, axis=1, kind="stable")[:, : int(kept.sum(axis=1).max(initial=0))]

    def ordered(x: Array) -> Array:
        return np.asarray(np.take_along_axis(x, order, axis=1))

    few = ordered(root * kept)
    again, enough = _value_weights(np.take_along_axis(matrix, order[:, :, None], axis=1) * few[:, :, None])
    lost = np.flatnonzero(determined & ~enough)
    found = ordered(near), few, again
    if not lost.size:
        return found
    wide = near.copy(), np.zeros_like(root), np.zeros_like(values)
    for whole, own, narrow in zip(wide, (near, root, values), found, strict=True):
        whole[:, : order.shape[1]] = narrow
        whole[lost] = own[lost]
    return wide


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
    found = []
    for total in range(degree + 1):
        for factors in combinations_with_replacement(range(axes), total):
            found.append([factors.count(axis) for axis in range(axes)])
    return np.array(found, dtype=np.int64)


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
            there = (lower >= 0).all(axis=1)
            result[..., there] += curvature[i, j] * _monomials(x, lower[there])
    return result
