"""Time schemes: orders against an integrated system, textbook recursions of one dof, the explicit limit."""

import re
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import eigh, expm

import arlequin as aq
from arlequin.models import mesh
from arlequin.models.errors import UserError
from arlequin.models.fem.bar import Bar
from arlequin.models.materials.elastic import LinearElastic, Rayleigh
from arlequin.multilevel.interface import Interface
from arlequin.multilevel.laws.penalty import Penalty
from arlequin.multilevel.obstacles.base import RigidPlane
from arlequin.schemes import (
    HHT,
    CentralDifference,
    GeneralisedAlpha,
    Midpoint,
    ModifiedMeanAcceleration,
    Newmark,
    Static,
    Theta,
)
from arlequin.schemes.stable_step import stable_step
from arlequin.solvers.initial_state import start_fields
from arlequin.system.assembly import Assembly, assemble
from arlequin.system.system import System

SCHEMES: dict[str, Any] = {
    "theta 0.5": Theta(0.5),
    "theta 0.7": Theta(0.7),
    "theta 1": Theta(1.0),
    "midpoint": Midpoint(),
    "newmark": Newmark(0.25, 0.5),
    "newmark damped": Newmark(0.3025, 0.6),
    "hht": HHT(-0.1),
    "modified mean acceleration": ModifiedMeanAcceleration(-0.1),
    "generalised alpha": GeneralisedAlpha.with_radius(0.5),
    "generalised alpha 0": GeneralisedAlpha.with_radius(0.0),
    "central difference": CentralDifference(),
}
UNIT = LinearElastic(young=1.0, density=1.0)
EXPLICIT = ["central difference"]


def bar(scheme: str, cells: int = 3, **options: Any) -> Bar:
    options = {"mass": "lumped" if scheme in EXPLICIT else "consistent", **options}
    return Bar("bar", mesh.interval(0.0, 1.0, cells=cells), UNIT, **options)


def march(system: System, scheme: Any, step: float, steps: int) -> tuple[Assembly, list[Any]]:
    assembly = assemble(system)
    stepper = scheme.prepare(assembly, step)
    states = [stepper.start(*start_fields(assembly, step))]
    for _ in range(steps):
        states.append(stepper.advance(states[-1])[0])
    return assembly, states


def order_of(errors: list[float], steps: list[int]) -> float:
    return float(-np.polyfit(np.log(steps), np.log(errors), 1)[0])


def motion(t: float) -> tuple[float, float, float]:
    """A smooth end motion from rest at a slope, its velocity and acceleration."""
    return 0.05 * np.sin(2.0 * t), 0.1 * np.cos(2.0 * t), -0.2 * np.sin(2.0 * t)


def integrate(assembly: Assembly, u0: Any, v0: Any, end: float, driven: bool) -> tuple[Any, Any]:
    """u and v at the end by an adaptive method of order 8; the driven dofs follow `motion`."""
    m, k = assembly.mass.toarray(), assembly.stiffness.toarray()
    d = assembly.damping.toarray() if assembly.damping is not None else 0.0 * m
    free = np.flatnonzero(assembly.free)
    given = assembly.imposed_dofs
    inverse = np.linalg.inv(m[np.ix_(free, free)])

    def full(values: Any, number: int, t: float) -> Any:
        out = np.zeros(m.shape[0])
        out[free] = values
        if driven:
            out[given] = motion(t)[number]
        return out

    def rate(t: float, y: Any) -> Any:
        u, v = full(y[: free.size], 0, t), full(y[free.size :], 1, t)
        force = assembly.load(t) - k @ u - d @ v - m @ full(0.0, 2, t)
        return np.concatenate([y[free.size :], inverse @ force[free]])

    out = solve_ivp(rate, (0.0, end), np.concatenate([u0[free], v0[free]]), "DOP853", rtol=1e-12, atol=1e-14).y[:, -1]
    return full(out[: free.size], 0, end), full(out[free.size :], 1, end)


def errors_of(name: str, system: System, steps: list[int], end: float, driven: bool) -> tuple[list[float], list[float]]:
    errors: tuple[list[float], list[float]] = ([], [])
    for count in steps:
        assembly, states = march(system, SCHEMES[name], end / count, count)
        exact = integrate(assembly, states[0].u, states[0].v, end, driven)
        for error, got, wanted in zip(errors, (states[-1].u, states[-1].v), exact, strict=True):
            error.append(float(np.linalg.norm(got - wanted)))
    return errors


@pytest.fixture(params=[[120, 270], pytest.param([80, 120, 180, 270], marks=pytest.mark.slow)], ids=len)
def counts(request: pytest.FixtureRequest) -> list[int]:
    """Numbers of steps of a study of convergence."""
    return list(request.param)


def check_order(name: str, system: System, counts: list[int], driven: bool = False, order: int | None = None) -> None:
    order = SCHEMES[name].order if order is None else order
    fine = [4 * n for n in counts] if order == 1 or name in ("generalised alpha 0", *EXPLICIT) else counts
    for errors in errors_of(name, system, fine, 1.5, driven):
        assert errors[-1] < 3e-3
        assert abs(order_of(errors, fine) - order) <= 0.1, errors


def profile(x: Any) -> Any:
    return 0.1 * np.cos(1.3 * x) + 0.05 * x**2


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", SCHEMES)
def test_order_in_free_vibration_with_load(name: str, counts: list[int]) -> None:
    part = bar(name, body_force=lambda x, t: (0.3 * np.cos(3.0 * t) * (1.0 + x[0]),))
    check_order(name, System([part], velocity=lambda x: -profile(x), displacement=profile), counts)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        pytest.param(name, kind, marks=() if i % 2 == j else pytest.mark.slow)
        for i, name in enumerate(SCHEMES)
        for j, kind in enumerate(("imposed", "imposed_velocity"))
    ],
)
def test_order_with_imposed_motion(name: str, kind: str, counts: list[int]) -> None:
    number = 0 if kind == "imposed" else 1
    part = bar(name, **{kind: {"left": {"x": lambda t: motion(t)[number]}}})
    check_order(name, System([part], velocity=lambda x: 0.1 * np.cos(x)), counts, driven=True)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", SCHEMES)
def test_order_with_damping(name: str, counts: list[int]) -> None:
    """Rayleigh damping; central differences take it half a step late, which leaves them order 1."""
    part = bar(
        name, damping=Rayleigh(mass=0.2, stiffness=0.03), tractions={"right": lambda x, t: (0.2 * np.sin(2.0 * t),)}
    )
    check_order(name, System([part], velocity=profile), counts, order=1 if name in EXPLICIT else None)


def test_free_vibration_against_the_matrix_exponential() -> None:
    """The reference of the orders is itself checked: exp(tA) of the semi-discrete bar."""
    assembly, states = march(System([bar("theta 0.5")], displacement=profile), Theta(0.5), 1.5 / 400, 400)
    m, k = assembly.mass.toarray(), assembly.stiffness.toarray()
    n = len(m)
    generator = np.block([[np.zeros((n, n)), np.eye(n)], [-np.linalg.solve(m, k), np.zeros((n, n))]])
    exact = expm(1.5 * generator) @ np.concatenate([states[0].u, states[0].v])
    assert integrate(assembly, states[0].u, states[0].v, 1.5, False)[0] == pytest.approx(exact[:n], abs=1e-11)
    assert states[-1].u == pytest.approx(exact[:n], abs=2e-5)


def one_dof(**options: Any) -> tuple[System, float, float, float]:
    """A bar of one element, clamped at the left: M = 1/3, K = 1; and its damping."""
    damping = Rayleigh(mass=0.4, stiffness=0.05)
    part = bar(
        "",
        cells=1,
        imposed={"left": {"x": 0.0}},
        damping=damping,
        tractions={"right": lambda x, t: (np.sin(5.0 * t),)},
        **options,
    )
    return System([part], velocity=lambda x: 0.7 * x, displacement=lambda x: 0.2 * x), 1.0 / 3.0, 1.0, 0.4 / 3.0 + 0.05


def textbook(
    m: float, k: float, d: float, am: float, af: float, beta: float, gamma: float, dt: float, steps: int
) -> Any:
    """Generalised-α of Chung and Hulbert for one dof, as they write it: displacement, velocity, acceleration (t, 3)."""
    u, v = 0.2, 0.7
    a = (np.sin(0.0) - d * v - k * u) / m
    out = [(u, v, a)]
    for n in range(steps):
        load = (1.0 - af) * np.sin(5.0 * (n + 1) * dt) + af * np.sin(5.0 * n * dt)
        predicted_u = u + dt * v + dt**2 * (0.5 - beta) * a
        predicted_v = v + dt * (1.0 - gamma) * a
        left = (1.0 - am) * m + (1.0 - af) * (gamma * dt * d + beta * dt**2 * k)
        right = load - am * m * a - d * ((1.0 - af) * predicted_v + af * v) - k * ((1.0 - af) * predicted_u + af * u)
        a = right / left
        u, v = predicted_u + beta * dt**2 * a, predicted_v + gamma * dt * a
        out.append((u, v, a))
    return np.array(out)


CONSTANTS = {
    "newmark": (0.0, 0.0, 0.25, 0.5),
    "newmark damped": (0.0, 0.0, 0.3025, 0.6),
    "hht": (0.0, 0.1, 0.25 * 1.1**2, 0.6),
    "modified mean acceleration": (0.0, 0.0, 0.25 * 1.1**2, 0.6),
    # ρ = 1/2: α_m = (2ρ − 1)/(ρ + 1) = 0, α_f = ρ/(ρ + 1) = 1/3
    "generalised alpha": (0.0, 1.0 / 3.0, 0.25 * (1.0 + 1.0 / 3.0) ** 2, 0.5 + 1.0 / 3.0),
    "generalised alpha 0": (-1.0, 0.0, 1.0, 1.5),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", CONSTANTS)
@pytest.mark.parametrize("dt", [0.05, 0.7])
def test_recursion_of_one_dof(name: str, dt: float) -> None:
    system, m, k, d = one_dof()
    _, states = march(system, SCHEMES[name], dt, 200)
    exact = textbook(m, k, d, *CONSTANTS[name], dt, 200)
    got = np.array([(s.u[1], s.v[1], (s.scheme_state.bulk[1] + s.scheme_state.pulled[1]) / m) for s in states])
    assert np.abs(got - exact).max(axis=0) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("theta", [0.5, 0.7, 1.0])
def test_theta_recursion_of_one_dof(theta: float) -> None:
    system, m, k, d = one_dof()
    dt, u, v = 0.3, 0.2, 0.7
    _, states = march(system, Theta(theta), dt, 200)
    for n, state in enumerate(states):
        assert (state.u[1], state.v[1]) == pytest.approx((u, v), abs=1e-12)
        load = theta * np.sin(5.0 * (n + 1) * dt) + (1.0 - theta) * np.sin(5.0 * n * dt)
        # u and v at the end from the two equations of the scheme, solved together
        matrix = np.array([[1.0, -dt * theta], [dt * theta * k, m + dt * theta * d]])
        right = [u + dt * (1.0 - theta) * v, m * v + dt * (load - (1.0 - theta) * (k * u + d * v))]
        u, v = np.linalg.solve(matrix, right)


def amplification(name: str, omega_dt: float) -> float:
    """Spectral radius of the textbook's free undamped recursion."""
    am, af, beta, gamma = CONSTANTS[name]
    w = omega_dt**2
    left = np.array([[1.0, 0.0, -beta], [0.0, 1.0, -gamma], [(1 - af) * w, 0.0, 1 - am]])
    right = np.array([[1.0, 1.0, 0.5 - beta], [0.0, 1.0, 1 - gamma], [-af * w, 0.0, -am]])
    return float(np.abs(np.linalg.eigvals(np.linalg.solve(left, right))).max())


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", CONSTANTS)
def test_dissipation_of_free_vibration(name: str) -> None:
    """The decay of one dof is the spectral radius of the amplification matrix; at high frequency ρ_∞."""
    part = bar("", cells=1, imposed={"left": {"x": 0.0}})
    system = System([part], displacement=lambda x: 0.2 * x)
    for dt in (0.2, 1.0):
        _, states = march(system, SCHEMES[name], dt, 400)
        energy = np.array([s.kinetic + s.strain for s in states])
        radius = amplification(name, dt * np.sqrt(3.0))
        assert (energy[300] / energy[100]) ** (1.0 / 400.0) == pytest.approx(radius, rel=2e-3)
    limit = {"newmark": 1.0, "generalised alpha": 0.5, "generalised alpha 0": 0.0}
    if name in limit:
        assert amplification(name, 1e6) == pytest.approx(limit[name], abs=1e-2)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("contact", [False, True])
def test_central_difference_limit(contact: bool) -> None:
    """Refused above a limit that the message states, which bounds 2/ω from below; stable just below it."""
    part = bar("central difference", cells=7)
    stiffness = 30.0
    interfaces = (
        [Interface("end", part.boundary("right"), RigidPlane(1.0, -1.0), Penalty(stiffness))] if contact else []
    )
    system = System([part], interfaces=interfaces, velocity=lambda x: np.cos(40.0 * x))
    assembly = assemble(system)
    limit = stable_step(assembly)
    k = assembly.stiffness.toarray()
    if contact:
        k[-1, -1] += stiffness
    exact = 2.0 / np.sqrt(eigh(k, assembly.mass.toarray(), eigvals_only=True)[-1])
    assert exact >= limit
    assert exact <= (1.3 if contact else 1.05) * limit
    with pytest.raises(UserError, match=re.escape(f"{limit:.6g}")) as error:
        CentralDifference().prepare(assembly, 1.0001 * limit)
    assert error.value.code == 2
    _, states = march(system, CentralDifference(), 0.999 * limit, 3000)
    assert np.abs(states[-1].u - states[-1].u.mean()).max() < 2.0


@pytest.mark.sampled(1)
@pytest.mark.parametrize("damping", [Rayleigh(mass=3.0), Rayleigh(stiffness=0.05), Rayleigh(mass=1.0, stiffness=1e-3)])
def test_central_difference_limit_with_damping(damping: Rayleigh) -> None:
    """Lagging damping lowers the limit to w² + 2d < 4 in each mode, from z² − (2 − w² − d) z + 1 − d."""
    part = bar("central difference", cells=10, damping=damping)
    system = System([part], velocity=lambda x: np.cos(40.0 * x))
    assembly = assemble(system)
    limit = stable_step(assembly)
    square = eigh(assembly.stiffness.toarray(), assembly.mass.toarray(), eigvals_only=True)[-1]

    def radius(dt: float) -> float:
        w, d = square * dt**2, dt * (damping.mass + damping.stiffness * square)
        return float(np.abs(np.roots([1.0, -(2.0 - w - d), 1.0 - d])).max())

    assert radius(limit) <= 1.0 + 1e-9
    assert radius(1.4 * limit) > 1.0
    _, states = march(system, CentralDifference(), 0.99 * limit, 2000)
    assert np.abs(states[-1].v).max() < 1.0


def test_central_difference_blows_up_above_the_exact_limit() -> None:
    """The other side of the limit: of a uniform bar it is sharp (lumped: 2/ω = h/c)."""
    part = bar("central difference", cells=50)
    assembly = assemble(System([part]))
    assert stable_step(assembly) == pytest.approx(1.0 / 50.0, rel=1e-8)
    highest = eigh(assembly.stiffness.toarray(), assembly.mass.toarray(), eigvals_only=True)[-1]
    assert 2.0 / np.sqrt(highest) == pytest.approx(1.0 / 50.0, rel=1e-3)


def test_central_difference_is_leapfrog() -> None:
    """u(t_{n+1}) = 2u(t_n) − u(t_{n−1}) + Δt² M⁻¹ f, written out."""
    part = bar("central difference", cells=5)
    dt = 0.1
    assembly, states = march(System([part], displacement=profile, velocity=profile), CentralDifference(), dt, 100)
    m, k = assembly.mass.diagonal(), assembly.stiffness.toarray()
    before, now = states[0].u, states[0].u + dt * states[0].v - 0.5 * dt**2 * (k @ states[0].u) / m
    for state in states[1:]:
        assert state.u == pytest.approx(now, abs=1e-12)
        before, now = now, 2.0 * now - before - dt**2 * (k @ now) / m


@pytest.mark.parametrize("mass", ["consistent", "redistributed"])
def test_central_difference_needs_lumped_mass(mass: str) -> None:
    part = bar("central difference", mass=mass)
    wall = Interface("end", part.boundary("right"), RigidPlane(2.0, -1.0), Penalty(1.0))
    with pytest.raises(UserError, match="lumped"):
        CentralDifference().prepare(assemble(System([part], interfaces=[wall])), 1e-3)


@pytest.mark.sampled(7)
@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: Theta(0.4), "theta"),
        (lambda: Theta(1.1), "theta"),
        (lambda: Theta(float("nan")), "theta"),
        (lambda: HHT(0.1), "alpha"),
        (lambda: HHT(-0.5), "alpha"),
        (lambda: ModifiedMeanAcceleration(-0.5), "alpha"),
        (lambda: Newmark(0.1, 0.5), "beta"),
        (lambda: Newmark(0.25, 0.4), "gamma"),
        (lambda: Newmark(0.25, 0.9), "beta"),  # its spectral radius reaches 3.8
        (lambda: GeneralisedAlpha.with_radius(1.5), "radius"),
        (lambda: GeneralisedAlpha(0.8, 0.2, 0.3, 0.5), "alpha_m"),
    ],
)
def test_bad_constants_are_named(make: Any, word: str) -> None:
    with pytest.raises(UserError, match=word) as error:
        make()
    assert error.value.code == 2
    assert "\n" not in str(error.value)


def test_statics_refuses_what_it_cannot_do() -> None:
    """Laws on the velocity, damped laws, and a start in motion."""
    from arlequin.multilevel.laws.asperities import Asperities
    from arlequin.multilevel.laws.unilateral import Unilateral

    part = bar("")
    for law in (Unilateral("velocity"), Asperities(1.0, 1.0, 0.1, damping=1.0)):
        wall = Interface("end", part.boundary("right"), RigidPlane(2.0, -1.0), law)
        with pytest.raises(UserError, match="statics"):
            Static().prepare(assemble(System([part], interfaces=[wall])), 0.1)
    assembly = assemble(System([bar("", imposed={"left": {"x": 0.0}})], velocity=1.0))
    with pytest.raises(UserError, match="rest"):
        start_fields(assembly, 0.1, static=True)
    loaded = assemble(System([bar("", imposed={"left": {"x": 0.0}}, body_force=(1.0,))]))
    with pytest.raises(UserError, match="unloaded"):
        Static().prepare(loaded, 0.1).start(*start_fields(loaded, 0.1, static=True))


def test_midpoint_refuses_unilateral_contact_with_mass() -> None:
    from arlequin.multilevel.laws.unilateral import Unilateral

    part = bar("")
    wall = Interface("end", part.boundary("right"), RigidPlane(2.0, -1.0), Unilateral("gap"))
    with pytest.raises(UserError, match="redistributed"):
        Midpoint().prepare(assemble(System([part], interfaces=[wall])), 0.1)


@pytest.mark.parametrize(
    "text",
    [
        "Newmark()", "Newmark(solver='direct')", "Newmark(beta=0.3, gamma=0.55)", "HHT(alpha=-0.1)",
        "HHT(alpha=-0.05, solver='direct')", "ModifiedMeanAcceleration(alpha=-0.07)",
        "GeneralisedAlpha.with_radius(radius=0.8)", "GeneralisedAlpha(alpha_m=0.1, alpha_f=0.5, beta=0.6, gamma=0.9)",
    ],
)  # fmt: skip
def test_schemes_print_as_they_are_made(text: str) -> None:
    scheme = eval(f"aq.{text}", {"aq": aq})
    assert repr(scheme) == text
    assert eval(f"aq.{scheme!r}", {"aq": aq}) == scheme
