"""Viscous stress of large strains: tangent by differences, losses by closed forms, none in rotations, small strains."""

from typing import Any

import numpy as np
import pytest

import arlequin as aq

MESHES = {
    "strain": aq.mesh.rectangle((0.0, 1.0), (0.0, 1.0), cells=(2, 2)),
    "axisymmetric": aq.mesh.rectangle((0.5, 1.5), (0.0, 1.0), cells=(2, 2)),
    None: aq.mesh.box((0.0, 1.0), (0.0, 1.0), (0.0, 1.0), (2, 1, 1)),
}
YOUNG, POISSON, DENSITY, LAG = 3e6, 0.45, 1000.0, 0.02  # Pa, -, kg/m³, s


def rubber(plane: str | None, volumetric: Any = "mean", **options: Any) -> aq.Solid:
    law = aq.NeoHooke(young=YOUNG, poisson=POISSON, density=DENSITY)
    damping = aq.Rayleigh(stiffness=LAG)
    return aq.Solid(
        "rubber", options.pop("mesh", MESHES[plane]), law, plane=plane, kinematics="finite", volumetric=volumetric,
        damping=damping, **options,
    )  # fmt: skip


def motion(part: aq.Solid, size: float, seed: int) -> Any:
    return size * np.random.default_rng(seed).standard_normal(part.dof_count)


@pytest.mark.parametrize("plane", MESHES)
@pytest.mark.parametrize("volumetric", ["mean", "points"])
def test_tangent_is_the_derivative(plane: str | None, volumetric: str) -> None:
    part = rubber(plane, volumetric)
    own: Any = part.assemble()
    law, cells = own._viscosity, own._cells
    u0, u1, along = motion(part, 0.05, 1), motion(part, 0.05, 2), motion(part, 1.0, 3)
    matrix = own.matrix_of(law.matrices(cells, u0, u1, 0.1))
    ends = [law.force(cells, u0, u1 + sign * 1e-6 * along, 0.1) for sign in (1.0, -1.0)]
    assert np.abs(matrix @ along - (ends[0] - ends[1]) / 2e-6).max() < 1e-8 * np.abs(matrix @ along).max()


@pytest.mark.parametrize("plane", ["strain", None])
@pytest.mark.parametrize("volumetric", ["mean", "points"])
def test_rotations_lose_nothing_and_all_else_loses(plane: str | None, volumetric: str) -> None:
    """A rotation by 1 rad in the step on a large strain; the force has no resultant and no moment about x_½."""
    part = rubber(plane, volumetric)
    own: Any = part.assemble()
    axes = part.components
    turn = np.eye(axes)
    turn[:2, :2] = [[np.cos(1.0), -np.sin(1.0)], [np.sin(1.0), np.cos(1.0)]]
    stretched = part.positions * ((1.5, 0.8, 1.1)[:axes])
    u0, rigid = (stretched - part.positions).ravel(), (stretched @ turn.T + 0.3 - part.positions).ravel()
    other = u0 + motion(part, 0.05, 4)
    loss = own.mean_viscous(u0, other, 0.1) @ (other - u0)
    assert loss > 0.0
    assert abs(own.mean_viscous(u0, rigid, 0.1) @ (rigid - u0)) < 1e-24 * loss
    force = own.mean_viscous(u0, other, 0.1).reshape(-1, axes)
    middle = (part.positions + 0.5 * (u0 + other).reshape(-1, axes))[:, :2]
    moment = middle[:, 0] * force[:, 1] - middle[:, 1] * force[:, 0]
    size = np.abs(force).max()
    assert np.abs(force.sum(axis=0)).max() < 1e-13 * size and abs(moment.sum()) < 1e-13 * size


@pytest.mark.parametrize("volumetric", ["mean", "points"])
def test_uniform_stretch(volumetric: str) -> None:
    """F = diag(l₁, l₂, l₃) over a step: δ = Δl/l_½ of each axis, loss V₀ (b/Δt) (2μ |dev δ|² + K (tr δ)²)."""
    part = rubber(None, volumetric)
    own: Any = part.assemble()
    start, end = np.array([1.6, 0.8, 0.9]), np.array([1.9, 0.7, 0.85])
    u0, u1 = ((part.positions * (stretch - 1.0)).ravel() for stretch in (start, end))
    delta = 2.0 * (end - start) / (end + start)
    shear, bulk = YOUNG / (2.0 * (1.0 + POISSON)), YOUNG / (3.0 * (1.0 - 2.0 * POISSON))
    deviator = delta - delta.mean()
    loss = LAG / 0.1 * (2.0 * shear * deviator @ deviator + bulk * delta.sum() ** 2)
    assert abs(own.mean_viscous(u0, u1, 0.1) @ (u1 - u0) / loss - 1.0) < 1e-12


@pytest.mark.parametrize("volumetric", ["mean", "points"])
@pytest.mark.parametrize("plane", MESHES)
def test_small_strains_are_rayleighs(plane: str | None, volumetric: str) -> None:
    """The force is b K v, K the tangent of the material at rest (of the cell's mean pressure where it is the law's)."""
    part = rubber(plane, volumetric)
    own: Any = part.assemble()
    u1 = motion(part, 1e-8, 5)
    force = own.mean_viscous(np.zeros_like(u1), u1, 0.1)
    linear = LAG / 0.1 * (own.tangent(np.zeros_like(u1), own.fresh(), 0.0) @ u1)
    assert np.abs(force - linear).max() < 1e-6 * np.abs(linear).max()


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("theta", "near"), [(0.5, 1e-3), (1.0, 0.02)])
def test_relaxation_of_a_large_stretch(theta: float, near: float) -> None:
    """A block of one cell released from a stretch of 2: each axis obeys b (2μ dev d + K tr d 1) = −τ(l₁, l₂, l₃), with
    d = l̇/l, but for inertia (ρL²/(E b) = 2e-5 s). SciPy solves the three equations."""
    from scipy.integrate import solve_ivp

    light = aq.NeoHooke(young=YOUNG, poisson=POISSON, density=1.0)
    held = {"left": {"x": 0.0}, "bottom": {"y": 0.0}, "back": {"z": 0.0}}
    mesh = aq.mesh.box((0.0, 1.0), (0.0, 1.0), (0.0, 1.0), (1, 1, 1))
    part = aq.Solid("cube", mesh, light, kinematics="finite", damping=aq.Rayleigh(stiffness=LAG), imposed=held)
    start, end = np.array([2.0, 0.72, 0.72]), 0.02
    system = aq.System([part], displacement=lambda x: x * (start - 1.0))
    result = aq.simulate(system, aq.Theta(theta), duration=end, step=5e-4)
    shear = YOUNG / (2.0 * (1.0 + POISSON))

    def rates(_: float, stretch: Any) -> Any:
        squares, volume = stretch**2, stretch.prod()
        deviator = volume ** (-2.0 / 3.0) * shear * (squares - squares.mean())
        return -stretch * (deviator / (2.0 * shear) + np.log(volume) / 3.0) / LAG

    exact = solve_ivp(rates, (0.0, end), start, rtol=1e-10, atol=1e-12).y[:, -1]
    corner = int(np.argmax(part.positions.sum(axis=1)))
    found = 1.0 + result["part/cube"]["displacement"].values[-1, corner]
    assert np.abs(found - exact).max() < near and exact[0] < 1.5
    assert np.abs(result["balance"]).max() < 1e-12
    assert (np.diff(result["energy"].sel(kind="damping")) >= 0.0).all()


def test_a_bar_of_small_amplitude_decays_as_a_linear_one() -> None:
    """Uniaxial strain: the first mode decays by exp(−ζωt), ζ = bω/2; the history is that of the linear solid."""
    mesh = aq.mesh.rectangle((0.0, 1.0), (0.0, 0.1), cells=(4, 1))
    held = {"left": {"x": 0.0}, "bottom": {"y": 0.0}, "top": {"y": 0.0}}
    linear = aq.LinearElastic(young=YOUNG, poisson=0.3, density=DENSITY)
    laws: Any = {"finite": aq.NeoHooke(young=YOUNG, poisson=0.3, density=DENSITY), "small": linear}
    found, lag, end = {}, 4e-3, 0.03
    for kind, law in laws.items():
        damping = aq.Rayleigh(stiffness=lag)
        bar = aq.Solid("bar", mesh, law, plane="strain", kinematics=kind, imposed=held, damping=damping)
        start = aq.System([bar], displacement=lambda x: 1e-4 * np.sin(0.5 * np.pi * x) * (1.0, 0.0))
        result = aq.simulate(start, aq.Theta(0.5), duration=end, step=1e-3)
        found[kind] = result["part/bar"]["displacement"].values[:, :, 0] / 1e-4
    assert np.abs(found["finite"] - found["small"]).max() < 1e-3
    rate, shear = linear.lame()
    omega = 0.5 * np.pi * np.sqrt((rate + 2.0 * shear) / DENSITY)  # rad/s
    ratio = 0.5 * lag * omega
    swing = omega * np.sqrt(1.0 - ratio**2) * end
    tip = np.exp(-ratio * omega * end) * (np.cos(swing) + ratio / np.sqrt(1.0 - ratio**2) * np.sin(swing))
    assert abs(found["finite"][-1, -1] - tip) < 0.02 and abs(tip) < 0.7


def test_free_rotation_loses_nothing() -> None:
    """A turn by 1 rad in ten steps, so slow that centrifugal strains store ρω²L²/E = 3e-8 of the energy."""
    part = rubber("strain")
    rate = 1e-2  # rad/s
    spin = aq.System([part], velocity=lambda x: rate * np.stack([0.5 - x[:, 1], x[:, 0] - 0.5], axis=1))
    result = aq.simulate(spin, aq.Theta(0.5), duration=100.0, step=10.0)
    energy = result["energy"]
    assert float(energy.sel(kind="damping")[-1]) < 1e-7 * float(energy.sel(kind="kinetic")[0])
    assert np.abs(result["part/rubber"]["displacement"].values[-1]).max() > 0.5  # it has turned


@pytest.mark.sampled(1)
@pytest.mark.parametrize("kind", ["J2", "NeoHooke"])
def test_impact_with_loss_balances(kind: str) -> None:
    """A block of large strains on a floor: all that is lost is named, and the loss is never negative."""
    law: Any = {
        "J2": aq.J2(YOUNG, POISSON, DENSITY, yield_stress=3e5),
        "NeoHooke": aq.NeoHooke(young=YOUNG, poisson=0.49, density=DENSITY),
    }[kind]
    mesh = aq.mesh.rectangle((0.0, 0.1), (0.0, 0.1), cells=(3, 3))
    block = aq.Solid(
        "block", mesh, law, plane="strain", kinematics="finite", damping=aq.Rayleigh(mass=1.0, stiffness=1e-3)
    )
    plane = aq.RigidPlane(point=(0.0, 0.0), normal=(0.0, 1.0))
    floor = aq.Interface("floor", block.boundary("bottom"), plane, aq.Unilateral())
    system = aq.System([block], interfaces=[floor], velocity=(0.0, -20.0))
    result = aq.simulate(system, aq.Theta(0.5), duration=2e-3, step=1e-4)
    lost = result["energy"].sel(kind="damping").values
    assert (np.diff(lost) >= 0.0).all() and lost[-1] > 0.05 * float(result["energy"].sel(kind="kinetic")[0])
    assert np.abs(result["balance"]).max() < 1e-10


@pytest.mark.parametrize("scheme", [aq.Newmark(), aq.CentralDifference()], ids=["Newmark", "central"])
def test_other_schemes_refuse_it(scheme: Any) -> None:
    with pytest.raises(aq.UserError, match=r"part 'rubber': .* viscous .* take Theta"):
        aq.simulate(aq.System([rubber("strain", mass="lumped")]), scheme, duration=1.0, step=1.0)
