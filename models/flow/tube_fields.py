"""Displacements of tubes at points along them, for forces per length of a cross flow."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array, eye_array, kron

from arlequin.models import checks
from arlequin.models.beams.loads import displacement_operator
from arlequin.models.errors import UserError, UserTypeError
from arlequin.models.flow.beam_fields import beam_of
from arlequin.models.part import Part, Surface, Weighting
from arlequin.models.types import Array

Profile = Callable[[Array], Any]


@dataclass(frozen=True, eq=False)
class TubeFields:
    """Displacement (p × axis, nodal) of a tube at points (axis, p), m, that stand for lengths (p,), m, of it."""

    displacement: csr_array
    points: Array
    lengths: Array

    @classmethod
    def of(cls, tube: "Part | Surface", length: float | None, weighting: Weighting | None) -> "TubeFields":
        """Of a beam over its length, under the weights of its junctions; of a surface by the shares of its nodes."""
        if isinstance(tube, Surface):
            assert length is not None
            shares = np.maximum(tube.areas, 0.0)
            return cls(tube.motion, tube.positions.T, length * shares / shares.sum())
        beam = beam_of(tube)
        assert beam is not None
        dx = np.asarray(beam.basis.dx)
        lengths = dx if weighting is None else weighting.mass * dx
        points = beam.quadrature_points().reshape(beam.dimension, -1)
        return cls(displacement_operator(beam), points, lengths.ravel())

    def along(self, direction: Array) -> csr_array:
        """Displacement (p, nodal) along a direction (axis,)."""
        return csr_array(kron(eye_array(self.lengths.size), direction[None]) @ self.displacement)

    def weighted(self, profile: Profile | None, power: int) -> Array:
        """Lengths times (velocity profile)^power (p,), m."""
        if profile is None:
            return self.lengths
        values = np.broadcast_to(np.asarray(profile(self.points.copy()), dtype=float), self.lengths.shape)
        if not np.isfinite(values).all() or (values < 0.0).any():
            raise UserError("profile: must give finite numbers ≥ 0 at points (axis, p): velocity over the reference")
        return np.asarray(self.lengths * values**power)


def check_tube(name: str, tube: Any, length: float | None) -> None:
    """UserError where a tube is no beam over its own length, nor a boundary with a length."""
    if isinstance(tube, Surface):
        if length is None:
            raise UserError(f"flow '{name}': '{tube.name}' of '{tube.part.name}' needs length=, m, exposed to the flow")
        checks.positive("length", length)
        return
    if beam_of(tube) is None:
        rule = 'must be a Beam, a Modal of a Beam, or part.boundary("name") with length='
        raise UserTypeError.parameter(f"flow '{name}': tube", tube, rule)
    if length is not None:
        raise UserError.parameter("length", length, "must be None for beams, which are exposed along their length")


def part_of(tube: "Part | Surface") -> Part:
    """The part of a tube."""
    return tube.part if isinstance(tube, Surface) else tube


def unit(name: str, direction: Any, tube: "Part | Surface") -> Array:
    """A direction (axis,) of unit length, across a beam."""
    axes = part_of(tube).positions.shape[1]
    vector = checks.finite_array(name, direction, (axes,))
    size = float(np.linalg.norm(vector))
    if not size > 0.0:
        raise UserError.parameter(name, direction, "must not be zero")
    vector = vector / size
    beam = beam_of(tube)
    if beam is not None and abs(vector @ beam.frame[0, :axes]) > 1e-9:
        raise UserError.parameter(name, direction, f"must be perpendicular to the axis of '{beam.name}'")
    return vector
