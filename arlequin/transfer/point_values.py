"""Transfer of internal variables between the quadrature points of two meshes."""

from functools import cached_property
from itertools import product
from math import comb

import numpy as np
from scipy.spatial import cKDTree

from arlequin.models.fem.continuum import Continuum
from arlequin.models.types import Array, Indices
from arlequin.overlap.geometry import to_reference
from arlequin.overlap.intersect import Overlap

_LEAST = 1e-8  # of a cell's own moments: below it the fit has too few common points


def transfer_points(former: Continuum, model: Continuum, pieces: Overlap, values: Array) -> Array:
    """Values (c, q, m) of the new mesh from those (c', q', m) of the former one.

    In each cell the values at the quadrature points are a polynomial of the reference coordinates (bilinear on four
    points), as the strains are. The new polynomial is the one closest to the former ones in L², on the common pieces of
    the cells: fields that both meshes represent are transferred to round-off, and the mean over each cell is kept.
    A variable that has one sign keeps it (a plastic strain ≥ 0): where needed it is drawn towards its mean in the cell.
    Cells without enough common points take the values of the closest former points.
    """
    first, second = CellPolynomials(former), CellPolynomials(model)
    there = first.interpolate(pieces.coarse_cells, pieces.points, values)
    here = second.at(pieces.fine_cells, pieces.points)
    count, size = len(model.basis.dx), here.shape[2]
    gram, moments = np.zeros((count, size, size)), np.zeros((count, size, values.shape[2]))
    np.add.at(gram, pieces.fine_cells, np.einsum("pk,pka,pkb->pab", pieces.dx, here, here))
    np.add.at(moments, pieces.fine_cells, np.einsum("pk,pka,pkm->pam", pieces.dx, here, there))
    measure = np.zeros(count)
    np.add.at(measure, pieces.fine_cells, pieces.dx.sum(axis=1))
    known = measure > 0.0
    smallest = np.full(count, -np.inf)
    smallest[known] = np.linalg.eigvalsh(gram[known] / measure[known, None, None])[:, 0]
    known = smallest > _LEAST
    out = np.empty((*model.basis.dx.shape, values.shape[2]))
    out[known] = second.points @ np.linalg.solve(gram[known], moments[known])
    if not known.all():
        places, points = (np.asarray(part.quadrature_points()) for part in (former, model))
        closest = cKDTree(places.reshape(len(places), -1).T).query(points[:, ~known].reshape(len(points), -1).T)[1]
        out[~known] = values.reshape(-1, values.shape[2])[closest].reshape(-1, *out.shape[1:])
    return _of_one_sign(out, values, np.asarray(model.basis.dx))


def _of_one_sign(out: Array, values: Array, dx: Array) -> Array:
    """Values (c, q, m), drawn towards the means of their cells where a variable of one sign would have both."""
    mean = np.einsum("cq,cqm->cm", dx / dx.sum(axis=1, keepdims=True), out)[:, None]
    for column in range(out.shape[2]):
        for sign in (1.0, -1.0):
            if (sign * values[..., column] >= 0.0).all():
                middle = np.maximum(sign * mean[..., column], 0.0)
                low = np.minimum(sign * out[..., column], 0.0).min(axis=1, keepdims=True)
                share = np.where(low < 0.0, middle / np.where(low < 0.0, middle - low, 1.0), 1.0)
                out[..., column] = sign * (middle + share * (sign * out[..., column] - middle))
                break
    return out


class CellPolynomials:
    """Polynomials through the quadrature points of the cells of a mesh, in reference coordinates.

    On lines, quadrilaterals and hexahedra with n^d points products of degree n − 1; else the complete polynomials of
    the highest degree with at most as many terms as there are points, by least squares.
    """

    def __init__(self, model: Continuum) -> None:
        self._mesh, self._X = model.mesh, np.asarray(model.basis.X)  # reference points (axis, q)

    @cached_property
    def _powers(self) -> Indices:
        axes, count = self._X.shape
        across = round(count ** (1.0 / axes))
        if self._mesh.t.shape[0] == 2**axes and across**axes == count:
            return np.array(list(product(range(across), repeat=axes)))
        degree = 0
        while comb(degree + 1 + axes, axes) <= count:
            degree += 1
        return np.array([powers for powers in product(range(degree + 1), repeat=axes) if sum(powers) <= degree])

    def _monomials(self, X: Array) -> Array:
        """Values (…, b) at reference points (axis, …), about the middle of the cell."""
        middle = self._X.mean(axis=1).reshape(-1, *(1,) * (X.ndim - 1))
        powers = self._powers.T.reshape(len(X), *(1,) * (X.ndim - 1), -1)
        return np.asarray(np.prod((2.0 * (X - middle))[..., None] ** powers, axis=0))

    @cached_property
    def points(self) -> Array:
        """Values (q, b) at the quadrature points."""
        return self._monomials(self._X)

    @cached_property
    def fit(self) -> Array:
        """Coefficients (b, q) of values at the quadrature points."""
        return np.asarray(np.linalg.pinv(self.points))

    def interpolate(self, cells: Indices, points: Array, values: Array) -> Array:
        """Values (p, k, m) in cells (p,) at points (axis, p, k), of those (c, q, m) at the quadrature points."""
        return np.asarray(self.at(cells, points) @ (self.fit @ values[cells]))

    def at(self, cells: Indices, points: Array) -> Array:
        """Values (p, k, b) in cells (p,) at points (axis, p, k)."""
        return self._monomials(to_reference(self._mesh, cells, points)[0])
