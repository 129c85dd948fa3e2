"""Unilateral contact: Signorini's conditions on the gap, or Moreau's on the velocity."""

from dataclasses import dataclass
from typing import Literal

from arlequin.models.checks import one_of, within
from arlequin.models.signatures import checked_call


@checked_call
@dataclass(frozen=True)
class Unilateral:
    """Unilateral contact with a rigid surface.

        level "velocity" (Signorini–Moreau, default):  g > 0 ⇒ λ = 0;  g ≤ 0 ⇒ 0 ≤ λ ⊥ ġ + e ⟨ġ⁻⟩₋ ≥ 0
        level "gap" (Signorini):                       0 ≤ λ ⊥ g ≥ 0

    restitution e, 0 ≤ e ≤ 1 (level "velocity" only): Newton's coefficient at an impact with the approach
    ⟨ġ⁻⟩₋ = min(ġ⁻, 0); its loss is (1 − e) λ |ġ⁻|/2. Contact that persists has none.

    With e = 0 and g(0) ≥ 0 the first implies the second, makes λ ġ = 0 (contact does no work) and is free of the
    spurious oscillations that the second shows with implicit time schemes. For the rate ġ of a time step see
    docs/theory/contact.md.

    >>> import arlequin as aq
    >>> ball = aq.PointMasses("ball", (0.0, 0.1), 2.0)  # m, kg
    >>> floor = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))
    >>> contact = aq.Interface("floor", ball.boundary("all"), floor, aq.Unilateral(restitution=0.5))
    >>> system = aq.System([ball], interfaces=[contact], velocity=(0.0, -4.0))  # m/s
    >>> result = aq.simulate(system, aq.Theta(0.5), duration=0.05, step=0.001)
    >>> result["part/ball"]["velocity"][-1, 0, 1].values.round(9).tolist()  # −e v, m/s
    2.0
    >>> round(float(result["interface/floor"]["impulse"].sum()), 9)  # m v (1 + e), N·s
    12.0

    Source: Moreau, in Nonsmooth Mechanics and Applications, CISM 302, Springer (1988) 1–82.
    """

    level: Literal["gap", "velocity"] = "velocity"
    restitution: float = 0.0

    def __post_init__(self) -> None:
        one_of("level", self.level, ("gap", "velocity"))
        object.__setattr__(self, "restitution", within("restitution", self.restitution, 0.0, 1.0))

    @property
    def compliance(self) -> float:
        return 0.0
