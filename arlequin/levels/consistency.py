"""Projection of a transferred field on the constraints, and on momenta, of the system that it comes to."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from arlequin.models.part import Part
from arlequin.models.types import Array
from arlequin.solvers.condensed import ConstrainedSystem, RigidCondensed
from arlequin.solvers.solver_choice import mass_system
from arlequin.system.assembly import Assembly

_INDEPENDENT = 1e-10
_NONE = 1e-14  # of a constraint's terms: round-off


class Consistency:
    """x + δ of least δᵀMδ with C (x + δ) = 0 and the momenta rᵀM (x + δ) given; imposed dofs keep their values."""

    def __init__(self, assembly: Assembly) -> None:
        self._assembly = assembly

    @cached_property
    def _inertia(self) -> ConstrainedSystem:
        return mass_system(self._assembly, self._assembly.free & ~self._assembly.massless, contact=False)

    def of(self, field: Array, rows: Array | None = None, wanted: Array | None = None) -> Array:
        """The field (d,) projected; rows (r, d): rᵀM, and the momenta (r,) wanted of it."""
        assembly = self._assembly
        constraints = assembly.constraints
        size = abs(constraints) @ np.abs(field)
        missing = constraints @ field
        broken = bool((np.abs(missing) > _NONE * size).any())
        inner, lack = np.zeros((0, field.size)), np.zeros(0)
        if rows is not None and wanted is not None:
            lack = wanted - rows @ field
            if not broken and (np.abs(lack) <= 1e-15 * (abs(rows) @ np.abs(field))).all():
                return field
            inner, lack = self._independent(rows, lack)
        elif not broken:
            return field
        given = np.zeros(assembly.imposed_dofs.size) if assembly.imposed_dofs.size else None
        held = RigidCondensed(self._inertia, sp.csr_array(inner))
        change = held.predict(np.zeros(field.size), -missing, lack, given).y
        return np.asarray(field + np.where(assembly.massless, 0.0, change))

    def _independent(self, rows: Array, right: Array) -> tuple[Array, Array]:
        """Combinations of rows (r, d) that are independent on the free dofs, and their right-hand sides."""
        assembly = self._assembly
        free = (assembly.free & ~assembly.massless).astype(float)
        diagonal = np.asarray(assembly.mass.diagonal())
        yielding = np.divide(free, diagonal, out=np.zeros_like(diagonal), where=diagonal > 0.0)
        products = (rows * yielding) @ rows.T
        sizes = np.sqrt(np.diag(products))
        some = sizes > 0.0
        if not some.any():
            return rows[:0], right[:0]
        rows, right = rows[some] / sizes[some, None], right[some] / sizes[some]
        values, vectors = np.linalg.eigh(products[np.ix_(some, some)] / np.outer(sizes[some], sizes[some]))
        kept = vectors[:, values > _INDEPENDENT * values.max()].T
        return kept @ rows, kept @ right


def centre(*systems: Sequence[Part]) -> Array:
    """Mean position (axis,) of the nodes of the first of some sets of parts, m, with the axes of all of them."""
    axes = max(part.positions.shape[1] for parts in systems for part in parts)
    return np.asarray(np.mean(np.concatenate([_places(part, axes) for part in systems[0]]), axis=0))


def _places(part: Part, axes: int) -> Array:
    """Positions (node, axis), m, with zeros along axes that the part does not have (a bar beside plane masses)."""
    x = part.positions
    return np.pad(x, ((0, 0), (0, axes - x.shape[1])))


def inertia_rows(assembly: Assembly, origin: Array, u: Array | None = None) -> Array:
    """rᵀM (r, d): linear momenta by axis, and angular ones about a point; u (d,): displacements of the bodies, of
    which parts with rotations in their coordinates take none."""
    pieces = []
    for part, own, at in zip(assembly.system.parts, assembly.parts, assembly.places, strict=True):
        axes, components = origin.size, part.components
        planes = {1: [], 2: [(0, 1)], 3: [(1, 2), (2, 0), (0, 1)]}[axes]
        modes = np.zeros((axes + len(planes), part.node_count, components))
        for i in range(min(axes, components)):
            modes[i, :, i] = 1.0
        arm = _places(part, axes) - origin
        if u is not None and components <= axes and own.shapes.shape[0] == part.node_count * components:
            moved = np.asarray(own.shapes @ u[at]).reshape(part.node_count, components)
            arm[:, :components] += moved
        for k, (i, j) in enumerate(planes):
            if components >= axes:
                modes[axes + k, :, i], modes[axes + k, :, j] = -arm[:, j], arm[:, i]
            if components > axes:
                modes[axes + k, :, axes + k] = 1.0
        nodal = modes.reshape(len(modes), -1)
        pieces.append(np.asarray(own.shapes.T @ (sp.csr_array(own.inertia) @ nodal.T)).T)
    return np.concatenate(pieces, axis=1)
