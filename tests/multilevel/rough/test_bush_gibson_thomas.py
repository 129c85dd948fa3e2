"""Elliptic summits against a sum over ellipses and the limit of large gaps."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ellipe, ellipk

from arlequin.models.errors import UserError
from arlequin.multilevel.rough.bush_gibson_thomas import BushGibsonThomas


def above(f, d, deviation=1.0):
    """∫_0^∞ f(ω) φ(d + ω) dω of N(0, deviation²), ω = x² as f has a root at 0."""

    def integrand(x):
        return 2.0 * x * f(x * x) * math.exp(-0.5 * ((d + x * x) / deviation) ** 2)

    middle = math.sqrt(max(-d, 0.0))
    top = math.sqrt(max(-d, 0.0) + 12.0 * deviation)
    parts = [(0.0, middle), (middle, top)] if middle else [(0.0, top)]
    total = sum(quad(integrand, *part, epsabs=0.0, epsrel=1e-12, limit=400)[0] for part in parts)
    return total / (deviation * math.sqrt(2.0 * math.pi))


@pytest.mark.parametrize("gap", [-0.5, 1.2, 3.0])
def test_bush_gibson_thomas_by_summing_ellipses(gap):
    """The summits one by one: ellipses by Johnson's K and E, shapes between edges of cells in t, heights by quad."""
    m0, m2, m4 = 3.0, 0.8, 1.3
    b = np.linspace(1e-6, 1.0 - 1e-5, 4001)

    def elongation(b):
        m = 1.0 - b**2
        return ((2.0 - m) * ellipe(m) - 2.0 * (1.0 - m) * ellipk(m)) / (m * ellipe(m))

    edges, middle = elongation(b), 0.5 * (b[1:] + b[:-1])
    t, dt, m = elongation(middle), -np.diff(edges), 1.0 - middle**2
    first, second = ellipk(m), ellipe(m)
    curvature = np.linspace(0.0, 8.0 * math.sqrt(m4), 161)[1:]
    area = load = 0.0
    for C in curvature:
        # p0/E* = C b'/E of the minor half axis b', δ = C b'² K/E: half axes for δ = 1
        minor = np.sqrt(second / (C * first))
        major = minor / middle
        peak = C * minor / second
        density = (C**2 * (1.0 - t**2)) / (2.0 * math.pi * m2) * 3.0 * C**2 * t / m4 * np.exp(-1.5 * C**2 * t**2 / m4)
        density *= dt * math.exp(-0.75 * C**2 / m4) / math.sqrt(4.0 / 3.0 * math.pi * m4) * curvature[0]
        mean, spread = 1.5 * C * m2 / m4, math.sqrt(m0 - 1.5 * m2**2 / m4)
        area += density @ (math.pi * minor * major) * above(lambda w: w, gap - mean, spread)
        load += density @ (2.0 / 3.0 * math.pi * minor * major * peak) * above(lambda w: w**1.5, gap - mean, spread)
    theory = BushGibsonThomas(2.5, m0, m2, m4)
    assert theory.area(gap) == pytest.approx(area, rel=2e-5)
    assert theory.pressure(gap) == pytest.approx(2.5 * load, rel=2e-5)


@pytest.mark.parametrize("bandwidth", [1.6, 3.0])
def test_bush_gibson_thomas_at_large_gaps(bandwidth):
    """A/A₀ → √(2π) p/(E* h'rms), by extrapolation in 1/gap²."""
    theory = BushGibsonThomas(1.0, bandwidth, 1.0, 1.0)
    gap = math.sqrt(bandwidth) * np.array([7.0, 10.0, 14.0])
    kappa = math.sqrt(2.0) * theory.area(gap) / theory.pressure(gap)
    assert (kappa < math.sqrt(2.0 * math.pi)).all() and (np.diff(kappa) > 0.0).all()
    limit = np.polyfit(gap**-2, kappa, 2)[-1]
    assert limit == pytest.approx(math.sqrt(2.0 * math.pi), rel=2e-3)
    assert limit == pytest.approx(math.sqrt(2.0 * math.pi), abs=0.1 * (math.sqrt(2.0 * math.pi) - kappa[-1]))


def test_refusals():
    with pytest.raises(UserError, match=r"m0 m4/m2² = 1\.4 must be above 3/2"):
        BushGibsonThomas(1.0, 1.0, 1.0, 1.4)
