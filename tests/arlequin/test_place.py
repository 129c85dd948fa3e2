"""The lines that say where a step failed."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import arlequin as aq
from arlequin.multilevel.solvers.contact import ContactSolution
from arlequin.step.acceptance import accept
from arlequin.system.assembly import assemble
from arlequin.system.locate import locate_maximum
from arlequin.system.rigid_motion import largest_rigid_motion

RUBBER = aq.NeoHooke(2.0, 0.3, 1.5)


def block(law: Any, high: Any = (1.0, 0.8), cells: Any = (3, 2), **options: Any) -> Any:
    """A solid of finite strain in the plane."""
    mesh = aq.mesh.rectangle((0.0, high[0]), (0.0, high[1]), cells=cells)
    return aq.Solid(mesh=mesh, material=law, **{"name": "block", "plane": "strain", "kinematics": "finite", **options})


def test_the_place_of_a_dof_is_a_cell_around_its_node() -> None:
    first, second = block(RUBBER), replace(block(RUBBER), name="other")
    rigid = aq.Rigid(block(aq.LinearElastic(2.0, 0.3, 1.5), kinematics="small", name="stiff"))
    assembly = assemble(aq.System([first, second, rigid]))
    size = first.dof_count
    for node in range(first.node_count):
        values = np.zeros(assembly.dof_count)
        values[size + 2 * node + 1] = -1.0
        name, cell = locate_maximum(assembly, values).split(", cell ")
        assert name == "part 'other'" and node in second.connectivity[int(cell)]
    # of the cells around a node the one whose nodes have most
    values[:] = 0.0
    values[2 * first.connectivity[4]] = [1.0, 0.5, 0.5, 0.5]
    assert locate_maximum(assembly, values) == "part 'block', cell 4"
    values[2 * first.connectivity[0][0]] = np.nan
    assert "cell 0" in locate_maximum(assembly, values)
    # one without cells that deform
    values[-1] = np.nan
    values[:-1] = 1.0
    assert locate_maximum(assembly, values) == "part 'stiff'"


def test_a_motion_that_is_not_finite_says_where() -> None:
    assembly = assemble(aq.System([block(RUBBER)]))
    u = np.zeros(assembly.dof_count)
    u[0] = np.inf
    none = np.zeros(1)
    solution = ContactSolution(none, none, none, none, none, 9, 0.0, np.zeros(1, dtype=np.int8), False)
    with pytest.raises(
        aq.UserError, match=r"no longer finite at t = 1 s \(part 'block', cell 0\): try a smaller step$"
    ):
        accept(solution, u, 1.0, assembly=assembly)


@pytest.mark.parametrize(
    ("axes", "shift", "turn", "told"),
    [
        (1, [2.0], None, "moves along +x"),
        (2, [0.0, -1.0], 0.0, "moves along −y"),
        (2, [0.6, 0.8], 0.1, "moves along (0.6, 0.8)"),
        (2, [0.0, 0.0], -2.0, "turns about z"),
        (2, "corner", 1.0, "turns about z"),
        (3, [0.0, 0.0, 1.0], [0.1, 0.0, 0.0], "moves along +z"),
        (3, [0.0, 0.0, 0.0], [0.0, 3.0, 0.0], "turns about y"),
        (3, "corner", [0.0, 0.0, -1.0], "turns about z"),
    ],
)
def test_rigid_motions_by_name(axes, shift, turn, told):
    """u + ω × x, the mean motion and a rotation; about a corner, too: beside a part that moves half as far."""
    sides = ((0.0, 2.0), (0.0, 4.0), (0.0, 1.0))[:axes]
    mesh = (aq.mesh.interval, aq.mesh.rectangle, aq.mesh.box)[axes - 1]
    spans = (*sides[0],) if axes == 1 else sides
    kind = aq.Bar if axes == 1 else aq.Solid
    options = {"plane": "strain"} if axes == 2 else {}
    material = aq.LinearElastic(young=1.0, poisson=0.0 if axes == 1 else 0.3, density=1.0)
    cells = 3 if axes == 1 else (2, 3, 2)[:axes]
    other, part = (kind(name, mesh(*spans, cells=cells), material, **options) for name in ("other", "part"))
    assembly = assemble(aq.System([other, part]))
    arms = part.positions - (0.0 if shift == "corner" else part.positions.mean(axis=0))
    arms = np.pad(arms, ((0, 0), (0, 3 - axes)))
    spin = np.zeros(3) if turn is None else np.array([0.0, 0.0, turn]) if axes == 2 else np.array(turn)
    moved = np.cross(spin, arms)[:, :axes] + (0.0 if shift == "corner" else np.array(shift))
    assert largest_rigid_motion(assembly, np.concatenate([0.5 * moved.ravel(), moved.ravel()])) == f"part 'part' {told}"
