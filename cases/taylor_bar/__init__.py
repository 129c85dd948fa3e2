"""Taylor impact test: a copper cylinder hits a rigid wall at 227 m/s.

The cylinder is axisymmetric, or a quarter of it in 3D (its axis is y in both), of a metal of large plastic strains
(`aq.J2`, multiplicative, linear hardening), on linear cells with mean dilatation, integrated by central differences
with sub-steps for the flattened cells. After 80 µs nearly all kinetic energy has become plastic work.

In published results the nodes at the wall stay in contact (wall="closed"). With unilateral contact
(wall="unilateral") the edge of the foot lifts by 0.2 mm and slides further out. At 80 µs (step=1e-7):

    foot's radius (mm), length (mm), largest plastic strain (mean of a cell)

    axisymmetric        R/h = 4                 8                      16                     limit (order)
    closed              7.0765 21.4564 2.79     7.1583 21.4351 3.13    7.1965 21.4272 3.26    7.230 21.422 (1.1, 1.4)
    unilateral          7.1706 21.4971 3.02     7.2886 21.4816 3.68    7.3350 21.4745 4.17    7.365 21.468 (1.3, 1.1)
    closed, 3D          7.0906 21.4616 2.71

    closed, published: 7.22 (hexahedra with mean dilatation, h = 0.047 mm), 7.2225 and 21.4206 (15-node tetrahedra of
    Carina.jl), 7.2259 (composite tetrahedra, limit); other codes 6.97–7.24 and 21.4–21.5, plastic strain 2.47–3.25.

Friction (unilateral only) restrains the foot. Velocity-level impulses (central differences, the θ-scheme) give forces
of the foot without oscillation; those of Newmark's scheme with contact on the gap oscillate: over 0.2–1 µs, R/h = 8,
friction 0.3, the total variation of the normal force is 2.4 and 7.9 times its range, of friction 1.3 and 7.3 times
(figure foot_forces).

Sources: J. W. Foulk III et al., Int. J. Numer. Methods Eng. 122 (2021), §4.4; J. C. Simo, Comput. Methods Appl. Mech.
Eng. 99 (1992) 61–112, §7.2; M. L. Wilkins and M. W. Guinan, J. Appl. Phys. 44 (1973) 1200.
"""

from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np
import xarray

import arlequin as aq
from arlequin.cases.case.checks import Check
from arlequin.cases.case.comparison import comparison
from arlequin.cases.case.parameters import Quantity
from arlequin.cases.shared.impact import worst_balance
from arlequin.cases.shared.meshes import quarter_cylinder
from arlequin.cases.shared.vocabulary import Density, Poisson, ThetaValue, Young, scheme_of
from arlequin.models.checks import non_negative, positive, positive_integer
from arlequin.models.types import Array

BALANCE = 1e-10
WORK = 1e-3  # limit of the difference of stress-update and internal work, over the internal work
# final radius of the foot and length, m, of the data of the default (see the head of this file)
PUBLISHED = 7.2225e-3, 21.4206e-3
CONVERGED = 0.03e-3  # tolerance of converged results, m
FIRST = 10e-6  # s, duration of the figure of the foot's forces
COARSE = 0.6e-3  # m, discretisation error of radius and length over h/R and (h/R)²


@dataclass(frozen=True)
class Parameters:
    """Copper, 6.4 mm thick and 32.4 mm long, at 227 m/s."""

    length: Annotated[float, Quantity("m", "length of the bar", positive)] = 32.4e-3
    radius: Annotated[float, Quantity("m", "radius of the bar", positive)] = 3.2e-3
    velocity: Annotated[float, Quantity("m/s", "impact velocity", positive)] = 227.0
    wall: Annotated[
        Literal["closed", "unilateral"],
        Quantity("", "bilateral contact after closure, as in published results, or unilateral"),
    ] = "closed"
    friction: Annotated[float, Quantity("", "coefficient of friction of a unilateral wall", non_negative)] = 0.0
    elements: Annotated[int, Quantity("", "number of cells across the radius", positive_integer)] = 8
    dimension: Annotated[
        Literal["axisymmetric", "3d"], Quantity("", "axisymmetric model, or a quarter of the bar in 3D")
    ] = "axisymmetric"
    scheme: Annotated[
        Literal["central-difference", "theta", "newmark"],
        Quantity("", "central differences; θ-scheme with velocity-level contact; Newmark with gap-level contact"),
    ] = "central-difference"
    theta: ThetaValue = 0.5
    young: Young = 117e9
    poisson: Poisson = 0.35
    density: Density = 8930.0
    yield_stress: Annotated[float, Quantity("Pa", "yield stress", positive)] = 400e6
    hardening: Annotated[float, Quantity("Pa", "modulus of linear hardening", non_negative)] = 100e6
    duration: Annotated[float, Quantity("s", "duration of the run", positive)] = 80e-6
    step: Annotated[float, Quantity("s", "time step; divided into stable sub-steps", positive)] = 2e-8
    fields_every: Annotated[int, Quantity("", "steps between two recorded fields", positive_integer)] = 100

    def __post_init__(self) -> None:
        if self.wall == "closed" and self.friction:
            raise aq.UserError.parameter("friction", self.friction, 'needs wall="unilateral"')


def rows(parameters: Parameters) -> int:
    """Number of cells along the bar, for square cells."""
    p = parameters
    return max(1, round(p.elements * p.length / p.radius))


def build(parameters: Parameters) -> aq.Study:
    """Study with the wall at y = 0."""
    p = parameters
    hardening = aq.LinearHardening(p.hardening) if p.hardening else ()
    metal = aq.J2(p.young, p.poisson, p.density, p.yield_stress, hardening)
    imposed: dict[str, Any] = {"bottom": {"y": 0.0}} if p.wall == "closed" else {}
    if p.dimension == "axisymmetric":
        mesh = aq.mesh.rectangle((0.0, p.radius), (0.0, p.length), cells=(p.elements, rows(p)))
        imposed |= {"left": {"r": 0.0}}
    else:
        mesh = quarter_cylinder(p.radius, p.length, p.elements, rows(p))
        imposed |= {"left": {"x": 0.0}, "back": {"z": 0.0}}
    plane = "axisymmetric" if p.dimension == "axisymmetric" else None
    bar = aq.Solid("bar", mesh, metal, plane=plane, kinematics="finite", mass="lumped", imposed=imposed)
    axis = np.eye(mesh.dim())[1]
    interfaces = []
    if p.wall == "unilateral":
        wall = aq.RigidPlane(point=0.0 * axis, normal=axis)
        friction = aq.Coulomb(p.friction) if p.friction else None
        law = aq.Unilateral(level="gap" if p.scheme == "newmark" else "velocity")
        interfaces = [aq.Interface("wall", bar.boundary("bottom"), wall, law, friction=friction)]
    system = aq.System([bar], interfaces=interfaces, velocity=-p.velocity * axis)
    return aq.Study(system, scheme_of(p.scheme, p.theta), p.duration, p.step, p.fields_every)


def shapes(result: xarray.DataTree) -> tuple[Array, Array]:
    """Radius of the foot and length (frame,), m."""
    bar = result["part/bar"].dataset
    reference_positions = bar["position"].values
    positions = reference_positions + bar["displacement"].values
    foot = np.isclose(reference_positions[:, 1], 0.0, atol=1e-9)
    radial = np.delete(positions[:, foot], 1, axis=2)
    return np.linalg.norm(radial, axis=2).max(axis=1), np.ptp(positions[:, :, 1], axis=1)


def is_published(parameters: Parameters) -> bool:
    """Whether the published results are for these parameters."""
    p = parameters
    published_case = Parameters(elements=p.elements, dimension=p.dimension, step=p.step, fields_every=p.fields_every)
    return p == published_case


def check(result: xarray.DataTree, parameters: Parameters) -> list[Check]:
    p = parameters
    checks = []
    if is_published(p):
        names = "foot's radius", "length"
        for order, (name, values, exact) in enumerate(zip(names, shapes(result), PUBLISHED, strict=True), start=1):
            tolerance = CONVERGED + COARSE / p.elements**order
            checks.append(
                Check(f"{name} at the end, published limit", float(values[-1]), exact, tolerance, "m", "absolute")
            )
    energy = result.dataset["energy"]
    work = float(energy.sel(kind=["strain", "plastic"]).sum("kind")[-1])
    scheme_energy = float(energy.sel(kind="scheme")[-1])
    volume = p.length * p.radius**2 * np.pi * (1.0 if p.dimension == "axisymmetric" else 0.25)
    kinetic = 0.5 * p.density * volume * p.velocity**2
    name = "stress-update work less internal work"
    if p.scheme == "theta" and p.theta > 0.5:  # the scheme dissipates energy
        checks.append(Check(name, scheme_energy / work, 0.0, WORK, "1", "at least"))
    else:
        checks.append(Check(name, scheme_energy / work, 0.0, WORK, "1", "absolute"))
    checks += [
        Check("energy balance, worst step", worst_balance(result), 0.0, BALANCE, "1", "absolute"),
        Check(
            "final over initial kinetic energy",
            float(energy.sel(kind="kinetic")[-1]) / kinetic,
            1.0,
            0.0,
            "1",
            "at most",
        ),
    ]
    if p.wall == "unilateral":
        gap = float(result["interface/wall"].dataset["gap_min"].min())
        # without sub-steps a free surface may reach the wall within a step, at up to twice the particle velocity
        fastest = p.velocity if p.scheme == "central-difference" else 2.0 * p.velocity
        checks.append(Check("largest penetration over the largest step", gap, 0.0, fastest * p.step, "m", "at least"))
    return checks


def scalars(result: xarray.DataTree, parameters: Parameters) -> dict[str, aq.Scalar]:
    foot, length = shapes(result)
    return {
        "final_length": aq.Scalar(length[-1], "m", "final length"),
        "foot_radius": aq.Scalar(foot[-1], "m", "final radius of the foot"),
    }


def figures(result: xarray.DataTree, parameters: Parameters) -> dict[str, Any]:
    from arlequin import plots
    from arlequin.cases.taylor_bar.plots import foot_forces_figure, history_figure

    limits = PUBLISHED if is_published(parameters) else None
    figures_by_name = {"energies": plots.energies(result), "history": history_figure(result, shapes(result), limits)}
    if parameters.dimension == "axisymmetric":
        figures_by_name["shape"] = plots.shape(result, "plastic_strain")
    variants = comparisons(result, parameters)
    variant_runs = {name: comparison(build, variants, name) for name in variants}
    runs = {name: run for name, run in variant_runs.items() if run is not None}
    if runs:
        figures_by_name["foot_forces"] = foot_forces_figure(runs)
    return figures_by_name


def comparisons(result: xarray.DataTree, parameters: Parameters) -> dict[str, Parameters]:
    """First 10 µs by the scheme of the parameters and by Newmark's, at the same step."""
    if not (parameters.friction and parameters.dimension == "axisymmetric"):
        return {}
    start = replace(parameters, duration=min(parameters.duration, FIRST))
    return {"impulses on the velocity": start, "Newmark, contact on the gap": replace(start, scheme="newmark")}
