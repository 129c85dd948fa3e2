"""Sweeps of cases: what is swept is read and checked up front; numbers of each point in their place; the commands."""

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
from arlequin import cases
from arlequin.cases.case.sweeping import planned
from arlequin.cases.cli.command import main
from arlequin.models.errors import UserError
from arlequin.sweeps.plan import key

ROOT = Path(__file__).parents[2]
CASE = str(Path(__file__).parent / "data" / "oscillator.py")
pytestmark = pytest.mark.usefixtures("folder")


def test_a_case_of_ones_own():
    """At t = 0.01 steps of a mass on a spring from u = 1: the strain energy is ½ k cos² ωt, the sum ½ k."""
    found = cases.sweep(CASE, {"stiffness": "2:8:3", "steps": [50, 100]}, workers=1, mass=3)
    assert found["energy_strain"].dims == ("stiffness", "steps")
    k, n = np.array([[2.0], [5.0], [8.0]]), np.array([50, 100])
    np.testing.assert_allclose(found["energy_strain"], k / 2 * np.cos(0.01 * n * np.sqrt(k / 3)) ** 2, rtol=1e-12)
    assert found["stiffness"].attrs == {"units": "N/m", "long_name": "stiffness of the spring"}
    assert found["energy_strain"].attrs["units"] == "J" and found.attrs["case"] == CASE
    assert '"mass": 3.0' in found.attrs["parameters"] and "stiffness" not in found.attrs["parameters"]


@pytest.mark.parametrize(
    ("given", "values"),
    [
        ("1,2,5", [1, 2, 5]),
        ("7,", [7]),
        ("1:3:5", [1, 1.5, 2, 2.5, 3]),
        ("0.1:0.3:3", [0.1, 0.2, 0.3]),
        ("1:100:3:log", [1, 10, 100]),
        (np.array([1, 2]), [1, 2]),
        (["4", 5], [4, 5]),
    ],
)
def test_values(given, values):
    _, plan = planned(CASE, {"stiffness": given}, {})
    assert plan.axes[0].values == tuple(values)


@pytest.mark.sampled(7)
@pytest.mark.parametrize(
    ("over", "fixed", "says"),
    [
        ({"stifness": [1]}, {}, "stifness: no such parameter, did you mean stiffness?"),
        ({"stiffness": [1]}, {"mas": 1}, "mas: no such parameter, did you mean mass?"),
        ({"stiffness": [1]}, {"mass": "x"}, "mass = 'x': must be a finite number > 0"),
        ({"stiffness": [1]}, {"stiffness": 2}, "stiffness: both swept and fixed"),
        ({"stiffness": [1, -1]}, {}, "stiffness = -1.0: must be positive"),
        ({"limit": [2, 0.5], "steps": [3]}, {}, "limit = 0.5: must be at least the amplitude, 1 m (at limit=0.5"),
        ([{"limit": 2, "mass": 1}, {"limit": 0.5, "mass": 1}], {}, "limit = 0.5: must be at least"),
        ({"stiffness": []}, {}, "stiffness: has no values"),
        ({"stiffness": 3}, {}, "stiffness = 3: must be a list of values"),
        ({"stiffness": [1, "1.0"]}, {}, "stiffness = 1.0: is given twice"),
        ({"stiffness": "1,,2"}, {}, "stiffness = '1,,2': must be values a,b,c or lo:hi:n"),
        ({"stiffness": "1:2"}, {}, "stiffness = '1:2': must be values"),
        ({"stiffness": "1:2:1"}, {}, "stiffness = '1:2:1': must be values"),
        ({"stiffness": "1:2:3:cube"}, {}, "stiffness = '1:2:3:cube': must be values"),
        ({"stiffness": "1:inf:3"}, {}, "stiffness = '1:inf:3': must be values"),
        ({"stiffness": "0:2:3:log"}, {}, "stiffness = '0:2:3:log': must have both ends > 0"),
        ({"steps": "1:4:3"}, {}, "steps = 2.5: must be a whole number"),
        ({}, {}, "over: is empty"),
        (3, {}, "over = 3: must be"),
    ],
)
def test_bad_points_are_refused_before_any_is_run(over, fixed, says):
    with pytest.raises(UserError) as refused:
        cases.sweep(CASE, over, store="a", **fixed)
    assert str(refused.value).startswith(says) and not Path("a").exists()


def test_series_and_errors():
    """The force of the bar on the wall while it touches is ρ c A V, from the impact to 2L/c."""
    over = {"velocity": [5.0, 10.0]}
    how = {"errors": True, "series": ["interface/contact/force"], "elements": 20, "workers": 0}
    found = cases.sweep("two_bars", over, **how)
    force = found["interface.contact.force"]
    assert force.dims[:2] == ("velocity", "time") and "interface.contact.force_time" not in found.coords
    one = cases.run("two_bars", velocity=5.0, elements=20)
    np.testing.assert_array_equal(force[0], one["interface/contact/force"])
    np.testing.assert_array_equal(found["time"], one["time"])
    errors = [name for name in found.data_vars if str(name).endswith("_error")]
    assert len(errors) == len(cases.check("two_bars", velocity=5.0, elements=20))
    for path, says in (
        ("interface/contact/forc", "no such array; along time there are energy, balance,"),
        ("interface/tip/force", "no such group"),
        ("part/left/displacement", "is not along time"),
    ):
        with pytest.raises(UserError, match=f"series = '{path}': .*{says}"):
            cases.sweep("two_bars", over, series=[path], elements=20, store="a", dimension=2)
    assert not Path("a").exists()


@pytest.mark.slow
def test_the_command(capsys, one_line):
    words = ["sweep", CASE, "stiffness=2,8", "shape=cosine,sine", "mass=3", "--workers", "1"]
    assert main(words) == 0
    out = capsys.readouterr().out
    for word in ("points", "2, 8", "cosine, sine", "stiffness of the spring", "energy_strain", "runs/oscillator.sweep"):
        assert word in out
    found = aq.open_sweep("runs/oscillator.sweep")
    assert found["energy_strain"].dims == ("stiffness", "shape") and (found["message"] == "").all()
    assert main(["show", "runs/oscillator.sweep"]) == 0
    assert "energy_strain" in capsys.readouterr().out
    assert main([*words[:3], "shape=cosine,sine", "mass=4"]) == 2
    assert "holds another sweep: its mass is 3.0, not 4.0" in one_line()
    assert main([*words[:2], "stiffness=2,4,8", "shape=cosine,sine", "mass=3", "--errors"]) == 2
    assert "its option errors is False, not True" in one_line()
    assert main([*words[:2], "stiffness=2,4", "shape=cosine,sine", "mass=4", "--force", "--workers=1"]) == 0
    assert aq.open_sweep("runs/oscillator.sweep").attrs["parameters"].startswith('{"mass": 4.0')


def test_points_that_fail_are_listed(capsys):
    assert main(["sweep", CASE, "fault=diverge,disk,bug,", "--out", "a", "--workers", "1"]) == 1
    out = capsys.readouterr().out
    assert "fault=diverge" in out and "step 50 did not converge" in out and "No space left" in out
    assert "AssertionError: a bug" in out


BROKEN = """    if parameters.damped and parameters.limit is None:
        raise UserError("it broke")
    n = parameters.steps"""


@pytest.mark.usefixtures("undrawn")
def test_a_sweep_half_done_over_choices_is_shown_as_it_stands(capsys):
    """Over true and false, a word, and none: what failed and what is to come are said, beside figures of the others."""
    Path("mine.py").write_text(Path(CASE).read_text().replace("    n = parameters.steps", BROKEN))
    words = ["damped=true,false", "shape=cosine,sine", "limit=none,2", "stiffness=2,8", "steps=5"]
    assert main(["sweep", "mine.py", *words, "--workers", "0", "--out", "a"]) == 1
    out = capsys.readouterr().out
    assert all(text in out for text in ("true, false", "cosine, sine", "none, 2"))
    assert "damped=true, shape=cosine, limit=none, stiffness=2" in out
    for point in ({"damped": False, "shape": "sine", "limit": limit, "stiffness": 8.0} for limit in (None, 2.0)):
        (Path("a") / "points" / f"{key(point)}.json").unlink()
    half = "10 of 16 computed, 4 failed, 2 not computed"
    for command, there in (("plot", "energy_strain.png"), ("report", "a-sweep.html")):
        assert main([command, "a"]) == 0
        out, err = capsys.readouterr()
        assert there in out and err == f"a: {half}\n"
    assert half in Path("a-sweep.html").read_text()
    assert main(["show", "a"]) == 0
    assert "not computed" in capsys.readouterr().out
    assert main(["sweep", "mine.py", *words, "--workers", "0", "--out", "a"]) == 1
    assert int(aq.open_sweep("a")["finished"].sum()) == 16


@pytest.mark.parametrize(
    "words",
    [
        ["limit=none,2,3"],
        pytest.param(["damped=false,true"], marks=pytest.mark.slow),
        pytest.param(["shape=sine,cosine"], marks=pytest.mark.slow),
    ],
)
def test_a_sweep_over_one_choice_with_one_point_is_drawn(words, capsys, one_line):
    assert main(["sweep", CASE, *words, "--workers", "0", "--out", "a", "--series", "energy"]) == 0
    first, *others = sorted((Path("a") / "points").glob("*.json"))
    for other in others:
        other.unlink()
    capsys.readouterr()
    for command in ("plot", "report", "show"):
        assert main([command, "a"]) == 0
    first.unlink()
    assert main(["report", "a"]) == 0
    capsys.readouterr()
    assert main(["plot", "a"]) == 1
    size = len(others) + 1
    assert one_line() == f"a: 0 of {size} computed, {size} not computed: nothing to plot"


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("words", "command"),
    [
        pytest.param(words.split(), command, marks=() if i % 2 == j else pytest.mark.slow, id=f"{words} {command}")
        for i, words in enumerate(
            [
                "reflection_spectrum absorbing=true,false ratio=2 shortest=2 longest=2.1 count=2",
                "bar_comparison velocity=5,10 elements=10 penalty_stiffness=1e13",
                "patch_test stabilised=false,true lower_cells=3 upper_cells=2",
                "asperity_press elements=2,4 steps=10",
            ]
        )
        for j, command in enumerate(("plot", "report"))
    ],
)
def test_sweeps_of_cases_of_several_runs_and_of_statics(words, command, capsys):
    assert main(["sweep", *words, "--workers", "0", "--out", "a"]) == 0
    next((Path("a") / "points").glob("*.json")).unlink()
    capsys.readouterr()
    assert main([command, "a"]) == 0
    assert capsys.readouterr().err.endswith(" computed, 1 not computed\n")


@pytest.mark.filterwarnings("ignore::arlequin.sweeps.dataset.SweepWarning")
def test_series_that_are_left_out_are_shown(capsys):
    def study(x):
        return {"force": xarray.DataArray(np.zeros((2,) * x), dims=("time", "axis")[:x])}

    aq.sweep(study, {"x": [1, 2]}, store="a", workers=0)
    assert main(["show", "a"]) == 0
    said = "(time: 2, axis: 2) at x=2; but (time: 2) at x=1"
    assert said in capsys.readouterr().out
    assert main(["report", "a"]) == 0
    assert said in Path("a-sweep.html").read_text()


def test_an_edited_case_is_another_one(capsys, one_line):
    text = Path(CASE).read_text()
    Path("mine.py").write_text(text)
    assert main(["sweep", "mine.py", "steps=3,4", "--workers", "1"]) == 0
    Path("mine.py").write_text(text.replace("/ 2,", "/ 4,"))
    capsys.readouterr()
    assert main(["sweep", "mine.py", "steps=3,4"]) == 2
    assert "has changed since" in one_line()


def test_an_edited_case_is_the_one_that_is_computed():
    """Also here, where the first one was loaded: its strain energy is halved."""
    text = Path(CASE).read_text()
    energies = []
    for divisor in ("2", "4.0"):
        Path("mine.py").write_text(text.replace("u**2 / 2", f"u**2 / {divisor}"))
        energies.append(cases.sweep("mine.py", {"steps": [3, 4]}, workers=0)["energy_strain"].values)
    assert energies[0] == pytest.approx(2.0 * energies[1], rel=1e-15)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([CASE, "stiffness=2"], "no swept parameter"),
        ([CASE], "no swept parameter"),
        ([], "no case given"),
        ([CASE, "stiffness=2:3"], "stiffness = '2:3': must be values a,b,c"),
        ([CASE, "stiffness=2,3", "--workers", "two"], "--workers = 'two': must be a whole number"),
        ([CASE, "stiffness=2,3", "--workers", "-1"], "workers = -1: must be"),
        ([CASE, "stiffness=2,3", "--fast"], "--fast: no such option"),
        (["two_bar", "stiffness=2,3"], "two_bar: no such case"),
    ],
)
def test_wrong_usage(words, says, one_line):
    assert main(["sweep", *words]) == 2
    assert says in one_line() and not Path("runs").exists()


def test_help(capsys):
    assert main(["sweep", "--help"]) == 0
    assert "--scheduler" in capsys.readouterr().out
    assert main(["sweep", CASE, "--help"]) == 0
    assert "stiffness of the spring" in capsys.readouterr().out


def test_help_of_a_case_ends_with_the_usage_of_the_command(capsys):
    for command in ("run", "check", "sweep"):
        assert main([command, "two_bars", "--help"]) == 0
        out = " ".join(capsys.readouterr().out.split())
        usage = out[out.index("arlequin ") :]
        assert usage.startswith(f"arlequin {command} two_bars ") and usage.endswith("[--force]")


@pytest.mark.sampled(7)
@pytest.mark.parametrize("name", cases.names())
def test_help_shows_values_that_can_be_swept(name, capsys, monkeypatch):
    """What it shows is what a sweep takes: a choice has all of its values, spread values reach both ends."""
    monkeypatch.setenv("COLUMNS", "200")
    assert main(["sweep", name, "--help"]) == 0
    out = capsys.readouterr().out
    shown = out[out.index("several values") : out.index("arlequin sweep")].splitlines()
    words = [line.split()[0] for line in shown if "=" in line]
    assert words
    for word in words:
        parameter, values = word.split("=")
        axis = planned(name, {parameter: values}, {})[1].axes[0]
        assert axis.name == parameter and len(axis.values) == (5 if ":" in values else values.count(",") + 1)


@pytest.mark.slow
def test_ctrl_c_says_how_to_go_on():
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    words = ["sweep", CASE, "stiffness=1:9:20", "steps=10000", "--out", "a"]
    command = [sys.executable, "-m", "arlequin.cases.cli.command", *words]
    running = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    limit = time.monotonic() + 120.0
    while not list(Path().glob("a/points/[!.]*.json")) and time.monotonic() < limit:
        time.sleep(0.01)
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=60)
    assert running.returncode == 1 and err.count("\n") == 1
    assert err.startswith("arlequin: interrupted; ")
    assert err.endswith(" of 20 points are in a; the same command continues the sweep\n")
    assert subprocess.run(command, env=environment, capture_output=True).returncode == 0
    assert (aq.open_sweep("a")["message"] == "").all()
