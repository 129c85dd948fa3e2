"""Two masses and a spring under static and dynamic friction: published values, exact motion, checks."""

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import arlequin as aq
from arlequin import cases
from arlequin.cases import sdnd106
from arlequin.cases.reference.pulled_masses import PulledMasses


def test_published_values() -> None:
    exact = PulledMasses()
    for time, which, value in sdnd106.PUBLISHED:
        assert exact.positions(time)[which - 1] == pytest.approx(value, rel=2e-5)
    kinds = [event.kind for event in exact.events(2.0)]
    assert kinds == ["slip", "stick"]
    # cos ωt = 1 − μ_s N/F with ω² = k/m₂
    assert exact.events(2.0)[0].time == pytest.approx(np.arccos(0.0) / np.sqrt(2000.0), rel=1e-14)


@pytest.mark.parametrize("seed", range(6))
def test_reference_against_an_integration(seed: int) -> None:
    """Slip by slip, by DOP853; several slips, sticks and reversals."""
    random = np.random.default_rng(seed)
    static = random.uniform(0.1, 0.4)
    exact = PulledMasses(
        *random.uniform(1.0, 8.0, 2), stiffness=random.uniform(2e3, 2e4), normal=random.uniform(2e3, 8e3),
        pull=random.uniform(1e3, 4e3), release=random.uniform(0.1, 0.4), static=static,
        dynamic=static * random.uniform(0.1, 1.0),
    )  # fmt: skip
    end, state, time, sense = 0.8, np.zeros(4), 0.0, 0.0
    found: list[float] = []
    while time < end:
        load, last = (exact.pull, exact.release) if time < exact.release else (0.0, end)

        def rates(_: float, y: Any, sense: float = sense, load: float = load) -> list[float]:
            spring = exact.stiffness * (y[1] - y[0])
            first = (spring - sense * exact.dynamic * exact.normal) / exact.first if sense else 0.0
            return [y[2], y[3], first, (load - spring) / exact.second]

        def change(_: float, y: Any, sense: float = sense) -> float:
            spring = exact.stiffness * (y[1] - y[0])
            return float(sense * y[2] if sense else exact.static * exact.normal - abs(spring))

        change.terminal, change.direction = True, -1.0  # type: ignore[attr-defined]
        done = solve_ivp(
            rates, (time, last), state, method="DOP853", rtol=1e-12, atol=1e-12, max_step=2e-3, events=change
        )
        time, state = float(done.t[-1]), done.y[:, -1].copy()
        if done.t_events[0].size:
            spring = exact.stiffness * (state[1] - state[0])
            held = sense != 0.0 and abs(spring) <= exact.static * exact.normal
            sense, state[2] = (0.0 if held else float(np.sign(spring))), 0.0
            found.append(time)
    np.testing.assert_allclose([event.time for event in exact.events(end)], found, rtol=0.0, atol=1e-9)
    size = max(1.0, float(np.abs(state[:2]).max()))
    np.testing.assert_allclose(exact.positions(end), state[:2], rtol=0.0, atol=1e-9 * size)
    np.testing.assert_allclose(exact.velocities(end), state[2:], rtol=0.0, atol=1e-7)
    # what the force has put in and friction has left
    energy = 0.5 * np.array([exact.first, exact.second]) @ exact.velocities(end) ** 2
    energy += 0.5 * exact.stiffness * np.diff(exact.positions(end))[0] ** 2
    given = exact.pull * exact.positions(exact.release)[1]
    assert exact.friction_loss(end) == pytest.approx(given - energy, rel=1e-10, abs=1e-8)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"steps": 200},
        {"static": 0.2},
        {"pull": 100.0},
        {"second": 1.0, "stiffness": 3e4, "static": 0.2, "dynamic": 0.05, "duration": 0.7},
        {"dynamic": 0.0, "pull": 4e3},
        {"events": "step"},
    ],
    ids=str,
)
def test_checks_pass(options: dict[str, Any]) -> None:
    assert not [check for check in cases.check("sdnd106", **options) if not check.passed]


def test_bad_input() -> None:
    with pytest.raises(aq.UserError, match=r"dynamic = 0\.4: must be at most the static coefficient, 0\.3"):
        cases.run("sdnd106", dynamic=0.4)
    with pytest.raises(aq.UserError, match=r"dynamic = 0\.4: must be at most static"):
        PulledMasses(dynamic=0.4)


def test_figures() -> None:
    parameters = sdnd106.Parameters(steps=100)
    shown = sdnd106.figures(sdnd106.build(parameters).run(), parameters)
    assert set(shown) == {"energies", "motion"}
