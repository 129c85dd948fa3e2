"""Worn depth along an interface, worn volume over time, and a map of the frictional heat."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from arlequin.models.errors import UserError
from arlequin.plots import style
from arlequin.plots.histories import interface_of
from arlequin.results.members import one_member
from arlequin.results.reading import of_result

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

Curves = Mapping[str, tuple[ArrayLike, ArrayLike]]
_SHOWN = 6  # instants


@of_result
def worn(
    result: xarray.DataTree, interface: str, *, depth: Curves | None = None, axis: int = 0, member: int | None = None
) -> Figure:
    """Worn depth over a coordinate of the points, at instants spread over what is worn, and the worn volume over time.

    depth: reference profiles by label, (coordinates in m, depths in m); axis: which coordinate; member: of an ensemble,
    from 0.
    """
    result = one_member(result, member, "a figure of wear")
    group = _group(result, interface, "worn_depth")
    # evenly in what is worn
    volumes = group["worn_depth"].values @ group["area"].values
    frames = np.unique(np.searchsorted(volumes, volumes[-1] * np.arange(1, _SHOWN + 1) / _SHOWN * (1.0 - 1e-9)))
    x, depths = group["point_position"].values[:, axis], group["worn_depth"].values[frames]
    order, times = np.argsort(x), result.dataset["time"].values
    metre, length = style.prefix(x, "m")
    factor, unit = style.prefix(depths, "m")
    clock, second = style.prefix(times, "s")
    with style.panels(2, 5.4) as (figure, (profile, volume)):
        for n, (label, (at, values)) in enumerate((depth or {}).items()):
            dash = style.DASHES[(1 + n) % len(style.DASHES)]
            at, values = metre * np.asarray(at, dtype=float), factor * np.asarray(values, dtype=float)
            profile.plot(at, values, dash, color=style.REFERENCE, linewidth=1.6, label=label, zorder=3)
        shades = np.linspace(0.25, 1.0, frames.size)
        for shade, frame, values in zip(shades, frames, depths, strict=True):
            instant = clock * group["frame_time"].values[frame]
            label = f"t = {instant:.4g} {second}"
            profile.plot(metre * x[order], factor * values[order], color=style.COLOURS[0], alpha=shade, label=label)
        profile.invert_yaxis()
        profile.set_xlabel(style.label(f"Position {'xyz'[axis]}", length))
        profile.set_ylabel(style.label("Worn depth", unit))
        figure.legend(*profile.get_legend_handles_labels(), loc="outside upper center", ncols=3)
        amount, shown = group["worn_volume"].values, "mm³"
        if group["worn_volume"].attrs.get("units") == "m^3/m":
            shown = "mm³/m"
        volume.plot(clock * times, 1e9 * amount, color=style.COLOURS[0])
        volume.set_ylabel(style.label("Worn volume", shown))
        volume.set_xlabel(style.label("Time", second))
    return figure


@of_result
def friction_heat(result: xarray.DataTree, interface: str, *, axis: int = 0, member: int | None = None) -> Figure:
    """Frictional heat flux ‖t_t‖ Δs/Δt (W/m²), over a coordinate of the points and the frames.

    A figure alone: nothing is heated. It takes the traction as it is at the end of the time between two frames, and so
    asks for frames of every step (`fields_every=1`) where tractions change. In friction with springs the slides of the
    springs count too. Frames that a jump over cycles separates are left out, and so is time without frames: columns
    have equal widths. member: of an ensemble, from 0.
    """
    result = one_member(result, member, "a map of frictional heat")
    group = _group(result, interface, "slip")
    times, slip = group["frame_time"].values, group["slip"].values
    traction = np.linalg.norm(group["traction"].values, axis=2)[1:]
    span = np.diff(times)
    heat = traction * np.diff(slip, axis=0) / span[:, None]
    heat[span > 1.5 * np.median(span)] = np.nan
    x = group["point_position"].values[:, axis]
    order = np.argsort(x)
    metre, length = style.prefix(x, "m")
    factor, unit = style.prefix(heat[np.isfinite(heat)], "W/m²")
    with style.panels(1, 3.8) as (figure, (panel,)):
        columns = np.arange(times.size)
        image: Any = panel.pcolormesh(
            columns,
            metre * _edges(x[order]),
            factor * heat[:, order].T,
            cmap="inferno",
            shading="flat",
            rasterized=True,
        )
        ticks = np.unique(np.linspace(0, times.size - 1, 6).round().astype(int))
        clock, second = style.prefix(times, "s")
        panel.set_xticks(ticks, [f"{clock * times[tick]:.4g}" for tick in ticks])
        panel.grid(False)
        panel.set_xlabel(style.label("Time of the frame", second))
        panel.set_ylabel(style.label(f"Position {'xyz'[axis]}", length))
        figure.colorbar(image, ax=panel, label=style.label("Heat of friction", unit))
    return figure


def _edges(x: Any) -> Any:
    """Borders (k + 1,) between sorted places (k,)."""
    if x.size == 1:
        return np.array([x[0] - 0.5, x[0] + 0.5])
    middle = 0.5 * (x[1:] + x[:-1])
    return np.concatenate([[x[0]], middle, [x[-1]]])


def _group(result: xarray.DataTree, interface: str, field: str) -> xarray.Dataset:
    """The interface of that name, which has the field."""
    group = interface_of(result, interface)
    if field not in group:
        what = "does not wear" if field == "worn_depth" else "has no friction"
        raise UserError(f"interface {interface} {what}: there is nothing to show")
    return group
