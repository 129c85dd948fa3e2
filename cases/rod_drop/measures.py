"""What is measured of a falling rod: its fall, spells of contact, how forces vary, how deep cards may be entered."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray
from scipy.interpolate import CubicHermiteSpline

from arlequin.models.types import Array

SHORT = 2  # steps: openings up to this are those of contacts that flip with the period of the mesh
_AHEAD = 1e-7  # s, over which the rates of gaps are differenced


@dataclass(frozen=True)
class ContactSpells:
    """Of all cards, from the normal force of each on every step.

    A spell is a run of steps on which a card is pressed. cards: how many are; count: spells; openings:
    between two spells of a card; mean: their mean length,
    s; reopened: share of the openings that last up to two steps; variation: of the forces,
    over twice the cards' largest: ½ Σ|ΔF|/Σ max F, 1 where each rises and falls once; largest: force, N.
    """

    cards: int
    count: int
    openings: int
    mean: float
    reopened: float
    variation: float
    largest: float

    @classmethod
    def of(cls, result: xarray.DataTree, step: float) -> "ContactSpells":
        """step: Δt, s. Means of nothing are nan."""
        force = result["interface/cards"].dataset["point_force"].values
        closed = np.pad((force > 0.0).T.astype(np.int8), ((0, 0), (1, 1)))
        card, edge = np.nonzero(np.diff(closed, axis=1))
        length = np.diff(edge)
        spells = length[::2]  # edges of a card come in pairs: they begin and end a spell
        openings = length[1::2][card[1:-1:2] == card[2::2]]
        peaks = float(force.max(axis=0).sum())
        return cls(
            cards=np.unique(card).size,
            count=spells.size,
            openings=openings.size,
            mean=float(spells.mean() * step) if spells.size else np.nan,
            reopened=float(np.mean(openings <= SHORT)) if openings.size else np.nan,
            variation=float(0.5 * np.abs(np.diff(force, axis=0)).sum() / peaks) if peaks else np.nan,
            largest=float(force.max()),
        )


def depth_limit(result: xarray.DataTree, pairing: Any, step: float) -> Array:
    """How deep (frame, card) the velocity law at θ = 1/2 may let cards be entered, m, from the motion of the frames.

    A gap that closes at the rate V is found closed up to a step late, Δt V. The law then holds the velocity at the end
    of each step: the first goes half of V on, ½ Δt V. Later ones lose what the rate changes by from the kinematics of
    one step to those of the next at the same velocities, ½ Δt² ⟨−g̈⟩, where g̈ = d(n·v)/dt at constant v: the normal
    turns as the rod slides along its curve and the nose and whirls round the card (v_t²/c, which gives most):

        3/2 Δt V + ½ Δt ∫⟨−g̈⟩ dt     over the time for which the gap has been closed.

    V is the largest rate at which the gap of any card closes on any frame, g̈ a difference of rates over 0.1 µs.
    """
    rod, gap = result["part/rod"].dataset, result["interface/cards"].dataset["gap"].values
    place, speed = rod["position"].values + rod["displacement"].values, rod["velocity"].values
    time = result.dataset["frame_time"].values
    none = np.zeros((0, 1))
    rate, turned = np.zeros((2, *gap.shape))
    for f, (x, v) in enumerate(zip(place, speed, strict=True)):
        found = [pairing.at(where, none) for where in (x, x + _AHEAD * v)]
        now, then = ((kin.rows @ v.ravel())[:: kin.normals.shape[1]] for kin in found)
        both = found[0].paired & found[1].paired
        rate[f] = np.where(found[0].paired, now, 0.0)
        turned[f] = np.where(both, (then - now) / _AHEAD, 0.0)
    loss, span = np.maximum(-turned, 0.0), np.diff(time)[:, None]
    drift = np.zeros_like(gap)
    for f in range(1, len(time)):
        more = drift[f - 1] + span[f - 1] * np.maximum(loss[f - 1], loss[f])
        drift[f] = np.where(gap[f] <= 0.0, more, 0.0)
    return np.asarray(1.5 * step * max(float(-rate.min()), 0.0) + 0.5 * step * drift)


def fall(result: xarray.DataTree) -> tuple[Array, Array, Array]:
    """Times (f,), s, of the frames, how far the tip has fallen (f,), m, and how fast it falls, m/s."""
    rod = result["part/rod"].dataset
    tip = int(rod["position"].values[:, 2].argmin())
    depth, speed = (-rod[name].values[:, tip, 2] for name in ("displacement", "velocity"))
    return result.dataset["frame_time"].values, depth, speed


def drop_time(result: xarray.DataTree, drop: float) -> float:
    """When the tip has fallen so far, s, on Hermite's cubics between the frames; nan where it has not."""
    time, depth, speed = fall(result)
    roots = CubicHermiteSpline(time, depth, speed).solve(drop, extrapolate=False)
    return float(roots[0]) if roots.size else float("nan")
