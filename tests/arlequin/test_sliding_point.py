"""A point mass slides without friction over a smooth wavy floor under gravity: exact motion, order in the step.

On y = f(x), with the speed along the curve alone:  ẍ = −f′ (g + f″ ẋ²)/(1 + f′²),   N = m (g + f″ ẋ²)/√(1 + f′²),
½ m ẋ² (1 + f′²) + m g f = constant; N stays above 0 here, on crests too.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import arlequin as aq

GRAVITY, MASS, SPEED, END = 10.0, 2.0, 1.5, 1.2  # m/s², kg, m/s along x at the start, s
HEIGHT, WAVE = 0.04, 2.0 * np.pi  # m, 1/m
START = 0.13  # m
SCHEMES: dict[str, Any] = {
    "theta 0.5": aq.Theta(0.5),
    "newmark": aq.Newmark(),
    "theta 0.75": aq.Theta(0.75),  # at 0.55 errors of order 1 and 2 are of like size at these steps
    "theta 1": aq.Theta(1.0),
    "hht": aq.HHT(-0.05),
    "alpha": aq.GeneralisedAlpha.with_radius(0.8),
}
CONSERVING = ("theta 0.5", "newmark")
STEPS = (100, 200, 400)


def floor(x: Any) -> tuple[Any, Any, Any]:
    """f, f′ and f″."""
    return (
        HEIGHT * np.sin(WAVE * x),
        HEIGHT * WAVE * np.cos(WAVE * x),
        -HEIGHT * WAVE**2 * np.sin(WAVE * x),
    )


@dataclass(frozen=True)
class WavyFloor:
    """The floor as an obstacle; the closest point by Newton's method, f′ being small."""

    axes: int = 2
    flat: bool = False

    def closest(self, positions: Any) -> tuple[Any, Any]:
        x, s = positions, positions[:, 0].copy()
        for _ in range(8):
            f, slope, bend = floor(s)
            away = x[:, 1] - f
            s = s - (s - x[:, 0] - away * slope) / (1.0 + slope**2 - away * bend)
        f, slope, _ = floor(s)
        normal = np.stack([-slope, np.ones_like(s)], axis=1) / np.sqrt(1.0 + slope**2)[:, None]
        return np.vecdot(x - np.stack([s, f], axis=1), normal), normal


@cache
def exact() -> Any:
    """(x, ẋ)(t)."""

    def rate(t: float, z: Any) -> list[Any]:
        _, slope, bend = floor(z[0])
        return [z[1], -slope * (GRAVITY + bend * z[1] ** 2) / (1.0 + slope**2)]

    return solve_ivp(rate, (0.0, END), [START, SPEED], method="DOP853", rtol=1e-13, atol=1e-13, dense_output=True).sol


def force(t: Any) -> Any:
    """N(t), N."""
    x, speed = exact()(t)
    _, slope, bend = floor(x)
    return MASS * (GRAVITY + bend * speed**2) / np.sqrt(1.0 + slope**2)


@dataclass(frozen=True)
class Errors:
    """Largest distance from the exact place, m; largest change of the energy over the kinetic energy of the start, and
    the largest gain; mean error of the contact force over its mean, of each step and of the impulse so far; open: share
    of steps without contact; depth: of the penetration, m."""

    place: float
    energy: float
    gain: float
    force: float
    impulse: float
    open: float
    depth: float


def errors(scheme: Any, steps: int) -> Errors:
    height, slope, _ = floor(START)
    mass = aq.PointMasses("m", (START, float(height)), MASS)
    touch = aq.Interface("floor", mass.boundary("all"), WavyFloor(), aq.Unilateral())
    velocity = (SPEED, float(slope) * SPEED)
    system = aq.System([mass], interfaces=[touch], gravity=(0.0, -GRAVITY), velocity=velocity)
    result = aq.simulate(system, scheme, duration=END * (1.0 - 1e-12), step=END / steps)
    t = result["time"].values
    place = result["part/m"]["displacement"].values[:, 0] + (START, float(height))
    x, _ = exact()(t)
    energy = result["energy"]
    total = (energy.sel(kind="kinetic") - energy.sel(kind="external_work")).values
    change = (total - total[0]) / total[0]
    pushed = result["interface/floor"]["pressure"].values[1:, 0]
    right = force(0.5 * (t[1:] + t[:-1]))  # the mean over the step but for O(Δt²)
    off = np.cumsum(pushed - right) / len(right)
    return Errors(
        place=float(np.linalg.norm(place - np.stack([x, floor(x)[0]], axis=1), axis=1).max()),
        energy=float(np.abs(change).max()),
        gain=float(change.max()),
        force=float(np.abs(pushed - right).mean() / right.mean()),
        impulse=float(np.abs(off).max() / right.mean()),
        open=float((pushed == 0.0).mean()),
        depth=-float(result["interface/floor"]["gap_min"].min()),
    )


def order(values: list[float]) -> float:
    """From the last halving of the step."""
    return float(np.log2(values[-2] / values[-1]))


def test_the_reference_keeps_its_energy() -> None:
    t = np.linspace(0.0, END, 200)
    x, speed = exact()(t)
    f, slope, _ = floor(x)
    energy = 0.5 * MASS * speed**2 * (1.0 + slope**2) + MASS * GRAVITY * f
    np.testing.assert_allclose(energy, energy[0], rtol=1e-11)
    assert force(t).min() > 0.1 * MASS * GRAVITY


@pytest.mark.parametrize("scheme", SCHEMES)
def test_order_in_the_step(scheme: str) -> None:
    """At least 1 in the place, the energy, the force and the impulse of contact; 2 in place and energy where the scheme
    conserves, which makes no energy and keeps contact from the first step on that finds it."""
    found = [errors(SCHEMES[scheme], steps) for steps in STEPS]
    for what in ("place", "energy", "force", "impulse"):
        values = [getattr(one, what) for one in found]
        if max(values) > 1e-12:
            least = 1.9 if scheme in CONSERVING and what in ("place", "energy") else 0.9
            assert order(values) > least, (what, values)
    if scheme in CONSERVING:
        assert max(one.gain for one in found) <= 1e-12
        assert max(one.open * steps for one, steps in zip(found, STEPS, strict=True)) < 1.5


if __name__ == "__main__":
    for name, own in SCHEMES.items():
        for count in (100, 200, 400, 800):
            one = errors(own, count)
            print(f"{name:<12}{count:>5} " + " ".join(f"{k} {v:.2e}" for k, v in vars(one).items()), flush=True)
