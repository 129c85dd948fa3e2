"""Meshes of nested cylinders of hexahedra: a closed-bottom shell, its filler and a core off the axis.

One layout for all meshes: an O-grid about the axis of the core, whose circles have the radii of the core, of the gluing
zone (inner and outer), of the filler and of the shell, and layers along z with planes at the ends of each. Between the
zone and the filler the circles move from the axis of the core to that of the shell. The circles and planes are lines of
nodes of every mesh, whatever its size.

    centre of the circles    offset       offset    offset    0        0
    radii                    core         inner     outer     filler   shell
    region                   0            1         2         3        4
"""

from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any

import numpy as np
import skfem
from numpy.typing import NDArray

from arlequin.cases.shared.meshes import halved, mesh_of
from arlequin.models.types import Array, Indices

SQUARE = 0.55  # half width of the square within the core over its radius
BULGE = (
    0.15  # outward shift of its corners over the half width, which keeps the angles of the cells next to it below 180°
)

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Layout:
    """offset: distance of the axes, m; radii (5,): of the core, the zone's inner and outer border, the filler and the
    shell, m; planes (8,): z of the outer and inner face of the bottom, of the zone's outer and inner border below, of
    the ends of the core, of the zone's inner and outer border above, and of the top, m."""

    offset: float
    radii: tuple[float, ...]
    planes: tuple[float, ...]


@dataclass(frozen=True)
class Regions:
    """A mesh of all regions: skfem mesh; ring (c,) and layer (c,) of each cell, counted from 0."""

    mesh: Any
    ring: Indices
    layer: Indices

    @property
    def shell(self) -> Mask:
        """Cells (c,) of the wall and the bottom."""
        return (self.ring == 4) | (self.layer == 0)

    @property
    def core(self) -> Mask:
        """Cells (c,) of the core."""
        return (self.ring == 0) & (self.layer == 4)

    @property
    def free(self) -> Mask:
        """Cells (c,) within the inner border of the zone."""
        return (self.ring <= 1) & (self.layer >= 3) & (self.layer <= 5)

    @property
    def patch(self) -> Mask:
        """Cells (c,) within the outer border of the zone."""
        return (self.ring <= 2) & (self.layer >= 2) & (self.layer <= 6)

    def part(self, chosen: Mask, **borders: Mask) -> Any:
        """The mesh of the chosen cells (c,), in the same order; borders: by name, cells (c,) whose common surface with
        the chosen ones is a boundary of this name. The face z = 0 is the boundary "contact"."""
        nodes, t = np.unique(self.mesh.t[:, chosen], return_inverse=True)
        mesh = skfem.MeshHex1(np.ascontiguousarray(self.mesh.p[:, nodes]), np.ascontiguousarray(t.reshape(8, -1)))
        facets = mesh.boundary_facets()
        corners = nodes[mesh.facets[:, facets]]
        names = {name: facets[np.isin(corners, self.mesh.t[:, cells]).all(axis=0)] for name, cells in borders.items()}
        names["contact"] = facets[(np.abs(self.mesh.p[2, corners]) <= 1e-9 * np.ptp(self.mesh.p)).all(axis=0)]
        return mesh.with_boundaries({name: facet for name, facet in names.items() if facet.size})


def count(length: float, size: float) -> int:
    """Number of cells of about `size` over a length."""
    return max(1, round(length / size))


def regions(layout: Layout, size: float, bottom: float) -> Regions:
    """The mesh of cells of about `size`, m, at the outer border of the zone, and about `bottom` high in the bottom."""
    quarter = count(0.5 * np.pi * layout.radii[2], size)
    rings = _rings(layout, quarter, size)
    blocks, ring, layer = [], [], []
    for k, (low, high) in enumerate(pairwise(layout.planes)):
        heights = halved(np.linspace(low, high, count(high - low, bottom if k == 0 else size) + 1))
        for number, plane in rings:
            x, y = (np.broadcast_to(plane[..., i, None], (*plane.shape[:2], heights.size)) for i in (0, 1))
            blocks.append(np.stack([x, y, np.broadcast_to(heights, x.shape)]))
            cells = int(np.prod([n // 2 for n in x.shape]))
            ring += [number] * cells
            layer += [k] * cells
    return Regions(mesh_of(blocks, "hex", 1), np.array(ring), np.array(layer))


def _rings(layout: Layout, quarter: int, size: float) -> list[tuple[int, Array]]:
    """Region and points (m, n, 2), at half steps of the cells, of each plane block; `quarter` cells on a quadrant."""
    step = 0.5 * np.pi / quarter  # angle of a cell
    core, inner, outer, filler, shell = np.sqrt(step / np.sin(step)) * np.array(layout.radii)  # areas of the circles
    share = np.linspace(-1.0, 1.0, 2 * quarter + 1)
    half = SQUARE * core
    line = half * np.stack([1.0 + BULGE * (1.0 - share**2), share], axis=1)  # from −45° to 45°
    angle = 0.25 * np.pi * share
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    turns = [np.array([[c, -s], [s, c]]) for c, s in ((1, 0), (0, 1), (-1, 0), (0, -1))]
    blocks = []
    s, t = share[:, None], share[None, :]
    square = half * np.stack(
        [s * (1.0 + BULGE * (1.0 - t**2)) + 0.0 * t, t * (1.0 + BULGE * (1.0 - s**2)) + 0.0 * s], axis=2
    )
    blocks.append((0, square + np.array([layout.offset, 0.0])))
    borders = [(0, line, core * circle, layout.offset, layout.offset, core - half)]
    for number, (low, high) in enumerate(pairwise((core, inner, outer)), start=1):
        borders.append((number, low * circle, high * circle, layout.offset, layout.offset, high - low))
    borders.append((3, outer * circle, filler * circle, layout.offset, 0.0, filler - outer))
    borders.append((4, filler * circle, shell * circle, 0.0, 0.0, shell - filler))
    for (number, low, high, start, end, width), turn in product(borders, turns):
        out = np.linspace(0.0, 1.0, 2 * count(width, size) + 1)[None, :, None]
        first, last = low @ turn.T + np.array([start, 0.0]), high @ turn.T + np.array([end, 0.0])
        blocks.append((number, (1.0 - out) * first[:, None] + out * last[:, None]))
    return blocks
