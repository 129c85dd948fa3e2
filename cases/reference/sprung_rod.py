"""Statics of a straight rod on lateral springs, by the flexibility method."""

import numpy as np

from arlequin.models.types import Array


def spring_forces(at: Array, stiffness: Array, ways: Array, bending: float, shear: float) -> Array:
    """Forces (k,), N, of springs k, N/m, on a free rod at the heights `at`, m, their grounds moved by `ways`, m.

    Between the springs of z_1 ≤ … ≤ z_n the shear force V and the curvature κ = M/EI follow from the forces F_i, and so
    does the deflection, up to a rigid motion a + b z:

        w(z) = a + b z + Σ_i F_i G(z − z_i),   G(x) = ⟨x⟩³/(6 EI) − ⟨x⟩/κGA,     F_i = k_i (e_i − w(z_i)),
        Σ F_i = 0,   Σ F_i z_i = 0

    (EI w⁗ = Σ F_i δ(z − z_i), with the kinks of shear). Springs at one height may be given apart.
    Source: Macaulay's brackets, Messenger of Mathematics 48, 1919; Timoshenko's shear deflection.
    """
    x = at[:, None] - at[None]
    positive = np.maximum(x, 0.0)
    influence = positive**3 / (6.0 * bending) - positive / shear
    count = at.size
    matrix = np.zeros((count + 2, count + 2))
    right = np.zeros(count + 2)
    matrix[:count, :count] = influence + np.diag(1.0 / stiffness)
    matrix[:count, count], matrix[:count, count + 1] = 1.0, at
    matrix[count, :count], matrix[count + 1, :count] = 1.0, at
    right[:count] = ways
    return np.asarray(np.linalg.solve(matrix, right)[:count])
