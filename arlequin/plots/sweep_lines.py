"""A number of a sweep over one of its parameters, a line for each value of another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from arlequin.models.checks import one_of
from arlequin.models.errors import UserError
from arlequin.plots import style, sweep_marks, sweep_points
from arlequin.plots.sweep_axis import SweepAxis, decades, geometric, geometric_over_decades, linear
from arlequin.plots.sweep_points import of_sweep
from arlequin.plots.sweep_replicates import BANDS, HIGH, LOW, Band, Replicated, averaged, replicates_of

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MARKED = 60  # places along x, up to which each has its dot
_SIGNS = "os^Dv<>"
MAP = "viridis"


@of_sweep
def sweep_lines(
    dataset: xarray.Dataset,
    name: str,
    x: str | None = None,
    hue: str | None = None,
    *,
    over: str | None = None,
    band: Band = "deviation",
) -> Figure:
    """A scalar or a series over `x`; further dimensions but `hue` must have been chosen (`dataset.sel(cells=20)`).

    x: a parameter, or the dimension of a series (default: that, else the parameter with the most numbers). Points that
    failed or are not there yet are marked in a strip under the lines. The axis of a parameter is logarithmic if its
    values go over two decades or more in about even ratios; that of the numbers if they go over three or more.

    Of runs that differ in their random numbers alone the mean is drawn in a band: those along `over`, by default a
    parameter named seed, replicate, repetition, realisation, trial or the like (`noise_seed`, too), unless it is `x` or
    `hue`. band: "deviation", mean ± standard deviation; "confidence", the 95 % confidence interval of the mean by
    Student's distribution; "range", the smallest to the largest value. The legend says which.
    """
    dataset = sweep_points.along(dataset)
    dims = tuple(str(dim) for dim in sweep_points.variable(dataset, name).dims)
    one_of("band", band, tuple(BANDS))
    for chosen_dim in (x, hue, over):
        if chosen_dim is not None and chosen_dim not in dims:
            raise UserError(f"{chosen_dim}: not a dimension of {name}; there are {', '.join(dims) or 'none'}")
    if over is not None and over in (x, hue):
        raise UserError.parameter("over", over, "must not be x or hue, whose values are drawn")
    over = replicates_of(dataset, name, (x, hue)) if over is None else over
    means = None if over is None else averaged(dataset, name, over, band)
    if means is not None:
        dataset, dims = means.dataset, tuple(dim for dim in dims if dim != over)
    x, hue = _chosen(dataset, name, dims, x, hue)
    dataset = sweep_points.ordered(dataset, tuple(dim for dim in (x, hue) if dim))
    order = (hue, x) if hue else (x,)
    variable = dataset[name].transpose(*order)
    states = _states(dataset, name, order)
    swept = sweep_points.dimensions(dataset)
    at = _coordinate(dataset, name, order)
    along = SweepAxis.of(at, at.attrs, x, geometric_over_decades if x in swept else linear)
    ends = [] if means is None else [dataset[end].transpose(*order).values for end in (LOW, HIGH)]
    logarithmic = x in swept and decades(variable.values) if variable.dtype.kind in "iuf" else False
    up = SweepAxis.of(np.stack([variable.values, *ends]), variable.attrs, name, lambda _: logarithmic)
    shape = up.places.shape[1:]
    values, *borders = (each.reshape(-1, shape[-1]) for each in up.places)
    places = np.broadcast_to(along.places, shape).reshape(values.shape)
    few = values.shape[1] <= _MARKED
    with style.panels(*_layout(int((states != "").any(axis=1).sum())), sharex=True) as (figure, panels):
        above = panels[0]
        colours = _colours(figure, panels, dataset, hue, len(values))
        labels = [_label(dataset, hue, n) for n in range(len(values))]
        for n, row in enumerate(values):
            above.plot(
                places[n],
                row,
                color=colours[n],
                linestyle=style.DASHES[(n // len(style.COLOURS)) % len(style.DASHES)],
                marker=_SIGNS[n % len(_SIGNS)] if few else None,
                markersize=4.5,
                label=labels[n],
            )
            if borders:
                look: Any = {"color": colours[n], "alpha": 0.2, "linewidth": 0.0}
                above.fill_between(places[n], borders[0][n], borders[1][n], **look)
        up.apply_to(above.yaxis, each=False)
        along.apply_to(panels[-1].xaxis)
        if len(panels) > 1:
            _strip(panels[1], places[0], states, colours, labels if hue else None)
        entries = sweep_marks.handles(states.ravel())
        if hue and len(values) <= len(style.COLOURS):
            entries = [*above.get_legend_handles_labels()[0], *entries]
        if means is not None:
            entries += _band_entries(means, colours[0] if hue is None else style.REFERENCE)
        sweep_marks.legend(figure, entries)
        chosen = sweep_points.fixed(dataset)
        if chosen:
            above.set_title(chosen, loc="left")
    return figure


def _chosen(
    dataset: xarray.Dataset, name: str, dims: tuple[str, ...], x: str | None, hue: str | None
) -> tuple[str, str | None]:
    """What is along x and what makes lines, of the dimensions of the variable."""
    if not dims:
        raise UserError(f"{name}: one number: there is nothing to draw it over")
    if x is None:
        swept = sweep_points.dimensions(dataset)
        series_dims = [dim for dim in dims if dim not in swept]
        free = [dim for dim in dims if dim != hue]
        x = (
            series_dims[0]
            if series_dims
            else max(free, key=lambda d: (sweep_points.numeric(dataset[d]), dataset.sizes[d]))
        )
    rest = [dim for dim in dims if dim not in (x, hue)]
    if hue is None and rest:
        hue = rest.pop(0)
    if rest or hue == x:
        names = ", ".join(rest) or str(hue)
        raise UserError(f"{names}: choose one value of each that is neither x nor hue, as in dataset.sel({names}=…)")
    return x, hue


def _band_entries(means: Replicated, colour: Any) -> list[Any]:
    """Entries of a legend: what the lines and their bands are."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    return [Line2D([], [], color=colour, label=means.name), Patch(color=colour, alpha=0.2, lw=0.0, label=means.band)]


def _coordinate(dataset: xarray.Dataset, name: str, order: tuple[str, ...]) -> xarray.DataArray:
    """Where along x: of a series, perhaps other places for each line (hue, x), as of time steps that differ."""
    coordinate = f"{name}_{order[-1]}"
    return dataset[coordinate].transpose(*order) if coordinate in dataset.coords else dataset[order[-1]]


def _states(dataset: xarray.Dataset, name: str, order: tuple[str, ...]) -> NDArray[Any]:
    """States (hue, x) of the points: of a series (hue, 1)."""
    swept = sweep_points.dimensions(dataset)
    if set(order) == set(swept):
        states = sweep_points.state_of(dataset, name).transpose(*order).values
        return states.reshape(-1, states.shape[-1])
    # a series has no place along x where it failed
    return np.full((1, dataset.sizes[order[-1]]), "")


def _layout(rows: int) -> tuple[int, float, tuple[float, ...]]:
    """Panels, height (inches) and their ratios, with so many rows of signs."""
    if not rows:
        return 1, 3.8, (1.0,)
    low = 0.12 + 0.14 * min(rows, 8)
    return 2, 3.8 + low, (3.4, low)


def _colours(figure: Figure, panels: list[Axes], dataset: xarray.Dataset, hue: str | None, lines: int) -> list[Any]:
    """A colour of each line; from a map with its bar where there are many numbers."""
    if hue is None or lines <= len(style.COLOURS):
        return [style.COLOURS[n] for n in range(lines)]
    import matplotlib
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LogNorm, Normalize

    axis = SweepAxis.of(dataset[hue], dataset[hue].attrs, hue, geometric)
    ends = float(axis.places.min()), float(axis.places.max())
    shown = ScalarMappable(LogNorm(*ends) if axis.logarithmic else Normalize(*ends), matplotlib.colormaps[MAP])
    axis.apply_to(figure.colorbar(shown, ax=panels, label=axis.label).ax.yaxis, labelled=False)
    return [shown.to_rgba(place) for place in axis.places]


def _label(dataset: xarray.Dataset, hue: str | None, n: int) -> str:
    if hue is None:
        return ""
    coordinate, lost = dataset[hue], ""
    if hue in dataset["message"].dims:
        states = sweep_points.states(dataset).transpose(hue, ...).values.reshape(len(coordinate), -1)[n]
        if not (states == "").any():
            lost = f" ({sweep_points.MISSING if (states == sweep_points.MISSING).all() else sweep_points.FAILED})"
    value = style.shortened(sweep_points.value_with_unit(coordinate.values[n], coordinate.attrs))
    return f"{hue} = {value}{lost}"


def _strip(
    axes: Axes, x: NDArray[np.float64], states: NDArray[Any], colours: list[Any], labels: list[str] | None
) -> None:
    """Signs of the points without a value, a row for each line that has any."""
    rows = np.flatnonzero((states != "").any(axis=1))
    for place, n in enumerate(rows):
        row = states[n]
        for state in np.unique(row[row != ""]):
            colour = {"color": colours[n]} if labels else {}
            sweep_marks.mark(axes, x, np.full(x.shape, -float(place)), np.where(row == state, state, ""), **colour)
    axes.set_ylim(-len(rows) + 0.4, 0.6)
    axes.set_yticks([])
    axes.text(-0.02, 0.5, "no value", transform=axes.transAxes, ha="right", va="center", fontsize=8)
    axes.spines["left"].set_visible(False)
