"""Gmsh files: both formats and orders against the geometry they were made from, and every kind of bad file.

The files in data/ are written by Gmsh (data/make.py). `ring`: quarter ring 1 < r < 2, 2 × 3 cells; `block`:
the ring (1 × 2 cells) drawn out to 0 < z < 3 in two layers; `square`: unit square with equal names in two
dimensions, a reversed boundary and a group without a name; `save_all`: elements with and without a group.
"""

import re
from pathlib import Path

import numpy as np
import pytest

from arlequin.models import mesh
from arlequin.models.errors import ModelWarning, UserError
from arlequin.models.fem.solid import Solid
from arlequin.models.materials.elastic import LinearElastic

DATA = Path(__file__).parent / "data"
MATERIAL = LinearElastic(young=2.0, poisson=0.25, density=1.0)
RINGS = [f"ring_{kind}{order}_v{form}.msh" for kind in ("tri", "quad") for order in (1, 2) for form in (22, 41)]
BLOCKS = [f"block_{kind}{order}_v{form}.msh" for kind in ("tet", "hex") for order in (1, 2) for form in (22, 41)]


def chord(cells, radius, order):
    """Length of the quarter circle in `cells` pieces: chords, or parabolas to their own accuracy."""
    angle = np.pi / 2 / cells
    return (
        pytest.approx(2 * cells * radius * np.sin(angle / 2), rel=1e-9)
        if order == 1
        else pytest.approx(np.pi / 2 * radius, rel=5e-4)
    )


@pytest.mark.sampled(7)
@pytest.mark.parametrize("name", [*RINGS, "ring_quad2_v41b.msh", "ring_tri1_v22b.msh"])
def test_ring(name):
    order = int(name.split("_")[1][-1])
    plain = mesh.read(DATA / name, boundaries=("inner", "outer", "south", "west", "cuts"), cells=("ring", "all"))
    assert plain.nelements == (12 if "tri" in name else 6)
    assert set(plain.boundaries) == {"inner", "outer", "south", "west", "cuts"}
    assert {k: len(v) for k, v in plain.subdomains.items()} == {
        "ring": plain.nelements,
        "all": plain.nelements,
    }
    assert len(plain.boundaries["cuts"]) == 4
    part = Solid("ring", plain, MATERIAL, plane="strain")
    assert part.order == order and part.positions.shape[1] == 2
    for side, radius in (("inner", 1.0), ("outer", 2.0)):
        surface = part.boundary(side)
        assert len(surface.nodes) == 3 * order + 1
        assert np.hypot(*surface.positions.T) == pytest.approx(radius, rel=1e-9)
        assert surface.areas.sum() == chord(3, radius, order)
    assert part.boundary("south").positions[:, 1] == pytest.approx(0, abs=1e-12)
    assert part.boundary("west").positions[:, 0] == pytest.approx(0, abs=1e-12)
    area = part.assemble().mass.sum() / 2
    assert area == pytest.approx(2.25 if order == 1 else 0.75 * np.pi, rel=1e-9 if order == 1 else 5e-4)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", BLOCKS)
def test_block(name):
    order = int(name.split("_")[1][-1])
    plain = mesh.read(DATA / name, boundaries=("bottom", "top", "outer"))
    part = Solid("block", plain, MATERIAL)
    assert part.order == order
    assert "rim" not in plain.boundaries  # a group of lines names nothing in 3D
    for side, height in (("bottom", 0.0), ("top", 3.0)):
        assert part.boundary(side).positions[:, 2] == pytest.approx(height, abs=1e-9)
    outer = part.boundary("outer")
    assert np.hypot(*outer.positions[:, :2].T) == pytest.approx(2.0, rel=1e-9)
    assert outer.areas.sum() == (
        pytest.approx(3 * 8 * np.sin(np.pi / 8), rel=1e-9) if order == 1 else pytest.approx(3 * np.pi, rel=1e-3)
    )
    volume = part.assemble().mass.sum() / 3
    assert volume == pytest.approx(4.5 * np.sqrt(2) if order == 1 else 2.25 * np.pi, rel=1e-9 if order == 1 else 2e-3)


@pytest.mark.parametrize("name", [name for name in RINGS + BLOCKS if "v22" in name])
def test_formats_agree(name):
    old, new = (mesh.read(DATA / name.replace("v22", form)) for form in ("v22", "v41"))
    assert old.doflocs == pytest.approx(new.doflocs, abs=1e-12)
    assert np.array_equal(old.t, new.t)
    for kind in ("boundaries", "subdomains"):
        first, second = getattr(old, kind), getattr(new, kind)
        assert {k: sorted(v) for k, v in first.items()} == {k: sorted(v) for k, v in second.items()}


def as_4_0(text, version="4", binary=False):
    """A file of format 4.1 (text) as Gmsh 4.0 writes it, by the two descriptions of the format."""
    lines = iter(text.splitlines())
    number, kinds = (lambda kind, *values: np.array(values, kind).tobytes()), {"<u8": int, "<i4": int, "<f8": float}
    out = [f"$MeshFormat\n{version} {int(binary)} 8\n".encode()]

    def put(*pairs):
        if binary:
            out.extend(number(kind, *map(kinds[kind], values)) for kind, values in pairs)
        else:
            out.append(" ".join(str(kinds[kind](value)) for kind, values in pairs for value in values).encode() + b"\n")

    def words():
        return next(lines).split()

    for line in lines:
        name = line[1:]
        if name == "MeshFormat":
            next(lines)
            out.append(number("<i4", 1) + b"\n" if binary else b"")
        elif name == "PhysicalNames":
            out.append(line.encode() + b"\n")
            out.extend(
                next(lines).encode() + b"\n" for _ in range(int(text.split("$PhysicalNames\n")[1].split()[0]) + 1)
            )
        elif name == "Entities":
            out.append(b"$Entities\n")
            counts = words()
            put(("<u8", counts))
            for dimension, count in enumerate(map(int, counts)):
                for _ in range(count):
                    tag, *rest = words()
                    box, rest = (rest[:6], rest[6:]) if dimension else (rest[:3] * 2, rest[3:])
                    groups, rest = rest[1 : 1 + int(rest[0])], rest[1 + int(rest[0]) :]
                    sides = [("<u8", rest[:1]), ("<i4", rest[1:])] if dimension else []
                    put(("<i4", [tag]), ("<f8", box), ("<u8", [len(groups)]), ("<i4", groups), *sides)
        elif name == "Nodes":
            out.append(b"$Nodes\n")
            blocks, count, *_ = words()
            put(("<u8", [blocks, count]))
            for _ in range(int(blocks)):
                dimension, tag, parametric, count = words()
                put(("<i4", [tag, dimension, parametric]), ("<u8", [count]))
                numbers = [next(lines) for _ in range(int(count))]
                for each in numbers:
                    put(("<i4", [each]), ("<f8", words()))
        elif name == "Elements":
            out.append(b"$Elements\n")
            blocks, count, *_ = words()
            put(("<u8", [blocks, count]))
            for _ in range(int(blocks)):
                dimension, tag, kind, count = words()
                put(("<i4", [tag, dimension, kind]), ("<u8", [count]))
                for _ in range(int(count)):
                    put(("<i4", words()))
        else:
            out.append(
                b"\n" * (binary and name != "EndMeshFormat" and name != "EndPhysicalNames") + line.encode() + b"\n"
            )
    return b"".join(out)


@pytest.mark.sampled(7)
@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("version", ["4", "4.0", "4.1"])
@pytest.mark.parametrize("name", ["ring_quad2_v41.msh", "block_tet2_v41.msh", "square_v41.msh"])
def test_format_4_0(tmp_path, name, version, binary):
    """As Gmsh 4.0 writes it, under all headers that are about, with entities in several groups: the mesh of 4.1."""
    (tmp_path / "old.msh").write_bytes(as_4_0((DATA / name).read_text(), version, binary))
    old, new = mesh.read(tmp_path / "old.msh"), mesh.read(DATA / name)
    assert type(old) is type(new) and np.array_equal(old.doflocs, new.doflocs) and np.array_equal(old.t, new.t)
    for kind in ("boundaries", "subdomains"):
        first, second = getattr(old, kind), getattr(new, kind)
        assert {k: sorted(v) for k, v in first.items()} == {k: sorted(v) for k, v in second.items()}


@pytest.mark.parametrize("version", ["4", "4.0"])
@pytest.mark.parametrize("name", ["ring_quad2_v41.msh", "ring_quad2_v41b.msh"])
def test_format_4_1_under_another_header(tmp_path, name, version):
    content = (DATA / name).read_bytes().replace(b"\n4.1 ", f"\n{version} ".encode(), 1)
    (tmp_path / "mesh.msh").write_bytes(content)
    assert np.array_equal(mesh.read(tmp_path / "mesh.msh").doflocs, mesh.read(DATA / name).doflocs)


def test_format_4_0_that_cannot_be_read(tmp_path):
    """Nodes with parameters on their surface: not damaged."""
    text = as_4_0((DATA / "square_v41.msh").read_text()).decode()
    head, nodes = text.split("$Nodes\n")
    rows = [row + " 0.5" if len(row.split()) == 4 and "." in row else row for row in nodes.split("\n")]
    (tmp_path / "mesh.msh").write_text(head + "$Nodes\n" + "\n".join(rows))
    with pytest.raises(
        UserError, match=r"format 4\.0 of Gmsh, which cannot be read here .*gmsh mesh.msh -save -format msh41"
    ):
        mesh.read(tmp_path / "mesh.msh")


def foreign(kind, nodes, layout, binary):
    """A file of one cell of a type."""
    numbers = range(1, nodes + 1)
    points = [(i % 3, i // 3 % 3, i / 7) for i in numbers]
    if not binary and layout == "2.2":
        rows = "".join(f"{i} {x} {y} {z}\n" for i, (x, y, z) in zip(numbers, points, strict=True))
        cell = f"$Elements\n1\n1 {kind} 2 1 1 {' '.join(map(str, numbers))}\n$EndElements\n"
        return f"$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n{nodes}\n{rows}$EndNodes\n{cell}".encode()
    if not binary:
        rows = "".join(f"{i}\n" for i in numbers) + "".join(f"{x} {y} {z}\n" for x, y, z in points)
        head = f"$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Nodes\n1 {nodes} 1 {nodes}\n3 1 0 {nodes}\n{rows}$EndNodes\n"
        cell = f"$Elements\n1 1 1 1\n3 1 {kind} 1\n1 {' '.join(map(str, numbers))}\n$EndElements\n"
        text = (head + cell).encode()
        return text if layout == "4.1" else as_4_0(text.decode())
    if layout == "4.0":
        return as_4_0(foreign(kind, nodes, "4.1", False).decode(), "4", True)
    number = lambda kind, *values: np.array(values, kind).tobytes()  # noqa: E731
    head = f"$MeshFormat\n{layout} 1 8\n".encode() + number("<i4", 1) + b"\n$EndMeshFormat\n$Nodes\n"
    if layout == "2.2":
        rows = b"".join(number("<i4", i) + number("<f8", *x) for i, x in zip(numbers, points, strict=True))
        cell = b"1\n" + number("<i4", kind, 1, 2, 1, 1, 1, *numbers)
        return head + f"{nodes}\n".encode() + rows + b"\n$EndNodes\n$Elements\n" + cell + b"\n$EndElements\n"
    rows = number("<u8", 1, nodes, 1, nodes) + number("<i4", 3, 1, 0) + number("<u8", nodes, *numbers)
    cell = number("<u8", 1, 1, 1, 1) + number("<i4", 3, 1, kind) + number("<u8", 1, 1, *numbers)
    return head + rows + number("<f8", *points) + b"\n$EndNodes\n$Elements\n" + cell + b"\n$EndElements\n"


@pytest.mark.sampled(7)
@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("layout", ["2.2", "4.0", "4.1"])
@pytest.mark.parametrize(
    ("kind", "nodes", "name", "cure"),
    [
        (13, 18, "wedge18 (wedges, that is prisms)", "mesh with tetrahedra"),
        (14, 14, "pyramid14 (pyramids)", "mesh with tetrahedra"),
        (90, 40, "wedge40 (wedges, that is prisms)", "mesh with tetrahedra"),
        (118, 30, "pyramid30 (pyramids)", "mesh with tetrahedra"),
        (21, 10, "triangle10", "save with Mesh.ElementOrder = 2"),
        (22, 12, "triangle12", "save with Mesh.ElementOrder = 2"),
        (39, 12, "quad12", "save with Mesh.ElementOrder = 2"),
        (92, 64, "hexahedron64", "save with Mesh.ElementOrder = 2"),
    ],
)
def test_foreign_cells_are_named(tmp_path, kind, nodes, name, cure, layout, binary):
    (tmp_path / "mesh.msh").write_bytes(foreign(kind, nodes, layout, binary))
    with pytest.raises(UserError) as caught:
        mesh.read(tmp_path / "mesh.msh")
    line = str(caught.value)
    assert f"cells of type {name} are not supported (supported: line, " in line and cure in line and "\n" not in line


def test_another_file_is_no_mesh(tmp_path):
    (tmp_path / "part.step").write_text("ISO-10303-21;\n")
    with pytest.raises(UserError, match=r"not a mesh file of a known format \(Gmsh .msh, Abaqus .inp, ANSYS .cdb"):
        mesh.read(tmp_path / "part.step")


@pytest.mark.parametrize("name", ["square_v22.msh", "square_v41.msh"])
def test_names(name):
    """One name for lines and for a surface, a reversed line, a group without a name."""
    plain = mesh.read(DATA / name)
    assert set(plain.boundaries) == {"tip", "9"} and set(plain.subdomains) == {"tip"}
    assert plain.p[0, plain.facets[:, plain.boundaries["tip"]]] == pytest.approx(1.0)
    assert plain.p[0, plain.facets[:, plain.boundaries["9"]]] == pytest.approx(0.0)


def test_line():
    plain = mesh.read(DATA / "line_v41.msh", boundaries=("left", "right"), cells=("bar",))
    assert np.sort(plain.p[0]) == pytest.approx([0, 0.5, 1, 1.5, 2])
    assert plain.p[0, plain.facets[0, plain.boundaries["right"]]] == pytest.approx([2.0])


def test_elements_without_a_group():
    """Mesh.SaveAll = 1: Gmsh itself drops the groups in format 2.2; meshio cannot read 4.1."""
    plain = mesh.read(DATA / "save_all_v22.msh")
    assert plain.nelements == 8 and not plain.boundaries and not plain.subdomains
    with pytest.raises(UserError, match="groups of that kind: none"):
        mesh.read(DATA / "save_all_v22.msh", boundaries=("right",))
    with pytest.raises(UserError, match="SaveAll = 0") as caught:
        mesh.read(DATA / "save_all_v41.msh")
    assert caught.value.code == 1


def test_tip_of_the_bar():
    """The mesh kept with the case `multiscale_bar`, against the sizes in its .geo file."""
    path = Path(__file__).parents[2] / "cases" / "meshes" / "bar_tip.msh"
    sizes = re.findall(r"^\s*(x0|x1|height|nx|ny) = ([\d.]+)", path.with_suffix(".geo").read_text(), re.MULTILINE)
    size = {name: float(value) for name, value in sizes}
    plain = mesh.read(path, boundaries=("left", "right", "bottom", "top"), cells=("tip",))
    part = Solid("tip", plain, MATERIAL, plane="strain")
    assert plain.nelements == size["nx"] * size["ny"]
    assert part.positions.min(axis=0) == pytest.approx([size["x0"], 0], abs=1e-12)
    assert part.positions.max(axis=0) == pytest.approx([size["x1"], size["height"]])
    assert part.boundary("right").areas.sum() == pytest.approx(size["height"])
    assert part.boundary("right").positions[:, 0] == pytest.approx(size["x1"])
    assert part.assemble().mass.sum() / 2 == pytest.approx((size["x1"] - size["x0"]) * size["height"])


def copy(tmp_path, name, change):
    path = tmp_path / "mesh.msh"
    path.write_text(change((DATA / name).read_text()))
    return path


def cut(text, share):
    return text[: int(len(text) * share)]


FORMATS = pytest.mark.parametrize("name", ["square_v22.msh", "square_v41.msh"])


@pytest.mark.sampled(7)
@FORMATS
@pytest.mark.parametrize("share", [0.05, 0.1, 0.3, 0.5, 0.6, 0.8, 0.9, 0.98])
def test_truncated(tmp_path, name, share):
    with pytest.raises(UserError, match=r"truncated|not a Gmsh") as caught:
        mesh.read(copy(tmp_path, name, lambda text: cut(text, share)))
    assert caught.value.code == 1


@FORMATS
@pytest.mark.parametrize("share", [0.4, 0.55, 0.7, 0.9])
def test_lines_lost_inside(tmp_path, name, share, capsys):
    """The end is there, some lines are not: an error and nothing on the terminal."""

    def drop(text):
        lines = text.splitlines(keepends=True)
        start = next(k for k, line in enumerate(lines) if line.startswith("$Nodes"))
        del lines[start + int((len(lines) - start) * share)]
        return "".join(lines)

    with pytest.raises(UserError) as caught:
        mesh.read(copy(tmp_path, name, drop))
    assert caught.value.code == 1
    assert capsys.readouterr() == ("", "")


@pytest.mark.sampled(7)
@pytest.mark.parametrize(
    ("content", "text", "code"),
    [
        (None, "no such mesh file", 2),
        (b"", "is empty", 1),
        (b"  \n\n", "is empty", 1),
        (b"solid ascii stl", "not a Gmsh mesh file", 1),
        (bytes(range(256)), "not a Gmsh mesh file", 1),
        (
            b"$MeshFormat\n9.9 0 8\n$EndMeshFormat\n$Nodes\n$EndNodes\n$Elements\n$EndElements\n",
            r"format 9.9 of Gmsh is not read: export it as 4.1 with `gmsh mesh.msh -save -format msh41 -o mesh-41.msh`",
            1,
        ),
        (
            b"$NOD\n1\n1 0 0 0\n$ENDNOD\n$ELM\n$ENDELM\n",
            "format 1 of Gmsh is not read: convert it with `meshio convert",
            1,
        ),
        (
            b"$MeshFormat\nfour\n$EndMeshFormat\n$Nodes\n$EndNodes\n$Elements\n$EndElements\n",
            "damaged .its .MeshFormat is not 'version type size'",
            1,
        ),
        (
            b"$MeshFormat\n4.1 1 8\n\0\0\0\1\n$EndMeshFormat\n$Nodes\n$EndNodes\n$Elements\n$EndElements\n",
            "of the other byte order: export it as 4.1",
            1,
        ),
        (
            b"$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$PartitionedEntities\n2\n$EndPartitionedEntities\n"
            b"$Nodes\n$EndNodes\n$Elements\n$EndElements\n",
            "partitioned: save it whole",
            1,
        ),
        (
            b"$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n0\n$EndNodes\n$Elements\n0\n$EndElements\n",
            "no cells|damaged",
            1,
        ),
    ],
)
def test_not_a_mesh(tmp_path, content, text, code):
    path = tmp_path / "mesh.msh"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UserError, match=text) as caught:
        mesh.read(path)
    assert caught.value.code == code and "\n" not in str(caught.value)


def test_folder(tmp_path):
    with pytest.raises(UserError, match="cannot be read") as caught:
        mesh.read(tmp_path)
    assert caught.value.code == 1


def test_group_that_is_not_there():
    with pytest.raises(
        UserError, match=r"no boundary physical group is named 'tip' .*cuts, inner, outer, south, west"
    ) as caught:
        mesh.read(DATA / "ring_quad1_v41.msh", boundaries=("inner", "tip"))
    assert caught.value.code == 2
    with pytest.raises(UserError, match=r"no cell physical group is named 'inner' .*all, ring"):
        mesh.read(DATA / "ring_quad1_v41.msh", cells=("inner",))


@FORMATS
def test_cell_without_area(tmp_path, name):
    """The middle node moved onto a corner flattens two of the eight triangles or folds others."""
    path = copy(tmp_path, name, lambda text: text.replace("0.4999999999986921 0 0", "0 0 0"))
    with pytest.raises(UserError, match=r"cell \d near .* has zero area") as caught:
        mesh.read(path)
    assert caught.value.code == 1


def test_no_surface_cells():
    with pytest.raises(UserError, match=r"has only lines.*physical group") as caught:
        mesh.read(DATA / "only_lines_v41.msh")
    assert caught.value.code == 1


def test_serendipity_cells_get_their_middle_nodes():
    with pytest.warns(ModelWarning, match="quads of 8 nodes get nodes in their sides and centre"):
        plain = mesh.read(DATA / "quad8_v22.msh")
    part = Solid("square", plain, MATERIAL, plane="strain")
    assert part.order == 2 and part.cells.dx.sum() == pytest.approx(1.0, rel=1e-12)


def test_mixed_cells(tmp_path):
    """A quadrilateral of two of the triangles' nodes beside the triangles."""

    def add(text):
        lines = text.splitlines()
        at = lines.index("$Elements")
        lines[at + 1] = str(int(lines[at + 1]) + 1)
        lines.insert(-1, f"{lines[at + 1]} 3 2 10 1 1 2 3 4")
        return "\n".join(lines) + "\n"

    with pytest.raises(UserError, match="mixes quad and triangle"):
        mesh.read(copy(tmp_path, "square_v22.msh", add))


def test_curved_out_of_the_plane(tmp_path):
    path = copy(tmp_path, "square_v22.msh", lambda text: text.replace("\n3 1 1 0\n", "\n3 1 1 0.5\n"))
    with pytest.raises(UserError, match="not in the plane z = constant"):
        mesh.read(path)


def test_plane_at_another_height(tmp_path):
    """z = 2 everywhere is still a plane mesh; a node that no cell uses is left out."""

    def lift(text):
        head, rest = text.split("$Nodes\n")
        nodes, tail = rest.split("$EndNodes")
        lines = nodes.splitlines()
        moved = [line.rsplit(" ", 1)[0] + " 2" for line in lines[1:]] + ["77 5 5 5"]
        return head + "$Nodes\n" + f"{len(moved)}\n" + "\n".join(moved) + "\n$EndNodes" + tail

    plain = mesh.read(copy(tmp_path, "square_v22.msh", lift))
    assert plain.p.shape == (2, 9) and plain.p.max() == pytest.approx(1.0)
