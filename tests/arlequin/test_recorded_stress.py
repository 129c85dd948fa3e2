"""Stresses that are recorded of points with a memory, means over cells: closed forms, all schemes."""

from dataclasses import replace

import numpy as np
import pytest

import arlequin as aq
from arlequin.models.fem.stress import invariants, von_mises
from arlequin.models.materials.hyperelastic import NeoHooke
from arlequin.models.materials.plastic import J2, LinearHardening
from arlequin.models.mesh import box, rectangle
from arlequin.solvers.initial_state import start_fields
from arlequin.system.assembly import assemble

RUBBER = NeoHooke(young=3e6, poisson=0.4, density=1000.0)
COPPER = J2(117e9, 0.35, 8930.0, yield_stress=4e8, hardening=LinearHardening(1e8))
STEEL = J2(2.1e11, 0.3, 7800.0, yield_stress=2.4e8)


def solid(law, shape, kinematics):
    if shape == "3d":
        mesh, plane = box((0.0, 1.0), (0.0, 1.0), (0.0, 1.0), cells=(2, 1, 1)), None
    else:
        mesh, plane = rectangle((0.5, 1.5), (0.0, 1.0), cells=(2, 1)), shape
    return aq.Solid("block", mesh, law, plane=plane, kinematics=kinematics)


@pytest.mark.parametrize(("law", "kinematics"), [(RUBBER, "finite"), (COPPER, "finite"), (COPPER, "small")])
@pytest.mark.parametrize("shape", ["axisymmetric", "3d"])
def test_pressure_of_a_body_pressed_from_all_sides(shape, kinematics, law):
    """Sides shorter by s: p = −K ln J/J with J = (1 − s)³, −K tr ε where small; no other stress."""
    part, s = solid(law, shape, kinematics=kinematics), 0.1
    own = part.assemble()
    *_, mises, pressure = own.cell_means((-s * part.positions).ravel(), own.fresh())
    J = (1 - s) ** 3
    exact = 3 * law.bulk * s if kinematics == "small" else -law.bulk * np.log(J) / J
    assert pressure == pytest.approx(exact, rel=1e-12) and exact > 0.0
    assert np.abs(mises).max() <= 1e-12 * exact


def test_tension_of_a_hardening_bar():
    """τ = σ_0 + H α and ln λ = τ/E + α give α; J = e^((1 − 2ν) τ/E), σ = τ/J, p = −σ/3 — J2 has Hencky's elasticity."""
    law, stretch = J2(2.0, 0.3, 1.5, yield_stress=0.1, hardening=LinearHardening(0.1)), 1.5
    held = {"left": {"x": 0.0}, "bottom": {"y": 0.0}, "back": {"z": 0.0}, "right": {"x": lambda t: (stretch - 1) * t}}
    mesh = box((0.0, 1.0), (0.0, 1.0), (0.0, 1.0), cells=(1, 1, 1))
    bar = aq.Solid("bar", mesh, law, kinematics="finite", imposed=held)
    result = aq.simulate(aq.System([bar]), aq.Static(), duration=1.0, step=0.05)["part/bar"]
    alpha = (np.log(stretch) - law.yield_stress / law.young) / (1 + 0.1 / law.young)
    tau = law.yield_stress + 0.1 * alpha
    cauchy = tau / np.exp((1 - 2 * law.poisson) * tau / law.young)
    assert float(result["plastic_strain"][-1, 0]) == pytest.approx(alpha, rel=1e-9)
    assert float(result["mises_stress"][-1, 0]) == pytest.approx(cauchy, rel=1e-9)
    assert float(result["pressure"][-1, 0]) == pytest.approx(-cauchy / 3, rel=1e-9)
    assert result["mises_stress"].attrs == {"units": "Pa", "long_name": "von Mises stress, mean over the cell"}
    assert not result["mises_stress"][0].any() and not result["pressure"][0].any()


def test_thick_walled_cylinder():
    """Lamé before it yields; at its limit pressure mises = σ_y and p = σ_y/√3 (2 ln(b/r) − 1) (R. Hill, 1950).

    Far past the first yield: flow is to forget the elastic σ_z.
    """
    a, b, count = 0.1, 0.2, 40
    mesh = rectangle((a, b), (0.0, 0.0025), cells=(count, 1))
    cylinder = aq.Solid(
        "cylinder", mesh, STEEL, plane="axisymmetric",
        imposed={"left": {"r": lambda t: 5e-3 * t}, "bottom": {"z": 0.0}, "top": {"z": 0.0}},
    )  # fmt: skip
    result = aq.simulate(aq.System([cylinder]), aq.Static(), duration=1.0, step=0.01)["part/cylinder"]
    r = cylinder.positions[cylinder.connectivity, 0].mean(axis=1)
    mises, pressure = result["mises_stress"].values, result["pressure"].values

    nu, moved = STEEL.poisson, 5e-3 * 0.01
    inside = STEEL.young / (1 + nu) * (b**2 - a**2) / (a * ((1 - 2 * nu) * a**2 + b**2)) * moved
    mean = inside * a**2 / (b**2 - a**2)  # σ_r, σ_θ = mean ∓ mean b²/r², σ_z = 2ν mean
    lame = mean * np.sqrt((1 - 2 * nu) ** 2 + 3 * (b / r) ** 4)
    assert lame.max() < STEEL.yield_stress and not result["plastic_strain"][1].any()
    assert mises[1] == pytest.approx(lame, rel=2e-3)
    assert pressure[1] == pytest.approx(np.full(r.size, -2 * (1 + nu) / 3 * mean), rel=2e-3)

    assert float(result["plastic_strain"][-1].min()) > 0.0
    assert mises[-1] == pytest.approx(STEEL.yield_stress, rel=1e-9)
    hill = STEEL.yield_stress / np.sqrt(3) * (2 * np.log(b / r) - 1)
    assert np.abs(pressure[-1] - hill).max() <= 1e-4 * STEEL.yield_stress


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kinematics", ["small", "finite"])
@pytest.mark.parametrize(("scheme", "mass"), [(aq.Theta(0.5), "consistent"), (aq.CentralDifference(), "lumped")])
def test_points_that_flow_in_a_step_are_on_the_yield_surface_at_its_end(scheme, mass, kinematics):
    """τ_mises = σ_0 + H α where α grows, below it elsewhere: u and memory of a frame are of one instant."""
    law = J2(2.1e11, 0.3, 7800.0, yield_stress=2.4e8, hardening=LinearHardening(2e9))
    mesh = rectangle((0.0, 0.1), (0.0, 0.02), cells=(10, 1))
    bar = aq.Solid("bar", mesh, law, plane="strain", kinematics=kinematics, mass=mass)
    wall = aq.RigidPlane(point=(0.1, 0.0), normal=(-1.0, 0.0))
    contact = aq.Interface("tip", bar.boundary("right"), wall, aq.Unilateral(level="velocity"))
    system = aq.System([bar], interfaces=[contact], velocity=(40.0, 0.0))
    assembly = assemble(system)
    stepper = scheme.prepare(assembly, 2e-7)
    state, flowed = stepper.start(*start_fields(assembly, 2e-7, False)), 0
    for _ in range(40):
        before = state.memory[0][..., 6]
        state, _ = stepper.advance(state)
        alpha, u = state.memory[0][..., 6], state.u[: bar.dof_count]
        mises, _ = invariants(assembly.parts[0].stress(u, state.memory[0]))
        if kinematics == "finite":
            local = u.reshape(-1, 2)[bar.cells.nodes]
            mises = mises * np.linalg.det(np.einsum("cqan,cni->cqia", bar.cells.gradients, local) + np.eye(2))
        limit, grows = law.yield_stress + 2e9 * alpha, alpha > before
        assert (mises <= limit * (1 + 1e-9)).all() and mises[grows] == pytest.approx(limit[grows], rel=1e-9)
        flowed += grows.sum()
    assert flowed > 100


@pytest.mark.sampled(1)
@pytest.mark.parametrize("plane", ["strain", "axisymmetric"])
@pytest.mark.parametrize("kinematics", ["small", "finite"])
def test_stress_after_a_run(kinematics, plane, tmp_path):
    """Of the result on disk; means of its invariants are those that the run recorded."""
    mesh = rectangle((0.5, 1.0), (0.0, 0.2), cells=(3, 2))
    held = {"left": {0: 0.0, 1: 0.0}, "right": {0: lambda t: 0.02 * t, 1: lambda t: 0.03 * t}}
    names = "rz" if plane == "axisymmetric" else "xy"
    held = {side: {names[k]: motion for k, motion in given.items()} for side, given in held.items()}
    part = aq.Solid("block", mesh, COPPER, plane=plane, kinematics=kinematics, imposed=held)
    record = aq.Record(tmp_path / "run.zarr", fields_every=2, point_memory=True)
    aq.simulate(aq.System([part]), aq.Static(), duration=1.0, step=0.25, record=record)
    block = aq.results.open(tmp_path / "run.zarr")["part/block"]
    assert block["point_memory"].shape == (3, 6, 4, 9) and float(block["plastic_strain"][-1].min()) > 1e-3
    share = part.cells.dx / part.cells.dx.sum(axis=1, keepdims=True)
    for frame in range(3):
        stress = part.stress(block["displacement"].values[frame].ravel(), block["point_memory"].values[frame])
        mises = (share * von_mises(stress, part.stress_components)).sum(axis=1)
        normal = [k for k, (a, b) in enumerate(part.stress_components) if a == b]
        pressure = -(share * stress[..., normal].sum(axis=-1) / 3).sum(axis=1)
        scale = COPPER.yield_stress
        assert np.abs(block["mises_stress"].values[frame] - mises).max() <= 1e-12 * scale
        assert np.abs(block["pressure"].values[frame] - pressure).max() <= 1e-11 * scale


def test_point_memory_is_of_metals_alone_and_on_all_their_cells():
    """0 in the cells that weigh nothing, nothing of elastic parts, and nothing where it is not asked for."""
    law, options = replace(COPPER, yield_stress=1e8), {"plane": "strain", "kinematics": "finite"}
    coarse = aq.Solid("coarse", rectangle((0.0, 2.0), (0.0, 0.4), cells=(10, 2)), law, **options)
    fine = aq.Solid("fine", rectangle((0.8, 2.0), (0.0, 0.4), cells=(12, 4)), RUBBER, **options)
    junction = aq.Junction(coarse, fine, zone=aq.zones.Strip(0.8, 1.2))
    system = aq.System([coarse, fine], [junction], velocity=lambda x: np.stack([100 * np.sin(x[:, 0]), 0 * x[:, 0]], 1))
    steps = {"duration": 5e-5, "step": 1e-5}
    result = aq.simulate(system, aq.Theta(0.5), record=aq.Record(point_memory=True), **steps)
    memory = result["part/coarse"]["point_memory"].values[-1]
    middle = coarse.positions[coarse.connectivity].mean(axis=1)[:, 0]
    assert not memory[middle > 1.2].any() and memory[middle < 1.2].any(axis=(1, 2)).any()
    assert "point_memory" not in result["part/fine"] and "mises_stress" in result["part/fine"]
    assert "point_memory" not in aq.simulate(system, aq.Theta(0.5), **steps)["part/coarse"]


def test_cells_that_another_part_has_taken_over_have_no_stress() -> None:
    """Their nodes rest: strains between these and moving ones mean nothing. The others hold the uniform state of both
    models."""
    steel = aq.LinearElastic(young=2e11, poisson=0.0, density=7800.0)
    coarse_mesh = aq.mesh.rectangle((0.0, 0.12), (0.0, 0.04), cells=(12, 4))
    fine_mesh = aq.mesh.rectangle((0.06, 0.12), (0.0, 0.04), cells=(24, 16))
    held = {"left": {"x": 0.0}, "bottom": {"y": 0.0}}
    coarse = aq.Solid("coarse", coarse_mesh, steel, plane="stress", imposed=held)
    pull = {"right": lambda x, t: (1e8 * t, 0.0)}
    fine = aq.Solid("fine", fine_mesh, steel, plane="stress", tractions=pull, imposed={"bottom": {"y": 0.0}})
    system = aq.System([coarse, fine], [aq.Junction(coarse, fine, zone=aq.zones.Strip(0.06, 0.09))])
    result = aq.simulate(system, aq.Static(), duration=1.0, step=0.5, record=aq.Record(stress=True))
    group = result["part/coarse"].dataset
    gone = group["position"].values[:, 0] > 0.09 + 1e-9
    np.testing.assert_array_equal(group["left_out"].values > 0, gone)
    hidden = gone[group["connectivity"].values].any(axis=1)
    assert hidden.any() and not hidden.all()
    for found in (group, aq.results.stress(result, coarse)):
        stress = found["mises_stress"].values[-1]
        assert np.isnan(stress[hidden]).all()
        np.testing.assert_allclose(stress[~hidden], 1e8, rtol=1e-9)
    assert "left_out" not in result["part/fine"].dataset
    figure = aq.plots.shape(result, "mises_stress", frame=-1)
    assert sum(len(c.get_paths()) for c in figure.axes[0].collections if c.get_array() is not None) == 24 * 16 + int(
        (~hidden).sum()
    )
