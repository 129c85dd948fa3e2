"""The contact problem of a step whose coefficients of friction depend on the state of sliding.

Friction over a step is that of one coefficient, μ̄ = μ(v̄, p̄, z), of the mean slip rate v̄ = ‖Δs‖/Δt, the mean pressure
p̄ = P_n/(hA) and the internal variables z and accumulated slip after Δt/2 of sliding at v̄: the midpoint rule, of order
2 where scheme and law are. Given coefficients, the problem is Coulomb's (`solve_contact`), for any normal laws,
pairing and solver; the coefficients are found around it,

    F(V) = v̄(μ(V)) − V = 0,

by Newton's method on the slip rates V at which they are taken, linearised on the statuses of the last solution
(`revise_rates`). A point that sticks at the end needs μ̄ at most at its threshold of stick, or at its law at v̄ if it
came to rest in the step; a point that slips needs μ̄ equal to its law to 1e-11, up to the round-off of the slip rate.
Otherwise the solution is not accepted.

Where μ falls with the slip rate faster than −μ′ P_n (τ/Δt) W_tt = 1 (τ as `gap_per_velocity`), a step has several
solutions: stick and slip, or two slips. The one that is taken continues the motion: a point that stuck at the start
sticks if it can; one that slipped starts from its slip rate, and where μ falls the iterates V ← v̄(μ(V)) converge
monotonically to the next solution, so that no solution in between is skipped.

Points whose law never sticks (`creeps`) have friction on the mean slip rate instead of that at the end: its sign is
then that of v̄ also where the rate falls by orders of magnitude within a step.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from arlequin.models.types import Array
from arlequin.multilevel.laws.friction import SlidingState
from arlequin.multilevel.solvers.contact import ContactSolution
from arlequin.multilevel.solvers.law_tables import PointLaws
from arlequin.multilevel.solvers.problem import FreeMotion


def may_branch(laws: PointLaws, normal: Array, response: Array, share: float) -> bool:
    """Whether a step may have several solutions: −μ′ P_n (τ/Δt) W_tt ≥ 1 at some slip rate of some point.

    normal (…, k): normal impulses, N·s; response (r,): W_ii; share: τ/Δt.
    """
    tangential = laws.first[:-1] + np.minimum(np.diff(laws.first), 2) - 1
    return bool((laws.steepest_fall * normal * share * response[tangential] >= 1.0).any())


@dataclass(frozen=True)
class SlidingStep:
    """Sliding of k points in a step.

    start: state at the start, with the slip rates there and the pressures of the last step; slip_free (r,), m: slips of
    the step without impulses. Δt and θ are those of the motion, Δt infinite in statics, where slip rates are 0.
    """

    laws: PointLaws
    start: SlidingState
    slip_free: Array

    def solve(
        self,
        solve: Callable[[PointLaws, Array], ContactSolution],
        motion: FreeMotion,
        history: Array,
        closing: Array,
        guess: Array,
    ) -> ContactSolution:
        """The solution with coefficients of the laws; solve(laws, guess): that with the coefficients of `laws`.

        motion, history, closing and the first guess: see `solve_contact`.
        """
        from arlequin.multilevel.solvers._kernels import KRYLOV_FROM
        from arlequin.multilevel.solvers._sliding_kernels import (
            ACCEPTED,
            PASSES,
            SETTLED,
            STALLED,
            friction_error,
            keep_sticking,
            mean_rates,
            relax,
            revise_rates,
        )

        laws, start = self.laws, self.start
        static = not np.isfinite(motion.step)
        step = 1.0 if static else motion.step
        slides, share = laws.slides, 1.0 if static else 0.5  # of the step, at whose end or middle the laws are taken
        at = np.where(start.stuck, 0.0, start.slip_rate)
        rate, noise, mean = np.zeros(laws.count), np.zeros(laws.count), np.zeros(laws.row_count)
        pressure, no_stick = start.pressure, np.zeros(laws.count, dtype=bool)

        def coefficients(rate: Array, stuck: NDArray[np.bool_], share: float) -> Array:
            state = replace(start, slip_rate=0.0 * rate if static else rate, pressure=pressure, stuck=stuck)
            return laws.coefficients_after(state, share * step * rate, share * step)

        threshold = coefficients(np.zeros(laws.count), start.stuck, 0.0)
        friction = np.where(start.stuck & slides, threshold, coefficients(at, no_stick, share))
        iterative = laws.row_count > KRYLOV_FROM
        rounded = np.empty((laws.row_count, laws.row_count), dtype=np.float32) if iterative else None
        free = (
            np.ascontiguousarray(motion.delassus), motion.gap_per_velocity, motion.gap_free, motion.rate_free,
            motion.closed, motion.step, motion.theta, motion.impulse_factor,
        )  # fmt: skip
        closing = np.ascontiguousarray(closing)
        iterations, best, stalled = 0, np.inf, 0
        for attempt in range(PASSES):
            solution = solve(laws.with_friction(friction), guess)
            iterations += solution.iterations
            if solution.singular or not solution.residual < np.inf:
                break
            change = motion.delassus @ solution.impulse
            mean_rates(laws.first, self.slip_free, motion.gap_per_velocity, step, change, mean, rate, noise)
            pressure = np.maximum(solution.impulse[laws.first[:-1]], 0.0) / (motion.impulse_factor * laws.area)
            bounds = np.maximum(rate - noise, 0.0), rate + noise
            low, high = (coefficients(bound, no_stick, share) for bound in bounds)
            threshold = np.maximum(coefficients(np.zeros(laws.count), start.stuck, 0.0), np.maximum(low, high))
            error = friction_error(friction, low, high, threshold, solution.status)
            stalled = 0 if error < 0.5 * best else stalled + 1
            best = min(best, error)
            if error <= SETTLED or (error <= ACCEPTED and stalled >= STALLED):
                break
            shifted, unshifted = (coefficients(at * factor, no_stick, share) for factor in (1.0 + 1e-6, 1.0))
            slope = np.divide(shifted - unshifted, 1e-6 * at, out=np.zeros_like(at), where=at > 0.0)
            table, kernels = laws.with_friction(friction).table(laws.tangential_compliance)
            before = at.copy()
            revise_rates(
                free, table, kernels, history, closing, solution.impulse, history.copy(), solution.status, rate, mean,
                at, slope, threshold, motion.gap_per_velocity / step, rounded,
            )  # fmt: skip
            relax(attempt, before, at)
            friction = friction.copy()  # the solution has those of before
            keep_sticking(solution.status, threshold, coefficients(at, no_stick, share), friction)
            guess = solution.impulse
        else:
            solution = replace(solution, residual=max(solution.residual, best))
        return replace(solution, iterations=iterations)
