"""Some of the points of a contact: those that a step solves for."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.types import Array
from multilevel.point_laws import PointLaws
from multilevel.solver import ContactSolution


@dataclass(frozen=True, eq=False)
class Problem:
    """Some of the points (p,) of a contact, with their laws, rows of H and rows of the history."""

    points: NDArray[np.int64]
    laws: PointLaws
    rows: NDArray[np.int64]
    histories: NDArray[np.int64]

    def whole(self, solution: ContactSolution, laws: PointLaws, history: Array) -> ContactSolution:
        """Its solution with zeros at the other points."""
        if self.points.size == laws.count:
            return solution

        def spread(values: NDArray[Any], size: int, at: NDArray[np.int64]) -> NDArray[Any]:
            out = np.zeros(size, dtype=values.dtype)
            out[at] = values
            return out

        trial = history.copy()
        trial[self.histories] = solution.history
        count, points = laws.count, self.points
        held = solution.held
        return replace(
            solution,
            impulse=spread(solution.impulse, laws.row_count, self.rows),
            stored=spread(solution.stored, count, points),
            dissipated=spread(solution.dissipated, count, points),
            multiplier=spread(solution.multiplier, count, points),
            status=spread(solution.status, count, points),
            history=trial,
            held=None if held is None else spread(held, laws.row_count, self.rows),
        )
