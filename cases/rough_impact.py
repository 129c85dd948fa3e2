"""Impact of a bar or a ball on a rough wall: contact duration and restitution as functions of roughness.

The contact law is the table of `rough_press`, fitted to half-space solutions for samples of a self-affine roughness. On
a smooth wall a bar of velocity V has the pressure ρcV for 2L/c and leaves with V. Asperities of height h make the
pressure rise over the time h/V: contact begins earlier and ends later, and part of the energy remains in waves, so that
the rebound is slower. These effects are of first order in the roughness. The exact history for any law follows from a
delay equation (`arlequin.cases.reference.layered_rod`).

For a ball (Hertz: cells and step as in `sphere_impact`) the compliance of the asperities prolongs the contact.

Default bar (400 elements): pressure within 0.04 % of the exact history (L1), contact 10.6 % longer than 2L/c, centre
slower by 7.2e-5; both effects are of first order in the height (figure `roughness`). For a ball of 20 mm at 3 cm/s on
0.09 µm rms, 1/22 of its approach, the contact is 2.1 % longer than on a smooth wall.

Source of the question: J. A. Greenwood and J. H. Tripp, J. Appl. Mech. 34 (1967) 153–159 (rough spheres).
"""

from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np
import xarray

import arlequin as aq
from arlequin.cases import sphere_impact
from arlequin.cases.case.checks import Check
from arlequin.cases.case.parameters import Quantity
from arlequin.cases.reference.layered_rod import LayeredRod
from arlequin.cases.reference.measures import l1_error
from arlequin.cases.shared.impact import (
    contact_ends,
    energy_checks,
    impact_scalars,
    mean_pressures,
    momentum_check,
    rigid_velocity,
)
from arlequin.cases.shared.roughness import (
    Cutoff,
    Flat,
    Hardness,
    Hurst,
    Law,
    Octaves,
    Roughness,
    Seeds,
    Slope,
    history_figure,
    law_of,
    roughness_figure,
)
from arlequin.cases.shared.vocabulary import Courant, Density, FieldsEvery, Poisson, ThetaValue, Young
from arlequin.models.checks import positive, positive_integer

LEVEL = 0.01  # least pressure counted as contact, over ρcV


@dataclass(frozen=True)
class Parameters:
    """Default: steel bar of 0.1 m at 0.5 m/s on a wall of 0.9 µm rms; ball with the data of `sphere_impact`."""

    body: Annotated[Literal["bar", "ball"], Quantity("", "impacting body")] = "bar"
    length: Annotated[float, Quantity("m", "length of the bar", positive)] = 0.1
    radius: Annotated[float, Quantity("m", "radius of the ball", positive)] = 0.02
    young: Young = 2e11
    poisson: Poisson = 0.3
    density: Density = 7800.0
    velocity: Annotated[float, Quantity("m/s", "impact velocity", positive)] = 0.5
    hurst: Hurst = 0.8
    cutoff: Cutoff = 20e-6
    octaves: Octaves = 5
    flat: Flat = 3
    slope: Slope = 0.1
    law: Law = "half-space"
    hardness: Hardness = 3e9
    seeds: Seeds = 8
    smooth: Annotated[Literal["no", "yes"], Quantity("", "unilateral contact instead of asperities")] = "no"
    elements: Annotated[int, Quantity("", "elements of the bar", positive_integer)] = 400
    courant: Courant = 0.7071
    cells: Annotated[int, Quantity("", "cells over the largest contact radius of the ball", positive_integer)] = 6
    steps: Annotated[int, Quantity("", "steps over the Hertzian contact duration of the ball", positive_integer)] = 200
    theta: ThetaValue = 0.5
    fields_every: FieldsEvery = 10


def laws(parameters: Parameters) -> tuple[Any, ...]:
    """Contact law of the wall."""
    return (aq.Unilateral(),) if parameters.smooth == "yes" else (law_of(parameters).law,)


def start(parameters: Parameters) -> float:
    """Initial gap, m: height of the asperities."""
    return 0.0 if parameters.smooth == "yes" else float(law_of(parameters).law.height)


def ball(parameters: Parameters) -> sphere_impact.Parameters:
    """Parameters of the smooth impact."""
    p = parameters
    return sphere_impact.Parameters(
        radius=p.radius, young=p.young, poisson=p.poisson, density=p.density, velocity=p.velocity, cells=p.cells,
        steps=p.steps, theta=p.theta, fields_every=p.fields_every,
    )  # fmt: skip


def build(parameters: Parameters) -> aq.Study:
    p = parameters
    if p.body == "ball":
        smooth = sphere_impact.build(ball(p))
        contact = smooth.system.interfaces[0]
        wall = aq.RigidPlane(point=(0.0, -start(p)), normal=(0.0, 1.0))
        system = replace(smooth.system, interfaces=[replace(contact, master=wall, normal=laws(p))])
        duration = smooth.duration + 2.0 * start(p) / p.velocity
        return replace(smooth, system=system, duration=duration)
    gap = start(p)
    mesh = aq.mesh.interval(gap, gap + p.length, cells=p.elements)
    bar = aq.Bar("bar", mesh, aq.LinearElastic(young=p.young, density=p.density))
    contact = aq.Interface("contact", bar.boundary("left"), aq.RigidPlane(point=0.0, normal=1.0), laws(p))
    system = aq.System([bar], interfaces=[contact], velocity=(-p.velocity,))
    exact = reference(p)
    step = p.courant * p.length / p.elements / exact.wave_speed
    return aq.Study(system, aq.Theta(p.theta), exact.duration - 2.0 * step, step, p.fields_every)


def reference(parameters: Parameters) -> LayeredRod:
    """Exact history of the bar on the asperities."""
    p = parameters
    law = law_of(p).law
    transit = 2.0 * p.length / np.sqrt(p.young / p.density)
    return LayeredRod(
        p.length, p.young, p.density, p.velocity, start(p), law.pressure, 1.5 * transit + 4.0 * start(p) / p.velocity
    )


@dataclass(frozen=True)
class ImpactMeasures:
    """Contact duration (pressure above 1 % of ρcV), s, and final velocity of the centre over V."""

    duration: float
    restitution: float


def measured(result: xarray.DataTree, parameters: Parameters) -> ImpactMeasures:
    """Measures of a run; for a ball: force above 1 % of its maximum."""
    p = parameters
    edges, pressure = mean_pressures(result)
    if p.body == "ball":
        force = result["interface/contact"].dataset["force"].sel(component="y").values[1:]
        pressure, level = force, LEVEL * force.max()
    else:
        level = LEVEL * p.velocity * np.sqrt(p.young * p.density)
    begin, end = contact_ends(edges, pressure, level)
    axis, part = ("y", "ball") if p.body == "ball" else ("x", "bar")
    return ImpactMeasures(end - begin, rigid_velocity(result, part, axis) / p.velocity)


def exact_impact(exact: LayeredRod) -> ImpactMeasures:
    """Measures of the reference."""
    time = np.linspace(0.0, exact.duration, 20001)
    high = np.flatnonzero(exact.pressure(time) > LEVEL * exact.impedance * exact.velocity)
    return ImpactMeasures(float(time[high[-1]] - time[high[0]]), exact.restitution())


def check(result: xarray.DataTree, parameters: Parameters) -> list[Check]:
    p, computed = parameters, measured(result, parameters)
    checks = []
    if p.body == "bar" and p.smooth == "no":
        exact = reference(p)
        expected, error = exact_impact(exact), l1_error(*mean_pressures(result), exact)
        checks += [
            Check("pressure, L1 error over the impulse", error, 0.0, 0.02, "1", "at most"),
            Check("duration of the contact", computed.duration, expected.duration, 0.02, "s"),
            Check("rebound velocity over V", computed.restitution, expected.restitution, 0.01, "1"),
        ]
    elif p.body == "bar":
        transit = 2.0 * p.length / np.sqrt(p.young / p.density)
        checks.append(Check("duration of the contact", computed.duration, transit, 0.02, "s"))
        checks.append(Check("rebound velocity over V", computed.restitution, 1.0, 0.02, "1"))
    else:
        smooth = sphere_impact.reference(ball(p))
        time = np.linspace(0.0, smooth.duration, 20001)
        hertz = float(np.ptp(time[smooth.force(time) > LEVEL * smooth.peak.load]))
        kind: Any = "at least" if p.smooth == "no" else "relative"
        checks.append(
            Check("duration of the contact, Hertz", computed.duration, hertz, 0.02 * (kind == "relative"), "s", kind)
        )
    axis, part = ("y", "ball") if p.body == "ball" else ("x", "bar")
    return [
        *checks,
        momentum_check(result, (part,), (axis,), "contact"),
        *energy_checks(result),
    ]


def scaled(parameters: Parameters, factor: float) -> Parameters:
    """Parameters with wavelengths, and thus heights, multiplied by a factor."""
    return replace(parameters, cutoff=factor * parameters.cutoff)


def scalars(result: xarray.DataTree, parameters: Parameters) -> dict[str, aq.Scalar]:
    """Scalars of the impact; contact duration as in the check, without negligible pressures at its ends."""
    p, measures = parameters, measured(result, parameters)
    axis = "y" if p.body == "ball" else "x"
    span = aq.Scalar(measures.duration, "s", "from the first to the last step with more than 1 % of the pressure")
    return impact_scalars(result, p.velocity, measures.restitution * p.velocity, axis) | {"contact_span": span}


def figures(result: xarray.DataTree, parameters: Parameters) -> dict[str, Any]:
    from arlequin import plots

    p = parameters
    figures_by_name = {"energies": plots.energies(result)}
    if p.body == "bar" and p.smooth == "no":
        factors = 2.0 ** -np.arange(0.0, 6.5, 0.5)
        heights = [Roughness.of(scaled(p, f)).moments.rms_height for f in factors]
        impacts = [exact_impact(reference(scaled(p, f))) for f in factors]
        figures_by_name["pressure"] = history_figure(result, reference(p))
        figures_by_name["roughness"] = roughness_figure(
            np.array(heights), impacts, p, (heights[0], measured(result, p))
        )
    return figures_by_name
