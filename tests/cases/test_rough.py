"""Rough contact at small size: the press against the law and the half-space, the impact against the delay equation."""

import numpy as np
import pytest

import arlequin as aq
from arlequin.cases import rough_impact, rough_press
from arlequin.cases.reference.interface import ContactLaw, touch
from arlequin.cases.reference.layered_rod import LayeredRod
from arlequin.cases.reference.rods import Rod
from arlequin.cases.shared import roughness
from arlequin.multilevel.laws.asperities import Asperities


def failed(case, p):
    result = case.build(p).run()
    return [item for item in case.check(result, p) if not item.passed]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("law", ["half-space", "persson", "greenwood-williamson", "kogut-etsion", "power"])
def test_press(law):
    assert not failed(rough_press, rough_press.Parameters(law=law, loads=12, cells=2))


def test_the_law_keeps_near_loads_that_it_was_not_fitted_to():
    """Every third load is: the others within 5 %; a single power law does worse."""
    p = rough_press.Parameters()
    rough, unit = roughness.Roughness.of(p), p.young / (1.0 - p.poisson**2) * p.slope
    curve = roughness.half_space(rough, 8)
    gaps = curve.gaps * rough.moments.rms_height
    errors = []
    for law in ("half-space", "power"):
        found = roughness.law_of(rough_press.Parameters(law=law)).law.pressure(gaps) / unit
        errors.append(np.abs(found / curve.loads - 1.0))
    others = np.arange(curve.loads.size) % 3 > 0
    assert 1e-3 < errors[0][others].max() < 0.02 and errors[0][~others].max() < 1e-12
    assert errors[1].max() > 3.0 * errors[0].max()


@pytest.mark.slow
def test_stored_samples_are_what_tamaas_finds():
    """One sample at three loads; the rest of the file is the same computation."""
    pytest.importorskip("tamaas")
    rough = roughness.Roughness(0.8, 1.0 / 32, 5, 3, 0.1)
    sample, kept = rough.sample(3), [0, 20, 27]
    found = aq.rough.halfspace_curve(
        sample.heights, sample.size, 1.0, pressures=0.1 * roughness.LOADS[kept], tolerance=1e-6
    )
    gaps, areas = roughness._stored()
    assert found.gaps / rough.moments.rms_height == pytest.approx(gaps[3][kept], rel=2e-5)
    assert found.areas == pytest.approx(areas[3][kept], rel=1e-3, abs=2e-6)


@pytest.mark.slow
def test_other_spectra_are_computed_and_scale():
    """A small sample; gaps over heights do not depend on wavelength, slope or modulus."""
    pytest.importorskip("tamaas")
    shapes = [roughness.Roughness(0.5, cutoff, 4, 2, slope) for cutoff, slope in ((1e-5, 0.1), (1.0, 0.01))]
    curves = [roughness.half_space(shape, 1) for shape in shapes]
    assert curves[0].gaps == pytest.approx(curves[1].gaps, rel=1e-5)
    assert (np.diff(curves[0].gaps) < 0.0).all()


def test_spectrum_of_the_theories_is_that_of_the_samples():
    rough = roughness.Roughness(0.8, 2e-5, 5, 3, 0.1)
    theory = roughness.theories(rough, 1e11, 1e9, 0.3)["persson"]
    assert theory.rms_slope == pytest.approx(0.1, rel=1e-9)
    assert rough.moments.rms_slope == pytest.approx(0.1, rel=1e-9)
    with pytest.raises(aq.UserError, match="flat = 4: must be at most the octaves, 3"):
        roughness.Roughness(0.8, 2e-5, 3, 4, 0.1)


def test_the_delay_equation_is_that_of_the_other_reference():
    """A power law: pressures, impulses and restitution of two independent integrators."""
    law = Asperities(1e16, 1.5, 4e-6)
    rod = LayeredRod(0.1, 2e11, 7800.0, 0.5, 4e-6, law.pressure, 5.5e-5)
    other = touch(
        Rod(0.1, 2e11, 7800.0, 0.5), None, ContactLaw(stiffness=1e16, exponent=1.5, height=4e-6), 4e-6, 5.5e-5
    )
    time = np.linspace(0.0, 5.5e-5, 400)
    peak = rod.impedance * rod.velocity
    assert rod.pressure(time) == pytest.approx(other.pressure(time), abs=2e-6 * peak)
    assert rod.impulse(time) == pytest.approx(other.impulse(time), abs=1e-7 * peak * rod.transit)
    assert rod.restitution() == pytest.approx(-other.mean_velocity("left", 5.5e-5) / 0.5, abs=1e-7)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "options",
    [
        {"elements": 200},
        pytest.param({"elements": 200, "law": "persson", "velocity": 2.0}, marks=pytest.mark.slow),
        {"smooth": "yes"},
        {"body": "ball", "velocity": 0.03, "slope": 0.02, "cutoff": 1e-5, "cells": 4, "steps": 100},
        {"body": "ball", "velocity": 0.03, "smooth": "yes", "cells": 6, "steps": 100},
    ],
    ids=["bar", "persson", "smooth bar", "ball", "smooth ball"],
)
def test_impact(options):
    assert not failed(rough_impact, rough_impact.Parameters(**options))


@pytest.mark.slow
def test_a_bar_on_less_and_less_roughness_is_one_on_a_smooth_wall():
    """Contact lasts 2L/c, and the centre leaves at V, at order 1 in the height."""
    p = rough_impact.Parameters()
    found = [rough_impact.exact_impact(rough_impact.reference(rough_impact.scaled(p, f))) for f in (1.0, 0.25, 0.0625)]
    transit = rough_impact.reference(p).transit
    longer = np.array([item.duration / transit - 1.0 for item in found])
    slower = np.array([1.0 - item.restitution for item in found])
    for change in (longer, slower):
        assert np.log(change[:-1] / change[1:]) / np.log(4.0) == pytest.approx(1.0, abs=0.05)
    assert 0.0 < longer[-1] < 0.01 and 0.0 < slower[-1] < 1e-5


@pytest.mark.slow
def test_a_ball_stays_longer_the_rougher_the_wall():
    """Above the duration on a smooth wall of the same mesh, from which the finest differs by less than 1 %."""
    options = {"body": "ball", "velocity": 0.03, "cells": 4, "steps": 400, "slope": 0.02}
    lasted = []
    for change in ({"cutoff": 2e-5}, {"cutoff": 5e-6}, {"cutoff": 1.25e-6}, {"smooth": "yes"}):
        p = rough_impact.Parameters(**options, **change)
        lasted.append(rough_impact.measured(rough_impact.build(p).run(), p).duration)
    assert lasted[0] > lasted[1] > lasted[2] and lasted[2] == pytest.approx(lasted[3], rel=0.01)


@pytest.mark.slow
def test_figures(monkeypatch):
    p = rough_press.Parameters(loads=6, cells=1)
    assert set(rough_press.figures(rough_press.build(p).run(), p)) == {"surface", "pressure", "area"}
    p = rough_impact.Parameters(elements=50)
    one = rough_impact.exact_impact(rough_impact.reference(p))
    monkeypatch.setattr(rough_impact, "exact_impact", lambda rod: one)  # of 13 heights; they have a test above
    assert set(rough_impact.figures(rough_impact.build(p).run(), p)) == {"energies", "pressure", "roughness"}
