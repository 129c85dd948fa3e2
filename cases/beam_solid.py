"""Cantilever of a beam and a 3D solid coupled over a volume: deflection and natural frequencies.

The clamped half is a beam, the free half a solid. Deflection under an end force and lowest natural frequencies are
compared with Timoshenko's theory of the whole beam and with the all-solid model.
"""

from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np
import xarray

import arlequin as aq
from arlequin.cases.case.checks import Check
from arlequin.cases.case.parameters import Quantity
from arlequin.cases.reference.beams import Cantilever
from arlequin.cases.shared.figures import beam_figures
from arlequin.cases.shared.impact import worst, worst_balance
from arlequin.cases.shared.vocabulary import Density, Poisson, Young
from arlequin.models.checks import positive, positive_integer

MODES = 5


@dataclass(frozen=True)
class Parameters:
    """Default: steel, 2 m long, section 0.1 × 0.07 m, overlap of 0.2 m at the middle; quadratic hexahedra."""

    model: Annotated[Literal["arlequin", "solid", "beam"], Quantity("", "Arlequin model, or one model everywhere")] = (
        "arlequin"
    )
    length: Annotated[float, Quantity("m", "length of the cantilever", positive)] = 2.0
    height: Annotated[float, Quantity("m", "height of the section, in the direction of the force", positive)] = 0.1
    width: Annotated[float, Quantity("m", "width of the section", positive)] = 0.07
    beam_length: Annotated[float, Quantity("m", "length of the beam part", positive)] = 1.1
    overlap: Annotated[float, Quantity("m", "length of the overlap", positive)] = 0.2
    young: Young = 2.0e11
    poisson: Poisson = 0.3
    density: Density = 7800.0
    force: Annotated[float, Quantity("N", "force at the free end", positive)] = 1000.0
    beam_size: Annotated[float, Quantity("m", "cell size of the beam", positive)] = 0.1
    solid_size: Annotated[float, Quantity("m", "cell size of the solid along the axis", positive)] = 0.05
    across: Annotated[
        int, Quantity("", "cells of the solid across the section, in each direction", positive_integer)
    ] = 2
    mediator: Annotated[Literal["linear", "beam"], Quantity("", "multiplier space")] = "linear"

    def __post_init__(self) -> None:
        if self.model == "arlequin" and not self.overlap < self.beam_length < self.length:
            raise aq.UserError.parameter(
                "beam_length",
                self.beam_length,
                f"must lie between overlap = {self.overlap:g} and length = {self.length:g}",
            )


def build(parameters: Parameters) -> aq.Study:
    """Statics: the force is proportional to the time, 0 to 1."""
    return aq.Study(system(parameters), aq.Static(), duration=1.0, step=0.5)


def system(parameters: Parameters) -> aq.System:
    """System of both parts and their junction, clamped at x = 0, loaded along y at x = length."""
    p = parameters
    if p.model == "beam":
        return aq.System([_beam(p, p.length)])
    if p.model == "solid":
        return aq.System([_solid(p, 0.0)])
    beam, solid = _beam(p, p.beam_length), _solid(p, p.beam_length - p.overlap)
    return aq.System([beam, solid], [aq.BeamJunction(beam, solid, mediator=p.mediator)])


def _beam(p: Parameters, end: float) -> aq.Beam:
    mesh = aq.mesh.interval(0.0, end, cells=max(1, round(end / p.beam_size)))
    theory = reference(p)
    load = {"right": lambda t: (0.0, p.force * t, 0.0)} if p.model == "beam" else {}
    clamp = {"left": dict.fromkeys(("x", "y", "z", "rx", "ry", "rz"), 0.0)}
    return aq.Beam("beam", mesh, theory.material, theory.section, imposed=clamp, end_loads=load)


def _solid(p: Parameters, start: float) -> aq.Solid:
    cells_along = max(1, round((p.length - start) / p.solid_size))
    y, z = p.height / 2, p.width / 2
    mesh = aq.mesh.box((start, p.length), (-y, y), (-z, z), cells=(cells_along, p.across, p.across))
    pressure = p.force / (p.height * p.width)
    clamp = {"left": {"x": 0.0, "y": 0.0, "z": 0.0}} if p.model == "solid" else {}
    traction = {"right": lambda x, t: (0.0, pressure * t, 0.0)}
    return aq.Solid("solid", mesh, reference(p).material, order=2, imposed=clamp, tractions=traction)


def reference(parameters: Parameters) -> Cantilever:
    """Timoshenko's theory of the whole cantilever with Cowper's shear factors."""
    p = parameters
    material = aq.LinearElastic(young=p.young, poisson=p.poisson, density=p.density)
    return Cantilever(p.length, material, aq.Section.rectangle(p.height, p.width, p.poisson))


def deflection(result: xarray.DataTree, part: str, frame: int = -1) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates x (s,) of the sections of a part, m, and deflections (s,) of the nodes nearest to the axis, m."""
    group = result[f"part/{part}"].dataset
    position = group["position"].values
    distance = np.linalg.norm(position[:, 1:], axis=1)
    nodes = np.flatnonzero(distance <= distance.min() * (1 + 1e-9) + 1e-12)
    nodes = nodes[np.argsort(position[nodes, 0])]
    return position[nodes, 0], group["displacement"].isel(frame=frame).sel(component="y").values[nodes]


def tip(result: xarray.DataTree, parameters: Parameters) -> float:
    """Deflection of the free end's centre at the end of the run, m."""
    x, y = deflection(result, "beam" if parameters.model == "beam" else "solid")
    return float(np.mean(y[x > parameters.length * (1 - 1e-9)]))


def check(result: xarray.DataTree, parameters: Parameters) -> list[Check]:
    p, theory = parameters, reference(parameters)
    expected = float(theory.deflection(p.length, p.force))
    checks = [Check("deflection of the tip against the theory", tip(result, p), expected, 0.005, "m")]
    frequencies = aq.natural_frequencies(system(p), MODES).frequencies
    for n, (value, exact) in enumerate(zip(frequencies, theory.frequencies(MODES), strict=True), 1):
        checks.append(Check(f"frequency {n} against the theory", float(value), float(exact), 0.01, "Hz"))
    if p.model == "arlequin":
        solid = aq.natural_frequencies(system(replace(p, model="solid")), MODES).frequencies
        for n, (value, all_solid) in enumerate(zip(frequencies, solid, strict=True), 1):
            checks.append(
                Check(f"frequency {n} against the all-solid model", float(value), float(all_solid), 0.01, "Hz")
            )
    # factorisation of a slender cantilever (condition number ≥ 1e8): errors up to 1e-10
    checks.append(Check("energy balance, worst step", worst_balance(result), 0.0, 1e-12, "1", "absolute"))
    if p.model == "arlequin":
        checks.append(Check("work of the junction", worst(result, "junction"), 0.0, 1e-12, "1", "absolute"))
    return checks


def scalars(result: xarray.DataTree, parameters: Parameters) -> dict[str, aq.Scalar]:
    return {"tip_displacement": aq.Scalar(tip(result, parameters), "m", "deflection of the free end")}


def figures(result: xarray.DataTree, parameters: Parameters) -> dict[str, Any]:
    x = np.linspace(0.0, parameters.length, 201)
    curve = (x, reference(parameters).deflection(x, parameters.force))
    return beam_figures(result, {name: deflection(result, name) for name in result["part"].children}, curve)
