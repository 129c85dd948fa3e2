"""The benchmark: its entries, and its glued models against the all-fine ones, on the cells that both have."""

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).with_name("bench")


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Imports a module of tests/bench, whose files are those of a script."""
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.syspath_prepend(str(FOLDER.parent))
    before = set(sys.modules)
    yield importlib.import_module
    for name in set(sys.modules) - before:
        if str(FOLDER) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def errors(bar: Any, duration: float = 1e-4) -> dict[str, float]:
    studies = [bar.study(model, duration) for model in ("glued", "fine")]
    return bar.errors(*((study, study.run()) for study in studies))


@pytest.mark.parametrize("axes, across, ratio", [(2, 20, 4), pytest.param(3, 8, 2, marks=pytest.mark.slow)])
def test_fine_end_of_a_glued_bar_moves_as_in_the_bar_all_fine(bench: Any, axes: int, across: int, ratio: int) -> None:
    """Until the wave has come back from the far end and the end has left the wall."""
    bar = bench("bench_glued").RoundedBar(axes, across, ratio, free=4, length=0.1)
    assert max(errors(bar, 6e-5).values()) <= 1e-2


@pytest.mark.slow
@pytest.mark.parametrize("name", ["2D", "3D"])
def test_error_of_the_benchmark_in_the_zone_of_interest(bench: Any, name: str) -> None:
    assert max(errors(bench("bench_glued").ROUNDED_BARS[name]).values()) <= 1e-2


def test_every_entry_is_there(bench: Any) -> None:
    registry = bench("registry")
    assert all(callable(registry.function(name)) for name in registry.ENTRIES)


@pytest.mark.slow
def test_figures_of_small_runs(bench: Any) -> None:
    """Each entry that can be made small gives numbers, and JSON."""
    explicit = bench("bench_explicit")
    found = explicit.explicit(20, 8, 0.0), bench("bench_memory").memory(3), explicit.explicit_glued(3, 1, 4)
    for figures in found:
        for model in json.loads(json.dumps(figures)).values():
            assert model["dofs"] > 0 and all(value > 0 for value in model.values())
    assert found[1]["hexahedra 3³"]["contact points"] == 16
    assert found[2]["hexahedra 3³ and 6³"]["multipliers"] == 96
