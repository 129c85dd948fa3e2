"""Where a beam and a solid overlap along the beam's axis: the taper, the pieces of the solid, and the weights."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from arlequin.slices import Slices, fit_weights, monomials, slice_cells
from arlequin.weights import Weight
from models.beam import Beam
from models.errors import UserError
from models.solid import Solid
from models.types import Array

SAME = 1e-9  # ends nearer than this fraction of the parts' size are the same
SHORTEST = 0.3  # a mediator cell shorter than this fraction of its neighbour is merged with it


@dataclass(frozen=True)
class AxisTaper:
    """The zone along the beam's axis: from `start`, the solid's inner end, to `end`, the beam's (arc lengths, m)."""

    start: float
    end: float

    @property
    def length(self) -> float:
        """Length of the zone, m."""
        return abs(self.end - self.start)

    def coordinate(self, arc: Array) -> Array:
        """s at arc lengths (…), unbounded: 0 at `start`, 1 at `end`."""
        return (arc - self.start) / (self.end - self.start)

    def fine(self, weight: Weight, arc: Array) -> Array:
        """Weight (…) of the solid at arc lengths (…): 0 before the zone, 1 behind it."""
        s = self.coordinate(arc)
        return np.where(s < 0, 0.0, np.where(s > 1, 1.0, weight.fine(np.clip(s, 0.0, 1.0))))


@dataclass(frozen=True, eq=False)
class BeamZone:
    """The range of a beam's axis, by arc length s in m, that a solid takes too. label: who asks, for messages."""

    beam: Beam
    solid: Solid
    label: str

    @cached_property
    def taper(self) -> AxisTaper:
        """The zone on the arc length s: from the solid's inner end to the beam's."""
        low_b, high_b = float(self.nodes[0]), float(self.nodes[-1])
        low_s, high_s = float(self.corners.min()), float(self.corners.max())
        near = SAME * max(high_b - low_b, high_s - low_s)
        ranges = (
            f"'{self.beam.name}' takes [{low_b:.6g}, {high_b:.6g}] and '{self.solid.name}' [{low_s:.6g}, {high_s:.6g}]"
            " of the beam's axis"
        )
        if min(high_b, high_s) - max(low_b, low_s) <= near:
            raise UserError(f"{self.label}: {ranges}: they do not overlap")
        after, before = low_s - low_b > near and high_s - high_b > near, low_b - low_s > near and high_b - high_s > near
        if not (after or before):
            raise UserError(f"{self.label}: {ranges}: each must reach beyond the other at one end")
        taper = AxisTaper(low_s, high_b) if after else AxisTaper(high_s, low_b)
        cell = float(np.diff(self.nodes)[-1 if after else 0])
        if taper.length < cell * (1 - SAME):
            raise UserError(
                f"{self.label}: {ranges}: they overlap over {taper.length:.6g} m, "
                f"less than one cell of '{self.beam.name}' ({cell:.6g} m)"
            )
        return taper

    @cached_property
    def slices(self) -> Slices:
        """The solid's cells in the zone, cut at the beam's nodes; with the rest of cells that its end cuts."""
        low, high = self.range
        touched = np.flatnonzero((self.corners.max(axis=0) > low) & (self.corners.min(axis=0) < high))
        inside = self.nodes[(self.nodes >= low) & (self.nodes <= high)]
        planes = np.unique(np.concatenate((inside, self.grid)))
        tangent, shift = self.axis
        degree = max(6, 3 + self.solid.basis.elem.maxdeg)  # cubic beam functions on both sides, or on one
        return slice_cells(self.solid.basis, touched.astype(np.int64), tangent, planes + shift, degree)

    @property
    def range(self) -> tuple[float, float]:
        """Least and largest arc length."""
        low, high = sorted((self.taper.start, self.taper.end))
        return low, high

    @cached_property
    def axis(self) -> tuple[Array, float]:
        """Tangent t and the offset of x·t from the arc length, m."""
        tangent = self.beam.frame[0, : self.beam.dimension]
        return tangent, float(tangent @ self.beam.place(np.zeros(())))

    @cached_property
    def nodes(self) -> Array:
        """Arc lengths of the beam's nodes in increasing order, m."""
        return np.sort(self.beam.basis.doflocs[0])

    @cached_property
    def starts(self) -> Array:
        """Arc length at which each of the beam's cells begins, m."""
        return self.beam.basis.doflocs[0][self.beam.nodes[:, 0]]

    @cached_property
    def corners(self) -> Array:
        """Arc lengths (vertex, c) of the corners of the solid's cells."""
        return self.beam.arc_length(self.solid.mesh.p)[self.solid.mesh.t]

    @cached_property
    def grid(self) -> Array:
        """Nodes of the mediator: the zone's ends and the beam's nodes between, without a short first cell."""
        low, high = self.range
        near = SAME * (high - low)
        inner = self.nodes[(self.nodes > low + near) & (self.nodes < high - near)]
        grid = np.concatenate(([low], inner, [high]))
        cells = np.diff(grid)
        at_low = self.taper.start < self.taper.end  # where the solid's inner end cuts a cell of the beam
        if cells.size > 1 and (cells[0] < SHORTEST * cells[1] if at_low else cells[-1] < SHORTEST * cells[-2]):
            grid = np.delete(grid, 1 if at_low else -2)
        return grid

    @cached_property
    def inside(self) -> Slices:
        """The pieces in the zone."""
        s = self.beam.arc_length(self.slices.points).mean(axis=1)
        low, high = self.range
        return self.slices[(s > low) & (s < high)]

    def _alpha(self, weights: Weight, s: Array) -> Array:
        """The solid's weight α at arc lengths s."""
        alpha = self.taper.fine(weights, s)
        if not (np.isfinite(alpha).all() and alpha.min() >= 0 and alpha.max() <= 1):
            raise UserError(f"{self.label}: weights must lie between 0 and 1")
        return alpha

    def beam_weights(self, weights: Weight) -> Array:
        """1 − α (c, q) on the beam."""
        beam, start = self.beam, self.taper.start
        s = np.asarray(beam.basis.global_coordinates())[0]
        values = 1 - self._alpha(weights, s)
        lengths, first = beam.elements.lengths, self.starts
        cut = np.flatnonzero((start > first + SAME * lengths) & (start < first + (1 - SAME) * lengths))
        if cut.size == 0:
            return values
        xi, rule = beam.basis.X, beam.basis.W
        share = (start - first[cut[0]]) / lengths[cut[0]]
        reference = np.concatenate((share * xi[0], share + (1 - share) * xi[0]))
        w = np.concatenate((share * rule, (1 - share) * rule))
        alpha = self._alpha(weights, first[cut[0]] + lengths[cut[0]] * reference)
        moments = monomials(reference[None], 2) @ (w * lengths[cut[0]] * (1 - alpha))
        at_points = (s[cut] - first[cut][:, None]) / lengths[cut][:, None]
        polynomials = monomials(at_points, 2)
        values[cut] = fit_weights(values[cut], beam.basis.dx[cut], polynomials, moments[None])
        return values

    def solid_weights(self, weights: Weight) -> Array:
        """α (c, q) on the solid."""
        solid, end = self.solid, self.taper.end
        order = 1 if solid.order is None else solid.order
        values = self._alpha(weights, self.beam.arc_length(solid.quadrature_points()))
        low, high = self.corners.min(axis=0), self.corners.max(axis=0)
        near = SAME * (high - low)
        cut = np.flatnonzero((low < end - near) & (high > end + near))
        if cut.size == 0:
            return values
        rank = np.full(solid.mesh.nelements, -1)
        rank[cut] = np.arange(cut.size)
        pieces = self.slices[rank[self.slices.cells] >= 0]
        # rules have points on the faces of the pieces: on which side of a jump is told by the piece
        t = self.taper.coordinate(self.beam.arc_length(pieces.points))
        beyond = t.mean(axis=1, keepdims=True) > 1
        alpha = np.where(beyond, 1.0, weights.fine(np.clip(t, 0.0, 1.0)))
        polynomials = monomials(solid.basis.X, order)
        moments = np.zeros((cut.size, polynomials.shape[0]))
        local = np.einsum("mpq,pq->pm", monomials(pieces.X, order), alpha * pieces.dx)
        np.add.at(moments, rank[pieces.cells], local)
        values[cut] = fit_weights(values[cut], solid.basis.dx[cut], polynomials, moments)
        return values
