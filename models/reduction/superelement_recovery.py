"""Fields inside a superelement, linear in its coordinates, as a user gives them."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from arlequin.models import checks
from arlequin.models.errors import UserError, UserTypeError
from arlequin.models.part import RecoveredField
from arlequin.models.reduction.superelement_coordinates import AXES

Recovery = Any  # a matrix, (matrix, positions[, units]), or a mapping from names to either

_RESERVED = (
    "mass", "position", "connectivity", "cell_nodes", "left_out", "weight", "momentum", "displacement", "velocity",
    "rotation", "angular_velocity", "generalised", "generalised_rate", "reaction", "reaction_moment",
)  # fmt: skip


def recovered_fields(part: str, recovery: Recovery, axes: int, columns: int) -> tuple[RecoveredField, ...]:
    """The fields of `recovery` of a part with `axes` coordinates of a point and so many columns; without a name a field
    is "inner_displacement", in m."""
    if recovery is None:
        return ()
    named = recovery if isinstance(recovery, Mapping) else {"inner_displacement": recovery}
    return tuple(_field(part, name, given, axes, columns) for name, given in named.items())


def _field(part: str, name: str, given: Any, axes: int, columns: int) -> RecoveredField:
    label = f"recovery '{name}' of '{part}'"
    checks.valid_name(name, "name of a recovered field")
    if name in _RESERVED:
        raise UserError(f"{label}: the result has a variable of this name: take another")
    units = "m" if name.endswith("displacement") else "1"
    positions = None
    if isinstance(given, tuple):
        if not 2 <= len(given) <= 3:
            raise UserError(f"{label}: must be a matrix, (matrix, positions) or (matrix, positions, units)")
        matrix, positions, *rest = given
        units = rest[0] if rest else units
        if not isinstance(units, str):
            raise UserTypeError.parameter(f"units of {label}", units, "must be a text, as 'Pa'")
    else:
        matrix = given
    matrix = matrix.toarray() if sp.issparse(matrix) else matrix
    matrix = checks.finite_array(label, matrix)
    if matrix.ndim != 2 or matrix.shape[1] != columns or not matrix.shape[0]:
        raise UserError(f"{label}: has shape {matrix.shape}, expected (rows, {columns})")
    count = 1
    if positions is not None:
        positions = checks.finite_array(f"positions of {label}", positions, (None, axes))
        count, rest_rows = divmod(matrix.shape[0], max(len(positions), 1))
        if rest_rows or not count:
            raise UserError(f"{label}: {matrix.shape[0]} rows for {len(positions)} points: the same number for each")
    labels = () if count == 1 else AXES[:count] if count == axes else tuple(map(str, range(count)))
    return RecoveredField(name, np.ascontiguousarray(matrix), positions, labels, units)
