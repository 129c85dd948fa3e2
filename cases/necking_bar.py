"""Necking of a round metal bar under imposed elongation, far beyond the largest load.

One half of the bar along its axis y, thinner at the middle y = 0 (`imperfection` of the radius, none at the end);
finite multiplicative plasticity (`aq.J2`), load steps of `Static`; axisymmetric, or a quarter of the section in 3D. The
ends contract freely, so that a bar without imperfection stays uniform and its largest load is Considère's. With an
imperfection, slices in uniaxial stress give the load up to their largest load (`arlequin.cases.reference.tension`); the
neck then carries slightly more, because adjacent sections restrain its contraction, and the load falls. No published
values are available for these data: beyond the largest load the reference is the common limit of two kinds of cells.

    neck's radius / 6.413 mm at elongations of 8, 10, 12, 14 mm; largest load (kN, at 5.64 mm); steps=200

    linear, mean dilatation, R/h = 4      0.8237 0.7034 0.5520 0.3735    77.260
                                   8      0.8218 0.7002 0.5458 0.3554    77.246
                                   16     0.8212 0.6992 0.5438 0.3482    77.243    (limit at 14 mm: 0.343)
    quadratic                      4      0.8211 0.6995 0.5453 0.3582    77.244
                                   8      0.8210 0.6989 0.5433 0.3463    77.242
    slices: at most 76.629 at 4.73 mm; uniform bar (Considère): 79.463 at 7.11 mm

First order in the load step: with R/h = 4, 400, 800, 1600 steps give 0.3758, 0.3769, 0.3775 at 14 mm. The limit in both
is about 0.347.

Sources of the problem: J. C. Simo and T. J. R. Hughes, Computational Inelasticity, 1998; J. C. Simo, Comput. Methods
Appl. Mech. Eng. 99 (1992) 61–112; T. Elguedj and T. J. R. Hughes, Comput. Methods Appl. Mech. Eng., 2014.
"""

from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np
import xarray

import arlequin as aq
from arlequin.cases.case.checks import Check
from arlequin.cases.case.parameters import Quantity
from arlequin.cases.reference.tension import Tension
from arlequin.cases.shared.figures import pull_figure
from arlequin.cases.shared.impact import worst_balance
from arlequin.cases.shared.meshes import graded, quarter_cylinder
from arlequin.cases.shared.vocabulary import (
    Hardening,
    Poisson,
    Saturation,
    SaturationRate,
    YieldStress,
    Young,
    steel_of,
)
from arlequin.models.checks import positive, positive_integer, within
from arlequin.models.types import Array

BALANCE = 1e-10
NEAR = 2e-3  # relative tolerance of the load: the neck is restrained already before the largest load of the slices
WORK = 1e-2  # relative difference of stress-update work and internal work at the default load step
FIRST = 0.2  # cell length at the middle over the mean length


@dataclass(frozen=True)
class Parameters:
    """Default: bar of Simo and Hughes, 53.334 mm long, 12.826 mm in diameter, 1.8 % less at the middle."""

    radius: Annotated[float, Quantity("m", "radius at the ends of the bar", positive)] = 6.413e-3
    length: Annotated[float, Quantity("m", "length of the bar", positive)] = 53.334e-3
    imperfection: Annotated[float, Quantity("", "relative reduction of the radius at the middle", within, 0.0, 0.5)] = (
        0.018
    )
    elongation: Annotated[float, Quantity("m", "final elongation of the bar", positive)] = 14e-3
    young: Young = 206.9e9
    poisson: Poisson = 0.29
    yield_stress: YieldStress = 450e6
    saturation: Saturation = 265e6
    rate: SaturationRate = 16.93
    hardening: Hardening = 129.24e6
    elements: Annotated[int, Quantity("", "number of cells across the radius", positive_integer)] = 8
    dimension: Annotated[
        Literal["axisymmetric", "3d"], Quantity("", "axisymmetric model, or a quarter of the section in 3D")
    ] = "axisymmetric"
    order: Annotated[
        Literal["linear", "quadratic"], Quantity("", "1: linear cells with mean dilatation, 2: quadratic cells")
    ] = "linear"
    steps: Annotated[int, Quantity("", "load steps", positive_integer)] = 200


def reference(parameters: Parameters) -> Tension:
    p = parameters
    return Tension(p.young, p.yield_stress, p.hardening, p.saturation, p.rate)


def build(parameters: Parameters) -> aq.Study:
    """Statics: the elongation is proportional to the time, 0 to 1; half of it is imposed on the end of the model."""
    p = parameters
    rows = max(2, round(p.elements * p.length / (2 * p.radius)))
    imposed: dict[str, Any] = {"bottom": {"y": 0.0}, "top": {"y": lambda t: 0.5 * p.elongation * t}}
    plane = "axisymmetric" if p.dimension == "axisymmetric" else None
    if plane:
        mesh = aq.mesh.rectangle((0.0, p.radius), (0.0, 0.5 * p.length), cells=(p.elements, rows))
        imposed |= {"left": {"r": 0.0}}
    else:
        mesh = quarter_cylinder(p.radius, 0.5 * p.length, p.elements, rows)
        imposed |= {"left": {"x": 0.0}, "back": {"z": 0.0}}
    points, half = mesh.p.copy(), 0.5 * p.length
    points[1] = half * np.interp(
        points[1] / half, np.linspace(0.0, 1.0, rows + 1), graded(rows, FIRST / rows, 1.0)[::2]
    )
    transverse_axes = [i for i in range(len(points)) if i != 1]
    points[transverse_axes] *= thickness(p, points[1]) / p.radius
    mesh = replace(mesh, doflocs=points)
    order = 1 if p.order == "linear" else 2
    bar = aq.Solid("bar", mesh, steel_of(p), order=order, plane=plane, kinematics="finite", imposed=imposed)
    return aq.Study(aq.System([bar]), aq.Static(), duration=1.0, step=1.0 / p.steps)


@dataclass(frozen=True)
class TensileTest:
    """Load curve: elongations (t,), m, at the ends of load steps; mean loads (t,), N, of the steps (first nan).

    Radii (f,) of the neck at the elongations (f,) of the frames, m.
    """

    elongation: Array
    load: Array
    at: Array
    neck: Array

    @classmethod
    def of(cls, result: xarray.DataTree, parameters: Parameters) -> "TensileTest":
        """Load = external work of a step over its elongation; the model is a half, in 3D an eighth of the bar."""
        p = parameters
        share = 0.5 if p.dimension == "axisymmetric" else 0.125
        elongation = p.elongation * result.dataset["time"].values
        work = result.dataset["energy"].sel(kind="external_work").values / share
        bar = result["part/bar"].dataset
        reference_positions = bar["position"].values
        foot = reference_positions[:, 1] <= 1e-9 * p.length
        radial = np.delete(reference_positions[foot] + bar["displacement"].values[:, foot], 1, axis=2)
        neck = np.linalg.norm(radial, axis=2).max(axis=1)
        load = np.concatenate([[np.nan], np.diff(work) / np.diff(elongation)])
        return cls(elongation, load, p.elongation * result.dataset["frame_time"].values, neck)

    @property
    def largest(self) -> tuple[float, float]:
        """Largest load, N, and the elongation at the middle of its step, m."""
        k = int(np.nanargmax(self.load))
        return float(self.load[k]), float(0.5 * (self.elongation[k] + self.elongation[k - 1]))

    def beside(self, elongation: Array, force: Array) -> Array:
        """Differences (s,) from a load curve (k,), N, for the load steps within its range."""
        covered = self.elongation[self.elongation <= elongation[-1]]
        ends = np.interp(covered, elongation, force)
        return np.asarray(self.load[1 : covered.size] - 0.5 * (ends[1:] + ends[:-1]))


def thickness(parameters: Parameters, height: Array | float) -> Array:
    """Radius of the bar (…), m, at heights (…), m, above the middle."""
    p = parameters
    return np.asarray(p.radius * (1.0 - p.imperfection * (1.0 - 2.0 * height / p.length)))


def share_of_circle(parameters: Parameters) -> float:
    """Area of the meshed section over that of the circle; in 3D a polygon."""
    angle = 0.25 * np.pi / max(1, parameters.elements // 2)
    return 1.0 if parameters.dimension == "axisymmetric" else float(np.sin(angle) / angle)


def sliced(parameters: Parameters, loads: int = 400) -> tuple[Array, Array]:
    """Elongations, m, and loads, N (k,), of the bar of slices, from zero to its largest load."""
    p, metal = parameters, reference(parameters)
    x, weights = np.polynomial.legendre.leggauss(6)  # the stretch is smooth except at the limit of the thinnest slice
    ends = 0.5 * p.length * np.linspace(0.0, 1.0, 9) ** 2
    middle, half = 0.5 * (ends[1:] + ends[:-1]), 0.5 * np.diff(ends)
    positions, weights = (middle[:, None] + half[:, None] * x).ravel(), (half[:, None] * weights).ravel()
    pi = np.pi * share_of_circle(p)
    areas = pi * thickness(p, positions) ** 2
    largest_load = pi * float(thickness(p, 0.0)) ** 2 * float(metal.load(metal.limit))
    forces = largest_load * np.sin(np.linspace(0.0, 0.5 * np.pi, loads))  # finer where the curve is flat
    stretches = [np.expm1(metal.stretched(force, areas)) for force in forces]
    return np.array([2.0 * float(weights @ stretch) for stretch in stretches]), forces


def check(result: xarray.DataTree, parameters: Parameters) -> list[Check]:
    """Checks of the load by the slices up to their largest load, and of bounds of the largest load."""
    p, pull, metal = parameters, TensileTest.of(result, parameters), reference(parameters)
    elongation, force = sliced(p)
    energy = result.dataset["energy"]
    work = float(energy.sel(kind=["strain", "plastic"]).sum("kind")[-1])
    scheme_energy = float(energy.sel(kind="scheme")[-1])
    worst = float(np.abs(pull.beside(elongation, force)).max(initial=0.0) / force[-1])
    checks = [
        Check("load before necking, largest difference from slices, relative", worst, 0.0, NEAR, "1", "at most"),
        Check("stress-update work less internal work", scheme_energy / work, 0.0, WORK, "1", "absolute"),
        Check("energy balance, worst step", worst_balance(result), 0.0, BALANCE, "1", "absolute"),
    ]
    if p.elongation <= elongation[-1] * (1.0 + 1.0 / p.steps):
        return checks
    load, elongation_at_largest = pull.largest
    thickest = np.pi * share_of_circle(p) * p.radius**2 * float(metal.load(metal.limit))
    tolerance, step = NEAR * force[-1], p.elongation / p.steps
    return [
        Check("largest load, lower bound (slices)", load, float(force[-1]), tolerance, "N", "at least"),
        Check("largest load, upper bound (uniform bar)", load, thickest, tolerance, "N", "at most"),
        Check(
            "elongation at the largest load, lower bound (slices)",
            elongation_at_largest,
            float(elongation[-1]),
            step,
            "m",
            "at least",
        ),
        *checks,
    ]


def scalars(result: xarray.DataTree, parameters: Parameters) -> dict[str, aq.Scalar]:
    pull = TensileTest.of(result, parameters)
    load, elongation_at_largest = pull.largest
    return {
        "peak_load": aq.Scalar(load, "N", "largest load"),
        "necking_elongation": aq.Scalar(elongation_at_largest, "m", "elongation at the largest load"),
        "final_load": aq.Scalar(pull.load[-1], "N", "final load"),
        "neck_radius": aq.Scalar(pull.neck[-1], "m", "final radius of the neck"),
    }


def figures(result: xarray.DataTree, parameters: Parameters) -> dict[str, Any]:
    from arlequin import plots

    pull = TensileTest.of(result, parameters)
    figures_by_name = {
        "energies": plots.energies(result),
        "pull": pull_figure(pull, parameters.radius, sliced(parameters)),
    }
    if parameters.dimension == "axisymmetric":
        figures_by_name["shape"] = plots.shape(result, "plastic_strain")
    return figures_by_name
