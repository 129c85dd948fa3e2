"""Guides: rings fixed in space through which a rod slides, touched at points that travel along it."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from models.checks import finite_array, positive
from models.errors import UserError
from models.part import Surface
from multilevel.curve import Curve
from multilevel.kinematics import Kinematics
from multilevel.law import Array

_CENTRED = 1e-9  # offset, in clearances, below which its direction is that of round-off


@dataclass(frozen=True, eq=False)
class Guides:
    """Thin rings k in planes across a common axis, in the plane of a = 2 axes slots: a master fixed in space.

    centres (k, a), m; clearance c, m, of each or of all: how far the rod's axis may move sideways from the centre;
    axis (a,): along which the rod lies, from its back to its front. nose (length ℓ, depth b), m: the front is thinner,
    by τ = b (1 − d/ℓ)² in radius at the arc length d < ℓ from its end, so that it leads the rod into rings.
    The slave is the axis of the rod (`Beam.boundary("axis")`). Each ring is one contact point of the area 1 m²:
    pressures in Pa read as N. It has no partner before the rod has reached it and once the rod has left.
    """

    centres: Any
    clearance: Any
    axis: Any
    nose: tuple[float, float] | None = field(default=None, kw_only=True)

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
        """With the nodes of a line, in the order in which they follow one another."""
        along = slave.positions @ self.axis
        if along.size < 2 or slave.facets.shape[1] != 1:
            raise UserError(f"guides hold the axis of a rod (boundary \"axis\"), not '{slave.name}'")
        if along[-1] < along[0]:
            along = -along
        if not (np.diff(along) > 0.0).all():
            raise UserError.parameter("axis", self.axis.tolist(), f"must run along the rod '{slave.part.name}'")
        return GuidePairing(self, Curve.through(slave.positions))


@dataclass(frozen=True, eq=False)
class GuidePairing:
    """Rings against the curve x(s) = Σ N_m(s) x_m through the nodes of a rod, C¹ and of order 3 (`Curve`).

    Ring k of centre c meets the material point s of the rod at which a·(x(s) − c) = 0, a the guides' axis. With the
    offset w = x − c across a and the thinning τ(s) of the nose the clearance left is e = c_k + τ − ‖w‖, of the rate

        ė = ν·v,   ν = −w/‖w‖ + a (w/‖w‖·x′ − τ′)/(a·x′),   v = Σ N_m v_m,

    as the point slides along the rod by ṡ = −a·v/(a·x′). ν is the normal of the rod's surface, ν·x′ = −τ′; the gap is
    the distance along it, g = e/‖ν‖, with ġ = n·v, n = ν/‖ν‖, but for e d(1/‖ν‖)/dt, which vanishes in contact and
    for straight rods. Slips are v along the rod and around it; ΣN_m = 1 and ΣN_m x_m = x keep force and moment. Where
    w = 0 any direction across the axis serves as −n. The force acts on the axis: friction has no arm about it.
    """

    guides: Guides
    curve: Curve

    @property
    def fixed(self) -> bool:
        return False

    @property
    def areas(self) -> Array:
        return np.ones(len(self.guides.centres))

    @cached_property
    def _sense(self) -> float:
        """1 where the front is the last node, −1 where it is the first."""
        return 1.0 if (self.curve.nodes[-1] - self.curve.nodes[0]) @ self.guides.axis > 0.0 else -1.0

    @cached_property
    def _across(self) -> Array:
        """A unit vector across the axis (a,): the coordinate axis least along it, made perpendicular."""
        axis = self.guides.axis
        out = np.eye(axis.size)[np.argmin(np.abs(axis))]
        out = out - (out @ axis) * axis
        return np.asarray(out / np.linalg.norm(out))

    @cached_property
    def _heights(self) -> Array:
        """Places (k,) of the rings along the axis, m."""
        return np.asarray(self.guides.centres @ self.guides.axis)

    def at(self, slave: Array, master: Array) -> Kinematics:
        """slave (n, a), m; the master has no nodes."""
        guides, curve, axis = self.guides, self.curve, self.guides.axis
        count, axes = guides.centres.shape
        along = self._sense * (slave @ axis)
        if not (np.diff(along) > 0.0).all():
            raise UserError("a rod in guides no longer runs along their axis: it has turned over or folded", code=1)
        met, cell, xi = curve.crossing(along, self._sense * self._heights)
        values, slopes = curve.weights(cell, xi)
        stencil = curve.stencil[cell]
        nodes = slave[stencil]
        place = np.einsum("km,kma->ka", values, nodes)
        tangent = np.einsum("km,kma->ka", slopes, nodes)

        offset = place - guides.centres
        offset -= (offset @ axis)[:, None] * axis
        radius = np.linalg.norm(offset, axis=1)
        centred = radius <= _CENTRED * guides.clearance
        outward = np.where(centred[:, None], self._across, offset / np.where(centred, 1.0, radius)[:, None])
        thinner, taper = self._nose(curve.arc_length(cell, xi))
        sliding = (np.einsum("ka,ka->k", outward, tangent) - taper) / (tangent @ axis)
        normal = sliding[:, None] * axis - outward
        size = np.linalg.norm(normal, axis=1)
        normal /= size[:, None]
        gap = np.where(met, (guides.clearance + thinner - radius) / size, np.inf)

        frame = np.zeros((count, axes, axes))
        tangent -= np.einsum("ka,ka->k", normal, tangent)[:, None] * normal
        frame[:, 0], frame[:, 1] = normal, tangent / np.linalg.norm(tangent, axis=1)[:, None]
        if axes == 3:
            frame[:, 2] = np.cross(frame[:, 0], frame[:, 1])
        frame[~met] = 0.0
        rows = self._rows(frame, values, stencil, len(slave))
        positions = np.where(met[:, None], place, guides.centres)
        return Kinematics(rows, gap, frame[:, 0].copy(), np.ascontiguousarray(frame[:, 1:]), positions)

    def _nose(self, s: Array) -> tuple[Array, Array]:
        """τ (k,), m, and its derivative by the arc length s (k,)."""
        if self.guides.nose is None:
            return np.zeros_like(s), np.zeros_like(s)
        length, depth = self.guides.nose
        front = self.curve.length if self._sense > 0.0 else 0.0
        left = np.maximum(1.0 - self._sense * (front - s) / length, 0.0)
        return depth * left**2, self._sense * (2.0 * depth / length) * left

    @staticmethod
    def _rows(frame: Array, values: Array, stencil: NDArray[np.int64], node_count: int) -> csr_array:
        """Rows (k a, a n): the frame's vectors (k, a, a) on the nodes (k, m) of the points with their values."""
        count, axes = frame.shape[:2]
        data = np.einsum("kri,km->krmi", frame, values)
        columns = axes * stencil[:, None, :, None] + np.arange(axes)
        indices = np.broadcast_to(columns, data.shape)
        pointers = np.arange(count * axes + 1) * (axes * values.shape[1])
        return csr_array((data.ravel(), indices.ravel(), pointers), shape=(count * axes, axes * node_count))
