"""Parameters of the case `sdnd100`."""

from dataclasses import dataclass
from typing import Annotated

from arlequin.cases.case.parameters import Quantity
from arlequin.cases.shared.sliders import PENALISED, Model, Scheme, SliderParameters, critical_damping
from arlequin.cases.shared.vocabulary import EventsName, ThetaValue
from arlequin.models.checks import finite, non_negative, positive


@dataclass(frozen=True)
class Parameters(SliderParameters):
    """A kilogram on 10⁴ N/m, 0.85 mm from the middle: it turns at −0.65, 0.45, −0.25 mm and rests at 0.05 mm."""

    stiffness: Annotated[float, Quantity("N/m", "stiffness of the spring", positive)] = 1e4
    mass: Annotated[float, Quantity("kg", "mass", positive)] = 1.0
    gravity: Annotated[float, Quantity("m/s^2", "gravity", positive)] = 10.0
    friction: Annotated[float, Quantity("", "coefficient of friction", non_negative)] = 0.1
    release: Annotated[float, Quantity("m", "initial displacement", finite)] = 0.85e-3
    direction: Annotated[float, Quantity("°", "direction of the release in the plane of the floor", finite)] = 45.0
    model: Annotated[
        Model, Quantity("", "contact model: nonsmooth, or on a shock element (modal, two bodies, direct)")
    ] = "nonsmooth"
    normal_stiffness: Annotated[float, Quantity("N/m", "normal stiffness K_N of the shock element", positive)] = 20.0
    tangential_stiffness: Annotated[
        float, Quantity("N/m", "tangential stiffness K_T of the shock element", positive)
    ] = 4e5
    tangential_damping: Annotated[
        float | None,
        Quantity(
            "N s/m", "tangential damping C_T of the shock element; none: critical, 2 √(m (k + K_T))", non_negative
        ),
    ] = None
    scheme: Annotated[
        Scheme | None, Quantity("", "time scheme; none: theta if nonsmooth, hht if direct, else symplectic-euler")
    ] = None
    theta: ThetaValue = 0.5
    events: Annotated[
        EventsName | None,
        Quantity(
            "", "changes of state at the end of a step or located inside it; none: locate if nonsmooth with theta"
        ),
    ] = None
    step: Annotated[float | None, Quantity("s", "time step; none: 1e-3, if penalised 5e-4", positive)] = None
    duration: Annotated[
        float | None, Quantity("s", "duration of the run; none: two half swings after rest", positive)
    ] = None

    penalised_schemes = PENALISED

    @property
    def dashpot(self) -> float:
        """C_T, N s/m."""
        if self.tangential_damping is not None:
            return self.tangential_damping
        return critical_damping(self.mass, self.stiffness + self.tangential_stiffness)

    @property
    def time_step(self) -> float:
        """Δt, s."""
        if self.step is not None:
            return self.step
        return 5e-4 if self.penalised else 1e-3
