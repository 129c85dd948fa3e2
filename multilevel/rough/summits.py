"""Summits of an isotropic Gaussian roughness."""

import math
from dataclasses import dataclass

from arlequin.models.checks import positive
from arlequin.models.errors import UserError

_DEVIATION = 1.0 + 16.0 / math.pi - 3.0 * math.sqrt(3.0)  # 0.8968 in print


@dataclass(frozen=True)
class SummitStatistics:
    """Density, heights and curvature of the summits, by the spectral moments of a profile.

    m0 = ⟨h²⟩, m²; m2 = ⟨h_x²⟩ (half the mean square of the gradient: h'rms² = 2 m2); m4 = ⟨h_xx²⟩, 1/m².
    Bandwidth α = m0 m4/m2² > 3/2 (Nayak's parameter; at 3/2 the roughness has a single wavelength).

        density η = m4/(6 π √3 m2),           mean curvature κ_s = 8/3 √(m4/π),  R = 1/κ_s
        mean height z̄_s = 4 √(m0/(π α)),      deviation σ_s² = (1 − k/α) m0,  k = 1 + 16/π − 3√3 = 0.8968

    They are moments of the density of summits of height z, mean curvature C and half difference r < C of the
    principal curvatures (Nayak's, in these variables; `BushGibsonThomas` integrates it):

        n(z, C, r) = (C² − r²)/(2π m2) · N(z, C) · 3r/m4 e^{−3r²/(2 m4)},   N: ⟨z²⟩ = m0, ⟨C²⟩ = 2 m4/3, ⟨zC⟩ = m2

    Source: Nayak, J. Lubr. Technol. 93 (1971) 398–407; Bush, Gibson & Keogh, Mech. Res. Commun. 3 (1976) 169–174;
    McCool, Wear 107 (1986) 37–60.
    """

    m0: float
    m2: float
    m4: float

    def __post_init__(self) -> None:
        positive("m0", self.m0)
        positive("m2", self.m2)
        positive("m4", self.m4)
        if self.bandwidth <= 1.5:
            moments = f"m0 = {self.m0:g}, m2 = {self.m2:g}, m4 = {self.m4:g}"
            raise UserError(f"{moments}: m0 m4/m2² = {self.bandwidth:g} must be above 3/2, as of every random surface")

    @property
    def bandwidth(self) -> float:
        """α = m0 m4/m2²."""
        return self.m0 * self.m4 / self.m2**2

    @property
    def density(self) -> float:
        """η, 1/m²."""
        return self.m4 / (6.0 * math.pi * math.sqrt(3.0) * self.m2)

    @property
    def radius(self) -> float:
        """R of the mean curvature, m."""
        return 0.375 * math.sqrt(math.pi / self.m4)

    @property
    def mean_height(self) -> float:
        """z̄_s above the mean plane, m."""
        return 4.0 * math.sqrt(self.m0 / (math.pi * self.bandwidth))

    @property
    def height_deviation(self) -> float:
        """σ_s, m."""
        return math.sqrt((1.0 - _DEVIATION / self.bandwidth) * self.m0)
