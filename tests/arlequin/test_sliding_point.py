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


@pytest.mark.slow
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


# on a layer of asperities:  m ẍ = p(g(x)) n(x) − m g e_y,  p = κ ⟨a − g⟩²,  g and n of the closest point of the floor
LAYER = aq.Asperities(stiffness=1e8, exponent=2.0, height=0.002)  # 34 Hz on it, 3 to 4 waves of the floor
CRUSH = (MASS * GRAVITY / LAYER.stiffness) ** 0.5  # under its weight, m


def pressed() -> tuple[Any, Any]:
    """Place and velocity: pressed by its weight, along the floor."""
    height, slope, _ = floor(START)
    normal = np.array([-slope, 1.0]) / np.hypot(slope, 1.0)
    return np.array([START, height]) + normal * (LAYER.height - CRUSH), SPEED * np.array([1.0, slope])


def on_layer(t: Any) -> Any:
    """Places (t, 2)."""

    def rate(_: float, z: Any) -> list[float]:
        gap, normal = WavyFloor().closest(z[None, :2])
        pushed = LAYER.pressure(gap)[0] * normal[0] / MASS
        return [z[2], z[3], pushed[0], pushed[1] - GRAVITY]

    z0 = np.concatenate(pressed())
    return solve_ivp(rate, (0.0, END), z0, method="DOP853", rtol=1e-11, atol=1e-13, t_eval=t).y[:2].T


def run_on_layer(scheme: Any, steps: int) -> tuple[float, Any, Any]:
    """The largest distance from the exact place, m; the change of the energy over that of the start; `scheme`."""
    place, velocity = pressed()
    mass = aq.PointMasses("m", tuple(map(float, place)), MASS)
    touch = aq.Interface("floor", mass.boundary("all"), WavyFloor(), [LAYER])
    system = aq.System([mass], interfaces=[touch], gravity=(0.0, -GRAVITY), velocity=tuple(map(float, velocity)))
    result = aq.simulate(system, scheme, duration=END * (1.0 - 1e-12), step=END / steps)
    t = np.minimum(result["time"].values, END)
    off = np.linalg.norm(result["part/m"]["displacement"].values[:, 0] + place - on_layer(t), axis=1).max()
    energy = result["energy"]
    total = (energy.sel(kind="kinetic") + energy.sel(kind="asperity") - energy.sel(kind="external_work")).values
    return float(off), (total - total[0]) / total[0], energy.sel(kind="scheme").values


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["theta 0.5", "newmark"])
def test_conserving_schemes_give_back_what_turning_took(scheme: str) -> None:
    """Order 2; energy never above that of the start, and below it by what is of order 2."""
    found = [run_on_layer(SCHEMES[scheme], steps) for steps in (800, 1600, 3200)]
    places, lost = [one[0] for one in found], [-float(one[1].min()) for one in found]
    assert places[-1] < 1e-5 and order(places) > 1.9, places
    assert lost[-1] < 1e-6 and order(lost) > 1.9, lost
    for _, change, made in found:
        assert change.max() <= 1e-12
        assert abs(change[-1]) <= 1e-12  # the floor is periodic, and so is what its turning takes
        assert made.min() >= -1e-12


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["theta 0.75", "theta 1", "hht", "alpha"])
def test_dissipating_schemes_make_none(scheme: str) -> None:
    assert run_on_layer(SCHEMES[scheme], 400)[1].max() <= 1e-12


if __name__ == "__main__":
    for name, own in SCHEMES.items():
        for count in (100, 200, 400, 800):
            one = errors(own, count)
            print(f"{name:<12}{count:>5} " + " ".join(f"{k} {v:.2e}" for k, v in vars(one).items()), flush=True)
