"""Ties: the cells of a surface are found for all nodes on it."""

from dataclasses import replace

import numpy as np

import arlequin as aq
from arlequin.overlap.geometry import linear_reference, to_reference

LAW = aq.LinearElastic(young=1e9, poisson=0.3, density=1000.0)


def test_a_long_cell_beside_many_short_ones() -> None:
    """All nodes on a surface are tied, also those that lie nearer to the centres of many other cells than to that of
    their own."""
    below = aq.mesh.rectangle((0.0, 21.0), (-1.0, 0.0), cells=(21, 1))
    x = below.p.copy()
    x[0] = np.where(x[0] < 0.5, 0.0, 1.0 + 0.01 * (x[0] - 1.0))  # one cell of 1 m, 20 of 10 mm
    above = aq.mesh.rectangle((0.0, 1.2), (0.0, 1.0), cells=(24, 4))
    parts = [
        aq.Solid(name, mesh, LAW, plane="strain")
        for name, mesh in (("below", replace(below, doflocs=x)), ("above", above))
    ]
    tie = aq.Tie(parts[0].boundary("top"), parts[1].boundary("bottom"))
    operator = tie.operator()
    assert len(operator.positions) == 25  # all nodes of the bottom
    field = np.stack([2.0 * parts[0].positions[:, 0] + 1.0, 3.0 - parts[0].positions[:, 0]], axis=1).ravel()
    exact = np.stack([2.0 * operator.positions[:, 0] + 1.0, 3.0 - operator.positions[:, 0]], axis=1).ravel()
    share = operator.gram.diagonal()
    np.testing.assert_allclose(operator.coarse @ field, share * exact, rtol=1e-12)


def test_points_that_the_map_of_a_cell_does_not_reach() -> None:
    """A kite whose map folds outside it: points inside have their coordinates, a point beyond the fold has none."""
    mesh = aq.mesh.rectangle((0.0, 1.0), (0.0, 1.0), cells=(1, 1))
    corners = mesh.p.copy()
    corners[:, np.argmax(corners.sum(axis=0))] = 0.55, 0.55
    mesh = replace(mesh, doflocs=corners)
    inside, beyond = np.array([0.3, 0.2]), np.array([5.0, 4.0])
    points = np.stack([inside, beyond], axis=1)[:, :, None]
    X, _ = to_reference(mesh, np.zeros(2, dtype=int), points, partial=True)
    assert np.isfinite(X[:, 0]).all() and np.isnan(X[:, 1]).all()
    np.testing.assert_allclose(mesh.mapping().F(X[:, 0])[:, 0, 0], inside, rtol=1e-12)
    # bilinear map of (0, 0), (1, 0), (0.55, 0.55), (0, 1), x = ξ − 0.45 ξη, y = η − 0.45 ξη, linearised at ξ = η = ½
    slope = np.array([[1.0 - 0.225, -0.225], [-0.225, 1.0 - 0.225]])
    expected = 0.5 + np.linalg.solve(slope, beyond - (0.5 - 0.45 * 0.25))
    linear = linear_reference(mesh, np.zeros(2, dtype=int), points)[:, 1, 0]
    np.testing.assert_allclose(np.sort(linear), np.sort(expected), rtol=1e-12)
