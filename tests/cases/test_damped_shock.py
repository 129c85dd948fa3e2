"""The sliding mass on an element with a dashpot: another integrator, its energy, its limits, its closed forms."""

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from arlequin.cases.reference.damped_shock import DampedElement
from arlequin.cases.reference.shaken_shock import ShakenElement
from arlequin.cases.reference.shaken_slider import ShakenSlider
from arlequin.cases.reference.slider import ReleasedSlider
from arlequin.models.errors import UserError

CRITICAL = 2.0 * math.sqrt(4.1e5)


RELEASED, SHAKEN = (8.5e-4, 0.0), (2e-4, 3.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("damping", "release", "acceleration"),
    [
        (30.0, *RELEASED),
        (CRITICAL, *SHAKEN),
        (2e4, *RELEASED),
        pytest.param(30.0, *SHAKEN, marks=pytest.mark.slow),
        pytest.param(CRITICAL, *RELEASED, marks=pytest.mark.slow),
        pytest.param(2e4, *SHAKEN, marks=pytest.mark.slow),
    ],
)
def test_against_an_integrator_without_events(damping: float, release: float, acceleration: float) -> None:
    k, stiff, f, w = 1e4, 4e5, 1.0, 70.0

    def rates(t: float, y: np.ndarray) -> list[float]:
        x, v, e = y
        pull = min(max(stiff * e + damping * v, -f), f)
        return [v, -k * x - pull - acceleration * math.sin(w * t), (pull - stiff * e) / damping]

    end = 0.1
    run = solve_ivp(rates, (0.0, end), [release, 0.0, 0.0], method="DOP853", rtol=1e-11, atol=1e-15,
                    max_step=5e-6, dense_output=True)  # fmt: skip
    motion = DampedElement(1.0, k, stiff, damping, f, acceleration, w).motion(release, end)
    t = np.linspace(0.0, end, 301)
    size = np.abs(run.sol(t)).max(axis=1)[:, None]
    np.testing.assert_allclose(motion.state(t) / size, run.sol(t) / size, rtol=0.0, atol=1e-9)
    way = np.abs(np.diff(run.sol(np.linspace(0.01, end, 20_001))[0])).sum()
    assert motion.travel(0.01, end)[0] == pytest.approx(way, rel=1e-6)


def test_what_it_takes_is_what_is_missing() -> None:
    """½ k x² + ½ m v² + ½ K e², of the released mass."""
    motion = DampedElement(1.0, 1e4, 4e5, CRITICAL, 1.0).motion(8.5e-4, 0.2)
    for first, last in ((0.0, 0.05), (0.031, 0.15), (0.126, 0.2)):
        x, v, e = motion.state([first, last])
        energy = 0.5 * (1e4 * x**2 + v**2 + 4e5 * e**2)
        assert motion.travel(first, last)[1] == pytest.approx(energy[0] - energy[1], rel=1e-9)


def test_stuck_it_is_a_damped_oscillator() -> None:
    """Critical about the spring's unloaded place, K/(k + K) r: (1 + ω t) exp(−ω t)."""
    motion = DampedElement(1.0, 1e4, 4e5, CRITICAL, 10.0).motion(5e-4, 0.02)
    assert len(motion.pieces) == 1
    t, omega, middle = np.linspace(0.0, 0.02, 50), math.sqrt(4.1e5), 4e5 / 4.1e5 * 5e-4
    exact = middle + (5e-4 - middle) * (1.0 + omega * t) * np.exp(-omega * t)
    np.testing.assert_allclose(motion.state(t)[0], exact, rtol=1e-10)


def test_a_stiffer_element_tends_to_coulomb() -> None:
    exact = ReleasedSlider().turning_point(np.arange(1, 5))
    off = []
    for stiff in (4e5, 4e7):
        element = DampedElement(1.0, 1e4, stiff, 2.0 * math.sqrt(stiff + 1e4), 1.0)
        motion = element.motion(8.5e-4, 0.2)
        off.append(np.abs(motion.state(motion.turns[:4])[0] / exact - 1.0).max())
    assert off[0] <= 6e-3
    assert off[1] <= 0.02 * off[0]


def test_without_dashpot_it_is_the_ringing_element() -> None:
    slider = ShakenSlider(15.0)
    stuck, slipping, _ = ShakenElement(slider, 9e5, 2.0).travel(0.0, 2.0)
    way, taken, _ = DampedElement(1.0, 0.0, 9e5, 0.01, 1.0, 15.0, 2.0 * math.pi).motion(0.0, 2.0).travel(0.0, 2.0)
    assert way == pytest.approx(stuck + slipping, rel=1e-5)
    assert taken == pytest.approx(slipping, rel=1e-5)


def test_bad_numbers() -> None:
    with pytest.raises(UserError, match="damping = 0"):
        DampedElement(1.0, 1e4, 4e5, 0.0, 1.0)
    with pytest.raises(UserError, match="threshold = 0"):
        DampedElement(1.0, 1e4, 4e5, 1.0, 0.0)
