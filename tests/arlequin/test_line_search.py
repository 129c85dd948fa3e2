"""Changes of Newton's taken in part where whole ones lead nowhere."""

from typing import Any

import numpy as np
import pytest

import arlequin as aq
from arlequin.linalg import line_search
from arlequin.schemes.static import StaticStepper

RUBBER = aq.NeoHooke(2.0, 0.3, 1.5)
STEEL = aq.J2(2e11, 0.3, 7800.0, yield_stress=4e8, hardening=(aq.LinearHardening(2e9), aq.Voce(3e8, 12.0)))


def block(law: Any, high: Any = (1.0, 0.8), cells: Any = (3, 2), **options: Any) -> Any:
    """A solid of finite strain in the plane."""
    mesh = aq.mesh.rectangle((0.0, high[0]), (0.0, high[1]), cells=cells)
    return aq.Solid(mesh=mesh, material=law, **{"name": "block", "plane": "strain", "kinematics": "finite", **options})


def test_the_arctangent_is_solved_from_afar() -> None:
    """Newton's iterations for arctan x = 0 run away from 3; those of the search find 0."""

    def run(start: float, searching: bool) -> float:
        x = start
        for _ in range(20):
            slope, change = 1.0 / (1.0 + x * x), -np.arctan(x) * (1.0 + x * x)

            def left(share: float, x: float = x, slope: float = slope, change: float = change) -> float:
                return abs(np.arctan(x + share * change)) / slope

            x += change * (line_search.search(left, abs(change)) if searching else 1.0)
            if abs(x) > 1e6:
                break
        return abs(x)

    assert run(3.0, searching=False) > 1e6 and run(3.0, searching=True) <= 1e-15
    assert run(20.0, searching=True) <= 1e-15
    # near the root every change is whole
    assert line_search.search(lambda share: (1.0 - share) + 0.1, 1.0) == 1.0
    # where nothing leaves less the search says nothing
    assert line_search.search(lambda share: 100.0, 1.0) == 1.0


def test_changes_that_grow_tenfold_are_patiently_monitored() -> None:
    monitor = line_search.DivergenceMonitor()
    for size in (1.0, 10.0, 0.4, 4.0, 0.3, 0.1):
        assert monitor.smallest(size) == (size not in (10.0, 4.0)) and not monitor.diverging(size)
    assert monitor.diverging(3.0) and monitor.diverging(np.nan)
    stuck = []
    for _ in range(7):
        monitor.smallest(0.09)
        stuck.append(monitor.diverging(0.09))
    assert stuck == [False] * 4 + [True] * 3


def bent(force: float) -> aq.System:
    """A rubber cantilever 10 times as long as thick, under a dead load on its end that grows in 1 s."""
    grows = {"right": lambda x, t: np.stack([0.0 * x[0], force * t + 0.0 * x[0]])}
    return aq.System([block(RUBBER, (4.0, 0.4), (20, 3), imposed={"left": {"x": 0.0, "y": 0.0}}, tractions=grows)])


def sheared(way: float) -> aq.System:
    """Steel between two plates, one of which slides in 1 s."""
    held = {"bottom": {"x": 0.0, "y": 0.0}, "top": {"y": 0.0, "x": lambda t: way * t}}
    return aq.System([block(STEEL, (1.0, 1.0), (8, 8), imposed=held)])


def loads(monkeypatch: Any) -> list[bool]:
    """A list that grows with every load step tried: whether it found an equilibrium."""
    log: list[bool] = []
    advance = StaticStepper.advance

    def counted(self: Any, state: Any) -> Any:
        log.append(False)
        found = advance(self, state)
        log[-1] = True
        return found

    monkeypatch.setattr(StaticStepper, "advance", counted)
    return log


@pytest.mark.slow
@pytest.mark.parametrize("make", [lambda: bent(0.2), lambda: sheared(0.3)], ids=["bent over", "sheared steel"])
def test_one_load_step_finds_what_whole_changes_do_not(make: Any, monkeypatch: Any) -> None:
    """Whole changes need many parts of the step; what is found is, for rubber, what 40 steps find."""
    log = loads(monkeypatch)
    once = aq.simulate(make(), aq.Static(), duration=1.0, step=1.0)
    assert log == [True] and once.attrs["newton_iterations"] <= 20
    log.clear()
    monkeypatch.setattr(line_search.DivergenceMonitor, "diverging", lambda self, size: False)
    cut = aq.simulate(make(), aq.Static(), duration=1.0, step=1.0)
    assert log.count(False) >= 5 and log.count(True) >= 6
    many = aq.simulate(make(), aq.Static(), duration=1.0, step=0.025)
    ends = [run["part/block"].displacement.values[-1] for run in (once, cut, many)]
    size = np.abs(ends[2]).max()
    rubber = "plastic" not in once["energy"].kind
    # the path of flow depends on the steps, that of an elastic body does not
    assert np.abs(ends[0] - ends[2]).max() <= (1e-9 if rubber else 2e-2) * size


def test_contacts_that_close_do_not_hold_the_search_up(monkeypatch: Any) -> None:
    """A block pressed on a slope, node after node: a search in every pass takes no more of them."""
    part = block(RUBBER, (1.0, 1.0), (6, 6), imposed={"top": {"x": 0.0, "y": lambda t: -0.15 * t}})
    slope = aq.RigidPlane(point=(0.0, 0.0), normal=(0.2, 1.0))
    touch = aq.Interface("slope", part.boundary("bottom"), slope, aq.Unilateral(level="gap"), friction=aq.Coulomb(0.3))
    system = aq.System([part], interfaces=[touch])
    plain = aq.simulate(system, aq.Static(), duration=1.0, step=0.5)
    monkeypatch.setattr(line_search.DivergenceMonitor, "diverging", lambda self, size: True)
    monkeypatch.setattr(line_search.DivergenceMonitor, "smallest", lambda self, size: False)
    searched = aq.simulate(system, aq.Static(), duration=1.0, step=0.5)
    status = plain["interface/slope"].status.values
    assert 0 < (status[1] > 0).sum() < (status[2] > 0).sum()
    ends = [run["part/block"].displacement.values[-1] for run in (plain, searched)]
    assert np.abs(ends[0] - ends[1]).max() <= 1e-10
    # one pass a step is made again from where the search begins
    assert searched.attrs["newton_iterations"] <= plain.attrs["newton_iterations"] + 2
