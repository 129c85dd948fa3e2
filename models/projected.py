"""External forces on the coordinates of a reduced part."""

from dataclasses import dataclass
from typing import Protocol

from models.part import Array, Assembled
from models.rows import row_products


class ForceInTime(Protocol):
    """A force as a function of time."""

    def __call__(self, t: float) -> Array:
        """The force (r,) at the time t."""
        ...

    def at(self, times: Array) -> Array:
        """The forces (t, r) at the times (t,)."""
        ...


@dataclass(frozen=True, eq=False)
class Projected:
    """Sᵀ f (r,) of the external force f (d,) of an assembled part, on the coordinates of shapes S (d, r)."""

    own: Assembled
    shapes: Array

    def __call__(self, t: float) -> Array:
        """At the time t."""
        return self.shapes.T @ self.own.load(t)

    def at(self, times: Array) -> Array:
        """At the times (t,)."""
        return row_products(self.own.loads_at(times), self.shapes)
