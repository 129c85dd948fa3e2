"""`estimate`: means with known answers, coverage of the intervals, cost of levels, resumption, bad input."""

import functools
import json
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.stats
import xarray

import arlequin as aq
from arlequin import cases
from arlequin.models.errors import ModelWarning
from arlequin.results.time_mean import time_mean
from arlequin.uncertainty.multilevel import allocation, rates

DATA = Path(__file__).parent
INPUTS = {"rate": (0.0, 2.0), "noise": scipy.stats.norm()}
STEPS = (4, 8, 16, 32, 64)
LEVELS = [{"steps": steps} for steps in STEPS]
COSTS = [float(steps) for steps in STEPS]


@pytest.fixture
def studies(monkeypatch):
    monkeypatch.syspath_prepend(str(DATA))
    import uncertain_studies

    return uncertain_studies


def growth(rate, noise, steps):
    return (1.0 + rate / steps) ** steps + 0.3 * noise


def exact(steps: int) -> float:
    """E[(1 + r/n)ⁿ], r uniform in [0, 2]: (n/(n + 1)) ((1 + 2/n)^(n + 1) − 1)/2."""
    return steps / (steps + 1.0) * ((1.0 + 2.0 / steps) ** (steps + 1) - 1.0) / 2.0


LIMIT = (np.exp(2.0) - 1.0) / 2.0


def estimate(**options):
    return aq.estimate(growth, None, INPUTS, **{"workers": 0, "progress": False, **options})


def covered(answer: float, count: int, **options) -> int:
    """Number of intervals, of as many seeds, that hold the answer."""
    hits = 0
    for seed in range(count):
        low, high = estimate(seed=seed, **options)["interval"].values
        hits += low < answer < high
    return hits


@pytest.mark.slow
def test_coverage_of_the_multilevel_interval():
    """95 % of 200 repetitions; the number of hits has a standard deviation of 3.1."""
    hits = covered(exact(64), 200, levels=LEVELS, costs=COSTS, tolerance=0.15)
    assert 186 <= hits <= 194


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "options",
    [
        {"tolerance": 0.3},
        {"samples": 20},
        {"samples": 32, "method": "quasi-monte-carlo", "replicates": 8},
    ],
    ids=["monte-carlo", "fixed", "quasi"],
)
def test_coverage_of_one_level(options):
    """Of 100 repetitions, with a standard deviation of 2.2."""
    assert 90 <= covered(exact(64), 100, levels=LEVELS[-1:], **options) <= 99


@pytest.mark.slow
def test_coverage_of_many_repetitions():
    """Within three standard deviations of 95 % of 2000."""
    assert abs(covered(exact(64), 2000, levels=LEVELS, costs=COSTS, tolerance=0.1) - 1900) < 30


FINER = [{"steps": 2**n} for n in range(4, 11)]
WORK = [2.0**n for n in range(4, 11)]


def test_the_interval_of_the_limit_holds_it():
    """Euler's method is of first order: the rates are 1 and 2, and the interval has the bias of the finest level."""
    found = estimate(levels=FINER, costs=WORK, tolerance=0.08, limit=True)
    low, high = found["interval"].values
    assert low < LIMIT < high and high - low <= 0.16 + 1e-12
    assert float(found["mean_rate"]) == pytest.approx(1.0, abs=0.25)
    assert float(found["variance_rate"]) == pytest.approx(2.0, abs=0.5)
    assert float(found["cost_rate"]) == pytest.approx(1.0, abs=1e-9)
    left = LIMIT - exact(FINER[found.sizes["level"] - 1]["steps"])
    assert left < float(found["bias"]) < 2.5 * left


def test_levels_are_added_until_the_bias_is_small():
    coarse = estimate(levels=FINER, costs=WORK, tolerance=0.8, limit=True)
    fine = estimate(levels=FINER, costs=WORK, tolerance=0.1, limit=True)
    assert coarse.sizes["level"] == 3 and fine.sizes["level"] > 3
    with pytest.raises(aq.UserError, match=r"levels: the finest leaves a bias of .*fitted rates: mean 2\^\(-"):
        estimate(levels=FINER[:3], costs=WORK[:3], tolerance=0.1, limit=True)


def test_levels_cost_a_tenth_of_monte_carlo():
    """At the same interval, costs as the steps; Monte Carlo costs what is foretold."""
    steps = (4, 32, 256)
    levels, costs = [{"steps": n} for n in steps], [float(n) for n in steps]
    found = estimate(levels=levels, costs=costs, tolerance=0.04)
    spent = float((found["samples"] * found["cost"]).sum())
    assert float(found["plain_cost"]) > 10.0 * spent
    alone = estimate(levels=levels[-1:], tolerance=float(found["half_width"]))
    assert float(alone["samples"][0]) * 256.0 == pytest.approx(float(found["plain_cost"]), rel=0.1)
    width = float(np.hypot(found["half_width"], alone["half_width"]))
    assert abs(float(found["value"] - alone["value"])) < width


def test_numbers_of_samples_are_those_of_least_cost():
    """Against a search over all numbers of two levels with the same variance."""
    variances, costs = np.array([3.0, 0.2]), np.array([1.0, 7.0])
    first, second = allocation(variances, costs, 0.01)
    n = np.linspace(300.5, 3000.0, 100_000)
    m = variances[1] / (0.01 - variances[0] / n)
    assert first + 7.0 * second == pytest.approx(float((n + 7.0 * m).min()), rel=1e-6)
    assert np.isnan(rates(np.ones(2), np.ones(2), np.ones(2))).all()


def test_quasi_monte_carlo_converges_faster():
    """Of a smooth function of one input: error about n^(−3/2)."""
    errors = []
    for count in (16, 256):
        found = aq.estimate(
            lambda x: np.exp(x), None, {"x": (0.0, 1.0)}, method="quasi-monte-carlo", samples=16 * count, workers=0
        )
        errors.append(float(found["standard_error"]))
        assert abs(float(found["value"]) - (np.e - 1.0)) < 4.0 * errors[-1]
    assert errors[1] < errors[0] / 16.0**1.2


def test_distribution_of_the_quantity():
    """Of levels and of one level against that of an exponential number; as a proportion on one."""
    inputs = {"x": (0.0, 1.0)}

    def study(x, n):
        return -np.log(1.0 - x) + 0.3 / n * np.sin(9.0 * x)

    for levels in ([{"n": 4}, {"n": 40}], [{"n": 40}]):
        costs = [float(level["n"]) for level in levels]
        found = aq.estimate(study, None, inputs, levels=levels, costs=costs, tolerance=0.03, workers=0)
        exact = -np.expm1(-found["threshold"].values)
        low, high = found["distribution_interval"].values
        assert np.mean((low < exact + 0.01) & (exact - 0.01 < high)) > 0.9
        assert (np.diff(found["distribution"]) >= 0.0).all() and found["threshold"].size > 50


def test_a_run_and_a_path_of_its_result(studies):
    """The mean force on the floor over 0.4 s is the momentum of the fall and the weight since, over 0.4 s."""
    inputs = {"height": (0.2, 0.4)}

    def force(result):
        impulse = result["interface/floor"]["impulse"]
        return aq.Scalar(float(impulse.sum()) / 0.4, "N")

    found = aq.estimate(studies.fall, force, inputs, samples=5, workers=0, progress=False)
    assert found["value"].attrs == {"units": "N", "long_name": "force"}
    # it lies still at the end: the impulse is that of the weight
    assert found["fine"].values == pytest.approx(20.0, rel=0.01)
    gap = aq.estimate(studies.fall, "interface/floor/gap_min", inputs, samples=3, workers=0, progress=False)
    assert gap["value"].attrs["units"] == "m"
    for n in range(3):
        result = studies.fall(float(gap["input_height"][0, n])).run()
        values, steps = result["interface/floor"]["gap_min"].values, np.diff(result["time"].values)
        assert float(gap["fine"][0, n]) == pytest.approx(values[1:] @ steps / 0.4, rel=1e-12)


def test_a_mean_over_the_time_weighs_the_steps():
    array = xarray.DataArray([5.0, 1.0, 3.0], {"time": [0.0, 1.0, 4.0]}, attrs={"units": "W"})
    assert time_mean(xarray.Dataset({"power": array}), "power", "quantity") == aq.Scalar(2.5, "W", "mean of power")


def calls(folder):
    return (Path(folder) / "calls").read_text().splitlines()


def test_the_store_resumes_with_the_same_bits(studies, tmp_path):
    """Samples that are lost are computed again, and the answer is that of before; a smaller tolerance adds some."""
    study = functools.partial(studies.growth_noted, folder=str(tmp_path))

    def run(tolerance=0.2, **more):
        options = {"levels": LEVELS[:3], "tolerance": tolerance, "costs": COSTS[:3], "store": tmp_path / "a.sweep"}
        return aq.estimate(study, "value", INPUTS, workers=0, progress=False, **(options | more))

    first = run()
    count = len(calls(tmp_path))
    total = int(first["samples"].sum() + first["samples"][1:].sum())
    assert count == total
    again = run()
    assert len(calls(tmp_path)) == count
    xarray.testing.assert_identical(first, again)
    files = sorted((tmp_path / "a.sweep" / "points").glob("*.json"))
    for file in files[::3]:
        file.unlink()
    lost = run()
    assert len(calls(tmp_path)) == count + len(files[::3])
    for name in ("value", "interval", "samples", "fine", "coarse", "mean", "variance"):
        assert first[name].values.tobytes() == lost[name].values.tobytes(), name
    finer = run(0.1)
    assert np.array_equal(finer["fine"][0, :20], first["fine"][0, :20])
    sweep = aq.open_sweep(tmp_path / "a.sweep")
    assert set(sweep.coords) == {"rate", "noise", "steps"} and bool(sweep["finished"].all())
    with pytest.raises(aq.UserError, match="holds another sweep: it is of growth_noted"):
        aq.estimate(lambda a: a, None, {"a": (0.0, 1.0)}, samples=2, store=tmp_path / "a.sweep", workers=0)


@pytest.mark.slow
def test_a_killed_run_goes_on(tmp_path):
    """Killed in its 150th sample: what follows computes the others, and answers as a run that was not killed."""
    code = f"""
import os, sys
sys.path.insert(0, {str(DATA)!r})
import arlequin as aq, uncertain_studies as studies
count = 0
def study(rate, noise, steps):
    global count
    count += 1
    if count == int(sys.argv[1]):
        os.kill(os.getpid(), 9)
    return studies.growth(rate, noise, steps)
found = aq.estimate(study, "value", {{"rate": (0.0, 2.0), "noise": (-1.0, 1.0)}}, tolerance=0.15, costs={COSTS[:3]},
                    levels={LEVELS[:3]}, store=sys.argv[2], workers=0)
print(count, float(found["value"]).hex(), float(found["half_width"]).hex())
"""

    def run(at, store):
        command = [sys.executable, "-c", code, str(at), str(tmp_path / store)]
        return subprocess.run(command, capture_output=True, text=True)

    killed = run(150, "a.sweep")
    assert killed.returncode == -9
    stored = len(list((tmp_path / "a.sweep" / "points").glob("*.json")))
    rest, whole = (run(0, store).stdout.split() for store in ("a.sweep", "b.sweep"))
    assert stored == 149 and int(rest[0]) == int(whole[0]) - stored > 0
    assert rest[1:] == whole[1:]


@pytest.mark.slow
def test_processes_give_the_bits_of_one(studies):
    options = {"levels": LEVELS[:2], "costs": COSTS[:2], "tolerance": 0.3, "progress": False}
    here, there = (aq.estimate(studies.growth, "value", INPUTS, workers=n, **options) for n in (0, 2))
    assert here["fine"].values.tobytes() == there["fine"].values.tobytes()
    assert here["value"].attrs == there["value"].attrs == {"units": "m", "long_name": "length"}


@pytest.mark.slow
def test_a_dask_client_gives_the_bits_of_one_process(studies, tmp_path):
    """Every sample of every function, also from a store that the other has half filled; the client stays open."""
    distributed = pytest.importorskip("distributed")
    inputs = {**INPUTS, "steps": range(4, 9)}
    calls = [
        functools.partial(aq.estimate, inputs=INPUTS, levels=LEVELS[:2], costs=COSTS[:2], tolerance=0.3),
        functools.partial(aq.estimate, inputs=inputs, samples=64, method="quasi-monte-carlo", replicates=4),
        functools.partial(aq.probability, inputs=inputs, above=5.0, method="monte-carlo", samples=50),
        functools.partial(aq.sobol_indices, inputs=inputs, samples=16),
    ]
    with distributed.Client(processes=False, n_workers=1, threads_per_worker=2, dashboard_address=None) as client:
        for n, call in enumerate(calls):
            here, there = (
                call(studies.growth, "value", progress=False, **how) for how in ({"workers": 0}, {"scheduler": client})
            )
            same = [name for name in here.data_vars if "cost" not in name]
            xarray.testing.assert_identical(here[same], there[same])
            assert here["value" if n < 3 else "mean"].attrs["units"] == ("1" if n == 2 else "m")
        stored = {"quantity": "value", "progress": False, "store": tmp_path / "a.sweep"}
        coarser = calls[0](studies.growth, tolerance=0.6, workers=0, **stored)
        finer = calls[0](studies.growth, scheduler=client, **stored)
        assert int(coarser["samples"].sum()) < int(finer["samples"].sum())
        assert finer["fine"].values.tobytes() == calls[0](studies.growth, workers=0, **stored)["fine"].values.tobytes()
        with pytest.raises(aq.UserError, match="workers: give workers or scheduler"):
            calls[0](studies.growth, "value", workers=1, scheduler=client)
        assert client.status == "running"


def test_progress_tells_the_interval_so_far():
    told = []
    found = estimate(levels=LEVELS[-1:], tolerance=0.2, progress=lambda *at: told.append(at))
    done, total, value, width = told[-1]
    assert done == total == int(found["samples"][0])
    assert (value, width) == (float(found["value"]), float(found["half_width"]))
    assert all(one[0] <= one[1] for one in told)


def test_common_random_numbers_make_corrections_small():
    """Noise that both levels share drops out of the correction."""
    found = estimate(levels=LEVELS[-2:], costs=COSTS[-2:], tolerance=0.1)
    assert float(found["variance"][1]) < 1e-3 * float(found["level_variance"][1])
    again = estimate(levels=LEVELS[-2:], costs=COSTS[-2:], tolerance=0.1)
    xarray.testing.assert_identical(found.drop_vars(["total_cost"]), again.drop_vars(["total_cost"]))


def test_levels_that_do_not_converge_are_said():
    """A chaotic map: its levels have nothing in common."""

    def chaotic(x, n):
        for _ in range(30 + n):
            x = 3.99 * x * (1.0 - x)
        return x

    levels = [{"n": n} for n in range(4)]
    with pytest.raises(aq.UserError) as caught:
        aq.estimate(chaotic, None, {"x": (0.1, 0.9)}, levels=levels, tolerance=0.01, workers=0, costs=[1, 2, 4, 8])
    line = str(caught.value)
    assert re.match(r"levels: do not converge: the variance of the correction of level 3 is \S+ times that of", line)
    assert re.search(r"fitted rates: mean 2\^\(\S+ l\), variance 2\^\(\S+ l\), cost 2\^\(\+1 l\)", line)
    assert "\n" not in line


def test_levels_that_do_not_pay_are_said():
    def study(x, n):
        return x + 0.2 * np.sin(40.0 * x * n)

    with pytest.warns(ModelWarning, match=r"levels: cost \S+ times as much as plain Monte Carlo"):
        aq.estimate(
            study, None, {"x": (0.0, 1.0)}, levels=[{"n": 1}, {"n": 2}], costs=[1.0, 1.0], tolerance=0.05, workers=0
        )


def test_a_quantity_without_variance_is_said():
    """An event of 1 % that 20 samples do not have, and one that differs between two levels in 1 %: their intervals
    are too small, and a warning says so; corrections that are constant have none."""
    ways = {"workers": 0, "progress": False, "tolerance": 0.05}
    with pytest.warns(ModelWarning, match="quantity: is 0 at all 20 samples: the interval leaves out rarer values"):
        aq.estimate(lambda x: x > 0.99, None, {"x": (0.0, 1.0)}, **ways)
    ways |= {"levels": [{"n": 0}, {"n": 1}], "costs": [1.0, 10.0]}
    with pytest.warns(ModelWarning, match="levels: the correction of level 1 is 0 at all 20 samples"):
        aq.estimate(lambda x, n: x > 0.5 + 0.01 * n, None, {"x": (0.0, 1.0)}, **ways)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        aq.estimate(lambda x, n: x + n, None, {"x": (0.0, 1.0)}, **ways)


BAD = [
    ({"quantity": "height"}, r"quantity = 'height': the study gives value \(at rate=\S+, noise=\S+, steps=4\)"),
    ({"inputs": {"rate": (0.0, 2.0), "noise": 1.0}}, r"inputs\['noise'\] = 1.0: must be a distribution"),
    ({"inputs": {"rate": (2.0, 0.0), "noise": (0.0, 1.0)}}, r"inputs\['rate'\] = \(2.0, 0.0\): must be a pair \(low"),
    ({"inputs": {"rate": (0.0, 2.0)}}, "inputs: missing a required argument: 'noise': growth takes rate, noise, steps"),
    ({"inputs": {}}, "inputs: is empty"),
    ({"inputs": {"rate": range(3, 4), "noise": (0.0, 1.0)}}, "must be a range of at least two whole numbers"),
    ({"inputs": {"rate": range(2**63), "noise": (0.0, 1.0)}}, "must be a range of .* up to 9007199254740992"),
    ({"inputs": {**INPUTS, "rate": scipy.stats.norm(0.0, -1.0)}}, r"inputs\['rate'\]: the parameters of the distribut"),
    ({"tolerance": None}, "tolerance: give tolerance, relative or samples"),
    ({"samples": 10}, "samples: and a tolerance exclude each other"),
    ({"tolerance": -1.0}, "tolerance = -1.0: must be positive"),
    ({"levels": [{"steps": 4}, {"cells": 8}]}, "levels: level 1 has cells, the first steps"),
    ({"levels": [{"steps": 4}, {"steps": 4}]}, "levels: level 1 is the same as an earlier one"),
    ({"levels": [{"rate": 4.0}]}, "levels: rate is an input too"),
    ({"levels": {"steps": [4, 8]}}, r"levels = .*: must be a list of parameters of each level"),
    ({"levels": LEVELS[:2], "limit": True}, "limit: needs at least three levels"),
    ({"levels": LEVELS[:2], "method": "monte-carlo"}, "method = 'monte-carlo': takes one level, 2 are given"),
    ({"levels": LEVELS[:2], "costs": [1.0]}, r"costs = \[1.0\]: must be finite numbers of shape \(2\)"),
    ({"levels": LEVELS[:2], "costs": 3.0}, r"costs = 3.0: must be finite numbers of shape \(2\)"),
    ({"levels": LEVELS[:2], "costs": [1.0, 0.0]}, r"costs = \[1.0, 0.0\]: must be positive"),
    ({"method": "multilevel"}, "levels: must be given, coarse first"),
    ({"method": "guessing"}, "method = 'guessing': must be one of monte-carlo, quasi-monte-carlo, multilevel"),
    ({"confidence": 1.0}, r"confidence = 1.0: must lie in \]0, 1\["),
    ({"tolerance": 1e-9}, r"tolerance: needs about \S+ samples; at most 500000 are taken \(the half-width is"),
    ({"study": 3}, "study = 3: must be a function of the inputs"),
    ({"quantity": 3}, "quantity = 3: must be the name of a number or a path of the result"),
    ({"progress": "yes"}, "progress = 'yes': must be True, False, None or a function of the samples done"),
    ({"progress": lambda done: None}, r"progress = .*must be a function f\(done, total, value, half_width\) of"),
    ({"workers": -1}, "workers = -1: must be a whole number of at least 0"),
]


@pytest.mark.sampled(7)
@pytest.mark.parametrize(("given", "says"), BAD, ids=[str(n) for n in range(len(BAD))])
def test_bad_input_is_one_line(studies, given, says):
    options = {"study": studies.growth, "quantity": "value", "inputs": INPUTS, "tolerance": 0.1} | given
    options.setdefault("levels", LEVELS[:1])
    study, quantity, inputs = (options.pop(name) for name in ("study", "quantity", "inputs"))
    with warnings.catch_warnings(), pytest.raises(aq.UserError, match=says) as caught:
        warnings.simplefilter("error")
        aq.estimate(study, quantity, inputs, **{"workers": 0, "progress": False, **options})
    assert "\n" not in str(caught.value)


def test_distributions_of_any_kind():
    """Means within four standard errors; whole numbers of discrete distributions only, old and new ones of scipy."""
    kinds = [
        (scipy.stats.poisson(3.0), 3.0, int),
        (range(4), 1.5, int),
        (np.array([1.0, 2.0]), 1.5, float),
        (scipy.stats.truncnorm(-1.0, 1.0, loc=2.0), 2.0, float),
        (scipy.stats.rv_histogram(([1, 1], [0.0, 1.0, 2.0])), 1.0, float),
    ]
    if hasattr(scipy.stats, "Normal"):
        kinds.append((scipy.stats.Normal(mu=1.0, sigma=0.1), 1.0, float))
    if hasattr(scipy.stats, "Binomial"):
        kinds.append((scipy.stats.Binomial(n=5, p=0.3), 1.5, int))
    for given, mean, kind in kinds:
        got = set()
        found = aq.estimate(lambda x, got=got: got.add(type(x)) or float(x), None, {"x": given}, samples=100, workers=0)
        assert got == {kind} and float(found["standard_error"]) > 0.0
        assert abs(float(found["value"]) - mean) < 4.0 * float(found["standard_error"])


def test_levels_that_are_the_same_have_no_bias():
    """And corrections that are zero but for one."""
    for first in (0.0, 0.1):
        levels = [{"n": n} for n in range(6)]
        found = aq.estimate(
            lambda x, n, first=first: x + first * (n == 0), None, {"x": (0.0, 1.0)}, levels=levels, tolerance=0.1,
            limit=True, costs=[1.0] * 6, workers=0,
        )  # fmt: skip
        assert float(found["bias"]) == 0.0 or first
        low, high = found["interval"].values
        assert low < 0.5 < high and found.sizes["level"] == (4 if first else 3)


def test_quantities_that_no_run_gives(studies):
    inputs = {"height": (0.2, 0.4)}

    def run(quantity, study=studies.fall):
        return aq.estimate(study, quantity, inputs, samples=2, workers=0, progress=False)

    with pytest.raises(aq.UserError, match=r"the result has no such variable; there are .*/gap_min"):
        run("interface/floor/wear")
    with pytest.raises(aq.UserError, match="has the dimensions time, component: give a function of the result"):
        run("interface/floor/force")
    with pytest.raises(aq.UserError, match="quantity: must be given: the study gives a result"):
        run(None)
    with pytest.raises(aq.UserError, match="must be None: the study gives a number"):
        run("height", lambda height: height)
    with pytest.raises(aq.UserError, match=r"value = nan .*: must be a finite number"):
        run(None, lambda height: np.nan)
    with pytest.raises(aq.UserError, match=r"ZeroDivisionError: .* \(at height="):
        run(None, lambda height: 1 / 0)


def test_a_case_checks_the_ranges_of_its_parameters():
    study = cases.study("sdnd106", steps=100)
    with pytest.raises(aq.UserError, match=r"inputs\['static'\]: the distribution leaves the range: static = -"):
        aq.estimate(study, "first_slip", {"static": scipy.stats.norm(0.3, 0.2)}, samples=2, workers=0)
    with pytest.raises(aq.UserError, match=r"inputs\['frcition'\]: .*no such parameter"):
        aq.estimate(study, "first_slip", {"frcition": (0.1, 0.2)}, samples=2, workers=0)
    with pytest.raises(aq.UserError, match="no such parameter"):
        cases.study("sdnd106", spets=3)


@pytest.mark.slow
def test_models_as_levels():
    """Supports of a rod as shock elements and with asperities: each value is that of the case run by itself."""
    size = {"length": 1.1, "grids": 3, "duration": 1e-3, "modes": 10, "cells": 8, "amplitude": 30.0, "step": 5e-5}
    levels = [{"law": "shock"}, {"law": "multilevel"}]
    inputs = {"friction": (0.2, 0.5), "seed": range(10**6)}
    study = cases.study("fuel_rod", **size)
    options = {"levels": levels, "costs": [1.0, 100.0], "pilot": 2, "relative": 5.0}
    found = aq.estimate(study, "peak_force", inputs, workers=0, progress=False, **options)
    assert found["law"].values.tolist() == ["shock", "multilevel"]
    own = {"friction": float(found["input_friction"][1, 0]), "seed": int(found["input_seed"][1, 0])}
    for variable, level in (("coarse", levels[0]), ("fine", levels[1])):
        result = cases.run("fuel_rod", **size, **own, **level)
        forces = [node["point_force"].values[1:].max() for node in result["interface"].children.values()]
        assert float(found[variable][1, 0]) == max(forces)


def test_the_dataset_can_be_stored(tmp_path):
    found = estimate(levels=LEVELS[:3], costs=COSTS[:3], tolerance=0.3)
    found.to_netcdf(tmp_path / "found.nc")
    with xarray.open_dataset(tmp_path / "found.nc") as read:
        assert float(read["value"]) == float(found["value"]) and read["steps"].values.tolist() == [4, 8, 16]
    about = json.loads(json.dumps(found.attrs))
    assert about["inputs"] == "rate: (0.0, 2.0); noise: norm()" and about["method"] == "multilevel"
