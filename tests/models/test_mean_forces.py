"""Mean forces of a step at finite strains: discrete gradient, no moment, tangents."""

import numpy as np
import pytest
import scipy.linalg

from arlequin.models.errors import UserError
from arlequin.models.fem.solid import Solid
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
LAWS = {"neo-Hooke": RUBBER, "J2": COPPER, "J2 rated": RATED}


def solid(law, shape, volumetric=None):
    if shape == "3d":
        mesh, plane = box((0.0, 1.0), (0.0, 1.0), (0.0, 1.0), cells=(2, 1, 1)), None
    else:
        mesh, plane = rectangle((0.5, 1.5), (0.0, 1.0), cells=(2, 1)), shape
    return Solid("block", mesh, law, plane=plane, kinematics="finite", volumetric=volumetric)


def displaced(part, seed, size):
    return size * np.random.default_rng(seed).standard_normal(part.dof_count)


def loaded(part, own):
    """A displacement and the memory of points that have flowed slowly and are on the way back."""
    u = displaced(part, 1, 0.02)
    return 0.9995 * u, own.respond(u, own.fresh(), 0.0).memory


@pytest.mark.sampled(7)
@pytest.mark.parametrize("size", [1e-9, 1e-4, 0.1])
@pytest.mark.parametrize("volumetric", ["mean", "points"])
@pytest.mark.parametrize("shape", SHAPES)
def test_neo_hookean_work_is_the_change_of_the_energy(shape, volumetric, size):
    part = solid(RUBBER, shape, volumetric)
    own = part.assemble()
    u0 = displaced(part, 2, 0.1)
    u1 = u0 + displaced(part, 3, size)
    energies = [own.respond(u, own.fresh(), STEP).stored for u in (u0, u1)]
    force, inverted = own.mean_internal(u0, u1, own.fresh(), STEP)
    assert inverted == -1
    assert abs(force @ (u1 - u0) - (energies[1] - energies[0])) <= 2e-15 * max(energies)


def test_small_steps_keep_their_digits():
    """Of a small strain the force is the mean of both ends to round-off of itself, not of the moduli."""
    part = solid(RUBBER, "3d")
    own, small = part.assemble(), 1e-8
    u0, u1 = displaced(part, 2, small), displaced(part, 3, small)
    force, _ = own.mean_internal(u0, u1, own.fresh(), STEP)
    linear = 0.5 * sum(own.respond(u, own.fresh(), STEP).force for u in (u0, u1))
    assert np.abs(force - linear).max() <= 10 * small * np.abs(force).max()


@pytest.mark.sampled(7)
@pytest.mark.parametrize("theta", [0.5, 0.8])
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("shape", ["strain", "3d"])
def test_mean_forces_have_no_resultant_and_no_moment(shape, law, theta):
    part = solid(LAWS[law], shape)
    own = part.assemble()
    u0, memory = loaded(part, own)
    u1 = u0 + displaced(part, 3, 0.05)
    force = own.mean_internal(u0, u1, memory, STEP, theta)[0].reshape(part.positions.shape)
    middle = part.positions + 0.5 * (u0 + u1).reshape(force.shape)
    moment = middle.T @ force
    size = np.abs(force).sum()
    assert np.abs(force.sum(axis=0)).max() <= 1e-14 * size
    assert np.abs(moment - moment.T).max() <= 1e-14 * size


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_step_of_no_length_has_the_force_of_its_ends(shape, law):
    part = solid(LAWS[law], shape)
    own = part.assemble()
    u, memory = loaded(part, own)
    force = own.respond(u, memory, STEP).force
    for theta in (0.5, 0.8):
        assert np.abs(own.mean_internal(u, u, memory, STEP, theta)[0] - force).max() <= 1e-12 * np.abs(force).max()


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("shape", ["strain", "3d"])
def test_the_end_of_a_step_is_objective(shape, law):
    """Both ends turned alike turn the force; a turn alone, from where there is no strain, makes none."""
    part = solid(LAWS[law], shape)
    own, axes = part.assemble(), part.components
    spin = np.random.default_rng(3).standard_normal((axes, axes))
    turn = scipy.linalg.expm(spin - spin.T)
    u0, memory = loaded(part, own)
    u1 = u0 + displaced(part, 3, 0.02)
    ends = [((part.positions + u.reshape(-1, axes)) @ turn.T - part.positions).ravel() for u in (u0, u1)]
    force = own.mean_internal(u0, u1, memory, STEP)[0].reshape(-1, axes) @ turn.T
    turned = own.mean_internal(*ends, memory, STEP)[0].reshape(-1, axes)
    assert np.abs(turned - force).max() <= 1e-11 * np.abs(force).max()
    rigid = (part.positions @ turn.T - part.positions).ravel()
    none = own.mean_internal(0.0 * rigid, rigid, own.fresh(), STEP)[0]
    assert np.abs(none).max() <= 1e-14 * abs(own.stiffness).max()


def derivative(own, u0, u1, memory, theta):
    h = 1e-7
    ends = [[own.mean_internal(u0, u1 + s * h * d, memory, STEP, theta)[0] for s in (1, -1)] for d in np.eye(u0.size)]
    return np.array([(a - b) / (2 * h) for a, b in ends]).T


@pytest.mark.sampled(7)
@pytest.mark.parametrize("theta", [0.5, 0.8])
@pytest.mark.parametrize("volumetric", ["mean", "points"])
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("shape", SHAPES)
def test_tangent(shape, law, volumetric, theta):
    """Exact where the ends are the same, else off by what the step strains and turns; symmetric."""
    part = solid(LAWS[law], shape, volumetric)
    own = part.assemble()
    u0, memory = loaded(part, own)
    for u1, off in ((u0, 1e-6), (u0 + displaced(part, 3, 2e-3), 0.05)):
        tangent = own.mean_tangent(u0, u1, memory, STEP, theta).toarray()
        found = derivative(own, u0, u1, memory, theta)
        assert np.abs(tangent - tangent.T).max() <= 1e-14 * np.abs(tangent).max()
        assert np.abs(found - tangent).max() <= off * np.abs(tangent).max()


def test_a_cell_inside_out_is_named():
    part = solid(RUBBER, "strain")
    u = np.zeros((part.node_count, 2))
    node = int(np.argmin(np.abs(part.positions - [1.5, 1.0]).sum(axis=1)))
    u[node] = -0.9
    own = part.assemble()
    _, cell = own.mean_internal(0.0 * u.ravel(), u.ravel(), own.fresh(), STEP)
    assert node in part.connectivity[cell]
    with pytest.raises(UserError, match=f"cell {cell} is turned inside out"):
        own.mean_tangent(0.0 * u.ravel(), u.ravel(), own.fresh(), STEP)
