"""The drop of a control rod at small size: ballistics, the brake, laws and schemes, figures; in full (slow)."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import xarray

from arlequin.cases.reference.ballistic import FreeFall
from arlequin.cases.rod_drop import Parameters, build, check, drop_time, fall, figures
from arlequin.cases.rod_drop import plots as drop_figures
from arlequin.cases.rod_drop.measures import ContactPhases
from arlequin.models.errors import UserError

SMALL = Parameters(length=0.8, pitch=0.2, guides=9, cells=12, duration=0.06, drop=0.5, step=1.5e-4, fields_every=1)


@cache
def ran(parameters):
    """A run, once for all tests that look at it."""
    return build(parameters).run()


def failed(result, parameters):
    return [c.name for c in check(result, parameters) if not c.passed]


def slow(**changes):
    return pytest.param(changes, marks=pytest.mark.slow)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "changes",
    [
        slow(),
        {"top_mass": 0.5, "duration": 0.052},
        slow(scheme="newmark"),
        {"law": "shock", "thickness": None, "duration": 0.052},
    ],
)
def test_straight_fall_is_ballistic(changes):
    p = replace(SMALL, misalignment=3e-4, friction=0.3, **changes)
    result = build(p).run()
    assert failed(result, p) == []
    # 10 t + 4.905 t² = 0.5
    assert drop_time(result, 0.5) == pytest.approx((-10 + np.sqrt(100 + 4 * 4.905 * 0.5)) / 9.81, rel=1e-9)
    time, _, speed = fall(result)
    assert speed == pytest.approx(10.0 + 9.81 * time, rel=1e-9)
    assert not result["interface/cards/force"].values.any()


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "changes",
    [
        {},
        slow(top_mass=0.5),
        slow(law="shock"),
        {"scheme": "newmark", "law": "gap"},
        slow(scheme="newmark"),
    ],
)
def test_misaligned_cards_brake(changes):
    p = replace(SMALL, **changes)
    result = ran(p)
    assert failed(result, p) == []
    free = FreeFall(p.velocity, p.gravity)
    assert drop_time(result, p.drop) > free.time(p.drop) * 1.001
    cards = result["interface/cards"].dataset
    assert np.count_nonzero(cards["pressure"].values.any(axis=0)) >= 2
    # without friction less brakes: impacts alone
    slick = build(replace(p, friction=0.0)).run()
    assert free.speed(p.duration) > fall(slick)[2][-1] > fall(result)[2][-1]
    assert float(result["energy"].sel(kind="friction")[-1]) > 0.1


def test_the_rod_starts_in_line_and_reaches_every_card():
    p = SMALL
    heights = p.centres[:, 2]
    assert not p.centres[heights > 0.0, :2].any()
    assert np.linalg.norm(p.centres[heights < -0.05, :2], axis=1) == pytest.approx(p.misalignment)
    result = ran(p)
    gap = result["interface/cards/gap"].values
    assert gap[0][heights > 0.0] == pytest.approx(p.clearance) and not np.isfinite(gap[0][heights < 0.0]).any()


def test_velocity_law_does_not_flip():
    """θ = 1/2 on the gap flips; by the velocity law fewer spells reopen, they last longer and forces vary less."""
    found = {}
    for law in ("velocity", "gap"):
        p = replace(SMALL, law=law, guides=10, duration=0.09)
        result = build(p).run()
        found[law] = ContactPhases.of(result, p.step)
        assert law == "gap" or not failed(result, p)
    assert found["gap"].reopened > 1.4 * found["velocity"].reopened
    assert found["velocity"].mean > 1.5 * found["gap"].mean
    assert found["velocity"].variation < found["gap"].variation


def test_spells_by_hand():
    """Three cards, one of them never pressed."""
    force = np.zeros((12, 3))
    force[2:5, 0], force[6, 0], force[10:, 0] = (4.0, 6.0, 2.0), 3.0, (1.0, 5.0)
    force[3:9, 2] = 8.0
    cards = xarray.Dataset({"point_force": (("time", "point"), force)})
    found = ContactPhases.of(xarray.DataTree.from_dict({"interface/cards": cards}), 0.1)
    # card 0: openings of 1 and 3 steps; it goes up by 6, 3 and 5 and down by 6 and 3, card 2 up and down by 8
    assert (found.cards, found.count, found.openings, found.largest) == (2, 4, 2, 8.0)
    assert (found.mean, found.reopened) == pytest.approx((0.3, 0.5))
    assert found.variation == pytest.approx(0.5 * (23.0 + 16.0) / 14.0)
    empty = xarray.DataTree.from_dict({"interface/cards": 0.0 * cards})
    assert ContactPhases.of(empty, 0.1).count == ContactPhases.of(empty, 0.1).cards == 0


def test_a_nose_that_lands_on_a_card_is_found():
    """The tip strays by more than clearance and depth of the nose: it is in the metal when it meets the card."""
    p = replace(SMALL, misalignment=1.5e-3, duration=0.03, drop=0.25)
    assert "penetration into a card over its limit" in failed(build(p).run(), p)


@pytest.mark.slow
def test_figures(tmp_path):
    p = replace(SMALL, duration=0.03, drop=0.25)
    result = ran(p)
    drawn = figures(result, p)
    assert list(drawn) == ["energies", "fall", "forces", "first_contacts", "orbit", "cards"]
    for name, figure in drawn.items():
        figure.savefig(tmp_path / f"{name}.png", dpi=60)
    panels = drawn["first_contacts"].axes
    assert [axes.get_title("left").split(",")[0] for axes in panels] == ["velocity", "gap", "gap", "shock element"]
    # steps, drawn over the time at which they end
    shown = result["interface/cards/point_force"].values[:, drop_figures.busiest(result)]
    assert set(panels[0].lines[0].get_ydata()) <= set(shown) and max(panels[0].lines[0].get_ydata()) > 0.0
    # the axis keeps to the circle of the clearance
    x, y = drawn["orbit"].axes[0].lines[0].get_xdata(), drawn["orbit"].axes[0].lines[0].get_ydata()
    assert np.hypot(x, y).max() <= 1e3 * p.clearance + 0.2
    straight = replace(p, misalignment=0.0, duration=0.01, drop=0.05)
    assert list(figures(build(straight).run(), straight)) == ["energies", "fall"]


def test_bad_input():
    for changes, text in (
        ({"thickness": 0.005}, r"thickness = 0\.005: must be below 0\.00485 m"),
        ({"nose_depth": 0.01}, r"nose_depth = 0\.01: must be up to"),
        ({"misalignment": 0.005}, r"misalignment = 0\.005: must be below 0\.0045 m \(clearance \+ nose_depth\)"),
        ({"duration": 0.04}, r"drop = 0\.5: must be up to 0\.4078 m, which the rod falls in the duration"),
        ({"velocity": 0.0, "gravity": 0.0}, r"drop = 0\.5: must be up to 0 m"),
    ):
        with pytest.raises(UserError, match=text):
            replace(SMALL, **changes)


@pytest.mark.slow
def test_full():
    p = Parameters()
    result = build(p).run()
    assert failed(result, p) == []
