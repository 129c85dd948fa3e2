"""Loaded faces of Nastran, components of ANSYS and meshes of MED files, against answers by hand."""

from pathlib import Path

import numpy as np
import pytest

import arlequin as aq
from arlequin.models.errors import ModelWarning, UserError
from arlequin.models.mesh import ansys, nastran

# cells of one element each, the corners numbered as in the manual; PLOAD4's G1 and G3 or G4 → the face
HEXAHEDRON = ["0 0 0", "1 0 0", "1 1 0", "0 1 0", "0 0 1", "1 0 1", "1 1 1", "0 1 1"]
FACES = {
    "CHEXA": (HEXAHEDRON, {"1 3": "1234", "2 4": "1234", "5 7": "5678", "6 8": "5678", "1 6": "1256", "5 2": "1256",
                           "2 7": "2367", "3 6": "2367", "3 8": "3478", "4 7": "3478", "1 8": "1458", "4 5": "1458"}),
    "CPENTA": (["0 0 0", "1 0 0", "0 1 0", "0 0 1", "1 0 1", "0 1 1"],
               {"1": "123", "3": "123", "5": "456", "1 5": "1245", "4 2": "1245", "2 6": "2356", "3 4": "1346"}),
    "CTETRA": (["0 0 0", "1 0 0", "0 1 0", "0 0 1"],
               {"1 4": "123", "2 4": "123", "1 3": "124", "2 1": "234", "4 2": "134"}),
    "CPYRAM": (["0 0 0", "1 0 0", "1 1 0", "0 1 0", "0 0 1"],
               {"1": "1234", "1 3": "1234", "1 2": "125", "3 2": "235", "3 4": "345", "4 1": "145"}),
}  # fmt: skip


def deck(card, corners, more):
    lines = [f"GRID,{10 + k},,{','.join(xyz.split())}" for k, xyz in enumerate(corners, 1)]
    lines.append(f"{card},5,1," + ",".join(str(10 + k) for k in range(1, min(len(corners), 6) + 1)))
    if len(corners) > 6:
        lines[-1] += ",\n," + ",".join(str(10 + k) for k in range(7, len(corners) + 1))
    return "\n".join([*lines, *more]).encode()


@pytest.mark.parametrize(
    ("card", "grids", "face"),
    [(card, grids, face) for card, (_, faces) in FACES.items() for grids, face in faces.items()],
)
def test_faces_of_pload4(card, grids, face):
    first, _, other = grids.partition(" ")
    load = f"PLOAD4,7,5,2.5,,,,{10 + int(first)},{10 + int(other) if other else ''}"
    mesh = nastran.load(Path("deck.bdf"), deck(card, FACES[card][0], [load]))
    ((name, sides),) = mesh.surfaces.items()
    corners = mesh.numbers[sides[0][sides[0] >= 0]] - 10
    assert name == "PLOAD4_7" and sorted(corners.tolist()) == [int(digit) for digit in face] and not mesh.left_out


@pytest.mark.parametrize(
    ("card", "grids", "why"),
    [
        ("CHEXA", "11,12", "names no face of the hexahedron 5 by G1 = 11 and G3 or G4 = 12"),
        ("CHEXA", "11,17", "names no face"),  # across the cell
        ("CHEXA", "11,", "G1 = 11 and G3 or G4 = blank"),
        ("CPENTA", "11,12", "names no face of the wedge 5 by G1 = 11"),  # an edge
        ("CTETRA", "11,11", "names no face"),
        ("CTETRA", "11,99", "names no face"),
        ("CPYRAM", "15,", "names no face"),
    ],
)
def test_faces_that_are_none(card, grids, why):
    with pytest.raises(UserError, match=why):
        nastran.load(Path("deck.bdf"), deck(card, FACES[card][0], [f"PLOAD4,7,5,2.5,,,,{grids}"]))


def test_nastran_loads_and_supports():
    """Faces of shells from one element to another, points of forces and supports; cards that come first."""
    more = ["PLOAD4,3,8,1.,,,,THRU,20", "CQUAD4,9,2,11,12,13,14", "CQUAD4,12,2,15,16,17,18", "PSHELL,2,1,.1"]
    more += ["SPC1,4,123,11,THRU,13", "SPC,4,14,1,,15,2", "FORCE,6,17,,1.,1.,0.,0.", "MOMENT,6,18,,1.,1.,0.,0."]
    more += ["PLOAD4,3,77,1.,,,,1,2", "SPC1,8,1,99", "CONM2,50,11,,1."]
    mesh = nastran.load(Path("deck.bdf"), b"PLOAD4,3,5,1.,,,,11,16\n" + deck("CHEXA", HEXAHEDRON, more))
    assert [sorted((mesh.numbers[rows] - 10).tolist()) for rows in mesh.surfaces["PLOAD4_3"]] == [
        [1, 2, 5, 6],
        [1, 2, 3, 4],
        [5, 6, 7, 8],
    ]
    points = {name: (mesh.numbers[rows] - 10).tolist() for name, rows in mesh.node_sets.items()}
    assert points == {"SPC_4": [1, 2, 3, 4, 5], "LOAD_6": [7, 8], "SPC_8": []}
    assert mesh.left_out == {
        "faces of PLOAD4 3 of elements that do not exist": 1,
        "nodes of the set 'SPC_8' that do not exist": 1,
        "CONM2 elements": 1,
    }


def test_pload4_is_a_boundary(tmp_path):
    path = tmp_path / "cube.bdf"
    path.write_bytes(deck("CHEXA", HEXAHEDRON, ["PLOAD4,7,5,2.5,,,,12,17", "SPC1,1,123,11,14,15,18"]))
    mesh = aq.mesh.read(path, boundaries=["PLOAD4_7", "SPC_1"])
    assert mesh.p[0, mesh.facets[:, mesh.boundaries["PLOAD4_7"]]].tolist() == [[1.0]] * 4
    assert mesh.p[0, mesh.facets[:, mesh.boundaries["SPC_1"]]].tolist() == [[0.0]] * 4


def test_shells_and_beams_are_told(tmp_path):
    """Shells on a solid are boundaries, bars beside it are left out; in a plane shells are read as plane cells."""
    more = ["CQUAD4,9,2,11,12,13,14", "PSHELL,2,1,.1", "CBAR,10,3,11,17,0.,0.,1.", "PBAR,3,1,1."]
    path = tmp_path / "cube.bdf"
    path.write_bytes(deck("CHEXA", HEXAHEDRON, more))
    told = "1 quads in sets are boundaries only, without the stiffness and mass of CQUAD4; 1 lines are left out"
    with pytest.warns(ModelWarning, match=told):
        mesh = aq.mesh.read(path, boundaries=["PSHELL_2"])
    assert mesh.nelements == 1
    grids = "GRID,1,,0.,0.\nGRID,2,,1.,0.\nGRID,3,,1.,1.\nGRID,4,,0.,1.,{}\n"
    path.write_text(grids.format("0.") + "CQUAD4,1,1,1,2,3,4\n")
    with pytest.warns(ModelWarning, match="quads of CQUAD4 are read as cells of a plane part"):
        aq.mesh.read(path)
    path.write_text(grids.format("0.5") + "CQUAD4,1,1,1,2,3,4\n")
    assert "only surfaces, and not in the plane" in aq.mesh.describe(path).not_supported[0]
    plate = "*NODE\n1,0,0\n2,1,0\n3,1,1\n4,0,1\n*ELEMENT,TYPE=S4R\n1,1,2,3,4\n*ELEMENT,TYPE=B21,ELSET=rib\n2,1,2\n"
    path = tmp_path / "plate.inp"
    path.write_text(plate)
    told = "quads of S4R are read as cells of a plane part; 1 lines in sets are boundaries only, .* of B21"
    with pytest.warns(ModelWarning, match=told):
        aq.mesh.read(path, boundaries=["rib"])


ARCHIVE = """/PREP7
ET,1,185
ET,2,154
ET,3,181
NBLOCK,6,SOLID,12,12
(1i7,2i9,6e21.13e3)
{nodes}
N,R5.3,LOC,       -1,
EBLOCK,19,SOLID,40,4
(19i9)
{elements}
       -1
EBLOCK,10,,,1
(15i9)
       60        2        2        2        0        2        3        7        6
       -1
CMBLOCK,LEFT    ,NODE,       5
(8i10)
         1        -2         4         5        -8
CMBLOCK,SOLIDS,ELEM,       2
(8i10)
        10       -20
CMBLOCK,LINES,LINE,       1
(8i10)
         1
CMGRP,ALL,LEFT,SOLIDS,NOWHERE
FINISH
"""


def archive(**changes):
    """A cube, a wedge and a tetrahedron by repeated nodes of SOLID185, and a triangle of SHELL181."""
    places = ["0 0 0", "1", "1 1", "0 1", "0 0 1", "1 0 1", "1 1 1", "0 1 1", "2", "2 0 1", "2 1", "3 0 1"]
    rows = []
    for number, place in enumerate(places, 1):
        rows.append(f"{number:7d}{0:9d}{0:9d}" + "".join(f"{float(x):21.13E}" for x in place.split()))
    cells = {
        10: (1, [1, 2, 3, 4, 5, 6, 7, 8]), 15: (1, [2, 9, 3, 3, 6, 10, 7, 7]),
        20: (1, [2, 9, 11, 11, 12, 12, 12, 12]), 40: (3, [2, 3, 7, 7]),
    }  # fmt: skip
    lines = []
    for number, (element, nodes) in cells.items():
        head = [1, element, 1, 1, 0, 0, 0, 0, len(nodes), 0, number]
        lines.append("".join(f"{value:9d}" for value in [*head, *nodes]))
    text = ARCHIVE.format(nodes="\n".join(rows), elements="\n".join(lines))
    for old, new in changes.get("replace", {}).items():
        assert old in text
        text = text.replace(old, new)
    return text.encode()


def test_an_archive_of_ansys():
    """Short lines of NBLOCK, components with ranges, elements with repeated nodes and a block that is not SOLID."""
    from arlequin.models.mesh.conversion import converted

    mesh = ansys.load(Path("a.cdb"), archive())
    assert mesh.points[[0, 1, 3, 11]].tolist() == [[0, 0, 0], [1, 0, 0], [0, 1, 0], [3, 0, 1]]
    sets = {name: mesh.numbers[rows].tolist() for name, rows in mesh.node_sets.items()}
    assert sets == {"LEFT": [1, 2, 4, 5, 6, 7, 8], "ALL": [1, 2, 4, 5, 6, 7, 8]}
    numbers = np.concatenate([block.numbers for block in mesh.blocks])
    elements = {name: sorted(numbers[rows].tolist()) for name, rows in mesh.element_sets.items()}
    assert elements == {
        "MAT_1": [10, 15, 20, 40],
        "TYPE_1": [10, 15, 20],
        "TYPE_2": [60],
        "TYPE_3": [40],
        "SOLIDS": [10, 15, 20],
        "ALL": [10, 15, 20],
    }
    assert mesh.left_out == {"components of kind LINE": 1, "components ('NOWHERE') of CMGRP ALL that do not exist": 1}
    solid = {block.kind: sorted(block.numbers.tolist()) for block in converted(mesh)[0].blocks}
    assert solid["hexahedron"] == [10] and solid["triangle"] == [40] and solid["tetra"] == [15, 15, 15, 20]


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("SOLID,12,12", "SOLID,12,13", "NBLOCK announces 13 nodes and has 12"),
        ("SOLID,40,4", "SOLID,40,3", "EBLOCK announces 3 elements and has 4"),
        ("EBLOCK,10,,,1", "EBLOCK,10,,,7", "EBLOCK announces 7 elements and has 1"),
        ("NODE,       5", "NODE,       9", "CMBLOCK LEFT"),
        ("         1        -2", "        -1        -2", "CMBLOCK LEFT with a range up to 1"),
        ("        10       -20", "        20       -10", "CMBLOCK SOLIDS with a range up to 10"),
        ("(1i7,2i9,6e21.13e3)", "(1i7,2i9)", "NBLOCK without a format of real numbers"),
        ("(19i9)", "no format", "EBLOCK without its format"),
        ("2.0000000000000E+00", "                NAN", "a coordinate is not finite"),
    ],
)
def test_archives_that_are_damaged(tmp_path, old, new, why):
    path = tmp_path / "a.cdb"
    path.write_bytes(archive(replace={old: new}))
    for function in (aq.mesh.read, aq.mesh.describe, aq.mesh.points):
        with pytest.raises(UserError, match=why) as caught:
            function(path)
        assert "\n" not in str(caught.value)


def med(path, boxes):
    """A MED file with a mesh of one hexahedron for each name → length in x; the group "end" of each has one face."""
    import h5py

    with h5py.File(path, "w") as file:
        for name, length in boxes.items():
            corners = np.array([xyz.split() for xyz in HEXAHEDRON], dtype=float) * [length, 1.0, 1.0]
            mesh = file.create_group(f"ENS_MAA/{name}")
            mesh.attrs["ESP"] = 3
            mesh["NOE/COO"] = corners.T.ravel()
            mesh["NOE/COO"].attrs["NBR"] = 8
            mesh["NOE/FAM"] = np.array([4, 0, 0, 4, 0, 0, 0, 0])
            for code, nodes, family in (("HE8", range(1, 9), -1), ("QU4", (2, 3, 7, 6), -2)):
                mesh[f"MAI/{code}/NOD"] = np.array(nodes)
                mesh[f"MAI/{code}/NOD"].attrs["NBR"] = 1
                mesh[f"MAI/{code}/FAM"] = np.array([family])
            groups = {"ELEME/solid": (-1, f"body_{name}"), "ELEME/face": (-2, "end"), "NOEUD/edge": (4, f"edge_{name}")}
            for family, (number, group) in groups.items():
                entry = file.create_group(f"FAS/{name}/{family}")
                entry.attrs["NUM"] = number
                entry["GRO/NOM"] = np.array([list(group.encode().ljust(80, b"\0"))], dtype=np.int8)


def test_several_meshes_in_a_med_file(tmp_path):
    path = tmp_path / "two.med"
    med(path, {"short": 2.0, "long": 5.0})
    for function in (aq.mesh.read, aq.mesh.parts, aq.mesh.points, aq.mesh.describe):
        with pytest.raises(UserError, match=r"holds 2 meshes: choose one by mesh= \(long, short\)"):
            function(path)
        with pytest.raises(UserError, match=r"no mesh is named 'shrt'.*short.*\(meshes: long, short\)"):
            function(path, mesh="shrt")
    for name, length in (("short", 2.0), ("long", 5.0)):
        mesh = aq.mesh.read(path, boundaries=["end"], cells=[f"body_{name}"], mesh=name)
        assert mesh.p[0, mesh.facets[:, mesh.boundaries["end"]]].tolist() == [[length]] * 4
        assert list(aq.mesh.points(path, mesh=name)) == [f"edge_{name}"]
        assert aq.mesh.describe(path, mesh=name).box[1] == (length, 1.0, 1.0)
        assert list(aq.mesh.parts(path, mesh=name)) == ["hexahedron"]
    soft = aq.LinearElastic(young=2.0, poisson=0.25, density=1.0)
    assert aq.solids(path, {"body_long": soft}, mesh="long")["body_long"].cells.dx.sum() == pytest.approx(5.0)
    med(path, {"short": 2.0})
    assert aq.mesh.read(path).nelements == aq.mesh.read(path, mesh="short").nelements == 1
    plain = tmp_path / "a.inp"
    plain.write_text("*NODE\n1,0\n2,1\n3,0,1\n*ELEMENT,TYPE=CPS3\n1,1,2,3\n")
    with pytest.raises(UserError, match=r"mesh = 'x': must be left out: .* is no MED file"):
        aq.mesh.read(plain, mesh="x")


def test_types_in_a_block():
    """ETBLOCK has its options in fields of letters; coordinates behind integers of two widths are those of the file."""
    types = {"ET,1,185\nET,2,154\nET,3,181\n": "ETBLOCK,3,3\n(2i9,19a9)\n" + "".join(
        f"{number:9d}{kind:9d}" + "        0" * 19 + "\n" for number, kind in ((1, 185), (2, 154), (3, 181))
    ) + "       -1\n"}  # fmt: skip
    mesh = ansys.load(Path("a.cdb"), archive(replace=types))
    assert sum(len(block.nodes) for block in mesh.blocks) == 5
    assert mesh.points.max(axis=0).tolist() == [3.0, 1.0, 1.0]
