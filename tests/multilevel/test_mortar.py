"""Mortar pairing of two surfaces: patch property, invariance, gaps and rates against sampled integrals."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from arlequin.models import mesh
from arlequin.models.errors import UserError
from arlequin.models.fem.bar import Bar
from arlequin.models.fem.solid import Solid
from arlequin.models.materials.elastic import LinearElastic
from arlequin.multilevel.pairing.mortar import MortarPairing

STEEL = LinearElastic(young=1.0, poisson=0.3, density=1.0)
# element of both bodies → multiplier spaces that it takes
PLANE = {("quad", 1): ("P0", "P1"), ("tri", 2): ("P0", "P1", "P2"), ("quad", 5): ("P0", "P1")}
SOLID = {("hex", 1): ("P0", "P1"), ("tet", 1): ("P0", "P1"), ("tet", 2): ("P0", "P1"), ("hex", 2): ("P0", "P1", "P2")}
SOLID |= {("hex", 3): ("P0", "P1")}
ELEMENTS = [(2, *key, space) for key, spaces in PLANE.items() for space in spaces]
ELEMENTS += [(3, *key, space) for key, spaces in SOLID.items() for space in spaces]


def block(name, axes, low, high, cells, kind, order, **options):
    """A block between two corners; its lower end is `bottom` (2D) or `back` (3D), its upper one `top` or `front`."""
    ranges = list(zip(low, high, strict=True))
    if axes == 2:
        options = {"plane": "strain"} | options
        return Solid(name, mesh.rectangle(*ranges, cells, kind), STEEL, order=order, **options)
    return Solid(name, mesh.box(*ranges, cells, kind), STEEL, order=order)


def ends(axes):
    return ("bottom", "top") if axes == 2 else ("back", "front")


def stacked(axes, kind, order, cells=(3, 4), width=(1.0, 1.0), start=0.0, **options):
    """Surfaces of an upper block's lower end and of a lower block's upper end, in contact on the plane 1."""
    above, below = (
        block(
            name, axes, [start] * (axes - 1) + [low], [start + across] * (axes - 1) + [low + 1],
            (count,) * (axes - 1) + (1,), kind, order, **options,
        )
        for name, low, across, count in (("above", 1, width[0], cells[0]), ("below", 0, width[1], cells[1]))
    )  # fmt: skip
    lower, upper = ends(axes)
    return above.boundary(lower), below.boundary(upper)


def rigid(positions, spin, drift):
    """Velocities (d,) of the rigid motion v = drift + ω × x; spin has one entry in 2D, three in 3D."""
    if positions.shape[1] == 2:
        turned = spin[0] * np.stack([-positions[:, 1], positions[:, 0]], axis=1)
    else:
        turned = np.cross(spin, positions)
    return (turned + drift).ravel()


def wavy(positions, rng, height):
    """Positions with a smooth wave out of the plane 1 and a random disturbance in and out of it."""
    moved = positions + rng.uniform(-1, 1, positions.shape) * 0.02
    moved[:, -1] += height * np.sin(2.0 * positions[:, :-1].sum(axis=1) + rng.uniform(0, 6))
    return moved


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("axes", "kind", "order", "space"), ELEMENTS)
@pytest.mark.parametrize("swapped", [pytest.param(False, marks=pytest.mark.kernels), True], ids=["", "swapped"])
def test_uniform_pressure_loads_both_sides_consistently(axes, kind, order, space, swapped):
    """Patch property: Hᵀ areas = ∫φ dΓ on both sides (areas of the surfaces, by scikit-fem)."""
    slave, master = stacked(axes, kind, order)
    if swapped:
        slave, master = master, slave
    out = 1.0 if not swapped else -1.0
    pairing = MortarPairing(slave, master, space)
    found = pairing.at(slave.positions, master.positions)
    assert np.abs(found.gap).max() < 1e-15
    assert pairing.areas.sum() == pytest.approx(slave.areas.sum(), abs=1e-14)
    assert np.abs(found.normals - out * np.eye(axes)[-1]).max() < 1e-14
    force = (found.rows.T @ np.kron(pairing.areas, np.eye(axes)[0])).reshape(-1, axes)
    expected = out * np.concatenate([slave.areas, -master.areas])
    assert np.abs(force[:, -1] - expected).max() < 1e-13
    assert np.abs(force[:, :-1]).max() < 1e-14


@pytest.mark.kernels
@pytest.mark.parametrize("kind", ["tet", "quad"])
def test_uniform_pressure_on_irregular_meshes(kind):
    axes = 3 if kind == "tet" else 2
    rng = np.random.default_rng(3)
    slave, master = stacked(axes, kind, 1, cells=(4, 5))
    sides = []
    for surface in (slave, master):
        part, end = surface.part, surface.name
        points = part.mesh.p.copy()
        inside = ((points[:-1] > 1e-9) & (points[:-1] < 1 - 1e-9)).all(axis=0)
        points[:-1, inside] += rng.uniform(-0.05, 0.05, (axes - 1, int(inside.sum())))
        sides.append(replace(part, mesh=replace(part.mesh, doflocs=points)).boundary(end))
    slave, master = sides
    for space in ("P0", "P1"):
        pairing = MortarPairing(slave, master, space)
        found = pairing.at(slave.positions, master.positions)
        force = (found.rows.T @ np.kron(pairing.areas, np.eye(axes)[0])).reshape(-1, axes)
        assert np.abs(force[:, -1] - np.concatenate([slave.areas, -master.areas])).max() < 1e-13


@pytest.mark.kernels
@pytest.mark.parametrize("options", [{"thickness": 0.3}, {"plane": "axisymmetric"}], ids=["thickness", "axisymmetric"])
@pytest.mark.parametrize(("order", "space"), [(1, "P0"), (1, "P1"), (2, "P2")])
def test_thickness_and_rotational_symmetry_are_in_the_areas(options, order, space):
    slave, master = stacked(2, "quad", order, start=0.0 if order == 1 else 0.5, **options)
    pairing = MortarPairing(slave, master, space)
    if space != "P0":
        assert np.abs(pairing.areas - slave.areas).max() < 1e-13
    force = pairing.at(slave.positions, master.positions).rows.T @ np.kron(pairing.areas, [1, 0])
    assert np.abs(force[1::2] - np.concatenate([slave.areas, -master.areas])).max() < 1e-13


@pytest.mark.sampled(7)
@pytest.mark.kernels
@pytest.mark.parametrize(("axes", "kind", "order", "space"), ELEMENTS)
def test_rows_vanish_in_common_rigid_motions(axes, kind, order, space):
    """Deformed surfaces at a gap as large as a facet, warped and curved facets, some of them not covered."""
    rng = np.random.default_rng(7)
    slave, master = stacked(axes, kind, order, width=(1.2, 1.0))
    pairing = MortarPairing(slave, master, space)
    x, y = wavy(slave.positions, rng, 0.05), wavy(master.positions, rng, 0.05)
    x[:, -1] += 0.3
    found = pairing.at(x, y)
    assert found.paired.any() and (found.gap[found.paired] > 0.1).all()
    for _ in range(3):
        spin, drift = rng.uniform(-1, 1, 1 if axes == 2 else 3), rng.uniform(-1, 1, axes)
        velocity = np.concatenate([rigid(x, spin, drift), rigid(y, spin, drift)])
        assert np.abs(found.rows @ velocity).max() < 1e-13
    # and they do not vanish when one side moves alone
    assert np.abs(found.rows @ np.concatenate([rigid(x, spin, drift), np.zeros(y.size)])).max() > 0.1
    frames = np.concatenate([found.normals[:, None], found.tangents], axis=1)
    assert np.abs(frames @ frames.transpose(0, 2, 1) - np.eye(axes)).max() < 1e-14
    mean = found.normals[found.paired]
    rows = found.rows.toarray().reshape(-1, axes, x.size + y.size)
    lift = (rows[:, 0] @ np.concatenate([np.tile(np.eye(axes)[-1], len(x)), np.zeros(y.size)]))[found.paired]
    assert (lift / mean[:, -1] > 0.97).all()
    assert not rows[~found.paired].any() and np.isinf(found.gap[~found.paired]).all()


def sampled(pairing, x, y, samples):
    """Brute force on 2- and 3-node facets: per slave facet (weights, φ_s, master facet, φ_m) by casting rays."""
    nodes = np.searchsorted(pairing.slave.nodes, pairing.slave.facets)
    others = np.searchsorted(pairing.master.nodes, pairing.master.facets)
    axes = x.shape[1]
    middle = (np.arange(samples) + 0.5) / samples
    if axes == 2:
        shape = np.stack([1 - middle, middle], axis=1)
    else:
        a, b = (grid.ravel() for grid in np.meshgrid(middle, middle))
        a, b = np.where(a + b > 1, 1 - a, a), np.where(a + b > 1, 1 - b, b)
        shape = np.stack([1 - a - b, a, b], axis=1)
    for facet in nodes:
        normal, content = outward(x[facet])
        points = shape @ x[facet]
        best = np.full(len(points), np.inf)
        partner, partner_shape = np.full(len(points), -1), np.zeros((len(points), axes))
        for m, other in enumerate(others):
            if normal @ outward(y[other])[0] > -0.1:
                continue
            # Σ φ_m y_m = x + g ν with Σ φ_m = 1
            matrix = np.block([[y[other].T, -normal[:, None]], [np.ones((1, axes)), np.zeros((1, 1))]])
            solution = np.linalg.solve(matrix, np.vstack([points.T, np.ones(len(points))]))
            hit = (solution[:-1] >= 0).all(axis=0) & (np.abs(solution[-1]) < np.abs(best))
            best[hit], partner[hit], partner_shape[hit] = solution[-1, hit], m, solution[:-1].T[hit]
        hit = partner >= 0
        weight = np.full(hit.sum(), content / len(points))
        yield facet, weight, shape[hit], others[partner[hit]], partner_shape[hit]


def outward(corners):
    """Unit outward normal and length or area of a facet."""
    edge = corners[1] - corners[0]
    if len(edge) == 2:
        normal, factor = np.array([edge[1], -edge[0]]), 1.0
    else:
        normal, factor = np.cross(edge, corners[2] - corners[0]), 0.5
    length = np.linalg.norm(normal)
    return normal / length, factor * length


@pytest.mark.kernels
@pytest.mark.parametrize(("axes", "samples", "tolerance"), [(2, 4000, 1e-4), (3, 60, 6e-3)])
@pytest.mark.parametrize("space", ["P0", "P1"])
def test_gaps_and_rates_against_sampled_integrals(axes, samples, tolerance, space):
    """Gap = sampled Σ w ψ g / Σ w ψ; rates = differences of it with points and weights that move with the material."""
    rng = np.random.default_rng(11)
    slave, master = stacked(axes, "quad" if axes == 2 else "tet", 1, cells=(2, 3), width=(1.1, 1.0))
    pairing = MortarPairing(slave, master, space)
    x, y = wavy(slave.positions, rng, 0.1), wavy(master.positions, rng, 0.1)
    x[:, -1] += 0.1
    vx, vy = rng.uniform(-1, 1, x.shape), rng.uniform(-1, 1, y.shape)
    found = pairing.at(x, y)
    rates = (found.rows @ np.concatenate([vx.ravel(), vy.ravel()])).reshape(-1, axes)

    count = len(pairing.areas)
    total, gaps, expected = np.zeros(count), np.zeros(count), np.zeros((count, axes))
    step = 1e-6
    for f, (facet, weight, shape, others, other_shape) in enumerate(sampled(pairing, x, y, samples)):
        points = [f] if space == "P0" else facet
        psi = np.ones((len(weight), 1)) if space == "P0" else shape

        def gap(t, facet=facet, shape=shape, others=others, other_shape=other_shape):
            moved, other = x + t * vx, y + t * vy
            apart = shape @ moved[facet] - np.einsum("qm,qma->qa", other_shape, other[others])
            return apart, -outward(moved[facet])[0]

        apart, normal = gap(0.0)
        (before, n_before), (after, n_after) = gap(-step), gap(step)
        opening = apart @ normal
        rate = (after @ n_after - before @ n_before) / (2 * step)
        slide = (after - before) / (2 * step) - opening[:, None] * (n_after - n_before) / (2 * step)
        for i, k in enumerate(points):
            w = weight * psi[:, i]
            total[k] += w.sum()
            gaps[k] += w @ opening
            expected[k] += np.concatenate([[w @ rate], found.tangents[k] @ (w @ slide)])
    assert found.paired.all() and (total > 0).all()
    assert np.abs(found.gap - gaps / total).max() < tolerance * 0.1
    assert np.abs(rates - expected / total[:, None]).max() < tolerance


@pytest.mark.kernels
def test_inclined_master_closed_form():
    """Slave [0, 1] at height h over the line y = s x: g = h − s x; moments against constants and hats."""
    slave, master = stacked(2, "quad", 1, cells=(2, 3), width=(1.0, 1.0))
    height, slope = 0.1, 0.3
    x, y = slave.positions + np.array([0, height]), master.positions * [1, 1]
    y[:, 0] = 1.4 * y[:, 0] - 0.2
    y[:, 1] += slope * y[:, 0]
    order = np.argsort(x[:, 0])
    constant = MortarPairing(slave, master, "P0").at(x, y)
    assert np.sort(constant.gap) == pytest.approx([height - 0.75 * slope, height - 0.25 * slope], abs=1e-15)
    hats = MortarPairing(slave, master, "P1").at(x, y)
    # centroids of the hats: 1/6, 1/2, 5/6
    assert hats.gap[order] == pytest.approx(height - slope * np.array([1 / 6, 1 / 2, 5 / 6]), abs=1e-15)
    assert hats.positions == pytest.approx(x, abs=0)
    assert hats.tangents[:, 0] == pytest.approx(np.tile([-1.0, 0.0], (3, 1)), abs=1e-15)


@pytest.mark.kernels
def test_curved_facets_are_met_where_they_are():
    """A parabola of 3-node facets over a plane: along a chord's normal, g = height/n_y of the parabola itself."""
    slave, master = stacked(2, "quad", 2, cells=(2, 3))
    x = slave.positions.copy()
    x[:, 1] = 1.1 + 0.2 * x[:, 0] ** 2
    found = MortarPairing(slave, master, "P0").at(x, master.positions * [1.2, 1])
    expected = []
    for a, b in itertools.pairwise(np.linspace(0, 1, 3)):
        middle = (a + b) / 2
        moments = np.zeros(2)
        for start, end in ((a, middle), (middle, b)):  # g dΓ, dΓ along the chord: cubics in s
            slope = 0.2 * (start + end)
            s = np.array([start, (start + end) / 2, end])
            gap = (0.1 + 0.2 * s**2) * np.hypot(1, slope)
            along = (1 + 0.4 * s * slope) / np.hypot(1, slope)
            moments += (end - start) / 6 * np.array([1, 4, 1]) @ np.stack([gap * along, along], axis=1)
        expected.append(moments[0] / moments[1])
    order = np.argsort(found.positions[:, 0])
    assert found.gap[order] == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize(
    ("kind", "order", "error", "ratio"),
    [("hex", 1, 1e-2, 3.0), ("hex", 2, 1e-4, 3.0), ("tet", 1, 1e-2, 2.5), ("tet", 2, 5e-4, 1.7)],
)
def test_gaps_of_paraboloids_converge(kind, order, error, ratio):
    """Facet means of the gap along the normals of z = 1.1 + a r² to z = 1 − a r².

    Errors fall like h² on quadrilaterals. The normal of a triangle is that of the surface at its circumcentre, a
    first-order error at its centre, and at an open gap the gap's: it takes over where the geometry is exact (tet 2).
    """
    bend = 0.15

    def gap(x, y):
        """g ≥ 0 with x − g n on the lower paraboloid, n the upward normal of the upper one: a quadratic in g."""
        tilt = np.sqrt(1 + 4 * bend**2 * (x**2 + y**2))
        n = np.stack([-2 * bend * x, -2 * bend * y, np.ones_like(x)]) / tilt
        a = bend * (n[0] ** 2 + n[1] ** 2)
        b = -(n[2] + 2 * bend * (x * n[0] + y * n[1]))
        return (-b - np.sqrt(b**2 - 4 * a * (0.1 + 2 * bend * (x**2 + y**2)))) / (2 * a), tilt

    share = (np.arange(12) + 0.5) / 12
    errors = []
    for cells in (4, 8):
        slave, master = stacked(3, kind, order, cells=(cells, cells * 5 // 4), start=-0.5)
        x, y = slave.positions.copy(), master.positions * [1.4, 1.4, 1]
        x[:, 2] = 1.1 + bend * (x[:, 0] ** 2 + x[:, 1] ** 2)
        y[:, 2] = 1.0 - bend * (y[:, 0] ** 2 + y[:, 1] ** 2)
        found = MortarPairing(slave, master, "P0", reach=1.0).at(x, y)
        corners = x[np.searchsorted(slave.nodes, slave.facets)][:, : 4 if kind == "hex" else 3, :2]
        u, v = (grid.ravel() for grid in np.meshgrid(share, share))
        if kind == "hex":
            shape = np.stack([(1 - u) * (1 - v), u * (1 - v), u * v, (1 - u) * v], axis=1)
        else:
            u, v = np.where(u + v > 1, 1 - u, u), np.where(u + v > 1, 1 - v, v)
            shape = np.stack([1 - u - v, u, v], axis=1)
        points = np.einsum("qj,fja->afq", shape, corners)
        value, weight = gap(*points)
        assert found.paired.all()
        errors.append(np.abs(found.gap - (value * weight).sum(axis=1) / weight.sum(axis=1)).max())
    assert errors[0] < error and errors[1] < errors[0] / ratio


@pytest.mark.kernels
def test_no_partner_beyond_the_reach_nor_on_the_far_side():
    slave, master = stacked(2, "quad", 1, cells=(4, 5))
    pairing = MortarPairing(slave, master, "P1", reach=0.05)
    apart = pairing.at(slave.positions + np.array([0, 0.06]), master.positions)
    assert not apart.paired.any() and apart.rows.nnz == 0 and np.isinf(apart.gap).all()
    assert np.abs(apart.normals - [0, 1]).max() < 1e-15  # frames stay proper
    near = pairing.at(slave.positions + np.array([0, 0.04]), master.positions)
    assert near.gap == pytest.approx(np.full(5, 0.04), abs=1e-15)
    deep = pairing.at(slave.positions - np.array([0, 0.2]), master.positions)
    assert deep.gap == pytest.approx(np.full(5, -0.2), abs=1e-15)
    assert not pairing.at(slave.positions - np.array([0, 0.3]), master.positions).paired.any()  # deeper than a facet
    back = block("above", 2, [0, 1], [1, 2], (4, 1), "quad", 1).boundary("top")  # faces the same way
    assert not MortarPairing(back, master).at(back.positions - [0, 1], master.positions).paired.any()


def single(order=1):
    """One facet [0, 1] over one facet [0, 1]."""
    return stacked(2, "quad", order, cells=(1, 1))


@pytest.mark.kernels
def test_a_wall_along_the_projection_is_no_partner():
    slave, master = single()
    lean = np.array([0.4, 0.95]) + np.outer(master.positions[:, 0], [0.6, -0.02])  # nearly level
    assert MortarPairing(slave, master).at(slave.positions, lean).paired.all()
    wall = np.array([0.5, 0.95]) + np.outer(master.positions[:, 0], [0.02, -0.5])  # 2.3° from the projection
    assert not MortarPairing(slave, master, "P1", reach=2.0).at(slave.positions, wall).paired.any()


@pytest.mark.kernels
def test_the_mean_gap_of_an_intersection_is_within_the_reach():
    slave, master = single()
    inclined = master.positions - np.outer(master.positions[:, 0], [0, 0.4])
    assert MortarPairing(slave, master, "P1", reach=0.21).at(slave.positions, inclined).paired.all()
    assert not MortarPairing(slave, master, "P1", reach=0.19).at(slave.positions, inclined).paired.any()


@pytest.mark.kernels
def test_quadratic_functions_that_are_covered_where_they_are_negative_do_not_press():
    """ψ = (1 − x)(1 − 2 x) over [0.24, 1] has a mean of 0.04 times its mean absolute value."""
    slave, master = single(2)
    pairing = MortarPairing(slave, master, "P2")
    found = pairing.at(slave.positions, master.positions * [0.76, 1] + np.array([0.24, 0]))
    assert (found.paired == (slave.positions[:, 0] > 0.1)).all()
    assert pairing.at(slave.positions, master.positions * [0.9, 1] + np.array([0.1, 0])).paired.all()


@pytest.mark.kernels
def test_part_of_the_slave_is_covered():
    """The slave [0, 1.2] on the master [0, 1]: averages go over the covered part, forces over it too."""
    slave, master = stacked(2, "quad", 1, cells=(3, 4), width=(1.2, 1.0))
    pairing = MortarPairing(slave, master, "P0")
    found = pairing.at(slave.positions, master.positions)
    force = (found.rows.T @ np.kron(np.array([0, 0, 1.0]), [1, 0])).reshape(-1, 2)[:, 1]
    x = np.concatenate([slave.positions[:, 0], master.positions[:, 0]])
    assert force.sum() == pytest.approx(0, abs=1e-15)
    # the unit force of the last facet, [0.8, 1] of [0.8, 1.2], has its centre at 0.9
    assert force[:4] @ x[:4] == pytest.approx(0.9, abs=1e-14)
    assert force[4:] @ x[4:] == pytest.approx(-0.9, abs=1e-14)


@pytest.mark.kernels
def test_of_two_layers_the_nearest_one_is_the_partner():
    """Steps: the master's upper surface and, below it, a second layer that faces the same way."""
    slave, _ = stacked(2, "quad", 1, cells=(2, 3))
    two = mesh.rectangle((-0.1, 1.1), (0, 1), (3, 1)) + mesh.rectangle((-0.1, 1.1), (-1, 0.9), (4, 1))
    tops = two.facets_satisfying(lambda p: (np.abs(p[1] - 1) < 1e-9) | (np.abs(p[1] - 0.9) < 1e-9))
    part = Solid("two", replace(two, _boundaries={"tops": tops}), STEEL, plane="strain")
    master = part.boundary("tops")
    pairing = MortarPairing(slave, master, "P1")
    found = pairing.at(slave.positions + np.array([0, 0.02]), master.positions)
    assert found.gap == pytest.approx(np.full(3, 0.02), abs=1e-14)
    assert pairing.areas @ found.rows.toarray()[::2, 1::2].sum(axis=1) == pytest.approx(0, abs=1e-14)
    found = pairing.at(slave.positions - np.array([0, 0.08]), master.positions)
    assert found.gap == pytest.approx(np.full(3, 0.02), abs=1e-14)


@pytest.mark.kernels
def test_evaluations_do_not_remember():
    rng = np.random.default_rng(5)
    slave, master = stacked(3, "hex", 1)
    pairing = MortarPairing(slave, master)
    x, y = wavy(slave.positions, rng, 0.05), wavy(master.positions, rng, 0.05)
    first = pairing.at(x, y)
    pairing.at(x + 0.3, y)
    again = pairing.at(x, y)
    assert (first.rows.toarray() == again.rows.toarray()).all() and (first.gap == again.gap).all()


def test_refusals():
    slave, master = stacked(2, "quad", 1)
    with pytest.raises(UserError, match="space = 'P2': needs quadratic elements"):
        MortarPairing(slave, master, "P2")
    with pytest.raises(UserError, match="space = 'P3': must be one of P0, P1, P2"):
        MortarPairing(slave, master, "P3")
    with pytest.raises(UserError, match=r"reach = 0\.0: must be positive"):
        MortarPairing(slave, master, "P1", 0.0)
    with pytest.raises(UserError, match="the same nodes of part 'above'"):
        MortarPairing(slave, slave)
    tets = stacked(3, "tet", 2, cells=(1, 1))
    with pytest.raises(UserError, match=r"6-node triangles.*take P1"):
        MortarPairing(*tets, "P2")
    ring = stacked(2, "quad", 2, cells=(1, 1), plane="axisymmetric")
    with pytest.raises(UserError, match="has no area at the axis"):
        MortarPairing(*ring, "P2")
    with pytest.raises(UserError, match="is in 2D, its master 'front' in 3D"):
        MortarPairing(slave, tets[1])
    bar = Bar("bar", mesh.interval(0, 1, 2), STEEL)
    with pytest.raises(UserError, match=r"boundary 'left' of part 'bar': mortar contact needs facets of a solid"):
        MortarPairing(bar.boundary("left"), bar.boundary("right"))
