"""Measures of a rocking block: mean rotation, impacts, percussions."""

from dataclasses import dataclass

import numpy as np
import xarray
from numpy.typing import NDArray

from arlequin.models.types import Array


@dataclass(frozen=True)
class Landing:
    """One impact: its step, time (s), kinetic energy before (J), (I_x, I_y) (N·s), next lift (m).

    With located events, time is that of the event, energy that of the step before plus the work of the weight down to
    θ = 0. Otherwise time is the middle of the step, energy that of the step before. The percussion is the impulse of
    the step minus that of the flights, with forces (H, F) before and (−H, F) after. The lift is nan if the run ends
    first.
    """

    index: int
    time: float
    kinetic_energy: float
    percussion: tuple[float, float]
    next_lift: float


@dataclass(frozen=True)
class BlockMotion:
    """θ (rad), θ̇ (rad/s), kinetic energy (J), normal force (N) on the base without its left or right end (t,).

    force (t, 2): (H, F) of the table, N, mean over the step; fastest: the largest vertical speed of any node, m/s.
    fall (t,): the weight times the height of the centre above its lowest, J; event (t,): located instants, s, or nan.
    """

    time: Array
    angle: Array
    rate: Array
    kinetic: Array
    force: Array
    off_left: Array
    off_right: Array
    fastest: float
    fall: Array
    event: Array

    @classmethod
    def of(cls, result: xarray.DataTree, start: float, gravity: float, lowest: float) -> "BlockMotion":
        """Motion from a run with all frames; start: θ of the reference positions X; gravity, m/s²; lowest: height of
        the centre of the upright block, m.

        The mean rotation about the mean position, a = X − X̄ and d = x − x̄:
        θ = start + atan2(Σ a × d, Σ a · d), θ̇ = Σ d × v / Σ |d|².
        """
        part, table = result["part/block"].dataset, result["interface/table"].dataset
        reference_arms = _centred(part["position"].values)
        positions = _centred(part["position"].values + part["displacement"].values)
        rotation = np.arctan2(_cross(reference_arms, positions), (reference_arms * positions).sum(axis=(-2, -1)))
        rate = _cross(positions, part["velocity"].values) / (positions**2).sum(axis=(-2, -1))
        # mean of the nodes: the block is symmetric
        height = (part["position"].values + part["displacement"].values)[..., 1].mean(axis=-1)
        contact_positions = table["point_position"].values[:, 0]
        pressing = np.nan_to_num(table["pressure"].values) * table["area"].values
        return cls(
            result.dataset["time"].values,
            start + rotation,
            rate,
            result.dataset["energy"].sel(kind="kinetic").values,
            np.nan_to_num(table["force"].values),
            pressing[:, contact_positions > contact_positions.min()].sum(axis=1),
            pressing[:, contact_positions < contact_positions.max()].sum(axis=1),
            float(np.abs(part["velocity"].values[..., 1]).max()),
            float(part["mass"]) * gravity * (height - lowest),
            result.dataset.get("event_time", np.nan * result.dataset["time"]).values,
        )

    @property
    def step(self) -> float:
        """Δt, s."""
        return float(self.time[1] - self.time[0])

    def landings(self, count: int, width: float) -> list[Landing]:
        """First `count` impacts: contact of the base (width in m) beyond the corner about which the block rotates."""
        impacts: list[Landing] = []
        at, sense = 1, 1
        while len(impacts) < count:
            contact_steps = np.flatnonzero((self.off_left if sense > 0 else self.off_right)[at:] > 0.0)
            if not contact_steps.size:
                break
            impact_step, sense = at + int(contact_steps[0]), -sense
            rising = np.flatnonzero(sense * self.rate[impact_step:] > 0.0)
            falling = np.flatnonzero(sense * self.rate[impact_step + int(rising[0]) :] < 0.0) if rising.size else rising
            lift = float("nan")
            if falling.size:
                at = impact_step + int(rising[0]) + int(falling[0])
                lift = width * float(np.sin(sense * self.angle[impact_step : at + 1]).max())
            impacts.append(self._landing(impact_step, lift))
            if not falling.size:
                break
        return impacts

    def _landing(self, impact_step: int, lift: float) -> Landing:
        start, end = float(self.time[impact_step - 1]), float(self.time[impact_step])
        if np.isfinite(self.event[impact_step]):
            time = float(self.event[impact_step])
            share = (time - start) / self.step
            after = self.force[min(impact_step + 1, len(self.force) - 1)]
            flight = share * self.force[impact_step - 1] + (1.0 - share) * after
            energy = float(self.kinetic[impact_step - 1] + self.fall[impact_step - 1])
        else:
            time, energy = 0.5 * (start + end), float(self.kinetic[impact_step - 1])
            flight = np.array([0.0, self.force[impact_step - 1, 1]])
        percussion = self.step * (self.force[impact_step] - flight)
        return Landing(impact_step, time, energy, (float(percussion[0]), float(percussion[1])), lift)

    def in_flight(self, landings: list[Landing], gravity: float) -> NDArray[np.bool_]:
        """Steps (t − 1,) of flight up to the last impact.

        A corner of speed v is stopped up to ½ v Δt above the table: the following fall, of √(v Δt/g), and one step
        before and after it belong to the impact.
        """
        chosen = np.zeros(len(self.time) - 1, dtype=bool)
        chosen[: landings[-1].index if landings else None] = True
        fall = 2 + int(np.ceil(np.sqrt(self.fastest / (gravity * self.step))))
        for landing in landings:
            chosen[landing.index - 2 : landing.index + fall] = False
        return chosen


def _centred(x: Array) -> Array:
    return np.asarray(x - x.mean(axis=-2, keepdims=True))


def _cross(a: Array, b: Array) -> Array:
    return np.asarray((a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]).sum(axis=-1))
