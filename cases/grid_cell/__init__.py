"""Cell of a spacer grid in 3D: springs and dimples on a cladding tube, which is then pushed through axially.

Statics. The grid nodes move in until the springs have their preload (0 ≤ t ≤ 1), then both ends of the tube move
axially (1 ≤ t ≤ 3): the friction force rises elastically, the dimples slip first, then the springs, and its limit is μ
times the sum of the normal forces. The ends of the tube slide on frictionless planes (symmetry between two cells), with
soft lateral springs.

Typical of fuel assemblies: Zircaloy-4 (E ≈ 99 GPa at 20 °C, ν ≈ 0.37, 6550 kg/m³), tubes of
9.5 mm × 0.57 mm, spring forces of 10 to 30 N, springs of 1e5 to 3e5 N/m, dimples of 1e6 N/m or more. Chosen: pads of
3 × 2.5 × 0.8 mm, dimples 12 mm off the middle, stiffnesses across the normal, the asperities (5e12 Pa/m, by which 15 N
crush 3.9 µm, 0.19 mm to either side), μ = 0.3, no wear (Zircaloy rubbed in water: 1e-16 to 1e-14 m³/J).

Reference: the tube as a shell, pads rigid (`arlequin.cases.reference.spacer_cell`).
By refinement (default case), a spring after the insertion, and its contact:

    refine   dofs of the tube   force (N)   peak (MPa)   half-width (mm)
    0.5            25,000        14.773       19.3           0.187
    0.7            41,000        14.750       20.6           0.194
    1              66,000        14.752       19.9           0.190
    1.4           130,000        14.739       20.2           0.191
    0.5, order 2  175,000        14.726       20.2           0.191
    by hand                      14.733       20.3           0.188
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import xarray

import arlequin as aq
from arlequin.cases.case.checks import Check
from arlequin.cases.grid_cell.parameters import Parameters
from arlequin.cases.reference.shell_tube import ShellTube
from arlequin.cases.reference.spacer_cell import CellByHand
from arlequin.cases.shared.impact import worst_balance
from arlequin.cases.shared.spacer_cell import Cladding, SpacerCell, Supports
from arlequin.models.types import Array


def cell(parameters: Parameters) -> SpacerCell:
    """Cladding and supports; the middle of the cell is z = 0."""
    p = parameters
    tube = aq.LinearElastic(young=p.young, poisson=p.poisson)
    half = 0.5 * p.length
    cladding = Cladding(0.5 * p.outer_diameter, p.thickness, tube, (-half, half), order=int(p.order))
    supports = Supports(
        aq.LinearElastic(young=p.pad_young, poisson=p.poisson), p.spring_stiffness, p.dimple_stiffness, p.preload,
        aq.Asperities(p.asperity_stiffness, p.asperity_exponent, p.asperity_height), aq.Coulomb(p.friction),
        wear=aq.Archard(p.wear) if p.wear > 0.0 else None, gap=p.gap,
        spring_shear=p.spring_shear, dimple_shear=p.dimple_shear, hollow=p.pad_radius,
    )  # fmt: skip
    return SpacerCell(cladding, supports, p.refine)


def build(parameters: Parameters) -> aq.Study:
    """Statics: insertion in 0 ≤ t ≤ 1, axial push in 1 ≤ t ≤ 3."""
    p, spacer_cell = parameters, cell(parameters)
    motion = {"z": lambda t: float(tube_displacement(p, t))}
    tube = spacer_cell.tube(imposed={"bottom": motion, "top": motion})
    supports = spacer_cell.tube_supports(tube, share=lambda t: share(p, t))
    sideways = (p.end_stiffness, p.end_stiffness, 0.0)
    ends = [aq.Spring(end, tube.boundary(end), stiffness=sideways) for end in ("bottom", "top")]
    system = aq.System([tube, *supports.parts], interfaces=supports.interfaces, springs=[*supports.springs, *ends])
    return aq.Study(system, aq.Static(), duration=3.0, step=1.0 / p.steps)


def share(parameters: Parameters, time: float) -> float:
    """Fraction of `SpacerCell.grid_displacement`; a gap is closed in the first half of the insertion."""
    progress = min(time, 1.0)
    return 2.0 * progress - 1.0 if parameters.gap > 0.0 else progress


def tube_displacement(parameters: Parameters, time: Any) -> Any:
    """Axial displacement of the tube, m; small first steps resolve the rise of the force."""
    return parameters.push * (0.5 * np.maximum(time - 1.0, 0.0)) ** 2


@lru_cache(maxsize=8)
def reference(parameters: Parameters) -> CellByHand:
    """Semi-analytical solution without friction; `.stuck`: with sticking contacts, as during the insertion."""
    p, spacer_cell = parameters, cell(parameters)
    radius, pads = spacer_cell.cladding.radius - 0.5 * p.thickness, spacer_cell.pad_supports
    return CellByHand(
        shell=ShellTube(radius, p.thickness, p.length, p.young, p.poisson, 2.0 * p.end_stiffness),
        layer=spacer_cell.layer,
        heights=np.array([0.5 * p.length + pad.height for pad in pads]),
        angles=np.array([pad.angle for pad in pads]),
        stiffness=np.array([pad.stiffness for pad in pads]),
        shear=np.array([pad.shear for pad in pads]),
        # from where the asperities touch
        approaches=np.array([spacer_cell.grid_displacement(pad) - p.gap - spacer_cell.clear for pad in pads]),
        size=spacer_cell.supports.size,
        friction=p.friction,
    )


@dataclass(frozen=True)
class SupportForces:
    """The six supports i over the steps t: forces (t, i) on the tube, N, normal, and axial against its motion;
    displacements of the grid (t, i) and of the tube (t,), m; step at which the insertion ends."""

    names: tuple[str, ...]
    normal: Array
    axial: Array
    grid_displacement: Array
    tube_displacement: Array
    inserted: int

    @classmethod
    def of(cls, result: xarray.DataTree, parameters: Parameters) -> "SupportForces":
        p, pads = parameters, cell(parameters).pad_supports
        time = result.dataset["time"].values
        forces = [result[f"interface/{pad.name}"].dataset["force"].values for pad in pads]
        return cls(
            names=tuple(pad.name for pad in pads),
            normal=np.stack([-f @ np.array(pad.normal) for f, pad in zip(forces, pads, strict=True)], axis=1),
            axial=-np.stack([f[:, 2] for f in forces], axis=1),
            grid_displacement=np.array([[cell(p).grid_displacement(pad, share(p, t)) for pad in pads] for t in time]),
            tube_displacement=tube_displacement(p, time),
            inserted=p.steps,
        )

    @property
    def slope(self) -> float:
        """Axial force over tube displacement in the first step of the push, N/m."""
        step = self.inserted + 1
        return float(self.axial[step].sum() / self.tube_displacement[step])

    @property
    def drag(self) -> float:
        """Axial force at the end, N."""
        return float(self.axial[-1].sum())


@dataclass(frozen=True)
class ContactPatch:
    """Contact points of one support at a frame: arc y and height z from the middle of the patch (k,), m, pressures
    (k,), Pa, areas (k,), m², statuses (k,)."""

    y: Array
    z: Array
    pressure: Array
    area: Array
    status: Array

    @classmethod
    def of(cls, result: xarray.DataTree, parameters: Parameters, name: str, frame: int) -> "ContactPatch":
        spacer_cell = cell(parameters)
        support = next(pad for pad in spacer_cell.pad_supports if pad.name == name)
        group = result[f"interface/{name}"].dataset
        position, normal = group["point_position"].values, np.array(support.normal)
        across = position @ np.array([-normal[1], normal[0], 0.0])
        return cls(
            y=spacer_cell.cladding.radius * np.arctan2(across, position @ normal),
            z=position[:, 2] - spacer_cell.cladding.middle - support.height,
            pressure=group["pressure"].values[frame],
            area=group["area"].values,
            status=group["status"].values[frame],
        )

    def half_width(self, radius: float, exponent: float) -> float:
        """Half-width b of the contact, m, fitted to the pressures in the row at mid height: p^(1/m) ∝ b² − y².

        The fit uses points with p^(1/m) of more than a tenth of the maximum.
        """
        row = (np.abs(self.z) <= np.abs(self.z).min() + 1e-9) & (self.pressure > 0.0)
        root = self.pressure[row] ** (1.0 / exponent)
        firm = root > 0.1 * root.max()
        slope, peak = np.polyfit(self.y[row][firm] ** 2, root[firm], 1)
        return float(np.sqrt(-peak / slope))

    @property
    def force(self) -> float:
        """Sum of pressures times areas, N."""
        return float(self.pressure @ self.area)

    @property
    def offset(self) -> float:
        """Height of the centre of pressure, m."""
        force = self.pressure * self.area
        return float(force @ self.z / force.sum())


def check(result: xarray.DataTree, parameters: Parameters) -> list[Check]:
    p, forces, analytical = parameters, SupportForces.of(result, parameters), reference(parameters)
    grip, mesh = forces.normal[forces.inserted], 1.0 / p.refine
    # nodal quadrature of the pressure: error of order 2 in the cell size
    coarse = max(1.0, mesh**2)
    limit = 0.005 * coarse
    # hollow faces: the pairing at edges between facets is not mirror-symmetric
    mirror = 1e-6 if p.pad_radius is None else 1e-3
    # the wall flattens below the pad, by 1.2 % of the width on fine meshes: more where the relative curvature is small
    flat = analytical.layer.radius / (0.5 * p.outer_diameter)
    pressed = sum(ContactPatch.of(result, p, name, -1).force for name in forces.names)
    ratio = forces.drag / (p.friction * pressed)
    spring, pushed_spring = (ContactPatch.of(result, p, "spring_x", frame) for frame in (forces.inserted, -1))
    crush = analytical.stuck.crush[0]
    width = np.sqrt(2.0 * analytical.layer.radius * crush[crush.size // 2])
    push_step = forces.inserted + 1
    uneven = float(np.abs(grip[[0, 2, 3]] - grip[[1, 4, 5]]).max() / grip.max())
    checks = [
        Check("force of a spring", float(grip[0]), float(analytical.stuck.forces[0]), limit, "N"),
        Check("force of a dimple", float(grip[2]), float(analytical.stuck.forces[2]), limit, "N"),
        Check("forces in x against y, over the largest", uneven, 0.0, mirror, "1", "at most"),
        Check(
            "largest pressure of a spring", float(spring.pressure.max()), float(analytical.layer.peak(crush.max())),
            0.03 * mesh, "Pa",
        ),
        Check("half-width of the contact of a spring", spring.half_width(analytical.layer.radius, p.asperity_exponent),
              float(width), 0.02 * coarse * flat, "m"),
        Check("energy balance, worst step", worst_balance(result), 0.0, 1e-10, "1", "absolute"),
    ]  # fmt: skip
    if forces.tube_displacement[push_step] <= 0.5 * (p.friction * analytical.forces / analytical.axial).min():
        checks.append(
            Check("axial stiffness, first step of the push", forces.slope, float(analytical.axial.sum()), 0.04, "N/m")
        )
    if p.push >= 1.2 * (p.friction * analytical.forces / analytical.axial).max():
        checks += [
            Check("axial force in full slip", forces.drag, float(analytical.drag(np.array([p.push]))[0]), 0.005, "N"),
            # circumferential friction of the insertion decays
            Check("axial force over μ Σ p A", float(ratio), 1.0, 1e-4, "1"),
            Check("shift of the pressure of a spring", -pushed_spring.offset, float(analytical.offset[0]), 0.05, "m"),
            Check("sticking points of a spring", float((pushed_spring.status == 2).sum()), 0.0, 0.0, "1", "at most"),
        ]
    return checks


def scalars(result: xarray.DataTree, parameters: Parameters) -> dict[str, aq.Scalar]:
    """Scalars of the six supports: forces after the insertion and during the axial push."""
    forces = SupportForces.of(result, parameters)
    grip, pressed = forces.normal[forces.inserted], forces.normal[-1].sum()
    spring = ContactPatch.of(result, parameters, "spring_x", forces.inserted)
    return {
        "spring_force": aq.Scalar(grip[0], "N", "force of a spring after the insertion"),
        "dimple_force": aq.Scalar(grip[2], "N", "force of a dimple after the insertion"),
        "spring_pressure": aq.Scalar(spring.pressure.max(), "Pa", "largest pressure of a spring after the insertion"),
        "drag_force": aq.Scalar(forces.drag, "N", "final axial force"),
        "peak_drag_force": aq.Scalar(forces.axial.sum(axis=1).max(), "N", "largest axial force"),
        "push_stiffness": aq.Scalar(forces.slope, "N/m", "axial stiffness in the first step of the push"),
        "force_ratio": aq.Scalar(forces.drag / pressed if pressed else np.nan, "1", "final axial over normal force"),
    }


def figures(result: xarray.DataTree, parameters: Parameters) -> dict[str, Any]:
    from arlequin import plots
    from arlequin.cases.grid_cell.plots import forces

    p, support_forces = parameters, SupportForces.of(result, parameters)
    names = list(support_forces.names)
    # at 70 % of the final axial force: dimples slip, springs stick
    partly = int(np.searchsorted(support_forces.axial.sum(axis=1), 0.7 * support_forces.axial[-1].sum()))
    maps = {
        "forces": forces(support_forces, reference(p)),
        "pressure": plots.unrolled(result, "pressure", names, frame=support_forces.inserted),
        "pressure_pushed": plots.unrolled(result, "pressure", names),
        "status": plots.unrolled(result, "status", names, frame=partly),
        "slip": plots.unrolled(result, "slip", names),
    }
    return maps | ({"worn_depth": plots.unrolled(result, "worn_depth", names)} if p.wear > 0.0 else {})
