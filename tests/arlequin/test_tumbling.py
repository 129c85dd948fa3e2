"""Rigid boxes that fall, bounce, slide and roll on a plane: every step is solved, and energy never grows."""

from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import arlequin as aq

GRAVITY = 9.81


def tumbling(seed: int) -> aq.Study:
    """A cube or a box of 3 mm to 3 m, in any attitude or nearly flat, thrown down; 80 to 1,250 steps."""
    rng = np.random.default_rng(seed)
    size = 10.0 ** rng.uniform(-2.5, 0.5)
    spans = size * (np.ones(3) if rng.random() < 0.5 else rng.uniform(0.4, 1.6, 3))
    made = aq.mesh.box(*[(-0.5 * span, 0.5 * span) for span in spans], cells=(1, 1, 1))
    if rng.random() < 0.7:
        turned = Rotation.random(random_state=int(rng.integers(1 << 31)))
    else:
        turned = Rotation.from_rotvec(0.05 * rng.normal(size=3))
    places = turned.as_matrix() @ made.p
    places[2] += 1e-3 * size * rng.uniform(0.0, 5.0) - places[2].min()
    mesh: Any = type(made)(np.ascontiguousarray(places), made.t).with_boundaries({"skin": lambda x: x[0] > -np.inf})
    material = aq.LinearElastic(young=1e9, poisson=0.3, density=10.0 ** rng.uniform(2.0, 4.0))
    box = aq.Rigid(aq.Solid("box", mesh, material))
    law = aq.Unilateral(restitution=float(rng.choice([0.0, 0.3, 0.6, 0.9])))
    friction = float(rng.choice([0.0, 0.1, 0.4, 0.9]))
    plane = aq.RigidPlane((0.0, 0.0, 0.0), (0.0, 0.0, 1.0))
    floor = aq.Interface("floor", box.boundary("skin"), plane, law, friction=aq.Coulomb(friction) if friction else None)
    velocity = rng.normal(size=3) * np.sqrt(GRAVITY * size)
    velocity[2] = -abs(velocity[2])
    time = np.sqrt(size / GRAVITY)
    step = float(time * 10.0 ** rng.uniform(-2.7, -1.5))
    system = aq.System([box], interfaces=[floor], gravity=(0.0, 0.0, -GRAVITY), velocity=tuple(velocity))
    return aq.Study(system, aq.Theta(0.5), duration=step * int(np.ceil(2.5 * time / step)), step=step)


def check(seed: int) -> None:
    result = tumbling(seed).run(progress=False)
    energy = {kind: result["energy"].sel(kind=kind).values for kind in ("kinetic", "external_work", "scheme")}
    size = np.abs(energy["kinetic"]).max()
    assert np.diff(energy["kinetic"] - energy["external_work"]).max() < 1e-12 * size, seed
    assert np.abs(energy["scheme"]).max() < 1e-12 * size, seed
    assert np.abs(result["balance"]).max() < 1e-12, seed
    assert float(result["interface/floor/impulse"].sum()) > 0.0, seed


# 66: corners come to rest in one step; 87: released ones change, in 1,200 steps
@pytest.mark.parametrize(
    "seed", [5, 15, 18, pytest.param(66, marks=pytest.mark.slow), pytest.param(87, marks=pytest.mark.slow)]
)
def test_tumbling_boxes(seed: int) -> None:
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 300, 20))
def test_more_tumbling_boxes(first: int) -> None:
    for seed in range(first, first + 20):
        check(seed)
