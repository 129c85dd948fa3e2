"""What parts and springs do at the end of a step, where some of them remember what they went through."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from arlequin.models.part import Response
from arlequin.models.types import Array

Memory = tuple[Array, ...]  # of the points of each part; of no size where it has none


def response_of(part: Any, remembers: bool, memory: Array, u: Array, step: float) -> Response:
    """What a part does at u (d,), with or without a memory."""
    if remembers:
        return part.respond(u, memory, step)
    force, stored = part.internal(u)
    return Response(force, stored, 0.0, memory)


@dataclass(frozen=True)
class BulkResponse:
    """Internal forces (d,), N; stored energy, J; what the step dissipated, J; the memory of its end.

    inverted: of each part a cell that is inside out, −1: none.
    """

    force: Array
    stored: float
    dissipated: float
    memory: Memory
    inverted: tuple[int, ...] = ()

    @classmethod
    def gathered(cls, parts: Sequence[Response]) -> "BulkResponse":
        """Of the parts, one after the other."""
        return cls(
            force=np.concatenate([part.force for part in parts]),
            stored=sum(part.stored for part in parts),
            dissipated=sum(part.dissipated for part in parts),
            memory=tuple(part.memory for part in parts),
            inverted=tuple(part.inverted for part in parts),
        )
