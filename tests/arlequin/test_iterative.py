"""Steps by conjugate gradients against steps by a factor; the choice between both."""

import importlib.util
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import arlequin as aq
from arlequin.models.linalg.projected_cg import ProjectedConjugateGradients
from arlequin.solvers import iterative, solver_choice
from arlequin.solvers.condensed import Condensed
from arlequin.solvers.initial_state import start_fields
from arlequin.solvers.iterative import IterativeSystem
from arlequin.solvers.solver_choice import linear_system
from arlequin.system.assembly import assemble

needs_petsc = pytest.mark.skipif(importlib.util.find_spec("petsc4py") is None, reason="petsc4py is not installed")
MULTIGRID = pytest.param("petsc-iterative", marks=needs_petsc)
STEEL = aq.LinearElastic(young=2e11, poisson=0.3, density=7800)
SPEED = 5000.0


def blocks(friction: float = 0.3, **options: Any) -> aq.System:
    """A coarse block glued to a fine one, which slides and presses on a plane."""
    coarse = aq.Solid("coarse", aq.mesh.box((0, 1), (0, 1), (0.5, 2), cells=(2, 2, 3)), STEEL, **options)
    fine = aq.Solid("fine", aq.mesh.box((0, 1), (0, 1), (0, 1), cells=(4, 4, 4)), STEEL)
    plane = aq.RigidPlane(point=(0, 0, -1e-5), normal=(0, 0, 1))
    rubs = aq.Coulomb(friction) if friction else None
    contact = aq.Interface("contact", fine.boundary("back"), plane, aq.Unilateral(), friction=rubs)
    return aq.System([coarse, fine], [aq.Junction(coarse, fine)], [contact], velocity=(1.0, 0.0, -1.0))


def run(system: aq.System, scheme: Any, steps: int = 25, courant: float = 2.0, **options: Any) -> Any:
    step = courant * 0.25 / SPEED
    return aq.simulate(system, scheme, duration=steps * step, step=step, **options)


def same(one: Any, other: Any, tolerance: float = 1e-11) -> None:
    for path in ("energy", "interface/contact/force", "part/fine/velocity", "part/coarse/displacement"):
        a, b = one[path].values, other[path].values
        assert np.abs(a - b).max() <= tolerance * np.abs(a).max(), path


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("scheme", "friction", "courant"),
    [
        (aq.Theta(0.5), 0.3, 2.0),
        (aq.Theta(0.5), 0.0, 0.5),
        (aq.Theta(0.8), 0.3, 8.0),
        (aq.Newmark(), 0.3, 2.0),
        (aq.HHT(-0.1), 0.0, 2.0),
    ],
)
def test_as_with_a_factor(scheme: Any, friction: float, courant: float) -> None:
    found = [run(blocks(friction), replace(scheme, solver=name), courant=courant) for name in ("direct", "iterative")]
    assert found[0]["interface/contact/active"].values.any()
    same(*found)
    assert np.abs(found[1]["balance"]).max() < 5e-14


@pytest.mark.sampled(1)
@pytest.mark.parametrize("solver", ["iterative", MULTIGRID])
def test_imposed_motion(solver: Any) -> None:
    system = blocks(imposed={"top": {"z": lambda t: -2e-5 * (t * SPEED) ** 2}})
    system = replace(system, velocity=(0.0, 0.0, 0.0))
    same(*(run(system, aq.Theta(0.5, solver=name), 40) for name in ("direct", solver)))


@pytest.mark.sampled(1)
@needs_petsc
@pytest.mark.parametrize("scheme", [aq.Theta(0.5), aq.Newmark()])
def test_multigrid(scheme: Any) -> None:
    """Contact with friction at a large Courant number; the run says what solved it."""
    found = [run(blocks(), replace(scheme, solver=name), courant=20.0) for name in ("direct", "petsc-iterative")]
    assert found[0]["interface/contact/active"].values.any()
    same(*found)
    assert np.abs(found[1]["balance"]).max() < 1e-12
    assert re.match(r"multigrid of PETSc: \d+ iterations of conjugate gradients", found[1].attrs["linear_solver"])


def pressed(master: Any, friction: float = 0.0, velocity: Any = (0.0, 0.0, -1.0), *others: Any) -> aq.System:
    """A glued block with its whole lower face on a master surface."""
    system = blocks()
    rubs = aq.Coulomb(friction) if friction else None
    contact = aq.Interface("contact", system.parts[1].boundary("back"), master, aq.Unilateral(), friction=rubs)
    return replace(system, parts=[*system.parts, *others], interfaces=[contact], velocity=velocity)


def on_slope() -> aq.System:
    """Sticking on a plane that no axis is normal to, which the block enters all at once: rows of the contact turn."""
    normal = np.array([0.1, 0.2, 1.0]) / np.sqrt(1.05)
    system = pressed(aq.RigidPlane(point=(0, 0, 0), normal=tuple(normal)), 5.0)
    coarse, fine = (replace(part, mesh=_sheared(part.mesh, normal)) for part in system.parts)
    contact = replace(system.interfaces[0], slave=fine.boundary("back"))
    return replace(system, parts=[coarse, fine], junctions=[aq.Junction(coarse, fine)], interfaces=[contact])


def _sheared(mesh: Any, normal: Any) -> Any:
    """With the planes z = constant along a plane with this normal."""
    x, y, z = mesh.p
    return replace(mesh, doflocs=np.array([x, y, z - (normal[0] * x + normal[1] * y) / normal[2]]))


def on_block(friction: float) -> aq.System:
    """On a block of other cells: rows of the contact share nodes."""
    below = aq.Solid("below", aq.mesh.box((-0.1, 1.1), (-0.1, 1.1), (-0.6, 0), cells=(3, 3, 2)), STEEL)
    return pressed(below.boundary("front"), friction, {"coarse": (0.1, 0.0, -1.0), "fine": (0.1, 0.0, -1.0)}, below)


SYSTEMS = {"slope": on_slope, "block": lambda: on_block(0.0), "block, friction": lambda: on_block(0.5)}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", SYSTEMS)
def test_held_rows(name: str) -> None:
    """Turned, coupled and sticking rows of the contact, as with a factor."""
    found = [run(SYSTEMS[name](), aq.Theta(0.5, solver=solver), 12) for solver in ("direct", "iterative")]
    assert found[0]["interface/contact/active"].values.any()
    same(*found, 1e-9 if "friction" in name else 1e-11)  # forces of sliding points that share nodes are less certain


def test_products_of_a_lasting_contact(monkeypatch: pytest.MonkeyPatch) -> None:
    """While points stay closed, a step takes few more products than a linear solution, and few contact problems."""
    taken: list[int] = []
    solve = ProjectedConjugateGradients.solve

    def counted(self: Any, *given: Any) -> Any:
        found = solve(self, *given)
        taken.append(found.iterations)
        return found

    assembly = assemble(pressed(aq.RigidPlane(point=(0, 0, 0), normal=(0, 0, 1))))
    stepper = aq.Theta(0.5, solver="iterative").prepare(assembly, 0.5 / SPEED)
    state = stepper.start(*start_fields(assembly, 0.5 / SPEED))
    monkeypatch.setattr(ProjectedConjugateGradients, "solve", counted)
    state, _ = stepper.advance(state)
    linear = taken[0]  # the layer's thickness follows from a solution for uniform impulses
    for _ in range(3):
        taken.clear()
        state, _ = stepper.advance(state)
        assert (state.impulse > 0.0).all()
        assert sum(taken) <= 1.4 * linear and len(taken) <= 5


def test_thin_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    """The layer changes the number of corrections alone: here it is the contact's own nodes."""
    monkeypatch.setattr(iterative, "_LAYER_AMPLITUDE", 1.0)
    same(*(run(blocks(), aq.Theta(0.5, solver=name), courant=1.0) for name in ("direct", "iterative")))


@pytest.mark.slow
def test_resumed_to_the_bit(tmp_path: Any) -> None:
    class Stop(Exception):
        pass

    def stop(done: int, total: int) -> None:
        if done >= 7:
            raise Stop

    scheme, system = aq.Theta(0.5, solver="iterative"), blocks()
    whole = run(system, scheme, 16)
    with pytest.raises(Stop):
        run(system, scheme, 16, record=aq.Record(tmp_path / "a.zarr"), progress=stop)
    again = run(system, scheme, 16, record=aq.Record(tmp_path / "a.zarr", resume=True))
    same(whole, again, 0.0)


def test_multipliers_and_columns() -> None:
    """What a system without a factor answers is what the condensed one does."""
    assembly = assemble(blocks())
    matrix = assembly.mass + 1e-9 * assembly.stiffness
    one, other = Condensed(assembly, matrix), IterativeSystem(assembly, matrix)
    rng = np.random.default_rng(0)
    b, c = assembly.mass @ rng.standard_normal(assembly.dof_count), 0.1 * rng.standard_normal(one._multiplier_count)
    free, same_free = one.predict(b, c), other.predict(b, c)
    impulse = 1e-3 * np.abs(b).max() * rng.standard_normal(free.contact.size)
    pairs = [
        (free.y, same_free.y),
        (free.multipliers, same_free.multipliers),
        (free.contact, same_free.contact),
        (free.solve(impulse)[0], same_free.solve(impulse)[0]),
        (free.solve(impulse)[1], same_free.solve(impulse)[1]),
        (one.spread(b), other.spread(b)),
        *zip(one.columns(assembly.contact.basis[:2]), other.columns(assembly.contact.basis[:2]), strict=True),
    ]
    for exact, found in pairs:
        assert np.abs(exact - found).max() <= 1e-9 * np.abs(exact).max()


def test_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    assembly = assemble(blocks())
    matrix = assembly.mass + 1e-9 * assembly.stiffness

    def chosen(name: Any) -> tuple[type, str]:
        found, text = linear_system(assembly, matrix, name)
        return type(found), text

    assert chosen("auto") == (Condensed, "")
    assert chosen("iterative") == (IterativeSystem, "")
    monkeypatch.setattr(solver_choice, "SMALL", 100)
    assert chosen("auto")[0] is Condensed and chosen("auto")[1].startswith("direct: predicted ")
    direct, other = (
        cost(assembly, matrix).memory for cost in (solver_choice.direct_cost, solver_choice.iterative_cost)
    )
    assert other < direct
    monkeypatch.setattr(solver_choice, "memory", lambda: 0.5 * (other + direct) / 0.85)
    assert chosen("auto")[0] is IterativeSystem and chosen("auto")[1].startswith("iterative: predicted ")
    with pytest.raises(aq.UserError, match=r"solver = 'direct': .* unknowns need about .*: take solver='iterative'"):
        chosen("direct")
    monkeypatch.setattr(solver_choice, "memory", lambda: 1e3)
    with pytest.raises(aq.UserError, match=r"solver = 'auto': .* the machine has 1e-06 GB: take fewer cells"):
        chosen("auto")
    monkeypatch.setenv("ARLEQUIN_LIMITS", "off")
    assert chosen("auto")[0] is Condensed


def test_choice_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "linear_solver" not in run(blocks(), aq.Theta(0.5), 1).attrs
    monkeypatch.setattr(solver_choice, "SMALL", 100)
    for scheme in (aq.Theta(0.5, solver="iterative"), aq.Newmark(solver="iterative")):
        assert run(blocks(), scheme, 1).attrs["linear_solver"].startswith("iterative: predicted ")


def test_refusals() -> None:
    with pytest.raises(aq.UserError, match="solver = 'cholesky'"):
        aq.Theta(0.5, solver="cholesky")  # type: ignore[arg-type]
    with pytest.raises(aq.UserError, match="solver = 'lu'"):
        aq.Newmark(solver="lu")  # type: ignore[arg-type]
    soft = aq.Solid("soft", aq.mesh.rectangle((0, 1), (0, 1), cells=(2, 2)), STEEL, plane="strain", kinematics="finite")
    for scheme in (aq.Theta(0.5, solver="iterative"), aq.Newmark(solver="iterative")):
        with pytest.raises(aq.UserError, match="solver = 'iterative': part 'soft' is not linear: take 'direct'"):
            aq.simulate(aq.System([soft]), scheme, duration=1e-6, step=1e-6)


def test_corrections_that_do_not_converge(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(iterative, "_MAX_CORRECTIONS", 1)
    with pytest.raises(aq.UserError, match=r"impulses still change by .* take a smaller step"):
        run(blocks(), aq.Theta(0.5, solver="iterative"))
