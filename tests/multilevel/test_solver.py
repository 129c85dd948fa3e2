"""The nonsmooth solver: its solutions satisfy the laws as written here, and match enumeration of active sets."""

from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from arlequin.models.types import Array
from arlequin.multilevel.laws.asperities import Asperities
from arlequin.multilevel.laws.penalty import Penalty, VelocityPenalty
from arlequin.multilevel.laws.unilateral import Unilateral
from arlequin.multilevel.solvers.contact import ContactSolution, solve_contact
from arlequin.multilevel.solvers.law_tables import PointLaws
from arlequin.multilevel.solvers.options import ContactMethod
from arlequin.multilevel.solvers.problem import FreeMotion

pytestmark = pytest.mark.kernels

STEP = 1e-6
GAUSS = np.polynomial.legendre.leggauss(12)

SOFT = Asperities(2e12, 1.0, 5e-4)
HARD = Asperities(5e15, 2.0, 5e-4)
LOSSY = Asperities(1e12, 1.0, 5e-4, damping=2e7)
BOTH = Asperities(5e15, 2.0, 4e-4, damping=2e9, damping_exponent=1.0, damping_acts="both")
MENU: tuple[tuple[Any, ...], ...] = (
    (Unilateral("gap"),),
    (Unilateral("velocity"),),
    (VelocityPenalty(4e9),),
    (VelocityPenalty(4e6, level="gap"),),
    (Penalty(1e14),),
    (HARD,),
    (SOFT, Unilateral("gap")),
    (HARD, Unilateral("velocity")),
    (LOSSY, Unilateral("velocity")),
    (BOTH,),
    (BOTH, Unilateral("velocity")),
    (SOFT, LOSSY, Unilateral("gap")),
    (LOSSY, VelocityPenalty(4e9)),
)


def random_delassus(rng: np.random.Generator, n: int, scale: float = 1e-2, condition: float = 1e3) -> Array:
    q, _ = np.linalg.qr(rng.standard_normal((n, n)))
    eigenvalues = scale * np.geomspace(1.0 / condition, 1.0, n)
    return np.ascontiguousarray((q * eigenvalues) @ q.T / 2 + ((q * eigenvalues) @ q.T).T / 2)


@dataclass(frozen=True)
class Problem:
    points: list[tuple[Any, ...]]
    area: Array
    delassus: Array
    gap: Array
    rate: Array
    closed: Any
    before: Array
    theta: float = 0.5
    gap_per_velocity: float = 0.5 * STEP
    factor: float = STEP

    @property
    def laws(self) -> PointLaws:
        return PointLaws.gather(self.points, self.area)

    def solve(self, guess: Array | None = None, **options: Any) -> ContactSolution:
        laws = self.laws
        limit = {"max_iterations": options.pop("max_iterations")} if "max_iterations" in options else {}
        guess = np.zeros(self.gap.size) if guess is None else guess
        history = laws.start_history(self.before)
        return solve_contact(laws, self.motion, history, guess, ContactMethod(**options), **limit)

    @property
    def motion(self) -> FreeMotion:
        return FreeMotion(
            self.delassus, self.gap_per_velocity, self.gap, self.rate, self.closed, STEP, self.theta, self.factor
        )


def random_problem(rng: np.random.Generator, n: int, menu: Any = MENU, theta: float = 0.5) -> Problem:
    rate = rng.uniform(-150.0, 50.0, n)
    before = rng.uniform(-2e-5, 6e-4, n)
    before[rng.random(n) < 0.5] *= 0.05
    return Problem(
        points=[menu[i] for i in rng.integers(len(menu), size=n)],
        area=rng.uniform(0.5e-6, 2e-6, n),
        delassus=random_delassus(rng, n, scale=10.0 ** rng.uniform(0.0, 3.0)),
        gap=before + 0.5 * STEP * rate + 0.5 * STEP * rng.uniform(-150.0, 50.0, n),
        rate=rate,
        closed=rng.random(n) < 0.6,
        before=before,
        theta=theta,
    )


def mean_over_path(law: Asperities, before: float, gap: float, exponent: float) -> float:
    """Mean of ⟨a − g⟩^m over the step's path, by Gauss points inside the layer (integer exponents)."""
    start, end = law.height - before, law.height - gap
    if start == end:
        return max(start, 0.0) ** exponent if start > 0.0 else 0.0
    low, high = max(min(start, end), 0.0), max(max(start, end), 0.0)
    x, w = GAUSS
    s = 0.5 * (low + high) + 0.5 * (high - low) * x
    return float(0.5 * (high - low) * (w @ s**exponent) / abs(end - start))


def traction(law: Asperities, before: float, gap: float, theta: float) -> tuple[float, float]:
    """Stored and lossy mean pressure of a step, as the class says."""
    mean = mean_over_path(law, before, gap, law.exponent)
    edge = max(law.height - gap, 0.0) ** law.exponent
    stored = law.stiffness * ((2.0 - 2.0 * theta) * mean + (2.0 * theta - 1.0) * edge)
    rate = (gap - before) / STEP
    loss = -law.damping * mean_over_path(law, before, gap, law.damping_exponent) * rate if law.damping else 0.0
    return stored, max(loss, 0.0 if law.damping_acts == "loading" else -stored)


def misfit(problem: Problem, solution: ContactSolution) -> float:
    """Largest violation of the laws and of complementarity, relative to the impulses of the step."""
    p, s = problem, solution
    gap = p.gap + p.gap_per_velocity * p.delassus @ s.impulse
    rate = p.rate + p.delassus @ s.impulse
    scale = max(np.abs(s.impulse).max(), (np.abs(p.rate) / np.diag(p.delassus)).max())
    worst = 0.0
    for k, laws in enumerate(p.points):
        parts = [traction(law, p.before[k], gap[k], p.theta) for law in laws if isinstance(law, Asperities)]
        stored, loss = (p.factor * p.area[k] * sum(x) for x in zip(*parts, strict=True)) if parts else (0.0, 0.0)
        worst = max(worst, abs(s.stored[k] - stored) / scale, abs(s.dissipated[k] - loss) / scale)
        multiplier = s.impulse[k] - stored - loss
        worst = max(worst, abs(multiplier - s.multiplier[k]) / scale)
        own = [law for law in laws if not isinstance(law, Asperities)]
        if not own or (own[0].level == "velocity" and not p.closed[k]):
            worst = max(worst, abs(multiplier) / scale)
            continue
        pressure = multiplier / (p.factor * p.area[k])
        if own[0].level == "gap":
            slack = (gap[k] + own[0].compliance * pressure) / (p.gap_per_velocity * p.delassus[k, k])
        else:
            slack = (rate[k] + own[0].compliance * pressure) / p.delassus[k, k]
        worst = max(worst, abs(min(multiplier, slack)) / scale, -min(multiplier, 0.0) / scale)
    return worst


def bits(solution: ContactSolution) -> tuple[Any, ...]:
    s = solution
    return (
        *(a.tobytes() for a in (s.impulse, s.stored, s.dissipated, s.multiplier, s.history)),
        s.iterations,
        s.residual,
    )


@pytest.mark.sampled(7)
@pytest.mark.parametrize("theta", [0.5, 0.7, 1.0])
@pytest.mark.parametrize("n", [1, 2, 5, 12])
def test_random_mixed_laws_are_satisfied(n: int, theta: float) -> None:
    rng = np.random.default_rng(n)
    for _ in range(25):
        problem = random_problem(rng, n, theta=theta)
        solution = problem.solve()
        assert solution.residual <= 1e-12
        assert misfit(problem, solution) <= 1e-10
        if solution.history.size:
            gap = problem.gap + problem.gap_per_velocity * problem.delassus @ solution.impulse
            expected = np.repeat(gap, np.diff(problem.laws.rows))
            assert solution.history[:, 0] == pytest.approx(expected, rel=1e-12, abs=1e-18)


def enumerate_lcp(matrix: Array, free: Array) -> Array:
    """The solution of 0 ≤ P ⊥ free + matrix P ≥ 0 by trying every active set."""
    n = free.size
    for choice in product((False, True), repeat=n):
        active = np.array(choice)
        impulse = np.zeros(n)
        impulse[active] = np.linalg.solve(matrix[np.ix_(active, active)], -free[active])
        if (impulse >= -1e-14 * np.abs(impulse).max(initial=0.0)).all() and (
            (free + matrix @ impulse)[~active] >= -1e-12 * np.abs(free).max()
        ).all():
            return impulse
    raise AssertionError("an LCP with a positive definite matrix has a solution")


@pytest.mark.parametrize("level", ["gap", "velocity"])
@pytest.mark.parametrize("viscosity", [None, 4e9])
def test_linear_complementarity_by_enumeration(level: Any, viscosity: float | None) -> None:
    rng = np.random.default_rng(7)
    law = Unilateral(level) if viscosity is None else VelocityPenalty(viscosity, level)
    for n in range(1, 7):
        for _ in range(15):
            problem = random_problem(rng, n, menu=((law,),))
            problem = replace(problem, closed=np.ones(n, dtype=bool))
            gap_per_velocity, free = (problem.gap_per_velocity, problem.gap) if level == "gap" else (1.0, problem.rate)
            soft = 0.0 if viscosity is None else 1.0 / (viscosity * problem.factor * problem.area)
            exact = enumerate_lcp(gap_per_velocity * problem.delassus + np.diag(soft * np.ones(n)), free)
            assert problem.solve().impulse == pytest.approx(
                exact, rel=1e-10, abs=1e-11 * np.abs(exact).max(initial=1e-30)
            )


@pytest.mark.kernels(slow=True)
def test_any_start_reaches_the_same_solution() -> None:
    """1,000 random first guesses: the problem is monotone, its solution is one."""
    rng = np.random.default_rng(3)
    for _ in range(10):
        problem = random_problem(rng, 5)
        first = problem.solve()
        scale = np.abs(first.impulse).max() + 1e-30
        for _ in range(100):
            guess = scale * 10.0 ** rng.uniform(-2.0, 2.0) * rng.standard_normal(5)
            other = problem.solve(guess)
            assert other.residual <= 1e-12
            assert other.impulse == pytest.approx(first.impulse, rel=1e-7, abs=1e-8 * scale)


def test_nothing_is_mutated_and_calls_repeat_bit_for_bit() -> None:
    rng = np.random.default_rng(11)
    for n in (1, 4):
        for _ in range(10):
            problem = random_problem(rng, n)
            laws, guess = problem.laws, rng.standard_normal(n)
            given = [
                problem.delassus,
                problem.gap,
                problem.rate,
                problem.closed,
                laws.start_history(problem.before),
                guess,
            ]
            copies = [a.copy() for a in given]
            tables = [
                laws.area.copy(),
                laws.rows.copy(),
                laws.coefficients.copy(),
                laws.level.copy(),
                laws.compliance.copy(),
            ]

            def call(laws=laws, given=given, problem=problem):  # type: ignore[no-untyped-def]
                w, gap, rate, closed, history, guess = given
                lever, theta, factor = problem.gap_per_velocity, problem.theta, problem.factor
                return solve_contact(laws, FreeMotion(w, lever, gap, rate, closed, STEP, theta, factor), history, guess)

            once = call()
            random_problem(rng, n).solve()
            assert bits(call()) == bits(once)
            for now, then in zip(given, copies, strict=True):
                assert now.tobytes() == then.tobytes()
            for now, then in zip(
                (laws.area, laws.rows, laws.coefficients, laws.level, laws.compliance), tables, strict=True
            ):
                assert now.tobytes() == then.tobytes()


def test_no_points() -> None:
    laws = PointLaws.gather([], np.zeros(0))
    none = np.zeros(0)
    motion = FreeMotion(np.zeros((0, 0)), 1.0, none, none, np.zeros(0, bool), STEP, 0.5, STEP)
    out = solve_contact(laws, motion, laws.start_history(none), none)
    assert out.impulse.size == 0
    assert out.residual == 0.0


def one_point(
    laws: tuple[Any, ...], rate: float, gap: float, before: float, closed: bool = True
) -> tuple[Problem, ContactSolution]:
    problem = Problem(
        [laws],
        np.array([1e-6]),
        np.array([[50.0]]),
        np.array([gap]),
        np.array([rate]),
        np.array([closed]),
        np.array([before]),
    )
    return problem, problem.solve()


def test_velocity_penalty_is_a_dashpot_in_loading() -> None:
    """P = h A κ ⟨−ġ⟩ with ġ = ġ_free + W P; no impulse while open or receding; κ → ∞ is the unilateral law."""
    kappa = 4e9
    _, closing = one_point((VelocityPenalty(kappa),), -30.0, -1e-6, 0.0)
    rate = -30.0 + 50.0 * closing.impulse[0]
    assert closing.impulse[0] == pytest.approx(STEP * 1e-6 * kappa * -rate, rel=1e-13)
    assert one_point((VelocityPenalty(kappa),), 30.0, -1e-6, 0.0)[1].impulse[0] == 0.0
    assert one_point((VelocityPenalty(kappa),), -30.0, 1e-6, 2e-6, closed=False)[1].impulse[0] == 0.0
    stiff = one_point((VelocityPenalty(1e20),), -30.0, -1e-6, 0.0)[1]
    hard = one_point((Unilateral(),), -30.0, -1e-6, 0.0)[1]
    assert hard.impulse[0] == pytest.approx(30.0 / 50.0, rel=1e-15)
    assert stiff.impulse[0] == pytest.approx(hard.impulse[0], rel=1e-6)


def test_asperities_and_velocity_penalty_add() -> None:
    """Both on one point: the sum of their forces, here with a linear layer in closed form."""
    kappa, viscosity = 1e12, 4e9
    problem, solution = one_point((Asperities(kappa, 1.0, 5e-4), VelocityPenalty(viscosity)), -90.0, 0.0, 4e-5)
    impulse = solution.impulse[0]
    gap = problem.gap_per_velocity * 50.0 * impulse
    layer = STEP * 1e-6 * kappa * (5e-4 - 0.5 * (4e-5 + gap))
    dashpot = STEP * 1e-6 * viscosity * (90.0 - 50.0 * impulse)
    assert layer > 0.0
    assert dashpot > 0.0
    assert impulse == pytest.approx(layer + dashpot, rel=1e-13)
    assert solution.multiplier[0] == pytest.approx(dashpot, rel=1e-12)


def test_multilevel_limits() -> None:
    """Asperities too soft to matter leave unilateral contact; while the multiplier is idle the layer acts alone."""
    hard = one_point((Unilateral("gap"),), -90.0, -1e-5, 4e-5)[1].impulse[0]
    soft = one_point((Asperities(1.0, 1.0, 5e-4), Unilateral("gap")), -90.0, -1e-5, 4e-5)[1].impulse[0]
    assert soft == pytest.approx(hard, rel=1e-9)
    alone = one_point((HARD,), -50.0, 3e-4, 3.5e-4)[1]
    with_contact = one_point((HARD, Unilateral("gap")), -50.0, 3e-4, 3.5e-4)[1]
    assert alone.impulse[0] > 0.0
    assert with_contact.impulse[0] == pytest.approx(alone.impulse[0], rel=1e-14)
    assert with_contact.multiplier[0] == pytest.approx(0.0, abs=1e-14 * alone.impulse[0])


def newton_statuses(matrix: Array, free: Array, most: int = 50) -> bool:
    """Whether Newton on all statuses at once (primal-dual active sets), from rest, repeats itself."""
    impulse = np.zeros(free.size)
    seen = set()
    for _ in range(most):
        active = impulse - (free + matrix @ impulse) / np.diag(matrix) > 0.0
        if active.tobytes() in seen:
            return True
        seen.add(active.tobytes())
        impulse = np.zeros(free.size)
        impulse[active] = np.linalg.solve(matrix[np.ix_(active, active)], -free[active])
        if (impulse >= 0.0).all() and ((free + matrix @ impulse)[~active] >= 0.0).all():
            return False
    return True


@pytest.mark.parametrize(("n", "seed"), [(3, 671), (4, 289), (5, 158)])
def test_cycling_statuses(n: int, seed: int) -> None:
    """Where Newton's statuses repeat for ever: changed one at a time they reach the enumerated solution."""
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, n, menu=((Unilateral(),),))
    problem = replace(problem, delassus=random_delassus(rng, n, 100.0, 1e6), closed=np.ones(n, dtype=bool))
    assert newton_statuses(problem.delassus, problem.rate)
    solution = problem.solve()
    exact = enumerate_lcp(problem.delassus, problem.rate)
    assert solution.iterations > 8
    assert solution.residual <= 1e-13
    assert solution.impulse == pytest.approx(exact, rel=1e-9, abs=1e-10 * exact.max())


@pytest.mark.kernels(slow=True)
@pytest.mark.sampled(1)
@pytest.mark.parametrize("law", [(Unilateral(),), (SOFT, Unilateral("gap")), (HARD, Unilateral("velocity"))])
def test_ill_conditioned_operators(law: tuple[Any, ...]) -> None:
    """Conditions up to 1e7, where statuses do cycle now and then."""
    rng = np.random.default_rng(13)
    most = 0
    for _ in range(400):
        n = int(rng.integers(3, 10))
        problem = random_problem(rng, n, menu=(law,))
        delassus = random_delassus(rng, n, 100.0, 10.0 ** rng.uniform(4.0, 7.0))
        problem = replace(problem, delassus=delassus, closed=np.ones(n, dtype=bool))
        solution = problem.solve()
        most = max(most, solution.iterations)
        assert solution.residual <= 1e-12
        assert misfit(problem, solution) <= 1e-10
    assert most > 10


def test_too_few_iterations_are_reported() -> None:
    rng = np.random.default_rng(5)
    problem = random_problem(rng, 6, menu=((HARD, Unilateral("gap")),))
    assert problem.solve(max_iterations=0).residual > 1e-6
    assert problem.solve().residual <= 1e-12
