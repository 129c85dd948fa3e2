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

    def solve(self, b: Array, c: Array, given: Array | None = None) -> Array:
        """y (n, d) of right-hand sides (n, d), (n, m) and values (n, p) on the imposed dofs."""
        condensed = self._equations.condensed
        out, half = np.empty_like(b), condensed.room_for_each(len(b))
        if given is None and self.imposed.size:
            given = np.zeros((len(b), self.imposed.size))
        multipliers, _ = condensed.predict_each(b, c, half, given)
        condensed.correct_each(half, multipliers, np.zeros((len(b), self.rows)), out, given)
        return out

    def transposed(self, y: Array) -> tuple[Array, Array]:
        """Πy and −Γᵀy (n, d), (n, m)."""
        condensed = self._equations.condensed
        out, half, none = np.empty_like(y), condensed.room_for_each(len(y)), np.zeros((len(y), self.imposed.size))
        given = none if self.imposed.size else None
        multipliers, _ = condensed.predict_each(y, np.zeros((len(y), self.multipliers)), half, given)
        condensed.correct_each(half, multipliers, np.zeros((len(y), self.rows)), out, given)
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
        from_u = self.solve(by_u, np.zeros_like(rates), given_u).T
        from_v = self.solve(by_v, np.ascontiguousarray(rates), given_v).T
        return (*map(np.ascontiguousarray, (from_u, from_v, self.push)), self.basis.toarray())

    @cached_property
    def push(self) -> Array:
        """y by P (d, r)."""
        rows = self._equations.theta * self.basis.toarray()
        return self.solve(np.ascontiguousarray(rows), np.zeros((self.rows, self.multipliers))).T

    @cached_property
    def diagonal(self) -> Array:
        """W_ii (r,): velocities of rows at the end of a step by impulses on themselves."""
        if self.count <= DENSE:
            return np.einsum("rd,dr->r", self.dense[3], self.push) / self._equations.theta
        return np.asarray(np.diag(self.compliance.chosen(np.arange(self.rows))))
