"""Rigid-body modes of a part, and its flexibility (generalised inverse of K) orthogonal to them."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from arlequin.models.errors import UserError
from arlequin.models.linalg.factor import Factor, factorise
from arlequin.models.part import Assembled, MeshedPart
from arlequin.models.types import Array, Indices

_NO_ENERGY = 1e-18  # strain energy of a motion, relative to that of its dofs alone, below which the motion is rigid
_HELD = 1e-9  # relative motion of imposed dofs below which they are at rest


@dataclass(frozen=True, eq=False)
class Flexibility:
    """An assembled part on its free dofs (f,), with its rigid motions R (nodal, c), RᵀMR = 1, imposed dofs at rest.

    sizes (nodal,): 1 of a displacement, of a rotation the extent of the part, m: motions of both compare as lengths.

    `solve` is the generalised inverse of K on what is M-orthogonal to R: with P = 1 − R RᵀM,

        G = P K⁺ Pᵀ,    K⁺ the inverse of K with c dofs pinned: Pᵀf is in equilibrium, so that pins take no force.

    G f is the static displacement under f, of a floating part under f and its forces of inertia (inertia relief).
    Source: Craig & Kurdila, Fundamentals of Structural Dynamics, 2006, §17.7.
    """

    own: Assembled
    free: Indices
    rigid: Array
    sizes: Array

    @classmethod
    def of(cls, model: MeshedPart, own: Assembled) -> "Flexibility":
        held = np.zeros(model.dof_count, dtype=bool)
        for item in own.imposed:
            held[item.dofs] = True
        weightless = own.stiffness.diagonal() == 0.0  # cells under an overlap that weigh nothing
        motions = rigid_motions(model) * ~weightless[:, None]
        sizes = _sizes(model)
        motions = motions @ _null(sizes[held, None] * motions[held])
        # a translation in r, or a rotation of a body of revolution, stretches it
        forces = np.stack([own.internal(motion)[0] for motion in motions.T], axis=1) if motions.size else motions
        energy = motions.T @ forces
        size = float((own.stiffness.diagonal() @ motions**2).max(initial=0.0))
        values, vectors = np.linalg.eigh(0.5 * (energy + energy.T))
        if values.min(initial=0.0) < -_NO_ENERGY * size:
            raise UserError(f"'{model.name}' has an unstable rigid motion: a part in compression must be supported")
        motions = motions @ vectors[:, values <= _NO_ENERGY * size]
        motions[held] = 0.0
        gram = motions.T @ (own.mass @ motions)
        rigid = motions @ np.linalg.inv(np.linalg.cholesky(0.5 * (gram + gram.T))).T
        return cls(own, np.flatnonzero(~held & ~weightless), rigid, sizes)

    def solve(self, forces: Array) -> Array:
        """G f (nodal,) or (nodal, k) of forces on the free dofs."""
        rest = (forces - self._heavy @ (self.rigid.T @ forces))[self._unpinned]
        out = np.zeros_like(forces)
        out[self._unpinned] = self._factor.solve(np.asfortranarray(rest))
        return out - self.rigid @ (self._heavy.T @ out)

    def elastic(self, field: Array) -> Array:
        """P x: a field (nodal,) or (nodal, k) without its rigid motion."""
        return field - self.rigid @ (self._heavy.T @ field)

    @cached_property
    def _heavy(self) -> Array:
        return np.asarray(self.own.mass @ self.rigid)

    @cached_property
    def _unpinned(self) -> Indices:
        count = self.rigid.shape[1]
        if not count:
            return self.free
        _, pivots = scipy.linalg.qr((self.sizes[:, None] * self.rigid)[self.free].T, mode="r", pivoting=True)
        return np.sort(np.delete(self.free, pivots[:count]))

    @cached_property
    def _factor(self) -> Factor:
        chosen = self._unpinned
        return factorise(sp.csr_array(self.own.stiffness[chosen][:, chosen]))


def _sizes(model: MeshedPart) -> Array:
    axes = model.positions.shape[1]
    turns = np.arange(model.dof_count) % model.components >= axes
    return np.where(turns, float(np.ptp(model.positions, axis=0).max()), 1.0)


def rigid_motions(model: MeshedPart) -> Array:
    """Translations and small rotations about the centroid (nodal, c) of the nodes, with columns of like size."""
    positions, components = model.positions, model.components
    axes = positions.shape[1]
    moves = min(components, axes)
    offset = positions - positions.mean(axis=0)
    size = float(np.abs(offset).max()) or 1.0
    turns = {1: [], 2: [(0, 1)], 3: [(1, 2), (2, 0), (0, 1)]}[moves]
    out = np.zeros((len(positions), components, moves + len(turns)))
    for i in range(moves):
        out[:, i, i] = 1.0
    for k, (i, j) in enumerate(turns):
        out[:, j, moves + k], out[:, i, moves + k] = offset[:, i] / size, -offset[:, j] / size
        if components > axes:
            out[:, moves + k, moves + k] = 1.0 / size
    return out.reshape(model.dof_count, -1)


def _null(rows: Array) -> Array:
    """Combinations (c, k) of columns that vanish on all rows (m, c)."""
    if not rows.size:
        return np.eye(rows.shape[1])
    _, values, vectors = np.linalg.svd(rows, full_matrices=True)
    rank = int((values > _HELD * max(values.max(), 1e-300)).sum())
    return np.asarray(vectors[rank:].T)
