"""Flows given by matrices, as those of superelements."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from scipy.sparse import csr_array

from arlequin.models import checks
from arlequin.models.errors import UserError, UserTypeError
from arlequin.models.flow.force import Flow, FlowForce, FlowMatrices, check_velocity
from arlequin.models.part import Weighting
from arlequin.models.reduction.superelement import Superelement
from arlequin.models.signatures import checked_call


@checked_call
@dataclass(frozen=True, eq=False, repr=False)
class MatrixFlow(Flow):
    """Forces f = −U C₁ v − U² K₂ u of a flow on one part, given by matrices, as of a superelement.

    part: a `Superelement`, whose coordinates d they are of, or another part, whose nodal displacements (node by node)
    they are of. damping C₁ (d, d), N·s²/m², stiffness K₂ (d, d), N·s²/m³: of the unit of velocity and its square, not
    symmetric in general. `of` reduces other flows to a superelement.

    >>> import arlequin as aq
    >>> mass = aq.PointMasses("mass", 0.0, 2.0)  # m, kg
    >>> held = aq.Spring("held", mass.boundary("all"), stiffness=8.0)  # N/m
    >>> flow = aq.flow.MatrixFlow("flow", mass, velocity=2.0, damping=[[0.4]], stiffness=[[-1.5]])
    >>> modes = aq.complex_modes(aq.System([mass], springs=[held], flows=[flow]), count=1)
    >>> modes.eigenvalues.round(6).tolist()  # 2λ² + 0.8λ + 8 − 6 = 0
    [(-0.2+0.979796j)]
    """

    name: str
    part: Any
    velocity: float
    damping: Any = field(default=None, kw_only=True)
    stiffness: Any = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        checks.valid_name(self.name, "name of a flow")
        if not hasattr(self.part, "assemble"):
            raise UserError.parameter("part", self.part, "must be a part")
        check_velocity(self.name, self.velocity)
        if self.damping is None and self.stiffness is None:
            raise UserError(f"flow '{self.name}': give damping=, stiffness= or both")
        for kind in ("damping", "stiffness"):
            object.__setattr__(self, kind, self._matrix(kind))

    def _matrix(self, kind: str) -> csr_array:
        given, size = getattr(self, kind), self.size
        if given is None:
            return csr_array((size, size))
        label = f"{kind} of flow '{self.name}'"
        full = given.toarray() if sp.issparse(given) else given
        return csr_array(checks.finite_array(label, full, (size, size)))

    @classmethod
    def of(cls, flow: FlowForce, superelement: Superelement) -> Self:
        """A flow on a beam that `aq.craig_bampton` has reduced to a superelement, SᵀC S and SᵀK S, S its shapes.

        >>> import arlequin as aq
        >>> steel, tube = aq.LinearElastic(young=2e11, poisson=0.3, density=7800.0), aq.Section.tube(0.01, 0.009, 0.3)
        >>> pipe = aq.Beam("pipe", aq.mesh.interval(0.0, 2.0, cells=8), steel, tube, dimension=2, added_mass=0.254)
        >>> ends = [pipe.boundary(name) for name in ("left", "right")]
        >>> short = aq.craig_bampton(pipe, ends, modes=6)
        >>> reduced = aq.flow.MatrixFlow.of(aq.flow.PipeFlow("water", pipe, 5.0, fluid_mass=0.254), short)
        >>> reduced.name, reduced.part.name, reduced.velocity, reduced.damping.shape
        ('water', 'pipe', 5.0, (12, 12))
        """
        if not isinstance(flow, FlowForce):
            raise UserTypeError.parameter("flow", flow, "must be a flow, as aq.flow.PipeFlow(…)")
        if not isinstance(superelement, Superelement):
            raise UserTypeError.parameter("superelement", superelement, "must be a Superelement of aq.craig_bampton")
        missing = [part.name for part in flow.parts if part.name not in superelement.beam_shapes]
        if missing:
            raise UserError(
                f"flow '{flow.name}': superelement '{superelement.name}' was not reduced from a beam '{missing[0]}' by "
                "aq.craig_bampton"
            )
        shapes = np.vstack([superelement.beam_shapes[part.name] for part in flow.parts])
        unit = flow.at(1.0).matrices({})
        damping, stiffness = (shapes.T @ (matrix @ shapes) for matrix in (unit.damping, unit.stiffness))
        return cls(flow.name, superelement, flow.velocity, damping=damping, stiffness=stiffness)

    @property
    def size(self) -> int:
        """Number of coordinates d."""
        return int(self.part.stiffness.shape[0] if isinstance(self.part, Superelement) else self.part.dof_count)

    def matrices(self, weights: Mapping[str, Weighting]) -> FlowMatrices:
        """C and K on the coordinates of a superelement, or on the nodal displacements of another part."""
        if self.part.name in weights:
            raise UserError(f"flow '{self.name}': part '{self.part.name}' shares its energy in a junction: no matrices")
        return FlowMatrices(csr_array(self.velocity * self.damping), csr_array(self.velocity**2 * self.stiffness))
