"""Nonlinear mode of two masses with regularised stops: frequency against energy, and its stability (SDND123).

Two masses in a row, wall – k – m₁ – k – m₂, the first one between stops of 30 N/m at ±1 m, regularised over 0.005
(`RegularisedStops`). The second mode starts at √((3 + √5)/2)/2π = 0.2575181 Hz and stiffens as the first mass
approaches its stops: Code_Aster has 0.2579053 Hz at 1.19768 J. `aq.periodic` continues the mode over its energy, which
the θ-scheme conserves; the error of its frequency is of order 2 in the step. The reference integrates half a period
from rest to rest with order 8, with an independent solution of the cubic of the stops.

Source of the case: Code_Aster V5.01.123 (SDND123) and R5.07.01.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any

import numpy as np
import xarray

import arlequin as aq
from arlequin.cases.case.checks import Check
from arlequin.cases.case.parameters import Quantity
from arlequin.cases.nonlinear_mode.stops import RegularisedStops
from arlequin.cases.reference.nonlinear_mode import Mode, nonlinear_mode, stop_energy, stop_force
from arlequin.models.checks import integer, positive, positive_integer
from arlequin.results.recorder import Record
from arlequin.run.multi_run import Measure, collect_runs
from arlequin.run.run import Progress

PUBLISHED = 0.2579053  # Hz, at 1.19768 J
MEASURES = (
    Measure("mode", "energy", "J", "energy"),
    Measure("mode", "frequency", "Hz", "frequency"),
    Measure("mode", "largest", "1", "largest multiplier beyond the two 1"),
    Measure("mode", "stable", "1", "1 where the mode is stable"),
    Measure("mode", "first", "m", "displacement of the first mass at rest"),
    Measure("mode", "second", "m", "displacement of the second mass at rest"),
)


@dataclass(frozen=True)
class Parameters:
    """Default: the second mode of Code_Aster's two masses, up to 1.19768 J."""

    mass: Annotated[float, Quantity("kg", "each mass", positive)] = 1.0
    stiffness: Annotated[float, Quantity("N/m", "each spring", positive)] = 1.0
    stop_stiffness: Annotated[float, Quantity("N/m", "stiffness of the stops", positive)] = 30.0
    clearance: Annotated[float, Quantity("m", "clearance of the first mass on each side", positive)] = 1.0
    regularisation: Annotated[float, Quantity("N", "η of the stops", positive)] = 0.005
    energy: Annotated[float, Quantity("J", "energy up to which the mode is followed", positive)] = 1.19768
    lowest: Annotated[float, Quantity("J", "energy at which it starts", positive)] = 1e-3
    mode: Annotated[int, Quantity("", "number of the linear mode", integer, 1, 2)] = 2
    steps: Annotated[int, Quantity("", "time steps of a period", positive_integer)] = 1000
    points: Annotated[int, Quantity("", "motions over the energies, at least", positive_integer)] = 15


def system(parameters: Parameters) -> aq.System:
    """System of the two masses, with the stops as one interface of the first."""
    p = parameters
    masses = aq.PointMasses("masses", [[0.0], [0.0]], p.mass, names={"first": 0, "second": 1})
    first_mass, second_mass = (masses.boundary(name) for name in ("first", "second"))
    springs = [
        aq.Spring("wall", first_mass, stiffness=p.stiffness),
        aq.Spring("between", first_mass, second_mass, stiffness=p.stiffness),
    ]
    law = RegularisedStops(p.stop_stiffness, p.clearance, p.regularisation)
    stop = aq.RigidPlane(point=p.clearance, normal=-1.0)
    return aq.System([masses], interfaces=[aq.Interface("stops", first_mass, stop, law)], springs=springs)


@lru_cache(maxsize=2)
def branch(parameters: Parameters) -> xarray.Dataset:
    """Mode as a branch of periodic motions over energy."""
    p = parameters
    if not p.lowest < p.energy:
        raise aq.UserError.parameter("lowest", p.lowest, f"must be below the energy, {p.energy:g} J")
    return aq.periodic(
        system(p), aq.Theta(0.5), energy=(p.lowest, p.energy), mode=p.mode, steps=p.steps, points=p.points,
        progress=False,
    )  # fmt: skip


def run(parameters: Parameters, record: Record, progress: Progress | None) -> xarray.DataTree:
    """Motions of the branch over `point`."""
    branch_data = branch(parameters)
    moduli = np.abs(branch_data["multiplier_real"].values + 1j * branch_data["multiplier_imag"].values)

    def measures_of_point(i: int) -> dict[tuple[str, str], float]:
        u1, u2 = branch_data["displacement"].values[i, 0]
        motion = [float(branch_data[name][i]) for name in ("energy", "frequency")]
        values = [*motion, _largest_nontrivial(moduli[i]), float(branch_data["stable"][i]), float(u1), float(u2)]
        return {measure.key: value for measure, value in zip(MEASURES, values, strict=True)}

    points = "point", list(range(branch_data.sizes["point"]))
    return collect_runs(measures_of_point, MEASURES, points, of=parameters, record=record, progress=progress)


def _largest_nontrivial(size: np.ndarray) -> float:
    """Largest modulus of the multipliers (4,) without the two nearest to 1."""
    return float(size[np.argsort(np.abs(size - 1.0))[2:]].max())


@lru_cache(maxsize=8)
def reference(parameters: Parameters) -> Mode:
    """Mode of the highest energy by an integrator of order 8."""
    p = parameters
    e, alpha = p.clearance, p.stop_stiffness * p.clearance
    mass, stiffness = p.mass * np.eye(2), p.stiffness * np.array([[2.0, -1.0], [-1.0, 1.0]])
    return nonlinear_mode(
        mass,
        stiffness,
        lambda u: np.array([stop_force(float(u[0]) / e, alpha, p.regularisation), 0.0]),
        lambda u: e * stop_energy(float(u[0]) / e, alpha, p.regularisation),
        p.energy,
        p.mode,
    )


def check(result: xarray.DataTree, parameters: Parameters) -> list[Check]:
    """Checks of frequency, amplitude and stability at the highest energy."""
    p, mode = parameters, result["mode"].dataset
    exact = reference(p)
    limit = max(1e-5, 10.0 / p.steps**2)
    highest_frequency = float(mode["frequency"][-1])
    stable = float(exact.largest < 1.0 + 1e-4)
    checks = [
        Check("energy of the last motion", float(mode["energy"][-1]), p.energy, 1e-6, "J"),
        Check("frequency at the highest energy", highest_frequency, exact.frequency, limit, "Hz"),
        Check("stability there", float(mode["stable"][-1]), stable, 0.0, "1", "absolute"),
        Check("first mass at rest", abs(float(mode["first"][-1])), abs(exact.start[0]), 1e-4 + 10 * limit, "m"),
    ]
    if p == Parameters(steps=p.steps, points=p.points, lowest=p.lowest):
        checks.append(Check("frequency of Code_Aster (SDND123)", highest_frequency, PUBLISHED, limit, "Hz"))
    return checks


def scalars(result: xarray.DataTree, parameters: Parameters) -> dict[str, aq.Scalar]:
    """Scalar: frequency at the highest energy."""
    mode = result["mode"].dataset
    return {"frequency": aq.Scalar(float(mode["frequency"][-1]), "Hz", "frequency at the highest energy")}


def figures(result: xarray.DataTree, parameters: Parameters) -> dict[str, Any]:
    from arlequin import plots

    return {"backbone": plots.backbone(result["mode"].to_dataset())}
