"""Springs and dashpots between parts, or from a part to the ground."""

from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np

from arlequin.models import checks
from arlequin.models.errors import UserError, UserTypeError, short_repr
from arlequin.models.part import Surface
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array, Indices


@runtime_checkable
class ForceLaw(Protocol):
    """Law of a spring: branches in parallel, each with the force as a function of the elongation (`aq.springs`)."""

    @property
    def branches(self) -> tuple[Any, ...]: ...

    @property
    def hysteretic(self) -> bool: ...


def check_law(name: str, law: Any) -> None:
    """UserError where a parameter is no law of springs."""
    if isinstance(law, type) or not isinstance(law, ForceLaw):
        raise UserTypeError.parameter(name, law, "must be a law of springs, as aq.springs.Backlash(1e6, gap=1e-4)")


@checked_call
@dataclass(frozen=True, eq=False)
class Spring:
    """A spring with a dashpot: the force on the first end is f = −k (u₁ − u₂) − c (v₁ − v₂) − law(u₁ − u₂), N.

    first: `part.boundary(name)`; second: another one, or None for the ground (u₂ = 0). stiffness k in N/m, damping c in
    N·s/m: one number for all axes, or one for each; with `direction` (axis,) a number, along it alone. On a
    surface they are distributed over the nodes in proportion to their areas; the second end is then one node, or has
    as many nodes as the first, which are paired by distance. Small displacements: the axes do not rotate. law: the
    force as a function of the elongation, N, beside k and c: one of `aq.springs` for all axes, or one for each (None
    for an axis without), each axis by itself.

    >>> import arlequin as aq
    >>> mass = aq.PointMasses("mass", 0.0, 2.0)  # m, kg
    >>> hook = aq.Spring("hook", mass.boundary("all"), stiffness=1000.0)  # N/m, to the ground
    >>> system = aq.System([mass], springs=[hook], gravity=lambda t: -10.0 * t)  # m/s²
    >>> result = aq.simulate(system, aq.Static(), duration=1.0, step=0.5)
    >>> result["part/mass"]["displacement"][:, 0, 0].values.round(9).tolist()  # −m g/k at t = 1 s, m
    [0.0, -0.01, -0.02]
    """

    name: str
    first: Surface
    second: Surface | None = None
    stiffness: Any = 0.0
    damping: Any = field(default=0.0, kw_only=True)
    direction: Any = field(default=None, kw_only=True)
    law: Any = field(default=None, kw_only=True)

    __repr__ = short_repr

    def __post_init__(self) -> None:
        checks.valid_name(self.name, "name of a spring")
        for parameter in ("first", "second"):
            end = getattr(self, parameter)
            if not isinstance(end, Surface) and not (parameter == "second" and end is None):
                raise UserTypeError.parameter(
                    parameter, end, f"spring '{self.name}': must be a part.boundary(\"name\")"
                )
        if self.second is not None and self.second.positions.shape[1] != self.axes:
            raise UserError(f"spring '{self.name}': its ends have {self.axes} and another number of coordinates")
        stiffness, damping = (self._values(parameter) for parameter in ("stiffness", "damping"))
        lawless = all(law is None for law in self.laws)
        if not (stiffness > 0.0).any() and not (damping > 0.0).any() and lawless:
            raise UserError(f"spring '{self.name}': needs a stiffness or a damping above 0, or a law")
        _ = self.frame, self.partners

    @property
    def axes(self) -> int:
        """Number of coordinates of the ends."""
        return int(self.first.positions.shape[1])

    @property
    def frame(self) -> Array:
        """Unit vectors (s, axis) of the spring forces: the axes, or the direction."""
        if self.direction is None:
            return np.eye(self.axes)
        vector = checks.finite_array("direction", self.direction, (self.axes,))
        if not np.linalg.norm(vector) > 0.0:
            raise UserError.parameter("direction", self.direction, "must not be zero")
        return np.asarray(vector / np.linalg.norm(vector))[None]

    @property
    def laws(self) -> tuple[ForceLaw | None, ...]:
        """The law along each vector of the frame (s,), or None."""
        count = 1 if self.direction is not None else self.axes
        several = isinstance(self.law, list | tuple)
        laws = tuple(self.law) if several else (self.law,) * count
        name = f"spring '{self.name}': law"
        if len(laws) != count:
            raise UserError.parameter(name, f"{len(laws)} laws", f"must be one, or {count} of them")
        for law in laws:
            if law is not None:
                check_law(name, law)
        return laws

    @property
    def shares(self) -> Array:
        """Share (k,) of each node of the first end; they sum to 1."""
        areas = np.maximum(self.first.areas, 0.0)
        return np.asarray(areas / areas.sum())

    @property
    def partners(self) -> Indices | None:
        """For each node of the first end (k,) the index of its node in the second; None for the ground."""
        if self.second is None:
            return None
        first, second = self.first.positions, self.second.positions
        if len(second) == 1:
            return np.zeros(len(first), dtype=np.int64)
        near = np.linalg.norm(first[:, None] - second[None], axis=2).argmin(axis=1)
        if len(first) != len(second) or np.unique(near).size != near.size:
            raise UserError(
                f"spring '{self.name}': {len(first)} nodes of '{self.first.name}' and {len(second)} of "
                f"'{self.second.name}': the second end must be one node, or match the first node by node"
            )
        return near.astype(np.int64)

    def values(self) -> tuple[Array, Array]:
        """Stiffness (s,), N/m, and damping (s,), N·s/m, along the vectors of the frame."""
        return self._values("stiffness"), self._values("damping")

    def _values(self, parameter: str) -> Array:
        array = checks.finite_array(f"spring '{self.name}': {parameter}", getattr(self, parameter))
        count = len(self.frame)
        if array.shape not in ((), (count,)) or (array < 0.0).any():
            rule = f"must not be negative: one number{f', or {count} of them' if count > 1 else ''}"
            raise UserError.parameter(parameter, getattr(self, parameter), rule)
        return np.broadcast_to(array, (count,)).copy()
