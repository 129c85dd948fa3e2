"""A field along bars, at several instants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from arlequin.plots import style
from arlequin.results.members import one_member

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

MARKED = 60  # nodes, up to which they are shown


def profile(
    result: xarray.DataTree,
    field: str = "velocity",
    *,
    frames: Sequence[int] | None = None,
    component: int = 0,
    member: int | None = None,
) -> Figure:
    """A nodal field of every part over the first axis, one panel an instant.

    frames: their numbers, four spread over the run by default; where parts overlap both are drawn. member: of an
    ensemble, from 0.
    """
    result = one_member(result, member, "a profile")
    count = result.sizes["frame"]
    if frames is None:
        frames = sorted({int(n) for n in np.linspace(0, count - 1, 5).round()[1:]})
    parts = {name: node.to_dataset() for name, node in result["part"].children.items() if field in node.dataset}
    values = {name: p[field].isel(frame=list(frames), component=component).values for name, p in parts.items()}
    some = next(iter(parts.values()))[field]
    factor, unit = style.prefix(np.concatenate([v.ravel() for v in values.values()]), some.attrs.get("units", ""))
    positions = {name: p["position"].values[:, 0] for name, p in parts.items()}
    metre, length = style.prefix(np.concatenate(list(positions.values())), "m")
    instants = result.dataset["frame_time"].values[list(frames)]
    clock, second = style.prefix(instants, "s")
    with style.panels(len(frames), 0.9 + 1.15 * len(frames), sharex=True, sharey=True) as (figure, axes):
        for row, panel in enumerate(axes):
            for n, name in enumerate(parts):
                order = np.argsort(positions[name])
                marker = "." if len(order) <= MARKED else ""
                x, y = metre * positions[name][order], factor * values[name][row][order]
                dash = style.DASHES[n % len(style.DASHES)]
                panel.plot(x, y, dash, marker=marker, markersize=4, color=style.COLOURS[n], label=name)
            panel.set_title(f"t = {clock * instants[row]:.4g} {second}", loc="right", fontsize=9, pad=2)
        axes[-1].set_xlabel(style.label("Initial position", length))
        figure.supylabel(style.label(style.capital(some.attrs.get("long_name", field)), unit), fontsize=10)
        if len(parts) > 1:
            figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    return figure
