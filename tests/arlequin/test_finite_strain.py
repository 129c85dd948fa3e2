"""Finite strains with memory, implicit: energy and momenta, plastic work, closed forms of statics, refusals."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq

import arlequin as aq
from arlequin.energy import KINDS
from arlequin.run.audit import Audit
from arlequin.solvers.initial_state import start_fields
from arlequin.system.assembly import assemble

RUBBER = aq.NeoHooke(2.0, 0.3, 1.5)
METAL = aq.J2(2.0, 0.3, 1.5, yield_stress=0.1, hardening=aq.LinearHardening(0.1))
STEEL = aq.J2(2e11, 0.3, 7800.0, yield_stress=4e8, hardening=(aq.LinearHardening(2e9), aq.Voce(3e8, 12.0)))


def block(law: Any, low: Any = (0.0, 0.0), high: Any = (1.0, 0.8), cells: Any = (3, 2), **options: Any) -> Any:
    """A solid of finite strain, of quadrilaterals or hexahedra."""
    if len(low) == 3:
        mesh, plane = aq.mesh.box(*zip(low, high, strict=True), cells=cells), None
    else:
        mesh, plane = aq.mesh.rectangle(*zip(low, high, strict=True), cells=cells), "strain"
    given = {"name": "block", "kinematics": "finite", "plane": plane, **options}
    return aq.Solid(given.pop("name"), mesh, law, **given)


def stretched(size: float) -> Any:
    """x → displacement: stretched along the last axes."""
    return lambda x: size * x * np.arange(1, x.shape[1] + 1) / x.shape[1]


def spinning(rate: float, stretch: float) -> Any:
    """x → velocity of a body, stretched as above, that spins in its first two axes and flies."""

    def velocity(x: Any) -> Any:
        now = x + stretched(stretch)(x)
        out = np.full_like(x, 0.3)
        out[:, 0] -= rate * now[:, 1]
        out[:, 1] += rate * now[:, 0]
        return out

    return velocity


class Run:
    """Steps of a system, their works and momenta."""

    def __init__(self, system: aq.System, scheme: Any, step: float, steps: int) -> None:
        self.assembly = assemble(system)
        self.stepper = scheme.prepare(self.assembly, step)
        self.states = [self.stepper.start(*start_fields(self.assembly, step, scheme.static))]
        audit = Audit(self.states[0].kinetic, *self.states[0].stored)
        self.batches: list[Any] = []
        energies = [audit.start]
        for _ in range(steps):
            state, batch = self.stepper.advance(self.states[-1])
            energies.append(audit.add(batch.works)[0][0])
            self.states.append(state)
            self.batches.append(batch)
        self.energies = dict(zip(KINDS, np.array(energies).T, strict=True))
        self.balance = float(np.abs(audit.balance).max())
        self.newton = [int(batch.newton[0]) for batch in self.batches]

    def momenta(self) -> Any:
        """Linear and angular momentum about the origin of every state."""
        axes = self.assembly.system.parts[0].components
        reference = np.concatenate([part.positions for part in self.assembly.system.parts])
        out = []
        for state in self.states:
            p = (self.assembly.mass @ state.v).reshape(-1, axes)
            moment = (reference + state.u.reshape(-1, axes)).T @ p
            out.append([*p.sum(axis=0), *(moment - moment.T)[np.triu_indices(axes, 1)]])
        return np.array(out)


BODIES: dict[str, Any] = {
    "quad": {},
    "points": {"volumetric": "points"},
    "quad 2": {"order": 2, "cells": (2, 1)},
    "hex": {"low": (0.0, 0.0, 0.0), "high": (1.0, 0.8, 0.5), "cells": (2, 2, 1)},
}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("kind", BODIES)
def test_a_tumbling_neo_hookean_block_keeps_energy_and_momenta(kind: str) -> None:
    system = aq.System([block(RUBBER, **BODIES[kind])], displacement=stretched(0.2), velocity=spinning(2.0, 0.2))
    run = Run(system, aq.Midpoint(), step=0.05, steps=60)
    total = run.energies["kinetic"] + run.energies["strain"]
    momenta = run.momenta()
    assert np.abs(total - total[0]).max() <= 1e-12 * total[0]
    assert np.abs(momenta - momenta[0]).max() <= 1e-12 * np.abs(momenta[0]).max()
    assert np.abs(run.energies["scheme"]).max() <= 1e-12 * total[0] and run.balance <= 1e-12
    assert np.ptp(run.energies["strain"]) > 0.02 * total[0] and np.mean(run.newton) < 20


def test_beyond_a_half_the_scheme_only_takes() -> None:
    system = aq.System([block(RUBBER)], displacement=stretched(0.2), velocity=spinning(1.0, 0.2))
    run = Run(system, aq.Theta(0.8), step=0.1, steps=40)
    assert (np.diff(run.energies["scheme"]) >= 0.0).all() and run.energies["scheme"][-1] > 0.01
    assert run.balance <= 1e-12


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("law", "theta", "order"),
    [
        pytest.param(RUBBER, 0.5, 2.0, marks=pytest.mark.slow),
        (RUBBER, 0.7, 1.0),
        (METAL, 0.5, 2.0),
        pytest.param(METAL, 0.7, 1.0, marks=pytest.mark.slow),
    ],
)
def test_order_in_time(law: Any, theta: float, order: float) -> None:
    """Of where a motion leads in which the metal stays elastic: Hencky's elasticity, without discrete gradient."""
    system = aq.System([block(law)], displacement=stretched(0.02), velocity=spinning(0.5, 0.02))
    ends = [Run(system, aq.Theta(theta), 1.0 / n, n).states[-1].u for n in (40, 80, 160)]
    steps = [np.abs(a - b).max() for a, b in pairwise(ends)]
    assert np.log2(steps[0] / steps[1]) == pytest.approx(order, abs=0.25)


def test_damping_of_the_mass_takes_momentum() -> None:
    part = block(METAL, damping=aq.Rayleigh(mass=0.5))
    run = Run(aq.System([part], velocity=spinning(1.0, 0.0)), aq.Midpoint(), step=0.05, steps=20)
    momenta = run.momenta()
    factor = ((1 - 0.0125) / (1 + 0.0125)) ** 20  # p' = −a p by the midpoint rule
    assert momenta[-1][:2] == pytest.approx(factor * momenta[0][:2], rel=1e-12)
    assert run.balance <= 1e-12


def tumbling(step: float, steps: int, theta: float = 0.5) -> Run:
    """A block that spins so fast that it flows."""
    system = aq.System([block(METAL)], displacement=stretched(0.02), velocity=spinning(2.0, 0.02))
    return Run(system, aq.Theta(theta), step, steps)


def test_a_block_that_flows_balances_and_its_scheme_falls_with_the_step() -> None:
    runs = [tumbling(2.0 / n, n) for n in (20, 40, 80)]
    for run in runs:
        momenta = run.momenta()
        assert run.balance <= 1e-12
        assert np.abs(momenta - momenta[0]).max() <= 1e-12 * np.abs(momenta[0]).max()
        assert (np.diff(run.energies["plastic"]) >= 0.0).all()
    assert runs[-1].energies["plastic"][-1] > 0.05 * runs[-1].energies["kinetic"][0]
    missed = [abs(run.energies["scheme"][-1]) for run in runs]
    assert np.log2(missed[0] / missed[2]) / 2 >= 0.9, missed


def struck(step: float, scheme: Any) -> Any:
    """A bar that hits a wall and flows."""
    law = aq.J2(1e9, 0.3, 1000.0, yield_stress=1e6, hardening=aq.LinearHardening(1e7))
    bar = block(law, high=(1.0, 0.2), cells=(10, 2), mass="lumped")
    wall = aq.RigidPlane(point=(0.0, 0.0), normal=(1.0, 0.0))
    interface = aq.Interface("wall", bar.boundary("left"), wall, aq.Unilateral(), friction=aq.Coulomb(0.2))
    system = aq.System([bar], interfaces=[interface], velocity=(-5.0, 0.0))
    return aq.simulate(system, scheme, duration=4e-3, step=step)


@pytest.mark.slow
def test_plastic_work_of_an_impact_is_that_of_central_differences() -> None:
    implicit, explicit = struck(2e-5, aq.Theta(0.5)), struck(2e-5, aq.CentralDifference())
    works = [float(run["energy"].sel(kind="plastic")[-1]) for run in (implicit, explicit)]
    assert works[0] == pytest.approx(works[1], rel=0.01)
    assert np.abs(implicit["balance"]).max() <= 1e-12
    grown = [run["part/block"]["plastic_strain"].values[-1] for run in (implicit, explicit)]
    assert np.abs(grown[0] - grown[1]).max() <= 0.05 * grown[1].max()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("law", [RUBBER, METAL], ids=["neo-Hooke", "J2"])
def test_contact_with_friction_balances(law: Any) -> None:
    part = block(law)
    floor = aq.RigidPlane(point=(0.0, -0.2), normal=(0.0, 1.0))
    interfaces = [
        aq.Interface(name, part.boundary(name), floor, aq.Unilateral(), friction=aq.Coulomb(0.4))
        for name in ("bottom", "right")
    ]
    system = aq.System([part], interfaces=interfaces, velocity=lambda x: spinning(0.5, 0.0)(x) - (0.1, 0.7))
    run = Run(system, aq.Midpoint(), step=0.04, steps=50)
    assert sum(bool(batch.contact.spread.any()) for batch in run.batches) >= 5
    assert run.balance <= 1e-12 and (np.diff(run.energies["friction"]) >= 0.0).all()
    assert run.energies["friction"][-1] > 1e-3
    allowed = 1e-12 if law is RUBBER else 0.05 * run.energies["plastic"][-1]
    assert np.abs(run.energies["scheme"]).max() <= allowed


@pytest.mark.sampled(1)
@pytest.mark.parametrize("law", [RUBBER, METAL], ids=["neo-Hooke", "J2"])
def test_a_part_glued_to_a_linear_one(law: Any) -> None:
    elastic = aq.LinearElastic(law.young, law.poisson, law.density)
    coarse = block(elastic, high=(1.0, 0.4), cells=(5, 2), name="coarse", kinematics="small")
    fine = block(law, (0.6, 0.0), (1.6, 0.4), (10, 4), name="fine")

    def wave(x: Any) -> Any:
        return 0.4 * np.stack([np.sin(x[:, 0]), 0.0 * x[:, 0]], axis=1)

    run = Run(aq.System([coarse, fine], [aq.Junction(coarse, fine)], velocity=wave), aq.Midpoint(), step=0.05, steps=40)
    assert run.balance <= 1e-12 and np.abs(run.energies["junction"]).max() <= 1e-12
    if law is RUBBER:
        assert np.abs(run.energies["scheme"]).max() <= 1e-12
    else:
        assert run.energies["plastic"][-1] > 1e-3
    apart = run.assembly.constraints @ run.states[-1].u
    assert np.abs(apart).max() <= 1e-12


def test_cells_that_weigh_nothing_have_neither_plastic_strain_nor_stress() -> None:
    """A coarse part under a fine one: the cells beyond the gluing zone are left out, nan in results."""
    coarse = block(METAL, high=(2.0, 0.4), cells=(10, 2), name="coarse")
    fine = block(METAL, (0.8, 0.0), (2.0, 0.4), (12, 4), name="fine")
    junction = aq.Junction(coarse, fine, zone=aq.zones.Strip(0.8, 1.2))

    def stretching(x: Any) -> Any:
        return 0.5 * np.stack([np.sin(x[:, 0]), 0.0 * x[:, 0]], axis=1)

    system = aq.System([coarse, fine], [junction], velocity=stretching)
    result = aq.simulate(system, aq.Theta(0.5), duration=0.5, step=0.05)
    flowed = result["part/coarse"]["plastic_strain"].values[-1]
    middle = coarse.positions[coarse.connectivity].mean(axis=1)[:, 0]
    assert np.isnan(flowed[middle > 1.2]).all() and flowed[middle < 1.2].max() > 1e-3
    mises = result["part/coarse"]["mises_stress"].values[-1]
    assert np.isnan(mises[middle > 1.2]).all() and (mises[middle < 1.2] > 0.0).all()
    assert np.abs(result["balance"]).max() <= 1e-12


def pulled(law: Any, motion: Any) -> aq.System:
    """A bar of unit section and length 2, free across, whose end moves by motion(t)."""
    held = {"left": {"x": 0.0}, "bottom": {"y": 0.0}, "back": {"z": 0.0}, "right": {"x": motion}}
    return aq.System([block(law, (0.0, 0.0, 0.0), (2.0, 1.0, 1.0), (2, 1, 1), imposed=held)])


def pull(run: Run, state: Any) -> float:
    """The force on the end that moves, N."""
    x = run.assembly.system.parts[0].positions
    return float(state.scheme_state.reaction.reshape(-1, 3)[x[:, 0] == 2.0, 0].sum())


@pytest.mark.parametrize("stretch", [0.6, 1.8])
def test_neo_hookean_bar_is_the_closed_form(stretch: float) -> None:
    """P = τ/λ, the stress across being nought."""
    run = Run(pulled(RUBBER, lambda t: 2.0 * (stretch - 1.0) * t), aq.Static(), 0.125, 8)

    def stresses(across: float) -> tuple[float, float]:
        J, b = stretch * across**2, np.array([stretch, across, across]) ** 2
        tau = RUBBER.shear * J ** (-2 / 3) * (b - b.mean()) + RUBBER.bulk * np.log(J)
        return tau[0], tau[1]

    across = brentq(lambda s: stresses(s)[1], 0.5, 2.0, xtol=1e-15)
    assert pull(run, run.states[-1]) == pytest.approx(stresses(across)[0] / stretch, rel=1e-10)
    assert max(run.newton) <= 6 and run.balance <= 1e-12


@pytest.mark.parametrize("way", [-1.0, 1.0])
def test_metal_bar_is_the_closed_form(way: float) -> None:
    """τ = ±σ_y(ε_p) and ln λ = τ/E ± ε_p while it flows; then ln λ = (τ/E) ± ε_p of the elastic way back."""
    back = 2e-3

    def strain(t: float) -> float:
        return way * (0.12 * min(t, 1.0) - back * max(t - 1.0, 0.0))

    run = Run(pulled(STEEL, lambda t: 2.0 * np.expm1(strain(t))), aq.Static(), 0.1, 20)

    def hardened(flow: float) -> float:
        return 4e8 + 2e9 * flow + 3e8 * -np.expm1(-12.0 * flow)

    flow = brentq(lambda p: hardened(p) / STEEL.young + p - 0.12, 0.0, 0.12, xtol=1e-16)
    for n, tau in ((10, hardened(flow)), (20, STEEL.young * (0.12 - back - flow))):
        assert pull(run, run.states[n]) == pytest.approx(way * tau / np.exp(strain(0.1 * n)), rel=1e-9)
        assert run.states[n].memory[0][..., 6] == pytest.approx(flow, rel=1e-9)
    assert run.balance <= 1e-12
    assert np.mean(run.newton[:10]) <= 8 and max(run.newton[11:]) <= 6
    done = [run.energies["plastic"][n] for n in (10, 20)]
    exact = 4e8 * flow + 1e9 * flow**2 + 3e8 * (flow + np.expm1(-12.0 * flow) / 12.0)
    assert done == pytest.approx([2.0 * exact] * 2, rel=1e-9)


def test_the_memory_changes_in_accepted_steps_alone() -> None:
    """A step taken twice, with another between, is the same to the last bit."""
    run = tumbling(0.05, 20)
    state, kept = run.states[10], [memory.copy() for memory in run.states[10].memory]
    part, memory = run.assembly.parts[0], state.memory[0]
    far = state.u + 0.05 * np.random.default_rng(0).standard_normal(state.u.size)
    ends = []
    for _ in range(2):
        force, _ = part.mean_internal(state.u, run.states[11].u, memory, 0.05)
        response = part.respond(run.states[11].u, memory, 0.05)
        ends.append(np.concatenate([force, response.force, response.memory.ravel()]))
        part.mean_internal(state.u, far, memory, 0.05)
        part.mean_tangent(state.u, far, memory, 0.05)
        part.tangent(far, memory, 0.05)
        part.respond(far, memory, 0.05)
    assert (ends[0] == ends[1]).all()
    assert all((a == b).all() for a, b in zip(kept, state.memory, strict=True))


def test_one_load_step_finds_what_many_do() -> None:
    """A quarter of the length, at once: passes stop short of cells inside out."""
    coarse = Run(pulled(RUBBER, lambda t: -1.5 * t), aq.Static(), 1.0, 1)
    fine = Run(pulled(RUBBER, lambda t: -1.5 * t), aq.Static(), 0.05, 20)
    assert np.abs(coarse.states[-1].u - fine.states[-1].u).max() <= 1e-9


def test_a_bar_necks_beyond_its_largest_load_in_few_passes() -> None:
    """A round bar, thinner by 2 % at its middle: the load falls, and no load step is cut.

    Uniform bars of its thinnest and its thickest section carry τ A e^(−ε) where dτ/dε = τ (Considère): the largest load
    is between theirs.
    """
    thinner, metal = 0.98, aq.J2(2e11, 0.3, 7800.0, yield_stress=4e8, hardening=aq.Voce(3e8, 12.0))
    mesh = aq.mesh.rectangle((0.0, 1.0), (0.0, 4.0), cells=(3, 12))
    points = mesh.p.copy()
    points[0] *= thinner + (1.0 - thinner) * points[1] / 4.0
    held = {"left": {"r": 0.0}, "bottom": {"z": 0.0}, "top": {"z": lambda t: t}}
    bar = aq.Solid("bar", replace(mesh, doflocs=points), metal, plane="axisymmetric", kinematics="finite", imposed=held)
    run = Run(aq.System([bar]), aq.Static(), 0.02, 50)
    top = 2 * np.flatnonzero(bar.positions[:, 1] == 4.0) + 1
    force = np.array([state.scheme_state.reaction[top].sum() for state in run.states])

    def tau(flow: float) -> float:
        return 4e8 - 3e8 * float(np.expm1(-12.0 * flow))

    def compliance(flow: float) -> float:  # dε/dτ of ε = α + τ/E
        return float(np.exp(12.0 * flow)) / 3.6e9 + 1.0 / 2e11

    flow = brentq(lambda a: tau(a) * compliance(a) - 1.0, 0.0, 1.0)
    largest = np.pi * tau(flow) * np.exp(-flow - tau(flow) / 2e11)
    assert thinner**2 * largest < force.max() < largest
    assert force[-1] < 0.8 * force.max()
    assert max(run.newton[1:]) <= 10 and run.balance <= 1e-12


@pytest.mark.slow
def test_a_bar_beyond_its_limit_load_stops_the_run_and_the_record_stays(tmp_path: Any) -> None:
    perfect = aq.J2(2e11, 0.3, 7800.0, yield_stress=4e8)
    held = {"left": {"x": 0.0}, "bottom": {"y": 0.0}, "back": {"z": 0.0}}
    grows = {"right": lambda x, t: np.stack([5e8 * t + 0.0 * x[0], 0.0 * x[0], 0.0 * x[0]])}
    bar = block(perfect, (0.0, 0.0, 0.0), (2.0, 1.0, 1.0), (2, 1, 1), imposed=held, tractions=grows)
    path = str(tmp_path / "run.zarr")
    where = r"\(largest residual in part 'block', cell [01]\)"
    with pytest.raises(aq.UserError, match=rf"^statics did not converge at t = 0\.[78]\d* s {where}, .*cut to 1/256"):
        aq.simulate(aq.System([bar]), aq.Static(), duration=1.0, step=0.1, record=path)
    kept = aq.results.open(path)
    assert 7 <= kept["time"].size <= 9 and np.isfinite(kept["energy"]).all() and kept.attrs["complete"] == 0


@pytest.mark.slow
def test_a_step_that_crushes_cells_stops_the_run_and_the_record_stays(tmp_path: Any) -> None:
    bar = block(aq.NeoHooke(1e4, 0.0, 1000.0), high=(1.0, 0.2), cells=(10, 2), mass="lumped")
    wall = aq.RigidPlane(point=(0.0, 0.0), normal=(1.0, 0.0))
    interface = aq.Interface("wall", bar.boundary("left"), wall, aq.Unilateral())
    system = aq.System([bar], interfaces=[interface], velocity=(-60.0, 0.0))
    path = str(tmp_path / "run.zarr")
    with pytest.raises(
        aq.UserError,
        match=r"^the step to t = .* \(largest residual in part 'block', cell \d+\), .*cut to 1/256 of it: try a finer",
    ):
        aq.simulate(system, aq.Theta(0.5), duration=0.1, step=2e-3, record=path)
    kept = aq.results.open(path)
    assert kept["time"].size >= 1 and np.isfinite(kept["balance"]).all()


OTHERS = {
    "Multirate": (aq.Multirate(2), r"part 'block' is of finite strains, which Multirate does not step: take Theta"),
    "SymplecticEuler": (aq.SymplecticEuler(), r"explicit schemes are for masses, bars, beams and springs"),
    "RungeKutta": (aq.RungeKutta(), r"explicit schemes are for masses, bars, beams and springs"),
    "events": (aq.Theta(events="locate"), r'events="locate" is for .* point masses, bars'),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_schemes_refuse(name: str) -> None:
    scheme, line = OTHERS[name]
    with pytest.raises(aq.UserError, match="^" + line):
        aq.simulate(aq.System([block(METAL, mass="lumped")]), scheme, duration=1.0, step=0.1)
