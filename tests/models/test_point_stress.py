"""Stresses of metals at large and small strains: virtual work, objectivity, refusals."""

import numpy as np
import pytest
import scipy.linalg

from arlequin.models.errors import UserError
from arlequin.models.fem.solid import Solid
from arlequin.models.fem.stress import SIX, invariants
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


def solid(law, shape, volumetric=None, kinematics="finite"):
    if shape == "3d":
        mesh, plane = box((0.0, 1.0), (0.0, 1.0), (0.0, 1.0), cells=(2, 1, 1)), None
    else:
        mesh, plane = rectangle((0.5, 1.5), (0.0, 1.0), cells=(2, 1)), shape
    return Solid("block", mesh, law, plane=plane, kinematics=kinematics, volumetric=volumetric)


def displaced(part, seed, size):
    return size * np.random.default_rng(seed).standard_normal(part.dof_count)


def yielded(part, size=0.02):
    """Where a part is after two steps of flow: u, what the second did, memory at u."""
    own = part.assemble()
    before = own.respond(displaced(part, 1, size), own.fresh(), STEP).memory
    u = displaced(part, 2, 1.5 * size)
    response = own.respond(u, before, STEP)
    assert response.memory[..., 6].min() > 0.0
    return u, response


def by_name(part, u, memory):
    return dict(zip(part.stress_components, np.moveaxis(part.stress(u, memory), -1, 0), strict=True))


@pytest.mark.sampled(7)
@pytest.mark.parametrize("law", [COPPER, RATED], ids=["J2", "J2 rated"])
@pytest.mark.parametrize("volumetric", ["mean", "points"])
@pytest.mark.parametrize("kinematics", ["small", "finite"])
@pytest.mark.parametrize("shape", SHAPES)
def test_stress_is_in_balance_with_the_forces_of_the_step(shape, kinematics, volumetric, law):
    """Virtual work of a displacement linear in space, δu = G x: f·δu = ∫ σ:G dv, rate effects and heat included."""
    part = solid(law, shape, volumetric, kinematics)
    u, response = yielded(part)
    size, letters = part.components, "rz" if shape == "axisymmetric" else "xyz"
    G = np.random.default_rng(5).standard_normal((size, size))
    if shape == "axisymmetric":
        G[0, 1] = 0.0
    stress = by_name(part, u, response.memory)
    work = 0.0
    for i, a in enumerate(letters[:size]):
        for j, b in enumerate(letters[:size]):
            work = work + G[i, j] * stress.get(a + b, stress.get(b + a))
    if shape == "axisymmetric":
        work = work + G[0, 0] * stress["tt"]
    x, measure = part.positions, part.cells.dx
    if kinematics == "finite":
        x, measure = x + u.reshape(-1, size), volume(part, u)
    assert (response.force.reshape(-1, size) * (x @ G.T)).sum() == pytest.approx((work * measure).sum(), rel=1e-11)


def volume(part, u):
    """What the quadrature points measure at u (c, q)."""
    local = u.reshape(-1, part.components)[part.cells.nodes]
    F = np.einsum("cqan,cni->cqia", part.cells.gradients, local) + np.eye(part.components)
    grown = np.linalg.det(F) * part.cells.dx
    if part.cells.hoop is not None:
        grown = grown * (1 + np.einsum("cqn,cn->cq", part.cells.hoop, local[:, :, 0]))
    return grown


@pytest.mark.parametrize("volumetric", ["mean", "points"])
@pytest.mark.parametrize("shape", SHAPES)
def test_neo_hooke_is_the_closed_form(shape, volumetric):
    """That of `Solid.stress`, in numpy."""
    part = solid(RUBBER, shape, volumetric)
    own, u = part.assemble(), displaced(part, 3, 0.05)
    six, alike = own.stress(u, own.fresh()), str.maketrans("rzt", "xyz") if shape == "axisymmetric" else {}
    named = [SIX.index(name.translate(alike)) for name in part.stress_components]
    expected = part.stress(u)
    assert np.abs(six[..., named] - expected).max() <= 1e-12 * np.abs(expected).max()


@pytest.mark.parametrize("law", [RUBBER, COPPER], ids=["neo-Hooke", "J2"])
@pytest.mark.parametrize("shape", ["strain", "3d"])
def test_rotation_turns_the_stress_and_leaves_its_invariants(shape, law):
    part = solid(law, shape)
    own, axes = part.assemble(), part.components
    u = displaced(part, 2, 0.03)
    memory = own.respond(u, own.fresh(), STEP).memory
    spin = np.random.default_rng(3).standard_normal((axes, axes))
    turn = np.eye(3)
    turn[:axes, :axes] = scipy.linalg.expm(spin - spin.T)
    moved = (part.positions + u.reshape(-1, axes)) @ turn[:axes, :axes].T - part.positions
    still, turned = own.stress(u, memory), own.stress(moved.ravel(), memory)
    expected = turn @ full(still) @ turn.T
    assert np.abs(full(turned) - expected).max() <= 1e-12 * np.abs(still).max()
    for a, b in zip(invariants(still), invariants(turned), strict=True):
        assert np.abs(a - b).max() <= 1e-12 * np.abs(a).max()


def full(six):
    return six[..., [[0, 5, 4], [5, 1, 3], [4, 3, 2]]]


@pytest.mark.parametrize("kinematics", ["small", "finite"])
def test_only_the_state_matters(kinematics):
    """As often as one likes, with a foreign state between: the same to the bit, and the memory is left.

    Nor does heat matter, which bounds the stress only of a step: molten points keep what the memory says.
    """
    part = solid(RATED, "strain", kinematics=kinematics)
    u, response = yielded(part)
    memory = response.memory.copy()
    first = part.stress(u, memory)
    part.stress(2 * u, np.zeros_like(memory))
    assert (part.stress(u, memory) == first).all() and (memory == response.memory).all()
    memory[..., 7] = 1e4
    assert (part.stress(u, memory) == first).all()


def test_invariants_of_uniaxial_stress():
    mises, pressure = invariants(np.array([[-3.0, 0.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0, 2.0, 0.0]]))
    assert mises == pytest.approx([3.0, 2 * np.sqrt(3)]) and pressure == pytest.approx([1.0, 0.0])


@pytest.mark.parametrize("kinematics", ["small", "finite"])
def test_bad_input(kinematics):
    part = solid(COPPER, "strain", kinematics=kinematics)
    u, memory = np.zeros(part.dof_count), part.assemble().fresh()
    with pytest.raises(UserError, match=r"^block: the stress of J2 depends on .*: give their values"):
        part.stress(u)
    for wrong in ((u[1:], memory), (u, memory[:1]), (u, memory[..., :6])):
        with pytest.raises(
            UserError,
            match=r"must be 12 displacements|^block: memory of shape .*, expected \(2, 4, 9\)$",
        ):
            part.stress(*wrong)


def test_a_cell_that_is_inside_out_has_no_stress():
    part = solid(COPPER, "strain")
    own, turned = part.assemble(), (part.positions * [-2.0, 0.0]).ravel()
    with pytest.raises(UserError, match=r"^block: cell 0 is flat or turned inside out"):
        part.stress(turned, own.fresh())
    with pytest.raises(UserError, match=r"^cell 0 is turned inside out"):
        own.stress(turned, own.fresh())
