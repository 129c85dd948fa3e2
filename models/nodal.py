"""Base classes of assembled parts: external loads, coordinates and nodal displacements, delegation.

The nodal displacements of a part are S u of its coordinates u. Of a finite-element part S is the identity; of a
reduced or rigid part, which delegates its mesh to the finite elements, S holds the shapes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from scipy.sparse import csr_array, eye_array

from arlequin.models.part import Imposed, Surface
from arlequin.models.types import Array, Indices


class Force(Protocol):
    """Forces (d,) on the coordinates of a part as a function of time, N (N·m on rotations)."""

    def __call__(self, t: float) -> Array:
        """The force (d,) at the time t."""
        ...

    def at(self, times: Array) -> Array:
        """The forces (t, d) at the times (t,)."""
        ...

    def projected(self, shapes: Array) -> "Force":
        """Sᵀ f (r,) on the coordinates of shapes S (d, r)."""
        ...


@dataclass(frozen=True, eq=False)
class LoadFunction:
    """A force given by a function of time that returns (d,), N.

    Functions of a script may take longer than a step of a small system: the values at the last times are cached for the
    audit of these steps and their derivatives.
    """

    function: Callable[[float], Array]
    _cached: list[tuple[Array, Array]] = field(default_factory=list, init=False, repr=False)

    def __call__(self, t: float) -> Array:
        """The force (d,) at the time t."""
        return self.function(t)

    def at(self, times: Array) -> Array:
        """The forces (t, d) at the times (t,)."""
        cached = next(iter(self._cached), None)  # members of an ensemble call from several threads
        if cached is None or not np.array_equal(cached[0], times):
            cached = times.copy(), np.array([self.function(t) for t in times.tolist()])
            self._cached[:] = [cached]
        return cached[1].copy()

    def projected(self, shapes: Array) -> "LoadFunction":
        """Sᵀ f (r,) on the coordinates of shapes S (d, r)."""
        return LoadFunction(lambda t: shapes.T @ self.function(t))


@dataclass(frozen=True, eq=False)
class ExternalLoads:
    """The external loads of a part: a constant force (d,), N, and forces that vary in time."""

    constant: Array
    varying: tuple[Force, ...] = ()

    def __call__(self, t: float) -> Array:
        """External force (d,) at the time t; a new array."""
        total = self.constant.copy()
        for load in self.varying:
            total += load(t)
        return total

    def at(self, times: Array) -> Array:
        """External forces (t, d) at the times (t,); a new array."""
        total = np.tile(self.constant, (times.size, 1))
        for load in self.varying:
            total += load.at(times)
        return total

    def projected(self, shapes: Array) -> "ExternalLoads":
        """Sᵀ f (r,) on the coordinates of shapes S (d, r)."""
        return ExternalLoads(shapes.T @ self.constant, tuple(load.projected(shapes) for load in self.varying))

    @property
    def steady(self) -> bool:
        """Whether the force is the same at all times."""
        return not self.varying


class Loaded:
    """Base class of assembled parts with external loads on their coordinates."""

    loads: ExternalLoads

    def load(self, t: float) -> Array:
        """External force (d,) at the time t, N (N·m on rotations); dead load: direction and size do not follow u."""
        return self.loads(t)

    def loads_at(self, times: Array) -> Array:
        """External forces (t, d) at the times (t,)."""
        return self.loads.at(times)

    @property
    def steady(self) -> bool:
        """Whether the external force is the same at all times."""
        return self.loads.steady


def with_imposed(values: Array, motions: Sequence[Imposed], imposed: Array) -> Array:
    """Coordinates (d,) with the values `imposed` (p,) of motions; nan: those given."""
    out = values.copy()
    if imposed.size:
        dofs = np.concatenate([motion.dofs for motion in motions])
        out[dofs] = np.where(np.isnan(imposed), values[dofs], imposed)
    return out


class UniformMotion:
    """Base class of assembled parts whose nodes all have a mass: inertia of a uniform motion of the nodes."""

    shapes: Any
    inertia: Any
    gravitational_mass: Any

    def uniform_inertia(self, along: Array) -> Array:
        """SᵀM a (d, k), N, of uniform accelerations a (nodal, k), m/s²."""
        return np.asarray(self.shapes.T @ (self.inertia @ along))

    def uniform_weight(self, along: Array) -> Array:
        """The same of the mass on which gravity acts."""
        return np.asarray(self.shapes.T @ (self.gravitational_mass @ along))

    def uniform_mass(self, along: Array) -> float:
        """aᵀM a, kg, of a unit translation a (nodal,)."""
        return float((self.inertia @ along[:, None])[along > 0.0, 0].sum())


class LinearCoordinates(UniformMotion):
    """Base class of assembled parts whose nodal displacements are S u, S constant."""

    @property
    def shapes(self) -> csr_array | Array:
        """S (nodal, d), sparse or full."""
        raise NotImplementedError

    def load(self, t: float) -> Array:
        """External force (d,) at the time t, N."""
        raise NotImplementedError

    def loads_at(self, times: Array) -> Array:
        """External forces (t, d) at the times (t,), N."""
        return np.array([self.load(t) for t in times.tolist()])

    @property
    def inertia(self) -> csr_array:
        """Mass matrix (nodal, nodal), kg."""
        raise NotImplementedError

    @property
    def gravitational_mass(self) -> csr_array:
        """Mass matrix (nodal, nodal) on which gravity acts, kg."""
        return self.inertia

    @property
    def rotating(self) -> bool:
        """False: S is constant."""
        return False

    def nodal_motion(self, u: Array, v: Array) -> tuple[Array, Array]:
        """S u and S v (f, nodal)."""
        return (self.shapes @ u.T).T, (self.shapes @ v.T).T

    def rates(self, u: Array) -> csr_array | Array:
        """S (nodal, d)."""
        return self.shapes


class NodalCoordinates(LinearCoordinates):
    """Base class of assembled parts whose coordinates are the nodal displacements: S = 1."""

    mass: csr_array
    imposed: tuple[Imposed, ...]

    @cached_property
    def shapes(self) -> csr_array:
        """The identity (d, d)."""
        return csr_array(eye_array(self.mass.shape[0], format="csr"))

    @property
    def inertia(self) -> csr_array:
        """M (d, d), kg."""
        return self.mass

    def coordinates(self, field: Array, imposed: Array) -> Array:
        """The field (d,) with the values `imposed` (p,); nan: the value of the field."""
        return with_imposed(field, self.imposed, imposed)


class LoadedCoordinates(Loaded, NodalCoordinates):
    """Base class of assembled parts with external loads and S = 1."""


class DelegatingPart:
    """Base class of parts that wrap a finite-element `part`: name, mesh, nodes and surfaces are those of the part."""

    part: Any

    @property
    def model(self) -> Any:
        """The finite-element part."""
        return self.part

    @property
    def name(self) -> str:
        """The part's name."""
        return self.part.name

    @property
    def components(self) -> int:
        """Displacement components of a node."""
        return self.part.components

    @property
    def node_count(self) -> int:
        """Number of nodes."""
        return self.part.node_count

    @property
    def dof_count(self) -> int:
        """Number of nodal displacements."""
        return self.part.dof_count

    @property
    def positions(self) -> Array:
        """Initial positions of the nodes (n, axis), m."""
        return self.part.positions

    @property
    def connectivity(self) -> Indices:
        """Nodes at the corners of the cells (c, corner)."""
        return self.part.connectivity

    @property
    def mesh(self) -> Any:
        """The scikit-fem mesh."""
        return self.part.mesh

    @property
    def basis(self) -> Any:
        """The scalar scikit-fem basis."""
        return self.part.basis

    @property
    def wave_speed(self) -> float:
        """Speed of the fastest elastic wave, m/s."""
        return self.part.wave_speed

    def boundary(self, name: str) -> Surface:
        """The named boundary, with this object as its part."""
        return replace(self.part.boundary(name), part=self)

    def quadrature_points(self) -> Array:
        """Positions of the quadrature points (axis, c, q), m."""
        return self.part.quadrature_points()

    def stress(self, u: Array) -> Array:
        """Stress (c, q, component) in Pa at the nodal displacement u (nodal,)."""
        return self.part.stress(u)
