"""Fields inside reduced parts, recovered from their coordinates at the frames of a run."""

from typing import Any

import numpy as np

from arlequin.models.part import Part, RecoveredField, Recovering
from arlequin.models.types import Array
from arlequin.results.variables import Key, Variable, VariableGroup

COORDINATES = "generalised", "generalised_rate"  # displacements and velocities


class RecoverySeries:
    """Recovered fields and generalised coordinates of a part at the frames of a run."""

    def __init__(self, part: Part, assembled: Recovering) -> None:
        self._group, self._axes = f"part/{part.name}", part.positions.shape[1]
        self._fields, self._generalised = assembled.recovered, assembled.generalised

    def variables(self) -> list[Variable]:
        """Recorded variables, with units and names."""
        out: list[Variable] = []
        for field in self._fields:
            point, component = f"{field.name}_point", f"{field.name}_component"
            count = self._points(field)
            dims: dict[str, Any] = {point: count, "axis": ("x", "y", "z")[: self._axes], component: field.components}
            group = VariableGroup(self._group, dims)
            shape = f"frame {point} {component}" if field.components else f"frame {point}"
            text = f"{field.name.replace('_', ' ')}, recovered from the coordinates"
            out.append(group.variable(field.name, shape, field.units, text))
            if field.positions is not None:
                text = f"initial position of the points of {field.name}"
                out.append(group.variable(f"{field.name}_position", f"{point} axis", "m", text, field.positions))
        if self._generalised.size:
            group = VariableGroup(self._group, {"coordinate": int(self._generalised.size)})
            displaced, moving = COORDINATES
            out += group.variables(
                (displaced, "frame coordinate", "1", "generalised coordinates, in the units of their shapes"),
                (moving, "frame coordinate", "1/s", "rates of the generalised coordinates"),
            )
        return out

    def frames(self, u: Array, v: Array) -> dict[Key, Array]:
        """Values at coordinates and rates u, v (f, …, d)."""
        out: dict[Key, Array] = {}
        flat = u.reshape(-1, u.shape[-1])
        for field in self._fields:
            # one product for each frame: rounding does not depend on the number of frames
            values = np.array([field.matrix @ frame for frame in flat])
            shape = (self._points(field), len(field.components)) if field.components else (self._points(field),)
            out[self._group, field.name] = values.reshape(*u.shape[:-1], *shape)
        if self._generalised.size:
            for name, rates in zip(COORDINATES, (u, v), strict=True):
                out[self._group, name] = rates[..., self._generalised]
        return out

    @staticmethod
    def _points(field: RecoveredField) -> int:
        return len(field.matrix) if field.positions is None else len(field.positions)
