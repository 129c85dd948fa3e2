"""Time series of the members of an ensemble that step apart."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from arlequin.models.errors import UserError
from arlequin.models.types import Array
from arlequin.results.history import TimeSeries
from arlequin.results.recorder import Record
from arlequin.results.variables import Key, Variable
from arlequin.step.batch import StepBatch
from arlequin.system.assembly import Assembly

Series = tuple[Array, dict[Key, Array]]


class MembersSeries:
    """One `TimeSeries` per member; variables have `member` as their second dimension."""

    def __init__(
        self, assemblies: Sequence[Assembly], step: float, steps: int, record: Record, static: bool, located: bool
    ) -> None:
        """assemblies: of the members."""
        self._each = [TimeSeries(series, step, steps, record, static, located) for series in assemblies]
        recorded = [(series.kinds, {(v.group, v.name, v.shape) for v in series.variables()}) for series in self._each]
        for i, series in enumerate(recorded):
            if series != recorded[0]:
                raise UserError(f"member {i}: its result has other variables than that of member 0: simulate it alone")

    def load_sums(self, sums: Mapping[str, tuple[Array, Array]]) -> None:
        """Restore accumulated slip and wear work (n, k) of the interfaces named in `sums`."""
        for i, series in enumerate(self._each):
            series.load_sums({name: (slip[i], work[i]) for name, (slip, work) in sums.items()})

    @property
    def count(self) -> int:
        """Number of states appended."""
        return self._each[0].count

    @property
    def frame_count(self) -> int:
        """Number of frames of the complete run."""
        return self._each[0].frame_count

    def variables(self) -> list[Variable]:
        """All variables of the result, with units and names."""
        return [variable.of_each(len(self._each)) for variable in self._each[0].variables()]

    def add(self, block: StepBatch, table: Array, balance: Array) -> None:
        """Append the states of a block of steps, their energies (b, n, kind) and balance (b, n)."""
        for i, series in enumerate(self._each):
            series.add(block.of_member(i), table[:, i], balance[:, i])

    def take(self) -> tuple[Series, Series]:
        """The block on `time` and the block on `frame`, each (instants, values); both buffers are emptied."""
        timed, framed = zip(*(series.take() for series in self._each), strict=True)
        return _stacked(timed), _stacked(framed)

    def __len__(self) -> int:
        return len(self._each[0])

    def tables(self, energies: Array) -> Array:
        """Energies (t, n, kind) of all kinds from those recorded; the others are 0."""
        return self._each[0].tables(energies)

    def state_dict(self) -> Any:
        """Numbers of states and frames, and the accumulated values of each member."""
        first = self._each[0]
        return first.count, first.frames, tuple(series.state_dict() for series in self._each)

    def load_state_dict(self, state: Any) -> None:
        """Restore from `state_dict()`."""
        for series, member_state in zip(self._each, state[2], strict=True):
            series.load_state_dict(member_state)


def _stacked(each: Sequence[Series]) -> Series:
    time, first = each[0]
    return time, {key: np.stack([values[key] for _, values in each], axis=1) for key in first}
