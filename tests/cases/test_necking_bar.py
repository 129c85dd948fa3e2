"""The necking bar at small size: closed forms before the neck, two kinds of cells and two dimensions after it."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from arlequin.cases.case.parameters import make
from arlequin.cases.necking_bar import (
    Parameters,
    TensileTest,
    build,
    check,
    figures,
    reference,
    share_of_circle,
    sliced,
    thickness,
)
from arlequin.models.errors import UserError


def pulled(**changes):
    p = Parameters(**changes)
    result = build(p).run()
    assert all(item.passed for item in check(result, p)), [item for item in check(result, p) if not item.passed]
    return result, TensileTest.of(result, p)


def test_considere():
    """The largest load of a uniform bar by search, and dτ/dε = τ there."""
    metal = reference(Parameters())
    found = minimize_scalar(lambda flow: -float(metal.load(flow)), bounds=(0.0, 1.0), options={"xatol": 1e-10})
    assert metal.limit == pytest.approx(found.x, abs=1e-6)
    h = 1e-6
    low, high = metal.limit - h, metal.limit + h
    slope = float((metal.stress(high) - metal.stress(low)) / (metal.strain(high) - metal.strain(low)))
    assert slope == pytest.approx(float(metal.stress(metal.limit)), rel=1e-6)
    assert replace(metal, saturation=0.0).limit == 0.0  # 129 MPa per unit of strain are less than the stress


def test_slices_of_a_uniform_bar_are_one():
    p = Parameters(imperfection=0.0)
    metal, (elongation, force) = reference(p), sliced(p)
    assert force[-1] == pytest.approx(np.pi * p.radius**2 * metal.load(metal.limit), rel=1e-12)
    flow = 0.05
    at = p.length * np.expm1(float(metal.strain(flow)))
    exact = np.pi * p.radius**2 * float(metal.load(flow))
    assert np.interp(at, elongation, force) == pytest.approx(exact, rel=1e-5)


def test_a_bar_without_imperfection_stays_uniform():
    """To the closed form past its largest load, everywhere equally thick."""
    result, pull = pulled(imperfection=0.0, elongation=8e-3, elements=2, steps=40)
    p, metal = Parameters(imperfection=0.0), reference(Parameters())
    assert pull.largest[0] == pytest.approx(np.pi * p.radius**2 * float(metal.load(metal.limit)), rel=1e-4)
    assert np.abs(pull.beside(*sliced(p))).max() <= 1e-5 * pull.largest[0]
    bar = result["part/bar"].dataset
    outside = bar["position"].values[:, 0] >= p.radius * (1.0 - 1e-9)
    assert np.ptp(bar["displacement"].values[-1, outside, 0]) <= 1e-9 * p.radius


@pytest.mark.slow
def test_the_neck_takes_all_and_the_rest_unloads():
    result, pull = pulled(elements=4, steps=100)
    assert pull.load[-1] < 0.5 * pull.largest[0]
    assert pull.neck[-1] < 0.45 * Parameters().radius
    assert result.attrs["newton_iterations_most"] <= 10
    end = result["part/bar"].dataset
    far = end["position"].values[:, 1] >= 0.4 * Parameters().length
    width = (end["position"].values[far] + end["displacement"].values[-1, far])[:, 0].max()
    assert width > 0.93 * Parameters().radius


@pytest.mark.slow
def test_two_kinds_of_cells_agree():
    """At 12 mm, half of the radius gone: cells of either order with as many freedoms, neck and load within 2 %."""
    ends = []
    for order, elements in (("linear", 8), ("quadratic", 4)):
        _, pull = pulled(elements=elements, order=order, elongation=12e-3, steps=100)
        ends.append([pull.neck[-1], pull.load[-1]])
    assert ends[0] == pytest.approx(ends[1], rel=0.02)


@pytest.mark.slow
def test_meshes_and_steps_converge():
    """Differences of the neck's radius at 12 mm fall by two or more from mesh to mesh, and with the load steps."""
    necks = [pulled(elements=n, elongation=12e-3)[1].neck[-1] for n in (4, 8, 16)]
    assert abs(necks[2] - necks[1]) <= 0.5 * abs(necks[1] - necks[0])
    necks = [pulled(elements=4, elongation=12e-3, steps=n)[1].neck[-1] for n in (50, 100, 200)]
    assert abs(necks[2] - necks[1]) <= 0.7 * abs(necks[1] - necks[0])


@pytest.mark.slow
def test_dimensions_agree():
    """The section of the solid one is a polygon of 16 sides: loads per area at 10 mm within 2 %."""
    loads = []
    for dimension in ("axisymmetric", "3d"):
        p = Parameters(elements=4, dimension=dimension, elongation=10e-3, steps=100)
        pull = pulled(elements=4, dimension=dimension, elongation=10e-3, steps=100)[1]
        loads.append(np.array([pull.largest[0], pull.load[-1]]) / share_of_circle(p))
    assert loads[0] == pytest.approx(loads[1], rel=0.02)


def test_thickness():
    p = Parameters()
    assert thickness(p, np.array([0.0, p.length / 2])) == pytest.approx([0.982 * p.radius, p.radius], rel=1e-12)


def test_figures():
    p = Parameters(elements=2, elongation=2e-3, steps=10)
    assert set(figures(build(p).run(), p)) == {"energies", "pull", "shape"}


def test_bad_input():
    with pytest.raises(UserError, match="imperfection"):
        make(Parameters, {"imperfection": 0.6})
