"""Modes of vibration and static shapes of an assembled part, M-orthonormal."""

from typing import NamedTuple

import numpy as np
import scipy.linalg
from scipy.sparse import csc_array
from scipy.sparse.linalg import LinearOperator, eigsh

from models.errors import UserError
from models.matrix import binade
from models.part import Assembled
from models.rigid_motion import Flexibility
from models.static_shapes import diagonalised, enriched
from models.types import Array

_DENSE = 300  # free dofs up to which all modes are computed
_UNSTABLE = 1e-12  # negative square of a frequency, relative to the largest, that is no round-off


class Basis(NamedTuple):
    """Shapes Φ (nodal, r), ΦᵀMΦ = 1, ΦᵀKΦ = diag(ω²), and squares ω² (r,), rad²/s², increasing."""

    shapes: Array
    squares: Array


def modal_basis(flexibility: Flexibility, modes: int, forces: csc_array, highest: float) -> Basis:
    """The lowest modes, up to the angular frequency `highest`, and the static shapes G f of forces (nodal, k).

    (K − ω² M) φ = 0, imposed dofs at rest; rigid motions count as modes, with ω = 0 exactly. What the static shapes add
    to the modes is made orthogonal to them and the small problem is solved again: it shows as further, higher modes
    (`enriched`).
    Source: Craig & Kurdila, Fundamentals of Structural Dynamics, 2006, §17.5; MacNeal, Comput. Struct. 1, 1971.
    """
    own, rigid = flexibility.own, flexibility.rigid
    count, most = rigid.shape[1], flexibility.free.size
    if not count <= modes <= most:
        rule = f"must be in [{count}, {most}], from the rigid motions to the free degrees of freedom"
        raise UserError.parameter("modes", modes, rule)
    elastic = _vibrations(flexibility, modes - count)
    forces_of = _internal(own, elastic)
    squares = np.einsum("dr,dr->r", elastic, forces_of)
    if squares.min(initial=0.0) < -_UNSTABLE * np.abs(squares).max(initial=0.0):
        raise UserError("the part is not stable at rest: its compression is beyond its buckling load")
    kept = squares <= highest**2
    stiffness = np.zeros((count + kept.sum(),) * 2)
    stiffness[count:, count:] = elastic[:, kept].T @ forces_of[:, kept]
    basis = np.concatenate([rigid, elastic[:, kept]], axis=1)
    return Basis(*diagonalised(own, count, enriched(flexibility, basis, stiffness, forces)))


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
        # for ARPACK, whose smallest eigenvalue that counts is absolute
        unit = binade(float((stiffness.diagonal() / mass.diagonal()).mean()))

        def flexible(b: Array) -> Array:
            wide = np.zeros(out.shape[0])
            wide[free] = b
            return unit * flexibility.solve(wide)[free]

        inverse = LinearOperator((size, size), matvec=flexible, dtype=float)
        start = flexible(np.cos(1.0 + np.arange(size)) * mass.diagonal())
        _, vectors = eigsh(stiffness / unit, count, mass, sigma=0.0, OPinv=inverse, v0=start, which="LM")
        out[free] = vectors
    return _orthonormal(own, flexibility.elastic(out))


def _orthonormal(own: Assembled, fields: Array) -> Array:
    """Fields (nodal, k) made M-orthonormal, to round-off."""
    gram = fields.T @ (own.mass @ fields)
    return np.asarray(scipy.linalg.solve_triangular(np.linalg.cholesky(gram), fields.T, lower=True).T)


def _internal(own: Assembled, fields: Array) -> Array:
    """Internal forces (nodal, k) of fields, from strains."""
    forces = [own.internal(np.ascontiguousarray(field))[0] for field in fields.T]
    return np.stack(forces, axis=1) if forces else np.zeros_like(fields)
