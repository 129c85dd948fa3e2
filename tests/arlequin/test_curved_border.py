"""Slivers along curved borders: which cells the overlap misses by no more, and what they weigh."""

from dataclasses import replace

import numpy as np
import pytest

from arlequin.junctions.curved_border import covered_but_for_curvature
from arlequin.junctions.junction import Junction
from arlequin.junctions.zone import LevelSet
from arlequin.models.fem.solid import Solid
from arlequin.models.materials.elastic import LinearElastic
from arlequin.models.mesh import rectangle
from arlequin.models.part import Weighting

STEEL = LinearElastic(young=2e11, poisson=0.3, density=7800.0)


def sector(name, r, angle, cells, kind, **options):
    mesh = rectangle(r, angle, cells=cells, kind=kind)
    mesh = replace(mesh, doflocs=mesh.p[0] * np.stack([np.cos(mesh.p[1]), np.sin(mesh.p[1])]))
    return Solid(name, mesh, STEEL, plane="strain", **options)


def ring(start=0.0, outer=1.6, kinds=("quad", "tri"), width=0.4, pressed=False, order=1):
    """Coarse quadrant, 1 ≤ r ≤ 2, of 5 × 8 cells; a fine patch at the hole from the angle `start` on."""
    options = {"tractions": {"left": lambda x, t: t * x / np.hypot(*x)}} if pressed else {}
    options["order"] = order
    coarse = sector("coarse", (1.0, 2.0), (0.0, np.pi / 2), (5, 8), kinds[0], **options)
    fine = sector("fine", (1.0, outer), (start, np.pi / 2), (7, 23), kinds[1], **options)
    depth = lambda x: np.minimum(outer - np.hypot(*x), np.hypot(*x) * np.sin(np.arctan2(x[1], x[0]) - start))  # noqa: E731
    zone = LevelSet(depth if start else lambda x: outer - np.hypot(*x), width)
    return Junction(coarse, fine, zone=zone)


def test_slivers_are_told_from_parts_that_go_on():
    """At the hole chords of both meshes differ; at r = 1.6 the coarse cells of the third row go on beyond the patch."""
    junction = ring(outer=1.5)
    pieces = junction.overlap
    cells = pieces.coarse_cells, pieces.fine_cells
    coarse, _ = covered_but_for_curvature(junction.coarse.basis, junction.fine.basis, cells, pieces.dx)
    radius = np.hypot(*junction.coarse.mesh.p)[junction.coarse.mesh.t].mean(axis=0)
    np.testing.assert_array_equal(np.flatnonzero(coarse), np.flatnonzero(radius < 1.2))


def test_straight_borders_have_no_slivers():
    coarse = Solid("coarse", rectangle((0, 1), (0, 1), cells=(4, 4)), STEEL, plane="strain")
    fine = Solid("fine", rectangle((0.3, 1.5), (0.001, 1), cells=(7, 9)), STEEL, plane="strain")
    pieces = Junction(coarse, fine).overlap
    found = covered_but_for_curvature(coarse.basis, fine.basis, (pieces.coarse_cells, pieces.fine_cells), pieces.dx)
    # a gap of 1 mm in cells of 250 mm belongs to the coarse part alone
    assert not any(kind.any() for kind in found)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("kinds", [("quad", "tri"), ("tri", "quad")])
def test_no_coarse_material_is_left_in_the_free_zone(kinds, order):
    junction = ring(kinds=kinds, width=0.35, outer=1.8, order=order)
    weight = junction.weighting()["coarse"].stiffness
    radius = np.hypot(*junction.coarse.mesh.p)[junction.coarse.mesh.t]
    assert (radius.max(axis=0) < 1.43).any()
    assert np.all(weight[radius.max(axis=0) < 1.43] == 0.0)
    assert weight[radius.min(axis=0) > 1.41].min() > 0.0


@pytest.mark.parametrize("start", [0.0, 0.35])
def test_a_pressure_on_both_parts_counts_once(start):
    """Its resultant on the quadrant of a hole of radius 1 is (1, 1), less by what Gauss' rule leaves of the kinks."""
    junction = ring(start, pressed=True)
    weighting = junction.weighting()
    total = sum(
        part.assemble(weighting[part.name]).load(1.0).reshape(-1, 2).sum(axis=0)
        for part in (junction.coarse, junction.fine)
    )
    np.testing.assert_allclose(total, 1.0, rtol=1e-3 if start == 0.0 else 1e-2)


def test_weights_of_two_junctions_multiply_on_the_border_too():
    first = Weighting(*3 * [np.full((2, 4), 0.5)], facets=(lambda x, cells: 0.25 + 0.0 * x[0],))
    both = first * Weighting.uniform(2, 4)
    assert len(both.facets) == 2 and both.facets[0] is first.facets[0]


def test_no_weight_of_a_cut_cell_vanishes_beside_the_others():
    """Cells whose stiffness sat in one point left nodes without any."""
    weights = ring(0.37, order=2, kinds=("tri", "tri")).weighting()
    for part in weights.values():
        inner = part.stiffness[part.stiffness.max(axis=1) > 0]
        cut = inner.min(axis=1) < 0.5 * inner.max(axis=1)
        assert cut.any() and np.all(inner[cut].min(axis=1) > 1e-3 * inner[cut].mean(axis=1))
