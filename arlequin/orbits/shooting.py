"""Newton's method for periodic motions."""

from dataclasses import dataclass

import numpy as np

from arlequin.models.errors import UserError
from arlequin.models.types import Array
from arlequin.orbits.family import Family
from arlequin.orbits.period_map import Orbit

_ENOUGH, _MOST = 1e-6, 12
_FALLS = 0.1  # of the residual in an iteration, by which its Jacobian serves again
_RANK = 1e-12  # singular values, relative to the largest, that count as zero
_TRANSIENT = 400  # periods of the transient that a start may need


@dataclass(frozen=True, eq=False)
class Point:
    """A periodic motion z = (x, p): its orbit, the monodromy matrix (s, s), the derivatives of the equations by z, and
    the scales (s + 1,) of z at its size; iterations that it took; residual of x in these scales."""

    z: Array
    orbit: Orbit
    monodromy: Array
    jacobian: Array
    scale: Array
    iterations: int
    residual: float

    @property
    def parameter(self) -> float:
        return float(self.z[-1])


def scales(family: Family, z: Array, orbit: Orbit, least: Array | None = None) -> Array:
    """Sizes (s + 1,) of the entries of z: those of x in the orbit, or `least`, and the width of the range of the
    parameter (of a period: itself)."""
    found = family.setting(float(z[-1])).map.sizes(orbit)
    width = abs(family.high - family.low)
    found = np.append(found, abs(z[-1]) if family.autonomous or not width else width)
    return found if least is None else np.maximum(found, least)


def _weights(family: Family, scale: Array) -> Array:
    """Sizes of the equations: of x, and of the phase condition."""
    weights = scale[:-1]
    if not family.autonomous:
        return weights
    return np.append(weights, np.abs(family.phase).max() * scale[np.flatnonzero(family.phase)[0]])


def newton(family: Family, z: Array, scale: Array, row: Array, value: float, most: int = _MOST) -> Point | None:
    """The motion with row · z/scale = value, from a guess; None where Newton's method does not arrive."""
    weights, z = _weights(family, scale), z.copy()
    try:
        orbit = family.run(z)
        by_parameter = family.by_parameter(z, orbit)  # kept: it changes little from here to the solution
        former, fresh = 0.0, True
        for iteration in range(most):
            residual = family.residual(z, orbit)
            left = float(np.abs(residual / weights).max())
            # Jacobians from differences are dear: they serve while the residual falls fast
            fresh = orbit.steps is not None or not left < _FALLS * former
            if fresh:
                monodromy, jacobian = family.jacobian(z, orbit, by_parameter)
            former = left
            system = np.vstack([jacobian / weights[:, None] * scale, row])
            right = np.append(residual / weights, row @ (z / scale) - value)
            # consistent equations of a conservative motion are one too many
            step = np.linalg.lstsq(system, -right, rcond=_RANK)[0]
            size = float(np.abs(step).max())
            if not np.isfinite(size) or size > 1e3:
                return None
            z = z + scale * step
            if z[-1] <= 0.0 and family.unit in ("Hz", "s"):
                return None
            orbit = family.run(z)
            if size < _ENOUGH and not fresh:
                former = 0.0  # the last Jacobian is that of the solution
            elif size < _ENOUGH:  # the next step would be of its square
                residual = family.residual(z, orbit) / weights
                return Point(z, orbit, monodromy, jacobian, scale, iteration + 1, float(np.abs(residual).max()))
    except UserError as error:
        if "impacts of a rigid contact" in error.message:
            raise
    return None


def tangent(family: Family, point: Point, scale: Array, along: Array) -> Array:
    """Unit tangent (s + 1,) of the branch in scaled z, turned along a given direction."""
    weights = _weights(family, scale)
    system = np.vstack([point.jacobian / weights[:, None] * scale, along])
    right = np.zeros(len(system))
    right[-1] = 1.0
    found = np.linalg.lstsq(system, right, rcond=1e-9)[0]
    return np.asarray(found / np.linalg.norm(found))


def first_point(family: Family, parameter: float, guess: Array | None) -> Point:
    """A motion at a parameter: from a guess, from rest, or from the transient that starts at rest."""
    own = family.setting(parameter).map
    row = np.zeros(own.state_size + 1)
    row[-1] = 1.0
    z = np.append(np.zeros(own.state_size) if guess is None else guess, parameter)
    for _ in range(2):
        orbit = family.run(z)
        scale = scales(family, z, orbit)
        point = newton(family, z, scale, row, parameter / scale[-1], 25)
        if point is not None:
            return point
        for _ in range(_TRANSIENT):
            orbit = family.run(z)
            moved = np.abs((orbit.end - z[:-1]) / scale[:-1]).max()
            z = np.append(orbit.end, parameter)
            if moved < 1e-3:
                break
    raise UserError(
        f"no periodic motion was found at {family.name} = {parameter:g} {family.unit}, from rest and after a transient "
        f"of {_TRANSIENT} periods: give periods=2, 3, …, a start, or more steps",
        1,
    )


def first_mode(family: Family, period: float, energy: float) -> Point:
    """The nonlinear mode of the least energy, J, from the linear one, whose amplitude along the shape is kept."""
    assert family.mode is not None
    own = family.setting(period).map
    amplitude = np.sqrt(2.0 * energy) * period / (2.0 * np.pi)
    z = np.concatenate([amplitude * family.mode, np.zeros(own.state_size - own.size), [period]])
    scale = scales(family, z, family.run(z))
    row = np.zeros_like(z)
    row[: own.size] = (own.mass @ family.mode) * scale[: own.size]
    point = newton(family, z, scale, row, amplitude, 25)
    if point is None:
        raise UserError(f"no nonlinear mode was found at {energy:g} J: give a smaller energy, or more steps", 1)
    return point
