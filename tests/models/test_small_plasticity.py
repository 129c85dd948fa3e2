"""Metals of small plastic strains: tangents, limit loads, dynamics, against closed forms and finite strains."""

import numpy as np
import pytest

import arlequin as aq
from arlequin.models.fem.solid import Solid
from arlequin.models.materials.plastic import J2, LinearHardening, Voce
from arlequin.models.mesh import box, rectangle

STEEL = J2(2.1e11, 0.3, 7800.0, yield_stress=2.4e8)
HARD = J2(2.1e11, 0.3, 7800.0, yield_stress=2.4e8, hardening=(LinearHardening(1e9), Voce(1e8, 50.0)))


def solid(law, shape, volumetric=None, kinematics="small"):
    if shape == "3d":
        return Solid("s", box((0.0, 1.0), (0.0, 1.0), (0.0, 1.0), cells=(2, 1, 1)), law, volumetric=volumetric)
    mesh = rectangle((0.5, 1.5), (0.0, 1.0), cells=(2, 2))
    return Solid("s", mesh, law, plane=shape, volumetric=volumetric, kinematics=kinematics)


@pytest.mark.parametrize("volumetric", ["mean", "points"])
@pytest.mark.parametrize("shape", ["strain", "axisymmetric", "3d"])
def test_tangent_is_the_derivative_of_the_force(shape, volumetric):
    part = solid(HARD, shape, volumetric)
    own, rng, h = part.assemble(), np.random.default_rng(0), 1e-9
    memory = own.respond(2e-3 * rng.standard_normal(part.dof_count), own.fresh(), 1.0).memory
    u = 3e-3 * rng.standard_normal(part.dof_count)
    tangent = own.tangent(u, memory, 1.0)
    way = rng.standard_normal(u.size)
    ends = [own.respond(u + sign * h * way, memory, 1.0).force for sign in (1.0, -1.0)]
    assert np.abs(tangent @ way - (ends[0] - ends[1]) / (2 * h)).max() <= 1e-6 * np.abs(tangent @ way).max()


@pytest.mark.parametrize("shape", ["strain", "axisymmetric"])
def test_small_and_finite_strains_agree_where_strains_are_small(shape):
    for size in (1e-4, 1e-5):
        forces = []
        for kinematics in ("small", "finite"):
            part = solid(J2(2.1e11, 0.3, 7800.0, 2.4e8 * size / 1e-3), shape, kinematics=kinematics)
            own = part.assemble()
            u = size * np.random.default_rng(1).standard_normal(part.dof_count)
            response = own.respond(u, own.fresh(), 1.0)
            assert response.dissipated > 0.0
            forces.append(response.force)
        assert np.abs(forces[0] - forces[1]).max() <= 20 * size * np.abs(forces[0]).max()


def test_thick_walled_cylinder_carries_its_limit_pressure():
    """Plane strain, perfect plasticity: p = 2 σ_y/√3 · ln(b/a) (R. Hill, 1950); elastic until it first yields."""
    a, b, count = 0.1, 0.2, 12
    mesh = rectangle((a, b), (0.0, 0.01), cells=(count, 1))
    cylinder = aq.Solid(
        "cylinder", mesh, STEEL, plane="axisymmetric",
        imposed={"left": {"r": lambda t: 6e-4 * t}, "bottom": {"z": 0.0}, "top": {"z": 0.0}},
    )  # fmt: skip
    result = aq.simulate(aq.System([cylinder]), aq.Static(), duration=1.0, step=0.05)
    work = result["energy"].sel(kind="external_work").values
    # the mean pressure of a load step, from the work on the moving face
    pressure = np.diff(work) / (2 * np.pi * a * 0.01 * 6e-4 * 0.05)
    limit = 2 * STEEL.yield_stress / np.sqrt(3) * np.log(b / a)
    assert pressure[-1] == pytest.approx(limit, rel=2e-3)
    assert (np.diff(pressure) > -1e-6 * limit).all()
    assert np.abs(result["balance"]).max() <= 1e-12
    first = STEEL.yield_stress / np.sqrt(3) * (1 - (a / b) ** 2)  # Hill: about where yield begins
    elastic = pressure < 0.8 * first
    assert elastic.any()
    nu, young = 0.3, 2.1e11
    stiffness = young / (1 + nu) * (b**2 - a**2) / (a * ((1 - 2 * nu) * a**2 + b**2))  # Lamé
    middles = 6e-4 * 0.05 * (np.arange(pressure.size) + 0.5)
    assert pressure[elastic] == pytest.approx(stiffness * middles[elastic], rel=5e-3)


def test_points_lock_where_the_mean_does_not():
    """The same cylinder: with the pressure of the points linear cells carry more, the finer the mesh the less."""
    limits = {}
    for volumetric in ("mean", "points"):
        mesh = rectangle((0.1, 0.2), (0.0, 0.1), cells=(2, 2))
        part = aq.Solid(
            "cylinder", mesh, STEEL, plane="axisymmetric", volumetric=volumetric,
            imposed={"left": {"r": lambda t: 1e-3 * t}, "bottom": {"z": 0.0}, "top": {"z": 0.0}},
        )  # fmt: skip
        result = aq.simulate(aq.System([part]), aq.Static(), duration=1.0, step=0.1)
        limits[volumetric] = float(np.diff(result["energy"].sel(kind="external_work").values)[-1])
    assert limits["points"] > 1.01 * limits["mean"]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("theta", [0.5, 1.0])
def test_dynamics_add_up(theta):
    """A bar is thrown at a wall and yields: balance, and plastic work as with finite strains."""
    plastic = []
    for kinematics in ("small", "finite"):
        mesh = rectangle((0.0, 0.1), (0.0, 0.02), cells=(10, 2))
        bar = aq.Solid("bar", mesh, HARD, plane="strain", kinematics=kinematics)
        wall = aq.RigidPlane(point=(0.1, 0.0), normal=(-1.0, 0.0))
        contact = aq.Interface("tip", bar.boundary("right"), wall, aq.Unilateral())
        system = aq.System([bar], interfaces=[contact], velocity=(20.0, 0.0))
        result = aq.simulate(system, aq.Theta(theta), duration=3e-5, step=1e-6)
        assert np.abs(result["balance"]).max() <= 1e-12
        plastic.append(float(result["energy"].sel(kind="plastic")[-1]))
        assert float(result["part/bar"]["plastic_strain"][-1].max()) > 1e-4
    assert plastic[0] == pytest.approx(plastic[1], rel=0.02)
