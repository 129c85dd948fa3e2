"""The case press_fit at small size: Lamé in every kind, slip force, energy."""

import pytest

from arlequin.cases import press_fit as case
from arlequin.models.errors import UserError


def failed(result, parameters, without=()):
    checks = case.check(result, parameters)
    assert len(checks) >= 9
    return [
        (check.name, check.value, check.reference) for check in checks if not check.passed and check.name not in without
    ]


@pytest.mark.parametrize(
    "options",
    [
        {"kind": "strain", "cells": 6},
        {"kind": "stress", "cells": 6},
        {"kind": "axisymmetric", "geometry": "overlap"},
        pytest.param({"kind": "3d"}, marks=pytest.mark.slow),
    ],
)
def test_lame_in_every_kind(options):
    parameters = case.Parameters(duration=1e-5, **options)
    assert not failed(case.run(parameters), parameters, ["slip force against μ p A"])


def test_the_shaft_slips_at_mu_p_a():
    parameters = case.Parameters(cells=3, step=4e-6)
    assert not failed(case.run(parameters), parameters)


@pytest.mark.slow
def test_the_quarter_in_space_slips_at_mu_p_a():
    parameters = case.Parameters(kind="3d", step=4e-6)
    assert not failed(case.run(parameters), parameters)


def test_radii_in_wrong_order_are_refused():
    with pytest.raises(UserError, match=r"radius = 0\.06: must be between the bore, 0\.008 m, and the rim, 0\.05 m"):
        case.Parameters(radius=0.06)
