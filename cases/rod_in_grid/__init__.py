"""Vibration and wear of a fuel rod in its grids: from the spectrum of the flow to the worn depth after 18 months.

A fuel rod in four grids (`fuel_rod.four_grids`): the outer two are linear springs; of the inner two one has a preload,
the other a gap, and is offset from the axis. Springs and dimples of both are shock elements with friction. The rod is
shaken by turbulence, a plateau spectrum with a correlation length. Gap, preload, misalignment, friction, wear
coefficient and rms of the force are random variables. Each sample of them gives

    linear      spectrum and rms of the displacement in the loose grid by `aq.random_response`, with the grid open, and
                with a grid that holds the rod: what is known without impacts;
    vibration   the same of a run in time with impacts and friction, and the share of the time in contact;
    supports    mean work rates P = ⟨F_n ‖v_t‖⟩ of the twelve springs and dimples, new and at the end, and their depths;
    life        the largest depth over the service life, and the time to the limit, by Archard's law

        V̇ = k P,     V = 4/3 L √(2R) h^(3/2),

for a rod of radius R worn flat over the height L of a dimple by the depth h. The wear moves the supports back: preloads
relax, gaps open, and the work rates change with them (`aq.wear_life`). The life is divided into windows; each has a run
of the worn rod, in a turbulence of its own.

The band of 95 % of the samples, and the depth that 95 % of all lives stay below with 95 % confidence (Wilks), are
those of `aq.wear_life_distribution`; `aq.rank_correlations` of the samples tell which inputs matter. With --report one
command computes all of it and writes the report, as HTML and PDF.

Work rates of windows of half a second scatter by 10 to 25 % with their turbulence, which the windows of a life
average.

Source: J. F. Archard, Journal of Applied Physics 24 (1953) 981–988; F. Axisa, J. Antunes & B. Villard, Journal of
Fluids and Structures 4 (1990); S. S. Wilks, Annals of Mathematical Statistics 12 (1941) 91–96.
"""

import contextlib
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import xarray

import arlequin as aq
from arlequin.cases.case.checks import Check
from arlequin.cases.rod_in_grid import life
from arlequin.cases.rod_in_grid.life import measured
from arlequin.cases.rod_in_grid.parameters import INPUTS, INSTANTS, SUPPORTS, Parameters
from arlequin.lifetime.wear_distribution import Lives
from arlequin.models.parallel.launch import announced
from arlequin.results.recorder import Record
from arlequin.run.multi_run import Axis, Measure, collect_runs
from arlequin.run.run import Progress
from arlequin.sweeps.local import Workers, compute_here, cores, in_order, pickled
from arlequin.sweeps.point import PointOutcome

__all__ = ["Parameters", "build", "check", "figures", "run", "scalars", "tables"]

FEW_SAMPLES = 12  # below which the inputs are not ranked
FEW_STEPS = 200_000  # time steps of all samples below which no processes are started
MEASURES = (
    *(Measure("inputs", name, unit, name) for name, unit in INPUTS.items()),
    Measure("linear", "psd_open", "m^2/Hz", "PSD of the displacement, open grid", over="frequency"),
    Measure("linear", "psd_closed", "m^2/Hz", "PSD of the displacement, grid that holds", over="frequency"),
    Measure("linear", "rms_open", "m", "rms displacement, open grid"),
    Measure("linear", "rms_closed", "m", "rms displacement, grid that holds"),
    Measure("vibration", "psd", "m^2/Hz", "PSD of the displacement with impacts", over="frequency"),
    Measure("vibration", "rms", "m", "rms displacement with impacts"),
    Measure("vibration", "contact", "1", "share of the time in contact"),
    Measure("supports", "work_rate", "W", "mean work rate of the new support", over="support"),
    Measure("supports", "mean_work_rate", "W", "mean work rate of the windows", over="support"),
    Measure("supports", "last_work_rate", "W", "mean work rate in the last window", over="support"),
    Measure("supports", "depth", "m", "worn depth at the end", over="support"),
    Measure("life", "depth", "m", "largest worn depth", over="time"),
    Measure("life", "time_to_limit", "s", "time to the limit, nan if it is not reached"),
)


def build(parameters: Parameters) -> aq.Study:
    """Run of the new rod at the middle of all distributions."""
    p = parameters
    return life.study(p, p.middle("gap"), p.middle("preload"), 0.0, p.middle("friction"), p.force, p.seed)


def run(parameters: Parameters, record: Record, progress: Progress | None) -> xarray.DataTree:
    """The measures over `sample`, in parallel processes."""
    p, points = parameters, parameters.points()
    computed: list[Iterator[PointOutcome]] = []
    with contextlib.ExitStack() as stack:

        def measures_of_sample(i: int) -> dict[tuple[str, str], Any]:
            if not computed:  # the first missing one: those after it are missing, too
                computed.append(_outcomes(p, points[i:], stack))
            outcome = next(computed[0])
            values: dict[str, Any] = {name: scalar.value for name, scalar in outcome.scalars.items()}
            values |= {name: series.values for name, series in outcome.series.items()}
            return {(group, name): value for key, value in values.items() for group, name in [key.split(".")]}

        return collect_runs(
            measures_of_sample,
            MEASURES,
            ("sample", list(range(p.samples))),
            of=parameters,
            record=record,
            time=np.linspace(0.0, p.service, INSTANTS),
            axes={
                "frequency": Axis("Hz", "frequency", p.frequencies),
                "support": Axis("", "support", list(SUPPORTS)),
            },
            progress=progress,
        )


def _outcomes(p: Parameters, points: list[dict[str, Any]], stack: contextlib.ExitStack) -> Iterator[PointOutcome]:
    """The samples in their order, from processes where they take long, except on several ranks."""
    function = partial(life.sample, p)
    if len(points) * p.runs * p.duration / p.step < FEW_STEPS or announced() > 1:
        return in_order(compute_here(function, points))
    workers = stack.enter_context(contextlib.closing(Workers(pickled(function), min(cores(), len(points)))))
    return in_order(workers.compute(points))


def lives(result: xarray.DataTree, parameters: Parameters) -> xarray.Dataset:
    """The Dataset of `aq.wear_life_distribution` of the samples."""
    depths, times = measured(result, "life", "depth").T, measured(result, "life", "time_to_limit")
    times = np.where(np.isnan(times), np.inf, times)
    inputs = {name: measured(result, "inputs", name) for name in INPUTS}
    time = result.dataset["time"].values
    return Lives(time, depths, times, parameters.limit, parameters.thickness, inputs).distribution(0.95)


def ranks(result: xarray.DataTree) -> xarray.Dataset | None:
    """`aq.rank_correlations` of the largest depth at the end with the inputs; None for few samples."""
    if result.sizes["sample"] < FEW_SAMPLES:
        return None
    return aq.rank_correlations(
        {name: measured(result, "inputs", name) for name in INPUTS}, measured(result, "life", "depth")[-1]
    )


def check(result: xarray.DataTree, parameters: Parameters) -> list[Check]:
    """The clearance, within which a rod that knocks stays, and the integration of the wear by simple rules."""
    p, rms = parameters, measured(result, "vibration", "rms")
    clearance = measured(result, "inputs", "gap") + np.abs(measured(result, "inputs", "misalignment"))
    volume = p.service * measured(result, "inputs", "wear") * measured(result, "supports", "mean_work_rate")
    simple = float(p.worn_depth(volume).max(axis=0).mean())
    depths, time = measured(result, "life", "depth"), result.dataset["time"].values
    reached = [(n, t) for n, t in enumerate(measured(result, "life", "time_to_limit")) if np.isfinite(t)]
    missed = [abs(float(np.interp(t, time, depths[:, n])) / p.limit - 1.0) for n, t in reached]
    checks = [
        Check("largest rms over the clearance of its grid", float((rms / clearance).max()), 1.0, 0.0, "1", "at most"),
        Check("mean of the largest depths, by mean work rates", float(depths[-1].mean()), simple, 0.05, "m"),
    ]
    if missed:
        checks.append(Check("depth at the time to the limit, error", max(missed), 0.02, 0.0, "1", "at most"))
    return checks


def scalars(result: xarray.DataTree, parameters: Parameters) -> dict[str, aq.Scalar]:
    """Medians of the vibration, and depths and times of the distribution of the lives."""
    distribution = lives(result, parameters)
    end = distribution.isel(time=-1)
    power = float(np.median(measured(result, "supports", "work_rate").sum(axis=0)))
    time = float(distribution["time_to_limit_tolerance"])  # inf where the limit is not reached

    def median(group: str, name: str, text: str) -> aq.Scalar:
        return aq.Scalar(float(np.median(measured(result, group, name))), "m", f"{text}, median")

    return {
        "rms": median("vibration", "rms", "rms displacement in the loose grid"),
        "rms_open": median("linear", "rms_open", "linear estimate, open grid"),
        "rms_closed": median("linear", "rms_closed", "linear estimate, grid that holds"),
        "wear_power": aq.Scalar(power, "W", "mean work rate of all supports, new, median"),
        "median_depth": aq.Scalar(float(end["depth_median"]), "m", "largest depth at the end, median"),
        "depth_tolerance": aq.Scalar(float(end["depth_tolerance"]), "m", "depth of 95 % of lives at most (95 %)"),
        "exceedance": aq.Scalar(float(end["exceedance"]), "1", "share of the lives that exceed the limit"),
        "time_tolerance": aq.Scalar(
            time if np.isfinite(time) else np.nan, "s", "time to the limit of 95 % of lives at least (95 %)"
        ),
    }


def tables(result: xarray.DataTree, parameters: Parameters) -> dict[str, Any]:
    """Of the worn depth over the service life, of the supports, and of the inputs by their importance."""
    import pandas

    supports, found = result["supports"].dataset, ranks(result)
    by_support = pandas.DataFrame(
        {
            "support": list(SUPPORTS),
            "work rate, new (mW)": np.round(1e3 * np.median(supports["work_rate"], axis=1), 3),
            "work rate, at the end (mW)": np.round(1e3 * np.median(supports["last_work_rate"], axis=1), 3),
            "worn depth, median (µm)": np.round(1e6 * np.median(supports["depth"], axis=1), 1),
            "95 % of the samples (µm)": np.round(1e6 * np.quantile(supports["depth"], 0.95, axis=1), 1),
        }
    )
    by_title = {"worn depth, largest of all supports": aq.wear_table(lives(result, parameters)), "supports": by_support}
    if found is None:
        return by_title
    low, high = np.round(found["interval"].values, 2)
    by_input = pandas.DataFrame(
        {
            "input": found["input"].values,
            "partial rank correlation": np.round(found["partial"].values, 2),
            "95 % interval": [f"{a:g} to {b:g}" for a, b in zip(low, high, strict=True)],
        }
    )
    title = f"inputs that matter for the depth at the end (R² = {found.attrs['r_squared']:.2f})"
    return {**by_title, title: by_input}


def figures(result: xarray.DataTree, parameters: Parameters) -> dict[str, Any]:
    from arlequin import plots
    from arlequin.cases.rod_in_grid.plots import spectra, support_depths

    return {
        "spectra": spectra(result),
        "rms": plots.distribution(
            measured(result, "vibration", "rms"), unit="m", label="Rms displacement in the loose grid"
        ),
        "supports": support_depths(result),
        "wear_life": plots.wear_life(lives(result, parameters)),
        **({} if (found := ranks(result)) is None else {"inputs": plots.tornado(found)}),
    }
