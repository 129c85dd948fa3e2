"""`check_law` on built-in laws and on laws with one known fault each; the reference is the fault itself."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import arlequin as aq
from arlequin.models.errors import UserError, UserTypeError
from arlequin.multilevel.laws._kernels import power_law
from arlequin.multilevel.laws.friction import SlidingState, VariableFriction

pytestmark = pytest.mark.kernels

GAPS = np.linspace(1e-7, 5e-6, 8)
LAWS = (
    aq.Asperities(1e12, 2.0, 1e-3),
    aq.Asperities(1e12, 1.5, 1e-5, damping=1e8, damping_exponent=0.7),
    aq.Asperities(1e12, 1.0, 1e-5, damping=1e8, damping_exponent=0.5, damping_acts="both"),
    aq.Asperities(1e30, 100.0, 1e-3),
    aq.Penalty(1e10),
    aq.ImpactElement(1e9),
    aq.ImpactElement(1e9, 1e4),
    aq.AsperityTable(GAPS, 1e8 * np.exp(-GAPS / 1e-6)),
    aq.AsperityTable(GAPS, 1e8 * np.exp(-GAPS / 1e-6), loss_factor=0.1, frequency=100.0),
    aq.Unilateral(),
    aq.Unilateral("gap"),
    aq.Unilateral(restitution=0.3),
    aq.VelocityPenalty(1e5),
    aq.PerturbedLagrangian(1e9),
    aq.Coulomb(0.3),
    aq.Coulomb(0.3, compliance=1e-9),
    aq.Coulomb(0.3, stiffness=1e9, damping=10.0),
)


@pytest.mark.sampled(7)
@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_built_in_laws_pass(law):
    aq.check_law(law)


@pytest.mark.parametrize("law", [aq.Asperities(1e12, 2.0, 1e-5, damping=1e8), LAWS[8]], ids=repr)
def test_gaps_and_step_may_be_given(law):
    aq.check_law(law, gaps=[3e-6, -1e-6, 0.0, 2e-5], step=1e-3)
    aq.check_law(law, gaps=1e-6)


@dataclass(frozen=True)
class Faulty(aq.Asperities):
    """A layer whose kernel, pressure or energy is changed by functions."""

    kernel_by: Any = field(default=None)
    pressure_by: Any = field(default=None)
    energy_by: Any = field(default=None)
    loss_by: Any = field(default=None)
    bound_by: float = 1.0
    said_damped: bool | None = None

    @property
    def damped(self):
        return super().damped if self.said_damped is None else self.said_damped

    def kernel(self):
        def kernel(coefficients, history, gap, step, theta, trial):
            found = power_law(np.ascontiguousarray(coefficients), history, gap, step, theta, trial)
            return self.kernel_by(found, coefficients, history, gap, theta, trial) if self.kernel_by else found

        return kernel

    def pressure(self, gap):
        found = super().pressure(gap)
        return self.pressure_by(found, gap) if self.pressure_by else found

    def energy(self, gap):
        found = super().energy(gap)
        return self.energy_by(found, gap) if self.energy_by else found

    def damping_pressure(self, gap, rate):
        found = super().damping_pressure(gap, rate)
        return self.loss_by(found) if self.loss_by else found

    def stiffness_bound(self):
        return self.bound_by * super().stiffness_bound()


def layer(damping=0.0, **faults):
    return Faulty(stiffness=1e12, exponent=2.0, height=1e-5, damping=damping, **faults)


def forgets_the_trial(found, coefficients, history, gap, theta, trial):
    trial[0] = history[0]
    return found


def spoils_the_account(found, coefficients, history, gap, theta, trial):
    trial[3] = 1.0
    return found


def writes_the_history(found, coefficients, history, gap, theta, trial):
    history[0] = gap
    return found


def at_the_end(found, coefficients, history, gap, theta, trial):
    """p(g₁) in place of the mean over the path."""
    kappa, exponent, height = coefficients[:3]
    crush = max(height - gap, 0.0)
    return kappa * crush**exponent, -kappa * exponent * crush ** (exponent - 1.0), 0.0, 0.0


def scaled(which, factor):
    def change(found, coefficients, history, gap, theta, trial):
        return tuple(factor * value if i == which else value for i, value in enumerate(found))

    return change


def by_quotient(found, coefficients, history, gap, theta, trial):
    """−ΔE/Δg, which is 0/0 at rest."""
    kappa, exponent, height = coefficients[:3]
    a, b = (max(height - g, 0.0) ** (exponent + 1.0) for g in (history[0], gap))
    with np.errstate(all="ignore"):
        return kappa / (exponent + 1.0) * np.divide(b - a, history[0] - gap), found[1], 0.0, 0.0


FAULTS = {
    "zero kernel": (
        layer(kernel_by=lambda *_: (0.0, 0.0, 0.0, 0.0)),
        r"kernel\(\) of Faulty: stored pressure at rest at gap = -3\.33333e-06 m: got 0 Pa, expected 177\.778 Pa as by "
        r"pressure\(\) and energy\(\)",
    ),
    "no trial gap": (layer(kernel_by=forgets_the_trial), r"kernel\(\) of Faulty: trial\[0\] .* write trial\[0\] = gap"),
    "account": (layer(kernel_by=spoils_the_account), r"kernel\(\) of Faulty: trial\[3\] .*got 1, expected 0"),
    "history": (layer(kernel_by=writes_the_history), r"kernel\(\) of Faulty: history after a step .*write to trial"),
    "doubled energy": (
        layer(energy_by=lambda found, gap: 2.0 * found),
        r"energy\(\) of Faulty: −dE/dg at gap = -6\.66667e-06 m: got 555\.556 Pa, expected 277\.778 Pa as by pressure",
    ),
    "halved energy": (layer(energy_by=lambda found, gap: 0.5 * found), r"energy\(\) of Faulty: −dE/dg at gap = "),
    "energy offset": (layer(energy_by=lambda found, gap: found + 1.0), r"energy\(\) of Faulty: at gap = inf .*got 1 J"),
    "doubled pressure": (
        layer(pressure_by=lambda found, gap: 2.0 * found),
        r"pressure\(\) of Faulty: at gap = -1\.66667e-06 m: got 272\.222 Pa, expected 136\.111 Pa as by energy\(\) and "
        r"kernel\(\)",
    ),
    "no pressure": (layer(pressure_by=lambda found, gap: 0.0 * found), r"pressure\(\) of Faulty: .*gaps= at which the"),
    "shape": (
        layer(pressure_by=lambda found, gap: found[:1]),
        r"pressure\(\) of Faulty: .*shape \(1,\), expected .*10",
    ),
    "tension": (layer(pressure_by=lambda found, gap: found - 1.0), r"pressure\(\) of Faulty: .*expected at least 0"),
    "not finite": (layer(energy_by=lambda found, gap: found * np.nan), r"energy\(\) of Faulty: .*got nan J/m²"),
    "end pressure": (
        layer(kernel_by=at_the_end),
        r"kernel\(\) of Faulty: stored pressure from gap .* with theta = 0\.5: got .* by energy\(\)",
    ),
    "0/0 at rest": (layer(kernel_by=by_quotient), r"kernel\(\) of Faulty: .*nan.*expected finite numbers"),
    "slope sign": (
        layer(kernel_by=scaled(1, -1.0)),
        r"kernel\(\) of Faulty: slope of the stored pressure from gap .* by finite differences",
    ),
    "loss slope": (layer(1e5, kernel_by=scaled(3, 0.5)), r"kernel\(\) of Faulty: slope of the dissipated pressure"),
    "three numbers": (layer(kernel_by=lambda found, *_: found[:3]), r"kernel\(\) of Faulty: .*got 3 numbers"),
    "not said damped": (layer(1e5, said_damped=False), r"kernel\(\) of Faulty: dissipated .* 0 Pa, as damped is False"),
    "gain": (
        Faulty(1e12, 1.0, 1e-5, 1e3, 0.0, "both", kernel_by=lambda found, *_: (*found[:2], -found[2], -found[3])),
        r"kernel\(\) of Faulty: dissipated pressure from gap .*a loss ≥ 0",
    ),
    "other damping": (layer(1e5, loss_by=lambda found: 2.0 * found), r"damping_pressure\(\) of Faulty: at gap = "),
    "bound": (layer(bound_by=0.5), r"stiffness_bound\(\) of Faulty: .*got 1e\+07 Pa/m, expected at least 2e\+07"),
}


@pytest.mark.sampled(7)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_wrong_regular_law_is_named(fault):
    law, line = FAULTS[fault]
    with pytest.raises(UserError, match=line):
        aq.check_law(law)


def test_the_layer_of_the_faults_is_right():
    for law in (layer(), layer(1e5)):
        aq.check_law(law)


@dataclass(frozen=True)
class Rubs(VariableFriction):
    value: Any
    then: Any = None
    state_dependent: bool = True

    def mu(self, state):
        return self.value(state)

    def advance(self, state, slip, step):
        return state.variables if self.then is None else self.then(state, slip, step)


def spoils_the_state(state):
    state.slip_rate[:] = 0.0
    return state.slip_rate + 0.1


FRICTION = {
    "negative": (Rubs(lambda s: 0.3 - 0.1 * s.slip_rate), r"mu\(\) of Rubs: at the slip rate 10 m/s .*got -0\.7"),
    "nan": (Rubs(lambda s: s.pressure / s.pressure), r"mu\(\) of Rubs: .*pressure 0 Pa: got nan, expected a finite"),
    "a number": (Rubs(lambda s: 0.3), r"mu\(\) of Rubs: at 1 points: got the shape \(\), expected the shape \(1,\)"),
    "one for all": (Rubs(lambda s: np.array([0.3])), r"mu\(\) of Rubs: at 28 points: got the shape \(1,\)"),
    "constant": (Rubs(lambda s: 0.3 + s.slip_rate, None, False), r"mu\(\) of Rubs: .*state_dependent is False"),
    "variables": (Rubs(lambda s: 0.0 * s.slip, lambda s, *_: s.slip), r"advance\(\) of Rubs: .*expected .*\(1, 2\)"),
    "impure": (Rubs(spoils_the_state), r"mu\(\) or advance\(\) of Rubs: .*methods are pure"),
}


@pytest.mark.parametrize("fault", FRICTION)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_a_wrong_friction_law_is_named(fault):
    law, line = FRICTION[fault]
    with pytest.raises(UserError, match=line):
        aq.check_law(law)


def test_states_of_friction_may_be_given():
    few = SlidingState(np.ones(3), np.array([0.0, 1.0, 2.0]), np.zeros(3), np.zeros((3, 2)))
    aq.check_law(Rubs(lambda s: 0.3 - 0.1 * s.slip_rate), states=few)


def test_other_objects_are_refused():
    with pytest.raises(UserTypeError, match="Coulomb: is a class"):
        aq.check_law(aq.Coulomb)
    with pytest.raises(UserTypeError, match="no law of contact or friction; RegularLaw needs coefficients, "):
        aq.check_law(0.3)


@dataclass(frozen=True)
class Elastic:
    level: str = "gap"
    compliance: float = -1.0
    restitution: float = 0.0


def test_attributes_of_set_valued_laws():
    with pytest.raises(UserError, match=r"compliance of Elastic: attribute: got -1\.0, expected a finite number ≥ 0"):
        aq.check_law(Elastic())
    with pytest.raises(UserError, match="restitution of Elastic"):
        aq.check_law(Elastic(compliance=0.0, restitution=0.5))
