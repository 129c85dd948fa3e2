"""A mass on a spring released on a rough floor: turning points, rest and dissipation against the closed form.

The spring is alike in all directions of the floor, so that the mass stays on the line of its release and a slip along
`direction` has the components (cos, sin) of it. Located events (`events=locate`) have one line to slip on: the model
is then the plane of that line and of gravity. Without location (`events=step`) the floor is a plane in space, with
friction as a disk, and the mass keeps to its line by itself.

Between two events the θ-scheme keeps the energy, so that located turning points are exact but for the reading. The
motion before a turn is even in the time τ to it: the position there is that at 0 of the polynomial in τ² through the
last three steps of the half swing, with a remainder of at most (ωΔt)⁶/20 of its amplitude. Without location a turn
lies inside a step over which friction acts one way: each moves the later turning points by at most
½ (2f/m) Δt² = d (ωΔt)², d = f/k. There a turn is read from the cubic through both ends of its step, to (ωΔt)⁴/50 of
the release; θ > ½ damps each half swing by (2θ − 1) π ωΔt/2.

Source of the case: Code_Aster V5.01.100 (SDND100), after F. Axisa, Cours IPSI, 1991.
"""

from dataclasses import dataclass, replace
from math import isfinite
from typing import Annotated, Any, Literal

import numpy as np
import xarray
from numpy.typing import NDArray
from scipy.interpolate import KroghInterpolator

import arlequin as aq
from cases.choices import Events, ThetaValue, scheme_of
from cases.comparison import Check
from cases.impact import end_time, energy_checks
from cases.parameters import Quantity
from cases.reference.slider import ReleasedSlider
from models.checks import finite, non_negative, positive

Array = NDArray[np.float64]

SHOWN = 4  # turning points that are checked one by one
PHASE = 0.07  # of (ωΔt)⁴: the lag of the located scheme, relative
REST = 1e-9  # of the largest velocity


@dataclass(frozen=True)
class Parameters:
    """A kilogram on 10⁴ N/m, 0.85 mm from the middle: it turns at −0.65, 0.45, −0.25 mm and rests at 0.05 mm."""

    stiffness: Annotated[float, Quantity("N/m", "stiffness of the spring", positive)] = 1e4
    mass: Annotated[float, Quantity("kg", "mass", positive)] = 1.0
    gravity: Annotated[float, Quantity("m/s2", "gravity", positive)] = 10.0
    friction: Annotated[float, Quantity("", "coefficient of friction", non_negative)] = 0.1
    release: Annotated[float, Quantity("m", "displacement at the start, at rest", finite)] = 0.85e-3
    direction: Annotated[float, Quantity("°", "of the release, in the floor", finite)] = 45.0
    model: Annotated[Literal["nonsmooth"], Quantity("", "contact: exact")] = "nonsmooth"
    scheme: Annotated[Literal["theta", "newmark", "central-difference"], Quantity("", "time scheme")] = "theta"
    theta: ThetaValue = 0.5
    events: Events = "locate"
    step: Annotated[float, Quantity("s", "time step", positive)] = 1e-3
    duration: Annotated[float | None, Quantity("s", "none: two half swings past rest", positive)] = None


def duration(parameters: Parameters) -> float:
    """End of the run, s; without rest ten half swings."""
    p, exact = parameters, reference(parameters)
    swings = exact.half_swings + 2.0 if isfinite(exact.half_swings) else 10.0
    return swings * np.pi / exact.frequency if p.duration is None else p.duration


def line(parameters: Parameters) -> Array:
    """The direction of the release in the floor (2,)."""
    angle = np.deg2rad(parameters.direction)
    return np.array([np.cos(angle), np.sin(angle)])


def build(parameters: Parameters) -> aq.Study:
    p = parameters
    along = np.ones(1) if p.events == "locate" else line(p)
    up = np.append(np.zeros_like(along), 1.0)
    slider = aq.PointMasses("slider", np.zeros_like(up), p.mass)
    spring = aq.Spring("spring", slider.boundary("all"), stiffness=tuple(p.stiffness * (1.0 - up)))
    floor = aq.RigidPlane(point=np.zeros_like(up), normal=up)
    contact = aq.Interface(
        "contact", slider.boundary("all"), floor, aq.Unilateral(level="velocity"), friction=aq.Coulomb(p.friction)
    )
    system = aq.System(
        [slider], springs=[spring], interfaces=[contact], gravity=tuple(-p.gravity * up),
        displacement=tuple(np.append(p.release * along, 0.0)),
    )  # fmt: skip
    return aq.Study(system, scheme_of(p.scheme, p.theta, p.events), duration(p), p.step)


def reference(parameters: Parameters) -> ReleasedSlider:
    """The recurrence of the turning points, for any release."""
    p = parameters
    return ReleasedSlider(p.stiffness, p.mass, p.release, p.friction, p.gravity, tuple(line(p).tolist()))


def motion(result: xarray.DataTree, parameters: Parameters) -> tuple[Array, Array, Array]:
    """Displacement and velocity (t,) along the direction, m and m/s, and how far (t,) the mass is beside it, m."""
    group = result["part/slider"].dataset
    u, v = (group[name].values[:, 0, :-1] for name in ("displacement", "velocity"))
    if u.shape[1] == 1:
        return u[:, 0], v[:, 0], np.zeros(len(u))
    (a, b) = along = line(parameters)
    return u @ along, v @ along, np.abs(u @ np.array([-b, a]))


def turning_points(result: xarray.DataTree, parameters: Parameters) -> tuple[Array, Array]:
    """Instants (n,), s, and displacements (n,), m, at which the mass turns or comes to rest."""
    time = result.dataset["time"].values
    u, v, _ = motion(result, parameters)
    if "event_time" in result.dataset:
        return _located(time, u, result.dataset["event_time"].values)
    moving = np.abs(v) > REST * np.abs(v).max()
    sense = np.where(moving, np.sign(v), 0.0)
    steps = np.flatnonzero((sense[:-1] != 0) & (sense[1:] != sense[:-1]))
    found = [
        (time[n + 1], u[n + 1]) if not moving[n + 1] else _turn(time[n : n + 2], u[n : n + 2], v[n : n + 2])
        for n in steps
    ]
    instants, places = np.array(found).reshape(-1, 2).T
    return instants, places


def _located(time: Array, u: Array, events: Array) -> tuple[Array, Array]:
    """At each event, from the last three steps before it that follow the event before."""
    ends = np.flatnonzero(np.isfinite(events))
    instants, places, start = events[ends], np.empty(ends.size), 0
    for i, end in enumerate(ends.tolist()):
        nodes = slice(max(start, end - 3), end)
        places[i] = KroghInterpolator(-((time[nodes] - instants[i]) ** 2), u[nodes])(0.0)
        start = end
    return instants, places


def _turn(time: Array, u: Array, v: Array) -> tuple[float, float]:
    """The extremum between two steps of opposite velocities, of the cubic through both."""
    curve = KroghInterpolator(np.repeat(time - time[0], 2), np.array([u[0], v[0], u[1], v[1]]))
    share = v[0] / (v[0] - v[1])
    instant = share * (time[1] - time[0])
    return float(time[0] + instant), float(curve(instant))


def tolerance(parameters: Parameters, n: float) -> float:
    """Of the n-th turning point, m (see the head of this file)."""
    p, exact = parameters, reference(parameters)
    phase = exact.frequency * p.step
    if p.events == "locate":
        return max(1e-6 * abs(float(exact.turning_point(n))), phase**6 / 20.0 * abs(p.release))
    lost = -np.expm1(-0.5 * np.pi * (2.0 * p.theta - 1.0) * phase) if p.scheme == "theta" else 0.0
    return n * (exact.zone * phase**2 + lost * abs(p.release)) + phase**4 / 50.0 * abs(p.release)


def check(result: xarray.DataTree, parameters: Parameters) -> list[Check]:
    """Turning points one by one, rest, dissipation and balance."""
    p, exact, end = parameters, reference(parameters), end_time(result)
    checks = turning_checks(result, p)
    u, _, beside = motion(result, p)
    if exact.rest_time + p.step < end:
        rest = exact.rest_position
        limit = tolerance(p, exact.half_swings) if exact.half_swings else 1e-12 * abs(p.release)
        checks.append(Check("position at rest", u[-1], rest, limit, "m", "absolute"))
        late = result.dataset["time"].values >= np.append(0.0, turning_points(result, p)[0])[-1]
        creep = float(np.abs(u[late] - u[-1]).max())
        checks.append(Check("creep at rest", creep, 0.0, 1e-12 * abs(p.release), "m", "absolute"))
        path = sum(2.0 * tolerance(p, n) for n in range(1, int(exact.half_swings) + 1))
        checks.append(
            Check(
                "dissipated energy",
                float(result.dataset["energy"].sel(kind="friction")[-1]),
                float(exact.dissipated(end)),
                exact.threshold * path + 1e-12 * exact.threshold * abs(p.release),
                "J",
                "absolute",
            )
        )
    checks.append(Check("way off the line", float(beside.max()), 0.0, 1e-12 * abs(p.release), "m", "absolute"))
    return [*checks, *energy_checks(result)]


def turning_checks(result: xarray.DataTree, parameters: Parameters) -> list[Check]:
    """How many turning points there are, and where and, if located, when the first few are."""
    p, exact = parameters, reference(parameters)
    instants, places = turning_points(result, p)
    phase = exact.frequency * p.step
    checks = []
    expected = min(exact.half_swings, np.floor(end_time(result) * exact.frequency / np.pi))
    if expected == exact.half_swings:
        # the tolerance may decide whether the mass turns once more, most of all where |r₀|/d is odd
        near = [replace(exact, release=abs(p.release) + sign * tolerance(p, expected)) for sign in (-1.0, 1.0)]
        spread = max(abs(other.half_swings - expected) for other in near)
        checks.append(Check("turning points", len(places), expected, spread, "1", "absolute"))
    for n in range(1, min(len(places), int(expected), SHOWN) + 1):
        place = float(exact.turning_point(n))
        checks.append(Check(f"turning point {n}", places[n - 1], place, tolerance(p, n), "m", "absolute"))
        if p.events == "locate":
            when = float(exact.turning_time(n))
            checks.append(Check(f"time of turning point {n}", instants[n - 1], when, PHASE * phase**4 + 1e-9, "s"))
    return checks


def figures(result: xarray.DataTree, parameters: Parameters) -> dict[str, Any]:
    from arlequin import plots
    from cases.slider_figures import released_figure

    p = parameters
    u, _, _ = motion(result, p)
    turns = turning_points(result, p)
    return {
        "energies": plots.energies(result),
        "motion": released_figure(result.dataset["time"].values, u, turns, reference(p)),
    }
