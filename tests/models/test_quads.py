"""Internal forces of quadrilaterals by moments, against the sums over the quadrature points and K u."""

from dataclasses import replace

import numpy as np
import pytest

import arlequin as aq
from arlequin.models.part import Weighting

STEEL = aq.LinearElastic(young=2e11, poisson=0.3, density=7800.0)


def grid(cells=(30, 24)):
    return aq.mesh.rectangle((0.0, 1.0), (0.2, 1.1), cells=cells)


def bent(mesh):
    x, y = mesh.p
    return replace(mesh, doflocs=np.array([x + 0.1 * np.sin(3 * y) * x, y + 0.15 * np.cos(2 * x + y)]))


def scrambled(mesh):
    """The cells in any order, each from any of its nodes on."""
    rng = np.random.default_rng(3)
    cells = mesh.t[:, rng.permutation(mesh.nelements)]
    turned = [np.roll(cell, rng.integers(4)) for cell in cells.T]
    return type(mesh)(mesh.p, np.array(turned).T)


def numbered_anyhow(mesh):
    order = np.random.default_rng(4).permutation(mesh.p.shape[1])
    return type(mesh)(mesh.p[:, np.argsort(order)], order[mesh.t])


MESHES = {
    "congruent": grid(),
    "parallelograms": replace(grid(), doflocs=np.array([[1.0, 0.3], [-0.2, 0.8]]) @ grid().p),
    "bent": bent(grid()),
    "cells in any order": scrambled(bent(grid())),
    "nodes in any order": numbered_anyhow(bent(grid())),
    "one": bent(grid((1, 1))),
    "long runs": bent(grid((3, 300))),
    "thin and askew": replace(grid(), doflocs=np.array([[8000.0, -0.6], [6000.0, 0.8]]) @ bent(grid()).p),
}
BIG = grid((90, 80))


def by_points(part, u):
    """∫ ∂_jφ_n σ_ij and ½ ∫ σ:ε, point by point."""
    lam, mu = part.lame
    local = u.reshape(-1, 2)[part.kernel.nodes]
    slope = np.einsum("cni,cqjn->cqij", local, part.kernel.gradients)
    strain = 0.5 * (slope + slope.swapaxes(2, 3))
    stress = lam * np.trace(strain, axis1=2, axis2=3)[..., None, None] * np.eye(2) + 2 * mu * strain
    each = np.einsum("cqij,cqjn,cq->cni", stress, part.kernel.gradients, part.kernel_weight)
    force = np.zeros((u.size // 2, 2))
    np.add.at(force, part.kernel.nodes, each)
    return force.ravel(), 0.5 * np.einsum("cqij,cqij,cq->", stress, strain, part.kernel_weight)


@pytest.mark.sampled(7)
@pytest.mark.kernels
@pytest.mark.parametrize("plane", ["strain", "stress"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("mesh", MESHES.values(), ids=MESHES)
def test_forces_and_energy_are_those_of_the_points(mesh, weighted, plane):
    solid = aq.Solid("part", mesh, STEEL, plane=plane)
    rng = np.random.default_rng(5)
    weighting = Weighting.uniform(*solid.cells.dx.shape)
    if weighted:  # another weight at each point, and cells without any
        given = rng.random(solid.cells.dx.shape)
        given[rng.random(len(given)) < 0.2] = 0.0
        given[0] = 0.5
        weighting = replace(weighting, stiffness=given)
    part = solid.assemble(weighting)
    u = rng.normal(size=solid.dof_count)
    force, energy = part.internal(u)
    expected, stored = by_points(part, u)
    np.testing.assert_allclose(force, expected, rtol=0.0, atol=1e-12 * np.abs(expected).max())
    np.testing.assert_allclose(force, part.stiffness @ u, rtol=0.0, atol=1e-12 * np.abs(expected).max())
    assert energy == pytest.approx(stored, rel=1e-12)


@pytest.mark.parametrize("room", ["own", "part of a larger one"])
def test_many_displacements_give_what_each_gives_alone(room):
    part = aq.Solid("part", bent(BIG), STEEL, plane="strain").assemble()
    size = part.stiffness.shape[0]
    given = np.random.default_rng(7).normal(size=(3, size + 5))
    u, force = (given[:, 2:-3], np.ones_like(given)[:, 2:-3]) if room != "own" else (given[:, 5:].copy(), None)
    force = np.empty_like(u) if force is None else force
    energies = part.internal_each(u, force)
    for i in range(3):
        alone, energy = part.internal(u[i].copy())
        assert force[i].tobytes() == alone.tobytes() and energies[i] == energy
    if room != "own":  # what lies beside is left alone
        assert (force.base[:, :2] == 1.0).all() and (force.base[:, -3:] == 1.0).all()


def test_a_translation_gives_nothing():
    part = aq.Solid("part", MESHES["bent"], STEEL, plane="strain").assemble()
    force, energy = part.internal(np.tile([1e3, -3e5], part.stiffness.shape[0] // 2))
    assert not force.any() and energy == 0.0


def test_congruent_cells_are_told():
    def kinds(mesh):
        return aq.Solid("part", mesh, STEEL, plane="strain").assemble().cell_forces.moments.shape[1]

    assert kinds(MESHES["congruent"]) == kinds(MESHES["parallelograms"]) == 1
    assert kinds(MESHES["bent"]) == MESHES["bent"].nelements


@pytest.mark.parametrize("mesh", [BIG, bent(BIG), scrambled(bent(BIG))], ids=["congruent", "bent", "in any order"])
def test_equal_bits_on_any_number_of_threads(mesh, monkeypatch):
    part = aq.Solid("part", mesh, STEEL, plane="strain").assemble()
    u = np.random.default_rng(6).normal(size=part.stiffness.shape[0])
    force, energy = part.internal(u)
    assert len(part.cell_forces.pieces) == 8
    for threads in (1, 2, 5):
        monkeypatch.setattr("os.sched_getaffinity", lambda _, threads=threads: set(range(threads)), raising=False)
        again, stored = part.internal(u)
        assert again.tobytes() == force.tobytes() and stored == energy


def test_nodes_in_any_order_are_one_piece():
    """Else every piece would have most of the cells."""
    part = aq.Solid("part", numbered_anyhow(BIG), STEEL, plane="strain").assemble()
    assert len(part.cell_forces.pieces) == 1
