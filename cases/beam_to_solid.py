"""Simply supported beam whose loaded piece is replaced by a 3D solid during the run (SDNL139).

A steel bar of circular section, 0.249 m long, is bent by F sin ωt at a point. Up to the switch it is a beam, then the
piece around the load is a solid, coupled to the beams below and above by volume junctions. The first natural
frequency is 320 Hz, the force has 1.02 Hz: the motion is quasi-static, except for undamped free oscillations. From rest
their amplitude is 0.32 % of the deflection; Code_Aster damps them numerically. Here the beam starts with the velocity
of the forced motion instead (`start`), which excites none, and the scheme has no damping.

    deflection at z = 0.03 m         2.2115 s        2.7065 s
    Code_Aster, published        −3.26636e-4 m    3.26380e-4 m
    Code_Aster, switched run     −3.23338e-4 m    3.23085e-4 m
    exact, forced motion         −3.26600e-4 m    3.26344e-4 m
    exact, from rest             −3.27234e-4 m    3.27204e-4 m

The force is distributed uniformly over a slice of the bar in both models: under a point load the deflection of the
solid is infinite. A slice of the length h deflects the bar by F h² M₁/(24 EI) less than a force F at its middle does,
with M₁ the bending moment at the load under a unit force at the gauge: 5e-5 of the deflection.

Source of the case: Code_Aster V5.02.139 (SDNL139).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import xarray
from scipy.interpolate import CubicSpline

import arlequin as aq
from arlequin.cases.case.checks import Check
from arlequin.cases.case.parameters import Quantity
from arlequin.cases.reference.supported_beam import SupportedBeam
from arlequin.cases.shared.impact import stored_energy, worst, worst_balance
from arlequin.cases.shared.meshes import cylinder
from arlequin.cases.shared.vocabulary import Density, FieldsEvery, Poisson, Young
from arlequin.models.checks import finite, non_negative, positive, positive_integer
from arlequin.models.types import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PUBLISHED = ((2.2115, -3.26636e-4), (2.7065, 3.26380e-4))  # Code_Aster: time, s; deflection, m
NEAR = 2e-3  # relative tolerance of published values
SWITCH_LOSS = 1e-3  # limit of the energy lost by the switch over the largest stored energy
# tolerances relative to the energy, set by round-off of a slender bar on supports with steps of many periods;
# with ten times the default step the balance is 1e-12 or 5e-11, depending on the summation order of the machine
BALANCE, JUNCTION = 1e-10, 1e-10
ZOOM = "zoom"  # the name of the levels
BEAM, SOLID = 0, 1  # the levels
MIDDLE_PARTS = ("middle", "solid")  # middle part of each level
# parameters of the discretisation and of the model, with which the published values still hold
NUMERICAL: dict[str, Any] = {
    "model": "switched", "slice": 2.5e-3, "glue": 0.01, "switch": 2.0, "duration": 3.0, "step": 5e-4,
    "beam_size": 0.01, "solid_size": 5e-3, "across": 2, "modes": None, "fields_every": 10,
}  # fmt: skip
Time = Callable[[float], float]
_ALONG: dict[str, Any] = {"direction": (0.0, 0.0, 1.0)}
_COMPONENTS = ("x", "y", "z", "rx", "ry", "rz")
_SUPPORT = dict.fromkeys(("x", "y", "z", "rz"), 0.0)  # rotations across the axis are free


@dataclass(frozen=True)
class Parameters:
    """The bar of the benchmark; z = 0 is the lower end of the solid."""

    model: Annotated[
        Literal["switched", "beam", "solid"], Quantity("", "beam, then solid; or one of them from the start to the end")
    ] = "switched"
    start: Annotated[Literal["forced", "rest"], Quantity("", "velocity of the forced motion at t = 0, or none")] = (
        "forced"
    )
    below: Annotated[float, Quantity("m", "length of the bar below the solid", positive)] = 0.099
    zoom: Annotated[float, Quantity("m", "length of the solid", positive)] = 0.05
    above: Annotated[float, Quantity("m", "length of the bar above the solid", positive)] = 0.1
    radius: Annotated[float, Quantity("m", "radius of the section", positive)] = 5e-3
    young: Young = 2e11
    poisson: Poisson = 0.3
    density: Density = 7800.0
    force: Annotated[float, Quantity("N", "amplitude of the force across the bar", finite)] = -100.0
    frequency: Annotated[float, Quantity("rad/s", "angular frequency of the force", positive)] = 6.4
    load: Annotated[float, Quantity("m", "z of the force", positive)] = 0.02
    slice: Annotated[float, Quantity("m", "length of the bar on which the force acts", positive)] = 2.5e-3
    gauge: Annotated[float, Quantity("m", "z of the deflection that is looked at", positive)] = 0.03
    glue: Annotated[float, Quantity("m", "length of a junction", positive)] = 0.01
    switch: Annotated[float, Quantity("s", "time of the switch, model=switched", non_negative)] = 2.0
    duration: Annotated[float, Quantity("s", "duration", positive)] = 3.0
    step: Annotated[float, Quantity("s", "time step", positive)] = 5e-4
    beam_size: Annotated[float, Quantity("m", "largest cell of the beams", positive)] = 0.01
    solid_size: Annotated[float, Quantity("m", "largest cell of the solid along the bar", positive)] = 5e-3
    across: Annotated[int, Quantity("", "quadratic cells of the solid across the radius", positive_integer)] = 2
    modes: Annotated[int | None, Quantity("", "modes to which the solid is reduced; none: all", positive_integer)] = (
        None
    )
    fields_every: FieldsEvery = 10

    def __post_init__(self) -> None:
        low, high = self.glue, self.zoom - self.glue
        if not low < high:
            rule = f"must be less than half of zoom = {self.zoom:g} m"
            raise aq.UserError.parameter("glue", self.glue, rule)
        slice_start, slice_end = self.load - 0.5 * self.slice, self.load + 0.5 * self.slice
        if not (low <= slice_start and slice_end <= high):
            rule = f"must have the slice of {self.slice:g} m between the junctions, {low:g} to {high:g} m"
            raise aq.UserError.parameter("load", self.load, rule)
        if not (low <= self.gauge <= high):
            rule = f"must be between the junctions, {low:g} to {high:g} m"
            raise aq.UserError.parameter("gauge", self.gauge, rule)

    @cached_property
    def material(self) -> aq.LinearElastic:
        return aq.LinearElastic(young=self.young, poisson=self.poisson, density=self.density)

    @cached_property
    def section(self) -> aq.Section:
        return aq.Section.circle(self.radius, self.poisson)

    @property
    def largest(self) -> float:
        """Largest static deflection at the gauge, m."""
        return abs(float(reference(self).deflection(self.below + self.gauge, self.below + self.load, self.force)))


def build(parameters: Parameters) -> aq.Study:
    p = parameters
    level = SOLID if p.model == "solid" else BEAM
    velocity = {} if p.start == "rest" else forced_velocity(p, level)
    bar = system(p) if p.model == "switched" else configuration(p, level)
    return aq.Study(replace(bar, velocity=velocity), aq.Theta(0.5), p.duration, p.step, p.fields_every)


def system(parameters: Parameters, time: Time | None = None) -> aq.System:
    """The bar with both models of its middle, under F f(t); by default sin ωt."""
    p = parameters
    shared = _beams(p)
    load_factor = (lambda t: float(np.sin(p.frequency * t))) if time is None else time
    levels = [_beam_level(p, shared, load_factor), _solid_level(p, shared, load_factor)]
    return aq.System(shared, levels=[aq.Levels(ZOOM, levels, choose=aq.levels.SwitchTimes({p.switch: SOLID}))])


def configuration(parameters: Parameters, level: int, time: Time | None = None) -> aq.System:
    """The bar with its middle as a beam, level 0, or as a solid, level 1, without a switch."""
    return system(parameters, time).at({ZOOM: level})


def _beams(p: Parameters) -> tuple[aq.Beam, aq.Beam]:
    """The beams below and above of both models, which overlap the solid in the junctions."""
    low, high = p.glue, p.zoom - p.glue
    lower, upper = stations((-p.below, 0.0, low), p.beam_size), stations((high, p.zoom, p.zoom + p.above), p.beam_size)
    return (
        aq.Beam("lower", aq.mesh.line(lower), p.material, p.section, imposed={"left": _SUPPORT}, **_ALONG),
        aq.Beam("upper", aq.mesh.line(upper), p.material, p.section, imposed={"right": _SUPPORT}, **_ALONG),
    )


def _cell_boundaries(p: Parameters) -> tuple[float, ...]:
    """Coordinates z of cell ends, m: the junctions, the loaded slice between them, the gauge."""
    limits_of_cells = (p.glue, p.load - 0.5 * p.slice, p.load + 0.5 * p.slice, p.gauge, p.zoom - p.glue)
    z = np.sort(limits_of_cells)
    return tuple(z[np.diff(z, prepend=-np.inf) > 1e-9 * p.zoom].tolist())


def stations(boundaries: tuple[float, ...], size: float) -> Array:
    """Ends of cells (n,), m, of at most the given size, between increasing places."""
    pieces = [np.linspace(a, b, 1 + int(np.ceil((b - a) / size - 1e-9)))[1:] for a, b in pairwise(boundaries)]
    return np.concatenate([boundaries[:1], *pieces])


def _slice_load(p: Parameters, time: Time, area: float) -> Any:
    """Load density F f(t) over the slice, N/m³; N/m for area = 1."""
    density = p.force / (p.slice * area)

    def force(x: Array, t: float) -> tuple[Array, Array, Array]:
        zero = np.zeros_like(x[2])
        return density * time(t) * (np.abs(x[2] - p.load) < 0.5 * p.slice), zero, zero

    return force


def _beam_level(p: Parameters, shared: tuple[aq.Beam, aq.Beam], time: Time) -> aq.levels.Level:
    """Level of the middle beam, rigidly connected to the adjacent beams."""
    mesh = aq.mesh.line(stations(_cell_boundaries(p), p.beam_size))
    middle = aq.Beam("middle", mesh, p.material, p.section, distributed=_slice_load(p, time, 1.0), **_ALONG)
    ends = ("below", shared[0].boundary("right"), "left"), ("above", shared[1].boundary("left"), "right")
    relations = [
        aq.Relation(f"{name}_{component}", [(middle.boundary(end), component, 1.0), (adjacent, component, -1.0)])
        for name, adjacent, end in ends
        for component in _COMPONENTS
    ]
    return aq.levels.Level(parts=[middle], relations=relations)


def _solid_level(p: Parameters, shared: tuple[aq.Beam, aq.Beam], time: Time) -> aq.levels.Level:
    """Level of the solid with its junctions.

    Arcs of quadratic cells cut segments off the circle: of N arcs of 2φ = 2π/N, the area is N R² sin φ (4 − cos φ)/3.
    R is enlarged, so that the section has the area of the circle, and its moment of inertia up to 2e-6.
    """
    arc = np.pi / (8 * max(1, p.across // 2))
    radius = p.radius * float(np.sqrt(3.0 * arc / (np.sin(arc) * (4.0 - np.cos(arc)))))
    heights = stations((0.0, *_cell_boundaries(p), p.zoom), p.solid_size)
    mesh = cylinder(radius, heights, p.across, order=2)
    part: Any = aq.Solid("solid", mesh, p.material, body_force=_slice_load(p, time, p.section.area))
    if p.modes is not None:
        part = aq.Modal(part, p.modes)
    junctions = [aq.BeamJunction(beam, part, name=f"{beam.name}_end") for beam in shared]
    return aq.levels.Level(parts=[part], junctions=junctions)


def forced_velocity(parameters: Parameters, level: int) -> dict[str, Array]:
    """Velocities (node, component) of the forced motion at t = 0, by part: ω times the static displacement.

    Relative error (ω/Ω)² = 1e-5, Ω the lowest natural frequency; the remaining free oscillations are of (ω/Ω)³.
    """
    result = aq.simulate(configuration(parameters, level, lambda t: t), aq.Static(), duration=1.0, step=1.0)
    velocities = {}
    for name, group in result["part"].children.items():
        fields = [group.dataset[key].values[-1] for key in ("displacement", "rotation") if key in group.dataset]
        velocities[name] = parameters.frequency * np.concatenate(fields, axis=1)
    return velocities


def reference(parameters: Parameters) -> SupportedBeam:
    """Exact solution of the bar as one beam."""
    p = parameters
    return SupportedBeam(p.below + p.zoom + p.above, p.material, p.section)


def exact(parameters: Parameters, t: Array) -> Array:
    """Exact deflection (t,) at the gauge under a force at a point, m."""
    p = parameters
    beam_arguments = p.below + p.gauge, p.below + p.load, p.force, p.frequency
    return reference(p).motion(t, *beam_arguments, rest=p.start == "rest")[:, 0]


def deflection(result: xarray.DataTree, parameters: Parameters) -> CubicSpline:
    """Deflection of the axis at the gauge, m, over time, s, of the active part: a spline through the frames.

    It uses displacements only: oscillations far above 1/Δt after a switch have large velocities, small displacements.
    """
    deflections = []
    for name in MIDDLE_PARTS:
        if name in result["part"].children:
            group = result[f"part/{name}"].dataset
            node = int(np.abs(group["position"].values - (0.0, 0.0, parameters.gauge)).max(axis=1).argmin())
            deflections.append(group["displacement"].values[:, node, 0])
    return CubicSpline(
        result.dataset["frame_time"].values, np.where(np.isnan(deflections[0]), deflections[-1], deflections[0])
    )


def published(parameters: Parameters) -> tuple[tuple[float, float], ...]:
    """Times, s, and published deflections, m; none for other bars or initial states."""
    return PUBLISHED if replace(parameters, **NUMERICAL) == Parameters() else ()


def free_share(parameters: Parameters) -> float:
    """Amplitude of free oscillations over that of the forced motion: ω/Ω of the lowest mode from rest, else 0."""
    p = parameters
    if p.start != "rest":
        return 0.0
    return float(p.frequency / (2 * np.pi * reference(p).frequencies(1)[0]))


def check(result: xarray.DataTree, parameters: Parameters) -> list[Check]:
    """Checks of the published values, of the exact motion before and after the switch, and of the energies.

    The frequency of computed free oscillations differs from the exact one by (Ω Δt)²/12: from rest, twice their
    amplitude is allowed.
    """
    p, spline = parameters, deflection(result, parameters)
    time, limit = spline.x, NEAR + 2.0 * free_share(p)
    checks = [
        Check(f"deflection at {t:g} s, published", float(spline(t)), value, NEAR, "m")
        for t, value in published(p)
        if t <= time[-1]
    ]
    error = np.abs(spline(time) - exact(p, time)) / p.largest
    spans = {"as a beam": time <= p.switch, "as a solid": time > p.switch}
    if p.model != "switched":
        spans = {f"as a {p.model}": time >= 0.0}
    for name, chosen in spans.items():
        if chosen.any():
            worst_error = float(error[chosen].max())
            checks.append(Check(f"deflection {name}, largest error", worst_error, 0.0, limit, "1", "absolute"))
    if p.model == "switched" and time[-1] > p.switch:
        loss = abs(float(result.dataset["energy"].sel(kind="switch").values[-1]))
        stored = float(stored_energy(result).max())
        checks.append(
            Check("energy lost by the switch, of the largest stored", loss / stored, 0.0, SWITCH_LOSS, "1", "at most")
        )
    checks.append(Check("energy balance, worst step", worst_balance(result), 0.0, BALANCE, "1", "absolute"))
    checks.append(Check("work of the junctions", worst(result, "junction"), 0.0, JUNCTION, "1", "absolute"))
    return checks


def scalars(result: xarray.DataTree, parameters: Parameters) -> dict[str, aq.Scalar]:
    """Largest deflection, and largest error of the deflection."""
    spline = deflection(result, parameters)
    values = spline(spline.x)
    error = float(np.abs(values - exact(parameters, spline.x)).max()) / parameters.largest
    return {
        "largest_deflection": aq.Scalar(float(np.abs(values).max()), "m", "largest deflection at the gauge"),
        "deflection_error": aq.Scalar(error, "1", "largest error of the deflection, of the largest static one"),
    }


def figures(result: xarray.DataTree, parameters: Parameters) -> dict[str, Any]:
    from arlequin import plots

    p, figures_by_name = (
        parameters,
        {"energies": plots.energies(result), "deflection": _deflection_figure(result, parameters)},
    )
    displacements = {
        name: group.dataset["displacement"].values[:, 0, 0] for name, group in result["part"].children.items()
    }
    if "solid" in displacements and np.isfinite(displacements["solid"]).any():
        spline = deflection(result, p)
        size = np.where(np.isfinite(displacements["solid"]), np.abs(spline(spline.x)), -1.0)
        frame = int(size.argmax())
        magnify = 10.0 ** np.floor(np.log10(0.5 * (p.below + p.zoom + p.above) / max(float(size[frame]), 1e-12)))
        active_parts = tuple(name for name, values in displacements.items() if np.isfinite(values[frame]))
        figures_by_name["shape"] = plots.shape(
            result, "displacement", frame=frame, component="x", magnify=float(magnify), parts=active_parts
        )
    return figures_by_name


def _deflection_figure(result: xarray.DataTree, parameters: Parameters) -> "Figure":
    """Deflection at the gauge, computed, exact and published; its error."""
    from arlequin.plots import style

    p, spline = parameters, deflection(result, parameters)
    time = spline.x
    fine = np.linspace(time[0], time[-1], 2001)
    factor, unit = style.prefix(spline(time), "m")
    with style.panels(2, 5.0, sharex=True) as (figure, (above, below)):
        above.plot(fine, factor * exact(p, fine), color=style.REFERENCE, linewidth=3.0, alpha=0.5, label="exact")
        after = p.model == "solid" or (time > p.switch) & (p.model == "switched")
        for name, chosen, colour in (("beam", ~np.broadcast_to(after, time.shape), 0), ("solid", after, 1)):
            chosen = np.broadcast_to(chosen, time.shape)
            if chosen.any():
                above.plot(time[chosen], factor * spline(time[chosen]), "--", color=style.COLOURS[colour], label=name)
                error = (spline(time[chosen]) - exact(p, time[chosen])) / p.largest
                below.plot(time[chosen], error, color=style.COLOURS[colour])
        published_points = np.array([point for point in published(p) if point[0] <= time[-1]])
        if published_points.size:
            above.plot(
                published_points[:, 0],
                factor * published_points[:, 1],
                "o",
                color=style.COLOURS[2],
                markersize=5,
                label="Code_Aster",
            )
        if p.model == "switched":
            for axes in (above, below):
                axes.axvline(p.switch, color=style.REFERENCE, linewidth=0.8, linestyle=":")
        above.set_ylabel(style.label("Deflection", unit))
        below.set_ylabel("Error over the\nlargest deflection (1)")
        below.set_xlabel("Time (s)")
        figure.legend(*above.get_legend_handles_labels(), loc="outside upper center", ncols=4)
    return figure
