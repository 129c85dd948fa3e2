"""Natural frequencies of a uniform rod in bending, in closed form: pinned at both ends, and free."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import expm
from scipy.optimize import brentq

from arlequin.models.types import Array


@dataclass(frozen=True)
class RodModes:
    """A rod of length L, m; bending stiffness EI, N·m²; shear stiffness κGA, N; mass per length m, kg/m; tension T, N;
    rotary inertia per length ρI, kg·m."""

    length: float
    bending: float
    shear: float
    mass: float
    rotary: float
    tension: float = 0.0

    def pinned(self, count: int) -> Array:
        """Frequencies (n,), Hz, with w = 0 and M = 0 at both ends: w = sin kx, θ = B cos kx, k = nπ/L.

        (EI k² + κGA − ρI ω²) (κGA k² + T k² − m ω²) = (κGA k)²: the smaller root ω².
        Source: Timoshenko, Philosophical Magazine 41, 1921; the tension stiffens as a string's.
        """
        k = np.arange(1, count + 1) * np.pi / self.length
        rotational, translational = self.bending * k**2 + self.shear, (self.shear + self.tension) * k**2
        a, b = self.rotary * self.mass, self.rotary * translational + self.mass * rotational
        c = rotational * translational - (self.shear * k) ** 2
        squares = 2.0 * c / (b + np.sqrt(b**2 - 4.0 * a * c)) if a else c / b
        return np.asarray(np.sqrt(squares) / (2.0 * np.pi))

    def free(self, count: int) -> Array:
        """The lowest elastic frequencies (n,), Hz, of a slender rod with free ends and no tension.

        The state y = (w, θ, M, V) obeys w′ = θ + V/κGA, θ′ = M/EI, M′ = −V − ρIω²θ, V′ = −mω²w: y(L) = exp(A L) y(0).
        M and V vanish at both ends if the block of the exponential from (w, θ) to (M, V) is singular. The roots are
        searched from 0.67 times to those of Euler's rod, cos β cosh β = 1.
        Source: Timoshenko, Philosophical Magazine 41, 1921; Blevins, Formulas for Natural Frequency and Mode Shape,
        1979, table 8-1.
        """
        beta = (np.arange(1, count + 1) + 0.5) * np.pi
        for _ in range(20):  # Newton on cos β − 1/cosh β
            beta -= (np.cos(beta) - 1 / np.cosh(beta)) / (-np.sin(beta) + np.tanh(beta) / np.cosh(beta))
        slender = (beta / self.length) ** 2 * np.sqrt(self.bending / self.mass)
        return np.array([brentq(self._free_end, 0.67 * w, 1.0001 * w, rtol=1e-12) for w in slender]) / (2.0 * np.pi)

    def _free_end(self, omega: float) -> float:
        """Determinant at the angular frequency, with lengths in L and forces in EI/L²."""
        rotary_term = self.rotary * omega**2 * self.length**2 / self.bending
        inertia_term = self.mass * omega**2 * self.length**4 / self.bending
        shear_compliance = self.bending / (self.shear * self.length**2)
        state = np.array(
            [[0, 1, 0, shear_compliance], [0, 0, 1, 0], [0, -rotary_term, 0, -1], [-inertia_term, 0, 0, 0]], dtype=float
        )
        return float(np.linalg.det(expm(state)[2:, :2]))
