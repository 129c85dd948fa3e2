"""Sweeps of studies that misbehave, of names that meet, of folders that are not what they seem."""

import builtins
import functools
import io
import shutil
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import arlequin as aq
from arlequin.plots import sweep_points
from arlequin.sweeps.dataset import SweepWarning
from arlequin.sweeps.plan import key
from arlequin.sweeps.store import read_point

DATA = Path(__file__).parent / "data"


@pytest.fixture
def studies(monkeypatch):
    monkeypatch.syspath_prepend(str(DATA))
    import sweep_studies

    return sweep_studies


@pytest.mark.parametrize("workers", [0, 1])
def test_whatever_a_study_does_is_said_in_one_line(studies, workers, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    points = [x for x in range(1, 9) if workers or x != 2]  # here an interrupt is the user's
    found = aq.sweep(studies.odd, {"x": points}, workers=workers)
    said = dict(zip(points, found["message"].values.tolist(), strict=True))
    starts = {1: "SystemExit: 3 (", 2: "KeyboardInterrupt (", 3: "BaseException: base (", 4: "Mute (", 5: "UserError (",
              6: "ValueError: huge huge", 7: "EOFError"}  # fmt: skip
    assert all(said[x].startswith(start) for x, start in starts.items() if x in said)
    assert len(said[6]) < 1200 and said[8] == "" and found["y"].sel(x=8) == 8.0


def test_names_that_meet(studies, tmp_path):
    found = aq.sweep(studies.crowded, {"x": [1.0, 2.0, 3.0]}, store=tmp_path / "a", workers=0)
    np.testing.assert_array_equal(found["force"], [[1, 2], [2, 4], [3, 6]])
    np.testing.assert_array_equal(found["force_time"], [[0, 1], [0, 2], [0, 3]])
    np.testing.assert_array_equal(found["step_result"].sel(x=2.0), [2, 2])
    nan = np.nan
    for name, values in (
        ("force_time_result", [1, 1, nan]),
        ("time_result", [2, 2, nan]),
        ("x_result", [3, 3, nan]),
        ("x_result_result", [4, 4, nan]),
        ("both", [5, 5, nan]),
    ):
        np.testing.assert_array_equal(found[name], values)
    np.testing.assert_array_equal(found["both_series"], [[nan, nan], [nan, nan], [3, 6]])


def test_axes_of_many_or_of_long_texts_name_some_of_them_shortly():
    texts = ["x" * 100_000, *(f"run {n}" for n in range(900))]
    found = aq.sweep(lambda x: {"y": float(len(x))}, {"x": texts}, workers=0, progress=False)
    (panel,) = aq.plots.sweep_lines(found, "y").axes
    named = [tick.get_text() for tick in panel.get_xticklabels()]
    assert 30 <= len(named) <= 40 and named[0].strip("x") == "…" and max(map(len, named)) <= 60
    assert named[1] == f"run {panel.get_xticks()[1] - 1:.0f}"
    (panel,) = aq.plots.sweep_scatter(found, "y", "y", colour="x").axes
    assert len(panel.get_legend().get_texts()) == 12
    with pytest.raises(aq.UserError, match="not in the sweep; there are"):
        aq.plots.sweep_scatter(found, "", "y")
    one = found.isel(x=0).expand_dims(z=[1.0, 2.0])  # what was chosen is in the title
    assert len(aq.plots.sweep_lines(one, "y").axes[0].get_title(loc="left")) <= 200


def test_a_point_that_says_that_it_is_missing_has_failed(studies, tmp_path):
    """It is tried again where failed points are, and nowhere else."""
    tries = []

    def sweep(**more):
        over = {"x": [1, 2, 3]}
        return aq.sweep(
            studies.unlucky,
            over,
            store=tmp_path / "a",
            workers=0,
            progress=lambda *counts: tries.append(counts),
            **more,
        )

    found = sweep()
    assert found["finished"].values.tolist() == [True, True, True]
    assert sweep_points.states(found).values.tolist() == ["", "failed", ""]
    assert tries.pop() == (3, 1, 3)
    tries.clear()
    sweep()
    assert not tries
    sweep(retry=True)
    assert tries == [(2, 0, 3), (3, 1, 3)]
    (tmp_path / "a" / "points" / f"{key({'x': 3})}.json").unlink()
    part = aq.open_sweep(tmp_path / "a")
    assert part["message"].values.tolist() == ["", "not computed", "not computed"]
    assert sweep_points.states(part).values.tolist() == ["", "failed", "not computed"]


def test_series_of_other_dimensions_are_left_out_and_said(studies, tmp_path):
    """They have no place in the array of the first point's; the file of their own point has them whole."""
    over = {"x": [1, 2, 3, 4]}
    with pytest.warns(SweepWarning) as warned:
        found = aq.sweep(studies.rotating, over, store=tmp_path / "a", workers=0)
    line = "force: (time: 3, axis: 2) at x=2 and at 1 more, but (time: 1) at x=1: left out of the dataset; "
    assert [str(one.message).startswith(line) for one in warned] == [True] and "\n" not in str(warned[0].message)
    where = "(time: 3, axis: 2) at x=2; (axis: 2, time: 5) at x=4; but (time: 1) at x=1"
    assert found["force"].attrs == {"units": "N", "left_out": where}
    nan = np.nan
    np.testing.assert_array_equal(found["force"], [[1, nan], [nan, nan], [3, 3], [nan, nan]])
    assert found["other"].attrs == {} and (found["message"] == "").all()
    for x in (2, 4):
        kept = read_point(tmp_path / "a", {"x": x}).series["force"]
        own = studies.rotating(x)["force"]
        assert kept.dims == own.dims and np.array_equal(kept.values, own)


def test_what_a_function_has_taken_along_tells_sweeps_apart(studies, tmp_path):
    def of(k):
        return lambda x: {"y": k * x}

    long = np.arange(5000.0)
    other = long.copy()
    other[2500] = -1.0
    for n, (one, another) in enumerate(
        [
            (of(2), of(3)),
            (functools.partial(studies.parabola, y=long), functools.partial(studies.parabola, y=other)),
            (functools.partial(studies.parabola, offset=np.nan, y=1), functools.partial(studies.parabola, y=1)),
        ]
    ):
        for _ in range(2):
            aq.sweep(one, {"x": [1]}, store=tmp_path / f"{n}", workers=0)
        with pytest.raises(aq.UserError, match="holds another sweep") as refused:
            aq.sweep(another, {"x": [1]}, store=tmp_path / f"{n}", workers=0)
        assert len(str(refused.value)) < 800


@pytest.mark.parametrize("harm", ["json", "npz"])
def test_a_point_that_is_not_whole_is_missing(studies, tmp_path, harm):
    aq.sweep(studies.ramps, {"x": [1, 2]}, store=tmp_path / "a", workers=0)
    file = tmp_path / "a" / "points" / f"{key({'x': 2})}.{harm}"
    file.write_bytes(b'{"message": "", "seconds": 1.0, "scalars": []}' if harm == "json" else file.read_bytes()[:300])
    assert aq.open_sweep(tmp_path / "a")["message"].values.tolist() == ["", "not computed"]
    found = aq.sweep(studies.ramps, {"x": [1, 2]}, store=tmp_path / "a", workers=0)
    assert (found["message"] == "").all()


@pytest.fixture
def without_cloudpickle(monkeypatch):
    """As where it is not installed, but for Dask, which xarray looks for and needs it."""
    real = builtins.__import__

    def without(name, space=None, *given, **named):
        if name == "cloudpickle" and str((space or {}).get("__name__")).startswith("arlequin"):
            raise ImportError(name)
        return real(name, space, *given, **named)

    monkeypatch.setattr(builtins, "__import__", without)


@pytest.fixture
def typed_in(monkeypatch):
    """A function of a notebook, or typed in: of `__main__`, which is no file."""
    main = ModuleType("__main__")
    exec("def square(x):\n    return x * x\n\ndef study(x):\n    return {'square': square(x)}\n", vars(main))
    monkeypatch.setitem(sys.modules, "__main__", main)
    return main


MANY = {
    "sweep": lambda own, **how: aq.sweep(own.study, {"x": [1.0, 2.0]}, progress=False, **how),
    "partial": lambda own, **how: aq.sweep(functools.partial(own.study), {"x": [1.0]}, progress=False, **how),
    "estimate": lambda own, **how: aq.estimate(own.square, None, INPUTS, samples=8, **how),
    "probability": lambda own, **how: aq.probability(own.square, None, INPUTS, above=1.0, samples=20, **how),
    "sobol_indices": lambda own, **how: aq.sobol_indices(own.square, None, INPUTS, samples=8, **how),
}
INPUTS = {"x": (0.5, 1.5)}


@pytest.mark.parametrize("call", list(MANY))
def test_a_function_of_a_notebook_is_refused_in_one_line_or_computed_here(without_cloudpickle, typed_in, call):
    with pytest.raises(aq.UserError) as refused:
        MANY[call](typed_in, workers=2)
    line = str(refused.value)
    assert "is defined in this notebook or session: import it from a module" in line and "workers=1" in line
    assert "pip install cloudpickle" in line and "\n" not in line
    assert refused.value.__cause__ is None and refused.value.__context__ is None
    shown = refused.value._render_traceback_()  # in place of the traceback, by IPython
    assert shown[-1] == f"UserError: {line}" and all("\n" not in text for text in shown) and len(shown) == 2
    assert MANY[call](typed_in, workers=1) is not None


def test_a_function_that_cannot_be_sent_leaves_no_folder(studies, tmp_path, without_cloudpickle, monkeypatch):
    monkeypatch.setattr(studies.parabola, "__module__", "__main__")
    monkeypatch.setattr(sys.modules["__main__"], "parabola", studies.parabola, raising=False)
    monkeypatch.setattr(sys.modules["__main__"], "__file__", "study.py", raising=False)  # none in a worker of the tests
    function = functools.partial(studies.parabola, y=1)
    with pytest.raises(aq.UserError, match=r"is defined in the script that runs: import it from a module"):
        aq.sweep(function, {"x": [1]}, store=tmp_path / "a", workers=2)
    assert not (tmp_path / "a").exists()
    with pytest.raises(aq.UserError, match=r"cannot be sent to another process: .*: import it from a module"):
        aq.sweep(lambda x: {"y": x}, {"x": [1]}, store=tmp_path / "a", workers=2)
    assert aq.sweep(lambda x: {"y": 2 * x}, {"x": [1]}, workers=1)["y"].item() == 2


def test_a_folder_that_another_sweep_has_just_filled(studies, tmp_path, monkeypatch):
    """Between the first look at the folder and the lock."""
    from arlequin.sweeps import store as sweep_store

    aq.sweep(studies.failing, {"x": [1]}, store=tmp_path / "other", workers=0)
    lock = sweep_store.writer_lock

    def late(folder, given):
        shutil.copytree(tmp_path / "other", folder, dirs_exist_ok=True)
        return lock(folder, given)

    monkeypatch.setattr(sweep_store, "writer_lock", late)
    with pytest.raises(aq.UserError, match="holds another sweep: it is of failing"):
        aq.sweep(studies.ramps, {"x": [1]}, store=tmp_path / "a", workers=0)
    assert (aq.open_sweep(tmp_path / "a")["inverse"] == 1.0).all()
