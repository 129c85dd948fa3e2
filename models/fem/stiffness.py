"""Elastic stiffness from scalar blocks S_ij = ∫ D_i φ_a D_j φ_b dΩ, D = (∂_x, ∂_y, ∂_z), (∂_r, ∂_z, 1/r)."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import skfem
from scipy.sparse import bsr_array, coo_array, csr_array

from arlequin.models.types import Array

Block = Callable[[int, int], Any]

# functions of a cell above which scikit-fem's loop over their pairs takes longer than a matrix product
_MAX_FUNCTIONS = 27


def elastic_blocks(block: Block, components: int, lam: float, mu: float, hoop: bool) -> Iterator[tuple[int, int, Any]]:
    """(i, j, K_ij) for i ≤ j from the scalar blocks, all arrays of one shape.

    K_ij = λ S_ij + μ S_ji + δ_ij μ Σ_k S_kk, plus the hoop strain u_r/r (third operator) when axisymmetric.
    """
    trace = sum(block(k, k) for k in range(components))
    for i in range(components):
        for j in range(i, components):
            total = lam * block(i, j) + mu * block(j, i)
            if i == j:
                total = total + mu * trace
            if hoop and i == 0:
                # ε_θθ couples with every normal strain through λ, and with itself through λ + 2μ
                total = total + lam * block(2, j)
                if j == 0:
                    total = total + lam * block(0, 2) + (lam + 2 * mu) * block(2, 2)
            yield i, j, total


def stiffness_matrix(
    basis: Any, weight: Array, components: int, lam: float, mu: float, radius: Array | None = None
) -> csr_array:
    """K (d, d), node-major; weight (c, q) multiplies `basis.dx`; radius (c, q) where axisymmetric."""
    scalar = ScalarBlocks(basis, weight, radius)
    data = np.empty((scalar.pattern.nnz, components, components))
    for i, j, values in elastic_blocks(scalar.block, components, lam, mu, radius is not None):
        data[:, i, j] = values
        if i != j:
            data[:, j, i] = values[scalar.transposed]
    size = basis.N * components
    indices, indptr = scalar.pattern.indices, scalar.pattern.indptr
    return csr_array(bsr_array((data, indices, indptr), shape=(size, size)).tocsr())


class ScalarBlocks:
    """The blocks S_ij as data on one sparsity pattern, assembled by scikit-fem; S_ji is S_ij transposed."""

    def __init__(self, basis: Any, weight: Array, radius: Array | None = None) -> None:
        self._basis = basis
        self._parameters = {"weight": weight} if radius is None else {"weight": weight, "inverse": 1 / radius}
        self._blocks: dict[tuple[int, int], Array] = {}
        # a pattern that does not depend on the weights: zeros stay, so a symbolic factorisation can be reused
        dofs = basis.element_dofs
        shape = (dofs.shape[0], dofs.shape[0], dofs.shape[1])
        self._rows = np.broadcast_to(dofs[None, :, :], shape).reshape(-1)
        self._cols = np.broadcast_to(dofs[:, None, :], shape).reshape(-1)
        self.pattern = self.summed(np.ones(self._rows.size))
        self.pattern.data = np.arange(self.pattern.nnz)
        self.transposed = csr_array(self.pattern.T.tocsr()).data

    def block(self, i: int, j: int) -> Array:
        """Values of S_ij on the pattern; operator 2 is 1/r in axisymmetric problems."""
        if (i, j) not in self._blocks:
            if (j, i) in self._blocks:
                return self._blocks[j, i][self.transposed]
            self._blocks[i, j] = self._assemble(i, j)
        return self._blocks[i, j]

    def _assemble(self, i: int, j: int) -> Array:
        def operator(k: int, function: Any, w: Any) -> Any:
            return function * w["inverse"] if k == 2 and "inverse" in w else function.grad[k]

        if self._basis.Nbfun > _MAX_FUNCTIONS:
            rows, columns = (
                np.stack([np.asarray(operator(k, function[0], self._parameters)) for function in self._basis.basis])
                for k in (i, j)
            )
            return self.summed(_products(rows, columns, self._parameters["weight"] * self._basis.dx)).data
        form = skfem.BilinearForm(lambda u, v, w: operator(j, u, w) * operator(i, v, w) * w["weight"])
        return self.summed(form.elemental(self._basis, **self._parameters).data).data

    def summed(self, data: Array) -> csr_array:
        """Element entries (b, a, c) summed on the pattern, columns sorted."""
        shape = (self._basis.N, self._basis.N)
        matrix = csr_array(coo_array((data, (self._rows, self._cols)), shape=shape).tocsr())
        matrix.sort_indices()
        return matrix


def _products(rows: Array, columns: Array, dx: Array) -> Array:
    """∫ r_a c_b (b, a, c) of functions (n, c, q) with the weights dx (c, q), as one product of matrices per cell."""
    blocks = np.moveaxis(rows * dx, 0, 1) @ np.transpose(columns, (1, 2, 0))
    return np.ascontiguousarray(np.transpose(blocks, (2, 1, 0))).ravel()


def scalar_mass(basis: Any, weight: Array) -> csr_array:
    """∫ weight φ_a φ_b dΩ (n, n); weight (c, q) multiplies `basis.dx`."""
    if basis.Nbfun > _MAX_FUNCTIONS:
        values = np.stack([np.asarray(function[0]) for function in basis.basis])
        blocks = ScalarBlocks(basis, weight)
        return csr_array(blocks.summed(_products(values, values, weight * basis.dx)))
    form = skfem.BilinearForm(lambda u, v, w: u * v * w["weight"])
    return csr_array(form.assemble(basis, weight=weight))
