"""Scale factors between coordinates and displacements."""

import numpy as np
import scipy.sparse as sp

from arlequin.models.types import Array
from arlequin.system.assembly import Assembly


def displacement_per_unit(assembly: Assembly) -> Array:
    """Largest displacement of a node per unit of each coordinate (d,): scales coordinates to m, and forces to N.

    1 of a node's displacement, the largest value of a mode, the arm of a body's angle; a rotation of a beam counts as
    the displacement at its part's extent.
    """
    out = []
    for part, own in zip(assembly.system.parts, assembly.parts, strict=True):
        turns = np.arange(part.dof_count) % part.components >= part.positions.shape[1]
        each = np.where(turns, float(np.ptp(part.positions, axis=0).max()), 1.0)
        shapes = abs(sp.csr_array(own.shapes)).multiply(each[:, None])
        largest = sp.csr_array(shapes).max(axis=0).toarray().ravel()
        out.append(np.where(largest > 0.0, largest, 1.0))
    return np.concatenate(out) if out else np.zeros(0)
