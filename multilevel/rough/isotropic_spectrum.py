"""Integrals over an isotropic power spectrum that is a power law between its points."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import exprel

from arlequin.models.checks import finite_array
from arlequin.models.errors import UserError
from arlequin.models.types import Array

_POINTS = 1500  # Gauss points at least, over all intervals
_FIRST = 64  # Gauss points of the first interval, where integrands of G(q) are singular


@dataclass(frozen=True, eq=False)
class IsotropicSpectrum:
    """C(q) (n,), m⁴, at increasing wavenumbers q (n,), rad/m: ⟨h²⟩ = 2π ∫ q C dq; a power law between neighbours.

    Source: Persson et al., J. Phys.: Condens. Matter 17 (2005) R1–R62 (the convention of C).
    """

    wavenumbers: Array
    values: Array

    def __post_init__(self) -> None:
        q = finite_array("wavenumbers", self.wavenumbers, (None,))
        values = finite_array("spectrum", self.values, q.shape)
        if q.size < 2 or not (q > 0.0).all() or not (np.diff(q) > 0.0).all():
            raise UserError.parameter("wavenumbers", self.wavenumbers, "must be two or more, positive and increasing")
        if not (values > 0.0).all():
            raise UserError.parameter("spectrum", self.values, "must be positive: leave out empty wavenumbers")
        object.__setattr__(self, "wavenumbers", q)
        object.__setattr__(self, "values", values)

    def moment(self, power: float) -> float:
        """2π ∫ q^{power+1} C dq: ⟨|∇ʲh|²⟩ of power 2j (0: mean square height, m²; 2: mean square gradient)."""
        return float(2.0 * np.pi * self._pieces(power + 1.0, np.arange(self._lengths.size), self._lengths).sum())

    @cached_property
    def points(self) -> tuple[Array, Array, Array]:
        """Gauss points q (j,), weights C dq (j,) and the mean square gradient G(q) (j,) of the wavenumbers below q."""
        per = max(2, -(-_POINTS // self._lengths.size))
        x, w = np.polynomial.legendre.leggauss(per)
        x, w = 0.5 * (x + 1.0), 0.5 * w
        y, v = np.polynomial.legendre.leggauss(_FIRST)
        y, v = 0.5 * (y + 1.0), 0.5 * v
        # parts of the intervals' logarithms; y⁶ in the first, where G^{−1/2} and ln G of the integrands are singular
        other_intervals = self._lengths.size - 1
        interval = np.concatenate([np.zeros(_FIRST, dtype=np.int64), np.repeat(np.arange(1, other_intervals + 1), per)])
        part = np.concatenate([y**6, np.tile(x, other_intervals)])
        weight = np.concatenate([6.0 * y**5 * v, np.tile(w, other_intervals)]) * self._lengths[interval]

        length = part * self._lengths[interval]
        q = self.wavenumbers[interval] * np.exp(length)
        spectrum = self.values[interval] * np.exp(self._slopes[interval] * length)
        interval_integrals = self._pieces(3.0, np.arange(other_intervals + 1), self._lengths)
        below = np.concatenate([[0.0], np.cumsum(interval_integrals)[:-1]])[interval] + self._pieces(
            3.0, interval, length
        )
        return q, weight * q * spectrum, 2.0 * np.pi * below

    @cached_property
    def _lengths(self) -> Array:
        return np.log(self.wavenumbers[1:] / self.wavenumbers[:-1])

    @cached_property
    def _slopes(self) -> Array:
        return np.log(self.values[1:] / self.values[:-1]) / self._lengths

    def _pieces(self, power: float, interval: NDArray[np.int64], length: Array) -> Array:
        """∫ q^power C dq from the start of the intervals over a length of ln q."""
        start = self.wavenumbers[interval]
        exponent = self._slopes[interval] + power + 1.0
        return self.values[interval] * start ** (power + 1.0) * length * exprel(exponent * length)
