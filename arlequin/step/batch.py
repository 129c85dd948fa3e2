"""Batches of recorded steps: states at their ends, energies and works, contact, solver statistics."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from arlequin.energy import Work
from arlequin.models.types import Array
from arlequin.multilevel.solvers.contact import SLIP, STICK
from arlequin.step.impulses import ContactImpulses
from arlequin.step.state import State
from arlequin.system.assembly import Assembly
from arlequin.system.contact_kinematics import ContactKinematics
from arlequin.system.internal_forces import Memory


@dataclass(frozen=True, eq=False)
class StepBatch:
    """Steps of a run, one or more: every array has the step as first axis and, in an ensemble, the member as second.

    n (b,): numbers of the steps; u (b, d), m, and v (b, d), m/s, at their ends; works (b, kind), J: energies at the
    ends and works done in the steps, kinds as in `arlequin.energy.KINDS`; multipliers (b, m): impulses of the
    constraints, N·s; gaps (b, k), m; contact: impulses, slip and friction losses; iterations, residual (b,) of the
    contact problems; newton (b,): linearisations of the bulk.

    path (b, d), m: displacement on which the mean forces work, for multirate integration. event (b,), s: instant of the
    last event located in each step, NaN if none. memory: internal variables at the end of the last step, in an ensemble
    by member. worn (b, k), m: depths of wear; None without wear or at the start. friction_state (b, k): first internal
    variables of the friction laws; None without. spring_traction (b, k, a), Pa: of elastic stick, on the slave, at the
    ends; None without. hysteretic (b, m), N: forces of springs by their internal variables, at the ends; None without.
    momenta (b, component) of each part, kg m/s: if present, u and v (1, d) are those of the last
    step only, and constraint_rates (b, m), m/s, are C v at the ends of all steps. reactions (b, p), N·s: impulses of
    the imposed motions on their dofs; None at the start and for schemes without. levels, indicators (b, l): active
    levels in the steps, and the indicators that selected them; None without levels.
    """

    n: NDArray[np.int64]
    u: Array
    v: Array
    works: Array
    multipliers: Array
    gaps: Array
    contact: ContactImpulses
    iterations: NDArray[np.int64]
    residual: Array
    newton: NDArray[np.int64]
    path: Array | None = None
    event: Array | None = None
    memory: Memory = ()
    worn: Array | None = None
    friction_state: Array | None = None
    spring_traction: Array | None = None
    hysteretic: Array | None = None
    momenta: tuple[Array, ...] | None = None
    constraint_rates: Array | None = None
    reactions: Array | None = None
    levels: NDArray[np.int64] | None = None
    indicators: Array | None = None

    def __len__(self) -> int:
        return self.n.size

    @property
    def work(self) -> Work:
        """The energies and works by kind: `work["friction"]` (b,), J."""
        return Work(self.works)

    @classmethod
    def single(
        cls,
        state: State,
        kinematics: ContactKinematics,
        work: Work,
        contact: ContactImpulses,
        *,
        multipliers: Array,
        path: Array | None = None,
        iterations: int = 0,
        residual: float = 0.0,
        newton: int = 1,
        reactions: Array | None = None,
    ) -> "StepBatch":
        """A batch of one step, from its end state and arrays without a step axis."""
        return cls(
            n=np.array([state.n]),
            u=state.u[None],
            v=state.v[None],
            works=work.values[None],
            multipliers=multipliers[None],
            gaps=kinematics.gaps(kinematics.basis_product(state.u))[None],
            contact=contact.stacked(),
            iterations=np.array([iterations]),
            residual=np.array([residual]),
            newton=np.array([newton]),
            path=None if path is None else path[None],
            memory=state.memory,
            worn=None if state.worn is None else state.worn.depth[None],
            reactions=None if reactions is None else reactions[None],
        )

    @classmethod
    def initial(cls, assembly: Assembly, state: State, works: Array, forces: Array | None = None) -> "StepBatch":
        """The initial state (n = 0) with its energies (kind,), J, or that of an ensemble, works (member, kind).

        forces (r,): of the contact at the start, N, in statics that goes on from a result; nothing slips there.
        """
        basis_displacement = assembly.contact.basis_product(state.u)
        kinematics = assembly.contact.kinematics(np.zeros(basis_displacement.shape[-1:]))
        if state.u.ndim == 1:
            worn = None if state.worn is None else state.worn.at_start()
            if (interference := assembly.open_interference) is not None:
                worn = interference.step(worn, 0.0, 0.0, 1.0)
            kinematics = assembly.contact.kinematics(basis_displacement, worn=worn)
            zero = np.zeros(assembly.constraints.shape[0])
            impulses = ContactImpulses.none(kinematics)
            if forces is not None:
                closed = STICK if kinematics.frictional else SLIP
                status = np.where(forces[kinematics.first] > 0.0, closed, 0).astype(np.int8)
                impulses = ContactImpulses.of(kinematics, forces, status, np.zeros_like(forces), 1.0)
            first = cls.single(state, kinematics, Work(works), impulses, multipliers=zero, newton=0)
            return first.with_friction(assembly, state.history)
        count, no_impulses = len(state.u), ContactImpulses.none(kinematics)
        stacked = {
            field.name: np.stack([getattr(no_impulses, field.name)] * count)[None] for field in fields(no_impulses)
        }
        zeros = np.zeros((1, count), dtype=np.int64)
        return cls(
            n=np.array([state.n]),
            u=state.u[None],
            v=state.v[None],
            works=works[None],
            multipliers=np.zeros((1, count, assembly.constraints.shape[0])),
            gaps=kinematics.gaps(basis_displacement)[None],
            contact=ContactImpulses(**stacked),
            iterations=zeros,
            residual=np.zeros((1, count)),
            newton=zeros,
            spring_traction=np.array([[_springs(assembly, history) for history in state.history]])
            if assembly.laws.has_elastic_stick
            else None,
            hysteretic=_hysteretic(assembly, state.history),
        )

    def end_state(
        self,
        *,
        history: Array,
        internal: Array,
        impulse: Array,
        scheme_state: Any,
        contact_flags: NDArray[np.int8] | None = None,
    ) -> State:
        """The state after the last step, of a single system without internal variables of the bulk; see `State`."""
        kinetic, strain, asperity = self.works[-1, :3].tolist()
        return State(
            n=int(self.n[-1]),
            u=self.u[-1].copy(),
            v=self.v[-1].copy(),
            history=history,
            internal=internal,
            kinetic=kinetic,
            strain=strain,
            asperity=asperity,
            impulse=impulse.copy(),
            scheme_state=scheme_state,
            contact_flags=contact_flags,
        )

    def with_friction(self, assembly: Assembly, history: Array) -> "StepBatch":
        """The single step with spring tractions, internal variables of friction and of springs from the history (l, h)
        at its end."""
        laws = assembly.laws
        return replace(
            self,
            friction_state=laws.friction_state(history)[None] if laws.state_dependent else None,
            spring_traction=_springs(assembly, history)[None] if laws.has_elastic_stick else None,
            hysteretic=_hysteretic(assembly, history),
        )

    def numbered(self, n: int) -> "StepBatch":
        """The single step with number n: after merging sub-steps, which have their own numbers."""
        return replace(self, n=np.array([n]))

    def of_member(self, i: int) -> "StepBatch":
        """The steps of one member of an ensemble."""
        contact = ContactImpulses(**{name: values[:, i] for name, values in vars(self.contact).items()})
        arrays = {name: value for name, value in self._arrays().items() if name != "n"}
        of_member: Any = {name: None if value is None else value[:, i] for name, value in arrays.items()}
        if self.momenta is not None and self.constraint_rates is not None:
            of_member["momenta"] = tuple(momenta[:, i] for momenta in self.momenta)
            of_member["constraint_rates"] = self.constraint_rates[:, i]
        of_member["memory"] = self.memory[i] if len(self.memory) else ()
        return replace(self, **of_member, contact=contact)

    @classmethod
    def of_members(cls, batches: Sequence[Self]) -> "StepBatch":
        """The batch of an ensemble, from one batch per member."""
        arrays = [batch._arrays() for batch in batches]
        names = [name for name, value in arrays[0].items() if value is not None and name != "n"]
        stacked: Any = {name: np.stack([batch_arrays[name] for batch_arrays in arrays], axis=1) for name in names}
        contact = {
            name: np.stack([getattr(batch.contact, name) for batch in batches], axis=1)
            for name in vars(batches[0].contact)
        }
        first = batches[0]
        if first.momenta is not None:
            stacked["momenta"] = tuple(
                np.stack(each, axis=1) for each in zip(*(b.momenta for b in batches), strict=True)
            )
            constraint_rates: Any = [batch.constraint_rates for batch in batches]
            stacked["constraint_rates"] = np.stack(constraint_rates, axis=1)
        memory: Any = tuple(batch.memory for batch in batches) if len(first.memory) else ()
        return cls(n=first.n, **stacked, contact=ContactImpulses(**contact), memory=memory)

    def _arrays(self) -> dict[str, Any]:
        """All array fields with a step axis, except momenta and constraint rates."""
        others = "contact", "memory", "momenta", "constraint_rates"
        return {name: value for name, value in vars(self).items() if name not in others}


def _springs(assembly: Assembly, history: Array) -> Array:
    """Tractions (k, a) of elastic stick, Pa, from a history (l, h)."""
    return assembly.laws.spring_vectors(history, assembly.contact.reference[0].normals.shape[1])


def _hysteretic(assembly: Assembly, history: Array) -> Array | None:
    """Forces (1, …, m), N, of springs by the internal variables of histories (…, l, h); None without."""
    return assembly.laws.memory_forces(history)[None] if assembly.laws.memory else None


def merge_load_steps(batches: Sequence[StepBatch]) -> StepBatch:
    """Merge load steps into one: contact forces at the end, sums of works, slips and paths."""
    last = batches[-1].contact
    lengths: Any = {
        name: sum(getattr(batch.contact, name) for batch in batches)
        for name in ("slip", "friction_work_per_mu", "friction_loss")
    }
    return _merged(batches, replace(last, **lengths))


def merge_time_steps(batches: Sequence[StepBatch]) -> StepBatch:
    """Merge sub-steps in time into one step: sums of impulses, works and paths."""
    contact = batches[0].contact
    for batch in batches[1:]:
        contact = contact.plus(batch.contact)
    multipliers = np.sum([batch.multipliers for batch in batches], axis=0)
    recorded_reactions = [batch.reactions for batch in batches if batch.reactions is not None]
    reactions = np.sum(recorded_reactions, axis=0) if len(recorded_reactions) == len(batches) else None
    return replace(_merged(batches, contact), multipliers=multipliers, reactions=reactions)


def _merged(batches: Sequence[StepBatch], contact: ContactImpulses) -> StepBatch:
    last = batches[-1]
    works = np.sum([batch.works for batch in batches], axis=0)
    works[..., :3] = last.works[..., :3]
    return replace(
        last,
        iterations=np.sum([batch.iterations for batch in batches], axis=0),
        residual=np.max([batch.residual for batch in batches], axis=0),
        works=works,
        path=np.sum([batch.path for batch in batches if batch.path is not None], axis=0)
        if last.path is not None
        else None,
        contact=contact,
        newton=np.sum([batch.newton for batch in batches], axis=0),
    )
