"""The forces of flows on the coordinates of a system."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import scipy.sparse as sp

from arlequin.models.errors import UserError
from arlequin.models.flow.force import FlowForce
from arlequin.models.part import Weighting
from arlequin.models.reduction.superelement import Superelement
from arlequin.models.types import Array
from arlequin.system.dofs import DofLayout


@dataclass(frozen=True, eq=False)
class FlowTerms:
    """Forces f = −C v − K u of all flows of a system; damping C, stiffness K (d, d), in general not symmetric."""

    damping: sp.csr_array
    stiffness: sp.csr_array

    @classmethod
    def of(cls, flows: Sequence[FlowForce], layout: DofLayout, weights: Mapping[str, Weighting]) -> "FlowTerms | None":
        """The sum over the flows; None without any."""
        if not flows:
            return None
        size = (layout.count, layout.count)
        damping, stiffness = sp.csr_array(size), sp.csr_array(size)
        for flow in flows:
            for part in flow.parts:
                if part.name in layout.rotating:
                    raise UserError(f"flow '{flow.name}': part '{part.name}' rotates: it acts on parts that do not")
            rows = sp.csr_array(
                sp.vstack(
                    [
                        layout.coordinates(part)  # of a superelement by its matrices
                        if isinstance(part, Superelement)
                        else layout.widened(sp.eye_array(part.dof_count, format="csr"), part)
                        for part in flow.parts
                    ]
                )
            )
            terms = flow.matrices(weights)
            damping = damping + rows.T @ terms.damping @ rows
            stiffness = stiffness + rows.T @ terms.stiffness @ rows
        return cls(sp.csr_array(damping), sp.csr_array(stiffness))

    def __add__(self, other: "FlowTerms") -> "FlowTerms":
        return FlowTerms(sp.csr_array(self.damping + other.damping), sp.csr_array(self.stiffness + other.stiffness))

    def at(self, velocity: float) -> "FlowTerms":
        """Those of a flow at a velocity, m/s, of its forces at 1 m/s: C proportional to U, K to U²."""
        return FlowTerms(velocity * self.damping, velocity**2 * self.stiffness)

    @property
    def transposed(self) -> "FlowTerms":
        """Those with Cᵀ and Kᵀ."""
        return FlowTerms(sp.csr_array(self.damping.T), sp.csr_array(self.stiffness.T))

    def force(self, u: Array, v: Array) -> Array:
        """−C v − K u (d,), N."""
        return -(self.damping @ v) - self.stiffness @ u


def refuse_flows(flows: Sequence[FlowForce], what: str) -> None:
    """UserError where there is a flow, which `what` does not take."""
    if flows:
        raise UserError(f"flow '{flows[0].name}': {what}")
