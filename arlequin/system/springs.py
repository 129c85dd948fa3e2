"""Springs and linear relations in the dofs of a system."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from arlequin.models.lumped.bushings import Bushing
from arlequin.models.lumped.relations import Relation
from arlequin.models.lumped.springs import Spring
from arlequin.models.part import Surface
from arlequin.models.types import Array
from arlequin.system.dofs import DofLayout, bounds_of


@dataclass(frozen=True, eq=False)
class SpringSet:
    """The springs of a system: elongations e = B u (s,), m, forces f = −Bᵀ(k e + c ė), energy ½ Σ k e².

    span (springs + 1,) bounds the rows of each spring. The elongations are taken as differences of displacements, so
    that the round-off of a common motion does not enter the energy.
    """

    rows: sp.csr_array
    stiffness: Array
    damping: Array
    span: np.ndarray

    @classmethod
    def of(cls, springs: Sequence[Spring], layout: DofLayout) -> "SpringSet":
        """The springs between parts of the layout."""
        blocks, stiffness, damping, sizes = [], [], [], []
        for spring in springs:
            rows = elongations(spring, layout)
            k, c = spring.values()
            blocks.append(rows)
            stiffness.append(np.outer(spring.shares, k).ravel())
            damping.append(np.outer(spring.shares, c).ravel())
            sizes.append(rows.shape[0])
        return cls(
            rows=sp.csr_array(sp.vstack(blocks, format="csr")) if blocks else sp.csr_array((0, layout.count)),
            stiffness=np.concatenate(stiffness) if blocks else np.zeros(0),
            damping=np.concatenate(damping) if blocks else np.zeros(0),
            span=bounds_of(sizes),
        )

    @property
    def any(self) -> bool:
        """Whether the system has springs."""
        return self.stiffness.size > 0

    def matrix(self, values: Array) -> sp.csr_array:
        """Bᵀ diag(values) B (d, d)."""
        return sp.csr_array(self.rows.T @ sp.diags_array(values) @ self.rows)

    def internal(self, u: Array) -> tuple[Array, float]:
        """Bᵀ k e (d,), N, and ½ Σ k e², J."""
        elongation = self.rows @ u
        pull = self.stiffness * elongation
        return self.rows.T @ pull, 0.5 * float(pull @ elongation)

    def frequency_bound(self, mass: Array) -> float:
        """Bound of the largest angular frequency of the springs alone on the diagonal masses (d,), rad/s.

        λ(M⁻¹BᵀkB) ≤ max_d Σ_e |K_de| / M_d (Gershgorin).
        """
        if not self.any:
            return 0.0
        sums = np.asarray(abs(self.matrix(self.stiffness)).sum(axis=1)).ravel()
        with np.errstate(divide="ignore"):
            return float(np.sqrt(np.divide(sums, mass, out=np.zeros_like(sums), where=sums > 0.0).max(initial=0.0)))


def elongations(spring: Spring, layout: DofLayout) -> sp.csr_array:
    """Elongations (node × vector, d) of a spring."""

    if isinstance(spring, Bushing):
        ends = [
            layout.widened(spring.motion(end), end.part) for end in (spring.first, spring.second) if end is not None
        ]
        return sp.csr_array(ends[0] - ends[1] if len(ends) > 1 else ends[0])

    def side(surface: Surface, nodes: np.ndarray | slice) -> sp.csr_array:
        rows = np.arange(surface.positions.size).reshape(-1, spring.axes)[nodes]
        along = sp.kron(sp.eye_array(len(rows)), spring.frame, format="csr")
        return sp.csr_array(along @ layout.widened(surface.motion[rows.ravel()], surface.part))

    first = side(spring.first, slice(None))
    if spring.second is None or spring.partners is None:
        return first
    return sp.csr_array(first - side(spring.second, spring.partners))


def relation_rows(relation: Relation, layout: DofLayout) -> sp.csr_array:
    """The rows (m, d) of a relation, the largest coefficient of each being 1."""
    count, scale = relation.count, max(abs(a) for *_, a in relation.terms) or 1.0
    total = sp.csr_array((count, layout.count))
    for surface, component, coefficient in relation.terms:
        dofs = np.broadcast_to(relation.dofs(surface, component), count)
        total = total + (coefficient / scale) * layout.rows(surface.part, dofs)
    return sp.csr_array(total)
