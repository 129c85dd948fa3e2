"""Meshes: structured generators with named boundaries, and files of Gmsh and of other programs (`read`)."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import skfem
from numpy.typing import ArrayLike

from arlequin.models import checks, limits
from arlequin.models.errors import UserError
from arlequin.models.mesh.cutting import cut
from arlequin.models.mesh.description import describe
from arlequin.models.mesh.reading import parts, points, read
from arlequin.models.mesh.tube import tube
from arlequin.models.signatures import checked_call

__all__ = ["box", "cut", "describe", "interval", "parts", "points", "read", "rectangle", "tube"]

Range = tuple[float, float]


@checked_call
def interval(start: float, end: float, cells: int) -> skfem.MeshLine:
    """Segment [start, end] (m) cut in equal cells; boundaries `left` (start) and `right` (end).

    >>> mesh = interval(0.0, 0.1, cells=4)
    >>> mesh.nelements, sorted(mesh.boundaries)
    (4, ['left', 'right'])
    """
    (x,) = _grid({"x": (start, end)}, (cells,))
    return _named(skfem.MeshLine(x), {"left": (0, x[0]), "right": (0, x[-1])})


def line(points: ArrayLike) -> skfem.MeshLine:
    """Segments between the increasing coordinates `points` (n,), m; boundaries `left` and `right`.

    >>> line([0.0, 0.1, 0.4]).nelements
    2
    """
    x = checks.finite_array("points", points, (None,))
    if x.size < 2 or not (np.diff(x) > 0).all():
        raise UserError.parameter("points", points, "must be at least two increasing coordinates")
    return _named(skfem.MeshLine(x), {"left": (0, x[0]), "right": (0, x[-1])})


@checked_call
def rectangle(x: Range, y: Range, cells: tuple[int, int], kind: str = "quad") -> Any:
    """Rectangle (m) of cells = (nx, ny) quadrilaterals, or twice as many triangles (`kind="tri"`).

    Boundaries: `left`, `right` (ends in x), `bottom`, `top` (ends in y).

    >>> import arlequin as aq
    >>> mesh = aq.mesh.rectangle((0.0, 0.1), (0.0, 0.02), cells=(10, 4))
    >>> mesh.nelements, mesh.p.shape[1], sorted(mesh.boundaries)
    (40, 55, ['bottom', 'left', 'right', 'top'])
    >>> aq.mesh.rectangle((0.0, 0.1), (0.0, 0.02), cells=(10, 4), kind="tri").nelements
    80
    """
    checks.one_of("kind", kind, ("quad", "tri"))
    xs, ys = _grid({"x": x, "y": y}, cells)
    mesh_class = skfem.MeshQuad if kind == "quad" else skfem.MeshTri
    ends = {"left": (0, xs[0]), "right": (0, xs[-1]), "bottom": (1, ys[0]), "top": (1, ys[-1])}
    return _named(mesh_class.init_tensor(xs, ys), ends)


@checked_call
def box(x: Range, y: Range, z: Range, cells: tuple[int, int, int], kind: str = "hex") -> Any:
    """Box (m) of cells = (nx, ny, nz) hexahedra, or six times as many tetrahedra (`kind="tet"`).

    Boundaries: `left`, `right` (ends in x), `bottom`, `top` (ends in y), `back`, `front` (ends in z).

    >>> import arlequin as aq
    >>> mesh = aq.mesh.box((0.0, 0.1), (0.0, 0.02), (0.0, 0.01), cells=(10, 4, 2))
    >>> mesh.nelements, mesh.p.shape[1], sorted(mesh.boundaries)
    (80, 165, ['back', 'bottom', 'front', 'left', 'right', 'top'])
    >>> len(mesh.boundaries["left"])  # facets: 4 × 2
    8
    """
    checks.one_of("kind", kind, ("hex", "tet"))
    xs, ys, zs = _grid({"x": x, "y": y, "z": z}, cells)
    mesh_class = skfem.MeshHex if kind == "hex" else skfem.MeshTet
    ends = {
        "left": (0, xs[0]),
        "right": (0, xs[-1]),
        "bottom": (1, ys[0]),
        "top": (1, ys[-1]),
        "back": (2, zs[0]),
        "front": (2, zs[-1]),
    }
    return _named(mesh_class.init_tensor(xs, ys, zs), ends)


def _grid(ranges: dict[str, Range], cells: tuple[int, ...]) -> list[np.ndarray]:
    """Equally spaced coordinates of each axis."""
    if not isinstance(cells, (tuple, list)) or len(cells) != len(ranges):
        raise UserError.parameter("cells", cells, f"must be {len(ranges)} whole numbers, one per axis")
    counts = [checks.positive_integer("cells", count) for count in cells]
    limits.check_cells("cells", cells, math.prod(counts), len(counts))
    grid = []
    for (axis, ends), number in zip(ranges.items(), counts, strict=True):
        if not isinstance(ends, (tuple, list)) or len(ends) != 2:
            raise UserError.parameter(axis, ends, "must be a pair (start, end)")
        start, end = (checks.finite(f"{axis} of the mesh", value) for value in ends)
        if not end > start:
            raise UserError.parameter(axis, (start, end), "must be a pair (start, end) with start < end")
        grid.append(np.linspace(start, end, number + 1))
    return grid


def _named(mesh: Any, ends: dict[str, tuple[int, float]]) -> Any:
    """The mesh with its boundary facets named by the end of the axis that they lie on."""
    facets = mesh.boundary_facets()
    middle = mesh.p[:, mesh.facets[:, facets]].mean(axis=1)
    size = np.ptp(mesh.p, axis=1)
    names = {name: facets[np.abs(middle[axis] - value) <= 1e-9 * size[axis]] for name, (axis, value) in ends.items()}
    return replace(mesh, _boundaries=names)
