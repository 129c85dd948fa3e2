"""Collocated pairings: rigid motions, finite differences of the gap and of the slip, areas, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest

from arlequin.models import mesh
from arlequin.models.errors import UserError
from arlequin.models.fem.bar import Bar
from arlequin.models.fem.solid import Solid
from arlequin.models.materials.elastic import LinearElastic
from arlequin.multilevel.obstacles.base import RigidPlane
from arlequin.multilevel.obstacles.meshed import RigidPolyline
from arlequin.multilevel.obstacles.primitives import RigidBox, RigidSphere
from arlequin.multilevel.pairing.collocation import pair_points
from arlequin.multilevel.search.facets import FacetMesh, in_space
from arlequin.multilevel.search.search import FacetTree

MATERIAL = LinearElastic(young=2.0, poisson=0.25, density=3.0)
KINDS = [(2, "tri", 1), (2, "tri", 2), (3, "tet", 1), (3, "tet", 2), (3, "hex", 1), (3, "hex", 2)]
NAMES = ["line2", "line3", "tri3", "tri6", "quad4", "quad9"]
kinds = pytest.mark.parametrize(("axes", "cell", "order"), KINDS, ids=NAMES)


def block(axes, cell, order, low, cells, name="block", **options):
    """A block 1 wide and 0.5 high, standing at the height `low`."""
    if axes == 2:
        made = mesh.rectangle((0, 1), (low, low + 0.5), cells=(cells, 1), kind=cell)
        return Solid(name, made, MATERIAL, options.pop("plane", "strain"), order=order, **options)
    return Solid(name, mesh.box((0, 1), (0, 1), (low, low + 0.5), (cells, cells, 1), cell), MATERIAL, order=order)


def surfaces(axes, cell, order, cells=(3, 2)):
    """(slave, master): the lower side of a block on the upper side of another, meshes that do not match."""
    upper, lower = ("bottom", "top") if axes == 2 else ("back", "front")
    slave = block(axes, cell, order, 0.5, cells[0], "upper").boundary(upper)
    return slave, block(axes, cell, order, 0.0, cells[1], "lower").boundary(lower)


def deformed(axes, cell, order, seed, size=0.02, **options):
    """Surfaces, pairing, and random curved positions of both, a little apart and across each other."""
    slave, master = surfaces(axes, cell, order, **options)
    rng = np.random.default_rng(seed)
    hill = [
        0.1 * np.sin(3 * x[:, 0]) * (np.cos(2 * x[:, 1]) if axes == 3 else 1)
        for x in (slave.positions, master.positions)
    ]
    xs, xm = (s.positions + size * rng.uniform(-1, 1, s.positions.shape) for s in (slave, master))
    xs[:, 0] = 0.02 + 0.96 * xs[:, 0]
    xs[:, -1] += hill[0]
    xm[:, -1] += hill[1]
    return slave, master, xs, xm, rng


def rigid_motions(x):
    """Velocities of all rigid motions (m, d) of points (n, a)."""
    axes = x.shape[1]
    motions = [np.tile(e, (len(x), 1)) for e in np.eye(axes)]
    if axes == 2:
        motions.append(np.column_stack([-x[:, 1], x[:, 0]]))
    else:
        motions.extend(np.cross(e, x) for e in np.eye(3))
    return np.stack([m.ravel() for m in motions])


@pytest.mark.sampled(7)
@kinds
@pytest.mark.parametrize("points", ["nodes", "gauss"])
@pytest.mark.parametrize("along", [False, True])
def test_rigid_motions_and_frames(axes, cell, order, points, along):
    """Every row vanishes in every rigid motion of both; frames are orthonormal; no partner means no row."""
    slave, master, xs, xm, _ = deformed(axes, cell, order, seed=axes)
    direction = [0.2, 0.1, -1.0][3 - axes :] if along else None
    pairing = pair_points(slave, master, points, direction=direction, reach=0.35)
    xs[0] += 10.0  # far away: no partner for this node
    k = pairing.at(xs, xm)
    assert not pairing.fixed and 0 < k.paired.sum() < len(k.gap)
    assert k.rows.shape == (len(k.gap) * axes, xs.size + xm.size)
    for motion in rigid_motions(np.vstack([xs, xm])):
        assert np.abs(k.rows @ motion).max() <= 1e-13 * 10
    near = np.abs(k.rows[np.repeat(k.paired, axes)] @ rigid_motions(np.vstack([xs, xm]))[-1])
    assert near.max() <= 1e-13
    unpaired = np.repeat(~k.paired, axes)
    assert k.rows[unpaired].nnz == 0 and not k.normals[~k.paired].any()
    frame = np.concatenate([k.normals[:, None], k.tangents], axis=1)[k.paired]
    assert np.abs(np.einsum("kia,kja->kij", frame, frame) - np.eye(axes)).max() <= 1e-14
    # the slave's part of the rows: the frame times weights that sum to 1
    slave_part = k.rows[:, : xs.size] @ np.tile(np.eye(axes), (len(xs), 1))
    assert slave_part.reshape(-1, axes, axes)[k.paired] == pytest.approx(frame, abs=1e-14)


@pytest.mark.sampled(7)
@kinds
@pytest.mark.parametrize("points", ["nodes", "gauss"])
def test_normal_rows_are_the_rate_of_the_gap(axes, cell, order, points):
    """Central differences of the gap in random velocities of all nodes, wherever the closest point is."""
    for seed in range(3):
        slave, master, xs, xm, rng = deformed(axes, cell, order, seed=10 * axes + seed)
        pairing = pair_points(slave, master, points)
        k = pairing.at(xs, xm)
        vs, vm = rng.standard_normal(xs.shape), rng.standard_normal(xm.shape)
        step = 1e-6
        after, before = (pairing.at(xs + e * vs, xm + e * vm) for e in (step, -step))
        both = k.paired & after.paired & before.paired
        assert both.mean() > 0.7
        difference = (after.gap[both] - before.gap[both]) / (2 * step)
        rate = (k.rows @ np.concatenate([vs.ravel(), vm.ravel()]))[::axes][both]
        assert rate == pytest.approx(difference, abs=2e-8)


@pytest.mark.sampled(7)
@kinds
@pytest.mark.parametrize("points", ["nodes", "gauss"])
def test_kept_partners(axes, cell, order, points):
    """At the same positions all is the same; moved, places and normals stay and rows vanish in rigid motions."""
    slave, master, xs, xm, rng = deformed(axes, cell, order, seed=axes)
    pairing = pair_points(slave, master, points, reach=0.35)
    xs[0] += 10.0
    found = pairing.at(xs, xm)
    same = pairing.with_partners(found, xs, xm)
    assert same.gap == pytest.approx(found.gap, abs=1e-14) and np.abs(same.rows - found.rows).max() <= 1e-14
    move = 0.01 * rng.standard_normal(axes)
    shifted = pairing.with_partners(found, xs + move, xm)
    assert shifted.gap[found.paired] == pytest.approx((found.gap + found.normals @ move)[found.paired], abs=1e-14)
    vs, vm = 0.02 * rng.standard_normal(xs.shape), 0.02 * rng.standard_normal(xm.shape)
    moved = pairing.with_partners(found, xs + vs, xm + vm)
    assert (moved.normals == found.normals).all() and (moved.paired == found.paired).all()
    for motion in rigid_motions(np.vstack([xs + vs, xm + vm])):
        assert np.abs(moved.rows @ motion).max() <= 1e-13 * 10


@kinds
def test_slip_rows_are_the_rate_at_which_the_master_is_swept(axes, cell, order):
    """d/dt of the foot at fixed shape: [[v]] − g ṅ = (x_,ξ + g n_,ξ)·ξ̇, by differences of ξ in the moving surfaces."""
    slave, master, xs, xm, rng = deformed(axes, cell, order, seed=30 + axes)
    pairing = pair_points(slave, master, "gauss")
    mesh_, k = FacetMesh.of(master), pairing.at(xs, xm)
    vs, vm = rng.standard_normal(xs.shape), rng.standard_normal(xm.shape)
    step = 1e-5

    def found(e):
        moved = pairing.points.positions(xs + e * vs)
        return FacetTree.build(mesh_, xm + e * vm).closest(in_space(moved), 1.0)

    now, after, before = found(0.0), found(step), found(-step)
    same = (now.facet == after.facet) & (now.facet == before.facet) & (now.facet >= 0)
    inside = same & (np.min([clear_of_edges(axes, cell, f.reference) for f in (now, after, before)], axis=0) > 1e-3)
    assert inside.sum() >= 4
    nodes, gap = in_space(xm)[mesh_.facets[now.facet]], k.gap
    swept = np.array(
        [
            lifted(mesh_.kind, nodes[i], after.reference[i], gap[i])
            - lifted(mesh_.kind, nodes[i], before.reference[i], gap[i])
            for i in np.flatnonzero(inside)
        ]
    )
    slip = (k.rows @ np.concatenate([vs.ravel(), vm.ravel()])).reshape(-1, axes)[inside, 1:]
    expected = np.einsum("kta,ka->kt", k.tangents[inside], swept[:, :axes] / (2 * step))
    assert slip == pytest.approx(expected, abs=1e-6)


def clear_of_edges(axes, cell, at):
    """How far inside of the facet the reference points are."""
    if axes == 2:
        return np.minimum(at[:, 0], 1 - at[:, 0])
    other = 1 - at.sum(axis=1) if cell == "tet" else (1 - at).min(axis=1)
    return np.minimum(at.min(axis=1), other)


def lifted(kind, nodes, at, gap):
    """x(ξ) + g n(ξ); the kernels' shape functions have their own test."""
    from arlequin.multilevel.search._kernels import geometry, outward

    nine, g = np.zeros((9, 3)), np.empty((6, 3))
    nine[: len(nodes)] = nodes
    geometry(kind, nine, at[0], at[1], np.empty(9), np.empty((2, 9)), np.empty((3, 9)), g)
    return g[0] + gap * np.array(outward(kind, g))


@kinds
def test_along_a_direction_the_gap_rate_is_that_at_a_fixed_point_of_the_master(axes, cell, order):
    """Flat facets: the full rate of n·r, by differences; it is the distance to the tangent plane for all."""
    slave, master, xs, xm, rng = deformed(axes, cell, order, seed=50 + axes)
    direction = np.array([0.2, 0.1, -1.0])[3 - axes :]
    pairing = pair_points(slave, master, "gauss", direction=direction)
    k = pairing.at(xs, xm)
    assert k.paired.mean() > 0.7
    if order == 2 or cell == "hex":
        return
    vs, vm = rng.standard_normal(xs.shape), rng.standard_normal(xm.shape)
    step = 1e-6
    after, before = (pairing.at(xs + e * vs, xm + e * vm) for e in (step, -step))
    both = k.paired & after.paired & before.paired
    difference = (after.gap[both] - before.gap[both]) / (2 * step)
    rate = (k.rows @ np.concatenate([vs.ravel(), vm.ravel()]))[::axes][both]
    assert rate == pytest.approx(difference, abs=1e-8)


def test_areas_sum_to_the_surface():
    """Boxes 1 × 0.5: thickness, 2πr (the top of a disk of radius 1) and faces; nodes and Gauss points alike."""
    for axes, cell, order in KINDS:
        slave, master = surfaces(axes, cell, order)
        for points in ("nodes", "gauss"):
            areas = pair_points(slave, master, points).areas
            assert areas.sum() == pytest.approx(1.0, rel=1e-13)
        assert (areas > 0).all()
    for options, area in (({"plane": "stress", "thickness": 0.3}, 0.3), ({"plane": "axisymmetric"}, np.pi)):
        for cell, order in (("tri", 2), ("quad", 1)):
            top = block(2, cell, order, 0.0, 3, **options).boundary("top")
            for points in ("nodes", "gauss"):
                pairing = pair_points(top, RigidPlane((0, 1), (0, -1)), points)
                assert pairing.areas.sum() == pytest.approx(area, rel=1e-13)
                weighted = pairing.areas @ pairing.at(top.positions, np.empty((0, 2))).positions
                if area == np.pi:  # ∫ r 2πr dr
                    assert weighted[0] == pytest.approx(2 * np.pi / 3, rel=1e-12)


def test_gauss_points_lie_on_their_facets():
    """They are the quadrature points of the reference facets, moved with the nodes."""
    for axes, cell, order in KINDS:
        slave, master = surfaces(axes, cell, order)
        pairing = pair_points(slave, master, "gauss")
        k = pairing.at(slave.positions, master.positions)
        assert k.positions[:, -1] == pytest.approx(0.5, abs=1e-14)
        assert pairing.areas @ k.positions[:, 0] == pytest.approx(0.5, rel=1e-13)
        stretch = np.linspace(1.1, 1.4, axes)
        moved = pairing.at(slave.positions * stretch, master.positions)
        assert moved.positions == pytest.approx(k.positions * stretch, abs=1e-14)


def test_obstacles_as_masters():
    """ġ = n·v by differences and slip = τ·v for a sphere, a box and a polyline; only a plane is fixed."""
    slave = block(2, "quad", 2, 0.5, 4).boundary("bottom")
    rng = np.random.default_rng(3)
    x, v = (
        slave.positions + 0.02 * rng.uniform(-1, 1, slave.positions.shape),
        rng.standard_normal(slave.positions.shape),
    )
    none = np.empty((0, 2))
    box = RigidBox((0.3, 0.0), (0.7, 0.42))
    line = RigidPolyline([[0.9, 0.4], [0.5, 0.45], [0.2, 0.3]])
    for obstacle in (RigidPlane((0, 0.4), (0, 1)), RigidSphere((0.5, 0.0), 0.4), box, line):
        for points in ("nodes", "gauss"):
            pairing = pair_points(slave, obstacle, points)
            assert pairing.fixed == (obstacle.flat)
            k = pairing.at(x, none)
            assert k.rows.shape == (2 * len(k.gap), x.size)
            after, before = (pairing.at(x + e * v, none) for e in (1e-6, -1e-6))
            rates, moved = (k.rows @ v.ravel()).reshape(-1, 2), (after.positions - before.positions) / 2e-6
            on = k.paired
            assert rates[on, 0] == pytest.approx((after.gap[on] - before.gap[on]) / 2e-6, abs=1e-8)
            assert rates[on, 1] == pytest.approx((k.tangents[on, 0] * moved[on]).sum(axis=1), abs=1e-8)
            assert not rates[~on].any()
    assert not k.paired.all() and k.paired.any()  # the open polyline ends within the slave


def test_ends_of_bars():
    left, right = (Bar(n, mesh.interval(*x, cells=2), MATERIAL) for n, x in (("a", (0, 1)), ("b", (1.5, 2))))
    pairing = pair_points(left.boundary("right"), right.boundary("left"))
    k = pairing.at(np.array([[1.1]]), np.array([[1.4]]))
    assert pairing.fixed and k.gap == pytest.approx([0.3]) and k.tangents.shape == (1, 0, 1)
    assert (k.rows.toarray() == [[-1, 1]]).all() and pairing.areas == [1]
    wall = pair_points(left.boundary("right"), RigidPlane(1.25, -1.0)).at(np.array([[1.1]]), np.empty((0, 1)))
    assert wall.gap == pytest.approx([0.15]) and (wall.rows.toarray() == [[-1]]).all()


def test_a_point_sliding_off_the_end_lets_go():
    """Across a facet boundary the gap goes on, past the end the partner is gone and with it the row."""
    slave, master = surfaces(2, "quad", 1, cells=(1, 4))
    pairing = pair_points(slave, master)
    for shift in np.linspace(0, 1.2, 49):
        x = slave.positions + np.array([shift, -0.01])
        k = pairing.at(x, master.positions)
        on = x[:, 0] <= 1 + 0.05 * 0.25
        assert (k.paired == on).all() and k.gap[on] == pytest.approx(-0.01, abs=1e-15)


def test_what_is_refused():
    slave, master = surfaces(2, "quad", 1)
    solid = surfaces(3, "hex", 1)[0]
    bad = [
        (lambda: pair_points(slave, master, "lobatto"), "points = 'lobatto': must be one of nodes, gauss"),
        (lambda: pair_points(slave, master, direction=(0, 0)), "direction = .*zero"),
        (lambda: pair_points(slave, master, direction=(0, 0, 1)), "direction = .*shape"),
        (lambda: pair_points(slave, master, reach=-1.0), "reach = -1.0: must be positive"),
        (lambda: pair_points(slave, master, overhang=-1.0), "overhang = -1.0"),
        (lambda: pair_points(slave, RigidPlane((0, 0), (0, 1)), reach=1.0), "reach = 1.0: is for a deformable"),
        (lambda: pair_points(slave, RigidSphere((0, 0, 0), 1.0)), "obstacle is 3D, part 'upper' 2D"),
        (lambda: pair_points(slave, solid), "part 'upper' is 3D, part 'upper' 2D"),
        (lambda: pair_points(slave, replace(master, facets=master.facets[:, :1])), "1 nodes in 2D"),
    ]
    for make, message in bad:
        with pytest.raises(UserError, match=message):
            make()


@pytest.mark.kernels
@pytest.mark.parametrize(("axes", "cell"), [(2, "quad"), (3, "hex"), (3, "tet")])
def test_across_a_ridge_of_the_master(axes, cell):
    """A roof with its ridge at x = 1/2: nodes over the ridge look away from it, and their rows hold both rules."""
    slave, master = surfaces(axes, cell, 1, cells=(10, 2))
    roof = master.positions.copy()
    roof[:, -1] = 0.5 - np.abs(roof[:, 0] - 0.5)
    x = slave.positions.copy()
    x[:, :-1] = 0.45 + 0.1 * x[:, :-1] + 0.003
    x[:, -1] = 0.56
    pairing = pair_points(slave, master)
    k = pairing.at(x, roof)
    ridge = np.zeros_like(x)
    ridge[:, 0], ridge[:, -1] = 0.5, 0.5
    if axes == 3:
        ridge[:, 1] = x[:, 1]
    away = x - ridge
    assert k.gap == pytest.approx(np.linalg.norm(away, axis=1), abs=1e-14)
    assert k.normals == pytest.approx(away / k.gap[:, None], abs=1e-13)
    for motion in rigid_motions(np.vstack([x, roof])):
        assert np.abs(k.rows @ motion).max() <= 1e-13
    rng = np.random.default_rng(4)
    vs, vm = rng.standard_normal(x.shape), rng.standard_normal(roof.shape)
    after, before = (pairing.at(x + e * vs, roof + e * vm) for e in (1e-6, -1e-6))
    rate = (k.rows @ np.concatenate([vs.ravel(), vm.ravel()]))[::axes]
    assert rate == pytest.approx((after.gap - before.gap) / 2e-6, abs=1e-8)
    # a slave that moves along while the master stands still slips at just its own tangential speed
    slip = (k.rows @ np.concatenate([vs.ravel(), 0 * vm.ravel()])).reshape(-1, axes)[:, 1:]
    assert slip == pytest.approx(np.einsum("kta,ka->kt", k.tangents, vs), abs=1e-13)
