"""Body forces and tractions: resultants and moments in closed form; imposed motions."""

import numpy as np
import pytest

from arlequin.models import mesh
from arlequin.models.errors import UserError
from arlequin.models.fem.bar import Bar
from arlequin.models.fem.solid import Solid
from arlequin.models.materials.elastic import LinearElastic
from arlequin.models.part import Weighting

MATERIAL = LinearElastic(young=2.0, poisson=0.2, density=3.0)


def nodal(part, t=0.0, weighting=None):
    return part.assemble(weighting).load(t).reshape(-1, part.components)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("kind", ["tri", "quad"])
def test_resultants_in_the_plane(kind, order):
    """Constant and varying loads on 2 × 1 × 0.1: forces, and the moment of a linear traction."""
    plain = mesh.rectangle((0, 2), (0, 1), cells=(3, 4), kind=kind)
    constant = Solid(
        "a",
        plain,
        MATERIAL,
        plane="stress",
        order=order,
        thickness=0.1,
        body_force=(2.0, -3.0),
        tractions={"right": (5.0, 1.0)},
    )
    assert nodal(constant).sum(axis=0) == pytest.approx([2 * 0.2 + 5 * 0.1, -3 * 0.2 + 0.1], rel=1e-13)
    varying = Solid(
        "a",
        plain,
        MATERIAL,
        plane="stress",
        order=order,
        thickness=0.1,
        body_force=lambda x, t: (t * x[0], 0.0),
        tractions={"right": lambda x, t: (x[1], np.cos(t) + 0 * x[1])},
    )
    loads = nodal(varying, t=2.0)
    assert loads.sum(axis=0) == pytest.approx([2 * 2 * 0.1 + 0.05, np.cos(2.0) * 0.1], rel=1e-13)
    y = varying.positions[:, 1]
    # ∫ y·y over the side, and ∫ t x y over the area
    assert loads[:, 0] @ y == pytest.approx(0.1 / 3 + 2 * 2 * 0.5 * 0.1, rel=1e-13)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("kind", ["tet", "hex"])
def test_resultants_in_space(kind, order):
    plain = mesh.box((0, 2), (0, 1), (0, 3), cells=(2, 2, 2), kind=kind)
    part = Solid(
        "a",
        plain,
        MATERIAL,
        order=order,
        body_force=(0.0, 0.0, -4.0),
        tractions={"front": (1.0, 0.0, 2.0), "top": lambda x, t: (0.0, x[0], 0.0)},
    )
    loads = nodal(part)
    assert loads.sum(axis=0) == pytest.approx([2.0, 2 * 3, -4 * 6 + 4.0], rel=1e-13)
    assert loads[:, 1] @ part.positions[:, 0] == pytest.approx(8 / 3 * 3, rel=1e-13)


def test_axisymmetric_resultants():
    """Pressure on the end of a cylinder of radius 0.3 and along its side."""
    plain = mesh.rectangle((0, 0.3), (0, 0.5), cells=(3, 2))
    part = Solid("a", plain, MATERIAL, plane="axisymmetric", tractions={"top": (0.0, 2.0), "right": (7.0, 0.0)})
    expected = [7 * 2 * np.pi * 0.3 * 0.5, 2 * np.pi * 0.09]
    assert nodal(part).sum(axis=0) == pytest.approx(expected, rel=1e-13)


def test_bar_loads():
    """Stress × section at the end; a body force linear in x has the moments of a triangle."""
    bar = Bar("bar", mesh.interval(0, 2, cells=5), MATERIAL, section=0.5, tractions={"right": 4.0})
    expected = np.zeros(6)
    expected[5] = 2.0
    assert bar.assemble().load(1.0) == pytest.approx(expected)
    heavy = Bar("bar", mesh.interval(0, 2, cells=5), MATERIAL, section=0.5, body_force=lambda x, t: x[0])
    loads = heavy.assemble().load(0.0)
    assert [loads.sum(), loads @ heavy.positions[:, 0]] == pytest.approx([0.5 * 2, 0.5 * 8 / 3], rel=1e-13)


@pytest.mark.parametrize("kind", ["tri", "quad"])
def test_weighted_loads_are_a_partition(kind):
    """Two overlaid parts with weights x/2 and 1 − x/2 carry each load once; the first carries ∫ x/2."""
    plain = mesh.rectangle((0, 2), (0, 1), cells=(4, 3), kind=kind)
    part = Solid("a", plain, MATERIAL, plane="strain", body_force=(1.0, 0.0), tractions={"top": (0.0, -3.0)})
    w = part.quadrature_points()[0] / 2
    first, second = (nodal(part, weighting=Weighting(stiffness=a, mass=a, load=a)) for a in (w, 1 - w))
    assert first + second == pytest.approx(nodal(part), abs=1e-14)
    assert first.sum(axis=0) == pytest.approx([1.0, -3.0], rel=1e-13)
    along_top = first[:, 1] @ part.positions[:, 0]
    assert along_top == pytest.approx(-3 * 8 / 6, rel=1e-13)


def test_load_is_a_fresh_array():
    assembled = Bar("bar", mesh.interval(0, 1, cells=2), MATERIAL, body_force=1.0).assemble()
    assembled.load(0.0)[:] = 7.0
    assert assembled.load(0.0).sum() == pytest.approx(1.0)


def test_imposed_motions():
    plain = mesh.rectangle((0, 2), (0, 1), cells=(2, 2))
    part = Solid(
        "a",
        plain,
        MATERIAL,
        plane="strain",
        imposed={"left": {"x": 0.0, "y": lambda t: 2 * t}},
        imposed_velocity={"right": {"x": 3}},
    )
    found = {
        (motion.kind, dof): motion.function(2.0)[k]
        for motion in part.assemble().imposed
        for k, dof in enumerate(motion.dofs)
    }
    x = part.positions[:, 0]
    expected = {("displacement", 2 * n): 0.0 for n in np.flatnonzero(x == 0)}
    expected |= {("displacement", 2 * n + 1): 4.0 for n in np.flatnonzero(x == 0)}
    expected |= {("velocity", 2 * n): 3.0 for n in np.flatnonzero(x == 2)}
    assert found == expected


def test_second_order_sides_are_imposed_at_their_mid_nodes():
    part = Solid(
        "a",
        mesh.box((0, 1), (0, 1), (0, 1), cells=(2, 2, 2)),
        MATERIAL,
        order=2,
        imposed={"back": {"z": 0.0}},
    )
    (motion,) = part.assemble().imposed
    assert sorted(motion.dofs) == sorted(3 * np.flatnonzero(part.positions[:, 2] == 0) + 2)


def test_axisymmetric_components_by_name():
    plain = mesh.rectangle((0, 1), (0, 1), cells=(1, 1))
    motions = {"left": {"r": 0.0}, "bottom": {"z": 0.0}}
    part = Solid("a", plain, MATERIAL, plane="axisymmetric", imposed=motions)
    dofs = np.concatenate([motion.dofs for motion in part.assemble().imposed])
    assert sorted(dofs % 2) == [0, 0, 1, 1]


def test_corner_of_two_clamped_sides():
    """Equal numbers on a shared corner are one condition."""
    clamped = {"x": 0.0, "y": 0.0}
    part = Solid(
        "a",
        mesh.rectangle((0, 1), (0, 1), cells=(2, 2)),
        MATERIAL,
        plane="strain",
        imposed={"left": clamped, "bottom": clamped},
    )
    dofs = np.concatenate([motion.dofs for motion in part.assemble().imposed])
    assert len(dofs) == len(set(dofs)) == 10


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"imposed": {"left": {"x": 0.0}, "bottom": {"x": 1.0}}}, "already taken by"),
        ({"imposed": {"left": {"x": 0.0}}, "imposed_velocity": {"left": {"x": 0.0}}}, "already taken by"),
        ({"imposed": {"left": {"x": lambda t: t}, "bottom": {"x": lambda t: t}}}, "already taken by"),
        ({"imposed": {"left": {"z": 0.0}}}, "the components are x, y"),
        ({"imposed": {"left": 0.0}}, "must map components"),
        ({"imposed": {"end": {"x": 0.0}}}, "no boundary is named 'end'"),
        ({"imposed": {"left": {"x": float("inf")}}}, "inf: must be finite"),
        ({"imposed": {"left": {"x": lambda t: float("nan")}}}, "at t = 0 s = nan"),
    ],
)
def test_bad_motions(arguments, text):
    with pytest.raises(UserError, match=text):
        Solid("a", mesh.rectangle((0, 1), (0, 1), cells=(2, 2)), MATERIAL, plane="strain", **arguments)
