"""The cells of a recorded part as VTK and meshio have them, the faces on its outside, and frames spread over a run.

A record has the corners of each cell in scikit-fem's order, which is VTK's but for hexahedra.
"""

from typing import NamedTuple

import numpy as np
import xarray

from models.checks import positive_integer
from models.errors import UserError
from models.types import Indices

# (axes of space, corners of a cell) → meshio's type; of lines and points whatever the axes
_SOLIDS = {(2, 3): "triangle", (2, 4): "quad", (3, 4): "tetra", (3, 8): "hexahedron"}
_SLENDER = {1: "vertex", 2: "line"}
_HEXAHEDRON = [0, 3, 6, 2, 1, 5, 7, 4]
_FACES = {
    "tetra": [[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]],
    "hexahedron": [[0, 3, 2, 1], [4, 5, 6, 7], [0, 1, 5, 4], [1, 2, 6, 5], [2, 3, 7, 6], [3, 0, 4, 7]],
}


class Cells(NamedTuple):
    """Cells of one of meshio's types: nodes (c, corner) in VTK's order."""

    kind: str
    nodes: Indices


def cells_of(group: xarray.Dataset) -> Cells:
    """The cells of the group of a part; the nodes themselves where it has none."""
    positions = group["position"].values
    if "connectivity" not in group:
        return Cells("vertex", np.arange(len(positions))[:, None])
    nodes = group["connectivity"].values.astype(np.int64)
    if nodes.size and not 0 <= nodes.min() <= nodes.max() < len(positions):
        raise UserError(f"the cells name nodes that are not among the {len(positions)} there are", code=1)
    shape = positions.shape[1], nodes.shape[1]
    kind = _SLENDER.get(shape[1]) or _SOLIDS.get(shape)
    if kind is None:
        raise UserError(
            f"cells of {shape[1]} corners in {shape[0]}D: not lines, triangles, quads, tetrahedra, hexahedra"
        )
    if kind == "hexahedron":
        nodes = nodes[:, _HEXAHEDRON]
    if kind == "tetra":
        # scikit-fem sorts the corners; VTK wants volumes that are positive
        edges = positions[nodes[:, 1:]] - positions[nodes[:, :1]]
        inside_out = np.linalg.det(edges) < 0.0
        nodes[inside_out] = nodes[inside_out][:, [0, 1, 3, 2]]
    return Cells(kind, nodes)


def faces_of(cells: Cells) -> tuple[Indices, Indices]:
    """What is seen of cells: nodes (f, corner) of the outer faces of solid ones, else of the cells; and which cells."""
    if cells.kind not in _FACES:
        return cells.nodes, np.arange(len(cells.nodes))
    faces = cells.nodes[:, _FACES[cells.kind]]
    owner = np.repeat(np.arange(len(faces)), faces.shape[1])
    faces = faces.reshape(len(owner), -1)
    _, first, count = np.unique(np.sort(faces, axis=1), axis=0, return_index=True, return_counts=True)
    outer = np.sort(first[count == 1])  # an inner face has two cells
    return faces[outer], owner[outer]


def spread(count: int, most: int | None) -> Indices:
    """Numbers of at most `most` of `count` frames, spread evenly from the first to the last; None takes all.

    >>> spread(10, 4).tolist()
    [0, 3, 6, 9]
    """
    if most is None or positive_integer("frames", most) >= count:
        return np.arange(count)
    return np.unique(np.linspace(0, count - 1, most).round().astype(np.int64))
