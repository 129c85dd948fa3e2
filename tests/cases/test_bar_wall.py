"""A bar on a wall: every law against the delay equation, and closed forms of unilateral contact."""

from typing import Any

import numpy as np
import pytest

import arlequin as aq
from arlequin import cases
from arlequin.cases import bar_wall
from arlequin.cases.reference.measures import l1_error
from arlequin.cases.shared.impact import mean_pressures, rigid_velocity, worst_balance

THESIS: dict[str, Any] = {"law": "multilevel", "asperity_stiffness": 1e12, "asperity_height": 5e-4, "velocity": 100.0}


def error_of(**options: Any) -> float:
    result = cases.run("bar_wall", **options)
    assert worst_balance(result) <= 1e-12
    return l1_error(*mean_pressures(result), bar_wall.reference(bar_wall.Parameters(**options)))


@pytest.mark.parametrize("damping", [0.0, 2e4, 2e7])
def test_multilevel_at_400_elements(damping: float) -> None:
    assert error_of(**THESIS, asperity_damping=damping, elements=400, courant=0.7071) <= 0.01


SCHEMES = ("theta", "newmark", "hht", "generalised-alpha", "modified-mean-acceleration")
LAWS = ("unilateral-velocity", "penalty", "penalty-velocity", "asperities", "multilevel")


@pytest.mark.parametrize(
    ("law", "scheme"),
    [
        pytest.param(law, scheme, marks=() if (i + j) % 3 == 0 else pytest.mark.slow)
        for i, law in enumerate(LAWS)
        for j, scheme in enumerate(SCHEMES)
    ],
)
def test_laws_and_schemes(law: str, scheme: str) -> None:
    """Every law with every implicit scheme comes near the delay equation at a small size."""
    options = {"law": law, "scheme": scheme, "elements": 60, "courant": 0.7071, "velocity": 10.0}
    if law in ("penalty", "penalty-velocity"):
        options |= {"penalty_stiffness": 2e13, "penalty_viscosity": 4e8}
    if law in ("asperities", "multilevel"):
        options |= {"asperity_stiffness": 5e15, "asperity_exponent": 2.0}
    # unilateral contact has a jump of pressure, which the damped schemes meet at order 1/2 … 2/3
    assert error_of(**options) <= (0.06 if law in ("unilateral-velocity", "penalty-velocity") else 0.04)


def test_unilateral_rebound() -> None:
    """SDNV100: contact from gap/V for 2L/c at ρcV; the mean velocity after release at 200 elements."""
    options = {"length": 0.2, "young": 2e11, "density": 8000.0, "velocity": 100.0, "gap": 0.002, "elements": 200}
    result = cases.run("bar_wall", **options)
    assert -rigid_velocity(result, "bar") >= 99.0
    edges, pressure = mean_pressures(result)
    contact = pressure > 0.5 * 4.0e9
    assert edges[:-1][contact][0] == pytest.approx(2e-5, abs=4e-7)
    assert edges[1:][contact][-1] == pytest.approx(1e-4, abs=4e-7)
    assert np.median(pressure[contact]) == pytest.approx(4.0e9, rel=5e-3)


def test_checks_pass() -> None:
    for options in ({"elements": 100}, {"elements": 200, "courant": 0.7071, **THESIS}):
        assert all(check.passed for check in cases.check("bar_wall", **options))


def test_crushed_asperities_at_the_start_are_refused() -> None:
    with pytest.raises(aq.UserError, match="gap"):
        bar_wall.Parameters(law="asperities", gap=1e-4, asperity_height=5e-4)
