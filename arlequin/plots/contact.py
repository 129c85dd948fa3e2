"""Force or pressure and gap of an interface over time, with reference curves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arlequin.models.checks import mapping, one_of
from arlequin.models.errors import UserError, UserTypeError
from arlequin.models.signatures import checked_call
from arlequin.models.types import Array
from arlequin.plots import style
from arlequin.plots.histories import AXES, interface_of, is_static, magnitude, size_of
from arlequin.results.members import member_count, one_member
from arlequin.results.reading import check_result

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Curves = Mapping[str, tuple[ArrayLike, ArrayLike]]
Component = Literal["magnitude", "normal", "x", "y", "z"]

_ROUND_OFF = 1e-10  # of the size of the model: gaps below are those of round-off and of the solver's tolerance


@checked_call
def contact(
    result: xarray.DataTree | Mapping[str, xarray.DataTree],
    interface: str | None = None,
    *,
    force: Curves | None = None,
    gap: Curves | None = None,
    area: float | None = None,
    member: int | None = None,
    component: Component = "magnitude",
) -> Figure:
    """Contact force (its magnitude, N; with `area` in m², the mean pressure in Pa) and least gap (m).

    Forces of dynamics are means over the steps, drawn as stairs; those of `Static` are at the ends of the steps, drawn
    as lines. Gaps below 1e-10 of the size of the model are drawn as 0.

    result: one, or several by label; interface: its name, the only one by default; force, gap: reference
    curves by label, (instants in s, values in the unit of the panel). member: of an ensemble, from 0; None draws all
    members of one ensemble. component: "x", "y" or "z" of the force on the slave; "normal" is the sum of the normal
    forces of the points, without friction.

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
    one_of("component", component, get_args(Component))
    forces, least = _curves("force", force), _curves("gap", gap)
    groups = {name: interface_of(tree, interface) for name, tree in results.items()}
    loads = {name: (_times(g), _force(results[name], g, component) / (area or 1.0)) for name, g in groups.items()}
    gaps = {name: (_times(g), g["gap_min"].values) for name, g in groups.items() if "gap_min" in g}
    size = max(map(size_of, results.values()))
    stairs = {name: not is_static(tree) for name, tree in results.items()}
    first = next(iter(groups.values()))["force"]
    with_gap = bool(gaps) or bool(least)
    with style.panels(1 + with_gap, 4.6 if with_gap else 3.0, sharex=True) as (figure, axes):
        title, unit = ("Contact force", first.attrs.get("units", "N")) if area is None else ("Contact pressure", "Pa")
        title += "" if component == "magnitude" else f", {component}"
        many = len(results) > len(style.COLOURS)
        _panel(axes[0], title, unit, loads, forces, stairs, many)
        if with_gap:
            _panel(axes[1], "Least gap", "m", gaps, least, {}, many, size)
            axes[0].set_xlabel("")
        if many:
            axes[0].set_title(f"{len(results)} members", loc="left")
        handles, labels = axes[0].get_legend_handles_labels()
        if len(labels) > 1:
            figure.legend(handles, labels, loc="outside upper center", ncols=min(3, len(labels)))
    return figure


def _curves(name: str, curves: Curves | None) -> dict[str, tuple[Array, Array]]:
    """Reference curves by label: instants and values (n,)."""
    rule, checked = "must be curves by label, {label: (instants in s, values)}, of equal lengths", {}
    for label, curve in mapping(name, {} if curves is None else curves, rule).items():
        try:
            t, y = (np.atleast_1d(np.asarray(column, dtype=float)) for column in curve)
        except (TypeError, ValueError):
            raise UserTypeError.parameter(f"{name}[{label!r}]", curve, rule) from None
        if t.ndim != 1 or t.shape != y.shape:
            raise UserError.parameter(f"{name}[{label!r}]", f"shapes {t.shape} and {y.shape}", rule)
        checked[label] = t, y
    return checked


def _force(result: xarray.DataTree, group: xarray.Dataset, component: Component) -> Array:
    """Force of an interface (t,), N."""
    vectors = group["force"].values
    if component == "magnitude":
        return magnitude(vectors)
    if component == "normal":
        step = result.attrs.get("step")
        if "impulse" not in group or step is None:
            raise UserError("component = 'normal': the result has no impulses: choose x, y or z")
        return np.asarray(group["impulse"].values / step)
    axes = AXES[: vectors.shape[1]]
    return np.asarray(vectors[:, axes.index(one_of("component", component, tuple(axes)))])


def _panel(
    axes: Axes,
    title: str,
    unit: str,
    computed: Any,
    reference: Mapping[str, tuple[Array, Array]],
    stairs: Mapping[str, bool],
    many: bool,
    size: float = 0.0,
) -> None:
    """Computed curves in colour over reference curves in grey.

    stairs: which are means over the steps; many: thin curves of one colour, without names; size: of the model, m, for
    lengths, where values of round-off are drawn as 0.
    """
    everything = [np.asarray(y, dtype=float) for _, y in [*computed.values(), *reference.values()]]
    largest = max((float(np.abs(y[np.isfinite(y)]).max(initial=0.0)) for y in everything), default=0.0)
    nothing = largest < _ROUND_OFF * size
    scale = [size] if nothing else np.concatenate([y[np.isfinite(y)] for y in everything])
    factor, shown = style.prefix(scale, unit)
    clock, second = style.prefix(np.concatenate([np.asarray(t, dtype=float) for t, _ in computed.values()]), "s")
    for n, (name, (t, y)) in enumerate(reference.items()):
        dash = style.DASHES[(1 + n) % len(style.DASHES)]
        axes.plot(clock * t, factor * y, color=style.REFERENCE, linestyle=dash, linewidth=1.4, label=name, zorder=3)
    for n, (name, (t, y)) in enumerate(computed.items()):
        look: Any = {"color": style.COLOURS[n % len(style.COLOURS)], "label": name}
        look["linestyle"] = style.DASHES[n % len(style.DASHES)]  # coincident curves are seen
        if many:
            look = {"color": style.COLOURS[0], "linewidth": 0.8, "alpha": max(0.15, len(computed) ** -0.5)}
        # a force at t_n is the mean over the step that ends there: a stair, not a line between points
        drawstyle = "steps-pre" if stairs.get(name) else "default"
        values = np.where(np.abs(y) < _ROUND_OFF * size, 0.0, factor * y)
        axes.plot(clock * t, values, drawstyle=drawstyle, **look)
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
        if not result:
            raise UserError("result: must be a result, or at least one by its label")
        for tree in result.values():
            check_result(tree)
        return {label: one_member(tree, member, "a comparison of results") for label, tree in result.items()}
    check_result(result)
    count = member_count(result)
    if count is None or member is not None:
        return {"computed": one_member(result, member, "")}
    return {f"member {n}": result.isel(member=n) for n in range(count)}
