"""Oblique impact of a sphere or disc on a rigid plane or an identical body, by quasi-static contact mechanics.

Units: R = 1, G = 1, ρ = 1 of the body. Between identical bodies the contact remains plane and normal forces cause no
slip: each body moves as on a rigid plane without coupling of normal forces and tangential displacements ("like", the
problem of Maw, Barber and Fawcett). On a rigid plane ("rigid") they couple: Dundurs' β is (1 − 2ν)/(2(1 − ν)), not 0;
pressure displaces the surface towards the centre, with immediate slip for μ ≲ β.

The surface is a half-space's or a half-plane's (`half_space`), for the disc with the constants C of `disc_rim`. The
forces at the end of each step follow from Signorini's and Coulomb's conditions on the gaps x²/2 − V t + u_n and on the
slips of the step. The body moves by its modes z̈ + ω² z = F, exactly for forces linear in the step: ω = 0 with 1/m
(normal), 1/m + R²/I (tangent), and for the disc, whose contact takes only about six R/c_t at any speed, its vibrations.
For the sphere a small contact is assumed: terms of order a/R, and vibrations, are neglected.

Incidence and reflection, of the contact point's velocity: ψ = (k_t/k_n) V_t/(μ V_n), V_n that of the approach, with the
ratio of local stiffnesses k_t/k_n = 2(1−ν)/(2−ν) for spheres, 1 for discs. Gross slip throughout is ψ₂ = ψ₁ − 4χ with
χ = (k_t/k_n)(1 + m R²/I)/2.

Sources: N. Maw, J. R. Barber, J. N. Fawcett, Wear 38 (1976) 101–114; K. L. Johnson, Contact Mechanics, 1985, §3.2, 3.6,
11.6. Disc, coupling and the scheme are ours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

from arlequin.cases.reference.disc_rim import NORMAL, TANGENT, DiscRim
from arlequin.cases.reference.half_space import squares, strips
from arlequin.cases.reference.hertz_impact import APPROACHES
from arlequin.models import checks
from arlequin.models.types import Array

MARGIN = {
    "sphere": 1.05,
    "disc": 1.2,
}  # half-width of the patches over that of the contact, wider by vibrations of a disc
TOLERANCE = 1e-6  # relative tolerance of the forces
MAX_SWEEPS = 4000  # largest number of sweeps of a step
OVERTIME = {"sphere": 1.05, "disc": 1.5}  # computed time over the quasi-static duration


@dataclass(frozen=True)
class Oblique:
    """Impact at ψ₁ with friction μ; half_width: quasi-static a/R at the peak, which determines the velocity."""

    shape: Literal["sphere", "disc"]
    partner: Literal["like", "rigid"]
    poisson: float
    friction: float
    half_width: float

    def __post_init__(self) -> None:
        checks.one_of("shape", self.shape, ("sphere", "disc"))
        checks.one_of("partner", self.partner, ("like", "rigid"))
        checks.within("poisson", self.poisson, 0.0, 0.49)
        checks.positive("friction", self.friction)
        checks.within("half_width", self.half_width, 0.0, 0.2, open_low=True)

    @property
    def sphere(self) -> bool:
        return self.shape == "sphere"

    @property
    def mass(self) -> float:
        """m, ρ R³ (ρ R² of the disc)."""
        return 4 / 3 * math.pi if self.sphere else math.pi

    @property
    def lever(self) -> float:
        """1 + m R²/I."""
        return 3.5 if self.sphere else 3.0

    @property
    def ratio(self) -> float:
        """k_t/k_n."""
        return 2 * (1 - self.poisson) / (2 - self.poisson) if self.sphere else 1.0

    @property
    def chi(self) -> float:
        """χ."""
        return 0.5 * self.ratio * self.lever

    @property
    def modulus(self) -> float:
        """E*, G, of the body against the plane."""
        return 2 / (1 - self.poisson)

    @property
    def load(self) -> float:
        """P at the half-width a, G R² (G R of the disc)."""
        a = self.half_width
        return 4 / 3 * self.modulus * a**3 if self.sphere else 0.25 * math.pi * self.modulus * a**2

    @property
    def approach(self) -> float:
        """δ at the half-width a, R: a², of the disc P/(πE*) (1 − 2 ln(a/2)) + C P."""
        a = self.half_width
        if self.sphere:
            return a * a
        return self.load * ((1 - 2 * math.log(0.5 * a)) / (math.pi * self.modulus) + self.rim.constants[NORMAL])

    @property
    def velocity(self) -> float:
        """V_n for which ½ m V² = ∫ P dδ up to the half-width a, c_t.

        (2/5) P δ of the sphere; of the disc P δ/2 − P²/(4πE*), as dδ/dP = δ/P − 1/(πE*).
        """
        work = 0.4 * self.load * self.approach
        if not self.sphere:
            work = 0.5 * self.load * self.approach - 0.25 * self.load**2 / (math.pi * self.modulus)
        return math.sqrt(2 * work / self.mass)

    @property
    def duration(self) -> float:
        """Quasi-static contact duration, R/c_t: Hertz's; of the disc, approximately, by the spring P/δ at the peak."""
        if self.sphere:
            return APPROACHES * self.approach / self.velocity
        return math.pi * math.sqrt(self.mass * self.approach / self.load)

    @property
    def rim(self) -> DiscRim:
        """Compliance of the rim of the disc."""
        return _rim(self.poisson)

    def tangential(self, psi: float) -> float:
        """V_t at ψ, c_t."""
        return psi * self.friction * self.velocity / self.ratio

    def impact(self, psi: float, *, points: int | None = None, steps: int = 120) -> ObliqueImpact:
        """Impact at ψ₁; points: patches across the contact (15; disc 61), steps: over the duration."""
        from arlequin.cases.reference._oblique_kernels import sweep

        step = self.duration / steps
        matrix, profile = self._patches(points or (15 if self.sphere else 61))
        axes = matrix.shape[1]
        motions = [ModalMotion.of(*self._modes(min(axis, TANGENT)), step) for axis in range(axes)]
        for axis, motion in enumerate(motions):
            matrix[:, axis, :, axis] += motion.compliance
        velocity = np.zeros(axes)
        velocity[:2] = -self.velocity, self.tangential(psi)
        force, slipped = np.zeros((profile.size, axes)), np.zeros((profile.size, axes))
        totals: Array = np.zeros((round(OVERTIME[self.shape] * steps) + 1, axes))
        for n in range(1, len(totals)):
            free_displacement = n * step * velocity + [
                motion.predicted(f) for motion, f in zip(motions, totals[n - 1], strict=True)
            ]
            state = free_displacement - slipped + np.einsum("iakb,kb->ia", matrix, force)
            state[:, 0] += profile
            sweep(matrix, force, state, self.friction, TOLERANCE, MAX_SWEEPS)
            slipped[:, 1:] += state[:, 1:]
            totals[n] = force.sum(axis=0)
            for motion, before, after in zip(motions, totals[n - 1], totals[n], strict=True):
                motion.advance(before, after)
        return ObliqueImpact(self, psi, np.asarray(step * np.arange(len(totals)), dtype=float), totals)

    def _modes(self, direction: int) -> tuple[Array, Array]:
        """ω (k,) and r (k,) of the motions along the normal or the tangent, the rigid one first."""
        if self.sphere:
            return np.zeros(1), np.array([(1.0 if direction == NORMAL else self.lever) / self.mass])
        rates, residues = self.rim.modes[direction]
        return np.append(0.0, rates), np.append(self.rim.rigid(direction), residues)

    def _patches(self, points: int) -> tuple[Array, Array]:
        """Displacements by forces on patches (k, a, k, a), without vibrations and motion; x²/2 of the patches (k,)."""
        span, coupled = MARGIN[self.shape] * self.half_width, self.partner == "rigid"
        line = span * (2 * (np.arange(points) + 0.5) / points - 1)
        size = 2 * span / points
        if self.sphere:
            centres = np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)
            centres = centres[np.hypot(*centres.T) < span]
            return squares(centres, size, self.poisson, coupled), 0.5 * (centres**2).sum(axis=1)
        matrix = strips(line, size, self.poisson, coupled)
        for axis in (NORMAL, TANGENT):
            rates, residues = self.rim.modes[axis]
            matrix[:, axis, :, axis] += self.rim.constants[axis] - float((residues / rates**2).sum())
        return matrix, 0.5 * line**2


@lru_cache(maxsize=8)
def _rim(poisson: float) -> DiscRim:
    return DiscRim(poisson)


@dataclass
class ModalMotion:
    """Σ r z of the modes z̈ + ω² z = F along one axis: current position and rate (k,), and the recurrence of a step.

    F is linear in the step: z₁ = cos ωh z₀ + sin ωh/ω ż₀ + by_start_force F₀ + by_end_force F₁, ż₁ likewise.
    """

    residues: Array
    transition: Array  # (2, 2, k)
    by_start_force: Array  # (2, k): (z, ż) by F₀
    by_end_force: Array
    state: Array  # (2, k)

    @classmethod
    def of(cls, rates: Array, residues: Array, step: float) -> ModalMotion:
        h, is_rigid = step, rates == 0.0
        w = np.where(is_rigid, 1.0, rates)
        c, s = np.cos(w * h), np.sin(w * h)
        by_end_force = np.stack([(1 - s / (w * h)) / w**2, (1 - c) / (w**2 * h)])
        by_start_force = np.stack([(s / (w * h) - c) / w**2, s / w - by_end_force[1]])
        transition = np.array([[c, s / w], [-w * s, c]])
        by_end_force[:, is_rigid], by_start_force[:, is_rigid] = [[h * h / 6], [h / 2]], [[h * h / 3], [h / 2]]
        transition[:, :, is_rigid] = np.array([[1.0, h], [0.0, 1.0]])[:, :, None]
        return cls(residues, transition, by_start_force, by_end_force, np.zeros((2, rates.size)))

    @property
    def compliance(self) -> float:
        """Displacement at the end of a step per unit force there."""
        return float(self.residues @ self.by_end_force[0])

    def predicted(self, force: float) -> float:
        """Displacement at the end of the step for zero force there; force: at the start of the step."""
        return float(
            self.residues @ (np.einsum("ik,ik->k", self.transition[0], self.state) + self.by_start_force[0] * force)
        )

    def advance(self, before: float, after: float) -> None:
        """Advance the state to the end of the step, for the forces at both ends."""
        self.state = (
            np.einsum("ijk,jk->ik", self.transition, self.state)
            + self.by_start_force * before
            + self.by_end_force * after
        )


@dataclass(frozen=True)
class ObliqueImpact:
    """time (t,), R/c_t, and the forces on the body (t, axis): normal, tangential; G R² (G R of the disc)."""

    body: Oblique
    incidence: float
    time: Array
    force: Array

    @property
    def impulse(self) -> Array:
        """∫F dt over m V_n: normal, tangential over −μ too."""
        total = 0.5 * (self.force[1:] + self.force[:-1]).sum(axis=0) * self.time[1]
        return np.asarray(total[:2] / (self.body.mass * self.body.velocity) / [1.0, -self.body.friction])

    def means(self, edges: Array) -> Array:
        """Forces normal and along the plane (t, 2) as means between the edges (t + 1,)."""
        steps = 0.5 * np.diff(self.time)[:, None] * (self.force[1:, :2] + self.force[:-1, :2])
        sums = np.vstack([np.zeros(2), np.cumsum(steps, axis=0)])
        at_edges = np.stack([np.interp(edges, self.time, component) for component in sums.T], axis=1)
        return np.asarray(np.diff(at_edges, axis=0) / np.diff(edges)[:, None])

    @property
    def reflection(self) -> float:
        """ψ₂ = ψ₁ − 2χ × the tangential impulse."""
        return float(self.incidence - 2 * self.body.chi * self.impulse[1])
