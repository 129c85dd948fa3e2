"""Internal forces of parts and springs at the end of a step, with internal variables."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from arlequin.models.part import Response
from arlequin.models.types import Array

Memory = tuple[Array, ...]  # internal variables of the points of each part; empty without any


def response_of(part: Any, remembers: bool, memory: Array, u: Array, step: float) -> Response:
    """Response of a part at u (d,), with or without internal variables."""
    if remembers:
        return part.respond(u, memory, step)
    force, stored = part.internal(u)
    return Response(force, stored, 0.0, memory)


@dataclass(frozen=True)
class BulkResponse:
    """Internal forces (d,), N; stored energy, J; dissipated energy of the step, J; internal variables at its end.

    inverted: a cell of negative volume of each part, −1: none.
    """

    force: Array
    stored: float
    dissipated: float
    memory: Memory
    inverted: tuple[int, ...] = ()

    @classmethod
    def gathered(cls, parts: Sequence[Response]) -> "BulkResponse":
        """The responses of the parts, concatenated."""
        return cls(
            force=np.concatenate([part.force for part in parts]),
            stored=sum(part.stored for part in parts),
            dissipated=sum(part.dissipated for part in parts),
            memory=tuple(part.memory for part in parts),
            inverted=tuple(part.inverted for part in parts),
        )
