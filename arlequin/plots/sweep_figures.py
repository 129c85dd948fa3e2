"""The standard figures of a sweep."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from arlequin.models.errors import UserError
from arlequin.plots import sweep_points
from arlequin.plots.sweep_lines import sweep_lines
from arlequin.plots.sweep_map import sweep_map
from arlequin.plots.sweep_points import of_sweep
from arlequin.plots.sweep_scatter import sweep_effects, sweep_scatter

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

LINES = 5  # values of a second parameter, up to which they are lines and not a map
MOST = 12  # figures
_SAME = 1e-9  # of its size: what a number that the sweep does not change may vary


@of_sweep
def sweep_figures(dataset: xarray.Dataset) -> dict[str, Figure]:
    """A figure of each scalar that the sweep changes, at most 12, and of each series along one parameter.

    One parameter: lines. Two: lines where one has few values or texts, else a map; scattered points by colour. More:
    the scalar over each parameter.
    """
    names = changing(dataset)
    if not names:
        raise UserError("the sweep has nothing that is drawn: no scalar has values that differ", code=1)
    figures = {name: _figure(dataset, name) for name in names[:MOST]}
    if len(sweep_points.parameters(dataset)) == 1:
        dataset = sweep_points.along(dataset)
        drawn = [name for name in sweep_points.series(dataset) if np.isfinite(dataset[name].values).any()]
        figures |= {name: sweep_lines(dataset, name) for name in drawn}
    return figures


def changing(dataset: xarray.Dataset) -> list[str]:
    """The scalars that are not the same at all points; all that have values where there is one point."""
    found = {name: dataset[name].values for name in sweep_points.scalars(dataset)}
    found = {name: values[np.isfinite(values)] for name, values in found.items()}
    return [name for name, x in found.items() if x.size == 1 or (x.size and np.ptp(x) > _SAME * np.abs(x).max())]


def _figure(dataset: xarray.Dataset, name: str) -> Figure:
    names = sweep_points.parameters(dataset)
    if len(names) == 1:
        return sweep_lines(dataset, name)
    if len(names) > 2:
        return sweep_effects(dataset, name)
    if sweep_points.dimensions(dataset) == (sweep_points.POINT,):
        return sweep_scatter(dataset, *names, colour=name)
    few = [n for n in names if dataset.sizes[n] <= LINES or not sweep_points.numeric(dataset[n])]
    numbers = [n for n in names if sweep_points.numeric(dataset[n])]
    if few and numbers:
        hue = min(few, key=lambda n: (n in numbers, dataset.sizes[n]))
        if dataset.sizes[hue] <= LINES:
            return sweep_lines(dataset, name, hue=hue)
    return sweep_map(dataset, name)
