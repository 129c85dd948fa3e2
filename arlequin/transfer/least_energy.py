"""Fields of least energy under linear conditions, by a factor and iterative refinement."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import SuperLU, splu

from arlequin.models.types import Array

_REGULARISATION = 1e-9  # of the multipliers, relative to the compliances of their rows, which may be linearly dependent
_MAX_REFINEMENTS = 40


@dataclass(frozen=True)
class LeastEnergy:
    """min ½ xᵀK x − fᵀx with G x = g, by a factor of [K Gᵀ; G −ε] and iterative refinement on the equations without ε.

    K is scaled by its largest diagonal term and each row of G by its largest, so that units do not change the solution.
    """

    stiffness: sp.csr_array
    rows: sp.csr_array
    largest: float
    sizes: Array
    factor: SuperLU

    @classmethod
    def of(cls, stiffness: sp.csr_array, rows: sp.csr_array) -> "LeastEnergy":
        """Factorise the scaled matrix."""
        largest = float(stiffness.diagonal().max(initial=0.0)) or 1.0
        sizes = np.asarray(abs(rows).max(axis=1).toarray()).ravel()
        sizes[sizes == 0.0] = 1.0
        stiffness = sp.csr_array(stiffness / largest)
        rows = sp.csr_array(sp.diags_array(1.0 / sizes) @ rows)
        regularisation = sp.diags_array(np.full(rows.shape[0], -_REGULARISATION))
        bordered = sp.block_array([[stiffness, rows.T], [rows, regularisation]], format="csc")
        return cls(stiffness, rows, largest, sizes, splu(bordered))

    def solve(self, load: Array, rhs: Array) -> Array:
        """x (n,) under the forces f (n,) with G x = g (m,)."""
        n, load, rhs = load.size, load / self.largest, rhs / self.sizes
        first = self.factor.solve(np.concatenate([load, rhs]))
        x, multipliers, previous = first[:n], first[n:], np.inf
        for _ in range(_MAX_REFINEMENTS):
            residual = np.concatenate([load - self.stiffness @ x - self.rows.T @ multipliers, rhs - self.rows @ x])
            size = float(np.abs(residual[n:]).max(initial=0.0))
            if size >= 0.5 * previous:
                break
            correction = self.factor.solve(residual)
            x, multipliers, previous = x + correction[:n], multipliers + correction[n:], size
        return x
