"""The nonsmooth solver with friction: from any start, by every method, whatever the augmentation, operators of any
rank."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from arlequin.models.errors import UserError
from arlequin.models.types import Array
from arlequin.multilevel.laws.asperities import Asperities
from arlequin.multilevel.laws.friction import Coulomb
from arlequin.multilevel.laws.unilateral import Unilateral
from arlequin.multilevel.solvers.contact import ContactSolution, solve_contact
from arlequin.multilevel.solvers.law_tables import PointLaws
from arlequin.multilevel.solvers.options import METHODS, ContactMethod
from arlequin.multilevel.solvers.problem import FreeMotion

STEP = 1e-6
LEVER = 0.5 * STEP
AREA = 1e-6


@dataclass(frozen=True)
class Problem:
    laws: PointLaws
    delassus: Array
    gap: Array
    rate: Array
    closed: Any
    before: Array
    start: Array
    axes: int

    def solve(self, guess: Array | None = None, **options: Any) -> ContactSolution:
        motion = FreeMotion(self.delassus, LEVER, self.gap, self.rate, self.closed, STEP, 0.5, STEP)
        limit = {"max_iterations": options.pop("max_iterations")} if "max_iterations" in options else {}
        guess = self.start if guess is None else guess
        history = self.laws.start_history(self.before)
        return solve_contact(self.laws, motion, history, guess, ContactMethod(**options), **limit)


def spd(rng: np.random.Generator, n: int, condition: float) -> Array:
    q, _ = np.linalg.qr(rng.standard_normal((n, n)))
    w = (q * np.geomspace(1.0 / condition, 1.0, n)) @ q.T
    return np.ascontiguousarray(0.5 * (w + w.T))


SIGNORINI = ((Unilateral("velocity"),), (Unilateral("gap"),))
SOFT = ((Asperities(2e12, 1.0, 5e-4),), (Asperities(5e15, 2.0, 5e-4), Unilateral("velocity")))


def random_problem(
    seed: int, menu: Any = SIGNORINI + SOFT, coefficient: float | None = None, worst: float = 6.0
) -> Problem:
    """1–30 points in 2D or 3D, conditions up to 10^worst; a third of them graze and stick (zero rates and gaps)."""
    rng = np.random.default_rng(seed)
    count, axes = int(rng.integers(1, 31)), int(rng.integers(2, 4))
    rows = count * axes
    mu = float(rng.choice([0.0, 0.1, 0.5, 1.0])) if coefficient is None else coefficient
    w = spd(rng, rows, 10.0 ** rng.uniform(0.0, worst)) * 10.0 ** rng.uniform(0.0, 3.0)
    rate = rng.uniform(-150.0, 50.0, rows)
    before = rng.uniform(-2e-5, 6e-4, count)
    before[rng.random(count) < 0.5] *= 0.05
    gap = before + LEVER * rate[::axes] + LEVER * rng.uniform(-150.0, 50.0, count)
    if seed % 3 == 0:
        rate[rng.random(rows) < 0.4] = 0.0
        gap[rng.random(count) < 0.4] = 0.0
    return Problem(
        laws=PointLaws.gather(
            [menu[i] for i in rng.integers(len(menu), size=count)], np.full(count, AREA), [Coulomb(mu)] * count, axes
        ),
        delassus=w,
        gap=gap,
        rate=rate,
        closed=rng.random(count) < 0.9,
        before=before,
        start=rng.standard_normal(rows) * 10.0 ** rng.uniform(-2.0, 2.0) * 150.0 / w[0, 0],
        axes=axes,
    )


def certificate(p: Problem, s: ContactSolution) -> float:
    """Largest violation of the laws, relative to the largest impulse, written here again in plain numpy."""
    moved = p.delassus @ s.impulse
    normal, tangent = s.impulse[:: p.axes], s.impulse.reshape(-1, p.axes)[:, 1:]
    rate = p.rate + moved
    gap = p.gap + LEVER * moved[:: p.axes]
    own = np.diag(p.delassus).reshape(-1, p.axes)
    worst = 0.0
    for k, laws in enumerate(p.laws.regular):
        stored = 0.0
        for law in laws:  # mean of κ⟨a − g⟩^m over the step
            x, weights = np.polynomial.legendre.leggauss(8)
            ends = np.array([law.height - p.before[k], law.height - gap[k]])
            low, high = max(ends.min(), 0.0), max(ends.max(), 0.0)
            path = 0.5 * (low + high) + 0.5 * (high - low) * x
            share = (high - low) / np.ptp(ends) if np.ptp(ends) > 0.0 else 1.0
            stored += STEP * AREA * law.stiffness * 0.5 * (weights @ path**law.exponent) * share
        multiplier = normal[k] - stored
        worst = max(worst, abs(multiplier - s.multiplier[k]))
        slack = np.inf
        if p.laws.level[k] == 1:
            slack = gap[k] / (LEVER * own[k, 0])
        elif p.laws.level[k] == 2 and p.closed[k]:
            slack = rate[k * p.axes] / own[k, 0]
        worst = max(worst, abs(min(multiplier, slack)))
        if p.axes == 1:
            continue
        radius = p.laws.friction[k] * max(normal[k], 0.0)
        wanted = tangent[k] - rate.reshape(-1, p.axes)[k, 1:] / own[k, 1:].mean()
        size = np.linalg.norm(wanted)
        worst = max(worst, np.abs(tangent[k] - wanted * min(1.0, radius / size if size > 0.0 else 1.0)).max())
    return worst / max(np.abs(s.impulse).max(), 1e-300)


@pytest.mark.slow
def test_a_thousand_random_starts() -> None:
    """Every one converges, without a weak one; median at most eight steps."""
    steps = []
    for seed in range(1000):
        problem = random_problem(seed)
        solution = problem.solve()
        assert solution.residual <= 1e-12, seed
        assert certificate(problem, solution) <= 1e-10, seed
        steps.append(solution.iterations)
    assert np.median(steps) <= 8


@pytest.mark.slow
def test_thousands_of_random_starts_of_bare_contact() -> None:
    """Without layers, which regularise, statuses cycle more often."""
    for seed in range(3000):
        problem = random_problem(seed, SIGNORINI[:1])
        solution = problem.solve()
        assert solution.residual <= 1e-12, seed
        assert certificate(problem, solution) <= 1e-10, seed


def test_augmentation_moves_the_way_not_the_solution() -> None:
    """Small coefficients, for which the solution is one, and any start."""
    for seed in range(60):
        problem = random_problem(seed, coefficient=0.1, worst=4.0)
        first = problem.solve()
        size = max(np.abs(first.impulse).max(), 1e-300)
        for augmentation in (1e-2, 1e-1, 1e1, 1e2):
            other = problem.solve(augmentation=augmentation)
            assert other.residual <= 1e-12
            assert np.abs(other.impulse - first.impulse).max() <= 1e-8 * size


def bits(s: ContactSolution) -> tuple[Any, ...]:
    arrays = (s.impulse, s.stored, s.dissipated, s.multiplier, s.history, s.status)
    return (*(a.tobytes() for a in arrays), s.iterations, s.residual, s.singular)


def test_calls_repeat_bit_for_bit() -> None:
    for seed in range(20):
        problem = random_problem(seed)
        given = (problem.delassus, problem.gap, problem.rate, problem.before, problem.start)
        copies = [a.tobytes() for a in given]
        once = problem.solve()
        random_problem(seed + 100).solve()
        assert bits(problem.solve()) == bits(once)
        assert [a.tobytes() for a in given] == copies


def test_methods_agree() -> None:
    for seed in range(12):
        problem = random_problem(seed, coefficient=0.1, worst=1.5)
        first = problem.solve()
        for method in METHODS:
            other = problem.solve(method=method)
            assert other.residual <= 1e-12, (seed, method)
            assert certificate(problem, other) <= 1e-10
            assert other.impulse == pytest.approx(first.impulse, rel=1e-9, abs=1e-10 * np.abs(first.impulse).max())


def test_large_systems_are_solved_by_lapack() -> None:
    rng = np.random.default_rng(1)
    rows = 150
    w = spd(rng, rows, 1e3)
    impulse = np.tile([1.0, 0.1, 0.05], rows // 3)
    laws = PointLaws.gather([(Unilateral(),)] * 50, np.full(50, AREA), [Coulomb(0.5)] * 50, 3)
    closed, zero = np.ones(50, bool), np.zeros(50)
    problem = Problem(laws, w, zero, -w @ impulse, closed, zero, np.zeros(rows), 3)
    solution = problem.solve()
    assert solution.residual <= 1e-13
    assert not solution.singular
    assert solution.impulse == pytest.approx(impulse, rel=1e-9)
    assert (solution.status == 2).all()


@pytest.mark.parametrize("friction", [0.0, 0.3])
@pytest.mark.parametrize("level", ["gap", "velocity"])
def test_many_points_are_solved_iteratively(level: Any, friction: float) -> None:
    """A dent pressed into a half-space, whose compliances fall as 1/distance; the laws as written above."""
    side, axes = (20, 3) if friction else (32, 1)
    rng = np.random.default_rng(0)
    x = np.stack(np.meshgrid(np.arange(side), np.arange(side)), -1).reshape(-1, 2) / side - 0.5
    apart = side * np.linalg.norm(x[:, None] - x, axis=-1)
    near = 0.3 * np.divide(1.0, apart, out=np.full_like(apart, 1.0 / 0.3), where=apart > 0.0)
    w = np.kron(near, np.eye(axes) + 0.1 * np.ones((axes, axes)))
    count = side**2
    gap = LEVER * (20.0 * (x**2).sum(axis=1) - 5.0 + 0.1 * rng.standard_normal(count))
    rate = rng.standard_normal((count, axes)) * 0.1
    rate[:, 0] += gap / LEVER
    if axes > 1:
        rate[:, 1] += 0.4
    laws = PointLaws.gather([(Unilateral(level),)] * count, np.full(count, AREA), [Coulomb(friction)] * count, axes)
    start = np.zeros(count * axes)
    problem = Problem(laws, w, gap, rate.ravel(), np.ones(count, bool), gap, start, axes)
    solution = problem.solve()
    assert 300 < (solution.status > 0).sum() * axes < count * axes
    assert solution.residual <= 1e-13 and not solution.singular
    assert certificate(problem, solution) <= 1e-10
    assert problem.solve(solution.impulse).iterations <= 1
    if friction:
        assert (solution.status == 2).any() and (solution.status == 1).any()


def redundant(axes: int, bodies: int = 3) -> tuple[Problem, Array, Array]:
    """Two contact points on each of some freedoms: only the sums of the impulses, here 1 and 0.1, are determined."""
    base = spd(np.random.default_rng(3), bodies * axes, 10.0)
    spread = np.kron(np.repeat(np.eye(bodies), 2, axis=0), np.eye(axes))
    sums = np.tile([1.0] + [0.1] * (axes - 1), bodies)
    count = 2 * bodies
    friction = [Coulomb(0.3)] * count if axes > 1 else None
    laws = PointLaws.gather([(Unilateral(),)] * count, np.full(count, AREA), friction, axes)
    w = np.ascontiguousarray(spread @ base @ spread.T)
    zero, rows = np.zeros(count), count * axes
    return Problem(laws, w, zero, -spread @ base @ sums, np.ones(count, bool), zero, np.zeros(rows), axes), spread, sums


@pytest.mark.sampled(4)
@pytest.mark.parametrize("bodies", [3, 20, 120])
@pytest.mark.parametrize("axes", [1, 2, 3])
def test_singular_operators_are_told_and_stabilised(axes: int, bodies: int) -> None:
    problem, spread, sums = redundant(axes, bodies)
    assert problem.solve().singular
    for stabilised in (True, 1e-2, 1e-4):
        solution = problem.solve(stabilised=stabilised)
        assert not solution.singular
        assert solution.residual <= 1e-12
        assert spread.T @ solution.impulse == pytest.approx(sums, rel=1e-10)
    assert spread.T @ problem.solve(method="augmented").impulse == pytest.approx(sums, rel=1e-10)


def test_stabilised_is_the_same_solution_where_there_is_one() -> None:
    for seed in range(20):
        problem = random_problem(seed, coefficient=0.1, worst=3.0)
        first, other = problem.solve(), problem.solve(stabilised=True)
        assert other.residual <= 1e-12
        assert other.impulse == pytest.approx(first.impulse, rel=1e-8, abs=1e-9 * np.abs(first.impulse).max())


def test_bad_options() -> None:
    problem = random_problem(0)
    with pytest.raises(UserError, match="method"):
        problem.solve(method="magic")
    with pytest.raises(UserError, match="augmentation"):
        problem.solve(augmentation=0.0)
    with pytest.raises(UserError, match="stabilised"):
        problem.solve(stabilised=-1.0)


def test_few_iterations_are_reported() -> None:
    problem = replace(random_problem(1), closed=np.ones(random_problem(1).gap.size, bool))
    assert problem.solve(max_iterations=0).residual > 1e-6
