"""Steps on a factor of the matrix with its constraints against steps on one with a dense border of them."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import arlequin as aq
from arlequin.solvers import solver_choice
from arlequin.solvers.condensed import Condensed
from arlequin.solvers.saddle_system import SaddleSystem
from arlequin.solvers.solver_choice import linear_system
from arlequin.system.assembly import assemble

STEEL = aq.LinearElastic(young=2e11, poisson=0.3, density=7800.0)
STEP = 2.0 * 0.125 / 5000.0


def glued(friction: float = 0.3, **options: Any) -> aq.System:
    """A coarse block glued to a fine one which slides and presses on a plane."""
    coarse = aq.Solid("coarse", aq.mesh.box((0, 1), (0, 1), (0.5, 2), cells=(2, 2, 3)), STEEL, **options)
    fine = aq.Solid("fine", aq.mesh.box((0, 1), (0, 1), (0, 1), cells=(4, 4, 4)), STEEL)
    plane = aq.RigidPlane(point=(0, 0, -1e-5), normal=(0, 0, 1))
    contact = aq.Interface("contact", fine.boundary("back"), plane, aq.Unilateral(), friction=aq.Coulomb(friction))
    return aq.System([coarse, fine], [aq.Junction(coarse, fine)], [contact], velocity=(1.0, 0.0, -1.0))


SCHEMES = [aq.Theta(0.5), aq.Theta(0.8), aq.Newmark(), aq.HHT(-0.1), aq.GeneralisedAlpha.with_radius(0.8)]


def both(monkeypatch: pytest.MonkeyPatch, action: Any) -> list[Any]:
    """What an action finds with a border, and with the constraints in the factor."""
    found = []
    for many in (10**9, 1):
        monkeypatch.setattr(solver_choice, "MIN_CONSTRAINTS", many)
        found.append(action())
    return found


def same(one: Any, other: Any) -> None:
    for path in ("energy", "interface/contact/force", "part/fine/velocity", "part/coarse/displacement"):
        a, b = one[path].values, other[path].values
        assert np.abs(a - b).max() <= 1e-12 * np.abs(a).max(), path


@pytest.mark.sampled(1)
@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda scheme: type(scheme).__name__)
def test_steps(scheme: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    motion = {"front": {"x": lambda t: 1e-4 * np.sin(1e3 * t), "y": 0.0}}
    one, other = both(
        monkeypatch,
        lambda: aq.simulate(glued(imposed=motion), scheme, duration=30 * STEP, step=STEP, progress=False),
    )
    assert one["interface/contact/active"].values.any()
    same(one, other)
    assert np.abs(other["balance"]).max() < 5e-15


def test_members_of_an_ensemble(monkeypatch: pytest.MonkeyPatch) -> None:
    systems = [replace(glued(), velocity=(1.0, 0.0, -speed)) for speed in (0.1, 1.0, 2.0)]
    one, other = both(
        monkeypatch,
        lambda: aq.simulate_ensemble(systems, aq.Theta(0.5), duration=20 * STEP, step=STEP, progress=False),
    )
    assert one.sizes["member"] == 3
    same(one, other)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("method", ["tangent", "adjoint"])
def test_gradients(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a run with contact by its speed and friction."""

    def study(speed: float, friction: float) -> aq.Study:
        system = replace(glued(friction), velocity=(1.0, 0.0, -speed))
        return aq.Study(system, aq.Newmark(), 15 * STEP, STEP)

    at = {"speed": 1.0, "friction": 0.3}
    chosen = [aq.Response("energy/strain"), aq.Response("interface/contact/impulse", "sum")]
    responses = {own.path: own for own in chosen}
    one, other = both(
        monkeypatch,
        lambda: aq.gradient(study, responses, at, method=method, events=False, progress=False)["gradient"].values,
    )
    assert np.abs(one).min() > 0.0
    np.testing.assert_allclose(other, one, rtol=1e-12)


def test_statics_and_parts_that_constraints_hold_have_a_border(monkeypatch: pytest.MonkeyPatch) -> None:
    assembly = assemble(glued(imposed={"front": {"x": 0.0, "y": 0.0, "z": 0.0}}))
    matrix = assembly.mass + (0.5 * STEP) ** 2 * assembly.stiffness
    assert type(linear_system(assembly, matrix, "direct")[0]) is Condensed
    monkeypatch.setattr(solver_choice, "MIN_CONSTRAINTS", 1)
    assert type(linear_system(assembly, matrix, "direct")[0]) is SaddleSystem
    assert type(linear_system(assembly, assembly.stiffness, "direct")[0]) is Condensed
