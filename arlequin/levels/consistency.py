"""Projection of a transferred field on the constraints and momenta of the target system."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from arlequin.models.linalg.rigid_modes import rigid_modes
from arlequin.models.part import Part
from arlequin.models.types import Array
from arlequin.solvers.condensed import ConstrainedSystem, RigidCondensed
from arlequin.solvers.solver_choice import mass_system
from arlequin.system.assembly import Assembly

_INDEPENDENT = 1e-10
_ROUND_OFF = 1e-14  # relative to the terms of a constraint


class Consistency:
    """M-orthogonal projection x + δ: min δᵀMδ with C (x + δ) = 0, given momenta rᵀM (x + δ), δ = 0 on imposed dofs."""

    def __init__(self, assembly: Assembly) -> None:
        self._assembly = assembly

    @cached_property
    def _inertia(self) -> ConstrainedSystem:
        return mass_system(self._assembly, self._assembly.free & ~self._assembly.massless, contact=False)

    def project(self, field: Array, rows: Array | None = None, momenta: Array | None = None) -> Array:
        """Projection of a field (d,); rows (r, d): rᵀM, momenta (r,): their values for the projected field."""
        assembly = self._assembly
        constraints = assembly.constraints
        size = abs(constraints) @ np.abs(field)
        violation = constraints @ field
        violated = bool((np.abs(violation) > _ROUND_OFF * size).any())
        inner, momentum_error = np.zeros((0, field.size)), np.zeros(0)
        if rows is not None and momenta is not None:
            momentum_error = momenta - rows @ field
            if not violated and (np.abs(momentum_error) <= 1e-15 * (abs(rows) @ np.abs(field))).all():
                return field
            inner, momentum_error = self._independent(rows, momentum_error)
        elif not violated:
            return field
        imposed = np.zeros(assembly.imposed_dofs.size) if assembly.imposed_dofs.size else None
        condensed = RigidCondensed(self._inertia, sp.csr_array(inner))
        change = condensed.predict(np.zeros(field.size), -violation, momentum_error, imposed).y
        return np.asarray(field + np.where(assembly.massless, 0.0, change))

    def _independent(self, rows: Array, rhs: Array) -> tuple[Array, Array]:
        """Linearly independent combinations of rows (r, d) on the free dofs, and their right-hand sides."""
        assembly = self._assembly
        free = (assembly.free & ~assembly.massless).astype(float)
        diagonal = np.asarray(assembly.mass.diagonal())
        inverse_mass = np.divide(free, diagonal, out=np.zeros_like(diagonal), where=diagonal > 0.0)
        products = (rows * inverse_mass) @ rows.T
        sizes = np.sqrt(np.diag(products))
        nonzero = sizes > 0.0
        if not nonzero.any():
            return rows[:0], rhs[:0]
        rows, rhs = rows[nonzero] / sizes[nonzero, None], rhs[nonzero] / sizes[nonzero]
        values, vectors = np.linalg.eigh(products[np.ix_(nonzero, nonzero)] / np.outer(sizes[nonzero], sizes[nonzero]))
        independent = vectors[:, values > _INDEPENDENT * values.max()].T
        return independent @ rows, independent @ rhs


def centre(*systems: Sequence[Part]) -> Array:
    """Mean position (axis,), m, of the nodes of the first set of parts, with the axes of all sets."""
    axes = max(part.positions.shape[1] for parts in systems for part in parts)
    return np.asarray(np.mean(np.concatenate([_places(part, axes) for part in systems[0]]), axis=0))


def _places(part: Part, axes: int) -> Array:
    """Positions (node, axis), m, padded with zeros to `axes` (a bar beside plane masses)."""
    x = part.positions
    return np.pad(x, ((0, 0), (0, axes - x.shape[1])))


def inertia_rows(assembly: Assembly, origin: Array, u: Array | None = None) -> Array:
    """rᵀM (r, d): linear momenta by axis, and angular ones about a point; u (d,): displacements of the bodies, ignored
    for parts with rotational coordinates."""
    pieces = []
    for part, assembled, at in zip(assembly.system.parts, assembly.parts, assembly.places, strict=True):
        axes, components = origin.size, part.components
        arm = _places(part, axes) - origin
        if u is not None and components <= axes and assembled.shapes.shape[0] == part.node_count * components:
            displacement = np.asarray(assembled.shapes @ u[at]).reshape(part.node_count, components)
            arm[:, :components] += displacement
        nodal = rigid_modes(arm, components)
        pieces.append(np.asarray(assembled.shapes.T @ (sp.csr_array(assembled.inertia) @ nodal.T)).T)
    return np.concatenate(pieces, axis=1)
