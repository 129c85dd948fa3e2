"""Local polynomial fits: what they reproduce, what they annihilate, and the moments of first-order functions."""

import itertools
from math import comb

import numpy as np
import pytest
from skfem import MeshTri

import arlequin as aq
from arlequin.models.fem.local_fit import NodeCloud, interpolation_moment, projection_moment
from arlequin.models.materials.elastic import LinearElastic

UNIT = LinearElastic(young=1.0, poisson=0.3, density=1.0)
SIDES = {1: 14, 2: 12, 3: 9}  # nodes on an edge


def cloud(axes, distortion=0.0, sizes=None):
    """Nodes of a regular box of cells, each moved by at most `distortion` cells along each axis."""
    count = SIDES[axes]
    h = np.ones(axes) if sizes is None else np.array(sizes)
    rng = np.random.default_rng(axes)
    x = np.array(list(itertools.product(range(count), repeat=axes)), dtype=float)
    x += distortion * rng.uniform(-1.0, 1.0, x.shape)
    return NodeCloud(x * h, np.arange(len(x)), len(x), h)


def interpolated(nodes, points, values):
    """Values at points between nodes of a regular box, whose cells have their centres half-way."""
    axes = points.shape[1]
    sides = [np.arange(np.round(np.ptp(x) / h)) + 0.5 for x, h in zip(nodes.positions.T, nodes.scale, strict=True)]
    centres = np.array(list(itertools.product(*sides))) * nodes.scale
    return nodes.interpolation(points, centres, np.zeros((axes, axes))) @ values


def polynomial(axes, degree, scale):
    """A full polynomial of the degree, with random coefficients, of x over the extent of the cloud."""
    powers = [p for p in itertools.product(range(degree + 1), repeat=axes) if sum(p) <= degree]
    weights = np.random.default_rng(degree).uniform(-1.0, 1.0, len(powers))

    def value(x):
        s = x / scale - 0.5
        return sum(w * np.prod(s ** np.array(p), axis=1) for w, p in zip(weights, powers, strict=True))

    return value


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("distortion", [0.0, 0.2])
def test_cubic_polynomials_are_reproduced(axes, distortion):
    nodes = cloud(axes, distortion, sizes=(0.5, 2.0, 1.0)[:axes])
    extent = nodes.scale * (SIDES[axes] - 1)
    points = np.random.default_rng(5).uniform(0.0, 1.0, (300, axes)) * extent
    value = polynomial(axes, 3, extent)
    found = interpolated(nodes, points, value(nodes.positions))
    np.testing.assert_allclose(found, value(points), rtol=0.0, atol=1e-11)


def test_a_quartic_is_not():
    nodes = cloud(1)
    points = np.array([[5.5]])
    value = polynomial(1, 4, 13.0)
    assert abs(interpolated(nodes, points, value(nodes.positions)) - value(points))[0] > 1e-6


@pytest.mark.parametrize("count", [2, 3, 4])
def test_few_nodes_reproduce_what_they_determine(count):
    x = np.arange(float(count))[:, None]
    nodes = NodeCloud(x, np.arange(count), count, np.ones(1))
    points = np.linspace(0.0, count - 1.0, 7)[:, None]
    value = polynomial(1, count - 1, count - 1.0)
    found = interpolated(nodes, points, value(x))
    np.testing.assert_allclose(found, value(points), rtol=0.0, atol=1e-12)


def test_a_cubic_from_its_projection():
    """Nodal values of the L² projection of v on first-order functions, M p = ∫φ v, by integration in closed form.

    With v = x^m, φ the hat at j of width h: ∫φ v = Σ ± ((j±1)h)^(m+2) … of the second difference of the second
    antiderivative, exact for every m.
    """
    count, h = 24, 0.25
    x = h * np.arange(count)
    mass = np.zeros((count, count))
    for j in range(count - 1):
        mass[j : j + 2, j : j + 2] += h / 6.0 * np.array([[2.0, 1.0], [1.0, 2.0]])

    def twice(s):  # second antiderivative of 1 − 2s + s³
        return s**2 / 2.0 - s**3 / 3.0 + s**5 / 20.0

    def once(s):
        return s - s**2 + s**4 / 4.0

    load = np.zeros(count)
    load[1:-1] = (twice(x[2:]) - 2.0 * twice(x[1:-1]) + twice(x[:-2])) / h
    load[0] = -once(x[0]) + (twice(x[1]) - twice(x[0])) / h
    load[-1] = once(x[-1]) - (twice(x[-1]) - twice(x[-2])) / h
    projected = np.linalg.solve(mass, load)
    moment = np.array([[-(h**2) / 12.0]])
    nodes, centres = NodeCloud(x[:, None], np.arange(count), count, np.array([h])), x[:-1, None] + 0.5 * h
    # the ends of the line, at which the projection differs, decay by 2 − √3 per cell
    points = np.linspace(11.0 * h, 12.0 * h, 9)[:, None]
    exact = 1.0 - 2.0 * points[:, 0] + points[:, 0] ** 3
    found = nodes.interpolation(points, centres, moment) @ projected
    plain = interpolated(nodes, points, projected)
    assert np.abs(found - exact).max() <= 1e-6
    assert np.abs(plain - exact).max() > 1e-2


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("distortion", [0.0, 0.2])
def test_the_high_pass_annihilates_quartics(axes, distortion):
    nodes = cloud(axes, distortion, sizes=(0.5, 2.0, 1.0)[:axes])
    inside = np.abs(nodes.positions / nodes.scale - 0.5 * (SIDES[axes] - 1)).max(axis=1) <= 0.5 * SIDES[axes] - 3.3
    chosen = np.flatnonzero(inside)
    value = polynomial(axes, 4, nodes.scale * (SIDES[axes] - 1))(nodes.positions)
    high_pass = nodes.high_pass(chosen)
    assert chosen.size > 5
    assert np.abs(high_pass @ value).max() <= 1e-11
    shortest = (-1.0) ** np.rint(nodes.positions / nodes.scale).sum(axis=1)
    assert np.abs(high_pass @ shortest).min() > 0.3


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_the_high_pass_annihilates_linear_fields_at_borders(axes):
    nodes = cloud(axes, 0.2)
    value = polynomial(axes, 1, nodes.scale * (SIDES[axes] - 1))(nodes.positions)
    assert np.abs(nodes.high_pass(nodes.numbers) @ value).max() <= 1e-11


def test_the_high_pass_of_a_regular_line():
    """−20 δ⁶/924, δ⁶ the sixth difference."""
    nodes = cloud(1)
    row = nodes.high_pass(np.array([6])).toarray()[0]
    sixth = [(-1) ** j * comb(6, j) for j in range(7)]
    expected = np.zeros(SIDES[1])
    expected[3:10] = -20.0 / 924.0 * np.array(sixth)
    np.testing.assert_allclose(row, expected, rtol=0.0, atol=1e-13)


@pytest.mark.parametrize("axes", [2, 3])
@pytest.mark.parametrize("wave", [2.0, 3.0, 4.0])
def test_waves_along_an_axis_are_filtered_as_on_a_line(axes, wave):
    nodes = cloud(axes)
    middle = np.argmin(np.linalg.norm(nodes.positions - (SIDES[axes] - 1) // 2, axis=1))
    s = nodes.positions[:, 0] - nodes.positions[middle, 0]
    found = (nodes.high_pass(np.array([middle])) @ np.cos(2.0 * np.pi * s / wave))[0]
    line = 20.0 / 924.0 * (2.0 * np.sin(np.pi / wave)) ** 6
    assert found == pytest.approx(line, rel=1e-4)


def test_moments_on_lines_and_boxes():
    h = np.array([0.3, 0.5, 0.2])
    line = aq.Bar("bar", aq.mesh.interval(0.0, 6 * h[0], cells=6), UNIT)
    plate = aq.Solid("plate", aq.mesh.rectangle((0, 3 * h[0]), (0, 2 * h[1]), cells=(3, 2)), UNIT, plane="strain")
    box = aq.Solid("box", aq.mesh.box((0, 2 * h[0]), (0, 2 * h[1]), (0, 2 * h[2]), cells=(2, 2, 2)), UNIT)
    for part in (line, plate, box):
        own = np.diag(h[: part.positions.shape[1]] ** 2) / 12.0
        at = part.positions[part.cells.nodes]
        np.testing.assert_allclose(interpolation_moment(part.cells, at), own, rtol=0.0, atol=1e-15)
        np.testing.assert_allclose(projection_moment(part.cells, at), -own, rtol=0.0, atol=1e-15)


def test_the_moment_on_equilateral_triangles():
    h, rows = 0.4, 4
    x, y = np.meshgrid(np.arange(rows + 1.0), np.arange(rows + 1.0), indexing="ij")
    points = h * np.stack([(x + 0.5 * y).ravel(), (np.sqrt(0.75) * y).ravel()])
    first = (np.arange(rows)[:, None] * (rows + 1) + np.arange(rows)).ravel()
    lower, upper = [first, first + rows + 1, first + 1], [first + rows + 1, first + rows + 2, first + 1]
    mesh = MeshTri(points, np.hstack([lower, upper]))
    part = aq.Solid("plate", mesh, UNIT, plane="strain")
    found = projection_moment(part.cells, part.positions[part.cells.nodes])
    np.testing.assert_allclose(found, -(h**2) / 16.0 * np.eye(2), rtol=0.0, atol=1e-15)
