"""Coulomb friction in dynamics and statics: blocks that slide to rest, thresholds, what is recorded, no tuning."""

from typing import Any

import numpy as np
import pytest

import arlequin as aq
from arlequin.cases.reference.blocks import PushedBlock

MU, GRAVITY, SPEED = 0.3, 10.0, 0.2
YOUNG, HEIGHT, MASS = 1e8, 0.25, 0.25
STIFF = aq.LinearElastic(young=YOUNG, poisson=0.0, density=1.0)
DIRECTION = {2: np.array([1.0]), 3: np.array([0.6, 0.8])}  # of the sliding, along all axes but the last


def sliding(
    dimension: int, scheme: Any, multiplier: str = "nodes", step: float = 5e-4, duration: float = 0.1, **options: Any
) -> Any:
    """A stiff block, at rest under gravity, slides on a rough plane from the speed v₀ on."""
    if dimension == 2:
        mesh, plane = aq.mesh.rectangle((0.0, 1.0), (0.0, HEIGHT), cells=(6, 3)), "strain"
    else:
        mesh, plane = aq.mesh.box((0.0, 1.0), (0.0, 1.0), (0.0, HEIGHT), cells=(3, 3, 2)), None
    mass = "lumped" if isinstance(scheme, aq.CentralDifference) else "consistent"
    weight = (0.0,) * (dimension - 1) + (-GRAVITY,)
    block = aq.Solid("block", mesh, STIFF, plane=plane, mass=mass, body_force=weight)
    wall = aq.RigidPlane((0.0,) * dimension, (0.0,) * (dimension - 1) + (1.0,))
    bottom = block.boundary("bottom" if dimension == 2 else "back")
    floor = aq.Interface("floor", bottom, wall, aq.Unilateral(), aq.Coulomb(MU), multiplier=multiplier)
    velocity = (*(SPEED * DIRECTION[dimension]), 0.0)

    def own_weight(x: Any) -> Any:
        down = GRAVITY / YOUNG * (HEIGHT * x[:, -1] - 0.5 * x[:, -1] ** 2)
        return np.column_stack([np.zeros((len(x), dimension - 1)), -down])

    system = aq.System([block], interfaces=[floor], velocity=velocity, displacement=own_weight, **options)
    return aq.simulate(system, scheme, duration=duration, step=step)


def mean_velocity(result: Any) -> Any:
    """Of the centre of mass (t, a): from the momentum."""
    return result["part/block/momentum"].values / MASS


@pytest.mark.parametrize(
    ("dimension", "scheme", "multiplier"),
    [
        (2, aq.Theta(0.5), "nodes"),
        (2, aq.Theta(1.0), "P1"),
        (2, aq.Newmark(), "P0"),
        (2, aq.HHT(-0.1), "P1"),
        (3, aq.Theta(0.5), "P1"),
        (3, aq.Theta(0.8), "nodes"),
    ],
)
def test_a_block_slides_to_rest(dimension: int, scheme: Any, multiplier: str) -> None:
    """While all of it slides, μ ∫N dt = m μ (g t + v_n) takes its momentum, exactly; it stops as `PushedBlock` does."""
    step = 5e-4
    result = sliding(dimension, scheme, multiplier, step)
    contact, t = result["interface/floor"], result["time"].values
    along, v = DIRECTION[dimension], mean_velocity(result)
    aside = 1e-9 if dimension == 2 else 1e-3  # points of a block in space vibrate across the way, too
    pressure, traction = contact["pressure"].values, contact["traction"].values
    swept = np.cumsum(contact["impulse"].values)
    forward_slip = (traction[..., :-1] @ along <= -MU * pressure * (1.0 - aside)).all(axis=1)
    slides = np.cumprod(forward_slip).astype(bool)
    block = PushedBlock(MASS, MU * MASS * GRAVITY, speed=SPEED)
    # the block is elastic: waves of speed μ g H/c run in it, a few at a time; relative to v₀
    wave = MU * GRAVITY * HEIGHT / np.sqrt(YOUNG) / SPEED
    # a speed that has come down to them may change its way: in space where they turn it by cos⁻¹(1 − aside)
    last = 4.0 * wave + (wave / np.sqrt(2.0 * aside) if dimension == 3 else 0.0)
    assert abs(t[slides].max() - block.stop) <= step + last * block.stop
    # along the way and across it: the disk, not a box
    forward = v[:, :-1] @ along
    np.testing.assert_allclose(forward[slides], (SPEED - MU * swept / MASS)[slides], atol=aside * SPEED)
    np.testing.assert_allclose(v[slides, :-1], forward[slides, None] * along, atol=aside * SPEED)
    assert np.abs(forward - block.velocity(t)).max() <= 4.0 * wave * SPEED
    # u = ∫v by the θ-rule: (θ − ½) Δt v₀ short, and ½ μ g Δt² f (1 − f) ≤ ⅛ μ g Δt² in the step where v turns to zero
    theta = scheme.theta if isinstance(scheme, aq.Theta) else 0.5
    expected = block.position(t[-1]) - (theta - 0.5) * step * SPEED
    travelled = (result["part/block/displacement"].mean("node").values[:, :-1] @ along)[-1]
    kink = MU * GRAVITY * step**2 / 8.0
    assert abs(travelled - expected) <= kink + wave * block.position(t[-1])
    assert np.abs(result["balance"].values).max() <= 1e-10
    # what is recorded of the floor
    status, energy = contact["status"].values, result["energy"]
    np.testing.assert_array_equal(status[slides], (pressure[slides] > 0.0).astype(float))
    assert (np.linalg.norm(traction, axis=2) <= MU * pressure * (1.0 + 1e-9)).all()
    area = contact["area"].values
    np.testing.assert_allclose(
        (traction * area[:, None]).sum(axis=1)[:, :-1], contact["force"].values[:, :-1], atol=1e-9
    )
    np.testing.assert_allclose(pressure @ area, contact["force"].values[:, -1], atol=1e-9)
    wear = np.cumsum(contact["wear_power"].values) * step
    np.testing.assert_allclose(energy.sel(kind="friction").values[slides], MU * wear[slides], rtol=aside, atol=1e-12)
    assert (np.diff(energy.sel(kind="friction").values) >= 0.0).all()
    lost = float(block.dissipated(t[-1]))
    assert abs(MU * wear[-1] - lost) <= MU * MASS * GRAVITY * kink + wave * lost
    np.testing.assert_allclose(contact["slip"].values[-1], block.position(t[-1]), rtol=wave, atol=kink)


# statics


def pressed(multiplier: str, deformable: bool, kind: str = "quad", **options: Any) -> Any:
    """A block pressed down for 0 < t < 1 and then dragged along, both by its top; steps of 0.1."""
    soft = aq.LinearElastic(young=1e3, poisson=0.3, density=1.0)
    motion = {"top": {"y": lambda t: -0.01 * min(t, 1.0), "x": lambda t: 0.02 * max(t - 1.0, 0.0)}}
    mesh = aq.mesh.rectangle((0.3, 0.9), (0.0, 0.3), cells=(7, 4), kind=kind)
    block = aq.Solid("block", mesh, soft, plane="strain", imposed=motion)
    parts, master = [block], aq.RigidPlane((0.0, 0.0), (0.0, 1.0))
    if deformable:
        mesh = aq.mesh.rectangle((0.0, 1.2), (-0.4, 0.0), cells=(11, 4), kind=kind)
        base = aq.Solid("base", mesh, soft, plane="strain", imposed={"bottom": {"x": 0.0, "y": 0.0}})
        parts, master = [block, base], base.boundary("top")
    law = aq.Unilateral(level="gap")
    touch = aq.Interface("touch", block.boundary("bottom"), master, law, aq.Coulomb(MU), multiplier=multiplier)
    return aq.simulate(aq.System(parts, interfaces=[touch], **options), aq.Static(), duration=2.0, step=0.1)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("deformable", [False, True])
@pytest.mark.parametrize("multiplier", ["nodes", "P0", "P1"])
def test_threshold_in_load_steps(multiplier: str, deformable: bool) -> None:
    """Held below μN, dragged over it at μN; the pressure alone is symmetric."""
    result = pressed(multiplier, deformable)
    t, force = result["time"].values, result["interface/touch/force"].values
    x, y = force.T
    pressing = t <= 1.0 + 1e-9
    assert np.abs(x[pressing]).max() <= 1e-9 * y.max()
    assert (np.abs(x) <= MU * y * (1.02 if deformable else 1.0 + 1e-9)).all()
    held = ~pressing & (np.abs(x) < 0.99 * MU * y)
    assert held.sum() >= 3
    # between deformable blocks the normals tilt a little
    np.testing.assert_allclose(x[-3:], -MU * y[-3:], rtol=0.02 if deformable else 1e-9)
    contact, friction = result["interface/touch"], result["energy"].sel(kind="friction").values
    touching = contact["pressure"].values[-1] > 0.0
    assert (contact["status"].values[-1][touching] == 1.0).all()
    assert (np.diff(friction) >= 0.0).all() and friction[-1] > 0.0
    assert np.abs(result["balance"].values).max() <= 1e-10


METHODS = [aq.ContactMethod(augmentation=number) for number in (1e-2, 1e2)]
METHODS += [aq.ContactMethod("augmented", number) for number in (1e-2, 1.0, 1e2)]
METHODS += [aq.ContactMethod(name) for name in ("gauss-seidel", "projected-gradient")]
METHODS += [aq.ContactMethod(stabilised=True)]


def differ(one: Any, other: Any, interface: str) -> float:
    """Largest change of displacements and contact forces, relative to the largest of them."""
    names = ("part/block/displacement", f"interface/{interface}/force")
    pairs = [(one[name].values, other[name].values) for name in names]
    return max(float(np.abs(a - b).max() / np.abs(a).max()) for a, b in pairs)


@pytest.fixture(scope="module")
def by_default() -> tuple[Any, Any]:
    """An obstacle in dynamics, stick and slip of deformable blocks in statics, with the default method."""
    return sliding(2, aq.Theta(0.5), duration=0.02), pressed("P1", True)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("method", METHODS, ids=str)
def test_no_method_and_no_number_moves_the_answer(method: aq.ContactMethod, by_default: tuple[Any, Any]) -> None:
    dynamic, static = by_default
    assert differ(dynamic, sliding(2, aq.Theta(0.5), duration=0.02, contact=method), "floor") <= 1e-8
    assert differ(static, pressed("P1", True, contact=method), "touch") <= 1e-8
