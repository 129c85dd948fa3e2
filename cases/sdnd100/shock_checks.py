"""Checks of the released slider on a shock element against the exact motion of that element (SDND100).

Error bounds, with φ = ωΔt, ω = √(k/m), φ_T = Δt √((k + K_T)/m), d = f/k, f = μmg:

* change of state inside a step: friction has the wrong sense for a part of it, which moves all later positions by at
  most ½ (2f/m) Δt² = d φ²; slip starts and ends once per half swing. Measured at turning points, over 18 releases and
  stiffnesses and two steps: at most 0.7 d φ² per half swing (θ-scheme, symplectic Euler), 0.2 (De Vogelaere);
* phase error: implicit schemes lag by φ²/12 of the phase, for θ > ½ by (1/12 + (θ − ½)²) φ², De Vogelaere's by less
  than a quarter of that; symplectic Euler starts half a step late, which moves displacements by ½ φ but not turning
  points;
* phase error of the stuck mass, ω_T φ_T²/12: changes its oscillation, of amplitude up to 2f/K_T, where that lasts for
  a period;
* turning points are read from the cubic Hermite polynomial of their step;
* dashpot, γ = C_T/m: schemes of order 1 evaluate its force ½ Δt late (θ-scheme: |θ − ½| Δt), which changes the work
  of a stuck phase, at most f 2f/K_T, by that fraction of γ, and the next turning point r' by this work over k r'. The
  third derivative jumps at a turn, from the acceleration a there, by γa: reading error γ a Δt³/192 + γ² a Δt⁴/384;
* HHT evaluates the elastic forces |α| Δt late relative to friction: 2 |α| d φ per reversal, order 1; its numerical
  damping reduces a displacement by π |α| φ³/8 per half swing, that of the θ-scheme by π (2θ − 1) φ/2.
"""

from dataclasses import dataclass

import numpy as np
import xarray
from numpy.typing import ArrayLike
from scipy.interpolate import CubicHermiteSpline

from arlequin.cases.case.checks import Check
from arlequin.cases.reference.damped_shock import DampedElement, DampedMotion
from arlequin.cases.reference.shock import STICK, ShockElement, ShockMotion, SlidingMass, released_mass
from arlequin.cases.reference.slider import ReleasedSlider
from arlequin.cases.sdnd100.parameters import Parameters
from arlequin.models.types import Array

SHARES = {"de-vogelaere": 0.25, "runge-kutta": 0.0}  # error of a scheme over that of the others
SMALLEST = 1e-7  # tolerance of the adaptive scheme over the release
HHT_ALPHA = 0.05  # |α|, as `arlequin.cases.shared.vocabulary.scheme_of` takes it
PUBLISHED = 5e-3  # relative, on the turning points of rigid friction; Code_Aster's own errors reach 0.41 %
PUBLISHED_STEP = 5e-4  # s, of the benchmark
SHOWN = 4  # turning points checked individually


def stiff_phase(parameters: Parameters) -> float:
    """φ_T = Δt √((k + K_T)/m)."""
    p = parameters
    return float(p.time_step * np.sqrt((p.stiffness + p.tangential_stiffness) / p.mass))


def turning_tolerance(parameters: Parameters, exact: ReleasedSlider, n: float) -> float:
    """Tolerance on the n-th turning point, m (module docstring)."""
    p, phase, damping_loss = parameters, exact.frequency * parameters.time_step, 0.0
    error_per_swing = SHARES.get(p.time_scheme, 1.0) * exact.zone * phase**2
    if p.time_scheme == "theta":
        damping_loss = -np.expm1(-0.5 * np.pi * (2.0 * p.theta - 1.0) * phase)
    elif p.time_scheme == "hht":
        damping_loss = np.pi * HHT_ALPHA / 8.0 * phase**3
        error_per_swing += 2.0 * HHT_ALPHA * exact.zone * phase
    # interpolated between two steps; the fourth derivative is at most ω_T² 2f/m
    reading_error = exact.zone * phase**2 * stiff_phase(p) ** 2 / 48.0 + SMALLEST * abs(p.release)
    decay, deceleration = p.dashpot / p.mass * p.time_step, (p.stiffness * abs(p.release) + exact.threshold) / p.mass
    reading_error += deceleration * p.time_step**2 * (decay / 192.0 + decay**2 / 384.0)
    evaluation_delay = {"symplectic-euler": 0.5, "theta": p.theta - 0.5}.get(p.time_scheme, 0.0) * decay
    amplitudes = np.abs([float(exact.turning_point(k)) for k in range(int(np.ceil(n)))])
    stuck_strokes = (
        2.0 * exact.threshold / p.tangential_stiffness * float(np.minimum(exact.zone / amplitudes, 1.0).sum())
    )
    return float(
        n * (error_per_swing + damping_loss * abs(p.release)) + reading_error + evaluation_delay * stuck_strokes
    )


def displacement_tolerance(parameters: Parameters, exact: ReleasedSlider, end: float, turning: float) -> float:
    """Tolerance on displacements up to the time `end`, s, for an error `turning`, m, of the turning points."""
    p, phase, phase_t = parameters, exact.frequency * parameters.time_step, stiff_phase(parameters)
    theta = p.theta if p.time_scheme == "theta" else 0.5
    lag = (1.0 / 12.0 + (theta - 0.5) ** 2) * phase**2 * exact.frequency * end
    start_delay = 0.5 * phase if p.time_scheme == "symplectic-euler" else 0.0
    changes = 2.0 * (np.floor(end * exact.frequency / np.pi) + 1.0) * exact.zone * phase**2
    ringing = 2.0 * exact.threshold / p.tangential_stiffness
    ringing *= min(1.0, phase_t**2 / 12.0 * phase_t * 2.0 * np.pi / phase)
    share = SHARES.get(p.time_scheme, 1.0)
    return float(turning + share * (abs(p.release) * lag + changes + ringing) + abs(p.release) * start_delay)


@dataclass(frozen=True, eq=False)
class ExactMotion:
    """Exact motion on the shock element for t ≤ last, s; turns (n,), s: instants at which a slip ends."""

    motion: ShockMotion | DampedMotion
    turns: Array
    last: float

    @classmethod
    def of(cls, parameters: Parameters, end: float) -> "ExactMotion":
        """The motion up to `end`, s, with or without a dashpot."""
        p = parameters
        # without friction the tangential force is zero
        if p.dashpot > 0.0 and p.friction > 0.0:
            threshold = p.friction * p.mass * p.gravity
            element = DampedElement(p.mass, p.stiffness, p.tangential_stiffness, p.dashpot, threshold)
            motion = element.motion(p.release, end)
            return cls(motion, motion.turns, end)
        free = released_mass(
            SlidingMass(p.stiffness, p.mass, p.gravity),
            ShockElement(p.normal_stiffness, p.tangential_stiffness, friction=p.friction),
            p.release,
            end,
        )
        turns = np.array([event.time for event in free.events if event.state == STICK])
        return cls(free, turns, float(free.pieces[-1][0].t_max))

    def position(self, t: ArrayLike) -> Array:
        """x (k,), m."""
        if isinstance(self.motion, DampedMotion):
            return np.asarray(self.motion.state(t)[0])
        return np.asarray(self.motion.state(t)[0][0])

    def loss(self, parameters: Parameters, t: float) -> float:
        """Energy dissipated by the element up to t, J: ½ k r₀² less the stored and kinetic energy."""
        p = parameters
        if isinstance(self.motion, DampedMotion):
            x, v, stretch = self.motion.state(t)[:, 0]
        else:
            x, v = (field[0, 0] for field in self.motion.state(t))
            stretch = self.motion.forces(t)[0, 0, 0] / p.tangential_stiffness
        twice_energy = p.stiffness * x**2 + p.mass * v**2 + p.tangential_stiffness * stretch**2
        return float(0.5 * (p.stiffness * p.release**2 - twice_energy))


def exact_turns(motion: ExactMotion, max_count: int) -> tuple[Array, Array]:
    """Instants (n,), s, and displacements (n,), m, of the first `most` ends of a slip, n ≤ most."""
    instants = motion.turns[:max_count]
    return instants, motion.position(instants) if instants.size else instants


def shock_checks(
    result: xarray.DataTree, parameters: Parameters, motion: ExactMotion, exact: ReleasedSlider, u: Array
) -> list[Check]:
    """Checks of the displacement u (t,), m, at every step and of the dissipated energy, J, for t ≤ motion.last."""
    p, time = parameters, result.dataset["time"].values
    inside = time <= motion.last
    t, scale = time[inside], abs(p.release) or 1.0
    slips = len(motion.turns) + 1
    turning_errors = [turning_tolerance(p, exact, n) for n in range(1, slips + 1)]
    error = np.abs(u[inside] - motion.position(t)) / scale
    allowed = displacement_tolerance(p, exact, float(t[-1]), turning_errors[-1]) / scale
    dissipated = float(result.dataset["energy"].sel(kind="friction").values[inside][-1])
    # the final path has the error of the displacement
    allowed_loss = exact.threshold * (2.0 * sum(turning_errors) + scale * error[-1]) + 1e-12 * p.stiffness * scale**2
    return [
        Check(
            "displacement against the shock element, largest error over the release",
            error.max(),
            0.0,
            allowed,
            "1",
            "at most",
        ),
        Check("dissipated energy", dissipated, motion.loss(p, float(t[-1])), allowed_loss, "J", "absolute"),
    ]


def published_checks(
    result: xarray.DataTree, parameters: Parameters, motion: tuple[Array, Array, Array], exact: ReleasedSlider
) -> list[Check]:
    """Checks of the displacements at t = nπ/ω against the rigid-friction turning points; benchmark data only."""
    p, time = parameters, result.dataset["time"].values
    benchmark = type(p)(model=p.model, scheme=p.scheme, direction=p.direction, step=p.step, duration=p.duration)
    if p != benchmark or p.time_step > PUBLISHED_STEP:
        return []
    count = min(int(exact.half_swings), SHOWN, int(time[-1] * exact.frequency / np.pi * (1.0 + 1e-12)))
    half_swings = np.arange(1, count + 1)
    u, v, _ = motion
    displacements = CubicHermiteSpline(time, u, v)(half_swings * np.pi / exact.frequency)
    turning_displacements = np.asarray(exact.turning_point(half_swings))
    return [
        Check(f"displacement after {n} half swings, rigid friction", displacement, turning_displacement, PUBLISHED, "m")
        for n, displacement, turning_displacement in zip(half_swings, displacements, turning_displacements, strict=True)
    ]
