"""A soft ring on a wall at small size: momentum, energies, mesh, refusals."""

import numpy as np
import pytest

from arlequin.cases.ring_impact import Parameters, build, check, contact_duration, figures, height_ratio, restitution
from arlequin.cases.shared.meshes import ring
from arlequin.models.errors import UserError

SMALL = {"elements": 1, "around": 8, "scheme": "central-difference", "step": 2e-4}


def run(**changes):
    p = Parameters(**{**SMALL, **changes})
    result = build(p).run()
    assert all(item.passed for item in check(result, p)), [item for item in check(result, p) if not item.passed]
    return p, result


def test_head_on():
    p, result = run()
    assert 0.2 < restitution(result, p) < 0.8
    assert height_ratio(result) < 0.5
    # the mirror image in x = 0 moves alike
    group = result["part/ring"].dataset
    now = group["position"].values + group["displacement"].values[-1]
    mirrored = now * [-1.0, 1.0]
    nearest = np.abs(mirrored[:, None] - now[None]).sum(axis=2).min(axis=1)
    assert nearest.max() <= 1e-6 * p.radius
    assert 1e-3 < contact_duration(result) <= p.duration


def test_friction_makes_it_roll():
    """Thrown at 45°, friction takes momentum along the wall within μ times that across, and turns the ring forwards."""
    p, result = run(angle=45.0, friction=0.3)
    momentum = result["part/ring"]["momentum"].values
    lost, gained = momentum[0, 0] - momentum[-1, 0], momentum[-1, 1] - momentum[0, 1]
    assert 0.5 * p.friction * gained < lost <= p.friction * gained * (1 + 1e-12)
    group = result["part/ring"].dataset
    x = group["position"].values + group["displacement"].values[-1]
    v = group["velocity"].values[-1]
    x, v = x - x.mean(axis=0), v - v.mean(axis=0)
    assert (x[:, 0] * v[:, 1] - x[:, 1] * v[:, 0]).mean() < 0.0  # clockwise: forwards, on the floor


@pytest.mark.slow
def test_slow_impact_loses_little():
    """As the velocity falls the ring answers as a spring: more of it comes back."""
    slow, fast = (restitution(result, p) for p, result in (run(velocity=1.0, duration=0.12), run()))
    assert slow > fast


def test_mesh():
    mesh = ring(1.0, 0.2, 2, 16)
    y = mesh.p[1]
    assert y.min() == pytest.approx(0.0, abs=1e-15)
    assert mesh.nelements == 2 * 64
    with pytest.raises(UserError, match="thickness"):
        ring(0.1, 0.2, 1, 8)


def test_figures():
    p, result = run(duration=4e-3)
    assert set(figures(result, p)) == {"energies", "flattest", "end"}
