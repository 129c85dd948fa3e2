"""Figures of the nested cylinders: force and acceleration over time, the section through both axes."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import xarray

from arlequin.models.types import Array
from arlequin.plots import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def motion_figure(curves: Mapping[str, tuple[Array, Array, Array]], cut: float) -> "Figure":
    """Filtered contact force (t,), N, and acceleration of the core (t,), m/s², over the time (t,), s, by model.

    cut: frequency of the filter, Hz.
    """
    with style.panels(2, 4.8, sharex=True) as (figure, rows):
        quantities = (1, "Contact force", "N"), (2, "Acceleration of the core", "m/s^2")
        for axes, (index, title, unit) in zip(rows, quantities, strict=True):
            factor, prefixed = style.prefix(np.concatenate([curve[index] for curve in curves.values()]), unit)
            for n, (name, curve) in enumerate(curves.items()):
                dash = style.DASHES[n % len(style.DASHES)]
                axes.plot(1e3 * curve[0], factor * curve[index], linestyle=dash, color=style.COLOURS[n], label=name)
            axes.set_ylabel(style.label(title, prefixed))
        rows[0].set_title(f"Below {cut:g} Hz", loc="left")
        rows[0].legend()
        rows[-1].set_xlabel("Time (ms)")
    return figure


def section_figure(result: xarray.DataTree, frame: int = -1) -> "Figure":
    """Deformed cells at the plane y = 0 through both axes, coloured by part."""
    from matplotlib.collections import PolyCollection

    with style.panels(1, 5.6) as (figure, (axes,)):
        parts = [name for name in ("shell", "filler", "patch", "core") if name in result["part"].children]
        for n, name in enumerate(parts):
            group = result[f"part/{name}"].dataset
            quads = section(group["position"].values, group["connectivity"].values)
            moved = group["position"].values + group["displacement"].values[frame]
            drawn = PolyCollection(list(1e3 * moved[quads][:, :, [0, 2]]), facecolors=style.COLOURS[n], alpha=0.35)
            drawn.set(edgecolors=style.COLOURS[n], linewidths=0.6, label=name)
            axes.add_collection(drawn)
        axes.autoscale_view()
        axes.axhline(0.0, color=style.REFERENCE, linewidth=1.2)
        axes.set_aspect("equal")
        axes.grid(False)
        axes.set_xlabel("x (mm)")
        axes.set_ylabel("z (mm)")
        axes.set_title(f"y = 0, t = {1e3 * float(result.dataset['frame_time'][frame]):.3g} ms", loc="left")
        figure.legend(loc="outside right upper")
    return figure


def section(position: Array, cells: Array) -> Array:
    """Nodes (q, 4) of the faces of hexahedra (c, 8) next to the plane y = 0, on its side y ≤ 0, around each face."""
    y = position[cells][:, :, 1]
    near = 1e-9 * float(np.ptp(position))
    crossed = cells[(y.min(axis=1) <= near) & (y.max(axis=1) > near)]
    order = np.argsort(position[crossed][:, :, 1], axis=1, kind="stable")
    faces = np.take_along_axis(crossed, order[:, :4], axis=1)
    middle = position[faces] - position[faces].mean(axis=1, keepdims=True)
    around = np.argsort(np.arctan2(middle[..., 2], middle[..., 0]), axis=1)
    return np.take_along_axis(faces, around, axis=1)
