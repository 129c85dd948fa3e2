"""The released slider: turning points, rest and dissipation against the closed form; no creep; order of the schemes."""

from typing import Any

import numpy as np
import pytest

import cases
from cases import sdnd100
from cases.reference.slider import ReleasedSlider

TURNS = np.array([-0.65e-3, 0.45e-3, -0.25e-3, 0.05e-3])


@pytest.mark.parametrize("step", [1e-3, 7.3e-4, 1e-4])
def test_located_turning_points(step: float) -> None:
    result = cases.run("sdnd100", step=step)
    parameters = sdnd100.Parameters(step=step)
    instants, places = sdnd100.turning_points(result, parameters)
    np.testing.assert_allclose(places, TURNS, rtol=1e-6)
    np.testing.assert_allclose(instants, np.arange(1, 5) * np.pi / 100, rtol=0.07 * (100 * step) ** 4 + 1e-9)
    u, _, _ = sdnd100.motion(result, parameters)
    assert u[-1] == pytest.approx(0.05e-3, rel=1e-12)
    lost = result["energy"].sel(kind="friction").values[-1]
    assert lost == pytest.approx(0.5e4 * (0.85e-3**2 - 0.05e-3**2), rel=1e-12)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"events": "step"},
        {"events": "step", "theta": 1.0},
        {"events": "step", "scheme": "newmark", "step": 5e-4},
        {"events": "step", "scheme": "central-difference"},
        {"release": -1.234e-3},
        {"release": 5e-3, "events": "step", "direction": 200.0},
        {"release": 0.9e-4},
        {"release": 3e-4},
        {"release": 0.0},
        {"friction": 0.0},
        {"friction": 0.0, "events": "step"},
        {"duration": 0.05},
        {"stiffness": 3.7, "mass": 0.2, "release": 7.3, "friction": 0.31, "gravity": 9.81, "step": 1e-2},
    ],
    ids=str,
)
def test_checks_pass(options: dict[str, Any]) -> None:
    assert not [check for check in cases.check("sdnd100", **options) if not check.passed]


@pytest.mark.parametrize("events", ["locate", "step"])
def test_no_creep_over_a_hundred_seconds(events: str) -> None:
    """At 0.05 mm the spring pulls with half of what friction holds: the mass does not move by a digit."""
    parameters = sdnd100.Parameters(events=events, duration=100.0)
    result = cases.run("sdnd100", events=events, duration=100.0)
    u, _, _ = sdnd100.motion(result, parameters)
    rest = u[result["time"].values > 0.2]
    assert np.ptp(rest) <= 1e-15 * abs(rest[0])
    if events == "locate":
        assert rest[0] == pytest.approx(0.05e-3, rel=1e-12)


def test_turns_inside_a_step_cost_the_square_of_the_step() -> None:
    """Without location: the worst of many releases, to hit the turns anywhere in a step."""
    worst = []
    for step in (2e-3, 1e-3, 5e-4, 2.5e-4):
        errors = []
        for release in np.linspace(8.2e-4, 8.8e-4, 7):
            options = {"events": "step", "step": step, "release": float(release)}
            places = sdnd100.turning_points(cases.run("sdnd100", **options), sdnd100.Parameters(**options))[1]
            exact = ReleasedSlider(release=float(release)).turning_point(np.arange(1, 5))
            errors.append(np.abs(places - exact).max())
        worst.append(max(errors))
    assert np.polyfit(np.log2([2e-3, 1e-3, 5e-4, 2.5e-4]), np.log2(worst), 1)[0] >= 1.7


def test_in_space_it_keeps_to_its_line() -> None:
    """Friction is a disk: any direction gives the same motion along it."""
    along = []
    for direction in (0.0, 45.0, 161.0):
        parameters = sdnd100.Parameters(events="step", direction=direction)
        u, _, beside = sdnd100.motion(cases.run("sdnd100", events="step", direction=direction), parameters)
        assert beside.max() <= 1e-12 * 0.85e-3
        along.append(u)
    np.testing.assert_allclose(along[1], along[0], atol=1e-12 * 0.85e-3)
    np.testing.assert_allclose(along[2], along[0], atol=1e-12 * 0.85e-3)


def test_figures() -> None:
    result = cases.run("sdnd100")
    assert set(sdnd100.figures(result, sdnd100.Parameters())) == {"energies", "motion"}
