"""One time or load step: its right-hand side, solution and contact problem; the step of a linear bulk."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from arlequin.linalg.compliance import ComplianceOperator
from arlequin.models.types import Array
from arlequin.multilevel.laws.wear import WearState
from arlequin.solvers.condensed import ConstrainedSystem
from arlequin.solvers.contact_step import ContactMotion, ContactStep, solve_contact_step
from arlequin.solvers.solver_choice import SolverName, linear_system
from arlequin.step.coefficients import StepCoefficients
from arlequin.step.state import State
from arlequin.system.assembly import Assembly
from arlequin.system.contact import Contact


@dataclass(frozen=True)
class StepRhs:
    """Right-hand side of a step.

    momentum (d,), N·s: all terms but the force (d,), N, from which the resisting forces are subtracted;
    constraint_rate (m,): C y; imposed (p,): y on the imposed dofs; t (s): end of the step; shift (d,): u₁ − u₀ − Δt y.
    """

    momentum: Array | float
    force: Array | float
    constraint_rate: Array
    imposed: Array | None
    t: float
    shift: Array | None = None


@dataclass(frozen=True)
class StepStart:
    """Reduced state at the start of a step.

    contact_displacement (m), contact_velocity (m/s): of the rows of the contact's basis (q,); internal (d,), N:
    resisting forces besides A y: the internal force at u₀, and other terms of the scheme at the start; history of the
    laws; impulse (r,): last contact impulses, N·s; worn, persistence (k,): see `State.worn` and `State.contact_flags`.
    """

    contact_displacement: Array
    contact_velocity: Array
    internal: Array
    history: Array
    impulse: Array
    worn: WearState | None = None
    persistence: NDArray[np.int8] | None = None

    @classmethod
    def of(cls, state: State, contact: Contact) -> Self:
        """The start of the step from a state."""
        u, v = contact.basis_product(state.u), contact.basis_product(state.v)
        return cls(u, v, state.internal, state.history, state.impulse, state.worn, state.contact_flags)


@dataclass(frozen=True)
class StepSolution:
    """Solution of a step: y (d,), m/s; impulses of the constraints (m,) and of contact, N·s.

    newton: linear systems solved; rigid (k,): impulses of the rigidity constraints, N·s.
    """

    y: Array
    multipliers: Array
    contact: ContactStep
    newton: int
    rigid: Array


@dataclass(frozen=True)
class Resistance:
    """Mean forces (d,) of the bulk, N; viscous: the part of the damping that is not linear in the velocity, if any."""

    internal: Array
    damping: Array
    viscous: Array | None = None


def contact_step(
    coefficients: StepCoefficients,
    contact: Contact,
    compliance: ComplianceOperator,
    start: StepStart,
    rows: Array,
    guess: Array,
    shift: Array | None = None,
    search_displacement: Array | None = None,
    repeated: bool = False,
) -> ContactStep:
    """The contact problem of a step; rows, shift (q,): y without contact impulses, and u₁ − u₀ − Δt y, on the basis;
    search_displacement (q,), repeated: see `solve_contact_step`."""
    step, weight = coefficients.step, coefficients.weight
    return solve_contact_step(
        contact,
        compliance,
        ContactMotion.of(start.contact_displacement, start.contact_velocity, rows, weight, step, shift),
        gap_per_velocity=coefficients.gap_per_velocity,
        step=step,
        theta=coefficients.theta,
        history=start.history,
        worn=start.worn,
        guess=guess,
        persistence=start.persistence,
        scale=coefficients.inertia,
        static=coefficients.static,
        search_displacement=search_displacement,
        repeated=repeated,
    )


class LinearStep:
    """The step of a linear bulk, solved at once: p, f_ext of `StepRhs`, f_int of `StepStart`,

    A y = p + h (f_ext − f_int) + λμ (Cᵀφ + BᵀP).
    """

    def __init__(self, assembly: Assembly, coefficients: StepCoefficients, solver: SolverName = "auto") -> None:
        self._assembly, self._coefficients = assembly, coefficients
        self._condensed, self.solver = linear_system(assembly, coefficients.matrix(assembly), solver)

    @property
    def condensed(self) -> ConstrainedSystem:
        """The matrix of the step with its solver."""
        return self._condensed

    def state_dict(self) -> None:
        """Nothing: the solution of a step does not depend on earlier ones."""

    def load_state_dict(self, state: None) -> None:
        """Restore from `state_dict()`."""

    def solve(self, start: StepStart, rhs: StepRhs) -> StepSolution:
        """The solution of the step from the reduced state."""
        coefficients, contact = self._coefficients, self._assembly.contact
        momentum = rhs.momentum + coefficients.force * (rhs.force - start.internal)
        shift = None if rhs.shift is None else contact.basis @ rhs.shift
        compliance = self._condensed.compliance

        def impulses(rows: Array, last_solution: ContactStep | None) -> tuple[ContactStep, Array, Any]:
            guess = start.impulse if last_solution is None else last_solution.solution.impulse
            contact_solution = contact_step(coefficients, contact, compliance, start, rows, guess, shift)
            return contact_solution, coefficients.impulse * contact_solution.impulse, contact_solution.held_rows

        y, multipliers, contact_solution = self._condensed.solve(momentum, rhs.constraint_rate, rhs.imposed, impulses)
        return StepSolution(y, multipliers / coefficients.impulse, contact_solution, 1, np.zeros(0))
