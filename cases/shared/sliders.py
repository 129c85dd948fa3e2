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

Models of the sliders of SDND100 and SDND104: a mass on a rough floor, exact or on a shock element.

The shock element (K_N, K_T, C_T, μ) carries the weight from the start, K_N δ = m g: its normal force is constant.

    nonsmooth   one mass, contact and friction exact
    modal       one mass as a stiff block that does not turn, in its modal coordinates √m u: rigid translations
    two-body    two masses, each with its own coordinates, that meet along the normal; the second is held
    direct      one mass

Figures of the sliders: released on a spring, and on a shaken support.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import xarray
from numpy.typing import ArrayLike
from scipy.interpolate import CubicHermiteSpline

import arlequin as aq
from arlequin.cases.case.checks import Check
from arlequin.cases.reference.damped_shock import DampedElement, DampedMotion
from arlequin.cases.reference.shaken_slider import ShakenSlider
from arlequin.cases.reference.shock import STICK, Motion, Shock, SlidingMass, released_mass
from arlequin.cases.reference.slider import ReleasedSlider
from arlequin.cases.shared.vocabulary import ExplicitName
from arlequin.models.types import Array
from arlequin.plots import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from arlequin.cases.sdnd100 import Parameters


SHARES = {"de-vogelaere": 0.25, "runge-kutta": 0.0}  # of what the other schemes are off
SMALLEST = 1e-7  # of the release: the adaptive scheme
HHT_ALPHA = 0.05  # |α|, as `arlequin.cases.shared.vocabulary.scheme_of` takes it
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


Model = Literal["nonsmooth", "modal", "two-body", "direct"]
Scheme = Literal["theta", "newmark", "hht", "central-difference", ExplicitName]

# central differences take no springs of friction, the explicit schemes of modes no multipliers; HHT, whose forces are
# of two instants, would let a mass that exact friction holds settle over some steps
EXACT = ("theta", "newmark", "central-difference")
PENALISED = ("theta", "newmark", "hht", *get_args(ExplicitName))
RINGING = ("theta", "newmark", *get_args(ExplicitName))  # of those, what does not damp a stuck mass


@dataclass(frozen=True)
class Floor:
    """What the mass rubs on: μ and, for a shock element, K_N and K_T, N/m, and C_T, N s/m."""

    friction: float
    normal: float | None = None
    tangential: float | None = None
    damping: float = 0.0

    @property
    def laws(self) -> tuple[Any, aq.Coulomb]:
        if self.normal is None or self.tangential is None:
            return aq.Unilateral(level="velocity"), aq.Coulomb(self.friction)
        return aq.ImpactElement(self.normal), aq.Coulomb(self.friction, stiffness=self.tangential, damping=self.damping)


def critical_damping(mass: float, stiffness: float) -> float:
    """2 √(m K), N s/m: what Code_Aster's element takes beside K_T where none is given, with K = k + K_T."""
    return 2.0 * float(np.sqrt(mass * stiffness))


def check_scheme(scheme: str, fitting: tuple[str, ...], model: str) -> None:
    """Refuses a scheme that does not fit the model."""
    if scheme not in fitting:
        rule = f'must be {", ".join(fitting[:-1])} or {fitting[-1]} with model="{model}"'
        raise aq.UserError.parameter("scheme", scheme, rule)


def slider(
    model: Model, mass: float, floor: Floor, stiffness: float, start: tuple[float, ...], gravity: Any
) -> aq.System:
    """The mass at `start` (axes,), m, the last axis up, on a spring, N/m, alike in all directions of the floor."""
    axes = len(start)
    up = np.eye(axes)[-1]
    if model == "modal":
        body: Any = _block(mass, axes)
        foot = body.boundary("left")
        start = (*start, *(0.0,) * (body.components - axes))
    else:
        body = aq.PointMasses("slider", np.zeros(axes), mass)
        foot = body.boundary("all")
    springs = [aq.Spring("spring", foot, stiffness=tuple(stiffness * (1.0 - up)))] if stiffness > 0.0 else []
    law, friction = floor.laws
    if model != "two-body":
        plane = aq.RigidPlane(point=np.zeros(axes), normal=up)
        contact = aq.Interface("contact", foot, plane, law, friction=friction)
        return aq.System([body], springs=springs, interfaces=[contact], gravity=gravity, displacement=start)
    table = aq.PointMasses("table", np.zeros(axes), mass)
    top = table.boundary("all")
    contact = aq.Interface("contact", foot, top, law, friction=friction, direction=tuple(-up))
    held = [aq.Relation(f"table {axis}", [(top, axis, 1.0)]) for axis in "xyz"[:axes]]
    return aq.System(
        [body, table], springs=springs, interfaces=[contact], relations=held, gravity=gravity,
        displacement={"slider": start},
    )  # fmt: skip


def _block(mass: float, axes: int) -> aq.Modal:
    """A beam of 1 m³ whose ends do not turn, in its rigid translations; a foot of 1 m², as a point mass has."""
    turns = ("rz",) if axes == 2 else ("rx", "ry", "rz")
    beam = aq.Beam(
        "slider", aq.mesh.interval(-0.5, 0.5, cells=1), aq.LinearElastic(young=1e12, poisson=0.3, density=mass),
        aq.Section.rectangle(1.0, 1.0), dimension=axes,
        imposed={end: dict.fromkeys(turns, 0.0) for end in ("left", "right")},
    )  # fmt: skip
    return aq.Modal(beam, axes)


def released_figure(
    time: Any, along: Any, turns: tuple[Any, Any], exact: ReleasedSlider, element: ExactMotion | None = None
) -> "Figure":
    """Displacement along the release and its components, with the turning points, over the closed form.

    element: the exact motion on a shock element, drawn as far as it goes.
    """
    fine = np.linspace(0.0, time[-1], 4001)
    with style.panels(1, 3.4) as (figure, (axes,)):
        scale, metre = style.prefix(along, "m")
        clock, second = style.prefix(time, "s")
        axes.axhspan(-scale * exact.zone, scale * exact.zone, color=style.COLOURS[4], alpha=0.2, label="friction holds")
        axes.plot(clock * fine, scale * exact.position(fine), color=style.REFERENCE, label="closed form")
        if element is not None:
            known = fine[fine <= element.last]
            x = scale * element.position(known)
            axes.plot(clock * known, x, "--", color=style.COLOURS[3], linewidth=1.0, label="shock element, exact")
        axes.plot(clock * time, scale * along, ".", color=style.COLOURS[0], markersize=3, label="along the release")
        axes.plot(clock * turns[0], scale * turns[1], "o", color=style.COLOURS[1], markersize=5, label="turning points")
        for n, values in enumerate(exact.components(along).T):
            dash, name = style.DASHES[1 + n % 3], f"component {'xyz'[n]}"
            axes.plot(clock * time, scale * values, dash, color=style.COLOURS[2], linewidth=1.0, label=name)
        axes.set_xlabel(style.label("Time", second))
        axes.set_ylabel(style.label("Displacement", metre))
        figure.legend(*axes.get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return figure


def shaken_figure(
    time: Any, speed: Any, power: Any, changes: Any, exact: ShakenSlider, window: tuple[float, float]
) -> "Figure":
    """Velocity against the floor and work rate in a window (s), with the changes of state, over the exact ones."""
    fine, shown = np.linspace(*window, 4001), (time >= window[0]) & (time <= window[1])
    found = changes[(changes >= window[0]) & (changes <= window[1])]
    events = [event.time for event in exact.events(window[1]) if event.time >= window[0]]
    curves = (("Slip rate", "m/s", speed, exact.relative_velocity), ("Work rate", "W", power, exact.work_rate))
    with style.panels(2, 5.0, sharex=True) as (figure, panels):
        for axes, (name, unit, values, reference) in zip(panels, curves, strict=True):
            scale, unit = style.prefix(reference(fine), unit)
            for event in events:
                axes.axvline(event, color=style.REFERENCE, linewidth=0.8, linestyle=":")
            axes.plot(fine, scale * reference(fine), color=style.REFERENCE, linewidth=3.0, alpha=0.5, label="exact")
            axes.plot(time[shown], scale * values[shown], "--", color=style.COLOURS[0], label="computed")
            at = scale * np.asarray(reference(found))
            axes.plot(found, at, "o", color=style.COLOURS[1], markersize=4, label="changes of state, computed")
            axes.set_ylabel(style.label(name, unit))
        panels[0].set_title(f"{exact.regime}, η = {exact.ratio:.4g}; dotted: exact changes of state", loc="left")
        panels[1].set_xlabel("Time (s)")
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return figure


def support_figure(time: Any, speed: Any, exact: ShakenSlider, window: tuple[float, float]) -> "Figure":
    """Velocities of the floor and of the mass in a window (s)."""
    shown = (time >= window[0]) & (time <= window[1])
    floor = exact.support_velocity(time[shown])
    with style.panels(1, 3.0) as (figure, (axes,)):
        scale, unit = style.prefix(floor, "m/s")
        axes.plot(time[shown], scale * floor, color=style.REFERENCE, label="floor")
        axes.plot(time[shown], scale * (floor + speed[shown]), "--", color=style.COLOURS[0], label="mass")
        axes.set_xlabel("Time (s)")
        axes.set_ylabel(style.label("Velocity", unit))
        figure.legend(*axes.get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return figure
