"""Gaps of layers where pairings change: what is stored and what is on the account together never grow."""

import numpy as np
import pytest

import arlequin as aq
from arlequin.multilevel.laws.signature import ACCOUNT
from arlequin.multilevel.solvers.law_tables import PointLaws

LAYER = aq.Asperities(stiffness=1e3, exponent=2.0, height=0.5)


def stored(gap):
    """Of points of 2 m², J: ∫ p dg by hand."""
    return 2.0 * 1e3 * np.maximum(0.5 - gap, 0.0) ** 3 / 3.0


@pytest.mark.kernels
def test_jumps_are_paid_from_what_jumps_took():
    laws = PointLaws.gather([(LAYER, aq.Unilateral())] * 4, np.full(4, 2.0))
    draw = np.random.default_rng(3)
    history = laws.start_history(np.full(4, 0.2))
    total, kept, reached = stored(np.full(4, 0.2)).sum(), 0, 0
    for _ in range(200):
        asked = 0.3 + 0.2 * draw.normal(size=4)
        history, beyond = laws.carry_gaps(history, asked)
        gaps = laws.layer_gaps(history, asked)
        np.testing.assert_allclose(gaps, asked + beyond, atol=1e-14)
        assert (beyond >= 0.0).all()  # a layer is never pressed more than the point
        account = history[0, ACCOUNT]
        assert account >= 0.0 and stored(gaps).sum() + account == pytest.approx(total, rel=1e-10)
        kept, reached = kept + bool(beyond.any()), reached + (not beyond.any())
    assert kept > 20 and reached > 20


@pytest.mark.kernels
def test_a_point_that_loses_its_partner_and_finds_another():
    laws = PointLaws.gather([(LAYER,)], np.array([2.0]))
    history, _ = laws.carry_gaps(laws.start_history(np.array([0.1])), np.array([np.inf]))
    assert history[0, ACCOUNT] == pytest.approx(stored(0.1), rel=1e-12)
    history, beyond = laws.carry_gaps(history, np.array([0.2]))
    assert beyond[0] == 0.0 and history[0, ACCOUNT] == pytest.approx(stored(0.1) - stored(0.2), rel=1e-10)
