"""Elastic stick: update of the tangential springs of friction over a step.

With the stretch e of the spring, a dashpot in parallel, the spring traction s = −K_T e, the traction t = s − C_T ė and
the slip rate w = v_t − ė, −t ∈ μ p ∂‖w‖. Over a step with the slip Δs, the mean traction t̄ = P_t/(hA) (h, A as in
`arlequin.multilevel.solvers.contact`) and the spring traction s_e at the end,

    t̄ = (1 − θ) s₀ + θ s_e − C_T Δe/Δt,    s_e − s₀ = −K_T Δe,    Δe = Δs − Δs_p,    −t̄ ∈ μ p̄ ∂‖Δs_p‖,

that is, s_e − s₀ = κ (t̄ − s₀), κ = K_T/(θ K_T + C_T/Δt). With Δs = slip_free + lever (W P)_t and Δs_p = lever w this
is the problem of friction with a compliance,

    w = slip_free/lever − c s₀ + (W P)_t + c P_t/(hA),    c = κ/(K_T lever),

so that ‖P_t‖ ≤ μ P_n as without springs (statics: Δt = ∞). During slip the force stays on the cone and e follows from
K_T e + C_T ė = −t: neither jumps, and no loss is negative. (With s = t + C_T v_t, the full slip rate on the dashpot, e
would be large and store more energy than the motion has.) For κ ≤ 1 ‖s_e‖ then lies between ‖s₀‖ and μ p̄; for κ > 1,
that is θ < 1 without a dashpot, s_e may leave the disk and is projected back radially:

    ‖s₁‖ ≤ R = μ p̄ + ⟨1 − κ⟩₊ ⟨‖s₀‖ − μ p̄⟩₊,    s₁ = 0 where contact opens: the energy of the spring is lost.

The loss

    −t̄·Δs_p A + C_T A ‖Δe‖²/Δt + A (‖s_e‖² − ‖s₁‖²)/(2 K_T)
        = −P_t·Δs/h − A (‖s₁‖² − ‖s₀‖²)/(2 K_T) − A (θ − ½) ‖s_e − s₀‖²/K_T

is never negative; the last term is the scheme's, 0 at θ = ½, where elastic stick conserves energy exactly but for the
dashpot.
"""

from dataclasses import dataclass

import numpy as np

from arlequin.models.types import Array
from arlequin.multilevel.solvers.law_tables import PointLaws


@dataclass(frozen=True)
class FrictionLoss:
    """Friction loss of a step at the points with elastic stick: each (…, k), J, 0 at the other points."""

    laws: PointLaws
    each: Array


@dataclass(frozen=True)
class ElasticStick:
    """Spring tractions (…, r) at the start and at the end of a step, Pa, 0 on all other rows; gain (k,): κ."""

    laws: PointLaws
    before: Array
    after: Array
    gain: Array

    def loss(self, impulse: Array, slip: Array, factor: float, theta: float) -> FrictionLoss:
        """The loss by the impulses (…, r) and slips Δs (…, r); h = `factor`."""
        laws = self.laws
        rows, points = laws.elastic_stick_rows, laws.elastic_stick_points
        area = laws.area[points]
        # row by row: the round-off of sums then does not depend on the number of rows
        pull = np.take(impulse, rows, axis=-1)
        before, after = np.take(self.before, rows, axis=-1), np.take(self.after, rows, axis=-1)
        change = self.gain[points] * (pull / (factor * area) - before)
        flexibility = area / laws.tangential_stiffness[points]
        lost = -pull * np.take(slip, rows, axis=-1) / factor
        lost -= 0.5 * flexibility * (after**2 - before**2)
        lost -= (theta - 0.5) * flexibility * change**2
        each = np.zeros((*lost.shape[:-1], laws.count))
        each[..., points[laws.elastic_stick_first]] = np.maximum(
            np.add.reduceat(lost, laws.elastic_stick_first, axis=-1), 0.0
        )
        return FrictionLoss(laws, each)


def gain(laws: PointLaws, theta: float, step: float) -> Array:
    """κ (k,) at points with elastic stick, 0 elsewhere; step: Δt, s, infinite in statics."""
    out, at = np.zeros(laws.count), laws.elastic_stick
    stiffness = laws.tangential_stiffness[at]
    out[at] = stiffness / (theta * stiffness + laws.tangential_damping[at] / step)
    return out


def free_rates(
    laws: PointLaws, rate: Array, slip: Array, spring_traction: Array, gain: Array, gap_per_velocity: float
) -> tuple[Array, Array]:
    """Compliances (k,) and rates (…, r) of the equivalent problem of friction with a compliance.

    rate, slip (…, r): without impulses; spring_traction (…, r): s₀.
    """
    compliance, out = tangential_compliance(laws, gain, gap_per_velocity), rate.copy()
    rows = laws.elastic_stick_rows
    spring_slip = spring_traction[..., rows] * compliance[laws.elastic_stick_points]
    out[..., rows] = slip[..., rows] / gap_per_velocity - spring_slip
    return compliance, out


def tangential_compliance(laws: PointLaws, gain: Array, gap_per_velocity: float) -> Array:
    """Compliance of friction (k,), m/(s Pa): c at points with elastic stick."""
    return np.where(
        laws.elastic_stick, gain / (gap_per_velocity * laws.tangential_stiffness), laws.tangential_compliance
    )


def end_spring_traction(laws: PointLaws, impulse: Array, spring_traction: Array, gain: Array, factor: float) -> Array:
    """Spring tractions s₁ (…, r) at the end of a step with the impulses (…, r)."""
    from arlequin.multilevel.solvers._spring_kernels import stretch_springs_each

    out, impulse = np.array(spring_traction, order="C"), np.ascontiguousarray(impulse)
    impulses, tractions = (array.reshape(-1, laws.row_count) for array in (impulse, out))
    stretch_springs_each(laws.first, laws.area, laws.friction, gain, impulses, factor, tractions, 0)
    return out
