"""The θ-scheme for small linear systems with rigid bodies of the plane that turn on flat obstacles."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from arlequin.assembly import Assembly
from arlequin.schemes.meeting import SETTLED
from arlequin.schemes.small_theta import FEW, LARGEST, SmallThetaStepper
from arlequin.schemes.turning_rows import Corners, Touches
from arlequin.touch import Touch
from multilevel.law import Array
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
        and all(steady or (pairing.fixed and master.surface is None) for steady, pairing, (_, master) in sides)
        and assembly.strains is not None
    )


class TurningThetaStepper(SmallThetaStepper):
    """The same steps as `ThetaStepper`: each alternates between the impulses and the configuration at the middle of
    the step that they lead to, on which they act (`arlequin.schemes.meeting.meet`)."""

    def __init__(self, assembly: Assembly, step: float, theta: float) -> None:
        super().__init__(assembly, step, theta)
        self._corners = Corners.of(assembly.contact)

    def _take(self, count: int, driven: tuple[Array, Array], laws: Any, state: Any, out: Any) -> int:
        from arlequin.schemes._turning_kernels import turning_block

        assembly, corners, method = self._assembly, self._corners, self._assembly.contact.method
        arguments: Any = (
            count, self.step, self._theta,
            *self._operators, (corners.columns, corners.width, corners.ways, corners.arms), self._touch.gap,
            corners.reach, corners.turn, self._moving, assembly.contact.touching, SETTLED * assembly.contact.extent,
            *driven, assembly.imposes_displacement,
            *laws, proximal_term(method.method, method.augmentation, True), *state, *out,
        )  # fmt: skip
        return int(turning_block(*arguments))

    def _more(self, count: int) -> list[Array]:
        """Shares, gaps and places of the kinematics."""
        contact = self._assembly.contact
        shapes = (contact.laws.row_count, 3), (contact.count,), (contact.basis.shape[0],)
        return [np.zeros((count, *shape)) for shape in shapes]

    def _met(self, more: list[Array]) -> Touch:
        """The kinematics of the steps."""
        touch, (shares, gap, place) = self._touch, more
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
