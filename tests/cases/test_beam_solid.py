"""The case beam_solid, and Timoshenko's cantilever against its limits."""

from dataclasses import replace

import numpy as np
import pytest

from arlequin.cases import beam_solid as case
from arlequin.cases.reference.beams import Cantilever
from arlequin.models.beams.section import Section
from arlequin.models.errors import UserError
from arlequin.models.materials.elastic import LinearElastic

STEEL = LinearElastic(young=2.0e11, poisson=0.3, density=7800.0)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("model", ["arlequin", "beam"])
def test_the_case_is_within_its_tolerances(model):
    p = case.Parameters(model=model)
    checks = case.check(case.build(p).run(), p)
    assert len(checks) >= 7
    assert not [check for check in checks if not check.passed]


def test_deflection_error_stays_far_below_the_tolerance_off_the_grid():
    p = case.Parameters(beam_length=1.13, overlap=0.21, beam_size=0.09, solid_size=0.06)
    tip = case.tip(case.build(p).run(), p)
    assert tip == pytest.approx(float(case.reference(p).deflection(p.length, p.force)), rel=5e-4)


def test_figures_are_drawn():
    p = case.Parameters(solid_size=0.2, beam_size=0.2, across=1)
    assert set(case.figures(case.build(p).run(), p)) == {"energies", "deflection"}


def test_parameters_that_leave_no_zone_are_refused():
    for wrong in ({"overlap": 1.2}, {"beam_length": 2.0}):
        with pytest.raises(UserError, match="must lie between overlap"):
            case.Parameters(**wrong)
    assert replace(case.Parameters(), model="beam", beam_length=2.0).beam_length == 2.0


def test_a_slender_cantilever_vibrates_as_euler_and_bernoulli_say():
    section = Section.rectangle(1e-3, 2e-3)
    roots = np.array([1.8751040687, 4.6940911330, 7.8547574382])  # cos k cosh k = −1
    unit = np.sqrt(STEEL.young * section.inertia_z / (STEEL.density * section.area))
    found = Cantilever(1.0, STEEL, section).bending(3, section.inertia_z, section.shear_y)
    np.testing.assert_allclose(found, roots**2 * unit / (2 * np.pi), rtol=1e-4)


def test_a_thick_cantilever_without_shear_stiffness_of_its_own_shears_like_a_bar():
    """With EI → ∞ only shear is left: f = (2n − 1)/(4L) √(κG/ρ) for small rotary motion."""
    stiff = Section(area=0.01, inertia_y=1e3, inertia_z=1e3, torsion=1.0)
    found = Cantilever(1.0, STEEL, stiff).bending(1, stiff.inertia_z, stiff.shear_y)[0]
    speed = np.sqrt(stiff.shear_y * STEEL.shear / STEEL.density)
    assert found == pytest.approx(speed / 4, rel=1e-3)
