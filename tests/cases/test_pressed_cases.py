"""The cases hertz, hertz_sphere and cattaneo_mindlin at small size, against their closed forms."""

from dataclasses import replace
from typing import get_args

import numpy as np
import pytest

from arlequin.cases import cattaneo_mindlin as cattaneo
from arlequin.cases import hertz as hertz
from arlequin.cases import hertz_sphere as sphere
from arlequin.cases.shared.meshes import graded_block
from arlequin.cases.shared.pressing import Formulation
from arlequin.models.errors import UserError


def failed(case, parameters):
    checks = case.check(case.build(parameters).run(), parameters)
    assert len(checks) >= 4
    return [(check.name, check.value, check.reference) for check in checks if not check.passed]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("formulation", get_args(Formulation))
def test_a_cylinder_by_every_formulation(formulation):
    assert not failed(hertz, hertz.Parameters(formulation=formulation, cells=20, steps=2))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("options", [{"kind": "tri"}, {"order": 2, "cells": 15}, {"displacement": 1.2e-4}])
def test_a_cylinder_in_other_cells_and_by_a_displacement(options):
    assert not failed(hertz, hertz.Parameters(**{"cells": 20, "steps": 2, **options}))


def test_a_cylinder_on_a_block_whose_mesh_does_not_match():
    assert not failed(hertz, hertz.Parameters(partner="block", cells=30, steps=2))


def test_nafems_heavily_loaded_cylinder_lies_within_what_half_spaces_miss():
    p = hertz.Parameters(partner="block", load=3.5e7, cells=30, steps=4)
    fit = hertz.pressed(p_result := hertz.build(p).run(), p).fit
    assert fit.half_width == pytest.approx(6.2146e-3, rel=(6.2146e-3 / 0.05) ** 2)
    assert fit.peak == pytest.approx(3585.4e6, rel=(6.2146e-3 / 0.05) ** 2)
    assert float(np.abs(p_result["balance"]).max()) < 1e-12


@pytest.mark.slow
def test_more_multipliers_than_displacements_are_refused_but_for_the_stabilised_form():
    """Three Gauss points a facet against two displacements: the forces at the nodes are unique, at the points not."""
    p = hertz.Parameters(order=2, multiplier="gauss", cells=15, steps=2)
    with pytest.raises(UserError, match=r"do not determine all multipliers.*stabilised=True"):
        hertz.build(p).run()
    assert not failed(hertz, replace(p, formulation="stabilised"))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("options", [{"cells": 20}, {"cells": 30, "order": 2}, {"cells": 20, "kind": "simplex"}])
def test_a_ball_about_its_axis(options):
    assert not failed(sphere, sphere.Parameters(steps=2, **options))


def test_a_ball_in_three_dimensions():
    p = sphere.Parameters(dimension="3d", cells=6, steps=1)
    fit = sphere.pressed(result := sphere.build(p).run(), p).fit
    exact = sphere.reference(p)
    assert fit.half_width == pytest.approx(exact.half_width, rel=0.015)
    assert fit.peak == pytest.approx(exact.peak, rel=0.015)
    assert 4 * result["interface/contact/force"].values[-1, 1] == pytest.approx(exact.load, rel=1e-9)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("formulation", ["lagrangian", "stabilised"])
def test_partial_slip(formulation):
    assert not failed(cattaneo, cattaneo.Parameters(cells=15, steps=4, formulation=formulation))


def test_the_middle_of_a_sheared_contact_sticks_and_its_rims_slip():
    p = cattaneo.Parameters(cells=15, steps=2, shear=0.75)
    result = cattaneo.build(p).run()
    group = result["interface/contact"].dataset
    x, status = np.abs(group["point_position"].values[:, 0]), group["status"].values[-1]
    c, b = cattaneo.reference(p).stick_half_width, cattaneo.reference(p).contact.half_width
    assert c == pytest.approx(0.5 * b)
    near = b / 15  # a cell
    assert (status[x < c - near] == 2).all()
    assert (status[(x > c + near) & (x < b - near)] == 1).all()
    assert (status[x > b + near] == 0).all()


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("case", "options", "names"),
    [
        (hertz, {"cells": 6}, {"pressure", "energies"}),
        (sphere, {"cells": 6}, {"pressure", "energies"}),
        (cattaneo, {"cells": 8, "steps": 2}, {"tractions", "pressure", "energies"}),
    ],
    ids=["hertz", "hertz_sphere", "cattaneo_mindlin"],
)
def test_figures_are_drawn(case, options, names):
    p = case.Parameters(**{"steps": 2, **options})
    assert set(case.figures(case.build(p).run(), p)) == names


def test_loads_that_contradict_or_crush_are_refused():
    with pytest.raises(UserError, match=r"displacement = 0\.0001: must be none where load = 1e"):
        hertz.Parameters(load=1e6, displacement=1e-4)
    with pytest.raises(UserError, match=r"load = .*must be at most"):
        hertz.Parameters(load=1e9)


@pytest.mark.parametrize(("kind", "order"), [("quad", 1), ("tri", 1), ("quad", 2)])
def test_a_graded_block_fills_its_box(kind, order):
    mesh = graded_block(1.0, 2.0, 0.1, 0.02, kind=kind, order=order)
    corners = mesh.p[:, mesh.t[: 3 if kind == "tri" else 4]]
    x, y = corners
    area = 0.5 * np.abs((x * np.roll(y, -1, axis=0) - y * np.roll(x, -1, axis=0)).sum(axis=0))
    assert area.sum() == pytest.approx(2.0, rel=1e-12)
    top = mesh.p[0, mesh.facets[:, mesh.boundaries["top"]]]
    fine = top[:, top.mean(axis=0) < 0.1]
    np.testing.assert_allclose(np.abs(np.diff(fine, axis=0)), 0.02, rtol=1e-9)
