"""Schemes that are a row of coefficients: which stepper serves which system."""

from arlequin.models.errors import UserError
from arlequin.models.part import Constrained, is_viscous
from arlequin.schemes.alpha_sparse import AlphaStepper
from arlequin.schemes.compiled_loop import SmallMembers, are_small, is_rotating, is_small, small_stepper
from arlequin.schemes.cut_back import CutBackStepper
from arlequin.schemes.theta_sparse import ThetaStepper
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
        """Those of a step Δt, s."""
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
            return CutBackStepper(_sparse(assembly, row, "auto"))
        small = is_small(assembly) or (is_rotating(assembly) and not row.carries)
        if small and not self.solver.endswith("iterative"):
            return small_stepper(assembly, row)
        return _sparse(assembly, row, self.solver)

    def prepare_ensemble(self, members: Members, step: float) -> Stepper:
        """The stepper of the members of an ensemble: compiled loops of small systems, sparse matrices of θ."""
        row = self.coefficients(step)
        if self.solver.endswith("iterative"):
            raise UserError.parameter("solver", self.solver, 'an ensemble takes "direct": its members share the factor')
        if are_small(members):
            return SmallMembers(members, row)
        if row.carries:
            raise UserError.parameter(
                "scheme", self, "an ensemble of more than 500 degrees of freedom takes Theta: simulate its members one "
                "by one"
            )  # fmt: skip
        return ThetaStepper(members, step, row.theta)

    def _refuse_parts(self, assembly: Assembly) -> None:
        """UserError where the generalised-α family does not step a part."""
        for part, own in zip(assembly.system.parts, assembly.parts, strict=True):
            if isinstance(own, Constrained) or is_viscous(own):
                raise UserError(
                    f"part '{part.name}': {type(self).__name__} steps neither rigid parts nor viscous ones of finite "
                    "kinematics: take Theta"
                )


def _sparse(assembly: Assembly, row: StepCoefficients, solver: SolverName) -> ThetaStepper | AlphaStepper:
    """The stepper of sparse matrices."""
    if row.carries:
        return AlphaStepper(assembly, row, solver)
    return ThetaStepper(assembly, row.step, row.theta, solver=solver)
