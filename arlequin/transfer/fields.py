"""Displacement field of a part at arbitrary points, as a matrix of its nodal displacements."""

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from arlequin.junctions.coupling import Shapes
from arlequin.models.beams.beam import Beam
from arlequin.models.beams.section import SectionPoints
from arlequin.models.errors import UserError
from arlequin.models.part import MeshedPart, Part
from arlequin.models.types import Array
from arlequin.overlap.geometry import candidate_pairs, distance_outside, to_reference

_OUTSIDE = 0.3  # of a cell: points up to this far outside (curved borders meshed otherwise) are extrapolated
_BESIDE = 3.0  # radii of gyration: a corner of a square section is √6 of them from its axis


def model_of(part: Part) -> Part:
    """The finite-element part behind a reduced part, or the part itself."""
    return part.model if isinstance(part, MeshedPart) else part


def has_field(part: Part) -> bool:
    """Whether a part has a field between its nodes."""
    return isinstance(model_of(part), MeshedPart)


def on_columns(block: sp.sparray, place: slice, count: int) -> sp.csr_array:
    """Expand a block (r, dofs of a part) to the dofs of the system (r, d)."""
    rows = block.shape[0]
    empty = sp.csr_array((rows, place.start)), sp.csr_array((rows, count - place.stop))
    return sp.csr_array(sp.hstack([empty[0], block, empty[1]], format="csr"))


def field_at(part: Part, points: Array) -> tuple[sp.csr_array, NDArray[np.bool_]]:
    """E (k·axis, nodal): displacements of the part's field at points (k, axis), m; and which points it covers (k,).

    Rows of points outside the part are zero. Sections of a beam are rigid, U + θ × r. UserError for a part without a
    field (masses).
    """
    model = model_of(part)
    if isinstance(model, Beam):
        return _beam_field(model, points)
    if isinstance(model, MeshedPart):
        return _mesh_field(model, points)
    raise UserError(f"part '{part.name}': has no field between its nodes: only solids, bars and beams have one")


def section_rotations(beam: Beam, points: Array) -> sp.csr_array:
    """Rotations (k·turn, nodal) of the beam's sections at points (k, axis) of its axis, by θ × r of two offsets r."""
    s = np.clip(beam.arc_length(points.T), *_ends(beam))
    along, second, third = beam.frame
    axes = beam.dimension

    def relative_motion(offset: Array) -> sp.csr_array:
        motions = [_rigid_section_motion(beam, s, np.tile(r, (s.size, 1))) for r in (offset[:axes], np.zeros(axes))]
        return sp.csr_array(motions[0] - motions[1])

    def component(rows: sp.csr_array, axis: Array) -> sp.csr_array:
        return sp.csr_array(sp.kron(sp.eye_array(s.size), axis[None, :axes]) @ rows)

    by_second = relative_motion(second)
    if axes == 2:
        return sp.csr_array(-1.0 * component(by_second, along))
    by_third = relative_motion(third)
    rotations = component(by_second, third), component(by_third, along), -1.0 * component(by_second, along)
    combined = sum(sp.kron(rotation, e[:, None]) for rotation, e in zip(rotations, beam.frame, strict=True))
    return sp.csr_array(combined)


def _ends(beam: Beam) -> tuple[float, float]:
    places = beam.basis.doflocs[0]
    return float(places.min()), float(places.max())


def _rigid_section_motion(beam: Beam, s: Array, offsets: Array) -> sp.csr_array:
    return sp.csr_array(SectionPoints(s, offsets).surface(beam, "points").motion)


def _beam_field(beam: Beam, points: Array) -> tuple[sp.csr_array, NDArray[np.bool_]]:
    s, (first, last) = beam.arc_length(points.T), _ends(beam)
    offsets = points - beam.place(s).T
    offsets -= np.outer(offsets @ beam.frame[0, : beam.dimension], beam.frame[0, : beam.dimension])
    section, tolerance = beam.section, 1e-9 * (last - first)
    inertias = section.inertia_y, section.inertia_z
    reach = _BESIDE * float(np.sqrt(max(inertias) / section.area))
    covered = (s >= first - tolerance) & (s <= last + tolerance) & (np.linalg.norm(offsets, axis=1) <= reach)
    rows = np.flatnonzero(np.repeat(covered, points.shape[1]))
    spread = sp.csr_array((np.ones(rows.size), (rows, np.arange(rows.size))), shape=(points.size, rows.size))
    levers = _rigid_section_motion(beam, np.clip(s[covered], first, last), offsets[covered]) if rows.size else None
    out = sp.csr_array((points.size, beam.dof_count)) if levers is None else sp.csr_array(spread @ levers)
    return out, covered


def _mesh_field(part: MeshedPart, points: Array) -> tuple[sp.csr_array, NDArray[np.bool_]]:
    mesh, count = part.mesh, len(points)
    corners = mesh.p[:, mesh.t]
    low, high = corners.min(axis=1), corners.max(axis=1)
    margin = _OUTSIDE * (high - low)
    cells, point = candidate_pairs(np.stack([low - margin, high + margin], axis=1), points.T[:, None, :].copy())
    X = to_reference(mesh, cells, points[point].T[:, :, None], partial=True)[0]
    outside = distance_outside(mesh, X)[:, 0]
    near = np.flatnonzero(outside <= _OUTSIDE)
    # for each point the cell in which it lies deepest
    near = near[np.lexsort((outside[near], point[near]))]
    inside, first = np.unique(point[near], return_index=True)
    shapes = Shapes.at(part.basis, cells[near[first]], points[inside].T[:, :, None])
    covered = np.zeros(count, dtype=bool)
    covered[inside] = True
    rows = np.broadcast_to(inside, shapes.nodes.shape)
    entries = shapes.values[:, :, 0].ravel(), (rows.ravel(), shapes.nodes.ravel())
    scalar = sp.csr_array(entries, shape=(count, part.node_count))
    scalar.eliminate_zeros()
    return sp.csr_array(sp.kron(scalar, sp.eye_array(part.components), format="csr")), covered
