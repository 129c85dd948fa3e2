"""The two passes of a step over the factor of its matrix, as arrays and sparse matrices."""

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from arlequin.models.linalg.bordered import BorderedFactor
from arlequin.models.linalg.constraints import FullElimination, eliminate
from arlequin.models.linalg.matrix import canonical
from arlequin.models.types import Array
from arlequin.system.assembly import Assembly


class CondensedPasses(NamedTuple):
    """Of `arlequin.solvers.condensed.Condensed`: unknowns u, imposed dofs p, constraints m, rows q of the contact.

    bordered: `BorderedPasses` of A and its border; to_given: A (u, p); rows_given: [C; B] (m + q, p); penalty: CᵀD
    (u, m), which is 0 where A alone was factored: sparse matrices, by rows in compiled loops; kept (k,), lower (k, k),
    first (k,), root (k, q): see `FullElimination.arrays`.
    """

    bordered: Any
    to_given: Any
    rows_given: Any
    penalty: Any
    kept: NDArray[np.int64]
    lower: Array
    first: NDArray[np.int64]
    root: Array


@dataclass(frozen=True, eq=False)
class FactoredMass:
    """The mass on the free degrees of freedom, all of which have some, under the constraints. passes: over its factor,
    valid as long as it exists; delassus: B M⁻¹ Bᵀ (q, q) of the contact's basis, constraints kept, 1/kg."""

    factor: BorderedFactor
    passes: CondensedPasses
    delassus: Array

    @classmethod
    def of(cls, assembly: Assembly) -> Self:
        """The factored mass of a system."""
        free, count = np.flatnonzero(assembly.free), assembly.constraints.shape[0]
        rows = sp.csr_array(sp.vstack([assembly.constraints, assembly.contact.basis], format="csr")[:, free])
        factor = BorderedFactor(canonical(sp.csr_array(assembly.mass[free][:, free])), rows)
        eliminated = eliminate(factor.schur(), count)
        assert isinstance(eliminated, FullElimination)
        no_imposed = sp.csr_array((free.size, 0)), sp.csr_array((rows.shape[0], 0)), sp.csr_array((free.size, count))
        kept, lower, first, root = eliminated.arrays()
        passes = CondensedPasses(factor.passes(), *no_imposed, kept, lower, first, root)
        return cls(factor, passes, np.ascontiguousarray(eliminated.compliance))
