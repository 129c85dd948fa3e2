"""LU factors of the matrices of a linearised system with its constraints, all on one sparsity pattern."""

from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import splu

from arlequin.frequency.linearised import Linearised
from arlequin.models.errors import UserError
from arlequin.models.linalg.factor import fill_reducing_order
from arlequin.models.types import Array, Indices

_PIVOT = 1e-3  # a diagonal entry above this share of the largest in its column is taken as the pivot
_SHARE = 1e-10  # γ of the factors, whose effect refinement takes out of the solutions
_PENALTY = 1e-6  # γ in the count of negative pivots, where nothing is refined
_NEGATIVE = 1e-13  # negative eigenvalue, relative to the mean ratio of stiffness and mass, above round-off
_SINGULAR = 1e-3  # residual, relative to the load, above which the system is singular (fine beams have some 1e-8)
_REFINED, _REFINEMENTS = 1e-13, 6
UNSTABLE = "the system is unstable at rest, so it has no steady oscillation: a beam buckles, or a stiffness is negative"
_SINGULAR_AT = (
    "{} the equations are singular: an undamped resonance, a motion that nothing holds, or imposed motions that "
    "contradict a constraint"
)


class Factors:
    """Factors of the matrices of a linearised system, in one fill-reducing order of the free coordinates and the
    multipliers.

        [A_ff  R_fᵀ; R_f  0] [u_f; x] = [f_f − A_fp u_p; −R_p u_p],   λ = S x,   R = S C,   A = K + iH + iωD − ω²M

    f: the free coordinates, p: those with prescribed amplitudes u_p. The rows of R have the largest entry σ, the mean
    diagonal entry of K, so that multipliers x are of the size of displacements. Constraints that repeat each other, as
    contact of both sides, and those of prescribed coordinates alone are admitted: −γσ²/a on the diagonal of the
    multipliers, a the mean diagonal entry of A, makes the factors regular, and iterative refinement takes its effect
    out. K and D have the forces of flows, with which A is not symmetric: the pattern alone is taken as such.
    """

    def __init__(self, linear: Linearised) -> None:
        self.linear = linear
        rows = abs(linear.constraints)
        largest = rows.max(axis=1).toarray().ravel() if rows.shape[0] else np.zeros(0)
        self.scale = float(np.abs(linear.stiffness.diagonal()[linear.free]).mean() if linear.free.size else 0.0) or 1.0
        self.row_scale = self.scale / np.where(largest > 0.0, largest, 1.0)
        self.rows = sp.csr_array(sp.diags_array(self.row_scale) @ linear.constraints)
        self._last: tuple[float, ConstrainedFactor] | None = None

    def at(self, frequency: float) -> "ConstrainedFactor":
        """The factor of K + iH + iωD − ω²M at a frequency, Hz; the last one is cached."""
        if self._last is None or self._last[0] != frequency:
            omega = 2.0 * np.pi * frequency
            coefficients = (1.0, 1j, 1j * omega, -(omega**2)) if self.linear.damped else (1.0, 0.0, 0.0, -(omega**2))
            self._last = frequency, ConstrainedFactor(self, coefficients, _SINGULAR_AT.format(f"at {frequency:g} Hz"))
        return self._last[1]

    def shifted(self, shift: float) -> "ConstrainedFactor":
        """The factor of K + shift M; shift, 1/s²."""
        return ConstrainedFactor(self, (1.0, 0.0, 0.0, shift), _SINGULAR_AT.format("at rest"))

    def quadratic(self, shift: float, structural: bool) -> "ConstrainedFactor":
        """The factor of K + σD + σ²M, σ = shift, 1/s; structural: + iH."""
        coefficients = (1.0, 1j if structural else 0.0, shift, shift**2)
        return ConstrainedFactor(self, coefficients, f"shift = {shift:g}: is an eigenvalue, 1/s: take another shift")

    @cached_property
    def still(self) -> "Factors":
        """Those of the system without the forces of flows."""
        return self if self.linear.flow is None else Factors(self.linear.still)

    @cached_property
    def mean_ratio(self) -> float:
        """Mean ratio of the diagonals of stiffness and mass of the free coordinates with mass, 1/s²."""
        linear = self.linear
        mass = linear.mass.diagonal()[linear.free]
        if not (mass > 0.0).any():
            raise UserError("frequency domain: no coordinate of the system has mass and is free to move")
        ratio = np.abs(linear.stiffness.diagonal()[linear.free][mass > 0.0]) / mass[mass > 0.0]
        return float(ratio.mean()) or 1.0

    def check_definite(self) -> None:
        """UserError where K, of a system without flows, is not positive semidefinite on C u = 0: it is unstable.

        By Sylvester's law of inertia: [K + sM  Rᵀ; R  −γσ] = L D Lᵀ has as many negative pivots as multipliers and
        negative eigenvalues of K + sM + RᵀR/(γσ), s a round-off.
        """
        data = self.regular(self.combined((1.0, 0.0, 0.0, _NEGATIVE * self.mean_ratio)), _PENALTY)[0]
        matrix = sp.csc_array((data, self.indices, self.starts), shape=(self.order.size,) * 2)
        try:
            pivots = splu(matrix, permc_spec="NATURAL", diag_pivot_thresh=0.0, options={"SymmetricMode": True}).U
        except RuntimeError:
            return  # a pivot of exactly zero: a motion that nothing holds
        if np.count_nonzero(pivots.diagonal() < 0.0) > self.linear.constraints.shape[0]:
            raise UserError(UNSTABLE)

    def combined(self, coefficients: tuple[complex, ...]) -> Array:
        """Values (nnz,) of a K + b H + c D + e M with the border, in `order`."""
        _, values, data = self._pattern
        for coefficient, value in zip(coefficients, values, strict=True):
            if coefficient and value is not None:
                data = data + coefficient * value
        return data

    def regular(self, data: Array, share: float) -> tuple[Array, float]:
        """The values with −share σ²/a on the diagonal of the multipliers, and a."""
        coordinates, multipliers = self._diagonal
        mean = float(np.abs(data[coordinates]).mean()) if coordinates.size else 0.0
        mean = mean or self.scale
        if not multipliers.size:
            return data, mean
        data = data.copy()
        data[multipliers] -= share * self.scale**2 / mean
        return data, mean

    @property
    def indices(self) -> Indices:
        """Row numbers (nnz,) of the entries by columns."""
        return self._pattern[0].indices

    @property
    def starts(self) -> Indices:
        """Where each column of `indices` begins (n + 1,)."""
        return self._pattern[0].indptr

    @cached_property
    def _diagonal(self) -> tuple[Indices, Indices]:
        """Where the diagonal entries of the coordinates and those of the multipliers are among the values."""
        column = np.repeat(np.arange(self.order.size), np.diff(self.starts))
        diagonal = np.flatnonzero(column == self.indices)
        of_multiplier = self.border[column[diagonal]]
        return diagonal[~of_multiplier], diagonal[of_multiplier]

    @cached_property
    def _pattern(self) -> tuple[Any, list[Array | None], Array]:
        """The union of the patterns, in `order`; the values of K, H, D, M on it, None without entries; the border."""
        linear, count = self.linear, self.linear.dof_count
        size, n = count + self.rows.shape[0], self.order.size
        place = np.full(size, -1)
        place[self.order] = np.arange(n)

        def entries(matrix: Any) -> tuple[Indices, Array]:
            """Number column × n + row and value of the entries between chosen rows and columns."""
            coo = sp.coo_array(matrix)
            row, column = place[coo.coords[0]], place[coo.coords[1]]
            inside = (row >= 0) & (column >= 0)
            return column[inside].astype(np.int64) * n + row[inside], coo.data[inside]

        rows = sp.coo_array(self.rows)
        i, j = count + rows.coords[0], rows.coords[1]
        multipliers = np.arange(count, size)
        border = sp.coo_array(
            (
                np.concatenate([rows.data, rows.data, np.zeros(multipliers.size)]),
                (np.concatenate([i, j, multipliers]), np.concatenate([j, i, multipliers])),
            ),
            shape=(size, size),
        )
        blocks = [entries(m) for m in (linear.stiffness, linear.structural, linear.damping, linear.mass, border)]
        keys = np.sort(np.concatenate([numbers for numbers, _ in blocks]))  # np.unique hashes: 20 times as long
        keys = keys[np.diff(keys, prepend=-1) > 0]
        values = [
            np.bincount(np.searchsorted(keys, numbers), data, keys.size).astype(float) if numbers.size else None
            for numbers, data in blocks
        ]
        starts = np.searchsorted(keys, np.arange(n + 1, dtype=np.int64) * n).astype(np.int32)
        pattern = sp.csc_array((np.ones(keys.size), (keys % n).astype(np.int32), starts), shape=(n, n))
        return pattern, values[:4], np.zeros(keys.size) if values[4] is None else values[4]

    @cached_property
    def border(self) -> NDArray[np.bool_]:
        """Which of `order` are multipliers (n,)."""
        return self.order >= self.linear.dof_count

    @cached_property
    def order(self) -> Indices:
        """The free coordinates and the multipliers, numbered after all coordinates, in a fill-reducing order (n,)."""
        linear, rows = self.linear, abs(self.rows)
        pattern = abs(linear.stiffness) + abs(linear.damping) + abs(linear.mass)
        kept = np.concatenate([linear.free, linear.dof_count + np.arange(rows.shape[0])])
        empty = sp.csr_array((rows.shape[0],) * 2)
        whole = sp.csr_array(sp.block_array([[pattern + pattern.T, rows.T], [rows, empty]], format="csr"))
        whole = sp.csr_array(whole[kept][:, kept])
        whole.data[:] = 1.0
        # definite with this pattern, as the ordering needs
        degree = np.asarray(whole.sum(axis=1)).ravel()
        return kept[fill_reducing_order(sp.csr_array(whole + sp.diags_array(degree + 1.0)))]


class ConstrainedFactor:
    """The factor of one matrix A = a K + b H + c D + e M, with the constraints (see `Factors`)."""

    def __init__(self, factors: Factors, coefficients: tuple[complex, ...], refusal: str) -> None:
        """coefficients: a, b, c, e; refusal: the message on a singular matrix."""
        self._factors, self._coefficients, self._refusal = factors, coefficients, refusal
        n = factors.order.size
        pattern = factors.indices, factors.starts
        data = factors.combined(coefficients)
        regular, self._mean = factors.regular(data, _SHARE)
        self._matrix = sp.csc_array((data, *pattern), shape=(n, n))
        factored = self._matrix if regular is data else sp.csc_array((regular, *pattern), shape=(n, n))
        try:
            self._lu: Any = splu(
                factored, permc_spec="NATURAL", diag_pivot_thresh=_PIVOT, options={"SymmetricMode": True}
            )
        except RuntimeError:
            raise UserError(self._refusal) from None

    @property
    def nnz(self) -> int:
        """Entries of the factors L and U."""
        return int(self._lu.nnz)

    def solve(self, forces: Array, prescribed: Array | None = None) -> tuple[Array, Array]:
        """u (d, k) and λ (m, k) under forces (d, k) with amplitudes prescribed (p, k) on the imposed coordinates."""
        factors, linear = self._factors, self._factors.linear
        right, moved = np.asarray(forces), prescribed is not None and prescribed.any()
        multipliers = np.zeros((factors.rows.shape[0], right.shape[1]))
        if moved:
            right = right - self._imposed_columns() @ prescribed
            multipliers = -(factors.rows[:, linear.imposed] @ prescribed)
        u, x = self._solve(right, multipliers, False)
        if moved:
            u = u.astype(np.result_type(u, prescribed))
            u[linear.imposed] = prescribed
        return u, factors.row_scale[:, None] * x

    def adjoint(self, rows: Array, multipliers: Array | None = None) -> tuple[Array, Array]:
        """z (d, k) and amplitudes p (p, k) of the transposed equations, of rows r (d, k) and m (m, k): rᵀ u + mᵀ λ =
        zᵀ f + pᵀ u_p of any forces f and prescribed amplitudes u_p."""
        factors, linear = self._factors, self._factors.linear
        right = np.zeros((factors.rows.shape[0], rows.shape[1])) if multipliers is None else multipliers
        z, x = self._solve(rows, factors.row_scale[:, None] * right, True)
        imposed = linear.imposed
        if not imposed.size:
            return z, np.zeros((0, rows.shape[1]))
        moved = rows[imposed] - self._imposed_columns().T @ z - factors.rows[:, imposed].T @ x
        return z, np.asarray(moved)

    def _imposed_columns(self) -> sp.csr_array:
        """A (d, p) in the imposed coordinates."""
        linear = self._factors.linear
        matrices = linear.stiffness, linear.structural, linear.damping, linear.mass
        columns = sum(
            coefficient * matrix[:, linear.imposed]
            for coefficient, matrix in zip(self._coefficients, matrices, strict=True)
            if coefficient
        )
        return sp.csr_array(columns)

    def _solve(self, forces: Array, multipliers: Array, transposed: bool) -> tuple[Array, Array]:
        """u (d, k) and x (m, k) of right sides (d, k) and (m, k); transposed: of Aᵀ."""
        order, count = self._factors.order, self._factors.linear.dof_count
        whole = np.concatenate([forces, multipliers])
        right = whole[order]
        matrix = self._matrix.T if transposed else self._matrix
        solution = self._back(right, transposed)
        residual, error = self._residual(matrix, right, solution)
        for _ in range(_REFINEMENTS):
            if error <= _REFINED:
                break
            better = solution + self._back(residual, transposed)
            remaining, after = self._residual(matrix, right, better)
            before = error
            if after < before:
                solution, residual, error = better, remaining, after
            if not after < 0.5 * before:
                break
        if not error <= _SINGULAR:
            raise UserError(self._refusal)
        out = np.zeros(whole.shape, dtype=solution.dtype)
        out[order] = solution
        return out[:count], out[count:]

    def _residual(self, matrix: Any, right: Array, solution: Array) -> tuple[Array, float]:
        """Residual (n, k), and its size: of equilibrium relative to the load f, of constraints to σ (|u| + f/a)."""
        residual = right - matrix @ solution
        if not residual.size:
            return residual, 0.0
        factors = self._factors
        border = factors.border
        load = np.abs(right).max(axis=0)
        load = np.where(load > 0.0, load, 1.0)
        error = np.abs(residual[~border]).max(axis=0, initial=0.0) / load
        if border.any():
            motion = np.abs(solution[~border]).max(axis=0, initial=0.0) + load / self._mean
            error = np.maximum(error, np.abs(residual[border]).max(axis=0) / (factors.scale * motion))
        return residual, float(error.max())

    def _back(self, right: Array, transposed: bool) -> Array:
        side = "T" if transposed else "N"
        if np.iscomplexobj(right) and not np.iscomplexobj(self._matrix.data):
            real, imag = (self._lu.solve(np.ascontiguousarray(x), trans=side) for x in (right.real, right.imag))
            return np.asarray(real + 1j * imag)
        return np.asarray(self._lu.solve(right.astype(self._matrix.dtype), trans=side))
