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
from arlequin.multilevel.solvers.contact import OPEN, SLIP, STICK, ContactSolution, solve_contact
from arlequin.multilevel.solvers.large_contact import Newton
from arlequin.multilevel.solvers.law_tables import PointLaws
from arlequin.multilevel.solvers.problem import FreeMotion, LawTable

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


def problem(
    law: str, time: float, w: np.ndarray = W, friction: float = 0.9, lifted: float = 0.0
) -> tuple[PointLaws, FreeMotion]:
    """Pressed all over, pushed a little along the plane; lifted: on one side."""
    k = len(POINTS)
    rate = np.empty((k, 3))
    rate[:, 0] = -1.0 - 0.3 * np.cos(0.4 * POINTS[:, 0] + time) + lifted * (POINTS[:, 1] + 5.0 * time)
    rate[:, 1] = 0.02 * np.sin(time + 0.3 * POINTS[:, 1])
    rate[:, 2] = 0.01 * np.cos(time)
    laws = PointLaws.gather([LAWS[law]] * k, np.full(k, 1e-6), [Coulomb(friction)] * k, 3)
    return laws, FreeMotion(w, 0.5 * STEP, np.zeros(k), rate.ravel(), np.ones(k, dtype=bool), STEP, 0.5, STEP)


def solve(
    law: str, time: float, guess: np.ndarray, w: np.ndarray = W, friction: float = 0.9, lifted: float = 0.0
) -> ContactSolution:
    """One step of this problem."""
    laws, motion = problem(law, time, w, friction, lifted)
    return solve_contact(laws, motion, laws.start_history(np.zeros(len(POINTS))), guess)


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
    first = solve("asperities", 0.0, np.zeros(len(W)))
    monkeypatch.setattr(contact, "_solve_kernels", lambda *_: pytest.fail("the statuses stand"))
    assert solve("asperities", 0.01, first.impulse).iterations <= 3


@pytest.mark.parametrize(
    ("law", "friction", "lifted"), [("unilateral", 0.9, 0.0), ("unilateral", 0.3, 0.3), ("asperities", 0.5, 0.2)]
)
def test_steps_in_which_some_points_slip_are_those_of_the_compiled_solver(
    law: str, friction: float, lifted: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, compiled = contact._solve_kernels, []
    monkeypatch.setattr(contact, "_solve_kernels", lambda *given: compiled.append(0) or own(*given))
    guess = np.zeros(len(W))
    for i in range(4):
        step = solve(law, 0.05 * i, guess, friction=friction, lifted=lifted)
        assert len(compiled) == 1, "of the first step alone"
        with monkeypatch.context() as other:
            other.setattr(contact, "STANDING_FROM", 10**9)
            other.setattr(contact, "_solve_kernels", own)
            same = solve(law, 0.05 * i, guess, friction=friction, lifted=lifted)
        assert step.residual <= 1e-12 and (step.status == same.status).all()
        assert (step.status == SLIP).any() and (step.status == STICK).any()
        assert np.abs(step.impulse - same.impulse).max() <= 1e-10 * np.abs(same.impulse).max()
        guess = step.impulse


def test_increments_solve_newtons_equations_of_any_statuses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Points that close, open and slip, against the dense matrix D_v W + D_P."""
    monkeypatch.setattr(standing_contact, "MAX_CHANGED", 10.0)
    guess = solve("unilateral", 0.0, np.zeros(len(W)), lifted=0.12).impulse
    laws, motion = problem("unilateral", 1.0, friction=0.6, lifted=-0.02)
    table, kernels = laws.table(laws.tangential_compliance)
    history = laws.start_history(np.zeros(len(POINTS)))
    data = tuple(motion), table, history, np.zeros(len(W))
    newton = Newton(data, kernels, 1.0, guess.copy(), history.copy())
    newton.linearise(True)
    sticking, before = standing_contact._sticking(newton, motion, LawTable(*table)), newton.statuses[1].copy()
    assert sticking is not None
    changes = set()
    for _ in range(3):
        equations = newton.equations()
        matrix, n = np.eye(len(W)), equations.unknown
        matrix[n] = 0.0
        for velocity, impulse, beside in zip(*(field.T for field in equations[2:5]), strict=True):
            matrix[n] += velocity[:, None] * W[beside]
            matrix[n, beside] += impulse
        right = equations.known[:-1].copy()
        right[n] = equations.rhs + matrix[n] @ right
        found = standing_contact._NewtonSystem(sticking, W, newton).increment()
        expected = np.linalg.solve(matrix, right)
        assert np.abs(found - expected).max() <= 1e-9 * np.abs(expected).max()
        newton.impulse += found
        newton.linearise(False)
        changes |= set(zip(before.tolist(), newton.statuses[1].tolist(), strict=True))
    assert {(OPEN, STICK), (SLIP, OPEN), (STICK, SLIP)} <= changes


def test_contact_that_slips_as_a_whole_is_left_to_newton(monkeypatch: pytest.MonkeyPatch) -> None:
    first = solve("unilateral", 0.0, np.zeros(len(W)), friction=0.01)
    monkeypatch.setattr(standing_contact.np.linalg, "inv", lambda *_: pytest.fail("most points slip"))
    assert solve("unilateral", 0.01, first.impulse, friction=0.01).residual <= 1e-12


@pytest.mark.parametrize("law", LAWS)
def test_what_is_stored_changes_no_bit(law: str) -> None:
    first = solve(law, 0.0, np.zeros(len(W)))
    one = solve(law, 0.01, first.impulse)
    again = solve(law, 0.01, first.impulse)
    solve("unilateral", 0.5, first.impulse, lifted=0.3)
    other = solve(law, 0.01, first.impulse, W.copy())
    assert (one.impulse == again.impulse).all() and (one.impulse == other.impulse).all()


def test_the_inverse_is_freed_with_its_operator() -> None:
    w = W.copy()
    solve("asperities", 0.01, solve("asperities", 0.0, np.zeros(len(w)), w).impulse, w)
    assert standing_contact.INVERSE.value is not None
    del w
    assert standing_contact.INVERSE.value is None
