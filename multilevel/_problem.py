"""The contact problem of one step as the kernels read it."""

from typing import Any, NamedTuple

from numba import boolean, float64, int64, types

from multilevel._signature import REGULAR_KERNEL

OPEN, SLIP, STICK = 0, 1, 2


class Problem(NamedTuple):
    """See `multilevel.solver.solve_contact`: k points, r rows; the rows of point k start at first[k], the normal one.

    area (k,) × impulse factor; compliance (k,) and soft (k,): of the normal multiplier and of friction, over that
    area; shift (r,): added to the slack of the multiplier and to the slip rate (which rate closes, see
    `multilevel.closing`; with a compliance, a proximal term); the regular laws of point k are the rows
    rows[k] … rows[k+1] of kind, coefficients and history.
    """

    delassus: Any
    lever: Any
    gap_free: Any
    rate_free: Any
    closed: Any
    first: Any
    area: Any
    level: Any
    compliance: Any
    friction: Any
    soft: Any
    shift: Any
    kernels: Any
    rows: Any
    kind: Any
    coefficients: Any
    history: Any
    step: Any
    theta: Any


_VECTOR, _INDEX, _TABLE = float64[::1], int64[::1], float64[:, ::1]
PROBLEM = types.NamedTuple(
    (
        _TABLE, float64, _VECTOR, _VECTOR, boolean[::1], _INDEX, _VECTOR, _INDEX, _VECTOR, _VECTOR, _VECTOR, _VECTOR,
        types.ListType(REGULAR_KERNEL), _INDEX, _INDEX, _TABLE, _TABLE, float64, float64,
    ),
    Problem,
)  # fmt: skip
