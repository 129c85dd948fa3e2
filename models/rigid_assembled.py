"""A solid that does not deform, assembled: point masses that rigid constraints hold together."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array, diags_array, eye_array, kron

from models.nodal import Linear
from models.part import Assembled, Imposed
from models.simplex import Simplex
from models.types import Array


@dataclass(frozen=True, eq=False, repr=False)
class RigidPartAssembled(Linear):
    """M, loads and constraints in the displacements (d,) of the masses of `simplex`, d = n (n + 1).

    The nodes move linearly with the masses, M = m/(n + 1) is constant, and no internal force acts but that of the
    constraints c(u) = 0. nodal: the part's finite elements; drag (1/s): a of the damping a M.
    """

    nodal: Assembled
    simplex: Simplex
    positions: Array
    drag: float

    @property
    def points(self) -> Array:
        """Initial positions (n + 1, n) of the masses, m."""
        return self.simplex.points

    @cached_property
    def mass(self) -> csr_array:
        """m/(n + 1) on the diagonal (d, d), kg."""
        count = self.points.size
        return csr_array(diags_array(np.full(count, self.simplex.mass / len(self.points))))

    @cached_property
    def stiffness(self) -> csr_array:
        """Zeros (d, d)."""
        return csr_array((self.points.size,) * 2)

    @cached_property
    def damping(self) -> csr_array | None:
        """a M; None where there is none."""
        return csr_array(self.drag * self.mass) if self.drag else None

    @property
    def imposed(self) -> tuple[Imposed, ...]:
        """None."""
        return ()

    @cached_property
    def shapes(self) -> csr_array:
        """S (nodal, d)."""
        shares = csr_array(self.simplex.shares(self.positions))
        return csr_array(kron(shares, eye_array(self.points.shape[1]), format="csr"))

    @property
    def inertia(self) -> csr_array:
        """Mass matrix (nodal, nodal) of the finite elements, kg."""
        return self.nodal.mass

    def coordinates(self, field: Array, given: Array) -> Array:
        """(n + 1)/m SᵀM u of the nodal field: what is linear in the positions; made rigid at the start of a run."""
        return np.asarray(self.shapes.T @ (self.nodal.mass @ field) / self.mass.diagonal())

    def strains(self, u: Array) -> Array:
        """c(u) (r,), m."""
        return self.simplex.strains(u)

    def strain_gradient(self, u: Array) -> Array:
        """∂c/∂u (r, d)."""
        return self.simplex.gradient(u)

    def placed(self, u: Array) -> Array:
        """The rigid motion nearest to u (d,)."""
        return self.simplex.placed(u)

    def load(self, t: float) -> Array:
        """Sᵀ f (d,) at the time t, N: dead loads, on the body as it was."""
        return np.asarray(self.shapes.T @ self.nodal.load(t))

    @property
    def steady(self) -> bool:
        """Whether the external force is the same at all times."""
        return self.nodal.steady

    def strain_form(self) -> None:
        """None: the constraints are not linear in u."""

    def highest_frequency(self) -> float:
        """0 rad/s."""
        return 0.0

    def internal(self, u: Array) -> tuple[Array, float]:
        """No force and no energy."""
        return np.zeros_like(u), 0.0

    def tangent(self, u: Array) -> csr_array:
        """Zeros."""
        return self.stiffness

    def least_volume(self, u: Array) -> tuple[float, int]:
        """1: the volume stays; and no cell, −1."""
        return 1.0, -1

    @property
    def viscous(self) -> bool:
        """No viscosity."""
        return False

    def mean_internal(self, u0: Array, u1: Array, theta: float = 0.5) -> Array:
        """Zeros (d,)."""
        return np.zeros_like(u0)

    def mean_viscous(self, u0: Array, u1: Array, step: float) -> Array:
        """Zeros (d,)."""
        return np.zeros_like(u0)

    def mean_tangent(
        self, u0: Array, u1: Array, step: float | None = None, symmetric: bool = False, theta: float = 0.5
    ) -> csr_array:
        """Zeros."""
        return self.stiffness
