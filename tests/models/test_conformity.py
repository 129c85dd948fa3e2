"""Meshes whose cells do not match are refused, in two and three dimensions, straight and curved; cracks are not."""

import re

import numpy as np
import pytest
import skfem

import arlequin as aq
from arlequin.models.fem.conformity import check_conforming

STEEL = aq.LinearElastic(young=2e11, poisson=0.3, density=7800.0)
POINTS = np.array([[0, 0], [1, 0], [2, 0], [0, 1], [1, 1], [2, 1], [1, 0.5], [2, 0.5]], float).T
QUADS = np.array([[0, 1, 4, 3], [1, 2, 7, 6], [6, 7, 5, 4]]).T
CORNERS = np.array([[0, 0], [1, 0], [0, 1], [1, 1], [0.5, 0.5]], float).T
TRIANGLES = np.array([[0, 1, 2], [1, 3, 4], [4, 3, 2]]).T
THIRDS = np.array(
    [[0, 0], [1, 0], [1, 1], [0, 1], [1, 1 / 3], [1, 2 / 3], [2, 0], [2, 1 / 3], [2, 2 / 3], [2, 1]], float
).T


def beside(coarse, fine):
    """A coarse cell [0, 1]³ and the finer grid of [1, 2] × [0, 1]² beside it, in one mesh."""
    return coarse([0.0, 1.0], [0.0, 1.0], [0.0, 1.0]) + fine([1.0, 1.5, 2.0], [0, 0.5, 1.0], [0, 0.5, 1.0])


def one_cell_refined():
    """The middle one of 3 × 3 squares in four: its sides alone do not match."""
    base = skfem.MeshQuad.init_tensor(np.arange(4.0), np.arange(4.0))
    own, n = base.t[:, 4], base.p.shape[1]
    corners = base.p[:, own]
    middles = 0.5 * (corners + np.roll(corners, -1, axis=1))
    a, b, c, d = own
    new = [[a, n, n + 4, n + 3], [n, b, n + 1, n + 4], [n + 4, n + 1, c, n + 2], [n + 3, n + 4, n + 2, d]]
    points = np.column_stack([base.p, middles, corners.mean(axis=1)])
    return skfem.MeshQuad(points, np.column_stack([np.delete(base.t, 4, axis=1), np.array(new).T]))


def mismatched_diagonals():
    """Two cubes of tetrahedra whose common face is cut along different diagonals: no node hangs."""
    cube = skfem.MeshTet.init_tensor([0.0, 1.0], [0.0, 1.0], [0.0, 1.0])
    turned = np.array([[2.0, 1.0, 0.0]]).T + np.diag([-1.0, -1.0, 1.0]) @ cube.p
    return cube + skfem.MeshTet(turned, cube.t)


def rings(fine):
    """Curved cells of a quarter ring 1 < r < 3: two around, and `fine` around beyond r = 2; nodes on circles."""

    def ring(inner, outer, around):
        mesh = skfem.MeshQuad2.from_mesh(
            skfem.MeshQuad.init_tensor(np.linspace(inner, outer, 2), np.linspace(0.0, np.pi / 2, around + 1))
        )
        r, angle = mesh.doflocs
        return mesh.t, mesh.dofs.element_dofs, np.stack([r * np.cos(angle), r * np.sin(angle)])

    pieces = [ring(1.0, 2.0, 2), ring(2.0, 3.0, fine)]
    corners = np.concatenate([places[:, t] for t, _, places in pieces], axis=2)
    unique, number = np.unique(corners.reshape(2, -1).round(9), axis=1, return_inverse=True)
    mesh = skfem.MeshQuad2.from_mesh(skfem.MeshQuad(unique, number.reshape(corners.shape[1:])))
    places, first = mesh.doflocs.copy(), 0
    for t, dofs, own in pieces:
        cells = slice(first, first + t.shape[1])
        places[:, mesh.dofs.element_dofs[:, cells]] = own[:, dofs]
        first += t.shape[1]
    return skfem.MeshQuad2(places, mesh.t)


HANGING = {
    "quads": (skfem.MeshQuad(POINTS, QUADS), (1, 0.5)),
    "quads, second order": (skfem.MeshQuad2.from_mesh(skfem.MeshQuad(POINTS, QUADS)), (1, 0.5)),
    "small and far": (skfem.MeshQuad(1e-3 * POINTS + 1e3, QUADS), (1000.001, 1000.0005)),
    "triangles": (skfem.MeshTri(CORNERS, TRIANGLES), (0.5, 0.5)),
    "triangles, second order": (skfem.MeshTri2.from_mesh(skfem.MeshTri(CORNERS, TRIANGLES)), (0.5, 0.5)),
    "thirds": (
        skfem.MeshQuad(THIRDS, np.array([[0, 1, 2, 3], [1, 6, 7, 4], [4, 7, 8, 5], [5, 8, 9, 2]]).T),
        (1, 1 / 3),
    ),
    "one cell": (one_cell_refined(), (2, 1.5)),
    "hexahedra": (beside(skfem.MeshHex.init_tensor, skfem.MeshHex.init_tensor), (1, 0, 0.5)),
    "tetrahedra": (beside(skfem.MeshTet.init_tensor, skfem.MeshTet.init_tensor), (1, 0, 0.5)),
    "curved": (rings(4), tuple(2 * np.array([np.cos(np.pi / 8), np.sin(np.pi / 8)]))),
}
HANGING["hexahedra, second order"] = (skfem.MeshHex2.from_mesh(HANGING["hexahedra"][0]), (1, 0, 0.5))
HANGING["tetrahedra, second order"] = (skfem.MeshTet2.from_mesh(HANGING["tetrahedra"][0]), (1, 0, 0.5))


@pytest.mark.sampled(7)
@pytest.mark.parametrize("name", HANGING)
def test_hanging_nodes_are_refused(name):
    """The place named is the node that hangs, of the ring either of two."""
    mesh, place = HANGING[name]
    with pytest.raises(aq.UserError) as caught:
        aq.Solid("s", mesh, STEEL, plane="strain" if mesh.dim() == 2 else None)
    line = str(caught.value)
    found = re.fullmatch(
        r"s: cells \d+ and \d+ do not match near \((.*)\): a node of one hangs on a side of the other, where a crack "
        r"would open: refine without hanging nodes, or make two parts and join them by a Tie",
        line,
    )
    assert found is not None
    named = np.array([float(x) for x in found[1].split(",")])
    if name == "curved":
        assert np.hypot(*named) == pytest.approx(2.0, rel=1e-5)
        assert np.arctan2(*named[::-1]) % (np.pi / 4) == pytest.approx(np.pi / 8, rel=1e-4)
    else:
        assert named == pytest.approx(np.array(place), rel=1e-5, abs=1e-5)


def test_faces_of_tetrahedra_that_do_not_match():
    with pytest.raises(aq.UserError, match=r"do not match near \(1, "):
        check_conforming(mismatched_diagonals(), "s")


def cracked(kind):
    """A sheet [0, 4] × [0, 2] cut along y = 1 up to the tip at x = 2, the nodes of both faces at the same places."""
    grid = skfem.MeshQuad.init_tensor(np.linspace(0, 4, 5), np.linspace(0, 2, 3))
    points, cells, twin = grid.p.copy(), grid.t.copy(), {}
    for i in np.flatnonzero((np.abs(grid.p[1] - 1) < 1e-9) & (grid.p[0] < 1.9)):
        twin[i] = points.shape[1]
        points = np.column_stack([points, points[:, i]])
    for cell in np.flatnonzero(points[1, grid.t].mean(axis=0) > 1):
        cells[:, cell] = [twin.get(node, node) for node in cells[:, cell]]
    mesh = skfem.MeshQuad(points, cells)
    return mesh if kind == 1 else skfem.MeshQuad2.from_mesh(mesh)


@pytest.mark.sampled(7)
@pytest.mark.parametrize(
    "mesh",
    [
        cracked(1),
        cracked(2),
        rings(2),
        skfem.MeshTri.init_lshaped().refined(2),
        skfem.MeshTri.init_circle(3),
        skfem.MeshTet.init_ball(2),
        aq.mesh.tube(0.9, 1.0, np.linspace(0, 2 * np.pi, 9), (0.0, 1.0)),
        # corners and edges in common only
        skfem.MeshQuad(
            np.array([[0, 0], [1, 0], [1, 1], [0, 1], [2, 1], [2, 2], [1, 2]], float).T,
            np.array([[0, 1, 2, 3], [2, 4, 5, 6]]).T,
        ),
        skfem.MeshHex.init_tensor([0, 1], [0, 1], [0, 1]) + skfem.MeshHex.init_tensor([1, 3], [1, 2], [0, 1]),
        # two bodies that lie on each other without common nodes
        skfem.MeshQuad.init_tensor(np.arange(3.0), np.arange(3.0))
        + skfem.MeshQuad.init_tensor(np.array([0.3, 0.9, 1.7]), np.array([2.0, 3.0])),
    ],
    ids=lambda mesh: f"{type(mesh).__name__} {mesh.nelements}",
)  # fmt: skip
def test_meshes_that_match_are_taken(mesh):
    check_conforming(mesh, "s")


def test_gmsh_files(tmp_path):
    """A node that is a corner of one cell and the middle of a side of another, as some writers make it."""

    def text(kind, nodes, cells):
        points = "".join(f"{i + 1} {x} {y} 0\n" for i, (x, y) in enumerate(nodes))
        rows = "".join(f"{i + 1} {kind} 2 1 1 {' '.join(map(str, cell))}\n" for i, cell in enumerate(cells))
        return (
            f"$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n{len(nodes)}\n{points}$EndNodes\n"
            f"$Elements\n{len(cells)}\n{rows}$EndElements\n"
        )

    path = tmp_path / "mesh.msh"
    path.write_text(text(3, POINTS.T, QUADS.T + 1))
    with pytest.raises(aq.UserError, match=r"mesh.msh: cells 0 and 1 do not match near \(1, 0.5\)") as caught:
        aq.mesh.read(path)
    assert caught.value.code == 1
    nodes = [*CORNERS.T, (0.5, 0), (0, 0.5), (1, 0.5), (0.75, 0.75), (0.75, 0.25), (0.5, 1), (0.25, 0.75)]
    cells = [(1, 2, 3, 6, 5, 7), (2, 4, 5, 8, 9, 10), (5, 4, 3, 9, 11, 12)]
    path.write_text(text(9, nodes, cells))
    with pytest.raises(
        aq.UserError, match=r"the node at \(0.5, 0.5, 0\) is a corner of one cell and lies on a side of"
    ):
        aq.mesh.read(path)
