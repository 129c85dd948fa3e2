"""Contact kinematics of a whole system in one configuration."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from arlequin.linalg.compliance import ComplianceOperator
from arlequin.linalg.products import RowProduct, applied
from arlequin.models.types import Array
from arlequin.multilevel.laws.wear import WearState
from arlequin.multilevel.pairing.kinematics import Kinematics


@dataclass(frozen=True, eq=False)
class ContactKinematics:
    """Contact kinematics of the whole system in one configuration: gaps g = gap + N (u − u*), rates H v.

    H (r, d) has a row for the normal of each point and, with friction, for its tangents; N are its normal rows, `first`
    (k,). H = local · basis: basis (q, d) is constant in time; local (r, q), None for the identity, rotates and combines
    its rows. gap (k,), m, at a configuration u* with basis_displacement = basis · u* (q,). normals (k, a), tangents (k,
    a − 1, a), positions (k, a). by_interface: the kinematics of each interface. opening (k,), m: increase of the gap by
    wear in the step, at a constant rate; `gap` is that at its end. None without wear. imposed (k,), m: the part of the
    opening that is the change of an interference, < 0, not wear; None without.
    """

    basis_product: RowProduct
    local: sp.csr_array | None
    first: NDArray[np.int64]
    gap: Array
    basis_displacement: Array
    normals: Array
    tangents: Array
    positions: Array
    by_interface: tuple[Kinematics, ...]
    opening: Array | None = None
    imposed: Array | None = None

    def worn(self, worn: WearState | None) -> "ContactKinematics":
        """The kinematics with the wear of the surfaces."""
        if worn is None:
            return self
        return replace(self, gap=self.gap + worn.depth, opening=worn.opening, imposed=worn.imposed)

    @property
    def basis(self) -> sp.csr_array:
        """The basis (q, d)."""
        return self.basis_product.matrix

    @property
    def frictional(self) -> bool:
        """Whether there are tangential rows."""
        return self.rows > self.first.size

    @property
    def rows(self) -> int:
        """Number of rows of H."""
        return int((self.basis if self.local is None else self.local).shape[0])

    @cached_property
    def paired(self) -> NDArray[np.bool_]:
        """Mask (k,) of points with a partner."""
        return np.isfinite(self.gap)

    def apply_local(self, values: Array) -> Array:
        """local · z (r,) of values z (q,) on the rows of the basis, or (…, q); z = basis · x gives H x."""
        return values if self.local is None else applied(self.local, values)

    def rates(self, field: Array) -> Array:
        """H x (r,) of a field x (d,), or of fields (…, d)."""
        return self.apply_local(self.basis_product(field))

    def gaps(self, basis_displacement: Array, remaining_share: float = 0.0) -> Array:
        """Gaps (k,), m, of the displacement u by the linearised kinematics at basis_displacement = basis · u (q,);
        remaining_share: of the step, whose opening by wear is subtracted."""
        gaps = self.gap + np.take(self.apply_local(basis_displacement - self.basis_displacement), self.first, axis=-1)
        return gaps if self.opening is None else gaps - remaining_share * self.opening

    def openings(self, increment: Array) -> Array:
        """Opening of the gaps (k,), m, by the increment (r,) or (…, r) of the rows of H in the step, and by wear."""
        increment = np.take(increment, self.first, axis=-1)
        return increment if self.opening is None else increment + self.opening

    def relative_velocities(self, rates: Array, time: float) -> Array:
        """Relative velocities (r,) from basis · v (q,), with the rates of opening by wear in the time, s."""
        velocities = self.apply_local(rates)
        return velocities if self.opening is None else velocities + self.normal(self.opening / time)

    def normal(self, forces: Array) -> Array:
        """Normal forces (k,) as forces on all rows (r,)."""
        out = np.zeros(self.rows)
        out[self.first] = forces
        return out

    def apply_local_transposed(self, impulse: Array) -> Array:
        """localᵀ P (q,): impulses (r,) on the rows of H as impulses on the rows of the basis."""
        return impulse if self.local is None else applied(self.local.T, impulse)

    def generalised_force(self, impulse: Array) -> Array:
        """Hᵀ P (d,), of forces or impulses (r,)."""
        return self.basis_product.transposed(self.apply_local_transposed(impulse))

    def delassus(self, compliance: ComplianceOperator, rows: NDArray[np.int64]) -> Array:
        """H A⁻¹ Hᵀ between some of the rows of H."""
        if self.local is None:
            return compliance.chosen(rows)
        return compliance.of(self.local if rows.size == self.rows else sp.csr_array(self.local[rows]))
