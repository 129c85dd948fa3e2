"""What a time scheme is: it factors once for a step Δt, starts a state and advances it.

Some steps in a row: what is recorded of them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from arlequin.energy import Work
from arlequin.models.errors import FAILURE, UserError
from arlequin.models.part import Constrained, Nonlinear, PathDependent
from arlequin.models.types import Array
from arlequin.multilevel.laws.wear import Worn
from arlequin.multilevel.solvers.contact import ContactSolution
from arlequin.step.impulses import ContactImpulses
from arlequin.system.assembly import Assembly
from arlequin.system.contact_kinematics import ContactKinematics
from arlequin.system.internal_forces import BulkResponse, Memory
from arlequin.system.locate import locate_maximum

RESIDUAL_LIMIT = 1e-10  # of the contact problem, relative to its largest impulse


@dataclass(frozen=True)
class State:
    """A state at t = n Δt: u (m), v (m/s), both (d,); history of the laws; own: what the scheme carries along.

    kinetic, strain, asperity: energies, J; internal (d,): internal forces at u, N; impulse (r,): contact impulses
    of the last step (the next solve's first guess); memory: what the points of path-dependent parts went through;
    worn: what is worn off the contact points, None where nothing wears or at the start; lasts (k,): what of the contact
    may last in the next step (see `arlequin.multilevel.solvers.closing`), None for nothing. Of an ensemble every field
    but n has the member as first axis.
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
    worn: Worn | None = None
    lasts: NDArray[np.int8] | None = None

    @classmethod
    def first(
        cls, assembly: Assembly, u: Array, v: Array, bulk: BulkResponse, gaps: Array, *, kinetic: float, own: Any
    ) -> "State":
        """At t = 0: the laws meet for the first time, at the gaps (k,), and there was no impulse."""
        laws = assembly.laws
        return cls(
            n=0,
            u=u,
            v=v,
            history=laws.start_history(gaps),
            internal=bulk.force,
            kinetic=kinetic,
            strain=bulk.stored,
            asperity=laws.energy(gaps),
            impulse=np.zeros(laws.row_count),
            own=own,
            memory=bulk.memory,
        )

    def following(
        self,
        assembly: Assembly,
        u: Array,
        v: Array,
        bulk: BulkResponse,
        report: "StepReport",
        history: Array,
        own: Any,
    ) -> "State":
        """A step later, as its report says, with the history of the laws that its contact leaves."""
        work = report.work
        return State(
            n=self.n + 1,
            u=u,
            v=v,
            history=history,
            internal=bulk.force,
            kinetic=float(work["kinetic"]),
            strain=bulk.stored,
            asperity=float(work["asperity"]),
            impulse=report.impulse,
            own=own,
            memory=bulk.memory,
            worn=assembly.contact.worn(self.worn, report.action.friction_work_per_mu),
            lasts=report.lasts,
        )

    @property
    def stored(self) -> tuple[Any, Any]:
        return self.strain, self.asperity


@dataclass(frozen=True)
class StepReport:
    """What a step did: contact (r,) and constraint (m,) impulses, N·s (forces in statics), works, solver figures.

    path (d,): the displacement on which the impulses work, as constant forces over the step, m. touch: the kinematics
    of the contact impulses; action: what they did at the points. newton: linearisations of the bulk solved. lasts (k,):
    what of the contact may last, see `arlequin.multilevel.solvers.closing`.
    """

    iterations: int
    residual: float
    impulse: Array
    multipliers: Array
    work: Work
    path: Array
    kinematics: ContactKinematics
    action: ContactImpulses
    newton: int = 1
    lasts: NDArray[np.int8] | None = None


class Stepper(Protocol):
    """A scheme made ready for one system and one step."""

    step: float

    def start(self, u: Array, v: Array) -> State: ...

    def advance(self, state: State) -> tuple[State, StepReport]: ...


@runtime_checkable
class Scheme(Protocol):
    """A time scheme; `order` is its order of accuracy in Δt for smooth motion."""

    @property
    def order(self) -> int: ...

    @property
    def static(self) -> bool: ...

    def prepare(self, assembly: Assembly, step: float) -> Stepper: ...


def linear_only(assembly: Assembly, scheme: str) -> None:
    """Refuses nonlinear parts, which the scheme would step as linear ones."""
    for part, own in zip(assembly.system.parts, assembly.parts, strict=True):
        if isinstance(own, Nonlinear | PathDependent):
            others = (
                "Theta or Midpoint" if isinstance(own, Constrained) else "Theta, Midpoint or, without inertia, Static"
            )
            what = "has finite rotations" if isinstance(own, Nonlinear) else "is of finite strains"
            raise UserError(f"part '{part.name}' {what}, which {scheme} does not step: take {others}")


def unworn_only(assembly: Assembly, scheme: str) -> None:
    """Refuses interfaces that wear, which the scheme would leave as they are."""
    for interface in assembly.contact.interfaces:
        if interface.wear is not None:
            raise UserError(
                f"interface '{interface.name}' wears, which {scheme} does not step: take Theta, Newmark or another of "
                "its family, CentralDifference or Static"
            )


class Failed(UserError):
    """A step without an end that can be accepted: what happened, and what to try."""

    def __init__(self, what: str, remedy: str = "a smaller step") -> None:
        super().__init__(f"{what}: try {remedy}", FAILURE)
        self.what, self.remedy = what, remedy

    def __reduce__(self) -> tuple[type["Failed"], tuple[str, str]]:  # type: ignore[override]
        return type(self), (self.what, self.remedy)


def accept(
    contact: ContactSolution,
    u: Array,
    t: float,
    remedy: str = "a smaller step or softer asperities",
    assembly: Assembly | None = None,
) -> None:
    """Raises where a step must not be accepted: nothing is ever recorded from a step that did not converge.

    assembly: of which u (d,) is the displacement, to say where it is not finite.
    """
    if contact.singular:
        raise UserError(
            f"contact at t = {t:.6g} s: the displacements do not determine all multipliers: take fewer of them "
            '(multiplier="P1" or "P0") or ContactMethod(stabilised=True)',
            code=1,
        )
    if not contact.residual <= RESIDUAL_LIMIT:
        raise Failed(
            f"contact did not converge at t = {t:.6g} s (residual {contact.residual:.2g}, allowed {RESIDUAL_LIMIT:g})",
            remedy,
        )
    if not np.isfinite(u).all():
        where = "" if assembly is None else f" ({locate_maximum(assembly, u)})"
        raise Failed(f"the motion is no longer finite at t = {t:.6g} s{where}")


def accept_shape(assembly: Assembly, u: Array, t: float) -> None:
    """Raises where a cell of a nonlinear part is inside out: a solution of the equations, but none of a solid."""
    for name, own, at in assembly.nonlinear:
        least, cell = own.least_volume(u[at])
        if not least > 0.0:
            raise _inside_out(name, cell, t, "material")


def accept_cells(assembly: Assembly, bulk: BulkResponse, t: float) -> None:
    """Raises where a cell of a path-dependent part is inside out."""
    for part, cell in zip(assembly.system.parts, bulk.inverted, strict=False):
        if cell >= 0:
            raise _inside_out(part.name, cell, t, "mesh")


def _inside_out(name: str, cell: int, t: float, limit: str) -> Failed:
    return Failed(
        f"part '{name}': cell {cell} is turned inside out at t = {t:.6g} s",
        f"a smaller step; if it stays, the strains are too large for the {limit}",
    )


def reaction(assembly: Assembly, balance: Callable[[], Array], multipliers: tuple[Array, Array]) -> Array:
    """The forces (d,) of the imposed motions: what the momentum balance misses there, else 0.

    balance () → (d,): M v̇ + internal + damping − external; multipliers: forces of the constraints (m,) and on
    the contact's basis (q,), N.
    """
    force = np.zeros(assembly.dof_count)
    dofs = assembly.imposed_dofs
    if dofs.size:
        force[dofs] = balance()[dofs] - assembly.pull_on_imposed(*multipliers)
    return force


def initial_acceleration(assembly: Assembly, step: float) -> Array | None:
    """Accelerations (p,) of the imposed dofs at t = 0, from one-sided differences of order 2 over Δt."""
    if not assembly.imposed_dofs.size:
        return None
    f = [assembly.imposed(i * step) for i in range(4)]
    second = (2.0 * f[0] - 5.0 * f[1] + 4.0 * f[2] - f[3]) / step**2
    first = (-3.0 * f[0] + 4.0 * f[1] - f[2]) / (2.0 * step)
    return np.where(assembly.imposes_displacement, second, first)


@dataclass(frozen=True, eq=False)
class Block:
    """Steps n (b,): states u, v (b, d), energies and works (b, kind) as in `energy.KINDS`, multipliers (b, m).

    gaps (b, k), m; action: what the contact did, each field with the step as first axis; iterations, residual (b,) of
    the contact problems; newton (b,): linearisations of the bulk; event (b,): instant of the last event located in
    each step, s, NaN where there is none. memory: of the last step's points, where they have one.
    worn (b, k): depths of wear, m; None where nothing wears or at the start.

    momenta (b, component) of each part, kg m/s: where they are given, u and v (1, d) are those of the last step alone.
    """

    n: NDArray[np.int64]
    u: Array
    v: Array
    works: Array
    multipliers: Array
    gaps: Array
    action: ContactImpulses
    iterations: NDArray[np.int64]
    residual: Array
    newton: NDArray[np.int64]
    event: Array | None = None
    memory: Memory = ()
    worn: Array | None = None
    momenta: tuple[Array, ...] | None = None

    def __len__(self) -> int:
        return self.n.size

    @classmethod
    def of(cls, assembly: Assembly, state: State, report: StepReport | None, works: Array) -> "Block":
        """One state; report None: the initial one."""
        contact = assembly.contact
        place = contact.moves.of(state.u)
        kinematics = report.kinematics if report else contact.kinematics(place)
        action = report.action if report else ContactImpulses.none(kinematics)
        return cls(
            n=np.array([state.n]),
            u=state.u[None],
            v=state.v[None],
            works=works[None],
            multipliers=report.multipliers[None] if report else np.zeros((1, assembly.constraints.shape[0])),
            gaps=kinematics.gaps(place)[None],
            action=action.stacked(),
            iterations=np.array([report.iterations if report else 0]),
            residual=np.array([report.residual if report else 0.0]),
            newton=np.array([report.newton if report else 0]),
            memory=state.memory,
            worn=None if state.worn is None else state.worn.depth[None],
        )


@runtime_checkable
class BlockStepper(Stepper, Protocol):
    """A stepper that takes many steps at once."""

    def advance_block(self, state: State, count: int) -> tuple[State, Block] | None:
        """Up to `count` steps; None where the first one is not accepted: `advance` then says why."""
        ...


@runtime_checkable
class FrameStepper(Stepper, Protocol):
    """A stepper that takes many steps at once and shows the fields of the last alone."""

    def advance_frames(self, state: State, count: int) -> tuple[State, Block] | None:
        """`count` steps; None where they cannot be accepted: `advance` then says which and why."""
        ...


Take = Callable[[State, int], tuple[State, Block]]


def taker(stepper: Stepper, assembly: Assembly, every: int = 1) -> Take:
    """How to take the next steps, at most so many: one by one, unless the stepper takes them in blocks.

    every: steps from frame to frame. Where something given in time (a load, a motion) fails, the steps before it are
    taken: a block asks for all of its values at once.
    """

    def one(state: State, count: int) -> tuple[State, Block]:
        state, report = stepper.advance(state)
        return state, Block.of(assembly, state, report, report.work.values)

    if isinstance(stepper, FrameStepper):
        to_frame = stepper.advance_frames
        return lambda state, count: to_frame(state, min(count, every - state.n % every)) or one(state, count)
    if not isinstance(stepper, BlockStepper):
        return one
    many = stepper.advance_block

    def some(state: State, count: int) -> tuple[State, Block]:
        try:
            found = many(state, count)
        except Exception:
            if count == 1:
                raise
            return some(state, count // 2)
        return found or one(state, count)

    return some
