"""Two levels of the rod at its loose grid: a beam on springs while the grid is open, a solid cladding during impacts.

The beams `lower` and `upper` of the zoom (`arlequin.cases.fuel_rod.zoom`) belong to both levels. At level 0 the beam
`middle` joins their ends, with equal displacements and rotations, and carries springs and dimples as the rod without
a zoom does; at level 1 they are coupled to the solid cladding, with pads as supports. The beam `middle` has the
stiffness of the glued cladding at the ends of the beams (`PieceOfRod`), and its mass, so that the motion between two
impacts does not depend on the level.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

import arlequin as aq
from arlequin.cases.fuel_rod import model as rod_model
from arlequin.cases.fuel_rod.model import SpacerGrid
from arlequin.cases.fuel_rod.parameters import Parameters
from arlequin.cases.fuel_rod.zoom import GLUED, LOADING, Zoom, displacements, soft_springs
from arlequin.models.types import Array

Beams = dict[str, tuple[aq.Beam, list[SpacerGrid]]]  # `lower` and `upper`, with their grids

LOOK_AHEAD = 4e-4  # s: the solid is activated if the gap closes within this time at its present rate
LOOK_EVERY = 10  # steps between two evaluations of the gap
HOLD = 2.5e-3  # s for which the solid stays active after the gap was last near
NEAR = 5e-7  # m, gap that counts as closed
_AXES = ("x", "y", "z", "rx", "ry", "rz")


@dataclass(frozen=True)
class PieceOfRod:
    """Compliance of the rod's piece of length L, m, between the outer ends of the two gluing zones.

    Displacements of the upper end per force or moment on it, with fixed lower end, symmetric about the middle x = 0:

        stretch ∫ 1/EA, m/N;   twist ∫ 1/GJ, rad/(N m);   rotation ∫ 1/EI, rad/(N m), by a moment;
        offset ∫ x²/EI + ∫ 1/κGA, m/N, by a force and the moment that is 0 at x = 0.

    These four numbers determine the stiffness of any such piece of a round section.
    """

    length: float
    stretch: float
    twist: float
    rotation: float
    offset: float

    @classmethod
    def of(cls, zoom: Zoom) -> "PieceOfRod":
        """Compliance of the cladding between its two beams, by one static load case."""
        p = replace(zoom.parameters, excitation="none", tension=0.0)
        beams = zoom.beams(p)
        low, high = zoom.cell.cladding.ends
        beam, _ = beams["lower"]
        lower = replace(beam, points={**beam.points, "held": aq.SectionPoints(low)})
        upper, _ = beams["upper"]
        arm = float(upper.positions[-1, 2]) - 0.5 * (low + high)
        load = {"right": lambda t: (t, t, t, t * (arm - 1.0), t * (1.0 - arm), t)}
        upper = replace(upper, end_loads=load)
        cladding = zoom.unloaded
        junctions = [
            junction.carrying(end, cladding) for junction, end in zip(zoom.junctions, (lower, upper), strict=True)
        ]
        lower_face = lower.boundary("held")
        clamp = [aq.Relation(f"clamp_{name}", [(lower_face, name, 1.0)]) for name in _AXES]
        system = aq.System([lower, upper, cladding], junctions, relations=clamp)
        displacement = displacements(aq.Study(system, aq.Static(), 1.0, 1.0).run())["upper"]
        node = np.abs(upper.positions[:, 2] - high).argmin()
        x, y, z, rx, ry, rz = displacement[node]
        length, rotation = high - low, 0.5 * (ry - rx)
        return cls(length, z, rz, rotation, 0.5 * (x + y) - 0.5 * length * rotation)

    def inner(self, ends: aq.Beam, glued: float) -> tuple[float, float, float, float]:
        """EA, N, GJ, EI, N·m², and κGA, N, of the inner beam, between end pieces of length `glued`, m, which have the
        rigidities of the beam `ends`."""
        stretch, shear, _, torsion, _, bending = ends.rigidities
        inner = self.length - 2.0 * glued
        second = (self.length**3 - inner**3) / 12.0  # ∫ x² over both ends
        flexural = (self.rotation - 2.0 * glued / bending) / inner
        slide = self.offset - second / bending - 2.0 * glued / shear - flexural * inner**3 / 12.0
        return (
            inner / (self.stretch - 2.0 * glued / stretch),
            inner / (self.twist - 2.0 * glued / torsion),
            1.0 / flexural,
            inner / slide,
        )


@dataclass(frozen=True)
class RodLevels:
    """The two levels of the rod of parameters with `zoom="auto"`."""

    parameters: Parameters

    @cached_property
    def zoom(self) -> Zoom:
        """Model of the rod with the solid cladding."""
        return Zoom(self.parameters)

    @cached_property
    def piece(self) -> PieceOfRod:
        """Compliance of the glued cladding at the ends of the beams."""
        return PieceOfRod.of(self.zoom)

    def middle(self, parameters: Parameters) -> aq.Beam:
        """Beam between `lower` and `upper`, under the loads of the parameters, in place of the cladding.

        Mass, rotary inertia and load per length are those of the cladding, s, plus the excess over those of the beams,
        s₀, in the gluing zones, of length G and mean weight ½ at each end of the middle's length l: s + (s − s₀) G/l.
        These and the bending stiffness determine the section and so the axial stiffness, to which a spring adds the
        remainder (`axial_spring`).
        """
        p, grid = parameters, self.zoom.grid
        low, high = self.zoom.cell.cladding.ends
        low, high = low + GLUED, high - GLUED
        rod, solid = rod_model.beam(replace(p, excitation="none")), self.zoom.unloaded.part
        assert isinstance(solid, aq.Solid) and isinstance(solid.damping, aq.Rayleigh)
        _, torsion, bending, shear = self.piece.inner(rod, GLUED)

        def spread(solid: float, beam: float) -> float:
            return solid + (solid - beam) * GLUED / (high - low)

        dx, inertia, density = solid.basis.dx, rod.section.inertia_z, solid.material.density
        quadrature_points = np.asarray(solid.basis.global_coordinates())
        share = float(dx.sum()) / (self.piece.length * rod.section.area)
        rotary = float((dx * quadrature_points[0] ** 2).sum()) / (self.piece.length * inertia)
        share, rotary = spread(share, 1.0), spread(rotary, p.density / density)
        area = rod.section.area * share / rotary
        young = bending / inertia
        modulus = 0.5 * young / (1.0 + p.poisson)
        section = replace(
            rod.section, area=area, torsion=torsion / modulus,
            shear_y=shear / (modulus * area), shear_z=shear / (modulus * area),
        )  # fmt: skip
        material = aq.LinearElastic(young=young, poisson=p.poisson, density=rotary * density)
        nodes = [low, grid.z - grid.half, grid.z, grid.z + grid.half, high]
        points, p = rod_model.points([grid]), replace(p, amplitude=share * p.amplitude)
        return replace(
            rod_model.beam(p, "middle", nodes, points=points),
            material=material, section=section, damping=solid.damping,
            carried_mass=0.0, added_mass=0.0, fluid_damping=0.0, tension=0.0, imposed={},
        )  # fmt: skip

    def axial_spring(self, beams: Beams, middle: aq.Beam) -> list[aq.Spring]:
        """Spring along the rod between the ends of the two beams: required axial stiffness minus that of `middle`."""
        required, *_ = self.piece.inner(beams["lower"][0], GLUED)
        stiffness = (required - middle.rigidities[0]) / np.ptp(middle.positions[:, 2])
        ends = beams["lower"][0].boundary("right"), beams["upper"][0].boundary("left")
        return [aq.Spring("middle", *ends, stiffness=(0.0, 0.0, stiffness))] if stiffness > 0.0 else []

    def end_relations(self, beams: Beams, middle: aq.Beam) -> list[aq.Relation]:
        """Equal displacements and rotations at the common ends of the beams."""
        pairs = {
            "lower": (beams["lower"][0].boundary("right"), middle.boundary("left")),
            "upper": (beams["upper"][0].boundary("left"), middle.boundary("right")),
        }
        return [
            aq.Relation(f"{name}_{axis}", [(beam_end, axis, 1.0), (middle_end, axis, -1.0)])
            for name, (beam_end, middle_end) in pairs.items()
            for axis in _AXES
        ]

    @cached_property
    def settled(self) -> dict[str, Array]:
        """Displacements (node, component) of the three beams in equilibrium at level 0, without friction."""
        at_rest = replace(self.parameters, excitation="none")
        beams, middle = self.zoom.beams(at_rest), self.middle(at_rest)
        masses, contacts = rod_model.moving_supports(beams.values())
        ends = [beam for beam, _ in beams.values()]
        system = aq.System(
            [*ends, middle, *masses], interfaces=contacts, relations=self.end_relations(beams, middle),
            springs=[*soft_springs(*ends), *self.axial_spring(beams, middle)],
        )  # fmt: skip
        return displacements(aq.Study(system, aq.Static(), 1.0, LOADING).run())

    @cached_property
    def settled_zoom(self) -> dict[str, Array]:
        """Displacements (node, component) of all parts in equilibrium at level 1, without friction."""
        return displacements(self.zoom.settling(self.zoom.matched, None).run())

    def items(self, level: int, beams: Beams) -> dict[str, Any]:
        """Parts, junctions, interfaces, springs and relations of one level, between the beams of both levels."""
        p = self.parameters
        if not level:
            middle = self.middle(p)
            contacts = self.zoom.contacts({"middle": (middle, [self.zoom.grid])})
            relations, springs = self.end_relations(beams, middle), self.axial_spring(beams, middle)
            return {"parts": [middle], "interfaces": contacts, "relations": relations, "springs": springs}
        cladding = self.zoom.loaded
        supports = self.zoom.matched.tube_supports(cladding, None, "velocity")
        ends = [beam for beam, _ in beams.values()]
        return {
            "parts": [cladding, *supports.parts],
            "junctions": [
                joint.carrying(beam, cladding) for joint, beam in zip(self.zoom.junctions, ends, strict=True)
            ],
            "interfaces": supports.interfaces,
            "springs": supports.springs,
        }

    @cached_property
    def system(self) -> aq.System:
        """The rod with both levels, from equilibrium at level 0."""
        p, grid = self.parameters, self.zoom.grid
        beams = self.zoom.beams(p)
        coarse, fine = (self.items(level, beams) for level in (0, 1))
        shared = {beam.name: self.settled[beam.name] for beam, _ in beams.values()}
        level_models = [
            aq.levels.Level(
                **level_items, reference=shared | {part.name: start[part.name] for part in level_items["parts"]}
            )
            for level_items, start in ((coarse, self.settled), (fine, self.settled_zoom))
        ]
        names = [interface.name for level_items in (coarse, fine) for interface in level_items["interfaces"]]
        indicator = aq.levels.ContactIndicator(names, gap=NEAR, look_ahead=LOOK_AHEAD, every=LOOK_EVERY)
        levels = aq.Levels(f"grid{grid.number}", level_models, choose=indicator, hold=HOLD)
        ends = [beam for beam, _ in beams.values()]
        active = [part.name for part in [*ends, *coarse["parts"], *fine["parts"]]]
        start = {name: {**self.settled_zoom, **self.settled}[name] for name in active}
        return aq.System(
            ends, interfaces=self.zoom.contacts(beams), levels=[levels],
            displacement=start, gravity=rod_model.shaking(p),
        )  # fmt: skip

    def configuration(self, level: int) -> aq.System:
        """The rod at one level alone: 0 (beam and springs) or 1 (cladding and pads)."""
        return self.system.at({f"grid{self.zoom.grid.number}": level})

    def study(self) -> aq.Study:
        """Study from static equilibrium with the grid open."""
        p = self.parameters
        return aq.Study(self.system, aq.Theta(0.5), p.duration, p.step, fields_every=p.fields_every)
