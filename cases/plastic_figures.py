"""Figures of metals that flow in statics: the load of a bar that necks, the deflection of a panel."""

from typing import TYPE_CHECKING, Any

import numpy as np

from arlequin.plots import style
from models.types import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def pull_figure(pull: Any, radius: float, sliced: tuple[Array, Array]) -> "Figure":
    """Load and radius of the neck against the elongation; sliced: elongations, m, and loads, N, of slices."""
    with style.panels(2, 4.8, sharex=True) as (figure, (load, neck)):
        middles = 0.5 * (pull.elongation[1:] + pull.elongation[:-1])
        load.plot(1e3 * middles, 1e-3 * pull.load[1:], label="computed")
        load.plot(1e3 * sliced[0], 1e-3 * sliced[1], "--", color=style.REFERENCE, label="slices, to their largest load")
        load.set_ylabel(style.label("Load", "kN"))
        load.set_ylim(bottom=0.0)
        load.legend()
        neck.plot(1e3 * pull.at, pull.neck / radius)
        neck.set_ylabel("Radius at the middle / radius")
        neck.set_xlabel(style.label("Elongation", "mm"))
    return figure


def deflection_figure(force: Array, tip: Array, limits: tuple[float, float] | None) -> "Figure":
    """Displacement of the tip (t,), m, against the force (t,), N; limits: published ones at the end, m."""
    with style.panels(1, 3.2) as (figure, (axes,)):
        axes.plot(1e-3 * force, 1e3 * tip, "o-", markersize=3, label="computed")
        if limits is not None:
            ends = [1e-3 * force[-1]] * 2
            axes.plot(ends, 1e3 * np.array(limits), "k_-", markersize=12, label="published, converged")
        axes.set_xlabel(style.label("Force", "kN"))
        axes.set_ylabel(style.label("Displacement of the tip", "mm"))
        axes.legend()
    return figure
