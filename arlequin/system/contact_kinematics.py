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

    H (r, d) has a row for the normal of each point and, where there is friction, for its tangents; N are its normal
    rows, `first` (k,). H = local · basis: basis (q, d) is the same at all times; local (r, q), None for the
    identity, rotates and combines its rows. gap (k,), m, at a configuration u*, of which `place` (q,) is basis · u*.
    normals (k, a), tangents (k, a − 1, a), positions (k, a). found: the kinematics of each interface.
    opening (k,), m: increase of the gap by wear in the step, at a constant rate; `gap` is that at its end. None without
    wear.
    """

    basis_product: RowProduct
    local: sp.csr_array | None
    first: NDArray[np.int64]
    gap: Array
    place: Array
    normals: Array
    tangents: Array
    positions: Array
    found: tuple[Kinematics, ...]
    opening: Array | None = None

    def worn(self, worn: WearState | None) -> "ContactKinematics":
        """The same on worn surfaces."""
        return self if worn is None else replace(self, gap=self.gap + worn.depth, opening=worn.opening)

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
        """Rows of H."""
        return int((self.basis if self.local is None else self.local).shape[0])

    @cached_property
    def paired(self) -> NDArray[np.bool_]:
        """Points that have a partner (k,)."""
        return np.isfinite(self.gap)

    def apply_local(self, values: Array) -> Array:
        """local · z (r,) of values z (q,) on the rows of the basis, or of many (…, q); z = basis · x gives H x."""
        return values if self.local is None else applied(self.local, values)

    def rates(self, field: Array) -> Array:
        """H x (r,) of a field x (d,), or of some (…, d)."""
        return self.apply_local(self.basis_product(field))

    def gaps(self, place: Array, left: float = 0.0) -> Array:
        """Gaps (k,), m, of the displacement u by the linearised kinematics, place = basis · u (q,); left: share of the
        step that is still to come, with what wear opens in it."""
        gaps = self.gap + np.take(self.apply_local(place - self.place), self.first, axis=-1)
        return gaps if self.opening is None else gaps - left * self.opening

    def openings(self, moved: Array) -> Array:
        """How far the gaps (k,) open where the rows of H move by (r,) in the step, or some, with what wear opens, m."""
        moved = np.take(moved, self.first, axis=-1)
        return moved if self.opening is None else moved + self.opening

    def relative_velocities(self, rates: Array, time: float) -> Array:
        """Relative velocities (r,) from basis · v (q,), with the rates at which wear opens the gaps in the time, s."""
        values = self.apply_local(rates)
        return values if self.opening is None else values + self.normal(self.opening / time)

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
