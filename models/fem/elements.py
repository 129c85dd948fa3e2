"""Which scalar scikit-fem element and which quadrature a mesh and an order give."""

from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import skfem

from arlequin.models.errors import UserError
from arlequin.models.types import Array

# A weight may be a linear polynomial, so the weighted mass has degree 2p + 1 (per direction on quadrilaterals
# and hexahedra). On triangles scikit-fem's rule of degree 3 has a negative weight, which could make a
# weighted mass indefinite: the rule of degree 4 has none.
_ELEMENTS: dict[tuple[str, int], tuple[type, int]] = {
    ("Line", 1): (skfem.ElementLineP1, 3),
    ("Line", 2): (skfem.ElementLineP2, 5),
    ("Tri", 1): (skfem.ElementTriP1, 4),
    ("Tri", 2): (skfem.ElementTriP2, 5),
    ("Quad", 1): (skfem.ElementQuad1, 3),
    ("Quad", 2): (skfem.ElementQuad2, 5),
    ("Tet", 1): (skfem.ElementTetP1, 3),
    ("Tet", 2): (skfem.ElementTetP2, 6),
    ("Hex", 1): (skfem.ElementHex1, 3),
    ("Hex", 2): (skfem.ElementHex2, 5),
}
_SHAPES = {
    skfem.MeshLine1: "Line",
    skfem.MeshTri1: "Tri",
    skfem.MeshQuad1: "Quad",
    skfem.MeshTet1: "Tet",
    skfem.MeshHex1: "Hex",
}
_SECOND_ORDER = (skfem.MeshTri2, skfem.MeshQuad2, skfem.MeshTet2, skfem.MeshHex2)

# Local coordinates of points on facets: next to a corner of nearly 180° round-off leaves more than scikit-fem's 1e-12.
INVERSE = 1e-9


def shape_of(mesh: Any) -> str:
    """The cells' shape: Line, Tri, Quad, Tet or Hex."""
    for mesh_class, name in _SHAPES.items():
        if isinstance(mesh, mesh_class):
            return name
    raise UserError(f"mesh: {type(mesh).__name__} is not a mesh of lines, triangles, quads, tetrahedra or hexahedra")


def order_of(mesh: Any) -> int:
    """The order of the geometry: 2 for cells with mid-edge nodes (curved cells), else 1."""
    return 2 if isinstance(mesh, _SECOND_ORDER) else 1


def scalar_basis(mesh: Any, order: int) -> Any:
    """The scalar `CellBasis` of the order; quadrature of positive weights, exact to degree 2·order + 1."""
    shape = shape_of(mesh)
    element, degree = _ELEMENTS[shape, order]
    if shape == "Tet" and order == 1:
        basis = skfem.CellBasis(mesh, element(), quadrature=tetrahedron_rule())
    else:
        basis = skfem.CellBasis(mesh, element(), intorder=degree)
    forget_jacobians(basis.mapping)
    return basis


def forget_jacobians(mapping: Any) -> None:
    """Frees what scikit-fem keeps of a mapping for good, for each set of points: more than the gradients take."""
    vars(mapping).pop("_cache", None)


def facet_basis(mesh: Any, order: int, facets: np.ndarray) -> Any:
    """The scalar `FacetBasis` on the facets, exact to degree 2·order + 1.

    Local coordinates of its points are found by Newton's method, which the round-off of coordinates far from the origin
    would keep from its end: about the middle of such a mesh.
    """
    shape = shape_of(mesh)
    element, degree = _ELEMENTS[shape, order]
    middle = mesh.p.mean(axis=1, keepdims=True)
    far = bool((np.abs(middle).max(axis=1) > np.ptp(mesh.p, axis=1)).any())
    near = replace(mesh, doflocs=mesh.doflocs - middle) if far else mesh
    mapping = copy(near.mapping())
    if isinstance(mapping, skfem.MappingIsoparametric):
        mapping.invF = partial(mapping.invF, newton_tol=INVERSE)
    degree = 4 if (shape, order) == ("Tet", 1) else degree
    basis = skfem.FacetBasis(mesh, element(), mapping=mapping, facets=facets, intorder=degree)
    if far:
        basis.mapping = mesh.mapping()  # of which `global_coordinates` are
    return basis


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
