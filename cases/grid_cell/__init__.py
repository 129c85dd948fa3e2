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
    p, own = parameters, cell(parameters)
    motion = {"z": lambda t: float(pushed(p, t))}
    tube = own.tube(imposed={"bottom": motion, "top": motion})
    held = own.held(tube, share=lambda t: share(p, t))
    sideways = (p.end_stiffness, p.end_stiffness, 0.0)
    ends = [aq.Spring(end, tube.boundary(end), stiffness=sideways) for end in ("bottom", "top")]
    system = aq.System([tube, *held.parts], interfaces=held.interfaces, springs=[*held.springs, *ends])
    return aq.Study(system, aq.Static(), duration=3.0, step=1.0 / p.steps)


def share(parameters: Parameters, time: float) -> float:
    """Fraction of the grid motion (`SpacerCell.way`); a gap is closed in the first half of the insertion."""
    done = min(time, 1.0)
    return 2.0 * done - 1.0 if parameters.gap > 0.0 else done


def pushed(parameters: Parameters, time: Any) -> Any:
    """Axial displacement of the tube, m; small first steps resolve the rise of the force."""
    return parameters.push * (0.5 * np.maximum(time - 1.0, 0.0)) ** 2


@lru_cache(maxsize=8)
def reference(parameters: Parameters) -> CellByHand:
    """Semi-analytical solution without friction; `.stuck`: with sticking contacts, as during the insertion."""
    p, own = parameters, cell(parameters)
    radius, six = own.cladding.radius - 0.5 * p.thickness, own.six
    return CellByHand(
        shell=ShellTube(radius, p.thickness, p.length, p.young, p.poisson, 2.0 * p.end_stiffness),
        layer=own.layer,
        heights=np.array([0.5 * p.length + each.height for each in six]),
        angles=np.array([each.angle for each in six]),
        stiffness=np.array([each.stiffness for each in six]),
        shear=np.array([each.shear for each in six]),
        # from where the asperities touch
        ways=np.array([own.way(each) - p.gap - own.clear for each in six]),
        size=own.supports.size,
        friction=p.friction,
    )


@dataclass(frozen=True)
class SupportForces:
    """The six supports i over the steps t: forces (t, i) on the tube, N, normal, and axial against its motion; ways of
    the grid (t, i) and of the tube (t,), m; step at which the insertion ends."""

    names: tuple[str, ...]
    normal: Array
    axial: Array
    way: Array
    pushed: Array
    inserted: int

    @classmethod
    def of(cls, result: xarray.DataTree, parameters: Parameters) -> "SupportForces":
        p, six = parameters, cell(parameters).six
        time = result.dataset["time"].values
        forces = [result[f"interface/{each.name}"].dataset["force"].values for each in six]
        return cls(
            names=tuple(each.name for each in six),
            normal=np.stack([-f @ np.array(each.normal) for f, each in zip(forces, six, strict=True)], axis=1),
            axial=-np.stack([f[:, 2] for f in forces], axis=1),
            way=np.array([[cell(p).way(each, share(p, t)) for each in six] for t in time]),
            pushed=pushed(p, time),
            inserted=p.steps,
        )

    @property
    def slope(self) -> float:
        """Axial force over way in the first step of the push, N/m."""
        first = self.inserted + 1
        return float(self.axial[first].sum() / self.pushed[first])

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
        own = cell(parameters)
        each = next(item for item in own.six if item.name == name)
        group = result[f"interface/{name}"].dataset
        place, normal = group["point_position"].values, np.array(each.normal)
        across = place @ np.array([-normal[1], normal[0], 0.0])
        return cls(
            y=own.cladding.radius * np.arctan2(across, place @ normal),
            z=place[:, 2] - own.cladding.middle - each.height,
            pressure=group["pressure"].values[frame],
            area=group["area"].values,
            status=group["status"].values[frame],
        )

    def half_width(self, radius: float, exponent: float) -> float:
        """Of the contact, m, from the pressures in the row at mid height: p^(1/m) falls with y² to 0 at b².

        A fit over what has at least a tenth of the row's peak.
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
        """Height of the pressure's middle, m."""
        force = self.pressure * self.area
        return float(force @ self.z / force.sum())


def check(result: xarray.DataTree, parameters: Parameters) -> list[Check]:
    p, found, hand = parameters, SupportForces.of(result, parameters), reference(parameters)
    grip, mesh = found.normal[found.inserted], 1.0 / p.refine
    # the sum over the nodes misses a share of the crush of order 2 in the cells
    coarse = max(1.0, mesh**2)
    limit = 0.005 * coarse
    # pairs at the edges between facets of a hollow face are not those of the mirror
    mirror = 1e-6 if p.pad_radius is None else 1e-3
    # the wall flattens below the pad, by 1.2 % of the width on fine meshes: more where the relative curvature is small
    flat = hand.layer.radius / (0.5 * p.outer_diameter)
    pressed = sum(ContactPatch.of(result, p, name, -1).force for name in found.names)
    ratio = found.drag / (p.friction * pressed)
    spring, last = (ContactPatch.of(result, p, "spring_x", frame) for frame in (found.inserted, -1))
    crush = hand.stuck.crush[0]
    width = np.sqrt(2.0 * hand.layer.radius * crush[crush.size // 2])
    first = found.inserted + 1
    uneven = float(np.abs(grip[[0, 2, 3]] - grip[[1, 4, 5]]).max() / grip.max())
    checks = [
        Check("force of a spring", float(grip[0]), float(hand.stuck.forces[0]), limit, "N"),
        Check("force of a dimple", float(grip[2]), float(hand.stuck.forces[2]), limit, "N"),
        Check("forces in x against y, over the largest", uneven, 0.0, mirror, "1", "at most"),
        Check(
            "largest pressure of a spring", float(spring.pressure.max()), float(hand.layer.peak(crush.max())),
            0.03 * mesh, "Pa",
        ),
        Check("half-width of the contact of a spring", spring.half_width(hand.layer.radius, p.asperity_exponent),
              float(width), 0.02 * coarse * flat, "m"),
        Check("energy balance, worst step", worst_balance(result), 0.0, 1e-10, "1", "absolute"),
    ]  # fmt: skip
    if found.pushed[first] <= 0.5 * (p.friction * hand.forces / hand.axial).min():
        checks.append(
            Check("axial stiffness, first step of the push", found.slope, float(hand.axial.sum()), 0.04, "N/m")
        )
    if p.push >= 1.2 * (p.friction * hand.forces / hand.axial).max():
        checks += [
            Check("axial force in full slip", found.drag, float(hand.drag(np.array([p.push]))[0]), 0.005, "N"),
            # circumferential friction of the insertion decays
            Check("axial force over μ Σ p A", float(ratio), 1.0, 1e-4, "1"),
            Check("shift of the pressure of a spring", -last.offset, float(hand.offset[0]), 0.05, "m"),
            Check("sticking points of a spring", float((last.status == 2).sum()), 0.0, 0.0, "1", "at most"),
        ]
    return checks


def scalars(result: xarray.DataTree, parameters: Parameters) -> dict[str, aq.Scalar]:
    """Of the six supports: what they press with once inserted, and what pushes the tube through them."""
    found = SupportForces.of(result, parameters)
    grip, pressed = found.normal[found.inserted], found.normal[-1].sum()
    spring = ContactPatch.of(result, parameters, "spring_x", found.inserted)
    return {
        "spring_force": aq.Scalar(grip[0], "N", "force of a spring after the insertion"),
        "dimple_force": aq.Scalar(grip[2], "N", "force of a dimple after the insertion"),
        "spring_pressure": aq.Scalar(spring.pressure.max(), "Pa", "largest pressure of a spring after the insertion"),
        "drag_force": aq.Scalar(found.drag, "N", "final axial force"),
        "peak_drag_force": aq.Scalar(found.axial.sum(axis=1).max(), "N", "largest axial force"),
        "push_stiffness": aq.Scalar(found.slope, "N/m", "axial stiffness in the first step of the push"),
        "force_ratio": aq.Scalar(found.drag / pressed if pressed else np.nan, "1", "final axial over normal force"),
    }


def figures(result: xarray.DataTree, parameters: Parameters) -> dict[str, Any]:
    from arlequin import plots
    from arlequin.cases.grid_cell.plots import forces

    p, found = parameters, SupportForces.of(result, parameters)
    names = list(found.names)
    # halfway up in force: dimples slip, springs stick
    partly = int(np.searchsorted(found.axial.sum(axis=1), 0.7 * found.axial[-1].sum()))
    maps = {
        "forces": forces(found, reference(p)),
        "pressure": plots.unrolled(result, "pressure", names, frame=found.inserted),
        "pressure_pushed": plots.unrolled(result, "pressure", names),
        "status": plots.unrolled(result, "status", names, frame=partly),
        "slip": plots.unrolled(result, "slip", names),
    }
    return maps | ({"worn_depth": plots.unrolled(result, "worn_depth", names)} if p.wear > 0.0 else {})
