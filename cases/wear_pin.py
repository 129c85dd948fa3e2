"""Wear of a rounded pin that slides on a plate under constant force until it is flat.

Plane strain. The pin rests on a layer of asperities that is much softer than the pin, so that each point of its surface
wears independently; its top does not rotate. The force is applied in 0 ≤ t ≤ 1, the pin slides in 1 ≤ t ≤ 2. Archard's
law gives the worn volume k F s; the profile is that of `arlequin.cases.reference.worn_layer`.
"""

from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
import xarray

import arlequin as aq
from arlequin.cases.case.checks import Check
from arlequin.cases.case.parameters import Quantity
from arlequin.cases.reference.worn_layer import WornPin
from arlequin.cases.shared.impact import worst_balance
from arlequin.cases.shared.vocabulary import Density, Poisson, Young
from arlequin.cases.shared.worn import scar_width, worn_profile
from arlequin.models.checks import positive, positive_integer
from arlequin.models.types import Array

_WIDTH, _HEIGHT = 1.4, 1.0  # half-width and height of the pin over the half-width of the final flat
_HOLDER = 1e-2  # mass of the holder over that of the pin
_ARM = 1e-3  # final fraction of the force carried by the arm of the holder


@dataclass(frozen=True)
class Parameters:
    """Default: steel pin of R = 50 mm under 40 kN/m, sliding 2.5 m; final flat 3.9 mm wide."""

    radius: Annotated[float, Quantity("m", "radius of the tip", positive)] = 0.05
    force: Annotated[float, Quantity("N/m", "normal force per depth", positive)] = 4e4
    way: Annotated[float, Quantity("m", "sliding distance", positive)] = 2.5
    wear: Annotated[float, Quantity("m^3/J", "Archard's coefficient", positive)] = 1e-12
    friction: Annotated[float, Quantity("", "coefficient of friction", positive)] = 0.1
    stiffness: Annotated[float, Quantity("Pa/m", "stiffness of the asperity layer", positive)] = 1e13
    young: Young = 2.1e11
    poisson: Poisson = 0.3
    density: Density = 7800.0
    cells: Annotated[int, Quantity("", "cells over the half-width of the final flat", positive_integer)] = 40
    steps: Annotated[int, Quantity("", "steps of the sliding phase", positive_integer)] = 300


def reference(parameters: Parameters) -> WornPin:
    p = parameters
    flat = WornPin(p.radius, p.force, p.stiffness, p.wear, 1.0).flat(p.way)
    return WornPin(p.radius, p.force, p.stiffness, p.wear, _WIDTH * flat)


def _depth(p: Parameters) -> float:
    """Final depth of the flat of a rigid pin, m."""
    return float(reference(p).flat_depth(np.zeros(1), p.way)[0])


def build(parameters: Parameters) -> aq.Study:
    """Statics; the time is a parameter of force and sliding distance."""
    p, theory = parameters, reference(parameters)
    material = aq.LinearElastic(young=p.young, poisson=p.poisson, density=p.density)
    width, flat = theory.width, theory.flat(p.way)
    pressure = p.force / (2.0 * width)
    pin = aq.Solid(
        "pin", _rounded(p, width, flat), material, plane="strain",
        tractions={"top": lambda x, t: (0.0, -pressure * min(t, 1.0))},
        imposed={"top": {"x": lambda t: p.way * max(t - 1.0, 0.0)}},
    )  # fmt: skip
    mass = _HOLDER * p.density * 2.0 * _WIDTH * _HEIGHT * flat**2
    holder = aq.PointMasses("holder", (0.0, _HEIGHT * flat), mass, imposed={"all": {"x": 0.0}})
    level = aq.Relation("level", [(pin.boundary("top"), "y", 1.0), (holder.boundary("all"), "y", -1.0)])
    # the height exceeds the initial compression of the layer
    height = 4.0 * p.radius * (p.force / (p.stiffness * p.radius**2)) ** (2.0 / 3.0)
    contact = aq.Interface(
        "contact", pin.boundary("bottom"), aq.RigidPlane(point=(0.0, -height), normal=(0.0, 1.0)),
        aq.Asperities(p.stiffness, 1.0, height), friction=aq.Coulomb(p.friction), multiplier="nodes",
        wear=aq.Archard(p.wear, density=p.density),
    )  # fmt: skip
    arm = aq.Spring("arm", holder.boundary("all"), stiffness=_ARM * p.force / _depth(p), direction=(0.0, 1.0))
    system = aq.System([pin, holder], interfaces=[contact], relations=[level], springs=[arm])
    step = 1.0 / p.steps
    return aq.Study(system, aq.Static(), 2.0, step, fields_every=max(1, p.steps // 20))


def _rounded(p: Parameters, width: float, flat: float) -> Any:
    """Rectangular mesh with a parabolic bottom, the tip of the pin."""
    cells_across = max(2, round(2 * p.cells * _WIDTH))
    mesh = aq.mesh.rectangle((-width, width), (0.0, _HEIGHT * flat), cells=(cells_across, max(2, p.cells // 4)))
    x, y = mesh.p
    return replace(mesh, doflocs=np.stack([x, y + x**2 / (2.0 * p.radius) * (1.0 - y / y.max())]))


@dataclass(frozen=True)
class WornProfile:
    """Final worn profile: x (k,), m, sorted; depths (k,), m, computed and exact; volume per depth, m²."""

    x: Array
    depth: Array
    exact: Array
    volume: float

    @classmethod
    def of(cls, result: xarray.DataTree, parameters: Parameters) -> "WornProfile":
        group = result["interface/contact"].dataset
        x, depth = worn_profile(result)
        exact = reference(parameters).depth(x, parameters.way)
        return cls(x, depth, exact, float(group["worn_volume"].values[-1]))

    @property
    def error(self) -> float:
        """Largest error of the depth over the greatest depth."""
        return float(np.abs(self.depth - self.exact).max() / self.exact.max())


def check(result: xarray.DataTree, parameters: Parameters) -> list[Check]:
    p, scar, theory = parameters, WornProfile.of(result, parameters), reference(parameters)
    mass = float(result["interface/contact"].dataset["worn_mass"].values[-1])
    return [
        Check("worn volume against k F s", scar.volume, theory.volume(p.way), 1e-3, "m^3"),
        Check("worn mass against density × volume", mass, p.density * theory.volume(p.way), 1e-3, "kg"),
        Check("worn profile, largest error over the depth", scar.error, 0.0, 0.01, "1", "at most"),
        Check("greatest depth against a rigid pin", float(scar.depth.max()), _depth(p), 0.01, "m"),
        Check("energy balance, worst step", worst_balance(result), 0.0, 1e-8, "1", "absolute"),
    ]


def scalars(result: xarray.DataTree, parameters: Parameters) -> dict[str, aq.Scalar]:
    return {"scar_width": scar_width(result)}


def figures(result: xarray.DataTree, parameters: Parameters) -> dict[str, Any]:
    from arlequin import plots

    p, theory = parameters, reference(parameters)
    x = np.linspace(-theory.width, theory.width, 401)
    profiles = {
        "rigid pin on a layer": (x, theory.depth(x, p.way)),
        "flat of a stiff pin": (x, theory.flat_depth(x, p.way)),
    }
    return {
        "worn": plots.worn(result, "contact", depth=profiles),
        "heat": plots.friction_heat(result, "contact"),
        "energies": plots.energies(result),
    }
