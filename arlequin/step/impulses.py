"""Recorded contact impulses of a step: by point and by row of the contact basis, with slip and friction."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arlequin.models.types import Array
from arlequin.multilevel.solvers.elastic_stick import FrictionLoss
from arlequin.system.contact_kinematics import ContactKinematics


@dataclass(frozen=True)
class ContactImpulses:
    """normal (k,) and tangential (k, a) impulses on the slave, N·s (forces, N, in statics); spread (q,): impulses on
    the rows of the contact's basis; slip (k,): slip length in contact, m; friction_work_per_mu (k,): normal force ×
    slip, J; friction_loss (k,), J; status (k,): 0 open, 1 slip, 2 stick. Sums over steps are independent of their
    kinematics. In a batch each field has the step as its first axis.
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
        """Zero impulses on the points of the kinematics."""
        count, axes = kinematics.normals.shape
        zeros = np.zeros(count)
        spread, status = np.zeros(kinematics.basis.shape[0]), np.zeros(count, dtype=np.int8)
        return cls(zeros, np.zeros((count, axes)), spread, zeros.copy(), zeros.copy(), zeros.copy(), status)

    @classmethod
    def of(
        cls,
        kinematics: ContactKinematics,
        impulse: Array,
        status: NDArray[np.int8],
        increment: Array,
        time: float,
        still: Any = False,
        loss: FrictionLoss | None = None,
    ) -> "ContactImpulses":
        """From impulses (r,) and increments (r,), m, of the rows of the kinematics in a step, or with a step axis.

        time: divisor from impulse to force; still (k,): points whose slip is round-off; loss: of friction with elastic
        stick.
        """
        normal = np.take(impulse, kinematics.first, axis=-1)
        tangential = np.zeros((*normal.shape, kinematics.normals.shape[-1]))
        length, friction_loss = np.zeros_like(normal), np.zeros_like(normal)
        if kinematics.frictional:
            squares = np.zeros_like(normal)
            ends = np.append(kinematics.first[1:], kinematics.rows)
            for t in range(kinematics.tangents.shape[-2]):
                has = ends - kinematics.first > 1 + t
                rows = kinematics.first[has] + 1 + t
                tangential[..., has, :] += impulse[..., rows, None] * kinematics.tangents[..., has, t, :]
                squares[..., has] += increment[..., rows] ** 2
                friction_loss[..., has] -= impulse[..., rows] * increment[..., rows]
            length = np.where((normal > 0.0) & ~np.asarray(still), np.sqrt(squares), 0.0)
        friction_loss = np.where(np.asarray(still), 0.0, np.maximum(friction_loss, 0.0)) / time
        if loss is not None:
            friction_loss = np.where(loss.laws.elastic_stick, loss.each, friction_loss)
        return cls(
            normal,
            tangential,
            kinematics.apply_local_transposed(impulse),
            length,
            normal * length / time,
            friction_loss,
            status,
        )

    def with_end_impulses(self, other: "ContactImpulses") -> "ContactImpulses":
        """The sum with impulses at the end of the step, without their work on the slip."""
        sums = {name: getattr(self, name) + getattr(other, name) for name in ("normal", "tangential", "spread")}
        return replace(self, **sums)

    def stacked(self, count: int = 1) -> "ContactImpulses":
        """The impulses with a step axis of length `count`."""
        return ContactImpulses(**{name: np.repeat(value[None], count, axis=0) for name, value in vars(self).items()})

    def plus(self, other: "ContactImpulses") -> "ContactImpulses":
        """The sum with the impulses of a following sub-step; of two statuses the larger one."""
        sums: Any = {name: value + getattr(other, name) for name, value in vars(self).items() if name != "status"}
        return ContactImpulses(**sums, status=np.maximum(self.status, other.status))

    def add(self, other: "ContactImpulses", points: NDArray[np.bool_], rows: NDArray[np.bool_]) -> None:
        """Adds impulses on masks of points (k,) and rows of the basis (q,), in place; both have a step axis."""
        for name in ("normal", "tangential", "slip", "friction_work_per_mu", "friction_loss"):
            getattr(self, name)[:, points] += getattr(other, name)
        self.spread[:, rows] += other.spread
        self.status[:, points] = np.maximum(self.status[:, points], other.status)
