"""Adaptive Runge–Kutta: explicit, order 8, sub-steps by error."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from arlequin.models.checks import within
from arlequin.models.errors import UserError
from arlequin.models.linalg.rows import row_products
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array
from arlequin.schemes.explicit import ExplicitStepper, ExplicitSystem
from arlequin.schemes.loop_data import ExplicitSteps
from arlequin.step.state import State
from arlequin.system.assembly import Assembly

DEGREE = 8  # of loads within a step


@checked_call
@dataclass(frozen=True)
class RungeKutta:
    """For small systems under regular laws: Dormand and Prince's pair of order 8 (SciPy's DOP853) within each step.

    Sub-steps keep the estimated error of every displacement, velocity and spring's traction below `tolerance` of its
    size; they end where friction starts to slip or to stick, or contact of a point with friction opens or closes,
    located to 1e-12 of the step; between, with the traction t of a spring, t = R d, R = μp,

        stick ṫ = −K_T v_t;      slip ṫ = −K_T (v_t + λ d),   λ = −v_t·d − Ṙ/K_T ≥ 0;

    beside a dashpot t is the point of the disk next to s − C_T v_t, and ṡ = −K_T (s − t)/C_T, stick or slip.

    Δt is where results are recorded; a spell of contact or slip that starts and ends within a sub-step can be missed:
    keep it below the shortest. Loads that vary follow a polynomial of degree 8 in each step, and are refused where it
    does not meet the tolerance.

    Source: Hairer, Nørsett & Wanner, Solving Ordinary Differential Equations I, Springer (1993) §II.5, §II.10.
    """

    tolerance: float = 1e-8

    def __post_init__(self) -> None:
        within("tolerance", self.tolerance, 1e-13, 1e-2)

    order = 8
    static = False

    def prepare(self, assembly: Assembly, step: float) -> ExplicitStepper:
        return AdaptiveStepper(ExplicitSystem(assembly, step), self.tolerance)


@dataclass(frozen=True)
class AdaptiveState:
    """traction (r,): of friction's springs, Pa; lost: dissipation of the layers, J; mode (k,) of the points; largest
    (y,): largest absolute values so far; sub_step, s."""

    traction: Array
    lost: float
    mode: Any
    largest: Array
    sub_step: float


class AdaptiveStepper(ExplicitStepper):
    """Steps of `RungeKutta`."""

    refusal = "the tolerance is not met with 100,000 sub-steps: try a smaller step or a larger tolerance"

    def __init__(self, system: ExplicitSystem, tolerance: float) -> None:
        super().__init__(system)
        self.tolerance = tolerance

    def begin(self, u: Array, v: Array, traction: Array) -> AdaptiveState:
        system = self._system
        laws = system.assembly.laws
        gaps, rates = system.kinematics.gaps(system.kinematics.basis @ u), system.kinematics.rates(v)[laws.first[:-1]]
        pressing = laws.pressure(gaps) > 0.0
        for k, point_laws in enumerate(laws.regular):
            at = gaps[k : k + 1], rates[k : k + 1]
            pressing[k] = sum(law.pressure(at[0])[0] + law.damping_pressure(*at)[0] for law in point_laws) > 0.0
        mode = np.where(pressing & (laws.friction > 0.0), 2, 0).astype(np.int8)
        largest = np.abs(np.concatenate([u, v, traction, np.zeros(1)]))
        return AdaptiveState(traction, 0.0, mode, largest, 1e-3 * system.step)

    def take(self, state: State, count: int) -> tuple[int, ExplicitSteps, AdaptiveState]:
        from scipy.integrate import DOP853

        from arlequin.schemes._explicit_kernels import adaptive_steps

        system, size, scheme_state = self._system, state.u.size, state.scheme_state
        steps = ExplicitSteps.allocate(system.assembly, count)
        y = np.concatenate([state.u, state.v, scheme_state.traction, [scheme_state.lost]])
        mode, largest, ends = scheme_state.mode.copy(), scheme_state.largest.copy(), np.zeros((count, y.size))
        tableau = tuple(np.ascontiguousarray(x) for x in (DOP853.A, DOP853.B, DOP853.C, DOP853.E3, DOP853.E5))
        taken, sub_step = adaptive_steps(
            count, system.step, (self.tolerance, scheme_state.sub_step, tableau), *system.arguments,
            self._polynomials(state.n, count), (y, mode, largest), tuple(steps), ends,
        )  # fmt: skip
        u, v, traction = (np.ascontiguousarray(x) for x in np.split(ends[:, :-1], (size, 2 * size), axis=1))
        end_state = AdaptiveState(y[2 * size : -1], float(y[-1]), mode, largest, sub_step)
        return taken, steps._replace(u=u, v=v, traction=traction), end_state

    def _polynomials(self, n: int, count: int) -> Array:
        """Loads in each step by powers of x ∈ [−1, 1], highest first (b, p, d)."""
        assembly, step = self._system.assembly, self.step
        if all(part.steady for part in assembly.parts) and not callable(assembly.system.gravity):
            return np.repeat(assembly.loads(np.zeros(1))[None], count, axis=0)
        nodes, to_powers, to_highest = _interpolation()
        shared = np.concatenate([np.add.outer(np.arange(n, n + count), 0.5 + 0.5 * nodes[:-1]).ravel(), [n + count]])
        values = assembly.loads(step * shared)
        at = DEGREE * np.arange(count)[:, None] + np.arange(DEGREE + 1)
        each = values[at]
        rows = each.transpose(0, 2, 1)
        rest, scale = np.abs(np.vecdot(rows, to_highest)), np.abs(values).max(axis=0)
        if (rest > 10.0 * self.tolerance * scale).any():
            raise UserError.parameter("step", step, "is too long for the loads and the tolerance: they vary within it")
        return np.ascontiguousarray(
            row_products(rows.reshape(-1, DEGREE + 1), to_powers.T).reshape(rows.shape).transpose(0, 2, 1)
        )


@lru_cache(maxsize=1)
def _interpolation() -> tuple[Array, Array, Array]:
    """Chebyshev points (p,), the maps from values there to coefficients of powers, highest first, and to the highest
    Chebyshev coefficient."""
    nodes = -np.cos(np.pi * np.arange(DEGREE + 1) / DEGREE)
    highest = np.linalg.inv(np.polynomial.chebyshev.chebvander(nodes, DEGREE))[-1]
    return nodes, np.linalg.inv(np.vander(nodes)), highest
