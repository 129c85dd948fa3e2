"""Scatter plots of a sweep: a scalar over another, and a scalar over each parameter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from arlequin.plots import style, sweep_marks, sweep_points
from arlequin.plots.sweep_axis import SweepAxis, decades, geometric
from arlequin.plots.sweep_points import of_sweep

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

MAP = "viridis"
_COLUMNS = 2
_NAMES = 12  # entries of a legend
_DOT: Any = {"color": style.COLOURS[0], "linestyle": "none", "marker": "o", "markersize": 4, "alpha": 0.5}
_MEDIAN: Any = {"color": style.COLOURS[1], "marker": "_", "markersize": 10, "linewidth": 1.0}


@of_sweep
def sweep_scatter(dataset: xarray.Dataset, x: str, y: str, *, colour: str | None = None) -> Figure:
    """Every point of the sweep at two of its scalars or parameters, coloured by a third.

    A point without the two values is marked where its parameters say where it is, else counted above the panel.
    """
    for name in (x, y) if colour is None else (x, y, colour):
        sweep_points.variable(dataset, name)
    rows = sweep_points.table(dataset)
    swept = sweep_points.parameters(dataset)
    states = sweep_points.states(dataset).values.ravel()
    x_axis, y_axis = (SweepAxis.of(rows[n], dataset[n].attrs, n, geometric if n in swept else decades) for n in (x, y))
    with style.panels(1, 4.2) as (figure, (axes,)):
        placed = np.isfinite(x_axis.places) & np.isfinite(y_axis.places)
        shown = placed & (states == "")
        if colour is None:
            axes.plot(x_axis.places[shown], y_axis.places[shown], "o", color=style.COLOURS[0], markersize=5)
        else:
            states = np.where(shown, _coloured(figure, axes, dataset, rows, colour, x_axis, y_axis, shown), states)
        x_axis.apply_to(axes.xaxis)
        y_axis.apply_to(axes.yaxis)
        marked = placed & (states != "")
        sweep_marks.mark(axes, x_axis.places, y_axis.places, np.where(marked, states, ""))
        if y not in swept and x in swept:
            states_off_axis = np.where(
                np.isfinite(y_axis.places), "", np.where(states == "", sweep_points.WITHOUT, states)
            )
            sweep_marks.above(axes, x_axis.places, states_off_axis)
            marked = marked | (states_off_axis != "")
        sweep_marks.legend(figure, sweep_marks.handles(states[marked]))
        lost = int((~shown & ~marked).sum())
        note = f"{lost} of {shown.size} points without values" if lost else ""
        axes.set_title("\n".join(filter(None, (sweep_points.fixed(dataset), note))), loc="left", pad=18)
    return figure


def _coloured(
    figure: Figure, axes: Any, dataset: xarray.Dataset, rows: Any, name: str, along: Any, up: Any, shown: Any
) -> Any:
    """Draws the points that have a value; states of all: "no value" where there is none."""
    about = SweepAxis.of(
        rows[name], dataset[name].attrs, name, geometric if name in sweep_points.parameters(dataset) else decades
    )
    there = shown & np.isfinite(about.places)
    x, y = along.places[there], up.places[there]
    if about.names:
        for n, text in enumerate(about.names):
            in_group = about.places[there] == n
            look = {"color": style.COLOURS[n % len(style.COLOURS)], "marker": "os^Dv<>"[n % 7]}
            known = f"{name} = {text}" if n < _NAMES else None
            axes.plot(x[in_group], y[in_group], linestyle="none", markersize=5, label=known, **look)
        axes.legend()
    elif there.any():
        norm = "log" if about.logarithmic else None
        image = axes.scatter(x, y, c=about.places[there], cmap=MAP, norm=norm, s=32, linewidths=0)
        about.apply_to(figure.colorbar(image, ax=axes, label=about.label).ax.yaxis, labelled=False)
    return np.where(there, "", sweep_points.WITHOUT)


@of_sweep
def sweep_effects(dataset: xarray.Dataset, name: str) -> Figure:
    """A scalar over each parameter in a panel of its own: every point, and the median at values that come again."""
    from matplotlib.layout_engine import ConstrainedLayoutEngine
    from matplotlib.lines import Line2D

    variable = sweep_points.variable(dataset, name)
    rows = sweep_points.table(dataset)
    names = sweep_points.parameters(dataset)
    states = sweep_points.state_of(dataset, name).values.ravel()
    y_axis = SweepAxis.of(rows[name], variable.attrs, name, decades)
    valid, has_repeats = states == "", False
    panel_rows = -(-len(names) // _COLUMNS)
    layout = ConstrainedLayoutEngine(h_pad=0.09)  # room for the signs above each panel
    columns = min(_COLUMNS, len(names))
    with style.panels(panel_rows, 0.8 + 2.5 * panel_rows, columns=columns, layout=layout, sharey=True) as (
        figure,
        panels,
    ):
        for axes in panels[len(names) :]:
            axes.set_visible(False)
        for axes, swept in zip(panels, names, strict=False):
            x_axis = SweepAxis.of(rows[swept], dataset[swept].attrs, swept, geometric)
            x, y = x_axis.places[valid], y_axis.places[valid]
            axes.plot(x, y, **_DOT)
            places = np.unique(x)
            if places.size <= x.size // 2:
                medians = [np.median(y[x == place]) for place in places]
                has_repeats = True
                axes.plot(places, medians, **_MEDIAN, linestyle="none" if x_axis.names else "-")
            sweep_marks.above(axes, x_axis.places, states)
            x_axis.apply_to(axes.xaxis)
        y_axis.apply_to(panels[0].yaxis, each=False, labelled=False)
        figure.supylabel(y_axis.label, fontsize=10)
        keys = [
            Line2D([], [], label="point", **_DOT),
            *([Line2D([], [], label="median", **_MEDIAN)] if has_repeats else ()),
        ]
        sweep_marks.legend(figure, [*(keys if valid.any() else ()), *sweep_marks.handles(states)])
        chosen = sweep_points.fixed(dataset)
        if chosen:
            figure.suptitle(chosen, x=0.01, ha="left", fontsize=10)
    return figure
