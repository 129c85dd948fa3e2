"""Contact never makes energy: sliders, colliding balls and random runs with moving contact.

`tests/energy_runs.py`, `tests/ball_runs.py` and `tests/random_contact.py` make and measure the runs, and print them.
"""

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

GAIN = 1e-10  # of the energy, in a run
FALL = 1e-12  # of the energy, of a dissipation in a step
# of each of them `impact` fell while contact closed n·v at the end of the step alone; (scene, body, scheme) differ
SEEDS = (
    2, 7, 15, 21, 23, 28, 36, 41, 43, 44, 50, 54, 56, 58, 65, 69, 71, 73, 74, 82, 85, 86, 88, 90, 92, 95, 98, 99, 100,
    102, 103, 104, 105, 106, 107, 116, 118, 124, 130, 139, 140, 141, 154, 156, 158,
)  # fmt: skip
QUICK = slice(None, None, 4)  # of the seeds; the others are in the slow set
LAYERS = (10, 114, 115, 145, 701, 839)  # the energy of asperities jumped where partners change
SLIDERS = ("bent", "bent-nodes", "bent-P0", "flat", "circle-bent", "wavy", "scheme-newmark", "scheme-alpha")


@pytest.fixture(scope="module")
def tools() -> Iterator[tuple[ModuleType, ModuleType, ModuleType]]:
    """The modules that make and measure runs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path(__file__).resolve().parent.parent))
        import ball_runs
        import energy_runs
        import random_contact

        yield energy_runs, ball_runs, random_contact


def check(measures: Any, who: Any) -> None:
    """No energy made by contact, and no dissipation that falls."""
    assert measures.gain <= GAIN, (str(who), measures.gain)
    check_dissipations(measures, who)


def check_dissipations(measures: Any, who: Any) -> None:
    """What `scheme` has counted, contact makes nothing of."""
    assert measures.made <= GAIN, (str(who), measures.made)
    assert max(measures.fall.values(), default=0.0) <= FALL, (str(who), measures.fall)
    assert measures.balance <= 1e-10


def check_case(case: Any, measures: Any) -> None:
    """As `check`; generalised-α's own energy, which it bounds, is not that of its displacements and velocities. With a
    conserving scheme and no layers what is there never grows, at any instant."""
    if case.words["scheme"] in ("hht", "alpha"):
        assert measures.gain <= 1e-3, (str(case), measures.gain)
        check_dissipations(measures, case)
    else:
        check(measures, case)
    if case.words["scheme"] in ("theta 0.5", "newmark") and "layer" not in case.words["law"]:
        assert measures.rise <= GAIN, (str(case), measures.rise)
        assert measures.scheme <= FALL, (str(case), measures.scheme)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", SLIDERS)
def test_sliders(name: str, tools: Any) -> None:
    check(tools[0].run(tools[0].CASES[name]())[1], name)


@pytest.mark.slow
def test_every_slider(tools: Any) -> None:
    for name, study in tools[0].CASES.items():
        check(tools[0].run(study())[1], name)


def test_gliding_without_a_strike_costs_little(tools: Any) -> None:
    """A flat face that starts in its steady motion: 1e-3 of the energy in 93 steps at Courant 10."""
    measures = tools[0].run(tools[0].CASES["glide-flat"]())[1]
    check(measures, "glide-flat")
    assert measures.loss <= 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("friction", [0.1, pytest.param(0.0, marks=pytest.mark.slow)])
@pytest.mark.parametrize("psi", [3.0, *(pytest.param(psi, marks=pytest.mark.slow) for psi in (0.7, 2.0, 6.0))])
def test_two_balls(psi: float, friction: float, tools: Any) -> None:
    """Bounded and, with like meshes, mirrored where slave and master change places; momentum kept."""
    balls = tools[1]
    found = [balls.run(balls.collision(psi, friction, slave=slave, turned=0.0))[1] for slave in ("first", "second")]
    for one in found:
        check(one.measures, (psi, friction))
        assert one.linear <= 1e-13
        assert 1.9 < one.rebound < 2.02
    a, b = found
    assert a.rebound == pytest.approx(b.rebound, rel=1e-9) and a.spins == pytest.approx(b.spins[::-1], rel=1e-6)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "seed",
    [pytest.param(n, marks=() if n in SEEDS[QUICK] + LAYERS[::2] else pytest.mark.slow) for n in SEEDS + LAYERS],
)
def test_random_runs(seed: int, tools: Any) -> None:
    one = tools[2].outcome(seed)
    assert one.measures is not None, one.refused
    check_case(one.case, one.measures)


@pytest.mark.slow
def test_random_runs_of_every_triple_of_words(tools: Any) -> None:
    """Of scene, body, scheme, mass, cells, master, law, friction and multiplier, as a thousand seeds have them. Those
    that are refused (not converged) say so; they are few, and none because of what the step would make."""
    seeds = tools[2].COVERING
    found = [tools[2].outcome(seed) for seed in seeds]
    for one in found:
        assert "would create energy" not in one.refused, (str(one.case), one.refused)
        if one.measures is not None:
            check_case(one.case, one.measures)
    assert sum(one.measures is None for one in found) <= 0.02 * len(seeds)
    assert sum(one.measures is not None and one.measures.active > 0.0 for one in found) >= 0.9 * len(seeds)
