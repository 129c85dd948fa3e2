"""Figures of the spinning block."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray

from arlequin.plots import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FLOOR = 1e-17  # plotted value of a change of exactly zero


def drifts(runs_and_drifts: Mapping[str, tuple[xarray.DataTree, Any]], spin: float) -> "Figure":
    """Relative change of energy and angular momentum over the number of turns at the rate `spin` (rad/s), by scheme."""
    with style.panels(2, 4.6, sharex=True) as (figure, (energy, moment)):
        for n, (name, (run, drift)) in enumerate(runs_and_drifts.items()):
            line_style: dict[str, Any] = {"color": style.COLOURS[n], "linestyle": style.DASHES[n], "linewidth": 1.2}
            turns_per_second = spin / (2 * np.pi)
            time, frames = run.dataset["time"].values, run.dataset["frame_time"].values
            energy.semilogy(
                turns_per_second * time, np.maximum(np.abs(drift.of_energy), FLOOR), label=name, **line_style
            )
            moment.semilogy(turns_per_second * frames, np.maximum(drift.of_moment, FLOOR), **line_style)
        energy.set_ylabel("Energy,\nrelative change")
        moment.set_ylabel("Angular momentum,\nrelative change")
        moment.set_xlabel("Turns")
        figure.legend(*energy.get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return figure
