"""Eigenvalues of λ²M + λD + K of a linearised system, whose matrices need not be symmetric."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import ArpackError, LinearOperator, eigs

from arlequin.frequency.complex_factor import Factors
from arlequin.models.errors import UserError
from arlequin.models.types import Array

Complex = NDArray[np.complex128]
_DENSE = 100  # unknowns up to which all eigenvalues are computed
_MOST = 2000  # unknowns up to which they are where Arnoldi's iteration does not converge
_MARGIN = 6  # eigenvalues computed beyond those asked for
_REAL = 1e-9  # |Im λ| relative to |λ|, below which an eigenvalue is real
_GROWTH = 1e-9  # Re λ relative to |λ| and to the scale of the frequencies, above which a mode grows
RIGID = 1e-6  # |λ| relative to the scale, below which it is 0 to round-off: rigid motions are double eigenvalues


@dataclass(frozen=True, eq=False)
class QuadraticPencil:
    """λ²M + λD + K of the free coordinates (n,) of a linearised system under its constraints: Q(λ) x = Bᵀφ, B x = 0.

    structural: Q(λ) + iH, of oscillations with Im λ > 0 in structural damping.
    """

    factors: Factors
    structural: bool = False

    @property
    def size(self) -> int:
        """Number of unknowns n."""
        return int(self.factors.linear.free.size)

    @cached_property
    def matrices(self) -> tuple[sp.csr_array, sp.csr_array, sp.csr_array]:
        """M, D and K (n, n)."""
        linear = self.factors.linear
        stiffness = linear.stiffness + 1j * linear.structural if self.structural else linear.stiffness
        each = linear.mass, linear.damping, stiffness
        m, d, k = (sp.csr_array(sp.csr_array(matrix)[linear.free][:, linear.free]) for matrix in each)
        return m, d, k

    @property
    def scale(self) -> float:
        """A positive number, 1/s, near the lowest |λ| ≠ 0 without flows, by which eigenvalues are shifted."""
        still = self.factors.still
        first = 1e-3 * float(np.sqrt(still.mean_ratio))
        lowest = np.abs(QuadraticPencil(still).near(first, 1)[0])
        elastic = lowest[lowest > 1e-6 * first]
        # not an eigenvalue itself, also where a motion is overdamped
        return 0.83 * float(elastic.min()) if elastic.size else first

    def all_of(self, count: int) -> bool:
        """Whether `near` computes all eigenvalues, asked for `count`."""
        return self.size <= _DENSE or 2 * (2 * count + _MARGIN) >= 2 * self.size - 2

    def near(self, shift: float, count: int) -> tuple[Complex, Complex]:
        """The eigenvalues (m,) closest to a real shift σ, 1/s, and shapes (n, m); m ≥ count where there are as many.

        With μ = 1/(λ − σ) the linearised pencil of (x, λx) is S z = μ z,

            S = (A − σE)⁻¹ E,   A = (0 1; −K −D),   E = diag(1, M),   (A − σE)⁻¹ (a, b) = (x, a + σx),
            Q(σ) x = −b − (D + σM) a

        so that one factor of Q(σ), real without H, serves; eigenvalues at infinity, of unknowns without mass, are
        μ = 0. Source: Tisseur & Meerbergen, SIAM Rev. 43 (2001) 235–286.
        """
        if self.all_of(count):
            return self._dense(shift)
        try:
            return self._sparse(shift, 2 * count + _MARGIN)
        except ArpackError:
            if self.size > _MOST:
                raise UserError("complex modes: the eigenvalues did not converge; take fewer modes") from None
            return self._dense(shift)

    def _dense(self, shift: float) -> tuple[Complex, Complex]:
        rows = self.factors.rows[:, self.factors.linear.free].toarray()
        basis = scipy.linalg.null_space(rows) if rows.size else np.eye(self.size)
        mass, damping, stiffness = (basis.T @ (matrix @ basis) for matrix in self.matrices)
        values, vectors = all_eigenvalues(mass, damping, stiffness, shift)
        return values, basis @ vectors

    def _sparse(self, shift: float, count: int) -> tuple[Complex, Complex]:
        size, free, whole = self.size, self.factors.linear.free, self.factors.linear.dof_count
        mass, damping, _ = self.matrices
        shifted, factor = sp.csr_array(damping + shift * mass), self.factors.quadratic(shift, self.structural)

        def apply(vector: Array) -> Array:
            first, second = vector[:size], vector[size:]
            right: Any = np.zeros((whole, 1), dtype=vector.dtype)
            right[free, 0] = -(mass @ second) - shifted @ first
            x = factor.solve(right)[0][free, 0]
            return np.concatenate([x, first + shift * x])

        start = apply(apply(np.random.default_rng(0).standard_normal(2 * size)))
        operator = LinearOperator((2 * size, 2 * size), matvec=apply, dtype=start.dtype)
        inverse, vectors = eigs(operator, count, which="LM", v0=start, tol=1e-13)
        return _from_inverse(inverse, vectors[:size], shift)


def all_eigenvalues(mass: Array, damping: Array, stiffness: Any, shift: float) -> tuple[Complex, Complex]:
    """All finite λ (m,) with Im λ ≥ 0 of λ²M + λD + K, dense (n, n), those closest to the shift first, and vectors
    (n, m); by the operator S of `QuadraticPencil.near`."""
    shifted = damping + shift * mass
    # each unknown in the unit in which its stiffness is 1: rotations and displacements are of one size
    scale = 1.0 / np.sqrt(np.maximum(np.abs((stiffness + shift * shifted).diagonal()), 1e-300))
    mass, damping, stiffness, shifted = (scale[:, None] * m * scale for m in (mass, damping, stiffness, shifted))
    factor = scipy.linalg.lu_factor(stiffness + shift * shifted)
    left, right = (-scipy.linalg.lu_solve(factor, m) for m in (shifted, mass))
    operator = np.block([[left, right], [np.eye(len(left)) + shift * left, shift * right]])
    inverse, vectors = scipy.linalg.eig(operator)
    return _from_inverse(inverse, scale[:, None] * vectors[: len(left)], shift)


def growth_limit(size: Array, scale: float) -> Array:
    """1e-9 (|λ| + scale), 1/s, above which Re λ of eigenvalues of the sizes |λ| is growth."""
    return _GROWTH * (size + scale)


def grows(values: Complex, scale: float) -> NDArray[np.bool_]:
    """Which eigenvalues grow: Re λ above `growth_limit`, and |λ| > 1e-6 scale, a rigid motion otherwise."""
    size = np.abs(values)
    return np.asarray((values.real > growth_limit(size, scale)) & (size > RIGID * scale))


def _from_inverse(inverse: Complex, vectors: Complex, shift: float) -> tuple[Complex, Complex]:
    """λ = σ + 1/μ of finite eigenvalues with Im λ ≥ 0, closest to σ first, and their vectors."""
    finite_ones = np.abs(inverse) > 1e-13 * np.abs(inverse).max(initial=0.0)
    values, vectors = shift + 1.0 / inverse[finite_ones], vectors[:, finite_ones]
    real = np.abs(values.imag) <= _REAL * np.abs(values)
    values = np.where(real, values.real + 0.0j, values)
    chosen = np.flatnonzero(real | (values.imag > 0.0))
    chosen = chosen[np.argsort(np.abs(values[chosen] - shift), kind="stable")]
    return values[chosen], vectors[:, chosen]
