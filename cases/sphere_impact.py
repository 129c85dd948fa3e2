"""Hertzian impact of a ball on a rigid plane: duration, peak force and force history.

Axisymmetric model, or a quarter of the ball in 3D; the whole height of the ball is meshed. Mesh and time step follow
from the reference: `cells` over the largest contact radius a, `steps` over the duration T. Hertz's theory assumes a
half-space and quasi-static contact, valid for a/R → 0: a/R = (3.93 ρV²/E*)^{1/5}, 1 % at 3 cm/s on steel, where T is 32
wave transits through the ball and back.
"""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
import xarray
from numpy.typing import NDArray

import arlequin as aq
from arlequin.cases.case.checks import Check
from arlequin.cases.case.parameters import Quantity
from arlequin.cases.reference.hertz_impact import SphereImpact
from arlequin.cases.reference.measures import total_variation
from arlequin.cases.shared.impact import centre_velocity, contact_ends, energy_checks, impact_scalars, momentum_check
from arlequin.cases.shared.meshes import upright_half_disc, upright_quarter_ball
from arlequin.cases.shared.solid_impact import force_panels
from arlequin.cases.shared.vocabulary import Density, FieldsEvery, ThetaValue, Young, scheme_of
from arlequin.models.checks import positive, positive_integer, within

ZONE = 1.5  # half-width of the refined surface over the largest contact radius
SHARE = {"axisymmetric": 1.0, "solid": 0.25}  # fraction of the ball in the model


@dataclass(frozen=True)
class Parameters:
    """Default: steel ball of radius 20 mm at 3 cm/s."""

    geometry: Annotated[
        Literal["axisymmetric", "solid"], Quantity("", "axisymmetric model, or a quarter of the ball in 3D")
    ] = "axisymmetric"
    radius: Annotated[float, Quantity("m", "radius of the ball", positive)] = 0.02
    young: Young = 2.0e11
    poisson: Annotated[float, Quantity("", "Poisson's ratio", within, 0.0, 0.49)] = 0.3
    density: Density = 7800.0
    velocity: Annotated[float, Quantity("m/s", "impact velocity", positive)] = 0.03
    cells: Annotated[int, Quantity("", "cells over the largest contact radius", positive_integer)] = 10
    growth: Annotated[float, Quantity("", "largest ratio of neighbouring cell sizes", within, 1.01, 1.6)] = 1.15
    order: Annotated[Literal[1, 2], Quantity("", "cell order; 2: curved cells")] = 2
    steps: Annotated[int, Quantity("", "steps over the contact duration", positive_integer)] = 400
    scheme: Annotated[Literal["theta", "newmark", "generalised-alpha"], Quantity("", "time scheme")] = "theta"
    theta: ThetaValue = 0.5
    level: Annotated[Literal["velocity", "gap"], Quantity("", "level of the contact law: gap or velocity")] = "velocity"
    fields_every: FieldsEvery = 20


def reference(parameters: Parameters) -> SphereImpact:
    """Hertzian impact of the whole ball on a rigid plane."""
    p = parameters
    mass = 4 / 3 * np.pi * p.radius**3 * p.density
    return SphereImpact(p.radius, p.young / (1 - p.poisson**2), mass, p.velocity)


def build(parameters: Parameters) -> aq.Study:
    p = parameters
    exact = reference(p)
    contact = exact.peak.half_width
    if ZONE * contact > 0.5 * p.radius:
        raise aq.UserError.parameter(
            "velocity",
            p.velocity,
            f"gives a contact radius of {contact / p.radius:.2g} R, too large for Hertz's theory",
        )
    material = aq.LinearElastic(young=p.young, poisson=p.poisson, density=p.density)
    size = contact / p.cells
    if p.geometry == "axisymmetric":
        mesh = upright_half_disc(p.radius, ZONE * contact, size, growth=p.growth, order=p.order)
        ball = aq.Solid("ball", mesh, material, plane="axisymmetric", imposed={"left": {"r": 0.0}})
    else:
        mesh = upright_quarter_ball(p.radius, ZONE * contact, size, growth=p.growth, order=p.order)
        ball = aq.Solid("ball", mesh, material, imposed={"left": {"x": 0.0}, "back": {"z": 0.0}})
    upwards = np.eye(mesh.dim())[1]
    plane = aq.RigidPlane(point=np.zeros(mesh.dim()), normal=upwards)
    interface = aq.Interface("contact", ball.boundary("contact"), plane, aq.Unilateral(level=p.level))
    system = aq.System([ball], interfaces=[interface], velocity=-p.velocity * upwards)
    step = exact.duration / p.steps
    return aq.Study(system, scheme_of(p.scheme, p.theta), 1.2 * exact.duration, step, p.fields_every)


def forces(result: xarray.DataTree, parameters: Parameters) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Edges (t + 1,) of the steps, s, and mean contact forces (t,) of the whole ball over them, N."""
    force = result["interface/contact"].dataset["force"].sel(component="y").values[1:]
    return result.dataset["time"].values, force / SHARE[parameters.geometry]


def check(result: xarray.DataTree, parameters: Parameters) -> list[Check]:
    p = parameters
    exact = reference(p)
    edges, force = forces(result, p)
    begin, end = contact_ends(edges, force)
    means = np.diff(exact.impulse(edges)) / np.diff(edges)
    peak = exact.peak.load
    impulse = float(np.diff(edges) @ force)
    distance = float(np.linalg.norm(force - means) / np.linalg.norm(means))
    checks = [
        Check("duration of the contact", end - begin, exact.duration, 0.01, "s"),
        Check("largest contact force", float(force.max()), peak, 0.01, "N"),
        Check("contact force, L2 error", distance, 0.0, 0.01, "1", "at most"),
        Check("contact impulse", impulse, float(exact.impulse(edges[-1])), 0.01, "N s"),
        Check("contact force, total variation", total_variation(force, peak), 2.0, 0.1, "1", "at most"),
        momentum_check(result, ("ball",), ("y",), "contact"),
    ]
    return checks + energy_checks(result)


def scalars(result: xarray.DataTree, parameters: Parameters) -> dict[str, aq.Scalar]:
    """Scalars of the complete ball, of which the model may have a quarter."""
    edges, force = forces(result, parameters)
    return {
        **impact_scalars(result, parameters.velocity, centre_velocity(result, "y"), "y"),
        "peak_force": aq.Scalar(force.max(), "N", "largest contact force of the whole ball"),
        "final_force": aq.Scalar(force[-1], "N", "contact force of the whole ball at the end"),
        "impulse": aq.Scalar(float(np.diff(edges) @ force), "N s", "contact impulse of the whole ball"),
    }


def figures(result: xarray.DataTree, parameters: Parameters) -> dict[str, Any]:
    from arlequin import plots

    exact = reference(parameters)
    time = np.linspace(0.0, float(result.dataset["time"][-1]), 1001)
    share = SHARE[parameters.geometry]
    title = f"T = {1e6 * exact.duration:.1f} µs, peak {exact.peak.load:.1f} N" + (", a quarter of it" * (share < 1))
    curves = {"Hertz": (time, share * exact.force(time))}
    return {
        "energies": plots.energies(result),
        "force": force_panels({title: {"computed": result}}, component="y", exact=curves),
    }
