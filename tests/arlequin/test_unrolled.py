"""Figures of patches unrolled around an axis: each at its angle and height, with the values of its points."""

import numpy as np
import pytest
import xarray

from arlequin import plots
from arlequin.models.errors import UserError

RADIUS = 5e-3


def patch(angle, height):
    """A group with the pressure 1 MPa · (1 + height of the point in mm) on 5 × 4 points."""
    turn, rise = np.meshgrid(angle + np.linspace(-0.05, 0.05, 5), np.linspace(-1e-3, 1e-3, 4))
    place = np.stack([RADIUS * np.cos(turn), RADIUS * np.sin(turn), height + rise], axis=-1).reshape(-1, 3)
    pressure = 1e6 * (1.0 + 1e3 * rise.ravel())
    about = {"units": "Pa", "long_name": "contact pressure"}
    return xarray.Dataset(
        {
            "point_position": (("point", "axis"), place),
            "pressure": (("frame", "point"), np.stack([0.0 * pressure, pressure]), about),
            "status": (("frame", "point"), np.stack([0.0 * pressure, 1.0 + (rise.ravel() > 0.0)])),
        }
    )


@pytest.fixture
def result():
    groups = {"/": xarray.Dataset(coords={"frame_time": ("frame", [0.0, 2e-3])})}
    for name, place in {"east": (-1e-9, 0.0), "west_low": (np.pi, -0.01), "west_high": (-np.pi + 1e-9, 0.01)}.items():
        groups[f"interface/{name}"] = patch(*place)
    return xarray.DataTree.from_dict(groups)


def shown(figure):
    return {axes.get_title().split("\n")[0]: axes for axes in figure.axes if axes.get_visible() and axes.get_title()}


def test_panels_lie_at_their_angles_and_heights(result):
    panels = shown(plots.unrolled(result))
    places = {name: axes.get_subplotspec() for name, axes in panels.items()}
    rows = {name: place.rowspan.start for name, place in places.items()}
    columns = {name: place.colspan.start for name, place in places.items()}
    assert rows == {"west high": 0, "east": 1, "west low": 2}
    assert columns == {"east": 0, "west low": 1, "west high": 1}


def test_values_are_those_of_the_points(result):
    axes = shown(plots.unrolled(result, "pressure", ["west_low"]))["west low"]
    mesh = axes.collections[0]
    np.testing.assert_allclose(np.sort(mesh.get_array()), np.sort(np.repeat([0.0, 2 / 3, 4 / 3, 2.0], 5)), atol=1e-12)
    corners = mesh.get_datalim(axes.transData)
    np.testing.assert_allclose([corners.x0, corners.x1], [-0.25, 0.25], atol=1e-9)
    np.testing.assert_allclose([corners.y0, corners.y1], [-1.0, 1.0], atol=1e-9)


def test_statuses_are_points(result):
    axes = shown(plots.unrolled(result, "status"))["east"]
    assert len(axes.collections[0].get_offsets()) == 20
    assert len(np.unique(axes.collections[0].get_facecolors(), axis=0)) == 2


def test_what_is_not_there_is_refused(result):
    with pytest.raises(UserError, match="interface north: not in 3D with a field `pressure`"):
        plots.unrolled(result, interfaces=["north"])
    with pytest.raises(UserError, match="no interface in 3D with a field `worn_depth`"):
        plots.unrolled(result, "worn_depth")
