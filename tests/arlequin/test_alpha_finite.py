"""The generalised-α family on parts of finite rotations and strains: order, small motions, blow-up, flow, contact."""

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import arlequin as aq
from arlequin.energy import KINDS
from arlequin.run.audit import Audit
from arlequin.solvers.initial_state import start_fields
from arlequin.system.assembly import assemble

SOFT = aq.LinearElastic(2.0, 0.3, 1.5)
RUBBER = aq.NeoHooke(2.0, 0.3, 1.5)
METAL = aq.J2(2.0, 0.3, 1.5, yield_stress=0.1, hardening=aq.LinearHardening(0.1))
SCHEMES = {
    "trapezoidal rule": aq.Newmark(),
    "HHT": aq.HHT(-0.1),
    "generalised-α": aq.GeneralisedAlpha.with_radius(0.7),
    "modified mean acceleration": aq.ModifiedMeanAcceleration(-0.1),
}


def block(low: Any = (0.0, 0.0), high: Any = (1.0, 0.8), cells: Any = (3, 2), **options: Any) -> aq.Solid:
    """A solid of finite strain, of quadrilaterals or hexahedra."""
    if len(low) == 3:
        mesh, plane = aq.mesh.box(*zip(low, high, strict=True), cells=cells), None
    else:
        mesh, plane = aq.mesh.rectangle(*zip(low, high, strict=True), cells=cells), "strain"
    given = {"material": SOFT, "kinematics": "finite", "plane": plane, **options}
    return aq.Solid("block", mesh, given.pop("material"), **given)


def stretched(size: float) -> Any:
    """x → displacement: stretched along the last axis, and half as much along the first."""
    return lambda x: size * x * np.linspace(0.5, 1.0, x.shape[1])


def spinning(rate: float, stretch: float = 0.0) -> Any:
    """x → velocity of a body, stretched as above, that spins in its first two axes."""

    def velocity(x: Any) -> Any:
        now, out = x + stretched(stretch)(x), np.zeros_like(x)
        out[:, :2] = rate * np.stack([-now[:, 1], now[:, 0]], axis=1)
        return out

    return velocity


class Run:
    """Steps of a system, and their energies."""

    def __init__(self, system: aq.System, scheme: Any, step: float, steps: int) -> None:
        self.assembly = assemble(system)
        stepper = scheme.prepare(self.assembly, step)
        self.states = [stepper.start(*start_fields(self.assembly, step))]
        audit = Audit(self.states[0].kinetic, *self.states[0].stored)
        self.batches: list[Any] = []
        self.energies = [audit.start]
        for _ in range(steps):
            state, batch = stepper.advance(self.states[-1])
            self.energies.append(audit.add(batch.works)[0][0])
            self.states.append(state)
            self.batches.append(batch)
        self.balance = float(np.abs(audit.balance).max())


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("name", "law"),
    [
        pytest.param(name, law, id=f"{kind}-{name}", marks=() if i % 2 == j else pytest.mark.slow)
        for i, name in enumerate(SCHEMES)
        for j, (kind, law) in enumerate({"svk": None, "neo-hooke": RUBBER}.items())
    ],
)
def test_motion_is_that_of_newtons_law(name: str, law: Any) -> None:
    """Against an integrator of order 8 of M ü = −f(u); order 2, or 1."""
    scheme = SCHEMES[name]
    options = {"material": law} if law else {}
    system = aq.System([block(cells=(2, 1), **options)], displacement=stretched(0.3), velocity=spinning(1.0, 0.3))
    end = 1.2
    runs = [Run(system, scheme, end / n, n) for n in (24, 48)]
    assembly, start = runs[0].assembly, runs[0].states[0]
    mass, d = assembly.mass.toarray(), assembly.dof_count

    def rate(_: float, state: Any) -> Any:
        force = assembly.respond(state[:d], assembly.fresh(), 0.0).force
        return np.concatenate([state[d:], -np.linalg.solve(mass, force)])

    exact = solve_ivp(rate, (0.0, end), np.concatenate([start.u, start.v]), "DOP853", rtol=1e-10, atol=1e-12).y[:d, -1]
    off = [np.abs(run.states[-1].u - exact).max() / np.abs(exact).max() for run in runs]
    assert off[1] < (0.01 if scheme.order == 2 else 0.05)
    assert np.log2(off[0] / off[1]) == pytest.approx(scheme.order, abs=0.25)
    assert max(run.balance for run in runs) <= 1e-12


def test_small_motions_are_those_of_a_linear_body() -> None:
    """To the square of the motion."""
    off = []
    for size in (1e-4, 1e-5):
        ends = []
        for kinematics in ("finite", "small"):
            part = block(kinematics=kinematics, damping=aq.Rayleigh(mass=0.1))
            system = aq.System([part], displacement=stretched(size))
            ends.append(Run(system, aq.HHT(-0.1), 0.05, 20).states[-1].u / size)
        off.append(np.abs(ends[0] - ends[1]).max())
    assert off[0] < 1e-3 and off[0] / off[1] == pytest.approx(10.0, rel=0.2)


@pytest.mark.slow
def test_the_trapezoidal_rule_feeds_rotations_which_theta_does_not() -> None:
    """Until no motion solves a step: the known blow-up, where the energy–momentum scheme keeps its energy."""
    solid = block((0, 0, 0), (0.3, 0.1, 0.2), (3, 1, 2), material=aq.NeoHooke(1e6, 0.3, 1000.0))
    system = aq.System([solid], velocity=spinning(20.0))
    kept = Run(system, aq.Theta(), 0.0125, 60)
    energies = np.array([state.kinetic + state.strain for state in kept.states])
    assert np.ptp(energies) <= 1e-11 * energies[0]
    assembly = kept.assembly
    stepper = aq.Newmark().prepare(assembly, 0.0125)
    state, fed = stepper.start(kept.states[0].u, kept.states[0].v), [0.0]
    with pytest.raises(aq.UserError, match=r"^the step to t = .* did not converge .*, with the step cut to 1/256"):
        for _ in range(400):
            state, _ = stepper.advance(state)
            fed.append(state.kinetic + state.strain)
    assert max(fed) > 1.2 * energies[0]


@pytest.mark.slow
def test_steps_are_cut_where_they_fail() -> None:
    """A metal block that hits a wall in long steps: each is done in parts, and the balance closes over them."""
    part = block(high=(1.0, 0.3), cells=(6, 2), material=METAL)
    wall = aq.RigidPlane(point=(0.0, 0.0), normal=(1.0, 0.0))
    touch = aq.Interface("wall", part.boundary("left"), wall, aq.Unilateral(level="gap"))
    system = aq.System([part], interfaces=[touch], velocity=(-0.8, 0.0))
    run = Run(system, aq.HHT(-0.2), 0.8, 5)
    assert max(int(batch.newton[0]) for batch in run.batches) > 40
    assert run.balance <= 1e-12
    fine = Run(system, aq.HHT(-0.2), 0.2, 20)
    shapes = [own.states[-1].u for own in (run, fine)]
    assert np.abs(shapes[0] - shapes[1]).max() < 0.2 * np.abs(shapes[1]).max()


def test_flow_agrees_with_another_scheme() -> None:
    """Newmark and the θ-scheme flow to the same shape, the closer the smaller the steps."""
    off = []
    for n in (40, 80):
        system = aq.System([block(material=METAL)], velocity=lambda x: 0.3 * x * [1.0, -1.0])
        ends = [Run(system, scheme, 2.0 / n, n) for scheme in (aq.Newmark(), aq.Theta())]
        off.append(np.abs(ends[0].states[-1].u - ends[1].states[-1].u).max() / np.abs(ends[1].states[-1].u).max())
        plastic = [run.energies[-1][KINDS.index("plastic")] for run in ends]
        assert plastic[0] > 0.0 and plastic[0] == pytest.approx(plastic[1], rel=0.05)
        assert max(run.balance for run in ends) <= 1e-12
    assert off[1] < 0.02 and off[1] < 0.7 * off[0]


def test_contact_with_friction_changes_the_momentum_by_its_impulses() -> None:
    part = block(high=(1.0, 0.5), cells=(4, 2), material=METAL)
    floor = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))
    touch = aq.Interface("floor", part.boundary("bottom"), floor, aq.Unilateral(level="gap"), friction=aq.Coulomb(0.3))
    run = Run(aq.System([part], interfaces=[touch], velocity=(0.1, -0.3)), aq.Newmark(0.3025, 0.6), 0.02, 60)
    assert run.balance <= 1e-12
    momenta = np.array([(run.assembly.mass @ state.v).reshape(-1, 2).sum(axis=0) for state in run.states])
    basis = run.assembly.contact.basis
    given = [basis.T @ batch.contact.spread[0] for batch in run.batches]
    impulses = np.array([pull.reshape(-1, 2).sum(axis=0) for pull in given])
    assert np.diff(momenta, axis=0) == pytest.approx(impulses, abs=1e-13)
    assert impulses[:, 1].sum() > 0.1 and impulses[:, 0].sum() < -0.01


def test_parts_that_it_does_not_step() -> None:
    viscous = block(damping=aq.Rayleigh(stiffness=0.1))
    for part in (aq.Rigid(block(kinematics="small")), viscous):
        with pytest.raises(
            aq.UserError, match=r"^part 'block': GeneralisedAlpha steps neither rigid parts nor viscous"
        ):
            Run(aq.System([part]), aq.Newmark(), 0.1, 1)
