"""Figures of rough contact: pressure against gap, contact area against pressure."""

from typing import TYPE_CHECKING, Any

import numpy as np

from arlequin.plots import style
from cases.roughness import Curve, Roughness, half_space, theories
from models.errors import UserError
from models.types import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure


NAMES = {
    "persson": "Persson",
    "bush-gibson-thomas": "Bush, Gibson, Thomas",
    "greenwood-williamson": "Greenwood, Williamson",
    "kogut-etsion": "Kogut, Etsion",
}


def _truth(parameters: Any) -> Curve | None:
    """The half-space's curve where it is stored or can be computed."""
    try:
        return half_space(Roughness.of(parameters), parameters.seeds)
    except UserError:
        return None


def _scales(parameters: Any) -> tuple[Roughness, float, float]:
    """The roughness, E* h'rms, Pa, and E*, Pa."""
    rough, modulus = Roughness.of(parameters), parameters.young / (1.0 - parameters.poisson**2)
    return rough, modulus * rough.slope, modulus


def gap_figure(parameters: Any, pressed: tuple[Array, Array], fit: Any) -> "Figure":
    """Pressure over E* h'rms against gap over the rms height; pressed: gaps, m, and pressures, Pa, of the block."""
    rough, unit, modulus = _scales(parameters)
    height, truth = rough.moments.rms_height, _truth(parameters)
    grid = np.linspace(0.05, 4.2, 400)
    with style.panels(1, 4.2) as (figure, (axes,)):
        for n, (name, theory) in enumerate(theories(rough, modulus, parameters.hardness, parameters.poisson).items()):
            pressure = theory.pressure(grid * height) / unit
            axes.semilogy(
                grid, pressure, style.DASHES[1 + n % 3], color=style.COLOURS[2 + n], linewidth=1.1, label=NAMES[name]
            )
        if truth is not None:
            label = f"half-space, {truth.samples} samples: mean, standard deviation"
            axes.errorbar(
                truth.gaps,
                truth.loads,
                xerr=truth.scatter,
                fmt="o",
                color=style.REFERENCE,
                markersize=3.5,
                capsize=2,
                label=label,
            )
        gaps, pressures = pressed
        axes.semilogy(grid, fit.law.pressure(grid * height) / unit, color=style.COLOURS[0], label="law")
        axes.semilogy(gaps / height, pressures / unit, "x", color=style.COLOURS[1], label="block on the law")
        axes.set_ylim(3e-5, 0.5)
        axes.set_xlabel("Mean gap / rms height")
        axes.set_ylabel("Mean pressure / ($E^*$ rms slope)")
        axes.legend(fontsize="small")
    return figure


def area_figure(parameters: Any) -> "Figure":
    """Real contact area over p/(E* h'rms), over the load it carries: a constant at small loads."""
    rough, unit, modulus = _scales(parameters)
    height, truth = rough.moments.rms_height, _truth(parameters)
    grid = np.linspace(0.05, 4.2, 400) * height
    with style.panels(1, 3.6) as (figure, (axes,)):
        for n, (name, theory) in enumerate(theories(rough, modulus, parameters.hardness, parameters.poisson).items()):
            load = theory.pressure(grid) / unit
            axes.semilogx(
                load,
                theory.area(grid) / load,
                style.DASHES[1 + n % 3],
                color=style.COLOURS[2 + n],
                linewidth=1.1,
                label=NAMES[name],
            )
        if truth is not None:
            axes.errorbar(
                truth.loads,
                truth.areas / truth.loads,
                yerr=truth.area_scatter / truth.loads,
                fmt="o",
                color=style.REFERENCE,
                markersize=3.5,
                capsize=2,
                label=f"half-space, {truth.samples} samples",
            )
        axes.axhline(np.sqrt(2.0 * np.pi), color="0.6", linewidth=0.8)
        axes.axhline(np.sqrt(8.0 / np.pi), color="0.6", linewidth=0.8)
        axes.set_xlim(5e-5, 0.5)
        axes.set_ylim(0.0, 3.5)
        axes.set_xlabel("Mean pressure / ($E^*$ rms slope)")
        axes.set_ylabel("Contact area / nominal / load")
        axes.legend(fontsize="small")
    return figure


def history_figure(result: Any, exact: Any) -> "Figure":
    """Contact pressure of a bar over ρcV against time: computed, exact on the asperities, on a smooth wall."""
    from cases.impact import mean_pressures

    edges, pressure = mean_pressures(result)
    unit, time = exact.impedance * exact.velocity, np.linspace(0.0, exact.duration, 4001)
    with style.panels(1, 3.4) as (figure, (axes,)):
        axes.stairs(pressure / unit, 1e6 * edges, color=style.COLOURS[0], label="computed")
        axes.plot(1e6 * time, exact.pressure(time) / unit, "--", color=style.REFERENCE, label="exact")
        start = exact.gap / exact.velocity
        smooth = 1e6 * np.array([start, start, start + exact.transit, start + exact.transit])
        axes.plot(smooth, [0.0, 1.0, 1.0, 0.0], ":", color=style.COLOURS[1], label="on a smooth wall")
        axes.set_xlabel(style.label("Time", "µs"))
        axes.set_ylabel("Pressure / (ρ c V)")
        axes.legend()
    return figure


def roughness_figure(heights: Array, found: Any, parameters: Any, point: tuple[float, Any]) -> "Figure":
    """What a bar's contact lasts longer than 2L/c, and what it keeps in waves, against the rms height (r,), m."""
    p = parameters
    transit = 2.0 * p.length / np.sqrt(p.young / p.density)
    share = np.array(heights) / (p.velocity * transit)
    longer = np.array([item.duration / transit - 1.0 for item in found])
    slower = np.array([1.0 - item.restitution for item in found])
    with style.panels(1, 3.8) as (figure, (axes,)):
        axes.loglog(share, longer, "o-", markersize=3.5, label="longer contact, exact")
        axes.loglog(share, slower, "s-", markersize=3.5, label="slower centre, exact")
        at = point[0] / (p.velocity * transit)
        axes.loglog([at], [point[1].duration / transit - 1.0], "x", color="k", label="computed")
        axes.loglog([at], [1.0 - point[1].restitution], "x", color="k")
        axes.loglog(share, longer[-1] * share / share[-1], ":", color=style.REFERENCE, label="order 1")
        axes.set_xlabel("rms height / (V · 2L/c)")
        axes.set_ylabel("Relative to a smooth wall")
        axes.legend()
    return figure
