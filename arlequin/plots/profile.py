"""A field along bars, at several instants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from arlequin.models.errors import UserError
from arlequin.models.types import Array
from arlequin.plots import style
from arlequin.plots.moving import drawn_name, hint, of_component
from arlequin.results.cell_weights import counting_cells, counting_nodes
from arlequin.results.members import one_member
from arlequin.results.reading import frame_number, of_result

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

MARKED = 60  # nodes, up to which they are shown


@of_result
def profile(
    result: xarray.DataTree,
    field: str = "velocity",
    *,
    frames: Sequence[int] | None = None,
    component: int | str = 0,
    member: int | None = None,
) -> Figure:
    """A field of every part over the first axis, one panel an instant.

    field: of the nodes, or of the cells of bars and beams: their stresses and section forces. component: its number or
    label, such as "y" or "Mz". frames: their numbers, four spread over the run by default; where parts overlap both
    are drawn. member: of an ensemble, from 0.
    """
    result = one_member(result, member, "a profile")
    count = result.sizes.get("frame", 0)
    if not count:
        raise UserError("no profile: the result has no frames", code=1)
    if frames is None:
        frames = sorted({int(n) for n in np.linspace(0, count - 1, 5).round()[1:]})
    frames = [frame_number(result, n) for n in ([frames] if np.ndim(frames) == 0 else frames)]
    every = {name: node.to_dataset() for name, node in result["part"].children.items()}
    parts = {name: of_component(g, field, component) for name, g in every.items() if field in g and _is_along(g, field)}
    if not parts:
        raise UserError(f"no part of the result has a field `{field}` along an axis{hint(every, field)}")
    field = drawn_name(field, component)
    lines = {name: _line(g, field, frames) for name, g in parts.items()}
    values = {name: y for name, (_, y) in lines.items()}
    some = next(iter(parts.values()))[field]
    factor, unit = style.prefix(np.concatenate([v.ravel() for v in values.values()]), some.attrs.get("units", ""))
    positions = {name: x for name, (x, _) in lines.items()}
    metre, length = style.prefix(np.concatenate(list(positions.values())), "m")
    instants = result.dataset["frame_time"].values[list(frames)]
    clock, second = style.prefix(instants, "s")
    height = 0.9 + 1.15 * len(frames)
    with style.panels(len(frames), height, sharex=True, sharey=True) as (figure, axes):
        for row, panel in enumerate(axes):
            for n, name in enumerate(parts):
                x, y = metre * positions[name], factor * values[name][row]
                marker = "." if len(x) <= MARKED and "node" in parts[name][field].dims else ""
                dash = style.DASHES[n % len(style.DASHES)]
                panel.plot(x, y, dash, marker=marker, markersize=4, color=style.COLOURS[n], label=name)
            panel.set_title(f"t = {clock * instants[row]:.4g} {second}", loc="right", fontsize=9, pad=2)
        axes[-1].set_xlabel(style.label("Initial position", length))
        title = style.label(style.capital(some.attrs.get("long_name", field)), unit)
        figure.supylabel(style.wrapped(title, height), fontsize=10, multialignment="center")
        if len(parts) > 1:
            figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    return figure


def _is_along(group: xarray.Dataset, field: str) -> bool:
    """Whether a field has places along an axis: at nodes, or on the cells of lines."""
    return "node" in group[field].dims or ("cell" in group[field].dims and group.sizes.get("corner") == 2)


def _line(group: xarray.Dataset, field: str, frames: list[int]) -> tuple[Array, Array]:
    """Positions (p,), m, in ascending order, and the field (f, p): at the nodes, or at both ends of each cell."""
    chosen = group[field].isel(frame=frames)
    places, values = group["position"].values[:, 0], chosen.values
    if "cell" in chosen.dims:
        places = places[group["connectivity"].values.astype(np.int64)]
        values = values if "end" in chosen.dims else np.repeat(values[..., None], 2, axis=2)
        backwards = places[:, 0] > places[:, 1]
        places[backwards], values[:, backwards] = places[backwards, ::-1], values[:, backwards, ::-1]
        order = np.argsort(places.mean(axis=1))
        order = order[counting_cells(group)[order]]
        return places[order].ravel(), values[:, order].reshape(len(frames), -1)
    order = np.argsort(places)
    order = order[counting_nodes(group)[order]]
    return places[order], values[:, order]
