"""A fuel rod in spacer grids shakes in a turbulent flow: impacts, friction and wear power at springs and dimples.

The rod is a Timoshenko tube in space, standing along z, that carries its pellets and the water that moves with it,
reduced to its lowest modes and the static shapes of its supports. At each grid and in each direction (x and y) one
spring faces two dimples: shock elements with Coulomb friction on the skin of the rod (`arlequin.cases.fuel_rod.model`),
with asperities in front of them if asked.

Supports are pushed in until a rigid rod would feel P from each spring and P/2 from each dimple; the rod bends between
them, and 14.90 N are left of 15. A grid may have lost its preload, wholly or in part (`relaxation`), stand off by a
gap, or off the axis (`misalignment`). The run starts at rest in the equilibrium of the supports' insertion, by
statics without friction.

Excitation: a turbulent force of a flat spectrum up to `cutoff` and a correlation length along the span, the same for
the same seed; a harmonic force along x; or grids shaken along x together (the frame is theirs).

With `zoom=N` the cladding at grid N is a 3D solid between two beams, glued to them by Arlequin junctions, its supports
small pads on springs, with asperities before the substrates touch, sharp friction and wear: maps of pressure, slip and
worn depth unrolled (`arlequin.cases.fuel_rod.zoom`, `arlequin.cases.shared.spacer_cell`). `substeps` gives the zoom
shorter steps than the rod.

What is typical: Zircaloy-4, 9.5 mm × 0.57 mm, 8 to 10 grids over some 4 m, pellets of 8.19 mm and 95 % of 10960 kg/m³
(PWR 17 × 17 rods); springs of 10⁵ and dimples of 10⁶ N/m with 10 to 30 N at the start of life, which irradiation takes
away; damping of about 1 % of critical in water; rods in axial flow move by micrometres to some tens of them between
grids. What is chosen: the shock damping, friction 0.3 (0.2 to 0.6 is seen in water), tangential stiffness 0.8 of the
normal one, correlation 0.2 m, force 1 N/m rms.
Sources: Païdoussis, Fluid-Structure Interactions: Slender Structures and Axial Flow 2, 2016 (damping and amplitudes
of rods in axial flow); Rubiolo & Young, Nuclear Engineering and Design 239, 2009 (grid-to-rod fretting: gaps, work
rate); Axisa, Antunes & Villard, J. Fluids Struct. 2, 1988 (nonlinear supports); Lemaignan & Motta, in Materials
Science and Technology 10B, 1994 (Zircaloy).

Results: `part/rod`; `interface/grid1_springs` (points at +x and +y) and `interface/grid1_dimples` (−x below and above,
then −y) with displacement, force and work rate of each point on `time`; of a zoom `part/lower`, `part/upper`,
`part/cladding`, `junction/lower_end`, `junction/upper_end`, `interface/spring_x`, `interface/dimple_x_low` and so on.
Measures: `arlequin.cases.fuel_rod.measures`.
"""

from dataclasses import dataclass, replace
from math import pi
from typing import Annotated, Any, Literal

import numpy as np
import xarray

import arlequin as aq
from arlequin.cases.case.checks import Check
from arlequin.cases.case.parameters import Quantity
from arlequin.cases.fuel_rod.measures import supports
from arlequin.cases.fuel_rod.model import beam, grids, nodal, part, settled, shaking
from arlequin.cases.fuel_rod.zoom import Zoom
from arlequin.cases.reference.rod_modes import RodModes
from arlequin.cases.reference.sprung_rod import spring_forces
from arlequin.cases.shared.impact import worst, worst_balance
from arlequin.cases.shared.vocabulary import Density, Poisson, Young
from arlequin.models.checks import (
    finite,
    integer,
    non_negative,
    non_negative_integer,
    positive,
    positive_integer,
    within,
)

MARGIN = 0.1  # m, from an end of the rod to its first grid
FREQUENCIES = 4  # compared with the closed forms


@dataclass(frozen=True)
class Parameters:
    """Eight grids, 15 N of preload but at grid 4, which stands off by 0.03 mm; 1 s of turbulence."""

    length: Annotated[float, Quantity("m", "of the rod", positive)] = 3.9
    outer_diameter: Annotated[float, Quantity("m", "of the cladding", positive)] = 9.5e-3
    thickness: Annotated[float, Quantity("m", "of the cladding", positive)] = 0.57e-3
    young: Young = 9.9e10
    poisson: Poisson = 0.37
    density: Density = 6550.0
    pellet_density: Annotated[float, Quantity("kg/m3", "density of the pellets", non_negative)] = 10400.0
    pellet_diameter: Annotated[float, Quantity("m", "of the pellets", positive)] = 8.19e-3
    water_density: Annotated[float, Quantity("kg/m3", "density of the water", non_negative)] = 720.0
    added_mass: Annotated[float, Quantity("", "water that moves along, in volumes of the rod", non_negative)] = 1.5
    fluid_damping: Annotated[float, Quantity("N s/m2", "resistance of the water per length", non_negative)] = 5.0
    tension: Annotated[float, Quantity("N", "axial force in the rod", non_negative)] = 0.0
    grids: Annotated[int, Quantity("", "spacer grids, equally far apart", integer, 2, 40)] = 8
    spring_stiffness: Annotated[float, Quantity("N/m", "of a spring", positive)] = 2e5
    dimple_stiffness: Annotated[float, Quantity("N/m", "of a dimple", positive)] = 1e6
    dimple_height: Annotated[float, Quantity("m", "of dimples above and below the springs", non_negative)] = 12e-3
    preload: Annotated[float, Quantity("N", "of a spring at the start of life", non_negative)] = 15.0
    relaxation: Annotated[float, Quantity("", "share of the preload that is lost", within, 0.0, 1.0)] = 0.0
    gap: Annotated[float, Quantity("m", "on each side at the loose grid", non_negative)] = 3e-5
    loose: Annotated[
        int | None, Quantity("", "number of the grid with the gap; 0: all; none: the middle one", non_negative_integer)
    ] = None
    misalignment: Annotated[float, Quantity("m", "of the second grid, along x", finite)] = 0.0
    friction: Annotated[float, Quantity("", "coefficient of friction", non_negative)] = 0.3
    tangential: Annotated[float, Quantity("", "tangential over normal stiffness of a support", positive)] = 0.8
    shock_damping: Annotated[float, Quantity("N s/m", "of a support in contact", non_negative)] = 20.0
    law: Annotated[Literal["shock", "multilevel"], Quantity("", "elastic supports, or asperities before them")] = (
        "shock"
    )
    asperity_stiffness: Annotated[float, Quantity("N/m^m", "κ of F = κ⟨a − g⟩^m of law=multilevel", positive)] = 2e12
    asperity_exponent: Annotated[float, Quantity("", "m", within, 1.0, 20.0)] = 2.0
    asperity_height: Annotated[float, Quantity("m", "a", positive)] = 5e-6
    excitation: Annotated[Literal["turbulence", "harmonic", "support", "none"], Quantity("", "what shakes the rod")] = (
        "turbulence"
    )
    amplitude: Annotated[
        float, Quantity("", "rms N/m of turbulence, N/m of a harmonic force, m/s2 of the grids", non_negative)
    ] = 1.0
    frequency: Annotated[float, Quantity("Hz", "of a harmonic force or of the grids", positive)] = 30.0
    cutoff: Annotated[float, Quantity("Hz", "up to which the spectrum of turbulence is flat", positive)] = 40.0
    highest: Annotated[float, Quantity("Hz", "highest frequency of turbulence", positive)] = 300.0
    correlation: Annotated[float, Quantity("m", "correlation length of turbulence", positive)] = 0.2
    seed: Annotated[int, Quantity("", "of the turbulence", non_negative_integer)] = 1
    duration: Annotated[float, Quantity("s", "of the run", positive)] = 1.0
    step: Annotated[float, Quantity("s", "Δt", positive)] = 2e-5
    modes: Annotated[
        int, Quantity("", "of the rod, bending in both planes, torsion and stretching", integer, 2, 150)
    ] = 100
    cells: Annotated[int, Quantity("", "beam cells between two grids", integer, 4, 200)] = 16
    zoom: Annotated[int, Quantity("", "number of the grid with a solid cladding; 0: none", non_negative_integer)] = 0
    substeps: Annotated[int, Quantity("", "steps of the zoom in one of the rod", positive_integer)] = 1
    refine: Annotated[float, Quantity("", "fineness of the zoom; 1: cells of 0.08 × 0.4 mm", within, 0.2, 3.0)] = 0.7
    layer_stiffness: Annotated[float, Quantity("Pa/m", "of the asperities in the zoom, linear", positive)] = 5e12
    pad_width: Annotated[float, Quantity("m", "of springs and dimples in the zoom", positive)] = 2.5e-3
    pad_height: Annotated[float, Quantity("m", "likewise", positive)] = 3e-3
    pad_thickness: Annotated[float, Quantity("m", "likewise", positive)] = 0.8e-3
    wear: Annotated[float, Quantity("m3/J", "Archard's coefficient", non_negative)] = 0.0
    fields_every: Annotated[int, Quantity("", "steps between two recorded shapes", positive_integer)] = 100

    def __post_init__(self) -> None:
        for name in ("loose", "zoom"):
            integer(name, getattr(self, name) or 0, 0, self.grids)
        if self.zoom == 2 and self.misalignment:
            raise aq.UserError.parameter("misalignment", self.misalignment, "must be 0 with zoom=2, the grid it moves")
        if not self.length > 4.0 * MARGIN:
            raise aq.UserError.parameter("length", self.length, f"must be more than {4 * MARGIN:g} m")
        most = 0.4 * min(self.heights[1] - self.heights[0], MARGIN)
        if not self.dimple_height < most:
            raise aq.UserError.parameter("dimple_height", self.dimple_height, f"must be less than {most:g} m")
        if not 2.0 * self.thickness < self.outer_diameter:
            raise aq.UserError.parameter("thickness", self.thickness, "must be less than half the outer diameter")
        if self.pellet_density and not self.pellet_diameter < self.outer_diameter - 2.0 * self.thickness:
            rule = f"must be less than the bore, {self.outer_diameter - 2.0 * self.thickness:g} m"
            raise aq.UserError.parameter("pellet_diameter", self.pellet_diameter, rule)

    @property
    def radius(self) -> float:
        """Of the skin, m."""
        return 0.5 * self.outer_diameter

    @property
    def heights(self) -> np.ndarray:
        """Of the grids (g,), m."""
        return np.linspace(MARGIN, self.length - MARGIN, self.grids)

    @property
    def open(self) -> tuple[int, ...]:
        """Numbers of the grids with a gap."""
        if not self.gap:
            return ()
        if self.loose is None:
            return ((self.grids + 1) // 2,)
        return (self.loose,) if self.loose else tuple(range(1, self.grids + 1))

    @property
    def carried(self) -> float:
        """Mass of the pellets, kg/m."""
        return self.pellet_density * 0.25 * pi * self.pellet_diameter**2

    @property
    def water(self) -> float:
        """Added mass, kg/m."""
        return self.added_mass * self.water_density * 0.25 * pi * self.outer_diameter**2


def build(parameters: Parameters) -> aq.Study:
    p = parameters
    if p.zoom:
        return Zoom(p).study()
    rod = part(p)
    moved = {"rod": nodal(settled(p)["part/rod"].dataset)}
    contacts = [one for grid in grids(p) for one in grid.interfaces(rod, p.friction, p.tangential)]
    system = aq.System([rod], interfaces=contacts, gravity=shaking(p), displacement=moved)
    return aq.Study(system, aq.Theta(0.5), p.duration, p.step, fields_every=p.fields_every)


@dataclass(frozen=True)
class PreloadForces:
    """Forces of the springs and dimples along x (support,), N, found and by hand; labels name them."""

    labels: list[str]
    found: np.ndarray
    expected: np.ndarray


def preload(parameters: Parameters) -> PreloadForces:
    """Statics against a hand calculation: the rod on linear springs, as long as all supports touch."""
    p = parameters
    result = settled(p)
    labels, found, at, stiff, ways = [], [], [], [], []
    for grid in grids(p):
        if grid.gap > 0.0:
            continue
        for name, support, reach, side in zip(
            grid.names, (grid.spring, grid.dimple), grid.reach, (-1.0, 1.0), strict=True
        ):
            force = result[f"interface/{name}_x"].dataset["point_force"].values[-1]
            heights = [grid.z] if side < 0.0 else [grid.z - grid.half, grid.z + grid.half]
            for z, value in zip(heights, force, strict=True):
                labels.append(f"{name} at {z:.3f} m")
                found.append(value)
                at.append(z)
                stiff.append(support.stiffness)
                ways.append(side * reach + grid.shift)
    own = beam(replace(p, excitation="none")).rigidities
    forces = spring_forces(np.array(at), np.array(stiff), np.array(ways), own[5], own[1])
    return PreloadForces(labels, np.array(found), np.abs(forces))


def reference(parameters: Parameters) -> RodModes:
    """The rod without supports."""
    p, rod = parameters, beam(replace(parameters, excitation="none"))
    own, inertias = rod.rigidities, rod.inertias
    return RodModes(p.length, float(own[5]), float(own[1]), float(inertias[1]), float(inertias[5]), p.tension)


def frequencies(parameters: Parameters, ends: Literal["free", "pinned"]) -> np.ndarray:
    """The lowest frequencies of bending in one plane, Hz, by the rod's finite elements."""
    p, rod = parameters, beam(replace(parameters, excitation="none"))
    held = {"left": {"x": 0.0, "y": 0.0}, "right": {"y": 0.0}} if ends == "pinned" else {}
    plane = aq.Beam(
        "rod", rod.mesh, rod.material, rod.section, dimension=2, tension=p.tension, carried_mass=p.carried,
        added_mass=p.water, imposed=held,
    )  # fmt: skip
    rigid = 0 if held else 3
    return np.asarray(aq.Modal(plane, rigid + FREQUENCIES).frequencies[rigid:])


def check(result: xarray.DataTree, parameters: Parameters) -> list[Check]:
    p, modes = parameters, reference(parameters)
    checks = []
    for n, (value, exact) in enumerate(zip(frequencies(p, "pinned"), modes.pinned(FREQUENCIES), strict=True), 1):
        checks.append(Check(f"frequency {n} of the rod on pins", float(value), float(exact), 1e-3, "Hz"))
    if not p.tension:
        for n, (value, exact) in enumerate(zip(frequencies(p, "free"), modes.free(FREQUENCIES), strict=True), 1):
            checks.append(Check(f"frequency {n} of the free rod", float(value), float(exact), 1e-3, "Hz"))
    if p.preload * (1.0 - p.relaxation) and p.law == "shock" and len(p.open) < p.grids:
        hand = preload(p)
        at = int(np.abs(hand.found - hand.expected).argmax())
        limit = 1e-4 * float(hand.expected.max())
        name = f"preload, worst: {hand.labels[at]}"
        checks.append(Check(name, float(hand.found[at]), float(hand.expected[at]), limit, "N", "absolute"))
    table = supports(result)
    pull = float(table["least_force"].min())
    checks.append(Check("least force of a support", pull, 0.0, 0.0, "N", "at least"))
    checks.append(Check("energy balance, worst step", worst_balance(result), 0.0, 1e-11, "1", "absolute"))
    if p.zoom:
        checks.append(Check("work of the junctions", worst(result, "junction"), 0.0, 1e-10, "1", "absolute"))
    return checks


def scalars(result: xarray.DataTree, parameters: Parameters) -> dict[str, aq.Scalar]:
    """Of all supports of all grids (`supports`)."""
    table = {name: values.values for name, values in supports(result).data_vars.items()}
    return {
        "wear_power": aq.Scalar(table["work_rate"].sum(), "W", "wear power of all supports"),
        "peak_wear_power": aq.Scalar(table["work_rate"].max(), "W", "largest wear power of a support"),
        "peak_force": aq.Scalar(table["peak_force"].max(), "N", "largest force of a support"),
        "least_force": aq.Scalar(table["least_force"].min(), "N", "least force of a support"),
        "contact_ratio": aq.Scalar(table["contact_ratio"].min(), "1", "least share of the time that a support touches"),
        "impacts": aq.Scalar(table["impacts"].sum(), "1", "spells of contact of all supports"),
        "rms_motion": aq.Scalar(
            np.fmax.reduce(table["rms_motion"], axis=None), "m", "largest rms motion across the rod at a support"
        ),
    }


def figures(result: xarray.DataTree, parameters: Parameters) -> dict[str, Any]:
    from arlequin.cases.fuel_rod.plots import rod_figures

    return rod_figures(result, parameters.heights, parameters.gap)
