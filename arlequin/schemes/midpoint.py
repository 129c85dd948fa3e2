"""The energy-conserving midpoint scheme, with static condensation of massless contact nodes."""

from dataclasses import dataclass, replace

from arlequin.models.errors import UserError
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array
from arlequin.schemes.massless import MasslessCondensation
from arlequin.schemes.members_apart import MembersApart
from arlequin.schemes.one_step import OneStep
from arlequin.schemes.sparse_steps import OneStepStepper
from arlequin.solvers.condensed import DelegatedCheckpoint
from arlequin.step.batch import StepBatch
from arlequin.step.coefficients import StepCoefficients
from arlequin.step.scheme import Stepper
from arlequin.step.state import State
from arlequin.system.assembly import Assembly
from arlequin.system.ensemble import Members


@checked_call
@dataclass(frozen=True)
class Midpoint(OneStep):
    """Midpoint scheme with discrete gradients of the stored energies: conserves energy through contact. Order 2.

    Regular laws conserve energy without modification. Unilateral contact has no energy and requires contact nodes
    without mass (mass="redistributed", gap level): they are condensed, and the contact force is the discrete gradient
    of the condensed energy (see `MasslessCondensation`). On linear bulk this is θ = 1/2 on the condensed system.

    With parts of finite rotations it is the energy–momentum scheme, `Theta(0.5)`: unilateral contact then acts on the
    velocity at the end of the step, on nodes with mass, and the loss in impacts is `impact`.

    Without condensed nodes its steps are those of `Theta(0.5)`, with the same features.

    Source: Gonzalez, J. Nonlinear Sci. 6 (1996) 449–467; Khenous, Laborde & Renard (2008).
    """

    def coefficients(self, step: float) -> StepCoefficients:
        """The coefficients of θ = 1/2."""
        return StepCoefficients.of_theta(0.5, step)

    def prepare(self, assembly: Assembly, step: float) -> Stepper:
        """The stepper of the system, condensed where linear parts have massless nodes."""
        if assembly.linear and assembly.massless.any():
            return CondensedStepper(MasslessCondensation.of(assembly), step)
        _refuse_unilateral(assembly)
        return super().prepare(assembly, step)

    def prepare_ensemble(self, members: Members, step: float) -> Stepper:
        """The stepper of the members of an ensemble."""
        if members.assembly.massless.any():
            return MembersApart(self, members, step)
        _refuse_unilateral(members.assembly)
        return super().prepare_ensemble(members, step)


def _refuse_unilateral(assembly: Assembly) -> None:
    """UserError for unilateral contact of linear parts on nodes with mass."""
    if assembly.linear and (assembly.laws.level > 0).any():
        raise UserError(
            'the midpoint scheme with unilateral contact needs mass="redistributed" on the parts that touch; use the '
            "θ-scheme otherwise"
        )


class CondensedStepper(DelegatedCheckpoint, Stepper):
    """Steps the condensed system and returns states of the full one."""

    def __init__(self, condensed: MasslessCondensation, step: float) -> None:
        self.step = step
        self._condensed = condensed
        self._source = self._inner = OneStepStepper(condensed, StepCoefficients.of_theta(0.5, step))

    def start(self, u: Array, v: Array) -> State:
        inner = self._inner.start(u, v)
        return self._full(inner, self._condensed.expand(u), v)

    def advance(self, state: State, count: int = 1) -> tuple[State, StepBatch]:
        """One step."""
        inner, batch = self._inner.advance(state.scheme_state)
        u = self._condensed.expand(inner.u)
        massless = self._condensed.massless
        v = inner.v.copy()
        v[massless] = (u[massless] - state.u[massless]) / self.step
        work = batch.work
        # the condensed contact energy is strain energy of the elements at the contact nodes
        work["strain"], work["asperity"] = work["strain"] + work["asperity"], 0.0
        gaps = self._condensed.full.contact.gaps(u)
        return self._full(inner, u, v), replace(batch, u=u[None], v=v[None], gaps=gaps[None])

    @staticmethod
    def _full(inner: State, u: Array, v: Array) -> State:
        return replace(inner, u=u, v=v, strain=inner.strain + inner.asperity, asperity=0.0, scheme_state=inner)
