"""Location of the largest entry of a vector of the system, for messages."""

import numpy as np

from arlequin.models.part import MeshedPart
from arlequin.models.types import Array
from arlequin.system.assembly import Assembly


def locate_maximum(assembly: Assembly, values: Array) -> str:
    """Part, and cell of a meshed part, of the largest |value| (d,); non-finite values count as infinite."""
    sizes = assembly.split(np.where(np.isfinite(values), np.abs(values), np.inf))
    index = int(np.argmax([size.max(initial=0.0) for size in sizes]))
    part, size = assembly.system.parts[index], sizes[index]
    if not (isinstance(part, MeshedPart) and part.model is part):
        return f"part '{part.name}'"
    each = size.reshape(-1, part.components).max(axis=1)
    nodes = part.basis.element_dofs  # (n, c)
    around = np.flatnonzero((nodes == int(np.argmax(each))).any(axis=0))
    cell = around[np.argmax(each[nodes[:, around]].sum(axis=0))]
    return f"part '{part.name}', cell {cell}"
