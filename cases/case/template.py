"""Impact of a steel block on a rigid wall: force, contact duration and rebound velocity.

Template of a case: `arlequin new my_study.py` copies this file. Then

    arlequin run my_study.py speed=5          result in runs/my_study.zarr
    arlequin check my_study.py                compares it with `reference`
    arlequin plot runs/my_study.zarr          the figures
    arlequin sweep my_study.py speed=1,2,5    `scalars` as functions of the speed
"""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import xarray

import arlequin as aq
from arlequin import plots
from arlequin.cases.case.checks import Check
from arlequin.cases.case.parameters import Quantity
from arlequin.models.checks import non_negative, positive, positive_integer

YOUNG, DENSITY = 2e11, 7800.0  # steel: Pa, kg/m³


@dataclass(frozen=True)
class Parameters:
    """Parameters, set on the command line by `name=value`; each `Quantity` gives unit, meaning and range."""

    length: Annotated[float, Quantity("m", "length of the block", positive)] = 0.1
    width: Annotated[float, Quantity("m", "width of the block", positive)] = 0.02
    speed: Annotated[float, Quantity("m/s", "impact speed", positive)] = 10.0
    friction: Annotated[float, Quantity("1", "coefficient of friction of the wall", non_negative)] = 0.2
    cells: Annotated[int, Quantity("", "cells along the block", positive_integer)] = 100


def build(parameters: Parameters) -> aq.Study:
    """Model, time scheme, duration and time step."""
    p = parameters
    steel = aq.LinearElastic(young=YOUNG, poisson=0.0, density=DENSITY)
    across = max(1, round(p.cells * p.width / p.length))
    mesh = aq.mesh.rectangle((0.0, p.length), (0.0, p.width), cells=(p.cells, across))
    block = aq.Solid("block", mesh, steel, plane="strain")
    wall = aq.RigidPlane(point=(p.length, 0.0), normal=(-1.0, 0.0))
    contact = aq.Interface(
        "contact", block.boundary("right"), wall, aq.Unilateral(level="velocity"), friction=aq.Coulomb(p.friction)
    )
    system = aq.System([block], interfaces=[contact], velocity=(p.speed, 0.0))
    step = p.length / p.cells / wave_speed() / np.sqrt(2.0)
    return aq.Study(system, aq.Theta(0.5), duration=1.5 * duration_of_contact(p), step=step, fields_every=10)


def wave_speed() -> float:
    """Wave speed c = √(E/ρ), m/s."""
    return float(np.sqrt(YOUNG / DENSITY))


def duration_of_contact(parameters: Parameters) -> float:
    """Contact duration 2 L/c, s: a wave travels to the free end and back."""
    return 2.0 * parameters.length / wave_speed()


def reference(parameters: Parameters) -> float:
    """Contact force ρ c V × width, N per metre of depth (d'Alembert)."""
    return DENSITY * wave_speed() * parameters.speed * parameters.width


def rebound(result: xarray.DataTree) -> float:
    """Mean velocity of the block away from the wall in the last frame, m/s."""
    velocity = result["part/block"].dataset["velocity"]
    return -float(velocity.isel(frame=-1, component=0).mean())


def scalars(result: xarray.DataTree, parameters: Parameters) -> dict[str, aq.Scalar]:
    """Scalars collected by sweeps in addition to those of every result."""
    return {"restitution": aq.Scalar(rebound(result) / parameters.speed, "1", "rebound speed / impact speed")}


def check(result: xarray.DataTree, parameters: Parameters) -> list[Check]:
    """Computed values against their references, with tolerances."""
    time = result.dataset["time"].values
    force = np.abs(result["interface/contact"].dataset["force"].sel(component="x").values)
    middle = (time > 0.25 * duration_of_contact(parameters)) & (time < 0.75 * duration_of_contact(parameters))
    return [
        Check("force in contact", float(force[middle].mean()), reference(parameters), 0.01, "N"),
        Check("rebound speed", rebound(result), parameters.speed, 0.02, "m/s"),
        Check("energy balance", float(np.abs(result.dataset["balance"]).max()), 0.0, 1e-12, "1", "absolute"),
    ]


def figures(result: xarray.DataTree, parameters: Parameters) -> dict[str, Any]:
    """Matplotlib figures by name, written as PNG files by `arlequin plot`."""
    times = np.array([0.0, duration_of_contact(parameters)])
    exact = np.full(2, reference(parameters))
    return {
        "energies": plots.energies(result),
        "contact": plots.contact(result, "contact", force={"exact": (times, exact)}),
        "velocity": plots.shape(result, "velocity", frame=result.sizes["frame"] // 3, component=0),
    }
