"""Squeeze film: a viscous fluid between two surfaces that approach each other."""

from dataclasses import dataclass
from math import pi, sqrt
from typing import Any, Self

import numpy as np

from arlequin.models.checks import check_fields, flag, non_negative, positive, within
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array


@checked_call
@dataclass(frozen=True)
class SqueezeFilm:
    """Pressure of a thin film of a viscous fluid, p = −C ḣ/hⁿ, of the thickness h = g + h₀; it dissipates only.

    coefficient C, Pa·s·mⁿ, exponent n ≥ 1; offset h₀ ≥ 0, m: thickness where the surfaces touch (roughness).
    Without offset a lasting load thins the film until h is round-off of the positions, where steps fail.
    p < 0 while the gap opens; cavitates=True has no such suction. Constructors with C and n of Reynolds' equation, for
    the viscosity η in Pa·s and surfaces that are open to the fluid all around:

        `disc`      radius R         F = (3π/2) η R⁴ (−ḣ)/h³           mean pressure on the area π R²
        `strip`     width b          F/L = η b³ (−ḣ)/h³                mean pressure on the area b L
        `cylinder`  R, on a plane    F/L = 3√2 π η (R/h)^{3/2} (−ḣ)    with the area of the interface = L
        `sphere`    R, on a plane    F = 6π η R² (−ḣ)/h                with the area of the interface = 1 m²

    Over a step the pressure is the mean on the path, −(Φ(h₁) − Φ(h₀))/Δt with Φ′ = C/hⁿ: impulse and loss ≥ 0 hold for
    steps of any size in any scheme, and as Φ → −∞ at h → 0 for n ≥ 1 the film is never closed. The loss is in the
    energy column `film`. It adds to other laws without damping; it is no part of a Coulomb threshold, so that an
    interface with friction takes none (use a second interface for the film).

    >>> import numpy as np
    >>> import arlequin as aq
    >>> disc = aq.PointMasses("disc", 1e-4, mass=1e-6)  # m, kg: h = 0.1 mm above the plane x = 0
    >>> film = aq.SqueezeFilm.disc(viscosity=1e-3, radius=0.01)  # water
    >>> touch = aq.Interface("film", disc.boundary("all"), aq.RigidPlane(0.0, 1.0), film, area=np.pi * 0.01**2)
    >>> weight = aq.System([disc], interfaces=[touch], gravity=-1e5)  # 0.1 N
    >>> result = aq.simulate(weight, aq.Theta(0.5), duration=0.1, step=1e-3)
    >>> stefan = (1.0 / 1e-4**2 + 2.0 * 0.1 * 0.1 / (1.5 * np.pi * 1e-3 * 0.01**4)) ** -0.5  # 1/h² − 1/h₀² = 2Ft/(CA)
    >>> bool(abs(1e-4 + result["part/disc/displacement"].values[-1, 0, 0] - stefan) < 1e-3 * stefan)
    True

    Source: Stefan, Sitzungsber. Akad. Wiss. Wien 69 (1874) 713–735; Hamrock, Schmid & Jacobson, Fundamentals of Fluid
    Film Lubrication, 2004, ch. 9; sphere: Cox & Brenner, Chem. Eng. Sci. 22 (1967) 1753–1777.
    """

    coefficient: float
    exponent: float = 3.0
    offset: float = 0.0
    cavitates: bool = False

    def __post_init__(self) -> None:
        positive("coefficient", self.coefficient, smallest=1e-300)
        check_fields(self, offset=non_negative)
        object.__setattr__(self, "exponent", within("exponent", self.exponent, 1.0, 10.0))
        flag("cavitates", self.cavitates)

    @classmethod
    @checked_call
    def disc(cls, viscosity: float, radius: float, **options: Any) -> Self:
        """A disc of the radius, m, parallel to a plane: C = (3/2) η R², n = 3, on its area. options: other fields."""
        return cls(1.5 * positive("viscosity", viscosity) * positive("radius", radius) ** 2, 3.0, **options)

    @classmethod
    @checked_call
    def strip(cls, viscosity: float, width: float, **options: Any) -> Self:
        """A long strip of the width, m, parallel to a plane: C = η b², n = 3, on its area. options: other fields."""
        return cls(positive("viscosity", viscosity) * positive("width", width) ** 2, 3.0, **options)

    @classmethod
    @checked_call
    def cylinder(cls, viscosity: float, radius: float, **options: Any) -> Self:
        """A cylinder of the radius, m, along a plane, h ≪ R: C = 3√2 π η R^{3/2}, n = 3/2, with area = its length."""
        factor = 3.0 * sqrt(2.0) * pi * positive("viscosity", viscosity)
        return cls(factor * positive("radius", radius) ** 1.5, 1.5, **options)

    @classmethod
    @checked_call
    def sphere(cls, viscosity: float, radius: float, **options: Any) -> Self:
        """A sphere of the radius, m, near a plane, h ≪ R: C = 6π η R², n = 1, with area = 1 m²."""
        return cls(6.0 * pi * positive("viscosity", viscosity) * positive("radius", radius) ** 2, 1.0, **options)

    @property
    def damped(self) -> bool:
        return True

    def coefficients(self) -> Array:
        return np.array([self.coefficient, self.exponent, self.offset, float(self.cavitates)])

    def kernel(self) -> Any:
        from arlequin.multilevel.laws._film_kernels import squeeze_film

        return squeeze_film

    def pressure(self, gap: Array) -> Array:
        return np.zeros_like(gap)

    def damping_pressure(self, gap: Array, rate: Array) -> Array:
        pressure = -self.coefficient * (gap + self.offset) ** -self.exponent * rate
        return np.maximum(pressure, 0.0) if self.cavitates else pressure

    def energy(self, gap: Array) -> Array:
        return np.zeros_like(gap)

    def stiffness_bound(self) -> float:
        return 0.0
