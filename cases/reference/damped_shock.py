"""Mass on a spring and a shock element with tangential damping: exact solution phase by phase.

The normal force is constant, so is the threshold f. With the stretch e of the element (K, C), m kg, k N/m, in the frame
of a support with the acceleration a₀ sin ωt,

    m ẍ = −k x + T − m a₀ sin ωt,      −T = K e + C ė,

    stuck  ė = ẋ  while |K e + C ẋ| ≤ f;      slip  −T = s f,  C ė = s f − K e,  s = sign (K e + C ẋ).

e and ẋ are continuous, and so is K e + C ẋ: the state changes where this passes ±f. In each phase
z = (x, ẋ, e, 1, sin ωt, cos ωt) obeys ż = A z, z(t) = exp(A (t − t₀)) z₀. Changes of state are located
to round-off between samples; excursions beyond f shorter than a sample are missed. Dissipation: f |ẋ − ė| + C ė².
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import expm
from scipy.optimize import brentq

from arlequin.models import checks
from arlequin.models.errors import FAILURE, UserError
from arlequin.models.types import Array

SAMPLES = 50  # samples of 1/ω_T, and of m/C
BLOCK = 512  # samples per array


@dataclass(frozen=True)
class DampedElement:
    """Shock element and mass: m, kg; k and K, N/m; C, N s/m; f, N; a₀, m/s²; ω, rad/s."""

    mass: float
    spring: float
    tangential: float
    damping: float
    threshold: float
    acceleration: float = 0.0
    pulsation: float = 0.0

    def __post_init__(self) -> None:
        for name in ("mass", "tangential", "damping", "threshold"):
            checks.positive(name, getattr(self, name))
        for name in ("spring", "acceleration", "pulsation"):
            checks.non_negative(name, getattr(self, name))

    @property
    def sample(self) -> float:
        """Sampling interval, s."""
        return min(math.sqrt(self.mass / (self.spring + self.tangential)), self.mass / self.damping) / SAMPLES

    def matrix(self, sense: int) -> Array:
        """A (6, 6) of a slip of sense ±1, or stuck (0)."""
        m, w = self.mass, self.pulsation
        matrix = np.zeros((6, 6))
        matrix[0, 1] = 1.0
        matrix[1, 0], matrix[1, 4] = -self.spring / m, -self.acceleration
        matrix[4, 5], matrix[5, 4] = w, -w
        if sense:
            matrix[1, 3] = -sense * self.threshold / m
            matrix[2, 2], matrix[2, 3] = -self.tangential / self.damping, sense * self.threshold / self.damping
        else:
            matrix[1, 1], matrix[1, 2] = -self.damping / m, -self.tangential / m
            matrix[2, 1] = 1.0
        return matrix

    def trial(self, z: Array) -> Array:
        """K e + C ẋ (…), N, of states (…, 6)."""
        return np.asarray(self.tangential * z[..., 2] + self.damping * z[..., 1])

    def motion(self, position: float, end: float) -> DampedMotion:
        """Motion from rest at x = `place`, m, with an unloaded element at t = 0."""
        time, sense = 0.0, 0
        z = np.array([position, 0.0, 0.0, 1.0, 0.0, 1.0])
        pieces = []
        while time < end:
            piece = SlidingPhase(time, sense, z)
            pieces.append(piece)
            if len(pieces) > 10_000:
                raise UserError("the element chatters: more than 10,000 changes of state", FAILURE)
            change = self._change(piece, end)
            if change is None:
                break
            z = expm(self.matrix(sense) * (change - time)) @ z
            sense = 0 if sense else int(np.sign(self.trial(z)))
            time = change
        return DampedMotion(self, tuple(pieces), end)

    def _change(self, piece: SlidingPhase, end: float) -> float | None:
        """End of the phase, s; None if after `end`."""
        a = self.matrix(piece.sense)

        def over(z: Array) -> Array:
            """Event function, positive after the end of the phase."""
            force = self.trial(z)
            return self.threshold - piece.sense * force if piece.sense else np.abs(force) - self.threshold

        for time, z in self.samples(piece, end, self.sample):
            after_end = np.flatnonzero(over(z[1:]) > 0.0)
            if after_end.size:
                k = after_end[0]
                if over(z[k]) >= 0.0:
                    return float(time[k])
                root = brentq(lambda s, z=z[k]: float(over(expm(a * s) @ z)), 0.0, time[k + 1] - time[k], xtol=1e-16)
                return float(time[k] + root)
        return None

    def samples(self, piece: SlidingPhase, end: float, step: float) -> Iterator[tuple[Array, Array]]:
        """Instants (n,) from the start of a phase to `end` and states (n, 6) by blocks, which share their end
        points."""
        step_matrix = expm(self.matrix(piece.sense) * step)
        powers = np.empty((BLOCK + 1, 6, 6))
        powers[0] = np.eye(6)
        for k in range(BLOCK):
            powers[k + 1] = step_matrix @ powers[k]
        time, z = piece.start, piece.state
        while time < end:
            count = min(BLOCK, max(math.ceil((end - time) / step), 1))
            states = powers[: count + 1] @ z
            yield np.asarray(time + step * np.arange(count + 1), dtype=float), states
            time, z = time + count * step, states[-1]


@dataclass(frozen=True, eq=False)
class SlidingPhase:
    """A phase of the motion from `start`, s: slip of `sense` ±1 or stick (0), with its initial state (6,)."""

    start: float
    sense: int
    state: Array


@dataclass(frozen=True, eq=False)
class DampedMotion:
    """A motion as a sequence of phases."""

    element: DampedElement
    pieces: tuple[SlidingPhase, ...]
    end: float

    @cached_property
    def starts(self) -> Array:
        """Start times of the phases (n,), s."""
        return np.array([piece.start for piece in self.pieces])

    @property
    def turns(self) -> Array:
        """Instants (n,), s, at which a slip ends."""
        return np.array([piece.start for piece in self.pieces[1:] if piece.sense == 0])

    def state(self, t: ArrayLike) -> Array:
        """x, ẋ, e at t (k,): (3, k)."""
        times = np.atleast_1d(np.asarray(t, dtype=float))
        at = np.maximum(np.searchsorted(self.starts, times, side="right") - 1, 0)
        states = np.empty((3, times.size))
        for k in np.unique(at):
            piece, inside = self.pieces[k], at == k
            spans = (times[inside] - piece.start)[:, None, None]
            states[:, inside] = (expm(self.element.matrix(piece.sense) * spans) @ piece.state)[:, :3].T
        return states

    def travel(self, start: float, end: float) -> tuple[float, float, float]:
        """Path length, m, dissipation of the element, J, and duration of stick, s, in [start, end], s."""
        element, path, dissipated, stick_time = self.element, 0.0, 0.0, 0.0
        for piece, phase_end in zip(self.pieces, [*self.starts[1:], self.end], strict=True):
            low, high = max(piece.start, start), min(phase_end, end)
            if low >= high:
                continue
            count = math.ceil((high - low) / element.sample)
            initial = expm(element.matrix(piece.sense) * (low - piece.start)) @ piece.state
            blocks = element.samples(
                SlidingPhase(low, piece.sense, initial), high - 1e-9 * (high - low), (high - low) / count
            )
            states = np.concatenate([z if n == 0 else z[1:] for n, (_, z) in enumerate(blocks)])
            path += float(np.abs(np.diff(states[:, 0])).sum())
            stored = 0.5 * element.tangential * states[[0, -1], 2] ** 2
            if piece.sense:
                dissipated += piece.sense * element.threshold * float(states[-1, 0] - states[0, 0])
                dissipated -= float(stored[1] - stored[0])
            else:
                # Hermite quadrature with known derivative
                v, a = states[:, 1], (states @ element.matrix(0).T)[:, 1]
                step = (high - low) / count
                dissipated += element.damping * step * float((v[:-1] ** 2 + v[1:] ** 2).sum()) / 2.0
                dissipated += element.damping * step**2 / 6.0 * float(v[0] * a[0] - v[-1] * a[-1])
                stick_time += high - low
        return path, dissipated, stick_time
