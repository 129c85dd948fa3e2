"""Figures of pressed bodies: pressures and tractions against the exact ones."""

from typing import TYPE_CHECKING, Any

import numpy as np

from arlequin.plots import style
from cases.pressing import Pressed
from cases.reference.cattaneo import PartialSlip
from cases.reference.hertz import LineContact, SphereContact

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def pressure_figure(pressed: Pressed, exact: LineContact | SphereContact) -> "Figure":
    """Pressure over the distance, and p² over its square, where Hertz is a straight line, with the line of the fit."""
    fit, b, p0 = pressed.fit, exact.half_width, exact.peak
    near = pressed.distance <= 1.25 * b
    x, p = pressed.distance[near] / b, pressed.pressure[near] / p0
    grid = np.linspace(0.0, 1.25, 1001)
    squares = np.array([0.0, (fit.half_width / b) ** 2])
    with style.panels(2, 5.2) as (figure, axes):
        axes[0].plot(grid, exact.pressure(grid * b) / p0, color=style.REFERENCE, label="Hertz")
        axes[0].plot(x, p, "o", color=style.COLOURS[0], markersize=3.5, label="computed")
        axes[0].set_xlabel("Distance from the centre / half-width by Hertz")
        axes[0].set_ylabel("Pressure / largest by Hertz")
        axes[0].legend()
        axes[1].plot(grid**2, (exact.pressure(grid * b) / p0) ** 2, color=style.REFERENCE, label="Hertz")
        axes[1].plot(x**2, p**2, "o", color=style.COLOURS[0], markersize=3.5, label="computed")
        line = (fit.peak / p0) ** 2 * np.array([1.0, 0.0])
        axes[1].plot(squares, line, "--", color=style.COLOURS[1], label=_fit_label(fit.half_width / b, fit.peak / p0))
        axes[1].set_xlabel("Square of the distance")
        axes[1].set_ylabel("Square of the pressure")
        axes[1].legend()
    return figure


def _fit_label(width: float, peak: float) -> str:
    return f"fit: half-width {100 * (width - 1):+.2f} %, p₀ {100 * (peak - 1):+.2f} % against Hertz"


def traction_figure(sheared: Any, exact: PartialSlip) -> "Figure":
    """Traction and μ times the pressure along the contact (`cases.cattaneo_mindlin.Sheared`), in units of μ p0."""
    b, unit = exact.contact.half_width, exact.friction * exact.contact.peak
    grid = np.linspace(-1.25, 1.25, 2001)
    near = np.abs(sheared.x) <= 1.25 * b
    with style.panels(1, 3.6) as (figure, (axes,)):
        limit = exact.friction * exact.contact.pressure(grid * b)
        axes.plot(grid, limit / unit, "--", color=style.REFERENCE, label="μ times Hertz's pressure")
        axes.plot(grid, exact.traction(grid * b) / unit, color=style.REFERENCE, label="Cattaneo and Mindlin")
        x = sheared.x[near] / b
        computed = exact.friction * sheared.pressure[near] / unit
        axes.plot(x, computed, "x", color=style.COLOURS[1], markersize=4, label="μ times the pressure, computed")
        axes.plot(
            x, sheared.traction[near] / unit, "o", color=style.COLOURS[0], markersize=3.5, label="traction, computed"
        )
        for side in (-1.0, 1.0):
            axes.axvline(side * exact.stick_half_width / b, color=style.REFERENCE, linewidth=0.8, linestyle=":")
        axes.text(0.0, 0.04, "sticks", ha="center")
        for side in (-1.0, 1.0):
            axes.text(side * 0.5 * (1 + exact.stick_half_width / b), 0.04, "slips", ha="center")
        axes.set_xlabel("x / half-width by Hertz")
        axes.set_ylabel("Traction / (μ p₀)")
        figure.legend(loc="outside upper center", ncols=2)
    return figure
