"""The displacement field of a part at any points, as a matrix over its nodal displacements."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from arlequin.models.beams.beam import Beam
from arlequin.models.beams.section import SectionPoints
from arlequin.models.errors import UserError
from arlequin.models.part import MeshedPart, Part
from arlequin.models.types import Array
from arlequin.system.system import System

_NEAR = 12  # cells that are tried for a point
_NEWTON = 8  # iterations for its local coordinates
_OUTSIDE = 0.3  # of a cell, by which a point may lie outside (round bodies of other cells); then it is extrapolated
_BESIDE = 2.1  # radii of gyration: half the depth of a section is √2 (thin tube) to 2 (full circle) of them


def model_of(part: Part) -> Part:
    """The finite-element part, or the part itself where it wraps none."""
    return part.model if isinstance(part, MeshedPart) else part


def joined_to(system: System, name: str) -> set[str]:
    """Names of the parts that junctions couple with a part."""
    pairs = [{junction.coarse.name, junction.fine.name} for junction in system.junctions]
    return {other for pair in pairs if name in pair for other in pair} - {name}


def field_at(part: Part, points: Array) -> tuple[sp.csr_array, NDArray[np.bool_]]:
    """E (k·axis, nodal): displacements of the part's field at points (k, axis), m; and which of them it covers (k,).

    Rows of points that it does not cover are zero. A beam moves its sections as rigid ones, U + θ × r. UserError for a
    part without a field (masses).
    """
    model = model_of(part)
    if isinstance(model, Beam):
        return _beam_field(model, points)
    if isinstance(model, MeshedPart):
        return _mesh_field(model, points)
    raise UserError(f"part '{part.name}': has no field between its nodes: levels take solids, bars and beams")


def section_rotations(beam: Beam, points: Array) -> sp.csr_array:
    """Rotations (k·turn, nodal) of the beam's sections at points (k, axis) of its axis, by θ × r of two offsets r."""
    s = np.clip(beam.arc_length(points.T), *_ends(beam))
    along, second, third = beam.frame
    axes = beam.dimension

    def moved(offset: Array) -> sp.csr_array:
        both = [_lever(beam, s, np.tile(r, (s.size, 1))) for r in (offset[:axes], np.zeros(axes))]
        return sp.csr_array(both[0] - both[1])

    def component(rows: sp.csr_array, axis: Array) -> sp.csr_array:
        return sp.csr_array(sp.kron(sp.eye_array(s.size), axis[None, :axes]) @ rows)

    by_second = moved(second)
    if axes == 2:
        return sp.csr_array(-1.0 * component(by_second, along))
    by_third = moved(third)
    turns = component(by_second, third), component(by_third, along), -1.0 * component(by_second, along)
    whole = sum(sp.kron(turn, e[:, None]) for turn, e in zip(turns, beam.frame, strict=True))
    return sp.csr_array(whole)


def _ends(beam: Beam) -> tuple[float, float]:
    places = beam.basis.doflocs[0]
    return float(places.min()), float(places.max())


def _lever(beam: Beam, s: Array, offsets: Array) -> sp.csr_array:
    return sp.csr_array(SectionPoints(s, offsets).surface(beam, "points").motion)


def _beam_field(beam: Beam, points: Array) -> tuple[sp.csr_array, NDArray[np.bool_]]:
    s, (first, last) = beam.arc_length(points.T), _ends(beam)
    offsets = points - beam.place(s).T
    offsets -= np.outer(offsets @ beam.frame[0, : beam.dimension], beam.frame[0, : beam.dimension])
    section, tolerance = beam.section, 1e-9 * (last - first)
    inertias = section.inertia_y, section.inertia_z
    reach = _BESIDE * float(np.sqrt(max(inertias) / section.area))
    covered = (s >= first - tolerance) & (s <= last + tolerance) & (np.linalg.norm(offsets, axis=1) <= reach)
    out = sp.lil_array((points.size, beam.dof_count))
    if covered.any():
        rows = np.flatnonzero(np.repeat(covered, points.shape[1]))
        out[rows] = _lever(beam, np.clip(s[covered], first, last), offsets[covered])
    return sp.csr_array(out), covered


def _mesh_field(part: MeshedPart, points: Array) -> tuple[sp.csr_array, NDArray[np.bool_]]:
    basis, mesh = part.basis, part.mesh
    count, axes = points.shape
    centres = mesh.p[:, mesh.t].mean(axis=1).T
    near = cKDTree(centres).query(points, min(_NEAR, len(centres)))[1].reshape(count, -1)
    simplex = mesh.t.shape[0] == axes + 1 and axes > 1
    best, cell = np.full(count, np.inf), np.zeros(count, dtype=np.int64)
    local = np.zeros((axes, count))
    for column in near.T:
        at = _local(basis.mapping, points.T, column)
        beside = np.abs(at - 0.5).max(axis=0) - 0.5
        if simplex:
            beside = np.maximum(-at.min(axis=0), at.sum(axis=0) - 1.0)
        better = beside < best - 1e-12
        best, cell = np.where(better, beside, best), np.where(better, column, cell)
        local = np.where(better, at, local)
    values = np.array(
        [
            np.asarray(basis.elem.gbasis(basis.mapping, local[:, :, None], i, tind=cell)[0])[:, 0]
            for i in range(basis.Nbfun)
        ]
    )
    covered = best <= _OUTSIDE
    nodes = basis.element_dofs[:, cell]
    kept = np.where(covered, values, 0.0)
    rows = np.broadcast_to(np.arange(count), nodes.shape)
    shape = (count, part.node_count)
    scalar = sp.csr_array((kept.ravel(), (rows.ravel(), nodes.ravel())), shape=shape)
    scalar.eliminate_zeros()
    return sp.csr_array(sp.kron(scalar, sp.eye_array(part.components), format="csr")), covered


def _local(mapping: Any, points: Array, cells: NDArray[np.int64]) -> Array:
    """Local coordinates (axis, k) of points (axis, k) in cells (k,), outside of them by a bounded extrapolation."""
    at = np.full((*points.shape, 1), 0.5 if points.shape[0] == 1 else 1.0 / 3.0)
    for _ in range(_NEWTON):
        missing = points[:, :, None] - mapping.F(at, tind=cells)
        at = np.clip(at + np.einsum("ijkq,jkq->ikq", mapping.invDF(at, tind=cells), missing), -1.0, 2.0)
    return np.asarray(at[:, :, 0])
