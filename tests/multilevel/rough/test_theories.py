"""What all theories have in common: the stiffness is the derivative of the pressure, and positive."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arlequin.multilevel.rough.bush_gibson_thomas import BushGibsonThomas
from arlequin.multilevel.rough.greenwood_williamson import GreenwoodWilliamson
from arlequin.multilevel.rough.kogut_etsion import KogutEtsion
from arlequin.multilevel.rough.theory import ContactTheory

E, R, ETA, SIGMA = 1.1e11, 2e-5, 8e9, 3e-7

THEORIES: list[ContactTheory] = [
    GreenwoodWilliamson(E, R, ETA, SIGMA, offset=1e-7),
    GreenwoodWilliamson(E, R, ETA, SIGMA, heights="exponential"),
    GreenwoodWilliamson.from_moments(E, 4 * SIGMA**2, 1e-3, 4e9),
    BushGibsonThomas(E, 4 * SIGMA**2, 1e-3, 4e9),
    KogutEtsion(E, R, ETA, SIGMA, hardness=2e9),
    KogutEtsion(E, R, ETA, SIGMA, hardness=3e10, offset=1e-7),
]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("theory", THEORIES, ids=lambda t: type(t).__name__)
@given(st.floats(-2.0, 5.0).filter(lambda t: abs(t) > 0.05))  # exponential heights begin with a jump, at 0
def test_stiffness_is_the_derivative(theory, distance):
    d, h = distance * SIGMA, 2e-3 * SIGMA
    p = theory.pressure(d + h * np.array([-2.0, -1.0, 1.0, 2.0]))
    difference = (p[3] - 8.0 * p[2] + 8.0 * p[1] - p[0]) / (12.0 * h)
    assert theory.stiffness(np.array(d)) == pytest.approx(difference, rel=2e-6)
    k = theory.stiffness(d + h * np.array([-1.0, 0.0, 1.0]))
    assert k[1] > 0.0 and (np.diff(k) < 0.0).all()
