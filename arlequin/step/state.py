"""The state of a run between two steps."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arlequin.energy import Work
from arlequin.models.types import Array
from arlequin.multilevel.laws.wear import WearState
from arlequin.system.assembly import Assembly
from arlequin.system.internal_forces import BulkResponse, Memory

_ARRAYS = "u", "v", "history", "internal", "impulse"
_ENERGIES = "kinetic", "strain", "asperity"


@dataclass(frozen=True)
class State:
    """A state at t = n Δt: u (m), v (m/s), both (d,); history of the laws; own: what the scheme carries along.

    kinetic, strain, asperity: energies, J; internal (d,): internal forces at u, N; impulse (r,): contact impulses
    of the last step (the next solve's first guess); memory: what the points of path-dependent parts went through;
    worn: what is worn off the contact points, None where nothing wears or at the start; lasts (k,): what of the contact
    may last in the next step (see docs/theory/contact.md), None for nothing. Of an ensemble every field but n
    has the member as first axis.
    """

    n: int
    u: Array
    v: Array
    history: Array
    internal: Array
    kinetic: Any
    strain: Any
    asperity: Any
    impulse: Array
    own: Any = None
    memory: Memory = ()
    worn: WearState | None = None
    lasts: NDArray[np.int8] | None = None

    @classmethod
    def first(
        cls,
        assembly: Assembly,
        u: Array,
        v: Array,
        bulk: BulkResponse,
        gaps: Array,
        *,
        kinetic: float,
        own: Any,
        n: int = 0,
    ) -> "State":
        """At t = nΔt: the laws meet for the first time, at the gaps (k,), and there was no impulse; or, where the
        system starts from a former result, with what springs of friction and wear hold there."""
        laws = assembly.laws
        before = None if assembly.system.from_result is None else assembly.contact_start(u)
        return cls(
            n=n,
            u=u,
            v=v,
            history=laws.start_history(gaps) if before is None else before.history,
            internal=bulk.force,
            kinetic=kinetic,
            strain=bulk.stored,
            asperity=laws.energy(gaps) if before is None else before.energy,
            impulse=np.zeros(laws.row_count),
            own=own,
            memory=bulk.memory,
            worn=None if before is None else before.worn,
        )

    def following(
        self,
        assembly: Assembly,
        *,
        u: Array,
        v: Array,
        bulk: BulkResponse,
        work: Work,
        impulse: Array,
        friction_work_per_mu: Array,
        history: Array,
        own: Any,
        lasts: NDArray[np.int8] | None,
    ) -> "State":
        """The state one step later: bulk forces, energies (`work`), impulses (r,) and internal variables at its end."""
        return State(
            n=self.n + 1,
            u=u,
            v=v,
            history=history,
            internal=bulk.force,
            kinetic=float(work["kinetic"]),
            strain=bulk.stored,
            asperity=float(work["asperity"]),
            impulse=impulse,
            own=own,
            memory=bulk.memory,
            worn=assembly.contact.worn(self.worn, friction_work_per_mu),
            lasts=lasts,
        )

    @classmethod
    def of_members(cls, states: Sequence["State"]) -> "State":
        """The state of an ensemble; memory and worn, of one system alone, are those of the first."""
        own: Any = [vars(state.own) for state in states]
        arrays: Any = {name: _stacked([getattr(state, name) for state in states]) for name in _ARRAYS}
        energies: Any = {name: np.array([getattr(state, name) for state in states]) for name in _ENERGIES}
        carried = type(states[0].own)(**{name: _stacked([each[name] for each in own]) for name in own[0]})
        lasts: Any = [state.lasts for state in states]
        lasts = None if any(flags is None for flags in lasts) else _stacked(lasts)
        return replace(states[0], **arrays, **energies, own=carried, lasts=lasts)

    @classmethod
    def of_members_apart(cls, states: Sequence["State"]) -> "State":
        """The state of members that step apart: `own` holds the state of each; u, v and energies are those of all, the
        other fields those of the first."""
        of_all: Any = {name: np.stack([getattr(state, name) for state in states]) for name in ("u", "v", *_ENERGIES)}
        return replace(states[0], **of_all, own=tuple(states))

    def with_first_guess(self, assembly: Assembly, step: float) -> "State":
        """The same where the system starts from a former result, whose contact forces are then the first guess of those
        of the first step (s)."""
        if assembly.system.from_result is None:
            return self
        return replace(self, impulse=step * assembly.contact_start(self.u).forces)

    def member(self, i: int) -> "State":
        """The state of one member of an ensemble."""
        arrays: Any = {name: getattr(self, name)[i] for name in _ARRAYS}
        energies: Any = {name: float(getattr(self, name)[i]) for name in _ENERGIES}
        carried = type(self.own)(**{name: values[i] for name, values in vars(self.own).items()})
        lasts = None if self.lasts is None else self.lasts[i]
        return replace(self, **arrays, **energies, own=carried, lasts=lasts)

    @property
    def stored(self) -> tuple[Any, Any]:
        return self.strain, self.asperity


def _stacked(arrays: list[NDArray[Any]]) -> NDArray[Any]:
    """With the member as first axis; no copy of the only member's."""
    return arrays[0][None] if len(arrays) == 1 else np.stack(arrays)
