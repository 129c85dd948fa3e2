"""Loads and supports given for only one of two coupled parts on their common boundary."""

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from arlequin.models.errors import ModelWarning, warn_user
from arlequin.models.fem.continuum import Continuum
from arlequin.models.fem.surface import facet_indices
from arlequin.models.loads.turbulence import SpanForce
from arlequin.models.part import Weighting
from arlequin.models.types import Array, Indices
from arlequin.overlap.geometry import facet_corners, outward_normals
from arlequin.system.shared_contact import FREE, LEFT
from arlequin.system.system import System

_ALONG, _OFF = 0.95, 0.05  # cosine of normals, and distance as a share of the facet, of facets of one border


def warn_of_one_sided_loads(system: System, weights: Mapping[str, Weighting]) -> None:
    """A `ModelWarning` for each load or support of a part in a junction that the other part lacks.

    Tractions and body forces act with the weight γ of each part: the share of a part without them is lost; supports of
    a part of zero weight have no effect.
    """
    for line in dict.fromkeys(_one_sided(system, weights)):
        warn_user(line, ModelWarning)


def _one_sided(system: System, weights: Mapping[str, Weighting]) -> Iterator[str]:
    for junction in system.junctions:
        for part, other in ((junction.coarse, junction.fine), (junction.fine, junction.coarse)):
            if not (isinstance(part, Continuum) and isinstance(other, Continuum)):
                continue
            if part.components != other.components or not {part.name, other.name} <= set(weights):
                continue
            clause = f"junction '{junction.name}': '{part.name}'"
            if part.body_force is not None and other.body_force is None and not isinstance(part.body_force, SpanForce):
                yield f"{clause} has a body force, '{other.name}' has none: its share is lost; give it to both"
            for boundary, acting in _acting(part).items():
                for kind in sorted(acting - _common(part, boundary, other, weights, acting)):
                    if kind == "tractions":
                        yield (
                            f"{clause} has a traction on '{boundary}' where '{other.name}' shares the border and has "
                            "none: its share of the load is lost; give both the same tractions"
                        )
                    else:
                        yield (
                            f"{clause} is held along {kind} on '{boundary}' where '{other.name}' shares the border and "
                            "is free: it moves there; give both the same imposed motions"
                        )


def _acting(part: Continuum) -> dict[str, set[str]]:
    """Loads and supports on the boundaries of a part: "tractions", and the components with imposed motion."""
    acting: dict[str, set[str]] = {name: {"tractions"} for name in part.tractions}
    for motions in (part.imposed, part.imposed_velocity):
        for name, components in motions.items():
            # other types are refused on reading
            acting.setdefault(name, set()).update(components if isinstance(components, Mapping) else ())
    return acting


def _common(
    part: Continuum, boundary: str, other: Continuum, weights: Mapping[str, Weighting], acting: set[str]
) -> set[str]:
    """The kinds in `acting` that act on all facets of the other part on this boundary that share its weight."""
    facets = facet_indices(part.name, part.mesh, boundary)
    facets = facets[_share(part, facets, weights) < FREE]
    border = np.asarray(other.mesh.boundary_facets())
    border = border[_share(other, border, weights) > LEFT]
    border = border[_on(part, facets, other, border)]
    if not border.size:
        return acting
    covered = {kind: np.zeros(border.size, dtype=bool) for kind in acting}
    for name, kinds in _acting(other).items():
        within = np.isin(border, facet_indices(other.name, other.mesh, name))
        for kind in kinds & acting:
            covered[kind] |= within
    return {kind for kind, facets_covered in covered.items() if facets_covered.all()}


def _share(part: Continuum, facets: Indices, weights: Mapping[str, Weighting]) -> Array:
    """Mean weight of the cells at facets (f,)."""
    return np.asarray(weights[part.name].stiffness.mean(axis=1)[part.mesh.f2t[0, facets]])


def _on(part: Continuum, facets: Indices, other: Continuum, border: Indices) -> NDArray[np.bool_]:
    """Facets (b,) of the other part whose middles lie on facets (f,) of the first, with the same normal."""
    on = np.zeros(border.size, dtype=bool)
    if not facets.size or not border.size:
        return on
    from scipy.spatial import cKDTree

    (middle, normal, size), (place, facing, _) = _planes(part, facets), _planes(other, border)
    near = cKDTree(place).query_ball_point(middle, 0.5 * size)
    first = np.repeat(np.arange(facets.size), [len(neighbours) for neighbours in near])
    second = np.concatenate([np.asarray(neighbours, dtype=np.int64) for neighbours in near])
    off = np.abs(np.einsum("pi,pi->p", place[second] - middle[first], normal[first]))
    alike = np.einsum("pi,pi->p", facing[second], normal[first]) > _ALONG
    on[second[alike & (off <= _OFF * size[first])]] = True
    return on


def _planes(part: Continuum, facets: Indices) -> tuple[Array, Array, Array]:
    """Middles (f, axis), unit outward normals (f, axis) and sizes (f,) of facets; on a line those of their cells."""
    mesh = part.mesh
    corners, cells = mesh.p[:, facet_corners(mesh, facets)], mesh.p[:, mesh.t[:, mesh.f2t[0, facets]]]
    middle, inside = corners.mean(axis=1), cells.mean(axis=1)
    normal = np.sign(middle - inside) if mesh.dim() == 1 else outward_normals(corners, inside)
    extent = corners if mesh.dim() > 1 else cells
    return middle.T, normal.T, np.linalg.norm(np.ptp(extent, axis=1), axis=0)
