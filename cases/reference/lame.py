"""Press fit of two hollow cylinders by Lamé's equations.

A cylinder under radial pressures has σ_r = A − B/r², σ_θ = A + B/r². The pressure p of a shaft of inner radius c and a
hub of outer radius b, pressed together at r = a by the interference δ of the radii, follows from

    δ = u_hub(a) − u_shaft(a) = p a/E_h [(b² + a²)/(b² − a²) + ν_h] + p a/E_s [(a² + c²)/(a² − c²) − ν_s]

in plane stress and of cylinders with free ends; in plane strain E → E/(1 − ν²), ν → ν/(1 − ν).

Source: Timoshenko & Goodier, Theory of Elasticity, 3rd ed., McGraw-Hill 1970, § 28.
"""

from dataclasses import dataclass

from arlequin.models.materials.elastic import LinearElastic


@dataclass(frozen=True)
class PressFit:
    """Radii bore c < radius a < rim b, interference δ, m; strain: plane strain instead of free ends.

    >>> steel = LinearElastic(young=2e11, poisson=0.3, density=7800)
    >>> fit = PressFit(0.0, 1.0, 2.0, 1e-3, steel, steel)
    >>> round(fit.pressure / (2e11 * 1e-3 * (1.0 - 0.5**2) / 2.0), 12)  # E δ (1 − a²/b²)/(2 a), equal materials
    1.0
    """

    bore: float
    radius: float
    rim: float
    interference: float
    shaft: LinearElastic
    hub: LinearElastic
    strain: bool = False

    def _compliance(self, material: LinearElastic, other: float) -> float:
        """Radial displacement of r = a by unit pressure there, m/Pa."""
        young, poisson = self._plane(material)
        sign = 1.0 if other > self.radius else -1.0
        ratio = (other**2 + self.radius**2) / abs(other**2 - self.radius**2)
        return self.radius / young * (ratio + sign * poisson)

    def _plane(self, material: LinearElastic) -> tuple[float, float]:
        young, poisson = material.young, material.poisson
        return (young / (1.0 - poisson**2), poisson / (1.0 - poisson)) if self.strain else (young, poisson)

    @property
    def pressure(self) -> float:
        """Pressure p, Pa."""
        return self.interference / (self._compliance(self.shaft, self.bore) + self._compliance(self.hub, self.rim))

    @property
    def mean_stresses(self) -> tuple[float, float]:
        """(σ_r + σ_θ)/2 = A of shaft and hub, Pa, uniform in each."""
        a, p = self.radius**2, self.pressure
        return -p * a / (a - self.bore**2), p * a / (self.rim**2 - a)

    @property
    def rim_displacement(self) -> float:
        """Radial displacement of the hub's free rim, 2 A b/E, m."""
        young, _ = self._plane(self.hub)
        return 2.0 * self.mean_stresses[1] * self.rim / young

    @property
    def bore_displacement(self) -> float:
        """Radial displacement of the shaft's free bore, 2 A c/E, m."""
        young, _ = self._plane(self.shaft)
        return 2.0 * self.mean_stresses[0] * self.bore / young
