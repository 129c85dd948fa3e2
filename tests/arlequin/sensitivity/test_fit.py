"""Identification from records: the truth without noise, ellipses that hold what they promise."""

import numpy as np
import pytest

import arlequin as aq
from arlequin.sensitivity.fit import in_ellipse

TRUTH = {"stiffness": 400.0, "damping": 0.5, "friction": 0.2}


def slider(stiffness, damping, friction):
    """A mass on a spring and a dashpot that rubs on a floor."""
    mass = aq.PointMasses("mass", (0.0, 0.0), 1.0)
    floor = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))
    law = aq.Coulomb(friction)
    rub = aq.Interface("rub", mass.boundary("all"), floor, aq.Unilateral(), friction=law)
    held = aq.Spring("held", mass.boundary("all"), stiffness=(stiffness, 0.0), damping=(damping, 0.0))
    system = aq.System([mass], interfaces=[rub], springs=[held], gravity=(0.0, -10.0), velocity=(3.0, 0.0))
    return aq.Study(system, aq.Theta(0.5), 0.5, 0.005)


def moved(result):
    return result["part/mass/displacement"][1:, 0, 0]


@pytest.fixture(scope="module")
def record():
    return moved(slider(**TRUTH).run()).values


GUESS = {"stiffness": 360.0, "damping": 0.7, "friction": 0.25}


def test_the_truth_without_noise(record):
    found = aq.fit(slider, {"moved": (moved, record)}, GUESS, deviation=1e-4)
    np.testing.assert_allclose(found["value"], list(TRUTH.values()), rtol=1e-5)
    assert in_ellipse(found, TRUTH) and found.attrs["evaluations"] < 20


def test_ellipses_hold_the_truth(record):
    """19 of 20 are expected: fewer than 16 have a probability of 3e-3. And the covariance is that of the estimates: of
    the linear model of the residuals, by differences of runs."""
    noise, random, held = 1e-3, np.random.default_rng(1), 0
    for _ in range(20):
        noisy = record + noise * random.standard_normal(record.size)
        found = aq.fit(slider, {"moved": (moved, noisy)}, TRUTH, bounds={"damping": (0.01, 2.0)})
        held += in_ellipse(found, TRUTH)
        assert found.attrs["noise"] == pytest.approx(noise, rel=0.3)
    assert held >= 16
    columns = []
    for name, value in TRUTH.items():
        ends = [moved(slider(**{**TRUTH, name: value * (1.0 + sign * 1e-5)}).run()).values for sign in (1.0, -1.0)]
        columns.append((ends[0] - ends[1]) / (2e-5 * value))
    jacobian = np.stack(columns, axis=1)
    exact = np.sqrt(np.diag(np.linalg.inv(jacobian.T @ jacobian))) * noise
    np.testing.assert_allclose(found["deviation"], exact, rtol=0.3)


def test_bounds_hold(record):
    found = aq.fit(slider, {"moved": (moved, record)}, GUESS, bounds={"friction": (0.22, 0.4)}, deviation=1e-4)
    assert found["value"].sel(parameter="friction") == pytest.approx(0.22, rel=1e-3)


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        ({}, {}, "data: is empty"),
        ({"moved": (moved, [1.0, 2.0])}, {}, "data: 2 values do not determine 3 parameters"),
        ({"moved": (moved, np.zeros(7))}, {}, "must have the shape of its prediction"),
        ({"interface/rub/wear_powr": np.zeros(100)}, {}, "did you mean interface/rub/wear_power"),
        ({"moved": (moved, np.zeros(100))}, {"bounds": {"friction": (0.5, 0.9)}}, "must be within its bounds"),
        ({"moved": (moved, np.zeros(100))}, {"bounds": {"mu": (0.5, 0.9)}}, "'mu' is no parameter of wrt"),
        ({"moved": (moved, np.full(100, np.nan))}, {}, "data: moved"),
        ({"moved": (moved, np.zeros(100))}, {"deviation": {"other": 1.0}}, "deviation: lacks moved"),
    ],
)  # fmt: skip
def test_bad_input(data, options, message):
    with pytest.raises(aq.UserError, match=message):
        aq.fit(slider, data, GUESS, **options)
