"""Parameters of the case `glued_ring`."""

from dataclasses import dataclass
from typing import Annotated, Literal

from arlequin.cases.case.parameters import Quantity
from arlequin.cases.shared.vocabulary import Poisson, Young
from arlequin.models.checks import positive, positive_integer, within

RADIUS = 10e-3  # radius of the hole, m
OUTER = {"ring": 3.0, "plate": 4.0}  # radius of the outer border over RADIUS


@dataclass(frozen=True)
class Parameters:
    """Steel; a pressure, or a tension far away, of 100 MPa."""

    problem: Annotated[
        Literal["ring", "plate"], Quantity("", "pressurised ring (Lamé) or stretched plate (Kirsch)")
    ] = "plate"
    model: Annotated[Literal["arlequin", "single"], Quantity("", "with the patch, or coarse mesh only")] = "arlequin"
    cells: Annotated[Literal["quad", "tri"], Quantity("", "cell type of the coarse mesh")] = "quad"
    patch_cells: Annotated[Literal["quad", "tri"], Quantity("", "cell type of the patch")] = "quad"
    order: Annotated[int, Quantity("", "order of the elements; cells of order 2 are curved", within, 1, 2)] = 2
    elements: Annotated[int, Quantity("", "coarse cells around the quadrant", positive_integer)] = 8
    ratio: Annotated[float, Quantity("", "coarse over fine cell size", within, 1.0, 20.0)] = 3.3
    start: Annotated[
        float, Quantity("deg", "angle where the patch starts; 0: at the edge of the quadrant", within, 0.0, 40.0)
    ] = 0.0
    stress: Annotated[float, Quantity("Pa", "pressure in the hole, or remote tension", positive)] = 100e6
    young: Young = 210e9
    poisson: Poisson = 0.3

    @property
    def outer(self) -> float:
        """Radius of the outer border, m."""
        return OUTER[self.problem] * RADIUS
