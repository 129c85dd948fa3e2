"""The mass on a belt: the limit cycle in closed form and integrated, works of a cycle, checks."""

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import arlequin as aq
from arlequin import cases
from arlequin.cases import stick_slip_belt
from arlequin.cases.reference.belt import BeltOscillator


def test_undamped_cycle_in_closed_form() -> None:
    """Period 2D/V + 2/ω (π − atan Dω/V), amplitude √(D² + V²/ω²), about μ_d N/k."""
    exact = BeltOscillator(2.0, 50.0, 0.0, 8.0, 0.2, 0.6, 0.35)
    fall, omega = 0.25 * 8.0 / 50.0, 5.0
    slip = 2.0 / omega * (np.pi - np.arctan(fall * omega / 0.2))
    assert exact.slip_time == pytest.approx(slip, rel=1e-13)
    assert exact.period == pytest.approx(slip + 2.0 * fall / 0.2, rel=1e-13)
    assert exact.amplitude == pytest.approx(np.hypot(fall, 0.04), rel=1e-13)
    assert np.mean(exact.range) == pytest.approx(0.35 * 8.0 / 50.0, rel=1e-13)
    # one state at any time, a period later the same
    time = np.linspace(0.0, exact.period, 7)
    np.testing.assert_allclose(exact.cycle(time + 3.0 * exact.period), exact.cycle(time), rtol=0.0, atol=1e-12)


@pytest.mark.parametrize(("damping", "stribeck"), [(0.0, None), (0.7, None), (0.0, 0.05), (0.7, 0.03)])
def test_slip_against_an_integration(damping: float, stribeck: float | None) -> None:
    """By Radau's method in x and ẋ, from the end of stick until the velocity of the belt is reached again."""
    exact = BeltOscillator(damping=damping, stribeck=stribeck)

    def rates(_: float, y: Any) -> list[float]:
        return [y[1], 10.0 * float(exact.friction(0.1 - y[1])) - 100.0 * y[0] - damping * y[1]]

    def back(t: float, y: Any) -> float:
        return float(y[1] - 0.1) if t > 0.2 else -1.0

    back.terminal, back.direction = True, 1.0  # type: ignore[attr-defined]
    start = (0.3 * 10.0 - damping * 0.1) / 100.0
    done = solve_ivp(rates, (0.0, 2.0), [start, 0.1], method="Radau", rtol=1e-9, atol=1e-12, events=back)
    assert exact.slips_from == pytest.approx(start, rel=1e-14)
    assert exact.slip_time == pytest.approx(done.t_events[0][0], rel=1e-6)
    assert exact.sticks_from == pytest.approx(done.y_events[0][0, 0], rel=1e-6)
    assert exact.amplitude == pytest.approx(0.5 * np.ptp(done.y[0]), rel=1e-3)


def test_a_steep_curve_is_static_and_dynamic_friction() -> None:
    sharp = BeltOscillator()
    errors = [abs(BeltOscillator(stribeck=v).period / sharp.period - 1.0) for v in (2e-3, 1e-3, 5e-4)]
    assert errors[0] < 0.03 and errors[1] < 0.7 * errors[0] and errors[2] < 0.7 * errors[1]


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"steps": 500},
        {"damping": 1.0, "velocity": 0.05, "mass": 2.0},
        {"static": 0.8, "dynamic": 0.5, "stiffness": 30.0, "velocity": 0.4},
        {"events": "step"},
        {"law": "stribeck"},
        {"law": "stribeck", "damping": 0.5, "stribeck_velocity": 0.1},
    ],
    ids=str,
)
def test_checks_pass(options: dict[str, Any]) -> None:
    assert not [check for check in cases.check("stick_slip_belt", **options) if not check.passed]


def test_located_cycle_is_exact() -> None:
    """Period, amplitude and works of a period: what the belt does, friction takes."""
    parameters = stick_slip_belt.Parameters()
    exact = stick_slip_belt.reference(parameters)
    result = stick_slip_belt.build(parameters).run()
    found = stick_slip_belt.BeltCycle.of(result, parameters)
    assert found.period == pytest.approx(exact.period, rel=1e-10)
    assert found.amplitude == pytest.approx(exact.amplitude, rel=1e-10)
    # the spring gives nothing in a period: V μ_d N × period − … the mean force is that of the spring, its middle μ_d N
    slipped = parameters.velocity * exact.slip_time - (exact.sticks_from - exact.slips_from)
    assert found.friction == pytest.approx(parameters.dynamic * parameters.normal * slipped, rel=1e-9)
    assert found.belt == pytest.approx(found.friction, rel=1e-9)
    events = result["event_time"].values
    events = events[np.isfinite(events)]
    first = exact.slips_from / parameters.velocity
    turns = first + exact.period * np.arange(4)
    expected = np.sort(np.concatenate([turns, turns + exact.slip_time]))
    expected = expected[expected < result["time"].values[-1] - 1e-6]
    np.testing.assert_allclose(events[: expected.size], expected, rtol=0.0, atol=1e-9)


def test_stribeck_converges_faster_than_the_step() -> None:
    errors = []
    for steps in (1000, 2000):
        parameters = stick_slip_belt.Parameters(law="stribeck", steps=steps, cycles=3)
        found = stick_slip_belt.BeltCycle.of(stick_slip_belt.build(parameters).run(), parameters)
        errors.append(abs(found.amplitude / stick_slip_belt.reference(parameters).amplitude - 1.0))
    assert errors[0] < 1e-4 and errors[1] < 0.5 * errors[0]


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"dynamic": 0.3}, r"dynamic = 0\.3: must be below the static coefficient, 0\.3"),
        ({"law": "stribeck", "events": "locate"}, "must be step or none with law=stribeck"),
        ({"damping": 19.0}, "the mass does not stick again"),
        ({"damping": 21.0}, r"damping = 21\.0: must be below the critical one"),
        (
            {"law": "stribeck", "static": 1e6, "stribeck_velocity": 1e-12},
            "1e-12: is lost in round-off beside static = 1e",
        ),
        ({"cycles": 2}, "cycles = 2: must be at least 3"),
    ],
    ids=str,
)
def test_bad_input(options: dict[str, Any], line: str) -> None:
    with pytest.raises(aq.UserError, match=line):
        cases.run("stick_slip_belt", **options)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("law", ["static-dynamic", "stribeck"])
def test_figures(law: Any) -> None:
    parameters = stick_slip_belt.Parameters(law=law, steps=300, cycles=3)
    shown = stick_slip_belt.figures(stick_slip_belt.build(parameters).run(), parameters)
    assert set(shown) == {"cycle", "friction", "energies"}
