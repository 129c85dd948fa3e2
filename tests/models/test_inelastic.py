"""Solids of finite strain with memory: forces against energies, tangents, objectivity, closed forms, frequencies."""

import numpy as np
import pytest
import scipy.linalg

from arlequin.models.errors import UserError
from arlequin.models.fem.solid import Solid
from arlequin.models.materials.elastic import LinearElastic
from arlequin.models.materials.hyperelastic import NeoHooke
from arlequin.models.materials.plastic import J2, AdiabaticHeat, JohnsonCook, LinearHardening, Voce
from arlequin.models.mesh import box, rectangle

RUBBER = NeoHooke(young=3e6, poisson=0.4, density=1000.0)
COPPER = J2(117e9, 0.35, 8930.0, yield_stress=4e8, hardening=LinearHardening(1e8))
RATED = J2(
    2e11, 0.3, 7800.0, 3e8,
    (Voce(1e8, 10.0), JohnsonCook(2e8, 0.4, 0.02, 1.0, AdiabaticHeat(melting=1700.0, capacity=450.0))),
)  # fmt: skip
STEP = 1e-6
SHAPES = ["strain", "axisymmetric", "3d"]


def solid(law, shape, volumetric=None, cells=2, **more):
    if shape == "3d":
        mesh, plane = box((0.0, 1.0), (0.0, 1.0), (0.0, 1.0), cells=(cells, 1, 1)), None
    else:
        mesh, plane = rectangle((0.5, 1.5), (0.0, 1.0), cells=(cells, cells)), shape
    return Solid("block", mesh, law, plane=plane, kinematics="finite", volumetric=volumetric, mass="lumped", **more)


def displaced(part, seed=0, size=0.03):
    return size * np.random.default_rng(seed).standard_normal(part.dof_count)


@pytest.mark.parametrize("volumetric", ["mean", "points"])
@pytest.mark.parametrize("shape", SHAPES)
def test_elastic_force_is_the_gradient_of_the_energy(shape, volumetric):
    part = solid(RUBBER, shape, volumetric)
    own, u, h = part.assemble(), displaced(part), 1e-6
    way = np.random.default_rng(1).standard_normal(u.size)
    energies = [own.respond(u + sign * h * way, own.fresh(), STEP).stored for sign in (1.0, -1.0)]
    force = own.respond(u, own.fresh(), STEP).force
    assert (energies[0] - energies[1]) / (2 * h) == pytest.approx(force @ way, rel=1e-7)


@pytest.mark.sampled(7)
@pytest.mark.parametrize("law", [RUBBER, COPPER, RATED], ids=["neo-Hooke", "J2", "J2 rated"])
@pytest.mark.parametrize("volumetric", ["mean", "points"])
@pytest.mark.parametrize("shape", SHAPES)
def test_tangent_is_the_derivative_of_the_force(shape, volumetric, law):
    part = solid(law, shape, volumetric, cells=1)
    own, h = part.assemble(), 1e-8
    memory = own.respond(displaced(part, 1, 0.02), own.fresh(), STEP).memory
    u = displaced(part, 2, 0.03)
    tangent = own.tangent(u, memory, STEP).toarray()
    found = np.empty_like(tangent)
    for d, unit in enumerate(np.eye(u.size)):
        ends = [own.respond(u + sign * h * unit, memory, STEP).force for sign in (1.0, -1.0)]
        found[:, d] = (ends[0] - ends[1]) / (2 * h)
    assert np.abs(found - tangent).max() <= 1e-6 * np.abs(tangent).max()


@pytest.mark.parametrize("law", [RUBBER, COPPER], ids=["neo-Hooke", "J2"])
@pytest.mark.parametrize("shape", ["strain", "3d"])
def test_superposed_rotation_turns_forces_and_leaves_the_memory(shape, law):
    part = solid(law, shape)
    own, axes = part.assemble(), part.components
    memory = own.respond(displaced(part, 1), own.fresh(), STEP).memory
    u = displaced(part, 2)
    spin = np.random.default_rng(3).standard_normal((axes, axes))
    turn = scipy.linalg.expm(spin - spin.T)
    x = part.positions + u.reshape(part.positions.shape)
    still = own.respond(u, memory, STEP)
    turned = own.respond((x @ turn.T - part.positions).ravel(), memory, STEP)
    force = still.force.reshape(-1, axes) @ turn.T
    assert np.abs(turned.force.reshape(-1, axes) - force).max() <= 1e-12 * np.abs(force).max()
    assert np.abs(turned.memory - still.memory).max() <= 1e-12 * np.abs(still.memory).max()
    assert turned.stored == pytest.approx(still.stored, rel=1e-12)


@pytest.mark.parametrize("volumetric", ["mean", "points"])
def test_neo_hooke_block_under_uniform_stretch(volumetric):
    """σ = μ J^(−5/3) dev b + K ln J/J 1, on the faces of the stretched cube."""
    part = solid(RUBBER, "3d", volumetric)
    stretch = np.array([1.3, 0.9, 0.95])
    own = part.assemble()
    force = own.respond((part.positions * (stretch - 1.0)).ravel(), own.fresh(), STEP).force.reshape(-1, 3)
    J, b = stretch.prod(), stretch**2
    stress = RUBBER.shear * J ** (-5 / 3) * (b - b.mean()) + RUBBER.bulk * np.log(J) / J
    for axis, name in enumerate(("right", "top", "front")):
        nodes = np.flatnonzero(np.isclose(part.positions[:, axis], 1.0))
        pull = force[nodes, axis].sum()
        assert pull == pytest.approx(stress[axis] * J / stretch[axis], rel=1e-12), name


def test_small_strains_are_linear_elasticity():
    part, size = solid(COPPER, "strain", "points"), 1e-9
    own, linear = part.assemble(), solid(COPPER, "strain").assemble().linear
    u = displaced(part, size=size)
    force = own.respond(u, own.fresh(), STEP).force
    assert np.abs(force - linear.internal(u)[0]).max() <= 1e2 * size * np.abs(force).max()


def test_mean_dilatation_does_not_lock():
    """A nearly incompressible cell is bent, which keeps its volume but not that of its points."""
    stiff = NeoHooke(young=3e6, poisson=0.4999, density=1000.0)
    bend = {}
    for volumetric in ("mean", "points"):
        part = solid(stiff, "strain", volumetric, cells=1)
        x, y = (part.positions - part.positions.mean(axis=0)).T
        u = 1e-4 * np.stack([x * y, -0.5 * x**2], axis=1).ravel()
        own = part.assemble()
        bend[volumetric] = own.respond(u, own.fresh(), STEP).stored
    assert bend["points"] > 50 * bend["mean"]


@pytest.mark.parametrize("shape", SHAPES)
def test_frequency_is_the_largest_of_any_cell(shape):
    part = solid(RUBBER, shape, "points")
    own = part.assemble()
    stiffness, masses = own.linear.stiffness.toarray(), own.mass.diagonal()
    largest = np.sqrt(scipy.linalg.eigvalsh(stiffness, np.diag(masses))[-1])
    found = own.frequency(np.zeros(part.dof_count))
    assert largest <= found * 1.001
    assert found == pytest.approx(own.highest_frequency(), rel=0.02)
    # a uniform stretch by s in all directions: gradients 1/s
    assert own.frequency((0.5 * part.positions).ravel()) == pytest.approx(found / 1.5, rel=0.02)


def test_slices_of_many_cells_sum_up():
    mesh = rectangle((0.0, 2.0), (0.0, 1.0), cells=(40, 30))
    part = Solid("block", mesh, COPPER, plane="strain", kinematics="finite", mass="lumped")
    own, u = part.assemble(), 1e-3 * np.random.default_rng(0).standard_normal(part.dof_count)
    response = own.respond(u, own.fresh(), STEP)
    assert response.inverted == -1
    half = rectangle((0.0, 1.0), (0.0, 1.0), cells=(20, 30))
    left = Solid("left", half, COPPER, plane="strain", kinematics="finite", mass="lumped")
    places = {tuple(np.round(x, 9)): n for n, x in enumerate(part.positions)}
    nodes = np.array([places[tuple(np.round(x, 9))] for x in left.positions])
    own = left.assemble()
    some = own.respond(u.reshape(-1, 2)[nodes].ravel(), own.fresh(), STEP)
    inner = left.positions[:, 0] < 1.0 - 1e-9
    force = response.force.reshape(-1, 2)[nodes][inner]
    assert np.abs(some.force.reshape(-1, 2)[inner] - force).max() <= 1e-12 * np.abs(force).max()


def test_an_inverted_cell_is_named():
    part = solid(RUBBER, "strain", cells=3)
    u = np.zeros((part.node_count, 2))
    node = int(np.argmin(np.abs(part.positions - [1.5, 1.0]).sum(axis=1)))
    u[node] = -0.9
    own = part.assemble()
    cell = own.respond(u.ravel(), own.fresh(), STEP).inverted
    assert node in part.connectivity[cell]


def test_bad_input():
    mesh = rectangle((0.0, 1.0), (0.0, 1.0), cells=(1, 1))
    with pytest.raises(UserError, match="kinematics = 'small'"):
        Solid("block", mesh, RUBBER, plane="strain")
    for more, words in (
        ({"plane": "stress", "kinematics": "finite"}, "must be strain or axisymmetric with J2"),
        ({"plane": "strain", "kinematics": "finite", "volumetric": "half"}, "volumetric = 'half'"),
    ):
        with pytest.raises(UserError, match=words):
            Solid("block", mesh, COPPER, **more)
    with pytest.raises(UserError, match="volumetric"):
        Solid("block", mesh, LinearElastic(young=1.0), plane="strain", kinematics="finite", volumetric="mean")
