"""The case patch_test: exact stress with weak multipliers on meshes that do not match, both slaves, 2D and 3D."""

import numpy as np
import pytest

from arlequin.cases import patch_test as case

SMALL = {"quad": (7, 4), "tri": (5, 3), "hex": (3, 2), "tet": (3, 2)}


def small(cells, **options):
    lower, upper = SMALL[cells]
    return case.Parameters(cells=cells, lower_cells=lower, upper_cells=upper, **options)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("slave", case.SLAVES)
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("cells", list(SMALL))
def test_the_default_multiplier_passes(cells, order, slave):
    p = small(cells, order=order, slave=slave)
    checks = case.check(case.build(p).run(), p)
    assert not [check for check in checks if not check.passed]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "cells, order, multiplier",
    [("quad", 1, "P0"), ("tri", 1, "P0"), ("quad", 2, "P0"), ("quad", 2, "P2"), ("tri", 2, "P2"), ("hex", 2, "P2")],
)
def test_other_weak_multipliers_pass_in_both_forms(cells, order, multiplier):
    for slave in case.SLAVES:
        for stabilised in (False, True):
            error = case.trial(small(cells, order=order, multiplier=multiplier, slave=slave, stabilised=stabilised))
            assert error is not None and error < 1e-10


def test_collocation_at_the_nodes_fails_where_the_meshes_do_not_match_and_passes_where_they_do():
    p = small("quad", multiplier="nodes")
    result = case.build(p).run()
    assert case.worst_error(result, p) > 0.1
    assert [check.name for check in case.check(result, p) if not check.passed]
    alike = case.Parameters(multiplier="nodes", lower_cells=4, upper_cells=4)
    assert case.trial(alike) < 1e-10


def test_multipliers_that_the_displacements_do_not_determine_are_refused_and_stabilised():
    """Triangles of a finer slave surface: one constant each is more than the displacements can tell apart."""
    p = case.Parameters(cells="tet", lower_cells=5, upper_cells=3, slave="lower", multiplier="P0")
    with pytest.raises(case.aq.UserError, match="do not determine"):
        case.build(p).run()
    assert case.trial(p) is None
    assert case.trial(case.replace(p, stabilised=True)) < 1e-10


def test_reference_is_the_pressure_of_a_compressed_block():
    assert case.reference(case.Parameters(cells="hex", young=2.0, compression=0.01, height=0.5)) == pytest.approx(0.04)
    plane = case.reference(case.Parameters(young=2.0, poisson=0.5 - 0.1, compression=0.01, height=0.5))
    # in plane strain with σ_xx = 0: ε_zz = 0 gives σ_zz = ν σ_yy
    strain = (plane - 0.4 * 0.4 * plane) / 2.0
    assert strain == pytest.approx(0.02)


def test_figures_are_drawn():
    p = case.Parameters(lower_cells=3, upper_cells=2)
    result = case.build(p).run()
    figures = case.figures(result, p)
    assert set(figures) == {"multipliers", "stress"}
    assert np.isfinite(case.worst_error(result, p))
