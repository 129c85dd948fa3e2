"""Structured hexahedra of a tube."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import skfem
from numpy.typing import ArrayLike

from arlequin.models import checks, limits
from arlequin.models.errors import UserError
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array

Range = tuple[float, float]

_SAME = 1e-9  # relative to a turn, or to the height: closer ends coincide


@checked_call
def tube(
    inner: float,
    outer: float,
    angles: ArrayLike,
    heights: ArrayLike,
    cells: int = 1,
    patches: Mapping[str, tuple[Range, Range]] | None = None,
) -> Any:
    """Hexahedra of a tube about z: radii inner < outer (m), `cells` through the wall.

    angles (a,), rad, increase over one turn, the last being the first again (`np.linspace(0, 2 * np.pi, 25)`); heights
    (h,), m, increase. Boundaries: `inner`, `outer`, `bottom`, `top` (ends in z), and patches: name → (angles from, to),
    (heights from, to), the facets of `outer` whose centres lie in between; angles count modulo a turn.

    >>> mesh = tube(4e-3, 5e-3, np.linspace(0, 2 * np.pi, 9), [0.0, 0.1, 0.3], cells=2)
    >>> mesh.nelements, mesh.p.shape[1], sorted(mesh.boundaries)
    (32, 72, ['bottom', 'inner', 'outer', 'top'])
    """
    inner, outer = checks.positive("inner", inner), checks.positive("outer", outer)
    if not outer > inner:
        raise UserError.parameter("outer", outer, f"must be more than inner = {inner:g}")
    angle_values, levels = _increasing("angles", angles), _increasing("heights", heights)
    limits.check_cells("cells", cells, checks.positive_integer("cells", cells) * angle_values.size * levels.size, 3)
    wall = np.linspace(inner, outer, cells + 1)
    if abs(angle_values[-1] - angle_values[0] - 2 * math.pi) > _SAME * 2 * math.pi:
        raise UserError.parameter("angles", angles, "must take one turn, 2π from the first to the last")
    if np.diff(angle_values).max() > 0.9 * math.pi:
        raise UserError.parameter("angles", angles, "must have three cells at least, each of less than half a turn")
    angle_values = angle_values[:-1]
    # grid numbers (radius, angle, height); the last angle is the first one
    grid = skfem.MeshHex.init_tensor(*(np.arange(n) for n in (wall.size, angle_values.size + 1, levels.size)))
    i, j, k = np.rint(grid.p).astype(np.int64)
    shape = (wall.size, angle_values.size, levels.size)
    nodes = np.ravel_multi_index((i, j % angle_values.size, k), shape)
    i, j, k = np.unravel_index(np.arange(math.prod(shape)), shape)
    points = np.stack([wall[i] * np.cos(angle_values[j]), wall[i] * np.sin(angle_values[j]), levels[k]])
    mesh = skfem.MeshHex(points, nodes[grid.t])
    facets = mesh.boundary_facets()
    on = mesh.facets[:, facets]
    named = {"inner": i == 0, "outer": i == wall.size - 1, "bottom": k == 0, "top": k == levels.size - 1}
    names = {name: facets[its[on].all(axis=0)] for name, its in named.items()}
    skin = names["outer"]
    middle = mesh.p[:, mesh.facets[:, skin]].mean(axis=1)
    for name, ranges in (patches or {}).items():
        if name in named:
            raise UserError.parameter("patches", name, "must have other names than inner, outer, bottom and top")
        names[name] = skin[_within(name, ranges, np.arctan2(middle[1], middle[0]), middle[2])]
    return replace(mesh, _boundaries=names)


def _increasing(name: str, values: ArrayLike) -> Array:
    array = checks.finite_array(name, values, (None,))
    if array.size < 2 or not (np.diff(array) > 0).all():
        raise UserError.parameter(name, values, "must be at least two increasing numbers")
    return array


def _within(name: str, ranges: tuple[Range, Range], angle: Array, height: Array) -> np.ndarray:
    """Which points (f,) lie in the range of angles and in that of heights."""
    (start, end), (low, high) = checks.finite_array(f"patches[{name!r}]", ranges, (2, 2))
    if not (0 < end - start <= 2 * math.pi * (1 + _SAME) and low < high):
        rule = "must be (angles from, to), at most a turn, and (heights from, to), each increasing"
        raise UserError.parameter(f"patches[{name!r}]", ranges, rule)
    inside = ((angle - start) % (2 * math.pi) < end - start) & (height > low) & (height < high)
    if not inside.any():
        raise UserError.parameter(
            f"patches[{name!r}]", ranges, "must contain the middle of at least one facet of the tube"
        )
    return inside
