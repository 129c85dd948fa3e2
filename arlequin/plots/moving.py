"""Geometry of a part in an animation: nodal positions over the frames, cells and their values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from arlequin.models.errors import UserError, UserTypeError
from arlequin.models.types import Array, Indices
from arlequin.results.paraview import cells_of, faces_of

if TYPE_CHECKING:
    import xarray


_SEEN = 0.05  # of the size of the parts: what the largest displacement of beams is brought to


class Moving(NamedTuple):
    """A part over the frames drawn: nodes at `places` (f, n, axis), m; `pieces` (p, corner) of nodes: dots, lines,
    polygons; their `values` (f, p), nan where the part does not have the field."""

    places: Array
    pieces: Indices
    values: Array


def groups_of(result: xarray.DataTree, parts: tuple[str, ...] | None) -> dict[str, xarray.Dataset]:
    """The parts with places and displacements, all or the ones named."""
    there = result["part"].children if "part" in result.children else {}
    if isinstance(parts, str):
        raise UserTypeError.parameter("parts", parts, f"must be a list of names, as [{parts!r}]")
    for name in parts or ():
        if name not in there:
            raise UserError(f"part {name}: not in the result; there are {', '.join(there) or 'none'}")
    groups = {name: node.to_dataset() for name, node in there.items() if not parts or name in parts}
    return {name: g for name, g in groups.items() if "position" in g and "displacement" in g}


def magnification(groups: Iterable[xarray.Dataset], frames: Indices) -> float:
    """1, 2 or 5 times a power of ten that makes small deflections of beams visible; 1 without beams."""
    groups = list(groups)
    # rigid bodies are lines too, but have an angle
    if not any(g.sizes["axis"] > 1 and g.sizes.get("corner") == 2 and "angle" not in g for g in groups):
        return 1.0
    size = max(float(np.ptp(g["position"].values, axis=0).max()) for g in groups)
    largest = max(float(np.abs(g["displacement"].isel(frame=frames).values).max()) for g in groups)
    if not 0.0 < largest < _SEEN * size:
        return 1.0
    wanted = _SEEN * size / largest
    power = 10.0 ** np.floor(np.log10(wanted))
    return float(power * max(digit for digit in (1, 2, 5) if digit * power <= wanted))


def moving(group: xarray.Dataset, field: str, frames: Indices, magnify: float, axes: int, row: int) -> Moving:
    """A part in a space of `axes` axes at the frames; bars along one axis lie at the height of their row."""
    moved = group["position"].values + magnify * group["displacement"].isel(frame=frames).values
    places = np.zeros((*moved.shape[:2], max(axes, 2)))
    places[..., : moved.shape[2]] = moved
    if axes == 1:
        places[..., 1] = row
    pieces, owner = faces_of(cells_of(group))
    if field not in group:
        return Moving(places, pieces, np.full((len(frames), len(pieces)), np.nan))
    values = group[field].isel(frame=frames).values
    if values.ndim == 3:
        values = np.sqrt((values**2).sum(axis=2))
    on_cells = group[field].dims[1] == "cell"
    return Moving(places, pieces, values[:, owner] if on_cells else values[:, pieces].mean(axis=2))
