"""The static multi-level bar against its closed form, at several sizes and for both laws."""

from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq

from arlequin import cases
from arlequin.cases.shared.impact import mean_pressures


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"law": "asperities"},
        {"asperity_exponent": 1.0, "asperity_stiffness": 1e12},
        {"steps": 7, "elements": 1},
        {"gap": 8e-4},
    ],
)
def test_checks_pass(options: dict[str, Any]) -> None:
    assert not [check for check in cases.check("asperity_press", **options) if not check.passed]


def test_pressure_by_a_root_finder() -> None:
    """The scalar equation κ⟨a − g⟩² = E (d − (g0 − g))/L solved here, until the substrates touch (g = 0)."""
    result = cases.run("asperity_press", steps=40)
    time, pressure = mean_pressures(result)
    for d, p in zip(1.5e-3 * time[1:], pressure, strict=True):
        # compression of the bar: imposed displacement less what closed the gap

        def rest(g: float, d: float = d) -> float:
            return 5e15 * (5e-4 - g) ** 2 - 2e11 * (d - (5e-4 - g)) / 0.1

        gap = brentq(rest, 0.0, 5e-4, xtol=1e-18) if rest(0.0) > 0.0 else 0.0
        assert p == pytest.approx(2e11 * (d - (5e-4 - gap)) / 0.1, rel=1e-9)
    assert np.diff(pressure).min() > 0.0
