"""Models that run but hardly mean what they say: each is told of in one line that names the cure."""

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
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
    assert {each.filename for each in found} == {__file__}, "at the line that runs the model"


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
    with pytest.raises(aq.UserError, match=r"velocity = 10.0: must give 2 components at each node of part 'a'"):
        run(aq.System([BLOCK], velocity=10.0))


SQUARE = aq.mesh.rectangle((0.0, 0.1), (0.0, 0.1), cells=(2, 2))
HELD = {"left": {"x": 0.0, "y": 0.0}}
PULL = {"right": lambda x, t: (1e6 * t, 0.0)}
HOOKE, RUBBER = aq.LinearElastic(2e11, 0.3), aq.NeoHooke(1e9, 0.3)
BEAM = aq.Beam.between(
    "held", (0.0, 0.0), (1.0, 0.0), 2, HOOKE, aq.Section.circle(0.01),
    imposed={"left": dict.fromkeys(("x", "y", "rz"), 0.0)}, end_loads={"right": lambda t: (0.0, t)},
)  # fmt: skip
PARTS = {
    "bar": aq.Bar(
        "held", aq.mesh.interval(0, 1, cells=6), aq.LinearElastic(2e11), imposed={"left": {"x": 0.0}},
        tractions={"right": lambda x, t: t},
    ),
    "beam": BEAM,
    "solid": aq.Solid("held", SQUARE, HOOKE, plane="strain", imposed=HELD, tractions=PULL),
    "finite": aq.Solid("held", SQUARE, HOOKE, plane="strain", kinematics="finite", imposed=HELD, tractions=PULL),
    "rubber": aq.Solid("held", SQUARE, RUBBER, plane="strain", kinematics="finite", imposed=HELD, tractions=PULL),
    "modal": aq.Modal(aq.Solid("held", SQUARE, HOOKE, plane="strain", imposed=HELD, tractions=PULL), 4),
}  # fmt: skip


def with_density(part: Any, density: float) -> Any:
    if isinstance(part, aq.Modal):
        return replace(part, part=with_density(part.part, density))
    return replace(part, material=replace(part.material, density=density))


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
def test_statics_without_gravity_needs_no_density(part: Any) -> None:
    """And its result does not depend on it."""
    one, other = (
        run(aq.System([own], gravity=gravity), 1.0, aq.Static())["part/held/displacement"].values
        for own, gravity in ((part, None), (with_density(part, 7800.0), (0.0,) * part.positions.shape[1]))
    )
    assert abs(one).max() > 0.0 and one == pytest.approx(other, rel=1e-9, abs=1e-9 * abs(one).max())


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
def test_the_density_is_needed_where_mass_acts(part: Any) -> None:
    down = -9.81 if part.positions.shape[1] == 1 else (0.0, -9.81)
    with pytest.raises(aq.UserError, match="part 'held': the density of its material must be given in dynamics, kg/m³"):
        run(aq.System([part]))
    with pytest.raises(aq.UserError, match="part 'held': the density of its material must be given where gravity acts"):
        run(aq.System([part], gravity=lambda t: np.multiply(t, down)), 1.0, aq.Static())
    with pytest.raises(aq.UserError, match="part 'held': the density of its material must be given for natural freq"):
        aq.natural_frequencies(aq.System([part]), count=1)
    # a density of 1 that was given counts
    given = with_density(part, 1.0)
    run(aq.System([given], gravity=lambda t: np.multiply(t, down)), 1.0, aq.Static())
    assert aq.natural_frequencies(aq.System([given]), count=1).frequencies[0] > 0.0
