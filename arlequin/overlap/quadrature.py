"""Quadrature on the pieces of an overlap: simplices, boxes, and groups of tetrahedra under one short rule."""

from functools import lru_cache

import numpy as np
from numpy.polynomial import legendre
from scipy.linalg import qr
from skfem.quadrature import get_quadrature
from skfem.refdom import RefLine, RefTet, RefTri

from arlequin.models.linalg.determinants import determinants
from arlequin.models.types import Array, Indices


def on_simplices(simplices: Array, order: int) -> tuple[Array, Array]:
    """Points (axis, p, q) and weights (p, q) of a rule on intervals, triangles or tetrahedra (axis, vertex, p).

    The weights are positive on intervals and triangles, and above order 11 on tetrahedra.
    """
    axes = simplices.shape[0]
    if order > {1: order, 2: 19, 3: 11}[axes]:  # not available in scikit-fem
        X, W = _conical(order, axes)
        W = W / (W.sum() * (2 if axes == 2 else 6))
    else:
        X, W = _library_rule(axes, order)
    edges = simplices[:, 1:] - simplices[:, :1]
    points = simplices[:, 0, :, None] + np.einsum("ivp,vq->ipq", edges, X)
    return points, np.abs(determinants(np.moveaxis(edges, -1, 0)))[:, None] * W


def on_faces(faces: Array, order: int) -> tuple[Array, Array]:
    """Points (axis, n, q) and weights (n, q) of a rule on points, segments or triangles (axis, axis, n): 1, m or m²."""
    axes = faces.shape[0]
    if axes == 1:
        return faces.transpose(0, 2, 1), np.ones((faces.shape[2], 1))
    X, W = _library_rule(axes - 1, order)
    edges = faces[:, 1:] - faces[:, :1]
    normal = edges[:, 0] if axes == 2 else np.cross(edges[:, 0], edges[:, 1], axis=0)
    return faces[:, 0, :, None] + np.einsum("ivn,vq->inq", edges, X), np.linalg.norm(normal, axis=0)[:, None] * W


def _library_rule(axes: int, order: int) -> tuple[Array, Array]:
    """Points and weights of scikit-fem's rule on the unit interval, triangle or tetrahedron."""
    # the triangle rules of orders 3 and 7 have negative weights
    order = order + 1 if axes == 2 and order in (3, 7) else order
    return get_quadrature((RefLine, RefTri, RefTet)[axes - 1], max(order, 1))


def on_boxes(low: Array, high: Array, degree: int) -> tuple[Array, Array]:
    """Points (axis, p, q), weights (p, q) on boxes `low`, `high` (p, 3), exact to `degree` along each axis."""
    x, w = legendre.leggauss(degree // 2 + 1)
    grid = np.stack([a.ravel() for a in np.meshgrid(x, x, x, indexing="ij")])
    weights = np.einsum("i,j,k->ijk", w, w, w).ravel() / 8
    size = high - low
    points = low.T[:, :, None] + size.T[:, :, None] * (0.5 * (1 + grid))[:, None, :]
    return points, size.prod(axis=1)[:, None] * weights


def on_groups(tetrahedra: Array, first: Indices, order: int) -> tuple[Array, Array]:
    """One rule per group of tetrahedra: points (axis, g, q) and weights (g, q).

    tetrahedra (n, 4, 3), of group g those from first[g] to first[g + 1]. The rule is exact over the group for
    polynomials of total degree `order`, with as many points as there are such polynomials (10 for degree 2), for any
    number of tetrahedra: points fixed in the group's bounding box, weights from the moments. Weights may be negative.
    Source: moment fitting, Müller, Kummer & Oberlack, IJNME 96, 2013; points: approximate Fekete points, Sommariva &
    Vianello, Computers & Mathematics with Applications 57, 2009.
    """
    from arlequin.overlap._kernels import moments

    reference, inverse, powers = fekete(order)
    if first.size < 2:
        return np.zeros((3, 0, reference.shape[1])), np.zeros((0, reference.shape[1]))
    low = np.minimum.reduceat(tetrahedra.min(axis=1), first[:-1])
    high = np.maximum.reduceat(tetrahedra.max(axis=1), first[:-1])
    barycentric, rule = tetrahedron_rule(order)
    integrals = moments(tetrahedra, first, low, high, barycentric, rule, powers)
    points = low.T[:, :, None] + (high - low).T[:, :, None] * (0.5 * (1 + reference))[:, None, :]
    return points, integrals @ inverse


@lru_cache(maxsize=16)
def fekete(degree: int) -> tuple[Array, Array, Indices]:
    """Points (3, m) in [-1, 1]³ unisolvent for degree `degree`, the inverse Vandermonde matrix, the powers (m, 3).

    weights (m,) = moments (m,) @ inverse, moments of the products of Legendre polynomials of `powers`.
    """
    powers = np.indices((degree + 1,) * 3).reshape(3, -1).T
    powers = powers[powers.sum(axis=1) <= degree]
    count = 2 * degree + 2
    x = np.cos(np.pi * (np.arange(count) + 0.5) / count)
    grid = np.stack([a.ravel() for a in np.meshgrid(x, x, x, indexing="ij")])
    values = [legendre.legvander(axis, degree) for axis in grid]
    table = values[0][:, powers[:, 0]] * values[1][:, powers[:, 1]] * values[2][:, powers[:, 2]]
    _, _, pivots = qr(table.T, mode="economic", pivoting=True)
    chosen = np.sort(pivots[: len(powers)])
    inverse = np.linalg.inv(table[chosen].T).T
    return np.ascontiguousarray(grid[:, chosen]), np.ascontiguousarray(inverse), np.ascontiguousarray(powers)


@lru_cache(maxsize=16)
def tetrahedron_rule(order: int) -> tuple[Array, Array]:
    """Barycentric points (q, 4) and weights (q,) of sum 1 of a rule on the tetrahedron."""
    if order <= 8:
        # from order 5 on scikit-fem's rules are exact to one degree less than documented
        X, W = get_quadrature(RefTet, max(order, 1) if order < 5 else order + 1)
    else:
        X, W = _conical(order, 3)
    barycentric = np.vstack((1 - X.sum(axis=0), X)).T
    return np.ascontiguousarray(barycentric), np.ascontiguousarray(W / W.sum())


def _conical(order: int, axes: int) -> tuple[Array, Array]:
    """Points (axis, q) and positive weights (q,) on the unit triangle or tetrahedron: products of Gauss–Jacobi rules.

    The weights are not scaled to the area or volume.
    """
    from scipy.special import roots_jacobi  # slow import

    rules = [roots_jacobi(order // 2 + 1, power, 0) for power in range(axes - 1, -1, -1)]
    lines = np.meshgrid(*(0.5 * (1 + x) for x, _ in rules), indexing="ij")
    points = []
    for k, line in enumerate(lines):
        for earlier in lines[:k]:
            line = line * (1 - earlier)
        points.append(line.ravel())
    weights = 1.0
    for along in np.meshgrid(*(w for _, w in rules), indexing="ij"):
        weights = weights * along
    return np.stack(points), np.ravel(weights)
