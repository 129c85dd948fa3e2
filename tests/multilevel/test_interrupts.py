"""Compiled loops end where the handler of a signal raises, and every one of them has a bound."""

import signal
import time

import numpy as np
import pytest

from arlequin.cases.reference.interface import penalty, touch
from arlequin.cases.reference.rods import Rod
from arlequin.multilevel.laws._table_kernels import table_law
from arlequin.multilevel.laws.asperity_table import AsperityTable
from arlequin.multilevel.laws.unilateral import Unilateral
from arlequin.multilevel.solvers.contact import solve_contact
from arlequin.multilevel.solvers.law_tables import PointLaws
from arlequin.multilevel.solvers.options import ContactMethod
from arlequin.multilevel.solvers.problem import FreeMotion

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer that sends signals")


class Rang(Exception):
    """What the handler raises."""


@pytest.fixture
def alarm():
    """alarm(seconds): the signal comes after so long."""

    def ring(*_):
        raise Rang

    usual = signal.signal(signal.SIGALRM, ring)
    yield lambda seconds: signal.setitimer(signal.ITIMER_REAL, seconds)
    signal.setitimer(signal.ITIMER_REAL, 0.0)
    signal.signal(signal.SIGALRM, usual)


def long_contact(iterations=20000):
    """Points on a string, pressed together: Gauss–Seidel takes some points² sweeps of points² operations."""
    points = 400
    place = 1.0 + np.arange(points)
    delassus = np.minimum(place[:, None], place) / points
    laws = PointLaws.gather([(Unilateral("gap"),)] * points, np.ones(points))
    closed, none = np.ones(points, dtype=bool), np.zeros(points)
    gap = -place * (2.0 * points - place) / points**2
    motion, method = FreeMotion(delassus, 1.0, gap, gap, closed, 1.0, 0.5, 1.0), ContactMethod("gauss-seidel")
    return solve_contact(laws, motion, np.zeros((points, 3)), none, method, max_iterations=iterations)


def timed(call, alarm, seconds):
    alarm(seconds)
    begin = time.monotonic()
    with pytest.raises(Rang):
        call()
    return time.monotonic() - begin - seconds


def test_the_contact_of_a_step_hears(alarm):
    long_contact(2)  # compiled
    assert timed(long_contact, alarm, 0.2) < 0.2


def test_a_reference_hears(alarm):
    rod = Rod(0.1, 2e11, 7800.0, 10.0)
    touch(rod, None, penalty(1e13), 1e-5, 1e-5)  # compiled
    assert timed(lambda: touch(rod, None, penalty(1e13), 1e-5, 10.0), alarm, 0.2) < 0.2


def test_a_table_of_no_gap():
    table = AsperityTable([0.0, 1e-6, 2e-6], [1e9, 1e-90, 1e-100])
    trial = np.zeros(3)
    for start, end in [(np.nan, 1e-6), (1e-6, np.nan), (np.nan, np.nan)]:
        history = np.array([start, 0.0, 0.0])
        assert np.isnan(table_law(table.coefficients(), history, end, 1e-6, 0.5, trial)[0])
    assert table_law(table.coefficients(), np.array([np.inf, 0.0, 0.0]), np.inf, 1e-6, 0.5, trial)[0] == 0.0
