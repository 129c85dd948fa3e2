"""Cross-sections of beams: areas, inertias, torsion constant and shear correction factors."""

from dataclasses import dataclass

import numpy as np

from models import checks
from models.errors import UserError


@dataclass(frozen=True)
class Section:
    """A cross-section with principal axes y and z through its centroid, x along the beam.

    area A in m²; inertia_y = ∫ z² dA (bending in the plane x, z) and inertia_z = ∫ y² dA (in the plane x, y),
    torsion constant J, in m⁴; shear_y and shear_z: shear correction factors κ of the forces along y and z, so
    that V = κ G A γ. Plane beams bend in x, y: they use area, inertia_z and shear_y.

    The constructors take Poisson's ratio for Cowper's factors, which belong to the section's mean displacement
    and mean rotation, as a volume junction sees them.
    Source of the factors: Cowper, Journal of Applied Mechanics 33, 1966.
    """

    area: float
    inertia_y: float
    inertia_z: float
    torsion: float
    shear_y: float = 5.0 / 6.0
    shear_z: float = 5.0 / 6.0

    def __post_init__(self) -> None:
        for name in ("area", "inertia_y", "inertia_z", "torsion", "shear_y", "shear_z"):
            checks.hold(self, **{name: checks.positive})

    @property
    def polar(self) -> float:
        """Polar moment I_y + I_z, m⁴: the rotary inertia of torsion."""
        return self.inertia_y + self.inertia_z

    @classmethod
    def rectangle(cls, height: float, width: float, poisson: float = 0.0) -> "Section":
        """Rectangle of a height along y and a width along z, m.

        κ = 10(1 + ν)/(12 + 11ν); J from Saint-Venant's series (Timoshenko & Goodier, Theory of Elasticity,
        §109).

        >>> section = Section.rectangle(0.2, 0.1)
        >>> round(section.area, 6), round(section.inertia_z, 9), round(section.shear_y, 6)
        (0.02, 6.6667e-05, 0.833333)
        """
        h, b, nu = _dimensions(("height", height), ("width", width), poisson=poisson)
        shear = 10 * (1 + nu) / (12 + 11 * nu)
        long, short = max(h, b), min(h, b)
        n = np.arange(1, 60, 2)
        series = float((np.tanh(n * np.pi * long / (2 * short)) / n**5).sum())
        torsion = long * short**3 * (1 / 3 - 64 / np.pi**5 * short / long * series)
        return cls(h * b, h * b**3 / 12, b * h**3 / 12, float(torsion), shear, shear)

    @classmethod
    def circle(cls, radius: float, poisson: float = 0.0) -> "Section":
        """Full circle; κ = 6(1 + ν)/(7 + 6ν)."""
        r, nu = _dimensions(("radius", radius), poisson=poisson)
        inertia = np.pi * r**4 / 4
        shear = 6 * (1 + nu) / (7 + 6 * nu)
        return cls(np.pi * r**2, inertia, inertia, 2 * inertia, shear, shear)

    @classmethod
    def tube(cls, outer: float, inner: float, poisson: float = 0.0) -> "Section":
        """Circular tube of outer and inner radius, m.

        κ = 6(1 + ν)(1 + m²)²/((7 + 6ν)(1 + m²)² + (20 + 12ν)m²), m = inner/outer.
        """
        a, b, nu = _dimensions(("outer", outer), ("inner", inner), poisson=poisson)
        if b >= a:
            raise UserError.parameter("inner", inner, f"must be less than the outer radius {outer:g}")
        m2 = (b / a) ** 2
        shear = 6 * (1 + nu) * (1 + m2) ** 2 / ((7 + 6 * nu) * (1 + m2) ** 2 + (20 + 12 * nu) * m2)
        inertia = np.pi * (a**4 - b**4) / 4
        return cls(np.pi * (a**2 - b**2), inertia, inertia, 2 * inertia, shear, shear)


def _dimensions(*lengths: tuple[str, float], poisson: float) -> tuple[float, ...]:
    """The lengths and Poisson's ratio, checked."""
    nu = checks.within("poisson", poisson, -1.0, 0.5, open_low=True, open_high=True)
    return (*(checks.positive(name, value) for name, value in lengths), nu)
