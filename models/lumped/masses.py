"""Point masses: parts without cells, for sliders, supports and the ends of springs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array, diags_array

from arlequin.models import checks
from arlequin.models.errors import UserError
from arlequin.models.loads.motions import Motions, make_imposed
from arlequin.models.nodal import NodalCoordinates
from arlequin.models.part import Imposed, Surface, Weighting
from arlequin.models.signatures import checked_call, meant, takes
from arlequin.models.types import Array, Indices

Force = tuple[float, ...] | float | Callable[[float], Any]
AXES = ("x", "y", "z")


@checked_call
@dataclass(frozen=True, eq=False, repr=False)
class PointMasses:
    """n masses m_k (kg) at points of a line, the plane or space: M v̇ = f(t), without stiffness of their own.

    positions: one point (axis,) or several (n, axis), m (numbers stand for points of a line); mass: one for all or
    (n,). names: boundary → numbers of the masses; `all` is the boundary of all masses. forces: boundary → N on each
    mass, a vector or a function of t. imposed, imposed_velocity: boundary → component → number or function of
    t (m, m/s): a support is a mass with an imposed motion. In contact a mass has the area 1 m²: pressures in Pa are N.

    >>> import arlequin as aq
    >>> points, masses, pull = [(0.0, 0.0), (1.0, 0.0)], [2.0, 5.0], {"all": (10.0, 0.0)}  # m, kg, N
    >>> pair = aq.PointMasses("pair", points, masses, names={"heavy": 1}, forces=pull)
    >>> pair.node_count, pair.boundary("heavy").positions.tolist()
    (2, [[1.0, 0.0]])
    >>> result = aq.simulate(aq.System([pair]), aq.Theta(0.5), duration=1.0, step=0.1)
    >>> result["part/pair"]["velocity"][-1].sel(component="x").values.round(9).tolist()  # F t/m, m/s
    [5.0, 2.0]
    """

    name: str
    positions: Any
    mass: Any
    names: Mapping[str, Any] = field(default_factory=dict, kw_only=True)
    forces: Mapping[str, Force] = field(default_factory=dict, kw_only=True)
    imposed: Motions = field(default_factory=dict, kw_only=True)
    imposed_velocity: Motions = field(default_factory=dict, kw_only=True)

    def __post_init__(self) -> None:
        checks.valid_name(self.name)
        points = checks.finite_array(f"positions of '{self.name}'", self.positions)
        points = points.reshape(1, -1) if points.ndim < 2 else points
        if points.ndim != 2 or not 1 <= points.shape[1] <= 3 or not len(points):
            raise UserError.parameter("positions", self.positions, "must be points (n, axis) with 1 to 3 coordinates")
        masses = checks.finite_array(f"mass of '{self.name}'", self.mass)
        if masses.shape not in ((), (len(points),)) or not (masses > 0.0).all():
            raise UserError.parameter("mass", self.mass, f"must be positive: one number, or {len(points)} of them")
        object.__setattr__(self, "positions", np.ascontiguousarray(points))
        object.__setattr__(self, "mass", np.broadcast_to(masses, len(points)).copy())
        for name, force in checks.mapping("forces", self.forces, "must map boundaries to forces").items():
            if callable(force):
                takes(f"{self.name}: force on {name!r}", force, t="the time, s")
        # cached: errors in names, loads and motions are raised by the constructor
        _ = self._groups, self.motions, self.load(0.0)

    def __repr__(self) -> str:
        return f"PointMasses({self.name!r}, {self.node_count} masses)"

    @property
    def components(self) -> int:
        """One displacement component for each axis."""
        return int(self.positions.shape[1])

    @property
    def node_count(self) -> int:
        """Number of masses."""
        return len(self.positions)

    @property
    def dof_count(self) -> int:
        """Number of dofs: masses × axes."""
        return int(self.positions.size)

    @property
    def connectivity(self) -> Indices:
        """Each mass is a cell of one node (n, 1)."""
        return np.arange(self.node_count)[:, None]

    def boundary(self, name: str) -> Surface:
        """The named masses as contact points and ends of springs; their normals are 0."""
        nodes = self._nodes(name)
        normals = np.zeros((nodes.size, self.components))
        return Surface(self, name, nodes, np.ones(nodes.size), normals, nodes[:, None])

    def assemble(self, weighting: Weighting | None = None, massless: Indices | None = None) -> "LumpedAssembled":
        """Mass matrix, forces and imposed motions; the weights must be 1 (no overlap) and all nodes have mass."""
        if weighting is not None:
            raise UserError(f"{self.name}: point masses cannot be part of a junction; use a spring or a relation")
        return LumpedAssembled(self, self.motions)

    def load(self, t: float) -> Array:
        """External force (d,) at the time t, N."""
        total = np.zeros((self.node_count, self.components))
        for name, force in self.forces.items():
            label = f"{self.name}: force on {name!r}"
            vector = checks.finite_array(label, force(t) if callable(force) else force)
            if vector.size != self.components:
                raise UserError.parameter(label, vector.tolist(), f"must have {checks.components(self.components)}")
            total[self._nodes(name)] += vector.ravel()
        return total.ravel()

    @cached_property
    def motions(self) -> tuple[Imposed, ...]:
        """Imposed motions on disjoint dofs."""
        motions = {"displacement": self.imposed, "velocity": self.imposed_velocity}
        axes = tuple((axis,) for axis in AXES[: self.components])
        return make_imposed(self.name, motions, self._nodes, axes)  # type: ignore[arg-type]

    @cached_property
    def _groups(self) -> dict[str, Indices]:
        groups = {"all": np.arange(self.node_count)}
        named = checks.mapping("names", self.names, "must map names to numbers of points")
        for name, numbers in named.items():
            nodes = np.unique(np.atleast_1d(np.asarray(numbers)))
            are_integers = nodes.dtype.kind in "iu" and nodes.size
            if not are_integers or nodes.min() < 0 or nodes.max() >= self.node_count:
                raise UserError.parameter(
                    f"names[{name!r}]", numbers, f"must be whole numbers in [0, {self.node_count})"
                )
            groups[name] = nodes.astype(np.int64)
        return groups

    def _nodes(self, name: str) -> Indices:
        if name not in self._groups:
            known = ", ".join(sorted(self._groups))
            near = meant(name, self._groups)
            raise UserError(f"{self.name}: no boundary is named {name!r}{near} (boundaries: {known})")
        return self._groups[name]


@dataclass(frozen=True, eq=False)
class LumpedAssembled(NodalCoordinates):
    """M of point masses; no stiffness and no damping of their own."""

    part: PointMasses
    imposed: tuple[Imposed, ...]

    @cached_property
    def mass(self) -> csr_array:
        """Diagonal M (d, d), kg."""
        return csr_array(diags_array(np.repeat(self.part.mass, self.part.components)))

    @cached_property
    def stiffness(self) -> csr_array:
        """Zeros (d, d): no stiffness."""
        return csr_array((self.part.dof_count, self.part.dof_count))

    @property
    def damping(self) -> None:
        """None: no damping."""

    def internal(self, u: Array) -> tuple[Array, float]:
        """Zero force and energy."""
        return np.zeros_like(u), 0.0

    def load(self, t: float) -> Array:
        """External force (d,) at the time t, N."""
        return self.part.load(t)

    @property
    def steady(self) -> bool:
        """Whether the external force is the same at all times."""
        return not any(callable(force) for force in self.part.forces.values())

    def strain_form(self) -> tuple[csr_array, Array]:
        """No rows: no strains."""
        return csr_array((0, self.part.dof_count)), np.zeros(0)

    def highest_frequency(self) -> float:
        """0 rad/s: without springs."""
        return 0.0
