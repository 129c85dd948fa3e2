"""A number of a sweep as colours over two of its parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from arlequin.models.errors import UserError
from arlequin.plots import style, sweep_marks, sweep_points
from arlequin.plots.sweep_axis import SweepAxis, decades, geometric
from arlequin.plots.sweep_points import of_sweep

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

MAP = "viridis"
BACK = "#EEEEEE"  # cells without a value


@of_sweep
def sweep_map(dataset: xarray.Dataset, name: str, x: str | None = None, y: str | None = None) -> Figure:
    """A scalar over two parameters; others must have been chosen (`dataset.sel(cells=20)`).

    Borders of cells are half-way between the values swept, texts and choices one cell each. Cells of points that failed
    or are not there yet are grey, with a sign. x: by default the parameter with the most numbers.
    """
    dims = tuple(str(dim) for dim in sweep_points.variable(dataset, name).dims)
    x, y = _chosen(dataset, name, dims, x, y)
    dataset = sweep_points.ordered(dataset, (x, y))
    variable = dataset[name].transpose(y, x)
    states = sweep_points.state_of(dataset, name).transpose(y, x).values
    along, up = (SweepAxis.of(dataset[dim], dataset[dim].attrs, dim, geometric) for dim in (x, y))
    colour = SweepAxis.of(variable, variable.attrs, name, decades)
    with style.panels(1, 4.2) as (figure, (axes,)):
        axes.grid(False)
        axes.set_facecolor(BACK)
        shown = np.ma.masked_invalid(colour.places)
        image: Any = axes.pcolormesh(
            along.edges(), up.edges(), shown, cmap=MAP, norm="log" if colour.logarithmic else None, rasterized=True
        )
        along.apply_to(axes.xaxis)
        up.apply_to(axes.yaxis)
        if shown.count():
            bar = figure.colorbar(image, ax=axes, label=colour.label)
            bar.ax.grid(False)
        sweep_marks.mark(axes, *np.meshgrid(along.places, up.places), states)
        sweep_marks.legend(figure, sweep_marks.handles(states.ravel()))
        title = [sweep_points.fixed(dataset)] if shown.count() else [colour.label, sweep_points.fixed(dataset)]
        axes.set_title("\n".join(filter(None, title)), loc="left")
    return figure


def _chosen(dataset: xarray.Dataset, name: str, dims: tuple[str, ...], x: str | None, y: str | None) -> tuple[str, str]:
    """The two parameters, of the dimensions of the scalar."""
    for parameter in (x, y):
        if parameter is not None and parameter not in dims:
            raise UserError(f"{parameter}: not a dimension of {name}; there are {', '.join(dims) or 'none'}")
    if len(dims) != 2:
        raise UserError(
            f"{name}: over {', '.join(dims) or 'nothing'}: a map is over two parameters: choose a value of each other,"
            " as in dataset.sel(…); scattered points are for sweep_scatter"
        )
    if x is None:
        free = [dim for dim in dims if dim != y]
        x = max(free, key=lambda dim: (sweep_points.numeric(dataset[dim]), dataset.sizes[dim]))
    if y is None:
        y = next(dim for dim in dims if dim != x)
    if x == y:
        raise UserError.parameter("y", y, "must be another parameter than x")
    return x, y
