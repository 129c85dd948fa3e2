"""Figures of impacts of solids."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from cases.node_pressures import NodePressures


def force_panels(
    panels: Mapping[str, Mapping[str, xarray.DataTree]],
    *,
    component: str,
    exact: Mapping[str, tuple[Any, Any]] | None = None,
) -> "Figure":
    """Contact force of several results over time, a panel for each title; exact: curves (s, N) by label, in all."""
    from arlequin.plots import style

    with style.panels(len(panels), 0.6 + 2.2 * len(panels), sharex=True, sharey=True) as (figure, rows):
        drawn = {title: {name: _force(tree, component) for name, tree in own.items()} for title, own in panels.items()}
        curves = [curve for own in drawn.values() for curve in own.values()]
        factor, unit = style.prefix(np.concatenate([force for _, force in curves]), "N")
        clock, second = style.prefix(np.concatenate([time for time, _ in curves]), "s")
        for axes, (title, own) in zip(rows, drawn.items(), strict=True):
            for n, (name, (time, force)) in enumerate((exact or {}).items()):
                dash = style.DASHES[(1 + n) % len(style.DASHES)]
                axes.plot(clock * time, factor * force, dash, color=style.REFERENCE, label=name, zorder=3)
            for n, (name, (time, force)) in enumerate(own.items()):
                # a force at t_n is the mean over the step that ends there
                axes.plot(
                    clock * time,
                    factor * force,
                    color=style.COLOURS[n],
                    linestyle=style.DASHES[n % len(style.DASHES)],
                    drawstyle="steps-pre",
                    linewidth=1.1,
                    label=name,
                )
            axes.set_title(title, loc="left", fontsize=10)
            axes.set_ylabel(style.label("Contact force", unit))
            if len(own) + len(exact or {}) > 1:
                axes.legend()
        rows[-1].set_xlabel(style.label("Time", second))
    return figure


def pressure_panels(panels: "Mapping[str, NodePressures]", shares: tuple[float, ...] = (0.0, 0.4, 0.8)) -> "Figure":
    """Pressure of a few contact nodes over time, a panel for each title.

    shares: which nodes, as shares of the half-width that the first of them ever presses.
    """
    from arlequin.plots import style

    places = next(iter(panels.values())).chosen(shares).offset
    with style.panels(len(panels), 0.6 + 1.9 * len(panels), sharex=True, sharey=True) as (figure, rows):
        factor, unit = style.prefix(np.concatenate([nodes.pressure.ravel() for nodes in panels.values()]), "Pa")
        clock, second = style.prefix(np.concatenate([nodes.time for nodes in panels.values()]), "s")
        for axes, (title, nodes) in zip(rows, panels.items(), strict=True):
            for n, place in enumerate(places):
                values = nodes.pressure[:, int(np.abs(nodes.offset - place).argmin())]
                axes.plot(
                    clock * nodes.time,
                    factor * values,
                    color=style.COLOURS[n],
                    drawstyle="steps-pre",
                    linewidth=1.0,
                    label=f"node at x = {1e3 * place:.3g} mm",
                )
            axes.set_title(title, loc="left", fontsize=10)
            axes.set_ylabel(style.label("Pressure", unit))
        rows[0].legend()
        rows[-1].set_xlabel(style.label("Time", second))
    return figure


def _force(result: xarray.DataTree, component: str) -> tuple[Any, Any]:
    return result.dataset["time"].values, result["interface/contact"].dataset["force"].sel(component=component).values
