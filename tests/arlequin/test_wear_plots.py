"""Figures of wear: profiles and the heat of friction are those of the result."""

import numpy as np
import pytest

import arlequin as aq
from arlequin import plots
from arlequin.models.errors import UserError

PRESSURE, SPEED = 1e6, 1e-3


def rubbed(wear=True):
    """A block under 1 MPa, dragged at 1 mm/s from t = 0.2 s on."""
    material = aq.LinearElastic(young=1e9, poisson=0.0)
    block = aq.Solid("block", aq.mesh.rectangle((0.0, 0.02), (0.0, 0.01), cells=(4, 2)), material, plane="strain",
                     tractions={"top": lambda x, t: (0.0, -PRESSURE * min(5.0 * t, 1.0))},
                     imposed={"top": {"x": lambda t: SPEED * max(t - 0.2, 0.0)}})  # fmt: skip
    plane = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))
    contact = aq.Interface("contact", block.boundary("bottom"), plane, aq.Unilateral(level="gap"),
                           friction=aq.Coulomb(0.05) if wear else None,
                           wear=aq.Archard(1e-10) if wear else None)  # fmt: skip
    return aq.simulate(aq.System([block], interfaces=[contact]), aq.Static(), duration=1.2, step=0.1)


def test_profiles_are_drawn_evenly_in_what_is_worn_with_references():
    result = rubbed()
    figure = plots.worn(result, "contact", depth={"flat": ([0.0, 0.02], [1e-7, 1e-7])})
    profile, volume = figure.axes
    lines = profile.get_lines()
    assert lines[0].get_label() == "flat"
    np.testing.assert_allclose(lines[0].get_ydata(), 100.0)  # nm
    depths = np.array([line.get_ydata()[2] for line in lines[1:]])
    assert len(depths) <= 6
    np.testing.assert_allclose(depths[-1], 100.0, rtol=0.02)  # in the middle, k p s
    assert (np.diff(depths) > 0.0).all()
    assert volume.get_lines()[0].get_ydata()[-1] == pytest.approx(1e9 * 1e-10 * PRESSURE * 0.02 * 1e-3, rel=0.1)


def test_the_heat_of_friction_is_pressure_times_friction_times_speed():
    result = rubbed()
    figure = plots.friction_heat(result, "contact")
    heat = np.asarray(figure.axes[0].collections[0].get_array())
    areas = result["interface/contact"]["area"].values
    order = np.argsort(result["interface/contact"]["point_position"].values[:, 0])
    np.testing.assert_allclose(areas[order] @ heat[:, -3:], 0.05 * PRESSURE * 0.02 * SPEED, rtol=1e-3)
    assert np.abs(heat[:, 0]).max() < 1e-20


def test_what_has_nothing_to_show_is_refused():
    result = rubbed(wear=False)
    with pytest.raises(UserError, match="does not wear"):
        plots.worn(result, "contact")
    with pytest.raises(UserError, match="has no friction"):
        plots.friction_heat(result, "contact")
    with pytest.raises(UserError, match="not in the result; there are contact"):
        plots.worn(result, "other")
