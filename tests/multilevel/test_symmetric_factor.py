"""Newton increments by a Cholesky factor that is kept: against Gauss–Seidel, and to the same bits as without it."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arlequin.multilevel.laws.asperities import Asperities
from arlequin.multilevel.laws.friction import Coulomb
from arlequin.multilevel.laws.unilateral import Unilateral
from arlequin.multilevel.solvers.contact import OPEN, SLIP, STICK, solve_contact
from arlequin.multilevel.solvers.law_tables import PointLaws
from arlequin.multilevel.solvers.options import ContactMethod
from arlequin.multilevel.solvers.problem import FreeMotion

sys.path.insert(0, str(Path(__file__).parent.parent / "bench"))
from bench_points import grid, half_space

POINTS = grid((4, 4))
COUNT, STEP = len(POINTS), 1e-6
W = half_space(POINTS)
LAWS: dict[str, Any] = {
    "unilateral": [Unilateral("velocity")],
    "linear": [Asperities(stiffness=1e18, height=1e-6)],
    "power": [Asperities(stiffness=1e20, exponent=1.5, height=1e-6), Unilateral("velocity")],
}


def problem(law: str, time: float, springs: bool) -> tuple[PointLaws, FreeMotion, np.ndarray]:
    """Pressed on one side and lifted on the other, pushed along the plane; tangential compliances."""
    rate = np.empty((COUNT, 3))
    rate[:, 0] = -1.0 - 0.3 * np.cos(POINTS[:, 0] + time) + 0.5 * (POINTS[:, 1] + 5.0 * time)
    rate[:, 1] = 0.4 * np.sin(time + POINTS[:, 1])
    rate[:, 2] = 0.1 * np.cos(time)
    laws = PointLaws.gather([LAWS[law]] * COUNT, np.full(COUNT, 1e-6), [Coulomb(0.4)] * COUNT, 3)
    motion = FreeMotion(W, 0.5 * STEP, np.zeros(COUNT), rate.ravel(), np.ones(COUNT, dtype=bool), STEP, 0.5, STEP)
    size = W.diagonal().max() * STEP * 1e-6
    return laws, motion, np.full(COUNT, 0.3 * size if springs else 0.0)


def solved(law: str, time: float, springs: bool, guess: np.ndarray, factor: Any) -> tuple[np.ndarray, np.ndarray]:
    """Impulses and statuses of a step with this factor."""
    from arlequin.multilevel.solvers import _solve_kernels

    laws, motion, compliance = problem(law, time, springs)
    table, kernels = laws.table(compliance)
    history = laws.start_history(np.zeros(COUNT))
    solution = guess.copy(), history.copy(), np.empty((3, COUNT)), np.empty(COUNT, dtype=np.int8)
    kernel: Any = _solve_kernels.solve_contact
    used, residual, singular = kernel(
        tuple(motion), table, kernels, history, np.zeros((3, len(W))), (0, 1.0, 0.0, 200), solution, factor
    )
    assert used >= 0 and residual <= 1e-12 and not singular
    return solution[0], solution[3]


def empty() -> Any:
    """A `SymmetricFactor` with room, of nothing yet."""
    size = len(W)
    lower, normal, columns = (np.empty((size, size)) for _ in range(3))
    return np.full(size + 2, np.nan), lower, normal, np.zeros(size, dtype=bool), columns


@pytest.mark.kernels
@pytest.mark.parametrize("springs", [False, True])
@pytest.mark.parametrize("law", LAWS)
def test_a_kept_factor_changes_no_bit(law: str, springs: bool) -> None:
    kept, guess, seen = empty(), np.zeros(len(W)), set()
    for i in range(12):
        impulse, status = solved(law, 0.02 * i, springs, guess, kept)
        alone, other = solved(law, 0.02 * i, springs, guess, empty())
        assert np.array_equal(impulse, alone) and np.array_equal(status, other)
        guess = impulse
        seen |= set(status.tolist())
    assert {SLIP, STICK} <= seen and (OPEN in seen or law != "unilateral")


@pytest.mark.parametrize("law", LAWS)
def test_impulses_are_those_of_gauss_seidel(law: str) -> None:
    laws, motion, _ = problem(law, 0.1, False)
    history, none = laws.start_history(np.zeros(COUNT)), np.zeros(len(W))
    found = solve_contact(laws, motion, history, none)
    other = solve_contact(laws, motion, history, none, ContactMethod("gauss-seidel"))
    assert other.residual <= 1e-10 and (found.status == other.status).all()
    assert np.abs(found.impulse - other.impulse).max() <= 1e-8 * np.abs(found.impulse).max()
