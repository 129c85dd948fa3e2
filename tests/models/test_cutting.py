"""Meshes that are cut along a section: counts of nodes, volumes, names, and what is refused."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import skfem

import arlequin as aq
from arlequin.cases.shared.meshes import quarter_ring

HEIGHT = 0.1  # m


def pieces(mesh: Any) -> int:
    first = np.broadcast_to(mesh.t[0], mesh.t.shape)
    graph = sp.csr_array((np.ones(mesh.t.size), (mesh.t.ravel(), first.ravel())), shape=(mesh.nvertices,) * 2)
    return int(sp.csgraph.connected_components(graph, directed=False)[0])


def volume(mesh: Any) -> float:
    return float(skfem.CellBasis(mesh, mesh.elem()).dx.sum())


def column(kind: str) -> Any:
    if kind == "line":
        return aq.mesh.interval(0.0, HEIGHT, cells=5)
    if kind in ("quad", "tri"):
        return aq.mesh.rectangle((0.0, 0.02), (0.0, HEIGHT), cells=(2, 5), kind=kind)
    return aq.mesh.box((0.0, 0.02), (0.0, HEIGHT), (0.0, 0.02), cells=(2, 5, 2), kind=kind)


@pytest.mark.parametrize("kind, nodes", [("line", 1), ("quad", 3), ("tri", 3), ("hex", 9), ("tet", 9)])
def test_a_plane_along_facets(kind: str, nodes: int) -> None:
    whole = column(kind)
    normal = np.eye(whole.dim())[min(1, whole.dim() - 1)]
    mesh = aq.mesh.cut(whole, "waist", plane=(0.04 * normal, normal))
    assert mesh.nvertices == whole.nvertices + nodes and mesh.nelements == whole.nelements
    assert pieces(whole) == 1 and pieces(mesh) == 2
    assert volume(mesh) == pytest.approx(volume(whole), rel=1e-14)
    for side, beyond in (("waist first", False), ("waist second", True)):
        facets = mesh.boundaries[side]
        assert (mesh.f2t[1, facets] == -1).all()
        np.testing.assert_allclose(normal @ mesh.p[:, mesh.facets[:, facets].ravel()], 0.04, rtol=1e-14)
        centres = mesh.p[:, mesh.t[:, mesh.f2t[0, facets]]].mean(axis=1)
        assert ((normal @ centres > 0.04) == beyond).all()
    for name, facets in whole.boundaries.items():  # the others are where they were
        places = [np.sort(each.p[:, each.facets[:, at]].mean(axis=1)) for each, at in
                  ((whole, facets), (mesh, mesh.boundaries[name]))]  # fmt: skip
        np.testing.assert_allclose(*places, atol=1e-15)


def test_steps_beside_a_plane_separate_the_mesh() -> None:
    mesh = aq.mesh.cut(column("tri"), plane=((0.0, 0.047), (0.1, 1.0)))
    assert pieces(mesh) == 2
    sides = [np.sort(mesh.p[:, np.unique(mesh.facets[:, mesh.boundaries[f"cut {side}"]])]) for side in
             ("first", "second")]  # fmt: skip
    np.testing.assert_array_equal(*sides)


def test_curved_cells_of_second_order() -> None:
    whole = quarter_ring(0.01, 0.02, 2, 4)
    angle = np.pi / 4.0
    mesh = aq.mesh.cut(whole, plane=((0.0, 0.0), (-np.sin(angle), np.cos(angle))))
    assert pieces(mesh) == 2 and mesh.doflocs.shape[1] == whole.doflocs.shape[1] + 5
    assert volume(mesh) == pytest.approx(volume(whole), rel=1e-14)


def test_named_facets_and_sets_of_cells() -> None:
    whole = column("quad")
    centre = whole.p[:, whole.t].mean(axis=1)
    whole = whole.with_subdomains({"low": np.flatnonzero(centre[1] < 0.06), "high": np.flatnonzero(centre[1] > 0.06)})
    inner = whole.facets_satisfying(lambda x: np.isclose(x[1], 0.06))
    named = whole.with_boundaries({"middle": inner})
    first = aq.mesh.cut(named, boundary="middle")
    second = aq.mesh.cut(whole, between=("low", "high"))
    np.testing.assert_array_equal(first.t, second.t)
    np.testing.assert_array_equal(first.boundaries["cut second"], second.boundaries["cut second"])
    assert {name: len(cells) for name, cells in second.subdomains.items()} == {"low": 6, "high": 4}


def test_one_leg_of_two() -> None:
    square = aq.mesh.rectangle((0.0, 3.0), (0.0, 3.0), cells=(3, 3))
    centre = square.p[:, square.t].mean(axis=1)
    ring = square.restrict(np.flatnonzero(np.abs(centre - 1.5).max(axis=0) > 0.5))
    left = ring.with_subdomains({"left": np.flatnonzero(ring.p[0, ring.t].mean(axis=0) < 1.0)})
    plane = ((0.0, 1.0), (0.0, 1.0))
    both, one = aq.mesh.cut(left, plane=plane), aq.mesh.cut(left, plane=plane, within="left")
    assert [mesh.nvertices - ring.nvertices for mesh in (both, one)] == [4, 2]
    assert [pieces(mesh) for mesh in (both, one)] == [2, 1]


@pytest.mark.parametrize(
    "given, words",
    [
        ({}, "give a plane, a boundary, or between, one of them"),
        ({"plane": ((0.0, 0.5), (0.0, 1.0))}, "it does not cut the mesh"),
        ({"plane": ((0.0, 0.05), (0.0, 0.0))}, "plane: normal = (0.0, 0.0): must not be zero"),
        ({"plane": (0.0, 1.0)}, "plane: point"),
        ({"plane": 1.0}, "plane = 1.0: must be"),
        ({"boundary": "left"}, "boundary 'left' has 5 of 5 facets on the outside of the mesh"),
        ({"boundary": "waist"}, "boundary = 'waist': must be one of bottom, inner, left, right, top"),
        ({"boundary": "inner"}, "the section ends inside the mesh, at (0.01, 0.06) m"),
        ({"between": ("low", "high")}, "between = 'high': must be one of low"),
        ({"plane": ((0.0, 0.05), (0.0, 1.0)), "within": "low"}, "within 'low': it does not cut the mesh"),
        ({"plane": ((0.0, 0.05), (0.0, 1.0)), "name": "a/b"}, "name of a section = 'a/b'"),
        ({"plane": ((0.0, 0.05), (0.0, 1.0)), "name": 3}, "name of a section = 3: must be a text"),
    ],
)
def test_bad_input(given: Any, words: str) -> None:
    mesh = column("quad")
    inner = mesh.facets_satisfying(lambda x: np.isclose(x[1], 0.06) & (x[0] < 0.01))
    mesh = mesh.with_boundaries({"inner": inner}).with_subdomains({"low": np.arange(2)})
    with pytest.raises(aq.UserError) as caught:
        aq.mesh.cut(mesh, **given)
    assert words in str(caught.value), str(caught.value)
    assert "\n" not in str(caught.value)
