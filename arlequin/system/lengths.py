"""Scale factors between coordinates and displacements."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from arlequin.models.types import Array
from arlequin.system.assembly import Assembly

_ROWS = 4096  # rows of dense shapes in a block that stays in cache


def displacement_per_unit(assembly: Assembly) -> Array:
    """Largest displacement of a node per unit of each coordinate (d,): scales coordinates to m, and forces to N.

    1 for a nodal displacement, the largest value of a mode, the arm of the angle of a body; for a rotation of a beam
    the extent of its part.
    """
    out = []
    for part, assembled in zip(assembly.system.parts, assembly.parts, strict=True):
        is_rotation = np.arange(part.dof_count) % part.components >= part.positions.shape[1]
        factors = np.where(is_rotation, float(np.ptp(part.positions, axis=0).max()), 1.0)
        largest = _largest_of_columns(assembled.shapes, factors)
        out.append(np.where(largest > 0.0, largest, 1.0))
    return np.concatenate(out) if out else np.zeros(0)


def _largest_of_columns(shapes: Any, factors: Array) -> Array:
    """The largest |factor × entry| of each column (d,) of shapes (nodal, d), sparse or full; factors (nodal,)."""
    if sp.issparse(shapes):
        scaled = abs(sp.csr_array(shapes)).multiply(factors[:, None])
        return np.asarray(sp.csr_array(scaled).max(axis=0).toarray().ravel())
    out = np.zeros(shapes.shape[1])
    for first in range(0, len(shapes), _ROWS):
        rows = slice(first, first + _ROWS)
        np.maximum(out, np.abs(shapes[rows] * factors[rows, None]).max(axis=0), out=out)
    return out
