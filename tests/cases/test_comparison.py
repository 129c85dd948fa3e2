"""Comparison runs: nothing that plots a result runs a solver; what `compare` stores is found, and nothing else."""

import os
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import arlequin as aq
from arlequin import cases
from arlequin.cases.case import comparison as comparisons
from arlequin.cases.case.comparison import comparison, computed_comparisons, key_of, stored_comparisons
from arlequin.cases.case.execution import execute, prepare
from arlequin.cases.case.registry import Case
from arlequin.cases.cli.command import main
from arlequin.cases.oblique_impact import plots as oblique_figures
from arlequin.results.damage import ResultWarning
from arlequin.run.run import Run

ROOT = Path(__file__).parents[2]

# small sizes of the cases that have other models to compare with, and the figures and curves that these add
COMPARED = {
    "imported_rod": {"duration": 2e-4},
    "multiscale_bar": {"duration": 2e-6},
    "junction_cantilever": {"duration": 6e-5, "fields_every": 1},
    "cantilever_overlap": {"size": 0.0127, "duration": 6e-5, "fields_every": 1},
    "high_frequency": {"ratio": 3},
    "glued_ring": {},
    "patch_test": {"lower_cells": 3, "upper_cells": 2},
    "ironing": {"slider_size": 1e-3, "block_size": 1.5e-3, "steps": 6},
    "rolling_patch": {"ratio": 2, "cylinder_size": 6e-4, "duration": 2.5e-3, "step": 5e-5, "width": 6},
    "cylinder_impact": {"size": 1e-3, "ratio": 3, "free": 4e-3, "overlap": 4e-3, "duration": 1e-5},
    "oblique_impact": {"shape": "disc", "cells": 2, "steps": 10},
    "glued_impact_3d": {"cells": 6, "duration": 1.0},
    "nested_cylinders": {"size": 0.02, "step": 2e-6, "duration": 6e-5, "cut": 2e4},
    "spinning_block": {"steps": 20},
    "sdnv105": {"model": "elastic", "impacts": 1, "cells": 2, "step": 2e-3, "duration": 0.02},
    "rod_drop": {"length": 1.0, "cells": 8, "guides": 4, "duration": 0.1, "drop": 0.3},
    "taylor_bar": {"elements": 2, "duration": 1e-6, "wall": "unilateral", "friction": 0.3},
    "fuel_rod": {"length": 1.0, "grids": 2, "duration": 0.005, "modes": 10, "cells": 8},
}
ALONE = {
    "two_bars": {"elements": 8},
    "bar_comparison": {"elements": 12, "courant": 0.4},
    "bar_wall": {"elements": 12},
    "thrown_bar": {"elements": 12},
    "bouncing_bar": {"elements": 10},
    "asperity_press": {"elements": 5, "steps": 10},
    "wave_junction": {"ratio": 3, "duration": 0.2},
    "reflection_spectrum": {"ratio": 3, "count": 2},
    "beam_solid": {"length": 1.0, "beam_length": 0.6},
    "beam_to_solid": {"switch": 0.1, "duration": 0.2, "step": 5e-3, "solid_size": 0.01, "beam_size": 0.02},
    "hertz": {"cells": 8, "steps": 2},
    "hertz_sphere": {"cells": 6, "steps": 2},
    "cattaneo_mindlin": {"cells": 6, "steps": 3},
    "press_fit": {"cells": 3, "step": 1e-5},
    "friction_pad": {"cells": 6, "transits": 1.0},
    "wear_pin": {"cells": 8, "steps": 20},
    "backlash_rig": {"duration": 0.3, "step": 1e-3},
    "fretting_pad": {"cells": 5, "steps": 8, "cycles": 3},
    "grid_cell": {"refine": 0.3, "steps": 2},
    "sdnd100": {"step": 1e-3, "duration": 0.2},
    "sdnd104": {"end": 6.0, "step": 1e-3},
    "sdnd106": {"steps": 100},
    "stick_slip_belt": {"steps": 200, "cycles": 3},
    "rate_state_block": {"slides": 2.0},
    "nonlinear_mode": {"steps": 400, "points": 5},
    "rod_resonance": {"steps": 60, "points": 6, "rate": 0.5, "modes": 3, "lowest": 9.5},
    "rod_identification": {"modes": 3, "duration": 0.04, "step": 2e-4, "trials": 1},
    "rod_in_grid": {"duration": 0.02, "start": 0.004, "modes": 4, "cells": 2, "step": 4e-4, "samples": 2},
    "wear_confidence": {
        "duration": 0.01, "start": 0.002, "modes": 4, "cells": 2, "levels": 2, "samples": 4, "indices": 2,
        "accuracy": 2.0,
    },
    "sphere_impact": {"cells": 4, "steps": 20},
    "ring_impact": {"elements": 1, "around": 12, "duration": 0.004},
    "necking_bar": {"elements": 2, "steps": 5},
    "cook_plastic": {"elements": 4, "steps": 4},
    "rough_press": {"cells": 4, "seeds": 1, "loads": 5, "octaves": 2, "flat": 1},
    "rough_impact": {"elements": 20, "seeds": 1, "octaves": 2, "flat": 1, "steps": 20},
}  # fmt: skip
LONG = {
    "cattaneo_mindlin",
    "grid_cell",
    "necking_bar",
    "reflection_spectrum",
    "rod_drop",
    "rough_impact",
    "rough_press",
}


@pytest.fixture
def no_solver(monkeypatch):
    """no_solver(): from now on a run of any kind fails."""

    def refuse(*arguments, **options):
        raise AssertionError("a solver was started")

    def start():
        monkeypatch.setattr(Run, "__init__", refuse)
        monkeypatch.setattr(aq.Study, "run", refuse)
        monkeypatch.setattr(aq, "simulate", refuse, raising=False)

    return start


@pytest.fixture(autouse=True)
def few_points(monkeypatch):
    """Of the reference's curves of oblique impacts, which take seconds."""
    monkeypatch.setattr(oblique_figures, "POINTS", 3)


def shown(case: Case, result, parameters, path):
    """Figures and checks as `plot` and `report` make them, and the line about what is missing."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ResultWarning)
        with stored_comparisons(path):
            figures = case.function("figures")(result, parameters)
            checks = case.function("check")(result, parameters)
    return figures, checks, [str(w.message) for w in caught if issubclass(w.category, ResultWarning)]


def points(figures):
    """Number of points of all curves."""
    return sum(len(line.get_xydata()) for figure in figures.values() for axes in figure.axes for line in axes.lines)


def test_every_case_is_here():
    assert sorted([*COMPARED, *ALONE]) == sorted(cases.names())
    assert {name for name in cases.names() if prepare(name, {})[0].has("comparisons")} == set(COMPARED)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow) if n in LONG else n for n in (*COMPARED, *ALONE)]
)
def test_figures_and_checks_of_a_result_run_no_solver(name, no_solver, folder):
    case, parameters = prepare(name, (COMPARED | ALONE)[name])
    result = execute(case, parameters, "a.zarr")
    assert bool(comparisons.models_of(case, result, parameters)) == (name in COMPARED)
    no_solver()
    figures, checks, said = shown(case, result, parameters, "a.zarr")
    assert figures and len(checks) > 0
    if name in COMPARED:
        assert len(said) == 1 and said[0].startswith("without the comparison run")
        assert said[0].endswith(": `arlequin compare a.zarr` computes what is missing")
    else:
        assert said == []


FAST = {"junction_cantilever", "high_frequency", "ironing", "taylor_bar", "fuel_rod"}


@pytest.mark.slow
@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow) if n not in FAST else n for n in COMPARED])
def test_what_is_stored_is_shown(name, no_solver, folder):
    """By `compare` once, then read: the figures of Python, where runs are computed in memory, to the bit."""
    case, parameters = prepare(name, COMPARED[name])
    result = execute(case, parameters, "a.zarr")
    bare, few, _ = shown(case, result, parameters, "a.zarr")
    in_memory = case.function("figures")(result, parameters)
    comparisons.compare(case, parameters, "a.zarr")
    no_solver()
    figures, checks, said = shown(case, result, parameters, "a.zarr")
    assert said == [] and list(figures) == list(in_memory)
    assert points(figures) > points(bare) or name == "fuel_rod"  # of which a check needs it
    assert len(checks) >= len(few)
    for title, figure in figures.items():
        for axes, others in zip(figure.axes, in_memory[title].axes, strict=True):
            for line, other in zip(axes.lines, others.lines, strict=True):
                assert (line.get_xydata() == other.get_xydata()).all() or line.get_xydata().dtype == object


BAR = ("junction_cantilever", "duration=6e-5", "fields_every=1")
RUN = "runs/junction_cantilever.zarr"


def stored(path=RUN):
    return sorted(Path(path, "comparison").glob("*/zarr.json"))


@pytest.mark.slow
def test_commands(folder, capsys, undrawn, no_solver):
    """Each command does what it says, and only with what is stored; a new run drops what was stored for the last."""
    assert main(["run", *BAR]) == 0 and stored() == []
    capsys.readouterr()
    assert main(["plot", RUN]) == 0
    line = (
        f'arlequin: {RUN}: without the comparison run "one mesh": `arlequin compare {RUN}` computes what is missing\n'
    )
    assert capsys.readouterr().err.replace(f"{RUN}: {RUN}", RUN) in (line, line.replace(f"{RUN}: without", "without"))
    assert main(["report", RUN]) == 0
    assert capsys.readouterr().err.count("\n") == 1
    assert "without the comparison runs one mesh" in Path("runs/junction_cantilever.html").read_text(encoding="utf-8")
    assert main(["compare", RUN]) == 0
    assert capsys.readouterr().out == f"comparison runs stored in {RUN}: one mesh\n" and len(stored()) == 1
    kept = aq.results.open(stored()[0].parent)
    assert kept.attrs["complete"] and kept.attrs["model"] == "one mesh" and kept.attrs["case"] == BAR[0]
    before = stored()[0].stat().st_mtime_ns
    assert main(["compare", RUN]) == 0 and stored()[0].stat().st_mtime_ns == before
    assert capsys.readouterr().out == f"{RUN}: no comparison run is missing\n"
    assert main(["compare", RUN, "--force"]) == 0 and stored()[0].stat().st_mtime_ns > before
    capsys.readouterr()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Run, "__init__", None)
        assert main(["plot", RUN]) == 0 and main(["report", RUN]) == 0
        assert capsys.readouterr().err == ""
        assert "without the comparison" not in Path("runs/junction_cantilever.html").read_text(encoding="utf-8")
    assert main(["run", *BAR, "--compare"]) == 0 and len(stored()) == 1
    assert main(["run", *BAR]) == 0 and stored() == []
    assert main(["check", *BAR, "--out", "b.zarr"]) in (0, 1) and len(stored("b.zarr")) == 1
    assert main(["run", "bar_wall", "elements=12", "--compare"]) == 0
    assert "runs/bar_wall.zarr: no comparison run is missing" in capsys.readouterr().out


def test_a_result_with_comparison_runs_is_read_as_one_without(folder, capsys):
    import xarray

    assert main(["run", *BAR, "--out", "a.zarr"]) == 0
    alone = aq.results.open("a.zarr").load()
    assert main(["compare", "a.zarr"]) == 0
    capsys.readouterr()
    both = aq.results.open("a.zarr")
    assert both.identical(alone) and list(both.children) == list(alone.children)
    assert list(xarray.open_datatree("a.zarr", engine="zarr").children) == list(alone.children)
    assert main(["show", "a.zarr"]) == 0
    assert main(["export", "a.zarr", "--netcdf", "a.nc", "--vtu", "vtu"]) == 0
    assert "one mesh" not in capsys.readouterr().err and aq.results.open("a.zarr").identical(alone)


@pytest.mark.slow
def test_from_python(folder):
    cases.run("high_frequency", "a.zarr", ratio=3)
    runs = cases.compare("a.zarr")
    assert list(runs) == ["point", "arlequin", "fine"] and all(run.attrs["complete"] for run in runs.values())
    assert cases.check("high_frequency", "b.zarr", ratio=3) and stored("b.zarr") == []  # its checks need none
    assert len(cases.check("glued_ring", "c.zarr")) == 3 and len(stored("c.zarr")) == 1


def test_runs_in_memory_are_kept(monkeypatch):
    """The same model is run once, until a file that it reads has changed."""
    case, parameters = prepare("high_frequency", {"ratio": 3})
    build = case.function("build")
    first = comparison(build, {"a": parameters}, "a")
    assert comparison(build, {"b": parameters}, "b") is first and comparison(build, {}, "a") is None
    with computed_comparisons(case, None):
        assert comparison(build, {"a": parameters}, "a") is first
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with stored_comparisons(None):
            assert comparison(build, {"a": parameters}, "a") is None


@pytest.mark.slow
def test_an_interrupted_comparison_is_resumed_or_computed_again(folder, monkeypatch, capsys):
    assert main(["run", *BAR]) == 0
    capsys.readouterr()
    plain = aq.Study.run

    def interrupted(self, record=None, attributes=None, progress=None):
        def stop(done, total):
            if done > total // 2:
                raise KeyboardInterrupt

        return plain(self, record, attributes, stop)

    monkeypatch.setattr(aq.Study, "run", interrupted)
    assert main(["compare", RUN]) == 1
    assert capsys.readouterr().err == (
        f"arlequin: interrupted; finished comparison runs are kept, `arlequin compare {RUN}` continues\n"
    )
    monkeypatch.setattr(aq.Study, "run", plain)
    place = stored()[0].parent
    assert aq.results.open(RUN).attrs["complete"] and not aq.results.open(place).attrs.get("complete")
    assert main(["plot", RUN]) == 0 and "without the comparison run" in capsys.readouterr().err
    assert main(["compare", RUN]) == 0 and aq.results.open(place).attrs["complete"]
    resumed = aq.results.open(place)["part/fine/displacement"].values
    assert main(["compare", RUN, "--force"]) == 0
    assert (aq.results.open(place)["part/fine/displacement"].values == resumed).all()
    (place / "zarr.json").write_text("{")  # damaged beyond repair: said, and computed again
    (place / ".header.json").unlink()
    capsys.readouterr()
    assert main(["plot", RUN]) == 0
    assert "comparison/one_mesh" in capsys.readouterr().err


@pytest.mark.slow
def test_a_killed_comparison_leaves_a_readable_result(folder):
    words = [sys.executable, "-m", "arlequin.cases.cli.command"]
    assert main(["run", "multiscale_bar", "--out", "a.zarr", "duration=2e-5"]) == 0
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    running = subprocess.Popen([*words, "compare", "a.zarr"], env=environment, stderr=subprocess.DEVNULL)
    while not stored("a.zarr") and running.poll() is None:
        pass
    running.send_signal(signal.SIGKILL)
    running.wait()
    assert aq.results.open("a.zarr").attrs["complete"]
    assert main(["compare", "a.zarr"]) == 0 and aq.results.open(stored("a.zarr")[0].parent).attrs["complete"]


@pytest.mark.slow
def test_runs_that_fail_are_said(folder, capsys):
    assert main(["run", *BAR]) == 0
    capsys.readouterr()

    def fails(self, *arguments, **options):
        raise aq.UserError("step 3 did not converge", code=1)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(aq.Study, "run", fails)
        assert main(["compare", RUN]) == 0
    assert capsys.readouterr().err == "arlequin: one mesh: step 3 did not converge\n"
    assert main(["plot", RUN]) == 0 and capsys.readouterr().err == ""
    assert main(["compare", RUN]) == 0 and len(stored()) == 1
    assert not list(Path(RUN, "comparison").glob("*.json"))


def test_bad_input(folder, one_line, capsys):
    assert main(["compare", "missing.zarr"]) == 2 and one_line() == "missing.zarr: no such result"
    assert main(["compare"]) == 2 and "RESULT" in one_line()
    part = aq.PointMasses("m", (0.0,), 1.0)
    aq.simulate(aq.System([part]), aq.Theta(0.5), duration=1.0, step=0.1, record="c.zarr")
    assert main(["compare", "c.zarr"]) == 2
    assert one_line() == "c.zarr: not the result of a case: nothing to compare it with"

    def stop(done, total):
        raise KeyboardInterrupt

    case, parameters = prepare("bar_wall", {"elements": 12})
    with pytest.raises(KeyboardInterrupt):
        execute(case, parameters, "d.zarr", stop)
    assert main(["compare", "d.zarr"]) == 1
    assert one_line() == "d.zarr: incomplete: `arlequin resume d.zarr` first"
    assert main(["run", *BAR]) == 0
    capsys.readouterr()
    Path("elsewhere").mkdir()
    Path(RUN, "comparison").symlink_to(Path("elsewhere").absolute())
    assert main(["compare", RUN]) == 1 and one_line() == f"{RUN}/comparison: not a folder: remove it"
    with computed_comparisons(case, "d.zarr"):
        assert main(["run", "bar_wall", "--out", "d.zarr", "--force"]) == 1
        assert "another run is writing it" in one_line()


def test_names_of_folders():
    parameters = prepare("high_frequency", {})[1]
    assert key_of("θ = 1, all fine", parameters).startswith("theta_1_all_fine-")
    assert key_of("a", parameters) != key_of("a", prepare("high_frequency", {"ratio": 3})[1])
