"""Figures of sweeps show what the dataset holds, where it is, and mark what it does not hold."""

import io
import itertools

import numpy as np
import pytest
import xarray
from matplotlib.colors import LogNorm, to_hex

from arlequin import plots
from arlequin.models.errors import UserError
from arlequin.plots import style, sweep_marks

UNITS = {"velocity": ("m/s", "velocity towards the wall"), "cells": ("1", "cells along the bar")}
LAWS = {"soft": 1.0, "hard": 3.0}


def force(velocity=10.0, cells=10, law="soft", damped=False):
    return 1e6 * velocity * LAWS[law] * (1 - 1 / cells) * (0.5 if damped else 1.0)


def make(over, failed=(), missing=()) -> xarray.Dataset:
    """A sweep made by hand from `force`; failed, missing: points by their number."""
    scattered = not isinstance(over, dict)
    points = over if scattered else [dict(zip(over, p, strict=True)) for p in itertools.product(*over.values())]
    dims = ("point",) if scattered else tuple(over)
    shape = (len(over),) if scattered else tuple(len(values) for values in over.values())
    columns = {name: [p[name] for p in over] for name in over[0]} if scattered else over
    coords = {}
    for name, values in columns.items():
        unit, text = UNITS.get(name, ("", ""))
        coords[name] = ("point" if scattered else name, np.array(values), {"units": unit, "long_name": text})
    messages = ["broke" if n in failed else "not computed" if n in missing else "" for n in range(len(points))]
    values = [np.nan if m else force(**p) for p, m in zip(points, messages, strict=True)]

    def scalar(x, unit, text):
        return dims, np.reshape(x, shape), {"units": unit, "long_name": text}

    variables = {
        "peak_force": scalar(values, "N", "largest contact force"),
        "error": scalar(np.multiply(values, 1e-9) ** 2, "1", "error"),
        "always": scalar([1.0] * len(points), "1", "the same"),
        "message": (dims, np.reshape(messages, shape)),
        "finished": (dims, np.reshape([n not in missing for n in range(len(points))], shape)),
        "seconds": scalar([1.0] * len(points), "s", "wall time"),
    }
    return xarray.Dataset(variables, coords, {"kind": "sweep", "case": "hand"})


def marked(figure, state) -> list[tuple[float, float]]:
    """Where a sign of that state stands."""
    lines = [line for axes in figure.axes for line in axes.lines if line.get_gid() == state]
    return [point for line in lines for point in zip(*line.get_data(), strict=True)]


def labels(figure) -> list[str]:
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def is_png(figure) -> bool:
    stream = io.BytesIO()
    figure.savefig(stream, dpi=50)
    return stream.getvalue()[:4] == b"\x89PNG"


def test_lines_hold_the_values_in_order():
    figure = plots.sweep_lines(make({"velocity": [50.0, 10.0, 20.0, 30.0]}), "peak_force")
    (axes,) = figure.axes
    x, y = axes.lines[0].get_data()
    np.testing.assert_allclose(x, [10, 20, 30, 50])
    np.testing.assert_allclose(y, [9, 18, 27, 45])
    assert axes.get_ylabel() == "Largest contact force (MN)" and axes.get_xlabel() == "Velocity towards the wall (m/s)"
    assert axes.get_xscale() == "linear" and not figure.legends and is_png(figure)


def test_points_that_failed_are_marked_and_not_drawn():
    data = make({"velocity": [1.0, 10.0, 100.0, 1000.0], "law": ["soft", "hard"]}, failed=[2, 3], missing=[7])
    figure = plots.sweep_lines(data, "peak_force")
    above, below = figure.axes
    soft, hard = above.lines
    np.testing.assert_allclose(soft.get_ydata(), [0.9e6, np.nan, 90e6, 900e6])
    np.testing.assert_allclose(hard.get_ydata(), [2.7e6, np.nan, 270e6, np.nan])
    assert labels(figure) == ["law = soft", "law = hard", "failed", "not computed"]
    assert [x for x, _ in marked(figure, "failed")] == [10, 10] and [x for x, _ in marked(figure, "not computed")] == [
        1000
    ]
    assert {to_hex(line.get_color()) for line in below.lines} == {colour.lower() for colour in style.COLOURS[:2]}
    # over three decades: logarithms, in the unit without a prefix
    assert above.get_xscale() == below.get_xscale() == above.get_yscale() == "log"
    assert [tick.get_text() for tick in below.get_xticklabels()] == ["1", "10", "100", "1000"]
    assert is_png(figure)


def test_a_computed_point_without_a_number_is_told_from_one_that_failed():
    data = make({"velocity": [1.0, 2.0, 3.0]}, failed=[2])
    data["peak_force"][0] = np.nan
    figure = plots.sweep_lines(data, "peak_force")
    assert [x for x, _ in marked(figure, "no value")] == [1] and [x for x, _ in marked(figure, "failed")] == [3]


def test_many_lines_have_a_colour_bar():
    data = make({"velocity": [10.0, 20.0], "cells": list(range(2, 14))})
    figure = plots.sweep_lines(data, "peak_force", x="velocity")
    axes, bar = figure.axes
    assert len(axes.lines) == 12 and not figure.legends and bar.get_ylabel() == "Cells along the bar"
    colours = [line.get_color() for line in axes.lines]
    assert len(set(colours)) == 12
    np.testing.assert_allclose(axes.lines[3].get_ydata(), [force(v, 5) / 1e6 for v in (10, 20)])


def test_series_over_their_own_places():
    data = make({"velocity": [10.0, 20.0, 30.0]}, failed=[1])
    values = np.array([[0, 1, 2], [np.nan] * 3, [0, 5, np.nan]]) * 1e3
    times = np.array([[0, 1, 2], [np.nan] * 3, [0, 4, np.nan]]) * 1e-3
    data["force"] = ("velocity", "time", "component"), values[..., None], {"units": "N", "long_name": "force"}
    data = data.assign_coords(force_time=(("velocity", "time"), times, {"units": "s", "long_name": "time"}))
    figure = plots.sweep_lines(data, "force")
    (axes,) = figure.axes
    np.testing.assert_allclose(axes.lines[2].get_xydata()[:2], [[0, 0], [4, 5]])
    assert axes.get_xlabel() == "Time (ms)" and axes.get_ylabel() == "Force (kN)"
    assert labels(figure) == ["velocity = 10 m/s", "velocity = 20 m/s (failed)", "velocity = 30 m/s"]
    assert set(plots.sweep_figures(data)) == {"peak_force", "error", "force"}


@pytest.mark.parametrize(("values", "scale"), [([0.5, 1.0, 2.0, 4.0], "linear"), ([0.05, 0.5, 5.0], "log")])
def test_lines_have_a_logarithmic_axis_over_two_decades(values, scale):
    axes = plots.sweep_lines(make({"velocity": values}), "peak_force").axes[0]
    assert axes.get_xscale() == scale


def test_map_cells_hold_the_values_between_borders_half_way():
    data = make({"cells": [10, 20, 40, 80], "velocity": [30.0, 10.0, 20.0, 50.0, 60.0]}, failed=[1], missing=[19])
    figure = plots.sweep_map(data, "peak_force")
    axes, bar = figure.axes
    (mesh,) = axes.collections
    colours = mesh.get_array().reshape(4, 5)
    assert colours[2, 0] == pytest.approx(force(10, 40) / 1e6) and colours[3, 2] == pytest.approx(force(30, 80) / 1e6)
    assert colours.mask[0, 0] and colours.mask[3, 4] and colours.mask.sum() == 2
    corners = mesh.get_coordinates()
    np.testing.assert_allclose(corners[0, :, 0], [5, 15, 25, 40, 55, 65])
    np.testing.assert_allclose(corners[:, 0, 1], 10 * 2.0 ** np.arange(-0.5, 4))
    assert marked(figure, "failed") == [(10.0, 10.0)] and marked(figure, "not computed") == [(60.0, 80.0)]
    assert (axes.get_xlabel(), axes.get_yscale()) == ("Velocity towards the wall (m/s)", "log")
    assert bar.get_ylabel() == "Largest contact force (MN)" and is_png(figure)


def test_map_of_texts_and_choices():
    figure = plots.sweep_map(make({"law": ["soft", "hard"], "damped": [True, False]}), "peak_force", "law", "damped")
    axes = figure.axes[0]
    np.testing.assert_allclose(axes.collections[0].get_array().reshape(2, 2), [[4.5, 13.5], [9.0, 27.0]])
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["soft", "hard"]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["true", "false"]
    assert is_png(figure)


def test_a_map_over_decades_is_logarithmic_and_says_what_was_chosen():
    data = make({"velocity": [1.0, 10.0, 100.0], "cells": [2, 3], "law": ["soft", "hard"]}).sel(law="hard")
    figure = plots.sweep_map(data, "error")
    assert isinstance(figure.axes[0].collections[0].norm, LogNorm)
    assert figure.axes[0].get_title("left") == "law = hard"


def test_a_map_without_any_value():
    figure = plots.sweep_map(make({"velocity": [1.0, 2.0], "cells": [2, 3]}, missing=range(4)), "peak_force")
    assert len(marked(figure, "not computed")) == 4 and is_png(figure)


def test_scatter_of_two_results():
    data = make({"velocity": [10.0, 20.0], "law": ["soft", "hard"]}, failed=[3])
    figure = plots.sweep_scatter(data, "peak_force", "error", colour="velocity")
    axes = figure.axes[0]
    offsets = axes.collections[0].get_offsets()
    np.testing.assert_allclose(offsets[:, 0], [9, 27, 18])
    np.testing.assert_allclose(offsets[:, 1], [81, 729, 324])
    assert axes.get_ylabel() == "Error (10⁻⁶)"
    np.testing.assert_allclose(axes.collections[0].get_array(), [10, 10, 20])
    assert "1 of 4 points without values" in axes.get_title("left") and is_png(figure)


def test_scattered_points():
    over = [{"velocity": v, "cells": c} for v, c in [(10.0, 5), (40.0, 9), (20.0, 7)]]
    figure = plots.sweep_scatter(make(over, failed=[1]), "velocity", "cells", colour="peak_force")
    axes = figure.axes[0]
    np.testing.assert_allclose(axes.collections[0].get_offsets(), [(10, 5), (20, 7)])
    np.testing.assert_allclose(axes.collections[0].get_array(), [force(10, 5) / 1e6, force(20, 7) / 1e6])
    assert marked(figure, "failed") == [(40.0, 9.0)] and is_png(figure)
    text = plots.sweep_scatter(make(over, failed=[1]), "velocity", "peak_force")
    assert [x for x, _ in marked(text, "failed")] == [40.0]
    one = plots.sweep_lines(make([{"velocity": v} for v in (3.0, 1.0, 2.0)]), "peak_force").axes[0].lines[0]
    np.testing.assert_allclose(one.get_xydata(), [(1, 0.9), (2, 1.8), (3, 2.7)])


def test_effects_have_a_panel_for_each_parameter():
    data = make({"velocity": [10.0, 20.0], "cells": [5, 10, 20], "law": ["soft", "hard"]}, failed=[0])
    figure = plots.sweep_effects(data, "peak_force")
    drawn = [axes for axes in figure.axes if axes.get_visible()]
    assert [axes.get_xlabel() for axes in drawn] == ["Velocity towards the wall (m/s)", "Cells along the bar", "Law"]
    assert len(drawn[0].lines[0].get_xdata()) == 11
    medians = [np.median([force(v, c, law) for c in (5, 10, 20) for law in LAWS]) / 1e6 for v in (20,)]
    assert drawn[0].lines[1].get_ydata()[1] == pytest.approx(medians[0])
    assert labels(figure) == ["point", "median", "failed"] and len(marked(figure, "failed")) == 3 and is_png(figure)


@pytest.mark.parametrize(
    ("over", "kind"),
    [
        ({"velocity": [1.0, 2.0]}, "lines"),
        ({"velocity": [1.0, 2.0], "law": ["soft", "hard"]}, "lines"),
        ({"velocity": [1.0 * n for n in range(1, 8)], "cells": [2 * n for n in range(1, 8)]}, "map"),
        ({"damped": [True, False], "law": ["soft", "hard"]}, "map"),
        ({"velocity": [1.0, 2.0], "law": ["soft", "hard"], "damped": [True, False]}, "effects"),
        ([{"velocity": 1.0, "cells": 5}, {"velocity": 2.0, "cells": 7}], "scatter"),
    ],
)
def test_the_figures_of_a_sweep(over, kind, monkeypatch):
    found = plots.sweep_figures(make(over))
    assert list(found) == ["peak_force", "error"]
    axes = found["peak_force"].axes
    kinds = {
        "lines": len(axes) == 1 and axes[0].lines and not axes[0].collections,
        "map": axes[0].collections and type(axes[0].collections[0]).__name__ == "QuadMesh",
        "scatter": axes[0].collections and type(axes[0].collections[0]).__name__ == "PathCollection",
        "effects": len(axes) == 4,
    }
    assert kinds[kind]


def test_energies_come_last():
    data = make({"velocity": [1.0, 2.0]}).rename(peak_force="energy_kinetic")
    assert list(plots.sweep_figures(data)) == ["error", "energy_kinetic"]


def test_none_among_numbers_has_a_place():
    data = make({"velocity": [1.0, np.nan, 3.0]})
    axes = plots.sweep_lines(data, "peak_force").axes[-1]
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["1", "none", "3"]


@pytest.mark.sampled(7)
@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda d: plots.sweep_lines(d, "peak"), "peak: not in the sweep; there are velocity, cells, law, peak_force"),
        (lambda d: plots.sweep_lines(d, "peak_force", x="velocity", hue="cells"), "law: choose one value"),
        (lambda d: plots.sweep_lines(d, "peak_force", x="mass"), "mass: not a dimension of peak_force"),
        (lambda d: plots.sweep_lines(d, "peak_force", x="law", hue="law"), "choose"),
        (lambda d: plots.sweep_map(d, "peak_force"), "over velocity, cells, law: a map is over two"),
        (lambda d: plots.sweep_map(d.isel(law=0), "peak_force", "cells", "cells"), "another parameter than x"),
        (lambda d: plots.sweep_scatter(d, "velocity", "peak"), "peak: not in the sweep"),
        (lambda d: plots.sweep_effects(d, "peak"), "peak: not in the sweep"),
        (lambda d: plots.sweep_lines(d.drop_vars("message"), "peak_force"), "no `message`"),
        (lambda d: plots.sweep_figures(d[["always", "message"]]), "nothing that is drawn"),
    ],
)
def test_bad_input_is_one_line(call, says):
    data = make({"velocity": [1.0, 2.0], "cells": [2, 3], "law": ["soft", "hard"]})
    with pytest.raises(UserError, match=says):
        call(data)


def test_each_state_has_its_sign():
    signs = [(sign["marker"], sign["color"]) for sign in sweep_marks.SIGNS.values()]
    assert len(set(signs)) == len(signs) == 3


def noisy(failed=(), missing=(), velocities=(30.0, 10.0, 20.0), seeds=5, **more) -> xarray.Dataset:
    """A sweep over velocities and seeds with noise."""
    data = make({"velocity": list(velocities), **more, "seed": list(range(seeds))}, failed, missing)
    noise = np.random.default_rng(3).normal(size=data["peak_force"].shape)
    data["peak_force"] = data["peak_force"] * (1.0 + 0.1 * noise)
    return data


@pytest.mark.parametrize("band", ["deviation", "confidence", "range"])
def test_seeds_are_a_mean_with_a_band(band, seeded):
    """NumPy's mean, standard deviation, least and largest; Student's quantile for four degrees of freedom, 2.776."""
    data = noisy()
    values = data["peak_force"].sortby("velocity").values / 1e6
    figure = plots.sweep_lines(data, "peak_force", band=band)
    (axes,) = figure.axes
    (line,) = axes.lines
    np.testing.assert_allclose(line.get_data(), [[10.0, 20.0, 30.0], values.mean(axis=1)])
    deviation = values.std(axis=1, ddof=1)
    half = deviation if band == "deviation" else 2.7764451 * deviation / np.sqrt(5)
    low, high = values.mean(axis=1) - half, values.mean(axis=1) + half
    if band == "range":
        low, high = values.min(axis=1), values.max(axis=1)
    corners = axes.collections[0].get_paths()[0].vertices
    for n, x in enumerate((10.0, 20.0, 30.0)):
        ends = np.unique(corners[np.isclose(corners[:, 0], x), 1])
        np.testing.assert_allclose([ends.min(), ends.max()], [low[n], high[n]], rtol=1e-6)
    texts = {
        "deviation": "standard deviation",
        "confidence": "95 % confidence interval of the mean",
        "range": "smallest",
    }
    assert labels(figure)[0] == "mean of 5 runs (seed)" and texts[band] in labels(figure)[1] and is_png(figure)


@pytest.fixture
def seeded(monkeypatch):
    monkeypatch.setattr(
        f"{__name__}.force", lambda velocity, seed, law="soft", cells=10: 1e6 * velocity * LAWS[law] * cells
    )


def test_replicates_that_failed_are_left_out_of_the_mean(seeded):
    data = noisy(failed=[0, 1, 5, 6, 7, 8, 9], missing=[2])
    values = data["peak_force"].sortby("velocity").values / 1e6
    figure = plots.sweep_lines(data, "peak_force")
    np.testing.assert_allclose(figure.axes[0].lines[0].get_ydata(), [np.nan, *np.nanmean(values[1:], axis=1)])
    assert [x for x, _ in marked(figure, "failed")] == [10.0] and not marked(figure, "not computed")
    assert labels(figure) == ["failed", "mean of 2 to 5 runs (seed)", "band: ± standard deviation"]


def test_seeds_are_drawn_one_by_one_where_asked(seeded):
    data = noisy()
    assert len(plots.sweep_lines(data, "peak_force", hue="seed").axes[0].lines) == 5
    assert len(plots.sweep_lines(data, "peak_force", x="seed").axes[0].lines) == 3
    only = data.isel(velocity=0)
    only["message"], only["finished"] = data["message"].isel(velocity=0), data["finished"].isel(velocity=0)
    assert plots.sweep_lines(only, "peak_force").axes[0].get_xlabel() == "Seed"
    over = plots.sweep_lines(data, "peak_force", over="velocity")
    assert labels(over)[0] == "mean of 3 runs (velocity)" and over.axes[0].get_xlabel() == "Seed"


def test_lines_maps_and_series_of_means(seeded):
    data = noisy(law=["soft", "hard"])
    figure = plots.sweep_lines(data, "peak_force", hue="law")
    assert labels(figure) == ["law = soft", "law = hard", "mean of 5 runs (seed)", "band: ± standard deviation"]
    np.testing.assert_allclose(
        figure.axes[0].lines[1].get_ydata(),
        data["peak_force"].sel(law="hard").sortby("velocity").values.mean(axis=-1) / 1e9,
    )
    assert len(figure.axes[0].collections) == 2
    assert len(plots.sweep_figures(data)["peak_force"].axes[0].lines) == 2
    wide = noisy(velocities=tuple(range(1, 9)), cells=list(range(2, 10)))
    chart = plots.sweep_figures(wide)["peak_force"]
    mesh = chart.axes[0].collections[0].get_array()
    expected = np.sort((wide["peak_force"].mean("seed").values / 1e6).ravel())
    np.testing.assert_allclose(np.sort(np.asarray(mesh).ravel()), expected)
    assert "mean of 5 runs (seed)" in " ".join(a.get_ylabel() + a.get_xlabel() for a in chart.axes).replace("\n", " ")
    runs = noisy(velocities=(10.0,)).squeeze("velocity", drop=True)
    waves = np.random.default_rng(4).normal(size=(5, 7))
    runs["force"] = ("seed", "time"), waves, {"units": "N", "long_name": "force"}
    times = np.broadcast_to(1e-3 * np.arange(7), (5, 7))
    runs = runs.assign_coords(force_time=(("seed", "time"), times, {"units": "s", "long_name": "time"}))
    (line,) = plots.sweep_lines(runs, "force").axes[0].lines
    np.testing.assert_allclose(line.get_data(), [np.arange(7.0), waves.mean(axis=0)], atol=1e-12)
    other = runs.assign_coords(force_time=(("seed", "time"), times * (1 + np.arange(5.0))[:, None]))
    with pytest.raises(
        UserError, match=r"force_time: the runs along seed have values at places of their own.*hue='seed'"
    ):
        plots.sweep_lines(other, "force", over="seed")
    assert len(plots.sweep_lines(other, "force").axes[0].lines) == 5


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"band": "sigma"}, "must be one of deviation"),
        ({"over": "x"}, "not a dimension"),
        ({"over": "seed", "hue": "seed"}, "must not be x or hue"),
    ],
)
def test_bands_that_there_are_not(seeded, options, rule):
    with pytest.raises(UserError, match=rule):
        plots.sweep_lines(noisy(), "peak_force", **options)
