"""Bushings: rigid motions, rotations of faces and beams, laws of the rotations."""

import numpy as np
import pytest

import arlequin as aq
from arlequin.system.assembly import assemble

STEEL = aq.LinearElastic(young=2e11, poisson=0.3, density=7800.0)


def test_rigid_motions_cause_no_force_and_turns_are_measured():
    lower = aq.Solid("lower", aq.mesh.box((0.0, 0.1), (0.0, 0.1), (0.0, 0.2), cells=(1, 2, 1)), STEEL)
    upper = aq.Solid("upper", aq.mesh.box((0.0, 0.1), (0.0, 0.1), (0.25, 0.4), cells=(2, 1, 1)), STEEL)
    c, s = np.cos(0.3), np.sin(0.3)
    axes = np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])
    bushing = aq.Bushing(
        "b", lower.boundary("front"), upper.boundary("back"), stiffness=1.0, direction=axes,
        law={"rx": aq.springs.Cubic(1.0), "z": aq.springs.Cubic(2.0)},
    )  # fmt: skip
    assembly = assemble(aq.System([lower, upper], springs=[bushing]))
    spin, shift = np.array([0.1, 0.2, -0.3]), np.array([1.0, 2.0, 3.0])
    common = np.concatenate([(np.cross(spin, part.positions) + shift).ravel() for part in (lower, upper)])
    assert np.abs(assembly.links.rows @ common).max() < 1e-13
    assert np.abs(assembly.contact.basis @ common).max() < 1e-13
    turned = np.concatenate([np.zeros(lower.dof_count), np.cross(spin, upper.positions - bushing.place).ravel()])
    np.testing.assert_allclose(assembly.links.rows @ turned, np.append(np.zeros(3), -axes @ spin), atol=1e-13)
    np.testing.assert_allclose(assembly.contact.basis @ turned, [0.0, -(axes @ spin)[0]], atol=1e-13)


def beam(law, **more):
    section = aq.Section.rectangle(height=0.02, width=0.01)
    rod = aq.Beam.between("rod", (0.0, 0.0), (0.5, 0.0), 2, STEEL, section, **more)
    root = aq.Bushing("root", rod.boundary("left"), stiffness=(1e8, 1e8, 0.0), law={"rz": law})
    return aq.System([rod], springs=[root])


def test_a_moment_over_the_play_of_a_hinge():
    """The rotation of the root is the play and M/K beyond it."""
    law = aq.springs.Backlash(500.0, gap=2e-3)
    system = beam(law, end_loads={"right": lambda t: (0.0, -20.0 * t)})
    soft = aq.Spring("soft", system.parts[0].boundary("right"), stiffness=(0.0, 1e-6))
    system = aq.System(system.parts, springs=[*system.springs, soft])
    result = aq.simulate(system, aq.Static(), duration=1.0, step=0.25)
    root = result["spring/root"]
    assert root["moment"].values[-1, 0] == pytest.approx(10.0, rel=1e-6)
    assert root["rotation"].values[-1, 0] == pytest.approx(-(2e-3 + 10.0 / 500.0), rel=1e-6)


@pytest.mark.parametrize("law", [aq.springs.Backlash(2e3, gap=1e-3), aq.springs.BoucWen(2e3, 0.1, 600.0, 400.0)])
def test_balance_with_a_law_of_the_rotation(law):
    system = beam(law, distributed=(0.0, -20.0))
    result = aq.simulate(system, aq.Theta(0.5), duration=0.05, step=1e-4)
    energy = result["energy"]
    assert np.abs(result["balance"].values).max() < 1e-12
    assert np.abs(energy.sel(kind="scheme").values).max() < 1e-12 * np.abs(energy.values).max()


def test_one_line_for_what_is_not_possible():
    mass = aq.PointMasses("m", (0.0, 0.0), 1.0)
    with pytest.raises(aq.UserError, match="is a node without rotations"):
        aq.Bushing("b", mass.boundary("all"), stiffness=1.0)
    rod = beam(aq.springs.Cubic(1.0)).parts[0]
    with pytest.raises(aq.UserError, match="spring 'b': must be a part"):
        aq.Bushing("b", rod, stiffness=1.0)
    with pytest.raises(aq.UserError, match="bushing 'b': law of rz = 3: must be a law of springs"):
        aq.Bushing("b", rod.boundary("left"), stiffness=1.0, law={"rz": 3})
    with pytest.raises(aq.UserError, match="component of law"):
        aq.Bushing("b", rod.boundary("left"), stiffness=1.0, law={"ry": aq.springs.Cubic(1.0)})
    with pytest.raises(aq.UserError, match="right-handed unit vectors"):
        aq.Bushing("b", rod.boundary("left"), stiffness=1.0, direction=[[1.0, 0.0], [1.0, 0.0]])
