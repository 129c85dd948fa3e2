"""The case fretting_pad: cycle jumping against all cycles stepped, partial and gross slip."""

import time

import numpy as np
import pytest

from arlequin.cases import fretting_pad as case

SMALL = {"cells": 6, "steps": 8, "cycles": 60}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("amplitude", [3e-6, 1e-5])
def test_the_case_is_within_its_tolerances(amplitude):
    p = case.Parameters(cells=6, cycles=60, amplitude=amplitude)
    checks = case.check(case.run(p), p)
    assert not [check for check in checks if not check.passed]


@pytest.mark.slow
def test_in_partial_slip_the_middle_does_not_wear():
    p = case.Parameters(**{**SMALL, "cells": 12}, amplitude=2e-6)
    found = case.FrettingHistory.of(case.run(p), p)
    middle = np.abs(found.x) < 0.3 * case.reference(p).half_width
    # but for once, in the first cycle, where the tractions of the growing load give way
    assert found.depth[middle].max() < 0.01 * found.depth.max()
    assert found.depth.max() > 0.0


def compared(parameters, full):
    """Largest error of the depths over the greatest, and of the volume; seconds of both runs."""
    seconds, found = [], []
    for p in (parameters, full):
        begin = time.perf_counter()
        result = case.run(p)
        seconds.append(time.perf_counter() - begin)
        found.append(case.FrettingHistory.of(result, p))
    jumped, exact = found
    depth = np.abs(jumped.depth - exact.depth).max() / exact.depth.max()
    return depth, abs(jumped.volume[-1] / exact.volume[-1] - 1.0), jumped.cycles.size, seconds


@pytest.mark.slow
def test_jumps_agree_with_all_cycles():
    depth, volume, stepped, _ = compared(case.Parameters(**SMALL), case.Parameters(**SMALL, jumps=0))
    assert depth < 0.01
    assert volume < 0.01
    assert stepped <= 10


@pytest.mark.slow
def test_a_thousand_cycles_from_ten(record_property):
    """Within 1 % of the full run in depth and volume; the times are reported alone, a busy machine bends them."""
    case.run(case.Parameters(cycles=1))  # compiled kernels load once
    depth, volume, stepped, (short, long) = compared(case.Parameters(), case.Parameters(jumps=0))
    for name, value in (("depth", depth), ("volume", volume), ("stepped", stepped), ("times", long / short)):
        record_property(name, float(value))  # workers send numbers of Python alone
    print(f"\nerror of depth {depth:.2e}, of volume {volume:.2e}; {stepped} cycles; {short:.1f} s, {long:.1f} s")
    assert depth < 0.01
    assert volume < 0.01
    assert stepped <= 10


def test_figures_are_drawn():
    p = case.Parameters(**{**SMALL, "cycles": 6})
    assert set(case.figures(case.run(p), p)) == {"worn", "heat", "energies"}
