"""Predicted sizes of factors against those that CHOLMOD makes."""

from typing import Any

import pytest

import arlequin as aq
from arlequin.models.linalg.factor import factorise
from arlequin.models.linalg.nested_dissection import predicted_factor
from arlequin.system.assembly import assemble

STEEL = aq.LinearElastic(young=2e11, poisson=0.3, density=7800)


def entries(mesh: Any, **options: Any) -> int:
    pytest.importorskip("sksparse", reason="only CHOLMOD orders by nested dissection")
    assembly = assemble(aq.System([aq.Solid("part", mesh, STEEL, **options)]))
    return factorise(assembly.mass + 1e-12 * assembly.stiffness).nnz


@pytest.mark.sampled(1)
@pytest.mark.parametrize("cells", [(8, 8, 8), (14, 14, 14), (4, 5, 60), (30, 30, 4)])
def test_boxes(cells: tuple[int, int, int]) -> None:
    mesh = aq.mesh.box(*((0.0, float(n)) for n in cells), cells=cells)
    predicted = predicted_factor(tuple(n + 1 for n in cells), 3)
    assert 0.7 < predicted.entries / entries(mesh) < 1.3


def test_plane() -> None:
    mesh = aq.mesh.rectangle((0.0, 1.0), (0.0, 1.0), cells=(80, 80))
    assert 0.7 < predicted_factor((81, 81), 2).entries / entries(mesh, plane="strain") < 1.3


def test_order_of_the_axes_and_a_chain() -> None:
    assert predicted_factor((5, 9, 20), 3) == predicted_factor((20, 5, 9), 3)
    # a tridiagonal matrix has two entries a column, and a few more in this order
    assert 2e3 < predicted_factor((1000,), 1).entries < 4e4
