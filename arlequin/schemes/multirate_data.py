"""Named tuples of the compiled loop of multirate integration."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from arlequin.models.types import Array


class SideState(NamedTuple):
    """u, m, v, m/s, and internal forces, N, all (d,); of the θ-scheme the summed momentum (d,), N·s; of central
    differences v_{n−½} with half of the constraints' impulse, m/s, the acceleration without them, m/s², and the forces
    of dashpots (d,), N. Fields of the other scheme, and without dashpots, are of size 0."""

    u: Array
    v: Array
    internal: Array
    momentum: Array
    half: Array
    a: Array
    damping: Array


class SideSteps(NamedTuple):
    """Steps (b,) of a side: u, v at their ends and (u₁ − u₀)/Δt, `flow` (b, d), and the works as of `StepWorks` or
    `CentralWorks`: sums (b, 6), strain energy (b,), J, impulses of imposed motions (b, p), N·s."""

    u: Array
    v: Array
    flow: Array
    sums: Array
    strain: Array
    reactions: Array


class SideArguments(NamedTuple):
    """A side as the loop reads it. implicit: θ-scheme, else central differences; ratio: steps in a large one; bulk: the
    fields of `CompiledSystem` before the contact's, with the constraints of the junctions; row: `StepRow`.

    Of the θ-scheme: by_imposed, bordered, supernodes: A (free, imposed) by rows, and the passes over its factor; push
    (b, d), N·s: loads in the b-equation. Of central differences: M⁻¹, 0 on dofs that are not free, mass, and zeros
    no_lift, all (d,). external (b, d) or (1, d), N: means of the steps, or loads at the instants; imposed (b, p).
    """

    implicit: bool
    ratio: int
    bulk: Any
    row: Any
    by_imposed: Any
    bordered: Any
    supernodes: NDArray[np.int64]
    push: Array
    inverse: Array
    mass: Array
    no_lift: Array
    external: Array
    imposed: Array
    start: SideState
    trial: SideState
    steps: SideSteps
