"""Tension of an elastoplastic bar in closed form: uniform (Considère), or slices in uniaxial stress.

A slice of the section A of the reference, with Hencky's elasticity and the plastic strain α, carries

    F = A τ e^(−ε),   τ = σ_y(α) = σ_0 + H α + Q (1 − e^(−bα)),   ε = α + τ/E,

with its maximum at dτ/dε = τ. Slices of one bar carry the same F, which is limited by the thinnest slice.
Source: Considère, Annales des Ponts et Chaussées 9, 1885.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import brentq

from arlequin.models.types import Array


@dataclass(frozen=True)
class Tension:
    """Tension of a metal: E, σ_0, H and Q in Pa, b dimensionless.

    >>> metal = Tension(206.9e9, 450e6, 129.24e6, 265e6, 16.93)
    >>> round(metal.limit, 4), round(1e-6 * float(metal.load(metal.limit)), 2)
    (0.1218, 615.03)
    """

    young: float
    yield_stress: float
    modulus: float
    saturation: float
    rate: float

    def stress(self, flow: Array | float) -> Array:
        """σ_y(α), Pa."""
        return np.asarray(self.yield_stress + self.modulus * flow - self.saturation * np.expm1(-self.rate * flow))

    def load(self, flow: Array | float) -> Array:
        """F/A = τ e^(−ε) at the plastic strain α, Pa."""
        tau = self.stress(flow)
        return np.asarray(tau * np.exp(-flow - tau / self.young))

    def strain(self, flow: Array | float) -> Array:
        """ε = α + τ/E, logarithmic."""
        return np.asarray(flow + self.stress(flow) / self.young)

    @property
    def limit(self) -> float:
        """α at the largest load, dτ/dε = τ; 0 if the load decreases from the start."""

        def excess(flow: float) -> float:
            slope = self.modulus + self.saturation * self.rate * np.exp(-self.rate * flow)
            return float(1.0 - self.stress(flow) * (1.0 / slope + 1.0 / self.young))

        return brentq(excess, 0.0, 10.0, xtol=1e-14) if excess(0.0) > 0.0 else 0.0

    def stretched(self, force: float, areas: Array) -> Array:
        """ε (s,) of slices of the sections A (s,), m², under a force in N, limited to that at their largest load."""
        loads, strains = self._rising
        return np.interp(force / areas, loads, strains)

    @cached_property
    def _rising(self) -> tuple[Array, Array]:
        """F/A, Pa, and ε (k,) up to the largest load: elastic, τ = E ε, then plastic, denser near the largest load."""
        elastic = np.linspace(0.0, self.yield_stress / self.young, 200)[:-1]
        flow = self.limit * (1.0 - np.linspace(1.0, 0.0, 20_000) ** 2)
        loads = np.concatenate([self.young * elastic * np.exp(-elastic), self.load(flow)])
        return loads, np.concatenate([elastic, self.strain(flow)])
