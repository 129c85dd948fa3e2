"""Fuel rod in spacer grids under turbulent excitation: impacts, friction and wear power at springs and dimples.

The rod is a Timoshenko tube in space along z with the masses of pellets and entrained water, reduced to its lowest
modes and the static shapes of its supports. At each grid, in each direction x and y, one spring is opposite to two
dimples: shock elements with Coulomb friction on the surface of the rod (`arlequin.cases.fuel_rod.model`), optionally
with asperities.

The supports are displaced so that a rigid rod would carry P from each spring and P/2 from each dimple; as the rod bends
between them, 14.90 N of 15 N remain. A grid may have lost its preload partly or completely (`relaxation`), have a gap,
or be offset from the axis (`misalignment`). The initial state is the static equilibrium, without friction, after the
insertion of the supports.

Excitation: turbulent force with a flat spectrum up to `cutoff` and a correlation length along the span, reproducible by
its seed; a harmonic force along x; or a common motion of the grids along x (in their frame).

With `zoom=N` the cladding at grid N is a 3D solid between two beams, coupled by Arlequin junctions; its supports are
small pads on springs, with asperities, unregularised friction and wear, which gives maps of pressure, slip and worn
depth (`arlequin.cases.fuel_rod.zoom`, `arlequin.cases.shared.spacer_cell`). `substeps`: steps of the zoom per step of
the rod. With `zoom=auto` the loose grid is zoomed only during impacts; between them the cladding is replaced by a beam
of the same stiffness and mass on springs (`arlequin.cases.fuel_rod.levels`). This saves time if the grid is open most
of the time; up to `cells=8` the steps between impacts are one compiled loop.

Typical data: Zircaloy-4, 9.5 mm × 0.57 mm, 8 to 10 grids over some 4 m, pellets of 8.19 mm and 95 % of 10960 kg/m³ (PWR
17 × 17 rods); springs of 10⁵ and dimples of 10⁶ N/m with initially 10 to 30 N, relaxed by irradiation; damping of about
1 % of critical in water; rods in axial flow move by micrometres to some tens of them between grids. Chosen data: the
shock damping, friction 0.3 (0.2 to 0.6 is observed in water), tangential stiffness 0.8 of the normal one, correlation
0.2 m, force 1 N/m rms.

Sources: Païdoussis, Fluid-Structure Interactions: Slender Structures and Axial Flow 2, 2016
(damping and amplitudes of rods in axial flow); Rubiolo & Young, Nuclear Engineering and Design 239, 2009 (grid-to-rod
fretting: gaps, work rate); Axisa, Antunes & Villard, J. Fluids Struct. 2, 1988 (nonlinear supports); Lemaignan & Motta,
in Materials Science and Technology 10B, 1994 (Zircaloy).

Results: `part/rod`; `interface/grid1_springs` (points at +x and +y) and `interface/grid1_dimples` (−x below and above,
then −y) with displacement, force and work rate of each point on `time`; of a zoom `part/lower`, `part/upper`,
`part/cladding`, `junction/lower_end`, `junction/upper_end`, `interface/spring_x`, `interface/dimple_x_low` and so on;
with `zoom=auto` also `part/middle` and the level over time, `levels/grid4`; inactive parts are nan.
Measures: `arlequin.cases.fuel_rod.measures`.
"""

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import xarray

import arlequin as aq
from arlequin.cases.case.checks import Check
from arlequin.cases.case.comparison import Variant, comparison
from arlequin.cases.fuel_rod.levels import RodLevels
from arlequin.cases.fuel_rod.measures import supports
from arlequin.cases.fuel_rod.model import beam, grids, nodal, part, settled, settling, shaking
from arlequin.cases.fuel_rod.parameters import Parameters
from arlequin.cases.fuel_rod.zoom import Zoom
from arlequin.cases.reference.rod_modes import RodModes
from arlequin.cases.reference.sprung_rod import spring_forces
from arlequin.cases.shared.impact import worst, worst_balance

STATICS = "insertion of the supports"  # name of the comparison run
FREQUENCIES = 4  # compared with the closed forms


def build(parameters: Parameters) -> aq.Study:
    p = parameters
    if p.zoom == "auto":
        return RodLevels(p).study()
    if p.zoom:
        return Zoom(p).study()
    rod = part(p)
    displacement = {"rod": nodal(settled(p)["part/rod"].dataset)}
    contacts = [contact for grid in grids(p) for contact in grid.interfaces(rod, p.friction, p.tangential)]
    system = aq.System([rod], interfaces=contacts, gravity=shaking(p), displacement=displacement)
    return aq.Study(system, aq.Theta(0.5), p.duration, p.step, fields_every=p.fields_every)


@dataclass(frozen=True)
class PreloadForces:
    """Forces of springs and dimples along x (support,), N, computed and by beam theory, with labels."""

    labels: list[str]
    computed: np.ndarray
    expected: np.ndarray


def comparisons(result: xarray.DataTree, parameters: Parameters) -> dict[str, Variant]:
    """The statics of the insertion, for the preload of the supports."""
    p = parameters
    has_closed_form = p.preload * (1.0 - p.relaxation) and p.law == "shock" and len(p.open) < p.grids
    return {STATICS: Variant(settling, p)} if has_closed_form else {}


def preload(parameters: Parameters, statics: xarray.DataTree | None = None) -> PreloadForces:
    """Preload by statics and by beam theory on linear springs, if all supports are in contact.

    statics: result of `settling`; None: it is computed.
    """
    p = parameters
    result = settled(p) if statics is None else statics
    labels, computed, at, stiffnesses, offsets = [], [], [], [], []
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
                computed.append(value)
                at.append(z)
                stiffnesses.append(support.stiffness)
                offsets.append(side * reach + grid.shift)
    rigidities = beam(replace(p, excitation="none")).rigidities
    forces = spring_forces(np.array(at), np.array(stiffnesses), np.array(offsets), rigidities[5], rigidities[1])
    return PreloadForces(labels, np.array(computed), np.abs(forces))


def reference(parameters: Parameters) -> RodModes:
    """Closed-form frequencies of the rod without supports."""
    p, rod = parameters, beam(replace(parameters, excitation="none"))
    rigidities, inertias = rod.rigidities, rod.inertias
    return RodModes(
        p.length, float(rigidities[5]), float(rigidities[1]), float(inertias[1]), float(inertias[5]), p.tension
    )


def frequencies(parameters: Parameters, ends: Literal["free", "pinned"]) -> np.ndarray:
    """Lowest bending frequencies in one plane, Hz, by the finite elements of the rod."""
    p, rod = parameters, beam(replace(parameters, excitation="none"))
    imposed = {"left": {"x": 0.0, "y": 0.0}, "right": {"y": 0.0}} if ends == "pinned" else {}
    plane = aq.Beam(
        "rod", rod.mesh, rod.material, rod.section, dimension=2, tension=p.tension, carried_mass=p.carried,
        added_mass=p.water, imposed=imposed,
    )  # fmt: skip
    rigid = 0 if imposed else 3
    return np.asarray(aq.Modal(plane, rigid + FREQUENCIES).frequencies[rigid:])


def check(result: xarray.DataTree, parameters: Parameters) -> list[Check]:
    p, modes = parameters, reference(parameters)
    checks = []
    for n, (value, exact) in enumerate(zip(frequencies(p, "pinned"), modes.pinned(FREQUENCIES), strict=True), 1):
        checks.append(Check(f"frequency {n} of the rod on pins", float(value), float(exact), 1e-3, "Hz"))
    if not p.tension:
        for n, (value, exact) in enumerate(zip(frequencies(p, "free"), modes.free(FREQUENCIES), strict=True), 1):
            checks.append(Check(f"frequency {n} of the free rod", float(value), float(exact), 1e-3, "Hz"))
    statics = comparison(build, comparisons(result, p), STATICS)
    if statics is not None:
        preload_forces = preload(p, statics)
        at = int(np.abs(preload_forces.computed - preload_forces.expected).argmax())
        limit = 1e-4 * float(preload_forces.expected.max())
        name = f"preload, largest error: {preload_forces.labels[at]}"
        checks.append(
            Check(name, float(preload_forces.computed[at]), float(preload_forces.expected[at]), limit, "N", "absolute")
        )
    table = supports(result)
    pull = float(table["least_force"].min())
    checks.append(Check("smallest force of a support", pull, 0.0, 0.0, "N", "at least"))
    checks.append(Check("energy balance, worst step", worst_balance(result), 0.0, 1e-11, "1", "absolute"))
    if p.zoom:
        checks.append(Check("work of the junctions", worst(result, "junction"), 0.0, 1e-10, "1", "absolute"))
    return checks


def scalars(result: xarray.DataTree, parameters: Parameters) -> dict[str, aq.Scalar]:
    """Scalars of all supports of all grids (`supports`)."""
    table = {name: values.values for name, values in supports(result).data_vars.items()}
    return {
        "wear_power": aq.Scalar(table["work_rate"].sum(), "W", "wear power of all supports"),
        "peak_wear_power": aq.Scalar(table["work_rate"].max(), "W", "largest wear power of a support"),
        "peak_force": aq.Scalar(table["peak_force"].max(), "N", "largest force of a support"),
        "least_force": aq.Scalar(table["least_force"].min(), "N", "smallest force of a support"),
        "contact_ratio": aq.Scalar(table["contact_ratio"].min(), "1", "smallest contact ratio of a support"),
        "impacts": aq.Scalar(table["impacts"].sum(), "1", "number of contact phases of all supports"),
        "rms_motion": aq.Scalar(
            np.fmax.reduce(table["rms_motion"], axis=None), "m", "largest rms transverse motion at a support"
        ),
    }


def figures(result: xarray.DataTree, parameters: Parameters) -> dict[str, Any]:
    from arlequin.cases.fuel_rod.plots import rod_figures

    return rod_figures(result, parameters.heights, parameters.gap)
