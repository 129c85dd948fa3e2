"""Two inertias joined by a shaft with backlash: event-exact motion of a piecewise linear system.

Angles φ₁ (motor), φ₂ (load), twist θ = φ₁ − φ₂:

    J₁ φ̈₁ = T sin(2πft) − τ,   J₂ φ̈₂ = τ − k₂ φ₂ − d₂ φ̇₂,   τ = k₁ θ + d₁ θ̇ + k_b (⟨θ − b⟩₊ − ⟨−θ − b⟩₊)

Between the events |θ| = b the system is linear: z(t + s) = e^(As) z(t) for z = (φ₁, φ₂, φ̇₁, φ̇₂, sin 2πft, cos 2πft, 1),
with one A for each of the three states of the play. The events are located on this closed form by Brent's method, to
1e-13 of a scan interval. With the dampers late by s seconds, D φ̇(t − s) ≈ D φ̇ − s D φ̈, the inertia is M − s D.

Source: M. Tiller, Modelica by Example (2014), section Backlash: parameters and equations without a torque.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import expm
from scipy.optimize import brentq

from arlequin.models.types import Array


@dataclass(frozen=True)
class BacklashMotion:
    """Motion at times (t,), s: angles (t, 2), rad, rates (t, 2), rad/s, torque of the shaft (t,), N·m; instants (e,) of
    the events at which the play is entered or left."""

    time: Array
    angle: Array
    rate: Array
    torque: Array
    events: Array


@dataclass(frozen=True)
class BacklashRig:
    """Inertias J₁, J₂, kg·m²; shaft k₁, N·m/rad, d₁, N·m·s/rad; load to the ground k₂, d₂; half the play b, rad, and
    the stiffness k_b beyond it; initial rate of the motor, rad/s; torque T, N·m, at the frequency f, Hz; delay of the
    dampers, s, to first order."""

    motor: float
    load: float
    shaft: float
    shaft_damping: float
    ground: float
    ground_damping: float
    play: float
    stop: float
    rate: float
    torque: float
    frequency: float
    delay: float = 0.0

    def matrix(self, side: int) -> Array:
        """A (7, 7): side −1, 0, 1 of the play."""
        omega, a = 2.0 * np.pi * self.frequency, np.zeros((7, 7))
        k, d = self.shaft + abs(side) * self.stop, self.shaft_damping
        shaft = np.array([k, -k, d, -d, 0.0, 0.0, -side * self.stop * self.play])  # τ
        a[0, 2] = a[1, 3] = 1.0
        moments = np.stack([-shaft, shaft])
        moments[0, 4] += self.torque
        moments[1, 1] -= self.ground
        moments[1, 3] -= self.ground_damping
        inertia = np.diag([self.motor, self.load]) + self.delay * moments[:, 2:4]
        a[2:4] = np.linalg.solve(inertia, moments)
        a[4, 5], a[5, 4] = omega, -omega
        return a

    def side(self, z: Array) -> int:
        """Side of the play: 0 inside, by the direction of motion on its ends."""
        twist, rate = z[0] - z[1], z[2] - z[3]
        for side in (-1, 1):
            beyond = side * twist - self.play
            if beyond > 1e-12 * self.play or (abs(beyond) <= 1e-12 * self.play and side * rate > 0.0):
                return side
        return 0

    def motion(self, times: Array) -> BacklashMotion:
        """The motion at times (t,), growing from 0; between two of them each side is scanned for events."""
        z = np.array([0.0, 0.0, self.rate, 0.0, 0.0, 1.0, 1.0])
        matrices = {side: self.matrix(side) for side in (-1, 0, 1)}
        steps: dict[tuple[int, float], Array] = {}
        out, events = [z], []
        for start, end in zip(times[:-1].tolist(), times[1:].tolist(), strict=True):
            t = start
            while t < end:
                side = self.side(z)
                a = matrices[side]
                width = round(end - t, 12) if t == start else end - t  # whole intervals have one length
                if (side, width) not in steps:
                    steps[side, width] = expm(a * width)
                after = steps[side, width] @ z
                ends = (-self.play, self.play) if side == 0 else (side * self.play,)
                crossed = [edge for edge in ends if self._outside(side, edge, after)]
                if not crossed:
                    z, t = after, end
                    continue
                edge, z_now = crossed[0], z

                def past(s: float, a: Array = a, z_now: Array = z_now, edge: float = edge) -> float:
                    there = expm(a * s) @ z_now
                    return float(there[0] - there[1] - edge)

                low = 1e-9 * (end - t) if abs(past(0.0)) <= 1e-12 * self.play else 0.0
                s = brentq(past, low, end - t, xtol=1e-15, rtol=1e-14)
                z = expm(a * s) @ z
                z[0] += edge - (z[0] - z[1])  # on the end of the play to the last digit
                t += s
                events.append(t)
            out.append(z)
        states = np.array(out)
        twist, rate = states[:, 0] - states[:, 1], states[:, 2] - states[:, 3]
        stop = np.maximum(twist - self.play, 0.0) - np.maximum(-twist - self.play, 0.0)
        torque = self.shaft * twist + self.shaft_damping * rate + self.stop * stop
        return BacklashMotion(times, states[:, :2], states[:, 2:4], torque, np.array(events))

    def _outside(self, side: int, edge: float, z: Array) -> bool:
        """Whether a state has left its side of the play across an end."""
        beyond = (z[0] - z[1] - edge) * np.sign(edge)
        return bool(beyond > 1e-12 * self.play if side == 0 else beyond < -1e-12 * self.play)
