"""External forces of a part as functions of time."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from models.types import Array


class Force(Protocol):
    """Forces (d,) on the coordinates of a part as a function of time, N (N·m on rotations)."""

    def __call__(self, t: float) -> Array:
        """The force (d,) at the time t."""
        ...

    def at(self, times: Array) -> Array:
        """The forces (t, d) at the times (t,)."""
        ...

    def projected(self, shapes: Array) -> "Force":
        """Sᵀ f (r,) on the coordinates of shapes S (d, r)."""
        ...


@dataclass(frozen=True, eq=False)
class Varying:
    """Any function of time that gives forces (d,)."""

    function: Callable[[float], Array]

    def __call__(self, t: float) -> Array:
        """The force (d,) at the time t."""
        return self.function(t)

    def at(self, times: Array) -> Array:
        """The forces (t, d) at the times (t,)."""
        return np.array([self.function(t) for t in times.tolist()])

    def projected(self, shapes: Array) -> "Varying":
        """Sᵀ f (r,) on the coordinates of shapes S (d, r)."""
        return Varying(lambda t: shapes.T @ self.function(t))


@dataclass(frozen=True, eq=False)
class Loads:
    """The loads of a part: constant (d,), and what varies in time."""

    constant: Array
    varying: tuple[Force, ...] = ()

    def __call__(self, t: float) -> Array:
        """External force (d,) at the time t; a fresh array."""
        total = self.constant.copy()
        for load in self.varying:
            total += load(t)
        return total

    def at(self, times: Array) -> Array:
        """External forces (t, d) at the times (t,); a fresh array."""
        total = np.tile(self.constant, (times.size, 1))
        for load in self.varying:
            total += load.at(times)
        return total

    def projected(self, shapes: Array) -> "Loads":
        """Sᵀ f (r,) on the coordinates of shapes S (d, r)."""
        return Loads(shapes.T @ self.constant, tuple(load.projected(shapes) for load in self.varying))

    @property
    def steady(self) -> bool:
        """Whether the force is the same at all times."""
        return not self.varying
