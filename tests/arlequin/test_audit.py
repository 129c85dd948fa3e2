"""The energy audit refuses steps in which energy comes from nowhere."""

from typing import Any

import numpy as np
import pytest

import arlequin as aq
from arlequin.energy import KINDS
from arlequin.run.audit import Audit, NegativeDissipation
from arlequin.system.assembly import assemble


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
    with pytest.raises(NegativeDissipation) as fall:
        audit.add(steps)
    assert (fall.value.column, fall.value.step, fall.value.member) == (kind, 1, ())
    assert fall.value.share == pytest.approx(-1.1e-12)


def test_the_member_of_an_ensemble_is_named() -> None:
    audit = Audit(np.ones(3), np.zeros(3), np.zeros(3))
    fine, falls = works(kinetic=1.0), works(kinetic=1.0, impact=-1e-6)
    with pytest.raises(NegativeDissipation) as fall:
        audit.add(np.array([[fine, fine, falls]]))
    assert fall.value.member == (2,)


@pytest.mark.parametrize("scheme", [aq.Theta(0.5), aq.HHT(-0.1), aq.CentralDifference()], ids=str)
def test_contact_that_is_solved_to_round_off_leaves_none_to_its_works(scheme: Any) -> None:
    """r max|P| Σ |P| W: of the certificate of a step on a ball, at most some ε of the energy that its impulses move."""
    mass = aq.PointMasses("mass", (0.0, 0.0), 2.0)
    ball = aq.RigidSphere(centre=(0.0, -2.0), radius=2.0)
    touch = aq.Interface("ball", mass.boundary("all"), ball, aq.Unilateral(), friction=aq.Coulomb(0.2))
    assembly = assemble(aq.System([mass], interfaces=[touch], gravity=(0.0, -10.0)))
    stepper = scheme.prepare(assembly, 1e-2)
    state = stepper.start(np.zeros(2), np.array([1.0, -3.0]))
    for _ in range(3):
        state, batch = stepper.advance(state)
        impulse = np.abs(batch.contact.spread).sum()
        assert impulse > 0.0 and batch.residual[0] <= 1e-13
        assert 0.0 <= batch.uncertainty[0] <= batch.residual[0] * 4.0 * impulse**2 / 2.0  # W = 1/m
