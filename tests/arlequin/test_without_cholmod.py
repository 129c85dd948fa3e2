"""Runs without CHOLMOD are those with it."""

import numpy as np
import pytest

import arlequin as aq

pytestmark = pytest.mark.kernels

FIELDS = (
    "part/fine/displacement", "part/coarse/velocity", "interface/roller/pressure", "interface/roller/force",
    "interface/roller/slip", "junction/junction/force", "energy",
)  # fmt: skip


def roller_on_block():
    steel = aq.LinearElastic(young=2e11, poisson=0.3, density=7800)
    coarse = aq.Solid("coarse", aq.mesh.rectangle((-0.048, 0.048), (-0.04, 0), cells=(24, 10)), steel, plane="strain")
    fine = aq.Solid("fine", aq.mesh.rectangle((-0.012, 0.012), (-0.012, 0), cells=(24, 12)), steel, plane="strain")
    roller = aq.RigidSphere(centre=(0, 0.0101), radius=0.01)
    return aq.System(
        parts=[coarse, fine],
        junctions=[aq.Junction(coarse, fine, zone=aq.zones.Box(width=0.004))],
        interfaces=[aq.Interface("roller", fine.boundary("top"), roller, aq.Unilateral(), friction=aq.Coulomb(0.2))],
        velocity=(3, 10),
    )


@pytest.mark.sampled(1)
@pytest.mark.parametrize("scheme", [aq.Theta(0.5), aq.Newmark()])
def test_fields_and_forces_are_equal(scheme, monkeypatch):
    results = []
    for switch in ("on", "off"):
        monkeypatch.setenv("ARLEQUIN_CHOLMOD", switch)
        record = aq.Record(fields_every=5)
        results.append(aq.simulate(roller_on_block(), scheme, duration=2e-5, step=2e-7, record=record, progress=False))
    assert float(results[0]["interface/roller/pressure"].max()) > 1e8
    for name in FIELDS:
        with_it, without = (result[name].values for result in results)
        np.testing.assert_allclose(without, with_it, rtol=0.0, atol=1e-9 * np.abs(with_it).max(), err_msg=name)
