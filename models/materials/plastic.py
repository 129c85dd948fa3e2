"""Metal plasticity: von Mises' criterion, isotropic hardening by strain, rate and heat, at small and large strains.

Large strains: F = F_e F_p and Hencky's elasticity. The memory of a point holds C_p⁻¹ = (F_pᵀ F_p)⁻¹, det 1;

    b_e = F C_p⁻¹ Fᵀ = Σ λ_i n_i ⊗ n_i,   ε_i = ½ ln λ_i − their mean,   τ_dev = 2μ Σ ε_i n_i ⊗ n_i,   ψ_iso = μ Σ ε_i²

(for U(J) see `hyperelastic`). The flow −½ L_v b_e = γ̇ √(3/2) (s/|s|) b_e, integrated by the exponential
map, leaves the n_i of the trial state (C_p⁻¹ of the step's start) and is a radial return of the ε_i:

    q = √(3/2) |s|,   q_trial − 3μ Δα = q = σ_y(α + Δα, Δα/Δt, T),   C_p⁻¹ = F⁻¹ b_e F⁻ᵀ.

Small strains: the same return of ε = dev sym ∇u − ε_p; the memory holds ε_p.

The yield stress, with α the equivalent plastic strain and T the temperature (K):

    σ_y = [σ_0 + H α + Q (1 − e^(−bα)) + B αⁿ] · [1 + C ln max(α̇/ε̇_0, 1)] · [1 − T*^m],
    T* = (T − T_ref)/(T_melt − T_ref) within 0 and 1,   T = T_0 + χ/(ρ c) ∫ σ_y dα   (adiabatic).

Sources: Simo, CMAME 99, 1992, 61–112; Simo & Hughes, Computational Inelasticity, ch. 9; de Souza Neto, Perić & Owen,
Computational Methods for Plasticity, ch. 14; Voce, J. Inst. Metals 74, 1948; Johnson & Cook, 7th Int. Symp.
Ballistics, 1983.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from arlequin.models import checks
from arlequin.models.errors import UserError
from arlequin.models.materials.elastic import LinearElastic
from arlequin.models.materials.hyperelastic import VolumeSplit
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array

FINITE_J2, SMALL_J2 = 1, 2  # numbers of these laws in `_point_kernels.respond`

# the order of the coefficients of a J2 material; names as in the formula above
SHEAR, BULK, YIELD, LINEAR, SATURATION, SATURATION_RATE, POWER, EXPONENT, RATE, REFERENCE_RATE = range(10)
START, PER_KELVIN, HEAT_EXPONENT, HEATING = range(10, 14)

# internal variables of a point: C_p⁻¹ − 1 or ε_p, α, temperature rise (K), dissipated work (J/m³)
MEMORY_NAMES = ("xx", "yy", "zz", "yz", "xz", "xy", "plastic_strain", "heating", "work")
MEMORY = len(MEMORY_NAMES)


@checked_call
@dataclass(frozen=True)
class LinearHardening:
    """H α: modulus H ≥ 0 in Pa."""

    modulus: float

    def __post_init__(self) -> None:
        checks.non_negative("modulus", self.modulus)

    def coefficients(self, density: float) -> dict[int, float]:
        """The coefficients of the material that this term sets."""
        return {LINEAR: self.modulus}


@checked_call
@dataclass(frozen=True)
class Voce:
    """Q (1 − e^(−bα)): saturation Q ≥ 0 in Pa, rate b > 0 (no unit)."""

    saturation: float
    rate: float

    def __post_init__(self) -> None:
        checks.non_negative("saturation", self.saturation)
        checks.positive("rate", self.rate)

    def coefficients(self, density: float) -> dict[int, float]:
        """The coefficients of the material that this term sets."""
        return {SATURATION: self.saturation, SATURATION_RATE: self.rate}


@checked_call
@dataclass(frozen=True)
class AdiabaticHeat:
    """Adiabatic heating by plastic work, and softening: T = T_0 + χ/(ρ c) ∫ σ_y dα, factor 1 − T*^m.

    melting T_melt and reference T_ref in K (no softening below T_ref), capacity c in J/(kg·K), exponent m > 0,
    fraction χ of the work that heats (Taylor and Quinney), initial T_0 in K (default: T_ref).

    >>> import arlequin as aq
    >>> heat = aq.AdiabaticHeat(melting=1356.0, capacity=383.0, exponent=1.09)  # K, J/(kg·K)
    >>> hardening = aq.JohnsonCook(modulus=292e6, exponent=0.31, rate=0.025, heat=heat)  # Pa
    >>> copper = aq.J2(124e9, 0.34, 8960.0, yield_stress=90e6, hardening=hardening)
    """

    melting: float
    capacity: float
    reference: float = 293.15
    exponent: float = 1.0
    fraction: float = 0.9
    initial: float | None = None

    def __post_init__(self) -> None:
        checks.positive("reference", self.reference)
        if checks.positive("melting", self.melting) <= self.reference:
            raise UserError.parameter("melting", self.melting, f"must be above the reference, {self.reference:g} K")
        checks.positive("capacity", self.capacity)
        checks.positive("exponent", self.exponent)
        checks.within("fraction", self.fraction, 0, 1)
        if self.initial is not None:
            checks.within("initial", self.initial, 0, self.melting, open_high=True)

    def coefficients(self, density: float) -> dict[int, float]:
        """The coefficients of the material that this term sets; T* is START + PER_KELVIN · (T − T_0)."""
        initial = self.reference if self.initial is None else self.initial
        per_kelvin = 1 / (self.melting - self.reference)
        return {
            START: (initial - self.reference) * per_kelvin,
            PER_KELVIN: per_kelvin,
            HEAT_EXPONENT: self.exponent,
            HEATING: self.fraction / (density * self.capacity),
        }


@checked_call
@dataclass(frozen=True)
class JohnsonCook:
    """B αⁿ, times 1 + C ln max(α̇/ε̇_0, 1), times 1 − T*^m with `heat`.

    modulus B ≥ 0 in Pa, exponent n > 0, rate C ≥ 0 (no unit), reference_rate ε̇_0 in 1/s. The factors act on the
    whole yield stress, other hardenings included.
    """

    modulus: float
    exponent: float
    rate: float = 0.0
    reference_rate: float = 1.0
    heat: AdiabaticHeat | None = None

    def __post_init__(self) -> None:
        checks.non_negative("modulus", self.modulus)
        checks.positive("exponent", self.exponent)
        checks.non_negative("rate", self.rate)
        checks.positive("reference_rate", self.reference_rate)
        if self.heat is not None and not isinstance(self.heat, AdiabaticHeat):
            raise UserError.parameter("heat", self.heat, "must be an AdiabaticHeat")

    def coefficients(self, density: float) -> dict[int, float]:
        """The coefficients of the material that this term sets."""
        coefficients = {
            POWER: self.modulus,
            EXPONENT: self.exponent,
            RATE: self.rate,
            REFERENCE_RATE: self.reference_rate,
        }
        return coefficients | (self.heat.coefficients(density) if self.heat else {})


Hardening = LinearHardening | Voce | JohnsonCook | AdiabaticHeat


@checked_call
@dataclass(frozen=True)
class J2(VolumeSplit):
    """An elastic-plastic metal with von Mises' yield criterion; equations: see the head of this file.

    young E in Pa, poisson ν in ]−1, 0.5[, density ρ of the reference in kg/m³, yield_stress σ_0 in Pa. hardening: one
    of `LinearHardening`, `Voce`, `JohnsonCook`, `AdiabaticHeat`, or several, whose terms are added (each at most once);
    none: perfect plasticity.

    >>> steel = J2(2e11, 0.3, 7800.0, yield_stress=4e8, hardening=(LinearHardening(1e9), Voce(2e8, 12.0)))
    >>> steel.coefficients[YIELD:POWER].tolist()
    [400000000.0, 1000000000.0, 200000000.0, 12.0]
    """

    young: float
    poisson: float
    density: float
    yield_stress: float
    hardening: Hardening | tuple[Hardening, ...] = ()

    def __post_init__(self) -> None:
        LinearElastic(self.young, self.poisson, self.density)  # checks the elastic constants
        checks.positive("yield_stress", self.yield_stress)
        for law in self.hardenings:
            if not isinstance(law, Hardening):
                raise UserError.parameter(
                    "hardening", law, "must be of LinearHardening, Voce, JohnsonCook, AdiabaticHeat"
                )
        _merged([law.coefficients(self.density) for law in self.hardenings])

    @property
    def hardenings(self) -> tuple[Hardening, ...]:
        """The hardenings, none to several."""
        return self.hardening if isinstance(self.hardening, tuple) else (self.hardening,)

    @property
    def kinematics(self) -> tuple[Literal["small", "finite"], ...]:
        """Small and finite strains."""
        return "small", "finite"

    @property
    def kind(self) -> int:
        """The number in `_point_kernels` of the law of large strains."""
        return FINITE_J2

    @property
    def small_kind(self) -> int:
        """The number in `_point_kernels` of the law of small strains."""
        return SMALL_J2

    @property
    def dissipates(self) -> bool:
        """True: plastic flow dissipates."""
        return True

    @property
    def heats(self) -> bool:
        """Whether plastic work raises the temperature."""
        return bool(self.coefficients[HEATING] > 0.0)

    @cached_property
    def coefficients(self) -> Array:
        """Coefficients (14,) for the kernels, ordered as the names at the head of this file; 0 for absent terms."""
        elastic = {SHEAR: self.shear, BULK: self.bulk, YIELD: self.yield_stress}
        merged = _merged([elastic, *(law.coefficients(self.density) for law in self.hardenings)])
        return np.array([merged.get(place, 0.0) for place in range(HEATING + 1)])

    @cached_property
    def unyielding(self) -> Array:
        """The coefficients (14,) of the same metal without plastic flow."""
        coefficients = self.coefficients.copy()
        coefficients[YIELD] = np.inf  # not a large number, which the factor 0 of molten metal would cancel
        return coefficients


def _merged(terms: list[Mapping[int, float]]) -> dict[int, float]:
    """The coefficients of all terms; UserError where a term of the formula is given twice."""
    merged: dict[int, float] = {}
    for term in terms:
        if merged.keys() & term.keys():
            raise UserError("hardening: a term of the yield stress is given twice; give each of them once")
        merged.update(term)
    return merged
