"""Archard's law of wear: what it is made of."""

import numpy as np
import pytest

import arlequin as aq
from arlequin.models.errors import UserError
from arlequin.multilevel.laws.wear import Archard, WearState


@pytest.mark.parametrize(
    ("options", "rule"),
    [({"coefficient": 0.0}, "positive"), ({"coefficient": np.nan}, "finite"), ({"density": -1.0}, "positive")],
)
def test_bad_figures_are_refused(options, rule):
    with pytest.raises(UserError, match=f"must be {rule}"):
        Archard(**{"coefficient": 1e-13, **options})


def test_depths_add_up_and_the_last_ones_are_still_to_open():
    worn = WearState(np.zeros(2), np.zeros(2)).after(np.array([1.0, 2.0])).add(np.array([3.0, 0.0])).after(np.ones(2))
    assert worn.depth.tolist() == [5.0, 3.0]
    assert worn.opening.tolist() == [1.0, 1.0]
    assert WearState(np.ones(1), np.ones(1)).add(np.ones(1)).opening.tolist() == [2.0]


def pad():
    steel = aq.LinearElastic(young=2e11, poisson=0.3, density=7800)
    return aq.Solid("pad", aq.mesh.rectangle((0, 1), (0, 1), cells=(1, 1)), steel, plane="strain")


def test_an_interface_wears_by_a_law_and_a_slip():
    plane = aq.RigidPlane(point=(0, 0), normal=(0, 1))
    with pytest.raises(UserError, match="interface 'c': wear needs friction"):
        aq.Interface("c", pad().boundary("bottom"), plane, aq.Unilateral(), wear=Archard(1e-13))
    with pytest.raises(UserError, match="is not a law of wear"):
        aq.Interface("c", pad().boundary("bottom"), plane, aq.Unilateral(), friction=aq.Coulomb(0.1), wear=1e-13)
