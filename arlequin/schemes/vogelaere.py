"""De Vogelaere's scheme: explicit, order 4."""

from dataclasses import dataclass

import numpy as np

from arlequin.assembly import Assembly
from arlequin.schemes.explicit import ExplicitStepper, ExplicitSystem, Outcome, check_step
from arlequin.schemes.scheme import State
from arlequin.schemes.symplectic import Springs
from models.types import Array


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

    @property
    def order(self) -> int:
        return 4

    @property
    def static(self) -> bool:
        return False

    def prepare(self, assembly: Assembly, step: float) -> ExplicitStepper:
        system = ExplicitSystem(assembly, step)
        check_step(step, stable_step(*system.spectrum()), "De Vogelaere's scheme")
        return ExplicitStepper(system, _Vogelaere())


def growth(square: float, decay: float) -> float:
    """Spectral radius of a step of ÿ + decay ẏ + square y = 0 with Δt = 1."""
    columns = []
    for u, v, half, whole in np.eye(4):  # and a_−½, a_−1
        a = -square * u - decay * v
        u_half = u + 0.5 * v + (4.0 * a - half) / 24.0
        a_half = -square * u_half - decay * (v + (23.0 * a - 16.0 * half + 5.0 * whole) / 24.0)
        end = u + v + (a + 2.0 * a_half) / 6.0
        last = -square * end - decay * (v + (half - 2.0 * a + 7.0 * a_half) / 6.0)
        columns.append((end, v + (a + 4.0 * a_half + last) / 6.0, a_half, a))
    return float(np.abs(np.linalg.eigvals(np.transpose(columns))).max())


def stable_step(square: float, decay: float) -> float:
    """The largest step, s, up to which nothing grows, for eigenvalues of M⁻¹K and M⁻¹D up to these."""
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
class _Carried(Springs):
    """past (2, d): accelerations one step and half a step ago; begun: whether they are known."""

    past: Array
    begun: bool


class _Vogelaere:
    refusal = "the motion is no longer finite: try a smaller step"

    def begin(self, system: ExplicitSystem, u: Array, v: Array) -> _Carried:
        loose = Springs.loose(system)
        return _Carried(loose.held, loose.radius, np.zeros((2, u.size)), False)

    def take(self, system: ExplicitSystem, state: State, count: int) -> Outcome:
        from arlequin.schemes._explicit_kernels import vogelaere_block

        laws, own, out = system.assembly.laws, state.own, Outcome.room(system.assembly, count)
        halves = np.arange(2 * state.n, 2 * (state.n + count) + 1, dtype=float)
        loads = system.assembly.loads(0.5 * system.step * halves)
        u, v, held, radius, past = (np.array(x) for x in (state.u, state.v, own.held, own.radius, own.past))
        taken = vogelaere_block(
            count, system.step, system.arrays, loads, own.begun, system.damped, u, v, held, radius,
            np.zeros(laws.row_count), np.zeros(laws.count, dtype=np.int8), past, out.u, out.v, out.push,
            out.impulse, out.status, out.held, out.works,
            out.rubbed,
        )  # fmt: skip
        return out.first(taken, _Carried(held, radius, past, True))
