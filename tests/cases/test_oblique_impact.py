"""Oblique impact: the references against closed forms and against each other, then the case against them."""

from dataclasses import replace

import numpy as np
import pytest

from arlequin.cases import oblique_impact
from arlequin.cases.oblique_impact import ImpactForces, Parameters, build, check, figures
from arlequin.cases.oblique_impact import plots as oblique_figures
from arlequin.cases.reference.disc import ovalling
from arlequin.cases.reference.disc_rim import NORMAL, TANGENT, DiscRim
from arlequin.cases.reference.half_space import squares, strips
from arlequin.cases.reference.maw import maw
from arlequin.cases.reference.oblique import ModalMotion, Oblique
from arlequin.models.errors import UserError

BALL = Oblique("sphere", "like", 0.3, 0.1, 0.01)


def test_maw():
    """The published impulse and reflection at ψ₁ = 0.7; gross slip for ψ₁ ≥ 4χ − 1; stick all along is linear in ψ₁."""
    near = maw(BALL, 0.7)
    assert near.impulse == pytest.approx([2.0, 0.2345], abs=2e-4)
    assert near.reflection == pytest.approx(0.024, abs=1e-3)
    assert near.force[:, 0].max() == pytest.approx(BALL.load, rel=1e-4)
    onset = 4 * BALL.chi - 1
    assert maw(BALL, onset + 0.05).reflection == pytest.approx(-0.95, abs=1e-4)
    assert maw(BALL, onset - 0.1).reflection > -1.1 + 1e-4
    small = [maw(BALL, psi).reflection / psi for psi in (1e-3, 1e-2)]
    assert small[0] == pytest.approx(small[1], rel=0.05)


def test_maw_does_not_depend_on_friction_and_size():
    other = replace(BALL, friction=0.5, half_width=0.001)
    assert maw(other, 2.0).reflection == pytest.approx(maw(BALL, 2.0).reflection, rel=1e-10)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("psi", [0.7, *(pytest.param(psi, marks=pytest.mark.slow) for psi in (2.0, 3.0)), 6.0])
def test_patches_find_maws_curve(psi):
    """Another discretisation of the half-space, with slip in any direction: 1 % of the full scale."""
    assert BALL.impact(psi, steps=100).reflection == pytest.approx(maw(BALL, psi).reflection, abs=0.014)


@pytest.mark.slow
def test_a_rigid_plane_changes_the_curve_but_not_for_an_incompressible_ball():
    rigid = replace(BALL, partner="rigid").impact(0.7, points=13, steps=80)
    assert rigid.impulse[1] == pytest.approx(0.32, abs=0.01)
    assert rigid.reflection == pytest.approx(-0.22, abs=0.02)
    assert rigid.impulse[0] < 2.0 - 1e-3  # friction takes some of the normal motion
    soft = Oblique("sphere", "rigid", 0.49, 0.1, 0.01)
    exact = maw(replace(soft, partner="like"), 0.7)
    assert soft.impact(0.7, points=13, steps=80).impulse[1] == pytest.approx(exact.impulse[1], abs=0.01)


def test_squares():
    """Even pressure on a circle: (1−ν) p a/G in the middle; outside it is drawn inwards by (1−2ν) p a²/(4 G r)."""
    size, nu = 0.1, 0.3
    line = size * (np.arange(31) - 15)
    places = np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)
    matrix = squares(places, size, nu, True)
    flat = matrix.reshape(3 * len(places), -1)
    assert np.abs(flat - flat.T).max() <= 1e-13 * flat.max()
    inside = np.hypot(*places.T) < 1.02
    force, a = size**2 * inside, np.sqrt(size**2 * inside.sum() / np.pi)
    middle = int(np.hypot(*places.T).argmin())
    assert matrix[middle, 0, :, 0] @ force == pytest.approx((1 - nu) * a, rel=0.01)
    far = int(np.hypot(*(places - [1.5, 0.0]).T).argmin())
    assert matrix[far, 1, :, 0] @ force == pytest.approx(-(1 - 2 * nu) / 4 * a**2 / 1.5, rel=0.01)
    # along the plane, mean over directions: (2 − ν)/2 over 1 − ν times the normal one
    assert matrix[middle, 1, :, 1] @ force == pytest.approx((1 - nu / 2) * a, rel=0.01)
    assert not squares(places[:2], size, nu, False)[:, 0, :, 1:].any()


def test_strips():
    """Far away a strip is a line load: −(1−ν)/π ln x, and ∓(1−2ν)/4."""
    matrix = strips(np.array([0.0, 1.0]), 0.01, 0.3, True)
    assert matrix[1, 0, 0, 0] == matrix[1, 1, 0, 1] == pytest.approx(0.0, abs=1e-5)
    assert matrix[1, 1, 0, 0] == pytest.approx(-0.1) and matrix[1, 0, 0, 1] == pytest.approx(0.1)
    assert matrix[0, 0, 0, 0] == pytest.approx(-0.7 / np.pi * (np.log(0.005) - 1.0))


@pytest.mark.slow
def test_modes_of_the_disc():
    """Love's lowest frequency; modes and their residues sum to Michell's statics; no force gains energy."""
    rim, plain = (DiscRim(0.3, harmonics=n, highest=60.0) for n in (2, 1))
    michell = (1 + 1.8 / 3) / (4 * np.pi)
    for direction in (NORMAL, TANGENT):
        rates, residues = rim.modes[direction]
        assert rates.min() == pytest.approx(2 * np.pi * ovalling(1.0, 2.6, 0.3, 1.0), rel=1e-10)
        assert (residues > 0.0).all()
        assert rim.compliance(2, direction, 0.02) == pytest.approx(michell, rel=1e-4)
        # the modes above ω = 60 are missing: they hold 1.6/60
        rest = (residues / rates**2).sum() - (plain.modes[direction][1] / plain.modes[direction][0] ** 2).sum()
        assert 0.97 * michell < rest < michell
    # even pressure; torsion under a couple and its inertia
    assert rim._elastic(0, NORMAL) == pytest.approx((1 - 0.6) / (4 * np.pi), rel=1e-6)
    assert rim._elastic(0, TANGENT) == pytest.approx(1 / (12 * np.pi), rel=1e-6)


def test_motion():
    """A force that grows evenly from rest: z = F₁/(h ω²) (t − sin ωt/ω), at rest ω = 0 t³/6."""
    motion = ModalMotion.of(np.array([0.0, 3.0]), np.array([1.0, 1.0]), 0.1)
    for n in range(10):
        motion.advance(0.1 * n, 0.1 * (n + 1))
    assert motion.state[0] == pytest.approx([1 / 6, (1 - np.sin(3.0) / 3) / 9], rel=1e-12)


def test_maw_is_for_alike_spheres():
    with pytest.raises(UserError, match="alike spheres"):
        maw(replace(BALL, partner="rigid"), 1.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("partner", "incidence"),
    [
        pytest.param(partner, incidence, marks=() if i % 2 == j else pytest.mark.slow)
        for i, incidence in enumerate((0.7, 3.0, 6.5))
        for j, partner in enumerate(("like", "rigid"))
    ],
)
def test_disc(partner, incidence):
    p = Parameters(shape="disc", partner=partner, incidence=incidence)
    result = build(p).run()
    assert [c.name for c in check(result, p) if not c.passed] == []


@pytest.mark.slow
def test_mirrored():
    """The other direction gives the opposite reflection, and no incidence none."""
    p = Parameters(shape="disc", cells=4, steps=40, incidence=2.0)
    there, back, still = (
        ImpactForces.of(build(own).run(), own).reflection
        for own in (p, replace(p, incidence=-2.0), replace(p, incidence=0.0))
    )
    assert back == pytest.approx(-there, abs=1e-6) and still == pytest.approx(0.0, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(("partner", "incidence"), [("like", 0.7), ("like", 2.0), ("like", 6.0), ("rigid", 0.7)])
def test_ball(partner, incidence):
    p = Parameters(partner=partner, incidence=incidence, cells=2 if partner == "like" else 3)
    result = build(p).run()
    assert [c.name for c in check(result, p) if not c.passed] == []


@pytest.mark.slow
def test_figures(monkeypatch, tmp_path):
    monkeypatch.setattr(oblique_impact, "CURVE", (4.0,))
    monkeypatch.setattr(oblique_figures, "POINTS", 4)
    p = Parameters(shape="disc", cells=4, steps=40)
    drawn = figures(build(p).run(), p)
    assert list(drawn) == ["curve", "force", "energies"]
    for name, figure in drawn.items():
        figure.savefig(tmp_path / f"{name}.png", dpi=60)
    places = drawn["curve"].axes[0].get_lines()[-1].get_xdata()
    assert list(places) == [0.7, 4.0]
