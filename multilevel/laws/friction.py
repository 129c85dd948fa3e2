"""Friction between the surfaces."""

import math
from dataclasses import dataclass

from arlequin.models.checks import non_negative, positive
from arlequin.models.errors import UserError


@dataclass(frozen=True)
class Coulomb:
    """Coulomb's dry friction on the total normal pressure p_n (regular laws and multiplier):

        ‖t_t‖ ≤ μ p_n;   −t_t ∈ μ p_n ∂‖w‖,   w = v_t + compliance t_t − ė,   t_t = −stiffness e − damping ė

    that is, w = 0 inside the disk (an interval in 2D) and t_t = −μ p_n w/‖w‖ on its edge. coefficient: μ ≥ 0.
    compliance, m/(s Pa): 0 is the law itself; with more, the tangential traction grows with the slip velocity up to
    the threshold (velocity penalty of 1/compliance). stiffness K_T, Pa/m: infinite is the law itself (e = 0); less is
    elastic stick, w the rate of what slips for good: the traction is that of a spring from zero where contact starts,
    whose end slips when it reaches the threshold (the tangential part of a shock element). damping C_T, Pa s/m: a
    dashpot beside the spring. In a slip the traction stays on the edge of the disk and the stretch e follows from it,
    so that neither jumps and e is that of the edge, μ p_n/K_T, after a few C_T/K_T. Stored is K_T ‖e‖²/2 per area;
    the dashpot's loss counts as friction's. For the step see `arlequin.multilevel.solvers.elastic_stick`.

    Source: Moreau, in Nonsmooth Mechanics and Applications, CISM 302, Springer (1988) 1–82.
    """

    coefficient: float
    compliance: float = 0.0
    stiffness: float = math.inf
    damping: float = 0.0

    def __post_init__(self) -> None:
        for name in ("coefficient", "compliance", "damping"):
            object.__setattr__(self, name, non_negative(f"friction {name}", getattr(self, name)))
        if isinstance(self.stiffness, float) and self.stiffness == math.inf:
            if self.damping > 0.0:
                raise UserError.parameter("friction damping", self.damping, "must be 0 without a stiffness")
        else:
            object.__setattr__(self, "stiffness", positive("friction stiffness", self.stiffness))
            if self.compliance > 0.0:
                raise UserError.parameter("friction compliance", self.compliance, "must be 0 beside a stiffness")
