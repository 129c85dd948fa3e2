"""Guides: contact of a rod with rings fixed in space, at points that travel along its smooth axis."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from arlequin.models.checks import finite_array, positive
from arlequin.models.errors import UserError, short_repr
from arlequin.models.part import Surface
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array, Indices
from arlequin.multilevel.pairing.kinematics import Kinematics
from arlequin.multilevel.search.facets import in_space

_HERMITE = np.array([[1, 0, -3, 2], [0, 1, -2, 1], [0, 0, 3, -2], [0, 0, -1, 1]], dtype=float)  # powers of ξ


class WeightBounds(NamedTuple):
    """Largest |N_m|, Σ|N_m| and ΣN_m² of the weights of a curve."""

    value: float
    total: float
    square: float


@dataclass(frozen=True, eq=False)
class CentreLine:
    """Curve x(s) = Σ_m N_m(s) x_m through nodes x_m of given, ascending arc lengths s_m, m; C¹ (Catmull–Rom).

    In the cell from s_c to s_{c+1}, with ξ = (s − s_c)/h, it is Hermite's cubic of the nodes and the slopes there,
    those of the parabola through the node and its neighbours (at the ends: through the first or last three nodes), so
    that parabolas are reproduced. The error of the slopes is h²x‴/6 inside and −h²x‴/3 at the ends, that of the curve
    h³x‴/6 ξ(1 − ξ)(1 − 2ξ), in the first cell −h³x‴/6 ξ(1 − ξ)(2 − ξ): order 3. The polyline is of order 2 and has
    kinks, at which a rod sliding through a ring would undergo impacts.
    nodes (n, a): positions of the arc lengths (n,); stencil (c, w): nodes that the curve of a cell depends on, w = 4,
    fewer in short rods; table (c, 4, w): N_m as powers of ξ.
    Source: Catmull & Rom, in Computer Aided Geometric Design, Academic Press (1974) 317–326.
    """

    nodes: Array
    knots: Array
    stencil: Indices
    table: Array

    @classmethod
    def through(cls, nodes: Array) -> "CentreLine":
        """Nodes (n, a) in order, n ≥ 2; arc lengths are those of the polyline through them."""
        knots = np.append(0.0, np.cumsum(np.linalg.norm(np.diff(nodes, axis=0), axis=1)))
        count = knots.size
        width, cells = min(4, count), np.arange(count - 1)
        stencil = np.clip(cells - 1, 0, count - width)[:, None] + np.arange(width)
        slopes = _slopes(knots)
        values = np.eye(count)
        length = np.diff(knots)[:, None]
        ends = np.stack([values[:-1], length * slopes[:-1], values[1:], length * slopes[1:]], axis=1)
        table = np.einsum("ep,cen->cpn", _HERMITE, ends)
        return cls(nodes, knots, stencil, np.take_along_axis(table, stencil[:, None, :].repeat(4, axis=1), axis=2))

    def arc_length(self, cell: Indices, xi: Array) -> Array:
        """s (k,) of the places ξ (k,) in the cells (k,)."""
        return np.asarray(self.knots[cell] + xi * (self.knots[cell + 1] - self.knots[cell]))

    def weights(self, cell: Indices, xi: Array) -> tuple[Array, Array]:
        """N_m and dN_m/ds (k, w) at the places ξ (k,) of the cells (k,)."""
        from arlequin.multilevel.pairing._guide_kernels import blends

        values, slopes = np.empty((2, xi.size, self.stencil.shape[1]))
        blends(self.table, np.diff(self.knots), cell, xi, values, slopes)
        return values, slopes

    @property
    def reach(self) -> float:
        """Longest arc length over which a node has a weight, m: four cells, fewer at the ends of the rod."""
        used = np.abs(self.table).any(axis=1)
        low, high = np.full(self.knots.size, np.inf), np.full(self.knots.size, -np.inf)
        np.minimum.at(low, self.stencil[used], np.repeat(self.knots[:-1], used.sum(axis=1)))
        np.maximum.at(high, self.stencil[used], np.repeat(self.knots[1:], used.sum(axis=1)))
        return float((high - low).max())

    def largest(self) -> WeightBounds:
        """Bounds over all cells, at 65 points each, with the middle, where the sums are largest on even cells."""
        powers = np.linspace(0.0, 1.0, 65)[:, None] ** np.arange(4)
        values = np.abs(np.einsum("xp,cpm->cxm", powers, self.table))
        sums = values.max(), values.sum(axis=2).max(), (values**2).sum(axis=2).max()
        return WeightBounds(*map(float, sums))


def _slopes(knots: Array) -> Array:
    """Slopes (n, n) at the nodes as rows on their values: of the parabola through three nodes, or of the line."""
    count = knots.size
    out = np.zeros((count, count))
    if count == 2:
        out[:] = np.array([-1.0, 1.0]) / np.diff(knots)
        return out
    for n in range(count):
        three = np.clip(n - 1, 0, count - 3) + np.arange(3)
        out[n, three] = np.linalg.solve((knots[three] - knots[n]) ** np.arange(3)[:, None], [0.0, 1.0, 0.0])
    return out


@checked_call
@dataclass(frozen=True, eq=False)
class Guides:
    """Thin rings k (slots for a = 2) in planes across a common axis: a master fixed in space.

    centres (k, a), m; clearance c, m, one or (k,): largest lateral offset of the rod axis from the centre; axis (a,):
    direction of the rod, from its back to its front. nose (length ℓ, depth b), m: the radius of the front is smaller by
    τ = b (1 − d/ℓ)² at the arc length d < ℓ from its end, which guides the rod into the rings.
    The slave is the axis of the rod (`Beam.boundary("axis")`). Each ring is one contact point of the area 1 m²:
    pressures in Pa are forces in N. A ring that the rod has not reached, or has left, has no partner.
    """

    centres: Any
    clearance: Any
    axis: Any
    nose: tuple[float, float] | None = field(default=None, kw_only=True)

    __repr__ = short_repr

    def __post_init__(self) -> None:
        axis = finite_array("axis", np.atleast_1d(self.axis), (None,))
        if axis.size not in (2, 3) or not axis.any():
            raise UserError.parameter("axis", axis.tolist(), "must be a vector of 2 or 3 coordinates, not zero")
        centres = finite_array("centres", np.atleast_2d(self.centres), (None, axis.size))
        if not len(centres):
            raise UserError.parameter("centres", self.centres, "must be one point or more")
        clearance = finite_array("clearance", self.clearance)
        if clearance.shape not in ((), (len(centres),)) or not (clearance > 0.0).all():
            raise UserError.parameter("clearance", self.clearance, f"must be positive: one, or {len(centres)} of them")
        if self.nose is not None:
            if len(self.nose) != 2:
                raise UserError.parameter("nose", self.nose, "must be a length and a depth")
            for name, value in zip(("length of the nose", "depth of the nose"), self.nose, strict=True):
                positive(name, value)
        object.__setattr__(self, "axis", axis / np.linalg.norm(axis))
        object.__setattr__(self, "centres", np.ascontiguousarray(centres))
        object.__setattr__(self, "clearance", np.broadcast_to(clearance, len(centres)).copy())

    @property
    def axes(self) -> int:
        return int(self.axis.size)

    def pairing(self, slave: Surface) -> "GuidePairing":
        """The pairing with the nodes of a line in their order along it."""
        along = slave.positions @ self.axis
        if along.size < 2 or slave.facets.shape[1] != 1:
            raise UserError(f"guides hold the axis of a rod (boundary \"axis\"), not '{slave.name}'")
        if along[-1] < along[0]:
            along = -along
        if not (np.diff(along) > 0.0).all():
            raise UserError.parameter("axis", self.axis.tolist(), f"must run along the rod '{slave.part.name}'")
        return GuidePairing(self, CentreLine.through(slave.positions))


@dataclass(frozen=True, eq=False)
class GuidePairing:
    """Contact of rings with the curve x(s) = Σ N_m(s) x_m through the nodes of a rod (`CentreLine`).

    Ring k of centre c is paired with the material point s of the rod at which a·(x(s) − c) = 0, a the axis of the
    guides. With the offset w = x − c across a and the taper τ(s) of the nose the remaining clearance is
    e = c_k + τ − ‖w‖, of the rate

        ė = ν·v,   ν = −w/‖w‖ + a (w/‖w‖·x′ − τ′)/(a·x′),   v = Σ N_m v_m,

    as the point slides along the rod by ṡ = −a·v/(a·x′). ν is the normal of the rod's surface, ν·x′ = −τ′; the gap is
    the distance along it, g = e/‖ν‖, with ġ = n·v, n = ν/‖ν‖, except for e d(1/‖ν‖)/dt, which vanishes in contact and
    for straight rods. Slips are v along the rod and around it; ΣN_m = 1, ΣN_m x_m = x conserve force and moment. Where
    w = 0 a fixed direction across the axis is −n. The force acts on the axis: friction has no lever arm about it.
    """

    guides: Guides
    curve: CentreLine

    @property
    def fixed(self) -> bool:
        return False

    @property
    def areas(self) -> Array:
        return np.ones(len(self.guides.centres))

    @cached_property
    def shared_weight(self) -> float:
        """Bound of the largest eigenvalue of Σ_k N_k N_kᵀ, in any configuration.

        Gershgorin, over the nodes: a max Σ_m |N_m|, times the most rings in the reach of a node, a = max |N_m|; over
        the rings: max ‖N‖² times the most that share a node with one. Valid for axial strains of the rod up to 1 %.
        """
        bounds, reach = self.curve.largest(), 1.01 * self.curve.reach
        heights = np.sort(self.guides.centres @ self.guides.axis)
        first = np.searchsorted(heights, heights - reach, side="left")
        last = np.searchsorted(heights, heights + reach, side="right")
        points_after = last - np.arange(heights.size)
        return float(min(bounds.value * bounds.total * points_after.max(), bounds.square * (last - first).max()))

    @cached_property
    def _sense(self) -> float:
        """1 where the front is the last node, −1 where it is the first."""
        return 1.0 if (self.curve.nodes[-1] - self.curve.nodes[0]) @ self.guides.axis > 0.0 else -1.0

    @cached_property
    def _fixed(self) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Curve and rings as arguments of `pair_rings`."""
        guides, curve = self.guides, self.curve
        axis = guides.axis
        across = np.eye(axis.size)[np.argmin(np.abs(axis))]
        across = across - (across @ axis) * axis
        across /= np.linalg.norm(across)
        vectors = (np.ascontiguousarray(in_space(vector[None])[0]) for vector in (axis, across))
        heights = self._sense * (guides.centres @ axis)
        nose = np.array((0.0, 0.0) if guides.nose is None else guides.nose, dtype=float)
        table = np.ascontiguousarray(curve.table)
        cells = (np.ascontiguousarray(curve.stencil), table, curve.knots, self._sense)
        return cells, (*vectors, in_space(guides.centres), heights, guides.clearance, nose)

    def at(self, slave: Array, master: Array) -> Kinematics:
        """slave (n, a), m; the master has no nodes."""
        from arlequin.multilevel.pairing._guide_kernels import fill_rows, pair_rings

        count, axes = self.guides.centres.shape
        stencil = self._fixed[0][0]
        along = self._sense * (slave @ self.guides.axis)
        if not (along[1:] > along[:-1]).all():
            raise UserError("a rod in guides no longer runs along their axis: it has turned over or folded", code=1)
        gap, position, frame = np.full(count, np.inf), in_space(self.guides.centres).copy(), np.zeros((count, 3, 3))
        values, cell = np.zeros((count, stencil.shape[1])), np.empty(count, np.int64)
        curve, rings = self._fixed
        pair_rings(in_space(slave), along, curve, rings, (gap, position, frame, values, cell))
        frame = frame[:, :axes, :axes]

        width = axes * stencil.shape[1]
        pointers = np.concatenate([[0], np.cumsum(np.repeat(np.where(cell < 0, 0, width), axes))]).astype(np.int32)
        indices, data = np.empty(pointers[-1], np.int32), np.empty(pointers[-1])
        fill_rows(frame, values, stencil, cell, axes, indices, data)
        rows = csr_array((data, indices, pointers), shape=(count * axes, slave.size))
        normals, tangents = (np.ascontiguousarray(vectors) for vectors in (frame[:, 0], frame[:, 1:]))
        return Kinematics(rows, gap, normals, tangents, np.ascontiguousarray(position[:, :axes]))
