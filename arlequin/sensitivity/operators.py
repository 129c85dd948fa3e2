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
        self.internal = self.rows + assembly.laws.memory_rows.size  # spring tractions and internal variables of springs
        self.multipliers, self.imposed = assembly.constraints.shape[0], assembly.imposed_dofs
        self.compliance = equations.condensed.compliance

    def solve(self, b: Array, c: Array | None = None, imposed: Array | None = None) -> tuple[Array, Array]:
        """y (n, d) and φ (n, m) for right-hand sides b (n, d), c (n, m) and values (n, p) on the imposed dofs, 0 by
        default.

        For b alone they are Π b and −Γᵀ b, the transposes.
        """
        condensed = self._equations.condensed
        out, workspace = np.empty_like(b), condensed.room_for_each(len(b))
        if c is None:
            c = np.zeros((len(b), self.multipliers))
        if imposed is None and self.imposed.size:
            imposed = np.zeros((len(b), self.imposed.size))
        multipliers, _ = condensed.predict_each(b, c, workspace, imposed)
        condensed.correct_each(workspace, multipliers, np.zeros((len(b), self.rows)), out, imposed)
        return out, multipliers

    @cached_property
    def dense(self) -> tuple[Array, Array, Array, Array]:
        """y by the fields of the state (f, d, d) and by P (d, r), the basis (r, d), and F₁ by u₁, v₁, u₀ and v₀
        (4, d, d), (0, d, d) where the scheme carries no F."""
        equations, assembly, form, d = self._equations, self._equations.model.bulk, self._equations.form, self.count
        by_fields, forces = [], np.zeros((0, d, d))
        for field in range(form.fields):
            change = np.zeros((form.fields, d, d))
            change[field] = np.eye(d)
            by_fields.append(self.solve(*map(as_rows, equations.by_fields(change)))[0].T)
        if form.carries:
            stiffness = assembly.stiffness.toarray()
            viscous = np.zeros((d, d)) if assembly.viscous is None else assembly.viscous.toarray()
            at_end, at_start = -form.average(1.0, 0.0, 0.0), -form.average(0.0, 1.0, 0.0)
            forces = np.array([at_end * stiffness, at_end * viscous, at_start * stiffness, at_start * viscous])
        return np.array(by_fields), np.ascontiguousarray(self.y_by_impulse), self.basis.toarray(), forces

    @cached_property
    def y_by_impulse(self) -> Array:
        """y by P (d, r)."""
        return self.solve(self._equations.form.impulse * self.basis.toarray())[0].T

    @cached_property
    def diagonal(self) -> Array:
        """W_ii (r,): velocities of rows at the end of a step by impulses on themselves."""
        form = self._equations.form
        if self.count <= DENSE:
            return np.einsum("rd,dr->r", self.basis.toarray(), self.y_by_impulse) / form.weight
        return form.inertia * np.asarray(np.diag(self.compliance.chosen(np.arange(self.rows))))


def as_rows(columns: Array | None) -> Any:
    """Columns (d, n) as rows (n, d)."""
    return None if columns is None else np.ascontiguousarray(columns.T)
