"""Measures of a falling rod: fall, contact phases, variation of forces, limit of the penetration into cards."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray
from scipy.interpolate import CubicHermiteSpline

from arlequin.models.types import Array

SHORT = 2  # steps, longest opening of contacts that open and close with the period of the mesh
_AHEAD = 1e-7  # s, increment for differences of the rates of gaps


@dataclass(frozen=True)
class ContactPhases:
    """Contact phases of all cards, from the normal force of each card on every step.

    A phase is a sequence of steps in contact with a card. cards: number of cards in contact; count: of phases;
    openings: number between two phases of a card; mean: mean duration of phases, s; reopened: fraction of openings of
    up to two steps; variation: total variation of the forces over twice their maxima, ½ Σ|ΔF|/Σ max F, 1 if each force
    rises and falls once; largest: force, N.
    """

    cards: int
    count: int
    openings: int
    mean: float
    reopened: float
    variation: float
    largest: float

    @classmethod
    def of(cls, result: xarray.DataTree, step: float) -> "ContactPhases":
        """Phases of a run; step: Δt, s. Means without phases are nan."""
        force = result["interface/cards"].dataset["point_force"].values
        closed = np.pad((force > 0.0).T.astype(np.int8), ((0, 0), (1, 1)))
        card, edge = np.nonzero(np.diff(closed, axis=1))
        length = np.diff(edge)
        phases = length[::2]  # edges of a card are in pairs: start and end of a phase
        openings = length[1::2][card[1:-1:2] == card[2::2]]
        peaks = float(force.max(axis=0).sum())
        return cls(
            cards=np.unique(card).size,
            count=phases.size,
            openings=openings.size,
            mean=float(phases.mean() * step) if phases.size else np.nan,
            reopened=float(np.mean(openings <= SHORT)) if openings.size else np.nan,
            variation=float(0.5 * np.abs(np.diff(force, axis=0)).sum() / peaks) if peaks else np.nan,
            largest=float(force.max()),
        )


def depth_limit(result: xarray.DataTree, pairing: Any, step: float) -> Array:
    """Limit of the penetration (frame, card), m, with the velocity law at θ = 1/2, from the motion of the frames.

    A gap that closes at the rate V is detected up to one step late: Δt V. The law then stops the velocity at the end of
    each step: the first step adds ½ Δt V. Later steps add the change of the rate from the kinematics of one step to
    those of the next at the same velocities, ½ Δt² ⟨−g̈⟩, g̈ = d(n·v)/dt at constant v: the normal rotates as the rod
    slides along its curve and the nose and whirls round the card (v_t²/c, the largest contribution):

        3/2 Δt V + ½ Δt ∫⟨−g̈⟩ dt     over the time since the gap has closed.

    V is the largest closing rate of all gaps and frames, g̈ a difference of rates over 0.1 µs.
    """
    rod, gap = result["part/rod"].dataset, result["interface/cards"].dataset["gap"].values
    positions, speed = rod["position"].values + rod["displacement"].values, rod["velocity"].values
    time = result.dataset["frame_time"].values
    none = np.zeros((0, 1))
    rate, gap_acceleration = np.zeros((2, *gap.shape))
    for f, (x, v) in enumerate(zip(positions, speed, strict=True)):
        kinematics = [pairing.at(configuration, none) for configuration in (x, x + _AHEAD * v)]
        gap_rate, later_rate = ((kin.rows @ v.ravel())[:: kin.normals.shape[1]] for kin in kinematics)
        paired = kinematics[0].paired & kinematics[1].paired
        rate[f] = np.where(kinematics[0].paired, gap_rate, 0.0)
        gap_acceleration[f] = np.where(paired, (later_rate - gap_rate) / _AHEAD, 0.0)
    loss, span = np.maximum(-gap_acceleration, 0.0), np.diff(time)[:, None]
    drift = np.zeros_like(gap)
    for f in range(1, len(time)):
        increased = drift[f - 1] + span[f - 1] * np.maximum(loss[f - 1], loss[f])
        drift[f] = np.where(gap[f] <= 0.0, increased, 0.0)
    return np.asarray(1.5 * step * max(float(-rate.min()), 0.0) + 0.5 * step * drift)


def fall(result: xarray.DataTree) -> tuple[Array, Array, Array]:
    """Times (f,), s, of the frames, fall (f,), m, and velocity (f,), m/s, of the tip."""
    rod = result["part/rod"].dataset
    tip = int(rod["position"].values[:, 2].argmin())
    depth, speed = (-rod[name].values[:, tip, 2] for name in ("displacement", "velocity"))
    return result.dataset["frame_time"].values, depth, speed


def drop_time(result: xarray.DataTree, drop: float) -> float:
    """Time at which the tip has fallen by `drop`, s, by cubic Hermite interpolation; nan if it is not reached."""
    time, depth, speed = fall(result)
    roots = CubicHermiteSpline(time, depth, speed).solve(drop, extrapolate=False)
    return float(roots[0]) if roots.size else float("nan")
