"""How the nodes of a part move with its coordinates: linearly, or as the coordinates themselves."""

from functools import cached_property

import numpy as np
from scipy.sparse import csr_array, eye_array

from models.forces import Loads
from models.part import Imposed
from models.types import Array


class Linear:
    """What an assembled part is whose nodes move linearly with its coordinates."""

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
    def heavy(self) -> csr_array:
        """Mass matrix (nodal, nodal) that gravity pulls at, kg."""
        return self.inertia

    @property
    def turning(self) -> bool:
        """S is the same at all times."""
        return False

    def nodal_motion(self, u: Array, v: Array) -> tuple[Array, Array]:
        """S u and S v (f, nodal)."""
        return (self.shapes @ u.T).T, (self.shapes @ v.T).T

    def rates(self, u: Array) -> csr_array | Array:
        """S (nodal, d)."""
        return self.shapes


class Nodal(Linear):
    """What an assembled part is whose coordinates are its nodal displacements."""

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

    def coordinates(self, field: Array, given: Array) -> Array:
        """The field (d,) with its imposed values."""
        values = field.copy()
        if given.size:
            dofs = np.concatenate([item.dofs for item in self.imposed])
            values[dofs] = np.where(np.isnan(given), field[dofs], given)
        return values


class Loaded(Nodal):
    """What is assembled with its loads."""

    loads: Loads

    def load(self, t: float) -> Array:
        """External force (d,) at the time t, N (N·m on rotations); on large motions of fixed direction, per reference
        area and volume."""
        return self.loads(t)

    def loads_at(self, times: Array) -> Array:
        """External forces (t, d) at the times (t,)."""
        return self.loads.at(times)

    @property
    def steady(self) -> bool:
        """Whether the external force is the same at all times."""
        return self.loads.steady
