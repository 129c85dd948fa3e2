"""The θ-scheme in velocity form: its parameters and theory."""

from dataclasses import dataclass
from typing import Literal

from arlequin.models.checks import one_of, within
from arlequin.models.errors import UserError
from arlequin.models.signatures import checked_call
from arlequin.schemes.events import LocatedThetaStepper
from arlequin.schemes.located_rigid import LocatedRigidStepper
from arlequin.schemes.members_apart import MembersApart
from arlequin.schemes.one_step import OneStep
from arlequin.solvers.solver_choice import SolverName, checked_solver
from arlequin.step.coefficients import StepCoefficients
from arlequin.step.scheme import Stepper, unworn_only
from arlequin.system.assembly import Assembly
from arlequin.system.ensemble import Members


@checked_call
@dataclass(frozen=True)
class Theta(OneStep):
    """θ-scheme, 1/2 ≤ θ ≤ 1, contact impulses on the velocity at the end of the step (see
    docs/theory/contact.md):

        u₁ = u₀ + Δt v_θ,   v_θ = θ v₁ + (1 − θ) v₀
        M (v₁ − v₀) + Δt [D v_θ + f_int(u_θ)] = Δt f_θ + Cᵀφ + BᵀP,   C v₁ = 0

    Order 2 at θ = 1/2, where linear bulk conserves energy exactly, else 1. A point counts as closed when
    g(u₀ + ½ Δt v₀) ≤ 0.

    events="locate": impact, release, stick, slip and reversal at their own instants inside the step, with order 4
    between them, for small systems of lumped, modal and 1D parts (see `arlequin.schemes.events`), and of rigid
    bodies of the plane (`arlequin.schemes.located_rigid`).

    solver: of the linear system of a step of linear parts. "direct": a sparse Cholesky factor, made once. "iterative":
    conjugate gradients, which need little memory and take a number of iterations in proportion to cΔt / h, 50 at 3
    (`arlequin.solvers.iterative`). "petsc-iterative": with algebraic multigrid of PETSc, about 50 at any cΔt / h, each
    at the cost of 8; runs under mpiexec with "iterative" switch to it beyond 400. "auto": the one with the lower
    predicted time that fits into memory.

    Parts with finite rotations have their mean force over the step in place of f_int(u_θ): at θ = 1/2 energy and both
    momenta are then conserved for any rotation and strain (the energy–momentum scheme), above it the bulk dissipates
    energy. The same holds for neo-Hookean parts; with plastic flow, the work of the mean force beyond storage and
    dissipation is `scheme`, of order 2 at θ = 1/2. Each step is solved by Newton's iterations (`NewtonStep`), with
    sub-steps where they fail (`CutBackStepper`).

    >>> import arlequin as aq
    >>> mass = aq.PointMasses("mass", 0.0, 1.0)  # m, kg
    >>> spring = aq.Spring("spring", mass.boundary("all"), stiffness=1.0)  # N/m: ω = 1 rad/s
    >>> system = aq.System([mass], springs=[spring], velocity=1.0)  # m/s
    >>> def energy(scheme):
    ...     found = aq.simulate(system, scheme, duration=3.0, step=1.0)["energy"]  # J
    ...     return found.sel(kind=["kinetic", "strain"]).sum("kind").values.round(9).tolist()
    >>> energy(aq.Theta(0.5)), energy(aq.Theta(1.0))  # constant; divided by 1 + ω²Δt² in each step
    ([0.5, 0.5, 0.5, 0.5], [0.5, 0.25, 0.125, 0.0625])

    Source: Simo & Tarnow, ZAMP 43 (1992) 757–792; Jean, Comput. Methods Appl. Mech. Eng. 177 (1999) 235–257.
    """

    theta: float = 0.5
    events: Literal["step", "locate"] = "step"
    solver: SolverName = "auto"

    def __post_init__(self) -> None:
        within("theta", self.theta, 0.5, 1.0)
        one_of("events", self.events, ("step", "locate"))
        checked_solver(self.solver)
        if self.events == "locate" and self.theta != 0.5:
            raise UserError.parameter("theta", self.theta, 'must be 0.5 with events="locate"')

    @property
    def order(self) -> int:
        return 4 if self.events == "locate" else super().order

    @property
    def frequency_error(self) -> float:
        """0 with located events, whose motion is exact."""
        return 0.0 if self.events == "locate" else super().frequency_error

    def coefficients(self, step: float) -> StepCoefficients:
        """The coefficients for a step Δt, s, without events."""
        return StepCoefficients.of_theta(self.theta, step)

    def prepare(self, assembly: Assembly, step: float) -> Stepper:
        """The stepper that suits the system, with located events or by `OneStep`."""
        if self.events == "step":
            return super().prepare(assembly, step)
        unworn_only(assembly, 'Theta(events="locate")')
        turns = any(part.rotating for part in assembly.parts)
        return (LocatedRigidStepper if turns else LocatedThetaStepper)(assembly, step)

    def prepare_ensemble(self, members: Members, step: float) -> Stepper:
        """The stepper of the members of an ensemble."""
        return super().prepare_ensemble(members, step) if self.events == "step" else MembersApart(self, members, step)
