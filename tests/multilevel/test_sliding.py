"""Contact problems whose coefficients of friction depend on the state: random starts, certificates, branches."""

from typing import Any

import numpy as np
import pytest

import arlequin as aq
from arlequin.models.types import Array
from arlequin.multilevel.laws.friction import SlidingState
from arlequin.multilevel.laws.unilateral import Unilateral
from arlequin.multilevel.solvers.contact import SLIP, solve_contact
from arlequin.multilevel.solvers.law_tables import PointLaws
from arlequin.multilevel.solvers.problem import FreeMotion
from arlequin.multilevel.solvers.sliding import SlidingStep

pytestmark = pytest.mark.kernels

STEP = 1e-3
LAWS = (
    aq.StaticDynamic(0.5, 0.2),
    aq.StaticDynamic(0.5, 0.2, slip_distance=1e-3),
    aq.StaticDynamic(0.5, 0.2, velocity=0.3),
    aq.Stribeck(0.6, 0.1, 0.2, 2.0, 0.05),
    aq.VelocityFriction([0.0, 0.1, 0.5, 2.0], [0.3, 0.1, 0.4, 0.2]),
    aq.VelocityFriction([0.0, 1.0], [0.0, 0.8]),
    aq.PressureFriction([0.0, 1e3, 1e4], [0.5, 0.4, 0.25]),
    aq.RateAndState(0.4, 0.01, 0.015, 1e-3, 1e-2),
    aq.RateAndState(0.4, 0.02, 0.015, 1e-3, 1e-2, law="slip"),
    aq.Coulomb(0.3),
)


def solve(laws: PointLaws, delassus: Array, rate: Array, start: SlidingState, gap: Array) -> Any:
    """The step at θ = 1/2 with the rates without impulses (r,): half of the change of a rate counts in the slip."""
    motion = FreeMotion(delassus, 0.5 * STEP, gap, rate, gap <= 0.0, STEP, 0.5, STEP)
    history, slip_free = laws.start_history(gap), 0.5 * STEP * (rate + rate)

    def fixed(own: PointLaws, guess: Array) -> Any:
        return solve_contact(own, motion, history, guess)

    own = SlidingStep(laws, start, slip_free)
    found = own.solve(fixed, motion, history, np.zeros((3, rate.size)), np.zeros(rate.size))
    return found, slip_free + 0.5 * STEP * delassus @ found.impulse


def certificate(
    laws: PointLaws, delassus: Array, rate: Array, start: SlidingState, gap: Array, found: Any, slip: Array
) -> float:
    """Largest violation of complementarity, of the friction disk and of the laws, written point by point, relative to
    the impulses; the law of each point on its own."""
    after, worst = rate + delassus @ found.impulse, 0.0
    size = np.abs(found.impulse).max(initial=1e-300)
    for k, law in enumerate(laws.friction_laws):
        n, end = laws.first[k], laws.first[k + 1]
        push, pull, w = found.impulse[n], found.impulse[n + 1 : end], np.diag(delassus)[n:end]
        worst = max(worst, -push, -after[n] * (gap[k] <= 0.0) / w[0] - 1e-9 * size, push if gap[k] > 0.0 else 0.0)
        worst = max(worst, min(push, abs(after[n]) / w[0]))
        if push <= 0.0:
            continue
        sliding = np.linalg.norm(slip[n + 1 : end])
        state = SlidingState(
            np.array([push / STEP]), np.array([sliding / STEP]), start.slip[k : k + 1] + 0.5 * sliding,
            start.variables[k : k + 1], np.array([False]),
        )  # fmt: skip
        ratio = np.linalg.norm(pull) / push
        if found.status[k] == SLIP:
            moved = SlidingState(
                state.pressure, state.slip_rate, state.slip,
                np.asarray(law.advance(state, np.array([0.5 * sliding]), 0.5 * STEP)), state.stuck,
            )  # fmt: skip
            mu = float(law.mu(moved)[0])
            worst = max(worst, abs(ratio - mu) * push, pull @ after[n + 1 : end] / np.linalg.norm(after[n + 1 : end]))
        else:
            rest = SlidingState(
                state.pressure, np.zeros(1), start.slip[k : k + 1], start.variables[k : k + 1],
                start.stuck[k : k + 1],
            )  # fmt: skip
            threshold = float(law.mu(rest)[0])
            if sliding > 1e-12:  # came to rest in the step
                threshold = max(threshold, float(law.mu(state)[0]))
            worst = max(worst, (ratio - threshold) * push)
            worst = max(worst, np.abs(after[n + 1 : end]).max() / w[1])
    return worst / size


@pytest.mark.kernels(slow=True)
@pytest.mark.parametrize("problems", [100, pytest.param(1000, marks=pytest.mark.slow)])
def test_random_starts_end(problems: int) -> None:
    """Problems of 1 to 6 points in 2D and 3D with mixed laws, weakening ones included: each is solved, certified
    by equations of its own, or refused by its residual; none cycles, and refusals are rare."""
    rng = np.random.default_rng(7)
    refused = 0
    for _ in range(problems):
        count, axes = int(rng.integers(1, 7)), int(rng.integers(2, 4))
        own = [LAWS[i] for i in rng.integers(len(LAWS), size=count)]
        own = [law if not getattr(law, "creeps", False) else LAWS[3] for law in own]
        laws = PointLaws.gather([(Unilateral(),)] * count, np.ones(count), own, axes)
        rows = laws.row_count
        q, _ = np.linalg.qr(rng.standard_normal((rows, rows)))
        delassus = (q * np.geomspace(1.0 / rng.uniform(2.0, 50.0), 1.0, rows)) @ q.T
        delassus = np.ascontiguousarray(0.5 * (delassus + delassus.T))
        rate = rng.standard_normal(rows) * 10.0 ** rng.uniform(-2.0, 1.0)
        rate[laws.first[:-1]] -= np.abs(rate).max()
        gap = np.where(rng.random(count) < 0.2, 1.0, -1e-9)
        stuck = rng.random(count) < 0.4
        start = SlidingState(
            np.abs(rng.standard_normal(count)) * 1e3, np.where(stuck, 0.0, np.abs(rng.standard_normal(count))),
            np.zeros(count), np.zeros((count, 2)), stuck,
        )  # fmt: skip
        found, slip = solve(laws, delassus, rate, start, gap)
        if found.residual <= 1e-10:
            assert certificate(laws, delassus, rate, start, gap, found, slip) < 1e-8
        else:
            refused += 1
    assert refused <= problems // 100
