"""Sums of harmonics in time, of values and of forces."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from arlequin.models.linalg.rows import row_products
from arlequin.models.types import Array

_TIMES = 256  # times per evaluation


@dataclass(frozen=True, eq=False)
class Harmonics:
    """Σ_k a_k cos 2πkt/T + b_k sin 2πkt/T, of the period T in s; coefficients (2K, m): all a, then all b."""

    period: float
    coefficients: Array

    def __call__(self, t: float) -> Array:
        """Values (m,) at the time t."""
        return np.asarray(self.at(np.array([t], dtype=float))[0])

    def at(self, times: Array) -> Array:
        """Values (t, m) at the times (t,)."""
        count = len(self.coefficients) // 2
        angular = 2 * np.pi * np.arange(1, 1 + count)
        out = np.empty((times.size, self.coefficients.shape[1]))
        for first in range(0, times.size, _TIMES):
            angles = np.multiply.outer(times[first : first + _TIMES] / self.period % 1.0, angular)
            waves = np.empty((len(angles), 2 * count))
            np.cos(angles, out=waves[:, :count])
            np.sin(angles, out=waves[:, count:])
            out[first : first + _TIMES] = row_products(waves, self.coefficients)
        return out

    def projected(self, shapes: Array) -> "Harmonics":
        """Sᵀ of the values (r,), with shapes S (m, r)."""
        return replace(self, coefficients=self.coefficients @ shapes)


@dataclass(frozen=True, eq=False)
class SharedHarmonics:
    """Forces P h(t) (d,) of few harmonics h (m,) on many coordinates, by the operator P (d, m)."""

    operator: csr_array
    harmonics: Harmonics

    def __call__(self, t: float) -> Array:
        """Forces (d,) at the time t."""
        return np.asarray(self.operator @ self.harmonics(t))

    def at(self, times: Array) -> Array:
        """Forces (t, d) at the times (t,)."""
        return np.asarray((self.operator @ self.harmonics.at(times).T).T)

    def projected(self, shapes: Array) -> Harmonics:
        """Sᵀ f (r,) on the coordinates of shapes S (d, r)."""
        return self.harmonics.projected(self.operator.T @ shapes)
