"""What a run records of a spring."""

from collections.abc import Sequence

import numpy as np

from arlequin.assembly import Assembly
from arlequin.products import applied
from arlequin.record import Key, Variable
from models.rows import row_products
from models.types import Array


class SpringHistory:
    """Variables of one spring: the force on its first end and the elongation, at the instants of the steps."""

    def __init__(self, assembly: Assembly, index: int) -> None:
        spring, links = assembly.system.springs[index], assembly.links
        rows = slice(*links.span[index : index + 2])
        self._group = f"spring/{spring.name}"
        self._axes = spring.axes
        self._rows = links.rows[rows]
        # node by node, the vectors of the frame
        count = len(spring.shares)
        self._pull = np.tile(spring.frame.T, count)
        self._mean = self._pull * np.repeat(spring.shares, len(spring.frame))
        self._stiffness, self._damping = links.stiffness[rows], links.damping[rows]

    def variables(self) -> Sequence[Variable]:
        """With units and names."""
        coords = {"component": AXES[: self._axes]}

        def vector(name: str, units: str, text: str) -> Variable:
            return Variable(self._group, name, ("time", "component"), (self._axes,), units, text, coords=coords)

        return [vector("force", "N", "force on the first end"), vector("elongation", "m", "u₁ − u₂, mean of the nodes")]

    def rows(self, u: Array, v: Array) -> dict[Key, Array]:
        """The values at states u, v (b, d)."""
        elongation, rate = applied(self._rows, u), applied(self._rows, v)
        return {
            (self._group, "force"): row_products(-(self._stiffness * elongation + self._damping * rate), self._pull.T),
            (self._group, "elongation"): row_products(elongation, self._mean.T),
        }
