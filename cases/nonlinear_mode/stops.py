"""Regularised stops on both sides of a mass, as in Code_Aster's nonlinear modes."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from arlequin.models.checks import check_fields, positive
from arlequin.models.errors import UserError
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array


@checked_call
@dataclass(frozen=True)
class RegularisedStops:
    """Two elastic stops at ±e about a mass, as one law on the gap g = e − u to the upper one.

        F (1 − (x − F/α)²) = η x,    x = u/e,    α = K e

    stiffness K, N/m, clearance e, m, regularisation η, N (on the area of 1 m² of a mass): for η → 0 F = 0 between the
    stops and K (|u| − e) beyond. With z = x − F/α, |z| < √c, c = 1 − η/α, F = η z/(c − z²), and the stored energy is
    e [F²/(2α) − (η/2) ln(1 − z²/c)]. The pressure p = F is negative where the lower stop pulls the gap shut.

    Source: Code_Aster R5.07.01.
    """

    stiffness: float
    clearance: float = 1.0
    regularisation: float = 0.005

    def __post_init__(self) -> None:
        check_fields(self, stiffness=positive, clearance=positive, regularisation=positive)
        if self.regularisation > 0.5 * self.stiffness * self.clearance:
            raise UserError.parameter("regularisation", self.regularisation, "must be far below stiffness × clearance")

    @property
    def damped(self) -> bool:
        return False

    def coefficients(self) -> Array:
        return np.array([self.stiffness * self.clearance, self.clearance, self.regularisation])

    def kernel(self) -> Any:
        from arlequin.cases.nonlinear_mode._stop_kernels import stops

        return stops

    def pressure(self, gap: Array) -> Array:
        return self._values(gap)[0]

    def damping_pressure(self, gap: Array, rate: Array) -> Array:
        return np.zeros_like(gap)

    def energy(self, gap: Array) -> Array:
        return self.clearance * self._values(gap)[2]

    def stiffness_bound(self) -> float:
        return self.stiffness

    def _values(self, gap: Array) -> tuple[Array, Array, Array]:
        """F, N, its derivative and the energy over e at the gaps."""
        from arlequin.cases.nonlinear_mode._stop_kernels import force

        alpha, clearance, eta = self.coefficients()
        x = 1.0 - np.asarray(gap, dtype=float) / clearance
        force_slope_energy = np.array([force(x_node, alpha, eta) for x_node in x.ravel()]).reshape(*x.shape, 3)
        return force_slope_energy[..., 0], force_slope_energy[..., 1], force_slope_energy[..., 2]
