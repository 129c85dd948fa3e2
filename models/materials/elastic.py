"""Constitutive data: isotropic linear elasticity and Rayleigh damping."""

from dataclasses import dataclass
from typing import Literal, Protocol

from arlequin.models import checks
from arlequin.models.errors import UserError
from arlequin.models.signatures import checked_call


class Material(Protocol):
    """A material of a continuum part."""

    @property
    def density(self) -> float:
        """ρ of the reference, kg/m³."""
        ...

    @property
    def linear(self) -> "LinearElastic":
        """The law of small elastic strains."""
        ...

    @property
    def kinematics(self) -> tuple[Literal["small", "finite"], ...]:
        """The strains for which the law is valid."""
        ...


class AssumedDensity(float):
    """The default density, where none is given: accepted only where no mass is needed (`check_density`)."""


NOT_GIVEN = AssumedDensity(1.0)


def check_density(part: str, material: object, where: str) -> None:
    """UserError where the density of the material of a part is not given; where: end of the message, what needs it."""
    if isinstance(getattr(material, "density", None), AssumedDensity):
        raise UserError(f"part '{part}': the density of its material must be given {where}, kg/m³")


@checked_call
@dataclass(frozen=True)
class LinearElastic:
    """Isotropic linear elasticity σ = λ tr(ε) I + 2μ ε with mass density ρ.

    young E in Pa, poisson ν in ]−1, 0.5[, density ρ in kg/m³ (needed wherever mass is:
    dynamics, gravity, natural frequencies, rigid parts).

    >>> LinearElastic(young=2e11, poisson=0.25, density=7800.0).lame()
    (80000000000.0, 80000000000.0)
    """

    young: float
    poisson: float = 0.0
    density: float = NOT_GIVEN

    def __post_init__(self) -> None:
        checks.check_fields(self, young=checks.positive)
        if not isinstance(self.density, AssumedDensity):
            checks.check_fields(self, density=checks.positive)
        checks.within("poisson", self.poisson, -1.0, 0.5, open_low=True, open_high=True)

    @property
    def linear(self) -> "LinearElastic":
        """The law itself, which is that of small strains."""
        return self

    @property
    def kinematics(self) -> tuple[Literal["small", "finite"], ...]:
        """Small strains; finite rotations as the St. Venant–Kirchhoff law."""
        return "small", "finite"

    @property
    def shear(self) -> float:
        """Shear modulus μ = E/(2(1 + ν)), Pa."""
        return self.young / (2 * (1 + self.poisson))

    def lame(self) -> tuple[float, float]:
        """Lamé constants (λ, μ), Pa: λ = Eν/((1 + ν)(1 − 2ν))."""
        nu = self.poisson
        return self.young * nu / ((1 + nu) * (1 - 2 * nu)), self.shear

    def lame_plane_stress(self) -> tuple[float, float]:
        """(λ*, μ) of plane stress, Pa: λ* = 2λμ/(λ + 2μ) = Eν/(1 − ν²), from σ_zz = 0."""
        return self.young * self.poisson / (1 - self.poisson**2), self.shear


@checked_call
@dataclass(frozen=True)
class Rayleigh:
    """Rayleigh damping D = a M + b K; mass a in 1/s, stiffness b in s.

    The damping ratio at the angular frequency ω is (a/ω + b ω)/2.

    >>> import arlequin as aq
    >>> steel = aq.LinearElastic(young=2e11, poisson=0.3, density=7800)  # Pa, -, kg/m³
    >>> mesh = aq.mesh.interval(0.0, 0.1, cells=2)
    >>> bar = aq.Bar("bar", mesh, steel, damping=aq.Rayleigh(mass=2.0))  # 1/s
    >>> result = aq.simulate(aq.System([bar], velocity=1.0), aq.Theta(0.5), duration=0.5, step=0.01)
    >>> round(float(result["part/bar"]["velocity"][-1, 0, 0]), 3)  # rigid motion: exp(−a t), m/s
    0.368
    """

    mass: float = 0.0
    stiffness: float = 0.0

    def __post_init__(self) -> None:
        checks.check_fields(self, mass=checks.non_negative, stiffness=checks.non_negative)
