"""Superelements: parts given by reduced matrices, of another code or of `craig_bampton`."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from arlequin.models import checks
from arlequin.models.errors import ModelWarning, UserError, warn_user
from arlequin.models.loads.motions import Motions, make_imposed
from arlequin.models.nodal import ExternalLoads, LoadFunction
from arlequin.models.part import Imposed, RecoveredField, Surface, Weighting
from arlequin.models.reduction.facet_areas import FacetGeometry
from arlequin.models.reduction.rigid_modes import rigid_motions
from arlequin.models.reduction.semidefinite import Semidefinite, symmetric_matrix
from arlequin.models.reduction.superelement_assembled import SuperelementAssembled
from arlequin.models.reduction.superelement_coordinates import (
    AXES,
    ROTATIONS,
    ComponentCount,
    SuperelementCoordinates,
    component_names,
)
from arlequin.models.reduction.superelement_description import RIGID, describe_superelement
from arlequin.models.reduction.superelement_recovery import Recovery, recovered_fields
from arlequin.models.reduction.superelement_writing import write_superelement
from arlequin.models.signatures import checked_call, meant, takes
from arlequin.models.types import Array, Indices

Force = tuple[float, ...] | float | Callable[[float], Any]

FASTEST = 1e5  # wave speed, m/s, several times that of diamond, above which units are mixed
_ZERO = 1e-12  # motion, relative to the largest, below which nodes are at rest in a rigid motion


@checked_call
@dataclass(frozen=True, eq=False, repr=False)
class Superelement:
    """A linear part given by its matrices: M a + D v + K u = f + loads, in coordinates u = (nodes, generalised).

    mass M, stiffness K, damping D: symmetric positive semidefinite matrices (d, d), full or sparse; kg, N/m, N·s/m, and
    the like for rotations. positions (n, axis), m: the retained nodes. components: of the retained nodes, "x", "y",
    "z", rotations "rx", "ry", "rz" ("rz" in the plane): the same names for all, or one tuple for each node; by default
    all displacements. The coordinates are numbered node by node, in the order of the names; those that are left are
    generalised coordinates (amplitudes of modes). Components that are not retained are at rest.

    interface: boundary → node numbers, or a mapping with `nodes` or `facets` (f, corner), counter-clockwise seen from
    outside, and optionally `areas` (k,), m², and `normals` (k, axis). Facets give areas and normals and make surface
    contact possible, as master too; without them the nodes are points of 1 m², as those of `PointMasses`. "all" is the
    boundary of all nodes.

    recovery: fields inside, linear in the coordinates, which a result records: a matrix (r, d), (matrix, positions) or
    (matrix, positions, units), or a mapping from names to these; without a name it is "inner_displacement", in m.

    forces: boundary → resultant force, N, shared by its nodes as their areas are, optionally followed by moments (N·m),
    a vector or a function of t. load: generalised forces (d,), or a function of t. imposed, imposed_velocity: boundary
    → component → number or function of t. The generalised coordinates of initial fields are in static equilibrium.

    Rigid motions: the translations and rotations of the nodes, with the generalised coordinates of least energy. A
    `ModelWarning` names those that strain the part; grounded=True says that this is meant. The total mass is that of
    the translations; `describe()` lists it.

    It has no cells, so that a `Junction` does not overlap it; `Mortar` glues its facets, `Tie` its nodes, to finite
    elements and to other superelements, and relations, springs and contact connect it.

    >>> import numpy as np
    >>> k = 1e6 * np.array([[1.0, -1.0], [-1.0, 1.0]])  # N/m, a spring between two masses
    >>> rod = Superelement("rod", mass=np.diag([2.0, 3.0]), stiffness=k, positions=[[0.0], [0.5]], interface={"tip": 1})
    >>> rod
    Superelement('rod', 2 nodes, 2 coordinates, 5 kg)
    >>> print(rod.describe())
    superelement 'rod': 2 nodes, 2 coordinates of nodes (x), 0 generalised
    mass 5 kg, centre of mass (0.3) m, extent 0.5 m
    rigid motions: translation along x
    boundaries: all (2 nodes), tip (1 node)
    natural frequencies: 0, 145.3 Hz

    Source: Craig & Bampton, AIAA J. 6, 1968; Craig & Kurdila, Fundamentals of Structural Dynamics, 2006, §17.
    """

    name: str
    mass: Any = field(kw_only=True)
    stiffness: Any = field(kw_only=True)
    damping: Any = field(default=None, kw_only=True)
    positions: Any = field(kw_only=True)
    components: Any = field(default=None, kw_only=True)
    interface: Mapping[str, Any] = field(default_factory=dict, kw_only=True)
    recovery: Recovery = field(default=None, kw_only=True)
    grounded: bool = field(default=False, kw_only=True)
    forces: Mapping[str, Force] = field(default_factory=dict, kw_only=True)
    load: Any = field(default=None, kw_only=True)
    imposed: Motions = field(default_factory=dict, kw_only=True)
    imposed_velocity: Motions = field(default_factory=dict, kw_only=True)
    retained: tuple[tuple[str, ...], ...] = field(init=False)
    # of `craig_bampton`: nodal displacements (nodal, d) of beams by their names, which flows act on
    beam_shapes: dict[str, Array] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        checks.valid_name(self.name)
        checks.flag("grounded", self.grounded)
        points = checks.finite_array(f"positions of '{self.name}'", self.positions)
        points = points.reshape(-1, 1) if points.ndim < 2 else points
        if points.ndim != 2 or not 1 <= points.shape[1] <= 3 or not len(points):
            raise UserError.parameter("positions", self.positions, "must be points (n, axis) with 1 to 3 coordinates")
        object.__setattr__(self, "positions", np.ascontiguousarray(points))
        stiffness = symmetric_matrix(self._label("stiffness"), self.stiffness)
        object.__setattr__(self, "stiffness", stiffness)
        for kind in ("mass", "damping"):
            if getattr(self, kind) is not None or kind == "mass":
                matrix = symmetric_matrix(self._label(kind), getattr(self, kind), stiffness.shape[0])
                object.__setattr__(self, kind, matrix)
        object.__setattr__(self, "retained", self._retained())
        axes = points.shape[1]
        turns = any(name in ROTATIONS[axes] for names in self.retained for name in names)
        count = axes + (len(ROTATIONS[axes]) if turns else 0)
        object.__setattr__(self, "components", ComponentCount.of(count, self.retained))
        # cached: errors in boundaries, loads, motions and matrices are raised by the constructor
        _ = self.boundaries, self.motions, self._loads, self.recovered_fields, self._assembled
        if not self.mass.nnz:
            raise UserError(f"{self._label('mass')}: is zero")
        self._check_rigid()
        self._check_units()

    def __repr__(self) -> str:
        generalised = f" + {self.generalised.size} generalised" if self.generalised.size else ""
        count = self.stiffness.shape[0] - self.generalised.size
        nodes = f"{self.node_count} node{'s' * (self.node_count != 1)}"
        return f"Superelement({self.name!r}, {nodes}, {count}{generalised} coordinates, {self.total_mass:.4g} kg)"

    def _label(self, kind: str) -> str:
        return f"{kind} of superelement '{self.name}'"

    def _retained(self) -> tuple[tuple[str, ...], ...]:
        """Names of the components of each node, in the order of its coordinates."""
        names = component_names(self.positions, self.components)
        total, count = sum(map(len, names)), self.stiffness.shape[0]
        if total > count:
            raise UserError(
                f"{self._label('stiffness')}: has {count} coordinates, but {len(names)} nodes have {total} components: "
                "name those that are retained, components=…"
            )
        return names

    @cached_property
    def coordinates(self) -> SuperelementCoordinates:
        """The retained components of the nodes, and the generalised coordinates."""
        return SuperelementCoordinates(self.positions, self.components, self.retained, self.stiffness)

    @property
    def node_count(self) -> int:
        """Number of retained nodes."""
        return len(self.positions)

    @property
    def dof_count(self) -> int:
        """Nodal displacements and rotations: nodes × components, retained or not."""
        return self.coordinates.dof_count

    @property
    def generalised(self) -> Indices:
        """Numbers (g,) of the generalised coordinates."""
        return self.coordinates.generalised

    @property
    def axes(self) -> tuple[tuple[str, ...], ...]:
        """Names of the components of a node."""
        return self.coordinates.axes

    @property
    def coordinate_numbers(self) -> Indices:
        """Coordinate (nodal,) of each nodal dof; −1 where it is not retained."""
        return self.coordinates.numbers

    @property
    def translations(self) -> Array:
        """Unit translations (d, axis) of the part in its coordinates."""
        return self.coordinates.translations

    def coordinates_of(self, fields: Array) -> Array:
        """Coordinates (d, k) of nodal fields (nodal, k), the generalised ones of least energy."""
        return self.coordinates.static(fields)

    @cached_property
    def connectivity(self) -> Indices:
        """Edges (c, 2) of the facets; without facets each node (n, 1)."""
        loops = [surface.facets for surface in self.boundaries.values() if surface.facets.shape[1] in (2, 3, 4)]
        pairs = [np.sort(np.stack([each, np.roll(each, -1, axis=1)], axis=2).reshape(-1, 2), axis=1) for each in loops]
        if not pairs:
            return np.arange(self.node_count)[:, None]
        return np.unique(np.concatenate(pairs), axis=0)

    @property
    def total_mass(self) -> float:
        """Mass, kg, of the translation along the first retained axis; nan where no translation is retained."""
        return next((mass for mass in self.masses if not math.isnan(mass)), math.nan)

    @cached_property
    def masses(self) -> list[float]:
        """rᵀM r (axis,), kg; nan along axes that are not retained at all nodes."""
        units = self.coordinates.unit_translations
        retained = (self.coordinates.of_nodes(units) != 0.0).any(axis=0)
        columns = zip(self.translations.T, retained, strict=True)
        return [float(column @ (self.mass @ column)) if seen else math.nan for column, seen in columns]

    def boundary(self, name: str) -> Surface:
        """The named nodes as contact points, ends of springs and surfaces."""
        if name not in self.boundaries:
            known = ", ".join(sorted(self.boundaries))
            near = meant(name, self.boundaries)
            raise UserError(f"{self.name}: no boundary is named {name!r}{near} (boundaries: {known})")
        return self.boundaries[name]

    def _nodes(self, name: str) -> Indices:
        return self.boundary(name).nodes

    def assemble(self, weighting: Weighting | None = None, massless: Indices | None = None) -> SuperelementAssembled:
        """Matrices, loads and imposed motions; UserError for weights: a superelement has no cells to weight."""
        if weighting is not None:
            raise UserError(f"{self.name}: a superelement has no cells to weight: glue its boundary by Tie or Mortar")
        return self._assembled

    @cached_property
    def _checked(self) -> dict[str, Semidefinite]:
        """The matrices, found to be semidefinite; a part with equal matrices finds them here."""
        given = {kind: getattr(self, kind) for kind in ("mass", "damping", "stiffness")}
        return {
            kind: Semidefinite.of(self._label(kind), matrix, with_squares=kind == "stiffness")
            for kind, matrix in given.items()
            if matrix is not None
        }

    @cached_property
    def _assembled(self) -> SuperelementAssembled:
        squares = self._checked["stiffness"].squares
        return SuperelementAssembled(
            self.name,
            self.coordinates,
            self.mass,
            self._checked["mass"],
            self.stiffness,
            self.damping,
            self.motions,
            self._loads,
            self.recovered_fields,
            None if squares is None else (squares.rows, squares.weights),
        )

    @cached_property
    def motions(self) -> tuple[Imposed, ...]:
        """Imposed motions on disjoint coordinates."""
        motions = {"displacement": self.imposed, "velocity": self.imposed_velocity}
        nodal = make_imposed(self.name, motions, self._nodes, self.axes)  # type: ignore[arg-type]
        out = []
        for item in nodal:
            numbers = self.coordinate_numbers[item.dofs]
            if (numbers < 0).any():
                node = int(item.dofs[numbers < 0][0] // self.components)
                raise UserError(f"{item.label}: the component is not retained at node {node}")
            values = {key: getattr(item, key) for key in ("kind", "function", "label", "rest", "support")}
            out.append(Imposed(numbers, **values))
        return tuple(out)

    @cached_property
    def _loads(self) -> ExternalLoads:
        """Forces on boundaries and generalised forces."""
        constant = np.zeros(self.stiffness.shape[0])
        varying = []
        for name, force in checks.mapping("forces", self.forces, "must map boundaries to forces").items():
            label = f"{self.name}: force on {name!r}"
            operator = self._force_operator(name)
            if callable(force):
                takes(label, force, t="the time, s")
                varying.append(LoadFunction(_of_time(label, force, operator)))
            else:
                constant += _checked_force(label, force, operator)
        if self.load is not None:
            label, identity = f"load of '{self.name}'", np.eye(constant.size)
            if callable(self.load):
                takes(label, self.load, t="the time, s")
                varying.append(LoadFunction(_of_time(label, self.load, identity)))
            else:
                constant += _checked_force(label, self.load, identity)
        loads = ExternalLoads(constant, tuple(varying))
        loads(0.0)
        return loads

    def _force_operator(self, name: str) -> Array:
        """Forces (d, component) on the coordinates of unit resultants on a boundary."""
        surface = self.boundary(name)
        shares = np.maximum(surface.areas, 0.0)
        nodal = np.zeros((self.node_count, self.components, self.components))
        nodal[surface.nodes] = (shares / shares.sum())[:, None, None] * np.eye(self.components)
        return self.coordinates.of_nodes(nodal.reshape(self.dof_count, -1))

    @cached_property
    def boundaries(self) -> dict[str, Surface]:
        """The boundaries."""
        every = np.arange(self.node_count)
        none = np.zeros((self.node_count, self.positions.shape[1]))
        groups = {"all": Surface(self, "all", every, np.ones(self.node_count), none, every[:, None])}
        named = checks.mapping("interface", self.interface, "must map names of boundaries to node numbers")
        for name, given in named.items():
            checks.valid_name(name, "name of a boundary")
            groups[name] = FacetGeometry.of(self.name, name, given, self.positions).surface(self, name)
        return groups

    @cached_property
    def recovered_fields(self) -> tuple[RecoveredField, ...]:
        """The fields of `recovery`."""
        return recovered_fields(self.name, self.recovery, self.positions.shape[1], self.stiffness.shape[0])

    @cached_property
    def crossing_rate(self) -> float:
        """c/L (1/s) of a bar that vibrates like the part: the least over the axes; 0 where no axis shows a stretch."""
        rates = self._stretch_rates
        return float(np.nanmin(rates)) if not np.isnan(rates).all() else 0.0

    @cached_property
    def _stretch_rates(self) -> Array:
        """c/L (axis,) of bars along the axes; nan where no mass takes part in the stretch.

        Of a bar the shape x − x̄ has xᵀK x / xᵀM x = 12 (c/L)².
        """
        offset = self.positions - self.positions.mean(axis=0)
        fields = np.zeros((self.node_count, self.components, offset.shape[1]))
        for axis in range(offset.shape[1]):
            fields[:, axis, axis] = offset[:, axis]
        shapes = self.coordinates_of(fields.reshape(self.dof_count, -1))
        stiffness, mass = (np.einsum("da,da->a", shapes, matrix @ shapes) for matrix in (self.stiffness, self.mass))
        moved = mass > 0.0
        out = np.full(mass.size, math.nan)
        out[moved] = np.sqrt(np.maximum(stiffness[moved], 0.0) / mass[moved] / 12.0)
        return out

    def _check_units(self) -> None:
        """Warn where waves are faster than in any material, as with lengths in mm or masses in t."""
        speeds = self._stretch_rates * np.ptp(self.positions, axis=0)
        speeds = speeds[speeds > 0.0]
        if speeds.size and speeds.min() > FASTEST:
            warn_user(
                f"superelement '{self.name}': waves would cross it at {speeds.min():.2g} m/s, faster than in any "
                "material: are positions in mm, or masses in t? Give m, kg and N (read_superelement: units='mm')",
                ModelWarning,
            )

    @property
    def motion_names(self) -> list[str]:
        """Names of the translations and rotations of a body with these axes, those of `rigid_modes.rigid_motions`."""
        axes = self.positions.shape[1]
        turns = {1: [], 2: ["rotation"], 3: [f"rotation about {axis}" for axis in AXES]}[axes]
        return [f"translation along {axis}" for axis in AXES[:axes]] + turns

    @cached_property
    def rigid_motions(self) -> dict[str, Array]:
        """The rigid motions (d,) that the nodes show, by name."""
        names, motions = self.motion_names, self.coordinates_of(rigid_motions(self))
        numbers = self.coordinate_numbers[self.coordinate_numbers >= 0]
        shown = np.abs(motions[numbers]).max(axis=0, initial=0.0) > _ZERO
        return {name: motion for name, motion, seen in zip(names, motions.T, shown, strict=True) if seen}

    @cached_property
    def rigid_energies(self) -> dict[str, float]:
        """rᵀK r relative to Σ K_ii r_i² of each rigid motion: 0 but for round-off where it does not strain the part."""
        diagonal, out = self.stiffness.diagonal(), {}
        for name, motion in self.rigid_motions.items():
            scale = float(diagonal @ motion**2)
            out[name] = float(motion @ (self.stiffness @ motion)) / scale if scale > 0.0 else 0.0
        return out

    def _check_rigid(self) -> None:
        strained = {name: energy for name, energy in self.rigid_energies.items() if energy > RIGID}
        if strained and not self.grounded:
            listed = ", ".join(f"{name} ({energy:.2g})" for name, energy in strained.items())
            warn_user(
                f"superelement '{self.name}': rigid motions strain it, relative energy in brackets: {listed}; check "
                "positions, units and the order of the coordinates, or say grounded=True where it is supported inside",
                ModelWarning,
            )

    def write(self, path: Any) -> Path:
        """Write the matrices to a file, by its ending; returns its path.

        `.npz`: NumPy's archive with everything but loads and motions; `.op4`: binary, by the package pyyeti; `.pch` or
        `.bdf`: Nastran's DMIG, GRID and SPOINT cards, 11 digits; `.mtx`: Matrix Market, one file for each matrix
        (blade_stiffness.mtx). `read_superelement` reads all of them.
        """
        return write_superelement(self, path)

    def describe(self) -> str:
        """Counts, mass, centre of mass, rigid motions, boundaries and the lowest natural frequencies, as a text."""
        return describe_superelement(self)


def _checked_force(label: str, value: Any, operator: Array) -> Array:
    """Forces (d,) of a vector with as many components as the operator has columns, or of displacements alone."""
    vector = checks.finite_array(label, value).ravel()
    if vector.size != operator.shape[1] and not (operator.shape[1] in (3, 6) and vector.size == operator.shape[1] // 2):
        raise UserError.parameter(label, value, f"must have {checks.components(operator.shape[1])}")
    return np.asarray(operator[:, : vector.size] @ vector)


def _of_time(label: str, function: Callable[[float], Any], operator: Array) -> Callable[[float], Array]:
    return lambda t: _checked_force(f"{label} at t = {t:g} s", function(t), operator)
