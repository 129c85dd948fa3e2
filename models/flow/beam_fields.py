"""Deflections of a beam and their slopes as rows over its nodal displacements, for the forces of a flow."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from arlequin.models.beams.assembled import element_sum
from arlequin.models.beams.beam import Beam
from arlequin.models.beams.loads import weight_at
from arlequin.models.part import Weighting
from arlequin.models.reduction.modal import Modal
from arlequin.models.types import Array


def beam_of(part: Any) -> Beam | None:
    """The beam of a part, which may be reduced to its modes; None of other parts."""
    return part.model if isinstance(part, Beam | Modal) and isinstance(part.model, Beam) else None


@dataclass(frozen=True, eq=False)
class BeamFields:
    """Integrals over a beam of products of its deflections v_p across the axis and their slopes v_p′ = dv_p/ds.

    The planes p of bending (one in the plane, two in space) are added. weights (c, q): mass weight × ds, m; ends:
    mass weights at the left and the right end.
    """

    beam: Beam
    weights: Array
    ends: tuple[float, float] = (1.0, 1.0)

    @classmethod
    def of(cls, beam: Beam, weighting: Weighting | None) -> "BeamFields":
        """The fields of a beam under the weights of its junctions, 1 by default."""
        dx = np.asarray(beam.basis.dx)
        if weighting is None:
            return cls(beam, dx)
        left, right = (weight_at(beam, int(beam.end(name)[0]), weighting.mass) for name in ("left", "right"))
        return cls(beam, weighting.mass * dx, (left, right))

    @cached_property
    def deflections(self) -> Array:
        """v (c, q, plane, d) of the dofs d of a cell."""
        return self._deflections(self.beam.xi)

    @cached_property
    def slopes(self) -> Array:
        """v′ (c, q, plane, d)."""
        return np.asarray(self.beam.elements.slopes(self.beam.xi))

    @property
    def arc_length(self) -> Array:
        """s (c, q) of the quadrature points, from the left end, m."""
        s = np.asarray(self.beam.basis.global_coordinates())[0]
        return s - float(self.beam.basis.doflocs[0].min())

    @property
    def length(self) -> float:
        """Length of the beam, m."""
        return float(np.ptp(self.beam.basis.doflocs[0]))

    def integral(self, left: Array, right: Array, density: Array | float = 1.0) -> csr_array:
        """∫ ρ left_pᵀ right_p ds (nodal, nodal) of two fields (c, q, plane, d); density ρ: a number or (c, q)."""
        return self._sum(np.einsum("cqpd,cq,cqpe->cde", left, self.weights * density, right, optimize=True))

    def at_end(self, name: str, slope: bool) -> csr_array:
        """w_pᵀ v_p, or w_pᵀ v_p′, at an end (nodal, nodal): `name` is "left" or "right"."""
        beam, xi = self.beam, np.array([0.0 if name == "left" else 1.0])
        starts = beam.basis.doflocs[0][beam.nodes[:, 0]]
        cell = int(np.argmin(starts) if name == "left" else np.argmax(starts))
        chosen = np.zeros(len(starts))
        chosen[cell] = self.ends[name == "right"]
        values = self._deflections(xi)
        fields = np.asarray(beam.elements.slopes(xi)) if slope else values
        return self._sum(np.einsum("cqpd,c,cqpe->cde", values, chosen, fields, optimize=True))

    def _deflections(self, xi: Array) -> Array:
        beam, axes = self.beam, self.beam.dimension
        cells = len(beam.nodes)
        shapes = beam.elements.interpolation(np.arange(cells), np.broadcast_to(xi, (cells, xi.size)))
        return np.einsum("pa,cqad->cqpd", beam.frame[1:axes, :axes], shapes[:, :, :axes, :])

    def _sum(self, blocks: Array) -> csr_array:
        matrix = element_sum(self.beam, blocks)
        matrix.eliminate_zeros()
        return matrix
