"""The energy audit refuses steps in which energy comes from nowhere."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import arlequin as aq
from arlequin.audit import Audit, Fallen
from arlequin.energy import KINDS


def works(**values: float) -> Any:
    """A step (kind,)."""
    out = np.zeros(len(KINDS))
    for kind, value in values.items():
        out[KINDS.index(kind)] = value
    return out


@pytest.mark.parametrize("kind", ["impact", "friction", "wear", "damping", "plastic"])
def test_a_dissipation_that_falls_is_refused(kind: str) -> None:
    audit = Audit(2.0, 0.0, 0.0)
    audit.add(np.array([works(kinetic=2.0, **{kind: -1.9e-12})]))  # round-off of 2 J
    steps = np.array([works(kinetic=2.0), works(kinetic=2.0, **{kind: -2.2e-12})])
    with pytest.raises(Fallen) as fall:
        audit.add(steps)
    assert (fall.value.column, fall.value.step, fall.value.member) == (kind, 1, ())
    assert fall.value.share == pytest.approx(-1.1e-12)


def test_the_member_of_an_ensemble_is_named() -> None:
    audit = Audit(np.ones(3), np.zeros(3), np.zeros(3))
    fine, falls = works(kinetic=1.0), works(kinetic=1.0, impact=-1e-6)
    with pytest.raises(Fallen) as fall:
        audit.add(np.array([[fine, fine, falls]]))
    assert fall.value.member == (2,)


def test_a_scheme_that_makes_more_than_a_tenth_is_refused() -> None:
    audit = Audit(1.0, 0.0, 0.0, made=0.1)
    for _ in range(9):
        audit.add(np.array([works(kinetic=1.0, scheme=-0.01)]))
    with pytest.raises(Fallen) as fall:
        audit.add(np.array([works(kinetic=1.0, scheme=-0.02)]))
    assert fall.value.column == "scheme" and fall.value.share == pytest.approx(-0.11)


@dataclass(frozen=True)
class Lying(aq.Asperities):
    """Stores ten times what it works."""

    def energy(self, gap: Any) -> Any:
        return 10.0 * super().energy(gap)


def test_a_run_says_when_and_how_much() -> None:
    mass = aq.PointMasses("m", (0.0, 0.1), 1.0)
    law = Lying(stiffness=1e4, exponent=1.0, height=0.01)
    touch = aq.Interface("floor", mass.boundary("all"), aq.RigidSphere((0.0, -1.0), 1.0), [law])
    system = aq.System([mass], interfaces=[touch], velocity=(0.0, -1.0))
    with pytest.raises(aq.UserError, match=r"'scheme' has made .* of the largest energy at t = 0\.0\d+ s: the step"):
        aq.simulate(system, aq.Theta(), duration=0.2, step=1e-3)
