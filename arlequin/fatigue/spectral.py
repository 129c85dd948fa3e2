"""Fatigue damage of a stationary Gaussian stress from its power spectral density: no history is made.

With the spectral moments λ_n = ∫ fⁿ G(f) df of the one-sided density G, the stress has the variance λ₀, ν₀ = √(λ₂/λ₀)
upward zero crossings and ν_p = √(λ₄/λ₂) peaks a second, α_n = λ_n/√(λ₀ λ_2n), irregularity α₂ = ν₀/ν_p. The damage in a
second is Σ_j ν_j ∫ p_j(S)/N(S) dS over the range S with densities that are those of Rayleigh or exponential:

    narrow-band          ν₀ and Rayleigh with the scale s = 2√λ₀ (Bendat)
    dirlik               ν_p and D₁ exponential (Q s) + D₂ Rayleigh (R s) + D₃ Rayleigh (s)
    tovo-benasciutti     b ν₀ Rayleigh (s) + (1 − b) ν_p Rayleigh (α₂ s)

On each line N = C S^(−m) of the S–N curve between the ranges a and b the integrals are incomplete gamma functions,

    Rayleigh (s)      (√2 s)^m/C [γ(1 + m/2, b²/2s²) − γ(1 + m/2, a²/2s²)]
    exponential (s)        s^m/C [γ(1 + m, b/s) − γ(1 + m, a/s)].

Source: J. S. Bendat, Probability functions for random responses, NASA CR-33 (1964); T. Dirlik, Application of computers
in fatigue analysis, thesis, Warwick (1985); D. Benasciutti and R. Tovo, International Journal of Fatigue 27 (2005)
867–877.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import xarray
from numpy.polynomial.legendre import leggauss
from numpy.typing import ArrayLike

from arlequin.fatigue.mean_stress import MeanStress, SmithWatsonTopper, Walker
from arlequin.fatigue.miner import corrected_ranges, unit_stress, warn_of_extrapolation
from arlequin.fatigue.sn_curve import SNCurve
from arlequin.models.checks import finite, finite_array, instance, one_of, positive
from arlequin.models.errors import UserError, UserTypeError
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array
from arlequin.results.conventions import described

Method = Literal["narrow-band", "dirlik", "tovo-benasciutti"]

_NARROW = 1e-6  # 1 − α₂ below which all methods are that of a narrow band: their terms are 0/0
_SQUARES = ("Pa^2/Hz", "Pa²/Hz", "Pa2/Hz", "Pa**2/Hz")


class Moments(NamedTuple):
    """Spectral moments λ₀, λ₁, λ₂, λ₄ (…), unit² Hzⁿ."""

    zeroth: Array
    first: Array
    second: Array
    fourth: Array


class Share(NamedTuple):
    """A part of the distribution of ranges: cycles a second (…), whether it is exponential, its scale (…), Pa."""

    rate: Array
    exponential: bool
    scale: Array


@checked_call
def spectral_damage(
    psd: Any,
    curve: SNCurve,
    correction: MeanStress | None = None,
    *,
    frequency: ArrayLike | None = None,
    method: Method = "dirlik",
    mean: float = 0.0,
    stress_per_unit: float | None = None,
    miner_sum: float = 1.0,
) -> xarray.Dataset:
    """Damage rate and life of a stationary Gaussian stress from its one-sided power spectral density.

    psd: unit²/Hz over `frequency`, Hz, a DataArray with this dimension, or an array (…, frequency) beside the array
    `frequency`; linear between its frequencies. method: "narrow-band" (Bendat, conservative in a broad band), "dirlik"
    or "tovo-benasciutti", which agree with rainflow counting of a simulated stress within some percent. mean: mean
    stress, Pa, for the correction (not `Walker` or `SmithWatsonTopper`, which are no factor of the stress).
    stress_per_unit, miner_sum: as of `damage`.

    Variables, for each point of the other dimensions: `damage_rate`, 1/s; `life`, s; `rms`, Pa; `zero_crossings` and
    `peaks`, Hz; `irregularity`, their ratio.

    >>> import arlequin as aq
    >>> curve = aq.fatigue.SNCurve.basquin(amplitude=100e6, cycles=1e6, slope=5)
    >>> frequency, density = [10.0, 10.1], [4e16, 4e16]  # Hz, Pa²/Hz: rms 63 MPa
    >>> found = aq.fatigue.spectral_damage(density, curve, frequency=frequency, method="narrow-band")
    >>> f"{float(found['damage_rate']):.4g}"  # ν₀ (√2 σ/σ_1)⁵/N_1 Γ(1 + 5/2), 1/s
    '1.912e-05'
    """
    instance("curve", curve, SNCurve, "must be an aq.fatigue.SNCurve")
    array, frequencies = _density(psd, frequency)
    per_unit = _unit_stress(array.attrs.get("units"), stress_per_unit)
    at_failure, chosen = positive("miner_sum", miner_sum), one_of("method", method, get_args(Method))
    mean_stress = finite("mean", mean)
    factor = _factor(curve, correction, mean_stress)
    moments = Moments(*(per_unit**2 * moment for moment in _moments(frequencies, array.values)))
    corrected = Moments(*(factor**2 * moment for moment in moments))
    with np.errstate(divide="ignore", invalid="ignore"):
        crossings = np.nan_to_num(np.sqrt(moments.second / moments.zeroth))
        peaks = np.nan_to_num(np.sqrt(moments.fourth / moments.second))
        irregularity = np.clip(np.nan_to_num(crossings / peaks), 0.0, 1.0)
    rate, beyond = np.zeros(moments.zeroth.shape), 0.0
    for share in _shares(chosen, corrected):
        total, outside = _expected(share, curve)
        rate, beyond = rate + total, beyond + float(np.sum(outside))
    warn_of_extrapolation(beyond, float(np.sum(rate)), curve)
    with np.errstate(divide="ignore"):
        life = at_failure / rate
    dims = [name for name in array.dims if name != "frequency"]
    fields = {
        "damage_rate": (dims, rate, described("1/s", "fatigue damage per time")),
        "life": (dims, life, described("s", "fatigue life")),
        "rms": (dims, np.sqrt(moments.zeroth), described("Pa", "rms stress")),
        "zero_crossings": (dims, crossings, described("Hz", "upward zero crossings per time")),
        "peaks": (dims, peaks, described("Hz", "peaks per time")),
        "irregularity": (dims, irregularity, described("1", "zero crossings per peak")),
    }
    coords = {key: value for key, value in array.coords.items() if "frequency" not in value.dims}
    return xarray.Dataset(fields, coords, {"method": chosen, "mean_stress": mean_stress, "miner_sum": at_failure})


def _density(psd: Any, frequency: Any) -> tuple[xarray.DataArray, Array]:
    """The density with `frequency` as its last dimension, and the frequencies (f,), Hz, checked."""
    if isinstance(psd, xarray.Dataset | xarray.DataTree):
        raise UserTypeError.parameter("psd", psd, "must be one variable over frequency, unit²/Hz")
    if isinstance(psd, xarray.DataArray):
        if frequency is not None:
            raise UserError("frequency: is that of arrays: a DataArray has it as a coordinate")
        if "frequency" not in psd.dims or "frequency" not in psd.coords:
            raise UserError("psd: must have the dimension and the coordinate frequency, Hz")
        array = psd.transpose(..., "frequency")
        frequency = array["frequency"].values
    else:
        if frequency is None:
            raise UserError("frequency: must be given, Hz, for a density that is an array")
        numbers = finite_array("psd", psd)
        if not numbers.ndim:
            raise UserError.parameter("psd", psd, "must be densities, (…, frequency)")
        dims = [*(f"dim_{n}" for n in range(numbers.ndim - 1)), "frequency"]
        array = xarray.DataArray(numbers, dims=dims)
    f = finite_array("frequency", frequency, (array.sizes["frequency"],))
    if f.size < 2:
        raise UserError("frequency: must be at least two, Hz")
    if (f < 0.0).any():
        raise UserError("frequency: must not be negative: a one-sided density is needed, twice a two-sided one")
    if not (np.diff(f) > 0.0).all():
        raise UserError("frequency: must increase")
    values = finite_array("psd", array.values)
    if (values < 0.0).any():
        raise UserError.parameter("psd", float(values.min()), "must not be negative")
    return array.copy(data=values), f


def _unit_stress(units: str | None, stress_per_unit: float | None) -> float:
    """Pa of one unit of the stress whose density has this unit."""
    if stress_per_unit is None and units in _SQUARES:
        return 1.0
    return unit_stress(units, stress_per_unit)


def _factor(curve: SNCurve, correction: MeanStress | None, mean: float) -> float:
    """Factor of the stress by a mean stress, Pa."""
    if correction is None:
        if mean:
            raise UserError("correction: must be given, as aq.fatigue.Goodman(ultimate), for a mean stress")
        return 1.0
    if curve.ratio != -1.0:
        raise UserError.parameter("curve", f"ratio {curve.ratio:g}", "must have the ratio -1 for a spectrum")
    if isinstance(correction, Walker | SmithWatsonTopper):
        raise UserError.parameter("correction", correction, "must be a factor of the stress: Goodman, Gerber, Morrow")
    one = corrected_ranges(np.array([2.0]), np.array([mean]), curve, correction)
    return float(one[0]) / 2.0


def _moments(frequencies: Array, density: Array) -> Moments:
    """Moments of a density (…, f) that is linear between the frequencies (f,), exactly."""
    roots, weights = leggauss(4)
    share = 0.5 * (1.0 + roots)
    widths = np.diff(frequencies)
    f = frequencies[:-1, None] + widths[:, None] * share
    out = []
    for power in (0, 1, 2, 4):
        # weights of the values at both ends of each interval
        inner = 0.5 * widths[:, None] * weights * f**power
        ends = np.zeros(frequencies.size)
        ends[:-1] += (inner * (1.0 - share)).sum(axis=1)
        ends[1:] += (inner * share).sum(axis=1)
        out.append(density @ ends)
    return Moments(*map(np.asarray, out))


def _shares(method: str, moments: Moments) -> list[Share]:
    """The shares of the distribution of ranges; without cycles where there is no stress."""
    m0, m1, m2, m4 = moments
    acting = m2 > 0.0
    m0, m1, m2, m4 = (np.where(acting, moment, 1.0) for moment in moments)
    crossings, peaks = np.where(acting, np.sqrt(m2 / m0), 0.0), np.where(acting, np.sqrt(m4 / m2), 0.0)
    scale = 2.0 * np.sqrt(m0)
    alpha2 = np.minimum(m2 / np.sqrt(m0 * m4), 1.0)
    narrow = 1.0 - alpha2 < _NARROW
    if method == "narrow-band":
        return [Share(crossings, False, scale)]
    broad = np.where(narrow, 0.5, alpha2)
    if method == "tovo-benasciutti":
        alpha1 = np.where(narrow, 0.75, m1 / np.sqrt(m0 * m2))
        bend = 1.112 * (1.0 + alpha1 * broad - (alpha1 + broad)) * np.exp(2.11 * broad) + (alpha1 - broad)
        b = np.where(narrow, 1.0, (alpha1 - broad) * bend / (broad - 1.0) ** 2)
        return [Share(b * crossings, False, scale), Share((1.0 - b) * peaks, False, broad * scale)]
    xm = np.where(narrow, 0.4, m1 / m0 * np.sqrt(m2 / m4))
    d1 = 2.0 * (xm - broad**2) / (1.0 + broad**2)
    r = (broad - xm - d1**2) / (1.0 - broad - d1 + d1**2)
    d2 = (1.0 - broad - d1 + d1**2) / (1.0 - r)
    d3 = 1.0 - d1 - d2
    without = d1 == 0.0
    q = np.where(without, 1.0, 1.25 * (broad - d3 - d2 * r) / np.where(without, 1.0, d1))
    return [
        Share(np.where(narrow, 0.0, d1 * peaks), True, q * scale),
        Share(np.where(narrow, 0.0, d2 * peaks), False, r * scale),
        Share(np.where(narrow, peaks, d3 * peaks), False, scale),
    ]


def _expected(share: Share, curve: SNCurve) -> tuple[Array, Array]:
    """Damage a second of a share, and that of it which is of lives beyond the curve."""
    assert curve.valid is not None
    fewest, most = curve.valid
    total, outside = np.zeros(np.shape(share.rate)), np.zeros(np.shape(share.rate))
    for low, high, slope, log_constant in curve.lines():
        known_low, known_high = (
            float(np.clip(np.exp((log_constant - np.log(n)) / slope), low, high)) for n in (most, fewest)
        )
        for a, b, known in ((low, known_low, False), (known_low, known_high, True), (known_high, high, False)):
            if a < b:
                rate = share.rate * _integral(share, a, b, slope, log_constant)
                total = total + rate
                outside = outside if known else outside + rate
    return total, outside


def _integral(share: Share, low: float, high: float, slope: float, log_constant: float) -> Array:
    """∫ p(S) S^m/C dS from `low` to `high`, Pa."""
    from scipy.special import gammainc, gammaincc, gammaln

    if share.exponential:
        order, log_scale, a, b = 1.0 + slope, np.log(share.scale), low / share.scale, high / share.scale
    else:
        order, log_scale = 1.0 + 0.5 * slope, np.log(np.sqrt(2.0) * share.scale)
        a, b = 0.5 * (low / share.scale) ** 2, 0.5 * (high / share.scale) ** 2
    # the smaller of both tails: differences keep their digits
    inner = np.where(a > order, gammaincc(order, a) - gammaincc(order, b), gammainc(order, b) - gammainc(order, a))
    return np.asarray(np.exp(slope * log_scale + gammaln(order) - log_constant) * inner)
