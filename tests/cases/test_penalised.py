"""Shock elements on the sliders of SDND100 and SDND104: every scheme against event-driven solutions."""

import math
from typing import Any

import numpy as np
import pytest

import arlequin as aq
from arlequin.cases.reference.shaken_slider import ShakenSlider
from arlequin.cases.reference.shock import ShockElement, ShockMotion, SlidingMass, released_mass

RELEASE, MU, NORMAL = 8.5e-4, 0.1, 20.0  # m, —, N/m
THETA, EULER, VOGELAERE, ADAPTIVE = aq.Theta(0.5), aq.SymplecticEuler(), aq.DeVogelaere(), aq.RungeKutta()


def slider(stiffness: float, weak: float, **options: Any) -> Any:
    """1 kg on a shock element that carries its weight."""
    one = aq.PointMasses("slider", (0.0, 0.0), 1.0)
    floor = aq.RigidPlane((0.0, 0.0), (0.0, 1.0))
    law = aq.Coulomb(MU, stiffness=stiffness)
    touch = aq.Interface("floor", one.boundary("all"), floor, aq.ImpactElement(NORMAL), law)
    spring = aq.Spring("spring", one.boundary("all"), stiffness=(weak, 0.0))
    start = (options.pop("release", 0.0), -10.0 / NORMAL)
    return aq.System([one], springs=[spring], interfaces=[touch], displacement=start, **options)


@pytest.fixture(scope="module")
def released() -> ShockMotion:
    return released_mass(SlidingMass(), ShockElement(NORMAL, 4e5, friction=MU), RELEASE, 0.16)


def release(scheme: Any, step: float, exact: ShockMotion) -> tuple[float, Any]:
    """Largest error of the displacement, relative to the release, and the result."""
    system = slider(4e5, 1e4, release=RELEASE, gravity=(0.0, -10.0))
    result = aq.simulate(system, scheme, duration=0.16, step=step)
    x = result["part/slider/displacement"].values[:, 0, 0]
    return float(np.abs(x - exact.state(result["time"].values)[0][0]).max()) / RELEASE, result


@pytest.mark.parametrize(
    ("scheme", "error"),
    [(THETA, 3e-3), (aq.Newmark(), 3e-3), (aq.HHT(), 5e-3), (EULER, 3e-2), (VOGELAERE, 5e-4), (ADAPTIVE, 1e-9)],
    ids=str,
)  # fmt: skip
def test_sdnd100_at_the_step_of_the_benchmark(scheme: Any, error: float, released: ShockMotion) -> None:
    """Δt = 5e-4: errors of the displacement; the losses and the balance, whatever the scheme."""
    found, result = release(scheme, 5e-4, released)
    assert found <= error
    energy = result["energy"]
    assert (np.diff(energy.sel(kind="friction").values) >= 0.0).all()
    assert np.abs(result["balance"].values).max() <= 1e-13
    # released at rest: the spring and the weight have paid for all of friction's work
    lost = energy.sel(kind="friction").values[-1]
    assert lost == pytest.approx(0.5 * 1e4 * RELEASE**2, rel=5e-3)
    force = result["interface/floor/traction"].values[:, 0, 0]
    assert (np.abs(force) <= MU * result["interface/floor/pressure"].values[:, 0] * (1.0 + 1e-12)).all()


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("scheme", "order"), [(THETA, 2), (VOGELAERE, 2), (EULER, 1)], ids=str)
def test_sdnd100_converges(scheme: Any, order: int, released: ShockMotion) -> None:
    """Over four slips, stick and their changes: order 2 of the θ-scheme is kept; changes within a step cap order 4."""
    coarse, fine = (release(scheme, step, released)[0] for step in (5e-4, 2e-5))
    assert math.log(coarse / fine) / math.log(25.0) >= order - 0.2


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("scheme", "step"), [(THETA, 1e-4), (EULER, 3e-5), (VOGELAERE, 1e-4), (ADAPTIVE, 1e-3)], ids=str
)
def test_sdnd104_wear(scheme: Any, step: float) -> None:
    """Two seconds of slip and reversal in the frame of the support: mean work rate and path within 1e-3."""
    exact, omega = ShakenSlider(15.0, MU), 2.0 * math.pi
    system = slider(9e5, 3e-5, gravity=lambda t: (-15.0 * math.sin(omega * t), -10.0))
    result = aq.simulate(system, scheme, duration=2.0, step=step, fields_every=10)
    end = float(result["time"].values[-1])
    wear = result["interface/floor/wear_power"].values.sum() * step / end
    assert wear == pytest.approx(exact.mean_work_rate(0.0, end), rel=1e-3)
    assert result["energy"].sel(kind="friction").values[-1] == pytest.approx(MU * wear * end, rel=1e-4)
    frames = result["part/slider"].dataset
    path = exact.relative_position(frames["frame_time"].values)
    x = frames["displacement"].values[:, 0, 0]
    assert np.abs(x - path).max() <= 1e-3 * np.abs(path).max()
    assert np.abs(result["balance"].values).max() <= 1e-11
