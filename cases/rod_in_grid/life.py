"""One sample: the linear estimate of the vibration, the run of the new rod, and its wear over the service life."""

from itertools import count
from typing import Any

import numpy as np
import xarray

import arlequin as aq
from arlequin.cases.fuel_rod.uncertain_supports import point_work_rates
from arlequin.cases.rod_in_grid.parameters import INSTANTS, PLACES, SUPPORTS, Parameters
from arlequin.models.types import Array

INTERFACES = ("grid1_springs", "grid1_dimples", "grid2_springs", "grid2_dimples")
LOOSE = "grid2_springs"  # its first point is at +x


def study(
    parameters: Parameters,
    gap: float,
    preload: float,
    misalignment: float,
    friction: float,
    force: float,
    turbulence: int,
    worn: Array | None = None,
) -> aq.Study:
    """A run of the rod; worn: depths (supports,), m."""
    p = parameters
    depths = np.zeros(len(SUPPORTS)) if worn is None else worn
    split = [(grid[:2], grid[2:]) for grid in np.reshape(depths, (2, len(PLACES))).tolist()]
    grids = p.grids(preload, gap, misalignment, worn=split)
    system = p.system(grids, friction, p.turbulence(force, p.duration, turbulence))
    return aq.Study(system, aq.Theta(0.5), p.duration, p.step, fields_every=10**9)


def sample(
    parameters: Parameters,
    gap: float,
    preload: float,
    misalignment: float,
    friction: float,
    wear: float,
    force: float,
    turbulence: int,
) -> dict[str, Any]:
    """Measures by "group.name": see `measures`."""
    p = parameters
    inputs: dict[str, Any]
    inputs = {"gap": gap, "preload": preload, "misalignment": misalignment, "friction": friction, "force": force}
    first = study(p, **inputs, turbulence=turbulence).run(progress=False)
    life = wear_life(p, wear, first, inputs, turbulence)
    numbers: dict[str, Any] = {f"inputs.{name}": value for name, value in {**inputs, "wear": wear}.items()}
    numbers |= _linear(p, inputs)
    numbers |= _vibration(p, first)
    rates, reached = life["work_rate"].values, float(life["time_to_limit"].min())
    numbers |= {
        "supports.work_rate": xarray.DataArray(rates[:, 0], dims="support"),
        "supports.mean_work_rate": xarray.DataArray(rates.mean(axis=1), dims="support"),
        "supports.last_work_rate": xarray.DataArray(rates[:, -1], dims="support"),
        "supports.depth": xarray.DataArray(life["depth"].values[:, -1], dims="support"),
        "life.depth": xarray.DataArray(life["depth"].values.max(axis=0)[:: _every(life)], dims="time"),
        "life.time_to_limit": reached if np.isfinite(reached) else np.nan,
    }
    return numbers


def wear_life(
    parameters: Parameters, wear: float, first: xarray.DataTree, inputs: dict[str, Any], turbulence: int
) -> xarray.Dataset:
    """The life of all supports; first: the run of the new rod. Each window is a run in another turbulence, with the
    depths that the supports have then."""
    p = parameters
    seeds = count(turbulence)

    def rates(worn: dict[str, float]) -> dict[str, float]:
        seed = next(seeds)
        depths = np.array([worn[name] for name in SUPPORTS])
        result = first if seed == turbulence else study(p, **inputs, turbulence=seed, worn=depths).run(progress=False)
        return dict(zip(SUPPORTS, point_work_rates(result, INTERFACES, p.start).tolist(), strict=True))

    return aq.wear_life(
        rates,
        coefficient=wear,
        volume=p.worn_volume,
        duration=p.service,
        limit=p.limit,
        supports=SUPPORTS,
        windows=p.runs,
        jumps=0,
    )


def measured(result: xarray.DataTree, group: str, name: str) -> Array:
    """A measure of all samples."""
    return np.asarray(result[group].dataset[name].values)


def _linear(p: Parameters, inputs: dict[str, float]) -> dict[str, Any]:
    """Spectra and rms of the displacement in the loose grid, which is left open, and which holds the rod."""
    numbers: dict[str, Any] = {}
    for state, gap in (("open", inputs["gap"]), ("closed", 0.0)):
        grids = p.grids(inputs["preload"], gap)
        system = p.system(grids, inputs["friction"], p.turbulence(inputs["force"], p.duration, 0))
        of = aq.frequency.Displacement(system.parts[0].boundary("axis2"), "x")
        frequencies = np.append(p.frequencies, p.highest) if p.frequencies[-1] < p.highest else p.frequencies
        response = aq.random_response(system, aq.frequency.TurbulentFlow(), of, frequencies, progress=False)
        density = response["response"].values[: p.frequencies.size]
        numbers[f"linear.psd_{state}"] = xarray.DataArray(density, dims="frequency")
        numbers[f"linear.rms_{state}"] = float(response["rms_response"])
    return numbers


def _vibration(p: Parameters, result: xarray.DataTree) -> dict[str, Any]:
    """Spectrum and rms of the displacement in the loose grid along x, and share of the time in contact there."""
    group = result[f"interface/{LOOSE}"].dataset
    kept = result.dataset["time"].values > p.start
    motion = group["point_displacement"].values[kept, 0, 0]
    record = xarray.DataArray(motion, {"time": p.step * np.arange(motion.size)}, ["time"], attrs={"units": "m"})
    density = aq.psd(record, segments=3)  # of half the record each
    at = np.interp(p.frequencies, density["frequency"].values, density.values)
    return {
        "vibration.psd": xarray.DataArray(at, dims="frequency"),
        "vibration.rms": float(motion.std()),
        "vibration.contact": float((group["point_force"].values[kept, 0] > 0.0).mean()),
    }


def _every(life: xarray.Dataset) -> int:
    return (life.sizes["time"] - 1) // (INSTANTS - 1)
