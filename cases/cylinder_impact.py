"""Impact of a cylinder on a rigid block: contact force by the θ-scheme and Newmark, Arlequin or all-fine model.

Plane strain (section 5.2.2 of the thesis). The disc is the image of a square: (u, v) ∈ [−1, 1]² is mapped to
R (u √(1 − v²/2), 1 + v √(1 − u²/2)), so that rows of cells, v constant, follow the contact arc at the bottom (± 45°).
In the Arlequin model the lowest rows are a fine part and the rows above a coarse part; they overlap on common rows that
end at the free surface far from the contact. There are no coarse cells at the contact.

As long as the edge of the contact moves faster than the waves, up to the half-width R V/c, it emits a front of that
size. If the coarse cells are larger than the front, forces are compared step by step, else as means over the time in
which a wave crosses a coarse cell. Oscillation is checked in the former case only. At 500 m/s the models differ because
of the coarse cells: first-order cells disperse the front that returns from the far side (an all-coarse disc differs by
as much), and waves that they cannot resolve are reflected by the junction. Difference from all fine, step by step (L2,
peak), total variation / 2 peak (all fine: 1.24), cost of a step (all fine: 1):

    order 1, ratio 4                         2.5 %  2.8 %  2.2   0.18
    order 1, ratio 4, zone of 4 cells        2.2 %  2.6 %               9 mm fine alone: 2.1 %, 1.8 %
    order 1, ratio 2                         1.5 %  0.2 %
    order 2, ratio 8                         2.0 %  2.0 %  2.2   0.17
    order 2, ratio 8, absorbing              1.6 %  1.1 %  1.2   0.21
    order 2, ratio 7, absorbing              1.3 %  0.9 %  1.2   0.18     the default; means 0.7 %
    order 2, ratio 4                         0.8 %  0.5 %  1.5

The all-fine model differs by 0.8 % from one with cells of 0.7 times the size. At 10 m/s the default, without
absorption, differs by 0.17 % at 0.15 of the cost. The oscillation left at 500 m/s with θ = 1/2 vanishes with θ = 1;
Newmark's scheme chatters at both velocities.

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
AGREEMENT = 0.01  # force of the Arlequin model against all fine
SMOOTH = ("unilateral-velocity", "asperities", "multilevel")  # laws without oscillation of the contact force
ALL_FINE, NEWMARK = "all fine", "Newmark, contact on the gap"  # names of comparison runs
LARGEST_FREE = 0.8  # of the radius: the overlap stays below the middle of the disc


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
    ratio: Annotated[int, Quantity("", "coarse over fine cell size", positive_integer)] = 7
    coarse_order: Annotated[Literal[1, 2], Quantity("", "order of the coarse cells")] = 2
    free: Annotated[float, Quantity("m", "depth of the fine part below the overlap", positive)] = 1.75e-3
    overlap: Annotated[float, Quantity("m", "height of the overlap", positive)] = 1.75e-3
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
        if self.free + self.overlap > LARGEST_FREE * self.radius:
            raise aq.UserError.parameter(
                "free",
                self.free,
                f"must be at most 0.8 radius − overlap = {LARGEST_FREE * self.radius - self.overlap:g}",
            )


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


@dataclass(frozen=True)
class MeshRows:
    """Number of fine cells along a side of the square, fine rows below the overlap, coarse rows in the overlap."""

    side: int
    free: int
    glued: int

    @classmethod
    def of(cls, parameters: Parameters) -> "MeshRows":
        """Whole numbers of coarse cells, even along the side, so that a node is at the lowest point."""
        p = parameters
        coarse = p.ratio * p.size
        return cls(
            p.ratio * 2 * max(1, round(p.radius / coarse)),
            p.ratio * max(1, round(p.free / coarse)),
            max(1, round(p.overlap / coarse)),
        )


def build(parameters: Parameters) -> aq.Study:
    p = parameters
    rows = MeshRows.of(p)
    material = aq.LinearElastic(young=p.young, poisson=p.poisson, density=p.density)

    def solid(name: str, *which: int, order: int = 1) -> aq.Solid:
        return aq.Solid(name, disc_of_square(p.radius, *which), material, plane="strain", mass=p.mass, order=order)

    junctions = []
    if p.arlequin:
        coarse = solid("coarse", rows.free, rows.side, rows.side, p.ratio, order=p.coarse_order)
        fine = solid("fine", 0, rows.free + p.ratio * rows.glued, rows.side)
        # cell numbering by rows or columns: the overlap is found from positions in the square
        square = aq.mesh.rectangle((0, 1), (0, 1), cells=(rows.side // p.ratio, (rows.side - rows.free) // p.ratio))
        height = rows.glued * p.ratio / (rows.side - rows.free)
        glued = np.flatnonzero(square.p[1, square.t].mean(axis=0) < height)
        zone = aq.Cells(glued.tolist(), inner="bottom")
        absorber = aq.Absorber() if (sharp(p) if p.absorbing is None else p.absorbing) else None
        junctions = [aq.Junction(coarse, fine, zone=zone, absorbing=absorber)]
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


def sharp(parameters: Parameters) -> bool:
    """Whether the front R V/c emitted by the contact is larger than the coarse cells."""
    p = parameters
    return p.radius * p.velocity / wave_speed(p) > p.ratio * p.size / p.coarse_order


def window(parameters: Parameters) -> int:
    """Number of steps over which forces are averaged for the comparison (module docstring)."""
    return max(1, round(parameters.ratio / parameters.courant)) if sharp(parameters) else 1


def comparisons(result: xarray.DataTree, parameters: Parameters) -> dict[str, Parameters]:
    """The all-fine model; two values of θ; Newmark's scheme (β = 1/4, γ = 1/2) with gap-level contact.

    They end soon after the release of the result. The latter record the pressures at every step.
    """
    p = to_release(result, parameters)
    models = {ALL_FINE: replace(p, arlequin=False)} if p.arlequin else {}
    for theta in (1.0, 0.5):
        models[f"θ = {theta:g}, {p.law}"] = replace(p, scheme="theta", theta=theta, fields_every=1)
    return models | {NEWMARK: replace(p, scheme="newmark", law="unilateral", fields_every=1)}


def to_release(result: xarray.DataTree, parameters: Parameters) -> Parameters:
    """The same parameters with the run ending a quarter of a contact duration after the release."""
    end = LATER * released(result)
    return replace(parameters, duration=min(end, parameters.duration)) if end > 0.0 else parameters


def check(result: xarray.DataTree, parameters: Parameters) -> list[Check]:
    p = parameters
    checks = agreement(result, p)
    if p.law in SMOOTH and window(p) == 1:
        found = roughness(force_means(result))
        checks.append(Check("total variation / 2 peak (1: no oscillation)", found, 1.0, 0.1, "1", "at most"))
    parts = tuple(result["part"].children)
    checks.append(momentum_check(result, parts, ("x", "y"), "contact"))
    return [*checks, *vibration(result, ovalling(p.radius, p.young, p.poisson, p.density)), *energy_checks(result)]


def agreement(result: xarray.DataTree, parameters: Parameters) -> list[Check]:
    """Checks of the Arlequin against the all-fine model."""
    whole = comparison(build, comparisons(result, parameters), ALL_FINE)
    if whole is None:
        return []
    p = to_release(result, parameters)
    fine = force_means(whole, window(p))
    force = force_means(result, window(p))[: fine.size]
    distance = float(np.linalg.norm(force - fine) / np.linalg.norm(fine)) if fine.any() else float("nan")
    span = window(p) * step(p)
    found = [
        Check("contact force against the all-fine model, L2", distance, 0.0, AGREEMENT, "1", "at most"),
        Check("largest contact force", float(force.max()), float(fine.max()), AGREEMENT, "N/m"),
        Check("contact impulse", float(force.sum() * span), float(fine.sum() * span), AGREEMENT, "N s/m"),
    ]
    if 0.0 < released(whole) < p.duration:
        own, other = (centre_velocity(each, "y") for each in (result, whole))
        found.append(Check("velocity of the rebound", own, other, AGREEMENT, "m/s"))
    return found


def scalars(result: xarray.DataTree, parameters: Parameters) -> dict[str, aq.Scalar]:
    return impact_scalars(result, parameters.velocity, centre_velocity(result, "y"), "y")


def figures(result: xarray.DataTree, parameters: Parameters) -> dict[str, Any]:
    from arlequin import plots

    p, others = to_release(result, parameters), comparisons(result, parameters)
    runs = {name: run for name in others if (run := comparison(build, others, name)) is not None}
    own = {"Arlequin" if p.arlequin else ALL_FINE: result}
    if ALL_FINE in runs:
        own[ALL_FINE] = runs.pop(ALL_FINE)
    name = f"θ = {p.theta:g}, {p.law}" if p.scheme == "theta" else f"{p.scheme}, {p.law}"

    def titled(text: str, tree: xarray.DataTree) -> str:
        return f"{text}: total variation / 2 peak = {roughness(force_means(tree)):.3f}"

    panels = {titled(name, result): own}
    if NEWMARK in runs:
        panels[titled(NEWMARK, runs[NEWMARK])] = {"Newmark": runs[NEWMARK]}
    force = force_panels(panels, component="y")
    # the force panels omit a long flight
    force.axes[0].set_xlim(0.0, force.axes[0].get_xlim()[1] * p.duration / parameters.duration)
    drawn = {"energies": plots.energies(result), "force": force}
    if runs:
        drawn["pressure"] = pressure_panels({name: NodePressures.of(run) for name, run in runs.items()})
    return drawn | {"shape": plots.shape(result, "velocity", frame=result.sizes["frame"] // 3, component=1)}
