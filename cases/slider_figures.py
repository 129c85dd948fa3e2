"""Figures of the sliders: released on a spring, and on a shaken support."""

from typing import TYPE_CHECKING, Any

import numpy as np

from arlequin.plots import style
from cases.reference.shaken_slider import ShakenSlider
from cases.reference.slider import ReleasedSlider
from cases.slider_shock import ExactMotion

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def released_figure(
    time: Any, along: Any, turns: tuple[Any, Any], exact: ReleasedSlider, element: ExactMotion | None = None
) -> "Figure":
    """Displacement along the release and its components, with the turning points, over the closed form.

    element: the exact motion on a shock element, drawn as far as it goes.
    """
    fine = np.linspace(0.0, time[-1], 4001)
    with style.panels(1, 3.4) as (figure, (axes,)):
        scale, metre = style.prefix(along, "m")
        clock, second = style.prefix(time, "s")
        axes.axhspan(-scale * exact.zone, scale * exact.zone, color=style.COLOURS[4], alpha=0.2, label="friction holds")
        axes.plot(clock * fine, scale * exact.position(fine), color=style.REFERENCE, label="closed form")
        if element is not None:
            known = fine[fine <= element.last]
            x = scale * element.position(known)
            axes.plot(clock * known, x, "--", color=style.COLOURS[3], linewidth=1.0, label="shock element, exact")
        axes.plot(clock * time, scale * along, ".", color=style.COLOURS[0], markersize=3, label="along the release")
        axes.plot(clock * turns[0], scale * turns[1], "o", color=style.COLOURS[1], markersize=5, label="turning points")
        for n, values in enumerate(exact.components(along).T):
            dash, name = style.DASHES[1 + n % 3], f"component {'xyz'[n]}"
            axes.plot(clock * time, scale * values, dash, color=style.COLOURS[2], linewidth=1.0, label=name)
        axes.set_xlabel(style.label("Time", second))
        axes.set_ylabel(style.label("Displacement", metre))
        figure.legend(*axes.get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return figure


def shaken_figure(
    time: Any, speed: Any, power: Any, changes: Any, exact: ShakenSlider, window: tuple[float, float]
) -> "Figure":
    """Velocity against the floor and work rate in a window (s), with the changes of state, over the exact ones."""
    fine, shown = np.linspace(*window, 4001), (time >= window[0]) & (time <= window[1])
    found = changes[(changes >= window[0]) & (changes <= window[1])]
    events = [event.time for event in exact.events(window[1]) if event.time >= window[0]]
    curves = (("Slip rate", "m/s", speed, exact.relative_velocity), ("Work rate", "W", power, exact.work_rate))
    with style.panels(2, 5.0, sharex=True) as (figure, panels):
        for axes, (name, unit, values, reference) in zip(panels, curves, strict=True):
            scale, unit = style.prefix(reference(fine), unit)
            for event in events:
                axes.axvline(event, color=style.REFERENCE, linewidth=0.8, linestyle=":")
            axes.plot(fine, scale * reference(fine), color=style.REFERENCE, linewidth=3.0, alpha=0.5, label="exact")
            axes.plot(time[shown], scale * values[shown], "--", color=style.COLOURS[0], label="computed")
            at = scale * np.asarray(reference(found))
            axes.plot(found, at, "o", color=style.COLOURS[1], markersize=4, label="changes of state, computed")
            axes.set_ylabel(style.label(name, unit))
        panels[0].set_title(f"{exact.regime}, η = {exact.ratio:.4g}; dotted: exact changes of state", loc="left")
        panels[1].set_xlabel("Time (s)")
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return figure


def support_figure(time: Any, speed: Any, exact: ShakenSlider, window: tuple[float, float]) -> "Figure":
    """Velocities of the floor and of the mass in a window (s)."""
    shown = (time >= window[0]) & (time <= window[1])
    floor = exact.support_velocity(time[shown])
    with style.panels(1, 3.0) as (figure, (axes,)):
        scale, unit = style.prefix(floor, "m/s")
        axes.plot(time[shown], scale * floor, color=style.REFERENCE, label="floor")
        axes.plot(time[shown], scale * (floor + speed[shown]), "--", color=style.COLOURS[0], label="mass")
        axes.set_xlabel("Time (s)")
        axes.set_ylabel(style.label("Velocity", unit))
        figure.legend(*axes.get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return figure
