"""A ball on a plane at small size against Hertz's impact, written out here, and in full."""

from math import pi

import numpy as np
import pytest

from arlequin.cases import sphere_impact
from arlequin.cases.shared.impact import worst, worst_balance
from arlequin.cases.shared.meshes import upright_half_disc, upright_quarter_ball
from arlequin.cases.sphere_impact import Parameters, build, check, figures, forces
from arlequin.models.errors import UserError


def hertz(p):
    """Duration (s) and largest force (N), from K. L. Johnson, Contact Mechanics, 11.4."""
    mass, modulus = 4 / 3 * pi * p.radius**3 * p.density, p.young / (1 - p.poisson**2)
    approach = (15 * mass * p.velocity**2 / (16 * np.sqrt(p.radius) * modulus)) ** 0.4
    duration = 2.868 * (mass**2 / (p.radius * modulus**2 * p.velocity)) ** 0.2
    return duration, 4 / 3 * modulus * np.sqrt(p.radius) * approach**1.5


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("changes", "tolerance"),
    [
        ({"cells": 5, "steps": 200}, 0.01),
        pytest.param({"cells": 5, "steps": 200, "scheme": "newmark"}, 0.01, marks=pytest.mark.slow),
        ({"geometry": "solid", "cells": 2, "growth": 1.6, "steps": 60}, 0.02),
    ],
)
def test_small(changes, tolerance):
    p = Parameters(**changes)
    result = build(p).run()
    edges, force = forces(result, p)
    duration, peak = hertz(p)
    pressed = np.flatnonzero(force)
    assert edges[pressed[-1] + 1] - edges[pressed[0]] == pytest.approx(duration, rel=tolerance + 1 / p.steps)
    assert force.max() == pytest.approx(peak, rel=tolerance)
    # one rise and one fall: no point opens and closes again
    assert np.abs(np.diff(force, prepend=0.0)).sum() <= 2.05 * force.max()
    # elastic: the ball leaves with the velocity at which it came
    momentum = result["part/ball/momentum"].values[:, 1]
    assert -momentum[-1] / momentum[0] == pytest.approx(1.0, abs=2e-3)
    assert worst_balance(result) <= 1e-12
    assert worst(result, "scheme") <= 1e-12


@pytest.mark.sampled(1)
@pytest.mark.parametrize("geometry", ["axisymmetric", "solid"])
def test_mesh_is_the_whole_ball(geometry):
    p = Parameters(geometry=geometry, cells=2, growth=1.6, steps=5)
    part = build(p).system.parts[0]
    assert part.positions.min(axis=0)[1] == pytest.approx(0.0, abs=1e-15)
    assert part.positions.max(axis=0)[1] == pytest.approx(2 * p.radius, rel=1e-14)
    mass = float(build(p).run()["part/ball/mass"]) / sphere_impact.SHARE[geometry]
    assert mass == pytest.approx(4 / 3 * pi * p.radius**3 * p.density, rel=2e-3)


def test_shapes():
    """Both ends alike; the contact is at the bottom only."""
    for mesh in (upright_half_disc(1.0, 0.2, 0.05), upright_quarter_ball(1.0, 0.2, 0.1)):
        assert sorted(set(mesh.boundaries) - {"back"}) == ["arc", "contact", "left", "opposite"]
        assert len(mesh.boundaries["contact"]) == len(mesh.boundaries["opposite"]) > 0
        assert mesh.p[1, mesh.facets[:, mesh.boundaries["contact"]]].max() <= 0.05


@pytest.mark.slow
def test_full(tmp_path):
    p = Parameters()
    result = build(p).run()
    assert [c.name for c in check(result, p) if not c.passed] == []
    drawn = figures(result, p)
    assert list(drawn) == ["energies", "force"]
    for name, figure in drawn.items():
        figure.savefig(tmp_path / f"{name}.png", dpi=60)
    assert [text.get_text() for text in drawn["force"].axes[0].get_legend().get_texts()] == ["Hertz", "computed"]


def test_a_contact_that_is_not_small_is_refused():
    with pytest.raises(UserError, match=r"velocity = 1000\.0: gives a contact radius of 0\.67 R"):
        build(Parameters(velocity=1000.0))
