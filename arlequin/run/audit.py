"""Energy audit of a run: works accumulated over the steps, and the balance."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from arlequin.energy import KINDS, columns
from arlequin.models.types import Array
from arlequin.system.assembly import Assembly

# dissipated energies, monotonic up to round-off
GROWING = ("friction", "wear", "asperity_damping", "film", "damping", "plastic", "impact", "absorbed")
_FALL = 1e-12  # round-off of works, relative to the largest energy
_SCHEME = 1e-9  # the same for `scheme` of conserving schemes: accuracy of contact forces
# of positions, relative to the extent of surfaces, and of rates, relative to their summands
_ROUND_OFF = 64.0 * float(np.finfo(float).eps)
# + stored or dissipated, − supplied to the system
_SIGN = np.array([-1.0 if kind in ("external_work", "junction", "flow") else 1.0 for kind in KINDS])


def growing_of(assemblies: Sequence[Assembly]) -> tuple[str, ...]:
    """Kinds that must not decrease; without `impact` where compliant multipliers on the gap store energy.

    assemblies: those of all levels of the run.
    """
    stores = any((assembly.laws.compliance[assembly.laws.level == 1] > 0.0).any() for assembly in assemblies)
    return tuple(kind for kind in GROWING if kind != "impact" or not stores)


class ContactRounding:
    """Round-off of the work of contact impulses, J, the tolerance of the audit:

        ε (L/Δt Σ_k |P_k| + (Σ_k √w_k |P_k|)²),

    L the extent of the surfaces, for the round-off of positions, and w_k the inverse masses of rigid sides
    (`Assembly.contact_mobility`), for that of the rates W P, |W_jk| ≤ √(w_j w_k), whose sum is zero at rest.
    """

    def __init__(self, models: Sequence[Assembly], duration: float) -> None:
        scales = [model.contact.scale for model in models]
        self._rate = max(_ROUND_OFF * scale.extent + scale.round_off for scale in scales) / duration
        self._roots: dict[int, Array] = {}  # √w by the number of contact points: models of levels differ
        for model in models:
            roots = np.sqrt(model.contact_mobility)
            self._roots[roots.size] = np.maximum(self._roots.get(roots.size, 0.0), roots)

    def __call__(self, normal: Array) -> Array:
        """Round-off (b, …), J, in steps with the normal impulses (b, …, k), N·s."""
        sizes = np.abs(normal)
        return np.asarray(self._rate * sizes.sum(axis=-1) + _ROUND_OFF * (sizes @ self._roots[sizes.shape[-1]]) ** 2)


class RefusedWork(Exception):
    """Inadmissible work of a step: a decrease of a dissipated energy, or `scheme` of a conserving scheme. Kind, index
    of the step in the batch, member of an ensemble (empty for a run), and work relative to the largest energy."""

    def __init__(self, column: str, step: int, member: tuple[int, ...], share: float) -> None:
        super().__init__(column, step, member, share)
        self.column, self.step, self.member, self.share = column, step, member, share


class Audit:
    """Energy table (step, kind) accumulated from the works of the steps, and the energy balance

        balance(t) = [(kinetic + stored)(t) − (kinetic + stored)(0) − external work + Σ dissipations] /
        (largest energy)

    A step is rejected (`RefusedWork`) if a dissipated energy decreases, or if a scheme that conserves the energy of the
    bulk has more than round-off in `scheme`: the balance detects neither. During the run the largest energy is that of
    the steps so far; the property `balance` uses that of the whole run.
    """

    def __init__(self, kinetic: Any, strain: Any, asperity: Any, growing: tuple[str, ...] = GROWING) -> None:
        """Initial energies, J; (n,) of an ensemble. growing: the kinds that must not decrease."""
        self._growing = growing
        self._table = np.zeros((*np.shape(kinetic), len(KINDS)))
        self._table[..., :3] = np.stack([kinetic, strain, asperity], axis=-1)
        self._first = self._table
        self._start = kinetic + strain + asperity
        self._largest = abs(self._start)
        self._unbalanced = [np.zeros((1, *np.shape(kinetic)))]

    @property
    def start(self) -> Array:
        """The table (…, kind) at the start, J."""
        return self._first

    def add(self, works: Array, rounding: Any = 0.0, conserves: bool = False) -> tuple[Array, Array]:
        """Add steps with works (b, …, kind); returns the table (b, …, kind), J, and the balance (b, …) relative to the
        largest energy so far. rounding (b, …), J: round-off of the work of forces (`ContactRounding`); conserves:
        whether `scheme` must vanish (see `Stepper`)."""
        # cumulative sums: independent of the number of steps in a batch
        sums = np.cumsum(np.concatenate([self._table[None, ..., 3:], works[..., 3:]]), axis=0)[1:]
        table = np.concatenate([works[..., :3], sums], axis=-1)
        sizes = np.maximum(np.abs(table).max(axis=-1), np.abs(table[..., :3].sum(axis=-1)))
        largest = np.maximum.accumulate(np.maximum(sizes, self._largest), axis=0)
        kinds = self._growing
        violated = works[..., columns(kinds)] < -np.asarray(_FALL * largest + rounding)[..., None]
        if conserves:
            created = np.abs(works[..., columns(("scheme",))]) > np.asarray(_SCHEME * largest + rounding)[..., None]
            kinds, violated = (*kinds, "scheme"), np.concatenate([violated, created], axis=-1)
        if violated.any():
            first, *member, column = np.argwhere(violated)[0].tolist()
            share = works[(first, *member, columns(kinds)[column])] / largest[(first, *member)]
            raise RefusedWork(kinds[column], first, tuple(member), float(share))
        unbalanced = self._imbalance(table)
        self._table, self._largest = table[-1], largest[-1]
        self._unbalanced.append(unbalanced)
        return table, np.divide(unbalanced, largest, out=np.zeros_like(unbalanced), where=largest != 0.0)

    @property
    def largest(self) -> Any:
        """Largest energy so far, J; (n,) of an ensemble."""
        return self._largest

    def state_dict(self) -> Any:
        """Energy table at the last step and at the start, and the largest energy so far."""
        return self._table, self._first, self._largest

    def load_state_dict(self, state: Any, tables: Array) -> None:
        """Restore from `state_dict()` and the energy tables (t, …, kind) of all steps so far, J."""
        self._table, self._first, self._largest = state
        self._start = self._first[..., 0] + self._first[..., 1] + self._first[..., 2]
        self._unbalanced = [self._imbalance(tables)]

    def _imbalance(self, tables: Array) -> Array:
        """Unbalanced energy (t, …) of the tables (t, …, kind), J."""
        return np.asarray(np.vecdot(tables, _SIGN) - self._start)

    @property
    def balance(self) -> Array:
        """Energy balance (t, …) of all steps so far, relative to their largest energy."""
        return np.concatenate(self._unbalanced) / np.where(self._largest > 0.0, self._largest, 1.0)
