"""The condensed step against one dense saddle-point solve of the whole system."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import arlequin as aq
from arlequin.models.errors import UserError
from arlequin.models.linalg.supported import SupportedFactor
from arlequin.solvers.condensed import Condensed
from arlequin.solvers.saddle_system import SaddleSystem
from arlequin.solvers.solver_choice import linear_system
from arlequin.system.assembly import Assembly, assemble

UNIT = aq.LinearElastic(young=1.0, poisson=0.3, density=1.0)


def system_of_bars(imposed: bool) -> Assembly:
    options: dict[str, Any] = {"imposed": {"left": {"x": 0.1}}} if imposed else {}
    coarse = aq.Bar("coarse", aq.mesh.interval(0.0, 0.7, cells=7), UNIT, **options)
    fine = aq.Bar("fine", aq.mesh.interval(0.4, 1.0, cells=18), UNIT)
    wall = aq.Interface("end", fine.boundary("right"), aq.RigidPlane(1.1, -1.0), aq.Unilateral())
    return assemble(aq.System([coarse, fine], junctions=[aq.Junction(coarse, fine)], interfaces=[wall]))


def system_of_solids(imposed: bool) -> Assembly:
    options: dict[str, Any] = {"imposed": {"left": {"x": 0.1, "y": 0.0}}} if imposed else {}
    coarse = aq.Solid("coarse", aq.mesh.rectangle((0, 0.7), (0, 0.2), cells=(7, 2)), UNIT, plane="strain", **options)
    fine = aq.Solid("fine", aq.mesh.rectangle((0.4, 1.0), (0, 0.2), cells=(18, 6)), UNIT, plane="strain")
    wall = aq.Interface("end", fine.boundary("right"), aq.RigidPlane((1.1, 0), (-1.0, 0.2)), aq.Unilateral())
    return assemble(aq.System([coarse, fine], junctions=[aq.Junction(coarse, fine)], interfaces=[wall]))


def block_of_free_points() -> Assembly:
    """No junction; 41 contact points: more than a block of right-hand sides."""
    part = aq.Solid("block", aq.mesh.rectangle((0, 1), (0, 1), cells=(1, 40)), UNIT, plane="stress")
    wall = aq.Interface("end", part.boundary("right"), aq.RigidPlane((1.1, 0), (-1.0, 0)), aq.Unilateral())
    return assemble(aq.System([part], interfaces=[wall]))


def saddle(assembly: Assembly, matrix: Any, b: Any, c: Any, impulse: Any, given: Any) -> tuple[Any, Any]:
    """y and φ of A y = b + Cᵀφ + BᵀP on the free dofs, C y = c, y given elsewhere: one dense solve."""
    rows, free = assembly.constraints.toarray(), np.flatnonzero(assembly.free)
    dense = matrix.toarray()
    y = np.zeros(assembly.dof_count)
    y[assembly.imposed_dofs] = given
    right = b + assembly.contact.basis.T @ impulse - dense @ y
    m = rows.shape[0]
    whole = np.block([[dense[np.ix_(free, free)], -rows[:, free].T], [rows[:, free], np.zeros((m, m))]])
    out = np.linalg.solve(whole, np.concatenate([right[free], c - rows @ y]))
    y[free] = out[: free.size]
    return y, out[free.size :]


SOLVERS = Condensed, SaddleSystem


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("build", [system_of_bars, system_of_solids])
@pytest.mark.parametrize("imposed", [False, True])
def test_condensed_step(build: Any, imposed: bool, solver: Any) -> None:
    check(build(imposed), solver)


@pytest.mark.parametrize("solver", SOLVERS)
def test_condensed_step_without_junction(solver: Any) -> None:
    check(block_of_free_points(), solver)


def check(assembly: Assembly, solver: Any) -> None:
    rng = np.random.default_rng(2)
    matrix = assembly.mass + 0.3**2 * assembly.stiffness
    condensed = solver(assembly, matrix)
    m, k = assembly.constraints.shape[0], assembly.contact_count
    b, c = rng.standard_normal(assembly.dof_count), rng.standard_normal(m)
    impulse, given = rng.random(k), rng.standard_normal(assembly.imposed_dofs.size)
    copies = b.copy(), c.copy()
    free = condensed.predict(b, c, given if given.size else None)
    assert (b == copies[0]).all()
    assert (c == copies[1]).all()

    y, multipliers = saddle(assembly, matrix, b, c, 0.0 * impulse, given)
    scale = np.abs(y).max()
    assert free.y == pytest.approx(y, abs=1e-10 * scale)
    assert free.multipliers == pytest.approx(multipliers, rel=1e-8, abs=1e-10)
    assert free.contact == pytest.approx(assembly.contact.basis @ y, abs=1e-10 * scale)

    y, multipliers = saddle(assembly, matrix, b, c, impulse, given)
    got, phi = condensed.correct(free, impulse)
    assert got == pytest.approx(y, abs=1e-10 * np.abs(y).max())
    assert phi == pytest.approx(multipliers, rel=1e-8, abs=1e-10)

    # many right-hand sides at once
    each, wanted, pushes = (rng.standard_normal((3, n)) for n in (assembly.dof_count, m, k))
    shared, half, found = given if given.size else None, condensed.room_for_each(3), np.empty_like(each)
    pulls, contact = condensed.predict_each(each, wanted, half, shared)
    for own, b, c in zip(contact, each, wanted, strict=True):
        assert own == pytest.approx(condensed.predict(b, c, shared).contact, abs=1e-10 * np.abs(contact).max())
    condensed.correct_each(half, pulls, pushes, found, shared)
    for own, pulled, b, c, push in zip(found, pulls, each, wanted, pushes, strict=True):
        y, multipliers = saddle(assembly, matrix, b, c, push, given)
        assert own == pytest.approx(y, abs=1e-10 * np.abs(y).max())
        assert pulled == pytest.approx(multipliers, rel=1e-8, abs=1e-10)

    # rows held, and the matrix alone
    rows = sp.csr_array(sp.random_array((2, assembly.dof_count), density=0.3, rng=rng))
    columns, released = condensed.columns(rows)
    at_rest = 0.0 * c, 0.0 * pushes[0], 0.0 * given
    for row, own, less in zip(rows.toarray(), columns.T, released.T, strict=True):
        y, multipliers = saddle(assembly, matrix, row, *at_rest)
        assert own == pytest.approx(y, abs=1e-10 * np.abs(y).max())
        assert less == pytest.approx(-multipliers, rel=1e-8, abs=1e-10)
    inside = np.flatnonzero(assembly.free)
    assert (matrix @ condensed.spread(each[0]))[inside] == pytest.approx(each[0][inside], abs=1e-10)

    # the Delassus operator, column by column: gap rates under unit impulses, all else zero
    columns = [
        assembly.contact.basis @ saddle(assembly, matrix, 0.0 * each[0], 0.0 * c, unit, 0.0 * given)[0]
        for unit in np.eye(k)
    ]
    own = condensed.compliance.chosen(np.arange(k))
    assert own == pytest.approx(np.array(columns).T, rel=1e-9, abs=1e-12)
    assert (own == own.T).all()
    assert np.linalg.eigvalsh(own).min() > 0.0


def glued_statics(size: float = 1.0, young: float = 1.0) -> Assembly:
    """A coarse part that is clamped, a fine one that it holds by a junction, and a third one held by the fine one."""
    material = aq.LinearElastic(young=young, poisson=0.3, density=1.0)

    def part(name: str, x: tuple[float, float], y: tuple[float, float], cells: tuple[int, int], **options: Any) -> Any:
        mesh = aq.mesh.rectangle(*(tuple(size * value for value in side) for side in (x, y)), cells=cells)
        return aq.Solid(name, mesh, material, plane="strain", **options)

    held = {"left": {"x": 0.1 * size, "y": 0.0}}
    coarse = part("coarse", (0, 0.7), (0, 0.2), (7, 2), imposed=held)
    fine = part("fine", (0.4, 1.0), (0, 0.2), (18, 6))
    last = part("last", (0.8, 1.5), (0, 0.2), (7, 2))
    wall = aq.Interface("end", last.boundary("right"), aq.RigidPlane((1.6 * size, 0), (-1.0, 0.2)), aq.Unilateral())
    system = aq.System([coarse, fine, last], [aq.Junction(coarse, fine), aq.Junction(last, fine, name="other")], [wall])
    return assemble(system)


@pytest.mark.parametrize(("size", "young"), [(1.0, 1.0), (1e3, 2e5), (1e-3, 2e11)])
def test_statics_of_parts_that_only_junctions_hold(size: float, young: float) -> None:
    """Against a dense solution, in three sets of units."""
    assembly = glued_statics(size, young)
    condensed = Condensed(assembly, assembly.stiffness)
    assert isinstance(condensed.bordered, SupportedFactor)
    rng = np.random.default_rng(2)
    m, k = assembly.constraints.shape[0], assembly.contact_count
    sizes = abs(assembly.constraints).max(axis=1).toarray().ravel()
    b, c = young * size * rng.standard_normal(assembly.dof_count), size * sizes * rng.standard_normal(m)
    impulse, given = young * size * rng.random(k), size * rng.standard_normal(assembly.imposed_dofs.size)
    free = condensed.predict(b, c, given)
    got, phi = condensed.correct(free, impulse)
    for found, multipliers, push in ((free.y, free.multipliers, 0.0 * impulse), (got, phi, impulse)):
        y, exact = saddle(assembly, assembly.stiffness / young, b / young, c, push / young, given)
        assert found == pytest.approx(y, abs=1e-9 * np.abs(y).max())
        assert multipliers * sizes == pytest.approx(
            young * exact * sizes, abs=1e-8 * young * np.abs(exact * sizes).max()
        )
    # the Delassus operator, column by column
    basis = assembly.contact.basis
    zero = 0.0 * b, 0.0 * c
    columns = [basis @ saddle(assembly, assembly.stiffness / young, *zero, unit, 0.0 * given)[0] for unit in np.eye(k)]
    own = young * condensed.compliance.chosen(np.arange(k))
    assert own == pytest.approx(np.array(columns).T, abs=1e-9 * np.abs(columns).max())

    again = Condensed(assembly, 2.0 * assembly.stiffness, former=condensed)
    assert again.predict(2.0 * b, c, given).y == pytest.approx(free.y, abs=1e-9 * np.abs(free.y).max())
    assert again.bordered.inner.factor.analyses == 1


def test_values_of_imposed_motions_must_be_given() -> None:
    assembly = system_of_bars(imposed=True)
    d, m = assembly.dof_count, assembly.constraints.shape[0]
    matrix = assembly.mass + assembly.stiffness
    for system in (Condensed(assembly, matrix), linear_system(assembly, matrix, "iterative")[0]):
        with pytest.raises(
            UserError, match=r"predict: motions are imposed on 1 dofs, but imposed is None: pass y \(p,\)"
        ):
            system.predict(np.zeros(d), np.zeros(m))
        assert system.predict(np.zeros(d), np.zeros(m), np.ones(1)).y[assembly.imposed_dofs] == 1.0
    with pytest.raises(UserError, match="imposed is None"):
        condensed = Condensed(assembly, matrix)
        condensed.predict_each(np.zeros((2, d)), np.zeros((2, m)), condensed.room_for_each(2))


def test_no_impulse_returns_the_free_motion() -> None:
    assembly = system_of_bars(False)
    condensed = Condensed(assembly, assembly.mass)
    free = condensed.predict(np.ones(assembly.dof_count), np.zeros(assembly.constraints.shape[0]))
    y, phi = condensed.correct(free, np.zeros(1))
    assert y is free.y
    assert phi is free.multipliers


def rollers(fine_slip: float = 0.0) -> Any:
    """Two glued solids on rollers below and above: there the junction's rows in y act on no freedom."""
    options: dict[str, Any] = {"plane": "strain"}
    ends = {side: {"bottom": {"y": value}, "top": {"y": value}} for side, value in (("c", 0.0), ("f", fine_slip))}
    coarse = aq.Solid("coarse", aq.mesh.rectangle((0, 0.7), (0, 0.2), cells=(7, 1)), UNIT, imposed=ends["c"], **options)
    fine = aq.Solid("fine", aq.mesh.rectangle((0.4, 1.0), (0, 0.2), cells=(18, 1)), UNIT, imposed=ends["f"], **options)
    return aq.System([coarse, fine], junctions=[aq.Junction(coarse, fine)], velocity=(1.0, 0.0))


def test_constraints_that_imposed_motions_imply() -> None:
    """They are left out: the block flies along x, glued, with all its energy."""
    result = aq.simulate(rollers(), aq.Theta(0.5), duration=0.5, step=0.05)
    speed = result["part/fine/velocity"].values[-1]
    assert speed[:, 0] == pytest.approx(np.ones(len(speed)), rel=1e-12)
    assert np.abs(result["junction/junction/mismatch"].values).max() < 1e-12
    assert np.abs(result["balance"].values).max() < 1e-12


def test_imposed_motions_against_a_junction() -> None:
    with pytest.raises(aq.UserError, match="contradict a junction"):
        aq.simulate(rollers(fine_slip=0.01), aq.Theta(0.5), duration=0.5, step=0.05)
