"""Figures of a rod that falls through guide cards."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray

from arlequin.cases.reference.ballistic import FreeFall
from arlequin.cases.rod_drop.measures import ContactPhases
from arlequin.models.types import Array
from arlequin.plots import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def fall_figure(time: Array, depth: Array, speed: Array, exact: FreeFall, drop_point: tuple[float, float]) -> "Figure":
    """Fall (m) and velocity (m/s) of the tip over time (s), with the fall without contact; drop_point: drop (m) and its
    time (s)."""
    with style.panels(2, 4.6, sharex=True) as (figure, (above, below)):
        for axes, values, free, name in (
            (above, depth, exact.depth(time), "Fall of the tip (m)"),
            (below, speed, exact.speed(time), "Its speed (m/s)"),
        ):
            axes.plot(time, free, "--", color=style.REFERENCE, label="without contact")
            axes.plot(time, values, color=style.COLOURS[0], label="computed")
            axes.set_ylabel(name)
        if np.isfinite(drop_point[1]):
            label = f"{drop_point[0]:g} m in {drop_point[1]:.4g} s"
            above.plot(drop_point[1], drop_point[0], "o", color=style.COLOURS[1], markersize=5, label=label)
        above.legend()
        below.set_xlabel("Time (s)")
    return figure


def busiest(result: xarray.DataTree) -> int:
    """Card with the largest impulse."""
    return int(_forces(result).sum(axis=0).argmax())


def force_figure(runs: Mapping[str, xarray.DataTree], card: int, window: float) -> "Figure":
    """Normal force of a card on every step, a panel for each run, over a window (s) from its contact in the first run.

    Titles: measures of all cards over the complete runs (`ContactPhases`), and the dissipation of the scheme.
    """
    first_run = next(iter(runs.values()))
    begin = float(first_run.dataset["time"].values[int(np.argmax(_forces(first_run)[:, card] > 0.0))])
    with style.panels(len(runs), 0.9 + 1.5 * len(runs), sharex=True) as (figure, rows):
        for n, (axes, (title, run)) in enumerate(zip(rows, runs.items(), strict=True)):
            time = run.dataset["time"].values
            in_window = (time >= begin - 0.03 * window) & (time <= begin + window)
            axes.plot(
                1e3 * time[in_window],
                _forces(run)[in_window, card],
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
    phases = ContactPhases.of(run, float(time[1] - time[0]))
    scheme_energy = 1e3 * float(energy.sel(kind="scheme")[-1])
    return (
        f"{phases.count / max(phases.cards, 1):.1f} phases a card of {1e3 * phases.mean:.2g} ms, "
        f"variation {phases.variation:.1f}, scheme {abs(round(scheme_energy, 2)):.2g} mJ"
    )


def orbit_figure(result: xarray.DataTree, system: Any, card: int) -> "Figure":
    """Orbit of the rod's axis in a card, in the plane of the card, with the circle of the clearance."""
    interface = system.interfaces[0]
    rings, pairing = interface.master, interface.pairing()
    rod = result["part/rod"].dataset
    surface = interface.slave
    nodes = rod["position"].values + rod["displacement"].values[:, :, :3]
    kinematics = [pairing.at(position[surface.nodes], np.zeros((0, 1))) for position in nodes]
    offsets = [kin.positions[card] - rings.centres[card] for kin in kinematics if kin.paired[card]]
    offset = 1e3 * np.array(offsets).reshape(-1, 3)
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
    """Normal force of each card over time, means over `blocks` blocks of steps."""
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
