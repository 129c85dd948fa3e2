"""`aq.convergence`: manufactured sequences, Celik's table, finite elements of known order, and bad input."""

import numpy as np
import pytest

import arlequin as aq
from arlequin.sweeps.richardson import observed_order

SIZES = np.array([1.0, 0.61, 0.37, 0.2, 0.13])  # no constant ratio


@pytest.mark.parametrize("order", [0.3, 0.5, 1.0, 2.0, 3.7, 6.0])
@pytest.mark.parametrize("count", [3, 5])
def test_a_manufactured_sequence_gives_its_order(order, count):
    """φ = φ₀ + C h^p: order, limit, error and asymptotic range follow in closed form."""
    h = SIZES[:count]
    found = aq.convergence(3.0 - 2.5 * h**order, None, h, exact=3.0)
    assert found.attrs["state"] == "monotonic"
    assert float(found["order"]) == pytest.approx(order, abs=1e-10)
    assert float(found["extrapolated"]) == pytest.approx(3.0, abs=1e-10)
    np.testing.assert_allclose(found["observed_order"][2:], order, atol=1e-10)
    np.testing.assert_allclose(found["error_order"][1:], order, atol=1e-9)
    error = 2.5 * h[-1] ** order
    assert float(found["uncertainty"]) == pytest.approx(1.25 * error, rel=1e-8)
    assert float(found["gci"]) == pytest.approx(1.25 * error / (3.0 - error), rel=1e-8)
    ratio = (3.0 - error) / (3.0 - 2.5 * h[-2] ** order)
    assert float(found["asymptotic_ratio"]) == pytest.approx(ratio, rel=1e-8)
    if count > 3:
        assert float(found["fitted_order"]) == pytest.approx(order, abs=1e-10)
        assert float(found["fitted_value"]) == pytest.approx(3.0, abs=1e-10)
        assert float(found["fitted_deviation"]) < 1e-12
    else:
        assert "fitted_order" not in found


@pytest.mark.parametrize("order", [0.7, 2.0])
def test_an_alternating_sequence_is_oscillatory(order):
    """φ = φ₀ + (−1)^k C h^p has the order p by the same formula with s = −1."""
    h = SIZES[:3]
    found = aq.convergence(1.0 + np.array([1.0, -1.0, 1.0]) * h**order, None, h)
    assert found.attrs["state"] == "oscillatory" and "half of the range" in found.attrs["summary"]
    assert float(found["order"]) == pytest.approx(order, abs=1e-10)


# cells of the plane, values, fine to coarse; p, φ_ext, e_a, e_ext and GCI as printed in the paper, % the last three
CELIK = [
    ((18000, 8000, 4500), (6.063, 5.972, 5.863), 1.53, 6.1685, 1.5, 1.7, 2.2, "monotonic"),
    ((18000, 4500, 980), (10.7880, 10.7250, 10.6050), 0.75, 10.8801, 0.6, 0.9, 1.1, "monotonic"),
    ((18000, 4500, 980), (6.0042, 5.9624, 6.0909), 1.51, 6.0269, 0.7, 0.4, 0.5, "oscillatory"),
]


@pytest.mark.parametrize(("cells", "values", "order", "limit", "change", "error", "gci", "state"), CELIK)
def test_table_of_celik(cells, values, order, limit, change, error, gci, state):
    """Celik et al. 2008, table 1."""
    found = aq.convergence(values[::-1], None, {"cells": cells[::-1]}, dimension=2)
    assert found.attrs["state"] == state
    assert float(found["order"]) == pytest.approx(order, abs=0.005)
    assert float(found["extrapolated"]) == pytest.approx(limit, abs=5e-5)
    for name, percent in (("relative_change", change), ("extrapolated_error", error), ("gci", gci)):
        assert 100.0 * float(found[name]) == pytest.approx(percent, abs=0.06), name


def test_two_grids_take_the_given_order_and_three_for_safety():
    found = aq.convergence([1.0, 1.1], None, [0.2, 0.1], order=2.0)
    assert found.attrs["state"] == "two grids" and found.attrs["safety"] == 3.0
    assert float(found["extrapolated"]) == pytest.approx(1.1 + 0.1 / 3.0)
    assert float(found["gci"]) == pytest.approx(3.0 * (0.1 / 1.1) / 3.0)


@pytest.mark.parametrize(
    ("values", "state"),
    [
        ([1.0, 2.0, 4.0], "divergent"),
        ([2.0, 2.0, 1.0], "divergent"),
        ([0.0, 1.0, -3.0], "divergent"),
        ([1.0, 1.0, 1.0], "equal"),
        ([1.0, 2.0, 2.0], "equal"),
        ([0.0, 0.0, 0.0], "equal"),
    ],
)
def test_what_does_not_converge_is_said(values, state):
    found = aq.convergence(values, None, [4.0, 2.0, 1.0])
    assert found.attrs["state"] == state
    assert np.isnan(found["gci"]) == (state == "divergent")
    if state == "equal":
        assert float(found["extrapolated"]) == values[-1] and float(found["uncertainty"]) == 0.0
    else:
        with pytest.raises(aq.UserError, match="divergent"):
            aq.plots.convergence(found)


def test_extreme_ratios_and_orders():
    """No overflow: sizes that hardly differ beside sizes that differ much, changes of 1e-300."""
    assert observed_order(np.array([10.0, 1.01, 1.0]), 5.0 - np.array([10.0, 1.01, 1.0]) ** 2) == pytest.approx(2.0)
    found = aq.convergence([1.0, 1.0 + 1e-3, 1.0 + 2e-3 - 1e-9], None, [10.0, 1.01, 1.0])
    assert np.isfinite(found["value"]).all()
    assert aq.convergence([1e-300, 3e-300, 3.5e-300], None, [4.0, 2.0, 1.0])["order"] == pytest.approx(2.0)


STEEL = aq.LinearElastic(young=2e11, poisson=0.0, density=7800.0)
HELD = {"left": {"x": 0.0}}


def hanging(cells):
    """A bar under its own weight, linear elements."""
    bar = aq.Bar("bar", aq.mesh.interval(0.0, 1.0, cells=cells), STEEL, imposed=HELD)
    return aq.Study(aq.System([bar], gravity=lambda t: 9.81 * t), aq.Static(), 1.0, 1.0)


def strain(result):
    return aq.Scalar(result["energy"].sel(kind="strain")[-1], "J", "strain energy")


def test_energy_of_a_bar_under_its_own_weight():
    """(ρ g)² A L³/(6 E); the error in energy of linear elements is of order 2: h²/(4 L²) of it, exactly."""
    exact = (7800.0 * 9.81) ** 2 / 6.0 / 2e11
    found = aq.convergence(hanging, strain, {"cells": [3, 5, 8, 13]}, exact=exact, order=2.0)
    assert found["value"].attrs == {"units": "J", "long_name": "strain energy"}
    assert float(found["order"]) == pytest.approx(2.0, abs=1e-6)
    assert float(found["extrapolated"]) == pytest.approx(exact, rel=1e-9)
    np.testing.assert_allclose(found["error_order"][1:], 2.0, atol=1e-6)
    np.testing.assert_allclose(-found["error"] / exact, 1.0 / (4.0 * found["cells"] ** 2), rtol=1e-6)
    assert "theory 2" in found.attrs["summary"] and "cells = 3 to 13: monotonic" in found.attrs["summary"]


def test_the_natural_frequency_of_a_clamped_bar():
    """c/(4 L); linear elements with consistent mass: order 2, and h² π²/(96 L²) of it to first order."""
    wave = np.sqrt(2e11 / 7800.0)

    def first(size):
        bar = aq.Bar("bar", aq.mesh.interval(0.0, 1.0, cells=round(1.0 / size)), STEEL, imposed=HELD)
        return aq.natural_frequencies(aq.System([bar]), 1)

    def hertz(found):
        return aq.Scalar(found.frequencies[0], "Hz", "first frequency")

    found = aq.convergence(first, hertz, [1 / 10, 1 / 20, 1 / 40], exact=wave / 4.0)
    assert float(found["order"]) == pytest.approx(2.0, abs=0.01)
    assert float(found["extrapolated"]) == pytest.approx(wave / 4.0, rel=1e-6)
    assert float(found["error"][-1]) / (wave / 4.0) == pytest.approx(np.pi**2 / 96.0 / 40**2, rel=1e-3)


def test_what_a_study_may_give():
    """A mapping, as functions of sweeps, a result and the path of a variable, a number, values: all the same."""

    def energies(cells):
        return {"energy": strain(hanging(cells).run(progress=False)), "other": 1.0}

    cells = [2, 4, 8]
    one = aq.convergence(hanging, strain, {"cells": cells})
    others = [
        aq.convergence(energies, "energy", {"cells": cells}),
        aq.convergence(lambda n: strain(hanging(n).run(progress=False)), None, cells),
        aq.convergence([strain(hanging(n).run(progress=False)).value for n in cells], None, cells),
        aq.convergence([hanging(n).run(progress=False) for n in cells], strain, np.array(cells)),
    ]
    for other in others:
        assert (other["value"] == one["value"]).all() and float(other["order"]) == float(one["order"])
    sums = aq.convergence(hanging, "part/bar/mass", {"cells": cells})
    assert sums.attrs["state"] == "equal" and sums["value"].attrs["units"] == "kg"


def test_the_figure_has_the_order_and_the_errors():
    h = SIZES[:4]
    figure = aq.plots.convergence(aq.convergence(3.0 - 2.5 * h**2, None, h, exact=3.0))
    axes = figure.axes[0]
    assert axes.get_legend_handles_labels()[1] == ["value: order 2.00"]
    np.testing.assert_allclose(axes.lines[1].get_ydata(), 2.5 * h**2 / 3.0)
    assert axes.get_ylabel() == "Relative error" and axes.get_xlabel() == "Representative size h"
    found = aq.convergence(3.0 - 2.5 * h**2, None, h)
    assert aq.plots.convergence(found).axes[0].get_ylabel() == "Relative error, against the extrapolated value"


def plain(h):
    return 1.0 + h**2


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"over": [0.1]}, r"over = \[0.1\]: must be at least two sizes"),
        ({"over": []}, r"over = \[\]: must be at least two sizes"),
        ({"over": [0.1, 0.2, 0.4]}, "must be sizes that decrease, or whole numbers"),
        ({"over": [0.4, 0.1, 0.2]}, "must be sizes that decrease"),
        ({"over": [0.4, 0.2, 0.2]}, "none twice"),
        ({"over": [10, 20, 20]}, "none twice"),
        ({"over": [0.4, 0.2, 0.0]}, "must be positive"),
        ({"over": [0.4, np.nan, 0.1]}, "must be finite numbers"),
        ({"over": [0.4, 0.2]}, "order: must be given with two sizes"),
        ({"over": "abc"}, "over = 'abc': must be sizes"),
        ({"over": {"a": [1, 2, 3], "b": [1, 2, 3]}}, "must have one name"),
        ({"over": {"cells": 3}}, "must be sizes, coarse to fine"),
        ({"study": [1.0, 2.0]}, "study = .*must have 3 values"),
        ({"study": 3}, "study = 3: must be a function of the size"),
        ({"study": lambda h: np.nan}, "of, at h = 0.4: is nan: must be finite"),
        ({"study": lambda h: np.inf}, "of, at h = 0.4: is inf: must be finite"),
        ({"study": lambda h: [h, h]}, "of, at h = 0.4 = .*must be one number"),
        ({"study": lambda h: "a"}, "of, at h = 0.4 = 'a': must be one number"),
        ({"of": 3}, "of = 3: must be a function"),
        ({"study": lambda h: {"speed": h}, "of": "sped"}, "of: the study gives no 'sped', did you mean speed"),
        ({"order": -1.0}, "order = -1.0: must be "),
        ({"exact": np.nan}, "exact = nan: must be "),
        ({"dimension": 0}, "dimension = 0: must be "),
    ],
)
def test_bad_input_is_one_line(given, text):
    with pytest.raises(aq.UserError, match=text) as error:
        aq.convergence(**{"study": plain, "of": None, "over": [0.4, 0.2, 0.1], **given})
    assert "\n" not in str(error.value)


def test_the_figure_takes_no_other_dataset():
    import xarray

    with pytest.raises(aq.UserError, match=r"or the result of aq\.convergence"):
        aq.plots.convergence(xarray.Dataset({"value": 1.0}))
    found = aq.convergence(plain, None, [0.4, 0.2, 0.1])
    with pytest.raises(aq.UserError, match="leave them out"):
        aq.plots.convergence(found, {"a": [1.0]})
