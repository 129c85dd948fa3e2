"""Parameters of the case `rod_drop`."""

from dataclasses import dataclass
from math import pi, sqrt
from typing import Annotated, Literal

import numpy as np

import arlequin as aq
from arlequin.cases.case.parameters import Quantity
from arlequin.cases.reference.ballistic import FreeFall
from arlequin.cases.shared.vocabulary import Density, FieldsEvery, Young
from arlequin.models.checks import non_negative, positive, positive_integer, within
from arlequin.models.types import Array

POISSON = 0.3
TURN = 0.75 * pi  # angle between the offsets of two adjacent cards
INSIDE = 0.5  # pitches from the top of the rod to the first card, and at least from its end to the next card


@dataclass(frozen=True)
class Parameters:
    """A rod of 4 m at 10 m/s through cards 0.7 mm out of line, with 0.5 mm of clearance all round."""

    length: Annotated[float, Quantity("m", "length of the rod", positive)] = 4.0
    diameter: Annotated[float, Quantity("m", "diameter of the rod", positive)] = 9.7e-3
    thickness: Annotated[float | None, Quantity("m", "wall thickness of the tube; none: solid rod", positive)] = 0.5e-3
    young: Young = 2.0e11
    density: Density = 7900.0
    carried_mass: Annotated[float, Quantity("kg/m", "mass of the absorber per length", non_negative)] = 0.6
    damping: Annotated[
        float, Quantity("", "viscous damping ratio at the bending frequency between two cards", non_negative)
    ] = 0.01
    top_mass: Annotated[float, Quantity("kg", "mass on top of the rod, carried along the fall only", non_negative)] = (
        0.0
    )
    clearance: Annotated[float, Quantity("m", "radial clearance between rod and card", positive)] = 5e-4
    guides: Annotated[int, Quantity("", "number of cards", positive_integer)] = 66
    pitch: Annotated[float, Quantity("m", "distance between cards", positive)] = 0.3
    misalignment: Annotated[float, Quantity("m", "offset of the cards below the initial position", non_negative)] = 7e-4
    nose_length: Annotated[float, Quantity("m", "length of the thin nose at the lower end", positive)] = 0.1
    nose_depth: Annotated[float, Quantity("m", "reduction of the radius at the tip of the nose", positive)] = 4e-3
    friction: Annotated[float, Quantity("", "coefficient of friction", non_negative)] = 0.3
    velocity: Annotated[float, Quantity("m/s", "initial velocity of the fall", non_negative)] = 10.0
    gravity: Annotated[float, Quantity("m/s^2", "gravity", non_negative)] = 9.81
    drop: Annotated[float, Quantity("m", "fall of the tip at which the drop time is taken", positive)] = 12.0
    duration: Annotated[float, Quantity("s", "duration of the run", positive)] = 1.4
    scheme: Annotated[
        Literal["theta", "newmark"], Quantity("", "θ-scheme with θ = 1/2, or Newmark with β = 0.4, γ = 0.7")
    ] = "theta"
    law: Annotated[
        Literal["velocity", "gap", "shock"],
        Quantity("", "contact law: unilateral on velocity or gap, or shock element"),
    ] = "velocity"
    shock_stiffness: Annotated[float, Quantity("N/m", "normal stiffness K_N of law=shock", positive)] = 1e6
    shock_damping: Annotated[float, Quantity("N s/m", "normal damping C_N of law=shock", non_negative)] = 50.0
    tangential_stiffness: Annotated[float, Quantity("N/m", "tangential stiffness K_T of law=shock", positive)] = 1e5
    tangential_damping: Annotated[float, Quantity("N s/m", "tangential damping C_T of law=shock", non_negative)] = 100.0
    cells: Annotated[int, Quantity("", "beam elements", within, 4, 2000)] = 80
    step: Annotated[float, Quantity("s", "time step", positive)] = 5e-5
    fields_every: FieldsEvery = 10

    def __post_init__(self) -> None:
        if self.thickness is not None and not self.thickness < 0.5 * self.diameter:
            raise aq.UserError.parameter(
                "thickness", self.thickness, f"must be below {0.5 * self.diameter:g} m, or none"
            )
        if not self.nose_depth <= 0.5 * self.diameter:
            raise aq.UserError.parameter("nose_depth", self.nose_depth, f"must be up to {0.5 * self.diameter:g} m")
        if not self.misalignment < self.clearance + self.nose_depth:
            most = f"{self.clearance + self.nose_depth:g} m (clearance + nose_depth)"
            raise aq.UserError.parameter(
                "misalignment", self.misalignment, f"must be below {most}, or the nose lands on the card"
            )
        free = FreeFall(self.velocity, self.gravity)
        if not free.depth(self.duration) >= self.drop:
            deepest = f"{free.depth(self.duration):.4g} m, which the rod falls in the duration without contact"
            raise aq.UserError.parameter("drop", self.drop, f"must be up to {deepest}")

    @property
    def section(self) -> aq.Section:
        """Section of the tube or the full rod."""
        if self.thickness is None:
            return aq.Section.circle(0.5 * self.diameter, POISSON)
        return aq.Section.tube(0.5 * self.diameter, 0.5 * self.diameter - self.thickness, POISSON)

    @property
    def line_mass(self) -> float:
        """Mass of the rod per length, kg/m."""
        return self.density * self.section.area + self.carried_mass

    @property
    def bending(self) -> float:
        """Lowest angular frequency of the rod supported by two cards, rad/s."""
        return (pi / self.pitch) ** 2 * sqrt(self.young * self.section.inertia_z / self.line_mass)

    @property
    def centres(self) -> Array:
        """Centres of the cards (k, 3), m, from the top; initially the tip of the rod is at z = 0."""
        height = self.length - self.pitch * (INSIDE + np.arange(self.guides))
        ahead = height < -INSIDE * self.nose_length
        angle = TURN * np.arange(self.guides)
        aside = np.where(ahead, self.misalignment, 0.0)
        return np.column_stack([aside * np.cos(angle), aside * np.sin(angle), height])

    @property
    def straight(self) -> bool:
        """Whether a straight rod passes all cards."""
        return self.misalignment < self.clearance
