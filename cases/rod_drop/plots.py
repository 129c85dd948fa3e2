"""Figures of a rod that falls through guide cards."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray

from arlequin.cases.reference.ballistic import FreeFall
from arlequin.cases.rod_drop.measures import ContactSpells
from arlequin.models.types import Array
from arlequin.plots import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def fall_figure(time: Array, depth: Array, speed: Array, exact: FreeFall, dropped: tuple[float, float]) -> "Figure":
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
    return int(_forces(result).sum(axis=0).argmax())


def force_figure(runs: Mapping[str, xarray.DataTree], card: int, window: float) -> "Figure":
    """Normal force of a card on every step, a panel for each run, over a window (s) from its contact in the first run.

    The titles add measures of all cards over the whole runs (`ContactSpells`) and the dissipation of the scheme.
    """
    first = next(iter(runs.values()))
    begin = float(first.dataset["time"].values[int(np.argmax(_forces(first)[:, card] > 0.0))])
    with style.panels(len(runs), 0.9 + 1.5 * len(runs), sharex=True) as (figure, rows):
        for n, (axes, (title, run)) in enumerate(zip(rows, runs.items(), strict=True)):
            time = run.dataset["time"].values
            shown = (time >= begin - 0.03 * window) & (time <= begin + window)
            axes.plot(
                1e3 * time[shown],
                _forces(run)[shown, card],
                color=style.COLOURS[n],
                drawstyle="steps-pre",
                linewidth=0.8,
            )
            axes.set_ylim(bottom=0.0)
            axes.set_title(title, loc="left")
            axes.set_title(_measured(run), loc="right", fontsize="small")
            axes.set_ylabel("Force (N)")
        rows[-1].set_xlabel("Time (ms)")
        figure.suptitle(f"Card {card}", fontsize="medium", x=0.02, ha="left")
    return figure


def _measured(run: xarray.DataTree) -> str:
    time, energy = run.dataset["time"].values, run.dataset["energy"]
    spells = ContactSpells.of(run, float(time[1] - time[0]))
    taken = 1e3 * float(energy.sel(kind="scheme")[-1])
    return (
        f"{spells.count / max(spells.cards, 1):.1f} spells a card of {1e3 * spells.mean:.2g} ms, "
        f"variation {spells.variation:.1f}, scheme {abs(round(taken, 2)):.2g} mJ"
    )


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
    """Normal force of each card over the time, means over so many blocks of steps."""
    from matplotlib.colors import LogNorm

    time, force = result.dataset["time"].values, _forces(result)
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
    """Normal forces (time, card), N."""
    return np.asarray(result["interface/cards"].dataset["point_force"].values)
