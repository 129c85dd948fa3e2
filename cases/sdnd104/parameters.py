"""Parameters of the case `sdnd104`."""

from dataclasses import dataclass
from typing import Annotated, Literal

from arlequin.cases.case.parameters import Quantity
from arlequin.cases.shared.sliders import RINGING, Scheme, SliderParameters, critical_damping
from arlequin.cases.shared.vocabulary import EventsName
from arlequin.models.checks import non_negative, positive, within


@dataclass(frozen=True)
class Parameters(SliderParameters):
    """A kilogram under 10 m/s², μ = 0.1, on a floor shaken once a second by 15 m/s²: it slips all the time."""

    acceleration: Annotated[float, Quantity("m/s^2", "amplitude of the floor acceleration", non_negative)] = 15.0
    friction: Annotated[float, Quantity("", "coefficient of friction", positive)] = 0.1
    mass: Annotated[float, Quantity("kg", "mass", positive)] = 1.0
    gravity: Annotated[float, Quantity("m/s^2", "gravity", positive)] = 10.0
    frequency: Annotated[float, Quantity("Hz", "frequency of the floor", positive)] = 1.0
    model: Annotated[
        Literal["nonsmooth", "penalised"], Quantity("", "contact model: nonsmooth, or penalised by a shock element")
    ] = "nonsmooth"
    normal_stiffness: Annotated[float, Quantity("N/m", "normal stiffness K_N of model=penalised", positive)] = 20.0
    tangential_stiffness: Annotated[float, Quantity("N/m", "tangential stiffness K_T of model=penalised", positive)] = (
        9e5
    )
    tangential_damping: Annotated[
        float | None,
        Quantity("N s/m", "tangential damping C_T of model=penalised; none: critical, 2 √(m (k + K_T))", non_negative),
    ] = None
    spring: Annotated[float, Quantity("N/m", "weak spring of model=penalised", non_negative)] = 3e-5
    scheme: Annotated[Scheme | None, Quantity("", "time scheme; none: theta, if penalised symplectic-euler")] = None
    theta: Annotated[float | None, Quantity("", "θ; none: 1/2 with events=locate, else 1", within, 0.5, 1.0)] = None
    events: Annotated[
        EventsName | None,
        Quantity(
            "", "changes of state at the end of a step or located inside it; none: locate if nonsmooth with theta"
        ),
    ] = None
    step: Annotated[
        float | None,
        Quantity("s", "time step; none: period/2000, with events=step period/10000, penalised 3e-5 period", positive),
    ] = None
    start: Annotated[float, Quantity("s", "start of the averaging interval", non_negative)] = 4.0
    end: Annotated[float, Quantity("s", "end of the averaging interval and of the run", positive)] = 12.0

    penalised_schemes = RINGING

    @property
    def dashpot(self) -> float:
        """C_T, N s/m."""
        if self.tangential_damping is not None:
            return self.tangential_damping
        return critical_damping(self.mass, self.spring + self.tangential_stiffness)

    @property
    def time_step(self) -> float:
        """Δt, s."""
        if self.step is not None:
            return self.step
        return (3e-5 if self.penalised else 5e-4 if self.located else 1e-4) / self.frequency

    @property
    def theta_value(self) -> float:
        """θ of the θ-scheme; elastic stick is conserved by ½."""
        return self.theta if self.theta is not None else 0.5 if self.located or self.penalised else 1.0
