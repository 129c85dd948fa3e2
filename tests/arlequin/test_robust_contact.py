"""Loops and ensembles whose contact problems Newton's method does not solve: another solver does, from the same
guess; where none does from the impulses of the last step, all start from none."""

import functools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numba import njit

import arlequin as aq
from arlequin.multilevel.solvers import contact
from arlequin.multilevel.solvers._kernels import ARGUMENTS, RESULT
from arlequin.multilevel.solvers._list_kernels import list_of_solver
from arlequin.multilevel.solvers.solver_lists import newton_solver, robust_solver
from arlequin.schemes import compiled_loop, events
from arlequin.solvers import contact_step

FLOOR = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))


@functools.cache
def failing_solver() -> Any:
    """A solver that spoils the guess and gives up."""

    @njit(RESULT(*ARGUMENTS))
    def give_up(motion, laws, kernels, history, closing, options, solution, factor):  # type: ignore[no-untyped-def]
        solution[0][:] = 1e3
        solution[1][:] = 1e3
        return -1, np.inf, False

    return list_of_solver(give_up)


def rocking(angle: float = 0.05) -> aq.System:
    turn = np.array([(np.cos(angle), np.sin(angle)), (-np.sin(angle), np.cos(angle))])
    corners = np.array([(0.0, 0.0), (0.1, 0.0), (0.1, 0.4), (0.0, 0.4)]) @ turn
    block = aq.RigidBody("block", corners, density=1000.0, names={"base": [0, 1]})
    floor = aq.Interface("floor", block.boundary("base"), FLOOR, [aq.Unilateral("velocity")], aq.Coulomb(0.5))
    return aq.System([block], interfaces=[floor], gravity=(0.0, -9.81))


def sliding(speed: float = 0.1) -> aq.System:
    masses = aq.PointMasses("masses", [(0.0, 0.0), (0.1, 0.0)], 1.0)
    floor = aq.Interface("floor", masses.boundary("all"), FLOOR, [aq.Unilateral("velocity")], aq.Coulomb(0.3))
    return aq.System([masses], interfaces=[floor], gravity=(0.0, -9.81), velocity=(speed, 0.0))


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("module", "system", "scheme"),
    [
        (compiled_loop, sliding, aq.Theta(0.5)),
        (compiled_loop, rocking, aq.Theta(0.5)),
        (events, rocking, aq.Theta(0.5, events="locate")),
    ],
)
def test_loops_take_another_solver(monkeypatch: pytest.MonkeyPatch, module: Any, system: Any, scheme: aq.Theta) -> None:
    found = []
    for solver in (newton_solver, failing_solver, robust_solver):
        monkeypatch.setattr(module, "newton_solver", solver)
        found.append(aq.simulate(system(), scheme, duration=0.5, step=2e-3))
    assert (found[0]["interface/floor/force"].values != 0.0).any()
    for other in found[1:]:
        assert all(
            np.array_equal(node[name].values, other[node.path][name].values, equal_nan=True)
            for node in found[0].subtree for name in node.data_vars
        )  # fmt: skip


def test_ensembles_take_another_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    systems, found = [sliding(speed) for speed in (0.1, 0.2, 0.4)], []
    for solver in (newton_solver, failing_solver):
        monkeypatch.setattr(contact, "newton_solver", solver)
        found.append(aq.simulate_ensemble(systems, aq.Theta(0.5), duration=0.1, step=2e-3))
    assert (found[0]["interface/floor/force"].values != 0.0).any()
    for name in ("interface/floor/force", "part/masses/displacement", "energy"):
        np.testing.assert_array_equal(found[0][name].values, found[1][name].values)


def test_a_step_that_fails_from_the_last_impulses_starts_from_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """The weight of masses at rest, by a solver that finds nothing unless it starts from zeros."""
    solve, failed = contact_step.solve_contact, []

    def from_zeros_alone(laws: Any, motion: Any, history: Any, guess: Any, method: Any, **options: Any) -> Any:
        found = solve(laws, motion, history, guess, method, **options)
        failed.append(bool(guess.any()))
        return replace(found, impulse=np.full_like(guess, 1e3), residual=np.inf) if guess.any() else found

    monkeypatch.setattr(contact_step, "solve_contact", from_zeros_alone)
    masses = aq.PointMasses("masses", [(0.0, 0.0), (0.1, 0.0)], 1.0)
    law = aq.Unilateral("velocity", restitution=0.5)  # with which there is no compiled loop
    floor = aq.Interface("floor", masses.boundary("all"), FLOOR, law, friction=aq.Coulomb(0.3))
    result = aq.simulate(
        aq.System([masses], interfaces=[floor], gravity=(0.0, -9.81)), aq.Theta(0.5), duration=0.02, step=2e-3
    )
    assert any(failed)
    np.testing.assert_allclose(result["interface/floor/force"].sel(component="y").values[1:], 2.0 * 9.81, rtol=1e-12)
