"""Sweeps: points in their places, failures and deaths kept apart, what is finished never computed again."""

import contextlib
import functools
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import xarray

import arlequin as aq
from arlequin.sweeps.local import Workers, pickled
from arlequin.sweeps.plan import key

ROOT = Path(__file__).parents[2]
DATA = Path(__file__).parent / "data"


@pytest.fixture
def studies(monkeypatch):
    monkeypatch.syspath_prepend(str(DATA))
    import sweep_studies

    return sweep_studies


def calls(folder):
    file = Path(folder) / "calls"
    return sorted(int(line) for line in file.read_text().split()) if file.exists() else []


@pytest.mark.sampled(1)
@pytest.mark.parametrize("workers", [0, 2])
def test_points_are_in_their_places(studies, workers):
    found = aq.sweep(studies.parabola, {"x": [1.0, 2.0, 3.0], "y": np.array([4, 7])}, workers=workers)
    assert found["height"].dims == ("x", "y")
    assert (found["height"].values == [[41, 71], [44, 74], [49, 79]]).all()
    assert float(found["height"].sel(x=3.0, y=4)) == 49 and found["y"].dtype.kind == "i"
    assert found["height"].attrs == {"units": "m", "long_name": "height of the parabola"}
    assert (found["message"] == "").all() and (found["seconds"] > 0).all()
    assert found.attrs["kind"] == "sweep" and found.attrs["case"] == "parabola" and found.attrs["version"]
    processes = set(found["pid"].values.ravel())
    assert (processes == {os.getpid()}) if workers == 0 else (os.getpid() not in processes and len(processes) <= 2)


def test_processes_serve_several_lists(studies):
    """They are started once; those that are busy when a list is given up end with it."""
    with contextlib.closing(Workers(pickled(studies.parabola), 2)) as workers:
        seen = []
        for values in ([1.0, 2.0, 3.0], [4.0], [5.0, 6.0]):
            found = dict(workers.compute([{"x": x, "y": 0.0} for x in values]))
            assert [found[n].scalars["height"].value for n in range(len(values))] == [x**2 for x in values]
            seen += [outcome.scalars["pid"].value for outcome in found.values()]
        assert len(set(seen)) <= 2
        given_up = workers.compute([{"x": float(x), "y": 0.0} for x in range(50)])
        next(given_up)
        given_up.close()
        found = dict(workers.compute([{"x": 7.0, "y": 0.0}, {"x": 8.0, "y": 0.0}]))
        assert {n: outcome.scalars["height"].value for n, outcome in found.items()} == {0: 49.0, 1: 64.0}


def test_scattered_points(studies, tmp_path):
    points = [{"x": 1.0, "y": 2.0}, {"y": 0.0, "x": 3.0}]
    study = functools.partial(studies.parabola, offset=0.5)
    found = aq.sweep(study, points, store=tmp_path / "a", workers=0)
    assert found["height"].dims == ("point",) and found["height"].values.tolist() == [21.5, 9.5]
    assert found["x"].dims == ("point",) and found["x"].values.tolist() == [1.0, 3.0]
    assert '"offset": 0.5' in found.attrs["parameters"]
    more = aq.sweep(study, [*points, {"x": 0.0, "y": 0.0}], store=tmp_path / "a", workers=0)
    assert more["height"].values.tolist() == [21.5, 9.5, 0.5]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("stored", [False, True])
def test_failed_points_are_said_and_stop_nothing(studies, tmp_path, stored):
    store = tmp_path / "a" if stored else None
    with pytest.warns(aq.SweepWarning, match=r"3 of 5 points failed, the first: x = 2: is refused"):
        found = aq.sweep(studies.failing, {"x": [1, 2, 3, 4, 5]}, store=store, workers=1)
    np.testing.assert_array_equal(found["inverse"], [1, np.nan, np.nan, np.nan, 0.2])
    first, second, third, fourth, last = found["message"].values.tolist()
    assert first == last == "" and second == "x = 2: is refused"
    assert third.startswith("ZeroDivisionError: division by zero (") and "sweep_studies.py, line" in third
    assert fourth.startswith("inverse = 'a text': must be a number")


@pytest.mark.filterwarnings("ignore::UserWarning")  # of zarr, about texts
def test_series_are_padded(studies, tmp_path):
    found = aq.sweep(studies.ramps, {"x": [1, 3, 2]}, store=tmp_path / "a", workers=0)
    nan = np.nan
    assert found["force"].dims == ("x", "time")
    np.testing.assert_allclose(found["force"], [[0, 1, nan, nan], [0, 1, 2, 3], [0, 1, 2, nan]])
    third = [0, 1 / 3, 2 / 3, 1]
    np.testing.assert_allclose(found["force_time"], [[0, 1, nan, nan], third, [0, 0.5, 1, nan]])
    np.testing.assert_array_equal(found["count"], [[0, nan, nan], [0, 1, 2], [0, 1, nan]])
    assert found["step"].values.tolist() == [0, 1, 2] and found["force"].attrs["units"] == "N"
    assert found["pair"].sel(axis="y").values.ravel().tolist() == [-1, -3, -2]
    memory = aq.sweep(studies.ramps, {"x": [1, 3, 2]}, workers=0)
    xarray.testing.assert_equal(memory.drop_vars("seconds"), found.drop_vars("seconds"))
    found.to_zarr(tmp_path / "found.zarr")  # the types are such as files take


def test_only_what_is_missing_is_computed(studies, tmp_path):
    study = functools.partial(studies.noted, folder=str(tmp_path))
    store = tmp_path / "a"
    seen = []
    for values in ([1, 3], [1, 3], [0, 1, 2, 3]):
        found = aq.sweep(study, {"x": values}, store=store, workers=0, progress=lambda *at: seen.append(at))
    assert calls(tmp_path) == [0, 1, 2, 3]
    assert found["double"].values.tolist() == [0, 2, 4, 6]
    assert seen == [(0, 0, 2), (1, 0, 2), (2, 0, 2), (2, 0, 4), (3, 0, 4), (4, 0, 4)]
    (store / "points" / f"{key({'x': 2})}.json").write_text('{"point": {"x"')  # as after a power failure
    part = aq.open_sweep(store)
    assert part["message"].values.tolist() == ["", "", "not computed", ""] and np.isnan(part["double"][2])
    aq.sweep(study, {"x": [0, 1, 2, 3]}, store=store, workers=0)
    assert calls(tmp_path) == [0, 1, 2, 2, 3]
    aq.sweep(study, {"x": [1]}, store=store, workers=0, overwrite=True)
    assert calls(tmp_path) == [0, 1, 1, 2, 2, 3] and aq.open_sweep(store)["x"].values.tolist() == [1]


def test_failed_points_are_tried_again_if_asked(studies, tmp_path):
    aq.sweep(studies.failing, {"x": [1, 2]}, store=tmp_path / "a", workers=0)
    file = tmp_path / "a" / "points" / f"{key({'x': 2})}.json"
    before = file.stat().st_mtime_ns
    aq.sweep(studies.failing, {"x": [1, 2]}, store=tmp_path / "a", workers=0)
    assert file.stat().st_mtime_ns == before
    found = aq.sweep(studies.failing, {"x": [1, 2]}, store=tmp_path / "a", workers=0, retry=True)
    assert file.stat().st_mtime_ns > before and found["message"].values[1] == "x = 2: is refused"


@pytest.mark.sampled(1)
@pytest.mark.parametrize("always", [False, True])
def test_a_process_that_dies_loses_nothing(studies, tmp_path, always):
    study = functools.partial(studies.dying, folder=str(tmp_path), always=always)
    found = aq.sweep(study, {"x": list(range(8))}, workers=2)
    expected = 2.0 * np.arange(8)
    if always:
        expected[2] = np.nan
        assert found["message"].values[2] == "its process died 2 times (killed by signal 9, out of memory?)"
    np.testing.assert_array_equal(found["double"], expected)
    assert (found["message"].values != "").sum() == always


@pytest.mark.sampled(7)
@pytest.mark.parametrize(
    ("over", "says"),
    [
        ({}, "over: is empty"),
        ([], "over: is empty"),
        ({"x": [], "y": [1]}, "x: has no values"),
        ({"x": 3, "y": [1]}, "x = 3: must be a list of values"),
        ({"x": "abc", "y": [1]}, "x = 'abc': must be a list of values"),
        ({"x": [1, 1.0], "y": [1]}, "x = 1.0: is given twice"),
        ({"x": [1, np.nan], "y": [1]}, "x = nan: must be finite"),
        ({"x": [1, [2]], "y": [1]}, "x = [2]: must be numbers"),
        ({"x": [1], "z": [1]}, "over: missing a required argument: 'y': parabola takes x, y, offset"),
        ({"x": [1], "y": [1], "z": [1]}, "over: got an unexpected keyword argument 'z'"),
        ({"x": [1], "message": [1]}, "message: cannot be swept"),
        ([{"x": 1, "y": 1}, {"x": 1}], "over: point 1 has x, the first has x, y"),
        ([{"x": 1, "y": 1}, {"y": 1, "x": 1}], "over: points 0 and 1 are the same, x=1, y=1"),
        ("x", "over = 'x': must be"),
    ],
)
def test_bad_points_are_refused_before_anything_is_computed(studies, tmp_path, over, says):
    with pytest.raises(aq.UserError) as refused:
        aq.sweep(studies.parabola, over, store=tmp_path / "a")
    assert str(refused.value).startswith(says) and not (tmp_path / "a").exists()


def test_bad_ways_to_compute(studies):
    for how, says in (
        ({"workers": -1}, "workers = -1"),
        ({"workers": 1, "scheduler": "tcp://nowhere:1"}, "workers: give workers or scheduler"),
    ):
        with pytest.raises(aq.UserError, match=says):
            aq.sweep(studies.parabola, {"x": [1], "y": [1]}, **how)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"over": {"x": [1.0, 4.0], "y": [5.0]}}, "it has also x = 2;"),
        ({"over": {"y": [5.0], "x": [1.0, 2.0]}}, "it has them in the order x, y"),
        ({"over": {"x": [1.0, 2.0], "y": [5.0], "offset": [1.0]}}, "it sweeps x, y;"),
        ({"over": [{"x": 1.0, "y": 5.0}, {"x": 2.0, "y": 5.0}]}, "it sweeps x, y;"),
        ({"offset": 2.0}, "its offset is 1.0, not 2.0"),
        ({"study": "failing", "over": {"x": [1.0]}}, "it is of parabola"),
    ],
)
def test_a_store_of_another_sweep_is_refused(studies, tmp_path, change, says):
    over = {"x": [1.0, 2.0], "y": [5.0]}
    aq.sweep(functools.partial(studies.parabola, offset=1.0), over, store=tmp_path / "a", workers=0)
    study = getattr(studies, change.get("study", "parabola"))
    fixed = {} if "study" in change or "offset" in change.get("over", {}) else {"offset": change.get("offset", 1.0)}
    other = functools.partial(study, **fixed)
    with pytest.raises(aq.UserError, match=r"holds another sweep: .*; choose another path, or .*--force") as refused:
        aq.sweep(other, change.get("over", over), store=tmp_path / "a", workers=0)
    assert says in str(refused.value)
    assert aq.open_sweep(tmp_path / "a")["height"].shape == (2, 1)


def test_an_edited_function_is_another_one(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "edited_a.py").write_text("def study(x):\n    return {'y': x}\n")
    (tmp_path / "edited_b.py").write_text("def study(x):\n    return {'y': 2 * x}\n")
    import edited_a
    import edited_b

    aq.sweep(edited_a.study, {"x": [1]}, store=tmp_path / "a", workers=0)
    with pytest.raises(aq.UserError, match="the source of study has changed since"):
        aq.sweep(edited_b.study, {"x": [1]}, store=tmp_path / "a", workers=0)


def test_folders_that_are_no_sweeps(studies, tmp_path):
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "thesis.tex").write_text("mine")
    for overwrite in (False, True):
        with pytest.raises(aq.UserError, match="exists and is not a sweep"):
            aq.sweep(studies.failing, {"x": [1]}, store=tmp_path / "thesis", overwrite=overwrite)
    for path, says in (("thesis", "not a sweep"), ("nowhere", "no such sweep")):
        with pytest.raises(aq.UserError, match=says):
            aq.open_sweep(tmp_path / path)
    aq.sweep(studies.failing, {"x": [1]}, store=tmp_path / "a", workers=0)
    with pytest.raises(aq.UserError, match=r"open it with arlequin\.open_sweep"):
        aq.results.open(tmp_path / "a")


def test_a_function_that_no_other_process_can_load(studies, tmp_path):
    import types

    ghost = types.ModuleType("ghost_module")
    sys.modules["ghost_module"] = ghost
    exec("def study(x):\n    return {'y': x}\n", ghost.__dict__)
    try:
        with pytest.raises(aq.UserError, match=r"cannot be loaded in another process: ModuleNotFoundError.*ghost"):
            aq.sweep(ghost.study, {"x": [1, 2]}, workers=1, store=tmp_path / "a")
        assert aq.sweep(ghost.study, {"x": [1, 2]}, workers=0)["y"].values.tolist() == [1, 2]
    finally:
        del sys.modules["ghost_module"]


SCRIPT = """
import functools, sys
import arlequin as aq
import sweep_studies
study = functools.partial(sweep_studies.noted, folder=sys.argv[1], seconds=float(sys.argv[2]))
aq.sweep(study, {"x": list(range(12))}, store=sys.argv[1] + "/a", workers=2)
"""


def started(folder, seconds, script=SCRIPT):
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{DATA}"}
    command = [sys.executable, "-c", script, str(folder), str(seconds)]
    return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_a_sweep_that_is_stopped_goes_on(tmp_path, how):
    running = started(tmp_path, 0.2)
    limit = time.monotonic() + 120.0
    while not list(tmp_path.glob("a/points/[!.]*.json")) and time.monotonic() < limit:
        time.sleep(0.01)
    running.send_signal(how)
    running.communicate(timeout=60)
    first = aq.open_sweep(tmp_path / "a")
    done = [int(x) for x in first["x"].values[first["message"].values == ""]]
    assert 1 <= len(done) < 12
    before = calls(tmp_path)
    assert len(before) <= len(done) + 2
    time.sleep(0.6)
    assert calls(tmp_path) == before  # its processes have ended with it
    assert started(tmp_path, 0.2).wait(timeout=120) == 0
    again = calls(tmp_path)
    assert all(again.count(x) == 1 for x in done)
    assert len(again) == len(before) + 12 - len(done)
    assert aq.open_sweep(tmp_path / "a")["double"].values.tolist() == [2.0 * x for x in range(12)]


def test_two_sweeps_of_one_folder(studies, tmp_path):
    from arlequin.results.writer_lock import writer_lock

    aq.sweep(studies.failing, {"x": [1]}, store=tmp_path / "a", workers=0)
    held = writer_lock(tmp_path / "a", "a")
    try:
        with pytest.raises(aq.UserError, match="another run is writing it"):
            aq.sweep(studies.failing, {"x": [1, 5]}, store=tmp_path / "a", workers=0)
    finally:
        os.close(held)


def test_units_of_parameters(tmp_path):
    units = {"x": "m/s"}
    table = aq.sweep(lambda x, n: {"y": x * n}, {"x": [1.0, 2.0], "n": [1, 2]}, workers=0, units=units)
    assert (table["x"].attrs["units"], table["n"].attrs["units"]) == ("m/s", "1")
    points = [{"x": 1.0}, {"x": 2.0}]
    stored = aq.sweep(lambda x: {"y": x}, points, store=tmp_path / "a.sweep", workers=0, units=units)
    assert stored["x"].attrs["units"] == aq.open_sweep(tmp_path / "a.sweep")["x"].attrs["units"] == "m/s"
    with pytest.raises(aq.UserError, match="units: no parameter is named 'X'; there are x"):
        aq.sweep(lambda x: {"y": x}, {"x": [1.0]}, workers=0, units={"X": "m"})
    with pytest.raises(aq.UserError, match="must be a text"):
        aq.sweep(lambda x: {"y": x}, {"x": [1.0]}, workers=0, units={"x": 1})
