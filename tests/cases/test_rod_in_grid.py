"""The study from spectrum and gaps to wear lives: worn supports, constant rates, processes, resumed samples, report."""

from dataclasses import replace

import numpy as np
import pytest
import xarray

import arlequin as aq
from arlequin import cases
from arlequin.cases import rod_in_grid
from arlequin.cases.rod_in_grid import Parameters, check, life, lives, ranks, run, scalars, tables
from arlequin.cases.rod_in_grid.parameters import INSTANTS, PLACES, SUPPORTS
from arlequin.models.errors import UserError
from arlequin.results.recorder import Record

SMALL = Parameters(duration=0.02, start=0.004, modes=4, cells=2, step=4e-4, samples=2)
INPUTS = {"gap": 2e-5, "preload": 8.0, "misalignment": 1e-6, "friction": 0.4, "force": 1.0}


def forces(study):
    result = study.run(progress=False)
    return np.concatenate(
        [result[f"interface/{name}"].dataset["point_force"].values for name in life.INTERFACES], axis=1
    )


def test_worn_supports_are_a_larger_gap_and_less_preload():
    """Equal depths of the loose grid are a gap; of the tight one, in proportion of the flexibilities, less preload."""
    depth, less = 7e-6, 3.0
    tight = [less / SMALL.spring_stiffness] * 2 + [0.5 * less / SMALL.dimple_stiffness] * 4
    worn = life.study(SMALL, **INPUTS, turbulence=5, worn=np.array([*tight, *[depth] * 6]))
    changed = {**INPUTS, "gap": INPUTS["gap"] + depth, "preload": INPUTS["preload"] - less}
    expected = forces(life.study(SMALL, **changed, turbulence=5))
    np.testing.assert_allclose(forces(worn), expected, rtol=1e-9, atol=1e-9 * expected.max())
    assert np.abs(forces(life.study(SMALL, **INPUTS, turbulence=5)) - expected).max() > 0.1


def test_a_life_of_constant_rates(monkeypatch):
    """V = k P t and V = 4/3 L √(2R) h^(3/2) in closed form, with the rates of one support."""
    rates = np.linspace(1e-4, 1.2e-3, 12)  # W
    monkeypatch.setattr(life, "point_work_rates", lambda *_: rates)
    monkeypatch.setattr(life, "study", lambda *_, **__: aq.Study.__new__(aq.Study))
    monkeypatch.setattr(aq.Study, "run", lambda *_, **__: None)
    p = replace(SMALL, months=24.0)
    found = life.wear_life(p, 2e-15, xarray.DataTree(), INPUTS, 7)
    volumes = 2e-15 * rates[:, None] * found["time"].values
    exact = (0.75 * volumes / (p.dimple_length * np.sqrt(p.outer_diameter))) ** (2.0 / 3.0)
    np.testing.assert_allclose(found["depth"], exact, rtol=1e-6)
    assert found.attrs["runs"] == p.runs


@pytest.fixture(scope="module")
def result():
    return run(SMALL, Record(), None)


def test_processes_give_the_samples_that_this_process_gives(result, monkeypatch):
    monkeypatch.setattr(rod_in_grid, "FEW_STEPS", 0)
    other = run(SMALL, Record(), None)
    for path, node in result.subtree_with_keys:
        for name, array in node.dataset.data_vars.items():
            np.testing.assert_array_equal(array.values, other[path][name].values)


def test_samples_do_not_depend_on_their_number(result, tmp_path):
    """The first sample, then the second one, as of a run that was stopped."""
    points = SMALL.points()
    assert points == replace(SMALL, samples=5).points()[:2]
    single = life.sample(SMALL, **points[1])
    assert float(result["vibration/rms"][1]) == single["vibration.rms"]
    record, calls = Record(tmp_path / "rod.zarr"), []

    def stop(done, total):
        calls.append(done)
        if done == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(SMALL, record, stop)
    resumed = run(SMALL, replace(record, resume=True), None)
    np.testing.assert_array_equal(resumed["life/depth"], result["life/depth"])
    np.testing.assert_array_equal(resumed["linear/psd_open"], result["linear/psd_open"])


def test_measures(result):
    assert result["supports/depth"].dims == ("support", "sample") and list(result["supports/support"].values) == list(
        SUPPORTS
    )
    assert len(SUPPORTS) == 2 * len(PLACES) and result["life/depth"].shape == (INSTANTS, SMALL.samples)
    depth = result["life/depth"].values
    assert (np.diff(depth, axis=0) >= 0.0).all() and (depth[0] == 0.0).all()
    np.testing.assert_allclose(depth[-1], result["supports/depth"].values.max(axis=0), rtol=1e-12)
    assert (result["linear/rms_closed"].values < 0.1 * result["linear/rms_open"].values).all()
    last = result["supports"].dataset
    assert (last["mean_work_rate"].values > 0.0).any()
    reached = replace(SMALL, share=float(0.8 * depth[-1].min() / SMALL.thickness))
    stops = result.copy()
    times = [float(np.interp(reached.limit, each, result["time"])) for each in depth.T]
    stops["life"].dataset = stops["life"].to_dataset(inherit=False).assign(time_to_limit=("sample", times))
    assert check(stops, reached)[2].passed and len(check(stops, reached)) == 3
    assert not check(stops, replace(reached, share=0.5 * reached.share))[2].passed
    distribution = lives(result, SMALL)
    assert distribution.attrs["limit"] == 0.2 * SMALL.thickness and np.isinf(distribution["time_to_limit"]).all()
    assert scalars(result, SMALL)["median_depth"].value == pytest.approx(np.median(depth[-1]))
    assert [each.passed for each in check(result, SMALL)] == [True, True] and ranks(result) is None
    assert list(tables(result, SMALL)["supports"]["support"]) == list(SUPPORTS)


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ({"samples": 1}, "samples"),
        ({"least_gap": 6e-5}, "least_gap"),
        ({"start": 0.7}, "start = 0.7"),
        ({"step": 3e-3}, "step = 0.003"),
        ({"start": 0.595}, "for a spectrum"),
        ({"share": 0.0}, "share"),
        ({"thickness": 5e-3}, "thickness"),
    ],
)
def test_bad_parameters(values, line):
    with pytest.raises(UserError) as error:
        cases.run("rod_in_grid", **values)
    assert line in str(error.value) and "\n" not in str(error.value)


@pytest.mark.slow
def test_the_whole_study():
    """All checks of 24 lives; the preload and the wear coefficient matter; 95/95 limits need 59 lives."""
    p = Parameters(samples=24, duration=0.3)
    result = run(p, Record(), None)
    assert all(each.passed for each in check(result, p))
    found = ranks(result)
    assert {"preload", "wear"} <= set(found["input"].values[:3]) and found.attrs["r_squared"] > 0.8
    assert np.isnan(lives(result, p)["depth_tolerance"]).all()
    names = set(tables(result, p))
    assert "supports" in names and any(name.startswith("inputs that matter") for name in names)
