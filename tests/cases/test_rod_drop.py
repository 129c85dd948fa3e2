"""The drop of a control rod at small size: ballistics, the brake, laws and schemes, figures; in full (slow)."""

from dataclasses import replace

import numpy as np
import pytest

from cases import drop_figures
from cases.reference.ballistic import Fall
from cases.rod_drop import Parameters, build, check, drop_time, fall, figures, mean_spell
from models.errors import UserError

SMALL = Parameters(length=0.8, pitch=0.2, guides=9, cells=12, duration=0.06, drop=0.5, step=1.5e-4, fields_every=1)


def failed(result, parameters):
    return [c.name for c in check(result, parameters) if not c.passed]


@pytest.mark.parametrize("changes", [{}, {"top_mass": 0.5}, {"scheme": "newmark"}, {"law": "shock", "thickness": None}])
def test_straight_fall_is_ballistic(changes):
    p = replace(SMALL, misalignment=3e-4, friction=0.3, **changes)
    result = build(p).run()
    assert failed(result, p) == []
    # 10 t + 4.905 t² = 0.5
    assert drop_time(result, 0.5) == pytest.approx((-10 + np.sqrt(100 + 4 * 4.905 * 0.5)) / 9.81, rel=1e-9)
    time, _, speed = fall(result)
    assert speed == pytest.approx(10.0 + 9.81 * time, rel=1e-9)
    assert not result["interface/cards/force"].values.any()


@pytest.mark.parametrize(
    "changes",
    [{}, {"top_mass": 0.5}, {"law": "shock"}, {"scheme": "newmark", "law": "gap"}, {"scheme": "newmark"}],
)
def test_misaligned_cards_brake(changes):
    p = replace(SMALL, **changes)
    result = build(p).run()
    assert failed(result, p) == []
    free = Fall(p.velocity, p.gravity)
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
    result = build(p).run()
    gap = result["interface/cards/gap"].values
    assert gap[0][heights > 0.0] == pytest.approx(p.clearance) and not np.isfinite(gap[0][heights < 0.0]).any()


def test_velocity_law_does_not_flip():
    """θ = 1/2 on the gap flips: its spells are shorter than those of the velocity law, and the force varies more."""
    found = {}
    for law in ("velocity", "gap"):
        p = replace(SMALL, law=law, guides=10, duration=0.09)
        result = build(p).run()
        force = result["interface/cards/impulse"].values / p.step
        found[law] = mean_spell(result, p), np.abs(np.diff(force)).sum() / force.sum()
    assert found["velocity"][0] > 1.5 * found["gap"][0]
    assert found["velocity"][1] < found["gap"][1]


def test_figures(tmp_path):
    p = SMALL
    result = build(p).run()
    drawn = figures(result, p)
    assert list(drawn) == ["energies", "fall", "forces", "orbit", "cards"]
    other = build(replace(p, scheme="newmark", law="gap")).run()
    card = drop_figures.busiest(result)
    drawn["compared"] = drop_figures.force_figure({"velocity": result, "Newmark on the gap": other}, card)
    for name, figure in drawn.items():
        figure.savefig(tmp_path / f"{name}.png", dpi=60)
    assert len(drawn["compared"].axes) == 2
    # the axis keeps to the circle of the clearance
    x, y = drawn["orbit"].axes[0].lines[0].get_xdata(), drawn["orbit"].axes[0].lines[0].get_ydata()
    assert np.hypot(x, y).max() <= 1e3 * p.clearance + 0.2
    straight = replace(p, misalignment=0.0)
    assert list(figures(build(straight).run(), straight)) == ["energies", "fall"]


def test_bad_input():
    for changes, text in (
        ({"thickness": 0.005}, r"thickness = 0\.005: must be below 0\.00485 m"),
        ({"nose_depth": 0.01}, r"nose_depth = 0\.01: must be up to"),
    ):
        with pytest.raises(UserError, match=text):
            replace(SMALL, **changes)


@pytest.mark.slow
def test_full():
    p = Parameters()
    result = build(p).run()
    assert failed(result, p) == []
