"""The energy-conserving midpoint scheme."""

from dataclasses import dataclass, replace
from typing import Any

from arlequin.assembly import Assembly
from arlequin.schemes.cut_back import CutBackStepper
from arlequin.schemes.massless import MasslessCondensation
from arlequin.schemes.scheme import State, Stepper, StepReport
from arlequin.schemes.theta import ThetaStepper
from models.errors import UserError
from models.types import Array


@dataclass(frozen=True)
class Midpoint:
    """Midpoint scheme with discrete gradients of the stored energies: conserves energy through contact. Order 2.

    Regular laws conserve as they are. Unilateral contact has no energy, so it needs contact nodes without mass
    (mass="redistributed", gap level): they are condensed, and the contact force is the discrete gradient of the
    condensed energy (see `MasslessCondensation`). On linear bulk this is θ = 1/2 on the condensed system.

    With parts of finite rotations it is the energy–momentum scheme, `Theta(0.5)`: unilateral contact then acts on the
    velocity at the end of the step, on nodes with mass, and what impacts take is `impact`.

    Source: Gonzalez, J. Nonlinear Sci. 6 (1996) 449–467; Khenous, Laborde & Renard (2008).
    """

    @property
    def order(self) -> int:
        return 2

    @property
    def static(self) -> bool:
        return False

    def prepare(self, assembly: Assembly, step: float) -> Stepper:
        if not assembly.linear:
            return CutBackStepper(ThetaStepper(assembly, step, 0.5))
        if assembly.massless.any():
            return CondensedStepper(MasslessCondensation.of(assembly), step)
        if (assembly.laws.level > 0).any():
            raise UserError(
                'the midpoint scheme with unilateral contact needs mass="redistributed" on the parts that touch; '
                "use the θ-scheme otherwise"
            )
        return ThetaStepper(assembly, step, 0.5)


class CondensedStepper:
    """Steps the condensed system and gives back states of the full one."""

    def __init__(self, condensed: MasslessCondensation, step: float) -> None:
        self.step = step
        self._condensed = condensed
        self._inner = ThetaStepper(condensed, step, 0.5)

    def kept(self) -> Any:
        """What the condensed steps keep."""
        return self._inner.kept()

    def keep(self, kept: Any) -> None:
        """Makes it again."""
        self._inner.keep(kept)

    def start(self, u: Array, v: Array) -> State:
        inner = self._inner.start(u, v)
        return self._full(inner, self._condensed.expand(u), v)

    def advance(self, state: State) -> tuple[State, StepReport]:
        inner, report = self._inner.advance(state.own)
        u = self._condensed.expand(inner.u)
        massless = self._condensed.massless
        v = inner.v.copy()
        v[massless] = (u[massless] - state.u[massless]) / self.step
        work = report.work
        # the condensed contact energy is strain energy of the elements at the contact nodes
        work["strain"], work["asperity"] = work["strain"] + work["asperity"], 0.0
        return self._full(inner, u, v), report

    @staticmethod
    def _full(inner: State, u: Array, v: Array) -> State:
        return replace(inner, u=u, v=v, strain=inner.strain + inner.asperity, asperity=0.0, own=inner)
