"""Internal forces of triangles, tetrahedra and hexahedra in tiles, against the sums over the points and K u."""

from dataclasses import replace

import numpy as np
import pytest

import arlequin as aq
from arlequin.models.fem.tiles import fit_tiles
from arlequin.models.part import Weighting

STEEL = aq.LinearElastic(young=2e11, poisson=0.3, density=7800.0)


def block(kind, cells=(6, 5, 4)):
    if kind == "tri":
        return aq.mesh.rectangle((0.0, 1.0), (0.2, 1.1), cells=cells[:2], kind=kind)
    return aq.mesh.box((0.0, 1.0), (0.2, 1.1), (-0.3, 0.4), cells=cells, kind=kind)


def sheared(mesh):
    slope = np.array([[1.0, 0.3, -0.2], [-0.2, 0.8, 0.1], [0.4, 0.1, 1.2]])[: mesh.dim(), : mesh.dim()]
    return replace(mesh, doflocs=slope @ mesh.p)


def graded(mesh):
    """Rectangular cells of all sizes."""
    return replace(mesh, doflocs=np.exp(2.0 * mesh.p))


def bent(mesh):
    x, y, *z = mesh.p
    moved = [x + 0.1 * np.sin(3 * y) * x, y + 0.15 * np.cos(2 * x + y)]
    return replace(mesh, doflocs=np.array([*moved, *(w + 0.1 * np.sin(2 * x * y + w) for w in z)]))


def numbered_anyhow(mesh):
    rng = np.random.default_rng(4)
    order = rng.permutation(mesh.p.shape[1])
    return type(mesh)(mesh.p[:, np.argsort(order)], order[mesh.t][:, rng.permutation(mesh.nelements)])


def thin(mesh):
    return replace(mesh, doflocs=np.diag([8000.0, 1.0, 0.6])[: mesh.dim(), : mesh.dim()] @ sheared(bent(mesh)).p)


SHAPES = {
    "congruent": lambda mesh: mesh,
    "sheared": sheared,
    "graded": graded,
    "bent": bent,
    "in any order": lambda mesh: numbered_anyhow(bent(mesh)),
    "thin": thin,
}
KINDS = {
    "tri": {"plane": "strain"},
    "tri, plane stress": {"plane": "stress"},
    "tet": {},
    "hex": {},
}


def solid(mesh, options):
    return aq.Solid("part", mesh, STEEL, **options)


def by_points(part, u):
    """∫ ∂_jφ_n σ_ij and ½ ∫ σ:ε, point by point."""
    lam, mu = part.lame
    axes = part.components
    local = u.reshape(-1, axes)[part.kernel.nodes]
    slope = np.einsum("cni,cqjn->cqij", local, part.kernel.gradients)
    strain = 0.5 * (slope + slope.swapaxes(2, 3))
    stress = lam * np.trace(strain, axis1=2, axis2=3)[..., None, None] * np.eye(axes) + 2 * mu * strain
    each = np.einsum("cqij,cqjn,cq->cni", stress, part.kernel.gradients, part.kernel_weight)
    force = np.zeros((u.size // axes, axes))
    np.add.at(force, part.kernel.nodes, each)
    return force.ravel(), 0.5 * np.einsum("cqij,cqij,cq->", stress, strain, part.kernel_weight)


@pytest.mark.sampled(7)
@pytest.mark.kernels
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", KINDS)
def test_forces_and_energy_are_those_of_the_points(kind, shape, weighted):
    body = solid(SHAPES[shape](block(kind[:3])), KINDS[kind])
    rng = np.random.default_rng(5)
    weighting = Weighting.uniform(*body.cells.dx.shape)
    if weighted:  # another weight at each point, and cells without any
        given = rng.random(body.cells.dx.shape)
        given[rng.random(len(given)) < 0.2] = 0.0
        given[0] = 0.5
        weighting = replace(weighting, stiffness=given)
    part = body.assemble(weighting)
    assert part.cell_forces is not None
    u = rng.normal(size=body.dof_count)
    force, energy = part.internal(u)
    expected, stored = by_points(part, u)
    np.testing.assert_allclose(force, expected, rtol=0.0, atol=1e-12 * np.abs(expected).max())
    np.testing.assert_allclose(force, part.stiffness @ u, rtol=0.0, atol=1e-12 * np.abs(expected).max())
    assert energy == pytest.approx(stored, rel=1e-12)


@pytest.mark.sampled(7)
@pytest.mark.parametrize("kind", ["tri", "tet", "hex"])
@pytest.mark.parametrize("cells", [(1, 1, 1), (3, 2, 2), (4, 2, 4), (11, 1, 3)])
def test_tiles_of_a_few_cells(kind, cells):
    part = solid(bent(block(kind, cells)), {"plane": "strain"} if kind == "tri" else {}).assemble()
    u = np.random.default_rng(6).normal(size=part.stiffness.shape[0])
    force, energy = part.internal(u)
    expected = part.stiffness @ u
    np.testing.assert_allclose(force, expected, rtol=0.0, atol=1e-12 * np.abs(expected).max())
    assert energy == pytest.approx(0.5 * u @ expected, rel=1e-12)


BIG = {"tri": (90, 80, 0), "tet": (40, 12, 12), "hex": (12, 12, 40)}


def big(kind):
    return solid(bent(block(kind, BIG[kind])), {"plane": "strain"} if kind == "tri" else {}).assemble()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", BIG)
def test_many_displacements_give_what_each_gives_alone(kind):
    part = big(kind)
    size = part.stiffness.shape[0]
    given = np.random.default_rng(7).normal(size=(3, size + 5))
    u, force = given[:, 2:-3], np.ones_like(given)[:, 2:-3]
    energies = part.internal_each(u, force)
    for i in range(3):
        alone, energy = part.internal(u[i].copy())
        assert force[i].tobytes() == alone.tobytes() and energies[i] == energy
    assert (force.base[:, :2] == 1.0).all() and (force.base[:, -3:] == 1.0).all()  # what lies beside is left alone


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", BIG)
def test_a_translation_gives_nothing(kind):
    part = big(kind)
    force, energy = part.internal(
        np.tile([1e3, -3e5, 7.1][: part.components], part.stiffness.shape[0] // part.components)
    )
    assert not force.any() and energy == 0.0


@pytest.mark.sampled(1)
@pytest.mark.parametrize("kind", BIG)
def test_equal_bits_on_any_number_of_threads(kind, monkeypatch):
    part = big(kind)
    u = np.random.default_rng(6).normal(size=part.stiffness.shape[0])
    force, energy = part.internal(u)
    assert len(part.cell_forces.pieces) > 1
    for threads in (1, 2, 5):
        monkeypatch.setattr("os.sched_getaffinity", lambda _, threads=threads: set(range(threads)), raising=False)
        again, stored = part.internal(u)
        assert again.tobytes() == force.tobytes() and stored == energy


def test_what_cells_have_in_common_is_stored_once():
    def stored(mesh):
        part = solid(mesh, {}).assemble().cell_forces
        return part.geometry.shape[:3], part.weight.shape[:2]

    cells = 6 * 5 * 4
    tiles = -(-cells // part_tile())
    assert stored(block("hex")) == stored(sheared(block("hex"))) == ((1, 1, 9), (1, 8))
    assert stored(graded(block("hex"))) == ((tiles, 1, 9), (tiles, 8))
    assert stored(bent(block("hex"))) == ((tiles, 1, 21), (1, 8))


def test_mappings_that_are_not_trilinear_are_stored_point_by_point():
    part = solid(bent(block("hex")), {}).assemble()
    rng = np.random.default_rng(8)
    turned = np.eye(3) + 1e-3 * rng.normal(size=(*part.kernel.dx.shape, 3, 3))
    part = replace(part, kernel=replace(part.kernel, gradients=turned @ part.kernel.gradients))
    assert part.cell_forces.geometry.shape[1:3] == (8, 9)
    u = rng.normal(size=part.stiffness.shape[0])
    force, energy = part.internal(u)
    expected, stored = by_points(part, u)
    np.testing.assert_allclose(force, expected, rtol=0.0, atol=1e-12 * np.abs(expected).max())
    assert energy == pytest.approx(stored, rel=1e-12)


def part_tile():
    from arlequin.models.fem._tile_kernels import TILE

    return TILE


def test_hexahedra_with_other_points_are_integrated_point_by_point():
    cells = solid(block("hex"), {}).cells
    assert fit_tiles(cells, 3)
    assert not fit_tiles(replace(cells, gradients=cells.gradients[:, :1], values=cells.values[:1]), 3)
    moved = cells.values + 1e-6 * np.array([1, -1, 0, 0, 0, 0, 0, 0])
    assert not fit_tiles(replace(cells, values=moved), 3)
