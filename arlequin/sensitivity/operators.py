"""The linear maps of a step without contact, dense for small systems, by passes over the factor for others."""

from functools import cached_property
from typing import Any

import numpy as np

from arlequin.models.types import Array
from arlequin.sensitivity.step_equations import BulkEquations

DENSE = 500  # unknowns up to which the maps are dense


class StepOperators:
    """y = Π b + Γ c + λμ Π BᵀP of the equations of a step (see `step_equations`)."""

    def __init__(self, equations: BulkEquations) -> None:
        self._equations = equations
        assembly = equations.model.bulk
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
        """y by the fields of the state (f, d, d) and by P (d, r), the basis (r, d), and F₁ by u₁, v₁, u₀ and v₀
        (4, d, d), (0, d, d) where the scheme carries no F."""
        equations, assembly, form, d = self._equations, self._equations.model.bulk, self._equations.form, self.count
        found, forces = [], np.zeros((0, d, d))
        for field in range(form.fields):
            change = np.zeros((form.fields, d, d))
            change[field] = np.eye(d)
            found.append(self.solve(*map(turned, equations.by_fields(change)))[0].T)
        if form.carries:
            stiffness = assembly.stiffness.toarray()
            viscous = np.zeros((d, d)) if assembly.viscous is None else assembly.viscous.toarray()
            now, before = -form.average(1.0, 0.0, 0.0), -form.average(0.0, 1.0, 0.0)
            forces = np.array([now * stiffness, now * viscous, before * stiffness, before * viscous])
        return np.array(found), np.ascontiguousarray(self.push), self.basis.toarray(), forces

    @cached_property
    def push(self) -> Array:
        """y by P (d, r)."""
        return self.solve(self._equations.form.impulse * self.basis.toarray())[0].T

    @cached_property
    def diagonal(self) -> Array:
        """W_ii (r,): velocities of rows at the end of a step by impulses on themselves."""
        form = self._equations.form
        if self.count <= DENSE:
            return np.einsum("rd,dr->r", self.basis.toarray(), self.push) / form.weight
        return form.inertia * np.asarray(np.diag(self.compliance.chosen(np.arange(self.rows))))


def turned(columns: Array | None) -> Any:
    """Columns (d, n) as rows (n, d)."""
    return None if columns is None else np.ascontiguousarray(columns.T)
