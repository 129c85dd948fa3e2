"""Four ways to impose contact: what the figure of the comparison shows, at a small size."""

import numpy as np
import pytest

from arlequin import cases
from arlequin.cases import bar_comparison, two_bars
from arlequin.cases.shared.impact import mean_pressures


def test_variants_at_forty_elements() -> None:
    # how much displacement-level contact chatters depends on where in a step the bars meet: here at its start
    options = {"elements": 40, "penalty_stiffness": 4e13, "gap": 0.0}
    result = cases.run("bar_comparison", **options)
    parameters = bar_comparison.Parameters(**options)
    assert not [check for check in bar_comparison.check(result, parameters) if not check.passed]
    exact = bar_comparison.reference(parameters)
    variation = bar_comparison.variations(result, exact)
    assert variation["Lagrange, implicit Newmark"] > 20.0 * variation["velocity law, θ"]
    assert variation["penalty, explicit"] > 3.0 * variation["velocity law, θ"]
    assert variation["Lagrange, explicit"] <= 2.6
    # the multipliers give no energy
    energy = result["stored_energy"].values
    assert (energy[:, 1:].max(axis=0) <= energy[0, 1:] * (1.0 + 1e-12)).all()
    assert set(bar_comparison.figures(result, parameters)) == {"comparison"}


def test_damped_newmark_chatters_less_and_loses_more() -> None:
    """β = 0.3025, γ = 0.6: chatter that dies out, at more energy and a front less exact than those of the θ-scheme."""
    options = {"newmark_beta": 0.3025, "newmark_gamma": 0.6, "elements": 60, "penalty_stiffness": 6e13, "gap": 0.0}
    result = cases.run("bar_comparison", **options)
    exact = bar_comparison.reference(bar_comparison.Parameters(**options))
    variation, error = bar_comparison.variations(result, exact), bar_comparison.errors(result, exact)
    assert 3.0 * variation["velocity law, θ"] < variation["Lagrange, implicit Newmark"] < 30.0
    assert error["Lagrange, implicit Newmark"] > 2.0 * error["velocity law, θ"]
    lost = 1.0 - result["stored_energy"][-1] / result["stored_energy"][0]
    assert lost.sel(variant="Lagrange, implicit Newmark") > 3.0 * lost.sel(variant="velocity law, θ")


def test_a_variant_is_a_run_of_two_bars() -> None:
    result = cases.run("bar_comparison", elements=20, penalty_stiffness=2e13)
    own = cases.run("two_bars", elements=20, gap=1e-4, courant=0.7071)
    edges, pressure = mean_pressures(own)
    assert result["time"].values == pytest.approx(edges, rel=1e-15)
    assert np.array_equal(result["pressure"].sel(variant="velocity law, θ").values[1:], pressure)
    assert two_bars.Parameters(gap=1e-4, elements=20, courant=0.7071, penalty_stiffness=2e13) == bar_comparison.as_bars(
        bar_comparison.Parameters(elements=20, penalty_stiffness=2e13)
    )
