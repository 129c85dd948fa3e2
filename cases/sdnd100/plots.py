"""Figure of the released slider."""

from typing import TYPE_CHECKING, Any

import numpy as np

from arlequin.cases.reference.slider import ReleasedSlider
from arlequin.cases.sdnd100.shock_checks import ExactMotion
from arlequin.plots import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def released_figure(
    time: Any, displacement: Any, turns: tuple[Any, Any], exact: ReleasedSlider, element: ExactMotion | None = None
) -> "Figure":
    """Displacement along the release and its components over time, with turning points and the closed form.

    element: exact motion on the shock element, drawn for t ≤ element.last.
    """
    fine = np.linspace(0.0, time[-1], 4001)
    with style.panels(1, 3.4) as (figure, (axes,)):
        scale, metre = style.prefix(displacement, "m")
        clock, second = style.prefix(time, "s")
        axes.axhspan(
            -scale * exact.zone, scale * exact.zone, color=style.COLOURS[4], alpha=0.2, label="rest possible, |u| ≤ d"
        )
        axes.plot(clock * fine, scale * exact.position(fine), color=style.REFERENCE, label="exact, rigid friction")
        if element is not None:
            element_time = fine[fine <= element.last]
            x = scale * element.position(element_time)
            axes.plot(
                clock * element_time, x, "--", color=style.COLOURS[3], linewidth=1.0, label="exact, shock element"
            )
        axes.plot(clock * time, scale * displacement, ".", color=style.COLOURS[0], markersize=3, label="computed")
        axes.plot(clock * turns[0], scale * turns[1], "o", color=style.COLOURS[1], markersize=5, label="turning points")
        for n, values in enumerate(exact.components(displacement).T):
            dash, name = style.DASHES[1 + n % 3], f"component {'xyz'[n]}"
            axes.plot(clock * time, scale * values, dash, color=style.COLOURS[2], linewidth=1.0, label=name)
        axes.set_xlabel(style.label("Time", second))
        axes.set_ylabel(style.label("Displacement", metre))
        figure.legend(*axes.get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return figure
