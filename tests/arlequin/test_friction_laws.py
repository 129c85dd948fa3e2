"""Friction laws whose coefficient depends on the state: closed forms, orders, thresholds, schemes, dissipation."""

import itertools
import warnings
from typing import Any

import numba
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import arlequin as aq
from arlequin.models.errors import ModelWarning, UserError

pytestmark = pytest.mark.kernels

MASS, GRAVITY, THROWN = 3.0, 10.0, 2.0
WEIGHT = MASS * GRAVITY
STEPPED = (aq.Theta(0.5), aq.Newmark())


def block(
    friction: Any, *, spring: float = 0.0, velocity: float = THROWN, push: Any = None, normal: Any = None, axes: int = 2
) -> aq.System:
    """A mass on a floor, pressed by its weight."""
    up = np.eye(axes)[-1]
    forces = {} if push is None else {"all": lambda t: tuple(np.eye(axes)[0] * push(t))}
    part = aq.PointMasses("block", np.zeros((1, axes)), mass=MASS, forces=forces)
    floor = aq.RigidPlane(point=np.zeros(axes), normal=up)
    laws = aq.Unilateral() if normal is None else normal
    contact = aq.Interface("contact", part.boundary("all"), floor, laws, friction=friction)
    springs = []
    if spring:
        springs = [aq.Spring("spring", part.boundary("all"), stiffness=tuple(spring * (1.0 - up)))]
    return aq.System(
        [part], interfaces=[contact], springs=springs, gravity=tuple(-GRAVITY * up),
        velocity=tuple(velocity * np.eye(axes)[0]),
    )  # fmt: skip


def motion(result: Any) -> tuple[Any, Any]:
    """Displacement and velocity along the floor at all frames."""
    part = result["part/block"]
    return part["displacement"].values[:, 0, 0], part["velocity"].values[:, 0, 0]


def friction_loss(result: Any) -> Any:
    return result["energy"].sel(kind="friction").values


LAWS = {
    "slip distance": aq.StaticDynamic(0.4, 0.1, slip_distance=2.0),
    "velocity": aq.StaticDynamic(0.4, 0.1, velocity=0.5),
    "stribeck": aq.Stribeck(0.4, 0.1, 0.5, exponent=2.0, viscous=0.02),
    "rate and state": aq.RateAndState(0.4, 0.01, 0.03, 0.1, 0.5),
    "slip law": aq.RateAndState(0.4, 0.01, 0.03, 0.1, 0.5, law="slip"),
}


def exact_velocity(name: str, duration: float) -> float:
    """Velocity of the thrown block by an integration of order 8; states: u, v, ψ = ln V₀θ/D."""

    def mu(u: float, v: float, psi: float) -> float:
        if name == "slip distance":
            return 0.4 - 0.3 * min(u / 2.0, 1.0)
        if name == "velocity":
            return 0.1 + 0.3 * float(np.exp(-v / 0.5))
        if name == "stribeck":
            return 0.1 + 0.3 * float(np.exp(-((v / 0.5) ** 2))) + 0.02 * v
        return 0.01 * float(np.arcsinh(0.5 * v / 0.5 * np.exp((0.4 + 0.03 * psi) / 0.01)))

    def slope(_: float, x: Any) -> list[float]:
        u, v, psi = x
        ageing = 0.5 / 0.1 * np.exp(-psi) - v / 0.1
        return [v, -GRAVITY * mu(u, v, psi), -v / 0.1 * (psi + np.log(v / 0.5)) if name == "slip law" else ageing]

    found = solve_ivp(slope, (0.0, duration), [0.0, THROWN, 0.0], method="DOP853", rtol=1e-12, atol=1e-13)
    return float(found.y[1, -1])


@pytest.mark.sampled(7)
@pytest.mark.parametrize("scheme", STEPPED)
@pytest.mark.parametrize("name", LAWS)
def test_order_of_the_scheme_is_kept(name: str, scheme: Any) -> None:
    """A thrown block under each smooth law: order 2, closed balance, and the loss of each step is positive."""
    errors, exact = [], exact_velocity(name, 0.3)
    for steps in (60, 120):
        result = aq.simulate(block(LAWS[name]), scheme, duration=0.3, step=0.3 / steps)
        errors.append(motion(result)[1][-1] - exact)
        assert abs(result["balance"].values).max() < 1e-13
        assert (np.diff(friction_loss(result)) > 0.0).all()
    assert np.log2(abs(errors[0] / errors[1])) == pytest.approx(2.0, abs=0.06)
    assert abs(errors[1]) < 1e-3


@pytest.mark.parametrize("scheme", [*STEPPED, aq.CentralDifference()])
@pytest.mark.parametrize("axes", [2, 3])
def test_released_at_the_static_threshold(scheme: Any, axes: int) -> None:
    """A push that grows linearly releases the block at μ_s N; then m v̇ = F − μ_d N, to the order of the step."""
    law, rate = aq.StaticDynamic(0.4, 0.1), 30.0
    released = 0.4 * WEIGHT / rate
    system = block(law, velocity=0.0, push=lambda t: rate * t, axes=axes)
    result = aq.simulate(system, scheme, duration=0.6, step=1e-3)
    u, v = motion(result)
    start = np.flatnonzero(u > 1e-12)[0]
    assert result["time"].values[start] == pytest.approx(released, abs=2.1e-3)
    exact = (0.5 * rate * (0.6**2 - released**2) - 0.1 * WEIGHT * (0.6 - released)) / MASS
    assert v[-1] == pytest.approx(exact, abs=3e-3 * (0.4 - 0.1) * GRAVITY)
    assert abs(u[start - 1]) < 1e-15


@pytest.mark.parametrize("scheme", STEPPED)
def test_equal_coefficients_are_coulombs_to_the_last_bit(scheme: Any) -> None:
    """μ_s = μ_d: also where the law is solved as one that depends on the state."""

    class Solved(aq.StaticDynamic):
        @property
        def state_dependent(self) -> bool:
            return True

    results = [
        aq.simulate(block(law, spring=2e3), scheme, duration=0.3, step=1e-3)
        for law in (aq.Coulomb(0.3), aq.StaticDynamic(0.3, 0.3), Solved(0.3, 0.3))
    ]
    for other in results[1:]:
        assert np.array_equal(motion(other)[1], motion(results[0])[1])
        assert np.array_equal(other["energy"].values, results[0]["energy"].values)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("law", [*LAWS.values(), aq.StaticDynamic(0.4, 0.1)])
def test_compiled_loop_and_sparse_steps_agree(law: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = aq.simulate(block(law, spring=2e3), aq.Theta(0.5), duration=0.2, step=1e-3)
    monkeypatch.setattr("arlequin.schemes.one_step.is_small", lambda assembly: False)
    sparse = aq.simulate(block(law, spring=2e3), aq.Theta(0.5), duration=0.2, step=1e-3)
    assert motion(compiled)[1] == pytest.approx(motion(sparse)[1], abs=1e-11)
    state = compiled["interface/contact"].dataset.get("friction_state")
    if isinstance(law, aq.RateAndState):
        assert state.attrs["units"] == "s"
        assert state.values == pytest.approx(sparse["interface/contact"]["friction_state"].values, rel=1e-10)
        assert state.values[0] == pytest.approx(0.1 / 0.5, rel=1e-14)  # θ₀ = D/V₀
    else:
        assert state is None


def test_on_the_multilevel_law() -> None:
    """Asperities and multiplier together press by the weight: the same release and slide as on rigid contact."""
    layer = [aq.Asperities(stiffness=1e4, exponent=1, height=1e-3), aq.Unilateral()]
    law = aq.StaticDynamic(0.4, 0.2)
    push = lambda t: (0.45 if t > 0.01 else 0.0) * WEIGHT  # noqa: E731
    rigid, layered = (
        aq.simulate(block(law, velocity=0.0, push=push, normal=normal), aq.Theta(0.5), duration=0.3, step=1e-3)
        for normal in (None, layer)
    )
    assert motion(layered)[1][-1] == pytest.approx(motion(rigid)[1][-1], rel=1e-9)
    assert motion(rigid)[1][-1] == pytest.approx(0.25 * GRAVITY * 0.29, rel=1e-2)


def test_velocity_table_and_pressure_table() -> None:
    """μ of a table at constant speed differences: μ(v) = 0.3 v on the first segment is a dashpot, μ(p) a constant."""
    viscous = aq.VelocityFriction([0.0, 10.0], [0.0, 3.0])
    result = aq.simulate(block(viscous), aq.Theta(0.5), duration=0.2, step=1e-3)
    rate = 0.3 * GRAVITY
    share = (1.0 - 0.5e-3 * rate) / (1.0 + 0.5e-3 * rate)  # midpoint rule of v̇ = −0.3 g v
    assert motion(result)[1][-1] == pytest.approx(THROWN * share**200, rel=1e-11)
    pressed = aq.PressureFriction([0.0, 20.0, 40.0], [0.5, 0.3, 0.2])  # a point mass has 1 m²
    result = aq.simulate(block(pressed), aq.Theta(0.5), duration=0.2, step=1e-3)
    assert motion(result)[1][-1] == pytest.approx(THROWN - 0.25 * GRAVITY * 0.2, rel=1e-12)
    of = aq.VelocityFriction.of(lambda v: 0.3 * v, [0.0, 10.0])
    assert of == viscous


def test_statics_stick_up_to_the_static_and_slip_at_the_dynamic_coefficient() -> None:
    spring = 1e3
    for push, wanted in ((0.39, 0.0), (0.41, (0.41 - 0.1) * WEIGHT / spring)):
        law = aq.StaticDynamic(0.4, 0.1)

        def force(t: float, push: float = push) -> tuple[float, float]:
            return push * WEIGHT * (t > 1.5), -WEIGHT * (t > 0.5)

        part = aq.PointMasses("block", [[0.0, 0.0]], mass=MASS, forces={"all": force})
        floor = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))
        contact = aq.Interface("contact", part.boundary("all"), floor, aq.Unilateral("gap"), friction=law)
        springs = [aq.Spring("spring", part.boundary("all"), stiffness=(spring, 0.0))]
        system = aq.System([part], interfaces=[contact], springs=springs)
        result = aq.simulate(system, aq.Static(), duration=2.0, step=1.0)
        assert motion(result)[0][-1] == pytest.approx(wanted, abs=1e-12)


def drift(law: aq.Orthotropic, pull: Any, press: float) -> Any:
    """Acceleration of sliding on a plane with the axes of the law: traction on the ellipse, slip along −t_i/ν_i²."""
    edges, axes = np.array([law.first, law.second]), np.array(law.slip_axes)

    def forces(angle: float) -> tuple[Any, Any]:
        traction = edges * np.array([np.cos(angle), np.sin(angle)]) * press
        return pull + traction, -traction / axes**2

    def turned(angle: float) -> float:
        acceleration, slip = forces(angle)
        return float(acceleration[0] * slip[1] - acceleration[1] * slip[0])

    angles = np.linspace(0.0, 2.0 * np.pi, 721)
    roots = [brentq(turned, a, b, xtol=1e-15) for a, b in itertools.pairwise(angles) if turned(a) * turned(b) < 0]
    (found,) = [forces(root)[0] for root in roots if forces(root)[0] @ forces(root)[1] > 0.0]
    return found


@pytest.mark.sampled(4)
@pytest.mark.parametrize("scheme", STEPPED)
@pytest.mark.parametrize("ratio", [None, 1.0, 2.5])
@pytest.mark.parametrize("angle", [0.0, 0.7])
def test_orthotropic_drift_on_an_incline(scheme: Any, ratio: float | None, angle: float) -> None:
    """Straight sliding from rest, along neither axis nor the fall line: direction and acceleration of the exact one."""
    law = aq.Orthotropic(0.3, 0.15, (np.cos(angle), np.sin(angle), 0.3), slip_ratio=ratio)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    exact = turn @ drift(law, turn.T @ np.array([3.0, 4.0]), 9.0)
    part = aq.PointMasses("block", [[0.0, 0.0, 0.0]], mass=2.0)
    floor = aq.RigidPlane(point=(0.0, 0.0, 0.0), normal=(0.0, 0.0, 1.0))
    contact = aq.Interface("contact", part.boundary("all"), floor, aq.Unilateral(), friction=law)
    system = aq.System([part], interfaces=[contact], gravity=(3.0, 4.0, -9.0))
    result = aq.simulate(system, scheme, duration=1.0, step=0.05)
    velocity = result["part/block"]["velocity"].values[-1, 0]
    assert velocity[:2] == pytest.approx(exact, rel=1e-10)
    assert abs(result["balance"].values).max() < 1e-13
    assert (np.diff(friction_loss(result)) > 0.0).all()


def test_orthotropic_stick_inside_the_ellipse() -> None:
    """Held by 0.29 of the pressure along the first axis, released by as much across."""
    for pull, moves in (((2.7, 0.0), False), ((0.0, 2.7), True)):
        part = aq.PointMasses("block", [[0.0, 0.0, 0.0]], mass=2.0)
        floor = aq.RigidPlane(point=(0.0, 0.0, 0.0), normal=(0.0, 0.0, 1.0))
        law = aq.Orthotropic(0.3, 0.15, (1.0, 0.0, 0.0))
        contact = aq.Interface("contact", part.boundary("all"), floor, aq.Unilateral(), friction=law)
        system = aq.System([part], interfaces=[contact], gravity=(*pull, -9.3))
        result = aq.simulate(system, aq.Theta(0.5), duration=0.1, step=0.01)
        speed = np.linalg.norm(result["part/block"]["velocity"].values[-1, 0])
        assert speed == pytest.approx((2.7 - 0.15 * 9.3) * 0.1 if moves else 0.0, abs=1e-14)


def test_steps_that_may_branch_are_said() -> None:
    steep = aq.Stribeck(0.5, 0.1, 1e-4)
    with pytest.warns(ModelWarning, match="several solutions"):
        aq.simulate(block(steep), aq.Theta(0.5), duration=0.01, step=1e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        aq.simulate(block(steep), aq.Theta(0.5), duration=1e-4, step=1e-6)


@pytest.mark.sampled(7)
@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: aq.StaticDynamic(0.2, 0.3), r"^dynamic = 0.3: must be at most the static coefficient, 0.2$"),
        (lambda: aq.StaticDynamic(0.3, 0.2, 1e-3, 0.1), r"^velocity = 0.1: must be left out beside a slip_distance$"),
        (lambda: aq.StaticDynamic(0.3, 0.2, slip_distance=0.0), r"^slip_distance = 0.0: must be positive$"),
        (lambda: aq.Stribeck(0.2, 0.3, 1.0), r"^dynamic = 0.3: must be at most the static"),
        (lambda: aq.VelocityFriction([0.0, 1.0], [0.3, -0.1]), r"^coefficients = .*: must not be negative$"),
        (lambda: aq.VelocityFriction([1.0, 0.5], [0.3, 0.1]), r"^velocities = .*: must not be negative and grow"),
        (lambda: aq.VelocityFriction([0.0], [0.3]), r"^coefficients = .*: needs one for each"),
        (lambda: aq.PressureFriction([0.0, 1.0], [0.5, 0.1]), r"^coefficients = .*: must not fall so fast"),
        (lambda: aq.RateAndState(0.6, 0.0, 0.01, 1e-3, 1e-3), r"^direct = 0.0: must be positive$"),
        (lambda: aq.RateAndState(0.6, 0.01, 0.01, 1e-3, 1e-3, law="dieterich"), r"^law = "),
        (lambda: aq.Orthotropic(0.3, 0.2, (0.0, 0.0, 0.0)), r"^direction = .*: must be a vector"),
        (lambda: aq.Orthotropic(0.3, 0.0, (1.0, 0.0, 0.0)), r"^second = 0.0: must be positive$"),
    ],
)
def test_bad_input(make: Any, said: str) -> None:
    with pytest.raises(UserError, match=said):
        make()


def test_direction_along_the_normal_is_refused() -> None:
    with pytest.raises(UserError, match=r"^direction = .*: must have a part along the surface"):
        system = block(aq.Orthotropic(0.3, 0.2, (0.0, 0.0, 1.0)), axes=3)
        aq.simulate(system, aq.Theta(0.5), duration=0.01, step=1e-3)


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="without a compiler")
def test_laws_share_one_compiled_evaluation() -> None:
    """Kernels pass as first-class functions of one declared type: one signature, whatever laws there were. Compiled for
    each kernel by itself, its cache kept references to kernels of former processes, which later ones could not read."""
    from arlequin.multilevel.laws._friction_kernels import evaluate_many
    from arlequin.multilevel.laws.friction import VARIABLES, SlidingState

    state = SlidingState(np.zeros(2), np.ones(2), np.ones(2), np.zeros((2, VARIABLES)))
    for law in (aq.StaticDynamic(0.4, 0.1, velocity=0.5), aq.Stribeck(0.4, 0.1, 0.5), aq.StaticDynamic(0.3, 0.3)):
        assert np.isfinite(law.mu(state)).all()
    assert len(evaluate_many.signatures) == 1
