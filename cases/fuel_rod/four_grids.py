"""A rod in four grids: the outer two are linear springs, of the inner two one has a preload and the other a gap."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated

import numpy as np

import arlequin as aq
from arlequin.cases.case.parameters import Quantity
from arlequin.cases.fuel_rod.model import GridSupport, SpacerGrid
from arlequin.models.checks import integer, non_negative, positive

MARGIN = 0.1  # m, from an end of the rod to its first grid
DIRECTIONS = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0)}


@dataclass(frozen=True)
class FourGridRod:
    """Rod, supports and turbulent flow."""

    pitch: Annotated[float, Quantity("m", "distance of the grids", positive)] = 0.5
    outer_diameter: Annotated[float, Quantity("m", "outer diameter of the cladding", positive)] = 9.5e-3
    thickness: Annotated[float, Quantity("m", "wall thickness of the cladding", positive)] = 0.57e-3
    pellets: Annotated[float, Quantity("kg/m", "mass of the pellets per length", non_negative)] = 0.55
    water: Annotated[float, Quantity("kg/m", "added mass of water per length", non_negative)] = 0.077
    fluid_damping: Annotated[float, Quantity("N s/m^2", "damping of the water per length", non_negative)] = 5.0
    spring_stiffness: Annotated[float, Quantity("N/m", "stiffness of a spring", positive)] = 2e5
    dimple_stiffness: Annotated[float, Quantity("N/m", "stiffness of a dimple", positive)] = 1e6
    shock_damping: Annotated[float, Quantity("N s/m", "damping of a support in contact", non_negative)] = 20.0
    tangential: Annotated[float, Quantity("", "tangential over normal stiffness of a support", positive)] = 0.8
    dimple_distance: Annotated[float, Quantity("m", "height of the dimples above and below the springs", positive)] = (
        12e-3
    )
    force: Annotated[float, Quantity("N/m", "rms turbulent force", positive)] = 1.0
    cutoff: Annotated[float, Quantity("Hz", "frequency up to which the turbulence spectrum is flat", positive)] = 40.0
    highest: Annotated[float, Quantity("Hz", "highest frequency of the turbulent force", positive)] = 200.0
    correlation: Annotated[float, Quantity("m", "correlation length of turbulence", positive)] = 0.2
    modes: Annotated[int, Quantity("", "modes of the rod, beside the shapes of the grids", integer, 2, 150)] = 40
    cells: Annotated[int, Quantity("", "beam elements between two grids", integer, 2, 200)] = 8

    def __post_init__(self) -> None:
        if not 2.0 * self.thickness < self.outer_diameter:
            raise aq.UserError.parameter("thickness", self.thickness, "must be less than half the outer diameter")
        if not self.dimple_distance < 0.4 * self.pitch:
            raise aq.UserError.parameter("dimple_distance", self.dimple_distance, f"must be < {0.4 * self.pitch:g} m")

    @property
    def radius(self) -> float:
        """Outer radius of the rod, m."""
        return 0.5 * self.outer_diameter

    @property
    def heights(self) -> list[float]:
        """Heights of the grids, m."""
        return [MARGIN + n * self.pitch for n in range(4)]

    def grids(
        self,
        preload: float,
        gap: float,
        misalignment: float = 0.0,
        layer: tuple[float, float, float] | None = None,
        worn: Sequence[Sequence[Sequence[float]]] | None = None,
    ) -> tuple[SpacerGrid, SpacerGrid]:
        """The inner grids: with a preload, N, and with a gap, m (a preload as well, if it is 0), off the axis.

        layer: asperities of the supports, as of `GridSupport`; worn: depths of springs and dimples of each grid, m.
        """
        spring, dimple = (
            GridSupport(k, self.shock_damping, layer) for k in (self.spring_stiffness, self.dimple_stiffness)
        )
        tight_worn, loose_worn = worn or (None, None)
        rod = self.radius, self.dimple_distance, spring, dimple
        tight = SpacerGrid(1, self.heights[1], *rod, preload, 0.0, worn=tight_worn)
        loose = SpacerGrid(2, self.heights[2], *rod, preload, gap, misalignment, loose_worn)
        return tight, loose

    def turbulence(self, force: float, duration: float, seed: int) -> aq.Turbulence:
        """The flow; force: its rms, N/m."""
        slope = aq.PlateauSpectrum(1.0, self.cutoff).slope
        spectrum = aq.PlateauSpectrum(force**2 / (self.cutoff * slope / (slope - 1.0)), self.cutoff)
        return aq.Turbulence(
            spectrum, highest=self.highest, correlation=self.correlation, duration=max(duration, 1.0 / self.highest),
            seed=seed,
        )  # fmt: skip

    def system(self, grids: Sequence[SpacerGrid], friction: float, turbulence: aq.Turbulence) -> aq.System:
        """The rod, reduced to modes and static shapes, on its springs and in the inner grids."""
        heights = self.heights
        ends = {"lower": heights[0], "upper": heights[3]}
        section_points = {name: aq.SectionPoints(z) for name, z in ends.items()}
        section_points |= {f"axis{grid.number}": aq.SectionPoints(grid.z) for grid in grids}
        for grid in grids:
            section_points |= dict(zip(grid.names, (grid.springs, grid.dimples), strict=True))
        dimple_heights = [z + side * self.dimple_distance for z in heights[1:3] for side in (-1.0, 1.0)]
        corners = np.unique(np.round([0.0, *heights, *dimple_heights, heights[3] + MARGIN], 12))
        spans = [np.linspace(a, b, 1 + max(1, round((b - a) * self.cells / self.pitch))) for a, b in pairwise(corners)]
        nodes = [0.0, *np.concatenate([cut[1:] for cut in spans]).tolist()]
        zircaloy = aq.LinearElastic(young=9.9e10, poisson=0.37, density=6550.0)
        section = aq.Section.tube(self.radius, self.radius - self.thickness, zircaloy.poisson)
        beam = aq.Beam(
            "rod", aq.mesh.line(nodes), zircaloy, section, origin=(0.0, 0.0, 0.0), direction=(0.0, 0.0, 1.0),
            up=(0.0, 1.0, 0.0), carried_mass=self.pellets, added_mass=self.water, fluid_damping=self.fluid_damping,
            points=section_points, turbulence=turbulence, imposed={"left": {"z": 0.0, "rz": 0.0}},
        )  # fmt: skip
        static = [beam.boundary(name) for name in (*ends, *(f"axis{grid.number}" for grid in grids))]
        rod = aq.Modal(beam, self.modes, static=static)
        stiffness, damping = self.spring_stiffness, self.shock_damping
        springs = [
            aq.Spring(f"{name}_{axis}", rod.boundary(name), stiffness=stiffness, damping=damping, direction=along)
            for name in ends
            for axis, along in DIRECTIONS.items()
        ]
        contacts = [contact for grid in grids for contact in grid.interfaces(rod, friction, self.tangential)]
        return aq.System([rod], interfaces=contacts, springs=springs)
