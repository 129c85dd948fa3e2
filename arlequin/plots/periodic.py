"""Figures of branches of periodic motions: frequency response, backbone, orbits."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from arlequin.models.checks import instance, integer
from arlequin.models.errors import UserError
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array
from arlequin.plots import style

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MARKERS = {"fold": "o", "flip": "s", "branch": "D", "Neimark-Sacker": "^", "grazing": "v", "stability": "D"}


@checked_call
def frequency_response(
    branch: xarray.Dataset,
    part: str | None = None,
    *,
    node: int | None = None,
    component: int | None = None,
    over: str = "frequency",
) -> Figure:
    """Amplitude of a displacement over the frequency, or another parameter of the branch: solid where it is stable.

    part: by default the first one; node, component: from 0, by default those of the largest amplitude. Bifurcations
    are marked.
    """
    _checked(branch)
    names = [str(name) for name in branch if str(name).startswith("amplitude_")]
    name = names[0] if part is None and names else f"amplitude_{part}"
    if name not in branch:
        known = ", ".join(amplitude.removeprefix("amplitude_") for amplitude in names)
        raise UserError.parameter("part", part, f"must be a part of the branch: {known}")
    amplitudes = branch[name].values
    most = np.unravel_index(amplitudes.max(axis=0).argmax(), amplitudes.shape[1:])
    i, k = (
        int(most[axis]) if number is None else integer(label, number, 0, amplitudes.shape[axis + 1] - 1)
        for axis, (label, number) in enumerate((("node", node), ("component", component)))
    )
    if over not in branch or branch[over].dims != ("point",):
        raise UserError.parameter("over", over, "must be a variable of the branch over its points")
    about = f"Amplitude of {name.removeprefix('amplitude_')}, node {i}"
    return _curve(branch, (branch[over].values, _label(branch, over)), (amplitudes[:, i, k], about, "m"))


@checked_call
def backbone(branch: xarray.Dataset) -> Figure:
    """Energy of nonlinear modes over their frequency: solid where they are stable."""
    _checked(branch)
    frequency = branch["frequency"].values, _label(branch, "frequency")
    return _curve(branch, frequency, (branch["energy"].values, "Energy", "J"), log=True)


@checked_call
def periodic_orbits(branch: xarray.Dataset, points: Sequence[int] | None = None, *, dof: int = 0) -> Figure:
    """Velocity over displacement of a coordinate during the period, at some points of a branch, five by default."""
    _checked(branch)
    count = branch.sizes["point"]
    chosen = np.unique(np.linspace(0, count - 1, min(count, 5)).astype(int)) if points is None else points
    numbers = [integer("points", point, -count, count - 1) for point in chosen]
    at = integer("dof", dof, 0, branch.sizes["dof"] - 1)
    u, v = branch["displacement"].values[:, :, at], branch["velocity"].values[:, :, at]
    (by_u, unit_u), (by_v, unit_v) = style.prefix(u[numbers], "m"), style.prefix(v[numbers], "m/s")
    with style.panels(1, 4.2) as (figure, (axes,)):
        for colour, number in zip(np.resize(style.COLOURS, len(numbers)), numbers, strict=True):
            dash = "-" if bool(branch["stable"].values[number]) else "--"
            text = f"{float(branch['frequency'].values[number]):.4g} Hz"
            axes.plot(by_u * u[number], by_v * v[number], dash, color=str(colour), label=text)
        axes.set_xlabel(style.label(f"Displacement, {branch['dof'].values[at]}", unit_u))
        axes.set_ylabel(style.label("Velocity", unit_v))
        axes.legend()
    return figure


def _curve(branch: Any, x: tuple[Array, str], y: tuple[Array, str, str], log: bool = False) -> Figure:
    """A curve over the branch with its stability and bifurcations."""
    (values, label), (heights, about, unit) = x, y
    factor, unit = style.prefix(heights, unit)
    with style.panels(1, 3.8) as (figure, (axes,)):
        _parts(axes, values, factor * heights, branch["stable"].values.astype(bool))
        if "bifurcation" in branch:
            kinds = branch["bifurcation"].values.astype(str)
            for kind, colour in zip(MARKERS, np.resize(style.COLOURS[1:], len(MARKERS)), strict=True):
                at = kinds == kind
                if at.any():
                    look: Any = {"linestyle": "", "color": str(colour), "markersize": 5, "zorder": 3}
                    axes.plot(values[at], factor * heights[at], MARKERS[kind], label=kind, **look)
        axes.set_xlabel(label)
        axes.set_ylabel(style.label(about, unit))
        if log:
            axes.set_yscale("log")
        axes.legend()
    return figure


def _parts(axes: Axes, x: Array, y: Array, stable: Any) -> None:
    """Solid pieces where stable, dashed ones elsewhere; each reaches to the first point of the next."""
    starts = np.concatenate([[0], np.flatnonzero(np.diff(stable.astype(int))) + 1, [stable.size]])
    seen: set[bool] = set()
    for a, b in pairwise(starts.tolist()):
        kind = bool(stable[a])
        piece = slice(a, b + 1)
        text = None if kind in seen else ("stable" if kind else "unstable")
        seen.add(kind)
        dash, colour = ("-", style.COLOURS[0]) if kind else ("--", style.REFERENCE)
        axes.plot(x[piece], y[piece], dash, color=colour, label=text)


def _label(branch: Any, name: str) -> str:
    """Label of an axis by the attributes of a variable."""
    about = branch[name].attrs
    unit = str(about.get("units", "1"))
    text = str(about.get("long_name", name)).capitalize()
    return text if unit == "1" else style.label(text, unit)


def _checked(branch: Any) -> None:
    """UserError for what is no branch."""
    import xarray

    rule = "must be a Dataset of arlequin.periodic"
    instance("branch", branch, xarray.Dataset, rule)
    if not {"frequency", "stable"} <= set(branch.variables):
        raise UserError.parameter("branch", "a Dataset without frequency and stable", rule)
