"""fuel_rod zoom=auto: both levels are the same rod as long as the loose grid is open; knocks are those of the permanent
zoom."""

from dataclasses import replace

import numpy as np
import pytest

import arlequin as aq
from arlequin.cases import fuel_rod
from arlequin.cases.fuel_rod import Parameters
from arlequin.cases.fuel_rod.levels import PieceOfRod, RodLevels
from arlequin.cases.fuel_rod.measures import ALL, deviations, numbers, signal, zoomed
from arlequin.cases.fuel_rod.model import beam
from arlequin.cases.fuel_rod.plots import levels_figure
from arlequin.cases.fuel_rod.zoom import GLUED

SMALL = Parameters(
    length=0.8, grids=3, cells=4, gap=3e-4, loose=2, zoom="auto", refine=0.25, amplitude=2.0, duration=0.01,
    fields_every=50,
)  # fmt: skip


@pytest.fixture(scope="module")
def levels():
    return RodLevels(SMALL)


@pytest.mark.slow
def test_the_piece_of_a_rod_is_near_that_of_a_tube(levels):
    """A tube of three cells through the wall, in thirty around: its stiffness is that of beam theory to some percent,
    shear to some ten; a uniform beam's piece has an inner beam of the same stiffness."""
    rod = beam(replace(SMALL, excitation="none"))
    stretch, shear, _, torsion, _, bending = rod.rigidities
    length = levels.piece.length
    assert levels.piece.rotation == pytest.approx(length / bending, rel=0.02)
    assert levels.piece.twist == pytest.approx(length / torsion, rel=0.02)
    offset = length**3 / (12.0 * bending) + length / shear
    uniform = PieceOfRod(length, length / stretch, length / torsion, length / bending, offset)
    np.testing.assert_allclose(uniform.inner(rod, GLUED), (stretch, torsion, bending, shear), rtol=1e-12)


@pytest.mark.slow
def test_both_levels_have_the_same_frequencies(levels):
    """Floating rod without supports, bending up to 500 Hz."""
    found = []
    for level in (0, 1):
        system = levels.configuration(level)
        parts = [part for part in system.parts if part.name in ("lower", "upper", "middle", "cladding")]
        springs = [spring for spring in system.springs if spring.name == "middle"]
        free = replace(system, parts=parts, interfaces=[], springs=springs, displacement=None)
        found.append(aq.natural_frequencies(free, 16).frequencies[4:])
    np.testing.assert_allclose(*found, rtol=3e-4)


def test_both_levels_move_alike_while_the_grid_is_open(levels):
    coarse, fine = (
        aq.Study(levels.configuration(level), aq.Theta(0.5), SMALL.duration, SMALL.step, SMALL.fields_every).run()
        for level in (0, 1)
    )
    for name in ("lower", "upper"):
        one, other = (result[f"part/{name}"]["displacement"].values for result in (coarse, fine))
        assert np.abs(one - other).max() < 1e-3 * np.ptp(other)
    for name in ("grid1_springs", "grid3_dimples"):
        one, other = (result[f"interface/{name}"]["point_force"].values[1:] for result in (coarse, fine))
        assert np.abs(one - other).max() < 1e-3 * other.max()


def test_bad_input():
    with pytest.raises(aq.UserError, match="zoom = 'auto': needs one loose grid, not 3"):
        replace(SMALL, loose=0)
    with pytest.raises(aq.UserError, match="zoom = 'auto': needs one loose grid, not 0"):
        replace(SMALL, gap=0.0)
    with pytest.raises(aq.UserError, match="substeps = 2: must be 1 with zoom=auto"):
        replace(SMALL, substeps=2)


KNOCK = replace(SMALL, modes=10, gap=5e-5, amplitude=5.0, duration=0.016, fields_every=10)  # from 10.4 to 13.0 ms


@pytest.fixture(scope="module")
def knock():
    own = RodLevels(KNOCK)
    return own.study().run(), own.zoom.study().run()


@pytest.mark.slow
def test_a_knock_is_that_of_the_permanent_zoom(knock):
    """Forces, work rates and motion to 0.2 %; a solid from before the first contact until after the last one."""
    result, permanent = knock
    apart = deviations(result, permanent)
    assert max(float(apart[key].max()) for key in ("mean_force", "peak_force", "work_rate", "motion")) < 2e-3
    level = result["levels/grid2"]["level"].values
    touches = np.flatnonzero(sum(signal(permanent, 2, place).force for place in ALL))
    first, last = np.flatnonzero(level)[[0, -1]]
    assert np.abs(np.diff(level)).sum() == 2 and 0 < first < touches[0] and touches[-1] < last < level.size - 1
    assert level.mean() < 0.25


@pytest.mark.slow
def test_checks_pass_and_figures_are_drawn(knock):
    """Checks but those of frequencies, which are of the mesh alone, of four cells between two grids."""
    result, permanent = knock
    checks = [check for check in fuel_rod.check(result, KNOCK) if not check.name.startswith("frequency")]
    assert len(checks) > 3 and not [check.name for check in checks if not check.passed]
    assert "levels" in fuel_rod.figures(result, KNOCK) and levels_figure(result, permanent)
    assert numbers(result) == [1, 2, 3] and zoomed(result) == 2


@pytest.mark.slow
def test_the_rod_of_eight_grids_over_200_ms():
    """Gap of 0.12 mm and 0.5 N/m, so that the grid knocks six times: forces and work rates of every grid and the motion
    to 1 % of the permanent zoom."""
    p = Parameters(zoom="auto", gap=1.2e-4, amplitude=0.5, cells=8, duration=0.2)
    result, permanent = (fuel_rod.build(replace(p, zoom=zoom)).run() for zoom in ("auto", 4))
    apart = deviations(result, permanent)
    assert max(float(apart[key].max()) for key in ("mean_force", "peak_force", "work_rate", "motion")) < 0.01
    assert float(result["levels/grid4"]["level"].mean()) < 0.2
