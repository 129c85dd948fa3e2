"""Statistics of recorded variables as samples of a stationary process: spectral density, rms, peak factor."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import xarray

from arlequin.models import checks
from arlequin.models.errors import UserError, UserTypeError
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array
from arlequin.results.conventions import described
from arlequin.results.signals import equal_step, increasing_times, welch_density

_TIMES = ("time", "frame")


@checked_call
def psd(variable: xarray.DataArray, segments: int = 8, *, confidence: float | None = None) -> Any:
    """One-sided power spectral density of a recorded variable, unit²/Hz, along its `time` (or `frame`) dimension.

    Welch's mean over `segments` pieces that overlap by half, each less its mean and under Hann's window
    (`aq.results.power_spectrum`), for all other dimensions at once. With `confidence`, as 0.95, a Dataset `psd`, `low`,
    `high`: the band in which the density of a Gaussian process lies with this probability,

        ν S/χ²(ν, ½ + c/2) ≤ S_exact ≤ ν S/χ²(ν, ½ − c/2),   ν: degrees of freedom (`degrees_of_freedom`).

    >>> import numpy as np, xarray
    >>> t = np.arange(4000) / 1000.0  # s
    >>> wave = xarray.DataArray(2.0 * np.sin(2 * np.pi * 50.0 * t), {"time": t}, ("time",), attrs={"units": "m"})
    >>> density = psd(wave)
    >>> density.attrs["units"], round(float(density.idxmax()), 3), round(float(density.integrate("frequency")), 3)
    ('m^2/Hz', 49.55, 2.0)

    Source: Welch, IEEE Transactions on Audio and Electroacoustics 15, 1967; Bendat & Piersol, Random Data, 2010.
    """
    from scipy.stats import chi2

    dim, step, values = _samples(variable)
    hertz, density, length = welch_density(values, step, segments)
    others = [name for name in variable.dims if name != dim]
    coords: dict[Any, Any] = {name: variable[name] for name in others if name in variable.coords}
    coords["frequency"] = ("frequency", hertz, described("Hz", "frequency"))
    unit = density_unit(str(variable.attrs.get("units", "1")))
    text = f"PSD of {variable.attrs.get('long_name', variable.name or 'the variable')}"
    out = xarray.DataArray(density, coords, (*others, "frequency"), attrs=described(unit, text))
    if confidence is None:
        return out
    checks.within("confidence", confidence, 0.0, 1.0, open_low=True, open_high=True)
    pieces = 1 if segments == 1 else (values.shape[-1] - length) // (length // 2) + 1
    freedom = degrees_of_freedom(length, pieces)
    low, high = (freedom / chi2.ppf(0.5 + sign * 0.5 * confidence, freedom) for sign in (1.0, -1.0))
    return xarray.Dataset(
        {"psd": out, "low": (out * low).assign_attrs(out.attrs), "high": (out * high).assign_attrs(out.attrs)},
        attrs={"confidence": confidence, "degrees_of_freedom": freedom},
    )


def degrees_of_freedom(length: int, pieces: int) -> float:
    """ν of a mean of `pieces` periodograms of `length` values under Hann's window that overlap by half (Welch, 1967):

    2/ν = (1 + 2 Σ_j (1 − j/P) ρ_j)/P, ρ_j the squared correlation of windows j pieces apart: ρ₁ = 1/36, ρ_j = 0.
    """
    window = np.sin(np.pi * np.arange(length) / length) ** 2
    half = length // 2
    correlation = float(window[half:] @ window[:-half] / (window @ window)) ** 2 if length > half > 0 else 0.0
    return 2.0 * pieces / (1.0 + 2.0 * (1.0 - 1.0 / pieces) * correlation)


@checked_call
def rms(variable: xarray.DataArray, *, about_mean: bool = True) -> xarray.DataArray:
    """Root mean square of a recorded variable over its `time` (or `frame`) dimension, about its mean by default.

    >>> import numpy as np, xarray
    >>> t = np.arange(1000) / 1000.0  # s
    >>> wave = xarray.DataArray(1.0 + np.sin(2 * np.pi * 50.0 * t), {"time": t}, ("time",), attrs={"units": "m"})
    >>> round(float(rms(wave)), 6), round(float(rms(wave, about_mean=False)), 6)
    (0.707107, 1.224745)
    """
    checks.flag("about_mean", about_mean)
    dim, _, values = _samples(variable)
    values = values - values.mean(axis=-1, keepdims=True) if about_mean else values
    return _number(variable, dim, np.sqrt((values**2).mean(axis=-1)), str(variable.attrs.get("units", "1")), "rms")


@checked_call
def peak_factor(variable: xarray.DataArray) -> xarray.DataArray:
    """Largest distance of a recorded variable from its mean over its rms, along its `time` (or `frame`) dimension.

    Both signs count; the `peak_factor_<output>` of `aq.random_response` is that of one sign.

    >>> import numpy as np, xarray
    >>> t = np.arange(1000) / 1000.0  # s
    >>> wave = xarray.DataArray(np.sin(2 * np.pi * 50.0 * t), {"time": t}, ("time",), attrs={"units": "m"})
    >>> round(float(peak_factor(wave)), 3)  # √2 of a sine
    1.414
    """
    dim, _, values = _samples(variable)
    deviation = values - values.mean(axis=-1, keepdims=True)
    size = np.sqrt((deviation**2).mean(axis=-1))
    largest = np.abs(deviation).max(axis=-1)
    factor = np.divide(largest, size, out=np.full_like(size, np.nan), where=size > 0.0)
    return _number(variable, dim, factor, "1", "peak factor")


def davenport_factor(crossings: float) -> float:
    """Mean of the largest value of a Gaussian process over its rms, √(2 ln n) + 0.577/√(2 ln n), n upward crossings.

    Source: Davenport, Proceedings of the Institution of Civil Engineers 28, 1964.

    >>> round(davenport_factor(1000.0), 3)
    3.872
    """
    if not crossings > math.e:
        return math.nan
    root = math.sqrt(2.0 * math.log(crossings))
    return root + float(np.euler_gamma) / root


def density_unit(unit: str) -> str:
    """Unit of the spectral density of a quantity.

    >>> density_unit("m"), density_unit("m/s^2"), density_unit("N m")
    ('m^2/Hz', '(m/s^2)^2/Hz', '(N m)^2/Hz')
    """
    if unit == "1":
        return "1/Hz"
    return f"{unit}^2/Hz" if unit.isalpha() else f"({unit})^2/Hz"


def _samples(variable: Any) -> tuple[str, float, Array]:
    """The dimension in time, the step, s, and the values (…, t) of a variable with equal steps."""
    if not isinstance(variable, xarray.DataArray):
        raise UserTypeError.parameter("variable", variable, 'must be a variable of a result, as result["energy"]')
    dim = next((name for name in _TIMES if name in variable.dims), None)
    if dim is None:
        raise UserError(f"variable: has no dimension time or frame, but {', '.join(map(str, variable.dims)) or 'none'}")
    name = "frame_time" if dim == "frame" else "time"
    if name not in variable.coords:
        raise UserError(f"variable: has no coordinate {name!r}, the times of its values")
    time = increasing_times(name, variable[name].values)
    values = np.moveaxis(np.asarray(variable.values, dtype=float), variable.dims.index(dim), -1)
    if not np.isfinite(values).all():
        raise UserError("variable: has values that are not finite")
    return dim, equal_step(name, time), values


def _number(variable: xarray.DataArray, dim: str, values: Array, unit: str, what: str) -> xarray.DataArray:
    """A number for each of the other dimensions."""
    others = [name for name in variable.dims if name != dim]
    coords = {name: variable[name] for name in others if name in variable.coords}
    text = f"{what} of {variable.attrs.get('long_name', variable.name or 'the variable')}"
    return xarray.DataArray(values, coords, others, attrs=described(unit, text))
