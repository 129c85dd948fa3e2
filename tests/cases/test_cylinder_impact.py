"""A cylinder on a block at small size: no oscillation, the glued model against the all-fine one, momentum, friction."""

from dataclasses import replace

import numpy as np
import pytest

import arlequin as aq
from cases.cylinder_impact import (
    Parameters,
    all_fine,
    build,
    check,
    disc,
    figures,
    force_means,
    newmark,
    roughness,
    step,
    window,
)
from cases.impact import worst, worst_balance
from models.errors import UserError

SMALL = {"size": 5e-4, "free": 4e-3, "overlap": 2e-3}


def test_the_disc():
    """Area πR², less what chords cut off; the contact arc is the lower quarter of the rim."""
    mesh = disc(2.0, 0, 40, 40)
    basis = aq.Solid("disc", mesh, aq.LinearElastic(young=1.0, density=1.0), plane="strain").basis
    assert float(basis.dx.sum()) == pytest.approx(4 * np.pi, rel=3e-3)
    rim = mesh.p[:, np.unique(mesh.facets[:, mesh.boundaries["bottom"]])]
    assert np.hypot(rim[0], rim[1] - 2.0) == pytest.approx(2.0, rel=1e-14)
    assert rim[1].max() == pytest.approx(2.0 - np.sqrt(2.0), rel=1e-12)


def test_rows_of_both_parts_follow_each_other():
    """The mesh of the lower rows is that of the whole disc there."""
    whole, lower = disc(1.0, 0, 24, 24), disc(1.0, 0, 8, 24)
    bottom = whole.p[:, np.unique(whole.t[:, (whole.p[1, whole.t].mean(axis=0) < 0.3)])]
    for point in lower.p.T[::7]:
        if point[1] < 0.2:
            assert np.abs(bottom - point[:, None]).max(axis=0).min() <= 1e-14


def test_small():
    p = Parameters(**SMALL)
    result = build(p).run()
    assert [c.name for c in check(result, p) if not c.passed] == []
    force, fine = force_means(result), force_means(all_fine(p))
    assert np.linalg.norm(force - fine) <= 0.01 * np.linalg.norm(fine)
    assert force.max() == pytest.approx(fine.max(), rel=0.01) and force.sum() == pytest.approx(fine.sum(), rel=0.01)
    assert worst_balance(result) <= 1e-12 and worst(result, "junction") <= 1e-12 and worst(result, "scheme") <= 1e-12
    # Newton's third law by hand: what the block gave is what the cylinder has now
    momentum = sum(result[f"part/{name}/momentum"].values[:, 1] for name in ("coarse", "fine"))
    given = np.cumsum(np.append(0.0, force)) * step(p)
    assert np.abs(momentum - momentum[0] - given).max() <= 1e-12 * -momentum[0]
    assert momentum[0] == pytest.approx(-np.pi * p.radius**2 * p.density * p.velocity, rel=5e-3)


def test_newmark_chatters_on_the_gap():
    p = Parameters(arlequin=False, **SMALL)
    own, usual = roughness(force_means(all_fine(p))), roughness(force_means(newmark(p)))
    assert own <= 1.03 and usual >= 2.0


@pytest.mark.parametrize(
    "changes",
    [
        {"theta": 1.0},
        {"law": "multilevel", "gap": 1e-5},
        {"law": "asperities", "gap": 1e-5, "scheme": "generalised-alpha"},
        {"law": "penalty"},
        {"velocity": 500.0, "absorbing": True},
        {"friction": 0.3, "tangential": 5.0},
    ],
)
def test_laws_schemes_and_friction(changes):
    p = Parameters(**{**SMALL, "size": 1e-3, "ratio": 2, **changes})
    result = build(p).run()
    assert worst_balance(result) <= 1e-12
    names = {c.name: c for c in check(result, p)}
    assert names["linear momentum, worst step"].passed
    assert float(result["interface/contact/impulse"].sum()) > 0.0
    # means over a window would hide any oscillation: nothing is claimed of it there
    claimed = "total variation / 2 peak, 1 without oscillation" in names
    assert claimed == (p.law == "unilateral-velocity" and window(p) == 1)
    if p.friction:
        group = result["interface/contact"].dataset
        normal, along = group["force"].values[:, 1], group["force"].values[:, 0]
        assert (np.abs(along) <= p.friction * normal * (1 + 1e-10)).all()
        # it brakes on the whole; late in the contact the sheared surface springs back and the force turns (Maw et al.)
        assert along.sum() < 0.0 and along[:10].max() <= 0.0
        assert (np.diff(result["energy"].sel(kind="friction").values) >= 0.0).all()


def test_window():
    """One step while the front R V/c is below a coarse cell, eight coarse cells else."""
    slow = Parameters()
    assert window(slow) == 1
    assert window(replace(slow, velocity=500.0)) == 32


def test_means_and_roughness():
    assert roughness(np.array([0.0, 1.0, 3.0, 2.0, 0.0])) == 1.0
    assert roughness(np.array([0.0, 3.0, 1.0, 3.0, 0.0])) == pytest.approx(5 / 3)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"free": 0.02}, "free = 0.02: must be at most"),
        ({"law": "multilevel"}, "gap = 0.0: must be at least asperity_height"),
    ],
)
def test_refused(changes, says):
    with pytest.raises(UserError, match=says):
        Parameters(**changes)


def test_figures(tmp_path):
    p = Parameters(size=1e-3, ratio=2, free=4e-3, overlap=4e-3)
    drawn = figures(build(p).run(), p)
    assert list(drawn) == ["energies", "force", "shape"]
    for name, figure in drawn.items():
        figure.savefig(tmp_path / f"{name}.png", dpi=60)
    titles = [axes.get_title(loc="left") for axes in drawn["force"].axes]
    assert titles[0].startswith("θ = 0.5") and titles[1].startswith("Newmark")


@pytest.mark.slow
def test_full():
    p = Parameters()
    result = build(p).run()
    assert [c.name for c in check(result, p) if not c.passed] == []
    force, fine = force_means(result), force_means(all_fine(p))
    assert np.linalg.norm(force - fine) <= 0.005 * np.linalg.norm(fine)


@pytest.mark.slow
def test_cost():
    """The glued model costs at most a fifth of the all-fine one, step by step, both taken in turns."""
    studies = [build(Parameters(arlequin=glued, duration=6e-6, fields_every=1000)) for glued in (True, False)]
    times = [[study.run().attrs["wall_time_per_step"] for study in studies] for _ in range(4)]
    glued, fine = np.min(times, axis=0)
    assert glued <= 0.2 * fine
