"""The standard figures of a sweep."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from arlequin.models.errors import UserError
from arlequin.plots import sweep_points
from arlequin.plots.sweep_lines import sweep_lines
from arlequin.plots.sweep_map import sweep_map
from arlequin.plots.sweep_points import of_sweep
from arlequin.plots.sweep_replicates import averaged, is_replicate, replicates_of
from arlequin.plots.sweep_scatter import sweep_effects, sweep_scatter

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

LINES = 5  # values of a second parameter, up to which they are lines and not a map
MAX_FIGURES = 12  # figures
_SAME = 1e-9  # of its size: what a number that the sweep does not change may vary


@of_sweep
def sweep_figures(dataset: xarray.Dataset) -> dict[str, Figure]:
    """A figure of each scalar that the sweep changes, at most 12, and of each series along one parameter.

    One parameter: lines. Two: lines where one has few values or texts, else a map; scattered points by colour. More:
    the scalar over each parameter. Runs that differ in their random numbers alone are no parameter: their mean is
    drawn, see `sweep_lines`.
    """
    drawn = changing(dataset)
    if not drawn:
        raise UserError("the sweep has nothing that is drawn: no scalar has values that differ", code=1)
    figures = {name: _figure(dataset, name) for name in drawn[:MAX_FIGURES]}
    names = sweep_points.parameters(dataset)
    grid = sweep_points.dimensions(dataset) != (sweep_points.POINT,)
    if len(names) == 1 or (grid and sum(not is_replicate(parameter) for parameter in names) <= 1):
        dataset = sweep_points.along(dataset)
        series = [name for name in sweep_points.series(dataset) if np.isfinite(dataset[name].values).any()]
        figures |= {name: sweep_lines(dataset, name) for name in series}
    return figures


def changing(dataset: xarray.Dataset) -> list[str]:
    """The scalars that are not the same at all points; all that have values where there is one point."""
    scalars = {name: dataset[name].values for name in sweep_points.scalars(dataset)}
    scalars = {name: values[np.isfinite(values)] for name, values in scalars.items()}
    return [name for name, x in scalars.items() if x.size == 1 or (x.size and np.ptp(x) > _SAME * np.abs(x).max())]


def _figure(dataset: xarray.Dataset, name: str) -> Figure:
    names, scattered = sweep_points.parameters(dataset), sweep_points.dimensions(dataset) == (sweep_points.POINT,)
    over = None if scattered else replicates_of(dataset, name, ())
    names = tuple(n for n in names if n != over)
    if len(names) == 1:
        return sweep_lines(dataset, name)
    if len(names) > 2:
        return sweep_effects(dataset, name)
    if scattered:
        return sweep_scatter(dataset, *names, colour=name)
    few = [n for n in names if dataset.sizes[n] <= LINES or not sweep_points.numeric(dataset[n])]
    numbers = [n for n in names if sweep_points.numeric(dataset[n])]
    if few and numbers:
        hue = min(few, key=lambda n: (n in numbers, dataset.sizes[n]))
        if dataset.sizes[hue] <= LINES:
            return sweep_lines(dataset, name, hue=hue)
    if over is None:
        return sweep_map(dataset, name)
    means = averaged(dataset, name, over)
    text = f"{dataset[name].attrs.get('long_name', name)}, {means.name}"
    return sweep_map(means.dataset.assign({name: means.dataset[name].assign_attrs(long_name=text)}), name)
