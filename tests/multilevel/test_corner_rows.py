"""Rows of corners and edges: rates of the gap, and none in rigid motions of both sides."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import arlequin as aq

UNIT = aq.LinearElastic(young=1.0, poisson=0.3, density=1.0)


def crossing(axes: int) -> aq.Interface:
    """A box above another, with outlines that meet corner on face, and in space edge on edge."""
    if axes == 2:
        low = aq.RigidBody("low", [(0.1, 0.0), (0.7, -0.05), (0.7, 0.4), (0.15, 0.45)], mass=1.0)
        high = aq.RigidBody("high", [(0.0, 0.5), (1.0, 0.45), (1.0, 0.9), (0.0, 0.9)], mass=1.0)
        return aq.Interface("c", high.boundary("outline"), low.boundary("outline"), aq.Unilateral(),
                            friction=aq.Coulomb(0.3))  # fmt: skip
    sides = []
    for name, turn, up in (("low", (45.0, 0.0, 5.0), 0.0), ("high", (45.0, 10.0, 80.0), 0.29)):
        mesh = aq.mesh.box((-0.5, 0.5), (-0.1, 0.1), (-0.1, 0.1), cells=(1, 1, 1))
        p = Rotation.from_euler("xyz", turn, degrees=True).as_matrix() @ mesh.p + np.array([[0.0], [0.0], [up]])
        mesh = type(mesh)(np.ascontiguousarray(p), mesh.t).with_boundaries({"all": lambda x: x[0] < np.inf})
        sides.append(aq.Solid(name, mesh, UNIT).boundary("all"))
    return aq.Interface("c", sides[1], sides[0], aq.Unilateral(), friction=aq.Coulomb(0.3), multiplier="nodes")


@pytest.mark.parametrize("axes", [2, 3])
def test_rows(axes: int) -> None:
    interface = crossing(axes)
    pairing, rng = interface.pairing(), np.random.default_rng(0)
    sides = [interface.slave.positions, interface.master.positions]
    kin = pairing.at(*sides)
    extra = np.flatnonzero((pairing.faces < 0) & kin.paired)
    assert extra.size
    places = np.concatenate(sides)
    spin = rng.normal(size=3) if axes == 3 else np.array([0.0, 0.0, 1.3])
    arms = np.column_stack([places, np.zeros((len(places), 3 - axes))])
    rigid = rng.normal(size=axes) + np.cross(spin, arms)[:, :axes]
    assert np.abs(kin.rows @ rigid.ravel()).max() < 1e-13
    # the rate of the gap by central differences
    field = rng.normal(size=places.shape)
    rate = (kin.rows @ field.ravel())[::axes][extra]
    ends = []
    for sign in (1.0, -1.0):
        moved = places + sign * 1e-6 * field
        ends.append(pairing.at(moved[: len(sides[0])], moved[len(sides[0]) :]).gap[extra])
    assert rate == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-6, abs=1e-7)
