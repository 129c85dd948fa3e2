"""Figures of the shaken slider."""

from typing import TYPE_CHECKING, Any

import numpy as np

from arlequin.cases.reference.shaken_slider import ShakenSlider
from arlequin.plots import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def shaken_figure(
    time: Any, speed: Any, power: Any, changes: Any, exact: ShakenSlider, window: tuple[float, float]
) -> "Figure":
    """Slip velocity and work rate in a time window (s), with the changes of state, and the exact ones."""
    fine, in_window = np.linspace(*window, 4001), (time >= window[0]) & (time <= window[1])
    plotted_changes = changes[(changes >= window[0]) & (changes <= window[1])]
    events = [event.time for event in exact.events(window[1]) if event.time >= window[0]]
    curves = (("Slip velocity", "m/s", speed, exact.relative_velocity), ("Work rate", "W", power, exact.work_rate))
    with style.panels(2, 5.0, sharex=True) as (figure, panels):
        for axes, (name, unit, values, reference) in zip(panels, curves, strict=True):
            scale, unit = style.prefix(reference(fine), unit)
            for event in events:
                axes.axvline(event, color=style.REFERENCE, linewidth=0.8, linestyle=":")
            axes.plot(fine, scale * reference(fine), color=style.REFERENCE, linewidth=3.0, alpha=0.5, label="exact")
            axes.plot(time[in_window], scale * values[in_window], "--", color=style.COLOURS[0], label="computed")
            values_at_changes = scale * np.asarray(reference(plotted_changes))
            axes.plot(
                plotted_changes,
                values_at_changes,
                "o",
                color=style.COLOURS[1],
                markersize=4,
                label="computed changes of state",
            )
            axes.set_ylabel(style.label(name, unit))
        panels[0].set_title(f"{exact.regime}, η = {exact.ratio:.4g}; dotted lines: exact changes of state", loc="left")
        panels[1].set_xlabel("Time (s)")
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return figure


def support_figure(time: Any, speed: Any, exact: ShakenSlider, window: tuple[float, float]) -> "Figure":
    """Velocities of the floor and of the mass in a time window (s)."""
    in_window = (time >= window[0]) & (time <= window[1])
    floor = exact.support_velocity(time[in_window])
    with style.panels(1, 3.0) as (figure, (axes,)):
        scale, unit = style.prefix(floor, "m/s")
        axes.plot(time[in_window], scale * floor, color=style.REFERENCE, label="floor")
        axes.plot(time[in_window], scale * (floor + speed[in_window]), "--", color=style.COLOURS[0], label="mass")
        axes.set_xlabel("Time (s)")
        axes.set_ylabel(style.label("Velocity", unit))
        figure.legend(*axes.get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return figure
