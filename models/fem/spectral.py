"""Spectral elements: Lagrange polynomials of lines, quadrilaterals and hexahedra at Gauss–Lobatto–Legendre points.

The p + 1 Lobatto points of [−1, 1] are its ends and the roots of P_p′, with the weights w_n = 2/(p(p + 1) P_p(ξ_n)²);
the rule is exact to degree 2p − 1. Of p = 2 they are the ends and the middle: the elements of order 2, which scikit-fem
has, are spectral too. Nodes and functions of quadrilaterals and hexahedra are products of those of lines. With the
polynomials φ_n through the points

    ∫ φ_n dξ = w_n,    ∫ φ_n² dξ = 2p/(2p + 1) w_n,    ∫ ξ φ_n² dξ = (2p − 1)/(2p + 1) ξ_n w_n,

so that on affine cells the diagonal of the consistent mass, scaled to the cell's mass, is the diagonal mass of the
Lobatto rule; under a weight that is linear in the cell it is that of the weight with 1 − 1/(2p) of its slope, which is
positive also at nodes where the weight is 0. The stiffness is integrated by p + 1 Gauss points along each axis, exactly
on affine cells also under a linear weight; the Lobatto rule would not do so on quadrilaterals and hexahedra. The
frequency of a wave of number k in a bar of cells of the size H has the relative error ½ (p!/(2p)!)² (kH)^(2p)/(2p + 1)
with the consistent mass, −1/p of it with the diagonal one.

Source: Patera, Journal of Computational Physics 54, 1984; Maday & Patera, State-of-the-art surveys on computational
mechanics, ASME, 1989; dispersion: Ainsworth & Wajid, SIAM Journal on Numerical Analysis 47, 2009.
"""

import math
from functools import cache
from typing import Any, ClassVar

import numpy as np
from numpy.polynomial import legendre
from skfem import ElementH1
from skfem.assembly import Dofs
from skfem.refdom import Refdom, RefHex, RefLine, RefQuad

from arlequin.models.types import Array, Indices

LARGEST_ORDER = 6


@cache
def lobatto_rule(order: int) -> tuple[Array, Array]:
    """Lobatto points of [−1, 1] in ascending order and their weights: (p + 1,), (p + 1,).

    >>> lobatto_rule(2)[1].round(12).tolist()
    [0.333333333333, 1.333333333333, 0.333333333333]
    """
    last = legendre.Legendre.basis(order)
    points = np.concatenate([[-1.0], np.sort(last.deriv().roots().real), [1.0]])
    points = 0.5 * (points - points[::-1])
    return points, 2.0 / (order * (order + 1) * last(points) ** 2)


def lattice(refdom: type[Refdom], order: int) -> Indices:
    """Places (n, axis), 0 … p along each axis, of the nodes of a reference cell in scikit-fem's order.

    That is corners, nodes on edges from their first corner to their second, on faces (the first index along their
    first edge, the second along their last edge) and inside, the first index along the first axis and fastest.
    """
    corners = np.asarray(refdom.p.T, dtype=np.int64)
    axes, inner = corners.shape[1], np.arange(1, order)
    rows = [order * corners]
    for a, b in _edges(refdom):
        rows.append(corners[a] * order + inner[:, None] * (corners[b] - corners[a]))
    if axes == 3:
        for a, b, _, d in refdom.facets or []:
            along, across = corners[b] - corners[a], corners[d] - corners[a]
            rows.append(corners[a] * order + _grid(order, 2) @ np.stack([along, across]))
    rows.append(_grid(order, axes))
    return np.concatenate(rows)


def lattice_pieces(axes: int, order: int) -> Indices:
    """Linear cells (p^axes, 2^axes) between the nodes of a lattice (p + 1)^axes, counted along the first axis first.

    Corners of lines and quadrilaterals in cyclic order, of hexahedra those of the lower face, then of the upper one.

    >>> lattice_pieces(2, 2).tolist()
    [[0, 1, 4, 3], [1, 2, 5, 4], [3, 4, 7, 6], [4, 5, 8, 7]]
    """
    face = np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
    cube = np.column_stack([np.vstack([face, face]), np.repeat([0, 1], 4)])
    corners = {1: np.array([[0], [1]]), 2: face, 3: cube}
    steps = (order + 1) ** np.arange(axes)
    starts = (np.indices((order,) * axes).reshape(axes, -1)[::-1].T @ steps)[:, None]
    return np.asarray(starts + corners[axes] @ steps, dtype=np.int64)


def facet_places(axes: int, order: int) -> Indices:
    """Places (n, axes − 1), 0 … p along each axis, of the nodes of a facet of a mesh in 2 or 3 axes.

    They are its corners in cyclic order, the nodes along each edge, and the inner ones (`Surface.facets`).
    """
    if axes == 2:
        return np.array([0, order, *range(1, order)])[:, None]
    corners = np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
    along = np.arange(1, order)[:, None]
    edges = [order * a + along * (b - a) for a, b in zip(corners, np.roll(corners, -1, axis=0), strict=True)]
    return np.concatenate([order * corners, *edges, _grid(order, 2)])


def facet_pieces(axes: int, order: int) -> Indices:
    """Linear facets between the nodes of a facet, (p, 2) in the plane, (p², 4) in space; their sense is the facet's."""
    places = facet_places(axes, order) @ (order + 1) ** np.arange(axes - 1)
    return np.argsort(places)[lattice_pieces(axes - 1, order)]


def _grid(order: int, axes: int) -> Indices:
    """Inner places (…, axis), 1 … p − 1 along each axis, the first axis fastest."""
    return np.indices((order - 1,) * axes).reshape(axes, -1)[::-1].T + 1


def _edges(refdom: type[Refdom]) -> list[list[int]]:
    """Corners of the edges: of quadrilaterals the facets; a line has none."""
    return {1: [], 2: refdom.facets, 3: refdom.edges}[refdom.dim()] or []


class Lobatto(ElementH1):
    """Functions φ of degree p along each axis with nodes at the products of Lobatto points.

    lattice (n, axis): places of the nodes; along_lattice (n,): the nodes counted along the first axis first.
    """

    order: ClassVar[int]
    lattice: ClassVar[Indices]
    along_lattice: ClassVar[Indices]

    def lbasis(self, X: Array, i: int) -> tuple[Array, Array]:
        """φ_i (…) and its slopes (axis, …) at reference points X (axis, …) of [0, 1]."""
        lines = [self._along(2.0 * x - 1.0, n) for x, n in zip(X, self.lattice[i], strict=True)]
        slopes = [[f[int(a == b)] for b, f in enumerate(lines)] for a in range(len(lines))]
        return np.prod([f[0] for f in lines], axis=0), 2.0 * np.stack([np.prod(row, axis=0) for row in slopes])

    def _along(self, x: Array, n: int) -> tuple[Array, Array]:
        """Polynomial n of a line and its derivative at x (…); exactly 0 and 1 at the nodes."""
        points = lobatto_rule(self.order)[0]
        value, slope = np.ones_like(x), np.zeros_like(x)
        for other in np.delete(points, n):
            factor = (x - other) / (points[n] - other)
            slope = slope * factor + value / (points[n] - other)
            value = value * factor
        return value, slope


class LobattoDofs(Dofs):
    """Numbers of nodes that adjacent cells share: along an edge from its corner of the lower number to the other.

    On a face the first index runs from its corner of the lowest number to the lower of the two next to it.
    """

    def __init__(self, topo: Any, element: Any, offset: int = 0) -> None:
        super().__init__(topo, element, offset)
        refdom, order, t = topo.elem.refdom, element.order, np.asarray(topo.t)
        first, inner = t.shape[0], order - 1
        for a, b in _edges(refdom):
            rows = np.arange(first, first + inner)
            reversed_edges = np.flatnonzero(t[a] > t[b])
            self.element_dofs[rows[:, None], reversed_edges] = self.element_dofs[rows[::-1, None], reversed_edges]
            first += inner
        if refdom is not RefHex:
            return
        for face in refdom.facets:
            block = slice(first, first + inner**2)
            self.element_dofs[block] = face_nodes(t[face], self.element_dofs[block])
            first += inner**2


def face_nodes(corners: Indices, shared: Indices) -> Indices:
    """Inner nodes ((p − 1)², f) of faces with cyclic corners (4, f), counted from the first along the first edge.

    shared ((p − 1)², f): the same in the common order of adjacent cells. One node, and faces of triangles, stay.
    """
    if len(shared) == 1 or len(corners) == 3:
        return shared
    nodes, order = np.empty_like(shared), math.isqrt(len(shared)) + 1
    start, faces = np.argmin(corners, axis=0), np.arange(corners.shape[1])
    after, before = (corners[(start + step) % 4, faces] for step in (1, 3))
    for corner in range(4):
        for forward in (True, False):
            oriented = np.flatnonzero((start == corner) & ((after < before) == forward))
            nodes[_face_places(order, corner, forward)[:, None], oriented] = shared[:, oriented]
    return nodes


def _face_places(order: int, corner: int, forward: bool) -> Indices:
    """Nodes of a face in the element's order, counted from a corner towards the next one, or the previous one."""
    corners = np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
    steps = (1, 3) if forward else (3, 1)
    along = np.stack([corners[(corner + step) % 4] - corners[corner] for step in steps])
    i, j = (order * corners[corner] + _grid(order, 2) @ along).T - 1
    return i + (order - 1) * j


def _element(name: str, refdom: type[Refdom], order: int) -> type[Lobatto]:
    """The class of the elements of an order on a reference cell."""
    axes, inner = refdom.dim(), order - 1
    places = lattice(refdom, order)
    counts = [1, inner if axes == 3 else 0, inner ** (axes - 1) if axes > 1 else 0, inner**axes]
    members = {
        "__doc__": f"Lobatto functions of order {order}.",
        "__module__": __name__,
        "refdom": refdom,
        "order": order,
        "lattice": places,
        "along_lattice": np.argsort(places @ (order + 1) ** np.arange(axes)),
        "nodal_dofs": counts[0],
        "edge_dofs": counts[1],
        "facet_dofs": counts[2],
        "interior_dofs": counts[3],
        "maxdeg": axes * order,
        "dofnames": ["u"] * sum(counts),
        "doflocs": 0.5 * (1.0 + lobatto_rule(order)[0])[places],
    }
    return type(name, (Lobatto,), members)


# scikit-fem elements by reference cell and order, found by pickle under their names
ELEMENTS: dict[tuple[type[Refdom], int], type[Lobatto]] = {}
for _refdom, _shape in ((RefLine, "Line"), (RefQuad, "Quad"), (RefHex, "Hex")):
    for _order in range(3, LARGEST_ORDER + 1):
        _name = f"Lobatto{_shape}{_order}"
        globals()[_name] = ELEMENTS[_refdom, _order] = _element(_name, _refdom, _order)
