"""Fretting wear of a rod under turbulence with uncertain gap, preload, misalignment and friction.

A fuel rod in four grids: the outer two are linear springs; one of the inner two has a preload, the other a gap, and is
offset from the axis. Springs and dimples of both are shock elements with friction (as in `fuel_rod`). Gap,
preload, misalignment and friction are random variables, and each sample has its own turbulence. The quantities of
interest are the mean work rate of all supports, and the largest wear depth of a support after a year, by Archard's law

    V = k P T,     V = 4/3 L √(2R) h^(3/2),

of a rod of radius R worn flat over the height L of a dimple by the small depth h.

The mean work rate is estimated by multilevel Monte Carlo (`aq.estimate`), with the same inputs and turbulence on both
levels of a correction; the reference is Monte Carlo on the finest level with other samples. Sobol' indices are
computed on the coarsest level. Level n has the time step Δt/rⁿ, and by the parameter `hierarchy`

    steps     the same model on all levels;
    models    level 0: that model; level 1: an asperity layer on each support, the multi-level law of `fuel_rod`;
              level n ≥ 2: 2ⁿ⁻¹ times as many modes and cells.

Costs are counted in time steps, independent of the machine. A step with 80 modes takes 1.3 times as long as one with
40, as contact dominates. Corrections of `steps` vanish with the step. Those of `models` keep a standard deviation of
about an eighth of that of the work rate, as additional modes change the sequence of impacts at the loose grid: three
levels save a factor of 4, and more levels nothing.

Results: `samples` (inputs, work rate and depth of each sample on the finest level), `levels` (the estimate, and mean,
variance and number of samples of each level), `indices`.

Source: J. F. Archard, Journal of Applied Physics 24 (1953) 981–988; M. B. Giles, Acta Numerica 24 (2015) 259–328.
"""

from dataclasses import dataclass, replace
from functools import partial
from math import sqrt
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Literal

import numpy as np
import xarray

import arlequin as aq
from arlequin.cases.case.checks import Check
from arlequin.cases.case.parameters import Quantity
from arlequin.cases.fuel_rod.uncertain_supports import UncertainSupports, point_work_rates
from arlequin.models.checks import integer, non_negative, non_negative_integer, positive, positive_integer, within
from arlequin.results.recorder import Record
from arlequin.run.multi_run import Measure, collect_runs
from arlequin.run.run import Progress

YEAR = 365.25 * 86400.0  # s
INPUTS = {"gap": "m", "preload": "N", "misalignment": "m", "friction": "1", "turbulence": "1"}
FEW_STEPS = 200_000  # time steps of all samples below which no processes are started
PILOT = 10  # initial samples of each level


@dataclass(frozen=True)
class Parameters(UncertainSupports):
    """Default: 1 N/m of turbulence; gap 10 to 50 µm, preload 5 to 20 N, friction 0.2 to 0.6; four levels of steps."""

    wear: Annotated[float, Quantity("m^3/J", "Archard's coefficient", positive)] = 1e-15
    limit: Annotated[float, Quantity("m", "depth whose excess is asked for", positive)] = 1.3e-4
    duration: Annotated[float, Quantity("s", "duration of a run", positive)] = 0.5
    start: Annotated[float, Quantity("s", "start of the means", non_negative)] = 0.1
    asperity_stiffness: Annotated[float, Quantity("N/m^m", "κ of F = κ⟨a − g⟩^m, hierarchy=models", positive)] = 2e12
    asperity_exponent: Annotated[float, Quantity("", "m", within, 1.0, 20.0)] = 2.0
    asperity_height: Annotated[float, Quantity("m", "a", positive)] = 5e-6
    hierarchy: Annotated[
        Literal["steps", "models"], Quantity("", "levels differ in time steps, or in steps, supports, modes and cells")
    ] = "steps"
    step: Annotated[float, Quantity("s", "time step of the coarsest level", positive)] = 3.2e-4
    ratio: Annotated[int, Quantity("", "ratio of the time steps of two levels", integer, 2, 100)] = 4
    levels: Annotated[int, Quantity("", "number of levels", integer, 2, 10)] = 4
    accuracy: Annotated[float, Quantity("", "half-width of the interval over the mean", within, 1e-4, 10.0)] = 0.03
    samples: Annotated[int, Quantity("", "samples on the finest level", integer, 2, 100_000)] = 60
    indices: Annotated[int, Quantity("", "samples of Sobol' indices, a power of 2", positive_integer)] = 64
    seed: Annotated[int, Quantity("", "random seed of all samples", non_negative_integer)] = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.start < self.duration:
            raise aq.UserError.parameter("start", self.start, f"must be before the end, {self.duration:g} s")
        if self.indices & (self.indices - 1):
            raise aq.UserError.parameter("indices", self.indices, "must be a power of 2")

    @property
    def steps(self) -> list[float]:
        """Time steps of the levels, s, coarse first."""
        return [self.step / self.ratio**n for n in range(self.levels)]

    def on_level(self, level: int) -> "Parameters":
        """Modes, cells and time step of a level."""
        finer = 2 ** max(level - 1, 0) if self.hierarchy == "models" else 1
        return replace(self, modes=finer * self.modes, cells=finer * self.cells, step=self.step / self.ratio**level)

    @property
    def inputs(self) -> dict[str, Any]:
        """Distributions of the inputs."""
        return {**self.supports, "turbulence": range(10**6)}


def build(parameters: Parameters) -> aq.Study:
    """Study of the rod at the midpoints of all distributions, on the coarsest level."""
    p = parameters
    return rod_study(p, p.middle("gap"), p.middle("preload"), 0.0, p.middle("friction"), p.seed, 0)


def rod_study(
    parameters: Parameters,
    gap: float,
    preload: float,
    misalignment: float,
    friction: float,
    turbulence: int,
    level: int,
) -> aq.Study:
    """Study of the rod for given inputs on a level; turbulence: its seed."""
    p = parameters.on_level(level)
    layer = (p.asperity_stiffness, p.asperity_exponent, p.asperity_height)
    asperities = layer if p.hierarchy == "models" and level else None
    grids = p.grids(preload, gap, misalignment, asperities)
    system = p.system(grids, friction, p.turbulence(p.force, p.duration, turbulence))
    return aq.Study(system, aq.Theta(0.5), p.duration, p.step, fields_every=10**9)


def sample(
    parameters: Parameters,
    gap: float,
    preload: float,
    misalignment: float,
    friction: float,
    turbulence: int,
    level: int = 0,
) -> dict[str, aq.Scalar]:
    """Mean work rate of all supports, W, and largest wear depth after a year, m, on a level."""
    p = parameters
    result = rod_study(p, gap, preload, misalignment, friction, turbulence, level).run(progress=False)
    names, end = list(result["interface"].children), float(result.dataset["time"][-1])
    total = sum(aq.results.mean_power(result, name, p.start, end) for name in names)
    depth = worn_flat(p, float(point_work_rates(result, names, p.start).max()))
    return {
        "work_rate": aq.Scalar(total, "W", "mean work rate"),
        "depth": aq.Scalar(depth, "m", "depth after a year"),
    }


def worn_flat(parameters: Parameters, power: float) -> float:
    """Depth, m, after a year at a work rate, W, of a rod worn flat: V = k P T."""
    return float(parameters.worn_depth(parameters.wear * power * YEAR))


def _measures(levels: int) -> tuple[Measure, ...]:
    inputs = [Measure("samples", name, unit, name) for name, unit in INPUTS.items()]
    measures = [
        Measure("samples", "work_rate", "W", "mean work rate on the finest level"),
        Measure("samples", "depth", "m", "depth after a year on the finest level"),
        Measure("levels", "work_rate", "W", "mean of the work rate by all levels"),
        Measure("levels", "half_width", "W", "half-width of its interval"),
        Measure("levels", "steps", "1", "time steps of all samples"),
        Measure("levels", "plain_steps", "1", "time steps of Monte Carlo on the finest level for the same interval"),
        Measure("levels", "mean_rate", "1", "α, powers of 2 per level"),
        Measure("levels", "variance_rate", "1", "β, powers of 2 per level"),
    ]
    for n in range(levels):
        measures += [
            Measure("levels", f"mean_{n}", "W", f"mean of the correction of level {n}"),
            Measure("levels", f"variance_{n}", "W^2", f"variance of the correction of level {n}"),
            Measure("levels", f"level_mean_{n}", "W", f"mean of level {n}"),
            Measure("levels", f"level_variance_{n}", "W^2", f"variance of level {n}"),
            Measure("levels", f"samples_{n}", "1", f"samples of level {n}"),
        ]
    for name in INPUTS:
        measures += [
            Measure("indices", f"first_{name}", "1", f"first-order index of {name}"),
            Measure("indices", f"total_{name}", "1", f"total index of {name}"),
            Measure("indices", f"low_{name}", "1", f"lower end of the total index of {name}"),
            Measure("indices", f"high_{name}", "1", f"upper end of the total index of {name}"),
        ]
    return (*inputs, *measures)


def run(parameters: Parameters, record: Record, progress: Progress | None) -> xarray.DataTree:
    """Samples of the finest level over `sample`; estimate and indices are repeated in all of them."""
    p = parameters
    estimates: dict[tuple[str, str], Any] = {}

    def measures_of_sample(i: int) -> dict[tuple[str, str], float]:
        if not estimates:
            estimates.update(_estimates(p))
        return {key: float(value[i] if np.ndim(value) else value) for key, value in estimates.items()}

    samples = "sample", list(range(p.samples))
    return collect_runs(
        measures_of_sample, _measures(p.levels), samples, of=parameters, record=record, progress=progress
    )


def _estimates(p: Parameters) -> dict[tuple[str, str], Any]:
    """All measures: arrays (sample,) and numbers."""
    study, levels = partial(sample, parameters=p), [{"level": n} for n in range(p.levels)]
    counts = [round(p.duration / step) for step in p.steps]
    pilot = min(PILOT, p.samples)
    use_processes = p.samples * counts[-1] > FEW_STEPS
    options: dict[str, Any] = {"workers": None if use_processes else 0, "progress": False}
    estimates: dict[tuple[str, str], Any] = {}
    with TemporaryDirectory() as folder:  # one run gives both quantities of a sample
        for name in ("work_rate", "depth"):
            plain = aq.estimate(
                study, name, p.inputs, levels=levels[-1:], samples=p.samples, seed=p.seed + 1,
                store=f"{folder}/samples", **options,
            )  # fmt: skip
            estimates["samples", name] = plain["fine"].values[0]
    estimates |= {("samples", name): plain[f"input_{name}"].values[0] for name in INPUTS}
    mean = aq.estimate(
        study,
        "work_rate",
        p.inputs,
        levels=levels,
        relative=p.accuracy,
        costs=counts,
        pilot=pilot,
        seed=p.seed,
        **options,
    )
    steps = float((mean["samples"].values * mean["cost"].values).sum())
    level_values: dict[str, Any] = {"work_rate": mean["value"], "half_width": mean["half_width"], "steps": steps}
    level_values |= {
        "plain_steps": mean["plain_cost"],
        "mean_rate": mean["mean_rate"],
        "variance_rate": mean["variance_rate"],
    }
    for n in range(p.levels):
        names = ("mean", "variance", "level_mean", "level_variance", "samples")
        level_values |= {f"{name}_{n}": float(mean[name][n]) for name in names}
    estimates |= {("levels", name): float(value) for name, value in level_values.items()}
    shares = aq.sobol_indices(study, "work_rate", p.inputs, samples=p.indices, seed=p.seed + 2, **options)
    for n, name in enumerate(INPUTS):
        ends = shares["total_order_interval"].values[:, n]
        values = {"first": shares["first_order"][n], "total": shares["total_order"][n], "low": ends[0], "high": ends[1]}
        estimates |= {("indices", f"{key}_{name}"): float(value) for key, value in values.items()}
    return estimates


def _plain_estimate(result: xarray.DataTree) -> tuple[float, float]:
    """Mean of the work rate on the finest level, W, and half-width of its interval of 95 %."""
    from arlequin.uncertainty.intervals import student

    values = result["samples"].dataset["work_rate"].values
    return float(values.mean()), student(0.95, values.size - 1.0) * float(values.std(ddof=1) / sqrt(values.size))


def _constant(result: xarray.DataTree, group: str, name: str) -> float:
    return float(result[group].dataset[name][0])


def _saving(result: xarray.DataTree) -> float:
    """Time steps of Monte Carlo on the finest level over those of the levels, for the same interval."""
    return _constant(result, "levels", "plain_steps") / _constant(result, "levels", "steps")


def check(result: xarray.DataTree, parameters: Parameters) -> list[Check]:
    """Checks of the multilevel estimate against plain Monte Carlo on the finest level, and of its saving."""
    mean, reference_half_width = _plain_estimate(result)
    value, half_width = (_constant(result, "levels", name) for name in ("work_rate", "half_width"))
    limit = sqrt(reference_half_width**2 + half_width**2)
    finest_correction = abs(_constant(result, "levels", f"mean_{parameters.levels - 1}"))
    checks = [
        Check("mean work rate by levels, against the finest alone", value, mean, limit, "W", "absolute"),
        Check("half-width over the mean", half_width / value, parameters.accuracy, 0.0, "1", "at most"),
        Check(
            "correction of the finest level over the mean",
            finest_correction / value,
            parameters.accuracy,
            0.0,
            "1",
            "at most",
        ),
    ]
    least_levels, least = {"steps": (4, 10.0), "models": (3, 3.0)}[parameters.hierarchy]
    if parameters.levels >= least_levels:
        name = "cost of Monte Carlo over that of the levels"
        checks.append(Check(name, _saving(result), least, 0.0, "1", "at least"))
    return checks


def scalars(result: xarray.DataTree, parameters: Parameters) -> dict[str, aq.Scalar]:
    """Scalars of the estimate, its saving, the wear depth and its exceedance, and the largest index."""
    depth = result["samples"].dataset["depth"].values
    value, width = (_constant(result, "levels", name) for name in ("work_rate", "half_width"))
    return {
        "wear_power": aq.Scalar(value, "W", "mean work rate of all supports"),
        "wear_power_half_width": aq.Scalar(width, "W", "half-width of the interval of the mean work rate"),
        "saving": aq.Scalar(_saving(result), "1", "cost of plain Monte Carlo over that of the levels"),
        "mean_depth": aq.Scalar(float(depth.mean()), "m", "mean depth after a year"),
        "excess": aq.Scalar(float((depth > parameters.limit).mean()), "1", "share of samples beyond the depth limit"),
        "largest_index": aq.Scalar(
            max(_constant(result, "indices", f"total_{name}") for name in INPUTS), "1", "largest total Sobol' index"
        ),
    }


def figures(result: xarray.DataTree, parameters: Parameters) -> dict[str, Any]:
    from arlequin import plots

    p = parameters
    names = ("mean", "variance", "level_mean", "level_variance", "samples")
    level_variables = {
        name: ("level", [_constant(result, "levels", f"{name}_{n}") for n in range(p.levels)], {"units": "W"})
        for name in names
    }
    rates = {name: _constant(result, "levels", name) for name in ("mean_rate", "variance_rate")}
    levels = xarray.Dataset({**level_variables, **rates}, {"level": np.arange(p.levels)})
    shares = {name: _constant(result, "indices", f"total_{name}") for name in INPUTS}
    ends = {name: tuple(_constant(result, "indices", f"{end}_{name}") for end in ("low", "high")) for name in INPUTS}
    samples = result["samples"].dataset
    depth = plots.distribution(samples["depth"].values, unit="m", label="Depth after a year", limit=p.limit)
    power = plots.distribution(samples["work_rate"].values, unit="W", label="Mean work rate")
    return {
        "levels": plots.level_convergence(levels),
        "shares": plots.tornado(shares, ends, label="Total Sobol' index of the mean work rate"),
        "depth": depth,
        "work_rate": power,
    }
