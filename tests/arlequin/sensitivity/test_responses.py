"""Every kind of response against the result, differences of runs, and tangents."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import arlequin as aq
from arlequin.sensitivity.responses import KINDS

# differences of runs between two changes of status have the derivatives at given statuses
gradient = partial(aq.gradient, events=False)

STEP = 1e-4  # of the values: most of the steps of central differences


def pin(wear=1e-9, stick=3e5, mass=0.2, load=20.0, density=2e3):
    """A pin that rubs on a floor in three dimensions: elastic stick, wear, a damped layer, a spring with a dashpot."""
    pin = aq.PointMasses("pin", (0.0, 0.0, 0.0), mass)
    floor = aq.RigidPlane(point=(0.0, 0.0, 0.0), normal=(0.0, 0.0, 1.0))
    law = [aq.Asperities(stiffness=1e9, exponent=1.2, height=1e-6, damping=1e3)]
    rubs, wears = aq.Coulomb(0.3, stiffness=stick), aq.Archard(wear, density=density)
    rub = aq.Interface("rub", pin.boundary("all"), floor, law, friction=rubs, wear=wears)
    held = aq.Spring("held", pin.boundary("all"), stiffness=(2e5, 2e5, 0.0), damping=(20.0, 20.0, 0.0))
    gravity, velocity = (0.0, 0.0, -load / mass), (0.5, 0.2, 0.0)
    system = aq.System([pin], interfaces=[rub], springs=[held], gravity=gravity, velocity=velocity)
    return aq.Study(system, aq.Theta(0.5), 5e-4, 1e-5)


def rod(young=1e11, outer=4.75e-3, gap=3e-5, friction=0.3, modal=False):
    """A clamped rod that knocks on a loose support and rubs there, driven by a force at its end."""
    section = aq.Section.tube(outer, 4.18e-3, 0.3)
    beam = aq.Beam.between(
        "rod", (0.0, 0.0, 0.0), (0.0, 0.0, 0.5), 4, aq.LinearElastic(young=young, poisson=0.3, density=6500.0), section,
        imposed={"left": dict.fromkeys(("x", "y", "z", "rx", "ry", "rz"), 0.0)},
        end_loads={"right": lambda t: (40.0 * np.sin(400.0 * t), 12.0, 0.0)},
        points={"support": aq.SectionPoints([0.25], [(4.75e-3, 0.0, 0.0)])}, damping=aq.Rayleigh(20.0, 1e-6),
    )  # fmt: skip
    part = aq.Modal(beam, 6, static=[beam.boundary("support")]) if modal else beam
    skin = part.boundary("support")
    planes = aq.RigidPlanes(skin.positions + np.array([gap, 0.0, 0.0]), [[-1.0, 0.0, 0.0]])
    law, rubs = aq.ImpactElement(stiffness=2e5, damping=10.0), aq.Coulomb(friction, stiffness=1e5)
    support = aq.Interface("support", skin, planes, law, friction=rubs)
    return aq.Study(aq.System([part], interfaces=[support]), aq.Theta(0.5), 0.006, 2e-5)


def driven(amplitude=3e-5, load=300.0):
    """A pin on an elastic arm whose other end moves as imposed, θ = 0.7: reactions work."""
    pin, arm = aq.PointMasses("pin", (0.0, 0.0), 0.1), {"x": lambda t: amplitude * np.sin(700.0 * t), "y": 0.0}
    drive = aq.PointMasses("drive", (0.0, 0.01), 1.0, imposed={"all": arm})
    floor, rubs = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0)), aq.Coulomb(0.4, stiffness=2e6)
    rub = aq.Interface("rub", pin.boundary("all"), floor, aq.Penalty(stiffness=1e8), friction=rubs)
    arm = aq.Spring("arm", pin.boundary("all"), drive.boundary("all"), stiffness=(1e6, 0.0), damping=(10.0, 0.0))
    system = aq.System([pin, drive], interfaces=[rub], springs=[arm], gravity=(0.0, -load))
    return aq.Study(system, aq.Theta(0.7), 0.003, 2e-5)


def bars(young=2e11, damping=2e3, restitution=0.5):
    """Two glued bars with damping that hit a wall: the junction absorbs what the coarse one cannot carry."""
    steel, damped = aq.LinearElastic(young=young, poisson=0.0, density=7800.0), aq.Rayleigh(damping, 0.0)
    coarse = aq.Bar("coarse", aq.mesh.interval(0.0, 0.6, cells=6), steel, damping=damped)
    fine = aq.Bar("fine", aq.mesh.interval(0.4, 1.0, cells=60), steel, damping=damped)
    glue = aq.Junction(coarse, fine, weights=aq.weights.Linear(), coupling=aq.L2(), mediator="coarse", absorbing=True)
    plane, law = aq.RigidPlane(point=1.0, normal=-1.0), aq.Unilateral(restitution=restitution)
    wall = aq.Interface("wall", fine.boundary("right"), plane, law)
    system = aq.System([coarse, fine], junctions=[glue], interfaces=[wall], velocity=1.0)
    return aq.Study(system, aq.Theta(0.5), 2e-4, 2e-6)


def block(length=0.03, vx=2.0, friction=0.3):
    """A block in space that falls on a floor and slides along both of its directions."""
    soft = aq.LinearElastic(young=2e9, poisson=0.3, density=2000.0)
    part = aq.Solid("block", aq.mesh.box((0, length), (0, 0.02), (0, 0.01), cells=(2, 2, 1)), soft)
    floor = aq.RigidPlane(point=(0, 0, -1e-5), normal=(0, 0, 1.0))
    face = aq.Interface("floor", part.boundary("bottom"), floor, aq.Unilateral(), friction=aq.Coulomb(friction))
    return aq.Study(aq.System([part], interfaces=[face], velocity=(vx, 1.0, -3.0)), aq.Theta(0.5), 1e-4, 2e-6)


def stack(young=1e9, gap=1e-5, friction=0.2):
    """Two blocks on one another and on a floor, of other cells, and a mass on a spring."""
    soft, mesh = aq.LinearElastic(young=young, poisson=0.2, density=2000.0), aq.mesh.rectangle
    lower = aq.Solid("lower", mesh((0, 0.02), (0, 0.01), cells=(3, 2)), soft, plane="stress")
    upper = aq.Solid("upper", mesh((0, 0.02), (0.01 + gap, 0.02 + gap), cells=(4, 2)), soft, plane="stress")
    mass, steel = aq.PointMasses("mass", (0.0, -0.05), 0.1), aq.RigidPlane(point=(0, 0), normal=(0, 1.0))
    law, rubs = aq.Unilateral(restitution=0.3), aq.Coulomb(friction, stiffness=1e12)
    floor = aq.Interface("floor", lower.boundary("bottom"), steel, law, friction=aq.Coulomb(friction))
    faces = upper.boundary("bottom"), lower.boundary("top")
    middle = aq.Interface("middle", *faces, aq.Penalty(1e13), friction=rubs, sliding="small")
    peg = aq.Interface("peg", mass.boundary("all"), aq.RigidPlane((0, -0.05001), (0, 1.0)), aq.Unilateral())
    spring = aq.Spring("spring", mass.boundary("all"), stiffness=(1e6, 1e6))
    system = aq.System([lower, upper, mass], interfaces=[floor, middle, peg], springs=[spring], velocity=(0.5, -1.0))
    return aq.Study(system, aq.Theta(0.5), 6e-5, 1e-6)


def explicit(young=2e9, vx=2.0, wear=1e-7, stiffness=1e13, damping=30.0):
    """A block of lumped masses on a spring with a dashpot, which falls on a layer before a floor, and rubs and wears
    there: central differences."""
    soft = aq.LinearElastic(young=young, poisson=0.3, density=2000.0)
    mesh = aq.mesh.rectangle((0, 0.03), (0, 0.02), cells=(3, 2))
    part = aq.Solid("block", mesh, soft, plane="strain", mass="lumped", damping=aq.Rayleigh(2e3, 0.0))
    laws = [aq.Asperities(stiffness=stiffness, height=5e-6), aq.Unilateral(restitution=0.2)]
    floor, rubs, wears = aq.RigidPlane((0, -1e-5), (1e-4, 1.0)), aq.Coulomb(0.3), aq.Archard(wear)
    face = aq.Interface("floor", part.boundary("bottom"), floor, laws, friction=rubs, wear=wears)
    held = aq.Spring("held", part.boundary("top"), stiffness=(1e6, 1e6), damping=(damping, damping))
    system = aq.System([part], interfaces=[face], springs=[held], gravity=(0.0, -9.81), velocity=(vx, -3.0))
    return aq.Study(system, aq.CentralDifference(), 6e-5, 1e-6)


STUDIES = {
    "central differences": (explicit, {"young": 2e9, "vx": 2.0, "wear": 1e-7, "stiffness": 1e13, "damping": 30.0}, 7),
    "block in space": (block, {"length": 0.03, "vx": 2.0}, 7),
    "several interfaces": (stack, {"young": 1e9, "gap": 1e-5}, 7),
    "pin": (pin, {"wear": 1e-9, "stick": 3e5, "mass": 0.2, "density": 2e3}, 7),
    "rod": (rod, {"young": 1e11, "gap": 3e-5, "outer": 4.75e-3}, 11),
    "modal rod": (lambda **own: rod(modal=True, **own), {"young": 1e11, "friction": 0.3}, 11),
    "imposed motion": (driven, {"amplitude": 3e-5, "load": 300.0}, 9),
    "absorbing junction": (bars, {"young": 2e11, "damping": 2e3, "restitution": 0.47}, 7),  # a status changes at 0.5
}


def difference(study, at, name, responses, step):
    """Central differences of order 4."""
    total = np.zeros(len(responses))
    for j, weight in ((-2, 1.0), (-1, -8.0), (1, 8.0), (2, -1.0)):
        result = study(**{**at, name: at[name] + j * step}).run()
        total = total + weight * np.array([response(result) for response in responses.values()])
    return total / (12.0 * step)


def every_response(result, staggered=False):
    """Of each variable of a result that has one: its last node, a point in the middle, all components and supports,
    mean and value at the end; and the largest value of the variable."""
    out = {}
    names = [("energy", str(kind)) for kind in result["energy"]["kind"].values]
    for root in ("part", "interface", "spring"):
        for name, group in result[root].children.items() if root in result.children else ():
            names += [(root, name, key) for key in group.data_vars]
    for name in names:
        kind = KINDS.get((name[0], name[-1]))
        if kind is None or (staggered and kind.of_ends):
            continue
        path = "/".join(name)
        values = result["energy"] if name[0] == "energy" else result[path]
        options = [{}]
        for dim in values.dims[1:]:
            key = {"turn": "component", "kind": None}.get(dim, dim)
            if key in ("component", "support"):
                options = [{**own, key: str(each)} for own in options for each in values[dim].values]
            elif key is not None:
                at = values.sizes[dim] - 1 if dim == "node" else values.sizes[dim] // 2
                options = [{**own, key: at} for own in options]
        for own in options:
            for reduce in ("final", "mean"):
                response = aq.Response(path, reduce, **own)
                out[repr(response)] = response, float(np.abs(values).max())
    return out


@pytest.mark.slow
@pytest.mark.parametrize("case", STUDIES)
def test_every_response(case):
    """Values are those of the result, to 1e-12; derivatives those of central differences of runs, to 1e-6 of them, of a
    tenth of the value over the parameter, or 1e-8 of the largest value of the variable over the parameter (round-off of
    differences); adjoints are tangents, to 1e-10."""
    whole, at, every = STUDIES[case]

    def study(**own):
        return replace(whole(**own), fields_every=every)

    result = study(**at).run()
    found = every_response(result, study(**at).scheme == aq.CentralDifference())
    responses = {key: response for key, (response, _) in found.items()}
    sizes, values = np.array([size for _, size in found.values()]), [own(result) for own in responses.values()]
    tangents = gradient(study, responses, at, method="tangent")
    np.testing.assert_allclose(tangents["value"], values, rtol=1e-12, atol=1e-14 * sizes.max())
    for i, name in enumerate(at):
        reach = min(tangents["up"].values[i], -tangents["down"].values[i])
        against = difference(study, at, name, responses, min(STEP * abs(at[name]), 0.2 * reach))
        own = tangents["gradient"].values[:, i]
        allowed = 1e-6 * np.maximum(np.abs(own), 0.1 * np.abs(values) / at[name]) + 1e-8 * sizes / at[name]
        wrong = [key for key, bad in zip(responses, np.abs(against - own) > allowed, strict=True) if bad]
        assert not wrong, (name, wrong)
    if case == "imposed motion":
        return  # a parameter of the motion has no adjoint
    adjoints = gradient(study, responses, at, method="adjoint")
    assert (np.abs(adjoints["value"] - values) <= 1e-12 * sizes).all()
    for i, name in enumerate(at):
        one, other = (own["gradient"].values[:, i] for own in (tangents, adjoints))
        assert (np.abs(one - other) <= 1e-10 * np.maximum(np.abs(one), sizes / at[name])).all()


@pytest.mark.slow
def test_relative_sensitivities_are_those_of_other_units():
    """A block in m, kg, s and the same in mm, t, s: p/J dJ/dp does not change, to 1e-7 of the largest."""

    def falling(young, density, speed, gap, friction, length, unit):
        mm, tonne = (1.0, 1.0) if unit == 1.0 else (1e3, 1e-3)  # of m and kg
        steel = aq.LinearElastic(young=young * tonne / mm, poisson=0.3, density=density * tonne / mm**3)
        sides = (0.0, 0.02 * length * mm), (0.0, 0.01 * mm)
        part = aq.Solid("b", aq.mesh.rectangle(*sides, cells=(6, 3)), steel, plane="strain", thickness=1e-3 * mm)
        layer = aq.Asperities(stiffness=1e15 * tonne / mm**2, exponent=1, height=1e-5 * mm)
        floor = aq.RigidPlane(point=(0.0, -gap * mm), normal=(0.0, 1.0))
        laws, rubs = [layer, aq.Unilateral(level="velocity")], aq.Coulomb(friction)
        face = aq.Interface("f", part.boundary("bottom"), floor, laws, friction=rubs)
        system = aq.System([part], interfaces=[face], velocity=(1.0 * mm, -speed * mm))
        return aq.Study(system, aq.Theta(0.5), 2e-5, 2e-7)

    at = {"young": 2e11, "density": 7800.0, "speed": 5.0, "gap": 2.03e-5, "friction": 0.25, "length": 1.0}
    kinds = ("kinetic", "strain", "asperity", "friction")
    energies = {kind: aq.Response(f"energy/{kind}", "mean") for kind in kinds}
    relative = []
    for unit in (1.0, 1e3):
        found = gradient(falling, energies, at, at={"unit": unit}, method="tangent")
        relative.append((found["gradient"] * found["parameter_value"] / found["value"]).values)
    np.testing.assert_allclose(*relative, rtol=1e-7, atol=1e-7 * np.abs(relative[0]).max())


@pytest.mark.slow
def test_all_variables_over_time_are_responses():
    """But for whole numbers, and impulses of constraints, which have no adjoint."""
    seen = set()
    for whole, at, _ in STUDIES.values():
        result = whole(**at).run()
        seen |= {("energy", str(kind)) for kind in result["energy"]["kind"].values}
        for root in ("part", "interface", "spring", "junction"):
            for group in result[root].children.values() if root in result.children else ():
                seen |= {(root, key) for key, own in group.data_vars.items() if own.dims[:1] in (("time",), ("frame",))}
    without = {("energy", "scheme"), ("energy", "junction"), ("junction", "mismatch"), ("junction", "force")}
    without |= {("interface", name) for name in ("active", "status", "spring_traction")}
    assert seen - set(KINDS) == without


def test_a_record_on_frames_and_of_a_point():
    """The misfit is half the mean square that the result gives; its gradient that of differences."""
    study = lambda **own: replace(pin(**own), fields_every=7)  # noqa: E731
    gap = study().run()["interface/rub/gap"].values[1:, 0]
    misfit = aq.Response("interface/rub/gap", data=gap + 1e-8, deviation=2e-8)
    for method in ("tangent", "adjoint"):
        found = gradient(study, misfit, {"load": 20.0}, method=method)
        assert found["value"].item() == pytest.approx(0.125, rel=1e-9)
        against = difference(study, {"load": 20.0}, "load", {"misfit": misfit}, 1e-3)[0]
        assert found["gradient"].item() == pytest.approx(against, rel=1e-6)


@pytest.mark.sampled(7)
@pytest.mark.parametrize(
    ("path", "options", "message"),
    [
        ("interface/rubs/force", {"component": "x"}, "no such variable, did you mean rub"),
        ("interface/rub/force", {"component": "w"}, "component = 'w': must be one of x, y, z"),
        ("interface/rub/gap", {"point": 3}, "point = 3: must be less than 1"),
        ("part/pin/velocity", {"node": 4, "component": "x"}, "node = 4: must be less than 1"),
        ("part/pin/reaction", {"component": "x"}, "no such variable"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("method", ["tangent", "adjoint"])
def test_what_a_result_has_not_is_told_at_once(path, options, message, method):
    with pytest.raises(aq.UserError, match=message):
        gradient(pin, aq.Response(path, **options), {"load": 20.0}, method=method)


def test_reaction_of_the_only_support_beside_a_part_without_imposed_motions():
    """Two masses joined by a spring, one of them driven: the reaction needs no name of its support."""

    def study(k):
        base = aq.PointMasses("base", (0.0, 0.0), 1.0, imposed={"all": {"x": lambda t: 1e-3 * t, "y": 0.0}})
        ball = aq.PointMasses("ball", (0.0, 0.0), 2.0)
        spring = aq.Spring("s", ball.boundary("all"), base.boundary("all"), stiffness=(k, k))
        return aq.Study(aq.System([ball, base], springs=[spring]), aq.Theta(0.5), 0.5, 0.01)

    response = aq.Response("part/base/reaction", component="x", reduce="final")
    slope = aq.gradient(study, response, {"k": 40.0})
    reaction = [study(k).run(progress=False)["part/base/reaction"] for k in (40.0 - 1e-3, 40.0 + 1e-3)]
    low, high = (float(force.isel(time=-1).sel(component="x").sum()) for force in reaction)
    assert float(slope["gradient"].item()) == pytest.approx((high - low) / 2e-3, rel=1e-6)
