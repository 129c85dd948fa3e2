"""Persson's theory: contact area and mean gap by the power spectrum of the roughness."""

import math
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import CubicHermiteSpline
from scipy.special import erf, exp1

from arlequin.models.checks import finite_array, positive, within
from arlequin.models.errors import UserError
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array
from arlequin.multilevel.rough.isotropic_spectrum import IsotropicSpectrum

_FLAT = 6.5  # x above which erf(x)² is 1 in doubles
_LOW, _HIGH, _ROWS = 1e-14, 20.0, 400  # the table of gaps: p over E* h'rms/√2
_NEWTON = 5  # steps from the table


@checked_call
@dataclass(frozen=True, eq=False)
class Persson:
    """Elastic contact with an isotropic Gaussian roughness, seen at growing magnification.

    modulus E*, Pa; wavenumbers q (n,), rad/m, increasing; spectrum C (n,), m⁴, with ⟨h²⟩ = 2π ∫ q C dq, a power law
    between the points; gamma: ratio of the elastic energy to that of the stress distribution of the theory (0.45; 1: no
    correction). With the gradient of the wavenumbers below q, G(q) = 2π ∫_{q₀}^q q'³ C dq', and w = √(2/G):

        area at magnification q:  P(q, p) = erf(w p/E*),   A/A₀ = P(q₁, p) = erf(√2 p/(E* h'rms)) → √(8/π) p/(E* h'rms)
        elastic energy per area:  U(p) = π/2 E* ∫ q² C P [γ + (1 − γ) P²] dq
        mean gap, of dU = −p dū:  ū(p) = √π ∫ q² C w ∫_p^∞ [γ + 3(1 − γ) P²] e^{−(w p'/E*)²} dp'/p' dq

    (the inner integral is γ E₁(x²)/2 + 3(1 − γ) J(x), x = w p/E*, J(x) = ∫_x^∞ erf(t)² e^{−t²}/t dt). At small p it is
    p = β E* e^{−ū/u₀}, u₀ = γ √π ∫ q² C w dq; at full contact ū → 0 and p → ∞. The gap is the mean one by definition.

    Source: Persson, J. Chem. Phys. 115 (2001) 3840–3861; Manners & Greenwood, Wear 261 (2006) 600–610 (the slope);
    Persson, Phys. Rev. Lett. 99 (2007) 125502; Yang & Persson, J. Phys.: Condens. Matter 20 (2008) 215214 (γ, ū(p)).
    """

    modulus: float
    wavenumbers: Array
    spectrum: Array
    gamma: float = 0.45

    def __post_init__(self) -> None:
        positive("modulus", self.modulus)
        within("gamma", self.gamma, 0.0, 1.0, open_low=True)
        assert self._roughness  # validates the spectrum

    @cached_property
    def _roughness(self) -> IsotropicSpectrum:
        return IsotropicSpectrum(self.wavenumbers, self.spectrum)

    @cached_property
    def rms_slope(self) -> float:
        """h'rms, root mean square of the gradient."""
        return math.sqrt(self._roughness.moment(2.0))

    @property
    def decay_length(self) -> float:
        """u₀, m."""
        return self.gamma * float(self._terms[1].sum())

    @property
    def prefactor(self) -> float:
        """β of p = β E* e^{−ū/u₀}, from the inner integral at small x: −γ (ln x + 0.5772/2) + 3 (1 − γ) J(0)."""
        w, weight = self._terms
        at_rest = 3.0 * (1.0 - self.gamma) / self.gamma * _correction(np.zeros(1))[0]
        return math.exp(at_rest - 0.5 * np.euler_gamma - float(weight @ np.log(w) / weight.sum()))

    def gap(self, pressure: ArrayLike) -> Array:
        """Mean gap ū (k,) at the mean pressures p ≥ 0 (k,), m."""
        p = finite_array("pressure", pressure)
        if (p < 0.0).any():
            raise UserError.parameter("pressure", pressure, "must not be negative")
        return self._gap(p.ravel() / self.modulus).reshape(p.shape)

    def contact_area(self, pressure: ArrayLike) -> Array:
        """A/A₀ (k,) at the mean pressures (k,)."""
        return erf(math.sqrt(2.0) * np.asarray(pressure) / (self.modulus * self.rms_slope))

    def pressure(self, gap: ArrayLike) -> Array:
        """p (k,) at the mean gaps (k,), Pa; infinite at gaps ≤ 0, as a Gaussian roughness has no highest summit."""
        u = np.asarray(gap, dtype=float)
        pressures = np.full(u.size, np.inf)
        pressures[u.ravel() > 0.0] = self.modulus * self._inverse(u[u > 0.0])
        return pressures.reshape(u.shape)

    def area(self, gap: ArrayLike) -> Array:
        return self.contact_area(self.pressure(gap))

    def stiffness(self, gap: ArrayLike) -> Array:
        p = self.pressure(gap)
        stiffness = np.full(p.size, np.inf)
        open_ = np.isfinite(p.ravel())
        flat = p.ravel()[open_]
        stiffness[open_] = flat / self._decay(flat / self.modulus)
        return stiffness.reshape(p.shape)

    @cached_property
    def _terms(self) -> tuple[Array, Array]:
        """w(q) (j,) and √π q² C w dq (j,), m, at the Gauss points."""
        q, mass, gradient = self._roughness.points
        w = np.sqrt(2.0 / gradient)
        return w, math.sqrt(math.pi) * q**2 * mass * w

    def _gap(self, p: Array) -> Array:
        """ū (k,), m, at the pressures over E* (k,)."""
        w, weight = self._terms
        x = p[:, None] * w
        return (0.5 * self.gamma * exp1(x**2) + 3.0 * (1.0 - self.gamma) * _correction(x)) @ weight

    def _decay(self, p: Array) -> Array:
        """−dū/d(ln p) (k,), m, at the pressures over E* (k,)."""
        w, weight = self._terms
        x = p[:, None] * w
        return ((self.gamma + 3.0 * (1.0 - self.gamma) * erf(x) ** 2) * np.exp(-(x**2))) @ weight

    @cached_property
    def _table(self) -> tuple[Array, Array]:
        """ln(ū/u₀), rising, and ln(p/E*) (r,)."""
        p = self.rms_slope / math.sqrt(2.0) * np.geomspace(_HIGH, _LOW, _ROWS)
        return np.log(self._gap(p) / self.decay_length), np.log(p)

    def _inverse(self, gap: Array) -> Array:
        """p/E* (k,) of gaps > 0 (k,): by Newton's steps on ln(ū/u₀) over ln p, concave and falling, from the table."""
        gaps, pressures = self._table
        target = np.log(gap / self.decay_length)
        p = np.interp(target, gaps, pressures)
        # above the table the exponential law is exact; below it gaps are negligible
        beyond_table = target > gaps[-1]
        p[beyond_table] = math.log(self.prefactor) - gap[beyond_table] / self.decay_length
        in_table = ~beyond_table & (target > gaps[0])
        for _ in range(_NEWTON):
            u = self._gap(np.exp(p[in_table]))
            p[in_table] += (np.log(u / self.decay_length) - target[in_table]) * u / self._decay(np.exp(p[in_table]))
        return np.exp(p)


def _correction(x: Array) -> Array:
    """J(x) = ∫_x^∞ erf(t)² e^{−t²}/t dt (any shape), x ≥ 0."""
    scaled = _scaled_correction()(np.minimum(x, _FLAT))
    return np.where(x < _FLAT, scaled * np.exp(-(x**2)), 0.5 * exp1(x**2))


@cache
def _scaled_correction() -> CubicHermiteSpline:
    """e^{x²} J(x) = ½ ∫_0^∞ e^{−v} S(x² + v) dv, S(y) = erf(√y)²/y an entire function, by Gauss and Laguerre.

    Between the points by its values and derivatives, 2 x e^{x²} J − erf(x)²/x: to 1e-12 of itself.
    """
    v, weight = np.polynomial.laguerre.laggauss(64)
    x = np.linspace(0.0, _FLAT, 1500)
    y = x[:, None] ** 2 + v
    values = 0.5 * (erf(np.sqrt(y)) ** 2 / y) @ weight
    quotient = np.divide(erf(x) ** 2, x, out=np.zeros_like(x), where=x > 0.0)
    return CubicHermiteSpline(x, values, 2.0 * x * values - quotient)
