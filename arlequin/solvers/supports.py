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
_ROUND_OFF = 1e-12  # relative size of a combination of motions that counts as zero
_MAX_GROUP = 300  # rigid motions of parts connected by springs, above which the group is skipped
_MAX_SUPPORTS = 1000


def soft_supports(assembly: Assembly, matrix: Any, unknowns: Unknowns) -> Indices:
    """Dofs F (k,) of the unknowns that determine the soft rigid motions: dofs without stiffness and, for each group of
    parts coupled by the matrix A (u, u), as many as it has motions R a with

        a·RᵀAR a ≤ 1e-6 a·Rᵀ diag(A) R a.

    They are the pivots of diag(A)^½ R a, so that with F fixed the other dofs are as stiff as possible with few
    supports. Empty if there were more than 1000.
    """
    diagonal = matrix.diagonal()
    pieces = [
        sp.csr_array(part_motions(part, assembled)[0])
        for part, assembled in zip(assembly.system.parts, assembly.parts, strict=True)
    ]
    weightless = diagonal <= 0.0
    motions = sp.csr_array(sp.block_diag(pieces, format="csr"))[unknowns.at]
    motions = sp.csc_array(sp.diags_array(np.sqrt(np.where(weightless, 0.0, diagonal))) @ motions)
    scale = np.where(weightless, 0.0, 1.0 / np.sqrt(np.where(weightless, 1.0, diagonal)))
    fields = scale[:, None] * motions
    energy, size = sp.csr_array(fields.T @ (matrix @ fields)), sp.csr_array(motions.T @ motions)
    pivot_dofs = [np.flatnonzero(weightless)]
    _, labels = sp.csgraph.connected_components(abs(energy) + size, directed=False)
    for group in range(labels.max(initial=-1) + 1):
        columns = np.flatnonzero(labels == group)
        if columns.size > _MAX_GROUP:
            continue
        group_motions = motions[:, columns]
        soft = group_motions @ _soft(*(each[columns][:, columns].toarray() for each in (energy, size)))
        if soft.shape[1]:
            rows = np.unique(group_motions.indices)
            _, pivots = scipy.linalg.qr(soft[rows].T, mode="r", pivoting=True)
            pivot_dofs.append(rows[pivots[: soft.shape[1]]])
    supports = np.unique(np.concatenate(pivot_dofs)).astype(np.int64)
    return supports if supports.size <= _MAX_SUPPORTS else supports[:0]


def _soft(energy: Array, size: Array) -> Array:
    """Orthogonal combinations (c, k) of motions that are soft."""
    values, vectors = np.linalg.eigh(size)
    nonzero = values > _ROUND_OFF * values.max(initial=0.0)
    unit = vectors[:, nonzero] / np.sqrt(values[nonzero])
    values, vectors = np.linalg.eigh(unit.T @ energy @ unit)
    return np.asarray(unit @ vectors[:, values <= _SOFT])
