"""Energies over time and the relative imbalance of their sum."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from arlequin.models.errors import UserError
from arlequin.plots import style
from arlequin.results.members import chosen
from arlequin.results.reading import of_result

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

FLOOR = 1e-17  # below round-off; where the balance is exactly zero


@of_result
def energies(result: xarray.DataTree, *, member: int | None = None) -> Figure:
    """Above, each kind of energy that is not zero, in J; below, |balance| on a logarithmic scale.

    member: of an ensemble, from 0; None draws the curve of each member, and the largest |balance| among them.

    >>> import arlequin as aq
    >>> steel = aq.LinearElastic(young=2e11, poisson=0.3, density=7800)  # Pa, -, kg/m³
    >>> bar = aq.Bar("bar", aq.mesh.interval(0.0, 0.1, cells=10), steel)
    >>> contact = aq.Interface("end", bar.boundary("right"), aq.RigidPlane(point=0.1, normal=-1.0), aq.Unilateral())
    >>> system = aq.System([bar], interfaces=[contact], velocity=10.0)  # m/s
    >>> result = aq.simulate(system, aq.Theta(0.5), duration=1e-5, step=1e-6)
    >>> figure = aq.plots.energies(result)  # figure.savefig("energies.png")
    >>> [line.get_label() for line in figure.axes[0].lines], figure.axes[0].get_ylabel()
    (['kinetic', 'strain', 'impact'], 'Energy (kJ)')
    """
    root = chosen(result, member).dataset
    if "energy" not in root:
        raise UserError("result: has no energies to draw: give the result of simulate, or of another run")
    seconds = root["time"].values
    energy = root["energy"].transpose("time", "kind", ...).values  # (t, kind), of an ensemble (t, kind, member)
    members = energy.shape[2] if energy.ndim == 3 else 1
    thin: Any = {} if members == 1 else {"linewidth": 0.8, "alpha": max(0.15, members**-0.5)}
    factor, unit = style.prefix(energy, root["energy"].attrs.get("units", "J"))
    clock, second = style.prefix(seconds, "s")
    largest = np.abs(energy).max(initial=0.0)
    with style.panels(2, 4.6, (2.2, 1.0), sharex=True) as (figure, (above, below)):
        shown = [n for n in range(energy.shape[1]) if np.abs(energy[:, n]).max(initial=0.0) > 1e-12 * largest]
        for place, n in enumerate(shown):
            lines = above.plot(
                clock * seconds,
                factor * energy[:, n],
                **thin,
                color=style.COLOURS[place % len(style.COLOURS)],
                linestyle=style.DASHES[(place // len(style.COLOURS) + place) % len(style.DASHES)],
            )
            lines[0].set_label(str(root["kind"].values[n]).replace("_", " "))
        if members > 1:
            above.set_title(f"{members} members", loc="left")
        above.set_ylabel(style.label("Energy", unit))
        if shown:
            legend = figure.legend(
                *above.get_legend_handles_labels(), loc="outside upper center", ncols=min(4, len(shown))
            )
            for line in legend.get_lines():
                line.set_alpha(1.0)
        if "balance" in root:
            imbalance = np.abs(root["balance"].values)
            if imbalance.ndim == 2:
                imbalance = imbalance.max(axis=1 - root["balance"].get_axis_num("time"))
            below.semilogy(clock * seconds, np.maximum(imbalance, FLOOR), color=style.COLOURS[-1], linewidth=1.0)
            below.set_ylim(FLOOR / 2, max(1e-11, 5 * imbalance.max(initial=0.0)))
        below.set_ylabel("Relative\nimbalance")
        below.set_xlabel(style.label("Time", second))
        below.margins(x=0.01)
    return figure
