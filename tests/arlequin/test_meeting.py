"""The contact problem of a step as a run records it: contact at rest, energies while partners change, labels."""

import numpy as np
import pytest

import arlequin as aq

SOFT = aq.LinearElastic(young=1e9, poisson=0.3, density=1200.0)


def resting(scheme, mass):
    """A block squeezed between a guided top and a plane, at rest; plane strain, ends held: p = (λ + 2μ) ε."""
    strain = 1e-3 / 3.0
    mesh = aq.mesh.rectangle((0.0, 0.1), (0.0, 0.05), cells=(7, 5))
    held = {"left": {"x": 0.0}, "right": {"x": 0.0}}
    block = aq.Solid("block", mesh, SOFT, plane="strain", mass=mass, imposed=held, imposed_velocity={"top": {"y": 0.0}})
    plane = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))
    contact = aq.Interface("contact", block.boundary("bottom"), plane, aq.Unilateral(level="velocity"))
    system = aq.System(
        [block],
        interfaces=[contact],
        displacement={"block": lambda x: np.stack([0 * x[:, 1], -strain * x[:, 1]], axis=1)},
    )
    first, shear = SOFT.lame()
    return aq.simulate(system, scheme, duration=2e-4, step=1e-6), (first + 2 * shear) * strain * 0.1


@pytest.mark.parametrize("mass, scheme", [("consistent", aq.Theta(0.5)), ("lumped", aq.CentralDifference())])
def test_a_point_at_rest_on_its_partner_stays_in_contact_at_velocity_level(mass, scheme):
    """The gap of such a point is zero but for round-off, of either sign: it must not open for a step."""
    result, force = resting(scheme, mass)
    contact = result["interface/contact"].dataset
    # the explicit scheme starts with half a step
    np.testing.assert_allclose(contact["force"].sel(component="y").values[2:], force, rtol=1e-9)
    assert (contact["active"].values[1:] == 8).all()
