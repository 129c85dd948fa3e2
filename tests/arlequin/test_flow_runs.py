"""Runs in a flow: energy balance with the column `flow`, growth and frequency of the complex modes, all schemes."""

import numpy as np
import pytest

import arlequin as aq
from arlequin.models.flow.beam_fields import BeamFields

CLAMPED = {"x": 0.0, "y": 0.0, "rz": 0.0}
RUBBER = aq.LinearElastic(young=2e9, poisson=0.3, density=1000.0)
SECTION = aq.Section.circle(0.01)
MASS = 0.25 * 1000.0 * SECTION.area  # β = 0.2
UNIT = np.sqrt(2e9 * SECTION.inertia_z / MASS)  # √(EI/M)/L, L = 1 m


def pipe(u, cells=6, **options):
    beam = aq.Beam(
        "pipe", aq.mesh.interval(0.0, 1.0, cells=cells), RUBBER, SECTION, dimension=2, imposed={"left": CLAMPED},
        added_mass=MASS, shear=False, rotary_inertia=False, **options,
    )  # fmt: skip
    return beam, lambda part: aq.flow.PipeFlow("water", part, u * UNIT, fluid_mass=MASS)


def bent(x):
    """A velocity (n, 3) across the pipe, m/s."""
    return np.stack([0.0 * x[:, 0], 0.1 * x[:, 0] ** 2, 0.2 * x[:, 0]], axis=1)


def run(scheme, u=5.0, reduce=None, duration=0.02, step=2e-4, interfaces=(), **options):
    beam, flow = pipe(u, **options)
    part = reduce(beam) if reduce else beam
    system = aq.System([part], interfaces=list(interfaces), flows=[flow(part)], velocity=bent)
    return aq.simulate(system, scheme, duration=duration, step=step)


def tip(result):
    return result["part/pipe/displacement"].values[:, -1, 1]


@pytest.fixture(scope="module")
def fine():
    return tip(run(aq.Theta(0.5), step=5e-5))[::4]


SCHEMES = {
    "theta": (aq.Theta(0.5), 1e-2),
    "newmark": (aq.Newmark(), 1e-2),
    "hht": (aq.HHT(-0.05), 3e-2),
    "generalised alpha": (aq.GeneralisedAlpha.with_radius(0.8), 3e-2),
    "midpoint": (aq.Midpoint(), 1e-2),
}


@pytest.mark.parametrize("scheme, miss", SCHEMES.values(), ids=SCHEMES)
def test_implicit_schemes_agree_and_keep_the_balance(fine, scheme, miss):
    result = run(scheme)
    assert np.abs(result["balance"]).max() < 1e-12
    assert np.abs(tip(result) - fine).max() < miss * np.abs(fine).max()
    energy = result["energy"]
    assert abs(energy.sel(kind="flow")[-1]) > 0.05 * energy.sel(kind="kinetic")[0]


def test_central_differences_agree_and_keep_the_balance():
    """Lumped masses, below the limit of the step, against Newmark's method on the same masses."""
    options = {"duration": 0.004, "mass": "lumped", "cells": 4}
    explicit = run(aq.CentralDifference(), step=2e-5, **options)
    implicit = run(aq.Newmark(), step=2e-5, **options)
    assert np.abs(explicit["balance"]).max() < 1e-12
    assert np.abs(tip(explicit) - tip(implicit)).max() < 1e-4 * np.abs(tip(implicit)).max()
    works = [result["energy"].sel(kind="flow").values for result in (explicit, implicit)]
    assert np.abs(works[0] - works[1]).max() < 1e-3 * np.abs(works[1]).max()


def test_a_modal_part_moves_as_the_beam(fine):
    result = run(aq.Theta(0.5), reduce=lambda beam: aq.Modal(beam, 8))
    assert np.abs(result["balance"]).max() < 1e-12
    assert np.abs(tip(result) - fine).max() < 1.5e-2 * np.abs(fine).max()


def test_a_superelement_takes_the_flow_of_its_beam():
    beam, flow = pipe(5.0)
    short = aq.craig_bampton(beam, [beam.boundary("right")], modes=8, boundary="free")
    system = aq.System([short], flows=[aq.flow.MatrixFlow.of(flow(beam), short)], velocity=(0.0, 0.1, 0.2))
    result = aq.simulate(system, aq.Theta(0.5), duration=0.02, step=1e-3)
    assert np.abs(result["balance"]).max() < 1e-12
    assert abs(result["energy"].sel(kind="flow")[-1]) > 0.01 * result["energy"].sel(kind="kinetic")[0]


def test_work_of_the_flow_is_that_at_the_free_end_and_of_the_centrifugal_force():
    """∫ ẏ f ds = −MU (ẏ² + U y′ẏ) at the free end + d/dt ½MU² ∫ y′² (Benjamin 1961), exactly in each step of θ = ½."""
    beam, flow = pipe(4.0)
    system = aq.System([beam], flows=[flow(beam)], velocity=bent)
    result = aq.simulate(system, aq.Theta(0.5), duration=0.01, step=2e-4)
    motion, velocity = result["part/pipe"], 4.0 * UNIT
    speed, slope = motion["velocity"].values[:, -1, 1], motion["rotation"].values[:, -1, 0]
    speed, slope = 0.5 * (speed[1:] + speed[:-1]), 0.5 * (slope[1:] + slope[:-1])
    end = -2e-4 * MASS * velocity * (speed**2 + velocity * slope * speed)
    u = np.concatenate([motion["displacement"].values, motion["rotation"].values], axis=2).reshape(51, -1)
    fields = BeamFields.of(beam, None)
    stretch = (
        0.5 * MASS * velocity**2 * np.einsum("td,td->t", u, (fields.integral(fields.slopes, fields.slopes) @ u.T).T)
    )
    work = np.concatenate([[0.0], np.cumsum(end)]) + stretch
    assert np.abs(result["energy"].sel(kind="flow").values - work).max() < 1e-9 * np.abs(work).max()


def test_supported_pipes_exchange_energy_by_the_centrifugal_force_alone():
    """The Coriolis force does no work between supports: work = ½ MU² ∫ y′² of the end less that of the start."""
    beam = aq.Beam(
        "pipe", aq.mesh.interval(0.0, 1.0, cells=6), RUBBER, SECTION, dimension=2, added_mass=MASS, shear=False,
        rotary_inertia=False, imposed={"left": {"x": 0.0, "y": 0.0}, "right": {"y": 0.0}},
    )  # fmt: skip
    flow = aq.flow.PipeFlow("water", beam, 2.0 * UNIT, fluid_mass=MASS)

    def start(x):
        s = x[:, 0]
        return np.stack([0.0 * s, 0.1 * np.sin(np.pi * s) ** 2, 0.1 * np.pi * np.sin(2.0 * np.pi * s)], axis=1)

    result = aq.simulate(aq.System([beam], flows=[flow], velocity=start), aq.Theta(0.5), duration=0.05, step=1e-3)
    assert np.abs(result["balance"]).max() < 1e-12
    motion = result["part/pipe"]
    u = np.concatenate([motion["displacement"].values, motion["rotation"].values], axis=2).reshape(51, -1)
    stiffness = flow.matrices({}).stiffness
    work = -0.5 * np.einsum("td,td->t", u, (stiffness @ u.T).T)
    assert np.abs(result["energy"].sel(kind="flow").values - work).max() < 1e-10 * np.abs(work).max()


def test_a_run_beyond_the_critical_velocity_grows_at_the_rate_of_the_complex_mode():
    """From the shape of the unstable mode: the motion is Re φ e^{λt} for two periods."""
    beam, flow = pipe(6.2)
    modes = aq.complex_modes(aq.System([beam], flows=[flow(beam)]), count=4)
    number = int(np.argmax(modes.eigenvalues.real))
    value, shape = modes.eigenvalues[number], modes.shapes[:, number] * 1e-3
    assert value.real > 0.0 and value.imag > 0.0
    system = aq.System(
        [beam],
        flows=[flow(beam)],
        displacement={"pipe": shape.real.reshape(-1, 3)},
        velocity={"pipe": (value * shape).real.reshape(-1, 3)},
    )
    period = 2.0 * np.pi / value.imag
    result = aq.simulate(system, aq.Theta(0.5), duration=2.0 * period, step=period / 100.0)
    time, dof = result["time"].values, 3 * 6 + 1
    exact = (shape[dof] * np.exp(value * time)).real
    assert np.abs(tip(result) - exact).max() < 5e-3 * np.abs(exact).max()
    assert np.abs(result["balance"]).max() < 1e-12


def test_a_tube_on_a_stop_keeps_the_balance():
    """Beyond the critical velocity the tip knocks on a stop, whose loss takes the work of the flow."""
    beam, flow = pipe(6.2)
    stop = aq.RigidPlane(point=(1.0, -1e-4), normal=(0.0, 1.0))
    touch = aq.Interface("stop", beam.boundary("right"), stop, aq.ImpactElement(1e3, damping=1.0), area=1.0)
    system = aq.System([beam], interfaces=[touch], flows=[flow(beam)], velocity=lambda x: -bent(x))
    result = aq.simulate(system, aq.Newmark(), duration=0.03, step=5e-4)
    assert result["interface/stop/force"].values.max() > 0.0
    assert np.abs(result["balance"]).max() < 1e-12
    assert result["energy"].sel(kind="asperity_damping")[-1] > 0.0


def test_members_of_an_ensemble_move_as_they_do_alone():
    def member(u):
        beam, flow = pipe(u)
        return aq.System([beam], flows=[flow(beam)], velocity=bent)

    together = aq.simulate_ensemble([member(3.0), member(5.0)], aq.Theta(0.5), duration=0.02, step=1e-3)
    alone = aq.simulate(member(5.0), aq.Theta(0.5), duration=0.02, step=1e-3)
    both = together["part/pipe/displacement"].values
    assert np.array_equal(np.moveaxis(both, together["part/pipe/displacement"].dims.index("member"), 0)[1],
                          alone["part/pipe/displacement"].values)  # fmt: skip


@pytest.mark.parametrize("scheme", [aq.RungeKutta(), aq.Theta(0.5, events="locate"), aq.Static()], ids=repr)
def test_schemes_that_take_no_flows_say_so(scheme):
    with pytest.raises(aq.UserError, match=r"flow 'water': .* takes? no flows: take Theta"):
        run(scheme, duration=1e-3)
