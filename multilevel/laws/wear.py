"""Wear: matter that slip under pressure takes away."""

from dataclasses import dataclass

from arlequin.models.checks import positive
from arlequin.models.types import Array


@dataclass(frozen=True)
class Archard:
    """Archard's law: the worn depth h of a point grows with the work rate of its pressure, ḣ = k p_n ‖v_t‖.

    coefficient k, m³/J (= 1/Pa), > 0: volume worn by the work of the normal force on the slip, without the
    coefficient of friction; with a number K without unit and the hardness H, Pa, k = K/H. density, kg/m³, of what wears
    off: only the worn mass needs it. The gap opens by h: matter goes from the slave, the master or both.

    What is worn in a step opens the gap in the next one, at a constant rate, as a wall that recedes: h follows the
    motion explicitly, with order 1 in the step. Where a point's pressure falls by s, Pa/m, as it alone wears,
    this needs k s ‖v_t‖ Δt < 1 (s: the stiffness of asperities, or about E/(size of a cell)); beyond 2 the pressure
    alternates.

    Source: J. F. Archard, Contact and rubbing of flat surfaces, Journal of Applied Physics 24 (1953) 981–988.
    """

    coefficient: float
    density: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "coefficient", positive("wear coefficient", self.coefficient))
        if self.density is not None:
            object.__setattr__(self, "density", positive("density of worn matter", self.density))


@dataclass(frozen=True)
class Worn:
    """What is worn off contact points: depth (k,), m, of all steps so far; opening (k,), m, of it yet to open the gap.

    The gap grows by `opening` in the next step, at its end it is that of the surfaces as they were plus `depth`.
    """

    depth: Array
    opening: Array

    def after(self, opening: Array) -> "Worn":
        """After a step that opened the gap and wore off (k,), m, more."""
        return Worn(self.depth + opening, opening)

    def more(self, depth: Array) -> "Worn":
        """With (k,), m, more worn off, which opens the gap in the next step too."""
        return Worn(self.depth + depth, self.opening + depth)
