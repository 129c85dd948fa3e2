"""Geometry of a part in an animation: nodal positions over the frames, cells and their values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from arlequin.models.checks import integer, items, one_of
from arlequin.models.errors import UserError, UserTypeError
from arlequin.models.types import Array, Indices
from arlequin.results.cell_weights import counting_nodes
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
    if parts is not None:
        parts = items("parts", parts, str, "must be a list of names of parts")
    for name in parts or ():
        if name not in there:
            raise UserError(f"part {name}: not in the result; there are {', '.join(there) or 'none'}")
    groups = {name: node.to_dataset() for name, node in there.items() if not parts or name in parts}
    return {name: g for name, g in groups.items() if "position" in g and "displacement" in g}


def active_at(groups: dict[str, xarray.Dataset], frames: Indices) -> dict[str, xarray.Dataset]:
    """The parts that are there in one of the frames: those of levels that are not active have no displacement."""
    return {name: g for name, g in groups.items() if np.isfinite(g["displacement"].isel(frame=frames).values).any()}


def coarse_first(groups: dict[str, xarray.Dataset]) -> dict[str, xarray.Dataset]:
    """The parts from large to small cells, in which order fine ones are drawn over the coarse ones that they overlap.

    The order of the parts of a stored result is that of their names.
    """

    def size(group: xarray.Dataset) -> float:
        if "connectivity" not in group:
            return 0.0
        corners = group["position"].values[group["connectivity"].values]
        return float(np.ptp(corners, axis=1).max(axis=1).mean())

    return dict(sorted(groups.items(), key=lambda item: -size(item[1])))


def magnification(groups: Iterable[xarray.Dataset], frames: Indices) -> float:
    """1, 2 or 5 times a power of ten that makes small deflections of beams visible; 1 without beams."""
    groups = list(groups)
    # rigid bodies are lines too, but have an angle
    if not any(g.sizes["axis"] > 1 and g.sizes.get("corner") == 2 and "angle" not in g for g in groups):
        return 1.0
    size = max(float(np.ptp(g["position"].values, axis=0).max()) for g in groups)
    largest = max(float(np.nanmax(np.abs(g["displacement"].isel(frame=frames).values))) for g in groups)
    if not 0.0 < largest < _SEEN * size:
        return 1.0
    wanted = _SEEN * size / largest
    power = 10.0 ** np.floor(np.log10(wanted))
    return float(power * max(digit for digit in (1, 2, 5) if digit * power <= wanted))


def of_component(group: xarray.Dataset, field: str, component: int | str | None) -> xarray.Dataset:
    """The group with one component of the field, as `drawn_name`; as it is if `component` is None and the field is a
    vector. UserError if there is no such."""
    dims, chosen = group[field].dims, component
    if len(dims) < 3 or (component is None and dims[-1] != "stress_component"):
        return group if chosen is None else group.assign({drawn_name(field, chosen): group[field]})
    labels = [str(label) for label in group[dims[-1]].values] if dims[-1] in group.coords else []
    if component is None and len(labels) == 1:
        component = 0
    if component is None:
        raise UserError(
            f"{field}: choose component=, one of {', '.join(labels)} (command line: --component); or draw mises_stress"
        )
    if isinstance(component, str):
        component = labels.index(one_of("component", component, tuple(labels)))
    number = integer("component", component, -group.sizes[dims[-1]], group.sizes[dims[-1]] - 1)
    component_field = group[field].isel({dims[-1]: number}, drop=True)
    name = component_field.attrs.get("long_name", field)
    if group.sizes[dims[-1]] > 1:
        name = f"{name}, {labels[number] if labels else number}"
    # beside the field: parts are drawn where their whole displacement takes them
    return group.assign({drawn_name(field, chosen): component_field.assign_attrs(long_name=name)})


def drawn_name(field: str, component: int | str | None) -> str:
    """Name of a component of a field in `of_component`; the field's own for a vector, or what has no components."""
    return field if component is None else f"{field}[{component}]"


def hint(groups: dict[str, xarray.Dataset], field: str) -> str:
    """The fields that can be drawn, and how stresses are recorded."""
    drawable = [
        str(name) for g in groups.values() for name, v in g.data_vars.items() if v.dims[:1] == ("frame",)
    ]  # fmt: skip
    there = f"; there are {', '.join(dict.fromkeys(drawable))}" if drawable else ""
    return there + ("; stresses are recorded by Record(stress=True)" if "stress" in field or "section" in field else "")


def shifted_positions(group: xarray.Dataset, frames: Indices | int) -> Array:
    """Places of the nodes without displacement, m, at frames: (f, n, axis), or (n, axis) at one.

    Those of a patch that moves through a mesh are shifted with it.
    """
    places = np.asarray(group["position"].values)
    if "shift" not in group:
        return places
    return np.asarray(places + group["shift"].isel(frame=frames).values[..., None, :])


def moving(group: xarray.Dataset, field: str, frames: Indices, magnify: float, axes: int, row: int) -> Moving:
    """A part in a space of `axes` axes at the frames; bars along one axis lie at the height of their row."""
    positions = shifted_positions(group, frames) + magnify * group["displacement"].isel(frame=frames).values
    places = np.zeros((*positions.shape[:2], max(axes, 2)))
    places[..., : positions.shape[2]] = positions
    if axes == 1:
        places[..., 1] = row
    pieces, owner = faces_of(cells_of(group).counting(group))
    seen = np.arange(places.shape[1])
    if not counting_nodes(group).all():
        seen, numbers = np.unique(pieces, return_inverse=True)
        places, pieces = places[:, seen], numbers.reshape(pieces.shape)
    if field not in group:
        return Moving(places, pieces, np.full((len(frames), len(pieces)), np.nan))
    chosen = group[field].isel(frame=frames)
    values = (chosen.mean("end") if "end" in chosen.dims else chosen).values
    if values.ndim == 3:
        values = np.sqrt((values**2).sum(axis=2))
    on_cells = group[field].dims[1] == "cell"
    return Moving(places, pieces, values[:, owner] if on_cells else values[:, seen[pieces]].mean(axis=2))
