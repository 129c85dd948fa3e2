"""Figures of the Taylor bar."""

from typing import TYPE_CHECKING

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
