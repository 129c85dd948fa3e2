"""Cauchy stress of solids of finite strain."""

import numpy as np
import pytest

from arlequin.models.errors import UserError
from arlequin.models.fem.solid import Solid
from arlequin.models.materials.hyperelastic import NeoHooke
from arlequin.models.materials.plastic import J2
from arlequin.models.mesh import box, rectangle

RUBBER = NeoHooke(young=3e6, poisson=0.4, density=1000.0)
SHAPES = ["strain", "axisymmetric", "3d"]
STEP = 1e-6


def solid(law, shape, volumetric=None):
    if shape == "3d":
        mesh, plane = box((0.0, 1.0), (0.0, 1.0), (0.0, 1.0), cells=(2, 1, 1)), None
    else:
        mesh, plane = rectangle((0.5, 1.5), (0.0, 1.0), cells=(2, 1)), shape
    return Solid("block", mesh, law, plane=plane, kinematics="finite", volumetric=volumetric)


@pytest.mark.parametrize("shape", ["strain", "3d"])
def test_cauchy_stress_of_simple_shear(shape):
    """σ = μ dev b: σ_xy = μγ, σ_xx − σ_yy = μγ², σ_yy = σ_zz, tr σ = 0."""
    part, shear = solid(RUBBER, shape), 0.7
    u = np.zeros_like(part.positions)
    u[:, 0] = shear * part.positions[:, 1]
    stress = dict(zip(part.stress_components, np.moveaxis(part.stress(u.ravel()), -1, 0), strict=True))
    assert stress["xy"] == pytest.approx(RUBBER.shear * shear, rel=1e-12)
    assert stress["xx"] - stress["yy"] == pytest.approx(RUBBER.shear * shear**2, rel=1e-12)
    assert stress["yy"] == pytest.approx(stress["zz"], rel=1e-12)
    assert stress["xx"] == pytest.approx(-2 * stress["yy"], rel=1e-12)


@pytest.mark.parametrize("volumetric", ["mean", "points"])
@pytest.mark.parametrize("shape", SHAPES)
def test_cauchy_stress_is_in_balance_with_the_forces(shape, volumetric):
    """Virtual work of a displacement linear in space, δu = G x: f·δu = ∫ σ:G dv."""
    part = solid(RUBBER, shape, volumetric)
    own, size = part.assemble(), part.components
    u = 0.02 * np.random.default_rng(4).standard_normal(part.dof_count)
    G = np.random.default_rng(5).standard_normal((size, size))
    if shape == "axisymmetric":
        G[:, 0] *= [1.0, 0.0]
        G[0, 1] = 0.0
    x = part.positions + u.reshape(-1, size)
    force = own.respond(u, own.fresh(), STEP).force.reshape(-1, size)
    stress = dict(zip(part.stress_components, np.moveaxis(part.stress(u), -1, 0), strict=True))
    letters = "rz" if shape == "axisymmetric" else "xyz"
    work = 0.0
    for i, a in enumerate(letters[:size]):
        for j, b in enumerate(letters[:size]):
            work = work + G[i, j] * stress.get(a + b, stress.get(b + a))
    if shape == "axisymmetric":
        work = work + G[0, 0] * stress["tt"]
    grown = volume(part, u)
    assert (force * (x @ G.T)).sum() == pytest.approx((work * grown).sum(), rel=1e-12)


def volume(part, u):
    """What the quadrature points measure at u (c, q)."""
    local = u.reshape(-1, part.components)[part.cells.nodes]
    F = np.einsum("cqan,cni->cqia", part.cells.gradients, local) + np.eye(part.components)
    grown = np.linalg.det(F) * part.cells.dx
    if part.cells.hoop is not None:
        grown = grown * (1 + np.einsum("cqn,cn->cq", part.cells.hoop, local[:, :, 0]))
    return grown


def test_the_stress_of_a_metal_needs_more_than_the_displacement():
    part = solid(J2(117e9, 0.35, 8930.0, yield_stress=4e8), "strain")
    with pytest.raises(UserError, match=r"^block: the stress of J2 depends on internal variables"):
        part.stress(np.zeros(part.dof_count))
