"""The θ-scheme of the members of an ensemble of a small linear system: each in its compiled loop."""

from dataclasses import fields
from functools import partial
from typing import Any

import numpy as np

from arlequin.action import Action
from arlequin.members import Members, named
from arlequin.schemes.block import Block, taker
from arlequin.schemes.scheme import State
from arlequin.schemes.small_theta import SmallThetaStepper, is_small
from arlequin.start import start_fields
from models.threads import each
from models.types import Array

# values of a field of a block of all members: above the first blocks are as short as may be, the second is the most
_HELD, _MOST = 1 << 22, 1 << 24
# what each member has of a state
_FIELDS = "u", "v", "history", "internal", "impulse"
_ENERGIES = "kinetic", "strain", "asperity"


def are_small(members: Members) -> bool:
    """Whether steps may be taken in compiled loops, and the shortest blocks of all members at once have room."""
    size = members.count * members.assembly.dof_count
    return is_small(members.assembly) and size * SmallMembers.least <= _MOST


class SmallMembers:
    """The steps of `SmallThetaStepper` for each member, to the bit; threads take members side by side.

    A right-hand side of a small factor is solved in the first cache: nothing is gained by passes over it for many. One
    set of operators serves all.
    """

    least = 64  # steps at once: what a block costs beside them is then about as much as they do

    def __init__(self, members: Members, theta: float, step: float) -> None:
        self.step = step
        self._members = members
        self._stepper = SmallThetaStepper(members.assembly, step, theta)
        self._each = [self._stepper.driven_as(own) for own in members.each]
        self._take = [taker(stepper, own) for stepper, own in zip(self._each, members.each, strict=True)]

    def kept(self) -> Any:
        """The columns made so far."""
        return self._stepper.kept()

    def keep(self, kept: Any) -> None:
        """Makes them again."""
        self._stepper.keep(kept)

    def start(self) -> State:
        """The members at t = 0."""

        def one(i: int) -> State:
            return self._each[i].start(*start_fields(self._members.each[i], self.step))

        return _together([named(i, partial(one, i)) for i in range(self._members.count)])

    def first(self, state: State, works: Array) -> Block:
        """The initial state, works (n, kind)."""
        starts = zip(self._members.each, works, strict=True)
        return _side_by_side([Block.of(own, _of(state, i), None, work) for i, (own, work) in enumerate(starts)])

    def advance_block(self, state: State, count: int) -> tuple[State, Block]:
        """Up to `count` steps, as many of each member: those before one that is not accepted, which the next call
        says."""
        count = min(count, max(_HELD // state.u.size, self.least))

        def take(i: int, most: int) -> tuple[State, Block]:
            return named(i, lambda: self._take[i](_of(state, i), most))

        found = each(lambda i: take(i, count), range(self._members.count))
        least = min(len(block) for _, block in found)
        found = [own if len(own[1]) == least else take(i, least) for i, own in enumerate(found)]
        states, blocks = zip(*found, strict=True)
        return _together(states), _side_by_side(blocks)


def _of(state: State, i: int) -> State:
    """That of one member."""
    own: Any = {name: getattr(state, name)[i] for name in _FIELDS}
    energies: Any = {name: float(getattr(state, name)[i]) for name in _ENERGIES}
    return State(n=state.n, **own, **energies, own=state.own[i])


def _together(states: Any) -> State:
    """One state of all members; `own` is a tuple of what each carries along."""
    stacked: Any = {name: np.array([getattr(state, name) for state in states]) for name in (*_FIELDS, *_ENERGIES)}
    return State(n=states[0].n, **stacked, own=tuple(state.own for state in states))


def _side_by_side(blocks: Any) -> Block:
    """The same steps of all members as one block, whose fields have the member as second axis."""

    def stacked(values: Any) -> Array:
        return np.stack(values, axis=1)

    names = "u", "v", "works", "multipliers", "gaps", "iterations", "residual", "newton"
    own: Any = {name: stacked([getattr(block, name) for block in blocks]) for name in names}
    actions = [block.action for block in blocks]
    action: Any = {item.name: stacked([getattr(one, item.name) for one in actions]) for item in fields(Action)}
    return Block(n=blocks[0].n, **own, action=Action(**action))
