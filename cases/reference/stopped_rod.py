"""Pinned rod with impacts and friction on a stop: exact modal solution phase by phase.

A Timoshenko rod of the length L along z is pinned at both ends, for deflections along x and y. Its n lowest
modes are w = sin kz, ψ = β cos kz, k = jπ/L, of the modal mass L/2 (m + ρI β²) and the lower root of

    (κGA k² − m ω²)(EI k² + κGA − ρI ω²) = (κGA k)²,        β = (κGA k² − m ω²)/(κGA k),

with m the mass per length, contents included, ρI that of the tube alone. Forces per length f_x sin Ωt and
f_y sin(Ωt + φ) act from rest. At z = a there is a stop, at the gap g = g₀ − u_x, with the contact force F ≥ 0 along −x
and friction |T| ≤ μF along y, against the slip v = u̇_y. The stop is

* a shock element: F = −K g − C ġ while that is positive and g < 0, or
** rigid: impacts without restitution, ġ⁺ = 0, then F from g̈ = 0 until F < 0. With the mobility Σφ² of the
  modes φ at the stop, an impact is p_n = −ġ⁻/Σφ² along −x and min(μ p_n, |v⁻|/Σφ²) against the slip: x and y have
  separate modes, and v decreases in proportion to p_n, or to 0, so that ∫ F |v| dt has a closed form, too.

F and T are linear in z = (q, q̇, 1, sin Ωt, cos Ωt) while the stop is open, slips in one sense, or sticks (T from v̇ =
0). So ż = A z and z(t) = exp(A (t − t₀)) z₀ in each phase, without a time step; ends of phases are located between
samples to round-off. Changes that reverse within a sample are missed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from arlequin.models import checks
from arlequin.models.beams.section import Section
from arlequin.models.errors import UserError
from arlequin.models.materials.elastic import LinearElastic
from arlequin.models.types import Array

State = Literal["open", "forward", "backward", "stuck"]  # state of the stop; forward, backward: senses of slip

SENSE: dict[State, int] = {"open": 0, "stuck": 0, "forward": 1, "backward": -1}
SAMPLES = 10  # samples per radian of the fastest motion


@dataclass(frozen=True)
class StoppedRod:
    """Rod with a stop under harmonic forces.

    length m; carried kg/m; modes in each direction, of the viscous ratio `damping`; the stop at `place` m, behind `gap`
    m, of the coefficient of `friction`, with `stiffness` N/m (infinite: rigid) and `dashpot` N s/m; `push` (f_x, f_y)
    N/m, `phase` φ rad and `frequency` Ω/2π Hz of the forces.
    """

    length: float
    material: LinearElastic
    section: Section
    carried: float
    modes: int
    damping: float
    place: float
    gap: float
    friction: float
    push: tuple[float, float]
    phase: float
    frequency: float
    stiffness: float = math.inf
    dashpot: float = 0.0

    def __post_init__(self) -> None:
        for name in ("length", "gap", "frequency"):
            checks.positive(name, getattr(self, name))
        for name in ("carried", "damping", "friction", "dashpot"):
            checks.non_negative(name, getattr(self, name))
        checks.positive_integer("modes", self.modes)
        checks.within("place", self.place, 0.0, self.length, open_low=True, open_high=True)
        if not self.stiffness > 0.0:
            raise UserError.parameter("stiffness", self.stiffness, "must be positive (math.inf: rigid)")
        if self.rigid and self.dashpot:
            raise UserError.parameter("dashpot", self.dashpot, "must be 0 on a rigid stop")

    @property
    def rigid(self) -> bool:
        """Whether the stop is rigid."""
        return self.stiffness == math.inf

    @cached_property
    def pulsations(self) -> Array:
        """ω (n,), rad/s."""
        return self._waves[0]

    @cached_property
    def shapes(self) -> Array:
        """Modes (n,) at the stop, of the modal mass 1."""
        return np.asarray(np.sin(self._numbers * self.place) / np.sqrt(self._waves[1]))

    @property
    def mobility(self) -> float:
        """Σ φ²: the velocity of the rod at the stop after a unit impulse there, 1/kg."""
        return float(self.shapes @ self.shapes)

    @property
    def _numbers(self) -> Array:
        return np.asarray(np.arange(1, self.modes + 1) * np.pi / self.length, dtype=float)

    @cached_property
    def _waves(self) -> tuple[Array, Array]:
        """ω and modal masses of sin kz."""
        e, g, s, k = self.material.young, self.material.shear, self.section, self._numbers
        linear, rotary = self.material.density * s.area + self.carried, self.material.density * s.inertia_z
        ga, ei = s.shear_y * g * s.area, e * s.inertia_z
        # m ρI ω⁴ − (m (EI k² + κGA) + ρI κGA k²) ω² + κGA EI k⁴ = 0, its lower root without cancellation
        a, b, c = linear * rotary, linear * (ei * k**2 + ga) + rotary * ga * k**2, ga * ei * k**4
        square = 2.0 * c / (b + np.sqrt(b**2 - 4.0 * a * c))
        tilt = (ga * k**2 - linear * square) / (ga * k)
        return np.sqrt(square), 0.5 * self.length * (linear + rotary * tilt**2)

    # rows of linear functions of z = (q_x, q_y, their rates, 1, sin, cos)

    @property
    def _size(self) -> int:
        return 4 * self.modes + 3

    def row(self, component: int) -> Array:
        """Row of z that gives u_x, u_y (0, 1) or their rates (2, 3) at the stop."""
        row = np.zeros(self._size)
        row[component * self.modes : (component + 1) * self.modes] = self.shapes
        return row

    @cached_property
    def gap_row(self) -> Array:
        """Row of z that gives the gap g."""
        row = -self.row(0)
        row[4 * self.modes] = self.gap
        return row

    @cached_property
    def slip_row(self) -> Array:
        """Row of z that gives the slip velocity v."""
        return self.row(3)

    @cached_property
    def force_row(self) -> Array:
        """Row of z that gives F in contact."""
        if self.rigid:
            return np.asarray(self.row(2) @ self.open_matrix) / self.mobility
        return -self.stiffness * self.gap_row + self.dashpot * self.row(2)

    @cached_property
    def stick_row(self) -> Array:
        """Row of z that gives T in stick."""
        return -np.asarray(self.row(3) @ self.open_matrix) / self.mobility

    @cached_property
    def open_matrix(self) -> Array:
        """A of the rod without contact."""
        n, w = self.modes, 2.0 * np.pi * self.frequency
        k, square = self._numbers, self.pulsations**2
        load_participation = (1.0 - np.cos(k * self.length)) / k / np.sqrt(self._waves[1])
        matrix = np.zeros((self._size, self._size))
        for axis, (push, phase) in enumerate(zip(self.push, (0.0, self.phase), strict=True)):
            displacements, rates = slice(axis * n, (axis + 1) * n), slice((2 + axis) * n, (3 + axis) * n)
            matrix[displacements, rates] = np.eye(n)
            matrix[rates, displacements] = -np.diag(square)
            matrix[rates, rates] = -np.diag(2.0 * self.damping * self.pulsations)
            matrix[rates, 4 * n + 1] = push * math.cos(phase) * load_participation
            matrix[rates, 4 * n + 2] = push * math.sin(phase) * load_participation
        matrix[4 * n + 1, 4 * n + 2], matrix[4 * n + 2, 4 * n + 1] = w, -w
        return matrix

    def matrix(self, state: State) -> Array:
        """A of a phase."""
        if state == "open":
            return self.open_matrix
        force = self.force_row
        friction_row = self.stick_row if state == "stuck" else -SENSE[state] * self.friction * force
        matrix = self.open_matrix.copy()
        n = self.modes
        matrix[2 * n : 3 * n] -= np.outer(self.shapes, force)
        matrix[3 * n : 4 * n] += np.outer(self.shapes, friction_row)
        return matrix

    @property
    def sample(self) -> float:
        """Sampling interval, s."""
        fastest = float(self.pulsations[-1])
        if not self.rigid:
            fastest += math.sqrt(self.stiffness * self.mobility) + self.dashpot * self.mobility
        return 1.0 / (SAMPLES * fastest)
