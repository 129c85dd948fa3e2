"""Protocols of parts and of their assembled form, as required by junctions, contact and time schemes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeGuard, runtime_checkable

import numpy as np
from scipy.sparse import csr_array

from arlequin.models.errors import UserError
from arlequin.models.types import Array, Indices

FacetWeight = Callable[[Array, Indices], Array]


@dataclass(frozen=True, eq=False)
class LoadPieces:
    """Quadrature of the reduction of a load by an overlap, on pieces of cells or facets where γ is not smooth.

    cells (p,): the cell of each piece; X (axis, p, q): reference coordinates of the points (axis, p, q), m; weights (p,
    q): (γ − 1) times the quadrature weight, with thickness, section or 2πr: m³ in cells, m² on facets.
    """

    cells: Indices
    X: Array
    points: Array
    weights: Array

    @classmethod
    def none(cls, axes: int) -> "LoadPieces":
        """No pieces."""
        return cls(np.zeros(0, dtype=np.int64), np.zeros((axes, 0, 1)), np.zeros((axes, 0, 1)), np.zeros((0, 1)))


class SharedLoad(Protocol):
    """Reduction of a part's loads where overlap zones cut its cells."""

    def in_cells(self) -> LoadPieces:
        """Pieces for the body force."""
        ...

    def on_facets(self, facets: Indices) -> LoadPieces:
        """Pieces for tractions on boundary facets (f,)."""
        ...


@dataclass(frozen=True, eq=False)
class Weighting:
    """Weights of a part's energies at its quadrature points: arrays (c, q), 1 outside an overlap.

    The energies ½ ∫ α σ:ε dΩ and ½ ∫ β ρ v² dΩ and the work ∫ γ f·u dΩ (α stiffness, β mass, γ load).
    facets: factors of γ on the boundary; an array (c, q) is extrapolated from the cells, a function gives (f, q) at
    points (axis, f, q) on facets of the cells (f,). By default that of `load`. shared: corrections of the loads of the
    cells in which γ is not smooth, where `load` and `facets` are 1.
    Source: Ben Dhia & Rateau, IJNME 62, 2005.
    """

    stiffness: Array
    mass: Array
    load: Array
    facets: tuple["Array | FacetWeight", ...] = ()
    shared: tuple[SharedLoad, ...] = ()

    def __post_init__(self) -> None:
        shape = np.shape(self.stiffness)
        for kind in ("stiffness", "mass", "load"):
            values = np.ascontiguousarray(getattr(self, kind), dtype=float)
            if values.ndim != 2 or values.shape != shape:
                raise UserError(f"weighting: {kind} has shape {values.shape}, expected (cells, points) {shape}")
            if not np.isfinite(values).all():
                raise UserError(f"weighting: {kind} has values that are not finite")
            object.__setattr__(self, kind, values)
        object.__setattr__(self, "facets", self.facets or (self.load,))

    def __mul__(self, other: "Weighting") -> "Weighting":
        """The weights of a part in two junctions whose zones have no cell in common."""
        products = self.stiffness * other.stiffness, self.mass * other.mass, self.load * other.load
        return Weighting(*products, facets=self.facets + other.facets, shared=self.shared + other.shared)

    @classmethod
    def uniform(cls, cells: int, points: int) -> "Weighting":
        """Weight 1 at every quadrature point: a part that overlaps no other."""
        ones = np.ones((cells, points))
        return cls(stiffness=ones, mass=ones, load=ones)


@dataclass(frozen=True, eq=False, repr=False)
class Surface:
    """A named boundary of a part: nodes (k,), areas, normals and facets.

    nodes (k,), areas (k,) ∫ φ_k dΓ in m² (they sum to the area: thickness in plane problems, 2πr in
    axisymmetric ones, the section of a bar), normals (k, axis) outward and of unit length, facets (f, nodes
    of a facet): corners first, counter-clockwise seen from outside (2D: the part on the left), then the nodes
    on the edges, each in that sense, then the inner ones, along the first edge first.
    """

    part: "Part"
    name: str
    nodes: Indices
    areas: Array
    normals: Array
    facets: Indices

    def __repr__(self) -> str:
        count = len(self.nodes)
        return f"<boundary {self.name!r} of part {self.part.name!r}, {count} node{'s' * (count != 1)}>"

    @property
    def positions(self) -> Array:
        """Initial positions of the nodes (k, axis), m."""
        return self.part.positions[self.nodes]

    @property
    def dofs(self) -> Indices:
        """Dof numbers (k, component) in the part."""
        components = self.part.components
        return self.nodes[:, None] * components + np.arange(components)

    @property
    def motion(self) -> csr_array:
        """Operator (k·axis, nodal) from the part's nodal displacements to those of the surface's points."""
        dofs = self.dofs[:, : self.positions.shape[1]].ravel()
        return csr_array((np.ones(dofs.size), (np.arange(dofs.size), dofs)), shape=(dofs.size, self.part.dof_count))

    @property
    def meshed(self) -> "MeshedPart":
        """The part; UserError where it has no mesh."""
        if not isinstance(self.part, MeshedPart):
            raise UserError(f"'{self.name}' of '{self.part.name}': a part without a mesh has no facets here")
        return self.part


@dataclass(frozen=True, eq=False)
class Imposed:
    """Dofs of a part with a given motion: `function(t)` → (m,) displacements (m) or velocities (m/s), uniform on them.

    rest: whether the motion is known to be zero; support: boundary and number of the component.
    """

    dofs: Indices
    kind: Literal["displacement", "velocity"]
    function: Callable[[float], Array]
    label: str = ""
    rest: bool = False
    support: tuple[str, int] | None = None


class Assembled(Protocol):
    """Matrices and forces of a part under given weights, in its coordinates d.

    Nodal displacements are node-major, node·components + component; they are the coordinates of most parts
    (`NodalCoordinates`), and linear in those of a reduced one: `shapes`.
    """

    @property
    def mass(self) -> csr_array:
        """M (d, d), kg; diagonal where lumped."""
        ...

    @property
    def stiffness(self) -> csr_array:
        """K (d, d), N/m."""
        ...

    @property
    def damping(self) -> csr_array | None:
        """D (d, d), N·s/m; None where absent."""
        ...

    @property
    def imposed(self) -> tuple[Imposed, ...]:
        """Imposed motions, on disjoint dofs."""
        ...

    def internal(self, u: Array) -> tuple[Array, float]:
        """Internal force (d,) in N and stored energy in J at the displacement u (d,), from strains."""
        ...

    def load(self, t: float) -> Array:
        """External force (d,) at the time t, N."""
        ...

    def loads_at(self, times: Array) -> Array:
        """External forces (t, d) at the times (t,), N."""
        ...

    @property
    def steady(self) -> bool:
        """Whether the external force is the same at all times."""
        ...

    def strain_form(self) -> tuple[csr_array, Array] | None:
        """Strains B (s, d) and stiffnesses w (s,) with K = Bᵀ diag(w) B; None where the part has no such form."""
        ...

    def highest_frequency(self) -> float:
        """Upper bound of the largest angular frequency, rad/s."""
        ...

    @property
    def shapes(self) -> csr_array | Array:
        """S (nodal, d): nodal displacements S u of the coordinates u; full where all coordinates move all nodes."""
        ...

    @property
    def rotating(self) -> bool:
        """Whether nodes rotate with the part: `shapes` is then S at the start, `rates` that of a configuration."""
        ...

    def nodal_motion(self, u: Array, v: Array) -> tuple[Array, Array]:
        """Nodal displacements and velocities (f, nodal) for coordinates and their rates (f, d)."""
        ...

    def rates(self, u: Array) -> Any:
        """S (nodal, d) at the coordinates u (d,)."""
        ...

    @property
    def inertia(self) -> csr_array:
        """Mass matrix (nodal, nodal) of the nodal displacements, kg."""
        ...

    @property
    def gravitational_mass(self) -> csr_array:
        """Mass matrix (nodal, nodal) on which gravity acts, kg, without the added mass of a fluid."""
        ...

    def uniform_inertia(self, along: Array) -> Array:
        """SᵀM a (d, k), N: inertia forces of uniform accelerations a (nodal, k) of all nodes, m/s²."""
        ...

    def uniform_weight(self, along: Array) -> Array:
        """The same of the mass on which gravity acts: the forces (d, k), N, of gravity a (nodal, k), m/s²."""
        ...

    def uniform_mass(self, along: Array) -> float:
        """aᵀM a, kg, of one unit translation a (nodal,) of all nodes."""
        ...

    def coordinates(self, field: Array, imposed: Array) -> Array:
        """Coordinates (d,) of a nodal field (nodal,), by M-orthogonal projection on the shapes.

        imposed (p,): values of the imposed coordinates; nan: the value of the field.
        """
        ...


class Part(Protocol):
    """A body: nodes, boundaries and assembled matrices."""

    @property
    def name(self) -> str: ...

    @property
    def components(self) -> int: ...

    @property
    def node_count(self) -> int: ...

    @property
    def dof_count(self) -> int:
        """Number of nodal displacements: nodes × components."""
        ...

    @property
    def positions(self) -> Array:
        """Initial positions of the nodes (n, axis), m."""
        ...

    @property
    def connectivity(self) -> Indices:
        """Nodes at the corners of the cells (c, corner), for drawings."""
        ...

    def boundary(self, name: str) -> Surface: ...

    def assemble(self, weighting: Weighting | None = None, massless: Indices | None = None) -> Assembled: ...


@runtime_checkable
class MeshedPart(Part, Protocol):
    """A deformable part: a scikit-fem mesh with fields on it."""

    @property
    def model(self) -> "MeshedPart":
        """The finite-element part: the part itself, or the one that it wraps."""
        ...

    @property
    def mesh(self) -> Any:
        """The scikit-fem mesh."""
        ...

    @property
    def basis(self) -> Any:
        """The scalar scikit-fem `CellBasis`; its dof n is node n."""
        ...

    @property
    def wave_speed(self) -> float:
        """Speed of the fastest elastic wave, m/s."""
        ...

    def quadrature_points(self) -> Array:
        """Positions of the quadrature points (axis, c, q), m."""
        ...

    def stress(self, u: Array) -> Array:
        """Stress (c, q, component) in Pa at the displacement u (d,)."""
        ...


@runtime_checkable
class Nonlinear(Assembled, Protocol):
    """A part with a nonlinear internal force; `stiffness` is the tangent at u = 0, with the pattern of all tangents.

    `damping` is the damping that is linear in the velocity, `mean_viscous` the nonlinear one.
    """

    def tangent(self, u: Array) -> csr_array:
        """∂f/∂u (d, d) of `internal` at u, N/m; symmetric."""
        ...

    def least_volume(self, u: Array) -> tuple[float, int]:
        """The smallest ratio of volumes dv/dV at u (d,), ≤ 0 where a cell is inverted, and its cell (−1: no cells)."""
        ...

    @property
    def viscous(self) -> bool:
        """Whether `mean_viscous` is not zero."""
        ...

    def mean_internal(self, u0: Array, u1: Array, theta: float = 0.5) -> Array:
        """Mean force (d,) of a step, N, with f·(u₁ − u₀) the change of the stored energy; more for θ > ½.

        For small strains and rotations it is (1 − θ) f(u₀) + θ f(u₁).
        """
        ...

    def mean_viscous(self, u0: Array, u1: Array, step: float) -> Array:
        """Mean viscous force (d,) of a step (s), N; it dissipates f·(u₁ − u₀) ≥ 0."""
        ...

    def mean_tangent(
        self, u0: Array, u1: Array, step: float | None = None, symmetric: bool = False, theta: float = 0.5
    ) -> csr_array:
        """∂/∂u₁ (d, d) of `mean_internal`, with a step of it and `mean_viscous`; symmetric: an approximation."""
        ...


@runtime_checkable
class Constrained(Nonlinear, Protocol):
    """A part of point masses under quadratic constraints c(u) = 0 on their displacements, c(0) = 0."""

    @property
    def points(self) -> Array:
        """Initial positions (k, axis) of the masses, m."""
        ...

    def strains(self, u: Array) -> Array:
        """c(u) (r,), m."""
        ...

    def strain_gradient(self, u: Array) -> Array:
        """∂c/∂u (r, d) at u."""
        ...

    def placed(self, u: Array) -> Array:
        """The projection (d,) of u on c = 0."""
        ...


@runtime_checkable
class FullMass(Protocol):
    """A part whose mass matrix is not diagonal; central differences factor it."""

    @property
    def least_mass(self) -> Array:
        """A diagonal (d,), kg, not above the mass matrix: M − diag(least_mass) has no eigenvalue below 0."""
        ...


@dataclass(frozen=True, eq=False)
class RecoveredField:
    """A field inside a reduced part, matrix (r, d) times its coordinates, at points (p, axis), m, r = p·k.

    Without positions the rows are values without a place, p = r. components: labels of the k values of a point; empty
    where there is one.
    """

    name: str
    matrix: Any
    positions: Array | None
    components: tuple[str, ...]
    units: str


@runtime_checkable
class Recovering(Protocol):
    """An assembled part that gives fields at places that are not its nodes."""

    @property
    def recovered(self) -> tuple[RecoveredField, ...]:
        """The fields."""
        ...

    @property
    def generalised(self) -> Indices:
        """Coordinates (g,) that are no displacements of nodes."""
        ...


@runtime_checkable
class Deforming(Protocol):
    """A part whose largest frequency changes with the deformation."""

    def frequency(self, u: Array) -> float:
        """Bound of the largest angular frequency at u (d,), rad/s."""
        ...


@dataclass(frozen=True)
class Response:
    """Response of a part at the end of a step.

    force (d,), N; stored energy and energy dissipated in the step, J; memory (c, q, m): internal variables; inverted: a
    cell with det F ≤ 0, where the other values are invalid (−1: none).
    """

    force: Array
    stored: float
    dissipated: float
    memory: Array
    inverted: int = -1


@runtime_checkable
class PathDependent(Assembled, Protocol):
    """A part of a material with internal variables, the memory (c, q, m), updated by accepted steps only."""

    def fresh(self) -> Array:
        """The initial memory (c, q, m)."""
        ...

    def respond(self, u: Array, memory: Array, step: float) -> Response:
        """The response at u (d,), reached in a step (s) from the memory at its start."""
        ...

    def tangent(self, u: Array, memory: Array, step: float) -> csr_array:
        """∂f/∂u (d, d) of `respond`, N/m, where no cell is inverted; symmetric unless flow softens by heat."""
        ...

    def elastic_tangent(self, u: Array, memory: Array) -> csr_array:
        """∂f/∂u (d, d) at constant internal variables, N/m, of small oscillations about u (d,)."""
        ...

    def mean_internal(self, u0: Array, u1: Array, memory: Array, step: float, theta: float = 0.5) -> tuple[Array, int]:
        """Mean force (d,) of a step (s) from u₀ with this memory to u₁, N, and a cell inverted at u₁ (−1: none).

        Where a cell is inverted the force is invalid.
        """
        ...

    def mean_tangent(self, u0: Array, u1: Array, memory: Array, step: float, theta: float = 0.5) -> csr_array:
        """∂/∂u₁ (d, d) of `mean_internal` and `mean_viscous`: a symmetric approximation, N/m; UserError where a cell is
        inverted."""
        ...

    @property
    def viscous(self) -> bool:
        """Whether `mean_viscous` is not zero."""
        ...

    def mean_viscous(self, u0: Array, u1: Array, step: float) -> Array:
        """Mean viscous force (d,) of a step (s), N; it dissipates f·(u₁ − u₀) ≥ 0."""
        ...

    @property
    def dissipates(self) -> bool:
        """Whether the material dissipates energy."""
        ...

    @property
    def memory_names(self) -> tuple[str, ...]:
        """Names of the internal variables of a point, the last axis of the memory."""
        ...

    @property
    def recorded(self) -> tuple[tuple[str, str, str], ...]:
        """Name, units and long name of the cell means of a result."""
        ...

    def cell_means(self, u: Array, memory: Array) -> tuple[Array, ...]:
        """The values of `recorded`, each (c,): means over the cells at u (d,) and its memory."""
        ...

    def mean_stress(self, u: Array, memory: Array) -> Array:
        """Cauchy stress (c, 6) in Pa, xx, yy, zz, yz, xz, xy: means over the cells at u (d,) and its memory."""
        ...

    def everywhere(self, values: Array) -> Array:
        """Values (c, …) of the cells with weight on all cells of the part: 0 in the others."""
        ...


def is_viscous(part: Assembled) -> TypeGuard[Nonlinear | PathDependent]:
    """Whether some of the damping of a part is not linear in the velocity."""
    return isinstance(part, Nonlinear | PathDependent) and part.viscous
