"""Friction laws whose coefficient depends on the state, and restitution: closed forms, energy, refusals."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import arlequin as aq
from arlequin.models.errors import UserError
from arlequin.multilevel.laws.friction import Coulomb, FrictionLaw, SlidingState, VariableFriction
from arlequin.multilevel.solvers.law_tables import PointLaws

pytestmark = pytest.mark.kernels

GRAVITY, THROWN, MASS = 10.0, 2.0, 3.0
SCHEMES = (aq.Theta(0.5), aq.Theta(1.0), aq.Newmark(), aq.HHT(-0.05), aq.GeneralisedAlpha.with_radius(0.8))
EVERY = (*SCHEMES, aq.CentralDifference())
ORDERS = (2.0, 1.0, 2.0, 2.0, 2.0, 1.0)


@dataclass(frozen=True)
class Stribeck(VariableFriction):
    static: float
    dynamic: float
    speed: float

    def mu(self, state):
        return self.static + (self.dynamic - self.static) * (1.0 - np.exp(-state.slip_rate / self.speed))

    def exact(self, t):
        """Velocity of a block thrown with THROWN."""
        own, share = self.static - self.dynamic, np.exp(-self.dynamic * GRAVITY * t / self.speed)
        end = (self.dynamic * np.exp(THROWN / self.speed) + own) * share
        return self.speed * np.log((end - own) / self.dynamic)


@dataclass(frozen=True)
class RunningIn(VariableFriction):
    """μ = μ₀ + κ s with the accumulated slip s."""

    start: float
    rate: float

    def mu(self, state):
        return self.start + self.rate * state.slip


@dataclass(frozen=True)
class Squeezed(VariableFriction):
    """μ = μ₀ / (1 + p/p₀)."""

    start: float
    pressure: float

    def mu(self, state):
        return self.start / (1.0 + state.pressure / self.pressure)


@dataclass(frozen=True)
class Ageing(VariableFriction):
    """μ = μ₀ + rate · time, the time counted by an internal variable."""

    start: float
    rate: float

    def mu(self, state):
        return self.start + self.rate * state.variables[:, 0]

    def advance(self, state, slip, step):
        return state.variables + np.array([step, 0.0])


@dataclass(frozen=True)
class Constant(VariableFriction):
    """Coulomb's law as one that might change."""

    value: float

    def mu(self, state):
        return np.full(state.slip_rate.size, self.value)


def block(
    friction: Any,
    spring: float = 0.0,
    velocity: Any = (THROWN, 0.0),
    normal: Any = None,
    gravity: float = GRAVITY,
    **options: Any,
) -> Any:
    part = aq.PointMasses("block", [[0.0, 0.0]], mass=MASS, **options)
    floor = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))
    laws = aq.Unilateral() if normal is None else normal
    contact = aq.Interface("contact", part.boundary("all"), floor, laws, friction=friction)
    springs = [aq.Spring("spring", part.boundary("all"), stiffness=(spring, spring))] if spring else []
    return aq.System([part], interfaces=[contact], springs=springs, gravity=(0.0, -gravity), velocity=velocity)


def velocity(result: Any) -> Any:
    """Velocity along the floor at all frames."""
    return result["part/block"]["velocity"].values[:, 0, 0]


def energies(result: Any) -> Any:
    return {str(kind): result["energy"].sel(kind=kind).values for kind in result["kind"].values}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scheme", "order"),
    [
        pytest.param(s, order, marks=pytest.mark.slow if i in (1, 3) else ())
        for i, (s, order) in enumerate(zip(EVERY, ORDERS, strict=True))
    ],
)
def test_velocity_weakening_keeps_the_order(scheme: Any, order: float) -> None:
    law = Stribeck(0.4, 0.1, 0.5)
    errors = []
    for steps in (100, 200, 400):
        result = aq.simulate(block(law), scheme, duration=0.5, step=0.5 / steps)
        own = energies(result)
        end = np.sqrt(2.0 * own["kinetic"][-1] / MASS)
        errors.append(end - law.exact(0.5))
        assert abs(result["balance"].values).max() < 1e-13
        taken = own["kinetic"][0] - own["kinetic"][-1] - own["scheme"][-1]
        assert own["friction"][-1] == pytest.approx(taken, rel=1e-12)
        assert (np.diff(own["friction"]) > 0.0).all()
        assert (np.diff(own["kinetic"]) < 0.0).all()
    assert np.log2(np.abs(errors[:-1]) / np.abs(errors[1:])) == pytest.approx([order, order], abs=0.02)
    assert abs(errors[-1]) < 1e-3 * THROWN


@pytest.mark.sampled(1)
@pytest.mark.parametrize("scheme", [aq.Theta(0.5), aq.Newmark()])
def test_accumulated_slip(scheme: Any) -> None:
    """s̈ = −g (μ₀ + κ s), s(0) = 0, ṡ(0) = V: a quarter of a sine, then rest."""
    law = RunningIn(0.1, 0.4)
    omega = np.sqrt(law.rate * GRAVITY)
    errors = []
    for steps in (100, 200):
        result = aq.simulate(block(law), scheme, duration=0.3, step=0.3 / steps)
        exact = THROWN * np.cos(0.3 * omega) - law.start / law.rate * omega * np.sin(0.3 * omega)
        errors.append(velocity(result)[-1] - exact)
    assert abs(errors[1]) < 1e-4
    assert errors[0] / errors[1] == pytest.approx(4.0, abs=0.05)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_internal_variables_advance_once_a_step(scheme: Any) -> None:
    """v_n = V − g Δt Σ_{i<n} (μ₀ + rate (i + ½) Δt), whatever the passes of a step."""
    law, step = Ageing(0.1, 0.3), 0.01
    result = aq.simulate(block(law), scheme, duration=0.4, step=step)
    mu = law.start + law.rate * step * (np.arange(40) + 0.5)
    end = np.sqrt(2.0 * energies(result)["kinetic"][-1] / MASS)
    assert end == pytest.approx(THROWN - GRAVITY * step * mu.sum(), rel=1e-11)


def test_pressure_in_statics() -> None:
    """u = (F − μ(N) N)/k where the push grows under a pressure that is the same in the last steps."""
    law, stiffness, push, normal = Squeezed(0.5, 60.0), 1e3, 40.0, 30.0

    def force(t: float) -> tuple[float, float]:
        return push * max(2.0 * t - 1.0, 0.0), -normal * min(2.0 * t, 1.0)

    pushed = block(law, stiffness, velocity=(0.0, 0.0), normal=aq.Unilateral("gap"), gravity=0.0, forces={"all": force})
    result = aq.simulate(pushed, aq.Static(), duration=1.0, step=0.05)
    mu = law.start / (1.0 + normal / law.pressure)  # on 1 m²
    u = result["part/block"]["displacement"].values[-1, 0, 0]
    assert u == pytest.approx((push - mu * normal) / stiffness, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("scheme", [aq.Theta(0.5), aq.Newmark(), pytest.param(aq.Theta(0.6), marks=pytest.mark.slow)])
def test_stick_slip_never_gains_energy(scheme: Any) -> None:
    """On a spring under a law that weakens steeply friction takes energy in every step; kinetic and strain energy
    grow in no step but one with a reversal, by an amount of second order that is in `scheme`."""
    law = Stribeck(0.5, 0.2, 0.02)
    result = aq.simulate(block(law, 2e3), scheme, duration=3.0, step=2e-3)
    own, speed = energies(result), velocity(result)
    total = own["kinetic"] + own["strain"]
    turns = speed[1:] * speed[:-1] <= 1e-18  # or ends in stick
    assert np.diff(total)[~turns].max() <= 1e-13 * total[0]
    assert np.diff(total)[turns].max() <= 1e-4 * total[0]
    assert np.diff(total + own["scheme"]).max() <= 1e-13 * total[0]
    assert np.diff(own["friction"]).min() >= -1e-13 * total[0]
    assert own["kinetic"][-1] < 1e-20  # it sticks at last
    assert own["strain"][-1] > 0.0


@pytest.mark.sampled(1)
@pytest.mark.parametrize("scheme", [aq.Theta(0.5), aq.Newmark(), aq.CentralDifference()])
def test_a_law_that_does_not_change_is_coulombs(scheme: Any) -> None:
    first = aq.simulate(block(Constant(0.3), 2e3), scheme, duration=0.2, step=1e-3)
    other = aq.simulate(block(Coulomb(0.3), 2e3), scheme, duration=0.2, step=1e-3)
    assert velocity(first) == pytest.approx(velocity(other), rel=1e-12, abs=1e-13)


def test_elastic_stick_keeps_its_spring_beside_the_state() -> None:
    """History rows of springs and of sliding stand side by side: Coulomb's elastic stick, written as another law."""

    class Elastic(Constant):
        stiffness = 1e4

    first = aq.simulate(block(Elastic(0.3)), aq.Theta(0.5), duration=0.2, step=1e-3)
    other = aq.simulate(block(Coulomb(0.3, stiffness=1e4)), aq.Theta(0.5), duration=0.2, step=1e-3)
    assert velocity(first) == pytest.approx(velocity(other), rel=1e-12, abs=1e-13)


def test_history_of_chosen_points() -> None:
    """The rows of the history of some points are those of their laws: regular, springs, sliding."""
    law = Ageing(0.1, 0.3)
    points = [(aq.Asperities(1e9), aq.Unilateral()), (aq.Unilateral(),), (aq.Asperities(1e9),)]
    laws = PointLaws.gather(points, np.ones(3), [law, Coulomb(0.2, stiffness=1e6), law], 2)
    history = laws.start_history(np.zeros(3))
    assert history.shape == (2 + 1 + 2, 4)
    assert laws.histories_of(np.array([0, 2])).tolist() == [0, 1, 3, 4]
    assert laws.histories_of(np.array([1])).tolist() == [2]
    state = laws.sliding(history, np.array([1.0, 2.0, 3.0]))
    laws.advance_sliding(history, state, np.array([0.1, 0.2, 0.3]), np.array([5.0, 5.0, 0.0]), 0.5)
    assert history[3].tolist() == [0.1, 5.0, 0.5, 0.0]
    assert history[4].tolist() == [0.0, 0.0, 0.5, 0.0]  # not pressed: no slip
    assert laws.chosen(np.array([2])).at(SlidingState(*np.zeros((3, 1)), np.array([[2.0, 0.0]]))).friction == 0.1 + 0.6


def test_refusals() -> None:
    assert isinstance(Stribeck(0.4, 0.1, 0.5), FrictionLaw)
    with pytest.raises(UserError, match="law of friction"):
        block(0.3)
    for value in (-0.1, np.nan):
        with pytest.raises(UserError, match=r"mu\(\) of the law Constant = .*: must return finite coefficients ≥ 0"):
            aq.simulate(block(Constant(value)), aq.Theta(0.5), duration=0.01, step=0.01)
    with pytest.raises(NotImplementedError, match="defines no coefficient"):
        aq.simulate(block(VariableFriction()), aq.Theta(0.5), duration=0.01, step=0.01)
    law = Stribeck(0.4, 0.1, 0.5)
    with pytest.raises(UserError, match="constant coefficient"):
        element = aq.ImpactElement(1e6)
        aq.simulate(block(law, normal=element), aq.SymplecticEuler(), duration=0.01, step=1e-4)
    with pytest.raises(UserError, match="coefficient of Stribeck varies with the motion"):
        aq.simulate(block(law), aq.Theta(0.5, events="locate"), duration=0.01, step=1e-3)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("scheme", "restitution"),
    [
        pytest.param(scheme, e, marks=() if i % 3 == j else pytest.mark.slow)
        for i, scheme in enumerate(EVERY)
        for j, e in enumerate((0.3, 0.0, 1.0))
    ],
)
def test_restitution(scheme: Any, restitution: float) -> None:
    """Newton's impact law: v⁺ = −e v⁻; the loss is m (1 − e²) v²/2."""
    mass = aq.PointMasses("mass", [0.0], mass=2.0)
    wall = aq.RigidPlane(point=2e-3, normal=-1.0)
    contact = aq.Interface("contact", mass.boundary("all"), wall, aq.Unilateral(restitution=restitution))
    result = aq.simulate(aq.System([mass], interfaces=[contact], velocity=1.5), scheme, duration=3e-3, step=1e-5)
    own = energies(result)
    assert result["part/mass"]["velocity"].values[-1].item() == pytest.approx(-1.5 * restitution, abs=1e-13)
    assert own["impact"][-1] == pytest.approx(1.5**2 * (1.0 - restitution**2), abs=1e-13)
    assert abs(result["balance"].values).max() < 1e-13


def test_restitution_of_a_bouncing_ball() -> None:
    """Falls from 1 cm: the heights of the bounces are e², e⁴, …; energy falls at impacts alone."""
    e, height = 0.7, 0.01
    ball = aq.PointMasses("ball", [[0.0, height]], mass=1.0)
    floor = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))
    contact = aq.Interface("contact", ball.boundary("all"), floor, aq.Unilateral(restitution=e))
    system = aq.System([ball], interfaces=[contact], gravity=(0.0, -GRAVITY))
    result = aq.simulate(system, aq.Theta(0.5), duration=0.15, step=5e-5)
    place = height + result["part/ball"]["displacement"].values[:, 0, 1]
    peaks = place[1:-1][(place[1:-1] > place[:-2]) & (place[1:-1] >= place[2:])]
    assert peaks[0] == pytest.approx(e**2 * height, rel=0.01)
    own = energies(result)
    assert np.diff(own["impact"]).min() >= -1e-15


def test_restitution_is_refused() -> None:
    with pytest.raises(UserError, match="restitution"):
        aq.Unilateral(restitution=1.1)
    with pytest.raises(UserError, match='must be 0 at level "gap"'):
        PointLaws.gather([(aq.Unilateral("gap", restitution=0.5),)], np.ones(1))
    system = block(None, normal=aq.Unilateral(restitution=0.5))
    with pytest.raises(UserError, match="has restitution=0"):
        aq.simulate(system, aq.Theta(0.5, events="locate"), duration=0.01, step=1e-3)
