"""Layer of asperities on a surface: power-law pressure with viscous loss."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from arlequin.models.checks import check_fields, non_negative, one_of, positive, within
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array


@checked_call
@dataclass(frozen=True)
class Asperities:
    """Power-law layer of asperities of height a: the asperities touch at the gap g = a, the substrates at g = 0.

        p(g, ġ) = κ ⟨a − g⟩₊^m + c ⟨a − g⟩₊^m' ⟨−ġ⟩₊

    stiffness κ in Pa/m^m, exponent m ≥ 1, height a in m, damping c in Pa·s/m^(1+m'), damping_exponent m' ≥ 0 (0:
    constant coefficient while the layer is engaged). damping_acts "loading": while the gap closes (default);
    "both": also while it opens, with p ≥ 0 kept. Stored energy per area: κ ⟨a − g⟩^{m+1}/(m + 1).

    Over a step from g₀ to g₁ the stored part is the discrete gradient −(E(g₁) − E(g₀))/(g₁ − g₀) with the weight 2
    − 2θ and p(g₁) with 2θ − 1 (θ ≥ 1/2), so that θ = 1/2 stores exactly the work of the pressure; the lossy part is c
    times the path mean of ⟨a − g⟩^m' times ⟨−(g₁ − g₀)/Δt⟩, so that its loss is never negative.

    >>> import numpy as np
    >>> import arlequin as aq
    >>> law = aq.Asperities(stiffness=1e12, exponent=2, height=1e-3)  # Pa/m², -, m
    >>> law.pressure(np.array([2e-3, 5e-4, 0.0])).round(3).tolist()  # κ ⟨a − g⟩², Pa
    [0.0, 250000.0, 1000000.0]
    >>> law.energy(np.array([5e-4])).round(6).tolist()  # κ ⟨a − g⟩³/3, J/m²
    [41.666667]

    Source: Oden & Martins, Comput. Methods Appl. Mech. Eng. 52 (1985) 527–634; Gonzalez, J. Nonlinear Sci.
    6 (1996) 449–467.
    """

    stiffness: float
    exponent: float = 1.0
    height: float = 0.0
    damping: float = 0.0
    damping_exponent: float = 0.0
    damping_acts: Literal["loading", "both"] = "loading"

    def __post_init__(self) -> None:
        # Pa/m^m: of a large exponent it is a large number
        positive("stiffness", self.stiffness, 1e300)
        check_fields(self, height=non_negative, damping=non_negative, damping_exponent=non_negative)
        object.__setattr__(self, "exponent", within("exponent", self.exponent, 1.0, 100.0))
        one_of("damping_acts", self.damping_acts, ("loading", "both"))

    @property
    def damped(self) -> bool:
        return self.damping > 0.0

    def coefficients(self) -> Array:
        both = float(self.damping_acts == "both")
        return np.array([self.stiffness, self.exponent, self.height, self.damping, self.damping_exponent, both])

    def kernel(self) -> Any:
        from arlequin.multilevel.laws._kernels import power_law

        return power_law

    def pressure(self, gap: Array) -> Array:
        return self.stiffness * np.maximum(self.height - gap, 0.0) ** self.exponent

    def damping_pressure(self, gap: Array, rate: Array) -> Array:
        crush = np.maximum(self.height - gap, 0.0)
        loss = -self.damping * np.where(crush > 0.0, crush**self.damping_exponent, 0.0) * rate
        if self.damping_acts == "loading":
            return np.maximum(loss, 0.0)
        return np.maximum(loss, -self.pressure(gap))

    def energy(self, gap: Array) -> Array:
        m = self.exponent
        return self.stiffness * np.maximum(self.height - gap, 0.0) ** (m + 1.0) / (m + 1.0)

    def stiffness_bound(self) -> float:
        if self.exponent == 1.0:
            return self.stiffness
        return self.stiffness * self.exponent * self.height ** (self.exponent - 1.0)
