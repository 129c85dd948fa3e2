"""Errors against a size, on logarithmic axes, with the order fitted by least squares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arlequin.models import checks
from arlequin.models.errors import UserError
from arlequin.models.signatures import checked_call
from arlequin.plots import style

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@checked_call
def fitted_order(sizes: ArrayLike, errors: ArrayLike) -> float:
    """Least-squares slope of log(error) over log(size).

    >>> round(fitted_order([0.1, 0.05, 0.025], [1e-2, 2.5e-3, 6.25e-4]), 12)
    2.0
    """
    x = _positive("sizes", sizes)
    y = _positive("errors", errors, x.size)
    if x.size < 2 or np.ptp(x) == 0.0:
        raise UserError.parameter("sizes", sizes, "must be at least two, which differ")
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def _positive(name: str, numbers: Any, count: int | None = None) -> NDArray[np.float64]:
    """Positive numbers (n,); UserError where they are not, or not as many as they must be."""
    values = checks.finite_array(name, numbers, (count,))
    if not (values > 0.0).all():
        raise UserError.parameter(name, numbers, "must be positive numbers")
    return values


@checked_call
def convergence(
    sizes: ArrayLike | xarray.Dataset,
    errors: Mapping[str, ArrayLike] | None = None,
    *,
    size: str | None = None,
    error: str | None = None,
) -> Figure:
    """Points and fitted lines of each series of errors; the legend gives the order.

    sizes: sizes (n,) with the errors; or the result of `aq.convergence`, whose values are compared with the exact one
    or, where it was not given, with the extrapolated one. size, error: labels of the axes.

    >>> figure = convergence([0.1, 0.05, 0.025], {"Q1": [1e-2, 2.5e-3, 6.25e-4]})
    >>> figure.axes[0].get_legend_handles_labels()[1]
    ['Q1: order 2.00']
    """
    if hasattr(sizes, "data_vars"):
        if errors is not None:
            raise UserError("errors: are those of the result of aq.convergence: leave them out")
        sizes, errors, labels = _of_study(sizes)
        size, error = size or labels[0], error or labels[1]
    size, error = size or "Element size h (m)", error or "Relative error"
    errors = checks.mapping("errors", errors, 'must map names to errors, {"displacement": values}')
    x = _positive("sizes", sizes)
    with style.panels(1, 3.6) as (figure, (axes,)):
        for n, (name, series) in enumerate(errors.items()):
            y = _positive(f"errors of {name}", series, x.size)
            order = fitted_order(x, y)
            constant = np.exp(np.mean(np.log(y) - order * np.log(x)))
            colour = style.COLOURS[n % len(style.COLOURS)]
            ends = np.array([x.min(), x.max()])
            axes.plot(ends, constant * ends**order, color=colour, linewidth=1.0, linestyle=style.DASHES[n % 4])
            axes.plot(x, y, "os^Dv<>"[n % 7], color=colour, markersize=5, label=f"{name}: order {order:.2f}")
        axes.set_xscale("log")
        axes.set_yscale("log")
        _plain_ticks(axes, x)
        axes.set_xlabel(size)
        axes.set_ylabel(error)
        axes.legend(loc="best")
    return figure


def _of_study(dataset: Any) -> tuple[NDArray[np.float64], Mapping[str, ArrayLike], tuple[str, str]]:
    """Sizes, errors and labels of the result of `aq.convergence`; grids without an error are left out."""
    if dataset.attrs.get("kind") != "convergence":
        raise UserError.parameter("sizes", dataset, "must be sizes, or the result of aq.convergence")
    exact = "exact" in dataset
    limit = float(dataset["exact" if exact else "extrapolated"])
    if not np.isfinite(limit):
        rule = f"its values are {dataset.attrs['state']}, so that there is nothing to compare them with: give exact="
        raise UserError(f"sizes: {rule}")
    about, values = dataset["value"].attrs, dataset["value"].values
    errors = np.abs(values - limit) / (abs(limit) or 1.0)
    chosen = errors > 0.0
    if np.count_nonzero(chosen) < 2:
        raise UserError("sizes: fewer than two of its values have an error")
    text = str(about.get("long_name", "value"))
    label = style.label("Relative error" if limit else "Error", "1" if limit else str(about.get("units", "1")))
    against = "" if exact else ", against the extrapolated value"
    return dataset["h"].values[chosen], {text: errors[chosen]}, ("Representative size h", f"{label}{against}")


def _plain_ticks(axes: Axes, x: NDArray[np.float64]) -> None:
    """Ticks at the sizes themselves: powers of ten alone may leave one label or none."""
    from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

    places = np.unique(x)
    axes.xaxis.set_major_locator(FixedLocator(places.tolist()))
    axes.xaxis.set_major_formatter(FixedFormatter([_shown(value) for value in places.tolist()]))
    axes.xaxis.set_minor_locator(NullLocator())


def _shown(value: float) -> str:
    """Large whole numbers as such.

    >>> _shown(0.0125), _shown(16926.0), _shown(3.0)
    ('0.0125', '16,926', '3')
    """
    return f"{value:,.0f}" if value.is_integer() and 1e3 <= value < 1e9 else f"{value:.3g}"
