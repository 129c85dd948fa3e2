"""Bushings: springs between two frames, with translations and rotations."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import csr_array, vstack

from arlequin.models import checks
from arlequin.models.errors import UserError, short_repr
from arlequin.models.lumped.springs import ForceLaw, Spring, check_law
from arlequin.models.part import Surface
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array

COMPONENTS = {2: ("x", "y", "rz"), 3: ("x", "y", "z", "rx", "ry", "rz")}


@checked_call
@dataclass(frozen=True, eq=False)
class Bushing(Spring):
    """A bushing: springs, dashpots and laws on the relative translations and rotations of two ends, in its axes.

        f_i = −k_i e_i − c_i ė_i − law_i(e_i),    e = (R (u₁ − u₂), R (θ₁ − θ₂)),    small displacements

    stiffness (n,): k_x, k_y, k_z in N/m, then those of the rotations, N·m/rad, n = 6, in the plane x, y, rz; damping
    (n,) alike (one number for all). law: component → law, as {"rx": aq.springs.Backlash(1e3, gap=1e-3)}, rotations in
    rad and N·m. direction (axis, axis): the axes of the bushing R as rows, orthogonal; None: x, y, z. position (axis,),
    m: where it acts, by default the middle of the first end. An end is a node with rotations (beams), or a surface of
    several nodes of any part: its motion is the rigid one closest to that of the nodes, weighted by their areas,
    u = ū + θ × (x − x̄), so that rigid motions of both ends together cause no force.

    >>> import arlequin as aq
    >>> steel = aq.LinearElastic(young=2e11, poisson=0.3, density=7800.0)  # Pa, -, kg/m³
    >>> section, pull = aq.Section.rectangle(height=0.02, width=0.01), {"right": lambda t: (0.0, -50.0 * t)}  # m, N
    >>> rod = aq.Beam.between("rod", (0.0, 0.0), (0.5, 0.0), 2, steel, section, end_loads=pull)
    >>> root = aq.Bushing("root", rod.boundary("left"), stiffness=(1e6, 1e5, 200.0))  # N/m, N/m, N·m/rad
    >>> result = aq.simulate(aq.System([rod], springs=[root]), aq.Static(), duration=1.0, step=1.0)
    >>> result["spring/root/moment"][-1].values.round(6).tolist()  # on the rod, N·m: 50 N · 0.5 m
    [25.0]
    """

    position: Any = field(default=None, kw_only=True)

    __repr__ = short_repr

    def __post_init__(self) -> None:
        if isinstance(self.first, Surface) and self.first.positions.shape[1] not in COMPONENTS:
            raise UserError(f"bushing '{self.name}': needs a plane or space")
        super().__post_init__()
        for end in (self.first, self.second):
            if end is not None:
                _ = self.motion(end)

    @property
    def components(self) -> tuple[str, ...]:
        """Names of its components (n,)."""
        return COMPONENTS[self.axes]

    @property
    def frame(self) -> Array:
        """Identity (n, n): forces are recorded in the axes of the bushing."""
        return np.eye(len(self.components))

    @property
    def orientation(self) -> Array:
        """Axes of the bushing (axis, axis), as rows."""
        if self.direction is None:
            return np.eye(self.axes)
        axes = checks.finite_array("direction", self.direction, (self.axes, self.axes))
        if np.abs(axes @ axes.T - np.eye(self.axes)).max() > 1e-9 or np.linalg.det(axes) < 0.0:
            raise UserError.parameter("direction", self.direction, "must be right-handed unit vectors, orthogonal")
        return axes

    @property
    def shares(self) -> Array:
        """One spring for each component."""
        return np.ones(1)

    @property
    def partners(self) -> None:
        """None: the ends are not paired node by node."""
        return None

    @property
    def laws(self) -> tuple[ForceLaw | None, ...]:
        """The law of each component (n,), or None."""
        if self.law is None:
            return (None,) * len(self.components)
        text = "must map components to laws, as {'rx': law}"
        given = checks.mapping(f"bushing '{self.name}': law", self.law, text)
        for component, law in given.items():
            checks.one_of(f"bushing '{self.name}': component of law", component, self.components)
            check_law(f"bushing '{self.name}': law of {component}", law)
        return tuple(given.get(component) for component in self.components)

    @property
    def place(self) -> Array:
        """Position (axis,), m."""
        if self.position is None:
            return self.first.positions.mean(axis=0)
        return checks.finite_array("position", self.position, (self.axes,))

    def motion(self, end: Surface) -> csr_array:
        """Operator (n, nodal) from the nodal displacements of an end's part to the end's motion in the bushing's axes,
        at its position."""
        axes, count = self.axes, len(end.nodes)
        weights = np.maximum(end.areas, 0.0)
        weights = weights / weights.sum()
        middle = weights @ end.positions
        mean = csr_array(np.kron(weights[None], np.eye(axes))) @ end.motion
        turns = len(self.components) - axes
        if count == 1:
            extra = end.part.components - axes
            if extra < turns:
                raise UserError(
                    f"bushing '{self.name}': '{end.name}' of '{end.part.name}' is a node without rotations: take a "
                    "surface of several nodes, or a Spring"
                )
            dofs = end.dofs[0, axes:][-turns:]
            rotation = csr_array((np.ones(turns), (np.arange(turns), dofs)), shape=(turns, end.part.dof_count))
        else:
            rotation = self._fitted(end, weights, middle)
        lever = self._cross(self.place - middle)
        translation = csr_array(mean + csr_array(lever) @ rotation)
        turn = self.orientation if axes == 3 else np.eye(1)
        return csr_array(vstack([csr_array(self.orientation) @ translation, csr_array(turn) @ rotation]))

    def _cross(self, arm: Array) -> Array:
        """Matrix (axis, turns) of θ × arm."""
        if self.axes == 2:
            return np.array([[-arm[1]], [arm[0]]])
        x, y, z = arm
        return np.array([[0.0, z, -y], [-z, 0.0, x], [y, -x, 0.0]])

    def _fitted(self, end: Surface, weights: Array, middle: Array) -> csr_array:
        """Rotation (turns, nodal) of the closest rigid motion of the nodes: (Σ w XᵀX)⁻¹ Σ w Xᵀ (u − ū)."""
        arms = np.stack([self._cross(position - middle) for position in end.positions])
        inertia = np.einsum("k,kat,kas->ts", weights, arms, arms)
        sizes = np.linalg.eigvalsh(inertia)
        if not sizes[0] > 1e-12 * max(sizes[-1], 1e-300):
            raise UserError(
                f"bushing '{self.name}': the nodes of '{end.name}' lie on a line, about which they have no rotation: "
                "take a surface"
            )
        fit = np.linalg.solve(inertia, np.einsum("k,kat->tka", weights, arms).reshape(inertia.shape[0], -1))
        return csr_array(csr_array(fit) @ end.motion)
