"""Parameters of the nested cylinders."""

from dataclasses import dataclass
from typing import Annotated, Literal

import arlequin as aq
from arlequin.cases.case.parameters import Quantity
from arlequin.cases.nested_cylinders.meshes import Layout
from arlequin.cases.shared.vocabulary import Density, FieldsEvery, Poisson, Young
from arlequin.models.checks import positive, within

# proportions to the outer radius: distance of the axes; circles; planes
OFFSET = 0.2
RADII = (7 / 30, 1 / 3, 8 / 15, 13 / 15, 1.0)
PLANES = (0.0, 2 / 15, 9 / 20, 13 / 20, 3 / 4, 17 / 12, 91 / 60, 103 / 60, 2.0)


@dataclass(frozen=True)
class Parameters:
    """Default: neo-Hookean cylinders at 35 m/s, 1.2 ms with steps of 0.8 µs; all fine it has 6,400 cells."""

    model: Annotated[Literal["arlequin", "fine"], Quantity("", "fine cells round the core, or everywhere")] = "arlequin"
    law: Annotated[Literal["neo-hooke", "linear"], Quantity("", "large strains, or small ones")] = "neo-hooke"
    velocity: Annotated[float, Quantity("m/s", "velocity towards the rigid surface", positive)] = 35.0
    ratio: Annotated[float, Quantity("", "size of fine over coarse cells", within, 0.2, 1.0)] = 0.8
    mediator: Annotated[
        Literal["coarse", "fine"], Quantity("", "multipliers of the junction: of coarse or fine cells")
    ] = "coarse"
    weights: Annotated[
        Literal["linear", "constant"],
        Quantity("", "weight of the fine part in the zone: linear across it, or one half"),
    ] = "linear"
    size: Annotated[float, Quantity("m", "size of the fine cells at the border of the zone", positive)] = 6e-3
    radius: Annotated[float, Quantity("m", "outer radius of the shell, half of its height", positive)] = 0.06
    shell_young: Young = 3e9
    shell_poisson: Poisson = 0.3
    shell_density: Density = 2700.0
    filler_young: Young = 2e7
    filler_poisson: Poisson = 0.494
    filler_density: Density = 1100.0
    core_young: Young = 1.2e10
    core_poisson: Poisson = 0.3
    core_density: Density = 11340.0
    cut: Annotated[float, Quantity("Hz", "frequency of the low-pass filter of force and acceleration", positive)] = 1e3
    step: Annotated[float, Quantity("s", "time step", positive)] = 8e-7
    duration: Annotated[float, Quantity("s", "duration of the run", positive)] = 1.2e-3
    fields_every: FieldsEvery = 50

    def __post_init__(self) -> None:
        if self.coarse_size > self.radius:
            rule = f"must be at least {self.size / self.radius:.3g}: coarse cells of at most the radius"
            raise aq.UserError.parameter("ratio", self.ratio, rule)
        if 2.0 * self.cut * self.step >= 1.0:
            rule = f"must be below {0.5 / self.step:g} Hz, half of the sampling rate"
            raise aq.UserError.parameter("cut", self.cut, rule)

    @property
    def coarse_size(self) -> float:
        """Size of the coarse cells, m."""
        return self.size / self.ratio

    @property
    def layout(self) -> Layout:
        """Circles and planes."""
        lengths = [tuple(self.radius * share for share in shares) for shares in (RADII, PLANES)]
        return Layout(OFFSET * self.radius, *lengths)
