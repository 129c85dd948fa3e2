"""Linear elastic parts on scikit-fem meshes: the base class of `Solid` and `Bar`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from arlequin.models import checks
from arlequin.models.errors import ModelWarning, UserError, UserTypeError, warn_user
from arlequin.models.fem.cells import CellArrays, cell_arrays, check_cells
from arlequin.models.fem.conformity import check_conforming
from arlequin.models.fem.elastic import ElasticAssembled, assemble_elastic
from arlequin.models.fem.elements import LINEAR, FiniteElement, element_of
from arlequin.models.fem.mass import CORRECTED, KINDS
from arlequin.models.fem.short_waves import ShortWaveDamping
from arlequin.models.fem.spectral import Lobatto
from arlequin.models.fem.surface import facet_indices, facet_measure, make_surface
from arlequin.models.loads.body import LoadRegion, LoadValue, make_loads, weight_at_facets
from arlequin.models.loads.motions import Motions, make_imposed
from arlequin.models.loads.turbulence import SpanForce
from arlequin.models.materials.elastic import LinearElastic, Material, Rayleigh
from arlequin.models.nodal import ExternalLoads, Force
from arlequin.models.part import Assembled, Imposed, LoadPieces, Surface, Weighting
from arlequin.models.types import Array, Indices

# a solid or liquid in SI units, and a size that is more probably one of millimetres, m
_HEAVY, _LONG = 100.0, 1000.0


@dataclass(frozen=True, eq=False, repr=False)
class Continuum:
    """A continuum part on a scikit-fem mesh: material, element, mass, damping, loads and imposed motions.

    order: 1 or 2, on lines, quadrilaterals and hexahedra up to 6 (spectral elements), by default that of the mesh's
    geometry; element: the finite element (and with it the order), by default the registered one
    (`arlequin.models.fem.elements`); mass: "consistent", "lumped", "redistributed" (no mass at the nodes named massless
    at assembly) or "dispersion" (elastic waves to fourth order, for the cells, the scheme and the step of the
    run: `arlequin.models.fem.dispersion`; linear elasticity on linear elements); damping: `Rayleigh`, or
    `ShortWaveDamping` of the last octave of the mesh; body_force (N/m³) and tractions (boundary → Pa): a vector, or a
    function f(x, t) of the points x (axis, p) in m and the time in s that returns the components, or for the body
    force of a solid a `SpanForce`; imposed displacements (m) and imposed_velocity (m/s): boundary → component →
    number or function of t. Raises UserError where the mesh, material or a boundary does not suit.
    """

    name: str
    mesh: Any
    material: Material
    order: int | None = field(default=None, kw_only=True)
    element: FiniteElement | None = field(default=None, kw_only=True)
    mass: str = field(default="consistent", kw_only=True)
    damping: Rayleigh | ShortWaveDamping | None = field(default=None, kw_only=True)
    body_force: LoadValue | SpanForce | None = field(default=None, kw_only=True)
    tractions: Mapping[str, LoadValue] = field(default_factory=dict, kw_only=True)
    imposed: Motions = field(default_factory=dict, kw_only=True)
    imposed_velocity: Motions = field(default_factory=dict, kw_only=True)

    def __post_init__(self) -> None:
        checks.valid_name(self.name)
        default = element_of(self.mesh, self.order if self.element is None else None)
        *first, last = (law.__name__ for law in self.laws)
        names = f"{', '.join(first)} or {last}" if first else last
        checks.instance("material", self.material, self.laws, f"must be a {names}")
        kinds = "must be a Rayleigh, a ShortWaveDamping or None"
        checks.instance("damping", self.damping, Rayleigh | ShortWaveDamping | None, kinds)
        element = default if self.element is None else self.element
        if not isinstance(element, FiniteElement):
            raise UserTypeError.parameter("element", self.element, "must be a FiniteElement or None")
        element.check_mesh(self.mesh)
        if self.order not in (None, element.order):
            raise UserError.parameter("order", self.order, f"must be {element.order}, that of the element, or left out")
        object.__setattr__(self, "order", element.order)
        checks.one_of("mass", self.mass, KINDS)
        self._check_geometry()
        if self.mass == CORRECTED and not (element.scalar in LINEAR and self.mesh.elem is element.scalar):
            rule = "is for linear elements with straight edges: take order=1 or another mass"
            raise UserError.parameter("mass", self.mass, rule)
        check_cells(self.mesh, self.name)
        check_conforming(self.mesh, self.name)
        self._check_units()
        # both are cached: errors in loads and motions are raised where the part is created
        _ = self._motions, self._loads_uniform

    def _check_units(self) -> None:
        """ModelWarning where lengths are those of millimetres beside a density in kg/m³."""
        length, density = float(np.ptp(self.mesh.p, axis=1).max()), self.material.density
        if length >= _LONG and density >= _HEAVY:
            cure = "where the mesh is in mm, read it with scaled=1e-3, or take mesh.scaled(1e-3)"
            line = f"part {self.name!r} is {length:g} m long beside a density of {density:g} kg/m³: {cure}"
            warn_user(line, ModelWarning)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.mesh.nelements} cells, {self.node_count} nodes)"

    # defined by subclasses

    laws: ClassVar[tuple[type, ...]] = (LinearElastic,)  # supported materials

    @property
    def axes(self) -> tuple[tuple[str, ...], ...]:
        """Names of the components, aliases second: (("x",), ("y",))."""
        raise NotImplementedError

    @property
    def lame(self) -> tuple[float, float]:
        """(λ, μ) of the reduced law, Pa; a bar has λ = 0, μ = E/2."""
        raise NotImplementedError

    @property
    def depth(self) -> float:
        """Thickness (m) of plane problems, section (m²) of bars, else 1."""
        return 1.0

    @property
    def axisymmetric(self) -> bool:
        """Whether x is the radius."""
        return False

    @property
    def stress_components(self) -> tuple[str, ...]:
        """Names of the last axis of `stress`."""
        raise NotImplementedError

    def stress(self, u: Array) -> Array:
        """Stress (c, q, component) in Pa at the quadrature points."""
        raise NotImplementedError

    def _check_geometry(self) -> None:
        """Raise UserError where the mesh does not suit the kind of part."""

    # common to all continua

    @property
    def model(self) -> "Continuum":
        """The part itself."""
        return self

    @property
    def components(self) -> int:
        """Displacement components per node."""
        return int(self.mesh.dim())

    @property
    def _rayleigh(self) -> Rayleigh:
        """The Rayleigh damping, 0 where there is none."""
        return self.damping if isinstance(self.damping, Rayleigh) else Rayleigh()

    @property
    def finite_element(self) -> FiniteElement:
        """The element of each displacement component."""
        return element_of(self.mesh, self.order) if self.element is None else self.element

    @cached_property
    def basis(self) -> Any:
        """The scalar scikit-fem basis, whose dofs are the nodes."""
        return self.finite_element.cell_basis(self.mesh)

    @cached_property
    def positions(self) -> Array:
        """Initial positions (n, axis), m."""
        return np.ascontiguousarray(self.basis.doflocs.T)

    @property
    def node_count(self) -> int:
        """Number of nodes."""
        return int(self.basis.N)

    @property
    def dof_count(self) -> int:
        """Number of dofs: nodes × components."""
        return self.node_count * self.components

    @property
    def wave_speed(self) -> float:
        """√((λ + 2μ)/ρ), m/s; plane stress √(E/((1 − ν²)ρ)); bars √(E/ρ)."""
        lam, mu = self.lame
        return float(np.sqrt((lam + 2 * mu) / self.material.density))

    @cached_property
    def cells(self) -> CellArrays:
        """Element arrays without weights."""
        return cell_arrays(self.basis, self.depth, self.axisymmetric)

    def boundary(self, name: str) -> Surface:
        """The named boundary as a surface."""
        return make_surface(self, name, self.depth, self.axisymmetric)

    @property
    def connectivity(self) -> Indices:
        """Nodes at the corners of the cells (c, corner)."""
        return np.ascontiguousarray(self.mesh.t.T.astype(np.int64))

    @property
    def cell_nodes(self) -> Indices:
        """All nodes of the cells (c, n) in the order of meshio and VTK: corners, mid-edges, mid-faces, centre."""
        nodes = self.basis.element_dofs.T.astype(np.int64)
        order = self.finite_element.node_order
        out = np.empty_like(nodes)
        out[:, np.arange(nodes.shape[1]) if order is None else list(order)] = nodes
        return out

    @property
    def cell_lattice(self) -> Indices | None:
        """Nodes of spectral cells (c, n), counted along the first axis of the cell first; None for other elements."""
        scalar = self.finite_element.scalar
        if not issubclass(scalar, Lobatto):
            return None
        return np.ascontiguousarray(self.basis.element_dofs[scalar.along_lattice].T.astype(np.int64))

    def quadrature_points(self) -> Array:
        """Positions of the quadrature points (axis, c, q), m."""
        return np.asarray(self.basis.global_coordinates())

    def assemble(
        self, weighting: Weighting | None = None, massless: Indices | None = None, time_error: float = 0.0
    ) -> Assembled:
        """Matrices, forces and motions under the weights (1 by default).

        massless: nodes without mass, used by `mass="redistributed"` only. time_error: e Δt², s², of the time scheme,
        with Ω² = ω²(1 + e ω²Δt²), used by `mass="dispersion"` only.
        """
        return self._elastic(weighting, massless, time_error)

    def _elastic(
        self, weighting: Weighting | None, massless: Indices | None, time_error: float = 0.0
    ) -> ElasticAssembled:
        if weighting is None:
            weighting = Weighting.uniform(*self.cells.dx.shape)
        elif weighting.stiffness.shape != self.cells.dx.shape:
            raise UserError(f"{self.name}: weighting of shape {weighting.stiffness.shape}, not {self.cells.dx.shape}")
        assembled = self._assembled(weighting, massless)
        if self.mass != CORRECTED:
            return assembled
        from arlequin.models.fem.dispersion import Correction, correct

        weights = weighting.stiffness * self.cells.dx, weighting.mass * self.cells.dx
        return correct(assembled, self, Correction.of(self, weights, time_error))

    def _assembled(self, weighting: Weighting, massless: Indices | None) -> ElasticAssembled:
        """Linear elasticity of the part."""
        return assemble_elastic(self, weighting, massless)

    def loads(self, weighting: Weighting) -> ExternalLoads:
        """Body force and tractions under the load weights."""
        if not weighting.shared and np.ptp(weighting.load) == 0 and weighting.load.flat[0] == 1:
            return self._loads_uniform
        return self._make_loads(weighting)

    @property
    def motions(self) -> tuple[Imposed, ...]:
        """Imposed motions on disjoint dofs."""
        return self._motions

    @cached_property
    def _loads_uniform(self) -> ExternalLoads:
        return self._make_loads(None)

    @cached_property
    def _motions(self) -> tuple[Imposed, ...]:
        motions = {"displacement": self.imposed, "velocity": self.imposed_velocity}
        return make_imposed(self.name, motions, self._boundary_nodes, self.axes)  # type: ignore[arg-type]

    def _boundary_nodes(self, name: str) -> Indices:
        facets = facet_indices(self.name, self.mesh, name)
        return np.unique(self.basis.get_dofs(facets).all()).astype(np.int64)

    def _make_loads(self, weighting: Weighting | None) -> ExternalLoads:
        loads: dict[str, tuple[LoadValue, LoadRegion]] = {}
        spans: tuple[Force, ...] = ()
        if isinstance(self.body_force, SpanForce):
            if self.components == 1 or self.axisymmetric:
                rule = "must not be a SpanForce on a bar or a body of revolution: it acts across an axis"
                raise UserError.parameter(f"{self.name}: body_force", self.body_force, rule)
            spans = (self.body_force.on(self._cell_region(weighting), self.positions, self.finite_element.order),)
        elif self.body_force is not None:
            loads[f"{self.name}: body_force"] = (self.body_force, self._cell_region(weighting))
        for boundary, value in checks.mapping("tractions", self.tractions, "must map boundaries to tractions").items():
            loads[f"{self.name}: traction on {boundary!r}"] = (value, self._facet_region(boundary, weighting))
        external = make_loads(loads, self.components, self.node_count)
        return replace(external, varying=external.varying + spans)

    def _cell_region(self, weighting: Weighting | None) -> LoadRegion:
        cells = self.cells
        values = np.broadcast_to(cells.values, (cells.count, *cells.values.shape))
        points = self.quadrature_points()
        if weighting is None:
            return LoadRegion(points, cells.dx, values, cells.nodes)
        region = LoadRegion(points, cells.dx * weighting.load, values, cells.nodes)
        return self._with_pieces(region, [shared.in_cells() for shared in weighting.shared])

    def _with_pieces(self, region: LoadRegion, shares: Sequence[LoadPieces]) -> LoadRegion:
        """A region together with the pieces of its load that act on other parts."""
        basis = self.basis
        for pieces in shares:
            if pieces.cells.size:
                values = np.stack([basis.elem.lbasis(pieces.X, a)[0] for a in range(basis.Nbfun)], axis=2)
                nodes = basis.element_dofs[:, pieces.cells].T
                region = region.with_pieces(LoadRegion(pieces.points, pieces.weights, values, nodes))
        return region

    def _facet_region(self, boundary: str, weighting: Weighting | None) -> LoadRegion:
        basis = self.finite_element.facet_basis(self.mesh, facet_indices(self.name, self.mesh, boundary))
        points = np.asarray(basis.global_coordinates())
        measure = facet_measure(basis, self.depth, self.axisymmetric)
        for weight in () if weighting is None else weighting.facets:
            if callable(weight):
                measure = measure * weight(points, basis.tind)
            else:
                measure = measure * weight_at_facets(weight, self.quadrature_points(), basis.tind, points)
        values: NDArray[np.float64] = np.stack(
            [np.broadcast_to(np.asarray(function[0]), measure.shape) for function in basis.basis], axis=2
        )
        region = LoadRegion(points, measure, values, basis.element_dofs.T)
        shared = () if weighting is None else weighting.shared
        return self._with_pieces(region, [pieces.on_facets(basis.find) for pieces in shared])
