"""The contact problems of many members in one step, on one Delassus operator."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.types import Array
from multilevel.method import ContactMethod
from multilevel.point_laws import PointLaws
from multilevel.solver import ContactSolution

_MOST = 20000  # iterations


@dataclass(frozen=True, eq=False)
class SideSolution:
    """As a `ContactSolution`, each field with the member (n,) as first axis; it starts with no impulse anywhere.

    normal (n, 3, k): stored, dissipated and multiplier parts.
    """

    impulse: Array
    normal: Array
    history: Array
    status: NDArray[np.int8]
    iterations: NDArray[np.int64]
    residual: Array
    singular: NDArray[np.bool_]

    @classmethod
    def none(cls, laws: PointLaws, history: Array) -> "SideSolution":
        """Nothing, for each history (n, …)."""
        n, k = len(history), laws.count
        return cls(
            impulse=np.zeros((n, laws.row_count)),
            normal=np.zeros((n, 3, k)),
            history=history.copy(),
            status=np.zeros((n, k), dtype=np.int8),
            iterations=np.zeros(n, dtype=np.int64),
            residual=np.zeros(n),
            singular=np.zeros(n, dtype=bool),
        )

    def of(self, i: int) -> ContactSolution:
        """That of one member."""
        stored, dissipated, multiplier = self.normal[i]
        return ContactSolution(
            impulse=self.impulse[i],
            stored=stored,
            dissipated=dissipated,
            multiplier=multiplier,
            history=self.history[i],
            iterations=int(self.iterations[i]),
            residual=float(self.residual[i]),
            status=self.status[i],
            singular=bool(self.singular[i]),
        )

    @property
    def stored(self) -> Array:
        """Stored parts (n, k), N·s."""
        return self.normal[:, 0]

    @property
    def dissipated(self) -> Array:
        """Dissipated parts (n, k), N·s."""
        return self.normal[:, 1]

    @property
    def multiplier(self) -> Array:
        """Multipliers (n, k), N·s."""
        return self.normal[:, 2]

    def put(self, at: slice, points: NDArray[np.int64], rows: NDArray[np.int64], laws: NDArray[np.int64],
            part: "SideSolution") -> None:  # fmt: skip
        """Takes the solution of some members at some points, their rows, and rows of the history."""
        self.impulse[at, rows] = part.impulse
        self.normal[at][:, :, points] = part.normal
        self.history[at][:, laws] = part.history
        self.status[at][:, points] = part.status
        for name in ("iterations", "residual", "singular"):
            getattr(self, name)[at] = getattr(part, name)


def solve_members(
    laws: PointLaws,
    delassus: Array,
    lever: float,
    gap_free: Array,
    rate_free: Array,
    start: Array,
    closed: NDArray[np.bool_],
    history: Array,
    step: float,
    theta: float,
    guess: Array,
    some: NDArray[np.int64],
    method: ContactMethod,
) -> SideSolution:
    """`multilevel.solver.solve_contact` for the members `some` of fields (n, …); the others have no impulse.

    start (n, r): rates at the start of the step, on fixed normals.
    """
    from multilevel._side_kernels import solve_members as kernel

    out = SideSolution.none(laws, history)
    out.impulse[some] = guess[some]
    gap_free, rate_free = np.ascontiguousarray(gap_free), np.ascontiguousarray(rate_free)
    kernel(
        some, np.ascontiguousarray(delassus), lever, gap_free, rate_free, np.ascontiguousarray(closed),
        *laws.tables(laws.tangential_compliance), np.ascontiguousarray(history), step, theta, step,
        np.ascontiguousarray(start),
        out.impulse, out.history, out.normal, out.status, *method.numbers, _MOST,
        out.iterations, out.residual, out.singular,
    )  # fmt: skip
    return out
