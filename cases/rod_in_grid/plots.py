"""Figures of the rod: spectra of the samples, and the wear of each support."""

from typing import Any

import numpy as np
import xarray

from arlequin.cases.rod_in_grid.life import measured
from arlequin.cases.rod_in_grid.parameters import SUPPORTS
from arlequin.plots import style


def spectra(result: xarray.DataTree) -> Any:
    """Densities of the displacement in the loose grid: medians of the samples, with the band of 95 % of them."""
    linear, vibration = result["linear"].dataset, result["vibration"].dataset
    frequency = linear["frequency"].values
    sets = {
        "linear, open grid": linear["psd_open"],
        "linear, grid that holds": linear["psd_closed"],
        "with impacts": vibration["psd"],
    }
    with style.panels(1, 3.6) as (figure, (axes,)):
        for colour, (text, density) in zip(style.COLOURS, sets.items(), strict=False):
            low, middle, high = np.quantile(1e12 * density.values, [0.025, 0.5, 0.975], axis=1)
            axes.semilogy(frequency, middle, color=colour, label=text)
            axes.fill_between(frequency, low, high, color=colour, alpha=0.15, linewidth=0.0)
        axes.set_xlabel("Frequency (Hz)")
        axes.set_ylabel("PSD of the displacement (µm²/Hz)")
        axes.legend()
    return figure


def support_depths(result: xarray.DataTree) -> Any:
    """Worn depth of each support at the end: median and band of 95 % of the samples."""
    depth = 1e6 * measured(result, "supports", "depth")
    low, middle, high = np.quantile(depth, [0.025, 0.5, 0.975], axis=1)
    place = np.arange(len(SUPPORTS))[::-1]
    with style.panels(1, 4.2) as (figure, (axes,)):
        axes.barh(place, middle, color=style.COLOURS[0], height=0.7)
        axes.hlines(place, low, high, color=style.REFERENCE, linewidth=1.2)
        axes.set_yticks(place, SUPPORTS)
        axes.grid(False, axis="y")
        axes.set_xlabel("Worn depth at the end, median and 95 % of the samples (µm)")
    return figure
