"""The energy audit refuses steps in which energy comes from nowhere."""

from typing import Any

import numpy as np
import pytest

from arlequin.energy import KINDS
from arlequin.run.audit import Audit, RefusedWork


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
    with pytest.raises(RefusedWork) as fall:
        audit.add(steps)
    assert (fall.value.column, fall.value.step, fall.value.member) == (kind, 1, ())
    assert fall.value.share == pytest.approx(-1.1e-12)


def test_the_member_of_an_ensemble_is_named() -> None:
    audit = Audit(np.ones(3), np.zeros(3), np.zeros(3))
    fine, falls = works(kinetic=1.0), works(kinetic=1.0, impact=-1e-6)
    with pytest.raises(RefusedWork) as fall:
        audit.add(np.array([[fine, fine, falls]]))
    assert fall.value.member == (2,)


def test_the_scheme_of_a_conserving_step_is_round_off() -> None:
    audit = Audit(2.0, 0.0, 0.0)
    audit.add(np.array([works(kinetic=2.0, scheme=-1.0)]))  # another scheme: any
    audit.add(np.array([works(kinetic=2.0, scheme=1e-10)]), conserves=True)
    for made in (-1e-8, 1e-8):
        with pytest.raises(RefusedWork) as fall:
            audit.add(np.array([works(kinetic=2.0, scheme=made)]), conserves=True)
        assert (fall.value.column, fall.value.step) == ("scheme", 0)
