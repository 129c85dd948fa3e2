"""Cross-sections of beams: areas, inertias, shear correction factors, and points on the sections for contact."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from arlequin.models import checks
from arlequin.models.beams.beam_model import BeamModel
from arlequin.models.errors import UserError, short_repr
from arlequin.models.part import Surface
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array, Indices


@checked_call
@dataclass(frozen=True)
class SectionPoints:
    """Points that move with the sections of a beam, at arc lengths `at` (k,) and `offsets` (k, axis) from its axis, m.

    A point at the offset r of a section with displacement U and small rotation θ is displaced by U + θ × r: e.g. the
    contact of a support on the surface of a rod. offsets: along the global axes, one for all points or one for each,
    by default 0: the axis itself. Each point has the area 1 m² in contact, as a point mass: pressures in Pa read as N.
    """

    at: Any
    offsets: Any = field(default=None)

    __repr__ = short_repr

    def __post_init__(self) -> None:
        at = np.atleast_1d(checks.finite_array("at", self.at))
        if at.ndim != 1 or not at.size:
            raise UserError.parameter("at", self.at, "must be arc lengths (k,)")
        object.__setattr__(self, "at", at)

    def surface(self, beam: BeamModel, name: str) -> "SectionSurface":
        """The points on a beam."""
        axes, starts = beam.dimension, beam.basis.doflocs[0][beam.nodes[:, 0]]
        ends = starts + beam.elements.lengths
        low, high = float(starts.min()), float(ends.max())
        tolerance = 1e-9 * (high - low)
        if self.at.min() < low - tolerance or self.at.max() > high + tolerance:
            rule = f"must lie on '{beam.name}', in [{low:g}, {high:g}] m"
            raise UserError.parameter(f"points {name!r} at", self.at.tolist(), rule)
        offset_array = np.zeros(axes) if self.offsets is None else checks.finite_array("offsets", self.offsets)
        if offset_array.shape not in ((axes,), (self.at.size, axes)):
            rule = f"must have {axes} components, for all points or for each of the {self.at.size}"
            raise UserError.parameter(f"offsets of points {name!r}", np.shape(self.offsets), rule)
        offsets = np.broadcast_to(offset_array, (self.at.size, axes))
        s = np.clip(self.at, low, high)
        cells = np.argmax((starts[None] <= s[:, None] + tolerance) & (s[:, None] <= ends[None] + tolerance), axis=1)
        xi = np.clip((s - starts[cells]) / beam.elements.lengths[cells], 0.0, 1.0)
        sections = beam.elements.interpolation(cells, xi[:, None])[:, 0]
        local = np.einsum("kas,ksd->kad", _section_operator(offsets), sections)
        size = beam.components
        dofs = (beam.nodes[cells][:, :, None] * size + np.arange(size)).reshape(cells.size, -1)
        rows_of_points = np.arange(self.at.size * axes).reshape(-1, axes, 1)
        rows, columns = (np.broadcast_to(index, local.shape).ravel() for index in (rows_of_points, dofs[:, None]))
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
            operator=motion,
        )


def check_points(beam: BeamModel, reserved: tuple[str, ...]) -> None:
    """Raise UserError for points that do not lie on the beam or have the name of another boundary."""
    for name, points in checks.mapping("points", beam.points, "must map names to SectionPoints").items():
        if name in reserved or not isinstance(points, SectionPoints):
            rule = f"must be SectionPoints under a name that is not {' or '.join(reserved)}"
            raise UserError.parameter(f"points[{name!r}]", points, rule)
        points.surface(beam, name)


@dataclass(frozen=True, eq=False, repr=False)
class SectionSurface(Surface):
    """Points (k,) of a beam's sections. operator (k·axis, d): their displacements over those of the beam's nodes;
    nodes (k,): the nearest nodes."""

    places: Array
    operator: csr_array

    @property
    def positions(self) -> Array:
        """Initial positions (k, axis), m."""
        return self.places

    @property
    def motion(self) -> csr_array:
        """Displacements (k·axis, d) over those of the beam's nodes."""
        return self.operator


def _section_operator(offsets: Array) -> Array:
    """Operator (1, [· × r]) (k, axis, component) of U + θ × r of a section at the offsets r (k, axis)."""
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


@checked_call
@dataclass(frozen=True)
class Section:
    """A cross-section with principal axes y and z through its centroid, x along the beam.

    area A in m²; inertia_y = ∫ z² dA (bending in the plane x, z) and inertia_z = ∫ y² dA (in the plane x, y),
    torsion constant J, in m⁴; shear_y and shear_z: shear correction factors κ of the forces along y and z, so
    that V = κ G A γ. Plane beams bend in x, y: they use area, inertia_z and shear_y.

    The constructors take Poisson's ratio for Cowper's factors, which belong to the section's mean displacement
    and mean rotation, as in a volume junction.

    >>> import arlequin as aq
    >>> tube = aq.Section.tube(outer=5e-3, inner=4e-3, poisson=0.3)  # m
    >>> round(tube.area * 1e6, 6), round(tube.inertia_z * 1e12, 6)  # π(a² − b²) = 9π mm², π(a⁴ − b⁴)/4 mm⁴
    (28.274334, 289.811922)
    >>> tube.torsion == tube.polar  # J = I_y + I_z of a circular section
    True

    Source of the factors: Cowper, Journal of Applied Mechanics 33, 1966.
    """

    area: float
    inertia_y: float
    inertia_z: float
    torsion: float
    shear_y: float = 5.0 / 6.0
    shear_z: float = 5.0 / 6.0

    def __post_init__(self) -> None:
        for name in ("area", "inertia_y", "inertia_z", "torsion", "shear_y", "shear_z"):
            checks.check_fields(self, **{name: checks.positive})

    @property
    def polar(self) -> float:
        """Polar moment I_y + I_z, m⁴: the rotary inertia of torsion."""
        return self.inertia_y + self.inertia_z

    @classmethod
    @checked_call
    def rectangle(cls, height: float, width: float, poisson: float = 0.0) -> "Section":
        """Rectangle of a height along y and a width along z, m.

        κ = 10(1 + ν)/(12 + 11ν); J from Saint-Venant's series (Timoshenko & Goodier, Theory of Elasticity,
        §109).

        >>> section = Section.rectangle(0.2, 0.1)
        >>> round(section.area, 6), round(section.inertia_z, 9), round(section.shear_y, 6)
        (0.02, 6.6667e-05, 0.833333)
        """
        h, b, nu = _dimensions(("height", height), ("width", width), poisson=poisson)
        shear = 10 * (1 + nu) / (12 + 11 * nu)
        long, short = max(h, b), min(h, b)
        n = np.arange(1, 60, 2)
        series = float((np.tanh(n * np.pi * long / (2 * short)) / n**5).sum())
        torsion = long * short**3 * (1 / 3 - 64 / np.pi**5 * short / long * series)
        return cls(h * b, h * b**3 / 12, b * h**3 / 12, float(torsion), shear, shear)

    @classmethod
    @checked_call
    def circle(cls, radius: float, poisson: float = 0.0) -> "Section":
        """Full circle; κ = 6(1 + ν)/(7 + 6ν)."""
        r, nu = _dimensions(("radius", radius), poisson=poisson)
        inertia = np.pi * r**4 / 4
        shear = 6 * (1 + nu) / (7 + 6 * nu)
        return cls(np.pi * r**2, inertia, inertia, 2 * inertia, shear, shear)

    @classmethod
    @checked_call
    def tube(cls, outer: float, inner: float, poisson: float = 0.0) -> "Section":
        """Circular tube of outer and inner radius, m.

        κ = 6(1 + ν)(1 + m²)²/((7 + 6ν)(1 + m²)² + (20 + 12ν)m²), m = inner/outer.
        """
        a, b, nu = _dimensions(("outer", outer), ("inner", inner), poisson=poisson)
        if b >= a:
            raise UserError.parameter("inner", inner, f"must be less than the outer radius {outer:g}")
        m2 = (b / a) ** 2
        shear = 6 * (1 + nu) * (1 + m2) ** 2 / ((7 + 6 * nu) * (1 + m2) ** 2 + (20 + 12 * nu) * m2)
        inertia = np.pi * (a**4 - b**4) / 4
        return cls(np.pi * (a**2 - b**2), inertia, inertia, 2 * inertia, shear, shear)


def _dimensions(*lengths: tuple[str, float], poisson: float) -> tuple[float, ...]:
    """The lengths and Poisson's ratio, checked."""
    nu = checks.within("poisson", poisson, -1.0, 0.5, open_low=True, open_high=True)
    return (*(checks.positive(name, value) for name, value in lengths), nu)
