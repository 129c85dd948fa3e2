"""Modes of vibration and static shapes of an assembled part, M-orthonormal."""

from typing import NamedTuple

import numpy as np
import scipy.linalg
from scipy.sparse.linalg import LinearOperator, eigsh

from models.errors import UserError
from models.part import Array, Assembled
from models.rigid_motion import Flexibility

_DENSE = 300  # free dofs up to which all modes are computed
_SPANNED = 1e-9  # what is left of a static shape, relative, below which the modes hold it
_UNSTABLE = 1e-12  # negative square of a frequency, relative to the largest, that is no round-off


class Basis(NamedTuple):
    """Shapes Φ (nodal, r), ΦᵀMΦ = 1, ΦᵀKΦ = diag(ω²), and squares ω² (r,), rad²/s², increasing."""

    shapes: Array
    squares: Array


def modal_basis(flexibility: Flexibility, modes: int, forces: Array, highest: float) -> Basis:
    """The lowest modes, up to the angular frequency `highest`, and the static shapes G f of forces (nodal, k).

    (K − ω² M) φ = 0, imposed dofs at rest; rigid motions count as modes, with ω = 0 exactly. What the static shapes add
    to the modes is made orthogonal to them and the small problem is solved again: it shows as further, higher modes.
    Source: Craig & Kurdila, Fundamentals of Structural Dynamics, 2006, §17.5; MacNeal, Comput. Struct. 1, 1971.
    """
    own, rigid = flexibility.own, flexibility.rigid
    count, most = rigid.shape[1], flexibility.free.size
    if not count <= modes <= most:
        rule = f"must be in [{count}, {most}], from the rigid motions to the free degrees of freedom"
        raise UserError.parameter("modes", modes, rule)
    elastic = _vibrations(flexibility, modes - count)
    squares = np.einsum("dr,dr->r", elastic, _internal(own, elastic))
    if squares.min(initial=0.0) < -_UNSTABLE * np.abs(squares).max(initial=0.0):
        raise UserError("the part is not stable at rest: its compression is beyond its buckling load")
    basis = np.concatenate([rigid, elastic[:, squares <= highest**2]], axis=1)
    for shape in flexibility.solve(forces).T:
        rest = _orthogonal(own, basis, shape)
        if _norm(own, rest) > _SPANNED * _norm(own, shape):
            rest = _orthogonal(own, basis, rest / _norm(own, rest))
            basis = np.column_stack([basis, rest / _norm(own, rest)])
    shapes = basis[:, count:]
    stiffness = shapes.T @ _internal(own, shapes)
    values, vectors = np.linalg.eigh(0.5 * (stiffness + stiffness.T))
    shapes = np.concatenate([rigid, shapes @ vectors], axis=1)
    large = np.abs(shapes) > 0.5 * np.abs(shapes).max(axis=0, initial=0.0)  # the first large value is positive
    signs = np.sign(shapes[large.argmax(axis=0), np.arange(shapes.shape[1])])
    return Basis(shapes * signs, np.concatenate([np.zeros(count), np.maximum(values, 0.0)]))


def _vibrations(flexibility: Flexibility, count: int) -> Array:
    """The lowest elastic modes (nodal, count), by shift-invert Lanczos; of a small part all of them, dense.

    The flexibility G of the pencil has the eigenvalues 1/ω², and 0 for the rigid motions.
    Source: Ericsson & Ruhe, Mathematics of Computation 35, 1980.
    """
    own, free = flexibility.own, flexibility.free
    size, rigid = free.size, flexibility.rigid.shape[1]
    out = np.zeros((own.mass.shape[0], count))
    if not count:
        return out
    mass, stiffness = (matrix[free][:, free] for matrix in (own.mass, own.stiffness))
    if size <= _DENSE or 2 * count > size:
        _, vectors = scipy.linalg.eigh(stiffness.toarray(), mass.toarray())
        out[free] = vectors[:, rigid : rigid + count]
    else:

        def flexible(b: Array) -> Array:
            wide = np.zeros(out.shape[0])
            wide[free] = b
            return flexibility.solve(wide)[free]

        inverse = LinearOperator((size, size), matvec=flexible, dtype=float)
        start = flexible(np.cos(1.0 + np.arange(size)) * mass.diagonal())
        _, vectors = eigsh(stiffness, count, mass, sigma=0.0, OPinv=inverse, v0=start, which="LM")
        out[free] = vectors
    return _orthonormal(own, flexibility.elastic(out))


def _orthonormal(own: Assembled, fields: Array) -> Array:
    """Fields (nodal, k) made M-orthonormal, to round-off."""
    gram = fields.T @ (own.mass @ fields)
    return np.asarray(scipy.linalg.solve_triangular(np.linalg.cholesky(gram), fields.T, lower=True).T)


def _orthogonal(own: Assembled, basis: Array, field: Array) -> Array:
    """The field without what the M-orthonormal basis holds; twice is enough."""
    for _ in range(2):
        field = field - basis @ (basis.T @ (own.mass @ field))
    return field


def _norm(own: Assembled, field: Array) -> float:
    return float(np.sqrt(max(field @ (own.mass @ field), 0.0)))


def _internal(own: Assembled, fields: Array) -> Array:
    """Internal forces (nodal, k) of fields, from strains."""
    forces = [own.internal(np.ascontiguousarray(field))[0] for field in fields.T]
    return np.stack(forces, axis=1) if forces else np.zeros_like(fields)
