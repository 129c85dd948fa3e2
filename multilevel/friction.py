"""Friction between the surfaces."""

from dataclasses import dataclass

from models.checks import non_negative


@dataclass(frozen=True)
class Coulomb:
    """Coulomb's dry friction on the total normal pressure p_n (regular laws and multiplier):

        ‖t_t‖ ≤ μ p_n;   −t_t ∈ μ p_n ∂‖w‖,   w = v_t + compliance t_t

    that is, w = 0 inside the disk (an interval in 2D) and t_t = −μ p_n w/‖w‖ on its edge. coefficient: μ ≥ 0.
    compliance, m/(s Pa): 0 is the law itself; with more, the tangential traction grows with the slip velocity up to
    the threshold (velocity penalty of 1/compliance).

    Source: Moreau, in Nonsmooth Mechanics and Applications, CISM 302, Springer (1988) 1–82.
    """

    coefficient: float
    compliance: float = 0.0

    def __post_init__(self) -> None:
        non_negative("friction coefficient", self.coefficient)
        non_negative("friction compliance", self.compliance)
