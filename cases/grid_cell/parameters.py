"""Parameters of the case `grid_cell`."""

from dataclasses import dataclass
from typing import Annotated

from arlequin.cases.case.parameters import Quantity
from arlequin.cases.shared.vocabulary import AsperityExponent, AsperityHeight, AsperityStiffness, Poisson, Young
from arlequin.models.checks import non_negative, positive, positive_integer, within


@dataclass(frozen=True)
class Parameters:
    """A Zircaloy tube in its cell: springs of 150 N/mm that press with 15 N, pushed through by 0.1 mm."""

    outer_diameter: Annotated[float, Quantity("m", "outer diameter of the tube", positive)] = 9.5e-3
    thickness: Annotated[float, Quantity("m", "wall thickness of the tube", positive)] = 5.7e-4
    length: Annotated[float, Quantity("m", "length of the tube", positive)] = 0.04
    young: Young = 9.9e10
    poisson: Poisson = 0.37
    pad_young: Annotated[float, Quantity("Pa", "Young's modulus of the pads", positive)] = 9.9e10
    pad_radius: Annotated[
        float | None, Quantity("m", "radius of hollow pads, larger than that of the tube; none: flat pads", positive)
    ] = None
    spring_stiffness: Annotated[float, Quantity("N/m", "stiffness of a spring", positive)] = 1.5e5
    dimple_stiffness: Annotated[float, Quantity("N/m", "stiffness of a dimple", positive)] = 1e6
    spring_shear: Annotated[float, Quantity("N/m", "tangential stiffness of a spring", positive)] = 1e5
    dimple_shear: Annotated[float, Quantity("N/m", "tangential stiffness of a dimple", positive)] = 5e5
    end_stiffness: Annotated[float, Quantity("N/m", "lateral stiffness that holds each end of the tube", positive)] = (
        1e4
    )
    preload: Annotated[float, Quantity("N", "preload of each spring", positive)] = 15.0
    gap: Annotated[float, Quantity("m", "initial gap between tube and asperities", non_negative)] = 0.0
    friction: Annotated[float, Quantity("", "coefficient of friction", positive)] = 0.3
    asperity_stiffness: AsperityStiffness = 5e12
    asperity_exponent: AsperityExponent = 1.0
    asperity_height: AsperityHeight = 1e-5
    wear: Annotated[float, Quantity("m^3/J", "Archard's coefficient", non_negative)] = 0.0
    push: Annotated[float, Quantity("m", "axial displacement of the tube", positive)] = 1e-4
    refine: Annotated[
        float, Quantity("", "refinement; 1: cells of 0.08 × 0.4 mm (default geometry)", within, 0.2, 8.0)
    ] = 1.0
    order: Annotated[int, Quantity("", "order of the elements", within, 1, 2)] = 1
    steps: Annotated[int, Quantity("", "load steps of the insertion; twice as many for the push", positive_integer)] = 8
