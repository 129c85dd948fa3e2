"""Two inertias joined by a shaft with backlash, against the event-exact motion.

The motor starts at 5 rad/s and twists the shaft through its play of 1 rad against the stops, from which it rebounds
some times; or a harmonic torque drives it. The play is `aq.springs.Backlash` beside the linear shaft; the stops are
entered and left within steps, by the mean torque on the path of the step. The inertias are a superelement of two nodes
that only turn, in rad; shaft and load are bushings, whose torques are recorded as moments.

Central differences take dampers at the velocity half a step before. To first order in the step that is an inertia
M − ½ Δt D in place of M, so that they follow the exact motion of that rig: with a torque of 20 N·m it is 0.9 % of the
twist off that of M in 4 s. Their reference has this inertia; the other schemes have no such term.

Source: M. Tiller, Modelica by Example (2014), section Backlash (book.xogeny.com): J₁ = 0.4 kg·m², J₂ = 1 kg·m²,
k₁ = 11 and k₂ = 5 N·m/rad, stops of 1000 N·m/rad at ±0.5 rad, d₁ = 0.2 N·m·s/rad in the shaft and at the load.
"""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
import xarray

import arlequin as aq
from arlequin.cases.case.checks import Check
from arlequin.cases.case.parameters import Quantity
from arlequin.cases.reference.backlash import BacklashMotion, BacklashRig
from arlequin.cases.shared.impact import worst_balance
from arlequin.models.checks import finite, non_negative, positive
from arlequin.models.types import Array


@dataclass(frozen=True)
class Parameters:
    """Default: Tiller's rig for 4 s, without a torque."""

    motor: Annotated[float, Quantity("kg m^2", "inertia of the motor", positive)] = 0.4
    load: Annotated[float, Quantity("kg m^2", "inertia of the load", positive)] = 1.0
    shaft: Annotated[float, Quantity("N m/rad", "stiffness of the shaft", positive)] = 11.0
    shaft_damping: Annotated[float, Quantity("N m s/rad", "damping of the shaft", non_negative)] = 0.2
    ground: Annotated[float, Quantity("N m/rad", "stiffness from the load to the ground", non_negative)] = 5.0
    ground_damping: Annotated[float, Quantity("N m s/rad", "damping of the load", positive)] = 0.2
    play: Annotated[float, Quantity("rad", "half the play", positive)] = 0.5
    stop: Annotated[float, Quantity("N m/rad", "stiffness beyond the play", positive)] = 1000.0
    rate: Annotated[float, Quantity("rad/s", "initial rate of the motor", finite)] = 5.0
    torque: Annotated[float, Quantity("N m", "amplitude of the torque on the motor", non_negative)] = 0.0
    frequency: Annotated[float, Quantity("Hz", "frequency of the torque", positive)] = 1.0
    scheme: Annotated[Literal["theta", "newmark", "central"], Quantity("", "time scheme")] = "theta"
    duration: Annotated[float, Quantity("s", "duration", positive)] = 4.0
    step: Annotated[float, Quantity("s", "time step", positive)] = 5e-4


def reference(parameters: Parameters) -> BacklashRig:
    p = parameters
    return BacklashRig(
        p.motor, p.load, p.shaft, p.shaft_damping, p.ground, p.ground_damping, p.play, p.stop, p.rate, p.torque,
        p.frequency, 0.5 * p.step if p.scheme == "central" else 0.0,
    )  # fmt: skip


def build(parameters: Parameters) -> aq.Study:
    p = parameters
    drive = {"motor": lambda t: (0.0, 0.0, p.torque * np.sin(2.0 * np.pi * p.frequency * t))} if p.torque else {}
    inertias = aq.Superelement(
        "inertias", mass=np.diag([p.motor, p.load]), stiffness=np.zeros((2, 2)), positions=np.zeros((2, 2)),
        components=("rz",), interface={"motor": 0, "load": 1}, forces=drive,
    )  # fmt: skip
    motor, load = inertias.boundary("motor"), inertias.boundary("load")
    law = {"rz": aq.springs.Backlash(p.stop, gap=p.play)}
    shaft = _bushing("shaft", motor, load, p.shaft, p.shaft_damping, law)
    ground = _bushing("ground", load, None, p.ground, p.ground_damping, None)
    schemes: dict[str, Any] = {"theta": aq.Theta(0.5), "newmark": aq.Newmark(), "central": aq.CentralDifference()}
    system = aq.System(
        [inertias], springs=[shaft, ground], velocity={"inertias": [[0.0, 0.0, p.rate], [0.0, 0.0, 0.0]]}
    )
    return aq.Study(system, schemes[p.scheme], p.duration, p.step)


def _bushing(name: str, first: Any, second: Any, stiffness: float, damping: float, law: Any) -> aq.Bushing:
    """A torsional spring, N·m/rad, with a damper, N·m·s/rad, and a law of the twist."""
    return aq.Bushing(name, first, second, stiffness=(0.0, 0.0, stiffness), damping=(0.0, 0.0, damping), law=law)


@dataclass(frozen=True)
class Comparison:
    """Angles (t, 2), rad, and torque of the shaft (t,), N·m, computed; the exact motion at the same times."""

    angle: Array
    torque: Array
    exact: BacklashMotion

    @classmethod
    def of(cls, result: xarray.DataTree, parameters: Parameters) -> "Comparison":
        angle = result["part/inertias"].dataset["rotation"].values[:, :, 0]
        torque = -result["spring/shaft"].dataset["moment"].values[:, 0]
        return cls(angle, torque, reference(parameters).motion(result.dataset["time"].values))

    @property
    def twist_error(self) -> float:
        """Largest error of the twist over the largest twist."""
        twist, exact = -np.diff(self.angle)[:, 0], -np.diff(self.exact.angle)[:, 0]
        return float(np.abs(twist - exact).max() / np.abs(exact).max())

    @property
    def torque_error(self) -> float:
        """Root mean square error of the torque over that of the torque."""
        difference = self.torque - self.exact.torque
        return float(np.sqrt(np.mean(difference**2) / np.mean(self.exact.torque**2)))

    def contacts(self, play: float) -> tuple[int, int]:
        """Number of contacts with the stops, computed and exact."""
        twists = (-np.diff(angle)[:, 0] for angle in (self.angle, self.exact.angle))
        beyond = [np.abs(twist) > play for twist in twists]
        computed, exact = (int(np.count_nonzero(~b[:-1] & b[1:])) for b in beyond)
        return computed, exact


def check(result: xarray.DataTree, parameters: Parameters) -> list[Check]:
    compared = Comparison.of(result, parameters)
    computed, exact = compared.contacts(parameters.play)
    peak, exact_peak = np.abs(compared.torque).max(), np.abs(compared.exact.torque).max()
    return [
        Check("twist of the shaft, largest error over its size", compared.twist_error, 0.0, 2e-3, "1", "at most"),
        Check("torque of the shaft, rms error over its rms", compared.torque_error, 0.0, 8e-3, "1", "at most"),
        Check("largest torque", float(peak), float(exact_peak), 1e-3, "N m"),
        Check("contacts with the stops", float(computed), float(exact), 0.0, "1", "absolute"),
        Check("energy balance, worst step", worst_balance(result), 0.0, 1e-12, "1", "absolute"),
    ]


def scalars(result: xarray.DataTree, parameters: Parameters) -> dict[str, aq.Scalar]:
    moment = result["spring/shaft"].dataset["moment"].values[:, 0]
    text = "largest torque of the shaft"
    return {"peak_torque": aq.Scalar(float(np.abs(moment).max()), "N m", text)}


def figures(result: xarray.DataTree, parameters: Parameters) -> dict[str, Any]:
    from matplotlib.figure import Figure

    from arlequin import plots

    compared, t = Comparison.of(result, parameters), result["time"].values
    figure = Figure(figsize=(7.0, 5.0), layout="constrained")
    upper, lower = figure.subplots(2, 1, sharex=True)
    upper.axhspan(-parameters.play, parameters.play, color="0.92", label="play")
    upper.plot(t, -np.diff(compared.exact.angle)[:, 0], color="0.6", linewidth=3.0, label="event-exact")
    upper.plot(t, -np.diff(compared.angle)[:, 0], color="C0", linewidth=1.0, label="computed")
    upper.set_ylabel("twist (rad)")
    upper.legend(loc="upper right")
    lower.plot(t, compared.exact.torque, color="0.6", linewidth=3.0)
    lower.plot(t, compared.torque, color="C0", linewidth=1.0)
    lower.set_ylabel("torque of the shaft (N m)")
    lower.set_xlabel("time (s)")
    return {"twist": figure, "energies": plots.energies(result)}
