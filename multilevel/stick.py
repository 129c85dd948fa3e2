"""Elastic stick in a step: the tangential springs of friction, from one traction to the next.

With the traction t, −ṫ/K_T = v_t − w and −t ∈ μ p ∂‖w‖ (w: the rate of what slips for good), over a step with the slip
Δs, the mean traction t̄ = P_t/(hA) (h, A as in `multilevel.solver`) and t_e the end of an elastic step of that mean,

    t̄ = (1 − θ) t₀ + θ t_e,    t_e − t₀ = −K_T (Δs − Δs_p),    −t̄ ∈ μ p̄ ∂‖Δs_p‖.

With Δs = slip_free + lever (W P)_t and Δs_p = lever w this is the problem of friction with a compliance,

    w = slip_free/lever − c t₀ + (W P)_t + c P_t/(hA),    c = 1/(θ K_T lever),

so that ‖P_t‖ ≤ μ P_n as without springs. The traction kept is t_e where it lies in the disk of radius μ p̄, else the
point of its edge in that direction, t₁: ‖t₁‖ ≤ ‖t_e‖, and the loss

    −t̄·Δs_p A + A (‖t_e‖² − ‖t₁‖²)/(2 K_T) = −P_t·Δs/h − A (‖t₁‖² − ‖t₀‖²)/(2 K_T) − A (θ − ½) ‖t_e − t₀‖²/K_T

is never negative; the last term is the scheme's, 0 at θ = ½, where elastic stick conserves energy exactly. Where
contact opens t₁ = 0: what the spring held is lost.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from multilevel.law import Array
from multilevel.point_laws import PointLaws


@dataclass(frozen=True)
class Held:
    """Tractions (…, r) of the springs at the start and at the end of a step, Pa, 0 on all other rows."""

    laws: PointLaws
    before: Array
    after: Array

    def friction(self, impulse: Array, slip: Array, factor: float, theta: float) -> Array:
        """Losses (…, e) at the points with springs, J, by impulses (…, r) and slips Δs (…, r); h = `factor`."""
        laws = self.laws
        rows, points = laws.sprung_rows, laws.sprung_points
        area = laws.area[points]
        pull = impulse[..., rows]
        change = pull / (factor * area) - self.before[..., rows]
        soft = area / laws.tangential_stiffness[points]
        each = -pull * slip[..., rows] / factor
        each -= 0.5 * soft * (self.after[..., rows] ** 2 - self.before[..., rows] ** 2)
        each -= (theta - 0.5) / theta**2 * soft * change**2
        return np.maximum(np.add.reduceat(each, laws.sprung_first, axis=-1), 0.0)


def free_rates(
    laws: PointLaws, rate: Array, slip: Array, held: Array, lever: float, theta: float
) -> tuple[Array, Array]:
    """Compliances (k,) and rates (r,) with which friction is solved; rate, slip (r,) without impulses, held (r,) t₀."""
    soft, out = softness(laws, lever, theta), rate.copy()
    rows = laws.sprung_rows
    out[rows] = slip[rows] / lever - held[rows] * soft[laws.sprung_points]
    return soft, out


def softness(laws: PointLaws, lever: float, theta: float) -> Array:
    """Compliance of friction (k,), m/(s Pa): c where it has springs."""
    with np.errstate(divide="ignore"):
        own = 1.0 / (theta * lever * laws.tangential_stiffness)
    return np.where(laws.sprung, own, laws.tangential_compliance)


def end_tractions(laws: PointLaws, impulse: Array, held: Array, factor: float, theta: float) -> Array:
    """t₁ (r,) by the impulses (r,)."""
    rows, points = laws.sprung_rows, laws.sprung_points
    scale = factor * laws.area[points]
    reached = held[rows] + (impulse[rows] / scale - held[rows]) / theta
    radius = laws.friction[points] * impulse[laws.first[points]] / scale
    size = np.sqrt(np.add.reduceat(reached**2, laws.sprung_first))
    each: Any = size[np.searchsorted(laws.sprung_first, np.arange(rows.size), side="right") - 1]
    out = np.zeros_like(held)
    out[rows] = reached * np.minimum(1.0, np.divide(radius, each, out=np.ones_like(each), where=each > 0.0))
    return out
