"""Press fit of a hollow shaft in a hub, then the axial pull that makes it slip.

Statics closes the interference of the radii on meshes that do not match around the axis; dynamics starts from its
result. The axisymmetric shaft and the slice of a quarter in space are pulled by their bore along the axis, with the
hub held at its rim, until the fit slips; plane sections stay at rest. Both ends are free, so that Lamé's equations of
plane stress hold, of plane strain for kind=strain. They are linear: second order terms are δ/a = 1e-3 by default.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np
import xarray

import arlequin as aq
from arlequin.cases.case.checks import Check
from arlequin.cases.case.parameters import Quantity
from arlequin.cases.reference.lame import PressFit
from arlequin.cases.shared.impact import worst_balance
from arlequin.cases.shared.meshes import quarter_ring
from arlequin.cases.shared.vocabulary import Density, Poisson, Young
from arlequin.models.checks import positive, positive_integer
from arlequin.results.recorder import Record
from arlequin.run.run import Progress

_VISCOSITY = 1e-6  # stiffness-proportional damping, s: a sliding pair of unequal materials is unstable without any
_ACCURACY = 2e-3  # of Lamé's values with the default number of cells or more
_COARSEST = 4  # cells across the wall of the shaft from which on the accuracy is reached
_SETTLED = 0.25  # share of the steps, at the end, over which the slip force is averaged


@dataclass(frozen=True)
class Parameters:
    """Default: steel shaft of 40 mm in an aluminium hub of 100 mm, 20 µm of interference of the radii, μ = 0.15."""

    kind: Annotated[
        Literal["axisymmetric", "strain", "stress", "3d"], Quantity("", "axisymmetric, plane section, or quarter in 3D")
    ] = "axisymmetric"
    geometry: Annotated[
        Literal["nominal", "overlap"], Quantity("", "equal radii with a given interference, or radii that overlap")
    ] = "nominal"
    bore: Annotated[float, Quantity("m", "inner radius of the shaft", positive)] = 0.008
    radius: Annotated[float, Quantity("m", "radius of the fit", positive)] = 0.02
    rim: Annotated[float, Quantity("m", "outer radius of the hub", positive)] = 0.05
    length: Annotated[float, Quantity("m", "length of the fit", positive)] = 0.04
    interference: Annotated[float, Quantity("m", "interference of the radii", positive)] = 2e-5
    friction: Annotated[float, Quantity("", "coefficient of friction", positive)] = 0.15
    young: Young = 2.1e11
    poisson: Poisson = 0.3
    density: Density = 7800.0
    hub_young: Annotated[float, Quantity("Pa", "Young's modulus of the hub", positive)] = 7e10
    hub_poisson: Poisson = 0.33
    hub_density: Annotated[float, Quantity("kg/m^3", "density of the hub", positive)] = 2700.0
    speed: Annotated[float, Quantity("m/s", "final speed of the pull", positive)] = 0.1
    duration: Annotated[float, Quantity("s", "duration of the dynamic run", positive)] = 4e-4
    step: Annotated[float, Quantity("s", "time step", positive)] = 2e-6
    cells: Annotated[int, Quantity("", "cells across the wall of the shaft", positive_integer)] = 4

    def __post_init__(self) -> None:
        if not self.bore < self.radius < self.rim:
            rule = f"must be between the bore, {self.bore:g} m, and the rim, {self.rim:g} m"
            raise aq.UserError.parameter("radius", self.radius, rule)

    @property
    def pulled(self) -> bool:
        """Whether the model has an axis, along which the shaft is pulled."""
        return self.kind in ("axisymmetric", "3d")


def reference(parameters: Parameters) -> PressFit:
    """Lamé's press fit."""
    p = parameters
    return PressFit(p.bore, p.radius, p.rim, p.interference, *_materials(p), strain=p.kind == "strain")


def slip_force(parameters: Parameters) -> float:
    """Axial force μ p A at which the fit slips, N, on the part of the fit that is modelled."""
    p = parameters
    angle = 0.5 * np.pi if p.kind == "3d" else 2.0 * np.pi
    return p.friction * reference(p).pressure * angle * p.radius * p.length


def _materials(p: Parameters) -> tuple[aq.LinearElastic, aq.LinearElastic]:
    shaft = aq.LinearElastic(young=p.young, poisson=p.poisson, density=p.density)
    return shaft, aq.LinearElastic(young=p.hub_young, poisson=p.hub_poisson, density=p.hub_density)


def _mesh(p: Parameters, inner: float, outer: float, cells: int, along: int) -> Any:
    """along: cells around the axis, or along it in axisymmetry."""
    if p.kind == "axisymmetric":
        mesh = aq.mesh.rectangle((inner, outer), (0.0, p.length), cells=(cells, along))
        names = {"left": "inside", "right": "outside", "bottom": "back", "top": "front"}
        return mesh.with_boundaries({names[name]: facets for name, facets in mesh.boundaries.items()})
    heights = np.linspace(0.0, p.length, 3) if p.kind == "3d" else None
    return quarter_ring(inner, outer, cells, along, heights=heights)


def _cells_along(p: Parameters) -> dict[str, int]:
    """Cells around the quarter, or along the axis: one more in the hub, so that the meshes do not match. Radii that
    overlap take more: see `chord_loss`."""
    if p.kind == "axisymmetric":
        count = p.cells
    else:
        count = 2 * p.cells if p.geometry == "overlap" else max(2, 3 * p.cells // 2)
    return {"shaft": count, "hub": count + 1}


def chord_loss(parameters: Parameters) -> float:
    """Share of the interference that the sides of quadratic cells lose where radii overlap; 0 where it is given.

    A parabola through three points of an arc of the angle 2α has r = a [1 − (1 − cos α)² s² (1 − s²)/2], |s| ≤ 1, and
    thus the mean radius a [1 − (1 − cos α)²/15], of order 4 in the size of the cells. The shaft, with longer sides,
    loses more of its radius than the hub.
    """
    p = parameters
    if p.geometry == "nominal" or p.kind == "axisymmetric":
        return 0.0
    shaft, hub = ((1.0 - np.cos(0.25 * np.pi / count)) ** 2 / 15.0 for count in _cells_along(p).values())
    return float(p.radius / p.interference * (shaft - hub))


def accuracy(parameters: Parameters) -> float:
    """Relative tolerance of Lamé's values: 0.2 % from 4 cells on, of second order below, and what chords lose."""
    return _ACCURACY * max(1.0, _COARSEST / parameters.cells) ** 2 + chord_loss(parameters)


def system(parameters: Parameters, fitted: xarray.DataTree | None = None) -> aq.System:
    """The system of statics, or that of dynamics from its result, without the axial support of the fit."""
    p, axis = parameters, "y" if parameters.kind == "axisymmetric" else "z"
    overlap = p.interference if p.geometry == "overlap" else 0.0
    symmetry: dict[str, Any] = {} if p.kind == "axisymmetric" else {"left": {"x": 0.0}, "bottom": {"y": 0.0}}
    if p.pulled and fitted is None:
        symmetry["back"] = {axis: 0.0}

    def pull(t: float) -> float:
        return 0.5 * p.speed * (1.0 - np.cos(np.pi * min(2.0 * t / p.duration, 1.0)))

    motions: dict[str, Any] = {"shaft": {"inside": {axis: pull}}, "hub": {"outside": {axis: 0.0}}}
    rings = {"shaft": (p.bore, p.radius + overlap, p.cells), "hub": (p.radius, p.rim, 2 * p.cells)}
    along = _cells_along(p)
    parts = []
    for (name, (inner, outer, cells)), material in zip(rings.items(), _materials(p), strict=True):
        part = aq.Solid(
            name, _mesh(p, inner, outer, cells, along[name]), material, order=2, imposed=symmetry,
            plane=None if p.kind == "3d" else p.kind, thickness=p.length if p.kind in ("strain", "stress") else 1.0,
            imposed_velocity=motions[name] if p.pulled and fitted is not None else {},
            damping=aq.Rayleigh(stiffness=_VISCOSITY) if fitted is not None else None,
        )  # fmt: skip
        parts.append(part)
    shaft, hub = parts
    level: Literal["gap", "velocity"] = "gap" if fitted is None else "velocity"
    fit = aq.Interface(
        "fit", hub.boundary("inside"), shaft.boundary("outside"), aq.Unilateral(level), sliding="small",
        friction=None if fitted is None else aq.Coulomb(p.friction),
        interference="resolve" if p.geometry == "overlap" else p.interference,
    )  # fmt: skip
    return aq.System(parts, interfaces=[fit], from_result=fitted)


def run(parameters: Parameters, record: Record | None = None, progress: Progress | None = None) -> xarray.DataTree:
    p = parameters
    fitted = aq.simulate(system(p), aq.Static(), duration=1.0, step=1.0, progress=False)
    energy = fitted.dataset["energy"][-1]
    attributes = {
        "fit_strain": float(energy.sel(kind="strain")),
        "fit_work": float(energy.sel(kind="external_work")),
        "fit_balance": worst_balance(fitted),
    }
    return aq.simulate(
        system(p, fitted), aq.Theta(0.5), duration=p.duration, step=p.step, record=record, fields_every=10,
        attributes=attributes, progress=progress,
    )  # fmt: skip


@dataclass(frozen=True)
class Fit:
    """The fit at the start of the dynamic run, and the axial force at its end."""

    result: xarray.DataTree
    parameters: Parameters

    @cached_property
    def pressure(self) -> float:
        """Mean pressure, Pa: that of the first step, in which nothing moves yet."""
        group = self.result["interface/fit"].dataset
        force = float(group["impulse"].values[1]) / self.parameters.step
        return force / float(group["area"].values.sum())

    def displacement(self, name: str, radius: float) -> float:
        """Mean radial displacement at the radius, m."""
        part = self.result[f"part/{name}"].dataset
        x = part["position"].values
        axes = 1 if self.parameters.kind == "axisymmetric" else 2
        distance = np.linalg.norm(x[:, :axes], axis=1)
        there = np.abs(distance - radius) < 1e-6 * self.parameters.radius
        u = part["displacement"].values[0, there, :axes]
        return float(((u * x[there, :axes]).sum(axis=1) / distance[there]).mean())

    def mean_stress(self, name: str) -> float:
        """Mean of (σ_r + σ_θ)/2 over the part, Pa."""
        p = self.parameters
        part = next(part for part in system(p).parts if part.name == name)
        stress = aq.results.stress(self.result, part)["stress"][0]
        first, second = ("rr", "tt") if p.kind == "axisymmetric" else ("xx", "yy")
        return float(0.5 * (stress.sel(stress_component=first) + stress.sel(stress_component=second)).mean())

    @cached_property
    def slip_force(self) -> float:
        """Mean axial force of the last quarter of the run, N."""
        force = self.result["interface/fit"].dataset["force"].values[:, -1]
        return float(np.abs(force[-max(1, int(_SETTLED * force.size)) :].mean()))


def check(result: xarray.DataTree, parameters: Parameters) -> list[Check]:
    p, fit, exact = parameters, Fit(result, parameters), reference(parameters)
    stresses = dict(zip(("shaft", "hub"), exact.mean_stresses, strict=True))
    bore, rim = fit.displacement("shaft", p.bore), fit.displacement("hub", p.rim)
    friction = np.diff(result.dataset["energy"].sel(kind="friction").values)
    work, strain = result.attrs["fit_work"], result.attrs["fit_strain"]
    error = accuracy(p)
    checks = [
        Check("pressure against Lamé", fit.pressure, exact.pressure, error, "Pa"),
        *(Check(f"mean stress of the {name}", fit.mean_stress(name), s, error, "Pa") for name, s in stresses.items()),
        Check("radial displacement of the rim", rim, exact.rim_displacement, error, "m"),
        Check("radial displacement of the bore", bore, exact.bore_displacement, error, "m"),
        Check("work of the fitting against the strain energy", work, strain, 1e-10, "J"),
        Check("energy balance of the fitting", result.attrs["fit_balance"], 0.0, 1e-12, "1", "absolute"),
        Check("energy balance, worst step", worst_balance(result), 0.0, 1e-12, "1", "absolute"),
        Check("least work of friction in a step", float(friction.min()), 0.0, 1e-15, "J", "at least"),
    ]
    if p.pulled:
        checks.append(Check("slip force against μ p A", fit.slip_force, slip_force(p), 0.01, "N"))
    return checks


def scalars(result: xarray.DataTree, parameters: Parameters) -> dict[str, aq.Scalar]:
    fit = Fit(result, parameters)
    out = {"pressure": aq.Scalar(fit.pressure, "Pa", "mean pressure of the fit")}
    if parameters.pulled:
        out["slip_force"] = aq.Scalar(fit.slip_force, "N", "axial force at which the fit slips")
    return out


def figures(result: xarray.DataTree, parameters: Parameters) -> dict[str, Any]:
    from arlequin import plots

    return {"contact": plots.contact(result), "energies": plots.energies(result)}
