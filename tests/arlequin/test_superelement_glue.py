"""Superelements glued to finite elements along a surface: patch tests, rows, runs, energy and frequencies."""

import numpy as np
import pytest
from scipy.sparse import block_array, block_diag, hstack
from scipy.sparse.linalg import splu

import arlequin as aq

UNIT = aq.LinearElastic(young=1.0, poisson=0.3, density=1.0)
STEEL = aq.LinearElastic(young=2e11, poisson=0.3, density=7800.0)
KINDS = [("quad", "tri"), ("tri", "quad"), ("hex", "tet"), ("tet", "hex")]
SIDES = ["coarse", "fine", "both"]


def pair(kinds, order=1, fine=None, material=UNIT, **options):
    """Two parts that touch in x = 0.5."""
    if kinds[0] in ("hex", "tet"):
        first = aq.mesh.box((0, 0.5), (0, 0.3), (0, 0.2), cells=(2, 2, 2), kind=kinds[0])
        second = aq.mesh.box((0.5, 1), (0, 0.3), (0, 0.2), cells=fine or (2, 3, 3), kind=kinds[1])
    else:
        options = {"plane": "stress", "thickness": 0.7, **options}
        first = aq.mesh.rectangle((0, 0.5), (0, 0.3), cells=(4, 3), kind=kinds[0])
        second = aq.mesh.rectangle((0.5, 1), (0, 0.3), cells=fine or (3, 4), kind=kinds[1])
    return tuple(
        aq.Solid(name, mesh, material, order=order, **options)
        for name, mesh in (("coarse", first), ("fine", second))
    )  # fmt: skip


def reduced(part, modes=0):
    ends = [part.boundary("left"), part.boundary("right")]
    return aq.craig_bampton(part, ends, modes=modes, boundary="fixed")


def complete(part):
    """The part in the coordinates of both ends and all modes between."""
    retained = part.components * sum(part.boundary(name).nodes.size for name in ("left", "right"))
    return reduced(part, part.dof_count - retained)


def replaced(parts, sides):
    """The pair with superelements of its ends in place of one part or both."""
    return tuple(reduced(part) if sides in (part.name, "both") else part for part in parts)


def patch(junction):
    """Largest error of a uniaxial stress, u = (x, −ν y, −ν z) imposed on the outer ends."""
    parts = junction.coarse, junction.fine
    axes = parts[0].positions.shape[1]
    x = np.concatenate([part.positions for part in parts])
    exact = (x * np.array([1.0, -0.3, -0.3])[:axes]).ravel()
    stiffness = block_diag([part.assemble().stiffness for part in parts], format="csr")
    operator = junction.operator()
    rows = hstack([operator.coarse, operator.fine], format="csr")
    imposed = np.repeat((x[:, 0] < 1e-12) | (x[:, 0] > 1 - 1e-12), axes)
    free, rows = ~imposed, rows / abs(rows).max()
    saddle = block_array([[stiffness[free][:, free], rows[:, free].T], [rows[:, free], None]], format="csc")
    known = np.where(imposed, exact, 0.0)
    right = -np.concatenate(((stiffness @ known)[free], rows @ known))
    factor = splu(saddle)
    u = factor.solve(right)
    u += factor.solve(right - saddle @ u)
    return np.abs(u[: free.sum()] - exact[free]).max()


@pytest.mark.sampled(4)
@pytest.mark.parametrize("kinds", KINDS)
@pytest.mark.parametrize("sides", SIDES)
@pytest.mark.parametrize("order", [1, 2])
def test_mortar_passes_the_patch_test(kinds, sides, order):
    coarse, fine = replaced(pair(kinds, order), sides)
    for mediator in ("coarse", "fine"):
        assert patch(aq.Mortar(coarse.boundary("right"), fine.boundary("left"), mediator=mediator)) < 1e-12


@pytest.mark.parametrize("kinds", [("quad", "tri"), ("hex", "hex")])
@pytest.mark.parametrize("sides", SIDES)
def test_tie_of_nodes_that_coincide_passes_the_patch_test(kinds, sides):
    coarse, fine = replaced(pair(kinds, fine=(2, 2, 2) if kinds[0] == "hex" else (3, 3)), sides)
    assert patch(aq.Tie(coarse.boundary("right"), fine.boundary("left"))) < 1e-12


@pytest.mark.sampled(4)
@pytest.mark.parametrize("kinds", KINDS)
@pytest.mark.parametrize("junction", [aq.Tie, aq.Mortar])
@pytest.mark.parametrize("order", [1, 2])
def test_rows_are_those_of_the_parts(kinds, junction, order):
    """The glue between the full parts, on the displacements that are retained."""
    parts = pair(kinds, order)
    surfaces = [part.boundary(name) for part, name in zip(parts, ("right", "left"), strict=True)]
    full = junction(*surfaces).operator()
    short = [reduced(part) for part in parts]
    others = [part.boundary(surface.name) for part, surface in zip(short, surfaces, strict=True)]
    found = junction(*others).operator()
    scale = 1.0 if junction is aq.Tie or len(parts[0].positions[0]) == 3 else 0.7  # superelements have no thickness
    for block, expected, surface, other in zip(
        (found.coarse, found.fine), (full.coarse, full.fine), surfaces, others, strict=True
    ):
        exact = expected[:, surface.dofs.ravel()].toarray() / scale
        np.testing.assert_allclose(block[:, other.dofs.ravel()].toarray(), exact, rtol=0, atol=1e-13 * abs(exact).max())
    # beside finite elements the thickness is theirs
    mixed = junction(surfaces[0], others[1]).operator()
    np.testing.assert_allclose(mixed.gram.toarray(), full.gram.toarray(), rtol=1e-12, atol=1e-18)


def glued(coarse, fine, junction=aq.Mortar, **options):
    return aq.System([coarse, fine], [junction(coarse.boundary("right"), fine.boundary("left"))], **options)


@pytest.mark.parametrize("sides", SIDES)
def test_runs_are_those_of_the_parts(sides):
    """Superelements with all inner modes, which are the full parts, on meshes that do not match."""
    parts, results = pair(("quad", "quad"), material=STEEL), []
    for each in (parts, tuple(complete(part) if sides in (part.name, "both") else part for part in parts)):
        system = glued(*each, velocity={"coarse": (1.0, 0.3)})
        results.append(aq.simulate(system, aq.Theta(0.5), duration=4e-4, step=1e-5))
    energy = results[0]["energy"].values
    np.testing.assert_allclose(results[1]["energy"].values, energy, rtol=0, atol=1e-12 * abs(energy).max())
    for part in parts:
        expected = results[0][f"part/{part.name}"]["displacement"].values
        group = results[1][f"part/{part.name}"]
        found = group["inner_displacement" if sides in (part.name, "both") else "displacement"].values
        atol = 1e-12 * abs(expected).max()
        np.testing.assert_allclose(found.reshape(expected.shape), expected, rtol=0, atol=atol)


def test_a_free_pair_keeps_energy_and_momentum():
    coarse, fine = replaced(pair(("hex", "hex"), material=STEEL), "coarse")
    result = aq.simulate(
        glued(coarse, fine, velocity={"fine": (1.0, 0.2, 0.1)}), aq.Theta(0.5), duration=1e-2, step=1e-5
    )
    energy = result["energy"].sum("kind").values
    assert energy.size == 1001
    assert np.ptp(energy) < 1e-12 * energy[0]
    # the part in motion has m v, and the pair moves on with it
    mass = {part.name: 7800.0 * 0.5 * 0.3 * 0.2 for part in (coarse, fine)}
    momentum = sum(result[f"part/{name}"]["momentum"].values for name in mass)
    exact = np.tile(mass["fine"] * np.array([1.0, 0.2, 0.1]), (1001, 1))
    np.testing.assert_allclose(momentum, exact, rtol=0, atol=1e-10 * mass["fine"])


def test_frequencies_are_those_of_the_glued_parts():
    """Below the cut-off of the reduction, to the bound of the issue."""
    coarse, fine = pair(("quad", "quad"), material=STEEL)
    short = aq.craig_bampton(coarse, [coarse.boundary("right")], modes=16)
    expected, found = (
        aq.natural_frequencies(glued(part, fine), count=6).frequencies for part in (coarse, short)
    )  # fmt: skip
    np.testing.assert_allclose(found[3:], expected[3:], rtol=1e-6)


def test_nodes_without_facets_are_tied_where_they_coincide():
    coarse, fine = pair(("quad", "quad"), fine=(3, 3))
    short = reduced(coarse)
    points = aq.Superelement(
        "points",
        mass=short.mass,
        stiffness=short.stiffness,
        positions=short.positions,
        interface={"right": short.boundary("right").nodes},
    )
    assert patch(aq.Tie(points.boundary("right"), fine.boundary("left"))) < 1e-12
    with pytest.raises(aq.UserError, match="'right' of superelement 'points' has nodes, but no facets: give them"):
        aq.Mortar(points.boundary("right"), fine.boundary("left"))


def test_rotations_are_not_tied():
    """A beam's end, reduced, at the middle of a plate's side: its deflection is tied, and it turns freely."""
    beam = aq.Beam.between("beam", (0.5, 0.15), (1.0, 0.15), 4, UNIT, aq.Section.circle(0.01))
    short = aq.craig_bampton(beam, [beam.boundary("left"), beam.boundary("right")], modes=0)
    plate, _ = pair(("quad", "quad"), thickness=1.0)
    operator = aq.Tie(plate.boundary("right"), short.boundary("left")).operator()
    left = short.boundary("left").nodes[0] * 3
    np.testing.assert_array_equal(np.unique(operator.fine.indices), [left, left + 1])


def test_messages():
    coarse, fine = pair(("quad", "quad"))
    short = reduced(coarse)
    space = pair(("hex", "hex"))[1]
    partly = aq.Superelement(
        "partly", mass=np.eye(7), stiffness=np.zeros((7, 7)), positions=short.positions[:4],
        components=[("x", "y"), ("x", "y"), ("x", "y"), ("x",)], interface={"side": {"facets": [[0, 1], [2, 3]]}},
    )  # fmt: skip
    rows = [(x, y, 0.0) for x in (0.0, 1.0, 2.0, 3.0) for y in (0.0, 1.0)]
    eight = aq.Superelement(
        "eight", mass=np.eye(24), stiffness=np.zeros((24, 24)), positions=rows,
        interface={"side": {"facets": [list(range(8))], "areas": np.ones(8), "normals": [(0.0, 0.0, 1.0)] * 8}},
    )  # fmt: skip
    left = fine.boundary("left")
    wrong = [
        (aq.Mortar, short.boundary("right"), space.boundary("left"), "nodes of 'coarse' have 2 coordinates, those of"),
        (aq.Mortar, short.boundary("right"), coarse.boundary("right"), "two parts named 'coarse'"),
        (aq.Mortar, partly.boundary("side"), left, "'partly' does not retain all displacements of node 3"),
        (
            aq.Mortar,
            eight.boundary("side"),
            space.boundary("left"),
            "facets of 8 nodes of superelement 'eight'",
        ),
        (aq.Tie, eight.boundary("side"), space.boundary("left"), "have 8 nodes: take Mortar"),
        (aq.Tie, short.boundary("left"), left, "'left' of 'fine' does not lie on 'left' of 'coarse'"),
        (aq.Mortar, short.boundary("left"), left, "is 0.5 m off the flat surface"),
    ]
    for junction, first, second, message in wrong:
        with pytest.raises(aq.UserError, match=message) as caught:
            junction(first, second).operator()
        assert "\n" not in str(caught.value)
