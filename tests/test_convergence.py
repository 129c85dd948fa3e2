"""Convergence of whole cases: least-squares orders of the contact pressure against exact references."""

from typing import Any

import numpy as np
import pytest

from arlequin import cases
from arlequin.cases import bar_wall, two_bars
from arlequin.cases.reference.measures import l1_error, mean_error
from arlequin.cases.shared.impact import mean_pressures


def order(sizes: list[int], errors: list[float]) -> float:
    return float(-np.polyfit(np.log(sizes), np.log(errors), 1)[0])


def errors_of(case: str, sizes: list[int], measure: Any = l1_error, **options: Any) -> list[float]:
    module = {"two_bars": two_bars, "bar_wall": bar_wall}[case]
    errors = []
    for n in sizes:
        result = cases.run(case, elements=n, **options)
        reference = module.reference(module.Parameters(elements=n, **options))
        errors.append(measure(*mean_pressures(result), reference))
    return errors


@pytest.mark.parametrize("sizes", [[50, 100, 200, 400], pytest.param([50, 100, 200, 400, 800], marks=pytest.mark.slow)])
def test_two_bars(sizes: list[int]) -> None:
    assert order(sizes, errors_of("two_bars", sizes)) >= 0.65


def loss(elements: int, law: str, phase: float) -> float:
    """Energy that a collision of bars with massless ends loses; the impact falls at `phase` of a step."""
    step = 0.7071 * 0.1 / elements / np.sqrt(2.0e11 / 7800.0)
    gap = 20.0 * step * (np.floor(1e-4 / (20.0 * step)) + phase)  # they close at 20 m/s
    result = cases.run("two_bars", elements=elements, law=law, mass="redistributed", gap=gap, courant=0.7071)
    energy = result["energy"].sel(kind=["kinetic", "strain"]).sum("kind").values
    return float(1.0 - energy[-1] / energy[0])


def test_impact_loss_of_redistributed_mass() -> None:
    """Plain θ = 1/2: order 1, with gap-level contact as a mean over where in the step the bars meet."""
    sizes = [50, 100, 200]
    assert order(sizes, [loss(n, "unilateral-velocity", 0.3) for n in sizes]) >= 1.0 - 1e-6
    mean = [float(np.mean([loss(n, "unilateral", phase) for phase in (0.125, 0.375, 0.625, 0.875)])) for n in sizes]
    assert order(sizes, mean) >= 1.0 - 1e-4
    assert mean[1] < 2e-3


THESIS: dict[str, Any] = {"law": "multilevel", "courant": 0.7071}


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "options",
    [
        {},
        pytest.param({"asperity_damping": 2e4}, marks=pytest.mark.slow),
        pytest.param({"scheme": "hht"}, marks=pytest.mark.slow),
        pytest.param({"scheme": "hht", "asperity_damping": 2e4}, marks=pytest.mark.slow),
        # strong damping sends a front through the bar while it is in contact: θ = 1/2 alone reaches order 0.60
        {"scheme": "hht", "asperity_damping": 2e7},
    ],
)
@pytest.mark.parametrize("sizes", [[50, 100, 200, 400], pytest.param([50, 100, 200, 400, 800], marks=pytest.mark.slow)])
def test_multilevel(options: dict[str, Any], sizes: list[int]) -> None:
    errors = errors_of("bar_wall", sizes, **options, **THESIS)
    assert order(sizes, errors) >= 0.65
    assert errors[3] <= 0.01


def test_smooth_asperities() -> None:
    """Step means against step means (a stepwise history itself is nearer to no curve than order 1)."""
    sizes = [50, 100, 200, 400]
    options: dict[str, Any] = {
        "law": "asperities", "velocity": 10.0, "asperity_stiffness": 5e15, "asperity_exponent": 2.0, "courant": 0.7071,
    }  # fmt: skip
    assert order(sizes, errors_of("bar_wall", sizes, mean_error, **options)) >= 1.5
