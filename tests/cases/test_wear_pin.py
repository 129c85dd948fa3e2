"""The case wear_pin and its reference: a row of springs against an independent solution, the pin against both."""

import numpy as np
import pytest

from arlequin.cases import wear_pin as case
from arlequin.cases.reference.worn_layer import WornPin

SMALL = {"cells": 12, "steps": 60}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("options", [{}, {"friction": 0.3}, {"stiffness": 1e12}])
def test_the_case_is_within_its_tolerances(options):
    # a softer layer is further from the stiff pin, whose depth is not that of the reference then
    p = case.Parameters(**{**SMALL, **options})
    checks = case.check(case.build(p).run(), p)
    failed = [check.name for check in checks if not check.passed]
    assert failed == (["greatest depth against a rigid pin"] if "stiffness" in options else [])


@pytest.mark.slow
def test_shorter_steps_come_nearer_to_the_reference():
    errors = []
    for steps in (15, 60):
        p = case.Parameters(stiffness=1e12, cells=20, steps=steps)
        errors.append(case.WornProfile.of(case.build(p).run(), p).error)
    assert errors[1] < 0.6 * errors[0]


@pytest.mark.slow
def test_the_reference_wears_off_what_archard_says_and_becomes_flat():
    pin = WornPin(radius=0.05, force=4e4, stiffness=1e13, coefficient=1e-12, width=2.5e-3)
    x = np.linspace(-2.5e-3, 2.5e-3, 20001)
    for way in (0.01, 0.5, 2.5):
        volume = float(np.trapezoid(pin.depth(x, way), x))
        assert volume == pytest.approx(1e-12 * 4e4 * way, rel=1e-4)
    stiffer = WornPin(radius=0.05, force=4e4, stiffness=1e15, coefficient=1e-12, width=2.5e-3)
    assert np.abs(stiffer.depth(x, 2.5) - stiffer.flat_depth(x, 2.5)).max() < 2e-3 * stiffer.depth(x, 2.5).max()


def test_before_it_wears_the_reference_is_winklers_parabola():
    """δ = (3F/(4 κ √(2R)))^⅔ under F, p = κ (δ − x²/2R): the first wear has that shape."""
    pin = WornPin(radius=0.05, force=4e4, stiffness=1e13, coefficient=1e-12, width=2.5e-3)
    x = np.linspace(0.0, 2.5e-3, 101)
    approach = (0.75 * 4e4 / (1e13 * np.sqrt(0.1))) ** (2.0 / 3.0)
    pressure = 1e13 * np.maximum(approach - x**2 / 0.1, 0.0)
    np.testing.assert_allclose(pin.depth(x, 1e-6), 1e-18 * pressure, atol=2e-3 * 1e-18 * pressure.max())


def test_figures_are_drawn():
    p = case.Parameters(cells=4, steps=20)
    assert set(case.figures(case.build(p).run(), p)) == {"worn", "heat", "energies"}
