"""The solved steps of a run in blocks."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from arlequin.models.types import Array
from arlequin.schemes.central_steps import CentralStepper
from arlequin.sensitivity.models_at import StudyModel
from arlequin.step.batch import StepBatch
from arlequin.step.state import State

MAX_STEPS = 2048  # steps of a block
_MAX_VALUES = 1 << 19  # values of a field of a block, at most


@dataclass(frozen=True, eq=False)
class Block:
    """b steps from t = nΔt: u, v (b + 1, d) at their ends, in statics v the displacement of each, of central
    differences the velocity half a step before; φ (b, m) and P (b, r), N·s; statuses (b, k); worn depth and opening
    (b, k), m, with which each step is solved; start: the state before them."""

    n: int
    u: Array
    v: Array
    multipliers: Array
    impulse: Array
    status: NDArray[np.int8]
    depth: Array
    opening: Array
    start: State

    @property
    def wear(self) -> "Wear":
        """Wear before the first step."""
        return Wear(self.depth[0], self.opening[0])

    def __len__(self) -> int:
        return len(self.impulse)

    def cut(self, first: int, last: int) -> "Block":
        """The steps first ≤ j < last, with the scheme state of `start` unchanged."""
        at, ends = slice(first, last), slice(first, last + 1)
        return Block(
            self.n + first, self.u[ends], self.v[ends], self.multipliers[at], self.impulse[at], self.status[at],
            self.depth[at], self.opening[at], self.start,
        )  # fmt: skip

    def joined(self, other: "Block") -> "Block":
        """This block joined with the next one."""
        names = "u", "v", "multipliers", "impulse", "status", "depth", "opening"
        fields = {}
        for name in names:
            first, second = getattr(self, name), getattr(other, name)
            fields[name] = np.concatenate([first, second[1:] if name in ("u", "v") else second])
        return Block(self.n, **fields, start=self.start)


@dataclass(frozen=True)
class Wear:
    """Worn depth and opening (k,), m, with which the next step is solved; see `WearState`."""

    depth: Array
    opening: Array


def blocks(
    model: StudyModel, state: State | None, wear: Wear | None, steps: int, fields: int = 1, least: int = 1
) -> Iterator[Block]:
    """The steps of a run from a state, None for its start, to step `steps`, in blocks; fields: number of
    fields of the size of the motion that are stored of each step; least: minimum number of steps of each block but the
    last."""
    stepper, count = model.stepper, model.assembly.contact_count
    if state is None:
        state = stepper.start(model.first.u, model.first.v)
    if wear is None:
        wear = Wear(np.zeros(count), np.zeros(count))
    length = max(min(MAX_STEPS, _MAX_VALUES // max(model.assembly.dof_count * fields, 1)), least)
    while state.n < steps:
        first, batches = state, []
        last = min(state.n + length, steps)
        while state.n < last:
            state, batch = stepper.advance(state, last - state.n)
            batches.append(batch)
        yield _block(first, batches, wear, model)
        wear = _after(batches, wear)


def _block(first: State, batches: list[StepBatch], wear: Wear, model: StudyModel) -> Block:
    def joined(name: str) -> Array:
        return np.concatenate([getattr(batch, name) for batch in batches])

    contact = [batch.contact for batch in batches]
    count = sum(len(batch) for batch in batches)
    depth = np.zeros((count, wear.depth.size))
    opening = depth
    if batches[0].worn is not None:
        depths = np.concatenate([wear.depth[None], joined("worn")])
        openings = np.concatenate([wear.opening[None], np.diff(depths, axis=0)])
        depth, opening = depths[:-1], openings[:-1]
    u = np.concatenate([first.u[None], joined("u")])
    if model.study.scheme.static:
        v = np.concatenate([first.v[None], np.diff(u, axis=0)])
    elif isinstance(model.stepper, CentralStepper):
        v = np.concatenate([model.stepper.half_velocity(first)[None], np.diff(u, axis=0) / model.study.step])
    else:
        v = np.concatenate([first.v[None], joined("v")])
    return Block(
        n=first.n,
        u=u,
        v=v,
        multipliers=joined("multipliers"),
        impulse=np.concatenate([records.spread for records in contact]),
        status=np.concatenate([records.status for records in contact]),
        depth=depth,
        opening=opening,
        start=first,
    )


def _after(batches: list[StepBatch], wear: Wear) -> Wear:
    if batches[-1].worn is None:
        return wear
    depths = np.concatenate([wear.depth[None], *(batch.worn for batch in batches if batch.worn is not None)])
    return Wear(depths[-1], depths[-1] - depths[-2])
