"""What solids share whose force is not K u: the small-strain matrices and the element arrays of their kernels."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from models.assembled import ElasticAssembled
from models.errors import UserError
from models.forces import Loads
from models.nodal import Loaded
from models.part import Imposed
from models.types import Array, Indices


@dataclass(frozen=True, eq=False, repr=False)
class FiniteNodal(Loaded):
    """Mass, loads, motions, the pattern of the tangents and the element arrays.

    linear: the part's small-strain matrices and element arrays under the same weights.
    """

    linear: ElasticAssembled

    @cached_property
    def mass(self) -> csr_array:
        """M (d, d), kg."""
        return self.linear.mass

    @property
    def stiffness(self) -> csr_array:
        """The tangent at u = 0, without mean dilatation, N/m; every tangent has its sparsity pattern."""
        return self.linear.stiffness

    @cached_property
    def imposed(self) -> tuple[Imposed, ...]:  # type: ignore[override]
        """Imposed motions."""
        return self.linear.imposed

    @property
    def loads(self) -> Loads:  # type: ignore[override]
        """Loads."""
        return self.linear.loads

    def strain_form(self) -> None:
        """None: the strains are not linear in u."""

    def highest_frequency(self) -> float:
        """Bound of the largest angular frequency at u = 0, rad/s; stretched cells have higher ones."""
        return self.linear.highest_frequency()

    def frequency(self, u: Array) -> float:
        """The largest angular frequency of the cells as they are at u, with the elastic moduli, rad/s."""
        return self.linear.frequency_at(self._displacement(u))

    def _displacement(self, u: Array) -> Array:
        u = np.ascontiguousarray(u, dtype=float)
        if u.shape != (self.stiffness.shape[0],):
            raise UserError(f"displacement of shape {u.shape}, expected ({self.stiffness.shape[0]},)")
        return u

    @cached_property
    def _cells(self) -> tuple[Indices, Array, Array, Array]:
        """Nodes, gradients, hoop (of no size but around an axis) and weighted measure."""
        cells = self.linear.kernel
        hoop = np.empty((0, 0, 0)) if cells.hoop is None else np.ascontiguousarray(cells.hoop)
        weight = np.ascontiguousarray(self.linear.kernel_weight)
        return np.ascontiguousarray(cells.nodes), np.ascontiguousarray(cells.gradients), hoop, weight

    @cached_property
    def _slots(self) -> np.ndarray:
        """Places (c, a, b) of the element blocks in the rows of the pattern."""
        from models._finite_kernels import block_slots

        nodes = self._cells[0]
        slots = np.empty((*nodes.shape, nodes.shape[1]), dtype=np.int32)
        block_slots(nodes, self.linear.components, self.stiffness.indptr, self.stiffness.indices, slots)
        return slots
