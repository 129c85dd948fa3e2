"""The interference of the interfaces of a system, which statics closes."""

from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from arlequin.models.errors import UserError
from arlequin.models.types import Array
from arlequin.multilevel.interface import Interface
from arlequin.multilevel.laws.wear import WearState
from arlequin.multilevel.pairing.interference import Ramp, ramp_share
from arlequin.multilevel.pairing.kinematics import Kinematics


@dataclass(frozen=True, eq=False)
class Interference:
    """Press fits of a system: the laws see the gaps g(u) + δ₀ (1 − s(t)), δ₀ = overlap (k,), m.

    ramps: name, points and ramp s of each interface with an interference.
    """

    overlap: Array
    ramps: tuple[tuple[str, slice, Ramp], ...]

    @classmethod
    def of(cls, interfaces: Sequence[Interface], reference: Sequence[Kinematics]) -> "Interference | None":
        """The interference at the reference configuration, that of springs behind; None of interfaces without."""
        if all(interface.interference is None for interface in interfaces):
            return None
        bounds = np.cumsum([0, *(kin.gap.size for kin in reference)])
        overlap, ramps = np.zeros(bounds[-1]), []
        for interface, kin, (a, b) in zip(interfaces, reference, pairwise(bounds.tolist()), strict=False):
            if interface.interference is not None:
                overlap[a:b] = interface.overlap(kin)
                ramps.append((interface.name, slice(a, b), interface.ramp))
        return cls(overlap, tuple(ramps))

    @property
    def names(self) -> tuple[str, ...]:
        """The interfaces with an interference."""
        return tuple(name for name, *_ in self.ramps)

    def without(self, closed: Container[str]) -> "Interference | None":
        """The interference of the other interfaces; None where there is none."""
        ramps = tuple(item for item in self.ramps if item[0] not in closed)
        return replace(self, ramps=ramps) if ramps else None

    def remaining(self, t: float, first_step: float) -> Array:
        """δ₀ (1 − s(t)) (k,), m; first_step: duration of the first load step, s."""
        out = np.zeros(self.overlap.size)
        for name, points, ramp in self.ramps:
            out[points] = (1.0 - ramp_share(name, ramp, t, first_step)) * self.overlap[points]
        return out

    def step(self, worn: WearState | None, t0: float, t1: float, first_step: float) -> WearState:
        """The offset of the gaps at t1 and its change from t0, added to wear; UserError of a falling ramp."""
        before, after = (self.remaining(t, first_step) for t in (t0, t1))
        for name, _, ramp in self.ramps:
            if callable(ramp) and ramp(t1) < ramp(t0):
                raise UserError(
                    f"interface '{name}': ramp falls from {ramp(t0):g} to {ramp(t1):g}: must rise from 0 to 1"
                )
        none = np.zeros(self.overlap.size)
        return (WearState(none, none) if worn is None else worn).with_imposed(after, after - before)
