"""Phases of the set-up, as a progress bar shows them."""

import io
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import xarray

import arlequin as aq
from arlequin import cases
from arlequin.models.kernel_cache import COMPILING
from arlequin.models.phases import listening, phase, seconds_in
from arlequin.results.reading import summary
from arlequin.run.multi_run import Measure, collect_runs
from arlequin.run.progress import ProgressBar

STEEL = aq.LinearElastic(young=2e11, poisson=0.3, density=7800)


def glued() -> aq.System:
    coarse = aq.Solid("coarse", aq.mesh.rectangle((0, 2), (0, 1), cells=(4, 2)), STEEL, plane="strain")
    fine = aq.Solid("fine", aq.mesh.rectangle((1, 3), (0, 1), cells=(8, 4)), STEEL, plane="strain")
    return aq.System([coarse, fine], [aq.Junction(coarse, fine)], velocity=(1.0, 0.0))


def test_names_in_order() -> None:
    said: list[str] = []
    with listening(said.append):
        aq.simulate(glued(), aq.Theta(0.5), duration=1e-6, step=1e-6)
    assert [name.split(" ")[0] for name in said if name] == [
        "coupling", "matrices", "factor", "condensation", "initial", "condition",
    ]  # fmt: skip
    assert said[-1] == ""
    del said[:]
    aq.simulate(glued(), aq.Theta(0.5), duration=1e-6, step=1e-6)
    assert said == []  # nobody listens any more


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_bar_shows_the_phase(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal: elsewhere there is no bar, which listens to nothing."""
    shown: list[str] = []
    monkeypatch.setattr("sys.stderr", Terminal())
    with ProgressBar("run") as bar, pytest.MonkeyPatch.context() as patch:
        patch.setattr(bar._progress, "refresh", lambda: shown.append(bar._progress.tasks[0].fields["rate"]))
        aq.simulate(glued(), aq.Theta(0.5), duration=1e-6, step=1e-6, progress=bar)
        assert "steps/s" in bar._progress.tasks[0].fields["rate"]
    assert any(text.startswith("factor of ") for text in shown)


def test_times_of_a_run_are_without_the_compilation_of_kernels() -> None:
    """Pretended by a phase of its name, for a while in a step."""

    def compiles(done: int, total: int) -> None:
        if done == total:
            with phase(COMPILING):
                time.sleep(0.3)

    begin, before = time.perf_counter(), seconds_in(COMPILING)
    result = aq.simulate(glued(), aq.Theta(0.5), duration=3e-6, step=1e-6, progress=compiles)
    taken, compiled = time.perf_counter() - begin, seconds_in(COMPILING) - before
    assert result.attrs["compile_time"] == pytest.approx(compiled) and compiled >= 0.3
    assert result.attrs["setup_time"] + result.attrs["wall_time"] <= taken - compiled + 1e-3
    assert summary(result).facts["wall time"].endswith(" s compiling kernels, once on this machine)")
    assert "compile time" not in summary(result).facts
    again = aq.simulate(glued(), aq.Theta(0.5), duration=3e-6, step=1e-6)
    assert again.attrs["compile_time"] == 0.0
    assert not any("compil" in text for text in [*summary(again).facts, summary(again).facts["wall time"]])


def falling(velocity: float = 0.0) -> aq.System:
    return aq.System([aq.PointMasses("stone", 0.0, 2.0)], velocity=velocity)


def test_every_result_has_the_time_of_compilation(tmp_path: Path) -> None:
    """Of a run, of several together or one after the other, of a case and of the points of a sweep."""
    compiled, theta = seconds_in(COMPILING), aq.Theta(0.5)

    def run(velocity: float = 0.0) -> xarray.DataTree:
        return aq.simulate(falling(velocity), theta, duration=1.0, step=0.1)

    measures = [Measure("", "end", "m", "displacement at the end")]
    results = [
        run(),
        aq.Study(falling(), theta, duration=1.0, step=0.1).run(record=tmp_path / "run.zarr"),
        aq.simulate_ensemble([falling(v) for v in (0.0, 1.0)], theta, duration=1.0, step=0.1),
        collect_runs(lambda i: {("", "end"): 1.0}, measures, ("run", [0, 1]), of={}, record=aq.Record()),
        cases.run("bar_wall", elements=20),
    ]
    swept = aq.sweep(lambda v: {"time": run(v).attrs["compile_time"]}, {"v": [0.0]}, workers=0)
    times = [*(result.attrs["compile_time"] for result in results), swept["time"].item()]
    assert all(isinstance(seconds, float) and seconds >= 0.0 for seconds in times)
    assert sum(times) == pytest.approx(seconds_in(COMPILING) - compiled)


def test_time_of_compilation_adds_up_over_the_parts_of_a_run(tmp_path: Path) -> None:
    path, begin = tmp_path / "run.zarr", seconds_in(COMPILING)

    def stops(done: int, total: int) -> None:
        if done > 60:  # after a batch that began with the compilation
            raise KeyboardInterrupt
        with phase(COMPILING):
            time.sleep(0.1)

    def go(progress: Callable[[int, int], None] | bool) -> xarray.DataTree:
        record = aq.Record(path, resume=True)
        return aq.simulate(falling(1.0), aq.Theta(0.5), duration=1.0, step=5e-3, record=record, progress=progress)

    with pytest.raises(KeyboardInterrupt):
        go(stops)
    first = aq.results.open(path)
    assert first.attrs["complete"] == 0 and 0.1 <= first.attrs["compile_time"] <= seconds_in(COMPILING) - begin
    whole = go(False)
    assert whole.attrs["complete"] == 1
    assert whole.attrs["compile_time"] == pytest.approx(seconds_in(COMPILING) - begin)
    assert go(False).attrs["compile_time"] == whole.attrs["compile_time"]
