"""Weights of three and more overlapping models: a partition of unity, its closed forms, and what has none."""

import itertools
import warnings

import numpy as np
import pytest

import arlequin as aq
from arlequin.junctions.base import JunctionWarning
from arlequin.junctions.partition import weightings
from arlequin.system.weights import weights_of

MATERIAL = aq.LinearElastic(young=1.0, poisson=0.3, density=1.0)
LENGTH, HEIGHT, STRAIN = 10.0, 1.3, 1e-3
KINDS = {1: (None,), 2: ("quad", "tri"), 3: ("hex", "tet")}


def bar(name, low, high, cells, **more):
    return aq.Bar(name, aq.mesh.interval(low, high, cells=cells), MATERIAL, **more)


def model(name, low, high, size, axes, kind):
    """A bar, plate or block over low < x < high with cells of about this size, held at x = 0 and pulled at x = 10."""
    pulled = high > LENGTH - 1e-9
    load = {"right": lambda x, t: (STRAIN * t,) + (0.0,) * (axes - 1) if axes > 1 else STRAIN * t} if pulled else {}
    held = {"left": {"x": 0.0}} if low < 1e-9 else {}
    count = [max(1, round(extent / size)) for extent in (high - low, HEIGHT, HEIGHT)]
    if axes == 1:
        return bar(name, low, high, count[0], imposed=held, tractions=load)
    held["bottom"] = {"y": 0.0}
    if axes == 2:
        mesh = aq.mesh.rectangle((low, high), (0, HEIGHT), cells=tuple(count[:2]), kind=kind)
        return aq.Solid(name, mesh, MATERIAL, plane="stress", imposed=held, tractions=load)
    held["back"] = {"z": 0.0}
    mesh = aq.mesh.box((low, high), (0, HEIGHT), (0, HEIGHT), cells=tuple(count), kind=kind)
    return aq.Solid(name, mesh, MATERIAL, imposed=held, tractions=load)


def arrangement(seed, axes):
    """Up to five models (three in space) on 0 < x < 10: a chain, patches in one model, nested ones, or any of these."""
    rng = np.random.default_rng([seed, axes])
    way = ("chain", "patches", "nested", "any")[seed % 4]
    count = int(rng.integers(3, 6)) if axes < 3 else 3
    parts, junctions, spans = [], [], []

    def add(low, high):
        size = 1.0 / (1.0 + len(parts) * rng.uniform(0.8, 1.5))
        spans.append((low, high))
        parts.append(model(f"part{len(parts)}", low, high, size, axes, rng.choice(KINDS[axes])))

    def glue(first, second, zone=None):
        own = {} if zone is None else {"zone": zone}
        junctions.append(aq.Junction(parts[first], parts[second], name=f"glue{first}{second}", **own))

    if way == "chain":
        half = LENGTH / count
        for i in range(count):
            add(
                0.0 if i == 0 else i * half - rng.uniform(0.55, 0.9), LENGTH if i == count - 1 else (i + 1) * half + 0.5
            )
        for i in range(count - 1):
            glue(i, i + 1)
        return parts, junctions
    add(0.0, LENGTH)
    width = rng.uniform(1.0, 1.2)
    for i in range(1, count):
        if way == "nested":
            low, high = spans[-1][0] + rng.uniform(0.1, 1.5), spans[-1][1] - rng.uniform(0.1, 1.0)
            if high - low < 2 * width:
                break
            add(low, high)
            glue(i - 1, i, aq.zones.Box(width=width))
        elif way == "patches":  # each begins where the zone of the one before ends, or behind it
            low = rng.uniform(0.6, 1.5) if i == 1 else spans[-1][1] - (width if rng.random() < 0.7 else -0.2)
            if low + 2.2 * width > 9.4:
                break
            add(low, low + rng.uniform(2.05, 2.2) * width)
            glue(0, i, aq.zones.Box(width=width))
        else:
            low = rng.uniform(0.3, 6.0)
            add(low, min(low + rng.uniform(2.2, 4.0), 9.6))
            for j in range(i):
                low, high = max(spans[i][0], spans[j][0]), min(spans[i][1], spans[j][1])
                inside = j == 0 or (spans[j][0] < spans[i][0] and spans[i][1] < spans[j][1])
                if high - low > 1.0 and (j == 0 or rng.random() < 0.5):
                    glue(
                        j,
                        i,
                        aq.zones.Box(width=1.0)
                        if inside
                        else aq.zones.Strip(*((low, high) if spans[i][0] > spans[j][0] else (high, low))),
                    )
    return parts, junctions


def check_arrangement(seed, axes):
    """Mass and kinetic energy of the union; patch test where no warning excludes it. Returns how it ended."""
    try:
        parts, junctions = arrangement(seed, axes)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always", JunctionWarning)
            weights = weightings(junctions)
            system = aq.System(parts, junctions, velocity=2.0 if axes == 1 else (2.0,) + (0.0,) * (axes - 1))
            moving = aq.simulate(system, aq.Theta(0.5), duration=1e-6, step=1e-6, progress=False)
            pulled = aq.simulate(aq.System(parts, junctions), aq.Static(), duration=1.0, step=1.0, progress=False)
    except aq.UserError as error:
        return f"refused: {error}"
    volume = LENGTH * HEIGHT ** (axes - 1)
    assert sum(float(moving[f"part/{part.name}/mass"]) for part in parts) == pytest.approx(volume, rel=1e-13)
    if not any(part.imposed.get("left") for part in parts):
        assert float(moving["energy"].sel(kind="kinetic")[0]) == pytest.approx(2 * volume, rel=1e-12)
    if any("kinks" in str(item.message) for item in told):
        return "kinks"
    for part in parts:
        weight = weights[part.name].stiffness
        assert weight.min() >= 0
        live = np.unique(part.basis.element_dofs[:, weight.max(axis=1) > 1e-6])
        found = pulled[f"part/{part.name}/displacement"].values[-1, live, 0]
        np.testing.assert_allclose(found, STRAIN * part.positions[live, 0], atol=1e-9 * STRAIN * LENGTH)
    return "patch"


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("axes", "seed"), [(1, 0), (1, 1), (1, 2), (1, 3), (1, 5), (1, 6), (2, 0), (2, 1), (2, 2), (3, 1)]
)
def test_some_arrangements(axes, seed):
    check_arrangement(seed, axes)


@pytest.mark.slow
@pytest.mark.parametrize("axes", [1, 2, 3])
def test_many_arrangements(axes):
    ends = [check_arrangement(seed, axes).split(":")[0] for seed in range({1: 120, 2: 60, 3: 8}[axes])]
    assert ends.count("patch") >= 0.5 * len(ends) and ends.count("refused") <= 0.3 * len(ends)


def cell_means(parts, weights, name):
    part = next(part for part in parts if part.name == name)
    order = np.argsort(part.quadrature_points()[0].mean(axis=1))
    return (weights[name].stiffness * part.basis.dx).sum(axis=1)[order] / part.basis.dx.sum(axis=1)[order]


def hat_integral(function, low, high):
    """Mean of a piecewise smooth function over low < x < high, by a fine midpoint rule."""
    x = low + (high - low) * (np.arange(20_000) + 0.5) / 20_000
    return function(x).mean()


def test_two_patches_with_one_common_zone_hand_over_to_each_other():
    """In 4.3 < x < 5.3 the first falls as the second rises; the coarse bar has nothing left there."""
    parts = [bar("coarse", 0, 10, 10), bar("one", 2, 5.3, 9), bar("two", 4.3, 8, 12)]
    weights = weightings([aq.Junction(parts[0], own, zone=aq.zones.Box(width=1), name=own.name) for own in parts[1:]])
    one = lambda x: np.clip(np.minimum(x - 2, 5.3 - x), 0, 1)  # noqa: E731
    two = lambda x: np.clip(np.minimum(x - 4.3, 8 - x), 0, 1)  # noqa: E731
    for name, function, ends in (
        ("one", one, np.linspace(2, 5.3, 10)), ("two", two, np.linspace(4.3, 8, 13)),
        ("coarse", lambda x: 1 - one(x) - two(x), np.linspace(0, 10, 11)),
    ):  # fmt: skip
        exact = [hat_integral(function, *pair) for pair in itertools.pairwise(ends)]
        np.testing.assert_allclose(cell_means(parts, weights, name), exact, atol=1e-7)


@pytest.mark.filterwarnings("ignore::arlequin.junctions.base.JunctionWarning")
def test_nested_patches_share_as_differences_of_profiles():
    """The inner patch rises to one before the outer one has: from x = 2.5 on the outer one has nothing left."""
    parts = [bar("coarse", 0, 9, 9), bar("outer", 1.2, 8.8, 15), bar("inner", 1.9, 8.1, 31)]
    junctions = [
        aq.Junction(parts[0], parts[1], zone=aq.zones.Strip(1.3, 3.3), name="a"),
        aq.Junction(parts[1], parts[2], zone=aq.zones.Strip(2.0, 2.6), name="b", weights=aq.weights.Linear()),
    ]
    outer = lambda x: np.clip((x - 1.3) / 2, 0, 1)  # noqa: E731
    inner = lambda x: np.where(x > 1.9, np.clip((x - 2) / 0.6, 0, 1), 0) * (x < 8.1)  # noqa: E731
    with pytest.warns(JunctionWarning, match=r"junction 'a'.*kinks.*'inner'|junction 'b'"):
        weights = weightings(junctions)
    exact = lambda x: np.maximum(outer(x) * (x < 8.8) - inner(x), 0)  # noqa: E731
    means = [hat_integral(exact, *pair) for pair in itertools.pairwise(np.linspace(1.2, 8.8, 16)[:13])]
    np.testing.assert_allclose(cell_means(parts, weights, "outer")[:12], means, atol=2e-7)


def test_two_patches_that_meet_inside_a_coarse_cell_pass_the_patch_test():
    coarse = bar("coarse", 0, 0.6, 6, imposed={"left": {"x": 0.0}})
    one, two = bar("one", 0.3, 0.45, 15), bar("two", 0.45, 1, 44, tractions={"right": lambda x, t: t})
    junctions = [aq.Junction(coarse, own, name=own.name, zone=aq.zones.Strip(0.3, 0.6)) for own in (one, two)]
    tie = aq.Tie(one.boundary("right"), two.boundary("left"), name="tie")
    system = aq.System([coarse, one, two], [*junctions, tie])
    result = aq.simulate(system, aq.Static(), duration=1.0, step=1.0, progress=False)
    for own in (one, two):
        np.testing.assert_allclose(result[f"part/{own.name}/displacement"][-1, :, 0], own.positions[:, 0], atol=1e-13)


def test_the_force_of_each_junction_where_the_coarse_model_only_mediates():
    """A unit traction passes from the first patch to the second: each junction has the force of one side as before."""
    coarse = bar("coarse", 0, 10, 10, imposed={"left": {"x": 0.0}}, tractions={"right": lambda x, t: t})
    fine = [bar("one", 2.1, 5.3, 9), bar("two", 4.2, 8.3, 12)]
    junctions = [aq.Junction(coarse, own, zone=aq.zones.Box(width=1.1), name=own.name) for own in fine]
    result = aq.simulate(aq.System([coarse, *fine], junctions), aq.Static(), duration=1.0, step=1.0, progress=False)
    for own in fine:  # a free part in equilibrium: the forces at its two ends cancel
        assert abs(float(result[f"junction/{own.name}/force"][-1, 0])) < 1e-12
        np.testing.assert_allclose(result[f"part/{own.name}/displacement"][-1, :, 0], own.positions[:, 0], rtol=1e-12)
    assert float(result["junction/one/mismatch"][-1]) < 1e-12


def test_motion_of_overlapping_patches_conserves_energy():
    coarse = bar("coarse", 0, 10, 10)
    fine = [bar("one", 2.1, 5.3, 9), bar("two", 4.2, 8.3, 12)]
    junctions = [aq.Junction(coarse, own, zone=aq.zones.Box(width=1.1), name=own.name) for own in fine]
    start = {name: lambda x: 0.1 * np.sin(np.pi * x / 5) for name in ("coarse", "one", "two")}
    system = aq.System([coarse, *fine], junctions, velocity=start)
    for scheme, step in ((aq.Theta(0.5), 0.1), (aq.Newmark(), 0.1)):
        result = aq.simulate(system, scheme, duration=20.0, step=step, progress=False)
        assert float(abs(result["balance"]).max()) < 1e-12


REFUSED = {
    "parts 'one' and 'two' overlap at .* no junction couples them": lambda: [
        aq.Junction(coarse := bar("coarse", 0, 5, 10), bar("one", 3, 7, 9), name="a"),
        aq.Junction(coarse, bar("two", 4.5, 8, 12), name="b"),
    ],
    "'two' takes over from 'one'|'one' takes over from 'two'": lambda: [
        aq.Junction(coarse := bar("coarse", 0, 10, 10), bar("one", 2, 5.5, 9), zone=aq.zones.Box(width=1), name="a"),
        aq.Junction(coarse, bar("two", 4, 8, 12), zone=aq.zones.Box(width=1), name="b"),
    ],
    "part 'two' has no weight anywhere beside 'one': leave it out": lambda: [
        aq.Junction(coarse := bar("coarse", 0, 10, 10), bar("one", 0, 10, 23), zone=aq.zones.Strip(10, 8.5), name="a"),
        aq.Junction(coarse, bar("two", 3, 7, 13), zone=aq.zones.Strip(3.5, 5), name="b"),
    ],
    "is the fine part of a part that is finer than itself": lambda: [
        aq.Junction(first := bar("one", 0, 6, 6), second := bar("two", 4, 10, 12), name="a"),
        aq.Junction(second, first, name="b"),
    ],
}


@pytest.mark.filterwarnings("ignore::arlequin.junctions.base.JunctionWarning")
@pytest.mark.parametrize("message", REFUSED)
def test_what_has_no_partition_is_refused(message):
    with pytest.raises(aq.UserError, match=message):
        weightings(REFUSED[message]())


def test_beams_in_both_ends_of_a_solid_must_not_share_a_cell():
    steel = aq.LinearElastic(young=2e11, poisson=0.3, density=7800.0)
    solid = aq.Solid("solid", aq.mesh.rectangle((0.4, 1.2), (-0.05, 0.05), cells=(16, 4)), steel, plane="stress")
    section = aq.Section.rectangle(0.1, 1.0)
    beams = [
        aq.Beam(name, aq.mesh.interval(*ends, cells=10), steel, section, dimension=2)
        for name, ends in (("left", (0.0, 0.9)), ("right", (0.7, 1.6)))
    ]
    junctions = [aq.BeamJunction(own, solid, name=own.name) for own in beams]
    with pytest.raises(aq.UserError, match=r"junction 'right'.*share the cell of 'solid' at"):
        weights_of(junctions)


def test_waves_are_not_absorbed_against_a_part_of_which_nothing_is_left():
    coarse = bar("coarse", 0, 10, 10)
    fine = [bar("one", 2.1, 5.3, 9), bar("two", 4.2, 8.3, 12)]
    junctions = [aq.Junction(coarse, own, zone=aq.zones.Box(width=1.1), name=own.name, absorbing=True) for own in fine]
    system = aq.System([coarse, *fine], junctions)
    with pytest.raises(aq.UserError, match=r"junction 'one': nothing is left of the coarse part.*absorbing=None"):
        aq.simulate(system, aq.Theta(0.5), duration=1e-3, step=1e-3, progress=False)


def test_a_patch_glued_by_two_junctions_at_its_two_ends():
    """The profile is the least of both shares: the weights are those of one box around."""
    parts = [bar("coarse", 0, 10, 10), bar("fine", 2.3, 7.6, 21)]
    ends = aq.zones.Strip(2.4, 3.5), aq.zones.Strip(7.5, 6.3)
    two = weightings([aq.Junction(*parts, zone=zone, name=f"end{n}") for n, zone in enumerate(ends)])
    profile = lambda x: np.clip(np.minimum((x - 2.4) / 1.1, (7.5 - x) / 1.2), 0, 1) * (x > 2.3) * (x < 7.6)  # noqa: E731
    for name, own, points in (
        ("coarse", lambda x: 1 - profile(x), np.arange(11.0)),
        ("fine", profile, np.linspace(2.3, 7.6, 22)),
    ):
        means = [hat_integral(own, *pair) for pair in itertools.pairwise(points)]
        np.testing.assert_allclose(cell_means(parts, two, name), means, atol=1e-7)
