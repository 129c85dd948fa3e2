"""Models that run but hardly mean what they say: each is told of in one line that names the cure."""

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import arlequin as aq
from arlequin.models.errors import ModelWarning

STEEL = aq.LinearElastic(young=2e11, poisson=0.3, density=7800)
BLOCK = aq.Solid("a", aq.mesh.rectangle((0.0, 0.1), (0.0, 0.1), cells=(5, 5)), STEEL, plane="strain")
LAW = aq.Unilateral("velocity")


def glued(zone: Any, contact: str = "fine", also: bool = False) -> aq.System:
    coarse = aq.Solid("coarse", aq.mesh.rectangle((0.0, 0.1), (0.0, 0.01), cells=(20, 2)), STEEL, plane="strain")
    fine = aq.Solid("fine", aq.mesh.rectangle((0.04, 0.1), (0.0, 0.01), cells=(60, 10)), STEEL, plane="strain")
    wall = aq.RigidPlane(point=(0.101, 0.0), normal=(-1.0, 0.0))
    names = {contact: coarse if contact == "coarse" else fine} | ({"fine": fine} if also else {})
    touching = [aq.Interface(name, part.boundary("right"), wall, LAW) for name, part in names.items()]
    return aq.System([coarse, fine], [aq.Junction(coarse, fine, zone=zone)], touching, velocity=(10.0, 0.0))


def pair(gap: float, first: str = "right", second: str = "left") -> aq.System:
    other = aq.Solid("b", aq.mesh.rectangle((0.1 + gap, 0.2 + gap), (0.0, 0.1), cells=(5, 5)), STEEL, plane="strain")
    touching = [aq.Interface("c", BLOCK.boundary(first), other.boundary(second), LAW)]
    return aq.System([BLOCK, other], interfaces=touching, velocity={"a": (10.0, 0.0)})


def thrown(speed: float = 10.0) -> aq.System:
    wall = aq.RigidPlane(point=(0.1, 0.0), normal=(-1.0, 0.0))
    touching = [aq.Interface("c", BLOCK.boundary("right"), wall, LAW)]
    return aq.System([BLOCK], interfaces=touching, velocity=(speed, 0.0))


def run(system: aq.System, step: float = 1e-6, scheme: Any = None) -> Any:
    return aq.simulate(system, scheme or aq.Theta(0.5), duration=2 * step, step=step)


@pytest.mark.parametrize(
    ("system", "step", "message"),
    [
        (lambda: glued(aq.Strip(0.04, 0.12)), 1e-6, "'right' of 'fine' lies in the gluing zone of junction 'junction'"),
        (lambda: glued(aq.Strip(0.06, 0.08), "coarse"), 1e-6, "nothing resists there; put the contact on 'fine'"),
        (lambda: pair(-0.03), 1e-6, "face away from each other at the start, or have passed through each other"),
        (lambda: pair(1e-4, "left", "right"), 1e-6, "'left' of 'a' and 'right' of 'b' face away"),
        (lambda: pair(1e-4, "right", "right"), 1e-6, "'right' of 'a' and 'right' of 'b' face away"),
        (thrown, 1e-3, "an impact is not resolved and its energy goes into `impact`; take 3.4e-06 s or less"),
    ],
)
def test_doubtful_models(system: Callable[[], aq.System], step: float, message: str) -> None:
    with pytest.warns(ModelWarning) as found:
        run(system(), step)
    lines = [str(each.message) for each in found if each.category is ModelWarning]
    assert len(lines) == 1 and message in lines[0] and "\n" not in lines[0]


@pytest.mark.parametrize(
    ("system", "step"),
    [
        (lambda: glued(aq.Strip(0.04, 0.08)), 1e-6),
        (lambda: glued(aq.Strip(0.06, 0.08), "coarse", also=True), 1e-6),
        (lambda: pair(1e-4), 1e-6),
        (lambda: pair(1.0), 1e-6),  # far apart, but facing each other
        (thrown, 1e-6),
        (lambda: thrown(0.0), 1e-3),
        (lambda: replace(thrown(), velocity=(0.0, 10.0)), 1e-3),  # along the wall
        (lambda: replace(glued(aq.Strip(0.04, 0.08)), velocity=(1.0, 0.0)), 2.5e-5),  # as long as both parts
    ],
)
def test_usual_models(system: Callable[[], aq.System], step: float) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", ModelWarning)
        run(system(), step)


@pytest.mark.parametrize(("end", "share"), [(0.12, 3 / 4), (0.34, 1 / 5)])
def test_what_the_warning_saves_from(end: float, share: float) -> None:
    """The front of an impact pushes with the share of the part in the gluing zone, and little of the coarse part."""
    impulses = []
    for zone in (aq.Strip(0.04, 0.08), aq.Strip(0.04, end)):
        system = replace(glued(zone), displacement=(1e-3, 0.0))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)
            result = aq.simulate(system, aq.Theta(1.0), duration=2e-8, step=1e-9)
        impulses.append(abs(result["interface/fine"].dataset["force"].values[1:, 0]).mean())
    assert impulses[1] / impulses[0] == pytest.approx(share, abs=0.05)


def test_a_number_is_no_direction() -> None:
    with pytest.raises(aq.UserError, match=r"velocity = 10.0: must give 2 component\(s\) a node of part 'a'"):
        run(aq.System([BLOCK], velocity=10.0))


@pytest.mark.parametrize("material", [aq.LinearElastic(2e11, 0.3), aq.LinearElastic(young=2e11)])
def test_density_is_needed_in_dynamics_alone(material: aq.LinearElastic) -> None:
    mesh = aq.mesh.rectangle((0.0, 0.1), (0.0, 0.1), cells=(2, 2))
    held = aq.Solid("held", mesh, material, plane="strain", imposed={"left": {"x": 0.0, "y": 0.0}})
    with pytest.raises(aq.UserError, match="part 'held': the density of its material must be given in dynamics"):
        run(aq.System([held]))
    run(aq.System([held]), 1.0, aq.Static())
