"""The thrown bar: contact times, pressure and rebound against the closed form; order under refinement."""

from typing import Any

import numpy as np
import pytest
import xarray

from arlequin import cases
from arlequin.cases import thrown_bar
from arlequin.cases.shared.impact import mean_pressures, rigid_velocity, worst_balance

CONSERVING = {"scheme": "midpoint", "mass": "redistributed", "law": "unilateral"}


def l1_of(result: xarray.DataTree) -> float:
    """∫ |p_h − p| dt over the impulse 300 · 2/3, p = 300 on [0.5, 0.5 + 2/3]."""
    edges, pressure = mean_pressures(result)
    lengths = np.diff(edges)
    inside = np.clip(np.minimum(edges[1:], 0.5 + 2 / 3) - np.maximum(edges[:-1], 0.5), 0.0, None)
    return float(np.sum(np.abs(pressure - 300.0) * inside + pressure * (lengths - inside)) / 200.0)


def test_defaults() -> None:
    result = cases.run("thrown_bar")
    edges, pressure = mean_pressures(result)
    high = np.flatnonzero(pressure > 150.0)
    assert edges[high[0]] == pytest.approx(0.5, abs=0.002)
    assert edges[high[-1] + 1] == pytest.approx(0.5 + 2 / 3, abs=0.002)
    assert np.median(pressure[high]) == pytest.approx(300.0, rel=1e-3)
    assert l1_of(result) <= 0.007
    assert rigid_velocity(result, "bar") >= 9.9
    assert worst_balance(result) <= 1e-12


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"elements": 50},
        {"courant": 1.0, "scheme": "newmark"},
        {"scheme": "central-difference", "mass": "lumped", "courant": 0.9},
        {"law": "penalty", "penalty_stiffness": 1e3, "courant": 0.5},
        {"law": "penalty-velocity", "penalty_viscosity": 300.0},
        {"height": 0.0},
        {"duration": 0.3},
        {"young": 2e11, "density": 7800.0, "length": 0.1, "height": 1e-4},
    ],
)
def test_checks_pass(options: dict[str, Any]) -> None:
    assert not [check for check in cases.check("thrown_bar", **options) if not check.passed]


@pytest.mark.slow
def test_conserving_contact_rebounds_whole() -> None:
    """Energy to round-off, and order 1 of the pressure; its ripple is bounded, but above that of the velocity law."""
    errors = []
    for elements in (50, 200):
        result = cases.run("thrown_bar", elements=elements, **CONSERVING)
        energy = result["energy"].sel(kind=["kinetic", "strain"]).sum("kind").values
        assert np.abs(energy / energy[0] - 1.0).max() <= 1e-12
        assert mean_pressures(result)[1].max() <= 1.2 * 300.0
        errors.append(l1_of(result))
    assert rigid_velocity(result, "bar") >= 9.98
    assert np.log2(errors[0] / errors[1]) / 2.0 >= 0.9
    failed = [check.name for check in thrown_bar.check(result, thrown_bar.Parameters(elements=200, **CONSERVING))
              if not check.passed]  # fmt: skip
    assert failed == ["contact pressure, total variation"]
