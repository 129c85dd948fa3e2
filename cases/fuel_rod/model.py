"""Model of the rod: beam, excitation, and spacer grids whose springs and dimples are contact laws on its surface."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from math import pi, sin
from typing import Any

import numpy as np
import xarray
from scipy.optimize import brentq

import arlequin as aq
from arlequin.cases.fuel_rod.parameters import Parameters
from arlequin.multilevel.laws.base import RegularLaw

CROSS = np.array([(1.0, 0.0, 0.0), (0.0, 1.0, 0.0)])  # the springs push along −x and −y, the dimples along x and y
_LAYER = 60  # points of the table of a spring under asperities


@dataclass(frozen=True)
class GridSupport:
    """Spring or dimple: stiffness K, N/m; damping C, N·s/m; optional asperities.

    Elastic contact: K and C in parallel without tension (`aq.ImpactElement`). An asperity layer of height a with
    F = κ s^m, κ in N/m^m, is in series with K and completely compressed at s = a:

        g = a − s − F/K,   F = κ s^m (s < a);      F = −K g − … beyond, with the slope K.
    """

    stiffness: float
    damping: float
    layer: tuple[float, float, float] | None = None  # κ, m, a

    @cached_property
    def elastic(self) -> RegularLaw:
        """The support without damping."""
        if self.layer is None:
            return aq.ImpactElement(self.stiffness)
        kappa, exponent, height = self.layer
        crush = height * np.geomspace(1e-3, 1.0, _LAYER)
        soft = kappa * crush**exponent
        hard = soft[-1] * np.geomspace(1.0, 1e4, _LAYER)[1:]
        forces = np.concatenate([soft, hard])
        gaps = height - np.concatenate([crush, np.full(hard.size, height)]) - forces / self.stiffness
        order = np.argsort(gaps)
        return aq.AsperityTable(gaps[order].tolist(), forces[order].tolist())

    @cached_property
    def law(self) -> RegularLaw:
        """Contact law with damping; with asperities by the loss factor ωC/K at 1 kHz."""
        if self.layer is None:
            return aq.ImpactElement(self.stiffness, self.damping)
        table = self.elastic
        assert isinstance(table, aq.AsperityTable)
        frequency = 1e3
        loss = 2.0 * np.pi * frequency * self.damping / self.stiffness
        return aq.AsperityTable(table.gaps, table.pressures, loss_factor=loss, frequency=frequency)

    @property
    def height(self) -> float:
        """Gap at which the force vanishes, m."""
        return self.elastic.height if isinstance(self.elastic, aq.AsperityTable) else 0.0

    def gap(self, force: float) -> float:
        """Gap at a given force, N; 0 for zero force."""
        if force == 0.0:
            return 0.0
        if self.layer is None:
            return -force / self.stiffness
        law = self.elastic
        low, within = -2.0 * force / self.stiffness, 1e-14 * self.height
        return float(brentq(lambda g: float(law.pressure(np.array([g]))[0]) - force, low, self.height, xtol=within))


@dataclass(frozen=True)
class SpacerGrid:
    """Spacer grid at the height z of a rod: preload, N, or gap, m, on every side.

    shift: offset from the axis along x, m; worn: depths by which springs (2) and dimples (4) have receded, m.
    """

    number: int
    z: float
    radius: float
    half: float
    spring: GridSupport
    dimple: GridSupport
    preload: float
    gap: float
    shift: float = 0.0
    worn: Sequence[Sequence[float]] | None = None

    @property
    def springs(self) -> aq.SectionPoints:
        """Contact points of the springs, at +x and +y."""
        return aq.SectionPoints([self.z] * 2, self.radius * CROSS)

    @property
    def dimples(self) -> aq.SectionPoints:
        """Contact points of the dimples: at −x below and above, then at −y."""
        return aq.SectionPoints(
            [self.z - self.half, self.z + self.half] * 2, -self.radius * np.repeat(CROSS, 2, axis=0)
        )

    @property
    def names(self) -> tuple[str, str]:
        """Names of boundaries and interfaces."""
        return f"grid{self.number}_springs", f"grid{self.number}_dimples"

    @property
    def reach(self) -> tuple[float, float]:
        """Interference of springs and dimples with the centred rod, m; negative: gap."""
        if self.gap > 0.0:
            return -self.gap, -self.gap
        return -self.spring.gap(self.preload), -self.dimple.gap(0.5 * self.preload)

    def interfaces(self, rod: aq.Beam | aq.Modal, friction: float, tangential: float) -> list[aq.Interface]:
        """The two interfaces of the grid; tangential: stiffness of the sticking support over its normal one."""
        interfaces = []
        worn = ((0.0,) * 2, (0.0,) * 4) if self.worn is None else self.worn
        for name, side, support, reach, depths in zip(
            self.names, (-1.0, 1.0), (self.spring, self.dimple), self.reach, worn, strict=True
        ):
            surface = rod.boundary(name)
            normals = side * np.repeat(CROSS, len(surface.nodes) // 2, axis=0)
            receded = (reach - np.asarray(depths))[:, None] * normals
            planes = aq.RigidPlanes(surface.positions + receded + self.shift * CROSS[0], normals)
            stick = tangential * support.stiffness
            law = aq.Coulomb(friction, stiffness=stick, damping=tangential * support.damping)
            interfaces.append(aq.Interface(name, surface, planes, support.law, friction=law if friction else None))
        return interfaces


def insertion(rod: aq.Beam | aq.Modal, grids: list[SpacerGrid]) -> aq.Study:
    """Statics without friction: supports initially touching the centred rod move to their final positions."""
    masses, interfaces = moving_supports([(rod, grids)])
    return aq.Study(aq.System([rod, *masses], interfaces=interfaces), aq.Static(), duration=1.0, step=0.25)


def moving_supports(
    rods: Iterable[tuple[aq.Beam | aq.Modal, list[SpacerGrid]]],
) -> tuple[list[aq.PointMasses], list[aq.Interface]]:
    """Moving supports (`moving`) of all grids of each rod, and their contact."""
    masses, interfaces = [], []
    for rod, grids_of_rod in rods:
        for grid in grids_of_rod:
            grid_masses, grid_interfaces = moving(rod, grid)
            masses += grid_masses
            interfaces += grid_interfaces
    return masses, interfaces


def moving(rod: aq.Beam | aq.Modal, grid: SpacerGrid) -> tuple[list[aq.PointMasses], list[aq.Interface]]:
    """Supports of a grid that move in for 0 ≤ t ≤ 1, without friction and damping, and their contact with the rod.

    The interfaces are `grid1_springs_x`, `grid1_dimples_x` and so on, of one direction each.
    """
    masses, interfaces = [], []
    for name, side, support, reach in zip(grid.names, (-1.0, 1.0), (grid.spring, grid.dimple), grid.reach, strict=True):
        for axis, letter in enumerate("xy"):
            direction_name = f"{name}_{letter}"
            surface, normal = rod.boundary(direction_name), side * CROSS[axis]
            travel = (reach + support.height) * normal
            travel[0] += grid.shift
            imposed = {c: (lambda t, w=w: w * t) for c, w in zip("xyz", travel.tolist(), strict=True)}
            position = surface.positions - support.height * normal
            support_mass = aq.PointMasses(f"{direction_name}_held", position, 1.0, imposed={"all": imposed})
            masses.append(support_mass)
            interfaces.append(
                aq.Interface(direction_name, surface, support_mass.boundary("all"), support.elastic, direction=-normal)
            )
    return masses, interfaces


def points(grids: list[SpacerGrid]) -> dict[str, aq.SectionPoints]:
    """Named points of all supports: of the interfaces, and of each direction separately."""
    by_name = {}
    for grid in grids:
        for name, section_points in zip(grid.names, (grid.springs, grid.dimples), strict=True):
            by_name[name] = section_points
            for half, letter in zip(np.array_split(np.arange(section_points.at.size), 2), "xy", strict=True):
                by_name[f"{name}_{letter}"] = aq.SectionPoints(
                    section_points.at[half], np.asarray(section_points.offsets)[half]
                )
    return by_name


def grids(parameters: Parameters) -> list[SpacerGrid]:
    """The grids from below."""
    p = parameters
    layer = (p.asperity_stiffness, p.asperity_exponent, p.asperity_height) if p.law == "multilevel" else None
    spring, dimple = (GridSupport(k, p.shock_damping, layer) for k in (p.spring_stiffness, p.dimple_stiffness))
    grid_list = []
    for number, z in enumerate(p.heights.tolist(), 1):
        shift = p.misalignment if number == 2 else 0.0
        gap = p.gap if number in p.open else 0.0
        preload = (1.0 - p.relaxation) * p.preload
        grid_list.append(SpacerGrid(number, z, p.radius, p.dimple_height, spring, dimple, preload, gap, shift))
    return grid_list


def part(parameters: Parameters) -> aq.Modal:
    """The rod reduced to its modes and the static shapes of its supports."""
    rod = beam(parameters)
    return aq.Modal(rod, parameters.modes, static=[rod.boundary(name) for name in sections(parameters)])


def beam(parameters: Parameters, name: str = "rod", nodes: list[float] | None = None, **options: Any) -> aq.Beam:
    """The rod by finite elements; displacement along and rotation about z fixed at the lower end.

    nodes: heights, m, those of `stations` by default; options: of `aq.Beam`, override those of the rod.
    """
    p = parameters
    section = aq.Section.tube(p.radius, p.radius - p.thickness, p.poisson)
    material = aq.LinearElastic(young=p.young, poisson=p.poisson, density=p.density)
    defaults = {
        "carried_mass": p.carried,
        "added_mass": p.water,
        "fluid_damping": p.fluid_damping,
        "tension": p.tension,
        "points": {**points(grids(p)), **sections(p)},
        "imposed": {"left": {"z": 0.0, "rz": 0.0}},
        **loads(p),
    }
    return aq.Beam(
        name, aq.mesh.line(nodes or stations(p)), material, section, origin=(0.0, 0.0, 0.0), direction=(0.0, 0.0, 1.0),
        up=(0.0, 1.0, 0.0), **{**defaults, **options},
    )  # fmt: skip


def stations(parameters: Parameters) -> list[float]:
    """Heights of the beam's nodes, m: one at each support, with cells of nearly equal length between them."""
    p = parameters
    corners = np.unique(np.round([0.0, *support_heights(p), p.length], 12))
    size = (p.heights[1] - p.heights[0]) / p.cells
    spans = [np.linspace(a, b, 1 + max(1, round((b - a) / size))) for a, b in pairwise(corners)]
    return [0.0, *np.concatenate([span[1:] for span in spans]).tolist()]


def sections(parameters: Parameters) -> dict[str, aq.SectionPoints]:
    """Points on the axis at each support."""
    return {f"section{n}": aq.SectionPoints(z) for n, z in enumerate(support_heights(parameters), 1)}


def support_heights(parameters: Parameters) -> list[float]:
    """Heights of all springs and dimples, m."""
    p = parameters
    return sorted({z + shift for z in p.heights.tolist() for shift in (-p.dimple_height, 0.0, p.dimple_height)})


def loads(parameters: Parameters) -> dict[str, Any]:
    """Distributed loads along the rod."""
    p = parameters
    if p.excitation == "turbulence" and p.amplitude:
        slope = aq.PlateauSpectrum(1.0, p.cutoff).slope
        level = p.amplitude**2 / (p.cutoff * slope / (slope - 1.0))
        flow = aq.Turbulence(
            aq.PlateauSpectrum(level, p.cutoff), highest=p.highest, correlation=p.correlation,
            duration=max(p.duration, 1.0 / p.highest), seed=p.seed,
        )  # fmt: skip
        return {"turbulence": flow}
    if p.excitation == "harmonic":

        def wave(x: np.ndarray, t: float) -> tuple[float, float, float]:
            return p.amplitude * sin(2.0 * pi * p.frequency * t), 0.0, 0.0

        return {"distributed": wave}
    return {}


def shaking(parameters: Parameters) -> Any:
    """Inertial acceleration in the frame of the grids (t → axis), m/s²; the weight is carried by the lower end."""
    p = parameters
    if p.excitation != "support":
        return None
    return lambda t: (-p.amplitude * sin(2.0 * pi * p.frequency * t), 0.0, 0.0)


def settled(parameters: Parameters) -> xarray.DataTree:
    """Static equilibrium of the rod after the insertion of the supports, without friction."""
    return settling(parameters).run()


def settling(parameters: Parameters) -> aq.Study:
    """Statics of the insertion of the supports, without friction."""
    p = parameters
    return insertion(part(replace(p, excitation="none")), grids(p))


def nodal(group: xarray.Dataset) -> np.ndarray:
    """Final displacements (and rotations) (node, component)."""
    final = group.isel(frame=-1)
    fields = [final[name].values for name in ("displacement", "rotation") if name in final]
    return np.concatenate(fields, axis=1)
