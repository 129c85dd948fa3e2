"""Internal forces of many displacements of a linear elastic part at once, against K u."""

import numpy as np
import pytest

import arlequin as aq

STEEL = aq.LinearElastic(young=2e11, poisson=0.3, density=7800.0)
PLATE = aq.mesh.rectangle((0.5, 1.0), (0.2, 0.6), cells=(5, 3))
PARTS = {
    "bar": aq.Bar("part", aq.mesh.interval(0.0, 1.0, cells=7), STEEL, section=1e-4),
    "quadrilaterals": aq.Solid("part", PLATE, STEEL, plane="strain"),
    "triangles": aq.Solid("part", PLATE.to_meshtri(), STEEL, plane="stress"),
    "quadratic triangles": aq.Solid("part", PLATE.to_meshtri(), STEEL, plane="stress", order=2),
    "rings": aq.Solid("part", PLATE, STEEL, plane="axisymmetric"),
    "bricks": aq.Solid("part", aq.mesh.box((0, 1), (0, 1), (0, 2), (2, 2, 3)), STEEL),
    "quadratic bricks": aq.Solid("part", aq.mesh.box((0, 1), (0, 1), (0, 2), (2, 2, 3)), STEEL, order=2),
}


@pytest.mark.sampled(7)
@pytest.mark.kernels
@pytest.mark.parametrize("count", [1, 19])
@pytest.mark.parametrize("name", PARTS)
def test_forces_and_energies_are_those_of_the_matrix(name, count):
    part = PARTS[name].assemble()
    u = np.random.default_rng(count).normal(size=(count, part.stiffness.shape[0]))
    force = np.full_like(u, np.nan)  # all of it is written
    energies = part.internal_each(u, force)
    expected = (part.stiffness @ u.T).T
    np.testing.assert_allclose(force, expected, rtol=0.0, atol=1e-12 * np.abs(expected).max())
    np.testing.assert_allclose(energies, 0.5 * np.vecdot(u, expected), rtol=1e-12)
