"""Loads and supports that one of two glued parts has and the other one lacks."""

import itertools
import warnings

import numpy as np
import pytest

import arlequin as aq
from arlequin.models.errors import ModelWarning

STEEL = aq.LinearElastic(young=2e11, poisson=0.3, density=7800.0)
PULL = {"top": lambda x, t: (0.0, 1e6 * t)}
HOLD = {"bottom": {"y": 0.0}}


def glued(coarse, fine, kind="quad"):
    """A plate and a patch of its whole height inside, with what acts on each."""
    plate, patch = (
        aq.Solid(name, aq.mesh.rectangle(x, (0.0, 0.4), cells=cells, kind=kind), STEEL, plane="stress", **acts)
        for name, x, cells, acts in (("plate", (0, 1), (10, 4), coarse), ("patch", (0.3, 0.7), (8, 8), fine))
    )
    return aq.System([plate, patch], [aq.Junction(plate, patch, zone=aq.zones.Box(width=0.1))])


def told(system, scheme=None):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", ModelWarning)
        result = aq.simulate(system, scheme or aq.Theta(0.5), duration=1.0, step=1.0)
    return [str(item.message) for item in found if "both" in str(item.message)], result


SIDE, LOAD = {"left": {"x": 0.0}}, {"tractions": PULL}
CASES = [
    ({"tractions": PULL}, {}, "'plate' has a traction on 'top' where 'patch' shares"),
    ({}, {"tractions": PULL}, "'patch' has a traction on 'top' where 'plate' shares"),
    ({"imposed": HOLD}, {}, "'plate' is held along y on 'bottom' where 'patch' shares"),
    ({"imposed": HOLD}, {"imposed": {"bottom": {"x": 0.0, "y": 0.0}}}, "'patch' is held along x on 'bottom'"),
    ({"imposed_velocity": HOLD}, {}, "'plate' is held along y"),
    ({"body_force": (0.0, 1.0)}, {}, "'plate' has a body force, 'patch' has none"),
]


@pytest.mark.sampled(7)
@pytest.mark.parametrize(("coarse", "fine", "says"), CASES)
@pytest.mark.parametrize("kind", ["quad", "tri"])
def test_what_one_part_has_alone_is_told(coarse, fine, says, kind):
    lines, _ = told(glued(coarse, fine, kind))
    assert len(lines) == 1 and lines[0].startswith(f"junction 'junction': {says}")


@pytest.mark.parametrize("acts", [{"tractions": PULL}, {"imposed": HOLD}, {"body_force": (0.0, 1.0)}])
def test_what_both_have_is_not(acts):
    assert told(glued(acts, acts))[0] == []


def test_what_acts_away_from_the_other_part_is_not():
    away = {"tractions": {"right": (1.0, 0.0)}, "imposed": {"left": {"x": 0.0, "y": 0.0}}}
    assert told(glued(away, {}))[0] == []


@pytest.mark.filterwarnings("ignore::arlequin.models.errors.ModelWarning")
def test_the_lost_load_is_the_share_of_the_other_part():
    """The plate has the weight 1 on 0.6 m of 1 m, and falls to 0 over two bands of 0.1 m: 0.7 m in all."""
    hold = {"imposed": {"left": {"x": 0.0}, "bottom": {"y": 0.0}}}
    for fine, length in (({"imposed": HOLD}, 0.7), ({"imposed": HOLD, **LOAD}, 1.0)):
        system = glued(hold | LOAD, fine)
        _, result = told(system, aq.Static())
        reactions = [result[f"part/{name}/reaction"][-1].sel(support="bottom", component="y") for name in system.names]
        assert sum(map(float, reactions)) == pytest.approx(-1e6 * length, rel=1e-9)


@pytest.mark.parametrize(("axes", "both"), list(itertools.product([1, 3], [False, True])))
def test_on_a_line_and_in_space(axes, both):
    if axes == 1:
        coarse = aq.Bar("coarse", aq.mesh.interval(0.0, 1.0, 10), STEEL, tractions={"right": 1e6})
        fine = aq.Bar("fine", aq.mesh.interval(0.6, 1.0, 20), STEEL, tractions={"right": 1e6} if both else {})
    else:
        top = {"tractions": {"top": (0.0, 1.0, 0.0)}}
        mesh = aq.mesh.box((0, 1), (0, 0.2), (0, 0.2), cells=(10, 2, 2))
        coarse = aq.Solid("coarse", mesh, STEEL, **top)
        mesh = aq.mesh.box((0.6, 1), (0, 0.2), (0, 0.2), cells=(8, 4, 4))
        fine = aq.Solid("fine", mesh, STEEL, **(top if both else {}))
    system = aq.System([coarse, fine], [aq.Junction(coarse, fine, zone=aq.zones.Box(width=0.2))])
    lines, _ = told(system)
    assert len(lines) == (0 if both else 1) and np.all(["traction" in line for line in lines])
