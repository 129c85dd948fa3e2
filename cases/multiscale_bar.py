"""Impact of an Arlequin model of a bar, coarse and fine, on a rigid wall under the multi-level law.

A plane bar (plane stress, ν = 0) hits a wall with its right end. The last fifth is a fine mesh, read from a Gmsh file;
the rest is coarse; an Arlequin junction couples them over the last cells of the coarse part. References: the all-fine
model and, since ν = 0 makes the bar uniaxial, the delay equation of the 1D bar.

The impact emits a front, steeper than the coarse mesh can resolve, into the fine tip. The junction absorbs its shortest
waves (column `absorbed`); the others travel to the free end and back in the coarse part, whose mass cancels the leading
numerical dispersion. L1 error of the contact pressure over the impulse, and its total variation over twice the jump:

    exact                                                       1
    all fine                                            0.35 %  1.20
    defaults                                            0.49 %  1.29
    mediator=coarse                                     0.76 %  1.89
    coarse_mass=same                                    4.6 %   4.5
    the same, mediator=coarse, absorbing=false          7.7 %   17.8     zone of four coarse cells
    scheme=central-difference mass=lumped courant=0.9   0.61 %  1.87
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import xarray

import arlequin as aq
from arlequin.cases.case.checks import Check
from arlequin.cases.case.comparison import comparison
from arlequin.cases.case.parameters import Quantity
from arlequin.cases.reference.rods import Rod
from arlequin.cases.shared.figures import multiscale_figures
from arlequin.cases.shared.impact import bar_scalars, centre_velocity, energy_checks, mean_pressures
from arlequin.cases.shared.vocabulary import (
    AsperityDamping,
    AsperityDampingExponent,
    AsperityExponent,
    AsperityHeight,
    AsperityStiffness,
    Density,
    FieldsEvery,
    MassName,
    Poisson,
    ThetaValue,
    Young,
    check_gap,
    laws_of,
    rod_contact,
    scheme_of,
)
from arlequin.models.checks import non_negative, positive

# the midpoint scheme needs uncoupled massless contact points: bars only
SolidScheme = Literal[
    "theta", "newmark", "hht", "modified-mean-acceleration", "generalised-alpha", "central-difference"
]  # fmt: skip
ALL_FINE = "all fine"  # name of the comparison run
MESH = Path(__file__).parent / "meshes" / "bar_tip.msh"


@dataclass(frozen=True)
class Parameters:
    """Default: steel bar of the thesis (0.1 × 0.005 m) at 100 m/s with asperities of 0.5 mm."""

    model: Annotated[
        Literal["arlequin", "fine"], Quantity("", "Arlequin model of a coarse and a fine part, or fine everywhere")
    ] = "arlequin"
    mesh: Annotated[str, Quantity("", "Gmsh file of the fine tip, with the group 'right' at the contact")] = str(MESH)
    length: Annotated[float, Quantity("m", "length of the bar", positive)] = 0.1
    coarse_size: Annotated[float, Quantity("m", "cell size of the coarse part", positive)] = 1.25e-3
    overlap: Annotated[float, Quantity("m", "length of the overlap", positive)] = 7.5e-3
    coarse_mass: Annotated[
        Literal["dispersion", "same"],
        Quantity("", "mass of the coarse part: reduced dispersion, or that of the fine part"),
    ] = "dispersion"
    mediator: Annotated[Literal["grid", "coarse"], Quantity("", "multiplier space: cells of 1.2 to 1.33 H, or H")] = (
        "grid"
    )
    absorbing: Annotated[bool, Quantity("", "absorb waves that the coarse mesh cannot resolve")] = True
    young: Young = 2.0e11
    poisson: Poisson = 0.0
    density: Density = 7800.0
    velocity: Annotated[float, Quantity("m/s", "impact velocity", positive)] = 100.0
    gap: Annotated[float, Quantity("m", "initial gap of the substrates", non_negative)] = 5e-4
    law: Annotated[
        Literal["unilateral", "unilateral-velocity", "asperities", "multilevel"], Quantity("", "interface law")
    ] = "multilevel"
    asperity_stiffness: AsperityStiffness = 1e12
    asperity_exponent: AsperityExponent = 1.0
    asperity_height: AsperityHeight = 5e-4
    asperity_damping: AsperityDamping = 0.0
    asperity_damping_exponent: AsperityDampingExponent = 0.0
    scheme: Annotated[SolidScheme, Quantity("", "time scheme")] = "theta"
    theta: ThetaValue = 0.5
    mass: Annotated[MassName, Quantity("", "mass matrix of the fine part")] = "consistent"
    courant: Annotated[float, Quantity("", "Courant number c Δt/h of the fine cells", positive)] = 1.0
    duration: Annotated[float, Quantity("s", "duration of the run", positive)] = 6e-5
    fields_every: FieldsEvery = 20

    def __post_init__(self) -> None:
        check_gap(self)


@dataclass(frozen=True)
class TipMesh:
    """Fine mesh of the tip, its extents (m) and mean cell sizes along and across (m)."""

    mesh: Any
    x: tuple[float, float]
    y: tuple[float, float]
    sizes: tuple[float, float]

    @property
    def size(self) -> float:
        """Length of a cell along the bar, m."""
        return self.sizes[0]


def read_tip(path: str) -> TipMesh:
    """Mesh of the tip from a file; its boundary "right" is the contact surface."""
    return _read_tip(path, _modified(path))


def _modified(path: str) -> int:
    """Modification time of the file, ns, which invalidates cached results of an earlier version."""
    return Path(path).stat().st_mtime_ns if Path(path).is_file() else 0


@lru_cache(maxsize=4)
def _read_tip(path: str, modified: int) -> TipMesh:
    mesh = aq.mesh.read(path, boundaries=("right",))
    if mesh.dim() != 2:
        raise aq.UserError.parameter("mesh", path, f"is a mesh in {mesh.dim()}D: the tip must be a plane mesh")
    (x0, y0), (x1, y1) = mesh.p.min(axis=1), mesh.p.max(axis=1)
    # means over the cells: also for unstructured meshes
    size_along, across = np.ptp(mesh.p[:, mesh.t], axis=1).mean(axis=1)
    return TipMesh(mesh, (float(x0), float(x1)), (float(y0), float(y1)), (float(size_along), float(across)))


def wave_speed(parameters: Parameters) -> float:
    return float(np.sqrt(parameters.young / parameters.density))


def build(parameters: Parameters) -> aq.Study:
    p = parameters
    tip = read_tip(p.mesh)
    if not tip.x[0] < p.length or abs(tip.x[1] - p.length) > 1e-9 * p.length:
        raise aq.UserError.parameter(
            "length", p.length, f"the mesh of the tip ends at x = {tip.x[1]:g} m: it must end there"
        )
    material = aq.LinearElastic(young=p.young, poisson=p.poisson, density=p.density)
    if p.model == "fine":
        cells_along = max(1, round(p.length / tip.size))
        cells_across = max(1, round((tip.y[1] - tip.y[0]) / tip.sizes[1]))
        mesh = aq.mesh.rectangle((0.0, p.length), tip.y, cells=(cells_along, cells_across))
        parts = [aq.Solid("fine", mesh, material, plane="stress", mass=p.mass)]
        junctions = []
    else:
        inner = tip.x[0] + p.overlap
        if inner >= p.length:
            raise aq.UserError.parameter(
                "overlap", p.overlap, f"must be less than the tip's length of {p.length - tip.x[0]:g} m"
            )
        cells = (max(1, round(inner / p.coarse_size)), max(1, round((tip.y[1] - tip.y[0]) / p.coarse_size)))
        mesh_of_coarse = aq.mesh.rectangle((0.0, inner), tip.y, cells=cells)
        mass = p.mass if p.coarse_mass == "same" else "dispersion"
        coarse = aq.Solid("coarse", mesh_of_coarse, material, plane="stress", mass=mass)
        fine = aq.Solid("fine", tip.mesh, material, plane="stress", mass=p.mass)
        parts = [coarse, fine]
        junctions = [aq.Junction(coarse, fine, mediator=p.mediator, absorbing=p.absorbing)]
    end = parts[-1].boundary("right")
    wall = aq.RigidPlane(point=(p.length + p.gap, 0.0), normal=(-1.0, 0.0))
    system = aq.System(parts, junctions, [aq.Interface("contact", end, wall, laws_of(p))], velocity=(p.velocity, 0.0))
    step = p.courant * tip.size / wave_speed(p)
    return aq.Study(system, scheme_of(p.scheme, p.theta), p.duration, step, p.fields_every)


def reference(parameters: Parameters) -> Any:
    """Delay equation of the 1D bar (exact for ν = 0)."""
    p = parameters
    rod = Rod(p.length, p.young, p.density, p.velocity)
    end = 1.05 * p.duration + 2.0 * p.courant * read_tip(p.mesh).size / wave_speed(p)
    return rod_contact(p, rod, None, p.gap, end)


def comparisons(result: xarray.DataTree, parameters: Parameters) -> dict[str, Parameters]:
    """All-fine model with the same parameters."""
    return {ALL_FINE: replace(parameters, model="fine")} if parameters.model == "arlequin" else {}


def check(result: xarray.DataTree, parameters: Parameters) -> list[Check]:
    """Checks of the contact impulse, as waves not resolved by the coarse cells remain in the tip and disturb the
    pressure."""
    p = parameters
    edges, pressure = mean_pressures(result)
    impulse = float(np.sum(np.diff(edges) * pressure))
    checks = []
    fine = comparison(build, comparisons(result, p), ALL_FINE)
    if fine is not None:
        fine_edges, fine_pressure = mean_pressures(fine)
        fine_impulse = float(np.sum(np.diff(fine_edges) * fine_pressure))
        checks.append(Check("contact impulse against the all-fine model", impulse, fine_impulse, 0.01, "Pa s"))
    if p.poisson == 0.0:
        exact = reference(p)
        checks.append(
            Check("contact impulse against the delay equation", impulse, float(exact.impulse(edges[-1])), 0.01, "Pa s")
        )
    return checks + energy_checks(result)


def scalars(result: xarray.DataTree, parameters: Parameters) -> dict[str, aq.Scalar]:
    """Scalars of the complete bar."""
    return bar_scalars(result, parameters.velocity, -centre_velocity(result, "x"))


def figures(result: xarray.DataTree, parameters: Parameters) -> dict[str, Any]:
    p = parameters
    exact = reference(p) if p.poisson == 0.0 else None
    if p.model == "fine":
        return multiscale_figures(result, exact)
    # instant at which the impact front is in the middle of the overlap
    front = p.gap / p.velocity + (p.length - read_tip(p.mesh).x[0] - p.overlap / 2) / wave_speed(p)
    return multiscale_figures(result, exact, comparison(build, comparisons(result, p), ALL_FINE), front)
