"""Contact problems of more than a thousand rows: their laws recomputed here, projected Gauss–Seidel, warm starts."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arlequin.multilevel.solvers import contact, large_contact
from arlequin.multilevel.solvers.problem import FreeMotion

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench"))
from bench_points import grid, half_space, solve_step

SIDES, MU = (20, 21), 0.3
POINTS = grid(SIDES)
W = half_space(POINTS)


@pytest.fixture(autouse=True)
def small_problems_too(monkeypatch: Any) -> None:
    monkeypatch.setattr(contact, "LARGE_FROM", 1000)


def violation(motion: FreeMotion, impulse: np.ndarray) -> float:
    """Largest violation of 0 ≤ P_n ⊥ v_n ≥ 0 and of Coulomb's law, relative to the largest impulse."""
    p, v = impulse.reshape(-1, 3), (motion.rate_free + motion.delassus @ impulse).reshape(-1, 3)
    own = np.diag(motion.delassus).reshape(-1, 3)
    normal = np.abs(np.minimum(p[:, 0], v[:, 0] / own[:, 0]))
    slip, radius = v[:, 1:] / own[:, 1:2], MU * p[:, 0]
    tried = p[:, 1:] - slip
    size = np.linalg.norm(tried, axis=1)
    share = np.where(size > radius, radius / np.maximum(size, 1e-300), 1.0)
    return float(max(normal.max(), np.abs(p[:, 1:] - tried * share[:, None]).max()) / np.abs(p).max())


def gauss_seidel(motion: FreeMotion, impulse: np.ndarray, sweeps: int) -> np.ndarray:
    """Projected Gauss–Seidel, in plain numpy."""
    w, p = motion.delassus, impulse.copy()
    v = motion.rate_free + w @ p
    for _ in range(sweeps):
        for n in range(0, p.size, 3):
            new = p[n : n + 3].copy()
            new[0] = max(new[0] - v[n] / w[n, n], 0.0)
            new[1:] -= v[n + 1 : n + 3] / max(w[n + 1, n + 1], w[n + 2, n + 2])
            size = np.linalg.norm(new[1:])
            if size > MU * new[0]:
                new[1:] *= MU * new[0] / size
            v += (new - p[n : n + 3]) @ w[n : n + 3]
            p[n : n + 3] = new
    return p


@pytest.mark.sampled(1)
@pytest.mark.parametrize("closed", [False, True])
def test_warm_steps_are_cold_solutions_and_satisfy_the_laws(closed: bool, monkeypatch: Any) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("the compiled solver is not needed")

    from arlequin.multilevel.solvers import _solve_kernels

    monkeypatch.setattr(_solve_kernels, "solve_contact", refuse)
    guess = np.zeros(len(W))
    for time in (0.0, 0.02, 0.04):
        cold, motion = solve_step(POINTS, W, time, np.zeros(len(W)), closed, MU)
        warm, _ = solve_step(POINTS, W, time, guess, closed, MU)
        guess = warm.impulse
        for solution in (cold, warm):
            assert violation(motion, solution.impulse) <= 1e-12 and solution.residual <= 1e-12
            assert not solution.singular
        assert np.abs(warm.impulse - cold.impulse).max() <= 1e-9 * np.abs(cold.impulse).max()
    assert {1, 2} <= set(warm.status)
    again, _ = solve_step(POINTS, W, 0.04, guess, closed, MU)
    assert again.iterations == 0 and (again.status == warm.status).all()


@pytest.mark.slow
def test_gauss_seidel_reaches_the_same_impulses() -> None:
    solution, motion = solve_step(POINTS, W, 0.0, np.zeros(len(W)), False, MU)
    swept = gauss_seidel(motion, np.zeros(len(W)), 300)
    assert np.abs(swept - solution.impulse).max() <= 1e-8 * np.abs(solution.impulse).max()


def test_the_compiled_solver_agrees(monkeypatch: Any) -> None:
    found, _ = solve_step(POINTS, W, 0.0, np.zeros(len(W)), False, MU)
    monkeypatch.setattr(contact, "LARGE_FROM", 10**9)
    dense, _ = solve_step(POINTS, W, 0.0, np.zeros(len(W)), False, MU)
    assert found.impulse == pytest.approx(dense.impulse, rel=1e-9, abs=1e-10 * np.abs(dense.impulse).max())
    assert (found.status == dense.status).all()


def test_an_earlier_solution_changes_no_bit() -> None:
    first, _ = solve_step(POINTS, W, 0.0, np.zeros(len(W)), True, MU)
    solve_step(POINTS, W, 0.3, first.impulse, False, MU)
    second, _ = solve_step(POINTS, W.copy(), 0.0, np.zeros(len(W)), True, MU)
    assert (first.impulse == second.impulse).all()


def test_the_rounded_matrix_is_freed_with_its_operator() -> None:
    w = W.copy()
    solve_step(POINTS, w, 0.0, np.zeros(len(w)), True, MU)
    assert large_contact.ROUNDED.value is not None
    del w
    assert large_contact.ROUNDED.value is None
