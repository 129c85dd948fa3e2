"""The case grid_cell, the cell behind it, and its reference by hand."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad

import arlequin as aq
from arlequin.cases import grid_cell as case
from arlequin.cases.reference.line_layer import LineLayer
from arlequin.cases.reference.shell_tube import ShellTube
from arlequin.cases.shared.spacer_cell import pad_mesh, refined_line
from arlequin.models.errors import UserError

COARSE = {"refine": 0.4, "length": 0.034, "steps": 4}


@pytest.fixture(scope="module")
def coarse():
    p = case.Parameters(**COARSE)
    return case.build(p).run(), p


def failed(result, p):
    return [check for check in case.check(result, p) if not check.passed]


@pytest.mark.slow
def test_the_case_is_within_its_tolerances(coarse):
    assert not failed(*coarse)


@pytest.mark.slow
def test_figures_are_drawn(coarse):
    figures = case.figures(*coarse)
    assert set(figures) == {"forces", "pressure", "pressure_pushed", "status", "slip"}
    shown = [axes.get_title() for axes in figures["pressure"].axes if axes.get_visible()]
    assert sorted(title.split("\n")[0] for title in shown if title)[-2:] == ["spring x", "spring y"]


def test_dimples_slip_first_and_springs_hold_on(coarse):
    result, p = coarse
    found = case.SupportForces.of(result, p)
    share = found.axial / (p.friction * found.normal + 1e-300)
    full = share > 0.999
    dimples, springs = (np.argmax(full[:, places].all(axis=1)) for places in ([2, 3, 4, 5], [0, 1]))
    assert found.inserted < dimples < springs


@pytest.mark.slow
def test_stiff_bodies_have_the_pressures_of_the_rigid_line_contact():
    """p = κ⟨δ − y²/2R⟩, the tube, the pads and their backs ten thousand times as stiff; F/L = κ (4/3) δ √(2Rδ) but for
    what the sum over the nodes misses, up to (h/b)²/4."""
    p = case.Parameters(**{**COARSE, "refine": 0.6, "steps": 1}, young=9.9e14, pad_young=9.9e14, push=1e-9)
    result = case.build(p).run()
    patch, kappa = case.ContactPatch.of(result, p, "spring_x", 1), p.asperity_stiffness
    layer = LineLayer(0.5 * p.outer_diameter, kappa)
    shape = np.maximum(patch.pressure.max() - kappa * patch.y**2 / (2 * layer.radius), 0.0)
    np.testing.assert_allclose(patch.pressure, shape, atol=2e-3 * patch.pressure.max())
    force = case.SupportForces.of(result, p).normal[1, 0]
    crush = float(layer.crush(force / 3e-3))
    missed = 0.25 * (np.diff(np.unique(np.round(patch.y, 9))).max() / layer.half_width(force / 3e-3)) ** 2
    assert patch.pressure.max() == pytest.approx(kappa * crush, rel=float(missed))
    assert force == pytest.approx(p.preload, rel=2e-3)


@pytest.mark.slow
def test_a_gap_is_closed_before_the_pads_press(coarse):
    p = case.Parameters(**{**COARSE, "steps": 2}, gap=2e-5, push=1e-9)
    result = case.build(p).run()
    found, ref = case.SupportForces.of(result, p), case.SupportForces.of(*coarse)
    assert not found.normal[1].any()  # half way it is closed
    np.testing.assert_allclose(found.normal[2], ref.normal[ref.inserted], rtol=5e-3)


@pytest.mark.slow
def test_a_tube_in_modes_takes_the_place_of_the_solid(coarse):
    """Static shapes of the patches: forces within 1 % of the full tube's."""
    p = case.Parameters(**COARSE)
    own = case.cell(p)
    tube = own.tube(imposed={"bottom": {"z": 0.0}, "top": {"z": 0.0}})
    patches = [tube.boundary(each.name) for each in own.pad_supports]
    modal = aq.Modal(tube, 6, static=[*patches, tube.boundary("bottom"), tube.boundary("top")])
    held = own.tube_supports(modal, share=lambda t: t)
    ends = [aq.Spring(end, modal.boundary(end), stiffness=(1e4, 1e4, 0.0)) for end in ("bottom", "top")]
    system = aq.System([modal, *held.parts], interfaces=held.interfaces, springs=[*held.springs, *ends])
    result = aq.simulate(system, aq.Static(), duration=1.0, step=0.25)
    full = case.SupportForces.of(*coarse)
    force = [-result[f"interface/{n}"].dataset["force"].values[-1, 0] for n in ("spring_x", "dimple_x_low")]
    np.testing.assert_allclose(np.abs(force), full.normal[full.inserted][[0, 2]], rtol=0.01)


@pytest.mark.slow
def test_a_tube_in_modes_knocks_on_a_cell_with_clearance():
    """Dynamics, the grid at rest: it flies free over gap and start distance, then touches +x; energies add up."""
    p = case.Parameters(**COARSE, gap=2e-5)
    plain, dense = case.cell(p), aq.LinearElastic(young=9.9e10, poisson=0.37, density=2.5e4)
    own = replace(plain, supports=replace(plain.supports, preload=0.0, material=dense, spring_damping=1.0))
    tube = own.tube(material=dense, imposed={"bottom": {"z": 0.0}, "top": {"z": 0.0}})
    modal = aq.Modal(tube, 8, static=[tube.boundary(each.name) for each in own.pad_supports])
    held = own.tube_supports(modal, level="velocity")
    system = aq.System([modal, *held.parts], interfaces=held.interfaces, springs=held.springs,
                       velocity={"tube": (0.05, 0.0, 0.0)})  # fmt: skip
    result = aq.simulate(system, aq.Theta(0.5), duration=2e-3, step=1e-5, fields_every=20)
    assert np.abs(result["balance"]).max() < 1e-11
    force = {
        each.name: np.abs(result[f"interface/{each.name}"].dataset["force"].values[:, 0]) for each in own.pad_supports
    }
    met = result.dataset["time"].values[np.argmax(force["spring_x"] > 0.0)]
    assert met == pytest.approx((p.gap + own.clear) / 0.05, abs=2e-5)
    assert not force["dimple_x_low"][: np.argmax(force["spring_x"] > 0.0) + 2].any()


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [{}, {"refine": 0.5, "order": 2}, {"refine": 0.7, "asperity_exponent": 1.5, "asperity_stiffness": 2.5e15}],
)
def test_other_choices_are_within_the_tolerances(options):
    p = case.Parameters(**options)
    assert not failed(case.build(p).run(), p)


@pytest.mark.slow
def test_hollow_pads_spread_the_pressure():
    """A radius of 6 mm around one of 4.75 mm: R of 22.8 mm, δ ∝ R^(-1/3): 0.59 times the pressure of flat pads."""
    p = case.Parameters(refine=0.6, pad_radius=6e-3)
    result = case.build(p).run()
    assert not failed(result, p)
    flat = case.reference(case.Parameters()).stuck
    peak = case.ContactPatch.of(result, p, "spring_x", p.steps).pressure.max()
    assert peak == pytest.approx((22.8 / 4.75) ** (-1 / 3) * flat.layer.peak(flat.crush[0].max()), rel=0.05)


@pytest.mark.slow
def test_wear_takes_what_archard_says():
    p = case.Parameters(refine=0.6, wear=1e-15)
    result = case.build(p).run()
    for name in ("spring_x", "dimple_y_low"):
        group = result[f"interface/{name}"].dataset
        work = (group["wear_work"].values[-1] * group["area"].values).sum()
        assert group["worn_volume"].values[-1] == pytest.approx(p.wear * work, rel=1e-9)
        assert group["worn_depth"].values.max() > 0.0
    assert "worn_depth" in case.figures(result, p)


@pytest.mark.parametrize("exponent", [1.0, 1.7, 2.0])
def test_the_line_contact_is_the_integral_of_its_pressures(exponent):
    layer, crush = LineLayer(5e-3, 3e11, exponent), 4e-6
    b = float(layer.half_width(layer.load(crush)))
    total = quad(lambda x: float(layer.peak(crush - x**2 / (2 * layer.radius))), -b, b, epsabs=0.0)[0]
    assert layer.load(crush) == pytest.approx(total, rel=1e-6)
    assert layer.crush(layer.load(crush)) == pytest.approx(crush, rel=1e-12)
    slope = (layer.load(1.001 * crush) - layer.load(0.999 * crush)) / (0.002 * crush)
    assert layer.tangent(crush) == pytest.approx(slope, rel=1e-5)


def test_the_shell_pinched_along_its_length_is_a_ring():
    """Two opposite line forces q shorten the diameter by q R³ (π/4 − 2/π)/D, D of plane strain."""
    radius, wall, length, young, poisson = 0.1, 1e-3, 0.05, 2e11, 0.3
    shell = ShellTube(radius, wall, length, young, poisson, 1.0, (4, 2000))
    found = shell.compliance(np.full(2, 0.5 * length), np.array([0.0, np.pi]), (length, 1e-9))
    bending = young * wall**3 / (12 * (1 - poisson**2))
    assert found.sum() == pytest.approx(2 * 0.5 * radius**3 * (np.pi / 4 - 2 / np.pi) / bending / length, rel=1e-3)


def test_the_shell_bends_as_a_beam():
    """Forces cos θ around the middle, half against them around each end: each half is guided at both ends."""
    radius, wall, length, young, poisson = 0.01, 1e-4, 2.0, 2e11, 0.0
    shell = ShellTube(radius, wall, length, young, poisson, 1.0, (400, 8))
    angles = np.linspace(0.0, 2 * np.pi, 16, endpoint=False)
    heights, around = np.repeat([0.5 * length, 0.0, length], 16), np.tile(angles, 3)
    found = shell.compliance(heights, around, (1e-3, 1e-3))
    force = np.cos(around) * np.repeat([1.0, -0.5, -0.5], 16)  # inward on the side +x: 8 N towards −x in the middle
    moved = found @ force
    deflection = moved[0] - moved[16]
    half, inertia = 0.5 * length, np.pi * radius**3 * wall
    shear = 0.5 * 8.0 * half / (young / 2 * np.pi * radius * wall)  # thin tubes: half their section
    assert deflection == pytest.approx(0.5 * 8.0 * half**3 / (12 * young * inertia) + shear, rel=2e-3)


def test_meshes_are_fine_where_they_should_be():
    points = refined_line((0.0, 10.0), [(2.0, 3.0), (7.0, 8.0)], 0.1, 1.0)
    sizes = np.diff(points)
    assert sizes.max() <= 1.0 + 1e-12 and (sizes > 0.0).all()
    assert (np.abs(np.maximum(sizes[1:], sizes[:-1]) / np.minimum(sizes[1:], sizes[:-1])) < 1.7).all()
    middle = 0.5 * (points[1:] + points[:-1])
    assert sizes[(middle > 2.0) & (middle < 3.0)].max() <= 0.1 + 1e-12
    for place in (2.0, 2.5, 3.0, 7.0, 7.5, 8.0):
        assert np.abs(points - place).min() < 1e-12
    pad = pad_mesh((2.5e-3, 3e-3, 8e-4), (4, 2), np.linspace(-1.25e-3, 1.25e-3, 9), 6e-3, 1)
    solid = aq.Solid("pad", pad, aq.LinearElastic(1.0))
    front = solid.boundary("front")
    np.testing.assert_allclose(np.hypot(front.positions[:, 0] + 6e-3, front.positions[:, 1]), 6e-3, rtol=1e-12)
    assert solid.boundary("back").areas.sum() == pytest.approx(2.5e-3 * 3e-3, rel=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pad_radius": 4e-3}, "hollow = 0.004: must be more than the tube's radius"),
        ({"length": 0.02}, "ends = .*: must lie beyond the pads"),
        ({"thickness": 5e-3}, "thickness = 0.005: must lie in"),
    ],
)
def test_bad_input(options, message):
    with pytest.raises(UserError, match=message) as caught:
        case.build(case.Parameters(**options))
    assert "\n" not in str(caught.value)
