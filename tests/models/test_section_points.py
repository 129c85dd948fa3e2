"""Points of a beam's sections: rigid motions, Timoshenko's deflection between nodes, reciprocity, and bad input."""

import numpy as np
import pytest

import arlequin as aq

STEEL = aq.LinearElastic(young=2.1e11, poisson=0.3, density=7800.0)
TUBE = aq.Section.tube(5e-3, 4.4e-3, 0.3)
OFFSETS = np.array([(3e-3, 0.0, 4e-3), (0.0, 5e-3, 0.0), (1e-3, 2e-3, 3e-3)])
AT = (0.0, 0.13, 0.5)


def beam(dimension=3, points=None, **options):
    return aq.Beam(
        "rod", aq.mesh.interval(0.0, 0.5, cells=4), STEEL, TUBE, dimension=dimension, points=points or {}, **options
    )


def test_rigid_motion_in_space():
    """U + ω × (x − a) at every node makes U + ω × (x_p − a) of every point, on a beam in any direction."""
    rod = beam(points={"skin": aq.SectionPoints(AT, OFFSETS)}, direction=(1.0, 2.0, -2.0), origin=(0.1, 0.2, 0.3))
    skin = rod.boundary("skin")
    omega, drift, centre = np.array([0.3, -0.2, 0.7]), np.array([1.0, 2.0, 3.0]), np.array([0.4, -0.1, 0.2])
    nodal = np.column_stack([drift + np.cross(omega, rod.positions - centre), np.tile(omega, (rod.node_count, 1))])
    expected = drift + np.cross(omega, skin.positions - centre)
    np.testing.assert_allclose((skin.motion @ nodal.ravel()).reshape(-1, 3), expected, rtol=0, atol=1e-14)
    np.testing.assert_allclose(skin.positions, rod.place(np.array(AT)).T + OFFSETS, atol=1e-16)


def test_rigid_motion_in_the_plane():
    rod = beam(2, {"skin": aq.SectionPoints(AT, OFFSETS[:, :2])})
    skin = rod.boundary("skin")
    nodal = np.column_stack([0.1 - 0.5 * rod.positions[:, 1], 0.2 + 0.5 * rod.positions[:, 0], np.full(5, 0.5)])
    expected = np.array([0.1, 0.2]) + 0.5 * np.column_stack([-skin.positions[:, 1], skin.positions[:, 0]])
    np.testing.assert_allclose((skin.motion @ nodal.ravel()).reshape(-1, 2), expected, rtol=0, atol=1e-15)


def test_a_force_on_the_skin_between_nodes_bends_as_the_theory_says():
    """A cantilever under an axial force F at the offset R within its span: curvature F R / EI up to there, then none.

    A soft spring of force F = k R θ stretches the rod up to its point as that force does.
    """
    where, radius, stiffness = 0.31, 5e-3, 1.0
    rod = beam(
        points={"skin": aq.SectionPoints(where, (0.0, radius, 0.0))},
        imposed={"left": dict.fromkeys(("x", "y", "z", "rx", "ry", "rz"), 0.0)},
        end_loads={"right": lambda t: (0.0, 7.0 * t, 0.0)},
    )
    spring = aq.Spring("spring", rod.boundary("skin"), stiffness=(stiffness, 0.0, 0.0))
    result = aq.simulate(aq.System([rod], springs=[spring]), aq.Static(), duration=1.0, step=1.0)
    u = result["part/rod/displacement"].values[-1]
    along, bending, shear = rod.rigidities[0], rod.rigidities[5], rod.rigidities[1]
    # the tip's force alone: u_x of the skin = −R θ(where); the spring's force is smaller by 1e-7
    slope = 7.0 * (0.5 * where - 0.5 * where**2) / bending
    pull = stiffness * radius * slope
    assert pull / along * where < 1e-6 * radius * slope
    tip = 7.0 * (0.5**3 / (3 * bending) + 0.5 / shear)
    np.testing.assert_allclose(u[-1, 1], tip, rtol=1e-6)
    np.testing.assert_allclose(u[:, 0], where * pull / along * np.minimum(rod.positions[:, 0] / where, 1.0), rtol=1e-3)


def test_deflection_between_nodes_is_that_of_the_cubic():
    """Tip load on a cantilever: v(s) = F (L s²/2 − s³/6)/EI + F s/κGA at any s, exact for one cell."""
    at = np.linspace(0.0, 0.5, 11)
    rod = beam(
        2, {"line": aq.SectionPoints(at)}, imposed={"left": dict.fromkeys(("x", "y", "rz"), 0.0)},
        end_loads={"right": lambda t: (0.0, 3.0 * t)},
    )  # fmt: skip
    result = aq.simulate(aq.System([rod]), aq.Static(), duration=1.0, step=1.0)
    rod_data = result["part/rod"].dataset.isel(frame=-1)
    u = np.concatenate([rod_data["displacement"].values, rod_data["rotation"].values.reshape(-1, 1)], axis=1).ravel()
    expected = 3.0 * ((0.25 * at**2 - at**3 / 6) / rod.rigidities[2] + at / rod.rigidities[1])
    np.testing.assert_allclose((rod.boundary("line").motion @ u)[1::2], expected, rtol=1e-9, atol=1e-18)


def test_modal_parts_keep_them():
    """A static shape of the points makes the deflection under a force on them exact with few modes."""
    points = {"mid": aq.SectionPoints(0.2, (0.0, 0.0, 5e-3))}
    held = {"left": dict.fromkeys(("x", "y", "z", "rx", "ry", "rz"), 0.0)}
    rod = beam(points=points, imposed=held)
    found = []
    for part in (rod, aq.Modal(rod, 2, static=[rod.boundary("mid")])):
        mid = part.boundary("mid")
        pull = aq.PointMasses("pull", mid.positions, 1.0, forces={"all": lambda t: (t, 2.0 * t, 3.0 * t)})
        spring = aq.Spring("link", mid, pull.boundary("all"), stiffness=1e4)
        result = aq.simulate(aq.System([part, pull], springs=[spring]), aq.Static(), duration=1.0, step=1.0)
        found.append(result["part/pull/displacement"].values[-1, 0])
    np.testing.assert_allclose(found[1], found[0], rtol=1e-9)


@pytest.mark.parametrize(
    "points, names",
    [
        ({"a": aq.SectionPoints(0.6)}, ("points 'a' at", "[0, 0.5]")),
        ({"a": aq.SectionPoints(0.1, (1.0, 2.0))}, ("offsets", "3 components")),
        ({"left": aq.SectionPoints(0.1)}, ("points['left']", "not left or right")),
        ({"a": 0.1}, ("points['a']", "SectionPoints")),
    ],
)
def test_bad_input(points, names):
    with pytest.raises(aq.UserError) as error:
        beam(points=points)
    assert all(name in str(error.value) for name in names)


def test_no_loads_or_motions_on_points():
    for wrong in ({"end_loads": {"mid": (1.0, 0.0, 0.0)}}, {"imposed": {"mid": {"x": 0.0}}}):
        with pytest.raises(aq.UserError, match="no boundary is named 'mid'"):
            beam(points={"mid": aq.SectionPoints(0.1)}, **wrong)
