"""Rigid block rocking about its lower corners without sliding, with inelastic impacts (SDNV105).

Block 2b × 2l, M = 4ρble, R² = b² + l², J_G = MR²/3, about a corner J = 4MR²/3; tan θ₀ = l/b. It rotates by θ about its
left corner O (θ > 0, the right corner A lifts) or about A (θ < 0). With s = sign θ, the lean φ = |θ|, ψ = θ₀ + φ, the
support's acceleration (ü, v̈) and p² = MgR/J = 3g/(4R), G is at R (s cos ψ, sin ψ) from the corner and

    φ̈ = p² (s (ü/g) sin ψ − (1 + v̈/g) cos ψ),
    H = M (ü − sR (φ̈ sin ψ + φ̇² cos ψ)),      F = M (g + v̈ + R (φ̈ cos ψ − φ̇² sin ψ)),

the force (H, F) of the support on the block. Without (ü, v̈), Jφ̇²/2 + MgR sin ψ is constant. As φ → 0 at rest,
F = Mg (1 − 3b²/(4R²)), |H| = 3Mgbl/(4R²). To first order φ = b/l − (b/l − φ₀) cosh(t √(3gl/(4R²))).

Impact at φ = 0 with the angular velocity ω about O: v_G = ω (−l, b). Corner O lifts, corner A is fixed, and the angular
momentum about A is conserved, M (R²/3 + l² − b²) ω = J ω₊, so that with the velocity of G after, ω₊ (−l, −b),

    ω₊ = r ω,   r = 1 − 3b²/(2R²),      I_y = Mb (1 + r) |ω|,   |I_x| = Ml (1 − r) |ω| (slows the block down).

O lifts if r > 0, that is l > b/√2: a flatter block stops at its first impact. A does not slide if
|I_x|/I_y = 3bl/(4R² − 3b²) ≤ μ, which is also |H|/F at rest as φ → 0; in flight, |H| ≤ μF is monitored.

A block at rest on its base lifts when |ü| l > (g + v̈) b. Impacts accumulate: below a lean of 1e-18 it is at rest.
A shaken block is refused once its centre of gravity passes the corner, although it might return.
Source: V5.03.105, after F. Voldoire, EDF HT-62/04/010, 2005; the equations of motion of its §2.1 are these.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from arlequin.models import checks
from arlequin.models.errors import UserError
from arlequin.models.types import Array

Ground = tuple[ArrayLike, ArrayLike]  # (ü, v̈), m/s²


@dataclass(frozen=True)
class RockingBlock:
    """b, l, thickness e (m), ρ (kg/m³), μ, g (m/s²); only blocks that can rock without sliding."""

    half_width: float = 0.18
    half_height: float = 0.40
    density: float = 1450.0
    friction: float = 0.9
    gravity: float = 9.81
    thickness: float = 1.0

    def __post_init__(self) -> None:
        for name in ("half_width", "half_height", "density", "friction", "gravity", "thickness"):
            checks.positive(name, getattr(self, name))
        if self.velocity_ratio <= 0:
            rule = f"must be more than half_width/√2 = {self.half_width / math.sqrt(2):g}"
            raise UserError.parameter("half_height", self.half_height, f"{rule}: a flatter block does not rock")
        if self.friction < self.percussion_ratio:
            rule = f"must be at least {self.percussion_ratio:.4f}"
            raise UserError.parameter("friction", self.friction, f"{rule}: the block would slide at impacts")

    @property
    def mass(self) -> float:
        """M = 4ρble, kg."""
        return 4 * self.density * self.half_width * self.half_height * self.thickness

    @property
    def radius(self) -> float:
        """R, m."""
        return math.hypot(self.half_width, self.half_height)

    @property
    def base_angle(self) -> float:
        """θ₀ = atan(l/b), rad."""
        return math.atan2(self.half_height, self.half_width)

    @property
    def inertia(self) -> float:
        """J = 4MR²/3 about a corner, kg·m²."""
        return 4 / 3 * self.mass * self.radius**2

    @property
    def pulsation(self) -> float:
        """p = √(3g/(4R)), rad/s."""
        return math.sqrt(0.75 * self.gravity / self.radius)

    @property
    def slope(self) -> float:
        """b/l: to first order the lean at which the block topples; acceleration over gravity at which it lifts."""
        return self.half_width / self.half_height

    @property
    def velocity_ratio(self) -> float:
        """r = ω₊/ω at an impact."""
        return 1 - 1.5 * (self.half_width / self.radius) ** 2

    @property
    def percussion_ratio(self) -> float:
        """|I_x|/I_y = 3bl/(4R² − 3b²)."""
        return 3 * self.half_width * self.half_height / (4 * self.radius**2 - 3 * self.half_width**2)

    def acceleration(self, lean: ArrayLike, sense: ArrayLike, ground: Ground = (0.0, 0.0)) -> Array:
        """φ̈, rad/s²."""
        psi = self.base_angle + np.asarray(lean, dtype=float)
        across, up = (np.asarray(a, dtype=float) / self.gravity for a in ground)
        return self.pulsation**2 * (np.asarray(sense) * across * np.sin(psi) - (1 + up) * np.cos(psi))

    def reactions(
        self, lean: ArrayLike, rate: ArrayLike, sense: ArrayLike, ground: Ground = (0.0, 0.0)
    ) -> tuple[Array, Array]:
        """(H, F), N, on the block at lean φ (rad) and φ̇ (rad/s); of a block at rest with sense 0."""
        psi, side = self.base_angle + np.asarray(lean, dtype=float), np.asarray(sense, dtype=float)
        tangential = self.radius * self.acceleration(lean, sense, ground) * np.abs(side)
        centripetal = self.radius * np.asarray(rate, dtype=float) ** 2
        across, up = (np.asarray(a, dtype=float) for a in ground)
        h = self.mass * (across - side * (tangential * np.sin(psi) + centripetal * np.cos(psi)))
        f = self.mass * (self.gravity + up + tangential * np.cos(psi) - centripetal * np.sin(psi))
        return np.asarray(h), np.asarray(f)

    def percussion(self, rate: float, sense: int) -> tuple[float, float]:
        """(I_x, I_y), N·s, on the impacting corner at φ̇ = −rate, after a flight of this sense."""
        r, momentum = self.velocity_ratio, self.mass * abs(rate)
        return -sense * momentum * self.half_height * (1 - r), momentum * self.half_width * (1 + r)

    def kinetic(self, rate: ArrayLike) -> Array:
        """Jφ̇²/2, J."""
        return 0.5 * self.inertia * np.asarray(rate, dtype=float) ** 2

    def potential(self, lean: ArrayLike) -> Array:
        """MgR (sin(θ₀ + φ) − sin θ₀), J."""
        half = 0.5 * np.asarray(lean, dtype=float)
        return 2 * self.mass * self.gravity * self.radius * np.cos(self.base_angle + half) * np.sin(half)

    def lift(self, lean: ArrayLike) -> Array:
        """Height of the free lower corner, 2b sin φ, m."""
        return 2 * self.half_width * np.sin(np.asarray(lean, dtype=float))

    def first_order(self, tilt: float, impacts: int) -> tuple[Array, Array]:
        """Times (s) and kinetic energies before the impacts (J) of the linear flight: t₁, then 2 t₁ rᵏ; Mgb φ₀ r²ᵏ."""
        self.check_tilt(tilt)
        pulsation = math.sqrt(0.75 * self.gravity * self.half_height) / self.radius
        first = math.acosh(self.slope / (self.slope - abs(tilt))) / pulsation
        powers = self.velocity_ratio ** np.arange(checks.positive_integer("impacts", impacts))
        energy = self.mass * self.gravity * self.half_width * abs(tilt)
        return first * (2 * np.cumsum(powers) - 1), np.asarray(energy * powers**2, dtype=float)

    def check_tilt(self, tilt: float) -> None:
        """UserError for a tilt at which the block topples."""
        limit = 0.5 * math.pi - self.base_angle
        if not abs(checks.finite("tilt", tilt)) < limit:
            raise UserError.parameter("tilt", tilt, f"must be less than {limit:g} in size: the block topples")
