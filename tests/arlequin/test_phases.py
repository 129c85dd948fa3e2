"""Phases of the set-up, as a progress bar shows them."""

import io
import time

import pytest

import arlequin as aq
from arlequin.models.kernel_cache import COMPILING
from arlequin.models.phases import listening, phase, seconds_in
from arlequin.results.reading import summary
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
    assert "compile_time" not in again.attrs and "compiling" not in summary(again).facts["wall time"]
