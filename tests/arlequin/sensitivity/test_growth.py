"""Growth of small changes: an impact oscillator, m = k = 1, load cos ωt, stop at rest position, e = 0.8."""

from functools import partial

import numpy as np
import pytest
from scipy.optimize import brentq

import arlequin as aq

REGULAR, CHAOTIC = [1.7, 2.5], 2.8  # rad/s
OF = {"moving": aq.Response("energy/kinetic", "mean")}
METHODS = ["tangent", "adjoint"]


def hammer(speed, frequency, periods, law=None, per=200):
    mass = aq.PointMasses("mass", 0.0, 1.0, names={"it": 0}, forces={"it": lambda t: np.cos(frequency * t)})
    wall = aq.RigidPlane(point=(0.0,), normal=(1.0,))
    stop = aq.Interface("stop", mass.boundary("all"), wall, law or aq.Unilateral(restitution=0.8))
    held = aq.Spring("held", mass.boundary("all"), stiffness=1.0)
    period = 2.0 * np.pi / frequency
    system = aq.System([mass], interfaces=[stop], springs=[held], velocity=(speed,))
    return aq.Study(system, aq.Theta(0.5), duration=periods * period, step=period / per)


def exact(speed, frequency, times):
    """x, v at the times, from impact to impact."""
    begin, x, v, out = 0.0, 0.0, speed, []
    size, step = 1.0 / (1.0 - frequency**2), times[1] - times[0]

    def at(t):
        c, s = x - size * np.cos(frequency * begin), v + size * frequency * np.sin(frequency * begin)
        d = t - begin
        place = c * np.cos(d) + s * np.sin(d) + size * np.cos(frequency * t)
        return place, -c * np.sin(d) + s * np.cos(d) - size * frequency * np.sin(frequency * t)

    while True:
        grid = begin + 1e-9 + np.arange(0.0, times[-1] + step - begin, 0.5 * step)
        inside = np.flatnonzero(at(grid)[0] < 0.0)
        strike = brentq(lambda t: at(t)[0], *grid[inside[0] - 1 : inside[0] + 1]) if inside.size else np.inf
        out += [at(t) for t in times[len(out) :][times[len(out) :] < strike]]
        if len(out) == len(times):
            return np.array(out)
        x, v, begin = 0.0, -0.8 * at(strike)[1], strike


def growth_of_the_exact_motion(frequency, periods, per):
    """Of starts that differ by 1e-9, by the same medians."""
    times = 2.0 * np.pi / frequency / per * np.arange(1, periods * per + 1)
    change = np.hypot(*(exact(1.0 + 1e-9, frequency, times) - exact(1.0, frequency, times)).T)
    pieces = np.median(change.reshape(10, -1), axis=1)
    return max(1.0, *(pieces[j] / pieces[:j].min() for j in range(1, 10)))


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("frequency", REGULAR)
def test_growth_is_that_of_neighbouring_motions(frequency, method):
    study = partial(hammer, frequency=frequency, periods=11, per=400)
    found = aq.gradient(study, OF, {"speed": 1.0}, method=method, progress=False)
    assert found.attrs["growth"] == pytest.approx(growth_of_the_exact_motion(frequency, 11, 400), rel=0.016)


def refused(study, method):
    with pytest.raises(aq.UserError, match="neighbouring runs part"):
        aq.gradient(study, OF, {"speed": 1.0}, method=method, progress=False)
    found = aq.gradient(study, OF, {"speed": 1.0}, method=method, events=False, progress=False)
    assert found.attrs["growth"] == 1.0  # not asked for


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_a_run_whose_neighbours_part_is_refused(method):
    assert growth_of_the_exact_motion(CHAOTIC, 24, 200) > 500.0
    refused(partial(hammer, frequency=CHAOTIC, periods=24), method)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("method", METHODS)
def test_runs_on_layers_part_without_events(method):
    study = partial(hammer, frequency=2.65, periods=24, law=aq.Penalty(1e3))
    one, other = (study(speed).run(progress=False)["part/mass/velocity"][-200:, 0, 0] for speed in (1.0, 1.0 + 1e-9))
    assert np.abs(one - other).max() > 1e3 * 1e-9
    refused(study, method)


def test_a_resonance_is_no_growth():
    """Without damping, beside a layer too soft to matter: the motion grows to 40 times its start."""
    study = partial(hammer, frequency=1.0 + 1e-9, periods=40, law=aq.Penalty(1e-6))
    found = aq.gradient(study, OF, {"speed": 1.0}, progress=False)
    assert found.attrs["growth"] == pytest.approx(1.0, abs=1e-8)
