"""Elastic-plastic summits against quadrature of the published fits, Hertz and hardness."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad

from arlequin.models.errors import UserError
from arlequin.multilevel.rough.greenwood_williamson import GreenwoodWilliamson
from arlequin.multilevel.rough.kogut_etsion import KogutEtsion

E, R, ETA, SIGMA = 1.1e11, 2e-5, 8e9, 3e-7
GAPS = SIGMA * np.array([-3.0, -0.7, 0.0, 0.4, 1.0, 2.5, 5.0])


def summit_load(w, critical, K):
    s = w / critical
    if s <= 1.0:
        return s**1.5
    return 1.03 * s**1.425 if s <= 6.0 else 1.40 * s**1.263 if s <= 110.0 else 3.0 / K * s


def summit_area(w, critical):
    s = w / critical
    if s <= 1.0:
        return s
    return 0.93 * s**1.136 if s <= 6.0 else 0.94 * s**1.146 if s <= 110.0 else 2.0 * s


@pytest.mark.parametrize("hardness", [4e8, 2e9, 1e10])
@pytest.mark.parametrize("gap", [-1.0, 0.5, 3.0])
def test_kogut_etsion_by_quadrature(hardness, gap):
    theory = KogutEtsion(E, R, ETA, SIGMA, hardness)
    K = 0.454 + 0.41 * 0.3
    critical = (math.pi * K * hardness / (2.0 * E)) ** 2 * R
    d = gap * SIGMA
    cuts = [0.0, *(c * critical for c in (1.0, 6.0, 110.0) if c * critical < -min(d, 0.0) + 12 * SIGMA)]
    cuts.append(-min(d, 0.0) + 12 * SIGMA)

    def mean(f):
        def integrand(w):
            return f(w) * math.exp(-0.5 * ((d + w) / SIGMA) ** 2) / (SIGMA * math.sqrt(2.0 * math.pi))

        parts = pairwise(cuts)
        return sum(quad(integrand, *part, epsabs=0.0, epsrel=1e-11, limit=400)[0] for part in parts)

    load = 4.0 / 3.0 * E * math.sqrt(R) * critical**1.5
    pressure = ETA * load * mean(lambda w: summit_load(w, critical, K))
    area = ETA * math.pi * R * critical * mean(lambda w: summit_area(w, critical))
    assert theory.pressure(d) == pytest.approx(pressure, rel=1e-7)
    assert theory.area(d) == pytest.approx(area, rel=1e-7)


def test_kogut_etsion_between_hertz_and_hardness():
    elastic, hertz = KogutEtsion(E, R, ETA, SIGMA, hardness=1e15), GreenwoodWilliamson(E, R, ETA, SIGMA)
    np.testing.assert_allclose(elastic.pressure(GAPS), hertz.pressure(GAPS), rtol=1e-8)
    np.testing.assert_allclose(elastic.area(GAPS), hertz.area(GAPS), rtol=1e-8)
    assert elastic.plasticity_index < 1e-3
    plastic = KogutEtsion(E, R, ETA, SIGMA, hardness=1e7)
    np.testing.assert_allclose(plastic.pressure(GAPS), 1e7 * plastic.area(GAPS), rtol=1e-5)
    some = KogutEtsion(E, R, ETA, SIGMA, hardness=2e9)
    index = 2.0 * E / (math.pi * 0.577 * 2e9) * math.sqrt(SIGMA / R)
    assert some.plasticity_index == pytest.approx(index, rel=1e-12)
    # softer summits carry less at equal gap, and ask more area for equal load
    assert (some.pressure(GAPS) < hertz.pressure(GAPS)).all()
    assert (some.area(GAPS) / some.pressure(GAPS) > hertz.area(GAPS) / hertz.pressure(GAPS)).all()


def test_moments_become_summits():
    theory, spheres = (
        build(E, 3e-14, 8e-4, 1.3e9, *more)
        for build, more in ((KogutEtsion.from_moments, (1e15,)), (GreenwoodWilliamson.from_moments, ()))
    )
    gaps = np.array([0.0, 1e-7, 4e-7])
    np.testing.assert_allclose(theory.pressure(gaps), spheres.pressure(gaps), rtol=1e-8)


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"hardness": 0.0}, "hardness = 0.0: must be positive"),
        ({"poisson": 0.6}, r"poisson = 0.6: must lie in \[0, 0.5\]"),
    ],
)
def test_refusals(change, line):
    with pytest.raises(UserError, match=line):
        KogutEtsion(**{"modulus": E, "radius": R, "density": ETA, "height_deviation": SIGMA, "hardness": 1e9, **change})
