"""Zoom: rod whose cladding is a 3D solid at one grid, coupled to two beams by Arlequin junctions.

`PushedRod` calibrates the stiffness of the zoomed dimples against the rod without a zoom.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
import xarray
from scipy.optimize import brentq
from scipy.sparse.linalg import spsolve

import arlequin as aq
from arlequin.cases.fuel_rod import model as rod_model
from arlequin.cases.fuel_rod.model import GridSupport, SpacerGrid
from arlequin.cases.fuel_rod.parameters import Parameters
from arlequin.cases.shared.spacer_cell import Cladding, PadSupport, SpacerCell, Supports, TubeSupports
from arlequin.models.errors import UserError
from arlequin.models.types import Array

_RANGE = 1e-2, 1e2  # search range of the stiffness over the nominal one


@dataclass(frozen=True)
class PushedRod:
    """Linear statics of the rod without a zoom, all supports in contact, with a force along x at the upper end."""

    parameters: Parameters
    push: float

    @cached_property
    def rod(self) -> aq.Beam:
        """The rod without excitation."""
        return rod_model.beam(replace(self.parameters, excitation="none"))

    @cached_property
    def _matrices(self) -> tuple[sp.csr_array, sp.csr_array]:
        """Stiffness matrices (d, d): rod on all supports but the zoomed dimples; these dimples with 1 N/m each."""
        p, rod = self.parameters, self.rod
        without_dimples, dimples = sp.csr_array(rod.assemble().stiffness), sp.csr_array((rod.dof_count,) * 2)
        for grid in rod_model.grids(p):
            zoomed = grid.number == p.zoomed
            if grid.gap and not zoomed:
                continue
            for name, stiffness in zip(grid.names, _stiffness(grid), strict=True):
                rows = [rod.boundary(f"{name}_{letter}").motion[axis::3] for axis, letter in enumerate("xy")]
                unit_stiffness = sum(row.T @ row for row in rows)
                if zoomed and name.endswith("dimples"):
                    dimples = dimples + unit_stiffness
                else:
                    without_dimples = without_dimples + stiffness * unit_stiffness
        return without_dimples, dimples

    def deflection(self, dimple: float) -> tuple[Array, Array]:
        """Heights (n,) and displacements along x (n,) of the nodes, m, for a dimple stiffness of the zoomed grid."""
        rod, size = self.rod, self.rod.components
        force, u = np.zeros((2, rod.dof_count))
        force[int(rod.end("right")[0]) * size] = self.push
        fixed_dofs = [int(rod.end("left")[0]) * size + component for component in (2, 5)]
        free = np.setdiff1d(np.arange(rod.dof_count), fixed_dofs)
        without_dimples, dimples = self._matrices
        u[free] = spsolve(sp.csc_array((without_dimples + dimple * dimples)[free][:, free]), force[free])
        return rod.positions[:, 2], u[::size]

    def matching_dimple(self, heights: Array, displacements: Array) -> float:
        """Dimple stiffness whose displacements at heights (k,), m, match the `displacements` (k,), m.

        Of the differences the projection on `displacements` is zero.
        """

        def relative_error(scale: float) -> float:
            z, u = self.deflection(np.exp(scale))
            at = np.abs(z[:, None] - heights).argmin(axis=0)
            return float(u[at] @ displacements / (displacements @ displacements)) - 1.0

        nominal = self.parameters.dimple_stiffness
        low, high = (float(np.log(nominal * share)) for share in _RANGE)
        if relative_error(low) * relative_error(high) > 0.0:
            raise UserError(
                f"zoom: no dimple stiffness near {nominal:g} N/m matches the response of the solid cladding"
            )
        return float(np.exp(brentq(relative_error, low, high, rtol=1e-10)))


def _stiffness(grid: SpacerGrid) -> tuple[float, float]:
    """Tangent stiffnesses of a spring and a dimple at their preload, N/m."""
    return _tangent(grid.spring, grid.preload), _tangent(grid.dimple, 0.5 * grid.preload)


def _tangent(support: GridSupport, force: float) -> float:
    if force == 0.0 or support.layer is None:
        return support.stiffness
    return -0.02 * force / (support.gap(1.01 * force) - support.gap(0.99 * force))


_BESIDE = 8e-3  # m of cladding between the pads and the gluing zone
GLUED = 12e-3  # m, length of a gluing zone, in two cells of the beam
_TRIAL = 1.0  # N, preload of the springs for matching the stiffness of supports that have none
_PUSH = 0.05  # force at the end of the rod over the preload, for matching the dimple stiffness
_MODES = 40  # modes of the cladding, beside its static shapes
_SOFT = 10.0  # N/m, lateral stiffness at the ends of the rod in statics: 1e-6 of that of its supports
LOADING = 0.25  # load step of statics, fraction of the load
AXIS: dict[str, Any] = {"origin": (0.0, 0.0, 0.0), "direction": (0.0, 0.0, 1.0), "up": (0.0, 1.0, 0.0)}


@dataclass(frozen=True)
class Zoom:
    """Model of the zoomed rod.

    Parts `lower` and `upper` (beams), `cladding` (a solid of hexahedra, three through the wall, that carries pellets
    and water by its density and the flow as a body force), pads and the nodes of the grid behind them
    (`arlequin.cases.shared.spacer_cell`); junctions `lower_end` and `upper_end`; the other grids as without a zoom. The
    cladding's bulk is linear: it is reduced to its lowest modes and the static shapes of each node that a pad can touch
    and of all that the junctions pull (`aq.Modal`), under which its statics is exact; its full field is recorded.
    """

    parameters: Parameters

    @cached_property
    def grid(self) -> SpacerGrid:
        """Spacer grid of the zoom."""
        return rod_model.grids(self.parameters)[self.parameters.zoomed - 1]

    @cached_property
    def cell(self) -> SpacerCell:
        """The cladding and its supports."""
        p, z, stick = self.parameters, self.grid.z, self.parameters.tangential
        reach = p.dimple_height + 0.5 * p.pad_height + _BESIDE + GLUED
        material = aq.LinearElastic(young=p.young, poisson=p.poisson, density=p.density)
        cladding = Cladding(p.radius, p.thickness, material, (z - reach, z + reach), z)
        supports = Supports(
            material=material, spring_stiffness=p.spring_stiffness, dimple_stiffness=p.dimple_stiffness,
            preload=0.0 if self.grid.gap else self.grid.preload,
            asperities=aq.Asperities(p.layer_stiffness, 1.0, p.asperity_height),
            friction=aq.Coulomb(p.friction), wear=aq.Archard(p.wear) if p.wear else None, gap=self.grid.gap,
            spring_shear=stick * p.spring_stiffness, dimple_shear=stick * p.dimple_stiffness,
            spring_damping=p.shock_damping, dimple_damping=p.shock_damping, shear_damping=stick,
            size=(p.pad_width, p.pad_height, p.pad_thickness), offset=p.dimple_height,
        )  # fmt: skip
        return SpacerCell(cladding, supports, p.refine)

    @cached_property
    def unloaded(self) -> aq.Modal:
        """The cladding with fluid damping, without loads."""
        p, section = self.parameters, rod_model.beam(replace(self.parameters, excitation="none")).section
        mass = p.density * section.area + p.carried + p.water
        material = aq.LinearElastic(young=p.young, poisson=p.poisson, density=mass / section.area)
        solid = self.cell.tube("cladding", material, damping=aq.Rayleigh(mass=p.fluid_damping / mass))
        return aq.Modal(solid, _MODES, detailed=[solid.boundary(pad.name) for pad in self.cell.pad_supports])

    @property
    def loaded(self) -> aq.Modal:
        """The cladding under the distributed load of the rod."""
        rod = rod_model.beam(self.parameters)
        area, wave = rod.section.area, rod.distributed
        force: Any = None
        if rod.turbulence is not None:
            force = aq.SpanForce(rod.turbulence, area, **AXIS)
        elif wave is not None:
            force = lambda x, t: tuple(f / area for f in wave(x, t))  # type: ignore[operator]  # noqa: E731
        solid = self.unloaded.part
        assert isinstance(solid, aq.Solid)
        return self.unloaded if force is None else self.unloaded.carrying(replace(solid, body_force=force))

    def beams(self, parameters: Parameters) -> dict[str, tuple[aq.Beam, list[SpacerGrid]]]:
        """Beams below and above, including the overlaps, with their grids."""
        low, high = self.cell.cladding.ends
        s = np.array(rod_model.stations(parameters))
        stations = {
            "lower": [*s[s < low - 1e-9], *np.linspace(low, low + GLUED, 3)],
            "upper": [*np.linspace(high - GLUED, high, 3), *s[s > high + 1e-9]],
        }
        other_grids = [grid for grid in rod_model.grids(parameters) if grid.number != self.grid.number]
        grids_of = {
            "lower": [grid for grid in other_grids if grid.z < self.grid.z],
            "upper": [grid for grid in other_grids if grid.z > self.grid.z],
        }
        options: dict[str, Any] = {"lower": {}, "upper": {"imposed": {}}}  # the lower end is fixed
        beams = {}
        for name, nodes in stations.items():
            points = rod_model.points(grids_of[name])
            beams[name] = rod_model.beam(parameters, name, nodes, points=points, **options[name]), grids_of[name]
        return beams

    def settling(self, cell: SpacerCell, share: float | None, push: float = 0.0) -> aq.Study:
        """Statics without friction: all supports move in, those of the zoomed cell by `share` of their displacement.

        share: None for a cell at rest with a gap. push: force along x and along y at the upper end of the rod, N.
        """
        beams = self.beams(replace(self.parameters, excitation="none"))
        if push:
            beam, upper_grids = beams["upper"]
            beams["upper"] = replace(beam, end_loads={"right": lambda t: (push * t, push * t, 0.0)}), upper_grids
        masses, contacts = rod_model.moving_supports(beams.values())
        smooth = replace(cell, supports=replace(cell.supports, friction=None, wear=None))
        supports = smooth.tube_supports(self.unloaded, None if share is None else lambda t: share * t, "gap")
        system = self._system(beams, self.unloaded, masses, contacts, supports)
        soft = soft_springs(beams["lower"][0], beams["upper"][0])
        return aq.Study(replace(system, springs=[*system.springs, *soft]), aq.Static(), 1.0, LOADING)

    def running(self, cell: SpacerCell, share: float | None, start: Mapping[str, Array]) -> aq.Study:
        """Dynamics from displacements (node, component) of the parts, m."""
        p, beams = self.parameters, self.beams(self.parameters)
        contacts, cladding = self.contacts(beams), self.loaded
        supports = cell.tube_supports(cladding, None if share is None else lambda t: share, "velocity")
        system = self._system(beams, cladding, [], contacts, supports)
        initial = {part.name: start[part.name] for part in system.parts}
        system = replace(system, displacement=initial, gravity=rod_model.shaking(p))
        scheme: Any = aq.Theta(0.5) if p.substeps == 1 else aq.Multirate(p.substeps)
        return aq.Study(system, scheme, p.duration, p.step, fields_every=p.fields_every)

    def contacts(self, beams: dict[str, tuple[aq.Beam, list[SpacerGrid]]]) -> list[aq.Interface]:
        """Interfaces of the other grids with the beams."""
        p = self.parameters
        return [
            contact for beam, grids in beams.values() for grid in grids
            for contact in grid.interfaces(beam, p.friction, p.tangential)
        ]  # fmt: skip

    @cached_property
    def matched(self) -> SpacerCell:
        """The cell with support stiffnesses that match those of the other grids.

        The compliance d of pad, asperities and wall is in series with a support's spring K′: 1/K′ = 1/K − d. For
        springs, d = Δa/ΔF − 1/K with the approach a of axis and grid, from the last load step of a trial with K, under
        preload and without gap. For dimples, which restrain the rotation of the rod, 1/K + d is the compliance for
        which the rod without a zoom, pushed at its end, deflects below the grid as in the trial (`PushedRod`).
        """
        supports = self.cell.supports
        pressed = replace(supports, gap=0.0, preload=self.grid.preload or _TRIAL)
        trial, push = replace(self.cell, supports=pressed), _PUSH * pressed.preload
        at_rest, under_push = (self.settling(trial, 1.0, force).run() for force in (0.0, push))
        springs = self.cell.pad_supports[:2]
        before, after = (
            np.array([_force_and_approach(at_rest, step, spring) for spring in springs]) for step in (-2, -1)
        )
        force, approach = (after - before).T
        compliances = {"spring": float(force @ (approach - force / supports.spring_stiffness) / (force @ force))}
        beam = at_rest["part/lower"].dataset["position"].values[:, 2]
        below = beam < self.cell.cladding.ends[0] - 1e-9
        deflections = [
            result["part/lower"].dataset["displacement"].values[-1, below, 0] for result in (at_rest, under_push)
        ]
        stiffness = PushedRod(self.parameters, push).matching_dimple(beam[below], deflections[1] - deflections[0])
        compliances["dimple"] = 1.0 / stiffness - 1.0 / supports.dimple_stiffness
        stiffnesses = {}
        for kind, compliance in compliances.items():
            nominal = getattr(supports, f"{kind}_stiffness")
            if not compliance * nominal < 0.9:
                rule = (
                    f"must be well below {1.0 / compliance:.3g} N/m with a zoom: compliance of asperities, pad and wall"
                )
                raise aq.UserError.parameter(f"{kind}_stiffness", nominal, rule)
            stiffnesses[f"{kind}_stiffness"] = 1.0 / (1.0 / nominal - compliance)
        return replace(self.cell, supports=replace(supports, **stiffnesses))

    @cached_property
    def junctions(self) -> list[aq.BeamJunction]:
        """The junctions of the parts without loads."""
        beams = self.beams(replace(self.parameters, excitation="none"))
        return [aq.BeamJunction(beam, self.unloaded, name=f"{name}_end") for name, (beam, _) in beams.items()]

    def _system(
        self, beams: dict[str, Any], cladding: aq.Modal, masses: list[Any], contacts: list[Any], supports: TubeSupports
    ) -> aq.System:
        lower, upper = (beam for beam, _ in beams.values())
        junctions = [
            junction.carrying(beam, cladding) for junction, beam in zip(self.junctions, (lower, upper), strict=True)
        ]
        parts = [lower, upper, cladding, *masses, *supports.parts]
        interfaces = [*contacts, *supports.interfaces]
        return aq.System(parts, junctions=junctions, interfaces=interfaces, springs=supports.springs)

    def study(self) -> aq.Study:
        """Study from static equilibrium, with the spring preload of the rod without a zoom."""
        cell = self.matched
        share = 1.0 if cell.supports.preload else None
        start = self.settling(cell, share).run()
        if share is not None:
            without = rod_model.settled(self.parameters)
            share = last_force(without, f"{self.grid.names[0]}_x") / last_force(start, "spring_x")
            start = self.settling(cell, share).run()
        return self.running(cell, share, displacements(start))


def _force_and_approach(result: xarray.DataTree, step: int, support: PadSupport) -> Array:
    """Force of a support, N, and approach of the rod's axis to its grid, m, in a load step of statics."""
    normal = np.array(support.normal)
    tube, pad = result["part/cladding"].dataset, result[f"interface/{support.name}"].dataset
    height = pad["point_position"].values[:, 2].mean()
    ring = np.abs(tube["position"].values[:, 2] - height) < 1e-9
    axis = tube["displacement"].values[step, ring].mean(axis=0)
    node = result[f"part/grid_{support.name}"].dataset["displacement"].values[step, 0]
    return np.array([pad["force"].values[step] @ -normal, (axis - node) @ normal])


def soft_springs(lower: aq.Beam, upper: aq.Beam) -> list[aq.Spring]:
    """Lateral springs at the ends of the rod, which support it in statics before its supports are in contact."""
    ends = {"held_below": lower.boundary("left"), "held_above": upper.boundary("right")}
    return [aq.Spring(name, end, stiffness=(_SOFT, _SOFT, 0.0)) for name, end in ends.items()]


def displacements(result: xarray.DataTree) -> dict[str, Array]:
    """Final displacements, and rotations of beams, (node, component) of every part."""
    return {name: rod_model.nodal(group.dataset) for name, group in result["part"].children.items()}


def last_force(result: xarray.DataTree, interface: str) -> float:
    """Magnitude of the final force along x of an interface, N."""
    force = result[f"interface/{interface}"].dataset["force"].values
    return abs(float(force[-1, 0]))
