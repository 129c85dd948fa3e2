"""Contact of some hundred points that keep their statuses: against the compiled solver, and what is stored."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arlequin.multilevel.laws.asperities import Asperities
from arlequin.multilevel.laws.friction import Coulomb
from arlequin.multilevel.laws.unilateral import Unilateral
from arlequin.multilevel.solvers import contact, standing_contact
from arlequin.multilevel.solvers.contact import STICK, ContactSolution, solve_contact
from arlequin.multilevel.solvers.law_tables import PointLaws
from arlequin.multilevel.solvers.problem import FreeMotion

sys.path.insert(0, str(Path(__file__).parent.parent / "bench"))
from bench_points import grid, half_space

POINTS = grid((11, 12))
W = half_space(POINTS)
STEP = 1e-6
LAWS: dict[str, Any] = {
    "unilateral": [Unilateral("velocity")],
    "asperities": [Asperities(stiffness=1e18, height=1e-6)],
    "both": [Asperities(stiffness=1e20, exponent=1.5, height=1e-6), Unilateral("velocity")],
}


def solve(law: str, time: float, guess: np.ndarray, w: np.ndarray = W, friction: float = 0.9) -> ContactSolution:
    """Pressed all over, pushed a little along the plane."""
    k = len(POINTS)
    rate = np.empty((k, 3))
    rate[:, 0] = -1.0 - 0.3 * np.cos(0.4 * POINTS[:, 0] + time)
    rate[:, 1] = 0.02 * np.sin(time + 0.3 * POINTS[:, 1])
    rate[:, 2] = 0.01 * np.cos(time)
    laws = PointLaws.gather([LAWS[law]] * k, np.full(k, 1e-6), [Coulomb(friction)] * k, 3)
    motion = FreeMotion(w, 0.5 * STEP, np.zeros(k), rate.ravel(), np.ones(k, dtype=bool), STEP, 0.5, STEP)
    return solve_contact(laws, motion, laws.start_history(np.zeros(k)), guess)


@pytest.mark.parametrize("law", LAWS)
def test_steps_are_those_of_the_compiled_solver(law: str, monkeypatch: pytest.MonkeyPatch) -> None:
    steps, guess = [], np.zeros(len(W))
    for i in range(4):
        steps.append(solve(law, 0.01 * i, guess))
        guess = steps[-1].impulse
    assert (steps[0].status == STICK).sum() > 50
    monkeypatch.setattr(contact, "STANDING_FROM", 10**9)
    for i, step in enumerate(steps):
        other = solve(law, 0.01 * i, np.zeros(len(W)))
        assert step.residual <= 1e-12 and (step.status == other.status).all()
        assert np.abs(step.impulse - other.impulse).max() <= 1e-9 * np.abs(other.impulse).max()


def test_the_compiled_solver_is_not_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    from arlequin.multilevel.solvers import _kernels

    first = solve("asperities", 0.0, np.zeros(len(W)))
    monkeypatch.setattr(_kernels, "solve_contact", lambda *_: pytest.fail("the statuses stand"))
    assert solve("asperities", 0.01, first.impulse).iterations <= 3


def test_slipping_points_are_left_to_newton(monkeypatch: pytest.MonkeyPatch) -> None:
    first = solve("unilateral", 0.0, np.zeros(len(W)), friction=0.01)
    monkeypatch.setattr(standing_contact.np.linalg, "inv", lambda *_: pytest.fail("slip turns from step to step"))
    assert solve("unilateral", 0.01, first.impulse, friction=0.01).residual <= 1e-12


def test_what_is_stored_changes_no_bit() -> None:
    first = solve("both", 0.0, np.zeros(len(W)))
    one = solve("both", 0.01, first.impulse)
    again = solve("both", 0.01, first.impulse)
    solve("unilateral", 0.5, first.impulse)
    other = solve("both", 0.01, first.impulse, W.copy())
    assert (one.impulse == again.impulse).all() and (one.impulse == other.impulse).all()


def test_the_inverse_is_freed_with_its_operator() -> None:
    w = W.copy()
    solve("asperities", 0.01, solve("asperities", 0.0, np.zeros(len(w)), w).impulse, w)
    assert standing_contact.INVERSE.value is not None
    del w
    assert standing_contact.INVERSE.value is None
