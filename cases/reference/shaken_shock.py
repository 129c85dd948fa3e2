"""Mass on a shock element on a shaken support: limit of the penalised model of SDND104 for small time steps.

In the frame of the support the normal force is mg throughout and friction an undamped spring K_T that slips at f = μmg,
T = −K_T (x − a). Each phase has a closed form: stick, with ω_T² = K_T/m and τ = t − t₀,

    x = a − a₀/(ω_T² − ω²) sin ωt + A cos ω_T τ + B sin ω_T τ      until |T| > f,

and in a slip of sense s = −sign T

    ẋ = v₀ − s f τ/m + (a₀/ω) (cos ωt − cos ωt₀)      until ẋ = 0, from where T = −s f.

Changes of state are located to round-off between samples, peaks of |T| included. The work rate mg|ẋ| counts the
elastic slides of the stuck mass; friction dissipates f times the length of the slips. The ringing is undamped.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import brentq, minimize_scalar

from arlequin.cases.reference.shaken_slider import ShakenSlider

RINGING = 400  # samples of a cycle of the stuck mass
FORCED = 20_000  # samples of a period of the support, in a slip
CYCLES = 200  # cycles per array of samples


@dataclass(frozen=True)
class SlidingPhase:
    """A phase from `start` to `end`, s: slip of `sense` ±1 or stick (0), with initial position and velocity, m, m/s."""

    start: float
    end: float
    sense: int
    position: float
    speed: float
    anchor: float


@dataclass(frozen=True)
class ShakenElement:
    """Slider on a tangential spring K_T, N/m; ω_T must be above ω."""

    slider: ShakenSlider
    tangential: float
    end: float

    @property
    def ringing(self) -> float:
        """ω_T, rad/s."""
        return math.sqrt(self.tangential / self.slider.mass)

    @property
    def threshold(self) -> float:
        """f, N."""
        return self.slider.friction * self.slider.normal_force

    def position(self, phase: SlidingPhase, t: Any) -> Any:
        """x in a phase, m."""
        s, tau = self.slider, t - phase.start
        w, initial_phase = s.pulsation, s.pulsation * phase.start
        if phase.sense:
            drift = phase.speed - s.acceleration / w * math.cos(initial_phase)
            forced = s.acceleration / w**2 * (np.sin(w * t) - math.sin(initial_phase))
            return phase.position + drift * tau - 0.5 * phase.sense * self.threshold / s.mass * tau**2 + forced
        gain = -s.acceleration / (self.ringing**2 - w**2)
        cosine = phase.position - phase.anchor - gain * math.sin(initial_phase)
        sine = (phase.speed - gain * w * math.cos(initial_phase)) / self.ringing
        free = cosine * np.cos(self.ringing * tau) + sine * np.sin(self.ringing * tau)
        return phase.anchor + gain * np.sin(w * t) + free

    def speed(self, phase: SlidingPhase, t: Any) -> Any:
        """ẋ in a slip, m/s."""
        s = self.slider
        forced = np.cos(s.pulsation * t) - math.cos(s.pulsation * phase.start)
        friction_change = phase.sense * self.threshold / s.mass * (t - phase.start)
        return phase.speed - friction_change + s.acceleration / s.pulsation * forced

    def excess(self, phase: SlidingPhase, t: Any) -> Any:
        """|T| − f of the stuck mass, N."""
        return self.tangential * np.abs(self.position(phase, t) - phase.anchor) - self.threshold

    @cached_property
    def phases(self) -> tuple[SlidingPhase, ...]:
        """Phases from the unloaded initial state."""
        phases = [self._stuck(0.0, 0.0, 0.0)]
        while phases[-1].end < self.end:
            previous = phases[-1]
            t, x = previous.end, float(self.position(previous, previous.end))
            if previous.sense:
                phases.append(self._stuck(t, x, x - previous.sense * self.threshold / self.tangential))
            else:
                phases.append(self._slip(t, x, previous))
        return tuple(phases)

    def _stuck(self, start: float, position: float, anchor: float) -> SlidingPhase:
        phase, cycle = SlidingPhase(start, self.end, 0, position, 0.0, anchor), 2.0 * math.pi / self.ringing
        low = start
        while low < self.end:
            t = low + cycle / RINGING * np.arange(CYCLES * RINGING + 2)
            excess = self.excess(phase, t)
            # the first sample may be the end of a slip, with |T| = f decreasing
            peaks = 1 + np.flatnonzero((excess[1:-1] >= excess[:-2]) & (excess[1:-1] >= excess[2:]))
            for k in peaks[excess[peaks] > -1e-3 * self.threshold]:
                top = minimize_scalar(
                    lambda s: -float(self.excess(phase, s)), bounds=(t[k - 1], t[k + 1]), method="bounded",
                    options={"xatol": 1e-9 * cycle},
                )  # fmt: skip
                if -top.fun > 0.0:
                    before = t[: k + 1][excess[: k + 1] < 0.0]
                    root = brentq(lambda s: float(self.excess(phase, s)), before[-1], top.x, xtol=1e-16, rtol=1e-15)
                    return SlidingPhase(start, min(float(root), self.end), 0, position, 0.0, anchor)
            low = t[-2]
        return phase

    def _slip(self, start: float, position: float, stuck: SlidingPhase) -> SlidingPhase:
        sense = 1 if position > stuck.anchor else -1
        s, tau = self.slider, start - stuck.start
        w, angle = s.pulsation, self.ringing * tau
        gain = -s.acceleration / (self.ringing**2 - w**2)
        cosine = stuck.position - stuck.anchor - gain * math.sin(w * stuck.start)
        sine = -gain * w * math.cos(w * stuck.start) / self.ringing
        free_velocity = self.ringing * (sine * math.cos(angle) - cosine * math.sin(angle))
        phase = SlidingPhase(
            start, self.end, sense, position, gain * w * math.cos(w * start) + free_velocity, stuck.anchor
        )
        fine, low = 1.0 / (s.frequency * FORCED), start
        while low < self.end:
            t = low + fine * np.arange(1, FORCED + 1)
            reversed_samples = np.flatnonzero(sense * self.speed(phase, t) <= 0.0)
            if reversed_samples.size:
                k = reversed_samples[0]
                root = brentq(lambda x: float(self.speed(phase, x)), t[k] - fine, t[k], xtol=1e-16, rtol=1e-15)
                return SlidingPhase(start, min(float(root), self.end), sense, position, phase.speed, stuck.anchor)
            low = t[-1]
        return phase

    def travel(self, start: float, end: float) -> tuple[float, float, float]:
        """Path lengths of the stuck and of the slipping mass over [start, end], m, and time in stick, s."""
        stuck = slipping = stick_time = 0.0
        for phase in self.phases:
            low, high = max(phase.start, start), min(phase.end, end)
            if low >= high:
                continue
            if phase.sense:
                slipping += float(abs(self.position(phase, high) - self.position(phase, low)))
            else:
                count = 16 + math.ceil(RINGING * self.ringing * (high - low) / (2.0 * math.pi))
                stuck += float(np.abs(np.diff(self.position(phase, np.linspace(low, high, count)))).sum())
                stick_time += high - low
        return stuck, slipping, stick_time
