"""Figures: what is drawn is what the result holds, with units; every figure is written as PNG."""

import io
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import xarray

import arlequin as aq
from arlequin import plots
from arlequin.models.errors import UserError
from arlequin.plots.style import prefix

STEPS, EVERY = 120, 10
SPEED = 10.0
LAST = 1e-4


def plane(x0: float, x1: float, cells: tuple[int, int], triangles: bool) -> tuple[np.ndarray, np.ndarray]:
    """Positions and connectivity of a rectangle 0.01 m high."""
    x, y = np.linspace(x0, x1, cells[0] + 1), np.linspace(0, 0.01, cells[1] + 1)
    points = np.stack([a.ravel() for a in np.meshgrid(x, y, indexing="ij")], axis=1)
    number = np.arange(len(points)).reshape(len(x), len(y))
    corners = [number[:-1, :-1], number[1:, :-1], number[1:, 1:], number[:-1, 1:]]
    quads = np.stack([c.ravel() for c in corners], axis=1)
    return points, np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]]) if triangles else quads


def part(points: np.ndarray, cells: np.ndarray, frame_time: np.ndarray) -> xarray.Dataset:
    front = frame_time[:, None] * 2000.0
    v = np.zeros((len(frame_time), len(points), points.shape[1]))
    v[..., 0] = SPEED * np.tanh((points[:, 0] - front) / 0.005)
    u = np.cumsum(v, axis=0) * frame_time[1]
    dims = ("frame", "node", "component")
    return xarray.Dataset(
        {
            "displacement": (dims, u, {"units": "m", "long_name": "displacement"}),
            "velocity": (dims, v, {"units": "m/s", "long_name": "velocity"}),
            "connectivity": (("cell", "corner"), cells),
            "stress_mean": (
                ("frame", "cell"),
                np.add.outer(frame_time, cells.mean(axis=1)) * 1e6,
                {"units": "Pa"},
            ),
        },
        coords={"position": (("node", "axis"), points, {"units": "m"}), "frame_time": ("frame", frame_time)},
    )


def make(plane_parts: bool) -> xarray.DataTree:
    t = np.linspace(0, LAST, STEPS + 1)
    kinds = ["kinetic", "strain", "asperity", "friction"]
    wave = np.sin(np.pi * t / LAST) ** 2
    energy = 3900 * np.stack([1 - wave, 0.8 * wave, 0.2 * wave, 0 * wave], axis=1)
    root = xarray.Dataset(
        {"energy": (("time", "kind"), energy), "balance": ("time", 1e-15 * np.sin(40 * wave))},
        coords={"time": t, "kind": kinds, "frame_time": ("frame", t[::EVERY])},
    )
    force = np.stack([-np.where((t > 2e-5) & (t < 6e-5), 3.95e6, 0.0), 0 * t], axis=1)
    tip = xarray.Dataset({"force": (("time", "component"), force), "gap_min": ("time", 1e-4 * (1 - 2 * wave))})
    groups = {"/": root, "/interface/tip": tip}
    if plane_parts:
        groups["/part/coarse"] = part(*plane(0, 0.06, (12, 2), False), t[::EVERY])
        groups["/part/fine"] = part(*plane(0.04, 0.1, (48, 8), True), t[::EVERY])
    else:
        for name, a, b, n in (("left", 0.0, 0.06, 20), ("right", 0.04, 0.1, 100)):
            cells = np.stack([np.arange(n), np.arange(1, n + 1)], axis=1)
            groups[f"/part/{name}"] = part(np.linspace(a, b, n + 1)[:, None], cells, t[::EVERY])
    return xarray.DataTree.from_dict(groups)


def is_png(figure) -> bool:
    stream = io.BytesIO()
    figure.savefig(stream)
    return stream.getvalue()[:4] == b"\x89PNG"


def labels(figure) -> str:
    texts = [f"{a.get_xlabel()}|{a.get_ylabel()}|{a.get_title()}|{a.get_title('left')}" for a in figure.axes]
    return "\n".join(texts + [t.get_text() for legend in figure.legends for t in legend.get_texts()])


def test_energies():
    figure = plots.energies(make(True))
    curves = figure.axes[0].lines
    assert [c.get_label() for c in curves] == [
        "kinetic",
        "strain",
        "asperity",
    ]  # what stays zero is not drawn
    assert curves[0].get_ydata()[0] == pytest.approx(3.9)
    assert "Energy (kJ)" in labels(figure) and "Time (µs)" in labels(figure) and is_png(figure)


def test_contact_against_a_reference():
    result = make(True)
    t = np.array([0, 2e-5, 2e-5, 6e-5, 6e-5, 1e-4])
    exact = {"exact": (t, 3.95e6 * np.array([0, 0, 1, 1, 0, 0]))}
    figure = plots.contact(result, "tip", force=exact)
    reference, computed = figure.axes[0].lines
    assert reference.get_ydata().max() == pytest.approx(3.95) == computed.get_ydata().max()
    assert "Contact force (MN)" in labels(figure) and "Least gap (µm)" in labels(figure) and is_png(figure)
    pressure = plots.contact({"θ = 1/2": result, "other": result}, area=0.01)
    assert "Contact pressure (MPa)" in labels(pressure) and "θ = 1/2" in labels(pressure)
    assert pressure.axes[0].lines[0].get_ydata().max() == pytest.approx(395)
    with pytest.raises(UserError, match="there are tip"):
        plots.contact(result, "top")


def test_components_of_the_contact_force():
    result = make(True)
    result["interface/tip/impulse"] = xarray.DataArray(1e-6 * np.arange(STEPS + 1.0), dims="time")
    result.attrs["step"] = 1e-6
    for component, largest in (("x", 0.0), ("y", 0.0), ("normal", 120.0)):
        axes = plots.contact(result, component=component).axes[0]
        assert axes.get_ylabel().startswith(f"Contact force, {component}")
        assert axes.lines[0].get_ydata().max() == pytest.approx(largest)
    assert plots.contact(result, component="x").axes[0].lines[0].get_ydata().min() == pytest.approx(-3.95)
    with pytest.raises(UserError, match="component = 'z': must be one of x, y"):
        plots.contact(result, component="z")
    del result.attrs["step"]
    with pytest.raises(UserError, match="choose x, y or z"):
        plots.contact(result, component="normal")


def test_compared_curves_differ_in_dashes():
    lines = plots.contact({"a": make(True), "b": make(True)}).axes[0].lines
    assert len({line.get_linestyle() for line in lines}) == 2


@pytest.mark.parametrize(("scheme", "drawn"), [("Static()", "default"), ("Theta(theta=0.5)", "steps-pre")])
def test_static_forces_are_drawn_as_lines(scheme, drawn):
    result = make(True)
    result.attrs["scheme"] = scheme
    assert plots.contact(result).axes[0].lines[0].get_drawstyle() == drawn


def test_gaps_of_round_off_are_drawn_as_zero():
    result = make(True)
    result["interface/tip/gap_min"] *= 1e-12
    panel = plots.contact(result).axes[1]
    assert (panel.lines[0].get_ydata() == 0.0).all() and panel.get_ylabel() == "Least gap (mm)"


def test_overview_of_a_static_run_shows_its_displacement():
    for plane_parts, drawn in ((True, "shape"), (False, "profile")):
        result = make(plane_parts)
        result.attrs["scheme"] = "Static()"
        figure = plots.overview(result)[drawn]
        texts = labels(figure) + (figure._supylabel.get_text() if figure._supylabel else "")
        assert "isplacement" in texts and "elocity" not in texts


def test_a_long_label_is_wrapped():
    result = make(False)
    result["part/right/velocity"].attrs["long_name"] = "section moment at the ends of the cell"
    result["part/left/velocity"].attrs["long_name"] = "section moment at the ends of the cell"
    figure = plots.profile(result, frames=[9])
    figure.draw_without_rendering()
    box = figure._supylabel.get_window_extent()
    assert box.y0 >= 0.0 and box.y1 <= figure.bbox.height


@pytest.mark.sampled(1)
@pytest.mark.parametrize("field", ["velocity", "stress_mean"])
def test_shape(field):
    result = make(True)
    figure = plots.shape(result, field, frame=5, magnify=20)
    assert "displacement × 20" in labels(figure) and "t = 41.67 µs" in labels(figure)
    unit = {"velocity": "(m/s)", "stress_mean": "(MPa)"}[field]
    assert unit in labels(figure) and is_png(figure)
    x = result["part/fine"]["position"].values[:, 0] + 20 * result["part/fine"]["displacement"].values[5, :, 0]
    assert figure.axes[0].dataLim.x1 == pytest.approx(1e3 * x.max())


def test_beams_beside_plane_parts_are_lines():
    result = make(True)
    cells = np.array([[0, 1], [1, 2]])
    points = np.array([[0.1, 0.0], [0.15, 0.0], [0.2, 0.0]])
    result["part/beam"] = xarray.DataTree(part(points, cells, result["frame_time"].values).drop_vars("stress_mean"))
    for field in ("velocity", "stress_mean"):
        axes = plots.shape(result, field, frame=0).axes[0]
        (beam,) = [c for c in axes.collections if len(c.get_paths()) == 2]
        places = 1e3 * (points + result["part/beam/displacement"].values[0])
        np.testing.assert_allclose(beam.get_paths()[1].vertices, places[1:])
        assert np.ma.getmaskarray(beam.get_array()).all() == (field == "stress_mean")
        assert axes.get_xlim()[1] >= 200.0


@pytest.mark.sampled(1)
@pytest.mark.parametrize("size", [(0.2, 0.02, 0.02), (0.1, 0.1, 1.0), (1.0, 1.0, 1.0)])
def test_a_picture_in_space_fills_the_figure_and_its_labels_do_not_overlap(size):
    steel = aq.LinearElastic(young=2e11, poisson=0.3, density=7800.0)
    ends = [(0.0, length) for length in size]
    block = aq.Solid("block", aq.mesh.box(*ends, cells=(2, 2, 2)), steel)
    result = aq.simulate(aq.System([block], velocity=(1.0, 0.0, 0.0)), aq.Theta(0.5), duration=1e-6, step=1e-6)
    figure = plots.shape(result)
    figure.draw_without_rendering()
    panel, bar = figure.axes
    boxes = [axis.get_tightbbox() for axis in (panel.xaxis, panel.yaxis, panel.zaxis)]
    title = panel._left_title.get_window_extent()
    seen = [*boxes, title, bar.get_tightbbox()]
    low, high = np.min([box.min for box in seen], axis=0), np.max([box.max for box in seen], axis=0)
    width, height = figure.bbox.size
    assert (low >= 0.0).all() and (high <= [width, height]).all()
    assert max(high[0] - low[0], 0.0) > 0.9 * width or high[1] - low[1] > 0.9 * height
    assert all(box.y0 > bar.get_tightbbox().y1 and box.y1 < title.y0 + title.height for box in boxes)
    for axis in (panel.xaxis, panel.yaxis, panel.zaxis):
        numbers = [tick.label1.get_window_extent() for tick in axis.get_major_ticks() if tick.label1.get_visible()]
        middle = axis.label.get_window_extent()
        centre = 0.5 * (middle.min + middle.max)
        assert not any(box.contains(*centre) for box in numbers)


def test_a_uniform_field_shows_no_round_off():
    result = make(True)
    for name in ("coarse", "fine"):
        v = result[f"part/{name}"]["velocity"]
        v[...] = 3.0 + 1e-14 * np.random.default_rng(0).standard_normal(v.shape)
    low, high = plots.shape(result, component=0).axes[0].collections[0].get_clim()
    assert low < 2.99 and high > 3.01


def test_profile():
    result = make(False)
    figure = plots.profile(result, frames=[3, 9])
    panel = figure.axes[1]
    expected = result["part/right"]["velocity"].values[9, :, 0]
    np.testing.assert_allclose(panel.lines[1].get_ydata(), expected)
    assert "Initial position (mm)" in labels(figure) and is_png(figure)


def test_convergence_fits_the_order():
    h = np.array([0.1, 0.05, 0.025, 0.0125])
    figure = plots.convergence(h, {"Q1": 3 * h**2, "Q2": h**3 * np.array([1.1, 0.9, 0.9, 1.1])})
    text = [t.get_text() for t in figure.axes[0].get_legend().get_texts()]
    assert text == ["Q1: order 2.00", "Q2: order 3.00"] and is_png(figure)


@pytest.mark.parametrize(("plane_parts", "drawn"), [(True, "shape"), (False, "profile")])
def test_overview(plane_parts, drawn):
    assert list(plots.overview(make(plane_parts))) == ["energies", "contact-tip", drawn]
    with pytest.raises(UserError, match="nothing that is drawn"):
        plots.overview(xarray.DataTree(xarray.Dataset(coords={"time": [0.0]})))


def test_prefix():
    assert prefix([999.99], "Pa") == (1.0, "Pa") or prefix([999.99], "Pa")[1] == "kPa"
    assert prefix(2e-6, "s") == (1e6, "µs") and prefix([0.0], "m") == (1.0, "m") and prefix([5e4], "1") == (1.0, "1")
    assert prefix([np.nan, 1e9], "Pa") == (1e-9, "GPa")


def test_plots_import_matplotlib_only_when_they_draw():
    code = "import sys, arlequin.plots; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[2], check=True)


def test_fine_parts_are_drawn_over_the_coarse_ones_that_they_overlap(tmp_path):
    """Whatever their names and their order, in memory and in a stored result, whose parts are in the order of names."""
    steel = aq.LinearElastic(young=2e11, poisson=0.3, density=7800.0)
    wide = aq.Solid("zone", aq.mesh.rectangle((0.0, 1.0), (0.0, 0.4), cells=(10, 4)), steel, plane="strain")
    patch = aq.Solid("a", aq.mesh.rectangle((0.3, 0.7), (0.0, 0.4), cells=(8, 8)), steel, plane="strain")
    glue = aq.Junction(wide, patch, zone=aq.zones.Box(width=0.1))
    for parts in ([wide, patch], [patch, wide]):
        system = aq.System(parts, [glue], velocity=(1.0, 0.0))
        for path in (None, tmp_path / "run.zarr"):
            record = aq.Record(path, stress=True, overwrite=path is not None)
            result = aq.simulate(system, aq.Theta(0.5), duration=1e-6, step=1e-6, record=record)
            figure = plots.shape(result, "mises_stress")
            filled = [c for c in figure.axes[0].collections if c.get_array() is not None]
            assert [len(c.get_paths()) for c in filled] == [32, 64]
