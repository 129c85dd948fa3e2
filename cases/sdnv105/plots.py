"""Figures of a rocking block."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from arlequin.cases.sdnv105.measures import BlockMotion


def angle_figure(block: "BlockMotion", exact: Any | None, model: str, label: str = "rigid, exact") -> "Figure":
    """θ over time; exact: motion of the rigid block, with its label."""
    from arlequin.plots import style

    with style.panels(1, 3.2) as (figure, (axes,)):
        axes.plot(block.time, 1e3 * block.angle, color=style.COLOURS[0], label=model)
        if exact is not None:
            time = np.linspace(0.0, min(exact.end, block.time[-1]), 2001)
            axes.plot(time, 1e3 * exact.angle(time), "--", color=style.REFERENCE, linewidth=1.2, label=label)
            axes.legend()
        axes.set_xlabel("Time (s)")
        axes.set_ylabel("Angle (mrad)")
    return figure


def reaction_figure(block: "BlockMotion", exact: tuple[Any, Any, Any] | None) -> "Figure":
    """H and F over time, within the range of the flights; exact: times, H and F (s, N, N)."""
    from arlequin.plots import style

    with style.panels(2, 4.4, sharex=True) as (figure, panels):
        for n, (axes, name) in enumerate(zip(panels, ("H", "F"), strict=True)):
            computed = 1e-3 * block.force[1:, n]
            axes.plot(
                block.time[1:], computed, color=style.COLOURS[0], linewidth=1.0, label="computed, mean over a step"
            )
            if exact is not None:
                forces = 1e-3 * exact[1 + n]
                axes.plot(exact[0], forces, "--", color=style.REFERENCE, label=f"exact {name}(θ, θ̇) of the rigid block")
                low, high = float(forces.min()), float(forces.max())
                margin = 0.5 * max(high - low, 0.02 * abs(high))
                axes.set_ylim(low - margin, high + margin)
            axes.set_ylabel(f"{name} (kN)")
        panels[0].legend()
        panels[-1].set_xlabel("Time (s)")
    return figure


def restitution_figure(ratios: Mapping[float, float], rigid: float) -> "Figure":
    """Ratio of angular velocities at the first impact, √(E₂/E₁), over Young's modulus (Pa), beside the rigid one."""
    from arlequin.plots import style

    with style.panels(1, 3.2) as (figure, (axes,)):
        axes.semilogx(list(ratios), list(ratios.values()), "o-", color=style.COLOURS[0], label="elastic block")
        axes.axhline(rigid, color=style.REFERENCE, linestyle="--", label="rigid block")
        axes.set_xlabel("Young's modulus (Pa)")
        axes.set_ylabel("Ratio of angular velocities")
        axes.legend()
    return figure
