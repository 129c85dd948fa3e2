"""Figures of a rod in its grids: work rates, forces, spectra, orbits and shapes."""

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray

from arlequin import plots
from arlequin.cases.fuel_rod.measures import (
    ALL,
    PADS,
    SupportSignal,
    beams,
    hardest,
    rms_along,
    signal,
    supports,
    zoomed,
)
from arlequin.models.types import Array
from arlequin.plots import style
from arlequin.results.signals import impact_peaks, power_spectrum

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_FEW = 5  # contact phases below which the peaks make no histogram
_SPECTRUM = 100  # steps below which a run has no spectrum
_ORBIT = 4000  # points of an orbit, at most


def rod_figures(result: xarray.DataTree, heights: Array, gap: float) -> "dict[str, Figure]":
    """heights: of the grids, m; gap: of the loose ones, m."""
    table = supports(result)
    grid, place = hardest(table, "impacts")
    support_signal, title = signal(result, grid, place), f"Grid {grid}, {place}"
    figures = {
        "work_rate": bars(table, "work_rate", "W", "Work rate, mean"),
        "contact": bars(table, "contact_ratio", "1", "Share of the time in contact"),
        "force": force_figure(result, support_signal, title),
        "orbits": orbits(result, gap),
        "shape": shape_figure(result, heights),
        "energies": plots.energies(result),
    }
    if result.sizes["time"] > _SPECTRUM:
        figures["force_spectrum"] = spectrum_figure(result, support_signal, title)
    if "levels" in result.children:
        figures["levels"] = levels_figure(result)
    if "cladding" in result["part"].children:
        frame = busiest(result)
        fields = ["pressure", "slip", "status"]
        if "worn_depth" in result[f"interface/{PADS[0]}"].dataset:
            fields.append("worn_depth")
        frame_of = {"pressure": frame, "status": frame}
        figures |= {
            f"zoom_{field}": plots.unrolled(result, field, PADS, frame=frame_of.get(field, -1)) for field in fields
        }
    return figures


def busiest(result: xarray.DataTree) -> int:
    """The frame with the largest pressure on the zoomed cladding."""
    peaks = [result[f"interface/{name}"].dataset["pressure"].values.max(axis=1) for name in PADS]
    return int(np.nan_to_num(np.max(peaks, axis=0)).argmax())  # nan where the zoom is not active


def bars(table: xarray.Dataset, key: str, unit: str, title: str) -> "Figure":
    """Bar chart of a measure of every support, by grid."""
    values = table[key].values
    factor, prefixed_unit = style.prefix(values, unit)
    places = list(table["support"].values)
    width = 0.84 / len(places)
    with style.panels(1, 3.2) as (figure, (axes,)):
        for k, place in enumerate(places):
            at = np.arange(len(values)) + (k - 0.5 * (len(places) - 1)) * width
            axes.bar(at, factor * values[:, k], width, color=style.COLOURS[k % len(style.COLOURS)], label=place)
        axes.set_xticks(range(len(values)), [str(n) for n in table["grid"].values])
        axes.set_xlabel("Grid")
        axes.set_ylabel(style.label(title, prefixed_unit))
        axes.grid(visible=False, axis="x")
        axes.legend(ncols=3, fontsize="small", loc="upper center", bbox_to_anchor=(0.5, 1.28))
    return figure


def force_figure(result: xarray.DataTree, support_signal: SupportSignal, title: str) -> "Figure":
    """Normal force of a support over time, and histogram of its impact peaks; if it seldom opens, of its steps."""
    time, force = result.dataset["time"].values, support_signal.force
    peaks = impact_peaks(time, force).force
    few = peaks.size < _FEW
    heights = force[1:][force[1:] > 0.0] if few else peaks
    factor, unit = style.prefix(force, "N")
    with style.panels(2, 4.6) as (figure, (history, histogram)):
        history.plot(1e3 * time[1:], factor * force[1:], linewidth=0.6, color=style.COLOURS[0])
        history.set_xlabel("Time (ms)")
        history.set_ylabel(style.label("Force", unit))
        history.set_title(title, loc="left")
        histogram.hist(factor * heights, bins=min(40, max(5, heights.size // 4)), color=style.COLOURS[0])
        histogram.set_xlabel(style.label("Force" if few else "Largest force of a spell of contact", unit))
        histogram.set_ylabel("Steps in contact" if few else f"Spells, of {peaks.size}")
    return figure


def spectrum_figure(result: xarray.DataTree, support_signal: SupportSignal, title: str, segments: int = 8) -> "Figure":
    """Spectra of a support's force and of the rod's motion there."""
    time, force, motion = result.dataset["time"].values, support_signal.force, support_signal.motion
    if motion is not None and np.isnan(motion).any():  # zoomed temporarily
        motion = None
    with style.panels(2 if motion is not None else 1, 4.6 if motion is not None else 2.6, sharex=True) as (
        figure,
        panels,
    ):
        force_panel, motion_panel = panels[0], panels[-1]
        frequency, density = power_spectrum(time[1:], force[1:], segments)
        force_panel.loglog(frequency[1:], density[1:], color=style.COLOURS[0], linewidth=1.0)
        force_panel.set_ylabel("Force (N²/Hz)")
        force_panel.set_title(title, loc="left")
        if motion is not None:
            for axis, name in enumerate("xy"):
                frequency, density = power_spectrum(time, motion[:, axis], segments)
                motion_panel.loglog(frequency[1:], density[1:], color=style.COLOURS[axis], linewidth=1.0, label=name)
            motion_panel.set_ylabel("Motion (m²/Hz)")
            motion_panel.legend()
        motion_panel.set_xlabel("Frequency (Hz)")
    return figure


def orbits(result: xarray.DataTree, gap: float) -> "Figure":
    """Transverse orbits of the rod at the springs of each grid that is not zoomed; dashed: the gap."""
    names = [name for name in result["interface"].children if name.endswith("_springs")]
    grids = sorted(int(name.split("_")[0].removeprefix("grid")) for name in names)
    columns = min(4, len(grids))
    rows = -(-len(grids) // columns)
    import matplotlib
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    groups = [result[f"interface/grid{n}_springs"].dataset for n in grids]
    paths = [group["point_displacement"].values[:, :, :2].mean(axis=1) for group in groups]
    factor, unit = style.prefix(np.concatenate(paths), "m")
    with matplotlib.rc_context(style.SETTINGS):
        figure = Figure(figsize=(style.WIDTH, 1.75 * rows + 0.3), layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False).ravel()
        for panel, n, path in zip(axes, grids, paths, strict=False):
            chosen = factor * path[:: max(1, len(path) // _ORBIT)]
            panel.plot(*chosen.T, linewidth=0.5, color=style.COLOURS[0])
            reach = 1.1 * np.nanmax(np.abs(chosen)) or 1.0
            if gap and reach > 0.3 * factor * gap:
                line_style: Any = {"fill": False, "linestyle": "--", "edgecolor": style.REFERENCE}
                panel.add_patch(Rectangle((-factor * gap,) * 2, 2 * factor * gap, 2 * factor * gap, **line_style))
                reach = max(reach, 1.1 * factor * gap)
            panel.set_xlim(-reach, reach)
            panel.set_ylim(-reach, reach)
            panel.set_aspect("equal")
            panel.set_title(f"Grid {n}")
            panel.tick_params(labelsize=7)
        for panel in axes[len(grids) :]:
            panel.set_visible(False)
        figure.supxlabel(style.label("x", unit), fontsize=9)
        figure.supylabel(style.label("y", unit), fontsize=9)
    return figure


def levels_figure(result: xarray.DataTree, permanent: xarray.DataTree | None = None) -> "Figure":
    """Level of the loose grid over time, and the total force of its supports, springs and pads.

    permanent: a run with permanent zoom of this grid, for comparison.
    """
    grid, time = zoomed(result), 1e3 * result.dataset["time"].values[1:]
    level = result[f"levels/grid{grid}"].dataset["level"].values[1:]
    runs = {"zoom=auto": result} | ({} if permanent is None else {f"zoom={grid}": permanent})
    total = {name: np.sum([signal(run, grid, place).force[1:] for place in ALL], axis=0) for name, run in runs.items()}
    factor, unit = style.prefix(np.concatenate(list(total.values())), "N")
    with style.panels(2, 4.0, ratios=(1.0, 3.0), sharex=True) as (figure, (level_panel, force_panel)):
        level_panel.step(time, level, where="pre", color=style.COLOURS[2])
        level_panel.set_yticks([0, 1], ["springs", "solid"])
        level_panel.set_title(f"Grid {grid}", loc="left")
        for name, force in reversed(total.items()):
            is_adaptive = name == "zoom=auto"
            line_style: Any = {"linewidth": 0.8} if is_adaptive else {"linewidth": 2.4, "alpha": 0.4}
            run_time = 1e3 * runs[name].dataset["time"].values[1:]
            force_panel.plot(
                run_time, factor * force, color=style.COLOURS[0 if is_adaptive else 1], label=name, **line_style
            )
        force_panel.set_xlabel("Time (ms)")
        force_panel.set_ylabel(style.label("Force of all six supports", unit))
        if len(total) > 1:
            force_panel.legend()
    return figure


def shape_figure(result: xarray.DataTree, heights: Array) -> "Figure":
    """Root mean square of the motion along the rod, and snapshots of its deflection along x."""
    z, rms = rms_along(result)
    groups = [result[f"part/{name}"].dataset for name in beams(result)]
    order = np.argsort(np.concatenate([group["position"].values[:, 2] for group in groups]))
    deflections = np.concatenate([group["displacement"].values[..., 0] for group in groups], axis=1)[:, order]
    times = np.asarray(result.dataset["frame_time"])
    chosen = np.linspace(0, len(deflections) - 1, min(7, len(deflections))).astype(int)
    factor, unit = style.prefix(rms, "m")
    scale, deflection_unit = style.prefix(deflections[chosen], "m")
    with style.panels(2, 4.8, sharex=True) as (figure, (rms_panel, shape_panel)):
        for axis, name in enumerate("xy"):
            rms_panel.plot(z, factor * rms[:, axis], color=style.COLOURS[axis], label=name)
        rms_panel.set_ylabel(style.label("rms motion", unit))
        rms_panel.legend()
        for n, frame in enumerate(chosen):
            instant = 1e3 * times[frame]
            shape_panel.plot(
                z, scale * deflections[frame], linewidth=1.0, color=style.COLOURS[n], label=f"{instant:.0f} ms"
            )
        shape_panel.set_ylabel(style.label("Deflection x", deflection_unit))
        shape_panel.set_xlabel("Height (m)")
        shape_panel.legend(ncols=4, fontsize="small")
        for panel in (rms_panel, shape_panel):
            for height in heights:
                panel.axvline(height, color=style.REFERENCE, linewidth=0.6, linestyle=":")
    return figure
