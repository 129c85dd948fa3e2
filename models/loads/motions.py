"""Imposed motions: boundary → components → number or function of time."""

from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np

from arlequin.models import checks
from arlequin.models.errors import UserError, UserTypeError
from arlequin.models.part import Imposed
from arlequin.models.signatures import takes
from arlequin.models.types import Array, Indices

Motion = float | Callable[[float], float]
Motions = Mapping[str, Mapping[str, Motion]]


def make_imposed(
    part: str,
    motions: Mapping[Literal["displacement", "velocity"], Motions],
    nodes_of: Callable[[str], Indices],
    axes: tuple[tuple[str, ...], ...],
) -> tuple[Imposed, ...]:
    """The imposed motions of a part; axes: the names of each component, such as (("r", "x"), ("z", "y")).

    UserError where a dof has two motions, unless they are equal numbers (the corner of two clamped sides).
    """
    out: list[Imposed] = []
    imposed: dict[int, tuple[str, Any]] = {}
    for kind, boundaries in motions.items():
        checks.mapping(f"{part}: imposed {kind}", boundaries, "must map boundaries to motions of their components")
        for boundary, components in boundaries.items():
            if not isinstance(components, Mapping):
                raise UserTypeError(f"{part}: imposed {kind} on {boundary!r} must map components to values")
            nodes = nodes_of(boundary)
            for name, value in components.items():
                label = f"{part}: imposed {kind} {name!r} on {boundary!r}"
                dofs = nodes * len(axes) + _component(label, name, axes)
                if not callable(value):
                    value = checks.finite(label, value)
                dofs = _free_of(imposed, dofs, label, kind, value)
                if dofs.size:
                    is_zero = not callable(value) and value == 0.0
                    support = boundary, _component(label, name, axes)
                    out.append(Imposed(dofs, kind, _uniform(value, dofs.size, label), label, is_zero, support))
    return tuple(out)


def _component(label: str, name: Any, axes: tuple[tuple[str, ...], ...]) -> int:
    for number, names in enumerate(axes):
        if name in names:
            return number
    raise UserError(f"{label}: the components are {', '.join(names[0] for names in axes)}")


def _free_of(imposed: dict[int, tuple[str, Any]], dofs: Indices, label: str, kind: str, value: Any) -> Indices:
    """The dofs without an imposed motion; UserError where one has a different motion already."""
    free = []
    for dof in dofs.tolist():
        previous = imposed.get(dof)
        if previous is None:
            imposed[dof] = (label, (kind, value))
            free.append(dof)
        elif callable(value) or previous[1] != (kind, value):
            raise UserError(f"{label}: node {dof} is already taken by {previous[0]}".replace("node", "dof"))
    return np.array(free, dtype=np.int64)


def _uniform(value: Motion, count: int, label: str) -> Callable[[float], Array]:
    """The motion of every dof as a function of time, checked to be a finite number."""
    if not callable(value):
        constant = np.full(count, float(value))
        return lambda t: constant
    takes(label, value, t="the time, s")

    def motion(t: float) -> Array:
        return np.full(count, checks.finite(f"{label} at t = {t:g} s", value(t)))

    motion(0.0)
    return motion
