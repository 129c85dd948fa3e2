"""What contact did to a system in a step, as it is recorded."""

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arlequin.models.types import Array
from arlequin.multilevel.solvers.elastic_stick import FrictionLoss
from arlequin.system.contact_kinematics import ContactKinematics


@dataclass(frozen=True)
class ContactImpulses:
    """normal (k,) and tangential (k, a) impulses on the slave, N·s (forces, N, in statics); spread (q,): all of them
    on the rows of the contact's basis; slip (k,): its length in contact, m; wear (k,): normal force × slip, J; rubbed
    (k,): what friction takes, J; status (k,): see `arlequin.multilevel.solvers.contact`. Steps add up, whatever their
    kinematics. In a block each field has the step as its first axis.
    """

    normal: Array
    tangential: Array
    spread: Array
    slip: Array
    friction_work_per_mu: Array
    friction_loss: Array
    status: NDArray[np.int8]

    @classmethod
    def none(cls, kinematics: ContactKinematics) -> "ContactImpulses":
        """Nothing, on the points of a touch."""
        count, axes = kinematics.normals.shape
        none = np.zeros(count)
        spread, status = np.zeros(kinematics.basis.shape[0]), np.zeros(count, dtype=np.int8)
        return cls(none, np.zeros((count, axes)), spread, none.copy(), none.copy(), none.copy(), status)

    @classmethod
    def of(
        cls,
        kinematics: ContactKinematics,
        impulse: Array,
        status: NDArray[np.int8],
        moved: Array,
        time: float,
        still: Any = False,
        loss: FrictionLoss | None = None,
    ) -> "ContactImpulses":
        """Of the impulses (r,) on a touch whose rows `moved` (r,) in a step, m, or of some with the step as first axis;
        time: what turns an impulse into a force; still (k,): points that do not slip, whatever round-off says; loss:
        of friction with springs."""
        normal = np.take(impulse, kinematics.first, axis=-1)
        tangential = np.zeros((*normal.shape, kinematics.normals.shape[1]))
        length, friction_loss = np.zeros_like(normal), np.zeros_like(normal)
        if kinematics.frictional:
            squares = np.zeros_like(normal)
            ends = np.append(kinematics.first[1:], kinematics.rows)
            for t in range(kinematics.tangents.shape[1]):
                has = ends - kinematics.first > 1 + t
                rows = kinematics.first[has] + 1 + t
                tangential[..., has, :] += impulse[..., rows, None] * kinematics.tangents[has, t]
                squares[..., has] += moved[..., rows] ** 2
                friction_loss[..., has] -= impulse[..., rows] * moved[..., rows]
            length = np.where((normal > 0.0) & ~np.asarray(still), np.sqrt(squares), 0.0)
        friction_loss = np.where(np.asarray(still), 0.0, np.maximum(friction_loss, 0.0)) / time
        if loss is not None:
            friction_loss = np.where(loss.laws.elastic_stick, loss.each, friction_loss)
        return cls(
            normal, tangential, kinematics.spread(impulse), length, normal * length / time, friction_loss, status
        )

    def pushed(self, other: "ContactImpulses") -> "ContactImpulses":
        """With the impulses of another at the end of the step, which does nothing on the slip."""
        sums = {name: getattr(self, name) + getattr(other, name) for name in ("normal", "tangential", "spread")}
        return replace(self, **sums)

    def stacked(self) -> "ContactImpulses":
        """Itself as a block of one step: every field with a first axis of length 1."""
        return ContactImpulses(**{item.name: getattr(self, item.name)[None] for item in fields(self)})

    def add(self, other: "ContactImpulses", points: NDArray[np.bool_], rows: NDArray[np.bool_]) -> None:
        """Adds an action on some of the points (k,) and rows of the basis (q,), in place."""
        for name in ("normal", "tangential", "slip", "friction_work_per_mu", "friction_loss"):
            getattr(self, name)[points] += getattr(other, name)
        self.spread[rows] += other.spread
        self.status[points] = np.maximum(self.status[points], other.status)
