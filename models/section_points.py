"""Points of a beam's sections: where it is touched, held or measured within its span."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array

from models import checks
from models.errors import UserError
from models.part import Surface
from models.types import Array, Indices

if TYPE_CHECKING:
    from models.beam import Beam


@dataclass(frozen=True)
class SectionPoints:
    """Points that move with the sections of a beam: `at` arc lengths (k,), at `offsets` (k, axis) from its axis, m.

    A point at the offset r of a section that moves by U and turns by θ (small) moves by U + θ × r: a support that rubs
    on the skin of a rod sees it turn and bend. offsets: along the global axes, one for all points or one for each,
    by default 0: the axis itself. Each point has the area 1 m² in contact, as a point mass: pressures in Pa read as N.
    """

    at: Any
    offsets: Any = field(default=None)

    def __post_init__(self) -> None:
        at = np.atleast_1d(checks.finite_array("at", self.at))
        if at.ndim != 1 or not at.size:
            raise UserError.parameter("at", self.at, "must be arc lengths (k,)")
        object.__setattr__(self, "at", at)

    def surface(self, beam: "Beam", name: str) -> "SectionSurface":
        """The points on a beam."""
        axes, starts = beam.dimension, beam.basis.doflocs[0][beam.nodes[:, 0]]
        ends = starts + beam.elements.lengths
        low, high = float(starts.min()), float(ends.max())
        near = 1e-9 * (high - low)
        if self.at.min() < low - near or self.at.max() > high + near:
            rule = f"must lie on '{beam.name}', in [{low:g}, {high:g}] m"
            raise UserError.parameter(f"points {name!r} at", self.at.tolist(), rule)
        given = np.zeros(axes) if self.offsets is None else checks.finite_array("offsets", self.offsets)
        if given.shape not in ((axes,), (self.at.size, axes)):
            rule = f"must have {axes} components, for all points or for each of the {self.at.size}"
            raise UserError.parameter(f"offsets of points {name!r}", np.shape(self.offsets), rule)
        offsets = np.broadcast_to(given, (self.at.size, axes))
        s = np.clip(self.at, low, high)
        cells = np.argmax((starts[None] <= s[:, None] + near) & (s[:, None] <= ends[None] + near), axis=1)
        xi = np.clip((s - starts[cells]) / beam.elements.lengths[cells], 0.0, 1.0)
        sections = beam.elements.interpolation(cells, xi[:, None])[:, 0]
        local = np.einsum("kas,ksd->kad", _lever(offsets), sections)
        size = beam.components
        dofs = (beam.nodes[cells][:, :, None] * size + np.arange(size)).reshape(cells.size, -1)
        own = np.arange(self.at.size * axes).reshape(-1, axes, 1)
        rows, columns = (np.broadcast_to(index, local.shape).ravel() for index in (own, dofs[:, None]))
        motion = csr_array((local.ravel(), (rows, columns)), shape=(self.at.size * axes, beam.dof_count))
        motion.eliminate_zeros()
        nodes: Indices = beam.nodes[cells, (xi > 0.5).astype(int)]
        return SectionSurface(
            part=beam,
            name=name,
            nodes=nodes,
            areas=np.ones(nodes.size),
            normals=np.zeros((nodes.size, axes)),
            facets=nodes[:, None],
            places=np.ascontiguousarray(beam.place(self.at).T + offsets),
            lever=motion,
        )


def check_points(beam: "Beam", taken: tuple[str, ...]) -> None:
    """Refuses points that do not lie on the beam, or under a name that is taken."""
    for name, given in checks.mapping("points", beam.points, "must map names to SectionPoints").items():
        if name in taken or not isinstance(given, SectionPoints):
            rule = f"must be SectionPoints under a name that is not {' or '.join(taken)}"
            raise UserError.parameter(f"points[{name!r}]", given, rule)
        given.surface(beam, name)


@dataclass(frozen=True, eq=False)
class SectionSurface(Surface):
    """Points (k,) of a beam's sections at places (k, axis), m; lever (k·axis, d): displacements. nodes: the nearest."""

    places: Array
    lever: csr_array

    @property
    def positions(self) -> Array:
        """Initial positions (k, axis), m."""
        return self.places

    @property
    def motion(self) -> csr_array:
        """Displacements (k·axis, d) over those of the beam's nodes."""
        return self.lever


def _lever(offsets: Array) -> Array:
    """(1, [· × r]) (k, axis, component): U + θ × r of a section at the offsets r (k, axis)."""
    count, axes = offsets.shape
    out = np.zeros((count, axes, 3 if axes == 2 else 6))
    out[:, np.arange(axes), np.arange(axes)] = 1.0
    if axes == 2:
        out[:, 0, 2], out[:, 1, 2] = -offsets[:, 1], offsets[:, 0]
        return out
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        out[:, i, 3 + j], out[:, i, 3 + k] = offsets[:, k], -offsets[:, j]
    return out
