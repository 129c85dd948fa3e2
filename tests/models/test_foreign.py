"""Mesh files of Abaqus, ANSYS, Nastran, MED, Exodus and VTK against the geometry that they were written from."""

import importlib.util
import itertools
import re
import sys
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import arlequin as aq
from arlequin.models.errors import ModelWarning, UserError
from arlequin.models.mesh.conversion import converted
from arlequin.models.mesh.foreign import CellBlock, ForeignMesh

_spec = importlib.util.spec_from_file_location("foreign_files", Path(__file__).with_name("foreign_files.py"))
files = importlib.util.module_from_spec(_spec)
sys.modules["foreign_files"] = files  # for its dataclass
_spec.loader.exec_module(files)

MATERIAL = aq.LinearElastic(young=2.0, poisson=0.25, density=1.0)


def write(form, m, folder):
    """The file of a model in a format."""
    texts = {"inp": files.abaqus, "cdb": files.ansys, "bdf": files.nastran, "nas": lambda m: files.nastran(m, True)}
    writers = {"med": files.med, "exo": files.exodus_hdf, "e": files.exodus_classic, "vtu": files.vtu}
    path = Path(folder) / f"box.{form}"
    if form in texts:
        path.write_bytes(texts[form](m))
    else:
        writers[form](m, path)
    return path


def quietly(function, *given, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        return function(*given, **options)


FORMATS = ["inp", "cdb", "bdf", "nas", "med", "exo", "e", "vtu"]
NAMES = {
    "cdb": ("ROD", "CAP", "LEFT"),
    "bdf": ("PSOLID_1", "PSOLID_2", "SET_7"),
    "nas": ("PSOLID_1", "PSOLID_2", "SET_7"),
}


# meshio has no wedges and pyramids of second order, so that no .vtu of them can be written
ROUND_TRIPS = [
    (form, shape, order)
    for form, shape, order in itertools.product(FORMATS, files.KINDS, (1, 2))
    if form != "vtu" or order == 1 or shape in ("hexahedron", "tetra")
]


@pytest.mark.sampled(20)
@pytest.mark.parametrize(("form", "shape", "order"), ROUND_TRIPS)
def test_round_trip(tmp_path, form, shape, order):
    """Volumes of both sets, areas of the node set and of the surface of a box 3 × 2 × 1."""
    m = files.model(shape, order)
    path = write(form, m, tmp_path)
    rod, cap, left = NAMES.get(form, ("rod", "cap", "left"))
    surfaces = ["right"] if form in ("inp", "exo", "e") else []
    mesh = quietly(aq.mesh.read, path, boundaries=[left, *surfaces], cells=[rod, cap], scaled=0.1)
    part = aq.Solid("box", mesh, MATERIAL)
    assert part.order == order
    volumes = part.cells.dx.sum(axis=1)
    assert volumes[mesh.subdomains[rod]].sum() == pytest.approx(2e-3, rel=1e-12)
    assert volumes[mesh.subdomains[cap]].sum() == pytest.approx(4e-3, rel=1e-12)
    assert len(mesh.subdomains[rod]) + len(mesh.subdomains[cap]) == mesh.nelements
    for name, x in [(left, 0.0), *((name, 0.3) for name in surfaces)]:
        surface = part.boundary(name)
        assert surface.areas.sum() == pytest.approx(0.02, rel=1e-12)
        assert surface.positions[:, 0] == pytest.approx(x, abs=1e-12)
    assert aq.mesh.points(path)[left][:, 0] == pytest.approx(0.0, abs=1e-12)
    assert len(aq.mesh.points(path)[left]) == len(m.left)


@pytest.mark.parametrize("form", ["inp", "vtu"])
@pytest.mark.parametrize("shape", files.KINDS)
def test_describe(tmp_path, form, shape):
    m = files.model(shape)
    found = aq.mesh.describe(write(form, m, tmp_path))
    assert [(cell.kind, cell.count) for cell in found.cells] == [(m.kind, len(m.cells))]
    assert found.element_sets["rod"] == m.rod.sum() and found.node_sets["left"] == len(m.left)
    assert found.box == ((0.0, 0.0, 0.0), (3.0, 2.0, 1.0)) and found.edges[0] == pytest.approx(
        1.0 if shape != "pyramid" else 0.75**0.5
    )
    assert found.orphan_nodes == (1 if form == "inp" else 0)
    if form == "inp":
        assert found.surfaces["right"] == len(m.right_faces(files.ABAQUS_FACES))
    if shape == "hexahedron":
        assert found.cells[0].scaled_jacobian == pytest.approx(1.0) and found.cells[0].edge_ratio == pytest.approx(1.0)
    assert f"{len(m.cells)} " in str(found) and "node set     left" in str(found)


def test_what_changes_is_told(tmp_path):
    path = write("inp", files.model("wedge"), tmp_path)
    told = r"box.inp: 12 wedges are split into tetrahedra; 1 nodes that no cell uses are left out"
    with pytest.warns(ModelWarning, match=told) as caught:
        mesh = aq.mesh.read(path)
    assert len(caught) == 1 and mesh.nelements == 36
    path = write("cdb", files.model("wedge"), tmp_path)
    with pytest.warns(ModelWarning, match="12 collapsed hexahedra are wedges; 12 wedges are split into tetrahedra"):
        aq.mesh.read(path)


def mixed():
    """A box of hexahedra, x < 1, wedges, x < 2, and pyramids, x < 3, in one mesh."""
    m = files.model("hexahedron")
    x = m.points[m.cells].mean(axis=1)[:, 0]
    wedges = m.cells[(x > 1) & (x < 2)]
    # prisms along x, whose triangles lie on the sides of neither neighbour
    wedges = np.vstack([wedges[:, [0, 1, 4, 3, 2, 7]], wedges[:, [1, 5, 4, 2, 6, 7]]])
    rest = m.cells[x > 2]
    centres = len(m.points) + np.arange(len(rest))
    points = np.vstack([m.points, m.points[rest].mean(axis=1)])
    faces = files.local(files.ABAQUS_FACES["hexahedron"])
    pyramids = np.vstack([np.column_stack([rest[:, face], centres]) for face in faces])
    blocks = [("hexahedron", m.cells[x < 1]), ("wedge", wedges), ("pyramid", pyramids)]
    return points, blocks


@pytest.mark.parametrize("order", [1, 2])
def test_splitting_conforms(order):
    """Whatever the numbers of the nodes: split, each inner side has two cells, and the outside is that of the box."""
    for seed in range(5):
        points, blocks = mixed()
        number = np.random.default_rng(seed).permutation(len(points))
        cells = []
        for kind, nodes in blocks:
            if order == 2:
                # middle nodes by the pair of ends, common to all blocks
                nodes = np.column_stack([nodes, np.full((len(nodes), len(files.local(files.EDGES[kind]))), -1)])
            cells.append(
                CellBlock(
                    kind + (str(files.ORDER2[kind]) if order == 2 else ""),
                    number[nodes] if order == 1 else np.where(nodes < 0, -1, number[nodes]),
                    np.arange(len(nodes)),
                )
            )
        shuffled = np.empty_like(points)
        shuffled[number] = points
        mesh = ForeignMesh("test", shuffled, np.arange(len(points)), tuple(cells))
        split, _ = converted(mesh, tetrahedra=True)
        (block,) = split.blocks
        assert block.nodes.shape[1] == (4 if order == 1 else 10)
        corners = split.points[block.nodes[:, :4]]
        volumes = np.linalg.det(corners[:, 1:] - corners[:, :1]) / 6
        assert np.abs(volumes).sum() == pytest.approx(6.0, rel=1e-12) and np.abs(volumes).min() > 1e-3
        sides = np.vstack([np.sort(block.nodes[:, side], axis=1) for side in itertools.combinations(range(4), 3)])
        unique, count = np.unique(sides, axis=0, return_counts=True)
        assert count.max() == 2
        a, b, c = np.moveaxis(split.points[unique[count == 1]], 1, 0)
        assert 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1).sum() == pytest.approx(22.0, rel=1e-12)
        if order == 2:
            ends = split.points[block.nodes[:, files.local(files.EDGES["tetra"])]].mean(axis=2)
            assert split.points[block.nodes[:, 4:]] == pytest.approx(ends, abs=1e-12)


def serendipity_volume(points):
    """Volume of a hexahedron of 20 nodes by its shape functions, 5 Gauss points an axis."""
    at, weight = np.polynomial.legendre.leggauss(5)
    signs = np.array(
        [[-1, -1, -1], [1, -1, -1], [1, 1, -1], [-1, 1, -1], [-1, -1, 1], [1, -1, 1], [1, 1, 1], [-1, 1, 1]]
    )
    middles = np.array([signs[edge].mean(axis=0) for edge in files.local(files.EDGES["hexahedron"])])

    def shapes(x):
        corner = np.prod(1 + signs * x, axis=1) * ((signs * x).sum(axis=1) - 2) / 8
        edge = np.prod(np.where(middles == 0, 1 - x**2, 1 + middles * x), axis=1) / 4
        return np.concatenate([corner, edge])

    total, step = 0.0, 1e-6
    for (i, a), (j, b), (k, c) in itertools.product(enumerate(at), repeat=3):
        x = np.array([a, b, c])
        gradient = np.stack([(shapes(x + step * e) - shapes(x - step * e)) / (2 * step) for e in np.eye(3)])
        total += weight[i] * weight[j] * weight[k] * np.linalg.det(gradient @ points)
    return total


def test_serendipity_cells_keep_their_curved_geometry(tmp_path):
    m = files.model("hexahedron", 2)
    rng = np.random.default_rng(0)
    bent = m.points + 0.04 * rng.standard_normal(m.points.shape)
    path = tmp_path / "box.inp"
    path.write_bytes(files.abaqus(replace(m, points=bent)))
    mesh = quietly(aq.mesh.read, path)
    volume = aq.Solid("box", mesh, MATERIAL).cells.dx.sum()
    assert volume == pytest.approx(sum(serendipity_volume(bent[cell]) for cell in m.cells), rel=1e-8)


ASSEMBLY = """*HEADING
*PART, NAME=Rod
*NODE, NSET=ends
1, 0., 0.
2, 2., 0.
3, 2., 1.
4, 0., 1.
*ELEMENT, TYPE=CPS4, ELSET=Body
1, 1, 2, 3, 4
*NSET, NSET=Foot, GENERATE
1, 4, 3
*SURFACE, NAME=Tip
body, S2
*END PART
*ASSEMBLY, NAME=Assembly
*INSTANCE, NAME=rod-1, PART=rod
*END INSTANCE
*Instance, name=rod-2, part=ROD
5., 0., 0.
5., 0., 0., 5., 0., 1., 90.
*End Instance
*NSET, NSET=pick, INSTANCE=rod-2
2, foot
*ELSET, ELSET=both
rod-1.Body, rod-2.Body
*SURFACE, TYPE=ELEMENT, NAME=face
rod-2.body, S4
*END ASSEMBLY
"""


def test_abaqus_instances(tmp_path):
    """Two instances of a part, the second moved by 5 and turned by 90° about the vertical through (5, 0)."""
    path = tmp_path / "assembly.inp"
    path.write_text(ASSEMBLY)
    mesh = aq.mesh.read(path, cells=["rod-1", "rod-2", "both", "rod-2.Body"])
    assert mesh.nelements == 2 and len(mesh.subdomains["both"]) == 2
    corners = mesh.p[:, mesh.t[:, mesh.subdomains["rod-2"][0]]].T
    assert sorted(map(tuple, np.round(corners, 12).tolist())) == [(4.0, 0.0), (4.0, 2.0), (5.0, 0.0), (5.0, 2.0)]
    points = aq.mesh.points(path)
    assert sorted(points) == ["pick", "rod-1.Foot", "rod-1.ends", "rod-2.Foot", "rod-2.ends"]
    assert sorted(map(tuple, np.round(points["pick"], 12).tolist())) == [
        (4.0, 0.0, 0.0),
        (5.0, 0.0, 0.0),
        (5.0, 2.0, 0.0),
    ]
    tip = mesh.p[:, mesh.facets[:, mesh.boundaries["rod-2.Tip"]]]
    assert tip[1] == pytest.approx(2.0) and np.ptp(tip[0]) == pytest.approx(1.0)
    face = mesh.p[:, mesh.facets[:, mesh.boundaries["face"]]]
    assert face[1] == pytest.approx(0.0, abs=1e-12) and np.ptp(face[0]) == pytest.approx(1.0)


def test_abaqus_includes(tmp_path):
    (tmp_path / "nodes.inp").write_text("*NODE\n1,0\n2,1\n3,0,1\n")
    path = tmp_path / "main.inp"
    path.write_text("*INCLUDE, INPUT=nodes.inp\n*ELEMENT, TYPE=CPE3, ELSET=a\n1,1,2,3\n*SURFACE, NAME=rim\na\n")
    mesh = aq.mesh.read(path)
    assert mesh.nelements == 1 and len(mesh.boundaries["rim"]) == 3
    path.write_text("*INCLUDE, INPUT=gone.inp\n")
    raises(path, "includes .*gone.inp, which is not there")
    path.write_text("*INCLUDE, INPUT=main.inp\n")
    raises(path, "one includes itself")


def test_nastran_coordinate_systems(tmp_path):
    """A square given in a cylindrical system whose axis is x, moved by (1, 2, 3)."""
    deck = "CORD2C,5,,1.,2.,3.,2.,2.,3.\n,1.,3.,3.\n"  # z along x, its plane x–z through y
    deck += "".join(
        f"GRID,{n},5,{r},{angle},0.\n"
        for n, (r, angle) in enumerate([(1.0, 0.0), (1.0, 90.0), (1.0, 180.0), (1.0, 270.0)], 1)
    )
    path = tmp_path / "square.bdf"
    path.write_text(deck + "CQUAD4,1,3,1,2,3,4\nPSHELL,3,1,.1\nSET1,9,1,THRU,2\n")
    points = aq.mesh.points(path)["SET_9"]
    assert points == pytest.approx(np.array([[1, 3, 3], [1, 2, 4]]), abs=1e-12)
    raises(path, "only surfaces, and not in the plane")
    assert aq.mesh.describe(path).element_sets == {"PSHELL_3": 1}


def test_nastran_lists_with_except(tmp_path):
    """The example SET 88 of the Quick Reference Guide: numbers behind EXCEPT beyond the range are in the set."""
    deck = "SOL 101\nCEND\nSET 88 = 5, 6, 7, 8, 9, 10 THRU 55 EXCEPT 15, 16, 77, 78, 79, 100 THRU 300\n"
    deck += "SET 9 = 1 THRU 9 BY 4\nBEGIN BULK\n" + "".join(f"GRID,{n},,{n}.,,\n" for n in range(1, 301))
    path = tmp_path / "sets.bdf"
    path.write_text(deck + "SET1,7,1,THRU,4,EXCEPT,2\n")
    points = {name: rows[:, 0].astype(int).tolist() for name, rows in aq.mesh.points(path).items()}
    expected = {*range(5, 56), 77, 78, 79, *range(100, 301)} - {15, 16}
    assert points == {"SET_88": sorted(expected), "SET_9": [1, 5, 9], "SET_7": [1, 3, 4]}


def test_nastran_includes(tmp_path):
    """A name in two lines, an include in an include, and one within a card."""
    (tmp_path / "grids.bdf").write_text("GRID,1,,0.\nGRID,2,,1.\nINCLUDE 'more.bdf'\n")
    (tmp_path / "more.bdf").write_text("GRID,3,,1.,1.\nGRID,4,,0.,1.\n")
    path = tmp_path / "main.bdf"
    path.write_text("BEGIN BULK\nINCLUDE 'gri\nds.bdf'\nCQUAD4,1,1,1,2,3,4\nENDDATA\nCQUAD4,2,1,9,9,9,9\n")
    assert quietly(aq.mesh.read, path).nelements == 1
    path.write_text("include 'main.bdf'\n")
    raises(path, "one includes itself")


def test_nastran_nodes_that_are_none(tmp_path):
    """A word among the nodes of an element is no node that is missing."""
    grids = "GRID,1,,0.\nGRID,2,,1.\nGRID,3,,1.,1.\nGRID,4,,0.,1.\n"
    path = tmp_path / "quad.bdf"
    for nodes, why in {"1,2,x,3,4": "invalid literal", "1,,2,3": "CQUAD4 1 has 3 of 4 nodes"}.items():
        path.write_text(grids + f"CQUAD4,1,1,{nodes}\n")
        raises(path, why)


def test_nodes_that_are_lost_are_told(tmp_path):
    """Hexahedra of 27 nodes keep 20, and are completed from them."""
    points, number = [], {}
    for at in itertools.product(range(3), repeat=3):
        number[at] = len(points) + 1
        points.append(at)
    corners = [(0, 0, 0), (2, 0, 0), (2, 2, 0), (0, 2, 0), (0, 0, 2), (2, 0, 2), (2, 2, 2), (0, 2, 2)]
    middles = [
        tuple(np.mean([corners[k] for k in edge], axis=0).astype(int))
        for edge in files.local(files.EDGES["hexahedron"])
    ]
    nodes = [number[at] for at in [*corners, *middles]]
    nodes += sorted(set(number.values()) - set(nodes))
    path = tmp_path / "h27.inp"
    lines = ["*NODE", *(f"{k}, {x}, {y}, {z}" for k, (x, y, z) in enumerate(points, 1)), "*ELEMENT, TYPE=C3D27"]
    path.write_text("\n".join([*lines, files.rows([1, *nodes])]))
    import h5py

    with h5py.File(tmp_path / "h27.e", "w") as file:
        for axis, values in zip("xyz", np.array(points, dtype=float).T, strict=True):
            file[f"coord{axis}"] = values
        file["connect1"] = np.array([nodes])[:, [*files.nastran_order("hexahedron20", range(20)), *range(20, 27)]]
        file["connect1"].attrs["elem_type"] = np.bytes_("HEX27")
    with h5py.File(tmp_path / "h27.med", "w") as file:
        mesh = file.create_group("ENS_MAA/box")
        mesh.attrs["ESP"] = 3
        mesh["NOE/COO"] = np.array(points, dtype=float).T.ravel()
        mesh["NOE/COO"].attrs["NBR"] = 27
        mesh["MAI/H27/NOD"] = np.array(nodes)
        mesh["MAI/H27/NOD"].attrs["NBR"] = 1
    for form in ("inp", "e", "med"):
        with pytest.warns(
            ModelWarning, match="1 hexahedra of 27 nodes: the nodes in their sides and centres are left out"
        ):
            mesh = aq.mesh.read(tmp_path / f"h27.{form}")
        assert aq.Solid("box", mesh, MATERIAL).cells.dx.sum() == pytest.approx(8.0, rel=1e-14)


def raises(path, match, **options):
    with pytest.raises(UserError, match=match) as caught:
        quietly(aq.mesh.read, path, **options)
    assert "\n" not in str(caught.value)


def test_mixed_meshes_are_read_as_parts(tmp_path):
    points, blocks = mixed()
    types = {"hexahedron": "C3D8", "wedge": "C3D6", "pyramid": "C3D5"}
    lines = ["*NODE", *(f"{k}, {x}, {y}, {z}" for k, (x, y, z) in enumerate(points, 1))]
    number = itertools.count(1)
    for kind, cells in blocks:
        lines.append(f"*ELEMENT, TYPE={types[kind]}, ELSET={kind}")
        lines += [", ".join(map(str, [next(number), *(cell + 1)])) for cell in cells]
    path = tmp_path / "mixed.inp"
    path.write_text("\n".join(lines))
    raises(path, "mixes hexahedron and tetra; one kind of cell is needed: aq.mesh.parts .* tetrahedra=True")
    meshes = quietly(aq.mesh.parts, path)
    assert {kind: mesh.nelements for kind, mesh in meshes.items()} == {"hexahedron": 2, "tetra": 36}
    volumes = {kind: aq.Solid(kind, mesh, MATERIAL).cells.dx.sum() for kind, mesh in meshes.items()}
    assert volumes["hexahedron"] == pytest.approx(2.0) and volumes["tetra"] == pytest.approx(4.0)
    whole = quietly(aq.mesh.read, path, tetrahedra=True)
    assert aq.Solid("whole", whole, MATERIAL).cells.dx.sum() == pytest.approx(6.0)
    model = quietly(aq.solids, path, {"hexahedron": MATERIAL, "wedge": MATERIAL, "pyramid": MATERIAL})
    assert [tie.name for tie in model.ties] == ["hexahedron_wedge", "wedge_pyramid"]
    areas = [tie.coarse_surface.areas.sum() for tie in model.ties] + [
        tie.fine_surface.areas.sum() for tie in model.ties
    ]
    assert areas == pytest.approx([2.0] * 4)


def test_names_that_name_nothing(tmp_path):
    path = write("inp", files.model("hexahedron"), tmp_path)
    raises(
        path,
        r"no boundary set is named 'rihgt', did you mean 'right'|no boundary set is named 'rihgt'.*right",
        boundaries=["rihgt"],
    )
    raises(path, r"no cell set is named 'left' \(sets of that kind: all, cap, rod\)", cells=["left"])
    text = (
        path.read_text()
        + f"\n*NSET, NSET=point\n{files.model('hexahedron').numbers[0]}\n*NSET, NSET=empty\n*NSET, NSET=gone\n77777\n"
    )
    path.write_text(text)
    raises(
        path, r"the 1 nodes of the set 'point' are all the nodes of no facet: .*aq.mesh.points", boundaries=["point"]
    )
    raises(path, "the 0 nodes of the set 'empty'", boundaries=["empty"])
    assert aq.mesh.points(path)["point"].shape == (1, 3) and aq.mesh.points(path)["gone"].shape == (0, 3)


@pytest.mark.parametrize("form", FORMATS)
def test_files_cut_anywhere(tmp_path, form):
    """A file that ends early is read or gives one line; nothing else is raised."""
    whole = write(form, files.model("tetra" if form == "vtu" else "wedge", 2), tmp_path)
    content = whole.read_bytes()
    path = tmp_path / f"cut.{form}"
    refused = 0
    for size in np.unique(np.linspace(1, len(content) - 1, 60).astype(int)):
        path.write_bytes(content[:size])
        for function in (aq.mesh.read, aq.mesh.describe):
            try:
                quietly(function, path)
            except UserError as error:
                refused += 1
                assert "\n" not in str(error) and len(str(error)) < 400
    assert refused >= 40


@pytest.mark.parametrize("form", FORMATS)
def test_files_with_wrong_bytes(tmp_path, form):
    content = bytearray(write(form, files.model("tetra"), tmp_path).read_bytes())
    path = tmp_path / f"wrong.{form}"
    rng = np.random.default_rng(1)
    for _ in range(30):
        damaged = content.copy()
        for at in rng.integers(0, len(content), 3):
            damaged[at] = rng.integers(0, 256)
        path.write_bytes(damaged)
        try:
            quietly(aq.mesh.read, path)
        except UserError as error:
            assert "\n" not in str(error)


@pytest.mark.parametrize("form", ["inp", "cdb", "bdf", "dat", "med", "e", "exo", "vtu", "step"])
@pytest.mark.parametrize(
    "content", [b"", b"hello world\n", b"\x7fELF\x02\x01\0\0\0", b"PK\x03\x04", b"*NODE\n", b"{}\n"]
)
def test_files_that_are_something_else(tmp_path, form, content):
    path = tmp_path / f"other.{form}"
    path.write_bytes(content)
    raises(path, re.escape(str(path)))


def test_sizes_are_bounded(tmp_path):
    path = tmp_path / "large.inp"  # numbers of a range need not all exist
    path.write_text("*NODE\n1,0\n2,1\n3,0,1\n*ELEMENT,TYPE=CPS3\n1,1,2,3\n*NSET,NSET=a,GENERATE\n1,1000000000000,2\n")
    assert aq.mesh.points(path)["a"][:, 1].tolist() == [0.0, 1.0]
    path = tmp_path / "large.vtu"
    path.write_text('<VTKFile type="UnstructuredGrid"><Piece NumberOfPoints="99999999999" NumberOfCells="1">')
    raises(path, "declares 99,999,999,999 points or cells")
    import h5py

    path = tmp_path / "large.e"
    with h5py.File(path, "w") as file:
        file.create_dataset("coordx", shape=(10**12,), dtype="f8", chunks=(1000,))
    raises(path, "an array of 1,000,000,000,000 numbers is declared")


def test_hdf_needs_its_library(tmp_path, monkeypatch):
    path = write("med", files.model("hexahedron"), tmp_path)
    monkeypatch.setitem(sys.modules, "h5py", None)
    raises(path, r'needs h5py: pip install "arlequin\[mesh\]"')


def test_lengths_in_millimetres_are_told(tmp_path):
    steel = aq.LinearElastic(young=2e11, poisson=0.3, density=7800.0)
    mesh = aq.mesh.rectangle((0.0, 1200.0), (0.0, 100.0), cells=(2, 2))
    with pytest.warns(ModelWarning, match=r"part 'beam' is 1200 m long .* scaled=1e-3"):
        aq.Solid("beam", mesh, steel, plane="strain")
    with warnings.catch_warnings():
        warnings.simplefilter("error", ModelWarning)
        aq.Solid("beam", mesh.scaled(1e-3), steel, plane="strain")
        light = replace(steel, density=7.8e-9, young=2e5)  # t, mm, s
        aq.Solid("beam", mesh, light, plane="strain")
