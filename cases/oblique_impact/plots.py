"""Figures of oblique impacts: reflection curve, and forces of one impact."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from arlequin.cases.reference.oblique import Oblique, ObliqueImpact
from arlequin.plots import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

POINTS = 25  # points of the reference curves
LABELS = {
    ("sphere", "like"): "alike balls (Maw, Barber, Fawcett)",
    ("disc", "like"): "alike discs",
    ("sphere", "rigid"): "ball on a rigid plane",
    ("disc", "rigid"): "disc on a rigid plane",
}


def curve_figure(
    body: Oblique, exact: Callable[[Oblique, float], ObliqueImpact], computed: Mapping[float, float]
) -> "Figure":
    """ψ₂ over ψ₁: reference for both partners, gross slip ψ₁ − 4χ, and computed values for the partner of the body."""
    limit = max(1.1 * max(computed), 4 * body.chi + 0.5)
    incidence = np.linspace(0.0, limit, POINTS)
    with style.panels(1, 3.8) as (figure, (axes,)):
        for n, variant in enumerate((replace(body, partner="like"), replace(body, partner="rigid"))):
            angles = [0.0, *(exact(variant, float(psi)).reflection for psi in incidence[1:])]
            name = LABELS[variant.shape, variant.partner]
            axes.plot(incidence, angles, style.DASHES[n], color=style.REFERENCE, label=name)
        sliding = np.array([min(4 * body.chi - 2.5, limit), limit])
        axes.plot(sliding, sliding - 4 * body.chi, ":", color=style.COLOURS[1], label="gross slip, ψ₁ − 4χ")
        incidences = np.array(sorted(computed))
        reflections = [computed[psi] for psi in incidences]
        axes.plot(
            incidences,
            reflections,
            "o",
            color=style.COLOURS[0],
            label="computed" if body.partner == "like" else "computed, on the plane",
        )
        axes.set_xlabel("ψ₁")
        axes.set_ylabel("ψ₂")
        axes.legend()
    return figure


def force_figure(impact_forces: Any, expected: ObliqueImpact) -> "Figure":
    """Normal and tangential force, the latter over μ, in the largest normal one
    (`arlequin.cases.oblique_impact.ImpactForces`)."""
    peak = float(expected.force[:, 0].max())
    with style.panels(1, 3.2) as (figure, (axes,)):
        for n, (name, factor) in enumerate((("P", 1.0), ("Q/μ", -1.0 / expected.body.friction))):
            normalised = np.append(impact_forces.force[:, n], impact_forces.force[-1, n])
            axes.step(
                impact_forces.edges,
                factor * normalised / peak,
                where="post",
                color=style.COLOURS[n],
                label=f"{name}, computed",
            )
            theory = factor * expected.force[:, n] / peak
            axes.plot(expected.time, theory, "--", color=style.REFERENCE, label="reference" if n == 0 else None)
        axes.set_xlabel("Time in R/c_t")
        axes.set_ylabel("Force over the largest normal one")
        axes.legend()
    return figure
