"""A rod in tension, in a turbulent flow, that knocks on a stop: schemes and a modal part agree and keep the balance."""

import numpy as np
import pytest

import arlequin as aq

STEEL = aq.LinearElastic(young=2.1e11, poisson=0.3, density=7800.0)
FLOW = aq.Turbulence(aq.PlateauSpectrum(0.2, cutoff=40.0), highest=150.0, correlation=0.2, duration=0.2, seed=5)


def run(scheme, modes=None, law=None, step=2e-5):
    rod = aq.Beam(
        "rod", aq.mesh.interval(0.0, 0.8, cells=6), STEEL, aq.Section.tube(5e-3, 4.4e-3, 0.3), dimension=2,
        imposed={"left": {"x": 0.0, "y": 0.0, "rz": 0.0}}, turbulence=FLOW, tension=200.0, carried_mass=0.3,
        added_mass=0.1, fluid_damping=2.0,
    )  # fmt: skip
    part = aq.Modal(rod, modes) if modes else rod
    stop = aq.RigidPlane(point=(0.8, -2e-4), normal=(0.0, 1.0))
    touch = aq.Interface("stop", part.boundary("right"), stop, law or aq.ImpactElement(2e4 / rod.section.area))
    return aq.simulate(aq.System([part], interfaces=[touch]), scheme, duration=0.1, step=step)


@pytest.fixture(scope="module")
def usual():
    return run(aq.Theta(0.5))


SCHEMES = {
    "newmark": (aq.Newmark(), None, 5e-3),
    "all modes": (aq.Theta(0.5), 18, 1e-7),
    "five modes": (aq.Theta(0.5), 5, 2e-2),
}


@pytest.mark.parametrize("scheme, modes, miss", SCHEMES.values(), ids=SCHEMES)
def test_schemes_and_modal_parts_agree(usual, scheme, modes, miss):
    other = run(scheme, modes)
    first, second = (r["part/rod/displacement"].values[:, -1, 1] for r in (usual, other))
    assert usual["interface/stop/force"].values.max() > 1.0
    assert np.abs(second - first).max() < miss * np.abs(first).max()
    for result in (usual, other):
        assert np.abs(result["balance"]).max() < 1e-11
        assert result["energy"].sel(kind="damping").values[-1] > 0.0


def test_located_impacts_on_a_rigid_stop():
    """Impacts at their instants: the path hardly depends on the step."""
    scheme, law = aq.Theta(0.5, events="locate"), aq.Unilateral(level="velocity")
    coarse, fine = (run(scheme, 3, law, step) for step in (1e-4, 2.5e-5))
    first, second = (r["part/rod/displacement"].values[:, -1, 1] for r in (coarse, fine))
    assert np.abs(second[::4] - first).max() < 5e-3 * np.abs(second).max()
    assert second.min() > -2e-4 - 1e-9 and (second < -2e-4 + 1e-8).any()
    assert np.abs(fine["balance"]).max() < 1e-11
