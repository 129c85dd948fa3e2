"""The glued models of the benchmark against the all-fine ones, on the cells that both have."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    """tests/bench.py, which is a script."""
    spec = importlib.util.spec_from_file_location("bench", Path(__file__).with_name("bench.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["bench"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def errors(bar: Any, duration: float = 1e-4) -> dict[str, float]:
    studies = [bar.study(model, duration) for model in ("glued", "fine")]
    return bar.errors(*((study, study.run()) for study in studies))


@pytest.mark.parametrize("axes, across, ratio", [(2, 20, 4), (3, 8, 2)])
def test_fine_end_of_a_glued_bar_moves_as_in_the_bar_all_fine(
    bench: ModuleType, axes: int, across: int, ratio: int
) -> None:
    """Until the wave has come back from the far end and the end has left the wall."""
    bar = bench.RoundedBar(axes, across, ratio, free=4, length=0.1)
    assert max(errors(bar, 6e-5).values()) <= 1e-2


@pytest.mark.slow
@pytest.mark.parametrize("name", ["2D", "3D"])
def test_error_of_the_benchmark_in_the_zone_of_interest(bench: ModuleType, name: str) -> None:
    assert max(errors(bench.ROUNDED_BARS[name]).values()) <= 1e-2
