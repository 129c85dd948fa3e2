"""What a graded disc is pressed on: a block that is fine at the contact, or its own image."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from cases.ball_blocks import cell_count
from cases.structured import graded, halved, mesh_of
from models import checks, limits
from models.types import Array


def graded_block(
    width: float, height: float, zone: float, size: float, *, growth: float = 1.15, kind: str = "quad", order: int = 1
) -> Any:
    """Block [0, width] × [−height, 0] (m), fine at the origin: cells of `size` over 0 ≤ x ≤ zone at the top.

    growth: largest ratio of neighbours outside it. Boundaries as in `aq.mesh.rectangle`.

    >>> mesh = graded_block(1.0, 1.0, 0.1, 0.02)
    >>> sorted(mesh.boundaries), mesh.nelements
    (['bottom', 'left', 'right', 'top'], 320)
    """
    checks.within("zone", zone, 0.0, checks.positive("width", width), open_low=True, open_high=True)
    checks.within("size", size, 0.0, zone, open_low=True)
    limits.check_cells("size", size, zone / size, 2)
    fine = halved(np.linspace(0.0, zone, math.ceil(zone / size * (1 - 1e-12)) + 1))
    x = np.concatenate([fine, zone + _growing(size, width - zone, growth)[1:]])
    y = -_growing(size, checks.positive("height", height), growth)[::-1]
    mesh = mesh_of([np.stack(np.meshgrid(x, y, indexing="ij"))], kind, order)
    facets = mesh.boundary_facets()
    middle = mesh.p[:, mesh.facets[:, facets]].mean(axis=1)
    ends = {"left": (0, 0.0), "right": (0, width), "bottom": (1, -height), "top": (1, 0.0)}
    names = {name: facets[np.abs(middle[axis] - at) <= 1e-9 * width] for name, (axis, at) in ends.items()}
    return replace(mesh, _boundaries=names)


def turned(mesh: Any) -> Any:
    """The plane mesh turned by half a turn about the origin; boundaries keep their names."""
    return replace(mesh, doflocs=-mesh.doflocs)


def _growing(first: float, total: float, growth: float) -> Array:
    """Ends and middles (2n + 1,) of cells that grow from `first` on over [0, total], m."""
    return total * graded(cell_count(first, total, growth), first, total)
