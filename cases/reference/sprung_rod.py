"""Statics of a straight rod on lateral springs, by the flexibility method."""

import numpy as np

from arlequin.models.types import Array


def spring_forces(heights: Array, stiffness: Array, displacements: Array, bending: float, shear: float) -> Array:
    """Forces (k,), N, of springs k, N/m, on a free rod at `heights`, m, whose bases have `displacements`, m.

    The shear force V, the curvature κ = M/EI and, up to a rigid motion a + b z, the deflection follow from the forces
    F_i of the springs at z_1 ≤ … ≤ z_n:

        w(z) = a + b z + Σ_i F_i G(z − z_i),   G(x) = ⟨x⟩³/(6 EI) − ⟨x⟩/κGA,     F_i = k_i (e_i − w(z_i)),
        Σ F_i = 0,   Σ F_i z_i = 0

    (EI w⁗ = Σ F_i δ(z − z_i), with the kinks of shear). Springs at one height may be given apart.
    Source: Macaulay's brackets, Messenger of Mathematics 48, 1919; Timoshenko's shear deflection.
    """
    x = heights[:, None] - heights[None]
    positive = np.maximum(x, 0.0)
    influence = positive**3 / (6.0 * bending) - positive / shear
    count = heights.size
    matrix = np.zeros((count + 2, count + 2))
    rhs = np.zeros(count + 2)
    matrix[:count, :count] = influence + np.diag(1.0 / stiffness)
    matrix[:count, count], matrix[:count, count + 1] = 1.0, heights
    matrix[count, :count], matrix[count + 1, :count] = 1.0, heights
    rhs[:count] = displacements
    return np.asarray(np.linalg.solve(matrix, rhs)[:count])
