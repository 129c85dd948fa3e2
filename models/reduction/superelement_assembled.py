"""Matrices and forces of a superelement in its coordinates."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg
from scipy.sparse import csr_array

from arlequin.models.errors import UserError
from arlequin.models.linalg.largest import largest_ratio
from arlequin.models.nodal import ExternalLoads, LinearCoordinates, Loaded, with_imposed
from arlequin.models.part import Imposed, RecoveredField
from arlequin.models.reduction.semidefinite import DENSE, Semidefinite
from arlequin.models.reduction.superelement_coordinates import SuperelementCoordinates
from arlequin.models.types import Array, Indices


@dataclass(frozen=True, eq=False, repr=False)
class SuperelementAssembled(Loaded, LinearCoordinates):
    """Matrices, loads, imposed motions and recovered fields of a superelement in its coordinates (nodes, generalised).

    checked_mass: what is known of the eigenvalues of M. strains: B (s, d) and w (s,), K = Bᵀ diag(w) B; None
    for large superelements.
    """

    name: str
    system: SuperelementCoordinates
    mass: csr_array
    checked_mass: Semidefinite
    stiffness: csr_array
    damping: csr_array | None
    imposed: tuple[Imposed, ...]
    loads: ExternalLoads
    recovered: tuple[RecoveredField, ...]
    strains: tuple[csr_array, Array] | None

    @property
    def shapes(self) -> csr_array:
        """S (nodal, d): 1 at the coordinate of a retained component."""
        return self.system.shapes

    @cached_property
    def inertia(self) -> csr_array:
        """S M Sᵀ (nodal, nodal), kg: the block of the nodes, without their coupling to generalised coordinates."""
        return csr_array(self.shapes @ self.mass @ self.shapes.T)

    def uniform_inertia(self, along: Array) -> Array:
        """M r (d, k), N, r the translation of the part under which all nodes have the acceleration a (nodal, k)."""
        return np.asarray(self.mass @ self._translated(along))

    def uniform_weight(self, along: Array) -> Array:
        """The same: gravity acts on the whole mass."""
        return self.uniform_inertia(along)

    def uniform_mass(self, along: Array) -> float:
        """rᵀM r, kg."""
        motion = self._translated(along[:, None])[:, 0]
        return float(motion @ (self.mass @ motion))

    def _translated(self, along: Array) -> Array:
        translations = self.system.translations
        nodes = along.reshape(len(self.system.positions), self.system.components, -1)
        return np.asarray(translations @ nodes[0, : translations.shape[1]])

    def coordinates(self, field: Array, imposed: Array) -> Array:
        """Coordinates (d,) of a nodal field (nodal,), the generalised ones in static equilibrium with the nodes."""
        return with_imposed(self.system.static(field[:, None])[:, 0], self.imposed, imposed)

    def internal(self, u: Array) -> tuple[Array, float]:
        """Internal force (d,), N, and stored energy, J, from the strains where they are known."""
        if u.shape != (self.mass.shape[0],):
            raise UserError(f"coordinates of shape {u.shape}, expected ({self.mass.shape[0]},)")
        if self.strains is None:
            force = self.stiffness @ u
            return force, 0.5 * float(u @ force)
        rows, weights = self.strains
        strain = rows @ u
        stress = weights * strain
        return np.asarray(self._strains_transposed @ stress), 0.5 * float(stress @ strain)

    @cached_property
    def _strains_transposed(self) -> csr_array:
        """Bᵀ (d, s)."""
        assert self.strains is not None
        return csr_array(self.strains[0].T)

    def strain_form(self) -> tuple[csr_array, Array] | None:
        """B and w; None for large superelements."""
        return self.strains

    def highest_frequency(self) -> float:
        """The largest angular frequency, of a large superelement a bound, rad/s; UserError without a mass on every
        coordinate."""
        return self._highest

    @cached_property
    def _highest(self) -> float:
        if not self.least_share > 0.0:
            raise UserError(
                f"mass of superelement '{self.name}': is singular, so that the largest frequency is not bounded: "
                "explicit schemes need a mass on every coordinate"
            )
        if self.mass.shape[0] > DENSE:
            return math.sqrt(largest_ratio(self.stiffness, 1.0 / self.least_mass))
        return math.sqrt(max(float(self.eigenvalues[-1]), 0.0))

    @cached_property
    def eigenvalues(self) -> Array:
        """ω² (d,) of the free part, rad²/s², increasing; of a definite mass."""
        root = np.sqrt(self.mass.diagonal())
        mass, stiffness = (matrix.toarray() / np.outer(root, root) for matrix in (self.mass, self.stiffness))
        return np.asarray(scipy.linalg.eigh(stiffness, mass, eigvals_only=True))

    @property
    def least_share(self) -> float:
        """μ, the least eigenvalue of the mass matrix with unit diagonal; 0 where a coordinate has no mass."""
        return self.checked_mass.least

    @property
    def least_mass(self) -> Array:
        """μ M_ii (d,), kg."""
        return np.asarray(self.least_share * self.mass.diagonal())

    @property
    def generalised(self) -> Indices:
        """Numbers (g,) of the generalised coordinates."""
        return self.system.generalised
