"""`arlequin resume`: runs of cases go on, and what cannot go on says why."""

import json
from pathlib import Path

import numpy as np
import pytest

import arlequin as aq
from arlequin import cases
from arlequin.cases.case.execution import execute, prepare
from arlequin.cases.case.parameters import as_json, make
from arlequin.cases.cli.command import main
from arlequin.models.errors import UserError

SMALL = {"elements": 40}
pytestmark = pytest.mark.usefixtures("folder")


@pytest.fixture
def stop(blocks_of):
    """stop(name, values, at): a run of the case into a.zarr that was stopped by Ctrl-C."""

    def run_until(name, values, at, fields_every=None):
        def progress(done, total):
            if done >= at:
                raise KeyboardInterrupt

        with blocks_of(5), pytest.raises(KeyboardInterrupt):
            execute(*prepare(name, values), "a.zarr", progress, fields_every)

    return run_until


@pytest.mark.slow
def test_a_case_goes_on(stop, capsys):
    stop("bar_wall", SMALL, 30)
    assert aq.results.open("a.zarr").sizes["time"] == 31
    assert main(["resume", "a.zarr"]) == 0
    assert "written to a.zarr" in capsys.readouterr().out
    whole, resumed = cases.run("bar_wall", **SMALL), aq.results.open("a.zarr")
    assert resumed.attrs["complete"] == 1 and resumed.attrs["parameters"] == whole.attrs["parameters"]
    for name in ("energy", "balance"):
        assert whole[name].values.tobytes() == resumed[name].values.tobytes()
    assert main(["resume", "a.zarr"]) == 0
    assert capsys.readouterr().out == "a.zarr is complete\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "values", "total"),
    [
        ("bar_comparison", {"elements": 10, "penalty_stiffness": 1e13}, 4),
        ("reflection_spectrum", {"ratio": 2.0, "shortest": 1.5, "longest": 3.0, "count": 3}, 3),
    ],
)
def test_a_case_of_several_runs_goes_on(name, values, total, stop, capsys):
    """At any moment it can be looked at as a result of one run can; a run that is finished is not computed again."""
    stop(name, values, 2)
    part = aq.results.open("a.zarr")
    assert list(np.isfinite(part["finished"])) == [True, True, *[False] * (total - 2)]
    for command in ("show", "plot", "report"):
        assert main([command, "a.zarr"]) == 0
    assert f"2 of {total} (stopped early)" in capsys.readouterr().out
    seen = []
    cases.resume("a.zarr", lambda done, total: seen.append((done, total)))
    assert seen == [(done, total) for done in range(2, total + 1)]
    whole, resumed = cases.run(name, **values), aq.results.open("a.zarr")
    said, alike = ({**run.attrs, "compile_time": 0.0, "history": ""} for run in (resumed, whole))
    assert said == alike and resumed.attrs["complete"] == 1
    for node in whole.subtree:
        for key, variable in node.variables.items():
            assert resumed[node.path].variables[key].values.tobytes() == variable.values.tobytes(), key
    assert main(["resume", "a.zarr"]) == 0
    assert capsys.readouterr().out.endswith("a.zarr is complete\n")


def test_several_runs_of_another_study_are_not_gone_on_with(stop):
    values = {"elements": 10, "penalty_stiffness": 1e13}
    stop("bar_comparison", values, 1)
    record = aq.Record("a.zarr", resume=True)
    with pytest.raises(UserError, match=r"^a.zarr: is of another study or version: give what it was run with"):
        cases.run("bar_comparison", record, **{**values, "velocity": 5.0})
    assert cases.run("bar_comparison", record, **values).attrs["complete"] == 1
    with pytest.raises(UserError, match=r"^a.zarr: is complete, and of another study"):
        cases.run("bar_comparison", record, **{**values, "velocity": 5.0})


def test_in_python_with_frames_as_they_were_asked_for(stop):
    stop("bar_wall", SMALL, 30, fields_every=7)
    began = []
    result = cases.resume("a.zarr", lambda done, total: began.append(done))
    assert began[0] == 30
    frames = np.diff(result.dataset["frame_time"].values[:3]) / result.attrs["step"]
    assert frames == pytest.approx(7.0)
    assert cases.resume("a.zarr").attrs["complete"] == 1


def test_what_cannot_go_on_says_why(stop, monkeypatch, capsys):
    def says(code, *words):
        assert main(["resume", *words]) == code
        return capsys.readouterr().err

    assert says(2, "b.zarr") == "arlequin: b.zarr: no such result\n"
    assert "RESULT" in says(2)
    part = aq.PointMasses("m", (0.0,), 1.0)

    def progress(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        aq.simulate(aq.System([part]), aq.Theta(0.5), duration=1.0, step=1e-5, record="c.zarr", progress=progress)
    assert "c.zarr: not the result of a case: run its script again with record=Record('c.zarr', resume=True)" in says(
        2, "c.zarr"
    )
    stop("bar_wall", SMALL, 30)
    monkeypatch.setattr("arlequin.run.resume.version", lambda: "another")
    assert "a.zarr: its checkpoint is of another version" in says(2, "a.zarr")
    with pytest.raises(UserError, match="another version"):
        cases.resume(Path("a.zarr"))


@pytest.mark.sampled(7)
@pytest.mark.parametrize("name", cases.names())
def test_parameters_come_back_from_a_result_as_they_were(name):
    case, given = prepare(name, {})
    again = make(case.parameters, json.loads(as_json(given)))
    assert again == given and repr(again) == repr(given)
