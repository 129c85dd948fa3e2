"""Parameters of the case `sdnv105`."""

from dataclasses import dataclass
from math import sqrt
from typing import Annotated, Literal

import arlequin as aq
from arlequin.cases.case.parameters import Quantity
from arlequin.cases.shared.vocabulary import Density, Poisson, Scheme, Young
from arlequin.models.checks import finite, non_negative, positive, positive_integer, within


@dataclass(frozen=True)
class Parameters:
    """The block of the benchmark, 0.36 × 0.8 × 1 m, released from 0.01 rad: five impacts in 0.3 s."""

    half_width: Annotated[float, Quantity("m", "half-width of the block", positive)] = 0.18
    half_height: Annotated[float, Quantity("m", "half-height of the block", positive)] = 0.40
    density: Density = 1450.0
    tilt: Annotated[float, Quantity("rad", "initial angle about the left corner", non_negative)] = 0.01
    friction: Annotated[float, Quantity("", "coefficient of friction", non_negative)] = 0.9
    gravity: Annotated[float, Quantity("m/s^2", "gravity", positive)] = 9.81
    model: Annotated[
        Literal["rigid", "elastic", "springs", "elastic-springs"],
        Quantity("", "rigid or elastic (plane stress) block, on the table or on three shock springs"),
    ] = "rigid"
    table: Annotated[Literal["rigid", "elastic"], Quantity("", "rigid or elastic table, for model=elastic")] = "rigid"
    spring_stiffness: Annotated[float, Quantity("N/m", "normal stiffness of each of the three springs", positive)] = (
        3e10
    )
    spring_tangential: Annotated[
        float, Quantity("N/m", "tangential stiffness of each spring during stick", positive)
    ] = 1e7
    spring_damping: Annotated[float, Quantity("N s/m", "normal damping of each spring", non_negative)] = 5e6
    kinematics: Annotated[
        Literal["finite", "small"], Quantity("", "rotations of the elastic block: small or finite")
    ] = "finite"
    young: Young = 6e11
    poisson: Poisson = 0.2
    damping: Annotated[float, Quantity("s", "stiffness-proportional damping α of the elastic block", non_negative)] = (
        1e-4
    )
    cells: Annotated[int, Quantity("", "cells along the base of the elastic block", positive_integer)] = 9
    support_acceleration: Annotated[
        float, Quantity("m/s^2", "amplitude a of the table acceleration a sin 2πft", finite)
    ] = 0.0
    support_frequency: Annotated[float, Quantity("Hz", "frequency f of the table acceleration", positive)] = 1.0
    scheme: Scheme = "theta"
    theta: Annotated[
        float | None, Quantity("", "θ; none: 1 if rigid, 0.55 if elastic, 0.5 on springs", within, 0.5, 1.0)
    ] = None
    events: Annotated[
        Literal["usual", "locate", "step"],
        Quantity("", "located impacts, or impacts at the end of their step; usual: located if rigid"),
    ] = "usual"
    step: Annotated[float, Quantity("s", "time step", positive)] = 5e-5
    impacts: Annotated[int, Quantity("", "number of impacts compared", positive_integer)] = 5
    duration: Annotated[
        float | None,
        Quantity("s", "duration of the run; none: end of the exact flight after the last impact", positive),
    ] = None

    def __post_init__(self) -> None:
        if self.table == "elastic" and self.model != "elastic":
            raise aq.UserError.parameter("table", "elastic", f"must be rigid with model={self.model}")
        if self.duration is None and not self.rocks:
            raise aq.UserError.parameter("duration", None, "must be given where the block slides or is flat")

    @property
    def rocks(self) -> bool:
        """Whether the block rocks without sliding after impacts, so that the exact motion exists."""
        b, l = self.half_width, self.half_height  # noqa: E741
        return l > b / sqrt(2) and self.friction >= 3 * b * l / (4 * l**2 + b**2)
