"""The energy audit: sums of the works of the steps, and the balance as a check that can fail."""

from typing import Any

import numpy as np

from arlequin.energy import KINDS, columns
from arlequin.models.types import Array
from arlequin.system.assembly import Assembly

# dissipations, which no step takes back but for round-off
GROWING = ("friction", "wear", "asperity_damping", "damping", "plastic", "impact", "absorbed")
_FALL = 1e-12  # of the largest energy: round-off
# + stored or dissipated, − given to the system
_SIGN = np.array([-1.0 if kind in ("external_work", "junction") else 1.0 for kind in KINDS])


def growing_of(assembly: Assembly) -> tuple[str, ...]:
    """The columns that must not fall: not `impact` where multipliers on the gap are compliant, and so store energy."""
    laws = assembly.laws
    return tuple(kind for kind in GROWING if kind != "impact" or not (laws.compliance[laws.level == 1] > 0.0).any())


class NegativeDissipation(Exception):
    """A dissipation that falls in a step: its column, the step's place among those added, the member of an ensemble if
    any, and the fall relative to the largest energy."""

    def __init__(self, column: str, step: int, member: tuple[int, ...], share: float) -> None:
        super().__init__(column, step, member, share)
        self.column, self.step, self.member, self.share = column, step, member, share


class Audit:
    """Accumulates the works of the steps to the energy table (kinds as columns) and the balance.

        balance(t) = [(kinetic + stored)(t) − (kinetic + stored)(0) − external work + Σ dissipations] /
        (largest energy)

    A step in which a dissipation falls is refused (`NegativeDissipation`): energy came from nowhere,
    which the balance does not see.
    While a run goes on the largest energy is the largest so far; `balance` after it is relative to the largest of the
    run.
    """

    def __init__(
        self, kinetic: Any, strain: Any, asperity: Any, growing: tuple[str, ...] = GROWING, made: float = np.inf
    ) -> None:
        """J; of an ensemble (n,), and so is all else before the last axis. growing: the columns that must not fall."""
        self._growing = growing
        self._table = np.zeros((*np.shape(kinetic), len(KINDS)))
        self._table[..., :3] = np.stack([kinetic, strain, asperity], axis=-1)
        self._first = self._table
        self._start = kinetic + strain + asperity
        self._largest = abs(self._start)
        self._rests = [np.zeros((1, *np.shape(kinetic)))]

    @property
    def start(self) -> Array:
        """The table (…, kind) at the start, J."""
        return self._first

    def add(self, works: Array, rounding: Any = 0.0) -> tuple[Array, Array]:
        """Adds steps, works (b, …, kind); returns the table (b, …, kind), J, and the balance (b, …) relative to the
        largest energy so far. rounding (b, …), J: work of forces on the round-off of positions."""
        # added one by one: the sums do not depend on how many steps come at once
        sums = np.cumsum(np.concatenate([self._table[None, ..., 3:], works[..., 3:]]), axis=0)[1:]
        table = np.concatenate([works[..., :3], sums], axis=-1)
        sizes = np.maximum(np.abs(table).max(axis=-1), np.abs(table[..., :3].sum(axis=-1)))
        largest = np.maximum.accumulate(np.maximum(sizes, self._largest), axis=0)
        growing = columns(self._growing)
        fallen = works[..., growing] < -np.asarray(_FALL * largest + rounding)[..., None]
        if fallen.any():
            first, *member, column = np.argwhere(fallen)[0].tolist()
            share = works[(first, *member, growing[column])] / largest[(first, *member)]
            raise NegativeDissipation(self._growing[column], first, tuple(member), float(share))
        rests = self._rest(table)
        self._table, self._largest = table[-1], largest[-1]
        self._rests.append(rests)
        return table, np.divide(rests, largest, out=np.zeros_like(rests), where=largest != 0.0)

    def state_dict(self) -> Any:
        """The table, its start and the largest energy so far."""
        return self._table, self._first, self._largest

    def load_state_dict(self, state: Any, tables: Array) -> None:
        """Goes on from there; tables (t, …, kind), J: of all steps so far."""
        self._table, self._first, self._largest = state
        self._start = self._first[..., 0] + self._first[..., 1] + self._first[..., 2]
        self._rests = [self._rest(tables)]

    def _rest(self, tables: Array) -> Array:
        """What the tables (t, …, kind) do not account for (t, …), J."""
        return np.asarray(np.vecdot(tables, _SIGN) - self._start)

    @property
    def balance(self) -> Array:
        """Balance of every step so far (t, …), relative to the largest energy of all of them."""
        return np.concatenate(self._rests) / np.where(self._largest > 0.0, self._largest, 1.0)
