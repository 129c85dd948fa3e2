"""Stresses of elastic parts and section forces of beams in a result: uniform states and statics, to round-off."""

from dataclasses import replace

import meshio
import numpy as np
import pytest

import arlequin as aq
from arlequin import plots
from arlequin.models.mesh import box, interval, rectangle

E, NU = 2e11, 0.3
STEEL = aq.LinearElastic(young=E, poisson=NU, density=7800.0)
STRAIN = 1e-4


def statics(*parts: aq.Solid, **more) -> object:
    return aq.simulate(
        aq.System(list(parts), **more), aq.Static(), duration=1.0, step=0.5, record=aq.Record(stress=True)
    )


def tension(shape: str) -> tuple[aq.Solid, dict[str, float]]:
    """Pulled along one axis and free (or held, in plane strain) along the others: exact stresses, Pa."""
    pull = {"right": {"x": lambda t: STRAIN * t}}
    if shape == "3d":
        mesh, plane, kind = box((0.0, 1.0), (0.0, 1.0), (0.0, 1.0), cells=(2, 2, 2), kind="tet"), None, {}
        held = {"left": {"x": 0.0}, "bottom": {"y": 0.0}, "back": {"z": 0.0}} | pull
        exact = {"xx": E * STRAIN}
    elif shape == "axisymmetric":  # drawn along its axis
        mesh, plane, kind = rectangle((0.5, 1.0), (0.0, 1.0), cells=(3, 2)), shape, {"order": 2}
        held = {"bottom": {"z": 0.0}, "top": {"z": lambda t: STRAIN * t}}
        exact = {"zz": E * STRAIN}
    else:
        mesh, plane, kind = rectangle((0.0, 1.0), (0.0, 1.0), cells=(3, 2), kind="tri"), shape, {}
        held = {"left": {"x": 0.0}, "bottom": {"y": 0.0}} | pull
        exact = {"xx": E * STRAIN}
        if shape == "strain":  # ε_zz = 0, σ_yy = 0
            exact = {"xx": E * STRAIN / (1 - NU**2), "zz": NU * E * STRAIN / (1 - NU**2)}
    return aq.Solid("block", mesh, STEEL, plane=plane, imposed=held, **kind), exact


@pytest.mark.parametrize("shape", ["3d", "strain", "stress", "axisymmetric"])
def test_uniaxial_tension(shape, tmp_path):
    part, exact = tension(shape)
    result = statics(part)
    block = result["part/block"].dataset
    assert block["stress"].attrs["units"] == block["mises_stress"].attrs["units"] == "Pa"
    assert tuple(block["stress_component"].values) == part.stress_components
    for frame, load in enumerate((0.0, 0.5, 1.0)):
        for name in part.stress_components:
            found = block["stress"].isel(frame=frame).sel(stress_component=name).values
            assert found == pytest.approx(
                np.full(len(part.connectivity), load * exact.get(name, 0.0)), abs=1e-6 * E * STRAIN * 1e-4
            )
    normal = [exact.get(name, 0.0) for name in ("xx", "zz", "yy")]
    a, b, c = normal
    mises = np.sqrt(0.5 * ((a - b) ** 2 + (b - c) ** 2 + (c - a) ** 2))
    assert block["mises_stress"].values[-1] == pytest.approx(np.full(len(part.connectivity), mises), rel=1e-9)
    # computed afterwards: the same numbers
    later = aq.results.stress(result, part)
    for name in ("stress", "mises_stress"):
        np.testing.assert_array_equal(later[name].values, block[name].values)
        assert later[name].attrs == block[name].attrs and later[name].dims == block[name].dims
    # and in ParaView's order
    aq.results.export_vtu(result, tmp_path)
    cells = meshio.read(sorted((tmp_path / "part-block").glob("*.vtu"))[-1]).cell_data
    place = {"xx": 0, "zz": 1 if shape == "axisymmetric" else 2}
    expected = np.zeros(6)
    for name, value in exact.items():
        expected[place[name]] = value
    np.testing.assert_allclose(
        cells["stress"][0], np.tile(expected, (len(part.connectivity), 1)), atol=1e-9 * E * STRAIN
    )
    np.testing.assert_array_equal(cells["mises_stress"][0], block["mises_stress"].values[-1])


@pytest.mark.parametrize("kinematics", ["small", "finite"])
def test_simple_shear(kinematics):
    """u_x = γ y of small γ: σ_xy = μ γ, no other stress of first order."""
    gamma = 1e-6
    part = aq.Solid(
        "block", rectangle((0.0, 1.0), (0.0, 1.0), cells=(2, 2)), STEEL, plane="strain", kinematics=kinematics,
        imposed={"bottom": {"x": 0.0, "y": 0.0}, "top": {"x": lambda t: gamma * t, "y": 0.0},
                 "left": {"y": 0.0}, "right": {"y": 0.0}},
    )  # fmt: skip
    stress = statics(part)["part/block/stress"].isel(frame=-1)
    mu = E / 2 / (1 + NU)
    # the sides are free along x: uniform shear needs tractions there, which Saint-Venant confines to the sides' cells
    mean = stress.mean("cell")
    assert float(mean.sel(stress_component="xy")) == pytest.approx(mu * gamma, rel=0.2)
    assert abs(float(mean.sel(stress_component="xx"))) <= 1e-5 * mu * gamma


@pytest.mark.sampled(7)
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("kind", ["tri", "quad", "tet", "hex"])
@pytest.mark.parametrize("kinematics", ["small", "finite"])
def test_uniform_deformation(kinematics, kind, order):
    """u = H x: Hooke's law of sym H, or Cauchy's stress F S Fᵀ / det F of St. Venant and Kirchhoff, in every cell."""
    plane = kind in ("tri", "quad")
    mesh = (
        rectangle((0.0, 1.0), (0.0, 1.0), (3, 2), kind)
        if plane
        else box((0.0, 1.0), (0.0, 1.0), (0.0, 1.0), (2, 2, 1), kind)
    )
    part = aq.Solid("block", mesh, STEEL, plane="strain" if plane else None, order=order, kinematics=kinematics)
    size = 2 if plane else 3
    gradient = np.zeros((3, 3))
    gradient[:size, :size] = 0.2 * np.array([[0.3, -0.5, 0.2], [0.8, -0.1, 0.4], [-0.3, 0.6, 0.2]])[:size, :size]
    result = aq.simulate(aq.System([part]), aq.Theta(0.5), duration=1e-9, step=1e-9)
    group = result["part/block"].dataset
    moved = np.broadcast_to(group["position"].values @ gradient[:size, :size].T, group["displacement"].shape)
    result["part/block"] = group.assign(displacement=(group["displacement"].dims, moved))
    found = aq.results.stress(result, part).isel(frame=-1)
    lame, mu = E * NU / (1 + NU) / (1 - 2 * NU), E / 2 / (1 + NU)
    f = np.eye(3) + gradient
    strain = 0.5 * (gradient + gradient.T) if kinematics == "small" else 0.5 * (f.T @ f - np.eye(3))
    sigma = lame * np.trace(strain) * np.eye(3) + 2 * mu * strain
    if kinematics == "finite":
        sigma = f @ sigma @ f.T / np.linalg.det(f)
    for name in part.stress_components:
        exact = sigma["xyz".index(name[0]), "xyz".index(name[1])]
        values = found["stress"].sel(stress_component=name).values
        np.testing.assert_allclose(values, exact, atol=1e-10 * np.abs(sigma).max())
    a, b, c = np.linalg.eigvalsh(sigma)
    mises = np.sqrt(0.5 * ((a - b) ** 2 + (b - c) ** 2 + (c - a) ** 2))
    np.testing.assert_allclose(found["mises_stress"].values, mises, rtol=1e-10)


def test_thick_cylinder():
    """Lamé: σ_rr, σ_θθ = A ∓ B/r² under inner pressure, σ_zz = 2νA of held ends, which bear 2νA times their area."""
    inner, outer, pressure = 1.0, 2.0, 1e6
    mesh = rectangle((inner, outer), (0.0, 0.2), cells=(48, 1))
    held = {"bottom": {"z": 0.0}, "top": {"z": 0.0}}
    load = {"left": lambda x, t: (pressure * t, 0.0)}
    cylinder = aq.Solid("cylinder", mesh, STEEL, plane="axisymmetric", order=2, imposed=held, tractions=load)
    group = statics(cylinder)["part/cylinder"].dataset
    a = pressure * inner**2 / (outer**2 - inner**2)
    b = a * outer**2
    ends = np.sort(group["position"].values[group["connectivity"].values, 0], axis=1)[:, [0, -1]]
    area = 0.5 * (ends[:, 1] ** 2 - ends[:, 0] ** 2)
    share = b * np.log(ends[:, 1] / ends[:, 0]) / area  # mean of B/r² over the volume of the cell
    stress = group["stress"].isel(frame=-1)
    for name, exact in (("rr", a - share), ("tt", a + share), ("zz", 2 * NU * a), ("rz", 0.0)):
        error = np.abs(stress.sel(stress_component=name).values - exact).max()
        assert error <= 2e-6 * pressure, (name, error)
    force = group["reaction"].isel(time=-1).sel(component="y")
    exact = 2 * NU * a * np.pi * (outer**2 - inner**2)
    assert force.sel(support="top").item() == pytest.approx(exact, rel=1e-6)
    assert force.sel(support="bottom").item() == pytest.approx(-exact, rel=1e-6)


def test_a_metal_has_the_tensor_beside_its_invariants():
    """`mises_stress` is the one that plastic parts record anyway: no second one of that name, and the same number."""
    metal = aq.J2(E, NU, 7800.0, yield_stress=1e7, hardening=aq.LinearHardening(1e9))
    part, _ = tension("3d")
    part = aq.Solid("block", part.mesh, metal, imposed=part.imposed)
    block = statics(part)["part/block"].dataset
    assert float(block["plastic_strain"][-1].min()) > 0.0
    xx = block["stress"].sel(stress_component="xx").values
    np.testing.assert_allclose(xx, block["mises_stress"].values, rtol=1e-9)


def test_bars_members_and_modes():
    """σ = E u′ of a bar, in each member of an ensemble; of all modes the same as of the part."""
    bar = aq.Bar("bar", interval(0.0, 2.0, cells=8), STEEL, imposed={"left": {"x": 0.0}})
    systems = [aq.System([bar], velocity=lambda x, s=s: s * x) for s in (1.0, 2.0)]
    result = aq.simulate_ensemble(systems, aq.Theta(0.5), duration=2e-5, step=1e-5, record=aq.Record(stress=True))
    assert result["part/bar/stress"].dims == ("member", "frame", "cell", "stress_component")
    u = result["part/bar/displacement"].values[..., 0]
    np.testing.assert_allclose(result["part/bar/stress"].values[..., 0], E * np.diff(u, axis=2) / 0.25, rtol=1e-10)
    np.testing.assert_array_equal(aq.results.stress(result, bar, member=1)["stress"], result["part/bar/stress"][1])
    modal = aq.Modal(bar, 8)
    record = aq.Record(stress=True)
    own = aq.simulate(aq.System([modal], velocity=lambda x: x), aq.Theta(0.5), duration=2e-5, step=1e-5, record=record)
    np.testing.assert_allclose(own["part/bar/stress"], result["part/bar/stress"][0], rtol=1e-8)


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("slanted", [False, True])
def test_cantilever_with_a_load_at_its_tip(dimension, slanted):
    """N, V = F and M = F (L − s), at both ends of every cell, in local axes; in space also torsion about the axis."""
    length, count, force = 2.0, 5, 100.0
    local = np.array([30.0, force] if dimension == 2 else [30.0, force, -40.0])
    along = (np.cos(0.6), np.sin(0.6), 0.0)[:dimension]
    options = {"origin": (0.0,) * dimension, "direction": along} if slanted else {}
    held = {"left": dict.fromkeys(("x", "y", "rz") if dimension == 2 else ("x", "y", "z", "rx", "ry", "rz"), 0.0)}
    bare = aq.Beam(
        "beam", interval(0.0, length, cells=count), STEEL, aq.Section.circle(0.05), dimension=dimension, imposed=held,
        **options,
    )  # fmt: skip
    tip = local @ bare.frame[:dimension, :dimension]
    beam = replace(bare, end_loads={"right": lambda t: tuple(t * tip)})
    result = statics(beam)
    group = result["part/beam"].dataset.isel(frame=-1)
    s = np.linspace(0.0, length, count + 1)
    arm = length - np.stack([s[:-1], s[1:]], axis=1)
    components = group["force_component"].values.tolist()
    assert components == ["N", "Vy", "Vz"][:dimension]
    np.testing.assert_allclose(group["section_force"].values, np.broadcast_to(local, (count, 2, dimension)), rtol=1e-8)
    moments = group["section_moment"]
    np.testing.assert_allclose(moments.sel(moment_component="Mz"), local[1] * arm, atol=1e-8 * force * length)
    if dimension == 3:
        np.testing.assert_allclose(moments.sel(moment_component="My"), -local[2] * arm, atol=1e-8 * force * length)
        assert np.abs(moments.sel(moment_component="Mx")).max() <= 1e-8 * force * length
    assert group["section_force"].attrs["units"] == "N" and moments.attrs["units"] == "N m"
    later = aq.results.stress(result, beam).isel(frame=-1)
    np.testing.assert_array_equal(later["section_moment"], moments)


def test_figures_and_lines_of_errors():
    part, _ = tension("strain")
    result = statics(part)
    figure = plots.shape(result, "mises_stress")
    assert any("Von Mises" in axis.get_xlabel() and "MPa" in axis.get_xlabel() for axis in figure.axes)
    figure = plots.shape(result, "stress", component="xx")
    assert any("xx" in axis.get_xlabel() for axis in figure.axes)
    with pytest.raises(aq.UserError, match="stress: choose component=, one of xx, yy, zz, xy"):
        plots.shape(result, "stress")
    with pytest.raises(aq.UserError, match="component = 'zx'"):
        plots.shape(result, "stress", component="zx")
    plain = aq.simulate(aq.System([part]), aq.Static(), duration=1.0, step=0.5)
    with pytest.raises(
        aq.UserError, match=r"`mises_stress`; there are displacement, velocity; .*Record\(stress=True\)"
    ):
        plots.shape(plain, "mises_stress")
    np.testing.assert_array_equal(aq.results.stress(plain, part)["stress"], result["part/block/stress"])
    mass = aq.PointMasses("mass", [[0.0, 0.0]], [1.0])
    with pytest.raises(aq.UserError, match="mass: PointMasses has no stresses"):
        aq.results.stress(plain, mass)


def test_profiles_and_animations_of_stresses_and_sections(tmp_path):
    """Section forces at the ends of cells and stresses of bars as lines; one component of a tensor as colours."""
    held = {"left": {"x": 0.0, "y": 0.0, "rz": 0.0}}
    beam = aq.Beam(
        "beam", interval(0.0, 2.0, cells=4), STEEL, aq.Section.circle(0.05), dimension=2, imposed=held,
        end_loads={"right": lambda t: (0.0, 100.0 * t)},
    )  # fmt: skip
    result = statics(beam)
    (line,) = plots.profile(result, "section_moment", component="Mz", frames=[-1]).axes[0].get_lines()
    ends = np.array([0.0, 0.5, 0.5, 1.0, 1.0, 1.5, 1.5, 2.0])
    np.testing.assert_allclose(line.get_xdata(), ends)
    np.testing.assert_allclose(line.get_ydata(), 100.0 * (2.0 - ends), atol=1e-6)
    figure = plots.profile(result, "section_force", component="Vy", frames=[-1])
    assert "section force" in figure.get_supylabel().lower() and "Vy" in figure.get_supylabel()
    with pytest.raises(aq.UserError, match="component = 'Vz'"):
        plots.profile(result, "section_force", component="Vz")
    with pytest.raises(aq.UserError, match=r"no part .* `stress` .*section_moment.*Record\(stress=True\)"):
        plots.profile(result, "stress")
    assert plots.animation(result, tmp_path / "beam.gif", field="section_moment", frames=2).stat().st_size > 1000
    bar = aq.Bar(
        "bar", interval(0.0, 2.0, cells=4), STEEL, imposed={"left": {"x": 0.0}, "right": {"x": lambda t: 2e-4 * t}}
    )
    (line,) = plots.profile(statics(bar), "stress", frames=[-1]).axes[0].get_lines()
    np.testing.assert_allclose(line.get_ydata(), E * STRAIN / 1e6, rtol=1e-9)  # MPa
    block = statics(tension("strain")[0])
    with pytest.raises(aq.UserError, match=r"choose component=, one of xx, yy, zz, xy .*--component"):
        plots.animation(block, tmp_path / "a.gif", field="stress")
    assert plots.animation(block, tmp_path / "a.gif", field="stress", component="xx", frames=2).stat().st_size > 1000
    with pytest.raises(aq.UserError, match="no part of the result has a field `stress` along an axis"):
        plots.profile(block, "stress")
    assert "stress" in plots.overview(block)


def test_a_recorded_run_goes_on(tmp_path, goes_on):
    part = aq.Solid("block", rectangle((0.0, 1.0), (0.0, 1.0), cells=(2, 2)), STEEL, plane="strain")
    system = aq.System([part], velocity=lambda x: np.stack([x[:, 0], 0.0 * x[:, 0]], axis=1))

    def simulate(record, progress):
        record = replace(record, stress=True)
        return aq.simulate(system, aq.Theta(0.5), duration=4e-5, step=1e-6, record=record, progress=progress)

    result = goes_on(simulate, [20])
    assert np.isfinite(result["part/block/stress"].values).all()
