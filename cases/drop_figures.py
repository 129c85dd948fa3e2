"""Figures of a rod that falls through guide cards."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray
from numpy.typing import NDArray

from arlequin.plots import style
from cases.reference.ballistic import Fall

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]


def fall_figure(time: Array, depth: Array, speed: Array, exact: Fall, dropped: tuple[float, float]) -> "Figure":
    """How far (m) and how fast (m/s) the tip has fallen over the time (s), over the fall without contact; dropped: the
    drop (m) and its time."""
    with style.panels(2, 4.6, sharex=True) as (figure, (above, below)):
        for axes, values, free, name in (
            (above, depth, exact.depth(time), "Fall of the tip (m)"),
            (below, speed, exact.speed(time), "Its speed (m/s)"),
        ):
            axes.plot(time, free, "--", color=style.REFERENCE, label="without contact")
            axes.plot(time, values, color=style.COLOURS[0], label="computed")
            axes.set_ylabel(name)
        if np.isfinite(dropped[1]):
            label = f"{dropped[0]:g} m in {dropped[1]:.4g} s"
            above.plot(dropped[1], dropped[0], "o", color=style.COLOURS[1], markersize=5, label=label)
        above.legend()
        below.set_xlabel("Time (s)")
    return figure


def busiest(result: xarray.DataTree) -> int:
    """The card that is pressed most, by its impulse."""
    return int(result["interface/cards"].dataset["pressure"].values.sum(axis=0).argmax())


def force_figure(results: Mapping[str, xarray.DataTree], card: int, window: float = 0.12) -> "Figure":
    """Normal force of a card of each result, a panel each, from its first contact over a window (s).

    Of the steps that the fields were kept of: `fields_every=1` shows them all. Results of other laws and schemes (runs
    with `law=`, `scheme=`) are compared so.
    """
    drawn = {}
    for title, result in results.items():
        time, force = result.dataset["frame_time"].values, _forces(result)[:, card]
        first = time[int(np.argmax(force > 0.0))]
        shown = (time >= first - 0.05 * window) & (time <= first + window)
        drawn[title] = time[shown] - first, force[shown]
    with style.panels(len(drawn), 0.6 + 2.1 * len(drawn), sharex=True, sharey=True) as (figure, rows):
        for n, (axes, (title, (time, force))) in enumerate(zip(rows, drawn.items(), strict=True)):
            axes.plot(1e3 * time, force, color=style.COLOURS[n], drawstyle="steps-pre", linewidth=1.0)
            axes.set_title(f"{title}: card {card}", loc="left")
            axes.set_ylabel("Force (N)")
        rows[-1].set_xlabel("Time since the first contact (ms)")
    return figure


def orbit_figure(result: xarray.DataTree, system: Any, card: int) -> "Figure":
    """The rod's axis in a card, seen along it, with the circle that is left to it by the clearance."""
    interface = system.interfaces[0]
    rings, pairing = interface.master, interface.pairing()
    rod = result["part/rod"].dataset
    surface = interface.slave
    nodes = rod["position"].values + rod["displacement"].values[:, :, :3]
    found = [pairing.at(place[surface.nodes], np.zeros((0, 1))) for place in nodes]
    met = [kin.positions[card] - rings.centres[card] for kin in found if kin.paired[card]]
    offset = 1e3 * np.array(met).reshape(-1, 3)
    circle, clearance = np.linspace(0.0, 2.0 * np.pi, 200), 1e3 * rings.clearance[card]
    with style.panels(1, 4.6) as (figure, (axes,)):
        axes.plot(offset[:, 0], offset[:, 1], color=style.COLOURS[0], linewidth=0.8, label="axis of the rod")
        axes.plot(
            clearance * np.cos(circle), clearance * np.sin(circle), "--", color=style.REFERENCE, label="clearance"
        )
        axes.set_aspect("equal")
        axes.set_xlim(-1.6 * clearance, 1.6 * clearance)
        axes.set_ylim(-1.6 * clearance, 1.6 * clearance)
        axes.set_xlabel("x (mm)")
        axes.set_ylabel("y (mm)")
        axes.set_title(f"Card {card}", loc="left")
        axes.legend(loc="upper right")
    return figure


def map_figure(result: xarray.DataTree, centres: Array, blocks: int = 200) -> "Figure":
    """Normal force of each card over the time, means over so many blocks of frames."""
    from matplotlib.colors import LogNorm

    time, force = result.dataset["frame_time"].values, _forces(result)
    size = max(1, len(time) // blocks)
    count = len(time) // size
    means = force[: count * size].reshape(count, size, -1).mean(axis=1)
    edges = np.append(time[: count * size : size], time[count * size - 1])
    top = float(means.max())
    with style.panels(1, 4.2) as (figure, (axes,)):
        levels = LogNorm(vmin=1e-3 * top, vmax=top)
        bounds = np.arange(len(centres) + 1) - 0.5
        image: Any = axes.pcolormesh(edges, bounds, np.where(means > 0.0, means, np.nan).T, norm=levels, cmap="viridis")
        axes.invert_yaxis()
        axes.grid(False)
        axes.set_xlabel("Time (s)")
        axes.set_ylabel("Card, from the top")
        figure.colorbar(image, ax=axes, label="Normal force (N)")
    return figure


def _forces(result: xarray.DataTree) -> Array:
    """Normal forces (frame, card), N: a card has 1 m²."""
    return np.asarray(result["interface/cards"].dataset["pressure"].values)
