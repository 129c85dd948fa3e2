"""Cell of a spacer grid around a cladding tube in 3D: springs and dimples with elastic pads.

The tube axis is z. On each of the sides +x and +y there is one spring at mid-height, on each of the sides −x and −y two
dimples, below and above. Each support is a small elastic pad; springs (`aq.Spring`, optionally with dashpots) connect
its back to a node of the grid, whose imposed motion presses the pad against the tube. The contact laws are applied at
the nodes of the tube, on a patch of its surface below each pad, so that wear is computed on the tube.

    cell = SpacerCell(Cladding(4.75e-3, 0.57e-3, zircaloy, (-0.02, 0.02)), Supports(...))
    tube = cell.tube(imposed=...)                       # a Solid; Modal(tube) may take its place
    supports = cell.tube_supports(tube, share=lambda t: min(t, 1.0))  # 0: touching, 1: pressed
    aq.System([tube, *supports.parts], interfaces=supports.interfaces, springs=supports.springs)

"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import skfem

import arlequin as aq
from arlequin.cases.reference.line_layer import LineLayer
from arlequin.cases.shared.meshes import halved, mesh_of
from arlequin.models import checks, limits
from arlequin.models.errors import UserError
from arlequin.models.types import Array

Range = tuple[float, float]


def refined_line(ends: Range, zones: Sequence[Range], size: float, largest: float, growth: float = 1.6) -> Array:
    """Increasing points of a graded line: an even number of equal cells of at most `size` in each zone, growing away
    from the zones by the factor `growth`, up to `largest`.

    zones: (low, high), sorted, apart from each other.

    >>> refined_line((0.0, 4.0), [(1.0, 2.0)], 0.5, 1.0, growth=2.0)
    array([0. , 1. , 1.5, 2. , 3. , 4. ])
    """
    points: list[Array] = []
    before = ends[0]
    for number, (low, high) in enumerate(zones):
        if low > before:
            points.append(_between(before, low, (number > 0, True), size, largest, growth)[:-1])
        count = 2 * math.ceil(0.5 * (high - low) / size * (1 - 1e-9))
        points.append(np.linspace(low, high, count + 1)[:-1])
        before = high
    if ends[1] > before:
        points.append(_between(before, ends[1], (True, False), size, largest, growth)[:-1])
    return np.concatenate([*points, [ends[1]]])


def _between(start: float, end: float, fine: tuple[bool, bool], size: float, largest: float, growth: float) -> Array:
    """Points from start to end, refined at the given ends."""
    if all(fine):
        middle = 0.5 * (start + end)
        first_half = _between(start, middle, (True, False), size, largest, growth)
        return np.concatenate([first_half, (start + end) - first_half[-2::-1]])
    length = end - start
    limits.check_cells("largest", largest, length / max(size, largest), 1)
    sizes: list[float] = []
    total, next_size = 0.0, size
    while total < length * (1 - 1e-9):
        next_size = max(size, min(size * growth ** (len(sizes) + 1), largest)) if next_size < largest else next_size
        sizes.append(next_size)
        total += next_size
    fractions = np.concatenate([[0.0], np.cumsum(sizes)]) / total
    return start + length * fractions if fine[0] else (end - length * fractions)[::-1]


def on_cylinders(mesh: Any) -> Any:
    """Second-order mesh of the tube about z, with mid-side nodes on the cylinders."""
    radius = np.hypot(*mesh.p[:2])
    curved = skfem.MeshHex2.from_mesh(mesh)
    # radius of a mid-side node: mean of its corners, by a mesh with the radius as a coordinate
    means = skfem.MeshHex2.from_mesh(replace(mesh, doflocs=np.stack([radius, radius, mesh.p[2]])))
    points = curved.doflocs.copy()
    points[:2] *= means.doflocs[0] / np.hypot(*points[:2])
    return replace(curved, doflocs=points, _boundaries=mesh.boundaries)


def pad_mesh(
    size: tuple[float, float, float], cells: tuple[int, int], across: Array, radius: float | None, order: int
) -> Any:
    """Pad (width, height, thickness in m) in x ≥ 0 with the front face at x = 0, flat or hollow with a given radius.

    cells: along z and through the thickness; across: places (n,), m, of the nodes along y, from −width/2 to width/2.
    Boundaries: `front`, `back`.
    """
    _, height, thickness = size
    y, z = halved(across), halved(np.linspace(-0.5 * height, 0.5 * height, cells[0] + 1))
    depth = halved(np.linspace(0.0, 1.0, cells[1] + 1))
    hollow = np.zeros_like(y) if radius is None else radius - np.sqrt(radius**2 - y**2)
    block = np.empty((3, depth.size, y.size, z.size))
    front = -hollow[None, :, None]
    block[0] = front + (thickness - front) * depth[:, None, None]
    block[1], block[2] = y[None, :, None], z[None, None, :]
    mesh = mesh_of([block], "hex", order)
    facets = mesh.boundary_facets()
    middle = mesh.p[:, mesh.facets[:, facets]].mean(axis=1)
    on_back = np.abs(middle[0] - thickness) <= 1e-9 * thickness
    corners = mesh.p[:, mesh.facets[:, facets]]
    bent = np.zeros_like(corners[1]) if radius is None else radius - np.sqrt(radius**2 - corners[1] ** 2)
    at_front = (np.abs(corners[0] + bent) <= 1e-9 * thickness).all(axis=0)
    return replace(mesh, _boundaries={"front": facets[at_front], "back": facets[on_back]})


def placed(mesh: Any, distance: float, angle: float, height: float) -> Any:
    """The mesh moved by the distance (m) along x, turned by the angle (rad) about z and lifted by the height (m)."""
    x, y, z = mesh.doflocs
    x, cosine, sine = x + distance, math.cos(angle), math.sin(angle)
    return replace(mesh, doflocs=np.stack([cosine * x - sine * y, sine * x + cosine * y, z + height]))


_ZONE = 1.5  # half-width of the refined surface over that of the contact
_ACROSS = 2.5  # cells over the half-width of the contact at refine = 1
_ALONG = 8  # cells over the height of a pad
_SIZE, _OFFSET = (2.5e-3, 3e-3, 8e-4), 12e-3  # of pads: width, height, thickness; of dimples from the middle, m
_COARSE = 5e-4, 1.5e-3  # largest cells around and along the tube, m
_CLEAR = 1e-3  # additional initial gap over the height of the asperities: chords of hollow pads stay clear
_QUARTER = 0.5 * math.pi


@dataclass(frozen=True)
class Cladding:
    """Outer radius and thickness of the wall in m, material, heights of its ends and of the cell's middle, m."""

    radius: float
    thickness: float
    material: aq.LinearElastic
    ends: tuple[float, float]
    middle: float = 0.0
    cells: int = field(default=3, kw_only=True)  # through the wall
    order: int = field(default=1, kw_only=True)

    def __post_init__(self) -> None:
        checks.positive("radius", self.radius)
        checks.within("thickness", self.thickness, 0.0, self.radius, open_low=True, open_high=True)
        checks.within("middle", self.middle, *self.ends, open_low=True, open_high=True)
        checks.one_of("order", self.order, (1, 2))


@dataclass(frozen=True)
class Supports:
    """Data of springs, dimples and pads: normal and tangential stiffness, N/m, and damping, N·s/m, of a whole pad.

    shear_damping: tangential over normal damping. friction: None for smooth pads (then no wear).
    preload P, N, of each spring, P/2 of each dimple, which determines `SpacerCell.grid_displacement`.
    gap, m: initial gap between asperities and tube.
    size: width, height, thickness of a pad, m; hollow: radius of its face, m, larger than the tube's, or None: flat.
    offset: of the dimples above and below the middle, m.
    """

    material: aq.LinearElastic
    spring_stiffness: float
    dimple_stiffness: float
    preload: float
    asperities: aq.Asperities
    friction: aq.Coulomb | None
    wear: aq.Archard | None = None
    gap: float = 0.0
    spring_shear: float = 1e5
    dimple_shear: float = 5e5
    spring_damping: float = 0.0
    dimple_damping: float = 0.0
    shear_damping: float = 0.0
    size: tuple[float, float, float] = field(default_factory=lambda: _SIZE)
    hollow: float | None = None
    offset: float = field(default_factory=lambda: _OFFSET)

    def __post_init__(self) -> None:
        for name in ("spring_stiffness", "dimple_stiffness", "spring_shear", "dimple_shear", "offset"):
            checks.positive(name, getattr(self, name))
        for name in ("preload", "gap", "spring_damping", "dimple_damping", "shear_damping"):
            checks.non_negative(name, getattr(self, name))
        for name, value in zip(("width", "height", "thickness"), self.size, strict=True):
            checks.positive(f"{name} of a pad", value)
        if not self.offset > self.size[1]:
            raise UserError.parameter("offset", self.offset, f"must be more than the pad's height, {self.size[1]:g} m")


@dataclass(frozen=True)
class PadSupport:
    """One of the six supports: quarter turns from +x, height above the middle, m; stiffnesses, damping, nominal
    force, N."""

    name: str
    quarter: int
    height: float
    stiffness: float
    shear: float
    damping: float
    force: float

    @property
    def angle(self) -> float:
        """Angle of the support around the tube, rad."""
        return self.quarter * _QUARTER

    @property
    def normal(self) -> tuple[float, float, float]:
        """Unit normal from the tube to the pad."""
        return ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (-1.0, 0.0, 0.0), (0.0, -1.0, 0.0))[self.quarter]

    def along(self, normal: float, shear: float) -> tuple[float, float, float]:
        """Components on the axes of a normal and a tangential value."""
        return (normal, shear, shear) if self.quarter % 2 == 0 else (shear, normal, shear)


@dataclass(frozen=True)
class TubeSupports:
    """Supports of a tube: pads and grid nodes, springs, and contact interfaces with the tube."""

    parts: list[Any]
    springs: list[aq.Spring]
    interfaces: list[aq.Interface]


@dataclass(frozen=True)
class SpacerCell:
    """Model of the cell; refine: refinement factor (1: cells of 0.08 × 0.4 mm in the contact of the default case)."""

    cladding: Cladding
    supports: Supports
    refine: float = 1.0

    def __post_init__(self) -> None:
        checks.positive("refine", self.refine)
        c, s = self.cladding, self.supports
        if s.hollow is not None and not s.hollow > c.radius:
            raise UserError.parameter("hollow", s.hollow, f"must be more than the tube's radius, {c.radius:g} m")
        reach = s.offset + 0.5 * s.size[1]
        low, high = c.middle - reach, c.middle + reach
        if not (c.ends[0] < low and high < c.ends[1]):
            raise UserError.parameter("ends", c.ends, f"must lie beyond the pads, from {low:g} to {high:g} m")

    @cached_property
    def pad_supports(self) -> tuple[PadSupport, ...]:
        """Springs at +x and +y, two dimples each at −x and −y."""
        s = self.supports
        spring = s.spring_stiffness, s.spring_shear, s.spring_damping, s.preload
        dimple = s.dimple_stiffness, s.dimple_shear, s.dimple_damping, 0.5 * s.preload
        supports = [PadSupport(f"spring_{axis}", quarter, 0.0, *spring) for quarter, axis in enumerate("xy")]
        for quarter, axis in enumerate("xy"):
            sides = {"low": -s.offset, "high": s.offset}
            supports += [PadSupport(f"dimple_{axis}_{side}", quarter + 2, z, *dimple) for side, z in sides.items()]
        return tuple(supports)

    @property
    def layer(self) -> LineLayer:
        """Contact of a rigid tube with a rigid pad through the asperity layer."""
        hollow, law = self.supports.hollow, self.supports.asperities
        relative = 1.0 / self.cladding.radius - (0.0 if hollow is None else 1.0 / hollow)
        return LineLayer(1.0 / relative, law.stiffness, law.exponent)

    @property
    def half_width(self) -> float:
        """Half-width of the contact of a spring by the layer alone, m; without preload for half-compressed
        asperities."""
        s, layer = self.supports, self.layer
        if s.preload > 0.0:
            return float(layer.half_width(s.preload / s.size[1]))
        return math.sqrt(layer.radius * s.asperities.height)

    @property
    def zone(self) -> float:
        """Half-width of the patches, m."""
        return min(_ZONE * self.half_width, 0.5 * self.supports.size[0])

    @property
    def _size(self) -> float:
        return self.half_width / (_ACROSS * self.refine)

    def grid_displacement(self, support: PadSupport, share: float = 1.0) -> float:
        """Displacement of the grid node of a support, m: it closes the gap for share ≤ 0, then loads the support.

        At share 1: F/K plus the compression of the asperities under F on a rigid tube; the compliance of the tube wall
        reduces the force slightly.
        """
        s, force = self.supports, support.force
        press = force / support.stiffness + float(self.layer.crush(force / s.size[1]))
        return s.gap * min(1.0 + share, 1.0) + (self.clear + press) * max(share, 0.0)

    @property
    def clear(self) -> float:
        """Gap between asperities and tube at share 0, m."""
        return _CLEAR * self.supports.asperities.height

    @property
    def _start(self) -> float:
        """Initial distance of the pad faces from the axis, m."""
        return self.cladding.radius + self.supports.asperities.height + self.clear + self.supports.gap

    def tube(self, name: str = "tube", material: aq.LinearElastic | None = None, **options: Any) -> aq.Solid:
        """Solid of the tube; boundaries `inner`, `outer`, `bottom`, `top` and the named patch of each support.

        material: replaces that of the cladding (e.g. with the mass of pellets); options: see `aq.Solid`.
        """
        c, s = self.cladding, self.supports
        half, half_angle = 0.5 * s.size[1], self.zone / c.radius
        sides = [(k * _QUARTER - half_angle, k * _QUARTER + half_angle) for k in range(4)]
        circumference = (-0.5 * _QUARTER, 3.5 * _QUARTER)
        angles = refined_line(circumference, sides, self._size / c.radius, _COARSE[0] / self.refine / c.radius)
        support_heights = [c.middle + z for z in (-s.offset, 0.0, s.offset)]
        size = s.size[1] / (_ALONG * self.refine)
        heights = refined_line(c.ends, [(z - half, z + half) for z in support_heights], size, _COARSE[1] / self.refine)
        patches = {
            pad.name: (sides[pad.quarter], (c.middle + pad.height - half, c.middle + pad.height + half))
            for pad in self.pad_supports
        }
        mesh = aq.mesh.tube(c.radius - c.thickness, c.radius, angles, heights, c.cells, patches)
        return aq.Solid(name, mesh if c.order == 1 else on_cylinders(mesh), material or c.material, **options)

    def tube_supports(
        self,
        part: Any,
        share: Callable[[float], float] | None = None,
        level: Literal["gap", "velocity"] = "gap",
    ) -> TubeSupports:
        """Supports of the tube `part` (the solid or its reduced model).

        share: fraction of `grid_displacement` at time t: −1 with initial gap, 0 touching, 1 preloaded; None: grid
        at rest with open gap. level: of the unilateral contact of the substrates ("velocity" in dynamics).
        """
        parts, springs, interfaces = [], [], []
        laws: list[Any] = [self.supports.asperities, aq.Unilateral(level=level)]
        for support in self.pad_supports:
            pad = self._pad(support)
            node = self._node(support, share)
            back, end = pad.boundary("back"), node.boundary("all")
            stiffness = support.along(support.stiffness, support.shear)
            dashpot = support.along(support.damping, self.supports.shear_damping * support.damping)
            parts += [pad, node]
            springs.append(aq.Spring(support.name, back, end, stiffness=stiffness, damping=dashpot))
            interfaces.append(
                aq.Interface(
                    support.name, part.boundary(support.name), pad.boundary("front"), laws,
                    friction=self.supports.friction, multiplier="nodes", sliding="small", wear=self.supports.wear,
                )
            )  # fmt: skip
        return TubeSupports(parts, springs, interfaces)

    def _pad(self, support: PadSupport) -> aq.Solid:
        s, c = self.supports, self.cladding
        width = s.size[0]
        across = refined_line((-0.5 * width, 0.5 * width), [(-self.zone, self.zone)], self._size, width / 8)
        mesh = pad_mesh(s.size, (2 * math.ceil(0.5 * _ALONG * self.refine), 2), across, s.hollow, c.order)
        return aq.Solid(support.name, placed(mesh, self._start, support.angle, c.middle + support.height), s.material)

    def _node(self, support: PadSupport, share: Callable[[float], float] | None) -> aq.PointMasses:
        s, c = self.supports, self.cladding
        normal = np.array(support.normal)
        position = (self._start + s.size[2]) * normal + np.array([0.0, 0.0, c.middle + support.height])
        motion: dict[str, Any] = {"x": 0.0, "y": 0.0, "z": 0.0}
        if share is not None:
            axis = support.quarter % 2
            motion["xy"[axis]] = lambda t: -float(normal[axis]) * self.grid_displacement(support, share(t))
        return aq.PointMasses(f"grid_{support.name}", tuple(position), 1.0, imposed={"all": motion})
