"""The θ-scheme for small linear systems with rigid bodies of the plane that turn on flat obstacles."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arlequin.assembly import Assembly
from arlequin.condensed import Condensed
from arlequin.schemes.meeting import SETTLED
from arlequin.schemes.passage import Projections
from arlequin.schemes.small_theta import FEW, LARGEST, SmallThetaStepper, columns_of
from arlequin.schemes.turning_rows import Corners, Touches
from arlequin.touch import Touch
from models.types import Array
from multilevel.method import proximal_term


def is_turning(assembly: Assembly) -> bool:
    """Whether steps may be taken in blocks all the same where the kinematics change: few dofs, strains in short form,
    no wear, and all that turns on flat obstacles."""
    contact = assembly.contact
    sides = zip(contact.steady, contact.pairings, contact.sides, strict=True)
    return (
        not contact.fixed
        and assembly.linear
        and assembly.dof_count <= LARGEST
        and max(contact.basis.shape[0], contact.laws.row_count) <= FEW
        and assembly.absorber is None
        and contact.wear_rate is None
        and not (assembly.constraints.shape[0] and assembly.imposed_dofs.size)
        and all(steady or (pairing.fixed and master.surface is None) for steady, pairing, (_, master) in sides)
        and assembly.strains is not None
    )


class TurningThetaStepper(SmallThetaStepper):
    """The same steps as `ThetaStepper`: each alternates between the impulses and the configuration at the middle of
    the step that they lead to, on which they act (`arlequin.schemes.meeting.meet`)."""

    def __init__(self, assembly: Assembly, step: float, theta: float) -> None:
        super().__init__(assembly, step, theta)
        self._corners = Corners.of(assembly.contact)
        active = assembly.free & ~assembly.massless & (assembly.mass.diagonal() > 0.0)
        self._inertia = columns_of(Condensed(assembly, assembly.mass, active), assembly)[2]

    def _take(self, count: int, driven: tuple[Array, Array], laws: Any, state: Any, out: Any) -> int:
        from arlequin.schemes._turning_kernels import turning_block

        assembly, contact, corners = self._assembly, self._assembly.contact, self._corners
        method = contact.method
        arguments: Any = (
            count, self.step, self._theta,
            *self._operators, (corners.columns, corners.width, corners.ways, corners.arms), self._touch.gap,
            corners.reach, corners.turn, self._moving, contact.scale.touching, SETTLED * contact.sizes,
            contact.turning, self._inertia, *driven, assembly.imposes_displacement,
            *laws, proximal_term(method.method, method.augmentation, True), *state, *out,
        )  # fmt: skip
        return int(turning_block(*arguments))

    def _more(self, count: int) -> list[Any]:
        """Shares, gaps and places of the kinematics; what the projections of the velocities need."""
        contact = self._assembly.contact
        rows = contact.laws.row_count
        q, d = contact.basis.shape
        shapes = (rows, 3), (contact.count,), (q,), (d,), (rows,), (q,), (3,), (contact.count,)
        return [*(np.zeros((count, *shape)) for shape in shapes), np.zeros((count, rows), dtype=bool)]

    def _projections(self, more: list[Any]) -> Projections:
        return Projections(*more[3:])

    def _met(self, more: list[Any]) -> Touch:
        """The kinematics of the steps."""
        touch, (shares, gap, place) = self._touch, more[:3]
        return Touches(
            moves=touch.moves,
            local=None,
            first=touch.first,
            gap=gap,
            place=place,
            normals=touch.normals,
            tangents=touch.tangents,
            positions=touch.positions,
            found=touch.found,
            corners=self._corners,
            shares=shares,
        )

    def _sticking(self, status: NDArray[np.int8]) -> NDArray[np.bool_]:
        """None: the corner of a body that turns on it moves in the mean of a step."""
        return np.zeros(status.shape, dtype=bool)
