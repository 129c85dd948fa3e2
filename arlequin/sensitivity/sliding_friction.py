"""Coefficients of friction that depend on the slip rate and the pressure of a step, with derivatives.

The coefficient of a step is μ(v̄, p̄) of its mean slip rate and mean pressure (`arlequin.multilevel.solvers.sliding`),

    v̄ = ‖Δu_t‖/Δt (0 in statics),    p̄ = P_n/(hA).

Kernels of laws take real numbers: dμ is μ_v dv̄ + μ_p dp̄ + μ_c dc, with c the constants of the law and derivatives by
differences of order 4 over a small part of v̄, p̄ and c, in which the laws are smooth but for the corners of tables.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arlequin.models.types import Array
from arlequin.multilevel.laws.friction import CompiledFriction, FrictionLaw
from arlequin.multilevel.solvers.law_tables import PointLaws
from arlequin.sensitivity.differences import difference

_SHORT = 1e-3  # of a slip rate, a pressure or the constants of a law: step of its differences


def law_constants(laws: PointLaws) -> Array:
    """Constants (k, m) of the friction laws whose coefficient depends on the state; (k, 0) without such laws."""
    if not laws.state_dependent:
        return np.zeros((laws.count, 0))
    *_, constants = laws.friction_kernels
    return constants


def is_derived(laws: PointLaws) -> bool:
    """Whether the coefficients of friction are constant, or those of the slip rate and the pressure of the step by a
    compiled kernel."""
    return all(law is None or not law.state_dependent or _is_of_the_step(law) for law in laws.friction_laws)


def _is_of_the_step(law: FrictionLaw) -> bool:
    return isinstance(law, CompiledFriction) and law.of_the_step and not law.creeps


@dataclass(frozen=True, eq=False)
class SlidingFriction:
    """The coefficients of k points in b steps.

    constant (k,): of the points whose coefficient is constant; constants (k, m): see `law_constants`, with changes as
    imaginary parts; rate, m/s, and pressure, Pa, (b, k), real or complex; stuck (b, k): points that stick, whose
    coefficient is the threshold of stick.
    """

    laws: PointLaws
    constant: Any
    constants: Any
    rate: Any
    pressure: Any
    stuck: NDArray[np.bool_]

    def values(self) -> Any:
        """μ (b, k), complex where any of them is."""
        rate, pressure, change = np.real(self.rate), np.real(self.pressure), np.imag(self.constants)
        out: Any = self._coefficients(rate, pressure)
        if np.imag(self.rate).any() or np.imag(self.pressure).any():
            by_rate, by_pressure = self.slopes()
            out = out + 1j * (by_rate * np.imag(self.rate) + by_pressure * np.imag(self.pressure))
        if change.any():
            size = np.max(np.abs(change) / np.maximum(np.abs(np.real(self.constants)), 1e-300))
            unit = change / size
            out = out + 1j * size * difference(lambda by: self._coefficients(rate, pressure, by * unit), _SHORT)
        return np.where(self.laws.slides, out, self.constant)

    def slopes(self) -> tuple[Array, Array]:
        """μ_v, s/m, and μ_p, 1/Pa, (b, k)."""
        rate, pressure = np.real(self.rate), np.real(self.pressure)
        by_rate = difference(lambda by: self._coefficients(rate * (1.0 + by), pressure), _SHORT)
        by_pressure = difference(lambda by: self._coefficients(rate, pressure * (1.0 + by)), _SHORT)
        return _divided(by_rate, rate), _divided(by_pressure, pressure)

    def _coefficients(self, rate: Array, pressure: Array, change: Array | None = None) -> Array:
        """μ (b, k), 0 where it is constant, with a change (k, m) of the constants."""
        from arlequin.sensitivity._law_kernels import friction_coefficients

        kernels, kind, _ = self.laws.friction_kernels
        constants = np.real(self.constants) if change is None else np.real(self.constants) + change
        out = np.zeros(rate.shape)
        arrays: Any = map(np.ascontiguousarray, (constants, rate, pressure, self.stuck))
        arguments: Any = kernels, kind, *arrays, out
        friction_coefficients(*arguments)
        return out


def _divided(change: Array, size: Array) -> Array:
    return np.divide(change, size, out=np.zeros_like(change), where=size > 0.0)
