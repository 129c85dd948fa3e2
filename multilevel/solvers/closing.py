"""Which rates of a step contact on the velocity closes, so that its impulses never give energy.

An impulse P on rows H that a step keeps does the work P·H(v₀ + v₁)/2 on the velocities and P·HΔu/Δt on the
displacements; both are the same in conserving schemes. Moreau's law closes the end, n·v₁ = 0. On a fixed normal
n·v₀ = 0 while contact lasts, and the work is none. Where the normal turns or the partner changes between two steps,
n·v₀ has either sign: a body that slides gains energy from it as often as it loses some. So, at each point, with the
rows of the middle of the step,

    contact that lasts (λ > 0 in the step before):   0 ≤ λ ⊥ n·Δu/Δt ≥ 0              persistency: no work
    onset, and fixed normals:                        0 ≤ λ ⊥ n·v₁ + ⟨n·v₀⟩₊ ≥ 0       work −λ ⟨−n·v₀⟩₊/2
    multipliers on the gap:                          0 ≤ λ ⊥ g₁ + ⟨−g₀⟩₊ ≥ 0           work −λ ⟨g₀⟩₊/Δt

The first keeps the gap: the linearised one to round-off, the true one to the curvature within the step. The second is
Moreau's law where the point approaches; one that leaves already is at most reflected. The third is Signorini's where
the gap, as the rows of the middle see it, was none at the start; a penetration that turning made is not pushed out at
once, which would take energy from nowhere, but kept. Friction closes the slip rate at the end. Where normals may turn
it closes the slip of the step at points that stuck in the step before, and at those whose friction would give energy
otherwise (at a reversal): Coulomb's law on the slip of the step always dissipates. On fixed normals the law stays at
the end, and what it gives at a reversal within a step, of second order in Δt, is `scheme`. So is what central
differences, whose bulk accelerates within the step, do at a point of a fixed normal that leaves.

What persistency leaves of n·v₁ alternates; `arlequin.solvers.velocity_projection` takes it out of the velocities.

Source: Laursen & Chawla, IJNME 40 (1997) 863–886 (persistency); Moreau (1988) as in
`arlequin.multilevel.laws.unilateral`.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from arlequin.models.types import Array
from arlequin.multilevel.solvers.law_tables import PointLaws

ACTS, STICKS = 1, 2  # bits of what lasts
LEAST = 1e-10  # impulse, relative to the largest, that is round-off


def lasting(normal: Array, multiplier: Array, status: NDArray[np.int8], stick: int) -> NDArray[np.int8]:
    """What of a step may last in the next one (k,), by its normal impulses and their multipliers (k,): ACTS where a
    multiplier acted, STICKS where a point stuck; impulses of round-off do neither."""
    least = LEAST * np.abs(normal).max(initial=0.0)
    return ((multiplier > least) * ACTS + ((status == stick) & (normal > least)) * STICKS).astype(np.int8)


@dataclass(frozen=True)
class Closing:
    """Of the rows (r,): what is added to the rates at the end (of multipliers on the gap: to the gap, m), the rates at
    the start, and what makes the rates at the end those of the mean of the step, all m/s; persistent (r,): rows whose
    multipliers and friction work on the displacements: those that close on the mean because contact lasts, and gaps."""

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
        lasts: NDArray[np.int8] | None = None,
        explicit: bool = False,
    ) -> Self:
        """gap (k,): at the start, m; turning (k,): points whose normals may turn; lasts (k,): see `lasting`; explicit:
        whether the bulk accelerates between both velocities."""
        first, level = laws.first[:-1], laws.level
        persistent = laws.gap_rows.copy()
        springs = laws.elastic_stick_rows
        if springs.size:
            start, mean = start.copy(), mean.copy()
            start[springs] = mean[springs] = 0.0
        mean = np.where(np.repeat(rotating, np.diff(laws.first)), mean, 0.0)
        shift = np.zeros_like(start)
        reflects = (level == 2) & rotating if explicit else level == 2
        shift[first] = np.where(reflects, np.maximum(start[first], 0.0), 0.0)
        if not rotating.any():
            return cls(shift, start, mean, persistent)
        if lasts is not None:
            persistent = np.repeat(rotating & ((lasts & STICKS) > 0), np.diff(laws.first))
            persistent[first] = rotating & ((lasts & ACTS) > 0) & (level == 2)
            persistent[springs] = False
            shift = np.where(persistent, mean, shift)
            persistent |= laws.gap_rows
        on_gap = rotating & (level == 1) & (laws.compliance == 0.0) & np.isfinite(gap)
        shift[first[on_gap]] = np.maximum(-gap[on_gap], 0.0)
        return cls(shift, start, mean, persistent)

    def table(self, rows: NDArray[np.int64]) -> Array:
        """As the kernel of the contact problem takes it, of some rows (3, r)."""
        return np.stack([self.shift[rows], self.start[rows], self.mean[rows]])
