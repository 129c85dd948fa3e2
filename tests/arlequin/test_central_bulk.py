"""Central differences of the bulk alone, many steps a pass: against the recurrence with K, and step by step."""

import numpy as np
import pytest

import arlequin as aq
from arlequin.schemes.central_bulk import BulkCentralStepper
from arlequin.solvers.initial_state import start_fields
from arlequin.system.assembly import assemble

STEEL = aq.LinearElastic(young=2e11, poisson=0.3, density=7800.0)
CENTRAL = aq.CentralDifference()


def block(**given):
    mesh = aq.mesh.rectangle((0.0, 0.3), (0.0, 0.2), cells=(30, 20))
    return aq.Solid("block", mesh, STEEL, plane="strain", mass="lumped", **given)


def cube(**given):
    mesh = aq.mesh.box((0.0, 0.1), (0.0, 0.1), (0.0, 0.1), cells=(4, 3, 5))
    return aq.Solid("block", mesh, STEEL, mass="lumped", **given)


def thrown(part, **given):
    speeds = np.random.default_rng(0).normal(size=(part.node_count, part.components))
    return aq.System([part], velocity=lambda x: speeds, **given)


def pulled(x, t):
    return np.stack([1e9 * np.sin(1e6 * t) * (1.0 + x[1]), 3e8 + 0.0 * x[1]])


SYSTEMS = {
    "plane": lambda: thrown(block()),
    "space": lambda: thrown(cube()),
    "loaded": lambda: thrown(block(tractions={"right": pulled}), gravity=(0.0, -9e6)),
    "gravity in time": lambda: thrown(block(), gravity=lambda t: (9e6 * np.cos(1e6 * t), 0.0)),
    "held": lambda: aq.System([block(imposed={"left": {"x": 0.0, "y": 0.0}}, tractions={"right": (1e8, 0.0)})]),
    "bar": lambda: thrown(aq.Bar("block", aq.mesh.interval(0.0, 1.0, cells=300), STEEL, mass="lumped")),
}


@pytest.mark.kernels
@pytest.mark.parametrize("make", SYSTEMS.values(), ids=SYSTEMS)
def test_motion_is_the_recurrence_with_the_stiffness(make):
    """u_{n+1} = 2u_n − u_{n−1} + Δt² M⁻¹(f_ext − K u_n), and momenta, energies and works by their definitions."""
    system, step, count = make(), 2e-7, 60
    result = aq.simulate(system, CENTRAL, duration=count * step, step=step, fields_every=7)
    assembly = assemble(system)
    mass, K, free = assembly.mass.diagonal(), assembly.stiffness, assembly.free
    u, v = start_fields(assembly, step, False)
    half = v - 0.5 * step * free * (assembly.load(0.0) - K @ u) / mass
    u_all, v_all, kinetic, worked = [u], [v], [], [0.0]
    for n in range(count + 1):
        force = assembly.load(n * step) - K @ u
        kinetic.append(0.5 * half @ (mass * half + step * force))
        half = half + step * free * force / mass
        if n:
            v_all.append(half - 0.5 * step * free * force / mass)
        given = 0.5 * (assembly.load(n * step) + assembly.load((n + 1) * step))
        worked.append(worked[-1] + step * given @ half)
        u = u + step * half
        u_all.append(u)
    part = result["part/block"]
    shown = np.append(np.arange(0, count, 7), count)
    for name, expected in (("displacement", u_all), ("velocity", v_all)):
        exact = np.array(expected)[shown]
        found = part[name].values.reshape(exact.shape)
        np.testing.assert_allclose(found, exact, rtol=0.0, atol=1e-11 * np.abs(exact).max())
    axes = system.parts[0].components
    momenta = (mass * np.array(v_all)).reshape(count + 1, -1, axes).sum(axis=1)
    scale = np.abs(mass * np.array(v_all)).sum(axis=1).max()
    np.testing.assert_allclose(part["momentum"].values, momenta, rtol=0.0, atol=1e-12 * scale)
    energy, most = result["energy"], np.abs(result["energy"].values).max()
    strain = [0.5 * u @ (K @ u) for u in u_all[:-1]]
    for kind, expected in (("kinetic", kinetic), ("strain", strain), ("external_work", worked[:-1])):
        np.testing.assert_allclose(energy.sel(kind=kind).values, expected, rtol=0.0, atol=1e-11 * most)
    assert np.abs(energy.sel(kind="scheme").values).max() <= 1e-11 * most
    assert np.abs(result["balance"].values).max() <= 1e-12


def test_steps_are_those_taken_one_by_one():
    assembly = assemble(SYSTEMS["loaded"]())
    stepper = CENTRAL.prepare(assembly, 2e-7)
    assert isinstance(stepper, BulkCentralStepper)
    single = stepper.start(*start_fields(assembly, 2e-7, False))
    whole, seen = stepper.advance(single, 40)
    works = []
    for _ in range(40):
        single, batch = stepper.advance(single)
        works.append(batch.works[0])
    for name in ("u", "v", "internal"):
        one, other = getattr(single, name), getattr(whole, name)
        np.testing.assert_allclose(one, other, rtol=0.0, atol=1e-11 * np.abs(one).max())
    np.testing.assert_allclose(seen.works, works, rtol=0.0, atol=1e-11 * np.abs(works).max())


def test_what_acts_from_outside_takes_steps_one_by_one():
    wall = aq.RigidPlane(point=(0.31, 0.0), normal=(-1.0, 0.0))
    part = block()
    touched = aq.System([part], interfaces=[aq.Interface("wall", part.boundary("right"), wall, aq.Unilateral())])
    moved = aq.System([block(imposed={"left": {"x": lambda t: 1e-3 * t}})])
    damped = aq.System([block(damping=aq.Rayleigh(10.0, 0.0))])
    for system in (touched, moved, damped):
        assert not isinstance(CENTRAL.prepare(assemble(system), 1e-7), BulkCentralStepper)


def test_a_motion_that_is_not_finite_is_refused():
    load = {"right": lambda x, t: np.stack([np.full(x.shape[1], 1e308 if t > 1e-6 else 0.0), 0.0 * x[0]])}
    with pytest.raises(aq.UserError, match=r"no longer finite at t = 1\.\d+e-06 s"), np.errstate(all="ignore"):
        aq.simulate(thrown(block(tractions=load)), CENTRAL, duration=4e-6, step=2e-7, fields_every=100)
