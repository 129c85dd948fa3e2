"""State of a run between two steps."""

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
    """State at t = n Δt: u (m), v (m/s), both (d,); history of the laws; scheme_state: variables of the scheme.

    kinetic, strain, asperity: energies, J; internal (d,): internal forces at u, N; impulse (r,): contact impulses of
    the last step (initial guess of the next one); memory: internal variables of path-dependent parts; worn: wear of the
    contact points, None without wear or at the start; contact_flags (k,): persistence of contact in the next step
    (ACTS, STICKS, see docs/theory/contact.md), None if none. In an ensemble, axis 0 of every field but n is the member.
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
    scheme_state: Any = None
    memory: Memory = ()
    worn: WearState | None = None
    contact_flags: NDArray[np.int8] | None = None

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
        scheme_state: Any,
        n: int = 0,
    ) -> "State":
        """The initial state at t = nΔt: virgin laws at the gaps (k,) and no impulses; with the springs of friction and
        the wear of a former result if the system starts from one."""
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
            scheme_state=scheme_state,
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
        scheme_state: Any,
        contact_flags: NDArray[np.int8] | None,
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
            scheme_state=scheme_state,
            memory=bulk.memory,
            worn=assembly.contact.worn(self.worn, friction_work_per_mu),
            contact_flags=contact_flags,
        )

    @classmethod
    def of_members(cls, states: Sequence["State"]) -> "State":
        """The state of an ensemble; memory and worn, which only a single system has, are those of the first member."""
        scheme_states: Any = [vars(state.scheme_state) for state in states]
        arrays: Any = {name: _stacked([getattr(state, name) for state in states]) for name in _ARRAYS}
        energies: Any = {name: np.array([getattr(state, name) for state in states]) for name in _ENERGIES}
        scheme_state = type(states[0].scheme_state)(
            **{name: _stacked([each[name] for each in scheme_states]) for name in scheme_states[0]}
        )
        contact_flags: Any = [state.contact_flags for state in states]
        contact_flags = None if any(flags is None for flags in contact_flags) else _stacked(contact_flags)
        return replace(states[0], **arrays, **energies, scheme_state=scheme_state, contact_flags=contact_flags)

    @classmethod
    def of_members_apart(cls, states: Sequence["State"]) -> "State":
        """The state of members with separate steppers: `scheme_state` is the tuple of their states; u, v and energies
        are those of all members, the other fields those of the first."""
        of_all: Any = {name: np.stack([getattr(state, name) for state in states]) for name in ("u", "v", *_ENERGIES)}
        return replace(states[0], **of_all, scheme_state=tuple(states))

    def with_first_guess(self, assembly: Assembly, step: float) -> "State":
        """The state with an initial guess of the contact impulses of the first step, s, from the contact forces of the
        former result if the system starts from one."""
        if assembly.system.from_result is None:
            return self
        return replace(self, impulse=step * assembly.contact_start(self.u).forces)

    def member(self, i: int) -> "State":
        """The state of one member of an ensemble."""
        arrays: Any = {name: getattr(self, name)[i] for name in _ARRAYS}
        energies: Any = {name: float(getattr(self, name)[i]) for name in _ENERGIES}
        scheme_state = type(self.scheme_state)(**{name: values[i] for name, values in vars(self.scheme_state).items()})
        contact_flags = None if self.contact_flags is None else self.contact_flags[i]
        return replace(self, **arrays, **energies, scheme_state=scheme_state, contact_flags=contact_flags)

    @property
    def stored(self) -> tuple[Any, Any]:
        return self.strain, self.asperity


def _stacked(arrays: list[NDArray[Any]]) -> NDArray[Any]:
    """Stack with the member as first axis; a single array is not copied."""
    return arrays[0][None] if len(arrays) == 1 else np.stack(arrays)
