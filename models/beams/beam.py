"""Straight beams with and without shear: in the plane (u, v, θ) and in space (three displacements, three rotations)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import skfem

from arlequin.models import checks
from arlequin.models.beams.assembled import BeamAssembled, assemble_beam
from arlequin.models.beams.element import BeamElements, across, relative
from arlequin.models.beams.loads import make_beam_loads
from arlequin.models.beams.section import Section, SectionPoints, check_points
from arlequin.models.errors import UserError, UserTypeError
from arlequin.models.fem.cells import check_cells
from arlequin.models.fem.stress import displacements
from arlequin.models.fem.surface import line
from arlequin.models.loads.body import LoadValue
from arlequin.models.loads.motions import Motions, make_imposed
from arlequin.models.loads.turbulence import Turbulence, local_axes
from arlequin.models.materials.elastic import LinearElastic, Rayleigh
from arlequin.models.mesh import interval
from arlequin.models.nodal import ExternalLoads
from arlequin.models.part import Imposed, Surface, Weighting
from arlequin.models.signatures import checked_call, meant
from arlequin.models.types import Array, Indices

Force = tuple[float, ...] | Callable[[float], Any]

KINDS = ("consistent", "lumped")
ENDS = ("left", "right")
_ORDER = 7  # the weighted mass: cubic × cubic × linear weight
_PLANE = (("x",), ("y",), ("rz",))
_SPACE = (("x",), ("y",), ("z",), ("rx",), ("ry",), ("rz",))


@checked_call
@dataclass(frozen=True, eq=False, repr=False)
class Beam:
    """A straight elastic beam, Timoshenko's by default; nodal statics are exact for any number of elements.

    mesh: `mesh.interval(a, b, cells=n)` of the arc length s; the axis is origin + s·direction, by default the
    x axis; `Beam.between` takes two points. dimension: 2 (components x, y, rz) or 3 (x, y, z, rx, ry, rz),
    rotations in rad about the global axes. up: direction of the section's y axis, in space (its component along
    the beam is ignored; by default z × x of the beam, which is horizontal, or the global y axis for a beam along z).

    distributed: N/m, a vector over the axes or f(x, t) of the points (axis, p). turbulence: a random force across it
    (in the plane only the first direction), the same for all beams that are pieces of one axis. end_loads: boundary →
    forces (N), optionally followed by moments (N·m), or a function of t that gives them. imposed, imposed_velocity:
    boundary → component → number or function of t (m, rad; m/s, rad/s). mass: consistent or lumped.

    shear=False neglects the shear deformation, rotary_inertia=False the inertia of the sections' rotation in bending:
    with both it is the Euler–Bernoulli beam, with cubic deflections. Its shear forces then are V = −M′.

    tension N0: axial force in N that the beam carries at rest, uniform, less than 0 for compression. Its
    size and direction are constant. It adds ½ ∫ N0 (v′² + w′²) ds to the elastic energy, which stiffens deflections; a
    beam compressed beyond its buckling load has no natural frequencies. Torsion is not affected.

    Per unit length, in addition to ρA of the section: carried_mass, kg/m, without stiffness or rotary inertia (pellets
    in a tube); added_mass, kg/m, of the surrounding fluid, which acts across the beam only and has no weight under
    `System(…, gravity=)`; fluid_damping c, N·s/m², resists velocities across the beam, −c v̇.

    >>> import arlequin as aq
    >>> steel = aq.LinearElastic(young=2e11, poisson=0.3, density=7800)  # Pa, -, kg/m³
    >>> section = aq.Section.rectangle(height=0.02, width=0.01, poisson=0.3)  # m
    >>> clamped, load = {"left": {"x": 0.0, "y": 0.0, "rz": 0.0}}, {"right": lambda t: (0.0, -100.0 * t)}  # N
    >>> beam = aq.Beam.between("beam", (0.0, 0.0), (0.5, 0.0), 2, steel, section, imposed=clamped, end_loads=load)
    >>> result = aq.simulate(aq.System([beam]), aq.Static(), duration=1.0, step=1.0)
    >>> exact = 0.5**3 / (3 * 2e11 * section.inertia_z) + 0.5 / (section.shear_y * steel.shear * section.area)
    >>> round(float(result["part/beam"]["displacement"][-1, -1, 1]) / (-100.0 * exact), 9)  # F (L³/3EI + L/κGA)
    1.0

    Source: Timoshenko, Philosophical Magazine 41, 1921; Friedman & Kosmatka, Computers & Structures 47, 1993;
    tension: Bažant & Cedolin, Stability of Structures, 1991, §1.7 (Engesser's theory).
    """

    name: str
    mesh: Any
    material: LinearElastic
    section: Section
    dimension: int = field(default=3, kw_only=True)
    origin: tuple[float, ...] | None = field(default=None, kw_only=True)
    direction: tuple[float, ...] | None = field(default=None, kw_only=True)
    up: tuple[float, ...] | None = field(default=None, kw_only=True)
    mass: str = field(default="consistent", kw_only=True)
    shear: bool = field(default=True, kw_only=True)
    rotary_inertia: bool = field(default=True, kw_only=True)
    damping: Rayleigh | None = field(default=None, kw_only=True)
    tension: float = field(default=0.0, kw_only=True)
    carried_mass: float = field(default=0.0, kw_only=True)
    added_mass: float = field(default=0.0, kw_only=True)
    fluid_damping: float = field(default=0.0, kw_only=True)
    turbulence: Turbulence | None = field(default=None, kw_only=True)
    distributed: LoadValue | None = field(default=None, kw_only=True)
    end_loads: Mapping[str, Force] = field(default_factory=dict, kw_only=True)
    points: Mapping[str, SectionPoints] = field(default_factory=dict, kw_only=True)
    imposed: Motions = field(default_factory=dict, kw_only=True)
    imposed_velocity: Motions = field(default_factory=dict, kw_only=True)

    def __post_init__(self) -> None:
        checks.valid_name(self.name)
        if not isinstance(self.mesh, skfem.MeshLine1):
            raise UserError(f"{self.name}: a beam needs a mesh of lines (mesh.interval)")
        checks.instance("material", self.material, LinearElastic, "must be a LinearElastic")
        checks.instance("section", self.section, Section, "must be a Section, as Section.circle(radius)")
        checks.instance("damping", self.damping, Rayleigh | None, "must be a Rayleigh or None")
        checks.one_of("dimension", self.dimension, (2, 3))
        checks.one_of("mass", self.mass, KINDS)
        for name in ("shear", "rotary_inertia"):
            checks.flag(name, getattr(self, name))
        checks.finite("tension", self.tension)
        for name in ("carried_mass", "added_mass", "fluid_damping"):
            checks.non_negative(name, getattr(self, name))
        if self.turbulence is not None and not isinstance(self.turbulence, Turbulence):
            raise UserTypeError.parameter("turbulence", self.turbulence, "must be a Turbulence or None")
        check_cells(self.mesh, self.name)
        # cached: errors in the frame, loads and motions are raised by the constructor
        _ = self.frame, self.xi, self._loads_uniform, self.motions
        check_points(self, (*ENDS, "axis"))

    def __repr__(self) -> str:
        return f"Beam({self.name!r}, {self.mesh.nelements} cells, {self.node_count} nodes)"

    @classmethod
    @checked_call
    def between(
        cls,
        name: str,
        first: tuple[float, ...],
        last: tuple[float, ...],
        cells: int,
        material: LinearElastic,
        section: Section,
        **options: Any,
    ) -> "Beam":
        """A beam between two points of the plane or of space, cut in equal cells; options: the other fields."""
        a = checks.finite_array("first", first)
        b = checks.finite_array("last", last, a.shape)
        if a.shape not in ((2,), (3,)) or not np.linalg.norm(b - a) > 0:
            raise UserError.parameter("last", last, "must differ from the first point, both in 2 or 3 dimensions")
        mesh = interval(0.0, float(np.linalg.norm(b - a)), cells=cells)
        origin, direction = tuple(a.tolist()), tuple((b - a).tolist())
        size = int(a.size)
        return cls(name, mesh, material, section, dimension=size, origin=origin, direction=direction, **options)

    @property
    def model(self) -> "Beam":
        """The beam itself."""
        return self

    @property
    def components(self) -> int:
        """3 in the plane, 6 in space."""
        return len(self.axes)

    @property
    def axes(self) -> tuple[tuple[str, ...], ...]:
        """Names of the components: displacements, then rotations."""
        return _PLANE if self.dimension == 2 else _SPACE

    @cached_property
    def basis(self) -> Any:
        """Scalar linear basis on the arc length; its dofs are the nodes, its quadrature that of the weights."""
        return skfem.CellBasis(self.mesh, skfem.ElementLineP1(), intorder=_ORDER)

    @property
    def node_count(self) -> int:
        """Number of nodes."""
        return int(self.basis.N)

    @property
    def dof_count(self) -> int:
        """Number of dofs: nodes × components."""
        return self.node_count * self.components

    @cached_property
    def positions(self) -> Array:
        """Initial positions (n, axis), m."""
        return np.ascontiguousarray(self.place(self.basis.doflocs[0]).T)

    @property
    def wave_speed(self) -> float:
        """√(E/ρ), m/s."""
        return float((self.material.young / self.material.density) ** 0.5)

    def boundary(self, name: str) -> Surface:
        """The end "left" (least arc length) or "right", with its area and outward tangent; `points` of that name; or
        "axis": all nodes in order of the arc length, as points."""
        if name == "axis":
            return line(self, name, self.basis.doflocs[0])
        if name in self.points:
            return self.points[name].surface(self, name)
        node = self.end(name)
        sign = -1.0 if node[0] == self.end("left")[0] else 1.0
        tangent = sign * self.frame[:1, : self.dimension]
        return Surface(self, name, node, np.array([self.section.area]), tangent, node[:, None])

    @property
    def connectivity(self) -> Indices:
        """Nodes at the ends of the cells (c, 2)."""
        return np.ascontiguousarray(self.mesh.t.T.astype(np.int64))

    def quadrature_points(self) -> Array:
        """Positions of the quadrature points (axis, c, q), m."""
        return self.place(np.asarray(self.basis.global_coordinates())[0])

    def assemble(self, weighting: Weighting | None = None, massless: Indices | None = None) -> BeamAssembled:
        """Matrices, forces and motions under the weights (1 by default); all nodes have mass."""
        shape = self.basis.dx.shape
        if weighting is None:
            weighting = Weighting.uniform(*shape)
        elif weighting.stiffness.shape != shape:
            raise UserError(f"{self.name}: weighting of shape {weighting.stiffness.shape}, not {shape}")
        return assemble_beam(self, weighting)

    def resultants(self, u: Array) -> Array:
        """Section forces (c, q, component) in local axes: N, V, M, or N, V_y, V_z, M_x, M_y, M_z (N, N·m)."""
        return self._section_forces(u, self.xi)

    def end_resultants(self, u: Array) -> Array:
        """Section forces (c, end, component) at the two ends of each cell, in local axes; see `resultants`.

        Computed from the nodal displacements: exact in statics under loads at nodes. Under a load q (N/m) distributed
        along cells of length L they lack the reactions of the clamped cell, qL/2 of V and qL²/12 of M.
        """
        return self._section_forces(u, np.array([0.0, 1.0]))

    def _section_forces(self, u: Array, xi: Array) -> Array:
        """Section forces (c, q, component) at ξ (q,) of each cell, in local axes; V = −EI v‴, with shear κGAγ."""
        local = displacements(u, self.dof_count).reshape(-1, self.components)[self.nodes]
        local = relative(local, self.dimension).reshape(len(local), -1)
        forces = self.rigidities * np.einsum("cqsd,cd->cqs", self.elements.strains(xi), local)
        bending = self.rigidities[[2] if self.dimension == 2 else [5, 4]]
        third = np.einsum("cpd,cd->cp", self.elements.third_derivatives(), local)
        forces[..., 1 : self.dimension] = -bending * third[:, None]
        return np.asarray(forces)

    @property
    def stress_components(self) -> tuple[str, ...]:
        """Names of the last axis of `stress`, in local axes."""
        return ("xx", "xy", "xz")[: self.dimension]

    def stress(self, u: Array) -> Array:
        """Mean stress over the section (c, q, component) in Pa: N/A and V/A (see `resultants` for moments)."""
        return self.resultants(u)[..., : self.dimension] / self.section.area

    def place(self, s: Array) -> Array:
        """Points (axis, …) of the axis at the arc lengths s (…), m."""
        origin = np.zeros(self.dimension) if self.origin is None else np.asarray(self.origin, dtype=float)
        return origin.reshape(-1, *(1,) * np.ndim(s)) + np.multiply.outer(self.frame[0, : self.dimension], s)

    def arc_length(self, points: Array) -> Array:
        """Arc length (…) of the projections of points (axis, …) on the axis, m."""
        return np.tensordot(self.frame[0, : self.dimension], points - self.place(np.zeros(points.shape[1:])), 1)

    @cached_property
    def frame(self) -> Array:
        """Local axes as rows (3, 3): along the beam, then y and z of the section (z out of the plane in 2D)."""
        return local_axes(self.dimension, self.origin, self.direction, self.up)

    @cached_property
    def nodes(self) -> Indices:
        """Nodes (c, 2) of the cells, in the sense of increasing arc length."""
        nodes = self.basis.element_dofs.T.astype(np.int64)
        ordered = np.argsort(self.basis.doflocs[0][nodes], axis=1)
        return np.take_along_axis(nodes, ordered, axis=1)

    @cached_property
    def xi(self) -> Array:
        """Quadrature points (q,) on [0, 1], the same in every cell."""
        s = np.asarray(self.basis.global_coordinates())[0]
        ends = self.basis.doflocs[0][self.nodes]
        xi = (s - ends[:, :1]) / np.diff(ends, axis=1)
        if np.ptp(xi, axis=0).max() > 1e-9:
            raise UserError(f"{self.name}: the cells of the mesh must all run in one sense (mesh.interval)")
        return xi.mean(axis=0)

    @cached_property
    def elements(self) -> BeamElements:
        """The beam elements of the cells."""
        lengths = np.diff(self.basis.doflocs[0][self.nodes], axis=1)[:, 0]
        section, ratio = self.section, 12 * self.material.young / self.material.shear
        planes = [(section.inertia_z, section.shear_y), (section.inertia_y, section.shear_z)][: self.dimension - 1]
        phi = np.stack([ratio * inertia / (shear * section.area * lengths**2) for inertia, shear in planes])
        phi *= self.shear
        rotation = np.asarray(np.kron(np.eye(self.dimension - 1), self.frame), dtype=float)
        return BeamElements(lengths, phi, rotation)

    @property
    def rigidities(self) -> Array:
        """EA, κGA, EI in the plane; EA, κ_yGA, κ_zGA, GJ, EI_y, EI_z in space (N, N·m²)."""
        e, g, s = self.material.young, self.material.shear, self.section
        if self.dimension == 2:
            return np.array([e * s.area, s.shear_y * g * s.area, e * s.inertia_z])
        shears = [s.shear_y * g * s.area, s.shear_z * g * s.area]
        return np.array([e * s.area, *shears, g * s.torsion, e * s.inertia_y, e * s.inertia_z])

    @property
    def inertias(self) -> Array:
        """Mass and rotary inertia per unit length in local axes: along, across, then about x, y, z (z in the plane)."""
        rho, s = self.material.density, self.section
        bending = [s.inertia_z] if self.dimension == 2 else [s.inertia_y, s.inertia_z]
        rotary = [s.polar] * (self.dimension - 2) + [inertia * self.rotary_inertia for inertia in bending]
        densities = [rho * s.area + self.carried_mass] * self.dimension + [rho * i for i in rotary]
        return np.array(densities) + across(self, self.added_mass)

    def loads(self, weight: Array) -> ExternalLoads:
        """Distributed and end loads under the load weight (c, q)."""
        if np.ptp(weight) == 0 and weight.flat[0] == 1:
            return self._loads_uniform
        return make_beam_loads(self, weight)

    @cached_property
    def motions(self) -> tuple[Imposed, ...]:
        """Imposed motions on disjoint dofs."""
        motions = {"displacement": self.imposed, "velocity": self.imposed_velocity}
        return make_imposed(self.name, motions, self.end, self.axes)  # type: ignore[arg-type]

    @cached_property
    def _loads_uniform(self) -> ExternalLoads:
        return make_beam_loads(self, np.ones(self.basis.dx.shape))

    def end(self, name: str) -> Indices:
        """The node (1,) at an end."""
        if name not in ENDS:
            points = f", {', '.join(self.points)}" if self.points else ""
            near = meant(name, (*ENDS, *self.points))
            raise UserError(f"{self.name}: no boundary is named {name!r}{near} (boundaries: {', '.join(ENDS)}{points})")
        s = self.basis.doflocs[0]
        return np.array([np.argmin(s) if name == "left" else np.argmax(s)], dtype=np.int64)
