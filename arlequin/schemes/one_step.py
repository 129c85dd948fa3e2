"""One-step schemes defined by a row of coefficients: choice of the stepper by system."""

from arlequin.models.errors import UserError
from arlequin.models.part import Constrained, Nonlinear, PathDependent, is_viscous
from arlequin.schemes.compiled_loop import SmallMembers, SmallStepper, are_small, is_rotating, is_small
from arlequin.schemes.cut_back import CutBackStepper
from arlequin.schemes.factored_loop import factored_stepper, suits_loop
from arlequin.schemes.members_apart import MembersApart
from arlequin.schemes.sparse_steps import OneStepStepper
from arlequin.solvers.solver_choice import SolverName, linear_parts_only
from arlequin.step.coefficients import StepCoefficients
from arlequin.step.scheme import Stepper
from arlequin.system.assembly import Assembly
from arlequin.system.ensemble import Members


class OneStep:
    """A scheme of one step by its coefficients (`arlequin.step.coefficients`); subclasses define `coefficients`.

    They have runs of linear and nonlinear parts, compiled loops of small systems, ensembles, gradients and checkpoints.
    solver: of the linear system of a step, see `Theta`. An example is in docs/how-to/scheme.md.
    """

    solver: SolverName = "auto"
    static = False

    def coefficients(self, step: float) -> StepCoefficients:
        """The coefficients for a step Δt, s."""
        raise NotImplementedError

    @property
    def order(self) -> int:
        return self.coefficients(1.0).order

    @property
    def frequency_error(self) -> float:
        """See `StepCoefficients.frequency_error`."""
        return self.coefficients(1.0).frequency_error

    def prepare(self, assembly: Assembly, step: float) -> Stepper:
        """The stepper that suits the system: compiled loops of small systems, sparse matrices, Newton's method."""
        row = self.coefficients(step)
        if row.carries:
            self._refuse_parts(assembly)
        linear_parts_only(assembly, self.solver)
        if not assembly.linear:
            bodies = [part for part in assembly.parts if isinstance(part, Nonlinear | PathDependent)]
            deforms = not all(isinstance(part, Constrained) for part in bodies)
            return CutBackStepper(OneStepStepper(assembly, row), deforms)
        small = is_small(assembly) or (is_rotating(assembly) and not row.carries)
        if small and not self.solver.endswith("iterative"):
            return SmallStepper(assembly, row)
        if suits_loop(assembly):
            return factored_stepper(assembly, row, self.solver)
        return OneStepStepper(assembly, row, solver=self.solver)

    def prepare_ensemble(self, members: Members, step: float) -> Stepper:
        """The stepper of members with common matrices: compiled loops of small systems, else one factor for all."""
        row = self.coefficients(step)
        if self.solver.endswith("iterative"):
            return MembersApart(self, members, step)
        if are_small(members):
            return SmallMembers(members, row)
        if members.assembly.laws.state_dependent:
            return MembersApart(self, members, step)
        return OneStepStepper(members, row)

    def _refuse_parts(self, assembly: Assembly) -> None:
        """UserError where the generalised-α family does not support a part."""
        for part, assembled in zip(assembly.system.parts, assembly.parts, strict=True):
            if isinstance(assembled, Constrained) or is_viscous(assembled):
                raise UserError(
                    f"part '{part.name}': {type(self).__name__} steps neither rigid parts nor viscous ones of finite "
                    "kinematics: take Theta"
                )
