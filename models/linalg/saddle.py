"""Saddle points A y − Cᵀφ = b, C y = c by one sparse factor of both."""

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from arlequin.models.linalg.components import equal_components
from arlequin.models.linalg.constraints import constraint_factor
from arlequin.models.linalg.factor import QuasiDefiniteFactor
from arlequin.models.types import Array

_SHIFT = 2.0**-33  # ε: relative error of the factor, and convergence factor of each pass of refinement
_MAX_PASSES, _TOLERANCE = 4, 4e-16  # passes of refinement; relative error of C y at which they end


class SaddlePoint:
    """A y = b + Cᵀφ, C y = c of a sparse positive definite A (n, n) and constraints C (m, n), with

        K_ε = [A  Cᵀ; C  −ε N] = L D Lᵀ,    K_ε x₀ = f,  x₊ = x + K_ε⁻¹ (f − K₀ x),    x = [y; −φ],  f = [b; c],

    N = diag(C_i diag(A)⁻¹ C_iᵀ). K_ε is quasi-definite: it is factored in the order in which the factor has few
    entries, without dense matrices n × m or m × m. Each pass of refinement multiplies the residual C y − c by about
    ε / (s + ε), s the eigenvalues of N^-½ C A⁻¹ Cᵀ N^-½. Dependent rows are left out, with φ = 0.
    Components of a field with equal blocks share one factor.
    """

    def __init__(self, A: sp.csr_array, rows: sp.csr_array) -> None:
        diagonal = A.diagonal()
        schur = sp.csr_array(rows.multiply(1.0 / diagonal) @ rows.T)
        self._independent = constraint_factor(schur)[0] if rows.shape[0] else np.zeros(0, dtype=np.int64)
        constraints = sp.csr_array(rows[self._independent])
        self.size, self.rows = A.shape[0], rows
        shift = -_SHIFT * schur.diagonal()[self._independent]
        exact = (
            sp.csr_array(sp.block_array([[A, constraints.T], [constraints, None]]))
            if self._independent.size
            else sp.csr_array(A)
        )
        shifted = sp.csr_array(exact + sp.diags_array(np.concatenate([np.zeros(self.size), shift])))
        places = equal_components(shifted)
        self._places: NDArray[np.int64] = np.arange(exact.shape[0])[None] if places is None else places
        first = self._places[0]
        self._exact = sp.csr_array(exact[first][:, first])
        self._factor = QuasiDefiniteFactor(shifted[first][:, first])
        self._constrained = first >= self.size
        self._sizes = abs(self._exact[self._constrained])

    def solve(self, b: Array, c: Array) -> tuple[Array, Array]:
        """y (n,) and φ (m,) of b (n,) and c (m,)."""
        rhs = np.concatenate([b, c[self._independent]])[self._places].T  # (size of a component, components)
        x = self._factor.solve(np.asfortranarray(rhs))
        for _ in range(_MAX_PASSES):
            residual = rhs - self._exact @ x
            mismatch = float(np.abs(residual[self._constrained]).max(initial=0.0))
            x += self._factor.solve(np.asfortranarray(residual))
            if mismatch <= _TOLERANCE / _SHIFT * float((self._sizes @ np.abs(x)).max(initial=0.0)):
                break
        solution = np.empty(self._places.size)
        solution[self._places] = x.T
        multipliers = np.zeros(self.rows.shape[0])
        multipliers[self._independent] = -solution[self.size :]
        return solution[: self.size], multipliers
