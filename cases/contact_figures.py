"""Figures of the cases of contact between deformable bodies."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray

from arlequin.plots import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FLOOR = 1e-16  # where an error is exactly zero


def patch_survey(errors: Mapping[Any, tuple[float | None, float | None]], cells: str, order: int) -> "Figure":
    """Worst stress error of each multiplier and slave, plain and stabilised form; what is refused is said so."""
    with style.panels(1, 0.3 * len(errors) + 1.4) as (figure, (axes,)):
        marks = (("o", "plain form", style.COLOURS[0]), ("x", "stabilised form", style.COLOURS[1]))
        for form, (mark, name, colour) in enumerate(marks):
            known = [(row, pair[form]) for row, pair in enumerate(errors.values())]
            shown = [(max(error, FLOOR), row) for row, error in known if error is not None]
            axes.plot([error for error, _ in shown], [row for _, row in shown], mark, color=colour, label=name)
        for row, pair in enumerate(errors.values()):
            if pair[0] is None:
                axes.text(2 * FLOOR, row, "refused", color=style.COLOURS[0], va="center", fontsize=8)
        axes.axvline(1e-10, color=style.REFERENCE, linestyle="--", linewidth=1.0)
        axes.set_xscale("log")
        axes.set_xlim(FLOOR, 2.0)
        axes.set_yticks(range(len(errors)), [f"{multiplier}, slave {slave}" for multiplier, slave in errors])
        axes.invert_yaxis()
        axes.set_xlabel("Worst stress error / pressure")
        axes.set_title(f"{cells}, order {order}; dashed: the limit of the check", loc="left")
        figure.legend(*axes.get_legend_handles_labels(), loc="outside upper right", ncols=2)
    return figure


def patch_errors(result: xarray.DataTree, errors: Mapping[str, Any]) -> "Figure":
    """Stress error of every cell of two plane blocks, over the pressure, on a logarithmic scale."""
    from matplotlib.collections import PolyCollection
    from matplotlib.colors import LogNorm

    with style.panels(1, 5.6) as (figure, (axes,)):
        for name, values in errors.items():
            group = result[f"part/{name}"].dataset
            place = group["position"].values + group["displacement"].values[-1]
            corners = place[group["connectivity"].values]
            image = PolyCollection(list(corners), array=np.maximum(values, FLOOR), cmap="viridis", edgecolors="white")
            image.set(norm=LogNorm(FLOOR, 1.0), linewidths=0.5)
            axes.add_collection(image)
        axes.autoscale_view()
        axes.set_aspect("equal")
        axes.grid(False)
        axes.set_xlabel("x (m)")
        axes.set_ylabel("y (m)")
        figure.colorbar(image, ax=axes, shrink=0.8, label="Stress error / pressure")
    return figure


def pad_base(base: Any, threshold: float) -> "Figure":
    """Slip velocity and traction of a pad's base, means over the steps, against the exact ones."""
    clock, second = style.prefix(base.edges, "s")
    panels = (
        ("Slip velocity", "m/s", base.slip, base.exact_slip),
        ("Traction", "Pa", base.traction, base.exact_traction),
    )
    with style.panels(2, 4.8, sharex=True) as (figure, axes):
        for panel, (title, unit, computed, exact) in zip(axes, panels, strict=True):
            factor, shown = style.prefix(np.concatenate([computed, exact]), unit)
            panel.stairs(factor * computed, clock * base.edges, baseline=None, color=style.COLOURS[0], label="computed")
            middle = 0.5 * clock * (base.edges[1:] + base.edges[:-1])
            panel.plot(middle, factor * exact, "--", color=style.COLOURS[1], linewidth=1.2, label="exact")
            panel.set_ylabel(style.label(title, shown))
        for sign in (-1.0, 1.0):
            axes[1].axhline(factor * sign * threshold, color=style.REFERENCE, linestyle=":", linewidth=1.0)
        axes[1].set_title("dotted: ± μ p", loc="right", fontsize=9)
        axes[1].set_xlabel(style.label("Time", second))
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return figure


def ironing_forces(forces: Mapping[str, Any], friction: float) -> "Figure":
    """Vertical force over the way, its mean, and the ratio of the forces against μ; one curve a multiplier."""
    with style.panels(3, 6.2, sharex=True) as (figure, (all_of, closer, ratio)):
        largest = np.concatenate([f.slider.ravel() for f in forces.values()])
        factor, unit = style.prefix(largest, "N")
        for n, (name, f) in enumerate(forces.items()):
            dragged = np.flatnonzero(f.way > 0.0)
            way, horizontal, vertical = 1e3 * f.way[dragged], f.slider[dragged, 0], f.slider[dragged, 1]
            style_of: dict[str, Any] = {"color": style.COLOURS[n], "linestyle": style.DASHES[n], "linewidth": 1.3}
            all_of.plot(way, factor * vertical, label=f"multiplier {name}", **style_of)
            all_of.plot(way, -factor * horizontal, **style_of)
            late = way >= 0.5 * way[-1]
            closer.plot(way, 100 * (vertical / vertical[late].mean() - 1.0), **style_of)
            ratio.plot(way, -horizontal / vertical, **style_of)
        ratio.axhline(friction, color=style.REFERENCE, linestyle=":", linewidth=1.2, label="μ")
        all_of.set_ylabel(style.label("Vertical and\nhorizontal force", f"{unit}"))
        closer.set_ylabel("Vertical force,\noff its mean (%)")
        closer.set_ylim(-1.5, 1.5)
        ratio.set_ylabel("Horizontal\n/ vertical force")
        ratio.legend(loc="lower right")
        ratio.set_xlabel("Way of the slider (mm)")
        figure.legend(*all_of.get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return figure
