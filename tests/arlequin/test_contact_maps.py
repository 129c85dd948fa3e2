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
    aq.export_vtu(result, tmp_path)
    mesh = meshio.read(sorted((tmp_path / "interface-touch").glob("*.vtu"))[-1])
    assert mesh.cells[0].type == "quad" and len(mesh.cells[0].data) == 18
    np.testing.assert_array_equal(mesh.point_data["pressure"], group["pressure"].values[-1])


def test_the_overview_has_a_map():
    result = struck(slab(), False)
    assert set(plots.overview(result)) == {"energies", "contact-touch", "shape", "pressure-touch"}


def test_a_result_without_facets_is_drawn_by_its_points():
    result = struck(slab(bent=True), True)
    result["interface/touch"] = result["interface/touch"].dataset.drop_vars("point_connectivity")
    figure = plots.contact_map(result)
    (cloud,) = figure.axes[0].collections
    assert len(cloud.get_offsets()) == result["interface/touch"].sizes["point"]


def test_solids_of_many_faces_are_drawn():
    """Without edges: their colour is that of the faces."""
    part = aq.Solid("cube", aq.mesh.box((0.0, 1.0), (0.0, 1.0), (0.0, 1.0), (30, 30, 30)), STEEL, mass="lumped")
    result = aq.simulate(aq.System([part], velocity=(1.0, 0.0, 0.0)), aq.CentralDifference(), duration=1e-8, step=1e-8)
    (faces, *_) = plots.shape(result).axes[0].collections
    assert len(faces.get_paths()) in (0, 5400)
