"""Two masses connected by a spring, one with static and dynamic friction: exact stick and slip phases (SDND106).

A force of 3000 N pulls the second mass up to 0.2 s; the first is pressed on the floor by 10 kN, with μ_s = 0.3 and
μ_d = 0.2. It starts to slip at 35.12 ms, comes to rest at 314.9 ms and then sticks.

                     x₂(0.02)    x₁(0.15)    x₂(0.15)    x₂(0.339965), m
    Code_Aster       0.11221     1.35332     1.80751     3.96813
    exact            0.112210    1.353338    1.807532    3.968131

The published values at 0.15 s are 1.3e-5 below the exact motion (`arlequin.cases.reference.pulled_masses`), by which
the run is checked. With `events=locate` the relative error is 1e-10 at the default step, of order 4; the jump of the
load is at the end of a step. With `events=step` release and rest take effect at the end of a step, order 1.

Source of the case: Code_Aster V5.01.106 (SDND106).
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import xarray
from scipy.interpolate import CubicHermiteSpline

import arlequin as aq
from arlequin.cases.case.checks import Check
from arlequin.cases.case.parameters import Quantity
from arlequin.cases.reference.pulled_masses import PulledMasses
from arlequin.cases.shared.impact import energy_checks
from arlequin.cases.shared.vocabulary import Events
from arlequin.models.checks import non_negative, positive, positive_integer
from arlequin.models.types import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Code_Aster: time, s; number of the mass; position, m
PUBLISHED = ((0.02, 2, 0.11221), (0.15, 1, 1.35332), (0.15, 2, 1.80751), (0.339965, 2, 3.96813))
NEAR = 1e-4  # relative tolerance of published values
STICKS = 2  # the status of a point that sticks


@dataclass(frozen=True)
class Parameters:
    """The two masses of 5 kg of the benchmark."""

    first: Annotated[float, Quantity("kg", "mass on the floor", positive)] = 5.0
    second: Annotated[float, Quantity("kg", "mass that is pulled", positive)] = 5.0
    stiffness: Annotated[float, Quantity("N/m", "stiffness of the spring", positive)] = 1e4
    normal: Annotated[float, Quantity("N", "force that presses the first mass on the floor", positive)] = 1e4
    pull: Annotated[float, Quantity("N", "force on the second mass up to the release", non_negative)] = 3000.0
    release: Annotated[float, Quantity("s", "time at which the force ends", positive)] = 0.2
    static: Annotated[float, Quantity("", "static coefficient of friction", positive)] = 0.3
    dynamic: Annotated[float, Quantity("", "dynamic coefficient, at most the static one", non_negative)] = 0.2
    events: Events = "locate"
    steps: Annotated[int, Quantity("", "time steps up to the release", positive_integer)] = 2000
    duration: Annotated[float | None, Quantity("s", "duration; none: twice the time to the release", positive)] = None

    @property
    def step(self) -> float:
        """Δt, s: the release is the end of a step."""
        return self.release / self.steps

    @property
    def end(self) -> float:
        """Duration, s."""
        return 2.0 * self.release if self.duration is None else self.duration

    @property
    def phase(self) -> float:
        """ω Δt of the spring between both masses."""
        return float(np.sqrt(self.stiffness * (1.0 / self.first + 1.0 / self.second))) * self.step


def build(parameters: Parameters) -> aq.Study:
    p = parameters

    def pull(t: float) -> tuple[float, float]:
        return (p.pull if t < p.release else 0.0), 0.0

    masses = aq.PointMasses(
        "masses", ((0.0, 0.0), (p.normal / p.stiffness, 0.0)), (p.first, p.second), names={"first": 0, "second": 1},
        forces={"first": (0.0, -p.normal), "second": pull},
    )  # fmt: skip
    spring = aq.Spring("spring", masses.boundary("first"), masses.boundary("second"), stiffness=(p.stiffness, 0.0))
    floor = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))
    friction = aq.StaticDynamic(p.static, p.dynamic)
    contact = aq.Interface("floor", masses.boundary("first"), floor, aq.Unilateral(level="velocity"), friction=friction)
    system = aq.System([masses], springs=[spring], interfaces=[contact])
    return aq.Study(system, aq.Theta(0.5, p.events), p.end, p.step)


def reference(parameters: Parameters) -> PulledMasses:
    """The exact motion."""
    p = parameters
    return PulledMasses(p.first, p.second, p.stiffness, p.normal, p.pull, p.release, p.static, p.dynamic)


def motion(result: xarray.DataTree) -> CubicHermiteSpline:
    """x₁ and x₂, m, over time, s: cubic in each step."""
    part = result["part/masses"].dataset
    fields = (part[name].values[:, :, 0] for name in ("displacement", "velocity"))
    return CubicHermiteSpline(part["frame_time"].values, *fields)


def changes(result: xarray.DataTree) -> Array:
    """Instants (n,), s, at which the first mass slips, reverses or sticks; without location ends of steps."""
    if "event_time" in result.dataset:
        events = result.dataset["event_time"].values
        return np.asarray(events[np.isfinite(events)])
    stuck = result["interface/floor"].dataset["status"].values[:, 0] == STICKS
    stuck[0] = True
    state = np.where(stuck, 0.0, np.sign(result["part/masses"].dataset["velocity"].values[:, 0, 0]))
    return np.asarray(result.dataset["time"].values[1:][state[1:] != state[:-1]])


def tolerance(parameters: Parameters) -> float:
    """Tolerance of positions over the largest one: order 4 in ω Δt with located events, else 1; instants: `check`."""
    p = parameters
    if p.events == "locate":
        return max(1e-9, 0.5 * p.phase**4)
    return 0.3 * p.phase


def check(result: xarray.DataTree, parameters: Parameters) -> list[Check]:
    """Checks of the published positions, the motion, the changes of state, the friction loss and the balance."""
    p, exact, limit = parameters, reference(parameters), tolerance(parameters)
    time, spline = result["part/masses"].dataset["frame_time"].values, motion(result)
    positions = exact.positions(time)
    size = float(np.abs(positions).max())
    checks = []
    if exact == PulledMasses():
        published_points = [point for point in PUBLISHED if point[0] <= p.end]
        tolerance_at = NEAR if p.events == "locate" else max(NEAR, limit)
        checks = [
            Check(f"x{mass_number}({t:g} s), published", float(spline(t)[mass_number - 1]), value, tolerance_at, "m")
            for t, mass_number, value in published_points
        ]
    error = float(np.abs(spline(time) - positions).max()) / max(size, 1e-300)
    checks.append(Check("positions, largest error over the largest position", error, 0.0, limit, "1", "absolute"))
    events, instants = np.array([event.time for event in exact.events(p.end)]), changes(result)
    checks.append(Check("changes of state", instants.size, float(events.size), 0.0, "1", "absolute"))
    if events.size and instants.size == events.size:
        instant_error = float(np.abs(instants - events).max())
        tolerance_at = (10.0 * limit if p.events == "locate" else limit + p.phase) * p.step / p.phase  # step/phase: 1/ω
        checks.append(
            Check("changes of state, largest error of an instant", instant_error, 0.0, tolerance_at, "s", "absolute")
        )
    loss = float(result.dataset["energy"].sel(kind="friction").values[-1])
    work = p.static * p.normal * size
    checks.append(Check("friction loss", loss, exact.friction_loss(float(time[-1])), limit * work, "J", "absolute"))
    return [*checks, *energy_checks(result)]


def scalars(result: xarray.DataTree, parameters: Parameters) -> dict[str, aq.Scalar]:
    """Scalars: first slip, last change of state, final position of the first mass."""
    instants = changes(result)
    first_slip, last_change = (float(instants[0]), float(instants[-1])) if instants.size else (np.nan, np.nan)
    final_position = float(result["part/masses"].dataset["displacement"].values[-1, 0, 0])
    return {
        "first_slip": aq.Scalar(first_slip, "s", "time of the first slip"),
        "last_change": aq.Scalar(last_change, "s", "time of the last change of state"),
        "final_position": aq.Scalar(final_position, "m", "position of the first mass at the end"),
    }


def figures(result: xarray.DataTree, parameters: Parameters) -> dict[str, Any]:
    from arlequin import plots

    return {"energies": plots.energies(result), "motion": _motion_figure(result, parameters)}


def _motion_figure(result: xarray.DataTree, parameters: Parameters) -> "Figure":
    """Positions of both masses, velocity of the first, friction on it over the normal force."""
    from arlequin.plots import style

    p, exact, spline = parameters, reference(parameters), motion(result)
    time = result.dataset["time"].values
    fine, instants = np.linspace(0.0, time[-1], 2001), changes(result)
    exact_positions, exact_velocities, masses = (
        exact.positions(fine),
        exact.velocities(fine),
        result["part/masses"].dataset,
    )
    force = result["interface/floor"].dataset["force"].values[:, 0]
    with style.panels(3, 6.5, sharex=True) as (figure, panels):
        for k, name in enumerate(("first", "second")):
            label = "exact" if k == 0 else None
            panels[0].plot(fine, exact_positions[:, k], color=style.REFERENCE, linewidth=3.0, alpha=0.5, label=label)
            panels[0].plot(fine, spline(fine)[:, k], "--", color=style.COLOURS[k], label=f"{name} mass, computed")
        if exact == PulledMasses():
            published_points = np.array([(t, x) for t, _, x in PUBLISHED if t <= time[-1]])
            panels[0].plot(*published_points.T, "o", color=style.COLOURS[2], markersize=5, label="Code_Aster")
        panels[0].set_ylabel("Position (m)")
        panels[1].plot(fine, exact_velocities[:, 0], color=style.REFERENCE, linewidth=3.0, alpha=0.5)
        panels[1].plot(masses["frame_time"].values, masses["velocity"].values[:, 0, 0], "--", color=style.COLOURS[0])
        panels[1].set_ylabel("Velocity of the\nfirst mass (m/s)")
        # a mean over the step: drawn at its middle
        panels[2].plot(time[1:] - 0.5 * p.step, -force[1:] / p.normal, color=style.COLOURS[0])
        for level, name in ((p.static, "μ_s"), (p.dynamic, "μ_d")):
            panels[2].axhline(level, color=style.REFERENCE, linewidth=0.8, linestyle="--")
            panels[2].annotate(name, (0.995, level), xycoords=("axes fraction", "data"), ha="right", va="bottom")
        panels[2].set_ylabel("Friction over\nnormal force (1)")
        panels[2].set_xlabel("Time (s)")
        for axes in panels:
            for event in instants:
                axes.axvline(event, color=style.REFERENCE, linewidth=0.8, linestyle=":")
        panels[0].set_title("Dotted lines: computed changes of state", loc="left")
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    return figure
