"""Rigid polygons in the plane, with rotations of any size."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array, diags_array

from arlequin.models import checks
from arlequin.models.errors import UserError
from arlequin.models.fem.solid import AssumedThickness
from arlequin.models.loads.motions import Motions, make_imposed
from arlequin.models.nodal import UniformMotion, with_imposed
from arlequin.models.part import Imposed, Surface, Weighting
from arlequin.models.signatures import checked_call, meant, takes
from arlequin.models.types import Array, Indices

Force = Sequence[float] | Callable[[float], Any]


@checked_call
@dataclass(frozen=True, eq=False, repr=False)
class RigidBody:
    """A rigid polygon in the plane: displacement (x, y) of its centre of mass and rotation θ of any size.

        x_k = c + (x, y) + R(θ) (X_k − c),      m (ẍ, ÿ) = f,      J θ̈ = moment about the centre.

    outline (k, 2): its corners, m, counter-clockwise. mass, kg, or density, kg/m³, with the thickness, m; centre (2,)
    and inertia J about it, kg·m², default to those of a uniform polygon. names: boundary → numbers of corners in a row
    (their edges are its facets); `outline` is all of them. force: (f_x, f_y) at the centre, N, or with a moment, N·m,
    or a function of t. imposed, imposed_velocity: {"body": {"x" | "y" | "rz": number or function of t}}.

    Nodes: the centre, then the corners. Springs and relations are for small angles. For a body that rocks
    on a corner take Theta(1.0), which does not dissipate energy of a body without stiffness: the corner stays in place
    to order Δt³, whereas Theta(0.5) lifts it by ½ r ω² Δt² in each step.

    >>> import arlequin as aq
    >>> corners = [(0.0, 0.0), (0.2, 0.0), (0.2, 0.1), (0.0, 0.1)]  # m
    >>> brick = aq.RigidBody("brick", corners, density=2000.0, thickness=0.1, names={"foot": [0, 1]})
    >>> brick.inertias.round(9).tolist(), brick.positions[0].round(9).tolist()  # m, m, m (a² + b²)/12; the centre
    ([4.0, 4.0, 0.016666667], [0.1, 0.05])
    >>> round(float(brick.boundary("foot").areas.sum()), 9)  # m²
    0.02
    """

    name: str
    outline: Any
    mass: float | None = field(default=None, kw_only=True)
    density: float | None = field(default=None, kw_only=True)
    thickness: float = field(default=AssumedThickness(1.0), kw_only=True)
    centre: Any = field(default=None, kw_only=True)
    inertia: float | None = field(default=None, kw_only=True)
    names: Mapping[str, Sequence[int]] = field(default_factory=dict, kw_only=True)
    force: Force = field(default=(0.0, 0.0), kw_only=True)
    imposed: Motions = field(default_factory=dict, kw_only=True)
    imposed_velocity: Motions = field(default_factory=dict, kw_only=True)

    def __post_init__(self) -> None:
        checks.valid_name(self.name)
        corners = checks.finite_array(f"outline of '{self.name}'", self.outline, (None, 2))
        if len(corners) < 3 or not _area(corners - corners[0]) > 0.0:
            raise UserError.parameter("outline", self.outline, "must be 3 or more corners, counter-clockwise")
        object.__setattr__(self, "outline", corners)
        if (self.mass is None) == (self.density is None):
            raise UserError(f"{self.name}: give the mass or the density, one of them")
        for what in ("mass", "density", "thickness", "inertia"):
            if getattr(self, what) is not None:
                checks.positive(what, getattr(self, what))
        if self.centre is not None:
            object.__setattr__(self, "centre", checks.finite_array("centre", self.centre, (2,)))
        if callable(self.force):
            takes(f"force on '{self.name}'", self.force, t="the time, s")
        _ = self._groups, self.motions, self.load(0.0)

    def __repr__(self) -> str:
        return f"RigidBody({self.name!r}, {len(self.outline)} corners)"

    @property
    def components(self) -> int:
        """2: the displacement components of the nodes."""
        return 2

    @property
    def node_count(self) -> int:
        """The centre and the corners."""
        return 1 + len(self.outline)

    @property
    def dof_count(self) -> int:
        """Number of nodal displacements."""
        return 2 * self.node_count

    @cached_property
    def positions(self) -> Array:
        """Initial positions (n, 2), m: the centre of mass, then the corners."""
        centre = self.outline[0] + _centroid(self._local) if self.centre is None else self.centre
        return np.vstack([centre, self.outline])

    @property
    def _local(self) -> Array:
        """The outline (k, 2) relative to its first corner, m: moments of area about a distant origin lose digits."""
        return np.asarray(self.outline - self.outline[0])

    @cached_property
    def arms(self) -> Array:
        """Initial positions (n, 2) relative to the centre of mass, m."""
        centre = _centroid(self._local) if self.centre is None else self.centre - self.outline[0]
        return np.vstack([np.zeros(2), self._local - centre])

    @property
    def connectivity(self) -> Indices:
        """The edges (k, 2)."""
        first = np.arange(len(self.outline))
        return np.stack([1 + first, 1 + np.roll(first, -1)], axis=1)

    @cached_property
    def inertias(self) -> Array:
        """(m, m, J), kg, kg, kg·m²."""
        if self.density is not None:
            mass = self.density * self.thickness * _area(self._local)
        else:
            mass = float(self.mass)  # type: ignore[arg-type]
        rotating = self.inertia
        if rotating is None:
            rotating = mass * _gyration(self.arms[1:])
        return np.array([mass, mass, rotating])

    def boundary(self, name: str) -> Surface:
        """A named chain of corners: the area of each is half of its edges', its normal the mean of the edges'."""
        if name not in self._groups:
            known = ", ".join(sorted(self._groups))
            near = meant(name, self._groups)
            raise UserError(f"{self.name}: no boundary is named {name!r}{near} (boundaries: {known})")
        chain, closed = self._groups[name]
        # facets with the body on their left
        facets = np.stack([chain[:-1], chain[1:]], axis=1)
        if closed:
            facets = np.vstack([facets, [chain[-1], chain[0]]])
        nodes = np.unique(chain)
        areas, normals = np.zeros(self.node_count), np.zeros((self.node_count, 2))
        edges = self.positions[facets[:, 1]] - self.positions[facets[:, 0]]
        for end in facets.T:
            np.add.at(areas, end, 0.5 * self.thickness * np.linalg.norm(edges, axis=1))
            np.add.at(normals, end, np.stack([edges[:, 1], -edges[:, 0]], axis=1))
        if not facets.size:  # one corner: as a point
            areas[nodes], normals[nodes] = 1.0, self.arms[nodes]
        normals = normals[nodes]
        return Surface(
            self, name, nodes, areas[nodes], normals / np.linalg.norm(normals, axis=1, keepdims=True),
            facets if facets.size else nodes[:, None],
        )  # fmt: skip

    def assemble(self, weighting: Weighting | None = None, massless: Indices | None = None) -> "RigidAssembled":
        """Masses, forces and motions."""
        if weighting is not None:
            raise UserError(f"{self.name}: a rigid body cannot be part of a junction")
        return RigidAssembled(self, self.motions)

    def load(self, t: float) -> Array:
        """(f_x, f_y, moment) at the time t, N, N, N·m."""
        force = self.force(t) if callable(self.force) else self.force
        vector = checks.finite_array(f"force on '{self.name}'", force)
        if vector.shape not in ((2,), (3,)):
            raise UserError.parameter(f"force on '{self.name}'", force, "must be (f_x, f_y) or (f_x, f_y, moment)")
        return np.concatenate([vector, np.zeros(3 - vector.size)])

    @cached_property
    def motions(self) -> tuple[Imposed, ...]:
        """Imposed motions of (x, y, θ)."""

        def body(name: str) -> Indices:
            if name != "body":
                raise UserError(f"{self.name}: imposed motions are those of 'body', not {name!r}")
            return np.zeros(1, dtype=np.int64)

        motions = {"displacement": self.imposed, "velocity": self.imposed_velocity}
        return make_imposed(self.name, motions, body, (("x",), ("y",), ("rz",)))  # type: ignore[arg-type]

    @cached_property
    def _groups(self) -> dict[str, tuple[Indices, bool]]:
        count = len(self.outline)
        groups = {"outline": (1 + np.arange(count), True)}
        named = checks.mapping("names", self.names, "must map names to corners")
        for name, numbers in named.items():
            corners = np.atleast_1d(np.asarray(numbers))
            if corners.dtype.kind not in "iu" or corners.min(initial=0) < 0 or corners.max(initial=0) >= count:
                raise UserError.parameter(f"names[{name!r}]", numbers, f"must be corners in [0, {count})")
            if not corners.size or (np.diff(corners) % count != 1).any():
                raise UserError.parameter(f"names[{name!r}]", numbers, "must be corners in a row, counter-clockwise")
            groups[name] = (1 + corners.astype(np.int64), False)
        return groups


@dataclass(frozen=True, eq=False)
class RigidAssembled(UniformMotion):
    """M = diag(m, m, J) of a rigid body, and the motion of its nodes."""

    part: RigidBody
    imposed: tuple[Imposed, ...]

    @property
    def rotating(self) -> bool:
        """True: the nodes rotate about the centre."""
        return True

    @cached_property
    def mass(self) -> csr_array:
        """diag(m, m, J) (3, 3)."""
        return csr_array(diags_array(self.part.inertias))

    @cached_property
    def stiffness(self) -> csr_array:
        """Zeros (3, 3)."""
        return csr_array((3, 3))

    @property
    def damping(self) -> None:
        """None: a rigid body has no damping."""

    @cached_property
    def shapes(self) -> csr_array:
        """S (nodal, 3) at θ = 0."""
        return csr_array(self.rates(np.zeros(3)))

    @cached_property
    def inertia(self) -> csr_array:
        """The mass (nodal, nodal) at the centre, kg."""
        nodal = np.zeros(self.part.dof_count)
        nodal[:2] = self.part.inertias[:2]
        return csr_array(diags_array(nodal))

    @property
    def gravitational_mass(self) -> csr_array:
        """The mass (nodal, nodal), kg, on which gravity acts."""
        return self.inertia

    def coordinates(self, field: Array, imposed: Array) -> Array:
        """(x, y, θ) of a nodal field (nodal,): displacement of the centre, mean rotation of the corners; `imposed` (p,)
        replaces the imposed coordinates, nan: the value of the field."""
        nodal = field.reshape(-1, 2)
        arms, relative = self.part.arms, nodal - nodal[0]
        rotation = (arms[:, 0] * relative[:, 1] - arms[:, 1] * relative[:, 0]).sum() / (arms**2).sum()
        return with_imposed(np.array([*nodal[0], rotation]), self.imposed, imposed)

    def nodal_motion(self, u: Array, v: Array) -> tuple[Array, Array]:
        """Displacements and velocities (f, nodal) of the nodes for coordinates and their rates (f, 3)."""
        rotated = self._rotated(u[:, 2])
        displacements = u[:, None, :2] + (rotated - self.part.arms)
        tangents = np.stack([-rotated[..., 1], rotated[..., 0]], axis=-1)
        rate = v[:, None, :2] + v[:, 2, None, None] * tangents
        return displacements.reshape(len(u), -1), rate.reshape(len(u), -1)

    def rates(self, u: Array) -> Array:
        """∂(nodal displacements)/∂(x, y, θ) (nodal, 3) at u."""
        rotated = self._rotated(u[2:3])[0]
        out = np.zeros((len(rotated), 2, 3))
        out[:, 0, 0] = out[:, 1, 1] = 1.0
        out[:, 0, 2], out[:, 1, 2] = -rotated[:, 1], rotated[:, 0]
        return out.reshape(-1, 3)

    def _rotated(self, angle: Array) -> Array:
        """The arms (f, n, 2) rotated by the angles (f,)."""
        cos, sin = np.cos(angle)[:, None], np.sin(angle)[:, None]
        x, y = self.part.arms.T
        return np.stack([cos * x - sin * y, sin * x + cos * y], axis=-1)

    def internal(self, u: Array) -> tuple[Array, float]:
        """Zero force and energy."""
        return np.zeros_like(u), 0.0

    def load(self, t: float) -> Array:
        """(f_x, f_y, moment) at the time t."""
        return self.part.load(t)

    def loads_at(self, times: Array) -> Array:
        """(f_x, f_y, moment) (t, 3) at the times (t,)."""
        return np.array([self.part.load(t) for t in times.tolist()])

    @property
    def steady(self) -> bool:
        """Whether the force is the same at all times."""
        return not callable(self.part.force)

    def strain_form(self) -> tuple[csr_array, Array]:
        """No rows: a rigid body has no strains."""
        return csr_array((0, 3)), np.zeros(0)

    def highest_frequency(self) -> float:
        """0 rad/s."""
        return 0.0


def _crosses(corners: Array) -> Array:
    following = np.roll(corners, -1, axis=0)
    return np.asarray(corners[:, 0] * following[:, 1] - corners[:, 1] * following[:, 0])


def _area(corners: Array) -> float:
    return 0.5 * float(_crosses(corners).sum())


def _centroid(corners: Array) -> Array:
    following = np.roll(corners, -1, axis=0)
    return np.asarray(((corners + following) * _crosses(corners)[:, None]).sum(axis=0) / (6.0 * _area(corners)))


def _gyration(corners: Array) -> float:
    """Mean of |x|² over the polygon, m²."""
    following = np.roll(corners, -1, axis=0)
    squares = (corners**2 + corners * following + following**2).sum(axis=1)
    return float((squares * _crosses(corners)).sum() / (12.0 * _area(corners)))
