"""Meshes of contact cases: discs and balls refined at their contact point, rings, non-matching and graded blocks.

Discs and balls touch the plane y = 0 at the origin; their centre is (0, R). Second-order cells are curved: all their
nodes, mid-side nodes included, lie on the circle or sphere.

**Block structure.** The body of radius R touches the plane y = 0 at the origin P, its axis is y, its centre C = (0, R).
A quarter of the disc has three corners, P, C and the end E of the arc; an eighth of the ball has four, E and F on two
meridians. Like a triangle (tetrahedron) it is divided into one block per corner; the blocks meet at mid-points of edges
("EP": between E and P), of faces ("CEP") and in the interior:

       C ──── CE ──── E                P:    the box of the contact, `zone` wide, cells of `size`,
       │  C   │   E   │                      rows growing with the depth
       │      │      ╱                 E, C: fans around it, whose cells grow outwards, at most by
      CP ── CEP    ╱                         `growth` from one to the next
       │  P  ╲   ╱
       P ──── EP

Edges from a key without the letter l to the key with it have N_l cells: N_E = N_F along the surface, N_C rows in depth,
N_P outwards. Keys without C lie on the circle (sphere), and so does every point between them, mid-nodes too.

**Points.** Structured blocks by transfinite interpolation, merged to a conforming mesh of any cell type and order.

A block has its points at half-steps, (axis, 2n₁ + 1, 2n₂ + 1 …): cells of order 1 use the even ones, cells of order 2
all. Simplices by Kuhn's subdivision: corners reached by adding the directions of a cell in every order, so that every
face is divided from its lowest to its highest index and blocks with equal numbering of a common face conform.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import permutations, product
from typing import Any

import numpy as np
import skfem
from scipy.optimize import brentq
from scipy.spatial import cKDTree

from arlequin.models import checks, limits
from arlequin.models.errors import UserError
from arlequin.models.mesh import box, rectangle
from arlequin.models.types import Array, Indices

_KINDS: dict[str, tuple[tuple[type, type], tuple[type, type]]] = {
    "quad": ((skfem.MeshQuad1, skfem.ElementQuad1), (skfem.MeshQuad2, skfem.ElementQuad2)),
    "tri": ((skfem.MeshTri1, skfem.ElementTriP1), (skfem.MeshTri2, skfem.ElementTriP2)),
    "hex": ((skfem.MeshHex1, skfem.ElementHex1), (skfem.MeshHex2, skfem.ElementHex2)),
    "tet": ((skfem.MeshTet1, skfem.ElementTetP1), (skfem.MeshTet2, skfem.ElementTetP2)),
}


def halved(points: Array) -> Array:
    """Values at cell ends and mid-points (2n + 1,) from those at cell ends (n + 1,)."""
    return np.interp(np.arange(2 * points.size - 1) / 2, np.arange(points.size), points)


def graded(cells: int, first_size: float, total: float) -> Array:
    """Fractions 0 … 1 (2·cells + 1,) of ends and mid-points of cells growing geometrically from the size `first`.

    Equal cells if these are smaller than `first`.

    >>> graded(2, 1.0, 3.0)
    array([0.        , 0.16666667, 0.33333333, 0.66666667, 1.        ])
    """
    share = min(first_size / total, 1.0 / cells)

    def excess(ratio: float) -> float:
        return share * float(np.sum(ratio ** np.arange(cells))) - 1.0

    # Σ rᵏ = 1/share, bounded by its last term
    largest_ratio = share ** (-1.0 / max(cells - 1, 1))
    ratio = brentq(excess, 1.0, largest_ratio, xtol=1e-14) if share * cells < 1.0 else 1.0
    ends = np.concatenate([[0.0], np.cumsum(ratio ** np.arange(cells))])
    return halved(ends / ends[-1])


def transfinite(sides: Sequence[tuple[Array, Array]], fractions: Sequence[Array]) -> Array:
    """Points (axis, …) of a block from its sides (low, high) across each direction, which must meet at their borders.

    Boolean sum of the linear blends: along each direction in turn the residual at the sides is added.
    Source: Gordon & Hall, IJNME 7, 1973.
    """
    shape = tuple(f.size for f in fractions)
    points = np.zeros((sides[0][0].shape[0], *shape))
    for k, ((low, high), fraction) in enumerate(zip(sides, fractions, strict=True)):
        weight = fraction.reshape([-1 if j == k else 1 for j in range(len(shape))])
        missing = [np.expand_dims(side - points.take(end, axis=k + 1), k + 1) for side, end in ((low, 0), (high, -1))]
        points = points + (1 - weight) * missing[0] + weight * missing[1]
    return points


def mesh_of(blocks: Sequence[Array], kind: str, order: int) -> Any:
    """Mesh of the blocks with coincident points merged and right-handed cells."""
    dimension = blocks[0].shape[0]
    checks.one_of("kind", kind, ("quad", "tri") if dimension == 2 else ("hex", "tet"))
    checks.one_of("order", order, (1, 2))
    mesh_class, element = _KINDS[kind][order - 1]
    locations = np.asarray(element().doflocs)
    limits.check_cells("blocks", len(blocks), sum(block[0].size / 2**dimension for block in blocks), dimension)
    points = np.concatenate([block.reshape(dimension, -1).T for block in blocks])
    cells, start = [], 0
    for block in blocks:
        numbers = start + np.arange(block[0].size).reshape(block.shape[1:])
        start += block[0].size
        for offsets in _offsets(locations, dimension, kind, _handed(block)):
            cells.append(np.stack([_shifted(numbers, tuple(row)) for row in offsets], axis=1))
    return _merged(points, np.concatenate(cells), mesh_class)


def _shifted(numbers: Indices, offset: tuple[int, ...]) -> Indices:
    """Point numbers (c,) at one local position of every cell."""
    window = tuple([slice(o, o + n - 2, 2) for o, n in zip(offset, numbers.shape, strict=True)])
    return numbers[window].ravel()


def _handed(block: Array) -> bool:
    """Whether the block's first cell is right-handed."""
    corner = block[(slice(None), *[slice(0, 3, 2)] * (block.ndim - 1))]
    origin = corner.reshape(len(block), -1)[:, 0]
    steps = [corner.take(1, axis=k + 1).reshape(len(block), -1)[:, 0] - origin for k in range(len(block))]
    return bool(np.linalg.det(np.stack(steps)) > 0)


def _offsets(locations: Array, dimension: int, kind: str, handed: bool) -> list[Indices]:
    """Half-steps (nodes, direction) from a cell's first corner to the nodes of its elements."""
    if kind in ("quad", "hex"):
        positions = locations.copy()
        if not handed:
            positions[:, 0] = 1 - positions[:, 0]
        return [np.rint(2 * positions).astype(np.int64)]
    offsets = []
    for path in permutations(range(dimension)):
        corners = np.vstack([np.zeros(dimension), np.cumsum(np.eye(dimension)[list(path)], axis=0)])
        if (np.linalg.det(corners[1:]) > 0) != handed:
            corners[[1, 2]] = corners[[2, 1]]
        offsets.append(np.rint(2 * (locations @ corners[1:])).astype(np.int64))
    return offsets


def _merged(points: Array, cells: Indices, mesh_class: Any) -> Any:
    """Mesh with coincident points merged and unused points removed."""
    tolerance = 1e-9 * float(np.ptp(points, axis=0).max())
    representative = np.arange(len(points))
    pairs = cKDTree(points).query_pairs(tolerance, output_type="ndarray")
    np.minimum.at(representative, pairs.max(axis=1), pairs.min(axis=1))
    unique_points, compact = np.unique(representative[cells], return_inverse=True)
    numbers = compact.reshape(cells.shape).T.astype(np.int32)
    return mesh_class(np.ascontiguousarray(points[unique_points].T), np.ascontiguousarray(numbers))


DEPTH = 0.7  # depth of the box over the zone
LARGEST_ZONE = 0.5  # largest box over the radius
SMALLEST_CELL = 1e-7  # smallest cell over the radius, above the merging distance of 1e-9


@dataclass(frozen=True)
class _Meridian:
    """Quarter disc in the coordinates (s, y) of a plane through the axis: key points, lines out of the box."""

    radius: float
    zone: float
    depth: float

    @cached_property
    def points(self) -> dict[str, Array]:
        """Position (2,) of every key, m."""
        r, angle = self.radius, math.asin(self.zone / self.radius)
        edge = (r * math.sin(angle), r * (1 - math.cos(angle)))
        coordinates = {"P": (0, 0), "E": (r, r), "C": (0, r), "EP": edge, "CP": (0, self.depth)}
        coordinates["CEP"] = (edge[0], edge[1] + self.depth)
        points = {key: np.array(value, dtype=float) for key, value in coordinates.items()}
        points["CE"] = self._middle(np.array([self._span["CE"][1]]))[:, 0]
        return points

    def _middle(self, distance: Array) -> Array:
        """Points (2, k) at distances d from P, at a constant share of the angle from arc, sin φ = d/2R, to axis."""
        edge, r = self.zone, self.radius
        height = r - math.sqrt(r * r - edge * edge) + self.depth
        inner = math.asin(math.hypot(edge, height) / (2 * r))
        share = (math.atan2(height, edge) - inner) / (math.pi / 2 - inner)
        arc = np.arcsin(distance / (2 * r))
        angle = arc + share * (math.pi / 2 - arc)
        return distance * np.stack([np.cos(angle), np.sin(angle)])

    @cached_property
    def _span(self) -> dict[str, tuple[float, float]]:
        """Ranges of the lines: polar angle about C (E), height (C), distance from P (CE)."""
        r = self.radius
        start = math.hypot(self.zone, r - math.sqrt(r * r - self.zone**2) + self.depth)
        end = brentq(lambda d: float(self._middle(np.array([d]))[1, 0]) - r, r, math.sqrt(2) * r, xtol=1e-15 * r)
        return {"E": (math.asin(self.zone / r), math.pi / 2), "C": (self.depth, r), "CE": (start, end)}

    def length(self, key: str) -> float:
        """Length of the line from the box to the far point E, C or CE, m."""
        start, end = self._span[key]
        return (self.radius if key == "E" else 1.0) * (end - start)

    def line(self, key: str, fraction: Array) -> Array:
        """Points (2, k) at fractions of the line from the box to the far point, m."""
        start, end = self._span[key]
        at = start + fraction * (end - start)
        if key == "E":
            return self.radius * np.stack([np.sin(at), 1 - np.cos(at)])
        return np.stack([np.zeros(at.size), at]) if key == "C" else self._middle(at)


@dataclass(frozen=True)
class BallBlocks:
    """Quarter of a disc (dimension 2: x ≥ 0, y ≤ R) or eighth of a ball (3: x, z ≥ 0, y ≤ R); lengths in m."""

    dimension: int
    radius: float
    zone: float
    size: float
    growth: float

    def __post_init__(self) -> None:
        checks.positive("radius", self.radius)
        checks.positive("zone", self.zone)
        checks.positive("size", self.size)
        checks.within("growth", self.growth, 1.0, 2.0, open_low=True)
        if self.zone > LARGEST_ZONE * self.radius:
            raise UserError.parameter("zone", self.zone, f"must be at most half the radius, {0.5 * self.radius:g}")
        if self.size > self.zone:
            raise UserError.parameter("size", self.size, f"must be at most the zone, {self.zone:g}")
        if self.size < SMALLEST_CELL * self.radius:
            least = SMALLEST_CELL * self.radius
            raise UserError.parameter("size", self.size, f"must be at least {SMALLEST_CELL:g} of the radius, {least:g}")
        surface_cells = math.ceil(self.zone / self.size) ** (self.dimension - 1)
        rows = cell_count(self.size, self._depth, self.growth)
        limits.check_cells(
            "size", self.size, surface_cells * (rows + self.dimension * self._cells_outward), self.dimension
        )

    @property
    def _letters(self) -> str:
        return "CEP" if self.dimension == 2 else "CEFP"

    @cached_property
    def _fractions(self) -> dict[str, Array]:
        """Fractions (2n + 1,) of ends and middles of the cells along each direction."""
        rows = graded(cell_count(self.size, self._depth, self.growth), self.size, self._depth)
        lateral = halved(np.linspace(0.0, 1.0, math.ceil(self.zone / self.size * (1 - 1e-12)) + 1))
        return {"C": rows, "E": lateral, "F": lateral, "P": 1.0 - self._outward("CE")[::-1]}

    @property
    def _depth(self) -> float:
        return DEPTH * self.zone

    def _meridian(self, key: str) -> tuple[_Meridian, Array, str]:
        """Plane of a key: its quarter disc, its direction normal to the axis, the name of the key in it."""
        if "E" in key and "F" in key:  # half-way between the two
            diagonal = _Meridian(self.radius, math.sqrt(2) * self.zone, self._depth)
            return diagonal, np.full(2, math.sqrt(0.5)), key.replace("F", "")
        direction = np.array([0.0, 1.0]) if "F" in key else np.array([1.0, 0.0])
        return _Meridian(self.radius, self.zone, self._depth), direction, key.replace("F", "E")

    def _first(self, key: str) -> float:
        """Size of the first cell outside the box, equal to the adjacent cell of the box."""
        lateral = self.size * (math.sqrt(2) if "E" in key and "F" in key else 1.0)
        rows = graded(cell_count(self.size, self._depth, self.growth), self.size, self._depth)
        bottom_row = self._depth * float(rows[-1] - rows[-3])
        if key == "C":
            return bottom_row
        return math.sqrt(lateral * bottom_row) if "C" in key else lateral

    @cached_property
    def _cells_outward(self) -> int:
        """N_P: smallest number of cells for which no line grows faster than `growth`."""
        keys = ("E", "C", "CE") if self.dimension == 2 else ("E", "C", "CE", "EF", "CEF")
        counts = []
        for key in keys:
            meridian, _, name = self._meridian(key)
            counts.append(cell_count(self._first(key), meridian.length(name), self.growth))
        return max(counts)

    def _outward(self, key: str) -> Array:
        meridian, _, name = self._meridian(key)
        return graded(self._cells_outward, self._first(key), meridian.length(name))

    def _lifted(self, plane: Array, direction: Array) -> Array:
        """(s, y) of a meridian's plane → (x, y) or (x, y, z)."""
        if self.dimension == 2:
            return plane
        return np.stack([plane[0] * direction[0], plane[1], plane[0] * direction[1]])

    def _on_sphere(self, points: Array) -> Array:
        centre = np.array([0.0, self.radius, 0.0])[: self.dimension].reshape([-1] + [1] * (points.ndim - 1))
        radial = points - centre
        return centre + self.radius * radial / np.sqrt((radial**2).sum(axis=0))

    def _point(self, key: str) -> Array:
        meridian, direction, name = self._meridian(key)
        return self._lifted(meridian.points[name], direction)

    def _edge(self, key: str, letter: str) -> Array:
        """Points (axis, 2n + 1) from a key to the key with one more letter."""
        if letter == "P":
            meridian, direction, name = self._meridian(key)
            return self._lifted(meridian.line(name, self._outward(key)[::-1]), direction)
        start, end = self._point(key), self._point(_joined(key, letter))
        points = start[:, None] + (end - start)[:, None] * self._fractions[letter]
        return points if letter == "C" or "C" in key else self._on_sphere(points)

    def _span(self, key: str, letters: str) -> Array:
        """Points of the edge, face or block from a key along the directions of the letters."""
        if len(letters) == 1:
            return self._edge(key, letters)
        other_letters = [letters.replace(letter, "") for letter in letters]
        sides = [
            (self._span(key, face), self._span(_joined(key, letter), face))
            for letter, face in zip(letters, other_letters, strict=True)
        ]
        points = transfinite(sides, [self._fractions[letter] for letter in letters])
        return points if "C" in key + letters else self._on_sphere(points)

    @property
    def blocks(self) -> list[Array]:
        """One block of points for each corner; see `arlequin.cases.shared.meshes`."""
        return [self._span(corner, self._letters.replace(corner, "")) for corner in self._letters]


def _joined(key: str, letter: str) -> str:
    return "".join(sorted(key + letter))


def cell_count(first_size: float, total: float, growth: float) -> int:
    """Smallest number of cells that fill `total` from the size `first` on, growing at most by the factor `growth`."""
    return max(1, math.ceil(math.log1p(total / first_size * (growth - 1)) / math.log(growth) - 1e-9))


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
    return _with_boundaries(mesh_of(ball.blocks, kind, order), ball, {"left": (0, 0.0), "top": (1, radius)})


def half_disc(
    radius: float, zone: float, size: float, *, growth: float = 1.15, kind: str = "quad", order: int = 1
) -> Any:
    """Half of a disc, y ≤ R (m). Parameters as `quarter_disc`'s; boundaries `contact`, `arc` and `top` (y = R)."""
    ball = BallBlocks(2, radius, zone, size, growth)
    return _with_boundaries(mesh_of(_mirrored(ball.blocks, (0,)), kind, order), ball, {"top": (1, radius)})


def disc(radius: float, zone: float, size: float, *, growth: float = 1.15, kind: str = "quad", order: int = 1) -> Any:
    """A disc (m), refined at the bottom (`contact`) and at the top (`opposite`); `arc` is the whole boundary."""
    ball = BallBlocks(2, radius, zone, size, growth)
    return _with_boundaries(mesh_of(_mirrored(_doubled(ball), (0,)), kind, order), ball, {})


def upright_half_disc(
    radius: float, zone: float, size: float, *, growth: float = 1.15, kind: str = "quad", order: int = 1
) -> Any:
    """Half of a disc, x ≥ 0 (m), fine at the bottom (`contact`) and at the top (`opposite`).

    With plane="axisymmetric" a ball. Parameters as `quarter_disc`'s; boundaries `arc` and `left` (x = 0), too.
    """
    ball = BallBlocks(2, radius, zone, size, growth)
    return _with_boundaries(mesh_of(_doubled(ball), kind, order), ball, {"left": (0, 0.0)})


def upright_quarter_ball(
    radius: float, zone: float, size: float, *, growth: float = 1.25, kind: str = "hex", order: int = 1
) -> Any:
    """A quarter of a ball, x ≥ 0, z ≥ 0 (m), fine at the bottom (`contact`) and at the top (`opposite`).

    Parameters as `quarter_ball`'s; boundaries `arc`, `left` (x = 0) and `back` (z = 0), too.
    """
    ball = BallBlocks(3, radius, zone, size, growth)
    return _with_boundaries(mesh_of(_doubled(ball), kind, order), ball, {"left": (0, 0.0), "back": (2, 0.0)})


def upright_half_ball(
    radius: float, zone: float, size: float, *, growth: float = 1.25, kind: str = "hex", order: int = 1
) -> Any:
    """Half of a ball, z ≥ 0 (m). Parameters and boundaries as `upright_quarter_ball`'s, without `left`."""
    ball = BallBlocks(3, radius, zone, size, growth)
    return _with_boundaries(mesh_of(_mirrored(_doubled(ball), (0,)), kind, order), ball, {"back": (2, 0.0)})


def quarter_ball(
    radius: float, zone: float, size: float, *, growth: float = 1.25, kind: str = "hex", order: int = 1
) -> Any:
    """A quarter of a half-ball, x ≥ 0, z ≥ 0, y ≤ R (m); kind: hex or tet, other parameters as `quarter_disc`'s.

    Boundaries: `contact` (the sphere over the zone, a square of side 2·zone), `arc` (all of the sphere), `left`
    (x = 0), `back` (z = 0), `top` (y = R).
    """
    ball = BallBlocks(3, radius, zone, size, growth)
    ends = {"left": (0, 0.0), "back": (2, 0.0), "top": (1, radius)}
    return _with_boundaries(mesh_of(ball.blocks, kind, order), ball, ends)


def half_ball(
    radius: float, zone: float, size: float, *, growth: float = 1.25, kind: str = "hex", order: int = 1
) -> Any:
    """A half-ball, y ≤ R (m). Parameters as `quarter_ball`'s; boundaries `contact`, `arc` and `top` (y = R)."""
    ball = BallBlocks(3, radius, zone, size, growth)
    return _with_boundaries(mesh_of(_mirrored(ball.blocks, (0, 2)), kind, order), ball, {"top": (1, radius)})


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
    angles = [quarter + 0.5 * np.pi * k for k in range(4)]
    blocks = [np.stack([np.outer(np.sin(t), r), radius - np.outer(np.cos(t), r)]) for t in angles]
    mesh = mesh_of(blocks, "quad", 1)
    facets = mesh.boundary_facets()
    distance = np.linalg.norm(mesh.p[:, mesh.facets[:, facets]] - np.array([0.0, radius])[:, None, None], axis=0).mean(
        axis=0
    )
    outside = distance > radius - 0.5 * thickness
    return replace(mesh, _boundaries={"outside": facets[outside], "inside": facets[~outside]})


def quarter_ring(inner: float, outer: float, cells: int, around: int, *, heights: Array | None = None) -> Any:
    """A quarter of a ring, x ≥ 0, y ≥ 0, of second order: `cells` from the inner to the outer radius (m), `around`
    along the arc; with heights (n,), m, hexahedra along z, one between two of them.

    Boundaries: `left` (x = 0), `bottom` (y = 0), `inside`, `outside`, and of hexahedra `back` (lowest z), `front`.

    >>> mesh = quarter_ring(1.0, 2.0, 2, 3)
    >>> mesh.nelements, sorted(mesh.boundaries)
    (6, ['bottom', 'inside', 'left', 'outside'])
    """
    if not 0.0 < checks.positive("inner", inner) < checks.positive("outer", outer):
        raise UserError.parameter("inner", inner, f"must be below the outer radius, {outer:g} m")
    cells, around = checks.positive_integer("cells", cells), checks.positive_integer("around", around)
    layers = 1 if heights is None else len(heights)
    limits.check_cells("cells, around", (cells, around), cells * around * layers, 3)
    radii = np.linspace(inner, outer, 2 * cells + 1)
    angles = 0.5 * np.pi * np.linspace(0.0, 1.0, 2 * around + 1)
    block = np.stack([np.outer(radii, np.cos(angles)), np.outer(radii, np.sin(angles))])
    if heights is not None:
        z = halved(checks.finite_array("heights", heights, (None,)))
        flat = [np.broadcast_to(plane[..., None], (*plane.shape, z.size)) for plane in block]
        block = np.stack([*flat, np.broadcast_to(z, flat[0].shape)])
    mesh = mesh_of([block], "quad" if heights is None else "hex", 2)
    facets = mesh.boundary_facets()
    corners = mesh.p[:, mesh.facets[:, facets]]
    distance, small = np.hypot(corners[0], corners[1]), 1e-9 * outer
    values = {"left": (corners[0], 0.0), "bottom": (corners[1], 0.0), "inside": (distance, inner)}
    values["outside"] = distance, outer
    if heights is not None:
        values |= {"back": (corners[2], float(heights[0])), "front": (corners[2], float(heights[-1]))}
    names = {name: facets[(np.abs(x - at) <= small).all(axis=0)] for name, (x, at) in values.items()}
    return replace(mesh, _boundaries=names)


def quarter_cylinder(radius: float, length: float, cells: int, rows: int, *, order: int = 1) -> Any:
    """A quarter of a cylinder, x ≥ 0, z ≥ 0, 0 ≤ y ≤ length (m), of hexahedra: `cells` across the radius, `rows` along.

    A rounded square with half of the cells around the axis, inside a ring with the others. Boundaries: `bottom`
    (y = 0), `top`, `left` (x = 0), `back` (z = 0), `side`.

    >>> mesh = quarter_cylinder(1.0, 2.0, 4, 3)
    >>> mesh.nelements, sorted(mesh.boundaries)
    (36, ['back', 'bottom', 'left', 'side', 'top'])
    """
    count = 0.75 * checks.positive_integer("cells", cells) ** 2 * checks.positive_integer("rows", rows)
    limits.check_cells("cells, rows", (cells, rows), count, 3)
    heights = np.linspace(0.0, checks.positive("length", length), 2 * rows + 1)
    blocks = [block[[0, 2, 1]] for block in _quarter_blocks(radius, heights, cells)]
    mesh = mesh_of(blocks, "hex", order)
    facets = mesh.boundary_facets()
    corners = mesh.p[:, mesh.facets[:, facets]]
    ends = {"bottom": (1, 0.0), "top": (1, length), "left": (0, 0.0), "back": (2, 0.0)}
    names = {name: np.isclose(corners[i], at, atol=1e-9 * radius).all(axis=0) for name, (i, at) in ends.items()}
    names["side"] = ~np.logical_or.reduce(list(names.values()))
    return replace(mesh, _boundaries={name: facets[chosen] for name, chosen in names.items()})


def cylinder(radius: float, heights: Array, cells: int, *, order: int = 1) -> Any:
    """A cylinder about z of hexahedra: `cells` across the radius (m), one along z between two of the heights (n,), m.

    The section is that of `quarter_cylinder`, four times. Boundaries: `bottom` (the lowest height), `top`, `side`.

    >>> mesh = cylinder(1.0, np.linspace(0.0, 2.0, 4), 4)
    >>> mesh.nelements, sorted(mesh.boundaries)
    (144, ['bottom', 'side', 'top'])
    """
    checked_heights = checks.finite_array("heights", heights, (None,))
    if checked_heights.size < 2 or not (np.diff(checked_heights) > 0).all():
        raise UserError.parameter("heights", heights, "must be at least two increasing numbers")
    limits.check_cells("cells", cells, 3 * checks.positive_integer("cells", cells) ** 2 * checked_heights.size, 3)
    blocks = _mirrored(_quarter_blocks(radius, halved(checked_heights), cells), (0, 1))
    mesh = mesh_of(blocks, "hex", order)
    facets = mesh.boundary_facets()
    z = mesh.p[2, mesh.facets[:, facets]]
    tolerance = 1e-9 * float(np.ptp(checked_heights))
    names = {
        name: (np.abs(z - at) <= tolerance).all(axis=0)
        for name, at in (("bottom", checked_heights[0]), ("top", checked_heights[-1]))
    }
    names["side"] = ~(names["bottom"] | names["top"])
    return replace(mesh, _boundaries={name: facets[chosen] for name, chosen in names.items()})


def _quarter_blocks(radius: float, heights: Array, cells: int) -> list[Array]:
    """Blocks (axis, …) of a quarter of a cylinder about z, x ≥ 0, y ≥ 0, at the heights (2n + 1,), m."""
    inside = max(1, cells // 2)
    share = np.linspace(0.0, 1.0, 2 * inside + 1)
    outwards = np.linspace(0.0, 1.0, 2 * max(1, cells - inside) + 1)
    edge = checks.positive("radius", radius) * np.array([(1.0, 0.0), (0.8, 0.8)]) * inside / max(cells, 2)
    line = edge[0] + share[:, None] * (edge[1] - edge[0])  # from the axis y = 0 to the diagonal
    angle = 0.25 * np.pi * share
    arc = radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    ring = line[:, None] + outwards[None, :, None] * (arc - line)[:, None]
    s, t = share[:, None, None], share[None, :, None]
    core = s * edge[0] + t * edge[0][::-1] + s * t * (edge[1] - edge[0] - edge[0][::-1])
    blocks = []
    for plane in (core, ring, ring[..., ::-1]):
        x, y = (np.broadcast_to(plane[..., i, None], (*plane.shape[:2], heights.size)) for i in (0, 1))
        blocks.append(np.stack([x, y, np.broadcast_to(heights, x.shape)]))
    return blocks


def stacked(
    width: float,
    heights: tuple[float, float],
    cells: tuple[tuple[int, int], tuple[int, int]],
    *,
    gap: float = 0.0,
    thickness: float | None = None,
    kind: str | None = None,
) -> tuple[Any, Any]:
    """Two stacked blocks on [0, width]: top of the lower one y = 0, bottom of the upper one y = gap (m).

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
        depth_range = (0.0, checks.positive("thickness", thickness))
        counts = [(along_x, up, along_x) for along_x, up in cells]
        pair = [box(across, y, depth_range, cells=n, kind=kind or "hex") for y, n in zip(ranges, counts, strict=True)]
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


def _with_boundaries(mesh: Any, ball: BallBlocks, ends: dict[str, tuple[int, float]]) -> Any:
    """The mesh with its boundaries: the planes of `ends` (axis, value), the arc and its parts over the zone."""
    facets = mesh.boundary_facets()
    corners = mesh.p[:, mesh.facets[:, facets]]  # (axis, corner, facet)
    tolerance = 1e-9 * ball.radius
    names = {name: (np.abs(corners[axis] - at) <= tolerance).all(axis=0) for name, (axis, at) in ends.items()}
    centre = np.array([0.0, ball.radius, 0.0])[: ball.dimension, None, None]
    names["arc"] = (np.abs(np.linalg.norm(corners - centre, axis=0) - ball.radius) <= tolerance).all(axis=0)
    middle = corners.mean(axis=1)
    # mid-points: the sides of the zone follow the curvature of the sphere
    over_zone = names["arc"] & (np.abs(np.delete(middle, 1, axis=0)) <= ball.zone).all(axis=0)
    names["contact"] = over_zone & (middle[1] < ball.radius)
    names["opposite"] = over_zone & (middle[1] > ball.radius)
    return replace(mesh, _boundaries={name: facets[chosen] for name, chosen in names.items() if chosen.any()})


def disc_of_square(radius: float, low: int, high: int, side: int, ratio: int = 1) -> Any:
    """Rows low … high (in fine cells, `side` in total) of the disc, with cells `ratio` fine cells wide.

    The boundary "bottom" of the lowest rows is the contact arc.
    """
    v = (-1.0 + 2.0 * low / side, -1.0 + 2.0 * high / side)
    mesh = rectangle((-1.0, 1.0), v, cells=(side // ratio, (high - low) // ratio))
    x, y = mesh.p
    return replace(mesh, doflocs=radius * np.stack([x * np.sqrt(1 - y**2 / 2), 1 + y * np.sqrt(1 - x**2 / 2)]))


def graded_block(
    width: float, height: float, zone: float, size: float, *, growth: float = 1.15, kind: str = "quad", order: int = 1
) -> Any:
    """Block [0, width] × [−height, 0] (m), fine at the origin: cells of `size` over 0 ≤ x ≤ zone at the top.

    growth: largest ratio of neighbours outside it. Boundaries as in `aq.mesh.rectangle`.

    >>> mesh = graded_block(1.0, 1.0, 0.1, 0.02)
    >>> sorted(mesh.boundaries), mesh.nelements
    (['bottom', 'left', 'right', 'top'], 320)
    """
    checks.within("zone", zone, 0.0, checks.positive("width", width), open_low=True, open_high=True)
    checks.within("size", size, 0.0, zone, open_low=True)
    limits.check_cells("size", size, zone / size, 2)
    fine = halved(np.linspace(0.0, zone, math.ceil(zone / size * (1 - 1e-12)) + 1))
    x = np.concatenate([fine, zone + _growing(size, width - zone, growth)[1:]])
    y = -_growing(size, checks.positive("height", height), growth)[::-1]
    mesh = mesh_of([np.stack(np.meshgrid(x, y, indexing="ij"))], kind, order)
    facets = mesh.boundary_facets()
    middle = mesh.p[:, mesh.facets[:, facets]].mean(axis=1)
    ends = {"left": (0, 0.0), "right": (0, width), "bottom": (1, -height), "top": (1, 0.0)}
    names = {name: facets[np.abs(middle[axis] - at) <= 1e-9 * width] for name, (axis, at) in ends.items()}
    return replace(mesh, _boundaries=names)


def turned(mesh: Any) -> Any:
    """The plane mesh rotated by 180° about the origin; boundaries keep their names."""
    return replace(mesh, doflocs=-mesh.doflocs)


def _growing(first_size: float, total: float, growth: float) -> Array:
    """Ends and mid-points (2n + 1,) of cells growing from `first` over [0, total], m."""
    return total * graded(cell_count(first_size, total, growth), first_size, total)
