"""Families of periodic motions, z = (x, p): the equations Φ(x, p) − x = 0 and their derivatives."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg

from arlequin.models.types import Array
from arlequin.orbits.period_map import Orbit, PeriodMap

_DIFFERENCE = 1e-6  # of the parameter, relative


@dataclass(frozen=True)
class Setting:
    """Period map, period, s, and amplitude of the loads for a value of the parameter."""

    map: PeriodMap
    period: float
    amplitude: float = 1.0


@dataclass(frozen=True, eq=False)
class Family:
    """Family of motions over a parameter p with `name`, `unit` and `long_name`, between `low` and `high`.

    setting: p → `Setting`. mode: mass-normalised shape φ (n,) of autonomous motions, whose period p is unknown: the
    phase condition φᵀM q̇ = 0 is added, and the ends of the range are energies, J.
    """

    name: str
    unit: str
    long_name: str
    low: float
    high: float
    setting: Callable[[float], Setting]
    mode: Array | None = None

    @property
    def autonomous(self) -> bool:
        return self.mode is not None

    @cached_property
    def phase(self) -> Array:
        """Coefficients (s,) of the phase condition."""
        assert self.mode is not None
        period_map = self.setting(1.0).map
        row = np.zeros(period_map.state_size)
        row[period_map.size : 2 * period_map.size] = period_map.mass @ self.mode
        return row

    def run(self, z: Array) -> Orbit:
        """The motion over the period."""
        setting = self.setting(float(z[-1]))
        return setting.map.run(z[:-1], setting.period, setting.amplitude)

    def residual(self, z: Array, orbit: Orbit) -> Array:
        """Φ(x, p) − x (s,), and the phase condition."""
        residual = orbit.end - z[:-1]
        return np.append(residual, self.phase @ z[:-1]) if self.autonomous else residual

    def jacobian(self, z: Array, orbit: Orbit, by_parameter: Array) -> tuple[Array, Array]:
        """∂Φ/∂x (s, s), and the derivatives of the residual by z (s, s + 1), with the phase (s + 1, s + 1)."""
        setting = self.setting(float(z[-1]))
        monodromy = setting.map.jacobian(orbit, setting.amplitude)
        derivatives = np.column_stack([monodromy - np.eye(len(monodromy)), by_parameter])
        return monodromy, np.vstack([derivatives, np.append(self.phase, 0.0)]) if self.autonomous else derivatives

    def by_parameter(self, z: Array, orbit: Orbit) -> Array:
        """∂Φ/∂p (s,) by a one-sided difference."""
        width = _DIFFERENCE * max(abs(z[-1]), 1e-3 * abs(self.high - self.low))
        shifted = z.copy()
        shifted[-1] = z[-1] + width
        return np.asarray((self.run(shifted).end - orbit.end) / width)

    def energy(self, z: Array, orbit: Orbit) -> float:
        """Kinetic and stored energy at the start of the period, J."""
        return self.setting(float(z[-1])).map.energy(orbit)


def linear_mode(period_map: PeriodMap, number: int) -> tuple[float, Array]:
    """ω, rad/s, and mass-normalised shape (n,) of a natural mode of the system without contact."""
    squares, shapes = scipy.linalg.eigh(period_map.stiffness, period_map.mass)
    shape = shapes[:, number - 1]
    return float(np.sqrt(max(squares[number - 1], 0.0))), shape * np.sign(shape[np.abs(shape).argmax()])
