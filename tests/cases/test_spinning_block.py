"""The tumbling block at small size: what each scheme keeps, and the motion against Euler's equations."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import arlequin as aq
from arlequin.cases import spinning_block as case
from arlequin.cases.case.comparison import comparison


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"law": "svk"},
        {"scheme": "theta"},
        {"scheme": "newmark"},
        {"scheme": "central-difference"},
        {"velocity": 1.0, "cells": 2, "steps": 100},
    ],
)
def test_the_case_is_within_its_tolerances(options):
    p = case.Parameters(**{"steps": 60, "fields_every": 5, **options})
    checks = case.check(case.build(p).run(), p)
    assert not [check for check in checks if not check.passed]


def test_the_start_is_a_rigid_block():
    for scheme in ("midpoint", "central-difference"):
        p = case.Parameters(steps=1, scheme=scheme, cells=2, turn=1e-3)
        drift = case.InvariantDrift.of(case.build(p).run(), p)
        assert drift.of_moment[0] <= 1e-14
        assert drift.of_energy[0] == pytest.approx(0.0, abs=1e-14)


def test_beyond_a_half_the_scheme_loses_what_the_midpoint_rule_keeps():
    p = case.Parameters(steps=100, scheme="theta", theta=0.6)
    drift = case.InvariantDrift.of(case.build(p).run(), p)
    assert drift.of_energy[-1] < -0.05 and drift.of_moment[-1] > 0.02


@pytest.mark.slow
def test_newmark_drifts_and_with_larger_steps_blows_up():
    p = case.Parameters(steps=400, scheme="newmark", fields_every=1)
    assert 1e-3 < np.abs(case.InvariantDrift.of(case.build(p).run(), p).of_energy).max() < 0.1
    p = case.Parameters(steps=400, scheme="newmark", turn=0.3, fields_every=1)
    with pytest.raises(aq.UserError, match="did not converge"):
        case.build(p).run()
    result = comparison(case.build, {"run": p}, "run", partial=True)
    assert result["time"].size < 400 and case.InvariantDrift.of(result, p).of_energy.max() > 10.0


def attitude(parameters, end):
    """Where the axis y of the rigid block points at `end` (s), by Euler's equations in space: J = R J₀ Rᵀ."""
    p = parameters
    moment = case.reference(p).moment
    inertia = moment / (p.spin * np.array([p.tilt, 1.0, p.tilt]))

    def rates(_, r):
        turn = r.reshape(3, 3)
        spin = turn @ ((turn.T @ moment) / inertia)
        return np.cross(spin, turn, axisb=0, axisc=0).ravel()

    found = solve_ivp(rates, (0.0, end), np.eye(3).ravel(), rtol=1e-10, atol=1e-12)
    return found.y[:, -1].reshape(3, 3)[:, 1]


@pytest.mark.slow
def test_a_stiff_block_turns_over_as_a_rigid_one():
    """Over 20 rad, in which the axis turns over; order 2 in the step."""
    off = []
    for turn in (0.2, 0.1):
        p = case.Parameters(young=1e9, turn=turn, steps=round(20.0 / turn), tilt=0.1, fields_every=1)
        result = case.build(p).run()
        part = case.build(p).system.parts[0]
        now = part.positions + result["part/block"]["displacement"].values[-1]
        y = part.positions[:, 1]
        axis = (y[:, None] * now).sum(axis=0)
        exact = attitude(p, 20.0 / p.spin)
        off.append(np.abs(axis / np.linalg.norm(axis) - exact).max())
        assert case.turned_over(result, p) >= 1
    assert off[1] < 0.05 and off[0] / off[1] == pytest.approx(4.0, rel=0.2)


def test_figures_are_drawn():
    p = case.Parameters(steps=20, fields_every=5)
    assert set(case.figures(case.build(p).run(), p)) == {"energies", "drifts"}
