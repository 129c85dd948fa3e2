"""Finite elements of continuum parts: scalar scikit-fem elements, their quadrature, and a registry of them.

A part takes a `FiniteElement`, or the one in the registry for its mesh and order. `register` adds a user's element: it
is then the default of meshes of its class, and cells of its type are read from Gmsh files.
"""

import math
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import skfem
from skfem.assembly import Dofs

from arlequin.models import checks
from arlequin.models.errors import UserError, UserTypeError
from arlequin.models.fem.spectral import ELEMENTS, Lobatto, LobattoDofs
from arlequin.models.types import Array, Indices

# Tolerance of the local coordinates of points on facets: next to a corner of nearly 180° round-off is more than the
# 1e-12 of scikit-fem.
INVERSE_TOLERANCE = 1e-9


def tetrahedron_rule() -> tuple[Array, Array]:
    """Eight points on the unit tetrahedron, degree 3, positive weights: (axis, q), (q,).

    Source: Witherden & Vincent, Computers & Mathematics with Applications 69, 2015.
    """
    points, weights = [], []
    for a, weight in ((0.3281633025163817, 0.1362178425370874), (0.1080472498984286, 0.1137821574629126)):
        corners = np.full((4, 4), a) + (1 - 4 * a) * np.eye(4)
        points.append(corners[:, 1:])
        weights.append(np.full(4, weight / 6))
    return np.ascontiguousarray(np.vstack(points).T), np.concatenate(weights)


@dataclass(frozen=True, eq=False)
class FiniteElement:
    """A nodal finite element: the scalar scikit-fem element of each displacement component, and its quadrature.

    cell_type: meshio's name of the cell ("quad8"), by which Gmsh files are read; scalar: H¹ element whose dofs are
    nodal values, at most one on each edge, facet and cell, or a spectral one (`Lobatto`); order: degree of the complete
    polynomials that it contains, 1 or 2, of spectral ones 3 to 6; cell_degree, facet_degree: degrees to which the
    quadratures are exact (facet_degree: that of the cells by default); cell_rule: points (axis, q) and weights (q,) in
    place of cell_degree; mesh: class of the scikit-fem meshes whose geometry has these shape functions, if any; facet:
    shape functions of the geometry of their facets, where scikit-fem does not find them itself; node_order: the n-th
    node of scikit-fem is number node_order[n] of meshio (the same order by default); mean_dilatation: whether the
    pressure of hyperelastic and plastic materials is by default that of the cell, which prevents the locking of linear
    cells.

    A junction's weight may be linear, so that the weighted mass needs 2·order + 1, with weights that are positive.
    """

    cell_type: str
    scalar: type[skfem.Element]
    order: int
    cell_degree: int
    facet_degree: int | None = None
    cell_rule: tuple[Array, Array] | None = None
    mesh: type[skfem.Mesh] | None = None
    facet: type[skfem.Element] | None = None
    node_order: tuple[int, ...] | None = None
    mean_dilatation: bool = False

    def __post_init__(self) -> None:
        checks.one_of("order", self.order, (self.scalar.order,) if issubclass(self.scalar, Lobatto) else (1, 2))
        checks.positive_integer("cell_degree", self.cell_degree)
        if self.facet_degree is not None:
            checks.positive_integer("facet_degree", self.facet_degree)
        if self.mesh is not None and self.mesh.elem is not self.scalar:
            rule = f"must have the geometry of {self.scalar.__name__}, not {self.mesh.elem.__name__}"
            raise UserError.parameter("mesh", self.mesh.__name__, rule)

    @property
    def corners(self) -> int:
        """Number of corners of a cell."""
        return int(self.scalar.refdom.nnodes)

    def check_mesh(self, mesh: Any) -> None:
        """Raise a UserError where the cells of a mesh have another shape."""
        if mesh.refdom is not self.scalar.refdom:
            rule = f"has cells of another shape than the element {self.cell_type!r}"
            raise UserError.parameter("mesh", type(mesh).__name__, rule)

    def cell_basis(self, mesh: Any) -> Any:
        """The scalar `CellBasis` on a mesh of these cells."""
        scalar = self.scalar()
        dofs = numbering(mesh, scalar)
        if self.cell_rule is None:
            basis = skfem.CellBasis(mesh, scalar, intorder=self.cell_degree, dofs=dofs)
        else:
            basis = skfem.CellBasis(mesh, scalar, quadrature=self.cell_rule, dofs=dofs)
        drop_jacobians(basis.mapping)
        return basis

    def facet_basis(self, mesh: Any, facets: np.ndarray) -> Any:
        """The scalar `FacetBasis` on the facets (f,) of a mesh of these cells.

        Newton's method for the local coordinates of the points does not converge far from the origin, where the
        round-off of the coordinates exceeds its tolerance: such meshes are moved to their centre first.
        """
        middle = mesh.p.mean(axis=1, keepdims=True)
        shifted = bool((np.abs(middle).max(axis=1) > np.ptp(mesh.p, axis=1)).any())
        near = replace(mesh, doflocs=mesh.doflocs - middle) if shifted else mesh
        mapping = self._facet_mapping(near)
        degree = self.facet_degree or self.cell_degree
        scalar = self.scalar()
        dofs = numbering(mesh, scalar)
        basis = skfem.FacetBasis(mesh, scalar, mapping=mapping, facets=facets, intorder=degree, dofs=dofs)
        if shifted:
            basis.mapping = self._facet_mapping(mesh)  # for `global_coordinates`
        return basis

    def _facet_mapping(self, mesh: Any) -> Any:
        mapping = copy(mesh.mapping())
        if isinstance(mapping, skfem.MappingIsoparametric):
            mapping.invF = partial(mapping.invF, newton_tol=INVERSE_TOLERANCE)
            if mapping.bndelem is None and self.facet is not None:
                mapping.bndelem = self.facet()
        return mapping


# scikit-fem's order of the 27 nodes of a hexahedron, as numbers of meshio's
_HEXAHEDRON = (
    0, 4, 3, 1, 7, 5, 2, 6, 16, 11, 8, 15, 12, 19, 10, 17, 9, 14, 13, 18, 20, 24, 22, 23, 25, 21, 26,
)  # fmt: skip

_REGISTRY: dict[str, FiniteElement] = {}  # by cell type


def register(element: FiniteElement) -> FiniteElement:
    """Add an element to the registry; UserError where its cell type is registered already.

    Meshes whose geometry is that of the element (`mesh.elem`) take it by default, and `mesh.read` reads cells of its
    type. On other meshes `order=` finds the first element registered of the shape and the order.
    """
    if element.cell_type in _REGISTRY:
        raise UserError.parameter("cell_type", element.cell_type, "must be a cell type that is not registered")
    _REGISTRY[element.cell_type] = element
    return element


# Triangles: scikit-fem's rule of degree 3 has a negative weight, which could make a weighted mass indefinite.
for _element in (
    FiniteElement("line", skfem.ElementLineP1, 1, 3, mesh=skfem.MeshLine1),
    FiniteElement("line3", skfem.ElementLineP2, 2, 5),
    FiniteElement("triangle", skfem.ElementTriP1, 1, 4, mesh=skfem.MeshTri1),
    FiniteElement("triangle6", skfem.ElementTriP2, 2, 5, mesh=skfem.MeshTri2),
    FiniteElement("quad", skfem.ElementQuad1, 1, 3, mesh=skfem.MeshQuad1, mean_dilatation=True),
    FiniteElement("quad9", skfem.ElementQuad2, 2, 5, mesh=skfem.MeshQuad2),
    FiniteElement("tetra", skfem.ElementTetP1, 1, 3, facet_degree=4, cell_rule=tetrahedron_rule(), mesh=skfem.MeshTet1),
    FiniteElement("tetra10", skfem.ElementTetP2, 2, 6, mesh=skfem.MeshTet2),
    FiniteElement(
        "hexahedron",
        skfem.ElementHex1,
        1,
        3,
        mesh=skfem.MeshHex1,
        node_order=_HEXAHEDRON[:8],
        mean_dilatation=True,
    ),
    FiniteElement("hexahedron27", skfem.ElementHex2, 2, 5, mesh=skfem.MeshHex2, node_order=_HEXAHEDRON),
):
    register(_element)

# spectral elements: Gauss points that integrate the weighted masses of affine cells exactly
for (_refdom, _order), _scalar in ELEMENTS.items():
    _axes = _refdom.dim()
    _name = ("line", "quad", "hexahedron")[_axes - 1] + str((_order + 1) ** _axes)
    register(FiniteElement(_name, _scalar, _order, 2 * _order + 1))


# Elements of which every function is a product of linear ones, or linear.
LINEAR = (skfem.ElementLineP1, skfem.ElementTriP1, skfem.ElementQuad1, skfem.ElementTetP1, skfem.ElementHex1)


def registered() -> tuple[FiniteElement, ...]:
    """All elements of the registry, in the order in which they were added."""
    return tuple(_REGISTRY.values())


def element_of(mesh: Any, order: int | None = None) -> FiniteElement:
    """The element of a mesh: that of its geometry if it has the order, else the first one registered of the order.

    UserError where the mesh has a shape of cells without an element.
    """
    shape = mesh.refdom if isinstance(mesh, skfem.Mesh) else None
    same_shape = [element for element in _REGISTRY.values() if element.scalar.refdom is shape]
    if not same_shape:
        kind = UserError if isinstance(mesh, skfem.Mesh) else UserTypeError
        raise kind(f"mesh: {type(mesh).__name__} is not a mesh of lines, triangles, quads, tetrahedra or hexahedra")
    if order is not None:
        checks.one_of("order", order, tuple(sorted({element.order for element in same_shape})))
    candidates = [element for element in same_shape if order in (None, element.order)]
    isoparametric = [element for element in candidates if element.scalar is mesh.elem]
    if not isoparametric and (order is None or not candidates):
        rule = f"has cells of {mesh.elem.__name__}, of which no element is registered"
        raise UserError.parameter("mesh", type(mesh).__name__, rule)
    return (isoparametric or candidates)[0]


def scalar_basis(mesh: Any, order: int) -> Any:
    """The scalar `CellBasis` of the element of an order; quadrature of positive weights, exact to 2·order + 1."""
    return element_of(mesh, order).cell_basis(mesh)


def numbering(mesh: Any, scalar: skfem.Element) -> Dofs:
    """Numbers of the dofs of a scalar element; scikit-fem's are for at most one dof on each edge and facet."""
    return LobattoDofs(mesh, scalar) if isinstance(scalar, Lobatto) else Dofs(mesh, scalar)


def drop_jacobians(mapping: Any) -> None:
    """Empty the cache of a scikit-fem mapping: its Jacobians at each set of points take more memory than the basis."""
    vars(mapping).pop("_cache", None)


def reversed_facet(axes: int, corners: int, nodes: int) -> Indices:
    """Numbers (nodes,) of the nodes of a facet seen from its other side: corners, nodes on edges, inner ones.

    The corners are cyclic and the first one stays; a facet of a plane mesh has two corners. Inner nodes are counted
    along the first edge, then along the last one.

    >>> reversed_facet(3, 4, 9).tolist(), reversed_facet(2, 2, 3).tolist()
    ([0, 3, 2, 1, 7, 6, 5, 4, 8], [1, 0, 2])
    """
    if axes == 2:
        return np.array([1, 0, *range(nodes - 1, 1, -1)])
    on_edge = facet_order(axes, corners, nodes) - 1
    inner = np.arange(corners * (1 + on_edge), nodes)
    if inner.size == on_edge**2:
        inner = inner.reshape(on_edge, on_edge).T.ravel()
    edges = range(corners * (1 + on_edge) - 1, corners - 1, -1)
    return np.array([0, *range(corners - 1, 0, -1), *edges, *inner])


def facet_order(axes: int, corners: int, nodes: int) -> int:
    """Order of the functions of a facet with so many nodes, of a mesh in 2 or 3 axes.

    >>> [facet_order(*kind) for kind in ((2, 2, 5), (3, 3, 6), (3, 4, 8), (3, 4, 49))]
    [4, 2, 2, 6]
    """
    if axes == 2:
        return nodes - 1
    if corners == 3:
        return 1 if nodes == 3 else 2
    return 2 if nodes == 2 * corners else math.isqrt(nodes) - 1
