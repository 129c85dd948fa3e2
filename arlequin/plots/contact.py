"""Force or pressure and gap of an interface over time, with reference curves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arlequin.models.signatures import checked_call
from arlequin.plots import style
from arlequin.plots.histories import interface_of, magnitude
from arlequin.results.members import member_count, one_member
from arlequin.results.reading import check_result

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Curves = Mapping[str, tuple[ArrayLike, ArrayLike]]


@checked_call
def contact(
    result: xarray.DataTree | Mapping[str, xarray.DataTree],
    interface: str | None = None,
    *,
    force: Curves | None = None,
    gap: Curves | None = None,
    area: float | None = None,
    member: int | None = None,
) -> Figure:
    """Contact force (its magnitude, N; with `area` in m², the mean pressure in Pa) and least gap (m).

    result: one, or several by label; interface: its name, the only one by default; force, gap: reference
    curves by label, (instants in s, values in the unit of the panel). member: of an ensemble, from 0; None draws all
    members of one ensemble.

    >>> import arlequin as aq
    >>> steel = aq.LinearElastic(young=2e11, poisson=0.3, density=7800)  # Pa, -, kg/m³
    >>> bar = aq.Bar("bar", aq.mesh.interval(0.0, 0.1, cells=10), steel)
    >>> contact = aq.Interface("end", bar.boundary("right"), aq.RigidPlane(point=0.1, normal=-1.0), aq.Unilateral())
    >>> system = aq.System([bar], interfaces=[contact], velocity=10.0)  # m/s
    >>> result = aq.simulate(system, aq.Theta(0.5), duration=1e-5, step=1e-6)
    >>> figure = aq.plots.contact(result, force={"ρcV": ([0.0, 1e-5], [7800 * bar.wave_speed * 10.0] * 2)})  # s, N
    >>> [line.get_label() for line in figure.axes[0].lines], [axes.get_ylabel() for axes in figure.axes]
    (['ρcV', 'computed'], ['Contact force (MN)', 'Least gap (µm)'])
    """
    results = _by_label(result, member)
    groups = {name: interface_of(tree, interface) for name, tree in results.items()}
    loads = {name: (_times(g), magnitude(g["force"].values) / (area or 1.0)) for name, g in groups.items()}
    gaps = {name: (_times(g), g["gap_min"].values) for name, g in groups.items() if "gap_min" in g}
    first = next(iter(groups.values()))["force"]
    with_gap = bool(gaps) or bool(gap)
    with style.panels(1 + with_gap, 4.6 if with_gap else 3.0, sharex=True) as (figure, axes):
        title, unit = ("Contact force", first.attrs.get("units", "N")) if area is None else ("Contact pressure", "Pa")
        many = len(results) > len(style.COLOURS)
        _panel(axes[0], title, unit, loads, force or {}, steps=True, many=many)
        if with_gap:
            _panel(axes[1], "Least gap", "m", gaps, gap or {}, steps=False, many=many)
            axes[0].set_xlabel("")
        if many:
            axes[0].set_title(f"{len(results)} members", loc="left")
        handles, labels = axes[0].get_legend_handles_labels()
        if len(labels) > 1:
            figure.legend(handles, labels, loc="outside upper center", ncols=min(3, len(labels)))
    return figure


def _panel(axes: Axes, title: str, unit: str, computed: Any, reference: Curves, steps: bool, many: bool) -> None:
    """Computed curves in colour over reference curves in grey; many: thin ones of one colour, without names."""
    everything = [np.asarray(y, dtype=float) for _, y in [*computed.values(), *reference.values()]]
    factor, shown = style.prefix(np.concatenate([y[np.isfinite(y)] for y in everything]), unit)
    clock, second = style.prefix(np.concatenate([np.asarray(t, dtype=float) for t, _ in computed.values()]), "s")
    for n, (name, (t, y)) in enumerate(reference.items()):
        dash = style.DASHES[(1 + n) % len(style.DASHES)]
        x, values = clock * np.asarray(t, dtype=float), factor * np.asarray(y, dtype=float)
        axes.plot(x, values, color=style.REFERENCE, linestyle=dash, linewidth=1.4, label=name, zorder=3)
    for n, (name, (t, y)) in enumerate(computed.items()):
        look: Any = {"color": style.COLOURS[n % len(style.COLOURS)], "label": name}
        if many:
            look = {"color": style.COLOURS[0], "linewidth": 0.8, "alpha": max(0.15, len(computed) ** -0.5)}
        # a force at t_n is the mean over the step that ends there: a stair, not a line between points
        axes.plot(clock * t, factor * y, drawstyle="steps-pre" if steps else "default", **look)
    axes.set_ylabel(style.label(title, shown))
    axes.set_xlabel(style.label("Time", second))
    instants = np.concatenate([t for t, _ in computed.values()])
    axes.set_xlim(clock * instants.min(), clock * instants.max())


def _times(group: xarray.Dataset) -> NDArray[np.float64]:
    return np.asarray(group["time"].values)


def _by_label(
    result: xarray.DataTree | Mapping[str, xarray.DataTree], member: int | None
) -> Mapping[str, xarray.DataTree]:
    """Results of one run each by their labels: the members of one ensemble, or `member` of each."""
    import xarray

    if isinstance(result, Mapping) and not isinstance(result, xarray.DataTree):
        for tree in result.values():
            check_result(tree)
        return {label: one_member(tree, member, "a comparison of results") for label, tree in result.items()}
    check_result(result)
    count = member_count(result)
    if count is None or member is not None:
        return {"computed": one_member(result, member, "")}
    return {f"member {n}": result.isel(member=n) for n in range(count)}
