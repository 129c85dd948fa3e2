"""Ranges of colours: planted singular values are off the scale and told, resolved peaks are on it."""

import numpy as np
import pytest

import arlequin as aq
from arlequin import plots
from arlequin.plots.colour_range import Values, colour_range

STEEL = aq.LinearElastic(young=2e11, poisson=0.3, density=7800.0)


def lattice(n: int, m: int) -> tuple[np.ndarray, np.ndarray]:
    """Middles of the cells (c, 2) and their corners (c, 4) of a grid."""
    number = np.arange((n + 1) * (m + 1)).reshape(n + 1, m + 1)
    corners = np.stack([number[:-1, :-1], number[1:, :-1], number[1:, 1:], number[:-1, 1:]], axis=-1).reshape(-1, 4)
    x, y = np.meshgrid((np.arange(n) + 0.5) / n, (np.arange(m) + 0.5) / m, indexing="ij")
    return np.stack([x.ravel(), y.ravel()], axis=1), corners


@pytest.mark.parametrize("on_cells", [True, False])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_planted_values_are_off_the_scale(on_cells, sign):
    _, cells = lattice(30, 20)
    count = len(cells) if on_cells else cells.max() + 1
    values = np.random.default_rng(1).uniform(-1.0, 1.0, count)
    ends = values.min(), values.max()
    values[[count // 2, count // 3]] = sign * 1e3, sign * 2e3
    found = colour_range([Values(values[None], cells, on_cells)])
    bound = found.high if sign > 0 else -found.low
    assert bound <= 1.001 and found.extend == ("max" if sign > 0 else "min")
    assert (found.least, found.most) == (values.min(), values.max())
    assert (found.low if sign > 0 else found.high) == (ends[0] if sign > 0 else ends[1])
    assert ("largest 2000" if sign > 0 else "smallest -2000") in found.label("Stress", "Pa")


def test_a_resolved_peak_is_on_the_scale():
    """A peak of a hundredth of the cells, 50 times the rest: its neighbours support it."""
    places, cells = lattice(60, 60)
    values = 1.0 + 50.0 * np.exp(-((places - 0.5) ** 2).sum(axis=1) / 0.03**2)
    found = colour_range([Values(values[None], cells, True)])
    assert (found.low, found.high, found.extend) == (values.min(), values.max(), "neither")


def test_smooth_fields_uniform_fields_and_lonely_values():
    places, cells = lattice(10, 10)
    for values in (places[:, 0], np.exp(3 * places[:, 1]), np.where(places[:, 0] > 0.5, 1.0, 0.0)):
        found = colour_range([Values(values[None], cells, True)])
        assert (found.low, found.high, found.extend) == (values.min(), values.max(), "neither")
    uniform = colour_range([Values(np.full((1, 100), 5.0), cells, True)])
    assert uniform.low < 5.0 < uniform.high and uniform.extend == "neither"
    lonely = np.zeros(100)
    lonely[3] = 2.0
    assert colour_range([Values(lonely[None], cells, True)]).ends == (0.0, 2.0)
    missing = np.full((1, 100), np.nan)
    assert colour_range([Values(missing, cells, True)]).extend == "neither"


def test_given_limits_and_all_values():
    _, cells = lattice(10, 10)
    values = np.linspace(0.0, 1.0, 100)
    values[0] = 1e6
    field = [Values(values[None], cells, True)]
    assert colour_range(field, "all").ends == (values.min(), 1e6)
    factor, unit, given = colour_range(field, (0.2, 0.5)).shown_in("Pa")
    assert (factor, unit) == (1e3, "mPa")
    assert given.ends == (200.0, 500.0) and given.extend == "both" and given.most == 1e9
    with pytest.raises(aq.UserError, match="limits = 'none': must be a lower and an upper number"):
        colour_range(field, "none")


@pytest.mark.parametrize("axes", [2, 3])
def test_shape_marks_singular_cells_by_an_arrow(axes):
    sizes, cells = [(0.0, 0.1), (0.0, 0.05), (0.0, 0.05)][:axes], [(20, 10), (8, 6, 6)][axes - 2]
    mesh = (aq.mesh.rectangle if axes == 2 else aq.mesh.box)(*sizes, cells)
    options = {"plane": "strain"} if axes == 2 else {}
    block = aq.Solid("block", mesh, STEEL, **options)
    result = aq.simulate(
        aq.System([block], velocity=(1.0,) + (0.0,) * (axes - 1)),
        aq.Theta(0.5), duration=1e-7, step=1e-7, record=aq.Record(stress=True),
    )  # fmt: skip
    stress = np.random.default_rng(2).uniform(1e6, 2e6, result["part/block"]["mises_stress"].shape)
    stress[:, 0] = 1e12  # a cell in the corner
    result["part/block"]["mises_stress"].values[:] = stress
    figure = plots.shape(result, "mises_stress")
    panel, bar = figure.axes
    image = next(artist for artist in panel.collections if artist.get_array() is not None)
    low, high = image.get_clim()
    assert 1.0 <= low < high <= 2.0
    assert bar.get_xlabel().endswith("(MPa), largest 1e+06")
    bar = plots.shape(result, "mises_stress", limits="all").axes[1]
    assert bar.get_xlabel().endswith("(TPa)") and bar.get_xlim()[1] == pytest.approx(1.0)
