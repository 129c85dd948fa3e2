"""Boundaries of a superelement: nodes, areas and normals, from facets or as given."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from skfem import ElementLineP1, ElementQuad1, ElementTriP1
from skfem.quadrature import get_quadrature

from arlequin.models import checks
from arlequin.models.errors import UserError, UserTypeError
from arlequin.models.part import Part, Surface
from arlequin.models.types import Array, Indices

KEYS = ("nodes", "facets", "areas", "normals")
_CORNERS = {1: (1,), 2: (2,), 3: (3, 4)}  # of facets whose areas are computed, by the number of axes
_ELEMENTS = {2: ElementLineP1, 3: ElementTriP1, 4: ElementQuad1}


@dataclass(frozen=True, eq=False)
class FacetGeometry:
    """Nodes (k,), areas (k,), normals (k, axis) and facets (f, corner) of a boundary."""

    nodes: Indices
    areas: Array
    normals: Array
    facets: Indices

    @classmethod
    def of(cls, part: str, name: str, given: Any, positions: Array) -> "FacetGeometry":
        """The boundary of an entry of `interface`: node numbers, a mapping with KEYS, or a `Surface`."""
        label, (count, axes) = f"interface['{name}'] of '{part}'", positions.shape
        if isinstance(given, Surface):
            given = {key: getattr(given, key) for key in KEYS}
        if not isinstance(given, Mapping):
            given = {"nodes": given}
        for key in given:
            checks.one_of(f"key of {label}", key, KEYS)
        if "nodes" not in given and "facets" not in given:
            raise UserError(f"{label}: needs nodes or facets")
        facets = None
        if given.get("facets") is not None:
            facets = _numbers(f"facets of {label}", given["facets"], count)
            if facets.ndim != 2:
                raise UserError(f"facets of {label}: must be node numbers (facet, corner), not of shape {facets.shape}")
        nodes = np.unique(facets) if facets is not None else None
        if given.get("nodes") is not None:
            named = np.unique(_numbers(f"nodes of {label}", given["nodes"], count))
            if nodes is not None and not np.array_equal(nodes, named):
                raise UserError(f"{label}: its facets have other nodes than `nodes`: leave one of them out")
            nodes = named
        assert nodes is not None
        areas, normals = np.ones(nodes.size), np.zeros((nodes.size, axes))
        if facets is None:
            facets = nodes[:, None]
        elif facets.shape[1] in _CORNERS[axes] and facets.shape[1] > 1:
            areas, normals = _measured(positions, nodes, facets)
            if not (areas > 0.0).all():
                raise UserError(f"{label}: a facet has no area")
        elif facets.shape[1] > 1 and given.get("areas") is None:
            kinds = " or ".join(map(str, _CORNERS[axes]))
            raise UserError(
                f"{label}: areas and normals of facets of {facets.shape[1]} nodes must be given ({kinds} known)"
            )
        if given.get("areas") is not None:
            areas = checks.finite_array(f"areas of {label}", given["areas"], (nodes.size,))
            if not areas.sum() > 0.0:
                raise UserError(f"areas of {label}: must have a sum above 0")
        if given.get("normals") is not None:
            normals = checks.finite_array(f"normals of {label}", given["normals"], (nodes.size, axes))
            length = np.linalg.norm(normals, axis=1, keepdims=True)
            normals = np.divide(normals, length, out=np.zeros_like(normals), where=length > 0.0)
        return cls(nodes, areas, normals, facets)

    def surface(self, part: Part, name: str) -> Surface:
        """The boundary of a part."""
        return Surface(part, name, self.nodes, self.areas, self.normals, self.facets)


def _numbers(label: str, value: Any, count: int) -> Indices:
    """Whole numbers of nodes in [0, count)."""
    rule = f"must be whole numbers in [0, {count})"
    try:
        numbers = np.atleast_1d(np.asarray(value))
    except (TypeError, ValueError):  # rows of different lengths
        raise UserTypeError.parameter(label, value, rule) from None
    if numbers.dtype.kind not in "iu" or not numbers.size or numbers.min() < 0 or numbers.max() >= count:
        raise UserError.parameter(label, value, rule)
    return numbers.astype(np.int64)


def _measured(positions: Array, nodes: Indices, facets: Indices) -> tuple[Array, Array]:
    """∫ φ_k dΓ (k,), m² (in the plane for a thickness of 1 m), and mean outward unit normals (k, axis).

    Facets: lines with the part on their left; triangles and bilinear quadrilaterals, counter-clockwise seen from
    outside.
    """
    element = _ELEMENTS[facets.shape[1]]()
    points, weights = get_quadrature(element.refdom, 2)
    values, gradients = (
        np.stack(each) for each in zip(*(element.lbasis(points, a) for a in range(facets.shape[1])), strict=True)
    )
    tangents = np.einsum("niq,fnj->ifqj", gradients, positions[facets])
    if len(tangents) == 1:
        normals = np.stack([tangents[0, ..., 1], -tangents[0, ..., 0]], axis=-1)
    else:
        normals = np.cross(tangents[0], tangents[1])
    total, vector = np.zeros(len(positions)), np.zeros(positions.shape)
    np.add.at(total, facets, np.einsum("nq,q,fq->fn", values, weights, np.linalg.norm(normals, axis=2)))
    np.add.at(vector, facets, np.einsum("nq,q,fqj->fnj", values, weights, normals))
    length = np.maximum(np.linalg.norm(vector[nodes], axis=1, keepdims=True), np.finfo(float).tiny)
    return total[nodes], vector[nodes] / length
