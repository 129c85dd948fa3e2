"""De Vogelaere's scheme of small systems under regular laws, of order 4."""

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
class DeVogelaere:
    """For small systems under regular laws; two evaluations of the forces a step (three where velocities enter):

        u_½ = u₀ + ½ Δt v₀ + Δt²/24 (4 a₀ − a_−½)
        u₁ = u₀ + Δt v₀ + Δt²/6 (a₀ + 2 a_½),   v₁ = v₀ + Δt/6 (a₀ + 4 a_½ + a₁)

    Velocities that enter forces are predicted by Adams' formulas of order 3 from the same accelerations. Order 4 in
    smooth motion; where contact opens or friction slips within a step, less. Stable up to a step found from the linear
    system with all points in contact (Δt < 2√2/ω without damping).

    Source: de Vogelaere, J. Res. Nat. Bur. Stand. 54 (1955) 119–125; Code_Aster R5.06.04.
    """

    order = 4
    static = False
    past = 2  # previous accelerations that a step needs

    def prepare(self, assembly: Assembly, step: float) -> ExplicitStepper:
        system = ExplicitSystem(assembly, step)
        check_step(step, stable_step(*system.spectrum()), "De Vogelaere's scheme")
        return VogelaereStepper(system)


def growth(square: float, decay: float) -> float:
    """Spectral radius of a step of ÿ + decay ẏ + square y = 0 with Δt = 1."""
    columns = []
    for u, v, a_minus_half, a_minus_one in np.eye(4):
        a = -square * u - decay * v
        u_half = u + 0.5 * v + (4.0 * a - a_minus_half) / 24.0
        a_half = -square * u_half - decay * (v + (23.0 * a - 16.0 * a_minus_half + 5.0 * a_minus_one) / 24.0)
        end = u + v + (a + 2.0 * a_half) / 6.0
        last = -square * end - decay * (v + (a_minus_half - 2.0 * a + 7.0 * a_half) / 6.0)
        columns.append((end, v + (a + 4.0 * a_half + last) / 6.0, a_half, a))
    return float(np.abs(np.linalg.eigvals(np.transpose(columns))).max())


def stable_step(square: float, decay: float) -> float:
    """The largest stable step, s, for eigenvalues of M⁻¹K up to `square` and of M⁻¹D up to `decay`."""
    if square == 0.0 and decay == 0.0:
        return np.inf
    rate = max(np.sqrt(square), decay)

    def grows(step: float) -> bool:
        pairs = ((square, decay), (square, 0.0), (0.0, decay))
        return any(growth(k * step**2, c * step) > 1.0 + 1e-6 for k, c in pairs)

    low = 0.0
    for high in np.arange(0.05, 4.0, 0.05) / rate:
        if grows(high):
            break
        low = high
    for _ in range(30):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if grows(middle) else (middle, high)
    return float(low)


@dataclass(frozen=True)
class VogelaereState(SpringState):
    """past (2, d): accelerations one step and half a step ago, m/s²; begun: whether they are known."""

    past: Array
    begun: bool


class VogelaereStepper(ExplicitStepper):
    """Steps of `DeVogelaere`."""

    def begin(self, u: Array, v: Array, traction: Array) -> VogelaereState:
        springs = SpringState.of(self._system, traction)
        return VogelaereState(springs.traction, springs.radius, np.zeros((2, u.size)), False)

    def take(self, state: State, count: int) -> tuple[int, ExplicitSteps, VogelaereState]:
        from arlequin.schemes._explicit_kernels import vogelaere_steps

        scheme_state, system = state.scheme_state, self._system
        steps = ExplicitSteps.allocate(system.assembly, count)
        halves = np.arange(2 * state.n, 2 * (state.n + count) + 1, dtype=float)
        loads = system.assembly.loads(0.5 * system.step * halves)
        u, v, traction, radius, past = (
            np.array(x) for x in (state.u, state.v, scheme_state.traction, scheme_state.radius, scheme_state.past)
        )
        taken = vogelaere_steps(
            count, system.step, *system.arguments, loads, (scheme_state.begun, system.damped, past),
            (u, v, traction, radius), tuple(steps),
        )  # fmt: skip
        return taken, steps, VogelaereState(traction, radius, past, True)
