"""Facets of a mortar surface (shape functions, linear pieces, quadrature) and multiplier functions on them."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from arlequin.models.checks import one_of
from arlequin.models.errors import UserError
from arlequin.models.fem.continuum import Continuum
from arlequin.models.fem.spectral import LARGEST_ORDER, facet_pieces, facet_places, lobatto_rule
from arlequin.models.part import Surface
from arlequin.models.types import Array, Indices

_LINE = ((-1, 0), (1, 0), (0, 0))
_TRIANGLE = ((0, 0), (1, 0), (0, 1), (0.5, 0), (0.5, 0.5), (0, 0.5))
_QUAD = ((-1, -1), (1, -1), (1, 1), (-1, 1), (0, -1), (1, 0), (0, 1), (-1, 0), (0, 0))


@dataclass(frozen=True)
class FacetKind:
    """Type of a facet: shape functions (codes of the kernels), nodes in parent coordinates and linear pieces.

    degree: total degree of a shape function on an affine facet. Facets with nodes between corners are cut into linear
    pieces between them, which are the geometry of the search and of the direction of projection.
    """

    code: int
    corner_code: int
    degree: int
    corner_degree: int
    parent: tuple[tuple[float, float], ...]
    pieces: tuple[tuple[int, ...], ...]

    @property
    def corners(self) -> int:
        return len(self.pieces[0])

    @property
    def order(self) -> int:
        """Degree of a shape function along an edge."""
        return self.degree // 2 if self.corners == 4 else self.degree


# by (axes, nodes of a facet)
KINDS = {
    (2, 2): FacetKind(1, 1, 1, 1, _LINE[:2], ((0, 1),)),
    (2, 3): FacetKind(2, 1, 2, 1, _LINE, ((0, 2), (2, 1))),
    (3, 3): FacetKind(3, 3, 1, 1, _TRIANGLE[:3], ((0, 1, 2),)),
    (3, 6): FacetKind(4, 3, 2, 1, _TRIANGLE, ((0, 3, 5), (3, 1, 4), (5, 4, 2), (3, 4, 5))),
    (3, 4): FacetKind(5, 5, 2, 2, _QUAD[:4], ((0, 1, 2, 3),)),
    (3, 9): FacetKind(6, 5, 4, 2, _QUAD, ((0, 4, 8, 7), (4, 1, 5, 8), (8, 5, 2, 6), (7, 8, 6, 3))),
}


def _lobatto_kind(axes: int, order: int) -> FacetKind:
    """The facets of spectral elements in 2 or 3 axes, with the codes of the kernels."""
    parent = np.zeros(((order + 1) ** (axes - 1), 2))
    parent[:, : axes - 1] = lobatto_rule(order)[0][facet_places(axes, order)]
    pieces = tuple(tuple(row) for row in facet_pieces(axes, order).tolist())
    codes = (10 + order, 1, order, 1) if axes == 2 else (20 + order, 5, 2 * order, 2)
    return FacetKind(*codes, tuple((x, y) for x, y in parent.tolist()), pieces)


for _order in range(3, LARGEST_ORDER + 1):
    KINDS[2, _order + 1], KINDS[3, (_order + 1) ** 2] = _lobatto_kind(2, _order), _lobatto_kind(3, _order)


@dataclass(frozen=True, eq=False)
class Facets:
    """The facets of a surface, with nodes numbered within the surface.

    nodes (f, n); pieces (p, c) linear pieces by their corners' nodes, parents (p,) their facets, starts (p, 2)
    parent coordinates of their centres.
    """

    surface: Surface
    kind: FacetKind
    nodes: Indices

    @classmethod
    def of(cls, surface: Surface) -> "Facets":
        axes = surface.positions.shape[1]
        kind = KINDS.get((axes, surface.facets.shape[1]))
        if kind is None or not isinstance(surface.meshed.model, Continuum):
            raise UserError(
                f"boundary '{surface.name}' of part '{surface.part.name}': mortar contact needs facets of a solid in "
                "2D or 3D; pair nodes instead"
            )
        return cls(surface, kind, np.searchsorted(surface.nodes, surface.facets))

    @property
    def axes(self) -> int:
        return int(self.surface.positions.shape[1])

    @property
    def depth(self) -> float:
        """Thickness of plane problems, m; otherwise 1."""
        return self._solid.depth

    @property
    def axisymmetric(self) -> bool:
        return self._solid.axisymmetric

    @cached_property
    def _solid(self) -> Continuum:
        model = self.surface.meshed.model
        assert isinstance(model, Continuum)
        return model

    @cached_property
    def pieces(self) -> Indices:
        return np.ascontiguousarray(self.nodes[:, np.array(self.kind.pieces)].reshape(-1, self.kind.corners))

    @cached_property
    def parents(self) -> Indices:
        return np.repeat(np.arange(len(self.nodes)), len(self.kind.pieces))

    @cached_property
    def starts(self) -> Array:
        centres = np.array(self.kind.parent, dtype=float)[np.array(self.kind.pieces)].mean(axis=1)
        return np.tile(centres, (len(self.nodes), 1))

    def shapes(self, code: int, functions: int, points: Array) -> tuple[Array, Array]:
        """Shape functions (q, j) of a code and their slopes (q, j, 2) at parent points (q, 2)."""
        from arlequin.multilevel.pairing._facet_kernels import tabulate

        value, slope = tabulate(code, functions, points)
        return value[:, :, 0], slope

    def measure(self, points: Array, weights: Array) -> Array:
        """Weights (f, q) of a parent quadrature in the reference configuration, m²: thickness or 2πr included."""
        value, slope = self.shapes(self.kind.code, self.nodes.shape[1], points)
        corners = self.surface.positions[self.nodes]
        edges = np.einsum("qjd,fja->fqda", slope, corners)
        if self.axes == 2:
            dx = np.linalg.norm(edges[:, :, 0], axis=2) * weights
        else:
            dx = np.linalg.norm(np.cross(edges[:, :, 0], edges[:, :, 1]), axis=2) * weights
        if self.axisymmetric:
            dx = dx * 2 * np.pi * np.einsum("qj,fj->fq", value, corners[:, :, 0])
        return np.asarray(dx * self.depth)

    def sample_positions(self, positions: Array) -> Array:
        """Positions (k, a) of the nodes and of the points of `rule` at node positions (n, a)."""
        shape = self.shapes(self.kind.code, self.nodes.shape[1], self.rule[0])[0]
        inner = np.einsum("qj,fja->fqa", shape, positions[self.nodes])
        return np.concatenate([positions, inner.reshape(-1, positions.shape[1])])

    @cached_property
    def rule(self) -> tuple[Array, Array]:
        """Quadrature of a facet: parent points (q, 2) and weights; ψ_i φ_j r is exact on affine facets."""
        nodes, weights = np.polynomial.legendre.leggauss(max(3, self.kind.order // 2 + 2))
        if self.axes == 2:
            return np.stack([nodes, np.zeros_like(nodes)], axis=1), weights
        if self.kind.corners == 3:
            points, sub_weights = simplex_rule(3, 4)
            return points, 0.5 * sub_weights
        u, v = (grid.ravel() for grid in np.meshgrid(nodes, nodes))
        return np.stack([u, v], axis=1), np.outer(weights, weights).ravel()


def simplex_rule(axes: int, degree: int) -> tuple[Array, Array]:
    """Quadrature of an interval (axes = 2) or a triangle (3): barycentric points (q, 2), positive weights, sum 1.

    Intervals: Gauss, three points or more. Triangles: 3 points (degree 2), 6 points (degree 4: Cowper, IJNME 7, 1973)
    or conical products of Gauss–Jacobi rules.
    """
    if axes == 2:
        nodes, weights = np.polynomial.legendre.leggauss(max(3, degree // 2 + 1))
        return np.stack([0.5 * (1 + nodes), np.zeros_like(nodes)], axis=1), 0.5 * weights
    if degree <= 2:
        return np.array([[1, 1], [4, 1], [1, 4]]) / 6, np.full(3, 1 / 3)
    if degree <= 4:
        root, inner = math.sqrt(10), math.sqrt(38 - 44 * math.sqrt(0.4))
        radical = math.sqrt(213125 - 53320 * root)
        a, b = (8 - root + inner) / 18, (8 - root - inner) / 18
        corners = [[p, q] for c in (a, b) for p, q in ((c, c), (1 - 2 * c, c), (c, 1 - 2 * c))]
        return np.array(corners), np.repeat(np.array([620 + radical, 620 - radical]) / 3720, 3)
    count = degree // 2 + 1
    from scipy.special import roots_jacobi  # slow to import

    u, weights_u = roots_jacobi(count, 1.0, 0.0)
    v, weights_v = np.polynomial.legendre.leggauss(count)
    u, v = 0.5 * (1 + u), 0.5 * (1 + v)
    points = np.stack([np.repeat(u, count), np.outer(1 - u, v).ravel()], axis=1)
    weights = np.outer(weights_u, weights_v).ravel()
    return points, weights / weights.sum()


@dataclass(frozen=True, eq=False)
class Multipliers:
    """Multiplier functions ψ_k: "P0" one per facet, "P1" the hat function of each corner node, "P2" the shape function
    of each node.

    On a facet they are the shape functions `code` of its parent coordinates; table (f, i): their indices k.
    """

    facets: Facets
    space: str

    def __post_init__(self) -> None:
        one_of("space", self.space, ("P0", "P1", "P2"))
        if self.space != "P2":
            return
        if self.facets.kind.order != 2:
            raise UserError.parameter("space", self.space, "needs quadratic elements: take P1 (or P0) on others")
        if self.facets.kind.corners == 3:
            raise UserError.parameter(
                "space", self.space, "has no area at the corners of 6-node triangles (∫ψ = 0): take P1"
            )
        radius = self.facets.surface.positions[:, 0]
        if self.facets.axisymmetric and radius.min() <= 1e-12 * radius.max():
            raise UserError.parameter("space", self.space, "has no area at the axis (∫ψ 2πr dΓ = 0): take P1")

    @property
    def code(self) -> int:
        kind = self.facets.kind
        return {"P0": 0, "P1": kind.corner_code, "P2": kind.code}[self.space]

    @property
    def degree(self) -> int:
        kind = self.facets.kind
        return {"P0": 0, "P1": kind.corner_degree, "P2": kind.degree}[self.space]

    @cached_property
    def table(self) -> Indices:
        if self.space == "P0":
            return np.arange(len(self.facets.nodes))[:, None]
        if self.space == "P2":
            return self.facets.nodes
        return np.searchsorted(self.nodes, self.facets.nodes[:, : self.facets.kind.corners])

    @cached_property
    def nodes(self) -> Indices:
        """Node of each function (k,); empty for P0."""
        if self.space == "P0":
            return np.empty(0, dtype=np.int64)
        corners = self.facets.kind.corners if self.space == "P1" else self.facets.nodes.shape[1]
        return np.unique(self.facets.nodes[:, :corners])

    @property
    def count(self) -> int:
        return len(self.table) if self.space == "P0" else len(self.nodes)

    def values(self, points: Array) -> Array:
        """ψ_i (q, i) at parent points (q, 2)."""
        return self.facets.shapes(self.code, self.table.shape[1], points)[0]

    @cached_property
    def areas(self) -> Array:
        """∫ψ_k dΓ (k,) in the reference configuration, m²."""
        points, weights = self.facets.rule
        parts = self.facets.measure(points, weights) @ self.values(points)
        return self.gathered(parts)

    def gathered(self, parts: Array) -> Array:
        """Sums (k,) of the facets' parts (f, i)."""
        return np.asarray(np.bincount(self.table.ravel(), parts.ravel(), self.count), dtype=float)

    def positions(self, slave: Array) -> Array:
        """Positions of the functions (k, a) at node positions (n, a): those of nodes, or the facets' corner means."""
        if self.space == "P0":
            return np.asarray(slave[self.facets.nodes[:, : self.facets.kind.corners]].mean(axis=1))
        return slave[self.nodes]
