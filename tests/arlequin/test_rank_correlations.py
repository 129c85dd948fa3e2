"""Rank correlations against their definition by residuals, normal variables, and cases that have none."""

import numpy as np
import pytest
import xarray
from scipy.stats import norm, rankdata

import arlequin as aq
from arlequin.models.errors import UserError


def residual(y, columns):
    """What a linear fit by columns and a constant leaves of y."""
    table = np.column_stack([np.ones(y.size), *columns])
    return y - table @ np.linalg.lstsq(table, y, rcond=None)[0]


def test_partial_correlations_are_those_of_residuals():
    """ρ_i is the correlation of what the other inputs leave of x_i and of y; β and R² are those of a linear fit."""
    random = np.random.default_rng(3)
    x = random.standard_normal((4, 60))
    y = x[0] ** 3 - 2.0 * x[1] + x[2] * x[0] + 0.3 * random.standard_normal(60)
    x[3] += 0.8 * x[1]  # correlated inputs
    names = list("abcd")
    found = aq.rank_correlations(dict(zip(names, x, strict=True)), y)
    ranks = {name: rankdata(column) for name, column in zip(names, x, strict=True)}
    unit = {name: (each - each.mean()) / each.std() for name, each in {**ranks, "y": rankdata(y)}.items()}
    target = unit.pop("y")
    for name in names:
        others = [unit[other] for other in names if other != name]
        exact = np.corrcoef(residual(unit[name], others), residual(target, others))[0, 1]
        low, high = found["interval"].sel(input=name).values
        assert float(found["partial"].sel(input=name)) == pytest.approx(exact, abs=1e-12) and low < exact < high
    table = np.column_stack([unit[name] for name in found["input"].values])
    np.testing.assert_allclose(found["regression"], np.linalg.lstsq(table, target, rcond=None)[0], atol=1e-12)
    left = target - table @ found["regression"].values
    assert found.attrs["r_squared"] == pytest.approx(1.0 - left.var(), abs=1e-12)
    assert (np.diff(np.abs(found["partial"])) <= 0.0).all()


def test_of_normal_variables():
    """That of the correlation r is 6/π asin(r/2) of ranks; monotonic maps do not change it."""
    random = np.random.default_rng(0)
    x, noise = random.standard_normal((2, 20_000))
    y = 0.6 * x + 0.8 * noise
    found = aq.rank_correlations({"x": np.exp(x)}, norm.cdf(y))
    assert float(found["partial"][0]) == pytest.approx(6.0 / np.pi * np.arcsin(0.3), abs=0.01)
    assert found.attrs["r_squared"] == pytest.approx(float(found["partial"][0]) ** 2, abs=1e-12)


def test_intervals_hold_the_value():
    """Of 100 studies of 50 samples, about 95 intervals of the bootstrap hold the correlation of many samples."""
    random, held = np.random.default_rng(1), 0
    for _ in range(100):
        x, z, noise = random.standard_normal((3, 50))
        found = aq.rank_correlations({"x": x, "z": z}, 0.6 * x + 0.8 * noise + z)
        low, high = found["interval"].sel(input="x").values
        held += low < 6.0 / np.pi * np.arcsin(0.3) < high
    assert 87 <= held <= 99


def test_what_an_estimate_and_times_that_are_not_reached_give():
    """Infinite times are the latest; a constant input is left out."""
    x = np.linspace(0.0, 1.0, 20)
    samples = xarray.Dataset({"input_x": ("sample", x), "input_k": ("sample", np.ones(20)), "depth": ("sample", x**2)})
    found = aq.rank_correlations(samples, xarray.DataArray(np.where(x > 0.9, 2.0 - x, np.inf)))
    assert list(found["input"].values) == ["x"] and float(found["partial"][0]) < -0.4
    assert float(aq.rank_correlations(samples, samples["depth"])["partial"][0]) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("inputs", "output", "line"),
    [
        ({"x": [1.0, 2.0]}, [1.0, 2.0, 3.0], "inputs['x']: has 2 samples, output 3"),
        ({"x": np.arange(9.0), "y": np.arange(9.0)}, np.arange(9.0) ** 2, "the ranks of one are a sum of those of"),
        ({"x": np.arange(3.0)}, [1.0, 2.0, 0.0], "output: has 3 samples, 1 inputs need 4"),
        ({"x": np.arange(9.0)}, np.ones(9), "output: has one value"),
        ({"x": np.ones(9)}, np.arange(9.0), "output: no input varies"),
        ({"x": [1.0, np.nan, 2.0]}, np.arange(3.0), "inputs['x']"),
        ({"x": np.arange(9.0)}, [*range(8), np.nan], "without nan"),
        (xarray.Dataset({"x": ("sample", np.arange(9.0))}), np.arange(9.0), "no variables `input_NAME`"),
        ([1.0], [1.0], "inputs"),
    ],
)
def test_bad_samples(inputs, output, line):
    with pytest.raises(UserError) as error:
        aq.rank_correlations(inputs, output)
    assert line in str(error.value) and "\n" not in str(error.value)
