"""Modal parts in a system: with all modes as the full part, with few as closed forms; contact, junctions, balance."""

from itertools import pairwise

import numpy as np
import pytest

import arlequin as aq

STEEL = aq.LinearElastic(young=2e11, poisson=0.3, density=7800.0)
SPEED = np.sqrt(2e11 / 7800.0)
CLAMPED = {"left": {"x": 0.0, "y": 0.0, "rz": 0.0}}


def bar(cells=20, name="bar", ends=(0.0, 1.0), **more):
    return aq.Bar(name, aq.mesh.interval(*ends, cells=cells), STEEL, **more)


def beam(**more):
    mesh = aq.mesh.interval(0.0, 1.0, cells=20)
    return aq.Beam("beam", mesh, STEEL, aq.Section.rectangle(0.02, 0.03), dimension=2, **more)


def block(bottom=0.0, name="block", cells=(6, 3), **more):
    mesh = aq.mesh.rectangle((0.0, 1.0), (bottom, bottom + 0.4), cells=cells)
    return aq.Solid(name, mesh, STEEL, plane="strain", **more)


def run(system, duration, step, scheme=None):
    return aq.simulate(system, scheme or aq.Theta(0.5), duration=duration, step=step)


def all_modes(part, **more):
    held = sum(item.dofs.size for item in part.assemble().imposed)
    return aq.Modal(part, part.dof_count - held, **more)


def field(result, part, name="displacement"):
    return result[f"part/{part}"].dataset[name].values


def assert_same(first, second, part, tolerance=1e-9):
    for name in ("displacement", "velocity"):
        a, b = (field(result, part, name) for result in (first, second))
        assert np.abs(a - b).max() <= tolerance * np.abs(a).max()
    energies = [result["energy"].values for result in (first, second)]
    assert np.abs(energies[0] - energies[1]).max() <= tolerance * np.abs(energies[0]).max()
    momenta = [field(result, part, "momentum") for result in (first, second)]
    assert np.abs(momenta[0] - momenta[1]).max() <= tolerance * max(np.abs(momenta[0]).max(), 1e-3)
    np.testing.assert_allclose(*(result[f"part/{part}"].dataset["mass"] for result in (first, second)), rtol=1e-12)
    assert np.abs(second["balance"]).max() <= 1e-12


def shake(t):
    return 1e-4 * np.sin(2000.0 * t)


HOLDS = {
    "held": {"imposed": {"left": {"x": 0.0}}},
    "floating": {},
    "moved": {"imposed": {"left": {"x": shake}}},
    "moved apart": {"imposed": {"left": {"x": shake}, "right": {"x": lambda t: -2 * shake(t)}}},
    "driven": {"imposed_velocity": {"left": {"x": lambda t: 1.0 + t}}},
}


@pytest.mark.parametrize("hold", HOLDS.values(), ids=HOLDS)
def test_all_modes_are_the_full_part(hold):
    loads = {"body_force": lambda x, t: (1e6 * x[0] * np.cos(3e3 * t),), "damping": aq.Rayleigh(10.0, 1e-6)}
    part = bar(**loads, **hold)
    start = {"velocity": lambda x: 5.0 * x, "displacement": lambda x: 1e-5 * x**2, "gravity": lambda t: 9.81 + t}
    results = [run(aq.System([item], **start), 1e-3, 1e-5) for item in (part, all_modes(part))]
    assert_same(*results, "bar")


@pytest.mark.parametrize("scheme", [aq.Newmark(), aq.GeneralisedAlpha.with_radius(0.8), aq.Midpoint()], ids=str)
def test_other_schemes(scheme):
    part = bar(imposed={"left": {"x": shake}})
    start = {"velocity": lambda x: 5.0 * x}
    results = [run(aq.System([item], **start), 1e-3, 1e-5, scheme) for item in (part, all_modes(part))]
    assert_same(*results, "bar")


def test_modal_damping_decays():
    """q̈ + 2 ζ ω q̇ + ω² q = 0, one mode of a clamped bar."""
    zeta = 0.05
    modal = aq.Modal(bar(60, imposed={"left": {"x": 0.0}}), 3, damping=(zeta, 0.5))
    omega = 2 * np.pi * modal.frequencies[0]
    system = aq.System([modal], displacement=lambda x: 1e-5 * np.sin(np.pi * x / 2))
    result = run(system, 6 * np.pi / omega, np.pi / omega / 400)
    t = result["time"].values
    damped = omega * np.sqrt(1 - zeta**2)
    exact = np.exp(-zeta * omega * t) * (np.cos(damped * t) + zeta * omega / damped * np.sin(damped * t))
    tip = field(result, "bar")[:, -1, 0] / 1e-5
    assert np.abs(tip - exact).max() < 1e-3
    assert np.abs(result["balance"]).max() < 1e-12
    assert (np.diff(result["energy"].sel(kind="damping")) >= 0.0).all()


def test_carried_by_its_support():
    """Ratios damp the motion relative to the supports: carried along, a bar loses nothing and is not strained."""
    modal = aq.Modal(bar(imposed_velocity={"left": {"x": 3.0}}), 4, damping=0.1)
    result = run(aq.System([modal], velocity=3.0), 1e-2, 1e-4)
    exact = 3.0 * result["time"].values
    np.testing.assert_allclose(field(result, "bar")[:, :, 0], np.tile(exact[:, None], 21), rtol=1e-11)
    # strains are differences; the loss is a product with D, and has the round-off of the whole motion
    for kind, round_off in (("strain", 1e-20), ("damping", 1e-13)):
        assert np.abs(result["energy"].sel(kind=kind)).max() < round_off * result["energy"].max()


def test_central_difference_up_to_its_limit():
    modal = aq.Modal(bar(imposed={"left": {"x": 0.0}}), 4)
    limit = 2.0 / (2 * np.pi * modal.frequencies[-1])
    system = aq.System([modal], velocity=lambda x: x)
    with pytest.raises(aq.UserError, match="below the central-difference limit"):
        run(system, 1e-2, 1.001 * limit, aq.CentralDifference())
    result = run(system, 1000 * 0.99 * limit, 0.99 * limit, aq.CentralDifference())
    assert np.abs(result["balance"]).max() < 1e-12
    v = field(result, "bar", "velocity")
    assert np.abs(v).max() < 3.0


def test_central_difference_with_a_soft_stop():
    """The points of a modal part act on each other: the stable step knows it; order 2 against θ = ½."""
    modal = aq.Modal(block(), 10)
    ground = aq.RigidPlane(point=(0.0, -1e-5), normal=(0.0, 1.0))
    law = aq.Penalty(1e12)
    touch = aq.Interface("stop", modal.boundary("bottom"), ground, law)
    system = aq.System([modal], interfaces=[touch], velocity=(0.0, -1.0))
    with pytest.raises(aq.UserError, match="limit of") as caught:
        run(system, 1e-3, 1.0, aq.CentralDifference())
    limit = float(str(caught.value).split("limit of ")[1].split(" s")[0])
    result = run(system, 1e-3, 0.99 * limit, aq.CentralDifference())
    energy = result["energy"].sel(kind=["kinetic", "strain", "asperity"]).sum("kind")
    assert energy.max() < 1.1 * energy[0]
    assert np.abs(result["balance"]).max() < 1e-12


def test_free_flight_and_impact_keep_momentum():
    """In flight P is constant; at the wall it changes by the impulse of contact."""
    modal = aq.Modal(block(), 12)
    wall = aq.RigidPlane(point=(1.0 + 1e-4, 0.0), normal=(-1.0, 0.0))
    touch = aq.Interface("wall", modal.boundary("right"), wall, aq.Unilateral())
    start = {"velocity": lambda x: np.stack([2.0 + x[:, 1], 1.0 - x[:, 0]], axis=1)}
    result = run(aq.System([modal], interfaces=[touch], **start), 1e-3, 2e-6)
    momentum = field(result, "block", "momentum")
    force = result["interface/wall"].dataset["force"].values
    mass = 7800.0 * 0.4
    np.testing.assert_allclose(momentum[0], mass * np.array([2.2, 0.5]), rtol=1e-12)
    flying = np.cumsum(np.abs(force).sum(axis=1)) == 0.0
    assert 10 < flying.sum() < len(force) - 10
    np.testing.assert_allclose(momentum[flying], np.tile(momentum[0], (flying.sum(), 1)), rtol=1e-12)
    np.testing.assert_allclose(np.diff(momentum, axis=0), 2e-6 * force[1:], atol=1e-10 * mass)
    assert np.abs(result["balance"]).max() < 1e-12


def pressed(part):
    """Force on a stop below the tip of a cantilever under 100 N there and a uniform load."""
    stop = aq.RigidPlane(point=(0.0, -1e-4), normal=(0.0, 1.0))
    touch = aq.Interface("stop", part.boundary("right"), stop, aq.Unilateral(level="gap"))
    system = aq.System([part], interfaces=[touch], gravity=lambda t: (0.0, -500.0 * t))
    result = run(system, 1.0, 1.0, aq.Static())
    return result["interface/stop"].dataset["force"].values[-1, 1]


def test_static_stop():
    """R = (w − δ)/c: exact with the static shape of the tip, whatever the load; else it converges with the modes."""
    part = beam(imposed=CLAMPED, end_loads={"right": lambda t: (0.0, -100.0 * t)})
    exact = pressed(part)
    plain = [abs(pressed(aq.Modal(part, modes)) / exact - 1) for modes in (2, 4, 8, 16)]
    assert all(b < a for a, b in pairwise(plain))
    assert plain[0] > 1e-4
    assert abs(pressed(aq.Modal(part, 2, static=[part.boundary("right")])) / exact - 1) < 1e-10


def test_beam_against_a_soft_stop():
    """A cantilever that hits a spring-like stop: the modal path tends to the full one; the static shape helps."""
    part = beam(imposed=CLAMPED)

    def path(item):
        stop = aq.RigidPlane(point=(0.0, -1e-4), normal=(0.0, 1.0))
        touch = aq.Interface("stop", item.boundary("right"), stop, aq.Penalty(1e9))
        start = {"velocity": lambda x: np.stack([0 * x[:, 0], -0.5 * x[:, 0] ** 2, -x[:, 0]], axis=1)}
        result = run(aq.System([item], interfaces=[touch], **start), 6e-3, 5e-6)
        assert np.abs(result["balance"]).max() < 1e-12
        return field(result, "beam")[:, -1, 1]

    full, tip = path(part), [part.boundary("right")]

    def miss(modes, static=()):
        return np.abs(path(aq.Modal(part, modes, static=static)) - full).max() / np.abs(full).max()

    plain, corrected = [miss(2), miss(5), miss(15)], [miss(2, tip), miss(5, tip), miss(15, tip)]
    assert plain[2] < plain[1] < plain[0]
    assert corrected[2] < corrected[1] < corrected[0]
    assert corrected[0] < 0.5 * plain[0] and corrected[1] < 0.5 * plain[1]


def test_spring_and_relation_hold_the_full_part():
    """Masses tied and sprung to its ends: natural frequencies and a run as those of the full part."""
    part = bar()

    def system(item):
        mass = aq.PointMasses("m", ((1.0,), (1.5,)), (500.0, 800.0), names={"near": 0, "far": 1})
        tie = aq.Relation("tie", [(item.boundary("right"), "x", 1.0), (mass.boundary("near"), "x", -1.0)])
        springs = [
            aq.Spring("ground", item.boundary("left"), stiffness=1e10, damping=1e4),
            aq.Spring("to mass", item.boundary("right"), mass.boundary("far"), stiffness=3e10),
        ]
        return aq.System([item, mass], springs=springs, relations=[tie], velocity={"m": 1.0})

    modal = all_modes(part)
    exact, own = (aq.natural_frequencies(system(item), 5).frequencies for item in (part, modal))
    np.testing.assert_allclose(own, exact, rtol=1e-9)
    results = [run(system(item), 1e-3, 1e-5) for item in (part, modal)]
    assert_same(*results, "bar")
    np.testing.assert_allclose(*(field(result, "m") for result in results), rtol=1e-9, atol=1e-15)
    forces = [result["spring/to mass"].dataset["force"].values for result in results]
    assert np.abs(forces[0] - forces[1]).max() <= 1e-9 * np.abs(forces[0]).max()


@pytest.mark.parametrize("which", ["coarse", "fine", "both"])
def test_junction_glues_modal_parts(which):
    """All modes of the weighted part: as the full one; mismatch and force of the junction too."""
    coarse, fine = bar(10, "coarse", (0.0, 0.6)), bar(24, "fine", (0.4, 1.0))
    sides = {
        "coarse": all_modes(coarse) if which != "fine" else coarse,
        "fine": all_modes(fine) if which != "coarse" else fine,
    }

    def path(first, second):
        junction = aq.Junction(first, second)
        return run(aq.System([first, second], [junction], velocity=lambda x: np.sin(np.pi * x)), 4e-4, 2e-6)

    results = path(coarse, fine), path(sides["coarse"], sides["fine"])
    for name in ("coarse", "fine"):
        assert_same(*results, name, 1e-8)
    forces = [result["junction/junction"].dataset["force"].values for result in results]
    assert np.abs(forces[0] - forces[1]).max() <= 1e-7 * np.abs(forces[0]).max()


def test_cells_that_weigh_nothing():
    """A modal coarse part that goes on under the fine one: its nodes there have no mass, and rest."""
    coarse, fine = bar(20, "coarse"), bar(30, "fine", (0.4, 1.0))

    def path(first):
        junction = aq.Junction(first, fine, zone=aq.zones.Strip(0.4, 0.6))
        return run(aq.System([first, fine], [junction], velocity=lambda x: np.sin(np.pi * x)), 4e-4, 2e-6)

    results = path(coarse), path(aq.Modal(coarse, 13))
    assert_same(*results, "coarse", 1e-8)
    assert_same(*results, "fine", 1e-8)


def test_few_modes_glued():
    """A modal coarse part with few modes conserves energy and its junction does no work."""
    coarse, fine = aq.Modal(bar(10, "coarse", (0.0, 0.6)), 5), bar(24, "fine", (0.4, 1.0))
    system = aq.System([coarse, fine], [aq.Junction(coarse, fine)], velocity=1.0)
    result = run(system, 4e-4, 2e-6)
    assert np.abs(result["balance"]).max() < 1e-12
    np.testing.assert_allclose(field(result, "fine", "velocity"), 1.0, rtol=1e-10)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("options", [{}, {"multiplier": "nodes"}, {"multiplier": "gauss"}], ids=str)
def test_deformable_contact_of_modal_parts(options):
    """Two blocks that meet: all modes as finite elements, on both sides of the contact."""
    low, high = block(), block(0.4 + 1e-5, "high", (5, 2))

    def path(first, second):
        touch = aq.Interface("touch", second.boundary("bottom"), first.boundary("top"), aq.Unilateral(), **options)
        return run(aq.System([first, second], interfaces=[touch], velocity={"high": (0.0, -1.0)}), 6e-5, 2e-6)

    results = path(low, high), path(all_modes(low), all_modes(high))
    forces = [result["interface/touch"].dataset["force"].values for result in results]
    assert np.abs(forces[0]).max() > 0.0
    assert np.abs(forces[0] - forces[1]).max() <= 1e-7 * np.abs(forces[0]).max()
    for name in ("block", "high"):
        assert_same(*results, name, 1e-8)


def test_multirate():
    coarse, fine = bar(10, "coarse", (0.0, 0.6)), bar(24, "fine", (0.4, 1.0))
    modal = all_modes(coarse)
    results = [
        run(
            aq.System([first, fine], [aq.Junction(first, fine)], velocity=lambda x: np.sin(np.pi * x)),
            2e-4, 4e-6, aq.Multirate(4),
        )
        for first in (coarse, modal)
    ]  # fmt: skip
    assert_same(*results, "coarse", 1e-8)
    assert_same(*results, "fine", 1e-8)
