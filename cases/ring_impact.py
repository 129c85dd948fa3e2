"""Impact and rebound of a hyperelastic ring on a rigid wall, compressed to a quarter of its height.

Neo-Hookean ring in plane strain with large strains and rotations. Apart from friction, energy is lost only by the
impacts of contact nodes (column `impact`) and, with central differences, by the scheme (`scheme`). The impulse of the
wall equals the change of momentum to round-off. The centre of mass leaves more slowly than it arrived; the difference
is the vibration energy of the ring. No closed form is known: two independent schemes (implicit, energy- and
momentum-conserving; explicit) are compared, with mesh refinement:

    scheme, cells through × around a quarter    flattest, of the height    rebound velocity, of the impact's
    theta, 2 × 24                               0.2422                     0.363
    central-difference, 2 × 12                  0.2506                     0.379
    central-difference, 2 × 24                  0.2418                     0.420
    central-difference, 4 × 48                  0.2420                     0.374

The rebound velocity depends on the phase of the vibration at release, after several contacts.
"""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
import xarray

import arlequin as aq
from arlequin.cases.case.checks import Check
from arlequin.cases.case.parameters import Quantity
from arlequin.cases.shared.impact import (
    contact_ends,
    impact_scalars,
    momentum_check,
    rigid_velocity,
    stored_checks,
    worst_balance,
)
from arlequin.cases.shared.meshes import ring
from arlequin.cases.shared.vocabulary import Density, Poisson, Young
from arlequin.models.checks import non_negative, positive, positive_integer

BALANCE = 1e-11


@dataclass(frozen=True)
class Parameters:
    """Default: rubber ring of 0.1 m outer radius, 10 mm thick, at 10 m/s."""

    radius: Annotated[float, Quantity("m", "outer radius of the ring", positive)] = 0.1
    thickness: Annotated[float, Quantity("m", "thickness of the ring", positive)] = 0.01
    velocity: Annotated[float, Quantity("m/s", "impact velocity", positive)] = 10.0
    angle: Annotated[float, Quantity("°", "angle between velocity and wall normal", non_negative)] = 0.0
    friction: Annotated[float, Quantity("", "coefficient of friction", non_negative)] = 0.0
    young: Young = 5e6
    poisson: Poisson = 0.4
    density: Density = 1000.0
    elements: Annotated[int, Quantity("", "cells through the thickness", positive_integer)] = 2
    around: Annotated[int, Quantity("", "cells along each quarter of the circumference", positive_integer)] = 24
    scheme: Annotated[Literal["theta", "central-difference"], Quantity("", "time scheme")] = "theta"
    duration: Annotated[float, Quantity("s", "duration of the run", positive)] = 0.06
    step: Annotated[float, Quantity("s", "time step", positive)] = 1e-4
    fields_every: Annotated[int, Quantity("", "steps between two recorded fields", positive_integer)] = 10


def build(parameters: Parameters) -> aq.Study:
    """Study of the ring, initially touching the wall y = 0."""
    p = parameters
    rubber = aq.NeoHooke(young=p.young, poisson=p.poisson, density=p.density)
    body = aq.Solid(
        "ring",
        ring(p.radius, p.thickness, p.elements, p.around),
        rubber,
        plane="strain",
        kinematics="finite",
        mass="lumped",
    )
    wall = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))
    friction = aq.Coulomb(p.friction) if p.friction else None
    contact = aq.Interface(
        "wall", body.boundary("outside"), wall, aq.Unilateral(), multiplier="nodes", friction=friction
    )
    tilt = np.deg2rad(p.angle)
    velocity = p.velocity * np.sin(tilt), -p.velocity * np.cos(tilt)
    scheme = aq.Theta(0.5) if p.scheme == "theta" else aq.CentralDifference()
    return aq.Study(
        aq.System([body], interfaces=[contact], velocity=velocity), scheme, p.duration, p.step, p.fields_every
    )


def restitution(result: xarray.DataTree, parameters: Parameters) -> float:
    """Final velocity of the centre of mass away from the wall over the impact velocity."""
    p = parameters
    return rigid_velocity(result, "ring", "y") / (p.velocity * np.cos(np.deg2rad(p.angle)))


def contact_duration(result: xarray.DataTree) -> float:
    """Time from the first to the last contact, s; nan without any."""
    force = result["interface/wall"].dataset["force"].sel(component="y").values[1:]
    start, end = contact_ends(result.dataset["time"].values, force)
    return end - start


def height_ratio(result: xarray.DataTree) -> float:
    """Smallest height of the ring over its height at rest."""
    group = result["part/ring"].dataset
    heights = np.ptp((group["position"].values + group["displacement"].values)[:, :, 1], axis=1)
    return float(heights.min() / heights[0])


def check(result: xarray.DataTree, parameters: Parameters) -> list[Check]:
    p = parameters
    e = restitution(result, p)
    deepest = float(result["interface/wall"].dataset["gap_min"].min())
    end = float(result.dataset["time"][-1])
    rebound = (
        [Check("rebound velocity, lower bound", e, 0.0, 0.0, "1", "at least")]
        if end > 2.0 * p.radius / p.velocity
        else []
    )
    return [
        *rebound,
        Check("energy balance, worst step", worst_balance(result), 0.0, BALANCE, "1", "absolute"),
        momentum_check(result, ("ring",), ("x", "y"), "wall"),
        *stored_checks(result, False)[:1],
        Check("rebound velocity over impact velocity", e, 1.0, 0.0, "1", "at most"),
        Check("smallest height over the initial height", height_ratio(result), 1.0, 0.0, "1", "at most"),
        Check(
            "largest penetration over the displacement of a step",
            deepest,
            0.0,
            2.0 * p.velocity * p.step,
            "m",
            "at least",
        ),
    ]


def scalars(result: xarray.DataTree, parameters: Parameters) -> dict[str, aq.Scalar]:
    """Scalars of the impact normal to the wall."""
    approach_velocity = parameters.velocity * np.cos(np.deg2rad(parameters.angle))
    return {
        **impact_scalars(result, approach_velocity, rigid_velocity(result, "ring", "y"), "y", "wall"),
        "least_height": aq.Scalar(height_ratio(result), "1", "smallest height of the ring over its height at rest"),
    }


def figures(result: xarray.DataTree, parameters: Parameters) -> dict[str, Any]:
    from arlequin import plots

    group = result["part/ring"].dataset
    heights = np.ptp((group["position"].values + group["displacement"].values)[:, :, 1], axis=1)
    flattest = int(heights.argmin())
    return {
        "energies": plots.energies(result),
        "flattest": plots.shape(result, "velocity", frame=flattest),
        "end": plots.shape(result, "velocity"),
    }
