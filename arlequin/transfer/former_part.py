"""The finite-element part of a former result: its mesh from the recorded nodes and cells, with the material of now."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import skfem

from arlequin.models.beams.beam import Beam
from arlequin.models.errors import UserError
from arlequin.models.fem.continuum import Continuum
from arlequin.models.fem.elements import FiniteElement, registered
from arlequin.models.part import Part
from arlequin.models.types import Array, Indices
from arlequin.transfer.fields import model_of

_SAME = 1e-9  # distance between equal nodes, relative to the extent of the mesh
_UNLOADED: dict[str, Any] = {"imposed": {}, "imposed_velocity": {}}


def former_part(part: Part, recorded: Mapping[str, Array]) -> Continuum | Beam:
    """A part like `part` on the mesh of a result, without its loads and supports.

    recorded: `position` (n, axis), m, `connectivity` (c, corner), and of other than linear elements `cell_nodes` or
    `cell_lattice` (c, n). UserError where no registered element has these nodes.
    """
    model = model_of(part)
    positions, corners = recorded["position"], recorded["connectivity"].astype(np.int64)
    if isinstance(model, Beam):
        arc_length = model.arc_length(positions.T)
        off = float(np.abs(model.place(arc_length).T - positions).max())
        if off > _SAME * np.ptp(positions, axis=0).max():
            raise UserError(f"from_result: beam '{part.name}' has another axis there, up to {off:.3g} m away")
        mesh = skfem.MeshLine1(arc_length[None], np.ascontiguousarray(corners.T))
        return replace(model, mesh=mesh, distributed=None, turbulence=None, end_loads={}, points={}, **_UNLOADED)
    assert isinstance(model, Continuum)
    nodes = next((recorded[name] for name in ("cell_lattice", "cell_nodes") if name in recorded), corners)
    for element in registered():
        if element.scalar.refdom.dim() != positions.shape[1] or element.corners != corners.shape[1]:
            continue
        if len(element.scalar().doflocs) != nodes.shape[1]:
            continue
        for mesh in _meshes(element, positions, corners):
            former = replace(model, mesh=mesh, element=element, order=None, body_force=None, tractions={}, **_UNLOADED)
            if former.positions.shape == positions.shape and _apart(former.positions, positions) <= _SAME:
                return former
    raise UserError(
        f"from_result: part '{part.name}' has cells of {nodes.shape[1]} nodes there, of which no element is registered"
    )


def _meshes(element: FiniteElement, positions: Array, corners: Indices) -> list[Any]:
    """Meshes of straight cells on the corners, then of cells that all nodes shape, as far as there are such meshes."""
    straight = next(
        other.mesh for other in registered() if other.scalar.refdom is element.scalar.refdom and other.mesh is not None
    )
    points, cells = np.ascontiguousarray(positions.T), np.ascontiguousarray(corners.T)
    vertices = int(cells.max()) + 1
    meshes = [straight(np.ascontiguousarray(points[:, :vertices]), cells)]
    if element.mesh is not None and element.mesh is not straight:
        meshes.append(element.mesh(points, cells))
    return meshes


def _apart(first: Array, second: Array) -> float:
    """Largest distance of nodes, relative to the extent of the mesh."""
    return float(np.abs(first - second).max(initial=0.0) / np.ptp(second, axis=0).max())


def same_cells(part: Part, recorded: Mapping[str, Array]) -> bool:
    """Whether the part has the cells of the result, in any order."""
    cells = part.connectivity
    former = recorded.get("connectivity")
    if former is None or former.shape != cells.shape:
        return former is None
    first, second = (_sorted(np.asarray(nodes, dtype=np.int64)) for nodes in (cells, former))
    return bool(np.array_equal(first, second))


def _sorted(cells: Indices) -> Indices:
    nodes = np.sort(cells, axis=1)
    return nodes[np.lexsort(nodes.T)]
