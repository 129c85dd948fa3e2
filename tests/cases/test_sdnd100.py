"""The released slider: turning points, rest and dissipation against the closed form; no creep; order of the schemes."""

from typing import Any

import numpy as np
import pytest

from arlequin import cases
from arlequin.cases import sdnd100
from arlequin.cases.reference.slider import ReleasedSlider
from arlequin.cases.shared.sliders import PENALISED as PENALISED_SCHEMES
from arlequin.models.errors import UserError

TURNS = np.array([-0.65e-3, 0.45e-3, -0.25e-3, 0.05e-3])


@pytest.mark.parametrize("step", [1e-3, 7.3e-4, pytest.param(1e-4, marks=pytest.mark.slow)])
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


@pytest.mark.sampled(7)
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


PENALISED: list[dict[str, Any]] = [
    {"model": "modal"},
    {"model": "modal", "scheme": "de-vogelaere"},
    {"model": "modal", "scheme": "runge-kutta", "direction": 200.0},
    {"model": "modal", "scheme": "theta", "step": 1e-4},
    {"model": "two-body"},
    {"model": "two-body", "scheme": "runge-kutta"},
    {"model": "direct"},
    {"model": "direct", "scheme": "newmark", "release": -1.5e-3},
    {"model": "direct", "scheme": "theta", "theta": 0.6},
    {"model": "direct", "scheme": "symplectic-euler", "step": 1e-4},
    {"model": "direct", "scheme": "theta", "release": 0.9e-4},
    {"model": "modal", "scheme": "de-vogelaere", "friction": 0.0},
    {"model": "modal", "duration": 0.05, "tangential_stiffness": 5e4},
    {"model": "modal", "tangential_damping": 0.0},
    {"model": "two-body", "scheme": "de-vogelaere", "tangential_damping": 300.0, "release": 1.1e-3},
    {"model": "direct", "tangential_damping": 0.0, "scheme": "theta", "theta": 0.6},
    {"model": "two-body", "duration": 1.0, "mass": 2.0, "gravity": 9.81, "normal_stiffness": 300.0},
]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("options", PENALISED, ids=str)
def test_penalised_checks_pass(options: dict[str, Any]) -> None:
    assert not [check for check in cases.check("sdnd100", **options) if not check.passed]


@pytest.mark.parametrize(
    "scheme",
    ["symplectic-euler", "hht", *(pytest.param(n, marks=pytest.mark.slow) for n in ("de-vogelaere", "runge-kutta"))],
)
def test_penalised_models_agree(scheme: str) -> None:
    """Modal coordinates, two bodies and one mass are one system."""
    motions = []
    for model in ("modal", "two-body", "direct"):
        parameters = sdnd100.Parameters(model=model, scheme=scheme, duration=0.06)  # type: ignore[arg-type]
        result = cases.run("sdnd100", model=model, scheme=scheme, duration=0.06)
        motions.append(sdnd100.motion(result, parameters)[0])
    np.testing.assert_allclose(motions[1], motions[0], atol=1e-12 * 0.85e-3)
    np.testing.assert_allclose(motions[2], motions[0], atol=1e-12 * 0.85e-3)


def test_undamped_turning_points_off_coulombs_as_the_table_says() -> None:
    """The exact motion of the element from the balance of its energy over a half swing, and the table of the case.

    From a slip at the edge at r to the next turn r', elastic over 2f/K_T and then slipping:
    k (r² − r'²)/2 = f (r + |r'| − 2f/K_T); of the first swing, from an unloaded element, see `test_shock.py`.
    """
    k, f, stiff = 1e4, 1.0, 4e5
    parameters = sdnd100.Parameters(model="modal", tangential_damping=0.0)
    _, places = sdnd100.exact_turns(sdnd100.shock_reference(parameters), 4)
    for r, after in zip(np.abs(places[:-1]), np.abs(places[1:]), strict=True):
        assert 0.5 * k * (r**2 - after**2) == pytest.approx(f * (r + after - 2.0 * f / stiff), rel=1e-8)
    off = 100.0 * (places / TURNS - 1.0)
    np.testing.assert_allclose(off, [0.026, 0.239, 0.998, 11.48], atol=6e-3)


@pytest.mark.parametrize(
    ("model", "scheme"),
    [
        pytest.param(model, scheme, marks=() if i % 3 == j else pytest.mark.slow)
        for i, scheme in enumerate(PENALISED_SCHEMES)
        for j, model in enumerate(("modal", "two-body", "direct"))
    ],
)
def test_the_benchmarks_own_errors_are_met(model: str, scheme: str) -> None:
    """With the critical dashpot all four turning points of Coulomb are within 0.5 % at the benchmark's step."""
    checks = cases.check("sdnd100", model=model, scheme=scheme)
    published = [check for check in checks if "rigid friction" in check.name]
    assert [check.reference for check in published] == pytest.approx(TURNS)
    assert all(abs(check.value / check.reference - 1.0) <= 5e-3 for check in published)
    assert all(check.passed for check in checks)


def test_read_as_the_benchmark_does_symplectic_euler_has_its_errors() -> None:
    """Along lines between the steps: -0.021, -0.043, -0.059, 0.386 %, as an own loop of the scheme gives."""
    result = cases.run("sdnd100", model="modal")
    u, _, _ = sdnd100.motion(result, sdnd100.Parameters(model="modal"))
    read = np.interp(np.arange(1, 5) * np.pi / 100.0, result["time"].values, u)
    np.testing.assert_allclose(100.0 * (read / TURNS - 1.0), [-0.021, -0.043, -0.059, 0.386], atol=6e-4)


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"scheme": "runge-kutta"}, "scheme = 'runge-kutta': must be theta, newmark or central-difference"),
        ({"scheme": "hht"}, "scheme = 'hht': must be theta"),
        ({"model": "direct", "scheme": "central-difference"}, "must be theta, newmark, hht, symplectic-euler"),
        ({"model": "modal", "events": "locate"}, "events = 'locate': must be step or none"),
        ({"model": "modal", "tangential_stiffness": 0.0}, "tangential_stiffness = 0"),
        ({"model": "modal", "tangential_damping": -1.0}, "tangential_damping = -1"),
        ({"model": "two-body", "normal_stiffness": -1.0}, "normal_stiffness = -1"),
        ({"model": "modal", "step": 0.1}, "below the limit of symplectic Euler"),
        ({"model": "elastic"}, "must be one of nonsmooth, modal, two-body, direct"),
    ],
    ids=str,
)
def test_bad_input(options: dict[str, Any], line: str) -> None:
    with pytest.raises(UserError, match=line):
        cases.run("sdnd100", **options)


@pytest.mark.sampled(1)
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


@pytest.mark.parametrize("model", ["nonsmooth", "modal"])
def test_figures(model: Any) -> None:
    result = cases.run("sdnd100", model=model)
    assert set(sdnd100.figures(result, sdnd100.Parameters(model=model))) == {"energies", "motion"}
