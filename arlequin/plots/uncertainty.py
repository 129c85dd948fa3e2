"""Figures of uncertainty: shares of inputs, convergence of levels, distributions with their bands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arlequin.models.checks import ANY_SIZE, finite, finite_array, instance, mapping, within
from arlequin.models.errors import UserError, UserTypeError
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array
from arlequin.plots import style

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

_BAR = 0.36  # inches, of a bar and its gap


@checked_call
def tornado(
    shares: Mapping[str, float] | xarray.Dataset,
    intervals: Mapping[str, Sequence[float]] | None = None,
    *,
    label: str | None = None,
) -> Figure:
    """Bars of named numbers, the largest on top: shares of a variance, sensitivities, of either sign.

    shares: {name: number}, or the Dataset of `sobol_indices`, of which first-order and total indices are shown, or that
    of `rank_correlations`.
    intervals: {name: (lower, upper)}, drawn as whiskers; nan are left out. label: of the axis.
    """
    instance("label", label, str | None, "must be a text")
    sets = _shares(shares, intervals)
    names = list(sets[0][1])
    order = sorted(names, key=lambda name: abs(sets[-1][1][name]))
    place = np.arange(len(order))
    thick = 0.8 / len(sets)
    with style.panels(1, 1.0 + _BAR * max(len(order), 2)) as (figure, (axes,)):
        for n, (text, values, ends) in enumerate(sets):
            widths = np.array([values[name] for name in order])
            at = place + (0.5 * (len(sets) - 1) - n) * thick
            axes.barh(at, widths, 0.9 * thick, color=style.COLOURS[n], label=text)
            if ends:
                limits = np.array([ends[name] for name in order])
                axes.hlines(at, limits[:, 0], limits[:, 1], color=style.REFERENCE, linewidth=1.2)
        axes.axvline(0.0, color="black", linewidth=0.8)
        axes.set_yticks(place, [style.capital(name) for name in order])
        axes.grid(False, axis="y")
        axes.set_xlabel(label or ("Sobol' index" if len(sets) > 1 else sets[0][0]))
        if len(sets) > 1:
            axes.legend(loc="lower right")
    return figure


def _shares(shares: Any, intervals: Any) -> list[tuple[str, dict[str, float], dict[str, Any]]]:
    """Label, values and intervals by name of each set of bars."""
    rule = "must be {name: number} or the Dataset of sobol_indices or rank_correlations"
    if hasattr(shares, "data_vars"):
        if "total_order" in shares:
            sets = [
                (text, key, f"{key}_interval")
                for text, key in (("first order", "first_order"), ("total", "total_order"))
            ]
        elif "partial" in shares:
            sets = [("Partial rank correlation", "partial", "interval")]
        else:
            raise UserTypeError.parameter("shares", shares, rule)
        names = [str(name) for name in shares["input"].values]
        return [
            (
                text,
                dict(zip(names, shares[key].values.tolist(), strict=True)),
                dict(zip(names, shares[interval].values.T.tolist(), strict=True)),
            )
            for text, key, interval in sets
        ]
    values = {name: finite(name, value) for name, value in mapping("shares", shares, rule).items()}
    if not values:
        raise UserError("shares: is empty")
    ends = {} if intervals is None else mapping("intervals", intervals, "must be {name: (lower, upper)}")
    if ends and set(ends) != set(values):
        raise UserError(f"intervals: must be of {', '.join(values)}, not {', '.join(ends)}")
    return [("Share", values, {name: _pair(name, interval) for name, interval in ends.items()})]


def _pair(name: str, interval: Any) -> Array:
    """Lower and upper end of an interval; nan where there is none."""
    rule = "must be a pair (lower, upper)"
    try:
        ends = np.asarray(interval)
    except (TypeError, ValueError):  # rows of different lengths
        raise UserError.parameter(f"intervals[{name!r}]", interval, rule) from None
    if ends.shape != (2,) or ends.dtype.kind not in "iuf" or np.isinf(ends).any():
        raise UserError.parameter(f"intervals[{name!r}]", interval, rule)
    return ends.astype(float)


@checked_call
def level_convergence(estimate: xarray.Dataset) -> Figure:
    """Mean and variance of the corrections of a multilevel estimate over the levels, with fitted rates and samples.

    estimate: the Dataset of `estimate` with levels. Of level 0 the quantity itself is shown.
    """
    _is_estimate(estimate, "level", "must be the Dataset of estimate with levels")
    level = estimate["level"].values
    if level.size < 2:
        raise UserError("estimate: has one level: there are no corrections to show")
    unit = str(estimate["mean"].attrs.get("units", "1"))
    square = "" if unit in ("", "1") else f"{unit}²"
    with style.panels(1, 3.4, columns=3) as (figure, (left, middle, right)):
        for axes, name, rate, title, unit_of_axis in (
            (left, "mean", "mean_rate", "|mean|", unit),
            (middle, "variance", "variance_rate", "Variance", square),
        ):
            whole, change = np.abs(estimate[f"level_{name}"].values), np.abs(estimate[name].values)
            axes.plot(level, whole, "o-", color=style.COLOURS[0], markersize=5, label=r"$P_\ell$")
            power = float(estimate[rate])
            text = r"$P_\ell-P_{\ell-1}$"
            used = change[1:] > 0.0
            if np.isfinite(power) and used.any():
                text += f"\n$\\propto 2^{{{-power:.2g}\\,\\ell}}$"
                middle_of = np.exp(np.mean(np.log(change[1:][used]) + power * np.log(2.0) * level[1:][used]))
                axes.plot(level[1:], middle_of * 2.0 ** (-power * level[1:]), ":", color=style.REFERENCE)
            axes.plot(level[1:], change[1:], "s--", color=style.COLOURS[1], markersize=5, label=text)
            if used.any() or (whole > 0.0).any():  # variances of 1e-162 are 0
                axes.set_yscale("log")
            axes.set_title(style.label(title, unit_of_axis), loc="left")
            axes.legend()
        counts = estimate["samples"].values
        bars = right.bar(level, counts, color=style.COLOURS[2])
        right.bar_label(bars, [f"{count:,.0f}" for count in counts], fontsize=8)
        right.set_yscale("log")
        right.set_ylim(1.0, 2.0 * float(counts.max()))
        right.set_title("Samples", loc="left")
        for axes in (left, middle, right):
            axes.set_xticks(level)
            axes.set_xlabel("Level")
    return figure


@checked_call
def distribution(
    values: Any,
    *,
    unit: str = "1",
    label: str | None = None,
    limit: float | None = None,
    confidence: float = 0.95,
) -> Figure:
    """Distribution function of a quantity, with its pointwise confidence band.

    values: the Dataset of `estimate`, or samples (n,), whose band is Clopper & Pearson's. unit, label: of the quantity,
    those of the Dataset by default. limit: a value whose excess is given in the title.
    """
    confidence = within("confidence", confidence, 0.0, 1.0, open_low=True, open_high=True)
    for name, text in (("unit", unit), ("label", label)):
        instance(name, text, str | None, "must be a text")
    if hasattr(values, "data_vars"):
        _is_estimate(values, "threshold", "must be the Dataset of estimate or samples")
        confidence = float(values.attrs["confidence"])
        quantity = values["threshold"]
        unit = str(quantity.attrs.get("units", "1"))
        label = label or style.capital(str(quantity.attrs.get("long_name", "quantity")))
        thresholds, cdf = quantity.values, values["distribution"].values
        low, high = values["distribution_interval"].values
        mean: tuple[float, float] | None = tuple(values["interval"].values.tolist())
    else:
        thresholds, cdf, low, high = _from_samples(values, confidence)
        mean = None
    factor, shown = style.prefix(thresholds, unit)
    with style.panels(1, 3.4) as (figure, (axes,)):
        x = factor * thresholds
        axes.fill_between(x, low, high, step="post", color=style.COLOURS[0], alpha=0.25, linewidth=0.0)
        axes.step(x, cdf, where="post", color=style.COLOURS[0], label="distribution")
        axes.plot([], [], color=style.COLOURS[0], alpha=0.25, linewidth=8, label=f"{100 * confidence:g} % interval")
        if mean is not None:
            axes.axvspan(
                *(factor * end for end in mean), color=style.COLOURS[1], alpha=0.5, label="interval of the mean"
            )
        if limit is not None:
            limit_value = finite("limit", limit, ANY_SIZE)
            n = int(np.searchsorted(thresholds, limit_value, side="right")) - 1
            interval = (1.0 - high[n], 1.0 - low[n]) if n >= 0 else (1.0, 1.0)
            axes.axvline(factor * limit_value, color="black", linestyle="--", linewidth=1.0)
            exceedance = 1.0 - cdf[n] if n >= 0 else 1.0
            axes.set_title(
                f"above {factor * limit_value:.3g} {shown}: {exceedance:.2g} ({interval[0]:.2g} to {interval[1]:.2g})",
                loc="left",
            )
        axes.set_ylim(0.0, 1.02)
        axes.set_xlabel(style.label(label or "Quantity", shown))
        axes.set_ylabel("Probability to be at most")
        axes.legend(loc="lower right")
    return figure


def _from_samples(samples: Any, confidence: float) -> tuple[Array, Array, Array, Array]:
    """Values and the share of the samples up to each, with Clopper & Pearson's interval."""
    from scipy.special import betaincinv

    values = np.sort(finite_array("values", samples, (None,), ANY_SIZE))
    if values.size < 2:
        raise UserError("values: must be at least two samples")
    count, k = values.size, np.arange(1.0, values.size + 1.0)
    tail = 0.5 * (1.0 - confidence)
    high = np.where(k < count, betaincinv(k + 1.0, np.maximum(count - k, 1.0), 1.0 - tail), 1.0)
    return values, k / count, betaincinv(k, count - k + 1.0, tail), high


def _is_estimate(dataset: Any, dim: str, rule: str) -> None:
    import xarray

    instance("estimate", dataset, xarray.Dataset, rule)
    if dim not in dataset.dims or dataset.attrs.get("kind", "estimate") != "estimate":
        raise UserTypeError.parameter("estimate", dataset, rule)
