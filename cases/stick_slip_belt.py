"""Stick-slip limit cycle of a mass on a spring, driven by a belt, with static and dynamic or Stribeck friction.

The frame is that of the belt, in which the end of the spring moves at −V: its pull −kVt, with a dashpot −cV, is a force
on the mass. Results are given for x = y + Vt, relative to the end of the spring. The mass starts at x = 0, carried by
the belt; from its first slip on the motion is periodic.

The reference is `arlequin.cases.reference.belt`: closed form for `law=static-dynamic`, integrated to 1e-12 for
`law=stribeck`, whose friction falls with the slip rate, implicitly in each step. Relative errors over the last period:

                                         period, s     error      amplitude, m    error
    static-dynamic, located, 2000 steps  0.67123890    6e-12      0.0141421356    6e-13
    stribeck, 5000 steps                 0.72860547    9e-8       0.0176000262    3e-7

The work of the belt in a period equals the dissipation of friction and dashpot plus the stored energy, to round-off.

Source: Leine, van Campen, de Kraker & van den Steen, Nonlinear Dynamics 16 (1998) 41–54.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import xarray
from scipy.interpolate import CubicHermiteSpline

import arlequin as aq
from arlequin.cases.case.checks import Check
from arlequin.cases.case.parameters import Quantity
from arlequin.cases.reference.belt import BeltOscillator
from arlequin.cases.shared.impact import energy_checks
from arlequin.cases.shared.vocabulary import EventsName
from arlequin.models.checks import non_negative, positive, positive_integer
from arlequin.models.types import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CLOSURE = 1e-10  # tolerance of the energy balance of a cycle over the work of the belt
NEAR = 1e-4  # relative tolerance of period and amplitude


@dataclass(frozen=True)
class Parameters:
    """A kilogram on a spring of 100 N/m, pressed by 10 N on a belt at 0.1 m/s; μ_s = 0.3, μ_d = 0.2."""

    mass: Annotated[float, Quantity("kg", "mass", positive)] = 1.0
    stiffness: Annotated[float, Quantity("N/m", "stiffness of the spring", positive)] = 100.0
    damping: Annotated[float, Quantity("N s/m", "dashpot beside the spring", non_negative)] = 0.0
    normal: Annotated[float, Quantity("N", "force that presses the mass on the belt", positive)] = 10.0
    velocity: Annotated[float, Quantity("m/s", "velocity of the belt", positive)] = 0.1
    static: Annotated[float, Quantity("", "static coefficient of friction", positive)] = 0.3
    dynamic: Annotated[float, Quantity("", "dynamic coefficient, below the static one", non_negative)] = 0.2
    law: Annotated[Literal["static-dynamic", "stribeck"], Quantity("", "friction law")] = "static-dynamic"
    stribeck_velocity: Annotated[float, Quantity("m/s", "velocity v_s of law=stribeck", positive)] = 0.05
    events: Annotated[
        EventsName | None,
        Quantity("", "events at the end of a step or located; none: locate, with law=stribeck step"),
    ] = None
    steps: Annotated[
        int | None,
        Quantity("", "time steps in a period; none: 2000, with events=step 5000", positive_integer),
    ] = None
    cycles: Annotated[int, Quantity("", "periods after the first slip", positive_integer)] = 4

    def __post_init__(self) -> None:
        if self.events == "locate" and self.law == "stribeck":
            raise aq.UserError.parameter("events", self.events, "must be step or none with law=stribeck")
        if self.cycles < 3:
            raise aq.UserError.parameter("cycles", self.cycles, "must be at least 3: one is measured")

    @property
    def located(self) -> bool:
        """Whether events are located."""
        return self.law == "static-dynamic" if self.events is None else self.events == "locate"

    @property
    def per_period(self) -> int:
        """Time steps in a period."""
        return self.steps if self.steps is not None else 2000 if self.located else 5000


def build(parameters: Parameters) -> aq.Study:
    p = parameters
    exact = reference(p)
    step = exact.period / p.per_period
    speed, stiffness, damping, normal = p.velocity, p.stiffness, p.damping, p.normal

    def drive(t: float) -> tuple[float, float]:
        return -(stiffness * t + damping) * speed, -normal

    mass = aq.PointMasses("mass", (0.0, 0.0), p.mass, forces={"all": drive})
    spring = aq.Spring("spring", mass.boundary("all"), stiffness=(stiffness, 0.0), damping=(damping, 0.0))
    belt = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))
    law: Any = aq.StaticDynamic(p.static, p.dynamic)
    if p.law == "stribeck":
        law = aq.Stribeck(p.static, p.dynamic, p.stribeck_velocity)
    contact = aq.Interface("belt", mass.boundary("all"), belt, aq.Unilateral(level="velocity"), friction=law)
    system = aq.System([mass], springs=[spring], interfaces=[contact])
    steps = p.cycles * p.per_period + int(np.ceil(max(exact.slips_from, 0.0) / speed / step))
    return aq.Study(system, aq.Theta(0.5, "locate" if p.located else "step"), steps * step, step)


def reference(parameters: Parameters) -> BeltOscillator:
    """Exact limit cycle."""
    p = parameters
    stribeck = p.stribeck_velocity if p.law == "stribeck" else None
    return BeltOscillator(p.mass, p.stiffness, p.damping, p.normal, p.velocity, p.static, p.dynamic, stribeck)


@dataclass(frozen=True)
class BeltCycle:
    """Measures of the last cycles of a run: times (s), x (m) and ẋ (m/s) at the ends of steps, relative to the
    spring's end; period, s; range of x, m; works over the last period, J: of belt, friction and dashpot, and the growth
    of kinetic and strain energy."""

    time: Array
    x: Array
    speed: Array
    period: float
    low: float
    high: float
    belt: float
    friction: float
    dashpot: float
    stored: float

    @classmethod
    def of(cls, result: xarray.DataTree, parameters: Parameters) -> "BeltCycle":
        """The period is the mean time between the passages of x through the middle of its range, upwards."""
        p, part = parameters, result["part/mass"].dataset
        time = part["frame_time"].values
        y, rate = (part[name].values[:, 0, 0] for name in ("displacement", "velocity"))
        x, speed = y + p.velocity * time, rate + p.velocity
        n = p.per_period
        last_cycles = slice(max(time.size - 1 - 2 * n, 0), None)
        spline = CubicHermiteSpline(time[last_cycles], x[last_cycles], speed[last_cycles])
        extrema = spline.derivative().roots(extrapolate=False)
        values = np.concatenate([x[last_cycles], spline(extrema[np.isfinite(extrema)])])
        low, high = float(values.min()), float(values.max())
        passages = spline.solve(0.5 * (low + high), extrapolate=False)
        passages = passages[spline(passages, 1) > 0.0]
        period = float(np.diff(passages).mean()) if passages.size > 1 else np.nan
        h, force = time[-1] / (time.size - 1), result["interface/belt"].dataset["force"].values[-n:, 0]
        energy = result.dataset["energy"]

        def grown(kind: str) -> float:
            values = energy.sel(kind=kind).values
            return float(values[-1] - values[-1 - n])

        stored = 0.5 * p.mass * speed**2 + 0.5 * p.stiffness * x**2
        # c ẋ² with the mean velocity of each step, ẋ = ẏ + V
        dashpot = 0.0
        if p.damping > 0.0:
            displacement = y[-1] - y[-1 - n]
            dashpot = grown("damping") + p.damping * p.velocity * (2.0 * displacement + p.velocity * n * h)
        return cls(
            time, x, speed, period, low, high, p.velocity * h * float(force.sum()), grown("friction"), dashpot,
            float(stored[-1] - stored[-1 - n]),
        )  # fmt: skip

    @property
    def amplitude(self) -> float:
        """Half the range of x, m."""
        return 0.5 * (self.high - self.low)


def check(result: xarray.DataTree, parameters: Parameters) -> list[Check]:
    """Checks of the period, the amplitude, the works of a cycle, the first slip, and the balance."""
    p, exact, cycle = parameters, reference(parameters), BeltCycle.of(result, parameters)
    imbalance = abs(cycle.belt - cycle.friction - cycle.dashpot - cycle.stored) / cycle.belt
    growth = abs(cycle.stored) / cycle.belt
    tolerance = NEAR * max(1.0, (500.0 / p.per_period) ** 4) if p.located else NEAR * max(1.0, 5e3 / p.per_period)
    return [
        Check("period of the limit cycle", cycle.period, exact.period, tolerance, "s"),
        Check("amplitude", cycle.amplitude, exact.amplitude, tolerance, "m"),
        Check("belt's work in a period less what it goes to, relative", imbalance, 0.0, CLOSURE, "1", "absolute"),
        Check("growth of the stored energy in a period, relative", growth, 0.0, tolerance, "1", "absolute"),
        *energy_checks(result),
    ]


def scalars(result: xarray.DataTree, parameters: Parameters) -> dict[str, aq.Scalar]:
    """Scalars of the limit cycle."""
    cycle = BeltCycle.of(result, parameters)
    return {
        "period": aq.Scalar(cycle.period, "s", "period of the limit cycle"),
        "amplitude": aq.Scalar(cycle.amplitude, "m", "half the range of the position"),
        "belt_work": aq.Scalar(cycle.belt, "J", "work of the belt in a period"),
        "friction_loss": aq.Scalar(cycle.friction, "J", "what friction takes of it"),
    }


def figures(result: xarray.DataTree, parameters: Parameters) -> dict[str, Any]:
    from arlequin import plots

    belt_cycle = BeltCycle.of(result, parameters)
    return {
        "cycle": _cycle_figure(belt_cycle, parameters),
        "friction": _friction_figure(result, belt_cycle, parameters),
        "energies": plots.energies(result),
    }


def _cycle_figure(belt_cycle: BeltCycle, parameters: Parameters) -> "Figure":
    """Phase portrait with the exact limit cycle, and the position over the time."""
    from arlequin.plots import style

    p, exact = parameters, reference(parameters)
    x, speed = exact.cycle(np.linspace(0.0, exact.period, 2001))
    scale, unit = style.prefix(x, "m")
    rate_scale, rate_unit = style.prefix(speed, "m/s")
    with style.panels(2, 6.0, ratios=(3.0, 1.2)) as (figure, panels):
        portrait, history = panels
        portrait.plot(scale * x, rate_scale * speed, color=style.REFERENCE, linewidth=3.0, alpha=0.5, label="exact")
        portrait.plot(
            scale * belt_cycle.x, rate_scale * belt_cycle.speed, "--", color=style.COLOURS[0], label="computed"
        )
        portrait.axhline(rate_scale * p.velocity, color=style.REFERENCE, linewidth=0.8, linestyle=":")
        portrait.set_xlabel(style.label("Position", unit))
        portrait.set_ylabel(style.label("Velocity", rate_unit))
        portrait.set_title("Dotted line: velocity of the belt", loc="left")
        history.plot(belt_cycle.time, scale * belt_cycle.x, color=style.COLOURS[0])
        history.set_xlabel("Time (s)")
        history.set_ylabel(style.label("Position", unit))
        figure.legend(*portrait.get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return figure


def _friction_figure(result: xarray.DataTree, belt_cycle: BeltCycle, parameters: Parameters) -> "Figure":
    """Friction over the normal force, over the slip rate of the belt, in the last period."""
    from arlequin.plots import style

    p, exact = parameters, reference(parameters)
    n = p.per_period
    force = result["interface/belt"].dataset["force"].values[-n:, 0] / p.normal
    rate = p.velocity - 0.5 * (belt_cycle.speed[-n:] + belt_cycle.speed[-n - 1 : -1])
    fine = np.linspace(0.0, 1.05 * rate.max(), 501)
    scale, unit = style.prefix(fine, "m/s")
    with style.panels(1, 3.2) as (figure, (axes,)):
        slips, mu = [0.0, 0.0, *scale * fine], [min(0.0, force.min()), p.static, *exact.friction(fine)]
        axes.plot(slips, mu, color=style.REFERENCE, linewidth=3.0, alpha=0.5, label="law")
        axes.plot(scale * rate, force, ".", color=style.COLOURS[0], markersize=3, label="computed, mean of a step")
        axes.set_xlabel(style.label("Slip rate", unit))
        axes.set_ylabel("Friction over normal force (1)")
        figure.legend(*axes.get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return figure
