"""Nodes, elements and surfaces that an Abaqus input file generates, against answers by hand."""

from math import cos, pi, radians, sin
from pathlib import Path

import numpy as np
import pytest

from arlequin.models.errors import ModelWarning, UserError
from arlequin.models.mesh import abaqus


def read(text):
    return abaqus.load(Path("deck.inp"), text.encode())


def nodes(text):
    """Number of each node → its coordinates."""
    mesh = read(text)
    return dict(zip(mesh.numbers.tolist(), mesh.points.tolist(), strict=True))


def refused(text, match):
    with pytest.raises(UserError, match=match) as caught:
        read(text)
    assert "\n" not in str(caught.value)


def test_nodes_on_a_line():
    mesh = read("*NODE\n1, 0., 0., 0.\n11, 10., 20., -5.\n*NGEN, NSET=line\n1, 11, 2\n")
    assert mesh.numbers.tolist() == [1, 3, 5, 7, 9, 11]
    assert mesh.points == pytest.approx(np.array([[2 * k, 4 * k, -k] for k in range(6)]), abs=1e-14)
    assert mesh.node_sets["line"].tolist() == [0, 1, 2, 3, 4, 5]
    assert nodes("*NODE\n5, 1.\n3, 0.\n*NGEN\n5, 3, -1\n")[4] == [0.5, 0.0, 0.0]


@pytest.mark.parametrize("centre", [", 5., 1., 2.", "7"])
def test_nodes_on_an_arc(centre):
    """A quarter of a circle of radius 2 about (5, 1, 2), in the plane x–z, by its centre or the number of a node."""
    found = nodes(f"*NODE\n1, 7., 1., 2.\n4, 5., 1., 4.\n7, 5., 1., 2.\n*NGEN, LINE=C\n1, 4, 1, {centre}\n")
    for k in range(4):
        expected = [5 + 2 * cos(radians(30 * k)), 1.0, 2 + 2 * sin(radians(30 * k))]
        assert found[1 + k] == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize(
    ("end", "normal", "degrees"),
    [
        ("-3., 0.", "0., 0., 1.", 180.0),
        ("-3., 0.", "0., 0., -1.", -180.0),
        ("0., 3.", "0., 0., -2.", -270.0),
        ("0., 3.", "0., 0., 2.", 90.0),
        ("3., 0.", "0., 0., 1.", 360.0),
    ],
)
def test_arcs_of_180_degrees_and_more(end, normal, degrees):
    """About the normal, by the right-hand rule, from the first end to the second."""
    found = nodes(f"*NODE\n1, 3., 0.\n7, {end}\n*NGEN, LINE=C\n1, 7, 1, , 0., 0., 0., {normal}\n")
    for k in range(1, 6):
        angle = radians(degrees) * k / 6
        assert found[1 + k] == pytest.approx([3 * cos(angle), 3 * sin(angle), 0.0], abs=1e-14)


def test_cylindrical_coordinates():
    """*NODE and the centre of an arc in SYSTEM=C: the roof of the Abaqus benchmark "barrel vault"."""
    found = nodes("*NODE, SYSTEM=C\n1, 300.\n5, 300., 40.\n*NGEN, LINE=C, SYSTEM=C\n1, 5, 1, , 0., 77., 0.\n")
    for k in range(5):
        assert found[1 + k] == pytest.approx([300 * cos(radians(10 * k)), 300 * sin(radians(10 * k)), 0.0], rel=1e-14)


@pytest.mark.parametrize(
    ("options", "count", "fractions"),
    [
        ("", 4, [0, 1 / 4, 1 / 2, 3 / 4, 1]),
        (", BIAS=0.5", 3, [0, 1 / 7, 3 / 7, 1]),  # 1 : 2 : 4, near to the first set
        (", BIAS=2.", 3, [0, 4 / 7, 6 / 7, 1]),
        (", BIAS=0.5, TWO STEP", 4, [0, 1 / 6, 1 / 3, 2 / 3, 1]),  # 1 : 1 : 2 : 2
    ],
)
def test_nodes_between_two_sets(options, count, fractions):
    text = f"*NODE, NSET=a\n1, 0., 0.\n2, 0., 1.\n*NODE, NSET=b\n{1 + 10 * count}, 3., 0.\n{2 + 10 * count}, 6., 1.\n"
    mesh = read(text + f"*NFILL, NSET=all{options}\na, B, {count}, 10\n")
    where = dict(zip(mesh.numbers.tolist(), mesh.points.tolist(), strict=True))
    for k, fraction in enumerate(fractions):
        assert where[1 + 10 * k] == pytest.approx([3 * fraction, 0.0, 0.0], abs=1e-14)
        assert where[2 + 10 * k] == pytest.approx([6 * fraction, 1.0, 0.0], abs=1e-14)
    assert len(mesh.node_sets["all"]) == len(mesh.points) == 2 * (count + 1)


def test_unsorted_sets_keep_their_order():
    bounds = "*NODE\n1, 0.\n2, 0., 1.\n21, 2., 1.\n22, 2.\n*NSET, NSET=a\n1, 2\n*NSET, NSET=b{}\n22, 21\n"
    assert nodes(bounds.format(", UNSORTED") + "*NFILL\na, b, 2, 10\n")[11] == [1.0, 0.0, 0.0]
    assert nodes(bounds.format("") + "*NFILL\na, b, 2, 10\n")[11] == [1.0, 0.5, 0.0]


def test_nodes_are_copied():
    """Moved by (1, 0, 0) and turned by 90° about z through (0, 0), twice."""
    found = nodes(
        "*NODE, NSET=old\n1, 2., 0.\n*NCOPY, OLD SET=old, CHANGE NUMBER=10, SHIFT, MULTIPLE=2, NEW SET=new\n"
        "1., 0., 0.\n0., 0., 0., 0., 0., 1., 90.\n"
    )
    assert found[11] == pytest.approx([0.0, 3.0, 0.0], abs=1e-14)
    assert found[21] == pytest.approx([-3.0, 1.0, 0.0], abs=1e-14)


@pytest.mark.parametrize(
    ("mirror", "data", "expected"),
    [
        ("POINT", "1., 1., 1.", [0.0, -1.0, -2.0]),
        ("LINE", "0., 0., 0., 0., 0., 5.", [-2.0, -3.0, 4.0]),
        ("MIRROR", "0., 0., 1., 1., 0., 1.\n0., 1., 1.", [2.0, 3.0, -2.0]),
    ],
)
def test_nodes_are_mirrored(mirror, data, expected):
    text = f"*NODE, NSET=old\n1, 2., 3., 4.\n*NCOPY, OLD SET=old, CHANGE NUMBER=1, REFLECT={mirror}\n{data}\n"
    assert nodes(text)[2] == pytest.approx(expected, abs=1e-14)


# a block of 3 × 2 × 2 bricks, nodes 1 + i + 10 j + 100 k
BLOCK = """*NODE
1, 0., 0., 0.
4, 3., 0., 0.
21, 0., 2., 0.
24, 3., 2., 0.
*NGEN, NSET=foot
1, 4
*NGEN, NSET=head
21, 24
*NFILL, NSET=plane
foot, head, 2, 10
*NCOPY, CHANGE NUMBER=200, OLD SET=plane, NEW SET=top, SHIFT
0., 0., 2.

*NFILL
plane, top, 2, 100
*ELEMENT, TYPE=C3D8
1, 1, 2, 12, 11, 101, 102, 112, 111
*ELGEN, ELSET=block
1, 3, 1, 1, 2, 10, 10, 2, 100, 100
"""


def test_elements_in_rows_and_layers():
    mesh = read(BLOCK)
    (block,) = mesh.blocks
    expected = {1 + i + 10 * j + 100 * k: (i, j, k) for i in range(3) for j in range(2) for k in range(2)}
    assert sorted(block.numbers.tolist()) == sorted(expected)
    for number, corners in zip(block.numbers.tolist(), mesh.points[block.nodes], strict=True):
        assert corners.min(axis=0).tolist() == list(expected[number])
        edges = corners[[1, 3, 4]] - corners[0]
        assert edges.tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    assert len(mesh.points) == 36 and len(mesh.element_sets["block"]) == 12 and not mesh.left_out


def test_elements_are_copied():
    mesh = read(
        BLOCK + "*NSET, NSET=every, ELSET=block\n*NCOPY, CHANGE NUMBER=1000, OLD SET=every, SHIFT\n5., 0., 0.\n"
        "*ELCOPY, OLD SET=block, ELEMENT SHIFT=1000, SHIFT NODES=1000, NEW SET=twin\n"
    )
    (block,) = mesh.blocks
    twin = mesh.points[block.nodes[mesh.element_sets["twin"]]]
    assert len(twin) == 12 and twin[:, :, 0].min() == 5.0 and twin[:, :, 0].max() == 8.0
    assert np.prod(np.ptp(twin, axis=1), axis=1).sum() == 12.0


def test_the_pipe_of_the_tutorial(tmp_path):
    """A quarter of a pipe of four C3D20R whose arcs are parabolas: its volume in closed form."""
    import arlequin as aq

    path = tmp_path / "pipe.inp"
    path.write_text(
        "*NODE\n1, 60., 0.\n9, 0., 60.\n161, 140., 0.\n169, 0., 140.\n*NGEN, LINE=C, NSET=Di\n1, 9, 1, , 0., 0., 0.\n"
        "*NGEN, LINE=C, NSET=Do\n161, 169, 1, , 0., 0., 0.\n*NFILL, NSET=Face1\nDi, Do, 16, 10\n"
        "*NCOPY, CHANGE NUMBER=2000, OLD SET=Face1, SHIFT, NEW SET=Face2\n0., 0., 300.\n0.,\n"
        "*NFILL, NSET=Nall\nFace1, Face2, 2, 1000\n*ELEMENT, TYPE=C3D20R\n"
        "1, 1, 161, 163, 3, 2001, 2161, 2163, 2003, 81, 162, 83,\n2, 2081, 2162, 2083, 2002, 1001, 1161, 1163, 1003\n"
        "*ELGEN, ELSET=Eall\n1, 4, 2, 1\n*SURFACE, NAME=inner\nEall, S6\n"
    )
    with pytest.warns(ModelWarning, match="nodes that no cell uses"):
        mesh = aq.mesh.read(path, boundaries=["inner"], cells=["Eall"])
    solid = aq.Solid("pipe", mesh, aq.LinearElastic(young=2.0, poisson=0.25, density=1.0))
    half = pi / 16  # of the angle of an element
    triangle, segment = sin(half) * cos(half), 2 / 3 * 2 * sin(half) * (1 - cos(half))  # of radius 1
    assert solid.cells.dx.sum() == pytest.approx(4 * (triangle + segment) * (140**2 - 60**2) * 300, rel=1e-12)
    assert np.hypot(*solid.boundary("inner").positions[:, :2].T) == pytest.approx(60.0, rel=1e-14)


@pytest.mark.parametrize(
    ("text", "area"),
    [
        ("*SURFACE, NAME=s\n1, S1\n2, S1\n", 2.0),
        ("*SURFACE, NAME=s\nbottom, S1\n", 6.0),
        ("*SURFACE, NAME=s\nblock\n", 32.0),  # 2 (6 + 6 + 4)
        ("*SURFACE, NAME=a\nblock\n*SURFACE, NAME=b\nblock, S1\n*SURFACE, NAME=s, COMBINE=INTERSECTION\na, b\n", 6.0),
        ("*SURFACE, NAME=a\nblock\n*SURFACE, NAME=b\nblock, S1\n*SURFACE, NAME=s, COMBINE=DIFFERENCE\na, b\n", 26.0),
        ("*SURFACE, NAME=a\nblock, S1\n*SURFACE, NAME=b\nblock\n*SURFACE, NAME=s, COMBINE=UNION\na, b\n", 38.0),
        ("*SURFACE, NAME=a\n1, S3\n*SURFACE, NAME=b\n1, S3\n11, S3\n*SURFACE, NAME=s, COMBINE=UNION\nA, B\n", 2.0),
    ],
)
def test_surfaces(text, area):
    """Unit squares: the area is the number of sides; S1 of the upper layer lies inside."""
    mesh = read(BLOCK + "*ELSET, ELSET=bottom, GENERATE\n1, 20\n" + text)
    assert (mesh.surfaces["s"] >= 0).all() and len(mesh.surfaces["s"]) == area and not mesh.left_out


def test_surfaces_of_nodes():
    """They are node sets; of their names, and of weights behind them."""
    mesh = read(
        BLOCK + "*SURFACE, TYPE=NODE, NAME=low\nfoot, 1.\n*SURFACE, TYPE=NODE, NAME=both\nfoot\nHead\n4\n"
        "*SURFACE, NAME=only, COMBINE=DIFFERENCE\nboth, low\n"
    )
    assert mesh.points[mesh.node_sets["low"]][:, 1].tolist() == [0.0] * 4 and len(mesh.node_sets["both"]) == 8
    assert mesh.points[mesh.node_sets["only"]][:, 1].tolist() == [2.0] * 4 and not mesh.left_out


def test_sets_of_the_assembly():
    """They name sets of instances, and each other."""
    part = f"*PART, NAME=p\n{SQUARE}*END PART\n*ASSEMBLY, NAME=a\n*INSTANCE, NAME=i, PART=p\n*END INSTANCE\n"
    part += "*INSTANCE, NAME=j, PART=p\n, 2.\n*END INSTANCE\n*ELSET, ELSET=one\nj.e\n*ELSET, ELSET=both\none\ni.e\n"
    mesh = read(part + "*NSET, NSET=n, INSTANCE=j, GENERATE\n2, 3\n*NSET, NSET=m, INSTANCE=j\n9\n*END ASSEMBLY\n")
    assert mesh.element_sets["one"].tolist() == [1] and mesh.element_sets["both"].tolist() == [0, 1]
    assert mesh.points[mesh.node_sets["n"]].tolist() == [[1.0, 2.0, 0.0], [1.0, 3.0, 0.0]]
    assert mesh.left_out == {"names ('j.9') in the set 'm' of what does not exist": 1}


def test_surfaces_of_instances():
    """Of two instances of a square, the second turned by 90° about (0, 0, 1) through (2, 0): their union."""
    part = f"*PART, NAME=p\n{SQUARE}"
    part += "*SURFACE, NAME=tip\ne, S2\n*END PART\n*ASSEMBLY, NAME=a\n*INSTANCE, NAME=i, PART=p\n*END INSTANCE\n"
    part += "*INSTANCE, NAME=j, PART=p\n2.,\n2., 0., 0., 2., 0., 1., 90.\n*END INSTANCE\n"
    mesh = read(
        part + "*SURFACE, NAME=tips, COMBINE=UNION\ni.tip, J.TIP\n*SURFACE, NAME=sides\nj.e, S1\n*END ASSEMBLY\n"
    )
    assert sorted(mesh.surfaces) == ["i.tip", "j.tip", "sides", "tips"] and not mesh.left_out
    ends = mesh.points[mesh.surfaces["tips"][:, :2]]
    assert ends[0, :, 0].tolist() == [1.0, 1.0] and ends[1, :, 1] == pytest.approx(1.0)
    assert sorted(np.round(ends[1, :, 0], 12).tolist()) == [1.0, 2.0]
    assert mesh.points[mesh.surfaces["sides"][0, :2]][:, 0] == pytest.approx(2.0)


SQUARE = "*NODE, NSET=all\n1, 0., 0.\n2, 1., 0.\n3, 1., 1.\n4, 0., 1.\n*ELEMENT, TYPE=CPS4, ELSET=e\n1, 1, 2, 3, 4\n"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("*NSET, NSET=a\n1, 77\n", "nodes of the set 'a' that do not exist"),
        ("*NSET, NSET=a\nnone\n", "names ('none') in the set 'a' of what does not exist"),
        ("*ELSET, ELSET=a, GENERATE\n5, 9\n", "empty sets of elements (a)"),
        ("*SURFACE, NAME=s\nnone, S1\n", "names ('none') in the surface 's' of what does not exist"),
        ("*SURFACE, NAME=s\ne, S7\n", "faces S7 of the surface 's' that the elements do not have"),
        ("*SURFACE, NAME=s\n8, S1\n", "names ('8') in the surface 's' of what does not exist"),
        ("*SURFACE, NAME=s, COMBINE=UNION\nr, t\n", "names ('r') in the surface 's' of what does not exist"),
        ("*SURFACE, NAME=s, TYPE=CYLINDER\n1, 2\n", "analytical surfaces"),
        ("*SURFACE, TYPE=NODE, NAME=all\n1\n", "surfaces of nodes with the name of another node set ('all')"),
        ("*NODE\n3, 1., 2.\n", "earlier definitions of nodes that are defined twice"),
        ("*ELEMENT, TYPE=CPS4\n1, 1, 2, 4, 3\n", "earlier definitions of elements that are defined twice"),
        ("*ELEMENT, TYPE=SPRINGA, ELSET=k\n7, 1, 3\n", "elements of type SPRINGA"),
    ],
)
def test_what_names_nothing_is_told(text, what):
    assert read(SQUARE + text).left_out[what] == 1


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("*NGEN\n1, 9\n", "NGEN names the node 9, which is not defined before it"),
        ("*NGEN\n1, 4, 2\n", "NGEN from node 1 to 4 with the increment 2"),
        ("*NGEN, LINE=P\n1, 4, 1, 2\n", "LINE=P is not read: export"),
        (
            "*NGEN, LINE=C\n1, 3, 1, , 0.5, 0.5\n",
            "about .0.5, 0.5, 0. is one of 180° or more, or of 0°, and has no normal",
        ),
        ("*NGEN, LINE=C\n1, 3, 1, , 0., 1.5\n", "has ends at the distances 1.5 and 1.118"),
        ("*NGEN, LINE=C\n1, 3, 1, , 1., 0., 0., 1.\n", "normal of .* is not at right angles"),
        ("*NFILL\nall, none, 2\n", "NFILL names the set 'none', which is not defined before it"),
        ("*NFILL, BIAS=0.\nall, all, 2\n", "NFILL with 2 intervals, BIAS=0"),
        ("*NFILL, TWO STEP\nall, all, 3\n", "3 intervals in TWO STEP"),
        ("*NFILL, SINGULAR=1\nall, all, 2\n", "SINGULAR is not read"),
        ("*NFILL\nall\n", "needs two sets"),
        ("*NCOPY, OLD SET=all, SHIFT\n1.\n", "NCOPY without CHANGE NUMBER="),
        ("*NCOPY, OLD SET=all, CHANGE NUMBER=9\n", "neither SHIFT nor REFLECT"),
        ("*NCOPY, OLD SET=all, CHANGE NUMBER=9, POLE\n1\n", "POLE is not read"),
        ("*NCOPY, OLD SET=all, CHANGE NUMBER=9, REFLECT=MIRROR\n0.\n", "points that are no plane"),
        (
            "*NCOPY, OLD SET=all, CHANGE NUMBER=9, SHIFT\n0.\n0., 0., 0., 0., 0., 0., 5.\n",
            "axis of rotation of no length",
        ),
        ("*ELGEN\n7, 2\n", "ELGEN names the element 7"),
        ("*ELGEN\n1, 0\n", "ELGEN from element 1 with 0, 1, 1"),
        ("*ELGEN\n1, 100000, 1, 1, 100000\n", "ELGEN generates 10,000,000,000"),
        ("*ELGEN\n1, 2\n", "element 2 names the node 5, which does not exist"),
        ("*ELCOPY, OLD SET=e, ELEMENT SHIFT=1, SHIFT NODES=1, REFLECT\n", "ELCOPY, REFLECT is not read"),
        ("*NMAP, NSET=all\n", "NMAP is not read"),
        ("*SYSTEM\n1., 0., 0.\n", "SYSTEM is not read"),
        ("*NODE, SYSTEM=S\n9, 1.\n", "NODE with SYSTEM=S is not read"),
        ("*PARAMETER\nx = 1\n", "PARAMETER is not read"),
        ("*ELEMENT, TYPE=CPS4\n2, 1, 2, 3\n3, 1, 2, 3, 4\n", "element 2 of .* has not 4 nodes"),
        ("*ELEMENT, TYPE=CPS4\n2, 1, 2, 3, 4, 1\n", "element 2 of .* has not 4 nodes"),
        ("*SURFACE, NAME=a\ne, S1\n*SURFACE, NAME=s, COMBINE=DIFFERENCE\na\n", "DIFFERENCE of 1 surfaces, not 2"),
        ("*STEP\n*STATIC\n", "no .END STEP: it is cut off"),
    ],
)
def test_what_is_not_read_gives_one_line(text, why):
    refused(SQUARE + text, why)
