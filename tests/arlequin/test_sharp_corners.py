"""Sharp corners and edges of both sides: tables, stacks, wedges and crossing bars."""

from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import arlequin as aq

GRAVITY = 9.81


@pytest.mark.slow
@pytest.mark.parametrize("extra", [0, 9, 99])
@pytest.mark.parametrize("kind", ["box", "polyline", "body"])
def test_a_block_tips_at_the_edge_of_a_table(kind: str, extra: int) -> None:
    """θ̈ = g x/k² with x = v t beyond the edge: θ = g v t³/(6 k²), k the radius of gyration about the edge."""
    speed, length, height = 0.5, 0.1, 0.02
    start = -0.06
    sole = [(start + length * i / (extra + 1), 0.0) for i in range(extra + 2)]
    block = aq.RigidBody("block", [*sole, (start + length, height), (start, height)], mass=1.0)
    parts: list[Any] = [block]
    corners = [(-1.0, -0.5), (0.0, -0.5), (0.0, 0.0), (-1.0, 0.0)]
    if kind == "body":
        table: Any = aq.RigidBody("table", corners, mass=1.0, imposed={"body": {"x": 0.0, "y": 0.0, "rz": 0.0}})
        parts.append(table)
        master = table.boundary("outline")
    else:
        master = aq.RigidBox((-1, -0.5), (0, 0)) if kind == "box" else aq.RigidPolyline(corners, closed=True)
    contact = aq.Interface("contact", block.boundary("outline"), master, aq.Unilateral())
    system = aq.System(parts, interfaces=[contact], gravity=(0, -GRAVITY), velocity={"block": (speed, 0)})
    result = aq.simulate(system, aq.Theta(0.5), duration=0.05, step=2e-4, progress=False)
    tipped = -result["part/block/angle"].values.ravel() > 1e-3
    centre = start + 0.5 * length + result["part/block/displacement"].values[:, 0, 0]
    gyration = (length**2 + height**2) / 12 + 0.25 * height**2
    exact = speed * (6e-3 * gyration / (GRAVITY * speed)) ** (1 / 3)
    assert centre[np.argmax(tipped)] == pytest.approx(exact, abs=4e-4)


STACKS = {
    "equal": ([0.1, 0.1, 0.1], [0.0, 0.0, 0.0]),
    "wide on narrow": ([0.1, 0.2, 0.3], [0.0, 0.0, 0.0]),
    "narrow on wide": ([0.3, 0.2, 0.1], [0.0, 0.02, 0.0]),
    "beside": ([0.1, 0.1, 0.1], [0.0, 0.02, 0.0]),
    "almost equal": ([0.1, 0.1, 0.1], [0.0, 1e-7, -1e-5]),
    "equal but for some digits": ([0.1, 0.1, 0.1], [0.0, 1e-9, 9e-10]),
    "equal but for round-off": ([0.1, 0.1, 0.1], [0.0, 3e-13, -1e-14]),
}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("friction", [None, 0.3])
@pytest.mark.parametrize("sides", ["outline", "faces"])
@pytest.mark.parametrize("name", STACKS)
def test_stacks_rest(name: str, sides: str, friction: float | None) -> None:
    """Corners meet faces, or corners, and each contact carries the weight above it; the default multiplier."""
    parts: list[aq.RigidBody] = []
    contacts = []
    for k, (width, middle) in enumerate(zip(*STACKS[name], strict=True)):
        low, high, under = middle - 0.5 * width, middle + 0.5 * width, 0.1 * k
        corners = [(low, under), (high, under), (high, under + 0.1), (low, under + 0.1)]
        box = aq.RigidBody(f"box{k}", corners, mass=1.0, names={"sole": [0, 1], "top": [2, 3]})
        one, two = ("outline", "outline") if sides == "outline" else ("sole", "top")
        below: Any = parts[-1].boundary(two) if parts else aq.RigidPlane((0.0, 0.0), (0.0, 1.0))
        rough = None if friction is None else aq.Coulomb(friction)
        contacts.append(aq.Interface(f"c{k}", box.boundary(one), below, aq.Unilateral(), friction=rough))
        parts.append(box)
    system = aq.System(parts, interfaces=contacts, gravity=(0.0, -GRAVITY))
    result = aq.simulate(system, aq.Theta(0.5), duration=0.05, step=1e-3, progress=False)
    for k, box in enumerate(parts):
        assert np.abs(result[f"part/{box.name}/displacement"].values).max() < 1e-15
        force = result[f"interface/c{k}/force"].values[-1]
        assert force == pytest.approx([0.0, (3 - k) * GRAVITY], abs=1e-11)


def turned(mesh: Any, axis: str, degrees: float) -> Any:
    rows = Rotation.from_euler(axis, degrees, degrees=True).as_matrix()[: mesh.p.shape[0], : mesh.p.shape[0]]
    return rows @ mesh.p


@pytest.mark.sampled(5)
@pytest.mark.parametrize("cells", [1, 4])
@pytest.mark.parametrize("multiplier", [None, "P0", "gauss", "nodes"])
def test_a_wedge_touches_with_its_corner(multiplier: Any, cells: int) -> None:
    material, h = aq.LinearElastic(young=1e8, poisson=0.3, density=1000.0), 0.01 * np.sqrt(2.0)
    mesh = aq.mesh.rectangle((-0.01, 0.01), (-0.01, 0.01), cells=(cells, cells))
    p = turned(mesh, "z", 45)
    p[1] += h + 2e-4
    names = {"low": lambda x: x[1] < h}
    square = aq.Solid("square", type(mesh)(np.ascontiguousarray(p), mesh.t).with_boundaries(names), material,
                      plane="strain")  # fmt: skip
    block = aq.mesh.rectangle((-0.05, 0.05), (-0.02, 0.0), cells=(20, 4))
    floor = aq.Solid("floor", block, material, plane="strain", imposed={"bottom": {"x": 0.0, "y": 0.0}})
    contact = aq.Interface("c", square.boundary("low"), floor.boundary("top"), aq.Unilateral(), multiplier=multiplier)
    system = aq.System([floor, square], interfaces=[contact], velocity={"square": (0, -1.0)})
    result = aq.simulate(system, aq.Theta(0.5), duration=3e-4, step=2e-5, progress=False)
    hit = np.flatnonzero(result["interface/c/impulse"].values > 0.0)
    # within 2 % of a facet of 20 mm over the cells
    assert (hit[0] - 1) * 2e-5 - 2e-4 == pytest.approx(0.0, abs=0.02 * 0.02 / cells)


def crossing_bars(cells: int, multiplier: Any = None, offset: tuple[float, float] = (0.0, 0.0)) -> Any:
    """The record of square bars on their edges, across each other, 0.2 mm apart at 1 m/s; offset in x and y, m."""
    material, h = aq.LinearElastic(young=1e8, poisson=0.3, density=1000.0), 0.01 * np.sqrt(2.0)

    def bar(name: str, across: bool, z: float, imposed: Any) -> aq.Solid:
        mesh = aq.mesh.box((-0.1, 0.1), (-0.01, 0.01), (-0.01, 0.01), cells=(cells, 1, 1))
        p = turned(mesh, "x", 45)
        p = Rotation.from_euler("z", 90 * across, degrees=True).as_matrix() @ p
        p[2] += z
        p[:2] += across * np.array(offset)[:, None]
        names = {"up": lambda x: x[2] > z + 1e-4, "down": lambda x: x[2] < z - 1e-4}
        if not across:
            names["ends"] = lambda x: np.abs(x[0]) > 0.0999
        return aq.Solid(
            name, type(mesh)(np.ascontiguousarray(p), mesh.t).with_boundaries(names), material, imposed=imposed
        )

    low = bar("low", False, 0.0, {"ends": {"x": 0.0, "y": 0.0, "z": 0.0}})
    high = bar("high", True, 2.0 * h + 2e-4, {})
    contact = aq.Interface("c", high.boundary("down"), low.boundary("up"), aq.Unilateral(), multiplier=multiplier)
    system = aq.System([low, high], interfaces=[contact], velocity={"high": (0, 0, -1.0)})
    return aq.simulate(system, aq.Theta(0.5), duration=8e-3, step=4e-5, progress=False)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("cells", [7, 8])
@pytest.mark.parametrize("multiplier", [None, "nodes"])
def test_crossing_bars_meet_edge_on_edge(multiplier: Any, cells: int) -> None:
    """The rebound is along the normal of both bars."""
    result = crossing_bars(cells, multiplier)
    hit = np.flatnonzero(result["interface/c/impulse"].values > 0.0)
    assert (hit[0] - 1) * 4e-5 == pytest.approx(2e-4, abs=8e-5)
    momentum = result["part/high/momentum"].values
    mass = float(result["part/high/mass"])
    assert np.abs(momentum[:, :2]).max() < 1e-8 * mass
    assert momentum[-1, 2] > 0.7 * mass
    assert np.abs(result["energy"].sel(kind="scheme").values).max() < 1e-14 * 0.5 * mass


@pytest.mark.slow
def test_bars_that_cross_beside_a_node_rebound_as_those_that_cross_at_it() -> None:
    """Edges whose nodes meet have one contact with the normal of both edges' tangents there: the momentum across grows
    with the offset (8e-4 of the whole at 1e-9 m when each contact had the normal of one edge)."""
    for offset in ((1e-9, 0.0), (0.0, 1e-9), (1e-7, 1e-7), (-1e-6, 2e-6)):
        result = crossing_bars(8, offset=offset)
        mass, momentum = float(result["part/high/mass"]), result["part/high/momentum"].values
        assert np.abs(momentum[:, :2]).max() < 1.1 * np.abs(offset).max() * mass
