"""What contact did to a system in a step, as it is recorded."""

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arlequin.models.types import Array
from arlequin.multilevel.solvers.elastic_stick import Loss
from arlequin.system.contact_kinematics import Touch


@dataclass(frozen=True)
class Action:
    """normal (k,) and tangential (k, a) impulses on the slave, N·s (forces, N, in statics); spread (q,): all of them
    on the rows of the contact's basis; slip (k,): its length in contact, m; wear (k,): normal force × slip, J; rubbed
    (k,): what friction takes, J; status (k,): see `arlequin.multilevel.solvers.contact`. Steps add up, whatever their
    kinematics. In a block each field has the step as its first axis.
    """

    normal: Array
    tangential: Array
    spread: Array
    slip: Array
    wear: Array
    rubbed: Array
    status: NDArray[np.int8]

    @classmethod
    def none(cls, touch: Touch) -> "Action":
        """Nothing, on the points of a touch."""
        count, axes = touch.normals.shape
        none = np.zeros(count)
        spread, status = np.zeros(touch.basis.shape[0]), np.zeros(count, dtype=np.int8)
        return cls(none, np.zeros((count, axes)), spread, none.copy(), none.copy(), none.copy(), status)

    @classmethod
    def of(
        cls,
        touch: Touch,
        impulse: Array,
        status: NDArray[np.int8],
        moved: Array,
        time: float,
        still: Any = False,
        loss: Loss | None = None,
    ) -> "Action":
        """Of the impulses (r,) on a touch whose rows `moved` (r,) in a step, m, or of some with the step as first axis;
        time: what turns an impulse into a force; still (k,): points that do not slip, whatever round-off says; loss:
        of friction with springs."""
        normal = np.take(impulse, touch.first, axis=-1)
        tangential = np.zeros((*normal.shape, touch.normals.shape[1]))
        length, rubbed = np.zeros_like(normal), np.zeros_like(normal)
        if touch.frictional:
            squares = np.zeros_like(normal)
            ends = np.append(touch.first[1:], touch.rows)
            for t in range(touch.tangents.shape[1]):
                has = ends - touch.first > 1 + t
                rows = touch.first[has] + 1 + t
                tangential[..., has, :] += impulse[..., rows, None] * touch.tangents[has, t]
                squares[..., has] += moved[..., rows] ** 2
                rubbed[..., has] -= impulse[..., rows] * moved[..., rows]
            length = np.where((normal > 0.0) & ~np.asarray(still), np.sqrt(squares), 0.0)
        rubbed = np.where(np.asarray(still), 0.0, np.maximum(rubbed, 0.0)) / time
        if loss is not None:
            rubbed = np.where(loss.laws.sprung, loss.each, rubbed)
        return cls(normal, tangential, touch.spread(impulse), length, normal * length / time, rubbed, status)

    def pushed(self, other: "Action") -> "Action":
        """With the impulses of another at the end of the step, which does nothing on the slip."""
        sums = {name: getattr(self, name) + getattr(other, name) for name in ("normal", "tangential", "spread")}
        return replace(self, **sums)

    def stacked(self) -> "Action":
        """Itself as a block of one step: every field with a first axis of length 1."""
        return Action(**{item.name: getattr(self, item.name)[None] for item in fields(self)})

    def add(self, other: "Action", points: NDArray[np.bool_], rows: NDArray[np.bool_]) -> None:
        """Adds an action on some of the points (k,) and rows of the basis (q,), in place."""
        for name in ("normal", "tangential", "slip", "wear", "rubbed"):
            getattr(self, name)[points] += getattr(other, name)
        self.spread[rows] += other.spread
        self.status[points] = np.maximum(self.status[points], other.status)
