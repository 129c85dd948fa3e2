"""The lowest eigenvalues of sparse matrices by shift-invert Lanczos."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, eigsh

from arlequin.models.linalg.matrix import binade
from arlequin.models.types import Array


def lowest_modes(
    stiffness: Any,
    mass: sp.csr_array,
    count: int,
    solve: Callable[[Array], Array],
    *,
    unit: float,
    shift: float = 0.0,
    tolerance: float = 0.0,
) -> tuple[Array, Array]:
    """The lowest eigenvalues ω² (count,), increasing, and shapes (d, count), φᵀMφ = 1, of (K − ω² M) φ = 0.

    solve: b (d,) ↦ (K + shift·M)⁻¹ b, where it is a projection on constraints too the modes obey these. unit: scale of
    the eigenvalues, of which the binade counts (ARPACK's threshold for an eigenvalue of zero is absolute).
    """
    size, unit = mass.shape[0], binade(unit)
    inverse = LinearOperator((size, size), matvec=lambda b: unit * solve(b.ravel()), dtype=float)
    values, shapes = eigsh(
        stiffness / unit,
        count,
        mass,
        sigma=-shift / unit,
        OPinv=inverse,
        v0=solve(np.cos(1.0 + np.arange(size)) * mass.diagonal()),
        tol=tolerance,
        which="LM",
    )
    order = np.argsort(values)
    return unit * values[order], shapes[:, order]
