"""Superelements: parts given by reduced matrices, of another code or of `craig_bampton`."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse import csr_array

from arlequin.models import checks
from arlequin.models.errors import ModelWarning, UserError, UserTypeError, warn_user
from arlequin.models.linalg.largest import largest_ratio
from arlequin.models.loads.motions import Motions, make_imposed
from arlequin.models.nodal import ExternalLoads, LinearCoordinates, Loaded, LoadFunction, with_imposed
from arlequin.models.part import Imposed, RecoveredField, Surface, Weighting
from arlequin.models.reduction.facet_areas import FacetGeometry
from arlequin.models.reduction.rigid_modes import rigid_motions
from arlequin.models.reduction.semidefinite import (
    DENSE,
    check_semidefinite,
    least_eigenvalue,
    squares,
    symmetric_matrix,
    unit_diagonal,
)
from arlequin.models.reduction.superelement_writing import write_superelement
from arlequin.models.signatures import checked_call, meant, takes
from arlequin.models.types import Array, Indices

Force = tuple[float, ...] | float | Callable[[float], Any]
Recovery = Any  # a matrix, (matrix, positions[, units]), or a mapping from names to either

AXES = ("x", "y", "z")
ROTATIONS = {1: (), 2: ("rz",), 3: ("rx", "ry", "rz")}
RIGID = 1e-6  # strain energy of a rigid motion, relative to ½ Σ K_ii r_i², above which it is not rigid
_ZERO = 1e-12  # motion, relative to the largest, below which nodes are at rest in a rigid motion
_SOFT = 1e-9  # stiffness of a generalised coordinate, relative, below which it is free
_RESERVED = (
    "mass", "position", "connectivity", "cell_nodes", "left_out", "weight", "momentum", "displacement", "velocity",
    "rotation", "angular_velocity", "generalised", "generalised_rate", "reaction", "reaction_moment",
)  # fmt: skip


class ComponentCount(int):
    """Number of components of a node, with the names of those that are retained: `dataclasses.replace` keeps them."""

    names: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, count: int, names: tuple[tuple[str, ...], ...]) -> "ComponentCount":
        """The count with its names."""
        out = cls(count)
        out.names = names
        return out


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

    It has no cells, so that a `Junction` does not overlap it; a `Tie` of its nodes (as the second surface), relations,
    springs and contact connect it.

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
        _ = self._groups, self.motions, self._loads, self.recovered_fields
        for kind in ("mass", "damping"):
            if getattr(self, kind) is not None:
                check_semidefinite(self._label(kind), getattr(self, kind))
        _ = self._assembled
        if not self.mass.nnz:
            raise UserError(f"{self._label('mass')}: is zero")
        self._check_rigid()

    def __repr__(self) -> str:
        generalised = f" + {self.generalised.size} generalised" if self.generalised.size else ""
        count = self.stiffness.shape[0] - self.generalised.size
        nodes = f"{self.node_count} node{'s' * (self.node_count != 1)}"
        return f"Superelement({self.name!r}, {nodes}, {count}{generalised} coordinates, {self.total_mass:.4g} kg)"

    def _label(self, kind: str) -> str:
        return f"{kind} of superelement '{self.name}'"

    def _retained(self) -> tuple[tuple[str, ...], ...]:
        """Names of the components of each node, in the order of its coordinates."""
        names = self.component_names(self.positions, self.components)
        total, count = sum(map(len, names)), self.stiffness.shape[0]
        if total > count:
            raise UserError(
                f"{self._label('stiffness')}: has {count} coordinates, but {len(names)} nodes have {total} components: "
                "name those that are retained, components=…"
            )
        return names

    @staticmethod
    def component_names(positions: Array, components: Any) -> tuple[tuple[str, ...], ...]:
        """Names of the components of each node at positions (n, axis), of `components` as given."""
        count, axes = positions.shape if positions.ndim == 2 else (positions.size, 1)
        known = AXES[:axes] + ROTATIONS[axes]
        if isinstance(components, ComponentCount):
            components = components.names
        given: Any = AXES[:axes] if components is None else components
        rule = f'must be names of {", ".join(known)}, as ("x", "y"), for all nodes, or one tuple for each of them'
        if isinstance(given, str):
            given = (given,)
        if not isinstance(given, Sequence) or not len(given):
            raise UserTypeError.parameter("components", given, rule)
        each = [tuple(given)] * count if all(isinstance(name, str) for name in given) else list(given)
        if len(each) != count:
            raise UserError(f"components: {len(each)} tuples are given for {count} nodes: {rule}")
        names = tuple((entry,) if isinstance(entry, str) else tuple(entry) for entry in each)
        for entry in names:
            if any(name not in known for name in entry) or len(set(entry)) < len(entry):
                raise UserError.parameter("components", entry, rule)
        return names

    @property
    def node_count(self) -> int:
        """Number of retained nodes."""
        return len(self.positions)

    @property
    def dof_count(self) -> int:
        """Nodal displacements and rotations: nodes × components, retained or not."""
        return int(self.node_count * self.components)

    @cached_property
    def generalised(self) -> Indices:
        """Numbers (g,) of the generalised coordinates."""
        return np.arange(sum(map(len, self.retained)), self.stiffness.shape[0])

    @cached_property
    def axes(self) -> tuple[tuple[str, ...], ...]:
        """Names of the components of a node."""
        axes = self.positions.shape[1]
        return tuple((name,) for name in (AXES[:axes] + ROTATIONS[axes])[: self.components])

    @cached_property
    def coordinate_numbers(self) -> Indices:
        """Coordinate (nodal,) of each nodal dof; −1 where it is not retained."""
        names = [name for (name,) in self.axes]
        numbers, first = np.full((self.node_count, self.components), -1), 0
        for node, entry in enumerate(self.retained):
            for name in entry:
                numbers[node, names.index(name)] = first
                first += 1
        return numbers.ravel()

    @cached_property
    def connectivity(self) -> Indices:
        """Edges (c, 2) of the facets; without facets each node (n, 1)."""
        loops = [surface.facets for surface in self._groups.values() if surface.facets.shape[1] in (2, 3, 4)]
        pairs = [np.sort(np.stack([each, np.roll(each, -1, axis=1)], axis=2).reshape(-1, 2), axis=1) for each in loops]
        if not pairs:
            return np.arange(self.node_count)[:, None]
        return np.unique(np.concatenate(pairs), axis=0)

    @property
    def total_mass(self) -> float:
        """Mass, kg, of the translation along the first retained axis; nan where no translation is retained."""
        return next((mass for mass in self._masses if not math.isnan(mass)), math.nan)

    @cached_property
    def _masses(self) -> list[float]:
        """rᵀM r (axis,), kg; nan along axes that are not retained at all nodes."""
        return [
            float(column @ (self.mass @ column)) if (self._coordinate_fields(unit[:, None]) != 0.0).sum() else math.nan
            for unit, column in zip(self._unit_translations.T, self.translations.T, strict=True)
        ]

    @cached_property
    def _unit_translations(self) -> Array:
        """Unit translations (nodal, axis) of all nodes."""
        axes = self.positions.shape[1]
        return (np.arange(self.dof_count)[:, None] % self.components == np.arange(axes)).astype(float)

    @cached_property
    def translations(self) -> Array:
        """Unit translations (d, axis) of the part in its coordinates."""
        return self.coordinates_of(self._unit_translations)

    def _coordinate_fields(self, fields: Array) -> Array:
        """The retained components (d, k) of nodal fields (nodal, k), with generalised coordinates 0."""
        chosen = self.coordinate_numbers >= 0
        out = np.zeros((self.stiffness.shape[0], fields.shape[1]))
        out[self.coordinate_numbers[chosen]] = fields[chosen]
        return out

    def coordinates_of(self, fields: Array) -> Array:
        """Coordinates (d, k) of nodal fields (nodal, k): of the nodes, and K_qq q = −K_qb u_b, of least energy."""
        out = self._coordinate_fields(fields)
        if self.generalised.size:
            out[self.generalised] = -self._extension @ (self.stiffness @ out)[self.generalised]
        return out

    @cached_property
    def _extension(self) -> Array:
        """K_qq⁻¹ (g, g), of coordinates without stiffness 0."""
        block = self.stiffness[self.generalised][:, self.generalised].toarray()
        return np.asarray(scipy.linalg.pinvh(block, rtol=_SOFT))

    def boundary(self, name: str) -> Surface:
        """The named nodes as contact points, ends of springs and surfaces."""
        if name not in self._groups:
            known = ", ".join(sorted(self._groups))
            near = meant(name, self._groups)
            raise UserError(f"{self.name}: no boundary is named {name!r}{near} (boundaries: {known})")
        return self._groups[name]

    def _nodes(self, name: str) -> Indices:
        return self.boundary(name).nodes

    def assemble(self, weighting: Weighting | None = None, massless: Indices | None = None) -> "SuperelementAssembled":
        """Matrices, loads and imposed motions; UserError for weights: a superelement has no cells to weight."""
        if weighting is not None:
            raise UserError(f"{self.name}: a superelement has no cells that a junction could weight: tie its nodes")
        return self._assembled

    @cached_property
    def _assembled(self) -> "SuperelementAssembled":
        strains = squares(self._label("stiffness"), self.stiffness)
        return SuperelementAssembled(
            self,
            self.mass,
            self.stiffness,
            self.damping,
            self.motions,
            self._loads,
            None if strains is None else (strains.rows, strains.weights),
        )

    @cached_property
    def _least_mass(self) -> float:
        """μ, the least eigenvalue of the mass matrix with unit diagonal; 0 where a coordinate has no mass."""
        return least_eigenvalue(self._label("mass"), self.mass)

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
        return self._coordinate_fields(nodal.reshape(self.dof_count, -1))

    @cached_property
    def _groups(self) -> dict[str, Surface]:
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
        if self.recovery is None:
            return ()
        named = self.recovery if isinstance(self.recovery, Mapping) else {"inner_displacement": self.recovery}
        return tuple(self._field(name, given) for name, given in named.items())

    def _field(self, name: str, given: Any) -> RecoveredField:
        label, axes = f"recovery '{name}' of '{self.name}'", self.positions.shape[1]
        checks.valid_name(name, "name of a recovered field")
        if name in _RESERVED:
            raise UserError(f"{label}: the result has a variable of this name: take another")
        units = "m" if isinstance(self.recovery, Mapping) is False or name.endswith("displacement") else "1"
        positions = None
        if isinstance(given, tuple):
            if not 2 <= len(given) <= 3:
                raise UserError(f"{label}: must be a matrix, (matrix, positions) or (matrix, positions, units)")
            matrix, positions, *rest = given
            units = rest[0] if rest else units
            if not isinstance(units, str):
                raise UserTypeError.parameter(f"units of {label}", units, "must be a text, as 'Pa'")
        else:
            matrix = given
        matrix = matrix.toarray() if sp.issparse(matrix) else matrix
        matrix = checks.finite_array(label, matrix)
        if matrix.ndim != 2 or matrix.shape[1] != self.stiffness.shape[0] or not matrix.shape[0]:
            raise UserError(f"{label}: has shape {matrix.shape}, expected (rows, {self.stiffness.shape[0]})")
        count = 1
        if positions is not None:
            positions = checks.finite_array(f"positions of {label}", positions, (None, axes))
            count, rest_rows = divmod(matrix.shape[0], max(len(positions), 1))
            if rest_rows or not count:
                raise UserError(
                    f"{label}: {matrix.shape[0]} rows for {len(positions)} points: the same number for each"
                )
        labels = () if count == 1 else AXES[:count] if count == axes else tuple(map(str, range(count)))
        return RecoveredField(name, np.ascontiguousarray(matrix), positions, labels, units)

    @cached_property
    def crossing_rate(self) -> float:
        """c/L (1/s) of a bar that vibrates like the part: the least over the axes; 0 where no axis shows a stretch.

        Of a bar the shape x − x̄ has xᵀK x / xᵀM x = 12 (c/L)².
        """
        offset = self.positions - self.positions.mean(axis=0)
        fields = np.zeros((self.node_count, self.components, offset.shape[1]))
        for axis in range(offset.shape[1]):
            fields[:, axis, axis] = offset[:, axis]
        shapes = self.coordinates_of(fields.reshape(self.dof_count, -1))
        squares = [
            float(shape @ (self.stiffness @ shape)) / float(shape @ (self.mass @ shape))
            for shape in shapes.T
            if shape @ (self.mass @ shape) > 0.0
        ]
        return math.sqrt(max(min(squares, default=0.0), 0.0) / 12.0)

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
        names = list(dict.fromkeys(name for entry in self.retained for name in entry))
        nodes = self.stiffness.shape[0] - self.generalised.size
        lines = [
            f"superelement '{self.name}': {_count(self.node_count, 'node')}, {nodes} coordinates of nodes "
            f"({', '.join(names)}), {self.generalised.size} generalised"
        ]
        masses = [mass for mass in self._masses if not math.isnan(mass)]
        unequal = masses and np.ptp(masses) > 1e-6 * max(masses)
        mass = " / ".join(f"{mass:.6g}" for mass in masses) if unequal else f"{self.total_mass:.6g}"
        extent = float(np.ptp(self.positions, axis=0).max())
        centre = ", ".join("?" if math.isnan(x) else f"{x:.6g}" for x in self._centre())
        lines.append(f"mass {mass} kg, centre of mass ({centre}) m, extent {extent:.6g} m")
        free = [name for name, energy in self.rigid_energies.items() if energy <= RIGID]
        lines.append(f"rigid motions: {', '.join(free) or 'none'}")
        if len(free) < len(self.rigid_energies):
            strained = [f"{name} ({energy:.2g})" for name, energy in self.rigid_energies.items() if energy > RIGID]
            lines.append(f"strained by rigid motions (relative energy): {', '.join(strained)}")
        boundaries = (f"{name} ({_count(each.nodes.size, 'node')})" for name, each in self._groups.items())
        lines.append(f"boundaries: {', '.join(boundaries)}")
        if self.stiffness.shape[0] <= DENSE and self._least_mass > 0.0:
            values = np.sqrt(np.maximum(self._eigenvalues[:12], 0.0)) / (2 * np.pi)
            values[values < 1e-6 * self._highest / (2 * np.pi)] = 0.0
            lines.append(f"natural frequencies: {', '.join(f'{value:.4g}' for value in values)} Hz")
        return "\n".join(lines)

    def _centre(self) -> list[float]:
        """Centre of mass (axis,), m; nan where the rotations that show it are not free.

        Of a unit translation along i and the rotation from i towards j about the centroid, tᵀM r = −m (c_j − x̄_j).
        """
        axes = self.positions.shape[1]
        mean = self.positions.mean(axis=0)
        offset = self.positions - mean
        if axes == 1:
            # without rotations: by the static shares of the nodes
            shares = self.mass @ self.translations[:, 0]
            return [float(mean[0] + self.coordinates_of(offset)[:, 0] @ shares / self.total_mass)]
        size = float(np.abs(offset).max()) or 1.0
        fields = rigid_motions(self)[:, axes:] * size
        turned = self.coordinates_of(fields)
        planes = {2: [(0, 1)], 3: [(1, 2), (2, 0), (0, 1)]}[axes]
        out = np.full(axes, math.nan)
        for (i, j), motion in zip(planes, turned.T, strict=True):
            for along, other, sign in ((i, j, -1.0), (j, i, 1.0)):
                mass = self._masses[along]
                if not math.isnan(mass) and math.isnan(out[other]):
                    product = float(self.translations[:, along] @ (self.mass @ motion))
                    out[other] = mean[other] + sign * product / mass
        return out.tolist()

    @cached_property
    def _eigenvalues(self) -> Array:
        """ω² (d,) of the free part, rad²/s², increasing; of a definite mass."""
        root = unit_diagonal(self._label("mass"), self.mass)
        mass, stiffness = (matrix.toarray() / np.outer(root, root) for matrix in (self.mass, self.stiffness))
        return np.asarray(scipy.linalg.eigh(stiffness, mass, eigvals_only=True))

    @cached_property
    def _highest(self) -> float:
        """The largest angular frequency, of a large superelement a bound, rad/s."""
        if not self._least_mass > 0.0:
            raise UserError(
                f"{self._label('mass')}: is singular, so that the largest frequency is not bounded: explicit schemes "
                "need a mass on every coordinate"
            )
        if self.mass.shape[0] > DENSE:
            return math.sqrt(largest_ratio(self.stiffness, 1.0 / self._assembled.least_mass))
        return math.sqrt(max(float(self._eigenvalues[-1]), 0.0))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def _checked_force(label: str, value: Any, operator: Array) -> Array:
    """Forces (d,) of a vector with as many components as the operator has columns, or of displacements alone."""
    vector = checks.finite_array(label, value).ravel()
    if vector.size != operator.shape[1] and not (operator.shape[1] in (3, 6) and vector.size == operator.shape[1] // 2):
        raise UserError.parameter(label, value, f"must have {checks.components(operator.shape[1])}")
    return np.asarray(operator[:, : vector.size] @ vector)


def _of_time(label: str, function: Callable[[float], Any], operator: Array) -> Callable[[float], Array]:
    return lambda t: _checked_force(f"{label} at t = {t:g} s", function(t), operator)


@dataclass(frozen=True, eq=False, repr=False)
class SuperelementAssembled(Loaded, LinearCoordinates):
    """Matrices, loads and imposed motions of a superelement in its coordinates (nodes, generalised).

    strains: B (s, d) and w (s,), K = Bᵀ diag(w) B; None for large superelements.
    """

    part: Superelement
    mass: csr_array
    stiffness: csr_array
    damping: csr_array | None
    imposed: tuple[Imposed, ...]
    loads: ExternalLoads
    strains: tuple[csr_array, Array] | None

    @cached_property
    def shapes(self) -> csr_array:
        """S (nodal, d): 1 at the coordinate of a retained component."""
        numbers = self.part.coordinate_numbers
        rows = np.flatnonzero(numbers >= 0)
        return csr_array((np.ones(rows.size), (rows, numbers[rows])), shape=(numbers.size, self.mass.shape[0]))

    @cached_property
    def inertia(self) -> csr_array:
        """S M Sᵀ (nodal, nodal), kg: the block of the nodes, without their coupling to generalised coordinates."""
        return csr_array(self.shapes @ self.mass @ self.shapes.T)

    def uniform_inertia(self, along: Array) -> Array:
        """M r (d, k), N, r the translation of the part under which all nodes have the acceleration a (nodal, k)."""
        return np.asarray(self.mass @ self._translated(along))

    def uniform_weight(self, along: Array) -> Array:
        """The same: gravity acts on the whole mass."""
        return self.uniform_inertia(along)

    def uniform_mass(self, along: Array) -> float:
        """rᵀM r, kg."""
        motion = self._translated(along[:, None])[:, 0]
        return float(motion @ (self.mass @ motion))

    def _translated(self, along: Array) -> Array:
        translations = self.part.translations
        nodes = along.reshape(self.part.node_count, self.part.components, -1)
        return np.asarray(translations @ nodes[0, : translations.shape[1]])

    def coordinates(self, field: Array, imposed: Array) -> Array:
        """Coordinates (d,) of a nodal field (nodal,), the generalised ones in static equilibrium with the nodes."""
        return with_imposed(self.part.coordinates_of(field[:, None])[:, 0], self.imposed, imposed)

    def internal(self, u: Array) -> tuple[Array, float]:
        """Internal force (d,), N, and stored energy, J, from the strains where they are known."""
        if u.shape != (self.mass.shape[0],):
            raise UserError(f"coordinates of shape {u.shape}, expected ({self.mass.shape[0]},)")
        if self.strains is None:
            force = self.stiffness @ u
            return force, 0.5 * float(u @ force)
        rows, weights = self.strains
        strain = rows @ u
        stress = weights * strain
        return np.asarray(self._strains_transposed @ stress), 0.5 * float(stress @ strain)

    @cached_property
    def _strains_transposed(self) -> csr_array:
        """Bᵀ (d, s)."""
        assert self.strains is not None
        return csr_array(self.strains[0].T)

    def strain_form(self) -> tuple[csr_array, Array] | None:
        """B and w; None for large superelements."""
        return self.strains

    def highest_frequency(self) -> float:
        """The largest angular frequency, of a large superelement a bound, rad/s."""
        return self.part._highest

    @property
    def least_mass(self) -> Array:
        """μ M_ii (d,), kg, μ the least eigenvalue of the mass matrix with unit diagonal."""
        return np.asarray(self.part._least_mass * self.mass.diagonal())

    @property
    def recovered(self) -> tuple[RecoveredField, ...]:
        """The fields of `recovery`."""
        return self.part.recovered_fields

    @property
    def generalised(self) -> Indices:
        """Numbers (g,) of the generalised coordinates."""
        return self.part.generalised
