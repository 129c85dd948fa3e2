"""Files for ParaView and netCDF read back as the result, to the last bit; cells have the volume of what they mesh."""

import xml.etree.ElementTree as ElementTree

import meshio
import numpy as np
import pytest
import xarray

import arlequin as aq
from arlequin.models.errors import UserError
from arlequin.results.netcdf import flattened
from arlequin.results.paraview import cells_of, export_vtu, faces_of

STEEL = aq.LinearElastic(young=2e11, poisson=0.3, density=7800)
SIZE = (2.0, 1.0, 3.0)


def solid(kind: str, order: int) -> aq.Solid:
    x, y, z = ((0.0, side) for side in SIZE)
    if kind in ("quad", "tri"):
        return aq.Solid("solid", aq.mesh.rectangle(x, y, (3, 2), kind), STEEL, plane="strain", order=order)
    return aq.Solid("solid", aq.mesh.box(x, y, z, (2, 2, 3), kind), STEEL, order=order)


def run(*parts, steps: int = 4, **more) -> xarray.DataTree:
    return aq.simulate(aq.System(list(parts), **more), aq.Theta(0.5), duration=steps * 1e-6, step=1e-6)


def padded(vectors: np.ndarray) -> np.ndarray:
    return np.pad(vectors, [(0, 0)] * (vectors.ndim - 1) + [(0, 3 - vectors.shape[-1])])


def same(result: xarray.DataTree, folder, part: str, kind: str) -> meshio.Mesh:
    """Every frame of a part on disk is that of the result, at the time that the PVD file says."""
    group, times = result[f"part/{part}"].dataset, result.dataset["frame_time"].values
    sets = ElementTree.parse(folder / f"part-{part}.pvd").findall("Collection/DataSet")
    assert [float(s.get("timestep")) for s in sets] == times.tolist()
    for n, entry in enumerate(sets):
        mesh = meshio.read(folder / entry.get("file"))
        np.testing.assert_array_equal(mesh.points, padded(group["position"].values))
        for field in ("displacement", "velocity"):
            np.testing.assert_array_equal(mesh.point_data[field], padded(group[field].values[n]))
        assert [c.type for c in mesh.cells] == [kind]
        nodes = group["connectivity"].values
        corners = mesh.cells[0].data[:, : nodes.shape[1]]
        np.testing.assert_array_equal(np.sort(corners, axis=1), np.sort(nodes, axis=1))
    return mesh


def volume(mesh: meshio.Mesh) -> float:
    """∫ x·n dA / 3 over VTK's faces of each cell, outward and positive one by one."""
    (cells,) = mesh.cells
    faces = {
        "tetra": [[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]],
        "hexahedron": [[0, 4, 7, 3], [1, 2, 6, 5], [0, 1, 5, 4], [3, 7, 6, 2], [0, 3, 2, 1], [4, 5, 6, 7]],
    }[cells.type.rstrip("0123456789")]
    total = np.zeros(len(cells.data))
    for face in faces:
        x = mesh.points[cells.data[:, face]]
        for k in range(1, len(face) - 1):
            total += np.linalg.det(np.stack([x[:, 0], x[:, k], x[:, k + 1]], axis=1)) / 6
    assert (total > 0.0).all()
    return total.sum()


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize(
    ("kind", "cell"), [("quad", "quad"), ("tri", "triangle"), ("hex", "hexahedron"), ("tet", "tetra")]
)
def test_solids(kind, cell, order, tmp_path):
    result = run(solid(kind, order), velocity=(3.0, -1.0, 2.0)[: 2 if kind in ("quad", "tri") else 3])
    assert export_vtu(result, tmp_path) == tmp_path / "all.pvd"
    mesh = same(result, tmp_path, "solid", cell + (MORE[cell] if order == 2 else ""))
    if cell in ("hexahedron", "tetra"):
        assert volume(mesh) == pytest.approx(np.prod(SIZE))
    if order == 2:
        corners = mesh.points[mesh.cells[0].data]
        for node, ends in enumerate(BETWEEN[cell], len(corners[0]) - len(BETWEEN[cell])):
            np.testing.assert_allclose(corners[:, node], corners[:, ends].mean(axis=1), atol=1e-12)


# all nodes of cells of second order: what VTK's come after its corners, each between which corners (VTK file formats)
MORE = {"quad": "9", "triangle": "6", "hexahedron": "27", "tetra": "10"}
BETWEEN = {
    "triangle": [[0, 1], [1, 2], [2, 0]],
    "quad": [[0, 1], [1, 2], [2, 3], [3, 0], [0, 1, 2, 3]],
    "tetra": [[0, 1], [1, 2], [2, 0], [0, 3], [1, 3], [2, 3]],
    "hexahedron": [
        [0, 1], [1, 2], [2, 3], [3, 0], [4, 5], [5, 6], [6, 7], [7, 4], [0, 4], [1, 5], [2, 6], [3, 7],
        [0, 3, 7, 4], [1, 2, 6, 5], [0, 1, 5, 4], [3, 2, 6, 7], [0, 1, 2, 3], [4, 5, 6, 7], list(range(8)),
    ],
}  # fmt: skip


def test_bars_beams_and_masses(tmp_path):
    bar = aq.Bar("bar", aq.mesh.interval(0.0, 0.1, 5), STEEL)
    result = run(bar, velocity=10.0)
    export_vtu(result, tmp_path)
    same(result, tmp_path, "bar", "line")
    beam = aq.Beam("beam", aq.mesh.interval(0.0, 1.0, 4), STEEL, aq.Section.rectangle(0.01, 0.02), dimension=2,
                   distributed=(0.0, -1.0), imposed={"left": {"x": 0.0, "y": 0.0, "rz": 0.0}})  # fmt: skip
    masses = aq.PointMasses("masses", [[0.0, 0.5], [1.0, 0.5]], [1.0, 2.0])
    result = run(beam, masses, gravity=(0.0, -9.81))
    export_vtu(result, tmp_path / "new" / "folder")
    mesh = same(result, tmp_path / "new" / "folder", "beam", "line")
    turned = result["part/beam"]["rotation"].values[-1]
    assert result["part/beam"]["turn"].values.tolist() == ["rz"] and np.abs(turned).max() > 0.0
    np.testing.assert_array_equal(mesh.point_data["rotation"], np.pad(turned, [(0, 0), (2, 0)]))
    same(result, tmp_path / "new" / "folder", "masses", "vertex")


def test_interfaces_cell_fields_and_the_file_of_all(tmp_path):
    metal = aq.J2(young=1e9, poisson=0.3, density=1000, yield_stress=1e6, hardening=aq.LinearHardening(5e8))
    mesh = aq.mesh.rectangle((0.0, 0.02), (0.0, 0.01), (4, 2))
    loads = {"top": lambda x, t: (0.0, -1.5e6 * t)}
    drag = {"top": {"x": lambda t: 1e-3 * t}}
    block = aq.Solid("a block, θ", mesh, metal, plane="strain", tractions=loads, imposed=drag)
    floor = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))
    contact = aq.Interface("foot", block.boundary("bottom"), floor, aq.Unilateral(level="gap"),
                           friction=aq.Coulomb(0.05), wear=aq.Archard(1e-10))  # fmt: skip
    result = aq.simulate(aq.System([block], interfaces=[contact]), aq.Static(), duration=1.0, step=0.25)
    seen = []
    export_vtu(result, tmp_path, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(n, 11) for n in range(1, 12)]  # five frames of the part and of the points, one file of the floor
    sets = ElementTree.parse(tmp_path / "all.pvd").findall("Collection/DataSet")
    assert [(s.get("timestep"), s.get("part")) for s in sets[:4]] == [
        ("0.0", "0"),
        ("0.0", "1"),
        ("0.0", "2"),
        ("0.25", "0"),
    ]
    part, points, plane = (meshio.read(tmp_path / s.get("file")) for s in sets[-3:])
    assert plane.cells[0].type == "line" and not plane.points[:, 1].any()
    group = result["part"][block.name].dataset
    for field in ("plastic_strain", "mises_stress", "pressure"):
        np.testing.assert_array_equal(part.cell_data[field][0], group[field].values[-1])
    assert part.cell_data["plastic_strain"][0].max() > 0.0
    group = result["interface/foot"].dataset
    np.testing.assert_array_equal(points.points, padded(group["point_position"].values))
    assert points.cells[0].type == "vertex"
    for field in ("gap", "pressure", "slip", "status", "wear_work", "worn_depth"):
        np.testing.assert_array_equal(points.point_data[field], group[field].values[-1])
    np.testing.assert_array_equal(points.point_data["traction"], padded(group["traction"].values[-1]))
    np.testing.assert_array_equal(points.point_data["area"], group["area"].values)
    assert points.point_data["worn_depth"].max() > 0.0


def test_frames_are_read_in_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr("arlequin.results.paraview._BLOCK", 400)
    result = run(solid("quad", 1), steps=9, velocity=(3.0, -1.0))
    export_vtu(result, tmp_path)
    same(result, tmp_path, "solid", "quad")


def test_some_frames(struck, tmp_path):
    export_vtu(struck, tmp_path / "vtu", frames=5)
    sets = ElementTree.parse(tmp_path / "vtu" / "part-a%20bar.pvd").findall("Collection/DataSet")
    assert [float(s.get("timestep")) for s in sets] == struck["frame_time"].values[::5].tolist()
    for entry, u in zip(sets, struck["part/a bar/displacement"].values[::5], strict=True):
        np.testing.assert_array_equal(
            meshio.read(tmp_path / "vtu" / entry.get("file")).point_data["displacement"], padded(u)
        )
    with pytest.raises(UserError, match="frames = 0"):
        export_vtu(struck, tmp_path / "vtu", frames=0)


@pytest.mark.parametrize("kind", ["hex", "tet"])
def test_outer_faces_close_the_solid(kind):
    group = run(solid(kind, 1), steps=1)["part/solid"].to_dataset()
    cells = cells_of(group)
    faces, owner = faces_of(cells)
    x = group["position"].values[faces]
    areas = sum(
        np.linalg.norm(np.cross(x[:, k] - x[:, 0], x[:, k + 1] - x[:, 0]), axis=1) / 2 for k in range(1, x.shape[1] - 1)
    )
    assert areas.sum() == pytest.approx(2 * (2 * 1 + 1 * 3 + 2 * 3))
    assert all(set(face) <= set(cells.nodes[own]) for face, own in zip(faces.tolist(), owner, strict=True))


def test_nothing_to_export(tmp_path):
    with pytest.raises(UserError, match="nothing to export"):
        export_vtu(xarray.DataTree(xarray.Dataset(coords={"time": [0.0]})), tmp_path)


@pytest.fixture(params=[False, True], ids=["memory", "disk"])
def struck(request, tmp_path) -> xarray.DataTree:
    bar = aq.Bar("a bar", aq.mesh.interval(0.0, 0.1, 5), STEEL)
    wall = aq.Interface("end", bar.boundary("right"), aq.RigidPlane(point=0.1001, normal=-1.0), aq.Unilateral())
    system = aq.System([bar], interfaces=[wall], velocity=10.0)
    path = tmp_path / "run.zarr" if request.param else None
    return aq.simulate(system, aq.Theta(0.5), duration=2e-5, step=1e-6, record=path)


def test_netcdf_without_groups(struck, tmp_path, monkeypatch):
    monkeypatch.setattr("arlequin.results.netcdf.GROUPED", ())
    assert aq.results.export_netcdf(struck, tmp_path / "new" / "run.nc") == "netCDF-3"
    flat = xarray.open_dataset(tmp_path / "new" / "run.nc", engine="scipy")
    for path, name in (("part/a bar", "velocity"), ("part/a bar", "position"), ("interface/end", "force")):
        there, here = flat[f"{path.replace('/', '.')}.{name}"], struck[path][name]
        np.testing.assert_array_equal(there.values, here.values)
        assert there.attrs["units"] == here.attrs["units"]
    for name in ("energy", "time", "frame_time", "balance"):
        np.testing.assert_array_equal(flat[name].values, struck[name].values)
    assert flat["kind"].values.tolist() == struck["kind"].values.tolist()
    assert flat.attrs["scheme"] == struck.attrs["scheme"]
    assert flat["part.a bar.connectivity"].values.tolist() == struck["part/a bar"]["connectivity"].values.tolist()
    assert flattened(struck).sizes["frame"] == struck.sizes["frame"]


def test_netcdf_with_groups(struck, tmp_path):
    pytest.importorskip("h5netcdf")
    assert aq.results.export_netcdf(struck, tmp_path / "run.nc") == "netCDF-4"
    back = xarray.open_datatree(tmp_path / "run.nc", engine="h5netcdf")
    np.testing.assert_array_equal(back["part/a bar/velocity"].values, struck["part/a bar/velocity"].values)
    assert back["kind"].values.tolist() == struck["kind"].values.tolist()
    assert back.attrs["scheme"] == struck.attrs["scheme"]
