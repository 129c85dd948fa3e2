"""The rates that contact and friction close in a step, chosen so that their impulses never add energy.

An impulse P on rows H that are constant in a step does the work P·H(v₀ + v₁)/2 on the velocities and P·HΔu/Δt on the
displacements; the two are equal in conserving schemes. Moreau's law closes the rate at the end, n·v₁ = 0. On a fixed
normal n·v₀ = 0 while contact persists, and the work is zero. Where the normal rotates or the partner changes between
two steps, n·v₀ may have either sign: a sliding body would gain energy as often as lose it. At each point, with the
rows of the middle of the step, the laws are therefore

    persistent contact (λ > 0 in the last step):     0 ≤ λ ⊥ n·Δu/Δt ≥ 0              no work (persistency)
    onset, and fixed normals:                        0 ≤ λ ⊥ n·v₁ + ⟨n·v₀⟩₊ − e ⟨−n·v₀⟩₊ ≥ 0
                                                                                      work −(1 − e) λ ⟨−n·v₀⟩₊/2
    multipliers on the gap:                          0 ≤ λ ⊥ g₁ + ⟨−g₀⟩₊ ≥ 0           work −λ ⟨g₀⟩₊/Δt

The first preserves the gap: the linearised gap to round-off, the true one up to the curvature within the step. The
second is Moreau's law, with the restitution e, where the point approaches; a separating point is at most reflected. The
third is Signorini's where the gap at the start, linearised about the middle of the step, is zero; a penetration due to
rotation is not corrected, which would add energy.

Friction closes the slip rate at the end, v₁ in the plane of contact. Where normals may rotate it closes the mean slip
rate of the step at points that stuck in the step before. At a reversal within the step, from v₀ to −a v₀, its work
P_t·(v₀ + v₁)/2 would be positive. As it opposes the slip of the first part of the step and that of the last, it obeys

    −P_t ∈ ½ μ P_n (∂‖v₁‖ + ∂‖v₀ + v₁‖),        work ≤ ½ μ P_n (‖v₀ + v₁‖ − ‖v₀ + v₁‖) = 0,

as |d·(v₀ + v₁)| ≤ ‖v₀ + v₁‖ for each d ∈ ∂‖v₁‖. On a line this is Coulomb's law at the end while the point continues
to slip or comes to rest, P_t = 0 between v₁ = 0 and v₁ = −v₀, and the law of the mean slip rate beyond. The solvers
apply the first of these, the second where the work of the first is positive, and the third where v₁ then leaves the
range between 0 and −v₀ (`arlequin.multilevel.solvers._kernels.release_or_close_on_mean`): friction never adds energy.
Central differences, whose bulk accelerates within the step, close only the rate at the end on fixed normals: the work
at a reversal, or of a separating point, counts as `scheme`.

Persistency leaves an alternating n·v₁, which `arlequin.solvers.velocity_projection` removes from the velocities.

Source: Laursen & Chawla, IJNME 40 (1997) 863–886 (persistency); Moreau (1988) as in
`arlequin.multilevel.laws.unilateral`.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from arlequin.models.types import Array
from arlequin.multilevel.solvers.law_tables import PointLaws
from arlequin.multilevel.solvers.problem import ACTS, STICKS

LEAST = 1e-10  # impulse, relative to the largest, below which it is round-off


def persistence(normal: Array, multiplier: Array, status: NDArray[np.int8], stick: int) -> NDArray[np.int8]:
    """Persistence flags (k,) of a step by its normal impulses, multipliers and statuses (k,).

    ACTS where a multiplier acted, STICKS where a point stuck; impulses of round-off set no flag.
    """
    threshold = LEAST * np.abs(normal).max(initial=0.0)
    return ((multiplier > threshold) * ACTS + ((status == stick) & (normal > threshold)) * STICKS).astype(np.int8)


@dataclass(frozen=True)
class Closing:
    """Closing rates of the contact rows (r,) of a step, m/s.

    shift: added to the rates at the end (for multipliers on the gap: to the gap, m); start: rates at the start; mean:
    added to the rates at the end to obtain the mean rates of the step (on fixed normals twice these, v₀ + v₁, and for
    friction alone); persistent: rows on which multipliers and friction do work on the displacements: those of
    persistent contact, and gaps.
    """

    shift: Array
    start: Array
    mean: Array
    persistent: NDArray[np.bool_]

    @classmethod
    def of(
        cls,
        laws: PointLaws,
        start: Array,
        mean: Array,
        gap: Array,
        rotating: NDArray[np.bool_],
        persistence_flags: NDArray[np.int8] | None = None,
        explicit: bool = False,
    ) -> Self:
        """The closing rates from the rates at the start and the shifts to the mean (r,).

        gap (k,): at the start, m; rotating (k,): points whose normals may rotate; persistence_flags (k,): see
        `persistence`; explicit: whether the bulk accelerates between both velocities.
        """
        first, level = laws.first[:-1], laws.level
        persistent = laws.gap_rows.copy()
        springs = laws.elastic_stick_rows
        if springs.size:
            start, mean = start.copy(), mean.copy()
            start[springs] = mean[springs] = 0.0
        rotating_rows = np.repeat(rotating, np.diff(laws.first))
        friction_rows = np.full(start.size, not explicit)
        friction_rows[first] = False
        mean = np.where(rotating_rows, mean, np.where(friction_rows, start, 0.0))
        shift = np.zeros_like(start)
        reflects = (level == 2) & rotating if explicit else level == 2
        shift[first] = np.where(reflects, np.maximum(start[first], 0.0), 0.0)
        bounces = (laws.restitution > 0.0) & (start[first] < 0.0)
        shift[first[bounces]] += laws.restitution[bounces] * start[first[bounces]]
        if not rotating.any():
            return cls(shift, start, mean, persistent)
        if persistence_flags is not None:
            persistent = np.repeat(rotating & ((persistence_flags & STICKS) > 0), np.diff(laws.first))
            persistent[first] = rotating & ((persistence_flags & ACTS) > 0) & (level == 2)
            persistent[springs] = False
            shift = np.where(persistent, mean, shift)
            persistent |= laws.gap_rows
        on_gap = rotating & (level == 1) & (laws.compliance == 0.0) & np.isfinite(gap)
        shift[first[on_gap]] = np.maximum(-gap[on_gap], 0.0)
        return cls(shift, start, mean, persistent)

    def table(self, rows: NDArray[np.int64]) -> Array:
        """shift, start and mean (3, r) of the given rows."""
        return np.stack([self.shift[rows], self.start[rows], self.mean[rows]])
