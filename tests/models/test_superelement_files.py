"""Files of superelements: round trips, files of other codes written out by hand, damaged files."""

import numpy as np
import pytest
import scipy.sparse as sp

import arlequin as aq
from arlequin.models.reduction.dmig import read_bulk_data

STEEL = aq.LinearElastic(young=2e11, poisson=0.3, density=7800.0)


@pytest.fixture(scope="module")
def block():
    mesh = aq.mesh.box((0.0, 0.1), (0.0, 0.03), (0.0, 0.02), cells=(3, 1, 1))
    part = aq.Solid("block", mesh, STEEL, damping=aq.Rayleigh(10.0, 1e-7))
    return aq.craig_bampton(part, [part.boundary("left"), part.boundary("right")], modes=6)


def relative(first, second):
    return abs(first - second).max() / abs(second).max()


def assert_same(found, part, tolerance):
    for kind in ("mass", "stiffness", "damping"):
        assert relative(getattr(found, kind), getattr(part, kind)) <= tolerance
    assert found.retained == part.retained
    np.testing.assert_allclose(found.positions, part.positions, rtol=0.0, atol=1e-12)
    np.testing.assert_array_equal(found.boundary("right").nodes, part.boundary("right").nodes)


def test_archive(block, tmp_path):
    """Everything comes back to the bit."""
    found = aq.read_superelement(block.write(tmp_path / "block.npz"))
    assert_same(found, block, 0.0)
    assert found.name == "block" and repr(found) == repr(block)
    for key in ("areas", "normals", "facets"):
        np.testing.assert_array_equal(getattr(found.boundary("left"), key), getattr(block.boundary("left"), key))
    (field,), (other,) = found.recovered_fields, block.recovered_fields
    assert (field.name, field.units, field.components) == (other.name, other.units, other.components)
    np.testing.assert_array_equal(field.matrix, other.matrix)


def test_matrix_market(block, tmp_path):
    path = block.write(tmp_path / "block.mtx")
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "block_damping.mtx", "block_mass.mtx", "block_stiffness.mtx"
    ]  # fmt: skip
    options = {"positions": block.positions, "interface": {"right": block.boundary("right").nodes}}
    assert_same(aq.read_superelement(path, **options), block, 0.0)
    files = {kind: tmp_path / f"block_{kind}.mtx" for kind in ("mass", "stiffness", "damping")}
    assert_same(aq.read_superelement(files, "other", **options), block, 0.0)


def test_sparse_archives(block, tmp_path):
    files = {}
    for kind in ("mass", "stiffness", "damping"):
        files[kind] = tmp_path / f"{kind}.npz"
        sp.save_npz(files[kind], getattr(block, kind))
    options = {"positions": block.positions, "interface": {"right": block.boundary("right").nodes}}
    assert_same(aq.read_superelement(files, **options), block, 0.0)


def test_op4(block, tmp_path):
    pytest.importorskip("pyyeti")
    path = block.write(tmp_path / "block.op4")
    options = {"positions": block.positions, "interface": {"right": block.boundary("right").nodes}}
    assert_same(aq.read_superelement(path, **options), block, 0.0)


def test_op4_of_pynastran(block, tmp_path):
    """Text that another package has written, and the names that are asked for."""
    pytest.importorskip("pyyeti")
    op4 = pytest.importorskip("pyNastran.op4.op4")
    matrices = {
        "KGG": (6, block.stiffness.toarray()),
        "MGG": (6, block.mass.toarray()),
        "BX": (6, block.damping.toarray()),
    }
    op4.OP4(debug=False).write_op4(str(tmp_path / "b.op4"), matrices, is_binary=False)
    options = {"positions": block.positions, "interface": {"right": block.boundary("right").nodes}}
    found = aq.read_superelement(tmp_path / "b.op4", matrices={"damping": "bx"}, **options)
    assert_same(found, block, 1e-15)
    with pytest.raises(aq.UserError, match=r"no matrix is named 'MGGG', did you mean MGG\? \(matrices: "):
        aq.read_superelement(tmp_path / "b.op4", matrices={"mass": "MGGG"}, **options)
    with op4_of_us(block, tmp_path) as data:
        assert relative(data["KAAX"].data, block.stiffness.toarray()) == 0.0


class op4_of_us:
    """Our file read by pyNastran."""

    def __init__(self, part, folder):
        self.path = part.write(folder / "ours.op4")

    def __enter__(self):
        from pyNastran.op4.op4 import read_op4

        return read_op4(str(self.path), debug=False)

    def __exit__(self, *error):
        return None


def test_dmig(block, tmp_path):
    """To the 11 digits of a field of 16 letters, with grid points and scalar points."""
    path = block.write(tmp_path / "block.pch")
    found = aq.read_superelement(path, interface={"right": 1 + block.boundary("right").nodes})
    assert_same(found, block, 1e-10)
    assert max(found.rigid_energies.values()) < 1e-10
    lines = path.read_text().splitlines()
    assert max(map(len, lines)) <= 72 + 8 and sum(line.startswith("SPOINT") for line in lines) == 6


NASTRAN = """\
$ two grid points and a mode
GRID           7              0.      0.      0.
GRID          12             .5      0.      0.
SPOINT       101
DMIG    KAAX           0       6       2       0
DMIG*   KAAX                          12               1
*                     12               1 1.000000000D+06
DMIG*   KAAX                           7               1
*                      7               1 1.000000000D+06
*                     12               1-1.000000000D+06
DMIG*   KAAX                         101               0
*                    101               0 4.000000000D+06
DMIG    MAAX           0       6       2       0
DMIG*   MAAX                           7               1
*                      7               1 2.000000000D+00
*                    101               0 5.000000000D-01
DMIG*   MAAX                          12               1
*                     12               1 3.000000000D+00
DMIG*   MAAX                         101               0
*                    101               0 1.000000000D+00
"""


def test_dmig_of_nastran(tmp_path):
    """Columns in any order; nodes in increasing order; scalar points last."""
    (tmp_path / "rod.pch").write_text(NASTRAN)
    part = aq.read_superelement(tmp_path / "rod.pch", interface={"tip": 12})
    k = 1e6 * np.array([[1.0, -1.0, 0.0], [-1.0, 1.0, 0.0], [0.0, 0.0, 4.0]])
    np.testing.assert_allclose(part.stiffness.toarray(), k, rtol=1e-12)
    np.testing.assert_allclose(part.mass.toarray(), [[2.0, 0.0, 0.5], [0.0, 3.0, 0.0], [0.5, 0.0, 1.0]], rtol=1e-12)
    assert part.retained == (("x",), ("x",)) and part.boundary("tip").nodes.tolist() == [1]
    assert part.positions.tolist() == [[0.0, 0.0, 0.0], [0.5, 0.0, 0.0]]
    with pytest.raises(aq.UserError, match=r"interface\['tip'\]: .* has no node 13"):
        aq.read_superelement(tmp_path / "rod.pch", interface={"tip": 13})


def test_bulk_data_as_pyyeti_reads_it(block, tmp_path):
    bulk = pytest.importorskip("pyyeti.nastran.bulk")
    path = block.write(tmp_path / "block.pch")
    found, expected = read_bulk_data(path.read_text()), bulk.rddmig(str(path))
    for name, matrix in found.matrices.items():
        frame = expected[name.lower()]
        assert [tuple(label) for label in frame.index] == found.labels[name]
        np.testing.assert_array_equal(frame.to_numpy(), matrix.toarray())


def test_bulk_data_of_all_fields():
    """Small, large and free fields, exponents without a letter, both triangles."""
    text = (
        "GRID,1,,0.,1.5,0.\nGRID           2       0     1.0      2.    -3.0\n"
        "DMIG,KX,0,1,1\nDMIG,KX,1,1,,1,1,2.5+3,,\n+,2,3,-1.5-2\n"
        "DMIG    KX             2       3               1       1 -1.5-2\n+              2       3     4.\n"
        "ENDDATA\nDMIG,KX,9\n"
    )
    found = read_bulk_data(text)
    assert found.labels == {"KX": [(1, 1), (2, 3)]}
    np.testing.assert_array_equal(found.matrices["KX"].toarray(), [[2500.0, -0.015], [-0.015, 4.0]])
    assert {k: v.tolist() for k, v in found.points.items()} == {1: [0.0, 1.5, 0.0], 2: [1.0, 2.0, -3.0]}
    for wrong, message in {
        "DMIG,K,1,1,,1,1,1.0\n": "has no header card",
        "DMIG,K,0,2,1\n": "is of form 2",
        "DMIG,K,0,6,3\n": "is complex",
        "GRID,1,5,0.,0.,0.\n": "is in local coordinates",
        "GRID,1,,a,0.,0.\n": "'a' is no real number",
    }.items():
        with pytest.raises(ValueError, match=message):
            read_bulk_data(wrong)


ABAQUS = {
    "STIF": "7,1, 7,1, 1.000000000000000e+06\n12,1, 7,1, -1.000000000000000e+06\n12,1, 12,1, 1.000000000000000e+06\n"
    "7,2, 7,2, 1.000000000000000e+36\n",
    "MASS": "7,1, 7,1, 2.0e+00\n12,1, 12,1, 3.0e+00\n",
}


def test_abaqus_matrix_input(tmp_path):
    """One triangle; a supported degree of freedom has 1e36 on its diagonal and is left out."""
    files = {}
    for kind, name in (("stiffness", "STIF"), ("mass", "MASS")):
        files[kind] = tmp_path / f"job_{name}2.mtx"
        files[kind].write_text(ABAQUS[name])
    places = {7: (0.0,), 12: (0.5,)}
    part = aq.read_superelement(files, "rod", positions=places, interface={"tip": [12]})
    np.testing.assert_array_equal(part.stiffness.toarray(), 1e6 * np.array([[1.0, -1.0], [-1.0, 1.0]]))
    np.testing.assert_array_equal(part.mass.toarray(), np.diag([2.0, 3.0]))
    with pytest.raises(aq.UserError, match=r"positions: .* has no positions of its nodes 7, 12"):
        aq.read_superelement(files)
    with pytest.raises(aq.UserError, match=r"positions: node 12 of .* has none"):
        aq.read_superelement(files, positions={7: (0.0,)})


def test_abaqus_coordinates(tmp_path):
    (tmp_path / "k_STIF1.mtx").write_text("1 1 1e6\n2 1 -1e6\n1 2 -1e6\n2 2 1e6\n")
    (tmp_path / "k_MASS1.mtx").write_text("1, 1, 2.0\n2, 2, 3.0\n")
    files = {"stiffness": tmp_path / "k_STIF1.mtx", "mass": tmp_path / "k_MASS1.mtx"}
    part = aq.read_superelement(files, positions=[[0.0], [0.5]])
    np.testing.assert_array_equal(part.stiffness.toarray(), 1e6 * np.array([[1.0, -1.0], [-1.0, 1.0]]))


def test_ansys_full():
    """The example of ansys-mapdl-reader: a beam of 40 hexahedra of 20 nodes."""
    reader = pytest.importorskip("ansys.mapdl.reader")
    path = reader.examples.fullfile
    dofs, stiffness, mass = reader.read_binary(path).load_km(as_sparse=True, sort=True)
    free = np.unique(dofs[stiffness.diagonal() != 0.0, 0])  # the others are supported
    rng = np.random.default_rng(0)
    part = aq.read_superelement(path, "beam", positions=rng.random((free.size, 3)), grounded=True)
    assert part.stiffness.shape[0] == (stiffness.diagonal() != 0.0).sum() == 900
    # Σ M along x over the free degrees of freedom, both triangles
    whole = mass + mass.T - sp.diags_array(mass.diagonal())
    assert part.mass.sum() == pytest.approx(whole.sum(), rel=1e-12)


def test_millimetres(tmp_path):
    """A cantilever in mm, t, N: the same as in m, kg, N, with a rotation and a mode of unit mass."""
    length, bending = 2.0, 3e4
    a, b, c, d = 12 / length**3, 6 / length**2, 4 / length, 2 / length
    stiffness = np.zeros((5, 5))
    stiffness[:4, :4] = bending * np.array([[a, b, -a, b], [b, c, -b, d], [-a, -b, a, -b], [b, d, -b, c]])
    stiffness[4, 4] = 250.0
    mass = np.diag([2.0, 0.1, 2.0, 0.1, 1.0])
    mass[0, 4] = mass[4, 0] = 0.3
    # y in mm, rotations in rad, q in √(t mm²); energies in mJ
    scale = np.array([1e3, 1.0, 1e3, 1.0, np.sqrt(1e3)])
    arrays = {name: 1e3 * m / np.outer(scale, scale) for name, m in (("stiffness", stiffness), ("mass", mass))}
    np.savez(tmp_path / "beam.npz", **arrays)
    options = {"components": ("y", "rz"), "interface": {"root": 0, "tip": 1}}
    part = aq.read_superelement(
        tmp_path / "beam.npz", positions=[[0.0, 0.0], [1e3 * length, 0.0]], units="mm", **options
    )
    np.testing.assert_allclose(part.stiffness.toarray(), stiffness, rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(part.mass.toarray(), mass, rtol=1e-12, atol=1e-12)
    assert part.positions.tolist() == [[0.0, 0.0], [length, 0.0]]


@pytest.mark.parametrize("ending", ["npz", "op4", "pch", "mtx"])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.999])
def test_cut_files(block, tmp_path, ending, share):
    """One line, for any length."""
    if ending == "op4":
        pytest.importorskip("pyyeti")
    block.write(tmp_path / f"block.{ending}")
    whole = tmp_path / (f"block.{ending}" if ending != "mtx" else "block_mass.mtx")
    content = whole.read_bytes()
    whole.write_bytes(content[: int(share * len(content))])
    with pytest.raises(aq.UserError, match=r"cut short|holds no DMIG|is empty") as caught:
        aq.read_superelement(
            tmp_path / f"block.{ending}", **({} if ending == "npz" else {"positions": block.positions})
        )
    assert "\n" not in str(caught.value)


def test_cut_between_cards(block, tmp_path):
    """A cut at the end of a line leaves matrices of other coordinates."""
    lines = block.write(tmp_path / "block.pch").read_text().splitlines(keepends=True)
    (tmp_path / "cut.pch").write_text("".join(lines[: len(lines) // 4]))
    with pytest.raises(aq.UserError, match=r"has no mass \(matrices: stiffness\)"):
        aq.read_superelement(tmp_path / "cut.pch")


def test_wrong_files(block, tmp_path):
    (tmp_path / "text.mtx").write_text("this is no matrix\n")
    (tmp_path / "one.op4").write_bytes(b"\x00" * 50)
    np.savez(tmp_path / "names.npz", k=np.eye(2), positions=np.zeros((2, 1)))
    (tmp_path / "blade.sub").write_bytes(b"sub")
    (tmp_path / "grid.bdf").write_text("GRID,1,,0.,0.,0.\n")
    cases = {
        "missing.op4": "no such file",
        ".": "is not a file",
        "blade.sub": "no open package reads ANSYS' superelement files",
        "text.mtx": "its lines must hold node, dof, node, dof, value",
        "names.npz": r"has no mass \(matrices: stiffness\)",
        "grid.bdf": "holds no DMIG cards",
    }
    for name, message in cases.items():
        with pytest.raises(aq.UserError, match=message):
            aq.read_superelement(tmp_path / name)
    (tmp_path / "blade.xyz").write_text("")
    with pytest.raises(aq.UserError, match=r"must end in \.npz, \.op4, \.mtx, \.full"):
        aq.read_superelement(tmp_path / "blade.xyz")
    with pytest.raises(aq.UserError, match=r"must end in \.npz, \.op4, \.mtx or \.pch"):
        block.write(tmp_path / "blade.xyz")
    with pytest.raises(aq.UserError, match="units = 'inch': must be one of m, mm"):
        aq.read_superelement(tmp_path / "names.npz", units="inch")


def test_without_the_package(block, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyyeti.nastran.op4", None)
    with pytest.raises(aq.UserError, match=r"needs the package pyyeti.*: pip install pyyeti"):
        block.write(tmp_path / "block.op4")
