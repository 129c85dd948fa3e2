"""Cells of a solid cut by planes across an axis, with a quadrature on each piece."""

from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np

from arlequin.models import checks
from arlequin.models.types import Array, Indices
from arlequin.overlap.quadrature import on_simplices

# largest distance of a vertex on a plane, as a fraction of a cell
NEAR = 1e-10


@dataclass(frozen=True, eq=False)
class Slices:
    """Simplices that tile cells of a solid, cut by planes.

    cells (p,): the cell of each piece; X (axis, p, q): reference coordinates of the quadrature points; points
    (axis, p, q), m; dx (p, q): m² or m³.
    """

    cells: Indices
    X: Array
    points: Array
    dx: Array

    def __getitem__(self, chosen: Any) -> "Slices":
        """The chosen pieces."""
        return Slices(self.cells[chosen], self.X[:, chosen], self.points[:, chosen], self.dx[chosen])

    @property
    def count(self) -> int:
        """Number of pieces."""
        return self.cells.size


def slice_cells(basis: Any, cells: Indices, tangent: Array, planes: Array, order: int) -> Slices:
    """The `cells` of a plane or solid basis cut by the planes x·tangent = each of `planes`, m.

    order: degree of the polynomials integrated exactly on affine cells. Quadrilaterals and hexahedra are split into 2
    triangles and 6 tetrahedra of the reference cell, and the cuts are interpolated from their vertices: exact where
    x·tangent is affine in the cell, as in boxes, otherwise approximate in position; the quadrature uses the true
    mapping of the cell.
    """
    checks.positive_integer("order", order)
    mapping, axes = basis.mapping, basis.mesh.dim()
    corners = reference_simplices(axes, basis.mesh.t.shape[0])  # (simplex, vertex, axis)
    shape = (axes, cells.size, corners.shape[0] * (axes + 1))
    flat = np.broadcast_to(corners.reshape(-1, axes).T[:, None, :], shape)
    heights = np.tensordot(tangent, np.asarray(mapping.F(flat, cells)), 1).reshape(-1, axes + 1)
    X = np.broadcast_to(corners, (cells.size, *corners.shape)).reshape(-1, axes + 1, axes)
    owners = np.repeat(cells, corners.shape[0])
    near = NEAR * float(np.ptp(heights, axis=1).max(initial=0.0))
    for plane in planes:
        X, heights, owners = cut_simplices(X, heights, owners, float(plane), near)
    return _quadrature(mapping, X, owners, order)


def reference_simplices(axes: int, vertices: int) -> Array:
    """Simplices (simplex, vertex, axis) that tile the reference cell: itself, or one per permutation of the axes."""
    if vertices == axes + 1:
        return np.vstack((np.zeros(axes), np.eye(axes)))[None]
    steps = [np.cumsum(np.eye(axes)[list(order)], axis=0) for order in permutations(range(axes))]
    return np.array([np.vstack((np.zeros(axes), path)) for path in steps])


def cut_simplices(X: Array, heights: Array, owners: Indices, plane: float, near: float) -> tuple[Array, Array, Indices]:
    """Simplices X (p, vertex, axis) with heights (p, vertex) bisected until no edge crosses height = plane."""
    while True:
        above = heights - plane
        crosses = (above.min(axis=1) < -near) & (above.max(axis=1) > near)
        if not crosses.any():
            return X, heights, owners
        rank, side = np.arange(crosses.sum()), above[crosses]
        low, high = side.argmin(axis=1), side.argmax(axis=1)
        share = side[rank, low] / (side[rank, low] - side[rank, high])
        corners = X[crosses]
        middle = corners[rank, low] + share[:, None] * (corners[rank, high] - corners[rank, low])
        halves = []
        for replaced in (low, high):
            half, level = corners.copy(), heights[crosses].copy()
            half[rank, replaced], level[rank, replaced] = middle, plane
            halves.append((half, level, owners[crosses]))
        uncut = (X[~crosses], heights[~crosses], owners[~crosses])
        X, heights, owners = (np.concatenate(group) for group in zip(uncut, *halves, strict=True))


def _quadrature(mapping: Any, simplices: Array, owners: Indices, order: int) -> Slices:
    """Points and weights on simplices (p, vertex, axis) in reference coordinates."""
    simplices = np.moveaxis(simplices, 0, 2)
    nondegenerate = np.abs(np.linalg.det((simplices[1:] - simplices[:1]).transpose(2, 0, 1))) > 0
    owners = owners[nondegenerate]
    X, dx = on_simplices(simplices[..., nondegenerate].transpose(1, 0, 2), order)
    X = np.ascontiguousarray(X)
    return Slices(owners, X, np.asarray(mapping.F(X, owners)), dx * np.abs(np.asarray(mapping.detDF(X, owners))))


def fit_weights(pointwise: Array, dx: Array, polynomials: Array, moments: Array) -> Array:
    """Weights (c, q) nearest to the pointwise ones with Σ_q w_q dx_q p_m(x_q) = moments (c, m).

    polynomials p_m (m, q), p_0 = 1. For cells in which a weight has a kink or jump, which the quadrature rule of the
    cell does not resolve; negative fits are `shrunk` towards the cell's mean.
    """
    residual = moments - np.einsum("mq,cq->cm", polynomials, pointwise * dx)
    gram = np.einsum("mq,nq,cq->cmn", polynomials, polynomials, dx)
    fitted = pointwise + np.linalg.solve(gram, residual[:, :, None])[:, :, 0] @ polynomials
    mean = (fitted * dx).sum(axis=1) / dx.sum(axis=1)
    return shrunk(fitted, mean, 0.0 * mean)


def shrunk(fitted: Array, mean: Array, least: Array) -> Array:
    """Weights (c, q) shrunk towards their mean (c,) until none is below `least` (c,).

    Source: limiter of Zhang & Shu, J. Comput. Phys. 229, 2010.
    """
    low = fitted.min(axis=1)
    factor = np.where(low < least, (mean - least) / np.where(low < least, mean - low, 1.0), 1.0)
    return mean[:, None] + factor[:, None] * np.where(mean[:, None] > 0, fitted - mean[:, None], 0.0)


def monomials(X: Array, degree: int) -> Array:
    """Monomials (m, …) up to a total degree in the centred reference coordinates X (axis, …), 1 first."""
    powers = np.indices((degree + 1,) * X.shape[0]).reshape(X.shape[0], -1).T
    centred = 2 * X - 1
    exponents = powers[powers.sum(axis=1) <= degree]
    return np.stack([np.prod([centred[i] ** n for i, n in enumerate(row)], axis=0) for row in exponents])
