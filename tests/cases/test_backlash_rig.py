"""The case backlash_rig and its reference: event-exact motion against SciPy's integration, order 2 of the run."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from arlequin.cases import backlash_rig as case


def integrated(p, times):
    """Angles (t, 2) by SciPy, with events at the ends of the play."""

    def rates(t, z):
        twist, relative = z[0] - z[1], z[2] - z[3]
        stop = max(twist - p.play, 0.0) - max(-twist - p.play, 0.0)
        torque = p.shaft * twist + p.shaft_damping * relative + p.stop * stop
        drive = p.torque * np.sin(2.0 * np.pi * p.frequency * t)
        return [z[2], z[3], (drive - torque) / p.motor, (torque - p.ground * z[1] - p.ground_damping * z[3]) / p.load]

    start = [0.0, 0.0, p.rate, 0.0]
    return solve_ivp(rates, (0.0, times[-1]), start, "DOP853", times, rtol=1e-11, atol=1e-13, max_step=2e-3).y[:2].T


@pytest.mark.parametrize("torque", [0.0, 20.0])
def test_the_reference_against_integration(torque):
    p = case.Parameters(torque=torque, frequency=0.8)
    times = np.linspace(0.0, 1.0, 101)
    motion = case.reference(p).motion(times)
    np.testing.assert_allclose(motion.angle, integrated(p, times), atol=1e-8)
    assert motion.events.size >= 4


@pytest.mark.parametrize("scheme", ["theta", "newmark", "central"])
def test_the_case_is_within_its_tolerances(scheme):
    p = case.Parameters(scheme=scheme, duration=1.0)
    checks = case.check(case.build(p).run(), p)
    assert not [check for check in checks if not check.passed]


def test_order_two_through_the_stops():
    errors = []
    for step in (1e-3, 5e-4):
        p = case.Parameters(step=step, duration=1.0)
        errors.append(case.Comparison.of(case.build(p).run(), p).twist_error)
    assert 3.6 < errors[0] / errors[1] < 4.4


def test_central_differences_follow_the_rig_with_their_inertia():
    """M − ½ Δt D: far closer than the motion with M, and within all tolerances under a torque, too."""
    p = case.Parameters(scheme="central", torque=20.0)
    result = case.build(p).run()
    assert not [check for check in case.check(result, p) if not check.passed]
    errors = [case.Comparison.of(result, replace(p, scheme=scheme)).twist_error for scheme in ("central", "theta")]
    assert errors[1] > 5.0 * errors[0]
