"""The 95 % confidence ellipse of two fitted parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from arlequin.models.checks import finite, instance, mapping, one_of
from arlequin.models.errors import UserError
from arlequin.models.signatures import checked_call, meant
from arlequin.models.types import Array
from arlequin.plots import style

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

_LEVEL = 0.95
_POINTS = 181  # of the ellipse


@checked_call
def confidence_ellipse(fit: xarray.Dataset, x: str, y: str, *, truth: Mapping[str, float] | None = None) -> Figure:
    """The ellipse that contains two parameters of `aq.fit` with 95 %, whatever the others are.

    With the block C (2, 2) of the covariance that belongs to the two parameters p, the estimate p̂ and the degrees of
    freedom ν of the variance of the noise,

        (p − p̂)ᵀ C⁻¹ (p − p̂) = 2 F₀.₉₅(2, ν)      (χ²₀.₉₅(2) where the deviation of the noise is given).

    The bars are the intervals of 95 % of each parameter alone, which are shorter than the ellipse. The attribute
    `ellipse` of the fit is for all its parameters together. Axes have the units that the fit was given (`units=`).
    truth: values to be marked, {name: value}.

    >>> import numpy as np
    >>> import arlequin as aq
    >>> def thrown(speed, height):
    ...     ball = aq.PointMasses("ball", 0.0, 1.0)  # m, kg
    ...     return aq.Study(aq.System([ball], displacement=height, velocity=speed), aq.Theta(0.5), 1.0, 0.1)
    >>> def place(result):
    ...     return result["part/ball/displacement"][1:, 0, 0]
    >>> record = 1.0 + 3.0 * np.linspace(0.1, 1.0, 10) + 0.01 * np.cos(9.0 * np.arange(10))
    >>> fit = aq.fit(thrown, {"place": (place, record)}, {"speed": 2.0, "height": 0.5})
    >>> figure = aq.plots.confidence_ellipse(fit, "speed", "height", truth={"speed": 3.0, "height": 1.0})
    >>> figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel()
    ('speed', 'height')

    Source: Seber & Wild, Nonlinear Regression, Wiley 1989, §5.1 (subsets of parameters).
    """
    import xarray

    instance("fit", fit, xarray.Dataset, "must be the result of aq.fit")
    if not {"value", "low", "high", "covariance"} <= set(fit.data_vars) or "freedom" not in fit.attrs:
        raise UserError("fit: is no result of aq.fit")
    names = [str(name) for name in fit["parameter"].values]
    for label, name in (("x", x), ("y", y)):
        one_of(label, name, names)
    if x == y:
        raise UserError.parameter("y", y, "must be another parameter than x")
    for name in {} if truth is None else mapping("truth", truth, "must map parameters of the fit to numbers"):
        if name not in names:
            raise UserError(f"truth: {name!r} is no parameter of the fit{meant(str(name), names)}")
    chosen = fit.sel({"parameter": [x, y], "with": [x, y]})
    middle, low, high = (chosen[key].values for key in ("value", "low", "high"))
    for name, deviation in zip((x, y), np.diag(chosen["covariance"].values), strict=True):
        if np.isnan(deviation):
            raise UserError(f"{name} is at its bound and has no ellipse: its interval is {_interval(fit, name)}")
    outline = middle[:, None] + _outline(chosen["covariance"].values, float(fit.attrs["freedom"]))
    with style.panels(1, 4.2) as (figure, (axes,)):
        shown: list[Any] = axes.plot(*outline, color=style.COLOURS[0], label="95 % of both")
        bars = np.stack([middle - low, high - middle], axis=-1)[..., None]
        estimate = axes.errorbar(
            middle[:1], middle[1:], xerr=bars[0], yerr=bars[1], fmt="o", color=style.COLOURS[0], markersize=5,
            elinewidth=1.0, capsize=3, label="estimate, 95 % of each",
        )  # fmt: skip
        shown.append(estimate)
        if truth is not None and x in truth and y in truth:
            place = [finite(f"truth: {name}", truth[name]) for name in (x, y)]
            look: Any = {"color": style.COLOURS[1], "markersize": 7, "markeredgewidth": 1.6}
            shown += axes.plot(*place, "x", **look, label="truth")
        axes.ticklabel_format(useOffset=False)
        axes.locator_params(axis="x", nbins=6)
        axes.set_xlabel(_label(fit, x))
        axes.set_ylabel(_label(fit, y))
        figure.legend(handles=shown, loc="outside upper left", ncols=3)
    return figure


def _label(fit: xarray.Dataset, name: str) -> str:
    """The name of a parameter, with its unit where the fit was given it."""
    unit = str(fit["units"].sel(parameter=name).item()) if "units" in fit.coords else ""
    return f"{name} ({unit})" if unit not in ("", "1") else name


def _interval(fit: xarray.Dataset, name: str) -> str:
    """The ends, as text."""
    parameter = fit.sel(parameter=name)
    return f"{float(parameter['low']):g} … {float(parameter['high']):g}"


def _outline(covariance: Array, freedom: float) -> Array:
    """Points (2, n) of the ellipse about 0."""
    from scipy.stats import chi2, f

    bound = chi2.ppf(_LEVEL, 2) if np.isinf(freedom) else 2.0 * f.ppf(_LEVEL, 2, freedom)
    angle = np.linspace(0.0, 2.0 * np.pi, _POINTS)
    circle = np.sqrt(bound) * np.stack([np.cos(angle), np.sin(angle)])
    deviations = np.sqrt(np.diag(covariance))
    correlation = float(np.clip(covariance[0, 1] / deviations.prod(), -1.0, 1.0))  # beyond by round-off
    factor = np.array([[1.0, 0.0], [correlation, np.sqrt(1.0 - correlation**2)]])  # of the correlations, by Cholesky
    return np.asarray(deviations[:, None] * (factor @ circle))
