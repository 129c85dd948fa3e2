"""The case beam_to_solid, the supported beam that is its reference, and the mesh of a cylinder."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import expm

import arlequin as aq
from arlequin.cases import beam_to_solid as case
from arlequin.cases.reference.supported_beam import SupportedBeam
from arlequin.cases.shared.meshes import cylinder
from arlequin.models.beams.section import Section
from arlequin.models.fem.solid import Solid
from arlequin.models.materials.elastic import LinearElastic

STEEL = LinearElastic(young=2.0e11, poisson=0.3, density=7800.0)
SMALL = {"step": 5e-3, "solid_size": 0.01, "beam_size": 0.02, "fields_every": 1}
BAR = SupportedBeam(0.249, STEEL, Section.circle(5e-3, 0.3))


def test_static_deflection_under_a_force_at_the_middle():
    """F L³/(48 EI) + F L/(4 κGA) at the middle."""
    middle, s = 0.5 * BAR.length, BAR.section
    bent = BAR.length**3 / (48 * STEEL.young * s.inertia_z)
    sheared = BAR.length / (4 * s.shear_y * STEEL.shear * s.area)
    assert float(BAR.deflection(middle, middle, 10.0)) == pytest.approx(10.0 * (bent + sheared), rel=1e-13)


def test_static_deflections_are_reciprocal_and_vanish_at_the_supports():
    for x, a in ((0.02, 0.1), (0.2, 0.119), (0.129, 0.119)):
        assert float(BAR.deflection(x, a, 1.0)) == pytest.approx(float(BAR.deflection(a, x, 1.0)), rel=1e-13)
    assert np.abs(BAR.deflection(np.array([0.0, BAR.length]), 0.119, 1.0)).max() < 1e-20


def test_a_slender_beam_vibrates_as_euler_and_bernoulli_say():
    thin = replace(BAR, section=Section.circle(1e-4))
    unit = np.sqrt(STEEL.young * thin.section.inertia_z / (STEEL.density * thin.section.area))
    expected = (np.arange(1, 4) * np.pi / thin.length) ** 2 * unit / (2 * np.pi)
    np.testing.assert_allclose(thin.frequencies(3), expected, rtol=1e-4)


def transfer(omega, length):
    """State (w, ψ, M, V) over a length: w′ = ψ + V/κGA, ψ′ = M/EI, M′ = −V − ρIω²ψ, V′ = −ρAω²w."""
    s, e, g, rho = BAR.section, STEEL.young, STEEL.shear, STEEL.density
    matrix = np.zeros((4, 4))
    matrix[0, 1], matrix[0, 3], matrix[1, 2] = 1.0, 1.0 / (s.shear_y * g * s.area), 1.0 / (e * s.inertia_z)
    matrix[2, 3], matrix[2, 1], matrix[3, 0] = -1.0, -rho * s.inertia_z * omega**2, -rho * s.area * omega**2
    return expm(matrix * length)


def test_the_forced_motion_solves_the_differential_equation():
    """Against transfer matrices of the harmonic motion at three quarters of the lowest natural frequency."""
    omega, at, x, force = 0.75 * 2 * np.pi * BAR.frequencies(1)[0], 0.119, 0.129, -100.0
    first, second = transfer(omega, at), transfer(omega, BAR.length - at)
    whole, pushed = second @ first, second[:, 3] * -force  # V jumps by −F at the load
    ends = np.linalg.solve(whole[np.ix_([0, 2], [1, 3])], -pushed[[0, 2]])  # w = M = 0 at both ends
    state = first[:, [1, 3]] @ ends
    state[3] -= force
    expected = (transfer(omega, x - at) @ state)[0]
    quarter = np.array([0.5 * np.pi / omega])
    found = BAR.motion(quarter, x, at, force, omega, rest=False)[0, 0]
    assert found == pytest.approx(expected, rel=1e-7)
    assert abs(found) > 2.0 * abs(float(BAR.deflection(x, at, force)))


def test_from_rest_the_bar_starts_without_velocity():
    step = 1e-7
    still, forced = (
        BAR.motion(np.array([0.0, step]), 0.129, 0.119, -100.0, 6.4, rest=rest)[:, 0] for rest in (True, False)
    )
    assert still[0] == forced[0] == 0.0
    assert abs(still[1]) < 1e-4 * abs(forced[1])


def test_free_oscillations_from_rest_have_the_amplitude_of_the_ratio_of_frequencies():
    """ω/Ω of the lowest mode, which is the static deflection up to 2 %."""
    time = np.linspace(0.0, 0.1, 2001)
    given = (time, 0.129, 0.119, -100.0, 6.4)
    apart = BAR.motion(*given, rest=True) - BAR.motion(*given, rest=False)
    largest = abs(float(BAR.deflection(0.129, 0.119, -100.0)))
    assert np.abs(apart).max() / largest == pytest.approx(6.4 / (2 * np.pi * BAR.frequencies(1)[0]), rel=0.03)


def test_cylinder():
    """Volume and moments of the section: those of 16 quadratic arcs, 5e-5 and 1e-4 below those of the circle."""
    mesh = cylinder(5e-3, np.array([0.0, 0.01, 0.03]), 4, order=2)
    assert mesh.nelements == 96 and sorted(mesh.boundaries) == ["bottom", "side", "top"]
    assert [mesh.boundaries[name].size for name in ("bottom", "side", "top")] == [48, 32, 48]
    solid = Solid("solid", mesh, STEEL)
    x, dx = solid.quadrature_points(), solid.cells.dx
    arc = np.pi / 16
    area = 16 * (5e-3) ** 2 * np.sin(arc) * (4.0 - np.cos(arc)) / 3.0
    assert dx.min() > 0.0 and dx.sum() / 0.03 == pytest.approx(area, rel=1e-12)
    for axis in (0, 1):
        assert (x[axis] ** 2 * dx).sum() / 0.03 == pytest.approx(np.pi * (5e-3) ** 4 / 4, rel=2e-4)
    assert np.abs(np.einsum("icq,cq->i", x, dx)[:2]).max() < 1e-12 * dx.sum()


def static(parameters, level):
    """Deflection at the gauge under the force F at rest, m."""
    system = case.configuration(parameters, level, lambda t: t)
    return float(case.deflection(aq.simulate(system, aq.Static(), duration=1.0, step=1.0), parameters)(1.0))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("length", [2.5e-3, 1e-2])
def test_the_slice_under_load_deflects_the_beam_less_than_a_point_load(length):
    """By F h² M₁/(24 EI), M₁ = a (L − x)/L the moment at the load a ≤ x under a unit force at the gauge x."""
    p = case.Parameters(slice=length)
    a, x = p.below + p.load, p.below + p.gauge
    less = p.force * length**2 * a * (BAR.length - x) / BAR.length / (24 * p.young * p.section.inertia_z)
    point = float(BAR.deflection(x, a, p.force))
    assert point - static(p, case.BEAM) == pytest.approx(less, rel=1e-6)


def test_both_models_are_equally_stiff():
    p = case.Parameters(**SMALL)
    assert static(p, case.SOLID) == pytest.approx(static(p, case.BEAM), rel=3e-4)


@pytest.mark.slow
def test_published_deflections_with_a_switch():
    p = case.Parameters(**SMALL)
    result = case.build(p).run()
    checks = case.check(result, p)
    assert len([check for check in checks if "published" in check.name]) == 2
    assert len(checks) == 7 and not [check for check in checks if not check.passed]
    assert set(case.figures(result, p)) == {"deflection", "energies", "shape"}


@pytest.mark.slow
def test_the_switch_leaves_no_oscillations():
    """After it the solid moves as the forced beam does, but for a constant ratio of stiffness."""
    p = case.Parameters(switch=0.1, duration=0.2, step=5e-4, fields_every=1, solid_size=0.01)
    way = case.deflection(case.build(p).run(), p)
    time = way.x[way.x > p.switch]
    exact, found = case.exact(p, time), way(time)
    ratio = float(found @ exact) / float(exact @ exact)
    assert ratio == pytest.approx(1.0, abs=3e-4)
    assert np.abs(found - ratio * exact).max() < 1e-4 * p.largest


def test_from_rest_the_beam_has_the_free_oscillations_of_the_exact_motion():
    p = case.Parameters(model="beam", start="rest", duration=0.02, step=2e-5)
    way = case.deflection(case.build(p).run(), p)
    error, forced = (way(way.x) - case.exact(q, way.x) for q in (p, replace(p, start="forced")))
    assert np.abs(error).max() < 5e-5 * p.largest < 3e-3 * p.largest < np.abs(forced).max()
    assert case.published(p) == () and case.published(case.Parameters(step=1e-3)) == case.PUBLISHED


@pytest.mark.sampled(1)
@pytest.mark.parametrize("start", ["forced", "rest"])
def test_a_reduced_solid_moves_as_the_whole_one(start):
    p = case.Parameters(model="solid", start=start, duration=0.1, **SMALL)
    whole, reduced = (case.deflection(case.build(q).run(), q) for q in (p, replace(p, modes=20)))
    assert np.abs(whole(whole.x) - reduced(whole.x)).max() < 5e-5 * p.largest


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"start": "rest"}, {"modes": 20}, {"across": 4}])
def test_the_case_is_within_its_tolerances(options):
    p = case.Parameters(**options)
    assert not [check for check in case.check(case.build(p).run(), p) if not check.passed]


def test_parameters_that_leave_no_room_are_refused():
    for wrong, words in (({"glue": 0.025}, "half of zoom"), ({"load": 0.011}, "slice"), ({"gauge": 0.045}, "between")):
        with pytest.raises(aq.UserError, match=words):
            case.Parameters(**wrong)
