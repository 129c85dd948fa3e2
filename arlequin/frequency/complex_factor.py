"""LU factors of matrices of a linearised system with its constraints."""

from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import splu

from arlequin.frequency.linearised import Linearised
from arlequin.models.errors import UserError
from arlequin.models.linalg.factor import fill_reducing_order
from arlequin.models.types import Array

_PIVOT = 1e-3  # a diagonal entry above this share of the largest in its column is taken as the pivot
_SINGULAR = 1e-8  # residual, relative to the load, above which the system is singular
_REFINEMENTS = 2


class Factors:
    """Factors of matrices with the pattern of a linearised system, all in one fill-reducing order."""

    def __init__(self, linear: Linearised) -> None:
        self.linear = linear
        self._last: tuple[float, ConstrainedFactor] | None = None

    def at(self, frequency: float) -> "ConstrainedFactor":
        """The factor of K + iH + iωD − ω²M at a frequency, Hz; the last one is cached."""
        if self._last is None or self._last[0] != frequency:
            matrix = self.linear.dynamic_stiffness(frequency)
            self._last = frequency, ConstrainedFactor(self.linear, matrix, self._order, f"at {frequency:g} Hz")
        return self._last[1]

    def shifted(self, shift: float) -> "ConstrainedFactor":
        """The factor of K + shift M; shift, 1/s²."""
        matrix = sp.csr_array(self.linear.stiffness + shift * self.linear.mass)
        return ConstrainedFactor(self.linear, matrix, self._order, "in statics")

    @cached_property
    def _order(self) -> NDArray[np.int64]:
        """The free coordinates and the multipliers, numbered after all coordinates, in a fill-reducing order (n,)."""
        linear, rows = self.linear, abs(self.linear.constraints)
        pattern = abs(linear.stiffness) + abs(linear.damping) + abs(linear.mass)
        kept = np.concatenate([linear.free, linear.dof_count + np.arange(rows.shape[0])])
        empty = sp.csr_array((rows.shape[0],) * 2)
        whole = sp.csr_array(sp.block_array([[pattern + pattern.T, rows.T], [rows, empty]], format="csr"))[kept][
            :, kept
        ]
        whole.data[:] = 1.0
        # definite with this pattern, as the ordering needs
        size = np.asarray(whole.sum(axis=1)).ravel()
        return kept[fill_reducing_order(sp.csr_array(whole + sp.diags_array(size + 1.0)))]


class ConstrainedFactor:
    """[A_ff  C_fᵀ; C_f  0] [u_f; λ] = [f_f − A_fp u_p; −C_p u_p] of a matrix A (d, d) with constraints C.

    f: the free coordinates, p: those with prescribed amplitudes. A may be complex, and without symmetry.
    """

    def __init__(self, linear: Linearised, matrix: sp.csr_array, order: NDArray[np.int64], where: str) -> None:
        """order (n,): of the free coordinates and the multipliers; where: for the message on a singular matrix."""
        self._linear, self._order, self._where = linear, order, where
        # multipliers of the size of displacements: pivots then stay on the diagonal
        self._scale = float(np.abs(matrix.diagonal()).mean()) or 1.0
        rows = self._scale * linear.constraints
        empty = sp.csr_array((rows.shape[0],) * 2)
        self._whole = sp.csr_array(sp.block_array([[matrix, rows.T], [rows, empty]], format="csr"))
        self._matrix = sp.csc_array(self._whole[order][:, order])
        try:
            self._lu: Any = splu(
                self._matrix, permc_spec="NATURAL", diag_pivot_thresh=_PIVOT, options={"SymmetricMode": True}
            )
        except RuntimeError:
            raise UserError(self._refusal) from None

    def solve(self, forces: Array, prescribed: Array | None = None) -> tuple[Array, Array]:
        """u (d, k) and λ (m, k) under forces (d, k) with amplitudes prescribed (p, k) on the imposed coordinates."""
        return self._solve(forces, prescribed, False)

    def adjoint(self, rows: Array, multipliers: Array) -> tuple[Array, Array]:
        """z (d, k) and μ (m, k) of the transposed equations: rowᵀ u + multiplierᵀ λ = zᵀ f of any forces f, for rows (d,
        k) and multipliers (m, k)."""
        return self._solve(rows, None, True, multipliers)

    def _solve(
        self, forces: Array, prescribed: Array | None, transposed: bool, multipliers: Array | None = None
    ) -> tuple[Array, Array]:
        count, kind = self._linear.dof_count, np.result_type(self._whole.dtype, forces)
        if prescribed is not None:
            kind = np.result_type(kind, prescribed)
        out = np.zeros((self._whole.shape[0], forces.shape[1]), dtype=kind)
        if prescribed is not None and prescribed.size:
            out[self._linear.assembly.imposed_dofs] = prescribed
        right = -(self._whole @ out)
        right[:count] += forces
        if multipliers is not None:
            right[count:] += self._scale * multipliers
        right = right[self._order].astype(self._whole.dtype if kind.kind == "f" else complex)
        matrix = self._matrix.T if transposed else self._matrix
        solution = self._back(right, transposed)
        for _ in range(_REFINEMENTS):
            solution += self._back(right - matrix @ solution, transposed)
        size = np.abs(right).max(axis=0, initial=0.0)
        if not (np.abs(right - matrix @ solution).max(axis=0, initial=0.0) <= _SINGULAR * size).all():
            raise UserError(self._refusal)
        out[self._order] = solution
        return out[:count], self._scale * out[count:]

    def _back(self, right: Array, transposed: bool) -> Array:
        side = "T" if transposed else "N"
        if np.iscomplexobj(right) and not np.iscomplexobj(self._matrix.data):
            parts = (self._lu.solve(np.ascontiguousarray(part), trans=side) for part in (right.real, right.imag))
            real, imag = parts
            return np.asarray(real + 1j * imag)
        return np.asarray(self._lu.solve(right, trans=side))

    @property
    def _refusal(self) -> str:
        return (
            f"{self._where} the stiffness is singular: an undamped resonance, a motion that nothing holds, or "
            "constraints that repeat each other, as contact of both sides or contact in a junction"
        )
