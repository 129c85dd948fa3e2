"""Search and projection: against brute force with the tests' own shape functions, and special positions by hand."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize

from arlequin.models import mesh
from arlequin.models.fem.solid import Solid
from arlequin.models.materials.elastic import LinearElastic
from arlequin.multilevel.search.facets import FacetMesh, frames, in_space
from arlequin.multilevel.search.search import FacetTree

MATERIAL = LinearElastic(young=2.0, poisson=0.25, density=3.0)
KINDS = [(2, "tri", 1), (2, "tri", 2), (3, "tet", 1), (3, "tet", 2), (3, "hex", 1), (3, "hex", 2)]
NAMES = ["line2", "line3", "tri3", "tri6", "quad4", "quad9"]


def top_of(axes, cell, order, cells=3):
    if axes == 2:
        part = Solid(
            "block", mesh.rectangle((0, 1), (0, 1), cells=(cells, 1), kind=cell), MATERIAL, "strain", order=order
        )
        return part.boundary("top")
    return Solid("block", mesh.box((0, 1), (0, 1), (0, 1), (cells, cells, 1), cell), MATERIAL, order=order).boundary(
        "front"
    )


def bent(positions, size, seed):
    """The surface with a bump and random nodes."""
    x = positions.copy()
    x[:, -1] += 0.3 * np.sin(3 * x[:, 0]) * (1 if x.shape[1] == 2 else np.cos(2 * x[:, 1]))
    return x + size * np.random.default_rng(seed).uniform(-1, 1, x.shape)


class Shapes:
    """Lagrange functions of the reference facets by inverting the Vandermonde matrix of their nodes."""

    def __init__(self, axes, nodes):
        powers = {(2, 2): [0, 1], (2, 3): [0, 1, 2]}.get((axes, nodes))
        if axes == 2:
            self.exponents = [(p, 0) for p in powers]
            self.corners = [(0, 0), (1, 0)]
        elif nodes in (3, 6):
            degree = 1 if nodes == 3 else 2
            self.exponents = [(p, q) for p, q in product(range(degree + 1), repeat=2) if p + q <= degree]
            self.corners = [(0, 0), (1, 0), (0, 1)]
        else:
            self.exponents = list(product(range(2 if nodes == 4 else 3), repeat=2))
            self.corners = [(0, 0), (1, 0), (1, 1), (0, 1)]
        c = np.array(self.corners, float)
        middles = (c + np.roll(c, -1, axis=0)) / 2
        points = np.vstack([c, middles[: 1 if axes == 2 else None], c.mean(axis=0)[None]])[:nodes]
        self.inverse = np.linalg.inv(self.monomials(points))
        self.simplex = axes == 3 and nodes in (3, 6)
        self.axes = axes

    def monomials(self, at):
        return np.stack([at[..., 0] ** p * at[..., 1] ** q for p, q in self.exponents], axis=-1)

    def __call__(self, at):
        """N (…, m) at reference coordinates (…, 2)."""
        return self.monomials(np.asarray(at, float)) @ self.inverse

    def grid(self, n):
        w = np.linspace(0, 1, n)
        if self.axes == 2:
            return np.column_stack([w, 0 * w])
        s, t = (a.ravel() for a in np.meshgrid(w, w))
        return np.column_stack([s, t * (1 - s) if self.simplex else t])


def brute(shapes, facets, x, p):
    """Least distance of p over all facets: dense samples, then a bounded minimisation from the best of each facet."""
    grid = shapes.grid(15)
    samples = np.einsum("gm,fmi->fgi", shapes(grid), x[facets])
    distance = np.linalg.norm(samples - p, axis=2)
    best = distance.min()
    for f in np.argsort(distance.min(axis=1))[:4]:

        def objective(at, f=f):
            return ((shapes(at) @ x[facets[f]] - p) ** 2).sum()

        below = {"type": "ineq", "fun": lambda at: 1 - at[0] - at[1] if shapes.simplex else 1.0}
        start, box = grid[distance[f].argmin()], [(0, 1), (0, 1)]
        result = minimize(objective, start, bounds=box, constraints=below, method="SLSQP", options={"ftol": 1e-15})
        best = min(best, np.sqrt(result.fun))
    return best


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("axes", "cell", "order"), KINDS, ids=NAMES)
def test_closest_points_against_brute_force(axes, cell, order):
    surface = top_of(axes, cell, order)
    flat = FacetMesh.of(surface)
    shapes = Shapes(axes, flat.facets.shape[1])
    x = bent(surface.positions, 0.06, seed=order)
    rng = np.random.default_rng(7)
    points = x[rng.integers(len(x), size=40)] + 0.25 * rng.uniform(-1, 1, (40, axes))
    tree = FacetTree.build(flat, x)
    found, _ = tree.nearest(in_space(points), 1.0)
    assert (found.facet >= 0).all()
    feet = np.einsum("km,kmi->ki", shapes(found.reference), x[flat.facets[found.facet]])
    distance = np.linalg.norm(points - feet, axis=1)
    exact = np.array([brute(shapes, flat.facets, x, p) for p in points])
    assert distance == pytest.approx(exact, abs=3e-7)
    # the reference coordinates are those of the facet, and the reach is kept
    assert (found.reference >= -1e-8).all() and (found.reference <= 1 + 1e-8).all()
    assert not shapes.simplex or (found.reference.sum(axis=1) <= 1 + 1e-8).all()
    assert ((tree.nearest(in_space(points), 0.1)[0].facet >= 0) == (exact <= 0.1)).all()
    # with a partner the gap is the distance, and x + g n the point: to the continuation past a free end
    found = tree.closest(in_space(points), 1.0)
    on = found.facet >= 0
    feet = np.einsum("km,kmi->ki", shapes(found.reference[on]), x[flat.facets[found.facet[on]]])
    assert on.sum() >= 20 and (found.gap[on] < 0).any() and (found.gap[on] > 0).any()
    assert feet + found.gap[on, None] * found.normal[on, :axes] == pytest.approx(points[on], abs=1e-10)
    within = (found.reference[on].min(axis=1) > -1e-9) & (found.reference[on].max(axis=1) < 1 + 1e-9)
    within &= (found.reference[on].sum(axis=1) < 1 + 1e-9) | (not shapes.simplex)
    assert within.sum() >= 15 and np.abs(found.gap[on][within]) == pytest.approx(exact[on][within], abs=3e-7)
    past = exact[on] ** 2 - found.gap[on] ** 2
    assert (past >= -1e-6).all() and (past <= 2 * (0.05 * flat.size.max()) ** 2).all()
    assert (found.normal[on, axes - 1] > 0).all()


@pytest.mark.parametrize(("axes", "cell", "order"), KINDS, ids=NAMES)
def test_projection_along_a_direction(axes, cell, order):
    """Points made by stepping off known points of the facets along d come back to them."""
    surface = top_of(axes, cell, order)
    flat = FacetMesh.of(surface)
    shapes = Shapes(axes, flat.facets.shape[1])
    x = bent(surface.positions, 0.03, seed=order)
    rng = np.random.default_rng(8)
    direction = np.array([0.3, 0.2, -1.0])[[0, 2] if axes == 2 else [0, 1, 2]]
    direction /= np.linalg.norm(direction)
    at = rng.uniform(0.05, 0.9, (60, 2))
    if shapes.simplex:
        at[:, 1] *= 1 - at[:, 0]
    facet = rng.integers(len(flat.facets), size=60)
    away = rng.uniform(-0.02, 0.1, 60)
    feet = np.einsum("km,kmi->ki", shapes(at), x[flat.facets[facet]])
    points = feet - away[:, None] * direction
    lines = np.repeat(in_space(direction[None]), 60, axis=0)
    found = FacetTree.build(flat, x).along(in_space(points), lines, 0.2)
    assert (found.facet >= 0).all()
    back = np.einsum("km,kmi->ki", shapes(found.reference), x[flat.facets[found.facet]])
    along = ((points - back) * direction).sum(axis=1)
    assert points - back == pytest.approx(along[:, None] * direction, abs=1e-12)
    assert (np.abs(along) <= np.abs(away) + 1e-12).all()
    same = found.facet == facet
    assert same.mean() > 0.9
    if order != 1 or cell != "hex":  # warped quads may be met twice
        assert np.abs(along + away)[same].max() <= 1e-12
    # n·(p − x), n perpendicular to the facet
    step = 1e-6
    for axis in range(axes - 1):
        shift = step * np.eye(2)[axis]
        tangent = np.einsum(
            "km,kmi->ki", shapes(found.reference + shift) - shapes(found.reference - shift), x[flat.facets[found.facet]]
        )
        assert (found.normal[:, :axes] * tangent).sum(axis=1) == pytest.approx(0, abs=1e-12)
    assert found.gap == pytest.approx((found.normal[:, :axes] * (points - back)).sum(axis=1), abs=1e-15)


def plane_mesh(points, closed=False):
    points = np.asarray(points, float)
    start = np.arange(len(points) - 1 + closed)
    return FacetMesh.build(np.stack([start, (start + 1) % len(points)], axis=1), points), points


def look(mesh_and_points, points, **options):
    flat, x = mesh_and_points
    return FacetTree.build(flat, x).closest(in_space(np.asarray(points, float)), 10.0, **options)


def test_ridge_valley_and_ends_in_the_plane():
    """Solid below; a ridge at (1, 1), free ends at (0, 0) and (2, 0)."""
    roof = plane_mesh([[2, 0], [1, 1], [0, 0]])
    found = look(roof, [[1.0, 1.5], [1.05, 1.3], [0.5, 0.6], [0.9, 0.5], [1.1, 0.5], [-0.5, 0.0], [1, 1]])
    s = np.sqrt(0.5)
    angle = np.array([0.05, 0.3]) / np.hypot(0.05, 0.3)
    expected = [[0, 1], angle, [-s, s], [-s, s], [s, s], [0, 0]]
    assert found.normal[:6, :2] == pytest.approx(np.array(expected), abs=1e-14)
    gaps = [0.5, np.hypot(0.05, 0.3), 0.1 * s, -0.4 * s, -0.4 * s, np.inf, 0]
    assert found.gap == pytest.approx(gaps, abs=1e-14)
    valley = plane_mesh([[2, 1], [1, 0], [0, 1]])
    found = look(valley, [[0.9, 0.5], [1.1, 0.5], [1.0, -0.5]])
    assert found.normal[:, :2] == pytest.approx(np.array([[s, s], [-s, s], [0, 1]]), abs=1e-14)
    assert found.gap == pytest.approx([0.4 * s, 0.4 * s, -0.5], abs=1e-14)


def test_past_a_free_end_by_a_little():
    """The facet's own normal and gap, not those of the direction to the end; further out no partner."""
    floor = plane_mesh([[2, 0], [1, 0], [0, 0]])
    points = [[2.04, -0.01], [2.06, -0.01], [-0.04, 0.3], [2.0, 0.2], [2.04, 0.0]]
    found = look(floor, points)
    assert (found.facet >= 0).tolist() == [True, False, True, True, True]
    assert found.gap == pytest.approx([-0.01, np.inf, 0.3, 0.2, 0], abs=1e-15)
    assert (found.normal[[0, 2, 3, 4], 1] == 1).all()
    assert (look(floor, points, overhang=0.0).facet >= 0).tolist() == [False, False, False, True, False]


def test_points_behind_the_body_have_no_partner():
    """A closed bar 10 × 1.6 in facets of 1 to 2: deep points are not taken for contact through it."""
    x = np.arange(0.0, 11.0)
    outline = [[a, 0] for a in x] + [[10, 1.6]] + [[a, 1.6] for a in x[-2:0:-1]] + [[0, 1.6]]
    bar = plane_mesh(outline, closed=True)
    found = look(bar, [[5.5, 0.7], [5.5, -0.7], [5.5, 1.0], [5.5, 2.0]], depth=0.5)
    assert found.gap == pytest.approx([np.inf, 0.7, np.inf, 0.4])
    assert look(bar, [[5.5, 0.7]]).gap == pytest.approx([-0.7])


@pytest.mark.kernels
def test_matching_meshes_pair_node_on_node():
    """Nodes exactly over nodes, edges and free ends: all have a partner, with the flat surface's normal."""
    for axes, cell, order in KINDS:
        surface = top_of(axes, cell, order, cells=2)
        flat = FacetMesh.of(surface)
        for away in (-1e-3, -1e-12, 0.0, 1e-12, 1e-3):
            points = surface.positions + away * np.eye(axes)[-1]
            found = FacetTree.build(flat, surface.positions).closest(in_space(points), 0.3)
            assert found.gap == pytest.approx(away, abs=1e-15)
            assert found.normal[:, axes - 1] == pytest.approx(1, abs=1e-14)


def test_box_with_all_its_faces():
    """Edges and corners of a cube of quads and of triangles: distances and normals of the box in closed form."""
    from arlequin.multilevel.obstacles.primitives import RigidBox

    rng = np.random.default_rng(5)
    points = rng.uniform(-0.3, 1.3, (500, 3))
    gap, normals = RigidBox((0, 0, 0), (1, 1, 1)).closest(points)
    for cell in ("hex", "tet"):
        part = Solid("cube", mesh.box((0, 1), (0, 1), (0, 1), (3, 3, 3), cell), MATERIAL)
        surfaces = [part.boundary(name) for name in part.mesh.boundaries]
        nodes = np.unique(np.concatenate([s.nodes for s in surfaces]))
        facets = np.searchsorted(nodes, np.vstack([s.facets for s in surfaces]))
        cube = FacetMesh.build(facets, part.positions[nodes])
        assert not cube.free.any() and (cube.neighbours >= 0).all()
        found = FacetTree.build(cube, part.positions[nodes]).closest(in_space(points), 1.0, depth=np.inf)
        assert found.gap == pytest.approx(gap, abs=1e-13)
        assert found.normal == pytest.approx(normals, abs=1e-12)


def test_neighbours_and_free_edges():
    surface = top_of(3, "hex", 1)
    flat = FacetMesh.of(surface)
    corners = flat.facets
    for f, e in np.argwhere(flat.neighbours[:, :, 0] >= 0):
        g, h = flat.neighbours[f, e]
        assert corners[f, e] == corners[g, (h + 1) % 4] and corners[f, (e + 1) % 4] == corners[g, h]
    assert (flat.neighbours[:, :, 0] < 0).sum() == 12  # the outline of 3 × 3
    on_outline = ((surface.positions[:, :2] == 0) | (surface.positions[:, :2] == 1)).any(axis=1)
    assert (flat.free == on_outline).all()
    assert flat.size == pytest.approx(1 / 3)


def test_frames_are_orthonormal_and_steady():
    rng = np.random.default_rng(6)
    for axes in (2, 3):
        n = rng.standard_normal((200, axes))
        n /= np.linalg.norm(n, axis=1)[:, None]
        frame = frames(n)
        assert np.einsum("kij,klj->kil", frame, frame) == pytest.approx(
            np.repeat(np.eye(axes)[None], 200, 0), abs=1e-14
        )
        assert np.linalg.det(frame) == pytest.approx(1, abs=1e-14)
        for axis in range(axes):  # round-off in a normal along an axis does not turn its tangents
            near = np.eye(axes)[axis] + 1e-15 * rng.uniform(-1, 1, (20, axes))
            assert np.ptp(frames(near), axis=0).max() <= 1e-14
    assert not frames(np.zeros((1, 3))).any()
