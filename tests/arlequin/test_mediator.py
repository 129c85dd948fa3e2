"""Mediator of second-order parts: first order in the cells at the zone's ends."""

import numpy as np
import pytest
import skfem

from arlequin.junctions.mediator import first_order_outside
from arlequin.models.fem.elements import scalar_basis
from arlequin.models.mesh import box, interval, rectangle

MESHES = {
    "line": interval(0, 1, cells=7),
    "tri": rectangle((0, 1), (0, 0.5), (6, 3), "tri"),
    "quad": rectangle((0, 1), (0, 0.5), (6, 3), "quad"),
    "tet": box((0, 1), (0, 0.5), (0, 0.4), (5, 3, 2), "tet"),
    "hex": box((0, 1), (0, 0.5), (0, 0.4), (5, 3, 2), "hex"),
}


@pytest.mark.parametrize("name", MESHES)
def test_reduced_functions_are_of_first_order_outside_and_of_second_inside(name):
    mesh = MESHES[name]
    basis = scalar_basis(mesh, 2)
    inner = ((mesh.p[0, mesh.t] > 0.1) & (mesh.p[0, mesh.t] < 0.9)).all(axis=0)
    assert inner.any() and not inner.all()
    rows = first_order_outside(basis, inner)
    x = basis.doflocs
    kept = x[:, rows.argmax(axis=1)]
    np.testing.assert_allclose(rows.sum(axis=0), 1.0, atol=1e-14)
    np.testing.assert_allclose(kept @ rows, x, atol=1e-14)
    # a square between its nodes: itself in cells whose neighbours are inner too, first order in the others
    found = (kept[0] ** 2 + kept[-1] * kept[0]) @ rows
    exact, first = x[0] ** 2 + x[-1] * x[0], skfem.CellBasis(mesh, scalar_basis(mesh, 1).elem)
    deep = np.isin(np.arange(basis.N), basis.element_dofs[:, ~inner], invert=True)
    assert deep.any()
    np.testing.assert_allclose(found[deep], exact[deep], atol=1e-14)
    vertices = exact[basis.element_dofs[: first.Nbfun]]
    for a, place in enumerate(basis.elem.doflocs):
        hats = np.array([first.elem.lbasis(np.asarray(place)[:, None], b)[0] for b in range(first.Nbfun)]).ravel()
        outside = basis.element_dofs[a][~inner]
        np.testing.assert_allclose(found[outside], (hats @ vertices)[~inner], atol=1e-14)
    assert rows.shape[0] == np.unique(mesh.t).size + (deep & ~np.isin(np.arange(basis.N), basis.nodal_dofs)).sum()
