"""Timoshenko's cantilever in closed form: deflection under an end force, and natural frequencies."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import expm
from scipy.optimize import brentq

from arlequin.models.beams.section import Section
from arlequin.models.materials.elastic import LinearElastic
from arlequin.models.types import Array

_SCAN = 400  # intervals per decade of the search for sign changes


@dataclass(frozen=True)
class Cantilever:
    """A uniform beam clamped at x = 0, free at x = length (m)."""

    length: float
    material: LinearElastic
    section: Section

    def deflection(self, x: Array | float, force: float) -> Array:
        """Deflection along y (m) at x under a force (N) along y at the free end: F x²(3L − x)/6EI + F x/κGA."""
        e, g, s = self.material.young, self.material.shear, self.section
        x = np.asarray(x, dtype=float)
        bending = force * x**2 * (3 * self.length - x) / (6 * e * s.inertia_z)
        return bending + force * x / (s.shear_y * g * s.area)

    def frequencies(self, count: int) -> Array:
        """The lowest natural frequencies, Hz: bending in both planes, torsion and stretching, sorted."""
        s, rho = self.section, self.material.density
        odd = (2 * np.arange(1, count + 1) - 1) / (4 * self.length)
        stretching = odd * np.sqrt(self.material.young / rho)
        torsion = odd * np.sqrt(self.material.shear * s.torsion / (rho * s.polar))
        planes = [self.bending(count, s.inertia_z, s.shear_y), self.bending(count, s.inertia_y, s.shear_z)]
        return np.sort(np.concatenate([stretching, torsion, *planes]))[:count]

    def bending(self, count: int, inertia: float, shear: float) -> Array:
        """Frequencies of bending in one plane, Hz: roots of the determinant of the free end.

        The state (w, ψ, M, V) obeys w′ = ψ + V/κGA, ψ′ = M/EI, M′ = −V − ρIω²ψ, V′ = −ρAω²w; at a clamped
        end M and V are free, and both must vanish at the free end: det of their block of exp(A L) = 0.
        Source: Timoshenko, Philosophical Magazine 41, 1921.
        """
        e, g, rho, area = self.material.young, self.material.shear, self.material.density, self.section.area
        length = self.length
        # lengths in L, ω in √(EI/ρAL⁴): i = I/(AL²) is the rotary inertia, b = EI/(κGAL²) the shear compliance
        i, b = inertia / (area * length**2), e * inertia / (shear * g * area * length**2)

        def free_end(omega: float) -> float:
            w2 = omega**2
            matrix = np.array([[0, 1, 0, b], [0, 0, 1, 0], [0, -i * w2, 0, -1], [-w2, 0, 0, 0]], dtype=float)
            return float(np.linalg.det(expm(matrix)[2:, 2:]))

        roots: list[float] = []
        low, ratio = 0.5 / (1 + np.sqrt(b) + np.sqrt(i)), 10 ** (1 / _SCAN)
        value = free_end(low)
        while len(roots) < count:
            high = low * ratio
            high_value = free_end(high)
            if value * high_value < 0:
                roots.append(brentq(free_end, low, high, xtol=1e-13 * high, rtol=1e-13))
            low, value = high, high_value
        unit = np.sqrt(e * inertia / (rho * area * length**4))
        return np.array(roots) * unit / (2 * np.pi)
