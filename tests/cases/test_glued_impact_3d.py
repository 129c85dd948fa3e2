"""The glued impact in 3D at small sizes: against the all-fine model, by both solvers, and its bad input."""

from typing import Any

import pytest

import arlequin as aq
from arlequin.cases import glued_impact_3d as case


def checked(**options: Any) -> Any:
    parameters = case.Parameters(**options)
    result = case.build(parameters).run()
    checks = case.check(result, parameters)
    assert all(own.passed for own in checks), checks
    return result, parameters, checks


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "options",
    [
        {"wall": "smooth"},
        {"wall": "rough", "friction": 0.3, "sliding": 1.0},
        {"wall": "rough", "solver": "iterative", "courant": 1.0},
        {"wall": "smooth", "ratio": 2, "young": 70e9, "density": 2700.0, "length": 0.04},
    ],
)
def test_checks(options: dict[str, Any]) -> None:
    _, _, checks = checked(cells=6, **options)
    assert checks[0].name == "impulse against the all-fine model"


def test_figures() -> None:
    result, parameters, _ = checked(cells=6, duration=1.0)
    assert set(case.figures(result, parameters)) == {"energies", "force", "pressure", "shape"}


def test_bad_input() -> None:
    with pytest.raises(aq.UserError, match=r"cells = 7: must be a multiple of ratio = 3"):
        case.Parameters(cells=7)
    with pytest.raises(aq.UserError, match=r"tip = 2\.5: the fine tip and its gluing zone must end"):
        case.Parameters(tip=2.5)
