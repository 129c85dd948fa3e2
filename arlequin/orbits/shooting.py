"""Newton's method for periodic motions."""

from dataclasses import dataclass

import numpy as np

from arlequin.models.errors import UserError
from arlequin.models.types import Array
from arlequin.orbits.family import Family
from arlequin.orbits.period_map import Orbit

_TOLERANCE, _MAX_ITERATIONS = 1e-6, 12
_REUSE_REDUCTION = 0.1  # of the residual in an iteration, below which its Jacobian is reused
_RANK = 1e-12  # singular values, relative to the largest, that are treated as zero
_TRANSIENT_PERIODS = 400  # maximum length of the initial transient


@dataclass(frozen=True, eq=False)
class Point:
    """Periodic motion z = (x, p): orbit, monodromy matrix (s, s), derivatives of the equations by z, scales (s + 1,) of
    z, number of iterations, and residual of x in these scales."""

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
    """Scales (s + 1,) of the entries of z: sizes of x in the orbit, at least `least`, and the width of the parameter
    range (for a period: its value)."""
    sizes = family.setting(float(z[-1])).map.sizes(orbit)
    width = abs(family.high - family.low)
    sizes = np.append(sizes, abs(z[-1]) if family.autonomous or not width else width)
    return sizes if least is None else np.maximum(sizes, least)


def _weights(family: Family, scale: Array) -> Array:
    """Scales of the equations: of x, and of the phase condition."""
    weights = scale[:-1]
    if not family.autonomous:
        return weights
    return np.append(weights, np.abs(family.phase).max() * scale[np.flatnonzero(family.phase)[0]])


def newton(
    family: Family, z: Array, scale: Array, row: Array, value: float, max_iterations: int = _MAX_ITERATIONS
) -> Point | None:
    """The motion with row · z/scale = value, from an initial guess z; None if Newton's method does not converge."""
    weights, z = _weights(family, scale), z.copy()
    try:
        orbit = family.run(z)
        by_parameter = family.by_parameter(z, orbit)  # not updated: it changes little up to the solution
        former, updated = 0.0, True
        for iteration in range(max_iterations):
            residual = family.residual(z, orbit)
            size_of_residual = float(np.abs(residual / weights).max())
            # Jacobians by differences are expensive: reused while the residual decreases fast
            updated = orbit.steps is not None or not size_of_residual < _REUSE_REDUCTION * former
            if updated:
                monodromy, jacobian = family.jacobian(z, orbit, by_parameter)
            former = size_of_residual
            system = np.vstack([jacobian / weights[:, None] * scale, row])
            rhs = np.append(residual / weights, row @ (z / scale) - value)
            # conservative motions have one redundant, consistent equation
            step = np.linalg.lstsq(system, -rhs, rcond=_RANK)[0]
            size = float(np.abs(step).max())
            if not np.isfinite(size) or size > 1e3:
                return None
            z = z + scale * step
            if z[-1] <= 0.0 and family.unit in ("Hz", "s"):
                return None
            orbit = family.run(z)
            if size < _TOLERANCE and not updated:
                former = 0.0  # update the Jacobian at the solution
            elif size < _TOLERANCE:  # quadratic convergence: the next step is negligible
                residual = family.residual(z, orbit) / weights
                return Point(z, orbit, monodromy, jacobian, scale, iteration + 1, float(np.abs(residual).max()))
    except UserError as error:
        if "impacts of a rigid contact" in error.message:
            raise
    return None


def tangent(family: Family, point: Point, scale: Array, along: Array) -> Array:
    """Unit tangent (s + 1,) of the branch in scaled z, oriented along a given direction."""
    weights = _weights(family, scale)
    system = np.vstack([point.jacobian / weights[:, None] * scale, along])
    rhs = np.zeros(len(system))
    rhs[-1] = 1.0
    direction = np.linalg.lstsq(system, rhs, rcond=1e-9)[0]
    return np.asarray(direction / np.linalg.norm(direction))


def first_point(family: Family, parameter: float, guess: Array | None) -> Point:
    """The motion at a parameter value, from a guess, from rest, or after a transient from rest."""
    period_map = family.setting(parameter).map
    row = np.zeros(period_map.state_size + 1)
    row[-1] = 1.0
    z = np.append(np.zeros(period_map.state_size) if guess is None else guess, parameter)
    for _ in range(2):
        orbit = family.run(z)
        scale = scales(family, z, orbit)
        point = newton(family, z, scale, row, parameter / scale[-1], 25)
        if point is not None:
            return point
        for _ in range(_TRANSIENT_PERIODS):
            orbit = family.run(z)
            change = np.abs((orbit.end - z[:-1]) / scale[:-1]).max()
            z = np.append(orbit.end, parameter)
            if change < 1e-3:
                break
    raise UserError(
        f"no periodic motion was found at {family.name} = {parameter:g} {family.unit}, from rest and after a transient "
        f"of {_TRANSIENT_PERIODS} periods: give periods=2, 3, …, a start, or more steps",
        1,
    )


def first_mode(family: Family, period: float, energy: float) -> Point:
    """The nonlinear mode of the lowest energy, J, from the linear mode with the same amplitude along its shape."""
    assert family.mode is not None
    period_map = family.setting(period).map
    amplitude = np.sqrt(2.0 * energy) * period / (2.0 * np.pi)
    z = np.concatenate([amplitude * family.mode, np.zeros(period_map.state_size - period_map.size), [period]])
    scale = scales(family, z, family.run(z))
    row = np.zeros_like(z)
    row[: period_map.size] = (period_map.mass @ family.mode) * scale[: period_map.size]
    point = newton(family, z, scale, row, amplitude, 25)
    if point is None:
        raise UserError(f"no nonlinear mode was found at {energy:g} J: give a smaller energy, or more steps", 1)
    return point
