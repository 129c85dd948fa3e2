"""Worn depth over the time in service with its limit, and the probability that the limit is exceeded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from arlequin.models.checks import instance
from arlequin.models.errors import UserTypeError
from arlequin.models.signatures import checked_call
from arlequin.plots import style
from arlequin.results.wear import MONTH

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_KINDS = ("wear_life", "wear_life_distribution")
_LONG = 2.0  # months, from which times are drawn in months


@checked_call
def wear_life(life: Any) -> Figure:
    """Worn depth of the supports over the time in service, with the limit; of a distribution, its bands.

    life: the Dataset of `aq.wear_life`, whose computed runs are marked; or that of `aq.wear_life_distribution`: mean,
    band of the samples, limit of 95 % of all lives with 95 % confidence, and, below, the probability that the limit is
    exceeded with its confidence interval. The axis on the right is the share of the wall, where its thickness is known.
    """
    import xarray

    rule = "must be the Dataset of wear_life or wear_life_distribution"
    instance("life", life, xarray.Dataset, rule)
    if life.attrs.get("kind") not in _KINDS:
        raise UserTypeError.parameter("life", life, rule)
    several = life.attrs["kind"] == _KINDS[1]
    seconds = life["time"].values
    clock, unit = (1.0 / MONTH, "months") if seconds[-1] >= _LONG * MONTH else (1.0 / 86400.0, "days")
    depths = life["depth_band"] if several else life["depth"]
    limit = life.attrs.get("limit")
    factor, length = style.prefix(np.append(depths.values.ravel(), limit or 0.0), "m")
    with style.panels(2 if several else 1, 5.4 if several else 3.4, sharex=several) as (figure, panels):
        axes = panels[0]
        if several:
            _bands(axes, life, clock * seconds, factor)
            _exceedance(panels[1], life, clock * seconds)
        else:
            _supports(axes, life, clock, factor)
        if limit is not None:
            axes.axhline(factor * limit, color="black", linestyle="--", linewidth=1.0, label="limit")
        axes.set_ylim(bottom=0.0)
        axes.set_xlim(0.0, clock * seconds[-1])
        axes.set_ylabel(style.label("Worn depth", length))
        wall = life.attrs.get("wall")
        if wall is not None:
            per_cent = 100.0 / (factor * wall)
            second = axes.secondary_yaxis("right", functions=(lambda d: per_cent * d, lambda s: s / per_cent))
            second.set_ylabel(style.label("Share of the wall", "%"))
        panels[-1].set_xlabel(style.label("Time in service", unit))
        handles, labels = axes.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=3)
    return figure


def _supports(axes: Axes, life: Any, clock: float, factor: float) -> None:
    """The depth of each support, and its computed runs."""
    names = life["support"].values.tolist()
    for n, name in enumerate(names):
        colour = style.COLOURS[n % len(style.COLOURS)]
        one = life.sel(support=name)
        label = "worn depth" if len(names) == 1 else name
        axes.plot(clock * one["time"].values, factor * one["depth"].values, color=colour, label=label)
        depths = one["run_depth"].values
        times = np.interp(depths, one["depth"].values, one["time"].values)
        mark = "computed runs" if n == 0 else None
        axes.plot(clock * times, factor * depths, "o", color=colour, label=mark)


def _bands(axes: Axes, life: Any, time: Any, factor: float) -> None:
    """Mean, band and tolerance limit of the depth."""
    band = factor * life["depth_band"].values
    percent = 100.0 * float(life.attrs["confidence"])
    shade: Any = {"color": style.COLOURS[0], "alpha": 0.25, "linewidth": 0.0}
    axes.fill_between(time, *band, **shade, label=f"{percent:g} % of {life.attrs['samples']} samples")
    axes.plot(time, factor * life["depth_mean"].values, color=style.COLOURS[0], label="mean")
    if np.isfinite(life["depth_tolerance"].values).all():
        tolerance = factor * life["depth_tolerance"].values
        axes.plot(time, tolerance, ":", color=style.COLOURS[1], label="95 % of all lives, 95 % confidence")


def _exceedance(axes: Axes, life: Any, time: Any) -> None:
    """The probability that the limit is exceeded, with its interval."""
    shade: Any = {"color": style.COLOURS[2], "alpha": 0.25, "linewidth": 0.0}
    axes.fill_between(time, *(100.0 * life["exceedance_interval"].values), **shade)
    axes.plot(time, 100.0 * life["exceedance"].values, color=style.COLOURS[2])
    axes.set_ylim(bottom=0.0)
    axes.set_ylabel(style.label("Limit exceeded", "%"))
