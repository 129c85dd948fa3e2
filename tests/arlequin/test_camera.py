"""The eye of pictures in space: on the side of the contact, with the right axis upwards, for every way to draw."""

import json
import re
from argparse import Namespace
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import xarray

import arlequin as aq
from arlequin import plots
from arlequin.cases.cli.outputs import view_of
from arlequin.plots.camera import NAMES, Camera, camera_of, preferring
from arlequin.viewer.page import page
from arlequin.viewer.scene import scene_of

STEEL = aq.LinearElastic(young=2e11, poisson=0.3, density=7800.0)
SIDES = {"left": (0, -1), "right": (0, 1), "bottom": (1, -1), "top": (1, 1), "back": (2, -1), "front": (2, 1)}
SIZE = (0.03, 0.02, 0.025)


def pressed(side: str, kind: str = "hex", multiplier: Any = None, gravity: Any = None) -> xarray.DataTree:
    """A block whose boundary `side` hits a plane."""
    axis, sign = SIDES[side]
    normal = sign * np.eye(3)[axis]
    block = aq.Solid("block", aq.mesh.box(*((0.0, size) for size in SIZE), (3, 2, 2), kind), STEEL)
    wall = aq.RigidPlane(point=np.array(SIZE) * (sign > 0), normal=-normal)
    law = aq.Asperities(1e13, 1.0, 0.0) if multiplier == "gauss" else aq.Unilateral()
    touch = aq.Interface("touch", block.boundary(side), wall, law, multiplier=multiplier)
    system = aq.System([block], interfaces=[touch], velocity=tuple(normal), gravity=gravity)
    return aq.simulate(system, aq.Theta(0.5), duration=3e-7, step=1e-7)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("side", "kind", "multiplier"),
    [
        ("left", "hex", None),
        ("right", "tet", "gauss"),
        ("bottom", "hex", "P1"),
        ("top", "tet", None),
        ("back", "hex", "gauss"),
        ("front", "hex", "P0"),
    ],
)
def test_the_contact_is_seen(side: str, kind: str, multiplier: Any) -> None:
    """The direction to the eye is less than 60° off the outward normal in pictures, 73° at most."""
    result = pressed(side, kind, multiplier)
    axis, sign = SIDES[side]
    camera = camera_of(result)
    assert sign * camera.direction[axis] > 0.3
    panel = plots.shape(result).axes[0]
    panel.figure.draw_without_rendering()
    eye = -np.asarray(panel.get_proj())[2, :3]
    assert sign * eye[axis] > 0.3 * np.linalg.norm(eye)
    found = re.search(r'id="data">(.*?)</script>', page(scene_of(result), "t"), re.DOTALL)
    data = json.loads(found[1].replace("<\\/", "</"))  # type: ignore[index]
    np.testing.assert_allclose(data["rotation"], camera.rotation, atol=1e-9)


def test_upwards_is_against_gravity_then_y_of_a_floor_in_y_then_z() -> None:
    up = {side: camera_of(pressed(side)) for side in ("right", "bottom", "back")}
    assert [up[side].axis for side in ("right", "bottom", "back")] == [2, 1, 2]
    for gravity, axis, sign in (((0.0, -9.81, 0.0), 1, 1.0), ((0.0, 0.0, 9.81), 2, -1.0), ((-9.0, 0.0, 1.0), 0, 1.0)):
        camera = camera_of(pressed("right", gravity=gravity))
        assert (camera.axis, camera.sign) == (axis, sign)
        assert camera.rotation[1] @ np.array(gravity) < 0.0  # the top of the picture is against gravity
    shaken = camera_of(pressed("right", gravity=lambda t: (9.0 * np.cos(2 * np.pi * t / 3e-7), 0.0, 0.0)))
    assert shaken.axis == 2
    grown = camera_of(pressed("right", gravity=lambda t: (0.0, -1e7 * t, 0.0)))
    assert grown.axis == 1


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_matplotlib_looks_as_the_camera_says(axis: int, sign: float) -> None:
    from matplotlib.figure import Figure

    camera = Camera(25.0, 40.0, axis, sign)
    panel: Any = Figure().add_subplot(projection="3d", proj_type="ortho")
    camera.apply_to(panel)
    panel.set(xlim=(0, 1), ylim=(0, 1), zlim=(0, 1), box_aspect=(1, 1, 1))
    matrix = np.asarray(panel.get_proj())[:3, :3]
    rows = matrix / np.linalg.norm(matrix, axis=1)[:, None]
    np.testing.assert_allclose(rows * np.array([[1.0], [1.0], [-1.0]]), camera.rotation, atol=1e-9)
    np.testing.assert_allclose(np.cross(*camera.rotation[:2]), camera.direction, atol=1e-12)


def test_named_directions() -> None:
    lying, standing = pressed("right"), pressed("bottom")
    expected = {
        "front": ([0, -1, 0], [0, 0, 1]),
        "back": ([0, 1, 0], [0, 0, -1]),
        "right": ([1, 0, 0], [1, 0, 0]),
        "left": ([-1, 0, 0], [-1, 0, 0]),
        "top": ([0, 0, 1], [0, 1, 0]),
        "bottom": ([0, 0, -1], [0, -1, 0]),
    }
    for name, directions in expected.items():
        for result, direction in zip((lying, standing), directions, strict=True):
            np.testing.assert_allclose(camera_of(result, name).direction, direction, atol=1e-12)
    for name, axis, sign in (("x", 0, 1), ("-y", 1, -1), ("z", 2, 1), ("-z", 2, -1)):
        for result in (lying, standing):
            np.testing.assert_allclose(camera_of(result, name).direction, sign * np.eye(3)[axis], atol=1e-12)
    np.testing.assert_allclose(np.abs(camera_of(lying, "isometric").direction), 3**-0.5)
    assert camera_of(lying, "contact") == camera_of(lying)
    assert (camera_of(lying, (12.0, 34.0)).elevation, camera_of(lying, (12.0, 34.0)).azimuth) == (12.0, 34.0)
    with preferring("top"):
        assert camera_of(lying) == camera_of(lying, "top") and camera_of(lying, "x") != camera_of(lying)


def test_two_deformable_parts_are_seen_from_above_and_contact_all_around_as_usual() -> None:
    """Contact with normals that cancel, and with a part that hides it, says nothing of the side."""
    low = aq.Solid("low", aq.mesh.box((0.0, 0.02), (0.0, 0.02), (0.0, 0.01), (2, 2, 1)), STEEL)
    high = aq.Solid("high", aq.mesh.box((0.0, 0.02), (0.0, 0.02), (0.01, 0.02), (2, 2, 1)), STEEL)
    touch = aq.Interface("touch", high.boundary("back"), low.boundary("front"), aq.Unilateral())
    system = aq.System([low, high], interfaces=[touch], velocity={"high": (0.0, 0.0, -1.0)})
    pair = aq.simulate(system, aq.Theta(0.5), duration=2e-7, step=1e-7)
    assert camera_of(pair).direction[2] > 0.3
    planes = [aq.RigidPlane(point=(0.02 * (s > 0), 0.0, 0.0), normal=(-s, 0.0, 0.0)) for s in (-1.0, 1.0)]
    sides = [
        aq.Interface(n, low.boundary(n), p, aq.Unilateral()) for n, p in zip(("left", "right"), planes, strict=True)
    ]
    squeezed = aq.simulate(aq.System([low], interfaces=sides), aq.Theta(0.5), duration=2e-7, step=1e-7)
    free = aq.simulate(aq.System([low], velocity=(1.0, 0.0, 0.0)), aq.Theta(0.5), duration=2e-7, step=1e-7)
    assert camera_of(squeezed) == camera_of(free) == Camera(35.0, -60.0)


@pytest.mark.parametrize("thin", [0, 1, 2])
def test_plates_are_seen_from_their_face(thin: int) -> None:
    sizes = np.where(np.arange(3) == thin, 0.001, 0.05)
    plate = aq.Solid("plate", aq.mesh.box(*((0.0, float(size)) for size in sizes), (2, 2, 2)), STEEL)
    result = aq.simulate(aq.System([plate], velocity=(1.0, 0.0, 0.0)), aq.Theta(0.5), duration=2e-7, step=1e-7)
    camera = camera_of(result)
    assert camera.axis == 2 and abs(camera.direction[thin]) > 0.5


def test_each_way_to_draw_takes_a_view(tmp_path: Any) -> None:
    result = pressed("right")
    for figure in (plots.shape(result, view=(10.0, 20.0)), plots.overview(result, view=(10.0, 20.0))["shape"]):
        assert (figure.axes[0].elev, figure.axes[0].azim) == (10.0, 20.0)
    assert plots.animation(result, tmp_path / "a.gif", frames=2, view="top").is_file()
    assert aq.view(result, view="top")._scene.camera == camera_of(result, "top")
    bent = replace(aq.mesh.box((-0.05, 0.05), (0.0, 0.05), (0.0, 0.02), (6, 3, 1)))
    angle, radius = bent.p[0] / 0.06, 0.06 + bent.p[2]
    bent = replace(bent, doflocs=np.stack([radius * np.sin(angle), bent.p[1], -radius * np.cos(angle)]))
    part = aq.Solid("part", bent, STEEL)
    wall = aq.RigidPlane(point=(0.0, 0.0, -0.0801), normal=(0.0, 0.0, 1.0))
    touch = aq.Interface("touch", part.boundary("front"), wall, aq.Unilateral())
    hit = aq.simulate(
        aq.System([part], interfaces=[touch], velocity=(0.0, 0.0, -20.0)), aq.Theta(0.5), duration=6e-6, step=1e-6
    )
    panel: Any = plots.contact_map(hit, zoom=False).axes[0]
    assert panel.elev < 0.0  # from below, where its front is
    assert plots.contact_map(hit, zoom=False, view="top").axes[0].elev == 90.0  # type: ignore[attr-defined]


@pytest.mark.parametrize("view", ["above", (1.0,), (1.0, float("nan")), 3.0, ("a", "b"), [1.0, 2.0, 3.0]])
def test_other_views_are_refused(view: Any) -> None:
    result = pressed("right")
    for draw in (plots.shape, plots.overview, plots.contact_map, aq.view):
        with pytest.raises(aq.UserError, match=r"view = .*must be .*isometric") as error:
            draw(result, view=view)
        assert "\n" not in str(error.value) and all(name in str(error.value) for name in NAMES)


@pytest.mark.parametrize(
    ("text", "view"),
    [(None, None), ("top", "top"), ("-x", "-x"), ("30,-60", (30.0, -60.0)), (" 1e1 , 2 ", (10.0, 2.0))],
)
def test_the_option_of_the_command_line(text: str | None, view: Any) -> None:
    assert view_of(Namespace(view=text)) == view


@pytest.mark.parametrize("text", ["above", "1,b", ",", "nan,1", "1,2,3", ""])
def test_other_options_are_refused(text: str) -> None:
    with pytest.raises(aq.UserError, match=r"view = .*must be") as error:
        view_of(Namespace(view=text))
    assert "\n" not in str(error.value)
