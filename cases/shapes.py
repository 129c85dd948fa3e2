"""Meshes of contact cases: discs and balls fine at their contact point, and two blocks that do not match.

Discs and balls touch the plane y = 0 at the origin; their centre is (0, R). Second-order cells are curved: their nodes,
mid-nodes too, lie on the circle or sphere. How they are cut: `cases.ball_blocks`.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from cases.ball_blocks import BallBlocks
from cases.structured import mesh_of
from models import checks, limits
from models.errors import UserError
from models.mesh import box, rectangle
from models.types import Array


def quarter_disc(
    radius: float, zone: float, size: float, *, growth: float = 1.15, kind: str = "quad", order: int = 1
) -> Any:
    """Quarter of a disc, x ≥ 0, y ≤ R (m); with plane="axisymmetric" a half-ball.

    zone: half-width of the fine surface, size: of its cells, growth: largest ratio of neighbours outside it; kind:
    quad or tri. Boundaries: `contact` (the arc over the zone), `arc` (all of it), `left` (x = 0), `top` (y = R).

    >>> mesh = quarter_disc(1.0, 0.1, 0.01)
    >>> sorted(mesh.boundaries), len(mesh.boundaries["contact"])
    (['arc', 'contact', 'left', 'top'], 10)
    """
    ball = BallBlocks(2, radius, zone, size, growth)
    return _named(mesh_of(ball.blocks, kind, order), ball, {"left": (0, 0.0), "top": (1, radius)})


def half_disc(
    radius: float, zone: float, size: float, *, growth: float = 1.15, kind: str = "quad", order: int = 1
) -> Any:
    """Half of a disc, y ≤ R (m). Parameters as `quarter_disc`'s; boundaries `contact`, `arc` and `top` (y = R)."""
    ball = BallBlocks(2, radius, zone, size, growth)
    return _named(mesh_of(_mirrored(ball.blocks, (0,)), kind, order), ball, {"top": (1, radius)})


def disc(radius: float, zone: float, size: float, *, growth: float = 1.15, kind: str = "quad", order: int = 1) -> Any:
    """A whole disc (m), fine at the bottom (`contact`) and at the top (`opposite`); `arc` is the whole rim."""
    ball = BallBlocks(2, radius, zone, size, growth)
    return _named(mesh_of(_mirrored(_doubled(ball), (0,)), kind, order), ball, {})


def upright_half_disc(
    radius: float, zone: float, size: float, *, growth: float = 1.15, kind: str = "quad", order: int = 1
) -> Any:
    """Half of a disc, x ≥ 0 (m), fine at the bottom (`contact`) and at the top (`opposite`).

    With plane="axisymmetric" a ball. Parameters as `quarter_disc`'s; boundaries `arc` and `left` (x = 0), too.
    """
    ball = BallBlocks(2, radius, zone, size, growth)
    return _named(mesh_of(_doubled(ball), kind, order), ball, {"left": (0, 0.0)})


def upright_quarter_ball(
    radius: float, zone: float, size: float, *, growth: float = 1.25, kind: str = "hex", order: int = 1
) -> Any:
    """A quarter of a ball, x ≥ 0, z ≥ 0 (m), fine at the bottom (`contact`) and at the top (`opposite`).

    Parameters as `quarter_ball`'s; boundaries `arc`, `left` (x = 0) and `back` (z = 0), too.
    """
    ball = BallBlocks(3, radius, zone, size, growth)
    return _named(mesh_of(_doubled(ball), kind, order), ball, {"left": (0, 0.0), "back": (2, 0.0)})


def upright_half_ball(
    radius: float, zone: float, size: float, *, growth: float = 1.25, kind: str = "hex", order: int = 1
) -> Any:
    """Half of a ball, z ≥ 0 (m). Parameters and boundaries as `upright_quarter_ball`'s, without `left`."""
    ball = BallBlocks(3, radius, zone, size, growth)
    return _named(mesh_of(_mirrored(_doubled(ball), (0,)), kind, order), ball, {"back": (2, 0.0)})


def quarter_ball(
    radius: float, zone: float, size: float, *, growth: float = 1.25, kind: str = "hex", order: int = 1
) -> Any:
    """A quarter of a half-ball, x ≥ 0, z ≥ 0, y ≤ R (m); kind: hex or tet, other parameters as `quarter_disc`'s.

    Boundaries: `contact` (the sphere over the zone, a square of side 2·zone), `arc` (all of the sphere), `left`
    (x = 0), `back` (z = 0), `top` (y = R).
    """
    ball = BallBlocks(3, radius, zone, size, growth)
    ends = {"left": (0, 0.0), "back": (2, 0.0), "top": (1, radius)}
    return _named(mesh_of(ball.blocks, kind, order), ball, ends)


def half_ball(
    radius: float, zone: float, size: float, *, growth: float = 1.25, kind: str = "hex", order: int = 1
) -> Any:
    """A half-ball, y ≤ R (m). Parameters as `quarter_ball`'s; boundaries `contact`, `arc` and `top` (y = R)."""
    ball = BallBlocks(3, radius, zone, size, growth)
    return _named(mesh_of(_mirrored(ball.blocks, (0, 2)), kind, order), ball, {"top": (1, radius)})


def ring(radius: float, thickness: float, cells: int, around: int) -> Any:
    """A ring (m) that touches y = 0 at the origin: `cells` through the thickness, `around` in each quarter.

    Boundaries: `outside`, `inside`.

    >>> sorted(ring(1.0, 0.1, 2, 8).boundaries)
    ['inside', 'outside']
    """
    if not 0.0 < checks.positive("thickness", thickness) < checks.positive("radius", radius):
        raise UserError.parameter("thickness", thickness, f"must be below the radius, {radius:g} m")
    through, quarters = checks.positive_integer("cells", cells), 4 * checks.positive_integer("around", around)
    limits.check_cells("cells, around", (cells, around), through * quarters, 2)
    r = radius - thickness * np.linspace(0.0, 1.0, 2 * cells + 1)
    quarter = 0.5 * np.pi * np.linspace(0.0, 1.0, 2 * around + 1)
    turns = [quarter + 0.5 * np.pi * k for k in range(4)]
    blocks = [np.stack([np.outer(np.sin(t), r), radius - np.outer(np.cos(t), r)]) for t in turns]
    mesh = mesh_of(blocks, "quad", 1)
    facets = mesh.boundary_facets()
    away = np.linalg.norm(mesh.p[:, mesh.facets[:, facets]] - np.array([0.0, radius])[:, None, None], axis=0).mean(
        axis=0
    )
    outside = away > radius - 0.5 * thickness
    return replace(mesh, _boundaries={"outside": facets[outside], "inside": facets[~outside]})


def quarter_cylinder(radius: float, length: float, cells: int, rows: int, *, order: int = 1) -> Any:
    """A quarter of a cylinder, x ≥ 0, z ≥ 0, 0 ≤ y ≤ length (m), of hexahedra: `cells` across the radius, `rows` along.

    A square of half of the cells around the axis, bulged, in a ring of the others. Boundaries: `bottom` (y = 0), `top`,
    `left` (x = 0), `back` (z = 0), `side`.

    >>> mesh = quarter_cylinder(1.0, 2.0, 4, 3)
    >>> mesh.nelements, sorted(mesh.boundaries)
    (36, ['back', 'bottom', 'left', 'side', 'top'])
    """
    inside = max(1, checks.positive_integer("cells", cells) // 2)
    limits.check_cells("cells, rows", (cells, rows), 0.75 * cells**2 * checks.positive_integer("rows", rows), 3)
    share = np.linspace(0.0, 1.0, 2 * inside + 1)
    outwards = np.linspace(0.0, 1.0, 2 * max(1, cells - inside) + 1)
    edge = checks.positive("radius", radius) * np.array([(1.0, 0.0), (0.8, 0.8)]) * inside / max(cells, 2)
    line = edge[0] + share[:, None] * (edge[1] - edge[0])  # from the axis z = 0 to the diagonal
    turn = 0.25 * np.pi * share
    arc = radius * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    ring = line[:, None] + outwards[None, :, None] * (arc - line)[:, None]
    s, t = share[:, None, None], share[None, :, None]
    core = s * edge[0] + t * edge[0][::-1] + s * t * (edge[1] - edge[0] - edge[0][::-1])
    heights = np.linspace(0.0, checks.positive("length", length), 2 * rows + 1)
    blocks = []
    for plane in (core, ring, ring[..., ::-1]):
        x, z = (np.broadcast_to(plane[..., i, None], (*plane.shape[:2], heights.size)) for i in (0, 1))
        blocks.append(np.stack([x, np.broadcast_to(heights, x.shape), z]))
    mesh = mesh_of(blocks, "hex", order)
    facets = mesh.boundary_facets()
    corners = mesh.p[:, mesh.facets[:, facets]]
    ends = {"bottom": (1, 0.0), "top": (1, length), "left": (0, 0.0), "back": (2, 0.0)}
    names = {name: np.isclose(corners[i], at, atol=1e-9 * radius).all(axis=0) for name, (i, at) in ends.items()}
    names["side"] = ~np.logical_or.reduce(list(names.values()))
    return replace(mesh, _boundaries={name: facets[chosen] for name, chosen in names.items()})


def stacked(
    width: float,
    heights: tuple[float, float],
    cells: tuple[tuple[int, int], tuple[int, int]],
    *,
    gap: float = 0.0,
    thickness: float | None = None,
    kind: str | None = None,
) -> tuple[Any, Any]:
    """Two blocks, one on the other, on [0, width]: the lower one's top is y = 0, the upper one's bottom y = gap (m).

    cells: (along, up) of the lower and of the upper block; with a thickness, 3D, as many along z as along x. Numbers
    along without a common divisor share no node but the ends. Boundaries as in `aq.mesh.rectangle` and `aq.mesh.box`.

    >>> lower, upper = stacked(1.0, (0.5, 0.5), ((5, 2), (7, 3)))
    >>> lower.nelements, upper.nelements
    (10, 21)
    """
    checks.non_negative("gap", gap)
    across = (0.0, checks.positive("width", width))
    low, high = (checks.positive("heights", height) for height in heights)
    ranges = ((-low, 0.0), (gap, gap + high))
    if thickness is None:
        pair = [rectangle(across, y, cells=n, kind=kind or "quad") for y, n in zip(ranges, cells, strict=True)]
    else:
        along = (0.0, checks.positive("thickness", thickness))
        counts = [(along_x, up, along_x) for along_x, up in cells]
        pair = [box(across, y, along, cells=n, kind=kind or "hex") for y, n in zip(ranges, counts, strict=True)]
    return pair[0], pair[1]


def _mirrored(blocks: list[Array], axes: tuple[int, ...]) -> list[Array]:
    """The blocks and their images in the planes x_axis = 0."""
    choices = [(1.0, -1.0) if axis in axes else (1.0,) for axis in range(blocks[0].shape[0])]
    return [np.reshape(sign, [-1] + [1] * (b.ndim - 1)) * b for sign in product(*choices) for b in blocks]


def _doubled(ball: BallBlocks) -> list[Array]:
    """The blocks and their images in the plane y = R."""
    images = [block.copy() for block in ball.blocks]
    for image in images:
        image[1] = 2 * ball.radius - image[1]
    return ball.blocks + images


def _named(mesh: Any, ball: BallBlocks, ends: dict[str, tuple[int, float]]) -> Any:
    """The mesh with its boundaries: the planes of `ends` (axis, value), the arc and its parts over the zone."""
    facets = mesh.boundary_facets()
    corners = mesh.p[:, mesh.facets[:, facets]]  # (axis, corner, facet)
    tolerance = 1e-9 * ball.radius
    names = {name: (np.abs(corners[axis] - at) <= tolerance).all(axis=0) for name, (axis, at) in ends.items()}
    centre = np.array([0.0, ball.radius, 0.0])[: ball.dimension, None, None]
    names["arc"] = (np.abs(np.linalg.norm(corners - centre, axis=0) - ball.radius) <= tolerance).all(axis=0)
    middle = corners.mean(axis=1)
    # middles: the sides of the zone bulge by the sphere's curvature between its corners
    over = names["arc"] & (np.abs(np.delete(middle, 1, axis=0)) <= ball.zone).all(axis=0)
    names["contact"] = over & (middle[1] < ball.radius)
    names["opposite"] = over & (middle[1] > ball.radius)
    return replace(mesh, _boundaries={name: facets[chosen] for name, chosen in names.items() if chosen.any()})


def disc_of_square(radius: float, low: int, high: int, side: int, ratio: int = 1) -> Any:
    """The rows low … high (in fine cells, of `side` in all) of the disc, its cells `ratio` fine ones wide.

    The boundary "bottom" of the lowest rows is the contact arc.
    """
    v = (-1.0 + 2.0 * low / side, -1.0 + 2.0 * high / side)
    mesh = rectangle((-1.0, 1.0), v, cells=(side // ratio, (high - low) // ratio))
    x, y = mesh.p
    return replace(mesh, doflocs=radius * np.stack([x * np.sqrt(1 - y**2 / 2), 1 + y * np.sqrt(1 - x**2 / 2)]))
