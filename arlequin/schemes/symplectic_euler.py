"""Symplectic Euler of small systems under regular laws, of order 1."""

from dataclasses import dataclass

import numpy as np

from arlequin.models.signatures import checked_call
from arlequin.models.types import Array
from arlequin.schemes.explicit import ExplicitStepper, ExplicitSystem, SpringState, check_step
from arlequin.schemes.loop_data import ExplicitSteps
from arlequin.step.state import State
from arlequin.system.assembly import Assembly


@checked_call
@dataclass(frozen=True)
class SymplecticEuler:
    """For small systems under regular laws (masses, modes; shock elements):

        v₁ = v₀ + Δt M⁻¹ F(t₀, u₀, v₀),   u₁ = u₀ + Δt v₁

    Order 1, stable for ω²Δt² + 2δΔt < 4 (δ: the largest eigenvalue of M⁻¹D). Springs of friction follow the path and
    return to their disk at the end of each step.

    Source: Code_Aster R5.06.04 (its scheme EULER on modal coordinates).
    """

    order = 1
    static = False
    frequency_error = -1.0 / 12.0  # the displacements are those of central differences

    def prepare(self, assembly: Assembly, step: float) -> ExplicitStepper:
        system = ExplicitSystem(assembly, step)
        square, decay = system.spectrum()
        root = decay + np.sqrt(decay**2 + 4.0 * square)
        check_step(step, 4.0 / root if root > 0.0 else np.inf, "symplectic Euler")
        return EulerStepper(system)


class EulerStepper(ExplicitStepper):
    """Steps of `SymplecticEuler`."""

    def begin(self, u: Array, v: Array, traction: Array) -> SpringState:
        return SpringState.of(self._system, traction)

    def take(self, state: State, count: int) -> tuple[int, ExplicitSteps, SpringState]:
        from arlequin.schemes._explicit_kernels import euler_steps

        system = self._system
        steps = ExplicitSteps.allocate(system.assembly, count)
        loads = system.assembly.loads(system.step * np.arange(state.n, state.n + count, dtype=float))
        u, v, traction, radius = (
            np.array(x) for x in (state.u, state.v, state.scheme_state.traction, state.scheme_state.radius)
        )
        taken = euler_steps(
            count, system.step, *system.arguments, loads, (u, v, traction, radius), tuple(steps)
        )  # fmt: skip
        return taken, steps, SpringState(traction, radius)
