"""fuel_rod with a zoom: equilibrium at the start, glue without work, the same forces and motion as without a zoom."""

from dataclasses import replace

import numpy as np
import pytest

import arlequin as aq
from arlequin.cases import fuel_rod
from arlequin.cases.fuel_rod import Parameters
from arlequin.cases.fuel_rod.measures import ALL, PADS, hardest, numbers, rms_along, signal, supports, zoomed
from arlequin.cases.fuel_rod.zoom import Zoom

SMALL = Parameters(
    length=0.8, grids=3, modes=24, cells=6, gap=0.0, zoom=2, refine=0.25, duration=4e-4, excitation="none",
    fields_every=5, wear=1e-14,
)  # fmt: skip


@pytest.fixture(scope="module")
def small():
    return fuel_rod.build(SMALL).run()


@pytest.mark.slow
def test_it_starts_in_equilibrium_under_the_preload_of_a_rod_without_a_zoom(small):
    hand = fuel_rod.preload(replace(SMALL, zoom=0))
    expected = dict(zip(hand.labels, hand.expected, strict=True))
    for grid in (1, 2, 3):
        force = signal(small, grid, "spring +x").force[1:]
        height = f"grid{grid}_springs at {SMALL.heights[grid - 1]:.3f} m"
        assert force[0] == pytest.approx(expected[height], rel=5e-4)  # one correction of the zoomed grid's way
        assert np.ptp(force) < 2e-4 * force[0]
    assert small["energy"].sel(kind="kinetic").values.max() < 1e-9 * small["energy"].sel(kind="strain").values.max()


@pytest.mark.slow
def test_checks_pass_and_figures_are_drawn(small):
    assert not [check.name for check in fuel_rod.check(small, SMALL) if not check.passed]
    assert {"zoom_pressure", "zoom_slip", "zoom_status", "zoom_worn_depth"} <= set(fuel_rod.figures(small, SMALL))


def test_measures_of_a_zoom(small):
    table = supports(small)
    assert numbers(small) == [1, 2, 3] and zoomed(small) == 2
    pads = [float(np.abs(small[f"interface/{name}/impulse"].values[1:]).mean()) / SMALL.step for name in PADS]
    np.testing.assert_allclose(table["mean_force"].sel(grid=2).values, pads)
    assert hardest(table, "mean_force")[1] in ALL[:2]
    height, _ = rms_along(small)
    assert height[0] == 0.0 and height[-1] == pytest.approx(SMALL.length)


def test_the_load_of_the_zone_is_carried():
    """The same turbulence on beams and cladding: the resultant of all loads is that of the whole rod."""
    p = replace(SMALL, excitation="turbulence", amplitude=5.0, seed=2)
    zoom = Zoom(p)
    cladding = zoom.loaded
    lower, upper = (beam for beam, _ in zoom.beams(p).values())
    junctions = [aq.BeamJunction(lower, cladding, name="a"), aq.BeamJunction(upper, cladding, name="b")]
    weights = [junction.weighting() for junction in junctions]
    solid = cladding.part.assemble(weights[0]["cladding"] * weights[1]["cladding"])
    parts = [lower.assemble(weights[0]["lower"]), solid, upper.assemble(weights[1]["upper"])]
    whole = fuel_rod.beam(p).assemble()
    for t in (0.0, 1.3e-4):
        total = sum(own.load(t)[axis::size].sum() for own, size in zip(parts, (6, 3, 6), strict=True) for axis in (0,))
        assert total == pytest.approx(whole.load(t)[0::6].sum(), rel=2e-3)


def test_another_mesh_or_material_is_no_other_load(small):
    zoom = Zoom(SMALL)
    with pytest.raises(aq.UserError, match="reduce it anew"):
        zoom.unloaded.carrying(Zoom(SMALL).cell.tube("cladding"))


def test_bad_input():
    with pytest.raises(aq.UserError, match="zoom = 9"):
        replace(SMALL, zoom=9)
    with pytest.raises(aq.UserError, match="misalignment = 1e-05: must be 0 with zoom=2"):
        replace(SMALL, misalignment=1e-5)


@pytest.mark.slow
def test_forces_and_motion_are_those_without_a_zoom():
    """A preloaded grid, so that impacts do not make paths diverge: impulses and the rms of the motion to 2 %."""
    p = replace(
        SMALL, excitation="turbulence", amplitude=3.0, seed=2, duration=0.04, refine=0.4, fields_every=20, wear=0.0,
        asperity_height=1e-5,
    )  # fmt: skip
    fine, coarse = (fuel_rod.build(each).run() for each in (p, replace(p, zoom=0)))
    for grid in numbers(fine):
        for place in ALL:
            one, other = (signal(result, grid, place).force[1:].mean() for result in (fine, coarse))
            assert one == pytest.approx(other, rel=0.005)
    (z, rms), (height, reference) = rms_along(fine), rms_along(coarse)
    both = np.abs(z[:, None] - height[None]) < 1e-9  # nodes of both
    found, expected = rms[both.any(axis=1)], reference[both.any(axis=0)]
    np.testing.assert_allclose(np.sqrt((found**2).mean()), np.sqrt((expected**2).mean()), rtol=0.02)
    assert np.abs(found - expected).max() < 0.05 * expected.max()  # one node: the tails of resonances differ
