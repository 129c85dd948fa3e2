"""The linear maps of a θ-step without contact, dense for small systems, by passes over the factor for others."""

from functools import cached_property

import numpy as np

from arlequin.models.types import Array
from arlequin.sensitivity.step_equations import ThetaEquations

DENSE = 500  # unknowns up to which the maps are dense


class StepOperators:
    """y = Π b + Γ c + θ Π BᵀP of the equations of a step (see `step_equations`)."""

    def __init__(self, equations: ThetaEquations) -> None:
        self._equations = equations
        assembly = equations.model.assembly
        self.basis = assembly.contact.basis
        self.count, self.rows = assembly.dof_count, self.basis.shape[0]
        self.multipliers, self.imposed = assembly.constraints.shape[0], assembly.imposed_dofs
        self.compliance = equations.condensed.compliance

    def solve(self, b: Array, c: Array | None = None, given: Array | None = None) -> tuple[Array, Array]:
        """y (n, d) and φ (n, m) of right-hand sides (n, d), (n, m) and values (n, p) on the imposed dofs, 0 by default.

        Of b alone they are Π b and −Γᵀ b: the transposes.
        """
        condensed = self._equations.condensed
        out, half = np.empty_like(b), condensed.room_for_each(len(b))
        if c is None:
            c = np.zeros((len(b), self.multipliers))
        if given is None and self.imposed.size:
            given = np.zeros((len(b), self.imposed.size))
        multipliers, _ = condensed.predict_each(b, c, half, given)
        condensed.correct_each(half, multipliers, np.zeros((len(b), self.rows)), out, given)
        return out, multipliers

    @cached_property
    def dense(self) -> tuple[Array, Array, Array, Array]:
        """y by u₀ and by v₀ (d, d), y by P (d, r), and the basis (r, d)."""
        equations, assembly = self._equations, self._equations.model.assembly
        theta, step, dofs = equations.theta, equations.step, self.imposed
        by_u, by_v = -theta * step * assembly.stiffness.toarray(), assembly.mass.toarray()
        rates = (1.0 - theta) * assembly.constraints.toarray().T
        of_u, of_v = equations.imposed_by_state
        given_u, given_v = np.zeros((self.count, dofs.size)), np.zeros((self.count, dofs.size))
        given_u[dofs, np.arange(dofs.size)], given_v[dofs, np.arange(dofs.size)] = of_u, of_v
        from_u, _ = self.solve(by_u, None, given_u)
        from_v, _ = self.solve(by_v, np.ascontiguousarray(rates), given_v)
        return (*map(np.ascontiguousarray, (from_u.T, from_v.T, self.push)), self.basis.toarray())

    @cached_property
    def push(self) -> Array:
        """y by P (d, r)."""
        return self.solve(self._equations.theta * self.basis.toarray())[0].T

    @cached_property
    def diagonal(self) -> Array:
        """W_ii (r,): velocities of rows at the end of a step by impulses on themselves."""
        if self.count <= DENSE:
            return np.einsum("rd,dr->r", self.dense[3], self.push) / self._equations.theta
        return np.asarray(np.diag(self.compliance.chosen(np.arange(self.rows))))
