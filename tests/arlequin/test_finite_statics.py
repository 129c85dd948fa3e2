"""Finite rotations in statics: the elastica, a stretched bar, a press under contact."""

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_bvp

import arlequin as aq


def elastica(load: float) -> tuple[float, float]:
    """Shortening and deflection of the tip of a cantilever of unit length and EI under a transverse force."""

    def bent(_: Any, y: Any) -> Any:  # θ, κ, ∫cos θ, ∫sin θ
        return np.array([y[1], -load * np.cos(y[0]), np.cos(y[0]), np.sin(y[0])])

    def ends(a: Any, b: Any) -> Any:
        return np.array([a[0], b[1], a[2], a[3]])

    s = np.linspace(0, 1, 40)
    found = solve_bvp(bent, ends, s, np.stack([s, 1 - s, s, s]), tol=1e-8)
    return 1 - found.y[2, -1], found.y[3, -1]


def cantilever(thin: float, load: float, cells: int = 60) -> aq.System:
    """A strip with EI = 1 under an end load that grows to `load` in 1 s."""
    strip = aq.mesh.rectangle((0, 1), (0, thin), cells=(cells, 1))
    part = aq.Solid(
        "strip",
        strip,
        aq.LinearElastic(12 / thin**3, 0.0),
        plane="stress",
        order=2,
        kinematics="finite",
        imposed={"left": {"x": 0.0, "y": 0.0}},
        tractions={"right": lambda x, t: np.stack([0 * x[0], 0 * x[0] + load * t / thin])},
    )
    return aq.System([part])


def test_a_cantilever_bent_over_is_the_elastica() -> None:
    """It turns by 1.43 rad at its tip; the difference is that of its strains, (h/L)²."""
    result = aq.simulate(cantilever(1 / 100, 10.0), aq.Static(), duration=1.0, step=0.05)
    right = np.flatnonzero(result["part/strip"].position.sel(axis="x").values == 1.0)
    shift = result["part/strip"].displacement.values[:, right].mean(axis=1)
    for n in (5, 10, 20):
        shortening, deflection = elastica(10.0 * n / 20)
        assert shift[n] == pytest.approx([-shortening, deflection], rel=4e-4)
    assert np.abs(result["balance"]).max() <= 1e-10


def test_the_trapezoidal_rule_misses_work_of_order_two() -> None:
    missed = []
    for step in (0.2, 0.1, 0.05):
        energy = aq.simulate(cantilever(1 / 20, 4.0, 10), aq.Static(), duration=1.0, step=step)["energy"]
        missed.append(abs(float(energy.sel(kind="scheme")[-1])))
    orders = np.log2(np.array(missed[:-1]) / missed[1:])
    assert missed[-1] > 1e-9 and np.all(np.abs(orders - 2) < 0.25), orders


def test_a_block_pressed_to_a_uniform_strain() -> None:
    """Between a plane and a moving end, free across: P = s E ½(s² − 1) in plane stress."""
    steel = aq.LinearElastic(young=100.0, poisson=0.25)
    part = aq.Solid(
        "block",
        aq.mesh.rectangle((0, 1), (0, 2), cells=(2, 3)),
        steel,
        plane="stress",
        kinematics="finite",
        imposed={"top": {"y": lambda t: -0.4 * t}, "left": {"x": 0.0}},
    )
    floor = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))
    interface = aq.Interface("floor", part.boundary("bottom"), floor, aq.Unilateral(level="gap"))
    result = aq.simulate(aq.System([part], interfaces=[interface]), aq.Static(), duration=1.0, step=0.25)
    s = 0.8
    assert float(result["interface/floor"].force[-1].sel(component="y")) == pytest.approx(
        50 * s * (1 - s**2), rel=1e-10
    )
    u = result["part/block"].displacement.values[-1]
    x = result["part/block"].position.values
    across = np.sqrt(1 + 0.25 * (1 - s**2))
    assert np.abs(u - x * [across - 1, s - 1] - [0, 0]).max() <= 1e-10
    assert np.abs(result["balance"]).max() <= 1e-10


def squeezed(pressure: float) -> aq.System:
    """A block of Young's modulus 100 without lateral contraction, squeezed by a dead load that grows in 1 s."""
    part = aq.Solid(
        "block",
        aq.mesh.rectangle((0, 1), (0, 1), cells=(2, 2)),
        aq.LinearElastic(100.0, 0.0),
        plane="stress",
        kinematics="finite",
        imposed={"bottom": {"y": 0.0}, "left": {"x": 0.0}},
        tractions={"top": lambda x, t: np.stack([0 * x[0], 0 * x[0] - pressure * t])},
    )
    return aq.System([part])


@pytest.mark.slow
def test_a_load_beyond_the_limit_point_is_refused(tmp_path: Any) -> None:
    """P = s E ½(1 − s²) is at most 0.19245 E; beyond it the equations hold for the block inside out alone."""
    result = aq.simulate(squeezed(18.0), aq.Static(), duration=1.0, step=0.05)
    s = 1 + result["part/block"].displacement.values[-1].min()
    assert 50 * s * (1 - s * s) == pytest.approx(18.0, rel=1e-9) and s > 1 / np.sqrt(3)
    path = str(tmp_path / "run.zarr")
    with pytest.raises(
        aq.UserError, match=r"\(largest residual in part 'block', cell [0-3]\), .*cut to 1/256 of it: try"
    ):
        aq.simulate(squeezed(19.4), aq.Static(), duration=1.0, step=0.05, record=path)
    kept = aq.results.open(path)["part/block"].displacement.values
    s = 1 + kept[-1].min()
    assert len(kept) == 20 and 50 * s * (1 - s * s) == pytest.approx(0.95 * 19.4, rel=1e-9) and s > 1 / np.sqrt(3)
