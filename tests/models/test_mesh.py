"""Mesh generators, quadrature rules, and cells without area."""

from dataclasses import replace
from math import factorial

import numpy as np
import pytest
import skfem

from arlequin.models import mesh
from arlequin.models.errors import UserError
from arlequin.models.fem.bar import Bar
from arlequin.models.fem.elements import scalar_basis, tetrahedron_rule
from arlequin.models.fem.solid import Solid
from arlequin.models.materials.elastic import LinearElastic

MATERIAL = LinearElastic(young=2.0, poisson=0.25, density=1.0)


def test_interval():
    line = mesh.interval(0.2, 1.4, cells=6)
    assert line.p[0] == pytest.approx(np.linspace(0.2, 1.4, 7))
    assert line.p[0, line.facets[0, line.boundaries["left"]]] == pytest.approx([0.2])
    assert line.p[0, line.facets[0, line.boundaries["right"]]] == pytest.approx([1.4])


@pytest.mark.parametrize(("kind", "cells"), [("quad", 12), ("tri", 24)])
def test_rectangle(kind, cells):
    plain = mesh.rectangle((-1e-3, 1e-3), (5.0, 6.0), cells=(3, 4), kind=kind)
    assert plain.nelements == cells
    assert {name: len(facets) for name, facets in plain.boundaries.items()} == {
        "left": 4,
        "right": 4,
        "bottom": 3,
        "top": 3,
    }
    assert plain.p[0, plain.facets[:, plain.boundaries["right"]]] == pytest.approx(1e-3)
    assert plain.p[1, plain.facets[:, plain.boundaries["bottom"]]] == pytest.approx(5.0)


@pytest.mark.parametrize(("kind", "cells", "faces"), [("hex", 24, 1), ("tet", 144, 2)])
def test_box(kind, cells, faces):
    plain = mesh.box((0, 1), (0, 1), (0, 1), cells=(2, 3, 4), kind=kind)
    assert plain.nelements == cells
    found = {name: len(facets) for name, facets in plain.boundaries.items()}
    assert found == {
        k: n * faces for k, n in {"left": 12, "right": 12, "bottom": 8, "top": 8, "back": 6, "front": 6}.items()
    }
    assert plain.p[2, plain.facets[:, plain.boundaries["front"]]] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("build", "text"),
    [
        (lambda: mesh.interval(1, 0, cells=3), "start < end"),
        (lambda: mesh.interval(0, 1, cells=0), "cells = 0: must be a whole number of at least 1"),
        (lambda: mesh.interval(0, float("nan"), cells=2), "nan"),
        (lambda: mesh.rectangle((0, 1), (0, 1), cells=3), "2 whole numbers"),
        (lambda: mesh.rectangle((0, 1), 2, cells=(3, 3)), "must be a pair"),
        (
            lambda: mesh.rectangle((0, 1), (0, 1), cells=(3, 3), kind="hex"),
            "kind = 'hex': must be one of quad, tri",
        ),
    ],
)
def test_bad_generators(build, text):
    with pytest.raises(UserError, match=text):
        build()


def test_tetrahedron_rule():
    """Exact to degree 3 with positive weights: ∫ x^i y^j z^k = i! j! k!/(i + j + k + 3)!."""
    (x, y, z), w = tetrahedron_rule()
    assert (w > 0).all()
    for i in range(4):
        for j in range(4 - i):
            for k in range(4 - i - j):
                exact = factorial(i) * factorial(j) * factorial(k) / factorial(i + j + k + 3)
                assert w @ (x**i * y**j * z**k) == pytest.approx(exact, rel=1e-13)


@pytest.mark.parametrize("order", [1, 2])
def test_quadrature_weights_are_positive(order):
    meshes = [
        mesh.interval(0, 1, cells=1),
        *(mesh.rectangle((0, 1), (0, 1), (1, 1), kind) for kind in ("tri", "quad")),
    ]
    meshes += [mesh.box((0, 1), (0, 1), (0, 1), (1, 1, 1), kind) for kind in ("tet", "hex")]
    for plain in meshes:
        assert (scalar_basis(plain, order).W > 0).all()


def test_cell_without_area():
    """Named, with its place, also in meshes built by hand."""
    plain = mesh.rectangle((0, 1), (0, 1), cells=(3, 1), kind="tri")
    points = plain.p.copy()
    points[:, plain.t[2, 4]] = points[:, plain.t[:2, 4]].mean(axis=1)
    with pytest.raises(UserError, match=r"block: cell 4 near \(.*\) has zero area") as caught:
        Solid("block", replace(plain, doflocs=points), MATERIAL, plane="strain")
    assert caught.value.code == 2
    line = skfem.MeshLine(np.array([[0.0, 1.0, 1.0, 2.0]]), np.array([[0, 1, 2], [1, 2, 3]]))
    with pytest.raises(UserError, match=r"bar: cell 1 near \(1\) has zero length"):
        Bar("bar", line, MATERIAL)
    box = mesh.box((0, 1), (0, 1), (0, 1), cells=(1, 1, 1), kind="tet")
    flat = box.p.copy()
    flat[2] = 0
    with pytest.raises(UserError, match=r"zero volume \(6 such cells\)"):
        Solid("box", replace(box, doflocs=flat), MATERIAL)


def test_folded_cell():
    crossed = skfem.MeshQuad(np.array([[0.0, 1, 0, 1], [0, 0, 1.2, 1]]), np.array([[0], [1], [2], [3]]))
    with pytest.raises(UserError, match="is folded"):
        Solid("block", crossed, MATERIAL, plane="strain")


def test_cells_turned_the_other_way():
    """Clockwise quadrilaterals are the same body."""
    plain = mesh.rectangle((0, 1), (0, 1), cells=(2, 2))
    turned = replace(plain, t=plain.t[::-1].copy(), _boundaries=None)
    K, L = (Solid("a", m, MATERIAL, plane="strain").assemble().stiffness for m in (plain, turned))
    assert abs(K - L).max() <= 1e-14 * abs(K).max()
