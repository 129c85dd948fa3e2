"""Static compression of a bar on asperities up to substrate contact: multi-level law against its closed form.

The far end of an elastic bar is displaced towards the wall; the contact end has asperities of height a. The pressure
follows from a scalar equation, p = κ⟨a − g⟩^m + λ with the bar in series (`arlequin.cases.reference.press`).
"""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
import xarray

import arlequin as aq
from arlequin.cases.case.checks import Check
from arlequin.cases.case.parameters import Quantity
from arlequin.cases.reference.press import PressedBar
from arlequin.cases.shared.figures import press_figures
from arlequin.cases.shared.impact import mean_pressures, worst_balance
from arlequin.cases.shared.vocabulary import AsperityExponent, AsperityHeight, AsperityStiffness, Young, check_gap
from arlequin.models.checks import non_negative, positive, positive_integer


@dataclass(frozen=True)
class Parameters:
    """Steel bar of 0.1 m, asperities of 0.5 mm with κ = 5e15 Pa/m², m = 2."""

    length: Annotated[float, Quantity("m", "length of the bar", positive)] = 0.1
    young: Young = 2.0e11
    gap: Annotated[float, Quantity("m", "initial gap of the substrates", non_negative)] = 5e-4
    displacement: Annotated[float, Quantity("m", "imposed displacement of the far end", positive)] = 1.5e-3
    law: Annotated[Literal["asperities", "multilevel"], Quantity("", "interface law")] = "multilevel"
    asperity_stiffness: AsperityStiffness = 5e15
    asperity_exponent: AsperityExponent = 2.0
    asperity_height: AsperityHeight = 5e-4
    elements: Annotated[int, Quantity("", "elements", positive_integer)] = 20
    steps: Annotated[int, Quantity("", "load steps", positive_integer)] = 100

    def __post_init__(self) -> None:
        check_gap(self)


def build(parameters: Parameters) -> aq.Study:
    p = parameters
    material = aq.LinearElastic(young=p.young, density=1.0)  # statics: the density is irrelevant
    bar = aq.Bar(
        "bar", aq.mesh.interval(0.0, p.length, cells=p.elements), material,
        imposed={"left": {"x": lambda t: p.displacement * t}},
    )  # fmt: skip
    wall = aq.RigidPlane(point=p.length + p.gap, normal=-1.0)
    laws: tuple[Any, ...] = (aq.Asperities(p.asperity_stiffness, p.asperity_exponent, p.asperity_height),)
    if p.law == "multilevel":
        laws += (aq.Unilateral(level="gap"),)
    contact = aq.Interface("contact", bar.boundary("right"), wall, laws)
    # time runs from 0 to 1 and scales the displacement
    return aq.Study(aq.System([bar], interfaces=[contact]), aq.Static(), duration=1.0, step=1.0 / p.steps)


def reference(parameters: Parameters) -> PressedBar:
    p = parameters
    return PressedBar(
        p.length,
        p.young,
        p.asperity_stiffness,
        p.asperity_exponent,
        p.asperity_height,
        p.gap,
        p.law == "multilevel",
    )


def check(result: xarray.DataTree, parameters: Parameters) -> list[Check]:
    exact = reference(parameters)
    time, pressure = mean_pressures(result)
    displacement = parameters.displacement * time[1:]
    expected = exact.pressure(displacement)
    gap = result["interface/contact"].dataset["gap_min"].values[1:]
    energy = result.dataset["energy"].isel(time=-1)
    worst_pressure = float(np.abs(pressure - expected).max() / expected.max())
    worst_gap = float(np.abs(gap - exact.gap_at(displacement)).max() / parameters.gap)
    strain, asperity = (float(energy.sel(kind=kind)) for kind in ("strain", "asperity"))
    return [
        Check("pressure, largest error over the largest pressure", worst_pressure, 0.0, 1e-10, "1", "at most"),
        Check("gap, largest error over the initial gap", worst_gap, 0.0, 1e-10, "1", "at most"),
        Check("strain energy at the end", strain, float(exact.bar_energy(displacement[-1])), 1e-10, "J"),
        Check("asperity energy at the end", asperity, float(exact.asperity_energy(displacement[-1])), 1e-10, "J"),
        Check("energy balance, worst step", worst_balance(result), 0.0, 1e-12, "1", "absolute"),
    ]


def scalars(result: xarray.DataTree, parameters: Parameters) -> dict[str, aq.Scalar]:
    gap = result["interface/contact"].dataset["gap_min"].values[-1]
    return {
        "final_pressure": aq.Scalar(mean_pressures(result)[1][-1], "Pa", "contact pressure at the end"),
        "final_gap": aq.Scalar(gap, "m", "gap at the end"),
    }


def figures(result: xarray.DataTree, parameters: Parameters) -> dict[str, Any]:
    return press_figures(result, reference(parameters), parameters.displacement)
