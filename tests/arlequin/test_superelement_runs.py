"""Runs of superelements with all inner modes, which are the full part in other coordinates."""

import warnings

import numpy as np
import pytest

import arlequin as aq

STEEL = aq.LinearElastic(young=2e11, poisson=0.3, density=7800.0)
STEP = 2e-8


def bar(**more):
    return aq.Bar("block", aq.mesh.interval(0.0, 0.1, cells=12), STEEL, **more)


def block(**more):
    mesh = aq.mesh.rectangle((0.0, 0.1), (0.0, 0.03), cells=(6, 2))
    return aq.Solid("block", mesh, STEEL, plane="strain", **more)


def complete(part, **more):
    """The part in the coordinates of both ends and all modes between."""
    ends = [part.boundary("left"), part.boundary("right")]
    retained = sum(end.nodes.size for end in ends) * part.components
    short = aq.craig_bampton(part, ends, modes=part.dof_count - retained, boundary="fixed")
    if not more:
        return short
    return aq.Superelement(
        part.name,
        mass=short.mass,
        stiffness=short.stiffness,
        damping=short.damping,
        positions=short.positions,
        interface={end.name: short.boundary(end.name) for end in ends},
        recovery=short.recovery,
        **more,
    )


def assert_same(full, short, tolerance=5e-13):
    """Equal displacements of all nodes, and equal energies."""
    expected = full["part/block"]["displacement"].values
    found = short["part/block"]["inner_displacement"].values.reshape(expected.shape)
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=tolerance * abs(expected).max())
    energy = full["energy"].values
    np.testing.assert_allclose(short["energy"].values, energy, rtol=0.0, atol=tolerance * abs(energy).max())
    assert abs(short["balance"]).max() < max(1e-12, 1.1 * float(abs(full["balance"]).max()))


def impact(part, law=None, friction=None):
    """A part on a spring and a dashpot that flies against a wall, with gravity along or across."""
    plane = part.positions.shape[1] == 2
    wall = aq.RigidPlane(point=(0.1 + 1e-6, 0.0), normal=(-1.0, 0.0)) if plane else aq.RigidPlane(0.1 + 1e-6, -1.0)
    return aq.System(
        [part],
        interfaces=[
            aq.Interface("tip", part.boundary("right"), wall, law or aq.Unilateral("velocity"), friction=friction)
        ],
        springs=[aq.Spring("spring", part.boundary("left"), stiffness=1e9, damping=1e3)],
        velocity=(1.0, 0.2) if plane else 1.0,
        gravity=(0.0, -9.81) if plane else 9.81,
    )


RUNS = {
    "theta": (bar, aq.Theta(0.5), {}, {}),
    "theta, friction": (block, aq.Theta(0.5), {}, {"friction": aq.Coulomb(0.3)}),
    "newmark": (block, aq.Newmark(), {}, {}),
    "alpha": (block, aq.HHT(), {}, {"friction": aq.Coulomb(0.3)}),
    "modified mean acceleration": (bar, aq.ModifiedMeanAcceleration(), {}, {}),
    "midpoint": (block, aq.Midpoint(), {}, {"law": aq.Penalty(1e14)}),
    "central": (block, aq.CentralDifference(), {"mass": "lumped"}, {}),
    "central, friction": (block, aq.CentralDifference(), {"mass": "lumped"}, {"friction": aq.Coulomb(0.3)}),
    "central, layer": (bar, aq.CentralDifference(), {"mass": "lumped"}, {"law": aq.Penalty(1e13)}),
    "symplectic": (bar, aq.SymplecticEuler(), {}, {"law": aq.Penalty(1e13)}),
    "located": (bar, aq.Theta(0.5, events="locate"), {}, {}),
    "damped": (block, aq.Theta(0.5), {"damping": aq.Rayleigh(1e3, 1e-7)}, {}),
}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("case", RUNS)
def test_impact(case):
    make, scheme, options, contact = RUNS[case]
    part = make(**options)
    results = [
        aq.simulate(impact(each, **contact), scheme, duration=800 * STEP, step=STEP, record=aq.Record(fields_every=100))
        for each in (part, complete(part))
    ]
    assert_same(*results)
    forces = [result["interface/tip"]["force"].values for result in results]
    assert abs(forces[0]).max() > 1e6
    np.testing.assert_allclose(forces[1], forces[0], rtol=0.0, atol=1e-11 * abs(forces[0]).max())


def test_supports_and_reactions():
    # at rest at first: the velocity at the start is then that of both models
    shaken = {"left": {"x": lambda t: 1e-5 * (1.0 - np.cos(3e4 * max(t - 3e-6, 0.0))), "y": 0.0}}
    parts = block(imposed=shaken), complete(block(), imposed=shaken)
    results = [aq.simulate(aq.System([part]), aq.Theta(0.5), duration=5e-5, step=1e-6) for part in parts]
    assert_same(*results)
    reactions = [result["part/block"]["reaction"].values for result in results]
    np.testing.assert_allclose(reactions[1], reactions[0], rtol=0.0, atol=1e-12 * abs(reactions[0]).max())


def test_statics():
    clamped, area = {"left": {"x": 0.0, "y": 0.0}}, 0.03
    full = block(imposed=clamped, tractions={"right": lambda x, t: (1e6 * t, 2e6 * t)})
    short = complete(block(), imposed=clamped, forces={"right": lambda t: (1e6 * area * t, 2e6 * area * t)})
    results = [
        aq.simulate(aq.System([part], gravity=lambda t: (0.0, -1e3 * t)), aq.Static(), duration=1.0, step=0.5)
        for part in (full, short)
    ]
    assert_same(*results)


def test_statics_without_supports():
    system = aq.System([complete(block())], gravity=lambda t: (0.0, -t))
    with pytest.raises(aq.UserError, match="nothing holds part 'block' in translation along x and y and in rotation"):
        aq.simulate(system, aq.Static(), duration=1.0, step=0.5)


def test_statics_by_contact_alone():
    """As many iterations as of the part itself: the proximal term is that of a bar of the same speed of waves."""
    assert complete(bar()).crossing_rate == pytest.approx(np.sqrt(2e11 / 7800.0) / 0.1, rel=1e-9)
    part, results = block(), []
    for each in (part, complete(part)):
        floor = aq.RigidPlane(point=(0.1, 0.0), normal=(-1.0, 0.0))
        law = aq.Unilateral(level="gap")
        touch = aq.Interface("floor", each.boundary("right"), floor, law, friction=aq.Coulomb(0.3))
        system = aq.System([each], interfaces=[touch], gravity=lambda t: (9.81 * t, t))
        results.append(aq.simulate(system, aq.Static(), duration=1.0, step=0.25))
    assert_same(*results)
    assert results[1].attrs["newton_iterations"] <= 1.2 * results[0].attrs["newton_iterations"]


def test_relations_springs_and_masses():
    part, results = block(), []
    for each in (part, complete(part)):
        mass = aq.PointMasses("mass", (0.12, 0.0), 3.0)
        relations = [
            aq.Relation(axis, [(each.boundary("right"), axis, 1.0), (mass.boundary("all"), axis, -1.0)])
            for axis in "xy"
        ]
        spring = aq.Spring("spring", each.boundary("left"), stiffness=1e9)
        system = aq.System([each, mass], relations=relations, springs=[spring], velocity={"block": (1.0, 0.3)})
        results.append(aq.simulate(system, aq.Theta(0.5), duration=5e-5, step=1e-6))
    assert_same(*results)


def test_tied_nodes():
    part, results = block(), []
    mesh = aq.mesh.rectangle((0.1, 0.2), (0.0, 0.03), cells=(4, 3))
    for each in (part, complete(part)):
        other = aq.Solid("other", mesh, STEEL, plane="strain")
        tie = aq.Tie(other.boundary("left"), each.boundary("right"))
        system = aq.System([each, other], [tie], velocity={"block": (1.0, 0.3)})
        results.append(aq.simulate(system, aq.Theta(0.5), duration=5e-5, step=1e-6))
    assert_same(*results)
    forces = [result["junction/junction"]["force"].values for result in results]
    np.testing.assert_allclose(forces[1], forces[0], rtol=0.0, atol=1e-11 * abs(forces[0]).max())


def test_master_with_facets():
    part, results = block(), []
    mesh = aq.mesh.rectangle((0.1001, 0.12), (0.01, 0.025), cells=(3, 3))
    for each in (part, complete(part)):
        ball = aq.Solid("ball", mesh, STEEL, plane="strain")
        touch = aq.Interface(
            "touch",
            ball.boundary("left"),
            each.boundary("right"),
            aq.Unilateral("velocity"),
            multiplier="nodes",
            friction=aq.Coulomb(0.2),
        )
        system = aq.System([each, ball], interfaces=[touch], velocity={"block": (1.0, 0.3), "ball": (-10.0, 0.0)})
        results.append(aq.simulate(system, aq.Theta(0.5), duration=4e-5, step=2e-7))
    assert_same(*results)
    assert abs(results[0]["interface/touch"]["force"]).max() > 1e6


def test_restart():
    """A run goes on from the result of another, with its generalised coordinates."""
    part = complete(block())

    def system(**more):
        return aq.System([part], springs=[aq.Spring("spring", part.boundary("left"), stiffness=1e9)], **more)

    whole = aq.simulate(system(velocity=(1.0, 0.2)), aq.Theta(0.5), duration=4e-5, step=1e-6)
    half = aq.simulate(system(velocity=(1.0, 0.2)), aq.Theta(0.5), duration=2e-5, step=1e-6)
    rest = aq.simulate(system(from_result=half), aq.Theta(0.5), duration=2e-5, step=1e-6)
    expected = whole["part/block"]["inner_displacement"].values[-1]
    found = rest["part/block"]["inner_displacement"].values[-1]
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-13 * abs(expected).max())
    other = aq.Superelement("block", mass=np.eye(13), stiffness=np.zeros((13, 13)), positions=part.positions)
    with pytest.raises(aq.UserError, match="'block' has 30 generalised coordinates there and 1 here"):
        aq.simulate(aq.System([other], from_result=half), aq.Theta(0.5), duration=1e-6, step=1e-6)


def test_gradient_by_matrices():
    """∂/∂E and ∂/∂ρ of a run through contact, by the tangents, against differences of runs; and those of the bar."""
    base = complete(bar())

    def study(young=1.0, density=1.0, part=None):
        part = part or aq.Superelement(
            "block",
            mass=density * base.mass,
            stiffness=young * base.stiffness,
            positions=base.positions,
            interface={"left": 0, "right": 1},
        )
        return aq.Study(impact(part, law=aq.Penalty(1e12)), aq.Theta(0.5), 2e-5, 1e-7)

    def full(young=1.0, density=1.0):
        steel = aq.LinearElastic(young=2e11 * young, poisson=0.3, density=7800.0 * density)
        return study(part=aq.Bar("block", aq.mesh.interval(0.0, 0.1, cells=12), steel))

    def tip(result):
        return result["part/block/displacement"][-1, -1, 0]

    def last(result):
        return result["part/block/displacement"][-1, 1, 0]

    short = aq.gradient(study, last, {"young": 1.0, "density": 1.0})["gradient"].values
    exact = aq.gradient(full, tip, {"young": 1.0, "density": 1.0})["gradient"].values
    np.testing.assert_allclose(short, exact, rtol=1e-9)
    delta = 1e-5
    for i, name in enumerate(("young", "density")):
        ends = [aq.simulate(s.system, s.scheme, duration=s.duration, step=s.step) for s in
                (study(**{name: 1.0 + delta}), study(**{name: 1.0 - delta}))]  # fmt: skip
        slope = (last(ends[0]) - last(ends[1])) / (2 * delta)
        assert float(slope) == pytest.approx(float(short.ravel()[i]), rel=1e-5)


def test_ensemble():
    part = complete(bar())
    systems = [impact(part, law=aq.Penalty(1e13)) for _ in range(2)]
    systems[1] = aq.System(systems[1].parts, interfaces=systems[1].interfaces, springs=systems[1].springs, velocity=2.0)
    both = aq.simulate_ensemble(systems, aq.Theta(0.5), duration=2e-5, step=1e-7)
    for i, system in enumerate(systems):
        alone = aq.simulate(system, aq.Theta(0.5), duration=2e-5, step=1e-7)["part/block"]
        member = both["part/block"].isel(member=i)
        for name in ("displacement", "inner_displacement", "generalised"):
            np.testing.assert_allclose(member[name].values, alone[name].values, rtol=1e-13, atol=1e-18)


def test_levels():
    """A switch to a superelement of the same coordinates goes on; to others it is refused."""

    def named(part, name):
        return aq.Superelement(name, mass=part.mass, stiffness=part.stiffness, positions=part.positions)

    def run(*parts):
        one, other = (aq.levels.Level(parts=[part]) for part in parts)
        body = aq.Levels("body", [one, other], aq.levels.SwitchTimes({2e-5: 1}))
        system = aq.System([], levels=[body], velocity=(1.0, 0.2))
        return aq.simulate(system, aq.Theta(0.5), duration=4e-5, step=1e-6)

    part = block()
    full = complete(part)
    result = run(named(full, "one"), named(full, "other"))["part/other"]
    np.testing.assert_allclose(result["displacement"][-1], [[4e-5, 8e-6]] * 6, rtol=1e-11)
    fewer = aq.craig_bampton(part, [part.boundary("left"), part.boundary("right")], modes=4)
    for pair in ((named(full, "one"), named(fewer, "other")), (named(full, "one"), part)):
        with pytest.raises(aq.UserError, match="no part of one level covers a part of the other"):
            run(*pair)
    with pytest.raises(aq.UserError, match="'one' switches to a superelement of the same nodes and coordinates alone"):
        run(part, named(full, "one"))


def test_junctions_refuse_in_words():
    short, other = complete(block()), block()
    with pytest.raises(aq.UserError, match="other parts are connected by Tie, Mortar or Relation"):
        aq.Junction(short, other)
    mass = aq.PointMasses("mass", (0.12, 0.0), 3.0)
    with pytest.raises(aq.UserError, match="'all' of 'mass': a part without a mesh has no facets here"):
        aq.Tie(short.boundary("right"), mass.boundary("all"))


def test_no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        part = complete(block())
        aq.simulate(aq.System([part], velocity=(1.0, 0.0)), aq.Theta(0.5), duration=2e-7, step=1e-7)
