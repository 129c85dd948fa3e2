"""The largest stable step of central differences."""

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import eigsh

from arlequin.assembly import Assembly
from models.matrix import binade
from models.nonlinear import Deforming
from models.types import Array


def stable_step(assembly: Assembly, u: Array | None = None) -> float:
    """Bound of the stable step, s, of the cells as they are at u (d,), or at rest.

    It is the positive root of ω² Δt² + 2 δ Δt = 4 (2/ω without damping): ω² ≤ max over parts ω_p² + bounds of the
    springs and of the contact laws; δ the largest eigenvalue of M⁻¹D, D of the parts and of absorbing junctions,
    whose force lags by half a step.
    """
    square = max(_frequencies(assembly, u)) ** 2
    diagonal = assembly.mass.diagonal()
    inverse = np.divide(1.0, diagonal, out=np.zeros_like(diagonal), where=~assembly.ghost)
    square += assembly.links.frequency_bound(diagonal) ** 2
    if assembly.laws.has_regular:
        square += assembly.contact.frequency_bound(inverse) ** 2
    decay = 0.0 if assembly.viscous is None else _largest(assembly.viscous, inverse)
    root = decay + np.sqrt(decay**2 + 4.0 * square)
    return 4.0 / root if root > 0.0 else np.inf


def _frequencies(assembly: Assembly, u: Array | None) -> list[float]:
    pieces = assembly.split(np.zeros(assembly.dof_count) if u is None else u)
    return [
        part.frequency(piece) if isinstance(part, Deforming) else part.highest_frequency()
        for part, piece in zip(assembly.parts, pieces, strict=True)
    ]


def _largest(matrix: sp.csr_array, inverse: Array) -> float:
    """Largest eigenvalue of M⁻¹D, D ≥ 0 (d, d), by Lanczos, or Gershgorin's bound where that is less."""
    bound = float((inverse * (abs(matrix) @ np.ones(inverse.size))).max())
    root = np.sqrt(inverse)
    unit = binade(bound)  # for ARPACK, whose smallest eigenvalue that counts is absolute
    scaled = sp.csr_array(matrix.multiply(root[:, None]).multiply(root / unit))
    if inverse.size < 3 or bound == 0.0:
        return bound
    start = np.cos(1.0 + np.arange(inverse.size))
    found = eigsh(scaled, k=1, which="LA", v0=start, tol=1e-6, return_eigenvectors=False)
    return min(bound, unit * float(found[0]) * (1.0 + 1e-6))
