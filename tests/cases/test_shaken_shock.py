"""The shaken mass on a shock element: small blind steps, the power of its forces, the limit of a stiff element."""

import math

import numpy as np
import pytest

from arlequin.cases.reference.shaken_shock import ShakenElement
from arlequin.cases.reference.shaken_slider import ShakenSlider


def blind(slider: ShakenSlider, tangential: float, end: float, steps: int) -> np.ndarray:
    """x after small explicit steps with a return mapping: (steps + 1,)."""
    dt, x, v, anchor, threshold = end / steps, 0.0, 0.0, 0.0, slider.friction * slider.normal_force
    out = [x]
    for n in range(steps):
        held = min(max(-tangential * (x - anchor), -threshold), threshold)
        anchor = x + held / tangential
        v += dt * (held / slider.mass - slider.acceleration * math.sin(slider.pulsation * n * dt))
        x += dt * v
        out.append(x)
    return np.array(out)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("acceleration", [15.0, 1.5, 1.01])
def test_small_blind_steps_tend_to_it(acceleration: float) -> None:
    slider = ShakenSlider(acceleration)
    element = ShakenElement(slider, 9e5, 0.9)
    errors = []
    for steps in (50_000, 200_000):
        x = blind(slider, 9e5, 0.9, steps)
        t = np.linspace(0.0, 0.9, steps + 1)
        exact = np.empty_like(x)
        for phase in element.phases:
            inside = (t >= phase.start) & (t <= phase.end)
            exact[inside] = element.position(phase, t[inside])
        errors.append(np.abs(x - exact).max() / np.abs(exact).max())
    assert errors[1] <= 3e-3
    assert errors[1] <= 0.3 * errors[0]


def test_its_forces_and_friction_balance() -> None:
    """Work of the inertia force = kinetic + spring + f × length of the slips, at the end of a slip."""
    slider = ShakenSlider(1.5)
    element = ShakenElement(slider, 9e5, 2.0)
    last = [phase for phase in element.phases if phase.sense and phase.end < 2.0][-1]
    work = 0.0
    points, weights = np.polynomial.legendre.leggauss(20)
    for phase in element.phases:
        if phase.start >= last.end:
            break
        edges = np.linspace(phase.start, phase.end, 2 + int((phase.end - phase.start) * 2000))
        middle, half = 0.5 * (edges[1:] + edges[:-1]), 0.5 * np.diff(edges)
        t = middle[:, None] + half[:, None] * points
        # by parts: −∫ m a₀ sin ωt ẋ dt = −[m a₀ sin ωt x] + ∫ m a₀ ω cos ωt x dt
        felt = slider.acceleration * slider.pulsation * np.cos(slider.pulsation * t) * element.position(phase, t)
        work += float((felt * weights).sum(axis=1) @ half)
    x = float(element.position(last, last.end))
    work -= slider.acceleration * math.sin(slider.pulsation * last.end) * x
    _, slipping, _ = element.travel(0.0, last.end)
    # it stands still, the spring at the edge
    assert work == pytest.approx(element.threshold * slipping + 0.5 * element.threshold**2 / 9e5, rel=1e-9)


@pytest.mark.slow
def test_a_stiffer_element_tends_to_coulomb() -> None:
    slider = ShakenSlider(1.5)
    exact = slider.mean_work_rate(1.0, 3.0)
    errors = []
    for tangential in (9e5, 9e7):
        stuck, slipping, _ = ShakenElement(slider, tangential, 3.0).travel(1.0, 3.0)
        errors.append(abs(10.0 * (stuck + slipping) / 2.0 / exact - 1.0))
    assert errors[1] <= 0.15 * errors[0]
    assert errors[1] <= 2e-4


def test_below_the_threshold_it_never_slips() -> None:
    """Stuck from rest: x = −a₀/(ω_T² − ω²) (sin ωt − ω/ω_T sin ω_T t)."""
    slider = ShakenSlider(0.99)
    element = ShakenElement(slider, 9e5, 5.0)
    (phase,) = element.phases
    assert element.travel(0.0, 5.0)[1:] == (0.0, 5.0)
    t, ringing = np.linspace(0.0, 5.0, 1001), math.sqrt(9e5)
    w = slider.pulsation
    x = -0.99 / (9e5 - w**2) * (np.sin(w * t) - w / ringing * np.sin(ringing * t))
    np.testing.assert_allclose(element.position(phase, t), x, atol=1e-9 * np.abs(x).max())
