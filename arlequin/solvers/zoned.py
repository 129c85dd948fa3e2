"""The linear system of an explicit step whose matrix is diagonal outside the gluing zones."""

from functools import cached_property

import numpy as np
import scipy.sparse as sp

from arlequin.linalg.compliance import Compliance
from arlequin.models.linalg.factor import Factor, factorise
from arlequin.models.linalg.saddle import SaddlePoint
from arlequin.models.phases import phase
from arlequin.models.types import Array
from arlequin.solvers.condensed import Predictor
from arlequin.solvers.unknowns import Unknowns
from arlequin.system.assembly import Assembly


class Zoned:
    """Solves A y = b + Cᵀφ + BᵀP, C y = c as `Condensed` does, for A that is diagonal but for a zone:

        A = diag(D) ⊕ A_z,

    the zone z the unknowns on which A is not the diagonal of the mass or on which constraints C act. Outside it
    y = D⁻¹(b + BᵀP); inside, y and φ follow from one sparse factor (`SaddlePoint`). zone (z,): its
    degrees of freedom, ascending.
    """

    def __init__(self, assembly: Assembly, matrix: sp.csr_array) -> None:
        """A (d, d), with y given on the imposed dofs."""
        self._unknowns = unknowns = Unknowns(assembly)
        inner, self._to_given = unknowns.split(sp.csr_array(matrix))
        rows = assembly.constraints
        self._product, self._basis = assembly.contact.basis_product, assembly.contact.basis
        self._rows_given = rows[:, unknowns.given] if unknowns.given.size else None
        self._matrix, own = inner, sp.csr_array(rows[:, unknowns.at])
        diagonal = inner.diagonal()
        changed = abs(sp.csr_array(matrix) - sp.diags_array(assembly.mass.diagonal())) @ np.ones(assembly.dof_count)
        joined = changed[unknowns.at] > 0.0
        joined[own.indices] = True
        self._zone = np.flatnonzero(joined)
        self.zone = np.arange(assembly.dof_count)[unknowns.at][self._zone]
        self._inverse = np.where(joined, 0.0, 1.0 / diagonal)
        zone = sp.csr_array(inner[self._zone][:, self._zone])
        with phase(f"factor of {self._zone.size:,} unknowns with {rows.shape[0]:,} constraints"):
            self.saddle = SaddlePoint(zone, sp.csr_array(own[:, self._zone]))
        self._no_rates = np.zeros(rows.shape[0])

    @cached_property
    def compliance(self) -> Compliance:
        """W (q, q), constraints eliminated: full among the rows of the contact's basis B that reach the zone."""
        own = sp.csr_array(self._basis[:, self._unknowns.at])
        outside = own @ sp.diags_array(self._inverse) @ own.T
        inner = sp.csr_array(own[:, self._zone])
        reaching = np.flatnonzero(np.diff(inner.indptr))
        if not reaching.size:
            return Compliance(sp.csr_array(outside))
        among = self.saddle.response(sp.csr_array(inner[reaching]))
        places = np.repeat(reaching, reaching.size), np.tile(reaching, reaching.size)
        return Compliance(sp.csr_array(outside + sp.csr_array((among.ravel(), places), shape=outside.shape)))

    def predict(self, b: Array, c: Array, given: Array | None = None) -> Predictor:
        """The solution for P = 0: b (d,), c (m,), given (p,) values of y on the imposed dofs."""
        self._unknowns.check_given(given)
        right = b[self._unknowns.at]
        if given is not None and self._rows_given is not None:
            c = c - self._rows_given @ given
            if self._to_given is not None:
                right = right - self._to_given @ given
        y = self._inverse * right
        y[self._zone], multipliers = self.saddle.solve(right[self._zone], c)
        whole = self._unknowns.scattered(y, given)
        return Predictor(lambda _: whole, multipliers, self._product(whole))

    def response(self, impulse: Array) -> Array:
        """Change of y (d,) under the contact impulses P (q,), constraints kept."""
        return self._pushed(impulse)[0]

    def constraint_response(self, impulse: Array) -> Array:
        """The decrease of the multipliers φ (m,) by the contact impulses P (q,)."""
        return -self._pushed(impulse)[1]

    def _pushed(self, impulse: Array) -> tuple[Array, Array]:
        """Changes of y (d,) and φ (m,) under the contact impulses P (q,)."""
        right = self._product.transposed(impulse)[self._unknowns.at]
        y, inside = self._inverse * right, right[self._zone]
        multipliers = self._no_rates
        if inside.any():
            y[self._zone], multipliers = self.saddle.solve(inside, self._no_rates)
        return self._unknowns.scattered(y), multipliers

    def spread(self, b: Array) -> Array:
        """A⁻¹ b (d,) on the unknowns, without constraints and contact; 0 on the other dofs."""
        return self._unknowns.scattered(self._bare.solve(b[self._unknowns.at]))

    @cached_property
    def _bare(self) -> Factor:
        return factorise(self._matrix)
