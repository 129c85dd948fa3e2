"""Meshes of a spacer cell: a tube that is fine under each support, and the pads."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import skfem

from cases.structured import halved, mesh_of
from models import limits
from models.types import Array

Range = tuple[float, float]


def refined_line(ends: Range, zones: Sequence[Range], size: float, largest: float, growth: float = 1.6) -> Array:
    """Increasing points from one end to the other: equal cells of at most `size` in the zones, an even number in each,
    that grow by the factor `growth` away from them, up to `largest`.

    zones: (low, high), sorted, apart from each other.

    >>> refined_line((0.0, 4.0), [(1.0, 2.0)], 0.5, 1.0, growth=2.0)
    array([0. , 1. , 1.5, 2. , 3. , 4. ])
    """
    points: list[Array] = []
    before = ends[0]
    for number, (low, high) in enumerate(zones):
        if low > before:
            points.append(_between(before, low, (number > 0, True), size, largest, growth)[:-1])
        count = 2 * math.ceil(0.5 * (high - low) / size * (1 - 1e-9))
        points.append(np.linspace(low, high, count + 1)[:-1])
        before = high
    if ends[1] > before:
        points.append(_between(before, ends[1], (True, False), size, largest, growth)[:-1])
    return np.concatenate([*points, [ends[1]]])


def _between(start: float, end: float, fine: tuple[bool, bool], size: float, largest: float, growth: float) -> Array:
    """Points from start to end, fine at the ends said."""
    if all(fine):
        middle = 0.5 * (start + end)
        first = _between(start, middle, (True, False), size, largest, growth)
        return np.concatenate([first, (start + end) - first[-2::-1]])
    length = end - start
    limits.check_cells("largest", largest, length / max(size, largest), 1)
    sizes: list[float] = []
    total, next_size = 0.0, size
    while total < length * (1 - 1e-9):
        next_size = max(size, min(size * growth ** (len(sizes) + 1), largest)) if next_size < largest else next_size
        sizes.append(next_size)
        total += next_size
    fractions = np.concatenate([[0.0], np.cumsum(sizes)]) / total
    return start + length * fractions if fine[0] else (end - length * fractions)[::-1]


def on_cylinders(mesh: Any) -> Any:
    """The tube about z in cells of second order, their nodes on the cylinders between those of the corners."""
    radius = np.hypot(*mesh.p[:2])
    curved = skfem.MeshHex2.from_mesh(mesh)
    # the mean radius of the corners that a node lies between: from the same mesh with the radius as a coordinate
    means = skfem.MeshHex2.from_mesh(replace(mesh, doflocs=np.stack([radius, radius, mesh.p[2]])))
    points = curved.doflocs.copy()
    points[:2] *= means.doflocs[0] / np.hypot(*points[:2])
    return replace(curved, doflocs=points, _boundaries=mesh.boundaries)


def pad_mesh(
    size: tuple[float, float, float], cells: tuple[int, int], across: Array, radius: float | None, order: int
) -> Any:
    """A pad (width, height, thickness in m) behind x = 0: its front face there, or hollow of a radius, deepest there.

    cells: along z and through the thickness; across: places (n,), m, of the nodes along y, from −width/2 to width/2.
    Boundaries: `front`, `back`.
    """
    _, height, thickness = size
    y, z = halved(across), halved(np.linspace(-0.5 * height, 0.5 * height, cells[0] + 1))
    depth = halved(np.linspace(0.0, 1.0, cells[1] + 1))
    hollow = np.zeros_like(y) if radius is None else radius - np.sqrt(radius**2 - y**2)
    block = np.empty((3, depth.size, y.size, z.size))
    front = -hollow[None, :, None]
    block[0] = front + (thickness - front) * depth[:, None, None]
    block[1], block[2] = y[None, :, None], z[None, None, :]
    mesh = mesh_of([block], "hex", order)
    facets = mesh.boundary_facets()
    middle = mesh.p[:, mesh.facets[:, facets]].mean(axis=1)
    back = np.abs(middle[0] - thickness) <= 1e-9 * thickness
    corners = mesh.p[:, mesh.facets[:, facets]]
    bent = np.zeros_like(corners[1]) if radius is None else radius - np.sqrt(radius**2 - corners[1] ** 2)
    ahead = (np.abs(corners[0] + bent) <= 1e-9 * thickness).all(axis=0)
    return replace(mesh, _boundaries={"front": facets[ahead], "back": facets[back]})


def placed(mesh: Any, distance: float, angle: float, height: float) -> Any:
    """The mesh moved by the distance (m) along x, turned by the angle (rad) about z and lifted by the height (m)."""
    x, y, z = mesh.doflocs
    x, cosine, sine = x + distance, math.cos(angle), math.sin(angle)
    return replace(mesh, doflocs=np.stack([cosine * x - sine * y, sine * x + cosine * y, z + height]))
