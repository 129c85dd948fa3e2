"""Parameters of the case `fuel_rod`."""

from dataclasses import dataclass
from math import pi
from typing import Annotated, Literal

import numpy as np

import arlequin as aq
from arlequin.cases.case.parameters import Quantity
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


@dataclass(frozen=True)
class Parameters:
    """Default: eight grids with 15 N of preload, except grid 4 with a gap of 0.03 mm; 1 s of turbulence."""

    length: Annotated[float, Quantity("m", "length of the rod", positive)] = 3.9
    outer_diameter: Annotated[float, Quantity("m", "outer diameter of the cladding", positive)] = 9.5e-3
    thickness: Annotated[float, Quantity("m", "wall thickness of the cladding", positive)] = 0.57e-3
    young: Young = 9.9e10
    poisson: Poisson = 0.37
    density: Density = 6550.0
    pellet_density: Annotated[float, Quantity("kg/m^3", "density of the pellets", non_negative)] = 10400.0
    pellet_diameter: Annotated[float, Quantity("m", "diameter of the pellets", positive)] = 8.19e-3
    water_density: Annotated[float, Quantity("kg/m^3", "density of the water", non_negative)] = 720.0
    added_mass: Annotated[float, Quantity("", "added mass of water, in volumes of the rod", non_negative)] = 1.5
    fluid_damping: Annotated[float, Quantity("N s/m^2", "damping of the water per length", non_negative)] = 5.0
    tension: Annotated[float, Quantity("N", "axial tension of the rod", non_negative)] = 0.0
    grids: Annotated[int, Quantity("", "number of equally spaced spacer grids", integer, 2, 40)] = 8
    spring_stiffness: Annotated[float, Quantity("N/m", "stiffness of a spring", positive)] = 2e5
    dimple_stiffness: Annotated[float, Quantity("N/m", "stiffness of a dimple", positive)] = 1e6
    dimple_height: Annotated[
        float, Quantity("m", "height of the dimples above and below the springs", non_negative)
    ] = 12e-3
    preload: Annotated[float, Quantity("N", "initial preload of a spring", non_negative)] = 15.0
    relaxation: Annotated[float, Quantity("", "lost fraction of the preload", within, 0.0, 1.0)] = 0.0
    gap: Annotated[float, Quantity("m", "gap on each side at the loose grid", non_negative)] = 3e-5
    loose: Annotated[
        int | None, Quantity("", "number of the grid with the gap; 0: all; none: the middle one", non_negative_integer)
    ] = None
    misalignment: Annotated[float, Quantity("m", "offset of the second grid along x", finite)] = 0.0
    friction: Annotated[float, Quantity("", "coefficient of friction", non_negative)] = 0.3
    tangential: Annotated[float, Quantity("", "tangential over normal stiffness of a support", positive)] = 0.8
    shock_damping: Annotated[float, Quantity("N s/m", "damping of a support in contact", non_negative)] = 20.0
    law: Annotated[Literal["shock", "multilevel"], Quantity("", "supports: elastic, or with asperities")] = "shock"
    asperity_stiffness: Annotated[float, Quantity("N/m^m", "κ of F = κ⟨a − g⟩^m, law=multilevel", positive)] = 2e12
    asperity_exponent: Annotated[float, Quantity("", "m", within, 1.0, 20.0)] = 2.0
    asperity_height: Annotated[float, Quantity("m", "a", positive)] = 5e-6
    excitation: Annotated[
        Literal["turbulence", "harmonic", "support", "none"], Quantity("", "excitation of the rod")
    ] = "turbulence"
    amplitude: Annotated[
        float,
        Quantity(
            "", "rms turbulent force (N/m), harmonic force (N/m) or acceleration of the grids (m/s2)", non_negative
        ),
    ] = 1.0
    frequency: Annotated[float, Quantity("Hz", "frequency of the harmonic excitation", positive)] = 30.0
    cutoff: Annotated[float, Quantity("Hz", "frequency up to which the turbulence spectrum is flat", positive)] = 40.0
    highest: Annotated[float, Quantity("Hz", "highest frequency of the turbulent force", positive)] = 300.0
    correlation: Annotated[float, Quantity("m", "correlation length of turbulence", positive)] = 0.2
    seed: Annotated[int, Quantity("", "random seed of the turbulent force", non_negative_integer)] = 1
    duration: Annotated[float, Quantity("s", "duration of the run", positive)] = 1.0
    step: Annotated[float, Quantity("s", "time step", positive)] = 2e-5
    modes: Annotated[
        int, Quantity("", "modes of the rod (bending in both planes, torsion, extension)", integer, 2, 150)
    ] = 100
    cells: Annotated[int, Quantity("", "beam elements between two grids", integer, 4, 200)] = 16
    zoom: Annotated[
        int | Literal["auto"],
        Quantity(
            "",
            "number of the grid with a solid cladding; 0: none; auto: the loose one, while it knocks",
            non_negative_integer,
        ),
    ] = 0
    substeps: Annotated[int, Quantity("", "steps of the zoom per step of the rod", positive_integer)] = 1
    refine: Annotated[float, Quantity("", "refinement of the zoom; 1: cells of 0.08 × 0.4 mm", within, 0.2, 3.0)] = 0.7
    layer_stiffness: Annotated[
        float, Quantity("Pa/m", "stiffness of the linear asperity layer in the zoom", positive)
    ] = 5e12
    pad_width: Annotated[float, Quantity("m", "pad width in the zoom", positive)] = 2.5e-3
    pad_height: Annotated[float, Quantity("m", "pad height in the zoom", positive)] = 3e-3
    pad_thickness: Annotated[float, Quantity("m", "pad thickness in the zoom", positive)] = 0.8e-3
    wear: Annotated[float, Quantity("m^3/J", "Archard's coefficient", non_negative)] = 0.0
    fields_every: Annotated[int, Quantity("", "steps between two recorded fields", positive_integer)] = 100

    def __post_init__(self) -> None:
        integer("loose", self.loose or 0, 0, self.grids)
        if self.zoom != "auto":
            integer("zoom", self.zoom, 0, self.grids)
        elif len(self.open) != 1:
            rule = f"needs one loose grid, not {len(self.open)}: give gap and loose"
            raise aq.UserError.parameter("zoom", self.zoom, rule)
        elif self.substeps > 1:
            raise aq.UserError.parameter("substeps", self.substeps, "must be 1 with zoom=auto")
        if self.zoomed == 2 and self.misalignment:
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
        """Outer radius of the rod, m."""
        return 0.5 * self.outer_diameter

    @property
    def heights(self) -> np.ndarray:
        """Heights of the grids (g,), m."""
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
    def zoomed(self) -> int:
        """Number of the grid with a solid cladding, permanent or temporary; 0: none."""
        return self.open[0] if self.zoom == "auto" else self.zoom

    @property
    def carried(self) -> float:
        """Mass of the pellets per length, kg/m."""
        return self.pellet_density * 0.25 * pi * self.pellet_diameter**2

    @property
    def water(self) -> float:
        """Added mass of water per length, kg/m."""
        return self.added_mass * self.water_density * 0.25 * pi * self.outer_diameter**2
