"""Mesh files that are damaged: one line each, nothing else raised, and nothing of what is there lost in silence."""

import warnings

import numpy as np
import pytest

import arlequin as aq
from arlequin.models.errors import ModelWarning, UserError
from arlequin.models.mesh.reading import left_out, load

GRID = [(x, y, z) for z in range(3) for y in range(3) for x in range(4)]  # 4 × 3 × 3 nodes, from 1
CELLS = [
    [1 + x + 4 * y + 12 * z + k for k in (0, 1, 5, 4, 12, 13, 17, 16)]
    for z in range(2)
    for y in range(2)
    for x in range(3)
]


def abaqus():
    lines = ["*Heading", "*Part, name=Block", "*Node"]
    lines += [f"{k}, {x}., {y}., {z}." for k, (x, y, z) in enumerate(GRID, 1)]
    lines += ["*Element, type=C3D8"] + [f"{k}, {', '.join(map(str, cell))}" for k, cell in enumerate(CELLS, 1)]
    lines += ["*Elset, elset=all, generate", "1, 12, 1", "*Nset, nset=foot", "1, 5, 9, 13, 17, 21, 25, 29, 33"]
    lines += ["*Surface, name=tip", "3, S4", "6, S4", "9, S4", "12, S4", "*End Part", "*Assembly, name=A"]
    lines += ["*Instance, name=Block-1, part=Block", "*End Instance", "*End Assembly"]
    return "\n".join([*lines, "*Step", "*Static", "1., 1.", "*End Step", ""]).encode()


def nastran():
    lines = ["SOL 101", "CEND", "BEGIN BULK"]
    lines += [f"GRID    {k:8d}        {x:8.1f}{y:8.1f}{z:8.1f}" for k, (x, y, z) in enumerate(GRID, 1)]
    for k, cell in enumerate(CELLS, 1):
        lines += [f"CHEXA   {k:8d}{1:8d}" + "".join(f"{node:8d}" for node in cell[:6]) + "+", "+       "
                  + "".join(f"{node:8d}" for node in cell[6:])]  # fmt: skip
    lines += ["PSOLID  " + f"{1:8d}{1:8d}", "SPC1,3,123,1,5,9,13,17,21", "+,25,29,33"]
    return "\n".join([*lines, "ENDDATA", ""]).encode()


def ansys():
    lines = ["/PREP7", "ET,1,185", "NBLOCK,6,SOLID,36,36", "(3i9,6e21.13e3)"]
    lines += [f"{k:9d}{0:9d}{0:9d}" + "".join(f"{v:21.13E}" for v in at) for k, at in enumerate(GRID, 1)]
    lines += ["N,R5.3,LOC,       -1,", "EBLOCK,19,SOLID,12,12", "(19i9)"]
    lines += ["".join(f"{v:9d}" for v in [1, 1, 1, 1, 0, 0, 0, 0, 8, 0, k, *cell]) for k, cell in enumerate(CELLS, 1)]
    lines += ["       -1", "CMBLOCK,FOOT,NODE,9", "(8i10)", "".join(f"{k:10d}" for k in range(1, 33, 4)), f"{33:10d}"]
    return "\n".join([*lines, "FINISH", ""]).encode()


def medium(path):
    import h5py

    with h5py.File(path, "w") as file:
        mesh = file.create_group("ENS_MAA/block")
        mesh.attrs["ESP"] = 3
        mesh["NOE/COO"] = np.array(GRID, dtype=float).T.ravel()
        mesh["NOE/COO"].attrs["NBR"] = 36
        mesh["MAI/HE8/NOD"] = np.array(CELLS).T.ravel()
        mesh["MAI/HE8/NOD"].attrs["NBR"] = 12
    return path.read_bytes()


def exodus(path):
    from scipy.io import netcdf_file

    with netcdf_file(path, "w") as file:
        for name, size in {"num_dim": 3, "num_nodes": 36, "num_el": 12, "num_nod": 8, "num_ns": 9}.items():
            file.createDimension(name, size)
        file.createVariable("coord", "f8", ("num_dim", "num_nodes"))[:] = np.array(GRID, dtype=float).T
        cells = file.createVariable("connect1", "i4", ("num_el", "num_nod"))
        cells[:] = CELLS
        cells.elem_type = "HEX8"
        file.createVariable("node_ns1", "i4", ("num_ns",))[:] = range(1, 34, 4)
    return path.read_bytes()


def vtk(path, first=0.0):
    import meshio

    points = np.array(GRID, dtype=float)
    points[0, 0] = first
    meshio.Mesh(points, [("hexahedron", np.array(CELLS) - 1)]).write(path)
    return path.read_bytes()


def gmsh(path):
    lines = ["$MeshFormat", "2.2 0 8", "$EndMeshFormat", "$Nodes", "36"]
    lines += [f"{k} {x} {y} {z}" for k, (x, y, z) in enumerate(GRID, 1)] + ["$EndNodes", "$Elements", "12"]
    lines += [f"{k} 5 2 1 1 {' '.join(map(str, cell))}" for k, cell in enumerate(CELLS, 1)]
    return "\n".join([*lines, "$EndElements", ""]).encode()


WRITERS = {"inp": abaqus, "bdf": nastran, "cdb": ansys, "med": medium, "e": exodus, "vtu": vtk, "msh": gmsh}
TEXTS = ("inp", "bdf", "cdb")


def written(form, folder):
    return WRITERS[form]() if form in TEXTS else WRITERS[form](folder / f"whole.{form}")


def outcome(path):
    """The mesh of a file with what is told about it, or the line of its error."""
    try:
        mesh = load(path).check(path)
    except UserError as error:
        assert "\n" not in str(error) and str(path) in str(error)
        return None, str(error)
    return mesh, "; ".join(left_out(mesh))


@pytest.mark.parametrize("form", WRITERS)
def test_files_cut_at_every_twentieth(tmp_path, form):
    """No file that is cut is read as a smaller one without a word; what is cut behind the cells may be read."""
    content = written(form, tmp_path)
    path = tmp_path / f"cut.{form}"
    path.write_bytes(content)
    whole, told = outcome(path)
    assert whole is not None and told == "" and sum(len(block.nodes) for block in whole.blocks) == 12
    for twentieth in range(1, 20):
        path.write_bytes(content[: len(content) * twentieth // 20])
        mesh, told = outcome(path)
        if mesh is not None and not told:
            assert sum(len(block.nodes) for block in mesh.blocks) == 12, (twentieth, mesh)
            assert np.array_equal(mesh.points, whole.points)


def test_node_sets_of_exodus_with_a_gap(tmp_path):
    """The arrays of sets and blocks without members are missing: the others keep their names."""
    import h5py

    path = tmp_path / "gap.e"
    with h5py.File(path, "w") as file:
        file["coord"] = np.array(GRID, dtype=float).T
        file["connect2"] = np.array(CELLS)
        file["connect2"].attrs["elem_type"] = np.bytes_("HEX8")
        file["node_ns1"], file["node_ns3"] = np.array([1]), np.array([36])
        for kind, names in (("eb", ("none", "block")), ("ns", ("first", "none", "last"))):
            letters = [[name.encode()[k : k + 1] for k in range(8)] for name in names]
            file[f"{kind}_names"] = np.array(letters, dtype="S1")
    mesh, told = outcome(path)
    assert told == "" and list(mesh.element_sets) == ["block"]
    assert {name: rows.tolist() for name, rows in mesh.node_sets.items()} == {"first": [0], "last": [35]}


@pytest.mark.parametrize("form", WRITERS)
def test_coordinates_that_are_no_numbers(tmp_path, form):
    content = written(form, tmp_path)
    path = tmp_path / f"nan.{form}"
    if form in ("med", "e"):
        three, nan = (np.array([value], dtype="<f8" if form == "med" else ">f8").tobytes() for value in (3.0, np.nan))
        damaged = content.replace(three, nan, 1)
    elif form == "vtu":
        damaged = vtk(tmp_path / "nan.vtu", np.nan)
    else:
        three, nan = {
            "inp": (b" 3., 0.", b" nan, 0."), "bdf": (b"     3.0     0.0", b"     nan     0.0"),
            "cdb": (b"  3.0000000000000E+00", b"                  NaN"), "msh": (b" 3 0 0\n", b" nan 0 0\n"),
        }[form]  # fmt: skip
        damaged = content.replace(three, nan, 1)
    assert damaged != content
    path.write_bytes(damaged)
    mesh, told = outcome(path)
    assert mesh is None and ("not finite" in told or "no real number" in told)
    with pytest.raises(UserError):
        aq.mesh.points(path)


@pytest.mark.parametrize(
    ("form", "old", "new", "told"),
    [
        ("inp", b"\n2, 1., 0., 0.", b"\n1, 1., 0., 0.", "names the node 2, which does not exist"),
        ("inp", b"\n36, 3., 2., 2.", b"\n36, 3., 2., 2.\n36, 3., 2., 2.5", "nodes that are defined twice are left out"),
        ("inp", b"\n2, 2, 3", b"\n1, 2, 3", "1 earlier definitions of elements that are defined twice are left out"),
        ("inp", b"1, 5, 9,", b"1, 5, 999,", "1 nodes of the set 'foot' that do not exist are left out"),
        ("inp", b"3, S4", b"33, S4", "names ('33') in the surface 'tip' of what does not exist are left out"),
        ("inp", b"part=Block", b"part=Blok", "is of the part 'Blok', which is not there"),
        ("bdf", b"GRID           2", b"GRID           1", "GRID 1 is defined twice"),
        ("bdf", b"CHEXA          2", b"CHEXA          1", "the element 1 is defined twice"),
        ("bdf", b"SPC1,3,123,1,5", b"SPC1,3,123,1,555", "1 nodes of the set 'SPC_3' that do not exist are left out"),
        ("bdf", b"ENDDATA", b"SET1,8,700\nENDDATA", "1 nodes of the set 'SET_8' that do not exist are left out"),
        ("cdb", b"\n        2        0", b"\n        1        0", "names the node 2, which does not exist"),
        ("cdb", b"SOLID,36,36", b"SOLID,36,37", "NBLOCK announces 37 nodes and has 36"),
        ("cdb", b"NODE,9", b"NODE,10", "CMBLOCK FOOT has 9 of 10 numbers"),
        ("cdb", b"        33\n", b"       333\n", "1 nodes of the set 'FOOT' that do not exist are left out"),
        ("msh", b"$Nodes\n36", b"$Nodes\n35", "damaged"),
        ("msh", b"$Elements\n12", b"$Elements\n11", "damaged"),
    ],
)
def test_numbers_that_do_not_fit(tmp_path, form, old, new, told):
    content = written(form, tmp_path)
    assert old in content
    path = tmp_path / f"wrong.{form}"
    path.write_bytes(content.replace(old, new, 1))
    assert told in outcome(path)[1]


@pytest.mark.parametrize(
    ("dataset", "value", "why"),
    [
        ("ENS_MAA/block/MAI/HE8/NOD", 24, "24 cells of type HE8 with 96 of 192 nodes"),
        ("ENS_MAA/block/NOE/COO", 18, "18 nodes with 108 coordinates"),
    ],
)
def test_counts_of_med_files(tmp_path, dataset, value, why):
    import h5py

    path = tmp_path / "count.med"
    medium(path)
    with h5py.File(path, "a") as file:
        file[dataset].attrs["NBR"] = value
    assert why in outcome(path)[1]


def test_millimetres_beside_the_density_of_steel(tmp_path):
    """A block of 3,000 × 2,000 × 2,000 in steel is told; with scaled=1e-3 it is not."""
    path = tmp_path / "large.inp"
    grid = "\n".join(f"{k}, {1000 * x}., {1000 * y}., {1000 * z}." for k, (x, y, z) in enumerate(GRID, 1))
    head, _, tail = abaqus().decode().partition("*Node\n")
    path.write_text(f"{head}*Node\n{grid}\n{tail[tail.index('*Element') :]}")
    steel = aq.LinearElastic(young=2e11, poisson=0.3, density=7850.0)
    with pytest.warns(ModelWarning, match="part 'block' is 3000 m long .* scaled=1e-3"):
        aq.Solid("block", aq.mesh.read(path), steel)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ModelWarning)
        aq.Solid("block", aq.mesh.read(path, scaled=1e-3), steel)
