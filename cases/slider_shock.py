"""The released slider on a shock element against the exact motion of that element (SDND100, penalised models).

With φ = ωΔt, ω = √(k/m), φ_T = Δt √((k + K_T)/m), d = f/k, f = μmg:

* a change inside a step, over which friction is off one way, moves what follows by at most ½ (2f/m) Δt² = d φ²; slip
  starts and ends once a half swing. Seen at turning points: 0.7 of d φ² a half swing at most (θ-scheme, symplectic
  Euler), 0.2 (De Vogelaere), over 18 releases and stiffnesses, two steps;
* implicit schemes lag by φ²/12 of their phase, for θ > ½ by (1/12 + (θ − ½)²) φ², De Vogelaere's by less than a
  quarter; symplectic Euler starts half a step late, which moves displacements by ½ φ, not turning points;
* the lag of the stuck mass, ω_T φ_T²/12, moves its ringing, of no more than 2f/K_T, where it lasts for a period;
* a turn is read from the cubic through both ends of its step;
* a dashpot, γ = C_T/m: schemes of order 1 have its force ½ Δt late (θ-scheme: |θ − ½| Δt), which changes the work of
  a stuck spell, of f 2f/K_T at most, by that share of γ and the next turn r' by this over k r'. The third derivative
  jumps at a turn, from the acceleration a there, by γa: it is read to γ a Δt³/192 + γ² a Δt⁴/384;
* Hilber, Hughes and Taylor's scheme has the elastic forces |α| Δt late beside friction: 2 |α| d φ at each reversal,
  order 1; it loses π |α| φ³/8 of a displacement in a half swing, the θ-scheme π (2θ − 1) φ/2.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import xarray
from numpy.typing import ArrayLike
from scipy.interpolate import CubicHermiteSpline

from cases.comparison import Check
from cases.reference.damped_shock import DampedElement, DampedMotion
from cases.reference.shock import STICK, Motion, Shock, SlidingMass, released_mass
from cases.reference.slider import ReleasedSlider
from models.types import Array

if TYPE_CHECKING:
    from cases.sdnd100 import Parameters


SHARES = {"de-vogelaere": 0.25, "runge-kutta": 0.0}  # of what the other schemes are off
SMALLEST = 1e-7  # of the release: the adaptive scheme
HHT_ALPHA = 0.05  # |α|, as `cases.choices.scheme_of` takes it
PUBLISHED = 5e-3  # of Coulomb's turning points: Code_Aster's own errors are 0.41 % at most
PUBLISHED_STEP = 5e-4  # s
SHOWN = 4  # turning points that are checked one by one


def stiff_phase(parameters: "Parameters") -> float:
    """φ_T."""
    p = parameters
    return float(p.time_step * np.sqrt((p.stiffness + p.tangential_stiffness) / p.mass))


def turning_tolerance(parameters: "Parameters", exact: ReleasedSlider, n: float) -> float:
    """Of the n-th turning point, m."""
    p, phase, lost = parameters, exact.frequency * parameters.time_step, 0.0
    each = SHARES.get(p.time_scheme, 1.0) * exact.zone * phase**2
    if p.time_scheme == "theta":
        lost = -np.expm1(-0.5 * np.pi * (2.0 * p.theta - 1.0) * phase)
    elif p.time_scheme == "hht":
        lost = np.pi * HHT_ALPHA / 8.0 * phase**3
        each += 2.0 * HHT_ALPHA * exact.zone * phase
    # read between two steps; the fourth derivative is at most ω_T² 2f/m
    read = exact.zone * phase**2 * stiff_phase(p) ** 2 / 48.0 + SMALLEST * abs(p.release)
    decay, slowing = p.dashpot / p.mass * p.time_step, (p.stiffness * abs(p.release) + exact.threshold) / p.mass
    read += slowing * p.time_step**2 * (decay / 192.0 + decay**2 / 384.0)
    late = {"symplectic-euler": 0.5, "theta": p.theta - 0.5}.get(p.time_scheme, 0.0) * decay
    before = np.abs([float(exact.turning_point(k)) for k in range(int(np.ceil(n)))])
    held = 2.0 * exact.threshold / p.tangential_stiffness * float(np.minimum(exact.zone / before, 1.0).sum())
    return float(n * (each + lost * abs(p.release)) + read + late * held)


def displacement_tolerance(parameters: "Parameters", exact: ReleasedSlider, end: float, turning: float) -> float:
    """Up to the time `end`, s, where turning points are off by `turning`, m."""
    p, phase, stiff = parameters, exact.frequency * parameters.time_step, stiff_phase(parameters)
    theta = p.theta if p.time_scheme == "theta" else 0.5
    lag = (1.0 / 12.0 + (theta - 0.5) ** 2) * phase**2 * exact.frequency * end
    late = 0.5 * phase if p.time_scheme == "symplectic-euler" else 0.0
    changes = 2.0 * (np.floor(end * exact.frequency / np.pi) + 1.0) * exact.zone * phase**2
    ringing = 2.0 * exact.threshold / p.tangential_stiffness
    ringing *= min(1.0, stiff**2 / 12.0 * stiff * 2.0 * np.pi / phase)
    share = SHARES.get(p.time_scheme, 1.0)
    return float(turning + share * (abs(p.release) * lag + changes + ringing) + abs(p.release) * late)


@dataclass(frozen=True, eq=False)
class ExactMotion:
    """The exact motion of the element up to `last`, s; turns (n,), s: where a slip ends."""

    motion: Motion | DampedMotion
    turns: Array
    last: float

    @classmethod
    def of(cls, parameters: "Parameters", end: float) -> "ExactMotion":
        """With and without a dashpot, up to `end`, s."""
        p = parameters
        # without friction the element carries nothing
        if p.dashpot > 0.0 and p.friction > 0.0:
            threshold = p.friction * p.mass * p.gravity
            element = DampedElement(p.mass, p.stiffness, p.tangential_stiffness, p.dashpot, threshold)
            motion = element.motion(p.release, end)
            return cls(motion, motion.turns, end)
        free = released_mass(
            SlidingMass(p.stiffness, p.mass, p.gravity),
            Shock(p.normal_stiffness, p.tangential_stiffness, friction=p.friction),
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

    def loss(self, parameters: "Parameters", t: float) -> float:
        """What the element has taken at t, J: the springs held ½ k r₀², and it starts unloaded."""
        p = parameters
        if isinstance(self.motion, DampedMotion):
            x, v, stretch = self.motion.state(t)[:, 0]
        else:
            x, v = (field[0, 0] for field in self.motion.state(t))
            stretch = self.motion.forces(t)[0, 0, 0] / p.tangential_stiffness
        left = p.stiffness * x**2 + p.mass * v**2 + p.tangential_stiffness * stretch**2
        return float(0.5 * (p.stiffness * p.release**2 - left))


def exact_turns(motion: ExactMotion, most: int) -> tuple[Array, Array]:
    """Instants (n,), s, and displacements (n,), m, at which a slip of the element ends; at most so many."""
    instants = motion.turns[:most]
    return instants, motion.position(instants) if instants.size else instants


def shock_checks(
    result: xarray.DataTree, parameters: "Parameters", motion: ExactMotion, exact: ReleasedSlider, u: Array
) -> list[Check]:
    """Displacement (t,), m, at every step and what friction takes, J, as far as the exact motion goes."""
    p, time = parameters, result.dataset["time"].values
    inside = time <= motion.last
    t, scale = time[inside], abs(p.release) or 1.0
    slips = len(motion.turns) + 1
    off = [turning_tolerance(p, exact, n) for n in range(1, slips + 1)]
    apart = np.abs(u[inside] - motion.position(t)) / scale
    allowed = displacement_tolerance(p, exact, float(t[-1]), off[-1]) / scale
    taken = float(result.dataset["energy"].sel(kind="friction").values[inside][-1])
    # what it is off in displacement at this instant, it is in path
    allowed_loss = exact.threshold * (2.0 * sum(off) + scale * apart[-1]) + 1e-12 * p.stiffness * scale**2
    return [
        Check("displacement off the exact element's, over the release", apart.max(), 0.0, allowed, "1", "at most"),
        Check("dissipated energy", taken, motion.loss(p, float(t[-1])), allowed_loss, "J", "absolute"),
    ]


def published_checks(
    result: xarray.DataTree, parameters: "Parameters", motion: tuple[Array, Array, Array], exact: ReleasedSlider
) -> list[Check]:
    """Displacements at nπ/ω against Coulomb's turning points, with the benchmark's data alone: as it reads them."""
    p, time = parameters, result.dataset["time"].values
    usual = type(p)(model=p.model, scheme=p.scheme, direction=p.direction, step=p.step, duration=p.duration)
    if p != usual or p.time_step > PUBLISHED_STEP:
        return []
    count = min(int(exact.half_swings), SHOWN, int(time[-1] * exact.frequency / np.pi * (1.0 + 1e-12)))
    ns = np.arange(1, count + 1)
    u, v, _ = motion
    found = CubicHermiteSpline(time, u, v)(ns * np.pi / exact.frequency)
    places = np.asarray(exact.turning_point(ns))
    return [
        Check(f"displacement at {n} half swings, Coulomb's", at, place, PUBLISHED, "m")
        for n, at, place in zip(ns, found, places, strict=True)
    ]
