"""Coulomb friction: closed forms of one point, enumerated statuses in 2D, a disk in 3D, laws of the normal impulse."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq

from arlequin.models.errors import UserError
from arlequin.models.types import Array
from arlequin.multilevel.laws.asperities import Asperities
from arlequin.multilevel.laws.friction import Coulomb
from arlequin.multilevel.laws.unilateral import Unilateral
from arlequin.multilevel.solvers.contact import OPEN, SLIP, STICK, ContactSolution, solve_contact
from arlequin.multilevel.solvers.law_tables import PointLaws
from arlequin.multilevel.solvers.options import ContactMethod
from arlequin.multilevel.solvers.problem import FreeMotion

pytestmark = pytest.mark.kernels

STEP = 1e-6
AREA = 2e-6
SIGNORINI = (Unilateral(),)


def solve(
    delassus: Array,
    rate: Array,
    friction: Any,
    axes: int,
    laws: Any = SIGNORINI,
    gap: float = 0.0,
    **options: Any,
) -> ContactSolution:
    count = delassus.shape[0] // axes
    table = PointLaws.gather([laws] * count, np.full(count, AREA), [friction] * count, axes)
    gaps = np.full(count, gap)
    guess = options.pop("guess", np.zeros(count * axes))
    motion = FreeMotion(delassus, 0.5 * STEP, gaps, rate, np.ones(count, bool), STEP, 0.5, STEP)
    return solve_contact(table, motion, table.start_history(gaps), guess, ContactMethod(**options))


def spd(rng: np.random.Generator, n: int, condition: float = 30.0) -> Array:
    q, _ = np.linalg.qr(rng.standard_normal((n, n)))
    w = (q * np.geomspace(1.0 / condition, 1.0, n)) @ q.T
    return np.ascontiguousarray(0.5 * (w + w.T))


@pytest.mark.parametrize("value", [-0.1, float("nan"), float("inf"), "rough"])
def test_bad_coefficient(value: Any) -> None:
    with pytest.raises(UserError, match=r"^friction coefficient = .*must"):
        Coulomb(value)
    with pytest.raises(UserError, match=r"^friction compliance = .*must"):
        Coulomb(0.1, value)


def test_rows_of_mixed_points() -> None:
    friction = [None, Coulomb(0.2), None, Coulomb(0.3, 1e-9)]
    laws = PointLaws.gather([(Unilateral(),)] * 4, np.ones(4), friction, axes=3)
    assert laws.first.tolist() == [0, 1, 4, 5, 8]
    assert laws.row_count == 8
    assert laws.friction.tolist() == [0.0, 0.2, 0.0, 0.3]
    assert laws.tangential_compliance.tolist() == [0.0, 0.0, 0.0, 1e-9]


@pytest.mark.parametrize(("slide", "status"), [((0.02, -0.01), STICK), ((3.0, -4.0), SLIP), ((0.0, 0.0), STICK)])
def test_one_point_in_closed_form(slide: tuple[float, float], status: int) -> None:
    w, mu = np.diag([2.0, 5.0, 5.0]), 0.3
    solution = solve(w, np.array([-1.0, *slide]), Coulomb(mu), 3)
    tangent = -np.array(slide) / 5.0
    if status == SLIP:
        tangent *= mu * 0.5 / np.linalg.norm(tangent)
    assert solution.status.tolist() == [status]
    assert solution.impulse == pytest.approx([0.5, *tangent], rel=1e-14, abs=1e-16)


@pytest.mark.parametrize("rate", [1.0, 0.0])
def test_open_and_grazing_points_have_no_friction(rate: float) -> None:
    solution = solve(np.diag([2.0, 5.0, 5.0]), np.array([rate, 1.0, 2.0]), Coulomb(0.5), 3)
    assert solution.status.tolist() == [OPEN]
    assert (solution.impulse == 0.0).all()


def test_compliance_is_a_dashpot_up_to_the_threshold() -> None:
    """Stick with c: v_t + c P_t/(h A) = 0."""
    c = 3.0 * STEP * AREA
    stick = solve(np.diag([2.0, 5.0]), np.array([-1.0, 0.4]), Coulomb(0.3, c), 2)
    assert stick.impulse[1] == pytest.approx(-0.4 / (5.0 + 3.0), rel=1e-14)
    assert solve(np.diag([2.0, 5.0]), np.array([-1.0, 4.0]), Coulomb(0.3, c), 2).impulse[1] == pytest.approx(-0.15)


def test_threshold_is_the_total_pressure() -> None:
    """Linear layer and multiplier together: P_n = h A κ (a − (g₀ + g₁)/2) + Λ with ġ = 0; friction on their sum."""
    kappa, height, gap = 1e12, 5e-4, 1e-4
    laws = (Asperities(kappa, 1.0, height), Unilateral())
    solution = solve(np.diag([50.0, 80.0]), np.array([-90.0, 1e6]), Coulomb(0.25), 2, laws, gap)
    total = 90.0 / 50.0
    layer = STEP * AREA * kappa * (height - gap - 0.5 * 0.5 * STEP * 90.0)
    assert 0.0 < layer < total
    assert solution.stored[0] == pytest.approx(layer, rel=1e-13)
    assert solution.multiplier[0] == pytest.approx(total - layer, rel=1e-13)
    assert solution.impulse == pytest.approx([total, -0.25 * total], rel=1e-13)
    alone = solve(np.diag([50.0, 80.0]), np.array([-90.0, 1e6]), Coulomb(0.25), 2, laws[:1], gap)
    assert alone.multiplier[0] == 0.0
    assert alone.impulse[1] == pytest.approx(-0.25 * alone.stored[0], rel=1e-13)


def slipping(w: Array, rate: Array, mu: float) -> list[Array]:
    """All slip solutions of one point in 3D: angles at which the slip is opposite to the friction."""

    def state(angle: float) -> tuple[Array, Array]:
        d = np.array([np.cos(angle), np.sin(angle)])
        normal = -rate[0] / (w[0, 0] + mu * w[0, 1:] @ d)
        impulse = normal * np.array([1.0, *(mu * d)])
        return impulse, rate[1:] + w[1:] @ impulse

    def cross(angle: float) -> float:
        v = state(angle)[1]
        return float(np.cos(angle) * v[1] - np.sin(angle) * v[0])

    grid = np.linspace(0.0, 2.0 * np.pi, 400)
    values = [cross(a) for a in grid]
    roots = [
        brentq(cross, a, b, xtol=1e-15, rtol=1e-15)
        for a, b, x, y in zip(grid, grid[1:], values, values[1:], strict=False)
        if x * y < 0.0
    ]
    found = [state(a) for a in roots]
    return [impulse for impulse, v in found if impulse[1:] @ v < 0.0 < impulse[0]]


def test_one_point_slips_against_its_velocity() -> None:
    """Coupled, anisotropic blocks: the direction by a root finder on the angle."""
    rng = np.random.default_rng(2)
    slips = 0
    for _ in range(60):
        w, rate = spd(rng, 3, 8.0), np.array([-1.0, *rng.uniform(-3.0, 3.0, 2)])
        solution = solve(w, rate, Coulomb(0.3), 3)
        if solution.status[0] != SLIP:
            continue
        slips += 1
        expected = slipping(w, rate, 0.3)
        assert min(np.abs(solution.impulse - e).max() for e in expected) <= 1e-11 * np.abs(solution.impulse).max()
    assert slips > 20


def enumerate_coulomb(w: Array, rate: Array, mu: float) -> list[Array]:
    """All solutions of 2D unilateral contact in velocity with friction, by trying every status of every point."""
    count = rate.size // 2
    found = []
    for choice in product(("open", "stick", "left", "right"), repeat=count):
        matrix, right = np.zeros_like(w), np.zeros_like(rate)
        for k, status in enumerate(choice):
            n, t = 2 * k, 2 * k + 1
            if status == "open":
                matrix[n, n] = matrix[t, t] = 1.0
                continue
            matrix[n], right[n] = w[n], -rate[n]
            if status == "stick":
                matrix[t], right[t] = w[t], -rate[t]
            else:
                matrix[t, t], matrix[t, n] = 1.0, mu if status == "right" else -mu
        try:
            impulse = np.linalg.solve(matrix, right)
        except np.linalg.LinAlgError:
            continue
        v = rate + w @ impulse
        size, fast = 1e-11 * np.abs(impulse).max(initial=1e-300), 1e-11 * np.abs(rate).max()
        fits = True
        for k, status in enumerate(choice):
            n, t = 2 * k, 2 * k + 1
            fits &= impulse[n] >= -size and v[n] >= -fast and abs(impulse[t]) <= mu * impulse[n] + size
            if status in ("left", "right"):  # slips to the left, friction to the right, and so on
                fits &= (v[t] if status == "right" else -v[t]) >= -fast
        if fits:
            found.append(impulse)
    return found


@pytest.mark.parametrize("mu", [0.0, 0.1, 0.5, 1.0])
def test_enumerated_statuses_in_2d(mu: float) -> None:
    rng = np.random.default_rng(int(10 * mu))
    for _ in range(25):
        count = int(rng.integers(1, 5))
        w, rate = spd(rng, 2 * count), rng.uniform(-2.0, 1.0, 2 * count)
        if rng.random() < 0.3:
            rate[rng.random(2 * count) < 0.4] = 0.0
        solution = solve(w, rate, Coulomb(mu), 2)
        size = np.abs(solution.impulse).max(initial=1e-30)
        assert solution.residual <= 1e-13
        assert min(np.abs(solution.impulse - e).max() for e in enumerate_coulomb(w, rate, mu)) <= 1e-11 * size


def test_the_disk_is_round() -> None:
    """Tangents turned by any angle turn the friction with them."""
    rng = np.random.default_rng(4)
    for angle in rng.uniform(0.0, 2.0 * np.pi, 10):
        w, rate = spd(rng, 12, 10.0), rng.uniform(-2.0, 1.0, 12)
        rate[::3] = -1.0
        c, s = np.cos(angle), np.sin(angle)
        turn = np.kron(np.eye(4), np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]]))
        straight = solve(w, rate, Coulomb(0.2), 3).impulse
        turned = solve(np.ascontiguousarray(turn @ w @ turn.T), turn @ rate, Coulomb(0.2), 3).impulse
        assert turned == pytest.approx(turn @ straight, rel=1e-9, abs=1e-10 * np.abs(straight).max())


def test_no_coefficient_is_no_friction() -> None:
    rng = np.random.default_rng(6)
    for _ in range(10):
        w, rate = spd(rng, 9), rng.uniform(-2.0, 1.0, 9)
        with_rows = solve(w, rate, Coulomb(0.0), 3)
        without = solve(np.ascontiguousarray(w[::3, ::3]), rate[::3].copy(), None, 1)
        assert (with_rows.impulse.reshape(3, 3)[:, 1:] == 0.0).all()
        assert with_rows.impulse[::3] == pytest.approx(without.impulse, rel=1e-12, abs=1e-15)


def test_units_do_not_matter() -> None:
    """In statics rates are increments: a factor on W, gaps and rates leaves the forces."""
    rng = np.random.default_rng(8)
    w, rate = spd(rng, 9), rng.uniform(-2.0, 1.0, 9)
    first = solve(w, rate, Coulomb(0.4), 3).impulse
    assert solve(1e-9 * w, 1e-9 * rate, Coulomb(0.4), 3).impulse == pytest.approx(first, rel=1e-12, abs=1e-13)


@pytest.mark.parametrize("place", ["delassus", "rate", "guess"])
def test_nan_is_never_accepted(place: str) -> None:
    w, rate, guess = np.eye(4), np.array([-1.0, 0.3, -1.0, 2.0]), np.zeros(4)
    {"delassus": w[0], "rate": rate, "guess": guess}[place][0] = np.nan
    assert not solve(w, rate, Coulomb(0.4), 2, guess=guess).residual <= 1e-10
