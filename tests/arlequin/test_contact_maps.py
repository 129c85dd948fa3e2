"""Maps of contact fields on flat and curved surfaces: the facets of the slave with the values at their nodes."""

from dataclasses import replace

import meshio
import numpy as np
import pytest

import arlequin as aq
from arlequin import plots
from arlequin.plots.contact_map import _refined, _triangulated, is_curved
from arlequin.results.history import surface_cells

STEEL = aq.LinearElastic(young=2e11, poisson=0.3, density=7800.0)
RADIUS = 0.06


def slab(kind: str = "hex", order: int = 1, bent: bool = False, cells=(6, 3, 1)) -> aq.Solid:
    """A slab, or the same bent about the y axis: its side `front` is then part of a cylinder."""
    mesh = aq.mesh.box((-0.05, 0.05), (0.0, 0.05), (0.0, 0.02), cells, kind)
    if bent:
        angle, radius = mesh.p[0] / RADIUS, RADIUS + mesh.p[2]
        mesh = replace(mesh, doflocs=np.stack([radius * np.sin(angle), mesh.p[1], -radius * np.cos(angle)]))
    return aq.Solid("slab", mesh, STEEL, order=order)


def struck(part: aq.Solid, bent: bool):
    """Its side `front` hits a plane with one line of nodes, or with all of them."""
    level, way = (-0.0801, -1.0) if bent else (0.0201, 1.0)
    wall = aq.RigidPlane(point=(0.0, 0.0, level), normal=(0.0, 0.0, -way))
    touch = aq.Interface("touch", part.boundary("front"), wall, aq.Unilateral())
    system = aq.System([part], interfaces=[touch], velocity=(0.0, 0.0, 20.0 * way))
    return aq.simulate(system, aq.Theta(0.5), duration=1e-5, step=1e-6)


def area(places, triangles) -> float:
    a, b, c = np.moveaxis(places[triangles], 1, 0)
    return 0.5 * float(np.linalg.norm(np.cross(b - a, c - a), axis=1).sum())


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("kind", ["hex", "tet"])
def test_facets_cover_the_surface_and_use_all_of_its_nodes(kind, order):
    part = slab(kind, order)
    surface = part.boundary("front")
    cells = surface_cells(surface, surface.positions)
    assert set(cells.ravel()) == set(range(len(surface.nodes)))
    triangles = cells if kind == "tet" else np.concatenate([cells[:, [0, 1, 2]], cells[:, [0, 2, 3]]])
    assert area(surface.positions, triangles) == pytest.approx(0.1 * 0.05, rel=1e-12)
    a, b, c = np.moveaxis(surface.positions[triangles], 1, 0)
    assert (np.cross(b - a, c - a)[:, 2] > 0.0).all()  # outward
    assert surface_cells(surface, surface.positions[:-1]) is None


@pytest.mark.parametrize("bent", [False, True])
def test_maps_of_flat_and_curved_surfaces(bent, tmp_path):
    """A linear field is exact in the middles of the triangles, and the area is that of the chords."""
    part = slab(bent=bent)
    result = struck(part, bent)
    group = result["interface/touch"].dataset
    places = group["point_position"].values
    assert is_curved(places) is bent
    assert float(group["pressure"].max()) > 1e8
    ramp = 3.0 + places @ np.array([1.0, -2.0, 0.5])
    points, values, triangles = _triangulated(group, places, ramp)
    corners, middle = _refined(points, values, triangles)
    np.testing.assert_allclose(middle, 3.0 + corners.mean(axis=1) @ np.array([1.0, -2.0, 0.5]), rtol=1e-12)
    sides = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    whole = 0.5 * float(np.linalg.norm(sides, axis=1).sum())
    angle = 0.1 / 6 / RADIUS
    chords = 6 * 2 * (RADIUS + 0.02) * np.sin(0.5 * angle) * 0.05
    assert whole == pytest.approx(chords if bent else 0.005, rel=1e-9)
    for field in ("pressure", "status", "gap"):
        figure = plots.contact_map(result, field)
        assert hasattr(figure.axes[0], "get_zlim") is bent
    aq.results.export_vtu(result, tmp_path)
    mesh = meshio.read(sorted((tmp_path / "interface-touch").glob("*.vtu"))[-1])
    assert mesh.cells[0].type == "quad" and len(mesh.cells[0].data) == 18
    np.testing.assert_array_equal(mesh.point_data["pressure"], group["pressure"].values[-1])


def test_the_overview_has_a_map():
    result = struck(slab(), False)
    assert set(plots.overview(result)) == {"energies", "contact-touch", "shape", "pressure-touch"}


def test_a_result_without_facets_is_drawn_by_its_points():
    result = struck(slab(bent=True), True)
    result["interface/touch"] = result["interface/touch"].dataset.drop_vars("point_connectivity")
    figure = plots.contact_map(result, zoom=False)
    (cloud,) = figure.axes[0].collections
    assert len(cloud.get_offsets()) == result["interface/touch"].sizes["point"]


@pytest.mark.slow
def test_solids_of_many_faces_are_drawn():
    """Without edges: their colour is that of the faces."""
    part = aq.Solid("cube", aq.mesh.box((0.0, 1.0), (0.0, 1.0), (0.0, 1.0), (30, 30, 30)), STEEL, mass="lumped")
    result = aq.simulate(aq.System([part], velocity=(1.0, 0.0, 0.0)), aq.CentralDifference(), duration=1e-8, step=1e-8)
    (faces, *_) = plots.shape(result).axes[0].collections
    assert len(faces.get_paths()) in (0, 5400)


def pressed_plate(cells=(20, 20, 1), radius: float = 0.1, depth: float = 1e-5):
    """A plate pressed onto a rigid ball by statics: it touches about its middle."""
    box = aq.mesh.box((0.0, 0.04), (0.0, 0.04), (0.0, 0.01), cells)
    plate = aq.Solid("plate", box, STEEL, imposed={"front": {"x": 0.0, "y": 0.0, "z": lambda t: -depth * t}})
    ball = aq.RigidSphere(centre=(0.02, 0.02, -radius), radius=radius)
    contact = aq.Interface("ball", plate.boundary("back"), ball, aq.Unilateral("gap"))
    return aq.simulate(aq.System([plate], interfaces=[contact]), aq.Static(), duration=1.0, step=0.5)


@pytest.fixture(scope="module")
def plate():
    return pressed_plate()


def test_the_region_that_touches_is_shown(plate):
    group = plate["interface/ball"].dataset
    touching = group["point_position"].values[group["pressure"].values[-1] > 0.0][:, :2]
    cell = 0.04 / 20
    axes = plots.contact_map(plate).axes[0]
    limits = np.array([axes.get_xlim(), axes.get_ylim()]) / 1e3  # mm
    assert (limits[:, 0] <= touching.min(axis=0)).all() and (limits[:, 1] >= touching.max(axis=0)).all()
    facets = np.ptp(touching, axis=0) + 2 * cell
    np.testing.assert_allclose(np.ptp(limits, axis=1), 1.5 * facets, rtol=1e-9)
    assert (np.ptp(limits, axis=1) < 0.75 * 0.04).all()
    whole = plots.contact_map(plate, zoom=False).axes[0]
    assert np.ptp(whole.get_xlim()) >= 40.0
    open_yet = plots.contact_map(plate, "gap", frame=0).axes[0]  # nothing touches
    assert np.ptp(open_yet.get_xlim()) >= 40.0


def test_statics_are_named_by_their_load_step(plate):
    assert plots.contact_map(plate).axes[0].get_title("left") == "load step 2 of 2"
    assert plots.contact_map(plate, frame=1).axes[0].get_title("left") == "load step 1 of 2"
    assert plots.shape(plate, "displacement").axes[0].get_title("left") == "load step 2 of 2"
    moving = plots.contact_map(struck(slab(), False))
    assert moving.axes[0].get_title("left").startswith("t = ")


def test_overlays_are_drawn_where_they_are(plate):
    radius, centre = 2e-3, np.array([0.02, 0.02])
    overlay = {
        "circle": (np.append(centre, 0.0), radius),
        "on the map": (tuple(centre), radius),
        "line": [[0.0, 0.02, 0.0], [0.04, 0.02, 0.0]],
        "plane line": np.array([[0.02, 0.0], [0.02, 0.04]]),
    }
    figure = plots.contact_map(plate, overlay=overlay)
    lines = {line.get_label(): 1e-3 * np.array(line.get_data()).T for line in figure.axes[0].lines}
    assert list(lines) == list(overlay) == [text.get_text() for text in figure.legends[0].get_texts()]
    for name in ("circle", "on the map"):
        np.testing.assert_allclose(np.linalg.norm(lines[name] - centre, axis=1), radius, rtol=1e-12)
    np.testing.assert_allclose(lines["line"], [[0.0, 0.02], [0.04, 0.02]], atol=1e-15)
    np.testing.assert_allclose(lines["plane line"], [[0.02, 0.0], [0.02, 0.04]], atol=1e-15)
    assert figure.axes[0].get_xlim()[0] < 0.0 and figure.axes[0].get_xlim()[1] > 40.0  # the lines are in the region
    bent = plots.contact_map(struck(slab(bent=True), True), zoom=False, overlay={"circle": ((0.0, 0.0, -0.08), 0.01)})
    (line,) = bent.axes[0].lines
    np.testing.assert_allclose(np.linalg.norm(np.array(line.get_data_3d()).T - [0.0, 0.0, -80.0], axis=1), 10.0)


@pytest.mark.parametrize(
    ("overlay", "rule"),
    [
        ([(0.0, 0.0)], "must map labels to curves or circles"),
        ({"c": ((0.0, 0.0, 0.0), -1.0)}, "radius = -1.0: must be positive"),
        ({"c": ((0.0,), 1.0)}, "must be points"),
        ({"c": [1.0, 2.0]}, "must be points"),
        ({"c": [["a", "b"]]}, "must be points"),
        ({"c": [[np.nan, 0.0]]}, "must be points"),
        ({1: [[0.0, 0.0]]}, "must map labels"),
    ],
)
def test_other_overlays_are_refused(plate, overlay, rule):
    with pytest.raises(aq.UserError, match=f"overlay.*{rule}") as error:
        plots.contact_map(plate, overlay=overlay)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("multiplier", ["gauss", "P0"])
def test_maps_without_facets_are_zoomed_too(multiplier):
    box = aq.mesh.box((0.0, 0.04), (0.0, 0.04), (0.0, 0.01), (10, 10, 1))
    plate = aq.Solid("plate", box, STEEL, imposed={"front": {"x": 0.0, "y": 0.0, "z": lambda t: -1e-4 * t}})
    ball = aq.RigidSphere(centre=(0.02, 0.02, -0.1), radius=0.1)
    law = aq.Asperities(1e13, 1.0, 0.0)
    contact = aq.Interface("ball", plate.boundary("back"), ball, law, multiplier=multiplier)
    result = aq.simulate(aq.System([plate], interfaces=[contact]), aq.Static(), duration=1.0, step=1.0)
    group = result["interface/ball"].dataset
    touching = group["point_position"].values[group["pressure"].values[-1] > 0.0][:, :2]
    assert 2 < len(touching) < group.sizes["point"]
    axes = plots.contact_map(result).axes[0]
    limits = np.array([axes.get_xlim(), axes.get_ylim()]) / 1e3
    assert (limits[:, 0] <= touching.min(axis=0)).all() and (limits[:, 1] >= touching.max(axis=0)).all()
    assert (np.ptp(limits, axis=1) <= 1.5 * (np.ptp(touching, axis=0) + 2 * 0.004) + 1e-9).all()
