"""Blocks of a disc or a ball that is fine around one point of its surface.

The body of radius R touches the plane y = 0 at the origin P, its axis is y, its centre is C = (0, R). A quarter of the
disc has three corners, P, C and the end E of the arc; an eighth of the ball has four, E and F on two meridians. As a
triangle (tetrahedron) it is cut into one block for each corner; they meet at middles of edges ("EP": between E and P),
of faces ("CEP") and inside:

       C ──── CE ──── E                P:    the box of the contact, `zone` wide, cells of `size`,
       │  C   │   E   │                      rows that grow with the depth
       │      │      ╱                 E, C: fans around it, whose cells grow outwards, at most by
      CP ── CEP    ╱                         `growth` from one to the next
       │  P  ╲   ╱
       P ──── EP

Edges from a key without the letter l to the key with it have N_l cells: N_E = N_F along the surface, N_C rows in depth,
N_P outwards. Keys without C lie on the circle (sphere), and so does every point between them, mid-nodes too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import brentq

from cases.structured import graded, halved, transfinite
from models import checks, limits
from models.errors import UserError
from models.types import Array

DEPTH = 0.7  # depth of the box in zones: below, stresses vary on the scale of the depth itself
LARGEST_ZONE = 0.5  # of the radius; the fans need room
SMALLEST_CELL = 1e-7  # of the radius: points nearer than 1e-9 of the body are one


@dataclass(frozen=True)
class _Meridian:
    """A quarter disc in the coordinates (s, y) of a plane through the axis: key points, lines outwards from the box."""

    radius: float
    zone: float
    depth: float

    @cached_property
    def points(self) -> dict[str, Array]:
        """Position (2,) of every key, m."""
        r, angle = self.radius, math.asin(self.zone / self.radius)
        edge = (r * math.sin(angle), r * (1 - math.cos(angle)))
        known = {"P": (0, 0), "E": (r, r), "C": (0, r), "EP": edge, "CP": (0, self.depth)}
        known["CEP"] = (edge[0], edge[1] + self.depth)
        points = {key: np.array(value, dtype=float) for key, value in known.items()}
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
        """Where the lines start and end: polar angle about C (E), height (C), distance from P (CE)."""
        r = self.radius
        start = math.hypot(self.zone, r - math.sqrt(r * r - self.zone**2) + self.depth)
        end = brentq(lambda d: float(self._middle(np.array([d]))[1, 0]) - r, r, math.sqrt(2) * r, xtol=1e-15 * r)
        return {"E": (math.asin(self.zone / r), math.pi / 2), "C": (self.depth, r), "CE": (start, end)}

    def length(self, key: str) -> float:
        """Length of the line from the box to the far point E, C or CE, m."""
        start, end = self._span[key]
        return (self.radius if key == "E" else 1.0) * (end - start)

    def line(self, key: str, fraction: Array) -> Array:
        """Points (2, k) at fractions of the way from the box to the far point, m."""
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
        along = math.ceil(self.zone / self.size) ** (self.dimension - 1)
        rows = cell_count(self.size, self._depth, self.growth)
        limits.check_cells("size", self.size, along * (rows + self.dimension * self._cells_outward), self.dimension)

    @property
    def _letters(self) -> str:
        return "CEP" if self.dimension == 2 else "CEFP"

    @cached_property
    def _fractions(self) -> dict[str, Array]:
        """Fractions (2n + 1,) of ends and middles of the cells along each direction."""
        rows = graded(cell_count(self.size, self._depth, self.growth), self.size, self._depth)
        along = halved(np.linspace(0.0, 1.0, math.ceil(self.zone / self.size * (1 - 1e-12)) + 1))
        return {"C": rows, "E": along, "F": along, "P": 1.0 - self._outward("CE")[::-1]}

    @property
    def _depth(self) -> float:
        return DEPTH * self.zone

    def _meridian(self, key: str) -> tuple[_Meridian, Array, str]:
        """The plane that holds a key: its quarter disc, its direction across the axis, the key's name there."""
        if "E" in key and "F" in key:  # half-way between the two
            diagonal = _Meridian(self.radius, math.sqrt(2) * self.zone, self._depth)
            return diagonal, np.full(2, math.sqrt(0.5)), key.replace("F", "")
        direction = np.array([0.0, 1.0]) if "F" in key else np.array([1.0, 0.0])
        return _Meridian(self.radius, self.zone, self._depth), direction, key.replace("F", "E")

    def _first(self, key: str) -> float:
        """Size of the first cell outside the box: that of the box's own cells at its side."""
        lateral = self.size * (math.sqrt(2) if "E" in key and "F" in key else 1.0)
        rows = graded(cell_count(self.size, self._depth, self.growth), self.size, self._depth)
        last = self._depth * float(rows[-1] - rows[-3])
        if key == "C":
            return last
        return math.sqrt(lateral * last) if "C" in key else lateral

    @cached_property
    def _cells_outward(self) -> int:
        """N_P: the least for which no line grows faster than `growth`."""
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
        away = points - centre
        return centre + self.radius * away / np.sqrt((away**2).sum(axis=0))

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
        rest = [letters.replace(letter, "") for letter in letters]
        sides = [
            (self._span(key, others), self._span(_joined(key, letter), others))
            for letter, others in zip(letters, rest, strict=True)
        ]
        points = transfinite(sides, [self._fractions[letter] for letter in letters])
        return points if "C" in key + letters else self._on_sphere(points)

    @property
    def blocks(self) -> list[Array]:
        """One block of points for each corner; see `cases.structured`."""
        return [self._span(corner, self._letters.replace(corner, "")) for corner in self._letters]


def _joined(key: str, letter: str) -> str:
    return "".join(sorted(key + letter))


def cell_count(first: float, total: float, growth: float) -> int:
    """Least number of cells from `first` on, each at most `growth` times the one before, that fill `total`."""
    return max(1, math.ceil(math.log1p(total / first * (growth - 1)) / math.log(growth) - 1e-9))
