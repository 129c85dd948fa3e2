"""Rigid-body modes of a part, and its flexibility (generalised inverse of K) orthogonal to them."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from arlequin.models.errors import UserError
from arlequin.models.linalg.factor import Factor, factorise
from arlequin.models.linalg.rigid_modes import rigid_modes
from arlequin.models.part import Assembled, MeshedPart, Part
from arlequin.models.types import Array, Indices

_NO_ENERGY = 1e-18  # strain energy of a motion, relative to that of its dofs alone, below which the motion is rigid
_AT_REST = 1e-9  # relative motion of imposed dofs below which they are at rest


@dataclass(frozen=True, eq=False)
class Flexibility:
    """An assembled part on its free dofs (f,), with its rigid motions R (nodal, c), RᵀMR = 1, imposed dofs at rest.

    sizes (nodal,): 1 for displacements, the extent of the part, m, for rotations: both are then compared as lengths.

    `solve` is the generalised inverse of K on the M-orthogonal complement of R: with P = 1 − R RᵀM,

        G = P K⁺ Pᵀ,    K⁺ the inverse of K with c dofs pinned: Pᵀf is in equilibrium, so that pins have no reaction.

    G f is the static displacement under f, of a floating part under f and its forces of inertia (inertia relief).
    Source: Craig & Kurdila, Fundamentals of Structural Dynamics, 2006, §17.7.
    """

    assembled: Assembled
    free: Indices
    rigid: Array
    sizes: Array

    @classmethod
    def of(cls, model: MeshedPart, assembled: Assembled) -> "Flexibility":
        imposed = np.zeros(model.dof_count, dtype=bool)
        for item in assembled.imposed:
            imposed[item.dofs] = True
        weightless = assembled.stiffness.diagonal() == 0.0  # cells of an overlap with weight 0
        motions = rigid_motions(model) * ~weightless[:, None]
        sizes = _sizes(model)
        motions = motions @ _null(sizes[imposed, None] * motions[imposed])
        # a radial translation, or a rotation of a body of revolution, strains it
        forces = np.stack([assembled.internal(motion)[0] for motion in motions.T], axis=1) if motions.size else motions
        energy = motions.T @ forces
        size = float((assembled.stiffness.diagonal() @ motions**2).max(initial=0.0))
        values, vectors = np.linalg.eigh(0.5 * (energy + energy.T))
        if values.min(initial=0.0) < -_NO_ENERGY * size:
            raise UserError(f"'{model.name}' has an unstable rigid motion: a part in compression must be supported")
        motions = motions @ vectors[:, values <= _NO_ENERGY * size]
        motions[imposed] = 0.0
        gram = motions.T @ (assembled.mass @ motions)
        rigid = motions @ np.linalg.inv(np.linalg.cholesky(0.5 * (gram + gram.T))).T
        return cls(assembled, np.flatnonzero(~imposed & ~weightless), rigid, sizes)

    def solve(self, forces: Array) -> Array:
        """G f (nodal,) or (nodal, k) of forces on the free dofs."""
        equilibrated = (forces - self._mass_rigid @ (self.rigid.T @ forces))[self._unpinned]
        out = np.zeros_like(forces)
        out[self._unpinned] = self._factor.solve(np.asfortranarray(equilibrated))
        return out - self.rigid @ (self._mass_rigid.T @ out)

    def elastic(self, field: Array) -> Array:
        """P x: a field (nodal,) or (nodal, k) without its rigid motion."""
        return field - self.rigid @ (self._mass_rigid.T @ field)

    @cached_property
    def _mass_rigid(self) -> Array:
        return np.asarray(self.assembled.mass @ self.rigid)

    @cached_property
    def _unpinned(self) -> Indices:
        count = self.rigid.shape[1]
        if not count:
            return self.free
        _, pivots = scipy.linalg.qr((self.sizes[:, None] * self.rigid)[self.free].T, mode="r", pivoting=True)
        return np.sort(np.delete(self.free, pivots[:count]))

    @cached_property
    def _factor(self) -> Factor:
        dofs = self._unpinned
        return factorise(sp.csr_array(self.assembled.stiffness[dofs][:, dofs]))


def _sizes(model: MeshedPart) -> Array:
    axes = model.positions.shape[1]
    is_rotation = np.arange(model.dof_count) % model.components >= axes
    return np.where(is_rotation, float(np.ptp(model.positions, axis=0).max()), 1.0)


def rigid_motions(model: Part) -> Array:
    """Translations and small rotations about the centroid (nodal, c) of the nodes, with columns of like size."""
    offset = model.positions - model.positions.mean(axis=0)
    modes = rigid_modes(offset, model.components)
    modes[offset.shape[1] :] /= float(np.abs(offset).max()) or 1.0
    return np.ascontiguousarray(modes.T)


def _null(rows: Array) -> Array:
    """Combinations (c, k) of columns that vanish on all rows (m, c)."""
    if not rows.size:
        return np.eye(rows.shape[1])
    _, values, vectors = np.linalg.svd(rows, full_matrices=True)
    rank = int((values > _AT_REST * max(values.max(), 1e-300)).sum())
    return np.asarray(vectors[rank:].T)
