"""A tabulated law: its spline, its energy against quadrature, its step against the definition, bad tables."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.interpolate import PchipInterpolator

from arlequin.models.errors import UserError
from arlequin.multilevel.laws._table_kernels import table_law
from arlequin.multilevel.laws.asperities import Asperities
from arlequin.multilevel.laws.asperity_table import AsperityTable
from arlequin.multilevel.laws.base import RegularLaw
from arlequin.multilevel.solvers.law_tables import PointLaws

pytestmark = pytest.mark.kernels

# a steep and a gentle stretch, at distances that differ
TABLE = AsperityTable([0.0, 1e-6, 1.5e-6, 4e-6, 5e-6], [2e8, 5e7, 4.9e7, 1e6, 1e4])
GAPS = st.floats(-2e-6, 8e-6)


def step(law: AsperityTable, start: float, end: float, theta: float = 0.5, time: float = 1e-6) -> tuple[float, ...]:
    return tuple(table_law(law.coefficients(), np.array([start, 0.0, 0.0]), end, time, theta, np.zeros(3)))


def integral(law: AsperityTable, start: float, end: float) -> float:
    """∫ p dg by adaptive quadrature between the knots."""
    edges = [g for g in (*law.gaps, law.height) if min(start, end) < g < max(start, end)]
    cuts = sorted({start, end, *edges}, reverse=end < start)
    return sum(
        quad(lambda g: float(law.pressure(np.array(g))), a, b, epsabs=0.0, epsrel=1e-13)[0] for a, b in pairwise(cuts)
    )


def test_it_is_a_regular_law() -> None:
    assert isinstance(TABLE, RegularLaw) and "5 values" in repr(TABLE) and hash(TABLE) == hash(TABLE)


def test_spline_goes_through_the_table_and_falls() -> None:
    assert TABLE.pressure(np.array(TABLE.gaps)) == pytest.approx(TABLE.pressures, rel=1e-12)
    g = np.linspace(-3e-6, TABLE.height, 2001)
    p = TABLE.pressure(g)
    assert (np.diff(p) < 0.0).all() and (TABLE.slope(g[:-1]) < 0.0).all()
    assert p[-1] == 0.0 and not TABLE.pressure(np.array([TABLE.height, 1.0])).any()
    slope = (TABLE.pressure(g + 1e-12) - TABLE.pressure(g - 1e-12)) / 2e-12
    assert np.abs(TABLE.slope(g) - slope).max() <= 1e-4 * np.abs(slope).max()
    # within the table the spline is SciPy's, whose end slopes alone may differ
    pchip = PchipInterpolator(TABLE.gaps, np.log(TABLE.pressures))
    inner = np.linspace(TABLE.gaps[1], TABLE.gaps[3], 301)
    assert np.log(TABLE.pressure(inner)) == pytest.approx(pchip(inner), rel=1e-12)


@given(GAPS)
def test_energy_is_the_integral_of_the_pressure(gap: float) -> None:
    exact = integral(TABLE, gap, TABLE.height) if gap < TABLE.height else 0.0
    assert float(TABLE.energy(np.array(gap))) == pytest.approx(exact, rel=1e-12, abs=1e-300)


@given(GAPS, GAPS)
def test_a_step_stores_what_it_takes(start: float, end: float) -> None:
    """Mean pressure × path is the change of the energy; the derivative by the end is that of the mean."""
    mean, slope, lost, _ = step(TABLE, start, end)
    before, after = (float(TABLE.energy(np.array(g))) for g in (start, end))
    assert mean * (start - end) == pytest.approx(after - before, rel=1e-12, abs=4e-15 * (before + after))
    assert lost == 0.0
    if abs(end - start) > 1e-9:
        after = float(TABLE.pressure(np.array(end)))
        assert slope == pytest.approx((after - mean) / (end - start), rel=1e-6, abs=1e-9 * max(after, mean) / 1e-9)


def test_short_steps_lose_no_digits() -> None:
    for start in (-1e-6, 0.5e-6, 1e-6, 4.5e-6, 5.001e-6):
        for width in (0.0, 1e-20, -1e-16, 1e-13):
            mean, slope, _, _ = step(TABLE, start, start + width)
            middle = np.array(start + 0.5 * width)
            assert mean == pytest.approx(float(TABLE.pressure(middle)), rel=1e-9)
            if start not in TABLE.gaps:
                assert slope == pytest.approx(0.5 * float(TABLE.slope(middle)), rel=1e-6)


def test_weights_of_the_scheme() -> None:
    start, end = 3e-6, 0.7e-6
    mean = step(TABLE, start, end)[0]
    assert step(TABLE, start, end, 1.0)[0] == pytest.approx(float(TABLE.pressure(np.array(end))), rel=1e-13)
    assert step(TABLE, start, end, 0.0)[0] == pytest.approx(float(TABLE.pressure(np.array(start))), rel=1e-13)
    assert step(TABLE, start, end, 0.75)[0] == pytest.approx(
        0.5 * mean + 0.5 * float(TABLE.pressure(np.array(end))), rel=1e-13
    )


def test_loss_is_that_of_the_factor() -> None:
    """Small harmonic motion: over the closing half of a cycle η/2 of π ½ K u² · 2, and nothing while it opens."""
    law = AsperityTable(TABLE.gaps, TABLE.pressures, loss_factor=0.1, frequency=50.0)
    at, size, count = 2.5e-6, 1e-10, 2000
    g = at + size * np.cos(np.linspace(0.0, 2.0 * np.pi, count + 1))
    lost = [step(law, a, b, time=0.02 / count)[2] * (a - b) for a, b in pairwise(g)]
    stiffness = -float(law.slope(np.array(at)))
    # of a dashpot c = η K/ω: π c ω u² a cycle, here its closing half
    assert sum(lost) == pytest.approx(0.5 * np.pi * 0.1 * stiffness * size**2, rel=1e-3)
    assert min(lost) >= 0.0 and not any(lost[count // 2 + 1 :])
    rate = np.array([-1e-3, 1e-3])
    damped = law.damping_pressure(np.array([at, at]), rate)
    assert damped == pytest.approx([0.1 / (2 * np.pi * 50.0) * stiffness * 1e-3, 0.0], rel=1e-12)


def test_stiffness_bound() -> None:
    g = np.linspace(-3e-6, 8e-6, 20001)
    largest = -TABLE.slope(g).min()
    assert largest <= TABLE.stiffness_bound() <= 3.0 * largest


def test_a_table_of_a_power_law_acts_as_that_law() -> None:
    law = Asperities(1e17, 1.7, 1e-5)
    g = 1e-5 * (1.0 - np.geomspace(1.0, 1e-4, 60))
    table = AsperityTable(g, law.pressure(g))
    between = np.linspace(0.0, 0.999e-5, 777)
    assert table.pressure(between) == pytest.approx(law.pressure(between), rel=1e-3)
    assert table.energy(between) == pytest.approx(law.energy(between), rel=1e-3)
    assert table.height == pytest.approx(1e-5, rel=1e-3)


def test_laws_of_different_lengths_share_one_list() -> None:
    laws = PointLaws.gather([(Asperities(1e12), TABLE), (TABLE,), ()], np.ones(3))
    gaps = np.array([1e-6, 2e-6, 0.0])
    assert laws.coefficients.shape == (3, TABLE.coefficients().size) and laws.kernels[1].tolist() == [0, 1, 1]
    assert laws.pressure(gaps)[1] == pytest.approx(float(TABLE.pressure(gaps[1])))
    assert laws.pressure(gaps)[2] == 0.0


@pytest.mark.parametrize(
    ("gaps", "pressures", "match"),
    [
        ([0.0, 1.0], [1.0], r"pressures = '1 values': needs one for each of 2"),
        ([0.0, 0.0], [2.0, 1.0], r"gaps: must be finite and grow"),
        ([0.0, np.nan], [2.0, 1.0], r"gaps = .*: must be finite numbers"),
        ([0.0, 1.0], [1.0, 2.0], r"pressures: must be positive and fall"),
        ([0.0, 1.0], [1.0, 0.0], r"pressures: must be positive and fall"),
    ],
)
def test_bad_tables(gaps: list[float], pressures: list[float], match: str) -> None:
    with pytest.raises(UserError, match=match):
        AsperityTable(gaps, pressures)
    with pytest.raises(UserError, match="loss_factor"):
        AsperityTable(TABLE.gaps, TABLE.pressures, loss_factor=-1.0)
