"""Static condensation of massless contact nodes."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from arlequin.models.errors import UserError
from arlequin.models.linalg.factor import factorise
from arlequin.models.types import Array
from arlequin.multilevel.laws.asperities import Asperities
from arlequin.multilevel.solvers.law_tables import PointLaws
from arlequin.system.absorption import Absorption
from arlequin.system.assembly import Assembly


class MasslessCondensation(Assembly):
    """The assembly with its massless dofs c in equilibrium at every instant, in the numbering of the full one.

    With i the dofs that have mass, u_c = K_cc⁻¹ (B_cᵀ r − K_ci u_i), and the forces on i derive from the
    condensed energy

        S*(u_i) = min over u_c, g ≥ 0 of S(u_i, u_c) = ½ u_iᵀ K̂ u_i + Ψ(q),    K̂ = K_ii − K_ic K_cc⁻¹ K_ci,

    q = gap + B̂ u_i the gap that free massless nodes would have, B̂ = B_i − B_c K_cc⁻¹ K_ci, Ψ(q) = ½ ⟨−q⟩²/w and r
    = ⟨−q⟩₊/w with w = B_c K_cc⁻¹ B_cᵀ. Unilateral contact has become a regular law of stiffness 1/w: a scheme that
    conserves energy with regular laws conserves it through contact. Damping acts on the velocities that free
    massless nodes would have: D̂ = Tᵀ D T, T = [I; −K_cc⁻¹ K_ci] (none for rigid motion; its loss is never negative).

    Source: Khenous, Laborde & Renard, Eur. J. Mech. A/Solids 27 (2008) 918–932.
    """

    @classmethod
    def of(cls, full: Assembly) -> "MasslessCondensation":
        """The condensed assembly; contact points on massless nodes must have gap-level unilateral contact alone."""
        c = full.massless
        k_cc = factorise(full.stiffness[c][:, c])
        k_ci = sp.csr_array(full.stiffness[c] @ sp.diags_array((~c).astype(float)))
        b_c = full.contact.basis[:, c]
        from_interior = k_cc.solve(k_ci.toarray()) if c.any() else k_ci.toarray()
        from_contact = k_cc.solve(np.asfortranarray(b_c.toarray().T))
        compliance = b_c @ from_contact
        _check(full, compliance)

        keep = sp.diags_array((~c).astype(float))
        k_ic = sp.csr_array(keep @ full.stiffness[:, c])
        stiffness = sp.csr_array(keep @ full.stiffness @ keep - k_ic @ sp.csr_array(from_interior))
        rows = sp.csr_array(full.contact.basis @ keep - sp.csr_array(b_c @ from_interior))
        stiffnesses = 1.0 / (np.diag(compliance) * full.laws.area)
        laws = PointLaws.gather([(Asperities(value),) for value in stiffnesses], full.laws.area)
        contact = replace(full.contact, basis=rows, laws=laws)
        fields: dict[str, Any] = {name: getattr(full, name) for name in full.__dataclass_fields__}
        fields.update(stiffness=stiffness, contact=contact)
        massless = sp.csr_array(sp.eye_array(full.dof_count))[:, c]
        follow = sp.csr_array(keep - massless @ sp.csr_array(from_interior))
        if full.damping is not None:
            fields["damping"] = sp.csr_array(follow.T @ full.damping @ follow)
        if full.absorber is not None:
            fields["absorption"] = Absorption(sp.csr_array(follow.T @ full.absorber @ follow))
        self = cls(**fields)
        for name, value in (
            ("full", full),
            ("_from_interior", from_interior),
            ("_from_contact", from_contact),
            ("massless", full.massless),
            ("ghost", full.ghost),
        ):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "free", full.free & ~c)  # what the scheme solves for
        return self

    full: Assembly
    _from_interior: Array
    _from_contact: Array

    def expand(self, u: Array) -> Array:
        """The displacement (d,) with the massless nodes in equilibrium under contact."""
        force = self.laws.area * self.laws.pressure(self.contact.gaps(u))
        return self._with_massless(u, self._from_contact @ force)

    def _with_massless(self, u: Array, contact: Array | float) -> Array:
        out = u.copy()
        out[self.massless] = 0.0
        out[self.massless] = contact - self._from_interior @ out
        return out

    def internal(self, u: Array) -> tuple[Array, float]:
        """Internal forces (d,) and strain energy with the massless nodes free of contact; Ψ is the laws' energy."""
        forces, energy = self.full.internal(self._with_massless(u, 0.0))
        forces[self.massless] = 0.0
        return forces, energy

    def loads(self, times: Array) -> Array:
        """External forces (t, d), N, which must leave the massless nodes free."""
        loads = self.full.loads(times)
        if loads[:, self.massless].any():
            raise UserError(
                "the midpoint scheme takes no load on massless contact nodes: use the θ-scheme, or another mass"
            )
        return loads

    def load(self, t: float) -> Array:
        return self.loads(np.array([t]))[0]


def _check(full: Assembly, compliance: Array) -> None:
    contact = full.contact
    for interface, (a, b) in zip(contact.items, pairwise(contact.start), strict=True):
        name = interface.name
        if (full.laws.level[a:b] != 1).any() or full.laws.has_regular or full.laws.frictional or not contact.fixed:
            raise UserError(
                f"interface '{name}': the midpoint scheme on massless nodes needs gap-level unilateral contact alone, "
                'with a flat obstacle or in 1D, without friction (Unilateral(level="gap"))'
            )
    diagonal = np.diag(compliance)
    if (diagonal <= 0.0).any():
        raise UserError('the midpoint scheme needs mass="redistributed" on every surface under unilateral contact')
    if np.abs(compliance - np.diag(diagonal)).max() > 1e-12 * diagonal.max():
        raise UserError(
            "the midpoint scheme condenses massless contact points only where they do not act on each other (bars)"
        )
    if full.imposed_dofs.size and full.massless[full.imposed_dofs].any():
        raise UserError("the midpoint scheme takes no imposed motion on massless contact nodes")
