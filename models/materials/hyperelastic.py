"""Hyperelasticity of large strains: isochoric energy of the point and volumetric energy of the cell.

    ψ(F) = ψ_iso(b̄) + U(J),   b̄ = J^(−2/3) F Fᵀ,   U = ½ K (ln J)²   per reference volume, J/m³,

with τ = τ_dev + U′ J 1 the Kirchhoff stress J σ. As only U depends on the volume, a cell may evaluate it with its
mean of J (mean dilatation), which prevents locking where ν is near ½ or the flow isochoric.

Sources: Simo & Hughes, Computational Inelasticity, ch. 9; Simo, Taylor & Pister, CMAME 51, 1985 (mean dilatation).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from arlequin.models.materials.elastic import NOT_GIVEN, LinearElastic
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array

NEO_HOOKE = 0  # number of this law in `_point_kernels.respond`


def bulk_modulus(elastic: LinearElastic) -> float:
    """Bulk modulus K = E/(3(1 − 2ν)), Pa.

    >>> bulk_modulus(LinearElastic(young=3e9, poisson=0.25))
    2000000000.0
    """
    return elastic.young / (3 * (1 - 2 * elastic.poisson))


class VolumeSplit:
    """Elastic constants of laws ψ_iso + U(J), from young, poisson and density."""

    young: float
    poisson: float
    density: float

    @property
    def linear(self) -> LinearElastic:
        """The law of small strains."""
        return LinearElastic(self.young, self.poisson, self.density)

    @property
    def shear(self) -> float:
        """Shear modulus μ, Pa."""
        return self.linear.shear

    @property
    def bulk(self) -> float:
        """Bulk modulus K, Pa."""
        return bulk_modulus(self.linear)


@checked_call
@dataclass(frozen=True)
class NeoHooke(VolumeSplit):
    """The neo-Hookean solid: ψ_iso = ½ μ (tr b̄ − 3), τ_dev = μ dev b̄, U = ½ K (ln J)².

    young E in Pa and poisson ν in ]−1, 0.5[ of its small strains, density ρ of the reference in kg/m³.

    >>> NeoHooke(young=3e6, poisson=0.25, density=1000.0).coefficients.tolist()
    [1200000.0, 2000000.0]
    """

    young: float
    poisson: float = 0.0
    density: float = NOT_GIVEN

    def __post_init__(self) -> None:
        LinearElastic(self.young, self.poisson, self.density)  # checks the parameters

    @property
    def kinematics(self) -> tuple[Literal["small", "finite"], ...]:
        """Finite strains only."""
        return ("finite",)

    @property
    def dissipates(self) -> bool:
        """False: the law is elastic."""
        return False

    @property
    def heats(self) -> bool:
        """False: the law has no temperature."""
        return False

    @property
    def kind(self) -> int:
        """The law's number in `_point_kernels`."""
        return NEO_HOOKE

    @cached_property
    def coefficients(self) -> Array:
        """Coefficients (μ, K) for the kernels, Pa."""
        return np.array([self.shear, self.bulk])

    @property
    def unyielding(self) -> Array:
        """The same coefficients: the law does not yield."""
        return self.coefficients
