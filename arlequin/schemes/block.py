"""Some steps in a row: what is recorded of them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from arlequin.action import Action
from arlequin.assembly import Assembly
from arlequin.response import Memory
from arlequin.schemes.scheme import State, Stepper, StepReport
from models.types import Array


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
    action: Action
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
        touch = report.touch if report else contact.touch(place)
        action = report.action if report else Action.none(touch)
        return cls(
            n=np.array([state.n]),
            u=state.u[None],
            v=state.v[None],
            works=works[None],
            multipliers=report.multipliers[None] if report else np.zeros((1, assembly.constraints.shape[0])),
            gaps=touch.gaps(place)[None],
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
