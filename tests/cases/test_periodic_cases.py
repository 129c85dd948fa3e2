"""Cases of periodic motions at small sizes."""

import numpy as np
import pytest

from arlequin.cases import nonlinear_mode, rod_resonance
from arlequin.results.recorder import Record


@pytest.mark.slow
def test_the_nonlinear_mode_is_that_of_code_aster() -> None:
    parameters = nonlinear_mode.Parameters(points=6)
    result = nonlinear_mode.run(parameters, Record(), None)
    checks = nonlinear_mode.check(result, parameters)
    assert len(checks) == 5 and not [check for check in checks if not check.passed]
    assert float(result["mode"].dataset["frequency"][-1]) == pytest.approx(0.2579053, rel=1e-5)
    assert set(nonlinear_mode.figures(result, parameters)) == {"backbone"}


def test_the_force_of_the_stops_is_the_root_of_the_cubic() -> None:
    law = nonlinear_mode.RegularisedStops(30.0, 0.5, 0.01)
    gap = np.linspace(-0.3, 1.2, 61)
    x = 1.0 - gap / 0.5
    force = law.pressure(gap)
    assert force * (1.0 - (x - force / 15.0) ** 2) == pytest.approx(0.01 * x, abs=1e-12)
    width = 1e-6
    slope = (law.energy(gap + width) - law.energy(gap - width)) / (2.0 * width)
    assert -slope == pytest.approx(force, rel=1e-6, abs=1e-8)


@pytest.mark.slow
def test_the_rod_jumps_at_the_folds_of_its_response() -> None:
    """Few modes, steps and a fast change of the frequency: the transients are late."""
    parameters = rod_resonance.Parameters(modes=4, steps=120, points=12, rate=0.04, lowest=9.5, highest=11.2)
    result = rod_resonance.run(parameters, Record(), None)
    assert not [check for check in rod_resonance.check(result, parameters) if not check.passed]
    low, high = rod_resonance.folds(result)
    assert 9.5 < low < high < 11.2
    assert set(rod_resonance.figures(result, parameters)) == {"response"}
