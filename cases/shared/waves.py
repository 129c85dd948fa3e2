"""Wave packets in a bar, and the energy of an interval of a bar."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray

from arlequin.models.types import Array

AMPLITUDE = 1.0  # amplitude of the packets, m


@dataclass(frozen=True)
class WavePacket:
    """u(x, t) = a exp(−((x − x₀ − s c t)/σ)²/2) sin(k (x − x₀ − s c t)), k = 2π/wavelength, travelling towards s = ±1.

    centre x₀, width σ and wavelength in m; speed c in m/s.
    """

    centre: float
    width: float
    wavelength: float
    direction: float
    speed: float

    def displacement(self, x: Array) -> Array:
        """u(x, 0), m."""
        s = x - self.centre
        return AMPLITUDE * np.exp(-0.5 * (s / self.width) ** 2) * np.sin(2.0 * np.pi / self.wavelength * s)

    def velocity(self, x: Array) -> Array:
        """∂u/∂t(x, 0) = −s c u'(x), m/s."""
        s, k = x - self.centre, 2.0 * np.pi / self.wavelength
        slope = k * np.cos(k * s) - s / self.width**2 * np.sin(k * s)
        return -AMPLITUDE * self.direction * self.speed * np.exp(-0.5 * (s / self.width) ** 2) * slope


def stretch_energy(
    result: xarray.DataTree, part: str, low: float, high: float, young: float, density: float, frame: int = -1
) -> float:
    """Unweighted energy ½∫ E u'² + ρ v² dx, J/m², of the linear elements of a bar in [low, high]; exact."""
    group = result[f"part/{part}"].dataset
    x = group["position"].values[:, 0]
    order = np.argsort(x)
    x = x[order]
    u, v = (group[name].isel(frame=frame).values[:, 0][order] for name in ("displacement", "velocity"))
    tolerance = 1e-12 * (x[-1] - x[0])
    inside = (x[:-1] >= low - tolerance) & (x[1:] <= high + tolerance)
    h = np.diff(x)
    strain = 0.5 * young * np.diff(u) ** 2 / h
    kinetic = density * h / 6.0 * (v[1:] ** 2 + v[1:] * v[:-1] + v[:-1] ** 2)
    return float((strain + kinetic)[inside].sum())


def total_energy(result: xarray.DataTree) -> Any:
    """Kinetic plus strain energy over time, J."""
    energy = result.dataset["energy"]
    return energy.sel(kind="kinetic") + energy.sel(kind="strain")


def drift(result: xarray.DataTree) -> float:
    """Largest relative change of kinetic plus strain energy."""
    energy = total_energy(result).values
    return float(np.abs(energy / energy[0] - 1.0).max())
