"""Figures of the Taylor bar."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray
from numpy.typing import NDArray

from arlequin.plots import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def history_figure(
    result: xarray.DataTree,
    shapes: tuple[NDArray[np.float64], NDArray[np.float64]],
    limits: tuple[float, float] | None,
) -> "Figure":
    """Radius of the foot and length of the bar against time; limits: published values of the end, m."""
    time = 1e6 * result.dataset["frame_time"].values
    with style.panels(2, 4.6) as (figure, panels):
        for k, (axes, values, name) in enumerate(zip(panels, shapes, ("Radius of the foot", "Length"), strict=True)):
            axes.plot(time, 1e3 * values, label="computed")
            if limits is not None:
                axes.plot(time[-1], 1e3 * limits[k], "ko", mfc="none", label="published, converged")
            axes.set_ylabel(style.label(name, "mm"))
            axes.legend()
        panels[-1].set_xlabel(style.label("Time", "µs"))
    return figure


def foot_forces_figure(runs: Mapping[str, xarray.DataTree]) -> "Figure":
    """Forces of the wall on the foot against time, by scheme."""
    with style.panels(2, 4.6, sharex=True) as (figure, (normal_panel, friction_panel)):
        for n, (name, run) in enumerate(runs.items()):
            line_style: dict[str, Any] = {"color": style.COLOURS[n], "linewidth": 1.0, "zorder": 3.0 - n}
            time = 1e6 * run.dataset["time"].values[1:]
            # forces on the complete bar of revolution
            force = 1e-3 * run["interface/wall"].dataset["force"].values[1:]
            normal_panel.plot(time, force[:, 1], label=name, **line_style)
            friction_panel.plot(time, -force[:, 0], **line_style)
        normal_panel.set_ylabel(style.label("Normal force", "kN"))
        friction_panel.set_ylabel(style.label("Friction, inwards", "kN"))
        friction_panel.set_xlabel(style.label("Time", "µs"))
        figure.legend(*normal_panel.get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return figure
