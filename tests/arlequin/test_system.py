"""Systems refuse what cannot be meant, in one line; starts satisfy the constraints, M-orthogonally."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from scipy.linalg import lstsq, sqrtm

import arlequin as aq
from arlequin.solvers.initial_state import start_fields
from arlequin.system.assembly import Assembly, assemble

UNIT = aq.LinearElastic(young=1.0, density=1.0)


def bar(name: str = "bar", begin: float = 0.0, end: float = 1.0, cells: int = 4, **options: Any) -> aq.Bar:
    return aq.Bar(name, aq.mesh.interval(begin, end, cells=cells), UNIT, **options)


def wall(part: Any, at: float = 1.5, law: Any = None, name: str = "contact") -> aq.Interface:
    return aq.Interface(name, part.boundary("right"), aq.RigidPlane(at, -1.0), law or aq.Unilateral())


def start(system: aq.System, static: bool = False) -> tuple[Any, Any]:
    return start_fields(assemble(system), 0.01, static)


def run(system: aq.System, scheme: Any = None, **options: Any) -> Any:
    return aq.Study(system, scheme or aq.Theta(0.5), **{"duration": 0.1, "step": 0.01, **options}).run()


def glued() -> tuple[aq.Bar, aq.Bar, aq.Junction]:
    coarse, fine = bar("coarse", 0.0, 0.7, 7), bar("fine", 0.4, 1.0, 18)
    return coarse, fine, aq.Junction(coarse, fine)


def refused(make: Any, *words: str) -> None:
    with pytest.raises(aq.UserError) as error:
        make()
    message = str(error.value)
    assert "\n" not in message
    for word in words:
        assert word in message


def test_no_part() -> None:
    refused(lambda: aq.System([]), "at least one part")


def test_names_must_differ() -> None:
    one, other = bar("bar"), bar("bar", 2.0, 3.0)
    refused(lambda: aq.System([one, other]), "2 parts", "'bar'")
    refused(lambda: aq.System([one], interfaces=[wall(one), wall(one, 1.6)]), "2 interfaces", "'contact'")
    coarse, fine, junction = glued()
    refused(lambda: aq.System([coarse, fine], junctions=[junction, junction]), "2 junctions", "'junction'")


def test_foreign_parts() -> None:
    coarse, fine, junction = glued()
    refused(lambda: aq.System([coarse], junctions=[junction]), "junction", "'fine'", "not among the parts")
    refused(lambda: aq.System([coarse], interfaces=[wall(fine)]), "'contact'", "'fine'")
    other = bar("other", 1.1, 2.0)
    pair = aq.Interface("pair", fine.boundary("right"), other.boundary("left"), aq.Unilateral())
    refused(lambda: aq.System([fine], interfaces=[pair]), "'pair'", "'other'")
    # the same name is not the same part
    refused(lambda: aq.System([bar("fine")], interfaces=[wall(fine)]), "'fine'")


def test_initial_fields() -> None:
    part, block = bar(), aq.Solid("block", aq.mesh.rectangle((0, 1), (0, 1), cells=(1, 1)), UNIT, plane="strain")
    refused(lambda: aq.System([part], velocity={"rod": 1.0}), "velocity", "'rod'", "bar")
    refused(lambda: start(aq.System([part], velocity=(1.0, 2.0))), "velocity", "1 component")
    refused(lambda: start(aq.System([block], displacement=(1.0, 2.0, 3.0))), "displacement", "2 component")
    refused(lambda: start(aq.System([part], velocity="fast")), "velocity")
    refused(lambda: start(aq.System([part], velocity=float("nan"))), "velocity", "finite")
    u, v = start(aq.System([part, block], velocity={"block": (3.0, 4.0)}, displacement=None))
    assert (v == [0.0] * 5 + [3.0, 4.0] * 4).all()
    assert not u.any()
    _, v = start(aq.System([part], velocity=lambda x: x[:, 0] ** 2))
    assert v == pytest.approx(part.positions[:, 0] ** 2)


def test_interpenetration_at_the_start() -> None:
    part = bar()
    refused(
        lambda: start(aq.System([part], interfaces=[wall(part, 0.9)])), "'contact'", "interpenetrated by 0.1 m", "(1)"
    )
    refused(
        lambda: start(aq.System([part], interfaces=[wall(part, 1.1)], displacement=0.3)), "interpenetrated by 0.2 m"
    )
    # touching is allowed, and a penalty may start inside
    start(aq.System([part], interfaces=[wall(part, 1.0)]))
    start(aq.System([part], interfaces=[wall(part, 0.9, aq.Penalty(1.0))]))


def test_durations_and_steps() -> None:
    system = aq.System([bar()])
    for options in (
        {"duration": 0.0},
        {"duration": -1.0},
        {"step": 0.0},
        {"step": float("nan")},
        {"step": float("inf")},
    ):
        refused(lambda options=options: run(system, **options), next(iter(options)))
    refused(lambda: run(system, duration=1.0, step=1e-12), "step", "steps")


def test_glued_twice() -> None:
    """The product of two junctions' weights is no partition of unity."""
    coarse, fine, junction = glued()
    again = aq.Junction(coarse, fine, name="again")
    refused(lambda: aq.System([coarse, fine], junctions=[junction, again], velocity=1.0), "sum to one")


def test_free_part_in_statics() -> None:
    """A free bar has no static equilibrium: K is singular."""
    refused(lambda: run(aq.System([bar()]), aq.Static()), "nothing holds part 'bar' in translation along x")


def projection(matrix: Any, rows: Any, field: Any) -> Any:
    """The field nearest in the M-norm that satisfies the rows: f − y, y the least-norm solution of C y = C f."""
    root = np.real(sqrtm(matrix))
    scaled = lstsq(rows @ np.linalg.inv(root), rows @ field)[0]  # least norm of M^½ y
    return field - np.linalg.solve(root, scaled)


@pytest.mark.parametrize(
    "options", [{}, {"coupling": aq.H1(0.2)}, {"mediator": "fine"}, {"weights": aq.weights.Constant(0.3)}]
)
def test_projection_on_the_junction(options: Any) -> None:
    coarse, fine = bar("coarse", 0.0, 0.7, 7), bar("fine", 0.4, 1.0, 18)
    junction = aq.Junction(coarse, fine, **options)
    system = aq.System(
        [coarse, fine],
        junctions=[junction],
        velocity=lambda x: np.cos(5.0 * x),
        displacement={"coarse": lambda x: 0.1 * x**2, "fine": lambda x: 0.1 * x},
    )
    assembly = assemble(system)
    rows, mass = assembly.constraints.toarray(), assembly.mass.toarray()
    raw = [
        np.concatenate([0.1 * coarse.positions[:, 0] ** 2, 0.1 * fine.positions[:, 0]]),
        np.cos(5.0 * np.concatenate([coarse.positions[:, 0], fine.positions[:, 0]])),
    ]
    for got, field in zip(start_fields(assembly, 0.01), raw, strict=True):
        assert np.abs(rows @ field).max() > 1e-5
        assert np.abs(rows @ got).max() <= 1e-14
        assert got == pytest.approx(projection(mass, rows, field), abs=1e-11)
        # the mean velocity and displacement stay: momentum is not touched
        assert np.ones(len(got)) @ mass @ (got - field) == pytest.approx(0.0, abs=1e-13)


def test_consistent_fields_are_not_touched() -> None:
    coarse, fine, junction = glued()
    system = aq.System([coarse, fine], junctions=[junction], velocity=2.0, displacement=lambda x: 0.1 * x)
    u, v = start(system)
    assert (v == 2.0).all()
    assert (u == 0.1 * np.concatenate([coarse.positions[:, 0], fine.positions[:, 0]])).all()


def test_constraints_hold_while_running() -> None:
    coarse, fine, junction = glued()
    system = aq.System([coarse, fine], junctions=[junction], velocity=lambda x: np.cos(np.pi * x))
    assembly = assemble(system)
    rows = assembly.constraints
    for scheme in (aq.Theta(0.5), aq.Theta(0.8), aq.HHT(-0.1), aq.GeneralisedAlpha.with_radius(0.5)):
        stepper = scheme.prepare(assembly, 0.02)
        state = stepper.start(*start_fields(assembly, 0.02))
        for _ in range(100):
            state, _ = stepper.advance(state)
        assert np.abs(rows @ state.v).max() <= 1e-14
        assert np.abs(rows @ state.u).max() <= 1e-14


def test_imposed_motion_at_the_start() -> None:
    part = bar(imposed={"left": {"x": lambda t: 0.1 + 0.5 * t}})
    u, v = start(aq.System([part], velocity=3.0))
    assert u[0] == pytest.approx(0.1)
    assert v[0] == pytest.approx(0.5)
    assert (v[1:] == 3.0).all()
    part = bar(imposed_velocity={"left": {"x": 0.7}})
    u, v = start(aq.System([part], displacement=0.2))
    assert (u[0], v[0]) == (0.2, 0.7)


def massless_bar() -> tuple[Assembly, Any]:
    part = bar(mass="redistributed", tractions={"right": (0.3,)})
    system = aq.System([part], interfaces=[wall(part, 2.0)], displacement=lambda x: 0.01 * x**2)
    return assemble(system), part


def test_massless_nodes_start_in_equilibrium() -> None:
    """The end node without mass: E (u_n − u_{n−1})/h = traction."""
    assembly, _ = massless_bar()
    assert list(np.flatnonzero(assembly.massless)) == [4]
    u, _ = start_fields(assembly, 0.01)
    assert (u[4] - u[3]) / 0.25 == pytest.approx(0.3, rel=1e-12)
    assert u[:4] == pytest.approx(0.01 * np.linspace(0.0, 0.75, 4) ** 2)


def test_assembly_of_two_parts() -> None:
    """Block-diagonal matrices, rows n and −n of a pair of bars, gaps linear in u, energy of both."""
    left, right = bar("left"), bar("right", 1.2, 2.0, 3)
    pair = aq.Interface("pair", left.boundary("right"), right.boundary("left"), aq.Unilateral())
    assembly = assemble(aq.System([left, right], interfaces=[pair]))
    assert assembly.contact.basis.toarray() == pytest.approx(-np.eye(9)[4:5] + np.eye(9)[5:6])
    u = np.concatenate([np.full(5, 0.05), np.linspace(-0.01, 0.02, 4)])
    assert assembly.contact.gaps(u) == pytest.approx([0.2 - 0.05 - 0.01])
    force, energy = assembly.internal(u)
    assert force == pytest.approx(assembly.stiffness @ u, abs=1e-14)
    assert energy == pytest.approx(0.5 * 0.03**2 / 0.8)
    assert assembly.kinetic(np.ones(9)) == pytest.approx(0.5 * 1.8)


@pytest.mark.slow
def test_simulate_stays_a_function() -> None:
    """In a fresh interpreter, after another name of the same module."""
    code = "import arlequin as aq; aq.Study; assert not hasattr(aq.simulate, '__path__') and callable(aq.simulate)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0
