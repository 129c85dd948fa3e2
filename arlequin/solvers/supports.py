"""Supports of the motions that the matrix of a step leaves free, or nearly so."""

from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from arlequin.models.types import Array, Indices
from arlequin.solvers.free_motions import part_motions
from arlequin.solvers.unknowns import Unknowns
from arlequin.system.assembly import Assembly

_SOFT = 1e-6  # stiffness of a rigid motion, relative to that of its dofs alone, below which it is supported
_NONE = 1e-12  # relative size of a combination of motions that is none
_TOGETHER = 300  # rigid motions of parts that springs connect, beyond which they are not looked at
_MOST = 1000  # supports


def soft_supports(assembly: Assembly, matrix: Any, unknowns: Unknowns) -> Indices:
    """Dofs F (k,) of the unknowns that determine the soft rigid motions: those without stiffness, and as many for each
    group of parts that the matrix A (u, u) couples as it has motions R a with

        a·RᵀAR a ≤ 1e-6 a·Rᵀ diag(A) R a.

    They are the pivots of diag(A)^½ R a, so that the other dofs, with F at rest, are as stiff as few supports make
    them. Empty where A has more than 1000.
    """
    diagonal = matrix.diagonal()
    pieces = [
        sp.csr_array(part_motions(part, own)[0])
        for part, own in zip(assembly.system.parts, assembly.parts, strict=True)
    ]
    weightless = diagonal <= 0.0
    motions = sp.csr_array(sp.block_diag(pieces, format="csr"))[unknowns.at]
    motions = sp.csc_array(sp.diags_array(np.sqrt(np.where(weightless, 0.0, diagonal))) @ motions)
    scale = np.where(weightless, 0.0, 1.0 / np.sqrt(np.where(weightless, 1.0, diagonal)))
    fields = scale[:, None] * motions
    energy, size = sp.csr_array(fields.T @ (matrix @ fields)), sp.csr_array(motions.T @ motions)
    found = [np.flatnonzero(weightless)]
    _, labels = sp.csgraph.connected_components(abs(energy) + size, directed=False)
    for group in range(labels.max(initial=-1) + 1):
        columns = np.flatnonzero(labels == group)
        if columns.size > _TOGETHER:
            continue
        own = motions[:, columns]
        soft = own @ _soft(*(each[columns][:, columns].toarray() for each in (energy, size)))
        if soft.shape[1]:
            rows = np.unique(own.indices)
            _, pivots = scipy.linalg.qr(soft[rows].T, mode="r", pivoting=True)
            found.append(rows[pivots[: soft.shape[1]]])
    supports = np.unique(np.concatenate(found)).astype(np.int64)
    return supports if supports.size <= _MOST else supports[:0]


def _soft(energy: Array, size: Array) -> Array:
    """Orthogonal combinations (c, k) of motions that are soft."""
    values, vectors = np.linalg.eigh(size)
    some = values > _NONE * values.max(initial=0.0)
    unit = vectors[:, some] / np.sqrt(values[some])
    values, vectors = np.linalg.eigh(unit.T @ energy @ unit)
    return np.asarray(unit @ vectors[:, values <= _SOFT])
