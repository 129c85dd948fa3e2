"""Two bars: the default run against d'Alembert, the chatter of displacement-level contact, energy kept and lost."""

from typing import Any

import numpy as np
import pytest
import xarray

import arlequin as aq
from arlequin import cases
from arlequin.cases import two_bars
from arlequin.cases.reference.measures import l1_error, total_variation
from arlequin.cases.shared.impact import mean_pressures, rigid_velocity, worst, worst_balance
from arlequin.cases.two_bars import Parameters

PRESSURE = 7800.0 * np.sqrt(2.0e11 / 7800.0) * 10.0  # ρcV0: both bars arrive at 10 m/s


def pressures(result: xarray.DataTree) -> tuple[Any, Any]:
    return mean_pressures(result)


def test_defaults() -> None:
    """L1 error, total variation and rebound against the closed form, all computed here."""
    result = cases.run("two_bars")
    edges, pressure = pressures(result)
    until = 0.2 * np.sqrt(7800.0 / 2.0e11)  # 2L/c
    # the exact pressure is PRESSURE on [0, 2L/c]: on each step the share of it that lies inside
    inside = np.clip(until - edges[:-1], 0.0, np.diff(edges))
    error = np.sum(np.abs(pressure - PRESSURE) * inside + np.abs(pressure) * (np.diff(edges) - inside))
    assert error / (PRESSURE * until) <= 0.015
    assert total_variation(pressure, PRESSURE) <= 2.6
    for side, sign in (("left", -1.0), ("right", 1.0)):
        assert sign * rigid_velocity(result, side) >= 0.98 * 10.0
    assert worst_balance(result) <= 1e-12
    assert worst(result, "scheme") <= 1e-12
    assert l1_error(edges, pressure, two_bars.reference(two_bars.Parameters())) == pytest.approx(
        error / (PRESSURE * until), rel=1e-10
    )


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"gap": 1e-4},
        {"young_right": 7e10, "density_right": 2700.0, "elements": 60},
        {"scheme": "newmark", "elements": 50},
        {"scheme": "central-difference", "mass": "lumped", "courant": 0.9},
    ],
)
def test_checks_pass(options: dict[str, Any]) -> None:
    failed = [check for check in cases.check("two_bars", **options) if not check.passed]
    assert not failed


def test_unequal_lengths() -> None:
    """Equal materials, lengths L and L/2: the short bar leaves at +V, and with it goes all momentum, M V − ½ M V."""
    result = cases.run("two_bars", length_right=0.05, elements=100)
    assert rigid_velocity(result, "right") == pytest.approx(10.0, abs=0.2)
    assert rigid_velocity(result, "left") == pytest.approx(0.0, abs=0.1)
    reference = two_bars.reference(two_bars.Parameters(length_right=0.05))
    assert l1_error(*pressures(result), reference) <= 0.03


def test_displacement_level_chatters() -> None:
    """The reason for the velocity law; with no gap the first step is in contact."""
    result = cases.run("two_bars", law="unilateral", gap=0.0)
    assert total_variation(pressures(result)[1], PRESSURE) > 100.0
    assert worst_balance(result) <= 1e-12


def test_condensed_massless_ends_keep_energy() -> None:
    result = cases.run("two_bars", law="unilateral", mass="redistributed", scheme="midpoint", gap=1e-4)
    energy = result["energy"]
    stored = energy.sel(kind=["kinetic", "strain"]).sum("kind").values
    assert float(result["interface/contact/impulse"].sum()) > 0.0
    assert np.abs(stored / stored[0] - 1.0).max() <= 1e-10
    assert worst_balance(result) <= 1e-12


def test_bad_parameters_are_named() -> None:
    for options, word in (
        ({"density_left": -1.0}, "density_left"),
        ({"theta": 0.4}, "theta"),
        ({"gap": -1e-3}, "gap"),
        ({"elements": 0}, "elements"),
        ({"law": "soft"}, "law"),
        ({"speed": 3.0}, "speed"),
        ({"scheme": "central-difference", "mass": "lumped", "courant": 1.2}, "limit"),
        ({"scheme": "central-difference"}, "lumped"),
    ):
        with pytest.raises(aq.UserError, match=word) as error:
            cases.run("two_bars", **options)
        assert "\n" not in str(error.value)


@pytest.mark.parametrize("options", [{"dimension": 2, "cells_left": 3, "cells_right": 4}, {"dimension": 3}])
def test_plane_and_solid_bars(options: dict[str, Any]) -> None:
    """Without Poisson's effect the pressure of 2D and 3D bars is that of 1D ones, though the cells do not match."""
    result, line = (cases.run("two_bars", elements=40, **more) for more in (options, {}))
    assert pressures(result)[1] == pytest.approx(pressures(line)[1], rel=1e-10, abs=1e-10 * PRESSURE)
    field = result["interface/contact/pressure"].values
    assert np.ptp(field, axis=1).max() <= 1e-10 * PRESSURE
    assert [
        check.name for check in two_bars.check(result, Parameters(elements=40, **options)) if not check.passed
    ] == []
    momentum = sum(result[f"part/{side}/momentum"].values for side in ("left", "right"))
    assert np.abs(momentum).max() <= 1e-12 * 7800.0 * 0.1 * 0.01 ** (options["dimension"] - 1) * 10.0
    for other in range(1, options["dimension"]):
        assert np.abs(result["part/left/displacement"].values[..., other]).max() <= 1e-15


def test_plane_bars_of_unequal_materials() -> None:
    options = {"dimension": 2, "young_right": 7e10, "density_right": 2700.0, "elements": 60, "gap": 1e-4}
    assert not [check for check in cases.check("two_bars", **options) if not check.passed]
