"""Mortar contact with rigid obstacles: closed forms on planes, sampled integrals on a circle, differences."""

from dataclasses import dataclass
from math import factorial

import numpy as np
import pytest
from scipy.integrate import quad

from arlequin.models import mesh
from arlequin.models.errors import UserError
from arlequin.models.fem.solid import Solid
from arlequin.models.materials.elastic import LinearElastic
from arlequin.multilevel.pairing.mortar import MortarObstacle
from arlequin.multilevel.pairing.multipliers import simplex_rule

pytestmark = pytest.mark.kernels

STEEL = LinearElastic(young=1.0, poisson=0.3, density=1.0)


@dataclass(frozen=True)
class Plane:
    point: np.ndarray
    normal: np.ndarray
    flat = True

    @property
    def axes(self):
        return len(self.point)

    def closest(self, positions):
        gap = (positions - self.point) @ self.normal
        return gap, np.tile(self.normal, (len(gap), 1))


@dataclass(frozen=True)
class Ball:
    """A circle or a sphere; no partner beyond `reach`."""

    centre: np.ndarray
    radius: float
    reach: float = np.inf
    flat = False

    @property
    def axes(self):
        return len(self.centre)

    def closest(self, positions):
        apart = positions - self.centre
        distance = np.linalg.norm(apart, axis=1)
        gap = np.where(distance - self.radius > self.reach, np.inf, distance - self.radius)
        return gap, np.where(np.isfinite(gap)[:, None], apart / distance[:, None], np.nan)


def surface(kind, order, count=3, **options):
    if kind in ("hex", "tet"):
        part = Solid("body", mesh.box((0.5, 1.5), (0, 1), (0, 1), (count, count, 1), kind), STEEL, order=order)
        return part.boundary("back")
    options = {"plane": "strain"} | options
    part = Solid("body", mesh.rectangle((0.5, 1.5), (0, 1), (count, 1), kind), STEEL, order=order, **options)
    return part.boundary("bottom")


CASES = [("quad", 1, "P0"), ("quad", 1, "P1"), ("quad", 2, "P0"), ("quad", 2, "P1"), ("quad", 2, "P2")]
CASES += [("hex", 1, "P1"), ("tet", 1, "P0"), ("tet", 2, "P1"), ("hex", 2, "P1"), ("hex", 2, "P2")]


@pytest.mark.sampled(7)
@pytest.mark.parametrize(("kind", "order", "space"), CASES)
def test_uniform_pressure_on_a_plane(kind, order, space):
    """Hᵀ areas = n ∫φ dΓ (areas of the surface, by scikit-fem); on a plane the gap is linear."""
    slave = surface(kind, order)
    axes = slave.positions.shape[1]
    normal = np.array([0.6, 0.8]) if axes == 2 else np.array([2.0, 3.0, 6.0]) / 7
    plane = Plane(np.full(axes, -0.1), normal)
    pairing = MortarObstacle(slave, plane, space)
    assert pairing.fixed
    found = pairing.at(slave.positions, np.empty((0, axes)))
    rows = found.rows.toarray().reshape(-1, axes, slave.positions.size)
    force = (pairing.areas @ rows[:, 0]).reshape(-1, axes)
    assert np.abs(force - slave.areas[:, None] * normal).max() < 1e-13
    assert np.abs(found.normals - normal).max() < 1e-14
    # a constant velocity is seen as it is: rows = frame
    for c in range(axes):
        seen = rows @ np.tile(np.eye(axes)[c], len(slave.nodes))
        assert np.abs(seen[:, 0] - normal[c]).max() < 1e-14
        assert np.abs(seen[:, 1:] - found.tangents[:, :, c]).max() < 1e-14
    moved = slave.positions + np.random.default_rng(2).uniform(-0.1, 0.1, slave.positions.shape)
    again = pairing.at(moved, np.empty((0, axes)))
    assert (again.rows.toarray() == found.rows.toarray()).all()
    assert again.gap == pytest.approx(found.gap + rows[:, 0] @ (moved - slave.positions).ravel(), abs=1e-14)


@pytest.mark.parametrize("options", [{"thickness": 0.3}, {"plane": "axisymmetric"}], ids=["thickness", "axisymmetric"])
def test_thickness_and_rotational_symmetry(options):
    slave = surface("quad", 2, **options)
    pairing = MortarObstacle(slave, Plane(np.zeros(2), np.array([0.0, 1.0])), "P2")
    assert np.abs(pairing.areas - slave.areas).max() < 1e-14
    force = pairing.areas @ pairing.at(slave.positions, np.empty((0, 2))).rows.toarray()[::2, 1::2]
    assert np.abs(force - slave.areas).max() < 1e-14


def test_gap_to_a_circle():
    """P1 averages of √((x − c)² + h²) − R, by adaptive quadrature; the rate of the gap, by differences."""
    slave = surface("quad", 1, count=8)
    ball = Ball(np.array([0.9, -2.0]), 1.9)
    pairing = MortarObstacle(slave, ball, "P1")
    assert not pairing.fixed
    found = pairing.at(slave.positions, np.empty((0, 2)))
    for k, (x, _) in enumerate(found.positions):
        low, high = max(x - 0.125, 0.5), min(x + 0.125, 1.5)

        def hat(s, x=x):
            return 1 - abs(s - x) / 0.125

        area = quad(hat, low, high, points=[x])[0]
        gap = quad(lambda s: hat(s) * (np.hypot(s - 0.9, 2.0) - 1.9), low, high, points=[x])[0]
        assert pairing.areas[k] == pytest.approx(area, rel=1e-12)
        assert found.gap[k] == pytest.approx(gap / area, abs=1e-9)
    velocity = np.random.default_rng(4).uniform(-1, 1, slave.positions.shape)
    step = 1e-5
    after, before = (pairing.at(slave.positions + t * velocity, np.empty((0, 2))).gap for t in (step, -step))
    assert (found.rows @ velocity.ravel())[::2] == pytest.approx((after - before) / (2 * step), abs=1e-8)


@pytest.mark.parametrize("kind", ["quad", "hex"])
def test_points_without_a_partner(kind):
    slave = surface(kind, 1, count=6)
    axes = slave.positions.shape[1]
    pairing = MortarObstacle(slave, Ball(0.5 * np.eye(axes)[0] - np.eye(axes)[-1], 0.9, reach=0.2), "P1")
    found = pairing.at(slave.positions, np.empty((0, axes)))
    assert found.paired.any() and not found.paired.all()
    rows = found.rows.toarray().reshape(-1, axes, slave.positions.size)
    assert not rows[~found.paired].any() and np.isfinite(rows).all() and np.isinf(found.gap[~found.paired]).all()
    assert np.isfinite(found.normals).all() and np.isfinite(found.tangents).all()
    # averages over the covered part alone stay averages: a constant velocity is seen along the tangents
    slip = rows[found.paired][:, 1:].reshape(-1, axes - 1, len(slave.nodes), axes).sum(axis=2)
    assert slip == pytest.approx(found.tangents[found.paired], abs=1e-14)


def test_another_number_of_axes_is_refused():
    with pytest.raises(UserError, match="is in 2D, its obstacle in 3D"):
        MortarObstacle(surface("quad", 1), Plane(np.zeros(3), np.eye(3)[2]))


@pytest.mark.parametrize("degree", [2, 4, 6, 8])
def test_triangle_rules_are_exact(degree):
    """∫ x^a y^b over the unit triangle = a! b!/(a + b + 2)!."""
    points, weights = simplex_rule(3, degree)
    assert (weights > 0).all()
    for a in range(degree + 1):
        for b in range(degree + 1 - a):
            exact = factorial(a) * factorial(b) / factorial(a + b + 2)
            assert 0.5 * weights @ (points[:, 0] ** a * points[:, 1] ** b) == pytest.approx(exact, rel=1e-13)
