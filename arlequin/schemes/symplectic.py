"""Symplectic Euler: explicit, order 1."""

from dataclasses import dataclass

import numpy as np

from arlequin.assembly import Assembly
from arlequin.schemes.explicit import ExplicitStepper, ExplicitSystem, Outcome, check_step
from arlequin.schemes.scheme import State
from models.types import Array


@dataclass(frozen=True)
class SymplecticEuler:
    """For small systems under regular laws (masses, modes; shock elements):

        v₁ = v₀ + Δt M⁻¹ F(t₀, u₀, v₀),   u₁ = u₀ + Δt v₁

    Order 1, stable for ω²Δt² + 2δΔt < 4 (δ: the largest eigenvalue of M⁻¹D). Springs of friction follow the path and
    return to their disk at the end of each step.

    Source: Code_Aster R5.06.04 (its scheme EULER on modal coordinates).
    """

    @property
    def order(self) -> int:
        return 1

    @property
    def static(self) -> bool:
        return False

    def prepare(self, assembly: Assembly, step: float) -> ExplicitStepper:
        system = ExplicitSystem(assembly, step)
        square, decay = system.spectrum()
        root = decay + np.sqrt(decay**2 + 4.0 * square)
        check_step(step, 4.0 / root if root > 0.0 else np.inf, "symplectic Euler")
        return ExplicitStepper(system, _Euler())


@dataclass(frozen=True)
class Springs:
    """Springs of friction: tractions (r,), Pa; radius (k,) of their disks."""

    held: Array
    radius: Array

    @classmethod
    def loose(cls, system: ExplicitSystem) -> "Springs":
        """Without load."""
        laws = system.assembly.laws
        return cls(np.zeros(laws.row_count), np.zeros(laws.count))


class _Euler:
    refusal = "the motion is no longer finite: try a smaller step"

    def begin(self, system: ExplicitSystem, u: Array, v: Array) -> Springs:
        return Springs.loose(system)

    def take(self, system: ExplicitSystem, state: State, count: int) -> Outcome:
        from arlequin.schemes._explicit_kernels import euler_block

        laws, out = system.assembly.laws, Outcome.room(system.assembly, count)
        loads = system.assembly.loads(system.step * np.arange(state.n, state.n + count, dtype=float))
        u, v, held, radius = (np.array(x) for x in (state.u, state.v, state.own.held, state.own.radius))
        taken = euler_block(
            count, system.step, system.arrays, loads, u, v, held, radius, np.zeros(laws.row_count),
            np.zeros(laws.count, dtype=np.int8), out.u, out.v, out.push, out.impulse, out.status, out.held, out.works,
            out.rubbed,
        )  # fmt: skip
        return out.first(taken, Springs(held, radius))
