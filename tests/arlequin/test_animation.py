"""Animations: what is drawn are the displaced nodes and the field of the result; the file has the frames asked for."""

import numpy as np
import pytest
import xarray
from matplotlib.animation import writers
from PIL import Image

import arlequin as aq
from arlequin import plots
from arlequin.models.errors import UserError
from arlequin.plots.moving import groups_of, magnification, moving

STEEL = aq.LinearElastic(young=2e11, poisson=0.3, density=7800)


def frames_of(path) -> int:
    with Image.open(path) as image:
        assert image.format == "GIF"
        return image.n_frames


def thrown(*parts, steps: int = 12, velocity=(1000.0, 300.0)) -> xarray.DataTree:
    """Parts that fly at the velocity, (x, y) m/s, and do not turn."""
    starts = {part.name: np.resize([*velocity, 0, 0, 0, 0], (1, part.components)) for part in parts}
    return aq.simulate(aq.System(list(parts), velocity=starts), aq.Theta(0.5), duration=steps * 1e-6, step=1e-6)


def parts_of(axes: int) -> tuple:
    x, y, z = (0.0, 0.02), (0.0, 0.01), (0.0, 0.01)
    if axes == 1:
        return tuple(aq.Bar(name, aq.mesh.interval(*x, 4), STEEL) for name in ("one", "two"))
    if axes == 2:
        solid = aq.Solid("solid", aq.mesh.rectangle(x, y, (4, 2)), STEEL, plane="strain")
        return solid, aq.PointMasses("masses", [[0.0, 0.02], [0.01, 0.02]], [1.0, 2.0])
    hexahedra = aq.Solid("hex", aq.mesh.box(x, y, z, (2, 1, 1)), STEEL)
    tetrahedra = aq.Solid("tet", aq.mesh.box((0.03, 0.04), y, z, (1, 1, 1), "tet"), STEEL)
    beam = aq.Beam.between("beam", (0.0, 0.02, 0.0), (0.04, 0.02, 0.0), 4, STEEL, aq.Section.rectangle(1e-3, 1e-3))
    return hexahedra, tetrahedra, beam, aq.PointMasses("mass", [[0.0, 0.03, 0.0]], [1.0])


@pytest.mark.sampled(1)
@pytest.mark.parametrize("axes", [1, 2, 3])
def test_a_film_has_the_frames_asked_for(axes, tmp_path):
    result = thrown(*parts_of(axes))
    seen = []
    path = plots.animation(
        result, tmp_path / "new" / "a.gif", frames=4, progress=lambda n, most: seen.append((n, most))
    )
    assert frames_of(path) == 4 and seen == [(1, 4), (2, 4), (3, 4), (4, 4)]
    with Image.open(path) as image:
        first = np.asarray(image.convert("RGB"), dtype=int)
        image.seek(3)
        assert np.abs(np.asarray(image.convert("RGB"), dtype=int) - first).max() > 50  # it moves


def test_all_frames_where_there_are_few_and_a_field_of_cells(tmp_path):
    metal = aq.J2(young=2e11, poisson=0.3, density=7800, yield_stress=1e8)
    solid = aq.Solid("solid", aq.mesh.rectangle((0.0, 0.02), (0.0, 0.01), (4, 2)), metal, plane="strain")
    result = thrown(solid, steps=2)
    assert frames_of(plots.animation(result, tmp_path / "a.gif", field="mises_stress", magnify=2.0)) == 3
    group = result["part/solid"].to_dataset()
    drawn = moving(group, "mises_stress", np.array([2]), 2.0, 2, 0)
    np.testing.assert_array_equal(drawn.values[0], group["mises_stress"].values[2])


def test_pieces_are_the_displaced_cells_and_faces():
    frames = np.array([3, 12])
    group = thrown(*parts_of(3))["part/hex"].to_dataset()
    drawn = moving(group, "velocity", frames, 5.0, 3, 0)
    np.testing.assert_array_equal(drawn.places, group["position"].values + 5.0 * group["displacement"].values[frames])
    assert drawn.pieces.shape == (10, 4)  # two cubes hide one face each
    np.testing.assert_allclose(drawn.values, np.hypot(1000.0, 300.0))
    for face in group["position"].values[drawn.pieces]:
        assert any(np.ptp(face[:, i]) == 0 and face[0, i] in (0.0, end) for i, end in enumerate((0.02, 0.01, 0.01)))


def test_bars_lie_above_each_other():
    group = thrown(*parts_of(1))["part/two"].to_dataset()
    drawn = moving(group, "no field", np.array([12]), 1.0, 1, 1)
    np.testing.assert_allclose(drawn.places[0, :, 0], np.linspace(0.0, 0.02, 5) + 1000.0 * 12e-6)
    assert (drawn.places[0, :, 1] == 1.0).all() and np.isnan(drawn.values).all()


def test_small_deflections_of_beams_are_magnified():
    section = aq.Section.rectangle(1e-3, 1e-3)
    beam = aq.Beam("beam", aq.mesh.interval(0.0, 2.0, 4), STEEL, section, dimension=2)
    # 12 µs at 100 m/s are 1.2 mm; 5 % of 2 m are 83 times that
    result = thrown(beam, velocity=(0.0, 100.0))
    assert magnification(groups_of(result, None).values(), np.array([0, 12])) == 50.0
    fast = thrown(beam, velocity=(0.0, 1e4))
    assert magnification(groups_of(fast, None).values(), np.array([0, 12])) == 1.0
    body = aq.RigidBody("body", [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]], density=7800)
    result = aq.simulate(aq.System([body], velocity=(0.0, 1.0)), aq.Theta(1.0), duration=1e-3, step=1e-4)
    assert magnification(groups_of(result, None).values(), np.array([0, 10])) == 1.0
    solid = thrown(*parts_of(2))
    assert magnification(groups_of(solid, None).values(), np.array([0, 1])) == 1.0


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        ("a.png", {}, "a.png: must end in .gif or .mp4"),
        ("a.gif", {"field": "heat"}, "no part of the result has a field `heat`"),
        ("a.gif", {"parts": ("wall",)}, "part wall: not in the result; there are solid, masses"),
        ("a.gif", {"frames": 0}, "frames = 0"),
        ("a.gif", {"magnify": -1.0}, "magnify = -1.0"),
    ],
)
def test_bad_input_is_one_line(name, options, says, tmp_path):
    with pytest.raises(UserError, match=says):
        plots.animation(thrown(*parts_of(2), steps=1), tmp_path / name, **options)
    assert not list(tmp_path.iterdir())


def test_mp4_only_where_ffmpeg_is(tmp_path, monkeypatch):
    monkeypatch.setattr(type(writers), "is_available", lambda self, name: name != "ffmpeg")
    with pytest.raises(UserError, match=r"a\.mp4: needs ffmpeg, which is not installed"):
        plots.animation(thrown(*parts_of(1), steps=1), tmp_path / "a.mp4")


def test_nothing_to_animate(tmp_path):
    with pytest.raises(UserError, match="nothing to animate"):
        plots.animation(xarray.DataTree(xarray.Dataset(coords={"time": [0.0]})), tmp_path / "a.gif")
