"""The case friction_pad against exact waves of shear: convergence, laws, multipliers, schemes, energies."""

import numpy as np
import pytest

from arlequin.cases import friction_pad as case
from arlequin.models.errors import UserError


def run(**options):
    p = case.Parameters(**options)
    return case.build(p).run(), p


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"drive": "steady"},
        {"stiffness": 1e10},
        {"holder": "rigid"},
        {"holder": "rigid", "drive": "steady"},
        {"law": "asperities"},
        {"law": "asperities", "holder": "rigid"},
        {"law": "multilevel"},
        {"law": "multilevel", "asperity_height": 5e-6},
        {"scheme": "newmark", "transits": 4.0},
        {"multiplier": "P1", "transits": 4.0},
        {"multiplier": "P1", "stabilised": True, "transits": 4.0},
        {"friction": 0.0, "transits": 4.0},
        {"friction": 1.0, "transits": 4.0},
    ],
)
def test_the_case_is_within_its_tolerances(options):
    result, p = run(**options)
    checks = case.check(result, p)
    assert not [check for check in checks if not check.passed]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("holder", ["springs", "rigid"])
def test_errors_fall_with_the_cells(holder):
    errors = []
    for cells in (6, 12, 24):
        result, p = run(cells=cells, transits=6.0, holder=holder)
        errors.append(case.BaseMotion.of(result, p).errors(p))
    slip, traction = np.array(errors).T
    assert (slip[1:] < 0.65 * slip[:-1]).all()
    assert (traction[1:] < 0.65 * traction[:-1]).all()


def test_it_sticks_and_slips_both_ways():
    result, p = run(cells=10, holder="rigid")
    base = case.BaseMotion.of(result, p)
    stuck = np.abs(base.slip) < 1e-9 * p.speed
    exact = np.abs(base.exact_slip) < 1e-9 * p.speed
    assert 0.1 < stuck.mean() < 0.7
    assert (stuck == exact).mean() > 0.9
    assert base.slip.max() > 0.5 * p.speed and base.slip.min() < -0.5 * p.speed


def test_explicit_steps_with_lumped_mass_agree_too():
    """Lumped mass at a small step lags: order 1 of the waves' error, against the drive's speed."""
    result, p = run(scheme="central-difference", mass="lumped", courant=0.4, transits=4.0, holder="rigid")
    slip, traction = case.BaseMotion.of(result, p).errors(p)
    assert slip < 0.06 and traction < 0.03
    assert np.abs(result["balance"]).max() < 1e-10
    assert (np.diff(result["energy"].sel(kind="friction")) >= 0.0).all()


def test_springs_carry_what_the_plane_takes():
    """Momentum of the pad: its rate is the force of the springs and of the plane."""
    result, _ = run(cells=10, transits=4.0)
    step = float(np.diff(result["time"]).mean())
    momentum = result["part/pad"].dataset["momentum"].sel(component="x").values
    spring = result["spring/springs"].dataset["force"].sel(component="x").values
    plane = result["interface/contact"].dataset["force"].sel(component="x").values[1:]
    # the sides are pressed alike: no horizontal force of theirs
    given = 0.5 * step * (spring[1:] + spring[:-1]) + step * plane
    np.testing.assert_allclose(np.diff(momentum), given, atol=1e-9 * np.abs(momentum).max())


def test_asperities_that_cannot_carry_the_pressure_are_refused():
    with pytest.raises(UserError, match="asperity_height"):
        case.build(case.Parameters(law="asperities", asperity_height=1e-6))


def test_figures_are_drawn():
    result, p = run(cells=4, transits=1.0)
    assert set(case.figures(result, p)) == {"energies", "base", "shape"}
