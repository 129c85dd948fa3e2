"""Mass on a shock element on a shaken support: limit of the penalised model of SDND104 for small time steps.

In the frame of the support the normal force is mg throughout and friction an undamped spring K_T that slips at f = μmg,
T = −K_T (x − a), in pieces that are known in closed form: stuck, with ω_T² = K_T/m and τ = t − t₀,

    x = a − a₀/(ω_T² − ω²) sin ωt + A cos ω_T τ + B sin ω_T τ      until |T| > f,

and in a slip of sense s = −sign T

    ẋ = v₀ − s f τ/m + (a₀/ω) (cos ωt − cos ωt₀)      until ẋ = 0, from where T = −s f.

Changes of state are located to round-off between samples, peaks of |T| included. The work rate mg|ẋ| counts the
elastic slides of the stuck mass; friction takes f times the length of the slips. Nothing damps the ringing.
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
CYCLES = 200  # that are sampled at once


@dataclass(frozen=True)
class SlidingSpell:
    """A phase from `start` to `end`, s: slip of `sense` ±1 or stick (0), with initial position and velocity, m, m/s."""

    start: float
    end: float
    sense: int
    place: float
    speed: float
    anchor: float


@dataclass(frozen=True)
class ShakenElement:
    """The slider and K_T, N/m; ω_T must be above ω."""

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

    def position(self, spell: SlidingSpell, t: Any) -> Any:
        """x in a spell, m."""
        s, tau = self.slider, t - spell.start
        w, first = s.pulsation, s.pulsation * spell.start
        if spell.sense:
            drift = spell.speed - s.acceleration / w * math.cos(first)
            forced = s.acceleration / w**2 * (np.sin(w * t) - math.sin(first))
            return spell.place + drift * tau - 0.5 * spell.sense * self.threshold / s.mass * tau**2 + forced
        gain = -s.acceleration / (self.ringing**2 - w**2)
        across = spell.place - spell.anchor - gain * math.sin(first)
        along = (spell.speed - gain * w * math.cos(first)) / self.ringing
        ring = across * np.cos(self.ringing * tau) + along * np.sin(self.ringing * tau)
        return spell.anchor + gain * np.sin(w * t) + ring

    def speed(self, spell: SlidingSpell, t: Any) -> Any:
        """ẋ in a slip, m/s."""
        s = self.slider
        forced = np.cos(s.pulsation * t) - math.cos(s.pulsation * spell.start)
        slowed = spell.sense * self.threshold / s.mass * (t - spell.start)
        return spell.speed - slowed + s.acceleration / s.pulsation * forced

    def excess(self, spell: SlidingSpell, t: Any) -> Any:
        """|T| − f of the stuck mass, N."""
        return self.tangential * np.abs(self.position(spell, t) - spell.anchor) - self.threshold

    @cached_property
    def spells(self) -> tuple[SlidingSpell, ...]:
        """Phases from the unloaded initial state."""
        found = [self._stuck(0.0, 0.0, 0.0)]
        while found[-1].end < self.end:
            last = found[-1]
            t, x = last.end, float(self.position(last, last.end))
            if last.sense:
                found.append(self._stuck(t, x, x - last.sense * self.threshold / self.tangential))
            else:
                found.append(self._slip(t, x, last))
        return tuple(found)

    def _stuck(self, start: float, place: float, anchor: float) -> SlidingSpell:
        spell, cycle = SlidingSpell(start, self.end, 0, place, 0.0, anchor), 2.0 * math.pi / self.ringing
        low = start
        while low < self.end:
            t = low + cycle / RINGING * np.arange(CYCLES * RINGING + 2)
            over = self.excess(spell, t)
            # the first sample is at the end of a slip, where |T| = f falls
            peaks = 1 + np.flatnonzero((over[1:-1] >= over[:-2]) & (over[1:-1] >= over[2:]))
            for k in peaks[over[peaks] > -1e-3 * self.threshold]:
                top = minimize_scalar(
                    lambda s: -float(self.excess(spell, s)), bounds=(t[k - 1], t[k + 1]), method="bounded",
                    options={"xatol": 1e-9 * cycle},
                )  # fmt: skip
                if -top.fun > 0.0:
                    before = t[: k + 1][over[: k + 1] < 0.0]
                    root = brentq(lambda s: float(self.excess(spell, s)), before[-1], top.x, xtol=1e-16, rtol=1e-15)
                    return SlidingSpell(start, min(float(root), self.end), 0, place, 0.0, anchor)
            low = t[-2]
        return spell

    def _slip(self, start: float, place: float, stuck: SlidingSpell) -> SlidingSpell:
        sense = 1 if place > stuck.anchor else -1
        s, tau = self.slider, start - stuck.start
        w, turn = s.pulsation, self.ringing * tau
        gain = -s.acceleration / (self.ringing**2 - w**2)
        across = stuck.place - stuck.anchor - gain * math.sin(w * stuck.start)
        along = -gain * w * math.cos(w * stuck.start) / self.ringing
        ring = self.ringing * (along * math.cos(turn) - across * math.sin(turn))
        spell = SlidingSpell(start, self.end, sense, place, gain * w * math.cos(w * start) + ring, stuck.anchor)
        fine, low = 1.0 / (s.frequency * FORCED), start
        while low < self.end:
            t = low + fine * np.arange(1, FORCED + 1)
            back = np.flatnonzero(sense * self.speed(spell, t) <= 0.0)
            if back.size:
                k = back[0]
                root = brentq(lambda x: float(self.speed(spell, x)), t[k] - fine, t[k], xtol=1e-16, rtol=1e-15)
                return SlidingSpell(start, min(float(root), self.end), sense, place, spell.speed, stuck.anchor)
            low = t[-1]
        return spell

    def travel(self, start: float, end: float) -> tuple[float, float, float]:
        """Over [start, end], s: ways of the stuck and of the slipping mass, m, and the time stuck, s."""
        stuck = slipping = held = 0.0
        for spell in self.spells:
            low, high = max(spell.start, start), min(spell.end, end)
            if low >= high:
                continue
            if spell.sense:
                slipping += float(abs(self.position(spell, high) - self.position(spell, low)))
            else:
                count = 16 + math.ceil(RINGING * self.ringing * (high - low) / (2.0 * math.pi))
                stuck += float(np.abs(np.diff(self.position(spell, np.linspace(low, high, count)))).sum())
                held += high - low
        return stuck, slipping, held
