"""What is refused of interfaces: one clear line each; and a block dropped on every kind of obstacle."""

from typing import Any

import numpy as np
import pytest

import arlequin as aq

SOFT = aq.LinearElastic(young=1e3, poisson=0.3, density=1.0)


def plate(
    name: str, x: tuple[float, float], y: tuple[float, float], cells: tuple[int, int], **options: Any
) -> aq.Solid:
    return aq.Solid(name, aq.mesh.rectangle(x, y, cells=cells), SOFT, plane="strain", **options)


def fall(gap: float, x: tuple[float, float] = (0.3, 0.8), **options: Any) -> Any:
    """A block at `gap` above a plate falls on it."""
    low, high = plate("low", (0.0, 1.0), (0.0, 0.4), (8, 3)), plate("high", x, (0.4 + gap, 0.8 + gap), (5, 3))
    touch = aq.Interface("touch", high.boundary("bottom"), low.boundary("top"), aq.Unilateral(), **options)
    system = aq.System([low, high], interfaces=[touch], velocity={"high": (0.0, -1.0)})
    return aq.simulate(system, aq.Theta(0.5), duration=0.02, step=2e-3)


@pytest.mark.parametrize("multiplier", ["nodes", "gauss", "P0", "P1"])
def test_a_start_with_penetration_says_how_much_and_where(multiplier: str) -> None:
    with pytest.raises(aq.UserError, match=r"'touch': starts interpenetrated by 0.05 m at \(0\.3\d*, 0\.35\) m"):
        fall(-0.05, multiplier=multiplier)


def test_surfaces_that_can_never_meet() -> None:
    with pytest.raises(aq.UserError, match="'touch': no point of 'bottom' has a partner at the start, and sliding="):
        fall(0.01, x=(3.0, 4.0), sliding="small")
    with pytest.raises(aq.UserError, match=r"direction = \[1.0, 0.0\]: is tangential to 'top'"):
        fall(0.01, multiplier="nodes", direction=(1.0, 0.0))
    fall(0.01, x=(3.0, 4.0))  # it may fly there: large sliding looks for partners in every step


def test_sides() -> None:
    part = plate("part", (0.0, 1.0), (0.0, 1.0), (3, 3))
    with pytest.raises(
        aq.UserError, match=r"no boundary is named 'tip', did you mean top\? \(boundaries: bottom, left, right, top\)"
    ):
        part.boundary("tip")
    for master in ("left", "top"):
        with pytest.raises(aq.UserError, match=f"slave 'left' and master '{master}' have nodes in common"):
            aq.Interface("touch", part.boundary("left"), part.boundary(master), aq.Unilateral())
    with pytest.raises(aq.UserError, match=r"friction coefficient = -0\.1: must not be negative"):
        aq.Coulomb(-0.1)


def test_more_multipliers_than_the_displacements_determine() -> None:
    low = plate("low", (0.0, 1.0), (0.0, 0.4), (4, 2), imposed={"bottom": {"x": 0.0, "y": 0.0}})
    high = plate("high", (0.0, 1.0), (0.4, 0.8), (9, 3), imposed={"top": {"x": 0.0, "y": lambda t: -0.01 * t}})
    law, sides = aq.Unilateral(level="gap"), (high.boundary("bottom"), low.boundary("top"))
    touch = aq.Interface("touch", *sides, law, multiplier="gauss")
    plain = aq.System([low, high], interfaces=[touch])
    with pytest.raises(aq.UserError, match="do not determine all multipliers: take fewer"):
        aq.simulate(plain, aq.Static(), duration=1.0, step=0.5)
    stabilised = aq.System([low, high], interfaces=[touch], contact=aq.ContactMethod(stabilised=True))
    result = aq.simulate(stabilised, aq.Static(), duration=1.0, step=0.5)
    unique = aq.System([low, high], interfaces=[aq.Interface("touch", *sides, law, multiplier="P1")])
    reference = aq.simulate(unique, aq.Static(), duration=1.0, step=0.5)
    name = "interface/touch/force"
    assert result[name].values[-1, 1] == pytest.approx(reference[name].values[-1, 1], rel=1e-3)


def test_the_end_of_a_beam() -> None:
    """It is a slave of a surface, and no master."""
    low = plate("low", (0.0, 1.0), (0.0, 0.4), (8, 3))
    section = aq.Section.rectangle(0.1, 1.0)
    beam = aq.Beam.between("beam", (0.3, 0.405), (0.5, 1.2), 6, SOFT, section)
    touch = aq.Interface("touch", beam.boundary("left"), low.boundary("top"), aq.Unilateral(), aq.Coulomb(0.3))
    system = aq.System([low, beam], interfaces=[touch], velocity={"low": (0.0, 1.0)})
    result = aq.simulate(system, aq.Theta(0.5), duration=0.05, step=2e-3)
    momentum = sum(result[f"part/{name}/momentum"].values for name in ("low", "beam"))
    assert result["interface/touch/force"].values[:, 1].max() > 0.0
    assert np.abs(momentum - momentum[0]).max() <= 1e-12 * np.abs(momentum[0]).max()
    assert np.abs(result["balance"].values).max() <= 1e-10
    with pytest.raises(aq.UserError, match="of 'beam' is a point: make it the slave"):
        aq.Interface("touch", low.boundary("top"), beam.boundary("left"), aq.Unilateral())


# obstacles: the distance of the nodes from each is computed here, not by the obstacle
BALL, TUBE = np.array([0.5, -0.5]), np.array([0.5, -0.5])
OBSTACLES: dict[str, tuple[Any, Any]] = {
    "disk": (aq.RigidSphere(BALL, 0.5), lambda x: np.linalg.norm(x - BALL, axis=1) - 0.5),
    "rectangle": (
        aq.RigidBox((0.2, -1.0), (0.9, 0.0)),
        lambda x: np.where(np.abs(x[:, 0] - 0.55) < 0.35, x[:, 1], 1.0),
    ),
    "polyline": (
        aq.RigidPolyline([(1.3, 0.0), (0.3, 0.0), (-0.5, -0.2)]),
        lambda x: x[:, 1] + 0.25 * np.clip(0.3 - x[:, 0], 0.0, 0.8),
    ),
    "ball": (aq.RigidSphere((0.5, -0.5, 0.5), 0.5), lambda x: np.linalg.norm(x - (0.5, -0.5, 0.5), axis=1) - 0.5),
    "cylinder": (
        aq.RigidCylinder((0.5, -0.5, 0.0), (0.0, 0.0, 1.0), 0.5),
        lambda x: np.linalg.norm(x[:, :2] - TUBE, axis=1) - 0.5,
    ),
    "box": (aq.RigidBox((-1.0, -1.0, -1.0), (2.0, 0.0, 2.0)), lambda x: x[:, 1]),
    "surface": (
        aq.RigidSurface([(-1, 0, -1), (3, 0, -1), (-1, 0, 3), (3, 0, 3)], [(0, 2, 1), (1, 2, 3)]),
        lambda x: x[:, 1],
    ),
}  # fmt: skip


@pytest.mark.sampled(4)
@pytest.mark.parametrize("friction", [None, aq.Coulomb(0.3)])
@pytest.mark.parametrize("name", OBSTACLES)
def test_a_block_dropped_on_an_obstacle(name: str, friction: Any) -> None:
    """No node goes deeper than V Δt, the block turns back, and all losses are accounted for."""
    obstacle, distance = OBSTACLES[name]
    if obstacle.axes == 2:
        block = plate("block", (0.1, 0.95), (0.01, 0.5), (7, 4))
        side = "bottom"
    else:
        mesh = aq.mesh.box((0.1, 0.95), (0.01, 0.5), (0.2, 0.8), cells=(4, 3, 3))
        block, side = aq.Solid("block", mesh, SOFT), "bottom"
    step, velocity = 2e-3, (0.2, -1.0, 0.1)[: obstacle.axes]
    touch = aq.Interface("touch", block.boundary(side), obstacle, aq.Unilateral(), friction, multiplier="nodes")
    system = aq.System([block], interfaces=[touch], velocity=velocity)
    result = aq.simulate(system, aq.Theta(0.5), duration=0.1, step=step)
    nodes = block.boundary(side).nodes
    moved = block.positions[nodes] + result["part/block/displacement"].values[:, nodes]
    gaps = np.array([distance(x) for x in moved])
    assert (gaps[:, distance(block.positions[nodes]) < 0.9] > -1.0 * step).all()
    contact = result["interface/touch"]
    assert contact["impulse"].values.sum() > 0.0 and contact["force"].values[:, 1].max() > 0.0
    assert result["part/block/momentum"].values[-1, 1] > result["part/block/momentum"].values[0, 1]
    assert np.abs(result["balance"].values).max() <= 1e-10
    assert np.abs(result["energy"].sel(kind="scheme").values).max() <= 1e-12 * result["energy"].values[0].max()


@pytest.mark.parametrize("gap", [-0.2, -0.33])
@pytest.mark.parametrize("multiplier", ["nodes", "gauss", "P0", "P1"])
def test_a_start_too_deep_for_partners_is_refused_too(multiplier: str, gap: float) -> None:
    """Deeper than a facet is long no partner is found; the points lie inside the other part all the same."""
    with pytest.raises(aq.UserError, match=r"'touch': starts interpenetrated by 0\.[23]\d* m at \(0\.\d+, 0\.\d+\) m"):
        fall(gap, multiplier=multiplier)


def test_points_in_and_out_of_a_mesh() -> None:
    from arlequin.overlap.geometry import inside

    square = aq.mesh.rectangle((0.0, 1.0), (0.0, 1.0), cells=(7, 5))
    rng = np.random.default_rng(0)
    points = rng.uniform(-0.5, 1.5, (400, 2))
    expected = (np.abs(points - 0.5) < 0.5).all(axis=1)
    for mesh in (square, square.to_meshtri()):
        assert (inside(mesh, points) == expected).mean() > 0.99
        assert not inside(mesh, points)[~expected].any()
    cube = aq.mesh.box((0.0, 1.0), (0.0, 1.0), (0.0, 1.0), cells=(3, 3, 3))
    points = rng.uniform(-0.5, 1.5, (400, 3))
    expected = (np.abs(points - 0.5) < 0.5).all(axis=1)
    for mesh in (cube, cube.to_meshtet()):
        assert (inside(mesh, points) == expected).mean() > 0.99
        assert not inside(mesh, points)[~expected].any()
