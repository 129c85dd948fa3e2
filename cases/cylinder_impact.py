"""Impact of a cylinder on a rigid block: contact force by the θ-scheme and Newmark, Arlequin or all-fine model.

Plane strain (section 5.2.2 of the thesis). The disc is the image of a square: (u, v) ∈ [−1, 1]² is mapped to
R (u √(1 − v²/2), 1 + v √(1 − u²/2)), so that rows of cells, v constant, follow the contact arc at the bottom (± 45°).
In the Arlequin model the lowest rows are a fine part and the rows above a coarse part; they overlap on common rows that
end at the free surface far from the contact. There are no coarse cells at the contact.

As long as the edge of the contact moves faster than the waves, up to the half-width R V/c, it emits a front of that
size. A front larger than the distance of the coarse nodes is sharp: it crosses the disc and returns; the coarse mesh
must propagate it without dispersion, and the junction absorb what the mesh cannot resolve. The coarse part then has
first-order cells with the mass of reduced dispersion (`coarse_mass`) at the ratio 4, and absorbs; else, where the depth
of the contact's stress counts, second-order cells at the ratio 7. Oscillation is checked in the latter case only: at
500 m/s the force of the all-fine model oscillates too. Difference from all fine at 500 m/s, step by step (L2, peak),
total variation / 2 peak (all fine: 1.24); free depth and zone are one coarse cell unless given:

    order 1, ratio 4, consistent, free 3 mm          2.5 %  2.8 %  2.2
    order 1, ratio 4, dispersion                     0.86 % 0.00 % 1.1   the default
    order 1, ratio 4, dispersion, free 2 mm          0.87 % 0.02 % 1.1
    order 1, ratio 4, dispersion, zone of 2 cells    0.86 % 0.03 % 1.1
    order 1, ratio 3, dispersion                     0.64 % 0.01 % 1.1
    order 1, ratio 5, dispersion                     1.03 % 0.01 % 1.1
    order 1, ratio 7, dispersion                     1.20 % 0.01 % 1.0
    order 2, ratio 7                                 1.19 % 0.84 % 1.1
    order 2, ratio 7, not absorbing                  1.74 % 2.5 %  2.0
    order 3, ratio 10                                0.84 % 0.01 % 1.1   a step costs 1.3 times that of the default
    order 3, ratio 10, lumped                        1.02 % 0.10 % 1.1
    order 3, ratio 10, not absorbing                 1.68 % 1.2 %  2.2

A step of the default costs 0.22 of the processor time of one of the all-fine model (0.16–0.22 at 10 m/s), and of the
time on the clock of an idle machine 0.33 (0.28), as much of it does not depend on the number of cells; with cells of
0.7 times the size, 0.17. The all-fine model differs by 0.8 % from one with these cells. At 10 m/s the default, which
does not absorb, differs by 0.17 %; with first-order cells at the ratio 4 it would be 0.7 %, 0.4 %, 0.2 % with 1, 2,
3 mm of free depth. Newmark's scheme chatters at both velocities.

duration=8e-4 is the thesis's run at 10 m/s: the contact ends after 32 µs; in the flight the disc vibrates in its oval
mode at the frequency of Love's exact solution. Times scale with the radius: 0.8 ms of contact at 0.5 m.
"""

from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np
import xarray

import arlequin as aq
from arlequin.cases.case.checks import Check
from arlequin.cases.case.comparison import comparison
from arlequin.cases.case.parameters import Quantity
from arlequin.cases.reference.disc import ovalling
from arlequin.cases.shared.impact import centre_velocity, energy_checks, impact_scalars, momentum_check, roughness
from arlequin.cases.shared.meshes import disc_of_square
from arlequin.cases.shared.solid_impact import (
    LATER,
    NodePressures,
    force_means,
    force_panels,
    pressure_panels,
    released,
    vibration,
)
from arlequin.cases.shared.vocabulary import (
    AnyLaw,
    AsperityDamping,
    AsperityDampingExponent,
    AsperityExponent,
    AsperityHeight,
    AsperityStiffness,
    Density,
    FieldsEvery,
    MassName,
    PenaltyStiffness,
    PenaltyViscosity,
    Poisson,
    ThetaValue,
    Young,
    check_gap,
    laws_of,
    scheme_of,
)
from arlequin.models.checks import finite, non_negative, positive, positive_integer

# the midpoint scheme needs uncoupled massless contact points: bars only
SolidScheme = Literal[
    "theta", "newmark", "hht", "modified-mean-acceleration", "generalised-alpha", "central-difference"
]  # fmt: skip
CoarseMass = Literal["consistent", "lumped", "redistributed", "dispersion"]
AGREEMENT = 0.01  # tolerance of the force of the Arlequin model, relative to all fine
SMOOTH = ("unilateral-velocity", "asperities", "multilevel")  # laws without oscillation of the contact force
ALL_FINE, NEWMARK = "all fine", "Newmark, contact on the gap"  # names of comparison runs
SHARP_RATIO, BLUNT_RATIO = 4, 7  # coarse over fine cells where the wave front is sharp and where it is not
LARGEST_FREE = 0.8  # over the radius, so that the overlap is below the middle of the disc


@dataclass(frozen=True)
class Parameters:
    """Default: steel cylinder of radius 20 mm at 10 m/s (the thesis also shows 500 m/s); released before 40 µs."""

    arlequin: Annotated[
        bool, Quantity("", "Arlequin model with a fine part at the contact; false: fine everywhere")
    ] = True
    radius: Annotated[float, Quantity("m", "radius of the cylinder", positive)] = 0.02
    young: Young = 2.0e11
    poisson: Poisson = 0.3
    density: Density = 7800.0
    velocity: Annotated[float, Quantity("m/s", "impact velocity", positive)] = 10.0
    tangential: Annotated[float, Quantity("m/s", "tangential velocity", finite)] = 0.0
    gap: Annotated[float | None, Quantity("m", "initial gap; none: height of the asperities, or 0", non_negative)] = (
        None
    )
    size: Annotated[float, Quantity("m", "size of the fine cells", positive)] = 2.5e-4
    ratio: Annotated[
        int | None,
        Quantity("", "coarse over fine cell size; none: 4 if the wave front is sharp, else 7", positive_integer),
    ] = None
    coarse_order: Annotated[
        Literal[1, 2, 3, 4] | None,
        Quantity("", "order of the coarse cells; none: 1 if the wave front is sharp, else 2"),
    ] = None
    coarse_mass: Annotated[
        CoarseMass | None,
        Quantity("", "mass matrix of the coarse part; none: dispersion for order 1 if the front is sharp, else mass"),
    ] = None
    free: Annotated[
        float | None, Quantity("m", "depth of the fine part below the overlap; none: one coarse cell", positive)
    ] = None
    overlap: Annotated[float | None, Quantity("m", "height of the overlap; none: one coarse cell", positive)] = None
    absorbing: Annotated[
        bool | None, Quantity("", "absorb waves that the coarse mesh cannot resolve; none: if the wave front is sharp")
    ] = None
    law: AnyLaw = "unilateral-velocity"
    penalty_stiffness: PenaltyStiffness = 1e15
    penalty_viscosity: PenaltyViscosity = 4e9
    asperity_stiffness: AsperityStiffness = 1e14
    asperity_exponent: AsperityExponent = 1.0
    asperity_height: AsperityHeight = 1e-5
    asperity_damping: AsperityDamping = 0.0
    asperity_damping_exponent: AsperityDampingExponent = 0.0
    friction: Annotated[float, Quantity("", "coefficient of friction", non_negative)] = 0.0
    scheme: Annotated[SolidScheme, Quantity("", "time scheme")] = "theta"
    theta: ThetaValue = 0.5
    mass: Annotated[MassName, Quantity("", "mass matrix of both parts")] = "consistent"
    courant: Annotated[float, Quantity("", "Courant number c Δt/h of the fine cells", positive)] = 1.0
    duration: Annotated[float, Quantity("s", "duration of the run", positive)] = 4e-5
    fields_every: FieldsEvery = 20

    def __post_init__(self) -> None:
        if self.gap is not None:
            check_gap(self)
        coarse = Coarse.of(self)
        if coarse.free + coarse.overlap > LARGEST_FREE * self.radius:
            raise aq.UserError.parameter(
                "free",
                coarse.free,
                f"must be at most 0.8 radius − overlap = {LARGEST_FREE * self.radius - coarse.overlap:g}",
            )
        if coarse.mass == "dispersion" and coarse.order > 1:
            raise aq.UserError.parameter("coarse_mass", coarse.mass, "is for first-order cells: take coarse_order=1")


def height(parameters: Parameters) -> float:
    """Height of the asperities, m; 0 for laws without."""
    return parameters.asperity_height if parameters.law in ("asperities", "multilevel") else 0.0


def gap(parameters: Parameters) -> float:
    """Initial gap, m."""
    return height(parameters) if parameters.gap is None else parameters.gap


def wave_speed(parameters: Parameters) -> float:
    """Speed of plane dilatational waves, m/s."""
    p = parameters
    return float(np.sqrt(p.young * (1 - p.poisson) / ((1 + p.poisson) * (1 - 2 * p.poisson)) / p.density))


def sharp(parameters: Parameters) -> bool:
    """Whether the front R V/c emitted by the contact is larger than the distance of coarse nodes."""
    p = parameters
    spacing = (p.ratio or SHARP_RATIO) * p.size / (p.coarse_order or 1)
    return p.radius * p.velocity / wave_speed(p) > spacing


@dataclass(frozen=True)
class Coarse:
    """The coarse part: cells over fine cells, order, mass matrix; depth of the free fine part and overlap, m."""

    ratio: int
    order: int
    mass: str
    free: float
    overlap: float

    @classmethod
    def of(cls, parameters: Parameters) -> "Coarse":
        """Values of the parameters, else defaults for the kind of wave front (module docstring)."""
        p, front = parameters, sharp(parameters)
        ratio = p.ratio or (SHARP_RATIO if front else BLUNT_RATIO)
        order = p.coarse_order or (1 if front else 2)
        use_dispersion = front and order == 1 and p.mass == "consistent"
        mass = p.coarse_mass or ("dispersion" if use_dispersion else p.mass)
        cell = ratio * p.size
        return cls(ratio, order, mass, p.free or cell, p.overlap or cell)


@dataclass(frozen=True)
class MeshRows:
    """Number of fine cells along a side of the square, fine rows below the overlap, coarse rows in the overlap."""

    side: int
    free: int
    glued: int

    @classmethod
    def of(cls, parameters: Parameters) -> "MeshRows":
        """Integer numbers of coarse cells, even along the side, so that a node is at the lowest point."""
        p, coarse = parameters, Coarse.of(parameters)
        cell = coarse.ratio * p.size
        return cls(
            coarse.ratio * 2 * max(1, round(p.radius / cell)),
            coarse.ratio * max(1, round(coarse.free / cell)),
            max(1, round(coarse.overlap / cell)),
        )


def build(parameters: Parameters) -> aq.Study:
    p = parameters
    rows = MeshRows.of(p)
    material = aq.LinearElastic(young=p.young, poisson=p.poisson, density=p.density)

    def solid(name: str, *rows_and_side: int, order: int = 1, mass: str = p.mass) -> aq.Solid:
        return aq.Solid(
            name, disc_of_square(p.radius, *rows_and_side), material, plane="strain", mass=mass, order=order
        )

    junctions = []
    if p.arlequin:
        coarse_model = Coarse.of(p)
        ratio = coarse_model.ratio
        coarse = solid(
            "coarse", rows.free, rows.side, rows.side, ratio, order=coarse_model.order, mass=coarse_model.mass
        )
        fine = solid("fine", 0, rows.free + ratio * rows.glued, rows.side)
        # cell numbering by rows or columns: the overlap is found from positions in the square
        square = aq.mesh.rectangle((0, 1), (0, 1), cells=(rows.side // ratio, (rows.side - rows.free) // ratio))
        height = rows.glued * ratio / (rows.side - rows.free)
        glued = np.flatnonzero(square.p[1, square.t].mean(axis=0) < height)
        zone = aq.zones.Cells(glued.tolist(), inner="bottom")
        absorbing = sharp(p) if p.absorbing is None else p.absorbing
        junctions = [aq.Junction(coarse, fine, zone=zone, absorbing=absorbing)]
        parts = [coarse, fine]
    else:
        parts = [solid("fine", 0, rows.side, rows.side)]
    block = aq.RigidPlane(point=(0.0, -gap(p)), normal=(0.0, 1.0))
    friction = aq.Coulomb(p.friction) if p.friction > 0.0 else None
    contact = aq.Interface("contact", parts[-1].boundary("bottom"), block, laws_of(p), friction=friction)
    system = aq.System(parts, junctions, [contact], velocity=(p.tangential, -p.velocity))
    return aq.Study(system, scheme_of(p.scheme, p.theta), p.duration, step(p), p.fields_every)


def step(parameters: Parameters) -> float:
    """Δt, s."""
    return parameters.courant * parameters.size / wave_speed(parameters)


def comparisons(result: xarray.DataTree, parameters: Parameters) -> dict[str, Parameters]:
    """The all-fine model; two values of θ; Newmark's scheme (β = 1/4, γ = 1/2) with gap-level contact.

    They end soon after the release of the result. The θ and Newmark runs record the pressures at every step.
    """
    p = to_release(result, parameters)
    models = {ALL_FINE: replace(p, arlequin=False)} if p.arlequin else {}
    for theta in (1.0, 0.5):
        models[f"θ = {theta:g}, {p.law}"] = replace(p, scheme="theta", theta=theta, fields_every=1)
    return models | {NEWMARK: replace(p, scheme="newmark", law="unilateral", fields_every=1)}


def to_release(result: xarray.DataTree, parameters: Parameters) -> Parameters:
    """Parameters with the end of the run a quarter of a contact duration after the release."""
    end = LATER * released(result)
    return replace(parameters, duration=min(end, parameters.duration)) if end > 0.0 else parameters


def check(result: xarray.DataTree, parameters: Parameters) -> list[Check]:
    p = parameters
    checks = agreement(result, p)
    if p.law in SMOOTH and not sharp(p):
        variation = roughness(force_means(result))
        checks.append(Check("total variation / 2 peak (1: no oscillation)", variation, 1.0, 0.1, "1", "at most"))
    parts = tuple(result["part"].children)
    checks.append(momentum_check(result, parts, ("x", "y"), "contact"))
    return [*checks, *vibration(result, ovalling(p.radius, p.young, p.poisson, p.density)), *energy_checks(result)]


def agreement(result: xarray.DataTree, parameters: Parameters) -> list[Check]:
    """Checks of the Arlequin against the all-fine model."""
    all_fine = comparison(build, comparisons(result, parameters), ALL_FINE)
    if all_fine is None:
        return []
    p = to_release(result, parameters)
    fine = force_means(all_fine)
    force = force_means(result)[: fine.size]
    distance = float(np.linalg.norm(force - fine) / np.linalg.norm(fine)) if fine.any() else float("nan")
    checks = [
        Check("contact force against the all-fine model, L2", distance, 0.0, AGREEMENT, "1", "at most"),
        Check("largest contact force", float(force.max()), float(fine.max()), AGREEMENT, "N/m"),
        Check("contact impulse", float(force.sum() * step(p)), float(fine.sum() * step(p)), AGREEMENT, "N s/m"),
    ]
    if 0.0 < released(all_fine) < p.duration:
        rebound, fine_rebound = (centre_velocity(run, "y") for run in (result, all_fine))
        checks.append(Check("velocity of the rebound", rebound, fine_rebound, AGREEMENT, "m/s"))
    return checks


def scalars(result: xarray.DataTree, parameters: Parameters) -> dict[str, aq.Scalar]:
    return impact_scalars(result, parameters.velocity, centre_velocity(result, "y"), "y")


def figures(result: xarray.DataTree, parameters: Parameters) -> dict[str, Any]:
    from arlequin import plots

    p, compared = to_release(result, parameters), comparisons(result, parameters)
    runs = {name: run for name in compared if (run := comparison(build, compared, name)) is not None}
    first_panel = {"Arlequin" if p.arlequin else ALL_FINE: result}
    if ALL_FINE in runs:
        first_panel[ALL_FINE] = runs.pop(ALL_FINE)
    name = f"θ = {p.theta:g}, {p.law}" if p.scheme == "theta" else f"{p.scheme}, {p.law}"

    def titled(text: str, tree: xarray.DataTree) -> str:
        return f"{text}: total variation / 2 peak = {roughness(force_means(tree)):.3f}"

    panels = {titled(name, result): first_panel}
    if NEWMARK in runs:
        panels[titled(NEWMARK, runs[NEWMARK])] = {"Newmark": runs[NEWMARK]}
    force = force_panels(panels, component="y")
    # the force panels omit a long flight
    force.axes[0].set_xlim(0.0, force.axes[0].get_xlim()[1] * p.duration / parameters.duration)
    figures_by_name = {"energies": plots.energies(result), "force": force}
    if runs:
        figures_by_name["pressure"] = pressure_panels({name: NodePressures.of(run) for name, run in runs.items()})
    return figures_by_name | {"shape": plots.shape(result, "velocity", frame=result.sizes["frame"] // 3, component=1)}
